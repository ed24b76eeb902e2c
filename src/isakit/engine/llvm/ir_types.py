"""Types of LLVM, and values and functions that have them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple


class IrTypeError(TypeError):
    """An operand of generated code does not have the type it must have: a bug in isakit."""


class IrType:
    """A type of LLVM; each type is one object.

    Attributes: `text`, its spelling in IR; `width`, bits of a number or of the number in each lane; `lanes`, the length
    of a vector, 0 for other types; `element`, the type of a vector's elements; `flags`, the type of a comparison's
    result; `suffix`, its name within names of intrinsics; `parts`, the members of a structure.
    """

    __slots__ = ("element", "flags", "lanes", "parts", "suffix", "text", "width")

    def __init__(
        self, text: str, suffix: str, width: int = 0, lanes: int = 0, element: IrType | None = None,
        parts: tuple[IrType, ...] = (),
    ) -> None:  # fmt: skip
        self.text, self.suffix, self.width, self.lanes, self.parts = text, suffix, width, lanes, parts
        self.element: IrType = element or self
        self.flags: IrType = self

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __call__(self, number: int) -> Ref:
        """Return a constant, in all lanes of a vector. Raises IrTypeError if the number does not fit."""
        return Ref(self.literal(number), self)

    def literal(self, number: int) -> str:
        """Write a constant."""
        if self.lanes:
            return "zeroinitializer" if not number else f"splat ({self.element.text} {self.element.literal(number)})"
        if self.width == 1:
            return "true" if number else "false"
        if self is PTR:
            if number:
                raise IrTypeError("a number as an address")
            return "null"
        if not self.width or not -1 << self.width - 1 <= number < 1 << self.width:
            raise IrTypeError(f"{number} does not fit {self.text}")
        return str(number)

    @property
    def poison(self) -> Ref:
        """A value of which nothing is known, to put lanes or parts into."""
        return Ref("poison", self)

    @property
    def zero(self) -> Ref:
        """All bits zero, of a vector or a structure."""
        return Ref("zeroinitializer", self)


@cache
def integer(width: int) -> IrType:
    """Return the type of whole numbers of `width` bits."""
    made = IrType(f"i{width}", f"i{width}", width)
    if width != 1:
        made.flags = integer(1)
    return made


@cache
def vector(lanes: int, element: IrType) -> IrType:
    """Return the type of vectors."""
    made = IrType(f"<{lanes} x {element}>", f"v{lanes}{element.suffix}", element.width, lanes, element)
    if element.flags is not element:
        made.flags = vector(lanes, element.flags)
    return made


@cache
def structure(*parts: IrType) -> IrType:
    """Return the type of several values together."""
    return IrType(f"{{{', '.join(p.text for p in parts)}}}", "", parts=parts)


@cache
def array(count: int, element: IrType) -> IrType:
    """Return the type of a row in memory."""
    return IrType(f"[{count} x {element}]", "")


_FLOATS = (("half", 16), ("float", 32), ("double", 64))


def _special(text: str, suffix: str) -> IrType:
    made = IrType(text, suffix)
    made.flags = integer(1)
    return made


VOID, PTR, F16, F32, F64 = (
    IrType("void", ""), _special("ptr", "p0"), *(_special(name, f"f{n}") for name, n in _FLOATS),
)  # fmt: skip
I1, I4, I8, I16, I32, I64 = (integer(n) for n in (1, 4, 8, 16, 32, 64))


class Ref:
    """An SSA value or a constant: its text and its type."""

    __slots__ = ("text", "type")

    def __init__(self, text: str, type: IrType) -> None:
        self.text, self.type = text, type

    @property
    def width(self) -> int:
        """Bits, or bits of each lane."""
        return self.type.width

    @property
    def uniform(self) -> bool:
        """Return whether it is one number for all lanes."""
        return not self.type.lanes

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{self.type.text} {self.text}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and other.text == self.text and other.type is self.type

    def __hash__(self) -> int:
        return hash(self.text)


Operand = Ref | int
"""A value, or a constant that takes the type of the other operand."""


class IrFunction(NamedTuple):
    """A function that can be called: `name` with its @."""

    name: str
    result: IrType
    parameters: tuple[IrType, ...]
    convention: str = ""

    @property
    def declaration(self) -> str:
        """Write the declaration for another module."""
        listed = ", ".join(p.text for p in self.parameters)
        return f"declare {self.convention}{self.result} {self.name}({listed})"


def numbers(width: int, values: Iterable[int]) -> Ref:
    """Return a constant vector."""
    listed, element = [*values], integer(width)
    return Ref("<" + ", ".join(f"{element} {n}" for n in listed) + ">", vector(len(listed), element))


@cache
def pointer(name: str) -> Ref:
    """Return an address by its name: a parameter of the function, a variable, a global."""
    return Ref(name, PTR)
