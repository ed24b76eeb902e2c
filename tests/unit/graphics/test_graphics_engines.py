"""Stages on compiled code: faults, interrupts, what stays with the reference engine, how `auto` decides."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.errors import BudgetExceeded, LaunchError, MachineFault
from isakit.graphics import stage_engine as engines
from isakit.graphics.draw_state import GraphicsChoices
from isakit.graphics.shader import FragmentShader, VertexShader
from isakit.graphics.stage import ConstantVaryings, Stage
from isakit.graphics.stage_engine import StageEngine
from isakit.graphics.stage_program import StageProgram
from isakit.graphics.watchdog import Watchdog
from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.compiled.launch import compiled_kernels as kernels
from isakit.machine.tesla.compiled.launch import host_assist as served
from isakit.tesla import Pipeline, Texture
from support.clients.interrupts import interrupted
from support.patience import PATIENCE

LANES = 72
ROWS = np.arange(8 * LANES, dtype=np.uint32).reshape(8, LANES)
TIERS = ("interp", "jit")


def fragment(text: str, **options: Any) -> StageProgram:
    return FragmentShader(text, inputs=[], **options).program


def stage(**options: Any) -> Stage:
    return Stage(LANES, varyings=ConstantVaryings(ROWS), **options)


def both(program: StageProgram, s: Stage, tier: str) -> tuple[Any, Any]:
    """What the reference engine and a tier leave."""
    return StageEngine("reference").run(program.launch(), s), StageEngine("llvm", tier).run(program.launch(), s)


BEYOND = "interp $r1 v[0x4]\nshl $a1 $r1 0x2\nadd b32 $r2 $r1 c0[$a1+0x0]\nexit nop"
UNBOUND = """
    interp $r0 v[0x4]
    mov b32 $r1 0x50
    joinat #on
    set $c0 # l u32 $r0 $r1
    (lg $c0) bra #on
    on: join texauto live $r0:$r1:$r2:$r3 $t3 $s0 $r0:$r1 0x0 0x0 0x0
    exit nop
