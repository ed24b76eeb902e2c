"""Binding texture references, for both interfaces."""

from __future__ import annotations

import struct
from dataclasses import replace

from isakit.hosts.cuda.codes import CudaError, check_flags, invalid
from isakit.hosts.cuda.handler_table import handler
from isakit.hosts.cuda.handlers.arrays import channel_named, format_code
from isakit.hosts.cuda.modules import ProgramModule
from isakit.hosts.cuda.objects import Array, Binding, ChannelFormat, TextureReference, TextureState
from isakit.hosts.cuda.session import Session
from isakit.hosts.cuda.textures import OFFSET_ALIGNMENT, check_state, state_of

UNBOUND, BUFFER, PLANE, ARRAY = range(4)
_MOST_TEXELS = 1 << 27
_PITCH_ALIGNMENT = 32


def _linear(s: Session, channel: ChannelFormat, address: int, size: int) -> tuple[Binding, int]:
    """Return the binding of linear texels, and their offset in bytes from an aligned address."""
    found = s.heap.range_of(address) or s.pinned.range_of(address)
    if found is None:
        raise CudaError("cudaErrorInvalidDevicePointer", f"nothing is at {address:#x}")
    size = min(size, found[1] - address)
    offset = address % OFFSET_ALIGNMENT
    texels = (size + offset) // channel.nbytes
    if not 0 < texels <= _MOST_TEXELS:
        raise invalid(f"{texels} texels")
    binding = Binding(address - offset, texels, 0, 0, 0, "buffer", texels * channel.nbytes)
    return binding, offset


def _plane(
    s: Session, channel: ChannelFormat, address: int, width: int, height: int, pitch: int
) -> tuple[Binding, int]:
    found = s.heap.range_of(address) or s.pinned.range_of(address)
    if found is None:
        raise CudaError("cudaErrorInvalidDevicePointer", f"nothing is at {address:#x}")
    if not 0 < width <= 65000 or not 0 < height <= 65000 or pitch < width * channel.nbytes or pitch % _PITCH_ALIGNMENT:
        raise invalid(f"{width} x {height} texels with pitch {pitch}")
    offset = address % OFFSET_ALIGNMENT
    if offset % channel.nbytes:
        raise invalid(f"an address of {address:#x}")
    wide = width + offset // channel.nbytes
    size = (height - 1) * pitch + wide * channel.nbytes
    if address - offset + size > found[1]:
        raise invalid(f"{height} rows of {pitch} bytes at {address:#x} are not all allocated")
    return Binding(address - offset, wide, height, 0, pitch, "2d", size), offset


def _of_array(array: Array) -> Binding:
    target = "3d" if array.depth else "2d" if array.height else "1d"
    return Binding(array.address, array.width, array.height, array.depth, array.pitch, target, array.nbytes, array)


@handler("bind")
def bind(
    s: Session, number: int, what: int, address: int, width: int, height: int, pitch: int, reference: bytes
) -> int:
    """Bind or unbind a registered reference; return the offset in bytes that a kernel has to add."""
    texture = s.texture(number)
    if what == UNBOUND:
        texture.binding = None
        return 0
    state = state_of(reference, texture.as_float)
    check_state(state, texture.as_float)
    if what == BUFFER:
        texture.binding, texture.offset = _linear(s, state.channel, address, width)
    elif what == PLANE:
        texture.binding, texture.offset = _plane(s, state.channel, address, width, height, pitch)
    elif what == ARRAY:
        array = s.handles.get(address, Array)
        if array.channel.nbytes != state.channel.nbytes:
            raise CudaError("cudaErrorInvalidChannelDescriptor", "the array has other elements")
        texture.binding, texture.offset = _of_array(array), 0
    else:
        raise invalid(f"a binding of kind {what}")
    texture.state = state
    return texture.offset


@handler("texture_state")
def texture_state(s: Session, number: int, reference: bytes) -> None:
    """Apply the program's changes to a bound texture reference."""
    texture = s.texture(number)
    texture.state = state_of(reference, texture.as_float)  # only a kernel that uses it minds if it makes no sense


@handler("texture_offset")
def texture_offset(s: Session, number: int) -> int:
    texture = s.texture(number)
    if texture.binding is None:
        raise CudaError("cudaErrorInvalidTextureBinding", texture.name)
    return texture.offset


# --- the driver's references ----------------------------------------------------------------------------------------
_READ_AS_INTEGER, _NORMALIZED = 1, 2


def _get(s: Session, handle: int) -> TextureReference:
    return s.handles.get(handle, TextureReference)


