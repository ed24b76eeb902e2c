"""Register operands as semantics functions see them: banks, doubling, internal aliases, indexed access, constants.

A component of a floating point operand is an f32 value whatever the format of the operand: f16 and C10 components are
widened exactly when read and rounded to nearest even when written; internal registers hold f32 in every format.
Source: [usse] 2.1, 2.11.
"""

from __future__ import annotations

from dataclasses import dataclass

from isakit.arch.usse.constants import BANK0, BANK1
from isakit.sem import Value, concat, const, lookup, param, read, write
from isakit.sem.fp.ieee import float_to_ratio, ieee_convert, ratio_to_float
from isakit.spec import Field

ROLES = ("dst", "src0", "src1", "src2")
OFFSETS = {role: Field((), f"repeat offset of {role}") for role in ROLES}
"""Pseudo fields: what a repetition adds to the 32-bit register number of an operand."""
INTERNAL_OFFSETS = {role: Field((), f"repeat offset of {role}, internal registers") for role in ROLES}
"""The same for internal registers, counted in whole registers."""

ONE, TWO, HALF = 0x3F800000, 0x40000000, 0x3F000000
CONSTANT_CHANNELS = {"0": 0, "1": ONE, "2": TWO, "h": HALF}


@dataclass(frozen=True)
class Location:
    """The registers, or the number, of an operand.

    `kind`: unified (r, o, pa, sa), internal, constant, global, immediate, index. `index` is the 32-bit register number
    of component x (for immediates the number itself).
    """

    kind: str
    file: str
    index: Value

    def word(self, k: int = 0) -> Value:
        """Return the 32-bit register `k` after the first one."""
        if self.kind == "constant":
            return lookup(BANK0 if k % 2 == 0 else BANK1, self.index)
        if self.kind == "immediate":
            return self.index
        return read(self.file, self.index + k, 32)

    def put(self, k: int, value: Value, when: Value | None = None) -> None:
        """Write the 32-bit register `k` after the first one (where `when` is 1)."""
        if self.kind in {"unified", "internal", "index", "global"}:
            write(self.file, self.index + k, value, when)

    # --- components -----------------------------------------------------------------------------------------------
    def component(self, k: int, ty: str) -> Value:
        """Channel `k` as an f32 value; `ty` is f32, f16 or c10."""
        if self.kind == "internal" or ty == "f32":
            if self.kind == "constant":
                return lookup(BANK1 if k == 1 else BANK0, self.index)
            return self.word(k)
        if ty == "f16":
            return ieee_convert(self.half(k), source="f16", to="f32")
        return ratio_to_float(self.ten(k), source="s16", maximum=255, low=-510, to="f32")

    def half(self, k: int) -> Value:
        """Return the 16-bit element `k`: two to a register."""
        if self.kind == "immediate":
            return self.index.trunc(16)
        return self.word(k >> 1).bits(16 * (k & 1), 16)

    def byte(self, k: int) -> Value:
        """Return the 8-bit element `k`: four to a register."""
        return self.word(k >> 2).bits(8 * (k & 3), 8)

    def ten(self, k: int) -> Value:
        """Return the 10-bit element `k`, sign-extended to 16 bits: three in the first register, the rest follows."""
        if k < 3:
            return self.word(0).bits(10 * k, 10).sext(16)
        return concat(self.word(1).bits(0, 8), self.word(0).bits(30, 2)).sext(16)

    def write_components(self, values: dict[int, Value], ty: str) -> None:
        """Write f32 values to channels in the operand's format; the other channels keep their bits."""
        if self.kind == "internal" or ty == "f32":
            for k, v in values.items():
                self.put(k, v)
            return
        if ty == "f16":
            self.write_halves({k: ieee_convert(v, source="f32", to="f16") for k, v in values.items()})
            return
        tens = {
            k: float_to_ratio(v, source="f32", maximum=255, low=-510, high=510, width=32).trunc(10)
            for k, v in values.items()
        }
        self.write_tens(tens)

    def write_halves(self, values: dict[int, Value]) -> None:
        """Write 16-bit elements."""
        for pair in sorted({k >> 1 for k in values}):
            low, high = values.get(2 * pair), values.get(2 * pair + 1)
            old = None if low is not None and high is not None else self.word(pair)
            low = old.trunc(16) if low is None and old is not None else low
            high = old.bits(16, 16) if high is None and old is not None else high
            if low is not None and high is not None:
                self.put(pair, concat(high, low))

    def write_bytes(self, values: dict[int, Value]) -> None:
        """Write 8-bit elements."""
        for n in sorted({k >> 2 for k in values}):
            mine = [values.get(4 * n + j) for j in range(4)]
            old = self.word(n)  # an unused value costs nothing
            parts = [old.bits(8 * j, 8) if v is None else v for j, v in enumerate(mine)]
            self.put(n, concat(*reversed(parts)))

    def write_tens(self, values: dict[int, Value]) -> None:
        """Write 10-bit elements."""
        old0, old1 = self.word(0), self.word(1)
        tens = [values.get(k, old0.bits(10 * k, 10)) for k in range(3)]
        last = values.get(3, concat(old1.bits(0, 8), old0.bits(30, 2)))
        self.put(0, concat(last.bits(0, 2), *reversed(tens)))
        if 3 in values:
            self.put(1, concat(old1.bits(8, 24), last.bits(2, 8)))


