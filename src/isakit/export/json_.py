"""An instruction set as JSON: everything the records say, for programs in other languages.

The schema is in `docs/reference/export.md` and `SCHEMA`; `FORMAT` changes when the meaning of a key changes.
"""

from __future__ import annotations

import inspect
from typing import Any

from isakit.errors import IsakitError, NotModelled
from isakit.instruction_sets import Isa
from isakit.json_text import JsonObject
from isakit.sem.semantics import traced
from isakit.sem.value import Value
from isakit.spec.fields import Bits, Field, subsets
from isakit.spec.parts import Choice, Part, Template, accepted_text, error_of, possible_bits, text_of
from isakit.spec.record import Form, Record

FORMAT = "isakit-isa 1"


def export_json(isa: Isa) -> JsonObject:
    """Return the instruction set in one variant, as plain data."""
    records = isa.records
    variant = records.variant(isa.variant)
    views = {p: records.view(variant.name, p) for p in records.programs}
    return {
        "format": FORMAT,
        "isa": isa.name,
        "variant": variant.name,
        "doc": records.doc,
        "unit_bits": variant.unit_bits,
        "unit_bytes": variant.unit_bytes,
        "word_addressed": records.word_addressed,
        "delay_slots": records.delay_slots,
        "programs": [p for p in records.programs if p],
        "variants": [
            {"name": v.name, "aliases": list(v.aliases), "features": sorted(v.features), "doc": v.doc}
            for v in records.variants.values()
        ],
        "registers": [
            {"name": f.name, "count": f.count, "bits": f.width, "doc": f.doc, "constant": sorted(f.constant)}
            for f in records.registers.values()
        ],
        "special_registers": [
            {"number": s.number, "name": s.name, "doc": s.doc, "reference": str(s.ref), "status": s.status.value,
             "needs": sorted(s.needs)}
            for s in records.special_registers
        ],
        "spaces": [{"name": s.name, "doc": s.doc, "reference": str(s.ref)} for s in records.spaces],
        "documents": dict(records.documents),
        "instructions": [_record(r, views) for r in records.records],
    }  # fmt: skip


def _record(record: Record, views: JsonObject) -> JsonObject:
    from isakit.codec.syntax import syntax_line

    forms: list[JsonObject] = []
    seen: dict[int, int] = {}
    for program, view in views.items():
        for form in view.forms:
            if form.record is not record or not view.available(form):
                continue
            if id(form) in seen:
                forms[seen[id(form)]]["programs"].append(program)
                continue
            seen[id(form)] = len(forms)
            forms.append({"syntax": syntax_line(form), "programs": [program] if program else [], **_form(form)})
    return {
        "name": record.name,
        "mnemonics": record.mnemonics,
        "group": record.group.value,
        "doc": record.doc,
        "notes": list(record.notes),
        "status": record.status.value,
        "reference": str(record.ref),
        "see": [str(r) for r in record.see],
        "source": inspect.getsource(record.semantics) if record.semantics is not None else "",
        "forms": forms,
    }


def _form(form: Form) -> JsonObject:
    out: JsonObject = {
        "layout": form.layout.name,
        "units": form.units,
        "fixed": _bits(form.fixed),
        "unless": [_bits(b) for b in form.unless],
        "base": hex(form.base),
        "ignored": hex(form.ignored),
        "needs": sorted(form.needs),
        "lacking": form.lacking,
        "refusals": [{"when": _bits(r.when), "error": r.error} for r in form.refusals],
        "items": list(form.syntax),
        "operands": {name: _part(part) for name, part in form.parts.items()},
    }
    if form.constants:
        out["constants"] = {k: repr(v) for k, v in form.constants.items()}
    try:
        word = legal_word(form)
        out["semantics"] = {"word": hex(word), **_graph(form, word)}
    except (IsakitError, NotModelled) as e:
        out["semantics"] = {"unknown": str(e)}
    return out


def _bits(b: Bits) -> dict[str, str]:
    return {"mask": hex(b.mask), "value": hex(b.value)}


def _field(f: Field) -> JsonObject:
    return {"name": f.name, "slices": [[low, n] for low, n in f.slices]}


_MOST_VALUES = 5
"""Bits of an operand up to which all its texts are listed."""


