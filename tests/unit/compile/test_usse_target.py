"""The USSE as the compiler's second target: programs through the passes and the allocator that Tesla has, to files."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isakit
from conftest import shared_file
from isakit import usse
from isakit.compile import ops
from isakit.compile import vector_ops as v
from isakit.compile.builder import IrBuilder
from isakit.compile.ir import Const, Function, IrValue
from isakit.compile.shader import ShaderInput, ShaderInterface, ShaderOutput, ShaderSampler, ShaderUniform
from isakit.compile.shading.compiled import build_shader
from isakit.compile.usse.shader_file import CompiledShader, compile_shader_ir
from isakit.formats.gxp import parse_gxp
from support.oracles.vector_values import fused

Made = tuple[Function, ShaderInterface]
COLOR = [ShaderOutput("color", "COLOR0", 4)]


def number(x: float) -> Const:
    """Return an f32 constant."""
    return Const(struct.unpack("<I", struct.pack("<f", x))[0], "f32")


def started() -> tuple[IrBuilder, Function]:
    """Return the builder of a function with one block, and the function."""
    f = Function("main")
    return IrBuilder(f.block()), f


def loaded(made: Made, folder: Path) -> Any:
    """Return a compiled shader as it is loaded from its file."""
    path = folder / "shader.gxp"
    path.write_bytes(compile_shader_ir(*made).data)
    return isakit.load(path)


def names(compiled: CompiledShader) -> list[str]:
    """Return the mnemonics of the primary program."""
    return [i.mnemonic for i in compiled.primary]


# --- one function with everything ------------------------------------------------------------------------------------
def everything() -> Made:
    """A multiply-add with a swizzle, a dot product, two f16 in one register, a condition, and a texel."""
    b, f = started()
    at = b.op(v.INPUT("uv", "f32x4"))
    light = b.op(v.UNIFORM("light", 0, "f32x4"))
    wide = b.op(v.VMAD, b.op(v.SWIZZLE("zyxw"), at), light, b.op(v.SWIZZLE("wwxy"), at))
    dot = b.op(v.VDOT, b.op(v.SWIZZLE("xyz"), wide), b.op(v.SWIZZLE("xyz"), at))
    pair = b.op(
        v.VADD, b.op(v.VCVT("f16"), b.op(v.SWIZZLE("xw"), wide)), b.op(v.VCVT("f16"), b.op(v.SWIZZLE("yz"), at))
    )
    texel = b.op(v.SAMPLE("image", "2d", "", "f32x4"), b.op(v.SWIZZLE("yx"), at))
    chosen = b.op(v.VSEL, b.op(v.VCMP("lt"), dot, number(1.5)), texel, b.op(v.SWIZZLE("wzyx"), wide))
    x = b.op(v.VCVT("f32"), pair)
    b.emit(v.OUTPUT("color"), [b.op(v.JOIN, b.op(v.SWIZZLE("xy"), chosen), x)], ())
    uniforms, samplers = [ShaderUniform("light", 4)], [ShaderSampler("image")]
    inputs = [ShaderInput("uv", "TEXCOORD0", 4)]
    return f, ShaderInterface("fragment", inputs, uniforms, samplers, COLOR, "f32x4")


def test_one_function_goes_the_whole_way(tmp_path: Path) -> None:
    shader = loaded(everything(), tmp_path)
    at = np.array([[0.5, 0.25, 1, 2], [2, 1, 0.5, -1], [-0.3, 0.7, 0.1, 0.9], [4, 4, 4, 4]], np.float32)
    light = np.array([0.5, -1, 2, 0.1], np.float32)
    image = np.array([[[0.125, 0.25, 0.5, 1]]], np.float32)
    got = usse.run(shader, varyings={"texcoord0": at}, uniforms={"light": light}, textures={"image": image})
    wide = fused(at[:, [2, 1, 0, 3]], np.broadcast_to(light, at.shape), at[:, [3, 3, 0, 1]])
    product = (wide[:, :3] * at[:, :3]).astype(np.float32)
    dot = ((product[:, 0] + product[:, 1]) + product[:, 2]).astype(np.float32)
    assert (dot < 1.5).any()
    assert not (dot < 1.5).all()
    pair = (wide[:, [0, 3]].astype(np.float16) + at[:, [1, 2]].astype(np.float16)).astype(np.float32)
    chosen = np.where((dot < 1.5)[:, None], np.broadcast_to(image[0, 0], at.shape), wide[:, ::-1])
    want = np.concatenate([chosen[:, :2], pair], axis=1)
    assert np.array_equal(got.color.view(np.uint32), want.view(np.uint32))


def test_the_code_has_the_instructions_of_vectors() -> None:
    found = names(compile_shader_ir(*everything()))
    assert {n.partition(".")[0] for n in found} >= {"vdp3", "vadd", "vtst", "smp2d", "wdf", "vpck"}
    assert any(n.startswith("vmad") for n in found)


# --- the seven programs of a library that has Sony's files -----------------------------------------------------------
def transformed(other: str, n: int, semantic: str) -> Made:
    """`position = mul(float4(aPosition, 1), wvp)`, and one more attribute as it is."""
    b, f = started()
    position = b.op(v.JOIN, b.op(v.INPUT("aPosition", "f32x3")), number(1))
    total: IrValue | None = None
    for k, c in enumerate("xyzw"):
        term = b.op(v.VMUL, b.op(v.SWIZZLE(c * 4), position), b.op(v.UNIFORM("wvp", k, "f32x4")))
        total = term if total is None else b.op(v.VADD, total, term)
    assert total is not None
    b.emit(v.OUTPUT("p"), [total], ())
    b.emit(v.OUTPUT("q"), [b.op(v.INPUT(other, "f32" if n == 1 else f"f32x{n}"))], ())
    inputs = [ShaderInput("aPosition", "", 3), ShaderInput(other, "", n)]
    outputs = [ShaderOutput("p", "POSITION", 4), ShaderOutput("q", semantic, n)]
    return f, ShaderInterface("vertex", inputs, [ShaderUniform("wvp", 4, array=4)], [], outputs)


def flat_position() -> Made:
    """`float4(aPosition, 1, 1)`."""
    b, f = started()
    b.emit(v.OUTPUT("p"), [b.op(v.JOIN, b.op(v.INPUT("aPosition", "f32x2")), number(1), number(1))], ())
    return f, ShaderInterface("vertex", [ShaderInput("aPosition", "", 2)], outputs=[ShaderOutput("p", "POSITION", 4)])


def colored(tint: bool = False, texel: str = "", uniform: bool = False) -> Made:
    """A colour: interpolated, of a texture (times a uniform), or a uniform."""
    b, f = started()
    value = (
        b.op(v.INPUT("at", "f32x2" if texel else "f32x4"))
        if not uniform
        else b.op(v.UNIFORM("uClearColor", 0, "f32x4"))
    )
    if texel:
        value = b.op(v.SAMPLE("tex", "2d", "", texel), value)
    if tint:
        value = b.op(v.VMUL, value, b.op(v.UNIFORM("uTintColor", 0, "f32x4")))
    b.emit(v.OUTPUT("color"), [value], ())
    inputs = [ShaderInput("at", "TEXCOORD0" if texel else "COLOR0", 2 if texel else 4)]
    uniforms = [ShaderUniform("uClearColor" if uniform else "uTintColor", 4)]
    return f, ShaderInterface("fragment", inputs, uniforms, [ShaderSampler("tex")], COLOR)


PAIRS: dict[str, Callable[[], Made]] = {
    "clear_f": lambda: colored(uniform=True),
    "clear_v": flat_position,
    "color_f": colored,
    "color_v": lambda: transformed("aColor", 4, "COLOR0"),
    "texture_f": lambda: colored(texel="f16x4"),
    "texture_tint_f": lambda: colored(texel="f32x4", tint=True),
    "texture_v": lambda: transformed("aTexcoord", 2, "TEXCOORD0"),
}
DERIVED = ("buffer_flags", "texunit_flags", "parameters", "varyings", "primary_registers", "temp_registers_selective",
           "phase_count", "literals", "uniform_buffers", "dependent_samplers")  # fmt: skip
OLDER_HAVE_TWO_WORDS_OF_DATA = 2
"""Files of version 1.4 have a container for two words of data that nothing uses; those of 1.5 have none."""


def sony(name: str) -> Any:
    """Return the file that Sony's compiler made."""
    return isakit.load(shared_file(f"corpus/usse/cg/libvita2d/{name}.gxp"))


