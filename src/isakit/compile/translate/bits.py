"""Logic, shifts and bit fields. Source: PTX ISA manual, "Logic and Shift", "Integer Arithmetic", "Data Movement"."""

from __future__ import annotations

from isakit.compile.builder import words64
from isakit.compile.ir import Const, IrValue
from isakit.compile.ops import ADD, AND, CMP, MINU, NOT, OR, PAND, POR, PXOR, SAR, SEL, SEXT8, SHL, SHR, SUB, XOR, ZEXT8
from isakit.compile.ptx.syntax import Operand
from isakit.compile.translate.base import Args, Base, Mods, Pair

SELECTORS = {"f4e": 0x6543_5432_4321_3210, "b4e": 0x0123_7012_6701_5670, "rc8": 0x3333_2222_1111_0000,
             "ecl": 0x3333_3222_3211_3210, "ecr": 0x3210_2210_1110_0000, "rc16": 0x3232_1010_3232_1010}  # fmt: skip
"""Modes of `prmt`: the byte selectors for 0 to 3, 16 bits each, lowest first."""


LOGIC = {"and": AND, "or": OR, "xor": XOR}
PREDICATE_LOGIC = {"and": PAND, "or": POR, "xor": PXOR}


class BitInstructions(Base):
    """Instructions that work on bits."""

    # --- logic and shifts -------------------------------------------------------------------------------------------
    def do_logic(self, m: Mods, a: Args) -> None:
        assert self.at is not None
        op, ty = self.at.opcode.split(".")[0], m["t"]
        if ty == "pred":
            self.write_predicate(a[0], self.b.op(PREDICATE_LOGIC[op], self.predicate(a[1]), self.predicate(a[2])))
        else:
            both = zip(self.words(a[1], ty), self.words(a[2], ty), strict=True)
            self.write_words(a[0], [self.b.op(LOGIC[op], x, y) for x, y in both], ty)

    def do_shl(self, m: Mods, a: Args) -> None:
        ty, n = m["bits"], self.word(a[2], "u32")
        if ty == "b64":
            self.write_pair(a[0], self.shift_left(self.pair(a[1]), n))
        else:
            self.write(a[0], self.b.op(SHL, self.word(a[1], ty), n), ty)

    def do_shr(self, m: Mods, a: Args) -> None:
        ty, n = m["t"], self.word(a[2], "u32")
        sign = ty[0] == "s"
        if self.is_wide(ty):
            self.write_pair(a[0], self.shift_right(self.pair(a[1]), n, sign))
        else:
            self.write(a[0], self.b.op(SAR if sign else SHR, self.clean(a[1], ty), n), ty)

    def shift_left(self, x: Pair, n: IrValue) -> Pair:
        """Return a 64-bit pair shifted left; 0 for counts of 64 and more."""
        op = self.b.op
        if isinstance(n, Const):
            v = n.value
            if v == 0:
                return x
            if v >= 32:
                return Const(0), op(SHL, x[0], Const(v - 32))
            return op(SHL, x[0], n), op(OR, op(SHL, x[1], n), op(SHR, x[0], Const(32 - v)))
        near = op(OR, op(SHL, x[1], n), op(SHR, x[0], op(SUB, Const(32), n)))
        return op(SHL, x[0], n), op(OR, near, op(SHL, x[0], op(SUB, n, Const(32))))

    def shift_right(self, x: Pair, n: IrValue, sign: bool) -> Pair:
        """Return a pair shifted right, with sign extension if `sign`."""
        op = self.b.op
        high = SAR if sign else SHR
        if isinstance(n, Const):
            v = n.value
            if v == 0:
                return x
            if v >= 32:
                return op(high, x[1], Const(v - 32)), op(SAR, x[1], Const(31)) if sign else Const(0)
            return op(OR, op(SHR, x[0], n), op(SHL, x[1], Const(32 - v))), op(high, x[1], n)
        near = op(OR, op(SHR, x[0], n), op(SHL, x[1], op(SUB, Const(32), n)))
        far = op(high, x[1], op(SUB, n, Const(32)))
        if sign:
            p = op(CMP(cond="ge", ty="u32"), n, Const(32))
            return op(SEL, p, far, near), op(high, x[1], n)
        return op(OR, near, far), op(high, x[1], n)

    # --- bit fields, which these chips do not have ------------------------------------------------------------------
    def do_shf(self, m: Mods, a: Args) -> None:
        op = self.b.op
        x = self.word(a[1], "b32"), self.word(a[2], "b32")
        n = self.word(a[3], "u32")
        n = op(AND, n, Const(31)) if m["mode"] == "wrap" else op(MINU, n, Const(32))
        v = self.shift_left(x, n)[1] if m["dir"] == "l" else self.shift_right(x, n, False)[0]
        self.write(a[0], v, "b32")

    def do_popc(self, m: Mods, a: Args) -> None:
        total: IrValue = Const(0)
        for w in self.words(a[1], m["b3264"]):
            total = self.b.op(ADD, total, self.count_bits(w))
        self.write(a[0], total, "u32", loose=True)

    def count_bits(self, x: IrValue) -> IrValue:
        """Count the bits that are set."""
        op = self.b.op
        x = op(SUB, x, op(AND, op(SHR, x, Const(1)), Const(0x5555_5555)))
        x = op(ADD, op(AND, x, Const(0x3333_3333)), op(AND, op(SHR, x, Const(2)), Const(0x3333_3333)))
        x = op(AND, op(ADD, x, op(SHR, x, Const(4))), Const(0x0F0F_0F0F))
        x = op(ADD, x, op(SHR, x, Const(8)))
        return op(AND, op(ADD, x, op(SHR, x, Const(16))), Const(0x3F))

    def leading(self, x: IrValue) -> IrValue:
        """Count the zeros before the first bit that is set: smear it, count the rest."""
        op = self.b.op
        for n in (1, 2, 4, 8, 16):
            x = op(OR, x, op(SHR, x, Const(n)))
        return self.count_bits(op(NOT, x))

    def do_clz(self, m: Mods, a: Args) -> None:
        if m["b3264"] == "b32":
            self.write(a[0], self.leading(self.word(a[1], "b32")), "u32", loose=True)
            return
        self.write(a[0], self.leading64(self.pair(a[1])), "u32", loose=True)

    def leading64(self, words: tuple[IrValue, ...]) -> IrValue:
        """Count the zeros before the first bit of a pair that is set."""
        low, high = words
        none = self.b.op(CMP(cond="e", ty="u32"), high, Const(0))
        return self.b.op(SEL, none, self.b.op(ADD, self.leading(low), Const(32)), self.leading(high))

    def reversed(self, x: IrValue) -> IrValue:
        """Reverse the order of the bits."""
        op = self.b.op
        for n, mask in ((1, 0x5555_5555), (2, 0x3333_3333), (4, 0x0F0F_0F0F), (8, 0x00FF_00FF)):
            up = op(SHL, op(AND, x, Const(mask)), Const(n))
            x = op(OR, op(AND, op(SHR, x, Const(n)), Const(mask)), up)
        return op(OR, op(SHR, x, Const(16)), op(SHL, x, Const(16)))

    def do_brev(self, m: Mods, a: Args) -> None:
        if m["b3264"] == "b64":
            low, high = self.pair(a[1])
            self.write_pair(a[0], (self.reversed(high), self.reversed(low)))
        else:
            self.write(a[0], self.reversed(self.word(a[1], "b32")), "b32")

    def do_bfind(self, m: Mods, a: Args) -> None:
        ty = m["bfe"]
        op = self.b.op
        wide = self.is_wide(ty)
        words = self.words(a[1], ty)
        if ty[0] == "s":
            sign = op(SAR, words[-1], Const(31))
            words = tuple(op(XOR, w, sign) for w in words)
        n = self.leading64(words) if wide else self.leading(words[0])
        none = op(CMP(cond="e", ty="u32"), op(OR, *words) if wide else words[0], Const(0))
        found = n if m["shiftamt"] else op(SUB, Const(63 if wide else 31), n)
        self.write(a[0], op(SEL, none, Const(0xFFFF_FFFF), found), "u32")

    def _field(self, position: Operand, length: Operand) -> Pair:
        """Return the position and length of a bit field, which are bytes."""
        return (self.b.op(AND, self.word(position, "u32"), Const(0xFF)),
                self.b.op(AND, self.word(length, "u32"), Const(0xFF)))  # fmt: skip

    def _field_end(self, position: IrValue, length: IrValue, last: int) -> IrValue:
        """Return the highest bit of a field that is inside the register: bits beyond it are copies of its sign."""
        end = self.b.op(SUB, self.b.op(ADD, position, length), Const(1))
        return self.b.op(MINU, end, Const(last))

    def do_bfe(self, m: Mods, a: Args) -> None:
        ty = m["bfe"]
        if self.is_wide(ty):
            self._bfe64(ty, a)
            return
        op = self.b.op
        x = self.word(a[1], ty)
        pos, length = self._field(a[2], a[3])
        if ty == "u32":
            self.write(a[0], op(AND, op(SHR, x, pos), self.ones(length)), ty)
            return
        top = self._field_end(pos, length, 31)
        none = op(CMP(cond="e", ty="u32"), length, Const(0))
        sign = op(SAR, op(SHL, x, op(SUB, Const(31), top)), Const(31))
        field_mask = self.ones(length)
        body = op(AND, op(SAR, x, pos), field_mask)
        v = op(OR, body, op(AND, sign, op(NOT, field_mask)))
        self.write(a[0], op(SEL, none, Const(0), v), ty)

    def _bfe64(self, ty: str, a: Args) -> None:
        op = self.b.op
        x = self.pair(a[1])
        pos, length = self._field(a[2], a[3])
        mask = self.ones64(length)
        moved = self.shift_right(x, pos, ty[0] == "s")
        body = op(AND, moved[0], mask[0]), op(AND, moved[1], mask[1])
        if ty[0] == "s":
            top = self._field_end(pos, length, 63)
            sign = op(SAR, self.shift_left(x, op(SUB, Const(63), top))[1], Const(31))
            sign = op(SEL, op(CMP(cond="e", ty="u32"), length, Const(0)), Const(0), sign)
            body = tuple(op(OR, v, op(AND, sign, op(NOT, k))) for v, k in zip(body, mask, strict=True))
        self.write_pair(a[0], (body[0], body[1]))

    def ones(self, n: IrValue) -> IrValue:
        """Return a number with that many low bits set."""
        return self.b.op(NOT, self.b.op(SHL, Const(0xFFFF_FFFF), n))

    def ones64(self, n: IrValue) -> Pair:
        """Return a pair with that many low bits set."""
        low, high = self.shift_left(words64(-1), n)
        return self.b.op(NOT, low), self.b.op(NOT, high)

    def do_bfi(self, m: Mods, a: Args) -> None:
        op = self.b.op
        pos, length = self._field(a[3], a[4])
        if m["b3264"] == "b64":
            x, y = self.pair(a[1]), self.pair(a[2])
            mask, moved = self.shift_left(self.ones64(length), pos), self.shift_left(x, pos)
            low, high = (
                op(OR, op(AND, v, k), op(AND, old, op(NOT, k))) for v, k, old in zip(moved, mask, y, strict=True)
            )
            self.write_pair(a[0], (low, high))
            return
        x32, y32 = self.word(a[1], "b32"), self.word(a[2], "b32")
        bits = op(SHL, self.ones(length), pos)
        v = op(OR, op(AND, op(SHL, x32, pos), bits), op(AND, y32, op(NOT, bits)))
        self.write(a[0], v, "b32")

    def do_prmt(self, m: Mods, a: Args) -> None:
        op = self.b.op
        x, y, s = self.word(a[1], "b32"), self.word(a[2], "b32"), self.word(a[3], "b32")
        if m["mode"]:  # the two low bits choose one of four selectors
            place = op(SHL, op(AND, s, Const(3)), Const(4))
            s = self.shift_right(words64(SELECTORS[m["mode"]]), place, False)[0]
        out: IrValue = Const(0)
        for k in range(4):
            code = op(AND, op(SHR, s, Const(4 * k)), Const(15))
            pick = op(AND, code, Const(7))
            p = op(CMP(cond="ge", ty="u32"), pick, Const(4))
            source = op(SEL, p, y, x)
            byte = op(ZEXT8, op(SHR, source, op(SHL, op(AND, pick, Const(3)), Const(3))))
            q = op(CMP(cond="lg", ty="u32"), op(AND, code, Const(8)), Const(0))
            byte = op(SEL, q, op(ZEXT8, op(SAR, op(SEXT8, byte), Const(7))), byte)
            out = op(OR, out, op(SHL, byte, Const(8 * k)))
        self.write(a[0], out, "b32")

    def do_lop3(self, m: Mods, a: Args) -> None:
        op = self.b.op
        x, y, z, table = self.word(a[1], "b32"), self.word(a[2], "b32"), self.word(a[3], "b32"), self.word(a[4], "b32")
        if not isinstance(table, Const):
            raise self.refuse("the table of `lop3` must be a constant", a[4])
        out: IrValue = Const(0)
        for k in range(8):
            if table.value >> k & 1:
                term = x if k & 4 else op(NOT, x)
                term = op(AND, term, y if k & 2 else op(NOT, y))
                out = op(OR, out, op(AND, term, z if k & 1 else op(NOT, z)))
        self.write(a[0], out, "b32")
