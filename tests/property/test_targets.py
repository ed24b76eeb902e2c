"""Machines of all instruction sets as targets: snapshots, pickles and steps over random programs."""

from __future__ import annotations

import pickle
import random
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import isakit
from isakit.arch.usse.arithmetic import DEFAULT
from isakit.errors import BudgetExceeded, IsakitError, MachineFault
from isakit.machine.target import Target
from isakit.machine.targets import target_of
from isakit.machine.tesla.machine_snapshot import content_of
from isakit.machine.usse import ShaderCode
from isakit.machine.vuc import Options
from support.generators import fuzz, usse_programs, vuc_programs
from support.runners import usse_engines

SEEDS = (5, 10, 42)
"""Tesla kernels that end without a fault."""


def tesla(seed: int) -> Target:
    on = fuzz.loaded(k := replace(fuzz.kernel(seed), budget=None), "reference")
    return target_of(on.device.machine(on.kernel, k.grid, k.block, param_bytes=on.param_bytes))


def usse(seed: int, faults: bool = False) -> Target:
    words = usse_programs.branching(random.Random(seed), faults)
    m = usse_engines.machine(random.Random(seed).choice((16, 37)), seed)
    m.start(ShaderCode(isakit.isa("usse").disassemble(words), DEFAULT))
    return target_of(m)


def vuc(seed: int, faults: bool = False) -> Target:
    rnd = random.Random(f"target {seed}")
    variant = rnd.choice(("vp2", "vp3", "vp4"))
    options = Options() if faults else Options(unknown_ops="ignore", full_stack="drop_oldest", empty_stack="zero")
    words = vuc_programs.program(rnd, variant, tame=seed % 2 == 0)
    return target_of(vuc_programs.pair(variant, words, rnd, options)[0])


def state(t: Target) -> Any:
    """Everything a target is made of, in a form that can be compared."""
    m: Any = t.machine if hasattr(t, "machine") else t.core
    if t.isa == "vuc":
        return deepcopy(vuc_programs.everything(m))
    if t.isa == "usse":
        waiting = {pc: np.ones(m.lanes, bool) if mask is None else mask for pc, mask in m.waiting.items()}
        attributes = (
            m.killed,
            m.depth,
            list(m.notes.items()),
            m.executed,
            m.increments,
            m._link,
            sorted(waiting.items()),
        )
        files = {name: np.array(rows).tobytes() for name, rows in m.files.items()}
        return files, pickle.dumps(plain(attributes)), [data.tobytes() for _, data in m.memory.buffers]
    content = content_of(m)
    content["stats"].pop("seconds")
    del content["since"], content["clock"]
    content["gangs"] = sorted((n, mask, pc) for ns, masks, pc in content["gangs"]
                              for n, mask in zip(ns.tolist(), masks.tolist(), strict=True))  # fmt: skip
    return plain(content)


def plain(value: Any) -> Any:
    """With bytes in place of arrays."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, list | tuple) else value


def steps(t: Target, n: int) -> str:
    """Up to `n` steps; what stopped them."""
    try:
        for _ in range(n):
            if t.step() is None:
                return "finished"
    except IsakitError as e:
        return f"{type(e).__name__} {e}"
    return ""


def run(t: Target) -> Any:
    try:
        return t.run(max_instructions=400)
    except (MachineFault, BudgetExceeded, IsakitError) as e:
        return f"{type(e).__name__} {e}"


CASES = [
    *(pytest.param(tesla, s, id=f"tesla {s}") for s in SEEDS),
    *(pytest.param(vuc, s, id=f"vuc {s}") for s in range(10)),
    *(pytest.param(usse, s, id=f"usse {s}") for s in range(10)),
]


@pytest.mark.parametrize(("make", "seed"), CASES)
def test_a_restored_snapshot_goes_on_as_the_machine_did(make: Any, seed: int) -> None:
    t, rnd = make(seed), random.Random(seed)
    steps(t, rnd.randrange(60))
    kept, there = t.snapshot(), state(t)
    ended = steps(t, 40), run(t)
    after = state(t)
    t.restore(kept)
    assert state(t) == there
    assert (steps(t, 40), run(t)) == ended
    assert state(t) == after


@pytest.mark.parametrize(("make", "seed"), CASES)
def test_a_pickled_machine_goes_on_as_the_machine_does(make: Any, seed: int) -> None:
    t = make(seed)
    steps(t, random.Random(seed).randrange(60))
    again = target_of(pickle.loads(pickle.dumps(t.machine if hasattr(t, "machine") else t.core)))
    assert state(again) == state(t)
    assert run(again) == run(t)
    assert state(again) == state(t)


@pytest.mark.parametrize(("make", "seed"), CASES)
def test_a_snapshot_fits_a_machine_made_alike(make: Any, seed: int) -> None:
    t, other = make(seed), make(seed)
    steps(t, 25)
    other.restore(t.snapshot())
    assert state(other) == state(t)


@pytest.mark.parametrize(("make", "seed"), [*CASES[3:]])
def test_steps_do_what_a_run_does(make: Any, seed: int) -> None:
    one, other = make(seed), make(seed)
    ended = run(one)
    if one.isa == "vuc":  # cycles in which the core sleeps for good are steps, but no part of a run
        steps(other, one.core.cycle)  # type: ignore[attr-defined]
    else:
        steps(other, 400 if getattr(ended, "reason", "") == "budget" else 1000)
    assert state(other) == state(one)


@pytest.mark.parametrize("make", [vuc, usse])
def test_a_step_that_faults_changes_nothing(make: Any) -> None:
    faults = 0
    for seed in range(24):
        t = make(seed, faults=True)
        before = state(t)
        for _ in range(60):
            try:
                if t.step() is None:
                    break
            except IsakitError:
                assert state(t) == before, seed
                faults += 1
                break
            before = state(t)
    assert faults > 5
