"""Instructions of the machine while they still work on virtual registers.

The operation of an instruction is a mnemonic of the instruction set with operands by the names of its record;
encoding them is left to the records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isakit.compile.ir import NOWHERE, IrValue, Loc, Mark


@dataclass(frozen=True, eq=False)
class RegisterClass:
    """Registers that some values may be in.

    Attributes:
        file: the register file, numbered in its smallest registers; classes of one file overlap.
        first, count: the registers of the class.
        align: the first register of a value is a multiple of this; None: of the number of its registers.
        halves: how many registers, from 0 on, have addressable halves.
        holder: the class whose registers hold spilled values; None: they go to memory.
        breaks: registers that are not contiguous with the one before: no value spans them.
    """

    name: str
    file: str
    first: int
    count: int
    align: int | None = None
    halves: int = 0
    holder: RegisterClass | None = None
    breaks: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return self.name


class VReg:
    """A virtual register: `size` consecutive registers of a class; `low`: its halves are operands.

    Attributes: `color` (the register it got), `true` and `false` (tests of a condition register), `defs` (writes).
    """

    __slots__ = ("cls", "color", "defs", "false", "fixed", "low", "number", "size", "spillable", "true")

    def __init__(self, cls: RegisterClass, number: int, size: int = 1) -> None:
        self.cls, self.number, self.size = cls, number, size
        self.color: int | None = None
        self.low = False
        self.fixed = False
        self.spillable = True
        self.true, self.false = "lg", "e"
        self.defs = 0

    def opposite(self, test: str) -> str:
        """Return the negation of a test."""
        return self.false if test == self.true else self.true

    def __repr__(self) -> str:
        return f"{self.cls}{self.number}" + ("" if self.size == 1 else f"x{self.size}")


class OperandReg:
    """An operand: `count` registers of a virtual one from `unit` on, or a half of one.

    `view`: channels and modifiers, for targets whose operands have them.
    """

    __slots__ = ("count", "half", "unit", "v", "view")

    def __init__(self, v: VReg, unit: int = 0, count: int = 1, half: str = "", view: Any = None) -> None:
        self.v, self.unit, self.count, self.half, self.view = v, unit, count, half, view

    def __repr__(self) -> str:
        return f"{self.v}.{self.unit}{self.half}"


class PooledLiteral:
    """A constant: an immediate where the instruction has room for one, else a word of the literal pool.

    `half`: it has 16 bits.
    """

    __slots__ = ("half", "value")

    def __init__(self, value: int, half: bool = False) -> None:
        self.value, self.half = value & (0xFFFF if half else 0xFFFF_FFFF), half

    def __repr__(self) -> str:
        return f"{self.value:#x}"


class FixedNumber:
    """A number that is always encoded in the instruction: a shift count, the number of a barrier."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"#{self.value:#x}"


class MemoryReference:
    """An operand in memory: space, address register or data register, offset, and how it is accessed.

    `after`: the offset is added to the address register after the access, and is no part of the address.
    """

    __slots__ = ("after", "base", "mode", "offset", "space")

    def __init__(self, space: str, base: OperandReg | None, offset: int = 0, mode: str = "") -> None:
        self.space, self.base, self.offset, self.mode = space, base, offset, mode
        self.after = False

    def __repr__(self) -> str:
        return f"{self.mode} {self.space}[{self.base}+{self.offset:#x}]"


