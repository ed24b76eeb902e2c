"""Loads and stores of c[], s[], l[], a[], o[] and g[] spaces.

Source: [001] "Memory addressing", [000] "Long instructions"; encodings from [tesla] 7.1 and 7.2.
"""

from __future__ import annotations

from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.operands import in_lanes
from isakit.arch.tesla.requests import TRY_LOCK, UNLOCK
from isakit.arch.tesla.tesla import tesla
from isakit.sem import const
from isakit.spec import Literal, Ref, cases


@tesla.insn(
    forms(
        """
        long  ld {dst=<dst>} {ty} {src=<src>}
              0001 .... . ....... ....... ....... ..  001 ..W .... . .....TT .. ..... .......
        """,
        """
        T   W  ty   dst   src
        00  0  u8   half  c:u8,b16
        00  1  u8   dst   c:u8,b32
        01  0  u16  half  c:u16,b16
        01  1  u16  dst   c:u16,b32
        10  0  s16  half  c:s16,b16
        10  1  s16  dst   c:s16,b32
        11  0  b32  half  illegal:ILLEGAL_MEMORY_SIZE
        11  1  b32  dst   c:b32,b32
        """,
    ),
    ref=Ref("001", "Opcode map: ld c[]"),
    status="known",
    see=[Ref("tesla", "7.1")],
    group="memory",
)
def ld_c(dst, ty, src):
    """Load from a constant space, extended to the destination's width.

    The offset counts accesses of the type's size.
    """
    dst.write(src.read())


@tesla.insn(
    [
        *forms(
            """
            long  ld {dst=<dst>} {ty} {src=<src>}
                  0001 .... . ....... ....... ....... ..  010 ..W .... . .....TT .. ..... .......
                  | needs sm11 compute
            """,
            """
            T   W  ty   dst   src
            00  0  u8   half  s:u8,b16
            00  1  u8   dst   s:u8,b32
            01  0  u16  half  s:u16,b16
            01  1  u16  dst   s:u16,b32
            10  0  s16  half  s:s16,b16
            10  1  s16  dst   s:s16,b32
            11  0  b32  half  illegal:ILLEGAL_MEMORY_SIZE
            """,
        ),
        *forms(
            """
            long  ld {dst} {ty} {src=s:b32,b32}
                  0001 .... . ....... ....... ....... ..  010 ..1 .... . .....11 .. ..... .......
                  | needs sm11 compute !gt200+
            long  ld {dst} {ty} {src=s:b32,b32}
                  0001 .... . ....... ....... ....... ..  010 ..1 ..0. . .....11 .. ..... .......
                  | needs compute gt200+
            long  ld lock {cdst=fcdst} {dst} {ty} {src=s:b32,b32}
                  0001 .... . ....... ....... ....... ..  010 ..1 ..1. . .....11 .. ..... -......
                  | needs compute gt200+
            """,
            ty="b32",
        ),
    ],
    ref=Ref("003", "Shared space access: ld s[], st s[]"),
    status="known",
    see=[Ref("tesla", "7.1")],
    notes=[
        "[001] says a locked word blocks other warps; [000] and [003] say $c reports success: the latter is "
        "implemented. [tesla] 13 no. 12",
        "acquired sets S, not acquired clears Z and S (inferred from compiler output)",
    ],
    group="memory",
)
def ld_s(dst, ty, src, cdst=None):
    """Load from shared memory. With `lock`, try to lock the word first: the condition code tells whether it was got."""
    if cdst is not None:
        got = TRY_LOCK(src.address)
        cdst.write(const(2, 4) & (got.sext(4)))
    dst.write(src.read())


@tesla.insn(
    forms(
        """
        long  st {ty} {dst=s:u8,b32} {src}
              0000 .... . ....... ....... ....... ..  111 ... ...1 f ....... .. ..... .......
              | needs compute | ty=b8
        long  st {ty} {dst=s:u16,b32} {src}
              0000 .... . ....... ....... ....... ..  111 ..0 ...0 f ....... .. ..... .......
              | needs compute | ty=b16
        long  st {ty} {dst=s:b32,b32} {src}
              0000 .... . ....... ....... ....... ..  111 ..1 ...0 f ....... .. ..... .......
              | needs compute !gt200+ | ty=b32
        long  st {ty} {dst=s:b32,b32} {src}
              0000 .... . ....... ....... ....... ..  111 ..1 ..00 f ....... .. ..... .......
              | needs compute gt200+ | ty=b32
        long  st {unlock} {ty} {dst=s:b32,b32} {src}
              0000 .... . ....... ....... ....... ..  111 ..1 ..10 f ....... .. ..... .......
              | needs compute gt200+ | ty=b32
        """,
        src=cases({"f=0": "r3:b16", "f=1": "r3:b32"}),
        unlock=Literal("unlock", True),
    ),
    ref=Ref("003", "Shared space access: ld s[], st s[]"),
    status="known",
    see=[Ref("tesla", "7.1")],
    notes=["b32 from a half register stores it zero-extended: a decision, [tesla] 14"],
    group="memory",
)
def st_s(ty, dst, src, unlock=False):
    """Store a byte, halfword or word to shared memory; `unlock` releases the word's lock afterwards."""
    dst.write(src.read())
    if unlock:
        UNLOCK(dst.address)


