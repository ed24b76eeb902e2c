"""CUDA C through NVRTC, where its wheel (`nvidia-cuda-nvrtc-cu12`) is installed: no GPU and no driver are needed."""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from isakit.errors import CompileError, Diagnostic, IsakitError

OPTIONS = ("--gpu-architecture=compute_50", "-fmad=false", "--generate-line-info", "-default-device")
"""The oldest target NVRTC 12 has; without contraction, since the chips have no fused product of f32."""
_MESSAGE = re.compile(r"^(.*?)\((\d+)\): (?:catastrophic )?error:?(?: #[\w-]+:)? (.*)$")


@cache
def find_nvrtc() -> Path | None:
    """The library of the wheel."""
    spec = importlib.util.find_spec("nvidia") if importlib.util.find_spec("nvidia") else None
    for folder in spec.submodule_search_locations or () if spec else ():
        for library in sorted(Path(folder).glob("cuda_nvrtc/lib/libnvrtc.so.*")):
            if "builtins" not in library.name:
                return library
    return None


def compile_cuda(path: str, text: str, extra: Sequence[str] = ()) -> str:
    """The PTX of a CUDA C text. Raises CompileError with the compiler's messages."""
    library = find_nvrtc()
    if library is None:
        raise IsakitError("NVRTC is not installed; `pip install nvidia-cuda-nvrtc-cu12`")
    nvrtc: Any = ctypes.CDLL(str(library))
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
    program = ctypes.c_void_p()

    def check(code: int) -> None:
        if code:
            raise IsakitError(f"NVRTC: {nvrtc.nvrtcGetErrorString(code).decode()}")

    def output(size: str, get: str) -> str:
        n = ctypes.c_size_t()
        check(getattr(nvrtc, size)(program, ctypes.byref(n)))
        data = ctypes.create_string_buffer(n.value)
        check(getattr(nvrtc, get)(program, data))
        return data.value.decode("utf-8", "replace")

    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), path.encode(), 0, None, None))
    try:
        options = [o.encode() for o in (*OPTIONS, *extra)]
        failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if failed:
            raise CompileError(_messages(output("nvrtcGetProgramLogSize", "nvrtcGetProgramLog"), path, text))
        return output("nvrtcGetPTXSize", "nvrtcGetPTX")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _messages(log: str, path: str, text: str) -> list[Diagnostic]:
    rows = text.splitlines()
    found = [m for m in map(_MESSAGE.match, log.splitlines()) if m]
    out = [Diagnostic(int(m[2]), 1, m[3], rows[int(m[2]) - 1] if 0 < int(m[2]) <= len(rows) else "", path=path)
           for m in found]  # fmt: skip
    return out or [Diagnostic(1, 1, log.strip().splitlines()[0] if log.strip() else "the compiler failed", path=path)]
