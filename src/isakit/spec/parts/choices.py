"""Choices between parts, by the values of other bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field as member
from dataclasses import replace
from typing import Any

from isakit.lean import cached_property, dataclass
from isakit.spec.fields import Bits, Field, where
from isakit.spec.operands import Operand
from isakit.spec.parts.base import (
    ILLEGAL,
    NUMBER_START,
    Binder,
    Context,
    Keep,
    Match,
    Part,
    Row,
    TokenStream,
    needed_words,
    needs_set,
    pattern,
    starts,
)
from isakit.spec.parts.compose import or_sources, same
from isakit.spec.parts.numbers import Reg
from isakit.spec.parts.words import Illegal, Nothing


@dataclass(frozen=True)
class Alternative:
    """One branch of a choice: taken when the word has the bits `when` (and not `unless`).

    `tells` are the bits that the text says besides those of the part (default: `when`); a text is read as both. Where
    they contradict each other, the branch is only shown: its text says `tells` alone and is read by another branch.
    `says` explains fields; what it says of some bits takes the place of what the part says of them. `quiet`: so many
    tokens of an operand that may be left out are not listed among what was expected; after them it is not left out,
    nor where the last of them is the word `telling`.
    """

    when: Bits
    part: Part
    needs: frozenset[str] = frozenset()
    unless: Bits | None = None
    tells: Bits | None = None
    says: Mapping[Field, str] = member(default_factory=dict[Field, str])
    quiet: int = 0
    telling: str = ""

    def resolve(self, ctx: Context) -> Alternative:
        """The branch as it is in a context."""
        part = self.part.resolve(ctx)
        if part is self.part:
            return self
        found = self._resolved.get(id(part))
        if found is None:
            found = self._resolved[id(part)] = replace(self, part=part)
        return found

    @cached_property
    def _resolved(self) -> dict[int, Alternative]:
        """The branch with what its part was in a context, by the part's id (the value keeps the part)."""
        return {}

    def applies(self, word: int) -> bool:
        """Whether the word selects this alternative."""
        return word & self.when.mask == self.when.value and not (self.unless and self.unless.holds(word))

    @property
    def always(self) -> bool:
        """Whether the alternative is nothing but its part, for all words."""
        return not (self.when.mask or self.unless or self.tells or self.says)

    @cached_property
    def reading(self) -> Bits | None:
        """The bits of texts that are read as this alternative, without the part's; None where none are."""
        if type(self.part) is Illegal:
            return None
        return self.when if self.tells is None else self.tells.join(self.when)

    def claimed(self, word: int) -> int:
        """The bits whose value the text tells, where the word selects this alternative."""
        if self.tells is None:
            return self.when.mask | self.part.claimed(word)
        told = self.tells.mask & ~(self.tells.value ^ word)
        return told if self.reading is None else told | self.part.claimed(word)

    def claimed_source(self, keep: Keep) -> str:
        """Expression giving `claimed`."""
        part = "0" if self.reading is None else self.part.claimed_source(keep)
        if self.tells is None:
            return or_sources([str(self.when.mask), part])
        both = self.tells.mask & self.when.mask
        known, rest = both & ~(self.tells.value ^ self.when.value), self.tells.mask & ~both
        return or_sources([str(known), part, *([f"({rest}&~({self.tells.value & rest}^w))"] if rest else [])])

    def rows(self, word: int) -> list[Row]:
        """The explanation of the bits that select the alternative and of the part's."""
        said = 0
        for f in self.says:
            said |= f.mask
        rows = [Row(f, f.get(word), text) for f, text in self.says.items()]
        return rows + [r for r in self.part.rows(word) if not said or r.field.mask & ~said]


def when(
    conditions: dict[Field, int] | Bits,
    part: Part,
    *,
    needs: str | Sequence[str] = "",
    unless: dict[Field, int] | None = None,
    tells: dict[Field, int] | None = None,
    says: Mapping[Field, str] | None = None,
    quiet: int = 0,
    telling: str = "",
) -> Alternative:
    """An alternative taken when every field has its value.

    `needs` names features it exists with; for the others see `Alternative`.
    """
    return Alternative(
        conditions if isinstance(conditions, Bits) else where(conditions),
        part,
        needs_set(needs),
        where(unless) if unless else None,
        None if tells is None else where(tells),
        says or {},
        quiet,
        telling,
    )


class _Quiet:
    """A token stream that forgets what was expected before some token."""

    quick = False

    def __init__(self, s: TokenStream, start: int) -> None:
        self.s, self.start, self.failed = s, start, False
        self.text, self.number, self.float_number, self.address = s.text, s.number, s.float_number, s.address

    def fail(self, k: int, expected: str) -> None:
        """Remember what was expected, unless it would have been in front."""
        if k >= self.start:
            self.failed = True
            self.s.fail(k, expected)


