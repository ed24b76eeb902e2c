"""Jumps out of statements, in the form that Vita3K's recompiler understands.

It reconstructs nested statements from control flow. It recognises a jump out of a loop from anywhere within it, and
takes any other forward jump for the end of a `then`, whose `else` ends at the target: if that jump leaves a second `if`
too, the code after that is executed though it is jumped over. A jump that leaves more therefore sets a flag, leaves the
statements it may leave, and jumps on from there if the flag is set.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from isakit.compile.ir import Const, Function
from isakit.compile.shading.emitter import TRUE
from isakit.compile.shading.lower_expressions import ExpressionLowering
from isakit.compile.shading.types import BOOL, Numeric
from isakit.compile.shading.variables import Meeting

FALSE = Const(0, "p")


class Level:
    """Statements that are left together.

    Attributes:
        kind: "if" (one branch of a condition), "loop" (with a jump back), or "block" (without one: an inlined function,
            a switch, an iteration).
        after: the block that follows.
        last: its end is also the end of the enclosing level.
        flag: the variable that is true while a jump to `after` is on its way.
        passed: levels whose jumps pass the end of this one.
        left: a jump out of an `if` in it leads to `after`, so that its rest is read as an `else` within it.
    """

    def __init__(self, kind: str, after: Meeting, flag: int, last: bool) -> None:
        self.kind, self.after, self.flag, self.last = kind, after, flag, last
        self.passed: list[Level] = []
        self.left = False


class JumpLowering(ExpressionLowering):
    """Keeps the stack of levels around the statement being lowered, outermost first."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.levels: list[Level] = []
        self.last = True
        """Nothing follows in the innermost level."""

    @contextmanager
    def level(self, kind: str, last: bool = False) -> Generator[Level, None, None]:
        """Lower statements that can be left together, then continue after them."""
        (flag,) = self.variable_slots(Numeric(BOOL))
        level = Level(kind, self.meeting(), flag, last)
        self.put(flag, FALSE)
        self.levels.append(level)
        outer, self.last = self.last, True
        yield level
        self.last = outer
        self.levels.pop()
        if self.dead or level.after.known:
            self.enter(level.after)
        self.known.pop(flag, None)
        for other in level.passed:
            self._go_on(other)

    def _go_on(self, target: Level) -> None:
        """Leave a level from here if a jump out of it is pending."""
        if self.dead:
            return
        p = self.get(target.flag)
        if isinstance(p, Const):
            if p.value:
                self.leave(target)
            return
        onward, rest = self.meeting(), self.meeting()
        self.fork(p, onward, rest)
        self.enter(onward)
        self.levels.append(Level("if", rest, target.flag, last=False))
        self.leave(target)
        self.levels.pop()
        self.enter(rest)
        self.put(target.flag, FALSE)

    def leaving_first(self, yes: int, no: int, level: Level) -> None:
        """Lay out an `else` that leaves the program's way before its `then`, whose end is where what follows begins."""
        if self.dead and level.after.known:
            blocks = self.function.blocks
            blocks[yes:] = blocks[no:] + blocks[yes:no]

    def leave(self, target: Level) -> None:
        """Jump to the end of an enclosing level; the code after the jump is unreachable."""
        if self.dead:
            return
        through = self._farthest(self.levels.index(target))
        if through is not target:
            self.put(target.flag, TRUE)
            if target not in through.passed:
                through.passed.append(target)
        within = self.levels[self.levels.index(through) + 1 :]
        through.left |= any(level.kind == "if" for level in within)
        self.go(through.after)

    def _farthest(self, outermost: int) -> Level:
        """Return the level that one jump can leave on the way out of another one."""
        ifs = 0
        in_loop = any(level.kind == "loop" for level in self.levels[outermost:])
        for k in range(len(self.levels) - 1, outermost - 1, -1):
            level = self.levels[k]
            if level.kind == "loop" or k == outermost:
                return level
            ifs += (level.kind == "if") + (level.left and not in_loop)
            if ifs > 1 and not level.last:
                return level
        raise AssertionError
