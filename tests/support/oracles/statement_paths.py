"""The ways through a USSE program: by its jumps, and as Vita3K's recompiler reads it, as statements in each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from isakit.codec.instruction import Instruction


class _Jump(NamedTuple):
    to: int
    conditional: bool


class _Statements(NamedTuple):
    """Statements in each other that are being read, the innermost first."""

    end: int
    """Their last place."""
    then: int
    """Where to go on behind them."""
    loop: bool
    first: int
    """Where they begin, so that no loop is seen to begin."""
    around: _Statements | None


class _Way(NamedTuple):
    """A place, and the statements around it; none where the program is read by its jumps."""

    at: int
    inside: _Statements | None


class StatementPaths:
    """Both readings of one program, walked together on all ways that conditions can take."""

    def __init__(self, code: Sequence[Instruction]) -> None:
        self.end = len(code)
        self.idle = {k for k, i in enumerate(code) if i.mnemonic == "nop"}
        self.jumps = {
            k: _Jump(k + (i.target - i.address) // i.size, i.text.split()[0] != "br")
            for k, i in enumerate(code)
            if i.mnemonic == "br" and i.target is not None
        }
        self.heads = {j.to for k, j in self.jumps.items() if j.to <= k}

    def parting(self) -> tuple[int, int] | None:
        """Return two places that the readings come to on the same way, that of the jumps first; None if they agree."""
        whole = _Statements(self.end - 1, self.end, False, 0, None)
        open = [(self._by_jumps(0), self._by_statements(_Way(0, whole)))]
        seen = set(open)
        while open:
            k, way = open.pop()
            if k != way.at:
                return k, way.at
            for pair in self._next(k, way) - seen:
                seen.add(pair)
                open.append(pair)
        return None

    def _next(self, k: int, way: _Way) -> set[tuple[int, _Way]]:
        """Return what follows a place in both readings, for either outcome of its condition."""
        if k >= self.end:
            return set()
        jump = self.jumps.get(k)
        if jump is None:
            return {(self._by_jumps(k + 1), self._by_statements(way._replace(at=k + 1)))}
        taken, not_taken = self._branch(k, jump.to, way.inside)
        return {
            (self._by_jumps(jump.to), self._by_statements(taken)),
            (self._by_jumps(k + 1), self._by_statements(not_taken)),
        }

    def _by_jumps(self, k: int) -> int:
        """Return the next place that does or decides something."""
        passed: set[int] = set()
        while k < self.end and k not in passed:
            passed.add(k)
            jump = self.jumps.get(k)
            if jump is None and k not in self.idle:
                break
            if jump is not None and jump.conditional:
                break
            k = k + 1 if jump is None else jump.to
        return k

    def _by_statements(self, way: _Way) -> _Way:
        """Return the next place that does or decides something, and where that stands."""
        passed: set[_Way] = set()
        while way.inside is not None and way not in passed:
            passed.add(way)
            k, inside = way
            jump = self.jumps.get(k)
            if k > inside.end:
                way = _Way(inside.then, inside if inside.loop else inside.around)
            elif jump is None and k in self.heads and k != inside.first:
                last = max(n for n, j in self.jumps.items() if j.to == k and n >= k and not j.conditional)
                way = _Way(k, _Statements(last - 1, k, True, k, inside))
            elif jump is None:
                if k not in self.idle:
                    break
                way = _Way(k + 1, inside)
            elif jump.conditional:
                break
            else:
                way = self._left(jump.to, inside) or _Way(jump.to, inside)  # the way on, or the end of these statements
        return way

    def _left(self, to: int, inside: _Statements | None) -> _Way | None:
        """Return the way on behind the innermost loop or with its next turn, where a jump leads there."""
        while inside is not None and not inside.loop:
            inside = inside.around
        if inside is None:
            return None
        behind = inside.end + 2
        if to >= behind:
            return _Way(behind, inside.around)
        return _Way(to, inside) if to == inside.first else None

    def _branch(self, k: int, to: int, inside: _Statements | None) -> tuple[_Way, _Way]:
        """Return the ways of a condition. The jump before the place that it leads to is the end of a `then`."""
        assert inside is not None
        left = self._left(to, inside)
        if left is not None:
            return left, _Way(k + 1, inside)
        then_end = self.jumps.get(to - 1)
        assert then_end is None or (not then_end.conditional and then_end.to >= to), (k, to)
        behind = to if then_end is None else then_end.to
        yes = _Way(to, inside)
        if then_end is not None:
            yes = _Way(to, _Statements(behind - 1, behind, False, to, inside))
        return yes, _Way(k + 1, _Statements(min(to - 1, inside.end), behind, False, k, inside))
