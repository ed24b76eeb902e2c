"""From instructions on registers to words: the records of the instruction set encode every instruction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from isakit.asm.layout import Slot, place
from isakit.codec import Compound, Condition, Flag, Immediate, Instruction, Memory, Register
from isakit.compile.ir import Loc
from isakit.compile.lower.form import (
    SINK,
    FixedNumber,
    MachineOp,
    MBlock,
    MemoryReference,
    MFunction,
    MIns,
    Operand,
    OperandReg,
    PooledLiteral,
    VReg,
    Zero,
)
from isakit.compile.tesla import instructions as hw
from isakit.compile.tesla.literals import pooled
from isakit.compile.tesla.registers import ADDRESS, GENERAL
from isakit.errors import EncodeError
from isakit.instruction_sets import Isa, isa

ZERO_REGISTER = 124
HALVES = 0x40
"""Words of the pool within reach of instructions that read half a word; those that read a whole one reach twice as
many."""
WIDTHS = {1: 0, 2: 64, 4: 128}
BYTES = {"u8": 1, "u16": 2, "s16": 2, "b32": 4}


BuildOperand = Register | Memory | Immediate | Compound | Flag | Condition | int | str | None
"""An operand as `build` takes it."""


_TAILS: dict[MachineOp, str] = {hw.END: "exit", hw.JOIN: "join"}
"""Instructions that are a bit of another one, which does nothing."""


class Pool:
    """The literals of a kernel, in constant bank 1."""

    def __init__(self) -> None:
        self.words: list[int] = []
        self._at: dict[int, int] = {}

    def place(self, literal: PooledLiteral) -> int:
        """Return the offset of a literal in bytes, added if need be; a half word shares no word with others."""
        at = self._at.get(literal.value)
        if at is None:
            at = self._at[literal.value] = 4 * len(self.words)
            self.words.append(literal.value)
        return at

    @property
    def data(self) -> bytes:
        """The bank's content."""
        return b"".join(w.to_bytes(4, "little") for w in self.words)


@dataclass
class MachineCode:
    """Machine code.

    Attributes: `lines` (address of each instruction to its origin), `places` (address of each machine instruction),
    `endings` (the branches that blocks end in).
    """

    code: bytes = b""
    pool: bytes = b""
    lines: dict[int, Loc] = field(default_factory=dict[int, Loc])
    places: list[tuple[int, MIns]] = field(default_factory=list[tuple[int, MIns]])
    endings: dict[MBlock, list[MIns]] = field(default_factory=dict[MBlock, list[MIns]])


class OutOfConstantsError(Exception):
    """A kernel has more literals than the instructions that need them in memory can reach."""


