"""SPIR-V as compilers of GLSL and HLSL write it, read into the compiler's form.

`words` splits the file into instructions, `module` collects their declarations, `program` lowers the functions with the
operations that `shading` has for both of its languages. Source: Khronos, "SPIR-V Specification", version 1.6, and
"GLSL.std.450 Extended Instructions".
"""
