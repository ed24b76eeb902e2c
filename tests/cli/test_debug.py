"""`isakit debug`: scripts, JSON, standard input, and what it says when something is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from support.clients.command_line import run

DIVERGE = (str(ROOT / "examples/tesla/diverge.s"), "--block", "32", "--arg", "out:i32:32")


def debug(*commands: str, code: int = 0) -> list[str]:
    """Lines of a session of the example."""
    return run("debug", *DIVERGE, *(x for c in commands for x in ("-e", c)), code=code).stdout.splitlines()


def answers(*commands: str) -> list[Any]:
    lines = [x for c in commands for x in ("-e", c)]
    return [json.loads(line) for line in run("debug", *DIVERGE, "--json", *lines).stdout.splitlines()]


def test_a_script_is_carried_out(tmp_path: Path) -> None:
    script = tmp_path / "commands"
    script.write_text("# to the call\nb call\n\nc\np $r2\n")
    out = run("debug", *DIVERGE, "-x", str(script)).stdout.splitlines()
    assert out[-1] == "0"
    assert "breakpoint 1: block (0, 0) warp 0 lane 0" in out[1]


def test_a_script_ends_at_its_first_error() -> None:
    result = run("debug", *DIVERGE, "-e", "b nowhere", "-e", "c", code=1)
    assert "nowhere" in result.stderr
    assert result.stdout == ""


def test_every_command_answers_with_a_line_of_json() -> None:
    stop = answers("s 3")[0]
    assert stop["command"] == "s 3"
    assert (stop["data"]["reason"], stop["data"]["position"]) == ("step", 3)


def test_commands_from_standard_input_go_on_after_errors() -> None:
    out = run("debug", *DIVERGE, stdin="nonsense\ns\nq\ns\n").stdout.splitlines()
    assert out[0].startswith("error: no command 'nonsense'")
    assert out[1] == "after 1 step"
    assert len(out) == 3


def test_lines_fit_80_columns() -> None:
    lines = debug("b twice", "c", "layout", "info stack", "help", "x/64 s[0]", "info warps", "info breakpoints")
    assert max(map(len, lines)) <= 80
    assert not any("\x1b" in line for line in lines)


def test_displays_are_shown_at_every_stop() -> None:
    data = answers("disp $r1 * 2", "focus lane 5", "s")
    assert data[-1]["data"]["displays"] == {"$r1 * 2": "10 (0xa)"}


def test_a_label_is_a_place() -> None:
    assert "<twice>" in "\n".join(debug("b twice", "c"))


def test_memory_that_changed_is_marked() -> None:
    lines = debug("x/16 s[0x40]", "set s[0x40] = 7", "x/16 s[0x40]")
    assert lines[0].startswith(" s[")
    assert lines[-1].startswith("*s[0x0040]  00000007")


def test_a_fault_is_a_stop() -> None:
    assert answers("set s[0x10] = 3", "c")[1]["data"]["reason"] == "fault"


@pytest.mark.parametrize("command", ["p 1 +", "p $r200", "x $r1", "set 5 = 6", "focus lane 99", "ignore 4 1", "goto x",
                                     "s zero", "fin", "info nothing", "wrote 7", "watch", "delete 9"])  # fmt: skip
def test_what_cannot_be_done_is_said_in_a_line(command: str) -> None:
    assert len(run("debug", *DIVERGE, "-e", command, code=1).stderr.splitlines()) == 1


def test_microcode(tmp_path: Path) -> None:
    run("asm", "-m", "vuc", "-V", "vp3", str(ROOT / "examples/vuc/p1_copy_checksum.s"), "-o", str(tmp_path / "p.bin"))
    out = run("debug", "-m", "vuc", "-V", "vp3", str(tmp_path / "p.bin"), "-e", "s 3", "-e", "p $r3", "-e", "rs 3")
    assert {"512 (0x200)", "3 back"} < set(out.stdout.splitlines())


def test_a_shader(shared: Path) -> None:
    gxp = shared / "corpus/usse/gxp/124142efda933e63.gxp"
    out = run("debug", str(gxp), "-e", "s", "-e", "rs", "-e", "c").stdout.splitlines()
    assert "the program has ended" in out


def test_panes_are_shown_at_every_stop_once_they_are_on() -> None:
    lines = debug("x/16 s[0x10]", "layout on", "s 3", "layout off", "s")
    headings = [line.split()[1] for line in lines if line.startswith("---")]
    assert headings == ["code", "lanes", "registers", "stack", "memory"] * 2
    assert any("*$r2=0x0" in line or "*$r4=0x10" in line for line in lines)
    assert max(map(len, lines)) <= 80
