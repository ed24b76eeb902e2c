"""Loads and stores of c[], s[], l[], a[], o[] and g[] spaces.

Source: [001] "Memory addressing", [000] "Long instructions"; encodings from [tesla] 7.1 and 7.2.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.forms import Long, long
from isakit.arch.tesla.global_memory import global_memory
from isakit.arch.tesla.operands import (
    ATTRIBUTE_PROGRAMS,
    FCDST,
    LANES,
    LDST,
    LHDST_UNTYPED,
    MODES,
    NO_OUTPUT,
    gpr,
    half,
    in_lanes,
    memory,
    word,
)
from isakit.arch.tesla.requests import TRY_LOCK, UNLOCK
from isakit.arch.tesla.tesla import tesla
from isakit.sem import const
from isakit.spec import Illegal, Literal, Ref, Written, bits, choice, when

OFFSETS = {1: Long.offset16, 2: bits(9, 23), 4: bits(9, 22)}
"""access size in bytes -> offset field; the offset counts accesses"""
TYPE = bits(46, 47)


def _indirect(space: str, size: int, width: int, signed: bool = False, **options: Any) -> Written:
    return memory(
        space, OFFSETS[size], size, size, width, signed=signed, address=Long.areg, increment=Long.postinc, **options
    )


LOCK = w1(23)


def _const_load_forms() -> list[Any]:
    out: list[Any] = []
    for code, (mode, (size, signed)) in enumerate(MODES.items()):
        for wide, dst in ((0, LHDST_UNTYPED), (1, LDST)):
            source: Any = _indirect("c", size, 32 if wide else 16, signed, bank=Long.cspace)
            if not wide and mode == "b32":
                source = Illegal("ILLEGAL_MEMORY_SIZE")
            out.append(
                long(
                    "ld {dst} {ty} {src}",
                    {Long.op: 1, Long.sub: 1, TYPE: code, Long.m1: wide},
                    name="ld",
                    dst=dst,
                    ty=Literal(mode),
                    src=source,
                )
            )
    return out


@tesla.insn(
    _const_load_forms(),
    ref=Ref("001", "Opcode map: ld c[]"),
    see=[Ref("tesla", "7.1")],
    group="memory",
)
def ld_c(name, dst, ty, src):
    """Load from a constant space, extended to the destination's width.

    The offset counts accesses of the type's size.
    """
    dst.write(src.read())


def _shared_load_forms() -> list[Any]:
    out: list[Any] = []
    for code, (mode, (size, signed)) in enumerate(MODES.items()):
        for wide, dst in ((0, LHDST_UNTYPED), (1, LDST)):
            fixed = {Long.op: 1, Long.sub: 2, TYPE: code, Long.m1: wide}
            source: Any = _indirect("s", size, 32 if wide else 16, signed)
            if not wide and mode == "b32":
                source = Illegal("ILLEGAL_MEMORY_SIZE")
            plain: dict[str, Any] = {"name": "ld", "dst": dst, "ty": Literal(mode), "src": source}
            if not (wide and mode == "b32"):
                out.append(long("ld {dst} {ty} {src}", fixed, needs=["sm11", "compute"], **plain))
            else:
                out.append(long("ld {dst} {ty} {src}", fixed, needs=["sm11", "compute", "!gt200+"], **plain))
                out.append(long("ld {dst} {ty} {src}", fixed | {LOCK: 0}, needs=["compute", "gt200+"], **plain))
                out.append(
                    long(
                        "ld lock {cdst} {dst} {ty} {src}",
                        fixed | {LOCK: 1},
                        cdst=FCDST,
                        lock=True,
                        **plain,
                        needs=["compute", "gt200+"],
                        ignored=Long.cdst_en.mask,
                    )
                )
    return out


@tesla.insn(
    _shared_load_forms(),
    ref=Ref("003", "Shared space access: ld s[], st s[]"),
    see=[Ref("tesla", "7.1")],
    notes=[
        "[001] says a locked word blocks other warps; [000] and [003] say $c reports success: the latter is "
        "implemented. [tesla] 13 no. 12",
        "acquired sets S, not acquired clears Z and S (inferred from compiler output)",
    ],
    group="memory",
)
def ld_s(name, dst, ty, src, cdst=None, lock=False):
    """Load from shared memory. With `lock`, try to lock the word first: the condition code tells whether it was got."""
    if lock and cdst is not None:
        got = TRY_LOCK(src.address)
        cdst.write(const(2, 4) & (got.sext(4)))
    dst.write(src.read())


STORE_SIZES = {"b8": 1, "b16": 2, "b32": 4}


def _shared_store_forms() -> list[Any]:
    out: list[Any] = []
    byte, full = w1(22), Long.src1_s
    for name, size in STORE_SIZES.items():
        fixed = {Long.op: 0, Long.sub: 7} | ({byte: 1} if size == 1 else {byte: 0, Long.m1: int(size == 4)})
        data = choice(when({full: 0}, half(Long.src3)), when({full: 1}, word(Long.src3)))
        target = _indirect("s", size, 32)
        plain: dict[str, Any] = {"name": "st", "ty": Literal(name), "dst": target, "src": data}
        if size < 4:
            out.append(long("st {ty} {dst} {src}", fixed, needs="compute", **plain))
        else:
            out.append(long("st {ty} {dst} {src}", fixed, needs=["compute", "!gt200+"], **plain))
            out.append(long("st {ty} {dst} {src}", fixed | {LOCK: 0}, needs=["compute", "gt200+"], **plain))
            out.append(
                long(
                    "st {unlock} {ty} {dst} {src}",
                    fixed | {LOCK: 1},
                    needs=["compute", "gt200+"],
                    unlock=Literal("unlock", True),
                    **plain,
                )
            )
    return out


@tesla.insn(
    _shared_store_forms(),
    ref=Ref("003", "Shared space access: ld s[], st s[]"),
    see=[Ref("tesla", "7.1")],
    notes=["b32 from a half register stores it zero-extended: a decision, [tesla] 14"],
    group="memory",
)
def st_s(name, ty, dst, src, unlock=False):
    """Store a byte, halfword or word to shared memory; `unlock` releases the word's lock afterwards."""
    dst.write(src.read())
    if unlock:
        UNLOCK(dst.address)