@pytest.mark.parametrize("name", PAIRS)
def test_the_tables_are_those_of_sony(name: str) -> None:
    ours, theirs = compile_shader_ir(*PAIRS[name]()).file, sony(name).file
    for field in DERIVED:
        assert getattr(ours, field) == getattr(theirs, field), field
    assert ours.flags & 0x7FFFF == theirs.flags  # bits 19 and 20 are set in every file of version 1.5
    assert ours.temp_registers <= theirs.temp_registers
    assert ours.secondary_registers <= theirs.secondary_registers
    data = [c for c in theirs.containers if c.index == 19]
    assert ours.containers == [c for c in theirs.containers if c.index != 19]
    assert [c.size_in_words for c in data] == [OLDER_HAVE_TWO_WORDS_OF_DATA]
    assert replace(data[0], size_in_words=0) not in ours.containers
    assert ours.buffer_sizes[:3] + ours.buffer_sizes[4:] == theirs.buffer_sizes[:3] + theirs.buffer_sizes[4:]


@pytest.mark.parametrize("name", PAIRS)
def test_values_are_those_of_sony(name: str, tmp_path: Path) -> None:
    ours, theirs = loaded(PAIRS[name](), tmp_path), sony(name)
    rng = np.random.default_rng(5)
    for _ in range(24):
        uniforms = {p.name: rng.normal(size=(p.array_size, p.component_count)).astype(np.float32)
                    for p in theirs.parameters if p.category == 1}  # fmt: skip
        given: dict[str, Any] = {"uniforms": uniforms}
        if theirs.stage == "vertex":
            given["attributes"] = {p.name: rng.normal(size=(16, 4)).astype(np.float32)
                                   for p in theirs.parameters if p.category == 0}  # fmt: skip
        else:
            given["varyings"] = {"texcoord0": rng.random((16, 2)), "color0": rng.random((16, 4))}
            given["textures"] = {
                p.name: rng.random((4, 4, 4)).astype(np.float32) for p in theirs.parameters if p.category == 2
            }
            used = {"texture_f": "texcoord0", "texture_tint_f": "texcoord0", "color_f": "color0"}.get(name)
            given["varyings"] = {k: x for k, x in given["varyings"].items() if k == used}
            given["count"] = 16
        a, b = usse.run(ours, **given), usse.run(theirs, **given)
        assert set(a) == set(b)
        for result in a:
            close = 2e-6 if name in ("color_v", "texture_v") and result == "position" else 0
            assert np.abs(a[result] - b[result]).max() <= close, result


