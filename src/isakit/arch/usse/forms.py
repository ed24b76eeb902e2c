"""Builders for the USSE forms: predicate in front, scheduling flags behind, and the seed's view of a form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from isakit.arch.usse.fields import ANY, OPCODE, PREDICATES, WORD
from isakit.arch.usse.operands import Span, dest_part, source_part, written_mask
from isakit.arch.usse.places import DEST, DEST_NO_EXT, SRC, SRC0, SRC0_NO_EXT, SRC_NO_EXT, place
from isakit.arch.usse.usse import SEED, SGX543
from isakit.spec import Enum, Field, Flag, Form, Hidden, Literal, Part, Refusal, bits, make_form, where
from isakit.spec.operands import Condition, Operand, Register
from isakit.spec.table import combined, filled

UNDESCRIBED, UNEXPLORED = "UNDESCRIBED", "UNEXPLORED"
"""Decode errors of the variant `seed`: bits whose meaning the page does not give; groups it did not look at."""

NO_SOURCE2 = 1 << 48 | 2 << 28
"""Source 2 as compilers write it where there is none: immediate 0."""

FIRST_UNEXPLORED = 0x10
"""The page describes the opcodes below this one."""

FLAGS = ("once", "rptsel", "skipinv", "nosched", "sync", "end")


def condition(name: str) -> tuple[int, bool] | str | None:
    """A printed predicate as (register, inverted), `Pn`, or None for always."""
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
    """What the early page calls an operation, None where it does not know it."""
    stem, _, rest = name.partition(".")
    if stem not in _EARLY:
        return None
    if stem.startswith("vmovc"):
        condition, _, rest = rest.partition(".")
        if condition not in ("eq", "lt"):
            return None
        rest = f"{condition}zero.{rest}"
    return f"{_EARLY[stem]}.{rest.replace('c10', 'fx10')}"


def _named(name: str | Part) -> str | Part:
    """A mnemonic with the early spelling as an alias."""
    if isinstance(name, Enum):
        early = {e: v for v, n in name.names.items() if (e := early_name(n)) is not None}
        return replace(name, aliases={**early, **name.aliases})
    early = early_name(name) if isinstance(name, str) else None
    return Literal(name, aliases=(early,)) if isinstance(name, str) and early else name


def predicate(field: Field, table: str) -> Enum:
    """Return the predicate of a table of `PREDICATES`."""
    names = PREDICATES[table]
    return Enum(field, names, {v: condition(n) for v, n in names.items()}, label="always", typed=predicate_operand)


def repeat(field: Field) -> Enum:
    """The repeat count: how many times the instruction executes."""
    names = {v: f"repeat {v + 1}" if v else "" for v in range(1 << field.width)}
    return Enum(field, names, {v: v + 1 for v in names}, label="executes once")


def form(
    layout: SimpleNamespace,
    syntax: str,
    fixed: Mapping[Field, int] | None = None,
    *,
    flags: Sequence[str] = FLAGS,
    repeats: bool = True,
    unless: Sequence[Mapping[Field, int]] = (),
    default: int = 0,
    lacking: str = "",
    control: Sequence[str] = (),
    **parts: Any,
) -> Form:
    """A form of the SGX543: `{pred}` in front and the flags the layout has behind `syntax`."""
    machine: dict[str, Part] = {}
    if layout.table:
        machine["pred"] = predicate(layout.pred, layout.table)
    tail = ""
    if repeats and hasattr(layout, "rpt"):
        machine["rpt"] = repeat(layout.rpt)
        tail += " {rpt}"
    for name in flags:
        if hasattr(layout, name):
            machine[name] = Flag(getattr(layout, name), name)
            tail += f" {{{name}}}"
    chosen = layout.fixed.join(where(dict(fixed or {})))
    if not lacking:
        lacking = UNEXPLORED if OPCODE.get(chosen.value) >= FIRST_UNEXPLORED else UNDESCRIBED
    if "name" in parts:
        parts["name"] = _named(parts["name"])
    return make_form(
        WORD,
        ("{pred} " if layout.table else "") + syntax + tail,
        machine | parts,
        chosen,
        needs=SGX543,
        lacking=lacking,
        unless=unless,
        default=default,
        control=(*machine, *control),
    )


class PerRow:
    """A part that depends on the row of a table, see `forms`: `make` of arguments in which `<column>` is filled in."""

    def __init__(self, make: Callable[..., Any], *args: Any, **options: Any) -> None:
        self._make, self._args, self._options = make, args, options

    def of(self, row: Mapping[str, str]) -> Any:
        """The part of one row."""
        return self._make(
            *(of_row(a, row) for a in self._args), **{n: of_row(a, row) for n, a in self._options.items()}
        )


def of_row(given: Any, row: Mapping[str, str]) -> Any:
    """What a part or a text is in a row."""
    if isinstance(given, PerRow):
        return given.of(row)
    return filled(given, row) if isinstance(given, str) else given


def forms(
    layout: SimpleNamespace,
    syntax: str,
    *tables: str,
    fixed: Mapping[Field, int] | None = None,
    early: str | PerRow = "",
    described: Sequence[Field] = (),
    base: int | None = None,
    **given: Any,
) -> list[Form]:
    """A form for each row of a table, or for each combination of the rows of several, see `spec.table`.

    Columns that are called like fields of the layout have the bits that select the form; the others are words for
    `<column>` in texts, and in `PerRow`. `early` is what the early page calls a form, nothing where it has no view of
    it; `described` and `base` are as for `seed_view`.
    """
    out: list[Form] = []
    for row in combined(*tables):
        selected = {getattr(layout, c): int(v, 0) for c, v in row.items() if v and hasattr(layout, c)}
        made = form(layout, syntax, {**(fixed or {}), **selected}, **{n: of_row(p, row) for n, p in given.items()})
        out.append(made)
        name = of_row(early, row)
        if name:
            out.append(seed_view(made, name, described, base=base))
    return out


def seed_view(
    of: Form,
    name: str | Part,
    described: Sequence[Field] = (),
    *,
    fixed: Mapping[Field, int] | None = None,
    base: int | None = None,
    refusals: Sequence[Refusal] = (),
) -> Form:
    """The same encoding as the seed page shows it: predicate and mnemonic, every other bit unexplained.

    `described` are the fields that the page knows besides the opcode; other fixed bits still select the form but count
    as unexplained. Where the page gives one mnemonic to several groups, `base` is the canonical word of the first of
    them: the words of the others print as bits XORed onto it, so that the text still tells the group.
    """
    parts: dict[str, Any] = {n: p if n == "pred" else Hidden(part=p) for n, p in of.parts.items() if n != "name"}
    hidden = "".join(f" {{{n}}}" for n in parts if n != "pred")
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


# --- operands --------------------------------------------------------------------------------------------------------
def _selector(bank: Field | None, ext: Field | None) -> Field | None:
    return bank + ext if bank is not None and ext is not None else bank


def source(
    layout: Any,
    n: int,
    *,
    double: bool = False,
    alias: int = 7,
    letters: Enum | None = None,
    ty: str = "f32",
    ext: bool = True,
    number: Field | None = None,
    plain: bool = False,
    span: Span | None = None,
) -> Part:
    """Source operand `n` of a layout, with the modifiers the layout has for it (unless `plain`)."""
    bank = getattr(layout, f"s{n}bank")
    ext_field = getattr(layout, f"s{n}ext", None) if ext else None
    banks = (SRC0 if ext_field else SRC0_NO_EXT) if n == 0 else (SRC if ext_field else SRC_NO_EXT)
    number = number or getattr(layout, f"s{n}n")
    at = place(number, _selector(bank, ext_field), banks, double=double, alias=alias, role=f"src{n}")
    neg, absolute = (None if plain else getattr(layout, f"s{n}{m}", None) for m in ("neg", "abs"))
    return source_part(at, letters, neg, absolute, ty, span)


def word_source(layout: Any, n: int, *, ext: bool = True, span: Span | None = None) -> Part:
    """A 32-bit register operand without swizzle and modifiers."""
    return source(layout, n, ext=ext, plain=True, span=span)


def destination(
    layout: Any, *, double: bool, alias: int = 7, mask: str | None = None, ty: str = "f32", ext: bool = True
) -> Part:
    """The destination of a layout; `mask` is the rule of the write mask field, or None for none."""
    ext_field = getattr(layout, "dext", None) if ext else None
    banks = DEST if ext_field else DEST_NO_EXT
    at = place(layout.dn, _selector(layout.dbank, ext_field), banks, double=double, alias=alias)
    return dest_part(at, *(written_mask(layout.mask, mask) if mask else (None, None)), ty)
