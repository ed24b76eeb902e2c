"""`isakit cc`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import isakit
from isakit.cli.app import app

GOOD = ".entry k (.param .u64 out) { .reg .u64 %o; ld.param.u64 %o, [out]; st.global.u32 [%o], 7; exit; }\n"
BAD = ".entry bad () { tanh.approx.f32 %f1, %f2; exit; }\n"
HEAD = ".version 1.4\n.target sm_11\n"


def cc(*args: str) -> tuple[int, str]:
    got = CliRunner().invoke(app, ["cc", *args])
    return got.exit_code, got.output


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "k.ptx"
    path.write_text(HEAD + GOOD)
    return path


def test_the_listing_shows_the_ptx_each_instruction_comes_from(source: Path) -> None:
    code, out = cc(str(source))
    assert code == 0
    assert ".isa tesla g84" in out
    assert "//   .entry k" in out
    assert "exit st b32 g14" in out


def test_a_cubin_is_an_elf_cubin_for_the_chip_that_was_asked_for(source: Path) -> None:
    target = source.with_suffix(".cubin")
    assert cc(str(source), "-V", "gt200", "-o", str(target))[0] == 0
    module = isakit.load(target)
    assert (module.kind, module.variant, list(module)) == ("elf-cubin", "gt200", ["k"])


def test_kernels_that_compile_are_written_beside_one_that_does_not(source: Path) -> None:
    source.write_text(HEAD + BAD + GOOD)
    code, out = cc(str(source))
    assert code == 1
    assert ".kernel k" in out
    assert "no hyperbolic tangent" in out


def test_json_tells_sizes_and_errors(source: Path) -> None:
    data = json.loads(cc(str(source), "--json")[1])
    assert data["kernels"][0]["name"] == "k"
    assert data["errors"] == []
