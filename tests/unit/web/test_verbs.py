"""What a page can ask, and that what it is told agrees with the library."""

import base64
import subprocess
import sys

import numpy as np
import pytest

import isakit
from isakit.programs import write
from isakit.web.lessons import lesson
from isakit.web.verbs import VERBS, answer
from support.clients.workbench import asked


def unit_of(bench, name):
    given = lesson(name)
    made = asked(bench, "assemble", **{k: given[k] for k in ("source", "isa", "variant", "language")})
    return made["units"][0]["unit"], given


def test_every_verb_refuses_what_it_cannot_do_with_a_message(bench):
    for verb in VERBS:
        if verb not in ("arrays", "state", "access", "keep"):
            assert answer(bench, verb, {})["kind"] in ("input", "request")
    for verb in ("arrays", "state", "access", "move"):
        assert answer(bench, verb, {"how": "step"})["error"] == "nothing has been launched"


def test_a_listing_says_what_the_program_says(bench):
    unit, given = unit_of(bench, "04-reduction")
    program = isakit.isa("tesla", "gt200").assemble(given["source"])
    got = asked(bench, "listing", unit=unit, start=0, count=1000)
    assert [x["text"] for x in got["lines"]] == [i.text for i in program]
    assert [x["address"] for x in got["lines"]] == [i.address for i in program]
    assert [x["target"] for x in got["lines"]] == [i.target for i in program]
    assert {x["label"]: x["address"] for x in got["lines"] if x["label"]} == program.labels
    lines = given["source"].split("\n")
    for x in got["lines"]:
        assert x["text"].replace("long ", "").split()[0].strip("(") in lines[x["source"] - 1]


def test_an_opened_cubin_runs_with_a_dropped_array(bench):
    program = isakit.isa("tesla", "gt200").assemble(lesson("01-first-kernel")["source"])
    got = asked(bench, "open", name="saxpy.cubin", data=base64.b64encode(write(program, "elf")).decode())
    assert [u["name"] for u in got["units"]] == ["saxpy"]
    asked(bench, "array", name="x.npy", spec="random:f32:40:5")
    x = np.load("x.npy")
    args = ["u32:40", "f32:0.5", "in:x.npy", "zeros:f32:40"]
    asked(bench, "launch", unit=got["units"][0]["unit"], launch={"grid": [1], "block": [64], "args": args})
    asked(bench, "move", how="cont")
    arrays = asked(bench, "arrays")["arrays"]
    assert (np.frombuffer(base64.b64decode(arrays[1]["data"]), np.float32) == np.float32(0.5) * x).all()


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"not a program", b"\x00" * 100, b"\x7fELF" + b"\xff" * 200])
def test_a_file_that_is_no_program_is_an_error(bench, data):
    got = answer(bench, "open", {"name": "x.cubin", "data": base64.b64encode(data).decode()})
    assert got["kind"] == "input"


def test_kept_programs_are_compared_with_what_the_text_becomes(bench):
    unit, given = unit_of(bench, "01-first-kernel")
    kept = asked(bench, "keep", name="before")["units"][0]["unit"]
    assert asked(bench, "diff", a=kept, b=unit)["identical"]
    changed = given["source"].replace("shl b32 $r3 $r2 0x2", "shl b32 $r3 $r2 0x3")
    made = asked(bench, "assemble", source=changed, isa="tesla", variant="gt200", language="asm")
    found = asked(bench, "diff", a=kept, b=made["units"][0]["unit"])
    assert found["counts"]["changed"] == 1
    asked(bench, "launch", unit=kept, launch=given["launch"])  # the kept one runs as it was
    assert asked(bench, "move", how="cont")["reason"] == "finished"
    x = np.arange(64, dtype=np.float32)
    y = np.frombuffer(base64.b64decode(asked(bench, "arrays")["arrays"][1]["data"]), np.float32)
    assert (y == np.where(x < 60, 3 * x, x)).all()


def test_the_next_access_is_told_and_nothing_is_moved(bench):
    unit, given = unit_of(bench, "05-bank-conflicts")
    asked(bench, "launch", unit=unit, launch=given["launch"])
    steps: list[int] = []
    for _ in range(200):
        state = asked(bench, "state")
        if state["finished"]:
            break
        if state["instruction"].startswith("ld"):
            got = asked(bench, "access")["accesses"]
            assert asked(bench, "state") == state
            assert [len(a["addresses"]) for a in got] == [16, 16]
            steps.append(got[0]["steps"])
        asked(bench, "move", how="step")
        if len(steps) == 3:
            break
    assert steps == [1, 2, 16]


def test_registers_memory_and_expressions_agree(bench):
    unit, given = unit_of(bench, "02-divergence")
    asked(bench, "launch", unit=unit, launch=given["launch"])
    asked(bench, "move", how="until", where="met")
    state = asked(bench, "focus", thread=7)
    assert asked(bench, "evaluate", expression="$r2 + 1")["value"] == str(int(state["registers"]["$r2"], 16) + 1)
    asked(bench, "set", what="$r2", value="0x1234")
    assert asked(bench, "state")["registers"]["$r2"] == "0x1234"
    got = asked(bench, "memory", space="s", address=0x10, size=4)
    assert got["data"] != "00000000"
    assert answer(bench, "memory", {"space": "nowhere", "address": 0})["kind"] == "input"


