"""Shader files from source texts alone, and the builder behind the directives."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, settings

import isakit
from isakit import formats as f
from isakit.errors import AsmError, FormatError
from isakit.formats import Shader
from isakit.programs import write
from unit.formats.strategies import gxp_files

USSE = isakit.isa("usse")


def rebuilt(data: bytes) -> bytes:
    """The file that the listing of a file assembles to."""
    shader = isakit.load(data)
    assert isinstance(shader, Shader)
    return write(USSE.assemble(shader.listing()), "gxp")


def test_every_file_of_the_corpus_is_written_again_from_its_listing(shared: Path) -> None:
    paths = sorted((shared / "corpus/usse/gxp").glob("*.gxp"))
    different = [p.name for p in paths if rebuilt(p.read_bytes()) != p.read_bytes()]
    assert len(paths) == 55
    assert different == []


@settings(max_examples=60)
@given(gxp_files())
def test_any_file_is_written_again_from_its_listing(gxp: f.GxpFile) -> None:
    data = f.write_gxp(gxp)
    assert rebuilt(data) == data


@settings(max_examples=20)
@given(gxp_files())
def test_unusual_order_and_padding_are_written_again(gxp: f.GxpFile) -> None:
    first = f.parse_gxp(f.write_gxp(gxp))
    names = [p for p in first.layout if p.kind == "name"]
    fixed = ("header", "varyings")  # what a header or the varyings point at lies past them
    others = [p for p in first.layout if p.kind not in ("name", "primary", "phases", *fixed)]
    primary = [dataclasses.replace(p, gap=b"\1\2\3") for p in first.layout if p.kind == "primary"]
    moved = dataclasses.replace(first, phases=(), tail=b"\5\6", layout=[
        *(p for p in first.layout if p.kind in fixed), *names, *reversed(others), *primary])  # fmt: skip
    data = f.write_gxp(moved)
    assert rebuilt(data) == data
    assert rebuilt(data + b"\7") == data + b"\7"


FRAGMENT = """
.gxp fragment
.uniform tint f32x4
.sampler image f32x4 unit 0
.texture unit 0
.varying texcoord0 f32x2
.result f16x4
.program primary
    phas wait7 temps 0 addr 0
    smp2d.f32 f32 r0 pa0 sa4 drc0
    wdf drc0
    vpck.f16.f32 pa0.xyzw r0.xyzw r2
