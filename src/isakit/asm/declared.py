"""The declared target of a source text: `.isa NAME VARIANT`, or the comment that older listings begin with."""

from __future__ import annotations

import re

from isakit.asm.source import SourceSpan
from isakit.errors import UnknownIsaError
from isakit.lean import dataclass
from isakit.registry import VARIANTS
from isakit.spec.isa import View

_DIRECTIVE = re.compile(r"\s*\.isa[ \t]+([\w.]+)(?:[ \t]+([\w.]+))?[ \t]*(?://.*)?\r?$")
_COMMENT = re.compile(rf"\s*//[ \t]*({'|'.join(VARIANTS)})[ \t]+(\w+)[ \t]*\r?$")
_LINES = 200
"""Largest number of comment lines before the directive."""


@dataclass(frozen=True)
class Declared:
    """The instruction set and the variant (or "") that a text names, and their positions."""

    isa: str
    variant: str
    isa_place: SourceSpan
    variant_place: SourceSpan


def declared(text: str) -> Declared | None:
    """Return the declaration in the first statement of a text, or in the first line of an older listing."""
    first = True
    blank = text.count("\n", 0, len(text) - len(text.lstrip()))  # a text cut out of another one has many
    start = 0
    for _ in range(blank):
        start = text.index("\n", start) + 1
    for number, line in enumerate(text[start:].split("\n", _LINES)[:_LINES], 1 + blank):
        m = _DIRECTIVE.match(line) or (_COMMENT.match(line) if first else None)
        if m is not None:
            places = [SourceSpan(number, max(0, m.start(k)), len(m[k] or "")) for k in (1, 2)]
            return Declared(m[1].lower(), (m[2] or "").lower(), *places)
        if line.strip():
            first = False
            if not line.lstrip().startswith(("//", "#")):
                return None
    return None


def disagreement(view: View, isa: str, variant: str) -> str:
    """Return why a text for that instruction set and variant cannot be assembled for this one; empty if it can."""
    if isa.lower() != view.isa.name:
        return f"this text is for {isa}, it is being assembled for {view.isa.name}"
    if not variant:
        return ""
    try:
        wanted = view.isa.variant(variant).name
    except UnknownIsaError as e:
        return str(e)
    return (
        ""
        if wanted == view.variant.name
        else f"this text is for {variant}, it is being assembled for {view.variant.name}"
    )
