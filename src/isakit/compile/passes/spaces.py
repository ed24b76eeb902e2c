"""Behind this pass every access names the space it goes to.

These chips have no generic addresses. Where PTX uses one, the space is that of what the address is made from: a
conversion to a generic address names it; kernel parameters and pointers that were loaded point to global memory.
"""

from __future__ import annotations

from isakit.compile.ir import Const, Function, Ins, Loc, Value
from isakit.compile.passes.ssa import replace

_THROUGH = frozenset({"add", "sub", "addx", "subx", "adc", "copy", "phi", "sel", "and", "or"})


class MixedSpacesError(Exception):
    """An address that may lie in several spaces."""

    def __init__(self, loc: Loc, spaces: set[str]) -> None:
        self.loc, self.spaces = loc, spaces
        super().__init__(", ".join(sorted(spaces)))


def accesses_name_spaces(f: Function) -> None:
    """Find the space of every generic access. Raises MixedSpacesError."""
    for i in f.instructions():
        if i.op in ("ld", "st", "atom") and i.attrs["space"] == "generic":
            found = _spaces(i.args[0])
            if len(found) > 1:
                raise MixedSpacesError(i.loc, found)
            i.attrs["space"] = next(iter(found), "global")
    replaced: dict[Value, Value] = {}
    for b in f.blocks:
        for i in b.ins:
            if i.op == "generic":
                replaced[i.out] = i.args[0]
        b.ins = [i for i in b.ins if i.op != "generic"]
    replace(f, replaced)


def _spaces(v: Value) -> set[str]:
    out: set[str] = set()
    seen: set[Ins] = set()
    work = [v]
    while work:
        v = work.pop()
        i = v.ins
        if isinstance(v, Const) or i is None or i in seen:
            continue
        seen.add(i)
        if i.op == "generic":
            out.add(i.attrs["space"])
        elif i.op in _THROUGH:
            start = 1 if i.op == "sel" else 0
            pointers = [a for a in i.args[start:] if not _number(a)]
            work += pointers or i.args[start:]
        elif i.op in ("param", "address", "ld", "word"):
            out.add("global")
    return out


def _number(v: Value) -> bool:
    """An index rather than an address: a shift, a product, an extension."""
    return isinstance(v, Const) or (
        v.ins is not None and v.ins.op in ("shl", "mul", "mul16", "mul24", "zext16", "sar", "shr")
    )
