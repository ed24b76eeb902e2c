"""Arrays of texels, for both interfaces."""

from __future__ import annotations

import struct

from isakit.hosts.cuda.codes import CudaError, invalid
from isakit.hosts.cuda.handler_table import handler
from isakit.hosts.cuda.objects import FLOAT, SIGNED, UNSIGNED, Array, ChannelFormat
from isakit.hosts.cuda.session import Session

_LIMITS = ((8192, 0, 0), (65536, 32768, 0), (2048, 2048, 2048))
"""Limits of arrays with one, two and three axes, in texels along each axis."""

# Codes of the driver interface for formats of components, and back.
_FORMATS = {
    0x01: (8, UNSIGNED), 0x02: (16, UNSIGNED), 0x03: (32, UNSIGNED), 0x08: (8, SIGNED), 0x09: (16, SIGNED),
    0x0A: (32, SIGNED), 0x10: (16, FLOAT), 0x20: (32, FLOAT),
}  # fmt: skip
_CODES = {v: k for k, v in _FORMATS.items()}


def channel_of(desc: bytes) -> ChannelFormat:
    """Unpack a channel description of the runtime: five ints. Raises CudaError."""
    *bits, kind = struct.unpack("<5i", desc)
    return ChannelFormat(tuple(bits), kind).check()


def channel_named(code: int, components: int) -> ChannelFormat:
    """Return the channel of a format code of the driver interface. Raises CudaError."""
    if code not in _FORMATS or components not in (1, 2, 4):
        raise invalid(f"format {code:#x} with {components} components")
    bits, kind = _FORMATS[code]
    return ChannelFormat((bits,) * components + (0,) * (4 - components), kind).check()


def format_code(channel: ChannelFormat) -> tuple[int, int]:
    """Return (format code, components) of the driver interface."""
    return _CODES[channel.bits[0], channel.kind], channel.count


def make(s: Session, channel: ChannelFormat, width: int, height: int, depth: int, flags: int = 0) -> int:
    """Create an array and return its handle."""
    axes = 3 if depth else 2 if height else 1
    if flags & 1:
        raise CudaError("cudaErrorInvalidValue", "layered arrays need sm_20")
    if not width or (depth and not height):
        raise invalid(f"an array of {width} x {height} x {depth}")
    if any(n > most for n, most in zip((width, height, depth), _LIMITS[axes - 1], strict=True)):
        raise invalid(f"an array of {width} x {height} x {depth}")
    array = Array(0, channel, width, height, depth, flags)
    array.address = s.heap.alloc(array.nbytes)
    return s.handles.add(array)


@handler("cudaMallocArray")
def malloc_array(s: Session, width: int, height: int, flags: int, desc: bytes) -> int:
    return make(s, channel_of(desc), width, height, 0, flags if s.version[0] >= (3, 1) else 0)


@handler("box_array")
def malloc_3d_array(s: Session, width: int, height: int, depth: int, flags: int, desc: bytes) -> int:
    return make(s, channel_of(desc), width, height, depth, flags if s.version[0] >= (4, 0) else 0)


@handler("cudaFreeArray")
def free_array(s: Session, handle: int) -> None:
    if handle:
        destroy(s, handle)


@handler("cuArrayDestroy")
def destroy(s: Session, handle: int) -> None:
    array = s.handles.drop(handle, Array)
    s.heap.free(array.address)


def _desc(channel: ChannelFormat) -> bytes:
    return struct.pack("<5i", *channel.bits, channel.kind)


@handler("cudaGetChannelDesc")
def channel_desc(s: Session, handle: int) -> bytes:
    return _desc(s.handles.get(handle, Array).channel)


@handler("array_info")
def array_info(s: Session, handle: int) -> tuple[int, int, int, int, bytes]:
    a = s.handles.get(handle, Array)
    return a.width, a.height, a.depth, a.flags, _desc(a.channel)


# --- descriptions of the driver: width, height, (depth,) format, components, (flags) --------------------------------
def _described(kind: str, version: str, layout: str) -> None:
    """Register the handlers that create and describe the driver's arrays, for one layout of descriptors."""
    volume = kind == "Array3D"

    @handler(f"cu{kind}Create{version}")
    def create(s: Session, desc: bytes) -> int:
        width, height, *rest = struct.unpack(layout, desc)
        depth, code, components, flags = rest if volume else (0, *rest, 0)
        s.context()
        return make(s, channel_named(code, components), width, height, depth, flags)

    @handler(f"cu{kind}GetDescriptor{version}")
    def descriptor(s: Session, handle: int) -> bytes:
        a = s.handles.get(handle, Array)
        rest = (a.depth, *format_code(a.channel), a.flags) if volume else format_code(a.channel)
        return struct.pack(layout, a.width, a.height, *rest)


_described("Array", "", "<4I")
_described("Array", "_v2", "<2Q2I")
_described("Array3D", "", "<6I")
_described("Array3D", "_v2", "<3Q3I4x")
