"""CUDA C and OpenCL C, through a clang that is found and headers of our own; CUDA C through NVRTC as well."""

from isakit.compile.c.clang import Clang, NoCompilerError, compile_c, find_clang, newest_clang
from isakit.compile.c.nvrtc import compile_cuda, find_nvrtc

__all__ = ["Clang", "NoCompilerError", "compile_c", "compile_cuda", "find_clang", "find_nvrtc", "newest_clang"]
