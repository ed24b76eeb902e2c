"""What the codec's fast paths rely on: text, error and claimed bits depend on the bits of `possible` alone."""

from __future__ import annotations

import random

import pytest

import isakit
from isakit.spec import Part
from isakit.spec.parts import claimed_bits, error_of, possible_bits, text_of

VIEWS = [
    (name, variant, program)
    for name in ("tesla", "vuc", "usse")
    for variant in isakit.isa(name).records.variants
    for program in isakit.isa(name).records.programs
]


@pytest.mark.parametrize(("name", "variant", "program"), VIEWS)
def test_parts_depend_on_the_bits_they_may_claim(name: str, variant: str, program: str) -> None:
    rng = random.Random(3)
    view = isakit.isa(name, variant).decoder(program).view
    seen: set[int] = set()
    for form in view.forms:
        bits = view.variant.unit_bits * form.units
        for part in form.parts.values():
            if id(part) in seen:
                continue
            seen.add(id(part))
            mine = possible_bits(part)
            for _ in range(2):
                word = form.base ^ rng.getrandbits(bits) & ~form.fixed.mask
                others = (word & mine, word ^ rng.getrandbits(bits) & ~mine)
                for other in others:
                    assert told(part, word) == told(part, other), (form.record and form.record.name, part)


def told(part: Part, word: int) -> tuple[str, str | None, int]:
    return text_of(part, word), error_of(part, word), claimed_bits(part, word)
