"""`isakit cc` and `isakit psp2cgc` on shaders."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import isakit
from isakit.cli.app import app
from isakit.cli.schema_ import schema
from support.clients import command_line
from support.oracles.json_schemas import problems

TINT = """float4 main(float2 uv : TEXCOORD0, float4 color : COLOR, uniform sampler2D image) : COLOR
{
    float4 texel = tex2D(image, uv);
    if (texel.a < 0.5)
        discard;
    return texel * color * SCALE;
}
"""
VERTEX = "attribute vec4 position; varying vec2 uv; void main() { gl_Position = position; uv = position.xy; }"


def run(*words: object, stdin: str = "", code: int = 0):
    return command_line.run(*(str(w) for w in words), stdin=stdin, code=code)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tint_f.cg").write_text(f"#define SCALE 1\n{TINT}")
    (tmp_path / "wrong_f.cg").write_text(TINT.replace("tex2D", "text2D").replace("SCALE", "1"))
    (tmp_path / "place.vert").write_text(VERTEX)
    return tmp_path


def colour(path: Path, alpha: int) -> tuple[list[float], bool]:
    texture = np.full((2, 2, 4), [255, 255, 255, alpha], np.uint8)
    out = isakit.usse.run(
        isakit.load(path),
        varyings={"texcoord0": [[0.5, 0.5]], "color0": [[1, 0.5, 0.25, 1]]},
        textures={"image": texture},
    )
    return [float(x) for x in out.color[0]], bool(out.discard[0])


def test_a_shader_file(folder: Path) -> None:
    out = folder / "tint.gxp"
    run("cc", folder / "tint_f.cg", "-o", out)
    assert colour(out, 255) == ([1, 0.5, 0.25, 1], False)
    assert colour(out, 100)[1]


def test_psp2cgc_writes_the_same_file(folder: Path) -> None:
    a, b = folder / "a.gxp", folder / "b.gxp"
    run("cc", folder / "tint_f.cg", "-o", a)
    run("psp2cgc", "-W4", "-cache", folder / "tint_f.cg", "-o", b, "-profile", "sce_fp_psp2", "-O3", "-DX=1", "-D", "Y")
    assert a.read_bytes() == b.read_bytes()


def test_psp2cgc_takes_the_lines_that_build_files_have(folder: Path) -> None:
    """Two dashes, no name for the result, one for debugging information, files above the source's folder."""
    source = folder / "tint_f.cg"
    run("cc", source, "-o", folder / "a.gxp")
    wanted = (folder / "a.gxp").read_bytes()
    run("psp2cgc", "-profile", "sce_fp_psp2", source, "-Wperf", "-O1", "-nofastmath", "-bestprecision")
    assert (folder / "tint_f_cg.gxp").read_bytes() == wanted
    run("psp2cgc", "--cache", "--profile", "sce_fp_psp2", source, "-o", folder / "b.gxp", "-sdb", folder / "b.sdb")
    assert (folder / "b.gxp").read_bytes() == wanted
    assert not (folder / "b.sdb").exists()
    (folder / "psp2").mkdir()
    (folder / "psp2" / "top.cg").write_text('#include "../tint_f.cg"')
    run("psp2cgc", "-profile", "sce_fp_psp2", folder / "psp2" / "top.cg", "-o", folder / "c.gxp")
    assert (folder / "c.gxp").read_bytes() == wanted
    said = run("cc", "--stage", "fragment", folder / "psp2" / "top.cg", code=1).stderr
    assert "'../tint_f.cg' cannot be included: it does not lie beside the shader: name its folder with -I" in said
    run("cc", "--stage", "fragment", folder / "psp2" / "top.cg", "-I", folder, "-o", folder / "d.gxp")
    assert (folder / "d.gxp").read_bytes() == wanted


def test_the_listing_is_that_of_the_file(folder: Path) -> None:
    run("cc", folder / "tint_f.cg", "-o", folder / "a.gxp")
    text = run("cc", folder / "tint_f.cg").stdout
    (folder / "a.s").write_text(text)
    run("asm", "-m", "usse", folder / "a.s", "--format", "gxp", "-o", folder / "b.gxp")
    assert (folder / "a.gxp").read_bytes() == (folder / "b.gxp").read_bytes()


def test_an_array_of_c(folder: Path) -> None:
    run("cc", folder / "tint_f.cg", "-o", folder / "a.gxp")
    text = run("cc", folder / "tint_f.cg", "--format", "c").stdout
    data = (folder / "a.gxp").read_bytes()
    assert f"tint_f_gxp[{len(data)}]" in text
    assert bytes(int(x, 16) for x in re.findall(r"0x(\w\w)", text)) == data


