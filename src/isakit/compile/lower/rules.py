"""Rules of instruction selection: the machine instructions for an operation, their condition and priority.

A rule names operations, a condition and a priority, and is a function that emits. Of the rules for an operation the one
of highest priority whose condition holds is applied, so that each can be read by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from isakit.compile.ir import AnyOp, Ins, IrOp
from isakit.errors import DefinitionError

S = TypeVar("S")
A = TypeVar("A", bound=tuple[object, ...])
Emit = Callable[[S, Ins, A], None]
When = Callable[[S, Ins], bool]


@dataclass(frozen=True)
class Rule(Generic[S]):
    """One rule. `when` None holds always."""

    op: AnyOp
    emit: Emit[S, Any]
    when: When[S] | None
    priority: int

    def __str__(self) -> str:
        condition = f" when {self.when.__name__}" if self.when else ""
        return f"{self.priority:2} {self.op}{condition}: {self.emit.__name__}"


class Rules(Generic[S]):
    """The rules of a target, by operation, in the order in which they are tried."""

    def __init__(self) -> None:
        self.of: dict[AnyOp, list[Rule[S]]] = {}

    def rule(
        self, *ops: IrOp[..., A], when: When[S] | None = None, priority: int = 0
    ) -> Callable[[Emit[S, A]], Emit[S, A]]:
        """Return the decorator that makes a function the rule for some operations.

        Raises DefinitionError for a rule that is shadowed: another one without a condition has no lower priority.
        """

        def put(emit: Emit[S, A]) -> Emit[S, A]:
            for op in ops:
                own = self.of.setdefault(op, [])
                own.append(Rule(op, emit, when, priority))
                own.sort(key=lambda r: -r.priority)
                if any(r.when is None for r in own[:-1]):
                    raise DefinitionError(f"rules for `{op}`: `{own[-1].emit.__name__}` is never reached")
            return emit

        return put

    def select(self, s: S, i: Ins) -> None:
        """Emit the instructions for an operation. Raises DefinitionError where no rule holds."""
        for rule in self.of.get(i.op, ()):
            if rule.when is None or rule.when(s, i):
                rule.emit(s, i, i.attrs)
                return
        raise DefinitionError(f"no rule for `{i}`")
