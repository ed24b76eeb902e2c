"""The divergence stack, step by step as the rules say."""

from __future__ import annotations

import pytest

from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.stack import Entry, Kind, Stack, StackFault

ALL = 0xFFFF_FFFF


def stack(**choices: object) -> Stack:
    return Stack(ALL, 0x100, Choices(**choices))


def test_a_branch_nobody_or_everybody_takes_needs_no_entry() -> None:
    s = stack()
    s.branch(0, 0x40, 0x108)
    assert (s.pc, s.active, s.entries) == (0x108, ALL, [])
    s.branch(ALL, 0x40, 0x110)
    assert (s.pc, s.active, s.entries) == (0x40, ALL, [])


@pytest.mark.parametrize(
    ("first", "pc", "active", "entry"),
    [
        ("taken", 0x40, 0xF, Entry(Kind.BRANCH, 0x108, ALL ^ 0xF)),
        ("fallthrough", 0x108, ALL ^ 0xF, Entry(Kind.BRANCH, 0x40, 0xF)),
    ],
)
def test_a_divergent_branch_leaves_the_other_side_on_the_stack(first: str, pc: int, active: int, entry: Entry) -> None:
    s = stack(first=first)
    s.branch(0xF, 0x40, 0x108)
    assert (s.pc, s.active, s.entries) == (pc, active, [entry])


def test_join_runs_the_other_side_then_restores_all_lanes() -> None:
    s = stack()
    s.joinat(0x200)
    s.branch(0xFF, 0x200, 0x108)
    assert not s.join()
    assert (s.pc, s.active) == (0x108, ALL ^ 0xFF)
    s.pc = 0x200
    assert s.join()
    assert (s.active, s.entries) == (ALL, [])


def test_an_early_join_goes_to_the_join_that_was_named() -> None:
    s = stack()
    s.joinat(0x200)
    s.pc = 0x1F0  # the end of one side; what stands between is the other side's
    assert not s.join()
    assert (s.pc, s.active, len(s.entries)) == (0x200, ALL, 1)
    assert s.join()
    assert (s.pc, s.active, s.entries) == (0x200, ALL, [])
    s = stack(early_join="complete")
    s.joinat(0x200)
    s.pc = 0x1F0
    assert s.join()
    assert (s.pc, s.entries) == (0x1F0, [])


def test_joined_lanes_do_not_include_those_that_ended() -> None:
    s = stack()
    s.joinat(0x200)
    s.branch(0xFF, 0x180, 0x108)
    s.exit()  # the taken side ends; the other side runs
    assert (s.pc, s.active) == (0x108, ALL ^ 0xFF)
    s.pc = 0x200
    assert s.join()
    assert s.active == ALL ^ 0xFF


def test_a_drained_path_goes_to_the_join_instruction_which_takes_the_entry_off() -> None:
    s = stack()
    s.joinat(0x200)
    s.branch(0xFF, 0x200, 0x108)
    assert not s.join()  # lanes 0-7 wait, the others run and end
    s.exit()
    assert (s.pc, s.active) == (0x200, 0xFF)
    assert [e.kind for e in s.entries] == [Kind.JOINAT]
    assert s.join()
    assert s.active == 0xFF


def test_call_and_return() -> None:
    s = stack()
    s.call(0x400, 0x108, limited=False)
    assert s.pc == 0x400
    s.ret(0xF0, 0x408)
    assert (s.pc, s.active) == (0x408, ALL ^ 0xF0)
    s.ret(s.active, 0x410)
    assert (s.pc, s.active, s.entries) == (0x108, ALL, [])


def test_return_without_call_ends_the_lanes() -> None:
    s = stack()
    s.ret(0xFFFF, 0x108)
    assert (s.pc, s.active) == (0x108, 0xFFFF0000)
    s.ret(0xFFFF0000, 0x110)
    assert s.finished