def test_json(folder: Path) -> None:
    shape = schema("cc")
    for name in ("tint_f.cg", "wrong_f.cg", "place.vert"):
        result = json.loads(run("cc", folder / name, "--json", code=1 if "wrong" in name else 0).stdout)
        assert not list(problems(result, shape))
        if "wrong" in name:
            assert result["errors"][0] == {
                "path": str(folder / name), "line": 3, "column": 20, "message": "there is no function `text2D`",
                "notes": ["did you mean `tex2D` or `tex3D` or `tex1D`?"],
            }  # fmt: skip
        else:
            assert result["stage"] == ("fragment" if "tint" in name else "vertex")


def test_macros_and_included_files(folder: Path) -> None:
    (folder / "part").mkdir()
    (folder / "part" / "scale.h").write_text("#define HALF 0.5")
    (folder / "a_f.cg").write_text(f'#include "part/scale.h"\n{TINT}')
    run("cc", folder / "a_f.cg", "-D", "SCALE=HALF", "-o", folder / "a.gxp")
    assert colour(folder / "a.gxp", 255)[0] == [0.5, 0.25, 0.125, 0.5]


def test_files_elsewhere_are_not_included(folder: Path) -> None:
    (folder / "secret.h").write_text("#define SCALE 1")
    inner = folder / "inner"
    inner.mkdir()
    for name in ("../secret.h", str(folder / "secret.h"), "missing.h"):
        (inner / "a_f.cg").write_text(f'#include "{name}"\n{TINT}')
        assert "cannot be included" in run("cc", inner / "a_f.cg", code=1).stderr
    (inner / "link.h").symlink_to(folder / "secret.h")
    (inner / "a_f.cg").write_text(f'#include "link.h"\n{TINT}')
    assert "cannot be included" in run("cc", inner / "a_f.cg", code=1).stderr


def test_standard_input(folder: Path) -> None:
    done = run("cc", "-", "-x", "cg", "--stage", "fragment", stdin=TINT.replace("SCALE", "1"))
    assert ".gxp fragment" in done.stdout
    assert (
        "cannot be included here"
        in run("cc", "-", "-x", "cg", "--stage", "fragment", stdin='#include "a.h"', code=1).stderr
    )


def test_the_stage_must_be_known(folder: Path) -> None:
    (folder / "a.cg").write_text("float4 main() { return 1; }")
    assert "name the stage" in run("cc", folder / "a.cg", code=1).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--emit", "elf"], "a shader is written as gxp, asm, c"),
        (["--target", "u1"], "'u1' is not a target"),
        (["--varying", "x"], "write NAME=SEMANTIC"),
        (["-g"], "-g writes beside the shader file"),
    ],
)
def test_options_that_do_not_fit(folder: Path, words: list[str], said: str) -> None:
    done = run("cc", folder / "tint_f.cg", *words, code=1 if "target" in words[0] else 2)
    assert said in done.stderr


def test_errors_of_psp2cgc_have_its_form(folder: Path) -> None:
    path = folder / "wrong_f.cg"
    words = ["psp2cgc", "-profile", "sce_fp_psp2", str(path), "-o", str(folder / "x.gxp")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    assert done.stderr == f"{path}(3,20): error: there is no function `text2D`\n"
    assert not (folder / "x.gxp").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-frobnicate"], "there is no option '-frobnicate'"),
        (["-profile", "sce_gp_psp2", "a.cg", "-o", "b"], "-profile is sce_vp_psp2 or sce_fp_psp2, not sce_gp_psp2"),
        (["a.cg", "b.cg"], "one source file is compiled, not 2"),
        (["-profile", "sce_fp_psp2", "-"], "-o OUT says which file to write for standard input"),
        (["--frobnicate"], "there is no option '--frobnicate'"),
        (["-profile", "sce_fp_psp2", "a.cg", "-sdb", "b.cg"], "one source file is compiled, not 2"),
        (["-profile"], "-profile needs a value"),
    ],
)
def test_wrong_uses_of_psp2cgc(words: list[str], said: str) -> None:
    assert said in run("psp2cgc", *words, code=2).stderr


def test_psp2cgc_lists_its_options() -> None:
    text = run("psp2cgc").stdout
    assert "-fastprecision" in text
    assert "taken, without effect" in text
    assert run("psp2cgc", "--help").stdout == text


COSTLY = """uniform sampler2D image; uniform int n; uniform float4 k;
float4 main(float2 uv : TEXCOORD0, float4 color : COLOR) : COLOR
{
    float4 texel = tex2D(image, uv);
    if (color.x > 0.5)
        texel += tex2D(image, uv * 2);
    LOOP
    return texel;
}
"""


