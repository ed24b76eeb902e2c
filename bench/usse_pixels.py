"""A million pixels through fragment shaders, on the reference engine and on the llvm engine.

Run it: `python bench/usse_pixels.py [pixels]`. Two shaders: one of 20 instructions that only computes, and one of 60
that samples a texture first. It prints the processor time of `isakit.usse.run`, inputs and results included, as
Markdown tables. The engines are timed alternately in one process, so that other load affects both alike. What the
shaders compute is checked in the tests; here only that both engines give the same bits.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from typing import Any

import numpy as np

import isakit
from isakit import usse
from isakit.formats import write_gxp
from isakit.formats.gxp import AttributeDescriptor, FragmentVaryings, GxpContainer, GxpFile, GxpParameter
from isakit.programs import write

# A lit, tinted pixel: normalise the normal, diffuse and specular light, gamma by log and exp, fog, f16 result.
SOURCE = """
    phas wait7 temps 0 addr 0
    vpck.f32.f32 i0.xyz pa0.xyzx pa2        // normal
    vdp3.f32 r0.x pa0.xyz i0.xyz
    vrsq.f32 i1.x r0.x
    vmul.f32 i0.xyz r0.xyzw i1.xxxx
    vpck.f32.f32 i0.xyz pa0.xyzx pa2
    vmad3.f32 i0.xyz i0.xyz r0.111 i0.000
    vpck.f32.f32 i2.xyz sa0.xyzx sa2        // light
    vdp3.f32 r2.x sa0.xyz i0.xyz
    vmax.f32 r2.x r2.xxxx c0.xxxx
    vmul.f32 r4.x r2.xxxx r2.xxxx
    vmul.f32 r4.x r4.xxxx r4.xxxx           // highlight
    vlog.f32 r6.x pa4.x
    vmul.f32 r6.x r6.xxxx sa8.xxxx
    vexp.f32 r6.x r6.x
    vpck.f16.f32 r8.xyzw sa4.xyzw sa6       // colour
    vmad2.f16 r10.xyzw r8.xyzw r8.xyzw r8.xyzw
    vmul.f16 r10.xyzw r10.xyzw r8.xyzw
    vmad2.f16 pa0.xyzw r10.xyzw r8.xyzw r8.xyzw
    vadd.f16 pa0.xyzw pa0.xyzw r8.xyzw
"""


# What games do per pixel, in 60 instructions: a texel, light from several sides, clamps, a power, a blend.
_ROUND = """
    vmul.f32 i1.xyzw i0.xyzw sa0.xyzw
    vadd.f32 i0.xyzw i1.xyzw sa4.xyzw
    vmad4.f32 i2.xyzw i0.xyzw sa4.xyzw i1.xyzw
    vmax.f32 i1.xyzw i2.xyzw c0.xxxx
    vmin.f32 i0.xyzw i1.xyzw c1.yyyy
    vdp3.f32 r4.x pa2.xyz i0.xyz
    vrsq.f32 r6.x r4.x
    vmul.f32 i0.xyz i0.xyzw r6.xxxx
"""
TEXTURED = (
    """
    .gxp fragment
    .uniform tint f32x4 sa0
    .uniform light f32x4 sa4
    .sampler image f32x4 unit 0
    .texture unit 0 sa8
    .varying texcoord0 f32x2
    .varying texcoord1 f32x3
    .result f16x4
    .program primary
    phas wait7 temps 0 addr 0
    smp2d.f32 f32 r0 pa0 sa8 drc0
    wdf drc0
    vpck.f32.f32 i0.xyzw r0.xyzw r2
