"""Whether lanes of a warp may get different results: the row of each operation says it, and the pass goes by it."""

from __future__ import annotations

from typing import Any

import pytest

from isakit.compile import ops
from isakit.compile.ir import NOWHERE, Function, Ins
from isakit.compile.ops import OPS, IrOp, OpUniformity
from isakit.compile.passes.uniform import divergent_values
from isakit.errors import DefinitionError

MAKE: Any = IrOp
ADD: Any = ops._op


def branch_on(op: str) -> tuple[bool, bool]:
    """Whether the result of an operation without operands is divergent, and the branch that it decides."""
    f = Function("k")
    first, then, end = f.block(), f.block(), f.block()
    read, zero = Ins(op, [], "r", {}, NOWHERE), Ins("param", [], "r", {}, NOWHERE)
    test = Ins("cmp", [read.out, zero.out], "p", {}, NOWHERE)
    first.ins = [read, zero, test]
    first.term, then.term = ("branch", test.out, False, then, end), ("jump", end)
    f.connect()
    values, branches = divergent_values(f)
    return read.out in values, first in branches


def test_a_row_that_does_not_say_whether_its_results_vary_is_refused() -> None:
    with pytest.raises(TypeError, match="uniformity"):
        MAKE("lanebits", "", "r")
    with pytest.raises(TypeError, match="uniformity"):
        ADD("lanebits", "", "r")
    with pytest.raises(DefinitionError, match="'lanebits'"):
        ADD("lanebits", "", "r", None)
    assert "lanebits" not in OPS


@pytest.mark.parametrize("uniformity", list(OpUniformity))
def test_a_new_operation_is_as_divergent_as_its_row_says(
    uniformity: OpUniformity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OPS, "lanebits", IrOp("lanebits", "", "r", uniformity))
    differs = uniformity is OpUniformity.NEVER
    assert branch_on("lanebits") == (differs, differs)


def test_an_operation_that_has_no_row_does_not_count_as_uniform() -> None:
    with pytest.raises(KeyError, match="lanebits"):
        branch_on("lanebits")


def test_what_the_hardware_gives_each_lane_is_divergent() -> None:
    found = {n for n, op in OPS.items() if op.uniformity is OpUniformity.NEVER}
    assert found == {"tid", "physid", "clock", "atom"}
    assert {n for n, op in OPS.items() if op.uniformity is OpUniformity.MEMORY} == {"ld", "tex"}
    assert branch_on("physid") == (True, True)
    assert branch_on("param") == (False, False)
