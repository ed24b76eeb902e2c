"""The judge of compilers: planted differences are found, each at its instruction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit.debug.compare import distance
from isakit.debug.compare_shaders import compare_shaders, random_inputs
from isakit.errors import LaunchError
from isakit.formats import Shader
from isakit.programs import write

ISA = isakit.isa("usse")

SECONDARY = """
    vmul.f32 sa20.xy sa0.xyzw c6.xxxx
    or.u32 sa22 sa1 #0x1
"""
FRAGMENT = """
    phas wait7 temps 0x0 addr 0x0
    smp2d.f32 f32 r0 pa0 sa16 drc0
    wdf drc0
    vpck.f32.f32 i0.xyzw r0.xyzw r2
    vpck.f32.f32 i1.xyzw sa0.xyzw sa2
    vmad4.f32 i2.xyzw i0.xyzw sa4.xyzw i1.xyzw
    vmul.f32 i0.xyzw i2.xyzw sa20.xyxy
    vadd.f32 i0.xyz -sa8.xyzw i0.xyzw
    vmax.f32 i1.xy i0.xyzw c0.xxxx
    vmin.f32 i1.zw i0.xyzw c1.yyyy
    vdp3.f32 r4.x pa2.xyz i1.xyz
    vrcp.f32 r6.x r4.x
    vmovc.lt.f32 r8.xy r4.xyzw r6.xyzw pa2.xyzw
    vmad2.f32 r10.xy r8.xyzw sa8.xyzw r4.xyzw
    vtst.sub.f32 gt p0.x r10 c0.xxxx
    p0 vmul.f32 r10.x r10.xxxx c6.xxxx
    vtst.sub.f32 ge p1.x r8 sa12.xxxx
    p1 br +3
    vadd.f32 r10.y r10.yyyy c1.yyyy
    vmul.f32 r8.x r8.xxxx c12.xxxx
    kill !p0
    vpck.f16.f32 pa4.xyzw r10.xyzw r8
    vmul.f16 pa6.xyzw pa4.wzyx pa4.xyzw
    vadd.f16 pa0.xyzw pa6.xyzw pa4.xxyz
    xor.u32 pa8 pa0 #0x8000
    vmov.f16 pa0.xyzw pa0.xyzw
    or.u32 pa0 pa8 #0x0
