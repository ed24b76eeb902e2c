"""The texture unit as machine code answers as the arrays do, whose answers `test_texture_sampling` checks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import isakit
from isakit import MachineFault
from isakit.engine.llvm import host
from isakit.machine.tesla.compiled.launch.host_assist import ServedWarps
from isakit.texture import Sampler, Texture, TextureChoices, TextureUnit
from isakit.texture.compiled_unit import CompiledTextureUnit, question
from isakit.texture.filtering import rounded
from support.generators.texture_questions import LANES, Asked, asked

SEEDS = range(24)
MANY = range(24, 500)


def coordinates(seed: int, low: float, high: float, count: int = 2) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(low, high, LANES).astype(np.float32).view(np.uint32) for _ in range(count)]


def sample(
    texture: Texture, sampler: Sampler, sources: list[np.ndarray], op: str = "texauto", quads: bool = False
) -> Asked:
    return Asked(op, texture, sampler, sources, (0, 0, 0), False, quads, 15, TextureChoices())


@pytest.mark.parametrize("seed", SEEDS)
def test_machine_code_answers_a_random_question_as_the_arrays_do(seed: int) -> None:
    one = asked(seed)
    assert one is None or one.differences() == 0


@pytest.mark.slow
@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("seed", MANY)
def test_machine_code_answers_many_random_questions_as_the_arrays_do(seed: int, portable: bool) -> None:
    one = asked(seed)
    assert one is None or one.differences(portable) == 0


def test_targets_without_avx512_answer_alike() -> None:
    texture = Texture([np.random.default_rng(1).integers(0, 256, (n, n, 4), dtype=np.uint8) for n in (8, 4, 2, 1)])
    sampler = Sampler("repeat", "linear", "linear", "linear")
    one = sample(texture, sampler, [*coordinates(2, -1, 2), *coordinates(3, -1, 4, 1)], "texlod")
    assert one.differences(portable=True) == 0


def test_all_usual_lanes_are_answered() -> None:
    """What is left to the arrays is rare, or all of this would prove nothing."""
    left = total = 0
    for seed in SEEDS:
        one = asked(seed)
        if one is not None and one.op != "texquerylod":
            _, answered = one.by_code()
            left, total = left + int((~answered).sum()), total + LANES
    assert left < 0.1 * total


def test_fractions_of_255_are_the_quotients_rounded() -> None:
    texture = Texture(np.arange(256, dtype=np.uint8).reshape(64, 4)[None])
    numbers = [np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)]
    got, _ = sample(texture, Sampler(), numbers, "texfetch").by_code()
    assert np.array_equal(got.T.ravel().view(np.float32), np.arange(256, dtype=np.float32) / np.float32(255))


def test_a_sum_that_f64_cannot_hold_is_left_to_the_arrays_or_right() -> None:
    """Texels of very different size whose sum lies next to the middle between two results."""
    near = np.float32(1 + 2.0**-23)
    texels = np.array([[near, 2.0**-45], [1, -(2.0**-47)]], np.float32)
    x = (np.arange(LANES, dtype=np.float32) / LANES).view(np.uint32)
    one = sample(Texture(texels[..., None], "r32f"), Sampler("edge", "linear", "linear"), [x, x[::-1].copy()])
    assert one.differences() == 0


def test_an_infinity_beside_the_sample_does_not_spoil_it() -> None:
    texels = np.array([1, 2, np.inf, 4], np.float32)[:, None]
    x = np.full(LANES, 0.375, np.float32).view(np.uint32)  # the middle of texel 1
    got, answered = sample(Texture(texels, "r32f", "1d"), Sampler("edge", "linear", "linear"), [x]).by_code()
    assert answered.all()
    assert (got[0].view(np.float32) == 2).all()


@pytest.mark.parametrize("wrap", ["repeat", "mirror", "edge", "border", "clamp", "mirror_edge"])
@pytest.mark.parametrize("op", ["texauto", "texfetch", "texgather"])
def test_no_coordinate_leads_outside_of_the_texels(op: str, wrap: str) -> None:
    """A texel outside would be one of the guards around them."""
    block = np.full((12, 4), 200, np.uint8)
    block[4:8] = 50
    texture = Texture(block[4:8].reshape(2, 2, 4))
    texture._raw = [block[4:8]]  # a view: what lies around it are the guards
    bits = np.random.default_rng(5).integers(0, 1 << 32, (2, LANES), dtype=np.uint32)
    sampler = Sampler(wrap, "linear", "linear", border=(50 / 255,) * 4)  # type: ignore[arg-type]
    got, _ = sample(texture, sampler, list(bits), op).by_code()  # also lanes that count as not answered were computed
    values = np.round(got[0].view(np.float32) * 255)
    assert set(np.unique(values).tolist()) <= {50.0, 0.0}


def test_textures_that_are_too_long_are_left_to_the_arrays() -> None:
    texture = Texture(np.zeros((1 << 20) + 1, np.uint8), "r8", "buffer")
    assert question("texfetch", 1, (0, 0, 0), False, False, 15, texture, Sampler(), TextureChoices(), False) is None


def test_a_changed_texture_gives_other_answers() -> None:
    memory = np.arange(64, dtype=np.float32)
    texture = Texture.from_memory(lambda: memory.view(np.uint8), "r32f", 64)
    numbers = [np.arange(64, dtype=np.uint32)]
    q = question("texfetch", 1, (0, 0, 0), False, False, 1, texture, Sampler(), TextureChoices(), False)
    assert q is not None
    for factor in (1, 3):
        memory *= factor
        texture.refresh()
        got, _ = CompiledTextureUnit(q, texture, Sampler(), host()).ask(numbers)
        assert np.array_equal(got[0].view(np.float32), np.arange(64) * np.float32(factor))


def test_rounding_of_the_arrays_is_that_of_numpy() -> None:
    rng = np.random.default_rng(9)
    for x in rng.standard_normal(200):
        assert rounded(Fraction(float(x))) == np.float32(x)


ALONG_A_ROW = """
.kernel main
.param out ptr
    cvt u32 $r8 u16 $r0l
    cvt rn f32 $r4 u32 $r8
    mov b32 $r5 0x3d000000
    mul rn f32 $r4 $r4 $r5
    mov b32 $r5 $r4
    texauto all $r4:#:#:# $t0 $s0 $r4:$r5 0x0 0x0 0x0
    shl b32 $r8 $r8 0x2
    add b32 $r8 b32 s[out] $r8
    exit st b32 g14[$r8] $r4
