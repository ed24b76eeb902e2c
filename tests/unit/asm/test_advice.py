"""What people write: words that go without saying, chips by any name, and answers that help."""

from __future__ import annotations

import warnings

import pytest

import isakit
from isakit.asm import declared
from isakit.errors import CompileWarning
from isakit.spec.isa import instruction_set

GT200 = isakit.isa("tesla", "gt200")


def error(text: str, isa: isakit.Isa = GT200) -> str:
    with pytest.raises(isakit.AsmError) as caught:
        isa.assemble(text)
    return str(caught.value)


def sizes(text: str) -> list[tuple[str, int]]:
    return [(i.text, i.size) for i in GT200.assemble(text)]


# --- rounding to nearest goes without saying ---
@pytest.mark.parametrize("name", ["add", "mul"])
def test_without_a_rounding_the_long_form_is_taken_where_it_is_needed(name: str) -> None:
    assert sizes(f"{name} f32 $r0 $r1 $r2; {name} f32 $r0 $r1 $r2") == [(f"{name} f32 $r0 $r1 $r2", 4)] * 2
    assert sizes(f"{name} f32 $r0 $r1 $r2; exit nop") == [(f"{name} rn f32 $r0 $r1 $r2", 8), ("exit nop", 8)]
    assert sizes(f"{name} f32 $r0 $r1 $r100") == [(f"{name} rn f32 $r0 $r1 $r100", 8)]
    assert sizes(f"long {name} f32 $r0 $r1 $r2") == [(f"{name} rn f32 $r0 $r1 $r2", 8)]


@pytest.mark.parametrize("name", ["add", "mul"])
def test_a_rounding_is_taken_by_the_forms_that_round_to_nearest_anyway(name: str) -> None:
    assert sizes(f"{name} rn f32 $r0 $r1 0x3f800000") == [(f"{name} f32 $r0 $r1 0x3f800000", 8)]
    assert sizes(f"{name} rn f32 $r0 $r1 $r2") == [(f"{name} rn f32 $r0 $r1 $r2", 8)]


def test_other_roundings_have_the_long_form_only() -> None:
    assert "does not fit here" in error("add rz f32 $r0 $r1 0x3f800000")


def test_guards_and_modifiers_stand_where_they_did() -> None:
    assert sizes("(e $c0) add sat f32 $r0 neg $r1 $r2") == [("(e $c0) add sat rn f32 $r0 neg $r1 $r2", 8)]


# --- what a text says it is for ---
def test_a_listing_says_what_it_is_for() -> None:
    for name, variant in (("tesla", "g80"), ("vuc", "vp2"), ("usse", "sgx543")):
        text = str(isakit.isa(name, variant).assemble("nop"))
        assert text.startswith(f".isa {name} {variant}\n")
        assert isakit.isa(name).assemble(text).variant == variant


def test_the_first_line_of_an_older_listing_says_it_too() -> None:
    said = declared("// tesla g80\nnop")
    assert said is not None
    assert (said.isa, said.variant) == ("tesla", "g80")
    assert isakit.isa("tesla").assemble("// tesla g80\nnop").variant == "g80"
    assert declared("// a word\n// tesla g80\nnop") is None
    assert declared("// tesla coils are loud\nnop") is None


def test_a_text_for_another_instruction_set_is_one_error() -> None:
    for first in ("// tesla g80", ".isa tesla g80"):
        text = f"{first}\n" + "mov b32 $r0 $r1\n" * 70
        with pytest.raises(isakit.AsmError, match="this text is for tesla, it is being assembled for usse") as caught:
            isakit.isa("usse").assemble(text)
        assert len(caught.value.diagnostics) == 1


@pytest.mark.parametrize("first", ["// tesla g80", ".isa tesla g80", "// comment\n\n.isa TESLA sm_10  // more"])
def test_a_variant_that_was_asked_for_must_be_the_one_the_text_says(first: str) -> None:
    assert "it is being assembled for gt200" in error(f"{first}\nnop")
    assert isakit.isa("tesla", "g80").assemble(f"{first}\nnop").variant == "g80"


