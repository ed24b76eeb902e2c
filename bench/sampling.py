"""Samples of textures per second in fragment programs, beside llvmpipe.

Run it: `python bench/sampling.py [pixels of an edge] [repetitions]`. Both draw the same floor, a textured plane towards
the horizon, with programs that sample 2 and 50 times a pixel and add up; the difference is 48 samples a pixel with four
additions each. Processor time of one thread, the programs in turns, medians. llvmpipe runs through EGL by way of the
package moderngl; where that or Mesa is missing its column is empty.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable

os.environ |= {"LIBGL_ALWAYS_SOFTWARE": "1", "GALLIUM_DRIVER": "llvmpipe", "LP_NUM_THREADS": "0"}

import numpy as np

from isakit.tesla import FragmentShader, Pipeline, Sampler, Texture, VertexShader

FEW, MANY = 2, 50
FILTERS = {"nearest": ("nearest", "none"), "bilinear": ("linear", "none"), "trilinear": ("linear", "linear")}
POSITION = np.array([[-1, -1, 0, 1], [1, -1, 0, 1], [-8, 8, 0, 8], [8, 8, 0, 8]], np.float32)
COORDINATE = np.array([[0, 0], [2, 0], [0, 16], [2, 16]], np.float32)
LEVELS = [np.random.default_rng(n).integers(0, 256, (256 >> n, 256 >> n, 4)).astype(np.uint8) for n in range(9)]
VERTEX = "\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(6)) + "\nexit (never) nop"
GL_VERTEX = """#version 330
in vec4 position; in vec2 coordinate; out vec2 uv;
void main() { gl_Position = position; uv = coordinate; }"""


def fragment(samples: int) -> str:
    """A program for the chip."""
    lines = ["interp $r0 v[0x0]", "rcp f32 $r0 $r0", "interp $r4 v[0x4] $r0", "interp $r5 v[0x8] $r0"]
    lines += [f"mov b32 $r{8 + c} 0x0" for c in range(4)]
    for _ in range(samples):
        lines += [
            "mov b32 $r0 $r4", "mov b32 $r1 $r5", "texauto live $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1 0x0 0x0 0x0",
            *(f"add rn f32 $r{8 + c} $r{8 + c} $r{c}" for c in range(4)),
            "mov b32 $r6 0x3d4ccccd", "add rn f32 $r4 $r4 $r6",
        ]  # fmt: skip
    lines.append("mov b32 $r6 0x3d000000")
    return "\n".join([*lines, *(f"mul rn f32 $r{c} $r{8 + c} $r6" for c in range(4)), "exit nop"])


def ours(size: int, samples: int, name: str) -> Callable[[], np.ndarray]:
    """What draws the floor on the simulator."""
    mag, mip = FILTERS[name]
    bound = {0: (Texture(LEVELS), Sampler("repeat", mag, mag, mip))}  # type: ignore[arg-type]
    vertex, program = (
        VertexShader(VERTEX),
        FragmentShader(fragment(samples), inputs=["w", (4, "perspective"), (5, "perspective")]),
    )

    def draw() -> np.ndarray:
        pipeline = Pipeline(size, size, threads=1, engine="llvm", tier="jit")
        pipeline.draw("triangle_strip", vertex, program, [POSITION, COORDINATE], textures=bound)
        return pipeline.image()

    return draw


def llvmpipe(size: int, samples: int, name: str) -> Callable[[], np.ndarray] | None:
    """What draws it with Mesa; None where it is missing."""
    try:
        import moderngl

        context = moderngl.create_context(standalone=True, backend="egl")
    except Exception as e:
        print(f"(no llvmpipe: {e})", file=sys.stderr)
        return None
    body = "".join("sum += texture(t, c); c.x += 0.05;\n" for _ in range(samples))
    text = f"""#version 330
uniform sampler2D t; in vec2 uv; out vec4 color;
void main() {{ vec2 c = uv; vec4 sum = vec4(0);\n{body} color = sum * 0.03125; }}"""
    program = context.program(GL_VERTEX, text)
    texture = context.texture((256, 256), 4, LEVELS[0].tobytes())
    texture.build_mipmaps()  # room for the levels, which are then written
    for n, level in enumerate(LEVELS[1:], 1):
        texture.write(level.tobytes(), level=n)
    linear, mip = FILTERS[name][0] == "linear", FILTERS[name][1] == "linear"
    far = context.LINEAR_MIPMAP_LINEAR if mip else context.LINEAR if linear else context.NEAREST
    texture.filter = far, context.LINEAR if linear else context.NEAREST
    content = np.concatenate([POSITION, COORDINATE], 1).tobytes()
    array = context.vertex_array(program, [(context.buffer(content), "4f 2f", "position", "coordinate")])
    target = context.simple_framebuffer((size, size))

    def draw() -> np.ndarray:
        with context:
            target.use()
            texture.use(0)
            array.render(moderngl.TRIANGLE_STRIP)
            return np.frombuffer(target.read(components=4), np.uint8).reshape(size, size, 4)

    return draw


def seconds(draw: Callable[[], np.ndarray]) -> float:
    """Processor time of a picture."""
    started = time.process_time()
    draw()
    return time.process_time() - started


def main() -> None:
    """Print the table."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 512
    repeat = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    print("| filter | isakit, M samples/s | llvmpipe | ratio | pixels that differ by more than 2 |")
    print("|---|---|---|---|---|")
    for name in FILTERS:
        rates: list[float | None] = []
        pictures = []
        for make in (ours, llvmpipe):
            draws = [make(size, n, name) for n in (FEW, MANY)]
            if draws[0] is None or draws[1] is None:
                rates.append(None)
                continue
            pictures.append([draw() for draw in draws if draw is not None][1])
            spent = [[seconds(draw) for draw in draws if draw is not None] for _ in range(repeat)]
            few, many = (statistics.median(column) for column in zip(*spent, strict=True))
            covered = int((pictures[-1] != 0).any(axis=2).sum())
            rates.append(covered * (MANY - FEW) / (many - few) / 1e6)
        mine, other = rates
        assert mine is not None
        if other is None:
            print(f"| {name} | {mine:.0f} | | | |")
            continue
        one, two = (p.astype(int) for p in pictures)
        apart = min(float((np.abs(one - p).max(axis=2) > 2).mean()) for p in (two, two[::-1]))
        print(f"| {name} | {mine:.0f} | {other:.0f} | {mine / other:.2f} | {apart:.1%} |", flush=True)


if __name__ == "__main__":
    main()
