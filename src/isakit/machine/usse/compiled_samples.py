"""Samples of shaders as machine code: the text of `sampler`, traced (`engine.llvm.array_tracer`).

A function answers for any number of invocations. It leaves those to the arrays whose coordinates are not finite, and
those whose sample is a NaN, since which NaN is not the same on every way to compute it. All indices are clamped before
memory is read.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from isakit.engine.llvm import Host, LlvmModule, LoadedCode, object_code
from isakit.engine.llvm.array_tracer import LANES, TracedArray, TracedTable, Tracer
from isakit.engine.llvm.exclusive import using_llvm
from isakit.machine.usse.sampler import Cube, Texture, Volume, packed
from isakit.machine.usse.texture_samples import words_of

Array = NDArray[Any]
FEW = 256
"""Invocations for which the arrays are as quick."""
MOST_TEXELS = 1 << 29
_TABLES = (*(f"plane{k}" for k in range(4)), "widths", "heights", "bases")
Key = tuple[Any, ...]


class Samples:
    """Samples of textures on compiled code, for a target."""

    def __init__(self, target: Host) -> None:
        self.target = target

    def words_of(self, texture: Texture, coordinates: Sequence[Array], lod: Array | float, format: str) -> list[Array]:
        """The registers of a sample, as `texture_samples.words_of` has them."""
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
    """Where the planes and tables of a texture are."""
    if texture not in _kept:
        tables = [np.ascontiguousarray(t, np.int64) for t in texture.tables]
        _kept[texture] = np.array([a.ctypes.data for a in (*texture.planes, *tables)], np.int64), tables
    return _kept[texture][0]


def _text(texture: Texture, axes: int, format: str) -> str:
    """The IR of `sample(ptr tables, ptr coordinates, ptr levels, ptr words, ptr left, i64 count)`."""
    module = LlvmModule(LANES)
    code = Tracer(module)
    b = code.body
    shown: Any = object.__new__(type(texture))
    shown.filter, shown.wrap, shown.mip, shown.levels = texture.filter, texture.wrap, texture.mip, texture.levels
    if isinstance(texture, Cube):
        shown.seamless = texture.seamless
    if isinstance(texture, Volume):
        shown.slices = texture.slices
    tables: list[TracedTable] = []
    for k, name in enumerate(_TABLES):
        pointer = b(f"load ptr, ptr {b(f'getelementptr ptr, ptr %tables, i64 {k}')}, !invariant.load !1")
        tables.append(TracedTable(code, pointer, np.float32 if name.startswith("plane") else np.int64))
    shown.planes, shown.tables = tables[:4], tuple(tables[4:])
    head, b.lines = b.lines, []

    def row(base: str, k: int, dtype: Any) -> str:
        at = b(f"add i64 %at, {b(f'mul i64 %count, {k}')}")
        return b(f"getelementptr {code.element(dtype)}, ptr {base}, i64 {at}")

    coordinates: list[TracedArray] = []
    for k in range(axes):
        text = f"load {code.type(np.float32)}, ptr {row('%coordinates', k, np.float32)}, align 4"
        coordinates.append(code.value(text, np.float32))
        code.mark(~np.isfinite(coordinates[-1]))
    lod: Any = 0.0
    if len(texture.levels) > 1:
        text = f"load {code.type(np.float64)}, ptr {row('%levels', 0, np.float64)}, align 8"
        lod = code.value(text, np.float64)
    components = shown.components(coordinates, lod)
    for c in components:
        code.mark(np.isnan(c))
    for k, word in enumerate(packed(components, format)):
        b.do(f"store {code.type(np.uint32)} {code.of(word).text}, ptr {row('%words', k, np.uint32)}, align 4")
    lines = [
        "define void @sample(ptr noalias %tables, ptr noalias %coordinates, ptr noalias %levels, ptr noalias %words, "
        "ptr noalias %left, i64 %count) nounwind {",
        "entry:", "  %cannot = alloca i16", "  %at_v = alloca i64", "  store i64 0, ptr %at_v", *head,
        "  br label %loop", "loop:", "  %at = load i64, ptr %at_v", "  store i16 0, ptr %cannot", *b.lines,
        "  %odd = load i16, ptr %cannot", f"  %number = udiv i64 %at, {LANES}",
        "  %left_p = getelementptr i16, ptr %left, i64 %number", "  store i16 %odd, ptr %left_p",
        f"  %next = add i64 %at, {LANES}", "  store i64 %next, ptr %at_v", "  %more = icmp ult i64 %next, %count",
        "  br i1 %more, label %loop, label %done", "done:", "  ret void", "}",
    ]  # fmt: skip
    module.add("\n".join(lines))
    return f"{module}\n!1 = !{{}}\n"


__all__ = ["Samples"]
