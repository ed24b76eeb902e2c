"""The interpreter's instructions: one function per kind of instruction, from the same lowering as compiled kernels.

`i32 @name(ptr %ctx, ptr %ws, ptr %uop)` executes one instruction of a warp on its state in memory and returns how to
continue (see `NEXT` and the other results). Register numbers, immediates and addresses come from the record `%uop`, so
that one function serves every instruction with the same static bits; `RecordSlots` describes the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isakit.arch.tesla import requests as request
from isakit.engine.graph import Plan
from isakit.engine.llvm import Builder, Host, LlvmModule, Ref, ValueLowering, routine_ir
from isakit.engine.llvm.builder import I32, I64, PTR, RARELY, IrType, define, pointer
from isakit.machine.tesla.analysis.control_flow import NotCompiled, Step
from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.control_transfer import Handler, Transfers
from isakit.machine.tesla.compiled.emit.instruction_code import InstructionCode
from isakit.machine.tesla.compiled.emit.machine_values import MachineValues
from isakit.machine.tesla.compiled.state_layout import ALL, CONTEXT, SLOT, STATE, TRUE, V1, V32
from isakit.machine.tesla.kernel_code import FIXED
from isakit.machine.tesla.launch import MP_FLAGS
from isakit.machine.tesla.rules import accesses, stack
from isakit.machine.tesla.rules.state import InstructionEntry, StepOutcome
from isakit.sem.records import layout_of
from isakit.sem.requests import ControlRequest
from isakit.sem.trace import Effect
from isakit.sem.value import INTEGER_MEANING, Value
from isakit.spec.fields import Field

NEXT, JUMP, UNWIND, STOP, WAIT, COMPLETE, RESUMED, SERVE = (int(t) for t in StepOutcome)
"""Results of the functions."""
INSTRUCTION = layout_of(InstructionEntry)
RECORD, VALUES = INSTRUCTION.size, INSTRUCTION.at("values")
PC, FOLLOWING, TARGET, SITE, RACES = (INSTRUCTION.at(n) for n in ("pc", "following", "target", "site", "races"))
ENTRY = pointer("%uop")
"""The parameter of the functions: the record of the instruction."""
FIRST, BODY = INSTRUCTION.at("first_all"), INSTRUCTION.at("body_all")
MAX_VALUES = (RECORD - VALUES) // 8
HERE, BEHIND, THERE = -1, -2, -3
"""Placeholders for the addresses of an instruction, of the next one, and of the target of a transfer."""
_WHERE = {HERE: PC, BEHIND: FOLLOWING, THERE: TARGET}


Expression = Sequence[Any]
"""A uniform value as plain data: ["const", number, width], ["param", slices, width], [operation, attr, width, args]."""


def expression(v: Value) -> Expression:
    """Return a uniform value as plain data."""
    if v.op == "const":
        return ["const", v.attr, v.width]
    if v.op == "param":
        return ["param", [list(s) for s in v.attr.slices], v.width]
    return [v.op, v.attr, v.width, [expression(a) for a in v.args]]


def number_of(e: Expression, word: int) -> int:
    """Return the value of an expression in an instruction word."""
    if e[0] == "const":
        return int(e[1])
    if e[0] == "param":
        return Field(tuple((low, n) for low, n in e[1])).get(word)
    args = [number_of(a, word) for a in e[3]]
    return INTEGER_MEANING[e[0]](e[2], [a[2] for a in e[3]], e[1], args)


@dataclass(frozen=True)
class RecordSlots:
    """Values of a record: (kind, expression), the kind "param", or "read" or "write" and a register file.

    `sites` counts the accesses of the instruction that cache a buffer.
    """

    values: tuple[tuple[str, Expression], ...]
    sites: int

    def fill(self, word: int, registers: int) -> list[int]:
        """Return the values for an instruction word; registers are offsets in the state of a warp."""
        out: list[int] = []
        for what, e in self.values:
            n = number_of(e, word)
            kind, _, file = what.partition(" ")
            if kind == "param":
                out.append(n)
            elif file == "c":
                out.append(state_layout.flag(n, 0))
            elif (file == "r" and n >= registers) or (file == "a" and n in FIXED):
                out.append(state_layout.ZERO if kind == "read" else state_layout.SINK)
            else:
                out.append(state_layout.register(n, file))
        return out


class HandlerCode(InstructionCode):
    """Generates the functions of one kind of instruction into a module."""

    def __init__(self, module: LlvmModule, host: Host, step: Step, choices: Choices) -> None:
        self._begin(module, host)
        self.choices = choices
        self.transfer, self.values = HandlerTransfers(self), HandlerValues(self)
        op = replace(step.op, pc=HERE, following=BEHIND)
        self.step = replace(step, op=op, target=None if step.target is None else THERE)
        self._positions: dict[str, int] = {}
        self._listed: list[tuple[str, Expression]] = []
        self.block_sizes = {HERE: 1}
        self._elsewhere = RESUMED

    @property
    def slots(self) -> RecordSlots:
        """Return the slots of the record, known when the functions are made."""
        return RecordSlots(tuple(self._listed), self.sites)

    def functions(self, name: str) -> None:
        """Emit `name`_full for 32 active lanes, and `name`_some for fewer."""
        if self.choices.join == "after":  # where lanes of another path go on, the instruction is done already
            self._elsewhere = JUMP
        for suffix in ("full", "some"):
            self.full = suffix == "full"
            self.module.add(self._function(f"{name}_{suffix}", self._whole))

    def _whole(self) -> None:
        if not self.instruction(self.step):
            self.stay(BEHIND)

    def joining(self, name: str) -> None:
        """Emit the function that performs the `join` tail alone."""
        self.full = False
        self.module.add(self._function(name, lambda: self.transfer.join(self.step)))

    def _function(self, name: str, fill: Callable[[], None]) -> str:
        self.body, self.sites = Builder(self.module), 0
        self.body.current = "start"
        self._prologue()
        self.mask32 = ALL if self.full else Ref("%active", I32)
        self.mask = TRUE if self.full else Ref("%lanes", V1)
        fill()
        for pc in (BEHIND, THERE):
            for version in "FM":
                self.body.label(f"{version}{pc}")
                if pc == THERE:
                    self.store32(self.number(TARGET), "next")
                self.body.ret(I32(NEXT if pc == BEHIND else JUMP))
        for label, result in (("unwind", UNWIND), ("dispatch", self._elsewhere), ("stopped", STOP), ("served", SERVE)):
            self.body.label(label)
            self.body.ret(I32(result))
        b = Builder(self.module, first=1_000_000)
        b.label("entry")
        for field, variable in {**state_layout.VARIABLES, "issued": "issued"}.items():
            b.named(f"%{variable}", b.offset(STATE, state_layout.WARP.at(field)))
        if not self.full:
            b.named("%lanes", b.bitcast(b.named("%active", b.load(I32, pointer("%mask"))), V1))
        b.lines += [*self._scratch.lines, *self._loads.lines, *self._entries.lines]
        b.label("start")
        return define(f"@{name}", I32, [CONTEXT, STATE, ENTRY], b.lines, self.body.lines, noalias=True)

    # --- the record -----------------------------------------------------------------------------------------
    def _prologue(self) -> None:
        super()._prologue()
        self._loaded: dict[int, Ref] = {}
        self._entries = Builder(self.module)

    def number(self, offset: int, type: IrType = I32) -> Ref:
        """Return a number of the record, loaded at the start of the function."""
        found = self._loaded.get(offset)
        if found is None:
            b, name = self._entries, f"%u{offset}_{type}"
            place = b.named(f"{name}_p", b.offset(ENTRY, offset))
            found = self._loaded[offset] = b.named(name, b.load(type, place, invariant=True))
        return found

    def _value(self, what: str, v: Value) -> Ref:
        """Return a value of the record, as i64."""
        e = expression(v)
        key = f"{what} {e}"
        k = self._positions.get(key)
        if k is None:
            k = self._positions[key] = len(self._listed)
            self._listed.append((what, e))
            if k >= MAX_VALUES:
                raise NotCompiled("an instruction with too many operands")
        return self.number(VALUES + 8 * k, I64)

    def _place(self, kind: str, file: str, number: Value) -> Ref:
        """Return the pointer to a register in the state."""
        return self.body.offset(STATE, self._value(f"{kind} {file}", number))

    # --- what differs from a compiled kernel ----------------------------------------------------------------
    def goto(self, pc: int) -> None:
        """Leave the mask to the interpreter, which checks it itself."""
        self.body.jump(f"F{pc}")

    def stop_label(self) -> str:
        """Return the label of the block that leaves the instruction to the reference machine, or to the host."""
        return "served" if self.step.sampled else "stopped"

    def unit_of(self, step: Step) -> Ref:
        """See `FunctionCode`."""
        b = self.body
        offset = b.sub(self.number(PC), self.slot("code_address", I32))
        return b.zext(b.lshr(offset, 2), I64)

    def in_loop(self, step: Step) -> bool:
        """Return true: handlers are compiled once, and run for many instructions."""
        return True

    def bound(self, space: str) -> bool:
        """Return true: a space that a launch does not have has size 0."""
        return True

    def window(self, space: str, address: Ref, low: ValueLowering) -> tuple[Ref, Ref | None]:
        """Return device addresses and the lanes outside of the space; base, size and rows come from the context."""
        b = self.body

        def number(name: str) -> Ref:
            return b.load(I64, b.offset(CONTEXT, SLOT[f"{space}_{name}"]), invariant=True)

        linear, rows, done = b.fresh("linear"), b.fresh("rows"), b.fresh("placed")
        b.branch(b.ne(number("rows"), 0), rows, linear, RARELY)
        b.label(rows)
        given = {"address": address, "width": number("width"), "height": number("height")}
        beyond_rows = routine_ir.expression(low, accesses.beyond_rows, given)
        given = {"address": address, "pitch": number("pitch")}
        at = low.resize(routine_ir.expression(low, accesses.in_rows, given), 32)
        rows = b.current
        b.jump(done)
        b.label(linear)
        beyond = self._beyond(address, number("size"), low)
        linear = b.current
        b.label(done)
        place = b.phi([(at, rows), (address, linear)])
        outside = b.phi([(beyond_rows, rows), (beyond, linear)])
        return low.op("add", place, low.resize(number("base"), 32)), outside

    def _beyond(self, address: Ref, size: Ref, low: ValueLowering) -> Ref:
        """Emit `rules.accesses.beyond` in 32 bits."""
        last = low.resize(low.op("sub", size, low.constant(1, 64)), 32)
        none = low.compare("eq", size, low.constant(0, 64))
        return low.op("or", low.compare("ugt", address, last), none)

    def site(self) -> Ref:
        """Return the cell of the next global access; the record has the first cell of an instruction."""
        b = self.body
        p = b.offset(self.slot("sites", PTR), b.zext(self.number(SITE), I64))
        self.sites += 1
        return b.offset(p, 8 * (self.sites - 1))

    def _numbers(self, step: Step) -> Callable[[Value], int | None]:
        return lambda v: None

    def _flags(self, step: Step, v: Value, bits: Iterable[int]) -> Iterator[Ref]:
        b, p = self.body, self._place("read", "c", v.args[0])
        return (b.bitcast(b.load(I32, b.offset(p, 4 * bit)), V1) for bit in bits)

    def _leaf(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        if v.op == "param":
            return low.resize(self._value("param", v), v.width)
        return super()._leaf(step, low, v)

    def _read(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        return low.resize(self.body.load(V32, self._place("read", v.attr, v.args[0]), 64), v.width)

    def _write(self, step: Step, e: Effect, low: ValueLowering, values: list[Ref], lanes: Ref, some: bool) -> None:
        if e.name == "o":
            super()._write(step, e, low, values, lanes, some)
            return
        b, p = self.body, self._place("write", e.name, e.args[0])
        if e.name != "c":
            v = low.splat(low.resize(values[0], 32))
            b.store(b.select(lanes, v, b.load(V32, p, 64)) if some else v, p, 64)
            return
        for bit, flag in enumerate(values):
            q = b.offset(p, 4 * bit)
            new = b.bitcast(low.splat(flag), I32)
            if some:
                m = self.as_bits(lanes)
                kept = b.and_(b.load(I32, q), b.not_(m))
                new = b.or_(kept, b.and_(new, m))
            b.store(new, q)


class HandlerValues(MachineValues):
    """Machine values of one instruction, whose numbers are in its record."""

    def _mp_flag(self, step: Step, low: ValueLowering, v: Value, name: str) -> Ref:
        return low.resize(self.code.body.lshr(self.code.slot("flags"), MP_FLAGS.index(name)), v.width)

    def _quad(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        if v.args[1].uniform:
            n = low.splat(low.resize(low.value(v.args[1]), 32))
            return self._quad_of(low, v, n)
        return super()._quad(step, low, v)

    def _issued(self, step: Step) -> Ref:
        return self.code.body.load(I64, pointer("%issued"))


class HandlerTransfers(Transfers):
    """Control transfers of one instruction on the state in memory."""

    def _address(self, pc: int) -> Ref:
        """Return an address of the record."""
        c = self.code
        assert isinstance(c, HandlerCode)
        return c.number(_WHERE[pc])

    def _pc_of(self, r: Ref) -> int:
        return next(pc for pc in _WHERE if self._address(pc) == r)

    def _table(self) -> Mapping[ControlRequest, Handler]:
        return {**super()._table(), request.BRA_INDIRECT: self._bra_indirect}

    def _bra_indirect(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: Ref) -> None:
        c, b = self.code, self.code.body
        self._count(step, "branches")
        target = low.resize(low.value(plan.canonical(e.args[0])), 32)
        if target.uniform:
            c.store32(target, "next")
        else:
            self.rule(step, stack.branch_indirect, {"targets": target})
        b.ret(I32(JUMP))

    def _backward(self, step: Step, target: int) -> None:
        """Leave interrupts and the budget to the loop around the instructions."""

    def _joined(self, step: Step) -> None:
        self.code.body.ret(I32(COMPLETE))

    def _end_turn(self, step: Step) -> None:
        self.code.body.ret(I32(WAIT))
