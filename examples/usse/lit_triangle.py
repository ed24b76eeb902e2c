"""Draw a textured, lit triangle with a vertex and a fragment shader written in USSE assembly.

    python examples/usse/lit_triangle.py [triangle.png]

The shaders are assembled, packed into GXP files and loaded like any other. Between them stands what the fixed hardware
does: dividing by w, finding the pixels of the triangle, interpolating.
"""

from __future__ import annotations

import struct
import sys
import zlib

import numpy as np

import isakit
from isakit import usse
from isakit.formats import GxpBuilder
from isakit.programs import write

WIDTH, HEIGHT = 320, 240

VERTEX = """
    .gxp vertex
    .attribute position f32x4
    .attribute normal f32x4
    .attribute uv f32x2
    .uniform transform f32x4[4] sa0
    .uniform turn f32x4[3] sa16
    .outputs position texcoord0.xy texcoord1.xyz
    .program primary
    phas wait7 temps 0 addr 0
    vpck.f32.f32 i0.xyzw pa0.xyzw pa2               // position
    vpck.f32.f32 i1.xyzw pa4.xyzw pa6               // normal
    vmov.f32 o4.xy pa8.xyzw                         // texcoord0
    vdp4.f32 o0.x sa0.xyzw i0.xyzw repeat 4         // position: the rows of the matrix one after the other
    vdp3.f32 o6.x sa16.xyz i1.xyz repeat 3          // texcoord1: the turned normal
    emit end
"""

FRAGMENT = """
    phas wait7 temps 0 addr 0
    smp2d.f32 f32 r0 pa{uv} sa{image} drc0              // texel
    vpck.f32.f32 i0.xyz pa{normal}.xyzx pa{z}           // normal
    vdp3.f32 r4.x pa{normal}.xyz i0.xyz                 // its length squared
    vrsq.f32 i1.x r4.x
    vmul.f32 i0.xyz i0.xyzw i1.xxxx
    vdp3.f32 r4.x sa{light}.xyz i0.xyz                  // cosine to the light
    vmax.f32 i1.x r4.xxxx c0.xxxx
    vmul.f32 i2.x i1.xxxx i1.xxxx                       // highlight: cosine to the power of 16
    vmul.f32 i2.x i2.xxxx i2.xxxx
    vmul.f32 i2.x i2.xxxx i2.xxxx
    vmul.f32 i2.x i2.xxxx i2.xxxx
    vmul.f32 i2.x i2.xxxx sa{terms}.yyyy
    vadd.f32 i1.x i1.xxxx sa{terms}.xxxx                // ambient light
    wdf drc0
    vpck.f32.f32 i0.xyzw r0.xyzw r2
    vmul.f32 i0.xyz i0.xyzw i1.xxxx
    vmul.f32 i0.xyz i0.xyzw sa{colour}.xyzw             // colour of the light
    vadd.f32 i0.xyz i0.xyzw i2.xxxx
    vpck.f16.f32 pa0.xyzw i0.xyzw #0x0
"""


def vertex_shader() -> bytes:
    """The vertex shader as a GXP file, from a text alone."""
    return write(isakit.isa("usse").assemble(VERTEX), "gxp")


def fragment_shader() -> bytes:
    """The fragment shader as a GXP file, with registers by name."""
    b = GxpBuilder("fragment")
    light, colour = b.uniform("light"), b.uniform("colour")
    ambient = b.uniform("ambient", components=1)
    b.uniform("shine", components=1)
    image = b.sampler("image", unit=0, state=True)
    uv, normal = b.varying("texcoord0", 2), b.varying("texcoord1", 3)
    b.result("f16", 4)
    code = FRAGMENT.format(light=light, colour=colour, terms=ambient, image=image, uv=uv, normal=normal, z=normal + 2)
    return b.to_bytes(isakit.isa("usse").assemble(code))


def checkerboard(size: int = 64, fields: int = 8) -> np.ndarray:
    """A texture of two colours, uint8 [size, size, 4]."""
    y, x = np.mgrid[:size, :size] * fields // size
    colours = np.array([[40, 110, 200, 255], [250, 235, 190, 255]], np.uint8)
    return colours[(x + y) % 2]


def rasterise(position: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Perspective-correct values [height, width, n] of a triangle and the mask of its pixels."""
    w = position[:, 3]
    x, y = (position[:, 0] / w + 1) * WIDTH / 2, (1 - position[:, 1] / w) * HEIGHT / 2
    py, px = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0])
    edges = [(x[j] - px) * (y[k] - py) - (x[k] - px) * (y[j] - py) for j, k in ((1, 2), (2, 0), (0, 1))]
    weights = np.stack(edges, -1) / area
    inside = (weights >= 0).all(-1)
    depth = weights / w
    return (depth @ values) / depth.sum(-1, keepdims=True), inside


def render() -> np.ndarray:
    """The picture, uint8 [height, width, 4]."""
    vertex, fragment = isakit.load(vertex_shader()), isakit.load(fragment_shader())
    angle = 0.5
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, 0, s, 0], [0, 1, 0, 0], [-s, 0, c, 0]])
    model = np.vstack([turn, [0, 0, 0, 1]])
    move = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, -3.2], [0, 0, 0, 1]])
    f, near, far = 1.7, 0.1, 10.0
    project = np.array(
        [
            [f * HEIGHT / WIDTH, 0, 0, 0],
            [0, f, 0, 0],
            [0, 0, (far + near) / (near - far), 2 * far * near / (near - far)],
            [0, 0, -1, 0],
        ]
    )
    corners = usse.run(
        vertex,
        attributes={
            "position": [[-1.5, -1.2, 0, 1], [1.5, -1.2, 0, 1], [0, 1.4, 0, 1]],
            "normal": [[-0.5, -0.4, 1, 0], [0.5, -0.4, 1, 0], [0, 0.6, 1, 0]],
            "uv": [[0, 1], [1, 1], [0.5, 0]],
        },
        uniforms={"transform": project @ move @ model, "turn": turn},
    )
    values, inside = rasterise(corners.position, np.concatenate([corners.texcoord0, corners.texcoord1], 1))
    light = np.array([0.35, 0.45, 0.82, 0])
    pixels = usse.run(
        fragment,
        varyings={"texcoord0": values[..., :2], "texcoord1": values[..., 2:]},
        uniforms={"light": light, "colour": [1, 0.96, 0.9, 1], "ambient": 0.15, "shine": 0.6},
        textures={"image": usse.Texture(checkerboard(), filter="bilinear", wrap="wrap")},
    )
    background = np.linspace([0.10, 0.12, 0.16, 1], [0.02, 0.02, 0.04, 1], HEIGHT)[:, None]
    picture = np.where(inside[..., None], pixels.color, background)
    return np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)


def write_png(path: str, pixels: np.ndarray) -> None:
    """Write uint8 pixels [height, width, 4] as a PNG file."""
    height, width = pixels.shape[:2]

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    with open(path, "wb") as f:
        f.write(
            b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 6, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 9))
            + chunk(b"IEND", b"")
        )


if __name__ == "__main__":
    write_png(sys.argv[1] if len(sys.argv) > 1 else "triangle.png", render())
