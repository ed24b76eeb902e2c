"""Pages by name, for looking things up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from isakit.asm.directives import DIRECTIVES
from isakit.codec.syntax import spellings, syntax_line
from isakit.docsgen.instruction import instruction_page
from isakit.docsgen.overview import registers_page, summary
from isakit.formats.gxp_text import GXP_DIRECTIVES
from isakit.spec import InstructionSet, Record
from isakit.spec.parts import accepted_text


def records_named(isas: Sequence[InstructionSet], name: str) -> list[tuple[InstructionSet, Record]]:
    """Return the instructions of a family of that name if there is one, else those with an operation of that name."""
    exact = [(isa, r) for isa in isas for r in isa.records if r.name == name]
    return exact or [(isa, r) for isa in isas for r in isa.records if name in r.mnemonics]


def find_pages(isas: Sequence[InstructionSet], name: str) -> list[str]:
    """Return pages of an instruction, a special register or a directive, as Markdown."""
    pages = [instruction_page(isa, r) for isa, r in records_named(isas, name)]
    for isa in isas:
        for s in isa.special_registers:
            if s.name == name.lstrip("$"):
                pages.append(
                    f"# {s.name}\n\nSpecial register {s.number:#x} of {isa.name}: {s.doc}\n\n"
                    f"- {s.ref}\n- status: {s.status.value}\n"
                )
    if not pages:
        pages = [registers_page(isa) for isa in isas if _names_registers(isa, name)]
    d = DIRECTIVES.get(name) or GXP_DIRECTIVES.get(name)
    if d is not None:
        pages.append(f"# {d.name}\n\n`{d.usage}`\n\n{' '.join(d.doc.split())}\n")
    return pages


_ALL_REGISTERS = ("register", "registers", "sreg", "memory", "spaces")


def _names_registers(isa: InstructionSet, name: str) -> bool:
    """Return true for the name of a register file or memory space, such as `$r` or `s[]`, or of all of them."""
    bare = name.strip("$[]")
    return name in _ALL_REGISTERS or bare in isa.registers or any(s.name == f"{bare}[]" for s in isa.spaces)


def search(isas: Sequence[InstructionSet], word: str) -> list[tuple[str, str, str]]:
    """Return (instruction set or "", name, summary) of what has a word in its name, spelling or text, in any case.

    What has it in its operands and sources only comes last.
    """
    wanted = word.lower()
    found: list[tuple[str, str, str]] = []
    last: list[tuple[str, str, str]] = []

    def consider(isa: str, name: str, doc: str, *more: str, inside: Iterable[str] = ()) -> None:
        if any(wanted in text.lower() for text in (name, doc, *more)):
            found.append((isa, name, summary(doc)))
        elif any(wanted in text.lower() for text in inside):
            last.append((isa, name, summary(doc)))

    for isa in isas:
        for r in isa.records:
            syntax = (syntax_line(f) for f in r.forms)
            consider(isa.name, r.name, r.doc, *r.notes, *r.mnemonics, *syntax, inside=_inside(r))
        for f in isa.registers.values():
            consider(isa.name, f.text.replace("{n}", ""), f.doc, *_numbered(f.text.replace("{n}", ""), wanted))
        for s in isa.special_registers:
            consider(isa.name, s.name, s.doc, str(s.ref))
        for s in isa.spaces:
            consider(isa.name, s.name, s.doc, *_numbered(s.name.partition("0")[0].strip("[]"), wanted))
        for name, p in isa.pseudo.items():
            consider(isa.name, name, p.doc, p.usage)
    for d in (*DIRECTIVES.values(), *GXP_DIRECTIVES.values()):
        consider("", d.name, d.doc, d.usage)
    return found + last


def _numbered(name: str, wanted: str) -> Iterator[str]:
    """Yield the word itself if it is a register or space of this name with a number: `$r12`, `g14[]`."""
    bare = wanted.strip("$[]")
    if bare.rstrip("0123456789") == name.strip("$") != bare:
        yield wanted


def _inside(r: Record) -> Iterator[str]:
    """Yield the texts of an instruction's page on its layouts, operands and sources."""
    for f in r.forms:
        yield f.layout.doc
        for name, part in f.parts.items():
            yield name
            yield accepted_text(part)
            yield from spellings(part) or ()
    yield from (str(ref) for ref in (r.ref, *r.see))


def known_names(isas: Sequence[InstructionSet]) -> list[str]:
    """Return the names of everything that has a page."""
    names = [n for isa in isas for r in isa.records for n in (r.name, *r.mnemonics)]
    names += [s.name for isa in isas for s in isa.special_registers]
    return list(dict.fromkeys([*names, *DIRECTIVES, *GXP_DIRECTIVES]))
