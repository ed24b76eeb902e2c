"""What makes the import of an instruction set fail, and that the message names the record."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from isakit.errors import DefinitionError, IsakitError
from isakit.sem import param
from isakit.sem.semantics import trace_of
from isakit.spec import (
    Bits,
    Enum,
    Flag,
    Imm,
    InstructionSet,
    Layout,
    Literal,
    Ref,
    Refusal,
    Reg,
    Variant,
    bits,
    choice,
    make_form,
    names,
    template,
    when,
    where,
)
from isakit.spec.isa import instruction_set
from isakit.spec.operands import Compound, Immediate
from isakit.spec.parts import bits_for, operand_of
from isakit.spec.record import Form

KIND, OP, DST, SRC, MODE = bits(0), bits(1, 3), bits(4, 6), bits(7, 9), bits(10)
LAYOUT = Layout("short", 1, where({KIND: 0}))
WIDE = Layout("wide", 2, where({KIND: 1}))
REGISTERS = tuple(f"$r{i}" for i in range(8))
REF = Ref("test", "1")


def reg(f) -> Reg:
    return Reg(f, REGISTERS, lambda index: index)


def new_set() -> InstructionSet:
    return InstructionSet("toy", {"v": Variant("v", frozenset({"a"}))}, "a toy", lambda unit: 1 + (unit & 1))


def form(fixed: dict | None = None, syntax: str = "add {dst} {src}", layout: Layout = LAYOUT, **more: Any) -> Form:
    """A form `add $rN $rM`; `parts` replaces its parts."""
    parts = more.pop("parts", {"dst": reg(DST), "src": reg(SRC)})
    return make_form(layout, syntax, parts, {OP: 1} if fixed is None else fixed, **more)


def define(isa: InstructionSet, *forms: Form, name: str = "summing", function: Any = None) -> None:
    def summing(dst, src):
        """Add."""

    isa.insn(list(forms), ref=REF, status="known", name=name)(function or summing)


def refused(isa: InstructionSet, *forms: Form, **more: Any) -> str:
    """The message of the refusal; nothing of the record may be left behind."""
    before = list(isa.records)
    with pytest.raises(DefinitionError) as caught:
        define(isa, *forms, **more)
    assert isa.records == before
    message = str(caught.value)
    assert "toy" in message
    assert f"'{more.get('name', 'summing')}'" in message
    return message


def test_a_good_record_is_accepted() -> None:
    isa = new_set()
    define(isa, form(), form({}, layout=WIDE))
    assert [r.name for r in isa.records] == ["summing"]
    assert all(f.record is isa.records[0] for f in isa.records[0].forms)


def test_no_form() -> None:
    assert "no form" in refused(new_set())


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({}, 'no status; give it status="known", "inferred" or "unknown"'),
        ({"status": "sure"}, "'sure' is not a status"),
        ({"status": "known", "group": "moves"}, '\'moves\' is not a group; give it group="arithmetic", "move", '),
    ],
)
def test_a_record_says_how_sure_it_is_or_is_refused_with_its_place(words: dict[str, str], problem: str) -> None:
    isa = new_set()

    def summing(dst, src):
        """Add."""

    with pytest.raises(DefinitionError) as caught:
        isa.insn([form()], ref=REF, **words)(summing)
    assert not isa.records
    message = str(caught.value)
    assert "toy: record 'summing'" in message
    assert f"{__file__}, line {summing.__code__.co_firstlineno}" in message
    assert problem in message


def test_no_documentation() -> None:
    def undocumented(dst, src):
        pass

    assert "docstring" in refused(new_set(), form(), function=undocumented)


@pytest.mark.parametrize("syntax", ["add {dst}", "add {dst} {src} {src}"])
def test_a_part_stands_once_in_the_syntax(syntax) -> None:
    message = refused(new_set(), form(syntax=syntax))
    assert "'src'" in message
    assert "form 0 (short)" in message


def test_a_part_of_nothing_but_fixed_bits() -> None:
    message = refused(new_set(), form({OP: 1, SRC: 3}))
    assert "'src'" in message
    assert "fixed" in message


LOW, SIZE = bits(4, 6), bits(7, 9)
RANGES = {
    "bits[{low}+{size}]": "prints 'bits[0x0+0x0]', which it does not read",  # a number goes on behind `+`
    "bits[{low}|{size}]": "which it does not read",
    "bits`[{low}]": "which it does not read",  # no token begins with `
    "9x[{low}]": "which it does not read",
    "bits[{low}:{size}]": "",
    "bits[{low}] + {size}": "",
}


@pytest.mark.parametrize("spelling", RANGES)
def test_an_operand_that_cannot_read_its_own_text_is_refused_with_its_place(spelling: str) -> None:
    holes = {n: Imm(f) for n, f in (("low", LOW), ("size", SIZE)) if f"{{{n}}}" in spelling}
    f = form(syntax="add {dst}", parts={"dst": template(spelling, Compound, **holes)})

    def only(dst: Any) -> None:
        """Add."""

    if not RANGES[spelling]:
        define(new_set(), f, function=only)
        return
    message = refused(new_set(), f, function=only)
    assert RANGES[spelling] in message
    assert message.startswith("toy: record 'summing', form 0 (short): part 'dst' prints ")
    assert message.endswith(f"({__file__}, line {only.__code__.co_firstlineno})")


def test_an_operand_that_reads_its_text_as_other_bits_is_refused() -> None:
    """Otherwise a listing would not assemble to the words it was made from."""
    same = Enum(SRC, dict.fromkeys(range(8), "any") | {0: "none"})
    assert "'src' prints 'any', which it does not read as the same; between numbers stands `:`" in refused(
        new_set(), form(parts={"dst": reg(DST), "src": same})
    )


def test_every_file_of_a_folder_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a_folder_of_records"
    (folder / "inner").mkdir(parents=True)
    for name in ("second", "first", "inner/__init__", "inner/third"):
        (folder / f"{name}.py").write_text(f"import a_folder_of_records as p; p.LOADED.append({name!r})\n")
    init = "from isakit.spec.folder import import_folder\nLOADED = []\nimport_folder(__name__, __file__)\n"
    (folder / "__init__.py").write_text(init)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert importlib.import_module(folder.name).LOADED == ["first", "inner/__init__", "inner/third", "second"]


def test_bits_both_fixed_and_ignored() -> None:
    assert f"{OP.mask:#x}" in refused(new_set(), form(ignored=OP.mask | MODE.mask))


def test_fixed_bits_that_contradict_the_layout() -> None:
    with pytest.raises(ValueError, match="short"):
        form({KIND: 1, OP: 1})


def test_a_part_the_semantics_does_not_take() -> None:
    def summing(dst):
        """Add."""

    assert "no parameter ['src']" in refused(new_set(), form(), function=summing)


def test_a_parameter_no_part_gives() -> None:
    def summing(dst, src, carry):
        """Add."""

    message = refused(new_set(), form(), function=summing)
    assert "wants ['carry']" in message
    with_default = new_set()

    def optional(dst, src, carry=None):
        """Add."""

    define(with_default, form(), function=optional)


def test_control_parts_are_not_parameters() -> None:
    mode = {"dst": reg(DST), "src": reg(SRC), "mode": Flag(MODE, "odd")}
    define(new_set(), form(parts=mode, syntax="add {mode} {dst} {src}", control=["mode"]))
    assert "['mode']" in refused(new_set(), form(parts=mode, syntax="add {mode} {dst} {src}"))


def test_semantics_that_takes_anything() -> None:
    def summing(**parts):
        """Add."""

    assert "not take **" in refused(new_set(), form(), function=summing)


def test_no_mnemonic() -> None:
    assert "no mnemonic" in refused(new_set(), form(syntax="{dst} {src}"))


class TestOverlap:
    def test_the_same_words_in_two_records(self) -> None:
        isa = new_set()
        define(isa, form())
        message = refused(isa, form(), name="other")
        assert "overlaps" in message
        assert "'summing'" in message, "both records are named"

    def test_two_forms_of_one_record(self) -> None:
        message = refused(new_set(), form({OP: 1}), form({MODE: 1}))
        assert "form 1" in message
        assert "overlaps" in message

    def test_a_more_general_form(self) -> None:
        isa = new_set()
        define(isa, form({OP: 1, MODE: 1}))
        refused(isa, form({OP: 1}), name="general")

    @pytest.mark.parametrize("second", [
        {"fixed": {OP: 2}}, {"fixed": {OP: 1}, "unless": [{MODE: 1}]}, {"fixed": {OP: 1}, "needs": "!a"},
        {"fixed": {}, "layout": WIDE},
    ], ids=["other bits", "unless", "opposite features", "other size"])  # fmt: skip
    def test_what_tells_forms_apart(self, second) -> None:
        isa = new_set()
        define(isa, form({OP: 1, MODE: 1}, needs="a"))
        define(isa, form(**second), name="other")

    def test_an_unless_about_other_bits_does_not(self) -> None:
        isa = new_set()
        define(isa, form({OP: 1, MODE: 1}))
        refused(isa, form({OP: 1}, unless=[{SRC: 1}]), name="other")

    def test_different_features_do_not(self) -> None:
        isa = new_set()
        define(isa, form(needs="a"))
        refused(isa, form(needs="b"), name="other")


def test_a_removed_record_makes_room() -> None:
    isa = new_set()
    define(isa, form())
    first = isa.view("v", "").forms
    isa.remove(isa.records[0])
    assert first
    assert isa.view("v", "").forms == ()
    define(isa, form(), name="other")
    assert [f.record.name for f in isa.view("v", "").forms if f.record] == ["other"]


class TestForm:
    def test_every_bit_is_fixed_claimed_ignored_or_unknown(self) -> None:
        f = form(ignored=bits(11).mask, layout=LAYOUT)
        word = (1 << 14) | (1 << 11) | OP.put(1) | DST.put(5)
        assert f.claimed(word) == KIND.mask | OP.mask | DST.mask | SRC.mask
        assert f.unexplained(word) == 1 << 14 | 1 << 11, "kept as they are"
        assert f.unknown(word) == 1 << 14, "ignored bits are known not to matter"

    def test_defaults_are_what_the_assembler_writes(self) -> None:
        f = form(default=MODE.mask)
        assert f.base == OP.put(1) | MODE.mask
        assert f.unexplained(OP.put(1)) == MODE.mask, "a default bit that is clear is worth a marker"
        assert f.unexplained(OP.put(1) | MODE.mask) == 0

    def test_refusals_name_the_error_unless_a_feature_lifts_them(self) -> None:
        f = form(refusals=[Refusal(where({DST: 7}), "NO_SUCH_REGISTER", frozenset({"a"}))])
        word = OP.put(1) | DST.put(7)
        assert f.error(word) == "NO_SUCH_REGISTER"
        from isakit.spec.parts import Context

        assert f.resolve(Context(frozenset({"a"}))).error(word) is None
        assert f.resolve(Context()).error(word) == "NO_SUCH_REGISTER"

    def test_constants_are_literals_where_the_syntax_names_them(self) -> None:
        f = form(
            syntax="{name} {dst} {src} {unused}", parts={"name": "add wide", "dst": reg(DST), "src": reg(SRC), "n": 3}
        )
        assert f.text(OP.put(1) | DST.put(2)) == "add wide $r2 $r0"
        assert f.constants == {"name": "add wide", "n": 3}

    def test_static_bits_leave_registers_and_control_parts_out(self) -> None:
        parts = {"dst": reg(DST), "src": Imm(SRC), "mode": Enum(MODE, {0: "", 1: "m"}), "tail": Flag(bits(12), "exit")}
        f = form(syntax="add {mode} {tail} {dst} {src}", parts=parts, control=["tail"])
        assert f.static_mask == MODE.mask
        assert f.static_word((1 << 20) - 1) == MODE.mask


class TestBits:
    def test_join(self) -> None:
        assert Bits(3, 1).join(Bits(6, 2)) is None
        assert Bits(3, 1).join(Bits(6, 0)) == Bits(7, 1)

    def test_where_refuses_what_does_not_fit(self) -> None:
        with pytest.raises(ValueError, match="0x8"):
            where({OP: 8})

    def test_split_fields(self) -> None:
        f = bits(3, 5) + bits(20) + bits(0, 1)
        assert f.width == 6
        for value in range(64):
            assert f.get(f.put(value)) == value
            assert eval(f.expression(), {"w": f.put(value) | 1 << 9}) == value
        assert f.put(0b10_1_011) == 0b011 << 3 | 1 << 20 | 0b10


# --- names ---
def test_a_feature_nothing_declares() -> None:
    assert "'b1'" in refused(new_set(), form(needs="b1"))
    assert "'b2'" in refused(new_set(), form(needs=["a", "!b2"]))
    assert "'b3'" in refused(new_set(), form(needs="a|b3"))


def test_an_operand_that_needs_a_feature_nothing_declares() -> None:
    operand = choice(when({MODE: 1}, reg(SRC), needs="b4"), when({MODE: 0}, reg(SRC)))
    assert "'b4'" in refused(new_set(), form(parts={"dst": reg(DST), "src": operand}))


def test_features_variants_and_program_types_may_be_needed() -> None:
    isa = InstructionSet("toy", {"v": Variant("v", frozenset({"a"}))}, "a toy", lambda unit: 1, programs=("p", "q"))
    define(isa, form(needs=["a", "v", "!p|q"]))


def test_a_semantics_function_that_uses_an_undefined_name() -> None:
    def summing(dst, src):
        """Add."""
        BRAANCH(dst)  # noqa: F821

    isa = new_set()
    define(isa, form(), function=summing)
    with pytest.raises(DefinitionError, match="record 'summing' uses 'BRAANCH'"):
        isa.check_names()


def _helper(dst):
    return LOKC(dst)  # noqa: F821


def test_a_helper_that_uses_an_undefined_name() -> None:
    def summing(dst, src):
        """Add."""
        dst.write((lambda: _helper(src))())

    isa = new_set()
    define(isa, form(), function=summing)
    with pytest.raises(DefinitionError, match=r"record 'summing' uses 'LOKC' in _helper"):
        isa.view("v", "")


@pytest.mark.parametrize("name", ["tesla", "vuc", "usse"])
def test_every_feature_that_is_needed_is_declared(name) -> None:
    """Operands, too, each of them: the check at import only looks for names that no instruction set declares."""
    isa = instruction_set(name)
    needed = {n.lstrip("!") for r in isa.records for f in r.forms for s in (f.needs, *needs_of(f.parts)) for n in s}
    assert {part for n in needed for part in n.split("|")} <= isa.features
    assert name == "vuc" or needed


def needs_of(parts: Any) -> Any:
    return names._needs(parts, {})


def test_operands_that_share_some_bits_of_a_field_are_refused_and_those_of_one_field_are_not() -> None:
    """Such operands could not be encoded together but for some values, which no statement would say."""
    assert "'dst' and 'src' both use the bits 0x40" in refused(
        new_set(), form(parts={"dst": reg(DST), "src": reg(bits(6, 8))})
    )
    inside = template("[{x}]", Compound, x=Imm(bits(4, 5), 32))
    assert "'dst' and 'src' both use the bits 0x30" in refused(new_set(), form(parts={"dst": reg(DST), "src": inside}))
    define(new_set(), form(parts={"dst": reg(DST), "src": reg(DST)}))
    either = choice(when({MODE: 1}, reg(SRC)), when({}, Imm(bits(5, 8), 32)))
    message = refused(new_set(), form(parts={"dst": reg(DST), "src": either}))
    assert "'dst' and 'src' both use the bits 0x60 in some words; where the machine has it so, `sharing`" in message
    define(new_set(), form(parts={"dst": reg(DST), "src": either}, sharing={"src": "a long number is held in DST"}))
    selected = choice(when({DST: 7}, Literal("#")), when({}, reg(DST)))  # all bits of DST select
    word = Enum(bits(5, 8), {v: f"w{v}" for v in range(16)})
    assert "'dst' and 'src' both use the bits 0x60" in refused(new_set(), form(parts={"dst": selected, "src": word}))
    both = choice(when({MODE: 1}, reg(bits(5, 7))), when({}, Imm(bits(5, 8), 32)))
    assert "'dst' and 'src' both use the bits 0x60" in refused(new_set(), form(parts={"dst": reg(DST), "src": both}))


def test_brackets_around_a_group_are_not_operands_of_it() -> None:
    """Also of one with too many bits for a table of its values: then operands are taken one after the other."""
    group = template("[{x}:{y}]", Compound, x=Imm(bits(0, 7), 32), y=Imm(bits(8, 15), 32))
    operand = operand_of(group, 0x1234)
    assert isinstance(operand, Compound)
    assert (operand, [str(o) for o in operand.operands]) == ("[0x34:0x12]", ["0x34", "0x12"])
    assert [b.value for b in bits_for(group, operand)] == [0x1234]


def test_words_of_a_group_are_operands_of_it_that_need_not_be_given() -> None:
    group = template("bits[{x}:{y}]", Compound, x=Imm(bits(0, 7), 32), y=Imm(bits(8, 15), 32))
    operand = operand_of(group, 0x1234)
    assert isinstance(operand, Compound)
    assert [str(o) for o in operand.operands] == ["bits", "0x34", "0x12"]
    for given in (operand, Compound((Immediate(0x34), Immediate(0x12)))):
        assert [b.value for b in bits_for(group, given)] == [0x1234]


def test_a_number_that_is_a_word_of_the_text_is_a_number_of_the_operand() -> None:
    odd = Enum(bits(0, 2), {v: str(2 * v + 1) for v in range(8)}, {v: 2 * v + 1 for v in range(8)})
    rotation = template("left({value})", Immediate, value=odd)
    operand = operand_of(rotation, 3)
    assert isinstance(operand, Immediate)
    assert (str(operand), int(operand)) == ("left(7)", 7)
    for given in (operand, Immediate(7), 7, "left(7)"):
        assert [b.value for b in bits_for(rotation, given)] == [3]
    assert not bits_for(rotation, 8)


def test_a_mistake_in_a_meaning_names_the_instruction_and_its_place() -> None:
    isa = new_set()

    def summing(dst, src):
        """Add."""
        if src == param(SRC, 3):
            dst.written()

    define(isa, form(parts={"dst": reg(DST), "src": Imm(SRC)}), function=summing)
    with pytest.raises(IsakitError, match="a Python condition on the lane value") as caught:
        trace_of(isa.records[0].forms[0], 0x92)
    place = f"{__file__}, line {summing.__code__.co_firstlineno}"
    assert caught.value.__notes__ == [f"in the meaning of `add $r1 0x1`: {place}"]
