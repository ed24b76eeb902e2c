"""What is said about wrong texts: all errors at once, each with its place and what would have been right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import isakit

G80 = isakit.isa("tesla", "g80")

BAD = """\
 ad b32 $r1 $r2 $r3
 add b32 $r1 $r2 $r300
 add b33 $r1 $r2 $r3
loop:
 bra lop
 .foo 3
 add b32 $r1 `
x: x:
 .word 0x1ffffffff
 bra c0[0x4]
 discard
 ld b32 $r1 g99[$r2]
 mov b32 $r1
 add b32 $r1 $r2 nosuch+4
 nop {0x1}
 .half 3
"""

# line, column, message, words that must stand in the notes
EXPECTED = [
    (1, 2, "unknown instruction `ad`", "did you mean"),
    (2, 18, "`$r300` does not fit here", "$r0 .. $r127"),
    (3, 6, "`b33` does not fit here", "did you mean `b32`?"),
    (5, 6, "`lop` is not defined", "did you mean `loop`?"),
    (6, 2, "unknown directive `.foo`", "`.float`"),
    (7, 14, "unexpected character '`'", ""),
    (8, 4, "`x` is already defined", "line 8"),
    (9, 2, "0x1ffffffff does not fit 32 bits", ""),
    (10, 2, "g80 compute does not have this form of `bra`", "gt200"),
    (11, 2, "g80 compute does not have `discard`", "fragment"),
    (12, 13, "`g99` does not fit here", "g15"),
    (13, 13, "the statement ends too early", "an immediate"),
    (14, 18, "`nosuch` is not defined", ""),
    (15, 11, "flipping the bits 0x1 makes this another instruction", ""),
    (16, 2, "`.half` belongs into constant data", ".const"),
]


def attempt(text: str, isa: isakit.Isa = G80) -> isakit.Program | isakit.AsmError:
    """The program, or the one kind of error that may come out."""
    try:
        return isa.assemble(text)
    except isakit.AsmError as e:
        return e


def diagnostics(text: str, isa: isakit.Isa = G80) -> list[isakit.Diagnostic]:
    with pytest.raises(isakit.AsmError) as caught:
        isa.assemble(text, path="bad.s")
    return list(caught.value.diagnostics)


def test_every_error_of_a_text_is_reported_at_its_place() -> None:
    found = diagnostics(BAD)
    assert [(d.line, d.column, d.message) for d in found] == [e[:3] for e in EXPECTED]
    for d, expected in zip(found, EXPECTED, strict=True):
        assert expected[3] in "\n".join(d.notes)


def test_a_word_that_was_explained_is_not_guessed_at_later() -> None:
    found = diagnostics("mad f32 $r0 $r1 $r2 $r3\n" * 12 + "ad f32 $r0 $r1 $r2\n")
    assert "add f32 $r0 (mul $r1 $r2) $r3" in found[0].notes[0]
    assert not any("did you mean" in n for d in found[:12] for n in d.notes)
    assert "did you mean" in found[12].notes[0]


def test_a_diagnostic_shows_the_line_and_points_at_the_place() -> None:
    (d,) = diagnostics("nop\n  mov b32 $r1 $r999")
    lines = str(d).splitlines()
    assert lines[0] == "bad.s:2:15: error: `$r999` does not fit here"
    assert lines[1].endswith("|   mov b32 $r1 $r999")
    assert lines[2].rstrip("~").endswith("^")
    assert lines[2].index("^") - lines[1].index("mov") == len("mov b32 $r1 ")
    assert lines[2].endswith("^" + "~" * 4)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (".kernel", (1, 1)),
        (".regs", (1, 1)),
        (".kernel a\n.kernel a", (2, 1)),
        ("nop\n.kernel a\nnop", (1, 1)),
        ("nop\n.org 8", (2, 1)),
        (".kernel a\nnop\n.program vertex", (3, 1)),
        ("nop\n.program compute", (2, 1)),
        (".program vertex\nnop\n.program fragment\n.program vertex", (4, 1)),
        ("nop\n.program vertex\nnop\n.kernel a", (3, 1)),
        (".program pixel", (1, 10)),
        (".isa vuc", (1, 6)),
        (".isa tesla gt200", (1, 12)),
        (".kernel a\n.param x f31", (2, 10)),
        (".const 16", (1, 1)),
        (".const 1\nnop", (2, 1)),
        (".const 1\n.byte 256", (2, 7)),
        (".const 1\n.float 1e39", (2, 8)),
        (".align 24", (1, 8)),
        (".byte 1\nnop", (1, 1)),
        ("/* nop", (1, 1)),
        ("a = b", (1, 5)),
        ("trap trap", (1, 6)),
    ],
)
def test_places_of_errors(text: str, place: tuple[int, int]) -> None:
    d = diagnostics(text)[0]
    assert (d.line, d.column) == place


def test_an_instruction_that_cannot_be_aligned_is_reported() -> None:
    # One word of data stands where an 8-byte instruction would have to start.
    d = diagnostics("nop\n.word 0\nbra 0x0")[0]
    assert d.line == 3
    assert "multiple" in d.message


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "add b32 $r0 $r1 " + "(" * 5000 + "1" + ")" * 5000,
        "mov b32 $r0 " + "-" * 5000 + "1",
        "mov b32 $r0 " + "1+" * 5000 + "1",
        "mov b32 $r0 " + "9" * 10_000,
        "mov b32 $r0 1" + "<<255" * 2000,
        "x" * 100_000,
        ".x" * 10_000,
        "a:" * 10_000 + "a:",
        ";" * 100_000,
        "/*" * 50_000,
        "{" * 1000,
        "nop {0x" + "f" * 1000 + "}",
        ".const 1\n.space 0xffffffff",
        ".space 0x7fffffff",
        "\0\x01\x02",
        "add b32 $r0 $r1 \ud800",
        "long " * 1000,
    ],
)
def test_hostile_texts_are_answered(text: str) -> None:
    result = attempt(text)
    if isinstance(result, isakit.AsmError):
        assert result.diagnostics
        assert len(str(result)) < 5_000_000


PIECES = """
    add sub mov b32 b16 f32 s32 $r0 $r1 $r127 $r300 c0 [ ] 0x4 -1 ( ) mul not long exit join e $c0 s g14 nop bra + #
    .word .kernel .param .const .regs .byte x x: = 1.5 , ; {0x10} { } . .equ .align f32[3] ptr
"""
WORDS = st.sampled_from(PIECES.split())


@given(st.lists(st.lists(WORDS, max_size=9).map(" ".join), max_size=6).map("\n".join))
def test_any_text_assembles_or_is_diagnosed(text: str) -> None:
    for isa in (G80, isakit.isa("vuc", "vp2"), isakit.isa("usse")):
        result = attempt(text, isa)
        if isinstance(result, isakit.AsmError):
            lines = text.split("\n")
            assert result.diagnostics
            for d in result.diagnostics:
                assert 1 <= d.line <= len(lines)
                assert 1 <= d.column <= len(lines[d.line - 1]) + 1
        else:
            assert isa.assemble(str(result)).to_bytes() == result.to_bytes()


@given(st.text(max_size=60))
def test_any_characters_assemble_or_are_diagnosed(text: str) -> None:
    assert str(attempt(text))
