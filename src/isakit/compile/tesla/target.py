"""The Tesla chips as a target of the compiler."""

from __future__ import annotations

from isakit.compile.ir import Loc
from isakit.compile.lower.form import FixedNumber, MemoryReference, MIns, OperandReg, VReg
from isakit.compile.lower.target import Target
from isakit.compile.tesla import instructions as hw
from isakit.compile.tesla import rules
from isakit.compile.tesla.registers import ADDRESS, CONDITION, GENERAL, KINDS


class TeslaTarget(Target):
    """The registers and rules, which all variants share."""

    kinds = KINDS
    general = GENERAL
    rules = rules.RULES

    def reload(self, v: VReg, holder: VReg | None, at: int, loc: Loc) -> list[MIns]:
        """Return the loads of address and condition registers from a general one, of general ones from local memory."""
        if holder is None:
            return [MIns(hw.LD_L, {"ty": "b32", "dst": OperandReg(v, k), "src": _spilled(at, k)}, loc)
                    for k in range(v.size)]  # fmt: skip
        if v.cls is CONDITION:
            return [MIns(hw.MOV_C, {"cdst": OperandReg(v), "src1": OperandReg(holder)}, loc)]
        assert v.cls is ADDRESS
        return [MIns(hw.SHL_A, {"adst": OperandReg(v), "src1": OperandReg(holder), "count": FixedNumber(0)}, loc)]

    def save(self, v: VReg, units: list[int], holder: VReg | None, at: int, loc: Loc) -> list[MIns]:
        """Return the instructions that store `units` of a register where it is spilled: in `holder` or local memory."""
        if holder is not None:
            return [MIns(hw.MOV_FROM, {"dst": OperandReg(holder), "src": OperandReg(v)}, loc)]
        return [MIns(hw.ST_L, {"ty": "b32", "dst": _spilled(at, k), "src": OperandReg(v, k)}, loc) for k in units]


def _spilled(at: int, k: int) -> MemoryReference:
    return MemoryReference("l", None, at + 4 * k, "spill")


TESLA = TeslaTarget()
