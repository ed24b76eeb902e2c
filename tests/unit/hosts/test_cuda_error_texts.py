"""What cudaGetErrorString and cuGetErrorString say: NVIDIA's documented texts, each code's own."""

from __future__ import annotations

import ctypes

import pytest

from isakit.hosts.cuda.build import library_folder
from isakit.hosts.cuda.codes import errors
from support.clients import cuda_build

DRIVER = {
    0: "no error",
    1: "invalid argument",
    2: "out of memory",
    3: "initialization error",
    4: "driver shutting down",
    5: "profiler disabled while using external profiling tool",
    100: "no CUDA-capable device is detected",
    101: "invalid device ordinal",
    200: "device kernel image is invalid",
    201: "invalid device context",
    202: "context already current",
    205: "mapping of buffer object failed",
    206: "unmapping of buffer object failed",
    209: "no kernel image is available for execution on the device",
    211: "resource not mapped",
    214: "uncorrectable ECC error encountered",
    216: "exclusive-thread device already in use by a different thread",
    217: "peer access is not supported between these two devices",
    218: "a PTX JIT compilation failed",
    300: "device kernel image is invalid",
    301: "file not found",
    302: "shared object symbol not found",
    304: "OS call failed or operation not supported on this OS",
    400: "invalid resource handle",
    500: "named symbol not found",
    600: "device not ready",
    701: "too many resources requested for launch",
    702: "the launch timed out and was terminated",
    703: "launch uses incompatible texturing mode",
    704: "peer access is already enabled",
    709: "context is destroyed",
    710: "device-side assert triggered",
    713: "pointer does not correspond to a registered memory region",
    715: "an illegal instruction was encountered",
    716: "misaligned address",
    717: "operation not supported on global/shared address space",
    719: "unspecified launch failure",
    801: "operation not supported",
    999: "unknown error",
}
RUNTIME = {
    0: "no error",
    1: "__global__ function call is not configured",
    4: "unspecified launch failure",
    5: "unspecified launch failure in prior launch",
    9: "invalid configuration argument",
    11: "invalid argument",
    13: "invalid device symbol",
    24: "cannot fetch from a texture that is not bound",
    30: "unknown error",
    43: "duplicate global variable looked up by string name",
    49: "incompatible driver context",
    60: "peer mapping resources exhausted",
    71: "operation not supported",
}


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    if not cuda_build.has_compiler():
        pytest.skip("needs `cc` on 64-bit x86 Linux")
    found = ctypes.CDLL(str(library_folder() / "libcuda.so.1"))
    found.cudaGetErrorString.restype = found.cudaGetErrorName.restype = ctypes.c_char_p
    return found


def said(library: ctypes.CDLL, function: str, code: int) -> tuple[int, str | None]:
    text = ctypes.c_char_p()
    status = getattr(library, function)(code, ctypes.byref(text))
    return status, None if text.value is None else text.value.decode()


@pytest.mark.parametrize(("code", "text"), DRIVER.items())
def test_a_code_of_the_driver_has_its_own_text(library: ctypes.CDLL, code: int, text: str) -> None:
    assert said(library, "cuGetErrorString", code) == (0, text)


@pytest.mark.parametrize(("code", "text"), RUNTIME.items())
def test_a_code_of_the_runtime_has_its_own_text(library: ctypes.CDLL, code: int, text: str) -> None:
    assert library.cudaGetErrorString(code).decode() == text


@pytest.mark.parametrize("code", [-1, 20, 44, 12345])
def test_what_is_not_a_code_of_the_driver_has_neither_text_nor_name(library: ctypes.CDLL, code: int) -> None:
    assert said(library, "cuGetErrorString", code) == (1, None)
    assert said(library, "cuGetErrorName", code) == (1, None)
    assert library.cuGetErrorString(0, None) == 1


def test_every_error_of_the_table_answers_with_its_row(library: ctypes.CDLL) -> None:
    for e in errors():
        if e.name:
            assert library.cudaGetErrorName(e.runtime).decode() == e.name
            assert library.cudaGetErrorString(e.runtime).decode() == e.text
        if e.driver_name:
            assert said(library, "cuGetErrorName", e.driver) == (0, e.driver_name)
            assert said(library, "cuGetErrorString", e.driver) == (0, e.text)
    assert library.cudaGetErrorString(-1) == b"unknown error"


def test_a_code_is_named_once_in_each_interface() -> None:
    for named in (
        [e.runtime for e in errors() if e.name],
        [e.driver for e in errors() if e.driver_name],
    ):
        assert len(named) == len(set(named))
    assert {e.driver for e in errors() if e.driver is not None} == {e.driver for e in errors() if e.driver_name}