def _part(part: Part) -> JsonObject:
    """Describe an operand: kind, bits, accepted texts, parts if it has some, all texts if they are few."""
    out: JsonObject = {"kind": type(part).__name__, "bits": hex(possible_bits(part)), "accepts": accepted_text(part)}
    field = getattr(part, "field", None)
    if isinstance(field, Field):
        out["field"] = _field(field)
    for name in ("scale", "signed", "file", "prefix", "spelling", "words"):
        value = getattr(part, name, None)
        if isinstance(value, (bool, int, str)) and value not in ("", False):
            out[name] = value
    if part.code_address:
        out["code_address"] = True
    if isinstance(part, Choice):
        out["choices"] = [
            {"when": _bits(a.when), **({"unless": _bits(a.unless)} if a.unless else {}), **_part(a.part)}
            for a in part.alternatives
        ]
    elif isinstance(part, Template):
        out["holes"] = {name: _part(p) for name, p in part.holes.items()}
    elif not part.addressed and 0 < possible_bits(part).bit_count() <= _MOST_VALUES:
        out["texts"] = [text_of(part, w) if error_of(part, w) is None else None for w in subsets(possible_bits(part))]
    return out


def legal_word(form: Form) -> int:
    """Return a word that is an instruction: the form's base, or another one if that is a decode error."""
    for k in range(_MOST_TRIES):
        word = form.base ^ k * 0x9E3779B97F4A7C15F39CC0605CEDC835 & form.possible & ~form.fixed.mask
        if form.matches(word) and form.error(word) is None:
            return word
    raise NotModelled("the form", "none of the words tried is an instruction")


_MOST_TRIES = 5000


def _graph(form: Form, word: int) -> JsonObject:
    """Return the meaning of the form, traced for one word: nodes in order, then effects on nodes.

    Fields of the word are nodes; other choices of static bits give other graphs.
    """
    nodes: list[JsonObject] = []
    numbers: dict[int, int] = {}
    keep: list[Value] = []

    def node(value: Value) -> int:
        stack = [value]
        while stack:
            v = stack[-1]
            if id(v) in numbers:
                stack.pop()
                continue
            waiting = [a for a in v.args if id(a) not in numbers]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            numbers[id(v)] = len(nodes)
            keep.append(v)
            entry: JsonObject = {"op": v.op, "bits": v.width, "args": [numbers[id(a)] for a in v.args]}
            if v.attr is not None:
                entry["attr"] = _field(v.attr) if isinstance(v.attr, Field) else _plain(v.attr)
            nodes.append(entry)
        return numbers[id(value)]

    effects = [
        {
            "kind": e.kind,
            "name": e.name,
            "args": [node(a) for a in e.args],
            "when": None if e.when is None else node(e.when),
            "result": None if e.result is None else node(e.result),
            "facts": {k: _plain(v) for k, v in e.attr},
        }
        for e in traced(form, word).effects
    ]
    return {"nodes": nodes, "effects": effects}


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, Field):
        return _field(value)
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    return getattr(value, "__name__", None) or str(value)


_BITS = {
    "type": "object", "required": ["mask", "value"],
    "properties": {"mask": {"type": "string", "pattern": "^0x"}, "value": {"type": "string", "pattern": "^0x"}},
}  # fmt: skip

SCHEMA: JsonObject = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "an instruction set in one variant, from isakit's records",
    "type": "object",
    "required": ["format", "isa", "variant", "unit_bits", "unit_bytes", "variants", "registers", "instructions"],
    "properties": {
        "format": {"const": FORMAT},
        "isa": {"enum": ["tesla", "vuc", "usse"]},
        "variant": {"type": "string"},
        "unit_bits": {"type": "integer"},
        "unit_bytes": {"type": "integer"},
        "instructions": {"type": "array", "items": {"$ref": "#/$defs/instruction"}},
    },
    "$defs": {
        "instruction": {
            "type": "object",
            "required": ["name", "mnemonics", "group", "doc", "status", "reference", "forms"],
            "properties": {
                "status": {"enum": ["known", "inferred", "unknown"]},
                "forms": {"type": "array", "items": {"$ref": "#/$defs/form"}},
            },
        },
        "form": {
            "type": "object",
            "required": ["syntax", "units", "fixed", "unless", "base", "operands", "items", "semantics"],
            "properties": {
                "fixed": _BITS,
                "units": {"type": "integer", "minimum": 1},
                "operands": {"type": "object", "additionalProperties": {"$ref": "#/$defs/operand"}},
                "semantics": {
                    "type": "object",
                    "properties": {"nodes": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
                },
            },
        },
        "operand": {"type": "object", "required": ["kind", "bits", "accepts"]},
        "node": {"type": "object", "required": ["op", "bits", "args"]},
    },
}
"""JSON schema of `export_json`."""
