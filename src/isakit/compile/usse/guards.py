"""If-conversion of short blocks of shaders, after register allocation.

A branch costs as much as an instruction, and a program without branches need not be run pixel by pixel.
"""

from __future__ import annotations

from isakit.compile.lower.form import MFunction, MIns, VReg
from isakit.compile.lower.guards import IfConversion
from isakit.compile.usse import instructions as hw

SHORT = 6
"""Instructions on both sides of a branch together up to which they are predicated."""
_OF_NEIGHBOURS = (*hw.DSX.values(), *hw.DSY.values(), hw.SAMPLE)
"""Operations that read values of neighbouring pixels."""


class _UsseGuards(IfConversion):
    def most(self, divergent: bool) -> int:
        return SHORT

    def can_guard(self, i: MIns, condition: VReg) -> bool:
        """Refuse all instructions that write predicates, which share their few registers by now."""
        if i.op in _OF_NEIGHBOURS or any(r.v.cls is condition.cls for r in i.defs()):
            return False
        if i.op in hw.MAD2.values():
            return i.guard is None and condition.color == 0
        return super().can_guard(i, condition)


def convert_ifs_to_guards(m: MFunction) -> None:
    """Predicate blocks of a few instructions with the predicate of the branch around them."""
    _UsseGuards(m).run()