@pytest.mark.parametrize("name", PAIRS)
def test_programs_are_not_longer_than_those_of_sony(name: str) -> None:
    ours, theirs = compile_shader_ir(*PAIRS[name]()), sony(name)
    assert len(ours.primary) <= 1.3 * len(theirs.primary)


# --- single things ---------------------------------------------------------------------------------------------------
def test_uniform_expressions_run_once(tmp_path: Path) -> None:
    b, f = started()
    scaled = b.op(v.VMUL, b.op(v.UNIFORM("a", 0, "f32x4")), b.op(v.UNIFORM("b", 0, "f32x4")))
    b.emit(v.OUTPUT("color"), [b.op(v.VADD, scaled, b.op(v.INPUT("c", "f32x4")))], ())
    uniforms = [ShaderUniform("a", 4), ShaderUniform("b", 4)]
    made = f, ShaderInterface("fragment", [ShaderInput("c", "COLOR0", 4)], uniforms, [], COLOR, "f32x4")
    shader = loaded(made, tmp_path)
    assert "vmul.f32" in [i.mnemonic for i in shader.secondary]
    assert "vmul.f32" not in [i.mnemonic for i in shader.primary]
    got = usse.run(shader, varyings={"color0": [[1, 2, 3, 4]]}, uniforms={"a": [2, 3, 4, 5], "b": [10, 10, 10, 10]})
    assert got.color.tolist() == [[21, 32, 43, 54]]


