"""What a page shows of microcode, shaders and captures agrees with the library that runs them."""

import base64
import json
import re

import numpy as np
import pytest

import isakit
from isakit import usse, vuc
from isakit.analysis import control_flow
from isakit.analysis.columns import LiveColumns
from isakit.web.lessons import lesson
from isakit.web.verbs import answer
from support.clients.captured_launch import captured_launch
from support.clients.workbench import asked
from support.runners.gl import CAPTURES


def begun(bench, name, change=lambda text: text):
    given = lesson(name)
    for file, spec in given["arrays"].items():
        asked(bench, "array", name=file, spec=spec)
    made = asked(
        bench, "assemble", source=change(given["source"]), **{k: given[k] for k in ("isa", "variant", "language")}
    )
    unit = made["units"][0]["unit"]
    asked(bench, "launch", unit=unit, launch=given["launch"])
    return unit


# --- vµc ---
def watched(source, cycles):
    core = vuc.Core("vp3")
    core.write_data(np.arange(300))
    core.data[0] = 8
    core.load(source)
    return list(core.watch(cycles))


def without_a_filler(text):
    assert "add  $r2 $r2 0x1" in text
    lines = text.split("\n")
    return "\n".join(x for x in lines if "add  $r2 $r2 0x1" not in x)


@pytest.mark.parametrize("steps", [0, 5, 30])
def test_the_pipeline_is_what_the_core_does(bench, steps):
    begun(bench, "12-vuc-delay-slot")
    if steps:
        asked(bench, "move", how="step", count=steps)
    before = asked(bench, "state")
    got = asked(bench, "pipeline")
    assert asked(bench, "state") == before, "looking moves nothing"
    assert got["now"] == steps
    expected = {c.number: c for c in watched(lesson("12-vuc-delay-slot")["source"], steps + 20)}
    for i in got["issues"]:
        c = expected[i["cycle"]]
        assert (i["address"], i["text"], i["executed"]) == (4 * c.pc, c.text, c.executed)
    readable = [(w["register"], w["cycle"]) for i in got["issues"] for w in i["writes"]]
    landed = [(x.register, c.number + 1) for c in expected.values() for x in c.landed]
    assert set(readable) <= set(landed)
    loads = [i for i in got["issues"] if i["text"].startswith("ld") and i["writes"]]
    assert loads
    assert all(i["writes"][0]["cycle"] - i["cycle"] == 3 for i in loads)


def test_a_load_that_is_read_too_early_is_a_hazard(bench):
    begun(bench, "12-vuc-delay-slot", without_a_filler)
    asked(bench, "move", how="step", count=10)
    notes = [n for i in asked(bench, "pipeline")["issues"] for n in i["notes"]]
    assert any("reads the old $r4" in n for n in notes)


def test_the_instruction_behind_a_taken_branch_stands_in_its_slot(bench):
    begun(bench, "12-vuc-delay-slot")
    asked(bench, "move", how="step", count=12)
    issues = asked(bench, "pipeline")["issues"]
    slots = [i["text"] for i in issues if i["slot"]]
    assert slots
    assert set(slots) == {"add $r3 $r3 0x1"}


def test_only_a_core_has_a_pipeline(bench):
    begun(bench, "13-usse-swizzle")
    assert answer(bench, "pipeline", {})["kind"] == "input"


# --- USSE ---
def picture(got):
    values = np.frombuffer(base64.b64decode(got["data"]), "<f4")
    return values.reshape(got["height"], got["width"], got["components"])


def test_results_of_invocations_are_those_of_a_run(bench):
    begun(bench, "13-usse-swizzle")
    asked(bench, "move", how="cont")
    got = picture(asked(bench, "invocations", what="color"))
    shader = isakit.load("editor.gxp")
    points, tint = np.load("points.npy"), np.load("tint.npy")
    expected = usse.run(shader, varyings={"texcoord0": points}, uniforms={"tint": tint}).color
    assert got.shape == (16, 16, 4)
    assert (got == expected).all()


def test_a_register_of_all_invocations_and_where_they_stand(bench):
    begun(bench, "13-usse-swizzle")
    first = asked(bench, "invocations", what="pa0")
    assert (picture(first)[..., 0] == np.load("points.npy")[..., 0]).all()
    assert (picture(asked(bench, "invocations", what="place")) == 0).all()
    asked(bench, "move", how="step")
    assert (picture(asked(bench, "invocations", what="place")) == 8).all()
    order = np.frombuffer(base64.b64decode(first["order"]), "<i4")
    assert sorted(order) == list(range(256))
    state = asked(bench, "focus", thread=int(order[5]))
    assert int(state["registers"]["pa0"], 16) == int(np.load("points.npy")[0, 5, 0].view(np.uint32))
    assert answer(bench, "invocations", {"what": "nothing"})["kind"] == "input"


