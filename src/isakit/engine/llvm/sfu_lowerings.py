"""A hardware lowering of the square in the special-function unit, equal to `isakit.sem.fp.sfu.truncated_square`.

It needs AVX-512's bit fields (VBMI) and products of bytes (VNNI). Of a number of 17 bits let U be the upper eight and L
the lower nine. All products of two bits of U count, which together are half the square of U. A bit of U with bits of L
counts for as much of L as reaches 2**18: bit 7 of U (16 of the number) for L >> 2, bit 6 for L >> 3, and so on. These
are seven products of a byte with a bit, four of which one instruction adds up.
"""

from __future__ import annotations

from collections.abc import Sequence

from isakit.engine.llvm.builder import Ref
from isakit.engine.llvm.target import Host
from isakit.engine.llvm.values import Native, ValueLowering
from isakit.engine.llvm.vector_pieces import joined, pieces
from isakit.sem.fp.sfu import truncated_square
from isakit.sem.operation import Statics, expansion

NEEDED = {"+avx512vbmi", "+avx512vnni"}
PIECE = 16
LOWER = 9
"""Bits of L."""
TERMS = ((7, 6, 5, 4), (3, 2, 1))
"""Bits of U by the instruction that adds their products up."""
_BYTES, _WORDS, _HALFWORDS = "<64 x i8>", "<16 x i32>", "<32 x i16>"


def sfu_lowerings(target: Host) -> dict[str, Native]:
    """Return the lowerings for a target."""
    fast = target.embedded and set(target.features.split(",")) >= NEEDED
    return {"truncated_square": _square if fast else _in_place}


def _in_place(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    """Emit the definition, without the call that it is long enough for."""
    formals, result = expansion(truncated_square, (), (32,))
    given = {f.attr: a for f, a in zip(formals, args, strict=True)}
    return ValueLowering(low.body, lambda v: given[v.attr], low.natives).value(result)


def _square(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    if args[0].uniform:
        return None
    upper = low.op("and", low.op("lshr", args[0], low.constant(LOWER, 32)), low.constant(0xFF, 32))
    both = zip(*(pieces(low, x.text, "i32", PIECE) for x in (args[0], upper)), strict=True)
    return low.per_lane(joined(low, [_square_of(low, number, u) for number, u in both], "i32", PIECE), 32)


def _square_of(low: ValueLowering, number: str, upper: str) -> str:
    """Return the truncated squares of `PIECE` numbers of 17 bits, i32 each; `upper` has their upper eight bits."""
    f = low.module.declare("llvm.x86.avx512.pmaddw.d.512", f"{_WORDS} @({_HALFWORDS}, {_HALFWORDS})")
    half = low.body(f"bitcast {_WORDS} {upper} to {_HALFWORDS}")
    total = low.body(f"call {_WORDS} {f}({_HALFWORDS} {half}, {_HALFWORDS} {half})")
    total = low.body(f"lshr {_WORDS} {total}, splat (i32 1)")
    number = low.body(f"bitcast {_WORDS} {number} to {_BYTES}")
    for bits in TERMS:
        shifts = [LOWER - bit for bit in bits]
        lower = _fields(low, number, shifts, [(1 << LOWER - shift) - 1 for shift in shifts])
        total = _added(low, total, lower, _fields(low, number, [LOWER + bit for bit in bits], [1] * len(bits)))
    return total


def _fields(low: ValueLowering, number: str, shifts: Sequence[int], masks: Sequence[int]) -> str:
    """Pack masked fields: byte k of each 32 bits is the number shifted right by `shifts[k]`."""
    f = low.module.declare("llvm.x86.avx512.pmultishift.qb.512", f"{_BYTES} @({_BYTES}, {_BYTES})")
    padded = [*shifts, *[0] * (4 - len(shifts))]
    places = _constant([word + shift for word in (0, 32) for shift in padded])  # fields of 64 bits
    found = low.body(f"call {_BYTES} {f}({_BYTES} {places}, {_BYTES} {number})")
    return low.body(f"and {_BYTES} {found}, {_constant([*masks, *[0] * (4 - len(masks))])}")


def _constant(numbers: Sequence[int]) -> str:
    """Repeat bytes in a constant vector."""
    return "<" + ", ".join(f"i8 {numbers[k % len(numbers)]}" for k in range(64)) + ">"


def _added(low: ValueLowering, total: str, unsigned: str, signed: str) -> str:
    """Return the sum of the four products of bytes in each 32 bits, added to a total.

    LLVM 22 gives the instruction's arguments as bytes, and reads it as older ones wrote it.
    """
    f = low.module.declare("llvm.x86.avx512.vpdpbusd.512", f"{_WORDS} @({_WORDS}, {_WORDS}, {_WORDS})")
    given = (low.body(f"bitcast {_BYTES} {x} to {_WORDS}") for x in (unsigned, signed))
    return low.body(f"call {_WORDS} {f}({_WORDS} {total}, {', '.join(f'{_WORDS} {x}' for x in given)})")
