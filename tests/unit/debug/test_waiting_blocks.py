"""Sessions on launches whose blocks wait for each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import isakit
from isakit.debug.session import Session
from isakit.errors import LaunchError
from support.runners.tesla_kernels import blocks_wait

BARRIER = blocks_wait()


def launched(blocks: int, threads: int = 64) -> tuple[Session, Any]:
    device = isakit.Device("gt200")
    program = isakit.isa("tesla", "gt200").assemble(BARRIER)
    counter, out = device.alloc(4), device.alloc(4 * blocks)
    made = device.load(program, registers=12)["k"].machine(blocks, threads, (counter, out, np.uint32(blocks)))
    made.keep = counter  # type: ignore[attr-defined]  # lives as long
    return Session(made, program, labels=program.labels), out


@pytest.mark.parametrize("blocks", [2, 7])
def test_a_session_comes_to_the_end(blocks: int) -> None:
    session, out = launched(blocks)
    assert session.cont(100_000).reason == "finished"
    words = np.frombuffer(session.target.read_memory("g14", out.address, 4 * blocks), np.uint32)
    assert words.tolist() == [blocks + b for b in range(blocks)]


def test_it_says_why_it_is_slow() -> None:
    session, _ = launched(3)
    assert session.execution.why_slow == "its blocks may wait for each other"  # type: ignore[attr-defined]


def test_going_back_over_turns_gives_the_same_states() -> None:
    session, out = launched(4)
    session.cont(1500)
    there = session.position, session.focus, session.registers()
    session.cont(2000)
    session.goto(there[0])
    assert session.registers(there[1]) == there[2]
    assert session.cont(100_000).reason == "finished"
    assert session.target.read_memory("g14", out.address, 4) == (4).to_bytes(4, "little")


def test_all_blocks_that_wait_can_be_looked_at() -> None:
    session, _ = launched(3)
    session.cont(4000)
    for block in range(3):
        session.focus_on(block=block, warp=1, lane=2)
        assert session.evaluate("block") == block
        assert session.evaluate("$r2") == block
    with pytest.raises(LaunchError, match="does not exist; blocks between 0 and 2 are resident"):
        session.focus_on(block=3)


def test_a_breakpoint_stops_in_a_later_block() -> None:
    session, _ = launched(5)
    session.break_at("wait", "block == 4")
    assert session.cont(100_000).reason == "breakpoint"
    assert session.evaluate("block") == 4
