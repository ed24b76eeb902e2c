"""From instructions on registers to words: the records of the instruction set build every encoding from values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from isakit.asm.layout import Slot, place
from isakit.codec import Compound, Condition, Flag, Immediate, Instruction, Memory, Register
from isakit.compile.ir import Loc
from isakit.compile.lower.form import (
    SINK,
    FixedNumber,
    MBlock,
    MemoryPlace,
    MFunction,
    MIns,
    OperandReg,
    PooledLiteral,
    Zero,
)
from isakit.errors import EncodeError
from isakit.instruction_sets import Isa, isa

MNEMONICS = {
    "add_f32": "add", "mul_f32": "mul", "mad_f32": "add", "min_f32": "min", "max_f32": "max", "set_f32": "set",
    "add_f64": "add", "mul_f64": "mul", "fma_f64": "fma", "min_f64": "min", "max_f64": "max", "set_f64": "set",
    "mov_i": "mov", "mov_sr": "mov", "mov_c": "mov", "mov_from": "mov", "shl_a": "shl", "add_a": "add", "ld_g": "ld",
    "ld_l": "ld", "ld_c": "ld", "ld_s": "ld", "ld_lock": "ld", "st_g": "st", "st_l": "st", "st_s": "st",
    "st_unlock": "st", "atom": "ld",
}  # fmt: skip
ROUNDED = frozenset({"add_f32", "mul_f32"})
"""Operations whose long form says how it rounds, and whose short form always rounds to nearest."""
UNLOCK = 1 << 55
"""The bit of `st s[]` that gives a lock back; its word is no operand. Source: [tesla] 7.1."""
NO_JOIN = frozenset({"bar", "trap", "brkpt", "join", "ld_lock", "st_unlock", "vote", "mov_i"})
"""Instructions that have no room for a join, or do more than one lane's work."""
ZERO_REGISTER = 124
HALVES = 0x40
"""Words of the pool that instructions reach that read half a word; those that read a whole one reach twice as many."""
WIDTHS = {1: 0, 2: 64, 4: 128}
BYTES = {"u8": 1, "u16": 2, "s16": 2, "b32": 4}


