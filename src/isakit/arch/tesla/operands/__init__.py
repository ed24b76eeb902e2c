"""Operand kinds of the Tesla ISA. Each behaviour is written here once and used by all instructions."""

from isakit.arch.tesla.operands.conditions import (
    CARRY,
    COND,
    CONDITION_NAMES,
    CONTROL_GUARD,
    FCDST,
    GUARD,
    LANES,
    MCDST,
    TAIL,
    fixed_condition,
    flags,
    in_lanes,
    result_flags,
)
from isakit.arch.tesla.operands.destinations import LHDST_UNTYPED, ldst
from isakit.arch.tesla.operands.memory import MODES, memory
from isakit.arch.tesla.operands.registers import Word, areg, gpr, special_register, word
from isakit.arch.tesla.operands.sources import TARGET, immediate, isrc1, lonly1, lsrc1, lsrc2, lsrc3, ssrc1, ssrc2

__all__ = [
    "CARRY",
    "COND",
    "CONDITION_NAMES",
    "CONTROL_GUARD",
    "FCDST",
    "GUARD",
    "LANES",
    "LHDST_UNTYPED",
    "MCDST",
    "MODES",
    "TAIL",
    "TARGET",
    "Word",
    "areg",
    "fixed_condition",
    "flags",
    "gpr",
    "immediate",
    "in_lanes",
    "isrc1",
    "ldst",
    "lonly1",
    "lsrc1",
    "lsrc2",
    "lsrc3",
    "memory",
    "result_flags",
    "special_register",
    "ssrc1",
    "ssrc2",
    "word",
]
