"""Operands as values: the typed operand of a word, the bits for an operand, what the semantics function gets."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from isakit.float_bits import bits_of_float
from isakit.spec.fields import Bits
from isakit.spec.operands import CodeAddress, Compound, Flag, Immediate, Operand, Register, key_of
from isakit.spec.parts.base import Binder, Part, once
from isakit.spec.parts.bits import error_of, possible_bits, spelled_bits
from isakit.spec.parts.text import text_of
from isakit.spec.parts.tree import (
    Choice,
    Constant,
    Dependent,
    Enum,
    HasFeature,
    Hidden,
    Illegal,
    Imm,
    Literal,
    Nothing,
    Numbered,
    Reg,
    Relative,
    Silent,
    Spellings,
    Template,
)


# --- for semantics functions -----------------------------------------------------------------------------------------
def bound_value(part: Part, word: int, b: Binder) -> Any:
    """Return the value for the semantics function; only the static bits may influence its Python control flow."""
    match part:
        case Reg():
            if part.place is not None:
                return part.place.bound(word, b)
            return part.access(part.field.get(word) if part.selecting else b.param(part.field))
        case Spellings():
            return part.meaning(word, b)
        case Choice():
            p = part.pick(word)
            return None if p is None else bound_value(p, word, b)
        case Enum():
            if part.uniform:
                return b.param(part.field)
            v = part.field.get(word)
            return part.values[v] if part.values is not None else part.names[v]
        case Imm():
            return part.value(word) if part.fixed else _number(part, b)
        case Template():
            bound = {n: bound_value(p, word, b) for n, p in part.holes.items()}
            return part.make(**bound) if part.make else bound
        case Literal():
            return part.words if part.value is None else part.value
        case Hidden():
            return bound_value(part.part, word, b)
        case Nothing():
            return part.value
        case Dependent():
            return bound_value(part.given(word), word, b)
        case Silent():
            return part.field.get(word)
        case Numbered():
            return text_of(part, word)
        case _:
            return None


def _number(part: Imm, b: Binder) -> Any:
    v = b.param(part.field)
    width = part.width or part.field.width
    v = v.sext(width) if part.signed and width > part.field.width else v.resize(width)
    return v if part.scale == 1 else v * b.const(part.scale, width)


# --- typed operands --------------------------------------------------------------------------------------------------
def operand_of(part: Part, word: int, address: int = 0) -> Operand | None:
    """Return the operand as an object, None where nothing is printed; its text is `text_of(part, word, address)`."""
    match part:
        case Template():
            return _template_operand(part, word, address)
        case Choice():
            p = part.pick(word)
            return None if p is None else operand_of(p, word, address)
        case Reg():
            return part.described(word, text_of(part, word))
        case Enum():
            v = part.field.get(word)
            text = part.names.get(v, "???")
            if part.typed is not None:
                return part.typed(text)
            return Flag(text, part.values.get(v) if part.values is not None else None) if text else None
        case Relative():
            return CodeAddress(part.target(word, address), text=text_of(part, word, address))
        case Imm():
            value, text = part.value(word), text_of(part, word)
            if part.code_address:
                return CodeAddress(value, text=text)
            return Immediate(value, f"{'s' if part.signed else 'b' if part.wrap else 'u'}{part.field.width}", text=text)
        case Literal():
            return Flag(part.words, part.value) if part.words else None
        case Dependent():
            return operand_of(part.given(word), word, address)
        case Constant():
            return Immediate(part.value, text=text_of(part, word))
        case _:
            text = text_of(part, word, address)
            return Flag(text) if text else None


def _template_operand(part: Template, word: int, address: int) -> Operand:
    text = text_of(part, word, address)
    if part.is_group:
        return Compound(tuple(_operands(part, word)), text=text)
    hints = part.hints(word) if callable(part.hints) else part.hints
    if part.register is not None:
        modifiers = {n: operand_of(p, word) for n, p in part.holes.items() if p is not part.register}
        told = {n: o.value if o.value is True else str(o) for n, o in modifiers.items() if isinstance(o, Flag)}
        return part.register.described(word, text, **part.facts, **hints, **told)
    told = {n: _plain(operand_of(p, word, address), part.kind) for n, p in part.holes.items()}
    return part.kind(**{**part.kind.absent, **part.facts, **hints, **told}, text=text)


def _operands(part: Template, word: int) -> Iterator[Operand]:
    """Yield the operands of a group; those in a group of it that has operands of its own are named."""
    for _, token, hole in part.items:
        inner = hole.given(word) if isinstance(hole, Dependent) else hole
        if isinstance(inner, Template) and inner.is_group:
            for (name, _), o in zip(inner.holes.items(), _operands(inner, word), strict=True):
                o.name = name
                yield o
        elif hole is not None and (found := operand_of(hole, word)) is not None:
            yield found
        elif hole is None and token not in _PUNCTUATION:
            yield Flag(token)


_PUNCTUATION = frozenset(":+,()[]{}")
"""Tokens that only hold a group of operands together."""


def _plain(value: Operand | None, kind: type[Operand]) -> Any:
    """Return a hole's value as an attribute of an operand: words as text, numbers, and words for them, as int."""
    if isinstance(value, CodeAddress):
        return value.address
    if kind is Immediate and type(value) is Flag and type(value.value) is int:
        return value.value
    return value.value if isinstance(value, Immediate) else str(value) if type(value) is Flag else value


