"""The g[] operand: `gK[$rN]`. Source: [001] "Memory", [tesla] 7.2 and 7.3."""

from __future__ import annotations

from functools import cache

from isakit.arch.tesla.operands import Word, word
from isakit.lean import dataclass
from isakit.sem import Value, load, store
from isakit.spec import Field, Template, template
from isakit.spec.operands import Memory


@cache
def global_memory(bank: Field, address: Field, size: int, width: int, signed: bool = False) -> Template:
    """Return a global space selected by `bank`, addressed by a full register: 32-bit byte address, no offset."""
    return template(
        "g{space}[{base}]",
        Memory,
        lambda space, base: GlobalOperand(space, base, size, width, signed),
        hint="g0[$r0] .. g15[$r127]",
        hints={"size": size, "signed": signed},
        meanings={"space": "space {}[]", "base": "address in {}"},
        space=bank,
        base=word(address),
    )


@dataclass(frozen=True)
class GlobalOperand:
    """A g[] operand as a semantics function sees it."""

    space: str
    register: Word
    size: int
    width: int
    signed: bool

    @property
    def address(self) -> Value:
        """The 32-bit address."""
        return self.register.read()

    def read(self) -> Value:
        """Load and extend to the register width."""
        v = load(self.space, self.address, self.size)
        if v.width >= self.width:
            return v
        return v.sext(self.width) if self.signed else v.zext(self.width)

    def write(self, value: Value, when: Value | None = None) -> None:
        """Store the low bytes."""
        store(self.space, self.address, value.resize(8 * self.size), when)
