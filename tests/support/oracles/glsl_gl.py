"""Programs of `generators.random_glsl`, run by the OpenGL of the machine, an invocation a point."""

from __future__ import annotations

import numpy as np

from support.generators.random_glsl import UNIFORMS, Array
from support.oracles.shader_gl import NOT_WRITTEN, PLACE, context, draw_points

Given = tuple[dict[str, Array], dict[str, Array], Array]


def std140(uniforms: dict[str, Array]) -> bytes:
    """Lay out the block of uniforms as GLSL's rules for std140 say."""
    out = bytearray()

    def put(values: Array, align: int) -> None:
        out.extend(bytes(-len(out) % align))
        out.extend(values.tobytes())

    for name, (type, length) in UNIFORMS.items():
        values = np.asarray(uniforms[name])
        if length or type.startswith("mat"):
            for row in values.reshape(length or int(type[3]), -1):
                put(row, 16)
            out.extend(bytes(-len(out) % 16))
        else:
            put(values, {1: 4, 2: 8, 3: 16, 4: 16}[values.size])
    return bytes(out) + bytes(-len(out) % 16)


def results(text: str, stage: str, given: Given) -> dict[str, Array]:
    """Run a program: its results by name, and `discard` of a fragment program."""
    gl = context()
    vectors, uniforms, texels = given
    count = len(vectors["c"])
    names = {"c": "vec4", "g": "vec3", "a": "vec2"}
    if stage == "vertex":
        outputs = {"position": "gl_Position", "texcoord0": "result", "texcoord1": "near"}
        declared = "layout(location = 2) flat out vec4 captured; uniform int pixels;\n"
        vertex = text.replace("out vec4", "flat out vec4").replace("void main() {", declared + "void main() {")
        vertex = f"{vertex.rstrip().removesuffix('}')} captured = gl_Position;\n {PLACE} }}"
        body = "result2 = captured; result0 = a0; result1 = a1;"
        fragment = "#version 450\nlayout(location = 2) flat in vec4 captured;\n" + "".join(
            f"layout(location = {k}) flat in vec4 a{k};\n" for k in range(2))  # fmt: skip
        fragment += "".join(f"layout(location = {k}) out vec4 result{k};\n" for k in range(3))
        fragment += f"void main() {{ {body} }}"
        order = ("texcoord0", "texcoord1", "position")
        assert set(order) == set(outputs)
    else:
        vertex = "#version 450\nuniform int pixels;\n" + "".join(
            f"layout(location = {k}) in {type} {name};\nlayout(location = {k}) flat out {type} out_{name};\n"
            for k, (name, type) in enumerate(names.items()))  # fmt: skip
        vertex += "void main() {" + "".join(f" out_{name} = {name};" for name in names) + f" {PLACE} }}"
        fragment = text.replace(") in vec", ") flat in vec")
        order = ("color",)
    program = gl.program(vertex_shader=vertex, fragment_shader=fragment)
    block = gl.buffer(std140(uniforms))
    block.bind_to_uniform_block(1)
    texture = gl.texture(texels.shape[1::-1], 4, np.ascontiguousarray(texels).tobytes(), dtype="f4")
    texture.filter = (gl.NEAREST, gl.NEAREST)
    texture.use(0)
    buffers = [(gl.buffer(np.ascontiguousarray(vectors[n]).tobytes()), f"{vectors[n].shape[1]}f4", n)
               for n in names if n in program]  # fmt: skip
    found = dict(zip(order, draw_points(gl, program, buffers, count, len(order)), strict=True))
    del block, texture
    if stage == "fragment":
        found["discard"] = (found["color"] == NOT_WRITTEN).all(1)
    return found
