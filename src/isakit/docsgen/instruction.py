"""The manual page of one instruction."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isakit.codec.explain import bit_names
from isakit.codec.syntax import spellings, syntax_line
from isakit.docsgen.effects import flags_and_faults
from isakit.docsgen.figures import rates, usage
from isakit.docsgen.pseudocode import example_word, operations, pseudocode
from isakit.errors import NotModelled
from isakit.spec import Enum, Field, Form, InstructionSet, Record
from isakit.spec.parts import Part, accepted_text, possible_bits

_VALUES = 32
"""An operand with at most this many named values has them listed."""


def instruction_page(isa: InstructionSet, record: Record, pictures: bool = False) -> str:
    """Return the page as Markdown: purpose, syntax, encodings and meaning of the instruction.

    `pictures`: with the drawings `NAME-1.svg`, `NAME-2.svg` ... of the forms, in the folder of the page.
    """
    return "\n".join(_lines(isa, record, pictures)) + "\n"


def _lines(isa: InstructionSet, record: Record, pictures: bool) -> Iterator[str]:
    yield f"# {record.name}"
    yield ""
    yield from record.doc.splitlines()
    yield ""
    yield from _chips(isa, record)
    yield "## Syntax"
    yield ""
    yield f"Written {', '.join(f'`{m}`' for m in record.mnemonics)}."
    yield ""
    yield "```text"
    yield from dict.fromkeys(syntax_line(f) for f in record.forms)
    yield "```"
    yield ""
    yield "`[...]` may be left out, `a|b` is a choice of words."
    yield ""
    yield from _operands(record)
    yield "## Encoding"
    yield ""
    for number, form in enumerate(record.forms, 1):
        yield from _form(isa, record, form, number, pictures)
    yield "## Meaning"
    yield ""
    yield from meaning(isa, record)
    yield "## Flags and faults"
    yield ""
    yield from flags_and_faults(isa, record, pictures)
    yield "## In real programs"
    yield ""
    yield from usage(isa, record)
    yield from rates(isa, record)
    yield from _related(isa, record, pictures)
    yield "## Source"
    yield ""
    for ref in (record.ref, *record.see):
        title = isa.documents.get(ref.document, "")
        yield f"- {ref}" + (f": {title}" if title else "")
    yield f"- status: {record.status.value}"
    yield from (f"- note: {note}" for note in record.notes)


def _chips(isa: InstructionSet, record: Record) -> Iterator[str]:
    """Yield one line with the variants and program types that have the instruction."""
    views = [(v, p) for v in isa.variants for p in isa.programs]
    have = {(v, p) for v, p in views if any(isa.view(v, p).context.has(f.needs) for f in record.forms)}
    variants = [v for v in isa.variants if any((v, p) in have for p in isa.programs)]
    programs = [p for p in isa.programs if any((v, p) in have for v in isa.variants)]
    chips = "all chips" if len(variants) == len(isa.variants) else ", ".join(f"`{v}`" for v in variants) or "no chip"
    kinds = "" if len(programs) == len(isa.programs) else f", in {', '.join(programs)} programs only"
    yield f"On {chips}{kinds}. {record.status.value.capitalize()}: {record.ref}."
    yield ""


_MOST_RELATED = 12


def _related(isa: InstructionSet, record: Record, linked: bool) -> Iterator[str]:
    """Yield instructions that are written with the same mnemonic, and those whose documentation is the same place."""
    mine = set(record.mnemonics)
    same = [r for r in isa.records if r is not record and mine & set(r.mnemonics)]
    place = [r for r in isa.records if r is not record and r not in same and r.ref == record.ref]
    for title, found in (("Written alike", same), ("From the same place of the document", place)):
        if found:
            names = [f"[{r.name}]({r.name}.md)" if linked else f"`{r.name}`" for r in found[:_MOST_RELATED]]
            more = f" and {len(found) - _MOST_RELATED} more" if len(found) > _MOST_RELATED else ""
            yield f"{title}: {', '.join(names)}{more}."
            yield ""


def _operands(record: Record) -> Iterator[str]:
    """Yield the texts that every operand accepts, over all forms."""
    accepted: dict[str, dict[str, None]] = {}
    for form in record.forms:
        for name, part in form.parts.items():
            texts = spellings(part)
            text = " ".join(f"`{t}`" for t in texts) if texts else _cell(accepted_text(part))
            if text and text != "nothing":
                accepted.setdefault(name, {})[text] = None
    if not accepted:
        return
    yield "| operand | accepts |"
    yield "|---|---|"
    for name, texts in accepted.items():
        yield f"| {name} | {'<br>'.join(texts)} |"
    yield ""


def _form(isa: InstructionSet, record: Record, form: Form, number: int, pictures: bool) -> Iterator[str]:
    title = f"Form {number}: {form.layout.name}" if len(record.forms) > 1 else f"Form: {form.layout.name}"
    yield f"### {title}"
    yield ""
    yield f"`{syntax_line(form)}`"
    yield ""
    unit_bits = next(iter(isa.variants.values())).unit_bits
    facts = [f"{form.units} word{'s' * (form.units != 1)}", *_availability(isa, form)]
    if form.layout.doc:
        facts.insert(0, form.layout.doc)
    yield "; ".join(facts) + "."
    yield ""
    if pictures:
        yield f"![the bits of form {number}]({record.name}-{number}.svg)"
        yield ""
    yield "| bits | part | value |"
    yield "|---|---|---|"
    fixed = form.fixed.mask
    yield f"| {_bits(fixed, unit_bits)} | opcode | {_gathered(form.fixed.value, fixed):#x} |"
    for name, part in form.parts.items():
        mask = possible_bits(part) & ~fixed
        if mask:
            yield f"| {_bits(mask, unit_bits)} | {name} | {_values(part) or _cell(accepted_text(part))} |"
    if form.ignored & ~fixed & ~form.possible:
        yield f"| {_bits(form.ignored & ~fixed & ~form.possible, unit_bits)} | | no effect |"
    yield ""
    for excluded in form.unless:
        bits = _bits(excluded.mask, unit_bits)
        yield f"Not this form where {bits} is {_gathered(excluded.value, excluded.mask):#x}."
        yield ""
    for refusal in form.refusals:
        bits = _bits(refusal.when.mask, unit_bits)
        yield f"Decode error {refusal.error} where {bits} is {_gathered(refusal.when.value, refusal.when.mask):#x}."
        yield ""


def _availability(isa: InstructionSet, form: Form) -> list[str]:
    """Return variants and program types that have the form, if not all of them do."""
    if not form.needs:
        return []
    views = [(v, p, isa.view(v, p)) for v in isa.variants for p in isa.programs]
    have = [(v, p) for v, p, view in views if view.context.has(form.needs)]
    out: list[str] = []
    variants = list(dict.fromkeys(v for v, _ in have))
    programs = list(dict.fromkeys(p for _, p in have))
    if len(variants) < len(isa.variants):
        out.append("only " + ", ".join(variants) if variants else "on no variant")
    if len(programs) < len(isa.programs):
        out.append(f"only {', '.join(programs)} programs")
    if len(have) < len(views):
        out.append(f"elsewhere the decode error {form.lacking}")
    return out


def _values(part: Part) -> str:
    if isinstance(part, Enum) and len(part.names) <= _VALUES:
        return ", ".join(f"{v:#x} {f'`{n}`' if n else '(nothing)'}" for v, n in sorted(part.names.items()))
    return ""


def _bits(mask: int, unit_bits: int) -> str:
    return bit_names(mask, unit_bits) if mask else ""


def _gathered(word: int, mask: int) -> int:
    fields = [(low, 1) for low in range(mask.bit_length()) if mask >> low & 1]
    return Field(tuple(fields)).get(word)


def _cell(text: str) -> str:
    """Return the texts an operand accepts, for a table: every alternative once."""
    return " | ".join(dict.fromkeys(text.split(" | "))).replace("|", "\\|")


# --- the meaning -----------------------------------------------------------------------------------------------------


def meaning(isa: InstructionSet, record: Record) -> Iterator[str]:
    """Yield the computations of example words as Markdown, equal ones once."""
    if record.semantics is None:
        yield "What it does is not known."
        yield ""
        return
    seen: set[str] = set()
    rules: dict[str, None] = {}
    for form in record.forms:
        try:
            word = example_word(form)
        except NotModelled:
            continue
        try:
            lines, named = pseudocode(isa, form, word), operations(form, word)
        except NotModelled as e:
            lines, named = [str(e)], {}
        key = re.sub(r"\$?\b[a-z]{1,2}\d+\b|0x[0-9a-f]+|\b\d+\b", "", "\n".join(lines))
        if key in seen:
            continue
        seen.add(key)
        unit_bits = next(iter(isa.variants.values())).unit_bits
        units = [f"{word >> unit_bits * k & (1 << unit_bits) - 1:0{(unit_bits + 3) // 4}x}" for k in range(form.units)]
        yield f"`{form.text(word)}`, in words `{' '.join(units)}`:"
        yield ""
        yield "```text"
        yield from lines
        yield "```"
        yield ""
        rules |= dict.fromkeys(f"- `{name}`: {rule}" for name, rule in named.items() if rule)
    if rules:
        yield from rules
        yield ""
