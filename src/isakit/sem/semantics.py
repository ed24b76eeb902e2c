"""From a form and a word to its trace: the semantics function runs once per static key."""

from __future__ import annotations

from typing import Any

from isakit.errors import NotModelled
from isakit.sem.trace import Trace, tracing
from isakit.sem.value import SymbolicConditionError, Value, const, param
from isakit.spec.fields import Field
from isakit.spec.lint import place_of
from isakit.spec.parts import Binder, bound_value
from isakit.spec.record import Form


class SymbolicBinder:
    """Makes parameters and constants for parts."""

    def param(self, field: Field) -> Value:
        """Return a field of the instruction word."""
        return param(field, field.width)

    def const(self, value: int, width: int) -> Value:
        """Return a constant."""
        return const(value, width)


BINDER = SymbolicBinder()
_traces: dict[tuple[Form, int], Trace] = {}


def trace_of(form: Form, word: int) -> Trace:
    """Return the meaning of the instruction without its control parts.

    The same object for every word with the same static bits.

    Raises NotModelled for an instruction without semantics.
    """
    key = form, form.static_word(word)
    trace = _traces.get(key)
    if trace is None:
        trace = _traces[key] = traced(form, word)
    return trace


def traced(form: Form, word: int, binder: Binder = BINDER) -> Trace:
    """Return the same as `trace_of`, but traced anew: for semantics that depend on rules the caller has set.

    `binder` makes the values of fields.
    """
    record = form.record
    if record is None or record.semantics is None:
        raise NotModelled(f"`{form.text(word)}`", "its meaning is not known")
    try:
        bound = {name: bound_value(p, word, binder) for name, p in form.parts.items() if name not in form.control}
        with tracing() as trace:
            record.semantics(**bound, **form.constants)
    except (SymbolicConditionError, TypeError, ValueError, AttributeError, LookupError) as e:
        e.add_note(f"in the meaning of `{form.text(word)}`: {place_of(record.semantics)}")
        raise
    return trace


def bind_control(form: Form, name: str, word: int) -> Any:
    """Return the bound value of a control part (guard, tail, ...), None if the form has no such part."""
    part = form.parts.get(name)
    if part is None:
        return None
    return bound_value(part, word, BINDER)


def fields_of(form: Form, word: int, fields: tuple[Field, ...]) -> tuple[int, ...]:
    """Return the values of the given fields in the word, which are the parameters of a compiled trace."""
    return tuple(f.get(word) for f in fields)
