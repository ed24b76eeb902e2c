"""What a strict loader says of shader files: nothing of real ones, a line for each thing that is wrong."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import isakit
from isakit.cli.app import app
from isakit.compile.shading.compiled import build_shader
from isakit.formats.gxp import write_gxp
from isakit.formats.shader import read_gxp
from support.clients import command_line

TEXT = """uniform float4 k; uniform sampler2D s;
float4 main(float2 t : TEXCOORD0) : COLOR { return tex2D(s, t * 2) * k; }"""


def checked(data: bytes) -> list[str]:
    return read_gxp(data).complaints()


def test_nothing_is_wrong_with_public_files(shared: Path) -> None:
    paths = [*(shared / "corpus" / "usse" / "gxp").glob("*.gxp"), *(shared / "corpus" / "usse" / "cg").rglob("*.gxp")]
    assert len(paths) > 50
    assert {p.name: found for p in paths if (found := checked(p.read_bytes()))} == {}


def test_nothing_is_wrong_with_a_compiled_file() -> None:
    assert isakit.compile_shader(TEXT, stage="fragment", language="cg").complaints() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"phase_count": 2}, "the primary program has 1 phases, and the header says 2"),
        ({"primary_registers": 0}, "registers pa, and the header says 0"),
        ({"secondary_registers": 2}, "registers sa, and the header says 2"),
        ({"texunit_flags": 0}, "the flags of texture units lack 0x2"),
        ({"buffer_flags": 0}, "the flags of buffers lack"),
        ({"buffer_sizes": (0, 0, 0, 0, 0, 2)}, "the uniform 'k' ends at word 4 of a buffer of 2"),
        ({"varyings": None}, "there is no table of inputs and results"),
        ({"containers": []}, "lies at 0 of 0 words of data"),
    ],
)
def test_each_thing_that_is_wrong_is_said(change: dict[str, object], said: str) -> None:
    gxp = isakit.compile_shader(TEXT, stage="fragment", language="cg").file
    found = checked(write_gxp(dataclasses.replace(gxp, layout=[], **change)))
    assert any(said in line for line in found), found


def test_a_sampler_of_four_thousand_million_units_takes_no_memory() -> None:
    gxp = isakit.compile_shader(TEXT, stage="fragment", language="cg").file
    huge = [dataclasses.replace(p, array_size=(1 << 32) - 1) for p in gxp.parameters]
    assert any("ends at word" in line for line in checked(write_gxp(dataclasses.replace(gxp, parameters=huge))))


def test_from_the_command_line(tmp_path: Path) -> None:
    made = build_shader(TEXT, stage="fragment", language="cg")
    good, bad = tmp_path / "good.gxp", tmp_path / "bad.gxp"
    good.write_bytes(made.data)
    bad.write_bytes(write_gxp(dataclasses.replace(made.shader.file, layout=[], phase_count=2)))
    assert command_line.run("info", "--check", str(good)).output == f"{good}: nothing to complain about\n"
    both = CliRunner().invoke(app, ["info", "--check", str(bad), str(good)])
    assert (both.exit_code, len(both.output.splitlines())) == (3, 2)
    assert f"{good}: nothing to complain about" in both.output
    said = "the primary program has 1 phases, and the header says 2"
    plain, data = (CliRunner().invoke(app, ["info", "--check", *more, str(bad)]) for more in ([], ["--json"]))
    assert (plain.exit_code, plain.output) == (3, f"{bad}: {said}\n")
    command_line.check_json("info", data.output)
    assert (data.exit_code, json.loads(data.output)[0]["complaints"]) == (3, [said])
    assert "complaints" not in json.loads(command_line.run("info", "--json", str(bad)).output)[0]
