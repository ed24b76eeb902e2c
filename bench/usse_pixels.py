"""A million pixels through a 20-instruction fragment shader, on the reference engine and on the llvm engine.

Run it: `python bench/usse_pixels.py [pixels]`. It prints the processor time of `isakit.usse.run`, inputs and results
included, as a Markdown table. The engines are timed alternately in one process, so that other load affects both alike.
What the shader computes is checked in the tests; here only that both engines give the same bits.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time

import numpy as np

import isakit
from isakit import usse
from isakit.formats import write_gxp
from isakit.formats.gxp import AttributeDescriptor, FragmentVaryings, GxpContainer, GxpFile, GxpParameter

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


def shader() -> bytes:
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


ENGINES = ("reference", "llvm")
RUNS = 9


def main() -> None:
    """Print the table."""
    pixels = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    sh = isakit.load(shader())
    rng = np.random.default_rng(1)
    varyings = {
        "texcoord0": rng.uniform(-1, 1, (pixels, 4)).astype(np.float32),
        "texcoord1": rng.uniform(0, 1, (pixels, 1)).astype(np.float32),
    }
    uniforms = {"light": [0.0, 0.6, 0.8, 0.0], "tint": [0.9, 0.5, 0.2, 1.0], "gamma": 2.2}
    few = {k: v[:64] for k, v in varyings.items()}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ISAKIT_CACHE"] = folder  # nothing compiled before counts
        first = {e: _timed(sh, few, uniforms, e)[0] for e in ENGINES}
        times: dict[str, list[float]] = {e: [] for e in ENGINES}
        for _ in range(RUNS):
            colours: list[bytes] = []
            for e in ENGINES:
                seconds, colour = _timed(sh, varyings, uniforms, e)
                times[e].append(seconds)
                colours.append(colour)
            if colours[0] != colours[1]:
                raise SystemExit("the engines differ")
    print(f"NumPy {np.__version__}, {pixels} pixels, {len(sh.primary)} instructions, one thread, {RUNS} runs each\n")
    print("| engine | first call, 64 pixels | seconds, median | quartiles | M instructions/s |\n|---|---|---|---|---|")
    for e in ENGINES:
        low, middle, high = (sorted(times[e])[RUNS * k // 4] for k in (1, 2, 3))
        rate = pixels * len(sh.primary) / middle / 1e6
        print(f"| {e} | {first[e]:.3f} | {middle:.3f} | {low:.3f} to {high:.3f} | {rate:.0f} |")


def _timed(
    sh: isakit.Module, varyings: dict[str, np.ndarray], uniforms: dict[str, object], engine: str
) -> tuple[float, bytes]:
    """Processor time of a run, and its result."""
    start = time.process_time()
    out = usse.run(sh, varyings=varyings, uniforms=uniforms, engine=engine)
    return time.process_time() - start, out.color.tobytes()


if __name__ == "__main__":
    main()
