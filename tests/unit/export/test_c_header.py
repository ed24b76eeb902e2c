"""The exported C disassembler, compiled with the system's compiler, prints what the library prints."""

from __future__ import annotations

import random
import re
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.unit.export.test_texts import words_of

import isakit
from isakit.asm import Program
from isakit.codec import Instruction
from isakit.export.c_header import c_header
from isakit.export.details import KINDS, number_in
from isakit.export.texts import CannotExport, Model
from isakit.spec import Field, bits
from isakit.spec.parts.base import OfField
from isakit.spec.record import InstructionKind

COMPILER = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
pytestmark = [pytest.mark.compiler, pytest.mark.skipif(COMPILER is None, reason="no C compiler")]

MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define ISAKIT_IMPLEMENTATION
#include "isa.h"
int main(int argc, char **argv)
{
    static uint64_t units[1 << 20];
    char text[MAX];
    size_t n, i;
    FILE *f = fopen(argv[1], "rb");
    n = fread(units, 8, sizeof units / 8, f);
    if (argc > 2 && !strcmp(argv[2], "details")) {
        static INSTRUCTION x;
        unsigned k;
        for (i = 0; i < n;) {
            /* A copy that ends with its last unit, so that a sanitizer sees what is read behind it. */
            size_t left = n - i < 4 ? n - i : 4;
            uint64_t *copy = malloc(8 * left);
            memcpy(copy, units + i, 8 * left);
            i += INSTRUCTION_AT(copy, left, i, &x);
            free(copy);
            printf("%s\t%s\t%s\t%d", x.error ? x.error : "", x.text, x.mnemonic, (int)x.group);
            for (k = 0; k < x.operand_count; k++)
                printf("\t%s %d %lld %s", x.operands[k].name, (int)x.operands[k].kind,
                       (long long)x.operands[k].value, x.operands[k].text);
            for (k = 0; k < x.read_count; k++) printf("\tr %s", x.read[k]);
            for (k = 0; k < x.written_count; k++) printf("\tw %s", x.written[k]);
            puts("");
        }
        return 0;
    }
    if (argc > 2) {
        long count = 0, rounds = atol(argv[2]);
        clock_t start = clock();
        while (rounds--) for (i = 0; i < n; count++) i += DISASSEMBLE(units + i, n - i, i, text);
        printf("%f\n", count / ((clock() - start) / (double)CLOCKS_PER_SEC));
        return 0;
    }
    for (i = 0; i < n;) { i += DISASSEMBLE(units + i, n - i, i, text); puts(text); }
    return 0;
}
"""


def built(folder: Path, name: str, variant: str, program: str | None, *flags: str) -> Path:
    decoder = isakit.isa(name, variant).decoder(program)
    header = c_header(decoder)
    prefix = re.search(r"unsigned (\w+)_disassemble", header)
    assert prefix is not None
    (folder / "isa.h").write_text(header)
    main = MAIN.replace("DISASSEMBLE", f"{prefix[1]}_disassemble").replace("MAX", f"{prefix[1].upper()}_TEXT_MAX")
    main = main.replace("INSTRUCTION_AT", f"{prefix[1]}_instruction_at")
    main = main.replace("INSTRUCTION x", f"{prefix[1]}_instruction x")
    (folder / "main.c").write_text(main)
    command = [str(COMPILER), "-O1", "-Wall", "-Wextra", "-Werror", *flags, "-o", str(folder / "dis")]
    command.append(str(folder / "main.c"))
    subprocess.run(command, check=True, capture_output=True)
    return folder / "dis"


def check(folder: Path, program: Path, name: str, variant: str, kind: str | None, units: list[int]) -> None:
    listing = compare(folder, program, name, variant, kind, units)
    assert sum(i.valid for i in listing) > len(listing) // 8


def compare(folder: Path, program: Path, name: str, variant: str, kind: str | None, units: list[int]) -> Program:
    """Hold what C says of units against what the library says, which comes back."""
    data = folder / "units.bin"
    data.write_bytes(struct.pack(f"<{len(units)}Q", *units))
    got = subprocess.run([str(program), str(data)], check=True, capture_output=True, text=True).stdout.splitlines()
    listing = isakit.isa(name, variant).disassemble(units, program_type=kind)
    assert got == [i.text for i in listing]
    told = subprocess.run([str(program), str(data), "details"], check=True, capture_output=True, text=True).stdout
    for line, i in zip(told.splitlines(), listing, strict=True):
        assert line.split("\t") == details_of(i), i
    return listing


def details_of(i: Instruction) -> list[str]:
    """What the test program prints of an instruction, as the library tells it."""
    group = 0 if i.group is None else 1 + list(InstructionKind).index(i.group)
    operands = [f"{o.name} {KINDS.index(type(o))} {number_in(o)} {o}" for o in i.operands]
    registers = [*(f"r {r}" for r in i.reads), *(f"w {w}" for w in i.writes)]
    return [i.error or "", i.text, i.mnemonic, str(group), *operands, *registers]


@pytest.mark.parametrize(
    ("name", "variant", "kind", "rate"),
    [("vuc", "vp2", None, 5e6), ("vuc", "vp4", None, 5e6),
     pytest.param("tesla", "gt200", None, 5e6, marks=pytest.mark.slow),
     pytest.param("tesla", "g80", "fragment", 5e6, marks=pytest.mark.slow),
     pytest.param("usse", "sgx543", "primary", 5e6, marks=pytest.mark.slow)],
)  # fmt: skip
def test_c_prints_the_same(tmp_path: Path, name: str, variant: str, kind: str | None, rate: float) -> None:
    program = built(tmp_path, name, variant, kind)
    decoder = isakit.isa(name, variant).decoder(kind)
    units: list[int] = []
    for word, count in words_of(decoder, 2, 20):
        if count > 1 and len(units) % count:
            units.append(0)
        units += [word >> decoder.view.variant.unit_bits * k & (1 << decoder.view.variant.unit_bits) - 1
                  for k in range(count)]  # fmt: skip
    check(tmp_path, program, name, variant, kind, units)
    rounds = str(4_000_000 // len(units))
    done = subprocess.run(
        [str(program), str(tmp_path / "units.bin"), rounds], check=True, capture_output=True, text=True
    )
    assert float(done.stdout) > rate


@pytest.mark.slow
def test_c_prints_the_corpus(tmp_path: Path, shared: Path) -> None:
    programs: dict[str, Path] = {}
    for path in sorted((shared / "corpus/tesla").glob("*cubins/*.cubin")):
        module = isakit.load(path)
        if module.variant not in programs:
            folder = tmp_path / module.variant
            folder.mkdir()
            programs[module.variant] = built(folder, "tesla", module.variant, None)
        for k in module.kernels.values():
            check(tmp_path, programs[module.variant], "tesla", module.variant, None, k.words)


def test_what_cannot_be_told_is_named() -> None:
    @dataclass
    class WithBits(OfField):
        """A kind of operand that the export does not know."""

        field: Field

    model = Model(isakit.isa("vuc", "vp2").decoder())
    with pytest.raises(CannotExport, match="without the library"):
        model.text(WithBits(bits(0, 19)))


SANITIZE = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def any_words(name: str, variant: str, kind: str | None, seed: int, count: int) -> list[int]:
    """Units of random bits, and of instructions of which some bits are others, cut anywhere."""
    rng = random.Random(seed)
    decoder = isakit.isa(name, variant).decoder(kind)
    bits_of = decoder.view.variant.unit_bits
    known = words_of(decoder, seed, 4)
    units: list[int] = []
    while len(units) < count:
        word, size = rng.choice(known)
        for _ in range(rng.choice((0, 1, 2, 8))):
            word ^= 1 << rng.randrange(bits_of * size)
        if rng.random() < 0.2:
            word = rng.getrandbits(bits_of * size)
        units += [word >> bits_of * k & (1 << bits_of) - 1 for k in range(size - (rng.random() < 0.1))]
    return units


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "variant", "kind"),
    [("vuc", "vp2", None), ("tesla", "g80", "vertex"), ("tesla", "gt200", None), ("usse", "sgx543", "secondary")],
)
def test_sanitizers_find_nothing_in_any_words(tmp_path: Path, name: str, variant: str, kind: str | None) -> None:
    try:
        program = built(tmp_path, name, variant, kind, *SANITIZE)
    except subprocess.CalledProcessError as e:
        if b"cannot find" in e.stderr and b"asan" in e.stderr:
            pytest.skip("this compiler has no sanitizers")
        raise
    for seed in range(4):
        compare(tmp_path, program, name, variant, kind, any_words(name, variant, kind, seed, 2000))
