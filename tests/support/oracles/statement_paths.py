"""The ways through a USSE program: by its jumps, and as Vita3K's recompiler reads it, as statements in each other."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

from isakit.codec.instruction import Instruction


class _Jump(NamedTuple):
    to: int
    conditional: bool


class _Loop(NamedTuple):
    first: int
    end: int
    """The place of the last jump back."""


class _LeaveLoop(Exception): ...


class _NextTurn(Exception): ...


class StatementPaths:
    """Ways through one program, conditions at random."""

    def __init__(self, code: Sequence[Instruction]) -> None:
        self.end = len(code) - 1
        self.idle = {k for k, i in enumerate(code) if i.mnemonic == "nop"}
        self.jumps = {
            k: _Jump(k + (i.target - i.address) // i.size, i.text.split()[0] != "br")
            for k, i in enumerate(code)
            if i.mnemonic == "br" and i.target is not None
        }
        self.heads = {j.to for k, j in self.jumps.items() if j.to <= k}

    def by_jumps(self, seed: int, most: int) -> list[int]:
        """Return the first places that are executed."""
        return list(islice((k for k in self._jumping(Random(seed)) if k not in self.idle), most))

    def by_statements(self, seed: int, most: int) -> list[int]:
        """Return the first places that are executed where the program is read as statements."""
        way = self._statements(0, self.end, None, Random(seed))
        return list(islice((k for k in way if k not in self.idle), most))

    def _jumping(self, r: Random) -> Iterator[int]:
        k = 0
        while k <= self.end:
            jump = self.jumps.get(k)
            if jump is None:
                yield k
            if jump is not None and (not jump.conditional or r.random() < 0.5):
                k = jump.to
            else:
                k += 1

    def _statements(self, first: int, end: int, loop: _Loop | None, r: Random) -> Iterator[int]:
        k = first
        while k <= end:
            jump = self.jumps.get(k)
            if jump is None and k in self.heads and (loop is None or k != loop.first):
                k = yield from self._turns(k, r)
            elif jump is None:
                yield k
                k += 1
            elif loop is not None and (jump.to > loop.end or jump.to == loop.first):
                if not jump.conditional or r.random() < 0.5:
                    raise _LeaveLoop if jump.to > loop.end else _NextTurn
                k += 1
            elif not jump.conditional:
                k = jump.to  # the way on, or the end of these statements
            else:
                k = yield from self._branch(k, jump.to, end, loop, r)

    def _turns(self, head: int, r: Random) -> Generator[int, None, int]:
        last = max(k for k, j in self.jumps.items() if j.to == head and k >= head and not j.conditional)
        loop = _Loop(head, last)
        while True:
            try:
                yield from self._statements(head, last - 1, loop, r)
            except _LeaveLoop:
                return last + 1
            except _NextTurn:
                pass

    def _branch(self, k: int, to: int, end: int, loop: _Loop | None, r: Random) -> Generator[int, None, int]:
        """Run an `if`; the jump before the place that its condition leads to is the end of a `then`."""
        then_end = self.jumps.get(to - 1)
        assert then_end is None or (not then_end.conditional and then_end.to >= to), (k, to)
        taken = r.random() < 0.5
        if not taken:
            yield from self._statements(k + 1, min(to - 1, end), loop, r)
        elif then_end is not None:
            yield from self._statements(to, then_end.to - 1, loop, r)
        return to if then_end is None else then_end.to
