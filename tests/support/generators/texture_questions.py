"""Random questions to the texture unit: textures of all targets and formats, samplers, choices, coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isakit.engine.llvm import host
from isakit.texture import Sampler, Texture, TextureChoices, TextureUnit
from isakit.texture.compiled_unit import CompiledTextureUnit, question
from isakit.texture.sampler_state import COMPARE_NAMES, WRAP_NAMES
from isakit.texture.texel_formats import format_named

LANES = 320
FORMATS = (
    "rgba8", "rgba8s", "r8", "rg8", "r16", "rg16s", "rgba16f", "r32f", "rg32f", "rgba32f", "rgba8ui", "r32i", "rgba16",
    "srgba8", "b5g6r5", "rgb10a2", "r11g11b10f", "rgb9e5", "d24", "d32f", "d16", "bgra8",
)  # fmt: skip
OPERATIONS = (
    "texauto", "texauto", "texauto", "texlod", "texbias", "texfetch", "texgather", "texsize", "texquerylod", "texprep",
)  # fmt: skip
TARGETS = ("1d", "2d", "2d", "3d", "cube", "1d_array", "2d_array", "rect", "buffer", "cube_array")
ODD = np.array([np.inf, -np.inf, np.nan, 1e20, -1e-30, -1e7, 3e38, 1e-42], np.float32)


@dataclass
class Asked:
    """A question: what `TextureUnit.ask` takes, and what the unit shows."""

    op: str
    texture: Texture
    sampler: Sampler
    sources: list[NDArray[np.uint32]]
    offsets: tuple[int, int, int]
    cube: bool
    quads: bool
    wanted: int
    choices: TextureChoices

    def by_arrays(self) -> list[NDArray[np.uint32]]:
        """The answer of the array code."""
        unit = TextureUnit({0: self.texture}, {0: self.sampler}, self.choices)
        asked = unit.ask(
            self.op, 0, 0, self.sources, offsets=self.offsets, cube=self.cube, quads=self.quads, wanted=self.wanted
        )
        return [a.astype(np.uint32) for a in asked]

    def by_code(self, portable: bool = False) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
        """(the answer of machine code [4, lanes], lanes that it answers)."""
        q = question(
            self.op, len(self.sources), self.offsets, self.cube, self.quads, self.wanted, self.texture, self.sampler,
            self.choices, False,
        )  # fmt: skip
        assert q is not None
        answerer = CompiledTextureUnit(q, self.texture, self.sampler, host(portable))
        return answerer.ask(self.sources)

    def differences(self, portable: bool = False) -> int:
        """Lanes with an answer in which the two differ, in a component that is asked for."""
        expected = self.by_arrays()
        got, answered = self.by_code(portable)
        wrong = [answered & (expected[k] != got[k]) for k in range(4) if self.wanted >> k & 1]
        return int(np.any(wrong, axis=0).sum()) if wrong else 0


def _level(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    made = format_named(name).layout
    sizes = {n for _, n in made.components}
    raw = rng.integers(0, 256, (*shape, made.nbytes), dtype=np.uint8)
    if format_named(name).types[0] == 7 and 32 in sizes:
        values = (rng.standard_normal((*shape, made.nbytes // 4)) * 10.0 ** int(rng.integers(-3, 4))).astype(np.float32)
        if rng.random() < 0.3:
            values.ravel()[rng.integers(0, values.size, 3)] = rng.choice(np.array([*ODD, -0.0], np.float32), 3)
        return values
    if (
        len(sizes) == 1
        and made.kind == "plain"
        and sizes <= {8, 16, 32}
        and len(made.components) * max(sizes) == made.bits
    ):
        dtype = {8: np.uint8, 16: np.uint16, 32: np.uint32}[max(sizes)]
        return raw.view(dtype).reshape(*shape, len(made.components))
    return raw.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[made.nbytes]).reshape(*shape, 1)


def _texture(r: Random, rng: np.random.Generator, target: str, name: str) -> Texture:
    w, h, d = (r.choice([1, 2, 3, 5, 8, 16, 17]) for _ in range(3))
    h = w if target in ("cube", "cube_array") else h
    layers = {"cube": 6, "cube_array": 12}.get(target, d)
    levels = []
    count = r.choice([1, 1, 3, 5]) if target not in ("rect", "buffer") else 1
    for n in range(count):
        x, y, z = max(1, w >> n), max(1, h >> n), max(1, d >> n)
        shape = {
            "1d": (x,), "buffer": (x,), "2d": (y, x), "rect": (y, x), "3d": (z, y, x), "1d_array": (layers, x),
        }.get(target, (layers, y, x))  # fmt: skip
        levels.append(_level(rng, name, shape))
    view = (r.randrange(count), count - 1) if r.random() < 0.3 else None
    return Texture(levels, name, target, view=view)  # type: ignore[arg-type]


def _words(rng: np.random.Generator, low: int, high: int) -> NDArray[np.uint32]:
    return rng.integers(low, high, LANES).astype(np.int32).view(np.uint32)


def _floats(rng: np.random.Generator, low: float, high: float) -> NDArray[np.uint32]:
    return rng.uniform(low, high, LANES).astype(np.float32).view(np.uint32)


def asked(seed: int) -> Asked | None:
    """The question of a seed; None where the instruction would need more than four sources."""
    r, rng = Random(seed), np.random.default_rng(seed)
    target, op, name = r.choice(TARGETS), r.choice(OPERATIONS), r.choice(FORMATS)
    if target == "buffer":
        op = r.choice(["texfetch", "texsize"])
    if op == "texgather" and target in ("1d", "1d_array"):
        target = "2d"
    texture = _texture(r, rng, target, name)
    sampler = Sampler(
        wrap=(r.choice(WRAP_NAMES), r.choice(WRAP_NAMES), r.choice(WRAP_NAMES)),
        mag=r.choice(("nearest", "linear")),
        min=r.choice(("nearest", "linear")),
        mip=r.choice(("none", "nearest", "linear", "linear")),
        lod_bias=r.choice([0, 0, 0.5, -1.3]),
        min_lod=r.choice([0, 0, 0.7]),
        max_lod=r.choice([15, 1.5]),
        border=tuple(rng.uniform(-1, 2, 4).tolist()),  # type: ignore[arg-type]
        compare=r.choice([None, *COMPARE_NAMES]) if name[0] == "d" else None,
    )
    choices = TextureChoices(
        weights=r.choice(("nearest", "truncate")),
        lod_norm=r.choice(("euclid", "max")),
        lod_vectors=r.choice(("header", 2, 4)),
        cube_lod=r.choice(("face", "vector")),
        fetch_outside=r.choice(("zero", "clamp")),
        size_of_cubes=r.choice(("layers", "faces")),
        seamless=r.random() < 0.5,
        query_lod_bits=r.choice((6, 8)),
    )
    cube = target == "cube" or (target == "cube_array" and r.random() < 0.5)
    sources = _sources(r, rng, op, cube, texture, sampler)
    if len(sources) > 4:
        return None
    offsets = (r.randrange(-8, 8), r.randrange(-8, 8), r.randrange(-8, 8)) if r.random() < 0.3 else (0, 0, 0)
    return Asked(op, texture, sampler, sources, offsets, cube, r.random() < 0.6, r.choice([15, 15, 7, 1, 10]), choices)


def _sources(
    r: Random, rng: np.random.Generator, op: str, cube: bool, texture: Texture, sampler: Sampler
) -> list[NDArray[np.uint32]]:
    target, layered = texture.target, texture.layered
    if op == "texsize":
        return [_words(rng, -1, 7)]
    if op == "texfetch":
        out = [_words(rng, -2, 20) for _ in range(texture.axes)]
        out += [_words(rng, -2, 14)] if layered or target == "cube" else []
        return out if target == "buffer" or len(out) > 3 else [*out, _words(rng, -1, 6)]
    size = 1.0 if texture.normalized else float(max(texture.sizes[0]))
    scale = r.choice([0.1, 1.0, 3.0])
    out = []
    for _ in range(3 if cube or op == "texprep" else texture.axes):
        v = (rng.uniform(-0.5, 1.5, LANES) * scale * size).astype(np.float32)
        if r.random() < 0.5:
            v = (np.round(v * 64) / 64).astype(np.float32)
        if r.random() < 0.2:
            v[rng.integers(0, LANES, 4)] = rng.choice(ODD, 4)
        out.append(v.view(np.uint32))
    out += [_words(rng, -1, 14)] if layered else []
    out += [_floats(rng, -0.2, 1.2)] if sampler.compare else []
    return [*out, _floats(rng, -2, 6)] if op in ("texlod", "texbias") else out
