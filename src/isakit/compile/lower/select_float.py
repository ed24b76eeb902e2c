"""Selection of floating point operations."""

from __future__ import annotations

from typing import Any

from isakit.compile.ir import Const, Ins
from isakit.compile.lower.form import ZERO, MIns, OperandReg, PooledLiteral, VReg
from isakit.compile.lower.plan import FoldingPlan
from isakit.compile.simplify import SWAPPED
from isakit.compile.target import CompileTarget


class FloatSelection:
    """Floats."""

    plan: FoldingPlan
    target: CompileTarget
    masks: dict[Any, Ins]
    vreg: Any
    reg: Any
    source: Any
    result: Any
    temporary: Any
    _pair: Any
    _set: Any

    def emit(self, op: str, /, results: tuple[str, ...] = ("dst",), **ops: Any) -> MIns:
        raise NotImplementedError

    def _plain(self, a: Any) -> Any:
        """A first source cannot be a constant."""
        return self.reg(Const(a.value)) if isinstance(a, PooledLiteral) else a

    def on_fadd(self, i: Ins) -> None:
        a, b, swapped = self._pair(i)
        n1, n2 = bool(i.attrs.neg1), bool(i.attrs.neg2)
        if swapped:
            n1, n2 = n2, n1
        if isinstance(b, PooledLiteral) and n2:
            b, n2 = PooledLiteral(b.value ^ 0x8000_0000), False
        m = self.emit("add_f32", sat=i.attrs.sat and "sat", rounding="rz" if i.attrs.rz else None,
                      dst=self.result(i), neg1=(n1 and "neg") or None, src1=self._plain(a), neg2=(n2 and "neg") or None,
                      src2=b)  # fmt: skip
        m.literal = not i.attrs.rz

    def on_fmul(self, i: Ins) -> None:
        a, b, _ = self._pair(i)
        neg = bool(i.attrs.neg)
        if isinstance(b, PooledLiteral) and neg:
            b, neg = PooledLiteral(b.value ^ 0x8000_0000), False
        m = self.emit("mul_f32", sat=i.attrs.sat and "sat", rounding="rz" if i.attrs.rz else None,
                      dst=self.result(i), src1=self._plain(a), neg2=(neg and "neg") or None, src2=b)  # fmt: skip
        m.literal = not i.attrs.rz

    def on_fmad(self, i: Ins) -> None:
        order = (1, 0) if i in self.plan.swapped else (0, 1)
        a, b, c = self.source(i, order[0]), self.source(i, order[1]), self.source(i, 2)
        neg = bool(i.attrs.neg)
        self.emit("mad_f32", sat=i.attrs.sat and "sat", dst=self.result(i), neg1=(neg and "neg") or None,
                  src1=self._plain(a), src2=b, neg2=(i.attrs.negc and "neg") or None, src3=c)  # fmt: skip

    def _extreme_f32(self, i: Ins, op: str) -> None:
        a, b, _ = self._pair(i)
        self.emit(op, dst=self.result(i), src1=self._plain(a), src2=b)

    def on_fmin(self, i: Ins) -> None:
        self._extreme_f32(i, "min_f32")

    def on_fmax(self, i: Ins) -> None:
        self._extreme_f32(i, "max_f32")

    def on_cmpf(self, i: Ins) -> None:
        a, b, swapped = self._pair(i)
        cond = i.attrs.cond
        abs1 = i.attrs.abs1 and "abs"
        if swapped:
            self._set(i, op="set_f32", cond=SWAPPED.get(cond, cond), src1=self._plain(a), abs2=abs1 or None, src2=b)
        else:
            self._set(i, op="set_f32", cond=cond, abs1=abs1 or None, src1=self._plain(a), src2=b)

    def on_slctf(self, i: Ins) -> None:
        a, b, c = (self.reg(v) for v in i.args)
        self.emit("slct", dst=self.result(i), src1=a, src2=b, src3=c)

    def _sfu(self, i: Ins, op: str) -> None:
        self.emit(op, dst=self.result(i), src=self.reg(i.args[0], zero=True))

    def on_rcp(self, i: Ins) -> None:
        self._sfu(i, "rcp")

    def on_rsqrt(self, i: Ins) -> None:
        self._sfu(i, "rsqrt")

    def on_lg2(self, i: Ins) -> None:
        self._sfu(i, "lg2")

    def _pre(self, i: Ins, pre: str, op: str) -> None:
        t = self.temporary()
        dst = self.result(i)
        self.emit(pre, dst=t, src=self.source(i, 0))
        self.emit(op, dst=dst, src=t)

    def on_ex2(self, i: Ins) -> None:
        self._pre(i, "preex2", "ex2")

    def on_sin(self, i: Ins) -> None:
        self._pre(i, "presin", "sin")

    def on_cos(self, i: Ins) -> None:
        self._pre(i, "presin", "cos")

    # --- conversions ------------------------------------------------------------------------------------------------
    def on_cvt(self, i: Ins) -> None:
        a = i.attrs
        to, source = a.to, a.source
        rnd = a.rnd or None
        exact = to[0] == "f" and (to == source or (to, source) in (("f64", "f32"), ("f32", "f16")))
        if exact and not (rnd and rnd.endswith("i")):
            rnd = None
        src = self.source(i, 0)
        if src is ZERO and (source in ("f16",) or i.args[0].kind != "r"):
            src = self.reg(i.args[0], zero=False)
        dst = self.result(i)
        if source == "f16":
            v: VReg = src.v
            v.low = True
            src = OperandReg(v, half="l")
        if to == "f16":
            dst.v.low = True
            dst = OperandReg(dst.v, half="l")
        self.emit("cvt", neg="neg" if a.neg else None, abs="abs" if a.abs else None,
                  sat="sat" if a.sat else None, rounding=rnd, to=to, dst=dst, source=source,
                  src=src)  # fmt: skip

    # --- double precision -------------------------------------------------------------------------------------------
    def on_dadd(self, i: Ins) -> None:
        self.emit("add_f64", rounding=i.attrs.rnd, dst=self.result(i), neg1=(i.attrs.neg1 and "neg") or None,
                  src1=self.reg(i.args[0]), neg2=(i.attrs.neg2 and "neg") or None,
                  src2=self.reg(i.args[1]))  # fmt: skip

    def on_dmul(self, i: Ins) -> None:
        self.emit("mul_f64", rounding=i.attrs.rnd, dst=self.result(i), neg1=(i.attrs.neg and "neg") or None,
                  src1=self.reg(i.args[0]), src2=self.reg(i.args[1]))  # fmt: skip

    def on_dfma(self, i: Ins) -> None:
        a, b, c = (self.reg(v) for v in i.args)
        self.emit("fma_f64", rounding=i.attrs.rnd, dst=self.result(i), neg1=(i.attrs.negp and "neg") or None,
                  src1=a, src2=b, neg3=(i.attrs.negc and "neg") or None, src3=c)  # fmt: skip

    def on_dmin(self, i: Ins) -> None:
        self.emit("min_f64", dst=self.result(i), src1=self.reg(i.args[0]), src2=self.reg(i.args[1]))

    def on_dmax(self, i: Ins) -> None:
        self.emit("max_f64", dst=self.result(i), src1=self.reg(i.args[0]), src2=self.reg(i.args[1]))

    def on_cmpd(self, i: Ins) -> None:
        self._set(i, op="set_f64", cond=i.attrs.cond, src1=self.reg(i.args[0]), src2=self.reg(i.args[1]))