class Zero:
    """The register that always reads 0."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "zero"


ZERO = Zero()
SINK = "#"

Operand = Any


@dataclass(frozen=True, eq=False)
class MachineOp:
    """A machine instruction of a target: one row of its table.

    Attributes:
        mnemonic: its name in the instruction set; an operand `name` replaces it.
        results: names of operands that are written.
        copies: names of the operands (to, from) of an instruction that can be a plain copy.
        guarded: it can be predicated.
    """

    mnemonic: str
    results: tuple[str, ...]
    guarded: bool
    copies: tuple[str, str] = ("dst", "src1")

    def __repr__(self) -> str:
        return self.mnemonic


UNSURE = "unsure"


@dataclass(frozen=True, eq=False)
class Note:
    """A change of the known variables: one gets a value, or (`copied`) a register gets that of another.

    `guard`: the condition of the instruction it is attached to; `UNSURE`: it holds for some of the lanes only.
    """

    mark: Mark | None = None
    copied: tuple[OperandReg, OperandReg] | None = None
    guard: object = None


class MIns:
    """A machine instruction.

    Attributes:
        ops: operands by name; strings are words of the instruction (types, conditions, rounding).
        guard: (condition register, test), None for always.
        target: the block a branch goes to.
        moves: the instruction is a plain copy of one register.
        literal: an immediate form exists for a literal source.
        before, after: changes of the source's variables immediately before and after it.
    """

    __slots__ = ("after", "before", "guard", "literal", "loc", "moves", "op", "ops", "tail", "target", "tied")

    def __init__(self, op: MachineOp, ops: dict[str, Operand], loc: Loc = NOWHERE) -> None:
        self.op, self.ops, self.loc = op, ops, loc
        self.guard: tuple[VReg, str] | None = None
        self.target: MBlock | None = None
        self.moves = False
        self.literal = False
        self.tail = ""
        self.tied = False
        self.before: list[Note] = []
        self.after: list[Note] = []

    def copied(self) -> tuple[OperandReg, OperandReg]:
        """Return the destination and source of an instruction that `moves`."""
        to, source = self.op.copies
        return self.ops[to], self.ops[source]

    def defs(self) -> list[OperandReg]:
        """Return the registers written."""
        ops = self.ops
        return [r for n in self.op.results if type(r := ops.get(n)) is OperandReg]

    def uses(self) -> list[OperandReg]:
        """Return the registers read."""
        results = self.op.results
        out: list[OperandReg] = []
        for n, r in self.ops.items():
            if type(r) is OperandReg:
                if n not in results:
                    out.append(r)
            elif type(r) is MemoryReference and r.base is not None:
                out.append(r.base)
        if self.tied:
            out.append(self.ops["dst"])
        if self.guard is not None:
            out.append(OperandReg(self.guard[0]))
        return out

    def __repr__(self) -> str:
        guard = f"({self.guard[1]} {self.guard[0]}) " if self.guard else ""
        target = f" -> {self.target}" if self.target else ""
        return f"{self.tail}{guard}{self.op} " + " ".join(f"{k}={v}" for k, v in self.ops.items()) + target


class MBlock:
    """A block of machine instructions; `succs` in the order (taken, not taken) where it ends in a conditional branch.

    Attributes: `cond` (condition register, test, divergent) of its branch; `notes`: changes of the source's variables
    before the first instruction; `edges`: those on the edge to a successor.
    """

    __slots__ = ("cond", "edges", "index", "ins", "loc", "notes", "preds", "succs")

    def __init__(self, index: int) -> None:
        self.index = index
        self.ins: list[MIns] = []
        self.succs: list[MBlock] = []
        self.preds: list[MBlock] = []
        self.cond: tuple[VReg, str, bool] | None = None
        self.loc: Loc = NOWHERE
        self.notes: list[Note] = []
        self.edges: dict[MBlock, list[Note]] = {}

    @property
    def is_end(self) -> bool:
        """True if the program ends here without another instruction."""
        return not self.succs and not self.ins

    def lead(self, old: MBlock, new: MBlock) -> None:
        """Replace the successor `old` by `new`, with the notes of its edge."""
        self.succs = [new if s is old else s for s in self.succs]
        if old in self.edges:
            self.edges[new] = self.edges.pop(old)

    def note(self, notes: list[Note]) -> None:
        """Append notes after the last instruction."""
        (self.ins[-1].after if self.ins else self.notes).extend(notes)

    def __repr__(self) -> str:
        return f"L{self.index}"


class MFunction:
    """A kernel as machine instructions.

    Attributes:
        spilled: local memory for spilled registers, in bytes.
        breaks: whether lanes leave regions by breaks; such code has no returns.
        marks: the marks of the function; `homes`: the registers of values.
        kept: registers kept alive until an instruction though none reads them, in a debug build.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.blocks: list[MBlock] = []
        self.vregs: list[VReg] = []
        self.count = 0
        self.spilled = 0
        self.breaks = False
        self.registers = 0
        self.marks: list[Mark] = []
        self.homes: dict[IrValue, VReg] = {}
        self.kept: dict[MIns, set[VReg]] = {}

    def vreg(self, cls: RegisterClass, size: int = 1) -> VReg:
        """Return a new virtual register."""
        v = VReg(cls, len(self.vregs), size)
        self.vregs.append(v)
        return v

    def made(self) -> MBlock:
        """Return a new block that has no position in the order yet."""
        self.count += 1
        return MBlock(self.count - 1)

    def block(self, place: int | None = None) -> MBlock:
        """Insert a new block at a place in the order, by default at the end, and return it."""
        b = self.made()
        self.blocks.insert(len(self.blocks) if place is None else place, b)
        return b

    def place(self, before: dict[MBlock, list[MBlock]]) -> None:
        """Insert new blocks into the order, each directly before the block given for it."""
        if before:
            self.blocks = [x for b in self.blocks for x in (*before.get(b, ()), b)]

    def connect(self) -> None:
        """Recompute the predecessors of all blocks."""
        for b in self.blocks:
            b.preds = []
        for b in self.blocks:
            for s in b.succs:
                if b not in s.preds:
                    s.preds.append(b)

    def back_edges(self) -> list[tuple[int, int]]:
        """Return the backward jumps as positions (target, jump), those of a block to itself included."""
        place = {b: k for k, b in enumerate(self.blocks)}
        return [(place[s], k) for k, b in enumerate(self.blocks) for s in b.succs if place[s] <= k]

    def dump(self) -> str:
        """Return the function as text, for people."""
        lines = [self.name]
        for b in self.blocks:
            lines.append(f"{b}: -> {b.succs} {b.cond or ''}")
            lines += [f"    {i}" for i in b.ins]
        return "\n".join(lines)
