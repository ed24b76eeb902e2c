"""Verifies the intermediate form between passes: kinds, definitions, predecessors."""

from __future__ import annotations

from collections.abc import Callable

from isakit.compile.ir import Block, Const, Function, Ins, IrValue, NoAttributes
from isakit.compile.ops import PHI
from isakit.compile.vector_ops import TYPED, KindError


class BrokenForm(Exception):
    """A pass broke the intermediate form: a bug of the compiler, not a mistake in its input."""


def verify(f: Function, after: str) -> None:
    """Raise BrokenForm for the first violation. Takes time linear in the size of the function."""
    where: dict[IrValue, Block] = {}

    def error(block: Block, what: object) -> BrokenForm:
        return BrokenForm(f"{f.name} after {after}: {block}: {what}")

    for b in f.blocks:
        for i in (*b.phis, *b.ins):
            if not (i.attrs == () if i.op.attributes is NoAttributes else type(i.attrs) is i.op.attributes):
                raise error(b, f"{i.op} has the attributes {i.attrs!r}")
            for o in i.outs:
                where[o] = b
    comes_from: dict[Block, list[int]] = {b: [] for b in f.blocks}
    for b in f.blocks:
        for s in b.succs:
            if s not in comes_from:
                raise error(b, "goes to a block that is not in the function")
            comes_from[s].append(id(b))
    for b in f.blocks:
        if sorted(id(p) for p in b.preds) != sorted(comes_from[b]):
            raise error(b, "wrong predecessors")
        for i in b.phis:
            if i.op is not PHI or len(i.args) != len(b.preds):
                raise error(b, f"phi with {len(i.args)} arguments for {len(b.preds)} predecessors")
        for i in (*b.phis, *b.ins):
            _kinds(i, lambda what, b=b: error(b, what))
            for a in i.args:
                if not isinstance(a, Const) and a not in where:
                    raise error(b, f"{i} uses what is not defined")
        seen: set[IrValue] = {o for i in b.phis for o in i.outs}
        for i in b.ins:
            for a in i.args:
                if where.get(a) is b and a not in seen:
                    raise error(b, f"{i} uses what is defined after it")
            seen.update(i.outs)
        if b.term[0] == "branch" and (
            b.term[1].kind != "p" or not (isinstance(b.term[1], Const) or b.term[1] in where)
        ):
            raise error(b, "branches on a value that is not a predicate")


def _kinds(i: Ins, error: Callable[[object], BrokenForm]) -> None:
    got, made = tuple(a.kind for a in i.args), tuple(o.kind for o in i.outs)
    if (i.op.args != ("*",) and i.op.args != got) or (i.op.outs != ("*",) and i.op.outs[: len(made)] != made):
        raise error(
            f"{i}, of line {i.loc[0]}: kinds {' '.join(got)} -> {' '.join(made)}, not {' '.join(i.op.args)} -> "
            f"{' '.join(i.op.outs)}"
        )
    typed = TYPED.get(i.op)
    try:
        if typed is not None and typed(got, i.attrs) != made:
            raise error(f"{i}: results of kinds {' '.join(made)}")
    except KindError as e:
        raise error(f"{i}: {e}") from None
    if i.op is PHI and any(a.kind != i.out.kind for a in i.args):
        raise error(f"{i}: mixed kinds")
