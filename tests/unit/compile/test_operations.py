"""The rows of operations and the rules of selection: what one forgets or misspells is refused where it stands."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from isakit.compile import compile_ptx, ops, vector_ops
from isakit.compile.check import BrokenForm, verify
from isakit.compile.ir import (
    NOWHERE,
    Const,
    Effect,
    Function,
    Ins,
    IrOp,
    NoAttributes,
    Operation,
    OpUniformity,
    PointsTo,
)
from isakit.compile.lower.rules import Rules
from isakit.compile.ops import ADD, CLOCK, CMP, LD, OPS, PARAM, PHYSID, ST, TID, Compare
from isakit.compile.passes.uniform import divergent_values
from isakit.compile.passes.values import eliminate_common_subexpressions, eliminate_dead_code
from isakit.compile.tesla import instructions as hw
from isakit.compile.tesla.rules import RULES
from isakit.compile.vector_ops import TYPED
from isakit.errors import DefinitionError

ROW: Any = ops.row
NEW = ("lanebits", "", "r", OpUniformity.NEVER, Effect.NONE, PointsTo.NUMBER, NoAttributes)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep new rows out of the table of the others."""
    monkeypatch.setattr(ops, "OPS", dict(OPS))


def branch_on(op: Any) -> tuple[bool, bool]:
    """Whether the result of an operation without operands is divergent, and the branch that it decides."""
    f = Function("k")
    first, then, end = f.block(), f.block(), f.block()
    read, zero = Ins(op, [], "r", NOWHERE), Ins(PARAM(0, "u16"), [], "r", NOWHERE)
    test = Ins(CMP("e", "u32"), [read.out, zero.out], "p", NOWHERE)
    first.ins = [read, zero, test]
    first.term, then.term = ("branch", test.out, False, then, end), ("jump", end)
    f.connect()
    values, branches = divergent_values(f)
    return read.out in values, first in branches


# --- rows ------------------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("stated", range(3, 7))
def test_a_row_that_leaves_out_what_decides_over_right_code_is_refused(stated: int) -> None:
    with pytest.raises(TypeError, match=r"uniformity|effect|points_to|attributes"):
        ROW(*NEW[:stated])
    assert "lanebits" not in ops.OPS


@pytest.mark.usefixtures("table")
def test_a_row_whose_facts_do_not_fit_is_refused() -> None:
    with pytest.raises(DefinitionError, match="'lanebits': only an operation without results"):
        ROW("lanebits", "", "r", None, *NEW[4:])
    with pytest.raises(DefinitionError, match="'add': is already defined"):
        ROW("add", *NEW[1:])
    with pytest.raises(DefinitionError, match="'lanebits': kinds are r d q"):
        ROW("lanebits", "rx", *NEW[2:])


@pytest.mark.usefixtures("table")
def test_a_row_that_nothing_says_the_uniformity_of_is_refused() -> None:
    """Its result would count as one number for all lanes."""
    with pytest.raises(DefinitionError, match="'lanebits': without arguments and attributes it is NEVER or ALWAYS"):
        ROW(*NEW[:3], OpUniformity.OPERANDS, *NEW[4:])


@pytest.mark.usefixtures("table")
def test_a_fold_that_misspells_an_attribute_is_refused_with_the_row() -> None:
    class Amount(NamedTuple):
        amount: int

    def fold(a: int, amuont: int) -> int:
        return a + amuont

    with pytest.raises(DefinitionError, match="'rotate': `fold` does not take the attributes amount"):
        ROW("rotate", "r", "r", OpUniformity.OPERANDS, Effect.NONE, PointsTo.NUMBER, Amount, fold)
    with pytest.raises(DefinitionError, match="'average': `fold` does not take 2 arguments"):
        ROW("average", "rr", "r", OpUniformity.OPERANDS, Effect.NONE, PointsTo.NUMBER, NoAttributes, lambda a: a >> 1)


def test_a_misspelt_or_missing_attribute_is_refused_where_it_is_written() -> None:
    make: Any = CMP
    with pytest.raises(TypeError, match="cnod"):
        make(cnod="e", ty="u32")
    with pytest.raises(TypeError, match="ty"):
        make("e")
    make = LD
    with pytest.raises(TypeError, match="volatile"):
        make("global", 0, "b32")
    read: Any = CMP.of(Ins(CMP("e", "u32"), [Const(0), Const(1)], "p", NOWHERE))
    with pytest.raises(AttributeError, match="cnod"):
        _ = read.cnod


@pytest.mark.parametrize("attrs", [(), Compare("e", "u32"), ("global", 0, "b32", False)])
def test_an_operation_with_the_attributes_of_another_one_is_found(attrs: Any) -> None:
    f = Function("k")
    f.block().ins = [Ins(Operation(LD, attrs), [Const(0)], "r", NOWHERE)]
    with pytest.raises(BrokenForm, match="ld has the attributes"):
        verify(f, "a pass")


# --- facts -----------------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("uniformity", [u for u in OpUniformity if u is not OpUniformity.OPERANDS])
def test_a_new_operation_is_as_divergent_as_its_row_says(uniformity: OpUniformity) -> None:
    differs = uniformity is OpUniformity.NEVER
    assert branch_on(ROW(*NEW[:3], uniformity, *NEW[4:])) == (differs, differs)


