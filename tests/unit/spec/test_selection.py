"""What selects a trace, and forms that exclude each other bit by bit."""

from __future__ import annotations

import pytest

from isakit.errors import DefinitionError
from isakit.sem.semantics import trace_of
from isakit.sem.trace import write
from isakit.spec import Bits, Enum, InstructionSet, Layout, Place, Ref, Reg, Variant, bits, choice, make_form, when
from isakit.spec.operands import Register

WORD = Layout("word", 1, Bits())
REF = Ref("none", "nowhere")


def instruction_set() -> InstructionSet:
    variant = Variant("only", frozenset())
    return InstructionSet("toy", {"only": variant}, "for tests", lambda unit: 1, default_variant="only")


NUMBER = bits(0, 3)


class Aliased(Place):
    """The numbers 14 and 15 are another file: only they matter for what an instruction does."""

    def described(self, value, text, **more):
        return Register("special" if value >= 14 else "r", value, text=text, **more)

    def identity(self, operand):
        return operand.key

    def selects(self, value):
        return NUMBER.put(value & 14) if value >= 14 else 0

    def bound(self, word, b):
        return "special" if NUMBER.get(word) >= 14 else "plain", b.param(NUMBER)

    def resolved(self, ctx):
        return None


def test_a_part_may_select_by_some_values_only():
    isa = instruction_set()
    operand = Reg(NUMBER, tuple(f"r{n}" for n in range(16)), lambda index: index, place=Aliased())
    other = choice(when({bits(4): 0}, operand), when({bits(4): 1}, Enum(bits(0, 3), {n: f"e{n}" for n in range(16)})))
    form = make_form(WORD, "go {dst} {kind}", {"dst": other, "kind": Enum(bits(5), {0: "", 1: "x"})}, {bits(6, 7): 1})

    @isa.insn([form], ref=REF, status="known")
    def go(dst, kind):
        """Write."""
        if isinstance(dst, tuple):
            write(dst[0], dst[1], dst[1])

    form = isa.records[0].forms[0]
    base = 1 << 6
    assert form.static_word(base | 3) == form.static_word(base | 9) == 0
    assert form.static_word(base | 14) == form.static_word(base | 15) == 14
    assert form.static_word(base | 1 << 4 | 3) == 1 << 4 | 3
    assert form.static_word(base | 1 << 5 | 3) == 1 << 5
    assert trace_of(form, base | 3) is trace_of(form, base | 9)
    assert trace_of(form, base | 3).effects[0].name == "plain"
    assert trace_of(form, base | 14).effects[0].name == "special"


def test_forms_may_exclude_each_other_bit_by_bit():
    def form(name: str, unless: list[dict]):
        return make_form(WORD, name, {}, {bits(6, 7): 2}, unless=unless)

    isa = instruction_set()
    isa.insn([form("a", [{bits(0): 1}])], ref=REF, status="known", name="a")(_nothing)
    isa.insn([form("b", [{bits(0): 0}, {bits(1): 1}])], ref=REF, status="known", name="b")(_nothing)
    with pytest.raises(DefinitionError, match="overlaps"):
        isa.insn([form("c", [{bits(1): 1}])], ref=REF, status="known", name="c")(_nothing)
    isa.insn([form("d", [{bits(0): 0}, {bits(1): 0}])], ref=REF, status="known", name="d")(_nothing)
    view = isa.view("only", "")
    for word in range(0x80, 0xC0):
        assert sum(f.matches(word) for f in view.forms) == 1


def _nothing():
    """Do nothing."""
