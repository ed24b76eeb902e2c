"""Listings with the lines of source and PTX between the instructions that come from them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isakit.asm.printer import lines
from isakit.asm.program import Program
from isakit.asm.units import address_scale
from isakit.line_table import SourceLine

_WIDTH = 100
_ADDRESS = re.compile(r"// ([0-9a-f]{4,8}): [0-9a-f ]+$")
"""The comment after an instruction: its address and its words."""


def source_listing(program: Program, *, labels: bool = True, header: bool = True) -> Iterator[str]:
    """Yield the lines of a listing, with a comment before an instruction whose source line is a new one.

    Programs that know no lines are listed without. `header` as for `printer.lines`.
    """
    table = program.lines
    shown, scale = SourceLine(), address_scale(program.decoder)
    for line in lines(program, labels=labels, header=header):
        found = _ADDRESS.search(line) if table is not None else None
        where = table.at(scale * int(found[1], 16)) if table is not None and found is not None else None
        if table is not None and where is not None:
            if where.line and (where.path, where.line) != (shown.path, shown.line):
                text = table.source_text(where)
                yield f"    // {where.path or '?'}:{where.line}{': ' + text if text else ''}"[:_WIDTH]
            text = table.ptx_text(where)
            if text and where.ptx != shown.ptx:
                yield f"    //   {text}"[:_WIDTH]
            shown = where
        yield line