"""
    + 6 * _ROUND
    + "\n".join(_ROUND.splitlines()[:8])
    + "\n    vpck.f16.f32 pa0.xyzw i0.xyzw #0x0\n"
)


def computing() -> bytes:
    """The shader as a GXP file."""
    words = isakit.isa("usse").assemble(SOURCE).words
    return write_gxp(GxpFile(
        flags=0x180001, primary_registers=6, secondary_registers=10, temp_registers=12, primary=words,
        buffer_sizes=(0, 0, 0, 0, 0, 10),
        parameters=[GxpParameter("light", 1, 0, 4, 14, 0, 0, 1, 0), GxpParameter("tint", 1, 0, 4, 14, 0, 0, 1, 4),
                    GxpParameter("gamma", 1, 0, 1, 14, 0, 0, 1, 8)],
        containers=[GxpContainer(14, 0, 0, 10)],
        varyings=FragmentVaryings(output_type=1, output_components=4, inputs=(
            AttributeDescriptor(0x00C0000F, 0, 0x30, 0), AttributeDescriptor(0x0000100F, 0, 0x00, 0))),
    ))  # fmt: skip


def textured() -> bytes:
    """The shader with a texture as a GXP file."""
    return write(isakit.isa("usse").assemble(TEXTURED), "gxp")


ENGINES = ("reference", "llvm")
RUNS = 9


def main() -> None:
    """Print the tables."""
    pixels = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rng = np.random.default_rng(1)

    def numbers(low: float, components: int) -> np.ndarray:
        return rng.uniform(low, 1, (pixels, components)).astype(np.float32)

    image = usse.Texture(rng.random((256, 256, 4)).astype(np.float32), filter="bilinear", wrap="wrap")
    measured(
        computing(),
        varyings={"texcoord0": numbers(-1, 4), "texcoord1": numbers(0, 1)},
        uniforms={"light": [0.0, 0.6, 0.8, 0.0], "tint": [0.9, 0.5, 0.2, 1.0], "gamma": 2.2},
    )
    measured(
        textured(),
        varyings={"texcoord0": numbers(0, 2), "texcoord1": numbers(0, 3)},
        uniforms={"tint": [0.9, 0.8, 0.7, 1.0], "light": [0.1, 0.2, 0.3, 0.1]},
        textures={"image": image},
    )


def measured(file: bytes, **given: Any) -> None:
    """Time a shader on both engines and print a table."""
    sh = isakit.load(file)
    few = given | {"varyings": {k: v[:64] for k, v in given["varyings"].items()}}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ISAKIT_CACHE"] = folder  # nothing compiled before counts
        first = {e: _timed(sh, few, e)[0] for e in ENGINES}
        times: dict[str, list[float]] = {e: [] for e in ENGINES}
        for _ in range(RUNS):
            colours: list[bytes] = []
            for e in ENGINES:
                seconds, colour = _timed(sh, given, e)
                times[e].append(seconds)
                colours.append(colour)
            if colours[0] != colours[1]:
                raise SystemExit("the engines differ")
    pixels = len(next(iter(given["varyings"].values())))
    print(f"NumPy {np.__version__}, {pixels} pixels, {len(sh.primary)} instructions, one thread, {RUNS} runs each\n")
    print("| engine | first call, 64 pixels | seconds, median | quartiles | M instructions/s |\n|---|---|---|---|---|")
    for e in ENGINES:
        low, middle, high = (sorted(times[e])[RUNS * k // 4] for k in (1, 2, 3))
        rate = pixels * len(sh.primary) / middle / 1e6
        print(f"| {e} | {first[e]:.3f} | {middle:.3f} | {low:.3f} to {high:.3f} | {rate:.0f} |")
    ratio = sorted(times["reference"])[RUNS // 2] / sorted(times["llvm"])[RUNS // 2]
    print(f"\nThe llvm engine takes 1/{ratio:.1f} of the reference engine's time.\n")


def _timed(sh: isakit.Module, given: dict[str, Any], engine: str) -> tuple[float, bytes]:
    """Processor time of a run, and its result."""
    start = time.process_time()
    out = usse.run(sh, engine=engine, **given)
    return time.process_time() - start, out.color.tobytes()


if __name__ == "__main__":
    main()
