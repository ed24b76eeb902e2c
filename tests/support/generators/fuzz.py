"""Random Tesla kernels for comparing engines, and what a launch of one leaves behind.

`fuzz_kernels` writes them; here they are launched and compared. `tests/property/test_engines.py` does so in a worker
process.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import isakit
from isakit.errors import BudgetExceeded, IsakitError, MachineFault
from isakit.machine.tesla.address_spaces import LinearWindow
from isakit.machine.tesla.choices import DEFAULT, Choices
from support.generators.fuzz_instructions import STARTS, WARP_BYTES
from support.generators.fuzz_kernels import Generator
from support.runners.compiled import compiled_device

REGISTERS = 16
THREAD_BYTES = 128
SPECIAL = [
    0, 1, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x00800000, 0x007FFFFF,
    0x3F800000, 0xBF800000, 0x40490FDB, 0x4B800000, 0x3F000000, 0x00000001, 0x80000001, 0x3FF00000, 0x7FF00000,
]  # fmt: skip


@dataclass
class Fuzzed:
    """A kernel and how it is launched."""

    seed: int
    chip: str
    text: str
    words: list[int]
    grid: int
    block: int
    flags: dict[str, bool]
    budget: int | None
    inputs: Any
    constants: dict[int, bytes]
    choices: Choices = DEFAULT
    code: Any = None
    """The decoded program, once it was launched: engines that compile do so once for all launches."""

    @property
    def one_warp(self) -> bool:
        """With one warp even a fault comes at a place that does not depend on scheduling."""
        return self.grid == 1 and self.block <= 32


@dataclass
class Outcome:
    """What a launch left: memory, instruction counts, or the fault."""

    memory: bytes = b""
    counts: tuple[int, int] = (0, 0)
    fault: tuple[Any, ...] | None = None
    exact: bool = True

    def difference(self, other: Outcome) -> str:
        """What is not the same, or an empty string."""
        if (self.fault is None) != (other.fault is None):
            return f"fault {self.fault} against {other.fault}"
        if self.fault is not None and not self.exact:
            return ""
        if self.fault != other.fault:
            return f"fault {self.fault} against {other.fault}"
        if self.counts != other.counts:
            return f"counts {self.counts} against {other.counts}"
        if self.memory != other.memory:
            a, b = (np.frombuffer(m, np.uint32) for m in (self.memory, other.memory))
            k = int(np.flatnonzero(a != b)[0])
            return f"{int((a != b).sum())} words of memory, the first at {4 * k:#x}: {a[k]:#x} against {b[k]:#x}"
        return ""


def prepared(
    seed: int, chip: str, text: str, grid: int, block: int, flags: dict[str, bool], budget: int | None
) -> Fuzzed:
    """A kernel with the inputs of its seed."""
    inputs = random_inputs(seed, grid * -(-block // 32) * 32)
    program = isakit.isa("tesla", chip).assemble(text)
    constants = dict(_banks(seed % 16))
    for bank, segments in program.constants.items():
        content = bytearray(constants[bank])
        for given in segments:
            content[given.offset : given.offset + len(given.data)] = given.data
        constants[bank] = bytes(content)
    return Fuzzed(seed, chip, text, list(program.words), grid, block, flags, budget, inputs, constants)


def random_inputs(seed: int, threads: int) -> Any:
    """What every thread finds in its part of memory: random words, special ones, small ones."""
    rng = np.random.default_rng(seed)
    inputs = rng.integers(0, 1 << 32, (threads, THREAD_BYTES // 4), dtype=np.uint32)
    special = rng.random(inputs.shape) < 0.4
    inputs[special] = rng.choice(np.array(SPECIAL, np.uint32), int(special.sum()))
    small = rng.random(inputs.shape) < 0.1
    inputs[small] &= 0xFF
    return inputs


@cache
def _banks(seed: int) -> dict[int, bytes]:
    """All constant banks, full of random bytes."""
    rng = np.random.default_rng(seed)
    return {k: rng.integers(0, 256, 1 << 16, dtype=np.uint8).tobytes() for k in range(16)}


def kept(path: Path) -> Fuzzed:
    """A kernel that once showed a difference; its first line says in JSON how it is launched."""
    text = path.read_text()
    facts = json.loads(text.split("\n", 1)[0].removeprefix("//"))
    return prepared(text=text, **facts)


def kernel(seed: int) -> Fuzzed:
    """The kernel of a seed."""
    g = Generator(seed)
    return prepared(seed, g.chip, g.text, g.grid, g.block, g.flags, g.budget)


LONG = 20_000
"""Instructions after which a kernel counts as one that never ends: with some choices lanes turn in loops for ever."""


def random_choices(seed: int) -> Choices:
    """Answers to the open questions; about half of them as usual."""
    r = Random(f"choices of {seed}")
    counters = ["none", "instructions", "branches", "divergent_branches", "pm_events"]
    answers: dict[str, Any] = {
        "first": r.choice(["taken", "fallthrough"]),
        "join": r.choice(["before", "before", "after"]),
        "early_join": r.choice(["wait", "complete"]),
        "stack_entries": r.choice([0, 1, 2, 3, 4, 6, 16, 4096, 4096, 4096, 4096]),
        "stack_overflow": r.choice(["fault", "ignore"]),
        "wrong_entry": r.choice(["continue", "fault"]),
        "brk_without_entry": r.choice(["STACK_UNDERFLOW", "STACK_MISMATCH"]),
        "call_limit_log": r.choice([0, 1, 2, 15]),
        "barrier_all": r.choice(["unfinished", "block"]),
        "out_of_range": r.choice(["fault", "ignore"]),
        "misaligned": r.choice(["fault", "truncate"]),
        "drop_unallocated": r.random() < 0.5,
        "nonzero_a56": r.choice(["fault", "ignore"]),
        "brkpt": r.choice(["fault", "ignore"]),
        "pm_counters": tuple(r.choice(counters) for _ in range(4)),
        "clock_step": r.choice([4, 1, 7]),
    }
    return Choices(**{name: answer for name, answer in answers.items() if r.random() < 0.6})


def with_choices(seed: int, drawn: int | None = None) -> Fuzzed:
    """The kernel of a seed, with random choices: those of the number `drawn`, or its own."""
    k = kernel(seed)
    k.choices = random_choices(seed if drawn is None else drawn)
    return k


@dataclass
class Loaded:
    """A kernel on a device. `size`: bytes of global memory with its data."""

    device: isakit.Device
    kernel: Any
    param_bytes: bytes
    size: int

    def memory(self) -> bytes:
        """What is in global memory."""
        return self.device.memory.memory.bytes[: self.size].tobytes()


def loaded(k: Fuzzed, engine: str, **how: Any) -> Loaded:
    """A kernel with its buffers, windows and texture; `how` says how the llvm engine works: tier, threads, portable."""
    options: dict[str, Any] = {"limits": False, "choices": k.choices, **k.flags}
    device = (
        compiled_device(how, k.chip, **options) if engine == "llvm" else isakit.Device(k.chip, engine=engine, **options)
    )
    threads = len(k.inputs)
    data = device.alloc(THREAD_BYTES * threads + 64)
    device.write(data, k.inputs)
    own = device.alloc(WARP_BYTES * (threads // 32) + 64)
    common = device.alloc(64)
    for space, start in STARTS.items():
        device.bind(space, LinearWindow(start, 1 << 20))
    device.bind_texture(0, np.random.default_rng(k.seed).standard_normal((16, 16, 4)).astype(np.float32))
    kernel = device.load(k.words, registers=REGISTERS, shared=0x600, local=0x80, barriers=4)["main"]
    kernel.code = k.code = k.code or kernel.code
    kernel.constants.update(k.constants)
    params = np.array([data.address, own.address, common.address, 0], np.uint32).tobytes()
    return Loaded(device, kernel, params, common.address + 64)


def run(k: Fuzzed, engine: str, **how: Any) -> Outcome:
    """Launch a kernel."""
    on = loaded(k, engine, **how)
    out = Outcome(exact=k.one_warp)
    try:
        stats = on.kernel.launch(k.grid, k.block, param_bytes=on.param_bytes, max_instructions=k.budget)
        out.counts = stats.instructions, stats.warp_instructions
    except BudgetExceeded as e:
        out.fault = "budget", e.pc
    except MachineFault as e:
        out.fault = e.kind, e.pc, e.block, e.warp, e.lane, e.space, e.address
    except IsakitError as e:
        out.fault = type(e).__name__, str(e)
    out.memory = on.memory()
    return out


def keep_nothing() -> None:
    """No random kernel comes twice: none is worth keeping on disk."""
    os.environ["ISAKIT_CACHE"] = "off"


def keep_in(folder: str, level: int) -> None:
    """Compiled code is shared with the processes that keep theirs in a folder. `level`: how much LLVM optimises."""
    from isakit.engine.llvm import target

    os.environ["ISAKIT_CACHE"] = folder
    compiled = target.compile_text
    target.compile_text = lambda text, host, usual, quick: compiled(text, host, min(level, usual), quick)


def in_turns() -> None:
    """Warps are taken off after few instructions, as if they had turned in a loop for long."""
    from isakit.machine.tesla.compiled.launch import compiled_kernels

    keep_nothing()
    compiled_kernels.PATIENCE, compiled_kernels.TURN = 24, 9


def compare_choices(seed: int, ways: list[tuple[str, dict[str, Any]]], drawn: int | None = None) -> list[str]:
    """Run the kernel of a seed with random choices in all ways; returns what differs. `drawn`: see `with_choices`."""
    k = with_choices(seed, drawn)
    budget, k.budget = k.budget, k.budget or LONG
    wanted = run(k, "reference")
    if wanted.fault is None or wanted.fault[0] != "budget":
        k.budget = budget
    found: list[str] = []
    for engine, how in ways:
        difference = wanted.difference(run(k, engine, **how))
        if difference:
            found.append(f"{seed} ({k.chip}), {engine} {how}, {k.choices}: {difference}")
    return found


def compare(which: int | Path, ways: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Run the kernel of a seed, or a kept one, on the reference engine and in other ways; returns what differs."""
    k = kernel(which) if isinstance(which, int) else kept(which)
    wanted = run(k, "reference")
    found: list[str] = []
    for engine, how in ways:
        difference = wanted.difference(run(k, engine, **how))
        if difference:
            found.append(f"{which} ({k.chip}), {engine} {how}: {difference}")
    return found
