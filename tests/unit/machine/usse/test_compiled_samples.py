"""Samples of shaders as machine code give the registers that the arrays give."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from isakit import isa, usse
from isakit.engine.llvm import host
from isakit.machine.usse import DEFAULT, ShaderCode
from isakit.machine.usse.compiled_samples import Samples
from isakit.machine.usse.sampler import Cube, Texture, Volume
from isakit.machine.usse.texture_samples import words_of
from isakit.runtime.usse_engine import advance_of, stretches_for

COUNT = 503
ODD = (np.inf, np.nan, -np.inf)


def texels(r: Random, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    kind = r.choice(["u8", "f16", "f32"])
    if kind == "u8":
        return rng.integers(0, 256, shape).astype(np.uint8)
    out = rng.standard_normal(shape).astype(np.float16 if kind == "f16" else np.float32)
    if r.random() < 0.2:
        out.ravel()[rng.integers(0, out.size, 2)] = np.inf, np.nan
    return out


def asked(seed: int) -> tuple[Texture, list[Any], Any, str]:
    """A texture, coordinates, level and format."""
    r, rng = Random(seed), np.random.default_rng(seed)
    filter, mip = r.choice(["nearest", "bilinear"]), r.choice(["nearest", "linear"])
    wrap = r.choice(["clamp", "wrap", "mirror"])
    levels: Any = range(r.choice([1, 3]))
    coordinates = [(rng.uniform(-2, 3, COUNT) * r.choice([1, 1, 1e6])).astype(np.float32) for _ in range(3)]
    if r.random() < 0.3:
        coordinates[0][:3] = ODD
    if r.random() < 0.3:
        coordinates = [(np.round(x * 8) / 8).astype(np.float32) for x in coordinates]
    lod = rng.uniform(-1, 4, COUNT).astype(r.choice([np.float32, np.float64]))
    kind = seed % 3
    texture: Texture
    if kind == 0:
        images = [texels(Random(seed), rng, (max(1, 9 >> k), max(1, 6 >> k), 4)) for k in levels]
        texture = Texture(images, filter, wrap, mip)  # type: ignore[arg-type]
        coordinates = coordinates[:2]
    elif kind == 1:
        faces = [texels(Random(seed), rng, (6, 8 >> k, 8 >> k, 4)) for k in levels]
        texture = Cube(faces, filter, mip, seamless=r.random() < 0.5)  # type: ignore[arg-type]
    else:
        texture = Volume(texels(r, rng, (5, 4, 3, 4)), filter, wrap)  # type: ignore[arg-type]
    return texture, coordinates, lod if len(texture.levels) > 1 else 0.0, r.choice(["u8", "f16", "f32"])


@pytest.mark.parametrize("seed", range(24))
def test_machine_code_fills_the_registers_that_the_arrays_fill(seed: int) -> None:
    question = asked(seed)
    expected = words_of(*question)
    for word, other in zip(expected, Samples(host()).words_of(*question), strict=True):
        np.testing.assert_array_equal(word, other)


@pytest.mark.slow
@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("seed", range(24, 300))
def test_machine_code_fills_the_same_registers_for_many_questions(seed: int, portable: bool) -> None:
    question = asked(seed)
    for word, other in zip(words_of(*question), Samples(host(portable)).words_of(*question), strict=True):
        np.testing.assert_array_equal(word, other)


def test_few_invocations_are_left_to_the_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Samples, "_function", None)
    texture = Texture(np.ones((2, 2, 4), np.float32))
    here = [np.float32([0.5]), np.float32([0.5])]
    assert Samples(host()).words_of(texture, here, 0.0, "f32")[0].view(np.float32) == 1


def test_a_number_that_is_none_is_0_as_a_byte() -> None:
    texture = Texture(np.full((1, 1, 4), np.nan, np.float32), filter="nearest")
    u = np.zeros(512, np.float32)
    for how in (words_of, Samples(host()).words_of):
        assert not np.any(how(texture, (u, u), 0.0, "u8")[0])


@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_shaders_sample_with_machine_code_on_the_llvm_engine(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    made = Samples.words_of

    def noted(self: Samples, *question: Any) -> Any:
        called.append(engine)
        return made(self, *question)

    monkeypatch.setattr(Samples, "words_of", noted)
    machine = usse.Machine(512, units={0: Texture(np.ones((2, 2, 4), np.float32))})
    code = ShaderCode(isa("usse").assemble("nop"), DEFAULT)
    compiled = stretches_for(engine, code, 512)  # type: ignore[arg-type]
    if compiled is not None:
        advance_of(machine, *compiled)
    u = np.zeros(512, np.float32)
    machine.words_of(machine.units[0], (u, u), 0.0, "f32")
    assert called == (["llvm"] if engine == "llvm" else [])
