"""Building without text: every word of the corpora, decoded and built again from its own operands, is the same word."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import isakit
from conftest import ROOT, shared_dir
from isakit.codec import Decoder, Instruction
from isakit.formats.gxp import parse_gxp

PROGRAMS = {"cp": "compute", "vp": "vertex", "gp": "geometry", "fp": "fragment"}
Words = dict[tuple[str, str], list[tuple[int, int]]]
"""(word, units) by variant and program type."""


def tesla_words(shared: Path) -> Words:
    out: dict[tuple[str, str], dict[tuple[int, int], None]] = {}
    for line in (shared / "corpus/tesla/envydis-pairs.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        variant, program, w0, w1 = line.split("\t")[:4]
        word = int(w0, 16) | (int(w1, 16) << 32 if w1 else 0)
        out.setdefault((variant, PROGRAMS[program]), {})[word, 2 if w1 else 1] = None
    for line in (shared / "corpus/tesla/sass-pairs.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        w0, w1 = line.split("\t")[:2]
        out.setdefault(("gt200", "compute"), {})[int(w0, 16) | int(w1 or "0", 16) << 32, 2 if w1 else 1] = None
    return {k: list(v) for k, v in out.items()}


def vuc_words(folder: Path) -> Words:
    out: Words = {}
    for variant in ("vp2", "vp3", "vp4"):
        lines = (folder / f"pairs-{variant}.tsv").read_text(encoding="utf-8").splitlines()[1:]
        out[variant, ""] = [(int(line.split("\t")[0], 16), 1) for line in lines]
    return out


def usse_words(shared: Path) -> Words:
    out: dict[str, dict[int, None]] = {"primary": {}, "secondary": {}}
    for line in (shared / "corpus/usse/words.tsv").read_text().splitlines()[1:]:
        word, program = line.split("\t")[:2]
        out[{"P": "primary", "S": "secondary"}[program]][int(word, 16)] = None
    for path in sorted((shared / "corpus/usse/gxp").glob("*.gxp")):
        gxp = parse_gxp(path.read_bytes(), str(path))
        for program, words in (("primary", gxp.primary), ("secondary", gxp.secondary)):
            out[program] |= dict.fromkeys(words)
    return {("sgx543", p): [(w, 1) for w in words] for p, words in out.items()}


def rebuilt(i: Instruction) -> int:
    """The word of the instruction that its own mnemonic and operands build."""
    return i.decoder.build(i.mnemonic, at=i.address, **i.arguments).word


def differences(isa: str, words: Words) -> Iterator[str]:
    """What does not come back, and what comes back as something else."""
    for (variant, program), group in words.items():
        decoder: Decoder = isakit.isa(isa, variant).decoder(program or None)
        for word, units in group:
            i = decoder.one(word, units, 0x40 * decoder.view.variant.unit_bytes)
            if not i.valid:
                continue
            try:
                got = rebuilt(i)
            except isakit.EncodeError as e:
                yield f"{variant} {program} {word:#x} {i.text}: {e}"
            else:
                if got != word:
                    yield f"{variant} {program} {word:#x} {i.text}: {got:#x}"


def corpus(isa: str) -> Words:
    shared = shared_dir()
    if isa == "vuc":
        return vuc_words(shared / "corpus/vuc" if shared else ROOT / "tests/vectors/vuc")
    if shared is None:
        pytest.skip("the shared corpus is not there: set ISAKIT_SHARED")
    return tesla_words(shared) if isa == "tesla" else usse_words(shared)


@pytest.mark.parametrize("isa", ["tesla", "vuc", "usse"])
def test_a_sample_of_the_words_is_built_again(isa: str) -> None:
    rng = random.Random(1)
    sample = {k: rng.sample(v, min(len(v), 300)) for k, v in corpus(isa).items()}
    assert list(differences(isa, sample))[:5] == []


def test_an_instruction_that_is_another_one_without_its_unexplained_bits_is_built_again() -> None:
    i = isakit.isa("usse").decoder("primary").one(0xFA57D9B815488554, 1)
    assert i.text.startswith("spec 0x1 0x2 {")
    assert rebuilt(i) == i.word
    with pytest.raises(isakit.EncodeError):
        i.decoder.build("spec", cat=1, op2=2)


@pytest.mark.slow
@pytest.mark.parametrize("isa", ["tesla", "vuc", "usse"])
def test_every_word_is_built_again(isa: str) -> None:
    words = corpus(isa)
    assert sum(map(len, words.values())) > {"tesla": 50_000, "vuc": 1_000, "usse": 4_000}[isa]
    assert list(differences(isa, words))[:5] == []
