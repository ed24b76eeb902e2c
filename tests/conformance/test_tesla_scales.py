"""What each scaled number of the Tesla encodings is known from: bytes per step, as other disassemblers print them.

A kind of operand has evidence where a listing that is not ours prints the same number of bytes for a field that is not
zero. `docs/explanation/unknowns.md` lists the kinds that have none.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from isakit.arch.tesla import tesla
from isakit.codec import Instruction, decoder
from isakit.spec import Part
from isakit.spec.operands import CodeAddress, Memory, Register
from isakit.spec.parts import accepted_text

pytestmark = pytest.mark.slow

PROGRAMS = {"cp": "compute", "vp": "vertex", "gp": "geometry", "fp": "fragment"}
_OWN = {"bra_c", "interp", "ld_a", "ld_c", "ld_l", "ld_s", "st_l", "st_o", "st_s"}


_MOVING = {f"l[] {r} {n} ++" for r in ("ld_l", "st_l") for n in (1, 2, 4, 8, 16)} - {"l[] ld_l 1 ++"}
WITHOUT = _MOVING | {
    "a[] ld_a 4",
    "c[] bra_c 4",
    "c[] ld_c 2 ++",
    "l[] ld_l 8",
    "l[] ld_l 16",
    "l[] st_l 8",
    "l[] st_l 16",
    "s[] long 2 ++",
    "s[] st_s 1 ++",
    "s[] st_s 2 ++",
}
"""Kinds that no listing shows with a number that is not zero."""


def scaled(i: Instruction) -> Iterator[tuple[str, str]]:
    """(kind, the number as it is printed) of every scaled operand that is not zero."""
    assert i.form is not None
    assert i.record is not None
    where = i.record.name if i.record.name in _OWN else i.form.layout.name
    for o in i.operands:
        if isinstance(o, CodeAddress) and o.address:
            yield "code address", f"{o.address:#x}"
        elif isinstance(o, Memory) and o.space[0] != "g" and o.offset:
            moving = " ++" if o.post_increment else ""
            yield f"{o.space.rstrip('0123456789')}[] {where} {o.size}{moving}", f"{abs(o.offset):#x}]"
        elif isinstance(o, Register) and o.file == "o" and o.index:
            yield f"o[] destination {o.width // 8}", o.text[o.text.index("[") + 1 :]


def nvidia(shared: Path) -> Iterator[tuple[Instruction, str]]:
    for line in (shared / "corpus/tesla/sass-pairs.tsv").read_text().splitlines()[1:]:
        low, high, text = line.split("\t")
        word = int(low, 16) | (int(high, 16) << 32 if high else 0)
        yield decoder(tesla, "gt200", "compute").one(word, 2 if high else 1), text.replace(" ", "")


def envydis(shared: Path) -> Iterator[tuple[Instruction, str]]:
    for line in (shared / "corpus/tesla/envydis-pairs.tsv").read_text().splitlines()[1:]:
        variant, program, low, high, status, text, *_ = line.split("\t")
        if status == "ok":
            word = int(low, 16) | (int(high, 16) << 32 if high else 0)
            yield decoder(tesla, variant, PROGRAMS[program]).one(word, 2 if high else 1), text


def count(pairs: Iterator[tuple[Instruction, str]]) -> tuple[Counter[str], Counter[str]]:
    same: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for i, text in pairs:
        if i.valid:
            for kind, number in scaled(i):
                (same if number in text else other)[kind] += 1
    return same, other


def _addresses(p: Part) -> bool:
    """Whether an operand may be a memory, an output or a code address."""
    return p.code_address or "[" in accepted_text(p)


def possible() -> set[str]:
    """Every kind of scaled operand that some form has."""
    rng = random.Random(3)
    kinds: set[str] = set()
    seen: set[object] = set()
    for program in PROGRAMS.values():
        d = decoder(tesla, "gt200", program)
        for form in d.view.forms:
            if form not in seen and d.view.available(form) and any(_addresses(p) for p in form.parts.values()):
                seen.add(form)
                for _ in range(64):
                    word = form.base | rng.getrandbits(32 * form.units) & form.possible & ~form.fixed.mask
                    i = d.one(word, form.units)
                    if i.valid:
                        kinds |= {kind for kind, _ in scaled(i)}
    return kinds


def test_every_scale_but_those_listed_is_printed_by_another_disassembler(shared: Path) -> None:
    known = count(nvidia(shared))[0] + count(envydis(shared))[0]
    assert possible() - set(known) == WITHOUT


def test_only_the_indirect_branch_departs_from_the_public_disassembler(shared: Path) -> None:
    """Its jump tables, in a compiler's program, are words: [tesla] 13 no. 25."""
    same, other = count(envydis(shared))
    assert {k for k in other if k not in same and "++" not in k} == {"c[] bra_c 4"}
    assert other["c[] bra_c 4"] == 11