"""


def built(text: str = FRAGMENT) -> f.GxpFile:
    return f.parse_gxp(write(USSE.assemble(text), "gxp"))


def test_what_follows_from_the_code_is_derived() -> None:
    gxp = built()
    assert gxp.texunit_flags == 2
    assert gxp.buffer_flags == 1 << 28
    assert gxp.sampler_query == (0x301,) + (0,) * 15
    assert [(c.index, c.base_sa_offset, c.size_in_words) for c in gxp.containers] == [(14, 0, 4), (19, 4, 4)]
    assert [(s.resource, s.sa_offset) for s in gxp.dependent_samplers] == [(k, k) for k in range(4)]
    assert (gxp.primary_registers, gxp.secondary_registers, gxp.temp_registers) == (2, 8, 4)
    assert (gxp.phase_count, gxp.phases) == (1, (0,))


def test_a_program_of_two_phases_has_a_table_of_phases() -> None:
    gxp = built(FRAGMENT.replace("    wdf drc0\n", "    phas wait1 temps 0 addr 0\n    kill !p1\n    wdf drc0\n"))
    assert (gxp.phase_count, gxp.phases) == (2, (0, 2))
    assert gxp.flags & 8


def test_what_is_derived_can_be_said_otherwise() -> None:
    gxp = built(
        FRAGMENT.replace(".result", ".registers temps 9 sa 20\n.flags bit2 no iterates\n.sizes scratch 3\n.result")
    )
    assert (gxp.temp_registers, gxp.secondary_registers, gxp.flags & 0x1004, gxp.buffer_sizes[0]) == (9, 20, 4, 3)


def test_names_with_any_character() -> None:
    name = "_m[0].x$1 \N{SECTION SIGN}"
    parameters = [f.GxpParameter(n, 1, 0, 1, 14, 0, 0, 1, k) for k, n in enumerate([name, "", "0a", ".x"])]
    gxp = f.GxpFile(parameters=parameters, varyings=f.VertexVaryings())
    assert rebuilt(f.write_gxp(gxp)) == f.write_gxp(gxp)


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        (".gxp geometry", 6, "a stage was expected"),
        (".gxp vertex", 1, "second `.gxp`"),
        (".uniform tint f33x4", 15, "there is no type `f33`"),
        (".uniform tint f32x4[", 21, "a number of elements"),
        (".uniform tint f32x4 sa0 sa0", 25, "does not belong here"),
        (".uniform late f32x4", 1, "comes after literals"),
        (".attribute a f32 pa0 used 0x10000000000000000", 27, "a mask is"),
        (".varying texcoord12 f32x2", 10, "a varying was expected"),
        (".varying texcoord0 f32x2 fetch 0 at texcoord1.uv", 37, "with .xy, .xyw or .xyz"),
        (".varying texcoord0 u8x4", 1, "only colours"),
        (".outputs color0", 10, "a fragment program has no outputs"),
        (".flags sparkling", 8, "no flag 'sparkling'"),
        (".layout header footer", 16, "no part `footer`"),
        (".layout header header", 16, "second `header`"),
        (".literal sa0 1e99", 1, "too large"),
        (".literal sa0 0x100000000", 14, "a number is"),
        (".texture unit 20000", 15, "a unit is"),
        (".container data sa9", 20, "a number of words"),
        (".sizes heap 3", 8, "a buffer was expected"),
    ],
)  # fmt: skip
def test_mistakes_are_shown_where_they_are(line: str, column: int, message: str) -> None:
    text = line if line.startswith(".gxp g") else FRAGMENT.replace(".result", f"{line}\n.result")
    with pytest.raises(AsmError) as e:
        USSE.assemble(text)
    (d,) = [d for d in e.value.diagnostics if message in d.message]
    assert (d.column, d.source) == (column, line)


LONG = "9" * 5000


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (".uniform $110000$ f32", "does not fit 8-bit characters"),
        (f".uniform a f32x{LONG}", "a type such as f32x4"),
        (f".uniform a type{LONG}", "a type such as f32x4"),
        (f".uniform a f32 TEXCOORD{LONG}", "there is no semantic"),
        (f".varying fog f32x2 fetch 0 at texcoord{LONG}", r"with \.xy, \.xyw or \.xyz"),
        (f".flags bit{LONG}", "there is no flag"),
    ],
)  # fmt: skip
def test_numbers_of_any_size_are_refused(line: str, message: str) -> None:
    with pytest.raises((AsmError, FormatError), match=message):
        write(USSE.assemble(f".gxp fragment\n{line}\n"), "gxp")


def test_directives_need_a_file() -> None:
    with pytest.raises(AsmError, match=r"belongs after a `\.gxp`"):
        USSE.assemble(".uniform tint f32x4\n")
    with pytest.raises(FormatError, match=r"begin it with `\.gxp`"):
        write(USSE.assemble("nop\n"), "gxp")
    with pytest.raises(FormatError, match="not tesla code"):
        write(isakit.isa("tesla").assemble("nop\n"), "gxp")


def test_texture_state_in_front_of_its_container_is_refused() -> None:
    text = FRAGMENT.replace(".texture unit 0", ".container data sa8 4\n.texture unit 0 sa4")
    with pytest.raises(FormatError, match="before its container"):
        write(USSE.assemble(text), "gxp")


def test_a_layout_begins_with_the_header() -> None:
    text = FRAGMENT.replace(".texture unit 0", ".texture unit 0\n.layout varyings header parameters primary")
    with pytest.raises(FormatError, match="the header is not the first part"):
        write(USSE.assemble(text), "gxp")


def test_the_builder_says_the_same_as_the_text() -> None:
    b = f.GxpBuilder("fragment")
    assert b.uniform("tint", "f32", 4) == 0
    assert b.sampler("image", unit=0, state=True) == 4
    assert b.varying("texcoord0", 2) == 0
    b.result("f16", 4)
    program = USSE.assemble(FRAGMENT[FRAGMENT.index(".program") :])
    assert b.to_bytes(program) == write(USSE.assemble(FRAGMENT), "gxp")


def test_the_builder_places_inputs_one_after_the_other() -> None:
    b = f.GxpBuilder("vertex")
    assert [b.attribute("position"), b.attribute("uv", components=3), b.attribute("colour", "f16", 4)] == [0, 4, 8]
    assert [b.uniform("scale", components=1), b.uniform("matrix", array=4), b.uniform("end", components=1)] == [
        0,
        2,
        18,
    ]
    assert [b.literal(1.0), b.address(0, bias=-4), b.literal(2)] == [19, 20, 21]
    b.output("texcoord0", 2, half=True)
    b.output("pointsize")
    v = b.file().varyings
    assert isinstance(v, f.VertexVaryings)
    assert v.outputs1 >> 24 == 7
    c = f.GxpBuilder("fragment")
    assert [c.varying("texcoord0", 2), c.varying("color0", type="u8", fetch=1, texel="f32"), c.varying("fog")] == [
        0,
        2,
        7,
    ]