class Emitter:
    """Encodes one kernel."""

    def __init__(self, m: MFunction, variant: str, local: int, textures: list[str], registers: int) -> None:
        self.m, self.local, self.textures = m, local, textures
        self.isa: Isa = instruction_set(variant)
        self.pool = Pool()
        self.zero = Register("r", ZERO_REGISTER)
        self.registers = registers
        self.endings: dict[MBlock, list[MIns]] = {}
        """The branches that blocks end in."""

    # --- operands ---------------------------------------------------------------------------------------------------
    def register(self, r: OperandReg) -> Register:
        """Return the machine register of an operand."""
        c = r.v.color
        assert c is not None, r
        if r.v.cls is not GENERAL:
            return Register(r.v.cls.file, c)
        if r.half:
            return Register("r", c + r.unit, 16, r.half)
        return Register("r", c + r.unit, WIDTHS[r.count])

    def memory(self, p: MemoryReference) -> Memory:
        """Return a memory operand as the records take it."""
        base = self.register(p.base) if p.base is not None else None
        if p.mode == "literal":
            return Memory("c1", None, self.pool.place(PooledLiteral(p.offset)))
        if p.mode == "spill":
            return Memory(p.space, None, self.local + p.offset)
        if p.mode == "global":
            return Memory(p.space, None, 4 * p.offset)
        if p.mode:
            size, signed = BYTES[p.mode], p.mode[0] == "s"
            return Memory(p.space, base, p.offset, None, p.after, size=size, signed=signed)
        return Memory(p.space, base, p.offset, None, p.after)

    def operand(self, o: Operand, literal: bool) -> BuildOperand:
        """Return an operand as the records take it."""
        if type(o) is OperandReg:
            return self.register(o)
        if type(o) is MemoryReference:
            return self.memory(o)
        if type(o) is Zero:
            return self.zero
        if type(o) is FixedNumber:
            return o.value
        if type(o) is PooledLiteral:
            return Immediate(o.value) if literal else Memory("c1", None, self.pool.place(o))
        return o

    def _guard(self, i: MIns) -> Condition | None:
        return Condition(self.register(OperandReg(i.guard[0])), i.guard[1]) if i.guard is not None else None

    def _operands(self, i: MIns, literal: bool) -> dict[str, Any]:
        ops = {k: self.operand(o, literal) for k, o in i.ops.items() if k != "name"}
        if i.guard is not None:
            ops[_row(i).guard] = self._guard(i)
        return self._texture(i, ops) if _row(i).texture else ops

    def _texture(self, i: MIns, ops: dict[str, Any]) -> dict[str, Any]:
        base = i.ops["dst"].v.color
        mask: tuple[int, ...] = i.ops["mask"]
        parts: list[Register | Flag] = []
        for k in range(4):
            parts.append(Register("r", base + mask.index(k)) if k in mask else Flag(SINK))
        unit = self.textures.index(i.ops["texture"])
        n = i.ops["sources"]
        sources = [Register("r", base + k) for k in range(n)]
        dst = Compound(tuple(parts), text=":".join(parts))
        src = Compound(tuple(sources), text=":".join(sources)) if n > 1 else sources[0]
        out: dict[str, BuildOperand] = {"live": "live", "dst": dst, "src": src}
        if i.ops.get("cube"):
            out["cube"] = True
        elif i.op is not hw.TEXSIZE:
            out |= {"dx": 0, "dy": 0, "dz": 0}
        out |= {"texture": Register("t", unit), "sampler": Register("s", unit)}
        return out | ({"guard": ops["guard"]} if "guard" in ops else {})

    # --- instructions -----------------------------------------------------------------------------------------------
    def build(self, i: MIns, at: int = 0, long: bool = False, tail: str = "") -> Instruction:
        """Encode an instruction, in its short form if it has one, unless `long`."""
        row = _row(i)
        mnemonic: str = i.ops.get("name", row.mnemonic)
        literal = i.op is hw.MOV_IMMEDIATE or (i.literal and i.guard is None and "cdst" not in i.ops and not tail)
        for attempt in (literal, False):
            ops = self._operands(i, attempt)
            if row.rounded and "rounding" not in ops and (long or "guard" in ops or tail):
                ops["rounding"] = "rn"
            if tail:
                ops["tail"] = tail
            try:
                return self.isa.build(mnemonic, at=at, long=long, raw=row.raw, **ops)
            except EncodeError:
                if row.rounded and "rounding" not in ops:
                    try:
                        return self.isa.build(mnemonic, at=at, long=long, raw=row.raw, **ops, rounding="rn")
                    except EncodeError:
                        if not attempt:
                            raise
                elif not attempt:
                    raise
        raise AssertionError

    def control(self, i: MIns, target: int, at: int) -> Instruction:
        """Encode a branch, or another instruction that names a code address."""
        return self.isa.build(i.op.mnemonic, at=at, target=target, guard=self._guard(i))

    def run(self) -> MachineCode:
        """Encode all instructions."""
        self._fold_address_steps()
        self._fold_joins()
        items, starts = self._linear()
        try:
            return self._encoded(items, starts)
        except EncodeError:
            if len(self.pool.words) <= HALVES:
                raise
        # Instructions that read half a word of the pool reach its first part only, and `ld` all of it: the literals of
        # the former come first, those of the latter last.
        self.pool = Pool()
        near = [i.ops[name] for i in items for name in pooled(i)]
        for o in sorted(near, key=lambda o: not o.half):
            self.pool.place(o)
        try:
            return self._encoded(items, starts)
        except EncodeError:
            if len(self.pool.words) <= HALVES:
                raise
            raise OutOfConstantsError from None

    def _encoded(self, items: list[MIns], starts: dict[MBlock, int]) -> MachineCode:
        short: list[Instruction | None] = []
        long: list[Instruction | None] = []
        slots: list[Slot] = []
        for i in items:
            if i.target is not None:
                short.append(None)
                long.append(None)
                slots.append(Slot((2,)))
                continue
            if i.op in _TAILS:
                one = self.isa.build("nop", tail=_TAILS[i.op], guard=Condition(None, "never"))
            elif i.op is hw.BRK:
                one = self.isa.build("break")
            elif i.op is hw.RET:
                one = self.isa.build("ret", guard=self._guard(i))
            else:
                one = self.build(i, long=i.tail == "join", tail=i.tail)
            two = self.build(i, long=True, tail=i.tail) if one.units == 1 and i.op not in (hw.TRAP, hw.BRKPT) else None
            short.append(one)
            long.append(two)
            slots.append(Slot((1, 2) if two is not None else (2,), aligned=True))
        placed = place(slots)
        assert not placed.misfits
        out = MachineCode(endings=self.endings)
        words: list[int] = []
        for k, i in enumerate(items):
            at = 4 * placed.positions[k]
            if i.target is not None:
                made: Instruction | None = self.control(i, 4 * placed.positions[starts[i.target]], at)
            else:
                made = short[k] if placed.sizes[k] == 1 or long[k] is None else long[k]
            assert made is not None
            word = made.word
            if made.units < placed.sizes[k]:  # an instruction that has no long form, at a place that is long
                word |= self._nothing() << 32
            for n in range(placed.sizes[k]):
                words.append(word >> 32 * n & 0xFFFF_FFFF)
            out.lines[at] = i.loc
            out.places.append((at, i))
        out.code = b"".join(w.to_bytes(4, "little") for w in words)
        out.pool = self.pool.data
        return out

    def _nothing(self) -> int:
        """Return a short instruction without effect, which fills the other half of a pair."""
        first = Register("r", 0, 32)
        return self.isa.build("mov", ty="b32", dst=first, src1=first).word

    def _fold_address_steps(self) -> None:
        """Fold an addition to an address register into the access before it, if its encoding has room."""
        for b in self.m.blocks:
            last: dict[int, MIns | None] = {}
            gone: set[MIns] = set()
            for i in b.ins:
                if i.op is hw.ADD_A and i.guard is None and type(i.ops["src"]) is OperandReg:
                    a = i.ops["src"].v.color or 0
                    before = last.get(a)
                    if before is not None and i.ops["adst"].v.color == a and self._steps(before, i.ops["offset"].value):
                        gone.add(i)
                        last[a] = None
                        continue
                places = [o for o in i.ops.values() if type(o) is MemoryReference and o.base is not None]
                for r in (*i.uses(), *i.defs()):
                    if r.v.cls is ADDRESS:
                        alone = len(places) == 1 and places[0].base is not None and places[0].base.v is r.v
                        free = (
                            i.guard is None
                            and alone
                            and not places[0].offset
                            and i.op not in (hw.LD_LOCK, hw.ST_UNLOCK)
                        )
                        last[r.v.color or 0] = i if free else None
            b.ins = [i for i in b.ins if i not in gone]

    def _steps(self, i: MIns, step: int) -> bool:
        place = next(o for o in i.ops.values() if type(o) is MemoryReference)
        place.offset, place.after = step - 0x10000 if step >> 15 else step, True
        try:
            self.build(i)
        except EncodeError:
            place.offset, place.after = 0, False
        return place.after

    def _fold_joins(self) -> None:
        """Fold a join into the next instruction, if its encoding has a join bit."""
        for b in self.m.blocks:
            kept: list[MIns] = []
            for i in b.ins:
                if kept and kept[-1].op is hw.JOIN and _row(i).joins and not i.tail and i.target is None:
                    try:
                        self.build(i, long=True, tail="join")
                    except EncodeError:
                        pass
                    else:
                        kept.pop()
                        i.tail = "join"
                kept.append(i)
            b.ins = kept

    def _linear(self) -> tuple[list[MIns], dict[MBlock, int]]:
        """Return all instructions in order, with the branches blocks end in, and where blocks start."""
        items: list[MIns] = []
        starts: dict[MBlock, int] = {}
        blocks = self.m.blocks
        for k, b in enumerate(blocks):
            starts[b] = len(items)
            items += b.ins
            after = blocks[k + 1] if k + 1 < len(blocks) else None
            ending = _ending(b, after, self.m.breaks)
            self.endings[b] = ending
            items += ending
        last = items[-1] if items else None
        if last is None or ((last.op not in (hw.END, hw.BRA) or last.guard is not None) and last.tail != "exit"):
            items.append(MIns(hw.END, {}))
        return items, starts


