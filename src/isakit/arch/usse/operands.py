"""Operand parts of the USSE: sources with swizzle and modifiers, destinations with mask, internal registers.

Source: [usse] 2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from isakit.arch.usse.places import UNIFIED, Place, attach, take_register
from isakit.arch.usse.registers import Destination, Source
from isakit.arch.usse.swizzles import Mask, Swizzle
from isakit.arch.usse.usse import SECONDARY
from isakit.spec import Bitless, Bits, Context, Field, Match, Part, Row, TokenStream
from isakit.spec.operands import Immediate, Operand, Register
from isakit.spec.parts import Binder

NO_BITS = Field(())


@dataclass(frozen=True)
class _Placed(Part):
    """Base of parts with a register in a bank; `span` tells how many registers from this one on are meant."""

    place: Place
    span: Callable[[int], int] | None = field(default=None, kw_only=True)

    def resolve(self, ctx: Context) -> Part:
        if SECONDARY in ctx.features and not self.place.secondary:
            return replace(self, place=replace(self.place, secondary=True))
        return self

    def accepts(self) -> str:
        banks = [b for b in self.place.banks if b in UNIFIED]
        if not banks:
            return "an internal register i0 .. i3 with swizzle"
        return f"a register ({', '.join(f'{b}N' for b in banks)}, i0..i3 ...)"


@dataclass(frozen=True)
class SourcePart(_Placed):
    """A source: register, swizzle, absolute value and negation."""

    swizzle: Swizzle | None = None
    neg: Field | None = None
    abs: Field | None = None
    ty: str = "f32"

    def _modifiers(self, word: int) -> tuple[bool, bool]:
        return bool(self.neg and self.neg.get(word)), bool(self.abs and self.abs.get(word))

    def text(self, word: int) -> str:
        neg, absolute = self._modifiers(word)
        letters = (self.swizzle.letters(word) or "???") if self.swizzle else None
        text = attach(self.place.text(word), letters)
        text = f"|{text}|" if absolute else text
        return f"-{text}" if neg else text

    def error(self, word: int) -> str | None:
        return "UNDEFINED_SWIZZLE" if self.swizzle and self.swizzle.letters(word) is None else None

    def claimed(self, word: int) -> int:
        out = self.place.field.mask
        for f in (self.neg, self.abs, self.swizzle.field if self.swizzle else None):
            out |= f.mask if f else 0
        return out

    def possible(self) -> int:
        return self.claimed(0)

    def static_mask(self) -> int:
        return self.claimed(0)

    def static_word(self, word: int) -> int:
        return word & self.claimed(0) & ~self.place.field.mask | self.place.static_word(word)

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        start = k
        bits = Bits()
        for sign, f in (("-", self.neg), ("|", self.abs)):
            there = s.text(k) == sign
            if there and f is None:
                s.fail(start, self.accepts())
                return
            k += there
            if f is not None:
                bits = Bits(bits.mask | f.mask, bits.value | f.put(int(there)))
        closing = self.abs is not None and bool(self.abs.get(bits.value))
        k, name, letters = take_register(s, k)
        parts = [self.place.encode(name), self.swizzle.encode(letters) if self.swizzle else Bits()]
        if (letters and not self.swizzle) or (closing and s.text(k) != "|") or None in parts:
            s.fail(start, self.accepts())
            return
        for p in parts:
            both = bits.join(p) if p is not None else None
            if both is None:
                return
            bits = both
        yield k + closing, bits

    def operand(self, word: int) -> Operand:
        neg, absolute = self._modifiers(word)
        letters = self.swizzle.letters(word) if self.swizzle else None
        more: dict[str, Any] = {"neg": True} if neg else {}
        more |= {"abs": True} if absolute else {}
        more |= {"swizzle": letters} if letters else {}
        channels = ["xyzw".index(c) for c in letters or "xyzw"[: 4 if self.place.double else 1] if c in "xyzw"]
        touched = tuple(range(self.span(word))) if self.span else _words(channels, self.ty, self.place.internal(word))
        return self.place.operand(word, self.text(word), touched, **more)

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if not isinstance(value, (Register, Immediate)):
            return ()
        given = dict(value.modifiers)
        given.pop("via", None)
        neg, absolute, letters = given.pop("neg", False), given.pop("abs", False), given.pop("swizzle", None)
        swizzle = self.swizzle.encode(letters or "") if self.swizzle else None if letters else Bits()
        b = self.place.put(value)
        for f, on in ((self.neg, neg), (self.abs, absolute)):
            if on and f is None:
                return ()
            if f is not None and b is not None:
                b = b.join(Bits(f.mask, f.put(int(on))))
        b = b.join(swizzle) if b is not None and swizzle is not None else None
        return () if b is None or given else (b,)

    def bind(self, word: int, b: Binder) -> Source:
        neg, absolute = self._modifiers(word)
        letters = self.swizzle.letters(word) if self.swizzle else None
        return Source(self.place.location(word, b), letters, neg, absolute, self.ty)

    def rows(self, word: int) -> list[Row]:
        described: list[tuple[Field | None, str]] = [(self.place.field, f"register {self.place.text(word)}")]
        if self.swizzle:
            described.append((self.swizzle.field, f"swizzle {self.swizzle.letters(word) or 'undefined'}"))
        neg, absolute = self._modifiers(word)
        described.append((self.neg, "negated" if neg else "not negated"))
        described.append((self.abs, "absolute value" if absolute else "signed value"))
        return [Row(f, f.get(word), text) for f, text in described if f and f.width]


@dataclass(frozen=True)
class DestPart(_Placed):
    """A destination: register and write mask."""

    mask: Mask | None = None
    ty: str = "f32"

    def _used(self, word: int) -> int:
        return self.mask.used_bits(self.place.internal(word)) if self.mask else 0

    def text(self, word: int) -> str:
        letters = self.mask.letters(word, self.place.internal(word)) if self.mask else None
        return attach(self.place.text(word), letters)

    def claimed(self, word: int) -> int:
        return self.place.field.mask | self._used(word)

    def possible(self) -> int:
        return self.place.field.mask | (self.mask.field.mask if self.mask else 0)

    def static_mask(self) -> int:
        return self.possible()

    def static_word(self, word: int) -> int:
        return word & self._used(word) | self.place.static_word(word)

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        n, name, letters = take_register(s, k)
        at = self.place.encode(name)
        if at is not None and bool(letters) == (self.mask is not None):
            mask = self.mask.encode(letters, self.place.internal(at.value)) if self.mask else Bits()
            both = at.join(mask) if mask is not None else None
            if both is not None:
                yield n, both
                return
        s.fail(k, self.accepts())

    def operand(self, word: int) -> Operand:
        internal = self.place.internal(word)
        channels = self.mask.channels(word, internal) if self.mask else (0,)
        more: dict[str, Any] = {"mask": self.mask.letters(word, internal)} if self.mask else {}
        # Most operations leave z and w of an f32 register pair alone.
        exact = internal or (self.ty == "f32" and max(channels, default=0) < 2 and not self.span)
        # Ten-bit elements are put together anew in the first register, whichever channels are written.
        touched = _words((0, *channels) if self.ty == "c10" and not internal else channels, self.ty, internal)
        if self.span:
            touched = tuple(range(self.span(word)))
        return self.place.operand(word, self.text(word), touched, partial=not exact, **more)

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if not isinstance(value, Register):
            return ()
        given = dict(value.modifiers)
        given.pop("via", None)
        letters = given.pop("mask", None)
        b = self.place.put(value)
        if b is None or given or (letters is not None) != (self.mask is not None):
            return ()
        mask = self.mask.encode(letters or "", self.place.internal(b.value)) if self.mask else Bits()
        b = b.join(mask) if mask is not None else None
        return () if b is None else (b,)

    def bind(self, word: int, b: Binder) -> Destination:
        channels = self.mask.channels(word, self.place.internal(word)) if self.mask else (0,)
        return Destination(self.place.location(word, b), channels, self.ty)

    def rows(self, word: int) -> list[Row]:
        out = [Row(self.place.field, self.place.field.get(word), f"register {self.place.text(word)}")]
        if self.mask:
            letters = self.mask.letters(word, self.place.internal(word))
            out.append(Row(self.mask.field, self.mask.field.get(word), f"writes {letters.replace('_', 'nothing')}"))
        return out


_CHANNEL_BITS = {"f32": 32, "f16": 16, "s16": 16, "u16": 16, "c10": 10, "o8": 8, "u8": 8, "s8": 8}


def _words(channels: Iterable[int], ty: str, internal: bool) -> tuple[int, ...]:
    """The 32-bit registers behind the first one that hold bits of some channels of an operand of a format."""
    n = _CHANNEL_BITS["f32" if internal else ty]
    return tuple(dict.fromkeys(w for k in channels for w in (n * k // 32, (n * k + n - 1) // 32)))


def internal_source(
    number: Field | int,
    swizzle: Swizzle | None,
    neg: Field | None = None,
    abs: Field | None = None,
    role: str = "src0",
) -> SourcePart:
    """A source that can only be an internal register, whose number may be fixed; without a swizzle it is `.xyzw`."""
    fixed = isinstance(number, int)
    place = Place(NO_BITS if fixed else number, None, (f"i{number if fixed else 0}",), False, 0, role)
    return SourcePart(place, swizzle or Swizzle(NO_BITS, ("xyzw",)), neg, abs)


@dataclass(frozen=True)
class Hidden(Bitless):
    """A part that a view of the instruction set does not print: its bits show up as unexplained."""

    part: Part

    def resolve(self, ctx: Context) -> Part:
        return Hidden(self.part.resolve(ctx))

    def text(self, word: int) -> str:
        return ""

    def static_mask(self) -> int:
        return self.part.static_mask()

    def static_word(self, word: int) -> int:
        return self.part.static_word(word)

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        yield k, Bits()

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        return (Bits(),) if value is None else ()

    def bind(self, word: int, b: Binder) -> Any:
        return self.part.bind(word, b)

    def accepts(self) -> str:
        return ""
