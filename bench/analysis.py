"""What analyses cost, and how fast corpora are indexed. Processor time of one core.

- the parts of an analysis (decoding, graph, live ranges, uniform values, dead code) of a long kernel, and how the whole
  grows with its length: the ratio of the time per instruction at the longest to that at the shortest should be near 1,
- searching plain host files, in MB/s (the libraries of this system), and indexing instructions, in instructions/s, of
  kernels made of instructions as often repeated as in NVIDIA's code: every fourth is new.

Usage: bench/analysis.py [--longest N] [FOLDER of host files]
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import isakit
from isakit.analysis import Chains, Uniformity, control_flow, dead_code, liveness

WORDS = """
    mov b32 $r{a} b32 s[0x10]
    add b32 $r{a} $r{b} $r{c}
    add f32 $r{a} (mul $r{b} $r{c}) $r{d}
    ld b32 $r{a} g14[$r{b}]
    st b32 g14[$r{b}] $r{a}
    shl b32 $r{a} $r{b} 0x{d:x}
    set $c{e} # l s32 $r{a} $r{b}
    mul $r{a} u16 $r{b}l u16 $r{c}h
""".strip().splitlines()


def seconds(action: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of an action, and its result."""
    began = time.process_time()
    result = action()
    return time.process_time() - began, result


def kernel(length: int, fresh: float = 1.0) -> list[int]:
    """Code with a branch every dozen instructions; this share of the instructions is drawn anew."""
    rng = random.Random(length)
    isa = isakit.isa("tesla", "gt200")
    known: list[str] = []
    lines: list[str] = []
    for n in range(length):
        if n % 12 == 11:
            lines.append(f"(lg $c0) bra {8 * max(0, min(length - 1, n + rng.randrange(-40, 40))):#x}")
            continue
        if not known or rng.random() < fresh:
            a, b, c, d = (rng.randrange(60) for _ in range(4))
            known.append(rng.choice(WORDS).format(a=a, b=b, c=c, d=d % 31, e=d % 4))
        lines.append("long " + known[-1].strip() if rng.random() < fresh else "long " + rng.choice(known).strip())
    words: list[int] = []
    for line in lines:
        try:
            program = isa.assemble(line)
        except isakit.AsmError:
            program = isa.assemble(line.removeprefix("long "))
        words += program.words if len(program.words) == 2 else [0xF0000001, 0xE0000001]
    return words


def longer(base: list[int], length: int) -> list[int]:
    """A kernel of `length` instructions like `base`: branches go as far as there, most other words are new."""
    isa = isakit.isa("tesla", "gt200")
    rng = random.Random(length)
    out: list[int] = []
    code = list(isa.disassemble(base))
    for n in range(length):
        i = code[n % len(code)]
        if i.target is None:
            other = rng.randrange(64) if i.mnemonic != "set" else 0
            out += (i.words[0] ^ other << 2, i.words[1])  # another destination
        else:
            to = max(0, min(length - 1, n + (i.target - i.address) // 8))
            out += isa.assemble(f"(lg $c0) bra {8 * to:#x}").words
    return out


def analyse(words: list[int]) -> dict[str, float]:
    """Seconds of each part."""
    isa = isakit.isa("tesla", "gt200")
    out: dict[str, float] = {}
    program = isa.disassemble(words)
    out["decoding"], _ = seconds(lambda: program.instructions)
    out["graph"], flow = seconds(lambda: control_flow(program))
    out["live ranges"], _ = seconds(lambda: liveness(flow))
    chains = Chains(flow)
    out["definitions"], _ = seconds(lambda: chains.ssa)
    out["uniform values"], _ = seconds(lambda: Uniformity(flow, chains))
    out["dead code"], _ = seconds(lambda: dead_code(flow, chains))
    return out


def growth(longest: int) -> None:
    """Print what analyses cost at several lengths."""
    analyse(kernel(500))  # caches of forms
    per: list[float] = []
    base = kernel(4000)
    for length in [n for n in (4000, 16000, 50000, 100000) if n <= longest]:
        found = analyse(longer(base, length))
        core = sum(found[p] for p in ("decoding", "graph", "live ranges"))
        per.append(sum(found.values()) / length)
        parts = ", ".join(f"{name} {s:.2f}" for name, s in found.items())
        print(f"{length:7} instructions: {core:.2f} s for blocks and live ranges, {sum(found.values()):.2f} s in all")
        print(f"        {parts}")
    print(f"time per instruction, longest to shortest: {per[-1] / per[0]:.2f}")


def indexing(folder: Path) -> None:
    """Print how fast files are searched and instructions indexed."""
    from isakit.corpora.programs import found_in, sketch_of, words_of
    from isakit.corpora.sources import FileSource, pieces

    files = sorted((p for p in folder.iterdir() if p.is_file() and not p.is_symlink()), key=os.path.getsize)[-12:]
    size = sum(p.stat().st_size for p in files)

    def search() -> None:
        for path in files:
            for piece in pieces(FileSource(str(path), 0)):
                found_in(piece, str(path))

    search()
    spent, _ = seconds(search)
    print(f"searching {len(files)} host files: {size / 1e6 / spent:.0f} MB/s")
    isa = isakit.isa("tesla", "gt200")
    table = words_of(isa.decoder())
    base = kernel(4000, fresh=0.25)
    codes = []
    rng = random.Random(4)
    for _ in range(20):  # a fourth of the words of each kernel are new to the index
        words = [w ^ (rng.randrange(64) << 9 if k % 8 == 0 else 0) for k, w in enumerate(base)]
        codes.append(b"".join(w.to_bytes(4, "little") for w in words))

    def index() -> int:
        count = 0
        for code in codes:
            rows = table.rows(code, 0)
            sketch_of(rows)
            count += len(rows.word)
        return count

    spent, count = seconds(index)
    print(f"indexing: {count / spent:.0f} instructions/s, {len(table.words) / count:.0%} of the words distinct")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--longest", type=int, default=100_000)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("/usr/lib/x86_64-linux-gnu"))
    given = parser.parse_args()
    growth(given.longest)
    indexing(given.folder)


if __name__ == "__main__":
    main()
