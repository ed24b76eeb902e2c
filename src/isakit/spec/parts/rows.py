"""Explanations of operands, field by field, and operands as they are in a context."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace

from isakit.spec.parts.base import Context, Part, Row, needs_set, once, union
from isakit.spec.parts.text import text_of
from isakit.spec.parts.tree import (
    Alternative,
    Choice,
    Dependent,
    Enum,
    HasFeature,
    Hidden,
    Imm,
    Nothing,
    Numbered,
    Reg,
    Silent,
    Spellings,
    Template,
)


def rows_of(part: Part, word: int) -> list[Row]:
    """Return the explanation of the bits."""
    match part:
        case Spellings() if part.describe is not None:
            return part.describe(word)
        case Choice():
            a = part.branch(word)
            return [] if a is None else _alternative_rows(a, word)
        case Template():
            return _template_rows(part, word)
        case Enum():
            v = part.field.get(word)
            meaning = part.meanings.get(v) or part.names.get(v, part.illegal) or part.label or "default"
            f = part.shown or part.field
            return [Row(f, f.get(word), meaning)] if f.width else []
        case Reg():
            v = part.field.get(word)
            return [Row(part.field, v, part.names[v] or "???")] if part.field.width else []
        case Imm():
            meaning = part.meaning.format(part.value(word)) if part.meaning else text_of(part, word)
            return [Row(part.field, part.field.get(word), meaning)]
        case Numbered():
            return [Row(part.field, part.field.get(word), text_of(part, word))]
        case Silent():
            v = part.field.get(word)
            return [Row(part.field, v, part.meanings[v])] if v in part.meanings else []
        case Dependent():
            return rows_of(part.given(word), word)
        case _:
            return []


def _alternative_rows(a: Alternative, word: int) -> list[Row]:
    """Return the explanation of the bits that select the alternative and of the part's."""
    said = union(f.mask for f in a.says)
    rows = [Row(f, f.get(word), text) for f, text in a.says.items()]
    return rows + [r for r in rows_of(a.part, word) if not said or r.field.mask & ~said]


def _template_rows(part: Template, word: int) -> list[Row]:
    out: list[Row] = []
    for name, p in part.holes.items():
        for r in rows_of(p, word):
            meaning = part.meanings.get(name)
            out.append(replace(r, meaning=meaning.format(r.meaning)) if meaning else r)
    return out


# --- contexts --------------------------------------------------------------------------------------------------------
def resolved(part: Part, ctx: Context) -> Part:
    """Return the part as it is in a context: alternatives that do not exist there are gone.

    The part itself where nothing changes: most parts do not depend on it, and what is known about them is kept.
    """
    match part:
        case Choice():
            return _resolved_choice(part, ctx)
        case Template():
            parts = [resolved(p, ctx) for p in part.children]
            holes = dict(zip(part.holes, parts, strict=True))
            return part if _same(parts, part.children) else replace(part, holes=holes)
        case Reg() if part.place is not None:
            return part.place.resolved(ctx) or part
        case HasFeature():
            return _BOUND_TO[ctx.has(needs_set(part.name))]
        case Hidden():
            return Hidden(part=resolved(part.part, ctx))
        case Dependent() if not part.same:
            return _resolved_dependent(part, ctx)
        case _:
            return part


_BOUND_TO = {present: Nothing(present) for present in (False, True)}


@once
def _known(part: Choice) -> dict[Context, Part]:
    """Return the choice in the contexts that asked; where it is the same, one object, so that forms are alike."""
    return {}


def _resolved_choice(part: Choice, ctx: Context) -> Part:
    known = _known(part)
    found = known.get(ctx)
    if found is None:
        alive = [_resolved_alternative(a, ctx) for a in part.alternatives if not a.needs or ctx.has(a.needs)]
        if type(part) is Choice and len(alive) == 1 and alive[0].always:
            found = alive[0].part
        else:
            choices = (c for c in (part, *known.values()) if isinstance(c, Choice))
            alike = next((c for c in choices if _same(alive, c.alternatives)), None)
            found = alike or replace(part, alternatives=tuple(alive))
        known[ctx] = found
    return found


@once
def _branches(a: Alternative) -> dict[int, Alternative]:
    """Return an empty cache of `a` with its part specialized to a context, by the id of that part."""
    return {}


def _resolved_alternative(a: Alternative, ctx: Context) -> Alternative:
    part = resolved(a.part, ctx)
    if part is a.part:
        return a
    known = _branches(a)
    found = known.get(id(part))
    if found is None:
        found = known[id(part)] = replace(a, part=part)
    return found


def _resolved_dependent(part: Dependent, ctx: Context) -> Dependent:
    known: dict[int, tuple[Part, Part]] = {}

    def chosen(word: int) -> Part | None:
        found = part.choose(word)
        if found is None:
            return None
        if id(found) not in known:
            known[id(found)] = found, resolved(found, ctx)
        return known[id(found)][1]

    return replace(part, choose=chosen)


def _same(a: Sequence[object], b: Sequence[object]) -> bool:
    """Return true if two sequences hold the very same objects."""
    return len(a) == len(b) and all(map(operator.is_, a, b))
