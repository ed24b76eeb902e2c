"""Parts: the pieces of an instruction, each mapping bits to text and back, and to what the semantics function gets.

Every part is two-way by construction. The generic kinds here cover most operands; an instruction set adds its own
subclasses for operands with behaviour of their own (banks with swizzles, memory with post-increment).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as member
from functools import cache, cached_property
from typing import Any, Protocol

from isakit.spec.fields import Bits, Field, where
from isakit.spec.patterns import ANYTHING, NUMBER, joined, one_of

ILLEGAL = "ILLEGAL_OPCODE"


class Binder(Protocol):
    """Makes the symbolic values that parts hand to semantics functions; provided by `sem`, unknown to `spec`."""

    def param(self, field: Field) -> Any:
        """The value of a field of the instruction word, the same in all lanes."""
        ...

    def const(self, value: int, width: int) -> Any:
        """A constant."""
        ...


class TokenStream(Protocol):
    """What a part needs from the assembler to parse itself."""

    @property
    def address(self) -> int:
        """Address of the instruction being assembled, in units of code."""
        ...

    def text(self, k: int) -> str:
        """Token `k`, or the empty string past the end."""
        ...

    def number(self, k: int) -> tuple[int, int] | None:
        """(next token, value) of a constant expression starting at token `k`, or None."""
        ...

    def float_number(self, k: int) -> tuple[int, float] | None:
        """(next token, value) of a floating point literal at `k`, or None."""
        ...

    def fail(self, k: int, expected: str) -> None:
        """Remember that `expected` would have been accepted at token `k`."""
        ...


Keep = Callable[[Any], str]
Match = tuple[int, Bits]
"""(index of the next token, the bits this reading determines)"""


@dataclass(frozen=True)
class Row:
    """One line of an explanation: which bits, their value and what it means."""

    field: Field
    value: int
    meaning: str


@dataclass(frozen=True)
class Context:
    """Where an instruction is decoded: variant features, program type (as features) and unit size."""

    features: frozenset[str] = frozenset()

    def has(self, needs: frozenset[str]) -> bool:
        """Whether every need is met: `a` the feature is there, `!a` it is not, `a|b` one of them is."""
        return all(any((n[0] == "!") != (n.lstrip("!") in self.features) for n in need.split("|")) for need in needs)


def needs_set(needs: str | Sequence[str] | frozenset[str]) -> frozenset[str]:
    """A feature requirement from one name or several."""
    return frozenset({needs} if isinstance(needs, str) else needs) - {""}


class Part:
    """Base of all parts; `word` arguments are whole instruction words."""

    #: a static part is bound to a plain Python value and becomes part of the trace key
    static = False
    #: the text depends on where the instruction stands (a relative branch that prints its target): see `text_at`
    addressed = False

    def resolve(self, ctx: Context) -> Part:
        """The part as it is in a context: alternatives that do not exist there are gone."""
        return self

    def text(self, word: int) -> str:
        """Canonical text, empty when nothing is printed."""
        raise NotImplementedError

    def text_at(self, word: int, address: int) -> str:
        """Canonical text of an instruction at `address` (in units of code)."""
        return self.text(word)

    def error(self, word: int) -> str | None:
        """The decode error these bits give, or None."""
        return None

    def claimed(self, word: int) -> int:
        """The bits whose value this part's text tells."""
        raise NotImplementedError

    def possible(self) -> int:
        """All bits the part may claim under any alternative."""
        raise NotImplementedError

    def static_mask(self) -> int:
        """Bits that select what the semantics does (as opposed to register numbers and immediates)."""
        return 0

    def static_word(self, word: int) -> int:
        """The bits of `word` that select what the semantics does, the others 0.

        Narrower than `static_mask` where only some values of a field matter (register numbers that alias another
        file). Words with equal static bits must have the same meaning apart from field values.
        """
        return word & self.static_mask()

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        """All readings of the tokens from `k`."""
        raise NotImplementedError

    def bind(self, word: int, b: Binder) -> Any:
        """What the semantics function receives; only `static_mask` bits of `word` may influence Python control flow."""
        return None

    def rows(self, word: int) -> list[Row]:
        """The explanation of the bits."""
        raise NotImplementedError

    def accepts(self) -> str:
        """What can be written here, in words."""
        return "an operand"

    def needed_words(self) -> frozenset[str] | None:
        """Words one of which must stand in the text of every operand of this kind; None where there are none.

        Only used to tell quickly that a text cannot be read.
        """
        return None

    def pattern(self) -> str:
        """Regular expression that every canonical text this kind of operand can read matches, see `spec.patterns`."""
        return ANYTHING

    def registers(self, word: int) -> list[str]:
        """Names of the registers the operand touches (itself and address registers)."""
        return []

    def accesses(self, word: int, output: bool) -> tuple[list[str], list[str]]:
        """(registers read, registers written) where the operand is a result (`output`) or a source.

        Kinds with an address override this: what forms the address of a result is read.
        """
        names = self.registers(word)
        return ([], names) if output else (names, [])

    # Python source of expressions in the variable `w`, from which the codec compiles its fast paths. `keep` stores an
    # object in the compiled function's namespace and returns its name. The defaults call the methods above.

    def text_source(self, keep: Keep) -> str:
        """Expression giving the text with a leading blank, or an empty string."""
        return f"{keep(_padded)}({keep(self)}.text(w))"

    def error_source(self, keep: Keep) -> str:
        """Expression giving a decode error name or None; `None` when the part cannot fail."""
        if type(self).error is Part.error:
            return "None"
        return f"{keep(self)}.error(w)"

    def claimed_source(self, keep: Keep) -> str:
        """Expression giving the claimed bits; a plain number when they do not depend on the word."""
        return f"{keep(self)}.claimed(w)"


