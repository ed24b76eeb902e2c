"""CUDA C and OpenCL C, through a clang that is found on this machine and headers of our own."""

from isakit.compile.c.clang import NoCompilerError, compile_c, find_clang

__all__ = ["NoCompilerError", "compile_c", "find_clang"]
