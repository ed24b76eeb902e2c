"""What answers to open questions cost: the kernels of `engines.py` with each other answer, and with the usual ones.

Usage: bench/choices.py [--turns N] [--small] [NAME ...]

NAME: fields of `Choices`; else all. The usual answers and others have a process each and take turns (`trees.py`).
The table has the speed with the answer relative to the usual ones, the median of the turns, of the kernel that is
slowest; above 1 is faster. The last row has all other answers at once.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

from trees import HERE, KERNELS, TIERS, TURN, Tree

OTHER: dict[str, Any] = {
    "first": "fallthrough", "join": "after", "early_join": "complete", "stack_entries": 16, "stack_overflow": "ignore",
    "wrong_entry": "fault", "brk_without_entry": "STACK_MISMATCH", "call_limit_log": 4, "barrier_all": "block",
    "out_of_range": "ignore", "misaligned": "truncate", "drop_unallocated": False, "nonzero_a56": "ignore",
    "brkpt": "ignore", "pm_counters": ["instructions", "branches", "divergent_branches", "pm_events"], "clock_step": 1,
    "warp_order": "until_waiting",
}  # fmt: skip
"""An answer that is not the usual one for every field; `pm_counters` is a list in JSON."""


def speed(usual: Tree, other: Tree, kernel: str, tier: str, turns: int) -> float:
    """How fast a kernel is with other answers, relative to the usual ones."""
    several = max(1, int(TURN / usual.launch(kernel, tier)))
    ratios: list[float] = []
    for turn in range(turns):
        pair = (usual, other) if turn % 2 else (other, usual)
        took = {id(tree): tree.launch(kernel, tier, several) for tree in pair}
        ratios.append(took[id(usual)] / took[id(other)])
    return statistics.median(ratios)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *OTHER], metavar="NAME")
    parser.add_argument("--turns", type=int, default=9, metavar="N")
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    size = "small" if given.small else "full"
    names = given.names or list(OTHER)
    usual = Tree(HERE.parent, size, {})
    usual.wait()
    print("| answer | interpreter | JIT |\n|---|---|---|")
    rows = [(f"`{n}={OTHER[n]}`", {n: OTHER[n]}) for n in names]
    for label, answers in [*rows, *([] if given.names else [("all of them", OTHER)])]:
        other = Tree(HERE.parent, size, answers)
        other.wait()
        cells: list[str] = []
        for tier in TIERS:
            least, kernel = min((speed(usual, other, kernel, tier, given.turns), kernel) for kernel in KERNELS)
            cells.append(f"{least:.2f} ({kernel})")
        print(f"| {label} | {' | '.join(cells)} |", flush=True)
        other.process.terminate()
    usual.process.terminate()


if __name__ == "__main__":
    main()
