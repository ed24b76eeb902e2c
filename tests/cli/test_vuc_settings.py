"""The settings `isakit run` takes for microcode: files, host registers, options, what to keep."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit.cli.microcode import run_image
from isakit.errors import FormatError, LaunchError
from isakit.vuc import header_packet

ADD = "ld $r1 D[0x0]\nnop\nnop\nadd $r2 $r1 0x1\nst D[0x1] $r2\nend: bra #end\nnop"


def program(text: str = ADD) -> isakit.Program:
    return isakit.isa("vuc", "vp3").assemble(text)


def test_running_from_files(tmp_path: Path) -> None:
    (tmp_path / "d.bin").write_bytes(b"\x29\x00")
    settings = [f"data={tmp_path}/d.bin", f"trace={tmp_path}/t.txt", f"save_data={tmp_path}/out.bin",
                f"save_state={tmp_path}/s.json", "lint=yes"]  # fmt: skip
    result, texts = run_image(program(), settings)
    assert vars(result.stats)["reason"] == "spinning"
    assert result.findings == []
    assert result.state["r"][2] == 42
    assert (tmp_path / "out.bin").read_bytes()[:4] == b"\x29\x00\x2a\x00"
    assert json.loads((tmp_path / "s.json").read_text())["data"][1] == 42
    trace = (tmp_path / "t.txt").read_text().splitlines()
    assert len(trace) == vars(result.stats)["cycles"]
    assert "ld $r1 D[0x0]" in trace[0]
    assert "$r1=0x29" in "\n".join(texts)


def test_ring_and_host_settings(tmp_path: Path) -> None:
    words = header_packet(address=3, x=2, y=1, skip=True)
    (tmp_path / "ring").write_bytes(b"".join(w.to_bytes(4, "little") for w in words))
    text = (
        "sleep\nmbiread\n" + "nop\n" * 5 + "or $r1 $mbxy 0x0\nor $r2 $mbtype 0x0\nsleep\nmbinext\nnop\nnop\nsleep\nnop"
    )
    settings = [f"ring={tmp_path}/ring", "host.PARM=0x203", "trace=-", "option.mbiread_latency=5"]
    result, texts = run_image(program(text), settings)
    assert result.state["r"][1:3] == [0x201, 0x7E]
    assert any("mbiread" in line for line in texts)


def test_memory_settings_and_stops(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(bytes(range(64)))
    core_text = "mvsread\nnop\nwsts 0x5\nld $r1 MVSI[0x0]\nnop\nnop\nhere: bra #here\nnop"
    settings = [f"memory={tmp_path}/m@0x100", "host.MVSURF_IN_ADDR=1", "host.MVSURF_IN_PARM=1",
                "host.MVSURF_IN_LEFT=0x101", f"save_memory={tmp_path}/n@0x100:64", "until=6"]  # fmt: skip
    result, _ = run_image(program(core_text), settings)
    assert vars(result.stats)["reason"] == "until"
    assert result.state["r"][1] == 0x0100
    assert (tmp_path / "n").read_bytes() == bytes(range(64))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("frob=1", "NAME=VALUE"),
        ("data", "NAME=VALUE"),
        ("until=x", "not a number"),
        ("option.nothing=1", "there are"),
        ("option.out_of_range=no", "out_of_range is one of wrap, fault, not 'no'"),
        ("option.mvsread_cycles=-3", "from 0 to 65535, not -3"),
        ("option.writable=icnt,pq", "not 'pq'"),
        ("option.b6=1", "cannot be set"),
        ("host.NOTHING=1", "no host register"),
        ("until=-1", "negative"),
        ("data=/dev/null@-1", "negative"),
        ("data=/dev/null@0x801", "do not fit D"),
        ("memory=/dev/null", "give memory=FILE@ADDRESS"),
        ("memory=/dev/null@x", "not a number"),
        ("memory=/dev/null@-1", "negative"),
        ("save_memory=/dev/null", "give save_memory=FILE@ADDRESS:BYTES"),
        ("save_memory=/dev/null@0", "give save_memory=FILE@ADDRESS:BYTES"),
        ("save_memory=/dev/null@-1:5", "negative"),
        ("save_memory=/dev/null@0:-5", "negative"),
    ],
)
def test_wrong_settings(setting: str, message: str) -> None:
    with pytest.raises(isakit.IsakitError, match=message):
        run_image(program(), [setting])


def test_wrong_places_are_told_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(LaunchError):
        run_image(program(), [f"save_data={tmp_path}/out", f"save_memory={tmp_path}/m@0"])
    assert not list(tmp_path.iterdir())


def test_only_settings_with_a_place_take_one(tmp_path: Path) -> None:
    run_image(program(), [f"save_data={tmp_path}/a@0"])
    assert (tmp_path / "a@0").stat().st_size == 2 * 0x800
    with pytest.raises(FileNotFoundError):
        run_image(program(), [f"ring={tmp_path}/ring@0"])


@pytest.mark.parametrize("values", [[1, 2, 65535], [1.0, 2.0, 65535.0], [True, False]])
def test_cells_from_arrays(tmp_path: Path, values: list[float]) -> None:
    np.save(tmp_path / "d.npy", values)
    result, _ = run_image(program("end: bra #end\nnop"), [f"data={tmp_path}/d.npy@2"])
    assert result.state["data"][2 : 2 + len(values)] == [int(v) for v in values]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.5, 1j])
def test_cells_are_whole_numbers(tmp_path: Path, value: complex) -> None:
    np.save(tmp_path / "d.npy", [1, value])
    with pytest.raises(FormatError, match="whole numbers"):
        run_image(program(), [f"data={tmp_path}/d.npy"])


@pytest.mark.parametrize(("setting", "found"), [(["lint=yes"], True), (["lint=no"], False), ([], False)])
def test_the_linter_speaks_when_asked(setting: list[str], found: bool) -> None:
    result, texts = run_image(program("ld $r1 D[0x0]\nadd $r2 $r1 0x1\nend: bra #end\nnop"), setting)
    assert bool(result.findings) == found
    assert (texts[0] in result.findings) == found
