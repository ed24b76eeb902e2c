"""Parts that print registers and numbers."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as member
from functools import cache, cached_property
from itertools import takewhile
from typing import Any

from isakit.spec.fields import Bits, Field
from isakit.spec.operands import CodeAddress, Immediate, Operand, Register
from isakit.spec.parts.base import (
    ILLEGAL,
    Binder,
    Keep,
    Match,
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


@dataclass(frozen=True)
class Reg(Part):
    """A register selected by a field.

    `names[value]` is the register's name, None for values that are illegal. `access(index)` builds what the semantics
    gets from the register index (a uniform Value): an object with read/write. `aliases` are other spellings.
    `file` is the register file (default: the letters of the names), `width` the bits that the operand has, where the
    file does not say it; `first` is the number of the register that value 0 names. `half`: the field counts halves,
    the low one first.
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

    def may_be(self, kind: type) -> bool:
        return issubclass(kind, Register) or kind is str

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
        return f"{keep(pad_all(self.names))}[{self.field.expression()}]"

    def error_source(self, keep: Keep) -> str:
        if all(n is not None for n in self.names):
            return "None"
        table = tuple(None if n is not None else self.illegal for n in self.names)
        return f"{keep(table)}[{self.field.expression()}]"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.field.mask)

    def needed_words(self) -> frozenset[str] | None:
        return frozenset(self._values)

    starts = needed_words

    def pattern(self) -> str:
        return one_of(self._values)

    def accepts(self) -> str:
        legal = [n for n in self.names if n is not None]
        return f"{legal[0]} .. {legal[-1]}" if len(legal) > 2 else " | ".join(legal)

    def operand(self, word: int) -> Register:
        v = self.field.get(word)
        if self.half:
            return Register(self.family, v >> 1, self.width or 16, "lh"[v & 1], text=self.text(word))
        return Register(self.family, v + self.first, self.width, text=self.text(word))

    @cached_property
    def family(self) -> str:
        """The register file."""
        first = next((n for n in self.names if n), "").lstrip("$")
        return self.file or "".join(takewhile(str.isalpha, first))

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if not isinstance(value, Register):
            found = self._values.get(value) if isinstance(value, str) else None
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
class Imm(Part):
    """An immediate number of the field's width times `scale`, printed in hexadecimal.

    `signed` fields accept and print negative numbers. `wrap` also accepts the two's complement spelling of a negative
    number (-1 for 0xffffffff). `single` accepts a floating point literal as an f32 bit pattern. `static` immediates are
    bound to a Python int, others to a uniform Value of `width` bits (default: the field's width). `code_address`:
    where a branch goes.
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
            pattern = _single(real[1]) if real is not None else None
            got = (real[0], pattern) if real is not None and pattern is not None else None
        b = self.encode(got[1]) if got else None
        if got is None or b is None:
            s.fail(k, self.accepts())
        else:
            yield got[0], b

    def operand(self, word: int) -> Operand:
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
        return [Row(self.field, self.field.get(word), self.text(word))]

    def text_source(self, keep: Keep) -> str:
        if self.field.width <= 8:
            table = pad_all([self.text(self.field.put(v)) for v in range(1 << self.field.width)])
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
