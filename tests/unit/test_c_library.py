"""The C libraries of the hosts: one source gives the same bytes wherever it is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from isakit.c_library import CLibrary, compiler

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(compiler() is None, reason="needs a C compiler: install gcc or clang, or set CC"),
]
SOURCE = '#include "made.h"\nint answer(void) { return MADE; }\nconst char *place(void) { return __FILE__; }\n'


def built(folder: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    folder.mkdir()
    (folder / "source.c").write_text(SOURCE)
    monkeypatch.chdir(folder)
    made = {"made.h": "#define MADE 42\n", "made.c": "int twice(int n) { return 2 * n; }\n"}
    return CLibrary("libtest.so", "isakit test", folder, ("-g",), lambda: made).compile()


def test_a_library_shows_nothing_of_the_place_where_it_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = built(tmp_path / "one", monkeypatch), built(tmp_path / "another", monkeypatch)
    assert first == second
    assert str(tmp_path).encode() not in first