def test_a_kernel_has_no_picture_of_invocations(bench):
    given = lesson("01-first-kernel")
    made = asked(bench, "assemble", **{k: given[k] for k in ("source", "isa", "variant", "language")})
    asked(bench, "launch", unit=made["units"][0]["unit"], launch=given["launch"])
    assert answer(bench, "invocations", {})["kind"] == "input"


# --- the listing ---
def test_live_ranges_are_those_of_the_disassembler(bench):
    unit = begun(bench, "12-vuc-delay-slot")
    program = isakit.isa("vuc", "vp3").assemble(lesson("12-vuc-delay-slot")["source"])
    columns = LiveColumns(control_flow(program))
    got = asked(bench, "listing", unit=unit, start=0, count=100, ranges=1)
    assert [x["ranges"] for x in got["lines"]] == [columns.of(i) for i in program]
    assert got["heads"] == list(columns.heads())
    assert asked(bench, "listing", unit=unit, start=0, count=100)["heads"] == []


# --- captures ---
@pytest.fixture
def capture():
    return captured_launch()


def dropped(bench, files):
    for path, data in files.items():
        asked(bench, "part", name="run", path=path, data=base64.b64encode(data).decode())


def test_a_captured_launch_is_stepped_to_its_result(bench, capture):
    dropped(bench, capture)
    [unit] = asked(bench, "capture", name="run")["units"]
    assert unit["name"] == "1: saxpy"
    assert asked(bench, "launch", unit=unit["unit"])["finished"] is False
    assert asked(bench, "move", how="cont")["reason"] == "finished"
    data = bytes.fromhex(asked(bench, "memory", space="g14", address=0x10100, size=256)["data"])
    assert (np.frombuffer(data, np.float32) == 2 * np.arange(64, dtype=np.float32) + 1).all()
    assert asked(bench, "profile", unit=unit["unit"])["counters"]


def test_a_damaged_capture_is_an_error(bench, capture):
    for path in capture:
        if path.startswith("blobs/"):
            dropped(bench, {**capture, path: b"damaged"})
            got = answer(bench, "capture", {"name": "run"})
            if "result" in got:
                got = answer(bench, "launch", {"unit": got["result"]["units"][0]["unit"]})
            assert got["kind"] == "input"
    dropped(bench, {"launches/0001.json": b"[]"})
    assert answer(bench, "capture", {"name": "run"})["kind"] == "input"
    assert answer(bench, "capture", {"name": "nothing"})["kind"] == "input"


@pytest.mark.parametrize("change", [{"shared": float("inf")}, {"ranges": [[1 << 70, 4]]}, {"grid": ["a", 1]}])
def test_numbers_of_a_launch_that_cannot_be_are_errors(bench, capture, change):
    entry = json.loads(capture["launches/0001.json"]) | change
    dropped(bench, {**capture, "launches/0001.json": json.dumps(entry).encode()})
    [unit] = asked(bench, "capture", name="run")["units"]
    assert answer(bench, "launch", {"unit": unit["unit"]})["kind"] == "input"


@pytest.mark.parametrize("path", [
    "../capture.json", "launches/../../x.json", "/etc/passwd", "blobs/x", "launches/1.json/..", "capture.json\0",
    "blobs/" + "a" * 33, "run/capture.json", "launches\\1.json",
])  # fmt: skip
def test_a_part_of_a_capture_can_lie_nowhere_else(bench, path):
    got = answer(bench, "part", {"name": "run", "path": path, "data": "AAAA"})
    assert got["kind"] == "input"


def test_a_captured_frame_is_drawn_up_to_any_draw(bench):
    data = (CAPTURES / "gears-a0.glc").read_bytes()
    assert asked(bench, "open", name="gears.glc", data=base64.b64encode(data).decode())["kind"] == "frames"
    whole = asked(bench, "frame", name="gears.glc")
    assert base64.b64decode(whole["png"]).startswith(b"\x89PNG")
    assert whole["draw"] == len(whole["draws"]) > 1
    first = asked(bench, "frame", name="gears.glc", draw=1)
    assert first["png"] != whole["png"]
    assert answer(bench, "frame", {"name": "gears.glc", "draw": 10_000})["kind"] == "input"


@pytest.fixture
def gears(bench):
    data = (CAPTURES / "gears-a0.glc").read_bytes()
    asked(bench, "open", name="gears.glc", data=base64.b64encode(data).decode())
    return bench


def test_draws_of_a_frame_say_what_they_cost_and_what_state_has_changed(gears):
    draws = asked(gears, "frame", name="gears.glc")["draws"]
    assert [d["vertices"] for d in draws] == [1920, 960, 960]
    assert list(draws[0]["changed"]) == []
    assert list(draws[1]["changed"]) == ["VERTEX_BUFFER_FIRST"]
    assert all(d["instructions"] > 0 and d["seconds"] > 0 for d in draws)


