"""Routines as LLVM code: inside of the function that is being written, or as functions of their own.

Where a record is in memory, and which of its fields the surrounding function holds in variables, is said by a
`Where`. A routine of the surroundings (`External`), and any routine that the surrounding code has a special version
of, is emitted by what `Surroundings.specials` has for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from isakit.engine.llvm.ir_text import Body, LlvmModule, Ref
from isakit.engine.llvm.values import ValueLowering
from isakit.errors import DefinitionError
from isakit.sem.records import RecordField, layout_of
from isakit.sem.routine import Routine
from isakit.sem.routine_code import (
    Do,
    If,
    Let,
    PointAt,
    Raise,
    Return,
    RoutineCode,
    RowArgument,
    Statement,
    Store,
    Translatable,
    While,
    walk,
)  # fmt: skip
from isakit.sem.value import Value

V32 = "<32 x i32>"


class Where(Protocol):
    """Where a record is."""

    def pointer(self, body: Body, within: RecordField) -> str:
        """A pointer to a field."""
        ...

    def whole(self, body: Body) -> str:
        """A pointer to the record, for functions that look at fields that are in memory."""
        ...


@dataclass(frozen=True)
class InMemory:
    """A record at an address; `kept` are fields that are elsewhere: in variables of the surrounding function."""

    address: str
    kept: Mapping[str, str] = field(default_factory=dict[str, str])

    def pointer(self, body: Body, within: RecordField) -> str:
        """See `Where`."""
        if within.name in self.kept:
            return self.kept[within.name]
        return body(f"getelementptr i8, ptr {self.address}, i64 {within.offset}") if within.offset else self.address

    def whole(self, body: Body) -> str:
        """See `Where`."""
        return self.address


Special = Callable[["Lowering", Sequence[Any]], "Ref | None"]
"""Emits what a call does; it may end the block, and then nothing follows the call in the routine."""


@dataclass
class Surroundings:
    """What the code around a routine provides.

    `raising()` ends the block where the routine raises an exception. `variable(type)` gives an alloca. `symbol(code)`
    declares the function of a shared routine and returns its name. `specials`: by routine, see `Special`.
    """

    raising: Callable[[Raise | None], None]
    variable: Callable[[str], str]
    symbol: Callable[[RoutineCode], str]
    specials: Mapping[Any, Special] = field(default_factory=dict[Any, Special])


class Lowering:
    """Writes the statements of one routine at one place.

    `numbers` are values of parameters and locals, `records` where records are, `lanes` vectors of numbers.
    """

    def __init__(self, body: Body, code: RoutineCode, around: Surroundings) -> None:
        self.body, self.code, self.around = body, code, around
        self.numbers: dict[str, Ref] = {}
        self.records: dict[str, Where] = {}
        self.rows: dict[str, str] = {}
        self.lanes: dict[str, str] = {}
        self._variables: dict[str, tuple[str, int]] = {}
        self._returns: list[tuple[str, str]] = []
        self._done = body.fresh("done")
        sets = [s.name for s in walk(code.statements) if isinstance(s, Let | Do) and s.name]
        given = {p.name for p in code.routine.parameters}
        self._several = {n for n in sets if sets.count(n) > 1 or n in given}

    # --- arguments --------------------------------------------------------------------------------------------------
    def give(self, name: str, what: Ref | Where | str) -> None:
        """Set a parameter: a number, a record, the address of a row or the text of a vector."""
        p = next(p for p in self.code.routine.parameters if p.name == name)
        if isinstance(what, Ref):
            low = self._values()
            what = low.resize(what, p.width)
            self.numbers[name] = what
            if name in self._several:
                self._set(name, what)
        elif p.lanes:
            assert isinstance(what, str)
            self.lanes[name] = what
        elif p.row:
            assert isinstance(what, str)
            self.rows[name] = what
        else:
            self.records[name] = InMemory(what) if isinstance(what, str) else what

    def run(self) -> tuple[bool, Ref | None]:
        """Write the statements; returns whether what follows is reached, and the result."""
        match self.code.statements:
            case [Return(value=value)] if value is not None:
                return True, self.value(value)
            case _:
                pass
        falls = self._block(self.code.statements)
        b, width = self.body, self.code.routine.width
        if not self._returns:
            return falls, None
        if falls:
            if width:
                raise DefinitionError(f"{self.code.routine.name} may end without a result")
            self._returns.append((b.current, ""))
            b.do(f"br label %{self._done}")
        b.label(self._done)
        if not width:
            return True, None
        ways = ", ".join(f"[ {value}, %{label} ]" for label, value in self._returns)
        return True, Ref(b(f"phi i{width} {ways}"), width, True)

    # --- statements -------------------------------------------------------------------------------------------------
    def _block(self, statements: list[Statement]) -> bool:
        return all(self._statement(s) for s in statements)

    def _statement(self, s: Statement) -> bool:
        b = self.body
        match s:
            case Let(name, value):
                self._set(name, self.value(value))
            case PointAt(name, base, within, element, index):
                if index is None:
                    assert within is not None
                    self.records[name] = InMemory(self._field(base, within))
                else:
                    self.records[name] = InMemory(self._element(base, within, layout_of(element).size, index))
            case Store(base, within, value, index):
                v = self.value(value)
                p = self._field(base, within) if index is None else self._item(base, within, index)
                b.do(f"store i{v.width} {v.text}, ptr {p}")
            case If():
                return self._if(s)
            case While(before, condition, body):
                head, inside, behind = b.fresh("while"), b.fresh("do"), b.fresh("end")
                self._to(head)
                self._block(before)
                b.do(f"br i1 {self.value(condition).text}, label %{inside}, label %{behind}")
                b.label(inside)
                if self._block(body):
                    b.do(f"br label %{head}")
                b.label(behind)
            case Return(value):
                text = "" if value is None else self.value(value).text
                self._returns.append((b.current, text))
                b.do(f"br label %{self._done}")
                return False
            case Do():
                return self._do(s)
            case Raise():
                self.around.raising(s)
                return False
        return True

    def _to(self, label: str) -> None:
        self.body.do(f"br label %{label}")
        self.body.label(label)

    def _if(self, s: If) -> bool:
        b = self.body
        then, otherwise, behind = b.fresh("then"), b.fresh("else"), b.fresh("fi")
        b.do(f"br i1 {self.value(s.condition).text}, label %{then}, label %{otherwise if s.otherwise else behind}")
        falls = not s.otherwise
        for label, statements in ((then, s.then), (otherwise, s.otherwise)):
            if label == otherwise and not statements:
                continue
            b.label(label)
            if self._block(statements):
                falls = True
                b.do(f"br label %{behind}")
        if falls:
            b.label(behind)
        return falls

    def _set(self, name: str, r: Ref) -> None:
        if name not in self._several:
            self.numbers[name] = r
            return
        if name not in self._variables:
            self._variables[name] = self.around.variable(f"i{r.width}"), r.width
        self.body.do(f"store i{r.width} {r.text}, ptr {self._variables[name][0]}")

    def _do(self, s: Do) -> bool:
        special = self.around.specials.get(s.callee)
        if special is None and not isinstance(s.callee, Translatable):
            raise DefinitionError(f"nothing says what {s.callee.name} is here")
        if special is not None:
            got = special(self, [self._argument(a) for a in s.arguments])
            if got is None and not s.callee.width and self._ended():
                return False
        else:
            assert isinstance(s.callee, Translatable)
            code = s.callee.code(**s.statics)
            falls, got = self._call(s, code) if s.callee.shared else self._inline(s, code)
            if not falls:
                return False
        if s.name is not None:
            assert got is not None
            self._set(s.name, got)
        return True

    def _ended(self) -> bool:
        """Whether the block has been ended."""
        return self.body.lines[-1].lstrip().startswith(("br ", "ret ", "switch ", "unreachable"))

    def _argument(self, a: Any) -> Any:
        match a:
            case Value():
                return self.value(a)
            case RowArgument(base, within):
                return self._row(base, within)
            case str() if a in self.lanes:
                return self.lanes[a]
            case _:
                return self.records[a]

    def _inline(self, s: Do, code: RoutineCode) -> tuple[bool, Ref | None]:
        inner = Lowering(self.body, code, self.around)
        for p, a in zip(code.routine.parameters, s.arguments, strict=True):
            inner.give(p.name, self._argument(a))
        return inner.run()

    def _call(self, s: Do, code: RoutineCode) -> tuple[bool, Ref | None]:
        given: list[str] = []
        for p, a in zip(code.routine.parameters, s.arguments, strict=True):
            what = self._argument(a)
            if isinstance(what, Ref):
                given.append(f"i{p.width} {self._values().resize(what, p.width).text}")
            elif p.lanes:
                given.append(f"{V32} {what}")
            else:
                given.append(f"ptr {what if isinstance(what, str) else what.whole(self.body)}")
        return True, call(self.body, self.around, code, given)

    # --- places -----------------------------------------------------------------------------------------------------
    def _field(self, base: str, within: RecordField) -> str:
        return self.records[base].pointer(self.body, within)

    def _row(self, base: str, within: RecordField | None) -> str:
        """The address of the first element."""
        if within is None:
            return self.rows[base]
        p = self._field(base, within)
        assert within.many is not None
        return self.body(f"load ptr, ptr {p}") if within.many.behind else p

    def _element(self, base: str, within: RecordField | None, size: int, index: Value) -> str:
        b, low = self.body, self._values()
        start = self._row(base, within)
        at = low.resize(self.value(index), 64)
        stride = low.constant(size, 64)
        if within is not None and within.many is not None and within.many.stride:
            record = self.records[base]
            assert isinstance(record, InMemory)
            p = record.pointer(b, self._sibling(base, within.many.stride))
            stride = Ref(b(f"load i64, ptr {p}"), 64, True)
        if at.text.lstrip("-").isdigit() and not stride.text.startswith("%"):
            return b(f"getelementptr i8, ptr {start}, i64 {int(at.text) * int(stride.text)}")
        return b(f"getelementptr i8, ptr {start}, i64 {low.op('mul', at, stride).text}")

    def _sibling(self, base: str, name: str) -> RecordField:
        p = next(p for p in self.code.routine.parameters if p.name == base)
        assert p.record is not None
        return layout_of(p.record)[name]

    def _item(self, base: str, within: RecordField, index: Value) -> str:
        at = self._values().resize(self.value(index), 64).text
        return self.body(f"getelementptr i{within.width}, ptr {self._row(base, within)}, i64 {at}")

    # --- expressions ------------------------------------------------------------------------------------------------
    def _values(self) -> ValueLowering:
        return ValueLowering(self.body, self._leaf, {})

    def value(self, v: Value) -> Ref:
        """A value as it is now."""
        return self._values().value(v)

    def _leaf(self, n: Value) -> Ref:
        b = self.body
        match n.op:
            case "local":
                if n.attr in self._variables:
                    name, width = self._variables[n.attr]
                    return Ref(b(f"load i{width}, ptr {name}"), width, True)
                return self.numbers[n.attr]
            case "field":
                return Ref(b(f"load i{n.width}, ptr {self._field(*n.attr)}"), n.width, True)
            case "item":
                base, within = n.attr
                p = self._item(base, within, n.args[0])
                return Ref(b(f"load i{n.width}, ptr {p}"), n.width, True)
            case "lane":
                at = self.value(n.args[0])
                return Ref(b(f"extractelement {V32} {self.lanes[n.attr]}, i32 {at.text}"), 32, True)
            case "matching":
                low = self._values()
                number = low.splat(self.value(n.args[0])).text
                hits = b(f"icmp eq {V32} {self.lanes[n.attr]}, {number}")
                return Ref(b(f"bitcast <32 x i1> {hits} to i32"), 32, True)
            case _:
                raise AssertionError(n.op)


def emit(
    body: Body, around: Surroundings, routine: Routine[Any, Any], given: Mapping[str, Any], **statics: Any
) -> tuple[bool, Ref | None]:
    """Write a routine here; returns whether what follows is reached, and the result. A shared one is called."""
    code = routine.code(**statics)
    if routine.shared:
        listed: list[str] = []
        for p in routine.parameters:
            what = given[p.name]
            if isinstance(what, Ref):
                listed.append(f"i{p.width} {what.text}")
            else:
                whole = what if isinstance(what, str) else what.whole(body)
                listed.append(f"{V32 if p.lanes else 'ptr'} {whole}")
        return True, call(body, around, code, listed)
    low = Lowering(body, code, around)
    for name, what in given.items():
        low.give(name, what)
    return low.run()


def expression(low: ValueLowering, routine: Routine[Any, Any], given: Mapping[str, Ref], **statics: Any) -> Ref:
    """A routine that only computes something, on numbers or on one number per lane."""
    statements = routine.code(**statics).statements
    result = statements[0]
    if len(statements) != 1 or not isinstance(result, Return) or result.value is None:
        raise DefinitionError(f"{routine.name} does more than compute a value")
    inner = ValueLowering(low.body, lambda n: given[n.attr], {})
    return inner.value(result.value)


# --- functions of their own -------------------------------------------------------------------------------------------
def result_type(code: RoutineCode) -> str:
    """What the function of a routine returns: its result, and whether it has raised if it may raise."""
    width = code.routine.width
    if code.raises:
        return f"{{i{width}, i1}}" if width else "i1"
    return f"i{width}" if width else "void"


def signature(code: RoutineCode) -> str:
    """The type of its function, as for `LlvmModule.declare`."""
    types = [V32 if p.lanes else f"i{p.width}" if p.width else "ptr" for p in code.routine.parameters]
    return f"{result_type(code)} @({', '.join(types)})"


def call(body: Body, around: Surroundings, code: RoutineCode, arguments: Sequence[str]) -> Ref | None:
    """Call the function of a routine, and raise where it has raised."""
    b, width = body, code.routine.width
    text = f"call {result_type(code)} {around.symbol(code)}({', '.join(arguments)})"
    if not code.raises:
        if not width:
            b.do(text)
            return None
        return Ref(b(text), width, True)
    got = b(text)
    raised = got if not width else b(f"extractvalue {result_type(code)} {got}, 1")
    bad, good = b.fresh("raised"), b.fresh("on")
    b.do(f"br i1 {raised}, label %{bad}, label %{good}, !prof !0")
    b.label(bad)
    around.raising(None)
    b.label(good)
    return Ref(b(f"extractvalue {result_type(code)} {got}, 0"), width, True) if width else None


def function(
    module: LlvmModule, code: RoutineCode, name: str, around: Surroundings, refuse: Callable[[Body], None] | None = None
) -> str:
    """The text of the function `name` of a routine. Of `around` only `symbol` and `specials` are used.

    `refuse` ends a block where the routine raises; the function then returns a result and nothing else.
    """
    b = Body(module)
    width = code.routine.width
    pair = code.raises and refuse is None
    ty = result_type(code) if pair else f"i{width}" if width else "void"
    allocas: list[str] = []

    def variable(kind: str) -> str:
        made = f"%v{len(allocas)}"
        allocas.append(f"  {made} = alloca {kind}")
        return made

    def raising(s: Raise | None) -> None:
        if refuse is not None:
            refuse(b)
        else:
            b.do("ret i1 true" if not width else f"ret {ty} {{i{width} 0, i1 true}}")

    b.label("start")
    low = Lowering(b, code, Surroundings(raising, variable, around.symbol, around.specials))
    listed: list[str] = []
    for p in code.routine.parameters:
        if p.lanes:
            listed.append(f"{V32} %{p.name}")
            low.give(p.name, f"%{p.name}")
        elif p.width:
            listed.append(f"i{p.width} %{p.name}")
            low.give(p.name, Ref(f"%{p.name}", p.width, True))
        else:
            listed.append(f"ptr %{p.name}")
            low.give(p.name, f"%{p.name}")
    falls, got = low.run()
    if falls:
        if not pair:
            b.do("ret void" if got is None else f"ret i{width} {got.text}")
        elif got is None:
            b.do("ret i1 false")
        else:
            both = b(f"insertvalue {ty} zeroinitializer, i{width} {got.text}, 0")
            b.do(f"ret {ty} {both}")
    lines = "\n".join([*allocas, "  br label %start"])
    return f"define {ty} {name}({', '.join(listed)}) nounwind noinline {{\nentry:\n{lines}\n{b.text()}\n}}"


__all__ = [
    "InMemory",
    "Lowering",
    "Special",
    "Surroundings",
    "Where",
    "call",
    "emit",
    "expression",
    "function",
    "signature",
]
