"""Operands of the USSE: sources with swizzle and modifiers, destinations with mask, internal registers.

Source: [usse] 2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from isakit.arch.usse.places import NO_BITS, Banked, place
from isakit.arch.usse.registers import Destination, SourceOperand
from isakit.arch.usse.swizzles import mask, swizzle
from isakit.spec import Choice, Dependent, Enum, Field, Template, choice, template, when
from isakit.spec.operands import Register
from isakit.spec.parts import accepted_text, possible_bits, text_of
from isakit.spec.parts.base import union

Span = Callable[[int], int]
"""How many registers from the operand's on a word means."""

_MEANINGS = {"register": "register {}", "swizzle": "swizzle {}", "mask": "writes {}"}


@cache
def source_part(
    at: Banked,
    letters: Enum | None = None,
    neg: Field | None = None,
    abs: Field | None = None,
    ty: str = "f32",
    span: Span | None = None,
) -> Template | Choice:
    """A source: register, swizzle, absolute value and negation; `ty` is the format of its elements."""
    holes: dict[str, Any] = {"register": at.part}
    spelling = "{register}"
    if letters is not None:
        holes["swizzle"] = letters
        spelling = "{register}.{swizzle}"

    def touched(word: int) -> Mapping[str, Any]:
        if span:
            return {"words": tuple(range(span(word)))}
        read = text_of(letters, word) if letters is not None else "xyzw"[: 4 if at.double else 1]
        return {"words": _words(["xyzw".index(c) for c in read if c in "xyzw"], ty, at.internal(word))}

    def spelled(spelling: str, absolute: bool) -> Template:
        if neg is not None:
            sign = Enum(neg, {0: "", 1: "-"}, {0: False, 1: True}, meanings={0: "not negated", 1: "negated"}, hint="")
            holes["neg"] = sign
            spelling = "{neg}" + spelling

        def make(register: Any, swizzle: str | None = None, neg: bool = False) -> SourceOperand:
            return SourceOperand(register, swizzle, neg, absolute, ty)

        facts = {"abs": True} if absolute else {}
        hint = accepted_text(at.part)
        return template(spelling, Register, make, hint=hint, facts=facts, hints=touched, meanings=_MEANINGS, **holes)

    if abs is None:
        return spelled(spelling, False)
    return choice(
        when({abs: 0}, spelled(spelling, False), says={abs: "signed value"}),
        when({abs: 1}, spelled(f"|{spelling}|", True), says={abs: "absolute value"}),
    )


@cache
def dest_part(
    at: Banked,
    unified: Enum | None = None,
    internal: Enum | None = None,
    ty: str = "f32",
    span: Span | None = None,
) -> Template:
    """A destination: register and write mask, which is another one where the register is internal."""

    def chosen(word: int) -> Enum | None:
        return internal if at.internal(word) else unified

    def touched(word: int) -> Mapping[str, Any]:
        letters, inside = chosen(word), at.internal(word)
        channels = (0,) if letters is None else letters.values[letters.field.get(word)]  # type: ignore[index]
        # Most operations leave z and w of an f32 register pair alone.
        exact = inside or (ty == "f32" and max(channels, default=0) < 2 and not span)
        # Ten-bit elements are put together anew in the first register, whichever channels are written.
        words = _words((0, *channels) if ty == "c10" and not inside else channels, ty, inside)
        return {"words": tuple(range(span(word))) if span else words, "partial": not exact}

    def make(register: Any, mask: tuple[int, ...] = (0,)) -> Destination:
        return Destination(register, mask, ty)

    holes: dict[str, Any] = {"register": at.part}
    if unified is not None and internal is not None:
        holes["mask"] = Dependent(chosen, union(map(possible_bits, (at.part, unified, internal))), same=True)
    spelling = "{register}.{mask}" if "mask" in holes else "{register}"
    return template(spelling, Register, make, hint=accepted_text(at.part), hints=touched, meanings=_MEANINGS, **holes)


def written_mask(field: Field, rule: str) -> tuple[Enum, Enum]:
    """The masks of unified and of internal destinations."""
    return mask(field, rule), mask(field)


_CHANNEL_BITS = {"f32": 32, "f16": 16, "s16": 16, "u16": 16, "c10": 10, "o8": 8, "u8": 8, "s8": 8}


def _words(channels: Iterable[int], ty: str, internal: bool) -> tuple[int, ...]:
    """The 32-bit registers after the first one that hold bits of some channels of an operand of a format."""
    n = _CHANNEL_BITS["f32" if internal else ty]
    return tuple(dict.fromkeys(w for k in channels for w in (n * k // 32, (n * k + n - 1) // 32)))


def internal_source(
    number: Field | int, letters: Enum | None, neg: Field | None = None, abs: Field | None = None, role: str = "src0"
) -> Template | Choice:
    """A source that can only be an internal register, whose number may be fixed; without a swizzle it is `.xyzw`."""
    fixed = isinstance(number, int)
    at = place(NO_BITS if fixed else number, None, (f"i{number if fixed else 0}",), role=role)
    return source_part(at, letters or swizzle(NO_BITS, ("xyzw",)), neg, abs)
