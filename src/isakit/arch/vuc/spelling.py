"""How vµc text and bits meet: register names, numbers, and the base of parts that share fields.

Fields are shared between operands, so a part claims exactly the bits of the spelling the assembler would choose; bits
that differ from it are left to the marker for unexplained bits. Source: [vuc] 2, 17.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from isakit.arch.vuc.registers import NOT_P0, P_NAMES, R_NAMES, TRUE
from isakit.spec import Bitless, Bits, Field, Match, Part, TokenStream
from isakit.spec.operands import Register
from isakit.spec.parts import Binder, Keep

R_NUMBERS = {f"$r{i}": i for i in range(16)}
P_NUMBERS = {f"$p{i}": i for i in range(16)} | {"$np0": NOT_P0}


def register(n: int) -> Register:
    """$rN as an operand."""
    return Register("r", n, 16, text=register_text(n), plain=R_NAMES[n])


def predicate(n: int) -> Register:
    """$pN as an operand."""
    return Register("p", n, 1, text=predicate_text(n), plain=P_NAMES[n])


def predicate_result(n: int, text: str, **modifiers: Any) -> Register:
    """$pN as a destination: $p1 follows $p0, and writes to $p1 have no effect."""
    words = (0, 1) if n == 0 else None
    return Register("p", n, 1, text=text, plain=P_NAMES[n], words=words, partial=n == NOT_P0, **modifiers)


def register_text(n: int) -> str:
    """$rN; $r0 is written as the number it reads."""
    return R_NAMES[n] if n else "0x0"


def predicate_text(n: int) -> str:
    """$pN; $p15 is written as the number it reads."""
    return P_NAMES[n] if n != TRUE else "0x1"


def parse_register(s: TokenStream, k: int) -> tuple[int, int] | None:
    """(next token, register number) of a $r register or of 0, which is $r0."""
    n = R_NUMBERS.get(s.text(k))
    if n is not None:
        return k + 1, n
    got = s.number(k)
    return (got[0], 0) if got is not None and got[1] == 0 else None


def parse_predicate(s: TokenStream, k: int) -> tuple[int, int] | None:
    """(next token, register number) of a $p register or of 1, which is $p15."""
    n = P_NUMBERS.get(s.text(k))
    if n is not None:
        return k + 1, n
    got = s.number(k)
    return (got[0], TRUE) if got is not None and got[1] == 1 else None


def parse_number(s: TokenStream, k: int) -> tuple[int, int] | None:
    """(next token, value) of a number or of a label written with or without `#`."""
    return s.number(k + 1) if s.text(k) == "#" else s.number(k)


class Spelled(Part):
    """A part whose text stands for certain bits; `relevant` are the bits text and claim depend on."""

    relevant: Field

    def claimed(self, word: int) -> int:
        b = self.spelled(word)
        return b.mask & ~(b.value ^ word)

    def possible(self) -> int:
        return self.relevant.mask

    @cached_property
    def _tables(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        words = [self.relevant.put(i) for i in range(1 << self.relevant.width)]
        texts = [self.text(w) for w in words]
        return tuple(t and " " + t for t in texts), tuple(self.claimed(w) for w in words)

    def text_source(self, keep: Keep) -> str:
        return f"{keep(self._tables[0])}[{self.relevant.expression()}]"

    def claimed_source(self, keep: Keep) -> str:
        return f"{keep(self._tables[1])}[{self.relevant.expression()}]"


@dataclass(frozen=True)
class Name(Bitless):
    """The mnemonic with its older spellings; an older spelling may also fix bits (`setl` is `and` with a negation)."""

    name: str
    aliases: tuple[str, ...] = ()
    fixing: tuple[tuple[str, Bits], ...] = ()
    static = True

    @property
    def mnemonics(self) -> tuple[str, ...]:
        """Every spelling."""
        return (self.name, *self.aliases, *(n for n, _ in self.fixing))

    def text(self, word: int) -> str:
        return self.name

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        t = s.text(k)
        if t == self.name or t in self.aliases:
            yield k + 1, Bits()
        known = False
        for name, fixed in self.fixing:
            if t == name:
                known = True
                yield k + 1, fixed
        if not known and t != self.name and t not in self.aliases:
            s.fail(k, f"`{self.name}`")

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if value == self.name or value in self.aliases:
            return (Bits(),)
        return [fixed for name, fixed in self.fixing if name == value]

    def bind(self, word: int, b: Binder) -> str:
        return self.name

    def accepts(self) -> str:
        return f"`{self.name}`"
