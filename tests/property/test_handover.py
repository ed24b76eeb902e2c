"""A kernel that has begun on the reference engine goes on in compiled code, from any instruction on, and back."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import isakit
from isakit.errors import IsakitError, MachineFault
from isakit.machine.tesla.machine import Machine
from support.generators import fuzz

pytest.importorskip("llvmlite")
from isakit.machine.tesla.compiled.launch.host_assist import finish

SEEDS = (3, 5, 10, 11, 17, 20, 36, 42, 59)
"""Kernels that end without a fault; several have warps that wait for each other, or quads switched on as a whole."""
STEPS = 6


class Prepared:
    """A random kernel on its device, ready to be stepped."""

    def __init__(self, k: fuzz.Fuzzed) -> None:
        self.on = on = fuzz.loaded(k, "reference")
        self.machine: Machine = on.device.machine(on.kernel, k.grid, k.block, param_bytes=on.param_bytes)

    def outcome(self, way: Any) -> tuple[Any, ...]:
        """Memory, counts, registers and fault after running on."""
        fault: Any = None
        try:
            way(self.machine)
        except MachineFault as e:
            fault = e.kind, e.pc, e.block, e.warp, e.lane, e.space, e.address
        except IsakitError as e:
            fault = type(e).__name__, str(e)
        m = self.machine
        stats = m.stats.instructions, m.stats.warp_instructions
        files = [m.state.files[name].tobytes() for name in "rac"]
        return fault, stats, m.state.issued.tolist(), files, self.on.memory()


@pytest.mark.parametrize("seed", SEEDS)
def test_random_kernels(seed: int) -> None:
    """Any number of steps on the reference engine, then the interpreter: as if nothing had changed hands."""
    k = replace(fuzz.kernel(seed), budget=None)
    wanted = Prepared(k).outcome(Machine.run)
    assert wanted[0] is None
    total = wanted[1][1]
    for steps in sorted({0, *np.random.default_rng(seed).integers(1, total, STEPS).tolist()}):
        p = Prepared(k)
        for _ in range(steps):
            p.machine.step()
        assert p.outcome(finish) == wanted, f"after {steps} of {total} steps"


BARRIERS = """
        mov b32 $r1 0x1
        and b32 $r1 $r0 $r1
        mov b32 $r2 0x1
        set $c0 # e u32 $r1 $r2             // odd lanes
        mov b32 $r4 $r0
        shl $a1 $r0 0x2
        st b32 s[$a1+0x40] $r0
        joinat #met
        (lg $c0) bra #even
        add b32 $r4 $r4 0x7
        bra #met
even:   add b32 $r4 $r4 $r4
met:    join nop
        bar inc wait 0x0 all
        mov b32 $r2 0x20
        xor b32 $r2 $r0 $r2
        shl $a2 $r2 0x2
        ld $r3 b32 s[$a2+0x40]
        add b32 $r4 $r4 $r3
        bar inc wait 0x0 all
        st b32 s[$a1+0x40] $r4
        exit nop
"""


def stepped(steps: int, text: str = BARRIERS, **options: Any) -> Machine:
    """Two warps after so many instructions, in turns."""
    device = isakit.Device("gt200", engine="reference")
    program = isakit.isa("tesla", "gt200").assemble(text)
    kernel = device.load(program, registers=8, shared=0x200, barriers=1)["main"]
    machine = device.machine(kernel, 1, 64, **options)
    for _ in range(steps):
        machine.step()
    return machine


def shared(machine: Machine) -> bytes:
    return machine.blocks[0].shared.tobytes()


def test_inside_divergence_and_at_barriers() -> None:
    """After every single instruction."""
    whole = stepped(0)
    whole.run()
    seen = set[str]()
    for steps in itertools.count():
        m = stepped(steps)
        ended = m.finished
        seen |= {"diverged" for w in m.warps if len(w.stack) > 1} | {w.status for w in m.warps}
        finish(m)
        assert m.finished
        assert shared(m) == shared(whole), steps
        assert (m.stats.instructions, m.stats.warp_instructions) == (
            whole.stats.instructions,
            whole.stats.warp_instructions,
        )
        if ended:
            break
    assert seen == {"diverged", "ready", "waiting", "finished"}


def test_faults_are_those_of_the_reference_engine() -> None:
    text = BARRIERS.replace("s[$a2+0x40]", "s[$a2+0x1c0]")
    with pytest.raises(MachineFault) as wanted:
        stepped(0, text).run()
    for steps in (0, 9, 25):
        m = stepped(steps, text)
        with pytest.raises(MachineFault) as got:
            finish(m)
        assert str(got.value) == str(wanted.value)
        assert m.warps[0].pc == wanted.value.pc


def test_compiled_kernels_only_begin_at_the_beginning() -> None:
    whole = stepped(0)
    whole.run()
    m = stepped(0)
    finish(m, "jit")
    assert shared(m) == shared(whole)
    with pytest.raises(isakit.LaunchError, match="only the interpreter"):
        finish(stepped(1), "jit")
