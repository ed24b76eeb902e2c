"""Integer instructions. Source: PTX ISA manual, "Integer Arithmetic", "Comparison and Selection", "Logic and Shift"."""

from __future__ import annotations

from functools import partialmethod

from isakit.compile.builder import words64
from isakit.compile.ir import Const, IrValue, PlainOp
from isakit.compile.ops import (
    ABS,
    ADC,
    ADD,
    ADDSAT,
    ADDX,
    AND,
    CMP,
    CMPD,
    CMPF,
    MASK,
    MAXS,
    MAXU,
    MINS,
    MINU,
    MUL,
    MUL16,
    MUL24,
    MULHS,
    MULHU,
    NOT,
    PACK,
    PNOT,
    SAD,
    SAR,
    SEL,
    SHR,
    SLCTF,
    SUB,
    SUBSAT,
    WORD,
    XOR,
)
from isakit.compile.ptx.syntax import SIZES, Both, Operand
from isakit.compile.translate.base import Args, Mods, Pair
from isakit.compile.translate.bits import PREDICATE_LOGIC, BitInstructions
from isakit.compile.translate.division import Division

CONDITIONS = {"eq": "e", "ne": "lg", "lt": "l", "le": "le", "gt": "g", "ge": "ge", "lo": "l", "ls": "le", "hi": "g",
              "hs": "ge", "equ": "eu", "neu": "lgu", "ltu": "lu", "leu": "leu", "gtu": "gu", "geu": "geu", "num": "lge",
              "nan": "u"}  # fmt: skip
"""Comparisons: PTX to Tesla."""


