"""Properties every instruction set must have, on random words: totality, identity, and agreement of the fast paths."""

from __future__ import annotations

import importlib
import os
import random
import zlib
from collections.abc import Iterator

import numpy as np
import pytest

from isakit.codec import Decoder, decoder
from isakit.spec import InstructionSet
from support.runners.codec import encode

ISAS = ["tesla", "vuc", "usse"]
LONG = os.environ.get("ISAKIT_PROFILE") == "long"


def load(name: str) -> InstructionSet:
    return getattr(importlib.import_module(f"isakit.arch.{name}"), name)


def contexts() -> Iterator[tuple[str, str, str]]:
    for name in ISAS:
        isa = load(name)
        for variant in isa.variants:
            for program in isa.programs:
                yield name, variant, program


CONTEXTS = list(contexts())


def random_words(d: Decoder, count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Random words, half of them biased to few set bits so that rare forms turn up."""
    rng = random.Random(seed)
    bits = d.view.variant.unit_bits
    forms = d.view.forms
    for _ in range(count):
        unit = rng.getrandbits(bits)
        units = d.isa.length(unit)
        word = unit
        for k in range(1, units):
            word |= rng.getrandbits(bits) << bits * k
        if rng.random() < 0.7:  # aim at a form
            f = rng.choice(forms)
            units = f.units
            noise = rng.getrandbits(bits * units)
            if rng.random() < 0.5:
                noise &= rng.getrandbits(bits * units)
            word = noise & ~f.fixed.mask | f.fixed.value
            if rng.random() < 0.5:
                word = f.base ^ (noise & f.possible & ~f.fixed.mask)
        yield word, units


@pytest.mark.parametrize(("name", "variant", "program"), CONTEXTS)
def test_random_words(name: str, variant: str, program: str) -> None:
    d = decoder(load(name), variant, program)
    count = 50_000 if LONG else 600
    for word, units in random_words(d, count, seed=zlib.crc32(f"{name} {variant} {program}".encode())):
        i = d.one(word, units)
        assert i.word == word
        if i.form is not None:
            # the compiled fast paths say what the definitions say
            assert i.compiled is not None
            assert i.error == i.form.error(word)
            assert i.compiled.unexplained(word) == i.form.unexplained(word)
            assert i.plain_text == i.form.text(word)
        if not i.valid:
            assert (i.error or "").isupper()
            assert i.text.startswith(".word ")
            continue
        assert encode(d, i.text) == word, f"{word:#x} {i.text}"
        assert d.one(word, units).text == i.text
        assert i.unknown_bits & ~word == 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant", "program"), CONTEXTS)
def test_many_random_words_decode(name: str, variant: str, program: str) -> None:
    """A million words per instruction set: an instruction or a named error, never anything else."""
    d = decoder(load(name), variant, program)
    per_context = 1_000_000 // sum(c[0] == name for c in CONTEXTS)
    for word, units in random_words(d, per_context, seed=7):
        i = d.one(word, units)
        assert (i.error is None) == i.valid
        assert i.plain_text


@pytest.mark.parametrize("name", ISAS)
def test_no_two_forms_match_one_word(name: str) -> None:
    isa = load(name)
    for variant in isa.variants:
        d = decoder(isa, variant)
        words = random_words(d, 2_000, seed=3)
        for size in {units for _, units in words}:
            given = np.array([w for w, units in words if units == size], np.uint64)
            forms = [f for f in d.view.forms if f.units == size and d.view.available(f)]
            matching = np.zeros(len(given), int)
            for f in forms:
                out = [_have(given, u.mask, u.value) for u in f.unless]
                matching += _have(given, f.fixed.mask, f.fixed.value) & ~np.any([np.zeros(len(given), bool), *out], 0)
            for k in np.flatnonzero(matching > 1):
                pytest.fail(f"{given[k]:#x}: {[str(f) for f in forms if f.matches(int(given[k]))]}")
            sample = given[:: max(1, len(given) // 20)]
            assert [sum(f.matches(int(w)) for f in forms) for w in sample] == list(
                matching[:: max(1, len(given) // 20)]
            )


def _have(words: np.ndarray, mask: int, value: int) -> np.ndarray:
    """Which words have the bits."""
    return words & np.uint64(mask) == np.uint64(value)


@pytest.mark.parametrize("name", ISAS)
def test_explain_accounts_for_every_bit(name: str) -> None:
    isa = load(name)
    for variant in isa.variants:
        d = decoder(isa, variant)
        for word, units in random_words(d, 200, seed=11):
            i = d.one(word, units)
            if i.form is None:
                continue
            covered = 0
            for row in i.explain():
                covered |= row.mask
            assert covered == (1 << d.view.variant.unit_bits * units) - 1
