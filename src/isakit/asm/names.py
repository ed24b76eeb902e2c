"""The values of names: numbers, labels, and lazily evaluated expressions."""

from __future__ import annotations

from collections.abc import Callable

from isakit.asm.sections import Scope
from isakit.asm.source import Statement
from isakit.codec import Stream, Token


class _Missing(Exception):
    """An expression needs another expression first."""

    def __init__(self, key: tuple[Scope, str]) -> None:
        self.key = key
        super().__init__(key[1])


class Names:
    """Looks names up from inside a scope; every expression is evaluated once.

    `report(statement, token, message)` is called for expressions without a value; they count as 0 from then on.
    """

    def __init__(self, scope: Scope, report: Callable[[Statement, Token | None, str], None] | None = None) -> None:
        self.scope = scope
        self._report = report
        self._values: dict[tuple[int, str], int | None] = {}

    def forget(self) -> None:
        """Evaluate expressions anew: numbers have changed."""
        self._values.clear()

    def __call__(self, name: str) -> int | None:
        """Return the value of a name, None if it has none."""
        found = _find(self.scope, name)
        if found is None:
            return None
        scope, number = found
        return number if number is not None else self._evaluate((scope, name))

    def here(self, address: int) -> Callable[[str], int | None]:
        """Return the same lookup with `.` as the address of a statement."""
        return lambda name: address if name == "." else self(name)

    def _evaluate(self, key: tuple[Scope, str]) -> int | None:
        """Return the value of an expression; works through chains of any length without recursion."""
        pending = [key]
        waiting = {(id(key[0]), key[1])}
        while pending:
            scope, name = pending[-1]
            known = id(scope), name
            if known in self._values:
                pending.pop()
                continue
            try:
                self._values[known] = self._attempt(scope, name)
            except _Missing as missing:
                wanted = id(missing.key[0]), missing.key[1]
                if wanted in waiting:
                    self._values[known] = self._bad(scope, name, None, f"the value of `{name}` depends on itself")
                else:
                    pending.append(missing.key)
                    waiting.add(wanted)
        return self._values[id(key[0]), key[1]]

    def _attempt(self, scope: Scope, name: str) -> int | None:
        tokens = scope.expressions[name][1]

        def lookup(other: str) -> int | None:
            found = _find(scope, other)
            if found is None:
                return None
            owner, number = found
            if number is not None:
                return number
            known = id(owner), other
            if known not in self._values:
                raise _Missing((owner, other))
            return self._values[known]

        got = Stream(tokens, lookup).number(0)
        if got is not None and got[0] == len(tokens):
            return got[1]
        at = tokens[got[0]] if got else tokens[0]
        return self._bad(scope, name, at, f"`{at.text}` is neither a number nor a defined name")

    def _bad(self, scope: Scope, name: str, token: Token | None, message: str) -> int | None:
        if self._report is None:
            return None
        self._report(scope.expressions[name][0], token, message)
        return 0


def _find(scope: Scope, name: str) -> tuple[Scope, int | None] | None:
    """Return the scope that defines a name, and its number unless it is an expression."""
    at: Scope | None = scope
    while at is not None:
        if name in at.numbers:
            return at, at.numbers[name]
        if name in at.expressions:
            return at, None
        at = at.parent
    return None
