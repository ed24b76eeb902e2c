"""Texts, flags, masks and numbers of instruction words as trees of a few kinds of nodes.

`export.texts` makes them of records; exports write them in another language, and `evaluate` says what they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import cast

from isakit.lean import dataclass
from isakit.spec.fields import Bits, Field

AFTER_NUMBER = "#"
"""A glue: a blank if the text before begins with `#`, so that a dot does not belong to the number; else nothing."""
UNREADABLE = "???"


@dataclass(frozen=True, eq=False)
class FixedText:
    """The same text for all words."""

    text: str


@dataclass(frozen=True, eq=False)
class TextTable:
    """`values[k]` for the value k of the bits of `mask`, lowest bit first: texts, flags or masks."""

    mask: int
    values: tuple[str | int, ...]


@dataclass(frozen=True, eq=False)
class NumberText:
    """The number of a field as text: signed or not, times `scale`, behind `prefix`; `form` is `#x`, `d` or `+d`.

    `relative`: the address of the instruction is added, modulo `modulus` unless that is 0.
    """

    field: Field
    signed: bool
    scale: int
    form: str
    prefix: str = ""
    relative: bool = False
    modulus: int = 0


@dataclass(frozen=True, eq=False)
class Join:
    """Texts one after the other; `glues` separate the texts that are not empty; there is one fewer than nodes."""

    nodes: tuple[Node, ...]
    glues: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class AnySet:
    """Flags: whether one of them is set. Masks: all their bits."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class AllSet:
    """Flags: whether all of them are set."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class FirstSet:
    """Numbers: the first that is not 0."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class InRange:
    """A flag: whether the number of a field is a multiple of `step` from `low` to `high`."""

    number: NumberText
    low: int
    high: int
    step: int


@dataclass(frozen=True, eq=False)
class Equal:
    """A flag: whether two fields have the same number."""

    fields: tuple[Field, Field]


@dataclass(frozen=True, eq=False)
class FieldsEqual:
    """A mask: the bits of `bits.mask` in which the word agrees with `bits.value`."""

    bits: Bits


@dataclass(frozen=True, eq=False)
class Select:
    """The node of the first case that a word has (`when`, and not `unless`), else `otherwise`."""

    cases: tuple[tuple[Bits, Bits | None, Node], ...]
    otherwise: Node

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that it chooses from."""
        return (*(n for _, _, n in self.cases), self.otherwise)


@dataclass(frozen=True, eq=False)
class TableLookup:
    """`nodes[indices[k]]` for the value k of the bits of `mask`, lowest bit first."""

    mask: int
    indices: tuple[int, ...]
    nodes: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Mask:
    """A mask, or a flag, that does not depend on the word."""

    value: int


Node = (
    FixedText
    | TextTable
    | NumberText
    | Join
    | AnySet
    | AllSet
    | FirstSet
    | InRange
    | Equal
    | FieldsEqual
    | Select
    | TableLookup
    | Mask
)
NO, YES = Mask(0), Mask(1)


def runs(mask: int) -> list[tuple[int, int]]:
    """Return (lowest bit, number of bits) of the stretches of a mask, lowest first."""
    out: list[tuple[int, int]] = []
    at = 0
    while mask >> at:
        if mask >> at & 1:
            n = 1
            while mask >> at + n & 1:
                n += 1
            out.append((at, n))
            at += n
        else:
            at += 1
    return out


def field_of(mask: int) -> Field:
    """Return the bits of a mask as a field, lowest bit first."""
    return Field(tuple(runs(mask)))


def node_key(value: object) -> Hashable:
    """Return what is equal for nodes that say the same."""
    if isinstance(value, tuple):
        return tuple(map(node_key, cast("tuple[object, ...]", value)))
    names = getattr(value, "__dataclass_fields__", None)
    return value if names is None else (type(value).__name__, *(node_key(getattr(value, n)) for n in names))


def any_set(nodes: Sequence[Node]) -> Node:
    """Return the node of a flag that is set if one of several is, or of a mask with the bits of several."""
    constant = 0
    rest: dict[int, Node] = {}
    for n in nodes:
        inner = n.nodes if isinstance(n, AnySet) else (n,)
        for m in inner:
            if isinstance(m, Mask):
                constant |= m.value
            else:
                rest[id(m)] = m
    if not rest:
        return Mask(constant)
    found = (*([Mask(constant)] if constant else []), *rest.values())
    return found[0] if len(found) == 1 else AnySet(found)


def all_set(nodes: Sequence[Node]) -> Node:
    """Return one flag for several of which all must be set."""
    kept = {id(n): n for n in nodes if not (isinstance(n, Mask) and n.value)}
    if any(isinstance(n, Mask) for n in kept.values()):
        return NO
    return YES if not kept else next(iter(kept.values())) if len(kept) == 1 else AllSet(tuple(kept.values()))


def first_set(nodes: Sequence[Node]) -> Node:
    """Return one node for several numbers, of which the first that is not 0 counts."""
    kept = tuple({id(n): n for n in nodes if not (isinstance(n, Mask) and not n.value)}.values())
    return NO if not kept else kept[0] if len(kept) == 1 else FirstSet(kept)


def evaluate(node: Node, word: int, address: int = 0) -> str | int:
    """Evaluate a node for a word; `address` counts units of code."""
    if isinstance(node, FixedText):
        return node.text
    if isinstance(node, Mask):
        return node.value
    if isinstance(node, TextTable):
        return node.values[field_of(node.mask).get(word)]
    if isinstance(node, NumberText):
        value = number(node, word)
        if node.relative:
            value += address
            value = value % node.modulus if node.modulus else value
        return f"{node.prefix}{value:{node.form}}"
    if isinstance(node, Join):
        out = last = ""
        for n, glue in zip(node.nodes, ("", *node.glues), strict=True):
            text = str(evaluate(n, word, address))
            if glue == AFTER_NUMBER:
                glue = " " if last[:1] == "#" else ""
            if text:
                out += glue + text if out else text
                last = text
        return out
    if isinstance(node, AnySet):
        found = 0
        for n in node.nodes:
            found |= int(evaluate(n, word))
        return found
    if isinstance(node, AllSet):
        return int(all(evaluate(n, word) for n in node.nodes))
    if isinstance(node, FirstSet):
        return next((found for n in node.nodes if (found := evaluate(n, word))), 0)
    if isinstance(node, InRange):
        value = number(node.number, word)
        return int(node.low <= value <= node.high and value % node.step == 0)
    if isinstance(node, Equal):
        return int(node.fields[0].get(word) == node.fields[1].get(word))
    if isinstance(node, FieldsEqual):
        return node.bits.mask & ~(node.bits.value ^ word)
    if isinstance(node, TableLookup):
        chosen = node.indices[field_of(node.mask).get(word)]
        return evaluate(node.nodes[chosen], word, address)
    for when, unless, inner in node.cases:
        if when.holds(word) and not (unless is not None and unless.holds(word)):
            return evaluate(inner, word, address)
    return evaluate(node.otherwise, word, address)


def number(node: NumberText, word: int) -> int:
    """Return the number of a field, before an address is added."""
    return node.field.number(word, node.signed) * node.scale
