"""Which accesses of a kernel end turns of warps, and by what proof others do not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import pytest

import isakit
from isakit.machine.tesla.analysis import racing_accesses, thread_values
from isakit.machine.tesla.analysis.racing_accesses import RacingAccesses, order_of
from isakit.machine.tesla.analysis.thread_values import Interval, ThreadValues
from isakit.machine.tesla.choices import DEFAULT
from isakit.machine.tesla.kernel_code import Code

OWN = "cvt u32 $r1 u16 $r0l\nshl $a1 $r1 0x2\nmov b32 $r3 0x7\n"
"""$a1: 4 times the thread's number."""
SYNC = "bar inc wait 0x0 0xfff\n"
END = "bar inc wait 0x0 0xfff\nexit nop\n"
LOW = "mov b32 $r2 {threads}\nset $c0 # ge u32 $r1 $r2\njoinat #met\n(lg $c0) bra #met\n"
MET = "met:\njoin nop\n"
DATA = "ld $r5 b32 s[0x3000]\nmov b32 $r6 {mask}\nand b32 $r5 $r5 $r6\n"
"""$r5: any number up to a mask."""
COLUMN = DATA.format(mask="0xf") + "shl b32 $r5 $r5 {shift}\n"
"""$r5: a multiple that the data choose."""
TO_BYTE = "add b32 $r5 $r5 $r1\nshl $a2 $r5 0x0\nst b8 s[$a2+0x40] $r1l\nst b8 s[$a2+0x40] $r3l\n"
"""The byte of this thread in a row of bytes, at $r5."""
MAYBE = "ld $r7 b32 s[0x3004]\nset $c0 # lg u32 $r7 $r3\njoinat #met\n(lg $c0) bra #met\n"

APART = {
    "own words": OWN + "st b32 s[$a1+0x40] $r1\nld $r4 b32 s[$a1+0x40]\n" + END,
    "two arrays": OWN + "st b32 s[$a1+0x40] $r1\nst b32 s[$a1+0x240] $r3\n" + END,
    "a barrier between": OWN + "st b32 s[$a1+0x40] $r1\n" + SYNC + "ld $r4 b32 s[$a1+0xc0]\n" + END,
    "one warp under a guard": OWN
    + LOW.format(threads="0x20")
    + "st b32 s[$a1+0x40] $r1\nld $r4 b32 s[$a1+0x44]\n"
    + MET
    + END,
    "one number": OWN + "st b32 s[0x40] $r3\n" + END,
    "a function called twice": OWN
    + "st b32 s[$a1+0x40] $r1\ncall #f\ncall #f\n"
    + SYNC
    + "ld $r4 b32 s[$a1+0xc0]\n"
    + END
    + "f:\nadd b32 $r5 $r5 $r1\nret\n",
    "columns of bytes": OWN + COLUMN.format(shift="0x7") + TO_BYTE + END,
    "columns of words": OWN + COLUMN.format(shift="0x9") + "shl b32 $r4 $r1 0x2\n"
    "add b32 $r5 $r5 $r4\nshl $a2 $r5 0x0\nst b32 s[$a2+0x40] $r3\nld $r4 b32 s[$a2+0x40]\n" + END,
    "columns on two ways": OWN + COLUMN.format(shift="0x7") + MAYBE + "mov b32 $r6 0x80\nadd b32 $r5 $r5 $r6\n" + MET
    + TO_BYTE + END,
}  # fmt: skip
"""Kernels that cannot tell the order of their warps."""
RACE = {
    "words of neighbours": OWN + "st b32 s[$a1+0x40] $r1\nld $r4 b32 s[$a1+0xc0]\n" + END,
    "a part of two arrays": OWN + "st b32 s[$a1+0x40] $r1\nst b32 s[$a1+0xc0] $r3\n" + END,
    "a barrier that not all wait at": OWN + "st b32 s[$a1+0x40] $r1\nbar inc wait 0x0 0x2\nld $r4 b32 s[$a1+0xc0]\n"
    + END,
    "one store of many numbers": OWN + "st b32 s[0x40] $r1\n" + END,
    "two warps under a guard": OWN + LOW.format(threads="0x21")
    + "st b32 s[$a1+0x40] $r1\nld $r4 b32 s[$a1+0x44]\n" + MET + END,
    "columns that overlap": OWN + COLUMN.format(shift="0x6") + TO_BYTE + END,
    "columns that some change": OWN + COLUMN.format(shift="0x7") + MAYBE + "add b32 $r5 $r5 $r3\n" + MET
    + TO_BYTE + END,
    "columns on one of two ways": OWN + COLUMN.format(shift="0x7") + MAYBE + DATA.format(mask="0x7ff")
    + "mov b32 $r6 0x780\nmin u32 $r5 $r5 $r6\n" + MET + TO_BYTE + END,
    "two numbers": OWN + "st b32 s[0x40] $r3\nst b32 s[0x40] $r2\n" + END,
}  # fmt: skip
"""Kernels that can, with the same means."""


