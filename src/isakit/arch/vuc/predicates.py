"""Predicate operands of vµc: guards, predicate outputs with their modes, predicate sources.

Source: [vuc] 2 "Field sharing", 3 "Predicate output".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from isakit.arch.vuc.access import DiscardedPredicate, Predicate, PredicateOutput
from isakit.arch.vuc.fields import DISCARD, DST, IMMF, PE, POM, PON, PRED, named
from isakit.arch.vuc.registers import NOT_P0, P_NAMES, TRUE
from isakit.spec import Enum, Field, Literal, Nothing, Reg, Spellings, choice, spellings, template, when
from isakit.spec.operands import Condition, Register
from isakit.spec.parts import Binder

_PREDICATE = "a predicate $p0 .. $p15"


@cache
def predicate(
    f: Field,
    access: Callable[[Any], Any] = Predicate,
    hint: str = _PREDICATE,
    *,
    first: int = 0,
    told: Callable[[int], Mapping[str, object]] | None = None,
) -> Reg:
    """$pN from `first` on; $p15 is written as the number it reads."""
    aliases = {} if first else {"$p1": NOT_P0}
    numbers = {TRUE - first: 1}
    return Reg(
        f,
        P_NAMES[first:],
        access,
        aliases=aliases,
        numbers=numbers,
        file="p",
        width=1,
        first=first,
        hint=hint,
        told=told,
    )


# --- guards -----------------------------------------------------------------------------------------------------------
def guard(*seen: dict[Field, int]) -> Spellings:
    """`$pN` in front: the instruction only acts when the predicate is 1. Bound to the register number or None.

    `seen`: the instruction keeps something else in PRED too (slct, mov with a constant). With a predicate output it may
    then have no unguarded encoding; the text without a guard means the always-true guard $p15. These are the bits under
    which it has one, so that $p15 is seen.
    """
    register = Reg(PRED, P_NAMES, Predicate, aliases={"$p1": NOT_P0}, width=1)
    shown, says = template("{register}", Condition, register=register, meanings={"register": "by {}"}), {PE: "guarded"}
    always = {PE: 1, PRED: TRUE}
    return spellings(
        when({PE: 0}, Nothing(), says={PE: "always executed"}),
        *[when(always | bits, shown, says=says, quiet=1) for bits in seen],
        *[when(always, Nothing(), says=says | {PRED: f"by {P_NAMES[TRUE]}"}) for _ in seen[:1]],
        when({PE: 1}, shown, says=says, quiet=1),
        meaning=lambda word, b: PRED.get(word) if PE.get(word) else None,
        static=[PE],
        hint="a guard $p0 .. $p15",
    )


GUARD = guard()
SELECT_GUARD = guard({POM: DISCARD}, {DST: TRUE})
MOVE_GUARD = guard({POM: DISCARD}, {DST: TRUE}, {IMMF: 0})

# --- results ----------------------------------------------------------------------------------------------------------
MODES = {0: "pand", 1: "por", 2: "", 4: "pandn", 5: "porn", 6: "pnot"}
"""PON:POM -> the word before the predicate output."""
_FORMULAS = {0: "p = p & o", 1: "p = p | o", 2: "p = o", 4: "p = p & !o", 5: "p = p | !o", 6: "p = !o"}
_MODE = named("PON:POM", POM, PON)
_PLACES = ((PRED, {PE: 0}), (DST, {PE: 1}))
"""Fields that name a predicate result: with a guard, PRED is taken."""


def _touched(n: int) -> Mapping[str, object]:
    """$p1 follows $p0, and writes to $p1 have no effect."""
    return {"words": (0, 1) if n == 0 else None, "partial": n == NOT_P0}


_OUTPUT, _INTO = "[pand|por|pandn|porn|pnot] a predicate output $p0 .. $p15", {"register": "into {}"}


def _output(f: Field) -> Any:
    mode = Enum(_MODE, MODES, aliases={"not": 6}, meanings={v: f"predicate output: {t}" for v, t in _FORMULAS.items()})
    register = predicate(f, hint="$p0 .. $p15", told=_touched)
    return template("{mode} {register}", Register, hint=_OUTPUT, mode=mode, register=register, meanings=_INTO)


def _bound_output(word: int, b: Binder) -> DiscardedPredicate | PredicateOutput:
    if POM.get(word) == DISCARD:
        return DiscardedPredicate()
    return PredicateOutput(_MODE.get(word), b.param(DST if PE.get(word) else PRED))


PREDICATE_OUT = spellings(
    *[when(guarded, _output(f), unless={POM: DISCARD}, quiet=1) for f, guarded in _PLACES],
    when({POM: DISCARD}, Nothing(), says={POM: "predicate output discarded"}),
    meaning=_bound_output,
    static=[_MODE, PE],
    hint=_OUTPUT,
)
"""`[mode] $pN`: where and how a base instruction leaves its predicate output; nothing when it is discarded."""

PREDICATE_DST = choice(
    *[when(guarded, predicate(f, partial(PredicateOutput, 2), told=_touched)) for f, guarded in _PLACES]
)
"""The destination of a predicate instruction."""

# --- sources ----------------------------------------------------------------------------------------------------------
_TWICE = "a plain predicate: this name already says what is negated"


def negatable(f: Field, negate: Field, settled_by: frozenset[str]) -> Spellings:
    """`[not] $pN`. `settled_by` are mnemonics that say what is negated, so that `not` has no place after them."""
    hint = f"[not] {_PREDICATE}"
    register = predicate(f, hint=hint)
    # Which words stand in front is no matter of bits, therefore `barred`, which nothing else needs.
    word = Literal("not", barred=(settled_by, _TWICE))
    inverted = template("{test} {register}", Condition, hint=hint, test=word, register=register)
    return spellings(
        when({negate: 0}, register, says={negate: "as it is"}),
        when({negate: 1}, inverted, says={negate: "negated"}),
        when({}, register),  # an older mnemonic has fixed the negation already
        meaning=lambda word, b: Predicate(b.param(f), bool(negate.get(word))),
        static=[negate],
        hint=hint,
    )


SELECTOR = predicate(PRED)
"""The selector of slct."""
