"""SPIR-V as shaders: values, lines, names, and what is refused. Modules are written as words by their names."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest

import isakit
from isakit.compile.shading.compiled import build_shader
from isakit.compile.shading.spirv.opcodes import OPS
from isakit.debug.compare_shaders import compare_shaders
from isakit.errors import CompileError, IsakitError
from support.oracles.statement_paths import StatementPaths

TYPES = """
    ExtInstImport %set "GLSL.std.450"
    EntryPoint 4 %main "main"
    TypeVoid %void
    TypeBool %bool
    TypeInt %int 32 1
    TypeFloat %float 32
    TypeVector %v2 %float 2
    TypeVector %v4 %float 4
    TypeFunction %start %void
    TypePointer %in2 1 %v2
    TypePointer %in4 1 %v4
    TypePointer %out4 3 %v4
    TypePointer %local4 7 %v4
    Constant %int %zero 0
    Constant %int %one 1
    Constant %int %four 4
    Constant %float %half f0.5
    Constant %float %none f0
    Variable %in2 %uv 1
    Variable %in4 %tint 1
    Variable %out4 %color 3
    Name %uv "uv"
    Name %tint "tint"
    Name %color "color"
    Decorate %uv 30 0
    Decorate %tint 30 1
    Decorate %color 30 0
"""
BODY = """
    Function %void %main 0 %start
    Label %first
    {}
    Return
    FunctionEnd
