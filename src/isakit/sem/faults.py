"""Faults of the machines, as instruction sets declare them: the meaning of each and the instructions that can raise it.

The manual and `isakit doc` list them for every instruction. A test compares the kinds with those the machines raise.
"""

from __future__ import annotations

from collections.abc import Callable

from isakit.errors import NotModelled
from isakit.lean import dataclass
from isakit.sem.requests import Request
from isakit.sem.semantics import bind_control, trace_of
from isakit.sem.trace import Trace
from isakit.spec.record import Form

Raised = Callable[[Form, int, Trace], bool]
"""A test whether the instruction of a word can raise a fault."""


@dataclass(frozen=True)
class Fault:
    """A fault: `kind` as in `MachineFault`, `doc` the condition in words, `option` the setting that decides, if any.

    `raised` by what an instruction computes and asks for; `framed` by what many share, such as a tail or the length.
    Neither: no single instruction raises it, see `doc`.
    """

    kind: str
    doc: str
    option: str = ""
    raised: Raised | None = None
    framed: Raised | None = None

    def by(self, form: Form, word: int, rule: Raised | None) -> bool:
        """Return true if either rule lets this instruction raise the fault."""
        if rule is None:
            return False
        try:
            return rule(form, word, trace_of(form, word))
        except NotModelled:
            return False


def accesses(*spaces: str, size: int = 1, kinds: tuple[str, ...] = ("load", "store", "atomic")) -> Raised:
    """Return a rule for accesses of memory spaces (without their numbers) of at least `size` bytes."""

    def raised(form: Form, word: int, trace: Trace) -> bool:
        return any(e.name.rstrip("0123456789") in spaces and int(e.get("size")) >= size for e in trace.of_kind(*kinds))

    return raised


def asks(*requests: Request) -> Raised:
    """Return a rule for instructions that request one of these values or actions of the machine."""
    names = {r.name for r in requests}

    def raised(form: Form, word: int, trace: Trace) -> bool:
        if any(e.name in names for e in trace.of_kind("control")):
            return True
        return any(v.op == "machine" and v.attr[0] in names for v in trace.values())

    return raised


def writes(file: str) -> Raised:
    """Return a rule for writes of a register of a file."""
    return lambda form, word, trace: any(e.name == file for e in trace.of_kind("write"))


def has(part: str, value: object) -> Raised:
    """Return a rule for instructions with a part of the machine's own, such as a tail, with this value."""
    return lambda form, word, trace: part in form.control and bind_control(form, part, word) == value


def any_of(*some: Raised) -> Raised:
    """Return a rule that holds if any of the given ones does."""
    return lambda form, word, trace: any(r(form, word, trace) for r in some)


def long(form: Form, word: int, trace: Trace) -> bool:
    """Return true for an instruction of several units of code."""
    return form.units > 1
