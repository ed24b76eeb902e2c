"""Uniform values, divergent branches, dead code, indirect branches, and what instruction sets add to a program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import isakit
from isakit.analysis import Notes, Uniformity, control_flow, dead_code, delay_slots, phases, repeats
from isakit.asm import Program
from isakit.codec import Instruction
from support.clients.command_line import run

TESLA = isakit.isa("tesla", "gt200")


def studied(text: str) -> tuple[Program, Uniformity]:
    program = TESLA.assemble(text)
    return program, Uniformity(control_flow(program))


def uniform_writes(text: str) -> list[bool]:
    program, found = studied(text)
    return [found.writes_uniform(i) for i in program if i.defs]


def test_launch_parameters_and_constants_are_uniform() -> None:
    assert (
        uniform_writes("mov b32 $r1 b32 s[0x10]\nld $r2 b32 c1[0x0]\nadd b32 $r3 $r1 $r2\nmov b32 $r4 0x7")
        == [True] * 4
    )


def test_what_comes_from_the_thread_is_divergent() -> None:
    text = "and b32 $r1 $r0 0xff\nadd b32 $r2 $r1 0x1\nld b32 $r3 g14[$r2]\nmov b32 $r4 $physid"
    assert uniform_writes(text.replace("mov b32 $r4 $physid", "mov $r4 $physid")) == [False] * 4


def test_one_address_gives_all_lanes_the_same_but_in_memory_of_their_own() -> None:
    text = "mov b32 $r1 0x0\nld b32 $r2 g14[$r1]\nld b32 $r3 l[0x0]"
    assert uniform_writes(text) == [True, True, False]


UNIFORM_LOOP = """
    mov b32 $r1 b32 s[0x10]
again:
    sub b32 $r1 $r1 0x1
    set $c0 # lg s32 $r1 $r124
    (lg $c0) bra again
    mov b32 $r2 $r1
    exit nop
"""


def test_a_counter_of_a_uniform_loop_stays_uniform_but_for_what_the_caller_left() -> None:
    text = UNIFORM_LOOP.replace("set $c0 # lg s32 $r1 $r124", "and b32 $c0 # $r1 c1[0x0]")
    program, found = studied(text)
    assert found.branches == set()
    assert all(found.writes_uniform(i) for i in program if i.defs)


DIVERGENT = """
    mov b32 $r2 0x1
    joinat met
    and b32 $c0 # $r0 c1[0x0]
    (lg $c0) bra met
    mov b32 $r2 0x2
    mov b32 $r3 0x3
    mov b32 $r4 $r3
met:
    join nop
    mov b32 $r5 $r2
    mov b32 $r6 0x6
    mov b32 $r7 $r6
    exit nop
"""


def by_text(program: Program, text: str) -> Instruction:
    return next(i for i in program if i.text.removeprefix("long ").startswith(text))


def test_a_branch_on_the_thread_is_divergent() -> None:
    program, found = studied(DIVERGENT)
    assert found.branches == {by_text(program, "(lg $c0) bra").address}


@pytest.mark.parametrize(
    ("text", "uniform"),
    [
        ("mov b32 $r5 $r2", False),  # lanes come with another value from the other way
        ("mov b32 $r4 $r3", True),  # written and read by the same lanes
        ("mov b32 $r7 $r6", True),  # after the place where they meet
    ],
)
def test_what_lanes_bring_together_where_they_meet(text: str, uniform: bool) -> None:
    program, found = studied(DIVERGENT)
    assert found.writes_uniform(by_text(program, text)) is uniform


def test_the_last_value_of_a_loop_that_lanes_leave_apart_is_divergent() -> None:
    text = """
        mov b32 $r1 0x0
        joinat out
    again:
        add b32 $r1 $r1 0x1
        mov b32 $r3 0x5
        sub b32 $c0 # $r1 $r0
        (lg $c0) bra again
    out:
        join nop
        mov b32 $r2 $r1
        exit nop
    """
    program, found = studied(text)
    assert not found.writes_uniform(by_text(program, "mov b32 $r2 $r1"))


def test_a_write_under_a_condition_of_the_thread_is_divergent() -> None:
    assert uniform_writes(
        "mov b32 $r1 0x1\nmov b32 $r9 0x2\nand b32 $c0 # $r0 c1[0x0]\n(lg $c0) mov b32 $r1 $r9\nmov b32 $r2 $r1"
    ) == [
        True, True, False, False, False
    ]  # fmt: skip


def test_a_core_with_one_lane_has_uniform_values_only() -> None:
    program = isakit.isa("vuc", "vp3").assemble("mov $r1 0x5\nld $r2 D[$r1]\nadd $r3 $r2 $r1")
    found = Uniformity(control_flow(program))
    assert all(found.writes_uniform(i) for i in program)


# --- dead code --------------------------------------------------------------------------------------------------------


def dead(text: str) -> list[str]:
    program = TESLA.assemble(text)
    wanted = set(dead_code(control_flow(program)))
    return [i.text.removeprefix("long ") for i in program if i.address in wanted]


def test_what_only_dead_instructions_read_is_dead() -> None:
    assert dead("mov b32 $r1 0x1\nadd b32 $r2 $r1 $r1\nadd b32 $r3 $r2 $r2\nst b32 g14[$r0] $r0\nexit nop") == [
        "mov b32 $r1 0x1", "add b32 $r2 $r1 $r1", "add b32 $r3 $r2 $r2"
    ]  # fmt: skip


def test_a_loop_that_feeds_only_itself_and_its_exit_is_not_dead() -> None:
    assert dead(UNIFORM_LOOP) == ["mov b32 $r2 $r1"]


def test_what_is_not_reached_is_dead() -> None:
    assert dead("bra end\nst b32 g14[$r0] $r0\nend: exit nop") == ["st b32 g14[$r0] $r0"]


# --- indirect branches ------------------------------------------------------------------------------------------------

SWITCH = """
.isa tesla gt200
.const 0
    .word 0x123, one, two, 0x7777, one