def _padded(text: str) -> str:
    return " " + text if text else ""


def _pad_all(texts: Sequence[str | None]) -> tuple[str, ...]:
    return tuple("" if t == "" else " " + (t or "???") for t in texts)


def fit_tokens(s: TokenStream, k: int, words: Sequence[str]) -> int | None:
    """Index behind `words` if they stand at `k`."""
    for i, w in enumerate(words):
        if s.text(k + i) != w:
            return None
    return k + len(words)


def _describes_itself(part: Part, method: str) -> bool:
    """Whether `method` is about the part's own way to read texts, not about one that a subclass replaced."""
    for cls in type(part).__mro__:
        if method in vars(cls):
            return True
        if "parse" in vars(cls):
            return False
    return False


def needed_words(part: Part) -> frozenset[str] | None:
    """`part.needed_words()`, unless a subclass reads texts in a way of its own and does not say what it needs."""
    return part.needed_words() if _describes_itself(part, "needed_words") else None


def pattern(part: Part) -> str:
    """`part.pattern()`, unless a subclass reads texts in a way of its own and has no pattern."""
    return part.pattern() if _describes_itself(part, "pattern") else ANYTHING


@dataclass(frozen=True)
class Nothing(Part):
    """An absent operand: no bits, no text; bound to `value`."""

    value: Any = None

    def text(self, word: int) -> str:
        return ""

    def claimed(self, word: int) -> int:
        return 0

    def possible(self) -> int:
        return 0

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        yield k, Bits()

    def bind(self, word: int, b: Binder) -> Any:
        return self.value

    def rows(self, word: int) -> list[Row]:
        return []

    def text_source(self, keep: Keep) -> str:
        return "''"

    def claimed_source(self, keep: Keep) -> str:
        return "0"

    def pattern(self) -> str:
        return ""

    def accepts(self) -> str:
        return "nothing"


@dataclass(frozen=True)
class HasFeature(Part):
    """No bits and no text: tells the semantics whether the context has a feature, where chips differ in meaning."""

    name: str
    static = True

    def resolve(self, ctx: Context) -> Part:
        return Nothing(ctx.has(needs_set(self.name)))

    def text(self, word: int) -> str:
        return ""

    def claimed(self, word: int) -> int:
        return 0

    def possible(self) -> int:
        return 0

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        yield k, Bits()

    def rows(self, word: int) -> list[Row]:
        return []

    def accepts(self) -> str:
        return "nothing"


@dataclass(frozen=True)
class Literal(Part):
    """Fixed words, with other spellings that are accepted; bound to `value` (default: the text)."""

    words: str
    value: Any = None
    aliases: tuple[str, ...] = ()

    def text(self, word: int) -> str:
        return self.words

    def claimed(self, word: int) -> int:
        return 0

    def possible(self) -> int:
        return 0

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        for words in (self.words, *self.aliases):
            n = fit_tokens(s, k, words.split())
            if n is not None:
                yield n, Bits()
                return
        s.fail(k, f"`{self.words}`")

    def bind(self, word: int, b: Binder) -> Any:
        return self.words if self.value is None else self.value

    def rows(self, word: int) -> list[Row]:
        return []

    def text_source(self, keep: Keep) -> str:
        return repr(_padded(self.words))

    def claimed_source(self, keep: Keep) -> str:
        return "0"

    def needed_words(self) -> frozenset[str] | None:
        spellings = [w.split() for w in (self.words, *self.aliases)]
        return frozenset(words[0] for words in spellings) if all(spellings) else None

    def pattern(self) -> str:
        return one_of((self.words, *self.aliases))

    def accepts(self) -> str:
        return f"`{self.words}`"


