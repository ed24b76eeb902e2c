"""Textures of programs: TIC and TSC entries in the card's memory, and the images they point to.

Source: [graphics] 1.1, 1.2; the layout of levels [nv50] "Memory".
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.hosts.drm.memory import VideoMemory
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.surface import BLOCK_BYTES, BLOCK_ROWS, Surface
from isakit.texture.headers import not_modelled, unpack
from isakit.texture.sampler_state import Sampler
from isakit.texture.texel_formats import layout
from isakit.texture.texture import AXES, LAYERED, TARGETS, Texture

_SECOND_VERSION = 1 << 31
KEPT_BYTES = 1 << 26
"""Bytes of the card's memory whose textures are kept decoded, in up to eight times as much host memory."""


@lru_cache(maxsize=256)
def sampler(words: tuple[int, ...]) -> Sampler:
    """Return the sampler of a TSC entry."""
    return Sampler.from_words(words)


def level_blocks(rows: int, depth: int, volume: bool) -> tuple[int, int]:
    """Return (block_y, block_z) of a level with `rows` rows: the smallest block that contains it, within limits.

    Source: the driver's set-up of its levels ([nv50] "Memory": mip levels shrink their block).
    """
    y = 0
    high = 2 * rows
    for n, bound in enumerate((8, 16, 32, 64)):
        if high > bound:
            y = n + 1
    if not volume:
        return y, 0
    y = min(y, 2)
    z = 4 if depth > 8 else 3 if depth > 4 else 2 if depth > 2 else 1 if depth > 1 else 0
    if depth > 16 and y < 2:
        z = 5
    return y, z


@dataclass(frozen=True)
class ImagePlan:
    """Layout of a texture's bytes in the card's memory.

    Attributes: `address` and `span`, all bytes from the first to the last; `levels`: for each its offset, bytes of a
    row, rows, slices and the size of its blocks, none for a texture whose bytes are the span itself; `layers`, which
    are `stride` bytes apart.
    """

    address: int
    span: int
    levels: tuple[tuple[int, int, int, int, int, int], ...] = ()
    layers: int = 1
    stride: int = 0

    def read(self, memory: VideoMemory) -> bytes:
        """Return the bytes, by level. Raises GpuFault."""
        if not self.levels:
            return memory.view(self.address, self.span, "texture").tobytes()
        parts: list[Array] = []
        for at, row_bytes, rows, deep, y, z in self.levels:
            for layer in range(self.layers):
                for k in range(deep):
                    s = Surface(memory, self.address + at + layer * self.stride, row_bytes, rows,
                                block_y=y, block_z=z, depth=deep, z=k)  # fmt: skip
                    parts.append(s.read()[:rows, :row_bytes].ravel())
        return np.concatenate(parts).tobytes()


@dataclass
class KeptTexture:
    """A decoded texture: the content of its `span` at `mark`, None if that is not in one memory object."""

    plan: ImagePlan
    content: Array | None
    texture: Texture
    mark: int