# --- bits for values -------------------------------------------------------------------------------------------------
_TABLE_BITS = 14
_FEW = 12


def bits_for(part: Part, value: object, address: int = 0) -> Sequence[Bits]:
    """Return the bits that stand for an operand, in order of preference; none where it does not fit here.

    `value` is an `Operand`, the text of a word or of a register, an int where one can be written, a bool for a flag, or
    None for an operand that is left out.
    """
    match part:
        case Choice():
            return _choice_bits(part, value, address)
        case Reg():
            return _register_bits(part, value)
        case Enum() if part.typed is None:
            return _enum_table(part).get(key_of(value), ())
        case Nothing():
            return (Bits(),) if value is None or value is False or value == "" else ()
        case HasFeature():
            return (Bits(),) if value is None else ()
        case Relative():
            b = part.reaching(int(value), address) if isinstance(value, (int, CodeAddress)) else None
            return () if b is None else (b,)
        case Imm():
            return _number_bits(part, value)
        case Template():
            return _template_bits(part, value, address)
        case Literal():
            if (value or "") in (part.words, *part.aliases) or (part.value is not None and value == part.value):
                return (Bits(),)
            return (part.setting[value],) if isinstance(value, str) and value in part.setting else ()
        case Constant():
            return (Bits(),) if value == part.value or value == text_of(part, 0) else ()
        case Silent():
            every = range(1 << part.field.width) if value is None else ()
            return [Bits(part.field.mask, part.field.put(v)) for v in every]
        case _:
            return _looked_up(part, value)


def _looked_up(part: Part, value: object) -> Sequence[Bits]:
    """Look a value up among all values of the bits."""
    table = _all_values(part)
    found = table.get(key_of(value))
    if found is None and isinstance(value, int):
        found = table.get(f"{value:#x}")
    return found or ()


@once
def _all_values(part: Part) -> dict[Hashable, list[Bits]]:
    """Return the bits of every operand there can be, by key and by text."""
    bits = possible_bits(part)
    if bits.bit_count() > _TABLE_BITS:
        raise TypeError(f"{type(part).__name__} of {bits.bit_count()} bits has too many values for a table")
    table: dict[Hashable, list[Bits]] = {}
    word = 0
    while True:
        if error_of(part, word) is None:
            operand, spelled = operand_of(part, word), spelled_bits(part, word)
            for key in (None,) if operand is None else dict.fromkeys((operand.key, str(operand))):
                known = table.setdefault(key, [])
                if spelled not in known:
                    known.append(spelled)
        word = (word - bits) & bits  # the next subset of the bits
        if not word:
            return table


@once
def _enum_table(part: Enum) -> dict[Hashable, tuple[Bits]]:
    """Return bits by text, by what the semantics gets, and by None for the value that prints nothing."""
    out: dict[Hashable, tuple[Bits]] = {}
    for v, name in part.names.items():
        out.setdefault(name, (Bits(part.field.mask, part.field.put(v)),))
    for name, v in part.aliases.items():
        out.setdefault(name, (Bits(part.field.mask, part.field.put(v)),))
    if "" in out:
        out[None] = out[""]
    for v, meant in (part.values or {}).items():
        if v in part.names and isinstance(meant, Hashable):
            out.setdefault(meant, out[part.names[v]])
    return out


def _register_bits(part: Reg, value: object) -> Sequence[Bits]:
    if part.place is not None:
        identity = part.place.identity(value) if isinstance(value, Operand) else None
        found = part.spellings.get(value.plain) if isinstance(value, Register) else None
        if found is None and identity is not None:
            found = _by_identity(part).get(identity)
        return (found,) if found is not None else ()
    if not isinstance(value, Register):
        found = part.spellings.get(value) if isinstance(value, str) else None
        if found is None and part.numbers:
            number = value if type(value) is int else value.value if isinstance(value, Immediate) else None
            found = next((b for n, b in part.by_number.items() if number == n or value == f"{n:#x}"), None)
        return (found,) if found is not None else ()
    if (
        value.file != part.family
        or bool(value.half) != part.half
        or (value.width != part.width and (value.width or part.width > 32))
    ):
        return ()
    v = value.index * 2 + "lh".index(value.half) if value.half else value.index - part.first
    if not 0 <= v < len(part.names) or part.names[v] is None or value.modifiers or value.index_register:
        return ()
    return (Bits(part.field.mask, part.field.put(v)),)