@dataclass(frozen=True)
class Illegal(Part):
    """An encoding that is a decode error."""

    name: str = ILLEGAL

    def text(self, word: int) -> str:
        return "???"

    def error(self, word: int) -> str | None:
        return self.name

    def claimed(self, word: int) -> int:
        return 0

    def possible(self) -> int:
        return 0

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        yield from ()

    def rows(self, word: int) -> list[Row]:
        return []

    def text_source(self, keep: Keep) -> str:
        return "' ???'"

    def error_source(self, keep: Keep) -> str:
        return repr(self.name)

    def claimed_source(self, keep: Keep) -> str:
        return "0"

    def accepts(self) -> str:
        return ""


@dataclass(frozen=True)
class Enum(Part):
    """Named values of a field. A value without a name is a decode error; the text may be empty or several words.

    `values` maps field values to what the semantics gets (default: the text). `aliases` are other spellings.
    """

    field: Field
    names: Mapping[int, str]
    values: Mapping[int, Any] | None = None
    aliases: Mapping[str, int] = member(default_factory=dict[str, int])
    illegal: str = ILLEGAL
    label: str = ""
    static = True

    def text(self, word: int) -> str:
        return self.names.get(self.field.get(word), "???")

    def error(self, word: int) -> str | None:
        return None if self.field.get(word) in self.names else self.illegal

    def claimed(self, word: int) -> int:
        return self.field.mask

    def possible(self) -> int:
        return self.field.mask

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

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        found = False
        for words, b in self._spellings:
            n = fit_tokens(s, k, words)
            if n is not None:
                found = found or n > k
                yield n, b
        if not found:
            s.fail(k, self.accepts())

    def bind(self, word: int, b: Binder) -> Any:
        v = self.field.get(word)
        return self.values[v] if self.values is not None else self.names[v]

    def rows(self, word: int) -> list[Row]:
        v = self.field.get(word)
        return [Row(self.field, v, self.names.get(v, self.illegal) or self.label or "default")]

    def text_source(self, keep: Keep) -> str:
        table = _pad_all([self.names.get(v) for v in range(1 << self.field.width)])
        return f"{keep(table)}[{self.field.expression()}]"

    def error_source(self, keep: Keep) -> str:
        table = tuple(None if v in self.names else self.illegal for v in range(1 << self.field.width))
        return f"{keep(table)}[{self.field.expression()}]" if any(table) else "None"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.field.mask)

    def needed_words(self) -> frozenset[str] | None:
        spellings = [words for words, _ in self._spellings]
        return frozenset(words[0] for words in spellings) if all(spellings) else None

    def pattern(self) -> str:
        return one_of(" ".join(words) for words, _ in self._spellings)

    def accepts(self) -> str:
        names = list(dict.fromkeys(f"`{n}`" for n in self.names.values() if n))
        return " | ".join(names if len(names) <= 12 else [*names[:11], "..."])


def Flag(f: Field, name: str, *, otherwise: str = "") -> Enum:
    """A one-bit field printed as `name` when set; bound to a bool."""
    return Enum(f, {0: otherwise, 1: name}, {0: False, 1: True}, label=f"not {name}")


@cache
def _register_table(f: Field, names: tuple[str | None, ...], aliases: tuple[tuple[str, int], ...]) -> dict[str, Bits]:
    """Spellings of the registers of a field; shared, because many operands name the same registers."""
    mask = f.mask
    table = {n: Bits(mask, f.put(v)) for n, v in aliases}
    for v in range(len(names) - 1, -1, -1):
        n = names[v]
        if n is not None:
            table[n] = Bits(mask, f.put(v))
    return table