def test_a_second_declaration_must_agree_with_the_first() -> None:
    with pytest.raises(isakit.AsmError, match="this text is for gt200, it is being assembled for g80"):
        isakit.isa("tesla").assemble(".isa tesla g80\n.kernel a\nnop\n.isa tesla gt200\n.kernel b\nnop")


# --- names ---
@pytest.mark.parametrize(
    ("name", "variant", "got"),
    [("tesla", "sm_13", ("tesla", "gt200")), ("Tesla", "GT200", ("tesla", "gt200")), ("tesla", "G92", ("tesla", "g84")),
     ("sm_10", None, ("tesla", "g80")), ("SM_12", None, ("tesla", "gt215")), ("g98", None, ("tesla", "g84")),
     ("VP3", None, ("vuc", "vp3")), ("sm_11", "g84", ("tesla", "g84")), ("USSE", None, ("usse", "sgx543"))],
)  # fmt: skip
def test_chips_have_the_names_their_owners_know(name: str, variant: str | None, got: tuple[str, str]) -> None:
    found = isakit.isa(name, variant)
    assert (found.name, found.variant) == got
    if got[0] == "tesla":
        assert isakit.Device(variant or name, engine="reference").chip == got[1]


def test_names_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(isakit.UnknownIsaError, match="'sm_10' is tesla g80, not gt200"):
        isakit.isa("sm_10", "gt200")
    with pytest.raises(isakit.UnknownIsaError, match="tesla, vuc, usse"):
        isakit.isa("sm_20")


@pytest.mark.parametrize(
    ("product", "answer"),
    [("GeForce 8800 GTX", "`g80`"), ("nv50", "`g80`"), ("nva0", "`gt200`"), ("NVAC", "`mcp77`"),
     ("nv92", "`g84`"), ("nva8", "`gt215`"),
     ("8800 GTS 512", "`g84`"), ("8800gts 640", "`g80`"), ("GeForce GTX 280", "`gt200`"),
     ("GT 240", "`gt215`"), ("GTS 240", "`g84`"), ("GeForce 9400M", "`mcp77`"), ("Tesla C1060", "`gt200`"),
     ("GTX 480", "Fermi and what"), ("gf100", "Fermi and what"), ("Fermi", "Fermi and what")],
)  # fmt: skip
def test_names_of_products_lead_to_their_chip(product: str, answer: str) -> None:
    with pytest.raises(isakit.UnknownIsaError, match=answer) as caught:
        isakit.Device(product)
    assert "it has g80, g84, gt200, gt215, mcp77" in str(caught.value)
    if product == "gf100":  # which has a vµc that is known here
        assert isakit.isa(product).name == "vuc"
        return
    with pytest.raises(isakit.UnknownIsaError, match=answer):
        isakit.isa(product)


@pytest.mark.parametrize("product", ["PS Vita", "vita", "PSP2"])
def test_a_console_leads_to_its_shader_core(product: str) -> None:
    with pytest.raises(isakit.UnknownIsaError, match="`sgx543`"):
        isakit.isa(product)


def test_a_misspelt_label_is_found() -> None:
    assert "did you mean `loop`?" in error("loop: bra #lop")