# --- local memory ----------------------------------------------------------------------------------------------------

ACCESSES = """
    T    ty    width
    000  u8    b32
    001  s8    b32
    010  u16   b32
    011  s16   b32
    100  b64   b64
    101  b128  b128
    110  b32   b32
    111  s32   b32
"""
_SIZE7 = "size code 7 reads and writes 32 bits like code 6 (from decuda; envydis has no name for it)"


@tesla.insn(
    forms(
        """
        long  ld {ty} {dst=rd:<width>} {src=l:<ty>,<width>}
              1101 .... . ....... ....... ....... ..  010 ... ..TT T ....... .. ..... .......
        """,
        ACCESSES,
    ),
    ref=Ref("001", "Opcode map: ld l[]"),
    status="known",
    see=[Ref("tesla", "7.1")],
    notes=[_SIZE7],
    group="memory",
)
def ld_l(ty, dst, src):
    """Load from local memory; 8 and 16 bits are extended to 32, 64 and 128 bits fill aligned register groups."""
    dst.write(src.read())


@tesla.insn(
    forms(
        """
        long  st {ty} {dst=l:<ty>,<width>} {src=rd:<width>}
              1101 .... . ....... ....... ....... ..  011 ... ..TT T ....... .. ..... .......
        """,
        ACCESSES,
    ),
    ref=Ref("001", "Opcode map: st l[]"),
    status="known",
    see=[Ref("tesla", "7.1")],
    notes=[_SIZE7],
    group="memory",
)
def st_l(ty, dst, src):
    """Store to local memory the low bits of a register, a pair or a quad."""
    dst.write(src.read())


# --- attributes ------------------------------------------------------------------------------------------------------


@tesla.insn(
    forms(
        """
        long  {lanes} ld b32 {dst} {src=memory:a,n}
              0000 .... . ....... nnnnnnn ....... ..  000 ..1 .... 1 ....... .. ..... .......
              | needs vertex|geometry | lacking LD_A_ST_O_NON_VP_GP
        """
    ),
    ref=Ref("001", "Opcode map: ld a[]"),
    status="known",
    see=[Ref("tesla", "7.1")],
    group="memory",
)
def ld_a(dst, src, lanes=15):
    """Load an input attribute word; vertex and geometry programs only."""
    dst.write(src.read(), in_lanes(lanes))


@tesla.insn(
    forms(
        """
        long  st b32 {dst=memory:o,n} {src=r3}
              0000 .... . nnnnnnn nnnnnnn ....... ..  100 ... ..11 . ....... .. ..... .......
              | needs vertex|geometry | lacking LD_A_ST_O_NON_VP_GP
        """
    ),
    ref=Ref("001", "Opcode map: st o[]"),
    status="known",
    see=[Ref("tesla", "7.1")],
    group="memory",
)
def st_o(dst, src):
    """Store an output attribute word; vertex and geometry programs only."""
    dst.write(src.read())


# --- global memory ---------------------------------------------------------------------------------------------------


@tesla.insn(
    forms(
        """
        long  ld {ty} {dst=rd:<width>} {src=g:<ty>,<width>,b}
              1101 .... . ...bbbb ....... ....... ..  100 ... ..TT T ....... .. ..... .......  | needs compute
        """,
        ACCESSES,
    ),
    ref=Ref("001", "Opcode map: ld g[]"),
    status="known",
    see=[Ref("tesla", "7.2")],
    notes=[_SIZE7],
    group="memory",
)
def ld_g(ty, dst, src):
    """Load from global memory at the byte address in a register; 8 and 16 bits are extended to 32."""
    dst.write(src.read())


@tesla.insn(
    forms(
        """
        long  st {ty} {dst=g:<ty>,<width>,b} {src=rd:<width>}
              1101 .... . ...bbbb ....... ....... ..  101 ... ..TT T ....... .. ..... .......  | needs compute
        """,
        ACCESSES,
    ),
    ref=Ref("001", "Opcode map: st g[]"),
    status="known",
    see=[Ref("tesla", "7.2")],
    notes=[_SIZE7],
    group="memory",
)
def st_g(ty, dst, src):
    """Store to global memory at the byte address in a register."""
    dst.write(src.read())
