"""Machine code that is found again by what its text depends on, without the text."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from isakit.engine.llvm import LoadedCode, host, known_object_code
from isakit.engine.llvm.fingerprint import fingerprint
from isakit.instruction_sets import isa
from isakit.machine.tesla.rules import stack

TEXT = "define i32 @answer() {\n  ret i32 %d\n}\n"


def test_the_text_is_written_once_for_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISAKIT_CACHE", str(tmp_path))
    written: list[int] = []

    def answer(key: str, number: int) -> int:
        def write() -> str:
            written.append(number)
            return TEXT % number

        code = LoadedCode(known_object_code(key, write, host()), host())
        return int(code.function("answer", ctypes.c_int32)())

    assert [answer("a", 1), answer("a", 2), answer("b", 3), answer("c", 3), answer("b", 4)] == [1, 1, 3, 3, 3]
    assert written == [1, 3, 3]
    assert len(list((tmp_path / "objects" / "code").iterdir())) == 2  # one for each text
    for kept in (tmp_path / "objects" / "code").iterdir():
        kept.unlink()
    assert answer("a", 5) == 5


def test_a_rewritten_routine_has_another_fingerprint() -> None:
    before = fingerprint("tesla")
    with stack.join.rewritten("def join(", "def join ("):
        assert fingerprint("tesla") != before
    assert fingerprint("tesla") == before


def test_forms_of_a_view_have_names_of_their_own() -> None:
    view = isa("tesla", "gt200").decoder().view
    names = [view.name_of(f) for f in view.forms]
    assert len(set(names)) == len(names) > 200
