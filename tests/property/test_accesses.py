"""What instructions tell of the registers they read and write, held against what their meaning reads and writes."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import isakit
from isakit.codec import Instruction
from isakit.errors import NotModelled
from isakit.sem.semantics import trace_of
from isakit.sem.trace import Trace
from isakit.sem.value import Value, uniform_number

CONTEXTS = [
    ("tesla", "gt200", "compute"), ("tesla", "gt215", "vertex"), ("tesla", "gt215", "geometry"),
    ("tesla", "gt215", "fragment"), ("vuc", "vp2", ""), ("vuc", "vp4", ""), ("usse", "sgx543", "primary"),
    ("usse", "sgx543", "secondary"),
]  # fmt: skip
IMPLIED = {"acc", "sr", "v"}
"""Files that instructions touch without naming a register: the accumulator of vµc, what follows from a special one."""


def instructions(isa: str, variant: str, program: str, count: int) -> Iterator[Instruction]:
    decoder = isakit.isa(isa, variant).decoder(program or None)
    rng = random.Random(7)
    forms = [f for f in decoder.view.forms if decoder.view.available(f)]
    for _ in range(count):
        form = rng.choice(forms)
        word = rng.getrandbits(form.units * decoder.view.variant.unit_bits)
        i = decoder.one(word & ~form.fixed.mask | form.fixed.value, form.units)
        if i.valid:
            yield i


def nodes(trace: Trace) -> Iterator[Value]:
    """All values of a trace."""
    seen: set[int] = set()
    waiting = [v for e in trace.effects for v in (*e.args, e.when) if v is not None]
    while waiting:
        v = waiting.pop()
        if id(v) not in seen:
            seen.add(id(v))
            yield v
            waiting += v.args


def holds(when: Value | None, word: int) -> bool | None:
    """Whether a condition is fulfilled, None where that depends on the lane."""
    if when is None:
        return True
    return bool(uniform_number(when, word)) if when.uniform else None


def meant(i: Instruction) -> tuple[set[tuple[str, int]], set[tuple[str, int]], set[tuple[str, int]]] | None:
    """(registers read, written, written under no condition) by the trace; None where its meaning is not known."""
    assert i.form is not None
    try:
        trace = trace_of(i.form, i.word)
    except NotModelled:
        return None
    files = i.decoder.isa.registers
    reads = {(v.attr, uniform_number(v.args[0], i.word)) for v in nodes(trace) if v.op == "read" and v.args[0].uniform}
    writes = {
        (e.name, uniform_number(e.args[0], i.word)): e.when
        for e in trace.of_kind("write")
        if e.args[0].uniform and holds(e.when, i.word) is not False
    }
    real = {(f, n) for f, n in (*reads, *writes) if f in files and n < files[f].count and n not in files[f].constant}
    return reads & real, set(writes) & real, {w for w, when in writes.items() if holds(when, i.word)} & real


@pytest.mark.parametrize(("isa", "variant", "program"), CONTEXTS)
def test_accesses_agree_with_the_meaning(isa: str, variant: str, program: str) -> None:
    checked = 0
    for i in instructions(isa, variant, program, 1000):
        known = meant(i)
        if known is None:
            continue
        checked += 1
        reads, writes, certain = known
        described = {p for p in writes if p[0] not in IMPLIED}
        assert described <= set(i.defs), i.text
        assert {p for p in reads if p[0] not in IMPLIED} <= {*i.uses, *i.defs}, i.text
        if not any(r.index_register for r in i.registers):
            assert {p for p in i.kills if p[0] not in IMPLIED} <= certain, i.text
    assert checked > 100
