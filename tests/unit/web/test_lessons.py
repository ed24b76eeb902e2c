"""Every lesson of the gallery assembles, runs to its end, and computes what its text says."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from isakit.course.exercises import exercises
from isakit.web.lessons import lesson, lessons
from isakit.web.verbs import answer
from support.clients.workbench import asked

NAMES = [
    x["name"] for x in lessons() if "scene" not in (it := lesson(x["name"])) and it["language"] not in ("text", "cg")
]


def begun(bench, name):
    """A lesson launched, and its unit."""
    given = lesson(name)
    for file, spec in given.get("arrays", {}).items():
        asked(bench, "array", name=file, spec=spec)
    made = asked(bench, "assemble", **{k: given[k] for k in ("source", "isa", "variant", "language")})
    assert made["diagnostics"] == []
    unit = made["units"][0]
    asked(bench, "launch", unit=unit["unit"], launch=given["launch"])
    return unit["unit"], given


def results(bench):
    return [np.frombuffer(base64.b64decode(a["data"]), a["dtype"]).reshape(a["shape"])
            for a in asked(bench, "arrays")["arrays"]]  # fmt: skip


def finished(bench, name):
    _unit, given = begun(bench, name)
    assert asked(bench, "move", how="cont")["reason"] == ("budget" if given["isa"] == "vuc" else "finished")
    return results(bench)


def test_there_are_at_least_twelve_lessons():
    assert len(NAMES) >= 12
    assert {lesson(n)["isa"] for n in NAMES} == {"tesla", "vuc", "usse"}


ANSWERS = Path(__file__).parents[3] / "docs" / "teaching" / "answers"


@pytest.mark.parametrize("name", [e.name for e in exercises()])
def test_every_exercise_is_in_the_page_and_its_answer_is_taken(bench, name):
    given = lesson(f"exercise-{name}")
    before = asked(bench, "exercise", name=name, source=given["source"])["checks"]
    assert not all(c["passed"] for c in before)
    (answer_,) = (ANSWERS / name).iterdir()
    checks = asked(bench, "exercise", name=name, source=answer_.read_text(encoding="utf-8"))["checks"]
    assert [c for c in checks if not c["passed"]] == []


def test_the_words_of_the_lost_kernel_are_a_program_of_the_page(bench):
    given = lesson("exercise-lost")
    data = base64.b64encode(given["files"]["lost.hex"].encode()).decode()
    (unit,) = asked(bench, "open", name="lost.hex", data=data, isa=given["isa"], variant=given["variant"])["units"]
    lines = asked(bench, "listing", unit=unit["unit"], start=0, count=50)["lines"]
    assert "add b32 $r2 $r2 0x9e3779b9" in [line["text"] for line in lines]


def test_the_scene_of_the_driver_is_drawn_as_the_text_says(bench):
    given = lesson("exercise-driver")
    for name, text in given["files"].items():
        asked(bench, "open", name=name, data=base64.b64encode(text.encode()).decode())
    wrong, right = (
        asked(bench, "scene", name=given["scene"], files={given["program"]: text})["png"]
        for text in (given["source"], given["source"].replace('"greater"', '"less"').replace('"front"', '"back"'))
    )
    assert wrong != right


@pytest.mark.parametrize("name", ['"secret.h"', "</etc/hostname>", '"../secret.h"'])
def test_a_shader_in_cg_names_no_files(bench, name, tmp_path):
    (tmp_path / "secret.h").write_text("secret")
    text = f"#include {name}\nfloat4 main() : COLOR {{ return float4(1); }}\n"
    (error,) = asked(bench, "assemble", source=text, language="cg", isa="usse", variant="sgx543")["diagnostics"]
    assert error["message"] == "files cannot be included here"


def test_a_shader_in_cg_is_a_program_and_its_errors_have_places(bench):
    given = lesson("exercise-shader")
    for name, spec in given["arrays"].items():
        asked(bench, "array", name=name, spec=spec)
    made = asked(bench, "assemble", source=given["source"], language="cg", isa="usse", variant="sgx543")
    unit = made["units"][0]["unit"]
    asked(bench, "launch", unit=unit, launch=given["launch"])
    assert asked(bench, "move", how="cont")["finished"]
    wrong = given["source"].replace("uv);", "uw);")
    (error,) = asked(bench, "assemble", source=wrong, language="cg", isa="usse", variant="sgx543")["diagnostics"]
    assert (error["line"], "uw" in error["message"]) == (3, True)


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_can_be_read_stepped_and_taken_back(bench, name):
    unit, given = begun(bench, name)
    assert given["task"]
    start = asked(bench, "state")
    seen = [start]
    for _ in range(4):
        seen.append(asked(bench, "move", how="step"))
    for before in reversed(seen[:-1]):
        now = asked(bench, "move", how="back")
        assert (now["position"], now["registers"]) == (before["position"], before["registers"])
    listing = asked(bench, "listing", unit=unit, start=0, count=50)
    assert listing["total"] >= len(listing["lines"]) > 2
    assert all(line["source"] or given["language"] == "python" for line in listing["lines"])
    for line in listing["lines"]:
        e = asked(bench, "explain", unit=unit, address=line["address"])
        bits = sum(int(r["mask"], 16).bit_count() for r in e["rows"])
        assert bits >= e["unit_bits"] * len(e["words"]) * 0.9
    assert asked(bench, "graph", unit=unit)["blocks"]


def test_the_first_kernel_is_saxpy(bench):
    _, y = finished(bench, "01-first-kernel")
    x = np.arange(64, dtype=np.float32)
    assert (y == np.where(x < 60, 3 * x, x)).all()


def test_the_two_sides_of_the_branch_meet(bench):
    (out,) = finished(bench, "02-divergence")
    t = np.arange(32)
    assert (out == np.where(t & 16, t + 100, 2 * t + 1)).all()


def test_the_pixels_are_those_of_the_mandelbrot_set(bench):
    (out,) = finished(bench, "03-mandelbrot")
    f = np.float32
    y, x = np.mgrid[:64, :64].astype(f)
    c = [f(-2) + x * f(0.04), f(-1.25) + y * f(0.04)]
    z, count = [np.zeros((64, 64), f), np.zeros((64, 64), f)], np.zeros((64, 64), int)
    with np.errstate(all="ignore"):
        for _ in range(100):
            inside = ~(z[0] * z[0] + z[1] * z[1] > 4)
            count += inside & (count == _)
            z = [z[0] * z[0] - z[1] * z[1] + c[0], (z[0] + z[0]) * z[1] + c[1]]
    assert np.mean(out == count) > 0.99  # rounding of the constants differs in few pixels


def test_the_sum_in_shared_memory(bench):
    (out,) = finished(bench, "04-reduction")
    v = (np.arange(256, dtype=np.uint64) + 7) | 1
    for _ in range(2):
        v ^= v << np.uint64(13) & np.uint64(0xFFFFFFFF)
        v ^= v >> np.uint64(17)
        v ^= v << np.uint64(5) & np.uint64(0xFFFFFFFF)
    assert int(out[0]) == int(v.sum()) & 0xFFFFFFFF


def test_conflicts_are_where_the_strides_are(bench):
    unit, given = begun(bench, "05-bank-conflicts")
    rows = asked(bench, "profile", unit=unit, launch=given["launch"])["instructions"]
    assert [r["serialized"] for r in rows if r["text"].startswith("ld")] == [0, 2, 30]  # two half-warps


@pytest.mark.parametrize(("chip", "counts"), [("gt200", [2, 2, 32]), ("g80", [2, 32, 32])])
def test_transactions_are_those_of_the_chip(bench, chip, counts):
    given = lesson("06-coalescing")
    made = asked(bench, "assemble", source=given["source"], isa="tesla", variant=chip, language="asm")
    found = asked(bench, "profile", unit=made["units"][0]["unit"], launch=given["launch"])
    loads = [r for r in found["instructions"] if r["text"].startswith("ld")]
    assert [r["transactions"] for r in loads] == counts


def test_without_the_barrier_half_of_the_values_are_missing(bench):
    (out,) = finished(bench, "07-missing-barrier")
    right = 163 - np.arange(64)
    assert (out[32:] == right[32:]).all()
    assert not (out[:32] == right[:32]).any()


def test_a_product_is_cut_by_mad_and_rounded_by_mul(bench):
    (out,) = finished(bench, "08-rounding")
    x = np.arange(32, dtype=np.float32) + np.float32(0.1)
    assert (out[0] == x * x + np.float32(1)).all()
    assert (out[1] <= out[0]).all()
    assert (out[1] < out[0]).any()


def test_denormals_are_zero_to_the_float_unit_only(bench):
    (out,) = finished(bench, "09-denormals")
    normal = out[0] >= np.float32(2.0**-126)
    assert 0 < normal.sum() < 16
    assert (out[0] > 0).sum() > normal.sum()
    for row in out[1:]:
        assert (row[normal] == out[0][normal]).all()
        assert (row[~normal] == 0).all()


def test_a_root_is_close_but_not_always_exact(bench):
    (out,) = finished(bench, "10-special-functions")
    exact = 1 / np.sqrt(np.arange(1, 33, dtype=np.float64))
    assert np.abs(out[0] / exact - 1).max() < 2.0**-21
    assert (out[0] != exact.astype(np.float32)).any()
    assert (out[1] != 1).any()
    assert np.abs(out[1] - 1).max() < 2.0**-20


def test_the_filter_mixes_the_four_nearest_elements(bench):
    (out,) = finished(bench, "11-texture-filter")
    picture = np.random.default_rng(3).random((4, 4)).astype(np.float32)
    x, y = np.meshgrid(np.arange(16) / 4 - 0.5, np.arange(16) / 4 - 0.5)
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)

    def at(j, i):
        return picture[np.clip(j, 0, 3), np.clip(i, 0, 3)]

    fx, fy = x - x0, y - y0
    want = (1 - fy) * ((1 - fx) * at(y0, x0) + fx * at(y0, x0 + 1)) + fy * (
        (1 - fx) * at(y0 + 1, x0) + fx * at(y0 + 1, x0 + 1)
    )
    assert np.abs(out - want).max() < 1e-6  # weights are multiples of 1/256, and so are these


def test_the_microcode_copies_its_block(bench):
    finished(bench, "12-vuc-delay-slot")
    cells = bytes.fromhex(asked(bench, "memory", space="D", address=0, size=0x420)["data"])
    cells = np.frombuffer(cells, np.uint16)
    assert (cells[0x200:0x201] == 0x100).all() or cells[1] == cells[0]


def test_the_python_kernel_divides(bench):
    _, y = finished(bench, "14-python")
    x = np.arange(64, dtype=np.float32)
    assert (y[:60] == x[:60] / (x[:60] + 1)).all()
    assert (y[60:] == 0).all()


def test_the_picture_is_drawn_and_a_pixel_is_stepped_to_its_colour(bench):
    given = lesson("15-pixel")
    for name, text in given["files"].items():
        asked(bench, "open", name=name, data=base64.b64encode(text.encode()).decode())
    got = asked(bench, "scene", name="scene.json", files={given["program"]: given["source"]})
    assert base64.b64decode(got["png"]).startswith(b"\x89PNG")
    found = asked(bench, "pixel", name="scene.json", x=48, y=40)
    assert any("the pixel became" in line for line in found["about"])
    end = asked(bench, "move", how="cont")
    assert end["finished"]
    red = np.uint32(int(asked(bench, "move", how="back")["registers"]["$r0"], 16)).view(np.float32)
    assert 0 < red < 1


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.s", "..", "a\\b", "a b/../../etc/passwd", "~ a/b", "/ a"])
def test_a_scene_names_files_of_its_folder_only(bench, path):
    text = (
        '{"format": "isakit-gfx-scene 1", "width": 4, "height": 4, "draws": [{"code": {"any": {"VERT": {"asm": %s}}}}]}'
    )
    asked(bench, "open", name="s.json", data=base64.b64encode((text % json.dumps(path)).encode()).decode())
    assert "as they were dropped" in answer(bench, "scene", {"name": "s.json"})["error"]
    assert "as they were dropped" in answer(bench, "pixel", {"name": "s.json", "x": 0, "y": 0})["error"]


def test_remarks_of_a_scene_may_hold_slashes(bench):
    scene = json.loads((Path(__file__).parents[3] / "examples/tesla-graphics/triangle/scene.json").read_text())
    for name in ("vertex.s", "fragment.s"):
        data = (Path(__file__).parents[3] / "examples/tesla-graphics/triangle" / name).read_bytes()
        asked(bench, "open", name=name, data=base64.b64encode(data).decode(), role="part")
    scene["row_order"] = "window y = (y / 2 + 1 / 2) * height" + " and so on" * 100 + "/x"
    asked(bench, "open", name="t.json", data=base64.b64encode(json.dumps(scene).encode()).decode())
    assert base64.b64decode(asked(bench, "scene", name="t.json")["png"]).startswith(b"\x89PNG")
