"""Random scenes of OpenGL as data: targets, textures, state of every kind, draws; see `support.clients.gl_calls`.

Corners lie on sixteenths of a pixel, never on a centre, so that every renderer covers the same pixels. There is nothing
in them that makes much of a rounding: no lines, no logical operations, no level of detail from derivatives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random
from typing import Any

SIZE = 64
Step = list[Any]
Unit = list[Step]
"""Steps that a smaller scene has together or not at all."""

COLORS: dict[str, tuple[int, str]] = {
    "RGBA8": (0x8058, "f"), "R8": (0x8229, "f"), "RG8": (0x822B, "f"), "RGB10_A2": (0x8059, "f"),
    "RGBA16": (0x805B, "f"), "SRGB8_ALPHA8": (0x8C43, "f"), "RGBA16F": (0x881A, "f"), "RGBA32F": (0x8814, "f"),
    "R11F_G11F_B10F": (0x8C3A, "f"), "R32F": (0x822E, "f"), "RG16F": (0x822F, "f"), "RG16": (0x822C, "f"),
    "RGBA8UI": (0x8D7C, "u"), "RGBA8I": (0x8D8E, "i"), "RGBA16UI": (0x8D76, "u"), "RGBA32I": (0x8D82, "i"),
    "R32UI": (0x8236, "u"), "RG16I": (0x8239, "i"),
}  # fmt: skip
"""Number of a format, and the kind of its components: as floats, unsigned or signed integers."""
DEPTHS: dict[str, tuple[int, int]] = {
    "DEPTH16": (0x81A5, 0x8D00), "DEPTH24": (0x81A6, 0x8D00), "DEPTH32F": (0x8CAC, 0x8D00),
    "DEPTH24_STENCIL8": (0x88F0, 0x821A), "DEPTH32F_STENCIL8": (0x8CAD, 0x821A),
}  # fmt: skip
"""Number of a format, and the point of a framebuffer where it goes."""
TEXTURES: dict[str, int] = {
    "RGBA8": 0x8058, "RGB8": 0x8051, "R8": 0x8229, "RG8": 0x822B, "RGBA4": 0x8056, "RGB5_A1": 0x8057, "RGB565": 0x8D62,
    "SRGB8_ALPHA8": 0x8C43, "RGBA16": 0x805B, "RGBA16F": 0x881A, "RGBA32F": 0x8814, "RGBA8_SNORM": 0x8F97,
    "RG16_SNORM": 0x8F99, "R11F_G11F_B10F": 0x8C3A, "RGB9_E5": 0x8C3D, "RGB10_A2": 0x8059, "R32F": 0x822E,
    "ALPHA8": 0x803C, "LUMINANCE8": 0x8040, "LUMINANCE8_ALPHA8": 0x8045, "INTENSITY8": 0x804B,
}  # fmt: skip
COMPRESSED: dict[str, tuple[int, int]] = {
    "DXT1": (0x83F1, 8), "DXT3": (0x83F2, 16), "DXT5": (0x83F3, 16), "RGTC1": (0x8DBB, 8), "RGTC1_SIGNED": (0x8DBC, 8),
    "RGTC2": (0x8DBD, 16), "SRGB_DXT5": (0x8C4F, 16),
}  # fmt: skip
"""Number of a format, and bytes of a block."""
KINDS: dict[str, tuple[int, str]] = {
    "1D": (0x0DE0, "sampler1D"), "2D": (0x0DE1, "sampler2D"), "3D": (0x806F, "sampler3D"),
    "RECT": (0x84F5, "sampler2DRect"), "CUBE": (0x8513, "samplerCube"), "1D_ARRAY": (0x8C18, "sampler1DArray"),
    "2D_ARRAY": (0x8C1A, "sampler2DArray"),
}  # fmt: skip
COORDINATES = {
    "1D": "tc.x", "2D": "tc.xy", "3D": "vec3(tc, 0.3 + 0.25 * tc.x)", "RECT": "tc.xy * 9.0",
    "CUBE": "vec3(tc.x - 0.5, tc.y - 0.45, 0.3 - 0.5 * tc.x)", "1D_ARRAY": "vec2(tc.x, 1.0 + tc.y)",
    "2D_ARRAY": "vec3(tc, 1.2 + tc.y)",
}  # fmt: skip
COMPARE = list(range(0x0200, 0x0208))
FACTORS = [0, 1, *range(0x0300, 0x0309), 0x8001, 0x8002, 0x8003, 0x8004]
EQUATIONS = [0x8006, 0x800A, 0x800B, 0x8007, 0x8008]
STENCIL_OPS = [0x1E00, 0, 0x1E01, 0x1E02, 0x1E03, 0x150A, 0x8507, 0x8508]
MODES = {
    "points": 0,
    "triangles": 4,
    "triangle_strip": 5,
    "triangle_fan": 6,
    "quads": 7,
    "quad_strip": 8,
    "polygon": 9,
}  # of lines renderers choose other pixels
WRAPS = [0x2901, 0x812F, 0x8370, 0x812D]


@dataclass
class Scene:
    """The steps of a scene so far, and the random numbers it is made of."""

    r: Random
    steps: list[Step] = field(default_factory=list[Step])
    textures: int = 0

    def call(self, name: str, *given: Any) -> None:
        self.steps.append([name, *given])

    def maybe(self, chance: float) -> bool:
        return self.r.random() < chance

    def enable(self, capability: int, chance: float) -> bool:
        """Enable something with a chance; whether it is."""
        chosen = self.maybe(chance)
        self.call("Enable" if chosen else "Disable", capability)
        return chosen

    def number(self) -> float:
        """A colour's component that eight bits hold exactly."""
        return self.r.randrange(16) / 15

    def color(self) -> list[float]:
        return [self.number() for _ in range(4)]


