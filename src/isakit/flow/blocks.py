"""Basic blocks: instructions that are executed one after the other, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import TypeVar

N = TypeVar("N")


def basic_blocks(code: Iterable[N], succs: Callable[[N], Sequence[N]], leaders: Container[N] = ()) -> list[list[N]]:
    """Split code into blocks, in the order of their first instructions in `code`.

    A block ends before an instruction of `leaders`, before one with several predecessors, after one that does not have
    exactly one successor, and at back edges. Nodes that are not in `code` are in no block.
    """
    place = {i: k for k, i in enumerate(code)}
    entered = dict.fromkeys(place, 0)
    following: dict[N, N] = {}
    for i, k in place.items():
        after = succs(i)
        for n in after:
            if n in entered:
                entered[n] += 1
        if len(after) == 1 and place.get(after[0], -1) > k:
            following[i] = after[0]
    inside = {n for n in following.values() if n not in leaders and entered[n] == 1}
    out: list[list[N]] = []
    for i in place:
        if i not in inside:
            block = [i]
            while (n := following.get(block[-1])) is not None and n in inside:
                block.append(n)
            out.append(block)
    return out
