"""Which accesses of a kernel end turns of warps, and by what proof others do not."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

import isakit
from isakit.machine.tesla.analysis import racing_accesses, thread_values
from isakit.machine.tesla.analysis.racing_accesses import order_of
from isakit.machine.tesla.analysis.thread_values import Interval
from isakit.machine.tesla.choices import DEFAULT
from isakit.machine.tesla.kernel_code import Code

OWN = "cvt u32 $r1 u16 $r0l\nshl $a1 $r1 0x2\nmov b32 $r3 0x7\n"
"""$a1: 4 times the thread's number."""
SYNC = "bar inc wait 0x0 0xfff\n"
END = "bar inc wait 0x0 0xfff\nexit nop\n"
LOW = "mov b32 $r2 {threads}\nset $c0 # ge u32 $r1 $r2\njoinat #met\n(lg $c0) bra #met\n"
MET = "met:\njoin nop\n"

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
}
"""Kernels that cannot tell the order of their warps."""
RACE = {
    "words of neighbours": OWN + "st b32 s[$a1+0x40] $r1\nld $r4 b32 s[$a1+0xc0]\n" + END,
    "a part of two arrays": OWN + "st b32 s[$a1+0x40] $r1\nst b32 s[$a1+0xc0] $r3\n" + END,
    "a barrier that not all wait at": OWN + "st b32 s[$a1+0x40] $r1\nbar inc wait 0x0 0x2\nld $r4 b32 s[$a1+0xc0]\n"
    + END,
    "one store of many numbers": OWN + "st b32 s[0x40] $r1\n" + END,
    "two warps under a guard": OWN + LOW.format(threads="0x21")
    + "st b32 s[$a1+0x40] $r1\nld $r4 b32 s[$a1+0x44]\n" + MET + END,
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


DATA = "ld $r5 b32 s[0x800]\nmov b32 $r6 {mask}\nand b32 $r5 $r5 $r6\n"
"""$r5: any number up to a mask."""
AT = "add b32 $r4 $r1 $r5\nshl $a2 $r4 0x2\nst b32 s[$a2+0x40] $r1\n"
"""A store into the word of a thread whose number is $r5 greater."""
BYTE, WORD = DATA.format(mask="0x3f"), DATA.format(mask="0x3ff")
BELOW = "(lg $c0) st b32 s[0x40] $r1\n"
RULES = {
    "mul": BYTE + "mul $r5 u16 $r5l u16 $r3l\n" + AT,
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
