"""Finding a clang and running it."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from isakit.compile.c.nvrtc import compile_cuda, find_nvrtc
from isakit.errors import CompileError, Diagnostic, IsakitError

HEADERS = Path(__file__).parent / "headers"
OLDEST, NEWEST = 11, 30
SECONDS = 120
_MESSAGE = re.compile(r"^(.*?):(\d+):(\d+): (?:fatal )?error: (.*)$")

COMMON = ("-O2", "-ffp-contract=off", "-S", "-o", "-")
CUDA = ("-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_20", "-fdeclspec",
        "-Wno-unknown-cuda-version", "-Xclang", "-target-feature", "-Xclang", "+ptx60",
        "-gline-directives-only")  # fmt: skip
OPENCL = ("-x", "cl", "--target=nvptx64-nvidia-nvcl", "-Xclang", "-target-cpu", "-Xclang", "sm_20", "-cl-std=CL1.2",
          "-gline-directives-only")  # fmt: skip


class NoCompilerError(IsakitError):
    """No compiler for a language was found; the message says what to install."""


@cache
def find_clang() -> tuple[str, ...]:
    """The command that runs a clang with the NVPTX target. Raises NoCompilerError."""
    names = ["clang", *(f"clang-{n}" for n in range(NEWEST, OLDEST - 1, -1))]
    for name in names:
        path = shutil.which(name)
        if path and _targets((path,)):
            return (path,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "clang")
    raise NoCompilerError(
        "no clang with the NVPTX target was found; install clang (`apt install clang`) or the ziglang wheel; "
        "for CUDA C the nvidia-cuda-nvrtc-cu12 wheel will do as well"
    )


def _targets(command: Sequence[str]) -> bool:
    try:
        got = subprocess.run([*command, "--print-targets"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return "nvptx64" in got.stdout


def compile_c(path: str, text: str | None = None, language: str = "", extra: Sequence[str] = ()) -> str:
    """The PTX of a CUDA C (`cuda`) or OpenCL C (`opencl`) file; the language follows from the name's ending.

    Raises CompileError with the compiler's messages, NoCompilerError where there is none.
    """
    language = language or ("opencl" if path.endswith(".cl") else "cuda")
    if language not in ("cuda", "opencl"):
        raise IsakitError(f"there is no language {language!r}; there are cuda and opencl")
    try:
        clang = find_clang()
    except NoCompilerError:
        if language != "cuda" or find_nvrtc() is None:
            raise
        return compile_cuda(path, Path(path).read_text() if text is None else text, extra)
    options = CUDA if language == "cuda" else OPENCL
    header = HEADERS / ("cuda.h" if language == "cuda" else "opencl.h")
    with tempfile.TemporaryDirectory() as folder:
        source = path
        if text is not None:
            source = str(Path(folder) / Path(path).name)
            Path(source).write_text(text)
        command = [*clang, *options, *COMMON, "-include", str(header), *extra, source]
        try:
            got = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise IsakitError(f"the compiler did not finish within {SECONDS} s") from None
    if got.returncode:
        raise CompileError(_messages(got.stderr, path, source))
    return got.stdout


def _messages(stderr: str, path: str, source: str) -> list[Diagnostic]:
    out: list[Diagnostic] = []
    lines = stderr.splitlines()
    for k, line in enumerate(lines):
        m = _MESSAGE.match(line)
        if m:
            shown = lines[k + 1] if k + 1 < len(lines) else ""
            shown = shown.split("|", 1)[1][1:] if "|" in shown[:10] else shown
            out.append(Diagnostic(int(m[2]), int(m[3]), m[4], shown, path=path if m[1] == source else m[1]))
    if not out:
        first = next((x for x in lines if "error" in x), lines[0] if lines else "the compiler failed")
        out.append(Diagnostic(1, 1, first, path=path))
    return out
