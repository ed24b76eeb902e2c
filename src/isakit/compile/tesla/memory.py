"""Rules for accesses to memory and for address registers."""

from __future__ import annotations

from collections.abc import Callable

from isakit.codec import Register
from isakit.compile.ir import Const, Ins, IrValue
from isakit.compile.lower.form import FixedNumber, MemoryReference, OperandReg, PooledLiteral
from isakit.compile.ops import (
    ADDR,
    ATOM,
    LD,
    LDC,
    ST,
    STEP,
    TEX,
    AddressShift,
    AddressStep,
    Atomic,
    Load,
    Store,
    TextureAccess,
)
from isakit.compile.tesla import instructions as hw
from isakit.compile.tesla.plan import SHORT_REACH, Folds
from isakit.compile.tesla.registers import ADDRESS
from isakit.compile.tesla.selection import TeslaSelection, half_of, rule

_SIZES = {"u8": 1, "s8": 1, "b8": 1, "u16": 2, "s16": 2, "b16": 2, "b32": 4, "b64": 8, "b128": 16}
_UNSIGNED = {"b8": "u8", "b16": "u16"}
NO_ADDRESS = Register("a", 0, text="0x0")
_TEXTURES = {"texauto": hw.TEXAUTO, "texfetch": hw.TEXFETCH, "texsize": hw.TEXSIZE}


# --- addresses -------------------------------------------------------------------------------------------------------
def of_a_constant(s: TeslaSelection, i: Ins) -> bool:
    """Return whether the argument is a constant."""
    return isinstance(i.args[0], Const)


@rule(ADDR, when=of_a_constant, priority=1)
def constant_address(s: TeslaSelection, i: Ins, attrs: AddressShift) -> None:
    """Load a constant address into $aN."""
    value = i.args[0]
    assert isinstance(value, Const)
    offset = (value.value << attrs.shift) + attrs.step & 0xFFFF
    s.emit(hw.ADD_A, adst=OperandReg(s.vreg(i.out)), src=NO_ADDRESS, offset=FixedNumber(offset))


@rule(ADDR, folds=Folds.FIRST_WORD)
def address(s: TeslaSelection, i: Ins, attrs: AddressShift) -> None:
    """Compute an address register by a shift, and add an offset that instructions do not reach."""
    dst = OperandReg(s.vreg(i.out))
    shifted = s.emit(hw.SHL_A, adst=dst, src1=s.source(i, 0), count=FixedNumber(attrs.shift))
    if attrs.step:
        t = shifted.ops["adst"] = OperandReg(s.m.vreg(ADDRESS))
        s.emit(hw.ADD_A, adst=dst, src=t, offset=FixedNumber(attrs.step))


@rule(STEP)
def step(s: TeslaSelection, i: Ins, attrs: AddressStep) -> None:
    """Emit the addition of a constant to an address register."""
    src = OperandReg(s.vreg(i.args[0]))
    s.emit(hw.ADD_A, adst=OperandReg(s.vreg(i.out)), src=src, offset=FixedNumber(attrs.step))


def _near(s: TeslaSelection, v: IrValue, offset: int, reach: int) -> tuple[OperandReg | None, int]:
    """Return (base, offset) of an access with the offset within reach."""
    base = s.address(v)
    return (base, offset) if offset <= reach else (_moved(s, base, offset), 0)


def _moved(s: TeslaSelection, base: OperandReg | None, offset: int) -> OperandReg:
    a = OperandReg(s.m.vreg(ADDRESS))
    s.emit(hw.ADD_A, adst=a, src=base or NO_ADDRESS, offset=FixedNumber(offset))
    return a


def _global(s: TeslaSelection, i: Ins, offset: int) -> MemoryReference:
    """Return the memory operand of an access to global memory, which has no offset."""
    base = s.register(i.args[0])
    if offset:
        t = s.temporary()
        s.emit(hw.ADD, name="add", ty="b32", dst=t, src1=base, src2=PooledLiteral(offset)).literal = True
        base = t
    return MemoryReference("g14", base)


def goes_to(space: str) -> Callable[[TeslaSelection, Ins], bool]:
    """Return the condition that an access goes to a space."""

    def condition(s: TeslaSelection, i: Ins) -> bool:
        return isinstance(i.attrs, Load | Store) and i.attrs.space == space

    condition.__name__ = f"goes_to_{space}"
    return condition


# --- loads -----------------------------------------------------------------------------------------------------------
@rule(LD, when=goes_to("global"))
def load_global(s: TeslaSelection, i: Ins, attrs: Load) -> None:
    """Load from global memory."""
    dst = s.result(i)
    s.emit(hw.LD_G, ty=attrs.ty, dst=dst, src=_global(s, i, attrs.offset))


@rule(LD, when=goes_to("shared"))
def load_of_shared(s: TeslaSelection, i: Ins, attrs: Load) -> None:
    """Load from shared memory."""
    dst = s.result(i)
    load_shared(s, dst, attrs.ty, s.address(i.args[0]), attrs.offset)


