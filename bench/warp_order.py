"""What it costs that the warps of a block have turns: kernels with `Choices.warp_order` as `turns` and `until_waiting`.

The kernels are those of `engines.py` and, with FOLDER, those of real programs, as `tiers.py` captures them there. Both
orders take turns in one process; the ratios are medians of processor time of one thread, without compiling. The second
table names every access that ends a turn, with those that it meets, as the analysis found them for that kernel and
shape of blocks.

Run it: `python bench/warp_order.py [FOLDER] [--only NAME] [--turns N] [--blocks N]`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from engines import Prepared, cases
from tiers import captured

import isakit
from isakit.errors import MachineFault
from isakit.hosts.cuda.replay import Capture
from isakit.machine.tesla import Choices
from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.machine.tesla.analysis.racing_accesses import RacingAccesses, literals_of
from isakit.machine.tesla.launch import Launch

TIERS = ("interp", "jit")
ORDERS = (Choices(warp_order="until_waiting"), Choices(warp_order="turns"))
TURN = 0.2
"""Seconds of processor time that the launches of one measurement take at least."""

Runs = Callable[[], Any]
Made = Callable[[str, Choices], tuple[Runs, Launch]]
"""Given a tier and choices: what launches a kernel once, and the launch."""


def of_examples(only: str) -> Iterator[tuple[str, Made]]:
    """The kernels of `engines.py`."""

    def made(case: Any) -> Made:
        def make(tier: str, choices: Choices) -> tuple[Runs, Launch]:
            k = Prepared(case, "llvm", tier=tier, threads=1, choices=choices)
            return k, k.kernel.prepare(case.grid, case.block, *k.args)

        return make

    for case in cases("small", None):
        if only in case.name:
            yield case.name, made(case)


def of_programs(folder: Path, only: str, blocks: int) -> Iterator[tuple[str, Made]]:
    """Captured kernels, the first launch of each, with so many blocks at most."""

    def made(capture: Path, number: int) -> Made:
        def make(tier: str, choices: Choices) -> tuple[Runs, Launch]:
            opened = Capture(capture)
            with opened.reading(number):
                _, kernel, how = opened.prepare(number, engine="llvm", tier=tier, threads=1, choices=choices)
            x, y = how["grid"][:2]
            how["grid"] = (min(x, blocks), min(y, max(1, blocks // x)))
            shape = how.pop("grid"), how.pop("block")
            return lambda: kernel.launch(*shape, **how), kernel.prepare(*shape, **how)

        return make

    for name, capture, number in captured(folder, only):
        yield name, made(capture, number)


def took(run: Runs, launches: int) -> float:
    """Processor time of one launch."""
    start = time.process_time()
    for _ in range(launches):
        run()
    return (time.process_time() - start) / launches


def ratio(make: Made, tier: str, turns: int) -> tuple[float, float, float]:
    """The least time of a launch with `until_waiting`, and what `turns` takes of it: median and spread of quartiles."""
    runs = [make(tier, choices)[0] for choices in ORDERS]
    for run in runs:
        run()
    launches = max(1, int(TURN / max(took(runs[0], 1), 1e-6)))
    ratios: list[float] = []
    least = float("inf")
    for turn in range(turns):
        before, after = (
            (took(run, launches) for run in runs)
            if turn % 2
            else reversed([took(run, launches) for run in reversed(runs)])
        )
        ratios.append(after / before)
        least = min(least, before)
    low, middle, high = statistics.quantiles(ratios, n=4) if turns > 1 else ratios * 3
    return least, middle, high - low


def points(launch: Launch) -> list[str]:
    """The accesses that end turns, with those they meet."""
    if launch.warps == 1:
        return []
    flow = Flow(launch.code, launch.entry, choices=launch.choices)
    races = RacingAccesses(flow, launch.block, literals_of(launch))
    if not any(races.conflicts):
        return []
    kinds = {a.pc: f"{a.kind} {a.space}[]" for a in races.accesses}
    return [
        f"{pc:#x} ({kinds[pc]}): {', '.join(f'{n:#x} ({kinds[n]})' for n in sorted(others))}"
        for pc, others in sorted(races.meetings().items())
    ] or ["ordered, but no access ends a turn"]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--only", default="", help="kernels of programs whose name contains this")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--blocks", type=int, default=64, help="of a captured launch, at most")
    parser.add_argument("--points", action="store_true", help="print the second table alone")
    given = parser.parse_args()
    found = list(of_examples(given.only))
    if given.folder is not None:
        found += of_programs(given.folder, given.only, given.blocks)
    if not given.points:
        print("| kernel | ends of turns | interpreter s | turns / until_waiting | JIT s | turns / until_waiting |")
        print("|---|---|---|---|---|---|", flush=True)
    table: list[str] = []
    for name, make in found:
        try:
            here = points(make("interp", ORDERS[1])[1])
            table += [f"| {name} | {line} |" for line in here or ["all proven apart"]]
            if not given.points:
                cells = [f"{s:.4f} | {r:.3f} ± {d / 2:.3f}" for s, r, d in (ratio(make, t, given.turns) for t in TIERS)]
                print(f"| {name} | {len(here)} | {' | '.join(cells)} |", flush=True)
        except (isakit.IsakitError, MachineFault) as e:
            print(f"| {name} | {e} |", flush=True)
    print("\n| kernel | access that ends a turn: accesses it meets |\n|---|---|")
    print("\n".join(table))


if __name__ == "__main__":
    main()
