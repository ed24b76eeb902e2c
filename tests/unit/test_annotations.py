"""Project files: what is read from them, what is refused with its place, and who uses what they say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

import isakit
from isakit.annotations import (
    Annotations,
    BreakpointAnnotation,
    ParamAnnotation,
    Project,
    project_of,
    read_project,
)
from isakit.cli.app import app
from isakit.errors import FormatError
from isakit.programs import load, write

KERNEL = """
.isa tesla gt200
.kernel k
.param p0 b32
    mov b32 $r0 0x1
top:
    add b32 $r0 $r0 $r0
    call sub
    bra top
sub:
    long add b32 $r1 b32 s[0x10] $r0
    ret
"""
SAID = Annotations(
    labels={0x8: "again", 0x20: "helper"},
    comments={0x10: "two\nlines"},
    bookmarks={0x10: "here"},
    params={0: ParamAnnotation("result", "u32*")},
    breakpoints=[BreakpointAnnotation("again", "lane == 1")],
)


@pytest.fixture
def cubin(tmp_path):
    path = tmp_path / "k.cubin"
    path.write_bytes(write(isakit.isa("tesla", "gt200").assemble(KERNEL), "elf"))
    return path


@pytest.fixture
def project(cubin, tmp_path):
    program = load(cubin)["k"].program
    at = [i.address for i in program]
    said = Annotations(
        labels={at[1]: "again", at[4]: "helper"}, comments={at[2]: "two\nlines"}, bookmarks={at[2]: "here"},
        params=SAID.params, breakpoints=SAID.breakpoints,
    )  # fmt: skip
    made = project_of(cubin.read_bytes(), cubin.name)
    made.programs["k"] = said
    path = tmp_path / "k.json"
    path.write_text(made.to_json())
    return path


def ran(*args: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in args])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_project_comes_back_from_its_file(tmp_path):
    made = Project(file="x.gxp", notes="a\nb", names={"tint": "colour"}, programs={"k": SAID})
    (tmp_path / "x.json").write_text(made.to_json())
    assert read_project(tmp_path / "x.json") == made
    assert json.loads(made.to_json())["programs"]["k"]["labels"] == {"0x8": "again", "0x20": "helper"}


def test_a_project_knows_its_file():
    assert project_of(b"one").fits(b"one")
    assert not project_of(b"one").fits(b"other")
    assert Project().fits(b"any")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{", "not a project file"),
        ("[" * 100_000, "nested too deep"),
        ("[]", "the whole: an object is expected"),
        ({"isakit_project": 2}, "version 2"),
        ({"isakit_project": True}, "a whole number is expected"),
        ({"labels": {}}, "labels: not known here"),
        ({"programs": []}, "programs: an object is expected"),
        ({"programs": {"k": {"labels": {"x": "a"}}}}, "programs.k.labels.x: a number is expected"),
        ({"programs": {"k": {"labels": {"0x8": 1}}}}, "programs.k.labels.0x8: a text is expected"),
        ({"programs": {"k": {"labels": {"-1": "a"}}}}, "an address has 32 bits"),
        ({"programs": {"k": {"labels": {"1" * 5000: "a"}}}}, "a number is expected"),
        ({"programs": {"k": {"labels": {"1": "a b"}}}}, "'a b' is not a name"),
        ({"programs": {"k": {"labels": {"1": "a", "2": "a"}}}}, "'a' is the name of labels.0x1 already"),
        ({"programs": {"k": {"labels": {"1": "a"}, "params": {"0": {"name": "a"}}}}}, "params.0: 'a' is the name of"),
        ({"programs": {"k": {"params": {"0": {"type": "int"}}}}}, "neither a type such as u32"),
        ({"programs": {"k": {"comments": {"1": "\x1b[2J"}}}}, "no control characters"),
        ({"programs": {"k": {"comments": {"1": "x" * 4001}}}}, "at most 4000 characters"),
        ({"programs": {"k": {"breakpoints": [{"where": "0"}] * 257}}}, "breakpoints: a program has at most 256"),
        ({"programs": {"k": {"breakpoints": [{"condition": "1"}]}}}, "breakpoints[0].where: missing"),
    ],
)
def test_what_a_project_cannot_say_is_refused_with_its_place(data: Any, said: str):
    text = data if isinstance(data, str) else json.dumps(data)
    with pytest.raises(FormatError) as e:
        read_project(text.encode(), "p.json")
    assert "p.json" in str(e.value)
    assert said in str(e.value)


def test_a_missing_project_is_said(cubin, tmp_path):
    result = CliRunner().invoke(app, ["dis", "--project", str(tmp_path / "no.json"), str(cubin)])
    assert result.exit_code == 1
    assert "there is no such file" in result.output


def test_a_listing_has_names_and_notes_and_gives_the_same_file_again(cubin, project, tmp_path):
    text = ran("dis", "--project", project, "--symbols", cubin)
    assert "\nagain:\n" in text
    assert "bra again" in text
    assert "call helper" in text
    assert "    // * here\n    // two\n    // lines\n" in text
    assert "result" in text
    (tmp_path / "k.s").write_text(text)
    ran("asm", tmp_path / "k.s", "--like", cubin, "-o", tmp_path / "new.cubin")
    assert (tmp_path / "new.cubin").read_bytes() == cubin.read_bytes()


def test_notes_stand_inside_of_a_run_of_equal_words(tmp_path):
    (tmp_path / "z.bin").write_bytes(bytes(8 * 40))
    (tmp_path / "z.json").write_text(json.dumps({"programs": {"main": {"comments": {"0x40": "middle"}}}}))
    text = ran("dis", "-m", "tesla", "--project", tmp_path / "z.json", tmp_path / "z.bin")
    before, after = text.split("    // middle\n")
    assert before.count(".fill") == after.count(".fill") == 1
    assert "// 0040:" in after.splitlines()[0]


def test_a_made_label_gives_way_to_a_chosen_one(cubin, tmp_path):
    target = next(i.target for i in load(cubin)["k"].program if i.mnemonic == "bra")
    (tmp_path / "p.json").write_text(json.dumps({"programs": {"k": {"labels": {"0x0": f"L{target:04x}"}}}}))
    text = ran("dis", "--project", tmp_path / "p.json", cubin)
    assert f"bra L{target:04x}_" in text
    (tmp_path / "k.s").write_text(text)
    ran("asm", tmp_path / "k.s", "--like", cubin, "-o", tmp_path / "new.cubin")
    assert (tmp_path / "new.cubin").read_bytes() == cubin.read_bytes()


def test_a_patch_uses_names_that_it_does_not_define(cubin, project, tmp_path):
    helper = next(i.target for i in load(cubin)["k"].program if i.mnemonic == "call")
    (tmp_path / "p.s").write_text(".isa tesla gt200\n.kernel k\n    bra helper\nagain:\n    bra again\n")
    ran("asm", tmp_path / "p.s", "--project", project, "-o", tmp_path / "p.bin")
    found = load(tmp_path / "p.bin", isa="tesla")
    assert [i.target for i in next(iter(found.kernels.values())).program] == [helper, 8]


def test_a_project_of_another_file_is_told(cubin, project):
    cubin.write_bytes(cubin.read_bytes() + b"\0")
    result = CliRunner().invoke(app, ["dis", "--project", str(project), str(cubin)])
    assert "belongs to another k.cubin" in result.stderr


def test_breakpoints_and_labels_of_a_project_are_those_of_the_debugger(cubin, project):
    text = ran("debug", "--project", project, cubin, "--block", 4, "--arg", "out:u32:4", "-e", "c", "-e", "info b")
    assert "breakpoint 1" in text
    assert "lane 1" in text
    assert "<again>" in text


def test_types_have_the_size_of_their_parameters(cubin):
    bad = Project(programs={"k": Annotations(params={0: ParamAnnotation("x", "f64")})})
    with pytest.raises(FormatError, match="parameter 0 has 4 bytes"):
        load(cubin).annotated(bad)
    good = Project(programs={"k": Annotations(params={0: ParamAnnotation("x", "f32*"), 9: ParamAnnotation("y")})})
    module = load(cubin)
    assert [(p.name, p.kind) for p in module.annotated(good)["k"].params] == [("x", "f32*")]
    assert [p.name for p in module["k"].params] == ["p0"] or module["k"].params[0].name == ""


def test_a_shader_is_told_in_other_names_and_compiles_to_the_names_of_its_file(tmp_path):
    (tmp_path / "s.frag").write_text(
        "uniform vec4 tint; varying vec4 v_texcoord0; void main() { gl_FragColor = v_texcoord0 * tint; }"
    )
    ran("cc", tmp_path / "s.frag", "-o", tmp_path / "s.gxp")
    names = {"tint": "colour", "texcoord0": "uv"}
    (tmp_path / "s.json").write_text(json.dumps({"names": names}))
    text = ran("dis", "--glsl", "--project", tmp_path / "s.json", tmp_path / "s.gxp")
    assert "uv * colour" in text
    (tmp_path / "s.frag").write_text(text)
    ran("cc", tmp_path / "s.frag", "-o", tmp_path / "t.gxp")
    assert ran("dis", tmp_path / "t.gxp") == ran("dis", tmp_path / "s.gxp")