"""


@pytest.mark.parametrize("tier", ["jit", "interp"])
def test_a_kernel_with_textures_runs_on_compiled_code_alone(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = np.random.default_rng(3).integers(0, 256, (16, 16, 4), dtype=np.uint8)
    sampler = Sampler("repeat", "linear", "linear")
    device = isakit.Device("gt200", engine="llvm", tier=tier)
    device.bind_texture(0, Texture(picture), sampler)
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(ALONG_A_ROW))["main"]
    out = np.zeros(64, np.float32)
    x = (np.arange(LANES, dtype=np.float32) / 32).view(np.uint32)
    got, _ = sample(Texture(picture), sampler, [x, x]).by_code()
    kernel[2, 32](out)  # functions are made with the text that is taken away below
    monkeypatch.setattr(TextureUnit, "ask", None)
    monkeypatch.setattr(ServedWarps, "run", None)
    again = np.zeros(64, np.float32)
    kernel[2, 32](again)
    assert np.array_equal(again[:32], got[0, :32].view(np.float32))
    assert np.array_equal(again, out)


INTO_CUBES = """
.kernel main
.param out ptr
    cvt u32 $r8 u16 $r0l
    and b32 $r7 $r8 0x3
    mov b32 $r4 0x3f800000
    mov b32 $r5 0x0
    mov b32 $r6 0x0
    texauto cube all $r4:#:#:# $t0 $s0 $r4:$r5:$r6:$r7
    shl b32 $r8 $r8 0x2
    add b32 $r8 b32 s[out] $r8
    exit st b32 g14[$r8] $r4
"""


@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_a_kernel_samples_the_cube_it_names(engine: str) -> None:
    faces = np.arange(18, dtype=np.float32)[:, None, None] * np.ones((1, 2, 2), np.float32)
    device = isakit.Device("gt215", engine=engine)
    device.bind_texture(0, Texture(faces, target="cube_array"), Sampler())
    out = np.zeros(32, np.float32)
    device.load(isakit.isa("tesla", "gt215").assemble(INTO_CUBES))["main"][1, 32](out)
    assert out[:4].tolist() == [0, 6, 12, 12]


@pytest.mark.parametrize("tier", ["jit", "interp"])
def test_warps_whose_question_is_not_answered_go_on_behind_the_instruction(tier: str) -> None:
    """Coordinates beyond what repeats exactly in compiled code, in one warp of two."""
    picture = np.random.default_rng(3).integers(0, 256, (16, 16, 4), dtype=np.uint8)
    results = []
    for engine in ("reference", "llvm"):
        device = isakit.Device("gt200", engine=engine, tier=tier)
        device.bind_texture(0, Texture(picture), Sampler("repeat"))
        far = ALONG_A_ROW.replace("    mov b32 $r5 $r4\n", "    set $r6 g u32 $r8 $r7\n    and b32 $r6 $r6 0x20000000\n"
                                  "    add b32 $r4 $r4 $r6\n    mov b32 $r5 0x3e99999a\n")  # fmt: skip
        far = far.replace("    cvt rn f32", "    mov b32 $r7 0x1f\n    cvt rn f32")
        out = np.zeros(64, np.float32)
        device.load(isakit.isa("tesla", "gt200").assemble(far))["main"][1, 64](out)
        results.append(out)
    assert np.array_equal(*results)


def test_an_unbound_texture_is_the_same_fault_on_every_engine() -> None:
    said = []
    for engine in ("reference", "llvm"):
        device = isakit.Device("gt200", engine=engine)
        with pytest.raises(MachineFault, match="UNBOUND_TEXTURE") as e:
            device.load(isakit.isa("tesla", "gt200").assemble(ALONG_A_ROW))["main"][1, 32](np.zeros(64, np.float32))
        said.append(str(e.value))
    assert said[0] == said[1]
