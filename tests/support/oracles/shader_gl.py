"""GLSL of shader files, run by the OpenGL of the machine: llvmpipe on one without a graphics card.

An invocation draws a point; a vertex shader's results go on to a fragment shader that writes them.
Needs the package moderngl and an OpenGL with EGL.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np

from isakit import usse
from isakit.debug.compare_shaders import random_inputs
from isakit.decompile import glsl
from isakit.decompile.glsl import Decompiled
from isakit.decompile.interface import DeclaredInput
from isakit.formats import Shader

Array = np.ndarray[Any, Any]
NOT_WRITTEN = -99.0
TARGETS = 8
"""Targets that a fragment shader of OpenGL writes at least."""


@cache
def context() -> Any:
    """An OpenGL 4.2 context without a window. Raises whatever is wrong where there is none."""
    os.environ.setdefault("LIBGL_ALWAYS_SOFTWARE", "1")
    import moderngl

    made = moderngl.create_standalone_context(backend="egl", require=420)
    made.gc_mode = "auto"  # else textures and buffers stay for ever
    return made


@cache
def missing() -> str:
    """Why there is no OpenGL here, or nothing. Found out in another process: a context does not survive a fork."""
    program = "from support.oracles.shader_gl import context; context()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    why = (ran.stderr.strip().splitlines() or ["it crashes"])[-1]
    return f"needs moderngl (pip install moderngl) and an OpenGL 4.2: {why}" if ran.returncode else ""


def _number_type(ty: str) -> tuple[Any, str]:
    return (np.uint32, "u4") if ty.startswith("u") else (np.float32, "f4")


def with_zero_unknown(text: str) -> str:
    """GLSL in which `0.0 - x` subtracts from a uniform that is 0: of the constant llvmpipe makes -x, of +0 a -0."""
    changed = re.sub(r"(?<![\w.])0\.0 - ", "zero_ - ", text)
    return text if changed == text else changed.replace("\n", "\nuniform float zero_;\n", 1)


class Program:
    """A shader with its uniforms and textures bound, as an OpenGL program."""

    def __init__(self, shader: Shader, given: dict[str, Any], count: int) -> None:
        self.gl, self.count, self.given = context(), count, given
        self.text = with_zero_unknown(glsl(shader))
        self.decompiled = Decompiled(shader, exact=True)
        # The place of a pixel is no input of OpenGL's.
        place = "position" if shader.stage == "fragment" else ""
        self.inputs = [g for g in self.decompiled.interface.given if g.kind != "uniform" and g.source != place]

    def bind(self, program: Any) -> list[Any]:
        """Set uniforms and textures; returns what must stay alive."""
        kept: list[Any] = []
        for g in self.decompiled.interface.given:
            if g.kind == "uniform" and g.name in program:
                uniform = program[g.name]
                dtype = np.uint32 if g.ty[0] in "us" else np.float32
                values = np.zeros((max(1, g.array), g.size), np.float64)
                rows = np.asarray(self.given["uniforms"][g.source]).reshape(-1, g.size)
                values[: len(rows)] = rows
                # An array may have lost the elements that are not used.
                used = values.reshape(-1)[: uniform.dimension * uniform.array_length]
                uniform.write((used.astype(np.int64) if dtype == np.uint32 else used).astype(dtype).tobytes())
        for unit, sampler in enumerate(self.decompiled.interface.samplers.values()):
            if sampler.name in program:
                texture = self._texture(self.given["textures"][sampler.source], sampler.kind)
                texture.use(unit)
                program[sampler.name] = unit
                kept.append(texture)
        return kept

    def _texture(self, texture: Any, kind: str) -> Any:
        assert kind in ("", "2D"), f"no texture of kind {kind} here"
        # As f32: OpenGL's bytes are fractions with other last bits.
        texels = np.ascontiguousarray(texture.levels[0], np.float32)
        made = self.gl.texture(texels.shape[1::-1], 4, texels.tobytes(), dtype="f4")
        made.filter = (self.gl.NEAREST, self.gl.NEAREST)
        made.repeat_x = made.repeat_y = False
        return made

    def buffers(self, program: Any, prefix: str, kind: str) -> list[Any]:
        buffers: list[Any] = []
        for g in self.inputs:
            name = prefix + g.name
            if name in program:
                dtype, letter = _number_type("u" if g.ty[0] in "us" else "f")
                rows = _rows(g, self.given[kind][g.source], self.count)
                if dtype == np.uint32 and rows.dtype.kind == "f":
                    rows = np.ascontiguousarray(rows, np.float32).view(np.uint32)
                content = self.gl.buffer(np.ascontiguousarray(rows.astype(dtype)).tobytes())
                buffers.append((content, f"{rows.shape[1]}{letter}", name))
        return buffers


def _rows(g: DeclaredInput, values: Any, count: int) -> Array:
    """An input as [count, components]: missing ones are 0, a missing fourth one 1."""
    values = np.asarray(values)
    rows = np.zeros((count, g.size * max(1, g.array)), values.dtype)
    rows[:, 3:4] = 1 if not g.array else 0
    rows[:, : values.shape[1]] = values[:, : rows.shape[1]]
    return rows


PLACE = """gl_Position = vec4((2.0 * float(gl_VertexID) + 1.0) / float(pixels) - 1.0, 0.0, 0.0, 1.0);
    gl_PointSize = 1.0;