.code
.kernel k
    bra c0[$a1+0x4]
one:
    exit nop
two:
    exit st b32 g14[$r1] $r0
"""


def switch() -> Program:
    from isakit.programs import module_of

    first = TESLA.assemble(SWITCH.replace("one, two, 0x7777, one", "0x0, 0x0, 0x7777, 0x0"))
    places = {i.text: i.address for i in first}
    one, two = places["exit nop"], places["exit st b32 g14[$r1] $r0"]
    text = SWITCH.replace("one, two, 0x7777, one", f"{one:#x}, {two:#x}, 0x7777, {one:#x}")
    return module_of(TESLA.assemble(text))["k"].program


def test_a_branch_through_a_table_goes_where_the_table_says() -> None:
    flow = control_flow(switch())
    assert {(e.source, e.target, e.kind.value) for e in flow.edges} == {(0, 1, "indirect"), (0, 2, "indirect")}
    assert flow.unresolved == ()


def test_a_table_the_file_does_not_have_leaves_the_branch_unresolved() -> None:
    assert control_flow(TESLA.assemble("bra c3[$a1]\nexit nop")).unresolved == (0,)


# --- what instruction sets add ----------------------------------------------------------------------------------------

SHADER = """
    phas wait7 temps 0x0 addr 0x0
    vmov.f32 o4.xy pa4.xyzw repeat 2 skipinv
    !p0 or.u32 pa0 sa45 #0x0 skipinv
    phas wait7 temps 0x0 addr 0x0
    or.u32 pa1 sa3 #0x0 skipinv
"""


def shader() -> Program:
    return isakit.isa("usse").assemble(SHADER)


def test_phases_are_the_stretches_between_their_heads() -> None:
    assert [(p.address, p.end) for p in phases(shader())] == [(0, 24), (24, 40)]


def test_repeats_are_counted() -> None:
    assert [repeats(i) for i in shader()] == [1, 2, 1, 1, 1]


def test_notes_name_guards_repeats_phases_and_uniform_values() -> None:
    program = shader()
    notes = Notes(control_flow(program))
    assert [notes.of(i) for i in program] == [["phase 0"], ["2 times"], ["only if !p0"], ["phase 1"], ["uniform"]]


def test_delay_slots_belong_to_the_branch_before() -> None:
    program = isakit.isa("vuc", "vp3").assemble("again: bra #again\nnop\nnop")
    assert delay_slots(program) == {4: 0}


def test_hazards_of_microcode_are_in_the_graph(tmp_path: Path) -> None:
    text = ".isa vuc vp3\nld $r1 D[$r2]\nadd $r3 $r1 $r1\nend: bra #end\nnop\n"
    path = str(tmp_path / "p.bin")
    run("asm", "-", "-o", path, "--format", "raw", stdin=text)
    shown = run("cfg", "--notes", "-m", "vuc", "-V", "vp3", path).stdout
    plain = json.loads(run("cfg", "--json", "-m", "vuc", "-V", "vp3", path).stdout)
    (line,) = [row for row in shown.splitlines() if "add $r3" in row]
    assert "early-read: reads $r1 2 cycles too early" in line
    notes = plain["programs"][0]["notes"]
    assert list(notes["hazards"]) == ["4"]
    assert notes["delay_slots"] == {"12": 8}