def load_shared(s: TeslaSelection, dst: OperandReg, ty: str, base: OperandReg | None, offset: int) -> None:
    """Emit a load from shared memory: as a source if the offset is short, else by an instruction that G80 lacks."""
    mode = "u8" if ty == "s8" else ty
    if offset > SHORT_REACH[mode] or offset % _SIZES[mode]:
        if s.chip.load_shared and offset % _SIZES[mode] == 0 and ty != "s8":
            s.emit(hw.LD_S, dst=dst, ty=mode, src=MemoryReference("s", base, offset))
            return
        base, offset = _moved(s, base, offset), 0
    if ty == "s8":
        s.emit(hw.CVT, to="s32", dst=dst, source="s8", src=MemoryReference("s", base, offset, "u8"))
    else:
        s.emit(hw.MOV, ty="b32", dst=dst, src1=MemoryReference("s", base, offset, mode))


@rule(LD, when=goes_to("local"))
def load_local(s: TeslaSelection, i: Ins, attrs: Load) -> None:
    """Load from local memory."""
    base, offset = _near(s, i.args[0], attrs.offset, 0xFFFF)
    s.emit(hw.LD_L, ty=attrs.ty, dst=s.result(i), src=MemoryReference("l", base, offset))


@rule(LD, when=goes_to("lock"))
def load_locking(s: TeslaSelection, i: Ins, attrs: Load) -> None:
    """Emit a load from shared memory that acquires its lock; the condition register tells whether it did."""
    c = s.vreg(i.outs[1])
    c.true, c.false = "l", "geu"
    base, offset = _near(s, i.args[0], attrs.offset, 0xFFFC)
    s.emit(hw.LD_LOCK, dst=s.result(i), cdst=OperandReg(c), ty="b32", src=MemoryReference("s", base, offset))


@rule(LDC)
def load_constant(s: TeslaSelection, i: Ins, attrs: Load) -> None:
    """Load from constant memory, which has no signed bytes."""
    base, offset = s.address(i.args[0]), attrs.offset
    if offset % _SIZES[attrs.ty]:
        base, offset = _moved(s, base, offset), 0
    if attrs.ty == "s8":
        t = s.temporary()
        s.emit(hw.LD_C, dst=t, ty="u8", src=MemoryReference("c0", base, offset))
        s.emit(hw.CVT, to="s32", dst=s.result(i), source="s8", src=half_of(t.v))
        return
    s.emit(hw.LD_C, dst=s.result(i), ty=attrs.ty, src=MemoryReference("c0", base, offset))


# --- stores ----------------------------------------------------------------------------------------------------------
@rule(ST, when=goes_to("global"))
def store_global(s: TeslaSelection, i: Ins, attrs: Store) -> None:
    """Store to global memory."""
    value = s.register(i.args[1])
    place = _global(s, i, attrs.offset)
    s.emit(hw.ST_G, ty=_UNSIGNED.get(attrs.ty, attrs.ty), dst=place, src=value)


@rule(ST, when=goes_to("shared"))
def store_shared(s: TeslaSelection, i: Ins, attrs: Store) -> None:
    """Store to shared memory; offsets are counted in units of the stored type."""
    value = s.register(i.args[1])
    base, offset = _near(s, i.args[0], attrs.offset, 0x3FFF * _SIZES[attrs.ty])
    s.emit(hw.ST_S, ty=attrs.ty, dst=MemoryReference("s", base, offset), src=value)


@rule(ST, when=goes_to("local"))
def store_local(s: TeslaSelection, i: Ins, attrs: Store) -> None:
    """Store to local memory."""
    value = s.register(i.args[1])
    place = MemoryReference("l", s.address(i.args[0]), attrs.offset)
    s.emit(hw.ST_L, ty=_UNSIGNED.get(attrs.ty, attrs.ty), dst=place, src=value)


@rule(ST, when=goes_to("unlock"))
def store_unlocking(s: TeslaSelection, i: Ins, attrs: Store) -> None:
    """Emit a store to shared memory that releases its lock."""
    value = s.register(i.args[1])
    s.emit(hw.ST_UNLOCK, ty="b32", dst=MemoryReference("s", s.address(i.args[0]), attrs.offset), src=value)


# --- atomics, textures -----------------------------------------------------------------------------------------------
@rule(ATOM)
def atomic(s: TeslaSelection, i: Ins, attrs: Atomic) -> None:
    """Emit an atomic operation, a reduction where its result is not used."""
    op, ty = attrs.op, attrs.ty
    exchanges = op in ("exch", "cas")
    place = _global(s, i, attrs.offset)
    value, *rest = (s.register(v) for v in i.args[1:])
    shown = "b" + ty[1:] if exchanges or op in ("and", "or", "xor") else ty
    if not s.plan.uses[i.out] and not exchanges:
        s.emit(hw.RED, op=op, shown=shown, dst=place, src=value)
        return
    name = {"name": op} if exchanges else {"op": op}
    s.emit(hw.ATOM, **name, shown=shown, dst=s.result(i), place=place, src=value, new=rest[0] if rest else None)


@rule(TEX)
def texture(s: TeslaSelection, i: Ins, attrs: TextureAccess) -> None:
    """Move coordinates to the registers of the texel, and sample only the components that are read."""
    used = sorted(s.words.get(i.out, set())) or [0]
    n = max(len(i.args), len(used))
    if attrs.texture not in s.f.textures:
        s.f.textures.append(attrs.texture)
    r = s.vreg(i.out)
    r.size = 1 if n == 1 else 2 if n == 2 else 4
    s.gather(r, i.args)
    s.emit(_TEXTURES[attrs.how], dst=OperandReg(r, 0, r.size), texture=attrs.texture, mask=tuple(used),
           sources=len(i.args), cube=attrs.cube).tied = True  # fmt: skip
