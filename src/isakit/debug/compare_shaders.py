"""Two shaders on the same inputs: whether results, discards and depth agree, and where values first differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isakit.debug.compare import Comparison, FirstDifference, differences, side_by_side
from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.formats import Shader
from isakit.formats.gxp import ATTRIBUTE, READS_COLOR, SAMPLER, TYPES, UNIFORM, FragmentVaryings, GxpParameter
from isakit.machine.usse import DEFAULT, Cube, Machine, Rules, ShaderCode, Texture
from isakit.runtime.usse import BoundShader
from isakit.runtime.usse_engine import Engine, check_engine, stretches_for
from isakit.runtime.usse_layout import fragment_inputs

Inputs = dict[str, Any]
_SPECIAL = (0.0, 1.0, -1.0, 0.5, 2.0, 1 / 255)
_SWITCHES = (0.0, 1.0, 2.0, 3.0, 4.0, -1.0, 0.5)
"""Typical values of uniforms that select between parts of a program."""
ROUNDS = 24
"""Sets of random uniforms that are tried, the later ones with fewer invocations."""
_LATER = 128
_TEXELS = 8


def random_inputs(
    shader: Shader, other: Shader | None = None, count: int = 1024, seed: int = 0, *, switches: bool = False
) -> Inputs:
    """Make random inputs for `isakit.usse.run` in the range of each format, some of them 0, 1, -1, 1/2, 2, 1/255.

    Floats are between -2 and 2, integers anywhere in their type; textures have 8 x 8 random bytes per channel. With
    `other`, the inputs serve both shaders. With `switches`, half of the floats in uniforms are 0, 1, 2, 3, 4, -1 or
    1/2, like uniforms that select between parts of a program.
    """
    r = np.random.default_rng(seed)
    out: Inputs = {"attributes": {}, "varyings": {}, "uniforms": {}, "textures": {}}
    for s in (shader, *(() if other is None else (other,))):
        for p in s.parameters:
            components = max(1, p.component_count)
            if p.category == ATTRIBUTE:
                out["attributes"].setdefault(p.name, _numbers(r, p, (count, components * max(1, p.array_size))))
            elif p.category == UNIFORM:
                values = _numbers(r, p, (max(1, p.array_size), components))
                if switches and values.dtype.kind == "f":
                    chosen = np.array(_SWITCHES, np.float32)[r.integers(0, len(_SWITCHES), values.shape)]
                    values = np.where(r.random(values.shape) < 0.5, chosen, values)
                out["uniforms"].setdefault(p.name, values)
            elif p.category == SAMPLER:
                cube = bool(p.semantic_index & 16)
                shape = ((6,) if cube else ()) + (_TEXELS, _TEXELS, 4)
                texels = r.integers(0, 256, shape).astype(np.uint8)
                out["textures"].setdefault(p.name, Cube(texels) if cube else Texture(texels))
        v = s.file.varyings
        if isinstance(v, FragmentVaryings):
            for i in fragment_inputs(v.inputs):
                floats = _floats(r, (count, 4))
                out["varyings"].setdefault(i.name, r.integers(0, 256, (count, 4)) if i.ty == "u8" else floats)
    if any(s.file.flags & READS_COLOR for s in (shader, other or shader)):
        out["target"] = r.uniform(0, 1, (count, 4)).astype(np.float32)
    out["count"] = count
    return out


def _numbers(r: np.random.Generator, p: GxpParameter, shape: tuple[int, ...]) -> Array:
    ty = TYPES[p.type] if p.type < len(TYPES) else "f32"
    if ty[0] in "us":
        bits = int(ty[1:])
        low = -(1 << bits - 1) if ty[0] == "s" else 0
        return r.integers(low, low + (1 << bits), shape)
    return _floats(r, shape)


def _floats(r: np.random.Generator, shape: tuple[int, ...]) -> Array:
    values = r.uniform(-2, 2, shape).astype(np.float32)
    special = np.array(_SPECIAL, np.float32)[r.integers(0, len(_SPECIAL), shape)]
    return np.where(r.random(shape) < 0.15, special, values)


def compare_shaders(
    a: Shader,
    b: Shader,
    *,
    inputs: Mapping[str, Any] | None = None,
    count: int = 1024,
    seed: int = 0,
    ulps: int = 0,
    rules: Rules = DEFAULT,
    engine: Engine = "reference",
    max_instructions: int = 1_000_000,
) -> Comparison:
    """Run two shaders of the same stage on the same inputs and compare their results.

    Args:
        a: the result of `isakit.load` for a GXP file.
        b: likewise.
        inputs: `attributes`, `varyings`, `uniforms`, `textures`, `target`, `count` as for `isakit.usse.run`; inputs
            left out are random (`random_inputs`). A shader gets the inputs it knows.
        count: random vertices or pixels.
        seed: of the random numbers. Where uniforms are random, several sets of them are tried (`ROUNDS`).
        ulps: tolerance between two f32 results, in units in the last place; for a colour output as f16 or bytes, in
            steps of that format, of the coarser one if the shaders differ.
        rules: as for `isakit.usse.run`.
        engine: as for `isakit.usse.run`; the first difference is searched on the reference engine.
        max_instructions: as for `isakit.usse.run`.

    Raises LaunchError for shaders of different stages, and everything running them raises.
    """
    if a.stage != b.stage:
        raise LaunchError(f"a {a.stage} and a {b.stage} shader have nothing to compare")
    check_engine(engine)
    uniforms = {p.name for shader in (a, b) for p in shader.parameters if p.category == UNIFORM}
    random = uniforms - set((inputs or {}).get("uniforms") or {})
    how = ulps, rules, engine, max_instructions
    found = _once(a, b, random_inputs(a, b, count, seed), inputs or {}, how)
    for k in range(1, ROUNDS if random else 1):
        if not found:
            break
        largest = found.largest
        found = _once(a, b, random_inputs(a, b, min(count, _LATER), seed + k, switches=True), inputs or {}, how)
        found.largest = max(largest, found.largest)
    return found


def _once(
    a: Shader, b: Shader, given: Inputs, inputs: Mapping[str, object], how: tuple[int, Rules, Engine, int]
) -> Comparison:
    """Run both shaders once and compare their results."""
    ulps, rules, engine, limit = how
    for group, values in inputs.items():
        if group in ("count", "target"):
            given[group] = values
        elif values:
            given[group] |= values
    if any(inputs.get(g) for g in ("attributes", "varyings")):
        _match_counts(given, inputs)
    runs = [_Run(s, given, rules, limit) for s in (a, b)]
    results = [r.results(engine) for r in runs]
    found, largest = differences(results[0], results[1], ulps, _steps(a, b))
    out = Comparison(tuple(dict.fromkeys([*results[0], *results[1]])), found, None, largest)
    if found:
        index = found[0].index
        lane = index[0] if index else 0
        out.parting = _parting(runs[0], runs[1], lane - lane % 4)
    return out


_COARSE = ("f16", "u8")


def _steps(a: Shader, b: Shader) -> dict[str, str]:
    """Return the coarser of the two shaders' colour formats, if it is one with steps."""
    found = [TYPES[v.output_type] for s in (a, b) if isinstance(v := s.file.varyings, FragmentVaryings)
             and v.output_type < len(TYPES)]  # fmt: skip
    coarsest = max((_COARSE.index(t) for t in found if t in _COARSE), default=-1)
    return {"color": _COARSE[coarsest]} if coarsest >= 0 else {}


