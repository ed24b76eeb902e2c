"""The texture unit as machine code: its code, traced for one kind of query (`engine.llvm.array_tracer`).

A query is a texture instruction with a texture and a sampler. Properties that many of them share are compiled into a
function: operation, target, format, filters, wrap modes, choices (`TextureKey`). Numbers and addresses are in a record
passed to the function (`Descriptor`). Functions are cached on disk like all compiled code.

The function computes the 32 lanes of a warp, or reports that it cannot: if the outcome depends on the rounding error of
a logarithm or of a sum, or a repeating coordinate is very large. Then the array code does it. All indices are clamped
before memory is read, whatever the coordinates are.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isakit.engine.llvm import METADATA, Builder, Host, LlvmModule, LoadedCode, Ref, object_code
from isakit.engine.llvm.array_tracer import LANES, TracedArray, TracedTable, Tracer
from isakit.engine.llvm.builder import F64, I16, I32, I64, PTR, IrFunction, IrType, define, pointer
from isakit.engine.llvm.environment import KEEP_BOTH, switched
from isakit.engine.llvm.exclusive import using_llvm
from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.texture.sampler_state import Sampler
from isakit.texture.texel_formats import UNORM, Format
from isakit.texture.texture import ARRAYS, AXES, Target, Texture
from isakit.texture.texture_choices import TextureChoices
from isakit.texture.texture_unit import TextureUnit
from isakit.texture.wrap import OUTSIDE

WARP = 32
_NUMBERS = ("width", "height", "depth", "first", "last", *(f"border{k}" for k in range(4)))
_FLOATS = ("lod_bias", "min_lod", "max_lod")
_POINTERS = (*(f"plane{k}" for k in range(4)), "widths", "heights", "depths", "bases")
SLOTS = {name: 8 * n for n, name in enumerate((*_POINTERS, *_NUMBERS, *_FLOATS))}
"""Offsets in a record: addresses, integers (i64), f64."""
MOST_TEXELS, LONGEST = 1 << 29, 1 << 20
"""Textures with more texels, or longer sides, are left to the array code."""

SMALLEST_NORMAL = 0x00800000
DESCRIPTOR, _SOURCES, _RESULTS = (pointer(f"%{name}") for name in ("descriptor", "sources", "results"))
_AT = Ref("%at", I64)
"""Bytes from the row of a source or a result to the present half of the warp."""


@dataclass(frozen=True)
class TextureKey:
    """Properties that are built into a function.

    Attributes: the instruction (`op`, number of `sources`, `offsets`, `cube`, `quads`, `wanted`), the texture
    (`target`, `format`, `one_border_colour`, `normalized`, whether it has `one_size`, samples use `one_level`, all
    sizes are `powers_of_two`, `lod_vectors`, texels are `packed` as they came), the sampler's `modes`, `filters` (mag,
    min, mip), `compare` and `srgb`, and what is chosen where the documents are silent.
    """

    op: str
    sources: int
    offsets: tuple[int, ...]
    cube: bool
    quads: bool
    wanted: int
    target: Target
    format: Format
    one_border_colour: bool
    normalized: bool
    one_size: bool
    one_level: bool
    powers_of_two: bool
    lod_vectors: int
    packed: bool
    modes: tuple[int, int, int]
    filters: tuple[str, str, str]
    compare: str | None
    srgb: bool
    choices: TextureChoices
    derivative_inf: bool

    @property
    def fraction(self) -> int | None:
        """Filtered values are multiples of 2**-fraction from 0 to 1."""
        if self.compare is not None and self.sources > 1:
            return 0
        widest = max(n for _, n in self.format.layout.components)
        plain = self.format.layout.kind == "plain" and set(self.format.types) == {UNORM} and widest <= 8
        coloured = self.srgb and self.format.srgb
        return 31 if plain and not coloured and OUTSIDE.isdisjoint(self.modes) else None

    @property
    def any_environment(self) -> bool:
        """True if flushing denormals changes nothing but coordinates (and levels) that are denormals.

        Texels are moved unchanged, or converted from bytes, so that no intermediate value is denormal.
        """
        if self.target not in ("1d", "2d", "3d") or self.compare is not None:
            return False
        if self.op not in ("texauto", "texbias", "texlod"):
            return False
        moved = self.filters[:2] == ("nearest", "nearest") and self.filters[2] != "linear"
        return moved or (self.packed and self.fraction is not None)


def question(
    op: str, sources: int, offsets: Sequence[int], cube: bool, quads: bool, wanted: int, texture: Texture,
    sampler: Sampler, choices: TextureChoices, derivative_inf: bool,
) -> TextureKey | None:  # fmt: skip
    """Return the key of an instruction; None if only the array code can execute it."""
    sizes = texture.sizes
    texels = sum(w * h * d for w, h, d in sizes)
    if texels >= MOST_TEXELS or max(max(s) for s in sizes) > LONGEST or min(texture.view[0], texture.last_level) < 0:
        return None
    if texture.view[0] >= len(sizes) or sampler.unknown_codes:
        return None
    filtered = op in ("texauto", "texbias", "texlod", "texgather")
    return TextureKey(
        op, sources, tuple(offsets), cube, quads, wanted, texture.target, texture.format,
        texture.one_border_colour, texture.normalized,
        len(sizes) == 1, texture.one_level, all(n & (n - 1) == 0 for s in sizes for n in s[: texture.axes]),
        texture.lod_vectors, _packed(texture, sampler), sampler.modes if filtered else (2, 2, 2),
        (sampler.mag, sampler.min, sampler.mip), sampler.compare, sampler.srgb, choices, derivative_inf,
    )  # fmt: skip


def _packed(texture: Texture, sampler: Sampler) -> bool:
    """Return whether texels are four bytes that are fractions."""
    form = texture.format
    return form.layout.name == "A8B8G8R8" and set(form.types) == {UNORM} and not (form.srgb and sampler.srgb)


# --- the record -------------------------------------------------------------------------------------------------------
class Descriptor:
    """The record of a texture and a sampler, at `address`; it keeps the arrays it points to."""

    def __init__(self, texture: Texture, sampler: Sampler, choices: TextureChoices) -> None:
        if _packed(texture, sampler):
            self._arrays = [texture.words_of_texels()]
        else:
            self._arrays = [
                np.ascontiguousarray(p) for p in texture.planes(sampler.srgb, choices.srgb_bits, choices.srgb_of)
            ]
        tables = [np.ascontiguousarray(t, np.int64) for t in (texture.widths, texture.heights, texture.depths)]
        tables.append(np.ascontiguousarray(texture.bases, np.int64))
        self._tables = tables
        self.numbers: Array = np.zeros(len(SLOTS), np.int64)
        self.address = self.numbers.ctypes.data
        w, h, d = texture.sizes[0]
        sampler = sampler.for_texture(texture, choices.srgb_bits)
        values: dict[str, object] = {f"plane{k}": a.ctypes.data for k, a in enumerate(self._arrays)}
        values |= {n: t.ctypes.data for n, t in zip(("widths", "heights", "depths", "bases"), tables, strict=True)}
        values |= {"width": w, "height": h, "depth": d, "first": texture.view[0], "last": texture.last_level}
        values |= {f"border{k}": b for k, b in enumerate(sampler.border_bits)}
        for name, value in values.items():
            self.numbers[SLOTS[name] // 8] = value
        floats = self.numbers.view(np.float64)
        for name in _FLOATS:
            floats[SLOTS[name] // 8] = getattr(sampler, name)


# --- tracing ----------------------------------------------------------------------------------------------------------
class _Bytes:
    """One byte of texels that are fractions of 255, as f32."""

    def __init__(self, words: TracedTable, k: int, fused: bool) -> None:
        self.words, self.k, self.fused = words, k, fused

    def __getitem__(self, index: Any) -> TracedArray:
        word, code = self.words[index], self.words.code
        number = (word >> 8 * self.k & 255).view(np.int32).astype(np.float32)
        if not self.fused:
            return (number / np.float32(255)).view(np.uint32)
        # Equal to the quotient for all 256 numbers, and quicker than a division.
        high = np.float32(1 / 255)
        low = number * np.float32(1 / 255 - float(high))
        return code.intrinsic("fma", np.float32, number, code.constant(float(high), np.float32), low).view(np.uint32)


class _Texture:
    """A texture in the function's terms: constants of the key, and numbers of the record."""

    def __init__(self, code: Tracer, q: TextureKey, fused: bool) -> None:
        self._code, self._q = code, q
        self.format, self.target, self.normalized = q.format, q.target, q.normalized
        self.one_level, self.lod_vectors = q.one_level, q.lod_vectors
        self.one_border_colour = q.one_border_colour
        size = tuple(self._number(n) for n in ("width", "height", "depth"))
        for n in size:
            n.powers_of_two = q.powers_of_two
        self.sizes = [size] * (1 if q.one_size else 2)
        self.view = (self._number("first"), self._number("last"))
        self.last_level = self.view[1]
        self.widths, self.heights, self.depths = (
            TracedTable(code, self._pointer(n), np.int64, q.powers_of_two) for n in ("widths", "heights", "depths")
        )
        self.bases = TracedTable(code, self._pointer("bases"), np.int64)
        self.axes, self.layered = AXES[q.target], q.target in ARRAYS
        self._fused = fused

    def _slot(self, name: str, type: IrType) -> Ref:
        b = self._code.body
        return b.load(type, b.offset(DESCRIPTOR, SLOTS[name]), invariant=True)

    def _pointer(self, name: str) -> Ref:
        return self._slot(name, PTR)

    def _number(self, name: str) -> TracedArray:
        return self._code.scalar(self._slot(name, I64), np.int64)

    def float(self, name: str) -> TracedArray:
        """Return a number of the sampler."""
        return self._code.scalar(self._slot(name, F64), np.float64)

    def border(self) -> list[TracedArray]:
        """Return the colour outside."""
        return [self._number(f"border{k}").astype(np.uint32) for k in range(4)]

    def planes(self, srgb: bool, srgb_bits: int | None = None, srgb_of: str = "results") -> list[Any]:
        """See `Texture.planes`."""
        count = len(self.format.layout.components)
        if self._q.packed:
            words = TracedTable(self._code, self._pointer("plane0"), np.uint32)
            return [_Bytes(words, k, self._fused) for k in range(count)]
        return [TracedTable(self._code, self._pointer(f"plane{k}"), np.uint32) for k in range(count)]


