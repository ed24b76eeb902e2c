"""Random PTX: every spelling of integers, floats and predicates that is exact or rounds once, in loops and branches of all kinds.

A program ends, does not divide by zero, and gives every thread memory of its own.
"""

from __future__ import annotations

import random

SLOT = 64
"""Bytes of global memory per thread: half of them are read, half written."""

INT = ("u16", "s16", "u32", "s32", "u64", "s64")
PREFIX = {"u16": "h", "s16": "h", "b16": "h", "u32": "r", "s32": "r", "b32": "r", "u64": "d", "s64": "d", "b64": "d",
          "f32": "f", "f64": "g", "pred": "p"}  # fmt: skip
COUNTS = {"h": 6, "r": 10, "d": 5, "f": 6, "g": 4, "p": 5}
NICE = (0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF,
        0x80000000, 0xFFFFFFFF)  # fmt: skip
FLOATS = ("0f00000000", "0f80000000", "0f3f800000", "0fbf800000", "0f40490fdb", "0f7f800000", "0fff800000", "0f7fc00000",
          "0f00000001", "0f00800000", "0f4f000000", "0fcf000001", "0f7f7fffff", "0f3f000000", "0f42c80000")  # fmt: skip
CMP_INT = ("eq", "ne", "lt", "le", "gt", "ge")
CMP_UNSIGNED = (*CMP_INT, "lo", "ls", "hi", "hs")
CMP_FLOAT = (*CMP_INT, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


class Program:
    """One random program; `text` is its PTX."""

    def __init__(
        self, seed: int, doubles: bool = True, atomics: bool = True, locks: bool = True, size: int = 30
    ) -> None:
        self.rng = random.Random(seed)
        self.doubles, self.atomics, self.locks = doubles, atomics, locks
        self.lines: list[str] = []
        self.label = 0
        self.depth = 0
        self.loops = 0
        self.text = self._make(size)

    def reg(self, ty: str) -> str:
        p = PREFIX[ty]
        return f"%{p}{self.rng.randrange(COUNTS[p])}"

    def value(self, ty: str) -> str:
        r = self.rng
        if ty == "pred":
            return self.reg(ty)
        if r.random() < 0.25:
            if ty == "f32":
                return r.choice(FLOATS)
            if ty == "f64":
                return f"0d{r.choice((0, 0x3FF0000000000000, 0xBFE0000000000000, 0x4059000000000000)):016x}"
            v = r.choice(NICE) if r.random() < 0.7 else r.getrandbits(32)
            bits = int(ty[1:])
            v &= (1 << bits) - 1
            if ty[0] == "s" and v >> bits - 1:
                return str(v - (1 << bits))
            return str(v)
        return self.reg(ty)

    def put(self, text: str) -> None:
        guard = ""
        if self.rng.random() < 0.1:
            guard = f"@{self.rng.choice(('', '!'))}{self.reg('pred')} "
        self.lines.append(f"    {guard}{text};")

    def _make(self, size: int) -> str:
        r = self.rng
        head = [".version 1.4" if r.random() < 0.5 else ".version 2.3", ".target sm_13", "",
                ".entry k (.param .u64 memory, .param .u32 a, .param .f32 b)", "{",
                "    .reg .u64 %base, %at;", "    .reg .u32 %t<8>;", "    .reg .pred %q<64>;", "    .reg .u32 %n<64>;",
                "    .shared .align 8 .b8 own[4096];", "    .local .align 8 .b8 mine[64];"]  # fmt: skip
        for p, n in COUNTS.items():
            ty = {"h": "u16", "r": "u32", "d": "u64", "f": "f32", "g": "f64", "p": "pred"}[p]
            if p != "g" or self.doubles:
                head.append(f"    .reg .{ty} %{p}<{n}>;")
        head += ["    mov.u32 %t0, %tid.x;", "    mov.u32 %t1, %ctaid.x;", "    mov.u32 %t2, %ntid.x;",
                 "    mad.lo.u32 %t3, %t1, %t2, %t0;", "    ld.param.u64 %base, [memory];",
                 f"    mul.wide.u32 %at, %t3, {SLOT};", "    add.u64 %base, %base, %at;",
                 "    shl.b32 %t4, %t0, 5;", "    mov.u32 %t5, own;", "    add.u32 %t4, %t4, %t5;"]  # fmt: skip
        for p, n in COUNTS.items():
            for k in range(n):
                at = r.randrange(0, 24, 8)
                if p == "h":
                    head.append(f"    ld.global.u16 %h{k}, [%base+{at + 2 * r.randrange(4)}];")
                elif p == "r":
                    head.append(f"    ld.global.u32 %r{k}, [%base+{at + 4 * r.randrange(2)}];" if r.random() < 0.8
                                else f"    ld.param.u32 %r{k}, [a];")  # fmt: skip
                elif p == "d":
                    head.append(f"    ld.global.u64 %d{k}, [%base+{at}];")
                elif p == "f":
                    head.append(f"    ld.global.f32 %f{k}, [%base+{at + 4 * r.randrange(2)}];" if r.random() < 0.8
                                else f"    ld.param.f32 %f{k}, [b];")  # fmt: skip
                elif p == "g" and self.doubles:
                    head.append(f"    cvt.f64.f32 %g{k}, %f{r.randrange(COUNTS['f'])};")
                elif p == "p":
                    head.append(
                        f"    setp.{r.choice(CMP_INT)}.s32 %p{k}, %r{r.randrange(COUNTS['r'])}, {r.choice(NICE[:20])};"
                    )
        self.block(size)
        tail = [f"    st.global.u32 [%base+{32 + 4 * k}], %r{r.randrange(COUNTS['r'])};" for k in range(2)]
        tail += [f"    st.global.u64 [%base+40], %d{r.randrange(COUNTS['d'])};",
                 f"    st.global.f32 [%base+48], %f{r.randrange(COUNTS['f'])};",
                 f"    st.global.u16 [%base+52], %h{r.randrange(COUNTS['h'])};",
                 f"    selp.u32 %t6, 1, 2, %p{r.randrange(COUNTS['p'])};", "    st.global.u8 [%base+54], %t6;"]  # fmt: skip
        if self.doubles:
            tail.append(f"    st.global.f64 [%base+56], %g{r.randrange(COUNTS['g'])};")
        return "\n".join([*head, *self.lines, *tail, "    exit;", "}"]) + "\n"

    # --- control ----------------------------------------------------------------------------------------------------
    def block(self, n: int) -> None:
        r = self.rng
        while n > 0:
            kind = r.random()
            if kind < 0.12 and self.depth < 4 and n > 3:
                inner = r.randrange(2, max(3, n // 2))
                self.branch(inner)
                n -= inner
            elif kind < 0.18 and self.loops < 2 and self.depth < 3 and n > 4:
                inner = r.randrange(2, max(3, n // 2))
                self.loop(inner)
                n -= inner
            elif kind < 0.2 and self.depth == 0:
                self.lines.append("    bar.sync 0;")
                n -= 1
            else:
                self.instruction()
                n -= 1

    def condition(self) -> str:
        r = self.rng
        if r.random() < 0.3:
            return self.reg("pred")
        p = f"%q{self.label % 64}"
        self.lines.append(f"    setp.{r.choice(CMP_INT)}.s32 {p}, {self.reg('s32')}, {self.value('s32')};")
        return p

    def branch(self, n: int) -> None:
        r = self.rng
        self.depth += 1
        self.label += 1
        k = self.label
        p = self.condition()
        self.lines.append(f"    @{r.choice(('', '!'))}{p} bra ELSE{k};")
        self.block(n // 2 if r.random() < 0.5 else n)
        if r.random() < 0.5:
            self.lines += [f"    bra{r.choice(('', '.uni'))} END{k};", f"ELSE{k}:"]
            self.block(max(1, n // 2))
            self.lines.append(f"END{k}:")
        else:
            self.lines.append(f"ELSE{k}:")
        self.depth -= 1

    def loop(self, n: int) -> None:
        r = self.rng
        self.depth += 1
        self.loops += 1
        self.label += 1
        k = self.label
        counter = f"%n{k % 64}"
        start = r.choice(("0", "%t0", "%r0"))
        self.lines.append(f"    and.b32 {counter}, {start}, 7;" if start != "0" else f"    mov.u32 {counter}, 0;")
        if r.random() < 0.15:  # a loop with two entries
            self.lines.append(f"    @{self.condition()} bra MIDDLE{k};")
            middle = True
        else:
            middle = False
        self.lines.append(f"LOOP{k}:")
        self.block(n // 2)
        if middle:
            self.lines.append(f"MIDDLE{k}:")
        if r.random() < 0.4:
            self.lines.append(f"    @{self.condition()} bra OUT{k};")
        self.block(max(1, n - n // 2))
        self.lines += [f"    add.u32 {counter}, {counter}, 1;", f"    setp.lt.u32 %q{k % 64}, {counter}, {r.choice((3, 8, 10))};",
                       f"    @%q{k % 64} bra LOOP{k};", f"OUT{k}:"]  # fmt: skip
        self.loops -= 1
        self.depth -= 1

    # --- instructions -----------------------------------------------------------------------------------------------
    def instruction(self) -> None:
        r = self.rng
        choices = [self.integer] * 6 + [self.floating] * 3 + [self.compare] * 3 + [self.convert] * 3 + [self.memory] * 2
        choices += [self.bits] * 2 + [self.predicates, self.carries]
        r.choice(choices)()

    def integer(self) -> None:
        r = self.rng
        ty = r.choice(INT)
        bits = int(ty[1:])
        op = r.choice(("add", "sub", "mul.lo", "mul.hi", "mul.wide", "mad.lo", "mad.wide", "min", "max", "div", "rem", "abs",
                       "neg", "mul24.lo", "mul24.hi", "mad24.lo", "sad", "add.sat", "sub.sat", "mad.hi"))  # fmt: skip
        d, a, b, c = self.reg(ty), self.value(ty), self.value(ty), self.value(ty)
        if op in ("abs", "neg"):
            ty = "s" + ty[1:]
            self.put(f"{op}.{ty} {d}, {self.reg(ty)}")
        elif op in ("add.sat", "sub.sat"):
            self.put(f"{op}.s32 {self.reg('s32')}, {self.value('s32')}, {self.value('s32')}")
        elif op[:5] in ("mul24", "mad24"):
            t = r.choice(("u32", "s32"))
            third = f", {self.value(t)}" if op[:3] == "mad" else ""
            self.put(f"{op}.{t} {self.reg(t)}, {self.value(t)}, {self.value(t)}{third}")
        elif op.endswith("wide"):
            if bits == 64:
                ty = r.choice(("u16", "s16", "u32", "s32"))
                bits = int(ty[1:])
            wide = f"{ty[0]}{2 * bits}"
            third = f", {self.value(wide)}" if op[:3] == "mad" else ""
            self.put(f"{op}.{ty} {self.reg(wide)}, {self.value(ty)}, {self.value(ty)}{third}")
        elif op in ("div", "rem"):
            if bits == 64 and r.random() < 0.7:
                ty, bits = "u32", 32
                d, a = self.reg(ty), self.value(ty)
            divisor = self.reg(ty)
            if r.random() < 0.3:
                n = r.choice((1, 2, 3, 5, 7, 8, 10, 16, 100, 256))
                self.put(f"{op}.{ty} {d}, {a}, {n}")
            else:
                self.lines.append(f"    or.b{bits} {divisor}, {divisor}, 1;")
                if ty[0] == "s":  # the most negative number by -1 has no quotient
                    self.lines.append(f"    and.b{bits} {divisor}, {divisor}, {(1 << bits - 1) - 1};")
                    self.lines.append(f"    or.b{bits} {divisor}, {divisor}, 1;")
                self.put(f"{op}.{ty} {d}, {a}, {divisor}")
        elif op in ("sad", "mad.lo", "mad.hi"):
            self.put(f"{op}.{ty} {d}, {a}, {b}, {c}")
        else:
            self.put(f"{op}.{ty} {d}, {a}, {b}")

    def carries(self) -> None:
        """A sum of several words: the first link always runs, the last may leave the carry to another."""
        r = self.rng
        ty = r.choice(("u32", "s32", "u64", "s64"))
        first, later = r.choice(
            (("add.cc", "addc"), ("sub.cc", "subc"), ("mad.lo.cc", "madc.hi"), ("mad.hi.cc", "madc.lo"))
        )

        def link(op: str) -> str:
            third = f", {self.value(ty)}" if op[0] == "m" else ""
            return f"{op}.{ty} {self.reg(ty)}, {self.value(ty)}, {self.value(ty)}{third}"

        self.lines.append(f"    {link(first)};")
        for _ in range(r.randrange(1, 4)):
            if r.random() < 0.7:
                self.put(link(later + r.choice(("", ".cc"))))
            else:
                self.instruction_without_carry()

    def instruction_without_carry(self) -> None:
        self.rng.choice((self.integer, self.bits, self.compare))()

    def bits(self) -> None:
        r = self.rng
        n = r.choice((16, 32, 64))
        ty = f"b{n}"
        op = r.choice(
            (
                "and",
                "or",
                "xor",
                "not",
                "cnot",
                "shl",
                "shr",
                "popc",
                "clz",
                "brev",
                "bfe",
                "bfi",
                "shf",
                "mov",
                "pack",
                "bfind",
                "prmt",
                "lop3",
            )
        )
        if op in ("and", "or", "xor"):
            self.put(f"{op}.{ty} {self.reg(ty)}, {self.value('u' + ty[1:])}, {self.value('u' + ty[1:])}")
        elif op in ("not", "cnot"):
            self.put(f"{op}.{ty} {self.reg(ty)}, {self.reg(ty)}")
        elif op in ("shl", "shr"):
            t = ty if op == "shl" else r.choice("us") + ty[1:]
            count = (
                str(r.choice((0, 1, 4, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65)))
                if r.random() < 0.6
                else self.reg("u32")
            )
            self.put(f"{op}.{t} {self.reg(t)}, {self.reg(t)}, {count}")
        elif op == "mov":
            t = r.choice((*INT, "f32"))
            self.put(f"mov.{t} {self.reg(t)}, {self.value(t)}")
        elif op == "pack":
            self.put(r.choice((f"mov.b64 {self.reg('b64')}, {{{self.reg('b32')}, {self.reg('b32')}}}",
                               f"mov.b32 {self.reg('b32')}, {{{self.reg('b16')}, {self.reg('b16')}}}",
                               "mov.b64 {%r1, %r2}, " + self.reg("b64"), "mov.b32 {%h1, %h2}, " + self.reg("b32"))))  # fmt: skip
        elif op in ("popc", "clz"):
            t = r.choice(("b32", "b64"))
            self.put(f"{op}.{t} {self.reg('u32')}, {self.reg(t)}")
        elif op == "brev":
            t = r.choice(("b32", "b64"))
            self.put(f"brev.{t} {self.reg(t)}, {self.reg(t)}")
        elif op == "bfe":
            t = r.choice(("u32", "s32", "u64", "s64"))
            length = r.choice((0, 1, 5, 8, 16, 31, 32, 40, 63, 64, 200, self.reg("u32")))
            self.put(f"bfe.{t} {self.reg(t)}, {self.reg(t)}, {self.value('u32')}, {length}")
        elif op == "bfi":
            t = r.choice(("b32", "b64"))
            place = r.choice((r.randrange(33), r.randrange(70), self.reg("u32")))
            self.put(f"bfi.{t} {self.reg(t)}, {self.reg(t)}, {self.reg(t)}, {place}, {self.value('u32')}")
        elif op == "bfind":
            t = r.choice(("u32", "s32", "u64", "s64"))
            self.put(f"bfind{r.choice(('', '.shiftamt'))}.{t} {self.reg('u32')}, {self.reg(t)}")
        elif op == "prmt":
            mode = r.choice(("", "", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"))
            self.put(f"prmt.b32{mode} {self.reg('b32')}, {self.reg('b32')}, {self.reg('b32')}, {self.value('u32')}")
        elif op == "lop3":
            self.put(
                f"lop3.b32 {self.reg('b32')}, {self.reg('b32')}, {self.reg('b32')}, {self.value('u32')}, {r.randrange(256)}"
            )
        else:
            self.put(f"shf.{r.choice('lr')}.{r.choice(('clamp', 'wrap'))}.b32 {self.reg('b32')}, {self.reg('b32')}, "
                     f"{self.reg('b32')}, {self.value('u32')}")  # fmt: skip

    def floating(self) -> None:
        r = self.rng
        ty = "f64" if self.doubles and r.random() < 0.25 else "f32"
        op = r.choice(("add", "sub", "mul", "min", "max", "abs", "neg", "div", "sqrt", "fma", "copysign", "testp"))
        d, a, b = self.reg(ty), self.value(ty), self.value(ty)
        every = r.choice(("rn", "rn", "rz", "rm", "rp"))
        # up and down need double precision
        rnd = every if self.doubles or every in ("rn", "rz") else "rn"
        if op in ("abs", "neg"):
            self.put(f"{op}.{ty} {d}, {self.reg(ty)}")
        elif op == "copysign":
            self.put(f"copysign.{ty} {d}, {self.reg(ty)}, {self.reg(ty)}")
        elif op == "testp":
            kind = r.choice(("finite", "infinite", "number", "notanumber", "normal", "subnormal"))
            self.put(f"testp.{kind}.{ty} {self.reg('pred')}, {self.reg(ty)}")
        elif op == "div":
            self.put(f"div.{every}.{ty} {d}, {a}, {b}" if r.random() < 0.8 else f"rcp.{every}.{ty} {d}, {self.reg(ty)}")
        elif op == "sqrt":
            self.put(f"sqrt.{every}.{ty} {d}, {self.reg(ty)}")
        elif op == "fma":
            d, a, b = self.reg("f32"), self.value("f32"), self.value("f32")
            if self.doubles:
                self.put(f"fma.{rnd}{self.sat(0.1)}.f32 {d}, {a}, {b}, {self.value('f32')}")
        elif op in ("min", "max"):
            self.put(f"{op}.{ty} {d}, {a}, {b}")
        else:
            self.put(f"{op}.{rnd}{self.sat(0.15) if ty == 'f32' else ''}.{ty} {d}, {a}, {b}")

    def sat(self, often: float) -> str:
        return ".sat" if self.rng.random() < often else ""

    def compare(self) -> None:
        r = self.rng
        ty = r.choice((*INT, "f32", "f32", *(("f64",) if self.doubles else ())))
        names = CMP_FLOAT if ty[0] == "f" else CMP_UNSIGNED if ty[0] == "u" else CMP_INT
        c, a, b = r.choice(names), self.reg(ty), self.value(ty)
        kind = r.random()
        if kind < 0.4:
            self.put(f"setp.{c}.{ty} {self.reg('pred')}, {a}, {b}")
        elif kind < 0.5:
            self.put(f"setp.{c}.{r.choice(('and', 'or', 'xor'))}.{ty} {self.reg('pred')}, {a}, {b}, "
                     f"{r.choice(('', '!'))}{self.reg('pred')}")  # fmt: skip
        elif kind < 0.6:
            self.put(f"setp.{c}.{ty} %p0|%p1, {a}, {b}")
        elif kind < 0.75:
            t = r.choice(("u32", "s32", "f32"))
            self.put(f"set.{c}.{t}.{ty} {self.reg(t)}, {a}, {b}")
        elif kind < 0.9:
            t = r.choice((*INT, "f32", *(("f64",) if self.doubles else ())))
            self.put(f"selp.{t} {self.reg(t)}, {self.value(t)}, {self.value(t)}, {self.reg('pred')}")
        else:
            t, u = r.choice((*INT, "f32")), r.choice(("s32", "f32"))
            self.put(f"slct.{t}.{u} {self.reg(t)}, {self.value(t)}, {self.value(t)}, {self.reg(u)}")

    def convert(self) -> None:
        r = self.rng
        to, source = (r.choice((*INT, "u8", "s8", "f32", *(("f64",) if self.doubles else ()))) for _ in range(2))
        place = {"u8": "u16", "s8": "s16"}
        d, a = self.reg(place.get(to, to)), self.reg(place.get(source, source))
        if to[0] == "f" and source[0] == "f":
            mods = "" if to == source or to == "f64" else ".rn"
            if to == source and r.random() < 0.7:
                mods = "." + r.choice(("rni", "rzi", "rmi", "rpi"))
            if to == source == "f32" and r.random() < 0.2:
                mods += ".sat"
        elif to[0] == "f":
            mods = ".rn"
        elif source[0] == "f":
            if "64" in to and not self.doubles:
                return
            mods = "." + r.choice(("rni", "rzi", "rmi", "rpi"))
        else:
            mods = self.sat(0.2)
        if to[0] == "f" and "64" in source and not self.doubles:
            return
        self.put(f"cvt{mods}.{to}.{source} {d}, {a}")

    def memory(self) -> None:
        r = self.rng
        space, base = r.choice((("shared", "%t4"), ("local", "mine"), ("global", "%base")))
        at = r.randrange(0, 24, 8)
        ty = r.choice(("u8", "s8", "u16", "s16", "u32", "f32", "u64"))
        reg = self.reg({"u8": "u16", "s8": "s16"}.get(ty, ty))
        kind = r.random()
        if self.atomics and kind < 0.15:
            op, t = r.choice((("add", "u32"), ("exch", "b32"), ("min", "s32"), ("max", "u32"), ("and", "b32"), ("or", "b32"),
                              ("xor", "b32"), ("inc", "u32"), ("dec", "u32"), ("cas", "b32")))  # fmt: skip
            where = r.choice((("global", "%base"), ("shared", "%t4"))) if self.locks else ("global", "%base")
            third = f", {self.reg(t)}" if op == "cas" else ""
            self.put(f"atom.{where[0]}.{op}.{t} {self.reg(t)}, [{where[1]}+{at}], {self.reg(t)}{third}")
        elif kind < 0.25 and space == "global":
            self.put(r.choice((f"ld.global.v2.u32 {{%r0, %r1}}, [%base+{at}]", f"st.global.v2.u32 [%base+{at}], {{%r2, %r3}}",
                               f"ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%base+{r.choice((0, 16))}]",
                               f"st.global.v4.u32 [%base+16], {{{self.reg('u32')}, %r0, %r0, {self.reg('u32')}}}",
                               f"ld.global.v4.u8 {{%h0, %h1, %h2, %h3}}, [%base+{at}]",
                               f"ld.global.v2.u16 {{%h0, %h1}}, [%base+{at}]", f"st.global.v2.u16 [%base+{at}], {{%h2, %h3}}")))  # fmt: skip
        elif kind < 0.6:
            self.put(f"st.{space}.{ty} [{base}+{at}], {reg}")
        else:
            self.put(f"ld.{space}.{ty} {reg}, [{base}+{at}]")

    def predicates(self) -> None:
        r = self.rng
        op = r.choice(("and", "or", "xor", "not", "mov"))
        a, b = self.reg("pred"), self.reg("pred")
        self.put(f"{op}.pred {self.reg('pred')}, {a}" + ("" if op in ("not", "mov") else f", {b}"))
