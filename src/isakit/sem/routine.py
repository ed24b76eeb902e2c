"""Routines: control written once, as Python functions on scalars and records, for every engine.

    @routine
    def joinat(w: Warp, target: u32, choices: Choices) -> None:
        "Active lanes will meet again at the join instruction at `target`."
        push(w, Kind.JOINAT, target, w.active, choices)

The parameters say what a routine works on: numbers of declared width, records (`sem.records`), the values of the lanes
of a warp (`Lanes`); all others are static. For each set of static arguments the text of the function is translated
once, into the statements of `sem.routine_code`; a condition on static values leaves only the side that holds. Engines
lower the statements: to a Python function, to LLVM code inside of another function, or to an LLVM function.

What a routine may contain: assignments to locals and fields, `if`, `while`, `for ... in range(...)`, early `return`,
`raise`, calls of routines, arithmetic of `sem.value` (unsigned, modulo the width), `and`, `or`, `not`. Calls that do
something stand alone, or are all of what is assigned, returned or tested.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from isakit.errors import DefinitionError
from isakit.sem.records import ArrayField, StateRecord, Unsigned, array_field_of, width_of
from isakit.sem.routine_code import Callee, RoutineCode, RoutineParameter, Translatable
from isakit.sem.routine_helpers import highest, lanes_equal, lowest, signed_less, wide
from isakit.sem.routine_translation import translate

P = ParamSpec("P")
T = TypeVar("T")


class OfLanes:
    """Marks a parameter that has one u32 for each lane of a warp."""


Lanes = Annotated[list[int], OfLanes()]
"""One number per lane: `lanes[k]` is the one of lane k, `lanes_equal(lanes, n)` the mask of those that are n."""


def _definition(function: Callable[..., object]) -> ast.stmt:
    """Return the definition of a function. Files are parsed once: to cut one function out, `inspect` tokenizes them."""
    code = function.__code__
    found = _definitions(code.co_filename).get(code.co_firstlineno)
    return found or ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]


@cache
def _definitions(path: str) -> dict[int, ast.FunctionDef]:
    """Return the functions of a file by their first line, which may be that of a decorator."""
    tree = ast.parse("".join(linecache.getlines(path)))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {min(part.lineno for part in (node, *node.decorator_list)): node for node in found}


class Routine(Translatable, Generic[P, T]):
    """A function of the routine language.

    Attributes: `name`, `function`, `shared` (compiled code calls it instead of containing it), `statics` (names of the
    static parameters), `parameters` (all others).
    """

    def __init__(self, function: Callable[P, T], shared: bool = False) -> None:
        self.function, self.shared, self.name = function, shared, function.__name__
        self.__doc__ = function.__doc__
        self._source: str | None = None
        self._tree: ast.FunctionDef | None = None
        self._codes: list[tuple[dict[str, object], RoutineCode]] = []
        self._signature: tuple[list[RoutineParameter], list[str], int] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the function in Python. Only routines call routines like this; engines have functions of them."""
        raise TypeError(f"{self.name} is a routine: call the function that an engine compiles from it")

    def __repr__(self) -> str:
        return f"<routine {self.name}>"

    # --- what it is -------------------------------------------------------------------------------------------------
    @property
    def source(self) -> str:
        """The source text of the routine."""
        return self._source or _text_of(self.function)

    @property
    def tree(self) -> ast.FunctionDef:
        """The syntax tree of the routine's definition."""
        if self._tree is None:
            tree = ast.parse(self._source).body[0] if self._source else _definition(self.function)
            assert isinstance(tree, ast.FunctionDef)
            self._tree = tree
        return self._tree

    def _look(self) -> tuple[list[RoutineParameter], list[str], int]:
        if self._signature is None:
            hints = get_type_hints(self.function, include_extras=True)
            parameters: list[RoutineParameter] = []
            statics: list[str] = []
            for name in inspect.signature(self.function).parameters:
                p = _parameter(name, hints.get(name))
                if p is None:
                    statics.append(name)
                else:
                    parameters.append(p)
            returns = hints.get("return")
            width = 0 if returns in (None, type(None)) else width_of(returns)
            if width is None:
                raise DefinitionError(f"{self.name} returns neither a number nor nothing")
            self._signature = parameters, statics, width
        return self._signature

    @property
    def parameters(self) -> list[RoutineParameter]:
        """The parameters that compiled code passes to it."""
        return self._look()[0]

    @property
    def statics(self) -> list[str]:
        """Names of the static parameters."""
        return self._look()[1]

    @property
    def width(self) -> int:
        """Width of the returned value in bits; 0 if nothing is returned."""
        return self._look()[2]

    # --- what it does -----------------------------------------------------------------------------------------------
    def code(self, **statics: object) -> RoutineCode:
        """Return its statements for these static arguments.

        Arguments that differ only in attributes that it does not look at share them.
        """
        for given, code in self._codes:
            if given == statics or (given.keys() == statics.keys() and code.holds(statics)):
                return code
        code = translate(self, statics)
        self._codes.append((statics, code))
        return code

    @contextmanager
    def rewritten(self, old: str, new: str) -> Generator[Routine[P, T]]:
        """Replace the routine's text within a `with` block, for tests; engines drop what they made from the old text.

        Raises DefinitionError where the text does not have `old` exactly once.
        """
        source = self.source
        if source.count(old) != 1:
            raise DefinitionError(f"{self.name} has {source.count(old)} times {old!r}")
        self._source = _other_texts[self.name] = source.replace(old, new)
        forget()
        try:
            yield self
        finally:
            self._source = None
            del _other_texts[self.name]
            forget()

    def forget(self) -> None:
        """Translate it anew when it is asked for."""
        self._tree = None
        self._codes.clear()


