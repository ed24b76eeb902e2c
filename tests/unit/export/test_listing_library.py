"""Listings written by compiled code have the lines that the printer writes."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.export.test_texts import words_of

import isakit
from isakit.asm.printer import instruction_lines
from isakit.asm.program import Program
from isakit.c_library import compiler
from isakit.export import listing_library
from isakit.export.listing_library import code_lines, library_of

pytestmark = [pytest.mark.compiler, pytest.mark.skipif(compiler() is None, reason="no C compiler")]
FAST = [("vuc", "vp2", None)]
SLOW = [("vuc", "vp4", None), *(("tesla", v, None) for v in ("g80", "g84", "gt200", "gt215", "mcp77")),
        ("usse", "sgx543", "primary")]  # fmt: skip
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
DRIVER = r"""
#include <stdio.h>
#include "listing.c"
int main(int argc, char **argv)
{
    uint64_t *units, first = argc > 2 ? strtoull(argv[2], 0, 0) : 0;
    size_t n, size;
    int k;
    FILE *f = fopen(argv[1], "rb");
    fseek(f, 0, SEEK_END); n = (size_t)ftell(f) / 8; rewind(f);
    units = malloc(n ? 8 * n : 1);
    if (fread(units, 8, n, f) != n) return 2;
    for (k = 0; k < 8; k++) {
        struct isakit_listing *s = isakit_listing_open((unsigned char *)units, n, 8, first, k & 1, k >> 1 & 1,
                                                        k >> 2, 4);
        char *room = malloc(ROOM + (size_t)k * 1000);
        while ((size = isakit_listing_read(s, room, ROOM + (size_t)k * 1000))) if (room[size - 1] != '\n') return 3;
        free(room);
        isakit_listing_close(s);
    }
    free(units);
    return 0;
}
"""


def units_of(name: str, variant: str, kind: str | None, seed: int, each: int) -> Iterator[list[int]]:
    """Code of all kinds: every form, branches that stay in the code, damaged words, runs of equal words."""
    decoder = isakit.isa(name, variant).decoder(kind)
    bits, rng = decoder.view.variant.unit_bits, random.Random(seed)
    words = words_of(decoder, seed, each)
    rng.shuffle(words)
    units: list[int] = []
    for word, count in words:
        if decoder.isa.name == "tesla":
            word &= ~(0x3FFF << 14) if rng.random() < 0.5 else -1  # near targets, so that there are labels
        mine = [word >> bits * k & (1 << bits) - 1 for k in range(count)]
        units += [0] * (-len(units) % count) if rng.random() < 0.9 else []
        units += mine * (rng.choice((1, 1, 1, 40)) if rng.random() < 0.02 else 1)
        units += [mine[0]] * rng.randrange(28, 70) if rng.random() < 0.01 else []
    yield units
    yield [rng.getrandbits(bits) for _ in range(300)]
    yield [0] * 100 + units[:11]
    yield [units[3]] * 31
    yield []


@pytest.mark.parametrize(
    ("name", "variant", "kind"), [*FAST, *(pytest.param(*v, marks=pytest.mark.slow) for v in SLOW)]
)
def test_compiled_code_writes_the_lines_of_the_printer(
    name: str, variant: str, kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing_library, "SHORTEST", 0)
    monkeypatch.setattr(listing_library, "BUILT_FROM", 0)
    decoder = isakit.isa(name, variant).decoder(kind)
    unit = decoder.view.variant.unit_bytes
    made_here = labels = fills = 0
    few = (name, variant, kind) in FAST
    for units in units_of(name, variant, kind, 3, 3 if few else 40):
        for address in (0,) if few else (0, unit * 3, unit * 0x12344):
            program = Program(decoder, units, address)
            for k in range(8):
                options = {"words": bool(k & 1), "labels": bool(k & 2), "collapse": bool(k & 4)}
                got = [line for text in code_lines(program, **options) for line in text.split("\n")]
                assert got == list(instruction_lines(program, **options)), options
                labels += sum(line.endswith(":") for line in got)
                fills += sum(" times " in line for line in got)
                made_here += len(got)
    assert made_here > 1_000
    assert labels
    assert fills
    assert listing_library._loaded(decoder) is not None


def test_what_compiled_code_does_not_know_the_printer_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_library, "SHORTEST", 0)
    monkeypatch.setattr(listing_library, "_loaded", None)  # would fail if it was asked
    program = Program(isakit.isa("vuc", "vp2").decoder(), [0, 1, 2])
    got = list(code_lines(program, notes=lambda i: "said"))
    assert got == list(instruction_lines(program, notes=lambda i: "said"))


def test_without_a_compiler_nothing_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(listing_library, "SHORTEST", 0)
    monkeypatch.setattr(listing_library, "BUILT_FROM", 0)
    monkeypatch.setattr(listing_library, "compiler", lambda: None)
    monkeypatch.setattr(listing_library, "_loaded", None)
    monkeypatch.setenv("ISAKIT_CACHE", str(tmp_path))
    program = Program(isakit.isa("vuc", "vp3").decoder(), [0, 1, 2])
    assert list(code_lines(program)) == list(instruction_lines(program))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant", "kind"), [*FAST, *SLOW])
def test_sanitizers_find_nothing(name: str, variant: str, kind: str | None, tmp_path: Path) -> None:
    decoder = isakit.isa(name, variant).decoder(kind)
    library = library_of(decoder)
    for file, text in library.generated().items():
        (tmp_path / file).write_text(text)
    shutil.copy(library.folder / "listing.c", tmp_path)
    (tmp_path / "main.c").write_text(DRIVER)
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", *SANITIZE]
    command = [*(compiler() or []), *flags, "-o", str(tmp_path / "main"), str(tmp_path / "main.c")]
    done = subprocess.run(command, capture_output=True, text=True)
    if "cannot find" in done.stderr and "libasan" in done.stderr:
        pytest.skip("this compiler has no sanitizers")
    assert done.returncode == 0, done.stderr
    for seed in range(4):
        for units in units_of(name, variant, kind, seed, 30):
            (tmp_path / "units").write_bytes(b"".join(u.to_bytes(8, "little") for u in units))
            for address in ("0", "3", "0xffffffffffff"):
                done = subprocess.run([tmp_path / "main", tmp_path / "units", address], capture_output=True, text=True)
                assert (done.returncode, done.stderr) == (0, "")


def test_units_that_are_changed_in_place_are_those_of_the_program() -> None:
    program = isakit.isa("tesla", "gt200").disassemble(bytes.fromhex("0100001080c72304"))
    assert program.unit_count == 2
    program.units[0] |= 4
    assert program.to_bytes() == bytes.fromhex("0500001080c72304")
    assert program.code_bytes == program.to_bytes()
