"""GLSL of random shaders on llvmpipe, held against the simulated machine; GLSL of damaged shaders, compiled."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import numpy as np

import isakit
from conftest import shared_dir
from isakit import usse
from isakit.decompile import glsl
from isakit.errors import AsmError, IsakitError, NotModelled
from isakit.formats import GxpFile, Shader, parse_gxp, write_gxp
from isakit.machine.usse import DEFAULT, Rules
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.generators import hostile_shaders
from support.generators.random_shaders import random_lines, shader_of
from support.oracles import shader_gl
from support.oracles.glsl_compiler import COMPILER, NAMES, rejected_texts

COUNT = 64
SMALLEST = np.finfo(np.float32).tiny
STEPS = (1 + 1e-5, 1 - 1e-5, 1 + 3e-6, 1 - 3e-6)
"""Inputs are changed by these factors: what a result moves by then, it may be off on another machine."""
SHARE = 0.25
"""Invocations that may differ without a reason: on an edge of a texel or a comparison, or with a NaN on the way."""
Rows = dict[str, np.ndarray[Any, Any]]


def _make(seed: int) -> dict[str, Any]:
    stage = ("vertex", "fragment")[seed % 2]
    return {"seed": seed, "stage": stage, "lines": random_lines(seed, stage)}


def results(shader: Any, given: dict[str, Any], rules: Rules = DEFAULT) -> Rows:
    """Results of the simulated machine."""
    with np.errstate(all="ignore"):
        out = usse.run(shader, rules=rules, **given)
        return {name: rows.astype(np.float64) for name, rows in out.items() if name != "discard"}


def moved(given: dict[str, Any], factor: float) -> dict[str, Any]:
    """Inputs changed by a factor."""
    out = dict(given)
    for kind in ("attributes", "varyings", "uniforms"):
        out[kind] = {n: v * np.float32(factor) if v.dtype.kind == "f" else v for n, v in given[kind].items()}
    return out


def _plain(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Results without what GLSL leaves open: denormals are zeros."""
    rows = rows.astype(np.float64)
    return np.where(np.abs(rows) < SMALLEST, 0.0, rows)


def unexplained(found: Rows, shader: Any, given: dict[str, Any]) -> list[str]:
    """Results of OpenGL that lie further from those of the machine than roundings take them."""
    expected = {name: _plain(rows) for name, rows in results(shader, given).items()}
    near = [results(shader, moved(given, factor)) for factor in STEPS]
    near.append(results(shader, given, Rules(flush=True)))
    wrong: list[str] = []
    for name, rows in found.items():
        wanted = expected[name]
        with np.errstate(all="ignore"):
            spread = np.max([np.abs(_plain(n[name]) - wanted) for n in near], axis=0)
            tolerance = 1e-4 * np.abs(wanted) + 1e-4 + 32 * np.nan_to_num(spread, nan=np.inf, posinf=np.inf)
            got = _plain(rows)[:, : wanted.shape[1]]
            apart = (np.abs(got - wanted) > tolerance) | (np.isfinite(got) != np.isfinite(wanted))
            apart &= np.isfinite(wanted)
        share = apart.mean(0)
        for component in np.flatnonzero(share > SHARE):
            row = int(np.argmax(apart[:, component]))
            wrong.append(f"{name}.{component} of {row}: {got[row, component]}, not {wanted[row, component]}, "
                         f"{share[component]:.0%} of the rows")  # fmt: skip
    return wrong


def _check(case: dict[str, Any]) -> set[str]:
    """The GLSL compiles, and leaves what the shader leaves."""
    stage = case["stage"]
    shader = shader_of(stage, case["lines"])
    given = shader_gl.inputs(shader, COUNT, case["seed"])
    try:
        if stage == "vertex":
            found = shader_gl.vertex_results(shader, given, COUNT)
        else:
            color, dead = shader_gl.fragment_results(shader, given, COUNT)
            killed = usse.run(shader, **given).get("discard", np.zeros(COUNT, bool))
            if (dead != killed).mean() > SHARE:
                raise Wrong(f"{int(dead.sum())} pixels are discarded, not {int(killed.sum())}")
            color = np.where((dead | killed)[:, None], usse.run(shader, **given).color, color)
            found = {"color": color}
    except NotModelled as e:
        return {f"refused: {e.what.split(':')[-1].strip()[:40]}"}
    if wrong := unexplained(found, shader, given):
        raise Wrong("; ".join(wrong))
    return {f"{stage} {line.split()[-1 if line.startswith('nop') else 0]}" for line in case["lines"]}


