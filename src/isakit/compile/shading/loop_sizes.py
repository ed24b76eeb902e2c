"""Sizes of unrolled loops, estimated before anything is lowered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from isakit.compile.shading.typed import (
    ShaderVariable,
    Typed,
    TypedAssign,
    TypedBinary,
    TypedCall,
    TypedConstant,
    TypedDeclare,
    TypedElement,
    TypedEvaluate,
    TypedField,
    TypedIntrinsic,
    TypedLoop,
    TypedName,
    TypedStatement,
    TypedStep,
    TypedUnary,
    children,
)
from isakit.compile.shading.types import Numeric, elements_of, is_sampler

LARGEST_UNROLLED = 256
"""Operations of all iterations together up to which a loop is unrolled: counting costs larger ones little."""
SCALAR_OPS = 3
"""Instructions for each component of a function that the chip computes one by one, as a quotient or a root."""
_SHORT = """
abs floor ceil trunc round min max clamp step dot cross frac mad lerp saturate mul fma choose transpose any all not less
lessequal greater greaterequal equal notequal sample bias lod bias4 lod4 project project3 clip
"""
VECTOR_FUNCTIONS = frozenset(_SHORT.split())
"""Functions of about one instruction for each vector."""
SAMPLERS_ALONE = 1 << 20
"""The cost of an index that must be constant: the sampler is encoded in the instruction."""
_INCLUDED = {"<": 0, ">": 0, "!=": 0, "<=": 1, ">=": 1}


class LoopSize(NamedTuple):
    """An estimate of the operations of statements, and how many more there are if indices are dynamic."""

    operations: int = 0
    indexing: int = 0

    def times(self, turns: int) -> LoopSize:
        """Return the size of `turns` iterations."""
        return LoopSize(self.operations * turns, self.indexing * turns)

    @property
    def pays(self) -> bool:
        """True if unrolling pays for a loop whose unrolled body has this size."""
        return self.operations - self.indexing <= LARGEST_UNROLLED


class LoopSizes:
    """Estimates the sizes of loops; each statement is counted once."""

    def __init__(self) -> None:
        self.known: dict[int, LoopSize] = {}

    def pays_to_unroll(self, loop: TypedLoop, turns: int) -> bool:
        """Return whether unrolling a loop of so many iterations pays."""
        return self._turn(loop).times(turns).pays

    def _turn(self, loop: TypedLoop) -> LoopSize:
        return self._sum(x for x in (loop.body, loop.step) if x is not None)

    def _sum(self, inside: Iterable[Typed | TypedStatement], operations: int = 0, indexing: int = 0) -> LoopSize:
        for x in inside:
            size = self.known.get(id(x)) or self._size(x)
            operations += size.operations
            indexing += size.indexing
        return LoopSize(operations, indexing)

    def _size(self, x: Typed | TypedStatement) -> LoopSize:
        if isinstance(x, TypedLoop):
            turn = self._turn(x)
            turns = turn.times(_turns(x) or 1)
            size = turns if turns.pays else turn
        elif isinstance(x, TypedElement) and not isinstance(x.index, TypedConstant):
            size = self._sum((x.base, x.index), 0, _choices(x))
        elif isinstance(x, TypedCall):
            body = x.function.body
            size = self._sum(x.arguments if body is None else (*x.arguments, body))
        else:
            size = self._sum(children(x), _operations(x) if isinstance(x, Typed) else 0)
        self.known[id(x)] = size
        return size


def _operations(t: Typed) -> int:
    """Return the number of instructions of an expression itself."""
    if not isinstance(t.type, Numeric) or isinstance(t, TypedConstant | TypedName | TypedField):
        return 0
    parts = t.type.leaves if t.type.is_float else t.type.components
    if isinstance(t, TypedIntrinsic):
        return parts if t.name in VECTOR_FUNCTIONS else SCALAR_OPS * t.type.components
    if isinstance(t, TypedBinary):
        return SCALAR_OPS * t.type.components if t.op in "/%" else parts
    return parts if isinstance(t, TypedStep | TypedUnary) else int(isinstance(t, TypedAssign) and bool(t.op))


def _choices(t: TypedElement) -> int:
    """Return the number of comparisons and selects for a dynamically indexed element."""
    base = t.base.type
    if is_sampler(base):
        return SAMPLERS_ALONE
    of: Typed = t.base
    while isinstance(of, TypedElement | TypedField):
        of = of.base
    if isinstance(of, TypedName) and of.variable.role == "uniform" and not of.variable.columns:
        return 2
    elements = elements_of(base)
    return (elements[0] if elements else 1) * (1 + t.type.leaves)


def _turns(loop: TypedLoop) -> int | None:
    """Return the number of iterations of a loop that counts from one constant to another, None for others."""
    counter, start = _start(loop.initial)
    end = _number(loop.condition.b) if isinstance(loop.condition, TypedBinary) else None
    step = _step(loop.step)
    if counter is None or start is None or end is None or not step or loop.after:
        return None
    assert isinstance(loop.condition, TypedBinary)
    more = _INCLUDED.get(loop.condition.op)
    if more is None or not (isinstance(loop.condition.a, TypedName) and loop.condition.a.variable is counter):
        return None
    return max(0, int((end - start) / step) + more)


def _start(s: TypedStatement | None) -> tuple[ShaderVariable | None, float | None]:
    """Return the variable that a loop counts with, and its initial value."""
    if isinstance(s, TypedDeclare):
        return s.variable, _number(s.initial)
    if isinstance(s, TypedEvaluate) and isinstance(s.value, TypedAssign) and isinstance(s.value.target, TypedName):
        return s.value.target.variable, None if s.value.op else _number(s.value.value)
    return None, None


def _step(t: Typed | None) -> float | None:
    """Return the step of a loop counter."""
    if isinstance(t, TypedStep):
        return 1 if t.op == "+" else -1
    if isinstance(t, TypedAssign) and t.op in ("+", "-"):
        by = _number(t.value)
        return None if by is None else by if t.op == "+" else -by
    return None


def _number(t: Typed | None) -> float | None:
    """Return the constant value of an expression, None if it is not constant."""
    if isinstance(t, TypedName) and t.variable.value is not None:
        t = t.variable.value
    return t.values[0] if isinstance(t, TypedConstant) else None
