"""CUDA C through NVRTC, where its wheel is installed: no GPU, no driver.

The wheel is `nvidia-cuda-nvrtc`, up to CUDA 12 with the suffix `-cu12` or `-cu11`. Tested: NVRTC 11.8, whose oldest
target is sm_35, 12.9 (sm_50) and 13.5 (sm_75). It runs in a process of its own (`nvrtc_program`), within the bounds
that every other compiler has.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from isakit.compile.c import nvrtc_program
from isakit.compile.c.bounded import ANYBODYS, OWN, Finished, run
from isakit.errors import CompileError, Diagnostic, IsakitError
from isakit.processes import TemporaryFolder
from isakit.sandbox import python_files

OPTIONS = ("-fmad=false", "--generate-line-info", "-default-device")
"""Options of NVRTC: no contraction, since the chips have no fused multiply-add of f32."""
PLACES = ("cuda_nvrtc/lib/libnvrtc.so.*", "cu[0-9]*/lib/libnvrtc.so.*")
"""Paths of the library in the wheels up to CUDA 12, and in those after it."""
_MESSAGE = re.compile(r"^(.*?)\((\d+)\): (?:catastrophic )?error:?(?: #[\w-]+:)? (.*)$")


@cache
def find_nvrtc() -> Path | None:
    """Return the library of the wheel, None where it is not installed."""
    spec = importlib.util.find_spec("nvidia") if importlib.util.find_spec("nvidia") else None
    for folder in spec.submodule_search_locations or () if spec else ():
        for library in sorted(path for place in PLACES for path in Path(folder).glob(place)):
            if ".so." in library.name and not any(word in library.name for word in ("builtins", "alt")):
                return library
    return None


def compile_cuda(path: str, text: str | None = None, extra: Sequence[str] = (), alone: bool = False) -> str:
    """Return the PTX of a CUDA C text, or of the file itself; `extra` and `alone` as `compile_c` has them.

    Raises CompileError with the compiler's messages, IsakitError where there is no NVRTC.
    """
    library = find_nvrtc()
    if library is None:
        raise IsakitError("NVRTC is not installed; `pip install nvidia-cuda-nvrtc-cu12`")
    if text is None:
        text = Path(path).read_bytes().decode("utf-8", "replace")
    name = Path(path).name if alone else os.path.abspath(path)
    beside = () if alone else (f"--include-path={os.path.dirname(name)}",)
    with TemporaryFolder() as folder:
        (folder / "text").write_text(text, "utf-8")
        program = [sys.executable, "-I", "-S", nvrtc_program.__file__, str(library), "text", name]
        got = _run([*program, *OPTIONS, *beside, *extra], folder, library if alone else None)
    if got.bound:
        raise CompileError([Diagnostic(1, 1, f"the compiler {got.bound}", path=path)])
    if got.status == nvrtc_program.REFUSED:
        raise CompileError(_messages(got.errors, path, name, text))
    if got.status:
        raise IsakitError(got.errors.strip() or f"NVRTC ended with status {got.status}")
    return got.output


def _run(command: list[str], folder: Path, alone: Path | None) -> Finished:
    """Run the compiler; with `alone`, confined to the folder of this library and Python's own files."""
    try:
        if alone is None:
            return run(command, folder, OWN)
        return run(command, folder, ANYBODYS, [str(alone.parent), *python_files()])
    except OSError as e:
        raise IsakitError(f"{command[0]} cannot be run: {e}") from e


def _messages(log: str, path: str, name: str, text: str) -> list[Diagnostic]:
    """Return the errors of a log, located; `name` is the file `path` as the log calls it."""
    rows = text.splitlines()
    out: list[Diagnostic] = []
    for m in filter(None, map(_MESSAGE.match, log.splitlines())):
        own, line = m[1] == name, int(m[2])
        shown = rows[line - 1] if own and 0 < line <= len(rows) else ""
        out.append(Diagnostic(line, 1, m[3], shown, path=path if own else m[1]))
    return out or [Diagnostic(1, 1, log.strip().splitlines()[0] if log.strip() else "the compiler failed", path=path)]
