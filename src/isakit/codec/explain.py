"""Bit-by-bit explanation of an instruction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from isakit.codec.instruction import Instruction
from isakit.results import hidden
from isakit.spec.fields import Field
from isakit.spec.parts import rows_of


@dataclass(frozen=True)
class ExplainRow:
    """One field: its bits (as printed, e.g. `15:9` or `w1[3]`), name, value, meaning and source."""

    bits: str
    field: str
    value: int
    meaning: str
    reference: str
    mask: int = hidden(default=0)


@dataclass(frozen=True)
class Explanation:
    """The rows of an instruction with its text, form and record; iterates over the rows."""

    text: str
    words: tuple[int, ...]
    name: str
    form: str
    status: str
    reference: str
    error: str | None
    rows: tuple[ExplainRow, ...]
    doc: str = hidden(default="")
    word_digits: int = hidden(default=8)

    def __iter__(self) -> Iterator[ExplainRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        head = " ".join(f"{w:0{self.word_digits}x}" for w in self.words)
        lines = [f"{head}  {self.text}"]
        if self.name:
            lines.append(f"{self.name} ({self.form} form), {self.status}; {self.reference}")
        if self.error:
            lines.append(f"decode error: {self.error}")
        width = max([len(r.bits) for r in self.rows] + [4])
        name = max([len(r.field) for r in self.rows] + [5])
        lines.append(f"{'bits':<{width}}  {'field':<{name}}  {'value':>8}  meaning")
        lines += [f"{r.bits:<{width}}  {r.field:<{name}}  {r.value:>#8x}  {r.meaning}" for r in self.rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td>{escape(r.bits)}</td><td>{escape(r.field)}</td><td>{r.value:#x}</td>"
            f"<td>{escape(r.meaning)}</td><td>{escape(r.reference)}</td></tr>"
            for r in self.rows
        )
        return (
            f"<p><code>{escape(self.text)}</code></p><table><tr><th>bits</th><th>field</th><th>value</th>"
            f"<th>meaning</th><th>reference</th></tr>{body}</table>"
        )


@lru_cache(4096)
def bit_names(mask: int, unit_bits: int) -> str:
    """Return a mask as bit ranges per word, e.g. `w0[15:9]`; without the word if the instruction has only one."""
    out: list[str] = []
    unit = 0
    while mask:
        part = mask & (1 << unit_bits) - 1
        ranges: list[str] = []
        bit = unit_bits - 1
        while part and bit >= 0:
            if part >> bit & 1:
                low = bit
                while low and part >> (low - 1) & 1:
                    low -= 1
                ranges.append(f"{bit}:{low}" if bit > low else f"{bit}")
                bit = low
            bit -= 1
        if ranges:
            out.append(f"w{unit}[{','.join(ranges)}]")
        mask >>= unit_bits
        unit += 1
    return " ".join(out)


def explain(i: Instruction) -> Explanation:
    """Return rows for every bit of the instruction: fixed bits, fields, ignored and unknown bits."""
    view = i.decoder.view
    unit_bits = view.variant.unit_bits
    digits = (unit_bits + 3) // 4
    form, record = i.form, i.record
    if form is None or record is None:
        return Explanation(i.text, i.words, "", "", "", "", i.error, (), word_digits=digits)
    reference = str(record.ref)
    rows = [
        ExplainRow(
            bit_names(form.fixed.mask, unit_bits),
            "opcode",
            _gather(i.word, form.fixed.mask),
            f"{record.name}, {form.layout.name} form",
            reference,
            form.fixed.mask,
        )
    ]
    seen: set[tuple[Field, str]] = set()
    for name, part in form.parts.items():
        for r in rows_of(part, i.word):
            if (r.field, r.meaning) in seen:
                continue
            seen.add((r.field, r.meaning))
            label = f"{name} ({r.field.name})" if r.field.name and r.field.name != name else name
            rows.append(
                ExplainRow(bit_names(r.field.mask, unit_bits), label, r.value, r.meaning, reference, r.field.mask)
            )
    covered = 0
    for row in rows:
        covered |= row.mask
    selectors = form.claimed(i.word) & ~covered
    every = (1 << unit_bits * i.units) - 1
    covered |= selectors
    ignored = form.ignored & every & ~covered
    rest = every & ~covered & ~ignored
    odd = (i.word ^ form.base) & rest
    for mask, name, meaning in (
        (selectors, "selectors", "choose the kinds of the operands"),
        (ignored, "ignored", "known to have no effect"),
        (rest & ~odd, "unused", "no field, as the assembler writes it"),
        (odd, "unknown", "the effect of these bits is not known"),
    ):
        if mask:
            rows.append(ExplainRow(bit_names(mask, unit_bits), name, _gather(i.word, mask), meaning, reference, mask))
    rows.sort(key=lambda r: r.mask & -r.mask)
    return Explanation(
        i.text,
        i.words,
        record.name,
        form.layout.name,
        record.status.value,
        reference,
        i.error,
        tuple(rows),
        record.doc,
        digits,
    )


def _gather(word: int, mask: int) -> int:
    """Return the bits of `word` under `mask`, packed together."""
    out = shift = 0
    while mask:
        low = mask & -mask
        if word & low:
            out |= 1 << shift
        shift += 1
        mask ^= low
    return out
