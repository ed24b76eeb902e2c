"""Names in records: features that exist, and globals that the semantics functions use."""

from __future__ import annotations

import builtins
import dis
from collections.abc import Hashable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import cast

from isakit.errors import DefinitionError
from isakit.spec.parts import Alternative, HasFeature, Part, needs_set
from isakit.spec.parts.base import NAMED_FEATURES
from isakit.spec.record import Record

_LOAD_GLOBAL, _EXTENDED = dis.opmap["LOAD_GLOBAL"], dis.opmap["EXTENDED_ARG"]


def check_features(record: Record, known: frozenset[str], seen: dict[int, object]) -> None:
    """Raise DefinitionError for a form or operand that needs something else than the features `known`.

    Operands are searched only where some `needs=` of the process says what no instruction set declares: importing a
    package must not look at thousands of parts that are fine. `seen` holds those that were checked, by identity.
    """
    misspelt = any(not _names_in(need) <= _fine for need in NAMED_FEATURES)
    for i, form in enumerate(record.forms):
        where = f"{record.isa}: record {record.name!r}, form {i}"
        named = [form.needs, *(r.unless_feature for r in form.refusals)]
        for needs in (*named, *(_needs(form.parts, seen) if misspelt else ())):
            for unknown in sorted({name for need in needs for name in _names_in(need)} - known):
                raise DefinitionError(
                    f"{where} needs {unknown!r}, which is neither a feature of any variant nor a program type; "
                    f"there are {', '.join(sorted(known))}"
                )


_fine: set[str] = set()
"""Features that some instruction set declares: operands are searched only where a `needs=` says another."""


def declare_features(known: frozenset[str]) -> None:
    """Declare features of an instruction set."""
    _fine.update(known)


def _names_in(need: str) -> frozenset[str]:
    return frozenset(name.lstrip("!") for name in need.split("|"))


def _needs(what: object, seen: dict[int, object]) -> Iterator[frozenset[str]]:
    """Return the `needs` of parts and of the parts inside them."""
    todo = [what]
    while todo:
        v = todo.pop()
        if isinstance(v, Mapping):
            todo += cast("Mapping[Hashable, object]", v).values()
        elif isinstance(v, tuple | list):
            todo += cast("Sequence[object]", v)
        elif isinstance(v, Part | Alternative) and id(v) not in seen:
            seen[id(v)] = v
            needs = needs_set(v.name) if isinstance(v, HasFeature) else getattr(v, "needs", None)
            if isinstance(needs, frozenset):
                yield cast("frozenset[str]", needs)
            todo += vars(v).values()


def check_globals(record: Record, seen: set[CodeType]) -> None:
    """Raise DefinitionError for a semantics function that uses a name its module does not define.

    The functions it calls in the same package are looked at, too; `seen` holds those that are known to be good. To be
    called when all modules of the instruction set have been imported.
    """
    todo: list[object] = [record.semantics]
    while todo:
        function = todo.pop()
        if not isinstance(function, FunctionType) or function.__code__ in seen:
            continue
        seen.add(function.__code__)
        package = function.__module__.rpartition(".")[0]
        for name in _globals_of(function.__code__):
            if name in function.__globals__:
                used = function.__globals__[name]
                if isinstance(used, FunctionType) and used.__module__.startswith(package):
                    todo.append(used)
            elif not hasattr(builtins, name):
                raise DefinitionError(
                    f"{record.isa}: record {record.name!r} uses {name!r} in {function.__name__}(), which nothing in "
                    f"{function.__module__} defines"
                )


def _globals_of(code: CodeType) -> Iterator[str]:
    """Yield names that a function and the functions inside it look up in their module."""
    raw = code.co_code
    operations, names = raw[::2], code.co_names
    at = operations.find(_LOAD_GLOBAL)
    while at >= 0:
        argument = raw[2 * at + 1]
        if at and operations[at - 1] == _EXTENDED:
            argument |= raw[2 * at - 1] << 8
        yield names[argument >> 1]  # bit 0 says whether the name is called
        at = operations.find(_LOAD_GLOBAL, at + 1)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_of(constant)
