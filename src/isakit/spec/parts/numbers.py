"""Parts that print registers and numbers."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field as member
from functools import cache
from itertools import takewhile
from typing import Any, ClassVar

from isakit.lean import cached_property, dataclass
from isakit.spec.fields import Bits, Field
from isakit.spec.operands import CodeAddress, Immediate, Operand, Register, SpecialRegister
from isakit.spec.parts.base import (
    ILLEGAL,
    NUMBER_START,
    Binder,
    Bitless,
    Keep,
    Match,
    OfField,
    Part,
    Row,
    TokenStream,
    pad_all,
)
from isakit.spec.patterns import NUMBER, joined, one_of


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


def number_behind(s: TokenStream, k: int, mark: str) -> tuple[int, int] | None:
    """(next token, value) of a number after a mark: in one token with it, or a constant expression."""
    t = s.text(k)
    if t == mark:
        return s.number(k + 1)
    try:
        return (k + 1, int(t.removeprefix(mark), 0)) if t.startswith(mark) else None
    except ValueError:
        return None


def _bracketed(s: TokenStream, k: int) -> tuple[int, str]:
    """(next token, text) of a word with what stands in brackets after it."""
    text = s.text(k)
    while s.text(k) not in ("]", ""):
        k += 1
        text += s.text(k)
    return k + 1, text


@dataclass(frozen=True, eq=False)
class Reg(OfField):
    """A register selected by a field.

    `names[value]` is the register's name, None for values that are illegal. `access(index)` builds what the semantics
    gets from the register index (a uniform Value): an object with read/write. `aliases` are other spellings.
    `file` is the register file (default: the letters of the names), `width` the bits that the operand has, where the
    file does not say it; `first` is the number of the register that value 0 names. `half`: the field counts halves,
    the low one first. `numbers` are registers that always read the same, by field value, and are written as that
    number. `special`: the registers have functions of their own. `told(value)` is what else is known of the operand.
    `hint` says what can be written here. `mark`: names that begin with it are numbers, which may be written otherwise.
    """

    field: Field
    names: tuple[str | None, ...]
    access: Callable[[Any], Any]
    label: str = "a register"
    illegal: str = ILLEGAL
    aliases: Mapping[str, int] = member(default_factory=dict[str, int])
    file: str = ""
    width: int = 0
    half: bool = False
    first: int = 0
    numbers: Mapping[int, int] = member(default_factory=dict[int, int])
    special: bool = False
    told: Callable[[int], Mapping[str, Any]] | None = None
    hint: str | None = None
    mark: str = ""
    #: modifiers of the operand that belong to the register itself
    own: ClassVar[frozenset[str]] = frozenset()

    def may_be(self, kind: type) -> bool:
        return issubclass(kind, Register) or kind is str or (bool(self.numbers) and issubclass(kind, (int, Immediate)))

    @cached_property
    def texts(self) -> tuple[str | None, ...]:
        """What is written for each value."""
        if not self.numbers:
            return self.names
        return tuple(f"{self.numbers[v]:#x}" if v in self.numbers else n for v, n in enumerate(self.names))

    def text(self, word: int, address: int = 0) -> str:
        return self.texts[self.field.get(word)] or "???"

    def error(self, word: int) -> str | None:
        return None if self.names[self.field.get(word)] is not None else self.illegal

    def named(self, text: str) -> Bits | None:
        """The bits of a register's name."""
        return self._values.get(text)

    @cached_property
    def _values(self) -> dict[str, Bits]:
        return _register_table(self.field, self.names, tuple(self.aliases.items()))

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        t, n = s.text(k), k + 1
        b = self._values.get(t)
        if b is None and s.text(n) == "[":
            n, t = _bracketed(s, k)
            b = self._values.get(t)
        elif b is None and self.mark and t.startswith(self.mark):
            marked = number_behind(s, k, self.mark)
            if marked is not None:
                n, b = marked[0], self._values.get(f"{self.mark}{marked[1]:#x}")
        if b is not None:
            yield n, b
            return
        got = s.number(k) if self.numbers and s.text(k)[:1] != "$" else None
        b = self._by_number.get(got[1]) if got else None
        if got is None or b is None:
            s.fail(k, self.accepts())
        else:
            yield got[0], b

    @cached_property
    def _by_number(self) -> dict[int, Bits]:
        return {n: Bits(self.field.mask, self.field.put(v)) for v, n in self.numbers.items()}

    def bind(self, word: int, b: Binder) -> Any:
        return self.access(b.param(self.field))

    def rows(self, word: int) -> list[Row]:
        v = self.field.get(word)
        return [Row(self.field, v, self.names[v] or "???")] if self.field.width else []

    def text_source(self, keep: Keep) -> str:
        return f"{keep(pad_all(self.texts))}[{self.field.expression()}]"

    def error_source(self, keep: Keep) -> str:
        if all(n is not None for n in self.names):
            return "None"
        table = tuple(None if n is not None else self.illegal for n in self.names)
        return f"{keep(table)}[{self.field.expression()}]"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.field.mask)

    def needed_words(self) -> frozenset[str] | None:
        return None if self.numbers else frozenset(self._values)

    def starts(self) -> frozenset[str] | None:
        return frozenset({*self._values, NUMBER_START} if self.numbers else self._values)

    def pattern(self) -> str:
        return one_of((*self._values, *(n for n in self.texts if n))) if self.numbers else one_of(self._values)

    def accepts(self) -> str:
        return self._accepts if self.hint is None else self.hint

    @cached_property
    def _accepts(self) -> str:
        legal = [n for n in self.names if n is not None]
        return f"{legal[0]} .. {legal[-1]}" if len(legal) > 2 else " | ".join(legal)

    def operand(self, word: int, address: int = 0) -> Operand:
        return self.described(word, self.text(word))

    def described(self, word: int, text: str, **more: Any) -> Operand:
        """The register as an operand with this text, which may say more than the register."""
        v = self.field.get(word)
        plain = self.names[v] or "???"
        if self.half:
            return Register(self.family, v >> 1, self.width or 16, "lh"[v & 1], text=text, plain=plain, **more)
        if self.special:
            return SpecialRegister(plain.lstrip("$"), v, file=self.family, text=text, plain=plain, **more)
        more |= self.told(v) if self.told else {}
        return Register(self.family, v + self.first, self.width, text=text, plain=plain, **more)

    @cached_property
    def family(self) -> str:
        """The register file."""
        first = next((n for n in self.names if n), "").lstrip("$")
        return self.file or "".join(takewhile(str.isalpha, first))

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if not isinstance(value, Register):
            found = self._values.get(value) if isinstance(value, str) else None
            if found is None and self.numbers:
                number = value if type(value) is int else value.value if isinstance(value, Immediate) else None
                found = next((b for n, b in self._by_number.items() if number == n or value == f"{n:#x}"), None)
            return (found,) if found is not None else ()
        if (
            value.file != self.family
            or bool(value.half) != self.half
            or (value.width != self.width and (value.width or self.width > 32))
        ):
            return ()
        v = value.index * 2 + "lh".index(value.half) if value.half else value.index - self.first
        if not 0 <= v < len(self.names) or self.names[v] is None or value.modifiers or value.index_register:
            return ()
        return (Bits(self.field.mask, self.field.put(v)),)


