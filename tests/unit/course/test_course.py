"""The course: what a student begins with is not enough, the teacher's answers are, and mistakes are told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import isakit
from isakit.course import checks
from isakit.course.checks import CHECKS, check
from isakit.course.exercises import Exercise, exercise, exercises, start
from isakit.course.given import limit, made, wrong_house
from isakit.engine.protocol import Array
from isakit.errors import IsakitError, MachineFault
from isakit.programs import write
from support.clients.command_line import run

ANSWERS = Path(__file__).parents[3] / "docs" / "teaching" / "answers"
NAMES = [e.name for e in exercises()]


def answered(name: str, folder: Path) -> Path:
    """Begin a lesson and put the teacher's answer over it."""
    start(exercise(name), folder)
    for f in (ANSWERS / name).iterdir():
        shutil.copy(f, folder)
    if name == "patch":
        run("asm", str(folder / "limit.s"), "--like", str(folder / "limit.cubin"), "-o", str(folder / "limit.cubin"))
    return folder


def test_every_lesson_has_a_check_and_an_answer() -> None:
    assert list(CHECKS) == NAMES
    assert sorted(p.name for p in ANSWERS.iterdir() if p.is_dir()) == sorted(NAMES)
    assert len(NAMES) == 12


@pytest.mark.parametrize("found", exercises(), ids=NAMES)
def test_what_a_student_begins_with_is_not_enough(found: Exercise, tmp_path: Path) -> None:
    start(found, tmp_path / "x")
    assert not all(v.passed for v in check(found, tmp_path / "x"))
    assert (tmp_path / "x" / found.file).is_file()


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_is_enough(name: str, tmp_path: Path) -> None:
    assert [v for v in check(exercise(name), answered(name, tmp_path / "x")) if not v.passed] == []


@pytest.mark.parametrize(
    ("name", "file", "old", "new"),
    [
        ("diverge", "collatz.s", "add b32 $r4 $r4 0x1\n", ""),
        ("coalesce", "scale.s", "mov b32 $r3 0x4", "mov b32 $r3 0x3"),
        (
            "banks",
            "transpose.s",
            "shl b32 $r6 $r1 0x2\n    add b32 $r5 $r5 $r6\n    shl b32 $r6 $r2 0x2",
            "shl b32 $r6 $r2 0x2",
        ),
        ("reduce", "sum.s", "join nop\n    bar inc wait 0x0 0xfff", "join nop"),
        ("race", "rotate.s", "bar inc wait 0x0 0xfff\n    ld", "ld"),
        ("texture", "shrink.s", "mov b32 $r6 1.0", "mov b32 $r6 0.5"),
        ("pixel", "fragment.s", "0.587", "0.487"),
        ("pipeline", "sum.s", "add  $r2 $r2 0x1\n", ""),
        ("shader", "leaf.cg", "c.a < 0.5", "c.a < 0.4"),
        ("lost", "answers.toml", "last_shift = 7", "last_shift = 8"),
        ("driver", "scene.json", '"cull": "back"', '"cull": "both"'),
    ],
)
def test_an_answer_with_a_mistake_is_not_enough(name: str, file: str, old: str, new: str, tmp_path: Path) -> None:
    path = answered(name, tmp_path / "x") / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert not all(v.passed for v in check(exercise(name), tmp_path / "x"))


DONE = """
    add b32 $r6 b32 s[out] $r0
    ld b32 $r7 g14[$r6]
    and b32 $c0 # $r7 $r7
    (lg $c0) ret
"""
"""A kernel that has been here before has nothing to do."""
SLOW = """
    nop
    setgt $p3 $r1 0x32
    $p3 bra #loop
    nop
    mov  $r5 0x60
wait:
    sub  $r5 $r5 0x1
    setgt $p3 $r5 0x0
    $p3 bra #wait
    nop
"""
"""The shorter sums take longer, so that the longer ones have cheap cells."""
TABLE = """
.isa tesla gt200
.kernel collatz
.param in ptr
.param out ptr
    and b32 $r0 $r0 0xffff
    shl b32 $r0 $r0 0x2
    shl $a1 $r0 0x0
    ld $r2 b32 c0[$a1]
    add b32 $r1 b32 s[out] $r0
    exit st b32 g14[$r1] $r2
.const 0
"""
"""A kernel that looks results up."""
MORE = """
    shr u32 $c0 $r6 $r1 0x5
    (e $c0) bra #few
    bar inc wait 0x0 0xfff
few:
"""
"""A barrier more where there are several warps."""


