"""The parts of a source text before addresses are known: sections with items, names and constant data."""

from __future__ import annotations

from dataclasses import field

from isakit.asm.source import SourceSpan, Statement
from isakit.codec import Decoder, Encoded, Token
from isakit.description import Kernel
from isakit.lean import dataclass


@dataclass(slots=True)
class CodeStatement:
    """A statement that becomes an instruction.

    `choices` are its encodings, one per size, smallest first; `symbolic` ones depend on names or on the address and are
    made again when these change. `sizes` are the sizes that are still allowed.
    """

    statement: Statement
    choices: tuple[Encoded, ...] = ()
    symbolic: bool = False
    sizes: tuple[int, ...] = ()


@dataclass(slots=True)
class Data:
    """Units of code given as numbers. `values` are filled in when all names are known."""

    statement: Statement
    count: int
    aligned: bool = False
    values: list[int] = field(default_factory=list[int])
    tokens: list[Token] | None = None


@dataclass(slots=True)
class Fill:
    """Zero units: up to a multiple of `align` units."""

    statement: Statement
    align: int


Item = CodeStatement | Data | Fill


@dataclass
class DeferredValue:
    """A value in constant data that is stored when all names are known."""

    statement: Statement
    token: int
    tokens: list[Token]
    offset: int
    size: int


@dataclass
class Bank:
    """Constant data under construction."""

    data: bytearray = field(default_factory=bytearray)
    names: dict[str, int] = field(default_factory=dict[str, int])
    late: list[DeferredValue] = field(default_factory=list[DeferredValue])


@dataclass
class Scope:
    """Names with their values: numbers, or lazily evaluated expressions."""

    parent: Scope | None = None
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    expressions: dict[str, tuple[Statement, list[Token]]] = field(
        default_factory=dict[str, tuple[Statement, list[Token]]]
    )
    places: dict[str, SourceSpan] = field(default_factory=dict[str, SourceSpan])

    def defined(self, name: str) -> SourceSpan | None:
        """Return the place of a name's definition in this scope."""
        return self.places.get(name)

    def knows(self, name: str) -> bool:
        """Return true if the name has a value here or further out."""
        return name in self.places or (self.parent is not None and self.parent.knows(name))

    def all_names(self) -> list[str]:
        """Return every name that can be used here."""
        return [*self.places, *(self.parent.all_names() if self.parent else ())]


@dataclass
class Section:
    """The code of one kernel, or one program of a text without kernels. `decoder` is that of its program type.

    `sizes` are the lengths of named constants that end before the next name.
    """

    scope: Scope
    decoder: Decoder
    kernel: Kernel | None = None
    place: SourceSpan | None = None
    items: list[Item] = field(default_factory=list[Item])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    banks: dict[int, Bank] = field(default_factory=dict[int, Bank])
    address: int = 0
    loose: bytearray = field(default_factory=bytearray)
    loose_at: Statement | None = None
    tail: bytes = b""
    param_bytes: int = 0
    sizes: dict[str, int] = field(default_factory=dict[str, int])
