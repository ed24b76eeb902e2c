"""CUDA C through NVRTC, where its wheel is installed: no GPU, no driver.

The wheel is `nvidia-cuda-nvrtc`, up to CUDA 12 with `-cu12` or `-cu11` after it. Seen to work: NVRTC 11.8, the
oldest target of which is sm_35, 12.9 (sm_50) and 13.5 (sm_75).
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from isakit.errors import CompileError, Diagnostic, IsakitError

OPTIONS = ("-fmad=false", "--generate-line-info", "-default-device")
"""Without contraction, since the chips have no fused product of f32."""
PLACES = ("cuda_nvrtc/lib/libnvrtc.so.*", "cu[0-9]*/lib/libnvrtc.so.*")
"""Where the wheels up to CUDA 12, and those after it, keep the library."""
_MESSAGE = re.compile(r"^(.*?)\((\d+)\): (?:catastrophic )?error:?(?: #[\w-]+:)? (.*)$")


@cache
def find_nvrtc() -> Path | None:
    """The library of the wheel."""
    spec = importlib.util.find_spec("nvidia") if importlib.util.find_spec("nvidia") else None
    for folder in spec.submodule_search_locations or () if spec else ():
        for library in sorted(path for place in PLACES for path in Path(folder).glob(place)):
            if ".so." in library.name and not any(word in library.name for word in ("builtins", "alt")):
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
        options = [o.encode() for o in (f"--gpu-architecture=compute_{_oldest(nvrtc, check)}", *OPTIONS, *extra)]
        failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if failed:
            raise CompileError(_messages(output("nvrtcGetProgramLogSize", "nvrtcGetProgramLog"), path, text))
        return output("nvrtcGetPTXSize", "nvrtcGetPTX")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _oldest(nvrtc: Any, check: Callable[[int], None]) -> int:
    """The oldest architecture the library compiles for: what it has that the chips have not is the least there."""
    n = ctypes.c_int()
    check(nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(n)))
    known = (ctypes.c_int * n.value)()
    check(nvrtc.nvrtcGetSupportedArchs(known))
    return min(known)


def _messages(log: str, path: str, text: str) -> list[Diagnostic]:
    rows = text.splitlines()
    found = [m for m in map(_MESSAGE.match, log.splitlines()) if m]
    out = [Diagnostic(int(m[2]), 1, m[3], rows[int(m[2]) - 1] if 0 < int(m[2]) <= len(rows) else "", path=path)
           for m in found]  # fmt: skip
    return out or [Diagnostic(1, 1, log.strip().splitlines()[0] if log.strip() else "the compiler failed", path=path)]
