"""Programs of others, as they were built between 2009 and 2013: what they must print, from the corpus' own table.

Each runs where it lies in the conformance data, and is skipped where it does not. Those that need minutes are marked
`slow`. What they showed about CUDA is checked everywhere by programs of our own (unit/hosts/test_cuda_programs.py).
"""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from conftest import shared_file
from support.clients.cuda_build import run

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(
        shutil.which("cc") is None or sys.platform != "linux",
        reason="needs `cc` on Linux, which builds CUDA's libraries",
    ),
]
SDK = "sdk42/bin/linux/release"


@dataclass(frozen=True)
class Program:
    """How a program is started (`arguments`, in its own folder) and what its output, errors after it, must match."""

    path: str
    arguments: str
    expected: str
    device: str = "sm_13"
    forbidden: str = "FAILED"
    code: int = 0


QUICK = (
    Program("ispass/simpleVoteIntrinsics", "-noprompt", r"\nPASSED"),
    Program("ispass/LPS", "", r"rms error = 0\.0{6}|Press ENTER"),
    Program("ispass/RAY", "4 4", "Kernel Time", forbidden="rror"),
    Program("rodinia/lud_cuda", "-s 64 -v", ">>>Verify<<<<", forbidden="dismatch|mismatch"),
    Program(f"{SDK}/dwtHaar1D", "-noprompt", r"\nPASSED"),
    Program(f"{SDK}/SobolQRNG", "-noprompt", r"\nPASSED"),
    Program(f"{SDK}/simpleAtomicIntrinsics", "-noprompt", r"\nPASSED"),
    Program(f"{SDK}/simpleTemplates", "-noprompt", r"\nPASSED"),
    Program(f"{SDK}/simplePrintf", "-noprompt", r"\nPASSED"),
    Program(f"{SDK}/bandwidthTest", "-noprompt", r"\nPASSED"),
)
SLOW = (
    Program("rodinia/spin_reduction", "", "Result Correct"),
    Program("ispass/STO", "", "Test PASSED|digest|CPU GPU"),
    Program("ispass/CP", "", "Compute:"),
    Program("ispass/LIB", "", r"(?s)v  =    224\.32325745.*v  =    224\.32325745.*Lb =     21\.348"),
    Program("ispass/alignedTypes", "-noprompt", "PASSED"),
    Program("ispass/transpose", "-noprompt", "PASSED"),
    Program("rodinia/lavaMD", "-boxes1d 4", "GPU: KERNEL"),
    Program(f"{SDK}/histogram", "-noprompt", "PASSED"),
    Program(f"{SDK}/mergeSort", "-noprompt", "PASSED"),
    Program(f"{SDK}/convolutionSeparable", "-noprompt", "PASSED"),
    Program(f"{SDK}/convolutionTexture", "-noprompt", "PASSED"),
    Program(f"{SDK}/reduction", "-noprompt", "PASSED"),
    Program(f"{SDK}/simpleStreams", "-noprompt", "PASSED"),
    Program(f"{SDK}/matrixMul", "-noprompt", r"CUBLAS compares OK(?s:.*)PASSED"),
    Program(f"{SDK}/MonteCarloMultiGPU", "-noprompt", "PASSED"),
    Program(f"{SDK}/simpleTexture3D", "-qatest", "PASSED"),
    # Two of their four references are not in the corpus. What they think of the others goes to standard error.
    Program(
        f"{SDK}/imageDenoising",
        "-qatest",
        r"(?s)Passthrough>.*KNN.* 2 errors.*\n    OK.*\n    OK",
        forbidden="^$",
        code=1,
    ),
    Program(
        f"{SDK}/recursiveGaussian", "-qatest", r"(?s)Summary: 2 errors.*\n    OK.*\n    OK", forbidden="^$", code=1
    ),
)


def copied(path: str, folder: Path) -> Path:
    """A program with its data in a folder where it may write, as it lies in the corpus."""
    source = shared_file(f"corpus/cuda/{path}")
    home = folder / Path(path).parent
    home.mkdir(parents=True)
    for f in source.parent.iterdir():
        if f.is_file() and (f == source or f.read_bytes()[:4] != b"\x7fELF"):
            shutil.copy(f, home / f.name)
    if path.startswith("sdk42"):
        (folder / "sdk42/src").symlink_to(source.parents[3] / "src")
    return home / source.name


