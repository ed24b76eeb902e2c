"""Syntax of a shader's text, before names and types are resolved; `pos` is the position where a node begins."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

from isakit.compile.shading.types import Type
from isakit.lean import dataclass


# --- expressions -----------------------------------------------------------------------------------------------------
@dataclass
class Syntax:
    """Any expression. `depth`: how many expressions are nested in it."""

    pos: int
    depth: int


@dataclass
class NumberSyntax(Syntax):
    """A number, or a bool (suffix `bool`)."""

    value: int | float
    suffix: str
    text: str


@dataclass
class NameSyntax(Syntax):
    """A name."""

    name: str


@dataclass
class UnarySyntax(Syntax):
    """`-a !a ~a +a`, and `++a a++` with op `++x` and `x++`."""

    op: str
    operand: Syntax


@dataclass
class BinarySyntax(Syntax):
    """Two operands; the comma, too. `pos` is the operator's place."""

    op: str
    a: Syntax
    b: Syntax


@dataclass
class AssignSyntax(Syntax):
    """An assignment; `op` is the operator before the `=`, or nothing."""

    op: str
    target: Syntax
    value: Syntax


@dataclass
class ChoiceSyntax(Syntax):
    """`c ? a : b`."""

    condition: Syntax
    a: Syntax
    b: Syntax


@dataclass
class CallSyntax(Syntax):
    """A call of a function."""

    name: str
    arguments: list[Syntax]


@dataclass
class ConstructSyntax(Syntax):
    """A constructor, or a cast, or `bit_cast<type>(x)` with `bits`."""

    type: TypeSyntax
    arguments: list[Syntax]
    bits: bool = False
    cast: bool = False


@dataclass
class MemberSyntax(Syntax):
    """`a.name`."""

    base: Syntax
    name: str


@dataclass
class SubscriptSyntax(Syntax):
    """`a[i]`."""

    base: Syntax
    index: Syntax


@dataclass
class BracesSyntax(Syntax):
    """`{ a, b }` as an initial value."""

    items: list[Syntax]


# --- declarations ----------------------------------------------------------------------------------------------------
class TypeSyntax(NamedTuple):
    """A type by its name, resolved as far as the parser can: sizes of arrays are expressions, None if open."""

    pos: int
    name: str
    type: Type | None
    sizes: tuple[Syntax | None, ...] = ()


@dataclass
class VariableSyntax:
    """A variable, a parameter or a field.

    Attributes:
        qualifiers: words before (and, in Cg, after) the type.
        layout: numbers of `layout(name = number)`, and words without one, which have the value 1.
        semantic: what stands after `:`, with its place.
    """

    pos: int
    name: str
    type: TypeSyntax
    qualifiers: frozenset[str] = frozenset()
    semantic: tuple[str, int] | None = None
    initial: Syntax | None = None
    layout: dict[str, int] = field(default_factory=dict[str, int])


@dataclass
class StructSyntax:
    """A structure."""

    pos: int
    name: str
    fields: list[VariableSyntax]


@dataclass
class FunctionSyntax:
    """A function; `body` is None where it is only declared."""

    pos: int
    name: str
    result: TypeSyntax
    parameters: list[VariableSyntax]
    semantic: tuple[str, int] | None
    qualifiers: frozenset[str]
    body: BlockSyntax | None


# --- statements ------------------------------------------------------------------------------------------------------
@dataclass
class StatementSyntax:
    """Any statement."""

    pos: int


@dataclass
class BlockSyntax(StatementSyntax):
    """Statements in braces; `scope`: whether the block is a scope for names."""

    statements: list[StatementSyntax]
    scope: bool = True


@dataclass
class DeclareSyntax(StatementSyntax):
    """Variables."""

    variables: list[VariableSyntax]


@dataclass
class EvaluateSyntax(StatementSyntax):
    """An expression."""

    value: Syntax


@dataclass
class IfSyntax(StatementSyntax):
    """`if`."""

    condition: Syntax
    yes: StatementSyntax
    no: StatementSyntax | None


@dataclass
class LoopSyntax(StatementSyntax):
    """`for`, `while`, and with `after` `do`."""

    initial: StatementSyntax | None
    condition: Syntax | None
    step: Syntax | None
    body: StatementSyntax
    after: bool = False


@dataclass
class SwitchSyntax(StatementSyntax):
    """`switch`: every case has its labels (None: `default`) and statements."""

    value: Syntax
    cases: list[tuple[list[Syntax | None], list[StatementSyntax]]]


@dataclass
class ReturnSyntax(StatementSyntax):
    """`return`."""

    value: Syntax | None


@dataclass
class LeaveSyntax(StatementSyntax):
    """`break`, `continue` or `discard`."""

    word: str


Declaration = VariableSyntax | FunctionSyntax | StructSyntax
