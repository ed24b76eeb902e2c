"""The library's own messages: the greeting, and the registration of modules and symbols."""

from __future__ import annotations

from typing import TypeVar

from isakit.hosts.cuda.codes import CudaError
from isakit.hosts.cuda.handler_table import ProtocolError, handler
from isakit.hosts.cuda.modules import FAT_CONTAINER, WHOLE_FILE, ProgramModule
from isakit.hosts.cuda.objects import CudaFunction, DeviceVariable, TextureReference
from isakit.hosts.cuda.session import Session
from isakit.hosts.cuda.table import fingerprint

T = TypeVar("T")

_MOST, _MOST_THREADS = 1 << 16, 1 << 20
"""Limits of a process: modules, functions or variables; threads over its lifetime."""


def _text(raw: bytes) -> str:
    return raw[:4096].decode("latin-1")


def _added(things: list[T], thing: T) -> int:
    """Add what a process registers, and return its number, from 1. Raises CudaError where there are too many."""
    if len(things) >= _MOST:
        raise CudaError("cudaErrorMemoryAllocation", "too many of them")
    things.append(thing)
    return len(things)


@handler("hello")
def hello(s: Session, table: int, process: int, pointer: int, runtime: bytes) -> int:
    """Register the process that sends the greeting; the memory file's descriptor is returned with the answer."""
    if table != fingerprint():
        raise ProtocolError("the program's library is of another version of isakit")
    if pointer not in (4, 8):
        raise ProtocolError(f"pointers have 4 or 8 bytes, not {pointer}")
    s.process, s.runtime = process, _text(runtime)
    s.set_pointer(pointer)
    return s.window


@handler("connect")
def connect(s: Session) -> int:
    """Do nothing: the library sends this message to establish the connection."""
    return 0


@handler("thread")
def thread(s: Session, number: int) -> None:
    """Record that calls from here on come from another thread of the program."""
    if number > _MOST_THREADS:
        raise CudaError("cudaErrorMemoryAllocation", "too many threads")
    s.thread = number


@handler("printed")
def printed(s: Session, room: int) -> bytes:
    """Return text that kernels have printed, `room` bytes at most."""
    text = bytes(s.printed[:room])
    del s.printed[:room]
    return text


@handler("refused")
def refused(s: Session, text: bytes) -> None:
    """Report to the user that the program has called a function the library does not implement."""
    s.options.tell(_text(text))


@handler("module")
def module(s: Session, kind: int, image: bytes) -> int:
    """Add a module that the program registers or loads; it is not parsed before it is used."""
    if not FAT_CONTAINER <= kind <= WHOLE_FILE:
        raise CudaError("cudaErrorInvalidKernelImage", f"images of kind {kind}")
    return _added(s.modules, ProgramModule(s, kind, image))


@handler("unregister")
def unregister(s: Session, number: int) -> None:
    """Unload a module, at the end of the program or when a library is closed."""
    s.module(number).unload()


@handler("function")
def function(s: Session, number: int, name: bytes) -> int:
    """Register a kernel and return its number."""
    return _added(s.functions, CudaFunction(s.module(number), _text(name)))


@handler("symbol")
def symbol(s: Session, number: int, size: int, constant: int, name: bytes) -> int:
    """Register a variable and return its number."""
    return _added(s.variables, DeviceVariable(s.module(number), _text(name), size, bool(constant)))


@handler("texture")
def texture(s: Session, number: int, dimensions: int, normalized: int, name: bytes) -> int:
    """Register a texture reference and return its number."""
    return _added(s.textures, TextureReference(s.module(number), _text(name), bool(normalized)))
