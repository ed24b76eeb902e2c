"""NVRTC runs in a process of its own, within bounds: a library with its functions that does what it is told to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from isakit import sandbox
from isakit.compile.c import compile_cuda, nvrtc
from isakit.compile.c.bounded import Bounds
from isakit.errors import CompileError, IsakitError
from support.patience import PATIENCE, until

pytestmark = [
    pytest.mark.skipif(not sandbox.LINUX, reason="the system keeps these bounds on Linux only"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
]

LIBRARY = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char text[4096], log_[4096], options[4096];
const char *nvrtcGetErrorString(int e) { return e == 7 ? "seven" : "another"; }
int nvrtcGetNumSupportedArchs(int *n) { *n = 2; return 0; }
int nvrtcGetSupportedArchs(int *a) { a[0] = 60; a[1] = 50; return 0; }
int nvrtcCreateProgram(void **p, const char *t, const char *name, int n, void *h, void *i)
{
    if (!strcmp(t, "fails")) return 7;
    strncpy(text, t, 4000);
    snprintf(log_, sizeof log_, "%s(2): error: a bad word\n/usr/include/x.h(9): error #20: another one\n", name);
    return 0;
}
int nvrtcCompileProgram(void *p, int n, const char **o)
{
    for (int k = 0; k < n; k++) strcat(strcat(options, " "), o[k]);
    if (!strcmp(text, "endless")) for (;;) ;
    if (!strcmp(text, "greedy")) for (;;) {
        char *m = malloc(1 << 20);
        if (!m) { perror("m"); exit(9); }
        memset(m, 1, 1 << 20);
    }
    if (!strcmp(text, "forks") && !fork()) { close(1); close(2); for (;;) sleep(1); }
    if (!strcmp(text, "writes")) for (;;) puts("much");
    if (!strcmp(text, "dies")) abort();
    if (!strcmp(text, "opens")) snprintf(options, 99, "%d", open("SECRET", O_RDONLY));
    return !strcmp(text, "refused\nhere\n");
}
int nvrtcGetPTXSize(void *p, size_t *n) { *n = strlen(options) + 1; return 0; }
int nvrtcGetPTX(void *p, char *out) { strcpy(out, options); return 0; }
int nvrtcGetProgramLogSize(void *p, size_t *n) { *n = strlen(log_) + 1; return 0; }
int nvrtcGetProgramLog(void *p, char *out) { strcpy(out, log_); return 0; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nvrtc")
    secret = folder.parent / "secret"
    secret.write_text("what only its user reads")
    (folder / "nvrtc.c").write_text(LIBRARY.replace("SECRET", str(secret)))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "libnvrtc.so.9", "nvrtc.c"], cwd=folder, check=True)
    return folder / "libnvrtc.so.9"


@pytest.fixture(autouse=True)
def _found(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "find_nvrtc", lambda: library)
    monkeypatch.setattr(nvrtc, "ANYBODYS", Bounds(memory=256 << 20, seconds=PATIENCE, output=1 << 20))


def said(text: str, alone: bool = True) -> str:
    with pytest.raises(IsakitError) as e:
        compile_cuda("k.cu", text, (), alone)
    return str(e.value)


def test_it_gets_the_oldest_target_and_options() -> None:
    ptx = compile_cuda("k.cu", "fine", ("-DX=1",), True)
    assert ptx.split() == ["--gpu-architecture=compute_50", *nvrtc.OPTIONS, "-DX=1"]
    assert f"--include-path={os.getcwd()}" in compile_cuda("k.cu", "fine")


def test_messages_stand_at_their_places_in_the_text_and_in_other_files() -> None:
    with pytest.raises(CompileError) as e:
        compile_cuda("a/k.cu", "refused\nhere\n")
    own, other = e.value.diagnostics
    assert (own.path, own.line, own.message, own.source) == ("a/k.cu", 2, "a bad word", "here")
    assert (other.path, other.line, other.message, other.source) == ("/usr/include/x.h", 9, "another one", "")


@pytest.mark.parametrize(("text", "words"), [
    ("greedy", "took more than 256 MB of memory"),
    ("writes", "wrote more than 1 MB"), ("fails", "NVRTC: seven"), ("dies", "NVRTC ended with status -6"),
])  # fmt: skip
def test_what_it_takes_has_bounds_and_its_end_is_said(text: str, words: str) -> None:
    assert words in said(text)


def test_a_text_that_takes_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "ANYBODYS", Bounds(memory=256 << 20, seconds=1))
    start = time.monotonic()
    assert "took more than 1 s" in said("endless")
    assert time.monotonic() - start < PATIENCE


def test_what_it_leaves_running_is_ended(library: Path) -> None:
    compile_cuda("k.cu", "forks", (), True)
    assert until(lambda: not _running(library))


def _running(library: Path) -> set[int]:
    """Processes that name this library, which no other worker of the tests has, in their command line."""
    out: set[int] = set()
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(library) in line and entry.name.isdigit():
            out.add(int(entry.name))
    return out


def test_a_text_of_anybody_is_compiled_behind_the_fence() -> None:
    if any(line.startswith("Landlock: ") for line in sandbox.absent()):
        pytest.skip("no Landlock")
    assert int(compile_cuda("k.cu", "opens", (), True).split()[-1]) < 0
    assert int(compile_cuda("k.cu", "opens").split()[-1]) >= 0


def test_a_library_without_its_functions_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for content in (b"", b"no library"):
        Path(tmp_path, "libnvrtc.so.9").write_bytes(content)
        monkeypatch.setattr(nvrtc, "find_nvrtc", lambda: tmp_path / "libnvrtc.so.9")
        assert "libnvrtc.so.9" in said("fine")
    c_library = next(Path(p) for p in ("/lib/x86_64-linux-gnu/libm.so.6", sys.executable) if Path(p).exists())
    monkeypatch.setattr(nvrtc, "find_nvrtc", lambda: c_library)
    assert "nvrtc" in said("fine")