class _Sampler:
    """A sampler in the function's terms."""

    unknown_codes = ()

    def __init__(self, texture: _Texture, q: TextureKey) -> None:
        self.modes, self.compare, self.srgb = q.modes, q.compare, q.srgb
        self.mag, self.min, self.mip = q.filters
        self.lod_bias, self.min_lod, self.max_lod = (texture.float(n) for n in _FLOATS)
        self.border_bits = texture.border()

    def for_texture(self, texture: _Texture, srgb_bits: int | None) -> _Sampler:
        """See `Sampler.for_texture`: the numbers of the record are already adjusted."""
        return self


def text_of(q: TextureKey, target: Host) -> str:
    """Return the IR of `i32 @answer(ptr descriptor, ptr sources, ptr results, i32 lanes)`.

    Sources and results are rows of 32 words. The result tells whether any of the lanes are left to the array code.
    Raises NotModelled, as the unit does.
    """
    module = LlvmModule(LANES)
    code = Tracer(module, q.fraction)
    b = code.body
    texture: Any = _Texture(code, q, "+fma" in target.features.split(","))
    unit = TextureUnit({}, {}, q.choices, q.derivative_inf)
    sampler: Any = _Sampler(texture, q)
    unit.show(0, texture, sampler)
    head, b.lines = b.lines, []
    sources: list[Any] = []
    for k in range(q.sources):
        sources.append(code.load(np.uint32, b.offset(_SOURCES, b.add(_AT, 4 * WARP * k))))
    in_default = target.embedded and not q.any_environment
    if target.embedded and not in_default:
        for source in sources:  # the array code keeps denormals
            code.mark((source & 0x7FFFFFFF) - 1 < SMALLEST_NORMAL - 1)
    answer = unit.ask(q.op, 0, 0, sources, offsets=q.offsets, cube=q.cube, quads=q.quads, wanted=q.wanted)
    for k, component in enumerate(answer):
        if q.wanted >> k & 1:
            p = b.offset(_RESULTS, b.add(_AT, 4 * WARP * k))
            code.store(code.of(component, np.uint32), p)
    name = "@computed" if in_default else "@answer"
    inner = IrFunction(name, I32, (PTR, PTR, PTR, I32), target.convention)
    module.add(_function(module, head, b.lines, inner))
    if in_default:  # kernels run with denormals flushed, the texture unit keeps them
        module.add(switched(module, "@answer", inner, KEEP_BOTH, "environment"))
    return f"{module}{METADATA}"