class Pool:
    """The literals of a kernel, in constant bank 1."""

    def __init__(self) -> None:
        self.words: list[int] = []
        self._at: dict[int, int] = {}

    def place(self, literal: PooledLiteral) -> int:
        """The offset of a literal, which is added if need be; half words lie in words that hold nothing else."""
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
    """Machine code. `lines`: address of each instruction to where it comes from."""

    code: bytes = b""
    pool: bytes = b""
    lines: dict[int, Loc] = field(default_factory=dict[int, Loc])


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

    # --- operands ---------------------------------------------------------------------------------------------------
    def register(self, r: OperandReg) -> Register:
        """A register of the machine."""
        c = r.v.color
        assert c is not None, r
        if r.v.file == "a":
            return Register("a", c)
        if r.v.file == "c":
            return Register("c", c)
        if r.half:
            return Register("r", c + r.unit, 16, r.half)
        return Register("r", c + r.unit, WIDTHS[r.count])

    def memory(self, p: MemoryPlace) -> Memory:
        """A place in memory."""
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

    def operand(self, o: Any, literal: bool) -> Any:
        """An operand as the records take it."""
        if type(o) is OperandReg:
            return self.register(o)
        if type(o) is MemoryPlace:
            return self.memory(o)
        if type(o) is Zero:
            return self.zero
        if type(o) is FixedNumber:
            return o.value
        if type(o) is PooledLiteral:
            return Immediate(o.value) if literal else Memory("c1", None, self.pool.place(o))
        return o

    def _operands(self, i: MIns, literal: bool) -> dict[str, Any]:
        ops = {k: self.operand(o, literal) for k, o in i.ops.items() if k != "name"}
        if i.guard is not None:
            condition = Condition(self.register(OperandReg(i.guard[0])), i.guard[1])
            ops["pred" if i.op == "vote" else "guard"] = condition
        if i.op in ("texauto", "texfetch", "texsize"):
            return self._texture(i, ops)
        if i.op == "bar":
            ops |= {"inc": True, "wait": True, "count": 0xFFF}
        elif i.op == "mov_sr":
            ops["special"] = "$" + i.ops["special"]
        elif i.op == "add_a" and i.ops.get("src") is None:
            ops["src"] = Register("a", 0, text="0x0")
        return ops

    def _texture(self, i: MIns, ops: dict[str, Any]) -> dict[str, Any]:
        base = i.ops["dst"].v.color
        mask: tuple[int, ...] = i.ops["mask"]
        parts: list[Any] = []
        for k in range(4):
            parts.append(Register("r", base + mask.index(k)) if k in mask else Flag(SINK))
        unit = self.textures.index(i.ops["name"])
        n = i.ops["sources"]
        sources = [Register("r", base + k) for k in range(n)]
        dst = Compound(tuple(parts), text=":".join(parts))
        src = Compound(tuple(sources), text=":".join(sources)) if n > 1 else sources[0]
        out: dict[str, Any] = {"live": "live", "dst": dst, "src": src}
        if i.ops.get("cube"):
            out["cube"] = True
        elif i.op != "texsize":
            out |= {"dx": 0, "dy": 0, "dz": 0}
        out |= {"texture": Register("t", unit), "sampler": Register("s", unit)}
        return out | ({"guard": ops["guard"]} if "guard" in ops else {})

    # --- instructions -----------------------------------------------------------------------------------------------
    def build(self, i: MIns, at: int = 0, long: bool = False, tail: str = "") -> Instruction:
        """The instruction, in its short form where it has one unless `long`."""
        name = i.ops.get("name") if i.op in ("add", "mad") else None
        mnemonic = name or MNEMONICS.get(i.op, i.op)
        raw = UNLOCK if i.op == "st_unlock" else 0
        if i.op == "atom" and i.ops["op"] in ("exch", "cas"):
            mnemonic = i.ops["op"]
        literal = i.literal and i.guard is None and "cdst" not in i.ops and not tail
        if i.op == "mov_i":
            literal = True
        for attempt in (literal, False):
            ops = self._operands(i, attempt)
            if i.op in ROUNDED and "rounding" not in ops and (long or "guard" in ops or tail):
                ops["rounding"] = "rn"
            if mnemonic in ("exch", "cas"):
                ops.pop("op")
            if tail:
                ops["tail"] = tail
            try:
                return self.isa.build(mnemonic, at=at, long=long, raw=raw, **ops)
            except EncodeError:
                if i.op in ROUNDED and "rounding" not in ops:
                    try:
                        return self.isa.build(mnemonic, at=at, long=long, raw=raw, **ops, rounding="rn")
                    except EncodeError:
                        if not attempt:
                            raise
                elif not attempt:
                    raise
        raise AssertionError

    def control(self, i: MIns, target: int, at: int) -> Instruction:
        """A branch, or what else names a code address."""
        ops: dict[str, Any] = {"target": target}
        if i.guard is not None:
            ops["guard"] = Condition(self.register(OperandReg(i.guard[0])), i.guard[1])
        return self.isa.build(i.op, at=at, **ops)

    def run(self) -> MachineCode:
        """Encode everything."""
        self._steps_ride()
        self._joins_ride()
        items, starts = self._linear()
        try:
            return self._encoded(items, starts)
        except EncodeError:
            if len(self.pool.words) <= HALVES:
                raise
        # Instructions that read half a word of the pool reach its first part only, and `ld` all of it: the literals of
        # the former come first, those of the latter last.
        self.pool = Pool()
        near = [i.ops[name] for i in items for name in i.pooled()]
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
            if i.op == "end":
                one = self.isa.build("nop", tail="exit", guard=Condition(None, "never"))
            elif i.op == "join":
                one = self.isa.build("nop", tail="join", guard=Condition(None, "never"))
            elif i.tail == "join":
                one = self.build(i, long=True, tail="join")
            elif i.op == "ret":
                guard = Condition(self.register(OperandReg(i.guard[0])), i.guard[1]) if i.guard else None
                one = self.isa.build("ret", guard=guard)
            else:
                one = self.build(i, tail=i.tail)
            two = self.build(i, long=True, tail=i.tail) if one.units == 1 and i.op not in ("trap", "brkpt") else None
            short.append(one)
            long.append(two)
            slots.append(Slot((1, 2) if two is not None else (2,), aligned=True))
        placed = place(slots)
        assert not placed.misfits
        out = MachineCode()
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
        out.code = b"".join(w.to_bytes(4, "little") for w in words)
        out.pool = self.pool.data
        return out

    def _nothing(self) -> int:
        """A short instruction without an effect, which fills a place beside another one."""
        first = Register("r", 0, 32)
        return self.isa.build("mov", ty="b32", dst=first, src1=first).word

    def _steps_ride(self) -> None:
        """What is added to an address register is added by the access before, where its encoding has room for it."""
        for b in self.m.blocks:
            last: dict[int, MIns | None] = {}
            gone: set[MIns] = set()
            for i in b.ins:
                if i.op == "add_a" and i.guard is None and i.ops.get("src") is not None:
                    a = i.ops["src"].v.color
                    before = last.get(a)
                    if before is not None and i.ops["adst"].v.color == a and self._steps(before, i.ops["offset"].value):
                        gone.add(i)
                        last[a] = None
                        continue
                places = [o for o in i.ops.values() if type(o) is MemoryPlace and o.base is not None]
                for r in (*i.uses(), *i.defs()):
                    if r.v.file == "a":
                        alone = len(places) == 1 and places[0].base is not None and places[0].base.v is r.v
                        free = (
                            i.guard is None and alone and not places[0].offset and i.op not in ("ld_lock", "st_unlock")
                        )
                        last[r.v.color or 0] = i if free else None
            b.ins = [i for i in b.ins if i not in gone]

    def _steps(self, i: MIns, step: int) -> bool:
        place = next(o for o in i.ops.values() if type(o) is MemoryPlace)
        place.offset, place.after = step - 0x10000 if step >> 15 else step, True
        try:
            self.build(i)
        except EncodeError:
            place.offset, place.after = 0, False
        return place.after

    def _joins_ride(self) -> None:
        """A join is done before the instruction after it, where that one's encoding has room for it."""
        for b in self.m.blocks:
            kept: list[MIns] = []
            for i in b.ins:
                if kept and kept[-1].op == "join" and i.op not in NO_JOIN and not i.tail and i.target is None:
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
        """All instructions in order, with the branches blocks end in, and where blocks start."""
        items: list[MIns] = []
        starts: dict[MBlock, int] = {}
        blocks = self.m.blocks
        for k, b in enumerate(blocks):
            starts[b] = len(items)
            items += b.ins
            after = blocks[k + 1] if k + 1 < len(blocks) else None
            items += _ending(b, after)
        last = items[-1] if items else None
        if last is None or ((last.op not in ("end", "bra") or last.guard is not None) and last.tail != "exit"):
            items.append(MIns("end", {}, ()))
        return items, starts


