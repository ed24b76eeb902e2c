"""Loops are taken apart where that pays: by how large all their turns are, and by what their counter is an index of."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit import usse
from isakit.compile.shading import loop_sizes
from isakit.formats import Shader

HEAD = """uniform float4 u[16]; uniform float n; sampler2D t[4]; float2 at : TEXCOORD0;
float4 f(float4 s, float k) { return sin(s * k) + cos(s.yzwx - k) * sqrt(abs(s)) + pow(abs(s.wzyx), u[1]); }
float4 main(float4 c : COLOR, float2 uv : TEXCOORD0) : COLOR { float4 s = c; float w[16]; float k = n;
for (int x = 0; x < 16; x++) { k = k * 0.75 + 0.25; w[x] = k; }
"""
APART = {
    "few turns of little": "for (int i = 0; i < 40; i++) s = s * 0.5 + u[2];",
    "few turns of more": "for (int i = 0; i < 2; i++) s = f(s, i);",
    "an array that is indexed": "for (int i = 0; i < 16; i++) s = s.yzwx * w[i] + u[i] * (s.x + w[15 - i]);",
    "samplers": "for (int i = 0; i < 4; i++) s += f(tex2D(t[i], uv), i) + f(tex2D(t[3 - i], uv.yx), i);",
    "loops in each other": "for (int i = 0; i < 5; i++) for (int j = 4; j >= 0; j--) s = s * 0.5 + u[i + j];",
    "no turns of much": "for (int i = 0; i < 0; i++) { for (int j = 0; j < 9; j++) s += f(s, j); }",
}
KEPT = {
    "many turns of more": "for (int i = 0; i < 40; i++) s = f(s, i);",
    "turns of another loop": "for (int i = 0; i < 16; i++) for (int j = 0; j < 16; j++) s = s * 0.5 + u[i] * w[2];",
    "a number that steps": "for (float x = 0; x <= 1; x += 1. / 30.) s += f(s, x);",
    "numbers down to an end": "for (float x = 20; x > 0.5; x -= 0.5) { s += f(s, x); if (s.y > 1e6) break; }",
    "an array beside much else": "for (int i = 0; i < 16; i++) s += f(s, w[i]);",
}


def made(statements: str) -> Shader:
    return isakit.compile_shader(f"{HEAD}{statements} return s; }}", stage="fragment", language="cg", target="f32x4")


def jumps_back(shader: Shader) -> int:
    return sum(i.mnemonic == "br" and i.target is not None and i.target <= i.address for i in shader.primary)


def results(shader: Shader) -> np.ndarray:
    given = np.random.default_rng(5)
    texels = [given.random((4, 4, 4), np.float32) for _ in range(4)]
    uniforms = {"u": given.random((16, 4), np.float32), "n": 0.4}
    names = {p.name for p in shader.parameters}
    got = usse.run(
        shader, varyings={"color0": given.random((8, 4), np.float32), "texcoord0": given.random((8, 2), np.float32)},
        uniforms={n: v for n, v in uniforms.items() if n in names}, textures={"t": texels} if "t" in names else {},
    )  # fmt: skip
    return np.asarray(got["color"])


@pytest.mark.parametrize("statements", APART.values(), ids=APART.keys())
def test_loops_that_are_taken_apart(statements: str) -> None:
    assert not jumps_back(made(statements))


@pytest.mark.parametrize("statements", KEPT.values(), ids=KEPT.keys())
def test_loops_that_stay_give_the_same(statements: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = made(statements)
    assert jumps_back(kept)
    monkeypatch.setattr(loop_sizes, "LARGEST_UNROLLED", 1 << 30)
    apart = made(statements)
    assert jumps_back(apart) < jumps_back(kept)
    assert 0 < len(kept.primary.words) < len(apart.primary.words)
    assert results(kept) == pytest.approx(results(apart), rel=1e-5)