def order(text: str, threads: int = 128) -> racing_accesses.WarpOrder:
    program = isakit.isa("tesla", "gt200").assemble(text)
    code = Code(isakit.isa("tesla", "gt200").decoder(), program.units, 0, 16)
    return order_of(code, 0, DEFAULT, (threads, 1, 1))


@pytest.mark.parametrize("name", APART)
def test_what_is_proven_apart_ends_no_turn(name: str) -> None:
    assert not order(APART[name]).ordered


@pytest.mark.parametrize("name", RACE)
def test_what_may_race_can_be_told(name: str) -> None:
    found = order(RACE[name])
    assert found.ordered
    once_in_a_turn = name in ("a barrier that not all wait at", "one store of many numbers")
    assert any(bits >> racing_accesses.CLASSES for _, bits in found.races) is not once_in_a_turn


WRONG: dict[str, tuple[str, Any, str]] = {
    "ranges of addresses": ("meet", lambda a, b: False, "words of neighbours"),
    "barriers": ("_waits_for_all", lambda step: True, "a barrier that not all wait at"),
    "stores of one number": ("_stores_one_number", lambda a: True, "one store of many numbers"),
    "what counts": ("_counts", lambda a, b: a.kind != b.kind, "two numbers"),
}
"""Proofs made wrong: a function, another one, and a kernel that shows it."""


@pytest.mark.parametrize("name", WRONG)
def test_a_proof_that_is_made_wrong_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, wrong, kernel = WRONG[name]
    right = order(RACE[kernel])
    monkeypatch.setattr(racing_accesses, function, wrong)
    assert order(RACE[kernel]) != right


AT = "add b32 $r4 $r1 $r5\nshl $a2 $r4 0x2\nst b32 s[$a2+0x40] $r1\n"
"""A store into the word of a thread whose number is $r5 greater."""
BYTE, WORD = DATA.format(mask="0x3f"), DATA.format(mask="0x3ff")
BELOW = "(lg $c0) st b32 s[0x40] $r1\n"
RULES = {
    "mul": BYTE + "mul $r5 u16 $r5l u16 $r3l\n" + AT,
    "sub": BYTE + "mov b32 $r6 0x0\nsad $r5 u32 $r5 $r6 $r6\n" + AT,
    "lshr": WORD + "shr u32 $r5 $r5 0x2\n" + AT,
    "ashr": WORD + "shr s32 $r5 $r5 0x2\n" + AT,
    "ult": DATA.format(mask="0x7f") + "set $c0 # l u32 $r5 $r1\n" + BELOW,
    "slt": DATA.format(mask="0x7f") + "set $c0 # l s32 $r5 $r1\n" + BELOW,
    "sext": BYTE + "mul $r5 s16 $r5l s16 $r3l\n" + AT,
    "call": BYTE + "cvt u32 $r5 u16 $r5l\n" + AT,
}
"""For a rule of intervals a kernel that races only because numbers may be greater than the least."""


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_of_intervals_that_knows_the_lower_end_only_overlooks_a_race(rule: str) -> None:
    right, text = thread_values.RULES[rule], OWN + RULES[rule] + END

    def wrong(*args: Any) -> Interval | None:
        found = right(*args)
        return None if found is None else found._replace(high=found.low)

    assert order(text).ordered
    with patch.dict(thread_values.RULES, {rule: wrong}):
        assert not order(text).ordered


