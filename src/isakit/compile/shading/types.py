"""Types of the shading languages.

A matrix consists of the vectors that a language indexes first: Cg's rows, GLSL's columns.
"""

from __future__ import annotations

from typing import NamedTuple

from isakit.lean import cached_property, dataclass


class Base(NamedTuple):
    """The type of a component: `kind` is float, int, uint or bool; the result of an operation has the larger `rank`."""

    name: str
    kind: str
    bits: int
    rank: int


FLOAT = Base("float", "float", 32, 7)
HALF = Base("half", "float", 16, 6)
FIXED = Base("fixed", "float", 16, 5)
UINT = Base("uint", "uint", 32, 4)
INT = Base("int", "int", 32, 3)
USHORT = Base("ushort", "uint", 16, 2)
SHORT = Base("short", "int", 16, 1)
BOOL = Base("bool", "bool", 1, 0)


@dataclass(frozen=True)
class Type:
    """Any type."""

    @property
    def leaves(self) -> int:
        """Number of scalars, vectors and samplers that represent a value of the type."""
        return 1


@dataclass(frozen=True)
class Numeric(Type):
    """A scalar (size 1, no vectors), a vector, or a matrix of `vectors` vectors (0: it is none)."""

    base: Base
    size: int = 1
    vectors: int = 0

    @property
    def is_scalar(self) -> bool:
        """True if it has one component."""
        return self.size == 1 and not self.vectors

    @property
    def is_matrix(self) -> bool:
        """True if it is a matrix."""
        return self.vectors > 0

    @property
    def is_float(self) -> bool:
        """True if its components are floating-point numbers."""
        return self.base.kind == "float"

    @property
    def is_bool(self) -> bool:
        """True if its components are bools."""
        return self.base.kind == "bool"

    @property
    def components(self) -> int:
        """Number of all components."""
        return self.size * max(1, self.vectors)

    @property
    def leaves(self) -> int:
        return max(1, self.vectors)

    @property
    def row(self) -> Numeric:
        """The vector type of a matrix, the scalar type of a vector."""
        return Numeric(self.base, self.size) if self.vectors else Numeric(self.base)

    @property
    def shape(self) -> tuple[int, int]:
        """Size of its vectors, and their number."""
        return self.size, self.vectors

    def of(self, base: Base) -> Numeric:
        """Return the type of the same shape with other components."""
        return Numeric(base, self.size, self.vectors)

    def __str__(self) -> str:
        if self.vectors:
            return f"{self.base.name}{self.vectors}x{self.size}"
        return self.base.name if self.size == 1 else f"{self.base.name}{self.size}"


@dataclass(frozen=True)
class SamplerType(Type):
    """A sampler of two-dimensional textures (`2d`) or cubes (`cube`); `1d` and `3d` are not supported."""

    kind: str

    def __str__(self) -> str:
        return {"cube": "samplerCUBE"}.get(self.kind, f"sampler{self.kind.upper()}")


@dataclass(frozen=True)
class ArrayType(Type):
    """An array; `count` 0: the initialiser determines the size."""

    of: Type
    count: int

    @cached_property
    def leaves(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Number of scalars, vectors and samplers that represent a value of the type."""
        return self.count * self.of.leaves

    def __str__(self) -> str:
        return f"{self.of}[{self.count}]"


class StructField(NamedTuple):
    """A field of a structure, with its semantic (`` where it has none).

    `uniform`: a uniform or a sampler, also where the structure is an input of the program.
    """

    name: str
    type: Type
    semantic: str = ""
    uniform: bool = False


@dataclass(frozen=True)
class StructType(Type):
    """A structure."""

    name: str
    fields: tuple[StructField, ...]

    @cached_property
    def leaves(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Number of scalars, vectors and samplers that represent a value of the type."""
        return sum(f.type.leaves for f in self.fields)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class VoidType(Type):
    """No value."""

    def __str__(self) -> str:
        return "void"


VOID = VoidType()
T_FLOAT, T_INT, T_BOOL = Numeric(FLOAT), Numeric(INT), Numeric(BOOL)


def holds_samplers(type: Type) -> bool:
    """Return whether a type contains a sampler."""
    if isinstance(type, ArrayType):
        return holds_samplers(type.of)
    if isinstance(type, StructType):
        return any(holds_samplers(f.type) for f in type.fields)
    return isinstance(type, SamplerType)


def innermost(kind: Type) -> Type:
    """Return the type of the elements of an array, of arrays of arrays, too; any other type itself."""
    while isinstance(kind, ArrayType):
        kind = kind.of
    return kind


def is_sampler(kind: Type) -> bool:
    """Return whether a type is a sampler, or an array of them."""
    return isinstance(innermost(kind), SamplerType)


def elements_of(kind: Type) -> tuple[int, Type] | None:
    """Return how many elements a type has that are indexed, and their type; None for scalars and structures."""
    if isinstance(kind, Numeric):
        return None if kind.is_scalar else (kind.vectors or kind.size, kind.row)
    return (kind.count, kind.of) if isinstance(kind, ArrayType) else None


def part_types(kind: Type) -> list[Type] | None:
    """Return the types of the parts of a vector, matrix, array or structure, None for other types."""
    if isinstance(kind, StructType):
        return [f.type for f in kind.fields]
    elements = elements_of(kind)
    return None if elements is None else [elements[1]] * elements[0]
