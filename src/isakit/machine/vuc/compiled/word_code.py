"""One instruction word as IR: what it checks, computes and leaves behind in its cycle."""

from __future__ import annotations

from dataclasses import dataclass

from isakit.arch.vuc.memory_operands import CODE_SIZE
from isakit.engine.graph import postorder
from isakit.engine.llvm import Body, Ref, ValueLowering
from isakit.machine.vuc.compiled import shared_state as at
from isakit.machine.vuc.compiled.state_access import CSTOP, SCALAR_REGISTERS, Frame, landable, readable
from isakit.machine.vuc.core_code import Op, trace_word
from isakit.machine.vuc.core_memory import D_CELLS
from isakit.machine.vuc.queue_entries import ACCUMULATOR, LONG_VIEW, REGISTER, SPECIAL
from isakit.machine.vuc.special_registers import STACK_SIZE
from isakit.sem import Trace, Value
from isakit.sem.trace import Effect

MASK = CODE_SIZE - 1


@dataclass(frozen=True)
class Traits:
    """What compiled code must know of a core: variant, options, read-only registers, whether $pred is ever read."""

    variant: str
    features: frozenset[str]
    signed_relative: bool
    return_offset: int
    read_only: frozenset[int]
    shows_predicates: bool


def _absent(e: Effect) -> bool:
    return e.when is not None and e.when.op == "const" and not e.when.attr


def effects_of(trace: Trace) -> list[Effect]:
    """The effects without those whose condition is never true."""
    return [e for e in trace.effects if not _absent(e)]


def compilable(trace: Trace, traits: Traits) -> bool:
    """Whether compiled code can do an instruction; else the reference core does it."""
    effects = effects_of(trace)
    stack = sum(_uses_stack(e) for e in effects)
    if stack > 1 or not all(_known(e, traits) for e in effects):
        return False
    done: dict[int, Ref] = {}
    for root in (v for e in effects for v in (*e.args, e.when) if v is not None):
        for v in postorder(root, done):
            if v.op == "machine" and not _knows_machine(v, traits):
                return False
            if v.op in ("param", "atomic"):
                return False
    return True


def _uses_stack(e: Effect) -> bool:
    if e.kind == "control":
        return e.name in ("call", "return")
    return e.name == "sr" and e.args[0].number == CSTOP


def _knows_machine(v: Value, traits: Traits) -> bool:
    if v.attr[0] == "submbtype":
        return True
    return v.attr[0] == "peek" and readable(v.args[0].number, traits.features)


def _known(e: Effect, traits: Traits) -> bool:
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
    return constant or (e.name in ("r", "p") and not _late(e))


def _late(e: Effect) -> bool:
    return bool(e.get("delayed")) or (e.get("latency") or 0) > 1


