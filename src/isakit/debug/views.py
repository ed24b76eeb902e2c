"""The values of a thread that expressions can read, and the places that can be set."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping

from isakit.debug.execution import Execution
from isakit.debug.expression_values import condition, evaluate
from isakit.debug.expressions import (
    TYPES,
    Binary,
    Cast,
    ExpressionError,
    Load,
    NamedRegister,
    Node,
    Number,
    NumberTerm,
    ThreadFacts,
    Variable,
    parse,
    walk,
)
from isakit.debug.source_variables import OptimisedOutError
from isakit.errors import IsakitError, LaunchError
from isakit.machine.target import RegisterRef as Reference

_FLAG = re.compile(r"(\$c\d+)\.([zsco])")


class ThreadView:
    """A thread of an execution, for expressions. Variables: `Execution.facts`, `position`, `instructions`."""

    def __init__(self, execution: Execution, thread: int) -> None:
        self.execution, self.thread = execution, thread
        self._facts: Mapping[str, int] | None = None

    def register(self, name: str) -> int:
        """Return a register's content; `.z`, `.s`, `.c`, `.o` select a flag of a $c register."""
        target = self.execution.target
        m = _FLAG.fullmatch(name)
        if m is not None and target.isa == "tesla":
            return target.read_register(target.register(m[1]), self.thread) >> "zsco".index(m[2]) & 1
        return target.read_register(target.register(name), self.thread)

    def variable(self, name: str) -> int:
        """Return a variable or, on machines whose registers are written without `$`, a register."""
        if self._facts is None:
            self._facts = self.execution.facts(self.thread)
        if name in self._facts:
            return self._facts[name]
        if name == "position":
            return self.execution.position
        if name == "instructions":
            return self.execution.instructions
        if name == "pc":
            return self.execution.target.thread(self.thread).address or 0
        try:
            return self.register(name)
        except LaunchError:
            names = ", ".join(sorted({*self._facts, "position", "instructions", "pc"}))
            raise KeyError(f"there are registers, {names}") from None

    def memory(self, space: str, address: int, size: int) -> bytes:
        """Return bytes as the thread sees them."""
        return self.execution.target.read_memory(space, address, size, self.thread)


def value(execution: Execution, node: Node, thread: int) -> Number:
    """Return the value of an expression for a thread, with the source variables at its instruction.

    Raises ExpressionError, and OptimisedOutError for a variable without a value there.
    """
    return evaluate(placed(execution, node, thread), ThreadView(execution, thread))


def placed(execution: Execution, node: Node, thread: int) -> Node:
    """Return an expression with locations in place of source variables. Raises OptimisedOutError."""
    if not execution.variables:
        return node
    t = execution.target.thread(thread)
    return execution.variables.placed(node, t.address if t.active else None)


def parsed(execution: Execution, text: str) -> Node:
    """Parse an expression that names memories, registers and variables. Raises ExpressionError."""
    memories, variables = execution.target.memories, execution.variables
    node = parse(text, lambda name: name in memories or variables.indexed(name), variables, variables.inner)
    evaluate_names(execution, node)
    return node


def evaluate_names(execution: Execution, node: Node) -> None:
    """Raise ExpressionError for names the machine does not have."""
    thread = execution.following or 0
    view = ThreadView(execution, thread)
    for n in walk(node):
        try:
            if isinstance(n, NamedRegister):
                view.register(n.name)
            elif isinstance(n, Variable) and n.name not in execution.variables:
                view.variable(n.name)
        except KeyError as e:
            raise ExpressionError(f"no {n.name!r} here; {e.args[0]}") from None  # type: ignore[union-attr]
        except LaunchError as e:
            raise ExpressionError(str(e)) from None


_conditions: dict[int, tuple[Node, Callable[[ThreadFacts], bool]]] = {}
"""Compiled conditions by id of the expression, which is kept alive: equal ones can differ in the types of numbers."""
_MOST = 1000


def holds(execution: Execution, node: Node, thread: int) -> bool:
    """Return true if a condition holds for a thread, or cannot be evaluated: see `untold`.

    One on a variable that is optimised out at the thread's instruction is false.
    """
    try:
        return _told(execution, node, thread)
    except OptimisedOutError:
        return False
    except IsakitError:
        return True


def untold(execution: Execution, node: Node, thread: int) -> str:
    """Return why a condition cannot be evaluated for a thread, because a value does not exist; "" if it can."""
    try:
        _told(execution, node, thread)
    except OptimisedOutError:
        return ""
    except IsakitError as e:
        return str(e)
    return ""


def _told(execution: Execution, node: Node, thread: int) -> bool:
    node = placed(execution, node, thread)
    found = _conditions.get(id(node))
    if found is None:
        if len(_conditions) >= _MOST:
            _conditions.clear()
        found = _conditions[id(node)] = node, condition(node)
    return found[1](ThreadView(execution, thread))


def place(execution: Execution, text: str, thread: int) -> Load | Reference:
    """Return the memory cell or register named on the left side of an assignment. Raises ExpressionError."""
    node = placed(execution, parsed(execution, text), thread)
    if isinstance(node, Cast):  # the place of a variable
        node = (
            Load(node.operand.space, node.operand.address, node.type)
            if isinstance(node.operand, Load)
            else node.operand
        )
    if isinstance(node, Load):
        return node
    if isinstance(node, NamedRegister | Variable):
        try:
            return execution.target.register(node.name)
        except LaunchError:
            pass
    raise ExpressionError(f"`{text}` is neither a register nor a cell of memory")


def half_place(execution: Execution, text: str, thread: int) -> tuple[Reference, int] | None:
    """Return the register that contains a 16-bit variable, and its shift in bits; None for another place."""
    match placed(execution, parsed(execution, text), thread):
        case Cast("f16", Binary(">>", NamedRegister(name) | Variable(name), NumberTerm(int(shift)))):
            return execution.target.register(name), shift
        case Cast("f16", NamedRegister(name) | Variable(name)):
            return execution.target.register(name), 0
        case _:
            return None


def packed(kind: str, value: Number) -> bytes:
    """Return a number as the bytes of a type; integers lose their high bits. Raises ExpressionError."""
    size, letter = TYPES[kind]
    if letter in "efd":
        try:
            return struct.pack("<" + letter, value)
        except OverflowError:
            raise ExpressionError(f"{value} does not fit {kind}") from None
    if isinstance(value, float):
        if not value.is_integer():
            raise ExpressionError(f"{value} is not a whole number")
        value = int(value)
    return (value & (1 << 8 * size) - 1).to_bytes(size, "little")
