"""Functions of a SPIR-V module as nested statements: calls are inlined, ids are values.

A pointer is an expression of `shading` that names a variable and a part of it, so that loads and stores are those of
`shading`. Ids of the results of instructions are values; phis are variables that the blocks before them write.
"""

from __future__ import annotations

from functools import partial

from isakit.compile.ir import Const
from isakit.compile.shading.emitter import Values
from isakit.compile.shading.lower import DEEPEST_CALL
from isakit.compile.shading.lower_expressions import Lowered
from isakit.compile.shading.source import ShadingError
from isakit.compile.shading.spirv import opcodes as spv
from isakit.compile.shading.spirv.module import PointerType, SpirvBlock, SpirvFunction
from isakit.compile.shading.spirv.numbers import NumberInstructions
from isakit.compile.shading.spirv.words import SpirvInstruction
from isakit.compile.shading.typed import Typed
from isakit.compile.shading.types import BOOL, VOID, Numeric, SamplerType
from isakit.compile.shading.variables import Meeting

_LIKE = {"InBoundsAccessChain": "AccessChain", "Image": "SampledImage"}
"""Operations that are lowered as another one."""
DEEPEST = 120
"""Nesting depth of constructs."""


class SpirvControl(NumberInstructions):
    """Lowers functions by the merge instructions of their blocks, which tell where selections and loops end."""

    # --- functions ---------------------------------------------------------------------------------------------------
    def inline(self, f: SpirvFunction, arguments: list[Typed]) -> Values:
        """Inline a call of a function; return its result."""
        self.depth += 1
        if self.depth > DEEPEST_CALL:
            raise ShadingError(self.pos, "functions call each other too deeply")
        if not f.blocks or len(arguments) != len(f.parameters):
            raise ShadingError(self.pos, "what a function does is not there")
        outer = self.frame, self.kept, self.shared, self.blocks, self.phis, self.current, self.entered
        self.frame = {n: a for (n, _), a in zip(f.parameters, arguments, strict=True)}
        self.kept, self.shared, self.entered = {}, f.shared(), set()
        self.blocks = {b.label: b for b in f.blocks}
        self.phis = {i.word(1): self.variable_slots(self.module.type(i.word(0))) for b in f.blocks for i in b.phis}
        slots = [] if f.result is VOID else self.variable_slots(f.result)
        self.put_all(slots, self.nothing(f.result))
        with self.level("block") as level:
            self.ends.append((level, f.result, slots))
            self._from(f.blocks[0].label)
            self.ends.pop()
        self.frame, self.kept, self.shared, self.blocks, self.phis, self.current, self.entered = outer
        self.depth -= 1
        return [self.get(n) for n in slots]

    # --- blocks ------------------------------------------------------------------------------------------------------
    def _from(self, label: int) -> None:
        """Lower a block and those after it, up to jumps out of the enclosing construct."""
        self.nested += 1
        if self.nested > DEEPEST:
            raise ShadingError(self.pos, "this is nested too deeply")
        way: set[int] = set()
        while label and not self.dead:
            b = self.blocks.get(label)
            if b is None or b.end is None:
                raise ShadingError(self.pos, "a block has no end" if b else f"there is no block {label}")
            if label in self.entered:
                raise ShadingError(self.pos, f"a jump back to block {label}, which does not begin a loop")
            way.add(label)
            self.entered.add(label)
            label = self._loop(b) if b.turn else self._statements(b)
        self.entered -= way
        self.nested -= 1

    def _to(self, label: int) -> int:
        """Jump to a block, or return its label if it simply follows."""
        self._tell_phis(label)
        target = self.targets.get(label)
        if target is None:
            return label
        self.leave(target)
        return 0

    def _tell_phis(self, label: int) -> None:
        """Assign the phis of a block their values on the edge from here."""
        b = self.blocks.get(label)
        for i in b.phis if b is not None else ():
            pairs = i.rest(2)
            for value, parent in zip(pairs[::2], pairs[1::2], strict=False):
                if parent == self.current:
                    got = self.typed(value)
                    if got.type != self.module.type(i.word(0)):
                        raise ShadingError(self.pos, f"id {value} is {got.type} in a phi of another type")
                    self.put_all(self.phis[i.word(1)], self.value(got))

    def _loop(self, b: SpirvBlock) -> int:
        """Lower the loop that a block begins; return the label of the block after it."""
        self.known = {}  # what its turns change is not looked for
        head = self.meeting()
        self.enter(head)
        around = self.targets
        with self.level("loop", self._last(b)) as loop:
            with self.level("block") as turn:
                self.targets = {**around, b.merge: loop, b.turn: turn}
                self._from(self._statements(b))
            if b.turn != b.label and not self.dead:
                with self.level("block") as again:
                    self.targets = {**around, b.merge: loop, b.label: again}
                    self._from(b.turn)
            self.targets = around
            if not self.dead:
                self.b.block.term = ("jump", head.block)
                self.dead = True
            self.known = {}
        return b.merge

    def _statements(self, b: SpirvBlock) -> int:
        """Lower a block and the selection that it begins; return the label of the block after it."""
        self.current = b.label
        for i in b.phis:
            self.keep(i, self.module.type(i.word(0)), [self.get(n) for n in self.phis[i.word(1)]])
        for i in b.body:
            self.step(i)
        assert b.end is not None
        self._moved(b.end)
        end: int = getattr(self, f"_{spv.NAMES[b.end.op]}")(b, b.end)
        return end

    def _last(self, b: SpirvBlock) -> bool:
        """Return whether the end of the construct that a block begins is also the end of the enclosing one."""
        after = self.blocks.get(b.merge)
        if after is None or after.phis or after.body or after.turn or after.end is None:
            return False
        to = after.end.word(0) if spv.NAMES[after.end.op] == "Branch" else 0
        if to in self.blocks:
            return not self.blocks[to].phis and self.targets.get(to) is self.levels[-1]
        return spv.NAMES[after.end.op] == "Return" and self.ends[-1][0] is self.levels[-1]

    # --- how they end ------------------------------------------------------------------------------------------------
    def _Branch(self, b: SpirvBlock, i: SpirvInstruction) -> int:
        return self._to(i.word(0))

    def _BranchConditional(self, b: SpirvBlock, i: SpirvInstruction) -> int:
        (p,) = self.given(i, 0, Numeric(BOOL))
        yes, no = i.word(1), i.word(2)
        if isinstance(p, Const) or yes == no:
            return self._to(yes if yes == no or (isinstance(p, Const) and p.value) else no)
        after = 0 if b.turn else b.merge
        if not after and (yes in self.targets) != (no in self.targets):
            after = no if yes in self.targets else yes
        with self.level("if", after == b.merge and self._last(b)) as level:
            around = self.targets
            self.targets = {**around, after: level} if after else around
            first, second = (level.after if label == after else self.meeting() for label in (yes, no))
            if after in (yes, no):
                self._tell_phis(after)
            self.fork(p, first, second)
            places = [self._way(label, m, b) for label, m in ((yes, first), (no, second)) if m is not level.after]
            if len(places) == 2:
                self.leaving_first(places[0], places[1], level)
            self.targets = around
        return after

    def _way(self, label: int, way: Meeting, b: SpirvBlock) -> int:
        """Lower one branch of the condition that ends a block; return the index of its first block."""
        place = self.enter(way)
        self._go_to(label, b)
        return place

    def _go_to(self, label: int, b: SpirvBlock) -> None:
        """Lower the blocks after an edge, up to jumps out of the construct."""
        self.current = b.label
        self._from(self._to(label))

    def _Switch(self, b: SpirvBlock, i: SpirvInstruction) -> int:
        selector = self.numbers(i.word(0))
        if not selector.numeric.is_scalar or selector.numeric.base.kind not in ("int", "uint"):
            raise ShadingError(self.pos, "a switch is by an integer")
        cases: dict[int, list[int | None]] = {}
        pairs = i.rest(2)
        for literal, label in zip(pairs[::2], pairs[1::2], strict=False):
            cases.setdefault(label, []).append(literal)
        ways = [(cases[label], partial(self._go_to, label, b)) for label in cases if label != i.word(1)]
        ways.append(([None], partial(self._go_to, i.word(1), b)))
        with self.level("block", self._last(b)) as level:
            around = self.targets
            self.targets = {**around, b.merge: level} if b.merge else around
            self.by_cases(self.value(selector)[0], ways)
            self.targets = around
        return b.merge

    def _Return(self, b: SpirvBlock, i: SpirvInstruction) -> int:
        self.leave(self.ends[-1][0])
        return 0

    def _ReturnValue(self, b: SpirvBlock, i: SpirvInstruction) -> int:
        level, result, slots = self.ends[-1]
        got = self.typed(i.word(0))
        if got.type != result:
            raise ShadingError(self.pos, "a function returns a value of another type")
        self.put_all(slots, self.value(got))
        self.leave(level)
        return 0

    def _Kill(self, b: SpirvBlock, i: SpirvInstruction) -> int:
        self._discard()
        return self._Unreachable(b, i)

    _TerminateInvocation = _Kill

    def _Unreachable(self, b: SpirvBlock, i: SpirvInstruction) -> int:
        """Continue after the enclosing selection, as discarded pixels do."""
        self.leave(self.levels[-1] if self.levels[-1].kind == "if" else self.ends[-1][0])
        return 0

    # --- instructions ------------------------------------------------------------------------------------------------
    def step(self, i: SpirvInstruction) -> None:
        """Lower one instruction. Raises ShadingError."""
        self._moved(i)
        name = spv.NAMES.get(i.op)
        if name is not None and self.of_table(i, name):
            return
        do = getattr(self, f"op_{_LIKE.get(name or '', name)}", None)
        if do is None:
            what = f"Op{name}" if name else f"the operation with number {i.op}"
            raise ShadingError(self.pos, f"{what} of SPIR-V is not supported")
        do(i)

    def op_FunctionCall(self, i: SpirvInstruction) -> None:
        f = self.module.functions.get(i.word(2))
        if f is None:
            raise ShadingError(self.pos, f"id {i.word(2)} is not a function")
        arguments = [self.typed(n) for n in i.rest(3)]
        for (_, kind), a in zip(f.parameters, arguments, strict=False):
            wanted = kind.to if isinstance(kind, PointerType) else kind
            by_value = isinstance(a, Lowered) or isinstance(a.type, SamplerType)
            if a.type != wanted or not (by_value or isinstance(kind, PointerType)):
                raise ShadingError(self.pos, f"a function is given {a.type} and takes {wanted}")
        values = self.inline(f, arguments)
        if f.result is not VOID:
            self.keep(i, f.result, values)
