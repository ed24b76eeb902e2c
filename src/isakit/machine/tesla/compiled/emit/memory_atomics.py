"""Read-modify-write of device memory for the lanes of a warp, in the order of the lanes.

Two cases need no loop over the lanes, and no definition of their own: lanes at neighbouring words, where a vector is
read, changed and written, and lanes at one word with an operation whose order cannot be told. There the lanes' operands
are combined with each other first, by the operation itself, and where old values are used each lane gets what the
lanes before it have made of the word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from isakit.arch.tesla import atomics
from isakit.engine.llvm import Body, Ref, ValueLowering
from isakit.machine.tesla.compiled.emit.access_placement import WORDS, all_equal
from isakit.machine.tesla.compiled.state_layout import V1, V32
from isakit.sem.operation import Operation

NEUTRAL: Mapping[str, int] = {
    op.name: number
    for op, number in (
        (atomics.atomic_add, 0), (atomics.atomic_and, -1), (atomics.atomic_or, 0), (atomics.atomic_xor, 0),
        (atomics.atomic_max_unsigned, 0), (atomics.atomic_min_unsigned, -1), (atomics.atomic_max_signed, -(1 << 31)),
        (atomics.atomic_min_signed, (1 << 31) - 1),
    )
}  # fmt: skip
"""Associative and commutative operations on words, by name: the operand that changes nothing."""


@dataclass(frozen=True)
class Update:
    """What is to be done: the operation, its operands, the lanes (i32), whether old values are used."""

    operation: Operation
    operands: Sequence[Ref]
    lanes: str
    used: bool


def _shifted(b: Body, vector: str, by: int, neutral: str) -> str:
    """Every lane gets what the lane `by` before it has."""
    index = f"{V32} <" + ", ".join(f"i32 {j - by if j >= by else 32 + j}" for j in range(32)) + ">"
    return b(f"shufflevector {V32} {vector}, {V32} {neutral}, {index}")


def _from(b: Body, vector: str, distance: int) -> str:
    """Every lane gets what the lane `distance` behind it has, in the first half of 2 * `distance` lanes."""
    index = f"{V32} <" + ", ".join(f"i32 {(j + distance) % 32}" for j in range(32)) + ">"
    return b(f"shufflevector {V32} {vector}, {V32} poison, {index}")


def at_one_word(low: ValueLowering, update: Update, pointer: str, olds: str) -> None:
    """All lanes at the word of a pointer, with an operation in `NEUTRAL`; lanes that do not execute change nothing."""
    b, lanes = low.body, update.lanes
    f = low.definition(update.operation, (), (32, 32))

    def combine(x: str, y: str) -> str:
        return b(f"call {V32} {f}({V32} {x}, {V32} {y})")

    neutral = f"splat (i32 {NEUTRAL[update.operation.name]})"
    made = low.splat(update.operands[0])
    if lanes != "-1":
        made = low.select(Ref(b(f"bitcast i32 {lanes} to {V1}"), 1), made, Ref(neutral, 32))
    made = made.text
    old = low.splat(Ref(b(f"load i32, ptr {pointer}, align 4"), 32, True)).text
    if update.used:
        for by in (1, 2, 4, 8, 16):
            made = combine(_shifted(b, made, by, neutral), made)
        b.do(f"store {V32} {combine(old, _shifted(b, made, 1, neutral))}, ptr {olds}, align 64")
        total = b(f"extractelement {V32} {combine(old, made)}, i64 31")
    else:
        for distance in (16, 8, 4, 2, 1):
            made = combine(made, _from(b, made, distance))
        total = b(f"extractelement {V32} {combine(old, made)}, i64 0")
    b.do(f"store i32 {total}, ptr {pointer}, align 4")


def in_one_word(
    low: ValueLowering, update: Update, offsets: Ref, pointer: Callable[[str], str], olds: str, done: str
) -> None:
    """All lanes at one word, with an operation in `NEUTRAL`; the block for others is open after it."""
    b, lanes = low.body, update.lanes
    count = b.module.declare("llvm.cttz.i32", "i32 @(i32, i1)")
    first = b(f"and i32 {b(f'call i32 {count}(i32 {lanes}, i1 false)')}, 31")
    at = b(f"extractelement {V32} {offsets.text}, i32 {first}")
    equal = low.op("icmp eq", offsets, Ref(at, 32, True), 1)
    here = b(f"and i32 {b(f'bitcast {V1} {equal.text} to i32')}, {lanes}")
    good = b(f"and i1 {b(f'icmp eq i32 {here}, {lanes}')}, {b(f'icmp ne i32 {lanes}, 0')}")
    together, others = b.fresh("together"), b.fresh("others")
    b.do(f"br i1 {good}, label %{together}, label %{others}")
    b.label(together)
    at_one_word(low, update, pointer(at), olds)
    b.do(f"br label %{done}")
    b.label(others)


def at_row(low: ValueLowering, update: Update, pointer: str, olds: str) -> None:
    """Every lane at a word of its own, one after the other from a pointer on."""
    b = low.body
    old = b(f"load {V32}, ptr {pointer}, align 4")
    f = low.definition(update.operation, (), (32,) * (1 + len(update.operands)))
    new = low.call(f, [Ref(old, 32), *update.operands], 32)
    b.do(f"store {V32} {new.text}, ptr {pointer}, align 4")
    if update.used:
        b.do(f"store {V32} {old}, ptr {olds}, align 64")


def in_a_row(
    low: ValueLowering, update: Update, offsets: Ref, pointer: Callable[[str], str], olds: str, done: str
) -> None:
    """All lanes at neighbouring words; the block for others is open after it."""
    b = low.body
    first = b(f"extractelement {V32} {offsets.text}, i64 0")
    row = low.op("add", low.splat(Ref(first, 32, True)), Ref(WORDS, 32))
    neighbours = all_equal(b, offsets.text, row.text)
    good = b(f"and i1 {neighbours}, {b(f'icmp eq i32 {update.lanes}, -1')}")
    near, others = b.fresh("neighbours"), b.fresh("others")
    b.do(f"br i1 {good}, label %{near}, label %{others}")
    b.label(near)
    at_row(low, update, pointer(first), olds)
    b.do(f"br label %{done}")
    b.label(others)
