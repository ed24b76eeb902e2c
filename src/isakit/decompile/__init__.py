"""Shaders as expressions: each result in terms of inputs, uniforms and texture samples.

A shader is executed symbolically once (`symbolic`) with the traces that every engine runs, so nothing here defines
instructions. The graph of bits that results becomes terms with types (`terms`, `typed`), terms of the components of a
vector are folded (`vectors`), and the whole is printed as a sketch or as GLSL (`glsl`).
"""

from isakit.decompile.glsl import expressions, file_names, glsl

__all__ = ["expressions", "file_names", "glsl"]