def _match_counts(given: Inputs, inputs: Mapping[str, Any]) -> None:
    """Give random inputs as many rows as the given ones; images become lists of pixels."""
    rows = 1
    for group in ("attributes", "varyings"):
        values: Mapping[str, Any] = inputs.get(group) or {}
        for name, value in values.items():
            array: Array = np.asarray(value)
            if array.ndim == 3:
                array = array.reshape(-1, array.shape[2])
            given[group][name] = array
            rows = max(rows, len(array) if array.ndim == 2 else 1)
    for group in ("attributes", "varyings"):
        for name, value in given[group].items():
            if name not in (inputs.get(group) or {}):
                given[group][name] = np.resize(value, (rows, value.shape[1]))
    given["count"] = rows
    if "target" in given:
        given["target"] = np.resize(np.asarray(given["target"]).reshape(-1, 4), (rows, 4))


class _Run:
    """A shader with the inputs that it takes."""

    def __init__(self, shader: Shader, given: Inputs, rules: Rules, limit: int) -> None:
        names = {c: {p.name for p in shader.parameters if p.category == c} for c in (ATTRIBUTE, UNIFORM, SAMPLER)}
        v = shader.file.varyings
        varyings = {i.name for i in fragment_inputs(v.inputs)} if isinstance(v, FragmentVaryings) else set[str]()
        self.shader, self.rules, self.limit = shader, rules, limit
        self.uniforms = {n: x for n, x in given["uniforms"].items() if n in names[UNIFORM]}
        self.textures = {n: x for n, x in given["textures"].items() if n in names[SAMPLER]}
        self.attributes = {n: x for n, x in given["attributes"].items() if n in names[ATTRIBUTE]}
        self.varyings = {n: x for n, x in given["varyings"].items() if n in varyings}
        self.target, self.count = given.get("target"), given["count"]

    def bound(self, once: bool = True) -> BoundShader:
        """Return the shader with uniforms and textures bound; `once`: its secondary program has run."""
        return BoundShader(self.shader, self.uniforms, self.textures, {}, self.rules, self.limit, once)

    def results(self, engine: Engine) -> dict[str, Array]:
        """Return everything the shader computes."""
        bound = self.bound()
        grid, values = bound.grid(self.attributes, self.varyings, self.count, self.target)
        return dict(bound.over(grid, values, self.target, stretches_for(engine, bound.code, grid.lanes)))

    def four(self, bound: BoundShader, lane: int) -> Machine:
        """Return the machine of four neighbouring invocations, before the primary program."""
        grid, values = bound.grid(self.attributes, self.varyings, self.count, self.target)
        before = None if self.target is None else bound.target_words(grid, self.target)
        return bound.machine(values, before, lane, min(4, grid.lanes - lane))


