"""P-code of instructions: for every form a table of constructors, one for each distinct behaviour of its words.

Many bits select the behaviour of an instruction, but most of them only select the location of an operand. So a form is
traced with placeholders for its operands; reading or writing an operand becomes a table of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from isakit.errors import IsakitError
from isakit.export.cubes import EVERYTHING, Cubes, both, of_values
from isakit.export.pcode import NoPcode, PcodeReferences, PcodeStatements, canonical, size_of
from isakit.export.sleigh_tables import SleighOperand
from isakit.export.sleigh_text import Tables
from isakit.export.text_nodes import field_of
from isakit.lean import dataclass
from isakit.sem.semantics import BINDER, SymbolicBinder
from isakit.sem.trace import Effect, Trace, current, tracing
from isakit.sem.value import Value, concat, const, postorder
from isakit.spec.fields import Bits, Field, subsets
from isakit.spec.parts import Part, bound_value, static_bits
from isakit.spec.record import Form

MOST_BITS = 10
"""Bits that select the behaviour of an instruction, or the location of an operand, up to which all cases are
written."""
_SPLIT_BITS = 3
_UNBOUND = (IsakitError, LookupError, ValueError, TypeError, AttributeError, AssertionError, StopIteration)
"""Exceptions of binding an operand to bits that are not an instruction."""
_FLOW = {"branch": "goto", "bra": "goto", "call": "call", "return": "return", "ret": "return"}


@dataclass(frozen=True)
class _Class:
    """Words in which an operand can be exchanged without changing how it is used.

    `kind`: `operand` with the width that it reads, or another object by its representation; `words`: the static bits.
    """

    kind: tuple[Hashable, ...]
    words: tuple[int, ...]


_Case = tuple[list[int], Mapping[str, _Class], Trace, frozenset[str]]
"""Values of the selecting bits, operands, what is done, operands that are read."""


class _NotExpressible(Exception):
    """Semantics use operands in other ways than reading and writing them."""

    def __init__(self, names: set[str]) -> None:
        self.names = names


class _RecordingOperand:
    """An operand that records where it is read or written."""

    def __init__(self, name: str, actual: Any, touched: dict[tuple[str, str], Any]) -> None:
        self._name, self._actual, self._touched = name, actual, touched
        self._hole: Value | None = None

    def read(self) -> Value:
        """Return the marker value, and note that the operand was read."""
        self._touched[self._name, "read"] = True
        if self._hole is None:
            with tracing():
                width = self._actual.read().width
            self._hole = Value("hole", width, (), self._name)
        return self._hole

    def write(self, value: Value, *args: Any, **facts: Any) -> None:
        """Record that the value was written."""
        when = facts.pop("when", None)
        if args:
            when, *more = args
            if more or not (when is None or isinstance(when, Value)):
                raise NoPcode("a write with further operands")
        current().effects.append(Effect("operand", self._name, (value,), when, tuple(sorted(facts.items()))))

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._actual, name)
        self._touched[self._name, name] = value
        return value


class Meanings:
    """The tables with the behaviour of the instructions of one size."""

    def __init__(self, tables: Tables, machine: PcodeReferences, delay_slots: int) -> None:
        self.tables, self.machine, self.delay_slots = tables, machine, delay_slots
        self._operands: dict[tuple[Hashable, ...], str] = {}
        self._classes: dict[int, list[_Class]] = {}
        self._keep: list[object] = []

    def of(self, form: Form) -> str:
        """Return the name of the table of a form: building it executes the instruction."""
        rows = self._rows(form)
        named = self.machine.operation(f"instruction_{form.mnemonics[0] if form.mnemonics else ''}")
        fallback = self.tables.constructor((), EVERYTHING, body=f"{named}();")
        if not any(cubes == EVERYTHING for cubes, _ in rows):
            rows.append((EVERYTHING, fallback))
        return self.tables.table([text for _, text in rows])

    # --- cases of a form --------------------------------------------------------------------------------------------

    def _rows(self, form: Form) -> list[tuple[Cubes, str]]:
        parts = {n: p for n, p in form.parts.items() if n not in form.control}
        classes: dict[str, list[_Class]] = {}
        selecting = 0
        for name, part in parts.items():
            found = self._classes_of(part)
            if found is None or all(c.kind[0] != "operand" for c in found):
                selecting |= static_bits(part)
            else:
                classes[name] = found
        while True:
            if selecting.bit_count() > MOST_BITS or form.record is None or form.record.semantics is None:
                return []
            try:
                cases = self._cases(form, parts, classes, selecting)
                break
            except _NotExpressible as e:  # stand-ins will not do for these operands
                for name in e.names:
                    selecting |= static_bits(parts[name])
                    del classes[name]
        rows: list[tuple[Cubes, str]] = []
        for words, chosen, trace, read in cases.values():
            cubes = cubes_of(selecting, words)
            for name, c in chosen.items():
                if len(c.words) < 1 << static_bits(parts[name]).bit_count():
                    cubes = both(cubes, cubes_of(static_bits(parts[name]), c.words))
            try:
                rows.append((cubes, self._constructor(form, cubes, trace, chosen, read)))
            except NoPcode:  # its instruction is a call of an operation
                continue
        return rows

    def _cases(
        self, form: Form, parts: Mapping[str, Part], classes: Mapping[str, Sequence[_Class]], selecting: int
    ) -> dict[tuple[Hashable, ...], _Case]:
        """Return the different meanings of the words of a form, for all values of the bits of `selecting`."""
        cases: dict[tuple[Hashable, ...], _Case] = {}
        for chosen in _products(classes):
            find = _Search(form.fixed.mask | selecting, parts, chosen)
            for static in subsets(selecting):
                start = form.fixed.join(Bits(selecting, static))
                bits = None if start is None else find(start)
                if bits is None:
                    continue
                traced = self._trace(form, bits.value | form.base & ~bits.mask, chosen)
                if traced is None:
                    continue
                trace, read = traced
                key = (canonical(trace.effects), *((n, c.kind) for n, c in chosen.items()))
                cases.setdefault(key, ([], chosen, trace, read))[0].append(static)
        return cases

    def _trace(self, form: Form, word: int, chosen: Mapping[str, _Class]) -> tuple[Trace, frozenset[str]] | None:
        """Return the trace with recording operands and the operands it reads; None if there is no meaning."""
        touched: dict[tuple[str, str], object] = {}
        try:
            bound: dict[str, object] = {}
            for name, part in form.parts.items():
                if name in form.control:
                    continue
                actual = bound_value(part, word, BINDER)
                standing = name in chosen and chosen[name].kind[0] == "operand"
                if standing and isinstance(actual, Value):
                    actual = Value("hole", actual.width, (), name)
                elif standing:
                    actual = _RecordingOperand(name, actual, touched)
                bound[name] = actual
            assert form.record is not None
            assert form.record.semantics is not None
            with tracing() as trace:
                form.record.semantics(**bound, **form.constants)
        except _UNBOUND:
            return None
        looked_into = {part for part, name in touched if name not in ("width", "read")}
        if looked_into:
            raise _NotExpressible(looked_into)
        return trace, frozenset(part for part, name in touched if name == "read")

    def _classes_of(self, part: Part) -> list[_Class] | None:
        """Return the ways in which a part may be bound, None if it depends on too many bits."""
        if id(part) in self._classes:
            return self._classes[id(part)]
        mask = static_bits(part)
        if mask.bit_count() > MOST_BITS:
            return None
        found: dict[tuple[Hashable, ...], list[int]] = {}
        for word in subsets(mask):
            try:
                bound = bound_value(part, word, BINDER)
                if isinstance(bound, Value) and bound.uniform:
                    kind: tuple[Hashable, ...] = ("other", canonical([], [bound]))
                elif hasattr(bound, "read") or hasattr(bound, "write"):
                    with tracing():
                        width = bound.read().width if hasattr(bound, "read") else 0
                    kind = ("operand", width, getattr(bound, "width", None), hasattr(bound, "write"))
                else:
                    kind = ("other", repr(bound))
            except _UNBOUND:
                continue
            found.setdefault(kind, []).append(word)
        out = self._classes[id(part)] = [_Class(k, tuple(w)) for k, w in found.items()]
        self._keep.append(part)
        return out

    # --- constructors -----------------------------------------------------------------------------------------------

    def _constructor(
        self, form: Form, cubes: Cubes, trace: Trace, chosen: Mapping[str, _Class], read: frozenset[str]
    ) -> str:
        seen = set[int]()
        marks = [x for root in _roots(trace) for x in postorder(root, seen) if x.op == "hole"]
        wanted = read | {m.attr for m in marks}
        holes = {n: self._source(form.parts[n], c) for n, c in chosen.items() if n in wanted}
        statements = PcodeStatements(self.tables, self.machine, holes)
        for m in marks:  # an operand may be written before its value is used
            statements.value(m)
        for name in holes:  # reading may have an effect even where the value is not used
            statements.operands[holes[name]] = None
        flow = [e for e in trace.effects if e.kind == "control" and e.name in _FLOW]
        plain = [e for e in trace.effects if e not in flow]
        written: dict[str, None] = {}

        def write(e: Effect, value: str) -> Sequence[str]:
            c = chosen[e.name]
            table = self._destination(form.parts[e.name], c, e.args[0].width, e.attr)
            written[table] = None
            return [f"{self.machine.scratch_of(size_of(e.args[0].width))} = {value};", f"build {table};"]

        statements.run(plain, write)
        for e in flow:
            self._transfer(statements, e)
        body = statements.text()
        return self.tables.constructor((), cubes, hidden=[*statements.operands, *written], body=body)

    def _transfer(self, statements: PcodeStatements, e: Effect) -> None:
        kind = _FLOW[e.name]
        if kind == "return":
            name = statements.fresh(f"{self.machine.operation('return_address')}()", 4)
            statements.lines.append(f"return [{name}];")
            return
        table = self.target(e.args[0])
        statements.operands[table] = None
        statements.lines.append(f"{kind} {table};")

    def target(self, value: Value) -> str:
        """Return the name of the table of a code address that the word decides."""
        action = Actions(self.tables)
        expression = f"{action.expression(value)} + 0"  # a field alone makes the compiler crash
        name = f"{self.tables.prefix}_to{len(self._operands)}"
        row = self.tables.constructor(
            (SleighOperand(name),), EVERYTHING, used=list(action.fields), actions=[f"{name} = {expression};"],
            body=f"export *[ram]:4 {name};",
        )  # fmt: skip
        self._operands["target", len(self._operands)] = name
        return self.tables.table([row])

    def _source(self, part: Part, c: _Class) -> str:
        """Return the name of the table that exports what an operand reads."""

        def body(statements: PcodeStatements, value: Value | None) -> str:
            assert value is not None
            name = statements.value(value)
            if ":" in name:
                name = statements.fresh(name, size_of(value.width))
            return f"{statements.text(name)} export {name};"

        return self._accesses(("source", id(part), c.kind), part, c, lambda operand: operand.read(), body)

    def _destination(self, part: Part, c: _Class, width: int, facts: tuple[tuple[str, object], ...]) -> str:
        """Return the name of the table that writes an operand from the scratch register."""
        value, scratch = Value("hole", width, (), "value"), self.machine.scratch_of(size_of(width))
        return self._accesses(
            ("destination", id(part), c.kind, width, facts), part, c,
            lambda operand: operand.write(value, **dict(facts)), lambda statements, _: statements.text(),
            {"value": scratch},
        )  # fmt: skip

    def _accesses(
        self, key: tuple[Hashable, ...], part: Part, c: _Class, access: Callable[[Any], Value | None],
        body: Callable[[PcodeStatements, Value | None], str], names: dict[str, str] | None = None,
    ) -> str:  # fmt: skip
        """Return the name of the table of all accesses to an operand, selected by the words that make them."""
        if key not in self._operands:
            self._keep.append(part)
            cases: dict[Hashable, tuple[list[int], Trace, Value | None]] = {}
            mask, bound = _bound(part, c)
            for word, operand in bound:
                with tracing() as trace:
                    value = access(operand)
                same = canonical(trace.effects, [] if value is None else [value])
                cases.setdefault(same, ([], trace, value))[0].append(word)
            rows: list[str] = []
            for words, trace, value in cases.values():
                statements = PcodeStatements(self.tables, self.machine, names)
                statements.run(trace.effects)
                text, cubes = body(statements, value), cubes_of(mask, words)
                rows.append(self.tables.constructor((), cubes, hidden=list(statements.operands), body=text))
            self._operands[key] = self.tables.table(rows)
        return self._operands[key]


class Actions:
    """Numbers that the word determines, as expressions of a disassembly action; `fields` are those they need."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.fields: dict[str, None] = {}

    def expression(self, v: Value) -> str:
        """Return the number of a node as an expression."""
        signs = {"add": "+", "sub": "-", "mul": "*", "and": "$and", "or": "$or", "shl": "<<", "lshr": ">>"}
        mask = f"{(1 << v.width) - 1:#x}"
        args = [self.expression(a) for a in v.args]
        if v.op == "const":
            return f"{v.attr:#x}"
        if v.op == "param":
            terms: list[str] = []
            shift = 0
            for low, n in v.attr.slices:
                name = self.tables.field(low, n, kind="v")
                self.fields[name] = None
                terms.append(f"({name} << {shift})" if shift else name)
                shift += n
            return "(" + " $or ".join(terms) + ")"
        if v.op in signs:
            return f"(({args[0]} {signs[v.op]} {args[1]}) $and {mask})"
        if v.op in ("zext",):
            return args[0]
        if v.op == "extract":
            return f"(({args[0]} >> {v.attr}) $and {mask})"
        if v.op == "concat":
            return f"(({args[0]} << {v.args[1].width}) $or {args[1]})"
        raise NoPcode(f"a code address made by {v.op}")


