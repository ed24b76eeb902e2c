"""After this pass accesses to global memory have no offset: these chips know none there.

The sums are ordinary values, so an addition that a loop performs on its pointer anyway is shared.
"""

from __future__ import annotations

from isakit.compile.ir import Const, Function, Ins
from isakit.compile.ops import ADD, Atomic, Load, Store


def add_global_offsets(f: Function) -> None:
    """Add the offsets of accesses to global memory to their addresses."""
    for b in f.blocks:
        out: list[Ins] = []
        for i in b.ins:
            if isinstance(i.attrs, Load | Store | Atomic) and i.attrs.space == "global" and i.attrs.offset:
                offset, i.attrs = Const(i.attrs.offset), i.attrs._replace(offset=0)
                base = i.args[0]
                if isinstance(base, Const):
                    i.args[0] = Const(base.value + offset.value)
                else:
                    total = Ins(ADD, [base, offset], "r", i.loc, b)
                    out.append(total)
                    i.args[0] = total.out
            out.append(i)
        b.ins = out