# --- dead ends ---
@pytest.mark.parametrize(
    ("text", "answer"),
    [("add f64 $r0 $r2 $r4", "did you mean `add f64 $r0d $r2d $r4d`?"),
     ("mov b32 $r0 $physid", "did you mean `mov $r0 $physid`?"),
     ("mov $r0 $r1", "did you mean `mov b32 $r0 $r1`?"),
     ("add b32 $r0 $r1 s[0x10]", "did you mean `add b32 $r0 b32 s[0x10] $r1`?"),
     ("mov b16 $a1 $r1l", "an address register is loaded by a shift: `shl $a1 $r1 0x0`"),
     ("MOV.U32 R0, R1", "this looks like NVIDIA's disassembler text"),
     ("/*0000*/ MOV R0, R1;", "this looks like NVIDIA's disassembler text"),
     ("ld.global.u32 %r1,[%r2]", "this looks like PTX text"),
     (".version 1.4", "this looks like PTX"),
     ("bra #foo", "there is no label `foo`"),
     ("mov b32 r0 r1", "did you mean `mov b32 $r0 $r1`?"),
     ("add b32 R0 R1 R2", "did you mean `add b32 $r0 $r1 $r2`?"),
     ("exit", "it stands before an instruction: `exit nop`"),
     ("bar.sync 0", "all warps of the block meet at `bar inc wait 0x0 all`"),
     ("membar.gl", "this looks like PTX text"),
     ("setp.eq.s32 $r0 $r1", "this looks like PTX text"),
     ("mad f32 $r0 $r1 $r2 $r3", "a product and a sum are `add f32 $r0 (mul $r1 $r2) $r3`"),
     ("__syncthreads()", "all warps of the block meet at `bar inc wait 0x0 all`"),
     ("ld b32 $r0 [$r1]", "`ld b32 $r0 g14[$r1]`"),
     ("st b32 g[$r1] $r0", "`st b32 g14[$r1] $r0`"),
     ("add f32 $r0 $r1 -$r2", "did you mean `add f32 $r0 $r1 neg $r2`?"),
     ("set $c0 lt u32 $r1 $r2", "`set $c0 # l u32 $r1 $r2`"),
     ("mov b32 $r0 s[0x10]", "`mov b32 $r0 b32 s[0x10]`"),
     ("mov b32 $r0 $r1 # a comment", "a comment begins with `//`"),
     ("loop mov b32 $r0 $r1", "a label ends with a colon: `loop:`"),
     ("mov b32 $r0 p[0x10]", "geometry programs have this instruction: say `.program geometry`")],
)  # fmt: skip
def test_dead_ends_have_an_answer(text: str, answer: str) -> None:
    assert answer in error(text)


@pytest.mark.parametrize(
    "text", ["add f64 $r0d $r2d $r4d", "mov $r0 $physid", "mov b32 $r0 $r1", "add b32 $r0 b32 s[0x10] $r1",
             "shl $a1 $r1 0x0", "add b32 $r0 $r1 $r2", "exit nop", "join nop",
             "bar inc wait 0x0 all", "add f32 $r0 (mul $r1 $r2) $r3",
             "add $r0 (mul u16 $r1l $r2l) $r3", "ld b32 $r0 g14[$r1]", "st b32 g14[$r1] $r0",
             "add f32 $r0 $r1 neg $r2", "set $c0 # l u32 $r1 $r2", "mov b32 $r0 b32 s[0x10]",
             ".program geometry\nmov b32 $r0 p[0x10]"],
)  # fmt: skip
def test_the_answers_assemble(text: str) -> None:
    assert len(GT200.assemble(text)) == 1


def test_the_form_that_is_shown_is_that_of_the_type_that_was_written() -> None:
    syntaxes = [line for line in error("add f64 $r0 $r2 $r4").splitlines() if line.startswith("note: syntax")]
    assert len(syntaxes) == 1
    assert "rn|rm|rp|rz f64" in syntaxes[0]


def test_a_name_close_to_a_wrong_operand_gives_way_to_better_advice() -> None:
    assert "$sr10" not in error("mov $r0 $r1")


def test_the_message_about_alignment_says_what_has_no_long_form() -> None:
    assert "the preceding instruction has no long form" in error(".word 1; exit nop")


def test_many_errors_are_found_as_fast_as_few_are_explained() -> None:
    text = "mov $r0 $r1\n" * 2000
    with pytest.raises(isakit.AsmError) as caught:
        GT200.assemble(text)
    assert len(caught.value.diagnostics) == 2000
    assert sum("did you mean `mov b32" in note for d in caught.value.diagnostics for note in d.notes) == 8


