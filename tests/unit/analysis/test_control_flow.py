"""Blocks, edges, dominators, loops: small programs whose graphs are drawn by hand, and what executing shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit.analysis import EdgeKind, control_flow, dominators, loops, post_dominators

EXAMPLES = Path(__file__).parents[3] / "examples"


def flow_of(isa: str, text: str, variant: str | None = None) -> isakit.analysis.ControlFlow:
    return control_flow(isakit.isa(isa, variant).assemble(text))


def arrows(flow: isakit.analysis.ControlFlow) -> set[tuple[int, int, str]]:
    return {(e.source, e.target, e.kind.value) for e in flow.edges}


LOOP = """
    joinat #met
    mov b32 $r1 0x0
again:
    add b32 $c0 $r1 $r1 $r2
    (lg $c0) bra #again
met:
    join nop
    exit st b32 g14[$r2] $r1
"""


def test_a_loop_is_two_blocks_around_one() -> None:
    flow = flow_of("tesla", LOOP)
    assert [len(b.instructions) for b in flow.blocks] == [2, 2, 2]
    assert arrows(flow) == {(0, 1, "next"), (1, 2, "next"), (1, 1, "branch")}


def test_lanes_meet_where_joinat_says() -> None:
    assert [b.joins for b in flow_of("tesla", LOOP).blocks] == [False, False, True]


def test_a_loop_is_found_with_its_exit() -> None:
    flow = flow_of("tesla", LOOP)
    (loop,) = loops(flow, flow.functions[0])
    assert (loop.head, loop.blocks, loop.exits, loop.parent) == (1, [1], [2], None)


DIAMOND = """
    (e $c0) bra #other
    mov b32 $r1 0x1
    bra #end
other:
    mov b32 $r1 0x2
end:
    exit nop
    mov b32 $r9 0x3
"""


def test_both_sides_of_a_branch_are_dominated_by_it_and_post_dominated_by_the_end() -> None:
    flow = flow_of("tesla", DIAMOND)
    main = flow.functions[0]
    assert dominators(flow, main) == {0: 0, 1: 0, 2: 0, 3: 0}
    assert post_dominators(flow, main) == {0: 3, 1: 3, 2: 3, 3: None}


def test_code_behind_the_end_is_not_reached() -> None:
    assert flow_of("tesla", DIAMOND).reached == [True, True, True, True, False]


CALLS = """
    call #twice
    exit st b32 g14[$r2] $r1
twice:
    (lg $c0) ret
    add b32 $r1 $r1 $r1
    ret
"""


def test_a_call_is_stepped_over_and_followed() -> None:
    flow = flow_of("tesla", CALLS)
    assert arrows(flow) == {
        (0, 1, "next"), (0, 2, "call"), (2, 3, "next"), (2, 1, "return"), (3, 1, "return")
    }  # fmt: skip
    assert [(f.entry, f.calls) for f in flow.functions] == [(0, {1}), (16, set())]


BREAKS = """
    breakaddr #out
again:
    (e $c0) break
    bra #again
out:
    exit nop
"""


def test_a_function_that_begins_within_another_one_has_no_blocks_and_no_loops_of_its_own() -> None:
    flow = flow_of("tesla", "call #inside\ninside:\n(e $c0) bra #inside\nexit nop")
    main, called = flow.functions
    assert (main.blocks, called.blocks) == ([0, 1, 2], [])
    assert [x.head for x in loops(flow, main)] == [1]
    assert loops(flow, called) == []
    assert post_dominators(flow, called) == {}


def test_a_break_goes_to_the_address_given_before() -> None:
    assert arrows(flow_of("tesla", BREAKS)) == {
        (0, 1, "next"), (1, 2, "next"), (1, 3, "break"), (2, 1, "branch")
    }  # fmt: skip


def test_an_indirect_branch_is_named() -> None:
    flow = flow_of("tesla", "    bra c0[$a1]\n    exit nop\n", "gt200")
    assert flow.unresolved == (0,)


def test_words_that_are_no_instruction_are_in_no_block() -> None:
    flow = control_flow(
        isakit.isa("tesla").disassemble([0x10000201, 0x2000000F, 0xF0000001, 0xE0000001, 0xF0000001, 0xE0000781])
    )
    assert all(i.valid for b in flow.blocks for i in b.instructions)


VUC = """
    mov $r1 0x5
again:
    sub $p2 $r1 $r1 0x1
    bra $p2 again
    add $r2 $r2 0x1
    nop
"""


def test_a_delay_slot_belongs_to_the_block_of_its_branch() -> None:
    flow = flow_of("vuc", VUC.replace("bra $p2 again", "$p2 bra #again"), "vp2")
    texts = [[i.mnemonic for i in b.instructions] for b in flow.blocks]
    assert texts[1][-2:] == ["bra", "add"]
    assert (1, 1, "branch") in arrows(flow)
    assert (1, 2, "next") in arrows(flow)


def executed_edges(machine: object) -> set[tuple[int, int]]:
    """(address, address of the next instruction of the same lane), for all lanes."""
    last: dict[tuple[int, int], int] = {}
    found: set[tuple[int, int]] = set()
    while True:
        before = [(w, w.pc, w.active) for b in machine.blocks for w in b.warps]  # type: ignore[attr-defined]
        warp = machine.step()  # type: ignore[attr-defined]
        if warp is None:
            return found
        pc, active = next((pc, active) for w, pc, active in before if w is warp)
        for lane in range(32):
            if active >> lane & 1:
                key = id(warp), lane
                if key in last:
                    found.add((last[key], pc))
                last[key] = pc


@pytest.mark.parametrize("name", ["mandelbrot", "matmul", "hash_reduce"])
def test_executing_takes_no_edge_the_graph_lacks(name: str) -> None:
    program = isakit.isa("tesla", "gt200").assemble((EXAMPLES / "tesla" / f"{name}.s").read_text())
    device = isakit.Device("gt200", engine="reference")
    kernel = device.load(program)[name]
    f32, u32 = np.float32, np.uint32
    arguments = {
        "mandelbrot": [np.zeros(64, u32), u32(8), u32(6), f32(-2), f32(-1.5), f32(0.4)],
        "matmul": [np.ones(256, f32), np.ones(256, f32), np.zeros(256, f32), u32(16)],
        "hash_reduce": [np.zeros(1, u32), u32(5), u32(3)],
    }[name]
    block = {"mandelbrot": (8, 8), "matmul": (16, 16), "hash_reduce": 64}[name]
    flow = control_flow(program.kernels[name])
    allowed = {(e.source, e.target) for e in flow.edges if e.kind is not EdgeKind.CALL}
    taken = executed_edges(device.machine(kernel, 1, block, arguments))
    wrong = []
    for a, b in taken:
        one, two = flow.block_at(a), flow.block_at(b)
        inside = one is two and any(
            x.address == a and y.address == b for x, y in zip(one.instructions, one.instructions[1:], strict=False)
        )
        if not inside and (one.number, two.number) not in allowed:
            wrong.append((hex(a), hex(b)))
    assert len(taken) > 10
    assert wrong == []
