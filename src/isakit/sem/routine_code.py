"""The code that routines are translated to: statements on locals, fields of records, and the lanes of a warp.

Expressions are values of `sem.value` with leaves of their own:

| op | args | attr | meaning | |---|---|---|---| | `LOCAL` | | name | a parameter or local | | `FIELD` | | (record,
field) | a field of the record that a name stands for, as it is now | | `ITEM` | index | (record, field) | one of the
numbers of a field | | `LANE` | index | name | the number of one lane | | `MATCHING` | number | name | the mask of the
lanes that have this number |
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

from isakit.lean import dataclass
from isakit.sem.operation import Statics
from isakit.sem.records import RecordField, StateRecord
from isakit.sem.value import Value

if TYPE_CHECKING:
    import ast

LOCAL, FIELD, ITEM, LANE, MATCHING = "local", "field", "item", "lane", "matching"


@dataclass(frozen=True)
class RoutineParameter:
    """A parameter of a routine: a number of `width` bits, a record (or a `row` of them), or a number per lane."""

    name: str
    width: int = 0
    record: type[StateRecord] | None = None
    row: bool = False
    lanes: bool = False


@dataclass(frozen=True)
class Assign:
    """Set a local."""

    name: str
    value: Value


@dataclass(frozen=True)
class PointAt:
    """A name for an element of a field of the record `base`, or of the row `base`.

    Without `index`: for the record that the field is.
    """

    name: str
    base: str
    within: RecordField | None
    element: type[StateRecord]
    index: Value | None


@dataclass(frozen=True)
class Store:
    """Set a field of a record, or (with `index`) one of its numbers."""

    base: str
    within: RecordField
    value: Value
    index: Value | None = None


@dataclass(frozen=True)
class If:
    """Statements that depend on a condition of one bit."""

    condition: Value
    then: list[Statement]
    otherwise: list[Statement]


@dataclass(frozen=True)
class While:
    """`before` computes what the condition needs, each time."""

    before: list[Statement]
    condition: Value
    body: list[Statement]


@dataclass(frozen=True)
class Return:
    """Leave the routine."""

    value: Value | None


@dataclass(frozen=True)
class RowArgument:
    """A row of records as an argument: a field of `base`, or all of the row `base`."""

    base: str
    within: RecordField | None


RoutineArgument = Value | str | RowArgument
"""An argument of a call in a routine: a number, the name of a record, a row or lanes, or a row of records."""


@dataclass(frozen=True)
class CallStatement:
    """Call a routine (with its `statics`) or something of the surroundings.

    Arguments that are names are records, rows or lanes. `name`: the local that gets the result.
    """

    callee: Callee
    arguments: list[RoutineArgument]
    statics: Statics
    name: str | None = None


@dataclass(frozen=True)
class Text:
    """A text with values in it: pieces of text, values, functions of a value."""

    pieces: tuple[str | Value | tuple[Callable[[int], object], Value], ...]


@dataclass(frozen=True)
class RaiseStatement:
    """End with an exception: `kind(*arguments)`, static values, numbers and texts."""

    kind: Callable[..., Exception]
    arguments: tuple[object, ...]


Statement = Assign | PointAt | Store | If | While | Return | CallStatement | RaiseStatement


class Callee:
    """A function that a routine can call. Attributes: `name`, `function` (of Python)."""

    name: str
    function: Callable[..., Any]

    @property
    @abstractmethod
    def width(self) -> int:
        """Width of the returned value in bits; 0 if nothing is returned."""


class Translatable(Callee):
    """A routine; `shared`: compiled code calls it instead of containing it."""

    shared: bool

    @property
    @abstractmethod
    def parameters(self) -> list[RoutineParameter]:
        """The parameters that compiled code passes to it."""

    @property
    @abstractmethod
    def statics(self) -> list[str]:
        """Names of the static parameters."""

    @property
    @abstractmethod
    def tree(self) -> ast.FunctionDef:
        """The syntax tree of the text."""

    @abstractmethod
    def code(self, **statics: object) -> RoutineCode:
        """Return its statements for these static arguments."""


@dataclass(eq=False)
class RoutineCode:
    """The statements of a routine for some static arguments.

    `choices`: what of the static arguments decided about them, (parameter, attribute) -> value; the attribute is empty
    for the argument itself.
    """

    routine: Translatable
    statics: Statics
    statements: list[Statement] = field(default_factory=list[Statement])
    choices: dict[tuple[str, str], object] = field(default_factory=dict[tuple[str, str], object])

    def holds(self, statics: Statics) -> bool:
        """Return true if other static arguments lead to the same statements."""
        return all(
            statics[name] == value if not attr else getattr(statics[name], attr) == value
            for (name, attr), value in self.choices.items()
        )

    @property
    def key(self) -> str:
        """Stands for the static arguments, as far as they matter."""
        return " ".join(f"{n}.{a}={v!r}" if a else f"{n}={v!r}" for (n, a), v in sorted(self.choices.items()))

    @property
    def raises(self) -> bool:
        """True if the routine, or one that it calls, may raise an exception."""
        return any(
            isinstance(s, RaiseStatement)
            or (
                isinstance(s, CallStatement)
                and isinstance(s.callee, Translatable)
                and s.callee.code(**s.statics).raises
            )
            for s in walk(self.statements)
        )


def walk(statements: list[Statement]) -> Iterator[Statement]:
    """Yield all statements, those inside of others included."""
    for s in statements:
        yield s
        if isinstance(s, If):
            yield from walk(s.then)
            yield from walk(s.otherwise)
        elif isinstance(s, While):
            yield from walk(s.before)
            yield from walk(s.body)