def _single(value: float) -> int | None:
    """The bits of an f32 number, None where it is too large."""
    try:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return None


@dataclass(frozen=True)
class Imm(OfField):
    """An immediate number of the field's width times `scale`, printed in hexadecimal.

    `signed` fields accept and print negative numbers. `wrap` also accepts the two's complement spelling of a negative
    number (-1 for 0xffffffff). `single` accepts a floating point literal as an f32 bit pattern. `static` immediates are
    bound to a Python int, others to a uniform Value of `width` bits (default: the field's width). `code_address`:
    where a branch goes. `prefix` stands in front, `mark` may. `form` is how the number is printed and `meaning` how it
    is explained (with `{}` for it). `hint` says what can be written here, `advice` what to do about other numbers.
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
    code_address: bool = False
    mark: str = ""
    form: str = "#x"
    meaning: str = ""
    hint: str | None = None
    advice: str = ""

    @property
    def static(self) -> bool:  # type: ignore[override]
        return self.fixed

    def value(self, word: int) -> int:
        """The number that is printed."""
        v = self.field.get(word)
        if self.signed and v >> (self.field.width - 1):
            v -= 1 << self.field.width
        return v * self.scale

    def text(self, word: int, address: int = 0) -> str:
        return f"{self.prefix}{self.value(word):{self.form}}"

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
        start, got = k, None
        if not self.prefix:
            got = s.number(k + 1 if self.mark and s.text(k) == self.mark else k)
        elif s.text(k).startswith(self.prefix):
            got = number_behind(s, k, self.prefix)
            k += s.text(k) == self.prefix
        if got is None and self.single:
            real = s.float_number(k)
            pattern = _single(real[1]) if real is not None else None
            got = (real[0], pattern) if real is not None and pattern is not None else None
        b = self.encode(got[1]) if got else None
        if got is None or b is None:
            s.fail(start if self.prefix else k, self.accepts() + (self.advice if got else ""))
        else:
            yield got[0], b

    def operand(self, word: int, address: int = 0) -> Operand:
        value = self.value(word)
        if self.code_address:
            return CodeAddress(value, text=self.text(word))
        return Immediate(
            value, f"{'s' if self.signed else 'b' if self.wrap else 'u'}{self.field.width}", text=self.text(word)
        )

    kinds = (int, float, Immediate, CodeAddress)

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if isinstance(value, float) and self.single:
            got = _single(value)
        elif isinstance(value, (Immediate, CodeAddress)):
            got = int(value) if not isinstance(value.key, tuple) else None
        else:
            got = value if isinstance(value, int) else None
        b = None if got is None else self.encode(got)
        return () if b is None else (b,)

    def bind(self, word: int, b: Binder) -> Any:
        if self.fixed:
            return self.value(word)
        v = b.param(self.field)
        width = self.width or self.field.width
        v = v.sext(width) if self.signed and width > self.field.width else v.resize(width)
        return v if self.scale == 1 else v * b.const(self.scale, width)

    def rows(self, word: int) -> list[Row]:
        meaning = self.meaning.format(self.value(word)) if self.meaning else self.text(word)
        return [Row(self.field, self.field.get(word), meaning)]

    def text_source(self, keep: Keep) -> str:
        if self.field.width <= 8:
            table = pad_all([self.text(self.field.put(v)) for v in range(1 << self.field.width)])
            return f"{keep(table)}[{self.field.expression()}]"
        if self.signed:
            return super().text_source(keep)
        scale = f"*{self.scale}" if self.scale > 1 else ""
        return f"f' {self.prefix}{{{self.field.expression()}{scale}:{self.form}}}'"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.field.mask)

    def starts(self) -> frozenset[str] | None:
        return None if self.prefix else frozenset({NUMBER_START})

    def pattern(self) -> str:
        return joined([re.escape(self.prefix), NUMBER]) if self.prefix else NUMBER

    def accepts(self) -> str:
        if self.hint is not None:
            return self.hint
        n = self.field.width
        low, high = (-(1 << n - 1), (1 << n - 1) - 1) if self.signed else (0, (1 << n) - 1)
        step = f", a multiple of {self.scale}" if self.scale > 1 else ""
        return f"{self.label} {low * self.scale:#x} .. {high * self.scale:#x}{step}"


@dataclass(frozen=True)
class Relative(Imm):
    """A code address that is kept as its distance from the instruction.

    `modulus` is the size of the code space where addresses wrap. Printed as the address, or (`as_distance`) as the
    distance with its sign; in such a text a number is a distance, too, and a name an address.
    """

    modulus: int = 0
    as_distance: bool = False
    addressed = True

    def _address(self, word: int, address: int) -> int:
        found = address + self.value(word)
        return found % self.modulus if self.modulus else found

    def _bits(self, target: int, address: int) -> Bits | None:
        if self.modulus and not 0 <= target < self.modulus:
            return None
        return self.encode((target - address) % self.modulus if self.modulus else target - address)

    def text(self, word: int, address: int = 0) -> str:
        return f"{self.value(word):+d}" if self.as_distance else f"{self._address(word, address):#x}"

    def text_source(self, keep: Keep) -> str:
        return Part.text_source(self, keep)

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        got = s.number(k + 1 if self.mark and s.text(k) == self.mark else k)
        if got is None:
            s.fail(k, self.accepts())
            return
        distance = self.as_distance and s.text(k)[:1] in "+-0123456789"
        b = self.encode(got[1]) if distance else self._bits(got[1], s.address)
        if b is None:
            last = self._address(self.field.mask >> self.signed, s.address)
            s.fail(k, self.accepts() if self.as_distance else self.advice.format(s.address, last))
        else:
            yield got[0], b

    def operand(self, word: int, address: int = 0) -> Operand:
        return CodeAddress(self._address(word, address), text=self.text(word, address))

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        b = self._bits(int(value), address) if isinstance(value, (int, CodeAddress)) else None
        return () if b is None else (b,)


@dataclass(frozen=True)
class Constant(Bitless):
    """A number that is always the same, after a `prefix`; `hint` says what can be written here."""

    value: int
    prefix: str = ""
    hint: str = ""

    def text(self, word: int, address: int = 0) -> str:
        return f"{self.prefix}{self.value:#x}"

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        got = s.number(k + bool(self.prefix)) if not self.prefix or s.text(k) == self.prefix else None
        if got is not None and got[1] == self.value:
            yield got[0], Bits()
        else:
            s.fail(k, self.accepts())

    def operand(self, word: int, address: int = 0) -> Operand:
        return Immediate(self.value, text=self.text(word))

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        return (Bits(),) if value == self.value or value == self.text(0) else ()

    def pattern(self) -> str:
        return joined([re.escape(self.prefix), NUMBER]) if self.prefix else NUMBER

    def accepts(self) -> str:
        return self.hint or self.text(0)
