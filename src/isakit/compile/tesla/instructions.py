"""The machine instructions that are selected for Tesla chips: one row each.

Passes only do what a row allows: no instruction is predicated, joins or ends a kernel by oversight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from isakit.compile.lower.form import MachineOp


@dataclass(frozen=True, eq=False, repr=False)
class TeslaOp(MachineOp):
    """An instruction.

    Attributes:
        joins: a join may be encoded in it, to happen before it; not if its encoding has no room, or it does more than
            the work of a lane.
        ends: the exit of the kernel may be encoded in it.
        rounded: its long form has a rounding modifier, its short form always rounds to nearest.
        guard: the name of the operand for its condition.
        raw: bits of its word that belong to no operand.
        texture: it uses the texture unit.
    """

    joins: bool = False
    ends: bool = False
    rounded: bool = False
    guard: str = "guard"
    raw: int = 0
    texture: bool = False


UNLOCK = 1 << 55
"""The bit of `st s[]` that releases a lock; its word is not an operand. Source: [tesla] 7.1."""


def _op(
    mnemonic: str, can: Literal["", "g", "gj", "gje"], results: str = "dst", copies: tuple[str, str] = ("dst", "src1"),
    *, rounded: bool = False, guard: str = "guard", raw: int = 0, texture: bool = False,
) -> TeslaOp:  # fmt: skip
    """Return a row. `can` holds g, j, e: be guarded, join, end the kernel. Results are names of operands."""
    return TeslaOp(mnemonic, tuple(results.split()), "g" in can, copies, "j" in can, "e" in can, rounded, guard, raw,
                   texture)  # fmt: skip


ADD = _op("add", "gj", "dst cdst")
AND = _op("and", "gj", "dst cdst")
OR = _op("or", "gj", "dst cdst")
XOR = _op("xor", "gj", "dst cdst")
SHL = _op("shl", "gj", "dst cdst")
SHR = _op("shr", "gj", "dst cdst")
SET = _op("set", "gj", "dst cdst")
MUL = _op("mul", "gj")
MAD = _op("mad", "gj")
SAD = _op("sad", "gj")
MIN = _op("min", "gj")
MAX = _op("max", "gj")
MOV = _op("mov", "gj")
MOV2 = _op("mov2", "gj")
CVT = _op("cvt", "gj")
SLCT = _op("slct", "gj")
MOV_IMMEDIATE = _op("mov", "g")
MOV_SPECIAL = _op("mov", "gj")
MOV_C = _op("mov", "gj", "cdst")
MOV_FROM = _op("mov", "gj")
SHL_A = _op("shl", "gj", "adst")
ADD_A = _op("add", "gj", "adst", ("adst", "src"))
ADD_F32 = _op("add", "gj", rounded=True)
MUL_F32 = _op("mul", "gj", rounded=True)
MAD_F32 = _op("add", "gj")
MIN_F32 = _op("min", "gj")
MAX_F32 = _op("max", "gj")
SET_F32 = _op("set", "gj", "dst cdst")
ADD_F64 = _op("add", "gj")
MUL_F64 = _op("mul", "gj")
FMA_F64 = _op("fma", "gj")
MIN_F64 = _op("min", "gj")
MAX_F64 = _op("max", "gj")
SET_F64 = _op("set", "gj", "dst cdst")
RCP = _op("rcp", "gj")
RSQRT = _op("rsqrt", "gj")
LG2 = _op("lg2", "gj")
EX2 = _op("ex2", "gj")
SIN = _op("sin", "gj")
COS = _op("cos", "gj")
PREEX2 = _op("preex2", "gj")
PRESIN = _op("presin", "gj")
LD_G = _op("ld", "gj")
LD_L = _op("ld", "gj")
LD_C = _op("ld", "gj")
LD_S = _op("ld", "gj")
LD_LOCK = _op("ld", "", "dst cdst")
ST_G = _op("st", "gje", "")
ST_L = _op("st", "gje", "")
ST_S = _op("st", "gje", "")
ST_UNLOCK = _op("st", "g", "", raw=UNLOCK)
ATOM = _op("ld", "gj")
RED = _op("red", "gje", "")
TEXAUTO = _op("texauto", "gj", texture=True)
TEXFETCH = _op("texfetch", "gj", texture=True)
TEXSIZE = _op("texsize", "gj", texture=True)
BAR = _op("bar", "", "")
TRAP = _op("trap", "", "")
BRKPT = _op("brkpt", "", "")
PMEVENT = _op("pmevent", "gj", "")
VOTE = _op("vote", "", "cdst", guard="pred")
BRA = _op("bra", "g", "")
RET = _op("ret", "g", "")
JOINAT = _op("joinat", "", "")
BREAKADDR = _op("breakaddr", "", "")
BRK = _op("break", "", "")
JOIN = _op("join", "", "")
END = _op("end", "", "")
