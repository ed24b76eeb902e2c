"""How long commands take from a cold start, beside Python with NumPy alone.

Fresh processes, warm disk and warm `__pycache__`, in turns. Prints a Markdown table: processor and wall-clock time, and
the ratio to `python -c "import numpy"`, which is what a run on the reference engine cannot do without.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

KERNEL = """
.isa tesla
.kernel ten
.param out ptr
.param n u32
    cvt u32 $r1 u16 $r0l
    shl b32 $r2 $r1 0x2
    add b32 $r2 b32 s[out] $r2
    add b32 $r3 $r1 $r1
    add b32 $r3 $r3 0x1
    shl b32 $r3 $r3 0x2
    sub b32 $r3 $r3 $r1
    xor b32 $r3 $r3 $r1
    add b32 $r3 b32 s[n] $r3
    exit st b32 g14[$r2] $r3
"""
NUMPY = "import numpy"


def commands(kernel: Path) -> dict[str, list[str]]:
    """What is measured: name -> arguments of Python."""
    run = ["-m", "isakit", "run", str(kernel), "--block", "32", "--arg", "out:u32:32", "--arg", "u32:5", "--engine"]
    return {
        NUMPY: ["-c", NUMPY],
        "run of ten instructions, reference engine": [*run, "reference"],
        "run of ten instructions, llvm engine": [*run, "llvm"],
        "dis --help": ["-m", "isakit", "dis", "--help"],
    }


def timed(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """(processor time, wall-clock time) of one process, in seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=15, help="processes of each kind [default: 15]")
    turns = max(2, parser.parse_args().turns)
    with tempfile.TemporaryDirectory() as folder:
        kernel = Path(folder, "ten.s")
        kernel.write_text(KERNEL)
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(folder, "pyc")), "NO_COLOR": "1"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        measured: dict[str, list[tuple[float, float]]] = {}
        for turn in range(turns + 1):
            for name, arguments in commands(kernel).items():
                both = timed(arguments, environment)
                if turn:  # the first turn writes bytecode and compiled kernels
                    measured.setdefault(name, []).append(both)
    base = median(cpu for cpu, _ in measured[NUMPY])
    print("| command | processor time, ms (quartiles) | wall-clock time, ms | ratio |")
    print("|---|---|---|---|")
    for name, both in measured.items():
        cpu = [c for c, _ in both]
        low, _, high = quantiles(cpu, n=4)
        wall = median(w for _, w in both)
        print(
            f"| {name} | {1000 * median(cpu):.0f} ({1000 * low:.0f} to {1000 * high:.0f}) | {1000 * wall:.0f} "
            f"| {median(cpu) / base:.2f} |"
        )


if __name__ == "__main__":
    main()