def test_discard_makes_two_phases(tmp_path: Path) -> None:
    b, f = started()
    c = b.op(v.INPUT("c", "f32x4"))
    b.emit(v.DISCARD, [b.op(v.VCMP("lt"), b.op(v.SWIZZLE("w"), c), number(0.5))], ())
    b.emit(v.OUTPUT("color"), [b.op(v.VMUL, c, b.op(v.SWIZZLE("wwww"), c))], ())
    shader = loaded((f, ShaderInterface("fragment", [ShaderInput("c", "COLOR0", 4)], outputs=COLOR)), tmp_path)
    assert [i.mnemonic for i in shader.primary].count("phas") == 2
    assert shader.file.phase_count == 2
    got = usse.run(shader, varyings={"color0": [[1, 1, 1, 0.25], [0.5, 1, 0, 0.75]]})
    assert got.discard.tolist() == [True, False]
    assert got.color[1].tolist() == [0.375, 0.75, 0, 0.5625]


def test_loops_and_branches(tmp_path: Path) -> None:
    """Add 1, 2, 3 ... as often as an input says, and take the negative where another one is below 0."""
    f = Function("main")
    entry, head, body, after, turned, end = (f.block() for _ in range(6))
    b = IrBuilder(entry)
    f.kinds = ["r", "f32"]

    def get(k: int) -> IrValue:
        block = b.block
        if k not in block.env:
            block.live_in[k] = block.env[k] = IrValue(f.kinds[k])
        return block.env[k]

    c = b.op(v.INPUT("c", "f32x4"))
    limit, sign = b.op(v.F2I(True), b.op(v.SWIZZLE("x"), c)), b.op(v.SWIZZLE("y"), c)
    entry.env = {0: Const(0), 1: number(0)}
    entry.term = ("jump", head)
    b.enter(head)
    head.term = ("branch", b.op(ops.CMP("l", "s32"), get(0), limit), False, body, after)
    b.enter(body)
    n = b.op(ops.ADD, get(0), Const(1))
    body.env[1] = b.op(v.VADD, get(1), b.op(v.I2F(True), n))
    body.env[0] = n
    body.term = ("jump", head)
    b.enter(after)
    after.term = ("branch", b.op(v.VCMP("lt"), sign, number(0)), False, turned, end)
    b.enter(turned)
    turned.env[1] = b.op(v.VNEG, get(1))
    turned.term = ("jump", end)
    b.enter(end)
    b.emit(v.OUTPUT("color"), [b.op(v.SWIZZLE("xxxx"), get(1))], ())
    shader = loaded((f, ShaderInterface("fragment", [ShaderInput("c", "COLOR0", 4)], outputs=COLOR)), tmp_path)
    got = usse.run(shader, varyings={"color0": [[4, 1, 0, 0], [10, -1, 0, 0], [0, 1, 0, 0], [1, -2, 0, 0]]})
    assert got.color[:, 0].tolist() == [10, -55, 0, -1]


