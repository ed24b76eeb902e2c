"""Lines of a listing, as every part of the page takes them: one record per instruction."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypedDict

from isakit.asm.printer import label_names
from isakit.asm.program import hex_words
from isakit.asm.units import address_scale
from isakit.errors import IsakitError
from isakit.json_text import JsonObject
from isakit.results import plain
from isakit.web.limits import LINES

if TYPE_CHECKING:
    from isakit.analysis import ControlFlow
    from isakit.analysis.columns import LiveColumns
    from isakit.asm import Program
    from isakit.web.units import Unit

ANALYSED = 50_000
"""Instructions of the longest program whose blocks and live registers are shown."""


class ListingLine(TypedDict, total=False):
    """One instruction.

    Byte `address`, its `words` as hexadecimal text, `text`, `label` before it, `target` of a branch, the `source`
    and `ptx` lines it comes from (0: unknown), its `block`, whether it is the `first` there, `group` of the
    instruction, `error` where the words are not an instruction, the live `ranges` as a column per register, and
    `comment` and `bookmark` of a project.
    """

    address: int
    words: str
    text: str
    label: str
    target: int | None
    source: int
    ptx: int
    block: int
    first: bool
    group: str
    error: str | None
    comment: str
    bookmark: str
    ranges: str


def lines(unit: Unit, start: int, count: int, ranges: bool = False) -> JsonObject:
    """Return at most `LINES` lines from instruction number `start`, and how many there are.

    `ranges`: with the live ranges of registers as `isakit dis --live` draws them; `heads` are the lines above.
    """
    program = unit.program
    analysed = len(program) <= ANALYSED
    blocks = _blocks(program) if analysed else {}
    columns = _columns(program) if analysed and ranges else None
    labels = _labels(program)
    sources: dict[int, int] = program.source_lines
    rows: list[ListingLine] = []
    for i in program.instructions[start : start + min(count, LINES)]:
        where = program.lines.at(i.address) if program.lines is not None else None
        row = ListingLine(
            address=i.address, words=hex_words(i), text=i.text, label=labels.get(i.address, ""), target=i.target,
            source=sources.get(i.address, where.line if where else 0), ptx=where.ptx if where else 0,
            group=i.group.value if i.group is not None else "invalid", error=i.error,
        )  # fmt: skip
        if program.annotations is not None:
            row["comment"] = program.annotations.comments.get(i.address, "")
            row["bookmark"] = program.annotations.bookmarks.get(i.address, "")
        if i.address in blocks:
            row["block"], row["first"] = blocks[i.address]
        if columns is not None:
            row["ranges"] = columns.of(i)
        rows.append(row)
    heads = [*columns.heads()] if columns is not None else []
    return {"total": len(program), "start": start, "lines": rows, "heads": heads}


@lru_cache(maxsize=32)
def flow_of(program: Program) -> ControlFlow:
    """Return the control-flow graph of a program; kept, because every pane asks."""
    from isakit import analysis

    return analysis.control_flow(program)


@lru_cache(maxsize=32)
def _labels(program: Program) -> dict[int, str]:
    """Return labels by byte address: of the source text, of a project, or as a listing names targets of branches."""
    scale = address_scale(program.decoder)
    of_targets = {a * scale: name for a, name in label_names(program).items()}
    return of_targets | {a: name for name, a in program.labels.items()}


@lru_cache(maxsize=32)
def _blocks(program: Program) -> dict[int, tuple[int, bool]]:
    return {i.address: (b.number, i.address == b.address) for b in flow_of(program).blocks for i in b.instructions}


@lru_cache(maxsize=8)
def _columns(program: Program) -> LiveColumns:
    from isakit.analysis.columns import LiveColumns

    return LiveColumns(flow_of(program))


def graph(unit: Unit) -> JsonObject:
    """Return blocks and edges with the structure that a drawing needs."""
    from isakit import analysis
    from isakit.analysis.graph_records import graph_record

    flow = flow_of(unit.program)
    out: JsonObject = plain(graph_record(flow))
    out["loops"] = [
        {"head": x.head, "blocks": x.blocks} for f in flow.functions for x in analysis.loops(flow, f)
    ]  # fmt: skip
    return out


def explained(unit: Unit, address: int) -> JsonObject:
    """Explain the bits of one instruction, with the page of its record and its meaning."""
    from isakit.docsgen.pseudocode import explained as computed

    i = unit.program.at(address)
    if i is None:
        raise IsakitError(f"there is no instruction at {address:#x}")
    e = i.explain()
    return {
        **plain(e), "address": i.address, "unit_bits": i.decoder.view.variant.unit_bits,
        "words": hex_words(i).split(),
        "rows": [{"bits": r.bits, "field": r.field, "value": f"{r.value:#x}", "meaning": r.meaning,
                  "reference": r.reference, "mask": f"{r.mask:x}"} for r in e.rows],
        "doc": e.doc, "reads": sorted(f"{f}{n}" for f, n in i.uses), "writes": sorted(f"{f}{n}" for f, n in i.defs),
        "meaning": computed(i.decoder.isa, i.form, i.word),
    }  # fmt: skip
