"""What programs get beside attributes and interpolated values, and colours in the format of the tile."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import isakit
from isakit.compile.shading.compiled import build_shader
from isakit.debug.compare_shaders import compare_shaders
from isakit.decompile import glsl
from isakit.errors import CompileError
from isakit.formats.gxp import HAS_INDEX, HAS_INSTANCE, READS_COLOR
from isakit.programs import write
from support.patience import PATIENCE

SPRITECOORD, NATIVE = 1 << 5, 1 << 6


def test_the_place_inside_a_point() -> None:
    text = "varying vec2 a; void main() { gl_FragColor = vec4(gl_PointCoord, a); }"
    shader = isakit.compile_shader(text, stage="fragment", language="glsl", target="f32x4")
    place, other = np.array([[0.25, 0.5], [1, 0]], np.float32), np.array([[3, 4], [5, 6]], np.float32)
    got = isakit.usse.run(shader, varyings={"texcoord0": other, "spritecoord": place})["color"]
    assert np.array_equal(got, np.hstack([place, other]))
    assert shader.file.flags & SPRITECOORD
    assert ".varying spritecoord f32x2" in shader.listing()


@pytest.mark.parametrize(
    ("text", "stage", "target"),
    [
        ("void main() { gl_FragColor = gl_PointCoord.xyxy; }", "fragment", "f16x4"),
        ("void main() { gl_FragColor = gl_FragCoord; }", "fragment", "u8x4"),
        ("void main() { gl_Position = vec4(float(gl_VertexID), float(gl_InstanceID), 0.0, 1.0); }", "vertex", "f16x4"),
    ],
)
def test_such_files_are_rebuilt_from_their_listing(text: str, stage: str, target: str) -> None:
    made = build_shader(text, stage=stage, language="glsl", target=target)
    assert write(isakit.isa("usse").assemble(made.shader.listing()), "gxp") == made.data


def test_numbers_of_vertex_and_instance() -> None:
    text = """attribute vec4 p;
    void main() { gl_Position = p + vec4(float(gl_VertexID), float(gl_InstanceID * 3), 0.0, 0.0); }"""
    shader = isakit.compile_shader(text, stage="vertex", language="glsl")
    p = np.arange(12, dtype=np.float32).reshape(3, 4)
    got = isakit.usse.run(shader, attributes={"p": p, "instance": np.array([2, 2, 2])})["position"]
    assert np.array_equal(got - p, [[0, 6, 0, 0], [1, 6, 0, 0], [2, 6, 0, 0]])
    assert shader.file.flags & HAS_INDEX
    assert shader.file.flags & HAS_INSTANCE
    assert [q.name for q in shader.parameters] == ["p"]


def test_a_number_that_nobody_reads_has_no_register() -> None:
    text = "attribute vec4 p; void main() { int n = gl_VertexID; gl_Position = p; }"
    shader = isakit.compile_shader(text, stage="vertex", language="glsl")
    assert not shader.file.flags & HAS_INDEX


@pytest.mark.parametrize("of", ["float", "half"])
def test_the_colour_of_the_tile_itself_is_four_bytes(of: str) -> None:
    text = f"{of}4 main({of}4 c : TEXCOORD0) : COLOR {{ return c; }}"
    shader = isakit.compile_shader(text, stage="fragment", language="cg", target="u8x4")
    c = np.array([[0, 1, 0.5, 0.25], [-1, 2, 0.125, 0.75]], np.float32)
    got = isakit.usse.run(shader, varyings={"texcoord0": c})
    assert np.array_equal(got["color"], np.rint(np.clip(c, 0, 1) * 255).astype(np.float32) / np.float32(255))
    assert shader.file.flags & NATIVE
    assert any(i.text.startswith(f"vpck.u8.{'f16' if of == 'half' else 'f32'} o0.xyzw") for i in shader.primary)


def test_an_option_that_there_is_not_is_refused() -> None:
    with pytest.raises(TypeError, match="there is no option 'stagee'"):
        isakit.compile_shader("float4 main() : COLOR { return 1; }", stagee="fragment")


def test_the_compiler_needs_the_standard_library_only() -> None:
    code = """import sys, isakit
