"""Finding a clang and running it."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path

from isakit.c_library import ZIG_TARGETS, has_zig, zig
from isakit.compile.c.advice import advice
from isakit.compile.c.bounded import ANYBODYS, OWN, Finished, run
from isakit.compile.c.nvrtc import compile_cuda, find_nvrtc
from isakit.compile.c.standalone import MACROS, standalone
from isakit.compile.debug_records import as_debug_build, marked, without_headers
from isakit.compile.lockstep import LIMITS, marked_shared, unmarked
from isakit.compile.python.llvm import promoted
from isakit.errors import CompileError, Diagnostic, IsakitError
from isakit.processes import TemporaryFolder
from isakit.sandbox import program_files, python_files

HEADERS = Path(__file__).parent / "headers"
CUDA_HEADERS = HEADERS / "cuda"
"""The folder for programs that include `cuda_runtime.h`."""
OPENCL_HEADER = HEADERS / "opencl.h"
OLDEST, NEWEST = 13, 30
"""Major versions of clang; 13, 14, 15, 16, 19 and 22 were tried."""
_MESSAGE = re.compile(r"^(.*?):(\d+):(\d+): (?:fatal )?error: (.*)$")
_NOTE = re.compile(r"^(.*?):(\d+):(\d+): note: in instantiation ")
_CANDIDATE = re.compile(r": note: candidate [^:]*?not viable: (.*)$")
_FAILURE = re.compile(r"^(?:[\w.+-]+: |LLVM )?(?:fatal )?error: (.*)$", re.IGNORECASE)

COMMON = ("-O2", "-ffp-contract=off", "-fno-crash-diagnostics", "-fno-color-diagnostics")
_CPU = ("-Xclang", "-target-cpu", "-Xclang", "sm_20", "-Xclang", "-target-feature", "-Xclang", "+ptx60")
CUDA = ("-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_20", "-fdeclspec",
        "-Wno-unknown-cuda-version", "-Xclang", "-target-feature", "-Xclang", "+ptx60", "-Xclang",
        "-target-sdk-version=5.0", "-gline-directives-only", "-fgpu-flush-denormals-to-zero")  # fmt: skip
"""Options that make PTX of CUDA C. sm_20 is the oldest target that LLVM has; what it has and the chips have not, the
back end expands or refuses. With 5.0, host code launches kernels as programs of its time do."""
OPENCL = ("-x", "cl", "--target=nvptx64-nvidia-nvcl", "-Xclang", "-target-cpu", "-Xclang", "sm_20", "-cl-std=CL1.2",
          "-cl-no-stdinc", "-gline-directives-only")  # fmt: skip
STANDARD = "gnu++11"
"""The C++ standard for programs that state none: the newest that still has `register`."""
NAMED = ["-Xclang", "-debug-info-kind=constructor"]
"""Options for records of variables."""
UNSEEN = ["-Xclang", "-disable-llvm-passes"]
"""Options for LLVM IR as `promoted` takes it."""


class NoCompilerError(IsakitError):
    """No compiler for a language was found; the message says what to install."""


@dataclass(frozen=True)
class Clang:
    """A clang with the NVPTX target.

    Attributes:
        command: the command that runs it.
        wheel: whether it comes from the wheel `ziglang`, which finds no headers by itself.
    """

    command: tuple[str, ...]
    wheel: bool = False

    @property
    def version(self) -> int:
        """The major version of the compiler, 0 where its output does not name one."""
        m = re.search(r"clang version (\d{1,3})\.", _said(self.command, "--version"))
        return int(m[1]) if m is not None else 0

    def __str__(self) -> str:
        return f"clang {self.version} ({'the wheel ziglang' if self.wheel else self.command[0]})"


@cache
def newest_clang() -> Clang:
    """Return the newest clang with the NVPTX target, preferring the system's among equals. Raises NoCompilerError."""
    names = ["clang", *(f"clang-{n}" for n in range(NEWEST, OLDEST - 1, -1))]
    paths = [path for name in names if (path := shutil.which(name))]
    found = [Clang((path,)) for path in paths if "nvptx64" in _said((path,), "--print-targets")]
    found = [c for c in found if c.version >= OLDEST]
    if has_zig():
        found.append(Clang(zig("clang"), wheel=True))
    if not found:
        raise NoCompilerError(
            f"no clang with the NVPTX target was found, of version {OLDEST} or later; `pip install 'isakit[c]'` brings "
            "one, `apt install clang` too; for kernels in CUDA C the nvidia-cuda-nvrtc-cu12 wheel will do as well"
        )
    return found[0] if len(found) == 1 else max(found, key=lambda c: c.version)