def _function(module: LlvmModule, head: list[str], lines: list[str], f: IrFunction) -> str:
    """Return the loop over the halves of a warp around the code for one of them."""
    half, b, end = 4 * LANES, Builder(module, first=1_000_000), Builder(module, first=2_000_000)
    lanes = Ref("%lanes", I32)
    b.label("entry")
    cannot, place, left = b.alloca(I16, "%cannot"), b.alloca(I64, "%at_v"), b.alloca(I32, "%left_v")
    b.store(I64(0), place)
    b.store(I32(0), left)
    b.lines += head
    b.jump("loop")
    b.label("loop")
    b.named(_AT.text, b.load(I64, place))
    count = b.trunc(b.mul(b.udiv(_AT, half), LANES), I32)
    these = b.trunc(b.lshr(lanes, count), I16)
    none = b.eq(these, 0)
    b.store(I16(0), cannot)
    b.branch(none, "next", "some")
    b.label("some")
    end.jump("next")
    end.label("next")
    asked = end.zext(end.and_(end.load(I16, cannot), these), I32)
    all_left = end.or_(end.load(I32, left), asked)
    end.store(all_left, left)
    following = end.add(_AT, half)
    end.store(following, place)
    end.branch(end.ult(following, 4 * WARP), "loop", "done")
    end.label("done")
    end.ret(end.zext(end.ne(all_left, 0), I32))
    return define(
        f.name, f.result, [DESCRIPTOR, _SOURCES, _RESULTS, lanes], b.lines, lines, end.lines,
        attributes="nounwind noinline alignstack(64)", convention=f.convention, noalias=True,
    )  # fmt: skip


