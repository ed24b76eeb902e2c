"""Lowers checked shaders to functions of the IR: statements; calls are inlined, short loops unrolled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial, reduce

from isakit.compile.ir import Const, Function, IrValue
from isakit.compile.shading.emitter import TRUE, Values
from isakit.compile.shading.jumps import JumpLowering, Level
from isakit.compile.shading.loop_sizes import LoopSizes
from isakit.compile.shading.lower_expressions import Lowered, has_effects
from isakit.compile.shading.source import ShaderSources, ShadingError
from isakit.compile.shading.typed import (
    Changes,
    ShaderVariable,
    Typed,
    TypedAssign,
    TypedBinary,
    TypedBlock,
    TypedCall,
    TypedConvert,
    TypedDeclare,
    TypedEvaluate,
    TypedFunction,
    TypedIf,
    TypedLeave,
    TypedLoop,
    TypedName,
    TypedReturn,
    TypedStatement,
    TypedStep,
    TypedSwitch,
    variables_of,
)
from isakit.compile.shading.types import VOID, Numeric, Type
from isakit.compile.vector_ops import DISCARD

LONGEST_UNROLLED = 64
"""Iterations up to which a loop is unrolled if that pays."""
MOST_TURNS = 1024
"""Iterations of nested loops, multiplied, up to which they are unrolled."""
MOST_OPERATIONS = 1 << 16
"""Operations and statements of a program up to which it is accepted, before any optimisation."""
DEEPEST_CALL = 40


class Lowering(JumpLowering):
    """Lowers the statements of one program into a function."""

    def __init__(self, name: str, stage: str, sources: ShaderSources) -> None:
        super().__init__(Function(name))
        self.stage, self.sources = stage, sources
        self.returns: list[tuple[Level, list[int]]] = []
        self.breaks: list[Level] = []
        self.continues: list[Level] = []
        self.turns = 1
        self.sizes = LoopSizes()
        self.made = 0
        self.counted = self.b.block, 0
        self.depth = 0

    # --- statements --------------------------------------------------------------------------------------------------
    def run(self, s: TypedStatement) -> None:
        """Lower a statement, unless it is unreachable."""
        if self.dead:
            return
        self.at(s.pos)
        getattr(self, f"do_{type(s).__name__}")(s)

    def at(self, pos: int) -> None:
        """Set the location of the code that follows, and refuse programs that grow without bound."""
        self.statement += 1
        self.b.loc = (*self.sources.place(pos), self.statement)
        block = self.b.block
        self.made += 1 + len(block.ins) - (self.counted[1] if self.counted[0] is block else 0)
        self.counted = block, len(block.ins)
        if self.made > MOST_OPERATIONS:
            raise ShadingError(pos, "the program gets too large here")

    def do_TypedBlock(self, s: TypedBlock) -> None:
        if s.scope:
            self.scopes.append([])
        self.in_order(s.statements)
        if s.scope:
            self.forget(self.scopes.pop())

    def in_order(self, statements: Sequence[TypedStatement]) -> None:
        """Lower a sequence of statements."""
        last = self.last
        for k, x in enumerate(statements, 1):
            self.last = last and k == len(statements)
            self.run(x)
        self.last = last

    def do_TypedDeclare(self, s: TypedDeclare) -> None:
        v = s.variable
        self.places.pop(v, None)  # it begins anew in every turn of a loop that is taken apart
        values = self.nothing(v.type) if s.initial is None else self.value(s.initial)
        self.tell(v)
        self.put_all(self.slots(v), values)

    def do_TypedEvaluate(self, s: TypedEvaluate) -> None:
        self.value(s.value)

    def do_TypedIf(self, s: TypedIf) -> None:
        p = self.one(s.condition)
        if isinstance(p, Const):
            way = s.yes if p.value else s.no
            if way is not None:
                self.run(way)
            return
        if s.no is None and self.stage == "fragment" and _only_discards(s.yes):
            self.b.emit(DISCARD, [p], ())
            return
        with self.level("if", self.last) as level:
            yes, no = self.meeting(), self.meeting() if s.no is not None else level.after
            self.fork(p, yes, no)
            first = self.enter(yes)
            self.run(s.yes)
            if s.no is not None:
                self.go(level.after)
                second = self.enter(no)
                self.run(s.no)
                self.leaving_first(first, second, level)

    def do_TypedReturn(self, s: TypedReturn) -> None:
        target, slots = self.returns[-1]
        if s.value is not None:
            self.put_all(slots, self.value(s.value))
        self.leave(target)

    def do_TypedLeave(self, s: TypedLeave) -> None:
        if s.word == "discard":
            if self.stage != "fragment":
                raise ShadingError(s.pos, "only a fragment program has a pixel to discard", 7)
            self.b.emit(DISCARD, [TRUE], ())
        else:
            self.leave((self.breaks if s.word == "break" else self.continues)[-1])

    def do_TypedSwitch(self, s: TypedSwitch) -> None:
        value = self.one(s.value)
        ways = [(labels, partial(self.in_order, _up_to_leave(s, k))) for k, (labels, _) in enumerate(s.cases)]
        ways.sort(key=lambda way: None in way[0])
        with self.level("block", self.last) as level:
            self.breaks.append(level)
            self.by_cases(value, ways)
            self.breaks.pop()

    def by_cases(self, value: IrValue, ways: Iterable[tuple[Sequence[int | None], Callable[[], None]]]) -> None:
        """Emit each case by its function, under the test that a value is one of its labels.

        None is the default label and comes last.
        """
        with ExitStack() as conditions:
            for labels, do in ways:
                p = TRUE if None in labels else self._any_label(value, labels)
                if not isinstance(p, Const):
                    way = conditions.enter_context(self.level("if", self.last))
                    yes, no = self.meeting(), self.meeting()
                    self.fork(p, yes, no)
                    first = self.enter(yes)
                    do()
                    self.go(way.after)
                    conditions.callback(self.leaving_first, first, self.enter(no), way)
                elif p.value:
                    do()
                    break

    def _any_label(self, value: IrValue, labels: Sequence[int | None]) -> IrValue:
        found = (self.compare("==", value, Const(label)) for label in labels if label is not None)
        return reduce(self.either, found)

    # --- loops -------------------------------------------------------------------------------------------------------
    def do_TypedLoop(self, s: TypedLoop) -> None:
        self.scopes.append([])
        if s.initial is not None:
            self.run(s.initial)
        turns = self._turns(s)
        if turns is not None and self.sizes.pays_to_unroll(s, turns * self.turns):
            self._unrolled(s, turns)
        else:
            self._looped(s)
        self.forget(self.scopes.pop())

    def _unrolled(self, s: TypedLoop, turns: int) -> None:
        self.turns *= max(1, turns)
        with self.level("block", self.last) as level:
            self.breaks.append(level)
            for _ in range(turns):
                with self.level("block") as turn:
                    self.continues.append(turn)
                    self.run(s.body)
                    self.continues.pop()
                if s.step is not None and not self.dead:
                    self.value(s.step)
                if self.dead:
                    break
            self.breaks.pop()
        self.turns //= max(1, turns)

    def _looped(self, s: TypedLoop) -> None:
        head = self.meeting()
        self.known = kept = self._kept(s.changed | s.stepped)
        self.go(head)
        head.known = [dict(kept)]
        self.enter(head)
        with self.level("loop", self.last) as level:
            if not s.after:
                self._leave_unless(s.condition, level)
            self.breaks.append(level)
            with self.level("block") as turn:
                self.continues.append(turn)
                self.run(s.body)
                self.continues.pop()
            self.breaks.pop()
            if s.step is not None and not self.dead:
                self.value(s.step)
            if s.after and not self.dead:
                self._leave_unless(s.condition, level)
            if not self.dead:
                self.b.block.term = ("jump", head.block)
                self.dead = True
            self.known = {}

    def _kept(self, changed: Changes) -> dict[int, Const]:
        """Return the constants known for variables that a loop does not change."""
        forgotten = {n for v in variables_of(changed) for n in self.places.get(v, [])}
        return {n: c for n, c in self.known.items() if n not in forgotten}

    def _leave_unless(self, condition: Typed | None, loop: Level) -> None:
        """Leave a loop if its condition is false."""
        if condition is None:
            return
        self.at(condition.pos)
        p = self.one(condition)
        if isinstance(p, Const):
            if not p.value:
                self.leave(loop)
            return
        inside = self.meeting()
        self.fork(p, inside, loop.after)
        self.enter(inside)

    def _turns(self, s: TypedLoop) -> int | None:
        """Return the number of iterations of a loop that counts from one constant to another, None for other loops."""
        if s.after or s.condition is None or s.step is None:
            return None
        counter = _counter(s.step)
        if counter is None or counter not in self.places or len(self.slots(counter)) != 1:
            return None
        if counter in variables_of(s.changed) or s.stepped != {counter}:
            return None
        start = self.known.get(self.slots(counter)[0])
        if start is None or not isinstance(s.condition, TypedBinary) or has_effects(s.condition):
            return None
        (slot,) = self.slots(counter)
        block, before, count = self.b.block, len(self.b.block.ins), 0
        marks = len(block.marks)
        most = min(LONGEST_UNROLLED, MOST_TURNS // self.turns)
        known, env = self.known, block.env
        self.known, block.env = self._kept(s.changed), dict(env)
        for n in known.keys() - self.known.keys():
            block.env[n] = IrValue(self.function.kinds[n])  # each turn another one
        while count <= most:
            p = self.one(s.condition)
            if not isinstance(p, Const) or self.b.block is not block:
                count = -1
                break
            if not p.value:
                break
            self.value(s.step)
            if slot not in self.known:
                count = -1
                break
            count += 1
        self.known, block.env = known, env
        del block.ins[before:], block.marks[marks:]
        self.b.shared.clear()
        return None if count < 0 or count > most else count

    # --- calls -------------------------------------------------------------------------------------------------------
    def call_function(self, t: TypedCall) -> Values:
        """Inline a call; return its result."""
        f = t.function
        if f.body is None:
            raise ShadingError(t.pos, f"`{f.name}` is declared, but what it does is not there", len(f.name))
        self.depth += 1
        if self.depth > DEEPEST_CALL:
            raise ShadingError(t.pos, "functions call each other too deeply", len(f.name))
        given: list[Values] = []
        targets: list[tuple[ShaderVariable, Typed]] = []
        for p, a in zip(f.parameters, t.arguments, strict=True):
            if p.qualifiers & {"out", "inout"}:
                target = self.frozen(a)
                targets.append((p, target))
                given.append(
                    self._as(self.value(target), a.pos, a.type, p.type)
                    if "out" not in p.qualifiers
                    else self.nothing(p.type)
                )
            else:
                given.append(self.value(a))
        self.inside.append(f.name)
        self.scopes.append([])
        for p, values in zip(f.parameters, given, strict=True):
            self.places[p] = self.variable_slots(p.type)
            self.tell(p)
            self.put_all(self.places[p], values)
        result = self.body(f)
        self.forget(self.scopes.pop())
        self.inside.pop()
        loc = self.b.loc
        for p, target in targets:
            values = [self.get(n) for n in self.places[p]]
            if not self.dead:
                self.store(target, self._as(values, target.pos, p.type, target.type))
        self.b.loc = loc
        self.depth -= 1
        return result

    def _as(self, values: Values, pos: int, have: Type, want: Type) -> Values:
        """Convert values of a parameter or its argument to the type of the other one."""
        if have == want or not isinstance(want, Numeric):
            return values
        return self.value(TypedConvert(pos, want, Lowered(pos, have, values)))

    def body(self, f: TypedFunction) -> Values:
        """Emit the statements of a function and return its result."""
        assert f.body is not None
        slots = [] if f.result is VOID else self.variable_slots(f.result)
        for n, v in zip(slots, self.nothing(f.result), strict=True):
            self.put(n, v)
        loops = self.breaks, self.continues
        self.breaks, self.continues = [], []
        result: Values | None = None
        *most, last = f.body.statements or [TypedBlock(f.pos, [])]
        with self.level("block") as level:
            self.returns.append((level, slots))
            self.last = isinstance(last, TypedReturn) and last.value is None
            self.in_order(most)
            self.last = True
            if isinstance(last, TypedReturn) and not self.dead and not level.after.known:
                self.at(last.pos)
                result = [] if last.value is None else self.value(last.value)
                if level.after.known:
                    self.put_all(slots, result)
                    result = None
            else:
                self.run(last)
            self.returns.pop()
        self.breaks, self.continues = loops
        return [self.get(n) for n in slots] if result is None else result

    # --- what expressions ask for ------------------------------------------------------------------------------------
    def clip(self, t: Typed) -> Values:
        v = self.one(t)
        p = reduce(self.either, [self.compare("<", x, self.zero(x.kind)) for x in self.parts(v)])
        self.b.emit(DISCARD, [p], ())
        return []


def _only_discards(s: TypedStatement) -> bool:
    if isinstance(s, TypedBlock):
        return len(s.statements) == 1 and _only_discards(s.statements[0])
    return isinstance(s, TypedLeave) and s.word == "discard"


def _counter(step: Typed) -> ShaderVariable | None:
    """Return the variable that a loop counts with, None where it has none."""
    target = step.target if isinstance(step, TypedStep | TypedAssign) else None
    return target.variable if isinstance(target, TypedName) else None


def _up_to_leave(s: TypedSwitch, first: int) -> list[TypedStatement]:
    """Return the statements from one case up to a jump out of the switch, or to its end."""
    found: list[TypedStatement] = []
    for _, statements in s.cases[first:]:
        found += statements
        if statements and _leaves(statements[-1]):
            break
    return found


def _leaves(s: TypedStatement) -> bool:
    if isinstance(s, TypedBlock):
        return bool(s.statements) and _leaves(s.statements[-1])
    return isinstance(s, TypedReturn) or (isinstance(s, TypedLeave) and s.word != "discard")
