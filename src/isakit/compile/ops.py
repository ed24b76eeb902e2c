"""The operations of the intermediate form: what they take and give, whether they have effects, and what they compute.

`fold` computes an operation on constants; the same functions serve as reference for the code that is selected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from isakit.errors import DefinitionError

M32 = 0xFFFF_FFFF
Fold = Callable[..., Any]


def signed(v: int, bits: int = 32) -> int:
    """The low `bits` of a number as a signed one."""
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> bits - 1 else v


class OpUniformity(Enum):
    """When the results of an operation are the same in all lanes of a warp that execute it."""

    OPERANDS = "where its operands are the same"
    MEMORY = "where its operands are the same and the lanes execute it at the same time"
    ALWAYS = "whatever its operands are"
    NEVER = "not even where its operands are the same"


SAME, MEMORY, ALWAYS, NEVER = OpUniformity.OPERANDS, OpUniformity.MEMORY, OpUniformity.ALWAYS, OpUniformity.NEVER


@dataclass(frozen=True)
class IrOp:
    """One operation.

    `args` and `outs` are kinds, `*` any number of any kind. `uniformity` is None where there is no result; it has no
    default, because code for a branch that is wrongly taken for uniform is wrong. `effect`: "" none, "read" reads
    memory (may go if unused, may not pass a write), "write" stays where it is.
    """

    name: str
    args: str
    outs: str
    uniformity: OpUniformity | None
    effect: str = ""
    commutes: bool = False
    fold: Fold | None = None


OPS: dict[str, IrOp] = {}


def _op(
    name: str,
    args: str,
    outs: str,
    uniformity: OpUniformity | None,
    fold: Fold | None = None,
    *,
    f1: Callable[[int], int] | None = None,
    f2: Callable[[int, int], int] | None = None,
    f3: Callable[[int, int, int], int] | None = None,
    effect: str = "",
    commutes: bool = False,
) -> None:
    if (uniformity is None) != (not outs):
        raise DefinitionError(f"operation {name!r}: only an operation without results has no uniformity")
    OPS[name] = IrOp(name, args, outs, uniformity, effect, commutes, fold or f1 or f2 or f3)


def _shift(a: int, n: int, kind: str) -> int:
    if n >= 32:
        return -1 if kind == "sar" and a >> 31 else 0
    return a << n if kind == "shl" else a >> n if kind == "shr" else signed(a) >> n


def _saturated(v: int) -> int:
    return max(-(1 << 31), min(v, (1 << 31) - 1))


def _mul16(a: int, b: int, s1: bool = False, s2: bool = False) -> int:
    return (signed(a, 16) if s1 else a & 0xFFFF) * (signed(b, 16) if s2 else b & 0xFFFF)


def _mul24(a: int, b: int, sign: bool = False, high: bool = False) -> int:
    x, y = (signed(a, 24), signed(b, 24)) if sign else (a & 0xFF_FFFF, b & 0xFF_FFFF)
    return x * y >> 16 if high else x * y


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "e": lambda a, b: a == b, "lg": lambda a, b: a != b, "l": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "g": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def _sad(a: int, b: int, c: int, s: bool = False) -> int:
    return (abs(signed(a) - signed(b)) if s else abs(a - b)) + c


def _compare(a: int, b: int, cond: str, ty: str) -> int:
    if ty[0] == "s":
        a, b = signed(a), signed(b)
    return int(_COMPARE[cond](a, b))


_op("add", "rr", "r", SAME, f2=lambda a, b: a + b, commutes=True)
_op("sub", "rr", "r", SAME, f2=lambda a, b: a - b)
_op("addsat", "rr", "r", SAME, f2=lambda a, b: _saturated(signed(a) + signed(b)), commutes=True)
_op("subsat", "rr", "r", SAME, f2=lambda a, b: _saturated(signed(a) - signed(b)))
_op("mul", "rr", "r", SAME, f2=lambda a, b: a * b, commutes=True)
_op("mulhu", "rr", "r", SAME, f2=lambda a, b: a * b >> 32, commutes=True)
_op("mulhs", "rr", "r", SAME, f2=lambda a, b: signed(a) * signed(b) >> 32, commutes=True)
_op("mul16", "rr", "r", SAME, _mul16)
_op("mul24", "rr", "r", SAME, _mul24, commutes=True)
_op("and", "rr", "r", SAME, f2=lambda a, b: a & b, commutes=True)
_op("or", "rr", "r", SAME, f2=lambda a, b: a | b, commutes=True)
_op("xor", "rr", "r", SAME, f2=lambda a, b: a ^ b, commutes=True)
_op("not", "r", "r", SAME, f1=lambda a: ~a)
_op("shl", "rr", "r", SAME, f2=lambda a, b: _shift(a, b, "shl"))
_op("shr", "rr", "r", SAME, f2=lambda a, b: _shift(a, b, "shr"))
_op("sar", "rr", "r", SAME, f2=lambda a, b: _shift(a, b, "sar"))
_op("minu", "rr", "r", SAME, min, commutes=True)
_op("maxu", "rr", "r", SAME, max, commutes=True)
_op("mins", "rr", "r", SAME, f2=lambda a, b: min(signed(a), signed(b)), commutes=True)
_op("maxs", "rr", "r", SAME, f2=lambda a, b: max(signed(a), signed(b)), commutes=True)
_op("abs", "r", "r", SAME, f1=lambda a: abs(signed(a)))
_op("sext8", "r", "r", SAME, f1=lambda a: signed(a, 8))
_op("zext8", "r", "r", SAME, f1=lambda a: a & 0xFF)
_op("sext16", "r", "r", SAME, f1=lambda a: signed(a, 16))
_op("zext16", "r", "r", SAME, f1=lambda a: a & 0xFFFF)
_op("sad", "rrr", "r", SAME, _sad)
_op("addx", "rr", "rf", SAME, commutes=True)
_op("subx", "rr", "rf", SAME)
_op("adc", "rrf", "rf", SAME)
_op("cmp", "rr", "p", SAME, _compare)
_op("cmpf", "rr", "p", SAME)
_op("cmpd", "dd", "p", SAME)
_op("pand", "pp", "p", SAME, f2=lambda a, b: a & b, commutes=True)
_op("por", "pp", "p", SAME, f2=lambda a, b: a | b, commutes=True)
_op("pxor", "pp", "p", SAME, f2=lambda a, b: a ^ b, commutes=True)
_op("pnot", "p", "p", SAME, f1=lambda a: 1 - (a & 1))
_op("mask", "p", "r", SAME, f1=lambda a: -(a & 1))
_op("sel", "prr", "r", SAME, f3=lambda p, a, b: a if p & 1 else b)
_op("fadd", "rr", "r", SAME)
_op("fmul", "rr", "r", SAME)
_op("fmad", "rrr", "r", SAME)
_op("fmin", "rr", "r", SAME)
_op("fmax", "rr", "r", SAME)
_op("slctf", "rrr", "r", SAME)
for _name in ("rcp", "rsqrt", "lg2", "sin", "cos", "ex2"):
    _op(_name, "r", "r", SAME)
_op("cvt", "*", "*", SAME)
_op("dadd", "dd", "d", SAME)
_op("dmul", "dd", "d", SAME)
_op("dfma", "ddd", "d", SAME)
_op("dmin", "dd", "d", SAME)
_op("dmax", "dd", "d", SAME)
_op("pack", "rr", "d", SAME)
_op("pack4", "rrrr", "q", SAME)
_op("word", "*", "r", SAME)
_op("copy", "r", "r", SAME, f1=lambda a: a)
_op("phi", "*", "*", SAME)
_op("addr", "r", "a", SAME)
_op("step", "a", "a", SAME)
_op("param", "", "r", SAME)
_op("tid", "", "r", NEVER)
_op("address", "", "r", SAME)
_op("generic", "r", "r", SAME, f1=lambda a: a)
_op("ldc", "*", "*", SAME)
_op("clock", "", "r", NEVER, effect="write")
_op("physid", "", "r", NEVER)
_op("ld", "*", "*", MEMORY, effect="read")
_op("st", "*", "", None, effect="write")
_op("atom", "*", "*", NEVER, effect="write")
_op("tex", "*", "q", MEMORY, effect="read")
_op("bar", "", "", None, effect="write")
_op("fence", "", "", None, effect="write")
_op("vote", "p", "p", ALWAYS, effect="write")
_op("brkpt", "", "", None, effect="write")
_op("trap", "", "", None, effect="write")
_op("pmevent", "", "", None, effect="write")


def fold(name: str, values: list[int], attrs: dict[str, Any]) -> int | None:
    """The result of an operation on constants, None if it has to be computed by the chip."""
    f = OPS[name].fold
    if f is None:
        return None
    return (
        int(f(*values, **{k: v for k, v in attrs.items() if k in ("s1", "s2", "sign", "high", "cond", "ty", "s")}))
        & M32
    )
