"""The headers of cuBLAS, cuFFT and cuRAND, made from the table of their functions.

`python -m isakit.hosts.cuda.library_headers` writes them; a test compares them with what the table says.
"""

from __future__ import annotations

import re

from isakit.compile.c.clang import CUDA_HEADERS
from isakit.hosts.cuda.generate import prototype
from isakit.hosts.cuda.table import ApiFunction, functions

_BEGIN = {
    "cufft.h": """\
/* cuFFT for programs of the host. Made from the table of its functions by library_headers.py; not to be edited. */
#ifndef _CUFFT_H_
#define _CUFFT_H_
#include "cuComplex.h"
#include "driver_types.h"

#define CUFFT_FORWARD (-1)
#define CUFFT_INVERSE 1
typedef enum cufftResult_t {
    CUFFT_SUCCESS = 0, CUFFT_INVALID_PLAN = 1, CUFFT_ALLOC_FAILED = 2, CUFFT_INVALID_TYPE = 3, CUFFT_INVALID_VALUE = 4,
    CUFFT_INTERNAL_ERROR = 5, CUFFT_EXEC_FAILED = 6, CUFFT_SETUP_FAILED = 7, CUFFT_INVALID_SIZE = 8,
    CUFFT_UNALIGNED_DATA = 9, CUFFT_INCOMPLETE_PARAMETER_LIST = 10, CUFFT_INVALID_DEVICE = 11, CUFFT_PARSE_ERROR = 12,
    CUFFT_NO_WORKSPACE = 13
} cufftResult;
typedef enum cufftType_t {
    CUFFT_C2C = 0x29, CUFFT_R2C = 0x2a, CUFFT_C2R = 0x2c, CUFFT_Z2Z = 0x69, CUFFT_D2Z = 0x6a, CUFFT_Z2D = 0x6c
} cufftType;
typedef enum cufftCompatibility_t {
    CUFFT_COMPATIBILITY_NATIVE = 0, CUFFT_COMPATIBILITY_FFTW_PADDING = 1, CUFFT_COMPATIBILITY_FFTW_ASYMMETRIC = 2,
    CUFFT_COMPATIBILITY_FFTW_ALL = 3
} cufftCompatibility;
#define CUFFT_COMPATIBILITY_DEFAULT CUFFT_COMPATIBILITY_FFTW_PADDING
typedef unsigned int cufftHandle;
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;
""",
    "cublas_api.h": """\
/* cuBLAS: types of both interfaces. Made from the table of its functions by library_headers.py; not to be edited. */
#ifndef CUBLAS_API_H_
#define CUBLAS_API_H_
#include "cuComplex.h"
#include "driver_types.h"

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_ARCH_MISMATCH = 8, CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_INTERNAL_ERROR = 14, CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;
typedef cublasStatus_t cublasStatus;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;
typedef enum { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 } cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;
typedef void *cublasHandle_t;
""",
    "cublas.h": """\
/* cuBLAS, the first interface. Made from the table of its functions by library_headers.py; not to be edited. */
#ifndef CUBLAS_H_
#define CUBLAS_H_
#include "cublas_api.h"
""",
    "cublas_v2.h": """\
/* cuBLAS, the interface with handles. Made from the table of its functions by library_headers.py; not to be edited. */
#ifndef CUBLAS_V2_H_
#define CUBLAS_V2_H_
#include "cublas_api.h"
""",
    "curand.h": """\
/* cuRAND for programs of the host. Made from the table of its functions by library_headers.py; not to be edited. */
#ifndef CURAND_H_
#define CURAND_H_
#include "driver_types.h"

typedef enum curandStatus {
    CURAND_STATUS_SUCCESS = 0, CURAND_STATUS_VERSION_MISMATCH = 100, CURAND_STATUS_NOT_INITIALIZED = 101,
    CURAND_STATUS_ALLOCATION_FAILED = 102, CURAND_STATUS_TYPE_ERROR = 103, CURAND_STATUS_OUT_OF_RANGE = 104,
    CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105, CURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
    CURAND_STATUS_LAUNCH_FAILURE = 201, CURAND_STATUS_PREEXISTING_FAILURE = 202,
    CURAND_STATUS_INITIALIZATION_FAILED = 203, CURAND_STATUS_ARCH_MISMATCH = 204, CURAND_STATUS_INTERNAL_ERROR = 999
} curandStatus_t;
typedef enum curandRngType {
    CURAND_RNG_TEST = 0, CURAND_RNG_PSEUDO_DEFAULT = 100, CURAND_RNG_PSEUDO_XORWOW = 101,
    CURAND_RNG_PSEUDO_MRG32K3A = 121, CURAND_RNG_PSEUDO_MTGP32 = 141, CURAND_RNG_PSEUDO_MT19937 = 142,
    CURAND_RNG_QUASI_DEFAULT = 200, CURAND_RNG_QUASI_SOBOL32 = 201, CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202,
    CURAND_RNG_QUASI_SOBOL64 = 203, CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204
} curandRngType_t;
typedef enum curandOrdering {
    CURAND_ORDERING_PSEUDO_BEST = 100, CURAND_ORDERING_PSEUDO_DEFAULT = 101, CURAND_ORDERING_PSEUDO_SEEDED = 102,
    CURAND_ORDERING_QUASI_DEFAULT = 201
} curandOrdering_t;
typedef enum curandDirectionVectorSet {
    CURAND_DIRECTION_VECTORS_32_JOEKUO6 = 101, CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102,
    CURAND_DIRECTION_VECTORS_64_JOEKUO6 = 103, CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104
} curandDirectionVectorSet_t;
typedef unsigned int curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];
typedef void *curandGenerator_t;
""",
}
_STATUS = {"cufft.h": "cufftResult", "curand.h": "curandStatus_t"}


def headers() -> dict[str, str]:
    """Return the headers by the names of their files."""
    return {name: _header(name) for name in _BEGIN}


def _header(name: str) -> str:
    own = [f for f in functions().values() if _belongs(f, name)]
    lines = [_BEGIN[name], "#ifdef __cplusplus", 'extern "C" {', "#endif"] if own else [_BEGIN[name]]
    lines += [f"{_declared(f, name)};" for f in own]
    lines += ["#ifdef __cplusplus", "}", "#endif"] if own else []
    if name == "cublas_v2.h":
        lines += [f"#define {f.name.removesuffix('_v2')} {f.name}" for f in own if f.name.endswith("_v2")]
    return "\n".join([*lines, "#endif"]) + "\n"


def _belongs(f: ApiFunction, name: str) -> bool:
    if f.interface != name.split(".")[0].split("_")[0] or name == "cublas_api.h":
        return False
    if f.interface != "cublas":
        return True
    shared = re.match(r"cublas[SG]et(Vector|Matrix)", f.name) is not None
    first = not f.name.endswith("_v2") and (f.kind in ("blas", "refuse") or f.name in _FIRST)
    return shared or (first if name == "cublas.h" else not first)


_FIRST = {"cublasInit", "cublasShutdown", "cublasGetError", "cublasAlloc", "cublasFree", "cublasSetKernelStream"}


def _declared(f: ApiFunction, name: str) -> str:
    """Return the declaration of a function as programs need it: addresses of any type, a status as its enumeration."""
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
