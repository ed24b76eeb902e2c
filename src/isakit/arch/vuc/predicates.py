"""Predicate operands of vµc: guards, predicate outputs with their modes, predicate sources.

Source: [vuc] 2 "Field sharing", 3 "Predicate output".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from isakit.arch.vuc.access import Discarded, Predicate, PredicateOutput
from isakit.arch.vuc.fields import DISCARD, DST, IMMF, PE, POM, PON, PRED, named
from isakit.arch.vuc.registers import P_NAMES, TRUE
from isakit.arch.vuc.spelling import P_NUMBERS, Spelled, parse_predicate, predicate, predicate_result, predicate_text
from isakit.spec import Bits, Field, Match, Row, TokenStream, bits, where
from isakit.spec.operands import Condition, Operand
from isakit.spec.parts import Binder

_GUARD = named("PE,PRED", PE, PRED)
_GUARD_IMPLIED = named("PE,PRED,POM,DST,IMMF,OP0", PE, PRED, POM, DST, IMMF, bits(0))


@dataclass(frozen=True)
class Guard(Spelled):
    """`$pN` in front: the instruction only acts when the predicate is 1. Bound to the register number or None.

    `implied`: the instruction keeps something else in PRED too (slct, mov with a constant). With a predicate output it
    may then have no unguarded encoding; the text without a guard means the always-true guard $p15.
    """

    implied: bool = False

    @property
    def relevant(self) -> Field:  # type: ignore[override]
        return _GUARD_IMPLIED if self.implied else _GUARD

    def _silent(self, word: int) -> bool:
        """Whether this is the always-true guard of a text that has no unguarded encoding (OP bit 0: mov, else slct)."""
        if not self.implied or PRED.get(word) != TRUE:
            return False
        return POM.get(word) != DISCARD and DST.get(word) != TRUE and (not word & 1 or bool(IMMF.get(word)))

    def text(self, word: int) -> str:
        return P_NAMES[PRED.get(word)] if PE.get(word) and not self._silent(word) else ""

    def spelled(self, word: int) -> Bits:
        if PE.get(word):
            return where({PE: 1, PRED: PRED.get(word)})
        return where({PE: 0})

    def static_mask(self) -> int:
        return PE.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        n = P_NUMBERS.get(s.text(k))
        if n is not None:
            yield k + 1, where({PE: 1, PRED: n})
        yield k, where({PE: 0})
        if self.implied:
            yield k, where({PE: 1, PRED: TRUE})

    def bind(self, word: int, b: Binder) -> int | None:
        return PRED.get(word) if PE.get(word) else None

    def rows(self, word: int) -> list[Row]:
        if not PE.get(word):
            return [Row(PE, 0, "always executed")]
        return [Row(PE, 1, "guarded"), Row(PRED, PRED.get(word), f"by {P_NAMES[PRED.get(word)]}")]

    def accepts(self) -> str:
        return "a guard $p0 .. $p15"

    def operand(self, word: int) -> Operand | None:
        text = self.text(word)
        return Condition(predicate(PRED.get(word)), text=text) if text else None


MODES = {0: "pand", 1: "por", 2: "", 4: "pandn", 5: "porn", 6: "pnot"}
"""PON:POM -> the word in front of the predicate output."""
_MODE_WORDS = {name: code for code, name in MODES.items() if name} | {"not": 6}


@dataclass(frozen=True)
class PredicateOut(Spelled):
    """`[mode] $pN`: where and how a base instruction leaves its predicate output; nothing when it is discarded."""

    relevant = named("POM,PON,DST,PRED,PE", POM, PON, DST, PRED, PE)
    mode = named("PON:POM", POM, PON)

    def text(self, word: int) -> str:
        if POM.get(word) == DISCARD:
            return ""
        mode, p = MODES[self.mode.get(word)], predicate_text(self._field(word).get(word))
        return f"{mode} {p}" if mode else p

    def spelled(self, word: int) -> Bits:
        if POM.get(word) == DISCARD:
            return where({POM: DISCARD})
        f = self._field(word)
        return where({self.mode: self.mode.get(word), f: f.get(word), PE: PE.get(word)})

    @staticmethod
    def _field(word: int) -> Field:
        return DST if PE.get(word) else PRED

    def static_mask(self) -> int:
        return self.mode.mask | PE.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        code = _MODE_WORDS.get(s.text(k))
        got = parse_predicate(s, k if code is None else k + 1)
        if got is not None:
            for f in (PRED, DST):
                yield got[0], where({self.mode: 2 if code is None else code, f: got[1], PE: int(f is DST)})
        elif code is not None:
            s.fail(k + 1, "$p0 .. $p15")
        if code is None:
            yield k, where({POM: DISCARD})

    def bind(self, word: int, b: Binder) -> Any:
        if POM.get(word) == DISCARD:
            return Discarded()
        return PredicateOutput(self.mode.get(word), b.param(self._field(word)))

    def rows(self, word: int) -> list[Row]:
        if POM.get(word) == DISCARD:
            return [Row(POM, DISCARD, "predicate output discarded")]
        f = self._field(word)
        name = P_NAMES[f.get(word)]
        doc = {0: "p = p & o", 1: "p = p | o", 2: "p = o", 4: "p = p & !o", 5: "p = p | !o", 6: "p = !o"}
        code = self.mode.get(word)
        return [Row(self.mode, code, f"predicate output: {doc[code]}"), Row(f, f.get(word), f"into {name}")]

    def accepts(self) -> str:
        return "[pand|por|pandn|porn|pnot] a predicate output $p0 .. $p15"

    def operand(self, word: int) -> Operand | None:
        if POM.get(word) == DISCARD:
            return None
        n, mode = self._field(word).get(word), MODES[self.mode.get(word)]
        return predicate_result(n, self.text(word), **({"mode": mode} if mode else {}))


@dataclass(frozen=True)
class PredicateDst(Spelled):
    """The destination of a predicate instruction: in PRED without a guard, in DST with one."""

    relevant = named("DST,PRED,PE", DST, PRED, PE)

    @staticmethod
    def _field(word: int) -> Field:
        return DST if PE.get(word) else PRED

    def text(self, word: int) -> str:
        return predicate_text(self._field(word).get(word))

    def spelled(self, word: int) -> Bits:
        f = self._field(word)
        return where({f: f.get(word), PE: PE.get(word)})

    def static_mask(self) -> int:
        return PE.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        got = parse_predicate(s, k)
        if got is None:
            s.fail(k, self.accepts())
            return
        for f in (PRED, DST):
            yield got[0], where({f: got[1], PE: int(f is DST)})

    def bind(self, word: int, b: Binder) -> Any:
        return PredicateOutput(2, b.param(self._field(word)))

    def rows(self, word: int) -> list[Row]:
        f = self._field(word)
        return [Row(f, f.get(word), P_NAMES[f.get(word)])]

    def accepts(self) -> str:
        return "a predicate $p0 .. $p15"

    def operand(self, word: int) -> Operand:
        return predicate_result(self._field(word).get(word), self.text(word))


@dataclass(frozen=True)
class PredicateSrc(Spelled):
    """`[not] $pN`; without `negate` a plain predicate (the selector of slct).

    `settled_by` are mnemonics that say themselves what is negated, so that `not` has no place behind them.
    """

    source: Field
    negate: Field | None = None
    settled_by: frozenset[str] = frozenset()

    @property
    def relevant(self) -> Field:  # type: ignore[override]
        return self.source if self.negate is None else named("psrc", self.source, self.negate)

    def text(self, word: int) -> str:
        p = predicate_text(self.source.get(word))
        return f"not {p}" if self.negate is not None and self.negate.get(word) else p

    def spelled(self, word: int) -> Bits:
        return Bits(self.relevant.mask, word & self.relevant.mask)

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        inverted = self.negate is not None and s.text(k) == "not"
        if inverted and any(s.text(j) in self.settled_by for j in range(k)):
            s.fail(k, "a plain predicate: this name already says what is negated")
            return
        got = parse_predicate(s, k + inverted)
        if got is None:
            s.fail(k + inverted, self.accepts())
            return
        b = where({self.source: got[1]})
        if self.negate is None:
            yield got[0], b
            return
        yield got[0], Bits(b.mask | self.negate.mask, b.value | self.negate.put(int(inverted)))
        if not inverted:
            yield got[0], b  # an older mnemonic has fixed the negation already

    def static_mask(self) -> int:
        return self.negate.mask if self.negate is not None else 0

    def bind(self, word: int, b: Binder) -> Any:
        return Predicate(b.param(self.source), bool(self.negate is not None and self.negate.get(word)))

    def rows(self, word: int) -> list[Row]:
        out = [Row(self.source, self.source.get(word), P_NAMES[self.source.get(word)])]
        if self.negate is not None:
            out.append(Row(self.negate, self.negate.get(word), "negated" if self.negate.get(word) else "as it is"))
        return out

    def accepts(self) -> str:
        return ("[not] " if self.negate is not None else "") + "a predicate $p0 .. $p15"

    def operand(self, word: int) -> Operand:
        n = self.source.get(word)
        if self.negate is not None and self.negate.get(word):
            return Condition(predicate(n), "not", text=self.text(word))
        return predicate(n)
