"""Contexts and modules of the driver interface."""

from __future__ import annotations

import time

from isakit.hosts.cuda.codes import CudaError, check_flags
from isakit.hosts.cuda.handler_table import handler
from isakit.hosts.cuda.handlers.devices import only
from isakit.hosts.cuda.modules import ProgramModule
from isakit.hosts.cuda.objects import CudaContext, CudaFunction
from isakit.hosts.cuda.session import Session


@handler("cuCtxCreate", "cuCtxCreate_v2")
def create(s: Session, flags: int, device: int) -> int:
    only(device)
    check_flags(flags, 0x1F)
    handle = s.handles.add(CudaContext(flags))
    s.contexts.append(handle)
    return handle


@handler("cuCtxDestroy", "cuCtxDestroy_v2")
def destroy(s: Session, handle: int) -> None:
    s.destroy_context(handle)


@handler("cuCtxAttach")
def attach(s: Session, flags: int) -> int:
    check_flags(flags)
    s.context().attached += 1
    return s.contexts[-1]


@handler("cuCtxDetach")
def detach(s: Session, handle: int) -> None:
    context = s.handles.get(handle, CudaContext)
    context.attached -= 1
    if not context.attached:
        destroy(s, handle)


@handler("cuCtxPushCurrent", "cuCtxPushCurrent_v2")
def push(s: Session, handle: int) -> None:
    s.handles.get(handle, CudaContext)
    s.contexts.append(handle)


@handler("cuCtxPopCurrent", "cuCtxPopCurrent_v2")
def pop(s: Session) -> int:
    s.context()
    return s.contexts.pop()


@handler("cuCtxSetCurrent")
def set_current(s: Session, handle: int) -> None:
    if handle:
        s.handles.get(handle, CudaContext)
    if s.contexts:
        s.contexts.pop()
    if handle:
        s.contexts.append(handle)


@handler("cuCtxGetCurrent")
def get_current(s: Session) -> int:
    return s.contexts[-1] if s.contexts else 0


@handler("cuCtxGetDevice")
def get_device(s: Session) -> int:
    s.context()
    return 0


@handler("cuCtxSynchronize")
def synchronize(s: Session) -> None:
    s.context()


@handler("cuCtxGetApiVersion")
def api_version(s: Session, handle: int) -> int:
    if handle:
        s.handles.get(handle, CudaContext)
    return 3020


@handler("cuCtxGetFlags")
def flags_of(s: Session) -> int:
    return s.context().flags


@handler("cuCtxGetId")
def id_of(s: Session, handle: int) -> int:
    if handle:
        s.handles.get(handle, CudaContext)
        return handle
    s.context()
    return s.contexts[-1]


# --- the context of the device, which the runtime uses ----------------------------------------------------------------
@handler("cuDevicePrimaryCtxRetain")
def retain(s: Session, device: int) -> int:
    only(device)
    return s.retain_context()


@handler("cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2")
def release(s: Session, device: int) -> None:
    only(device)
    s.release_context()


@handler("cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2")
def set_primary_flags(s: Session, device: int, flags: int) -> None:
    only(device)
    check_flags(flags, 0x1F)
    s.flags = flags


@handler("cuDevicePrimaryCtxGetState")
def primary_state(s: Session, device: int) -> tuple[int, int]:
    only(device)
    return s.flags, int(s.active)


@handler("cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2")
def reset_primary(s: Session, device: int) -> None:
    only(device)
    s.reset()


# --- modules --------------------------------------------------------------------------------------------------------
@handler("build_module")
def build(s: Session, number: int, registers: int) -> tuple[int, int]:
    """Return (size in bytes, compile time in microseconds) of a module's machine code. Errors in it appear here."""
    s.context()
    module = s.module(number)
    module.registers = registers & 0xFFFF_FFFF
    started = time.perf_counter()
    assert module.loaded is not None
    return len(module.placed), int((time.perf_counter() - started) * 1e6)


@handler("module_handle")
def module_handle(s: Session, number: int) -> int:
    """Return a handle for a module that was sent before."""
    s.context()
    module = s.module(number)
    assert module.loaded is not None
    return s.handles.add(module)


@handler("module_log")
def log(s: Session, number: int, errors: int, room: int) -> bytes:
    """Return the messages of compiling a module, truncated to `room` bytes."""
    module = s.module(number)
    return (module.errors if errors else module.information).encode()[:room]


@handler("module_code")
def code(s: Session, number: int, room: int) -> bytes:
    """Return the machine code of a module, truncated to `room` bytes."""
    return s.module(number).placed[:room]


@handler("cuModuleGetLoadingMode")
def loading_mode(s: Session) -> int:
    """Return 1: modules are loaded eagerly, before their first kernel runs."""
    return 1


@handler("cuModuleUnload")
def unload(s: Session, handle: int) -> None:
    s.handles.drop(handle, ProgramModule).unload()


@handler("cuModuleGetFunction")
def get_function(s: Session, handle: int, name: str) -> int:
    module = s.handles.get(handle, ProgramModule)
    if name not in module.loaded:
        raise CudaError("cudaErrorInvalidSymbol", f"no kernel {name}")
    return s.handles.add(CudaFunction(module, name))


@handler("cuModuleGetGlobal", "cuModuleGetGlobal_v2")
def get_global(s: Session, handle: int, name: str) -> tuple[int, int]:
    return s.handles.get(handle, ProgramModule).variable(name)
