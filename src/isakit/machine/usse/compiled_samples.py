"""Texture samples of shaders as machine code: the code of `sampler`, traced (`engine.llvm.array_tracer`).

A function samples for any number of invocations. It leaves invocations to the NumPy code whose coordinates are not
finite, or whose sample is a NaN, because the bits of that NaN depend on how it is computed. All indices are clamped
before memory is read.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from isakit.engine.llvm import METADATA, Builder, Host, LlvmModule, LoadedCode, Ref, object_code
from isakit.engine.llvm.array_tracer import LANES, TracedArray, TracedTable, Tracer
from isakit.engine.llvm.builder import I16, I64, PTR, VOID, define, pointer
from isakit.engine.llvm.exclusive import using_llvm
from isakit.engine.protocol import Array
from isakit.machine.usse.sampler import Cube, Texture, Volume, packed
from isakit.machine.usse.texture_samples import words_of

FEW = 256
"""Number of invocations up to which the NumPy code is as fast."""
MOST_TEXELS = 1 << 29
_TABLES = (*(f"plane{k}" for k in range(4)), "widths", "heights", "bases")
Key = tuple[object, ...]


class Samples:
    """Compiled texture samples, for a target."""

    def __init__(self, target: Host) -> None:
        self.target = target

    def words_of(self, texture: Texture, coordinates: Sequence[Array], lod: Array | float, format: str) -> list[Array]:
        """Return the registers of a sample, like `texture_samples.words_of`."""
        count = len(coordinates[0])
        function = self._function(texture, len(coordinates), format) if count >= FEW else None
        if function is None:
            return words_of(texture, coordinates, lod, format)
        padded = -(-count // LANES) * LANES
        given = np.zeros((len(coordinates), padded), np.float32)
        given[:, :count] = coordinates
        level = np.zeros(padded if len(texture.levels) > 1 else 1)
        level[:count] = lod if len(texture.levels) > 1 else 0
        out: Array = np.zeros((WORDS[format], padded), np.uint32)
        left: Array = np.zeros(padded // LANES, np.uint16)
        pointers = _pointers(texture)
        function(*(a.ctypes.data for a in (pointers, given, level, out, left)), padded)
        words = [row[:count] for row in out]
        if left.any():
            here = np.unpackbits(left.view(np.uint8), bitorder="little")[:count].view(bool)
            some = [c[here] for c in coordinates]
            again = words_of(texture, some, level[:count][here] if len(texture.levels) > 1 else 0.0, format)
            for word, row in zip(words, again, strict=True):
                word[here] = row
        return words

    def _function(self, texture: Texture, axes: int, format: str) -> Callable[..., None] | None:
        if sum(len(p) for p in texture.planes[:1]) >= MOST_TEXELS:
            return None
        if format == "f16" and "+f16c" not in self.target.features.split(","):
            return None  # LLVM would call a function of the C library
        key = (
            self.target, type(texture).__name__, axes, format, texture.filter, texture.wrap, texture.mip,
            getattr(texture, "seamless", False), len(texture.levels), len(getattr(texture, "slices", ())),
        )  # fmt: skip
        with using_llvm, _lock:
            if key not in _made:
                loaded = LoadedCode(object_code(_text(texture, axes, format), self.target), self.target)
                arguments = [ctypes.c_void_p] * 5 + [ctypes.c_int64]
                _made[key] = loaded, loaded.function("sample", None, *arguments)
            return _made[key][1]


WORDS = {"u8": 1, "f16": 2, "f32": 4}
"""Registers of a sample."""
_made: dict[Key, tuple[LoadedCode, Callable[..., None]]] = {}
_lock = threading.Lock()
_kept: WeakKeyDictionary[Texture, tuple[Array, list[Array]]] = WeakKeyDictionary()


def _pointers(texture: Texture) -> Array:
    """Return the addresses of the planes and tables of a texture."""
    if texture not in _kept:
        tables = [np.ascontiguousarray(t, np.int64) for t in texture.tables]
        _kept[texture] = np.array([a.ctypes.data for a in (*texture.planes, *tables)], np.int64), tables
    return _kept[texture][0]


def _text(texture: Texture, axes: int, format: str) -> str:
    """Return the IR of `sample(ptr tables, ptr coordinates, ptr levels, ptr words, ptr left, i64 count)`."""
    module = LlvmModule(LANES)
    code = Tracer(module)
    b, head = code.body, Builder(module, first=1_000_000)
    pointers, given, levels, results, left = (
        pointer(f"%{name}") for name in ("tables", "coordinates", "levels", "words", "left")
    )
    count, at = Ref("%count", I64), Ref("%at", I64)
    shown: Any = object.__new__(type(texture))
    shown.filter, shown.wrap, shown.mip, shown.levels = texture.filter, texture.wrap, texture.mip, texture.levels
    if isinstance(texture, Cube):
        shown.seamless = texture.seamless
    if isinstance(texture, Volume):
        shown.slices = texture.slices
    tables: list[TracedTable] = []
    for k, name in enumerate(_TABLES):
        place = head.load(PTR, head.element(PTR, pointers, k), invariant=True)
        tables.append(TracedTable(code, place, np.float32 if name.startswith("plane") else np.int64))
    shown.planes, shown.tables = tables[:4], tuple(tables[4:])

    def row(base: Ref, k: int, dtype: type[np.generic]) -> Ref:
        return b.element(code.element(dtype), base, b.add(at, b.mul(count, k)))

    coordinates: list[TracedArray] = []
    for k in range(axes):
        coordinates.append(code.load(np.float32, row(given, k, np.float32)))
        code.mark(~np.isfinite(coordinates[-1]))
    lod: TracedArray | float = 0.0
    if len(texture.levels) > 1:
        lod = code.load(np.float64, row(levels, 0, np.float64))
    components = shown.components(coordinates, lod)
    for c in components:
        code.mark(np.isnan(c))
    for k, word in enumerate(packed(components, format)):
        code.store(code.of(word, np.uint32), row(results, k, np.uint32))
    cannot, place = pointer("%cannot"), pointer("%at_v")
    begin, end = Builder(module), Builder(module, first=2_000_000)
    begin.label("entry")
    begin.alloca(I16, cannot.text)
    begin.alloca(I64, place.text)
    begin.store(I64(0), place)
    begin.lines += head.lines
    begin.label("loop")
    begin.named(at.text, begin.load(I64, place))
    begin.store(I16(0), cannot)
    end.store(end.load(I16, cannot), end.element(I16, left, end.udiv(at, LANES)))
    following = end.add(at, LANES)
    end.store(following, place)
    end.branch(end.ult(following, count), "loop", "done")
    end.label("done")
    end.ret()
    parameters = [pointers, given, levels, results, left, count]
    module.add(define("@sample", VOID, parameters, begin.lines, b.lines, end.lines, noalias=True))
    return f"{module}{METADATA}"


__all__ = ["Samples"]