"""
HEADER = """
.gxp fragment
.uniform scale f32x4
.uniform offset f32x4
.uniform more f32x4
.uniform limit f32
.sampler image f32x4 unit 0
.texture unit 0 sa16
.registers sa 24
.varying texcoord0 f32x2
.varying texcoord1 f32x3
.result f16x4
"""


def shader(primary: str = FRAGMENT, secondary: str = SECONDARY, header: str = HEADER) -> Shader:
    text = f"{header}.program primary\n{primary}.program secondary\n{secondary}"
    found = isakit.load(write(ISA.assemble(text), "gxp"))
    assert isinstance(found, Shader)
    return found


def changed(text: str, line: int, old: str, new: str) -> str:
    lines = text.strip("\n").split("\n")
    assert old in lines[line], lines[line]
    lines[line] = lines[line].replace(old, new, 1)
    return "\n".join(lines) + "\n"


PLANTED = [
    (1, "smp2d.f32 f32 r0 pa0", "smp2d.f32 f32 r0 pa2"),
    (3, "r0.xyzw", "r0.yxzw"),
    (3, "i0.xyzw", "i0.xyw"),
    (4, "sa0.xyzw sa2", "sa0.xyzw sa4"),
    (5, "vmad4.f32 i2.xyzw i0.xyzw", "vmad4.f32 i2.xyzw -i0.xyzw"),
    (5, "sa4.xyzw", "sa4.yyww"),
    (6, "vmul", "vadd"),
    (6, "sa20.xyxy", "sa20.yzxz"),
    (7, "-sa8", "sa8"),
    (7, "i0.xyz ", "i0.xz "),
    (8, "vmax", "vmin"),
    (8, "c0.xxxx", "c7.xxxx"),
    (9, "i0.xyzw", "i0.xyyw"),
    (10, "pa2.xyz", "pa2.xzy"),
    (10, "pa2.xyz", "|pa2.xyz|"),
    (11, "vrcp", "vrsq"),
    (11, "r4.x", "r4.y"),
    (12, "vmovc.lt", "vmovc.le"),
    (12, "r6.xyzw pa2.xyzw", "pa2.xyzw r6.xyzw"),
    (13, "r4.xyzw", "r6.xyzw"),
    (13, "vmad2.f32 r10.xy", "vmad2.f32 r10.x"),
    (14, "gt", "lt"),
    (14, "p0.x", "p2.x"),
    (15, "p0", "!p0"),
    (15, "c6.xxxx", "c4.xxxx"),
    (16, "sa12.xxxx", "sa8.xxxx"),
    (17, "+3", "+2"),
    (18, "c1.yyyy", "c12.xxxx"),
    (20, "!p0", "p0"),
    (21, "r10.xyzw", "r10.yxzw"),
    (22, "pa4.wzyx", "pa4.wzyy"),
    (23, "vadd.f16", "vmin.f16"),
    (24, "#0x8000", "#0x4000"),
    (25, "pa0.xyzw pa0.xyzw", "pa0.xy pa0.xyzw"),
]


@pytest.fixture(scope="module")
def original() -> Shader:
    return shader()


def test_a_shader_agrees_with_itself(original: Shader) -> None:
    found = compare_shaders(original, shader())
    assert found
    assert (found.differences, found.parting, found.largest) == ([], None, 0)
    assert set(found.results) == {"color", "discard"}


@pytest.mark.parametrize(("line", "old", "new"), PLANTED[:33])
def test_a_planted_difference_is_found_at_its_instruction(original: Shader, line: int, old: str, new: str) -> None:
    found = compare_shaders(original, shader(changed(FRAGMENT, line, old, new)))
    assert not found
    assert found.parting is not None
    assert (found.parting.program, found.parting.pcs) == ("primary", (line, line))


@pytest.mark.parametrize(("line", "old", "new"), [(0, "c6.xxxx", "c4.xxxx"), (1, "#0x1", "#0x4000")])
def test_a_difference_in_the_secondary_program_is_found_there(original: Shader, line: int, old: str, new: str) -> None:
    primary = FRAGMENT.replace("sa20.xyxy", "sa20.xyzw")
    found = compare_shaders(shader(primary), shader(primary, changed(SECONDARY, line, old, new)))
    assert not found
    assert found.parting is not None
    assert (found.parting.program, found.parting.pcs) == ("secondary", (line, line))


def test_a_mask_that_nothing_reads_makes_no_difference(original: Shader) -> None:
    assert compare_shaders(original, shader(changed(FRAGMENT, *PLANTED[33])))


def test_an_instruction_more_is_found_by_values(original: Shader) -> None:
    text = changed(FRAGMENT, 15, "p0 vmul", "vadd.f32 r10.x r10.xxxx c1.yyyy\n    p0 vmul").replace("+3", "+3")
    found = compare_shaders(original, shader(text))
    assert found.parting is not None
    assert found.parting.pcs == (15, 15)


def test_another_choice_of_registers_makes_no_difference(original: Shader) -> None:
    renamed = FRAGMENT.replace("r10", "r20").replace("r8", "r30") + "    nop\n"
    assert compare_shaders(original, shader(renamed))


def test_a_literal_is_found_where_it_is_used() -> None:
    header = HEADER + ".literal sa22 {}\n"
    primary = FRAGMENT.replace("sa12.xxxx", "sa22.xxxx")
    secondary = "    vmul.f32 sa20.xy sa0.xyzw c6.xxxx\n"
    found = compare_shaders(*(shader(primary, secondary, header.format(v)) for v in ("0.25", "0.5")))
    assert found.parting is not None
    assert found.parting.pcs == (16, 16)


def test_results_may_lie_some_ulps_apart() -> None:
    header = ".gxp vertex\n.attribute p f32x4\n.outputs position\n"
    one = "    vmul.f32 o0.xy pa0.xyzw c6.xyxy\n    vmul.f32 o2.xy pa2.xyzw pa2.xyzw\n"
    two = one.replace("vmul.f32 o2.xy pa2.xyzw pa2.xyzw", "vmad2.f32 o2.xy pa2.xyzw pa2.xyzw c27.xxxx")
    a, b = (shader(t, "", header) for t in (one, two.replace("c27.xxxx", "c0.xxxx")))
    assert compare_shaders(a, b)
    a, b = (shader(t, "", header) for t in (one, two))
    exact = compare_shaders(a, b)
    assert not exact
    assert exact.largest > 4
    assert compare_shaders(a, b, ulps=exact.largest)


def test_distance_counts_representable_numbers() -> None:
    one = np.float32([1, -0.0, np.nan, np.nan, -1])
    two = np.float32([np.nextafter(np.float32(1), 2), 0, np.nan, 1, 1])
    assert distance(one, two).tolist() == [1, 0, 0, 1 << 32, 2 * 0x3F800000]


def test_given_inputs_take_the_place_of_random_ones(original: Shader) -> None:
    other = shader(changed(FRAGMENT, 18, "c1.yyyy", "c12.xxxx"))
    # Everywhere p1 holds, the branch leaves the changed instruction out.
    assert compare_shaders(original, other, inputs={"uniforms": {"limit": -1e30}})
    assert not compare_shaders(
        original, other, inputs={"varyings": {"texcoord0": np.zeros((8, 2), np.float32)}}, seed=3
    )


def test_stages_must_be_the_same(original: Shader) -> None:
    with pytest.raises(LaunchError, match="nothing to compare"):
        compare_shaders(original, shader("    emit end\n", "", ".gxp vertex\n"))


def test_random_inputs_are_the_same_for_the_same_seed(original: Shader) -> None:
    a, b, c = (random_inputs(original, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(a["varyings"]["texcoord1"], b["varyings"]["texcoord1"])
    assert (a["varyings"]["texcoord1"] != c["varyings"]["texcoord1"]).any()


def test_real_shaders_agree_with_themselves(shared: Path) -> None:
    for path in sorted((shared / "corpus/usse/gxp").glob("*.gxp"))[::6]:
        found = isakit.load(path)
        assert isinstance(found, Shader)
        assert compare_shaders(found, found, count=64)


def test_parts_that_a_uniform_switches_on_are_compared() -> None:
    text = FRAGMENT.replace("vtst.sub.f32 ge p1.x r8 sa12.xxxx", "vtst.sub.f32 ne p1.x sa12 c4.xxxx")
    line = next(k for k, t in enumerate(text.strip("\n").split("\n")) if "vadd.f32 r10.y" in t)
    found = compare_shaders(shader(text), shader(changed(text, line, "c1.yyyy", "c12.xxxx")), count=64)
    assert not found
    assert found.parting is not None
    assert found.parting.pcs == (line, line)


def colour(target: str, change: str = ""):
    text = f"float4 main(float4 c : TEXCOORD0, uniform float k) : COLOR {{ return saturate(c) {change}; }}"
    return isakit.compile_shader(text, stage="fragment", language="cg", target=target)


@pytest.mark.parametrize(
    ("one", "other", "change", "steps"),
    [
        ("f32x4", "f32x4", "* 1.0000001", 2),  # the last place of f32
        ("f16x4", "f16x4", "* 1.0005", 2),  # that of f16
        ("u8x4", "u8x4", "+ 0.0039", 2),  # a 255th
        ("f16x4", "f32x4", "", 1),  # the coarser one
        ("u8x4", "f16x4", "", 1),
    ],
)
def test_colours_may_lie_steps_of_their_format_apart(one: str, other: str, change: str, steps: int) -> None:
    a, b = colour(one), colour(other, change)
    assert not compare_shaders(a, b, count=64)
    within = compare_shaders(a, b, count=64, ulps=steps)
    assert within
    assert 0 <= within.largest <= steps


def test_more_steps_than_allowed_are_a_difference() -> None:
    a, b = colour("u8x4"), colour("u8x4", "* 0.9")
    assert not compare_shaders(a, b, count=64, ulps=2)
    assert compare_shaders(a, b, count=64, ulps=30)