LOOPS = {
    "do": "int j = 0; do { s.x += 1; j++; } while (s.x < n && j < 9);",
    "a loop in an else": "if (s.x > n) s.y = 2; else { for (int i = 0; i < k; i++) s *= 2; s.z = 3; }",
    "a way out to a way out": """int e = 0;
        do { for (int m = 0; m < k; m++) s.z += m; int d = 0; while (true) { if (!(d++ < 2)) break; s.y += 1; } }
        while (e++ < k);""",
    "a break at the end": "int e = 0; while (true) { s.x += c.y; e++; if (s.x > n || e > 9) break; }",
    "break and continue": """for (int i = 0; i < k; i++) {
        s += c * i; if (s.x > n) break; if (s.y > n) continue; s *= 2; }""",
}


@pytest.mark.parametrize("statements", LOOPS.values(), ids=LOOPS.keys())
def test_conditional_jumps_lead_forward_and_loops_begin_with_an_instruction(statements: str) -> None:
    head = "uniform float n; uniform int k; float4 main(float4 c : COLOR) : COLOR { float4 s = c; "
    code = isakit.compile_shader(f"{head}{statements} return s; }}", stage="fragment", language="cg").primary
    jumps = {k: (i.text.split()[0] != "br", k + (i.target - i.address) // i.size)
             for k, i in enumerate(code) if i.mnemonic == "br" and i.target is not None}  # fmt: skip
    back = {k: to for k, (_, to) in jumps.items() if to <= k}
    assert back
    assert not any(conditional for k, (conditional, to) in jumps.items() if to <= k)
    assert not set(back.values()) & set(jumps)
    for k, to in back.items():  # nothing that follows all ways out of a loop stands in it
        assert all(not to <= other <= k or to <= target <= k + 1 for other, (_, target) in jumps.items()), jumps


def test_a_uniform_with_an_index(tmp_path: Path) -> None:
    b, f = started()
    index = b.op(v.F2I(True), b.op(v.SWIZZLE("x"), b.op(v.INPUT("c", "f32x4"))))
    b.emit(v.OUTPUT("color"), [b.op(v.UNIFORM_AT("table", 1, "f32x4"), index)], ())
    uniforms = [ShaderUniform("table", 4, array=6)]
    made = f, ShaderInterface("fragment", [ShaderInput("c", "COLOR0", 4)], uniforms, [], COLOR, "f32x4")
    table = np.arange(24, dtype=np.float32).reshape(6, 4)
    got = usse.run(loaded(made, tmp_path), varyings={"color0": [[0, 0, 0, 0], [3, 0, 0, 0]]}, uniforms={"table": table})
    assert got.color.tolist() == [table[1].tolist(), table[4].tolist()]


@pytest.mark.parametrize("value", [0, 1, -1, 255, 65535, 65536, -65536, 1234567, -7654321, 2**31 - 128, -(2**31)])
def test_integers_and_back(value: int, tmp_path: Path) -> None:
    b, f = started()
    x = b.op(v.SWIZZLE("x"), b.op(v.INPUT("c", "f32x4")))
    whole = b.op(v.F2I(True), x)
    b.emit(v.OUTPUT("color"), [b.op(v.SWIZZLE("xxxx"), b.op(v.I2F(True), whole))], ())
    interface = ShaderInterface("fragment", [ShaderInput("c", "COLOR0", 4)], outputs=COLOR, target="f32x4")
    shader = loaded((f, interface), tmp_path)
    for part in (0.0, 0.25, -0.25):
        x32 = np.float32(value + part) if abs(value) < 1000 else np.float32(value)
        got = usse.run(shader, varyings={"color0": [[x32, 0, 0, 0]]})
        assert got.color[0, 0] == float(int(x32))


@pytest.mark.parametrize(("op", "function"), [(v.VSIN, np.sin), (v.VCOS, np.cos)])
def test_sine_and_cosine(op: Any, function: Any, tmp_path: Path) -> None:
    b, f = started()
    b.emit(v.OUTPUT("color"), [b.op(op, b.op(v.INPUT("c", "f32x4")))], ())
    interface = ShaderInterface("fragment", [ShaderInput("c", "COLOR0", 4)], outputs=COLOR, target="f32x4")
    x = np.linspace(-20, 20, 4000, dtype=np.float32).reshape(-1, 4)
    got = usse.run(loaded((f, interface), tmp_path), varyings={"color0": x})
    assert np.abs(got.color - function(x.astype(np.float64))).max() < 3e-6


def test_uniforms_that_no_register_holds_are_loaded(tmp_path: Path) -> None:
    b, f = started()
    c = b.op(v.INPUT("c", "f32x4"))
    index = b.op(v.F2I(True), b.op(v.SWIZZLE("x"), c))
    fixed = b.op(v.UNIFORM("bones", 70, "f32x4"))
    chosen = b.op(v.VADD, b.op(v.UNIFORM_AT("bones", 2, "f32x4"), index), fixed)
    b.emit(v.OUTPUT("color"), [b.op(v.VADD, chosen, b.op(v.UNIFORM("near", 0, "f32x4")))], ())
    uniforms = [ShaderUniform("bones", 4, array=80), ShaderUniform("near", 4)]
    made = f, ShaderInterface("fragment", [ShaderInput("c", "COLOR0", 4)], uniforms, [], COLOR, "f32x4")
    shader = loaded(made, tmp_path)
    assert "ldr.32" in [i.mnemonic for i in shader.primary]
    bones = np.arange(320, dtype=np.float32).reshape(80, 4)
    near = np.array([1000, 2000, 3000, 4000], np.float32)
    got = usse.run(shader, varyings={"color0": [[0, 0, 0, 0], [60, 0, 0, 0]]}, uniforms={"bones": bones, "near": near})
    assert got.color.tolist() == [(bones[2] + bones[70] + near).tolist(), (bones[62] + bones[70] + near).tolist()]


def test_what_runs_once_leaves_room_for_the_rest(tmp_path: Path) -> None:
    """Of 24 sums of uniforms only those run once whose results find registers."""
    b, f = started()
    uniforms = [ShaderUniform(f"u{k}", 4) for k in range(24)]
    values = [b.op(v.UNIFORM(u.name, 0, "f32x4")) for u in uniforms]
    total = b.op(v.INPUT("c", "f32x4"))
    for k, x in enumerate(values):
        total = b.op(v.VADD, b.op(v.VMUL, total, b.op(v.VADD, x, values[k - 1])), x)
    b.emit(v.OUTPUT("color"), [total], ())
    made = f, ShaderInterface("fragment", [ShaderInput("c", "COLOR0", 4)], uniforms, [], COLOR, "f32x4")
    shader = loaded(made, tmp_path)
    assert shader.file.secondary_registers <= 128
    given = {u.name: np.full(4, (k % 3) / 4, np.float32) for k, u in enumerate(uniforms)}
    got = usse.run(shader, varyings={"color0": [[1, 2, 0.5, 0.25]]}, uniforms=given)
    want = np.array([1, 2, 0.5, 0.25], np.float32)
    for k in range(24):
        x, y = (np.float32(n % 3 / 4) for n in (k, (k - 1) % 24))
        want = fused(want, np.full(4, x + y, np.float32), np.full(4, x, np.float32))
    assert got.color[0].tolist() == want.tolist()


def test_an_array_of_samplers(tmp_path: Path) -> None:
    b, f = started()
    uv = b.op(v.INPUT("uv", "f32x2"))
    swapped = b.op(v.SWIZZLE("yx"), uv)
    both = b.op(
        v.VADD, b.op(v.SAMPLE("t[1]", "2d", "", "f32x4"), uv), b.op(v.SAMPLE("t[0]", "2d", "", "f32x4"), swapped)
    )
    b.emit(v.OUTPUT("color"), [both], ())
    interface = ShaderInterface(
        "fragment", [ShaderInput("uv", "TEXCOORD0", 2)], [], [ShaderSampler("t", array=2)], COLOR
    )
    shader = loaded((f, interface), tmp_path)
    one, two = np.full((1, 1, 4), 0.25, np.float32), np.full((1, 1, 4), 0.5, np.float32)
    got = usse.run(shader, varyings={"texcoord0": [[0.5, 0.5]]}, textures={"t": [one, two]})
    assert got.color.tolist() == [[0.75] * 4]
    with pytest.raises(isakit.LaunchError, match="2 elements, not 3"):
        usse.run(shader, varyings={"texcoord0": [[0.5, 0.5]]}, textures={"t": [one, two, one]})


def one_input(semantic: str, target: str = "f16x4", uniforms: int = 0) -> Made:
    """Return a program that writes an input, or an element of an array of so many uniforms."""
    b, f = started()
    value = b.op(v.UNIFORM("many", uniforms - 1, "f32x4")) if uniforms else b.op(v.INPUT("in", "f32x4"))
    b.emit(v.OUTPUT("color"), [value], ())
    several = [ShaderUniform("many", 4, array=uniforms)] if uniforms else []
    return f, ShaderInterface("fragment", [ShaderInput("in", semantic, 4)], several, [], COLOR, target)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (one_input("TEXCOORD10"), "`in`: inputs of semantic TEXCOORD10 are not supported"),
        (one_input("COLOR0", "u8x3"), "colours as u8x3 are not supported"),
        (one_input("COLOR0", uniforms=100_000), "the uniforms take 400000 words"),
    ],
)
def test_what_a_file_cannot_hold_is_refused(made: Made, message: str) -> None:
    with pytest.raises(isakit.CompileError, match=message):
        compile_shader_ir(*made)