@dataclass(frozen=True)
class Reg(Part):
    """A register selected by a field.

    `names[value]` is the register's name, None for values that are illegal. `access(index)` builds what the semantics
    gets from the register index (a uniform Value): an object with read/write. `aliases` are other spellings.
    """

    field: Field
    names: tuple[str | None, ...]
    access: Callable[[Any], Any]
    label: str = "a register"
    illegal: str = ILLEGAL
    aliases: Mapping[str, int] = member(default_factory=dict[str, int])

    def text(self, word: int) -> str:
        return self.names[self.field.get(word)] or "???"

    def error(self, word: int) -> str | None:
        return None if self.names[self.field.get(word)] is not None else self.illegal

    def claimed(self, word: int) -> int:
        return self.field.mask

    def possible(self) -> int:
        return self.field.mask

    @cached_property
    def _values(self) -> dict[str, Bits]:
        return _register_table(self.field, self.names, tuple(self.aliases.items()))

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        b = self._values.get(s.text(k))
        if b is None:
            s.fail(k, self.accepts())
        else:
            yield k + 1, b

    def bind(self, word: int, b: Binder) -> Any:
        return self.access(b.param(self.field))

    def rows(self, word: int) -> list[Row]:
        return [Row(self.field, self.field.get(word), self.text(word))]

    def text_source(self, keep: Keep) -> str:
        return f"{keep(_pad_all(self.names))}[{self.field.expression()}]"

    def error_source(self, keep: Keep) -> str:
        if all(n is not None for n in self.names):
            return "None"
        table = tuple(None if n is not None else self.illegal for n in self.names)
        return f"{keep(table)}[{self.field.expression()}]"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.field.mask)

    def needed_words(self) -> frozenset[str] | None:
        return frozenset(self._values)

    def pattern(self) -> str:
        return one_of(self._values)

    def accepts(self) -> str:
        legal = [n for n in self.names if n is not None]
        return f"{legal[0]} .. {legal[-1]}" if len(legal) > 2 else " | ".join(legal)

    def registers(self, word: int) -> list[str]:
        name = self.names[self.field.get(word)]
        return [] if name is None else [name]


@dataclass(frozen=True)
class Imm(Part):
    """An immediate number of the field's width times `scale`, printed in hexadecimal.

    `signed` fields accept and print negative numbers. `wrap` also accepts the two's complement spelling of a negative
    number (-1 for 0xffffffff). `single` accepts a floating point literal as an f32 bit pattern. `static` immediates are
    bound to a Python int, others to a uniform Value of `width` bits (default: the field's width).
    """

    field: Field
    width: int = 0
    scale: int = 1
    signed: bool = False
    wrap: bool = False
    single: bool = False
    fixed: bool = False
    label: str = "a number"
    prefix: str = ""

    @property
    def static(self) -> bool:  # type: ignore[override]
        return self.fixed

    def value(self, word: int) -> int:
        """The number that is printed."""
        v = self.field.get(word)
        if self.signed and v >> (self.field.width - 1):
            v -= 1 << self.field.width
        return v * self.scale

    def text(self, word: int) -> str:
        v = self.value(word)
        return f"{self.prefix}{v:#x}"

    def claimed(self, word: int) -> int:
        return self.field.mask

    def possible(self) -> int:
        return self.field.mask

    def static_mask(self) -> int:
        return self.field.mask if self.fixed else 0

    def encode(self, v: int) -> Bits | None:
        """The bits for a number, None when it does not fit."""
        if v % self.scale:
            return None
        v //= self.scale
        n = self.field.width
        low, high = (-(1 << n - 1), (1 << n - 1) - 1) if self.signed else (0, (1 << n) - 1)
        if self.wrap:
            low, high = -(1 << n - 1), (1 << n) - 1
        if not low <= v <= high:
            return None
        return Bits(self.field.mask, self.field.put(v & (1 << n) - 1))

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        if self.prefix:
            if s.text(k) != self.prefix:
                s.fail(k, self.accepts())
                return
            k += 1
        got = s.number(k)
        if got is None and self.single:
            real = s.float_number(k)
            if real is not None:
                import struct

                try:
                    got = real[0], struct.unpack("<I", struct.pack("<f", real[1]))[0]
                except OverflowError:
                    got = None
        b = self.encode(got[1]) if got else None
        if got is None or b is None:
            s.fail(k, self.accepts())
        else:
            yield got[0], b

    def bind(self, word: int, b: Binder) -> Any:
        if self.fixed:
            return self.value(word)
        v = b.param(self.field)
        width = self.width or self.field.width
        v = v.sext(width) if self.signed and width > self.field.width else v.resize(width)
        return v if self.scale == 1 else v * b.const(self.scale, width)

    def rows(self, word: int) -> list[Row]:
        return [Row(self.field, self.field.get(word), self.text(word))]

    def text_source(self, keep: Keep) -> str:
        if self.field.width <= 8:
            table = _pad_all([self.text(self.field.put(v)) for v in range(1 << self.field.width)])
            return f"{keep(table)}[{self.field.expression()}]"
        if self.signed:
            return super().text_source(keep)
        scale = f"*{self.scale}" if self.scale > 1 else ""
        return f"f' {self.prefix}{{{self.field.expression()}{scale}:#x}}'"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.field.mask)

    def pattern(self) -> str:
        return joined([re.escape(self.prefix), NUMBER]) if self.prefix else NUMBER

    def accepts(self) -> str:
        n = self.field.width
        low, high = (-(1 << n - 1), (1 << n - 1) - 1) if self.signed else (0, (1 << n) - 1)
        step = f", a multiple of {self.scale}" if self.scale > 1 else ""
        return f"{self.label} {low * self.scale:#x} .. {high * self.scale:#x}{step}"


