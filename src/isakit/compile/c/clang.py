"""Finding a clang and running it."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from isakit.compile.c.bounded import Bounds, Finished, run
from isakit.compile.c.nvrtc import compile_cuda, find_nvrtc
from isakit.compile.c.standalone import MACROS, standalone
from isakit.errors import CompileError, Diagnostic, IsakitError
from isakit.sandbox import program_files, python_files

HEADERS = Path(__file__).parent / "headers"
OLDEST, NEWEST = 11, 30
BOUNDS = Bounds(memory=4 << 30, seconds=120)
"""Of the compiler, for files of the user."""
BOUNDS_ALONE = Bounds(memory=1 << 30, seconds=20)
"""For texts that may be anybody's."""
_MESSAGE = re.compile(r"^(.*?):(\d+):(\d+): (?:fatal )?error: (.*)$")
_FAILURE = re.compile(r"^(?:[\w.+-]+: |LLVM )?(?:fatal )?error: (.*)$", re.IGNORECASE)

COMMON = ("-O2", "-ffp-contract=off", "-S", "-o", "-", "-fno-crash-diagnostics", "-fno-color-diagnostics")
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
        return (sys.executable, "-P", "-m", "ziglang", "clang")  # -P: nothing from the folder it runs in
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


def compile_c(
    path: str, text: str | None = None, language: str = "", extra: Sequence[str] = (), alone: bool = False
) -> str:
    """The PTX of a CUDA C (`cuda`) or OpenCL C (`opencl`) file; the language follows from the name's ending.

    With `alone`, the text may be anybody's: it can name no file, and the compiler is shut in and bounded more closely.
    Raises CompileError with the compiler's messages, NoCompilerError where there is none.
    """
    language = language or ("opencl" if path.endswith(".cl") else "cuda")
    if language not in ("cuda", "opencl"):
        raise IsakitError(f"there is no language {language!r}; there are cuda and opencl")
    if alone:
        text = standalone(text or "", language, path)
    try:
        clang = find_clang()
    except NoCompilerError:
        if language != "cuda" or find_nvrtc() is None:
            raise
        return compile_cuda(path, Path(path).read_text() if text is None else text, extra)
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.abspath(path)
        if text is not None:
            source = Path(path).name
            Path(folder, source).write_text(text, "utf-8")
        got = _run([*clang, *_options(language, alone), *extra, source], Path(folder), alone)
    if got.bound:
        raise CompileError([Diagnostic(1, 1, f"the compiler {got.bound}", path=path)])
    if got.status:
        raise CompileError(_messages(got.errors, path, source))
    return got.output


def _options(language: str, alone: bool) -> list[str]:
    header = HEADERS / ("cuda.h" if language == "cuda" else "opencl.h")
    own = (
        [f"-U{name}" for name in MACROS] + ["-Wno-builtin-macro-redefined", "-fdebug-compilation-dir=."]
        if alone
        else []
    )
    return [*(CUDA if language == "cuda" else OPENCL), *COMMON, *(own if alone else []), "-include", str(header)]


def _run(command: list[str], folder: Path, alone: bool) -> Finished:
    try:
        if not alone:
            return run(command, folder, BOUNDS)
        own = python_files() if command[0] == sys.executable else ()
        return run(command, folder, BOUNDS_ALONE, [str(HEADERS), *program_files("clang"), *own])
    except OSError as e:
        raise IsakitError(f"{command[0]} cannot be run: {e}") from e


def _messages(stderr: str, path: str, source: str) -> list[Diagnostic]:
    out: list[Diagnostic] = []
    lines = stderr.splitlines()
    for k, line in enumerate(lines):
        m = _MESSAGE.match(line)
        if m:
            shown = lines[k + 1] if k + 1 < len(lines) else ""
            shown = shown.split("|", 1)[1][1:] if "|" in shown[:10] else shown
            out.append(Diagnostic(int(m[2]), int(m[3]), m[4], shown, path=path if m[1] == source else m[1]))
    if not out:  # it has not come to the text
        said = (m[1] for line in lines if (m := _FAILURE.match(line)))
        out.append(Diagnostic(1, 1, f"the compiler failed: {next(said, 'it does not say why')}", path=path))
    return out