def _roots(trace: Trace) -> Iterable[Value]:
    for e in trace.effects:
        yield from e.args
        if e.when is not None:
            yield e.when


def _products(classes: Mapping[str, Sequence[_Class]]) -> Iterable[dict[str, _Class]]:
    out: list[dict[str, _Class]] = [{}]
    for name, options in classes.items():
        out = [{**d, name: o} for d in out for o in options]
    return out


class _Fixing(SymbolicBinder):
    """Takes the high part of small split fields as known: SLEIGH can choose registers by a field in one piece."""

    def __init__(self, word: int) -> None:
        self.word, self.fixed = word, 0

    def param(self, field: Field) -> Value:
        """Return a field, or its low part below a constant."""
        if field.width - field.slices[0][1] > _SPLIT_BITS or len(field.slices) == 1:
            return super().param(field)
        low, high = Field(field.slices[:1], field.name), Field(field.slices[1:])
        self.fixed |= high.mask
        return concat(const(high.get(self.word), high.width), super().param(low))


def _bound(part: Part, c: _Class) -> tuple[int, list[tuple[int, Any]]]:
    """Return the operand for all bits that select its position; the mask of these comes first."""
    mask = static_bits(part)
    trial = _Fixing(0)
    for word in c.words:
        bound_value(part, word, trial)
    words = [w | more for w in c.words for more in subsets(trial.fixed & ~mask)]
    return mask | trial.fixed, [(w, bound_value(part, w, _Fixing(w))) for w in words]


