"""Sessions over random programs of all machines: stepping is running, and the past is what it was."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from isakit.debug.session import Session
from isakit.machine.tesla.machine_snapshot import content_of
from support.generators import vuc_programs
from support.runners import debugging

SEEDS = (5, 10, 42)
STEPS = 1000
CASES = [
    *(pytest.param(debugging.tesla, s, id=f"tesla {s}") for s in SEEDS),
    *(pytest.param(debugging.vuc, s, id=f"vuc {s}") for s in range(6)),
    *(pytest.param(debugging.usse, s, id=f"usse {s}") for s in range(6)),
]


def content(s: Session) -> Any:
    """Everything the machine is made of, in a form that can be compared."""
    t: Any = s.target
    if t.isa == "vuc":
        return deepcopy(vuc_programs.everything(t.core))
    if t.isa == "usse":
        m = t.machine
        return {n: np.array(rows).tobytes() for n, rows in m.files.items()}, [b.tobytes() for _, b in m.memory.buffers]
    found = content_of(t.machine)
    found["stats"].pop("seconds")
    # Grouping is no state, and counters that no $pm shows are not kept by compiled code.
    del found["since"], found["clock"], found["gangs"], found["events"], found["schedule"]
    # Instructions count towards the limit of a turn, and each engine has a limit of its own.
    found["blocks"] = [b[:3] for b in found["blocks"]]
    # A warp that has ended stands nowhere.
    found["warps"] = [(*w[:3], 0, *w[4:]) if w[0] == "finished" else w for w in found["warps"]]
    return repr_of(found)


def repr_of(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {k: repr_of(v) for k, v in value.items()}
    return [repr_of(v) for v in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(("make", "seed"), CASES)
def test_stepping_to_the_end_gives_what_running_gives(make: Any, seed: int) -> None:
    one, other = make(seed), make(seed)
    one.cont(20_000)
    while not other.finished and other.position < one.position:
        other.focus = other.execution.following or 0  # the order of a run, not that of one group first
        if other.step().reason != "step":
            break
    assert other.finished == one.finished
    assert content(other) == content(one)


@pytest.mark.parametrize(("make", "seed"), CASES)
def test_steps_back_are_steps_forward_taken_back(make: Any, seed: int) -> None:
    s = make(seed)
    seen = [content(s)]
    while not s.finished and len(seen) < 40 and s.step().reason in ("step", "finished"):
        seen.append(content(s))
    for there in reversed(seen[:-1]):
        s.reverse_step()
        assert content(s) == there


@pytest.mark.parametrize("seed", SEEDS)
def test_compiled_code_and_steps_come_to_the_same_states(seed: int) -> None:
    pytest.importorskip("llvmlite")
    fast, slow = debugging.tesla(seed), debugging.tesla(seed, compiled=False)
    assert fast.execution.compiled  # type: ignore[attr-defined]
    rnd = random.Random(seed)
    while not slow.finished:
        distance = rnd.randrange(1, 60)
        slow.cont(distance)
        fast.cont(distance)
        assert fast.position == slow.position
        assert content(fast) == content(slow), slow.position


@pytest.mark.parametrize(("make", "seed"), CASES)
def test_going_back_and_forth_again_gives_the_same_bytes(make: Any, seed: int) -> None:
    s = make(seed)
    s.cont(1500)
    there, then = content(s), s.position
    back = max(0, then - STEPS)
    s.reverse_step(then - back)
    assert s.position == back
    before = content(s)
    s.goto(then)
    assert content(s) == there
    s.goto(back)
    assert content(s) == before


@pytest.mark.parametrize(("make", "seed"), CASES)
def test_every_position_of_the_past_is_what_it_was(make: Any, seed: int) -> None:
    s = make(seed)
    seen = [(s.timeline.moment, content(s))]
    while not s.finished and len(seen) < 60 and s.step().reason == "step":
        seen.append((s.timeline.moment, content(s)))
    for moment, there in random.Random(seed).sample(seen, min(12, len(seen))):
        s.timeline.seek(moment)
        assert content(s) == there, moment
