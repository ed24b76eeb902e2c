"""The host as a script: mailboxes, interrupts, I/O, and what is said when the core does something else."""

from __future__ import annotations

from pathlib import Path

import pytest

import isakit
from isakit.cli.microcode import run_image
from isakit.errors import CheckFailed, LaunchError
from isakit.vuc import Core, header_packet

ECHO = """
    loop: sleep
    nop
    or $r1 $h2v 0x0
    add $r1 $r1 0x1
    mov $v2h $r1
    nop
    bra #loop
    nop
"""
IO = "ld6 $r1 B6[0x0]\nld6 $r2 B6[0x0]\nnop\nnop\nnop\nadd $r3 $r1 $r2\nst7 B7[0x2] $r3\nend: bra #end\nnop"


def play(tmp_path: Path, program: str, script: str) -> list[str]:
    (tmp_path / "s.txt").write_text(script)
    code = isakit.isa("vuc", "vp3").assemble(program)
    return run_image(code, [f"script={tmp_path}/s.txt"])[1]


def test_a_mailbox_answers(tmp_path: Path) -> None:
    lines = play(tmp_path, ECHO, "run 20\nwrite H2V 0x41\nwait V2H 0x42 within 100\nexpect $r1 0x42  # a comment\n")
    assert [line.split("  ")[-1] for line in lines[:2]] == ["V2H is 0x42", "$r1 is 0x42"]


def test_an_interrupt_is_waited_for_and_acknowledged(tmp_path: Path) -> None:
    lines = play(
        tmp_path, ECHO, "run 20\nwrite H2V 1\ninterrupt V2H within 100\nwrite H2V 5\ninterrupt V2H\nexpect V2H 6\n"
    )
    assert sum("interrupt V2H" in line for line in lines) == 2


def test_a_wrong_answer_is_told_with_line_and_cycle(tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match=r"line 3: expect V2H 0x43: V2H is 0x42 \(cycle \d+, pc 0x"):
        play(
            tmp_path,
            ECHO,
            "run 20\nwrite H2V 0x41\nexpect V2H 0x43\n".replace("expect", "wait V2H 0x42\nexpect", 1).replace(
                "run 20\n", "", 1
            ),
        )


def test_waiting_has_an_end(tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match="V2H is 0x0 after 50 cycles"):
        play(tmp_path, ECHO, "wait V2H 7 within 50")


def test_values_come_from_the_script_and_stores_go_to_it(tmp_path: Path) -> None:
    lines = play(tmp_path, IO, "io B6 0 0x10 0x20\nrun 50\nexpect-store B7 2 0x30\nexpect D[0] 0\n")
    assert any("B7[0x2] = 0x30" in line for line in lines)
    with pytest.raises(CheckFailed, match="the next store is"):
        play(tmp_path, IO, "io B6 0 1\nrun 50\nexpect-store B7 2 3\n")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("jump 3", "there is no command 'jump'"),
        ("write H2V", "write does not take 1 arguments"),
        ("write NOPE 1", "no host register"),
        ("expect V2H x", "'x' is not a number"),
        ("wait V2H 1 for 3", "`within N` may follow"),
        ("interrupt NOPE", "there is no interrupt 'NOPE'"),
        ("io B5 0 1", "not an I/O space"),
        ("at 1\nrun 5\nat 2", "cycle 6 has come already"),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(LaunchError, match=says) as e:
        play(tmp_path, ECHO, f"\n{line}\n")
    assert f"line {1 + len(line.splitlines())} of the script" in str(e.value)


@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_callbacks_stand_behind_the_io_spaces(engine: str) -> None:
    core = Core("vp3", engine=engine)  # type: ignore[arg-type]
    stores: list[tuple[str, int, int]] = []
    core.on_io_load = lambda space, address: 0x123 if space == "B6" else None
    core.on_io_store = lambda *store: stores.append(store)
    core.load(IO)
    core.run(100, stop_spinning=True)
    assert core.r[1:4] == [0x123, 0x123, 0x246]
    assert stores == [("B7", 2, 0x246)]


def test_packets_of_a_script_reach_the_ring(tmp_path: Path) -> None:
    words = " ".join(map(hex, header_packet(address=3, x=2, y=1, skip=True)))
    program = "sleep\nmbiread\n" + "nop\n" * 6 + "or $r1 $mbxy 0x0\nend: bra #end\nnop"
    play(tmp_path, program, f"run 5\nfeed {words}\nrun 40\nexpect $r1 0x201\n")
