"""Random USSE programs, run before and while a rule of the core has another text."""

from __future__ import annotations

import os
import random
from typing import Any

import isakit
from isakit.engine.llvm import host
from isakit.machine.usse import DEFAULT, ShaderCode, rules
from isakit.machine.usse.compiled_shader import CompiledRuns, Runner
from isakit.sem.routine import Routine
from support.generators.usse_programs import forms, program, words_of
from support.runners.usse_engines import differences, machine, outcome

LANES, LIMIT, PROGRAMS = 32, 60, 12
GRADIENTS = "vdsx.f32 r2.xy r0.xyzw r0.xyzw\nvdsy.f32 r6.xy r0.xyzw r0.xyzw"
SKIPS = "p0 bra 0x3\n" + "\n".join(f"or.u32 r{n} pa{n} #0x1" for n in range(5))
MUTATIONS: dict[str, tuple[Routine[Any, Any], str, str, str]] = {
    "which lanes execute": (rules.executes, "stands and predicate", "stands or predicate", ""),
    "which lanes execute without a predicate": (rules.executes, "and not predicate if", "and predicate if", ""),
    "where a branch goes": (rules.target, "else operand", "else operand + 1", SKIPS),
    "where a relative branch goes": (rules.target, "here + operand if", "here + operand + 1 if", ""),
    "which lane is the neighbour": (rules.neighbour, "lane & ~without | added", "lane | added", GRADIENTS),
}
"""(rule, its text, another text, a program that shows it, or "" for random ones)."""


def _programs(text: str) -> list[list[int]]:
    if text:
        return [list(isakit.isa("usse").assemble(text).words)]
    r, every = random.Random(5), forms("primary")
    return [program(r, [w for f in r.sample(every, 6) for w in words_of(f, r, "primary", 1)]) for _ in range(PROGRAMS)]


def _both(words: list[int], seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a program leaves on the reference engine, and in compiled code."""
    code = ShaderCode(isakit.isa("usse").disassemble(words, program_type="primary"), DEFAULT)
    m = machine(LANES, seed)
    return (
        outcome(machine(LANES, seed), code, LIMIT, None),
        outcome(m, code, LIMIT, Runner(m, CompiledRuns(code, host()), True).advance),
    )


def outcomes(name: str) -> dict[str, Any]:
    """Of the first program that a mutation changes: what it leaves on both engines, before and then."""
    os.environ["ISAKIT_CACHE"] = "off"
    rule, old, new, text = MUTATIONS[name]
    for seed, words in enumerate(_programs(text)):
        before = _both(words, seed)
        with rule.rewritten(old, new):
            then = _both(words, seed)
        if differences(before[0], then[0]):
            return {"seed": seed, "before": before, "then": then}
    return {"seed": None}
