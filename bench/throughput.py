"""How many instructions of each kind an engine runs per second: one loop of one kind of instruction per row.

Every row is a kernel of 256 x 256 threads whose loop holds 16 instructions of a kind; the rate is thread instructions
of that kind per second of processor time, the counting of the loop measured apart and subtracted. `cycles` are clock
cycles per 16 lanes at the clock rate given with --ghz. Rows differ in the instruction, in where its operands lie, in
the lanes that execute it, and in the data: ordinary numbers, or zeros, denormals, infinities and NaNs in some lanes.

Where there is a gcc, the same loop in C (`throughput_peers.c`: -O3 for this processor, transcendental functions by
glibc's libmvec) is timed in turns with it; the share is isakit's rate by that of C. --svg draws the shares as a map.

Usage: bench/throughput.py [--only TEXT] [--tier jit|interp] [--repeat N] [--ghz F] [--json FILE] [--svg FILE]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import isakit

UNROLL = 16
GRID, BLOCK = 256, 256
u32, f32, f64 = np.uint32, np.float32, np.float64


@dataclass
class Row:
    """One loop.

    Attributes: `lines` (instructions of the loop, with destinations from $r20 up), `start` (what comes before
    the loop), `counted` (instructions of the kind in the loop), `data` (kind of the numbers in $r8 up), `texture`
    (number of one of `textures`, bound as $t0).
    """

    name: str
    lines: Sequence[str]
    start: Sequence[str] = ()
    data: str = "ordinary"
    shared: int = 0
    local: int = 0
    counted: int = UNROLL
    chip: str = "gt200"
    texture: int | None = None


SIDE = 256
TEXTURES = {
    "rgba8": (np.uint8, 4, {}),
    "r32f": (np.float32, 1, {}),
    "rgba32f": (np.float32, 4, {}),
    "rgba16": (np.uint16, 4, {}),
}
FILTERS = {"nearest": ("nearest", "none"), "bilinear": ("linear", "none"), "trilinear": ("linear", "linear")}


def textures() -> list[tuple[str, str]]:
    """(format, filter) of the textures that are sampled."""
    return [(form, name) for form in TEXTURES for name in FILTERS]


def bound_texture(number: int) -> Any:
    """(texture, sampler) of that number."""
    from isakit.texture import Sampler, Texture

    form, name = textures()[number]
    dtype, count, _ = TEXTURES[form]
    rng = np.random.default_rng(3)
    mag, mip = FILTERS[name]
    levels = []
    for side in (SIDE >> k for k in range(9 if mip == "linear" else 1)):
        texels = (
            rng.integers(0, 256, (side, side, count)) if dtype == np.uint8 else rng.uniform(0, 1, (side, side, count))
        )
        levels.append((texels * (65535 if dtype == np.uint16 else 1)).astype(dtype))
    return Texture(levels, form), Sampler("repeat", mag, mag, mip)


PEERS = {
    "add b32": "add_b32", "xor b32": "xor_b32", "min s32": "min_s32", "mul u16": "mul_u16",
    "shl by register": "shl_b32", "shr s32 by register": "shr_s32", "set u32": "set_u32", "sad s32": "sad_s32",
    "add rn f32": "add_f32", "add rz f32": "add_f32", "mul rn f32": "mul_f32", "mad f32": "mad_f32",
    "mad f32 to a sum": "mac_f32",
    "max f32": "max_f32", "set f32": "set_f32", "add rn f32, half of the lanes": "half_add_f32",
    "add rn f64": "add_f64", "mul rn f64": "mul_f64", "fma rn f64": "fma_f64", "cvt f32 s32": "cvt_f32_s32",
    "cvt rn s32 f32": "cvt_s32_f32", "cvt rz s32 f32": "cvt_rz_s32_f32", "cvt f32 u32": "cvt_f32_u32",
    "cvt f64 f32": "cvt_f64_f32", "cvt f32 f64": "cvt_f32_f64", "cvt s32 f64": "cvt_s32_f64",
    "cvt f64 s32": "cvt_f64_s32", "min f64": "min_f64", "set f64": "set_f64",
    "rcp": "rcp_f32", "rsqrt": "rsqrt_f32", "lg2": "lg2_f32", "ex2": "ex2_f32",
    "sin": "sin_f32", "cos": "cos_f32", "ld u8 g[]": "ld_u8", "red add g[], same address": "red_same",
    "red add g[], consecutive": "red_consecutive",
}  # fmt: skip
"""The function in C of a row."""
PATTERNS = {
    "consecutive": "consecutive", "same address": "same", "reversed": "reversed", "stride 2": "stride2",
    "stride 3": "stride3", "permuted in the row": "permuted", "scattered": "scattered",
}  # fmt: skip
PEERS |= {f"{op} g[], {pattern}": f"{op}_{name}" for op in ("ld", "st") for pattern, name in PATTERNS.items()}
DOUBLES = ("add_f64", "mul_f64", "fma_f64", "min_f64", "set_f64", "cvt_f32_f64", "cvt_s32_f64")


class Peers:
    """The loops in C; without a gcc there are none."""

    def __init__(self) -> None:
        self._libraries: list[ctypes.CDLL] = []
        gcc = shutil.which("gcc")
        if gcc is None:
            return
        source = Path(__file__).parent / "throughput_peers.c"
        for flags in (["-ffp-contract=off"], ["-ffast-math", "-DFAST"]):
            out = Path(tempfile.mkdtemp()) / "peers.so"
            wide = ["-O3", "-march=native", "-mprefer-vector-width=512", "-shared", "-fPIC"]
            subprocess.run([gcc, *wide, *flags, str(source), "-o", str(out), "-lm"], check=True)
            self._libraries.append(ctypes.CDLL(str(out)))

    def rate(self, row: Row, seconds: float = 0.05) -> float | None:
        """G operations per second of the loop of a row, for about so long."""
        name = PEERS.get(row.name)
        function = next((getattr(lib, name) for lib in self._libraries if name and hasattr(lib, name)), None)
        if function is None:
            return None
        given = numbers(row.data).T.copy() if name not in DOUBLES else numbers("double").view(f64).T.copy()
        a = in_lines(np.zeros(4 * BLOCK, f64))
        a.view(np.uint8)[: given.nbytes] = given.view(np.uint8).ravel()
        r, buffer = in_lines(np.ones(8 * BLOCK, f64)), in_lines(np.zeros(1 << 19, u32))
        index = in_lines((np.arange(BLOCK, dtype=np.uint64) * 0x79B1 & 0xFFFF).astype(u32))
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (a, r, buffer, index)]
        turns = 64
        while True:
            start = time.process_time()
            function(ctypes.c_uint32(turns), *pointers)
            taken = time.process_time() - start
            if taken > seconds or turns >= 1 << 26:
                return BLOCK * turns * UNROLL / max(taken, 1e-9) / 1e9
            turns *= 4


def in_lines(array: np.ndarray) -> np.ndarray:
    """A copy that begins at a line of the cache: else the rate of C depends on where memory happens to be."""
    raw = np.zeros(array.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    copy = raw[start : start + array.nbytes].view(array.dtype)
    copy[:] = array
    return copy


def heat_map(shares: dict[str, float]) -> str:
    """The shares as SVG: red where C is ten times as fast, white where both are alike, green beyond."""
    height, lines = 18, []
    for n, (name, share) in enumerate(sorted(shares.items(), key=lambda item: item[1])):
        strength = max(-1.0, min(1.0, math.log10(share)))
        low = round(255 * (1 - abs(strength)))
        colour = f"rgb(255,{low},{low})" if strength < 0 else f"rgb({low},255,{low})"
        y = height * n
        lines.append(f'<rect x="330" y="{y}" width="70" height="{height}" fill="{colour}"/>')
        lines.append(f'<text x="322" y="{y + 13}" text-anchor="end">{name}</text>')
        lines.append(f'<text x="365" y="{y + 13}" text-anchor="middle">{share:.2f}</text>')
    size = f'width="420" height="{height * len(shares)}" font-family="sans-serif" font-size="12"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n' + "\n".join(lines) + "\n</svg>\n"


def loop_of(template: str, count: int = UNROLL, step: int = 1, first: int = 20) -> list[str]:
    """`count` instructions with destinations {d} from $r`first` on, every `step` registers; {e} is the next one's.

    What reads {e} as well cannot be computed for many turns at once, nor before the loop.
    """
    return [template.format(d=first + step * (k % 8), e=first + step * ((k + 1) % 8)) for k in range(count)]


DOUBLE_DATA = ["mov b32 $r16 $r8", "mov b32 $r17 $r9", "mov b32 $r18 $r10", "mov b32 $r19 $r11"]
ADDRESSES = {
    "consecutive": ["shl b32 $r12 $r1 0x2"],
    "same address": ["mov b32 $r12 0x0"],
    "reversed": ["shl b32 $r12 $r1 0x2", "xor b32 $r12 $r12 0x7c"],
    "stride 2": ["shl b32 $r12 $r1 0x3"],
    "stride 3": ["shl b32 $r12 $r1 0x2", "add b32 $r12 $r12 $r12", "shl b32 $r13 $r1 0x2", "add b32 $r12 $r12 $r13"],
    "permuted in the row": ["shl b32 $r12 $r1 0x2", "xor b32 $r12 $r12 0x2c"],
    "scattered": [
        "mov b32 $r13 0x9e3779b1", "mul $r12 u16 $r1l u16 $r13l", "shl b32 $r12 $r12 0x2", "and b32 $r12 $r12 0x3fffc",
    ],
}  # fmt: skip


def rows() -> list[Row]:
    """All loops."""
    out = [
        Row("add b32", loop_of("add b32 $r{d} $r{e} $r{d}")),
        Row("add b32, chain", ["add b32 $r20 $r21 $r20", "add b32 $r21 $r20 $r21"] * (UNROLL // 2)),
        Row("addc", loop_of("addc b32 $r{d} $r{e} $r{d} $c0")),
        Row("mul u24 high", loop_of("mul $r{d} high u24 $r8 $r{d}")),
        Row("mul u16", loop_of("mul $r{d} u16 $r{e}l u16 $r9h")),
        Row("sad s32", loop_of("sad $r{d} s32 $r8 $r9 $r{d}")),
        Row("min s32", loop_of("min s32 $r{d} $r{e} $r{d}")),
        Row("shl by register", loop_of("shl b32 $r{d} $r{d} $r9")),
        Row("shr s32 by register", loop_of("shr s32 $r{d} $r{d} $r9")),
        Row("xor b32", loop_of("xor b32 $r{d} $r{e} $r{d}")),
        Row("set u32", loop_of("set $r{d} l u32 $r8 $r{d}")),
        Row("add b16", loop_of("add b16 $r{d}l $r8l $r{d}h")),
    ]
    floats = {
        "add rn f32": "add rn f32 $r{d} $r8 $r{d}",
        "add rz f32": "add rz f32 $r{d} $r8 $r{d}",
        "mul rn f32": "mul rn f32 $r{d} $r10 $r{d}",
        "mad f32": "add f32 $r{d} (mul $r{d} $r9) $r8",
        "mad f32 to a sum": "add f32 $r{d} (mul $r8 $r9) $r{d}",
        "max f32": "max f32 $r{d} $r8 $r{d}",
        "set f32": "set $r{d} l f32 $r8 $r{d}",
        "rcp": "rcp f32 $r{d} $r8",
        "rsqrt": "rsqrt f32 $r{d} $r8",
        "lg2": "lg2 f32 $r{d} $r8",
    }
    for name, text in floats.items():
        for data in ("ordinary", "zeros", "denormals", "infinities", "NaNs", "large"):
            out.append(Row(name, loop_of(text), data=data))
    for name, lanes in (("half of the lanes", "0x1"), ("one lane", "0x1f")):
        start = ["mov b32 $r13 " + lanes, "and b32 $r12 $r0 $r13", "set $c1 $r13 e u32 $r12 $r13"]
        out.append(Row(f"add rn f32, {name}", loop_of("(lg $c1) add rn f32 $r{d} $r8 $r{d}"), start))
    for name, text in {
        "presin": "presin f32 $r{d} $r8",
        "preex2": "preex2 f32 $r{d} $r8",
        "sin": "sin f32 $r{d} $r14",
        "cos": "cos f32 $r{d} $r14",
        "ex2": "ex2 f32 $r{d} $r15",
    }.items():
        out.append(Row(name, loop_of(text), ["presin f32 $r14 $r8", "preex2 f32 $r15 $r8"]))
    for to, source in (("f32", "s32"), ("f32", "u32"), ("f32", "u16"), ("f32", "s8"), ("f16", "f32")):
        register = "$r{d}l" if source[1:] in ("16", "8") else "$r{d}"
        target = "$r{d}l" if to == "f16" else "$r{d}"
        out.append(Row(f"cvt {to} {source}", loop_of(f"cvt rn {to} {target} {source} {register}")))
    for rounding in ("rn", "rz", "rm", "rp"):
        out.append(Row(f"cvt {rounding} s32 f32", loop_of(f"cvt {rounding}i s32 $r{{d}} f32 $r{{d}}")))
    for rounding in ("rn", "rz"):
        for name, text in {
            "add": "add {r} f64 $r{{d}}d $r16d $r{{d}}d",
            "mul": "mul {r} f64 $r{{d}}d $r16d $r18d",
            "fma": "fma {r} f64 $r{{d}}d $r16d $r18d $r{{d}}d",
        }.items():
            loop = loop_of(text.format(r=rounding), step=2)
            out.append(Row(f"{name} {rounding} f64", loop, data="double"))
    out += [
        Row("min f64", loop_of("min f64 $r{d}d $r16d $r{d}d", step=2), data="double"),
        Row("set f64", loop_of("set $r{d} l f64 $r16d $r18d"), data="double"),
        Row("cvt f64 f32", loop_of("cvt f64 $r{d}d f32 $r{d}", step=2)),
        Row("cvt f32 f64", loop_of("cvt rn f32 $r{d} f64 $r{d}d", step=2), data="double"),
        Row("cvt s32 f64", loop_of("cvt rzi s32 $r{d} f64 $r{d}d", step=2), data="double"),
        Row("cvt f64 s32", loop_of("cvt rn f64 $r{d}d s32 $r{d}", step=2)),
    ]
    for pattern, address in ADDRESSES.items():
        start = [*address, "add b32 $r12 b32 s[buffer] $r12"]
        out.append(Row(f"ld g[], {pattern}", loop_of("ld b32 $r{d} g14[$r12]"), start))
        out.append(Row(f"st g[], {pattern}", ["st b32 g14[$r12] $r8"] * UNROLL, start))
    for pattern in ("consecutive", "same address", "stride 3", "reversed"):
        start = [*ADDRESSES[pattern], "and b32 $r12 $r12 0xffc", "shl $a1 $r12 0x0"]
        out.append(Row(f"s[] as source, {pattern}", loop_of("add b32 $r{d} b32 s[$a1+0x20] $r{d}"), start, shared=8192))
        out.append(Row(f"st s[], {pattern}", ["st b32 s[$a1+0x20] $r8"] * UNROLL, start, shared=8192))
    buffer = "add b32 $r12 b32 s[buffer] $r12"
    pairs, quads, words = (["shl b32 $r12 $r1 " + n, buffer] for n in ("0x3", "0x4", "0x2"))
    apart = [f"add b32 $r{40 + k} $r12 {4 * BLOCK * k:#x}" for k in range(UNROLL)]
    out += [
        Row("ld l[]", loop_of("ld b32 $r{d} l[0x10]"), ["st b32 l[0x10] $r8"], local=64),
        Row("st l[]", ["st b32 l[0x10] $r8"] * UNROLL, local=64),
        Row("ld b64 g[]", loop_of("ld b64 $r{d}d g14[$r12]", step=2), pairs),
        Row("st b64 g[]", ["st b64 g14[$r12] $r8d"] * UNROLL, pairs),
        Row("ld b128 g[]", loop_of("ld b128 $r{d}q g14[$r12]", step=4), quads),
        Row("st b128 g[]", ["st b128 g14[$r12] $r8q"] * UNROLL, quads),
        Row("ld u8 g[]", loop_of("ld u8 $r{d} g14[$r12]"), ["add b32 $r12 b32 s[buffer] $r1"]),
        Row("red add g[], same address", ["red add u32 g14[$r12] $r8"] * UNROLL, ["mov b32 $r12 b32 s[buffer]"]),
        *texture_rows(),
        Row("red add g[], consecutive", [f"red add u32 g14[$r{40 + k}] $r8" for k in range(UNROLL)], [*words, *apart]),
        Row("red add g[], the same row again", ["red add u32 g14[$r12] $r8"] * UNROLL, words),
    ]
    return out


def texture_rows() -> list[Row]:
    """Samples at coordinates along a row of the block (consecutive) or anywhere (scattered)."""
    out = []
    for number, (form, name) in enumerate(textures()):
        for where, scale in (("along rows", "0x3b800000"), ("scattered", "0x431d0000")):
            start = [
                f"mov b32 $r12 {scale}", "cvt rn f32 $r13 u32 $r1", "mul rn f32 $r16 $r13 $r12",
                "mul rn f32 $r17 $r16 $r9", "mov b32 $r18 0x3fc00000",
            ]  # fmt: skip
            lines = []
            for k in range(4):
                lines += [f"mov b32 $r{20 + 8 * k + j} $r{16 + j}" for j in range(3)]
                first = f"$r{20 + 8 * k}"
                block = ":".join(f"$r{20 + 8 * k + j}" for j in range(4))
                sources = ":".join(f"$r{20 + 8 * k + j}" for j in range(3 if name == "trilinear" else 2))
                op = "texlod" if name == "trilinear" else "texauto"
                results = block if TEXTURES[form][1] == 4 else f"{first}:#:#:#"
                lines.append(f"{op} all {results} $t0 $s0 {sources} 0x0 0x0 0x0")
            out.append(Row(f"{op} {form} {name}, {where}", lines, start, counted=4, texture=number))
    return out


def source(row: Row, turns: int) -> str:
    """The kernel of a row."""
    head = [
        ".isa tesla", ".kernel loop", ".param buffer ptr", ".param data ptr", ".regs 64",
        f".shared {max(row.shared, 64)}", f".local {row.local}",
        "cvt u32 $r1 u16 $r0l", "shl b32 $r2 $r1 0x4", "add b32 $r2 b32 s[data] $r2", "ld b128 $r8q g14[$r2]",
        *DOUBLE_DATA,
    ]  # fmt: skip
    head += [f"mov b32 $r{r} $r{8 + r % 4}" for r in range(20, 60)] if row.data != "double" else []
    if row.data == "double":
        head += [f"mov b32 $r{r} $r{8 + r % 2}" for r in range(20, 60)]
    body = [
        *row.start,
        f"mov b32 $r3 {turns:#x}",
        "again:",
        *row.lines,
        "add b32 $c1 $r3 $r3 $r4",
        "(g $c1) bra #again",
    ]
    tail = [f"xor b32 $r20 $r20 $r{r}" for r in range(21, 36)]
    end = ["shl b32 $r2 $r1 0x2", "add b32 $r2 b32 s[buffer] $r2", "exit st b32 g14[$r2] $r20"]
    return "\n".join([*head, "mov b32 $r4 0xffffffff", *body, *tail, *end]) + "\n"


def numbers(kind: str) -> np.ndarray:
    """16 bytes per thread."""
    rng = np.random.default_rng(7)
    if kind == "double":
        return rng.uniform(0.5, 2.0, (BLOCK, 2)).view(u32)
    out = rng.uniform(0.5, 2.0, (BLOCK, 4)).astype(f32).view(u32)
    out[:, 1] = rng.uniform(0.25, 0.75, BLOCK).astype(f32).view(u32)
    out[:, 2] = 0x3F800000
    odd = rng.random((BLOCK, 4)) < 0.25
    special = {"zeros": 0, "denormals": 0x000012AB, "infinities": 0x7F800000, "NaNs": 0x7FC00123, "large": 0x7F000000}
    if kind in special:
        out[odd] = special[kind]
    return out


class Loop:
    """A row ready to run."""

    def __init__(self, row: Row, turns: int, **how: Any) -> None:
        self.device = isakit.Device(row.chip, **how)
        isa = isakit.isa("tesla", row.chip)
        self.kernel = self.device.load(isa.assemble(source(row, turns)))["loop"]
        if row.texture is not None:
            self.device.bind_texture(0, *bound_texture(row.texture))
        self.buffer = self.device.alloc(1 << 21)
        data = numbers(row.data)
        self.data = self.device.alloc(data.nbytes)
        self.device.write(self.data, data)
        self.row, self.turns = row, turns

    def seconds(self) -> float:
        """Processor time of one launch."""
        start = time.process_time()
        self.kernel[GRID, BLOCK](self.buffer, self.data)
        return time.process_time() - start


def measure(row: Row, turns: int, repeat: int, **how: Any) -> tuple[float, float]:
    """(median rate in G thread instructions per second, its spread as a share)."""
    loop, empty = (
        Loop(row, turns, **how),
        Loop(Row("empty", [], row.start, row.data, row.shared, row.local), turns, **how),
    )
    loop.seconds(), empty.seconds()
    rates = []
    for _ in range(repeat):
        taken = max(loop.seconds() - empty.seconds(), 1e-9)
        rates.append(GRID * BLOCK * turns * row.counted / taken / 1e9)
    middle = statistics.median(rates)
    return middle, (max(rates) - min(rates)) / middle


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="only rows whose name contains this; several with commas")
    parser.add_argument("--tier", default="jit", choices=("jit", "interp"))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--turns", type=int, default=0, help="turns of the loop; 0 chooses about 0.1 s")
    parser.add_argument("--ghz", type=float, default=0.0)
    parser.add_argument("--threads", type=int, default=1, help="what a thread achieves beside others, as a share")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    found, shares, peers = {}, {}, Peers()
    more = [" cycles per 16 lanes |"] * bool(options.ghz) + [f" on {options.threads} threads |"] * (options.threads > 1)
    print("| loop of | data | G/s | spread | C, G/s | share |" + "".join(more))
    print("|---|---|---|---|---|---|" + "---|" * len(more))
    for row in rows():
        if not any(word in f"{row.name} {row.data}" for word in options.only.split(",")):
            continue
        how = {"engine": "llvm", "tier": options.tier, "threads": 1}
        try:
            turns = options.turns
            if not turns:
                rate, _ = measure(row, 8, 1, **how)
                turns = int(min(max(rate * 0.1e9 / (GRID * BLOCK * UNROLL), 4), 20000))
            rate, spread = measure(row, turns, options.repeat, **how)
        except isakit.IsakitError as e:
            print(f"| {row.name} | {row.data} | {str(e).splitlines()[0]} |", flush=True)
            continue
        cycles = f" {16 * options.ghz / rate:.1f} |" if options.ghz else ""
        if options.threads > 1:  # processor time: what other work on the machine takes does not count
            several, _ = measure(row, turns, options.repeat, **{**how, "threads": options.threads})
            cycles += f" {several / rate:.2f} |"
        rates = [found_rate for _ in range(options.repeat) if (found_rate := peers.rate(row)) is not None]
        beside = " | |"
        if rates:
            other = statistics.median(rates)
            shares[f"{row.name}, {row.data}"] = rate / other
            beside = f" {other:.2f} | {rate / other:.2f} |"
        print(f"| {row.name} | {row.data} | {rate:.2f} | {spread:.0%} |{beside}{cycles}", flush=True)
        found[f"{row.name}, {row.data}"] = rate
    if options.svg:
        options.svg.write_text(heat_map(shares))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
