"""Random GLSL, compiled here: by way of glslang's SPIR-V, and on llvmpipe, it computes the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

from isakit import usse
from isakit.compile.shading.compiled import build_shader
from isakit.errors import CompileError
from isakit.formats import Shader
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.generators.random_glsl import inputs, program, random_glsl_lines
from support.oracles import glsl_gl, shader_gl
from support.oracles.glsl_compiler import COMPILER, spirv_of

LANES = 8
SEMANTICS = {"c": "texcoord0", "g": "texcoord1", "a": "texcoord2"}
LIMITS = ("registers", "literals", "constants are more than")
"""What a message says where a program is right, and too large for the hardware."""
Rows = dict[str, np.ndarray[Any, Any]]


def _make(seed: int) -> dict[str, Any]:
    r = Random(seed)
    stage = r.choice(("vertex", "fragment"))
    return {"seed": seed, "stage": stage, "near": r.random() < 0.4, "lines": random_glsl_lines(seed, stage)}


def _text(case: dict[str, Any]) -> str:
    return program(case["lines"], case["stage"], case["near"])


def _results(shader: Shader, seed: int) -> Rows:
    """Run a shader: its results by name."""
    vectors, uniforms, texels = inputs(seed, LANES)
    known = {p.name for p in shader.parameters}
    kind = "attributes" if shader.stage == "vertex" else "varyings"
    names = {n: n if shader.stage == "vertex" else SEMANTICS[n] for n in vectors}
    texture = usse.Texture(texels, filter="nearest", wrap="wrap")
    given = {names[n]: v for n, v in vectors.items() if kind == "varyings" or n in known}
    with np.errstate(all="ignore"):
        got = usse.run(
            shader, count=LANES, **{kind: given},
            uniforms={n: v for n, v in uniforms.items() if n in known},
            textures={"tex": texture} if "tex" in known else {},
        )  # fmt: skip
    return {name: np.asarray(rows) for name, rows in got.items()}


def _compiled(text: str | bytes, stage: str) -> Shader | str:
    """Compile a program; gives why not where it is too large for the hardware."""
    path = "x.spv" if isinstance(text, bytes) else "<text>"
    language = {} if isinstance(text, bytes) else {"language": "glsl"}
    try:
        return build_shader(text, stage=stage, target="f32x4", path=path, **language).shader  # type: ignore[arg-type]
    except CompileError as e:
        if any(word in e.diagnostics[0].message for word in LIMITS):
            return e.diagnostics[0].message
        raise Wrong(f"{'SPIR-V' if isinstance(text, bytes) else 'GLSL'} is refused: {e}") from e


def _compared(case: dict[str, Any], own: Rows, other: Rows, rounding: float) -> None:
    """Hold results against others: those that are rounded within a share of their size."""
    gone = own.get("discard", np.zeros(LANES, bool))
    if not np.array_equal(gone, other.get("discard", np.zeros(LANES, bool))):
        raise Wrong(f"pixels {gone} are discarded, not {other.get('discard')}")
    for name in sorted(own.keys() - {"discard"}):
        near = name == "texcoord1" or (case["near"] and name == "color")
        a, b = own[name][~gone].astype(np.float64), other[name][~gone].astype(np.float64)
        b = b[:, : a.shape[1]]
        if near:
            with np.errstate(all="ignore"):
                right = np.isclose(a, b, rtol=rounding, atol=rounding, equal_nan=True)
            # Beyond what a float holds, and where a function is not defined, anything goes.
            right |= ~np.isfinite(a) | ~np.isfinite(b)
        else:
            right = a == b
        if not right.all():
            row = int(np.argmin(right.all(1)))
            raise Wrong(f"{name} of {row} is {a[row]}, not {b[row]}")


def _covered(shader: Shader) -> str:
    return f"{shader.stage} of {len(shader.primary) // 50 * 50} instructions"


def _check_spirv(case: dict[str, Any]) -> Iterator[str]:
    text = _text(case)
    own = _compiled(text, case["stage"])
    other = _compiled(spirv_of(text, case["stage"]), case["stage"])
    if isinstance(own, str) or isinstance(other, str):
        yield "too large"
        return
    _compared(case, _results(own, case["seed"]), _results(other, case["seed"]), 1e-4)
    yield _covered(own)


def _check_llvmpipe(case: dict[str, Any]) -> Iterator[str]:
    text = _text(case)
    own = _compiled(text, case["stage"])
    if isinstance(own, str):
        yield "too large"
        return
    found = glsl_gl.results(text, case["stage"], inputs(case["seed"], LANES))
    try:
        _compared(case, _results(own, case["seed"]), found, 2e-3)
    except Wrong:
        if "packUnorm4x8" not in text:
            raise
        tied = _compiled(_rounded_twice(text), case["stage"])
        if isinstance(tied, str):
            raise
        _compared(case, _results(tied, case["seed"]), found, 2e-3)
        yield "packUnorm4x8 of a product that f32 rounds to a tie"
    yield _covered(own)


ROUNDED_TWICE = """uint rounded_twice(vec4 v) {
    uvec4 b = uvec4(roundEven(clamp(v, 0.0, 1.0) * 255.0));
    return b.x | b.y << 8u | b.z << 16u | b.w << 24u;
}
"""


def _rounded_twice(text: str) -> str:
    """The program as llvmpipe packs bytes: the product with 255 is rounded to f32 first.

    The machine rounds the exact product once. 0.3 * 255 is a little more than 76.5, and in f32 it is 76.5, a tie.
    """
    version, line_end, rest = text.partition("\n")
    return re.sub(r"\bpackUnorm4x8\(", "rounded_twice(", f"{version}{line_end}{ROUNDED_TWICE}{rest}")


def _smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for lines in pieces_left_out(case["lines"]):
        yield {**case, "lines": lines}


HERE = (
    Campaign("glsl-spirv", "GLSL against SPIR-V of it", _make, lambda case: list(_check_spirv(case)), _smaller, 60.0,
             needs=lambda: "" if COMPILER else "needs glslangValidator (glslang-tools)"),
    Campaign("glsl-llvmpipe", "GLSL against llvmpipe", _make, lambda case: list(_check_llvmpipe(case)), _smaller, 60.0,
             needs=shader_gl.missing, fixed=6),
)  # fmt: skip
