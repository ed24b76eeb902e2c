"""The functions of our CUDA headers on the host's processor, for measures over every float and over many doubles.

A simulated chip takes some 100 ns for a value, this 10. That both are the same in every bit is a test.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isakit.compile.c.clang import HEADERS, host_compiler
from isakit.sem.fp import sfu
from isakit.sem.fp.roms import ROMS

_SUPPORT = Path(__file__).parent
_HEADERS = ("math_single.h", "math_double.h", "math_special.h")
_ROUNDED = re.compile(r'asm\("cvt\.rni\.(f32|f64)\.f(?:32|64) .*?\);')
_MACHINE_CODE = re.compile(r"#define __ISAKIT_ROUNDED.*?\n#undef __ISAKIT_ROUNDED\n", re.DOTALL)
PATTERNS = 1 << 32


@dataclass(frozen=True)
class Largest:
    """The largest error of a function, in ulp, and its arguments; where the guide bounds the absolute error, that."""

    error: float
    at: tuple[float, ...]
    absolute: float
    absolute_at: float


@dataclass(frozen=True)
class Programs:
    """The programs `math_floats` and `math_random`."""

    floats: Path
    random: Path

    def float_values(self, name: str, first: int, step: int) -> Any:
        """Return a function's values at every `step`-th bit pattern from `first` on."""
        return np.frombuffer(self._run(self.floats, name, first, PATTERNS, step, "values"), np.float32)

    def values(self, name: str, arguments: Any) -> Any:
        """Return the values of a function of doubles, or of pairs of either type in rows."""
        kind = "double" if arguments.dtype == np.float64 else "float"
        return np.frombuffer(self._run(self.random, kind, name, data=arguments.tobytes()), arguments.dtype)

    def largest_of_floats(self, name: str, first: int = 0, last: int = PATTERNS, step: int = 1) -> Largest:
        """Return the largest error of a function of one float at some bit patterns."""
        error, at, absolute, absolute_at = self._numbers(self.floats, name, first, last, step)
        return Largest(error, (at,), absolute, absolute_at)

    def largest_of_random(
        self, kind: str, name: str, ranges: Sequence[tuple[float, float]], count: int, seed: int
    ) -> Largest:
        """Return the largest error of a function of doubles, or of pairs of either `kind`, at random arguments.

        All special ones are among them. One argument is from any of the ranges, of a pair each from its own; a quarter
        are any bit patterns.
        """
        bounds = [repr(float(v)) for pair in ranges for v in pair]
        error, x, y, absolute, absolute_at = self._numbers(self.random, kind, name, count, seed, *bounds)
        return Largest(error, (x, y), absolute, absolute_at)

    def _numbers(self, program: Path, *words: object) -> list[float]:
        return [float(v) for v in self._run(program, *words).split()[1:]]

    def _run(self, program: Path, *words: object, data: bytes = b"") -> bytes:
        return subprocess.run([str(program), *map(str, words)], check=True, capture_output=True, input=data).stdout


def build(folder: Path) -> Programs:
    """Build the programs in a folder, with the host's compiler, GCC. Raises CalledProcessError."""
    text = "".join((HEADERS / "cuda" / name).read_text() for name in _HEADERS)
    text = _ROUNDED.sub(lambda m: f"y = __builtin_rint{'f' * (m[1] == 'f32')}(x);", re.sub("#include .*\n", "", text))
    text = _MACHINE_CODE.sub(
        "", text.replace("__attribute__((device)) static __attribute__((noinline))", "static inline")
    )
    kept = [line for line in text.splitlines() if not re.search(r"asm\(|fmaf_rn|__saturatef", line)]
    (folder / "headers.h").write_text("#define __ISAKIT_DEVICE static inline\n" + "\n".join(kept) + "\n")
    roms: list[str] = []
    for name, rom in ROMS.items():
        rows = ", ".join(f"{row:#x}" for row in sfu.TABLES[name].entries)
        falls = ", ".join(str(f).lower() for f in sfu.FALLING[name])
        upper, shifts = name.upper(), f"{rom.a_shift}, {rom.c_shift}"
        roms.append(f"static const uint64_t {upper}_ROWS[] = {{{rows}}};\n")
        roms.append(f"#define {upper} {{{upper}_ROWS, {rom.x_bits}, {shifts}, {rom.x_factor}, {falls}}}\n")
    (folder / "roms.h").write_text("".join(roms))
    compiler = [host_compiler() or "g++", "-std=gnu++17", "-march=native", "-w", "-I", str(folder), "-I", str(_SUPPORT)]
    exact = ["-O2", "-ftree-vectorize", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
    floats, randoms, right = (
        str(_SUPPORT / "math_floats.cpp"),
        str(_SUPPORT / "math_random.cpp"),
        str(folder / "right.o"),
    )
    out = Programs(folder / "math_floats", folder / "math_random")
    subprocess.run([*compiler, "-Ofast", "-DRIGHT", "-c", floats, "-o", right], check=True)
    subprocess.run([*compiler, *exact, floats, right, "-o", str(out.floats)], check=True)
    subprocess.run([*compiler, *exact, randoms, "-lquadmath", "-o", str(out.random)], check=True)
    return out
