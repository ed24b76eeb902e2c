"""Texture references of CUDA as textures and samplers of the chip."""

from __future__ import annotations

import struct
from typing import cast

import numpy as np
from numpy.typing import NDArray

from isakit.hosts.cuda.codes import CudaError
from isakit.hosts.cuda.objects import FLOAT, SIGNED, Binding, ChannelFormat, TextureState
from isakit.texture.sampler_state import Sampler, Wrap
from isakit.texture.texture import Target, Texture

_COMPONENTS = {1: "r", 2: "rg", 4: "rgba"}
_WRAPS = ("repeat", "edge", "mirror", "border")
_CLAMP, _BORDER = 1, 3
OFFSET_ALIGNMENT = 256
"""Alignment of textures in bytes; a kernel adds the remaining offset."""


def state_of(reference: bytes, as_float: bool) -> TextureState:
    """Unpack the state of a texture reference from the library's message: normalized, filter, three modes, channels.

    Raises CudaError for invalid numbers.
    """
    if len(reference) != 40:
        raise CudaError("cudaErrorInvalidTexture", f"{len(reference)} bytes of state")
    normalized, filter_, *rest = struct.unpack("<10i", reference)
    channel = ChannelFormat(tuple(rest[3:7]), rest[7])
    state = TextureState(bool(normalized), filter_, tuple(rest[:3]), channel, as_float)
    if filter_ not in (0, 1) or any(not 0 <= m < len(_WRAPS) for m in state.modes):
        raise CudaError("cudaErrorInvalidTexture", f"filter {filter_}, modes {state.modes}")
    return state


def format_name(channel: ChannelFormat, as_float: bool) -> str:
    """Return the texel format of a channel description."""
    channel.check()
    letters, bits = _COMPONENTS[channel.count], channel.bits[0]
    if channel.kind == FLOAT:
        return f"{letters}{bits}f"
    if as_float and bits < 32:
        return f"{letters}{bits}{'s' if channel.kind == SIGNED else ''}"
    return f"{letters}{bits}{'i' if channel.kind == SIGNED else 'ui'}"


def check_state(state: TextureState, declared_float: bool) -> None:
    """Raise CudaError for reads that no texture unit supports.

    `declared_float`: the reference was declared with float reads; the driver interface has flags instead, which are
    ignored for 32-bit integers.
    """
    channel = state.channel.check()
    numbers = channel.kind == FLOAT or (state.as_float and channel.bits[0] < 32)
    if declared_float and channel.bits[0] == 32 and channel.kind != FLOAT:
        raise CudaError("cudaErrorInvalidNormSetting", "32-bit integers cannot be read as normalized floats")
    if state.filter and not numbers:
        raise CudaError("cudaErrorInvalidFilterSetting", "integers cannot be filtered")


def sampler_of(state: TextureState) -> Sampler:
    """Return the sampler of a reference. For unnormalized coordinates, all address modes but border mean clamp."""
    modes = state.modes if state.normalized else tuple(m if m == _BORDER else _CLAMP for m in state.modes)
    kind = "linear" if state.filter else "nearest"
    return Sampler(wrap=cast("tuple[Wrap, Wrap, Wrap]", tuple(_WRAPS[m] for m in modes)), mag=kind, min=kind)


def texture_over(memory: NDArray[np.uint8], bound: Binding, state: TextureState) -> Texture:
    """Return the texture of a binding, over the whole memory of a device."""
    pages = memory[bound.address : bound.address + bound.size]
    # The format of linear memory may have been set after its address.
    width = bound.size // state.channel.nbytes if bound.target == "buffer" else bound.width
    if not width:
        raise CudaError("cudaErrorInvalidTextureBinding", f"{bound.size} bytes hold no texel")
    return Texture.from_memory(
        lambda: pages,
        format_name(state.channel, state.as_float),
        width,
        max(1, bound.height),
        max(1, bound.depth),
        target=cast("Target", bound.target),
        pitch=bound.pitch or None,
        normalized=state.normalized and bound.target != "buffer",
    )
