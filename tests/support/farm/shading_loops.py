"""Random loops of Cg and GLSL: compiled and run, they give what their trees give step by step.

Read as statements, as Vita3K reads them, the programs go the same ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from isakit import usse
from isakit.compile.shading.compiled import build_shader
from isakit.errors import CompileError
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.generators.loop_programs import loop_program, results, text_of
from support.oracles.statement_paths import StatementPaths

LANES = 8


def _make(seed: int) -> dict[str, Any]:
    return {"program": loop_program(seed), "language": ("cg", "glsl")[seed % 2], "numbers": seed // 2}


def _check(case: dict[str, Any]) -> Iterator[str]:
    text = text_of(case["program"], case["language"])
    given = np.random.default_rng(case["numbers"])
    xy, n = given.integers(-9, 10, (LANES, 2)), int(given.integers(-1, 7))
    try:
        shader = build_shader(text, stage="fragment", language=case["language"], target="f32x4").shader
    except CompileError as e:
        if "registers" not in e.diagnostics[0].message:
            raise Wrong(f"refused: {e}") from e
        yield "too large"
        return
    parting = StatementPaths(list(shader.primary)).parting()
    if parting is not None:
        raise Wrong(f"read as statements, it goes on at {parting[1]}, not {parting[0]}")
    read = {"n": np.array([n])} if any(p.name == "n" for p in shader.parameters) else {}
    got = usse.run(shader, varyings={"texcoord0": xy.astype(np.float32)}, uniforms=read, count=LANES)
    for lane, (x, y) in enumerate(xy.tolist()):
        want = results(case["program"], x, y, n)
        gone = bool(got["discard"][lane]) if "discard" in got else False
        if gone != (want is None):
            raise Wrong(f"pixel {lane} is {'' if gone else 'not '}discarded")
        if want is not None and got["color"][lane].tolist() != want:
            raise Wrong(f"pixel {lane} of ({x}, {y}), n {n}, is {got['color'][lane]}, not {want}")
    yield f"{len(shader.primary) // 100 * 100} instructions"


def _smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    program = case["program"]
    for body in pieces_left_out(program["body"]):
        yield {**case, "program": {**program, "body": body}}


HERE = [Campaign("shading-loops", "loops of Cg and GLSL", _make, lambda case: list(_check(case)), _smaller, 60.0)]