def check(program: Program, folder: Path, timeout: float) -> None:
    path = copied(program.path, folder)
    arguments = ["--device", program.device, "--", path, *program.arguments.split()]
    done = run(*arguments, folder=path.parent, timeout=timeout, code=program.code)
    text = done.stdout + done.stderr
    assert re.search(program.expected, text), text[-2000:]
    assert not re.search(program.forbidden, text), text[-2000:]
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("program", QUICK, ids=lambda p: Path(p.path).name)
def test_a_program_of_the_corpus_does_what_its_table_says(program: Program, tmp_path: Path) -> None:
    check(program, tmp_path, 120)


@pytest.mark.slow
@pytest.mark.parametrize("program", SLOW, ids=lambda p: Path(p.path).name)
def test_a_long_program_of_the_corpus_does_what_its_table_says(program: Program, tmp_path: Path) -> None:
    check(program, tmp_path, 1800)


def pixels(path: Path) -> NDArray[np.int64]:
    """The bytes of a picture of the kind P6, [rows, columns, 3]."""
    found = re.fullmatch(rb"P6\s(?:#.*\n)*(\d+)\s(\d+)\s\d+\s(.*)", path.read_bytes(), re.DOTALL)
    assert found is not None
    return np.frombuffer(found[3], np.uint8).astype(np.int64).reshape(int(found[2]), int(found[1]), 3)


@pytest.mark.slow
def test_pictures_of_bicubic_texture_are_those_of_the_chip(tmp_path: Path) -> None:
    """The program compares what it saves with the file of that name it finds first: the same one."""
    path = copied(f"{SDK}/bicubicTexture", tmp_path)
    assert "PASSED" in run("--", path, "-qatest", folder=path.parent, timeout=900).stdout
    for name in ("01_nearest.ppm", "02_bilinear.ppm"):
        expected = pixels(tmp_path / "sdk42/src/bicubicTexture/data" / name)
        assert (np.abs(pixels(path.parent / name) - expected) > 5).mean() < 0.001


TILE = 16
"""Pixels of an edge of the tiles that blocks of Mandelbrot take from a counter."""


def black_tiles(picture: NDArray[np.int64], at_most: int = 0) -> set[tuple[int, int]]:
    """The tiles (row, column) without a value above `at_most`."""
    rows, columns = (range(0, n, TILE) for n in picture.shape[:2])
    return {(y, x) for y in rows for x in columns if picture[y : y + TILE, x : x + TILE].max() <= at_most}


@pytest.mark.slow
def test_no_tile_of_mandelbrot_stays_black(tmp_path: Path) -> None:
    """Its own comparison lets a hundred of them pass: blocks take tiles with one barrier, see `rules.turns`."""
    path = copied(f"{SDK}/Mandelbrot", tmp_path)
    assert "FAILED" not in run("--device", "sm_13", "--", path, "-qatest", folder=path.parent, timeout=1800).stdout
    data = tmp_path / "sdk42/src/Mandelbrot/data"
    for saved, name in (("mandelbrot.ppm", "Mandelbrot_fp64.ppm"), ("julia.ppm", "referenceJulia_fp64.ppm")):
        picture = pixels(path.parent / saved)
        assert black_tiles(picture) <= black_tiles(pixels(data / name), 8), saved


@pytest.mark.parametrize(
    ("size", "name"), [("64", "output-test.out"), pytest.param("512", "output-large.out", marks=pytest.mark.slow)]
)
def test_temperatures_of_hotspot_are_those_of_another_build(size: str, name: str, tmp_path: Path) -> None:
    path = copied("rodinia/hotspot", tmp_path)
    run("--", path, size, "2", "2", f"temp_{size}", f"power_{size}", "out", folder=path.parent, timeout=300)
    rows = np.loadtxt(path.parent / "out")
    expected = np.loadtxt(path.parent / name)
    assert rows.shape == expected.shape
    assert np.abs(rows - expected).max() < 5e-4


def test_captured_programs_of_the_corpus_replay_alike(tmp_path: Path) -> None:
    from support.clients.command_line import run as command

    path = copied("rodinia/lud_cuda", tmp_path / "programs")
    run("--capture", tmp_path / "c", "--", path, "-s", "32", "-v", folder=path.parent)
    for options in (["--engine", "reference"], ["--tier", "interp"], ["--tier", "jit"]):
        assert command("replay", str(tmp_path / "c"), "--check", *options).stdout.count("same") == 4