class Integer(Division, BitInstructions):
    """Arithmetic, comparison and selection."""

    def binary(self, op: PlainOp, m: Mods, a: Args) -> None:
        """Translate an operation whose low bits depend only on low bits of its operands."""
        ty = m["int"]
        self.write(a[0], self.b.op(op, self.word(a[1], ty), self.word(a[2], ty)), ty)

    # --- addition ---------------------------------------------------------------------------------------------------
    def _sum(self, op: PlainOp, m: Mods, a: Args) -> None:
        ty = m["int"]
        if m["sat"]:
            if ty != "s32":
                raise self.refuse("`.sat` is for .s32")
            op = ADDSAT if op is ADD else SUBSAT
        if self.is_wide(ty):
            f = self.b.add64 if op is ADD else self.b.sub64
            self.write_pair(a[0], f(self.pair(a[1]), self.pair(a[2])))
        else:
            self.binary(op, m, a)

    do_add_int = partialmethod(_sum, ADD)
    do_sub_int = partialmethod(_sum, SUB)

    # The carry lives in a variable between instructions, as 0 or 1.
    def _carry(self) -> IrValue:
        return self.get(self.variable(("cc",), "r"))

    def do_add_cc(self, m: Mods, a: Args) -> None:
        self._chain(m["addt"], a[0], self.words(a[1], m["addt"]), self.words(a[2], m["addt"]), Const(0))

    def do_addc(self, m: Mods, a: Args) -> None:
        x, y = (self.words(o, m["addt"]) for o in a[1:])
        self._chain(m["addt"], a[0], x, y, self._carry(), keep=bool(m["cc"]))

    def do_sub_cc(self, m: Mods, a: Args) -> None:
        self._difference(m["addt"], a, Const(1))

    def do_subc(self, m: Mods, a: Args) -> None:
        # CC.CF holds the borrow; the carry of a subtraction is its opposite.
        self._difference(m["addt"], a, self.b.op(XOR, self._carry(), Const(1)), keep=bool(m["cc"]))

    def _difference(self, ty: str, a: Args, carry: IrValue, keep: bool = True) -> None:
        y = tuple(self.b.op(NOT, v) for v in self.words(a[2], ty))
        self._chain(ty, a[0], self.words(a[1], ty), y, carry, keep, borrows=True)

    def do_mad_cc(self, m: Mods, a: Args) -> None:
        x = self.product(m["t"], m["half"], a[1], a[2])
        self._chain(m["t"], a[0], x, self.words(a[3], m["t"]), Const(0))

    def do_madc(self, m: Mods, a: Args) -> None:
        x = self.product(m["t"], m["half"], a[1], a[2])
        self._chain(m["t"], a[0], x, self.words(a[3], m["t"]), self._carry(), keep=bool(m["cc"]))

    def _chain(
        self,
        ty: str,
        to: Operand,
        x: tuple[IrValue, ...],
        y: tuple[IrValue, ...],
        carry: IrValue,
        keep: bool = True,
        borrows: bool = False,
    ) -> None:
        """Translate a link of a carry chain; `keep` says whether a later link needs its carry."""
        out: list[IrValue] = []
        flag = None
        for p, q in zip(x, y, strict=True):
            if flag is None:
                if isinstance(carry, Const) and carry.value == 0:
                    total, flag = self.b.both(ADDX, p, q)
                else:
                    _, flag = self.b.both(ADDX, self.b.op(AND, carry, Const(1)), Const(0xFFFF_FFFF))
                    total, flag = self.b.both(ADC, p, q, flag)
            else:
                total, flag = self.b.both(ADC, p, q, flag)
            out.append(total)
        assert flag is not None
        if keep:
            bit = self.b.both(ADC, Const(0), Const(0), flag)[0]
            self.put(self.variable(("cc",), "r"), self.b.op(XOR, bit, Const(1)) if borrows else bit)
        self.write_words(to, out, ty)

    # --- multiplication ---------------------------------------------------------------------------------------------
    def do_mul_int(self, m: Mods, a: Args) -> None:
        ty, part = m["int"], m.get("wide") or m.get("half") or "lo"
        self.write_words(a[0], self.product(ty, part, a[1], a[2]), ty[0] + "32" if part == "wide" else ty)

    def do_mad_int(self, m: Mods, a: Args) -> None:
        ty, part = m["int"], m.get("wide") or m.get("half") or "lo"
        product = self.product(ty, part, a[1], a[2])
        if len(product) == 2:
            self.write_pair(a[0], self.b.add64((product[0], product[1]), self.pair(a[3])))
            return
        to = ty[0] + "32" if part == "wide" else ty
        if m["sat"] and (ty != "s32" or part != "hi"):
            raise self.refuse("`.sat` is for `mad.hi.sat.s32`")
        self.write(a[0], self.b.op(ADDSAT if m["sat"] else ADD, product[0], self.word(a[3], to)), to)

    def product(self, ty: str, part: str, a: Operand, b: Operand) -> tuple[IrValue, ...]:
        """Return the requested part of a product."""
        sign = ty[0] == "s"
        if ty in ("u16", "s16"):
            full = self.b.op(MUL16(s1=sign, s2=sign), self.word(a, ty), self.word(b, ty))
            return (self.b.op(SAR if sign else SHR, full, Const(16)) if part == "hi" else full,)
        if ty in ("u32", "s32"):
            x, y = self.word(a, ty), self.word(b, ty)
            if part == "lo":
                return (self.b.op(MUL, x, y),)
            high = self.b.op(MULHS if sign else MULHU, x, y)
            return (high,) if part == "hi" else (self.b.op(MUL, x, y), high)
        x64, y64 = self.pair(a), self.pair(b)
        if part == "wide":
            raise self.refuse("128-bit products are not supported")
        return self.low64(x64, y64) if part == "lo" else self.high64(x64, y64, sign)

    def low64(self, x: Pair, y: Pair) -> Pair:
        """Compute the low 64 bits of a product."""
        op = self.b.op
        for p, q in ((x, y), (y, x)):
            if isinstance(q[0], Const) and isinstance(q[1], Const):
                v = q[0].value | q[1].value << 32
                if v and v & v - 1 == 0:
                    return self.shift_left(p, Const(v.bit_length() - 1))
        cross = op(ADD, op(MUL, x[0], y[1]), op(MUL, x[1], y[0]))
        return op(MUL, x[0], y[0]), op(ADD, op(MULHU, x[0], y[0]), cross)

    def high64(self, x: Pair, y: Pair, sign: bool) -> Pair:
        """Compute the high 64 bits of a product."""
        op, both = self.b.op, self.b.both
        middle, c1 = both(ADDX, op(MUL, x[0], y[1]), op(MULHU, x[0], y[0]))
        h1 = both(ADC, op(MULHU, x[0], y[1]), Const(0), c1)[0]
        middle, c2 = both(ADDX, op(MUL, x[1], y[0]), middle)
        h1, c3 = both(ADC, op(MULHU, x[1], y[0]), h1, c2)
        top = both(ADC, Const(0), Const(0), c3)[0]
        low, c4 = both(ADDX, op(MUL, x[1], y[1]), h1)
        out: Pair = low, both(ADC, op(MULHU, x[1], y[1]), top, c4)[0]
        if sign:
            for p, q in ((x, y), (y, x)):
                m = op(SAR, p[1], Const(31))
                out = self.b.sub64(out, (op(AND, q[0], m), op(AND, q[1], m)))
        return out

    def _mul24(self, m: Mods, a: Args) -> IrValue:
        """Multiply the lower 24 bits of the first two operands."""
        sign = m["t"][0] == "s"
        return self.b.op(MUL24(sign=sign, high=m["half"] == "hi"), self.word(a[1], m["t"]), self.word(a[2], m["t"]))

    def do_mul24(self, m: Mods, a: Args) -> None:
        self.write(a[0], self._mul24(m, a), m["t"])

    def do_mad24(self, m: Mods, a: Args) -> None:
        ty, v = m["t"], self._mul24(m, a)
        if m["sat"] and (ty != "s32" or m["half"] != "hi"):
            raise self.refuse("`.sat` is for `mad24.hi.sat.s32`")
        self.write(a[0], self.b.op(ADDSAT if m["sat"] else ADD, v, self.word(a[3], ty)), ty)

    def do_sad(self, m: Mods, a: Args) -> None:
        ty = m["int"]
        if self.is_wide(ty):
            x, y = self.pair(a[1]), self.pair(a[2])
            less = self.b.less64(x, y, ty[0] == "s", equal=False)
            apart = self.choose64(less, self.b.sub64(y, x), self.b.sub64(x, y))
            self.write_pair(a[0], self.b.add64(apart, self.pair(a[3])))
            return
        v = self.b.op(SAD(s=ty[0] == "s"), self.clean(a[1], ty), self.clean(a[2], ty), self.word(a[3], ty))
        self.write(a[0], v, ty)

    # --- one operand ------------------------------------------------------------------------------------------------
    def do_abs_int(self, m: Mods, a: Args) -> None:
        ty = m["t"]
        if not self.is_wide(ty):
            self.write(a[0], self.b.op(ABS, self.clean(a[1], ty)), ty)
            return
        x = self.pair(a[1])
        s = self.b.op(SAR, x[1], Const(31))
        self.write_pair(a[0], self.b.sub64((self.b.op(XOR, x[0], s), self.b.op(XOR, x[1], s)), (s, s)))

    def do_neg_int(self, m: Mods, a: Args) -> None:
        ty = m["t"]
        if self.is_wide(ty):
            self.write_pair(a[0], self.b.sub64(words64(0), self.pair(a[1])))
        else:
            self.write(a[0], self.b.op(SUB, Const(0), self.word(a[1], ty)), ty)

    def do_not(self, m: Mods, a: Args) -> None:
        ty = m["t"]
        if ty == "pred":
            self.write_predicate(a[0], self.b.op(PNOT, self.predicate(a[1])))
        else:
            self.write_words(a[0], [self.b.op(NOT, v) for v in self.words(a[1], ty)], ty)

    def do_cnot(self, m: Mods, a: Args) -> None:
        ty = m["bits"]
        if ty == "b64":
            p = self.b.same64(self.pair(a[1]), words64(0))
            self.write_pair(a[0], (self.b.op(SEL, p, Const(1), Const(0)), Const(0)))
        else:
            p = self.b.op(CMP(cond="e", ty="u32"), self.clean(a[1], ty), Const(0))
            self.write(a[0], self.b.op(SEL, p, Const(1), Const(0)), ty)

    # --- minimum, comparison, selection -----------------------------------------------------------------------------
    def _extreme(self, with_sign: PlainOp, without: PlainOp, m: Mods, a: Args) -> None:
        ty = m["int"]
        if self.is_wide(ty):
            x, y = self.pair(a[1]), self.pair(a[2])
            less = self.b.less64(x, y, ty[0] == "s", False)
            if with_sign is MAXS:
                x, y = y, x
            self.write_pair(a[0], (self.b.op(SEL, less, x[0], y[0]), self.b.op(SEL, less, x[1], y[1])))
            return
        v = self.b.op(with_sign if ty[0] == "s" else without, self.clean(a[1], ty), self.clean(a[2], ty))
        self.write(a[0], v, ty)

    do_min_int = partialmethod(_extreme, MINS, MINU)
    do_max_int = partialmethod(_extreme, MAXS, MAXU)

    def compare(self, m: Mods, a: Operand, b: Operand) -> IrValue:
        """Compare as `setp` and `set` do."""
        ty, name = m["cmpt"], m["cmp"]
        cond = CONDITIONS[name]
        if ty == "f32" or (ty == "f64" and self.demoted):
            if name in ("lo", "ls", "hi", "hs"):
                raise self.refuse(f"`.{name}` compares unsigned integers")
            return self.b.op(CMPF(cond=cond), self.word(a, "f32"), self.word(b, "f32"))
        if ty == "f64":
            self.is_double(ty)
            if name in ("lo", "ls", "hi", "hs"):
                raise self.refuse(f"`.{name}` compares unsigned integers")
            return self.b.op(CMPD(cond=cond), self.double(a), self.double(b))
        if cond not in ("e", "lg", "l", "le", "g", "ge"):
            raise self.refuse(f"`.{name}` compares floats")
        sign = ty[0] == "s" and name not in ("lo", "ls", "hi", "hs")
        if self.is_wide(ty):
            x, y = self.pair(a), self.pair(b)
            if cond in ("e", "lg"):
                return self.b.same64(x, y, cond)
            if cond in ("g", "ge"):
                x, y = y, x
            return self.b.less64(x, y, sign, cond in ("le", "ge"))
        ty = ty if sign or ty[0] != "s" else "u" + ty[1:]
        return self.b.op(CMP(cond=cond, ty="s32" if sign else "u32"), self.clean(a, ty), self.clean(b, ty))

    def do_setp(self, m: Mods, a: Args) -> None:
        p = self.compare(m, a[1], a[2])
        q = self.b.op(PNOT, p) if isinstance(a[0], Both) else None
        if m.get("bool"):
            c = self.predicate(a[3])
            p = self.b.op(PREDICATE_LOGIC[m["bool"]], p, c)
            q = self.b.op(PREDICATE_LOGIC[m["bool"]], q, c) if q else None
        if isinstance(a[0], Both):
            assert q is not None
            self.write_predicate(a[0].first, p)
            self.write_predicate(a[0].second, q)
        else:
            self.write_predicate(a[0], p)

    def do_set(self, m: Mods, a: Args) -> None:
        p = self.compare(m, a[1], a[2])
        if m.get("bool"):
            p = self.b.op(PREDICATE_LOGIC[m["bool"]], p, self.predicate(a[3]))
        v = self.b.op(SEL, p, Const(0x3F80_0000), Const(0)) if m["sett"] == "f32" else self.b.op(MASK, p)
        self.write(a[0], v, m["sett"])

    def do_selp(self, m: Mods, a: Args) -> None:
        self._choose(self.predicate(a[3]), m["sel"], a)

    def _choose(self, p: IrValue, ty: str, a: Args) -> None:
        op = self.b.op
        if self.is_wide(ty) or (ty == "f64" and self.is_double(ty)):
            x, y = (
                self.pair(a[1]) if ty != "f64" else self._halves(a[1]),
                (self.pair(a[2]) if ty != "f64" else self._halves(a[2])),
            )
            v = op(SEL, p, x[0], y[0]), op(SEL, p, x[1], y[1])
            if ty == "f64":
                self.write_double(a[0], op(PACK, *v))
            else:
                self.write_pair(a[0], v)
            return
        self.write(a[0], op(SEL, p, self.word(a[1], ty), self.word(a[2], ty)), ty)

    def _halves(self, operand: Operand) -> Pair:
        d = self.double(operand)
        return self.b.op(WORD(i=0), d), self.b.op(WORD(i=1), d)

    def do_slct(self, m: Mods, a: Args) -> None:
        ty, op = m["sel"], self.b.op
        if m["t"] == "f32":
            c = self.word(a[3], "f32")
            if SIZES[ty] <= 4 or (ty == "f64" and self.demoted):
                self.write(a[0], op(SLCTF, self.word(a[1], ty), self.word(a[2], ty), c), ty)
                return
            p = op(CMPF(cond="ge"), c, Const(0))
        else:
            p = op(CMP(cond="ge", ty="s32"), self.word(a[3], "s32"), Const(0))
        self._choose(p, ty, a)
