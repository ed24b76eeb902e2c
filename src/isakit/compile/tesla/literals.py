"""Literals that instructions cannot reach in the pool are put into registers first.

Operands that are literals lie in c1[], of which an instruction reaches 128 words, and 64 where it reads half a word.
`ld` reaches all of it, so literals it loads may lie beyond.
"""

from __future__ import annotations

from collections import Counter

from isakit.compile.lower.form import MFunction, MIns, OperandReg, PooledLiteral
from isakit.compile.tesla import instructions as hw
from isakit.compile.tesla.registers import GENERAL

WORDS, HALVES = 96, 48
"""Literals that stay in the pool: fewer than instructions reach, to leave room for those that fit no immediate form."""


def move_literals_to_registers(m: MFunction, everything: bool = False) -> None:
    """Move the less frequent literals, or all of them, to registers before the instructions that read them."""
    kept = set[tuple[int, bool]]() if everything else _frequent(m)
    for b in m.blocks:
        out: list[MIns] = []
        for i in b.ins:
            for name in pooled(i, immediates=not everything):
                literal: PooledLiteral = i.ops[name]
                if (literal.value, literal.half) in kept:
                    continue
                t = m.vreg(GENERAL)
                t.low = literal.half
                ops = {"ty": "b32", "dst": OperandReg(t), "src1": PooledLiteral(literal.value)}
                out.append(MIns(hw.MOV_IMMEDIATE, ops, i.loc))
                i.ops[name] = OperandReg(t, half="l" if literal.half else "")
            out.append(i)
        b.ins = out


def pooled(i: MIns, immediates: bool = True) -> list[str]:
    """Return the names of operands that are literals in the pool; without `immediates`, of all that could be there."""
    immediate = i.op is hw.MOV_IMMEDIATE or (immediates and i.literal and i.guard is None)
    return [] if immediate else [name for name, o in i.ops.items() if type(o) is PooledLiteral]


def _frequent(m: MFunction) -> set[tuple[int, bool]]:
    """Return the literals that are read most often, as many as instructions can reach."""
    counts: Counter[tuple[int, bool]] = Counter()
    for b in m.blocks:
        for i in b.ins:
            counts.update((i.ops[name].value, i.ops[name].half) for name in pooled(i))
    halves = [key for key, _ in counts.most_common() if key[1]][:HALVES]
    words = [key for key, _ in counts.most_common() if not key[1]][: WORDS - len(halves)]
    return {*halves, *words}
