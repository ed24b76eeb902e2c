"""Write the scene that stands beside this file: a ring on a floor behind a pane of coloured glass.

    python examples/usse/scene/make_scene.py [FOLDER]

The ring is a stream of vertices as a game keeps it: 16 bytes each, positions as 16-bit fractions, normals as bytes,
texture coordinates as half floats.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

AROUND, ACROSS = 48, 20
"""Vertices of the ring around its axis, and across its tube."""
WIDTH, HEIGHT = 360, 240
RING = np.dtype([("position", "<i2", 4), ("normal", "i1", 4), ("uv", "<f2", 2)])


def ring() -> tuple[np.ndarray, np.ndarray]:
    """Vertices and indices of triangles."""
    a, b = np.meshgrid(np.arange(AROUND + 1), np.arange(ACROSS + 1), indexing="ij")
    around, across = 2 * np.pi * a / AROUND, 2 * np.pi * b / ACROSS
    normal = np.stack([np.cos(around) * np.cos(across), np.sin(across), np.sin(around) * np.cos(across)], -1)
    middle = np.stack([np.cos(around), 0 * around, np.sin(around)], -1)
    vertices = np.zeros(a.size, RING)
    vertices["position"][:, :3] = np.rint((0.7 * middle + 0.28 * normal).reshape(-1, 3) * 32767)
    vertices["normal"][:, :3] = np.rint(normal.reshape(-1, 3) * 127)
    vertices["uv"] = np.stack([8 * a / AROUND, 4 * b / ACROSS], -1).reshape(-1, 2)
    corner = (a * (ACROSS + 1) + b)[:-1, :-1].ravel()
    quads = corner[:, None] + np.array([0, 1, ACROSS + 1, ACROSS + 1, 1, ACROSS + 2])
    return vertices, quads.astype("<u2").ravel()


def matrices() -> tuple[np.ndarray, np.ndarray]:
    """From the room to clip space, and from the ring to clip space."""
    f, near, far = 1.9, 0.5, 12.0
    project = np.array([[f * HEIGHT / WIDTH, 0, 0, 0], [0, f, 0, 0],
                        [0, 0, (far + near) / (near - far), 2 * far * near / (near - far)], [0, 0, -1, 0]])  # fmt: skip
    down, turn = 0.42, 0.5
    look = np.array([[1, 0, 0, 0], [0, np.cos(down), -np.sin(down), -0.15], [0, np.sin(down), np.cos(down), -4.2],
                     [0, 0, 0, 1]])  # fmt: skip
    room = project @ look
    tilt = np.array([[np.cos(turn), -np.sin(turn), 0, 0.1], [np.sin(turn), np.cos(turn), 0, 0.35], [0, 0, 1, 0],
                     [0, 0, 0, 1]])  # fmt: skip
    return room.round(6), (room @ tilt).round(6)


def tiles(size: int, colours: list[list[int]]) -> list[list[list[int]]]:
    """A checkerboard of two colours, [size, size, 4]."""
    return [[colours[(x + y) % 2] for x in range(size)] for y in range(size)]


def scene() -> dict[str, object]:
    """The scene."""
    room, body = (m.tolist() for m in matrices())
    light = [0.36, 0.8, 0.48, 0.22]
    solid = {"sgx543": {"VERT": {"asm": "solid.v.s"}, "FRAG": {"asm": "solid.f.s"}}}
    glass = {"sgx543": {"VERT": {"asm": "glass.v.s"}, "FRAG": {"asm": "glass.f.s"}}}
    stream = {"file": "ring.bin", "stride": RING.itemsize}

    def textured(levels: list[list[list[list[int]]]], repeat: str) -> list[dict[str, object]]:
        return [{"name": "image", "levels": [{"dtype": "u8", "data": level} for level in levels], "mag": "nearest",
                 "min": "nearest", "wrap_s": repeat, "wrap_t": repeat}]  # fmt: skip

    return {
        "format": "isakit-gfx-scene 1", "name": "ring", "width": WIDTH, "height": HEIGHT,
        "clear": [0.07, 0.08, 0.11, 1.0], "target_formats": ["U8U8U8U8_ABGR"], "depth_format": "d24",
        "draws": [
            {"mode": "triangle_strip", "state": {"depth": "less"},
             "attribs": [{"name": "position", "data": [[-4, -0.7, 3], [4, -0.7, 3], [-4, -0.7, -5], [4, -0.7, -5]]},
                         {"name": "normal", "data": [[0, 1, 0]] * 4},
                         {"name": "uv", "data": [[0, 0], [8, 0], [0, 8], [8, 8]]}],
             "uniforms": {"transform": room, "light": light},
             "textures": textured([tiles(2, [[72, 78, 92, 255], [112, 120, 134, 255]])], "repeat"), "code": solid},
            {"mode": "triangles", "state": {"depth": "less"}, "indices": {"file": "ring-indices.bin", "dtype": "u16",
                                                                            "shape": [6 * AROUND * ACROSS]},
             "attribs": [{"name": "position", **stream, "format": "S16N", "components": 3},
                         {"name": "normal", **stream, "format": "S8N", "components": 3, "offset": 8},
                         {"name": "uv", **stream, "format": "F16", "components": 2, "offset": 12}],
             "uniforms": {"transform": body, "light": light},
             "textures": textured([tiles(2, [[214, 120, 52, 255], [236, 214, 170, 255]])], "repeat"), "code": solid},
            {"mode": "triangle_strip", "state": {"depth": "less", "depth_write": False,
                                                  "blend": ["src_alpha", "one_minus_src_alpha"]},
             "attribs": [{"name": "position", "data": [[-0.2, -0.7, 1.1], [1.5, -0.7, 0.5], [-0.2, 1.0, 1.1],
                                                         [1.5, 1.0, 0.5]]},
                         {"name": "color", "format": "U8N", "components": 4, "dtype": "u8",
                          "data": [[40, 120, 255, 150], [40, 220, 200, 120], [90, 60, 255, 150], [120, 200, 255, 90]]}],
             "uniforms": {"transform": room}, "code": glass},
        ],
    }  # fmt: skip


def main(folder: Path) -> None:
    """Write the files."""
    vertices, indices = ring()
    (folder / "ring.bin").write_bytes(vertices.tobytes())
    (folder / "ring-indices.bin").write_bytes(indices.tobytes())
    (folder / "scene.json").write_text(json.dumps(scene(), indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
