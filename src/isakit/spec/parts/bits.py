"""The bits of operands: those they may have, those that select what an instruction does, errors, what a text tells."""

from __future__ import annotations

from functools import reduce

from isakit.spec.fields import Bits
from isakit.spec.parts.base import Bitless, OfField, Part, once, union
from isakit.spec.parts.tree import (
    Choice,
    Dependent,
    Enum,
    Hidden,
    Illegal,
    Imm,
    Numbered,
    Reg,
    Silent,
    Spellings,
    Template,
)


@once
def possible_bits(part: Part) -> int:
    """Return all bits the part may claim under any alternative; text, error and claimed bits depend on them alone."""
    match part:
        case OfField():
            return part.field.mask
        case Choice():
            own = (a.when.mask | (a.tells.mask if a.tells else 0) for a in part.alternatives)
            return union(own) | union(map(possible_bits, part.children))
        case Template():
            return union(map(possible_bits, part.children))
        case Dependent():
            return part.bits
        case _:
            return 0


@once
def fields_of(part: Part) -> frozenset[int]:
    """Return the fields of the part under all alternatives, each as its bits."""
    own = frozenset([part.field.mask]) if isinstance(part, OfField) else frozenset[int]()
    return own.union(*map(fields_of, part.children))


@once
def required_fields(part: Part) -> frozenset[int]:
    """Return the fields, each as its bits, that the part always has; of a choice what all alternatives have."""
    match part:
        case OfField():
            return fields_of(part)
        case Choice():
            own = [
                a.when.mask | (a.tells.mask if a.tells else 0) | union(required_fields(a.part))
                for a in part.alternatives
                if not isinstance(a.part, Illegal)
            ]
            return frozenset([reduce(int.__and__, own)]) if own else frozenset()
        case Template():
            return frozenset[int]().union(*map(required_fields, part.children))
        case _:
            return frozenset()


@once
def static_bits(part: Part) -> int:
    """Return the bits that select what the semantics does, as opposed to register numbers and immediates."""
    match part:
        case Spellings():
            return part.fixed
        case Choice():
            return _selectors(part) | union(map(static_bits, part.children))
        case Template():
            return union(map(static_bits, part.children))
        case Hidden():
            return static_bits(part.part)
        case Silent() | Numbered():
            return part.field.mask
        case Enum():
            return 0 if part.uniform else part.field.mask
        case Reg():
            return part.field.mask if part.selecting or part.place is not None else 0
        case Imm():
            return part.field.mask if part.fixed else 0
        case Dependent():
            return part.bits
        case _:
            return 0


@once
def _selectors(part: Choice) -> int:
    """Return the bits that choose among the alternatives."""
    return union(a.when.mask | (a.unless.mask if a.unless else 0) for a in part.alternatives)


def static_word(part: Part, word: int) -> int:
    """Return `word` with all bits cleared that do not select the semantics.

    Narrower than `static_bits` where only some values of a field matter (register numbers that alias another file).
    Words with equal static bits have the same meaning apart from field values.
    """
    match part:
        case Spellings():
            return word & part.fixed
        case Choice():
            p = part.pick(word)
            return word & _selectors(part) | (static_word(p, word) if p else 0)
        case Template():
            return union([static_word(p, word) for p in part.children])
        case Reg() if part.place is not None:
            return word & part.place.selects(part.field.get(word))
        case Hidden():
            return static_word(part.part, word)
        case Dependent():
            return static_word(part.given(word), word)
        case _:
            return word & static_bits(part)


@once
def describing_bits(part: Part) -> int:
    """Return the bits that the operand as a value, and what it does to lanes and registers, may depend on."""
    own = possible_bits(part) | static_bits(part)
    match part:
        case Dependent():
            return -1  # what it is given may look anywhere
        case Template() if callable(part.hints):
            return -1
        case _:
            return own | union(map(describing_bits, part.children))


@once
def never_fails(part: Part) -> bool:
    """Return true if no word is a decode error, as far as it is known."""
    match part:
        case Enum():
            return all(v in part.names for v in range(1 << part.field.width))
        case Reg():
            return None not in part.names
        case Choice():
            return part.complete and all(map(never_fails, part.children))
        case Template():
            return all(map(never_fails, part.children))
        case Illegal() | Dependent():
            return False
        case _:
            return True


def error_of(part: Part, word: int) -> str | None:
    """Return the decode error that the bits give, or None."""
    match part:
        case Enum():
            return None if part.field.get(word) in part.names else part.illegal
        case Reg():
            return None if part.names[part.field.get(word)] is not None else part.illegal
        case Choice():
            if never_fails(part):
                return None
            p = part.pick(word)
            return part.illegal if p is None else error_of(p, word)
        case Template():
            return next((e for p in part.children if (e := error_of(p, word)) is not None), None)
        case Illegal():
            return part.name
        case Dependent():
            return error_of(part.given(word), word)
        case _:
            return None


def claimed_bits(part: Part, word: int) -> int:
    """Return the bits whose value the part's text tells."""
    match part:
        case OfField():
            return part.field.mask
        case Choice():
            a = part.branch(word)
            if a is None:
                return 0
            if a.tells is None:
                return a.when.mask | claimed_bits(a.part, word)
            told = a.tells.mask & ~(a.tells.value ^ word)
            return told if a.reading is None else told | claimed_bits(a.part, word)
        case Template():
            return union([claimed_bits(p, word) for p in part.children])
        case Dependent():
            return claimed_bits(part.given(word), word)
        case _:
            return 0


def spelled_bits(part: Part, word: int) -> Bits:
    """Return the bits the assembler makes of the text that `word` has here."""
    match part:
        case Bitless():
            return Bits()
        case Choice() if (a := part.branch(word)) is not None and a.tells is not None:
            return (a.reading and a.tells.join(spelled_bits(a.part, word))) or a.tells
        case _:
            claimed = claimed_bits(part, word)
            return Bits(claimed, word & claimed)


def guards_lanes(part: Part, word: int) -> bool:
    """Return true if the operand, without being a condition of the instruction, keeps some lanes from writing."""
    match part:
        case Enum():
            return part.field.get(word) in part.idle
        case Choice():
            p = part.pick(word)
            return p is not None and guards_lanes(p, word)
        case Template():
            return any(guards_lanes(p, word) for p in part.children)
        case _:
            return False
