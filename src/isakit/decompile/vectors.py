"""Terms of components folded to terms of vectors.

Components computed by the same operation become one operation on vectors. If a component of such a vector is needed
alone, it is taken from the vector instead of being computed again; components of a vector have the same height above
the symbols, so none depends on another.
"""

from __future__ import annotations

from collections.abc import Sequence

from isakit.decompile.interface import Symbol
from isakit.decompile.terms import Term, Terms
from isakit.sem.value import postorder

LETTERS = "xyzw"
COMMUTATIVE = {"+", "*", "fma", "min", "max"}
"""Operations whose first two operands may be exchanged."""
_SCALAR = {"<", "<=", ">", ">=", "==", "!=", "!", "&&", "||", "vector", "splat", "dot"}
"""Operations without a form for vectors."""
Group = tuple[Term, ...]


class Folding:
    """Folds the components of results. `fold` may be called for all results once `learn` has seen them."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._height: dict[int, int] = {}
        self._home: dict[int, tuple[Group, int]] = {}
        self._folded: dict[tuple[int, ...], Term] = {}
        self._learning = False

    def learn(self, results: Sequence[Sequence[Term]]) -> None:
        """Determine which components are computed together."""
        self._learning = True
        for components in results:
            self.fold(components)
        self._learning = False
        self._folded.clear()

    def height(self, term: Term) -> int:
        """Return the number of operations above the symbols."""
        for t in postorder(term, self._height):
            self._height[id(t)] = 1 + max((self._height[id(a)] for a in t.args), default=0)
        return self._height[id(term)]

    # --- folding -----------------------------------------------------------------------------------------------------
    def fold(self, parts: Sequence[Term]) -> Term:
        """Return the vector of components (a scalar for one)."""
        key = tuple(map(id, parts))
        if key not in self._folded:
            self._folded[key] = self._fold(tuple(parts))
        return self._folded[key]

    def _fold(self, parts: Group) -> Term:
        first = parts[0]
        if len(parts) == 1:
            return self._single(first)
        if all(p is first for p in parts):
            return self.terms.make("splat", first.type, self.fold([first]), size=len(parts))
        home = self._common_home(parts)
        if home is not None:
            return home
        return (
            self._leaves(parts)
            or self._dots(parts)
            or self._staggered(parts)
            or self._alike(parts)
            or self._pieces(parts)
        )

    def _single(self, t: Term) -> Term:
        if t.op in ("number", "symbol", "texel"):
            return self._leaves((t,)) or t
        home = self._common_home((t,))
        return home or self._dot(t) or self.terms.make(t.op, t.type, *(self.fold([a]) for a in t.args), attr=t.attr)

    def _common_home(self, parts: Group) -> Term | None:
        """Return the vector in which all of the components are computed, swizzled, None if there is none."""
        homes = [self._home.get(id(p)) for p in parts]
        if self._learning or homes[0] is None or any(h is None or h[0] is not homes[0][0] for h in homes):
            return None
        group = homes[0][0]
        vector = self._whole(group)
        return self._swizzled(vector, [h[1] for h in homes if h is not None])

    def _whole(self, group: Group) -> Term:
        key = (0, *map(id, group))
        if key not in self._folded:
            self._folded[key] = self._dots(group) or self._alike(group) or self._pieces(group)
        return self._folded[key]

    def _swizzled(self, vector: Term, at: list[int]) -> Term:
        if at == list(range(vector.size)):
            return vector
        if len(at) > 1 and len(set(at)) == 1:
            one = self._swizzled(vector, at[:1])
            return self.terms.make("splat", vector.type, one, size=len(at))
        if vector.size == 1:
            return vector
        return self.terms.make("swizzle", vector.type, vector, attr="".join(LETTERS[k] for k in at), size=len(at))

    def _leaves(self, parts: Group) -> Term | None:
        """Return components of one symbol or one sample, or numbers, None for others."""
        first = parts[0]
        if any(p.op != first.op or p.type != first.type for p in parts):
            return None
        if first.op == "number":
            return self.terms.make("vector", first.type, *parts, size=len(parts)) if len(parts) > 1 else first
        if first.op == "symbol":
            s: Symbol = first.attr
            if any(p.attr.vector != s.vector for p in parts):
                return None
            whole = self.terms.make("symbol", first.type, attr=(s.vector, s.size), size=s.size)
            return self._swizzled(whole, [p.attr.component for p in parts])
        if first.op == "texel":
            fetch, _ = first.attr
            if any(p.attr[0] is not fetch for p in parts):
                return None
            count = len(fetch.coordinate)
            args = [self.fold(first.args[:count])]
            rest = first.args[count:]
            if fetch.lod == "gradient":
                args += [self.fold(rest[:count]), self.fold(rest[count:])]
            elif rest:
                args += [self.fold([rest[0]])]
            whole = self.terms.make("texel", "float", *args, attr=fetch, size=4)
            return self._swizzled(whole, [p.attr[1] for p in parts])
        return None

    def _alike(self, parts: Group) -> Term | None:
        """Return one operation on vectors, if all components are results of that operation, else None."""
        first = parts[0]
        for p in parts:
            same = p.op == first.op and p.type == first.type and len(p.args) == len(first.args) and p.attr == first.attr
            if not same or not p.args or p.op in _SCALAR or p.op == "texel":
                return None
        if first.op == "?:" and any(p.args[0] is not first.args[0] for p in parts):
            return None
        rows = [self._ordered(first, p) for p in parts]
        columns = [tuple(r[k] for r in rows) for k in range(len(first.args))]
        if self._learning and len({self.height(p) for p in parts}) == 1:
            for k, p in enumerate(parts):
                known = self._home.get(id(p))
                if known is None or len(known[0]) < len(parts):
                    self._home[id(p)] = parts, k
        args = [self.fold(c[:1]) if first.op == "?:" and not k else self.fold(c) for k, c in enumerate(columns)]
        return self.terms.make(first.op, first.type, *args, attr=first.attr, size=len(parts))

    def _staggered(self, parts: Group) -> Term | None:
        """Return a vector some of whose components are operations on values like the others, in pieces.

        The common part is one operation: `vec4(a * b.xyz, b.w)` with b computed at once.
        """
        low = min(parts, key=self.height)
        if not low.args or low.op in _SCALAR or all(self.height(p) == self.height(low) for p in parts):
            return None
        inner = [p if self.height(p) == self.height(low) else self._within(p, low) for p in parts]
        inner = [p if p is not None and self.height(p) == self.height(low) else None for p in inner]
        common = tuple(p for p in inner if p is not None)
        if len(common) < len(parts) or len(set(map(id, common))) < len(parts):
            return None
        if self._learning:
            self.fold(common)
        return self._pieces(parts)

    def _within(self, t: Term, model: Term, depth: int = 2) -> Term | None:
        """Return the one operand, near the top of a term, that has the form of another term, None if there is none."""
        found = [a for a in t.args if self._made_alike(a, model)]
        if not found and depth:
            found = [b for a in t.args if (b := self._within(a, model, depth - 1)) is not None]
        return found[0] if len(found) == 1 else None

    def _made_alike(self, a: Term, b: Term, depth: int = 3) -> bool:
        """Return whether two terms differ near their top only in the components that they read."""
        if not depth or (a.op, a.type, len(a.args)) != (b.op, b.type, len(b.args)):
            return not depth
        if a.op == "symbol":
            return a.attr.vector == b.attr.vector
        if a.op == "texel":
            return a.attr[0] is b.attr[0]
        pairs = zip(self._ordered(b, a), b.args, strict=True)
        return a.attr == b.attr and all(self._made_alike(x, y, depth - 1) for x, y in pairs)

    def _ordered(self, model: Term, t: Term) -> tuple[Term, ...]:
        """Return operands in the order that is most similar to those of another component."""
        if t.op not in COMMUTATIVE:
            return t.args
        a, b, *rest = t.args
        x, y = model.args[:2]
        straight, swapped = _likeness(x, a) + _likeness(y, b), _likeness(x, b) + _likeness(y, a)
        return (b, a, *rest) if swapped > straight else t.args

    def _pieces(self, parts: Group) -> Term:
        """Return a vector composed of the longest runs that fold."""
        pieces: list[Term] = []
        k = 0
        while k < len(parts):
            for end in range(len(parts) - (k == 0), k, -1):
                run = parts[k:end]
                if len(run) == 1 or self._folds(run):
                    pieces.append(self.fold(run))
                    k = end
                    break
        return self.terms.make("vector", parts[0].type, *pieces, size=len(parts))

    def _folds(self, run: Group) -> bool:
        found = self.fold(run)
        return found.op != "vector" or all(a.op == "number" for a in found.args)

    def _dots(self, parts: Group) -> Term | None:
        """Return the vector of dot products if every component is one, else None."""
        if not all(p.op == "+" and self._dot(p) for p in parts):
            return None
        return self.terms.make("vector", "float", *(self.fold([p]) for p in parts), size=len(parts))

    def _dot(self, t: Term) -> Term | None:
        """Return a sum of products of the components of two vectors as a dot product.

        A summand that is not a product counts as one with 1. The dot product of two components ends with 0.
        """
        summands: list[Term] = []
        if t.type != "float":
            return None
        while t.op == "+" and len(summands) < 4:
            summands.insert(0, t.args[1])
            t = t.args[0]
        summands.insert(0, t)
        if len(summands) == 3 and summands[2].op == "number" and summands[2].attr == 0:
            summands.pop()
        alone = sum(s.op != "*" for s in summands)
        if not 2 <= len(summands) <= 4 or alone > (len(summands) > 2) or any(s.op == "number" for s in summands):
            return None
        one = self.terms.number(1.0, "float")
        products = [s if s.op == "*" else self.terms.make("*", "float", s, one) for s in summands]
        model = next(p for p, s in zip(products, summands, strict=True) if p is s)
        rows = [self._ordered(model, p) if p is s else self._beside(model, s, one)
                for p, s in zip(products, summands, strict=True)]  # fmt: skip
        sides = [self.fold([r[k] for r in rows]) for k in range(2)]
        if not all(map(_plain, sides)):
            return None
        return self.terms.make("dot", "float", *sides)

    @staticmethod
    def _beside(model: Term, summand: Term, one: Term) -> tuple[Term, Term]:
        """Return a summand and 1, ordered so that the summand is on the side of the most similar operand."""
        x, y = model.args
        return (summand, one) if _likeness(x, summand) >= _likeness(y, summand) else (one, summand)


def _plain(side: Term) -> bool:
    """Return whether a vector is read unchanged, or with one number after its components."""
    if side.op not in ("vector", "splat"):
        return True
    numbers = [a.op == "number" for a in side.args]
    return all(numbers) or numbers == [False, True]


def _likeness(a: Term, b: Term) -> int:
    """Return how similar two operands are to components of one vector."""
    if a.op != b.op or a.type != b.type:
        return 0
    if a.op == "symbol":
        return 3 if a.attr.vector == b.attr.vector else 1
    if a.op == "texel":
        return 3 if a.attr[0] is b.attr[0] else 1
    return 2
