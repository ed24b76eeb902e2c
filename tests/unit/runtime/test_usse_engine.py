"""Which engine runs a shader."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import isakit
from isakit import usse
from isakit.engine.llvm.fingerprint import fingerprint
from isakit.errors import LaunchError, NotModelled
from isakit.formats import write_gxp
from isakit.formats.gxp import FragmentVaryings, GxpFile
from isakit.machine.usse import compiled_shader as stretches
from isakit.runtime import engine_choice, usse_engine
from isakit.runtime.engine_choice import FallbackWarning

F32 = 0


def shader(text: str = "vmul.f32 pa0.xy o0.xyzw o0.xyzw\np0 vadd.f32 pa2.xy pa0.xyzw o2.xyzw") -> isakit.Module:
    words = isakit.isa("usse").assemble(text).words
    varyings = FragmentVaryings(output_type=F32, output_components=4)
    return isakit.load(write_gxp(GxpFile(flags=1, primary=words, varyings=varyings)))


def colours(count: int) -> np.ndarray:
    return np.random.default_rng(2).uniform(-1, 1, (count, 4)).astype(np.float32)


@pytest.fixture
def compilations(monkeypatch, tmp_path):
    """Lists what is compiled; nothing is known at the start."""
    made: list[str] = []
    object_code = stretches.object_code

    def counted(text, target, **options):
        made.append(text)
        return object_code(text, target, **options)

    monkeypatch.setenv("ISAKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(stretches, "object_code", counted)
    monkeypatch.setattr(stretches, "_known", {})
    return made


def test_engines_give_the_same_bits(compilations):
    sh, target = shader(), colours(1003)
    one = usse.run(sh, target=target, engine="reference")
    assert not compilations
    other = usse.run(sh, target=target, engine="llvm")
    assert len(compilations) == 1
    assert (one.color.view(np.uint32) == other.color.view(np.uint32)).all()
    assert (one.instructions, one.notes) == (other.instructions, other.notes) == (1, ())


def test_compiled_code_is_kept_in_memory_and_on_disk(compilations, monkeypatch):
    sh, target = shader(), colours(64)
    for _ in range(3):
        usse.run(sh, target=target, engine="llvm")
    assert len(compilations) == 1
    monkeypatch.setattr(stretches, "_known", {})
    usse.run(sh, target=target, engine="llvm")
    assert len(compilations) == 1
    monkeypatch.setenv("ISAKIT_CACHE", "off")
    monkeypatch.setattr(stretches, "_known", {})
    usse.run(sh, target=target, engine="llvm")
    assert len(compilations) == 2


def test_auto_compiles_when_it_pays(compilations, monkeypatch):
    monkeypatch.setattr(usse_engine, "FEW", 8)
    monkeypatch.setattr(usse_engine, "WORTH", 100)
    sh = shader()
    usse.run(sh, target=colours(7))
    usse.run(sh, target=colours(64))
    assert not compilations
    usse.run(sh, target=colours(64))
    assert len(compilations) == 1


def test_without_a_compiler(monkeypatch):
    monkeypatch.setattr(usse_engine, "unusable", lambda: "no llvmlite")
    monkeypatch.setattr(engine_choice, "_told", set())
    sh = shader()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        usse.run(sh, target=colours(4))  # small: nobody would have compiled it
    with pytest.warns(FallbackWarning, match="no llvmlite") as seen:
        out = usse.run(sh, target=colours(usse_engine.FEW))
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert out.instructions == 1
    with pytest.raises(NotModelled, match="no llvmlite"):
        usse.run(sh, target=colours(4), engine="llvm")


def test_wrong_names():
    with pytest.raises(LaunchError, match="no engine"):
        usse.run(shader(), engine="fast")  # type: ignore[arg-type]


def test_what_the_code_was_made_from():
    assert fingerprint("usse") != fingerprint("tesla")


@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_every_part_of_a_big_run_begins_with_clear_registers(engine: str) -> None:
    from isakit.programs import write
    from isakit.runtime.usse import CHUNK

    text = """
.gxp fragment
.varying texcoord0 f32x2
.result f32x2
.program primary
    p0 vadd.f32 pa0.xy pa0.xyzw c1.yyyy
    vadd.f32 r0.xy r0.xyzw pa0.xyzw
    vtst.sub.f32 ge p0.x pa0 pa0.xxxx
    vmov.f32 pa0.xy r0.xyzw
"""
    shader = isakit.load(write(isakit.isa("usse").assemble(text), "gxp"))
    values = np.arange(4 * CHUNK + 14, dtype=np.float32).reshape(-1, 2)
    out = usse.run(shader, varyings={"texcoord0": values}, engine=engine)
    np.testing.assert_array_equal(out.color, values)
