"""Routines as LLVM code: inlined into the function that is being written, or as separate functions.

A `RecordStorage` holds the address of a record in memory and those of its fields that the surrounding function keeps in
variables. An external routine (`External`), and any routine of which the surrounding code has a special version, is
emitted by its entry in `InlineSite.specials`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from isakit.engine.llvm.builder import (
    I1,
    I32,
    I64,
    PTR,
    RARELY,
    VOID,
    Builder,
    IrFunction,
    IrType,
    Ref,
    define,
    integer,
    structure,
    vector,
)  # fmt: skip
from isakit.engine.llvm.ir_text import LlvmModule
from isakit.engine.llvm.values import ValueLowering
from isakit.errors import DefinitionError
from isakit.sem.records import RecordField, layout_of
from isakit.sem.routine import AnyRoutine
from isakit.sem.routine_code import (
    Assign,
    Callee,
    CallStatement,
    If,
    PointAt,
    RaiseStatement,
    Return,
    RoutineArgument,
    RoutineCode,
    RoutineParameter,
    RowArgument,
    Statement,
    Store,
    Translatable,
    While,
    walk,
)  # fmt: skip
from isakit.sem.value import Value

V32 = vector(32, I32)
NOTHING = Ref("", VOID)
"""The result of a routine that has none."""


@dataclass(frozen=True)
class RecordStorage:
    """A record in memory; `kept` are fields that are elsewhere: in variables of the surrounding function."""

    address: Ref
    kept: Mapping[str, Ref] = field(default_factory=dict[str, Ref])

    def pointer(self, body: Builder, within: RecordField) -> Ref:
        """Return a pointer to a field."""
        if within.name in self.kept:
            return self.kept[within.name]
        return body.offset(self.address, within.offset) if within.offset else self.address


@dataclass(frozen=True)
class CallArguments:
    """The arguments of a call in a routine, by position."""

    values: Sequence[Ref | RecordStorage]

    def number(self, k: int) -> Ref:
        """Return an argument that is a number, a vector of one for each lane, or the address of a row."""
        value = self.values[k]
        assert isinstance(value, Ref)
        return value

    def record(self, k: int) -> RecordStorage:
        """Return an argument that is a record."""
        value = self.values[k]
        assert not isinstance(value, Ref)
        return value


Special = Callable[["Lowering", CallArguments], "Ref | None"]
"""Emits the code of a call; it may end the block, and then nothing follows the call in the routine."""
SpecialCalls = Mapping[Callee, Special]
"""The calls that the compiler emits itself, by the called routine."""


@dataclass
class InlineSite:
    """The code around the point where a routine is inlined.

    `raising(statement)` ends the block where the routine raises. `variable(type)` returns an alloca. `symbol(code)`
    declares the function of a shared routine and returns its name. `specials`: by routine, see `Special`.
    """

    raising: Callable[[RaiseStatement | None], None]
    variable: Callable[[IrType], Ref]
    symbol: Callable[[RoutineCode], str]
    specials: SpecialCalls = field(default_factory=dict[Callee, Special])


def unasked(*_: object) -> NoReturn:
    """Raise an error: `function` must not use this part of a site."""
    raise AssertionError("a function of its own asks nothing of its surroundings")


class Lowering:
    """Emits the statements of one routine at one site.

    `numbers` are values of parameters and locals, `records` the storage of records, `lanes` vectors of numbers.
    """

    def __init__(self, body: Builder, code: RoutineCode, around: InlineSite) -> None:
        self.body, self.code, self.around = body, code, around
        self.numbers: dict[str, Ref] = {}
        self.records: dict[str, RecordStorage] = {}
        self.rows: dict[str, Ref] = {}
        self.lanes: dict[str, Ref] = {}
        self._variables: dict[str, tuple[Ref, IrType]] = {}
        self._returns: list[tuple[str, Ref | None]] = []
        self._done = body.fresh("done")
        sets = [s.name for s in walk(code.statements) if isinstance(s, Assign | CallStatement) and s.name]
        given = {p.name for p in code.routine.parameters}
        self._several = {n for n in sets if sets.count(n) > 1 or n in given}

    # --- arguments --------------------------------------------------------------------------------------------------
    def bind(self, p: RoutineParameter, what: Ref | RecordStorage) -> None:
        """Set a parameter: a number, a vector of one for each lane, a record, or the address of a record or a row."""
        if not isinstance(what, Ref):
            self.records[p.name] = what
        elif p.lanes:
            self.lanes[p.name] = what
        elif p.row:
            self.rows[p.name] = what
        elif what.type is PTR:
            self.records[p.name] = RecordStorage(what)
        else:
            self.numbers[p.name] = what = self._values().resize(what, p.width)
            if p.name in self._several:
                self._set(p.name, what)

    def run(self) -> Ref | None:
        """Emit the statements and return the result; the block stays open if the code after them is reachable."""
        match self.code.statements:
            case [Return(value=value)] if value is not None:
                return self.value(value)
            case _:
                pass
        self._block(self.code.statements)
        if not self._returns:
            return None
        b, width = self.body, self.code.routine.width
        if width and b.is_open:
            raise DefinitionError(f"{self.code.routine.name} may end without a result")
        b.label(self._done)
        return b.phi([(value, label) for label, value in self._returns if value is not None]) if width else None

    # --- statements -------------------------------------------------------------------------------------------------
    def _block(self, statements: list[Statement]) -> None:
        """Write statements up to one after which nothing is reached."""
        for s in statements:
            self._statement(s)
            if not self.body.is_open:
                break

    def _statement(self, s: Statement) -> None:
        b = self.body
        match s:
            case Assign(name, value):
                self._set(name, self.value(value))
            case PointAt(name, base, within, element, index):
                if index is None:
                    assert within is not None
                    self.records[name] = RecordStorage(self._field(base, within))
                else:
                    self.records[name] = RecordStorage(self._element(base, within, layout_of(element).size, index))
            case Store(base, within, value, index):
                v = self.value(value)
                p = self._field(base, within) if index is None else self._item(base, within, index)
                b.store(v, p)
            case If():
                self._if(s)
            case While(before, condition, body):
                head, inside, behind = b.fresh("while"), b.fresh("do"), b.fresh("end")
                b.label(head)
                self._block(before)
                b.branch(self.value(condition), inside, behind)
                b.label(inside)
                self._block(body)
                if b.is_open:
                    b.jump(head)
                b.label(behind)
            case Return(value):
                result = None if value is None else self.value(value)
                self._returns.append((b.current, result))
                b.jump(self._done)
            case CallStatement():
                self._do(s)
            case RaiseStatement():
                self.around.raising(s)

    def _if(self, s: If) -> None:
        b = self.body
        then, otherwise, behind = b.fresh("then"), b.fresh("else"), b.fresh("fi")
        b.branch(self.value(s.condition), then, otherwise if s.otherwise else behind)
        ways = {then: s.then, otherwise: s.otherwise} if s.otherwise else {then: s.then}
        reached = not s.otherwise
        for label, statements in ways.items():
            b.label(label)
            self._block(statements)
            if b.is_open:
                reached = True
                b.jump(behind)
        if reached:
            b.label(behind)

    def _set(self, name: str, r: Ref) -> None:
        if name not in self._several:
            self.numbers[name] = r
            return
        if name not in self._variables:
            self._variables[name] = self.around.variable(r.type), r.type
        self.body.store(r, self._variables[name][0])

    def _do(self, s: CallStatement) -> None:
        special = self.around.specials.get(s.callee)
        if special is None and not isinstance(s.callee, Translatable):
            raise DefinitionError(f"nothing says what {s.callee.name} is here")
        if special is not None:
            got = special(self, CallArguments([self._argument(a) for a in s.arguments]))
        else:
            assert isinstance(s.callee, Translatable)
            code = s.callee.code(**s.statics)
            got = self._call(s, code) if s.callee.shared else self._inline(s, code)
        if s.name is not None and self.body.is_open:
            assert got is not None
            self._set(s.name, got)

    def _argument(self, a: RoutineArgument) -> Ref | RecordStorage:
        match a:
            case Value():
                return self.value(a)
            case RowArgument(base, within):
                return self._row(base, within)
            case str() if a in self.lanes:
                return self.lanes[a]
            case _:
                return self.records[a]

    def _inline(self, s: CallStatement, code: RoutineCode) -> Ref | None:
        inner = Lowering(self.body, code, self.around)
        for p, a in zip(code.routine.parameters, s.arguments, strict=True):
            inner.bind(p, self._argument(a))
        return inner.run()

    def _call(self, s: CallStatement, code: RoutineCode) -> Ref | None:
        given: list[Ref] = []
        for p, a in zip(code.routine.parameters, s.arguments, strict=True):
            what = self._argument(a)
            if not isinstance(what, Ref):
                what = what.address
            given.append(self._values().resize(what, p.width) if p.width and not p.lanes else what)
        return call(self.body, self.around, code, given)

    # --- places -----------------------------------------------------------------------------------------------------
    def _field(self, base: str, within: RecordField) -> Ref:
        return self.records[base].pointer(self.body, within)

    def _row(self, base: str, within: RecordField | None) -> Ref:
        """Return the address of the first element."""
        if within is None:
            return self.rows[base]
        p = self._field(base, within)
        assert within.many is not None
        return self.body.load(PTR, p) if within.many.behind else p

    def _element(self, base: str, within: RecordField | None, size: int, index: Value) -> Ref:
        b, low = self.body, self._values()
        start = self._row(base, within)
        at = low.resize(self.value(index), 64)
        stride = low.constant(size, 64)
        if within is not None and within.many is not None and within.many.stride:
            stride = b.load(I64, self._field(base, self._sibling(base, within.many.stride)))
        if at.text.lstrip("-").isdigit() and not stride.text.startswith("%"):
            return b.offset(start, int(at.text) * int(stride.text))
        return b.offset(start, b.mul(at, stride))

    def _sibling(self, base: str, name: str) -> RecordField:
        p = next(p for p in self.code.routine.parameters if p.name == base)
        assert p.record is not None
        return layout_of(p.record)[name]

    def _item(self, base: str, within: RecordField, index: Value) -> Ref:
        at = self._values().resize(self.value(index), 64)
        return self.body.element(integer(within.width), self._row(base, within), at)

    # --- expressions ------------------------------------------------------------------------------------------------
    def _values(self) -> ValueLowering:
        return ValueLowering(self.body, self._leaf, {})

    def value(self, v: Value) -> Ref:
        """Return the current value of an expression."""
        return self._values().value(v)

    def _leaf(self, n: Value) -> Ref:
        b = self.body
        match n.op:
            case "local":
                if n.attr in self._variables:
                    place, kind = self._variables[n.attr]
                    return b.load(kind, place)
                return self.numbers[n.attr]
            case "field":
                return b.load(integer(n.width), self._field(*n.attr))
            case "item":
                base, within = n.attr
                return b.load(integer(n.width), self._item(base, within, n.args[0]))
            case "lane":
                at = self.value(n.args[0])
                return b.extract(self.lanes[n.attr], at)
            case "matching":
                low = self._values()
                number = low.splat(self.value(n.args[0]))
                return b.bitcast(b.eq(self.lanes[n.attr], number), I32)
            case _:
                raise AssertionError(n.op)


def emit(
    body: Builder, around: InlineSite, routine: AnyRoutine, given: Mapping[str, Ref | RecordStorage], **statics: object
) -> Ref:
    """Write a routine here and return its result or `NOTHING`; a shared one is called. See `Lowering.run`."""
    code = routine.code(**statics)
    if routine.shared:
        wanted = (given[p.name] for p in routine.parameters)
        return call(body, around, code, [x if isinstance(x, Ref) else x.address for x in wanted]) or NOTHING
    low = Lowering(body, code, around)
    for p in routine.parameters:
        low.bind(p, given[p.name])
    return low.run() or NOTHING


def expression(low: ValueLowering, routine: AnyRoutine, given: Mapping[str, Ref], **statics: object) -> Ref:
    """Emit a pure routine, on numbers or on one number per lane; return its result."""
    statements = routine.code(**statics).statements
    result = statements[0]
    if len(statements) != 1 or not isinstance(result, Return) or result.value is None:
        raise DefinitionError(f"{routine.name} does more than compute a value")
    inner = ValueLowering(low.body, lambda n: given[n.attr], {})
    return inner.value(result.value)


# --- functions of their own -------------------------------------------------------------------------------------------
def _result_of(code: RoutineCode) -> IrType:
    """Return the type of a routine's result."""
    return integer(code.routine.width) if code.routine.width else VOID


