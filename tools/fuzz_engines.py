"""Run many random Tesla kernels on all engines and say where they differ.

Usage: tools/fuzz_engines.py [--first SEED] [--count N] [--jobs N] [--plain] [--optimise K]

Each kernel has random `Choices` (with `--plain`: the defaults) and runs on the reference machine, and on the
interpreter and the JIT with one thread and with two. Differences are printed as they are found, and a line with the
counts so far every 50 kernels. The exit code is 1 if anything differed.

Nearly all of the time is LLVM's. So 25 seeds that follow each other share their choices, and with them the
interpreter's loop and the functions of control; what the interpreter has compiled is kept for the batches to come; and
with `--optimise K` LLVM optimises only the code of every K-th batch (the rules' code is the same before it does).
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.generators import fuzz

WAYS = [("llvm", {"tier": tier, "threads": threads}) for tier in ("interp", "jit") for threads in (1, 2)]
SHARED, REPORTED, BATCH, SECONDS = 25, 50, 250, 300
"""Seeds that have the same choices; that a line tells of; that a process runs before the next one starts; what a seed
may take."""


def differences(seed: int, plain: bool) -> list[str]:
    """What differs between the engines for the kernel of a seed."""
    return fuzz.compare(seed, WAYS) if plain else fuzz.compare_choices(seed, WAYS, seed // SHARED)


def run(seeds: range, jobs: int, plain: bool, kept: str, level: int) -> Iterator[tuple[int, list[str]]]:
    """Each seed of a batch, and its differences. A new process for each batch: compiled code stays in memory."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=fuzz.keep_in, initargs=(kept, level)) as pool:
        for seed, result in [(seed, pool.submit(differences, seed, plain)) for seed in seeds]:
            try:
                yield seed, result.result(SECONDS)
            except BrokenProcessPool:
                yield seed, [f"{seed} or one before it: the process that compiled it died"]
                return
            except TimeoutError:
                yield seed, [f"{seed}: not finished in {SECONDS} seconds"]


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, default=100, metavar="N")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--optimise", type=int, default=1, metavar="K")
    given = parser.parse_args()
    found, done, begin, end = 0, 0, time.monotonic(), given.first + given.count
    with tempfile.TemporaryDirectory(prefix="fuzz-engines-") as folder:
        for number, first in enumerate(range(given.first, end, BATCH)):
            last = min(first + BATCH, end)
            level = 2 if number % given.optimise == 0 else 0
            for seed, differing in run(range(first, last), given.jobs, given.plain, f"{folder}/{level}", level):
                found += len(differing)
                done += 1
                for difference in differing:
                    print(difference, flush=True)
                if done % REPORTED == 0 or seed == end - 1:
                    print(f"seeds {given.first} to {seed}: {done} kernels, {found} differences, "
                          f"{time.monotonic() - begin:.0f} s", flush=True)  # fmt: skip
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