@dataclass(frozen=True)
class Alternative:
    """One branch of a choice: taken when the word has the bits `when` (and not `unless`)."""

    when: Bits
    part: Part
    needs: frozenset[str] = frozenset()
    unless: Bits | None = None

    def applies(self, word: int) -> bool:
        """Whether the word selects this alternative."""
        return word & self.when.mask == self.when.value and not (self.unless and self.unless.holds(word))


def when(
    conditions: dict[Field, int], part: Part, *, needs: str | Sequence[str] = "", unless: dict[Field, int] | None = None
) -> Alternative:
    """An alternative taken when every field has its value; `needs` names features it exists with."""
    return Alternative(where(conditions), part, needs_set(needs), where(unless) if unless else None)


@dataclass(frozen=True)
class Choice(Part):
    """Alternatives selected by other bits; the first that applies is taken, none is a decode error."""

    alternatives: tuple[Alternative, ...]
    illegal: str = ILLEGAL

    def resolve(self, ctx: Context) -> Part:
        alive = [
            Alternative(a.when, a.part.resolve(ctx), a.needs, a.unless) for a in self.alternatives if ctx.has(a.needs)
        ]
        return Choice(tuple(alive), self.illegal)

    def pick(self, word: int) -> Part | None:
        """The part the word selects."""
        for a in self.alternatives:
            if a.applies(word):
                return a.part
        return None

    def text(self, word: int) -> str:
        p = self.pick(word)
        return "???" if p is None else p.text(word)

    def error(self, word: int) -> str | None:
        p = self.pick(word)
        return self.illegal if p is None else p.error(word)

    def claimed(self, word: int) -> int:
        for a in self.alternatives:
            if a.applies(word):
                return a.when.mask | a.part.claimed(word)
        return 0

    def possible(self) -> int:
        out = 0
        for a in self.alternatives:
            out |= a.when.mask | a.part.possible()
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
        for i, a in enumerate(self.alternatives):
            if isinstance(a.part, Illegal):
                continue
            for n, b in a.part.parse(s, k):
                both = b.join(a.when)
                if both is None or (a.unless and a.unless.mask & ~both.mask == 0 and a.unless.holds(both.value)):
                    continue
                if any(
                    e.when.mask & ~both.mask == 0
                    and e.when.holds(both.value)
                    and not (e.unless and e.unless.holds(both.value))
                    for e in self.alternatives[:i]
                ):
                    continue  # an earlier alternative would claim these very bits
                yield n, both

    def bind(self, word: int, b: Binder) -> Any:
        p = self.pick(word)
        return None if p is None else p.bind(word, b)

    def rows(self, word: int) -> list[Row]:
        p = self.pick(word)
        return [] if p is None else p.rows(word)

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
        sources = [_or_sources([str(a.when.mask), a.part.claimed_source(keep)]) for a in self.alternatives]
        return self._conditional(sources, sources[-1] if self.complete and sources else "0")

    def needed_words(self) -> frozenset[str] | None:
        out: frozenset[str] = frozenset()
        for a in self.alternatives:
            words = frozenset[str]() if type(a.part) is Illegal else needed_words(a.part)
            if words is None:
                return None
            out |= words
        return out

    def pattern(self) -> str:
        patterns = [pattern(a.part) for a in self.alternatives if type(a.part) is not Illegal]
        return "(?:" + "|".join(dict.fromkeys(patterns)) + ")" if patterns else "(?!)"

    def accepts(self) -> str:
        texts = [a.part.accepts() for a in self.alternatives]
        return " | ".join(dict.fromkeys(t for t in texts if t and t != "nothing"))

    def registers(self, word: int) -> list[str]:
        p = self.pick(word)
        return [] if p is None else p.registers(word)

    def accesses(self, word: int, output: bool) -> tuple[list[str], list[str]]:
        p = self.pick(word)
        return ([], []) if p is None else p.accesses(word, output)


