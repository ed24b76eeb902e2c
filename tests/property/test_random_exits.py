"""Random kernels whose lanes leave loops and blocks, one or more at a time, around barriers."""

from __future__ import annotations

import pytest

from isakit.compile import compile_ptx
from isakit.errors import CompileWarning
from support.farm import campaign
from support.farm.exits import wrong
from support.generators.loop_exits import VALUES, ptx, tree_of
from support.needs import needs_clang


@pytest.mark.parametrize("seed", [0, 7, 8, 12])
def test_lanes_of_ptx_meet_at_every_barrier(seed: int) -> None:
    """Each of them was wrong when lanes could leave only one region at a time."""
    exits = campaign("exits")
    assert exits.check(exits.make(seed)) == {"right"}


@needs_clang
def test_lanes_of_c_meet_at_every_barrier() -> None:
    exits = campaign("exits-c")
    assert exits.check(exits.make(0)) == {"right"}


def test_where_lanes_do_not_meet_the_compiler_warns() -> None:
    with pytest.warns(CompileWarning, match=r"^<text>:\d+: parts of a warp may come from here to one barrier of `k`"):
        compile_ptx(ptx(tree_of(97)))


def test_another_number_is_found() -> None:
    tree = [["exchange", 1, 5]]
    assert wrong(ptx(tree), tree) == []
    assert wrong(ptx([*tree, ["add", 1]]), tree) == VALUES
