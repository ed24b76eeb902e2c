"""Two trees of isakit in turns: kernels of `engines.py` and small launches, interpreter and JIT, in processor time.

Usage: bench/trees.py TREE [--turns N] [--small] [--only KERNEL ...] [--choices NAME=VALUE ...]

TREE is another checkout (`git worktree add /tmp/before COMMIT`). Each tree has a process of its own; a turn is some
launches in one (for 50 ms: a single one would be measured with cold caches) and the same launches in the other, in an
order that changes from turn to turn. The table has the medians, the median of the ratios of each turn with its
quartiles, and the ratio of the least times. With `--choices` this tree runs twice instead: with the default answers,
and with others.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TURN = 0.05
"""Seconds of a turn."""
KERNELS, TIERS = ("saxpy", "mandelbrot", "matmul", "hash_reduce", "add"), ("interp", "jit")
ADD = """
.kernel add
.param out ptr
.param n u32
mov b32 $r1 b32 s[out]
mov b32 $r2 b32 s[n]
cvt u32 $r0 u16 $r0l
shl b32 $r3 $r0 0x2
add b32 $r1 $r1 $r3
add b32 $r2 $r2 $r0
st b32 g14[$r1] $r2
exit nop
"""
"""A kernel so short that its time is that of a launch."""


def serve(size: str, choices: dict[str, Any]) -> None:
    """Launch what each line of the input names, and answer with its processor time."""
    import engines
    import numpy as np

    import isakit

    answers = {name: tuple(answer) if isinstance(answer, list) else answer for name, answer in choices.items()}
    options = {"choices": isakit.tesla.Choices(**answers)} if choices else {}
    made: dict[tuple[str, str], Any] = {}
    for case in engines.cases(size, None):
        for tier in TIERS:
            device = isakit.Device("gt200", engine="llvm", tier=tier, threads=1, **options)
            source = (HERE.parent / "examples" / "tesla" / f"{case.name}.s").read_text()
            kernel = device.load(isakit.isa("tesla", "gt200").assemble(source))[case.name]
            args: list[Any] = []
            for given in case.args:
                buffer = given
                if isinstance(given, np.ndarray):
                    buffer = device.alloc(given.nbytes)
                    device.write(buffer, given)
                args.append(buffer)
            launch = kernel[case.grid, case.block]
            launch(*args)
            made[case.name, tier] = launch, args
    for tier in TIERS:
        device = isakit.Device("gt200", engine="llvm", tier=tier, threads=1, **options)
        launch = device.load(isakit.isa("tesla", "gt200").assemble(ADD))["add"][1, 32]
        made["add", tier] = launch, [device.alloc(128), np.uint32(7)]
        launch(*made["add", tier][1])
    print("ready", flush=True)
    for line in sys.stdin:
        kernel, tier, times = line.split()
        launch, args = made[kernel, tier]
        begin = time.process_time()
        for _ in range(int(times)):
            launch(*args)
        print((time.process_time() - begin) / int(times), flush=True)


class Tree:
    """A process that launches kernels with the sources of a tree."""

    def __init__(self, tree: Path, size: str, choices: dict[str, Any]) -> None:
        paths = os.pathsep.join(str(p) for p in (tree / "src", tree / "bench"))
        command = [sys.executable, __file__, "--serve", size, json.dumps(choices)]
        environment = {**os.environ, "PYTHONPATH": paths}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def wait(self) -> None:
        """Until it is ready."""
        while self.answer() != "ready":
            pass

    def answer(self) -> str:
        """A line of its output. Raises RuntimeError where it has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the process of a tree has ended")
        return line.strip()

    def launch(self, kernel: str, tier: str, times: int = 1) -> float:
        """Seconds of processor time of a launch, on average."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{kernel} {tier} {times}\n")
        self.process.stdin.flush()
        return float(self.answer())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, nargs="?", metavar="TREE")
    parser.add_argument("--turns", type=int, default=41, metavar="N")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", nargs="+", default=KERNELS, choices=KERNELS, metavar="KERNEL")
    parser.add_argument("--choices", nargs="+", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    size = "small" if given.small else "full"
    answers = dict(c.split("=") for c in given.choices)
    before = HERE.parent if answers or given.tree is None else given.tree
    pair = Tree(before, size, {}), Tree(HERE.parent, size, answers)
    for tree in pair:
        tree.wait()
    print("| kernel | tier | before, ms | now, ms | now / before | quartiles | least |\n|---|---|---|---|---|---|---|")
    for kernel in given.only:
        for tier in TIERS:
            several = max(1, int(TURN / pair[0].launch(kernel, tier)))
            times: list[list[float]] = [[], []]
            for turn in range(given.turns):
                for which in (0, 1) if turn % 2 else (1, 0):
                    times[which].append(pair[which].launch(kernel, tier, several))
            low, ratio, high = statistics.quantiles([b / a for a, b in zip(*times, strict=True)], n=4)
            one, two = (1e3 * statistics.median(t) for t in times)
            least = min(times[1]) / min(times[0])
            figures = f"{one:.2f} | {two:.2f} | {ratio:.3f} | {low:.3f} to {high:.3f} | {least:.3f}"
            print(f"| {kernel} | {tier} | {figures} |", flush=True)
    for tree in pair:
        tree.process.terminate()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], json.loads(sys.argv[3]))
    else:
        main()