def one_begin() -> AbstractContextManager[object]:
    """Let each place be reached from one barrier only."""
    right = RacingAccesses.__dict__["_begins"]

    def first(analysis: RacingAccesses) -> Any:
        return {node: set(sorted(begins)[:1]) for node, begins in right.__get__(analysis).items()}

    return patch.object(RacingAccesses, "_begins", property(first))


def one_byte() -> AbstractContextManager[object]:
    """Let every access reach one byte only."""
    right = RacingAccesses._reached  # pyright: ignore[reportPrivateUsage]
    return patch.object(RacingAccesses, "_reached", lambda x, a: right(x, dataclasses.replace(a, size=1)))


PARTS: dict[str, tuple[bool, str, Callable[[], AbstractContextManager[object]]]] = {
    "where lanes have met": (
        False,
        "mov b32 $r7 0x1\nand b32 $c1 # $r1 $r7\nmov b32 $r5 0x0\njoinat #met\n(lg $c1) bra #met\nmov b32 $r5 0x4\n"
        + MET + "st b32 g14[$r5] $r1\n",
        lambda: patch.object(ThreadValues, "_met", lambda values: {}),
    ),
    "barriers that all wait at": (
        True,
        "st b32 s[$a1+0x40] $r1\nbar inc wait 0x0 0x2\nld $r4 b32 s[$a1+0xc0]\n",
        lambda: patch.object(racing_accesses, "_waits_for_all", lambda step: True),
    ),
    "several barriers before a place": (
        True,
        "again:\nld $r4 b32 s[$a1+0xc0]\n" + SYNC + "st b32 s[$a1+0x40] $r1\nld $r7 b32 s[0x800]\n"
        "set $c0 # l u32 $r7 $r3\n(lg $c0) bra #again\n",
        one_begin,
    ),
    "sizes": (
        True,
        "mov b32 $r2 0x20\nset $c0 # e u32 $r1 $r2\nmov b32 $r2 0x0\nset $c1 # e u32 $r1 $r2\n"
        "(lg $c0) st b16 s[0x42] $r1l\n(lg $c1) st b32 s[0x40] $r1\n",
        one_byte,
    ),
}  # fmt: skip
"""For a part of the analysis whether a kernel races, the kernel, and the part made wrong."""


STEPS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "of sums": ("columns that overlap", "_step", lambda *x: max(i.step for i in x) * 2),
    "where ways meet": ("columns that some change", "_common_step", lambda a, b, both: max(a.step, b.step)),
    "where two ways have one interval": ("columns on one of two ways", "_common_step", lambda a, b, both: a.step),
}
"""What is wrong with steps, with a kernel that would be overlooked and the function that finds them."""


@pytest.mark.parametrize("name", STEPS)
def test_steps_that_are_wrong_overlook_a_race(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, function, wrong = STEPS[name]
    assert order(RACE[kernel]).ordered
    monkeypatch.setattr(thread_values, function, wrong)
    assert not order(RACE[kernel]).ordered


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_analysis_that_is_made_wrong_judges_a_kernel_otherwise(part: str) -> None:
    """What lanes that have met store to is no address alike: if it were, the kernel would be looked at."""
    races, text, wrong = PARTS[part]
    text = OWN + text + END
    assert order(text).ordered is races
    with wrong():
        assert order(text).ordered is not races