# --- targets ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Target:
    """What is drawn to: formats of colours, of depth or ""."""

    colors: tuple[str, ...]
    depth: str

    @property
    def kinds(self) -> list[str]:
        return [COLORS[c][1] for c in self.colors]

    @property
    def read(self) -> Step:
        return ["read", self.kinds, bool(self.depth), "STENCIL" in self.depth]


def _target(s: Scene) -> Target:
    names = [s.r.choice(list(COLORS))] if s.maybe(0.7) else s.r.sample([c for c in COLORS if COLORS[c][1] == "f"], 2)
    if s.maybe(0.4):
        names[0] = "RGBA8"
    target = Target(tuple(names), s.r.choice(["", *DEPTHS]))
    s.call("BindFramebuffer", 0x8D40, 1)
    for k, name in enumerate(names):
        number = COLORS[name][0]
        if s.maybe(0.5):
            s.call("BindRenderbuffer", 0x8D41, 1 + k)
            s.call("RenderbufferStorage", 0x8D41, number, SIZE, SIZE)
            s.call("FramebufferRenderbuffer", 0x8D40, 0x8CE0 + k, 0x8D41, 1 + k)
        else:
            layout = (0x1908, 0x1406) if COLORS[name][1] == "f" else (0x8D99, 0x1404)
            s.call("BindTexture", 0x0DE1, 30 + k)
            s.call("TexImage2D", 0x0DE1, 0, number, SIZE, SIZE, 0, *layout, None)
            s.call("TexParameteri", 0x0DE1, 0x2801, 0x2600)
            s.call("TexParameteri", 0x0DE1, 0x813D, 0)
            s.call("FramebufferTexture2D", 0x8D40, 0x8CE0 + k, 0x0DE1, 30 + k, 0)
    if target.depth:
        number, point = DEPTHS[target.depth]
        s.call("BindRenderbuffer", 0x8D41, 4)
        s.call("RenderbufferStorage", 0x8D41, number, SIZE, SIZE)
        s.call("FramebufferRenderbuffer", 0x8D40, point, 0x8D41, 4)
    s.call("DrawBuffers", len(names), {"u32": [0x8CE0 + k for k in range(len(names))]})
    s.call("Viewport", 0, 0, SIZE, SIZE)
    for k, name in enumerate(names):
        kind = COLORS[name][1]
        values = {"f": {"f32": s.color()}, "u": {"u32": [s.r.randrange(200) for _ in range(4)]},
                  "i": {"i32": [s.r.randrange(-90, 90) for _ in range(4)]}}[kind]  # fmt: skip
        s.call({"f": "ClearBufferfv", "u": "ClearBufferuiv", "i": "ClearBufferiv"}[kind], 0x1800, k, values)
    if target.depth:
        s.call("ClearDepth", s.r.choice([1.0, 0.75, 0.5]))
        s.call("ClearStencil", s.r.randrange(256))
        s.call("Clear", 0x100 | 0x400)
    return target


