"""The USSE as a target of the compiler."""

from __future__ import annotations

from typing import Any

from isakit.compile.ir import Loc
from isakit.compile.lower.allocate import OutOfRegistersError
from isakit.compile.lower.form import MIns, OperandReg, VReg
from isakit.compile.lower.rules import Rules
from isakit.compile.lower.target import Target
from isakit.compile.usse import instructions as hw
from isakit.compile.usse.operands import Fixed, FixedView, View
from isakit.compile.usse.registers import Registers

_ZERO, _ONE = (FixedView(Fixed("#", n), View((0,))) for n in (0, 1))


class UsseTarget(Target):
    """The registers of one program, and the rules that all share."""

    def __init__(self, registers: Registers, rules: Rules[Any]) -> None:
        self.registers, self.rules = registers, rules
        self.kinds, self.general = registers.kinds, registers.scalar

    def reload(self, v: VReg, holder: VReg | None, at: int, loc: Loc) -> list[MIns]:
        """Return the test that restores a predicate from a register; nothing else is spilled.

        Raises OutOfRegistersError.
        """
        if holder is None:
            raise OutOfRegistersError
        word = OperandReg(holder, view=View((0,)))
        return [MIns(hw.TEST_INTEGER["u32"], {"cond": "ne", "dst": OperandReg(v), "src1": word, "src2": _ZERO}, loc)]

    def save(self, v: VReg, units: list[int], holder: VReg | None, at: int, loc: Loc) -> list[MIns]:
        """Return the instructions that set a register to 1 where a predicate holds, else to 0."""
        if holder is None:
            raise OutOfRegistersError
        zero, one = (
            MIns(hw.BITWISE["or"], {"dst": OperandReg(holder, view=View((0,))), "src1": n, "src2": _ZERO}, loc)
            for n in (_ZERO, _ONE)
        )
        one.guard = v, ""
        return [zero, one]
