"""Hand-tuned code of control does what the routine does that it is a special version of, in random states.

The special versions: branches that all lanes take or none does, and lanes that leave, in a kernel whose blocks are
known (`rules.stack.branch`, `ret`, `brk` with `jump` and `remain`); accesses that hit the buffer that was hit last
(`rules.accesses.in_buffers`).
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.engine.llvm import Builder, Ref, host
from isakit.engine.llvm.builder import I32, define, pointer
from isakit.engine.llvm.target import build
from isakit.engine.routine_functions import python_function
from isakit.machine.tesla import Choices, Machine
from isakit.machine.tesla.choices import DEFAULT
from isakit.machine.tesla.compiled.emit.interpreter import library
from isakit.machine.tesla.compiled.emit.memory_ir import declared_in, kernel_module
from isakit.machine.tesla.compiled.state_layout import CONTEXT, SLOT, SLOTS, V32
from isakit.machine.tesla.rules import accesses
from isakit.machine.tesla.rules.state import BlockState, BufferBytes
from isakit.machine.tesla.stack import Kind
from support.generators.fuzz import random_choices
from support.runners.single_steps import steps

ALL = 0xFFFF_FFFF
STATES = {"dev": 2, "ci": 6, "long": 200}.get(os.environ.get("ISAKIT_PROFILE", "dev"), 2)
"""About a third of a second each."""
INSTRUCTIONS = (
    "(e $c0) bra #other", "bra #other", "(e $c0) bra #start", "(e $c0) ret", "ret", "(e $c0) break", "break",
    "call #other", "call lim #other", "joinat #other", "breakaddr #other", "preret #other", "join nop", "exit nop",
    "join mov b32 $r1 $r0", "exit mov b32 $r1 $r0",
)  # fmt: skip
OTHER = 24
ELSEWHERE = (0, 16, OTHER, 32)
"""Addresses of the other instructions: back at its own one compiled code would go on."""
KINDS = (Kind.BRANCH, Kind.BRANCH, Kind.CALL, Kind.LIMITED_CALL, Kind.BREAK, Kind.JOINAT)


def program(instruction: str) -> str:
    """A program whose second instruction is `instruction`."""
    return f"start:\njoinat #other\n{instruction}\nmov b32 $r2 $r0\nother:\njoin nop\nexit nop\n"


def some_lanes(r: Random) -> int:
    """All lanes, none, one or some."""
    return r.choice([ALL, ALL, 0, 1 << r.randrange(32), r.getrandbits(32), r.getrandbits(32) & r.getrandbits(32)])


def random_state(r: Random) -> Any:
    """Puts the warp of a machine before the second instruction, in some state."""
    gone = [ALL & ~(some_lanes(r) or 1) for _ in range(3)] if r.random() < 0.6 else [0, 0, 0]
    broke, returned, exited = (mask if r.random() < 0.4 else 0 for mask in gone)
    active = (some_lanes(r) or ALL) & ~(broke | returned | exited) or ALL
    if active == ALL:
        broke = returned = exited = 0
    kinds = r.choices(KINDS, k=r.choice([0, 1, 2, 4]))
    entries = [
        (k, OTHER, active | some_lanes(r)) if k == Kind.JOINAT else (k, r.choice(ELSEWHERE), some_lanes(r) or ALL)
        for k in kinds
    ]
    flags = [r.choice([0, 15, 2, 3]) if r.random() < 0.6 else r.randrange(16)] * 32
    if r.random() < 0.6:
        flags = [r.randrange(16) for _ in range(32)]

    def prepare(machine: Machine) -> None:
        control = machine.warps[0].control
        control.pc, control.active = 8, active
        control.broke, control.returned, control.exited = broke, returned, exited
        control.entries = entries
        machine.state.files["c"][0][:] = flags
        machine.requeue()

    return prepare


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
@pytest.mark.parametrize("tier", ["interp", "jit"])
def test_one_instruction_in_random_states(instruction: str, tier: str) -> None:
    for seed in range(STATES):
        r = Random(f"{instruction} {seed}")
        choices = random_choices(r.getrandbits(32)) if r.random() < 0.5 else Choices()
        prepare = random_state(r)
        wanted, seen = (list(steps(program(instruction), choices, e, 1, prepare)) for e in ("reference", tier))
        assert seen == wanted, f"seed {seed}, {choices}"


# --- buffers --------------------------------------------------------------------------------------------------------
@cache
def _compiled_check() -> tuple[Any, Any]:
    """`check_global` as a function of pointers."""
    target = host()
    kept = library(target, DEFAULT).main
    module = kernel_module(target)
    check, b = declared_in(module, "check_global", target), Builder(module)
    site, addresses, size, lanes = pointer("%site"), pointer("%addresses"), Ref("%size", I32), Ref("%lanes", I32)
    bad = b.call(check, CONTEXT, site, b.load(V32, addresses, 4), size, lanes)
    b.ret(b.zext(bad, I32))
    module.add(define("@check", I32, [CONTEXT, site, addresses, size, lanes], b.lines))
    loaded = build(str(module), target)
    address, number = ctypes.c_void_p, ctypes.c_uint32
    return loaded.function("check", number, address, address, address, number, number), (loaded, kept)


@pytest.mark.parametrize("seed", range(20))
def test_the_buffer_that_was_hit_last(seed: int) -> None:
    """`check_global` says the same as the search, and remembers a buffer that the lanes hit."""
    check, _ = _compiled_check()
    in_buffers = python_function(accesses.in_buffers)
    misaligned = python_function(accesses.misaligned)
    r = Random(seed)
    for _ in range(30):
        starts = sorted(r.sample(range(0, 0x4000, 0x100), 4))
        ranges = np.array([(s, r.randrange(1, 0x100)) for s in starts], np.uint32)
        size = r.choice([1, 2, 4, 8, 16])
        near = [int(s) + r.randrange(-20, 0x110) for s in r.choices(starts, k=r.choice([1, 1, 3]))]
        step = r.choice([0, size, size, 0x40, 1])
        addresses = np.array([(r.choice(near) + k * step) & ALL & -(size if r.random() < 0.98 else 1)
                              for k in range(32)], np.uint32)  # fmt: skip
        lanes = r.choice([ALL, 1 << r.randrange(32), r.getrandbits(32)])
        last = ranges[r.randrange(4)] if r.random() < 0.7 else np.zeros(2, np.uint32)
        block = BlockState()
        for k, (start, length) in enumerate(ranges.tolist()):
            block.ranges[k].start, block.ranges[k].length = start, length
        block.range_count = len(ranges)
        site = BufferBytes()
        hits = in_buffers(block, site, addresses.tolist(), lanes, size)
        odd = any(misaligned(int(a), size) for k, a in enumerate(addresses) if lanes >> k & 1)
        context = np.zeros(len(SLOTS), np.int64)
        context[SLOT["ranges"] // 8], context[SLOT["range_count"] // 8] = ranges.ctypes.data, len(ranges)
        kept = last.copy()
        bad = check(context.ctypes.data, kept.ctypes.data, addresses.ctypes.data, size, lanes)
        assert bool(bad) == (odd or hits != lanes)
        assert tuple(kept.tolist()) in {(0, 0), *map(tuple, ranges.tolist())}
