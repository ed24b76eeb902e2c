"""The machine instructions that are selected for the USSE: one row each, with the reach of its operands.

Source: [usse] 2.6 and its tables of swizzles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from isakit.arch.usse.swizzles import MAD2_SRC0, MAD2_SRC1, MAD2_SRC2, V3EXT, V3STD, V4EXT, V4STD
from isakit.compile.lower.form import MachineOp

Table = tuple[str | None, ...]
ANY: Table = ()
"""Any channel in each position, and the constants 0, 1, 2 and h."""


@dataclass(frozen=True, eq=False)
class Reach:
    """The operands that a source can encode.

    Attributes:
        table: its swizzles, ANY for all of them.
        letters: how many letters a swizzle is written with; 0: the operand has none.
        constants: of `table` ANY, whether constants may replace channels.
        neg, abs: its modifiers.
        internal: it is an internal register.
        pair: of an f32 register that is not internal it reads the first two channels only.
        own: it is a register of the program: no uniform and no constant.
    """

    table: Table
    letters: int = 4
    constants: bool = True
    neg: bool = False
    abs: bool = False
    internal: bool = False
    pair: bool = False
    own: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class UsseOp(MachineOp):
    """An instruction.

    Attributes:
        sources: the reach of each source, by operand name.
        halves: an f16 result that is not internal is written two channels at a time.
        mask: the destination is written with a mask.
        tail: text after the operands.
        reads: channels that every source reads, whichever are written; 0: the written ones.
    """

    sources: tuple[tuple[str, Reach], ...] = ()
    halves: bool = False
    mask: bool = True
    tail: str = ""
    reads: int = 0

    def lanes(self, written: tuple[int, ...]) -> tuple[int, ...]:
        """Return the channels that sources read when the given ones are written."""
        return tuple(range(self.reads)) if self.reads else written

    def reach(self, name: str) -> Reach:
        """Return the reach of a source."""
        return dict(self.sources)[name]


WORD = Reach(ANY, 0)


@cache
def _sources(*reach: Reach, first: int = 1) -> tuple[tuple[str, Reach], ...]:
    return tuple((f"src{k}", r) for k, r in enumerate(reach, first))


def _op(
    mnemonic: str, *reach: Reach, first: int = 1, halves: bool = False, guarded: bool = True, results: str = "dst",
    mask: bool = True, tail: str = "", reads: int = 0,
) -> UsseOp:  # fmt: skip
    return UsseOp(mnemonic, tuple(results.split()), guarded, ("dst", "src1"), _sources(*reach, first=first), halves,
                  mask, tail, reads)  # fmt: skip


_S1, _S2 = Reach(ANY, neg=True, abs=True), Reach(V4STD, abs=True)
_M0 = Reach(MAD2_SRC0, abs=True, pair=True, own=True)
_M1, _M2 = (Reach(t, neg=True, abs=True, pair=True) for t in (MAD2_SRC1, MAD2_SRC2))


def _two(name: str) -> dict[str, UsseOp]:
    """Return the rows of an operation with two sources by type."""
    return {ty: _op(f"{name}.{ty}", _S1, _S2) for ty in ("f32", "f16")}


MUL, ADD, FRC, MIN, MAX = (_two(n) for n in ("vmul", "vadd", "vfrc", "vmin", "vmax"))
DP = {"f16": _op("vdp.f16", _S1, _S2, reads=4)}
DSX, DSY = _two("vdsx"), _two("vdsy")
MAD2 = {ty: _op(f"vmad2.{ty}", _M0, _M1, _M2, first=0, halves=ty == "f16", guarded=False) for ty in ("f32", "f16")}
MAD4 = _op(
    "vmad4.f32",
    Reach(V4STD + V4EXT, neg=True, abs=True, internal=True),
    Reach(V4STD + V4EXT, neg=True, abs=True),
    Reach(V4STD + V4EXT, neg=True, abs=True, internal=True),
    first=0,
    tail="rpt_slmsi",
)
MAD3 = _op(
    "vmad3.f32",
    Reach(V3STD + V3EXT, 3, neg=True, abs=True, internal=True),
    Reach(V3STD + V3EXT, 3, neg=True, abs=True),
    Reach(V3STD + V3EXT, 3, neg=True, abs=True, internal=True),
    first=0,
    tail="rpt_slmsi",
)
DP4 = _op("vdp4.f32", _S1, Reach(V4STD, abs=True, internal=True), tail="rpt_slmsi", reads=4)
DP3 = _op("vdp3.f32", Reach(ANY, 3, neg=True, abs=True), Reach(V3STD, 3, abs=True, internal=True), tail="rpt_slmsi",
          reads=3)  # fmt: skip
FUNCTION = {
    (name, to, source): _op(f"v{name}.{to}" + (f".{source}" if source != to else ""),
                            Reach(ANY, 1, constants=False, neg=True, abs=True))
    for name in ("rcp", "rsq", "log", "exp") for to in ("f32", "f16") for source in ("f32", "f16")
}  # fmt: skip
MOV = {ty: _op(f"vmov.{ty}", Reach(V4STD), halves=ty == "f16") for ty in ("f32", "f16")}
PACK_F32 = {ty: _op(f"vpck.{ty}.f32", Reach(ANY, constants=False)) for ty in ("f32", "f16", "s16", "u16")}
PACK = {
    (to, source): _op(f"vpck.{to}.{source}", Reach(ANY, constants=False))
    for to in ("f32", "f16") for source in ("f16", "s16", "u16") if to != source
}  # fmt: skip
BYTES = {ty: _op(f"vpck.u8.{ty}", Reach(ANY, constants=False), tail="scale", reads=4) for ty in ("f32", "f16")}
"""Four fractions as the bytes of one register."""
UNPACK_BYTES = _op("vpck.f32.u8", Reach(ANY, constants=False), tail="scale")
"""The bytes of a register as fractions."""
_SELECTED = Reach(V4STD)
SELECT = {
    (cond, ty): _op(f"vmovc.{cond}.{ty}", _SELECTED, _SELECTED, _SELECTED, first=0, halves=ty == "f16")
    for cond in ("eq", "ne", "lt", "le") for ty in ("f32", "f16")
}  # fmt: skip
TEST = {ty: _op(f"vtst.sub.{ty}", Reach(ANY, 0, False), Reach(("xyzw", "xxxx"))) for ty in ("f32", "f16")}
TEST_INTEGER = {ty: _op(f"vtst.sub.{ty}", WORD, WORD) for ty in ("s32", "u32")}
TEST_BITS = _op("vtst.and.u32", WORD, WORD)
BITWISE = {name: _op(f"{name}.u32", WORD, WORD, mask=False) for name in ("and", "or", "xor", "shl", "shr", "asr")}
IMAD = _op("i32mad2.s32", WORD, WORD, WORD, first=0, mask=False)
IMMEDIATE = _op("limm.u32", WORD, mask=False)
INDEX = _op("i16mad.u16", WORD, WORD, WORD, first=0, mask=False, guarded=False)
SAMPLE = _op("smp2d.f32", Reach(ANY, 0), WORD, Reach(ANY, 0), first=0, mask=False)
LOAD = _op("ldr.32", WORD, WORD, WORD, first=0, mask=False)
WAIT = _op("wdf", guarded=False, results="")
KILL = _op("kill", guarded=False, results="")
DEPTH = _op("depthf", WORD, guarded=False, results="")
BRANCH = _op("br", results="")
NOTHING = _op("nop", guarded=False, results="")
