"""Memory operands and code addresses of vµc.

Loads add two registers or a register and an offset; stores with two registers scale the second one by 2. Offsets have
10 bits, 6 under a guard. Source: [vuc] 2 "Operand encodings", 13, 17.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from isakit.arch.vuc.fields import (
    BTARG,
    DST,
    IMMF,
    LOAD6,
    LOAD10,
    NO_BRANCH,
    PE,
    RBN,
    RBP,
    RBT,
    RELATIVE_SLOT,
    SRC1,
    SRC2,
    STORE6,
    STORE10,
)
from isakit.arch.vuc.registers import P_NAMES, R_NAMES
from isakit.arch.vuc.spelling import (
    R_NUMBERS,
    Spelled,
    parse_number,
    parse_predicate,
    predicate,
    predicate_text,
    register,
)
from isakit.sem import Value, read
from isakit.spec import Bits, Context, Field, Match, Nothing, Part, Row, TokenStream, where
from isakit.spec.operands import CodeAddress, Condition, Memory, Operand
from isakit.spec.parts import Binder, Keep, fit_tokens

CODE_SIZE = 1 << BTARG.width


class _Silent:
    """Stands for the text where none is read: nobody wants to know what was expected."""

    def fail(self, k: int, expected: str) -> None:
        """Forget it."""


_SILENT: Any = _Silent()


class _Terms(NamedTuple):
    """What stands between the brackets: `first + second * scale`, `first + number`, or less."""

    first: int | None = None
    second: int | None = None
    number: int | None = None
    scale: int = 1


@dataclass(frozen=True)
class _Address(Spelled):
    """`SPACE[base + offset]`, bound to the address; `names` are the spellings of the space, the canonical one first.

    The immediate form has its base in SRC1 and an offset; the register form has SRC1 and `second`.
    """

    names: tuple[str, ...]

    second: ClassVar[Field]
    wide: ClassVar[Field]
    """The offset of an instruction without a guard."""
    narrow: ClassVar[Field]
    """The offset of an instruction with a guard."""

    # the relevant bits are too many for tables
    text_source = Part.text_source
    claimed_source = Part.claimed_source

    def possible(self) -> int:
        return SRC1.mask | self.second.mask | IMMF.mask | PE.mask | self.wide.mask

    def static_mask(self) -> int:
        return IMMF.mask | PE.mask

    def offset(self, word: int) -> Field:
        """The field of the immediate offset."""
        return self.narrow if PE.get(word) else self.wide

    def text(self, word: int) -> str:
        return f"{self.names[0]}[{self.immediate_text(word) if IMMF.get(word) else self.sum_text(word)}]"

    def immediate_text(self, word: int) -> str:
        """Base and offset."""
        base, offset = SRC1.get(word), self.offset(word).get(word)
        if not base:
            return f"{offset:#x}"
        return f"{R_NAMES[base]}+{offset:#x}"

    def sum_text(self, word: int) -> str:
        """The two registers."""
        raise NotImplementedError

    def spelled(self, word: int) -> Bits:
        if IMMF.get(word):
            f = self.offset(word)
            return where({IMMF: 1, PE: PE.get(word), SRC1: SRC1.get(word), f: f.get(word)})
        return where({IMMF: 0, SRC1: SRC1.get(word), self.second: self.second.get(word)})

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        if s.text(k) not in self.names or s.text(k + 1) != "[":
            s.fail(k, self.accepts())
            return
        got = _terms(s, k + 2)
        if got is None:
            return
        end, terms = got
        if s.text(end) != "]":
            s.fail(end, "`]`")
            return
        for found in self.encodings(s, k, terms):
            yield end + 1, found

    def encodings(self, s: TokenStream, k: int, terms: _Terms) -> Iterator[Bits]:
        """The bits that can stand for what the address at `k` consists of."""
        raise NotImplementedError

    def immediate(self, s: TokenStream, k: int, base: int, number: int) -> Iterator[Bits]:
        """The immediate form, without and with a guard."""
        if not 0 <= number < 1 << self.wide.width:
            s.fail(k, "an offset 0x0 .. 0x3ff (0x0 .. 0x3f under a guard)")
            return
        yield where({IMMF: 1, PE: 0, SRC1: base, self.wide: number})
        if number < 1 << self.narrow.width:
            yield where({IMMF: 1, PE: 1, SRC1: base, self.narrow: number})

    def bind(self, word: int, b: Binder) -> Value:
        if IMMF.get(word):
            return read("r", b.param(SRC1), 16) + b.param(self.offset(word)).zext(16)
        return self.sum(b)

    def sum(self, b: Binder) -> Value:
        """The address of the register form."""
        raise NotImplementedError

    def rows(self, word: int) -> list[Row]:
        if not IMMF.get(word):
            return [*self.sum_rows(word), Row(IMMF, 0, "two registers")]
        f = self.offset(word)
        return [
            Row(SRC1, SRC1.get(word), f"address {R_NAMES[SRC1.get(word)]}"),
            Row(f, f.get(word), f"offset {f.get(word):#x}"),
            Row(IMMF, 1, "an immediate offset"),
        ]

    def sum_rows(self, word: int) -> list[Row]:
        """What the two register fields mean."""
        raise NotImplementedError

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if not isinstance(value, Memory) or value.space not in self.names or value.post_increment:
            return ()
        if any(r is not None and (r.file != "r" or r.index >= len(R_NAMES)) for r in (value.base, value.index)):
            return ()
        first = None if value.base is None else value.base.index
        second = None if value.index is None else value.index.index
        written = value.offset or value.offset_written or (second is None and first is None)
        number = value.offset if written else None
        if second is not None and number is not None:
            return ()
        return list(self.encodings(_SILENT, 0, _Terms(first, second, number, value.scale)))


def _terms(s: TokenStream, k: int) -> tuple[int, _Terms] | None:
    """(next token, what was read up to it); None, with the expectation noted, where no address stands."""
    first = R_NUMBERS.get(s.text(k))
    at = k
    if first is not None:
        k += 1
        if s.text(k) == "*":
            got = _scale(s, k + 1)
            return got and (got[0], _Terms(second=first, scale=got[1]))
        if s.text(k) == "]":
            return k, _Terms(first)
        if s.text(k) not in ("+", "-"):
            s.fail(k, "`+` or `]`")
            return None
        at = k + 1 if s.text(k) == "+" else k
        second = R_NUMBERS.get(s.text(at)) if at > k else None
        if second is not None:
            if s.text(at + 1) != "*":
                return at + 1, _Terms(first, second)
            got = _scale(s, at + 2)
            return got and (got[0], _Terms(first, second, scale=got[1]))
    number = parse_number(s, at)
    if number is None:
        s.fail(k, "an address: $rN, $rN+number, $rN+$rM or a number")
        return None
    return number[0], _Terms(first, number=number[1])


def _scale(s: TokenStream, k: int) -> tuple[int, int] | None:
    """(next token, factor) of the number that multiplies a register."""
    got = s.number(k)
    if got is not None and got[1] in (1, 2):
        return got
    s.fail(k, "the scale 0x2")
    return None


@dataclass(frozen=True)
class LoadAddress(_Address):
    """`[$a+$b]` or `[$a+imm]`; `[$a]` is the register form, `[imm]` the immediate one."""

    second, wide, narrow = SRC2, LOAD10, LOAD6

    def sum_text(self, word: int) -> str:
        a, b = SRC1.get(word), SRC2.get(word)
        return R_NAMES[a] if a and not b else f"{R_NAMES[a]}+{R_NAMES[b]}"

    def encodings(self, s: TokenStream, k: int, terms: _Terms) -> Iterator[Bits]:
        if terms.scale != 1:
            s.fail(k, "an address without a scale: only stores scale a register")
        elif terms.number is None:
            yield where({IMMF: 0, SRC1: terms.first or 0, SRC2: terms.second or 0})
        else:
            yield from self.immediate(s, k, terms.first or 0, terms.number)

    def sum(self, b: Binder) -> Value:
        return read("r", b.param(SRC1), 16) + read("r", b.param(SRC2), 16)

    def operand(self, word: int) -> Operand:
        base = register(SRC1.get(word)) if SRC1.get(word) else None
        if IMMF.get(word):
            n = self.offset(word).get(word)
            return Memory(self.names[0], base, n, size=2, offset_written=not n, text=self.text(word))
        second = register(SRC2.get(word)) if SRC2.get(word) else None
        if base is None:
            base = register(0)  # `[$rN]` is the register form
        return Memory(self.names[0], base, index=second, size=2, text=self.text(word))

    def sum_rows(self, word: int) -> list[Row]:
        return [
            Row(SRC1, SRC1.get(word), f"address {R_NAMES[SRC1.get(word)]}"),
            Row(SRC2, SRC2.get(word), f"plus {R_NAMES[SRC2.get(word)]}"),
        ]

    def accepts(self) -> str:
        return f"{self.names[0]}[$rN] | {self.names[0]}[$rN+$rM] | {self.names[0]}[$rN+0x0..0x3ff]"


@dataclass(frozen=True)
class StoreAddress(_Address):
    """`[$a+$b*2]` (a in DST, b in SRC1) or `[$a+imm]` (a in SRC1); `[$a]` is the immediate form."""

    second, wide, narrow = DST, STORE10, STORE6

    def immediate_text(self, word: int) -> str:
        plain = SRC1.get(word) and not self.offset(word).get(word)
        return R_NAMES[SRC1.get(word)] if plain else super().immediate_text(word)

    def sum_text(self, word: int) -> str:
        a, b = DST.get(word), SRC1.get(word)
        return f"{R_NAMES[a]}+{R_NAMES[b]}*0x2" if a or not b else f"{R_NAMES[b]}*0x2"

    def encodings(self, s: TokenStream, k: int, terms: _Terms) -> Iterator[Bits]:
        if terms.second is None:
            yield from self.immediate(s, k, terms.first or 0, terms.number or 0)
        elif terms.scale == 2:
            yield where({IMMF: 0, DST: terms.first or 0, SRC1: terms.second})
        else:
            s.fail(k, "a second register of a store address scaled by two: $rN+$rM*0x2")

    def sum(self, b: Binder) -> Value:
        return read("r", b.param(DST), 16) + (read("r", b.param(SRC1), 16) << 1)

    def operand(self, word: int) -> Operand:
        if IMMF.get(word):
            base = register(SRC1.get(word)) if SRC1.get(word) else None
            return Memory(self.names[0], base, self.offset(word).get(word), size=2, text=self.text(word))
        base = register(DST.get(word)) if DST.get(word) or not SRC1.get(word) else None
        index = register(SRC1.get(word))
        return Memory(self.names[0], base, index=index, scale=2, size=2, text=self.text(word))

    def sum_rows(self, word: int) -> list[Row]:
        return [
            Row(DST, DST.get(word), f"address {R_NAMES[DST.get(word)]}"),
            Row(SRC1, SRC1.get(word), f"plus twice {R_NAMES[SRC1.get(word)]}"),
        ]

    def accepts(self) -> str:
        return f"{self.names[0]}[$rN] | {self.names[0]}[$rN+$rM*0x2] | {self.names[0]}[$rN+0x0..0x3ff]"


@dataclass(frozen=True)
class Target(Spelled):
    """An absolute code address, counted in instructions."""

    relevant = BTARG
    code_address = True

    def text(self, word: int) -> str:
        return f"{BTARG.get(word):#x}"

    def spelled(self, word: int) -> Bits:
        return where({BTARG: BTARG.get(word)})

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        got = parse_number(s, k)
        if got is None or not 0 <= got[1] < CODE_SIZE:
            s.fail(k, self.accepts())
        else:
            yield got[0], where({BTARG: got[1]})

    def bind(self, word: int, b: Binder) -> Value:
        return b.param(BTARG)

    def rows(self, word: int) -> list[Row]:
        return [Row(BTARG, BTARG.get(word), f"to instruction {BTARG.get(word):#x}")]

    def operand(self, word: int) -> Operand:
        return CodeAddress(BTARG.get(word))

    def accepts(self) -> str:
        return "a label or a code address 0x0 .. 0x7ff"


@dataclass(frozen=True)
class RelativeBranch(Part):
    """VP2: `[not] $p8..$p15 rbra target` in front, a forward branch beside the main instruction; absent elsewhere.

    Printed with the absolute target; the field holds the distance from this instruction, 0 to 63. Not taken at all is
    the reading `not $p15` of the field and is not printed in its canonical form. Bound to (predicate, negated,
    distance) or None.
    """

    addressed = True

    def resolve(self, ctx: Context) -> Part:
        return self if "vp2" in ctx.features else Nothing()

    def text(self, word: int) -> str:
        return self.text_at(word, 0)

    def text_at(self, word: int, address: int) -> str:
        if word & NO_BRANCH == NO_BRANCH:
            return ""
        negated = "not " if RBN.get(word) else ""
        return f"{negated}{predicate_text(8 + RBP.get(word))} rbra {(address + RBT.get(word)) % CODE_SIZE:#x}"

    def claimed(self, word: int) -> int:
        return NO_BRANCH

    def possible(self) -> int:
        return NO_BRANCH

    def claimed_source(self, keep: Keep) -> str:
        return str(NO_BRANCH)

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        inverted = s.text(k) == "not"
        got = parse_predicate(s, k + inverted)
        if got is not None and s.text(got[0]) == "rbra":
            n = fit_tokens(s, got[0], ["rbra"])
            assert n is not None
            target = parse_number(s, n)
            if got[1] < 8:
                s.fail(k + inverted, "$p8 .. $p15: a relative branch tests no other predicate")
            elif target is None:
                s.fail(n, "a label or a code address")
            else:
                distance = (target[1] - s.address) % CODE_SIZE
                if not 0 <= target[1] < CODE_SIZE or distance >= 1 << RBT.width:
                    s.fail(n, f"a target {s.address:#x} .. {(s.address + 63) % CODE_SIZE:#x}, at most 63 ahead")
                else:
                    yield target[0], where({RBP: got[1] - 8, RBN: int(inverted), RBT: distance})
            return
        yield k, Bits(NO_BRANCH, NO_BRANCH)

    def bind(self, word: int, b: Binder) -> tuple[int, bool, int] | None:
        p, negated = 8 + RBP.get(word), bool(RBN.get(word))
        if p == 15 and negated:
            return None
        return p, negated, RBT.get(word)

    def rows(self, word: int) -> list[Row]:
        bound = self.bind(word, None)  # type: ignore[arg-type]
        if bound is None:
            return [Row(RELATIVE_SLOT, RELATIVE_SLOT.get(word), "no relative branch")]
        p, negated, distance = bound
        return [
            Row(RBP, RBP.get(word), f"if {P_NAMES[p]}"),
            Row(RBN, int(negated), "is 0" if negated else "is 1"),
            Row(RBT, distance, f"branch {distance} instructions ahead"),
        ]

    def accepts(self) -> str:
        return "[not] $p8 .. $p15 rbra target"

    def operand(self, word: int) -> Operand | None:
        return self.operand_at(word, 0)

    def operand_at(self, word: int, address: int) -> Operand | None:
        text = self.text_at(word, address)
        if not text:
            return None
        condition = Condition(predicate(8 + RBP.get(word)), "not" if RBN.get(word) else "")
        return CodeAddress((address + RBT.get(word)) % CODE_SIZE, condition=condition, text=text)

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if value is None:
            return (Bits(NO_BRANCH, NO_BRANCH),)
        if not isinstance(value, CodeAddress) or value.condition is None or value.condition.register is None:
            return ()
        p, test, distance = value.condition.register.index, value.condition.test, (value.address - address) % CODE_SIZE
        if p not in range(8, 16) or distance >= 1 << RBT.width or test not in ("", "not"):
            return ()
        return (where({RBP: p - 8, RBN: int(test == "not"), RBT: distance}),)


__all__ = ["CODE_SIZE", "LoadAddress", "RelativeBranch", "StoreAddress", "Target"]