@pytest.mark.parametrize(
    ("name", "file", "after", "trick", "complaint"),
    [
        ("diverge", "collatz.s", "shl b32 $r0 $r0 0x2\n", DONE, "divergent branches"),
        ("pipeline", "sum.s", "mov  $r3 0x0\n", SLOW, "cycles per cell"),
        ("race", "rotate.s", "add b32 $r1 $r1 -0x1\n", MORE, "barriers that a warp meets"),
    ],
)
def test_a_trick_is_not_enough(name: str, file: str, after: str, trick: str, complaint: str, tmp_path: Path) -> None:
    if name == "race":
        path = answered(name, tmp_path / "x") / file
    else:
        start(exercise(name), tmp_path / "x")
        path = tmp_path / "x" / file
    text = path.read_text(encoding="utf-8")
    assert after in text
    path.write_text(text.replace(after, after + trick, 1), encoding="utf-8")
    verdicts = check(exercise(name), tmp_path / "x")
    assert all(v.passed for v in verdicts if v.asked.startswith(("the numbers", "the sum", "right")))
    assert any(v.asked.startswith(complaint) and not v.passed for v in verdicts), verdicts


def test_the_numbers_of_an_earlier_check_are_not_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Array] = []
    run_kernel = checks._Kernel.run  # pyright: ignore[reportPrivateUsage]

    def noted_run(self: Any, *args: Any) -> Array:
        seen.append(run_kernel(self, *args))
        return seen[-1]

    monkeypatch.setattr(checks._Kernel, "run", noted_run)  # pyright: ignore[reportPrivateUsage]
    folder = answered("diverge", tmp_path / "x")
    assert all(v.passed for v in check(exercise("diverge"), folder))
    table = "\n".join(f".word {word:#x}" for word in seen[0].tolist())
    (folder / "collatz.s").write_text(TABLE + table + "\n")
    verdicts = check(exercise("diverge"), folder)
    assert (seen[1] == seen[0]).all()  # it works
    assert [v.asked for v in verdicts if not v.passed] == ["the numbers are right"]


def test_a_picture_that_is_drawn_with_other_corners_is_not_enough(tmp_path: Path) -> None:
    folder = answered("driver", tmp_path / "x")
    scene = json.loads((folder / "scene.json").read_bytes())
    scene["draws"][2]["state"]["cull"] = "front"
    for attribute in scene["draws"][2]["attribs"]:
        attribute["data"].reverse()
    (folder / "scene.json").write_text(json.dumps(scene))
    failed = [v.asked for v in check(exercise("driver"), folder) if not v.passed]
    assert failed == ["fields that are not as they were: at most 2"]


@pytest.mark.parametrize("found", exercises(), ids=NAMES)
@pytest.mark.parametrize("data", [b"", bytes(9), b"\xff\xfe\x00", b"[" * 50_000, bytes((1 << 20) + 1)], ids=len)
def test_what_is_no_answer_is_an_error(found: Exercise, data: bytes, tmp_path: Path) -> None:
    start(found, tmp_path / "x")
    (tmp_path / "x" / found.file).write_bytes(data)
    with pytest.raises(IsakitError) as e:
        check(found, tmp_path / "x")
    assert found.file in str(e.value) or isinstance(e.value, MachineFault)
    assert len(str(e.value)) < 1000 or len(data) == 50_000


def test_a_file_patched_in_more_than_one_place_is_not_enough(tmp_path: Path) -> None:
    folder = answered("patch", tmp_path / "x")
    text = str(limit()).replace("0x64", "0xff").replace("$r3", "$r2", 1)
    (folder / "limit.cubin").write_bytes(write(isakit.isa("tesla", "gt200").assemble(text), "elf"))
    assert not all(v.passed for v in check(exercise("patch"), folder))


def test_a_program_without_end_is_ended(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    start(exercise("coalesce"), folder)
    path = folder / "scale.s"
    path.write_text(path.read_text().replace("(lg $c0) bra", "bra"))
    with pytest.raises((MachineFault, IsakitError)):
        check(exercise("coalesce"), folder)


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "divergence" not in run("lesson").stdout
    assert all(name in run("lesson").stdout for name in NAMES)
    assert "diverge/collatz.s" in run("lesson", "start", "1").stdout
    assert "exists already" in run("lesson", "start", "diverge", code=1).stderr
    assert "2 of 3" in run("lesson", "hint", "diverge", "--number", "2").stdout
    run("lesson", "hint", "diverge", "--number", "4", code=2)
    run("lesson", "check", code=2)
    assert "did you mean `diverge`" in run("lesson", "check", "divrge", code=1).stderr
    assert "collatz.s is missing" in run("lesson", "check", "diverge", "-o", "elsewhere", code=1).stderr
    shutil.copy(ANSWERS / "diverge" / "collatz.s", "diverge")
    assert "no " not in run("lesson", "check", "diverge").stdout
    run("lesson", "check", "diverge", "--json")
    run("lesson", "--json")


def test_a_mistake_in_a_text_is_told_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("lesson", "start", "race")
    path = Path("race/rotate.s")
    path.write_text(path.read_text() + "    bar.sync 0\n")
    assert "rotate.s:" in run("lesson", "check", "race", code=1).stderr


def test_the_wrong_scene_can_be_read_on_a_screen() -> None:
    text = made("driver")["scene.json"].decode()
    assert json.loads(text) == wrong_house()
    assert "      [-1.0, -1.0, 0.8, 1.0],\n" in text
    assert len(text.splitlines()) < 150
