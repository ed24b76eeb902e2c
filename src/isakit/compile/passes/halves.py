"""Half precision: operations in f32 on halves whose results are rounded to halves become operations on halves."""

from __future__ import annotations

from collections.abc import Callable

from isakit.compile.builder import IrBuilder
from isakit.compile.ir import Block, Const, Function, Ins, IrValue, Operation
from isakit.compile.passes.ssa import replace
from isakit.compile.passes.vectors import ELEMENTWISE
from isakit.compile.vector_ops import (
    ELEMENTS,
    INPUT,
    JOIN,
    SAMPLE,
    SWIZZLE,
    VABS,
    VCVT,
    VDOT,
    VDSX,
    VDSY,
    VNEG,
    VROUND8,
    count,
    element,
    of_kind,
    vector,
)
from isakit.float_bits import bits_of_float, float_of_bits

_MOVES = (SWIZZLE, JOIN, VNEG, VABS)
"""Operations that commute with rounding."""
_COMPUTE = tuple(op for op in (*ELEMENTWISE, VDOT) if op not in (VNEG, VABS, VDSX, VDSY, VROUND8))
"""Operations that a target computes on halves as in f32, with one rounding at the end."""


def compute_in_half(f: Function, inputs: Callable[[str], bool] = lambda name: False) -> set[str]:
    """Compute in f16 the f32 operations with only f16 operands and only f16 readers; no result is rounded twice.

    Texels, and inputs for which `inputs` is true, are read as halves where no reader needs more. Returns the names of
    these inputs.
    """
    pass_ = _Halving(f, inputs)
    pass_.run()
    return pass_.names


def _exact(v: Const) -> Const | None:
    """Return an f32 constant as f16 if it is exact, else None."""
    x = float_of_bits(v.value)
    try:
        half = bits_of_float(x, "f16")
    except OverflowError:
        return None
    return Const(half, "f16") if float_of_bits(half, "f16") == x else None


class _Halving:
    def __init__(self, f: Function, inputs: Callable[[str], bool]) -> None:
        self.f = f
        self.readers = f.users()
        self.rounded = self._find_rounded()
        self.halves: dict[IrValue, IrValue | None] = {}
        self.exact: dict[IrValue, IrValue | None] = {}
        self.names = self._find_inputs(inputs)

    def _find_rounded(self) -> set[IrValue]:
        """Return the f32 values that every reader rounds to half precision."""
        found: set[IrValue] = set()
        for b in reversed(self.f.blocks):
            for i in reversed(b.ins):
                if not i.outs or element(i.out.kind) != "f32" or i.out.kind not in _FLOATS:
                    continue
                readers = self.readers.get(i.out, [])
                if readers and all(_rounds(r) or (r.op in _MOVES and r.out in found) for r in readers):
                    found.add(i.out)
        return found

    def _find_inputs(self, inputs: Callable[[str], bool]) -> set[str]:
        """Return the names of the inputs to read as halves."""
        names: dict[str, bool] = {}
        for i in self.f.instructions():
            if i.op is INPUT and i.out.kind in _FLOATS:
                name = INPUT.of(i).name
                names[name] = names.get(name, inputs(name)) and i.out in self.rounded
        return {name for name, fits in names.items() if fits}

    def run(self) -> None:
        replaced: dict[IrValue, IrValue] = {}
        for b in self.f.blocks:
            for i in list(b.ins):
                if _rounds(i):
                    half = self.half(i.args[0])
                    if half is not None:
                        replaced[i.out] = half
        for b in self.f.blocks:
            b.ins = [i for i in b.ins if not i.outs or i.out not in replaced]
        replace(self.f, replaced)

    def half(self, v: IrValue) -> IrValue | None:
        """Return a value rounded to half precision if that takes no additional operation, else None."""
        if v not in self.halves:
            self.halves[v] = self._exactly(v) or self._rounded(v)
        return self.halves[v]

    def _exactly(self, v: IrValue) -> IrValue | None:
        """Return the half-precision value that a value is exactly equal to, None if it is not known to be."""
        if v not in self.exact:
            self.exact[v] = self._is_exact(v)
        return self.exact[v]

    def _is_exact(self, v: IrValue) -> IrValue | None:
        if isinstance(v, Const):
            return _exact(v)
        i = v.ins
        if i is None:
            return None
        if i.op is VCVT and element(i.args[0].kind) == "f16":
            return i.args[0]
        if i.op in _MOVES:
            return self._made(i, [self._exactly(a) for a in i.args])
        return None

    def _rounded(self, v: IrValue) -> IrValue | None:
        i = v.ins
        if i is None or v not in self.rounded:
            return None
        if i.op in _MOVES:
            return self._made(i, [self.half(a) for a in i.args])
        if i.op in _COMPUTE:
            return self._made(i, [self._exactly(a) for a in i.args])
        if i.op is SAMPLE or (i.op is INPUT and INPUT.of(i).name in self.names):
            kind = vector("f16", count(v.kind))
            return self._after(i, of_kind(i, kind), i.args, kind)
        return None

    def _made(self, i: Ins, args: list[IrValue | None]) -> IrValue | None:
        """Return the counterpart on halves of an operation in f32, None if there is none."""
        known = [a for a in args if a is not None]
        if len(known) < len(args):
            return None
        return self._after(i, Operation(i.op, i.attrs), known, vector("f16", count(i.out.kind)))

    def _after(self, i: Ins, what: Operation, args: list[IrValue], kind: str) -> IrValue:
        b = i.block
        assert b is not None
        build = IrBuilder(Block(0), i.loc)
        out = build.op(what, *args, kinds=(kind,))
        b.insert(b.ins.index(i) + 1, *build.block.ins)
        return out


_FLOATS = {vector(of, n) for of in ELEMENTS for n in range(1, 5)}


def _rounds(i: Ins) -> bool:
    return i.op is VCVT and VCVT.of(i).to == "f16" and element(i.args[0].kind) == "f32"
