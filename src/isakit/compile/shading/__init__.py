"""The shading languages Cg and GLSL: text to the compiler's form."""
