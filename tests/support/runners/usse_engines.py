"""Running USSE programs on the reference engine and on compiled code, and holding the results against each other."""

from __future__ import annotations

from typing import Any

import numpy as np

import isakit
from isakit.engine.llvm import Host
from isakit.errors import BudgetExceeded, MachineFault, NotModelled
from isakit.machine.usse import DEFAULT, Machine, Memory, Rules, ShaderCode, Texture
from isakit.machine.usse.compiled_shader import CompiledRuns, Runner
from isakit.machine.usse.shader_machine import Advance

SPECIAL = np.array([0, 0x80000000, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x7F800001, 0x7FC00001, 0x3F800000,
                    0x7F7FFFFF, 0x00800000, 0x7C007BFF, 0xFC007C01, 0x00010001,
                    0x3C00BC00, 0x80000001], np.uint32)  # fmt: skip


def machine(lanes: int, seed: int) -> Machine:
    """A machine with random registers: any bits, numbers in f32 and f16, special values; one sa for all lanes."""
    r = np.random.default_rng(seed)

    def bits(shape: tuple[int, ...]) -> Any:
        kinds = [
            r.integers(0, 1 << 32, shape, dtype=np.uint64).astype(np.uint32),
            r.uniform(-4, 4, shape).astype(np.float32).view(np.uint32),
            r.uniform(-9, 9, (*shape[:-1], 2 * shape[-1])).astype(np.float16).view(np.uint16).view(np.uint32),
            r.choice(SPECIAL, shape),
        ]
        return np.choose(r.integers(0, 4, shape), kinds)

    texture = Texture(r.uniform(0, 1, (4, 4, 4)).astype(np.float32))
    memory = Memory()
    memory.add(np.zeros(64, np.uint8))
    m = Machine(lanes, memory=memory, textures=dict.fromkeys(range(256), texture), uniform=bits((256, 1)),
                rows={"r": 160, "o": 64, "pa": 140})  # fmt: skip
    for name in ("r", "o", "pa", "i", "g"):
        m.files[name][:] = bits(m.files[name].shape)
    m.files["idx"][:] = r.integers(0, 8, m.files["idx"].shape)
    m.files["p"][:] = r.integers(0, 2, m.files["p"].shape)
    return m


def outcome(m: Machine, code: ShaderCode, limit: int, runner: Advance | None) -> dict[str, Any]:
    """Everything a run leaves behind."""
    error = ""
    try:
        m.run(code, limit, runner)
    except (NotModelled, MachineFault, BudgetExceeded) as e:
        error = f"{type(e).__name__}: {e}"
    out: dict[str, Any] = {name: np.array(a) for name, a in m.files.items()}
    out |= {"killed": m.killed, "depth": m.depth, "notes": list(m.notes.items()), "executed": m.executed,
            "increments": m.increments, "error": error}  # fmt: skip
    return out


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """What is not the same, in words."""
    out: list[str] = []
    for name, a in one.items():
        b = other[name]
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            if a.dtype == np.float32:
                a, b = a.view(np.uint32), b.view(np.uint32)
            if not np.array_equal(a, b):
                where = np.argwhere(a != b)[0]
                at = tuple(where)
                out.append(f"{name}{[int(n) for n in where]}: {int(a[at]):#x} and {int(b[at]):#x}")
        elif (isinstance(a, np.ndarray) or isinstance(b, np.ndarray)) or a != b:
            out.append(f"{name}: {a} and {b}")
    return out


def compare(words: list[int], target: Host, *, program: str = "primary", lanes: int = 48, seed: int = 1,
            rules: Rules = DEFAULT, limit: int = 1000) -> dict[str, Any]:  # fmt: skip
    """Run a program both ways; AssertionError with the listing where something differs. Returns what a run leaves."""
    text = isakit.isa("usse").disassemble(words, program_type=program)
    code = ShaderCode(text, rules)
    expected = outcome(machine(lanes, seed), code, limit, None)
    m = machine(lanes, seed)
    got = outcome(m, code, limit, Runner(m, CompiledRuns(code, target), True).advance)
    found = differences(expected, got)
    assert not found, "\n".join([*found, str(text)])
    return expected
