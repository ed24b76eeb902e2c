"""Random programs of graphics stages: the control flow of `fuzz`, and what only stages have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from isakit.arch.tesla.tesla import tesla
from isakit.asm import assemble
from isakit.codec import decoder
from isakit.errors import IsakitError
from isakit.graphics.stage import ConstantVaryings, Stage, StageState
from isakit.graphics.stage_engine import StageEngine
from isakit.graphics.stage_program import Kind, StageProgram
from isakit.tesla import Sampler, Texture
from support.generators.fuzz import REGISTERS, SPECIAL
from support.generators.fuzz_instructions import DATA, Instructions
from support.generators.fuzz_kernels import Generator

TEXTURES = (
    "texauto live $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1 0x0 0x0 0x0",
    "texauto all $r4:#:$r5:# $t1 $s1 $r4:$r5 0x0 0x0 0x0",
    "texbias live $r4:$r5:$r6:$r7 $t1 $s1 $r4:$r5:$r6 0x0 0x0 0x0",
    "texgather live $r0:$r1:$r2:$r3 $t1 $s1 $r0:$r1 0x0 0x0 0x0",
    "texlod live $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1:$r2 0x0 0x0 0x0",
    "texfetch live $r4:$r5:$r6:$r7 $t0 $s0 $r4:$r5 0x0 0x0 0x0",
    "texauto live $r0:$r1:$r2:$r3 $t2 $s2 $r0:$r1 0x0 0x0 0x0",
)
"""The last one is bound in no draw: it faults."""


class StageInstructions(Instructions):
    """Writes instructions that only compute; what reaches the spaces of a stage comes from `StageGenerator`."""

    def access(self) -> list[str]:
        """Stages have no memory but l[]."""
        return self.compute()

    def _fitted(self, text: str) -> list[str] | None:
        lines = super()._fitted(text)
        return None if lines is None or re.search(r"\b[sapov]\[", "\n".join(lines)) else lines


class StageGenerator(Generator):
    """Writes one program of a stage."""

    kind: Kind

    def writer(self) -> Instructions:
        self.kind = self.random.choice(["vertex", "geometry", "fragment", "fragment"])
        self.alone, self.textures = True, None
        return StageInstructions(self.chip, self.random, self.alone, self.wild, self.kind)

    def add(self, *lines: str) -> None:
        """Barriers are left out where the stage has none."""
        super().add(*(x for x in lines if not x.startswith("bar") or self.instructions.assembled(x) is not None))

    def statement(self, depth: int, **how: Any) -> None:
        """What only a stage has comes more often."""
        if self.random.random() < 0.4:
            self.memory()
        else:
            super().statement(depth, **how)

    def memory(self) -> None:
        """Something only a stage has, under a condition now and then."""
        r = self.random
        guard = ""
        if r.random() < 0.4:
            self.set_flags(2)
            guard = r.choice(["(e $c2) ", "(lg $c2) ", "(l $c2) "])
        lines = [f"ld b32 {self.data()} l[{4 * r.randrange(4):#x}]", f"st b32 l[{4 * r.randrange(4):#x}] {self.data()}"]
        word = 4 * r.randrange(0, 8)
        if self.kind == "fragment":
            lines += [f"{r.choice(['long ', ''])}interp {self.data()} {r.choice(['', 'flat '])}v[{word:#x}]"] * 2
            lines += ["discard", f"interp {self.data()} v[$a1+{word:#x}]"]
            lines += r.choices(TEXTURES, weights=[9] * (len(TEXTURES) - 1) + [1], k=3)
        else:
            lines += [f"mov b32 o[{word:#x}] {self.data()}"] * 4 + [r.choice(TEXTURES).replace("live", "all")]
        if self.kind == "geometry":
            lines += [f"mov b32 {self.data()} p[{word:#x}]", f"mov b32 {self.data()} p[$a1+{word:#x}]"]
            lines += ["emit"] * 3 + ["restart"]
        if self.kind == "vertex":
            lines += [f"mov b32 {self.data()} a[{word:#x}]"]
        line = r.choice(lines)
        if "$a1" in line:
            self.add(f"and b32 $r13 {self.data()} {0x1C if not self.wild else 0x7F:#x}", "shl $a1 $r13 0x0")
        for text in (guard + line, line, "long " + line):
            if self.instructions.assembled(text) is not None:
                self._aligned(text)
                return

    def _aligned(self, text: str) -> None:
        """8-byte instructions start at multiples of 8."""
        self.add(text)
        if self.instructions.assembled(text).size == 4:
            self.add("mov b16 $r0l $r0l")

    def program(self) -> str:
        """The text."""
        r = self.random
        self.functions = r.randrange(2)
        source = {
            "vertex": "mov b32 $r{} a[{:#x}]",
            "geometry": "mov b32 $r{} p[{:#x}]",
            "fragment": "interp $r{} v[{:#x}]",
        }
        for k in range(DATA):
            self._aligned(source[self.kind].format(k, 4 * k))
        self.add(*(f"mov b32 $r{k} 0x0" for k in range(DATA, DATA + 4)))
        for _ in range(r.randrange(1, 4)):
            self.statements(2)
        last = r.choice(TEXTURES[:-1]) if self.kind == "fragment" and r.random() < 0.3 else "nop"
        self.add(f"exit {last}" if self.instructions.assembled(f"exit {last}") is not None else "exit nop")
        return self.complete()


@dataclass(frozen=True)
class Case:
    """A program with its inputs."""

    text: str
    program: StageProgram
    stage: Stage


def case(seed: int) -> Case:
    """The program of a seed and what it works on."""
    g = StageGenerator(seed)
    text = g.text
    rng = np.random.default_rng(seed)
    lanes = int(rng.choice([4, 32, 68, 132]))
    rows = rng.integers(0, 1 << 32, (8, lanes), dtype=np.uint32)
    floats = rng.uniform(-2, 2, rows.shape).astype(np.float32).view(np.uint32)
    rows = np.where(rng.random(rows.shape) < 0.6, floats, rows)
    odd = rng.random(rows.shape) < 0.1
    rows[odd] = rng.choice(np.array(SPECIAL, np.uint32), int(odd.sum()))
    constants = {k: rng.integers(0, 256, 1 << 16, dtype=np.uint8).tobytes() for k in (0, 1)}
    flags = frozenset(n for n in ("mul_zero_wins", "sat_nan", "nonfp_deriv_inf") if rng.random() < 0.2)
    assembled = assemble(text, decoder(tesla, g.chip, g.kind))
    for bank, segments in assembled.constants.items():
        content = bytearray(max(s.offset + len(s.data) for s in segments))
        for s in segments:
            content[s.offset : s.offset + len(s.data)] = s.data
        constants[bank] = bytes(content)
    program = StageProgram(
        g.kind, list(assembled.words), g.chip, registers=REGISTERS, local_bytes=0x80, constants=constants, flags=flags
    )
    if g.kind == "fragment":
        stage = Stage(lanes, varyings=ConstantVaryings(rows), visible=rng.random(lanes) < 0.8)
    elif g.kind == "geometry":
        stage = Stage(lanes, attributes=rows, primitive=rows, max_vertices=4)
    else:
        stage = Stage(lanes, attributes=rows, active=rng.random(lanes) < 0.9)
    return Case(text, program, stage)


def outcome(c: Case, engine: str, tier: str) -> dict[str, Any]:
    """All that a run leaves: registers, outputs, masks, vertices and counts, or the fault."""
    data = np.random.default_rng(1).integers(0, 256, (8, 8, 4)).astype(np.uint8)
    textures = {0: Texture([data, data[::2, ::2], data[::4, ::4]]), 1: Texture(data.astype(np.float32) / 64)}
    samplers = {0: Sampler(wrap="repeat", mag="linear", min="linear", mip="linear"), 1: Sampler(wrap="border")}
    try:
        done = StageEngine(engine, tier).run(c.program.launch(textures, samplers), c.stage)
    except IsakitError as e:
        return {"fault": f"{type(e).__name__}: {e}"}
    s: StageState = done.state
    counts = done.stats.instructions, done.stats.warp_instructions
    out: dict[str, Any] = {"r": s.files["r"], "o": s.files["o"], "visible": s.visible, "counts": np.array(counts)}
    out |= {"words": s.emitted.words, "starts": s.emitted.starts, "count": s.emitted.count}
    return out


def differences(seed: int, tiers: tuple[str, ...]) -> list[str]:
    """What tiers of the llvm engine leave that the reference engine does not."""
    c = case(seed)
    wanted = outcome(c, "reference", "auto")
    found: list[str] = []
    for tier in tiers:
        got = outcome(c, "llvm", tier)
        if got.keys() != wanted.keys() or any(not np.array_equal(got[k], wanted[k]) for k in wanted):
            keys = [k for k in got if k not in wanted or not np.array_equal(got[k], wanted[k])]
            found.append(f"{seed} ({c.program.chip}, {c.program.kind}), {tier}: {keys or [got, wanted]}")
    return found
