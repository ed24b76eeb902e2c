"""The C libraries of the hosts: one source gives the same bytes wherever it is built."""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from isakit.c_library import CLibrary, compiler, compilers, has_zig
from isakit.errors import HostError
from isakit.processes import PREFIX
from support.clients.leftovers import ended
from support.clients.processes import SOURCE
from support.patience import until

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(compiler() is None, reason="needs a C compiler: install gcc or clang, or set CC"),
]
TEXT = '#include "made.h"\nint answer(void) { return MADE; }\nconst char *place(void) { return __FILE__; }\n'


def built(folder: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    folder.mkdir()
    (folder / "source.c").write_text(TEXT)
    monkeypatch.chdir(folder)
    made = {"made.h": "#define MADE 42\n", "made.c": "int twice(int n) { return 2 * n; }\n"}
    return CLibrary("libtest.so", "isakit test", folder, ("-g",), lambda: made).compile()


def test_a_library_shows_nothing_of_the_place_where_it_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = built(tmp_path / "one", monkeypatch), built(tmp_path / "another", monkeypatch)
    assert first == second
    assert str(tmp_path).encode() not in first


def test_what_a_compiler_keeps_for_itself_lies_in_a_folder_that_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that is killed leaves its temporary files where they are."""
    places, command = tmp_path / "places", tmp_path / "compiler"
    command.write_text(f'#!/bin/sh\necho x > "$TMPDIR/left"\necho "$TMPDIR" > {places}\nexit 1\n')
    command.chmod(0o700)
    monkeypatch.setenv("CC", str(command))
    with pytest.raises(HostError, match="does not build"):
        built(tmp_path / "one", monkeypatch)
    (place,) = places.read_text().split()
    assert Path(place).name.startswith(PREFIX)
    assert not Path(place).exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked for in /proc")
def test_a_killed_process_takes_the_compiler_and_its_files_with_it(tmp_path: Path) -> None:
    begun, command, place = tmp_path / "begun", tmp_path / "compiler", tmp_path / "temporary"
    command.write_text(f'#!/bin/sh\necho x > "$TMPDIR/left"\necho $$ > {begun}\nsleep 1000\n')
    command.chmod(0o700)
    place.mkdir()
    text = f"""
from pathlib import Path
from isakit.c_library import CLibrary
CLibrary("libtest.so", "isakit test", Path({str(tmp_path)!r})).compile()
"""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(place), "CC": str(command)}
    with subprocess.Popen([sys.executable, "-c", text], env=environment) as process:
        assert until(lambda: begun.exists() and begun.read_text().endswith("\n"))
        process.kill()
    assert until(lambda: ended(int(begun.read_text())) and not list(place.iterdir()))


def test_a_library_that_does_not_fit_in_the_cache_is_put_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISAKIT_CACHE", str(tmp_path / "cache"))
    written = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        if tmp_path / "cache" in self.parents:
            written(self, data[:9])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    (tmp_path / "source").mkdir()
    (tmp_path / "source/source.c").write_text("int answer(void) { return 42; }\n")
    found = CLibrary("libtest.so", "isakit test", tmp_path / "source").path()
    assert found.read_bytes().startswith(b"\x7fELF")
    assert tmp_path not in found.parents
    assert not [p for p in (tmp_path / "cache/libraries").rglob("*") if p.is_file()]


@pytest.mark.parametrize("command", ["nvcc", "/opt/cuda/bin/nvcc -w", "isakit nvcc", "python -m isakit nvcc"])
def test_the_compiler_of_device_code_builds_no_library(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make CC=nvcc` puts CC into the environment of all it starts."""
    monkeypatch.delenv("CC", raising=False)
    found = compilers()
    assert found
    monkeypatch.setenv("CC", command)
    assert compilers() == found


def test_where_a_compiler_cannot_the_next_one_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As gcc without its libraries of 32 bits, beside the wheel `ziglang`."""
    (tmp_path / "source.c").write_text("int answer(void) { return 42; }\n")
    real = compiler()
    assert real is not None
    monkeypatch.setattr("isakit.c_library.compilers", lambda _: [["false"], real])
    assert CLibrary("libtest.so", "isakit test", tmp_path).compile().startswith(b"\x7fELF")
    monkeypatch.setattr("isakit.c_library.compilers", lambda _: [["false"], ["false"]])
    with pytest.raises(HostError, match="does not build"):
        CLibrary("libtest.so", "isakit test", tmp_path).compile()


@pytest.mark.skipif(not has_zig(), reason="needs the extra `c`")
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="builds for x86")
@pytest.mark.parametrize(("bits", "elf_class"), [(64, 2), (32, 1)])
def test_the_wheel_builds_what_the_system_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: int, elf_class: int
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("isakit.c_library.compiler", lambda: None)
    (tmp_path / "source.c").write_text("int answer(void) { return 42; }\n")
    made = CLibrary("libtest.so", "isakit test", tmp_path, bits=bits).compile()
    assert made[:5] == b"\x7fELF" + bytes([elf_class])
