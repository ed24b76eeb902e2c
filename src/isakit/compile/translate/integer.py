"""Integer instructions. Source: PTX ISA manual, "Integer Arithmetic", "Comparison and Selection", "Logic and Shift"."""

from __future__ import annotations

from isakit.compile.builder import words64
from isakit.compile.ir import Const, Value
from isakit.compile.ptx.syntax import SIZES, Both, Operand
from isakit.compile.translate.base import Base, Pair
from isakit.compile.translate.division import Division

CONDITIONS = {"eq": "e", "ne": "lg", "lt": "l", "le": "le", "gt": "g", "ge": "ge", "lo": "l", "ls": "le", "hi": "g",
              "hs": "ge", "equ": "eu", "neu": "lgu", "ltu": "lu", "leu": "leu", "gtu": "gu", "geu": "geu", "num": "lge",
              "nan": "u"}  # fmt: skip
"""Comparisons: PTX to Tesla."""

Mods = dict[str, str]
Args = tuple[Operand, ...]


class Integer(Division, Base):
    """Integers."""

    # --- reading by type --------------------------------------------------------------------------------------------
    def clean(self, operand: Operand, ty: str) -> Value:
        """A value of up to 32 bits, extended to 32."""
        return self.extend(self.word(operand, ty), ty)

    def binary(self, op: str, m: Mods, a: Args) -> None:
        """An operation whose low bits depend on low bits only."""
        ty = m["int"]
        self.write(a[0], self.b.op(op, self.word(a[1], ty), self.word(a[2], ty)), ty)

    # --- addition ---------------------------------------------------------------------------------------------------
    def do_add_int(self, m: Mods, a: Args) -> None:
        self._sum("add", m, a)

    def do_sub_int(self, m: Mods, a: Args) -> None:
        self._sum("sub", m, a)

    def _sum(self, op: str, m: Mods, a: Args) -> None:
        ty = m["int"]
        if m["sat"]:
            if ty != "s32":
                raise self.refuse("`.sat` is for .s32")
            op += "sat"
        if self.is_wide(ty):
            f = self.b.add64 if op == "add" else self.b.sub64
            self.write_pair(a[0], f(self.pair(a[1]), self.pair(a[2])))
        else:
            self.binary(op, m, a)

    def do_add_cc(self, m: Mods, a: Args) -> None:
        self._chain(m["addt"], a, Const(0), False)

    def do_addc(self, m: Mods, a: Args) -> None:
        self._chain(m["addt"], a, self.get(self.variable(("cc",), "r")), False)

    def do_sub_cc(self, m: Mods, a: Args) -> None:
        self._chain(m["addt"], a, Const(1), True)

    def do_subc(self, m: Mods, a: Args) -> None:
        # CC.CF holds the borrow; the carry of a subtraction is its opposite.
        borrow = self.get(self.variable(("cc",), "r"))
        self._chain(m["addt"], a, self.b.op("xor", borrow, Const(1)), True)

    def _chain(self, ty: str, a: Args, carry: Value, subtract: bool) -> None:
        """One link of an addition with carry: the carry lives in a register between instructions, as 0 or 1."""
        x = self.pair(a[1]) if self.is_wide(ty) else (self.word(a[1], ty),)
        y = self.pair(a[2]) if self.is_wide(ty) else (self.word(a[2], ty),)
        out: list[Value] = []
        flag = None
        for p, q in zip(x, y, strict=True):
            if subtract:
                q = self.b.op("not", q)
            if flag is None:
                if isinstance(carry, Const) and carry.value == 0:
                    total, flag = self.b.both("addx", p, q)
                else:
                    _, flag = self.b.both("addx", self.b.op("and", carry, Const(1)), Const(0xFFFF_FFFF))
                    total, flag = self.b.both("adc", p, q, flag)
            else:
                total, flag = self.b.both("adc", p, q, flag)
            out.append(total)
        assert flag is not None
        bit = self.b.both("adc", Const(0), Const(0), flag)[0]
        self.put(self.variable(("cc",), "r"), self.b.op("xor", bit, Const(1)) if subtract else bit)
        if len(out) == 2:
            self.write_pair(a[0], (out[0], out[1]))
        else:
            self.write(a[0], out[0], ty)

    # --- multiplication ---------------------------------------------------------------------------------------------
    def do_mul_int(self, m: Mods, a: Args) -> None:
        ty, part = m["int"], m.get("wide") or m.get("half") or "lo"
        self._store_product(a[0], self.product(ty, part, a[1], a[2]), ty, part)

    def do_mad_int(self, m: Mods, a: Args) -> None:
        ty, part = m["int"], m.get("wide") or m.get("half") or "lo"
        product = self.product(ty, part, a[1], a[2])
        if isinstance(product, tuple):
            self.write_pair(a[0], self.b.add64(product, self.pair(a[3])))
            return
        wide = part == "wide"
        to = ty[0] + "32" if wide else ty
        if m["sat"] and (ty != "s32" or part != "hi"):
            raise self.refuse("`.sat` is for `mad.hi.sat.s32`")
        self.write(a[0], self.b.op("addsat" if m["sat"] else "add", product, self.word(a[3], to)), to)

    def _store_product(self, operand: Operand, product: Value | Pair, ty: str, part: str) -> None:
        if isinstance(product, tuple):
            self.write_pair(operand, product)
        else:
            self.write(operand, product, ty[0] + "32" if part == "wide" else ty)

    def product(self, ty: str, part: str, a: Operand, b: Operand) -> Value | Pair:
        """The part of a product that is asked for."""
        sign = ty[0] == "s"
        if ty in ("u16", "s16"):
            full = self.b.op("mul16", self.word(a, ty), self.word(b, ty), s1=sign, s2=sign)
            return self.b.op("sar" if sign else "shr", full, Const(16)) if part == "hi" else full
        if ty in ("u32", "s32"):
            x, y = self.word(a, ty), self.word(b, ty)
            if part == "lo":
                return self.b.op("mul", x, y)
            high = self.b.op("mulhs" if sign else "mulhu", x, y)
            return high if part == "hi" else (self.b.op("mul", x, y), high)
        x64, y64 = self.pair(a), self.pair(b)
        if part == "wide":
            raise self.refuse("there are no products of 128 bits")
        return self.low64(x64, y64) if part == "lo" else self.high64(x64, y64, sign)

    def low64(self, x: Pair, y: Pair) -> Pair:
        """The low 64 bits of a product."""
        op = self.b.op
        for p, q in ((x, y), (y, x)):
            if isinstance(q[0], Const) and isinstance(q[1], Const):
                v = q[0].value | q[1].value << 32
                if v and v & v - 1 == 0:
                    return self.shift_left(p, Const(v.bit_length() - 1))
        cross = op("add", op("mul", x[0], y[1]), op("mul", x[1], y[0]))
        return op("mul", x[0], y[0]), op("add", op("mulhu", x[0], y[0]), cross)

    def high64(self, x: Pair, y: Pair, sign: bool) -> Pair:
        """The high 64 bits of a product."""
        op, both = self.b.op, self.b.both
        middle, c1 = both("addx", op("mul", x[0], y[1]), op("mulhu", x[0], y[0]))
        h1 = both("adc", op("mulhu", x[0], y[1]), Const(0), c1)[0]
        middle, c2 = both("addx", op("mul", x[1], y[0]), middle)
        h1, c3 = both("adc", op("mulhu", x[1], y[0]), h1, c2)
        top = both("adc", Const(0), Const(0), c3)[0]
        low, c4 = both("addx", op("mul", x[1], y[1]), h1)
        out: Pair = low, both("adc", op("mulhu", x[1], y[1]), top, c4)[0]
        if sign:
            for p, q in ((x, y), (y, x)):
                m = op("sar", p[1], Const(31))
                out = self.b.sub64(out, (op("and", q[0], m), op("and", q[1], m)))
        return out

    def do_mul24(self, m: Mods, a: Args) -> None:
        ty = m["t"]
        v = self.b.op("mul24", self.word(a[1], ty), self.word(a[2], ty), sign=ty[0] == "s", high=m["half"] == "hi")
        self.write(a[0], v, ty)

    def do_mad24(self, m: Mods, a: Args) -> None:
        ty = m["t"]
        v = self.b.op("mul24", self.word(a[1], ty), self.word(a[2], ty), sign=ty[0] == "s", high=m["half"] == "hi")
        if m["sat"] and (ty != "s32" or m["half"] != "hi"):
            raise self.refuse("`.sat` is for `mad24.hi.sat.s32`")
        self.write(a[0], self.b.op("addsat" if m["sat"] else "add", v, self.word(a[3], ty)), ty)

    def do_madc(self, m: Mods, a: Args) -> None:
        raise self.refuse("multiplication with carry is not supported")

    def do_sad(self, m: Mods, a: Args) -> None:
        ty = m["int"]
        if self.is_wide(ty):
            raise self.refuse("`sad` of 64 bits is not supported")
        v = self.b.op("sad", self.clean(a[1], ty), self.clean(a[2], ty), self.word(a[3], ty), s=ty[0] == "s")
        self.write(a[0], v, ty)

    # --- one operand ------------------------------------------------------------------------------------------------
    def do_abs_int(self, m: Mods, a: Args) -> None:
        ty = m["t"]
        if not self.is_wide(ty):
            self.write(a[0], self.b.op("abs", self.clean(a[1], ty)), ty)
            return
        x = self.pair(a[1])
        s = self.b.op("sar", x[1], Const(31))
        self.write_pair(a[0], self.b.sub64((self.b.op("xor", x[0], s), self.b.op("xor", x[1], s)), (s, s)))

    def do_neg_int(self, m: Mods, a: Args) -> None:
        ty = m["t"]
        if self.is_wide(ty):
            self.write_pair(a[0], self.b.sub64(words64(0), self.pair(a[1])))
        else:
            self.write(a[0], self.b.op("sub", Const(0), self.word(a[1], ty)), ty)

    def do_not(self, m: Mods, a: Args) -> None:
        ty = m["t"]
        if ty == "pred":
            self.write_predicate(a[0], self.b.op("pnot", self.predicate(a[1])))
        elif ty == "b64":
            x = self.pair(a[1])
            self.write_pair(a[0], (self.b.op("not", x[0]), self.b.op("not", x[1])))
        else:
            self.write(a[0], self.b.op("not", self.word(a[1], ty)), ty)

    def do_cnot(self, m: Mods, a: Args) -> None:
        ty = m["bits"]
        if ty == "b64":
            p = self.b.same64(self.pair(a[1]), words64(0))
            self.write_pair(a[0], (self.b.op("sel", p, Const(1), Const(0)), Const(0)))
        else:
            p = self.b.op("cmp", self.clean(a[1], ty), Const(0), cond="e", ty="u32")
            self.write(a[0], self.b.op("sel", p, Const(1), Const(0)), ty)

    # --- logic and shifts -------------------------------------------------------------------------------------------
    def do_logic(self, m: Mods, a: Args) -> None:
        assert self.at is not None
        op, ty = self.at.opcode.split(".")[0], m["t"]
        if ty == "pred":
            self.write_predicate(a[0], self.b.op("p" + op, self.predicate(a[1]), self.predicate(a[2])))
        elif ty == "b64":
            x, y = self.pair(a[1]), self.pair(a[2])
            self.write_pair(a[0], (self.b.op(op, x[0], y[0]), self.b.op(op, x[1], y[1])))
        else:
            self.write(a[0], self.b.op(op, self.word(a[1], ty), self.word(a[2], ty)), ty)

    def do_shl(self, m: Mods, a: Args) -> None:
        ty, n = m["bits"], self.word(a[2], "u32")
        if ty == "b64":
            self.write_pair(a[0], self.shift_left(self.pair(a[1]), n))
        else:
            self.write(a[0], self.b.op("shl", self.word(a[1], ty), n), ty)

    def do_shr(self, m: Mods, a: Args) -> None:
        ty, n = m["t"], self.word(a[2], "u32")
        sign = ty[0] == "s"
        if self.is_wide(ty):
            self.write_pair(a[0], self.shift_right(self.pair(a[1]), n, sign))
        else:
            self.write(a[0], self.b.op("sar" if sign else "shr", self.clean(a[1], ty), n), ty)

    def shift_left(self, x: Pair, n: Value) -> Pair:
        """A pair shifted left; from 64 places on nothing is left."""
        op = self.b.op
        if isinstance(n, Const):
            v = n.value
            if v == 0:
                return x
            if v >= 32:
                return Const(0), op("shl", x[0], Const(v - 32))
            return op("shl", x[0], n), op("or", op("shl", x[1], n), op("shr", x[0], Const(32 - v)))
        near = op("or", op("shl", x[1], n), op("shr", x[0], op("sub", Const(32), n)))
        return op("shl", x[0], n), op("or", near, op("shl", x[0], op("sub", n, Const(32))))

    def shift_right(self, x: Pair, n: Value, sign: bool) -> Pair:
        """A pair shifted right."""
        op = self.b.op
        high = "sar" if sign else "shr"
        if isinstance(n, Const):
            v = n.value
            if v == 0:
                return x
            if v >= 32:
                return op(high, x[1], Const(v - 32)), op("sar", x[1], Const(31)) if sign else Const(0)
            return op("or", op("shr", x[0], n), op("shl", x[1], Const(32 - v))), op(high, x[1], n)
        near = op("or", op("shr", x[0], n), op("shl", x[1], op("sub", Const(32), n)))
        far = op(high, x[1], op("sub", n, Const(32)))
        if sign:
            p = op("cmp", n, Const(32), cond="ge", ty="u32")
            return op("sel", p, far, near), op(high, x[1], n)
        return op("or", near, far), op(high, x[1], n)

    # --- bit fields, which these chips do not have -------------------------------------------------------------------
    def do_shf(self, m: Mods, a: Args) -> None:
        op = self.b.op
        x = self.word(a[1], "b32"), self.word(a[2], "b32")
        n = self.word(a[3], "u32")
        n = op("and", n, Const(31)) if m["mode"] == "wrap" else op("minu", n, Const(32))
        v = self.shift_left(x, n)[1] if m["dir"] == "l" else self.shift_right(x, n, False)[0]
        self.write(a[0], v, "b32")

    def do_popc(self, m: Mods, a: Args) -> None:
        words = self.pair(a[1]) if m["b3264"] == "b64" else (self.word(a[1], "b32"),)
        total: Value = Const(0)
        for w in words:
            total = self.b.op("add", total, self.count_bits(w))
        self.write(a[0], total, "u32", loose=True)

    def count_bits(self, x: Value) -> Value:
        """The number of bits that are set."""
        op = self.b.op
        x = op("sub", x, op("and", op("shr", x, Const(1)), Const(0x5555_5555)))
        x = op("add", op("and", x, Const(0x3333_3333)), op("and", op("shr", x, Const(2)), Const(0x3333_3333)))
        x = op("and", op("add", x, op("shr", x, Const(4))), Const(0x0F0F_0F0F))
        x = op("add", x, op("shr", x, Const(8)))
        return op("and", op("add", x, op("shr", x, Const(16))), Const(0x3F))

    def leading(self, x: Value) -> Value:
        """The number of zeros in front of the first bit that is set: smear it, count the rest."""
        op = self.b.op
        for n in (1, 2, 4, 8, 16):
            x = op("or", x, op("shr", x, Const(n)))
        return self.count_bits(op("not", x))

    def do_clz(self, m: Mods, a: Args) -> None:
        if m["b3264"] == "b32":
            self.write(a[0], self.leading(self.word(a[1], "b32")), "u32", loose=True)
            return
        low, high = self.pair(a[1])
        none = self.b.op("cmp", high, Const(0), cond="e", ty="u32")
        v = self.b.op("sel", none, self.b.op("add", self.leading(low), Const(32)), self.leading(high))
        self.write(a[0], v, "u32", loose=True)

    def reversed(self, x: Value) -> Value:
        """The bits in the opposite order."""
        op = self.b.op
        for n, mask in ((1, 0x5555_5555), (2, 0x3333_3333), (4, 0x0F0F_0F0F), (8, 0x00FF_00FF)):
            up = op("shl", op("and", x, Const(mask)), Const(n))
            x = op("or", op("and", op("shr", x, Const(n)), Const(mask)), up)
        return op("or", op("shr", x, Const(16)), op("shl", x, Const(16)))

    def do_brev(self, m: Mods, a: Args) -> None:
        if m["b3264"] == "b64":
            low, high = self.pair(a[1])
            self.write_pair(a[0], (self.reversed(high), self.reversed(low)))
        else:
            self.write(a[0], self.reversed(self.word(a[1], "b32")), "b32")

    def do_bfind(self, m: Mods, a: Args) -> None:
        ty = m["bfe"]
        if self.is_wide(ty):
            raise self.refuse("`bfind` of 64 bits is not supported")
        op = self.b.op
        x = self.word(a[1], ty)
        if ty == "s32":
            x = op("xor", x, op("sar", x, Const(31)))
        n = self.leading(x)
        none = op("cmp", x, Const(0), cond="e", ty="u32")
        found = n if m["shiftamt"] else op("sub", Const(31), n)
        self.write(a[0], op("sel", none, Const(0xFFFF_FFFF), found), "u32")

    def do_bfe(self, m: Mods, a: Args) -> None:
        ty = m["bfe"]
        if self.is_wide(ty):
            raise self.refuse("`bfe` of 64 bits is not supported")
        op = self.b.op
        x = self.word(a[1], ty)
        pos = op("and", self.word(a[2], "u32"), Const(0xFF))
        length = op("and", self.word(a[3], "u32"), Const(0xFF))
        if ty == "u32":
            self.write(a[0], op("and", op("shr", x, pos), self.ones(length)), ty)
            return
        # bits beyond the word, and those above the field, are copies of the field's sign: bit min(pos + len - 1, 31)
        top = op("minu", op("sub", op("add", pos, length), Const(1)), Const(31))
        none = op("cmp", length, Const(0), cond="e", ty="u32")
        sign = op("sar", op("shl", x, op("sub", Const(31), top)), Const(31))
        field_mask = self.ones(length)
        body = op("and", op("sar", x, pos), field_mask)
        v = op("or", body, op("and", sign, op("not", field_mask)))
        self.write(a[0], op("sel", none, Const(0), v), ty)

    def ones(self, n: Value) -> Value:
        """That many low bits set."""
        return self.b.op("not", self.b.op("shl", Const(0xFFFF_FFFF), n))

    def do_bfi(self, m: Mods, a: Args) -> None:
        if m["b3264"] == "b64":
            raise self.refuse("`bfi` of 64 bits is not supported")
        op = self.b.op
        x, y = self.word(a[1], "b32"), self.word(a[2], "b32")
        pos = op("and", self.word(a[3], "u32"), Const(0xFF))
        length = op("and", self.word(a[4], "u32"), Const(0xFF))
        mask = op("shl", self.ones(length), pos)
        v = op("or", op("and", op("shl", x, pos), mask), op("and", y, op("not", mask)))
        self.write(a[0], v, "b32")

    def do_prmt(self, m: Mods, a: Args) -> None:
        op = self.b.op
        if m["mode"]:
            raise self.refuse(f"`prmt` in mode .{m['mode']} is not supported")
        x, y, s = self.word(a[1], "b32"), self.word(a[2], "b32"), self.word(a[3], "b32")
        out: Value = Const(0)
        for k in range(4):
            code = op("and", op("shr", s, Const(4 * k)), Const(15))
            pick = op("and", code, Const(7))
            p = op("cmp", pick, Const(4), cond="ge", ty="u32")
            source = op("sel", p, y, x)
            byte = op("zext8", op("shr", source, op("shl", op("and", pick, Const(3)), Const(3))))
            q = op("cmp", op("and", code, Const(8)), Const(0), cond="lg", ty="u32")
            byte = op("sel", q, op("zext8", op("sar", op("sext8", byte), Const(7))), byte)
            out = op("or", out, op("shl", byte, Const(8 * k)))
        self.write(a[0], out, "b32")

    def do_lop3(self, m: Mods, a: Args) -> None:
        op = self.b.op
        x, y, z, table = self.word(a[1], "b32"), self.word(a[2], "b32"), self.word(a[3], "b32"), self.word(a[4], "b32")
        if not isinstance(table, Const):
            raise self.refuse("the table of `lop3` must be a constant", a[4])
        out: Value = Const(0)
        for k in range(8):
            if table.value >> k & 1:
                term = x if k & 4 else op("not", x)
                term = op("and", term, y if k & 2 else op("not", y))
                out = op("or", out, op("and", term, z if k & 1 else op("not", z)))
        self.write(a[0], out, "b32")

    # --- minimum, comparison, selection -----------------------------------------------------------------------------
    def do_min_int(self, m: Mods, a: Args) -> None:
        self._extreme("min", m["int"], a)

    def do_max_int(self, m: Mods, a: Args) -> None:
        self._extreme("max", m["int"], a)

    def _extreme(self, op: str, ty: str, a: Args) -> None:
        if self.is_wide(ty):
            x, y = self.pair(a[1]), self.pair(a[2])
            less = self.b.less64(x, y, ty[0] == "s", False)
            if op == "max":
                x, y = y, x
            self.write_pair(a[0], (self.b.op("sel", less, x[0], y[0]), self.b.op("sel", less, x[1], y[1])))
            return
        v = self.b.op(op + ty[0], self.clean(a[1], ty), self.clean(a[2], ty))
        self.write(a[0], v, ty)

    def compare(self, m: Mods, a: Operand, b: Operand) -> Value:
        """The comparison of `setp` and `set`."""
        ty, name = m["cmpt"], m["cmp"]
        cond = CONDITIONS[name]
        if ty == "f32" or (ty == "f64" and self.demoted):
            if name in ("lo", "ls", "hi", "hs"):
                raise self.refuse(f"`.{name}` compares unsigned integers")
            return self.b.op("cmpf", self.word(a, "f32"), self.word(b, "f32"), cond=cond)
        if ty == "f64":
            self.is_double(ty)
            if name in ("lo", "ls", "hi", "hs"):
                raise self.refuse(f"`.{name}` compares unsigned integers")
            return self.b.op("cmpd", self.double(a), self.double(b), cond=cond)
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
        return self.b.op("cmp", self.clean(a, ty), self.clean(b, ty), cond=cond, ty="s32" if sign else "u32")

    def do_setp(self, m: Mods, a: Args) -> None:
        p = self.compare(m, a[1], a[2])
        q = self.b.op("pnot", p) if isinstance(a[0], Both) else None
        if m.get("bool"):
            c = self.predicate(a[3])
            p = self.b.op("p" + m["bool"], p, c)
            q = self.b.op("p" + m["bool"], q, c) if q else None
        if isinstance(a[0], Both):
            assert q is not None
            self.write_predicate(a[0].first, p)
            self.write_predicate(a[0].second, q)
        else:
            self.write_predicate(a[0], p)

    def do_set(self, m: Mods, a: Args) -> None:
        p = self.compare(m, a[1], a[2])
        if m.get("bool"):
            p = self.b.op("p" + m["bool"], p, self.predicate(a[3]))
        v = self.b.op("sel", p, Const(0x3F80_0000), Const(0)) if m["sett"] == "f32" else self.b.op("mask", p)
        self.write(a[0], v, m["sett"])

    def do_selp(self, m: Mods, a: Args) -> None:
        self._choose(self.predicate(a[3]), m["sel"], a)

    def _choose(self, p: Value, ty: str, a: Args) -> None:
        op = self.b.op
        if self.is_wide(ty) or (ty == "f64" and self.is_double(ty)):
            x, y = (
                self.pair(a[1]) if ty != "f64" else self._halves(a[1]),
                (self.pair(a[2]) if ty != "f64" else self._halves(a[2])),
            )
            v = op("sel", p, x[0], y[0]), op("sel", p, x[1], y[1])
            if ty == "f64":
                self.write_double(a[0], op("pack", *v))
            else:
                self.write_pair(a[0], v)
            return
        self.write(a[0], op("sel", p, self.word(a[1], ty), self.word(a[2], ty)), ty)

    def _halves(self, operand: Operand) -> Pair:
        d = self.double(operand)
        return self.b.op("word", d, i=0), self.b.op("word", d, i=1)

    def do_slct(self, m: Mods, a: Args) -> None:
        ty, op = m["sel"], self.b.op
        if m["t"] == "f32":
            c = self.word(a[3], "f32")
            if SIZES[ty] <= 4 or (ty == "f64" and self.demoted):
                self.write(a[0], op("slctf", self.word(a[1], ty), self.word(a[2], ty), c), ty)
                return
            p = op("cmpf", c, Const(0), cond="ge")
        else:
            p = op("cmp", self.word(a[3], "s32"), Const(0), cond="ge", ty="s32")
        self._choose(p, ty, a)