class Word:
    """Writes the block of one instruction word."""

    def __init__(self, body: Body, op: Op, word: int, traits: Traits) -> None:
        self.b, self.op, self.traits = body, op, traits
        self.f = Frame(body)
        form = op.instruction.form
        assert form is not None
        self.trace = trace_word(form, word)
        self.values = ValueLowering(body, self._leaf, {})
        self.cycle = self.pc = self.predicates = ""

    def emit(self, label: str) -> None:
        """The block and what hangs on it; ends at `%next` with target, kept and own set, or at `%exit`."""
        b, f = self.b, self.f
        b.label(label)
        self.cycle, self.pc = b("load i64, ptr %cycle_at"), b("load i64, ptr %pc_at")
        self.predicates = f.get(at.P)
        behind = b("load i64, ptr %npc_at")
        target = f.op("and", f.op("add", behind, 1), MASK)
        if self.op.relative is not None:
            number, negated, distance = self.op.relative
            if self.traits.signed_relative and distance >= 32:
                distance -= 64
            away = f.op("and", f.op("add", self.pc, distance), MASK)
            target = b(f"select i1 {self._bit(number, negated)}, i64 {away}, i64 {target}")
        if self.op.guard >= 0:
            act, skip = b.fresh("act"), b.fresh("skip")
            b.do(f"br i1 {self._bit(self.op.guard)}, label %{act}, label %{skip}")
            b.label(skip)
            self._leave(target, 0, 0)
            b.label(act)
        self._execute(target)

    def _bit(self, number: int, negated: bool = False) -> str:
        bit = self.b(f"trunc i64 {self.f.op('lshr', self.predicates, number)} to i1")
        return self.b(f"xor i1 {bit}, true") if negated else bit

    def _leave(self, target: str, kept: int, own: int) -> None:
        for slot, value in (("target", target), ("kept", kept), ("own", own)):
            self.b.do(f"store i64 {value}, ptr %{slot}_at")
        self.b.do("br label %next")

    def _require(self, condition: str) -> None:
        """Leave the cycle to the reference core unless the condition holds; nothing has been changed yet."""
        good = self.b.fresh("good")
        self.b.do(f"br i1 {condition}, label %{good}, label %exit")
        self.b.label(good)

    # --- values ---------------------------------------------------------------------------------------
    def _leaf(self, v: Value) -> Ref:
        f = self.f
        if v.op == "read":
            n = v.args[0].number
            if v.attr == "r":
                return f.narrow(f.get(at.R + n), v.width)
            if v.attr == "p":
                return Ref(self._bit(n), 1, True)
            return f.narrow(f.get(at.ACC), v.width)
        if v.attr[0] == "submbtype":
            return f.narrow(f.get(at.SCALARS + len(SCALAR_REGISTERS) - 1), v.width)
        return f.narrow(f.special(v.args[0].number, self.cycle, self.pc), v.width)

    def _address(self, v: Value) -> str:
        """The address of a cell; beyond D[] the reference core takes over."""
        ref = self.values.value(v)
        wide = self.f.widen(ref)
        self._require(self.b(f"icmp ult i64 {wide}, {D_CELLS}"))
        return self.b(f"getelementptr i16, ptr %d, i64 {wide}")

    # --- effects --------------------------------------------------------------------------------------
    def _execute(self, target: str) -> None:
        b, f, op = self.b, self.f, self.op
        effects = effects_of(self.trace)
        depth = f.get(at.DEPTH) if any(_uses_stack(e) for e in effects) else ""
        places: dict[int, str] = {}
        for e in effects:  # reads and checks first: a check may hand the whole cycle to the reference core
            if e.kind == "load":
                assert e.result is not None
                self.values.define(e.result, self._load(e, depth))
            elif e.kind == "store":
                places[id(e)] = self._address(e.args[0])
            elif e.kind == "control" and e.name == "return":
                self._require(b(f"icmp sgt i64 {depth}, 0"))
            elif (e.kind == "control" and e.name == "call") or (e.kind == "write" and _uses_stack(e)):
                self._require(b(f"icmp slt i64 {depth}, {STACK_SIZE}"))
            elif e.kind == "write" and e.name == "acc":
                self._require(b(f"icmp sle i64 {f.get(at.LONG_LANDS)}, {self.cycle}"))
        ready = [(e, self._value(e), self._when(e)) for e in effects]
        if op.predicates and self.traits.shows_predicates:
            f.put(at.BEFORE, self.predicates)
            f.put(at.BEFORE_CYCLE, self.cycle)
        for e, value, when in ready:
            if e.kind == "load":
                if _uses_stack(e):
                    f.put(at.DEPTH, f.op("sub", depth, 1))
            elif e.kind == "store":
                b.do(f"store i16 {value}, ptr {places[id(e)]}")
                f.put(at.STORED, 1)
            elif e.kind == "control":
                target = self._jump(e, value, depth)
            elif e.name in ("r", "p") and not _late(e):
                self._write(e, value, when)
            else:
                self._write_later(e, value, depth)
        self._leave(target, sum(1 << n for n in op.registers), op.predicates)

    def _load(self, e: Effect, depth: str) -> Ref:
        if e.name == "D":
            return Ref(self.b(f"load i16, ptr {self._address(e.args[0])}"), 16, True)
        n = e.args[0].number
        if n != CSTOP:
            return self.f.narrow(self.f.special(n, self.cycle, self.pc), 16)
        self._require(self.b(f"icmp sgt i64 {depth}, 0"))
        return self.f.narrow(self.f.get(self.f.op("add", depth, at.STACK - 1)), 16)

    def _value(self, e: Effect) -> str:
        """The value an effect writes, as i64; a cell as i16."""
        if e.kind == "load" or not e.args:
            return ""
        ref = self.values.value(e.args[-1])
        return ref.text if e.kind == "store" else self.f.widen(ref)

    def _when(self, e: Effect) -> str:
        return "" if e.when is None or e.when.op == "const" else self.values.value(e.when).text

    def _write(self, e: Effect, value: str, when: str) -> None:
        f, n = self.f, e.args[0].number
        if e.name == "r":
            if when:
                value = self.b(f"select i1 {when}, i64 {value}, i64 {f.get(at.R + n)}")
            f.put(at.R + n, value)
            return
        old = f.get(at.P)
        new = f.op("or", f.op("and", old, 0xFFFF & ~(1 << n)), f.op("shl", value, n))
        f.put(at.P, self.b(f"select i1 {when}, i64 {new}, i64 {old}") if when else new)

    def _jump(self, e: Effect, value: str, depth: str) -> str:
        f = self.f
        if e.name == "return":
            top = f.get(f.op("add", depth, at.STACK - 1))
            f.put(at.DEPTH, f.op("sub", depth, 1))
            return f.op("and", top, MASK)
        if e.name == "call":
            back = f.op("and", f.op("add", self.pc, self.traits.return_offset), MASK)
            self._push_stack(back, depth)
        return value

    def _push_stack(self, value: str, depth: str) -> None:
        self.f.put(self.f.op("add", depth, at.STACK), value)
        self.f.put(at.DEPTH, self.f.op("add", depth, 1))

    def _write_later(self, e: Effect, value: str, depth: str) -> None:
        f, latency = self.f, int(e.get("latency"))
        lands, n = f.op("add", self.cycle, latency), e.args[0].number
        if e.name == "r":
            self._push(lands, lands, REGISTER, n, value)
        elif e.name == "sr" and n == CSTOP:
            self._push_stack(value, depth)
        elif e.name == "sr":
            self._push(f.op("add", lands, 1), lands, SPECIAL, n, value)
        else:
            f.put(at.LONG_LANDS, lands)
            f.put(at.LONG_SERIAL, f.op("add", f.get(at.SERIAL), 1))
            self._push(lands, lands, ACCUMULATOR, 0, value)
            self._push(f.op("add", lands, 1), lands, LONG_VIEW, 0, value)

    def _push(self, visible: str, lands: str, kind: int, index: int, value: str) -> None:
        listed = ", ".join(f"i64 {x}" for x in (visible, lands, kind, index, value, self.pc))
        self.b.do(f"call void @push(ptr %s, {listed})")