def find_clang() -> tuple[str, ...]:
    """Return the command that runs `newest_clang()`. Raises NoCompilerError."""
    return newest_clang().command


# --- headers of the host ----------------------------------------------------------------------------------------------
HOST = "x86_64-linux-gnu"


def host_includes(found: Clang, compiler: str | None = None) -> list[str]:
    """Return options that make a clang find the host's headers: none for the system's, which finds them itself.

    The wheel's clang uses the headers of the host's compiler (default: the system's g++), else those in the wheel.
    """
    if not found.wheel:
        return []
    compiler = compiler or host_compiler()
    return ["-nostdinc", "-nostdinc++", "-target", HOST, *(_gcc_includes(compiler) if compiler else _zig_includes())]


def host_compiler() -> str | None:
    """Return the command of the system's g++, None if there is none."""
    return shutil.which("g++")


@cache
def _gcc_includes(compiler: str) -> list[str]:
    text = _heard((compiler, "-E", "-v", "-x", "c++", os.devnull))
    m = re.search(r"^#include <.*?> search starts here:\n(.*?)^End of search list", text, re.MULTILINE | re.DOTALL)
    folders = [line.strip() for line in m[1].splitlines()] if m is not None else []
    # GCC's own folder is for what clang's has not, such as omp.h.
    own = [f for f in folders if re.search(r"/lib(?:exec)?(?:64)?/gcc/", f) and "c++" not in f]
    resources = ["-isystem", str(_wheel_folder() / "lib" / "include")]
    return [*(x for f in folders if f not in own for x in ("-isystem", f)), *resources,
            *(x for f in own for x in ("-idirafter", f))]  # fmt: skip


def _wheel_folder() -> Path:
    spec = importlib.util.find_spec("ziglang")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)))


_PATIENCE = 120.0
"""Seconds that a compiler may take to describe itself: usually moments, longer the first time on a busy machine."""


@cache
def _zig_includes() -> list[str]:
    """Return the header options that `zig c++` passes to its clang; it prints them when it compiles an unknown file."""
    with TemporaryFolder() as folder:
        source = folder / "headers.cpp"
        source.write_text(f"// {folder}\n")
        command = (*zig("c++"), "-target", ZIG_TARGETS[64], "-c", str(source), "-o", f"{source}.o", "--verbose")
        line = next((line for line in _heard(command).splitlines() if "-isystem" in line), "")
    words = shlex.split(line)
    out: list[str] = []
    for k, word in enumerate(words[:-1]):
        if word in ("-isystem", "-D"):
            out += [word, words[k + 1]]
        elif word.startswith("-D"):
            out.append(word)
    return out


