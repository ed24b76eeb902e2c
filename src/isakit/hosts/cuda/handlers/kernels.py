"""Launches, and properties of kernels."""

from __future__ import annotations

import struct

from isakit.hosts.cuda.codes import CudaError, check_flags, invalid
from isakit.hosts.cuda.handler_table import handler
from isakit.hosts.cuda.handlers.streams import known_stream
from isakit.hosts.cuda.objects import CudaFunction, LaunchRequest, TextureReference
from isakit.hosts.cuda.session import Session
from isakit.machine.tesla.occupancy import occupancy as held
from isakit.runtime import LoadedKernel

_HEADER = 16
"""Bytes of shared memory for the launch header; a program's own size includes neither them nor the parameters."""


@handler("launch", "post")
def launch(s: Session, driver: int, number: int, stream: int, *numbers: object) -> None:
    """Run a kernel; grid, block, dynamic shared memory and the bytes of the parameters follow in the message."""
    gx, gy, gz, bx, by, bz, shared, params = numbers
    known_stream(s, stream)
    f = s.function(number, bool(driver))
    s.launch(LaunchRequest(f, (gx, gy, gz), (bx, by, bz), shared, params))  # type: ignore[arg-type]


def threads_for(s: Session, kernel: LoadedKernel) -> int:
    """Return the largest number of threads in a block for which a multiprocessor has enough registers."""
    chip = s.device.limits_of
    return max(0, min(chip.threads_per_block, chip.registers // max(1, kernel.code.registers) // 32 * 32))


def static_shared(kernel: LoadedKernel) -> int:
    """Return the size of the shared memory that the kernel's source declares, in bytes."""
    return max(0, kernel.shared_bytes - _HEADER - (kernel.info.param_bytes or 0))


@handler("attributes")
def attributes(s: Session, driver: int, number: int) -> tuple[int, ...]:
    """Return a kernel's shared, constant and local bytes, largest block, registers, versions of PTX and binary."""
    f = s.function(number, bool(driver))
    k = f.kernel()
    arch = f.module.arch
    constant = sum(len(c) for bank, c in k.constants.items() if bank != 1)
    return static_shared(k), constant, k.local_bytes, threads_for(s, k), k.code.registers, arch, arch


@handler("cuFuncGetAttribute")
def attribute(s: Session, number: int, handle: int) -> int:
    shared, constant, local, threads, registers, ptx, binary = attributes(s, 1, handle)
    # What later versions ask: loads through a cache, the most dynamic shared memory, how much of a cache is shared.
    values = (threads, shared, constant, local, registers, ptx, binary, 0, s.device.limits_of.shared_bytes - shared, -1)
    if not 0 <= number < len(values):
        raise invalid(f"attribute {number}")
    return values[number]


_MOST_DYNAMIC, _CARVEOUT = 8, 9


@handler("cuFuncSetAttribute")
def set_attribute(s: Session, handle: int, number: int, value: int) -> None:
    """Accept attributes without effect: the limit of dynamic shared memory, a cache preference.

    Raises CudaError for others.
    """
    most = attribute(s, _MOST_DYNAMIC, handle)
    good = 0 <= value <= most if number == _MOST_DYNAMIC else -1 <= value <= 100 if number == _CARVEOUT else False
    if not good:
        raise invalid(f"attribute {number} = {value}")


@handler("cuFuncGetModule")
def module_of(s: Session, handle: int) -> int:
    module = s.function(handle, True).module
    found = s.handles.find(type(module), lambda m: m is module)
    if found is None:
        raise CudaError("cudaErrorInvalidResourceHandle", "the module is unloaded")
    return found


@handler("cuFuncGetParamInfo")
def parameter(s: Session, handle: int, number: int) -> tuple[int, int]:
    """Return the offset and size in bytes of one parameter of a kernel."""
    params = s.function(handle, True).kernel().params
    if params is None or number >= len(params):
        raise invalid(f"parameter {number}")
    return params[number].offset, params[number].size


def _occupancy(s: Session, kernel: LoadedKernel, threads: int, shared: int) -> int:
    """Return how many blocks a multiprocessor holds, by threads, registers and shared memory."""
    if threads < 1:
        raise invalid(f"{threads} threads")
    return held(s.device.limits_of, threads, kernel.code.registers, kernel.shared_bytes + shared).blocks


@handler("occupancy")
def occupancy(s: Session, number: int, threads: int, shared: int) -> int:
    return _occupancy(s, s.function(number).kernel(), threads, shared)


@handler("cuOccupancyMaxActiveBlocksPerMultiprocessor")
def driver_occupancy(s: Session, handle: int, threads: int, shared: int) -> int:
    return _occupancy(s, s.function(handle, True).kernel(), threads, shared)


@handler("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")
def driver_occupancy_with_flags(s: Session, handle: int, threads: int, shared: int, flags: int) -> int:
    check_flags(flags, 1)
    return driver_occupancy(s, handle, threads, shared)


@handler("parameters")
def parameters(s: Session, driver: int, number: int) -> bytes:
    """Return the offset and size in bytes of each parameter of a kernel."""
    f = s.function(number, bool(driver))
    params = f.kernel().params
    if params is None:
        raise invalid(f"{f.name} does not say what its parameters are; launch it with a buffer")
    return b"".join(struct.pack("<2I", p.offset, p.size) for p in params[:64])


# --- the driver's way before CUDA 4: a function remembers shape and parameters --------------------------------------
def _function(s: Session, handle: int) -> CudaFunction:
    s.context()
    return s.function(handle, True)


@handler("cuFuncSetBlockShape")
def block_shape(s: Session, handle: int, x: int, y: int, z: int) -> None:
    f = _function(s, handle)
    if min(x, y, z) < 1:
        raise invalid(f"block {x}, {y}, {z}")
    if s.options.limits:
        try:
            s.check_block((x, y, z))
        except CudaError as e:
            raise s.refuse(f.name, invalid(e.why)) from None
    f.block = x, y, z


@handler("cuFuncSetSharedSize")
def shared_size(s: Session, handle: int, size: int) -> None:
    f = _function(s, handle)
    if size > (most := s.device.limits_of.shared_bytes):
        raise s.refuse(f.name, invalid(f"{size} bytes of shared memory; a block has {most}"))
    f.shared = size


_MOST_PARAMS = 256


def _put(f: CudaFunction, offset: int, data: bytes) -> None:
    if offset < 0 or offset + len(data) > _MOST_PARAMS:
        raise invalid(f"{len(data)} bytes of parameters at {offset}")
    if len(f.params) < offset + len(data):
        f.params.extend(bytes(offset + len(data) - len(f.params)))
    f.params[offset : offset + len(data)] = data


@handler("cuParamSetSize")
def param_size(s: Session, handle: int, size: int) -> None:
    f = _function(s, handle)
    if size > _MOST_PARAMS:
        raise invalid(f"{size} bytes of parameters")
    f.params = f.params[:size].ljust(size, b"\0")


@handler("cuParamSeti")
def param_int(s: Session, handle: int, offset: int, value: int) -> None:
    _put(_function(s, handle), offset, (value & 0xFFFF_FFFF).to_bytes(4, "little"))


@handler("cuParamSetf")
def param_float(s: Session, handle: int, offset: int, value: float) -> None:
    _put(_function(s, handle), offset, struct.pack("<f", value))


@handler("cuParamSetv")
def param_bytes(s: Session, handle: int, offset: int, size: int, value: bytes) -> None:
    _put(_function(s, handle), offset, value)


@handler("cuParamSetTexRef")
def param_texture(s: Session, handle: int, unit: int, texture: int) -> None:
    _function(s, handle)
    s.handles.get(texture, TextureReference)
    if unit != -1:
        raise CudaError("cudaErrorInvalidValue", "the unit is CU_PARAM_TR_DEFAULT")


@handler("cuLaunch")
def driver_launch(s: Session, handle: int) -> None:
    launch_grid(s, handle, 1, 1)


@handler("cuLaunchGrid")
def launch_grid(s: Session, handle: int, width: int, height: int) -> None:
    f = _function(s, handle)
    s.launch(LaunchRequest(f, (width, height, 1), f.block, f.shared, bytes(f.params)))


@handler("cuLaunchGridAsync")
def launch_grid_async(s: Session, handle: int, width: int, height: int, stream: int) -> None:
    known_stream(s, stream)
    launch_grid(s, handle, width, height)
