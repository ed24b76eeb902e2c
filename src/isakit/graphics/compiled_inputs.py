"""Inputs of fragments as machine code, traced from the rule in `planes`.

A function fills rows of 32-bit numbers, one for each input that a program names and one for the depth, for the lanes of
a batch. Where all lanes of a group belong to one primitive, its numbers are loaded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isakit.engine.llvm import Host
from isakit.engine.llvm.array_tracer import TracedArray
from isakit.engine.llvm.builder import I16
from isakit.graphics.compiled_quads import GROUP, CompiledFunction, JobSlots, Name, QuadFunction, function_of
from isakit.graphics.planes import Column, Corners, FragmentInput, Interpolation, PrimitiveFacts

Word = tuple[int, bool]
"""A word of v[], and whether it is read without interpolation."""
_U32 = ("front", "number", "flat")


@dataclass(frozen=True)
class InputsKey:
    """Properties that are built into a function.

    Attributes: the `inputs` of the fragments, the `words` that are read, whether `depth` is computed, facts about the
    primitives (`shape`), what positions read beside a pixel's number (`shown`), and whether the place inside a pixel is
    that of a sample, (`dx`, `dy`), in place of its centre.
    """

    inputs: tuple[FragmentInput, ...]
    words: tuple[Word, ...]
    depth: bool
    shape: PrimitiveFacts
    shown: float
    sampled: bool = False


def written(q: InputsKey) -> QuadFunction:
    """Write the code of a function."""
    f = QuadFunction()
    code, b = f.code, f.code.body
    dx, dy = (f.float("dx"), f.float("dy")) if q.sampled else (0.5, 0.5)
    x = f.lanes(f.quads("x"), (0, 1, 0, 1)).astype(np.float64) + dx
    y = f.lanes(f.quads("y"), (0, 0, 1, 1)).astype(np.float64) + dy
    four = f.quads("primitive")
    primitive = f.lanes(four)
    first = b.extract(four, 0)
    same = b.eq(primitive.ref, code.scalar(first, np.int64).ref)
    alike = b.eq(b.bitcast(same, I16), -1)
    rows = [f.slot(f"row{k}") for k in range(len(q.words) + q.depth)]
    b.branch(alike, "alike", "apart")
    for label, uniform in (("alike", True), ("apart", False)):
        b.label(label)
        code.forget()
        columns: dict[Column, TracedArray] = {}

        def of(name: Column, uniform: bool = uniform, columns: dict[Column, TracedArray] = columns) -> TracedArray:
            if name not in columns:
                dtype: object = np.uint32 if name[0] in _U32 else np.float64
                pointer = f.slot(name)
                if uniform:
                    place = b.element(code.element(dtype), pointer, first)
                    columns[name] = code.scalar(b.load(code.element(dtype), place), dtype)
                else:
                    columns[name] = code.gathered(pointer, primitive, dtype)
            return columns[name]

        at = Interpolation(q.shape, x, y, of, q.shown)  # type: ignore[arg-type]
        values = [at.word(q.inputs, word, flat) for word, flat in q.words]
        if q.depth:
            values.append(at.depth())
        for row, value in zip(rows, values, strict=True):
            v = code.of(value)
            code.store(v, b.element(code.type(v.dtype), row, GROUP))
        if uniform:
            b.jump("next")
    return f


def inputs_function(q: InputsKey, target: Host, pixels: int | None = None) -> CompiledFunction | None:
    """Return the function for a key; see `function_of`."""
    return function_of(q, lambda: written(q), target, pixels)


def put_columns(job: JobSlots, slots: Sequence[Name], corners: Corners) -> None:
    """Fill the slots of a job that are columns of primitives."""
    columns = [name for name in slots if isinstance(name, tuple)]
    corners.make_planes(columns)
    if columns:
        job.set_arrays({name: corners.column(name) for name in columns})


__all__ = ["InputsKey", "inputs_function", "put_columns"]
