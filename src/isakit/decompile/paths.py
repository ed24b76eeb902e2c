"""Paths through a program: the outcomes of conditions under which something is reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from isakit.decompile.comparisons import is_comparison
from isakit.sem.value import Value, all_of, u1

Literal = tuple[Value, bool]
Conjunction = frozenset[Literal]
Terms = Mapping[Conjunction, tuple[Literal, ...]]
MOST = 16
"""Conjunctions of a path up to which conditions are split."""


class Path:
    """The outcomes of conditions under which an instruction is reached: a disjunction of conjunctions of literals.

    `terms`: each conjunction, with its literals in order of occurrence, because sets are ordered by memory addresses.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    def both(self, condition: Value, wanted: bool) -> Path:
        """Return the part of the path on which a condition also has the wanted outcome."""
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
        made: dict[Conjunction, tuple[Literal, ...]] = {}
        for t, literals in self.terms.items():
            if opposite not in t:
                made.setdefault(t | {literal}, literals if literal in t else (*literals, literal))
        return Path(made)

    def either(self, other: Path) -> Path:
        """Return the union of two paths; conditions that occur with both outcomes drop out."""
        terms = dict(self.terms)
        for t, literals in other.terms.items():
            terms.setdefault(t, literals)
        while merged := next(_merges(terms), None):
            first, second, common = merged
            del terms[first], terms[second]
            terms.setdefault(frozenset(common), common)
        return Path({t: literals for t, literals in terms.items() if not any(u < t for u in terms)})

    def decides(self, other: Path) -> bool | None:
        """Return whether invocations on this path are on another one: always, never, or (None) it depends."""
        if all(any(o <= t for o in other.terms) for t in self.terms):
            return True
        if all(any((c, not wanted) in t for c, wanted in o) for t in self.terms for o in other.terms):
            return False
        return None

    def value(self) -> Value:
        """Return a condition that is 1 where the path is taken."""
        out = u1(0)
        for term in sorted(self.terms.values(), key=len):
            out = out | all_of([c if wanted else ~c for c, wanted in term])
        return out

    def __bool__(self) -> bool:
        return bool(self.terms)


ALWAYS = Path({frozenset[Literal](): ()})
NEVER = Path({})


def _merges(terms: Terms) -> Iterator[tuple[Conjunction, Conjunction, tuple[Literal, ...]]]:
    for t, literals in terms.items():
        for literal in literals:
            other = t - {literal} | {(literal[0], not literal[1])}
            if other in terms:
                yield t, other, tuple(x for x in literals if x is not literal)


def without(path: Path, gone: Path) -> Path:
    """Return the invocations of a path that did not take a part of it."""
    out = path
    for term in gone.terms.values():
        rest = NEVER
        for condition, wanted in term:
            rest = rest.either(out.both(condition, not wanted))
        out = rest
    return out
