"""Read-modify-write of device memory for the lanes of a warp, in the order of the lanes.

Two cases need no loop over the lanes: lanes at adjacent words, where a vector is read, changed and written, and lanes
at one word with an operation whose order is not observable. There the lanes' operands are combined first, by the
operation itself, and if old values are used, each lane gets the result of the lanes before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from isakit.arch.tesla import atomics
from isakit.engine.llvm import Builder, Ref, ValueLowering
from isakit.engine.llvm.builder import I32
from isakit.machine.tesla.compiled.emit.lane_vectors import WORDS, all_equal
from isakit.machine.tesla.compiled.state_layout import ALL, V1, V32
from isakit.sem.operation import Operation

NEUTRAL: Mapping[str, int] = {
    op.name: number
    for op, number in (
        (atomics.atomic_add, 0), (atomics.atomic_and, -1), (atomics.atomic_or, 0), (atomics.atomic_xor, 0),
        (atomics.atomic_max_unsigned, 0), (atomics.atomic_min_unsigned, -1), (atomics.atomic_max_signed, -(1 << 31)),
        (atomics.atomic_min_signed, (1 << 31) - 1),
    )
}  # fmt: skip
"""Associative and commutative operations on words by name, with their neutral elements."""


@dataclass(frozen=True)
class Update:
    """Atomic update: the operation, its operands, the lanes (i32), whether old values are used."""

    operation: Operation
    operands: Sequence[Ref]
    lanes: Ref
    used: bool


def _shifted(b: Builder, lanes: Ref, by: int, neutral: Ref) -> Ref:
    """Return, for every lane, the value of the lane `by` before it."""
    return b.shuffle(lanes, [j - by if j >= by else 32 + j for j in range(32)], neutral)


def _from(b: Builder, lanes: Ref, distance: int) -> Ref:
    """Return, for every lane, the value of the lane `distance` after it, in the first half of 2 * `distance` lanes."""
    return b.shuffle(lanes, [(j + distance) % 32 for j in range(32)])


def at_one_word(low: ValueLowering, update: Update, pointer: Ref, olds: Ref) -> None:
    """Emit an atomic operation of all lanes at the word of a pointer, with an operation in `NEUTRAL`.

    Lanes that do not execute change nothing.
    """
    b, lanes = low.body, update.lanes
    f = low.definition(update.operation, (), (32, 32))
    neutral = low.splat(low.constant(NEUTRAL[update.operation.name], 32))
    made = low.splat(update.operands[0])
    if lanes != ALL:
        made = low.select(b.bitcast(lanes, V1), made, neutral)
    old = low.splat(b.load(I32, pointer, 4))
    if update.used:
        for by in (1, 2, 4, 8, 16):
            made = b.call(f, _shifted(b, made, by, neutral), made)
        b.store(b.call(f, old, _shifted(b, made, 1, neutral)), olds, 64)
        total = b.extract(b.call(f, old, made), 31)
    else:
        for distance in (16, 8, 4, 2, 1):
            made = b.call(f, made, _from(b, made, distance))
        total = b.extract(b.call(f, old, made), 0)
    b.store(total, pointer, 4)


def in_one_word(
    low: ValueLowering, update: Update, offsets: Ref, pointer: Callable[[Ref], Ref], olds: Ref, done: str
) -> None:
    """Emit all lanes' accesses to one word, by an operation in `NEUTRAL`.

    Emission continues in the block of other cases.
    """
    b, lanes = low.body, update.lanes
    first = b.and_(b.trailing_zeros(lanes), 31)
    at = b.extract(offsets, first)
    equal = low.compare("eq", offsets, at)
    here = b.and_(b.bitcast(equal, I32), lanes)
    good = b.and_(b.eq(here, lanes), b.ne(lanes, 0))
    together, others = b.fresh("together"), b.fresh("others")
    b.branch(good, together, others)
    b.label(together)
    at_one_word(low, update, pointer(at), olds)
    b.jump(done)
    b.label(others)


def at_row(low: ValueLowering, update: Update, pointer: Ref, olds: Ref) -> None:
    """Emit an access of every lane to a word of its own, one after the other from a pointer on."""
    b = low.body
    old = b.load(V32, pointer, 4)
    f = low.definition(update.operation, (), (32,) * (1 + len(update.operands)))
    b.store(b.call(f, old, *update.operands), pointer, 4)
    if update.used:
        b.store(old, olds, 64)


def in_a_row(
    low: ValueLowering, update: Update, offsets: Ref, pointer: Callable[[Ref], Ref], olds: Ref, done: str
) -> None:
    """Emit the accesses of lanes to adjacent words; emission continues in the block of the other cases."""
    b = low.body
    first = b.extract(offsets, 0)
    neighbours = all_equal(b, offsets, low.op("add", low.splat(first), WORDS))
    good = b.and_(neighbours, b.eq(update.lanes, -1))
    near, others = b.fresh("neighbours"), b.fresh("others")
    b.branch(good, near, others)
    b.label(near)
    at_row(low, update, pointer(first), olds)
    b.jump(done)
    b.label(others)