s = isakit.compile_shader("float4 main(float4 c : COLOR) : COLOR { return c; }", stage="fragment", language="cg")
print(len(s.primary), sorted({"numpy", "llvmlite", "click", "PIL"} & set(sys.modules)))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout == "2 []\n"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("#version 100\n#extension GL_EXT_shader_framebuffer_fetch : require\nprecision mediump float;\n"
         "varying vec4 a;\nvoid main() { gl_FragColor = gl_LastFragData[0] * 0.5 + a.wzyx; }", "glsl"),
        ("__nativecolor float4 main(float4 a : TEXCOORD0, float4 last : FRAGCOLOR) : COLOR "
         "{ return last * 0.5 + a.wzyx; }", "cg"),
    ],
)  # fmt: skip
def test_the_colour_of_the_tile_before(text: str, language: str) -> None:
    """It comes as bytes, and so the result leaves; the text of the file says the same."""
    shader = isakit.compile_shader(text, stage="fragment", language=language)
    assert shader.file.flags & NATIVE
    assert shader.file.flags & READS_COLOR
    rng = np.random.default_rng(4)
    a, before = rng.random((64, 4), np.float32) / 2, rng.integers(0, 256, (64, 4)) / np.float32(255)
    got = isakit.usse.run(shader, varyings={"texcoord0": a}, target=before)["color"]
    want = np.rint((before * np.float32(0.5) + a[:, ::-1]).clip(0, 1) * 255) / 255
    np.testing.assert_allclose(got, want, atol=1.01 / 255)
    assert np.isclose(got, want, atol=1e-6).mean() > 0.98  # but for what is halfway between two bytes
    again = glsl(shader)
    assert "gl_LastFragData[0]" in again
    assert "GL_EXT_shader_framebuffer_fetch" in again
    same = compare_shaders(shader, isakit.compile_shader(again, stage="fragment", language="glsl"), count=64)
    assert same, same.differences


def test_the_colour_of_the_tile_has_one_format() -> None:
    text = "float4 main(float4 last : FRAGCOLOR) : COLOR { return last; }"
    with pytest.raises(CompileError, match="which has no f32x4"):
        isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4")


@pytest.mark.parametrize("where", ["float2 __nostrip spare", "__nostrip float2 spare"])
def test_parameters_that_nobody_reads_stay_where_the_text_says_so(where: str) -> None:
    text = f"""void main(float4 at, {where}, float2 gone, __nostrip uniform float4 tint, uniform float4 out_of_use,
    uniform sampler2D unread, out float4 p : POSITION) {{ p = at; }}"""
    shader = isakit.compile_shader(text, stage="vertex", language="cg")
    assert [p.name for p in shader.parameters] == ["at", "spare", "tint"]
    assert shader.file.varyings.attribute_registers == 0xF
    everything = isakit.compile_shader(text.replace("void", "void __nostrip"), stage="vertex", language="cg")
    assert [p.name for p in everything.parameters] == ["at", "spare", "gone", "tint", "out_of_use", "unread"]


def test_attributes_whose_bytes_come_as_they_are() -> None:
    """The words of a vertex, not numbers made of them: floats and integers."""
    text = """void main(__regformat int4 i : TEXCOORD0, __regformat unsigned int u,
    __regformat float2 f, out float4 p : POSITION, out float4 t : TEXCOORD0) {
      p = float4(i >> 4); t = intBitsToFloat(i) + float4(f, float(u), floatToIntBits(f.x) == 0x40200000); }"""
    shader = isakit.compile_shader(text, stage="vertex", language="cg")
    assert shader.file.varyings.untyped_registers == 0b0011_0001_1111
    i = np.array([[0x3FC00000, 0x40000000, -1 << 31, 0]], np.int32)
    given = {"i": i, "u": np.full((1, 4), 7, np.uint32), "f": np.array([[2.5, 3, 0, 0]], np.float32)}
    got = isakit.usse.run(shader, attributes=given)
    assert np.array_equal(got["position"], i >> 4)
    assert np.array_equal(got["texcoord0"], [[1.5 + 2.5, 2 + 3, 7, 1]])
    again = isakit.compile_shader(glsl(shader), stage="vertex", language="glsl")
    assert again.file.varyings.untyped_registers == shader.file.varyings.untyped_registers
    same = compare_shaders(shader, again, count=16)
    assert same, same.differences