# --- functions --------------------------------------------------------------------------------------------------------
_made: dict[tuple[TextureKey, Host], tuple[LoadedCode | None, int]] = {}
"""Loaded code and the address of its function, 0 without code."""
_lock = threading.Lock()


def function_of(q: TextureKey, target: Host) -> int:
    """Return the address of the function for a key; 0 if only the array code can execute it."""
    key = q, target
    found = _made.get(key)
    if found is not None:
        return found[1]
    with using_llvm, _lock:
        if key not in _made:
            try:
                text = text_of(q, target)
            except (NotModelled, NotImplementedError):
                _made[key] = None, 0
            else:
                loaded = LoadedCode(object_code(text, target), target)
                _made[key] = loaded, loaded.address("answer")
        return _made[key][1]


class CompiledTextureUnit:
    """Calls the compiled function of a texture key from Python. Raises NotModelled if there is none."""

    def __init__(self, q: TextureKey, texture: Texture, sampler: Sampler, target: Host) -> None:
        address = function_of(q, target)
        if not address:
            raise NotModelled(f"`{q.op}` of a {q.target} texture as machine code", "the array code answers")
        self.descriptor, self.sources = Descriptor(texture, sampler, q.choices), q.sources
        self._function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3, ctypes.c_uint32)(address)

    def ask(self, sources: Sequence[Array]) -> tuple[Array, Array]:
        """Return (components [4, lanes] u32, lanes that were computed) for u32 sources of whole warps."""
        count = len(sources[0])
        given: Array = np.zeros((4, WARP), np.uint32)
        got, out, answered = np.zeros_like(given), np.zeros((4, count), np.uint32), np.ones(count, bool)
        for first in range(0, count, WARP):
            here = slice(first, first + WARP)
            for k, source in enumerate(sources):
                given[k] = source[here]
            left = self._function(self.descriptor.address, given.ctypes.data, got.ctypes.data, 0xFFFF_FFFF)
            out[:, here], answered[here] = got, not left
        return out, answered


__all__ = ["CompiledTextureUnit", "Descriptor", "TextureKey", "function_of", "question", "text_of"]
