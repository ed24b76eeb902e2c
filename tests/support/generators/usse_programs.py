"""Random USSE programs: instructions of every form, branches, loops, calls and lanes that are killed."""

from __future__ import annotations

import random

import isakit
from isakit.arch.usse import usse
from isakit.codec.decoder import decoder
from isakit.errors import BudgetExceeded, MachineFault, NotModelled
from isakit.machine.usse import Rules, ShaderCode
from isakit.spec import Form
from support.runners.usse_engines import machine

CONTROL = {"br", "bra", "ret", "kill", "smlsi", "smbo", "spec_1_5"}
"""Left out of straight programs: they have tests of their own."""


def forms(program: str) -> list[Form]:
    """The forms of a program type, those that transfer control apart."""
    view = usse.view("sgx543", program)
    return [f for f in view.forms if view.available(f) and f.record and f.record.name not in CONTROL]


def runs(word: int, program: str) -> bool:
    """Whether the reference engine can execute an instruction."""
    if not decoder(usse, "sgx543", program).one(word, 1).valid:
        return False
    code = ShaderCode(isakit.isa("usse").disassemble([word], program_type=program), Rules())
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


def any_words(form: Form, r: random.Random, count: int) -> list[int]:
    """Instructions of a form, whether they execute or fault."""
    words = (r.getrandbits(64) & ~form.fixed.mask | form.fixed.value for _ in range(12 * count))
    return [w for w in words if decoder(usse, "sgx543", "primary").one(w, 1).valid][:count]


def branching(r: random.Random, faults: bool = False) -> list[int]:
    """A program with branches; its straight instructions all execute, unless `faults`."""
    chosen = r.sample(forms("primary"), 8)
    words = [w for f in chosen for w in (any_words(f, r, 2) if faults else words_of(f, r, "primary", 1))]
    return program(r, words or [0])
