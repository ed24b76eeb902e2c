"""Random PTX, compiled and run, against a direct interpreter of PTX; mutated PTX gives diagnostics and nothing else."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from conftest import shared_dir
from isakit.compile import compile_ptx, driver
from isakit.compile.ptx import parse
from isakit.errors import IsakitError
from isakit.runtime import Device
from support.ptx_direct import Threads
from support.ptx_random import SLOT, Program

driver.CHECK_EVERY_PASS = True
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


def compiled_and_meant(seed: int, chip: str, size: int = 30) -> tuple[bytes, bytes]:
    late = chip in ("gt200", "gt215", "mcp77")
    text = Program(seed, doubles=chip == "gt200", atomics=chip != "g80", locks=late, size=size).text
    memory = memory_for(seed)
    params = struct.pack("<QIf", BASE, seed * 0x9E3779B9 & 0xFFFF_FFFF, 1.5 - seed % 7)
    device = Device(chip, limits=False)
    buffer = device.alloc(len(memory), BASE)
    device.write(buffer, memory)
    kernel = device.load(compile_ptx(text, chip).module)["k"]
    kernel.launch(GRID, BLOCK, param_bytes=params, max_instructions=3_000_000)
    want = bytearray(memory)
    with np.errstate(all="ignore"):
        Threads(parse(text).entries["k"], params, want, BASE, (GRID, BLOCK)).run()
    return device.read(buffer, np.uint8, len(memory)).tobytes(), bytes(want)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_mean_what_their_ptx_says_on_gt200(seed: int) -> None:
    got, want = compiled_and_meant(seed, "gt200")
    assert got == want


@pytest.mark.parametrize(("seed", "chip"), [(100, "g80"), (101, "g84"), (102, "gt215"), (103, "g84"), (104, "g80")])
def test_random_programs_mean_what_their_ptx_says_on_other_chips(seed: int, chip: str) -> None:
    got, want = compiled_and_meant(seed, chip)
    assert got == want


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 10_000, 250))
def test_ten_thousand_random_programs_mean_what_their_ptx_says(start: int) -> None:
    wrong = [s for s in range(start, start + 250) if len(set(compiled_and_meant(s, "gt200"))) != 1]
    assert wrong == []


INSERTED = ("{", "}", "[", "]", ";", ",", ".u64", "%", "0x", "-1", "@!", '"', "/*", ".v4", ".f64", "(", ")", "0d0",
            "99999999999999999999", ":", "\0", "é", ".pred", "$r1")  # fmt: skip


def mutated(text: str, r: random.Random) -> str:
    for _ in range(r.choice((1, 1, 2, 4))):
        at = r.randrange(len(text))
        kind = r.randrange(4)
        if kind == 0:
            text = text[:at] + text[at + r.randrange(1, 20) :]
        elif kind == 1:
            text = text[:at] + r.choice(INSERTED) + text[at:]
        elif kind == 2:
            rows = text.split("\n")
            i, j = r.randrange(len(rows)), r.randrange(len(rows))
            rows[i], rows[j] = rows[j], rows[i]
            text = "\n".join(rows)
        else:
            text = text[:at] + text[at : at + 30][::-1] + text[at + 30 :]
    return text


def survive(seeds: range) -> None:
    shared = shared_dir()
    if shared is None:
        texts = [Program(seed, size=15).text for seed in range(8)]
    else:
        texts = [p.read_text("latin-1") for p in sorted((shared / "corpus/tesla/textcubins").glob("*.ptx"))]
    for seed in seeds:
        r = random.Random(seed)
        try:
            compile_ptx(mutated(r.choice(texts), r), r.choice((None, "g80", "gt200")))
        except IsakitError:
            continue


def test_mutated_ptx_compiles_or_is_refused_with_a_message() -> None:
    survive(range(300))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 100_000, 5_000))
def test_a_hundred_thousand_mutated_texts_compile_or_are_refused(start: int) -> None:
    survive(range(start, start + 5_000))
