"""Builders for the Tesla forms: each adds what all forms of its layout share (tail, predicate)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isakit.arch.tesla.fields import CONTROL, IMMEDIATE, LONG, SHORT, SHORT_CONTROL, Control, Imm, Long, Short
from isakit.arch.tesla.operands import CONTROL_GUARD, GUARD, TAIL
from isakit.spec import Field, Form, Part, Refusal, make_form

CONTROL_PARTS = ("guard", "tail")


def short(
    syntax: str,
    fixed: Mapping[Field, int],
    *,
    needs: str | Sequence[str] = "",
    lacking: str = "ILLEGAL_OPCODE",
    refusals: Sequence[Refusal] = (),
    unless: Sequence[Mapping[Field, int]] = (),
    **parts: Any,
) -> Form:
    """A short normal form."""
    return make_form(SHORT, syntax, parts, fixed, needs=needs, lacking=lacking, refusals=refusals, unless=unless)


def imm(
    syntax: str,
    fixed: Mapping[Field, int],
    *,
    needs: str | Sequence[str] = "",
    unless: Sequence[Mapping[Field, int]] = (),
    **parts: Any,
) -> Form:
    """A long immediate form."""
    return make_form(IMMEDIATE, syntax, parts, fixed, needs=needs, unless=unless)


def long(
    syntax: str,
    fixed: Mapping[Field, int],
    *,
    needs: str | Sequence[str] = "",
    lacking: str = "ILLEGAL_OPCODE",
    refusals: Sequence[Refusal] = (),
    unless: Sequence[Mapping[Field, int]] = (),
    predicated: bool = True,
    ignored: int = 0,
    **parts: Any,
) -> Form:
    """A long normal form: `tail` and `guard` stand in front.

    The selectors of source kinds have no effect where the form has no such source.
    """
    control: dict[str, Any] = {"tail": TAIL, "guard": GUARD} if predicated else {"tail": TAIL}
    lead = "{tail} {guard} " if predicated else "{tail} "
    for p in parts.values():
        if isinstance(p, Part):
            ignored |= p.possible() & (Long.src2_c.mask | Long.src3_c.mask)
    for f in fixed:
        ignored &= ~f.mask
    return make_form(
        LONG,
        lead + syntax,
        control | parts,
        fixed,
        ignored=ignored,
        needs=needs,
        lacking=lacking,
        refusals=refusals,
        unless=[{Long.tail: 3}, *unless],
        control=CONTROL_PARTS,
    )


def control(
    syntax: str,
    op: int,
    *,
    predicated: bool = False,
    needs: str | Sequence[str] = "",
    lacking: str = "ILLEGAL_OPCODE",
    **parts: Any,
) -> Form:
    """A long control form; unless `predicated`, the predicate bits are ignored by the hardware."""
    guard = {"guard": CONTROL_GUARD} if predicated else {}
    predicate = Control.pred.mask | Control.csrc.mask
    return make_form(
        CONTROL,
        ("{guard} " if predicated else "") + syntax,
        guard | parts,
        {Control.op: op},
        ignored=0 if predicated else predicate,
        default=None if predicated else 0,
        needs=needs,
        lacking=lacking,
        control=CONTROL_PARTS,
    )


def short_control(syntax: str, op: int, *, needs: str = "", **parts: Any) -> Form:
    """A short control form."""
    return make_form(SHORT_CONTROL, syntax, parts, {Short.op: op}, needs=needs)


__all__ = ["Control", "Imm", "Long", "Short", "control", "imm", "long", "short", "short_control"]
