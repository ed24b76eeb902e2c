"""The manual page of one instruction."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from isakit.codec.explain import bit_names
from isakit.codec.syntax import spellings, syntax_line
from isakit.spec import Enum, Field, Form, InstructionSet, Record

_VALUES = 32
"""An operand with at most this many named values has them listed."""


def instruction_page(isa: InstructionSet, record: Record) -> str:
    """The page as Markdown: what the instruction does, how it is written and encoded, what it means."""
    return "\n".join(_lines(isa, record)) + "\n"


def _lines(isa: InstructionSet, record: Record) -> Iterator[str]:
    names = ", ".join(f"`{m}`" for m in record.mnemonics)
    yield f"# {record.name}"
    yield ""
    yield names
    yield ""
    yield from record.doc.splitlines()
    yield ""
    yield "## Syntax"
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
        yield from _form(isa, record, form, number)
    yield "## Meaning"
    yield ""
    yield "```python"
    yield from meaning(record)
    yield "```"
    yield ""
    yield "## Source"
    yield ""
    for ref in (record.ref, *record.see):
        title = isa.documents.get(ref.document, "")
        yield f"- {ref}" + (f": {title}" if title else "")
    yield f"- status: {record.status.value}"
    yield from (f"- note: {note}" for note in record.notes)


def _operands(record: Record) -> Iterator[str]:
    """What every operand accepts, over all forms."""
    accepted: dict[str, dict[str, None]] = {}
    for form in record.forms:
        for name, part in form.parts.items():
            texts = spellings(part)
            text = " ".join(f"`{t}`" for t in texts) if texts else _cell(part.accepts())
            if text and text != "nothing":
                accepted.setdefault(name, {})[text] = None
    if not accepted:
        return
    yield "| operand | accepts |"
    yield "|---|---|"
    for name, texts in accepted.items():
        yield f"| {name} | {'<br>'.join(texts)} |"
    yield ""


def _form(isa: InstructionSet, record: Record, form: Form, number: int) -> Iterator[str]:
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
    yield "| bits | part | value |"
    yield "|---|---|---|"
    fixed = form.fixed.mask
    yield f"| {_bits(fixed, unit_bits)} | opcode | {_gathered(form.fixed.value, fixed):#x} |"
    for name, part in form.parts.items():
        mask = part.possible() & ~fixed
        if mask:
            yield f"| {_bits(mask, unit_bits)} | {name} | {_values(part) or _cell(part.accepts())} |"
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
    """Variants and program types that have the form, where not all of them do."""
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


def _values(part: Any) -> str:
    if isinstance(part, Enum) and len(part.names) <= _VALUES:
        return ", ".join(f"{v:#x} {f'`{n}`' if n else '(nothing)'}" for v, n in sorted(part.names.items()))
    return ""


def _bits(mask: int, unit_bits: int) -> str:
    return bit_names(mask, unit_bits) if mask else ""


def _gathered(word: int, mask: int) -> int:
    fields = [(low, 1) for low in range(mask.bit_length()) if mask >> low & 1]
    return Field(tuple(fields)).get(word)


def _cell(text: str) -> str:
    """What an operand accepts, for a table: every alternative once."""
    return " | ".join(dict.fromkeys(text.split(" | "))).replace("|", "\\|")


# --- the meaning -----------------------------------------------------------------------------------------------------


def meaning(record: Record) -> list[str]:
    """The source of the semantics function without decorator and docstring, and of the helpers it calls."""
    if record.semantics is None:
        return ["# what it does is not known"]
    lines = _body(record.semantics)
    for helper in _helpers(record.semantics):
        lines += ["", *_source(helper)]
    return lines


def _source(function: Callable[..., Any]) -> list[str]:
    try:
        return textwrap.dedent(inspect.getsource(function)).rstrip().splitlines()
    except (OSError, TypeError):
        return []


def _body(function: Callable[..., Any]) -> list[str]:
    """The `def` line and the body behind the docstring."""
    lines = _source(function)
    if not lines:
        return [f"def {function.__name__}{inspect.signature(function)}:", "    ..."]
    tree = next((n for n in ast.walk(ast.parse("\n".join(lines))) if isinstance(n, ast.FunctionDef)), None)
    if tree is None:
        return lines
    first, *rest = tree.body
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    head = lines[tree.lineno - 1 : first.lineno - 1]
    if not documented:
        return lines[tree.lineno - 1 :]
    tail = lines[(first.end_lineno or first.lineno) :]
    return [*head, *tail] if rest else [*head, "    pass  # what it does is in its operands"]


def _helpers(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Private functions of the same module that the function calls, directly or through others."""
    found: list[Callable[..., Any]] = []
    pending = [function]
    while pending:
        current = pending.pop(0)
        scope = getattr(current, "__globals__", {})
        for name in re.findall(r"\b_[a-z]\w*(?=\()", "\n".join(_source(current))):
            helper = scope.get(name)
            if (
                inspect.isfunction(helper)
                and helper.__module__ == function.__module__
                and helper is not function
                and helper not in found
                and not name.endswith("_forms")
            ):
                found.append(helper)
                pending.append(helper)
    return found
