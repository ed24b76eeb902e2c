"""Loops of shaders as statements: what they say is what the simulator computes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit import usse
from isakit.decompile import expressions, glsl
from isakit.decompile.glsl import Decompiled
from isakit.errors import NotModelled
from isakit.formats import Shader
from isakit.programs import write
from support.oracles.term_evaluator import evaluate
from support.patience import PATIENCE

HEAD = """
.gxp fragment
.uniform tint f32x4
.varying texcoord0 f32x4
.result f32x4
.program primary
"""
KNOWN = """
    vmov.i32 r4 #0x1
again:
    vadd.f32 pa0.xy pa0.xyzw sa0.xyzw
    shl.u32 r4 r4 #0x1
    vtst.sub.u32 ne p0.x r4 #0x20
    p0 br again
"""
UNKNOWN = """
    vmov.f32 r0.xy c0.xxxx
again:
    vadd.f32 r0.x r0.xxxx c12.xxxx
    vmul.f32 pa0.xy pa0.xyzw sa0.xyzw
    vtst.sub.f32 lt p0.x r0 pa2.xxxx
    p0 br again
"""
BREAK = """
    vmov.f32 r0.xy c0.xxxx
again:
    vadd.f32 r0.x r0.xxxx c12.xxxx
    vtst.sub.f32 gt p1.x pa0 c4.xxxx
    p1 br out
    vadd.f32 pa0.xy pa0.xyzw sa0.xyzw
    vtst.sub.f32 lt p0.x r0 c5.xxxx
    p0 br again
out:
    vadd.f32 pa2.x r0.xxxx pa2.xxxx
"""
NESTED = """
    vmov.f32 r0.xy c0.xxxx
outer:
    vadd.f32 r0.x r0.xxxx c12.xxxx
    vmov.f32 r2.xy c0.xxxx
inner:
    vadd.f32 r2.x r2.xxxx c12.xxxx
    vadd.f32 pa0.x pa0.xyzw r2.xxxx
    vtst.sub.f32 lt p1.x r2 r0.xxxx
    p1 br inner
    vmul.f32 pa0.y pa0.xyzw c12.xxxx
    vtst.sub.f32 lt p0.x r0 pa2.xxxx
    p0 br outer
"""
GUARDED = """
    vtst.sub.f32 lt p2.x pa0 c12.xxxx
    p2 br after
    vmov.f32 r0.xy c0.xxxx
again:
    vadd.f32 r0.x r0.xxxx c12.xxxx
    vadd.f32 pa0.y pa0.xyzw r0.xxxx
    vtst.sub.f32 lt p0.x r0 pa2.xxxx
    p0 br again
after:
    vadd.f32 pa0.x pa0.xyzw c1.yyyy
"""
TWO = UNKNOWN + UNKNOWN.replace("again", "more").replace("pa0.xy pa0.xyzw", "pa0.xy pa0.yxzw")
INTEGERS = """
    vmov.i32 r4 #0x3
    or.u32 r5 pa0 #0x0
again:
    xor.u32 r5 r5 #0x55
    shr.u32 r4 r4 #0x1
    vtst.and.u32 ne p0.x r4 r5
    p0 br again
    or.u32 pa1 r4 #0x0
"""
LOOPS = {"known": KNOWN, "unknown": UNKNOWN, "break": BREAK, "nested": NESTED, "guarded": GUARDED, "two": TWO,
         "integers": INTEGERS}  # fmt: skip


def shader(code: str) -> Shader:
    found = isakit.load(write(isakit.isa("usse").assemble(HEAD + code), "gxp"))
    assert isinstance(found, Shader)
    return found


@pytest.mark.parametrize("name", LOOPS)
def test_statements_compute_what_the_shader_computes(name: str) -> None:
    found = shader(LOOPS[name])
    r = np.random.default_rng(1)
    given = {"texcoord0": r.uniform(0, 3, (200, 4)).astype(np.float32), "tint": np.float32([[0.75, 0.5, 1, 2]])}
    ran = usse.run(found, varyings={"texcoord0": given["texcoord0"]}, uniforms={"tint": given["tint"]})
    for exact in (True, False):
        said = evaluate(Decompiled(found, exact), given, {}, 200)["color"]
        np.testing.assert_array_equal(np.ascontiguousarray(said, np.float32), ran.color)


def test_loops_of_known_length_are_written_one_turn_after_the_other() -> None:
    text = expressions(shader(KNOWN))
    assert "for" not in text
    assert text.count("tint.xy") == 5


def test_loops_of_unknown_length_are_statements() -> None:
    lines = expressions(shader(UNKNOWN)).splitlines()
    assert lines[:4] == ["float loop0_pa0 = texcoord0.x;", "float loop0_pa1 = texcoord0.y;", "float loop0_r0 = 0.0;",
                         "for (;;) {"]  # fmt: skip
    assert "    loop0_r0 = was0_r0 + 0.5;" in lines
    assert lines[-1] == "color = vec4(loop0_pa0, loop0_pa1, texcoord0.zw);"


def test_a_loop_that_is_not_entered_by_all_stands_behind_its_condition() -> None:
    assert ") for (;;) {" in expressions(shader(GUARDED))


def test_only_registers_that_matter_are_variables() -> None:
    code = UNKNOWN.replace("    vmul", "    vmul.f32 r8.xy pa0.xyzw sa0.xyzw\n    vmul")
    assert "r8" not in expressions(shader(code))


@pytest.mark.parametrize(("code", "says"), [
    ("    br middle\nagain:\n    nop\nmiddle:\n    vtst.sub.f32 lt p0.x pa0 c0.xxxx\n    p0 br again\n", "middle"),
    (UNKNOWN.replace("    vmul", "    p1 br far\n    vmul") + "    nop\n    nop\nfar:\n    nop\n", "left for"),
    (UNKNOWN.replace("    vmul", "    vtst.sub.f32 gt p1.x pa0 c4.xxxx\n    kill !p1\n    vmul"), "discards"),
    ("again:\n    nop\n    br again\n", "no end"),
])  # fmt: skip
def test_what_has_no_statement_is_named(code: str, says: str) -> None:
    with pytest.raises(NotModelled, match=says):
        expressions(shader(code))


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslangValidator is not installed")
@pytest.mark.parametrize("name", LOOPS)
def test_glsl_of_loops_compiles(name: str, tmp_path: Path) -> None:
    path = tmp_path / "loop.frag"
    path.write_text(glsl(shader(LOOPS[name])))
    done = subprocess.run(
        ["glslangValidator", str(path)], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + path.read_text()
