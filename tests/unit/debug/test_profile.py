"""The profiler's counts are those one computes by hand from the programming guide's rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isakit
from conftest import ROOT
from isakit.debug.profile import Profile, profile
from isakit.debug.transactions import IDLE, constant_reads, global_10, global_12, shared_steps
from isakit.errors import LaunchError
from isakit.machine.tesla.occupancy import occupancy
from support.clients.command_line import run

BASE = 0x10000
ALL = range(16)


def at(*addresses: int | None) -> list[int]:
    return [IDLE if a is None else a for a in addresses]


def stride(step: int, start: int = BASE) -> list[int]:
    return [start + step * k for k in ALL]


PATTERNS: dict[str, tuple[list[int], int, list[int], list[int]]] = {
    # addresses, bytes, transactions of 1.0, of 1.3
    "one word after the other": (stride(4), 4, [64], [64]),
    "from the second half of a segment on": (stride(4, BASE + 64), 4, [64], [64]),
    "one thread is idle": (at(*(BASE + 4 * k if k != 5 else None for k in ALL)), 4, [64], [64]),
    "only the first thread": (at(BASE, *[None] * 15), 4, [64], [32]),
    "only the last thread": (at(*[None] * 15, BASE + 60), 4, [64], [32]),
    "off by one word": (stride(4, BASE + 4), 4, [32] * 16, [128]),
    "off by one word, over the end of a segment": (stride(4, BASE + 68), 4, [32] * 16, [64, 32]),
    "two threads exchanged": (at(BASE + 4, BASE, *(BASE + 4 * k for k in range(2, 16))), 4, [32] * 16, [64]),
    "all read one word": ([BASE] * 16, 4, [32] * 16, [32]),
    "every second word": (stride(8), 4, [32] * 16, [128]),
    "every fourth word": (stride(16), 4, [32] * 16, [128, 128]),
    "a segment each": (stride(128), 4, [32] * 16, [32] * 16),
    "pairs of words": (stride(8), 8, [128], [128]),
    "four words each": (stride(16), 16, [128, 128], [128, 128]),
    "bytes": (stride(1), 1, [32] * 16, [32]),
    "half words": (stride(2), 2, [32] * 16, [32]),
    "half words, off by two": (stride(2, BASE + 2), 2, [32] * 16, [64]),
    "backwards": (stride(4)[::-1], 4, [32] * 16, [64]),
    "the upper half of the upper half": (stride(2, BASE + 96), 2, [32] * 16, [32]),
    "nobody": ([IDLE] * 16, 4, [], []),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_transactions_of_1_0(name: str) -> None:
    addresses, size, old, _ = PATTERNS[name]
    assert list(global_10(addresses, size).sizes) == old


@pytest.mark.parametrize("name", PATTERNS)
def test_transactions_of_1_3(name: str) -> None:
    addresses, size, _, new = PATTERNS[name]
    assert list(global_12(addresses, size).sizes) == new


@pytest.mark.parametrize(
    ("addresses", "steps"),
    [
        (stride(4, 0), 1),
        (stride(8, 0), 2),
        (stride(12, 0), 1),
        (stride(16, 0), 4),
        (stride(64, 0), 16),
        ([0] * 16, 1),
        ([0] * 8 + [64] * 8, 2),
        ([0] * 8 + [4] * 8, 1),
        (stride(1, 0), 4),
        (stride(2, 0), 2),
        (stride(132, 0), 1),
        (at(0, 64, *[None] * 14), 2),
        ([IDLE] * 16, 0),
    ],
)
def test_steps_of_shared_reads(addresses: list[int], steps: int) -> None:
    assert shared_steps(addresses) == steps


def test_different_constants_are_read_one_by_one() -> None:
    assert constant_reads([0] * 8 + [4] * 7 + [8]) == 3


@pytest.mark.parametrize(
    ("chip", "threads", "registers", "shared", "blocks", "limit"),
    [
        ("g80", 256, 10, 0x400, 3, "warps"),
        ("g80", 256, 11, 0x400, 2, "registers"),
        ("g80", 64, 5, 0x100, 8, "blocks"),
        ("g80", 128, 8, 0x1400, 3, "shared memory"),
        ("gt200", 256, 16, 0x400, 4, "warps"),
        ("gt200", 256, 17, 0x400, 3, "registers"),
        ("gt200", 96, 10, 0x40, 8, "blocks"),
    ],
)
def test_occupancy(chip: str, threads: int, registers: int, shared: int, blocks: int, limit: str) -> None:
    found = occupancy(chip, threads, registers, shared)
    assert (found.blocks, found.limit) == (blocks, limit)


HEAD = ".isa tesla gt200\n.kernel k\n.shared 0x840\n.local 0x10\n.param out ptr\nand b32 $r1 $r0 0xffff\n"


def profiled(body: str, capability: str = "1.0", threads: int = 64) -> Profile:
    device = isakit.Device("gt200", engine="reference")
    program = isakit.isa("tesla", "gt200").assemble(f"{HEAD}{body}\nexit nop\n")
    out = device.alloc(1 << 14)
    machine = device.load(program, registers=8)["k"].machine(2, threads, (out,))
    return profile(machine, "k", capability=capability)


def store(shift: int) -> str:
    return f"shl b32 $r2 $r1 {shift:#x}\nadd b32 $r2 b32 s[0x10] $r2\nst b32 g14[$r2] $r1"


def test_coalesced_stores_of_a_kernel() -> None:
    c = profiled(store(2)).counters
    assert (c["gst_request"], c["gst_coherent"], c["gst_incoherent"], c["gst_bytes_moved"]) == (8, 8, 0, 512)


def test_scattered_stores_of_a_kernel() -> None:
    c = profiled(store(3)).counters
    assert (c["gst_coherent"], c["gst_incoherent"], c["gst_bytes_moved"], c["gst_bytes_used"]) == (0, 128, 4096, 512)


def test_scattered_stores_of_a_kernel_on_1_3() -> None:
    c = profiled(store(3), "1.3").counters
    assert (c["gst_32b"], c["gst_64b"], c["gst_128b"], c["gst_bytes_moved"]) == (0, 0, 8, 1024)


def test_bank_conflicts_of_a_kernel() -> None:
    c = profiled("shl $a1 $r1 0x3\nst b32 s[$a1+0x40] $r1").counters
    assert (c["warp_serialize"], c["shared_conflict_steps"]) == (4, 8)


def test_divergent_branches_of_a_kernel() -> None:
    low = "mov b32 $r2 0x10\nand b32 $c0 $r2 $r1 $r2\njoinat #m\n(e $c0) bra #m\nmov b32 $r3 $r1\nm: join nop"
    found = profiled(low)
    assert (found.counters["branch"], found.counters["divergent_branch"]) == (4, 4)
    assert next(x for x in found if x.text.endswith("mov b32 $r3 $r1")).lanes == 64


def test_a_warp_that_agrees_does_not_diverge() -> None:
    low = "mov b32 $r2 0x20\nand b32 $c0 $r2 $r1 $r2\njoinat #m\n(e $c0) bra #m\nmov b32 $r3 $r1\nm: join nop"
    assert profiled(low).counters["divergent_branch"] == 0


def test_local_memory_of_a_kernel() -> None:
    c = profiled("st b32 l[0x4] $r1\nld b32 $r2 l[0x4]").counters
    assert (c["local_load"], c["local_store"], c["local_bytes"]) == (4, 4, 1024)


def test_instructions_are_those_that_the_machine_counts() -> None:
    device = isakit.Device("gt200", engine="reference")
    program = isakit.isa("tesla", "gt200").assemble((ROOT / "examples/tesla/matmul.s").read_text())
    a, c = np.ones((32, 32), np.float32), np.zeros((32, 32), np.float32)
    kernel = device.load(program)["matmul"]
    found = profile(kernel.machine((2, 2), (16, 16), (a, a, c, 32)), "matmul")
    assert (c == 32).all()
    stats = kernel[(2, 2), (16, 16)](a, a, c, 32)
    assert found.counters["instructions"] == stats.warp_instructions


def test_another_machine_is_refused() -> None:
    with pytest.raises(LaunchError):
        profile(isakit.vuc.Core("vp3"))


# --- the command ------------------------------------------------------------------------------------------------------
DIVERGE = (str(ROOT / "examples/tesla/diverge.s"), "--block", "32", "--arg", "out:i32:32")


def test_a_listing_and_a_table() -> None:
    out = run("profile", *DIVERGE).stdout
    assert "1 divergent" in out
    assert "divergent_branch       1" in out


def test_json() -> None:
    data: Any = json.loads(run("profile", *DIVERGE, "--json", "--capability", "1.1").stdout)
    assert data["counters"]["gst_coherent"] == 2
    assert data["capability"] == "1.1"


def test_a_page_that_needs_nothing_else(tmp_path: Path) -> None:
    run("profile", *DIVERGE, "--html", str(tmp_path / "p.html"))
    text = (tmp_path / "p.html").read_text()
    assert "rgba(220,60,30,0.60)" in text
    assert "http" not in text
    assert text.count("<tr>") > 15
