"""vµc through the command line: assemble, disassemble, explain, run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import ROOT
from support.clients.command_line import run

EXAMPLES = ROOT / "examples" / "vuc"
FOR = {"p3": "vp4", "p4": "vp3", "p6": "vp2"}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.s")), ids=lambda p: p.stem)
def test_examples_go_through_files(path: Path, tmp_path: Path) -> None:
    variant = "vp3" if "table" in path.stem else FOR.get(path.stem[:2], "vp2")
    first, listing, second = tmp_path / "a.bin", tmp_path / "a.s", tmp_path / "b.bin"
    run("asm", "-m", "vuc", "-V", variant, str(path), "-o", str(first))
    listing.write_text(run("dis", "-m", "vuc", "-V", variant, str(first)).output)
    run("asm", "-m", "vuc", "-V", variant, str(listing), "-o", str(second))
    assert first.read_bytes() == second.read_bytes()
    assert len(first.read_bytes()) % (8 if variant == "vp2" else 4) == 0


def test_run_with_data_and_state(tmp_path: Path) -> None:
    image, data, out = tmp_path / "p1.bin", tmp_path / "d.bin", tmp_path / "out.bin"
    run("asm", "-m", "vuc", "-V", "vp3", str(EXAMPLES / "p1_copy_checksum.s"), "-o", str(image))
    cells = [10] + [0] * 0xFF + [(i * 0x1234 + 0x55) & 0xFFFF for i in range(10)]
    data.write_bytes(b"".join(c.to_bytes(2, "little") for c in cells))
    result = run("run", "-m", "vuc", "-V", "vp3", str(image), "--arg", f"data={data}", "--arg", f"save_data={out}")
    assert "V2H=0x3676" in result.output
    assert out.read_bytes()[2:6] == bytes.fromhex("7636c7cd")
    result = run("run", "-m", "vuc", "-V", "vp3", str(image), "--arg", f"data={data}", "--json")
    assert json.loads(result.output)["state"]["data"][1] == 0x3676


def test_limit_faults_and_wrong_settings(tmp_path: Path) -> None:
    image = tmp_path / "x.bin"
    image.write_bytes((0x14000043).to_bytes(4, "little") + (0x1400001F).to_bytes(4, "little"))
    assert "ILLEGAL_OPCODE" in run("run", "-m", "vuc", "-V", "vp3", str(image), code=3).output
    run("run", "-m", "vuc", "-V", "vp3", str(image), "--arg", "nothing=1", code=1)
    assert "not one of 1, yes" in run("run", "-m", "vuc", "-V", "vp3", str(image), "--arg", "lint=on", code=1).stderr
    assert "limit" in run("run", "-m", "vuc", "-V", "vp3", str(image), "--max", "1").output


def test_explain_and_doc() -> None:
    output = run("explain", "-m", "vuc", "-V", "vp2", "121c003284").output
    assert "rbra" in output
    assert "is 0" in output
    assert "Look up a property" in run("doc", "-m", "vuc", "lut").output
