"""Every word of the public listings by NVIDIA's own disassembler: the same operation, types, operands and predicate."""

from __future__ import annotations

import re
from pathlib import Path

from isakit.arch.tesla import tesla
from isakit.codec import decoder
from support.oracles.nvidia_text import Unknown, translate

ROWS = 16_162
# The old disassembler takes the operation of an IMAD for its condition register and the other way round, where either
# is not 0. What the hardware does is in the arithmetic vectors.
_SWAPPED = re.compile(r"IMAD\.U\d+ R\d+ \(C\d\), ")
# Texture lines have their own test; three lines write a signed source in s[] in a way of their own.
_NOT_COVERED = 9


def ours(word: int, units: int) -> str:
    """Our text without what NVIDIA leaves out: exit, and the predicate of a nop."""
    i = decoder(tesla, "gt200", "compute").one(word, units)
    assert i.valid, f"{word:x}: {i.error}"
    return i.plain_text.removeprefix("exit ").replace("(never) nop", "nop")


def test_every_row(shared: Path) -> None:
    lines = (shared / "corpus/tesla/sass-pairs.tsv").read_text().splitlines()[1:]
    different: list[str] = []
    not_covered: list[str] = []
    swapped = 0
    for line in lines:
        w0, w1, text = line.split("\t")
        got = ours(int(w0, 16) | (int(w1, 16) << 32 if w1 else 0), 2 if w1 else 1)
        try:
            wanted = translate(text)
        except Unknown:
            not_covered.append(line)
            continue
        if got == wanted:
            continue
        if _SWAPPED.match(text):
            swapped += 1
        else:
            different.append(f"{w0} {w1} {text}: wanted {wanted!r}, got {got!r}")
    assert len(lines) == ROWS
    assert not different, f"{len(different)} rows differ:\n" + "\n".join(different[:30])
    assert len(not_covered) <= _NOT_COVERED, not_covered
    assert swapped == 18


_TEXTURE = re.compile(r"TEX(?:32)?((?:\.\w+)*) R(\d+), (0x\w+), (0x\w+), (0x\w+)(?:, ([RGBAX]{4}), 0x0)?")


def test_texture_lines(shared: Path) -> None:
    """Name, visibility flag, texture, sampler, registers and components of the few texture lines."""
    seen = 0
    for line in (shared / "corpus/tesla/sass-pairs.tsv").read_text().splitlines()[1:]:
        w0, w1, text = line.split("\t")
        if not text.startswith("TEX"):
            continue
        seen += 1
        m = _TEXTURE.fullmatch(text)
        assert m is not None, text
        mods, first, number, components = m[1].split("."), int(m[2]), int(m[5], 16) + 1, m[6] or "RGBA"
        got = ours(int(w0, 16) | int(w1 or "0", 16) << 32, 2 if w1 else 1).split()
        registers = iter(range(first, first + 4))
        assert got[:6] == [
            "texfetch" if "UN" in mods else "texauto",
            "live" if "NODEP" in mods else "all",
            ":".join(f"$r{next(registers)}" if c != "X" else "#" for c in components),
            f"$t{int(m[3], 16)}",
            f"$s{int(m[4], 16)}",
            ":".join(f"$r{first + n}" for n in range(number)),
        ]
    assert seen == 6
