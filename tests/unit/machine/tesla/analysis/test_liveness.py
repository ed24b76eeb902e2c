"""Waiting lanes and live registers against the definitions, solved instruction by instruction with plain sets."""

from __future__ import annotations

from random import Random

import pytest

import isakit
from isakit.codec import decoder
from isakit.machine.tesla import Code
from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.spec.isa import instruction_set

Waiting = dict[int, set[int]]


def waiting_by_definition(flow: Flow) -> Waiting:
    waiting: Waiting = {pc: set() for pc in flow.order}
    todo = list(flow.order)
    while todo:
        s = flow.steps[todo.pop()]
        out = waiting[s.pc] | s.parks
        for n in [*s.successors, *(out if s.transfers else ())]:
            if n in waiting and not out <= waiting[n]:
                waiting[n] |= out
                todo.append(n)
    return {pc: w & flow.steps.keys() for pc, w in waiting.items()}


def live_by_definition(flow: Flow, waiting: Waiting) -> dict[int, set[tuple[str, int]]]:
    live: dict[int, set[tuple[str, int]]] = {pc: set() for pc in flow.order}
    changed = True
    while changed:
        changed = False
        for pc in reversed(flow.order):
            s = flow.steps[pc]
            behind = [*s.successors, *(waiting[pc] | s.parks if s.transfers else ())]
            after = set().union(*(live[n] for n in behind if n in live))
            if s.trace is None:
                new = set(flow.places)
            else:
                new = s.reads | flow.results | (after if flow.has_quads else after - s.writes)
            if new != live[pc]:
                live[pc] = new
                changed = True
    return live


def check(flow: Flow) -> None:
    waiting = waiting_by_definition(flow)
    assert flow.waiting == waiting
    assert flow.live == live_by_definition(flow, waiting)


def code_of(words: list[int]) -> Code:
    return Code(decoder(instruction_set("tesla"), "gt200", "compute"), words, 0, 32)


def kernel(seed: int, statements: int) -> Code:
    """Statements with jumps of every kind to places all over the program, well nested or not."""
    r = Random(seed)
    lines: list[str] = []
    for k in range(statements):
        lines.append(f"l{k}:")
        kind = r.randrange(12)
        a, b, c, to = (*(f"$r{r.randrange(12)}" for _ in range(3)), r.randrange(statements))
        guard = r.choice(["", "(lg $c0) ", "(e $c1) "])
        lines.append({
            0: f"{guard}bra #l{to}", 1: f"call #l{to}", 2: f"prebrk #l{to}", 3: f"joinat #l{to}",
            4: f"{guard}break", 5: f"{guard}ret", 6: "join nop", 7: "bar inc wait 0x0 all",
            8: f"set $c{r.randrange(2)} # l u32 {a} {b}", 9: f"{guard}mov b32 {a} {b}" if guard else f"mov b32 {a} {b}",
        }.get(kind, f"add b32 {a} {b} {c}"))  # fmt: skip
    lines += ["exit nop"]
    return code_of(list(isakit.isa("tesla", "gt200").assemble("\n".join(lines)).words))


@pytest.mark.parametrize("seed", range(60))
def test_random_control_flow(seed: int) -> None:
    code = kernel(seed, 8 + 2 * seed)
    check(Flow(code, 0))
    check(Flow(code, 0, frozenset({("r", 3), ("c", 1)})))


def test_random_words() -> None:
    r = Random(5)
    for _ in range(40):
        words = [r.getrandbits(32) for _ in range(64)]
        words[0] &= ~3
        try:
            flow = Flow(code_of(words), 0)
        except isakit.errors.IsakitError:
            continue
        check(flow)


def test_branches_over_each_other_in_a_big_kernel() -> None:
    """Half a thousand places at which lanes may wait at once: solved with sets this takes minutes."""
    lines: list[str] = []
    for k in range(500):
        lines += [f"joinat #j{k}", f"(lg $c0) bra #e{k}", "add b32 $r1 $r1 $r2", f"set $c0 # l u32 $r{k % 9} $r1"]
        lines += [f"e{k}:", f"xor b32 $r2 $r1 $r{k % 7}", f"j{k}: join nop"]
    lines.append("exit nop")
    flow = Flow(code_of(list(isakit.isa("tesla", "gt200").assemble("\n".join(lines)).words)), 0)
    last = flow.order[-1]
    assert len(flow.waiting[last]) == 1000
    assert ("r", 1) in flow.live[0]