def test_a_constant_is_in_the_file_only_where_an_instruction_reads_it() -> None:
    text = """#version 320 es
    uniform vec4 rows[4]; in vec4 at;
    void main() { gl_Position = fma(vec4(at.x), rows[0], fma(vec4(at.y), rows[1], fma(rows[2], vec4(0.5), rows[3]))); }
    """
    made = build_shader(text, stage="vertex", language="glsl")
    assert made.shader.secondary is not None  # 0.5 is one of the hardware's own constants
    assert not parse_gxp(made.data).literals


@pytest.mark.parametrize(
    ("expression", "meaning"),
    [
        ("p && q", lambda p, q: p & q),
        ("p || q", lambda p, q: p | q),
        ("!(p && q)", lambda p, q: ~(p & q)),
        ("!(p || q)", lambda p, q: ~(p | q)),
        ("!p && q", lambda p, q: ~p & q),
        ("p || !q", lambda p, q: p | ~q),
    ],
)
def test_a_condition_that_is_read_twice_decides_whether_the_other_one_is_tested(
    expression: str, meaning: Callable[[Any, Any], Any]
) -> None:
    text = f"""float4 main(float2 v : TEXCOORD0) : COLOR {{
        bool p = v.x > 0, q = v.y > 0;
        return float4(({expression}) ? v.x : 5, p ? v.y : 7, 0, 1);
    }}"""
    shader = build_shader(text, stage="fragment", language="cg", target="f32x4").shader
    given = np.array([[x, y] for x in (-1, 1) for y in (-2, 2)], np.float32)
    got = usse.run(shader, varyings={"texcoord0": given})["color"]
    p, q = given.T > 0
    assert np.array_equal(got[:, 0], np.where(meaning(p, q), given[:, 0], 5))
    assert np.array_equal(got[:, 1], np.where(p, given[:, 1], 7))


def test_a_choice_by_the_opposite_exchanges_what_is_chosen() -> None:
    text = "float4 main(float4 v : TEXCOORD0) : COLOR {{ bool p = v.x > 0; return {} ? v.wzyx : v * (p ? 2 : 3); }}"
    there, back = (
        build_shader(text.format(c), stage="fragment", language="cg", target="f32x4").shader for c in ("p", "!p")
    )
    assert len(there.primary) == len(back.primary)
