"""Run many random Tesla kernels on all engines and say where they differ.

Usage: tools/fuzz_engines.py [--first SEED] [--count N] [--jobs N] [--plain]

Each kernel has random `Choices` (with `--plain`: the defaults) and runs on the reference machine, and on the
interpreter and the JIT with one thread and with two. Differences are printed as they are found, and a line with the
counts so far every 50 kernels. The exit code is 1 if anything differed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support import fuzz

WAYS = [("llvm", {"tier": tier, "threads": threads}) for tier in ("interp", "jit") for threads in (1, 2)]
BATCH, SECONDS = 50, 300


def differences(seed: int, plain: bool) -> list[str]:
    """What differs between the engines for the kernel of a seed."""
    return fuzz.compare(seed, WAYS) if plain else fuzz.compare_choices(seed, WAYS)


def run(seeds: range, jobs: int, plain: bool) -> Iterator[str]:
    """All differences of a batch. A new process for each batch: compiled code stays in memory."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=fuzz.keep_nothing) as pool:
        for seed, result in [(seed, pool.submit(differences, seed, plain)) for seed in seeds]:
            try:
                yield from result.result(SECONDS)
            except BrokenProcessPool:
                yield f"{seed} or one before it: the process that compiled it died"
                return
            except TimeoutError:
                yield f"{seed}: not finished in {SECONDS} seconds"


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, default=100, metavar="N")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--plain", action="store_true")
    given = parser.parse_args()
    found, begin, end = 0, time.monotonic(), given.first + given.count
    for first in range(given.first, end, BATCH):
        last = min(first + BATCH, end)
        for difference in run(range(first, last), given.jobs, given.plain):
            found += 1
            print(difference, flush=True)
        done = last - given.first
        print(f"seeds {given.first} to {last - 1}: {done} kernels, {found} differences, "
              f"{time.monotonic() - begin:.0f} s", flush=True)  # fmt: skip
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
