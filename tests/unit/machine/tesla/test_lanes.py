"""A warp must do to every lane what the lane would do alone, however warps and branches are scheduled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isakit
from isakit.machine.tesla import Choices
from support.generators.lane_programs import REGISTERS, program

ISA = isakit.isa("tesla", "gt200")


def final_registers(
    seed: int, *, threads: int = 32, blocks: int = 1, stepwise: bool = False, **choices: str
) -> np.ndarray:
    """The visible registers of all threads at their end, shape [threads of all blocks, REGISTERS]."""
    device = isakit.Device("gt200", engine="reference", choices=Choices(**choices), limits=False)
    kernel = device.load(ISA.assemble(program(seed).text()), registers=16)["main"]
    machine = device.machine(kernel, blocks, threads)
    if stepwise:
        while machine.step() is not None:
            pass
    else:
        machine.run(max_instructions=1_000_000)
    per_block = [np.concatenate([w.registers[:REGISTERS].T for w in b.warps])[:threads] for b in machine.blocks]
    return np.concatenate(per_block)


def expected(seed: int, threads: int = 32, blocks: int = 1) -> np.ndarray:
    p = program(seed)
    return np.tile(np.array([p.lane(n) for n in range(threads)], np.uint32), (blocks, 1))


@given(seed=st.integers(0, 1 << 32))
def test_a_warp_is_32_lanes(seed: int) -> None:
    assert np.array_equal(final_registers(seed), expected(seed))


@given(seed=st.integers(0, 1 << 32), threads=st.integers(1, 200), blocks=st.integers(1, 4))
def test_grids_of_partly_filled_warps(seed: int, threads: int, blocks: int) -> None:
    assert np.array_equal(final_registers(seed, threads=threads, blocks=blocks), expected(seed, threads, blocks))


@given(seed=st.integers(0, 1 << 32))
def test_one_warp_at_a_time(seed: int) -> None:
    assert np.array_equal(final_registers(seed, threads=70, stepwise=True), expected(seed, 70))


@pytest.mark.parametrize("choices", [{"first": "fallthrough"}, {"join": "after"}])
@given(seed=st.integers(0, 1 << 32))
def test_choices_without_effect_on_results(seed: int, choices: dict[str, str]) -> None:
    assert np.array_equal(final_registers(seed, **choices), expected(seed))


def test_programs_branch() -> None:
    """The generator makes what these tests are about."""
    texts = [program(seed).text() for seed in range(200)]
    for word in ("joinat", "join nop", "breakaddr", "(lg $c0) break", "call", "(lg $c0) ret"):
        assert sum(word in t for t in texts) > 20, word
    finals = [expected(seed) for seed in range(200)]
    assert sum(len({tuple(row[1:] == rows[0][1:]) for row in rows}) > 1 for rows in finals) > 100
