"""A direct interpreter of PTX, one thread after the other: what an instruction means, written down a second time.

It shares the reader of PTX with the compiler and nothing else. Registers hold raw bits. f32 arithmetic flushes
denormals and gives the chips' own NaN, as every f32 instruction of them does; only operations that round once are
known.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from isakit.compile.ptx.grammar import match
from isakit.compile.ptx.numbers import float_bits
from isakit.compile.ptx.syntax import (
    SIZES,
    Address,
    Inverted,
    Label,
    Name,
    Number,
    PtxFunction,
    PtxRegister,
    PtxStatement,
    PtxVariable,
    Vector,
)

DIRECTED = ("rz", "rm", "rp")
M32, M64 = 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF
NAN32, NAN64 = 0x7FFF_FFFF, 0xFFF8_0000_0000_0000


def signed(v: int, bits: int) -> int:
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> bits - 1 else v


def f32(bits: int) -> np.float32:
    bits &= M32
    if not bits & 0x7F80_0000:
        bits &= 0x8000_0000
    return np.uint32(bits).view(np.float32)


def bits32(v: Any) -> int:
    v = np.float32(v)
    if np.isnan(v):
        return NAN32
    b = int(v.view(np.uint32))
    return b if b & 0x7F80_0000 else b & 0x8000_0000


def f64(bits: int) -> np.float64:
    return np.uint64(bits & M64).view(np.float64)


def bits64(v: Any) -> int:
    return NAN64 if np.isnan(v) else int(np.float64(v).view(np.uint64))


def is_nan64(bits: int) -> bool:
    return bits >> 52 & 0x7FF == 0x7FF and bits & (1 << 52) - 1 != 0


def chosen_nan(*bits: int) -> int | None:
    """The f64 NaN an operation gives: the first of its operands that is one, quiet."""
    return next((b | 1 << 51 for b in bits if is_nan64(b)), None)


def width(ty: str) -> int:
    return 8 * SIZES[ty]


class Threads:
    """The threads of a block. `memory` is global memory from address `base` on."""

    def __init__(self, entry: PtxFunction, params: bytes, memory: bytearray, base: int, shape: tuple[int, int]) -> None:
        self.entry, self.params, self.memory, self.base = entry, params, memory, base
        self.grid, self.block = shape
        self.offsets: dict[str, int] = {}
        at = 0
        for p in entry.params:
            at = -(-at // p.align) * p.align
            self.offsets[p.name] = at
            at += p.size
        self.labels = {s.name: k for k, s in enumerate(entry.body) if isinstance(s, Label)}

    def run(self) -> None:
        """Run everything: threads of a block are switched at barriers."""
        for ctaid in range(self.grid):
            shared = bytearray(0x4000)
            threads = [Thread(self, t, ctaid, shared) for t in range(self.block)]
            running = [t.steps() for t in threads]
            while running:
                running = [t for t in running if next(t, None) is not None]


class Thread:
    def __init__(self, all_: Threads, tid: int, ctaid: int, shared: bytearray) -> None:
        self.all, self.shared, self.local = all_, shared, bytearray(0x1000)
        self.special = {"%tid.x": tid, "%ctaid.x": ctaid, "%ntid.x": all_.block, "%nctaid.x": all_.grid, "%tid.y": 0,
                        "%ntid.y": 1, "%laneid": tid % 32}  # fmt: skip
        self.r: dict[int, int] = {}
        self.places: dict[str, int] = {}
        self.carry = 0

    def steps(self) -> Iterator[bool]:
        """Run to the end; gives something at every barrier."""
        body, pc, count = self.all.entry.body, 0, 0
        while pc < len(body):
            s = body[pc]
            pc += 1
            if isinstance(s, Label):
                continue
            count += 1
            assert count < 200_000, "the program does not end"
            if s.guard is not None:
                assert isinstance(s.guard.what, PtxRegister)
                if bool(self.r.get(s.guard.what.index, 0)) == s.inverted:
                    continue
            op = s.opcode.split(".")[0]
            if op == "bra":
                target = s.operands[0]
                assert isinstance(target, Name)
                pc = self.all.labels[target.text]
            elif op in ("exit", "ret"):
                return
            elif op == "bar":
                yield True
            else:
                self.execute(s)

    # --- operands ---------------------------------------------------------------------------------------------------
    def get(self, o: Any, ty: str) -> int:
        """The raw bits of an operand read as a type."""
        mask = (1 << width(ty)) - 1 if ty != "pred" else 1
        if isinstance(o, Number):
            if ty[0] == "f":
                return float_bits(o if o.real else Number(float(o.value), 0, -1), SIZES[ty])
            return int(o.value) & mask
        if isinstance(o, Inverted):
            return self.get(o.name, "pred") ^ 1
        if isinstance(o, Name):
            if isinstance(o.what, PtxRegister):
                return self.r.get(o.what.index, 0) & mask
            if isinstance(o.what, PtxVariable):
                return self.place(o.what)
            return self.special[o.text]
        if isinstance(o, Vector):
            part = width(ty) // len(o.items)
            return sum(self.get(i, f"b{part}") << part * k for k, i in enumerate(o.items))
        raise AssertionError(o)

    def number(self, o: Any, ty: str) -> Any:
        """The operand as a number."""
        v = self.get(o, ty)
        if ty == "f32":
            return f32(v)
        if ty == "f64":
            return f64(v)
        return signed(v, width(ty)) if ty[0] == "s" else v

    def put(self, o: Any, v: int, ty: str) -> None:
        if isinstance(o, Vector):
            part = width(ty) // len(o.items)
            for k, i in enumerate(o.items):
                self.put(i, v >> part * k, f"b{part}")
            return
        assert isinstance(o.what, PtxRegister)
        have = width(o.what.type) if o.what.type != "pred" else 1
        want = width(ty) if ty != "pred" else 1
        v &= (1 << want) - 1
        if have > want and ty[0] == "s":
            v = signed(v, want)
        self.r[o.what.index] = v & (1 << have) - 1

    def place(self, v: PtxVariable) -> int:
        """Where a variable lies in its space, in order of first use."""
        if v.unique not in self.places:
            self.places[v.unique] = 0x100 * (len(self.places) + 1)
        return self.places[v.unique]

    def address(self, o: Any) -> int:
        assert isinstance(o, Address)
        return (self.get(o.base, "u64") if isinstance(o.base, Name) else int(o.base.value)) + o.offset & M32

    def space(self, name: str) -> tuple[bytearray, int]:
        if name == "global":
            return self.all.memory, self.all.base
        return (self.shared, 0) if name == "shared" else (self.local, 0)

    # --- instructions -----------------------------------------------------------------------------------------------
    def execute(self, s: PtxStatement) -> None:
        got = match(s.opcode)
        assert got is not None, s.opcode
        getattr(self, "do_" + got.row.key)(got.mods, s.operands, s.opcode.split(".")[0])

    def do_mov(self, m: Any, a: Any, op: str) -> None:
        self.put(a[0], self.get(a[1], m["move"]), m["move"])

    def do_ld(self, m: Any, a: Any, op: str) -> None:
        items = a[0].items if m["vec"] else (a[0],)
        ty, n = m["any"], SIZES[m["any"]]
        if m["space"] == "param":
            data, at = self.all.params, self.all.offsets[a[1].base.text] + a[1].offset
        else:
            data, base = self.space(m["space"])
            at = self.address(a[1]) - base
        for k, i in enumerate(items):
            self.put(i, int.from_bytes(data[at + k * n : at + k * n + n], "little"), ty)

    def do_st(self, m: Any, a: Any, op: str) -> None:
        items = a[1].items if m["vec"] else (a[1],)
        ty, n = m["any"], SIZES[m["any"]]
        data, base = self.space(m["space"])
        at = self.address(a[0]) - base
        for k, i in enumerate(items):
            data[at + k * n : at + k * n + n] = self.get(i, ty).to_bytes(n, "little")

    def do_atom(self, m: Any, a: Any, op: str) -> None:
        self.put(a[0], self.atomic(m, a[1:]), m["atype"])

    def do_red(self, m: Any, a: Any, op: str) -> None:
        self.atomic(m, a)

    def atomic(self, m: Any, a: Any) -> int:
        ty, n, op = m["atype"], SIZES[m["atype"]], m["aop"]
        data, base = self.space(m["aspace"])
        at = self.address(a[0]) - base
        old = int.from_bytes(data[at : at + n], "little")
        v = self.get(a[1], ty)
        sx, sv = (signed(old, 8 * n), signed(v, 8 * n)) if ty[0] == "s" else (old, v)
        new = {"add": old + v, "exch": v, "min": min(sx, sv), "max": max(sx, sv), "and": old & v, "or": old | v,
               "xor": old ^ v, "inc": 0 if old >= v else old + 1, "dec": v if old == 0 or old > v else old - 1,
               "cas": self.get(a[2], ty) if op == "cas" and old == v else old}[op]  # fmt: skip
        data[at : at + n] = (new & (1 << 8 * n) - 1).to_bytes(n, "little")
        return old

    # integers
    def do_add_int(self, m: Any, a: Any, op: str) -> None:
        ty = m["int"]
        v = self.number(a[1], ty) + self.number(a[2], ty) * (1 if op == "add" else -1)
        self.put(a[0], max(-(1 << 31), min(v, (1 << 31) - 1)) if m["sat"] else v, ty)

    do_sub_int = do_add_int

    def do_mul_int(self, m: Any, a: Any, op: str) -> None:
        self.put(a[0], *self.product(m, a))

    def product(self, m: Any, a: Any) -> tuple[int, str]:
        ty = m["int"]
        v = self.number(a[1], ty) * self.number(a[2], ty)
        how = m.get("wide") or m.get("half") or "lo"
        if how == "wide":
            return v, f"{ty[0]}{2 * width(ty)}"
        return (v >> width(ty) if how == "hi" else v), ty

    def do_mad_int(self, m: Any, a: Any, op: str) -> None:
        v, ty = self.product(m, a)
        self.put(a[0], v + self.get(a[3], ty), ty)

    def do_mad_cc(self, m: Any, a: Any, op: str) -> None:
        ty = m["t"]
        x = self.number(a[1], ty) * self.number(a[2], ty) >> (width(ty) if m["half"] == "hi" else 0)
        self.chain(ty, a[0], x, self.get(a[3], ty), self.carry if op == "madc" else 0, op == "mad" or bool(m["cc"]))

    do_madc = do_mad_cc

    def do_add_cc(self, m: Any, a: Any, op: str) -> None:
        ty = m["addt"]
        x, y = self.get(a[1], ty), self.get(a[2], ty)
        self.chain(ty, a[0], x, y, self.carry if op == "addc" else 0, op == "add" or bool(m["cc"]))

    do_addc = do_add_cc

    def do_sub_cc(self, m: Any, a: Any, op: str) -> None:
        ty = m["addt"]
        v = self.get(a[1], ty) - self.get(a[2], ty) - (self.carry if op == "subc" else 0)
        if op == "sub" or m["cc"]:
            self.carry = int(v < 0)
        self.put(a[0], v, ty)

    do_subc = do_sub_cc

    def chain(self, ty: str, to: Any, x: int, y: int, carry: int, keep: bool) -> None:
        v = (x & (1 << width(ty)) - 1) + y + carry
        if keep:
            self.carry = v >> width(ty)
        self.put(to, v, ty)

    def do_mul24(self, m: Any, a: Any, op: str) -> None:
        self.put(a[0], self.product24(m, a), m["t"])

    def product24(self, m: Any, a: Any) -> int:
        x, y = (self.get(o, "u32") & 0xFF_FFFF for o in a[1:3])
        if m["t"] == "s32":
            x, y = signed(x, 24), signed(y, 24)
        return x * y >> 16 if m["half"] == "hi" else x * y

    def do_mad24(self, m: Any, a: Any, op: str) -> None:
        self.put(a[0], self.product24(m, a) + self.get(a[3], "u32"), m["t"])

    def do_sad(self, m: Any, a: Any, op: str) -> None:
        ty = m["int"]
        self.put(a[0], abs(self.number(a[1], ty) - self.number(a[2], ty)) + self.get(a[3], ty), ty)

    def do_div_int(self, m: Any, a: Any, op: str) -> None:
        ty = m["int"]
        x, y = self.number(a[1], ty), self.number(a[2], ty)
        q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        self.put(a[0], q if op == "div" else x - q * y, ty)

    do_rem_int = do_div_int

    def do_abs_int(self, m: Any, a: Any, op: str) -> None:
        self.put(a[0], abs(self.number(a[1], m["t"])), m["t"])

    def do_neg_int(self, m: Any, a: Any, op: str) -> None:
        self.put(a[0], -self.number(a[1], m["t"]), m["t"])

    def do_min_int(self, m: Any, a: Any, op: str) -> None:
        f = min if op == "min" else max
        self.put(a[0], f(self.number(a[1], m["int"]), self.number(a[2], m["int"])), m["int"])

    do_max_int = do_min_int

    def do_logic(self, m: Any, a: Any, op: str) -> None:
        x, y = self.get(a[1], m["t"]), self.get(a[2], m["t"])
        self.put(a[0], {"and": x & y, "or": x | y, "xor": x ^ y}[op], m["t"])

    def do_not(self, m: Any, a: Any, op: str) -> None:
        self.put(a[0], ~self.get(a[1], m["t"]), m["t"])

    def do_cnot(self, m: Any, a: Any, op: str) -> None:
        self.put(a[0], int(self.get(a[1], m["bits"]) == 0), m["bits"])

    def do_shl(self, m: Any, a: Any, op: str) -> None:
        ty = m["bits"]
        self.put(a[0], self.get(a[1], ty) << min(self.get(a[2], "u32"), width(ty)), ty)

    def do_shr(self, m: Any, a: Any, op: str) -> None:
        ty = m["t"]
        self.put(a[0], self.number(a[1], ty) >> min(self.get(a[2], "u32"), width(ty)), ty)

    def do_popc(self, m: Any, a: Any, op: str) -> None:
        self.put(a[0], self.get(a[1], m["b3264"]).bit_count(), "u32")

    def do_clz(self, m: Any, a: Any, op: str) -> None:
        ty = m["b3264"]
        self.put(a[0], width(ty) - self.get(a[1], ty).bit_length(), "u32")

    def do_brev(self, m: Any, a: Any, op: str) -> None:
        n = width(m["b3264"])
        self.put(a[0], int(format(self.get(a[1], m["b3264"]), f"0{n}b")[::-1], 2), m["b3264"])

    def do_bfe(self, m: Any, a: Any, op: str) -> None:
        ty = m["bfe"]
        x, last = self.get(a[1], ty), width(ty) - 1
        pos, n = self.get(a[2], "u32") & 255, self.get(a[3], "u32") & 255
        sign = 0 if ty[0] == "u" or n == 0 else x >> min(pos + n - 1, last) & 1
        v = sum((x >> pos + k & 1 if k < n and pos + k <= last else sign) << k for k in range(last + 1))
        self.put(a[0], v, ty)

    def do_bfi(self, m: Any, a: Any, op: str) -> None:
        ty = m["b3264"]
        x, y = self.get(a[1], ty), self.get(a[2], ty)
        pos, n = self.get(a[3], "u32") & 255, self.get(a[4], "u32") & 255
        for k in range(n):
            if pos + k < width(ty):
                y = y & ~(1 << pos + k) | (x >> k & 1 if k < width(ty) else 0) << pos + k
        self.put(a[0], y, ty)

    def do_bfind(self, m: Any, a: Any, op: str) -> None:
        ty = m["bfe"]
        x = self.number(a[1], ty)
        at = (~x if x < 0 else x).bit_length() - 1
        self.put(a[0], at if at < 0 or not m["shiftamt"] else width(ty) - 1 - at, "u32")

    def do_prmt(self, m: Any, a: Any, op: str) -> None:
        octets = (self.get(a[1], "b32") | self.get(a[2], "b32") << 32).to_bytes(8, "little")
        s = self.get(a[3], "b32")
        picks = [s >> 4 * k & 15 for k in range(4)]
        n = s & 3
        if m["mode"]:
            picks = {"f4e": [n + k for k in range(4)], "b4e": [n - k & 7 for k in range(4)], "rc8": [n] * 4,
                     "ecl": [max(n, k) for k in range(4)], "ecr": [min(n, k) for k in range(4)],
                     "rc16": [2 * (n & 1) + (k & 1) for k in range(4)]}[m["mode"]]  # fmt: skip
        out = [octets[p & 7] if p < 8 else 255 * (octets[p & 7] >> 7) for p in picks]
        self.put(a[0], int.from_bytes(bytes(out), "little"), "b32")

    def do_lop3(self, m: Any, a: Any, op: str) -> None:
        x, y, z, table = (self.get(o, "b32") for o in a[1:5])
        v = sum((table >> ((x >> k & 1) << 2 | (y >> k & 1) << 1 | z >> k & 1) & 1) << k for k in range(32))
        self.put(a[0], v, "b32")

    def do_copysign(self, m: Any, a: Any, op: str) -> None:
        ty = m["flt"]
        sign = 1 << width(ty) - 1
        self.put(a[0], self.get(a[2], ty) & ~sign | self.get(a[1], ty) & sign, ty)

    def do_testp(self, m: Any, a: Any, op: str) -> None:
        ty = m["flt"]
        v = self.get(a[1], ty) & (1 << width(ty) - 1) - 1
        infinite, least = (0x7F80_0000, 1 << 23) if ty == "f32" else (0x7FF << 52, 1 << 52)
        self.put(a[0], {"finite": v < infinite, "infinite": v == infinite, "number": v <= infinite,
                        "notanumber": v > infinite, "normal": least <= v < infinite,
                        "subnormal": 0 < v < least}[m["class"]], "pred")  # fmt: skip

    def do_shf(self, m: Any, a: Any, op: str) -> None:
        both = self.get(a[1], "b32") | self.get(a[2], "b32") << 32
        n = self.get(a[3], "u32")
        n = n & 31 if m["mode"] == "wrap" else min(n, 32)
        self.put(a[0], both << n >> 32 if m["dir"] == "l" else both >> n, "b32")

    # comparisons
    def compare(self, m: Any, a: Any) -> bool:
        ty, c = m["cmpt"], m["cmp"]
        if ty[0] != "f":
            if c in ("lo", "ls", "hi", "hs"):
                ty, c = "u" + ty[1:], {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[c]
            x, y = self.number(a[0], ty), self.number(a[1], ty)
            unordered = False
        else:
            x, y = self.number(a[0], ty), self.number(a[1], ty)
            unordered = bool(np.isnan(x) or np.isnan(y))
            if c in ("num", "nan"):
                return unordered == (c == "nan")
            if c.endswith("u"):
                if unordered:
                    return True
                c = c[:-1]
        if unordered:
            return False
        return bool({"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[c])

    def joined(self, m: Any, p: bool, a: Any) -> bool:
        if not m.get("bool"):
            return p
        q = bool(self.get(a[3], "pred"))
        return {"and": p and q, "or": p or q, "xor": p != q}[m["bool"]]

    def do_setp(self, m: Any, a: Any, op: str) -> None:
        p = self.compare(m, a[1:3])
        if hasattr(a[0], "first"):
            self.put(a[0].first, self.joined(m, p, a), "pred")
            self.put(a[0].second, self.joined(m, not p, a), "pred")
        else:
            self.put(a[0], self.joined(m, p, a), "pred")

    def do_set(self, m: Any, a: Any, op: str) -> None:
        p = self.joined(m, self.compare(m, a[1:3]), a)
        self.put(a[0], (0x3F80_0000 if m["sett"] == "f32" else M32) if p else 0, m["sett"])

    def do_selp(self, m: Any, a: Any, op: str) -> None:
        self.put(a[0], self.get(a[1] if self.get(a[3], "pred") else a[2], m["sel"]), m["sel"])

    def do_slct(self, m: Any, a: Any, op: str) -> None:
        c = self.number(a[3], m["t"])
        self.put(a[0], self.get(a[1] if c >= 0 else a[2], m["sel"]), m["sel"])

    # floats
    def result(self, v: Any, m: Any, ty: str) -> int:
        if ty == "f64":
            return bits64(v)
        if m.get("sat"):
            v = np.float32(v)
            v = v if np.isnan(v) else np.float32(min(max(v, np.float32(0)), np.float32(1)))
            return bits32(v) & (0x7FFF_FFFF if v == 0 else M32)
        return bits32(v)

    def do_add_flt(self, m: Any, a: Any, op: str) -> None:
        ty = m["flt"]
        x, y = self.number(a[1], ty), self.number(a[2], ty)
        if ty == "f64" and (nan := chosen_nan(self.get(a[2], ty), self.get(a[1], ty))) is not None:
            self.put(a[0], nan, ty)
            return
        y = y if op == "add" else -y
        if m["rnd"] in DIRECTED and np.isfinite(x) and np.isfinite(y):
            self.directed(m, a[0], Fraction(float(x)) + Fraction(float(y)), zero_of_sum(x, y, m["rnd"]))
            return
        self.put(a[0], self.result(x + y, m, ty), ty)

    do_sub_flt = do_add_flt

    def do_mul_flt(self, m: Any, a: Any, op: str) -> None:
        ty = m["flt"]
        if ty == "f64" and (nan := chosen_nan(self.get(a[2], ty), self.get(a[1], ty))) is not None:
            self.put(a[0], nan, ty)
            return
        x, y = self.number(a[1], ty), self.number(a[2], ty)
        if m["rnd"] in DIRECTED and np.isfinite(x) and np.isfinite(y):
            self.directed(m, a[0], Fraction(float(x)) * Fraction(float(y)), x * y)
            return
        self.put(a[0], self.result(x * y, m, ty), ty)

    def directed(self, m: Any, d: Any, exact: Fraction, zero: Any) -> None:
        """A result rounded upwards, downwards or to zero; `zero` has the sign of an exact zero."""
        ty = m["flt"]
        self.put(d, self.result(zero if exact == 0 else rounded_to(exact, m.get("rnd") or m["approx"], ty), m, ty), ty)

    def do_min_flt(self, m: Any, a: Any, op: str) -> None:
        ty = m["flt"]
        x, y = self.number(a[1], ty), self.number(a[2], ty)
        if np.isnan(x) or np.isnan(y):
            v = y if np.isnan(x) else x
            if ty == "f64":
                both = np.isnan(x) and np.isnan(y)
                bits = self.get(a[2] if np.isnan(x) else a[1], ty)
                self.put(a[0], bits | 1 << 51 if both else bits, ty)
                return
        elif x == y:
            zero = np.signbit(x) if op == "min" else not np.signbit(x)
            v = x if zero else y
        else:
            v = min(x, y) if op == "min" else max(x, y)
        self.put(a[0], self.result(v, m, ty), ty)

    do_max_flt = do_min_flt

    def do_div_flt(self, m: Any, a: Any, op: str) -> None:
        self.quotient(m, a[0], self.get(a[1], m["flt"]), self.get(a[2], m["flt"]))

    def do_rcp(self, m: Any, a: Any, op: str) -> None:
        self.quotient(m, a[0], 0x3FF0 << 48 if m["flt"] == "f64" else 0x3F80_0000, self.get(a[1], m["flt"]))

    def quotient(self, m: Any, d: Any, x: int, y: int) -> None:
        p, q = (f32(x), f32(y)) if m["flt"] == "f32" else (f64(x), f64(y))
        if m["approx"] in DIRECTED and np.isfinite(p) and np.isfinite(q) and q != 0:
            self.directed(m, d, Fraction(float(p)) / Fraction(float(q)), p / q)
            return
        if m["flt"] == "f32":
            self.put(d, self.result(p / q, m, "f32"), "f32")
            return
        v = bits64(p / q)
        self.put(d, (chosen_nan(y, x) or NAN64) if is_nan64(v) else v, "f64")

    def do_sqrt(self, m: Any, a: Any, op: str) -> None:
        ty = m["flt"]
        x = self.number(a[1], ty)
        if m["approx"] in DIRECTED and np.isfinite(x) and x > 0:
            # far more digits than there is room for, and a last one that says whether there are more
            n = Fraction(float(x)) * 4**700
            root = isqrt(n.numerator)
            self.directed(m, a[0], Fraction(2 * root + (root * root != n), 2 * 2**700), x)
            return
        if ty == "f32":
            self.put(a[0], self.result(np.sqrt(x), m, "f32"), "f32")
            return
        self.put(a[0], chosen_nan(self.get(a[1], "f64")) or bits64(np.sqrt(x)), "f64")

    def do_abs_flt(self, m: Any, a: Any, op: str) -> None:
        if m["flt"] == "f64" and is_nan64(self.get(a[1], "f64")):
            self.put(a[0], self.get(a[1], "f64") | 1 << 51, "f64")
            return
        self.put(a[0], self.result(abs(self.number(a[1], m["flt"])), m, m["flt"]), m["flt"])

    def do_neg_flt(self, m: Any, a: Any, op: str) -> None:
        if m["flt"] == "f64" and is_nan64(self.get(a[1], "f64")):
            self.put(a[0], self.get(a[1], "f64") | 1 << 51, "f64")
            return
        self.put(a[0], self.result(-self.number(a[1], m["flt"]), m, m["flt"]), m["flt"])

    def do_fma(self, m: Any, a: Any, op: str) -> None:
        x, y, z = (self.number(o, "f32") for o in a[1:4])
        if not all(np.isfinite(v) for v in (x, y, z)):
            self.put(a[0], self.result(np.float64(x) * np.float64(y) + np.float64(z), m, "f32"), "f32")
            return
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        self.directed(m, a[0], exact, zero_of_sum(np.float64(x) * np.float64(y), z, m["rnd"]))

    def do_cvt(self, m: Any, a: Any, op: str) -> None:
        to, source, rnd = m["cvt"], m["from"], m["rni"]
        x = self.number(a[1], source)
        raw = self.get(a[1], source)
        if to[0] == source[0] == "f" and "f64" in (to, source):
            if source == "f32":  # exact, denormals and all
                x = np.uint32(raw).view(np.float32)
            if np.isnan(x):
                if source == "f64":
                    v = raw | 1 << 51 if to == "f64" else raw >> 63 << 31 | 0x7FC0_0000 | raw >> 29 & 0x3F_FFFF
                else:
                    v = raw >> 31 << 63 | 0x7FF8_0000_0000_0000 | (raw & 0x3F_FFFF) << 29
                self.put(a[0], v, to)
                return
            if to == "f32":  # and denormals come out
                self.put(a[0], int(np.float32(x).view(np.uint32)), to)
                return
        if to in ("u64", "s64") and source == "f32":
            # "flushes subnormal inputs if neither source nor destination has 64 bits" (PTX manual, cvt, before 1.5)
            x = np.uint32(raw).view(np.float32)
        if to[0] != "f":
            if source[0] == "f":
                v = self.rounded(x, rnd, to)
                if np.isnan(x) and (source == "f64" or "64" in to):
                    # the chip's own answer, not 0 as the manual has it: the most negative number of 32 or 64 bits
                    v = 1 << (63 if "64" in to else 31)
                    low, high = _range(to)
                    v = v if SIZES[to] >= 4 else max(low, min(signed(v, 32) if to[0] == "s" else v, high))
            else:
                v = x
                if m["sat"]:
                    low, high = _range(to)
                    v = max(low, min(v, high))
            self.put(a[0], v, to)
            return
        if source[0] == "f" and rnd.endswith("i") and np.isfinite(x):
            x = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[rnd](x)
        if source[0] != "f":
            x = np.float32(float(_exact32(x))) if to == "f32" else np.float64(x)
        with np.errstate(over="ignore"):
            self.put(a[0], self.result(x, m, to), to)

    def rounded(self, x: Any, rnd: str, to: str) -> int:
        low, high = _range(to)
        if np.isnan(x):
            return 0
        if np.isinf(x):
            return high if x > 0 else low
        f = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[rnd or "rzi"]
        return max(low, min(int(f(np.float64(x))), high))


def _range(ty: str) -> tuple[int, int]:
    n = width(ty)
    return (-(1 << n - 1), (1 << n - 1) - 1) if ty[0] == "s" else (0, (1 << n) - 1)


def _exact32(v: int) -> Any:
    """An integer as the nearest f32, ties to even."""
    return _nearest(v) if v else np.float32(0)


def zero_of_sum(x: Any, y: Any, rnd: str) -> Any:
    """The zero an exact sum of 0 is: negative if both terms are, or if it rounds downwards and they cancel."""
    if np.signbit(x) == np.signbit(y):
        return np.float32(-0.0 if np.signbit(x) else 0.0)
    return np.float32(-0.0 if rnd == "rm" else 0.0)


def rounded_to(v: Fraction, rnd: str, ty: str) -> Any:
    """A number other than 0 rounded to f32 or f64, denormals included."""
    digits, least, most = (24, -149, 128) if ty == "f32" else (53, -1074, 1024)
    make = np.float32 if ty == "f32" else np.float64
    a, negative = abs(v), v < 0
    e = a.numerator.bit_length() - a.denominator.bit_length() - digits
    while a >= Fraction(2) ** (e + digits):
        e += 1
    e = max(e, least)
    n = a / Fraction(2) ** e
    whole = n.numerator // n.denominator
    if rnd == "rn":
        whole = round(n)
    elif n != whole and rnd == ("rm" if negative else "rp"):
        whole += 1
    if whole.bit_length() + e > most:
        away = rnd == "rn" or rnd == ("rm" if negative else "rp")
        size = make(np.inf) if away else np.finfo(make).max
    else:
        size = make(float(whole * Fraction(2) ** e))
    return -size if negative else size


def _nearest(v: Any) -> np.float32:
    return rounded_to(Fraction(v), "rn", "f32") if v else np.float32(0)
