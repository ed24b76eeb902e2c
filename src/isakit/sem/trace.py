"""Tracing: a semantics function runs once on symbolic values and leaves a graph plus its effects.

All register reads see the state before the instruction; writes and stores happen in the order they were made, after
every value they need has been computed. Loads happen in program order with the other memory effects.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Any

from isakit.errors import IsakitError
from isakit.lean import dataclass
from isakit.sem.value import Value, const, postorder

Index = Value | int
Attributes = Mapping[str, Any]
"""Static facts of an effect by name: access bytes, latency, flags."""


@dataclass(frozen=True, eq=False)
class Effect:
    """One thing an instruction does.

    `kind`: `write` (name = register file, args = (index, value)), `load` (name = space, args = (address,), result = the
    load node), `store` (args = (address, value)), `atomic` (name = space, args = (address, operands...), result = the
    old value), `control` (name = what the machine shall do, args = operands), `trap` (name = fault kind).
    `when` is a 1-bit lane condition or None; `attr` holds static facts (access bytes, latency, flags) by name.
    """

    kind: str
    name: str
    args: tuple[Value, ...] = ()
    when: Value | None = None
    attr: tuple[tuple[str, Any], ...] = ()
    result: Value | None = None

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The values this effect reads: its arguments, then its condition if it has one."""
        return self.args if self.when is None else (*self.args, self.when)

    @property
    def lands_later(self) -> bool:
        """True for a write that becomes visible in a later cycle than those of other instructions."""
        return bool(self.get("delayed")) or (self.get("latency") or 0) > 1

    def get(self, key: str, default: object = None) -> Any:
        """Return a static fact of the effect."""
        return dict(self.attr).get(key, default)


@dataclass(eq=False)
class Trace:
    """The meaning of one instruction, for one static key: effects in order (values hang off them)."""

    effects: list[Effect] = field(default_factory=list[Effect])

    def of_kind(self, *kinds: str) -> list[Effect]:
        """Return the effects of the given kinds, in order."""
        return [e for e in self.effects if e.kind in kinds]

    def values(self) -> list[Value]:
        """Return all values the effects hang on, each once, arguments first."""
        return values_of(self.effects)


def values_of(effects: Iterable[Effect]) -> list[Value]:
    """Return all values that effects hang on, each once, arguments first."""
    seen: set[int] = set()
    return [n for e in effects for root in e.inputs for n in postorder(root, seen)]


_current: ContextVar[Trace | None] = ContextVar("isakit_trace", default=None)


@contextmanager
def tracing() -> Generator[Trace]:
    """Collect the effects of everything traced inside the block."""
    trace = Trace()
    token = _current.set(trace)
    try:
        yield trace
    finally:
        _current.reset(token)


def current() -> Trace:
    """Return the trace being recorded."""
    trace = _current.get()
    if trace is None:
        raise IsakitError("an effect outside of tracing()")
    return trace


def _value(v: Index, width: int = 32) -> Value:
    return v if isinstance(v, Value) else const(v, width)


def _attrs(attrs: dict[str, object]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(attrs.items()))


def read(file: str, index: Index, width: int) -> Value:
    """Register `index` of a register file, as it was before the instruction."""
    return Value("read", width, (_value(index),), file)


def write(file: str, index: Index, value: Value, when: Value | None = None, **attrs: object) -> None:
    """Write a register in the lanes that execute the instruction (and where `when` is 1)."""
    current().effects.append(Effect("write", file, (_value(index), value), when, _attrs(attrs)))


def load(space: str, address: Value, size: int, when: Value | None = None, **attrs: object) -> Value:
    """Load `size` bytes (little-endian) as an 8*size-bit value; lanes that do not execute get 0."""
    result = Value("load", 8 * size, (address,), (space, size, _attrs(attrs)))
    current().effects.append(Effect("load", space, (address,), when, _attrs({"size": size, **attrs}), result))
    return result


def store(space: str, address: Value, value: Value, when: Value | None = None, **attrs: object) -> None:
    """Store `value` (a whole number of bytes, little-endian)."""
    current().effects.append(
        Effect("store", space, (address, value), when, _attrs({"size": value.width // 8, **attrs}))
    )


def atomic(space: str, name: str, address: Value, *operands: Value, size: int, **attrs: object) -> Value:
    """Read, modify and write `size` bytes, lane by lane in ascending order; returns the old value.

    `name` selects a function of the machine's table `(old, *operands) -> new`, itself an `Operation`.
    """
    result = Value("atomic", 8 * size, (address, *operands), (space, name, size))
    current().effects.append(
        Effect("atomic", space, (address, *operands), None, _attrs({"op": name, "size": size, **attrs}), result)
    )
    return result


def machine(name: str, width: int, /, *args: Value, **attrs: object) -> Value:
    """Return a value only the machine knows: lane number, a counter, another lane's value, a vote."""
    return Value("machine", width, args, (name, _attrs(attrs)))


def control(name: str, /, *args: Value, **attrs: object) -> None:
    """Ask the machine for a control action (branch, call, barrier, exit ...)."""
    current().effects.append(Effect("control", name, args, None, _attrs(attrs)))


def trap(kind: str, when: Value | None = None) -> None:
    """Raise a fault of the given kind in the lanes where `when` is 1."""
    current().effects.append(Effect("trap", kind, (), when))