"""
"""Invocation k draws a point on pixel k of a row."""


def draw_points(gl: Any, program: Any, buffers: list[Any], count: int, targets: int) -> list[Array]:
    """A point per invocation: what is written to each target, [count, 4]."""
    program["pixels"] = count
    array = gl.vertex_array(program, buffers)
    textures = [gl.texture((count, 1), 4, dtype="f4") for _ in range(targets)]
    gl.enable(gl.PROGRAM_POINT_SIZE)
    frame = gl.framebuffer(textures)
    frame.use()
    frame.clear(*[NOT_WRITTEN] * 4)
    array.render(gl.POINTS, vertices=count)
    return [np.frombuffer(t.read(), np.float32).reshape(count, 4) for t in textures]


def vertex_results(shader: Shader, given: dict[str, Any], count: int) -> dict[str, Array]:
    """What a vertex shader's GLSL leaves, [count, components] by name of the result."""
    p = Program(shader, given, count)
    outputs = p.decompiled.interface.outputs()
    found: dict[str, Array] = {}
    for first in range(0, len(outputs), TARGETS):
        part = outputs[first : first + TARGETS]
        types = {o.name: "float" if o.size == 1 else f"vec{o.size}" for o in part}
        declared = "".join(f"flat out {ty} captured_{name};\n" for name, ty in types.items())
        copies = "".join(f"    captured_{name} = {_target(name)};\n" for name in types)
        # llvmpipe clips at distances that are written, enabled or not.
        text = p.text.replace("out float gl_ClipDistance", "float clip_distance")
        text = text.replace("gl_ClipDistance", "clip_distance")
        text = text.replace("void main() {", f"uniform int pixels;\n{declared}void main() {{", 1)
        text = text.rstrip().removesuffix("}") + copies + PLACE + "}\n"
        lines = ["#version 420"]
        for k, (name, ty) in enumerate(types.items()):
            lines += [f"flat in {ty} captured_{name};", f"layout(location = {k}) out vec4 color{k};"]
        zeros = {o.name: ", 0.0" * (4 - o.size) for o in part}
        stores = [f"color{k} = vec4(captured_{name}{zeros[name]});" for k, name in enumerate(types)]
        fragment = "\n".join([*lines, "void main() {", *stores, "}"])
        program = p.gl.program(vertex_shader=text, fragment_shader=fragment)
        kept = p.bind(program)
        drawn = draw_points(p.gl, program, p.buffers(program, "", "attributes"), count, len(part))
        found |= {o.name: rows[:, : o.size] for o, rows in zip(part, drawn, strict=True)}
        del kept
    return found


def _target(name: str) -> str:
    if name.startswith("clip"):
        return f"clip_distance[{name[4:]}]"
    return {"position": "gl_Position", "pointsize": "gl_PointSize"}.get(name, f"v_{name}")


def fragment_results(shader: Shader, given: dict[str, Any], count: int) -> tuple[Array, Array]:
    """What a fragment shader's GLSL draws, a pixel per row: colours f32 [count, 4], and where none was written."""
    p = Program(shader, given, count)
    vertex = ["#version 420", "uniform int pixels;"]
    body: list[str] = []
    for g in p.inputs:
        flat = g.ty[0] in "us"
        ty = (f"uvec{g.size}" if g.size > 1 else "uint") if flat else f"vec{g.size}" if g.size > 1 else "float"
        vertex += [f"in {ty} a_{g.name};", f"{'flat ' if flat else ''}out {ty} {g.name};"]
        body.append(f"{g.name} = a_{g.name};")
    text = "\n".join([*vertex, "void main() {", *body, PLACE, "}"])
    program = p.gl.program(vertex_shader=text, fragment_shader=p.text)
    kept = p.bind(program)
    (color,) = draw_points(p.gl, program, p.buffers(program, "a_", "varyings"), count, 1)
    del kept
    return color, (color == NOT_WRITTEN).all(1)


def inputs(shader: Shader, count: int, seed: int) -> dict[str, Any]:
    """Random inputs of moderate size, f16 numbers where they may be f16, with small textures without filters."""
    r = np.random.default_rng(seed)
    given = random_inputs(shader, count=count, seed=seed)
    for kind in ("attributes", "varyings", "uniforms"):
        for name, values in given[kind].items():
            if np.asarray(values).dtype.kind == "f":
                given[kind][name] = r.uniform(-2, 2, np.shape(values)).astype(np.float16).astype(np.float32)
            else:
                given[kind][name] = r.integers(0, 8, np.shape(values))
    for name in given["textures"]:
        texels = r.integers(0, 256, (8, 8, 4)).astype(np.uint8)
        given["textures"][name] = usse.Texture(texels, filter="nearest")
    return given