_Step = tuple[int, Alternative | None, Match | None, str]
"""One step of reading a choice: an alternative to try (with its number), a reading that is certain (tokens, bits), or
what to note as expected."""


@dataclass(frozen=True)
class Choice(Part):
    """Alternatives selected by other bits; the first that applies is taken, none is a decode error."""

    alternatives: tuple[Alternative, ...]
    illegal: str = ILLEGAL

    @cached_property
    def addressed(self) -> bool:  # type: ignore[override]
        return any(a.part.addressed for a in self.alternatives)

    def resolve(self, ctx: Context) -> Part:
        found = self._resolved.get(ctx)
        if found is None:
            alive = [a.resolve(ctx) for a in self.alternatives if not a.needs or ctx.has(a.needs)]
            if type(self) is Choice and len(alive) == 1 and alive[0].always:
                found = alive[0].part
            else:
                known = (c for c in (self, *self._resolved.values()) if isinstance(c, Choice))
                alike = next((c for c in known if same(alive, c.alternatives)), None)
                found = alike or replace(self, alternatives=tuple(alive))
            self._resolved[ctx] = found
        return found

    @cached_property
    def _resolved(self) -> dict[Context, Part]:
        """What the choice is in the contexts that asked; where it is the same, one object, as it is for all forms."""
        return {}

    def branch(self, word: int) -> Alternative | None:
        """The alternative the word selects."""
        for a in self.alternatives:
            if a.applies(word):
                return a
        return None

    def pick(self, word: int) -> Part | None:
        """The part the word selects."""
        a = self.branch(word)
        return None if a is None else a.part

    def text(self, word: int, address: int = 0) -> str:
        p = self.pick(word)
        return "???" if p is None else p.text(word, address)

    def error(self, word: int) -> str | None:
        if self._safe:
            return None
        p = self.pick(word)
        return self.illegal if p is None else p.error(word)

    @cached_property
    def _safe(self) -> bool:
        """Whether no word is an error."""
        return self.error_source(lambda _: "?") == "None"

    def claimed(self, word: int) -> int:
        a = self.branch(word)
        return 0 if a is None else a.claimed(word)

    def spelled(self, word: int) -> Bits:
        a = self.branch(word)
        if a is None or a.tells is None:
            return super().spelled(word)
        return (a.reading and a.tells.join(a.part.spelled(word))) or a.tells

    @cached_property
    def _possible(self) -> int:
        out = 0
        for a in self.alternatives:
            out |= a.when.mask | a.part.possible() | (a.tells.mask if a.tells else 0)
        return out

    def possible(self) -> int:
        return self._possible

    def describing(self) -> int:
        out = super().describing()
        for a in self.alternatives:
            out |= a.part.describing()
        return out

    def static_mask(self) -> int:
        out = 0
        for a in self.alternatives:
            out |= a.when.mask | a.part.static_mask() | (a.unless.mask if a.unless else 0)
        return out

    def static_word(self, word: int) -> int:
        p, selectors = self.pick(word), 0
        for a in self.alternatives:
            selectors |= a.when.mask | (a.unless.mask if a.unless else 0)
        return word & selectors | (p.static_word(word) if p else 0)

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        first, begun = s.text(k), False
        known = first if first in self._words else first[:1] if first[:1] == "$" else NUMBER_START
        plan = self._plans.get(known)
        if plan is None:
            plan = self._plans[known] = list(self._plan(known))
        for i, a, ready, expected in plan:
            if ready is not None:
                if not (begun and ready[0] == 0):
                    yield k + ready[0], ready[1]
            elif a is None:
                s.fail(k, expected)
            else:
                told = bool(a.telling) and s.text(k + a.quiet - 1) == a.telling
                quiet = a.quiet and not told and (self._optional or not s.quick)
                stream = _Quiet(s, k + a.quiet) if quiet else None
                begun = begun or told
                for n, b in a.part.parse(stream or s, k):
                    begun = begun or (stream is not None and n > stream.start)
                    both = b.join(a.reading) if a.reading else None
                    if both is not None and self._leads_to(i, both):
                        yield n, both
                begun = begun or (stream is not None and stream.failed)

    @cached_property
    def _optional(self) -> bool:
        return any(type(a.part) is Nothing for a in self.alternatives)

    @cached_property
    def _plans(self) -> dict[str, list[_Step]]:
        return {}

    @cached_property
    def _words(self) -> frozenset[str]:
        """All words that some alternative is known to begin with."""
        return frozenset[str]().union(*(starts(a.part) or () for a in self.alternatives)) - {"", NUMBER_START}

    def _plan(self, first: str) -> Iterator[_Step]:
        """What to do about a text that begins with a word, or with `$` or `NUMBER_START` for all others."""
        for i, a in enumerate(self.alternatives):
            if a.reading is None:
                continue
            words = starts(a.part)
            numeric = words is not None and NUMBER_START in words and first[:1] != "$"
            if words is not None and first not in words and "" not in words and not numeric:
                if a.telling:
                    yield i, a, None, ""  # after the telling word it is clear what was meant
                elif not a.quiet:
                    yield i, None, None, a.part.accepts()
            elif type(a.part) is Nothing:
                if self._leads_to(i, a.reading):
                    yield i, a, (0, a.reading), ""
            elif type(a.part) is Reg and (known := a.part.named(first)) is not None:
                both = known.join(a.reading)
                if both is not None and self._leads_to(i, both):
                    yield i, a, (1, both), ""
            else:
                yield i, a, None, ""

    def starts(self) -> frozenset[str] | None:
        return _union(starts(a.part) for a in self.alternatives if a.reading is not None)

    def _leads_to(self, i: int, b: Bits) -> bool:
        """Whether these bits may be alternative `i`: no condition excludes it, no earlier one claims them."""
        a = self.alternatives[i]
        if a.unless and a.unless.mask & ~b.mask == 0 and a.unless.holds(b.value):
            return False
        return not any(
            e.when.mask & ~b.mask == 0 and e.when.holds(b.value) and not (e.unless and e.unless.holds(b.value))
            for e in self.alternatives[:i]
        )

    def bind(self, word: int, b: Binder) -> Any:
        p = self.pick(word)
        return None if p is None else p.bind(word, b)

    def rows(self, word: int) -> list[Row]:
        a = self.branch(word)
        return [] if a is None else a.rows(word)

    def _conditional(self, branches: Sequence[str], otherwise: str) -> str:
        """Nested conditional expressions over the alternatives; equal branches collapse."""
        out = otherwise
        for a, source in reversed(list(zip(self.alternatives, branches, strict=True))):
            if a.when.mask == 0 and a.unless is None:
                out = source
            elif source != out:
                test = f"w&{a.when.mask}=={a.when.value}" if a.when.mask else "True"
                if a.unless is not None:
                    test += f" and w&{a.unless.mask}!={a.unless.value}"
                out = f"({source} if {test} else {out})"
        return out

    @cached_property
    def complete(self) -> bool:
        """Whether every word picks an alternative, as far as one selector field shows it."""
        if any(a.when.mask == 0 and a.unless is None for a in self.alternatives):
            return True
        masks = {a.when.mask for a in self.alternatives if a.unless is None}
        return any(
            len({a.when.value for a in self.alternatives if a.when.mask == m and a.unless is None})
            == 1 << m.bit_count()
            for m in masks
        )

    def text_source(self, keep: Keep) -> str:
        sources = [a.part.text_source(keep) for a in self.alternatives]
        return self._conditional(sources, sources[-1] if self.complete and sources else "' ???'")

    def error_source(self, keep: Keep) -> str:
        sources = [a.part.error_source(keep) for a in self.alternatives]
        return self._conditional(sources, sources[-1] if self.complete and sources else repr(self.illegal))

    def claimed_source(self, keep: Keep) -> str:
        sources = [a.claimed_source(keep) for a in self.alternatives]
        return self._conditional(sources, sources[-1] if self.complete and sources else "0")

    def needed_words(self) -> frozenset[str] | None:
        return self._needed_words

    @cached_property
    def _needed_words(self) -> frozenset[str] | None:
        parts = (a.part for a in self.alternatives)
        return _union(frozenset[str]() if type(p) is Illegal else needed_words(p) for p in parts)

    def pattern(self) -> str:
        patterns = [pattern(a.part) for a in self.alternatives if type(a.part) is not Illegal]
        return "(?:" + "|".join(dict.fromkeys(patterns)) + ")" if patterns else "(?!)"

    def accepts(self) -> str:
        texts = [a.part.accepts() for a in self.alternatives]
        return " | ".join(dict.fromkeys(t for t in texts if t and t != "nothing"))

    def operand(self, word: int, address: int = 0) -> Operand | None:
        p = self.pick(word)
        return None if p is None else p.operand(word, address)

    def guards(self, word: int) -> bool:
        p = self.pick(word)
        return p is not None and p.guards(word)

    def may_be(self, kind: type) -> bool:
        return any(a.part.may_be(kind) for a in self.alternatives)

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        out: list[Bits] = []
        for i, a in enumerate(self.alternatives):
            reading = a.reading
            if reading is not None:
                for b in a.part.put(value, address):
                    both = b.join(reading)
                    if both is not None and both not in out and self._leads_to(i, both):
                        out.append(both)
        return out


def _union(sets: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    """All words of the sets, None where one is not known."""
    out: frozenset[str] = frozenset()
    for words in sets:
        if words is None:
            return None
        out |= words
    return out


def choice(*alternatives: Alternative, illegal: str = ILLEGAL) -> Choice:
    """A choice between alternatives made with `when`."""
    return Choice(alternatives, illegal)