def _heard(command: tuple[str, ...]) -> str:
    """Return what a compiler writes to standard error, "" where it cannot be run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""


@cache
def _said(command: tuple[str, ...], option: str) -> str:
    """Return a compiler's output for an option that describes it, "" where it cannot be run."""
    try:
        got = subprocess.run([*command, option], capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return got.stdout


_INCLUDES = re.compile(r"^[ \t]*(?:#|%:)[ \t]*include", re.MULTILINE)


def compile_c(
    path: str,
    text: str | None = None,
    language: str = "",
    extra: Sequence[str] = (),
    alone: bool = False,
    arch: int = 13,
    named: bool = False,
    debug_build: bool = False,
) -> str:
    """Compile a CUDA C (`cuda`) or OpenCL C (`opencl`) file to PTX; the language follows from the name's ending.

    `extra` are options for the compiler, as clang spells them; `arch`: the architecture a CUDA C text is for, 10 to 13.
    `named`: mark where variables get values (`compile.debug_records`); `debug_build`: compile for debuggers as well.
    With `alone`, the text is not trusted: it can name no file, and the compiler is confined and bounded more tightly.
    Raises CompileError with the compiler's messages, NoCompilerError where there is none.
    """
    language = language or ("opencl" if path.endswith(".cl") else "cuda")
    if language not in ("cuda", "opencl"):
        raise IsakitError(f"there is no language {language!r}; there are cuda and opencl")
    if alone:
        text = standalone(text or "", language, path)
    try:
        found = newest_clang()
    except NoCompilerError:
        if language != "cuda" or find_nvrtc() is None:
            raise
        return compile_cuda(path, text, extra, alone)
    content = Path(path).read_bytes().decode("utf-8", "replace") if text is None else text
    whole = not alone and language == "cuda" and (bool(extra) or _INCLUDES.search(content) is not None)
    with TemporaryFolder() as folder:
        source = os.path.abspath(path)
        if text is not None:
            source = Path(path).name
            (folder / source).write_text(text, "utf-8")
        options = cuda_options(found, arch, whole) if language == "cuda" else [*OPENCL, "-include", str(OPENCL_HEADER)]
        if alone:
            options += [f"-U{name}" for name in MACROS]
            options += ["-Wno-builtin-macro-redefined", "-fdebug-compilation-dir=."]
        command = [*found.command, *options, *COMMON, *LIMITS, *extra, "-S", "-emit-llvm", "-o", "-"]
        command += NAMED if named or debug_build else []
        got = _run([*command, *(UNSEEN if debug_build else []), source], folder, alone)
        ir = got.output
        if debug_build and not got.status and not got.bound and (ir := promoted(got.output)) is None:
            got = _run([*command, source], folder, alone)
            ir = got.output
        if not got.status and not got.bound:
            (folder / "device.ll").write_text(for_code_generator(ir, named or debug_build), "utf-8")
            got = _run([*machine_command(found, extra, language), "-o", "-", "device.ll"], folder, alone)
    _check(got, path, source)
    ptx = unmarked(got.output, ir)
    ptx = as_debug_build(ptx) if debug_build else ptx
    return for_arch(ptx, arch) if language == "cuda" else ptx


def check_c(path: str, text: str, language: str, extra: Sequence[str] = ()) -> None:
    """Parse a CUDA C or OpenCL C text and check its types, which takes a tenth of the time of compiling it.

    Raises CompileError with the compiler's messages; without a clang nothing is checked.
    """
    try:
        found = newest_clang()
    except NoCompilerError:
        return
    whole = language == "cuda" and (bool(extra) or _INCLUDES.search(text) is not None)
    with TemporaryFolder() as folder:
        source = Path(path).name
        (folder / source).write_text(text, "utf-8")
        options = cuda_options(found, 13, whole) if language == "cuda" else [*OPENCL, "-include", str(OPENCL_HEADER)]
        got = _run([*found.command, *options, *COMMON, *extra, "-fsyntax-only", source], folder, False)
    _check(got, path, source)


def _check(got: Finished, path: str, source: str) -> None:
    """Raise CompileError where a compiler was stopped, or has complained about the file `source`."""
    if got.bound:
        raise CompileError([Diagnostic(1, 1, f"the compiler {got.bound}", path=path)])
    if got.status:
        raise CompileError(messages(got.errors, path, source))


def for_code_generator(ir: str, named: bool) -> str:
    """Return optimised LLVM IR as `machine_command` takes it; `named`: with marks where variables get values.

    Functions of our headers are inlined; their code gets the line of the call.
    """
    ir = without_headers(ir, str(HEADERS))
    return marked_shared(marked(ir) if named else ir)


def machine_command(found: Clang, extra: Sequence[str] = (), language: str = "cuda") -> list[str]:
    """Return the command that compiles optimised LLVM IR to PTX; of `extra` it keeps options of the code generator.

    The target says whose parameters they are: older versions name the space of a pointer for OpenCL C alone.
    """
    target = f"nvptx64-nvidia-{'nvcl' if language == 'opencl' else 'cuda'}"
    words = list(extra)
    kept = [x for k, w in enumerate(words[:-1]) if w == "-mllvm" and "nvptx" in words[k + 1] for x in (w, words[k + 1])]
    return [*found.command, "-x", "ir", f"--target={target}", *COMMON, *kept, "-S", "-Xclang",
            "-disable-llvm-passes", "-Wno-override-module", *_CPU]  # fmt: skip


def cuda_options(found: Clang, arch: int, whole: bool, compiler: str | None = None) -> list[str]:
    """Return options that make a clang read CUDA C for an architecture, 10 to 13, and write PTX.

    With `whole`, the headers of the host are there for programs that have code for it.
    """
    named = ["-U__CUDA_ARCH__", f"-D__CUDA_ARCH__={10 * arch}", "-Wno-builtin-macro-redefined"]
    return [*CUDA, *named, *header_options(found, whole, compiler)]


def header_options(found: Clang, whole: bool, compiler: str | None = None) -> list[str]:
    """Return options that make a clang find our headers of CUDA and, with `whole`, the host's."""
    hosts = host_includes(found, compiler) if whole else ["-D__ISAKIT_ALONE__"]
    return [f"-std={STANDARD}", "-isystem", str(CUDA_HEADERS), *hosts, "-include", "cuda_runtime.h"]


def for_arch(ptx: str, arch: int) -> str:
    """Return clang's PTX as PTX for an architecture, 10 to 13: below 13 its doubles are floats."""
    target = f".target sm_{arch}" + ("" if arch >= 13 else ", map_f64_to_f32")
    return ptx.replace(".target sm_20", target, 1)


def _run(command: list[str], folder: Path, alone: bool) -> Finished:
    try:
        if not alone:
            return run(command, folder, OWN)
        own = python_files() if command[0] == sys.executable else ()
        return run(command, folder, ANYBODYS, [str(HEADERS), *program_files("clang"), *own])
    except OSError as e:
        raise IsakitError(f"{command[0]} cannot be run: {e}") from e


def _goes_on(line: str) -> bool:
    """Return whether a line of a compiler's output belongs to the error before it."""
    return _MESSAGE.match(line) is None


def messages(stderr: str, path: str, source: str) -> list[Diagnostic]:
    """Return the errors in a compiler's output, located; `source` is the name it was given for the file `path`."""
    out: list[Diagnostic] = []
    lines = stderr.splitlines()
    for k, line in enumerate(lines):
        m = _MESSAGE.match(line)
        if m is None:
            continue
        at, place = k, m
        if m[1].startswith(str(HEADERS)):  # what the program has asked our headers for stands in a note
            rest = ((j, n) for j in range(k + 1, len(lines)) if (n := _NOTE.match(lines[j])))
            at, place = next(((j, n) for j, n in rest if not n[1].startswith(str(HEADERS))), (k, m))
        shown = lines[at + 1] if at + 1 < len(lines) else ""
        shown = shown.split("|", 1)[1][1:] if "|" in shown[:10] else shown
        name = path if place[1] == source else place[1]
        candidates = [n[1] for line in takewhile(_goes_on, lines[k + 1 :]) if (n := _CANDIDATE.search(line))]
        notes = advice(m[4], candidates)
        said = m[4].partition("; did you mean")[0] if notes else m[4]
        out.append(Diagnostic(int(place[2]), int(place[3]), said, shown, notes=notes, path=name))
    if not out:  # it has not come to the text
        said = (m[1] for line in lines if (m := _FAILURE.match(line)))
        out.append(Diagnostic(1, 1, f"the compiler failed: {next(said, 'it does not say why')}", path=path))
    return out