@pytest.mark.parametrize(
    ("isa", "text", "answer"),
    [("vuc", "mov r1 5", "did you mean `mov $r1 5`?"),
     ("vuc", "mov $r1 #5", "did you mean `mov $r1 5`?"),
     ("vuc", "mov.u32 $r1 $r2", "this looks like PTX text, which has another syntax: here it is `mov $r1 $r2`"),
     ("usse", "vmul.f32 i0 i1 i2", "a vector names its channels: `i0.xyzw`"),
     ("usse", "vmul.f32 i0.xyzw i1.rgba i2.xyzw", "channels are called x, y, z and w: `i0.xyzw`"),
     ("usse", "vpck.f32.f32 o0.xyz pa0.xyz pa2", "a source names four channels"),
     ("usse", "vmad.f32 i0.xyzw i1.xyzw i2.xyzw", "did you mean `vmad4.f32`"),
     ("usse", "mov.u32 %r0 %r1", "which has another syntax: here it is `vmul.f32 i0.xyzw i1.xyzw sa0.xyzw`")],
)  # fmt: skip
def test_dead_ends_of_the_other_machines_have_an_answer(isa: str, text: str, answer: str) -> None:
    with pytest.raises(isakit.AsmError) as caught:
        isakit.isa(isa).assemble(text)
    assert answer in str(caught.value)


def test_a_very_long_name_of_a_chip_is_cut() -> None:
    for make in (lambda: isakit.isa("a" * 9000), lambda: isakit.isa("tesla", "a" * 9000)):
        with pytest.raises(isakit.UnknownIsaError) as caught:
            make()
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["tesla", "vuc", "usse"])
def test_the_sample_of_an_instruction_set_assembles(name: str) -> None:
    chosen = isakit.isa(name)
    assert len(chosen.assemble(instruction_set(name).sample)) == 1


@pytest.mark.parametrize(
    "text",
    ["mov b32 $r0 {}", "{} $r0", "bra #{}", "{0}:\n{0}:", "mov b32 $r0 0x{}", ".{} 3", ".kernel k\n.param {} {}"],
)
def test_a_very_long_word_is_cut_in_what_is_said_of_it(text: str) -> None:
    with pytest.raises(isakit.AsmError) as caught:
        isakit.isa("tesla").assemble(text.format("5" * 9000 if "0x" in text else "a" * 9000, "b" * 9000))
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("text", "place", "number"),
    [
        ("nop; mul f32 $r0 $r1 2", "1:22", "2"),
        ("add f32 $r0 $r1 -1", "1:18", "1"),
        ("x: add f32 $r0 $r1 3; bra x", "1:20", "3"),
    ],
)
def test_an_integer_for_an_f32_number_is_told(text: str, place: str, number: str) -> None:
    with pytest.warns(
        CompileWarning, match=f"`{number}` is the bits of an f32 number here: write `{number}.0`"
    ) as told:
        isakit.isa("tesla").assemble(text)
    assert place in str(told[0].message)


@pytest.mark.parametrize(
    "text",
    ["mul f32 $r0 $r1 2.0", "mul f32 $r0 $r1 0x2", "add f32 $r0 $r1 0", "mov b32 $r0 2", "mul f32 $r0 $r1 $r2",
     "two = 2; mul f32 $r0 $r1 two", "add b32 $r0 $r1 2"],
)  # fmt: skip
def test_other_integers_are_not(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        isakit.isa("tesla").assemble(text)


@pytest.mark.parametrize(
    ("statement", "isa"),
    [("set $c0 # l u32 $r0 0x80", GT200), ("and b32 $c0 # $r0 0x80", GT200), ("st D[$r1] 0x5", isakit.isa("vuc"))],
)
def test_a_number_where_only_registers_go_is_named(statement: str, isa: isakit.Isa) -> None:
    said = error(statement, isa)
    number = statement.split()[-1]
    assert f"`{number}` does not fit here" in said
    assert f"`{number}` cannot stand here: an instruction before this one has to put it into a register" in said
