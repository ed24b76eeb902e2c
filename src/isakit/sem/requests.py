"""The requests of semantics functions to the machine: values that only the machine has, and control actions.

An instruction set declares each of them once, as an object that semantics functions call. The machines list what they
implement and what they refuse, and `covered` checks the lists when a machine is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

from isakit.errors import DefinitionError
from isakit.lean import dataclass
from isakit.sem import trace
from isakit.sem.value import Value

Per = Literal["lane", "quad", "warp", "machine"]
"""The lanes that see the same answer, or that an action is done to."""
Handler = TypeVar("Handler")


@dataclass(frozen=True)
class Request:
    """A value or an action that a semantics function requests of the machine.

    Attributes:
        name: unique in the instruction set.
        operands: the number of operands: (least, most); `most` None for any number.
        facts: names of the static facts that a request may carry.
        per: the unit it belongs to (see `Per`).
        doc: a description of the value or action.
    """

    name: str
    operands: tuple[int, int | None]
    facts: frozenset[str]
    per: Per
    doc: str

    def check(self, args: tuple[object, ...], facts: Mapping[str, object]) -> None:
        """Raise DefinitionError for a request with other operands or facts than declared."""
        least, most = self.operands
        if len(args) < least or (most is not None and len(args) > most):
            raise DefinitionError(f"{self.name} takes {_span(least, most)} operands, not {len(args)}")
        if unknown := set(facts) - self.facts:
            raise DefinitionError(f"{self.name} knows no {', '.join(sorted(unknown))}")


@dataclass(frozen=True)
class MachineValue(Request):
    """A value that only the machine has. `effect`: the request changes state, so it must not be made twice."""

    width: int = 32
    effect: bool = False

    def __call__(self, *args: Value, **facts: object) -> Value:
        """Request the value, inside a semantics function; return it."""
        self.check(args, facts)
        return trace.machine(self.name, self.width, *args, **facts)


@dataclass(frozen=True)
class ControlRequest(Request):
    """An action of the machine. `target`: its first operand is a code address."""

    target: bool = False

    def __call__(self, *args: Value, **facts: object) -> None:
        """Request the action, inside a semantics function."""
        self.check(args, facts)
        trace.control(self.name, *args, **facts)


class Requests:
    """The requests of one instruction set by name."""

    def __init__(self, isa: str) -> None:
        self.isa = isa
        self.values: dict[str, MachineValue] = {}
        self.controls: dict[str, ControlRequest] = {}

    def value(
        self, name: str, doc: str, *, operands: int | tuple[int, int | None] = 0, facts: Iterable[str] = (),
        per: Per = "lane", width: int = 32, effect: bool = False,
    ) -> MachineValue:  # fmt: skip
        """Declare a machine value."""
        made = MachineValue(name, _pair(operands), frozenset(facts), per, doc, width, effect)
        self._add(self.values, made)
        return made

    def control(
        self, name: str, doc: str, *, operands: int | tuple[int, int | None] = 0, facts: Iterable[str] = (),
        per: Per = "warp", target: bool = False,
    ) -> ControlRequest:  # fmt: skip
        """Declare a control action."""
        made = ControlRequest(name, _pair(operands), frozenset(facts), per, doc, target)
        self._add(self.controls, made)
        return made

    def _add(self, table: dict[str, Any], made: Request) -> None:
        if made.name in table:
            raise DefinitionError(f"{self.isa} declares {made.name!r} twice")
        table[made.name] = made


def covered(
    machine: str,
    declared: Mapping[str, Request],
    implemented: Mapping[Any, Handler],
    refused: Iterable[Request] = (),
) -> dict[str, Handler]:
    """Return the handlers of a machine by the name of the request.

    Raises DefinitionError where a declared request is neither implemented nor refused, is both, or is not declared.
    """
    out: dict[str, Handler] = {request.name: handler for request, handler in implemented.items()}
    left_out = {request.name for request in refused}
    if missing := declared.keys() - out.keys() - left_out:
        raise DefinitionError(f"{machine} neither implements nor refuses {', '.join(sorted(missing))}")
    if both := out.keys() & left_out:
        raise DefinitionError(f"{machine} implements and refuses {', '.join(sorted(both))}")
    if unknown := (out.keys() | left_out) - declared.keys():
        raise DefinitionError(f"{machine}: nothing declares {', '.join(sorted(unknown))}")
    return out


def _pair(operands: int | tuple[int, int | None]) -> tuple[int, int | None]:
    return (operands, operands) if isinstance(operands, int) else operands


def _span(least: int, most: int | None) -> str:
    return f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"


__all__ = ["ControlRequest", "MachineValue", "Request", "Requests", "covered"]
