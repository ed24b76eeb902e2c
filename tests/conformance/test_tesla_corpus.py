"""Real kernels: every word decodes, and text assembles back to the same bytes."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import isakit
from isakit.arch.tesla import tesla
from isakit.codec import Decoder, decoder
from isakit.formats import Module, load_image

SASS = "corpus/tesla/sass-pairs.tsv"


def cubins(shared: Path) -> Iterator[tuple[str, Module]]:
    """The ELF and text cubins of the corpus."""
    for folder in ("cubins", "textcubins"):
        for path in sorted((shared / "corpus/tesla" / folder).glob("*.cubin")):
            yield path.name, load_image(str(path))


def test_every_kernel_decodes_and_assembles_back(shared: Path) -> None:
    """No undecodable word inside a kernel; listing -> words is the identity; nothing is lost in the whole file."""
    files = kernels = words = 0
    for name, image in cubins(shared):
        isa = isakit.isa("tesla", image.variant)
        files += 1
        for kernel in image.kernels.values():
            program = isa.disassemble(kernel.code)
            kernels += 1
            words += len(kernel.words)
            bad = [f"{name} {kernel.name} {i.address:#x}: {i.error}" for i in program if not i.valid]
            assert not bad, "\n".join(bad[:10])
            again = isa.assemble(str(program))
            assert again.to_bytes() == kernel.code, f"{name} {kernel.name}"
    assert (files, kernels > 200, words > 100_000) == (59 + 65, True, True)


def test_instructions_survive_one_by_one(shared: Path) -> None:
    """Every instruction's own text assembles to exactly its words."""
    seen: dict[tuple[str, tuple[int, ...]], str] = {}
    for _, image in cubins(shared):
        d = decoder(tesla, image.variant)
        for kernel in image.kernels.values():
            for i in d.decode(kernel.words):
                seen.setdefault((image.variant, i.words), i.text)
    assert len(seen) > 10_000
    wrong: list[str] = []
    for n, ((variant, words), text) in enumerate(seen.items()):
        if n % 5 == 0 and isakit.isa("tesla", variant).assemble(text).words != list(words):
            wrong.append(f"{variant} {words} {text}")
    assert not wrong, "\n".join(wrong[:10])


# NVIDIA's mnemonic -> what our text starts with (after predicate and tail), for the pairs table
OPERATIONS = {
    "BAR": {"bar"}, "BRA": {"bra"}, "BRK": {"break"}, "CAL": {"call"}, "RET": {"ret"}, "SSY": {"joinat"},
    "PBK": {"breakaddr"}, "NOP": {"nop"}, "VOTE": {"vote"},
    "IADD": {"add", "sub", "subr", "addc"}, "IADD32": {"add", "sub", "subr", "addc"},
    "IADD32I": {"add", "sub", "subr", "addc"}, "IMUL": {"mul"}, "IMUL32": {"mul"}, "IMUL32I": {"mul"},
    "IMAD": {"add", "sub", "subr", "addc"}, "IMAD32": {"add", "sub", "subr", "addc"},
    "IMAD32I": {"add", "sub", "subr", "addc"}, "ISAD": {"sad"}, "ISET": {"set"}, "IMAX": {"max"}, "IMIN": {"min"},
    "SHL": {"shl"}, "SHR": {"shr"}, "LOP": {"and", "or", "xor", "mov2"}, "LOP32I": {"and", "or", "xor", "mov2"},
    "FADD": {"add"}, "FADD32": {"add"}, "FADD32I": {"add"}, "FMUL": {"mul"}, "FMUL32": {"mul"}, "FMUL32I": {"mul"},
    "FMAD": {"add"}, "FMAD32": {"add"}, "FMAD32I": {"add"}, "FSET": {"set"}, "FMAX": {"max"}, "FMIN": {"min"},
    "FCMP": {"slct"}, "RCP": {"rcp"}, "RCP32": {"rcp"}, "RSQ": {"rsqrt"}, "LG2": {"lg2"}, "SIN": {"sin"},
    "COS": {"cos"}, "EX2": {"ex2"}, "RRO": {"presin", "preex2"}, "I2I": {"cvt"}, "I2F": {"cvt"}, "F2I": {"cvt"},
    "F2F": {"cvt"}, "DADD": {"add"}, "DMUL": {"mul"}, "DFMA": {"fma"}, "DMAX": {"max"}, "DMIN": {"min"},
    "DSET": {"set"}, "GLD": {"ld"}, "GST": {"st"}, "LLD": {"ld"}, "LST": {"st"}, "LDC": {"ld"}, "LDS": {"ld"},
    "STS": {"st"}, "R2G": {"st"}, "G2R": {"mov", "ld"}, "MOV": {"mov"}, "MOV32": {"mov"}, "MVI": {"mov"}, "MVC": {"ld"},
    "R2A": {"shl"}, "A2R": {"mov"}, "ADA": {"add"}, "R2C": {"mov"}, "C2R": {"mov"}, "S2R": {"mov"},
    "GATOM": {"ld", "exch", "cas"}, "GRED": {"red"}, "TEX": {"texauto", "texfetch", "texlod", "texbias"},
    "TEX32": {"texauto", "texfetch"},
}  # fmt: skip


def test_nvidia_listing(shared: Path) -> None:
    """Words with NVIDIA's own text: same operation, same registers, same bytes after text and back."""
    decoders: dict[str, Decoder] = {v: decoder(tesla, v) for v in ("gt200", "g80")}
    unknown: set[str] = set()
    wrong: list[str] = []
    rows = 0
    with (shared / SASS).open(encoding="utf-8") as f:
        for row in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
            rows += 1
            word = int(row["word0"], 16) | (int(row["word1"], 16) << 32 if row["word1"] else 0)
            i = decoders["gt200"].one(word, 2 if row["word1"] else 1)
            name = row["nvidia_text"].split()[0].split(".")[0]
            allowed = OPERATIONS.get(name)
            if allowed is None:
                unknown.add(name)
            elif not i.valid or i.mnemonic not in allowed:
                wrong.append(f"{word:x} {row['nvidia_text']!r} {i.text!r} {i.error}")
    assert rows > 16_000
    assert not unknown, f"mnemonics the table lacks: {sorted(unknown)}"
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong[:20])


def test_nvidia_words_survive(shared: Path) -> None:
    isa = isakit.isa("tesla", "gt200")
    with (shared / SASS).open(encoding="utf-8") as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    lines: list[str] = []
    words: list[int] = []
    for row in rows:
        if row["word1"]:  # long ones keep the alignment, so that one program holds them all
            words += [int(row["word0"], 16), int(row["word1"], 16)]
    program = isa.disassemble(words)
    lines = str(program).splitlines()
    assert len(lines) > 10_000
    assert isa.assemble(str(program)).words == words
