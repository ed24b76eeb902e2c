"""Memory operands with $a addressing and post-increment. Source: [001] "Memory addressing", [tesla] 2.3, 2.4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from isakit.arch.tesla.operands.registers import AddressRegister
from isakit.sem import Value, load, store
from isakit.spec import (
    Binder,
    Bits,
    Field,
    Keep,
    Match,
    Part,
    Row,
    TokenStream,
)
from isakit.spec.operands import Memory as Place
from isakit.spec.operands import Operand, Register

COMPUTE_ONLY = "compute"
ATTRIBUTE_PROGRAMS = "vertex|geometry"


MODES = {"u8": (1, False), "u16": (2, False), "s16": (2, True), "b32": (4, False)}
"""s[] access mode -> (bytes, sign-extended)"""
NOT_INCREMENTABLE = (0, 5, 6)


@dataclass(frozen=True)
class Memory(Part):
    """`space[$aN+offset]`, or `space[$aN++offset]` with post-increment.

    `space` is the space's letter; a Field in `bank` adds its number (c0..c15). `mode` is the access type printed before
    the operand (empty: not printed), `size` the bytes accessed, `width` the bits delivered. `address` is the $a field
    (None: direct operand), `increment` the post-increment flag (None: not available), `offset` counts units of `scale`
    bytes. With post-increment the offset is signed in the field's own width, except for full 16-bit offsets.
    """

    space: str
    offset: Field
    scale: int
    size: int
    width: int
    mode: str = ""
    signed: bool = False
    bank: Field | None = None
    address: Field | None = None
    increment: Field | None = None
    static = False
    kinds = (Place,)

    # -- bits and text
    def _space(self, word: int) -> str:
        return self.space if self.bank is None else f"{self.space}{self.bank.get(word)}"

    def _offset(self, word: int) -> int:
        v = self.offset.get(word) * self.scale
        if self._incremented(word) and self._signed_increment and self.offset.get(word) >> self.offset.width - 1:
            v -= self.scale << self.offset.width
        return v

    @property
    def _signed_increment(self) -> bool:
        return self.offset.width * self.scale < 1 << 13 and self.offset.width < 13

    def _incremented(self, word: int) -> bool:
        return self.increment is not None and bool(self.increment.get(word))

    def text(self, word: int) -> str:
        a = self.address.get(word) if self.address is not None else 0
        off = self._offset(word)
        if self._incremented(word):
            inner = (f"$a{a}" if a else "0x0") + "++" + f"{off:#x}"
        elif a:
            inner = f"$a{a}+{off:#x}" if off else f"$a{a}"
        else:
            inner = f"{off:#x}"
        return f"{self.mode + ' ' if self.mode else ''}{self._space(word)}[{inner}]"

    def error(self, word: int) -> str | None:
        if self._incremented(word) and self.address is not None and self.address.get(word) in NOT_INCREMENTABLE:
            return "ILLEGAL_POSTINCR"
        return None

    def claimed(self, word: int) -> int:
        return self.possible()

    def possible(self) -> int:
        out = self.offset.mask
        for f in (self.bank, self.address, self.increment):
            out |= f.mask if f is not None else 0
        return out

    def static_mask(self) -> int:
        return (self.bank.mask if self.bank else 0) | (self.increment.mask if self.increment else 0)

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        if self.mode:
            if s.text(k) != self.mode:
                s.fail(k, self.accepts())
                return
            k += 1
        b = Bits()
        name = s.text(k)
        if self.bank is not None:
            digits = name[len(self.space) :]
            if not name.startswith(self.space) or not digits.isdigit() or not self.bank.fits(int(digits)):
                s.fail(k, self.accepts())
                return
            b = Bits(self.bank.mask, self.bank.put(int(digits)))
        elif name != self.space:
            s.fail(k, self.accepts())
            return
        if s.text(k + 1) != "[":
            s.fail(k + 1, "`[`")
            return
        yield from self._parse_inside(s, k + 2, b)

    def _parse_inside(self, s: TokenStream, k: int, b: Bits) -> Iterator[Match]:
        number, increment = 0, False
        t = s.text(k)
        has_register = len(t) == 3 and t[:2] == "$a" and t[2].isdigit()
        if has_register:
            number = int(t[2])
            k += 1
        elif t == "0x0" and s.text(k + 1) == "++":
            k += 1
            has_register = True
        if has_register and (self.address is None or not self.address.fits(number)):
            s.fail(k - 1, "an offset without address register" if self.address is None else self.accepts())
            return
        offset = 0
        if has_register and s.text(k) == "++":
            increment = True
            k += 1
        elif has_register and s.text(k) == "+":
            k += 1
        if not (has_register and s.text(k) == "]"):
            got = s.number(k)
            if got is None:
                s.fail(k, "an offset")
                return
            k, offset = got
        if s.text(k) != "]":
            s.fail(k, "`]`")
            return
        if increment and self.increment is None:
            s.fail(k, "no post-increment")
            return
        raw, odd = divmod(offset, self.scale)
        if increment and self._signed_increment:
            n = self.offset.width
            fits = -(1 << n - 1) <= raw < 1 << n - 1
            raw &= (1 << n) - 1
        else:
            fits = self.offset.fits(raw)
        if odd or not fits:
            s.fail(k, f"an offset below {self.scale << self.offset.width:#x}, a multiple of {self.scale}")
            return
        b = b.join(Bits(self.offset.mask, self.offset.put(raw))) or b
        if self.address is not None:
            b = Bits(b.mask | self.address.mask, b.value | self.address.put(number))
        if self.increment is not None:
            b = Bits(b.mask | self.increment.mask, b.value | self.increment.put(int(increment)))
        yield k + 1, b

    def rows(self, word: int) -> list[Row]:
        out = [
            Row(
                self.offset,
                self.offset.get(word),
                f"{self._space(word)}[] offset {self._offset(word):#x}" + (f", {self.mode}" if self.mode else ""),
            )
        ]
        if self.bank is not None:
            out.append(Row(self.bank, self.bank.get(word), f"space {self._space(word)}[]"))
        if self.address is not None:
            a = self.address.get(word)
            out.append(Row(self.address, a, f"plus $a{a}" if a else "no address register"))
        if self.increment is not None:
            on = self._incremented(word)
            out.append(Row(self.increment, int(on), "post-increment" if on else "no post-increment"))
        return out

    def pattern(self) -> str:
        number = "" if self.bank is None else "[0-9]+"
        return f"{self.mode + ' ' if self.mode else ''}{self.space}{number}\\[.*\\]"

    def accepts(self) -> str:
        space = self.space if self.bank is None else f"{self.space}0"
        inside = "$aN+offset" if self.address is not None else "offset"
        return f"{self.mode + ' ' if self.mode else ''}{space}[{inside}]"

    def operand(self, word: int) -> Operand:
        a = self.address.get(word) if self.address is not None else 0
        base = Register("a", a, 16) if a else None
        return Place(
            self._space(word),
            base,
            self._offset(word),
            post_increment=self._incremented(word),
            size=self.size,
            signed=self.signed,
            text=self.text(word),
        )

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if not isinstance(value, Place) or value.index is not None or value.space[: len(self.space)] != self.space:
            return ()
        b: Bits | None = Bits()
        bank = value.space[len(self.space) :]
        if self.bank is not None and bank.isdecimal() and self.bank.fits(int(bank)):
            b = Bits(self.bank.mask, self.bank.put(int(bank)))
        elif bank or self.bank is not None:
            return ()
        # Where the operand tells the size: without one it is that of a whole word, not of an extended byte.
        if self.mode and (value.size != self.size if value.size else 8 * self.size != self.width):
            return ()
        if self.mode and value.size and value.signed != self.signed:
            return ()
        if value.base is not None and (value.base.file != "a" or self.address is None):
            return ()
        if value.post_increment and self.increment is None:
            return ()
        raw, odd = divmod(value.offset, self.scale)
        if value.post_increment and self._signed_increment:
            half = 1 << self.offset.width - 1
            odd |= not -half <= raw < half
            raw &= 2 * half - 1
        number = value.base.index if value.base is not None else 0
        for f, v in ((self.offset, raw), (self.address, number), (self.increment, int(value.post_increment))):
            if f is not None and b is not None:
                b = b.join(Bits(f.mask, f.put(v))) if f.fits(v) else None
        return () if b is None or odd else (b,)

    def text_source(self, keep: Keep) -> str:
        lead = " " + (self.mode + " " if self.mode else "") + self.space
        bank = f"{{{self.bank.expression()}}}" if self.bank is not None else ""
        scale = f"*{self.scale}" if self.scale > 1 else ""
        plain = f"{{{self.offset.expression()}{scale}:#x}}"
        if self.address is None:
            return f"f'{lead}{bank}[{plain}]'"
        slow = self.address.mask | (self.increment.mask if self.increment is not None else 0)
        return f"({keep(self)}.padded(w) if w&{slow} else f'{lead}{bank}[{plain}]')"

    def padded(self, word: int) -> str:
        """The text with a leading blank, for generated code."""
        return " " + self.text(word)

    def error_source(self, keep: Keep) -> str:
        if self.increment is None or self.address is None:
            return "None"
        return f"({keep(self)}.error(w) if w&{self.increment.mask} else None)"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.possible())

    # -- meaning
    def bind(self, word: int, b: Binder) -> Any:
        offset = b.param(self.offset)
        if self._incremented(word) and self._signed_increment:
            offset = offset.sext(16)
        offset = offset.resize(16) * self.scale
        register = AddressRegister(b.param(self.address)) if self.address is not None else None
        return MemoryOperand(
            self._space(word), offset, register, self._incremented(word), self.size, self.width, self.signed
        )


@dataclass(frozen=True)
class MemoryOperand:
    """A memory operand as a semantics function sees it. Addresses are 16-bit sums modulo 2**16."""

    space: str
    offset: Value
    register: AddressRegister | None
    increment: bool
    size: int
    width: int
    signed: bool

    @property
    def address(self) -> Value:
        """The byte address accessed, 32 bits wide."""
        if self.register is None:
            return self.offset.zext(32)
        base = self.register.read()
        return (base if self.increment else base + self.offset).zext(32)

    def _step(self) -> None:
        if self.increment and self.register is not None:
            self.register.write(self.register.read() + self.offset)

    def read(self) -> Value:
        """Load, extend to the operand's width, post-increment."""
        v = load(self.space, self.address, self.size)
        self._step()
        if v.width >= self.width:
            return v.trunc(self.width)
        return v.sext(self.width) if self.signed else v.zext(self.width)

    def write(self, value: Value, when: Value | None = None) -> None:
        """Store the low bytes, post-increment."""
        store(self.space, self.address, value.resize(8 * self.size), when)
        self._step()
