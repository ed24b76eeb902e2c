"""Random programs in C that mean the same to a GPU and to the host.

A program is a chain of phases with barriers between them. A thread keeps its variables in a structure; phases with even
numbers write its own word of shared memory, those with odd numbers read those of others. Everything the standard leaves
open is avoided, so that the host's compiler is an oracle.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from random import Random

import numpy as np

from isakit.compile.c import compile_c, find_clang

THREADS = 64
WORDS = 16
"""Words a thread reads and writes."""
PHASES = 4
INTS, UNSIGNEDS, FLOATS, SHORTS = ("i0", "i1", "i2", "i3"), ("u0", "u1", "u2"), ("f0", "f1", "f2"), ("h0", "h1", "w0")
FIELDS = (*INTS, *UNSIGNEDS, *FLOATS, *SHORTS)

FLUSHING = 0x9FC0
"""MXCSR: denormal operands and results are zeros, exceptions masked, round to nearest."""
HEAD = """
#ifdef __CUDA__
#define FN static __device__ inline __attribute__((always_inline))
#else
#define FN static inline
extern "C" unsigned float_environment() { return __builtin_ia32_stmxcsr(); }
extern "C" void set_float_environment(unsigned bits) { __builtin_ia32_ldmxcsr(bits); }
#endif
struct S { int i0, i1, i2, i3; unsigned u0, u1, u2; float f0, f1, f2; short h0, h1; unsigned short w0; };
FN float kept(float f) { return f == f ? f : 0.0f; }
FN int whole(float f) { return f > -1000000.0f && f < 1000000.0f ? (int)f : 7; }
FN float as_float(int v) { return (float)(v % 4096) * 0.03125f; }
FN void load(struct S *s, const int *in) {
    s->i0 = in[0]; s->i1 = in[1]; s->i2 = in[2]; s->i3 = in[3]; s->u0 = in[4]; s->u1 = in[5]; s->u2 = in[6];
    s->f0 = as_float(in[7]); s->f1 = as_float(in[8]); s->f2 = as_float(in[9]);
    s->h0 = in[10]; s->h1 = in[11]; s->w0 = in[12];
}
FN void store(const struct S *s, int *out) {
    float f[3] = {kept(s->f0), kept(s->f1), kept(s->f2)};
    out[0] = s->i0; out[1] = s->i1; out[2] = s->i2; out[3] = s->i3; out[4] = s->u0; out[5] = s->u1; out[6] = s->u2;
    ((float *)out)[7] = f[0]; ((float *)out)[8] = f[1]; ((float *)out)[9] = f[2];
    out[10] = s->h0; out[11] = s->h1; out[12] = s->w0;
}
"""


class Program:
    """One random program: `text` has a kernel `k<seed>` for the GPU and a function `host<seed>` for the host."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.lines: list[str] = []
        self.depth = 0
        self.count = 0
        for phase in range(PHASES):
            self.line(f"FN void phase{seed}_{phase}(struct S *s, int t, volatile int *sh) {{")
            self.odd = phase % 2 == 1
            self.statements(self.rng.randrange(4, 9))
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
            else:
                self.assignment()

    def assignment(self) -> None:
        r = self.rng
        kind = r.random()
        if kind < 0.4:
            op = r.choice(("=", "=", "+=", "-=", "^=", "|=", "&="))
            self.line(f"s->{r.choice(INTS)} {op} {self.integer(3)};")
        elif kind < 0.6:
            op = r.choice(("=", "+=", "*=", "^="))
            self.line(f"s->{r.choice(UNSIGNEDS)} {op} {self.unsigned(3)};")
        elif kind < 0.8:
            self.line(f"s->{r.choice(FLOATS)} {r.choice(('=', '+=', '-=', '*='))} {self.single(3)};")
        else:
            name = r.choice(SHORTS)
            self.line(f"s->{name} = (unsigned short)({self.integer(2)});" if name[0] == "w"
                      else f"s->{name} = (short)({self.integer(2)});")  # fmt: skip

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
        if kind < 0.85:
            return f"{self.single(1)} {op} {self.single(1)}"
        return f"({self.integer(1)} {op} 3 {r.choice(('&&', '||'))} {self.unsigned(1)} {op} 5u)"

    def integer(self, depth: int) -> str:
        r = self.rng
        if depth == 0 or r.random() < 0.2:
            choices = [
                f"s->{r.choice(INTS)}",
                f"s->{r.choice(SHORTS)}",
                "t",
                str(r.choice((0, 1, 2, 3, 7, 10, 100, 255, 4095, 65535))),
            ]
            if self.odd:
                choices.append(f"sh[(t ^ {r.randrange(THREADS)}) & {THREADS - 1}]")
            return r.choice(choices)
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        op = r.choice(("+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%", "?", "16", "f", "min"))
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
                (f"s->{r.choice(FLOATS)}", "0.5f", "-1.25f", "3.0f", "(float)t", f"as_float(s->{r.choice(INTS)})")
            )
        a, b = self.single(depth - 1), self.single(depth - 1)
        op = r.choice(("+", "-", "*", "+", "-", "*", "/", "?"))
        return f"({self.condition()} ? {a} : {b})" if op == "?" else f"({a} {op} {b})"


def compile_both(seeds: range, folder: Path) -> tuple[str, ctypes.CDLL]:
    """The PTX of some programs, and a library of what they mean to the host."""
    text = HEAD + "\n".join(Program(s).text for s in seeds)
    source, library = folder / f"random{seeds.start}.cpp", folder / f"random{seeds.start}.so"
    source.write_text(text)
    command = [*find_clang(), "-x", "c++", "-O1", "-fwrapv", "-ffp-contract=off", "-fPIC", "-shared", "-w"]
    subprocess.run([*command, str(source), "-o", str(library)], check=True, timeout=300)
    ptx = compile_c(f"random{seeds.start}.cu", text, extra=("-fwrapv", "-w"))
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
