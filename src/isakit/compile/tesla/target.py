"""The Tesla chips as a target: what each variant can do, and how registers are kept elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from isakit.arch.tesla.tesla import tesla
from isakit.compile.ir import Loc
from isakit.compile.lower.form import FixedNumber, MemoryPlace, MIns, OperandReg, VReg
from isakit.compile.target import Target
from isakit.compile.tesla import instructions as hw
from isakit.compile.tesla import rules
from isakit.compile.tesla.registers import ADDRESS, CONDITION, GENERAL, KINDS


@dataclass(frozen=True)
class TeslaTarget(Target):
    """A variant.

    Source: [tesla] 1.
    """

    variant: str
    fp64: bool
    vote: bool
    atomics: bool
    wide_atomics: bool
    locks: bool
    load_shared: bool

    kinds = KINDS
    general = GENERAL
    rules = rules.RULES

    def reload(self, v: VReg, holder: VReg | None, at: int, loc: Loc) -> list[MIns]:
        """Address and condition registers come from a general one, general ones from local memory."""
        if holder is None:
            return [
                MIns(hw.LD_L, {"ty": "b32", "dst": OperandReg(v, k), "src": MemoryPlace("l", None, at + 4 * k, "spill")},
                     loc)
                for k in range(v.size)
            ]  # fmt: skip
        if v.cls is CONDITION:
            return [MIns(hw.MOV_C, {"cdst": OperandReg(v), "src1": OperandReg(holder)}, loc)]
        assert v.cls is ADDRESS
        return [MIns(hw.SHL_A, {"adst": OperandReg(v), "src1": OperandReg(holder), "count": FixedNumber(0)}, loc)]

    def save(self, v: VReg, units: list[int], holder: VReg | None, at: int, loc: Loc) -> list[MIns]:
        """The same way back."""
        if holder is not None:
            return [MIns(hw.MOV_FROM, {"dst": OperandReg(holder), "src": OperandReg(v)}, loc)]
        return [
            MIns(hw.ST_L, {"ty": "b32", "dst": MemoryPlace("l", None, at + 4 * k, "spill"), "src": OperandReg(v, k)},
                 loc)
            for k in units
        ]  # fmt: skip


def target(variant: str | None = None) -> TeslaTarget:
    """Return the target for a variant (default: the one with the most instructions)."""
    name = tesla.variant(variant or tesla.default_variant or "gt200").name
    late = name in ("gt200", "gt215", "mcp77")
    return TeslaTarget(name, name == "gt200", late, name != "g80", name == "gt200", late, name != "g80")
