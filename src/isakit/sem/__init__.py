"""Symbolic values, float rules and tracing: the language semantics functions are written in."""

from isakit.sem.operation import Operation, expansion, operation
from isakit.sem.trace import Effect, Trace, atomic, control, load, machine, read, store, trap, tracing, write
from isakit.sem.value import (
    SymbolicConditionError,
    Table,
    Value,
    add_with_carry,
    all_of,
    any_of,
    concat,
    const,
    lookup,
    mask,
    param,
    select,
    signed,
    u1,
)

__all__ = [
    "Effect", "Operation", "SymbolicConditionError", "Table", "Trace", "Value", "add_with_carry", "all_of", "any_of",
    "atomic", "concat", "const", "control", "expansion", "load", "lookup", "machine", "mask", "operation", "param",
    "read", "select", "signed", "store", "tracing", "trap", "u1", "write",
]