"""
FAULTS = {
    "a place outside of a constant bank": (BEYOND, {0: bytes(400)}),
    "a texture nothing is bound to": (UNBOUND, {}),
    "a join without a way back": ("mov b32 $r1 0x1\njoin nop\nexit nop", {}),
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_those_of_the_reference_engine(name: str, tier: str) -> None:
    text, constants = FAULTS[name]
    program = fragment(text, constants=constants, registers=4)
    with pytest.raises(MachineFault) as wanted:
        StageEngine("reference").run(program.launch(), stage())
    with pytest.raises(MachineFault) as got:
        StageEngine("llvm", tier).run(program.launch(), stage())
    assert str(got.value) == str(wanted.value)


@pytest.mark.parametrize("tier", TIERS)
def test_inactive_lanes_keep_registers_over_served_instructions(tier: str) -> None:
    """A texture instruction in a branch, at the end of a path and under a condition; discarded lanes keep theirs."""
    program = fragment(
        """
        interp $r0 v[0x4]
        mov b32 $r1 0x1
        and b32 $r4 $r0 $r1
        mov b32 $r5 $r4
        mov b32 $r6 0x7
        mov b32 $r7 0x8
        set $c1 # e u32 $r4 $r1
        (lg $c1) discard
        joinat #met
        (lg $c1) bra #odd
        texfetch live $r4:$r5:$r6:$r7 $t0 $s0 $r4:$r5 0x0 0x0 0x0
        bra #met
    odd:
        texfetch all $r4:#:#:$r5 $t0 $s0 $r4:$r5 0x0 0x0 0x0
    met:
        join nop
        mov b32 $r2 $r5
        and b32 $r4 $r4 $r1
        mov b32 $r5 $r4
        exit texfetch live $r4:#:#:# $t0 $s0 $r4:$r5 0x0 0x0 0x0
    """,
        registers=8,
    )
    launch = program.launch({0: Texture(np.arange(16, dtype=np.uint8).reshape(2, 2, 4))})
    a, b = (StageEngine(e, t).run(launch, stage()) for e, t in (("reference", "auto"), ("llvm", tier)))
    assert np.array_equal(a.state.files["r"], b.state.files["r"])
    assert np.array_equal(a.state.visible, b.state.visible)
    assert (a.stats.instructions, a.stats.warp_instructions) == (b.stats.instructions, b.stats.warp_instructions)
    assert len(np.unique(a.state.files["r"][7])) > 1


DISCARDS = {
    "all lanes": "interp $r0 v[0x4]\ndiscard\nmov $r1 $vstride\nmov b32 $r0 0x5\nexit nop",
    "some lanes": "mov $r1 $physid\nmov b32 $r0 0x3\nand b32 $c0 # $r1 $r0\n(e $c0) discard\nmov $r0 $vstride\n"
    "exit nop",
    "in a branch": "mov $r1 $physid\nmov b32 $r0 0x4\nand b32 $c0 # $r1 $r0\njoinat #end\n(e $c0) bra #end\n"
    "mov b32 $r0 0x1\nand b32 $c1 # $r1 $r0\n(e $c1) discard\nmov b32 $r0 0x7\nend:\njoin nop\n"
    "add b32 $r0 $r0 0x1\nexit nop",
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("text", DISCARDS.values(), ids=list(DISCARDS))
@pytest.mark.parametrize("choices", [GraphicsChoices(discarded="end"), GraphicsChoices(vstride=64)])
def test_other_answers_to_open_questions_are_compiled(
    choices: GraphicsChoices, text: str, tier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = fragment(text, registers=2)
    reference = StageEngine("reference").run(program.launch(), stage(choices=choices))
    monkeypatch.setattr(engines.StageMachine, "run", lambda self: pytest.fail("the reference machine ran"))
    compiled = StageEngine("llvm", tier).run(program.launch(), stage(choices=choices))
    assert np.array_equal(reference.state.files["r"], compiled.state.files["r"])
    assert np.array_equal(reference.state.visible, compiled.state.visible)
    assert reference.stats.instructions == compiled.stats.instructions


@pytest.mark.parametrize("tier", TIERS)
def test_lanes_that_all_end_between_quads_are_a_fault(tier: str) -> None:
    """The stack refuses to unwind through a quadon: compiled code stops, and the reference machine says so."""
    program = fragment("quadon\ndiscard\nquadpop\nexit nop", registers=2)
    for engine in (StageEngine("reference"), StageEngine("llvm", tier)):
        with pytest.raises(MachineFault, match="QUADON_ACTIVE"):
            engine.run(program.launch(), stage(choices=GraphicsChoices(discarded="end")))


def test_choices_of_control_flow() -> None:
    program = fragment("interp $r0 v[0x4]\nexit nop", choices=Choices(join="after"))
    reference, compiled = both(program, stage(), "interp")
    assert np.array_equal(reference.state.files["r"], compiled.state.files["r"])


@pytest.mark.parametrize("tier", TIERS)
def test_outputs_beyond_the_last_word_are_lost(tier: str) -> None:
    """A fragment program has no o[]; a vertex program has 128 words."""
    text = "mov b32 o[0x1f8] a[0x4]\nmov b32 $r1 a[0x8]\n(never) mov b32 o[0x4] $r1\nexit mov b32 o[0x8] $r1"
    program = VertexShader(text).program
    s = Stage(LANES, attributes=ROWS, active=np.arange(LANES) % 3 > 0)
    reference, compiled = both(program, s, tier)
    assert np.array_equal(reference.state.files["o"], compiled.state.files["o"])
    assert (compiled.state.files["o"][0x7E, 1:3] == ROWS[1, 1:3]).all()
    assert not compiled.state.files["o"][1].any()


ENDLESS = "again: bra #again\nexit nop"
LONG = """
    interp $r0 v[0x4]
    mov b32 $r1 0x0
    again: add b32 $r1 $r1 0x1
    mov b32 $r2 0x1f4
    set $c0 # l u32 $r1 $r2
    (lg $c0) bra #again
    exit add b32 $r0 $r0 $r1
