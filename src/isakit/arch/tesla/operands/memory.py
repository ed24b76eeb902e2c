"""Memory operands with $a addressing and post-increment. Source: [001] "Memory addressing", [tesla] 2.3, 2.4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from isakit.arch.tesla.operands.registers import AddressRegister
from isakit.lean import dataclass
from isakit.sem import Value, load, store
from isakit.spec import Binder, Field, Imm, Reg, Spellings, Template, spellings, template, when
from isakit.spec.operands import Memory as Place
from isakit.spec.parts import ILLEGAL

COMPUTE_ONLY = "compute"
ATTRIBUTE_PROGRAMS = "vertex|geometry"


MODES = {"u8": (1, False), "u16": (2, False), "s16": (2, True), "b32": (4, False)}
"""s[] access mode -> (bytes, sign-extended)"""
NOT_INCREMENTABLE = (0, 5, 6)


@cache
def memory(
    space: str,
    offset: Field,
    scale: int,
    size: int,
    width: int,
    mode: str = "",
    signed: bool = False,
    bank: Field | None = None,
    address: Field | None = None,
    increment: Field | None = None,
) -> Spellings:
    """`space[$aN+offset]`, or `space[$aN++offset]` with post-increment.

    Args:
        space: the space's letter.
        offset: the offset in units of `scale` bytes. With post-increment it is signed in the field's own width, except
            for full 16-bit offsets.
        scale: bytes per step of the offset.
        size: bytes accessed.
        width: bits delivered.
        mode: the access type printed before the operand (empty: not printed).
        signed: whether the value is sign-extended.
        bank: the number that stands after the letter (c0..c15).
        address: the $a field (None: direct operand).
        increment: the post-increment flag (None: not available).
    """
    negative = increment is not None and offset.width < 13 and offset.width * scale < 1 << 13
    inside = "offset" if address is None else "$aN+offset"
    hint = f"{mode} {space}".strip() + ("0" if bank else "") + f"[{inside}]"
    number = Imm(offset, 16, scale=scale, label="an offset")

    shared: dict[str, Any] = {"space": bank} if bank else {}

    def spelled(inside: str, **holes: Any) -> Template:
        return template(
            f"{mode} {space}".strip() + ("{space}" if bank else "") + f"[{inside}]",
            Place,
            hint=hint,
            facts={"post_increment": "++" in inside} | ({} if bank else {"space": space}),
            hints={"size": size, "signed": signed},
            # Where the operand tells the size: without one it is that of a whole word, not of an extended byte.
            fits=lambda m: not mode or ((m.size, m.signed) == (size, signed) if m.size else 8 * size == width),
            meanings={"space": "space {}[]", "offset": "offset {}", "base": "plus {}"},
            **shared,
            **holes,
        )

    def meaning(word: int, b: Binder) -> MemoryOperand:
        on = increment is not None and bool(increment.get(word))
        value = b.param(offset)
        value = (value.sext(16) if on and negative else value.resize(16)) * scale
        register = AddressRegister(b.param(address)) if address is not None else None
        name = space if bank is None else f"{space}{bank.get(word)}"
        return MemoryOperand(name, value, register, on, size, width, signed)

    alternatives = [when({}, spelled("{offset}", offset=number))]
    if address is not None:
        off = {} if increment is None else {increment: 0}
        alternatives = [
            when(off | {address: 0}, spelled("{offset}", offset=number)),
            when(off | {offset: 0}, spelled("{base}", base=_base(address))),
            when(off, spelled("{base}+{offset}", base=_base(address), offset=number)),
        ]
    if address is not None and increment is not None:
        step = replace(number, signed=negative)
        moving = spelled("{base}++{offset}", base=_base(address, NOT_INCREMENTABLE, "ILLEGAL_POSTINCR"), offset=step)
        alternatives.append(when({increment: 1}, moving))
    return spellings(*alternatives, meaning=meaning, static=[f for f in (bank, increment) if f is not None], hint=hint)


@cache
def _base(f: Field, excluded: Sequence[int] = (0,), error: str = ILLEGAL) -> Reg:
    """Return the $a register of an address."""
    names = tuple(None if n in excluded else f"$a{n}" for n in range(1 << f.width))
    return Reg(f, names, AddressRegister, illegal=error, file="a", width=16)


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
