"""Names, completions and explanations in PTX."""

from __future__ import annotations

import random

import pytest

from isakit.compile import compile_ptx
from isakit.lsp.ptx_names import PtxNames
from isakit.lsp.ptx_texts import SPECIAL, PtxText

TEXT = """\
.version 2.3
.target sm_20
.global .u32 lut[4] = {1, 2, 3, 4}, other;
.func (.reg .u32 x) twice (.reg .u32 y) { add.u32 x, y, y; ret; } // not x
.visible .entry one(.param .u64 a, .param .u32 n) {
    .reg .u64 %d<4>, f;  .reg .pred p; .reg .u32 %u<3>, %x;
    .shared .align 4 .b8 s[32];
L0: mov.u64 %d1, lut; @p bra L0;
    { .reg .u64 %d<2>; mov.u64 %d1, s; /* s, L0 */ }
    call (%u1), twice, (%u2);
    ld.global.v2.u32 {%x, %u1}, [f+4];
    st.global.u32 [%d3], %x;
    mov.u64 %d1
}
.entry two() { L0: bra L0; }
"""


def uses(text: str, line: int, column: int) -> list[str]:
    """Return the places of the name at a place, as `line:column`, both from 1."""
    names = PtxNames(text)
    found = names.at(line, column - 1)
    assert found is not None
    return [f"{p.line}:{p.column + 1}" for p in names.references(found[0])]


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        (3, 14, ["3:14", "8:18"]),
        (3, 37, ["3:37"]),
        (4, 18, ["4:18", "4:51"]),  # not that behind the line, nor those of `%x`
        (10, 18, ["4:21", "10:17"]),
        (8, 1, ["8:1", "8:30"]),  # nor in the other kernel, nor in a remark
        (15, 24, ["15:16", "15:24"]),
        (9, 33, ["9:17", "9:32"]),  # of the inner block: its own declaration, and itself
        (8, 13, ["6:15", "8:13", "13:13"]),  # one of a range
        (6, 15, ["6:15", "8:13", "12:20", "13:13"]),  # all of the range
        (11, 24, ["6:57", "11:23", "12:26"]),
        (7, 26, ["7:26", "9:37"]),
    ],
)
def test_the_uses_of_a_name_are_those_of_its_block(line: int, column: int, expected: list[str]) -> None:
    assert uses(TEXT, line, column) == expected


@pytest.mark.parametrize("place", [(1, 10), (4, 48), (4, 63), (9, 45), (99, 1), (5, 5)])
def test_nothing_is_named_elsewhere(place: tuple[int, int]) -> None:
    assert PtxNames(TEXT).at(*place) is None


def test_names_are_refused_that_mean_something() -> None:
    names = PtxNames(TEXT)

    def refused(line: int, column: int, new: str) -> str:
        found = names.at(line, column)
        assert found is not None
        return names.refusal(new, found[0])

    assert refused(8, 0, "again") == ""
    assert refused(15, 15, "one") == "`one` is already declared"
    assert refused(15, 15, "f") == ""  # of the other kernel
    assert "is not a name" in refused(8, 0, "1st")
    assert "rename them in line 6" in refused(8, 12, "%e1")
    assert refused(6, 14, "%e") == ""
    assert "already declared" in refused(6, 14, "%u")


def test_a_range_is_renamed_as_a_whole_and_the_text_still_compiles() -> None:
    text = TEXT.replace("    mov.u64 %d1\n", "").replace("[f+4]", "[%d1]").replace("call (%u1), twice, (%u2);", "")
    before = compile_ptx(text).module.kernels["one"].code
    lines = list[str](text.split("\n"))
    names = PtxNames(text)
    for start, new in (((6, 14), "%wide"), ((8, 0), "again"), ((3, 13), "table"), ((11, 23), "value")):
        found = names.at(*start)
        assert found is not None
        assert names.refusal(new, found[0]) == ""
        for p in reversed(names.references(found[0])):
            line = lines[p.line - 1]
            lines[p.line - 1] = line[: p.column] + new + line[p.column + p.width :]
        names = PtxNames("\n".join(lines))
    assert "%d" in "\n".join(lines)  # the inner block's own range keeps its name
    assert compile_ptx("\n".join(lines)).module.kernels["one"].code == before


def test_any_text_can_be_read() -> None:
    rng = random.Random(1)
    pieces = [
        "{",
        "}",
        "(",
        ")",
        ";",
        ".reg .u32 ",
        ".entry ",
        "k",
        "%r<",
        "9>",
        "/*",
        "*/",
        '"',
        "L:",
        ",",
        "=",
        "\n",
        "[",
        "]",
    ]
    for _ in range(300):
        text = "".join(rng.choices([*pieces, "\n", "[", "]"], k=30))
        names = PtxNames(text)
        lines = text.split("\n")
        for d in names.definitions:
            assert lines[d.place.line - 1].startswith(d.name, d.place.column), text
            assert d.place in names.references(d), text
        for line in range(1, len(lines) + 1):
            names.visible(line)


def words(text: str, line: int, column: int) -> set[str]:
    return {c.word for c in PtxText(text, "k.ptx").completions(line, column)}


def test_completions_know_what_may_stand_at_a_place() -> None:
    lines = TEXT.split("\n")
    first = words(TEXT, 8, 4)
    assert {"add", "setp", ".reg"} <= first
    assert "lut" not in first
    assert "bra" in words(TEXT, 8, lines[7].index("bra") + 1)  # behind a guard
    assert {"u32", "wide", "lo"} <= words("mul.", 1, 4)
    assert "f64" not in words("bra.", 1, 4)
    names = words(TEXT, 12, lines[11].index("%x"))
    assert {"%x", "%d", "lut", "one", "a", "L0", "%tid.x"} <= names
    assert "y" not in names


@pytest.mark.parametrize("register", SPECIAL)
def test_the_special_registers_that_are_offered_are_known(register: str) -> None:
    text = f".version 2.3\n.target sm_13\n.entry k() {{ .reg .u32 %r<2>; mov.u32 %r1, {register}; }}"
    assert compile_ptx(text).module.kernels


def test_an_instruction_is_explained_by_its_spellings() -> None:
    text = PtxText("mad.lo.u32 %r1, %r2, %r3, 4; // mad.lo\nshfl.idx.b32 %r1;\n.reg .u32 %q;\nmov.u32 %q, 1;", "k.ptx")
    shown = text.hover(1, 2)
    assert shown is not None
    assert "mad{.half}{.sat}.type d, a, b, c\n    .half: .hi .lo\n" in shown.text
    assert "mad{.rnd}{.ftz}{.sat}.type d, a, b, c\n    .rnd: .rm .rn .rp .rz\n    .type: .f32 .f64" in shown.text
    assert (shown.column, shown.width) == (0, len("mad.lo.u32"))
    assert text.hover(1, 36) is None
    refused = text.hover(2, 1)
    assert refused is not None
    assert "shared memory" in refused.text
    named = text.hover(4, 9)
    assert named is not None
    assert ".reg .u32 %q;" in named.text