def _or_sources(sources: Sequence[str]) -> str:
    """OR of integer expressions, constants folded."""
    number = 0
    rest: list[str] = []
    for source in sources:
        if source.isdigit():
            number |= int(source)
        else:
            rest.append(source)
    return (
        "|".join([str(number), *dict.fromkeys(rest)])
        if not rest
        else "(" + "|".join(([str(number)] if number else []) + list(dict.fromkeys(rest))) + ")"
    )


def choice(*alternatives: Alternative, illegal: str = ILLEGAL) -> Choice:
    """A choice between alternatives made with `when`."""
    return Choice(alternatives, illegal)


@dataclass(frozen=True)
class Seq(Part):
    """Parts one after the other; `glue` joins their texts; bound to `make(*bound parts)` (default: a tuple)."""

    parts: tuple[Part, ...]
    make: Callable[..., Any] | None = None
    glue: str = " "

    def resolve(self, ctx: Context) -> Part:
        return Seq(tuple(p.resolve(ctx) for p in self.parts), self.make, self.glue)

    def text(self, word: int) -> str:
        return self.glue.join(t for t in (p.text(word) for p in self.parts) if t)

    def error(self, word: int) -> str | None:
        for p in self.parts:
            e = p.error(word)
            if e is not None:
                return e
        return None

    def claimed(self, word: int) -> int:
        out = 0
        for p in self.parts:
            out |= p.claimed(word)
        return out

    def possible(self) -> int:
        out = 0
        for p in self.parts:
            out |= p.possible()
        return out

    def static_mask(self) -> int:
        out = 0
        for p in self.parts:
            out |= p.static_mask()
        return out

    def static_word(self, word: int) -> int:
        out = 0
        for p in self.parts:
            out |= p.static_word(word)
        return out

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        yield from self._parse(s, k, 0, Bits())

    def _parse(self, s: TokenStream, k: int, i: int, so_far: Bits) -> Iterator[Match]:
        if i == len(self.parts):
            yield k, so_far
            return
        if self.glue.strip() and i > 0:
            n = fit_tokens(s, k, [self.glue.strip()])
            if n is None:
                s.fail(k, f"`{self.glue.strip()}`")
                return
            k = n
        for n, b in self.parts[i].parse(s, k):
            both = so_far.join(b)
            if both is not None:
                yield from self._parse(s, n, i + 1, both)

    def bind(self, word: int, b: Binder) -> Any:
        bound = [p.bind(word, b) for p in self.parts]
        return self.make(*bound) if self.make else tuple(bound)

    def rows(self, word: int) -> list[Row]:
        return [r for p in self.parts for r in p.rows(word)]

    def text_source(self, keep: Keep) -> str:
        if self.glue != " ":
            return super().text_source(keep)
        return "(" + "+".join(p.text_source(keep) for p in self.parts) + ")"

    def error_source(self, keep: Keep) -> str:
        sources = [s for s in (p.error_source(keep) for p in self.parts) if s != "None"]
        return "(" + " or ".join(sources) + ")" if sources else "None"

    def claimed_source(self, keep: Keep) -> str:
        return _or_sources([p.claimed_source(keep) for p in self.parts])

    def needed_words(self) -> frozenset[str] | None:
        sets = [s for s in (needed_words(p) for p in self.parts) if s is not None]
        return min(sets, key=len) if sets else None

    def pattern(self) -> str:
        return joined(pattern(p) for p in self.parts) if self.glue == " " else ANYTHING

    def accepts(self) -> str:
        return self.glue.join(p.accepts() for p in self.parts)

    def registers(self, word: int) -> list[str]:
        return [r for p in self.parts for r in p.registers(word)]

    def accesses(self, word: int, output: bool) -> tuple[list[str], list[str]]:
        both = [p.accesses(word, output) for p in self.parts]
        return [r for reads, _ in both for r in reads], [w for _, writes in both for w in writes]