class _Search:
    """Finds bits of a word in which every operand is of its class, where other bits (`given`) are chosen."""

    def __init__(self, given: int, parts: Mapping[str, Part], chosen: Mapping[str, _Class]) -> None:
        masks = {n: static_bits(parts[n]) for n in chosen}
        self.options: list[tuple[int, list[int]]] = []
        self.shared = 0
        for name, c in chosen.items():  # words that differ in bits of this operand alone are the same here
            shared = given
            for other, mask in masks.items():
                shared |= mask if other != name else 0
            self.shared |= given & masks[name]
            self.options.append((masks[name], list({w & shared: w for w in reversed(c.words)}.values())))
        self._known: dict[int, Bits | None] = {}

    def __call__(self, start: Bits) -> Bits | None:
        """Search for the given bits and return them with those found, None if there are none."""
        key = start.value & self.shared
        if key not in self._known:
            self._known[key] = self._search(Bits(start.mask & self.shared, key), 0)
        found = self._known[key]
        return None if found is None else found.join(start)

    def _search(self, bits: Bits, at: int) -> Bits | None:
        if at == len(self.options):
            return bits
        mask, words = self.options[at]
        for word in words:
            joined = bits.join(Bits(mask, word))
            found = None if joined is None else self._search(joined, at + 1)
            if found is not None:
                return found
        return None


def cubes_of(mask: int, words: Iterable[int]) -> Cubes:
    """Return the words whose masked bits equal those of any of `words`."""
    field = field_of(mask)
    return of_values(mask, [field.get(w) for w in words])