def test_a_draw_is_taken_apart(gears):
    found = asked(gears, "details", name="gears.glc", frame=0, draw=2)
    inputs, vertices = found["stages"]
    assert vertices["count"] == 960
    assert vertices["columns"][:2] == ["index", "x (o[0x0])"]
    assert len(vertices["rows"]) == 960
    assert vertices["rows"][0][0] == 1920  # the second draw begins behind the vertices of the first
    assert (inputs["name"], inputs["count"], inputs["columns"][:2]) == ("vertex program: a[]", 960, ["index", "a[0x0]"])
    assert [r[0] for r in inputs["rows"]] == [r[0] for r in vertices["rows"]]
    target, depth = found["targets"]
    for picture in (target, depth):
        assert [sum(c) for c in picture["histogram"]] == [picture["width"] * picture["height"]] * 3
    assert re.fullmatch(r"depth, 0\.\d+ \(black\) to 1 \(white\)", depth["name"])
    mesh = found["mesh"]
    assert mesh["count"] == len(mesh["primitives"]) > 300
    assert {len(corners) for corners in mesh["primitives"]} == {3}
    results, raw = mesh["positions"].values()
    assert len(results) == len(raw) == 1 + max(n for corners in mesh["primitives"] for n in corners)
    assert all(abs(x) <= 1 and abs(y) <= 1 for x, y, _ in results)
    row = {r[0]: r for r in inputs["rows"]}
    assert raw[0] == [float(n) for n in row[1920][1:4]]
    buffers = {b["name"]: b for b in found["buffers"]}
    content = buffers["vertex program: c0[]"]
    assert content["rows"][1][0] == "0x10"
    words = [int(w, 16) for w in content["rows"][0][1:5]]
    assert [f"{n:.6g}" for n in np.array(words, np.uint32).view(np.float32)] == content["rows"][0][5:]
    assert found["textures"] == []
    assert answer(gears, "details", {"name": "gears.glc", "frame": 0, "draw": 9})["kind"] == "input"


def test_textures_of_a_draw_are_shown(bench):
    data = (CAPTURES / "textured-a0.glc").read_bytes()
    asked(bench, "open", name="t.glc", data=base64.b64encode(data).decode())
    [texture] = asked(bench, "details", name="t.glc", frame=0, draw=1)["textures"]
    assert texture["name"].startswith("fragment $t0: <Texture 2d")
    assert base64.b64decode(texture["png"]).startswith(b"\x89PNG")


def test_a_pixel_of_a_frame_has_a_history_that_can_be_stepped(gears):
    picture = asked(gears, "frame", name="gears.glc")
    there = {"name": "gears.glc", "frame": 0, "draw": 3}
    x, y = picture["width"] // 2, picture["height"] // 2
    for place in ((x, y), (x // 2, y), (x, y // 2), (x // 2, y // 2)):
        found = asked(gears, "pixel", **there, x=place[0], y=place[1])
        if found["units"]:
            break
    assert found["fragments"][found["fragment"]].startswith("draw ")
    again = asked(gears, "pixel", **there, x=place[0], y=place[1], fragment=0)
    assert again["fragment"] == 0
    assert asked(gears, "move", how="step", count=1)
    nothing = asked(gears, "pixel", **there, x=0, y=0)
    assert (nothing["units"], nothing["fragments"]) == ([], [])
    assert answer(gears, "pixel", {**there, "x": 100_000, "y": 0})["kind"] == "input"


def test_a_vertex_of_a_frame_can_be_stepped(gears):
    found = asked(gears, "vertex", name="gears.glc", frame=0, draw=2, number=5)
    assert found["about"][0] == "draw 2 vertex 5: index 1925"
    assert asked(gears, "move", how="step", count=1)


def test_a_damaged_frame_is_an_error(bench):
    data = (CAPTURES / "triangle-50.glc").read_bytes()
    asked(bench, "open", name="bad.glc", data=base64.b64encode(data[:60]).decode())
    assert answer(bench, "frame", {"name": "bad.glc"})["kind"] == "input"


def test_registers_of_all_lanes_are_a_grid_and_are_written_one_by_one(bench):
    text = ".kernel k\n.param out ptr\ncvt u32 $r1 u16 $r0l\nmov b32 $r2 b32 s[out]\nexit st b32 g14[$r2] $r1\n"
    unit = asked(bench, "assemble", source=text, isa="tesla", variant="gt200", language="asm")["units"][0]["unit"]
    asked(bench, "launch", unit=unit, launch={"grid": [1], "block": [64], "args": ["out:u32:64"]})
    asked(bench, "move", how="step")
    grid = asked(bench, "grid")
    assert (grid["first"], grid["threads"]) == (0, 32)
    assert grid["registers"]["$r1"] == [f"{n:#x}" for n in range(32)]
    assert "$r2" not in grid["registers"], "it is 0 in every lane"
    asked(bench, "set", what="$r1", value="7", thread=5)
    after = asked(bench, "grid")["registers"]["$r1"]
    assert [n for n in range(32) if after[n] != f"{n:#x}"] == [5]
    assert after[5] == "0x7"
    asked(bench, "focus", thread=35)
    assert (asked(bench, "grid")["first"], asked(bench, "grid")["threads"]) == (32, 32)