def result_type(code: RoutineCode) -> IrType:
    """Return the type of a routine's function: its result, and whether it has raised if it may raise."""
    result = _result_of(code)
    if code.raises:
        return I1 if result is VOID else structure(result, I1)
    return result


def _types(code: RoutineCode) -> list[IrType]:
    """Return the types of its parameters."""
    return [V32 if p.lanes else integer(p.width) if p.width else PTR for p in code.routine.parameters]


def function_named(name: str, code: RoutineCode) -> IrFunction:
    """Return the function of a routine, by its name with the @."""
    return IrFunction(name, result_type(code), tuple(_types(code)))


def call(body: Builder, around: InlineSite, code: RoutineCode, arguments: Sequence[Ref]) -> Ref | None:
    """Call the function of a routine and return its result; raise if it has raised."""
    b, width = body, code.routine.width
    f = function_named(around.symbol(code), code)
    if f.result is VOID:
        b.perform(f, *arguments)
        return None
    got = b.call(f, *arguments)
    if not code.raises:
        return got
    raised = b.part(got, 1) if width else got
    with b.if_(raised, "raised", weights=RARELY):
        around.raising(None)
    return b.part(got, 0) if width else None


def function(
    module: LlvmModule, code: RoutineCode, name: str, around: InlineSite,
    refuse: Callable[[Builder], None] | None = None,
) -> str:  # fmt: skip
    """Return the text of the function `name` of a routine. Of `around` only `symbol` and `specials` are used.

    `refuse` ends a block where the routine raises; the function then returns only a result.
    """
    b, entry = Builder(module), Builder(module)
    width = code.routine.width
    pair = code.raises and refuse is None
    result = result_type(code) if pair else _result_of(code)
    entry.label("entry")

    def variable(kind: IrType) -> Ref:
        return entry.alloca(kind, f"%v{len(entry.lines) - 1}")

    def raising(s: RaiseStatement | None) -> None:
        if refuse is not None:
            refuse(b)
        else:
            b.ret(I1(1) if not width else Ref(f"{{i{width} 0, i1 true}}", result))

    b.label("start")
    low = Lowering(b, code, InlineSite(raising, variable, around.symbol, around.specials))
    given = [Ref(f"%{p.name}", t) for p, t in zip(code.routine.parameters, _types(code), strict=True)]
    for p, one in zip(code.routine.parameters, given, strict=True):
        low.bind(p, one)
    got = low.run()
    if b.is_open:
        if not pair:
            b.ret(got)
        elif got is None:
            b.ret(I1(0))
        else:
            b.ret(b.with_part(result.zero, got, 0))
    entry.jump("start")
    return define(name, result, given, entry.lines, b.lines, attributes="nounwind noinline")


__all__ = [
    "NOTHING",
    "InlineSite",
    "Lowering",
    "RecordStorage",
    "Special",
    "call",
    "emit",
    "expression",
    "function",
    "function_named",
    "unasked",
]
