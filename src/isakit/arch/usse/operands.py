"""Operands of the USSE: sources with swizzle and modifiers, destinations with mask, internal registers.

Source: [usse] 2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from isakit.arch.usse.fields import ANY, PREDICATES
from isakit.arch.usse.places import (
    DEST,
    DEST_NO_EXT,
    NO_BITS,
    SRC,
    SRC0,
    SRC0_NO_EXT,
    SRC_NO_EXT,
    BankedRegister,
    place,
)
from isakit.arch.usse.registers import Destination, SourceOperand
from isakit.arch.usse.swizzles import mask, swizzle
from isakit.spec import Choice, Dependent, Enum, Field, Part, Template, choice, template, when
from isakit.spec.operands import Condition, Operand, Register
from isakit.spec.parts import accepted_text, possible_bits, text_of
from isakit.spec.parts.base import union

Span = Callable[[int], int]
"""Gives the number of registers that a word means, from the operand's on."""

_MEANINGS = {"register": "register {}", "swizzle": "swizzle {}", "mask": "writes {}"}


@cache
def source_part(
    at: BankedRegister,
    letters: Enum | None = None,
    neg: Field | None = None,
    abs: Field | None = None,
    ty: str = "f32",
    span: Span | None = None,
) -> Template | Choice:
    """Return a source: register, swizzle, absolute value and negation; `ty` is the format of its elements."""
    holes: dict[str, Any] = {"register": at.part}
    spelling = "{register}"
    if letters is not None:
        holes["swizzle"] = letters
        spelling = "{register}.{swizzle}"

    def touched(word: int) -> Mapping[str, object]:
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
    at: BankedRegister,
    unified: Enum | None = None,
    internal: Enum | None = None,
    ty: str = "f32",
    span: Span | None = None,
) -> Template:
    """Return a destination: register and write mask, which is another one where the register is internal."""

    def chosen(word: int) -> Enum | None:
        return internal if at.internal(word) else unified

    def touched(word: int) -> Mapping[str, object]:
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
    """Return the masks of unified and of internal destinations."""
    return mask(field, rule), mask(field)


_CHANNEL_BITS = {"f32": 32, "f16": 16, "s16": 16, "u16": 16, "c10": 10, "o8": 8, "u8": 8, "s8": 8}


def _words(channels: Iterable[int], ty: str, internal: bool) -> tuple[int, ...]:
    """Return the 32-bit registers after the first one that hold bits of some channels of an operand of a format."""
    n = _CHANNEL_BITS["f32" if internal else ty]
    return tuple(dict.fromkeys(w for k in channels for w in (n * k // 32, (n * k + n - 1) // 32)))


def internal_source(
    number: Field | int, letters: Enum | None, neg: Field | None = None, abs: Field | None = None, role: str = "src0"
) -> Template | Choice:
    """Return a source that is an internal register, whose number may be fixed; without a swizzle it is `.xyzw`."""
    fixed = isinstance(number, int)
    at = place(NO_BITS if fixed else number, None, (f"i{number if fixed else 0}",), role=role)
    return source_part(at, letters or swizzle(NO_BITS, ("xyzw",)), neg, abs)


# --- where a layout has them ------------------------------------------------------------------------------------------
NO_SOURCE2 = 1 << 48 | 2 << 28
"""Source 2 as compilers write it where there is none: immediate 0."""


def condition(name: str) -> tuple[int, bool] | str | None:
    """Return a printed predicate as (register, inverted), `Pn`, or None for always."""
    if not name or name == ANY:
        return name or None
    return int(name[-1]), name[0] == "!"


def predicate_operand(text: str) -> Operand | None:
    """Return the operand of a predicate's text: `!p0`, as a result `p1.x`."""
    if not text or text == ANY:
        return Condition(None, ANY, text=text) if text else None
    name, _, channel = text.lstrip("!").partition(".")
    register = Register("p", int(name[1:]), 1, text=name)
    if channel:
        return Register("p", register.index, 1, text=text, plain=name, channel=channel)
    return Condition(register, "!" if text[0] == "!" else "", text=text)


def predicate(field: Field, table: str) -> Enum:
    """Return the predicate of a table of `PREDICATES`."""
    names = PREDICATES[table]
    return Enum(field, names, {v: condition(n) for v, n in names.items()}, label="always", typed=predicate_operand)


def repeat(field: Field) -> Enum:
    """Return the repeat count: how many times the instruction executes."""
    names = {v: f"repeat {v + 1}" if v else "" for v in range(1 << field.width)}
    return Enum(field, names, {v: v + 1 for v in names}, label="executes once")


def _selector(bank: Field | None, ext: Field | None) -> Field | None:
    return bank + ext if bank is not None and ext is not None else bank


def source(
    layout: object,
    n: int,
    *,
    double: bool = False,
    letters: Enum | None = None,
    ty: str = "f32",
    number: Field | None = None,
    span: Span | None = None,
    neg: Field | None = None,
    abs: Field | None = None,
) -> Part:
    """Return source operand `n` of a layout, with a swizzle and with signs where fields for them are given."""
    bank = getattr(layout, f"s{n}bank")
    ext = getattr(layout, f"s{n}ext", None)
    banks = (SRC0 if ext else SRC0_NO_EXT) if n == 0 else (SRC if ext else SRC_NO_EXT)
    named: Field = number or getattr(layout, f"s{n}n")
    at = place(named, _selector(bank, ext), banks, double=double, alias=named.width + double, role=f"src{n}")
    return source_part(at, letters, neg, abs, ty, span)


def destination(layout: Any, *, double: bool = False, ty: str = "f32", masks: tuple[Enum, Enum] | None = None) -> Part:
    """Return the destination of a layout; `masks` are those of unified and internal registers, see `written_mask`."""
    ext = getattr(layout, "dext", None)
    banks = DEST if ext else DEST_NO_EXT
    at = place(layout.dn, _selector(layout.dbank, ext), banks, double=double, alias=layout.dn.width + double)
    return dest_part(at, *(masks or (None, None)), ty)
