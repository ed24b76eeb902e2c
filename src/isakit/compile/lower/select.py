"""Walks over a function and applies the target's rules to select machine instructions for its operations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager

from isakit.compile.ir import Block, Const, Function, Ins, IrValue, Mark
from isakit.compile.lower.form import MachineOp, MBlock, MFunction, MIns, Note, Operand, OperandReg, VReg
from isakit.compile.lower.target import Target
from isakit.flow.graph import FlowGraph


class Selection(ABC):
    """Instruction selection for one function: its state, and the operations that rules use.

    Attributes: `out` (the block being filled), `at` (the operation being selected), `guard` (the condition under which
    instructions are emitted).
    """

    def __init__(self, f: Function, target: Target, divergent: set[Block]) -> None:
        self.f, self.kinds, self.rules, self.divergent = f, target.kinds, target.rules, divergent
        self.m = MFunction(f.name)
        self.vregs: dict[IrValue, VReg] = {}
        self.out: MBlock
        self.at: Ins | None = None
        self.guard: tuple[VReg, str] | None = None
        self.marks: list[Mark] = []
        """Marks that the next instruction stands behind."""
        self.done: set[Ins] = set()
        """Operations that are selected, or left to others."""

    # --- what a target says -----------------------------------------------------------------------------------------
    @abstractmethod
    def copy(self, dst: VReg, src: VReg) -> None:
        """Copy a whole register."""

    @abstractmethod
    def load(self, dst: OperandReg, value: Const) -> None:
        """Put a constant into a register."""

    def bring(self, dst: VReg, v: IrValue) -> None:
        """Put a value into a register."""
        if isinstance(v, Const):
            self.load(OperandReg(dst), v)
        else:
            self.copy(dst, self.vreg(v))

    def begin(self) -> None:  # noqa: B027  (most targets have nothing to prepare)
        """Prepare for a new block."""

    def line_of(self, i: Ins) -> int:
        """Return the line to compare with those of marks."""
        return i.loc[0]

    def as_computed(self, mark: Mark) -> Mark:
        """Record a mark, and return it as it holds here, where its value may not have been computed yet."""
        self.m.marks.append(mark)
        return mark

    def taken_over(self, i: Ins) -> bool:
        """Return whether the instruction of another operation covers this one, which then needs none of its own."""
        return False

    # --- what rules use ---------------------------------------------------------------------------------------------
    def vreg(self, v: IrValue) -> VReg:
        """Return the virtual register of a value."""
        got = self.vregs.get(v)
        if got is None:
            got = self.vregs[v] = self.m.vreg(*self.kinds[v.kind])
        return got

    def emit(self, op: MachineOp, /, **ops: Operand) -> MIns:
        """Append an instruction; operands that are None, False or empty are left out."""
        m = MIns(op, {k: v for k, v in ops.items() if v is not None and v is not False and v != ""})
        if self.at is not None:
            m.loc = self.at.loc
        m.guard = self.guard
        if self.marks:
            m.before = [Note(mark, guard=m.guard) for mark in self.marks]
            self.marks = []
        self.out.ins.append(m)
        return m

    @contextmanager
    def under(self, guard: tuple[VReg, str] | None) -> Generator[None]:
        """Emit instructions under another condition, or always."""
        old, self.guard = self.guard, guard
        yield
        self.guard = old

    # --- whole functions --------------------------------------------------------------------------------------------
    def run(self) -> MFunction:
        """Select instructions for the whole function."""
        blocks = {b: self.m.block() for b in self.f.blocks}
        temporaries = {phi: self.m.vreg(*self.kinds[phi.out.kind]) for b in self.f.blocks for phi in b.phis}
        # Not in the order of the code: what a comparison leaves in its condition is known after it only, and it may
        # stand further down than the block it leads to.
        for b in FlowGraph(self.f.blocks[:1], lambda b: b.succs).nodes:
            self.out = blocks[b]
            self.out.loc = b.loc
            self.begin()
            for phi in b.phis:
                self.at = phi
                self.copy(self.vreg(phi.out), temporaries[phi])
            marks = list(reversed(b.marks))
            for i in b.ins:
                self.at = i
                while marks and marks[-1].line < self.line_of(i):
                    self.marks.append(self.as_computed(marks.pop()))
                if not self.taken_over(i):
                    self.rules.select(self, i)
                self.done.add(i)
            self.marks += map(self.as_computed, reversed(marks))
            self._finish(b, blocks, temporaries)
            self.out.note([Note(mark) for mark in self.marks])
            self.marks = []
        self.m.connect()
        self.m.homes = self.vregs
        return self.m

    def _finish(self, b: Block, blocks: dict[Block, MBlock], temporaries: dict[Ins, VReg]) -> None:
        self.at = None
        for s in b.succs:
            if s.phis:
                k = s.preds.index(b)
                for phi in s.phis:
                    self.bring(temporaries[phi], phi.args[k])
        self.out.succs = [blocks[s] for s in b.succs]
        if b.term[0] == "branch":
            c = self.vreg(b.term[1])
            self.out.cond = c, c.false if b.term[2] else c.true, b in self.divergent
