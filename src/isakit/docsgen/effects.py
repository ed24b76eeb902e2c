"""The side effects of an instruction: the flags it writes, and the faults it can raise.

Both come from the traced graphs of its forms, over the choices of their static bits, and from the faults that its
instruction set declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from isakit.codec.decoder import Decoder
from isakit.codec.syntax import syntax_line
from isakit.docsgen.pseudocode import example_word, flag_values
from isakit.errors import NotModelled
from isakit.spec import Form, InstructionSet, Record
from isakit.spec.parts import static_bits

_ALL_BITS = 4
"""Static bits of an operand up to which every combination is tried; of more, each bit alone."""
_MIXED = 16
"""Words that are tried with several operands changed, where one changed operand gives only constant flags."""
_MOST_WAYS = 4
"""Different ways to compute the flags that are written out; the rest is counted."""

_MOST_UNKNOWN = 12
"""The most requests listed as not modelled."""


def flags_and_faults(isa: InstructionSet, record: Record, linked: bool) -> Iterator[str]:
    """Yield the page's section about flags and faults, as lines of Markdown."""
    words = [(form, word) for form in record.forms for word in words_of(form)]
    yield from _flags(isa, words)
    yield from _faults(isa, record, words, linked)


def words_of(form: Form) -> list[int]:
    """Return words of a form that differ in the bits that select the trace and the machine's own parts, by operand."""
    try:
        base = example_word(form)
    except NotModelled:
        return []
    return [base, *_varied(form, base)]


def _varied(form: Form, base: int) -> Iterator[int]:
    masks = [static_bits(part) & ~form.fixed.mask for part in form.parts.values()]
    for word in dict.fromkeys(base & ~mask | bits for mask in masks for bits in _combinations(mask)):
        if word != base and form.matches(word) and form.error(word) is None:
            yield word


def _mixed(isa: InstructionSet, form: Form) -> Iterator[int]:
    """Yield words in which the static bits of several operands change together."""
    base, together = example_word(form), form.static_mask & ~form.fixed.mask
    for k in range(1, _MIXED):
        word = base ^ together & k * 0x9E3779B97F4A7C15
        if form.matches(word) and form.error(word) is None and _decodes(isa, form, word):
            yield word


def _decodes(isa: InstructionSet, form: Form, word: int) -> bool:
    """Return true if a word is the instruction on some chip."""
    decoders = (Decoder(isa.view(v, p)) for v in isa.variants for p in isa.programs)
    unit_bits = next(iter(isa.variants.values())).unit_bits
    units = [word >> unit_bits * k & (1 << unit_bits) - 1 for k in range(form.units)]
    found = (d.decode(units, 0)[0] for d in decoders)
    return any(i.error is None and i.form is not None and i.form.record is form.record for i in found)


def _combinations(mask: int) -> Iterator[int]:
    bits = [1 << k for k in range(mask.bit_length()) if mask >> k & 1]
    if len(bits) > _ALL_BITS:
        yield from (0, *bits)
        return
    for chosen in range(1 << len(bits)):
        yield sum(b for k, b in enumerate(bits) if chosen >> k & 1)


@cache
def _kinds(isa: InstructionSet, record: Record) -> tuple[frozenset[str], frozenset[str]]:
    """Return the kinds of faults the instruction can raise by itself, and those it can raise by its frame only."""
    words = [(form, word) for form in record.forms for word in words_of(form)]
    own = {f.kind for f in isa.faults if any(f.by(form, word, f.raised) for form, word in words)}
    framed = {f.kind for f in isa.faults if any(f.by(form, word, f.framed) for form, word in words)}
    return frozenset(own), frozenset(framed - own)


def _flags(isa: InstructionSet, words: list[tuple[Form, int]]) -> Iterator[str]:
    """Yield the computation of condition codes and predicates, each variant once."""
    ways: dict[str, tuple[str, list[str]]] = {}
    for form in dict.fromkeys(form for form, _ in words):
        first = next((word for other, word in words if other is form and _flag_lines(isa, form, word)), None)
        some = [] if first is None else [first, *_varied(form, first)]
        if all(_constants(_flag_lines(isa, form, word)) for word in some):
            some += _mixed(isa, form) if some else ()
        for word in some:
            lines, text = _flag_lines(isa, form, word), form.text(word)
            key = re.sub(r"\$?\b[a-z]{1,2}\d+\b|0x[0-9a-f]+|\b\d+\b", "", "\n".join(lines))
            if lines and (key not in ways or (_WHOLE.search(text) and not _WHOLE.search(ways[key][0]))):
                ways[key] = text, lines
    if not ways:
        files = [r.text.format(n="N") for r in isa.registers.values() if r.flags]
        if files:
            yield f"Writes no {' or '.join(f'`{f}`' for f in files)}."
            yield ""
        return
    telling = sorted(ways.values(), key=_order)
    for text, lines in telling[:_MOST_WAYS]:
        yield f"The flags of `{text}`:"
        yield ""
        yield "```text"
        yield from lines
        yield "```"
        yield ""
    if len(ways) > _MOST_WAYS:
        more = len(ways) - _MOST_WAYS
        yield f"{more} more way{'s' * (more != 1)} to compute them belong to other operands and sizes."
        yield ""
    if any("result" in line for _, lines in telling[:_MOST_WAYS] for line in lines):
        yield "`result` is what the destination gets, with the bits that are cut off there."
        yield ""