def test_the_cost_of_a_shader(folder: Path) -> None:
    path = folder / "costly_f.cg"
    path.write_text(COSTLY.replace("LOOP", ""))
    lines = run("cc", path, "--cost").output.splitlines()
    assert re.fullmatch(r"instructions per pixel  (\d+) to (\d+)", lines[0])
    assert lines[2] == "textures                1 read before the program, 1 by it"
    assert [line for line in lines if "reads a texture" in line] == [
        f"{path}:6: note: the program reads a texture here and waits: the coordinate is computed"
    ]
    got = json.loads(run("cc", path, "--cost", "--json").output)
    assert not list(problems(got, schema("cc")))
    cost = got["cost"]
    assert (cost["samples"], cost["texels_before"]) == (1, 1)
    assert 0 < cost["least_issues"] < cost["most_issues"] < cost["primary_instructions"]
    assert "cost" not in json.loads(run("cc", path, "--json").output)


def test_the_cost_of_a_loop_has_no_upper_bound(folder: Path) -> None:
    path = folder / "loop_f.cg"
    path.write_text(COSTLY.replace("LOOP", "for (int i = 0; i < n; i++) texel *= color;"))
    cost = json.loads(run("cc", path, "--cost", "--json").output)["cost"]
    assert cost["most_issues"] is None
    assert 0 < cost["least_issues"] < cost["primary_instructions"]


def test_perf_messages_of_psp2cgc(folder: Path) -> None:
    path = folder / "costly_f.cg"
    path.write_text(COSTLY.replace("LOOP", ""))
    words = ("psp2cgc", "-profile", "sce_fp_psp2", path, "-o", folder / "x.gxp")
    assert "perf" not in run(*words).stderr
    assert f"{path}(6,1): perf: the program reads a texture here and waits" in run(*words, "-Wperf").stderr


def test_the_cost_of_a_kernel_is_asked_elsewhere() -> None:
    assert "isakit profile" in run("cc", "--cost", "examples/tesla/saxpy.s", "-x", "ptx", code=2).stderr


def test_files_of_other_folders_are_included(folder: Path) -> None:
    (folder / "common").mkdir()
    (folder / "common" / "k.h").write_text("#define K 2\n")
    path = folder / "k_f.cg"
    path.write_text('#include "k.h"\nfloat4 main() : COLOR { return K; }\n')
    assert "cannot be included" in run("cc", path, code=1).stderr
    run("cc", path, "-I", folder / "common", "-o", folder / "k.gxp")


def test_lines_lie_beside_the_file_and_belong_to_it(folder: Path) -> None:
    out = folder / "tint.gxp"
    run("cc", folder / "tint_f.cg", "-o", out, "-g")
    plain = folder / "plain.gxp"
    run("cc", folder / "tint_f.cg", "-o", plain)
    assert out.read_bytes() == plain.read_bytes()
    assert re.search(r"// \S*tint_f\.cg:7", run("dis", "--source", out).stdout)
    assert isakit.load(out).kernels["primary"].lines is not None
    plain.with_name("plain.gxp.lines").write_bytes(out.with_name("tint.gxp.lines").read_bytes())
    assert isakit.load(plain).kernels["primary"].lines is not None  # the same bytes
    out.write_bytes(out.read_bytes() + b"\0\0\0\0")
    assert isakit.load(out).kernels["primary"].lines is None


def test_the_function_that_is_the_program_has_a_name(folder: Path) -> None:
    (folder / "two.cg").write_text("""float4 main_vertex(float4 p) : POSITION { return p; }
    float4 main_fragment(float4 c : COLOR) : COLOR { return c; }""")
    out = folder / "two.gxp"
    run("cc", folder / "two.cg", "-o", out, "--stage", "vertex", "--entry", "main_vertex")
    assert isakit.load(out).stage == "vertex"  # type: ignore[attr-defined]
    assert run("cc", folder / "two.cg", "--stage", "vertex").stderr.count("warning: there is no `main`") == 1
    said = run("cc", folder / "two.cg", "--stage", "vertex", "--entry", "start", code=1).stderr
    assert "there is no function `start`" in said
    assert "--entry is for shaders" in run("cc", "x.ptx", "--entry", "k", code=2).stderr


def test_files_of_spir_v(folder: Path) -> None:
    (folder / "x.spv").write_text("float4 main() { return 1; }")
    assert "does not begin as SPIR-V does" in run("cc", folder / "x.spv", code=1).stderr
    assert "-D and -I apply to source texts only" in run("cc", folder / "x.spv", "-D", "X", code=2).stderr