@pytest.mark.parametrize(
    ("text", "stage", "message"),
    [
        ("float4 main(__regformat float4 a : TEXCOORD0) : COLOR { return a; }", "fragment", "only attributes"),
        ("__regformat half4 main(half4 a : TEXCOORD0) : COLOR { return a; }", "fragment", "only attributes"),
        ("void main(__regformat half4 a, out float4 p : POSITION) { p = a; }", "vertex", "float, int or unsigned int"),
        ("void main(uniform float4 a : BUFFER[14], out float4 p : POSITION) { p = a; }", "vertex", r"BUFFER\[13\]"),
        ("__nativecolor void main(float4 a, out float4 p : POSITION) { p = a; }", "vertex", "fragment programs"),
        ("__nativecolor;\nfloat4 main() : COLOR { return 1; }", "fragment", "__nativecolor float4 main"),
        ("__msaa4x float4 main() : COLOR { return 1; }", "fragment", "samples of the tile one by one"),
    ],
)
def test_words_of_the_vita_where_they_mean_nothing(text: str, stage: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        isakit.compile_shader(text, stage=stage, language="cg")


def test_native_colour_is_written_as_bytes() -> None:
    text = "__nativecolor half4 main(half4 a : COLOR) : COLOR { return a; }"
    shader = isakit.compile_shader(text, stage="fragment", language="cg")
    assert shader.file.flags & NATIVE
    assert np.array_equal(
        isakit.usse.run(shader, varyings={"color0": [[0, 0.25, 1, 2]]})["color"] * 255, [[0, 64, 255, 255]]
    )


def _through(varyings: dict[str, int], assigned: set[str], read: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Hand numbers from a vertex to a fragment program of GLSL; return what is read of them, and what should be."""
    types = {1: "float", 2: "vec2", 3: "vec3", 4: "vec4"}
    declared = "".join(f"varying {types[n]} {name};\n" for name, n in varyings.items())
    numbers = {name: [k + c / 4 for c in range(n)] for k, (name, n) in enumerate(varyings.items())}
    sets = [f"{name} = {types[varyings[name]]}({', '.join(map(str, numbers[name]))});" for name in sorted(assigned)]
    vertex = f"attribute vec4 p;\n{declared}void main() {{ gl_Position = p; {' '.join(sets)} }}"
    parts = [f"{name}{'.' + c if varyings[name] > 1 else ''}" for name in read for c in "xyzw"[: varyings[name]]]
    out = isakit.usse.run(isakit.compile_shader(vertex, stage="vertex"), attributes={"p": np.zeros((1, 4))})
    given = {name: np.pad(rows, ((0, 0), (0, 4 - rows.shape[1]))) for name, rows in out.items() if "texcoord" in name}
    got: list[float] = []
    for part in parts:
        text = f"precision mediump float;\n{declared}void main() {{ gl_FragColor = vec4({part}); }}"
        shader = isakit.compile_shader(text, stage="fragment", target="f32x4")
        got.append(isakit.usse.run(shader, varyings=given)["color"][0, 0])
    return np.array(got), np.array([number for name in read for number in numbers[name]])


def test_a_varying_that_the_vertex_program_leaves_out_keeps_its_place() -> None:
    got, want = _through({"a": 4, "b": 4}, {"b"}, ["b"])
    np.testing.assert_array_equal(got, want)


def test_more_varyings_than_texture_coordinates_share_them() -> None:
    sizes = [2, 1, 3, 4, 2, 2, 1, 3, 2, 2, 4, 1, 2, 1, 1]
    varyings = {f"v{k}": n for k, n in enumerate(sizes)}
    got, want = _through(varyings, set(varyings) - {"v4"}, ["v0", "v1", "v2", "v3", "v7", "v10", "v14"])
    np.testing.assert_array_equal(got, want)


def test_varyings_of_more_components_than_there_are_are_refused_by_name() -> None:
    text = "attribute vec4 p; varying vec4 v[11]; void main() { gl_Position = p; v[10] = p; }"
    with pytest.raises(CompileError, match=r"`v\[10\]` is one more than there are between the programs"):
        isakit.compile_shader(text, stage="vertex")


def test_varyings_that_are_never_written_give_way_to_the_others() -> None:
    declared = "".join(f"varying vec4 unused{k};" for k in range(8)) + "varying vec4 v[3];"
    text = f"attribute vec4 p; {declared} void main() {{ gl_Position = p; v[0] = v[1] = v[2] = p; }}"
    assert (
        ".outputs position texcoord0.xyzw texcoord1.xyzw texcoord2.xyzw"
        in isakit.compile_shader(text, stage="vertex").listing()
    )
