"""Random draws: states, formats, primitives and numbers, for comparing engines."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
import pytest

from isakit.graphics import compiled_draw
from isakit.graphics.color_formats import FORMATS
from isakit.graphics.draw_state import (
    Blend,
    ClipDistance,
    Compare,
    DrawState,
    Equation,
    Factor,
    GraphicsChoices,
    LogicOp,
    Multisampling,
    PolygonOffset,
    Stencil,
    StencilOp,
)
from isakit.graphics.planes import FragmentInput, PointInput, PositionInput, PrimitiveInput, VaryingInput
from isakit.tesla import FragmentShader, Pipeline, VertexShader

WORDS = 16
"""Outputs of the vertex program: the position and twelve others."""
MODES = ("triangles", "triangle_strip", "triangle_fan", "quads", "lines", "line_strip", "points", "polygon")
VERTEX = "\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(WORDS)) + "\nexit (never) nop"
SPECIAL = (0x7FC0_1234, 0x7F80_0001, 0xFFFF_FFFF, 0x7F80_0000, 0xFF80_0000, 1, 0x8000_0000, 0x3F80_0000, 0x477F_F000)
FOUR = Multisampling(((6, 2), (14, 6), (2, 10), (10, 14)), ((0, 0), (1, 0), (0, 1), (1, 1)), 2, 2)


def watched_draws(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of every draw whose program is compiled from now on: whether all of it was."""
    done: list[bool] = []
    real = compiled_draw.draw

    def draw(*args: Any) -> bool:
        done.append(real(*args))
        return done[-1]

    monkeypatch.setattr(compiled_draw, "draw", draw)
    return done