# --- textures ---------------------------------------------------------------------------------------------------------
def _image(s: Scene, kind: str, name: str, level: int, extents: tuple[int, ...]) -> None:
    """Upload random texels."""
    count = 1
    for x in extents:
        count *= x
    targets = [0x8515 + k for k in range(6)] if kind == "CUBE" else [KINDS[kind][0]]
    for target in targets:
        if name in COMPRESSED:
            number, size = COMPRESSED[name]
            blocks = -(-extents[0] // 4) * -(-extents[1] // 4) * (extents[2] if len(extents) > 2 else 1) * size
            texels = {"u8": [s.r.randrange(256) for _ in range(blocks)]}
            s.call(f"CompressedTexImage{len(extents)}D", target, level, number, *extents, 0, blocks, texels)
            continue
        if name in ("RGBA16F", "RGBA32F", "R11F_G11F_B10F", "RGB9_E5", "R32F"):
            data, ty = {"f32": [s.r.randrange(64) / 32 for _ in range(4 * count)]}, 0x1406
        elif "SNORM" in name:
            data, ty = {"i32": [s.r.randrange(-(2**31), 2**31) for _ in range(4 * count)]}, 0x1404
        else:
            data, ty = {"u8": [s.r.randrange(256) for _ in range(4 * count)]}, 0x1401
        s.call(f"TexImage{len(extents)}D", target, level, TEXTURES[name], *extents, 0, 0x1908, ty, data)


def _texture(s: Scene, unit: int) -> tuple[str, float | None]:
    """Make a texture and bind it; its kind, and the level of detail at which it is read, where it has levels."""
    kind = s.r.choice(list(KINDS))
    target = KINDS[kind][0]
    name = s.r.choice(list(TEXTURES))
    if kind in ("2D", "CUBE", "2D_ARRAY") and s.maybe(0.3):
        name = s.r.choice(list(COMPRESSED))
    s.call("ActiveTexture", 0x84C0 + unit)
    s.textures += 1
    s.call("BindTexture", target, s.textures)
    w, h = s.r.choice([1, 2, 5, 8, 9, 16]), s.r.choice([1, 2, 4, 7, 8, 16])
    if kind == "CUBE":
        h = w
    deep = {"1D": (w,), "1D_ARRAY": (w, 3), "3D": (w, h, 4), "2D_ARRAY": (w, h, 3)}.get(kind, (w, h))
    levels = 0
    mips = kind != "RECT" and s.maybe(0.5)
    while True:
        _image(s, kind, name, levels, deep)
        halves = {"1D_ARRAY": 1, "2D_ARRAY": 2}.get(kind, 3)
        if not mips or all(x == 1 for x in deep[:halves]):
            break
        deep = tuple(max(1, x // 2) if k < halves else x for k, x in enumerate(deep))
        levels += 1
    plain = (
        0x2600 if kind == "CUBE" else s.r.choice([0x2600, 0x2601])
    )  # where it is enlarged and where it shrinks is not a matter of rounding then
    s.call(
        "TexParameteri",
        target,
        0x2801,
        s.r.choice([0x2700, 0x2702] if kind == "CUBE" else [0x2700, 0x2701, 0x2702, 0x2703]) if mips else plain,
    )
    s.call("TexParameteri", target, 0x2800, plain)
    wraps = [0x812F, 0x812D] if kind == "RECT" else WRAPS
    for axis in (0x2802, 0x2803, 0x8072):
        s.call("TexParameteri", target, axis, s.r.choice(wraps))
    s.call("TexParameterfv", target, 0x1004, {"f32": s.color()})
    if mips:
        base = s.r.randrange(levels + 1) if s.maybe(0.3) else 0
        s.call("TexParameteri", target, 0x813C, base)
        s.call("TexParameteri", target, 0x813D, s.r.randint(base, levels) if s.maybe(0.3) else 1000)
        if s.maybe(0.3):
            s.call("TexParameterf", target, 0x813A, s.r.choice([0.0, 0.5, 1.0]))
            s.call("TexParameterf", target, 0x813B, s.r.choice([1.0, 1.5, 3.0]))
    if s.maybe(0.3):
        s.call(
            "TexParameteriv", target, 0x8E46, {"i32": [s.r.choice([0, 1, *range(0x1903, 0x1907)]) for _ in range(4)]}
        )
    return kind, s.r.choice([-0.7, 0.2, 0.8, 1.3, 2.2, 7.0]) if mips else None


# --- programs ---------------------------------------------------------------------------------------------------------
def _program(s: Scene, target: Target, textures: list[tuple[str, float | None]]) -> None:
    clips = s.maybe(0.15)
    for k in range(2):
        s.call("Enable" if clips else "Disable", 0x3000 + k)
    qualifier = s.r.choice(["", "", "flat "])
    vertex = [
        "#version 330 compatibility", "in vec4 in0; in vec4 in1; in vec2 in2;",
        f"{qualifier}out vec4 shade; out vec2 tc; out vec4 back;", "void main() {",
        "  gl_Position = in0; shade = in1; tc = in2; back = in1.wzyx;",
        "  gl_PointSize = 1.0 + 6.0 * in1.y;",
        # llvmpipe clips at distances that are written and not enabled
        "  gl_ClipDistance[0] = in1.x - 0.4; gl_ClipDistance[1] = in2.x + 0.2; }" if clips else "}",
    ]  # fmt: skip
    body = s.r.choice([
        "vec4 c = shade;",
        "vec4 c = gl_FrontFacing ? shade : back;",
        "vec4 c = shade; if (fract((gl_FragCoord.x + gl_FragCoord.y) / 4.0) > 0.6) discard;",
        "vec4 c = vec4(fract(gl_FragCoord.xy / 16.0), shade.xy);",
        "vec4 c = vec4(shade.xyz, 0.25 + 0.125 * float(gl_PrimitiveID & 3));",
        "vec4 c = vec4(gl_FragCoord.z, shade.y, gl_FragCoord.w, 1.0);",
        "vec4 c = vec4(gl_PointCoord, shade.xy);" if s.maybe(0.3) else "vec4 c = shade.yxwz;",
        "vec4 c = shade; gl_FragDepth = 0.125 + 0.5 * shade.x;" if s.maybe(0.5) else "vec4 c = 1.0 - shade;",
    ])  # fmt: skip
    lines = ["#version 330 compatibility", f"{qualifier}in vec4 shade; in vec2 tc; in vec4 back;"]
    for k, (kind, level) in enumerate(textures):
        lines.append(f"uniform {KINDS[kind][1]} texture{k};")
        read = f"texture(texture{k}, {COORDINATES[kind]})"
        if level is not None:
            read = f"textureLod(texture{k}, {COORDINATES[kind]}, {level})"
        body += f" c = c * 0.25 + 0.75 * {read};"
    for k, kind in enumerate(target.kinds):
        ty, value = {
            "f": ("vec4", "{}"),
            "u": ("uvec4", "uvec4(max({}, 0.0) * 250.9)"),
            "i": ("ivec4", "ivec4({} * 100.9 - 50.0)"),
        }[kind]
        lines.append(f"out {ty} out{k};")
        body += f" out{k} = {value.format('c' if k == 0 else 'c.wzyx')};"
    s.call("program", "\n".join(vertex), "\n".join([*lines, f"void main() {{ {body} }}"]))


# --- state ------------------------------------------------------------------------------------------------------------
def _state(s: Scene, target: Target) -> None:
    r = s.r
    if s.enable(0x0BE2, 0.4):
        s.call("BlendFuncSeparate", *(r.choice(FACTORS) for _ in range(4)))
        s.call("BlendEquationSeparate", r.choice(EQUATIONS), r.choice(EQUATIONS))
        s.call("BlendColor", *s.color())
    for k in range(len(target.colors)):
        s.call("ColorMaski", k, *(int(s.maybe(0.85)) for _ in range(4)))
    if s.enable(0x0B71, 0.6):
        s.call("DepthFunc", r.choice(COMPARE))
        s.call("DepthMask", int(s.maybe(0.8)))
    s.call("DepthRange", *r.choice([(0.0, 1.0), (0.0, 1.0), (0.25, 0.75), (1.0, 0.0)]))
    if s.enable(0x0B90, 0.4):
        for face in (0x0404, 0x0405):
            s.call("StencilFuncSeparate", face, r.choice(COMPARE), r.randrange(256), r.choice([255, 0x0F, 0xF0]))
            s.call("StencilOpSeparate", face, *(r.choice(STENCIL_OPS) for _ in range(3)))
            s.call("StencilMaskSeparate", face, r.choice([255, 0x3C, 255]))
    if s.enable(0x0B44, 0.3):
        s.call("CullFace", r.choice([0x0404, 0x0405, 0x0405]))
    s.call("FrontFace", r.choice([0x0900, 0x0901]))
    if s.enable(0x0C11, 0.3):
        s.call("Scissor", r.randrange(40), r.randrange(40), r.randrange(1, 60), r.randrange(1, 60))
    if s.enable(0x8037, 0.2):
        s.call("PolygonOffset", r.choice([0.0, 1.0, -2.0]), r.choice([0.0, 4.0, -16.0]))
    if s.enable(0x0BC0, 0.1) and target.kinds[0] == "f":
        s.call("AlphaFunc", r.choice(COMPARE), r.choice([0.3, 0.6]))
    s.enable(0x864F, 0.2)  # depth clamp
    s.call("ProvokingVertex", r.choice([0x8E4D, 0x8E4E]))
    s.enable(0x8DB9, 0.3)  # colours in sRGB
    s.enable(0x8642, 0.5)  # sizes of points by the program
    s.enable(0x884F, 0.5)  # seamless cubes
    if s.maybe(0.3):
        s.call("Viewport", r.randrange(-8, 20), r.randrange(-8, 20), r.choice([32, 64, 128]), r.choice([32, 64]))


# --- draws ------------------------------------------------------------------------------------------------------------
def _on_grid(pixels: float) -> float:
    """Return a coordinate of a viewport of 64 pixels, in sixteenths of a pixel that are never a centre."""
    return (round(pixels * 2) * 8 + 5) / 16 / 32 - 1


def _anywhere(s: Scene, count: int) -> list[list[float]]:
    """Corners in front of the camera and outside, near and far."""
    rows: list[list[float]] = []
    for _ in range(count):
        w = s.r.choice([1.0, 1.0, 1.0, 0.5, 2.0])
        rows.append(
            [_on_grid(s.r.uniform(-8, 72)) * w, _on_grid(s.r.uniform(-8, 72)) * w, s.r.randrange(-9, 10) / 8 * w, w]
        )
    return rows


def _convex(s: Scene, mode: str, count: int) -> list[list[float]]:
    """Corners whose primitives are plane and convex: it does not matter where a renderer cuts these into triangles."""
    x0, y0, size = s.r.uniform(8, 56), s.r.uniform(8, 56), s.r.uniform(4, 40)
    slope_x, slope_y, z0 = s.r.choice([0, 0.3]), s.r.choice([0, -0.2]), s.r.randrange(-4, 5) / 8
    places: list[tuple[float, float]] = []
    if mode == "quad_strip":
        for k in range(count):
            places.append((x0 + size * (k // 2 / count - 0.5), y0 + size * (0.4 if k % 2 else -0.4)))
    else:
        corners = 4 if mode == "quads" else count
        for k in range(count):
            angle = 2 * math.pi * (k % corners) / corners + 0.3
            moved = 9.0 * (k // corners)
            places.append((x0 + moved + size / 2 * math.cos(angle), y0 + size / 2 * math.sin(angle)))
    out: list[list[float]] = []
    for x, y in ((_on_grid(x), _on_grid(y)) for x, y in places):
        out.append([x, y, z0 + slope_x * x + slope_y * y, 1.0])
    return out


def _draw(s: Scene) -> None:
    r = s.r
    mode = r.choice(list(MODES))
    cut = mode in ("quads", "quad_strip", "polygon")
    count = r.choice([4, 8] if cut else [3, 4, 6, 8, 12])
    shade = s.color() if cut or r.random() < 0.3 else None
    rows: list[float] = []
    for corner in _convex(s, mode, count) if cut else _anywhere(s, count):
        place = [r.randrange(-16, 32) / 13, r.randrange(-16, 32) / 13]
        if cut:
            place = [0.2 + 0.7 * corner[0], 0.3 - 0.6 * corner[1]]
        rows += corner + (shade or s.color()) + place
    s.call("BindBuffer", 0x8892, 1)
    s.call("BufferData", 0x8892, 4 * len(rows), {"f32": rows}, 0x88E4)
    for k, (size, at) in enumerate(((4, 0), (4, 16), (2, 32))):
        s.call("VertexAttribPointer", k, size, 0x1406, 0, 40, at)
        s.call("EnableVertexAttribArray", k)
    s.call("VertexAttribDivisor", 1, int(s.maybe(0.15)))
    instances = r.choice([1, 1, 2, 3])
    if not cut and s.maybe(0.4):
        kind, number, bits = r.choice([("u8", 0x1401, 8), ("u16", 0x1403, 16), ("u32", 0x1405, 32)])
        restart = s.enable(0x8F9D, 0.4)
        # No triangle twice: depths of the same one from another corner on differ by roundings.
        indices = r.sample(range(count), r.choice([n for n in (3, 6, 9, 12) if n <= count]))
        if restart:
            s.call("PrimitiveRestartIndex", (1 << bits) - 1)
            indices[r.randrange(len(indices))] = (1 << bits) - 1
        s.call("BindBuffer", 0x8893, 2)
        s.call("BufferData", 0x8893, len(indices) * bits // 8, {kind: indices}, 0x88E4)
        s.call("DrawElementsInstanced", MODES[mode], len(indices), number, 0, instances)
        s.call("Disable", 0x8F9D)
    else:
        s.call("DrawArraysInstanced", MODES[mode], 0, count, instances)


def _units(steps: list[Step]) -> list[Unit]:
    """Return steps with those of a draw together, and those of a program and its textures."""
    out: list[Unit] = []
    begun: Unit | None = None
    for step in steps:
        name = step[0]
        if begun is None and (name in ("ActiveTexture", "program") or step[:2] == ["BindBuffer", 0x8892]):
            begun = []
        if begun is None:
            out.append([step])
            continue
        begun.append(step)
        if name in ("program", "DrawArraysInstanced", "DrawElementsInstanced"):
            out.append(begun)
            begun = None
    return out


def random_scene(seed: int) -> list[Unit]:
    """Return a scene, the last unit of which reads what was drawn."""
    s = Scene(Random(seed))
    target = _target(s)
    for _ in range(s.r.randint(1, 4)):
        textures = [_texture(s, k) for k in range(s.r.choice([0, 0, 1, 1, 2]))]
        _program(s, target, textures)
        _state(s, target)
        for _ in range(s.r.randint(1, 2)):
            _draw(s)
    return [*_units(s.steps), [target.read]]
