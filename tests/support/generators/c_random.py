"""Random programs in C that mean the same to a GPU and to the host.

A program is a chain of phases with barriers between them. A thread keeps its variables in a structure; phases with even
numbers write its own word of shared memory, those with odd numbers read those of others. Everything the standard leaves
open is avoided, so that the host's compiler is an oracle.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np

from isakit.compile.c import compile_c, find_clang

THREADS = 64
WORDS = 32
"""Words a thread reads and writes."""
PHASES = 4
INTS, UNSIGNEDS, FLOATS = ("i0", "i1", "i2", "i3"), ("u0", "u1", "u2"), ("f0", "f1", "f2")
SHORTS = {"h0": "short", "h1": "short", "w0": "unsigned short", "c0": "signed char", "b0": "unsigned char"}
BITS = ("p.a", "p.b", "p.c")
"""Bit fields; the first and the last have signs."""
LONGS, UNSIGNED_LONGS, DOUBLES = ("l0", "l1"), ("m0", "m1"), ("d0", "d1")
ARRAY = 8
"""Places of the array a thread has in local memory."""

FLUSHING = 0x9FC0
"""MXCSR: denormal operands and results are zeros, exceptions masked, round to nearest."""
HEAD = (
    f"#define ARRAY {ARRAY}"
    + """