AnyRoutine = Routine[..., Any]
"""A routine with any parameters and result."""


def _text_of(function: Callable[..., object]) -> str:
    """Return the text of a function, by its indentation: `inspect.getsource` reads all of its tokens."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)[code.co_firstlineno - 1 :]
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else ""
    begin = next((k for k, line in enumerate(lines) if line.startswith(f"{margin}def ")), len(lines))
    inside = next((k + 1 for k, line in enumerate(lines) if k >= begin and line.rstrip().endswith(":")), len(lines))
    end = inside
    while end < len(lines) and (lines[end].startswith(f"{margin} ") or not lines[end].strip()):
        end += 1
    if end == inside:
        return textwrap.dedent(inspect.getsource(function))
    return "".join(line.removeprefix(margin) for line in lines[:end])


_all: list[AnyRoutine] = []
_told: list[Callable[[], object]] = []
_other_texts: dict[str, str] = {}


def other_texts() -> str:
    """Return the texts that replace those of routines inside of `rewritten`, empty outside."""
    return repr(_other_texts) if _other_texts else ""


def on_change(function: Callable[[], object]) -> None:
    """Call `function` when routines have got another text, to forget what was made of them."""
    _told.append(function)


def forget() -> None:
    """Translate all routines anew."""
    for r in _all:
        r.forget()
    for function in _told:
        function()


def routine(function: Callable[P, T]) -> Routine[P, T]:
    """Make a function a routine, which becomes part of the compiled code that calls it (decorator)."""
    made = Routine(function)
    _all.append(made)
    return made


def shared_routine(function: Callable[P, T]) -> Routine[P, T]:
    """Make a function a routine that compiled code calls (decorator)."""
    made = Routine(function, shared=True)
    _all.append(made)
    return made


class External(Callee, Generic[P, T]):
    """Something a routine asks its surroundings for: Python calls the function, compiled code has code of its own."""

    def __init__(self, function: Callable[P, T]) -> None:
        self.function, self.name = function, function.__name__
        self.__doc__ = function.__doc__
        returns = get_type_hints(function, include_extras=True).get("return")
        self._width = 0 if returns in (None, type(None)) else width_of(returns) or 0

    @property
    def width(self) -> int:
        """Width of the returned value in bits; 0 if nothing is returned."""
        return self._width

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the function in Python."""
        return self.function(*args, **kwargs)


def external(function: Callable[P, T]) -> External[P, T]:
    """Mark a function that compiled code has code of its own for (decorator)."""
    return External(function)


def _parameter(name: str, hint: object) -> RoutineParameter | None:
    """Return a parameter that is not static."""
    width = width_of(hint)
    if width is not None:
        return RoutineParameter(name, width=width)
    if isinstance(hint, type) and issubclass(hint, StateRecord):
        return RoutineParameter(name, record=hint)
    if get_origin(hint) is Annotated and any(isinstance(x, OfLanes) for x in get_args(hint)):
        return RoutineParameter(name, lanes=True)
    several = array_field_of(hint)
    if several is not None:
        return RoutineParameter(name, record=several[0], row=True)
    return None


Static = Annotated[T, "static"]
"""A number or bool that is known when code is made."""


__all__ = [
    "ArrayField",
    "External",
    "Lanes",
    "Routine",
    "Static",
    "Unsigned",
    "external",
    "forget",
    "highest",
    "lanes_equal",
    "lowest",
    "on_change",
    "other_texts",
    "routine",
    "shared_routine",
    "signed_less",
    "wide",
]  # fmt: skip
