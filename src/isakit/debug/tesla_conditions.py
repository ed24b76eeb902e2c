"""Conditions of Tesla breakpoints as machine code, so that a breakpoint passed a million times costs little.

A condition is a value (`expression_values`), lowered as the values of instructions are. The code is never stricter than
evaluation: if it cannot decide, because memory does not exist, it reports that the condition may hold, and the session
evaluates it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from isakit.debug.expression_values import truth, value_of
from isakit.debug.expressions import NamedRegister, Node, Variable, walk
from isakit.engine.llvm import Builder, LlvmModule, Ref, ValueLowering
from isakit.engine.llvm.builder import I1, I16, I32, I64, PTR, IrType, define, integer, pointer
from isakit.errors import NotModelled
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.state_layout import CONTEXT, SLOT, STATE
from isakit.machine.tesla.launch import Launch
from isakit.machine.tesla.rules.state import BufferBytes
from isakit.sem.records import layout_of
from isakit.sem.value import Value

_FLAGS = "zsco"
_PER_LANE = ("lane", "tid", "tid.x", "tid.y", "tid.z")
_LANE = Ref("%number", I64)


class LoweredCondition(NamedTuple):
    """The truth of a condition for a lane, and whether its code is exact."""

    value: Value
    exact: bool
    uniform: bool


def lowered(node: Node, launch: Launch) -> LoweredCondition | None:
    """Return a condition as a value over the state of compiled code; None if that lacks some of it."""
    scope = _CompiledScope(launch)
    try:
        value = truth(value_of(node, scope))
    except NotModelled:
        return None
    uniform = not any(
        isinstance(n, NamedRegister) or (isinstance(n, Variable) and n.name in _PER_LANE) for n in walk(node)
    )
    return LoweredCondition(value, not scope.reads_memory, uniform)


def add_condition(
    module: LlvmModule, name: str, condition: LoweredCondition, launch: Launch, lanes: int | None = None
) -> None:
    """Add `i1 @NAME(ptr context, ptr state)`: whether the condition may hold for some active lane.

    `lanes`: a mask of the lanes to test.
    """
    b = Builder(module)
    b.label("entry")
    asked = b.load(I32, b.offset(STATE, state_layout.ACTIVE))
    if lanes is not None:
        asked = b.and_(asked, lanes)
    elif condition.uniform:  # one lane speaks for all
        asked = b.and_(asked, b.sub(0, asked))
    b.jump("next")
    b.label("next")
    rest = Ref("%rest", I32)
    left = b.phi([(asked, "entry"), (rest, "no")])
    b.branch(b.eq(left, 0), "false", "lane")
    b.label("lane")
    b.named(_LANE.text, b.zext(b.trailing_zeros(left, never_zero=True), I64))
    b.named(rest.text, b.and_(left, b.sub(left, 1)))
    leaves = _Leaves(b, launch)
    low = ValueLowering(b, leaves.of, {})
    leaves.low = low
    b.branch(low.value(condition.value), "maybe", "no")
    b.label("no")
    b.jump("next")
    for label, result in (("maybe", 1), ("false", 0)):
        b.label(label)
        b.ret(I1(result))
    module.add(define(f"@{name}", I1, [CONTEXT, STATE], b.lines, attributes="nounwind"))


class _CompiledScope:
    """Names as nodes; raises NotModelled for values that only the reference machine has."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.reads_memory = False

    def register(self, name: str) -> Value:
        m = re.fullmatch(r"\$(r|a|c)(\d+)(?:\.([zsco]))?", name)
        if m is not None:
            file, n, flag = m[1], int(m[2]), m[3]
            there = {"r": n < self.launch.code.registers, "a": n < 8, "c": n < 4}[file]
            if there and (file == "c" or flag is None):
                bits = 32 if file != "c" else 1 if flag else 4
                return Value("machine", bits, (), ("register", (file, n, flag)))
        raise NotModelled(f"`{name}` in a compiled condition", "each thread is asked for its own")

    def variable(self, name: str) -> Value:
        if name not in (*_PER_LANE, "warp", "block", "block.x", "block.y", "active", "instructions"):
            raise NotModelled(f"`{name}` in a compiled condition", "each thread is asked for its own")
        return Value("machine", 64, (), ("variable", name))

    def memory(self, space: str, address: Value, size: int) -> Value:
        if not re.fullmatch(r"s|g(\d|1[0-5])", space):
            raise NotModelled(f"{space}[] in a compiled condition", "each thread is asked for its own")
        self.reads_memory = True
        return Value("machine", 8 * size, (address,), ("memory", space))