def _parting(a: _Run, b: _Run, lane: int) -> FirstDifference | None:
    """Return the first difference of the four invocations from `lane` on, in the secondary or the primary program."""
    shaders = a.shader, b.shader
    if any(len(s.secondary) for s in shaders):
        machines = [r.bound(once=False).secondary() for r in (a, b)]
        programs = shaders[0].secondary, shaders[1].secondary
        found = _side_by_side("secondary", programs, machines, a.rules, a.limit)
        if found is not None:
            return found
    machines = [r.four(r.bound(), lane) for r in (a, b)]
    programs = shaders[0].primary, shaders[1].primary
    return _side_by_side("primary", programs, machines, a.rules, a.limit)


def _side_by_side(
    name: str, programs: Any, machines: list[Machine], rules: Rules, limit: int
) -> FirstDifference | None:
    steps = [m.steps(ShaderCode(p, rules), limit) for m, p in zip(machines, programs, strict=True)]
    return side_by_side(name, programs, (steps[0], steps[1]), [lambda m=m: _state(m) for m in machines])


def _state(m: Machine) -> dict[str, Array]:
    """Return a copy of all state that an invocation can change."""
    files = {n: np.array(a) for n, a in m.files.items()}
    depth = np.zeros(m.lanes, np.float32) if m.depth is None else m.depth
    later = np.full((1, m.lanes), -1)
    for pc, mask in m.waiting.items():
        later[0, slice(None) if mask is None else mask] = pc
    return files | {"killed": m.killed[None].copy(), "depth": depth.view(np.uint32)[None].copy(), "later": later}
