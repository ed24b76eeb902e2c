"""Directives whose usage is their grammar: one declaration from which their words are read and written.

Words of a usage with capitals are values, in the order of the given kinds, other words are literal; parts in brackets
are optional, `|` separates alternatives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from isakit.codec import Stream, Token
from isakit.errors import FormatError

Values = dict[str, Any]
"""The values of a directive by field."""
U16, U32 = (1 << 16) - 1, (1 << 32) - 1


class Misplaced(Exception):
    """Something in a directive does not fit: the token, None for the end of the statement."""

    def __init__(self, token: Token | None, message: str) -> None:
        self.token, self.message = token, message


class Arguments:
    """The words after a directive, taken one after the other."""

    def __init__(self, tokens: list[Token], symbol: Callable[[str], int | None]) -> None:
        self.tokens, self.k = tokens, 0
        self.stream = Stream(tokens, symbol)

    @property
    def text(self) -> str:
        """The next word; nothing at the end."""
        return self.stream.text(self.k)

    def error(self, message: str) -> Misplaced:
        """Return the error for the next word."""
        return Misplaced(self.tokens[self.k] if self.text else None, message)

    def word(self, what: str) -> str:
        """Take the next word."""
        if not self.text or self.tokens[self.k].kind not in ("word", "number"):
            raise self.error(f"{what} was expected")
        return self.take()

    def take(self) -> str:
        """Take the next word, without a check."""
        self.k += 1
        return self.tokens[self.k - 1].text

    def key(self, *names: str) -> str:
        """Take the next word if it is one of these, and return it; otherwise return ""."""
        return self.take() if self.text in names else ""

    def number(self, what: str, low: int = 0, high: int = U32) -> int:
        """Take a number in a range."""
        got = self.stream.number(self.k)
        if got is None:
            raise self.error(f"{what} was expected")
        if not low <= got[1] <= high:
            raise self.error(f"{what} is {low:#x} to {high:#x}, not {got[1]:#x}")
        self.k = got[0]
        return got[1]


# --- kinds of values -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Kind:
    """A kind of value: functions to read and write it, and a test whether an optional one begins at the next word.

    The value of one that is `several` is a dictionary of fields.
    """

    read: Callable[[Arguments], Any]
    write: Callable[[Any], str] = str
    begins: Callable[[Arguments], bool] = lambda a: bool(a.text)
    several: bool = False


def number(what: str = "a number", low: int = 0, high: int = U32, form: str = "d", many: str = "",
           make: Callable[[list[int]], Any] = list) -> Kind:  # fmt: skip
    """Return the kind of a number in a range, or of a list of them with `many` between, given to `make`.

    Without a `form` a number of more than 16 bits is written in hexadecimal.
    """

    def read(a: Arguments) -> Any:
        out = [a.number(what, low, high)]
        while many and a.text:
            out.append(a.number(what, low, high))
        return make(out) if many else out[0]

    def write(value: Any) -> str:
        return many.join(format(v, form or ("d" if v <= U16 else "#x")) for v in (value if many else [value]))

    return Kind(read, write)


def keyword(word: str) -> Kind:
    """Return the kind of a word that is its own value."""

    def read(a: Arguments) -> bool:
        if not a.key(word):
            raise a.error(f"`{word}` was expected")
        return True

    return Kind(read, lambda value: word, lambda a: a.text == word)


def pattern(
    form: str,
    expected: str,
    value: Callable[[re.Match[str]], Any] = lambda m: m[0],
    write: Callable[[Any], str] = str,
    *,
    several: bool = False,
) -> Kind:
    """Return the kind of a word of one form.

    Other words are the error `expected`; `value` makes a value of the match, `write` a word of the value.
    """

    def read(a: Arguments) -> Any:
        m = re.fullmatch(form, a.text)
        if m is None:
            raise a.error(expected)
        a.take()
        return value(m)

    return Kind(read, write, lambda a: re.fullmatch(form, a.text) is not None, several)


UsualKinds = Mapping[str, tuple[str, Kind]]
"""Field and kind of words that mean the same in most directives."""


# --- grammar ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Element:
    """A value of a usage with its field (a keyword may have none), or alternatives of which one may be there."""

    field: str
    kind: Kind
    options: tuple[tuple[_Element, ...], ...] = ()

    def read(self, a: Arguments, values: Values) -> None:
        for e in next((o for o in self.options if o[0].kind.begins(a)), ()):
            e.read(a, values)
        if not self.options:
            value = self.kind.read(a)
            values |= value if self.kind.several else {self.field: value} if self.field else {}

    def write(self, values: Values) -> Iterator[str]:
        for option in self.options:
            given = [values.get(e.field) for e in option if e.field]
            if given and not any(v is None or v is False for v in given):
                for e in option:
                    yield from e.write(values)
                return
        if not self.options:
            yield self.kind.write(values.get(self.field))


def _grammar(usage: str, kinds: dict[str, Kind], usual: UsualKinds) -> tuple[_Element, ...]:
    """Return the elements of a usage; `kinds` are those of its values by field, without the usual ones.

    A word alone in brackets is a field of its own.
    """
    words = iter(re.findall(r"[\[\]|]|[^\s\[\]|]+(?:\[\w+\])?", usage))

    def sequence() -> list[tuple[_Element, ...]]:
        options: list[list[_Element]] = [[]]
        for w in words:
            if w == "]":
                break
            if w == "[":
                inside = sequence()
                if len(inside) == len(inside[0]) == 1 and not inside[0][0].field:
                    inside = [(replace(inside[0][0], field=inside[0][0].kind.write(None)),)]
                options[-1].append(_Element("", inside[0][0].kind, tuple(inside)))
            elif w == "|":
                options.append([])
            elif re.search("[A-Z]", w):
                field, kind = usual.get(w) or next(iter(kinds.items()))
                options[-1].append(_Element(field, kinds.pop(field, kind)))
            elif w != "...":
                options[-1].append(_Element("", keyword(w)))
        return [tuple(o) for o in options]

    return sequence()[0]


Run = Callable[[Any, Values], Any]
"""(builder, values by field) -> nothing; `.gxp` returns the builder instead of getting one."""


class Line:
    """A directive: its usage, and the action it carries out on a builder.

    Attributes:
        each: the whole usage is repeated for every value.
        any_order: the groups in brackets may come in any order; this is the error for other words, with `{}` for the
            known ones.
    """

    def __init__(
        self, name: str, usage: str, kinds: dict[str, Kind], run: Run, any_order: str, usual: UsualKinds
    ) -> None:
        self.name, self.usage, self.run = name, f"{name} {usage}".strip(), run
        self.none, self.each = usage.endswith("| none"), re.search(r"[^,] \.\.\.$", usage) is not None
        self.elements = _grammar(usage.removesuffix("| none"), kinds, usual)
        self.groups = [e for e in self.elements if e.options] if any_order else []
        self.any_order = any_order.format(", ".join(e.kind.write(None) for e in self.groups))

    def read(self, a: Arguments, builder: object) -> object:
        """Read the words of a directive and run its function; return its result, None where it runs for each value."""
        if self.none and a.key("none"):
            return self.run(builder, {})
        if not self.each:
            return self.run(builder, self._values(a))
        while a.text:
            values = self._values(a)
            try:
                self.run(builder, values)
            except FormatError as e:
                a.k -= 1
                raise a.error(e.reason) from None
        return None

    def _values(self, a: Arguments) -> Values:
        values: Values = {}
        for e in self.elements:
            if e not in self.groups:
                e.read(a, values)
        while self.groups and a.text:
            group = next((e for e in self.groups if e.kind.begins(a)), None)
            if group is None:
                raise a.error(self.any_order)
            group.read(a, values)
        return values

    def write(self, *many: Values, **values: object) -> str:
        """Return the line for some values, `none` without any."""
        words = [w for v in many or (values,) if v for e in self.elements for w in e.write(v)]
        return " ".join([self.name, *(words or ["none"] * ("none" in self.usage))])
