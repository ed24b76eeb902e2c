"""Pages that lead to the instructions: all instruction sets, one instruction set, its registers, the assembler."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from isakit.asm.directives import DIRECTIVES, TYPES
from isakit.formats.gxp_text import GXP_DIRECTIVES
from isakit.registry import VARIANTS
from isakit.spec import InstructionSet
from isakit.spec.isa import instruction_set


def summary(text: str) -> str:
    """Return the first sentence of a documentation text, in one line."""
    flat = " ".join(text.split())
    end = re.search(r"(?<!\.)\. ", flat)  # the dots of "0 .. 1" end no sentence
    return flat if end is None else flat[: end.start() + 1]


def _cell(text: str) -> str:
    """Return the text for a table."""
    return text.replace("|", "\\|")


def _toctree(entries: Sequence[str]) -> Iterator[str]:
    yield "```{toctree}"
    yield ":hidden:"
    yield ""
    yield from entries
    yield "```"
    yield ""


def index_page(isas: Sequence[InstructionSet]) -> str:
    """Return the page that links to all others."""
    lines = ["# Instruction reference", ""]
    lines += [
        "Every instruction of the three instruction sets, from the records that the tools themselves work with.",
        "",
    ]
    lines += ["| | instructions | |", "|---|---|---|"]
    for isa in isas:
        lines.append(f"| [{isa.name}]({isa.name}/index.md) | {len(isa.records)} | {_cell(summary(isa.doc))} |")
    lines += ["", "The directives of the assembler: [](assembler.md). All mnemonics: [](mnemonics.md).", ""]
    lines += _toctree([*(f"{isa.name}/index" for isa in isas), "assembler", "mnemonics"])
    return "\n".join(lines) + "\n"


def mnemonics_page(isas: Sequence[InstructionSet]) -> str:
    """Return every mnemonic of every instruction set with the instruction it belongs to, in alphabetical order."""
    found = sorted({(m, isa.name, r.name, summary(r.doc)) for isa in isas for r in isa.records for m in r.mnemonics})
    lines = ["# Mnemonics", "", "All words an instruction can begin with, and the page that explains it.", ""]
    lines += ["| mnemonic | | instruction | |", "|---|---|---|---|"]
    lines += [f"| `{m}` | {isa} | [{name}]({isa}/{name}.md) | {_cell(doc)} |" for m, isa, name, doc in found]
    return "\n".join(lines) + "\n"


def isa_page(isa: InstructionSet, toctree: bool = False) -> str:
    """Return the overview of an instruction set."""
    return "\n".join(_isa_lines(isa, toctree)) + "\n"


def _isa_lines(isa: InstructionSet, toctree: bool) -> Iterator[str]:
    yield f"# {isa.name}"
    yield ""
    yield isa.doc
    yield ""
    yield "## Variants"
    yield ""
    yield "| name | | also | word |"
    yield "|---|---|---|---|"
    for v in isa.variants.values():
        yield f"| {v.name} | {_cell(v.doc)} | {', '.join(v.aliases)} | {v.unit_bits} bits |"
    yield ""
    if isa.programs != ("",):
        programs = ", ".join(f"`{p}`" + (" (default)" if p == isa.default_program else "") for p in isa.programs)
        yield f"Program types: {programs}."
        yield ""
    yield "Registers and memory: [](registers.md). Faults: [](faults.md)." if toctree else ""
    yield ""
    yield "## Instructions"
    yield ""
    yield "| name | written | | status |"
    yield "|---|---|---|---|"
    for r in sorted(isa.records, key=lambda r: r.name):
        names = r.mnemonics
        shown = ", ".join(f"`{m}`" for m in names[:6]) + (", ..." if len(names) > 6 else "")
        name = f"[{r.name}]({r.name}.md)" if toctree else r.name
        yield f"| {name} | {shown} | {_cell(summary(r.doc))} | {r.status.value} |"
    yield ""
    yield "## Documents"
    yield ""
    for key, title in isa.documents.items():
        yield f"- [{key}]: {title}"
    yield ""
    if toctree:
        yield from _toctree(["registers", "faults", *sorted(r.name for r in isa.records)])


def registers_page(isa: InstructionSet) -> str:
    """Register files, special registers and memory spaces."""
    lines = [f"# Registers and memory of {isa.name}", ""]
    lines += ["What an operand can name: register files, special registers and memory spaces.", ""]
    lines += ["## Register files", ""]
    lines += ["| name | number | bits | | source |", "|---|---|---|---|---|"]
    for f in isa.registers.values():
        name = f.text.replace("{n}", "N") or f.name
        lines.append(f"| `{name}` | {f.count} | {f.width} | {_cell(f.doc)} | {f.ref or ''} |")
    if isa.special_registers:
        lines += ["", "## Special registers", "", "| number | name | | source | status |", "|---|---|---|---|---|"]
        for s in isa.special_registers:
            needs = f" (needs {', '.join(sorted(s.needs))})" if s.needs else ""
            lines.append(f"| {s.number:#x} | `{s.name}` | {_cell(s.doc)}{needs} | {s.ref} | {s.status.value} |")
    if isa.spaces:
        lines += ["", "## Memory spaces", "", "| name | | source |", "|---|---|---|"]
        lines += [f"| `{s.name}` | {_cell(s.doc)} | {s.ref} |" for s in isa.spaces]
    return "\n".join(lines) + "\n"


def assembler_page() -> str:
    """Return the page about source texts and directives."""
    lines = [
        "# Assembler",
        "",
        "How source texts are written, and every directive they may have.",
        "",
        "A statement ends with the line or with `;`. `//` starts a comment, so does `#` as the first character of a",
        "line; `/* */` encloses one. `NAME:` is a label, `NAME = VALUE` gives a value a name, `.` is the address of",
        "the statement. Expressions have the operators and precedences of C.",
        "",
        "Of the encodings of a statement the shortest one is chosen that lets what follows be aligned; `long` in front",
        "forces a longer one. `{0x...}` after a statement flips those bits of the encoding.",
        "",
    ]
    for d in DIRECTIVES.values():
        lines += [f"## {d.name}", "", f"`{d.usage}`", "", " ".join(d.doc.split()), ""]
    for isa in map(instruction_set, VARIANTS):
        for name, p in isa.pseudo.items():
            lines += [f"## {name} ({isa.name})", "", f"`{p.usage}`", "", p.doc, ""]
    lines += ["## Shader files", "", "With these a text says what a GXP file holds besides its programs.", ""]
    for d in GXP_DIRECTIVES.values():
        lines += [f"### {d.name}", "", f"`{d.usage}`", "", " ".join(d.doc.split()), ""]
    lines += ["## Parameter types", "", "| type | bytes |", "|---|---|"]
    lines += [f"| `{name}` | {size} |" for name, size in TYPES.items()]
    return "\n".join(lines) + "\n"
