"""A checked shader: every expression has a type, every name is the variable or function it means.

Implicit conversions are explicit here, so that the two languages no longer differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, fields
from functools import cache
from typing import TypeAlias, cast

from isakit.compile.shading.types import Numeric, Type
from isakit.flow.graph import reachable
from isakit.lean import dataclass


class ShaderVariable:
    """A variable.

    Attributes:
        role: `local`, `uniform`, `input`, `output`, `sampler`.
        semantic: upper-case, as written; empty if there is none.
        value: its constant value, if known.
        initial: the initial value of a variable outside of functions.
        columns: a matrix stored by the vectors that the language does not index first.
    """

    __slots__ = ("assigned", "columns", "initial", "layout", "name", "pos", "qualifiers", "read", "role", "semantic",
                 "type", "value")  # fmt: skip

    def __init__(self, name: str, type: Type, role: str, pos: int) -> None:
        self.name, self.type, self.role, self.pos = name, type, role, pos
        self.qualifiers: frozenset[str] = frozenset()
        self.semantic = ""
        self.layout: dict[str, int] = {}
        self.value: TypedConstant | None = None
        self.initial: Typed | None = None
        self.columns = False
        self.assigned = False
        self.read = False

    @property
    def centroid(self) -> bool:
        """Interpolated at the centroid."""
        return "centroid" in self.qualifiers

    def __repr__(self) -> str:
        return f"{self.role} {self.type} {self.name}"


# --- expressions -----------------------------------------------------------------------------------------------------
@dataclass
class Typed:
    """Any expression."""

    pos: int
    type: Type

    @property
    def numeric(self) -> Numeric:
        """The type of an expression that is known to be a number."""
        assert isinstance(self.type, Numeric)
        return self.type


@dataclass
class TypedConstant(Typed):
    """Numbers, one for each component.

    `free`: a literal without a suffix, which takes the type of the other operand.
    """

    values: tuple[int | float, ...]
    free: bool = False


@dataclass
class TypedName(Typed):
    """A variable."""

    variable: ShaderVariable


@dataclass
class TypedField(Typed):
    """A field of a structure, by its index."""

    base: Typed
    index: int


@dataclass
class TypedElement(Typed):
    """An element of an array, a vector of a matrix, a component of a vector."""

    base: Typed
    index: Typed


@dataclass
class TypedComponents(Typed):
    """Components of a vector, a scalar or a matrix, by their indices."""

    base: Typed
    places: tuple[int, ...]


@dataclass
class TypedConstruct(Typed):
    """A vector or matrix from all components of the parts, one after the other; an array or structure."""

    parts: list[Typed]


@dataclass
class TypedSpread(Typed):
    """A vector or matrix with a scalar in every component; `diagonal`: a matrix with it on the diagonal only."""

    value: Typed
    diagonal: bool = False


@dataclass
class TypedResize(Typed):
    """A matrix of another size; missing elements are those of the identity matrix."""

    value: Typed


@dataclass
class TypedConvert(Typed):
    """The same shape with components of another type; `bits`: the bits are reinterpreted."""

    value: Typed
    bits: bool = False


@dataclass
class TypedUnary(Typed):
    """`-`, `!` or `~` of every component."""

    op: str
    value: Typed


@dataclass
class TypedBinary(Typed):
    """An operator on two values of the same type, component by component; comparisons of it give bools."""

    op: str
    a: Typed
    b: Typed


@dataclass
class TypedSame(Typed):
    """Equality of two values of any type as a whole; `negated`: inequality."""

    a: Typed
    b: Typed
    negated: bool


@dataclass
class TypedShortcut(Typed):
    """`&&` or `||`, whose second operand is evaluated only if the first does not decide."""

    op: str
    a: Typed
    b: Typed


@dataclass
class TypedChoice(Typed):
    """`c ? a : b`; with a vector of conditions, component by component."""

    condition: Typed
    a: Typed
    b: Typed


@dataclass
class TypedIntrinsic(Typed):
    """A function of the language, by its name in the table of intrinsics."""

    name: str
    arguments: list[Typed]


@dataclass
class TypedCall(Typed):
    """A call of a function of the text. Arguments of `out` parameters are the targets they are stored to."""

    function: TypedFunction
    arguments: list[Typed]


@dataclass
class TypedAssign(Typed):
    """An assignment. `op` is the operator of a compound one, or empty."""

    target: Typed
    op: str
    value: Typed


@dataclass
class TypedStep(Typed):
    """`++` or `--`; `old`: its value is the old one, else the new one."""

    target: Typed
    op: str
    old: bool


@dataclass
class TypedSequence(Typed):
    """`a, b`."""

    first: Typed
    second: Typed


# --- statements ------------------------------------------------------------------------------------------------------
@dataclass
class TypedStatement:
    """Any statement."""

    pos: int


@dataclass
class TypedBlock(TypedStatement):
    """A sequence of statements. `scope`: whether it is a scope for names."""

    statements: list[TypedStatement]
    scope: bool = True


@dataclass
class TypedDeclare(TypedStatement):
    """The declaration of a variable."""

    variable: ShaderVariable
    initial: Typed | None


@dataclass
class TypedEvaluate(TypedStatement):
    """An expression evaluated for its side effects."""

    value: Typed


@dataclass
class TypedIf(TypedStatement):
    """`if`."""

    condition: Typed
    yes: TypedStatement
    no: TypedStatement | None


@dataclass
class TypedLoop(TypedStatement):
    """A loop; `after`: the condition is evaluated after the body.

    `changed` are the variables that the condition and the body assign to and the functions they call; `stepped` are
    those of the step.
    """

    initial: TypedStatement | None
    condition: Typed | None
    step: Typed | None
    body: TypedStatement
    after: bool
    changed: Changes = field(default_factory=set["ShaderVariable | TypedFunction"])
    stepped: Changes = field(default_factory=set["ShaderVariable | TypedFunction"])


@dataclass
class TypedSwitch(TypedStatement):
    """`switch`: for every case its constants (None: `default`) and statements."""

    value: Typed
    cases: list[tuple[list[int | None], list[TypedStatement]]]


@dataclass
class TypedReturn(TypedStatement):
    """`return`."""

    value: Typed | None


@dataclass
class TypedLeave(TypedStatement):
    """`break`, `continue`, `discard`."""

    word: str


# --- functions -------------------------------------------------------------------------------------------------------
class TypedFunction:
    """A function: parameters with their qualifiers in `parameters`, and its body if it is defined."""

    def __init__(self, name: str, result: Type, parameters: list[ShaderVariable], pos: int) -> None:
        self.name, self.result, self.parameters, self.pos = name, result, parameters, pos
        self.semantic: tuple[str, int] | None = None
        self.qualifiers = frozenset[str]()
        self.body: TypedBlock | None = None
        self.calls: dict[TypedFunction, int] = {}
        """The functions it calls, and the place of one of the calls."""
        self.changed: set[ShaderVariable] = set()
        """The variables it assigns to."""

    def __repr__(self) -> str:
        return f"{self.result} {self.name}({', '.join(str(p.type) for p in self.parameters)})"


Changes: TypeAlias = "set[ShaderVariable | TypedFunction]"
"""Variables that are assigned to, and functions that are called and may assign to others."""


def variables_of(changes: Changes) -> set[ShaderVariable]:
    """Return the variables that are assigned to, including by functions that are called."""
    called = reachable((x for x in changes if isinstance(x, TypedFunction)), lambda f: f.calls)
    return {x for x in changes if isinstance(x, ShaderVariable)}.union(*(f.changed for f in called))


@dataclass
class CheckedShader:
    """A checked text: variables outside of functions in their order, and functions by name."""

    variables: list[ShaderVariable]
    functions: dict[str, list[TypedFunction]]


@cache
def _parts(of: type[Typed] | type[TypedStatement]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(of) if f.name not in ("pos", "type", "changed", "stepped"))


def children(x: Typed | TypedStatement) -> list[Typed | TypedStatement]:
    """Return the expressions and statements that a node contains."""
    found: list[Typed | TypedStatement] = []
    todo: list[object] = [getattr(x, name) for name in _parts(type(x))]
    while todo:
        part = todo.pop()
        if isinstance(part, Typed | TypedStatement):
            found.append(part)
        elif isinstance(part, list | tuple):
            todo += cast("Iterable[object]", part)
    return found
