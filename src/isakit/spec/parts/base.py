"""The base of the tree that an operand is, and what its functions work with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Protocol, TypeVar

from isakit.lean import dataclass
from isakit.spec.fields import Bits, Field

ILLEGAL = "ILLEGAL_OPCODE"
StaticFacts = Mapping[str, Any]
"""Static facts of an operand by name, which the typed operand tells besides its text."""
NUMBER_START = "0"
"""Stands for whatever a number may begin with, which is anything but `$`."""


class Binder(Protocol):
    """Makes the symbolic values that parts hand to semantics functions; provided by `sem`, unknown to `spec`."""

    def param(self, field: Field) -> Any:
        """Return the value of a field of the instruction word, the same in all lanes."""
        ...

    def const(self, value: int, width: int) -> Any:
        """Return a constant."""
        ...


Meaning = Callable[[int, Binder], Any]
"""Binds an operand of a word for a semantics function: to a number, a location, or a record of both."""


class TokenStream(Protocol):
    """The tokens of a statement, as the functions that read operands need them."""

    quick: bool
    """Failures are not reported: what cannot begin with the token at hand need not be tried."""

    @property
    def address(self) -> int:
        """Address of the instruction being assembled, in units of code."""
        ...

    def text(self, k: int) -> str:
        """Return token `k`, or the empty string past the end."""
        ...

    def number(self, k: int) -> tuple[int, int] | None:
        """Return (next token, value) of a constant expression starting at token `k`, or None."""
        ...

    def float_number(self, k: int) -> tuple[int, float] | None:
        """Return (next token, value) of a floating point literal at `k`, or None."""
        ...

    def fail(self, k: int, expected: str) -> None:
        """Remember that `expected` would have been accepted at token `k`."""
        ...


Match = tuple[int, Bits]
"""(index of the next token, the bits this reading determines)"""


@dataclass(frozen=True)
class Row:
    """One line of an explanation: some bits, their value and its meaning."""

    field: Field
    value: int
    meaning: str


@dataclass(frozen=True)
class Context:
    """The features of a variant and a program type, in which an instruction is decoded."""

    features: frozenset[str] = frozenset()

    def has(self, needs: frozenset[str]) -> bool:
        """Return true if every need is met: `a` the feature is there, `!a` it is not, `a|b` one of them is."""
        return all(any((n[0] == "!") != (n.lstrip("!") in self.features) for n in need.split("|")) for need in needs)


NAMED_FEATURES: set[str] = set()
"""All that a `needs=` has said so far: tells the checks whether there is something to look for."""


def needs_set(needs: str | Sequence[str] | frozenset[str]) -> frozenset[str]:
    """Return a feature requirement from one name or several."""
    out = frozenset({needs} if isinstance(needs, str) else needs) - {""}
    NAMED_FEATURES.update(out)
    return out


class Part:
    """A node of the tree that describes an operand: data without behaviour.

    Text, reading, bits, values and explanation of an operand are functions over the tree, one each, in the modules
    beside this one.
    """

    #: the text depends on where the instruction stands (a relative branch that prints its target)
    addressed = False
    #: the operand is where a branch goes
    code_address = False
    #: the parts that it is made of
    children: Sequence[Part] = ()


class OfField(Part):
    """A part whose text tells one whole field."""

    field: Field


class Bitless(Part):
    """Base of parts that have no bits: the same text, or none, whatever the word is."""


T = TypeVar("T")


def once(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Make a function of a part compute once for each part; what it returned is kept with the part."""
    key = f"_{function.__name__}"

    @wraps(function)
    def known(part: object) -> T:
        kept = part.__dict__
        return kept[key] if key in kept else kept.setdefault(key, function(part))

    return known


def union(masks: Iterable[int]) -> int:
    """Return the bits that are in one of the masks."""
    out = 0
    for m in masks:
        out |= m
    return out
