"""Kernels written as Python functions: their source becomes LLVM IR, and LLVM makes PTX of it."""

from isakit.compile.python.llvm import ptx_of
from isakit.compile.python.texts import compile_text
from isakit.compile.python.translate import function_source, translate
from isakit.compile.python.types import POINTERS, SCALARS, Pointer, Scalar, parameters
from isakit.compile.python.writer import FunctionSource

__all__ = [
    "POINTERS",
    "SCALARS",
    "FunctionSource",
    "Pointer",
    "Scalar",
    "compile_text",
    "function_source",
    "parameters",
    "ptx_of",
    "translate",
]
