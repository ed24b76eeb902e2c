"""Compilers that some tests need besides the project: whether they are here, and marks of tests that skip without."""

from __future__ import annotations

import platform
import shutil
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

from isakit.compile.c import NoCompilerError, find_clang
from isakit.errors import IsakitError
from isakit.hosts.cuda.nvcc.tools import find_tools


@cache
def no_clang() -> str:
    """Return why CUDA C and OpenCL C cannot be compiled here, empty where they can."""
    try:
        find_clang()
    except NoCompilerError as e:
        return str(e)
    return ""


@cache
def no_nvcc() -> str:
    """Return why whole .cu files cannot be built here, empty where they can."""
    try:
        find_tools()
    except IsakitError as e:
        return no_clang() or str(e)
    return no_clang()


@cache
def no_host_math() -> str:
    """Return why the programs of `math_on_host` cannot be built here: they need GCC and a processor with FMA."""
    if platform.machine() != "x86_64" or not shutil.which("g++"):
        return "needs g++ on an x86-64 processor"
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return "" if " avx2 " in flags and " fma " in flags else "the processor has no fused products"


CLANG = [pytest.mark.clang, pytest.mark.skipif(bool(no_clang()), reason=no_clang())]
NVCC = [pytest.mark.clang, pytest.mark.compiler, pytest.mark.skipif(bool(no_nvcc()), reason=no_nvcc())]
"""Marks of all tests of a file or class, by `pytestmark`."""

T = TypeVar("T")


def needs_clang(test: T) -> T:
    """Give a test the marks of `CLANG`."""
    for mark in CLANG:
        test = mark(test)
    return test