def _is_end(b: MBlock) -> bool:
    """Whether nothing is left to do."""
    return not b.succs and not b.ins


def _ending(b: MBlock, after: MBlock | None) -> list[MIns]:
    def branch(target: MBlock, guard: object = None) -> MIns:
        i = MIns("bra", {}, (), b.loc)
        i.target = target
        i.guard = guard  # type: ignore[assignment]
        return i

    def leave(guard: object) -> MIns:
        i = MIns("ret", {}, (), b.loc)
        i.guard = guard  # type: ignore[assignment]
        return i

    if not b.succs:
        return [] if b.ins and b.ins[-1].tail == "exit" else [MIns("end", {}, (), b.loc)]
    if b.cond is None:
        if b.succs[0] is after:
            return []
        return [branch(b.succs[0])]
    c, test, _ = b.cond
    opposite = c.false if test == c.true else c.true
    yes, no = b.succs
    for end, other, leaving, going in ((yes, no, test, opposite), (no, yes, opposite, test)):
        if _is_end(end) and end is not after:
            if other is after:
                return [leave((c, leaving))]
            return [branch(other, (c, going)), MIns("end", {}, (), b.loc)]  # a loop: one instruction each time round
    if yes is after:
        return [branch(no, (c, opposite))]
    return [branch(yes, (c, test)), *([] if no is after else [branch(no)])]


_SETS: dict[str, Isa] = {}


def instruction_set(variant: str) -> Isa:
    """The instruction set, made once per variant: what it finds out about shapes of instructions is kept."""
    got = _SETS.get(variant)
    if got is None:
        got = _SETS[variant] = isa("tesla", variant)
    return got
