"""Builders for the vµc forms: each adds the relative-branch slot and the guard that every instruction has.

Source: [vuc] 2 "Field sharing".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isakit.arch.vuc.fields import BASE, DISCARD, OC, OP, OPERAND_BITS, OT0, OT1, POM, SPECIAL, SRC1, SRC2
from isakit.arch.vuc.memory_operands import RELATIVE_BRANCH
from isakit.arch.vuc.operands import DESTINATION, LONG_SOURCE, ONLY_SOURCE1, OPTIONAL_SOURCE2, SOURCE1, SOURCE2
from isakit.arch.vuc.predicates import GUARD, MOVE_GUARD, PREDICATE_OUT, SELECT_GUARD, SELECTOR
from isakit.spec import Bits, Field, Form, Literal, Part, make_form

CONTROL = ("rbra", "guard")
LEAD = "{rbra} {guard} {name} "
ONLY_VP2, VP3_UP, ONLY_VP4 = ("!vp3+",), ("vp3+",), ("vp4",)

SHARED_DST = (
    "with a guard the predicate output is held in the DST field, so it must have the same number as the destination "
    "(`$p3 add $p5 $r5 ...`); drop the guard or the output, or choose equal numbers"
)
SHARED_SELECTOR = (
    "slct keeps its selector in the PRED field: without a guard a predicate output must be that very predicate, with a "
    "guard the guard must be; the useful form has neither (`slct $r1 $p3 $r3 $r4`)"
)
SHARED_CONSTANT = (
    "mov keeps bits 11:8 of its constant in the PRED field, which also holds the guard or the predicate output; they "
    "must have equal numbers. Load the constant unguarded, or use `add $rN $r0 imm6`"
)
SHARED_IMMEDIATE = (
    "beside a special register the immediate has only 4 bits (0x0 .. 0xf), because EXT holds the high bits of the "
    "special register's number; put the constant into a $r register first"
)
SHARED_SPECIAL = "an instruction can name one special register only: as its destination or as its first source"
SHARED_LOAD = "under a guard the offset has only 6 bits (0x0 .. 0x3f): PRED holds the guard, not offset bits 7:4"


_OPERANDS = {"pdst": PREDICATE_OUT, "dst": DESTINATION, "src1": SOURCE1, "src2": SOURCE2}
"""The usual operands of base instructions."""


def base(
    name: str,
    op: int,
    operands: str = "{pdst} {dst} {src1} {src2}",
    aliases: Sequence[str] = (),
    needs: Sequence[str] = (),
    *,
    guard: Part = GUARD,
    sharing: Mapping[str, str] | None = None,
    **parts: Part,
) -> Form:
    """A base instruction; `operands` is the rest of the syntax line. The predicate output defaults to discarded."""
    shown = {n: parts.get(n) or _OPERANDS[n] for n in operands.replace("{", "").replace("}", "").split()}
    return make_form(
        BASE,
        LEAD + operands,
        {"rbra": RELATIVE_BRANCH, "guard": guard, "name": Literal(name, aliases=tuple(aliases)), **shown},
        {OP: op},
        unless=[{OT0: 1, OT1: 1}],
        ignored=OPERAND_BITS | OT0.mask | OT1.mask,
        default=POM.put(DISCARD),
        needs=needs,
        control=CONTROL,
        sharing={"dst": SHARED_DST, "src1": SHARED_SPECIAL, "src2": SHARED_IMMEDIATE, **(sharing or {})},
    )


def binary(name: str, op: int, aliases: Sequence[str] = (), needs: Sequence[str] = ()) -> Form:
    """`pdst dst src1 src2`."""
    return base(name, op, aliases=aliases, needs=needs)


def unary(name: str, op: int, aliases: Sequence[str] = (), needs: Sequence[str] = (), *, second: bool = False) -> Form:
    """`pdst dst src1`; `second`: a second source is printed although it has no effect, and may be left out."""
    if not second:
        return base(name, op, "{pdst} {dst} {src1}", aliases, needs)
    sharing = {"unused": SHARED_IMMEDIATE}
    return base(name, op, "{pdst} {dst} {src1} {unused}", aliases, needs, unused=OPTIONAL_SOURCE2, sharing=sharing)


def compare(name: str, op: int, aliases: Sequence[str] = (), needs: Sequence[str] = ()) -> Form:
    """`pdst src1 src2`: only a predicate output."""
    return base(name, op, "{pdst} {src1} {src2}", aliases, needs, src1=ONLY_SOURCE1)


def select_form(name: str, op: int) -> Form:
    """`pdst dst selector src1 src2`."""
    operands, sharing = "{pdst} {dst} {sel} {src1} {src2}", {"sel": SHARED_SELECTOR}
    return base(name, op, operands, guard=SELECT_GUARD, sel=SELECTOR, sharing=sharing)


def move_form(name: str, op: int) -> Form:
    """`pdst dst lsrc`."""
    sharing = {"src": SHARED_CONSTANT}
    return base(name, op, "{pdst} {dst} {src}", guard=MOVE_GUARD, src=LONG_SOURCE, sharing=sharing)


def special(
    name: str,
    fixed: Mapping[Field, int],
    operands: str = "",
    *,
    aliases: Sequence[str] = (),
    needs: Sequence[str] = (),
    dont_care: bool = True,
    sharing: Mapping[str, str] | None = None,
    fixing: Sequence[tuple[str, Bits]] = (),
    named: bool = False,
    **parts: Any,
) -> Form:
    """A special instruction.

    `dont_care`: unused operand bits are known to have no effect; `named`: the semantics function wants the name.
    """
    mnemonic = Literal(name, aliases=tuple(aliases), setting=dict(fixing))
    used = {"rbra": RELATIVE_BRANCH, "guard": GUARD, "name": mnemonic, **parts}
    return make_form(
        SPECIAL,
        LEAD + operands,
        used,
        {OT0: 1, OT1: 1, **fixed},
        ignored=OPERAND_BITS if dont_care else 0,
        needs=needs,
        control=CONTROL if named else (*CONTROL, "name"),
        sharing=sharing,
    )


def simple(name: str, oc: int, op: int, **options: Any) -> Form:
    """A special instruction without operands."""
    return special(name, {OC: oc, OP: op}, **options)


__all__ = [
    "LEAD",
    "ONLY_VP2",
    "ONLY_VP4",
    "SHARED_LOAD",
    "SRC1",
    "SRC2",
    "VP3_UP",
    "base",
    "binary",
    "compare",
    "move_form",
    "select_form",
    "simple",
    "special",
    "unary",
]