"""
PLACED = VertexShader("\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(4)) + "\nexit nop")
EVERYWHERE = np.array([[-1, -1, 0, 1], [3, -1, 0, 1], [-1, 3, 0, 1]], np.float32)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_an_endless_program(tier: str, threads: int) -> None:
    pipeline = Pipeline(256, 256, engine="llvm", tier=tier, threads=threads)
    with interrupted(1.0):
        pipeline.draw("triangles", PLACED, FragmentShader(ENDLESS, inputs=[]), [EVERYWHERE])


@pytest.mark.parametrize("engine", [("reference", "auto"), ("llvm", "interp"), ("llvm", "jit"), ("auto", "auto")])
def test_a_watchdog_ends_what_does_not_end(engine: tuple[str, str]) -> None:
    dog = Watchdog(compiled=1 << 12, reference=1 << 8)
    with pytest.raises(BudgetExceeded) as caught:
        StageEngine(*engine, dog).run(fragment(ENDLESS).launch(), stage())
    assert caught.value.pc < 4 * len(fragment(ENDLESS).code.units)
    pipeline = Pipeline(64, 64, engine=engine[0], tier=engine[1], watchdog=dog)
    with pytest.raises(BudgetExceeded):
        pipeline.draw("triangles", PLACED, FragmentShader(ENDLESS, inputs=[]), [EVERYWHERE])


@pytest.mark.parametrize("tier", TIERS)
def test_a_watchdog_lets_long_programs_end(tier: str) -> None:
    program, dog = fragment(LONG), Watchdog(compiled=1 << 11, reference=1 << 14)
    expected = StageEngine("reference").run(program.launch(), stage())
    for engine in (StageEngine("reference", watchdog=dog), StageEngine("llvm", tier, dog)):
        found = engine.run(program.launch(), stage())
        assert np.array_equal(found.state.files["r"], expected.state.files["r"])
        assert found.stats.instructions == expected.stats.instructions


def test_auto_makes_code_for_a_program_that_the_reference_machine_takes_long_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engines, "LONG", 100)
    used = list[bool]()
    original = served.ServedWarps.run
    monkeypatch.setattr(served.ServedWarps, "run", lambda self: used.append(True) or original(self))
    launch = fragment(LONG).launch()
    expected = StageEngine("reference").run(launch, stage())
    found = StageEngine("auto").run(launch, stage())
    assert used
    assert np.array_equal(found.state.files["r"], expected.state.files["r"])


@pytest.mark.parametrize("engine", [("reference", "auto"), ("llvm", "interp"), ("llvm", "jit")])
def test_runs_of_other_threads_are_cancelled(engine: tuple[str, str]) -> None:
    running = StageEngine(*engine, Watchdog(1 << 40, 1 << 40))
    ended = list[str]()

    def work() -> None:
        try:
            running.run(fragment(ENDLESS).launch(), stage())
        except KeyboardInterrupt:
            ended.append("cancelled")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(0.5)
    assert thread.is_alive()
    running.cancel()
    thread.join(PATIENCE)
    assert ended == ["cancelled"]
    with pytest.raises(KeyboardInterrupt):
        running.run(fragment(ENDLESS).launch(), stage())


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """An entry for each run on compiled code, which is never found on disk and is waited for."""
    used = list[bool]()
    original = served.ServedWarps.run

    def run(self: Any) -> bool:
        used.append(True)
        return original(self)

    monkeypatch.setattr(served.ServedWarps, "run", run)
    monkeypatch.setattr(kernels, "at_hand", lambda launch, results: False)
    monkeypatch.setattr(engines, "PATIENCE", 5 * PATIENCE)
    return used


def test_auto_leaves_small_draws_to_the_reference_engine(used: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Many lanes, over all draws, earn a program its code."""
    program = fragment("interp $r0 v[0x4]\nadd b32 $r0 $r0 $r0\nexit add b32 $r0 $r0 $r0")
    monkeypatch.setattr(engines, "WORTH", 2 * LANES)
    monkeypatch.setattr(engines, "MAKING", 4 * LANES)
    monkeypatch.setattr(engines, "LEAST", 1)
    auto = StageEngine("auto")
    found = list[int]()
    for _ in range(6):
        got = auto.run(program.launch(), stage()).state.files["r"][0, :LANES]
        assert np.array_equal(got, 4 * ROWS[1])
        found.append(len(used))
    assert found == [0, 0, 0, 1, 2, 3]


def test_some_tens_of_runs_earn_a_program_its_code(used: list[bool]) -> None:
    program = fragment("interp $r0 v[0x4]\ninterp $r1 v[0x8]\nexit add b32 $r0 $r0 $r1")
    auto = StageEngine("auto")
    for _ in range(50):
        auto.run(program.launch(), stage())
    assert 10 <= len(used) <= 30


def test_engines_have_names() -> None:
    assert StageEngine("reference").name == "reference"
    assert StageEngine("auto").name == "llvm"
    with pytest.raises(LaunchError, match="no engine 'fast'"):
        Pipeline(4, 4, engine="fast")
    with pytest.raises(LaunchError, match="no tier 'fast'"):
        Pipeline(4, 4, tier="fast")
