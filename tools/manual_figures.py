"""Figures for the manual: how often real programs use an instruction, with examples, and how fast engines run it.

Writes `src/isakit/docsgen/figures.json`, which the pages of instructions use. Programs are read from a folder
(--corpus) with NVIDIA's cubins and CUDA executables, Mesa's compiled shaders and GXP files; nothing of them is kept but
counts, and the words and our text of single instructions. Rates are what `bench/throughput.py --json` wrote.

Usage: tools/manual_figures.py --corpus FOLDER --jit FILE --interp FILE --date YYYY-MM
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import isakit
from isakit.asm import Program
from isakit.asm.program import hex_words
from isakit.errors import IsakitError
from isakit.programs import load_all

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "src" / "isakit" / "docsgen" / "figures.json"
EXAMPLES = 3
FASTEST = 96.0
"""Lanes in G/s that two vector units of 16 lanes can do at 3 GHz: what is faster was not executed, but taken away."""


def files(corpus: Path) -> Iterator[Program]:
    """Programs of all files that hold some."""
    for path in sorted(p for p in corpus.rglob("*") if p.is_file()):
        if path.suffix not in (".cubin", ".gxp", ""):
            continue
        try:
            modules = load_all(path)
        except IsakitError:
            continue
        for module in modules:
            for kernel in module.kernels.values():
                yield kernel.program


def mesa(folder: Path) -> Iterator[Program]:
    """Programs that Mesa compiled for the first of these chips."""
    isa = isakit.isa("tesla", "g80")
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as f:
            for line in f:
                entry = json.loads(line)
                code = entry.get("code", {}).get("50", {})
                if "words" in code and entry["stage"] in isa.records.programs:
                    words = [int(w, 16) for w in code["words"].split()]
                    yield isa.disassemble(words, program_type=entry["stage"])


class Usage:
    """Counts of one instruction set."""

    def __init__(self) -> None:
        self.instructions = self.programs = 0
        self.seen: set[bytes] = set()
        self.count: Counter[str] = Counter()
        self.used_by: Counter[str] = Counter()
        self.examples: dict[str, Counter[tuple[int, str, str]]] = {}

    def add(self, program: Program) -> None:
        """Count a program once, however many files have it."""
        code = program.to_bytes()
        if code in self.seen:
            return
        self.seen.add(code)
        self.programs += 1
        here: set[str] = set()
        for i in program:
            if not i.valid or i.form is None or i.form.record is None:
                continue
            self.instructions += 1
            record = i.form.record
            name = record.name
            here.add(name)
            self.count[name] += 1
            form = record.forms.index(i.form) if i.form in record.forms else 0
            self.examples.setdefault(name, Counter())[form, hex_words(i), i.text] += 1
        self.used_by.update(here)

    def data(self) -> dict[str, Any]:
        """Plain data: what is used, and the most frequent words of different forms."""
        out: dict[str, Any] = {}
        for name, n in sorted(self.count.items()):
            chosen: dict[int, tuple[str, str]] = {}
            rest: list[tuple[str, str]] = []
            for (form, words, text), _ in sorted(self.examples[name].items(), key=lambda x: (-x[1], x[0])):
                if form not in chosen:
                    chosen[form] = words, text
                else:
                    rest.append((words, text))
            found = [*chosen.values(), *rest][:EXAMPLES]
            out[name] = {"count": n, "programs": self.used_by[name], "examples": [list(x) for x in found]}
        return {"instructions": self.instructions, "programs": self.programs, "records": out}


def rates(paths: dict[str, Path]) -> dict[str, Any]:
    """Rates of Tesla instructions by record: (row of the bench, G/s) of ordinary numbers, per tier."""
    sys.path.insert(0, str(ROOT / "bench"))
    import throughput

    found: dict[str, Any] = {}
    for tier, path in paths.items():
        measured = json.loads(path.read_text("utf-8"))
        for row in throughput.rows():
            rate = measured.get(f"{row.name}, {row.data}")
            if rate is None or row.data != "ordinary" or rate > FASTEST:
                continue
            text = "\n".join([*row.start, row.lines[0].format(k=20)])
            try:
                program = isakit.isa("tesla", row.chip).assemble(text)
            except IsakitError:
                continue
            form = program.instructions[-1].form
            if form is not None and form.record is not None:
                found.setdefault(form.record.name, {}).setdefault(row.name, {})[tier] = round(rate, 2)
    return found


def main() -> None:
    """Write the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--jit", type=Path)
    parser.add_argument("--interp", type=Path)
    parser.add_argument("--date", required=True, help="when they were made, YYYY-MM")
    options = parser.parse_args()
    usage: dict[str, Usage] = {}
    for programs in (files(options.corpus), mesa(options.corpus / "tesla" / "mesa")):
        for program in programs:
            usage.setdefault(program.isa, Usage()).add(program)
    given = {"jit": options.jit, "interp": options.interp}
    data = {
        "date": options.date,
        "usage": {name: u.data() for name, u in sorted(usage.items())},
        "rates": {"tesla": rates({k: v for k, v in given.items() if v is not None})},
    }
    OUT.write_text(json.dumps(data, indent=0, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    for name, u in usage.items():
        print(f"{name}: {u.programs} programs, {u.instructions} instructions, {len(u.count)} of its records used")


if __name__ == "__main__":
    main()
