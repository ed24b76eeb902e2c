"""What is known of kernels is kept on disk, so that a second process need not look through them again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import isakit
from isakit.engine.llvm import host
from isakit.machine.tesla.analysis import control_flow, known_flow
from isakit.machine.tesla.compiled.emit.interpreter import INDEX, MOST_INDEXES, Handlers, InterpreterProgram
from isakit.machine.tesla.compiled.emit.interpreter_handlers import RecordSlots
from isakit.machine.tesla.compiled.launch import compiled_kernels
from support.runners.compiled import compiled_device

LOADED: list[Handlers] = []
"""Handlers whose functions are found by name: code that is loaded later calls them."""
BIG = "\n".join(
    [
        ".kernel k", ".param out ptr", "cvt u32 $r0 u16 $r0l", "mov b32 $r1 $r0", "mov b32 $r3 0x3", "again:",
        *(f"{('add', 'xor', 'shl', 'or')[k % 4]} b32 $r1 $r1 {hex(k % 7)}" for k in range(300)),
        "add b32 $r3 $r3 0xffffffff", "set $c0 # g u32 $r3 $r9", "(lg $c0) bra #again",
        "bar inc wait 0x0 all", "shl b32 $r0 $r0 0x2", "add b32 $r0 b32 s[out] $r0", "exit st b32 g14[$r0] $r1",
    ]
)  # fmt: skip
SMALL = ".kernel k\n.param out ptr\nshl b32 $r0 $r0 0x2\nadd b32 $r0 b32 s[out] $r0\nexit st b32 g14[$r0] $r0"


def forget() -> None:
    """As a new process would begin."""
    for kept in (known_flow.known_flow, known_flow.flow_of, known_flow.facts_of, compiled_kernels._kernel):
        kept.cache_clear()


def run(text: str = BIG) -> list[int]:
    device = compiled_device({"tier": "interp", "threads": 1}, "gt200")
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(text), registers=12)["k"]
    out = np.zeros(64, np.uint32)
    kernel[1, 64](out)
    return out.tolist()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("ISAKIT_CACHE", str(tmp_path))
    forget()
    yield tmp_path
    forget()


def unwanted(*_: object) -> Any:
    raise AssertionError("the kernel is looked through again")


@pytest.mark.parametrize("text", [BIG, SMALL])
def test_a_kernel_that_was_run_before_is_not_looked_through_again(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(text)
    forget()
    monkeypatch.setattr(control_flow.Flow, "_explore", unwanted)
    assert run(text) == first


def test_without_its_handlers_a_program_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = run()
    forget()
    monkeypatch.setattr(InterpreterProgram, "kept", lambda *_: None)
    assert run() == first


def test_a_kept_program_is_the_one_that_was_made(own_cache: Path) -> None:
    run()
    assert len(list(own_cache.rglob("flows/*"))) == 1
    forget()
    device = compiled_device({"tier": "interp", "threads": 1}, "gt200")
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(BIG), registers=12)["k"]
    launch = kernel.prepare(1, 64, device.alloc(256))
    found = compiled_kernels.kernel_of(launch, "interp")
    made = InterpreterProgram.made(found.code, found.flow, found.target, launch.choices)
    assert found.program is not None
    assert (found.program.records == made.records).all()
    assert found.program.sites == made.sites


def test_other_registers_are_another_kernel(own_cache: Path) -> None:
    run()
    device = compiled_device({"tier": "interp", "threads": 1}, "gt200")
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(BIG), registers=20)["k"]
    kernel[1, 64](np.zeros(64, np.uint32))
    assert len(list(own_cache.rglob("flows/*"))) == 2


def test_many_indexes_of_handlers_become_one(own_cache: Path) -> None:
    def new_process() -> Handlers:
        LOADED.append(Handlers(host()))
        return LOADED[-1]

    first = new_process()
    for k in range(MOST_INDEXES + 1):
        first._store({f"key{k}": (f"h{k}", RecordSlots((), k))}, b"code")
    wanted = [f"key{k}" for k in range(MOST_INDEXES + 1)]
    assert new_process().has(wanted)
    assert len(list(own_cache.rglob(f"*{INDEX}"))) == 1
    assert new_process().has(wanted)
    first._store({"late": ("h", RecordSlots((), 0))}, b"code")
    assert new_process().has([*wanted, "late"])
    assert not new_process().has(["never"])
