"""Textures: images in the hardware's formats, made from arrays, from device memory, or from TIC words and bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError, NotModelled
from isakit.texture.compressed import decompressed
from isakit.texture.cube import FACES
from isakit.texture.headers import pack, unpack
from isakit.texture.texel_formats import Format, decode, format_named, layout

Target = Literal["1d", "2d", "3d", "cube", "1d_array", "2d_array", "buffer", "rect", "cube_array"]
TARGETS: tuple[Target, ...] = ("1d", "2d", "3d", "cube", "1d_array", "2d_array", "buffer", "rect", "cube_array")
"""By TIC type code."""
AXES: Mapping[Target, int] = {
    "1d": 1, "2d": 2, "3d": 3, "cube": 2, "1d_array": 1, "2d_array": 2, "buffer": 1, "rect": 2, "cube_array": 2,
}  # fmt: skip
"""Axes of an image that coordinates address (faces and layers apart)."""
ARRAYS = frozenset({"1d_array", "2d_array", "cube_array"})
"""Targets with an integer layer behind the coordinates."""
LAYERED = ARRAYS | {"cube"}
_NAMES = {1: "r", 2: "rg", 3: "rgba", 4: "rgba"}


def _rows(raw: Array, count: int, nbytes: int, pitch: int) -> Array:
    """Copy `count` rows that begin every `pitch` bytes: uint8 [count, nbytes]. Raises LaunchError.

    Sizes come from texture headers and captures, which say anything.
    """
    if min(count, nbytes) < 1 or (count > 1 and pitch < nbytes):
        raise LaunchError(f"{count} rows of {nbytes} bytes at a pitch of {pitch} are not a texture")
    need = pitch * (count - 1) + nbytes
    if len(raw) < need:
        what = f"{count} rows of {nbytes} bytes at a pitch of {pitch}"
        raise LaunchError(f"a level of {what} needs {need} bytes, there are {len(raw)}")
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(raw, (count, nbytes), (pitch, 1)))


class Texture:
    """An image with its levels.

    Args:
        data: the first level, or a list of levels, as arrays of texels. A level has the shape [w] for 1d and buffer,
            [h, w] for 2d and rect, [d, h, w] for 3d, [layers, w] and [layers, h, w] for arrays, [6, h, w] for cubes in
            the order +X -X +Y -Y +Z -Z; one axis more for the components of a texel. Row 0 is texture coordinate 0.
        format: a name like rgba8, r32f, srgba8 (default: suggested by the array's type and components). Packed and
            depth formats take the texels as unsigned integers, or d32f as float32; compressed ones bytes of blocks as
            [rows, columns, bytes of a block].
        target: 1d, 2d, 3d, cube, 1d_array, 2d_array, cube_array, buffer or rect.
        normalized: whether coordinates are 0 to 1; rect and buffer textures count in texels.
        read: interpretation of integer arrays by default: `normalized` numbers or `element` values.
        size: (width, height) of the first level of a compressed texture.
        view: (first, last) level that is used (default: all).

    Attributes: `format`, `target`, `normalized`, `sizes` [(width, height, depth or layers or faces) per level]. Raises
    LaunchError for arrays that do not fit the format or the target.
    """

    def __init__(
        self,
        data: Array | Sequence[Array],
        format: str | Format | None = None,
        target: Target = "2d",
        *,
        normalized: bool | None = None,
        read: Literal["normalized", "element"] = "normalized",
        size: tuple[int, int] | None = None,
        view: tuple[int, int] | None = None,
    ) -> None:
        if target not in TARGETS:
            raise LaunchError(f"no texture target {target!r}; there are: {', '.join(TARGETS)}")
        arrays = [np.asarray(a) for a in data] if isinstance(data, list | tuple) else [np.asarray(data)]
        self.target: Target = target
        self.normalized = target not in ("rect", "buffer") if normalized is None else normalized
        if format is None:
            format = _suggested(arrays[0], target, read)
        self.format = format_named(format) if isinstance(format, str) else format
        self.sizes: list[tuple[int, int, int]] = []
        self._raw: list[Array] = []
        for n, a in enumerate(arrays):
            self._add_level(a, size if size is None else (max(1, size[0] >> n), max(1, size[1] >> n)))
        self.view = view or (0, len(arrays) - 1)
        self.fields: dict[str, int] = {}
        self._source: Callable[[], Array] | None = None
        self._finish()

    # --- levels -------------------------------------------------------------------------------------------------------
    def _add_level(self, a: Array, size: tuple[int, int] | None) -> None:
        made, target = self.format.layout, self.target
        axes = AXES[target] + (1 if target in LAYERED else 0)
        if made.block > 1:
            if size is None or a.dtype != np.uint8 or a.ndim != 3 or a.shape[2] != made.nbytes:
                raise LaunchError(f"{made.name} takes uint8 blocks [rows, columns, {made.nbytes}] and `size`")
            self.sizes.append((*size, 1))
            self._raw.append(decompressed(made, a, *size, self.format.types).reshape(-1, 4))
            return
        if a.ndim == axes:
            a = a[..., None]
        if a.ndim != axes + 1:
            raise LaunchError(f"a level of a {target} texture has {axes} axes and one for components, not {a.shape}")
        shape = a.shape[:-1]
        width = shape[-1]
        height = shape[-2] if AXES[target] > 1 else 1
        depth = shape[-3] if AXES[target] == 3 else shape[0] if target in LAYERED else 1
        if 0 in shape:
            raise LaunchError("a texture has at least one texel")
        if target in ("cube", "cube_array") and (width != height or depth % FACES):
            raise LaunchError(f"a cube has six square faces, not {shape}")
        self.sizes.append((width, height, depth))
        self._raw.append(_texel_bytes(self.format, a))

    def _finish(self) -> None:
        counts = [len(r) for r in self._raw]
        self.bases: Array = np.cumsum([0, *counts])[:-1]
        self.widths, self.heights, self.depths = (np.array(s, np.int64) for s in zip(*self.sizes, strict=True))
        self._planes: dict[tuple[bool, int | None, str], list[Array]] = {}
        self._words: Array | None = None

    @classmethod
    def from_memory(
        cls,
        source: Callable[[], Array],
        format: str,
        width: int,
        height: int = 1,
        depth: int = 1,
        *,
        target: Target = "buffer",
        pitch: int | None = None,
        normalized: bool | None = None,
    ) -> Texture:
        """Make a texture over memory that may change between launches.

        Args:
            source: returns the bytes, a uint8 array, whenever a launch begins.
            format: a name as for arrays.
            width: texels of a row.
            height: rows.
            depth: slices, which follow each other without a gap.
            target: buffer, 1d, 2d, rect or 3d.
            pitch: bytes from one row to the next (default: no padding).
            normalized: as for arrays.

        Raises LaunchError for sizes that the memory does not hold, and for rows that overlap.
        """
        form = format_named(format)
        n = form.layout.nbytes
        step = pitch or width * n

        def texels() -> Array:
            return _rows(source(), height * depth, width * n, step).reshape(-1, n)

        if target in AXES and (height, depth)[AXES[target] - 1 :] != (1, 1)[AXES[target] - 1 :]:
            raise LaunchError(f"a {target} texture is not {width} x {height} x {depth}")
        first = texels().copy()  # before anything as large as the sizes say is made
        out = cls(np.zeros((depth, height, width)[-AXES[target] :], np.uint8), "r8", target)
        out.format, out._raw, out._source = form, [first], texels
        out.normalized = out.normalized if normalized is None else normalized
        out._finish()
        return out

    @classmethod
    def from_words(cls, words: Sequence[int], data: bytes | Array) -> Texture:
        """Make the texture that eight TIC words describe.

        Args:
            words: the TIC. Only its address is not used.
            data: the bytes of the image: rows at the pitch for the pitch layout; else texels row by row, layers one
                after another inside a level, levels one after another (the order in video memory is not modelled).

        Raises LaunchError when there are too few bytes, NotModelled for formats that are not.
        """
        v = unpack("tic", words)
        types = tuple(v[f"type_{c}"] for c in "rgba")
        sources = tuple(v[f"source_{c}"] for c in "xyzw")
        form = Format(layout(v["components"]), types, sources, bool(v["srgb"]))
        if v["type"] >= len(TARGETS):
            raise NotModelled(f"texture type {v['type']}", "types are 0 to 8")
        target = TARGETS[v["type"]]
        raw = np.frombuffer(data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes(), np.uint8)
        width, height = v["width"], (v["height"] | v["height_bit_16"] << 16) or 65536
        depth = max(1, v["depth"]) * (FACES if target in ("cube", "cube_array") else 1)
        levels = v["map_mip_level"] + 1 if target not in ("rect", "buffer") else 1
        out = cls.__new__(cls)
        out.target, out.format, out.normalized = target, form, bool(v["normalized"])
        out.sizes, out._raw, out._source = [], [], None
        at = 0
        for level in range(levels):
            w = max(1, width >> level)
            h = max(1, height >> level) if AXES[target] > 1 else 1
            d = max(1, depth >> level) if target == "3d" else depth if target in LAYERED else 1
            at += out._take_level(raw[at:], (w, h, d), v["pitch"] if v["pitch_layout"] else 0)
        out.view = (
            (min(levels - 1, v["view_min_level"]), min(levels - 1, v["view_max_level"]))
            if v["header_v2"]
            else (0, levels - 1)
        )
        out.fields = v
        out._finish()
        return out

    def _take_level(self, raw: Array, size: tuple[int, int, int], pitch: int) -> int:
        """Add a level from bytes; return how many bytes it took."""
        made = self.format.layout
        w, h, d = size
        columns, rows = -(-w // made.block), -(-h // made.block) * d
        tight = columns * made.nbytes
        step = pitch or tight
        lines = _rows(raw, rows, tight, step)
        self.sizes.append(size)
        if made.block > 1:
            blocks = lines.reshape(d, rows // d, columns, made.nbytes)
            types = self.format.types
            self._raw.append(np.concatenate([decompressed(made, b, w, h, types).reshape(-1, 4) for b in blocks]))
        else:
            self._raw.append(lines.reshape(-1, made.nbytes))
        return step * (rows - 1) + tight

    # --- what the texture unit asks -----------------------------------------------------------------------------------
    @property
    def over_memory(self) -> bool:
        """True if the texture is in memory that may change between launches."""
        return self._source is not None

    def refresh(self) -> None:
        """Reload the texels from the memory behind the texture."""
        if self._source is not None:
            now = self._source()
            if not np.array_equal(now, self._raw[0]):
                self._raw = [now.copy()]  # it may be the memory itself
                self._planes, self._words = {}, None

    def planes(self, srgb: bool, srgb_bits: int | None = None, srgb_of: str = "results") -> list[Array]:
        """Return R, G, B, A of all texels as u32 register bits, levels one after another.

        `bases` says where each starts.
        """
        key = srgb and self.format.srgb, srgb_bits, srgb_of
        found = self._planes.get(key)
        if found is None:
            found = self._planes[key] = decode(self.format, np.concatenate(self._raw), *key)
        return found

    def words_of_texels(self) -> Array:
        """Return texels of four bytes unchanged, u32, levels one after another."""
        if self._words is None:
            self._words = np.ascontiguousarray(np.concatenate(self._raw)).view(np.uint32).ravel()
        return self._words

    @property
    def layered(self) -> bool:
        """True if an integer layer follows the coordinates."""
        return self.target in ARRAYS

    @property
    def axes(self) -> int:
        """Number of axes of an image."""
        return AXES[self.target]

    @property
    def last_level(self) -> int:
        """The last level sampling may use."""
        return min(self.view[1], len(self.sizes) - 1)

    @property
    def one_level(self) -> bool:
        """True if sampling can only use the first level of the view."""
        return self.view[0] >= self.last_level

    @property
    def lod_vectors(self) -> int:
        """Derivatives of a quad that count for the level of detail: two or four."""
        return 4 if self.fields.get("lod_iso_quality", 1) else 2

    @property
    def lod_bias(self) -> float | None:
        """The bias of the level of detail that replaces the sampler's; None if the sampler's applies."""
        if not self.fields.get("use_header_opt"):
            return None
        bias = self.fields["lod_bias"]
        return (bias - (bias >> 12 << 13)) / 256

    @property
    def one_border_colour(self) -> bool:
        """True if R of the border applies to all components: for depth formats, and if the header says so."""
        return "Z" in self.format.layout.name or bool(self.fields.get("depth_texture"))

    @property
    def words(self) -> tuple[int, ...]:
        """The eight TIC words, as a driver for G84 and later writes them; the address is 0."""
        w, h, d = self.sizes[0]
        form, cube = self.format, self.target in ("cube", "cube_array")
        last = len(self.sizes) - 1
        values = {
            "components": form.layout.code,
            "srgb": int(form.srgb),
            "type": TARGETS.index(self.target),
            "sector_promotion": 1,
            "border_source": 1,
            "lod_aniso_quality_2": 1,
            "normalized": int(self.normalized),
            "lod_aniso_quality": 1,
            "lod_iso_quality": 1,
            "width": w,
            "depth_texture": int(self.one_border_colour),
            "header_v2": 1,
            "height": h & 0xFFFF,
            "height_bit_16": h >> 16 & 1,
            "depth": d // FACES if cube else d,
            "map_mip_level": last if self.normalized else 0,
            "aniso_coarse_spread_function": 1,
            "aniso_fine_spread_function": 2,
            "view_min_level": self.view[0],
            "view_max_level": self.view[1],
        }
        values |= {f"type_{c}": t for c, t in zip("rgba", form.types, strict=True)}
        values |= {f"source_{c}": t for c, t in zip("xyzw", form.sources, strict=True)}
        return pack("tic", self.fields or values)

    def __repr__(self) -> str:
        w, h, d = self.sizes[0]
        size = " x ".join(str(n) for n in ((w, h, d)[: 3 if d > 1 else self.axes]))
        return f"<Texture {self.target} {self.format.layout.name} {size}, {len(self.sizes)} levels>"


def _suggested(a: Array, target: Target, read: str) -> str:
    """Return the format an array's type and components suggest."""
    axes = AXES[target] + (1 if target in LAYERED else 0)
    count = 1 if a.ndim == axes else a.shape[-1] if a.ndim else 0
    suffix = {"u": "ui" if read == "element" else "", "i": "i" if read == "element" else "s", "f": "f"}
    kind = a.dtype.kind
    if count not in _NAMES or kind not in suffix or a.dtype.itemsize > 4:
        raise LaunchError(f"no texel format suggests itself for {a.dtype} texels of {count} components; name one")
    if kind in "ui" and a.dtype.itemsize == 4:
        return f"{_NAMES[count]}32{'ui' if kind == 'u' else 'i'}"
    return f"{_NAMES[count]}{8 * a.dtype.itemsize}{suffix[kind]}"


def _texel_bytes(form: Format, a: Array) -> Array:
    """Pack texels [..., components] to bytes [texels, bytes of a texel]. Three components get a fourth: 1."""
    made = form.layout
    sizes = {n for _, n in made.components}
    count = len(made.components)
    if a.shape[-1] == 3 and count == 4:
        one: float = 1 if a.dtype.kind == "f" or form.integer else np.iinfo(a.dtype).max
        a = np.concatenate([a, np.full((*a.shape[:-1], 1), one, a.dtype)], axis=-1)
    if a.shape[-1] == 1 and a.dtype.itemsize == made.nbytes:
        return np.ascontiguousarray(a).view(np.uint8).reshape(-1, made.nbytes)
    if len(sizes) != 1 or a.shape[-1] != count or 8 * a.dtype.itemsize not in sizes:
        raise LaunchError(
            f"{made.name} has {count} components of {sorted(sizes)} bits; the array has {a.shape[-1]} of {a.dtype}"
        )
    return np.ascontiguousarray(a).view(np.uint8).reshape(-1, made.nbytes)
