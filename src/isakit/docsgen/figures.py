"""Figures of the manual that records cannot know: what real programs use, and how fast the engines are.

`figures.json` is written by `tools/manual_figures.py`; it says when.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from isakit.json_text import JsonObject
from isakit.spec import InstructionSet, Record

_SOURCES = {
    "tesla": "NVIDIA's compilers (cubins and CUDA executables of 2007 to 2012) and Mesa's",
    "usse": "Sony's shader compiler",
}


@cache
def _figures() -> JsonObject:
    return json.loads((Path(__file__).parent / "figures.json").read_text(encoding="utf-8"))


def usage(isa: InstructionSet, record: Record) -> Iterator[str]:
    """Yield the usage of an instruction in programs of the corpora, with examples: words and text. As Markdown."""
    known = _figures()["usage"].get(isa.name)
    if known is None:
        yield "There is no corpus of real programs of this instruction set."
        yield ""
        return
    whole = f"{known['programs']:,} different programs by {_SOURCES[isa.name]} ({known['instructions']:,} instructions)"
    found = known["records"].get(record.name)
    if found is None:
        yield f"None of {whole} uses it."
        yield ""
        return
    share = 100 * found["programs"] / known["programs"]
    yield f"{found['count']:,} times, in {share:.3g} % of {whole}. What occurs most often:"
    yield ""
    yield f"```{isa.name}"
    for words, text in found["examples"]:
        yield f"{text:<48} // {words}"
    yield "```"
    yield ""


def rates(isa: InstructionSet, record: Record) -> Iterator[str]:
    """Yield the measured rates of the engines for an instruction, as Markdown; nothing if it was not measured."""
    found = _figures()["rates"].get(isa.name, {}).get(record.name)
    if not found:
        return
    yield "## Speed"
    yield ""
    yield f"Threads' instructions per second on one thread of a processor with AVX-512 ({_figures()['date']}), in 10⁹:"
    yield ""
    yield "| loop of | interpreter | compiled |"
    yield "|---|---|---|"
    for name, by_tier in sorted(found.items()):
        cells = (f"{by_tier[t]:.3g}" if t in by_tier else "" for t in ("interp", "jit"))
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    if any("jit" not in by_tier for by_tier in found.values()):
        yield "Where nothing stands under *compiled*, the compiler found a loop with the same result and fewer turns."
        yield ""
