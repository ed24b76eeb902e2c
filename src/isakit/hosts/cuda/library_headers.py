"""The declarations in the headers of cuBLAS, cuFFT and cuRAND, generated from the table of their functions.

`python -m isakit.hosts.cuda.library_headers` writes them; a test compares them with the table.
"""

from __future__ import annotations

import re

from isakit.compile.c.clang import CUDA_HEADERS
from isakit.hosts.cuda.generate import prototype
from isakit.hosts.cuda.table import ApiFunction, functions

_MADE = "/* From here on made from the table of functions by library_headers.py; not to be edited. */\n"
"""The line that ends the handwritten part of a header."""

_NAMES = ("cufft.h", "cublas.h", "cublas_v2.h", "curand.h")
_STATUS = {"cufft.h": "cufftResult", "curand.h": "curandStatus_t"}


def headers() -> dict[str, str]:
    """Return the headers by file name."""
    return {name: _header(name) for name in _NAMES}


def _header(name: str) -> str:
    by_hand, made, _ = (CUDA_HEADERS / name).read_text().partition(_MADE)
    own = [f for f in functions().values() if _belongs(f, name)]
    lines = ["#ifdef __cplusplus", 'extern "C" {', "#endif"]
    lines += [f"{_declared(f, name)};" for f in own]
    lines += ["#ifdef __cplusplus", "}", "#endif"]
    if name == "cublas_v2.h":
        lines += [f"#define {f.name.removesuffix('_v2')} {f.name}" for f in own if f.name.endswith("_v2")]
    return by_hand + made + "\n".join([*lines, "#endif"]) + "\n"


def _belongs(f: ApiFunction, name: str) -> bool:
    if f.interface != name.split(".")[0].split("_")[0]:
        return False
    if f.interface != "cublas":
        return True
    shared = re.match(r"cublas[SG]et(Vector|Matrix)", f.name) is not None
    first = not f.name.endswith("_v2") and (f.kind in ("blas", "refuse") or f.name in _FIRST)
    return shared or (first if name == "cublas.h" else not first)


_FIRST = {"cublasInit", "cublasShutdown", "cublasGetError", "cublasAlloc", "cublasFree", "cublasSetKernelStream"}


def _declared(f: ApiFunction, name: str) -> str:
    """Return the declaration of a function for programs: pointers of any type, a status as its enumeration."""
    text = prototype(f).replace("struct complex32", "cuComplex").replace("struct complex64", "cuDoubleComplex")
    head, _, rest = text.partition("(")
    rest = re.sub(r"(?<!const )void \*(?!\*)(?!handle\b|generator\b|stream\b)", "const void *", rest)
    result, _, called = head.rpartition(" ")
    routine = f.kind == "blas" and not f.name.endswith("_v2")
    if result == "int" and not routine:
        result = _STATUS.get(name, "cublasStatus_t")
    return f"{result} {called}({rest}"


if __name__ == "__main__":
    for _name, _text in headers().items():
        (CUDA_HEADERS / _name).write_text(_text)


__all__ = ["headers"]