class _Leaves:
    """Lowers the leaves of a condition in code that runs for one lane."""

    low: ValueLowering

    def __init__(self, b: Builder, launch: Launch) -> None:
        self.b, self.launch = b, launch

    def of(self, v: Value) -> Ref:
        """Lower a node of `_CompiledScope`."""
        kind, what = v.attr
        match kind:
            case "register":
                return self._register(*what)
            case "variable":
                return self._variable(what)
            case _:
                return self._memory(what, self.low.value(v.args[0]), v.width)

    def _at(self, offset: int, type: IrType = I32, *, lane: bool = False) -> Ref:
        """Load from the state of the warp; `lane`: from the row of a register."""
        p = self.b.offset(STATE, offset)
        return self.b.load(type, self.b.element(I32, p, _LANE) if lane else p)

    def _slot(self, name: str, type: IrType = I64) -> Ref:
        return self.b.load(type, self.b.offset(CONTEXT, SLOT[name]))

    def _register(self, file: str, n: int, flag: str | None) -> Ref:
        b = self.b
        if file != "c":
            return self._at(state_layout.register(n, file), lane=True)
        bits = [_FLAGS.index(flag)] if flag else range(4)
        lane = b.trunc(_LANE, I32)
        flags = [b.trunc(b.lshr(self._at(state_layout.flag(n, bit)), lane), I1) for bit in bits]
        if flag:
            return flags[0]
        four = [b.shl(b.zext(one, integer(4)), bit) for bit, one in enumerate(flags)]
        return b.or_(b.or_(four[0], four[1]), b.or_(four[2], four[3]))

    def _variable(self, name: str) -> Ref:
        b, (x, y, _) = self.b, self.launch.block
        match name:
            case "lane":
                return _LANE
            case "warp":
                return b.zext(self._at(state_layout.NUMBER), I64)
            case "active":
                return b.zext(self._at(state_layout.ACTIVE), I64)
            case "instructions":
                return self._instructions()
            case "tid" | "tid.x" | "tid.y" | "tid.z":
                tid = b.add(b.mul(b.zext(self._at(state_layout.NUMBER), I64), 32), _LANE)
                if name == "tid":
                    return tid
                part = b.udiv(tid, {"tid.x": 1, "tid.y": x, "tid.z": x * y}[name])
                return part if name == "tid.z" else b.urem(part, x if name == "tid.x" else y)
            case _:
                header = self._slot("shared", PTR)
                column, row = (b.zext(b.load(I16, b.offset(header, at)), I64) for at in (12, 14))
                whole = {"block.x": column, "block.y": row}.get(name)
                return b.add(column, b.mul(row, self.launch.grid[0])) if whole is None else whole

    def _instructions(self) -> Ref:
        """Return the number of instructions that threads have executed, in finished blocks and in the resident one."""
        b = self.b
        total = b.add(b.load(I64, pointer("@instructions_before")), self._slot("thread_count"))
        state, size = self._slot("state", PTR), self._slot("state_bytes")
        for warp in range(self.launch.warps):
            p = b.offset(b.offset(state, b.mul(size, warp)), state_layout.THREADS)
            total = b.add(total, b.load(I64, p))
        return total

    def _memory(self, space: str, address: Ref, width: int) -> Ref:
        b = self.b
        if space == "s":
            self._unless_beyond(address, width, self._slot("shared_limit"))
            base = self._slot("shared", PTR)
        else:
            self._unless_beyond(address, width, self._slot(f"{space}_size"))
            address = b.add(address, self._slot(f"{space}_base"))
            self._unless_beyond(address, width, b.load(I64, pointer("@memory_bytes")))
            self._unless_in_no_buffer(address, width)
            base = self._slot("memory", PTR)
        return b.load(integer(width), b.offset(base, address), 1)

    def _unless_in_no_buffer(self, address: Ref, width: int) -> None:
        """Mark the condition as possibly true if the bytes of an access are in none of the device's buffers."""
        b = self.b
        look, try_, step, there = (b.fresh(name) for name in ("look", "try", "step", "there"))
        following = Ref(f"%{b.fresh('following')}", I64)
        before = b.current
        b.jump(look)
        b.label(look)
        k = b.phi([(I64(0), before), (following, step)])
        b.branch(b.ult(k, self._slot("range_count")), try_, "maybe")
        b.label(try_)
        layout = layout_of(BufferBytes)
        buffer = b.offset(self._slot("ranges", PTR), b.mul(k, layout.size))
        start, length = (b.zext(b.load(I32, b.offset(buffer, layout[f].offset)), I64) for f in ("start", "length"))
        begins, ends = b.ule(start, address), b.ule(b.add(address, width // 8), b.add(start, length))
        b.branch(b.and_(begins, ends), there, step)
        b.label(step)
        b.named(following.text, b.add(k, 1))
        b.jump(look)
        b.label(there)

    def _unless_beyond(self, address: Ref, width: int, limit: Ref) -> None:
        """Mark the condition as possibly true if an access ends beyond a memory's end."""
        b, on = self.b, self.b.fresh("there")
        b.branch(b.ule(b.add(address, width // 8), limit), on, "maybe")
        b.label(on)


__all__ = ["LoweredCondition", "add_condition", "lowered"]