@dataclass
class RandomDraw:
    """A draw that can be repeated. `raw`: colours are words of any kind, not interpolated."""

    seed: int
    raw: bool = field(init=False)
    formats: tuple[str, ...] = field(init=False)
    depth: Any = field(init=False)
    state: DrawState = field(init=False)
    choices: GraphicsChoices = field(init=False)

    def __post_init__(self) -> None:
        r = self.random = random.Random(self.seed)
        self.raw = r.random() < 0.4
        names = [f.name for f in FORMATS if not f.srgb]
        self.formats = tuple(r.choice(names) for _ in range(r.choice((1, 1, 1, 2))))
        self.depth = r.choice(("d16", "d24", "d24", "d32f", None))
        self.mode = r.choice(MODES[:3] if r.random() < 0.6 else MODES)
        self.size = r.randint(3, 70), r.randint(3, 60)
        self.choices = GraphicsChoices(
            planes=r.choice(("exact", "snapped")), store=r.choice(("even", "up")), fill=r.choice(("lower", "upper")),
            blend=r.choice(("f32", "f64")), discarded=r.choice(("run", "end")),
        )  # fmt: skip
        self.second = r.random() < 0.2 and len(self.formats) == 1
        self.writes_depth = r.random() < 0.2
        self.discards = r.random() < 0.3
        self.state = self._state()
        self.inputs = [self._input(k) for k in range(9)]

    # --- state --------------------------------------------------------------------------------------------------------
    def _one(self, kind: Any) -> Any:
        return self.random.choice(get_args(kind))

    def _blend(self) -> Blend | None:
        r = self.random
        if r.random() < 0.35:
            return None

        def factor() -> Any:
            return self._one(Factor)

        alpha = r.random() < 0.4
        return Blend(factor(), factor(), self._one(Equation), factor() if alpha else None, factor() if alpha else None,
                     self._one(Equation) if alpha else None)  # fmt: skip

    def _stencil(self) -> Stencil:
        r = self.random
        return Stencil(self._one(Compare), r.randrange(256), r.choice((255, r.randrange(256))),
                       r.choice((255, r.randrange(256))), *(self._one(StencilOp) for _ in range(3)))  # fmt: skip

    def _state(self) -> DrawState:
        r = self.random
        w, h = self.size
        some: dict[str, Any] = {
            "depth": r.choice((None, self._one(Compare), "lequal")),
            "depth_write": r.random() < 0.8,
            "cull": r.choice((None, None, "front", "back")),
            "front": r.choice(("ccw", "cw")),
            "blends": tuple(self._blend() for _ in self.formats),
            "blend_constant": tuple(r.uniform(-0.5, 1.5) for _ in range(4)),
            "provoking": r.choice(("first", "last")),
            "pixel_center": r.choice((0.5, 0.5, 0.0)),
            "point_size": r.choice((1.0, 4.5, 9.0)),
            "line_width": r.choice((1.0, 3.0)),
        }
        if r.random() < 0.4:
            some["stencil"] = self._stencil(), self._stencil()
        if r.random() < 0.3:
            some["color_masks"] = tuple(tuple(r.random() < 0.6 for _ in range(4)) for _ in self.formats)
        if r.random() < 0.2:
            some["logic_op"] = self._one(LogicOp)
        if r.random() < 0.2:
            some["alpha_test"] = self._one(Compare), r.choice((0.0, 0.5))
        if r.random() < 0.2:
            some["clamp_fragment"] = tuple(r.random() < 0.5 for _ in self.formats)
        if r.random() < 0.2:
            some["scissor"] = r.randrange(w), r.randrange(h), r.randint(1, w), r.randint(1, h)
        if r.random() < 0.2:
            some["offset"] = PolygonOffset(r.uniform(-2, 2), r.uniform(-8, 8))
        if r.random() < 0.15:
            some["polygon_mode"] = r.choice(("fill", "line")), r.choice(("fill", "point"))
        if r.random() < 0.15:
            some["polygon_stipple"] = tuple(r.getrandbits(32) for _ in range(32))
        if r.random() < 0.2:
            some["clip_distances"] = (ClipDistance(15, r.choice(("clip", "cull"))),)
        if r.random() < 0.1:
            some["clip_rectangles"] = r.random() < 0.5, ((2, 2, w // 2, h // 2),)
        if r.random() < 0.15:
            some["multisampling"] = FOUR
        return DrawState(**some)

    def _input(self, k: int) -> FragmentInput:
        """The colour in four words, the second one in four, the depth."""
        r = self.random
        if k < 8 and r.random() < 0.1:
            return r.choice((PositionInput("x"), PositionInput("z"), PositionInput("w"), PrimitiveInput()))
        if k < 8 and r.random() < 0.1:
            return PointInput(r.choice(("s", "t", "one")), VaryingInput(4 + k))
        mode: Any = "flat" if self.raw and k < 8 else r.choice(("linear", "perspective", "constant"))
        return VaryingInput(4 + k, mode, r.choice((None, None, 5, 0x41)))

    # --- numbers ------------------------------------------------------------------------------------------------------
    def _vertices(self) -> list[np.ndarray]:
        rng = np.random.default_rng(self.seed)
        n = int(rng.choice([3, 12, 40]))
        near = rng.choice([0.3, 1.0, 3.0])
        position = rng.normal(0, near, (n, 4)).astype(np.float32)
        position[:, 3] = rng.uniform(0.5, 2, n) if rng.random() < 0.7 else rng.normal(0.5, 1, n)
        others = rng.uniform(-0.3, 1.3, (n, 12)).astype(np.float32)
        if self.raw:
            bits = others.view(np.uint32)
            odd = rng.random(bits.shape) < 0.3
            bits[odd] = rng.choice(np.array(SPECIAL, np.uint32), int(odd.sum()))
            wild = rng.random(bits.shape) < 0.2
            bits[wild] = rng.integers(0, 1 << 32, int(wild.sum()), dtype=np.uint32)
        others[:, 8] = rng.uniform(-0.2, 1.2, n)
        others[:, 11] = rng.normal(0.5, 1, n)
        return [position, *(np.ascontiguousarray(others[:, 4 * k : 4 * k + 4]) for k in range(3))]

    def _fragment(self) -> FragmentShader:
        lines = ["interp $r9 v[0x0]", "rcp f32 $r9 $r9"]
        lines += [f"interp $r{k} {'flat ' if self.raw else ''}v[{4 * k + 4:#x}]{'' if self.raw else ' $r9'}"
                  for k in range(9)]  # fmt: skip
        if self.discards:
            lines += ["mov b32 $r10 0x3e800000", "set $c0 # l f32 $r8 $r10", "(lg $c0) discard"]
        # Words that no NaN rule of arithmetic has touched.
        shader = FragmentShader(
            "\n".join([*lines, "exit nop"]), inputs=["w", *self.inputs],  # type: ignore[list-item]
            colors=[(0, 1, 2, 3), (4, 5, 6, 7)][: len(self.formats)], depth=8 if self.writes_depth else None,
        )  # fmt: skip
        shader.second = (4, 5, 6, 7) if self.second else None
        return shader

    def drawn(self, engine: str, threads: int = 1) -> list[np.ndarray]:
        """Targets, depth, stencil and counts after two draws, the second one over the first."""
        w, h = self.size
        m = 2 if self.state.multisampling is not None else 1
        pipeline = Pipeline(
            m * w, m * h, targets=self.formats, depth=self.depth, choices=self.choices, threads=threads, engine=engine,
            tier="auto" if engine == "reference" else "interp",
        )  # fmt: skip
        pipeline.make_all = True
        rng = np.random.default_rng(self.seed + 1)
        for t in pipeline.targets:
            noise = rng.integers(0, 256, t.pixels.nbytes, dtype=np.uint8)
            t.pixels[:] = noise.view(t.pixels.dtype).reshape(t.pixels.shape)
            if t.pixels.dtype.kind == "f":
                t.pixels[:] = rng.uniform(-1, 2, t.pixels.shape)
        if pipeline.depth_buffer is not None:
            pipeline.depth_buffer.depth[:] = pipeline.depth_buffer.encoded(
                rng.random(pipeline.depth_buffer.depth.shape).astype(np.float32)
            )
            pipeline.depth_buffer.stencil[:] = rng.integers(0, 256, pipeline.depth_buffer.stencil.shape)
        counts: list[int] = []
        for _ in range(2):
            s = pipeline.draw(self.mode, VertexShader(VERTEX), self._fragment(), self._vertices(), state=self.state)
            counts += [s.triangles, s.quads, s.fragments, s.samples, s.instructions]
        out = [t.pixels for t in pipeline.targets]
        if pipeline.depth_buffer is not None:
            out += [pipeline.depth_buffer.depth, pipeline.depth_buffer.stencil]
        return [*(np.ascontiguousarray(a).view(np.uint8) for a in out), np.array(counts)]
