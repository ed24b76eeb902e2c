"""Atomic operations on g[] and their chip differences. Source: [001] "Opcode map", [tesla] 7.3."""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.forms import Long, long
from isakit.arch.tesla.global_memory import global_memory
from isakit.arch.tesla.operands import gpr
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Operation, Value, atomic, concat, const, operation, select
from isakit.spec import HasFeature, Ref, Refusal, bits, where

OPS = {
    0: "add",
    1: "exch",
    2: "cas",
    4: "inc",
    5: "dec",
    6: "max",
    7: "min",
    8: "op8",
    9: "op9",
    0xA: "and",
    0xB: "or",
    0xC: "xor",
    0xD: "opd",
    0xE: "ope",
    0xF: "opf",
}
TRAP = 3
UNCHANGED = {"op8", "op9", "opd", "ope", "opf"}
OP = w1(2, 5)
SIZE = w1(21, 23)
SIZES = {0: ("u8", 1), 1: ("s8", 1), 2: ("u16", 2), 3: ("s16", 2), 4: ("u64", 8), 6: ("u32", 4), 7: ("s32", 4)}


# --- the read-modify-write functions: (old, operand[, new]) -> new ----------------------------------------------------


@operation
def atomic_add(old: Value, operand: Value) -> Value:
    """Modular sum."""
    return old + operand


@operation
def atomic_exch(old: Value, operand: Value) -> Value:
    """The operand replaces the old value."""
    return operand


@operation
def atomic_cas(old: Value, comparand: Value, new: Value) -> Value:
    """The new value where the old one equals the comparand."""
    return select(old == comparand, new, old)


@operation
def atomic_inc(old: Value, operand: Value) -> Value:
    """Add 1; past the operand (unsigned) restart at 0."""
    t = old + 1
    return select(t.ugt(operand), const(0, old.width), t)


@operation
def atomic_dec(old: Value, operand: Value) -> Value:
    """Subtract 1; past the operand (unsigned), as from 0, restart at the operand."""
    t = old - 1
    return select(t.ugt(operand), operand, t)


def _signed_limit(t: Value, operand: Value) -> Value:
    return t.sgt(0) | operand.sgt(t)


@operation
def atomic_inc_signed_g80(old: Value, operand: Value) -> Value:
    """inc.s32 before GT200: with a negative operand the comparison is signed."""
    t = old + 1
    quirk = select(_signed_limit(t, operand), operand, t)
    return select(operand.sign, quirk, select(t.ugt(operand), const(0, 32), t))


@operation
def atomic_dec_signed_g80(old: Value, operand: Value) -> Value:
    """dec.s32 before GT200: with a negative operand the comparison is signed and the restart value is 0."""
    t = old - 1
    quirk = select(_signed_limit(t, operand), const(0, 32), t)
    return select(operand.sign, quirk, select(t.ugt(operand), operand, t))


@operation
def atomic_max_unsigned(old: Value, operand: Value) -> Value:
    """The larger unsigned number."""
    return select(old.ult(operand), operand, old)


@operation
def atomic_min_unsigned(old: Value, operand: Value) -> Value:
    """The smaller unsigned number."""
    return select(operand.ult(old), operand, old)


@operation
def atomic_max_signed(old: Value, operand: Value) -> Value:
    """The larger signed number."""
    return select(old.slt(operand), operand, old)


@operation
def atomic_min_signed(old: Value, operand: Value) -> Value:
    """The smaller signed number."""
    return select(operand.slt(old), operand, old)


@operation
def atomic_and(old: Value, operand: Value) -> Value:
    """Bitwise and."""
    return old & operand


@operation
def atomic_or(old: Value, operand: Value) -> Value:
    """Bitwise or."""
    return old | operand


@operation
def atomic_xor(old: Value, operand: Value) -> Value:
    """Bitwise exclusive or."""
    return old ^ operand


@operation
def atomic_keep(old: Value, operand: Value) -> Value:
    """Memory stays as it is."""
    return old


ATOMIC_OPERATIONS: dict[str, Operation] = {
    o.name: o
    for o in (
        atomic_add,
        atomic_exch,
        atomic_cas,
        atomic_inc,
        atomic_dec,
        atomic_inc_signed_g80,
        atomic_dec_signed_g80,
        atomic_max_unsigned,
        atomic_min_unsigned,
        atomic_max_signed,
        atomic_min_signed,
        atomic_and,
        atomic_or,
        atomic_xor,
        atomic_keep,
    )
}
"""Operation name (as in an atomic effect) -> its function."""


