"""Compiled code for shaders leaves behind what the reference engine does: registers, notes, counts, errors."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("llvmlite")

import isakit
from isakit.arch.usse import usse
from isakit.codec.decoder import decoder
from isakit.engine.llvm import host
from isakit.errors import BudgetExceeded, MachineFault, NotModelled
from isakit.machine.usse import Code, Rules
from isakit.machine.usse.compiled_shader import Facts, Stretches
from isakit.spec import Form
from support.usse_engines import compare, machine

CONTROL = {"br", "bra", "ret", "kill", "smlsi", "smbo"}
"""Left out of straight programs: they have tests of their own."""


def forms(program: str) -> list[Form]:
    view = usse.view("sgx543", program)
    return [f for f in view.forms if view.available(f) and f.record and f.record.name not in CONTROL]


def runs(word: int, program: str) -> bool:
    """Whether the reference engine can execute an instruction."""
    if not decoder(usse, "sgx543", program).one(word, 1).valid:
        return False
    code = Code(isakit.isa("usse").disassemble([word], program_type=program), Rules())
    try:
        machine(4, 1).run(code, 10)
    except (NotModelled, MachineFault, BudgetExceeded):
        return False
    return True


def words_of(form: Form, r: random.Random, program: str, count: int) -> list[int]:
    """Instructions of a form that execute."""
    out: list[int] = []
    for _ in range(12 * count):
        word = r.getrandbits(64) & ~form.fixed.mask | form.fixed.value
        if len(out) < count and runs(word, program):
            out.append(word)
    return out


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


def control(r: random.Random, at: int, length: int) -> str:
    """A control instruction at a place of a program; branches mostly go forward."""
    pred = r.choice(["", "p0 ", "p1 ", "!p0 ", "!p1 "])
    distance = r.randint(1, max(1, min(12, length - at)))
    if r.random() < 0.15:
        distance = -r.randint(0, min(at, 6))
    return r.choice(
        [
            f"{pred}br {distance:+d}", f"{pred}br {distance:+d}", f"{pred}br {distance:+d} savelink", f"{pred}ret",
            f"kill {r.choice(['p0', '!p1'])}", "smlsi limits 0 0 0 d 2 s0 1 s1 -1 s2 1",
            "smlsi limits 0 0 0 d 1 s0 1 s1 o2301 s2 1",
            f"vtst.sub.f32 lt p{r.randint(0, 3)}.x r{2 * r.randint(0, 9)} pa{2 * r.randint(0, 9)}.xxxx",
        ]
    )  # fmt: skip


def program(r: random.Random, straight: list[int]) -> list[int]:
    """A program with branches, loops, calls and killed lanes."""
    isa = isakit.isa("usse")
    length = r.randint(8, 40)
    out: list[int] = []
    for at in range(length):
        out.append(isa.assemble(control(r, at, length)).words[0] if r.random() < 0.3 else r.choice(straight))
    return out


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


def test_what_stays_with_the_machine():
    """Index registers, samples and memory end a stretch; unknown words never become part of one."""
    isa = isakit.isa("usse")
    source = (
        "vmul.f32 r0.xy r0.xyzw r2.xyzw\nor.u32 r4 sa[idx1+4] #0x0\nor.u32 r5 r4 #0x0\nbr +2\nor.u32 r6 r4 #0x0\n"
        "or.u32 r7 r4 #0x0"
    )
    code = Code(isa.assemble(source), Rules())
    found = Stretches(code, host())
    m = machine(16, 1)
    facts = Facts(tuple((n, len(a)) for n, a in m.files.items()), True, True)

    def ends(pc: int) -> int | None:
        stretch = found.at(pc, m.increments, facts)
        return None if stretch is None else stretch.end

    assert [ends(k) for k in range(6)] == [1, None, 3, None, 5, 6]
