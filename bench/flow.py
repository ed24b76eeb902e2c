"""What graphs and data flow cost: 100,000 blocks of straight and of branching code. Processor time of one core.

Usage: bench/flow.py [BLOCKS]
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from isakit.flow.dataflow import live_sets
from isakit.flow.dominators import Dominators, natural_loops
from isakit.flow.graph import FlowGraph

REGISTERS = 100
TURNS = 7


def code(blocks: int, branching: bool) -> list[list[int]]:
    """Return the blocks after each block: the next one, and one nearby."""
    r = random.Random(blocks)
    near = [max(0, min(blocks - 1, n + r.randrange(-40, 40))) for n in range(blocks)]
    return [[m for m in ((n + 1, near[n]) if branching else (n + 1,)) if m < blocks] for n in range(blocks)]


def measured(action: Callable[[], Any]) -> str:
    """Return the median and the quartiles of the processor time of an action."""
    times: list[float] = []
    for _ in range(TURNS):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    low, median, high = statistics.quantiles(times, n=4)
    return f"{median:.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Print the table."""
    blocks = int(sys.argv[1]) if sys.argv[1:] else 100_000
    r = random.Random(1)
    uses = [r.getrandbits(REGISTERS) & r.getrandbits(REGISTERS) & r.getrandbits(REGISTERS) for _ in range(blocks)]
    kills = [r.getrandbits(REGISTERS) for _ in range(blocks)]
    print(f"seconds for {blocks} blocks, median and quartiles of {TURNS}\n")
    print("| | straight | branching |\n|---|---|---|")
    graphs = [FlowGraph([0], code(blocks, branching).__getitem__) for branching in (False, True)]
    trees = [Dominators(0, code(blocks, branching).__getitem__) for branching in (False, True)]
    edges = [code(blocks, branching) for branching in (False, True)]
    rows: dict[str, list[Callable[[], Any]]] = {
        "graph in reverse postorder": [lambda e=e: FlowGraph([0], e.__getitem__) for e in edges],
        "liveness of 100 registers": [lambda g=g: live_sets(g, uses, kills) for g in graphs],
        "graph and dominators": [lambda e=e: Dominators(0, e.__getitem__) for e in edges],
        "loops": [lambda t=t: natural_loops(t) for t in trees],
    }
    for name, actions in rows.items():
        print(f"| {name} | {' | '.join(measured(a) for a in actions)} |")


if __name__ == "__main__":
    main()