def test_a_breakpoint_with_a_condition_stops_there(bench):
    unit, given = unit_of(bench, "03-mandelbrot")
    asked(bench, "launch", unit=unit, launch=given["launch"])
    asked(bench, "breakpoint", where="met", condition="$r9 > 50")
    state = asked(bench, "move", how="cont")
    assert state["reason"] == "breakpoint"
    assert int(state["registers"]["$r9"], 16) > 50
    [b] = state["breakpoints"]
    assert asked(bench, "breakpoint", delete=b["number"])["breakpoints"] == []


def test_the_last_write_of_a_register_is_found(bench):
    unit, given = unit_of(bench, "01-first-kernel")
    asked(bench, "launch", unit=unit, launch=given["launch"])
    asked(bench, "move", how="until", where="exit")
    state = asked(bench, "move", how="last_write", where="$r6")
    assert "$r6" in state["instruction"]
    assert "ld" in state["instruction"]


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\ud7ff"])
def test_a_scene_that_is_not_one_is_an_error_of_the_input(bench, text):
    got = answer(bench, "scene", {"name": "s.json", "files": {"s.json": text}})
    assert got["kind"] == "input", got
    assert "s.json" in got["error"]


def test_an_exercise_is_checked(bench):
    from isakit.course.exercises import exercise

    text = exercise("race").files["rotate.s"].decode()
    checks = asked(bench, "exercise", name="race", source=text)["checks"]
    assert {c["passed"] for c in checks} == {True, False}
    mended = text.replace(
        "    ld $r4 b32 s[$a2+0x40]\n    st",
        "    bar inc wait 0x0 0xfff\n    ld $r4 b32 s[$a2+0x40]\n    bar inc wait 0x0 0xfff\n    st",
        1,
    )
    assert all(c["passed"] for c in asked(bench, "exercise", name="race", source=mended)["checks"])
    wrong = answer(bench, "exercise", {"name": "race", "source": "mov"})
    assert wrong["kind"] == "text"
    assert answer(bench, "exercise", {"name": "nothing", "source": ""})["kind"] == "input"


def test_a_project_is_seen_in_the_listing_and_taken_back(bench):
    data = write(isakit.isa("tesla", "gt200").assemble(lesson("02-divergence")["source"]), "elf")
    unit = asked(bench, "open", name="x.cubin", data=base64.b64encode(data).decode())["units"][0]["unit"]
    said = {"labels": {"8": "start"}, "comments": {"8": "one\ntwo"}, "params": {"0": {"name": "result"}}}
    got = asked(bench, "project", file="x.cubin", project={"programs": {"diverge": said}})
    assert got["fits"]
    assert got["units"][0]["params"][0]["name"] == "result"
    line = asked(bench, "listing", unit=unit)["lines"][1]
    assert (line["label"], line["comment"]) == ("start", "one\ntwo")
    asked(bench, "launch", unit=unit, launch={"grid": [1], "block": [32], "args": ["out:f32:32"]})
    asked(bench, "breakpoint", where="start")
    again = base64.b64encode(got["text"].encode()).decode()
    opened = asked(bench, "open", name="x.json", data=again)
    assert (opened["kind"], opened["project"]) == ("project", got["project"])
    asked(bench, "project", file="x.cubin", project={})
    assert not asked(bench, "listing", unit=unit)["lines"][1]["label"]


@pytest.mark.parametrize(
    "project", [{"programs": 5}, {"labels": {}}, {"programs": {"diverge": {"labels": {"0": "a b"}}}}]
)
def test_a_project_that_cannot_be_is_refused(bench, project):
    data = write(isakit.isa("tesla", "gt200").assemble(lesson("02-divergence")["source"]), "elf")
    asked(bench, "open", name="x.cubin", data=base64.b64encode(data).decode())
    assert answer(bench, "project", {"file": "x.cubin", "project": project})["kind"] == "input"
    for other in ("editor", "y.cubin", "../x.cubin", "x.json"):
        assert answer(bench, "project", {"file": other, "project": {}})["kind"] == "input"


@pytest.mark.parametrize("prepare", ["list(warm_up())", "while page.prepare(): pass"])
def test_a_worker_that_has_prepared_for_launches_loads_next_to_nothing_for_one(prepare):
    code = _PREPARED.replace("PREPARE", prepare)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) <= 2, done.stdout  # more than 200 without


_PREPARED = """
import sys
from isakit.web.in_page import Page
from isakit.web.lessons import lesson
from isakit.web.limits import Limits
from isakit.web.verbs import Workbench, answer
from isakit.web.worker import warm_up

page = Page()
bench, given = Workbench(Limits()), lesson("01-first-kernel")
made = answer(bench, "assemble", {k: given[k] for k in ("source", "isa", "variant", "language")})
unit = made["result"]["units"][0]["unit"]
PREPARE
before = {m for m in sys.modules if m.startswith("isakit.")}
assert "result" in answer(bench, "launch", {"unit": unit, "launch": given["launch"]})
assert "result" in answer(bench, "move", {"how": "cont"})
print(*sorted({m for m in sys.modules if m.startswith("isakit.")} - before))
"""
