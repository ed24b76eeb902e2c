"""Kernels written as Python functions: their source becomes LLVM IR, and LLVM makes PTX of it."""

from isakit.compile.python.llvm import one_text, ptx_of
from isakit.compile.python.translate import function_source, parsed, translate
from isakit.compile.python.types import POINTERS, SCALARS, Pointer, Scalar, parameters
from isakit.compile.python.writer import FunctionSource, source_lines

__all__ = [
    "POINTERS",
    "SCALARS",
    "FunctionSource",
    "Pointer",
    "Scalar",
    "function_source",
    "one_text",
    "parameters",
    "parsed",
    "ptx_of",
    "source_lines",
    "translate",
]
