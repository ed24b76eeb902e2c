"""The output merger as machine code, traced from `merge_rules`.

A function reads the fragments of a batch from the records of their warps: lanes that are still visible, and the
registers with their results. Quads are merged in drawing order; the four of a group together, unless two of them are at
the same position.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from isakit.engine.llvm import Host, Ref
from isakit.engine.llvm.array_tracer import TracedArray
from isakit.engine.llvm.builder import I4, I16, I32, I64, PTR
from isakit.engine.protocol import Array
from isakit.graphics.color_formats import ColorFormat
from isakit.graphics.compiled_quads import (
    COUNT,
    GROUP,
    GROUP_QUADS,
    CompiledFunction,
    JobSlots,
    QuadFunction,
    function_of,
)
from isakit.graphics.draw_state import DrawState, Stencil
from isakit.graphics.merge import DepthBuffer, RenderTarget
from isakit.graphics.merge_rules import ColorMerge, DepthFormat, holds, stored_depth, tests
from isakit.machine.tesla.compiled import state_layout

_WORDS = {1: (np.uint8, 1), 2: (np.uint16, 1), 4: (np.uint32, 1), 8: (np.int64, 1), 16: (np.int64, 2)}
"""Bytes of a pixel -> the numbers it is loaded and stored as."""
_OF_A_SIDE = ("ref", "read_mask", "write_mask")


StencilNames = tuple[str, str, str, str]
"""A stencil side by names: comparison, and the operations on failure, on depth failure and on success."""


@dataclass(frozen=True)
class MergeKey:
    """Properties that are built into a function.

    Attributes: number of `registers` of a lane; `colors`, the registers with the colour of each target, and `merges`,
    how it is merged (None: not at all); `second`, registers of the second colour; `depth_register`, with a depth that
    the program wrote; `depth_format`, comparison and whether depth is written, None without tests; the comparison of
    alpha; for each side comparison and operations of the stencil test; `sampled`: whether a run is for one of several
    samples, which lies at (`at_x`, `at_y`) of a pixel's rectangle of `across` by `down`.
    """

    registers: int
    colors: tuple[tuple[int, ...], ...]
    merges: tuple[ColorMerge | None, ...]
    second: tuple[int, ...] | None
    depth_register: int | None
    depth_format: DepthFormat | None
    depth: str | None
    depth_write: bool
    alpha: str | None
    stencil: tuple[StencilNames, StencilNames] | None
    sampled: bool = False

    @property
    def reads_depth(self) -> bool:
        """True if the interpolated depth is read."""
        return self.depth is not None and self.depth_register is None


class _Merge:
    """The code of one function."""

    def __init__(self, q: MergeKey) -> None:
        self.q, self.f = q, QuadFunction()
        self.code, self.b = self.f.code, self.f.code.body
        self._registers: dict[int, TracedArray] = {}

    def written(self) -> QuadFunction:
        """Write the whole function and return it."""
        q, f, b, code = self.q, self.f, self.b, self.code
        x4, y4 = f.quads("x"), f.quads("y")
        state = self._state()
        visible = self._visible(state)
        b.branch(b.eq(visible, 0), "next", "some")
        b.label("some")
        x, y = f.lanes(x4, (0, 1, 0, 1)), f.lanes(y4, (0, 0, 1, 1))
        if q.sampled:
            x, y = x * f.number("across") + f.number("at_x"), y * f.number("down") + f.number("at_y")
        numbers = [n for c, m in zip(q.colors, q.merges, strict=True) if m is not None for n in c]
        if q.alpha is not None and q.colors:
            numbers.append(q.colors[0][3])
        numbers += [*(q.second or ()), *(() if q.depth_register is None else (q.depth_register,))]
        for n in dict.fromkeys(numbers):
            self._registers[n] = self._register(state, n)
        z = self._depth()
        front: TracedArray | None = None
        if q.stencil is not None:
            primitive = f.lanes(f.quads("primitive"))
            front = code.gathered(f.slot(("front",)), primitive, np.uint32) != 0
        place = f.head.alloca(I32, "%step_v")
        twice = self._same_place(x4, y4)
        b.store(I32(0), place)
        b.jump("steps")
        b.label("steps")
        step = b.load(I32, place)
        b.store(b.add(step, 1), place)
        quad = b.shl(15, b.trunc(b.shl(step, 2), I16))
        chosen = b.select(twice, quad, -1)
        code.forget()
        lanes = code.array(b.bitcast(b.and_(visible, chosen), code.type(bool)), bool)
        self._merged(x, y, z, front, lanes)
        last = b.select(twice, I32(GROUP_QUADS - 1), 0)
        b.branch(b.ult(step, last), "steps", "all")
        b.label("all")
        return f

    # --- where things are ---------------------------------------------------------------------------------------------
    def _state(self) -> Ref:
        """Return the record of the warp of the group."""
        b = self.b
        offset = b.mul(b.lshr(GROUP, 1), self.f.slot("state_bytes", I64))
        return b.offset(self.f.slot("states"), offset)

    def _half(self) -> Ref:
        return self.b.and_(GROUP, 1)

    def _visible(self, state: Ref) -> Ref:
        """Count the lanes of the group that are visible, and return them, i16."""
        b = self.b
        at = b.add(b.shl(self._half(), 1), state_layout.VISIBLE)
        visible = b.load(I16, b.offset(state, at))
        self._count(visible, 32)
        return visible

    def _count(self, lanes: Ref, shift: int) -> None:
        b = self.b
        count = b.intrinsic("ctpop", lanes)
        wide, before = b.shl(b.zext(count, I64), shift), b.load(I64, COUNT)
        b.store(b.add(before, wide), COUNT)

    def _register(self, state: Ref, n: int) -> TracedArray:
        """Return a register of the lanes; unallocated ones read 0."""
        b, code = self.b, self.code
        if n >= self.q.registers:
            return code.constant(0, np.uint32)
        at = b.add(b.shl(self._half(), 6), state_layout.register(n))
        return code.load(np.uint32, b.offset(state, at))

    def _depth(self) -> Any:
        """Return depth as it is stored, or anything if it is not read."""
        q, code, b = self.q, self.code, self.b
        if q.depth is None or q.depth_format is None:
            return code.constant(0, np.int64)
        if q.depth_register is not None:
            z: Any = self._registers[q.depth_register].view(np.float32)
        else:
            z = code.load(np.float32, b.element(code.type(np.float32), self.f.slot("z"), GROUP))
        low: Any = self.f.float("low", np.float32)
        high: Any = self.f.float("high", np.float32)
        return stored_depth(q.depth_format, np.clip(z, low, high))

    def _same_place(self, x4: Ref, y4: Ref) -> Ref:
        """Return whether two of the four quads are at the same position."""
        b = self.b
        key = b.or_(b.shl(y4, 32), x4)
        found = [b.bitcast(b.eq(key, b.shuffle(key, order)), I4) for order in ((1, 2, 3, 0), (2, 3, 0, 1))]
        return b.ne(b.or_(found[0], found[1]), 0)

    def _places(self, what: str, x: TracedArray, y: TracedArray, nbytes: int) -> Ref:
        """Return addresses of pixels of an image with rows `what_row` bytes apart."""
        offset = y * self.f.number(f"{what}_row") + x * nbytes
        return self.b.offset(self.f.slot(what), offset.ref)

    # --- what happens -------------------------------------------------------------------------------------------------
    def _merged(
        self, x: TracedArray, y: TracedArray, z: TracedArray, front: TracedArray | None, lanes: TracedArray
    ) -> None:
        q, code = self.q, self.code
        if q.alpha is not None and q.colors:
            alpha: Any = self._registers[q.colors[0][3]].view(np.float32)
            lanes = lanes & code.of(holds(q.alpha, alpha, self.f.float("alpha", np.float32)), bool)
        if q.depth_format is not None and (q.depth is not None or q.stencil is not None):
            lanes = self._tested(x, y, z, front, lanes)
        self._count(self.b.bitcast(lanes.ref, I16), 0)
        second = None if q.second is None else [self._registers[n] for n in q.second]
        for k, (numbers, merge) in enumerate(zip(q.colors, q.merges, strict=True)):
            if merge is None:
                continue
            places = self._places(f"target{k}", x, y, merge.form.nbytes)
            old = self._pixels(places, merge, lanes) if merge.reads else None
            constant = [self.f.float(f"constant{c}") for c in range(4)] if merge.blend is not None else []
            new = merge.merged([self._registers[n] for n in numbers], second, old, constant)  # type: ignore[arg-type]
            self._put(places, merge, [code.of(v, merge.form.dtype) for v in new], lanes)

    def _tested(
        self, x: TracedArray, y: TracedArray, z: TracedArray, front: TracedArray | None, lanes: TracedArray
    ) -> TracedArray:
        q, code = self.q, self.code
        kind = np.float32 if q.depth_format == "d32f" else np.int64
        old_depth = old_stencil = sides = None
        at = stencil_at = PTR(0)
        if q.depth is not None:
            at = self._places("depth", x, y, np.dtype(kind).itemsize)
            old_depth = code.loaded(at, kind, lanes)
        if q.stencil is not None:
            stencil_at = self._places("stencil", x, y, 1)
            old_stencil = code.loaded(stencil_at, np.uint8, lanes)
            sides = [self._side(k, names) for k, names in enumerate(q.stencil)]
        passed, stencil = tests(q.depth, sides, z, front, old_depth, old_stencil)  # type: ignore[arg-type]
        if stencil is not None:
            code.stored(stencil_at, code.of(stencil, np.uint8), lanes)
        lanes = lanes & code.of(passed, bool)
        if q.depth is not None and q.depth_write:
            code.stored(at, code.of(z, kind), lanes)
        return lanes

    def _side(self, k: int, names: tuple[str, str, str, str]) -> Any:
        """Return a stencil side whose numbers are slots of the job."""
        numbers = {n: self.f.number(f"{n}{k}").astype(np.int32) for n in _OF_A_SIDE}
        return SimpleNamespace(**dict(zip(("func", "fail", "depth_fail", "passed"), names, strict=True)), **numbers)

    def _pixels(self, places: Ref, merge: ColorMerge, lanes: TracedArray) -> list[Array]:
        """Load the stored numbers of pixels."""
        form = merge.form
        dtype, count, unsigned, bits, per = _packing(form)
        words = [self.code.loaded(self._word(places, k), dtype, lanes) for k in range(count)]
        return [(words[k // per] >> bits * (k % per)).astype(unsigned).view(form.dtype) for k in range(form.stored)]  # type: ignore[misc]

    def _put(self, places: Ref, merge: ColorMerge, parts: list[TracedArray], lanes: TracedArray) -> None:
        dtype, count, unsigned, bits, per = _packing(merge.form)
        for k in range(count):
            word: TracedArray | None = None
            for n, part in enumerate(parts[k * per : (k + 1) * per]):
                placed = part.view(unsigned).astype(dtype) << bits * n
                word = placed if word is None else word | placed
            assert word is not None
            self.code.stored(self._word(places, k), word, lanes)

    def _word(self, places: Ref, k: int) -> Ref:
        return self.b.offset(places, 8 * k) if k else places


def _packing(form: ColorFormat) -> tuple[type[np.integer], int, type[np.integer], int, int]:
    """Return the types that a pixel is loaded and stored as.

    Type and count of the words; the unsigned type of a stored number, its bits, and how many of them are in a word.
    """
    dtype, count = _WORDS[form.nbytes]
    size = np.dtype(form.dtype).itemsize
    unsigned: type[np.integer] = {1: np.uint8, 2: np.uint16, 4: np.uint32}[size]
    return dtype, count, unsigned, 8 * size, np.dtype(dtype).itemsize // size


def merge_function(q: MergeKey, target: Host, pixels: int | None = None) -> CompiledFunction | None:
    """Return the function for a key; see `function_of`.

    It returns how many lanes were visible, times 2**32, and how many passed all tests.
    """
    return function_of(q, lambda: _Merge(q).written(), target, pixels)


def fits(image: Array, nbytes: int, width: int, height: int) -> bool:
    """Return whether an image has the layout that the functions expect, and enough pixels."""
    inside = image.shape[0] >= height and image.shape[1] >= width
    whole = image.ndim < 3 or image.strides[2] == image.itemsize
    return inside and whole and image.strides[1] == nbytes and image.flags.writeable


def put_state(job: JobSlots, state: DrawState, targets: list[RenderTarget], depth: DepthBuffer | None) -> None:
    """Fill the slots of a job that are the same for all batches of a draw."""
    for k, target in enumerate(targets):
        job.set_slot(f"target{k}", target.pixels)
        job.set_slot(f"target{k}_row", target.pixels.strides[0])
    if depth is not None:
        for name, image in (("depth", depth.depth), ("stencil", depth.stencil)):
            job.set_slot(name, image)
            job.set_slot(f"{name}_row", image.strides[0])
    for c, value in enumerate(state.blend_constant):
        job.set_slot(f"constant{c}", float(value))
    if state.alpha_test is not None:
        job.set_slot("alpha", float(np.float32(state.alpha_test[1])))
    for k, side in enumerate(state.stencil or ()):
        for name in _OF_A_SIDE:
            job.set_slot(f"{name}{k}", int(getattr(side, name)))


def put_depth_range(job: JobSlots, depth_range: tuple[float, float]) -> None:
    """Fill the slots of the depth range."""
    for name, end in zip(("low", "high"), sorted(depth_range), strict=True):
        job.set_slot(name, float(np.float32(end)))


def stencil_names(sides: tuple[Stencil, Stencil] | None) -> tuple[StencilNames, StencilNames] | None:
    """Return the properties of a stencil test that are built in."""
    if sides is None:
        return None
    front, back = ((s.func, s.fail, s.depth_fail, s.passed) for s in sides)
    return front, back


__all__ = ["MergeKey", "fits", "merge_function", "put_depth_range", "put_state", "stencil_names"]
