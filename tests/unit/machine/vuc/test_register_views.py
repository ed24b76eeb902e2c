"""Registers of a vµc core written from Python."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import isakit
from isakit.errors import LaunchError

ENGINES = ("reference", "llvm")
SHOWS = (
    "$np0 add $r1 $r0 0x7\n$p0 add $r2 $r0 0x7\nor $r3 $pred 0x0\nor $r4 $lhi 0x0\nor $r5 $llo 0x0\nend: bra end\nnop"
)


def core_with(text: str = "end: bra end\nnop", engine: str = "reference") -> isakit.vuc.Core:
    if engine == "llvm":
        pytest.importorskip("llvmlite")
    core = isakit.vuc.Core("vp3", engine=engine)
    core.load(text)
    return core


@pytest.mark.parametrize("true", [True, 1, np.True_, np.int32(1)])
def test_p1_is_the_opposite_of_p0_after_every_write(true: object) -> None:
    core = core_with()
    assert (core.p[0], core.p[1], core.p[15]) == (0, 1, 1)
    core.p[0] = true
    assert (core.p[0], core.p[1]) == (1, 0)
    core.p[:] = [0] * 16
    assert core.p == [0, 1, *[0] * 13, 1]
    core.p = [1] * 16
    assert core.p == [1, 0, *[1] * 14]
    core.p[1] = core.p[15] = 0  # read-only, as for programs
    assert (core.p[0], core.p[1], core.p[15]) == (1, 0, 1)
    assert json.dumps(core.state()["p"]) == json.dumps([1, 0, *[1] * 14])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_sees_what_python_wrote(engine: str) -> None:
    core = core_with(SHOWS, engine)
    core.p[0] = True
    core.r[1:3] = [-1, -0x8000]
    core.acc[0] = -2
    core.run(stop_spinning=True)
    assert core.r[1:6] == [0xFFFF, 7, 0x8001, 0xFFFF, 0xFFFE]


def test_negative_numbers_become_the_twos_complement_and_others_must_fit() -> None:
    core = core_with()
    core.r[3], core.data[7], core.acc[0] = -1, -2, -3
    assert (core.r[3], core.data[7], core.acc[0], core.long_view) == (0xFFFF, 0xFFFE, 0xFFFF_FFFD, 0xFFFF_FFFD)
    core.r[-1], core.data[-1] = np.int16(-5), 0xFFFF
    assert (core.r[15], core.data[0x7FF]) == (0xFFFB, 0xFFFF)
    for write in (
        lambda: core.r.__setitem__(1, 0x10000),
        lambda: core.r.__setitem__(1, -0x8001),
        lambda: core.data.__setitem__(slice(0, 2), [0, 1 << 16]),
        lambda: core.p.__setitem__(2, 2),
        lambda: core.p.__setitem__(2, -1),
        lambda: core.acc.__setitem__(0, 1 << 32),
        lambda: core.r.__setitem__(1, 1.5),
    ):
        with pytest.raises(LaunchError, match="does not fit"):
            write()
    assert (core.r[1], core.data[0], core.p[2]) == (0, 0, 0)


def test_r0_stays_zero() -> None:
    core = core_with()
    core.r[0] = 5
    core.r[:] = range(1, 17)
    assert core.r == [0, *range(2, 17)]


def test_a_row_keeps_its_length_and_takes_numbers_only() -> None:
    core = core_with()
    for write, message in (
        (lambda: core.r.__setitem__(slice(1, 3), [1]), r"2 elements of \$r cannot hold 1"),
        (lambda: setattr(core, "data", [0]), r"2048 elements of D\[\] cannot hold 1"),
        (lambda: core.p.append(1), r"\$p always has 16"),
        (lambda: core.r.pop(), r"\$r always has 16"),
        (lambda: core.r.__setitem__(1, "x"), r"\$r takes numbers, got 'x'"),
        (lambda: core.r.__setitem__(slice(1, 2), 3), "takes a row of numbers, got 3"),
    ):
        with pytest.raises(LaunchError, match=message):
            write()
    with pytest.raises(IndexError):
        core.r[16] = 1


def test_rows_given_whole_are_the_ones_the_program_works_on() -> None:
    core = core_with("add $r1 $r1 $r2\nst D[$r3] $r1\nend: bra end\nnop")
    core.r = [0, 2, 3, 9, *[0] * 12]
    core.data = [4] * 0x800
    core.run(stop_spinning=True)
    assert (core.r[1], core.data[9], core.data[8]) == (5, 5, 4)
    again = pickle.loads(pickle.dumps(core))
    assert again.r == core.r
    assert again.data == core.data
