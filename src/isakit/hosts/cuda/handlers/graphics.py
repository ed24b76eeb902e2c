"""Resources shared with OpenGL: their place on the device. The library copies their content."""

from __future__ import annotations

from isakit.hosts.cuda.codes import CudaError, invalid
from isakit.hosts.cuda.handler_table import handler
from isakit.hosts.cuda.handlers import arrays
from isakit.hosts.cuda.handlers.streams import known_stream
from isakit.hosts.cuda.objects import Array, ChannelFormat, GraphicsResource
from isakit.hosts.cuda.session import Session

_BUFFER, _IMAGE = range(2)
_MAP_FLAGS = 3
_REGISTER_FLAGS = 0x1F
_ALREADY_MAPPED, _NOT_MAPPED, _NOT_AN_ARRAY, _NOT_A_POINTER = 208, 211, 212, 213
"""Codes of the driver interface for errors that are unknown errors in the runtime."""


def _unknown(why: str, driver: int) -> CudaError:
    return CudaError("cudaErrorUnknown", why, driver)


@handler("cuGLInit")
def init(s: Session) -> None:
    s.context()


@handler("graphics_register")
def register(s: Session, driver: int, kind: int, name: int, target: int, flags: int, *shape: int) -> int:
    """Register a buffer or texture; its size in bytes, extent, components, bits and number type follow."""
    size, width, height, depth, *channel = shape
    if flags & ~_REGISTER_FLAGS or flags & _MAP_FLAGS == _MAP_FLAGS:
        raise invalid(f"flags {flags:#x}")
    if kind == _BUFFER:
        if not 0 < size <= 1 << 31:
            raise invalid(f"a buffer of {size} bytes")
        return s.handles.add(GraphicsResource(kind, name, 0, flags & _MAP_FLAGS, s.heap.alloc(size), size))
    if kind != _IMAGE:
        raise invalid(f"a resource of kind {kind}")
    count, bits, components = channel
    if count > 4:
        raise invalid(f"{count} components")
    made = ChannelFormat((*[bits] * count, *[0] * (4 - count)), components).check()  # type: ignore[arg-type]
    handle = arrays.make(s, made, width, height, depth)
    array = s.handles.get(handle, Array)
    shared = GraphicsResource(kind, name, target, flags & _MAP_FLAGS, array.address, array.nbytes, handle)
    shared.width, shared.height, shared.depth = width, height, depth
    return s.handles.add(shared)


@handler("graphics_unregister")
def unregister(s: Session, driver: int, handle: int) -> None:
    shared = s.handles.drop(handle, GraphicsResource)
    if shared.array:
        arrays.destroy(s, shared.array)
    else:
        s.heap.free(shared.address)


@handler("graphics_flags")
def set_flags(s: Session, driver: int, handle: int, flags: int) -> None:
    shared = s.handles.get(handle, GraphicsResource)
    if flags & ~_MAP_FLAGS or flags == _MAP_FLAGS:
        raise invalid(f"flags {flags:#x}")
    if shared.mapped:
        raise _unknown("it is mapped", _ALREADY_MAPPED)
    shared.flags = flags


@handler("graphics_named")
def named(s: Session, driver: int, name: int) -> int:
    """Return the resource of a buffer, for functions that identify buffers by their OpenGL names."""
    found = s.handles.find(GraphicsResource, lambda shared: shared.kind == _BUFFER and shared.name == name)
    if found is None:
        raise CudaError("cudaErrorInvalidResourceHandle", f"buffer {name} is not registered")
    return found


@handler("graphics_map")
def map_resource(s: Session, driver: int, handle: int, stream: int) -> tuple[int, ...]:
    known_stream(s, stream)
    shared = s.handles.get(handle, GraphicsResource)
    if shared.mapped:
        raise _unknown("it is mapped already", _ALREADY_MAPPED)
    shared.mapped = True
    return shared.described()


@handler("graphics_unmap")
def unmap_resource(s: Session, driver: int, handle: int, stream: int) -> tuple[int, ...]:
    known_stream(s, stream)
    shared = _mapped(s, handle)
    shared.mapped = False
    return shared.described()


@handler("graphics_pointer")
def pointer(s: Session, driver: int, handle: int) -> tuple[int, int]:
    shared = _mapped(s, handle)
    if shared.kind != _BUFFER:
        raise _unknown("it is an image", _NOT_A_POINTER)
    return shared.address, shared.size


@handler("graphics_array")
def array_of(s: Session, driver: int, handle: int, index: int, level: int) -> int:
    shared = _mapped(s, handle)
    if shared.kind != _IMAGE:
        raise _unknown("it is a buffer", _NOT_AN_ARRAY)
    if index or level:
        raise invalid(f"layer {index}, level {level}: there is one")
    return shared.array


def _mapped(s: Session, handle: int) -> GraphicsResource:
    shared = s.handles.get(handle, GraphicsResource)
    if not shared.mapped:
        raise _unknown("it is not mapped", _NOT_MAPPED)
    return shared
