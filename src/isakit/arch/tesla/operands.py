"""Operand kinds of the Tesla ISA: registers, destinations, memory operands, predicates.

Each behaviour (s[] access modes, post-increment, discarded results, o[] destinations, half registers) is written here
once and used by all instructions. Source: [001] "Other fields" to "Destination fields", [tesla] 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any

from isakit.arch.tesla.fields import Control, Imm, Long, Short
from isakit.sem import Value, concat, const, load, machine, read, select, store, write
from isakit.spec import (
    Bits,
    Choice,
    Enum,
    Field,
    Illegal,
    Match,
    Nothing,
    Part,
    Reg,
    Row,
    TokenStream,
    choice,
    when,
)
from isakit.spec import (
    Imm as Number,
)
from isakit.spec.parts import Binder, Keep

COMPUTE_ONLY = "compute"
ATTRIBUTE_PROGRAMS = "vertex|geometry"


# --- registers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Word:
    """A full register as a semantics function sees it."""

    index: Value
    width = 32

    def read(self) -> Value:
        """The 32-bit value."""
        return read("r", self.index, 32)

    def write(self, value: Value, when: Value | None = None) -> None:
        """Write 32 bits (narrower values are zero-extended)."""
        write("r", self.index, value.resize(32), when)


@dataclass(frozen=True)
class Half:
    """A half register: bit 0 of the index chooses the high half."""

    index: Value
    width = 16

    def read(self) -> Value:
        """The 16-bit value."""
        word = read("r", self.index >> 1, 32)
        return (word >> ((self.index & 1).resize(32) << 4)).trunc(16)

    def write(self, value: Value, when: Value | None = None) -> None:
        """Replace this half, keep the other."""
        word = read("r", self.index >> 1, 32)
        low, high = word.trunc(16), word.bits(16, 16)
        new = value.resize(16)
        write("r", self.index >> 1, select((self.index & 1).trunc(1), concat(new, low), concat(high, new)), when)


@dataclass(frozen=True)
class Wide:
    """A pair or quad of registers; the index is that of the lowest."""

    index: Value
    width: int

    def read(self) -> Value:
        """All words, the lowest register in the low bits."""
        return concat(*[read("r", self.index + i, 32) for i in reversed(range(self.width // 32))])

    def write(self, value: Value, when: Value | None = None) -> None:
        """Write all words."""
        for i in range(self.width // 32):
            write("r", self.index + i, value.bits(32 * i, 32), when)


def word(f: Field) -> Reg:
    """$rN."""
    n = 1 << f.width
    return Reg(f, tuple(f"$r{i}" for i in range(n)), Word, "a register")


def half(f: Field) -> Reg:
    """$rNl or $rNh."""
    n = 1 << f.width
    return Reg(f, tuple(f"$r{i >> 1}{'lh'[i & 1]}" for i in range(n)), Half, "a half register")


def double(f: Field) -> Reg:
    """$rNd, an even pair."""
    n = 1 << f.width
    return Reg(f, tuple(None if i & 1 else f"$r{i}d" for i in range(n)), lambda i: Wide(i, 64), "a register pair")


def quad(f: Field) -> Reg:
    """$rNq, an aligned group of four."""
    n = 1 << f.width
    return Reg(f, tuple(None if i & 3 else f"$r{i}q" for i in range(n)), lambda i: Wide(i, 128), "a register quad")


def gpr(f: Field, width: int) -> Reg:
    """The register operand of a width: 16 half, 32 word, 64 pair, 128 quad."""
    return {16: half, 32: word, 64: double, 128: quad}[width](f)


def by_width(selector: Field, make: Any) -> Choice:
    """16-bit operand when `selector` is 0, 32-bit when it is 1."""
    return choice(when({selector: 0}, make(16)), when({selector: 1}, make(32)))


# --- condition codes and predicates ---------------------------------------------------------------------------------

ZERO, SIGN, CARRY, OVERFLOW = 0, 1, 2, 3
CONDITION_NAMES = tuple(
    "never l e le g lg ge lge u lu eu leu gu lgu geu always o c a s x14 x15 x16 x17 x18 x19 x1a x1b ns na nc no".split()  # noqa: SIM905
)
ALWAYS = 15


def condition_holds(code: int, flags: Value) -> Value:
    """Predicate `code` on 4 flag bits; 0x14-0x1b were measured as always false. Source: [001] "Predicates"."""
    z, s, c, o = (flags.bit(i) for i in range(4))
    table: dict[int, Value] = {
        0x01: (s & ~z) ^ o,
        0x02: z & ~s,
        0x03: s ^ (z | o),
        0x04: ~z & ~(s ^ o),
        0x05: ~z,
        0x06: ~(s ^ o),
        0x07: ~z | ~s,
        0x08: z & s,
        0x09: s ^ o,
        0x0A: z,
        0x0B: z | (s ^ o),
        0x0C: ~s ^ (z | o),
        0x0D: ~z | s,
        0x0E: (~s | z) ^ o,
        0x0F: const(1, 1),
        0x10: o,
        0x11: c,
        0x12: ~z & c,
        0x13: s,
        0x1C: ~s,
        0x1D: z | ~c,
        0x1E: ~c,
        0x1F: ~o,
    }
    return table.get(code, const(0, 1))


@dataclass(frozen=True)
class ConditionCode:
    """A $c register."""

    index: Value
    width = 4

    def read(self) -> Value:
        """The four flags Z S C O, bit 0 first."""
        return read("c", self.index, 4)

    def write(self, value: Value, when: Value | None = None) -> None:
        """Write all four flags."""
        write("c", self.index, value, when)


def flags(z: Value, s: Value, c: Value | None = None, o: Value | None = None) -> Value:
    """A $c value from its bits."""
    zero = const(0, 1)
    return concat(zero if o is None else o, zero if c is None else c, s, z)


def result_flags(result: Value, c: Value | None = None, o: Value | None = None) -> Value:
    """Z and S of an integer result, with optional C and O."""
    return flags(result.is_zero, result.sign, c, o)


def creg(f: Field) -> Reg:
    """$c0..$c3."""
    return Reg(f, tuple(f"$c{i}" for i in range(4)), ConditionCode, "a condition register")


@dataclass(frozen=True)
class Predicate(Part):
    """`(cond $cN)`: the condition under which lanes execute; bound to an object with `holds()`."""

    code: Field
    source: Field
    static = True

    def text(self, word: int) -> str:
        return f"({CONDITION_NAMES[self.code.get(word)]} $c{self.source.get(word)})"

    def claimed(self, word: int) -> int:
        return self.code.mask | self.source.mask

    def possible(self) -> int:
        return self.code.mask | self.source.mask

    def static_mask(self) -> int:
        return self.code.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        name, register = s.text(k + 1), s.text(k + 2)
        if s.text(k) != "(" or name not in CONDITION_NAMES:
            s.fail(k, "a predicate like `(e $c0)`")
        elif register not in ("$c0", "$c1", "$c2", "$c3") or s.text(k + 3) != ")":
            s.fail(k + 2, "$c0 .. $c3 and `)`")
        else:
            code = self.code.put(CONDITION_NAMES.index(name))
            yield k + 4, Bits(self.possible(), code | self.source.put(int(register[2])))

    def bind(self, word: int, b: Binder) -> Any:
        return Guard(self.code.get(word), b.param(self.source))

    def rows(self, word: int) -> list[Row]:
        code = self.code.get(word)
        return [
            Row(self.code, code, f"if {CONDITION_NAMES[code]}"),
            Row(self.source, self.source.get(word), f"of $c{self.source.get(word)}"),
        ]

    def accepts(self) -> str:
        return "(cond $c0 .. $c3)"

    def text_source(self, keep: Keep) -> str:
        both = self.code + self.source
        table = tuple(f" ({CONDITION_NAMES[i & 31]} $c{i >> 5})" for i in range(128))
        return f"{keep(table)}[{both.expression()}]"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.possible())

    def registers(self, word: int) -> list[str]:
        return [f"$c{self.source.get(word)}"]


@dataclass(frozen=True)
class Guard:
    """The condition of a predicated instruction."""

    code: int
    index: Value

    def holds(self) -> Value:
        """1 in the lanes where the condition is true."""
        return condition_holds(self.code, read("c", self.index, 4))


class _Never:
    """A condition that is false everywhere."""

    def holds(self) -> Value:
        return const(0, 1)


@dataclass(frozen=True)
class NeverGuard(Part):
    """`(never)`: no lane executes; the $c field plays no role."""

    def text(self, word: int) -> str:
        return "(never)"

    def claimed(self, word: int) -> int:
        return 0

    def possible(self) -> int:
        return 0

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        if (s.text(k), s.text(k + 1), s.text(k + 2)) == ("(", "never", ")"):
            yield k + 3, Bits()
        else:
            s.fail(k, "`(never)`")

    def bind(self, word: int, b: Binder) -> Any:
        return _Never()

    def rows(self, word: int) -> list[Row]:
        return []

    def accepts(self) -> str:
        return "(never)"


def guard(layout: type[Long] | type[Control]) -> Choice:
    """The predicate of a predicable instruction; bound to None for always, else to an object with `holds()`."""
    return choice(
        when({layout.pred: ALWAYS}, Nothing()),
        when({layout.pred: 0}, NeverGuard()),
        when({}, Predicate(layout.pred, layout.csrc)),
    )


GUARD = guard(Long)
CONTROL_GUARD = guard(Control)
TAIL = Enum(Long.tail, {0: "", 1: "exit", 2: "join"}, label="no tail")
MCDST = choice(when({Long.cdst_en: 0}, Nothing()), when({Long.cdst_en: 1}, creg(Long.cdst)))
FCDST = creg(Long.cdst)
COND = creg(Long.csrc)


@dataclass(frozen=True)
class FixedCondition(Part):
    """A $c register that is fixed by the form: short and immediate `addc` read $c0."""

    number: int = 0

    def text(self, word: int) -> str:
        return f"$c{self.number}"

    def claimed(self, word: int) -> int:
        return 0

    def possible(self) -> int:
        return 0

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        if s.text(k) == self.text(0):
            yield k + 1, Bits()
        else:
            s.fail(k, self.text(0))

    def bind(self, word: int, b: Binder) -> Any:
        return ConditionCode(b.const(self.number, 32))

    def rows(self, word: int) -> list[Row]:
        return []

    def accepts(self) -> str:
        return self.text(0)

    def registers(self, word: int) -> list[str]:
        return [self.text(0)]


# --- address registers ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AddressRegister:
    """A $a register; $a0 reads 0 (the machine keeps it so)."""

    index: Value
    width = 16

    def read(self) -> Value:
        """The 16-bit value."""
        return read("a", self.index, 16)

    def write(self, value: Value, when: Value | None = None) -> None:
        """Write 16 bits."""
        write("a", self.index, value.resize(16), when)


def areg(f: Field) -> Reg:
    """$aN as a plain operand; $a0 prints as 0x0."""
    names = ("0x0", *[f"$a{i}" for i in range(1, 1 << f.width)])
    return Reg(f, names, AddressRegister, "an address register", aliases={"$a0": 0})


# --- memory operands ------------------------------------------------------------------------------------------------

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

    def accepts(self) -> str:
        space = self.space if self.bank is None else f"{self.space}0"
        inside = "$aN+offset" if self.address is not None else "offset"
        return f"{self.mode + ' ' if self.mode else ''}{space}[{inside}]"

    def registers(self, word: int) -> list[str]:
        a = self.address.get(word) if self.address is not None else 0
        return [f"$a{a}"] if a else []

    def accesses(self, word: int, output: bool) -> tuple[list[str], list[str]]:
        return self.registers(word), self.registers(word) if self._incremented(word) else []

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


# --- destinations ---------------------------------------------------------------------------------------------------


class Discarded:
    """A destination that throws the result away."""

    width = 32

    def write(self, value: Value, when: Value | None = None) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Output:
    """A word of o[]; a 16-bit result is duplicated into both halves."""

    index: Value
    width: int

    def write(self, value: Value, when: Value | None = None) -> None:
        """Write one output word."""
        if self.width == 16:
            v = value.resize(16)
            write("o", self.index >> 1, concat(v, v), when)
        else:
            write("o", self.index, value.resize(32), when)


@dataclass(frozen=True)
class OutputPart(Part):
    """`o[offset]` as a destination. `name` is `oh` where nothing else in the text tells a half result from a word."""

    field: Field
    width: int
    name: str = "o"

    @property
    def step(self) -> int:
        """Bytes per step of the field."""
        return self.width // 8

    def text(self, word: int) -> str:
        return f"{self.name}[{self.field.get(word) * self.step:#x}]"

    def claimed(self, word: int) -> int:
        return self.field.mask

    def possible(self) -> int:
        return self.field.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        got = s.number(k + 2) if s.text(k) == self.name and s.text(k + 1) == "[" else None
        if got is None or s.text(got[0]) != "]" or got[1] % self.step or not self.field.fits(got[1] // self.step):
            s.fail(k, self.accepts())
        else:
            yield got[0] + 1, Bits(self.field.mask, self.field.put(got[1] // self.step))

    def bind(self, word: int, b: Binder) -> Any:
        return Output(b.param(self.field), self.width)

    def rows(self, word: int) -> list[Row]:
        return [Row(self.field, self.field.get(word), self.text(word))]

    def accepts(self) -> str:
        return f"{self.name}[0x0 .. {126 * self.step:#x}]"

    def text_source(self, keep: Keep) -> str:
        return f"f' {self.name}[{{{self.field.expression()}*{self.step}:#x}}]'"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.field.mask)


@dataclass(frozen=True)
class Discard(Part):
    """`#`: the result is thrown away; `#h` where nothing else in the text tells a half result from a word."""

    name: str = "#"

    def text(self, word: int) -> str:
        return self.name

    def claimed(self, word: int) -> int:
        return 0

    def possible(self) -> int:
        return 0

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        if s.text(k) == self.name:
            yield k + 1, Bits()
        else:
            s.fail(k, f"`{self.name}` for no destination")

    def bind(self, word: int, b: Binder) -> Any:
        return Discarded()

    def rows(self, word: int) -> list[Row]:
        return []

    def accepts(self) -> str:
        return self.name

    def text_source(self, keep: Keep) -> str:
        return repr(" " + self.name)

    def claimed_source(self, keep: Keep) -> str:
        return "0"


NO_OUTPUT = "LD_A_ST_O_NON_VP_GP"


def ldst(width: int, name: str = "o") -> Choice:
    """LDST/LHDST: a register, nothing (`#`), or an output word in vertex and geometry programs."""
    return choice(
        when({Long.dst_o: 0}, gpr(Long.dst, width)),
        when({Long.dst_o: 1, Long.dst: 127}, Discard("#" if name == "o" else "#h")),
        when({Long.dst_o: 1}, OutputPart(Long.dst, width, name), needs=ATTRIBUTE_PROGRAMS),
        when({Long.dst_o: 1}, Illegal(NO_OUTPUT)),
    )


LDST = ldst(32)
LHDST = ldst(16)
LHDST_UNTYPED = ldst(16, "oh")
SDST = word(Short.dst)
SHDST = half(Short.dst)


# --- sources --------------------------------------------------------------------------------------------------------


def _shared(layout: Any, width: int, signs: str, areg_field: Field) -> list[Any]:
    """The s[] alternatives of source 1. `signs`: which 16-bit modes a half operand takes ("us", "u", "s", or "8")."""
    out: list[Any] = []
    on = {layout.src1_s: 1}
    for mode, (name, (size, sext)) in enumerate(MODES.items()):
        part: Part = Memory("s", layout.soff, size, size, width, name, sext, None, areg_field, layout.postinc)
        if width == 16 and name == "b32":
            part = Illegal("ILLEGAL_MEMORY_SIZE")
        elif signs == "8" and name != "u8":
            part = Illegal("ILLEGAL_MEMORY_BYTE")
        elif width == 16 and ((name == "s16" and "s" not in signs) or (name == "u16" and "u" not in signs)):
            part = Illegal("ILLEGAL_MEMORY_SIGN")
        out.append(when(on | {layout.smode: mode}, part, needs=COMPUTE_ONLY))
    return out


def lsrc1(width: int = 32, signs: str = "us", strict: bool = True) -> Choice:
    """Long source 1: register, s[] (compute), a[] (vertex, geometry) or p[] (geometry). Source: [tesla] 2.4.

    Both c[] selectors set mean p[]; outside geometry programs that is taken as illegal, except (not `strict`) for
    instructions without c[] operands, which were seen to ignore the selectors.
    """
    both = {Long.src2_c: 1, Long.src3_c: 1}
    primitive = Memory("p", Long.src1, 4, 4, width, address=Long.areg)
    return choice(
        when(both, primitive, needs="geometry"),
        *([when(both, Illegal())] if strict else []),
        *[a for a in _shared(Long, width, signs, Long.areg)],
        when({Long.src1_s: 1}, Memory("a", Long.src1, 4, 4, width), needs=ATTRIBUTE_PROGRAMS),
        when({Long.src1_s: 1}, Illegal()),
        when({Long.src1_s: 0}, gpr(Long.src1, width)),
    )


def _lconst(f: Field, width: int, indirect: bool) -> Memory:
    size = width // 8
    return Memory(
        "c",
        f,
        size,
        size,
        width,
        bank=Long.cspace,
        address=Long.areg if indirect else None,
        increment=Long.postinc if indirect else None,
    )


def lsrc2(width: int = 32) -> Choice:
    """Long source 2: register or c[]. Source: [tesla] 2.4."""
    return _lsrc23(Long.src2, Long.src2_c, Long.src3_c, width)


def lsrc3(width: int = 32) -> Choice:
    """Long source 3: register or c[]."""
    return _lsrc23(Long.src3, Long.src3_c, Long.src2_c, width)


def _lsrc23(f: Field, mine: Field, other: Field, width: int) -> Choice:
    register = gpr(f, width)
    return choice(
        when({mine: 0}, register),
        when({mine: 1, other: 0, Long.src1_s: 0}, _lconst(f, width, True)),
        when({mine: 1, other: 0, Long.src1_s: 1}, _lconst(f, width, False), needs=COMPUTE_ONLY),
        when({mine: 1, other: 0, Long.src1_s: 1}, _lconst(f, width, True)),
        when({mine: 1, other: 1, Long.src1_s: 0}, _lconst(f, width, False), needs="geometry"),
        when({mine: 1, other: 1, Long.src1_s: 1}, register, needs="geometry"),
        when({mine: 1, other: 1}, Illegal()),
    )


def ssrc1(width: int = 32, signs: str = "us", layout: Any = Short) -> Choice:
    """Short or immediate source 1. Source: [tesla] 2.3."""
    register = gpr(layout.src1, width)
    primitive = []
    if layout is Short:
        primitive = [
            when(
                {Short.src1_s: 1, Short.src2_c: 1},
                Memory("p", Short.src1, 4, 4, width, address=Short.areg),
                needs="geometry",
            ),
            when({Short.src1_s: 1, Short.src2_c: 1}, Illegal()),
        ]
        attribute = when({Short.src1_s: 1}, Memory("a", Short.src1, 4, 4, width), needs=ATTRIBUTE_PROGRAMS)
    else:
        attribute = when(
            {layout.src1_s: 1}, Memory("p", layout.src1, 4, 4, width, address=layout.areg), needs="geometry"
        )
    return choice(
        *primitive,
        *_shared(layout, width, signs, layout.areg),
        attribute,
        when({layout.src1_s: 1}, Illegal()),
        when({layout.src1_s: 0}, register),
    )


def isrc1(width: int = 32, signs: str = "us") -> Choice:
    """Source 1 of the immediate form."""
    return ssrc1(width, signs, Imm)


def ssrc2(width: int = 32) -> Choice:
    """Short source 2: register, or c0[] / c1[]."""
    size = width // 8
    const_part = Memory(
        "c", Short.coff, size, size, width, bank=Short.cspace, address=Short.areg, increment=Short.postinc
    )
    return choice(
        when({Short.src2_c: 0}, gpr(Short.src2, width)),
        when({Short.src2_c: 1, Short.src1_s: 0}, const_part),
        when({Short.src2_c: 1, Short.src1_s: 1}, gpr(Short.src2, width)),
    )


def immediate(width: int = 32) -> Number:
    """The 32-bit immediate; 16-bit operations use its low half. Accepts negative numbers and f32 literals."""
    return Number(Imm.imm, width, wrap=True, single=width == 32, label="an immediate")


# --- lane masks -----------------------------------------------------------------------------------------------------


def _lane_names() -> dict[int, str]:
    names = {15: "", 0: "(lnone)"}
    for m in range(1, 15):
        names[m] = "(l" + "".join(str(i) for i in range(4) if m >> i & 1) + ")"
    return names


@dataclass(frozen=True)
class LaneMask(Part):
    """`(l013)`: lanes whose number modulo 4 is listed; nothing for all. Bound to the mask as an int."""

    field: Field
    names: dict[int, str] = member(default_factory=_lane_names)
    static = True

    def static_mask(self) -> int:
        return self.field.mask

    def text(self, word: int) -> str:
        return self.names[self.field.get(word)]

    def claimed(self, word: int) -> int:
        return self.field.mask

    def possible(self) -> int:
        return self.field.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        if s.text(k) == "(" and s.text(k + 2) == ")":
            for value, name in self.names.items():
                if name and name[1:-1] == s.text(k + 1):
                    yield k + 3, Bits(self.field.mask, self.field.put(value))
        s.fail(k, self.accepts())
        yield k, Bits(self.field.mask, self.field.put(15))

    def bind(self, word: int, b: Binder) -> Any:
        return self.field.get(word)

    def rows(self, word: int) -> list[Row]:
        return [Row(self.field, self.field.get(word), self.text(word) or "all lanes")]

    def accepts(self) -> str:
        return "a lane mask like `(l013)`"

    def text_source(self, keep: Keep) -> str:
        table = tuple(" " + self.names[i] if self.names[i] else "" for i in range(16))
        return f"{keep(table)}[{self.field.expression()}]"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.field.mask)


def in_lanes(mask: int) -> Value | None:
    """The condition that a lane's number modulo 4 is in the mask; None for all lanes."""
    if mask == 15:
        return None
    position = machine("lane", 32) & 3
    return (const(mask, 32) >> position).bit(0)


LANES = LaneMask(Long.lanes)

# --- code addresses -------------------------------------------------------------------------------------------------

TARGET = Number(Control.target, 24, scale=4, label="a code address")
