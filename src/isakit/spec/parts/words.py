"""Parts that print words: nothing, literals, named values, features, illegal encodings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field as member
from typing import Any

from isakit.lean import cached_property, dataclass
from isakit.spec.fields import Bits, Field
from isakit.spec.operands import Flag as Word
from isakit.spec.operands import Operand, key_of
from isakit.spec.parts.base import (
    ILLEGAL,
    Binder,
    Bitless,
    Context,
    Keep,
    Match,
    OfField,
    Part,
    Row,
    TokenStream,
    fit_tokens,
    needs_set,
    pad_all,
)
from isakit.spec.patterns import one_of

_NO_BITS = Bits()


@dataclass(frozen=True)
class Nothing(Bitless):
    """An absent operand: no bits, no text; bound to `value`."""

    value: Any = None

    def text(self, word: int, address: int = 0) -> str:
        return ""

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        return (Bits(),) if value is None or value is False or value == "" else ()

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        yield k, _NO_BITS

    def bind(self, word: int, b: Binder) -> Any:
        return self.value

    def starts(self) -> frozenset[str] | None:
        return frozenset({""})

    def pattern(self) -> str:
        return ""

    def accepts(self) -> str:
        return "nothing"


_BOUND_TO = {present: Nothing(present) for present in (False, True)}


@dataclass(frozen=True)
class HasFeature(Bitless):
    """No bits and no text: tells the semantics whether the context has a feature, where chips differ in meaning."""

    name: str
    static = True

    def __post_init__(self) -> None:
        needs_set(self.name)

    def resolve(self, ctx: Context) -> Part:
        return _BOUND_TO[ctx.has(needs_set(self.name))]

    def text(self, word: int, address: int = 0) -> str:
        return ""

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        return (Bits(),) if value is None else ()

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        yield k, Bits()

    def accepts(self) -> str:
        return "nothing"


@dataclass(frozen=True)
class Literal(Bitless):
    """Fixed words, with other spellings that are accepted; bound to `value` (default: the text).

    `setting` are further spellings, which also fix bits of other parts. `barred` are words after which this one has no
    place, and why. `hint` says what can be written here.
    """

    words: str
    value: Any = None
    aliases: tuple[str, ...] = ()
    setting: Mapping[str, Bits] = member(default_factory=dict[str, Bits])
    barred: tuple[frozenset[str], str] = (frozenset(), "")
    hint: str | None = None

    @cached_property
    def _readings(self) -> list[tuple[list[str], Bits]]:
        return [(w.split(), self.setting.get(w, Bits())) for w in (self.words, *self.aliases, *self.setting)]

    @property
    def single(self) -> bool:
        """Whether all spellings are one word."""
        return all(len(words) == 1 for words, _ in self._readings)

    @property
    def is_word(self) -> bool:
        """Whether it is one word, in any place and without bits."""
        return self.single and not self.setting and not self.barred[0]

    @property
    def mnemonics(self) -> list[str]:
        """The first words of all spellings."""
        return [words[0] for words, _ in self._readings if words]

    def text(self, word: int, address: int = 0) -> str:
        return self.words

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        found = False
        for words, b in self._readings:
            n = fit_tokens(s, k, words)
            if n is not None:
                found = True
                if self.barred[0] and any(s.text(j) in self.barred[0] for j in range(k)):
                    s.fail(k, self.barred[1])
                else:
                    yield n, b
        if not found:
            s.fail(k, self.accepts())

    def operand(self, word: int, address: int = 0) -> Operand | None:
        return Word(self.words, self.value) if self.words else None

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if (value or "") in (self.words, *self.aliases) or (self.value is not None and value == self.value):
            return (Bits(),)
        return (self.setting[value],) if isinstance(value, str) and value in self.setting else ()

    def bind(self, word: int, b: Binder) -> Any:
        return self.words if self.value is None else self.value

    def needed_words(self) -> frozenset[str] | None:
        spellings = [words for words, _ in self._readings]
        return frozenset(words[0] for words in spellings) if all(spellings) else None

    def starts(self) -> frozenset[str] | None:
        return self.needed_words()

    def pattern(self) -> str:
        return one_of((self.words, *self.aliases, *self.setting))

    def accepts(self) -> str:
        return f"`{self.words}`" if self.hint is None else self.hint


@dataclass(frozen=True)
class Illegal(Bitless):
    """An encoding that is a decode error."""

    kinds = (type(None),)

    name: str = ILLEGAL

    def text(self, word: int, address: int = 0) -> str:
        return "???"

    def error(self, word: int) -> str | None:
        return self.name

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        yield from ()

    def error_source(self, keep: Keep) -> str:
        return repr(self.name)

    def accepts(self) -> str:
        return ""


@dataclass(frozen=True)
class Silent(OfField):
    """A field that no text of its own tells: what is read after it decides. `meanings` explain its values."""

    field: Field
    meanings: Mapping[int, str] = member(default_factory=dict[int, str])
    static = True

    def text(self, word: int, address: int = 0) -> str:
        return ""

    def static_mask(self) -> int:
        return self.field.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        for b in self.put(None):
            yield k, b

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        every = range(1 << self.field.width) if value is None else ()
        return [Bits(self.field.mask, self.field.put(v)) for v in every]

    def bind(self, word: int, b: Binder) -> int:
        return self.field.get(word)

    def rows(self, word: int) -> list[Row]:
        v = self.field.get(word)
        return [Row(self.field, v, self.meanings[v])] if v in self.meanings else []

    def starts(self) -> frozenset[str] | None:
        return frozenset({""})

    def accepts(self) -> str:
        return ""


@dataclass(frozen=True, eq=False)
class Enum(OfField):
    """Named values of a field. A value without a name is a decode error; the text may be empty or several words.

    `idle` are the values under which some lanes, or all, write nothing.

    `values` maps field values to what the semantics gets (default: the text). `aliases` are other spellings.
    `meanings` explain values better than their text does. `hint` says what can be written here (default: the names).
    `shown` is the field that explanations show, where only some bits of it matter.
    """

    field: Field
    names: Mapping[int, str]
    values: Mapping[int, Any] | None = None
    aliases: Mapping[str, int] = member(default_factory=dict[str, int])
    illegal: str = ILLEGAL
    label: str = ""
    idle: frozenset[int] = frozenset()
    meanings: Mapping[int, str] = member(default_factory=dict[int, str])
    hint: str | None = None
    shown: Field | None = None
    static = True

    def guards(self, word: int) -> bool:
        return self.field.get(word) in self.idle

    def text(self, word: int, address: int = 0) -> str:
        return self.names.get(self.field.get(word), "???")

    def error(self, word: int) -> str | None:
        return None if self.field.get(word) in self.names else self.illegal

    def static_mask(self) -> int:
        return self.field.mask

    @cached_property
    def _spellings(self) -> list[tuple[list[str], Bits]]:
        seen: dict[str, int] = {}
        for value, name in self.names.items():
            seen.setdefault(name, value)
        for name, value in self.aliases.items():
            seen.setdefault(name, value)
        ordered = sorted(seen.items(), key=lambda kv: -len(kv[0].split()))
        return [(name.split(), Bits(self.field.mask, self.field.put(value))) for name, value in ordered]

    @cached_property
    def _by_first(self) -> dict[str, list[tuple[list[str], Bits]]]:
        """The spellings by their first word."""
        out: dict[str, list[tuple[list[str], Bits]]] = {"": []}
        for words, b in self._spellings:
            out.setdefault(words[0] if words else "", []).append((words, b))
        return out

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        found = False
        for words, b in self._by_first.get(s.text(k) or "?", ()):
            n = fit_tokens(s, k, words)
            if n is not None:
                found = True
                yield n, b
        for _, b in self._by_first[""]:
            yield k, b
        if not found:
            s.fail(k, self.accepts())

    def operand(self, word: int, address: int = 0) -> Operand | None:
        v = self.field.get(word)
        text = self.names.get(v, "???")
        return Word(text, self.values.get(v) if self.values is not None else None) if text else None

    @cached_property
    def _by_value(self) -> dict[Any, tuple[Bits]]:
        """Bits by text, by what the semantics gets, and by None for the value that prints nothing."""
        out: dict[Any, tuple[Bits]] = {}
        for v, name in self.names.items():
            out.setdefault(name, (Bits(self.field.mask, self.field.put(v)),))
        for name, v in self.aliases.items():
            out.setdefault(name, (Bits(self.field.mask, self.field.put(v)),))
        if "" in out:
            out[None] = out[""]
        for v, meant in (self.values or {}).items():
            if v in self.names and isinstance(meant, (int, str, tuple)):
                out.setdefault(meant, out[self.names[v]])
        return out

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        return self._by_value.get(key_of(value), ())

    def bind(self, word: int, b: Binder) -> Any:
        v = self.field.get(word)
        return self.values[v] if self.values is not None else self.names[v]

    def rows(self, word: int) -> list[Row]:
        v = self.field.get(word)
        meaning = self.meanings.get(v) or self.names.get(v, self.illegal) or self.label or "default"
        f = self.shown or self.field
        return [Row(f, f.get(word), meaning)] if f.width else []

    def text_source(self, keep: Keep) -> str:
        table = pad_all([self.names.get(v) for v in range(1 << self.field.width)])
        return f"{keep(table)}[{self.field.expression()}]"

    def error_source(self, keep: Keep) -> str:
        table = tuple(None if v in self.names else self.illegal for v in range(1 << self.field.width))
        return f"{keep(table)}[{self.field.expression()}]" if any(table) else "None"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.field.mask)

    def needed_words(self) -> frozenset[str] | None:
        spellings = [words for words, _ in self._spellings]
        return frozenset(words[0] for words in spellings) if all(spellings) else None

    def starts(self) -> frozenset[str] | None:
        return frozenset(words[0] if words else "" for words, _ in self._spellings)

    def pattern(self) -> str:
        return one_of(" ".join(words) for words, _ in self._spellings)

    def accepts(self) -> str:
        if self.hint is not None:
            return self.hint
        names = list(dict.fromkeys(f"`{n}`" for n in self.names.values() if n))
        return " | ".join(names if len(names) <= 12 else [*names[:11], "..."])


def Flag(f: Field, name: str, *, otherwise: str = "") -> Enum:
    """A one-bit field printed as `name` when set; bound to a bool."""
    return Enum(f, {0: otherwise, 1: name}, {0: False, 1: True}, label=f"not {name}")