@pytest.mark.parametrize(("log", "calls"), [(0, 0), (1, 1), (2, 2), (3, 4), (15, 40)])
def test_limited_calls_beyond_the_limit_fall_through(log: int, calls: int) -> None:
    s = stack(call_limit_log=log)
    for _ in range(40):
        s.call(0x400, 0x108, limited=True)
    assert len(s.entries) == calls
    s.call(0x500, 0x108, limited=False)
    assert s.pc == 0x500


def test_break_leaves_through_branches() -> None:
    s = stack()
    s.prebrk(0x300)
    s.branch(0x1, 0x200, 0x108)
    s.brk(0x1, 0x208)
    assert (s.pc, s.active) == (0x108, ALL ^ 1)
    s.brk(ALL ^ 1, 0x110)
    assert (s.pc, s.active, s.entries) == (0x300, ALL, [])


@pytest.mark.parametrize("kind", ["STACK_UNDERFLOW", "STACK_MISMATCH"])
def test_break_without_a_place_to_go(kind: str) -> None:
    with pytest.raises(StackFault) as e:
        stack(brk_without_entry=kind).brk(1, 0)
    assert e.value.kind == kind


def test_join_of_an_empty_stack() -> None:
    with pytest.raises(StackFault) as e:
        stack().join()
    assert e.value.kind == "STACK_UNDERFLOW"


def test_join_that_meets_a_call() -> None:
    s = stack()
    s.call(0x400, 0x108, limited=False)
    with pytest.raises(StackFault) as e:
        s.join()
    assert e.value.kind == "STACK_MISMATCH"
    assert len(s.entries) == 1


def test_return_through_a_break_entry() -> None:
    s = stack()
    s.call(0x400, 0x108, limited=False)
    s.prebrk(0x480)
    s.ret(ALL, 0x410)
    assert (s.pc, s.active, s.entries) == (0x108, ALL, [])
    strict = stack(wrong_entry="fault")
    strict.call(0x400, 0x108, limited=False)
    strict.prebrk(0x480)
    with pytest.raises(StackFault) as e:
        strict.ret(ALL, 0x410)
    assert e.value.kind == "STACK_MISMATCH"


def test_overflow() -> None:
    s = stack(stack_entries=4)
    for _ in range(4):
        s.joinat(0x200)
    with pytest.raises(StackFault) as e:
        s.joinat(0x200)
    assert e.value.kind == "STACK_OVERFLOW"
    lossy = stack(stack_entries=4, stack_overflow="ignore")
    for _ in range(9):
        lossy.joinat(0x200)
    assert len(lossy.entries) == 4


@pytest.mark.parametrize(("active", "quads"), [(0x1, 0xF), (0x8000_0100, 0xF000_0F00), (0x2480, 0xFFF0), (ALL, ALL)])
def test_quadon_switches_on_whole_quads(active: int, quads: int) -> None:
    s = Stack(active)
    s.quadon()
    assert s.active == quads
    s.quadpop()
    assert (s.active, s.entries) == (active, [])


def test_control_flow_between_quadon_and_quadpop() -> None:
    for action in (
        lambda s: s.joinat(8),
        lambda s: s.branch(1, 8, 16),
        lambda s: s.exit(),
        lambda s: s.ret(1, 8),
        lambda s: s.join(),
    ):
        s = stack()
        s.quadon()
        with pytest.raises(StackFault) as e:
            action(s)
        assert e.value.kind == "QUADON_ACTIVE"


def test_quadpop_needs_quadon() -> None:
    with pytest.raises(StackFault) as e:
        stack().quadpop()
    assert e.value.kind == "STACK_UNDERFLOW"
    s = stack()
    s.joinat(0)
    with pytest.raises(StackFault) as e:
        s.quadpop()
    assert e.value.kind == "STACK_MISMATCH"


def test_preret_is_a_return_address() -> None:
    s = stack()
    s.preret(0x300)
    s.pc = 0x500
    s.ret(ALL, 0x508)
    assert (s.pc, s.active) == (0x300, ALL)