class Images:
    """Textures by their TIC words; one is decoded again when its bytes have changed.

    `short_headers`: whether the chip only supports the first version of TIC entries, as G80 does: their last word is a
    colour key and does not describe levels. Drivers set the bit of the second version there, too. Source: [graphics]
    1.1.
    """

    def __init__(self, memory: VideoMemory, short_headers: bool = False) -> None:
        self.memory, self.short_headers = memory, short_headers
        self._kept: OrderedDict[tuple[int, ...], KeptTexture] = OrderedDict()
        self._bytes = 0

    def texture(self, words: tuple[int, ...]) -> Texture:
        """Return the texture of a TIC entry. Raises GpuFault, NotModelled."""
        words = self._header(words)
        found, memory = self._kept.get(words), self.memory
        if found is not None and memory.unchanged(found.mark, found.plan.address, found.plan.span):
            self._kept.move_to_end(words)
            return found.texture
        plan = self._plan(words) if found is None else found.plan
        mark = memory.now
        whole = plan.span <= memory.room(plan.address)
        now = memory.view(plan.address, plan.span, "texture") if whole else None
        if found is not None and now is not None and found.content is not None and np.array_equal(now, found.content):
            self._kept.move_to_end(words)
            found.mark = mark
            return found.texture
        content = None if now is None else now.copy()  # before it is decoded: what the program writes meanwhile is new
        self._kept[words] = made = KeptTexture(plan, content, Texture.from_words(words, plan.read(memory)), mark)
        if found is None:
            self._bytes += plan.span
        self._kept.move_to_end(words)
        while self._bytes > KEPT_BYTES and len(self._kept) > 1:
            _, old = self._kept.popitem(last=False)
            self._bytes -= old.plan.span
        return made.texture

    def bound(self, tic: tuple[int, ...], tsc: tuple[int, ...], report: Report) -> tuple[Texture, Sampler]:
        """Return the texture and sampler of two entries; unsupported features of them are counted.

        Raises GpuFault, NotModelled.
        """
        for what in not_modelled(self._header(tic), tsc):
            report.missing(what)
        return self.texture(tic), sampler(tsc)

    def _header(self, words: tuple[int, ...]) -> tuple[int, ...]:
        """Return the words of a TIC entry as the chip interprets them."""
        return (*words[:4], words[4] & ~_SECOND_VERSION, *words[5:7], 0) if self.short_headers else words

    def decoded(self) -> list[Texture]:
        """Return the decoded textures in the cache."""
        return [k.texture for k in self._kept.values()]

    def _plan(self, words: tuple[int, ...]) -> ImagePlan:
        """Return the layout of a texture's bytes. Raises NotModelled."""
        v = unpack("tic", words)
        address = v["address_high"] << 32 | v["address_low"]
        if v["type"] >= len(TARGETS):
            raise NotModelled(f"texture type {v['type']}")
        target, made = TARGETS[v["type"]], layout(v["components"])
        width, height = v["width"], (v["height"] | v["height_bit_16"] << 16) or 65536
        if AXES[target] < 2:
            height = 1
        if v["pitch_layout"] or target == "buffer":
            tight = width * made.nbytes
            pitch = v["pitch"] if v["pitch_layout"] else tight
            return ImagePlan(address, pitch * (height - 1) + tight)
        depth = max(1, v["depth"])
        layers = depth * (6 if target.startswith("cube") else 1) if target in LAYERED else 1
        levels = v["map_mip_level"] + 1 if target != "rect" else 1
        volume = target == "3d"
        places: list[tuple[int, int, int, int, int, int]] = []
        total = 0
        first = v["gobs_y"], v["gobs_z"]
        for level in range(levels):
            columns = -(-max(1, width >> level) // made.block)
            rows = -(-max(1, height >> level) // made.block) if AXES[target] > 1 else 1
            deep = max(1, depth >> level) if volume else 1
            y, z = first if level == 0 else level_blocks(rows, deep, volume)
            places.append((total, columns * made.nbytes, rows, deep, y, z))
            high, thick = BLOCK_ROWS << y, 1 << z
            across = -(-columns * made.nbytes // BLOCK_BYTES) * BLOCK_BYTES
            total += across * (-(-rows // high) * high) * (-(-deep // thick) * thick)
        grain = BLOCK_BYTES * (BLOCK_ROWS << first[0]) << first[1]
        stride = -(-total // grain) * grain
        return ImagePlan(address, stride * (layers - 1) + total, tuple(places), layers, stride)


def entry(memory: VideoMemory, table: int, index: int, limit: int, what: str) -> tuple[int, ...]:
    """Return eight words of a TIC or TSC table. Raises GpuFault."""
    found: list[int] = memory.view(table + 32 * min(index, limit), 32, what).view(np.uint32).tolist()
    return tuple(found)