"""


def words(text: str, order: str = "<") -> bytes:
    """Return the module of lines of the form `Operation operand ...`; ids are `%name`, floats `f1.5`."""
    ids: dict[str, int] = {}
    out: list[int] = []
    for line in text.splitlines():
        name, *operands = re.findall(r'"[^"]*"|\S+', line) or [""]
        if not name:
            continue
        mine: list[int] = []
        for o in operands:
            if o[0] == "%":
                mine.append(ids.setdefault(o, len(ids) + 1))
            elif o[0] == '"':
                raw = o[1:-1].encode() + b"\0"
                mine += struct.unpack(f"<{-(-len(raw) // 4)}I", raw.ljust(-(-len(raw) // 4) * 4, b"\0"))
            elif o[0] == "f":
                mine += struct.unpack("<I", struct.pack("<f", float(o[1:])))
            else:
                mine.append(int(o, 0) & 0xFFFF_FFFF)
        out += [len(mine) + 1 << 16 | OPS[name], *mine]
    return struct.pack(f"{order}{len(out) + 5}I", 0x0723_0203, 0x1_0000, 0, len(ids) + 1, 0, *out)


def run(text: str, **more: object) -> np.ndarray:
    """Return the colour of pixels at (0.25, 0.75) with the tints (1, 2, 3, 4) and (-1, 0, 0.5, 2)."""
    shader = isakit.compile_shader(words(text), path="x.spv", target="f32x4")
    tint = np.array([[1, 2, 3, 4], [-1, 0, 0.5, 2]], np.float32)
    given = {"varyings": {"texcoord0": np.full((2, 2), (0.25, 0.75), np.float32), "texcoord1": tint}, **more}
    return np.asarray(isakit.usse.run(shader, count=2, **given)["color"])  # type: ignore[arg-type]


def test_vectors_are_taken_apart_and_put_together() -> None:
    body = """
    Load %v4 %t %tint
    Load %v2 %at %uv
    VectorShuffle %v4 %s %t %at 3 5 0 4
    CompositeExtract %float %x %t 1
    CompositeInsert %v4 %i %x %s 2
    VectorTimesScalar %v4 %r %i %half
    Store %color %r"""
    got = run(TYPES + BODY.format(body))
    assert np.array_equal(got, [[2, 0.375, 1, 0.125], [1, 0.375, 0, 0.125]])


def test_a_loop_with_phis_and_a_switch() -> None:
    """Every turn adds a half; the number of turns comes from a uniform, and chooses what is done to the sum."""
    text = (
        TYPES
        + """
    MemberName %block 0 "turns"
    TypeStruct %block %int
    Decorate %block 2
    TypePointer %blocks 2 %block
    TypePointer %ints 2 %int
    Variable %blocks %u 2
    Function %void %main 0 %start
    Label %first
    Load %v4 %t %tint
    AccessChain %ints %place %u %zero
    Load %int %n %place
    Branch %head
    Label %head
    Phi %int %k %zero %first %next %body
    Phi %v4 %sum %t %first %more %body
    SLessThan %bool %go %k %n
    LoopMerge %after %body 0
    BranchConditional %go %body %after
    Label %body
    IAdd %int %next %k %one
    CompositeConstruct %v4 %halves %half %half %half %half
    FAdd %v4 %more %sum %halves
    Branch %head
    Label %after
    SelectionMerge %end 0
    Switch %n %other 1 %swap 2 %twice
    Label %swap
    VectorShuffle %v4 %swapped %sum %sum 3 2 1 0
    Branch %end
    Label %twice
    FAdd %v4 %doubled %sum %sum
    Branch %end
    Label %other
    Branch %end
    Label %end
    Phi %v4 %r %swapped %swap %doubled %twice %sum %other
    Store %color %r
    Return
    FunctionEnd"""
    )
    tint = np.array([[1, 2, 3, 4], [-1, 0, 0.5, 2]], np.float32)
    for n, want in ((0, tint), (1, (tint + 0.5)[:, ::-1]), (2, 2 * (tint + 1)), (3, tint + 1.5)):
        assert np.array_equal(run(text, uniforms={"turns": np.array([n])}), want)


def _sines(name: str, of: str) -> str:
    """Return instructions that are too many for a condition of their own: the sine of the sine ... of `of`."""
    steps = [of, *(f"{name}{k}" for k in range(4)), name]
    return "\n".join(f"ExtInst %v4 %{b} %set 13 %{a}" for a, b in pairwise(steps))


def test_returns_out_of_two_selections_leave_one_at_a_time() -> None:
    """%d is computed in a loop and used behind it."""
    text = f"""{TYPES}
    Function %void %main 0 %start
    Label %first
    Load %v4 %t %tint
    CompositeExtract %float %x %t 0
    CompositeExtract %float %y %t 1
    FOrdGreaterThan %bool %left %x %none
    FOrdGreaterThan %bool %up %y %half
    SelectionMerge %end 0
    BranchConditional %left %then %else
    Label %then
    {_sines("s", "t")}
    SelectionMerge %after 0
    BranchConditional %up %out %after
    Label %out
    {_sines("o", "s")}
    Store %color %o
    Return
    Label %after
    {_sines("a", "s")}
    Branch %end
    Label %else
    Branch %head
    Label %head
    Phi %v4 %sum %t %else %d %turn
    LoopMerge %behind %turn 0
    Branch %body
    Label %body
    FAdd %v4 %d %sum %sum
    CompositeExtract %float %w %d 3
    FOrdGreaterThan %bool %much %w %limit
    BranchConditional %much %behind %turn
    Label %turn
    Branch %head
    Label %behind
    {_sines("e", "d")}
    FOrdGreaterThan %bool %more %y %none
    SelectionMerge %joined 0
    BranchConditional %more %last %joined
    Label %last
    {_sines("l", "e")}
    Store %color %l
    Return
    Label %joined
    Branch %end
    Label %end
    Phi %v4 %f %a %after %e %joined
    FSub %v4 %r %f %t
    Store %color %r
    Return
    FunctionEnd"""
    text = text.replace("    Constant %int %four", "    Constant %float %limit f40\n    Constant %int %four")
    shader = isakit.compile_shader(words(text), path="x.spv", target="f32x4")
    assert StatementPaths(list(shader.primary)).parting() is None
    tint = np.array([[1, 2, 3, 4], [1, 0, 3, 4], [-1, 0.25, 0.5, 2], [-1, -2, 0.5, 3]], np.float32)
    given = {"texcoord0": np.zeros((4, 2), np.float32), "texcoord1": tint}
    got = isakit.usse.run(shader, count=4, varyings=given)["color"]

    def sines(x: np.ndarray, n: int) -> np.ndarray:
        return x if n == 0 else sines(np.sin(x), n - 1)

    want = [sines(tint[0], 10), sines(tint[1], 10) - tint[1], sines(tint[2] * 32, 10), sines(tint[3] * 16, 5) - tint[3]]
    assert np.allclose(got, want, atol=1e-4)


def test_a_function_changes_what_it_is_given_a_pointer_to() -> None:
    text = (
        TYPES
        + """
    TypePointer %localf 7 %float
    TypeFunction %kind %float %local4 %int
    Function %float %double 0 %kind
    FunctionParameter %local4 %p
    FunctionParameter %int %k
    Label %only
    AccessChain %localf %element %p %k
    Load %float %old %element
    FAdd %float %new %old %old
    Store %element %new
    ReturnValue %old
    FunctionEnd
    Function %void %main 0 %start
    Label %first
    Variable %local4 %v 7
    Load %v4 %t %tint
    Store %v %t
    CompositeExtract %float %w %t 3
    ConvertFToS %int %k2 %w
    ShiftRightArithmetic %int %k3 %k2 %one
    FunctionCall %float %was %double %v %k3
    Load %v4 %changed %v
    CompositeInsert %v4 %r %was %changed 3
    Store %color %r
    Return
    FunctionEnd"""
    )
    assert np.array_equal(run(text), [[1, 2, 6, 3], [-1, 0, 0.5, 0]])


def test_a_texel_and_a_discard_with_the_lines_they_come_from() -> None:
    text = (
        """
    String %file "blend.hlsl"
    """
        + TYPES
        + """
    TypeImage %image %float 1 0 0 0 1 0
    TypeSampler %sampler
    TypeSampledImage %both %image
    TypePointer %images 0 %image
    TypePointer %samplers 0 %sampler
    Variable %images %t 0
    Variable %samplers %s 0
    Name %t "albedo"
    Decorate %t 33 3
    Function %void %main 0 %start
    Label %first
    Line %file 7 3
    Load %image %i %t
    Load %sampler %how %s
    SampledImage %both %read %i %how
    Load %v2 %at %uv
    VectorShuffle %v2 %turned %at %at 1 0
    ImageSampleImplicitLod %v4 %texel %read %turned
    Line %file 9 1
    Load %v4 %c %tint
    CompositeExtract %float %x %c 0
    FOrdLessThan %bool %below %x %none
    SelectionMerge %rest 0
    BranchConditional %below %gone %rest
    Label %gone
    Kill
    Label %rest
    FMul %v4 %r %texel %c
    Store %color %r
    Return
    FunctionEnd"""
    )
    made = build_shader(words(text), path="x.spv", target="f32x4")
    assert [(p.name, p.resource_index) for p in made.shader.parameters] == [("albedo", 3)]
    lines = made.shader.kernels["primary"].lines
    found = {i.mnemonic: lines.at(i.address) for i in made.shader.primary}
    assert (found["smp2d.f32"].path, found["smp2d.f32"].line, found["kill"].line) == ("blend.hlsl", 7, 9)
    texture = np.arange(16, dtype=np.float32).reshape(2, 2, 4)
    given = {"varyings": {"texcoord0": np.full((2, 2), (0.25, 0.75), np.float32),
                          "texcoord1": np.array([[1, 2, 3, 4], [-1, 0, 0.5, 2]], np.float32)}}  # fmt: skip
    got = isakit.usse.run(made.shader, textures={"albedo": texture}, **given)  # type: ignore[arg-type]
    assert got["discard"].tolist() == [False, True]
    assert np.array_equal(got["color"][0], texture[0, 1] * [1, 2, 3, 4])


@pytest.mark.parametrize("by_rows", [False, True])
def test_a_vertex_program_with_a_matrix_and_the_block_of_the_pipeline(by_rows: bool) -> None:
    text = f"""
    EntryPoint 0 %main "main"
    TypeVoid %void
    TypeInt %int 32 1
    TypeFloat %float 32
    TypeVector %v4 %float 4
    TypeMatrix %m4 %v4 4
    TypeStruct %out %v4 %float
    MemberDecorate %out 0 11 0
    MemberDecorate %out 1 11 1
    Decorate %out 2
    TypePointer %outs 3 %out
    TypePointer %out4 3 %v4
    TypePointer %in4 1 %v4
    MemberName %block 0 "wvp"
    TypeStruct %block %m4
    MemberDecorate %block 0 {4 if by_rows else 5}
    Decorate %block 2
    TypePointer %blocks 2 %block
    TypePointer %m4s 2 %m4
    TypeFunction %start %void
    Constant %int %zero 0
    Variable %outs %gl 3
    Variable %in4 %p 1
    Name %p "p"
    Decorate %p 30 0
    Variable %blocks %u 2
    Function %void %main 0 %start
    Label %first
    Load %v4 %at %p
    AccessChain %m4s %place %u %zero
    Load %m4 %m %place
    MatrixTimesVector %v4 %r %m %at
    AccessChain %out4 %to %gl %zero
    Store %to %r
    Return
    FunctionEnd"""
    made = build_shader(words(text, ">"), path="x.spv")
    assert (made.stage, made.language, not len(made.shader.secondary)) == ("vertex", "spirv", True)
    m = np.arange(16, dtype=np.float32).reshape(4, 4)
    at = np.array([[1, 2, 3, 1]], np.float32)
    got = isakit.usse.run(made.shader, attributes={"p": at}, uniforms={"wvp": m})
    assert "pointsize" not in got
    assert np.array_equal(got["position"][0], (m if by_rows else m.T) @ at[0])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "does not begin as SPIR-V"),
        (b"\x03\x02\x23\x07abc", "consists of words"),
        (words(TYPES)[:-4], "are left"),
        (words("TypeVoid %v"), "no program is meant"),
        (words(TYPES), "is not a function that a pipeline can start"),
        (words(TYPES + BODY.format("Load %v4 %t %nothing")), "nothing that is supported has it"),
        (words(TYPES + BODY.format("Load %v2 %t %tint")), "a load of float2 from a place of float4"),
        (words(TYPES + BODY.format("Store %tint %tint")), "it is only read"),
        (words(TYPES + BODY.format("Load %v4 %t %tint\nIAdd %v4 %r %t %t")), "OpIAdd does not take float4 and float4"),
        (words(TYPES + BODY.format("Load %v4 %t %tint\nExtInst %v4 %r %set 73 %t")), "73 of GLSL.std.450"),
        (words(TYPES + BODY.format("Branch %nowhere\nLabel %x")), "there is no block"),
        (words(TYPES + BODY.format("Branch %x\nLabel %x\nBranch %y\nLabel %y\nBranch %x\nLabel %z")), "a jump back to"),
        (words(TYPES + BODY.format("FunctionCall %void %r %main")), "call each other too deeply"),
        (words("TypeFloat %f 32\nTypeInt %i 32 0\nConstant %i %n 9999\nTypeArray %a %f %n\nTypeArray %b %a %n"),
         "has 99980001 scalars and vectors"),
    ],
)  # fmt: skip
def test_what_is_damaged_or_not_supported_is_said(data: bytes, message: str) -> None:
    with pytest.raises(CompileError, match=re.escape(message)):
        isakit.compile_shader(data, path="x.spv")


def test_damaged_modules_are_refused_with_messages() -> None:
    """No word of a module makes anything else than a shader or an error of isakit."""
    r = Random(3)
    body = """
    Load %v4 %t %tint
    VectorShuffle %v4 %s %t %t 3 2 1 0
    ExtInst %v4 %e %set 43 %s %t %t
    FOrdLessThan %bool %p %half %none
    Select %v4 %q %p %e %t
    Store %color %q"""
    whole = words(TYPES + BODY.format(body))
    starts, at = [], 5
    numbers = list(struct.unpack(f"<{len(whole) // 4}I", whole))
    while at < len(numbers):
        starts.append(at)
        at += numbers[at] >> 16
    refused = 0
    for _ in range(250):
        damaged = list(numbers)
        at = r.choice(starts)
        k = at + r.randrange(numbers[at] >> 16)
        damaged[k] = r.choice((r.randrange(64), r.getrandbits(32), damaged[k] ^ 1, damaged[k] + (1 << 16)))
        try:
            isakit.compile_shader(struct.pack(f"<{len(damaged)}I", *damaged), path="x.spv")
        except IsakitError:
            refused += 1
    assert 100 < refused < 250


GLSL = """#version 450
layout(location=0) in vec2 uv; layout(location=1) in vec4 tint; layout(location=0) out vec4 color;
layout(binding=0) uniform sampler2D tex;
layout(binding=1) uniform B { mat4 m; vec4 k[4]; int n; float cut; };
vec3 twist(inout vec3 p, out float o) { o = p.y; p = p.zxy; return p * o; }
void main() {
  vec3 p = tint.xyz; float o; vec3 t = twist(p, o);
  vec4 c = texture(tex, uv.yx) + m * tint * transpose(m) + k[n & 3] * o;
  for (int i = 0; i < (n & 7); i++) { if (i == 3) continue; c.xyz += normalize(t + 2.0) * float(i); }
  switch (n & 3) { case 0: c.x += 1.0; break; case 1: c.y += 2.0; case 2: c.z += 3.0; break; default: c *= 0.5; }
  if (c.w < cut) discard;
  color = mix(c, vec4(p, 1.0), greaterThan(c, vec4(0.5))) + clamp(c, 0.0, 1.0) + mod(c, 3.0);
}
"""


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="needs glslangValidator (glslang-tools)")
def test_glsl_by_way_of_glslang_computes_what_it_does_here(tmp_path: Path) -> None:
    (tmp_path / "x.frag").write_text(GLSL)
    made = tmp_path / "x.spv"
    subprocess.run(["glslangValidator", "-V", tmp_path / "x.frag", "-o", made], check=True, capture_output=True)
    other = isakit.load(made)
    own = isakit.compile_shader(GLSL, stage="fragment", language="glsl",
                                varyings={"uv": "TEXCOORD0", "tint": "TEXCOORD1"})  # fmt: skip
    assert compare_shaders(own, other, count=64)
