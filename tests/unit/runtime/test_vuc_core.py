"""The vµc core as users meet it: loading, running, stopping, saving."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import isakit
from isakit.errors import AsmError, LaunchError
from isakit.vuc import Core

ADD = "ld $r1 D[0x0]\nnop\nnop\nadd $r2 $r1 0x1\nst D[0x1] $r2\nend: bra #end\nnop"


def program(text: str = ADD, variant: str = "vp3") -> isakit.Program:
    return isakit.isa("vuc", variant).assemble(text)


def test_loading_text_programs_and_words() -> None:
    for what in (ADD, program(), program().words, tuple(program().words)):
        core = Core("vp3")
        core.load(what)
        core.write_data([41])
        assert core.run(stop_spinning=True).reason == "spinning"
        assert core.data[1] == 42


def test_loading_at_an_address() -> None:
    core = Core("vp2")
    core.load(program(".org 0x100\nadd $r1 $r0 0x1", "vp2"))
    assert [n for n, w in enumerate(core.code) if w is not None] == [0x20]
    core.load(program("bra 0x20\nnop", "vp2"))
    core.load(program("add $r2 $r0 0x1", "vp2"), address=0x21)
    core.step(4)
    assert core.r[1:3] == [1, 1]


def test_data_from_arrays() -> None:
    core = Core("vp3")
    core.write_data(np.array([0xFFFF, 1], np.uint16))
    assert all(type(v) is int for v in core.data)


@pytest.mark.parametrize("cells", [[0x10000], [-0x8001], [1.5], np.float32([1, 2.5]), np.uint32([70000]), ["1"]])
def test_what_is_no_cell_is_not_written(cells: Iterable[int]) -> None:
    """Before, numbers lost what was above their 16 bits, or behind the point."""
    core = Core("vp2")
    with pytest.raises(LaunchError):
        core.write_data(cells, 4)
    core.write_data(np.int16([-1, 2]), 4)
    assert core.data[4:6] == [0xFFFF, 2]


@pytest.mark.parametrize("words", [[1.5], np.float64([1]), ["0"], 5])
def test_words_are_integers(words: Any) -> None:
    with pytest.raises(LaunchError, match="words are integers"):
        Core("vp2").load(words)


def test_loading_a_firmware_file_with_its_data_part() -> None:
    from isakit.formats import read_vuc

    image = program().to_bytes() + bytes.fromhex("290001007700")
    core = Core("vp3")
    core.load(read_vuc(image, "vp3", data_size=6))
    assert core.data[:3] == [41, 1, 0x77]
    core.run(stop_spinning=True)
    assert core.data[1] == 42


def test_loading_errors() -> None:
    core = Core("vp3")
    with pytest.raises(AsmError):
        core.load("frob $r1")
    with pytest.raises(LaunchError, match="word size"):
        core.load(program(variant="vp2"))
    with pytest.raises(LaunchError, match="30 bits"):
        core.load([1 << 30])
    with pytest.raises(LaunchError, match="0x800"):
        core.load([0x14000043] * 0x801)
    with pytest.raises(LaunchError, match="from -0x1 on"):
        core.load([0x14000043], address=-1)
    with pytest.raises(LaunchError, match="vuc"):
        core.load(isakit.isa("tesla").assemble("nop"))
    with pytest.raises(LaunchError, match="D"):
        core.write_data([0] * 0x801)
    with pytest.raises(isakit.UnknownIsaError):
        Core("vp5")


def test_chips_name_variants() -> None:
    assert (Core("g84").variant, Core("g98").variant, Core("gt215").variant) == ("vp2", "vp3", "vp4")


def test_ways_to_stop() -> None:
    core = Core("vp3")
    core.load("loop: add $r1 $r1 0x1\nbra #loop\nnop")
    stop = core.run(10)
    assert (stop.reason, stop.cycles, stop.instructions) == ("limit", 10, 10)
    assert core.run(100, until=0).reason == "until"
    assert core.pc == 0
    stop = core.run(100, until=lambda c: c.r[1] == 9)
    assert (stop.reason, core.r[1]) == ("until", 9)
    core.halt()
    assert core.run(100).reason == "halted"
    core.load("sleep\nnop")
    assert core.run(100).reason == "asleep"
    before = core.cycle
    core.step(7)
    assert core.cycle == before + 7, "steps pass while it sleeps"


def test_spinning_waits_for_what_is_under_way_and_for_the_watchdog() -> None:
    core = Core("vp3")
    core.load("mov $r1 0x5\nmov $v2h $r1\nend: bra #end\nnop")
    assert core.run(stop_spinning=True).reason == "spinning"
    assert core.host["V2H"] == 5
    core.load("end: bra #end\nnop")
    core.host["WDCNT"] = 50
    assert core.run(200, stop_spinning=True).reason == "limit"
    assert core.sr["stat"] == 0x1000


def test_state_is_plain_data() -> None:
    core = Core("vp2")
    core.load("mov $r1 0x7\nmov $v2h $r1\nnop\nnop")
    core.step(4)
    state = json.loads(core.to_json())
    assert state["r"][1] == 7
    assert state["sr"]["v2h"] == state["host"]["V2H"] == 7
    assert len(state["data"]) == 0x800
    assert "vp2" in repr(core)


def test_data_as_bytes() -> None:
    core = Core("vp3")
    core.write_data(b"\x34\x12\x78", 4)
    assert core.data[4:6] == [0x1234, 0x78]
    assert core.read_data(4, 2) == b"\x34\x12\x78\x00"
