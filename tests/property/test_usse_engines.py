"""Compiled code for shaders leaves behind what the reference engine does: registers, notes, counts, errors."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("llvmlite")

import isakit
from isakit.engine.llvm import host
from isakit.machine.usse import Rules, ShaderCode
from isakit.machine.usse.compiled_shader import CompiledRuns, ShaderFacts
from support.generators.usse_programs import forms, program, words_of
from support.runners.usse_engines import compare, machine

ALL = forms("primary")
GROUPS = [ALL[k :: len(ALL) // 8] for k in range(len(ALL) // 8)]


@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_straight_programs(group):
    """Every form that executes, with all kinds of operands, predicates and repetitions, one after the other."""
    r = random.Random(group)
    words = [w for f in GROUPS[group] for w in words_of(f, r, "primary", 2)]
    r.shuffle(words)
    assert words
    rules = (Rules(), Rules(fused=False), Rules(flush=True))[group % 3]
    out = compare(words, host(portable=group % 2 == 1), lanes=(48, 37, 16, 38)[group % 4], seed=group, rules=rules)
    assert out["executed"]
    assert not out["error"]


def test_secondary_programs_write_shared_attributes():
    r = random.Random(77)
    found = forms("secondary")
    words = [w for f in found[::5] for w in words_of(f, r, "secondary", 1)]
    out = compare(words, host(), program="secondary", seed=4)
    assert out["executed"]


@pytest.mark.parametrize("number", range(12))
def test_branching_programs(number):
    r = random.Random(1000 + number)
    straight = [w for f in r.sample(ALL, 6) for w in words_of(f, r, "primary", 1)]
    for k in range(4):
        words = program(r, straight)
        limit = r.choice([300, 300, 17, 40])  # some end by the budget, at the same instruction with the same registers
        compare(words, host(), lanes=r.choice([16, 37, 64]), seed=number * 10 + k, limit=limit)


def test_a_predicate_that_its_own_instruction_changes():
    """The lanes are settled before the first repetition."""
    isa = isakit.isa("usse")
    text = "p0 vtst.sub.f32 lt p0.x r0 pa0.xxxx repeat 3\np0 vmov.f32 r2.xy pa4.xyzw repeat 3"
    compare(isa.assemble(text).words, host(), seed=9)


@pytest.mark.parametrize("portable", [False, True])
def test_a_bit_field_is_converted_into_its_place(portable):
    """`vpck.c10.f32` writes ten bits where the mask says: to LLVM one masked `vpternlog` on AVX-512."""
    words = [4760769155962309372, 4798758893286996141]
    compare(words, host(portable=portable), lanes=64, seed=504448218544, limit=17)


def test_what_stays_with_the_machine():
    """Index registers, samples and memory end a stretch; unknown words never become part of one."""
    isa = isakit.isa("usse")
    source = (
        "vmul.f32 r0.xy r0.xyzw r2.xyzw\nor.u32 r4 sa[idx1+4] #0x0\nor.u32 r5 r4 #0x0\nbr +2\nor.u32 r6 r4 #0x0\n"
        "or.u32 r7 r4 #0x0"
    )
    code = ShaderCode(isa.assemble(source), Rules())
    found = CompiledRuns(code, host())
    m = machine(16, 1)
    facts = ShaderFacts(tuple((n, len(a)) for n, a in m.files.items()), True, True)

    def ends(pc: int) -> int | None:
        stretch = found.at(pc, m.increments, facts)
        return None if stretch is None else stretch.end

    assert [ends(k) for k in range(6)] == [1, None, 3, None, 5, 6]
