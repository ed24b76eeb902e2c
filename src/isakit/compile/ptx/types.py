"""The types that registers of an instruction may have.

A register fits a type of its size and kind, kinds being bits, integers, floats and predicates: bits fit both integers
and floats. `ld`, `st` and `cvt` take wider registers as well, but of floats no wider float. Source: the PTX ISA manual,
chapter "Instruction Operands", "Operand Type-Checking Rules" and "Operand Size Exceeding Instruction-Type Size".
"""

from __future__ import annotations

from functools import lru_cache

from isakit.compile.ptx.grammar import match
from isakit.compile.ptx.syntax import (
    SIZES,
    Address,
    Name,
    PtxRegister,
    PtxStatement,
    PtxSyntaxError,
    Vector,
    names_in,
)

_OPERANDS = {
    "shl": "t t u32", "shr": "t t u32", "shf": "t t t u32", "popc": "u32 t", "clz": "u32 t", "bfind": "u32 t",
    "bfe": "t t u32 u32", "bfi": "t t t u32 u32", "set": "sett t t pred", "setp": "pred t t pred",
    "selp": "t t t pred", "slct": "sel sel sel t", "cvt": "cvt from", "ld": "t -", "ldu": "t -", "st": "- t",
    "atom": "t - t t", "red": "- t", "vote": "pred pred", "ballot": "b32 pred", "testp": "pred t",
    "isspacep": "pred -", "tex": "texd -",
}  # fmt: skip
"""Types by operand where they are not all that of the opcode: `t` is its last type, others are slots or types."""
_UNCHECKED = frozenset(("call", "bra", "brx", "bar", "bar_popc", "bar_pred", "arrive", "txq", "pmevent", "prefetch"))
_WIDER = frozenset(("ld", "ldu", "st", "cvt"))
_WIDE = {"16": "32", "32": "64"}


@lru_cache(4096)
def expected(opcode: str) -> tuple[tuple[str, ...], bool]:
    """Return the types of an opcode's operands, "" where any will do, and whether wider registers are allowed."""
    got = match(opcode)
    if got is None or got.row.key in _UNCHECKED:
        return (), False
    key, mods = got.row.key, got.mods
    last = next((word for word in reversed([*mods.values()]) if word in SIZES), "")
    if not last:
        return (), False
    if "wide" in (mods.get("wide"), mods.get("half")):
        wide = last[0] + _WIDE.get(last[1:], last[1:])
        return ((wide, last, last, wide) if last[1:] in _WIDE else ()), False
    names = _OPERANDS.get(key, " ".join("t" * got.row.most)).split()
    types = tuple("" if n == "-" else last if n == "t" else mods.get(n, n) for n in names)
    return tuple("" if t == "f16" else t for t in types), key in _WIDER


def fits(register: str, wanted: str, wider: bool) -> bool:
    """Return whether a register of one type is allowed where an instruction expects another."""
    if "pred" in (register, wanted):
        return register == wanted
    kinds = {"i" if t[0] in "us" else t[0] for t in (register, wanted)} - {"b"}
    size, least = SIZES[register], SIZES[wanted]
    return len(kinds) < 2 and (size == least or (wider and size > least and not register[0] == "f" == wanted[0]))


def check(s: PtxStatement) -> None:
    """Raise PtxSyntaxError at the first register of an instruction whose type does not fit."""
    types, wider = expected(s.opcode)
    for operand, wanted in zip(s.operands, types, strict=False):
        if isinstance(operand, Vector) and s.opcode.startswith("mov"):
            continue  # what is packed and unpacked is of another size
        for name in names_in(operand):
            what = name.what
            if not isinstance(what, PtxRegister):
                continue
            if isinstance(operand, Address):
                if what.type[0] not in "usb" or SIZES[what.type] < 4:
                    raise _error(name, what, "an address has 32 or 64 bits")
            elif wanted and not fits(what.type, wanted, wider):
                raise _error(name, what, f"`{s.opcode}` takes .{wanted} here")


def _error(name: Name, register: PtxRegister, why: str) -> PtxSyntaxError:
    return PtxSyntaxError(name.pos, f"`{name.text}` is declared .{register.type}; {why}", len(name.text))
