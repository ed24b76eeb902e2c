"""One instruction word as IR: its checks, its computation, and the effects on its cycle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isakit.arch.vuc.registers import special_names
from isakit.engine.llvm import Builder, Ref, ValueLowering
from isakit.engine.llvm.builder import I1, I16, I32, IrType, integer, pointer
from isakit.engine.llvm.routine_ir import NOTHING, InlineSite, RecordStorage, emit
from isakit.machine.vuc.compiled.core_functions import LAYOUT
from isakit.machine.vuc.core_code import CoreOp, trace_word
from isakit.machine.vuc.core_memory import D_CELLS
from isakit.machine.vuc.options import Options
from isakit.machine.vuc.rules import cycle, flow, specials, writes
from isakit.machine.vuc.rules.specials import CSTOP, H2V, MBFLAGS, OUTSIDE, SUBMBTYPE
from isakit.sem import Trace, Value
from isakit.sem.routine import AnyRoutine
from isakit.sem.trace import Effect, values_of

STATE, DATA = pointer("%s"), pointer("%d")
"""Parameters of the function: the core, and D[]."""


@dataclass(frozen=True)
class CodeOptions:
    """The options that affect the code. The names are those of `Options`."""

    signed_relative: bool
    return_offset: int
    full_stack: str
    empty_stack: str

    @classmethod
    def of(cls, options: Options) -> CodeOptions:
        """Return the part of `options` that affects the code."""
        return cls(options.signed_relative, options.return_offset, options.full_stack, options.empty_stack)


@dataclass(frozen=True)
class CoreConfig:
    """Properties of a core that compiled code depends on: variant, options, read-only registers, use of $pred."""

    variant: str
    features: frozenset[str]
    answers: CodeOptions
    read_only: frozenset[int]
    shows_predicates: bool


def readable(n: int, features: frozenset[str]) -> bool:
    """Return whether compiled code can read a special register itself: it has a name and no side effects."""
    return n not in (H2V, MBFLAGS, CSTOP) and not special_names(features)[n].startswith("$sr")


def landable(n: int, features: frozenset[str], read_only: frozenset[int]) -> bool:
    """Return whether compiled code may write a special register itself: nothing outside of the core depends on it."""
    return n not in read_only and n not in OUTSIDE and readable(n, features)


def _absent(e: Effect) -> bool:
    return e.when is not None and e.when.op == "const" and not e.when.attr


def effects_of(trace: Trace) -> list[Effect]:
    """Return the effects without those whose condition is never true."""
    return [e for e in trace.effects if not _absent(e)]


def compilable(trace: Trace, traits: CoreConfig) -> bool:
    """Return whether an instruction can be compiled; else the reference core executes it."""
    effects = effects_of(trace)
    stack = sum(map(_uses_stack, effects))
    late = stack + any(e.name == "acc" for e in effects) + any(e.name == "D" for e in effects)
    if stack > 1 or (stack and late > 1) or not all(_known(e, traits) for e in effects):
        return False
    return all(
        v.op not in ("param", "atomic") and (v.op != "machine" or _knows_machine(v, traits)) for v in values_of(effects)
    )


def _uses_stack(e: Effect) -> bool:
    if e.kind == "control":
        return e.name in ("call", "return")
    return e.name == "sr" and e.args[0].number == CSTOP


def _knows_machine(v: Value, traits: CoreConfig) -> bool:
    if v.attr[0] == "submbtype":
        return True
    return v.attr[0] == "peek" and readable(v.args[0].number, traits.features)


def _known(e: Effect, traits: CoreConfig) -> bool:
    constant = e.when is None or e.when.op == "const"
    if e.kind == "control":
        return e.name in ("branch", "call", "return")
    if e.kind == "load" and constant:
        return e.name == "D" or (
            e.name == "sr" and (e.args[0].number == CSTOP or readable(e.args[0].number, traits.features))
        )
    if e.kind == "store" and constant:
        return e.name == "D"
    if e.kind != "write":
        return False
    if e.name == "sr":
        n = e.args[0].number
        return constant and (n == CSTOP or landable(n, traits.features, traits.read_only))
    return constant or (e.name in ("r", "p") and not e.lands_later)


class WordWriter:
    """Writes the block of one instruction word.

    A rule that raises leaves the cycle to the reference core, so nothing may change before it: an instruction has at
    most one such rule, and it comes first.
    """

    def __init__(
        self, body: Builder, op: CoreOp, word: int, traits: CoreConfig, core: RecordStorage, around: InlineSite
    ) -> None:
        self.b, self.op, self.traits, self.core, self.around = body, op, traits, core, around
        form = op.instruction.form
        assert form is not None
        self.trace = trace_word(form, word)
        self.values = ValueLowering(body, self._leaf, {})
        self.given: dict[str, Any] = {"options": traits.answers, "vp2": traits.variant == "vp2"}

    def emit(self, label: str) -> None:
        """Emit the block of the word; it ends at `%next` with kept and own set, or at `%exit`."""
        b, op = self.b, self.op
        b.label(label)
        self._rule(cycle.begin)
        if op.relative is not None:
            number, negated, distance = op.relative
            self._rule(flow.relative, number=number, negated=negated, distance=distance)
        if op.guard >= 0:
            act, skip = b.fresh("act"), b.fresh("skip")
            b.branch(self._predicate(op.guard), act, skip)
            b.label(skip)
            self._leave(0, 0)
            b.label(act)
        self._execute()
        self._leave(op.kept, op.predicates)

    def _rule(self, rule: AnyRoutine, **given: Any) -> Ref:
        """Inline a rule: its static arguments by name, then numbers, which may be constants."""
        all_of = self.given | given
        numbers = {p.name: all_of[p.name] for p in rule.parameters if p.width}
        refs = {
            p.name: x if isinstance(x := numbers[p.name], Ref) else self.values.constant(int(x), p.width)
            for p in rule.parameters
            if p.width
        }
        statics = {n: all_of[n] for n in rule.statics}
        return emit(self.b, self.around, rule, {"core": self.core, **refs}, **statics)

    def _leave(self, kept: int, own: int) -> None:
        for name, value in (("kept", kept), ("own", own)):
            self.b.store(I32(value), pointer(f"%{name}_at"))
        self.b.jump("next")

    def _require(self, condition: Ref) -> None:
        """Leave the cycle to the reference core unless the condition holds; nothing has changed yet."""
        good = self.b.fresh("good")
        self.b.branch(condition, good, "exit")
        self.b.label(good)

    # --- values ---------------------------------------------------------------------------------------
    def _place(self, file: str, number: int) -> tuple[Ref, IrType]:
        """Return the address of a register, and its type."""
        f = LAYOUT[_FIELDS[file]]
        return self.b.offset(self.core.address, f.offset + number * f.width // 8), integer(f.width)

    def _register(self, file: str, number: int) -> Ref:
        place, type = self._place(file, number)
        return self.b.load(type, place)

    def _predicate(self, number: int) -> Ref:
        return self.b.trunc(self._register("p", number), I1)

    def _leaf(self, v: Value) -> Ref:
        n = SUBMBTYPE if v.op == "machine" and v.attr[0] == "submbtype" else v.args[0].number
        if v.op != "read":
            return self.values.resize(self._rule(specials.special, number=n, vp2=True), v.width)
        if v.attr == "p":
            return self._predicate(n)
        return self._register(v.attr, n)

    def _address(self, v: Value) -> Ref:
        """Return the address of a cell; for one outside of D[] the reference core takes over."""
        wide = self.values.resize(self.values.value(v), 64)
        self._require(self.b.ult(wide, D_CELLS))
        return self.b.element(I16, DATA, wide)

    # --- effects --------------------------------------------------------------------------------------
    def _execute(self) -> None:
        b, op = self.b, self.op
        effects = effects_of(self.trace)
        places: dict[int, Ref] = {}
        for e in effects:  # reads and checks of addresses first
            if e.kind == "load":
                assert e.result is not None
                self.values.define(e.result, self._load(e))
            elif e.kind == "store":
                places[id(e)] = self._address(e.args[0])
        ready = [(e, self._value(e), self._when(e)) for e in effects if e.kind != "load"]
        ready.sort(key=lambda x: not _may_leave(x[0]))
        remembers = bool(op.predicates) and self.traits.shows_predicates
        for e, value, when in ready:
            if remembers and not _may_leave(e):
                self._rule(specials.remember_predicates)
                remembers = False
            if e.kind == "store":
                b.store(value, places[id(e)])
                b.store(I16(1), b.element(I16, DATA, D_CELLS))
            elif e.kind == "control":
                self._rule(_JUMPS[e.name], target=value)
            elif e.name in ("r", "p") and not e.lands_later:
                self._write(e, value, when)
            else:
                self._rule(_LATE[e.name], index=e.args[0].number, value=value, latency=int(e.get("latency")))

    def _load(self, e: Effect) -> Ref:
        if e.name == "D":
            return self.b.load(I16, self._address(e.args[0]))
        n = e.args[0].number
        got = self._rule(flow.pop_call) if n == CSTOP else self._rule(specials.special, number=n)
        return self.values.resize(got, 16)

    def _value(self, e: Effect) -> Ref:
        """Return the value that an effect writes."""
        return self.values.value(e.args[-1]) if e.args else NOTHING

    def _when(self, e: Effect) -> Ref | None:
        return None if e.when is None or e.when.op == "const" else self.values.value(e.when)

    def _write(self, e: Effect, value: Ref, when: Ref | None) -> None:
        b = self.b
        place, type = self._place(e.name, e.args[0].number)
        value = self.values.resize(value, type.width)
        b.store(value if when is None else b.select(when, value, b.load(type, place)), place)


def _may_leave(e: Effect) -> bool:
    """Return whether the rule of an effect may raise."""
    return _uses_stack(e) or (e.kind == "write" and e.name == "acc")


_FIELDS = {"r": "gpr", "p": "pred", "acc": "accumulator"}
"""The fields of `CoreRecord` that hold the register files."""
_JUMPS = {"branch": flow.branch, "call": flow.call, "return": flow.ret}
_LATE = {"r": writes.write_register, "sr": writes.write_special, "acc": writes.write_long}
