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
