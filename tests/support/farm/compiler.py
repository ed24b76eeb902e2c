"""Random PTX against a direct interpreter, and random C against the host."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isakit.compile import compile_ptx
from isakit.compile.ptx import parse
from isakit.errors import IsakitError
from isakit.runtime import Device
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.generators.c_random import THREADS, compile_both, inputs, meant
from support.generators.ptx_random import SLOT, Program
from support.needs import no_clang
from support.oracles.ptx_direct import Threads

BASE = 0x100000
GRID, BLOCK = 2, 40


def memory_for(seed: int) -> bytes:
    """Small numbers, floats and random words, mixed."""
    rng = np.random.default_rng(seed)
    n = GRID * BLOCK * SLOT // 4
    words = rng.integers(0, 1 << 32, n, dtype=np.uint32)
    small = rng.integers(-50, 50, n).astype(np.int32).view(np.uint32)
    floats = rng.normal(0, 100, n).astype(np.float32).view(np.uint32)
    pick = rng.random(n)
    return np.where(pick < 0.3, small, np.where(pick < 0.6, floats, words)).astype(np.uint32).tobytes()


CHIPS = ("gt200", "gt200", "gt200", "g80", "g84", "gt215")


def program(seed: int, chip: str, size: int = 30) -> str:
    """The PTX of a seed, with what a chip can do."""
    late = chip in ("gt200", "gt215", "mcp77")
    return Program(seed, doubles=chip == "gt200", atomics=chip != "g80", locks=late, size=size).text


def compiled_and_meant(seed: int, chip: str, size: int = 30) -> tuple[bytes, bytes]:
    """The memory a program of a seed leaves, and the one its text says it leaves."""
    return _both(program(seed, chip, size), seed, chip)


def _both(text: str, seed: int, chip: str) -> tuple[bytes, bytes]:
    memory = memory_for(seed)
    params = struct.pack("<QIf", BASE, seed * 0x9E3779B9 & 0xFFFF_FFFF, 1.5 - seed % 7)
    device = Device(chip, limits=False, engine="reference")
    buffer = device.alloc(len(memory), BASE)
    device.write(buffer, memory)
    kernel = device.load(compile_ptx(text, chip).module)["k"]
    kernel.launch(GRID, BLOCK, param_bytes=params, max_instructions=3_000_000)
    want = bytearray(memory)
    with np.errstate(all="ignore"):
        Threads(parse(text).entries["k"], params, want, BASE, (GRID, BLOCK)).run()
    return device.read(buffer, np.uint8, len(memory)).tobytes(), bytes(want)


def _make(seed: int) -> dict[str, Any]:
    chip = CHIPS[seed % len(CHIPS)]
    return {"seed": seed, "chip": chip, "text": program(seed, chip)}


def check_program(case: dict[str, Any]) -> set[str]:
    """A program leaves what its PTX says."""
    got, want = _both(case["text"], case["seed"], case["chip"])
    if got != want:
        at = next(k for k, (a, b) in enumerate(zip(got, want, strict=True)) if a != b)
        raise Wrong(f"byte {at:#x} is {got[at]:#x}, the PTX says {want[at]:#x}")
    return {
        line.split()[0].lstrip("@") for line in case["text"].splitlines() if line.startswith("    ") and ";" in line
    }


def _fewer_lines(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The program without some instructions: labels, declarations and the frame stay."""
    lines = case["text"].splitlines()
    plain = [k for k, line in enumerate(lines) if line.startswith("    ") and "bra" not in line and ".reg" not in line]
    for left in pieces_left_out(plain):
        gone = set(plain) - set(left)
        text = "\n".join(line for k, line in enumerate(lines) if k not in gone) + "\n"
        try:
            compile_ptx(text, case["chip"])
        except IsakitError:
            continue
        yield {**case, "text": text}


# --- C ----------------------------------------------------------------------------------------------------------------
BATCH = 2


def wrong_programs(
    seeds: range, folder: Path, chip: str = "gt200", blocks: int = 1, options: Sequence[str] = ()
) -> list[int]:
    """The C programs that do not write what they write on the host."""
    ptx, library = compile_both(seeds, folder, chip == "gt200", options)
    compiled = compile_ptx(ptx, chip)
    if compiled.failures:
        raise Wrong(f"does not compile: {compiled.diagnostics[0].message}")
    kernels = Device(chip, engine="reference").load(compiled.module)
    out: list[int] = []
    for seed in seeds:
        given = inputs(seed, blocks)
        got = np.zeros_like(given)
        kernels[f"k{seed}"][blocks, THREADS](given, got)
        if not np.array_equal(got, meant(library, seed, given, blocks)):
            out.append(seed)
    return out


def _check_c(case: dict[str, int]) -> set[str]:
    with tempfile.TemporaryDirectory() as folder:
        found = wrong_programs(range(case["first"], case["first"] + case["count"]), Path(folder))
    if found:
        raise Wrong(f"programs {found} write something else than on the host")
    return {"C"}


def _one_program(case: dict[str, int]) -> Iterator[dict[str, int]]:
    for k in range(case["count"]):
        if case["count"] > 1:
            yield {"first": case["first"] + k, "count": 1}


HERE = (
    Campaign("ptx", "random PTX against an interpreter of PTX", _make, check_program, _fewer_lines),
    Campaign("c", f"{BATCH} random C programs against the host", lambda seed: {"first": BATCH * seed, "count": BATCH},
             _check_c, _one_program, 300.0, no_clang, fixed=1),
)  # fmt: skip
