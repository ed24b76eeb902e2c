"""Paths through a program: on which outcomes of conditions something is reached."""

from __future__ import annotations

from collections.abc import Iterator

from isakit.decompile.integer_tests import is_comparison
from isakit.sem.value import Value, all_of, u1

Literal = tuple[Value, bool]
Conjunction = frozenset[Literal]
MOST = 16
"""Conjunctions of a path up to which conditions are taken apart."""


class Path:
    """On which outcomes of conditions an instruction is reached: a disjunction of conjunctions of literals."""

    def __init__(self, terms: frozenset[frozenset[Literal]]) -> None:
        self.terms = terms

    def both(self, condition: Value, wanted: bool) -> Path:
        """Return the part of the path where a condition also is as wanted."""
        if condition.op == "const":
            return self if bool(condition.attr) == wanted else NEVER
        if condition.op == "not":
            return self.both(condition.args[0], not wanted)
        if condition.op in ("and", "or") and not is_comparison(condition) and len(self.terms) <= MOST:
            first, second = condition.args
            if (condition.op == "and") == wanted:
                return self.both(first, wanted).both(second, wanted)
            return self.both(first, wanted).either(self.both(first, not wanted).both(second, wanted))
        literal, opposite = (condition, wanted), (condition, not wanted)
        return Path(frozenset(t | {literal} for t in self.terms if opposite not in t))

    def either(self, other: Path) -> Path:
        """Return the union of two paths; conditions whose both outcomes are there drop out."""
        terms = set(self.terms | other.terms)
        while merged := next(_merges(terms), None):
            first, second, common = merged
            terms -= {first, second}
            terms.add(common)
        return Path(frozenset(t for t in terms if not any(u < t for u in terms)))

    def decides(self, other: Path) -> bool | None:
        """Return whether lanes on this path are on another one: always, never, or (None) it depends."""
        if all(any(o <= t for o in other.terms) for t in self.terms):
            return True
        if all(any((c, not wanted) in t for c, wanted in o) for t in self.terms for o in other.terms):
            return False
        return None

    def value(self) -> Value:
        """Return 1 on the path."""
        out = u1(0)
        for term in sorted(self.terms, key=len):
            out = out | all_of([c if wanted else ~c for c, wanted in term])
        return out

    def __bool__(self) -> bool:
        return bool(self.terms)


ALWAYS = Path(frozenset({frozenset[Literal]()}))
NEVER = Path(frozenset[frozenset[Literal]]())


def _merges(terms: set[frozenset[Literal]]) -> Iterator[tuple[Conjunction, Conjunction, Conjunction]]:
    for t in terms:
        for literal in t:
            other = t - {literal} | {(literal[0], not literal[1])}
            if other in terms:
                yield t, other, t - {literal}


def without(path: Path, gone: Path) -> Path:
    """Return the invocations of a path that did not take a part of it."""
    out = path
    for term in gone.terms:
        rest = NEVER
        for condition, wanted in term:
            rest = rest.either(out.both(condition, not wanted))
        out = rest
    return out
