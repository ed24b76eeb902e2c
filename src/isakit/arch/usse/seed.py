"""The variant `seed`: the instructions as an early page shows them. Source: [usse] 1, [004]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from isakit.arch.usse.fields import OPCODE, WORD
from isakit.arch.usse.usse import SEED
from isakit.spec import Bits, Field, Form, Hidden, Part, Refusal, bits, make_form, where
from isakit.spec.record import LazyOperand

UNDESCRIBED, UNEXPLORED = "UNDESCRIBED", "UNEXPLORED"
"""Decode errors: bits whose meaning the page does not give; groups it did not look at."""

_FIRST_UNEXPLORED = 0x10
"""The page describes the opcodes below this one."""


def lacking(fixed: Bits) -> str:
    """Return the decode error of a form, by its fixed bits: the variant has the views of forms, not the forms."""
    return UNEXPLORED if OPCODE.get(fixed.value) >= _FIRST_UNEXPLORED else UNDESCRIBED


_EARLY = {
    "vmad2": "mad",
    "vmad3": "mad",
    "vmad4": "mad",
    "vdp3": "dot",
    "vdp4": "dot",
    "vmul": "mul",
    "vmov": "mov",
    "vpck": "pack",
    "vrcp": "rcp",
    "vrsq": "rsq",
    "vlog": "log",
    "vexp": "exp",
    "vmovc": "cmov",
    "vmovcu8": "cmov8",
}


def early_name(name: str) -> str | None:
    """Return the name of an operation on the early page, None where it does not know it."""
    stem, _, rest = name.partition(".")
    if stem not in _EARLY:
        return None
    if stem.startswith("vmovc"):
        condition, _, rest = rest.partition(".")
        if condition not in ("eq", "lt"):
            return None
        rest = f"{condition}zero.{rest}"
    return f"{_EARLY[stem]}.{rest.replace('c10', 'fx10')}"


def _seen(of: Form, name: str) -> Part:
    """Return an operand of a form as the page has it: it shows the predicate only."""
    part = of.parts[name]
    return part if name == "pred" else Hidden(part=part)


def seed_view(
    of: Form,
    name: str | Part,
    described: Sequence[Field] = (),
    *,
    fixed: Mapping[Field, int] | None = None,
    base: int | None = None,
    refusals: Sequence[Refusal] = (),
) -> Form:
    """Return the same encoding as the seed page shows it: predicate and mnemonic, every other bit unexplained.

    `described` are the fields that the page knows besides the opcode; other fixed bits still select the form but count
    as unexplained. Where the page gives one mnemonic to several groups, `base` is the canonical word of the first of
    them: the words of the others print as bits XORed onto it, so that the text still tells the group.
    """
    names = [i[1:-1] for i in of.syntax if i[0] == "{" and i != "{name}"]
    parts: dict[str, LazyOperand] = {n: LazyOperand(partial(_seen, of, n)) for n in names}
    hidden = "".join(f" {{{n}}}" for n in names if n != "pred")
    constants = {n: v for n, v in of.constants.items() if n != "name"}
    selected = of.fixed.join(where(dict(fixed or {}))) or of.fixed
    known = 0
    for f in (OPCODE, *described):
        known |= f.mask
    known = 0 if base is not None else known & selected.mask
    told = {bits(b): selected.value >> b & 1 for b in range(64) if known >> b & 1}
    silent = [{bits(b): 1 - (selected.value >> b & 1)} for b in range(64) if (selected.mask & ~known) >> b & 1]
    return make_form(
        WORD,
        "{pred} {name}" + hidden,
        parts | constants | {"name": name},
        told,
        needs=SEED,
        refusals=refusals,
        unless=silent,
        default=base or 0,
        control=tuple(of.control),
    )