def offset(role: str, internal: bool) -> Value:
    """Return the repeat offset of an operand, a uniform 32-bit value."""
    return param((INTERNAL_OFFSETS if internal else OFFSETS)[role], 32)


@dataclass(frozen=True)
class SourceOperand:
    """A source operand: location, swizzle letters, modifiers, format."""

    at: Location
    swizzle: str | None
    negate: bool
    absolute: bool
    ty: str

    def modified(self, v: Value) -> Value:
        """Return the modifiers: absolute value first, then negation."""
        if self.absolute:
            v = v & 0x7FFFFFFF
        return v ^ 0x80000000 if self.negate else v

    def channel(self, k: int) -> Value:
        """Return the operand of channel `k`, as an f32 value."""
        letter = "xyzw"[k] if self.swizzle is None else self.swizzle[k] if k < len(self.swizzle) else "x"
        if letter in CONSTANT_CHANNELS:
            return self.modified(const(CONSTANT_CHANNELS[letter], 32))
        return self.modified(self.at.component("xyzw".index(letter), self.ty))

    def word(self) -> Value:
        """Return the 32-bit register, for integer operations."""
        return self.at.word()

    def modified_word(self) -> Value:
        """Return the 32-bit register, negated as an integer where the operand is."""
        v = self.at.word()
        return -v if self.negate else v


@dataclass(frozen=True)
class Destination:
    """A destination operand: location, channels that are written, format."""

    at: Location
    channels: tuple[int, ...]
    ty: str

    @property
    def written(self) -> tuple[int, ...]:
        """The channels that really exist: f32 operations write only x and y of a unified register."""
        if self.ty == "f32" and self.at.kind != "internal":
            return tuple(k for k in self.channels if k < 2)
        return self.channels

    def write(self, values: dict[int, Value]) -> None:
        """Write f32 values to channels."""
        self.at.write_components(values, self.ty)

    def write_word(self, value: Value) -> None:
        """Write the 32-bit register."""
        self.at.put(0, value)


def alias_index(number: Value, role: str) -> Value:
    """Register number in file `i` of the internal register that the two low bits of a number name."""
    return ((number.resize(32) & 3) + offset(role, internal=True)) << 2


def indexed(base: Value, idx: int, scale: int) -> Value:
    """Return an address that depends on an index register."""
    return base + read("idx", idx, 32) * scale


__all__ = [
    "CONSTANT_CHANNELS",
    "INTERNAL_OFFSETS",
    "OFFSETS",
    "ROLES",
    "Destination",
    "Location",
    "SourceOperand",
    "alias_index",
    "indexed",
    "offset",
]
