"""Operands are read from tokens: all readings, and what can be known of them before: first words, words, a pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from isakit.spec.fields import Bits
from isakit.spec.parts.base import NUMBER_START, Match, Part, TokenStream, once
from isakit.spec.parts.tree import (
    Alternative,
    Choice,
    Constant,
    Dependent,
    Enum,
    HasFeature,
    Hidden,
    Illegal,
    Imm,
    Literal,
    Nothing,
    Numbered,
    Reg,
    Relative,
    Silent,
    Spellings,
    Template,
)
from isakit.spec.parts.values import bits_for, f32_bits
from isakit.spec.patterns import ANYTHING, NUMBER, joined, one_of

Reader = Callable[[TokenStream, int], Iterator[Match]]
_NO_BITS = Bits()


def readings(part: Part, s: TokenStream, k: int) -> Iterator[Match]:
    """Return all readings of the tokens from `k`."""
    return (part.__dict__.get("_reader") or reader(part))(s, k)


@once
def reader(part: Part) -> Reader:
    """Return the function that reads a part, made once: statements are read many times."""
    match part:
        case Nothing() | HasFeature():
            return _read_nothing
        case Literal():
            return _literal(part)
        case Enum():
            return _enum(part)
        case Reg():
            return _cell(part) if part.cell else _register(part)
        case Relative():
            return _relative(part)
        case Imm():
            return _number(part)
        case Choice():
            return _choice(part)
        case Template():
            return _template(part)
        case Constant():
            return _constant(part)
        case Silent():
            every = bits_for(part, None)
            return lambda s, k: ((k, b) for b in every)
        case Numbered():
            return lambda s, k: ((k + 1, b) for b in bits_for(part, s.text(k)))
        case Illegal():
            return lambda s, k: iter(())
        case _:
            raise TypeError(f"{type(part).__name__} is only read within a template")


def _read_nothing(s: TokenStream, k: int) -> Iterator[Match]:
    yield k, _NO_BITS


def _fit_tokens(s: TokenStream, k: int, words: Sequence[str]) -> int | None:
    """Return the index behind `words` if they stand at `k`."""
    for i, w in enumerate(words):
        if s.text(k + i) != w:
            return None
    return k + len(words)


def _literal(part: Literal) -> Reader:
    spellings, (barred, reason) = part.spellings, part.barred

    def read(s: TokenStream, k: int) -> Iterator[Match]:
        found = False
        for words, b in spellings:
            n = _fit_tokens(s, k, words)
            if n is not None:
                found = True
                if barred and any(s.text(j) in barred for j in range(k)):
                    s.fail(k, reason)
                else:
                    yield n, b
        if not found:
            s.fail(k, accepted_text(part))

    return read


def _enum(part: Enum) -> Reader:
    by_first: dict[str, list[tuple[list[str], Bits]]] = {"": []}
    for words, b in part.spellings:
        by_first.setdefault(words[0] if words else "", []).append((words, b))
    empty = by_first[""]

    def read(s: TokenStream, k: int) -> Iterator[Match]:
        found = False
        for words, b in by_first.get(s.text(k) or "?", ()):
            n = _fit_tokens(s, k, words)
            if n is not None:
                found = True
                yield n, b
        for _, b in empty:
            yield k, b
        if not found:
            s.fail(k, accepted_text(part))

    return read


def _register(part: Reg) -> Reader:
    spellings, by_number, mark = part.spellings, part.by_number, part.mark

    def read(s: TokenStream, k: int) -> Iterator[Match]:
        t, n = s.text(k), k + 1
        b = spellings.get(t)
        if b is None and s.text(n) == "[":
            n, t = _bracketed(s, k)
            b = spellings.get(t)
        elif b is None and mark and t.startswith(mark):
            marked = _number_behind(s, k, mark)
            if marked is not None:
                n, b = marked[0], spellings.get(f"{mark}{marked[1]:#x}")
        if b is not None:
            yield n, b
            return
        got = s.number(k) if by_number and s.text(k)[:1] != "$" else None
        b = by_number.get(got[1]) if got else None
        if got is None or b is None:
            s.fail(k, accepted_text(part))
        else:
            yield got[0], b

    return read


def _bracketed(s: TokenStream, k: int) -> tuple[int, str]:
    """Return (next token, text) of a word with what stands in brackets after it."""
    text = s.text(k)
    while s.text(k) not in ("]", ""):
        k += 1
        text += s.text(k)
    return k + 1, text


def _number_behind(s: TokenStream, k: int, mark: str) -> tuple[int, int] | None:
    """Return (next token, value) of a number after a mark: in one token with it, or a constant expression."""
    t = s.text(k)
    if t == mark:
        return s.number(k + 1)
    try:
        return (k + 1, int(t.removeprefix(mark), 0)) if t.startswith(mark) else None
    except ValueError:
        return None


def _cell(part: Reg) -> Reader:
    def read(s: TokenStream, k: int) -> Iterator[Match]:
        got = s.number(k + 2) if s.text(k + 1) == "[" else None
        b = part.spellings.get(f"{s.text(k)}[{got[1]:#x}]") if got and s.text(got[0]) == "]" else None
        if got is None or b is None:
            s.fail(k, accepted_text(part))
        else:
            yield got[0] + 1, b

    return read


def _number(part: Imm) -> Reader:
    prefix, mark = part.prefix, part.mark

    def read(s: TokenStream, k: int) -> Iterator[Match]:
        start, got = k, None
        if not prefix:
            got = s.number(k + 1 if mark and s.text(k) == mark else k)
        elif s.text(k).startswith(prefix):
            got = _number_behind(s, k, prefix)
            k += s.text(k) == prefix
        if got is None and part.single:
            real = s.float_number(k)
            pattern = f32_bits(real[1]) if real is not None else None
            got = (real[0], pattern) if real is not None and pattern is not None else None
        b = part.encode(got[1]) if got else None
        if got is None or b is None:
            s.fail(start if prefix else k, accepted_text(part) + (part.advice if got else ""))
        else:
            yield got[0], b

    return read


def _relative(part: Relative) -> Reader:
    def read(s: TokenStream, k: int) -> Iterator[Match]:
        got = s.number(k + 1 if part.mark and s.text(k) == part.mark else k)
        if got is None:
            s.fail(k, accepted_text(part))
            return
        distance = part.as_distance and s.text(k)[:1] in "+-0123456789"
        b = part.encode(got[1]) if distance else part.reaching(got[1], s.address)
        if b is None:
            last = part.target(part.field.mask >> part.signed, s.address)
            s.fail(k, accepted_text(part) if part.as_distance else part.advice.format(s.address, last))
        else:
            yield got[0], b

    return read


def _constant(part: Constant) -> Reader:
    prefix, value = part.prefix, part.value

    def read(s: TokenStream, k: int) -> Iterator[Match]:
        got = s.number(k + bool(prefix)) if not prefix or s.text(k) == prefix else None
        if got is not None and got[1] == value:
            yield got[0], _NO_BITS
        else:
            s.fail(k, accepted_text(part))

    return read


# --- one of several --------------------------------------------------------------------------------------------------
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


def _choice(part: Choice) -> Reader:
    optional = any(type(a.part) is Nothing for a in part.alternatives)
    leads_to = part.leads_to
    plans: dict[str, list[_Step]] = {}
    # all words that some alternative is known to begin with
    beginnings = frozenset[str]().union(*(start_words(a.part) or () for a in part.alternatives)) - {"", NUMBER_START}

    def read(s: TokenStream, k: int) -> Iterator[Match]:
        first, begun = s.text(k), False
        known = first if first in beginnings else first[:1] if first[:1] == "$" else NUMBER_START
        plan = plans.get(known)
        if plan is None:
            plan = plans[known] = list(_plan(part, known))
        for i, a, ready, expected in plan:
            if ready is not None:
                if not (begun and ready[0] == 0):
                    yield k + ready[0], ready[1]
            elif a is None:
                s.fail(k, expected)
            else:
                told = bool(a.telling) and s.text(k + a.quiet - 1) == a.telling
                quiet = a.quiet and not told and (optional or not s.quick)
                stream = _Quiet(s, k + a.quiet) if quiet else None
                begun = begun or told
                for n, b in readings(a.part, stream or s, k):
                    begun = begun or (stream is not None and n > stream.start)
                    both = b.join(a.reading) if a.reading else None
                    if both is not None and leads_to(i, both):
                        yield n, both
                begun = begun or (stream is not None and stream.failed)

    return read


def _plan(part: Choice, first: str) -> Iterator[_Step]:
    """Yield the ways to read a text that begins with a word, or with `$` or `NUMBER_START` for all others."""
    for i, a in enumerate(part.alternatives):
        if a.reading is None:
            continue
        words = start_words(a.part)
        numeric = words is not None and NUMBER_START in words and first[:1] != "$"
        if words is not None and first not in words and "" not in words and not numeric:
            if a.telling:
                yield i, a, None, ""  # after the telling word it is clear what was meant
            elif not a.quiet:
                yield i, None, None, accepted_text(a.part)
        elif type(a.part) is Nothing:
            if part.leads_to(i, a.reading):
                yield i, a, (0, a.reading), ""
        elif isinstance(a.part, Reg) and a.part.in_words and (known := a.part.spellings.get(first)) is not None:
            both = known.join(a.reading)
            if both is not None and part.leads_to(i, both):
                yield i, a, (1, both), ""
        else:
            yield i, a, None, ""


# --- one after the other ---------------------------------------------------------------------------------------------
def _template(part: Template) -> Reader:
    items = part.items
    _, word, hole = items[0]
    fixed = hole is None
    first = _first_words(part)

    def read(s: TokenStream, k: int) -> Iterator[Match]:
        if fixed and s.text(k) != word:  # most operands that are tried begin with another word
            s.fail(k, accepted_text(part))
            return iter(())
        if s.quick and not _begins(first, s, k):
            return iter(())
        return _read_items(part, items, s, k, 0, _NO_BITS)

    return read


def _first_words(part: Template) -> list[tuple[frozenset[str], bool]]:
    """Return for the first tokens what they may be, and whether that is all of their item."""
    out: list[tuple[frozenset[str], bool]] = []
    for _, token, hole in part.items:
        words = frozenset({token}) if hole is None else start_words(hole)
        if words is None or "" in words:
            break
        whole = hole is None or isinstance(hole, Reg) or (isinstance(hole, Literal) and hole.single)
        out.append((words, whole))
    return out


def _begins(first: list[tuple[frozenset[str], bool]], s: TokenStream, k: int) -> bool:
    """Return true if the tokens may be this spelling, as far as one can tell without reading numbers."""
    for words, whole in first:
        text = s.text(k)
        if text not in words:
            computed = text[:1] == "#" or s.text(k + 1) == "["  # an index in an expression: `r[n]`, `#name`
            return computed or (NUMBER_START in words and text[:1] != "$")
        if not whole:
            return True
        k += 1
    return True


def _read_items(
    part: Template, items: list[tuple[str, str, Part | None]], s: TokenStream, k: int, i: int, so_far: Bits
) -> Iterator[Match]:
    while i < len(items):
        _, token, hole = items[i]
        i += 1
        if hole is not None:
            break
        if s.text(k) != token:
            s.fail(k, f"`{token}`" if i > 1 else accepted_text(part))
            return
        k += 1
    else:
        yield k, so_far
        return
    if isinstance(hole, Dependent):
        hole = hole.given(so_far.value)
    read = False
    if i + 1 < len(items) and items[i][1] == ".":
        found = _dotted(hole, items[i + 1][2], s, k, so_far)
        i += 2
    else:
        found = readings(hole, s, k)
    for n, b in found:
        read = True
        both = so_far.join(b)
        if both is not None:
            if i == len(items):
                yield n, both
            else:
                yield from _read_items(part, items, s, n, i, both)
    if not read:
        s.fail(k, accepted_text(hole) if hole is not items[0][2] else accepted_text(part))


class _Stem:
    """A token stream where one word ends at its dot."""

    quick = False

    def __init__(self, s: TokenStream, k: int) -> None:
        self.s, self.k = s, k
        self.number, self.float_number, self.fail, self.address = s.number, s.float_number, s.fail, s.address

    def text(self, k: int) -> str:
        """Return the text of token `k`, of the first one only what stands before its dot."""
        t = self.s.text(k)
        return t.partition(".")[0] if k == self.k else t


def _dotted(stem: Part, letters: Part | None, s: TokenStream, k: int, so_far: Bits) -> Iterator[Match]:
    """Yield the readings of a part followed by a dot and letters, `pa4.xyzw`: one token or two."""
    for n, b in readings(stem, _Stem(s, k), k):
        _, dot, text = s.text(k).partition(".") if n == k + 1 else ("", "", "")
        if not dot and s.text(n)[:1] == ".":
            text, n = s.text(n)[1:], n + 1
        both = so_far.join(b)
        if text and both is not None and letters is not None:
            part = letters.given(both.value) if isinstance(letters, Dependent) else letters
            for more in bits_for(part, text):
                whole = both.join(more)
                if whole is not None:
                    yield n, whole


# --- known before reading --------------------------------------------------------------------------------------------
@once
def start_words(part: Part) -> frozenset[str] | None:
    """Return words one of which every text of this kind begins with; None where that is not known.

    The empty word: it may be left out. `NUMBER_START`: it may begin with a number.
    """
    match part:
        case Nothing() | HasFeature() | Silent():
            return frozenset({""})
        case Literal():
            return needed_words(part)
        case Enum():
            return frozenset(words[0] if words else "" for words, _ in part.spellings)
        case Numbered():
            return frozenset(part.names)
        case Reg() if part.in_words:
            return frozenset({*part.spellings, NUMBER_START} if part.numbers else part.spellings)
        case Imm() if not isinstance(part, Relative):
            return None if part.prefix else frozenset({NUMBER_START})
        case Choice():
            return _all_words(start_words(a.part) for a in part.alternatives if a.reading is not None)
        case Template():
            return _template_starts(part)
        case _:
            return None


def _template_starts(part: Template) -> frozenset[str] | None:
    out = frozenset({""})
    for _, token, hole in part.items:
        words = frozenset({token}) if hole is None else start_words(hole)
        if words is None:
            return None
        out = out - {""} | words
        if "" not in words:
            break
    return out


@once
def needed_words(part: Part) -> frozenset[str] | None:
    """Return words one of which must stand in the text of every operand of this kind; None where there are none.

    Only used to tell quickly that a text cannot be read.
    """
    match part:
        case Literal() | Enum():
            spellings = [words for words, _ in part.spellings]
            return frozenset(words[0] for words in spellings) if all(spellings) else None
        case Reg() if part.in_words:
            return None if part.numbers else frozenset(part.spellings)
        case Choice():
            parts = (a.part for a in part.alternatives)
            return _all_words(frozenset[str]() if type(p) is Illegal else needed_words(p) for p in parts)
        case _:
            return None


def _all_words(sets: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    """Return all words of the sets, None where one is not known."""
    out: frozenset[str] = frozenset()
    for words in sets:
        if words is None:
            return None
        out |= words
    return out


@once
def pattern_of(part: Part) -> str:
    """Return a regular expression that every canonical text which can be read so matches, see `spec.patterns`."""
    match part:
        case Nothing() | HasFeature():
            return ""
        case Literal():
            return one_of((part.words, *part.aliases, *part.setting))
        case Enum():
            return one_of(" ".join(words) for words, _ in part.spellings)
        case Numbered():
            return one_of(part.names)
        case Reg() if part.in_words:
            numbered = (*part.spellings, *(n for n in part.texts if n))
            return one_of(numbered if part.numbers else part.spellings)
        case Constant() | Imm() if not isinstance(part, Relative):
            return joined([re.escape(part.prefix), NUMBER]) if part.prefix else NUMBER
        case Choice():
            patterns = [pattern_of(a.part) for a in part.alternatives if type(a.part) is not Illegal]
            return "(?:" + "|".join(dict.fromkeys(patterns)) + ")" if patterns else "(?!)"
        case Template() if not any(t == "." for _, t, _ in part.items):
            inside = (re.escape(t) if p is None else pattern_of(p) for _, t, p in part.items)
            return "".join(("" if not b else " ?") + p for (b, _, _), p in zip(part.items, inside, strict=True))
        case _:
            return ANYTHING


@once
def accepted_text(part: Part) -> str:
    """Describe the texts that can be written here; `nothing` or no word for what is never written."""
    match part:
        case Literal():
            return f"`{part.words}`" if part.hint is None else part.hint
        case Enum() | Reg() | Imm() if part.hint is not None:
            return part.hint
        case Enum():
            names = list(dict.fromkeys(f"`{n}`" for n in part.names.values() if n))
            return " | ".join(names if len(names) <= 12 else [*names[:11], "..."])
        case Reg():
            legal = [n for n in part.names if n is not None]
            return f"{legal[0]} .. {legal[-1]}" if len(legal) > 2 else " | ".join(legal)
        case Imm():
            low, high = part.limits
            step = f", a multiple of {part.scale}" if part.scale > 1 else ""
            return f"{part.label} {low * part.scale:#x} .. {high * part.scale:#x}{step}"
        case Constant():
            return part.hint or f"{part.prefix}{part.value:#x}"
        case Numbered():
            return f"{part.names[0]} .. {part.names[-1]}"
        case Spellings() if part.hint:
            return part.hint
        case Choice():
            texts = [accepted_text(a.part) for a in part.alternatives]
            return " | ".join(dict.fromkeys(t for t in texts if t and t != "nothing"))
        case Template():
            return part.hint or "".join(b + (t if p is None else accepted_text(p)) for b, t, p in part.items)
        case Hidden() | Illegal() | Silent():
            return ""
        case Nothing() | HasFeature():
            return "nothing"
        case _:
            return "an operand"