@once
def _by_identity(part: Reg) -> dict[Hashable, Bits]:
    """Return the bits of what registers and numbers are, the first encoding of each."""
    assert part.place is not None
    out: dict[Hashable, Bits] = {}
    for v, name in enumerate(part.names):
        key = part.place.identity(part.place.described(v, name or ""))
        out.setdefault(key, Bits(part.field.mask, part.field.put(v)))
    return out


def f32_bits(value: float) -> int | None:
    """Return the bits of an f32 number, None where it is too large."""
    try:
        return bits_of_float(value)
    except OverflowError:
        return None


def _number_bits(part: Imm, value: object) -> Sequence[Bits]:
    if isinstance(value, float) and part.single:
        got = f32_bits(value)
    elif isinstance(value, (Immediate, CodeAddress)):
        got = int(value) if not isinstance(value.key, tuple) else None
    else:
        got = value if isinstance(value, int) else None
    b = None if got is None else part.encode(got)
    return () if b is None else (b,)


def _choice_bits(part: Choice, value: object, address: int) -> Sequence[Bits]:
    out: list[Bits] = []
    for i, a in enumerate(part.alternatives):
        reading = a.reading
        if reading is not None:
            for b in bits_for(a.part, value, address):
                both = b.join(reading)
                if both is not None and both not in out and part.leads_to(i, both):
                    out.append(both)
    return out


def _template_bits(part: Template, value: object, address: int) -> Sequence[Bits]:
    if part.register is not None and isinstance(value, (Register, Immediate)):
        return _modified_bits(part, part.register, value)
    if part.kind is Immediate and type(value) is int:
        value = Immediate(value)
    few = possible_bits(part).bit_count() <= _FEW
    if part.is_group and isinstance(value, Compound) and not few:
        return [b for left, b in _group_bits(part, value.operands, Bits()) if not left]
    if not isinstance(value, part.kind) or part.is_group:
        return _looked_up(part, value) if few and (type(value) is str or isinstance(value, part.kind)) else ()
    given = {n: getattr(value, n) for n in part.holes}
    fixed = {**part.kind.absent, **part.facts}
    if any(getattr(value, n) != v for n, v in fixed.items() if n not in given):
        return ()
    if part.fits is not None and not part.fits(value):
        return ()
    return _product(bits_for(part.holes[n], v, address) for n, v in given.items())


def _product(ways: Iterable[Sequence[Bits]]) -> list[Bits]:
    """Return all combinations of bits without contradiction."""
    out = [Bits()]
    for found in ways:
        out = [both for b in out for f in found if (both := b.join(f)) is not None]
    return out


def _modified_bits(part: Template, register: Reg, value: Register | Immediate) -> Sequence[Bits]:
    """Return the bits of a register (or a number in its place) with modifiers."""
    given = {n: v for n, v in value.modifiers if n not in register.own}
    if any(given.pop(n, None) != v for n, v in part.facts.items()) or not given.keys() <= part.holes.keys():
        return ()
    alone = value.alone if isinstance(value, Register) else value
    out = list(bits_for(register, alone))
    for n, p in part.holes.items():
        if p is not register:
            ways = [(b, p.given(b.value) if isinstance(p, Dependent) else p) for b in out]
            out = [both for b, q in ways for f in bits_for(q, given.get(n)) if (both := b.join(f)) is not None]
    return out


def _group_bits(part: Template, values: Sequence[Operand], so_far: Bits) -> Iterator[tuple[Sequence[Operand], Bits]]:
    """Yield (operands that are left, bits) of all ways to take operands for the holes, in the order of the text."""
    states: list[tuple[Sequence[Operand], Bits]] = [(values, so_far)]
    for _, token, hole in part.items:
        if hole is None:  # a word of the spelling is an operand, which one made by hand may lack
            states = [(left[1:] if left and left[0] == token else left, b) for left, b in states]
            continue
        after: list[tuple[Sequence[Operand], Bits]] = []
        for left, b in states:
            p = hole.given(b.value) if isinstance(hole, Dependent) else hole
            if isinstance(p, Template) and p.is_group:
                after += _group_bits(p, left, b)
                continue
            ways = [(left[1:], f) for f in bits_for(p, left[0])] if left else []
            ways += [(left, f) for f in bits_for(p, None)]
            after += [(rest, both) for rest, f in ways if (both := b.join(f)) is not None]
        states = after
    yield from states


def may_be(part: Part, kind: type) -> bool:
    """Return true if values of a type can stand here at all, as far as it is known."""
    match part:
        case Reg():
            numbers = bool(part.numbers) and issubclass(kind, (int, Immediate))
            return issubclass(kind, Register) or kind is str or numbers
        case Imm():
            return issubclass(kind, (int, float, Immediate, CodeAddress))
        case Illegal():
            return issubclass(kind, type(None))
        case Choice():
            return any(may_be(p, kind) for p in part.children)
        case _:
            return True