# --- local memory ----------------------------------------------------------------------------------------------------

SIZE = w1(21, 23)
ACCESS = {
    0: ("u8", 1, False, 32),
    1: ("s8", 1, True, 32),
    2: ("u16", 2, False, 32),
    3: ("s16", 2, True, 32),
    4: ("b64", 8, False, 64),
    5: ("b128", 16, False, 128),
    6: ("b32", 4, False, 32),
    7: ("s32", 4, False, 32),
}
"""size code -> (type, bytes, sign-extended, register bits)"""


def _local_forms(store: bool) -> list[Any]:
    out: list[Any] = []
    for code, (ty, size, signed, width) in ACCESS.items():
        place = memory("l", Long.offset16, 1, size, width, signed=signed, address=Long.areg, increment=Long.postinc)
        fixed = {Long.op: 0xD, Long.sub: 3 if store else 2, SIZE: code}
        data = gpr(Long.dst, width)
        if store:
            out.append(long("st {ty} {dst} {src}", fixed, name="st", ty=Literal(ty), dst=place, src=data))
        else:
            out.append(long("ld {ty} {dst} {src}", fixed, name="ld", ty=Literal(ty), dst=data, src=place))
    return out


_SIZE7 = "size code 7 reads and writes 32 bits like code 6 (from decuda; envydis has no name for it)"


@tesla.insn(
    _local_forms(False),
    ref=Ref("001", "Opcode map: ld l[]"),
    see=[Ref("tesla", "7.1")],
    notes=[_SIZE7],
    group="memory",
)
def ld_l(name, ty, dst, src):
    """Load from local memory; 8 and 16 bits are extended to 32, 64 and 128 bits fill aligned register groups."""
    dst.write(src.read())


@tesla.insn(
    _local_forms(True),
    ref=Ref("001", "Opcode map: st l[]"),
    see=[Ref("tesla", "7.1")],
    notes=[_SIZE7],
    group="memory",
)
def st_l(name, ty, dst, src):
    """Store to local memory the low bits of a register, a pair or a quad."""
    dst.write(src.read())


# --- attributes ------------------------------------------------------------------------------------------------------


@tesla.insn(
    [
        long(
            "{lanes} ld b32 {dst} {src}",
            {Long.op: 0, Long.sub: 0, Long.m1: 1, Long.src1_s: 1},
            name="ld",
            lanes=LANES,
            dst=LDST,
            src=memory("a", Long.src1, 4, 4, 32, address=Long.areg),
            needs=ATTRIBUTE_PROGRAMS,
            lacking=NO_OUTPUT,
        )
    ],
    ref=Ref("001", "Opcode map: ld a[]"),
    see=[Ref("tesla", "7.1")],
    group="memory",
)
def ld_a(name, dst, src, lanes=15):
    """Load an input attribute word; vertex and geometry programs only."""
    dst.write(src.read(), in_lanes(lanes))


@tesla.insn(
    [
        long(
            "st b32 {dst} {src}",
            {Long.op: 0, Long.sub: 4, w1(22, 23): 3},
            name="st",
            dst=memory("o", bits(9, 22), 4, 4, 32, address=Long.areg),
            src=word(Long.src3),
            needs=ATTRIBUTE_PROGRAMS,
            lacking=NO_OUTPUT,
        )
    ],
    ref=Ref("001", "Opcode map: st o[]"),
    see=[Ref("tesla", "7.1")],
    group="memory",
)
def st_o(name, dst, src):
    """Store an output attribute word; vertex and geometry programs only."""
    dst.write(src.read())


# --- global memory ---------------------------------------------------------------------------------------------------


def _global_forms(store: bool) -> list[Any]:
    out: list[Any] = []
    for code, (ty, size, signed, width) in ACCESS.items():
        place = global_memory(bits(16, 19), Long.src1, size, width, signed)
        fixed = {Long.op: 0xD, Long.sub: 5 if store else 4, SIZE: code}
        data = gpr(Long.dst, width)
        if store:
            out.append(
                long("st {ty} {dst} {src}", fixed, name="st", ty=Literal(ty), dst=place, src=data, needs="compute")
            )
        else:
            out.append(
                long("ld {ty} {dst} {src}", fixed, name="ld", ty=Literal(ty), dst=data, src=place, needs="compute")
            )
    return out


@tesla.insn(
    _global_forms(False),
    ref=Ref("001", "Opcode map: ld g[]"),
    see=[Ref("tesla", "7.2")],
    notes=[_SIZE7],
    group="memory",
)
def ld_g(name, ty, dst, src):
    """Load from global memory at the byte address in a register; 8 and 16 bits are extended to 32."""
    dst.write(src.read())


@tesla.insn(
    _global_forms(True),
    ref=Ref("001", "Opcode map: st g[]"),
    see=[Ref("tesla", "7.2")],
    notes=[_SIZE7],
    group="memory",
)
def st_g(name, ty, dst, src):
    """Store to global memory at the byte address in a register."""
    dst.write(src.read())
