"""Atomic operations on g[] and their chip differences. Source: [001] "Opcode map", [tesla] 7.3."""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Operation, Value, atomic, concat, const, operation, select
from isakit.spec import HasFeature, Ref

SIZES = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "u64": 8, "u32": 4, "s32": 4}
"""type -> bytes"""
TYPES = """
    T    ty   bits  width  needs
    000  u8   u8    b32    sm11 compute
    001  s8   s8    b32    sm11 compute
    010  u16  u16   b32    sm11 compute
    011  s16  s16   b32    sm11 compute
    100  u64  b64   b64    sm11 compute gt200+
    110  u32  b32   b32    sm11 compute
    111  s32  s32   b32    sm11 compute
"""
OPERATIONS = """
    O     op    shown   ld  new
    0000  add   <ty>    ld  -
    0001  exch  <bits>  -   -
    0010  cas   <bits>  -   {new=r3:<width>}
    0100  inc   <ty>    ld  -
    0101  dec   <ty>    ld  -
    0110  max   <ty>    ld  -
    0111  min   <ty>    ld  -
    1000  op8   <ty>    ld  -
    1001  op9   <ty>    ld  -
    1010  and   <bits>  ld  -
    1011  or    <bits>  ld  -
    1100  xor   <bits>  ld  -
    1101  opd   <ty>    ld  -
    1110  ope   <ty>    ld  -
    1111  opf   <ty>    ld  -
"""
UNCHANGED = {"op8", "op9", "opd", "ope", "opf"}


# --- the read-modify-write functions: (old, operand[, new]) -> new ----------------------------------------------------


@operation
def atomic_add(old: Value, operand: Value) -> Value:
    """Modular sum."""
    return old + operand


@operation
def atomic_exch(old: Value, operand: Value) -> Value:
    """Replace the old value by the operand."""
    return operand


@operation
def atomic_cas(old: Value, comparand: Value, new: Value) -> Value:
    """Store the new value where the old one equals the comparand."""
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
    """Keep the larger unsigned number."""
    return select(old.ult(operand), operand, old)


@operation
def atomic_min_unsigned(old: Value, operand: Value) -> Value:
    """Keep the smaller unsigned number."""
    return select(operand.ult(old), operand, old)


@operation
def atomic_max_signed(old: Value, operand: Value) -> Value:
    """Keep the larger signed number."""
    return select(old.slt(operand), operand, old)


@operation
def atomic_min_signed(old: Value, operand: Value) -> Value:
    """Keep the smaller signed number."""
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
    """Leave memory unchanged."""
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


def _perform(name: str, ty: str, gt200: bool, place: Any, operands: list[Any]) -> Value:
    """Do the atomic access; returns the old value as the register gets it."""
    size = SIZES[ty]
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


_GT200 = HasFeature("gt200+")
_NOTES = [
    "operations 8, 9, d, e and f leave memory unchanged; operation 3 traps",
    "before GT200 sub-word operands are repeated over a word and the word operation is performed; from GT200 on "
    "memory stays unchanged",
]


@tesla.insn(
    [
        *forms(
            """
            long  red {op} {shown} {dst=g:<ty>,<width>,b} {src=rd:<width>} {gt200}
                  1101 .... . ...bbbb ....... ....... ..  110 ... ..TT T ....... .. ..... .OOOO..
                  | needs <needs> | ty=<ty>
            """,
            TYPES,
            OPERATIONS,
            gt200=_GT200,
        ),
        *forms(
            """
            long  red {op} {ty}
                  1101 .... . ....... ....... ....... ..  110 ... ..TT T ....... .. ..... .0011..
                  | needs <needs> | refuse TRAP_INSTRUCTION
            """,
            TYPES,
            op="optrap",
        ),
    ],
    ref=Ref("001", "Opcode map: red g[]"),
    status="known",
    see=[Ref("tesla", "7.3")],
    notes=_NOTES,
    group="memory",
)
def red(op, ty, shown="", gt200=False, dst=None, src=None):
    """Atomic operation on global memory without result. Lanes act in ascending order."""
    if dst is not None:
        operands = [src, src] if op == "cas" else [src]
        _perform(op, ty, gt200, dst, operands)


@tesla.insn(
    [
        *forms(
            """
            long  <ld> {op} {shown} {dst=rd:<width>} {place=g:<ty>,<width>,b} {src=r2:<width>} <new> {gt200}
                  1101 .bbb b ....... ....... ....... ..  111 ... ..TT T ....... .. ..... .OOOO..
                  | needs <needs> | ty=<ty>
            """,
            TYPES,
            OPERATIONS,
            gt200=_GT200,
        ),
        *forms(
            """
            long  ld {op} {ty}
                  1101 .... . ....... ....... ....... ..  111 ... ..TT T ....... .. ..... .0011..
                  | needs <needs> | refuse TRAP_INSTRUCTION
            """,
            TYPES,
            op="optrap",
        ),
    ],
    ref=Ref("001", "Opcode map: atomic g[]"),
    status="known",
    see=[Ref("tesla", "7.3")],
    notes=_NOTES,
    group="memory",
)
def atom(op, ty, shown="", gt200=False, dst=None, place=None, src=None, new=None):
    """Atomic operation on global memory; the destination gets the old value. Lanes act in ascending order."""
    if dst is not None:
        dst.write(_perform(op, ty, gt200, place, [src] + ([new] if new is not None else [])))
