"""Pages by name, for looking things up."""

from __future__ import annotations

from collections.abc import Sequence

from isakit.asm.directives import DIRECTIVES
from isakit.docsgen.instruction import instruction_page
from isakit.formats.gxp_directives import GXP_DIRECTIVES
from isakit.spec import InstructionSet, Record


def records_named(isas: Sequence[InstructionSet], name: str) -> list[tuple[InstructionSet, Record]]:
    """Instructions with that name: of the family if there is one, else of an operation in it."""
    exact = [(isa, r) for isa in isas for r in isa.records if r.name == name]
    return exact or [(isa, r) for isa in isas for r in isa.records if name in r.mnemonics]


def find_pages(isas: Sequence[InstructionSet], name: str) -> list[str]:
    """Pages of an instruction, a special register or a directive, as Markdown."""
    pages = [instruction_page(isa, r) for isa, r in records_named(isas, name)]
    for isa in isas:
        for s in isa.special_registers:
            if s.name == name.lstrip("$"):
                pages.append(
                    f"# {s.name}\n\nSpecial register {s.number:#x} of {isa.name}: {s.doc}\n\n"
                    f"- {s.ref}\n- status: {s.status.value}\n"
                )
    d = DIRECTIVES.get(name) or GXP_DIRECTIVES.get(name)
    if d is not None:
        pages.append(f"# {d.name}\n\n`{d.usage}`\n\n{' '.join(d.doc.split())}\n")
    return pages


def known_names(isas: Sequence[InstructionSet]) -> list[str]:
    """Everything that has a page."""
    names = [n for isa in isas for r in isa.records for n in (r.name, *r.mnemonics)]
    names += [s.name for isa in isas for s in isa.special_registers]
    return list(dict.fromkeys([*names, *DIRECTIVES, *GXP_DIRECTIVES]))