def _flag_lines(isa: InstructionSet, form: Form, word: int) -> list[str]:
    try:
        return flag_values(isa, form, word)
    except NotModelled:
        return []


def _constants(lines: list[str]) -> bool:
    return all(_CONSTANT.search(line) for line in lines)


_CONSTANT = re.compile(r"= [01]$")
_WHOLE = re.compile(r"\b[bfsu]32\b")


def _order(way: tuple[str, list[str]]) -> tuple[int, bool]:
    """Return ways with the fewest constants first, and those of whole registers."""
    text, lines = way
    return sum(bool(_CONSTANT.search(line)) for line in lines), not _WHOLE.search(text)


def _faults(isa: InstructionSet, record: Record, words: list[tuple[Form, int]], linked: bool) -> Iterator[str]:
    own, framed = _kinds(isa, record)
    if own:
        yield "| fault | where | decided by |"
        yield "|---|---|---|"
        for f in isa.faults:
            if f.kind in own:
                yield f"| {_named(f.kind, linked)} | {f.doc} | {f'`{f.option}`' if f.option else ''} |"
        yield ""
    elif record.semantics is not None and isa.faults:
        yield "Raises no fault of its own."
        yield ""
    if framed:
        kinds = [_named(f.kind, linked) for f in isa.faults if f.kind in framed]
        yield f"As every instruction of its length and with its tails: {', '.join(kinds)}."
        yield ""
    refused = dict.fromkeys(r.error for form in record.forms for r in form.refusals)
    refused |= dict.fromkeys(form.lacking for form in record.forms if form.needs)
    refused |= dict.fromkeys(e for form in _never(record, words) if (e := form.error(form.base)) is not None)
    if refused:
        yield f"Words that decode to an error instead: {', '.join(f'`{e}`' for e in refused)}, see *Encoding*."
        yield ""
    unknown = _not_modelled(record, words)
    if unknown:
        yield "Not modelled, so that a program stops there instead of computing something else:"
        yield ""
        yield from (f"- {text}" for text in unknown[:_MOST_UNKNOWN])
        if len(unknown) > _MOST_UNKNOWN:
            yield f"- and {len(unknown) - _MOST_UNKNOWN} more of this kind"
        yield ""


def _named(kind: str, linked: bool) -> str:
    return f"[{kind}](faults.md#{kind.lower()})" if linked else kind


def _never(record: Record, words: list[tuple[Form, int]]) -> list[Form]:
    """Return the forms of which no word is an instruction."""
    return [form for form in record.forms if not any(form is other for other, _ in words)]


def _not_modelled(record: Record, words: list[tuple[Form, int]]) -> list[str]:
    """Return the parts of the instruction that are not modelled, with reasons."""
    from isakit.sem.semantics import trace_of

    if record.semantics is None:
        return ["all of it"]
    found: dict[str, None] = {}
    for form, word in words:
        try:
            trace_of(form, word)
        except NotModelled as e:
            found[str(e)] = None
    for form in _never(record, words):
        if form.error(form.base) is None:
            found[f"`{syntax_line(form)}`: none of its words is known to be an instruction"] = None
    return list(found)


def faults_page(isa: InstructionSet) -> str:
    """Return all faults of an instruction set's machine, and the instructions that can raise each."""
    raised: dict[str, list[str]] = {}
    for record in isa.records:
        for kind in frozenset[str]().union(*_kinds(isa, record)):
            raised.setdefault(kind, []).append(record.name)
    lines = [f"# {isa.name}: faults", ""]
    lines += ["What stops a program, by the name that `MachineFault.kind` has, and who can raise it.", ""]
    for f in isa.faults:
        lines += [f"## {f.kind}", "", f"{f.doc[0].upper()}{f.doc[1:]}.", ""]
        if f.option:
            lines += [f"Decided by the option `{f.option}`.", ""]
        names = raised.get(f.kind, [])
        if len(names) * 2 > len(isa.records):
            lines += [f"{len(names)} of {len(isa.records)} instructions can raise it.", ""]
        elif names:
            lines += [", ".join(f"[{n}]({n}.md)" for n in names) + ".", ""]
    return "\n".join(lines) + "\n"