@handler("cuModuleGetTexRef")
def of_module(s: Session, module: int, name: str) -> int:
    owner = s.handles.get(module, ProgramModule)
    if name not in owner.texture_names() | set(owner.loaded.samplers):
        raise CudaError("cudaErrorInvalidSymbol", f"no texture {name}")
    texture = s.bound_texture(owner, name)
    if texture is None:
        texture = TextureReference(owner, name, state=TextureState(as_float=True))
        s.textures.append(texture)
    return s.handles.add(texture)


@handler("cuTexRefCreate")
def create(s: Session) -> int:
    return s.handles.add(TextureReference(None, ""))


@handler("cuTexRefDestroy")
def destroy(s: Session, handle: int) -> None:
    s.handles.drop(handle, TextureReference)


@handler("cuTexRefSetArray")
def set_array(s: Session, handle: int, array_handle: int, flags: int) -> None:
    texture, array = _get(s, handle), s.handles.get(array_handle, Array)
    if flags & 1:  # CU_TRSA_OVERRIDE_FORMAT
        texture.state = replace(texture.state, channel=array.channel)
    texture.binding, texture.offset = _of_array(array), 0


@handler("cuTexRefSetAddress", "cuTexRefSetAddress_v2")
def set_address(s: Session, handle: int, address: int, size: int) -> int:
    texture = _get(s, handle)
    if not address:
        texture.binding = None
        return 0
    texture.binding, texture.offset = _linear(s, texture.state.channel, address, size)
    return texture.offset


@handler("cuTexRefSetAddress2D", "cuTexRefSetAddress2D_v2", "cuTexRefSetAddress2D_v3")
def set_plane(s: Session, handle: int, address: int, pitch: int, desc: bytes) -> None:
    texture = _get(s, handle)
    width, height, code, components = struct.unpack("<4I" if len(desc) == 16 else "<2Q2I", desc)
    channel = channel_named(code, components)
    texture.binding, texture.offset = _plane(s, channel, address, width, height, pitch)
    texture.state = replace(texture.state, channel=channel)
    if texture.offset:
        raise invalid(f"{address:#x} is not a multiple of {OFFSET_ALIGNMENT}")


@handler("cuTexRefSetFormat")
def set_format(s: Session, handle: int, code: int, components: int) -> None:
    texture = _get(s, handle)
    texture.state = replace(texture.state, channel=channel_named(code, components))


@handler("cuTexRefSetAddressMode")
def set_mode(s: Session, handle: int, dimension: int, mode: int) -> None:
    texture = _get(s, handle)
    if not 0 <= dimension < 3 or not 0 <= mode < 4:
        raise invalid(f"mode {mode} for axis {dimension}")
    modes = list(texture.state.modes)
    modes[dimension] = mode
    texture.state = replace(texture.state, modes=(modes[0], modes[1], modes[2]))


@handler("cuTexRefSetFilterMode")
def set_filter(s: Session, handle: int, mode: int) -> None:
    texture = _get(s, handle)
    if mode not in (0, 1):
        raise invalid(f"filter {mode}")
    texture.state = replace(texture.state, filter=mode)


@handler("cuTexRefSetFlags")
def set_flags(s: Session, handle: int, flags: int) -> None:
    texture = _get(s, handle)
    check_flags(flags, _READ_AS_INTEGER | _NORMALIZED)
    texture.state = replace(texture.state, normalized=bool(flags & _NORMALIZED), as_float=not flags & _READ_AS_INTEGER)


@handler("cuTexRefGetAddress", "cuTexRefGetAddress_v2")
def get_address(s: Session, handle: int) -> int:
    texture = _get(s, handle)
    if texture.binding is None or texture.binding.array is not None:
        raise invalid("no memory is bound")
    return texture.binding.address + texture.offset


@handler("cuTexRefGetArray")
def get_array(s: Session, handle: int) -> int:
    texture = _get(s, handle)
    if texture.binding is None or texture.binding.array is None:
        raise invalid("no array is bound")
    return s.handles.add(texture.binding.array)


@handler("cuTexRefGetAddressMode")
def get_mode(s: Session, handle: int, dimension: int) -> int:
    if not 0 <= dimension < 3:
        raise invalid(f"axis {dimension}")
    return _get(s, handle).state.modes[dimension]


@handler("cuTexRefGetFilterMode")
def get_filter(s: Session, handle: int) -> int:
    return _get(s, handle).state.filter


@handler("cuTexRefGetFormat")
def get_format(s: Session, handle: int) -> tuple[int, int]:
    return format_code(_get(s, handle).state.channel)


@handler("cuTexRefGetFlags")
def get_flags(s: Session, handle: int) -> int:
    state = _get(s, handle).state
    return (0 if state.as_float else _READ_AS_INTEGER) | (_NORMALIZED if state.normalized else 0)