#ifdef __CUDA__
#define FN static __device__ inline __attribute__((always_inline))
#define CALLED static __device__ __attribute__((noinline))
#else
#define FN static inline
#define CALLED static __attribute__((noinline))
extern "C" unsigned float_environment() { return __builtin_ia32_stmxcsr(); }
extern "C" void set_float_environment(unsigned bits) { __builtin_ia32_ldmxcsr(bits); }
#endif
struct P { int a : 5; unsigned b : 11; int c : 9; };
union Word { float f; int i; unsigned char b[4]; };
struct S {
    int i0, i1, i2, i3; unsigned u0, u1, u2; float f0, f1, f2; short h0, h1; unsigned short w0; signed char c0;
    unsigned char b0; struct P p; long long l0, l1; unsigned long long m0, m1; REAL d0, d1; int a[ARRAY];
};
FN float kept(float f) { return f == f ? f : 0.0f; }
FN int whole(float f) { return f > -1000000.0f && f < 1000000.0f ? (int)f : 7; }
FN long long whole_long(REAL d) { return d > (REAL)-1e15 && d < (REAL)1e15 ? (long long)d : 9; }
/* Doubles of the chip have denormals and those of the host are flushed, so neither gets any. */
FN REAL bounded(REAL d) {
    return (d > (REAL)1e-30 && d < (REAL)1e30) || (d < (REAL)-1e-30 && d > (REAL)-1e30) ? d : (REAL)0;
}
FN int bits_of(float f) { union Word w; w.f = kept(f); return w.i; }
FN int swapped(int i) { union Word w, v; w.i = i; for (int k = 0; k < 4; k++) v.b[k] = w.b[3 - k]; return v.i; }
FN float as_float(int v) { return (float)(v % 4096) * 0.03125f; }
FN void load(struct S *s, const int *in) {
    s->i0 = in[0]; s->i1 = in[1]; s->i2 = in[2]; s->i3 = in[3]; s->u0 = in[4]; s->u1 = in[5]; s->u2 = in[6];
    s->f0 = as_float(in[7]); s->f1 = as_float(in[8]); s->f2 = as_float(in[9]);
    s->h0 = in[10]; s->h1 = in[11]; s->w0 = in[12]; s->c0 = in[13]; s->b0 = in[14];
    s->p.a = in[15]; s->p.b = in[16]; s->p.c = in[17];
    s->l0 = in[18] * 0x100000001ll; s->l1 = in[19]; s->m0 = (unsigned)in[20]; s->m1 = (long long)in[21] * in[22];
    s->d0 = in[23] * (REAL)0.03125; s->d1 = as_float(in[24]);
    for (int k = 0; k < ARRAY; k++) s->a[k] = in[k] ^ in[31 - k];
}
FN void store(const struct S *s, int *out) {
    float f[3] = {kept(s->f0), kept(s->f1), kept(s->f2)};
    out[0] = s->i0; out[1] = s->i1; out[2] = s->i2; out[3] = s->i3; out[4] = s->u0; out[5] = s->u1; out[6] = s->u2;
    ((float *)out)[7] = f[0]; ((float *)out)[8] = f[1]; ((float *)out)[9] = f[2];
    out[10] = s->h0; out[11] = s->h1; out[12] = s->w0; out[13] = s->c0; out[14] = s->b0;
    out[15] = s->p.a; out[16] = s->p.b; out[17] = s->p.c;
    ((long long *)out)[9] = s->l0; ((long long *)out)[10] = s->l1;
    ((unsigned long long *)out)[11] = s->m0; ((unsigned long long *)out)[12] = s->m1;
    ((REAL *)out)[26 * 4 / sizeof(REAL)] = s->d0; ((REAL *)out)[28 * 4 / sizeof(REAL)] = s->d1;
    out[30] = 0; out[31] = 0;
    for (int k = 0; k < ARRAY; k++) out[30 + (k & 1)] = out[30 + (k & 1)] * 31 + s->a[k];
}
"""
)


class Program:
    """One random program: `text` has a kernel `k<seed>` for the GPU and a function `host<seed>` for the host."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = Random(seed)
        self.lines: list[str] = []
        self.depth = 0
        self.count = 0
        self.moving = self.rng.random() < 0.3
        """Whether places of the array are computed, so that the structure lies in memory."""
        self.odd = False
        self.helpers = 0
        for helper in range(self.rng.choice((0, 0, 0, 1, 2))):
            self.line(f"CALLED int helper{seed}_{helper}(struct S *s, int t, long long l, REAL d) {{")
            self.statements(self.rng.randrange(2, 5))
            self.line(f"s->l0 += l; s->d1 = bounded(s->d1 - d); return {self.integer(2)};\n}}")
            self.helpers += 1
        for phase in range(PHASES):
            self.line(f"FN void phase{seed}_{phase}(struct S *s, int t, volatile int *sh) {{")
            self.odd = phase % 2 == 1
            self.statements(self.rng.randrange(3, 6))
            if not self.odd:
                self.line(f"sh[t] = {self.integer(2)};")
            self.line("}")
        calls = [f"phase{seed}_{p}(&s, t, sh);" for p in range(PHASES)]
        body = " __syncthreads(); ".join(calls)
        self.line("#ifdef __CUDA__")
        self.line(f'extern "C" __global__ void k{seed}(const int *in, int *out) {{ __shared__ int sh[{THREADS}]; '
                  f"struct S s; int t = threadIdx.x, n = (blockIdx.x * {THREADS} + t) * {WORDS}; "
                  f"load(&s, in + n); {body} store(&s, out + n); }}")  # fmt: skip
        self.line("#else")
        loops = " ".join(f"for (int t = 0; t < {THREADS}; t++) {c.replace('&s', '&all[t]')}" for c in calls)
        every = f"for (int t = 0; t < {THREADS}; t++)"
        self.line(f'extern "C" void host{seed}(const int *in, int *out, int blocks) {{ '
                  f"for (int b = 0; b < blocks; b++) {{ struct S all[{THREADS}]; int sh[{THREADS}]; "
                  f"in += b ? {THREADS * WORDS} : 0; out += b ? {THREADS * WORDS} : 0; "
                  f"{every} load(&all[t], in + t * {WORDS}); {loops} {every} store(&all[t], out + t * {WORDS}); "
                  "} }")  # fmt: skip
        self.line("#endif")
        self.text = "\n".join(self.lines)

    def line(self, text: str) -> None:
        self.lines.append(text)

    # --- statements ---
    def statements(self, n: int) -> None:
        for _ in range(n):
            r = self.rng.random()
            if r < 0.14 and self.depth < 3:
                self.branch()
            elif r < 0.26 and self.depth < 2:
                self.loop()
            elif r < 0.28 and self.depth:
                self.line(f"if ({self.condition()}) return;" if self.odd else ";")
            elif r < 0.34 and self.depth < 2:
                self.switch()
            else:
                self.assignment()

    def assignment(self) -> None:
        r = self.rng
        kind = r.random()
        if kind < 0.3:
            op = r.choice(("=", "=", "+=", "-=", "^=", "|=", "&="))
            self.line(f"s->{r.choice(INTS)} {op} {self.integer(3)};")
        elif kind < 0.45:
            op = r.choice(("=", "+=", "*=", "^="))
            self.line(f"s->{r.choice(UNSIGNEDS)} {op} {self.unsigned(3)};")
        elif kind < 0.6:
            self.line(f"s->{r.choice(FLOATS)} {r.choice(('=', '+=', '-=', '*='))} {self.single(3)};")
        elif kind < 0.7:
            name = r.choice(list(SHORTS))
            self.line(f"s->{name} = ({SHORTS[name]})({self.integer(2)});")
        elif kind < 0.75:
            self.line(f"s->{r.choice(BITS)} = {self.integer(2)};")
        elif kind < 0.83:
            op = r.choice(("=", "+=", "-=", "*=", "^=", "|="))
            name, value = r.choice(((LONGS, self.long), (UNSIGNED_LONGS, self.unsigned_long)))
            self.line(f"s->{r.choice(name)} {op} {value(2)};")
        elif kind < 0.9:
            self.line(f"s->{r.choice(DOUBLES)} = bounded({self.double(2)});")
        elif kind < 0.97 or not self.helpers:
            self.line(f"s->a[{self.place()}] {r.choice(('=', '+=', '^='))} {self.integer(2)};")
        else:
            name = f"helper{self.seed}_{r.randrange(self.helpers)}"
            self.line(f"s->{r.choice(INTS)} ^= {name}(s, {self.integer(1)}, {self.long(1)}, {self.double(1)});")

    def place(self) -> str:
        return f"({self.integer(1)}) & {ARRAY - 1}" if self.moving else str(self.rng.randrange(ARRAY))

    def switch(self) -> None:
        r = self.rng
        self.depth += 1
        self.line(f"switch ({self.integer(1)} & {r.choice((3, 7, 15))}) {{")
        for value in r.sample(range(8), r.randrange(2, 6)):
            self.line(f"case {value}:")
            self.statements(r.randrange(1, 3))
            if r.random() < 0.7:
                self.line("break;")
        if r.random() < 0.6:
            self.line("default:")
            self.statements(1)
        self.line("}")
        self.depth -= 1

    def branch(self) -> None:
        self.depth += 1
        self.line(f"if ({self.condition()}) {{")
        self.statements(self.rng.randrange(1, 4))
        if self.rng.random() < 0.5:
            self.line("} else {")
            self.statements(self.rng.randrange(1, 4))
        self.line("}")
        self.depth -= 1

    def loop(self) -> None:
        r = self.rng
        self.depth += 1
        self.count += 1
        k = f"k{self.count}"
        end = r.choice((str(r.randrange(1, 9)), f"(s->{r.choice(INTS)} & 7)", "(t & 3) + 1"))
        self.line(f"for (int {k} = 0, n{k} = {end}; {k} < n{k}; {k}++) {{")
        self.statements(r.randrange(1, 4))
        if r.random() < 0.4:
            self.line(f"if ({self.condition()}) {r.choice(('break', 'continue'))};")
            self.statements(r.randrange(1, 3))
        self.line(f"s->{r.choice(INTS)} += {k};")
        self.line("}")
        self.depth -= 1

    # --- expressions ---
    def condition(self) -> str:
        r = self.rng
        op = r.choice(("<", "<=", ">", ">=", "==", "!="))
        kind = r.random()
        if kind < 0.5:
            return f"{self.integer(1)} {op} {self.integer(1)}"
        if kind < 0.7:
            return f"{self.unsigned(1)} {op} {self.unsigned(1)}"
        if kind < 0.8:
            return f"{self.single(1)} {op} {self.single(1)}"
        if kind < 0.9:
            value = r.choice((self.long, self.unsigned_long, self.double))
            return f"{value(1)} {op} {value(1)}"
        return f"({self.integer(1)} {op} 3 {r.choice(('&&', '||'))} {self.unsigned(1)} {op} 5u)"

    def integer(self, depth: int) -> str:
        r = self.rng
        if depth == 0 or r.random() < 0.2:
            choices = [
                f"s->{r.choice(INTS)}",
                f"s->{r.choice(list(SHORTS))}",
                f"s->{r.choice(BITS)}",
                f"s->a[{self.place() if depth else r.randrange(ARRAY)}]",
                "t",
                str(r.choice((0, 1, 2, 3, 7, 10, 100, 255, 4095, 65535))),
            ]
            if self.odd:
                choices.append(f"sh[(t ^ {r.randrange(THREADS)}) & {THREADS - 1}]")
            return r.choice(choices)
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        op = r.choice(("+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "?", "16", "f", "min", "w", "bits"))
        if op in ("<<", ">>"):
            return f"({a} {op} ({b} & 31))"
        if op in ("/", "%"):
            return f"({a} {op} (({b} & 1023) | 1))"
        if op == "?":
            return f"({self.condition()} ? +{a} : +{b})"  # `+`: a value, else it chooses between two places in C++
        if op == "16":
            return f"((short)({a}) * (short)({b}))"
        if op == "f":
            return f"whole({self.single(depth - 1)})"
        if op == "w":
            return r.choice(
                (f"(int)({self.long(depth - 1)} >> {r.randrange(64)})", f"(int)whole_long({self.double(depth - 1)})")
            )
        if op == "bits":
            return r.choice((f"bits_of({self.single(depth - 1)})", f"swapped({a})", f"__builtin_popcount({a})",
                             f"__builtin_clz({a} | 1)", f"__builtin_ctz({a} | 64)", f"__builtin_abs({a})"))  # fmt: skip
        if op == "min":
            return f"({a} < {b} ? +{a} : +{b})"
        return f"({a} {op} {b})"

    def unsigned(self, depth: int) -> str:
        r = self.rng
        if depth == 0 or r.random() < 0.2:
            return r.choice(
                (f"s->{r.choice(UNSIGNEDS)}", "(unsigned)t", f"{r.choice((1, 3, 8, 77, 65535, 0x80000000))}u")
            )
        a, b = self.unsigned(depth - 1), self.unsigned(depth - 1)
        op = r.choice(("+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "high"))
        if op in ("<<", ">>"):
            return f"({a} {op} ({b} & 31))"
        if op in ("/", "%"):
            return f"({a} {op} ({b} | 1u))"
        if op == "high":
            return f"(unsigned)(((unsigned long long)({a}) * ({b})) >> 32)"
        return f"({a} {op} {b})"

    def single(self, depth: int) -> str:
        r = self.rng
        if depth == 0 or r.random() < 0.2:
            return r.choice(
                (
                    f"s->{r.choice(FLOATS)}",
                    "0.5f",
                    "-1.25f",
                    "3.0f",
                    "(float)t",
                    f"as_float(s->{r.choice(INTS)})",
                    f"(float)s->{r.choice(LONGS)}",
                    f"(float)s->{r.choice(UNSIGNED_LONGS)}",
                    f"(float)s->{r.choice(DOUBLES)}",
                )
            )
        return self.floating(self.single(depth - 1), self.single(depth - 1))

    def floating(self, a: str, b: str) -> str:
        op = self.rng.choice(("+", "-", "*", "+", "-", "*", "/", "?"))
        return f"({self.condition()} ? {a} : {b})" if op == "?" else f"({a} {op} {b})"

    def long(self, depth: int) -> str:
        r = self.rng
        if depth == 0 or r.random() < 0.2:
            return r.choice((f"s->{r.choice(LONGS)}", f"(long long)s->{r.choice(INTS)}", "0x123456789abcdefll", "-3ll",
                             f"(long long)s->{r.choice(UNSIGNEDS)}"))  # fmt: skip
        a, b = self.long(depth - 1), self.long(depth - 1)
        op = r.choice(("+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "?", "d", "m"))
        if op in ("<<", ">>"):
            return f"({a} {op} ({b} & 63))"
        if op in ("/", "%"):
            return f"({a} {op} (({b} & {r.choice((1023, 0xFFFFFFFFFF))}) | 1))"
        if op == "?":
            return f"({self.condition()} ? {a} : {b})"
        if op == "d":
            return f"whole_long({self.double(depth - 1)})"
        if op == "m":
            return f"(long long){self.unsigned_long(depth - 1)}"
        return f"({a} {op} {b})"

    def unsigned_long(self, depth: int) -> str:
        r = self.rng
        if depth == 0 or r.random() < 0.2:
            return r.choice((f"s->{r.choice(UNSIGNED_LONGS)}", f"(unsigned long long)s->{r.choice(UNSIGNEDS)}",
                             "0xfedcba9876543210ull", f"(unsigned long long)s->{r.choice(LONGS)}"))  # fmt: skip
        a, b = self.unsigned_long(depth - 1), self.unsigned_long(depth - 1)
        op = r.choice(("+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%"))
        if op in ("<<", ">>"):
            return f"({a} {op} ({b} & 63))"
        if op in ("/", "%"):
            return f"({a} {op} ({b} | 1))"
        return f"({a} {op} {b})"

    def double(self, depth: int) -> str:
        r = self.rng
        if depth == 0 or r.random() < 0.2:
            return r.choice((f"s->{r.choice(DOUBLES)}", f"(REAL)s->{r.choice(INTS)}", "(REAL)2.7", "(REAL)-0.001",
                             f"(REAL)s->{r.choice(LONGS)}", f"(REAL)s->{r.choice(UNSIGNED_LONGS)}",
                             f"(REAL)s->{r.choice(UNSIGNEDS)}", f"(REAL)kept(s->{r.choice(FLOATS)})"))  # fmt: skip
        return self.floating(self.double(depth - 1), self.double(depth - 1))


def compile_both(
    seeds: range, folder: Path, doubles: bool = True, options: Sequence[str] = ()
) -> tuple[str, ctypes.CDLL]:
    """The PTX of some programs, compiled with options of clang's, and a library of what they mean to the host.

    Without `doubles`, they compute with floats in their place.
    """
    text = f"#define REAL {'double' if doubles else 'float'}\n" + HEAD + "\n".join(Program(s).text for s in seeds)
    source, library = folder / f"random{seeds.start}.cpp", folder / f"random{seeds.start}.so"
    source.write_text(text)
    command = [*find_clang(), "-x", "c++", "-O1", "-fwrapv", "-ffp-contract=off", "-fPIC", "-shared", "-w"]
    subprocess.run([*command, str(source), "-o", str(library)], check=True, timeout=300)
    ptx = compile_c(f"random{seeds.start}.cu", text, extra=("-fwrapv", "-w", *options))
    return ptx, ctypes.CDLL(str(library))


def meant(library: ctypes.CDLL, seed: int, given: np.ndarray, blocks: int) -> np.ndarray:
    """What a program writes on the host, with denormals flushed."""
    out = np.zeros_like(given)
    before = library.float_environment()
    library.set_float_environment(FLUSHING)
    try:
        getattr(library, f"host{seed}")(ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(out.ctypes.data), blocks)
    finally:
        library.set_float_environment(before)
    return out


def inputs(seed: int, blocks: int) -> np.ndarray:
    """Small and large numbers."""
    rng = np.random.default_rng(seed)
    n = blocks * THREADS * WORDS
    small, large = rng.integers(-100, 100, n), rng.integers(-(1 << 31), 1 << 31, n)
    return np.where(rng.random(n) < 0.7, small, large).astype(np.int32)
