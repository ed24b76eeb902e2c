"""Reference pages generated from the records: nothing in them is written by hand.

`write` makes a folder of Markdown pages (`index.md` leads to all of them), `page_texts` finds the pages of one name.
"""

from __future__ import annotations

from pathlib import Path

from isakit.docsgen.bit_picture import bit_picture
from isakit.docsgen.effects import faults_page
from isakit.docsgen.find import find_pages, known_names
from isakit.docsgen.instruction import instruction_page
from isakit.docsgen.overview import assembler_page, index_page, isa_page, mnemonics_page, registers_page
from isakit.registry import VARIANTS
from isakit.spec.isa import instruction_set

__all__ = ["find_pages", "instruction_page", "isa_page", "known_names", "write"]


def write(folder: Path | str) -> None:
    """Write all reference pages into a folder.

    One per instruction with drawings of its forms, an overview per instruction set, an index of mnemonics, `index.md`.
    """
    folder = Path(folder)
    isas = [instruction_set(name) for name in VARIANTS]
    _write(folder / "index.md", index_page(isas))
    _write(folder / "assembler.md", assembler_page())
    _write(folder / "mnemonics.md", mnemonics_page(isas))
    for isa in isas:
        _write(folder / isa.name / "index.md", isa_page(isa, toctree=True))
        _write(folder / isa.name / "registers.md", registers_page(isa))
        _write(folder / isa.name / "faults.md", faults_page(isa))
        unit_bits = next(iter(isa.variants.values())).unit_bits
        for record in isa.records:
            _write(folder / isa.name / f"{record.name}.md", instruction_page(isa, record, pictures=True))
            for number, form in enumerate(record.forms, 1):
                _write(folder / isa.name / f"{record.name}-{number}.svg", bit_picture(form, unit_bits))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
