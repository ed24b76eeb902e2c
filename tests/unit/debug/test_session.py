"""Sessions: breakpoints, watchpoints, stepping, going back, editing, on one small kernel with divergence and a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import isakit
from isakit.compile import compile_ptx
from isakit.debug.expressions import ExpressionError
from isakit.debug.session import Session
from isakit.debug.sources import Sources
from isakit.debug.terminal import Commands
from isakit.errors import LaunchError, NotModelled
from support.runners import debugging
from support.runners.debugging import REDUCTION


def session(compiled: bool = True, threads: int = 64, blocks: int = 2, **options: Any) -> Session:
    device = isakit.Device("gt200", engine="reference")
    program = isakit.isa("tesla", "gt200").assemble(REDUCTION)
    out = device.alloc(4 * threads)
    machine = device.load(program)["sum"].machine(blocks, threads, (out,))
    s = Session(machine, compiled=compiled, **options)
    s.out = lambda: device.read(out, np.uint32, threads)  # type: ignore[attr-defined]
    s.expected = [t * 2 + 1 if not t & 16 else t + 100 for t in range(threads)]  # type: ignore[attr-defined]
    return s


@pytest.fixture(params=[True, False], ids=["compiled", "stepped"])
def s(request: pytest.FixtureRequest) -> Session:
    if request.param:
        pytest.importorskip("llvmlite")
    return session(request.param)


def text(s: Session) -> str:
    return "" if s.instruction is None else s.instruction.text.removeprefix("long ")


# --- forwards ---------------------------------------------------------------------------------------------------------
def test_a_run_to_the_end_computes_what_the_kernel_computes(s: Session) -> None:
    assert s.cont().reason == "finished"
    assert s.finished
    assert s.out().tolist() == s.expected  # type: ignore[attr-defined]


def test_a_step_is_one_instruction_of_the_focused_warp(s: Session) -> None:
    assert s.step().reason == "step"
    assert s.position == 1
    assert text(s) == "shl $a1 $r1 0x2"


def test_stepping_another_warp_lets_it_go_first(s: Session) -> None:
    s.focus_on(warp=1)
    s.step(3)
    assert s.execution.facts(s.focus)["warp"] == 1
    assert s.target.thread(0).address == s.labels["entry"]


def test_a_breakpoint_at_a_group_of_instructions(s: Session) -> None:
    s.break_at("barrier")
    assert s.cont().reason == "breakpoint"
    assert text(s).startswith("bar")


def test_a_breakpoint_at_a_name(s: Session) -> None:
    s.break_at("ret")
    s.cont()
    assert text(s) == "ret"


def test_a_place_there_is_not(s: Session) -> None:
    with pytest.raises(LaunchError, match="did you mean"):
        s.break_at("barier")


def test_a_condition_chooses_the_thread(s: Session) -> None:
    s.break_at("st", "block.x == 1 && $r1 == 37")
    s.cont()
    assert s.execution.facts(s.focus) | {"block.x": 1, "warp": 1, "lane": 5} == s.execution.facts(s.focus)


def test_hits_that_are_let_pass(s: Session) -> None:
    b = s.break_at("bar", ignore=3)
    s.cont()
    assert (b.hits, s.execution.facts(s.focus)["block.x"], s.execution.facts(s.focus)["warp"]) == (4, 1, 1)


def test_a_breakpoint_that_stops_once(s: Session) -> None:
    s.break_at("bar", once=True)
    assert s.cont().reason == "breakpoint"
    assert s.cont().reason == "finished"


def test_a_disabled_breakpoint_does_not_stop(s: Session) -> None:
    s.break_at("bar").enabled = False
    assert s.cont().reason == "finished"


def test_next_goes_over_a_call(s: Session) -> None:
    s.until("call")
    s.next()
    assert text(s) == "add b32 $r2 $r2 0x1"


def test_finish_leaves_the_function(s: Session) -> None:
    s.until("ret")
    assert s.frames()[0].kind == "call"
    s.finish()
    assert text(s) == "add b32 $r2 $r2 0x1"


def test_finish_outside_of_a_call_is_refused(s: Session) -> None:
    with pytest.raises(LaunchError, match="call"):
        s.finish()


def test_the_next_join_is_where_the_lanes_meet(s: Session) -> None:
    s.to_join()
    assert text(s).startswith("join")


def test_the_stack_says_what_its_entries_are(s: Session) -> None:
    s.until("call")
    assert [f.kind for f in s.frames()] == ["branch", "joinat"]
    assert "meet" in s.frames()[1].meaning


def test_a_budget_ends_a_run(s: Session) -> None:
    assert s.cont(10).reason == "budget"
    assert s.position == 10


# --- watching ---------------------------------------------------------------------------------------------------------
def test_a_watched_word_stops_behind_its_store(s: Session) -> None:
    s.focus_on(lane=3)
    s.watch("s[0x4c]")
    stop = s.cont()
    assert stop.reason == "watchpoint"
    assert "from 0x0 to 0x3" in stop.text
    assert s.evaluate("s[0x4c]") == 3


def test_a_watched_range_of_global_memory(s: Session) -> None:
    address = int(s.evaluate("s[0x10]"))
    s.watch(f"g14[{address + 4 * 40}]", "write")
    stop = s.cont()
    assert stop.reason == "watchpoint"
    assert "warp 1 lane 8 wrote" in stop.text


def test_reads_are_watched_too(s: Session) -> None:
    s.watch("s[0x10]", "read")
    stop = s.cont()
    assert "read s[0x10]" in stop.text


def test_a_watched_register(s: Session) -> None:
    s.focus_on(warp=1, lane=17)
    s.watch("$r2")
    s.cont()
    stop = s.cont()
    assert "changed from 0x31 to 0x95" in stop.text


def test_reads_of_registers_are_not_watched(s: Session) -> None:
    with pytest.raises(NotModelled):
        s.watch("$r2", "read")


def test_a_tracepoint_notes_and_goes_on(s: Session) -> None:
    s.trace("bar", "$r2", "warp")
    assert s.cont().reason == "finished"
    assert [r.values for r in s.records][:2] == [{"$r2": 1, "warp": 0}, {"$r2": 65, "warp": 1}]
    assert len(s.records) == 4


# --- backwards --------------------------------------------------------------------------------------------------------
def test_a_step_back_is_undone_by_a_step(s: Session) -> None:
    s.cont(30)
    here = s.registers(), s.address
    s.reverse_step()
    assert s.position == 29
    s.step()
    assert (s.registers(), s.address) == here


def test_going_back_to_a_breakpoint(s: Session) -> None:
    s.break_at("call", "block.x == 0 && warp == 1")
    s.cont()
    there = s.position
    s.breakpoints.clear()
    s.cont()
    s.break_at("call", "block.x == 0 && warp == 1")
    assert s.reverse_cont().reason == "breakpoint"
    assert s.position == there


def test_going_back_without_breakpoints_ends_at_the_start(s: Session) -> None:
    s.cont()
    assert s.reverse_cont().reason == "history"
    assert s.position == 0


def test_the_last_write_of_a_register(s: Session) -> None:
    s.break_at("bar", "warp == 0", once=True)
    s.cont()
    s.focus_on(lane=2)
    s.last_write("$r2")
    assert text(s) == "add b32 $r2 $r2 0x1"
    s.last_write("$r2")
    assert text(s) == "add b32 $r2 $r2 $r2"


def test_the_last_write_of_a_word(s: Session) -> None:
    s.break_at("bar", "warp == 1", once=True)
    s.cont()
    s.last_write("s[0x4c]")
    assert text(s).startswith("st b32 s[")
    assert s.execution.facts(s.execution.following or 0)["warp"] == 0


def test_what_nothing_has_written_is_said_and_nothing_moves(s: Session) -> None:
    s.cont(5)
    with pytest.raises(LaunchError, match="nothing has written"):
        s.last_write("s[0x5c]")
    assert s.position == 5


# --- changing ---------------------------------------------------------------------------------------------------------
def test_a_register_that_was_set_counts(s: Session) -> None:
    s.until("bar")
    s.set("$r2", "1000")
    s.cont()
    assert s.out()[0] in (1000, s.expected[0])  # type: ignore[attr-defined]


def test_an_edit_is_part_of_the_past(s: Session) -> None:
    s.cont(5)
    s.set("$r7" if "$r7" in s.registers() else "$r2", 0xABCD)
    name = "$r7" if "$r7" in s.registers() else "$r2"
    s.cont(3)
    s.goto(4)
    assert s.evaluate(name) != 0xABCD
    s.goto(5)
    assert s.evaluate(name) == 0xABCD


def test_memory_as_floating_point(s: Session) -> None:
    s.set("s[0x40]:f32", 1.5)
    assert s.evaluate("s[0x40]:f32") == 1.5


def test_an_expression_that_names_nothing(s: Session) -> None:
    with pytest.raises(ExpressionError):
        s.evaluate("$r200")


# --- faults and bounds ------------------------------------------------------------------------------------------------
def test_a_fault_stops_in_front_of_the_instruction(s: Session) -> None:
    s.until("bar")
    s.set("s[0x10]", 0x10)
    stop = s.cont()
    assert stop.reason == "fault"
    assert text(s).startswith("exit st")
    assert not s.finished


def test_the_past_of_a_fault(s: Session) -> None:
    s.set("s[0x10]", 0x10)
    s.cont()
    s.reverse_step()
    assert text(s) == "add b32 $r3 b32 s[0x10] $r3"


def test_checkpoints_keep_to_their_memory() -> None:
    s = session(memory=1)
    s.cont()
    s.goto(3)
    s.goto(20)
    assert len(s.timeline.checkpoints) <= 2
    s.goto(0)
    assert s.position == 0


def test_a_request_ends_a_run() -> None:
    s = session()
    s.asked = lambda: True
    assert s.cont().reason in ("interrupt", "finished")


# --- compiled conditions ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "condition",
    [
        "lane == 3",
        "tid.x % 7 == 2 && warp",
        "block == 1 || $r1 > 40",
        "f32($r1) > 0",
        "s[0x40 + lane * 4]:u16 == lane",
        "$c0.z == 1",
        "s32($r0 << 16) >> 16 < 5",
        "instructions > 500",
        "$a1 / 4 == 33",
        "(active & 1) == 0",
        "g14[s[0x10]] == 0",
        "1.5 * lane > 45.5",
        "~$r1 & 1",
        "u8($r1 * 9) == 0x51",
        "f32($r1 << 1) * 1.0 == 0 || lane == 2",
        "f16(lane) + 1 > 1.5 - f32($r1 + 0x40000000)",
        "1.5 / lane < 0.1",
    ],
)
def test_compiled_conditions_hold_where_evaluated_ones_do(condition: str) -> None:
    pytest.importorskip("llvmlite")
    met: list[list[int]] = []
    for compiled in (True, False):
        s = session(compiled)
        s.break_at("st", condition)
        s.break_at("arithmetic", condition)
        positions: list[int] = []
        while s.cont().reason == "breakpoint" and len(positions) < 60:
            positions.append(s.position)
        met.append(positions)
    assert met[0] == met[1]


# --- conditions on what is not there ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("condition", "lane", "why"),
    [
        ("s[0x10000000010] == 1", 0, "s: 4 bytes at 0xffffffffff are outside of its 0x140 bytes"),
        ("g14[0x10] == 5", 0, "UNMAPPED_ADDRESS"),
        ("g14[0xfffffff0] == 5", 0, "UNMAPPED_ADDRESS"),
        ("lane == 2 && s[$r1 << 20] == 1", 2, "s: 4 bytes at 0x200000"),
    ],
)
def test_a_condition_that_cannot_be_told_stops_and_says_so(s: Session, condition: str, lane: int, why: str) -> None:
    s.break_at("st", condition)
    stop = s.cont()
    assert stop.reason == "breakpoint"
    assert f"; cannot tell whether {condition}: {why}" in stop.text
    assert s.execution.facts(s.focus)["lane"] == lane
    at = s.position
    s.goto(at + 4)
    back = s.reverse_cont()
    assert back.text.endswith(stop.text.partition("; ")[2])
    assert s.position == at


def test_a_condition_that_can_be_told_says_nothing_of_it(s: Session) -> None:
    s.break_at("st", "s[0x10] != 12345")
    assert s.cont().text.endswith("lane 0 at 0x28")


def test_what_is_watched_or_traced_under_a_condition_that_cannot_be_told_says_so(s: Session) -> None:
    s.watch("$r1", "write", "s[0x10000] == 1")
    s.trace("st", "$r1", condition="g14[0x10] == 5")
    assert "; cannot tell whether s[0x10000] == 1: s: 4 bytes at 0x10000" in s.cont().text
    s.breakpoints.pop(1)
    s.cont()
    assert all(set(r.values) == {"$r1", "g14[0x10] == 5"} for r in s.records)
    assert "cannot tell whether" in str(s.records[0].values["g14[0x10] == 5"])


@pytest.mark.parametrize(("make", "space"), [(debugging.usse, "memory"), (debugging.vuc, "D"), (debugging.vuc, "VP")])
def test_other_machines_stop_too(make: Callable[[int], Session], space: str) -> None:
    s = make(1)
    s.break_at([i.address for i in s.program if i.valid][2], f"{space}[0x10000000010] == 1")
    stop = s.cont()
    assert stop.reason == "breakpoint"
    assert f"cannot tell whether {space}[0x10000000010] == 1: {space}: 4 bytes at" in stop.text


def test_arrays_that_were_passed_are_brought_up_to_date_when_asked() -> None:
    program = isakit.isa("tesla", "gt200").assemble(
        ".kernel k\n.param out ptr\nmov b32 $r1 b32 s[out]\nmov b32 $r2 0x7\nexit st b32 g14[$r1] $r2\n"
    )
    out = np.zeros(1, np.uint32)
    session = Session(isakit.Device("gt200").load(program)["k"].machine(1, 1, (out,)), program)
    session.cont()
    session.publish()
    assert out.tolist() == [7]


def test_places_are_shown_with_the_name_of_the_source_and_labels_keep_the_symbol() -> None:
    ptx = ".version 1.4\n.target sm_13\n.entry _Z5saxpyifPKfPf() { bar.sync 0; bar.sync 0; exit; }\n"
    kernel = isakit.Device("gt200").load(compile_ptx(ptx).module)["_Z5saxpyifPKfPf"]
    session = Session(kernel.machine(1, 1, ()), kernel.info.program)
    say = Commands(session).run
    assert " in saxpy" in say("bt").lines[0]
    assert any("<saxpy+0x" in line for line in say("si").lines)
    assert session.label_at(0) == "_Z5saxpyifPKfPf"


def test_a_core_that_waits_for_the_host_is_not_stepped() -> None:
    """Steps by lines would go on for ever: a core that sleeps never leaves its line."""
    program = isakit.isa("vuc", "vp3").assemble("    mov $r1 0x1\n    sleep\n    mov $r2 0x2\n")
    core = isakit.vuc.Core("vp3")
    core.load(program)
    core.start()
    s = Session(core, program)
    lines = Sources(s)
    assert lines.step(into=True).reason == "step"
    assert s.step(4).reason == "asleep"
    position = s.position
    assert [str(lines.step(into=False)), str(s.step(1000))] == ["the core waits for the host"] * 2
    assert s.position == position
    s.break_at([i.address for i in program][2])
    assert [s.cont().reason, s.cont().reason] == ["asleep"] * 2
    s.break_at([i.address for i in program][2], "$r1 == 5")
    s.watch("$r1")
    assert [s.cont().reason, s.cont().reason] == ["asleep"] * 2
    s.reverse_step(position)
    assert s.position == 0