def _operation_name(name: str, ty: str, gt200: bool) -> str:
    if name in UNCHANGED or (ty == "u64" and name not in ("add", "exch", "cas")):
        return "atomic_keep"
    if ty in ("u8", "s8", "u16", "s16") and gt200:
        return "atomic_keep"
    if name in ("inc", "dec") and ty == "s32" and not gt200:
        return f"atomic_{name}_signed_g80"
    if name in ("max", "min"):
        return f"atomic_{name}_{'signed' if ty == 's32' else 'unsigned'}"
    return f"atomic_{name}"


def _type_name(name: str, ty: str) -> str:
    """exch, cas and logic print a type without sign."""
    if name in ("exch", "cas", "and", "or", "xor") and ty in ("u32", "u64"):
        return "b" + ty[1:]
    return ty


def _perform(name: str, ty: str, gt200: bool, place: Any, operands: list[Any]) -> Value:
    """Do the atomic access; returns the old value as the register gets it."""
    size = dict(SIZES.values())[ty]
    values = [o.read() for o in operands]
    if size < 4:  # the narrow operand is repeated over a word, and the word operation performed
        values = [concat(*[v.trunc(8 * size)] * (4 // size)) for v in values]
    op = _operation_name(name, ty, gt200)
    if op == "atomic_keep":
        values = values[:1]
    old = atomic(place.space, op, place.address, *values, size=max(size, 4))
    if size < 4:
        narrow = old.trunc(8 * size)
        return narrow.sext(32) if ty[0] == "s" else narrow.zext(32)
    return old


_TRAPS = [Refusal(where({OP: TRAP}), "TRAP_INSTRUCTION")]


def _forms(red: bool) -> list[Any]:
    out: list[Any] = []
    for code, (ty, size) in SIZES.items():
        width = 64 if size == 8 else 32
        needs = ["sm11", "compute", *(["gt200+"] if size == 8 else [])]
        for op, name in OPS.items():
            fixed = {Long.op: 0xD, Long.sub: 6 if red else 7, SIZE: code, OP: op}
            common: dict[str, Any] = {
                "op": name,
                "shown": _type_name(name, ty),
                "ty": ty,
                "gt200": HasFeature("gt200+"),
                "needs": needs,
            }
            if red:
                out.append(
                    long(
                        "red {op} {shown} {dst} {src} {gt200}",
                        fixed,
                        **common,
                        dst=global_memory(bits(16, 19), Long.src1, size, width),
                        src=gpr(Long.dst, width),
                    )
                )
                continue
            lead = "" if name in ("exch", "cas") else "ld "
            cas: dict[str, Any] = {"new": gpr(Long.src3, width)} if name == "cas" else {}
            out.append(
                long(
                    lead + "{op} {shown} {dst} {place} {src} {new} {gt200}",
                    fixed,
                    **common,
                    dst=gpr(Long.dst, width),
                    src=gpr(Long.src2, width),
                    **cas,
                    place=global_memory(bits(23, 26), Long.src1, size, width),
                )
            )
        trap = {Long.op: 0xD, Long.sub: 6 if red else 7, SIZE: code, OP: TRAP}
        out.append(
            long(
                ("red" if red else "ld") + " {op} {shown}",
                trap,
                op="optrap",
                ty=ty,
                gt200=False,
                shown=ty,
                needs=needs,
                refusals=_TRAPS,
            )
        )
    return out


_NOTES = [
    "operations 8, 9, d, e and f leave memory unchanged; operation 3 traps",
    "before GT200 sub-word operands are repeated over a word and the word operation is performed; from GT200 on "
    "memory stays unchanged",
]


@tesla.insn(
    _forms(True),
    ref=Ref("001", "Opcode map: red g[]"),
    see=[Ref("tesla", "7.3")],
    notes=_NOTES,
    group="memory",
)
def red(op, ty, shown, gt200, dst=None, src=None):
    """Atomic operation on global memory without result. Lanes act in ascending order."""
    if dst is not None:
        operands = [src, src] if op == "cas" else [src]
        _perform(op, ty, gt200, dst, operands)


@tesla.insn(
    _forms(False),
    ref=Ref("001", "Opcode map: atomic g[]"),
    see=[Ref("tesla", "7.3")],
    notes=_NOTES,
    group="memory",
)
def atom(op, ty, shown, gt200, dst=None, place=None, src=None, new=None):
    """Atomic operation on global memory; the destination gets the old value. Lanes act in ascending order."""
    if dst is not None:
        dst.write(_perform(op, ty, gt200, place, [src] + ([new] if new is not None else [])))
