"""Words and text of the public vµc tables, in both directions.

A sample is part of the repository; the whole set is read from the conformance data where that is present.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import isakit
from conftest import ROOT, shared_dir
from isakit.arch.vuc import vuc
from isakit.codec import Decoder, decoder, tokenize

VARIANTS = ("vp2", "vp3", "vp4")
MARKER = re.compile(r" \{(0x[0-9a-f]+)\}$")


def sources() -> list[tuple[str, Path]]:
    out = [(v, ROOT / "tests" / "vectors" / "vuc" / f"pairs-{v}.tsv") for v in VARIANTS]
    shared = shared_dir()
    if shared is not None:
        out += [(v, shared / "corpus" / "vuc" / f"pairs-{v}.tsv") for v in VARIANTS]
    return out


def rows(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t") == ["word", "envydis_text", "envyas_word", "class"]
    return [line.split("\t") for line in lines[1:]]


def assemble(d: Decoder, text: str, address: int = 0) -> int | None:
    """The word of one line, with the marker for unexplained bits and `.word`."""
    if text.startswith(".word "):
        return int(text.split()[1], 16)
    marker = MARKER.search(text)
    flip = int(marker[1], 16) if marker else 0
    tokens = tokenize(text[: marker.start()] if marker else text)
    return next((e.word for e in d.encoder.encodings(tokens, flip=flip, address=address)), None)


@pytest.mark.parametrize(("variant", "path"), sources(), ids=lambda x: x if isinstance(x, str) else x.parts[-3])
def test_pairs(variant: str, path: Path) -> None:
    d = decoder(vuc, variant)
    wrong: list[str] = []
    for digits, text, back, kind in rows(path):
        word = int(digits, 16)
        i = d.one(word, 1)
        if kind == "exact":
            if i.text != text:
                wrong.append(f"{digits}: {i.text!r}, want {text!r}")
            if assemble(d, text) != word:
                wrong.append(f"{digits}: {text!r} does not assemble to it")
        elif kind == "noncanon":
            if not i.valid or i.unknown_bits:
                wrong.append(f"{digits}: {i.error}, unknown bits {i.unknown_bits:#x}")
            if assemble(d, text) != int(back, 16):
                wrong.append(f"{digits}: {text!r} does not assemble to {back}")
        elif i.valid and not i.unknown_bits and i.mnemonic not in text.split():
            wrong.append(f"{digits}: {i.text!r} is a guess, {text!r} is all that is known")
        elif i.valid and i.mnemonic.startswith("unko") and i.record.status != "unknown":
            wrong.append(f"{digits}: {i.text!r} must be marked unknown")
        if assemble(d, i.text) != word:
            wrong.append(f"{digits}: {i.text!r} does not come back")
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_words_survive(variant: str) -> None:
    d = decoder(vuc, variant)
    rnd = random.Random(20261121)
    bits = 40 if variant == "vp2" else 30
    for _ in range(5_000):
        word = rnd.getrandbits(bits)
        i = d.one(word, 1)
        assert i.valid or i.error == "ILLEGAL_OPCODE"
        assert assemble(d, i.text) == word, i.text


@pytest.mark.parametrize("variant", VARIANTS)
def test_listings_come_back_wherever_the_code_stands(variant: str) -> None:
    isa = isakit.isa("vuc", variant)
    rnd = random.Random(variant)
    bits, unit = (40, 8) if variant == "vp2" else (30, 4)
    for start in (0, 0x123, 0x700):
        words = [rnd.getrandbits(bits) for _ in range(0x100)]
        listing = str(isa.disassemble(words, address=start * unit))
        assert list(isa.assemble(listing).words) == words


@pytest.mark.parametrize(
    ("variant", "every"), [*((v, 7) for v in VARIANTS), *(pytest.param(v, 1, marks=pytest.mark.slow) for v in VARIANTS)]
)
def test_words_of_one_operand_field_survive(variant: str, every: int) -> None:
    """All combinations of the fields that share bits, for the operations where they do: mov, slct, ld, st, and."""
    d = decoder(vuc, variant)
    lead = 0xFFC0000000 if variant == "vp2" else 0
    for low in (0x01, 0x60, 0x21, 0x00, 0x41, 0x0B, 0x14000081, 0x14000080, 0x14000044):
        for upper in range(0, 1 << 12, every):  # PRED EXT OT0 IMMF OT1 PE and two bits of DST
            word = lead | low | (upper >> 2) << 20 | (upper & 3) << 16 | 0x5300
            i = d.one(word, 1)
            assert assemble(d, i.text) == word, i.text


def test_relative_branch_prints_its_target() -> None:
    d = decoder(vuc, "vp2")
    word = assemble(d, "not $p8 rbra 0x109 st VP[$r2] $r3", address=0x105)
    assert word == 0x121C003284
    assert d.one(word, 1, address=0x105 * 8).text == "not $p8 rbra 0x109 st VP[$r2] $r3"
    assert assemble(d, "$p9 rbra 0x1 nop", address=0x7FF) is not None, "wraps at the end of code space"
    assert assemble(d, "$p9 rbra 0x104 nop", address=0x105) is None, "backwards"
    assert assemble(d, "$p9 rbra 0x145 nop", address=0x105) is None, "64 ahead"
