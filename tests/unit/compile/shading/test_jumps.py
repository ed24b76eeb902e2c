"""Jumps out of loops, ifs and functions: programs go the same way where they are read as statements in each other."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit import usse
from isakit.codec.instruction import Instruction
from isakit.formats import Shader
from support.generators.loop_programs import loop_program, text_of
from support.oracles.statement_paths import StatementPaths

COSTLY = "s = sin(s * c.zwxy) + cos(s.yzwx * n) + exp(s * 0.25) * s.wzyx + sqrt(abs(s));"
SOURCES = {
    "a return in a loop": "for (int i = 0; i < k; i++) { s += c; if (s.x > n) return s; } COSTLY",
    "a return in two loops": """for (int i = 0; i < k; i++) {
        for (int j = 0; j < i; j++) { s += c; if (s.x > n) return s.yxwz; }
        s *= 0.5; } COSTLY""",
    "a return in a loop of a function": "for (int i = 0; i < k; i++) { s += c * f(i); if (s.y > n) break; } COSTLY",
    "a return in two ifs": "if (c.x > n) { COSTLY if (s.y > n) { COSTLY return s; } COSTLY } COSTLY",
    "a return in an else": "if (c.x > n) { COSTLY if (s.y > n) { COSTLY } else { COSTLY return s; } COSTLY } COSTLY",
    "an else that returns": """if (c.x > n) { COSTLY if (s.y > n) { COSTLY } else { COSTLY s += c; } }
        else { COSTLY return s; } COSTLY""",
    "the next turn from two ifs": """for (int i = 0; i < k; i++) {
        if (s.x > n) { COSTLY if (s.y > n) { s += 1; continue; } COSTLY } s += c; }""",
    "a break out of turns that are written out": """for (int i = 0; i < 3; i++) {
        if (s.x > n) { COSTLY if (s.y > n) { COSTLY break; } COSTLY } COSTLY }""",
    "a return behind a break out of turns that are written out": """for (int i = 0; i < 3; i++) {
        if (s.x > n) { COSTLY break; } COSTLY if (s.y > n) { COSTLY return s; } COSTLY } COSTLY""",
    "a return behind another one": """if (c.x > n) { COSTLY if (s.y > n) { COSTLY return s; } COSTLY return s.yxwz; }
        COSTLY""",
    "a switch": """for (int i = 0; i < k; i++) { switch (i & 3) {
        case 0: COSTLY if (s.x > n) { COSTLY break; } COSTLY break;
        case 1: case 3: COSTLY if (s.y > n) continue; COSTLY break;
        default: if (s.z > n) return s; COSTLY } s += c; }""",
    "a loop at the end of a then": "if (c.x > n) { for (int i = 0; i < k; i++) s += c; } else { COSTLY } COSTLY",
    "a break behind the next turn from two ifs": """for (int i = 0; i < k; i++) {
        if (s.x > n) { COSTLY if (s.y > n) { s += 1; continue; } COSTLY break; } else { COSTLY } s += c; }""",
    "a break after statements": """for (int i = 0; i < k; i++) {
        s *= 0.5; if (s.x < n) { COSTLY break; } } COSTLY""",
    "two ways out of a loop in a then with an else": """float4 m = u; if (c.x > n) {
        for (;;) { if (c.y < n) break; if (c.z == n) break; } } else { m.x = s.x; s = m.wzyx; } s += m.zyzx;""",
}  # fmt: skip
HEAD = """uniform float n; uniform int k; uniform float4 u;
float f(int i) { for (int j = 0; j < i; j++) { if (j * n > 3) return j; } return n + 1; }
float4 main(float4 c : COLOR) : COLOR { float4 s = c; """


def agrees(code: list[Instruction]) -> None:
    """Check that a program goes the same ways by its jumps and where it is read as statements."""
    assert StatementPaths(code).parting() is None


@pytest.mark.parametrize("statements", SOURCES.values(), ids=SOURCES.keys())
def test_ways_out_are_those_of_statements(statements: str) -> None:
    text = f"{HEAD}{statements.replace('COSTLY', COSTLY)} return s; }}"
    agrees(list(isakit.compile_shader(text, stage="fragment", language="cg").primary))


@pytest.mark.parametrize("seed", [3, 10, 28, 31, 43, 53, 56, 88, 146, 700155, 710150, 710246])
def test_random_loops_are_read_as_statements(seed: int) -> None:
    text = text_of(loop_program(seed), "cg")
    agrees(list(isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4").primary))


SWITCH = """uniform int k; float4 main(float4 c : COLOR) : COLOR { float4 s = 0;
switch (k) { case 0: s.x = 1; case 1: s.y = 2; break; default: s.z = 3; case 2: case 5: s.w = 4; break;
case 3: return 9; case 4: { if (c.x > 0.5) break; s.x = 6; } }
return s; }"""
FOUND = {0: [1, 2, 0, 0], 1: [0, 2, 0, 0], 2: [0, 0, 0, 4], 3: [9, 9, 9, 9], 4: [6, 0, 0, 0], 5: [0, 0, 0, 4],
         6: [0, 0, 3, 4]}  # fmt: skip


def test_cases_go_on_with_the_next_one() -> None:
    shader = isakit.compile_shader(SWITCH, stage="fragment", language="cg", target="f32x4")
    for k, want in FOUND.items():
        got = usse.run(shader, varyings={"color0": np.zeros((1, 4), np.float32)}, uniforms={"k": k}, count=1)
        assert got["color"][0].tolist() == want, k


LOOPED = """uniform int k; uniform int n; float4 main(float4 c : COLOR) : COLOR { int a = 0; int b = 0;
for (int i = 0; i < n; i++) {
    switch ((i + k) & 3) {
        case 0: a += 1; if (a > 3) { b += 100; continue; } break;
        default: a += 5; if (b > 250) { if (a & 1) return float4(a, b, i, 1); a += 2; }
        case 2: b += 10; if (a > 20) { if (b & 1) break; b += 1; } else break; b += 3; }
    b += 7; if (b > 400) { for (int j = 0; j < k; j++) { if (j * a > b) return float4(a, b, j, 2); } } }
return float4(a, b, 0, 3); }"""


def looped(k: int, n: int) -> list[int]:
    """Return what LOOPED returns."""
    a = b = 0
    for i in range(n):
        case = (i + k) & 3
        if case == 0:
            a += 1
            if a > 3:
                b += 100
                continue
        else:
            if case != 2:
                a += 5
                if b > 250:
                    if a & 1:
                        return [a, b, i, 1]
                    a += 2
            b += 10
            if a > 20 and not b & 1:
                b += 4
        b += 7
        if b > 400:
            for j in range(k):
                if j * a > b:
                    return [a, b, j, 2]
    return [a, b, 0, 3]


def test_ways_out_of_a_switch_in_a_loop_give_what_they_should() -> None:
    shader = isakit.compile_shader(LOOPED, stage="fragment", language="cg", target="f32x4")
    agrees(list(shader.primary))
    ways: set[int] = set()
    for k in range(0, 24, 3):
        for n in (0, 1, 7, 19, 40):
            want = looped(k, n)
            ways.add(want[3])
            given = {"c": 0, "k": k, "n": n}
            got = usse.run(shader, varyings={"color0": np.zeros((1, 4), np.float32)}, uniforms=_read(shader, given))
            assert got["color"][0].tolist() == want, (k, n)
    assert len(ways) > 1


def _read(shader: Shader, given: dict[str, int]) -> dict[str, int]:
    names = {p.name for p in shader.parameters}
    return {name: value for name, value in given.items() if name in names}


def test_loops_without_an_end_compile() -> None:
    text = f"{HEAD} if (k > 3) for (;;) {{ while (s.x < n) s += c; s *= 0.5; }} return s; }}"
    agrees(list(isakit.compile_shader(text, stage="fragment", language="cg").primary))
    endless = f"{HEAD} for (;;) {{ s *= 0.5; while (s.x < n) s += c; }} }}"
    isakit.compile_shader(endless, stage="fragment", language="cg")