def _row(i: MIns) -> hw.TeslaOp:
    assert isinstance(i.op, hw.TeslaOp)
    return i.op


def fuse_exits_into_stores(m: MFunction) -> None:
    """Mark stores that are the last instruction of the kernel as its exit."""
    for b in m.blocks:
        if not b.succs and b.ins and _row(b.ins[-1]).ends and b.ins[-1].guard is None:
            b.ins[-1].tail = "exit"


def _ending(b: MBlock, after: MBlock | None, breaks: bool) -> list[MIns]:
    def branch(target: MBlock | None, guard: tuple[VReg, str] | None = None) -> MIns:
        """Return a branch, or a return without a target."""
        i = MIns(hw.BRA if target is not None else hw.RET, {}, b.loc)
        i.target, i.guard = target, guard
        return i

    if not b.succs:
        return [] if b.ins and b.ins[-1].tail == "exit" else [MIns(hw.END, {}, b.loc)]
    if b.cond is None:
        if b.succs[0] is after:
            return []
        return [branch(b.succs[0])]
    c, test, _ = b.cond
    opposite = c.opposite(test)
    yes, no = b.succs
    for end, other, leaving, going in ((yes, no, test, opposite), (no, yes, opposite, test)):
        if end.is_end and end is not after and not breaks:  # `ret` does not pass the entry of a break
            if other is after:
                return [branch(None, (c, leaving))]
            return [branch(other, (c, going)), MIns(hw.END, {}, b.loc)]  # a loop: one instruction each time round
    if yes is after:
        return [branch(no, (c, opposite))]
    return [branch(yes, (c, test)), *([] if no is after else [branch(no)])]


_SETS: dict[str, Isa] = {}


def instruction_set(variant: str) -> Isa:
    """Return the instruction set, the same object for every call with a variant, so that its caches are kept."""
    got = _SETS.get(variant)
    if got is None:
        got = _SETS[variant] = isa("tesla", variant)
    return got