def _shorter(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for lines in pieces_left_out(case["lines"]):
        try:
            shader_of(case["stage"], lines)
        except AsmError:
            continue
        yield {**case, "lines": lines}


# --- damaged files ----------------------------------------------------------------------------------------------------
FILES = 12
"""Files of a case: the compiler takes them together."""
_NUMBERS = (0, 1, 2, 3, 4, 5, 8, 9, 15, 16, 64, 1 << 20)


@cache
def _samples() -> tuple[bytes, ...]:
    """Shader files: of the corpus where it is, and made here."""
    made = [hostile_shaders.shader(stage) for stage in ("vertex", "fragment")]
    for seed in range(6):
        stage = ("vertex", "fragment")[seed % 2]
        made.append(write_gxp(shader_of(stage, random_lines(seed, stage)).file))
    shared = shared_dir()
    if shared is not None:
        made += [path.read_bytes() for path in sorted(shared.glob("corpus/usse/gxp/*.gxp"))]
    return tuple(made)


@cache
def _words() -> list[int]:
    return [w for data in _samples() for w in parse_gxp(data).primary]


def _changed(record: Any, r: Random, most: int) -> Any:
    """A record with one number flipped or replaced."""
    name = r.choice([f.name for f in dataclasses.fields(record) if isinstance(getattr(record, f.name), int)])
    value = getattr(record, name)
    return dataclasses.replace(record, **{name: r.choice((value ^ 1 << r.randrange(most), r.choice(_NUMBERS)))})


def _damage(gxp: GxpFile, r: Random) -> None:
    kind = r.random()
    if kind < 0.7 and gxp.primary:
        at = r.randrange(len(gxp.primary))
        gxp.primary[at] = r.choice((gxp.primary[at] ^ 1 << r.randrange(64), r.choice(_words())))
    elif kind < 0.85 and gxp.parameters:
        at = r.randrange(len(gxp.parameters))
        named = dataclasses.replace(gxp.parameters[at], name=r.choice(NAMES))
        gxp.parameters[at] = r.choice((named, _changed(gxp.parameters[at], r, 4)))
    else:
        inputs = getattr(gxp.varyings, "inputs", ())
        if inputs and r.random() < 0.7:
            at = r.randrange(len(inputs))
            inputs = (*inputs[:at], _changed(inputs[at], r, 32), *inputs[at + 1 :])
            gxp.varyings = dataclasses.replace(gxp.varyings, inputs=inputs)  # type: ignore[type-var]
        elif gxp.varyings is not None:
            gxp.varyings = _changed(gxp.varyings, r, 16)


def _make_damaged(seed: int) -> list[bytes]:
    r = Random(seed)
    made: list[bytes] = []
    while len(made) < FILES:
        gxp = parse_gxp(r.choice(_samples()))
        for _ in range(r.randint(1, 5)):
            _damage(gxp, r)
        try:
            made.append(write_gxp(gxp))
        except IsakitError:
            continue  # a number that has no place in a file
    return made


def _check_damaged(files: list[bytes]) -> set[str]:
    """What is written compiles; what cannot be is refused by an error of the library."""
    texts: list[tuple[str, str]] = []
    covered = {"refused"}
    for data in files:
        try:
            shader = isakit.load(data)
            if isinstance(shader, Shader):
                texts.append((shader.stage, glsl(shader)))
                covered.add(shader.stage)
        except IsakitError as e:
            hostile_shaders.clear(e)
    for number, error in rejected_texts(texts).items() if texts else ():
        raise Wrong(f"{error}\n{texts[number][1]}")
    return covered


def _fewer(files: list[bytes]) -> Iterator[list[bytes]]:
    return (some for some in pieces_left_out(files) if some)


HERE = (
    Campaign("shader-glsl", "GLSL of random shaders on llvmpipe", _make, _check, _shorter, 120.0,
             needs=shader_gl.missing, fixed=4),
    Campaign("glsl-texts", f"GLSL of damaged shaders compiles, {FILES} a case", _make_damaged, _check_damaged, _fewer,
             120.0, needs=lambda: "" if COMPILER else "needs glslangValidator (glslang-tools)", fixed=4),
)  # fmt: skip
