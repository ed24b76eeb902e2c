"""Whether GLSL of shaders is valid, as glslang says."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from isakit.decompile import glsl
from isakit.formats import Shader
from support.patience import PATIENCE

NAMES = [
    "main", "gl_Position", "gl_VertexID", "GL_ARB_shading_language_420pack", "__LINE__", "a__b", "a_b", "1st", "", " ",
    "texture", "dot", "vec4", "mat4x3", "sampler2DArrayShadow", "image2D", "uimage2DMSArray", "precise", "half",
    "t0", "t17", "loop0_r0", "was3_pa1", "v_texcoord0", "v_position", "color_out", "f16", "unorm8", "packHalf",
    "texcoord0", "position", "color0", "x\n#error", "x\\", "*/ }", "// \\", "é", "Ünïcode\xff", "x" * 3000, "uint",
    "defined", "true", "this", "unit0", "unit7", "u_main", "u_gl_Position", "discard", "int", "a.b[3]", "a_b_3_",
]  # fmt: skip
"""Names of parameters that mean something else in GLSL, or nothing at all."""
COMPILER = shutil.which("glslangValidator")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs glslangValidator (glslang-tools)")


def rejected(shaders: Sequence[Shader]) -> dict[int, str]:
    """The first error, by the number of the shader, where its GLSL does not compile."""
    return rejected_texts([(s.stage, glsl(s)) for s in shaders])


def rejected_texts(texts: Sequence[tuple[str, str]]) -> dict[int, str]:
    """The same for stages and texts."""
    assert COMPILER is not None
    with TemporaryDirectory() as folder:
        files: dict[str, int] = {}
        for number, (stage, text) in enumerate(texts):
            path = Path(folder) / f"{number}.{stage[:4]}"
            path.write_text(text, encoding="utf-8")
            files[str(path)] = number
        ran = subprocess.run(
            [COMPILER, *files], capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=PATIENCE
        )
    out: dict[int, str] = {}
    at = 0
    for line in ran.stdout.splitlines():
        at = files.get(line, at)
        if line.startswith("ERROR:"):
            out.setdefault(at, line)
    assert ran.returncode == 0 or out, ran.stdout + ran.stderr
    return out


def spirv_of(text: str, stage: str) -> bytes:
    """Return the SPIR-V of a program of Vulkan's GLSL, as glslang makes it. Raises AssertionError with its errors."""
    assert COMPILER is not None
    with TemporaryDirectory() as folder:
        path, made = Path(folder) / f"x.{stage[:4]}", Path(folder) / "x.spv"
        path.write_text(text, encoding="utf-8")
        ran = subprocess.run(
            [COMPILER, "-V", path, "-o", made], capture_output=True, encoding="utf-8", check=False, timeout=60
        )
        assert ran.returncode == 0, ran.stdout
        return made.read_bytes()
