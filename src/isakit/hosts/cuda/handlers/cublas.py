"""cuBLAS. Its functions are executed on the host immediately, in the order of the calls."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from isakit.float_bits import bits_of_float, float_of_bits
from isakit.hosts.cuda.codes import LibraryError, invalid
from isakit.hosts.cuda.handler_table import ProtocolError, calling, handler, signed_int
from isakit.hosts.cuda.handlers.streams import known_stream
from isakit.hosts.cuda.libraries import blas
from isakit.hosts.cuda.session import Session
from isakit.hosts.cuda.table import ApiFunction


@dataclass
class BlasContext:
    """A context of cuBLAS: its stream, and whether scalars and results lie in device memory."""

    stream: int = 0
    on_device: int = 0
    atomics: int = 0


@dataclass
class FirstBlas(BlasContext):
    """The context of the interface without handles."""


_LETTERS = {
    "op": {"n": 0, "t": 1, "c": 2},
    "fill": {"l": 0, "u": 1},
    "side": {"l": 0, "r": 1},
    "diag": {"n": 0, "u": 1},
}
_CHOICES = {kind: set(of.values()) for kind, of in _LETTERS.items()}


@handler("cublasInit")
def blas_init(s: Session) -> None:
    if not s.handles.holds(FirstBlas):
        s.handles.add(FirstBlas())


@handler("cublasShutdown")
def blas_shutdown(s: Session) -> None:
    _first(s)
    s.handles.forget((FirstBlas,))


def _first(s: Session) -> FirstBlas:
    found = s.handles.first(FirstBlas)
    if found is None:
        raise LibraryError("CUBLAS_STATUS_NOT_INITIALIZED", "cublasInit was not called")
    return found


@handler("cublasAlloc")
def blas_alloc(s: Session, n: int, size: int) -> int:
    _first(s)
    if n <= 0 or size <= 0:
        raise invalid(f"{n} elements of {size} bytes")
    return s.heap.alloc(n * size)


@handler("cublasFree")
def blas_free(s: Session, address: int) -> None:
    _first(s)
    if address:
        s.heap.free(address)


@handler("cublasSetKernelStream")
def first_stream(s: Session, stream: int) -> None:
    known_stream(s, stream)
    _first(s).stream = stream


@handler("cublasCreate_v2")
def blas_create(s: Session) -> int:
    return s.handles.add(BlasContext())


@handler("blas_destroy")
def blas_destroy(s: Session, call: int, handle: int) -> None:
    s.handles.drop(handle, BlasContext)


@handler("cublasGetVersion_v2")
def blas_version(s: Session, handle: int) -> int:
    s.handles.get(handle, BlasContext)
    major, minor = s.version[0]
    return 1000 * major + 100 * minor


@handler("cublasSetStream_v2")
def blas_set_stream(s: Session, handle: int, stream: int) -> None:
    known_stream(s, stream)
    s.handles.get(handle, BlasContext).stream = stream


@handler("cublasGetStream_v2")
def blas_get_stream(s: Session, handle: int) -> int:
    return s.handles.get(handle, BlasContext).stream


@handler("blas_mode")
def blas_set_mode(s: Session, call: int, handle: int, mode: int) -> None:
    if mode not in (0, 1):
        raise invalid(f"the pointer mode {mode}")
    s.handles.get(handle, BlasContext).on_device = mode


@handler("cublasGetPointerMode_v2")
def blas_get_mode(s: Session, handle: int) -> int:
    return s.handles.get(handle, BlasContext).on_device


@handler("cublasSetAtomicsMode")
def blas_set_atomics(s: Session, handle: int, mode: int) -> None:
    if mode not in (0, 1):
        raise invalid(f"the mode {mode}")
    s.handles.get(handle, BlasContext).atomics = mode


@handler("cublasGetAtomicsMode")
def blas_get_atomics(s: Session, handle: int) -> int:
    return s.handles.get(handle, BlasContext).atomics


@handler("blas")
def blas_routine(s: Session, call: int, handle: int, device: int, packed: bytes) -> tuple[int, int]:
    """Run a routine; return its result as the bits of two doubles, or store it in the device's memory."""
    f = calling(call)
    if not f.routine:
        raise ProtocolError(f"{f.name} is not a routine of cuBLAS")
    known_stream(s, (_first(s) if f.legacy else s.handles.get(handle, BlasContext)).stream)
    numbers = struct.unpack(f"<{len(packed) // 8}Q", packed[: len(packed) // 8 * 8])
    given, result_at = _given(s, f, numbers, bool(device))

    def work() -> blas.Scalar | None:
        try:
            result = blas.run(f.routine, f.element, given, s.array)
        except blas.InvalidOperand as e:
            raise invalid(str(e)) from None
        if result is not None and device:
            kind = next(p for p in f.parameters if p.result).type
            dtype = _dtype(f, kind)
            s.array(result_at, dtype, (1,), (np.dtype(dtype).itemsize,))[0] = result
        return result

    result = complex(s.library(f.name, work) or 0)
    return bits_of_float(result.real, "f64"), bits_of_float(result.imag, "f64")


def _dtype(f: ApiFunction, kind: str) -> type[np.number]:
    return np.int32 if kind == "int" else (blas.ELEMENTS if kind == "scalar" else blas.REALS)[f.element]


def _given(s: Session, f: ApiFunction, numbers: tuple[int, ...], device: bool) -> tuple[dict[str, Any], int]:
    """Return the arguments of a routine by name, and the address of its result. Raises ProtocolError."""
    wanted = [p for p in f.parameters if not p.result]
    if len(numbers) != sum(2 if p.type in ("scalar", "real") else 1 for p in wanted) + 1:
        raise ProtocolError(f"{f.name} with {len(numbers)} numbers")
    rest = iter(numbers)
    given: dict[str, Any] = {}
    for p in wanted:
        number = next(rest)
        if p.type in ("scalar", "real"):
            given[p.name] = _scalar(s, _dtype(f, p.type), number, next(rest), device)
        elif p.type == "ptr":
            given[p.name] = number
        elif p.type == "int":
            given[p.name] = signed_int(number)
        else:
            given[p.name] = _chosen(f, p.type, number)
    return given, next(rest)


def _scalar(s: Session, dtype: Any, real: int, imaginary: int, device: bool) -> blas.Scalar:
    if device:
        return s.array(real, dtype, (1,), (np.dtype(dtype).itemsize,))[0]
    values = float_of_bits(real, "f64"), float_of_bits(imaginary, "f64")
    with np.errstate(over="ignore"):
        return dtype(complex(*values) if np.issubdtype(dtype, np.complexfloating) else values[0])


def _chosen(f: ApiFunction, kind: str, number: int) -> int:
    """Return the meaning of a letter or number that selects how a matrix is used."""
    chosen = _LETTERS[kind].get(chr(number & 0x7F).lower(), -1) if f.legacy else number
    if chosen not in _CHOICES[kind]:
        raise invalid(f"{kind} {number}")
    return chosen
