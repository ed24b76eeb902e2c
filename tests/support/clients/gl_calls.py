"""Calls of OpenGL as data: `python gl_calls.py SCENES.json OUT.npz` carries scenes out, each in a context of its own.

A scene is a list of steps, each a function's name without `gl` and its arguments: numbers, or arrays as
`{"f32": [...]}`. Further steps: `program` with sources, `read` with a number of targets, which keeps what is drawn.
OUT holds the pictures of every scene, and the errors of its steps. Needs EGL without a window, and NumPy.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

import numpy as np

SIZE = 64
OBJECTS = 32
"""Objects of each kind that a scene has from the beginning; they are named from 1 on."""
SURFACELESS, OPENGL = 0x31DD, 0x30A2
FLOAT_ARGUMENTS = {
    "BlendColor": "ffff", "ClearColor": "ffff", "ClearDepth": "d", "DepthRange": "dd", "AlphaFunc": "if",
    "PolygonOffset": "ff", "PointSize": "f", "LineWidth": "f", "TexParameterf": "iif", "Uniform4f": "iffff",
    "Uniform1f": "if", "VertexAttrib4f": "iffff",
}  # fmt: skip
"""Letters of the arguments of functions that take other than integers and addresses."""
KINDS = {"f32": np.float32, "f64": np.float64, "u32": np.uint32, "i32": np.int32, "u16": np.uint16, "u8": np.uint8}


class Context:
    """A context without a window, its functions, and its objects."""

    def __init__(self, egl: Any, display: Any) -> None:
        config = ctypes.c_void_p()
        count = ctypes.c_int()
        wanted = (ctypes.c_int * 3)(0x3040, 8, 0x3038)  # what can draw OpenGL
        assert egl.eglChooseConfig(display, wanted, ctypes.byref(config), 1, ctypes.byref(count))
        egl.eglCreateContext.restype = ctypes.c_void_p
        version = (ctypes.c_int * 7)(0x3098, 3, 0x30FB, 3, 0x30FD, 2, 0x3038)  # the compatibility profile of 3.3
        self._egl, self._display = egl, display
        self._made = ctypes.c_void_p(egl.eglCreateContext(display, config, None, version))
        assert self._made, f"no context: {egl.eglGetError():#x}"
        assert egl.eglMakeCurrent(display, None, None, self._made)
        self._found: dict[str, Any] = {}
        self._kept: list[Any] = []
        for kind in ("Textures", "Buffers", "Framebuffers", "Renderbuffers", "VertexArrays", "Queries", "Samplers"):
            self.call(f"Gen{kind}", OBJECTS, {"u32": [0] * OBJECTS})
        self.call("BindVertexArray", 1)

    def close(self) -> None:
        """End it and all it has."""
        self._egl.eglMakeCurrent(self._display, None, None, None)
        self._egl.eglDestroyContext(self._display, self._made)

    def call(self, name: str, *given: Any) -> Any:
        """Call a function."""
        function = self._found.get(name) or self._address(name)
        letters = FLOAT_ARGUMENTS.get(name, "")
        return function(*(self._argument(v, letters[k : k + 1]) for k, v in enumerate(given)))

    def _argument(self, value: Any, letter: str) -> Any:
        if isinstance(value, dict):
            ((kind, numbers),) = value.items()
            self._kept.append(np.array(numbers, KINDS[kind]))
            return ctypes.c_void_p(self._kept[-1].ctypes.data)
        if isinstance(value, np.ndarray):
            return ctypes.c_void_p(value.ctypes.data)
        if value is None:
            return ctypes.c_void_p()
        return {"f": ctypes.c_float, "d": ctypes.c_double}.get(letter, lambda v: ctypes.c_long(int(v)))(value)

    def program(self, vertex: str, fragment: str) -> None:
        """Compile, link and use a program: inputs in0 to in7, outputs out0 to out3, textures texture0 to texture3."""
        made = self.call("CreateProgram")
        for kind, text in ((0x8B31, vertex), (0x8B30, fragment)):
            shader = self.call("CreateShader", kind)
            source = ctypes.c_char_p(text.encode())
            self._address("ShaderSource")(shader, 1, ctypes.byref(source), None)
            self.call("CompileShader", shader)
            self._check(shader, "Shader", 0x8B81, text)
            self.call("AttachShader", made, shader)
        for k in range(8):
            self._address("BindAttribLocation")(made, k, f"in{k}".encode())
        for k in range(4):
            self._address("BindFragDataLocation")(made, k, f"out{k}".encode())
        self.call("LinkProgram", made)
        self._check(made, "Program", 0x8B82, vertex + fragment)
        self.call("UseProgram", made)
        for k in range(4):
            where = self._address("GetUniformLocation")(made, f"texture{k}".encode())
            if ctypes.c_int(where).value >= 0:
                self.call("Uniform1i", where, k)

    def _address(self, name: str) -> Any:
        self._egl.eglGetProcAddress.restype = ctypes.c_void_p
        address = self._egl.eglGetProcAddress(f"gl{name}".encode())
        assert address, f"gl{name} is not there"
        found = self._found[name] = ctypes.CFUNCTYPE(ctypes.c_uint)(address)
        return found

    def _check(self, thing: int, kind: str, what: int, text: str) -> None:
        good = np.zeros(1, np.int32)
        self.call(f"Get{kind}iv", thing, what, good)
        if not good[0]:
            log = np.zeros(2000, np.uint8)
            self.call(f"Get{kind}InfoLog", thing, len(log), None, log)
            raise AssertionError(text + bytes(log).rstrip(b"\0").decode())

    def read(self, targets: list[str], depth: bool, stencil: bool) -> dict[str, np.ndarray[Any, Any]]:
        """What the bound framebuffer holds: colours of each target (f, u or i), depths, stencil indices."""
        out: dict[str, np.ndarray[Any, Any]] = {}
        for k, kind in enumerate(targets):
            number, form = {"f": (0x1406, 0x1908), "u": (0x1405, 0x8D99), "i": (0x1404, 0x8D99)}[kind]
            out[f"color{k}"] = np.zeros((SIZE, SIZE, 4), {"f": np.float32, "u": np.uint32, "i": np.int32}[kind])
            self.call("ReadBuffer", 0x8CE0 + k)
            self.call("ReadPixels", 0, 0, SIZE, SIZE, form, number, out[f"color{k}"])
        if depth:
            out["depth"] = np.zeros((SIZE, SIZE), np.float32)
            self.call("ReadPixels", 0, 0, SIZE, SIZE, 0x1902, 0x1406, out["depth"])
        if stencil:
            out["stencil"] = np.zeros((SIZE, SIZE), np.uint8)
            self.call("ReadPixels", 0, 0, SIZE, SIZE, 0x1901, 0x1401, out["stencil"])
        return out


def main(scenes: str, to: str) -> None:
    """Carry out the scenes of a file."""
    egl = ctypes.CDLL("libEGL.so.1")
    egl.eglGetPlatformDisplay.restype = ctypes.c_void_p
    display = ctypes.c_void_p(egl.eglGetPlatformDisplay(SURFACELESS, None, None))
    assert egl.eglInitialize(display, None, None), "no EGL without a window"
    assert egl.eglBindAPI(OPENGL)
    out: dict[str, np.ndarray[Any, Any]] = {}
    with open(scenes) as f:
        listed = json.load(f)
    for n, steps in enumerate(listed):
        context = Context(egl, display)
        errors = []
        for k, (name, *given) in enumerate(steps):
            if name == "read":
                context.call("Finish")
                out |= {f"{n} {k} {what}": rows for what, rows in context.read(*given).items()}
            elif name == "program":
                context.program(*given)
            else:
                context.call(name, *given)
            if error := context.call("GetError"):
                errors.append((k, error))
        out[f"{n} errors"] = np.array(errors, np.int64).reshape(-1, 2)
        context.close()
    np.savez(to, **out)


if __name__ == "__main__":
    main(*sys.argv[1:])