def test_what_the_hardware_gives_each_lane_is_divergent() -> None:
    found = {n for n, op in OPS.items() if op.uniformity is OpUniformity.NEVER}
    assert found == {"tid", "physid", "clock", "atom", "input", "sample", "vdsx", "vdsy", "facing", "target_color"}
    assert {n for n, op in OPS.items() if op.uniformity is OpUniformity.MEMORY} == {"ld", "tex"}
    for op, differs in ((TID, True), (PHYSID, True), (CLOCK, True), (PARAM(0, "u16"), False)):
        assert branch_on(op) == (differs, differs)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("effect", list(Effect))
def test_a_new_operation_stays_and_is_shared_as_its_effect_says(effect: Effect) -> None:
    def kept(used: bool) -> int:
        f = Function("k")
        both = [Ins(op, [], "r", NOWHERE) for _ in range(2)]
        total = Ins(ADD, [i.out for i in both], "r", NOWHERE)
        store = Ins(ST("global", 0, "b32"), [Const(0), total.out], "", NOWHERE)
        f.block().ins = [*both, total, store] if used else both
        for i in f.instructions():
            i.block = f.blocks[0]
        eliminate_common_subexpressions(f)
        eliminate_dead_code(f)
        return sum(i.op is op for i in f.instructions())

    op = ROW(*NEW[:4], effect, *NEW[5:])
    assert kept(used=True) == (1 if effect is Effect.NONE else 2)
    assert kept(used=False) == (2 if effect in (Effect.WRITES, Effect.STAYS) else 0)


def test_what_commutes_gives_the_same_for_exchanged_constants() -> None:
    numbers = (0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x1234_5678)
    rows = [op for op in OPS.values() if op.commutes and op.fold is not None and op.attributes is NoAttributes]
    assert len(rows) > 10
    for op, (a, b) in itertools.product(rows, itertools.combinations(numbers, 2)):
        assert ops.fold(op, [a, b], ()) == ops.fold(op, [b, a], ()), op


# --- rules -----------------------------------------------------------------------------------------------------------
def never(_: list[str], __: Ins) -> bool:
    """Hold for nothing."""
    return False


def test_rules_are_tried_by_priority_and_the_first_that_holds_is_taken() -> None:
    rules = Rules[list[str]]()
    rules.rule(ADD)(lambda s, i, a: s.append("any"))
    rules.rule(ADD, when=lambda s, i: isinstance(i.args[1], Const), priority=1)(lambda s, i, a: s.append("constant"))
    rules.rule(ADD, when=never, priority=2)(lambda s, i, a: s.append("never"))
    taken: list[str] = []
    p = Ins(PARAM(0, "u16"), [], "r", NOWHERE)
    for other in (Const(1), p.out):
        rules.select(taken, Ins(ADD, [p.out, other], "r", NOWHERE))
    assert taken == ["constant", "any"]
    assert [str(r).split(":")[0].strip() for r in rules.of[ADD]] == ["2 add when never", "1 add when <lambda>", "0 add"]


def test_a_rule_that_is_never_reached_is_refused() -> None:
    rules = Rules[list[str]]()
    rules.rule(ADD, priority=1)(lambda s, i, a: None)
    with pytest.raises(DefinitionError, match="never reached"):
        rules.rule(ADD, when=never)(lambda s, i, a: None)


def test_an_operation_without_a_rule_is_an_error_that_names_it() -> None:
    rules = Rules[list[str]]()
    rules.rule(ADD, when=never)(lambda s, i, a: None)
    for op in (ADD, ST("global", 0, "b32")):
        with pytest.raises(DefinitionError, match=r"no rule for .* = (add|st)"):
            rules.select([], Ins(op, [Const(0), Const(0)], "", NOWHERE))


CLOCK_KERNEL = """.version 1.4
.target sm_13
.entry k (.param .u64 out) {
  .reg .u64 %p; .reg .u32 %r;
  ld.param.u64 %p, [out]; mov.u32 %r, %clock; st.global.u32 [%p], %r;
}"""


def test_a_rule_that_does_not_write_its_result_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = RULES.of[CLOCK]
    monkeypatch.setitem(RULES.of, CLOCK, [replace(found, emit=lambda s, i, attrs: None)])
    with pytest.raises(DefinitionError, match=r"`st .*` reads a register that nothing writes"):
        compile_ptx(CLOCK_KERNEL)


def test_a_machine_instruction_that_does_not_name_its_result_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hw, "MOV_SPECIAL", replace(hw.MOV_SPECIAL, results=("dts",)))
    with pytest.raises(DefinitionError, match=r"`mov dst=.* special=\$clock` reads a register that nothing writes"):
        compile_ptx(CLOCK_KERNEL)


def test_every_row_of_the_table_is_in_it_under_its_own_name() -> None:
    assert all(isinstance(op, IrOp) and op.name == name for name, op in OPS.items())
    assert all(getattr(vector_ops if op in TYPED else ops, name.upper()) is op for name, op in OPS.items())
