"""Coverage items of records, words that have them, and the recording of what machines execute."""

from __future__ import annotations

from random import Random

import pytest

import isakit
from isakit.arch.tesla import tesla
from isakit.debug import Item, items_of, recording, word_for
from isakit.machine.tesla.machine import Machine
from isakit.spec import (
    Enum,
    HasFeature,
    Illegal,
    Imm,
    InstructionSet,
    Layout,
    Nothing,
    Ref,
    Refusal,
    bits,
    choice,
    make_form,
    when,
    where,
)
from support.generators.toy import empty_isa, toy_variant

OP, MODE, KIND, NUMBER = bits(0, 1), bits(2, 3), bits(4), bits(5, 7)
LAYOUT = Layout("short", 1, where({}))


@pytest.fixture(scope="module")
def isa() -> InstructionSet:
    isa = empty_isa(toy_variant("a"), toy_variant("b", "more"))
    operand = choice(
        when({KIND: 0, MODE: 0}, Illegal()),
        when({KIND: 0}, Imm(NUMBER, label="a number")),
        when({KIND: 0, NUMBER: 1}, Nothing()),  # never taken: the one before always applies
        when({OP: 2}, Nothing()),  # never taken: the form fixes these bits otherwise
        when({KIND: 1}, Nothing(), needs="more"),
    )
    mode = Enum(MODE, {0: "x", 1: "y", 3: "z"})

    @isa.insn(
        [
            make_form(LAYOUT, "go {mode} {n} {f}", {"mode": mode, "n": operand, "f": HasFeature("more")}, {OP: 1}),
            make_form(LAYOUT, "go", {}, {OP: 2}, refusals=[Refusal(where({OP: 2}), "NEVER")]),
            make_form(LAYOUT, "go {n}", {"n": Illegal("NEVER")}, {OP: 3}),
        ],
        ref=Ref("toy", "1"),
        status="known",
    )
    def go(mode=0, n=None, f=False):
        """Go."""

    return isa


def described(isa: InstructionSet, variant: str) -> set[tuple[str, str]]:
    return {
        (i.kind, i.what.split(" where")[0].split(" 0x")[0])
        for items in items_of(isa.view(variant, "")).values()
        for i in items
    }


def test_items_are_what_words_can_have(isa) -> None:
    assert described(isa, "a") == {
        ("form", ""), ("feature", "more is False"), ("alternative", "a number"), ("value", "y"), ("value", "z"),
    }, "x only goes with an illegal operand here"  # fmt: skip
    assert described(isa, "b") == {
        ("form", ""), ("feature", "more is True"), ("alternative", "a number"), ("alternative", "nothing"),
        ("value", "x"), ("value", "y"), ("value", "z"),
    }  # fmt: skip


def test_forms_that_are_errors_have_no_items(isa) -> None:
    assert {i.form for items in items_of(isa.view("b", "")).values() for i in items} == {0}


def test_words_have_the_item_and_are_legal(isa) -> None:
    view = isa.view("b", "")
    for form, items in items_of(view).items():
        for item, condition in items.items():
            for seed in range(20):
                word = word_for(view, form, item, Random(seed), set(items))
                assert word is not None
                assert condition.holds(word)
                assert form.error(word) is None


def test_no_word_for_what_is_illegal(isa) -> None:
    view = isa.view("a", "")
    (form,) = items_of(view)
    item = next(iter(items_of(view)[form]))
    words = {word_for(view, form, item, Random(n)) for n in range(200)}
    legal = {w for w in range(256) if form.matches(w) and form.error(w) is None}
    assert words == legal, "all legal words turn up, no others"


def run(text: str) -> None:
    program = isakit.isa("tesla", "gt200").assemble(text)
    kernel = isakit.Device("gt200", engine="reference").load(program, registers=4)["main"]
    kernel[1, 32]()


def test_recording_counts_what_is_executed() -> None:
    view = tesla.view("gt200", "compute")
    with recording(view) as coverage:
        run("bra #over\nadd b32 $r1 $r2 $r3\nover: exit (never) nop")
    done = coverage.executed
    assert {i.record for i in done} == {"bra", "nop"}, "the addition is jumped over"
    assert Item("nop", 0, "value", "tail", "exit") in done
    assert not any(i.part == "tail" and i.what == "join" for i in done)
    assert len(coverage.missing) + len(done) == sum(len(items) for items in items_of(view).values())
    assert "form " in str(coverage)


def test_nothing_is_recorded_outside() -> None:
    with recording(tesla.view("gt200", "compute")) as coverage:
        pass
    run("exit (never) nop")
    assert coverage.executed == set()
    assert Machine.observer is None


def test_recordings_nest_and_see_faulting_programs() -> None:
    view = tesla.view("gt200", "compute")
    with recording(view) as outer:
        with recording(view) as inner:
            run("mov b32 $r1 $r2\nexit (never) nop")
        with pytest.raises(isakit.MachineFault):
            run("nop\ntrap")
    assert {i.record for i in inner.executed} == {"mov", "nop"}
    assert {i.record for i in outer.executed} == {"nop", "trap"}, "the innermost recording counts"
    assert Machine.observer is None
