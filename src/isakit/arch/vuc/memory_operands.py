"""Memory operands and code addresses of vµc.

Loads add two registers or a register and an offset; stores with two registers scale the second one by 2. Offsets have
10 bits, 6 under a guard. Source: [vuc] 2 "Operand encodings", 13, 17.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from isakit.arch.vuc.access import GeneralRegister
from isakit.arch.vuc.fields import (
    BTARG,
    DST,
    IMMF,
    LOAD6,
    LOAD10,
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
from isakit.arch.vuc.operands import MARK
from isakit.arch.vuc.predicates import predicate
from isakit.arch.vuc.registers import R_NAMES
from isakit.sem import read
from isakit.spec import Choice, Constant, Field, Imm, Literal, Nothing, Reg, Relative, Template, choice, template, when
from isakit.spec.operands import CodeAddress, Condition, Memory
from isakit.spec.parts import Binder, Spellings, spellings

CODE_SIZE = 1 << BTARG.width

# --- memory -----------------------------------------------------------------------------------------------------------
_OFFSET = "an offset 0x0 .. 0x3ff (0x0 .. 0x3f under a guard)"
_IMMEDIATE, _SUM = {IMMF: "an immediate offset"}, {IMMF: "two registers"}


def _spelled(names: tuple[str, ...], second: str, inside: str, hint: str, **holes: Any) -> Template:
    return template(
        f"{{space}}[{inside}]",
        Memory,
        hint=hint,
        facts={"scale": 2} if "0x2" in second else {},
        hints={"size": 2, "offset_written": "offset" in holes and "0x2" not in second},
        # A load tells `[$rN]` from `[$rN+0x0]`: the first is a sum of registers.
        fits=lambda m: (
            "0x2" in second or ("offset" in holes) == bool(m.offset or m.offset_written or not (m.base or m.index))
        ),
        meanings={
            "base": "address {}",
            "offset": "offset {}",
            "index": "plus twice {}" if "0x2" in second else "plus {}",
        },
        space=Literal(names[0], aliases=names[1:], hint=""),
        **holes,
    )


def _register(f: Field) -> Reg:
    return Reg(f, R_NAMES, GeneralRegister, width=16)


def load_address(*names: str) -> Spellings:
    """`SPACE[$a+$b]` or `SPACE[$a+imm]`; `[$a]` is the register form, `[imm]` the immediate one.

    Bound to the address; `names` are the spellings of the space, the canonical one first.
    """
    hint = f"{names[0]}[$rN] | {names[0]}[$rN+$rM] | {names[0]}[$rN+0x0..0x3ff]"
    spelled = partial(_spelled, names, "$rM", hint=hint)
    base, index, no_base = _register(SRC1), _register(SRC2), {SRC1: f"address {R_NAMES[0]}"}
    alternatives = [
        when({IMMF: 0, SRC2: 0}, spelled("{base}", base=base), unless={SRC1: 0}, says=_SUM | {SRC2: "plus $r0"}),
        when({IMMF: 0}, spelled("{base}+{index}", base=base, index=index), says=_SUM),
    ]
    for guarded, f in ((0, LOAD10), (1, LOAD6)):
        immediate, offset = {IMMF: 1, PE: guarded}, Imm(f, mark=MARK, hint=_OFFSET)
        alternatives += [
            when(immediate | {SRC1: 0}, spelled("{offset}", offset=offset), says=_IMMEDIATE | no_base),
            when(immediate, spelled("{base}+{offset}", base=base, offset=offset), says=_IMMEDIATE),
        ]
    # Only read: a factor as in stores, where it is 1.
    one = Constant(1, hint="an address without a scale: only stores scale a register")
    alternatives += [
        when({IMMF: 0}, spelled("{base}+{index}*{scale}", base=base, index=index, scale=one), quiet=6),
        when({IMMF: 0, SRC1: 0}, spelled("{index}*{scale}", index=index, scale=one), quiet=4),
    ]

    def meaning(word: int, b: Binder) -> Any:
        if IMMF.get(word):
            return read("r", b.param(SRC1), 16) + b.param(LOAD6 if PE.get(word) else LOAD10).zext(16)
        return read("r", b.param(SRC1), 16) + read("r", b.param(SRC2), 16)

    return spellings(*alternatives, meaning=meaning, static=[IMMF, PE], hint=hint)


def store_address(*names: str) -> Spellings:
    """`SPACE[$a+$b*2]` (a in DST, b in SRC1) or `SPACE[$a+imm]` (a in SRC1); `[$a]` is the immediate form.

    Bound to the address; `names` are the spellings of the space, the canonical one first.
    """
    hint = f"{names[0]}[$rN] | {names[0]}[$rN+$rM*0x2] | {names[0]}[$rN+0x0..0x3ff]"
    spelled = partial(_spelled, names, "$rM*0x2", hint=hint)
    base, index, no_base = _register(SRC1), _register(SRC1), {SRC1: f"address {R_NAMES[0]}"}
    alternatives = []
    for guarded, f in ((0, STORE10), (1, STORE6)):
        immediate, offset = {IMMF: 1, PE: guarded}, Imm(f, mark=MARK, hint=_OFFSET)
        alternatives += [
            when(immediate | {SRC1: 0}, spelled("{offset}", offset=offset), says=_IMMEDIATE | no_base),
            when(immediate | {f: 0}, spelled("{base}", base=base), says=_IMMEDIATE | {f: "offset 0x0"}),
            when(immediate, spelled("{base}+{offset}", base=base, offset=offset), says=_IMMEDIATE),
        ]
    first, two = _register(DST), Constant(2, "*", "a second register of a store address scaled by two: $rN+$rM*0x2")
    alternatives += [
        when(
            {IMMF: 0, DST: 0},
            spelled("{index}{scale}", index=index, scale=two),
            unless={SRC1: 0},
            says=_SUM | {DST: f"address {R_NAMES[0]}"},
        ),
        when({IMMF: 0}, spelled("{base}+{index}{scale}", base=first, index=index, scale=two), says=_SUM),
    ]

    def meaning(word: int, b: Binder) -> Any:
        if IMMF.get(word):
            return read("r", b.param(SRC1), 16) + b.param(STORE6 if PE.get(word) else STORE10).zext(16)
        return read("r", b.param(DST), 16) + (read("r", b.param(SRC1), 16) << 1)

    return spellings(*alternatives, meaning=meaning, static=[IMMF, PE], hint=hint)


# --- code -------------------------------------------------------------------------------------------------------------
TARGET = Imm(BTARG, mark=MARK, label="a label or a code address", code_address=True, meaning="to instruction {:#x}")
"""An absolute code address, counted in instructions."""


def _branch(spelling: str, negated: bool) -> Template:
    hint = "$p8 .. $p15: a relative branch tests no other predicate"
    register = predicate(RBP, hint=hint, first=8)
    condition = template(
        spelling,
        Condition,
        facts={"test": "not" if negated else ""},
        register=register,
        meanings={"register": "if {}"},
    )
    address = Relative(
        RBT,
        mark=MARK,
        modulus=CODE_SIZE,
        hint="a label or a code address",
        advice="a target {:#x} .. {:#x}, at most 63 ahead",
        meaning="branch {} instructions ahead",
    )
    return template("{condition} rbra {address}", CodeAddress, hint=hint, condition=condition, address=address)


def _bound_branch(word: int, b: Binder) -> tuple[int, bool, int] | None:
    p, negated = 8 + RBP.get(word), bool(RBN.get(word))
    return None if p == 15 and negated else (p, negated, RBT.get(word))


_ABSENT = {RELATIVE_SLOT: (1 << RELATIVE_SLOT.width) - 1}
_NEVER = {RELATIVE_SLOT: "no relative branch"}
RELATIVE_BRANCH: Choice = choice(
    when(
        {},
        spellings(
            when(
                {RBN: 1, RBP: 7}, _branch("not {register}", True), unless=_ABSENT, says=_NEVER, quiet=3, telling="rbra"
            ),
            when(
                {RBN: 1}, _branch("not {register}", True), unless=_ABSENT, says={RBN: "is 0"}, quiet=3, telling="rbra"
            ),
            when({RBN: 0}, _branch("{register}", False), says={RBN: "is 1"}, quiet=2, telling="rbra"),
            when(_ABSENT, Nothing(), says=_NEVER),
            meaning=_bound_branch,
            hint="[not] $p8 .. $p15 rbra target",
        ),
        needs="vp2",
    ),
    when({}, Nothing(), needs="!vp2"),
)
"""VP2: `[not] $p8..$p15 rbra target` in front, a forward branch beside the main instruction; absent elsewhere.

Not taken at all is the reading `not $p15` of the field and is not printed in its canonical form. Bound to (predicate,
negated, distance) or None.
"""
