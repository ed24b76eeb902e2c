"""Advice on what to write in a kernel in place of features of Python that kernels lack."""

from __future__ import annotations

import ast

from isakit.errors import did_you_mean

_ARRAY = "an array of a kernel is `x = cuda.local.array(4, np.float32)`, filled by its elements"
_LOOP = "write a loop: `for i in range(n):`"
_OUTSIDE = "write it above the kernel, which calls what it finds there"
_NODES = {
    "List": _ARRAY, "Dict": "keep the values in an array, and number them", "Set": _ARRAY, "ListComp": _LOOP,
    "SetComp": _LOOP, "DictComp": _LOOP, "GeneratorExp": _LOOP, "Lambda": "use `def`, above the kernel",
    "FunctionDef": _OUTSIDE, "ClassDef": _OUTSIDE, "Import": _OUTSIDE, "ImportFrom": _OUTSIDE,
    "Try": "kernels have no exceptions: ask with `if` before, or end the kernel with `assert`",
    "Raise": "`assert condition, 'text'` ends a kernel with a message",
    "With": "kernels have nothing to open or close", "Global": "results leave a kernel in the elements of arrays",
    "Nonlocal": "results leave a kernel in the elements of arrays", "Delete": "variables end with their kernel",
    "Yield": "results leave a kernel in the elements of arrays", "Starred": "write each value out",
}  # fmt: skip
_CALLS = {
    **dict.fromkeys(("sum", "mean", "dot", "prod", "cumsum"), "add up in a loop: `for i in range(n):`"),
    **dict.fromkeys(("zeros", "ones", "empty", "array", "full", "zeros_like", "list", "arange"), _ARRAY),
    **dict.fromkeys(("append", "extend", "insert"), "arrays keep their size; count with "
                    "`i = cuda.atomic.add(counter, 0, 1)` and assign to element `i`"),
    **dict.fromkeys(("random", "rand", "randint", "randn", "uniform"), "pass an array of random numbers"),
    **dict.fromkeys(("sort", "sorted", "argsort"), "sort before or after the kernel, or write the sort out"),
    **dict.fromkeys(("enumerate", "zip", "map", "filter"), _LOOP),
    "input": "pass it as an argument", "open": "pass the data as an array",
}  # fmt: skip
KNOWN = (
    "cuda.syncthreads", "cuda.grid", "cuda.gridsize", "cuda.threadfence", "cuda.atomic.add", "cuda.atomic.max",
    "cuda.atomic.min", "cuda.atomic.cas", "cuda.atomic.exch", "cuda.shared.array", "cuda.local.array",
    "cuda.syncthreads_count", "cuda.threadIdx.x", "cuda.threadIdx.y", "cuda.threadIdx.z", "cuda.blockIdx.x",
    "cuda.blockIdx.y", "cuda.blockDim.x", "cuda.blockDim.y", "cuda.blockDim.z", "cuda.gridDim.x", "cuda.gridDim.y",
    "math.sqrt", "math.exp", "math.log", "math.sin", "math.cos", "math.tan", "math.pow", "math.floor", "math.ceil",
    "math.fabs", "math.atan2",
)  # fmt: skip
"""Names that are written in kernels most, in numba's spelling."""


def instead(node: ast.AST) -> tuple[str, ...]:
    """Return advice for a statement or an expression that kernels do not support."""
    note = _NODES.get(type(node).__name__)
    return (note,) if note else ()


def for_call(shown: str) -> tuple[str, ...]:
    """Return advice for a function that kernels do not support."""
    note = _CALLS.get(shown.rpartition(".")[2])
    return (note,) if note else for_name(shown, ())


def for_name(shown: str, own: tuple[str, ...]) -> tuple[str, ...]:
    """Return which names an unknown one may stand for, those of the kernel's `own` variables among them."""
    return did_you_mean(shown, (*own, *KNOWN))
