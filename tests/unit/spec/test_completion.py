"""The checks of a package's records: together, at the end of its import, and once for the same files."""

from __future__ import annotations

from pathlib import Path

import pytest

from isakit import object_cache
from isakit.errors import DefinitionError
from isakit.spec import FormTable, InstructionSet, Layout, Ref, Shape, Variant, where

TINY = FormTable({"word": Shape(Layout("tiny", 1, where({})), {}, {})}, unit_bits=8)
REF = Ref("test", "1")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ISAKIT_CACHE", str(tmp_path))
    monkeypatch.setattr("isakit.spec.isa.content_key", lambda *places: "one")
    return tmp_path / "objects" / "checked"


def declared(*patterns: str) -> InstructionSet:
    """An instruction set as its package declares it, with one instruction per pattern."""
    isa = InstructionSet("toy", {"v": Variant("v", frozenset())}, "a toy", lambda unit: 1, package="isakit.arch.toy")
    for n, pattern in enumerate(patterns):

        def function() -> None:
            """Do nothing."""

        isa.insn(TINY(f"word go{n}\n     {pattern}"), ref=REF, status="known", name=f"go{n}")(function)
    return isa


def test_records_that_overlap_fail_the_import_and_are_named() -> None:
    isa = declared("0000 ----", "000- ----")
    with pytest.raises(DefinitionError, match=r"record 'go1', form 0 .* overlaps"):
        isa.complete()


def test_a_letter_without_a_meaning_fails_the_import() -> None:
    with pytest.raises(DefinitionError, match="the pattern has letters without a meaning: x"):
        declared("0000 xxxx").complete()


def test_what_has_failed_is_not_noted(cache: Path) -> None:
    with pytest.raises(DefinitionError):
        declared("0000 xxxx").complete()
    assert not cache.exists()


def test_the_same_files_are_checked_once() -> None:
    declared("0000 ----").complete()
    declared("0000 xxxx").complete()  # as if the file said so: it is not looked at again


def test_changed_files_are_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    declared("0000 ----").complete()
    monkeypatch.setattr("isakit.spec.isa.content_key", lambda *places: "another")
    with pytest.raises(DefinitionError):
        declared("0000 xxxx").complete()


def test_a_damaged_note_counts_for_nothing(cache: Path) -> None:
    declared("0000 ----").complete()
    (note,) = cache.iterdir()
    note.write_bytes(note.read_bytes()[:-1] + b"?")
    with pytest.raises(DefinitionError):
        declared("0000 xxxx").complete()


def test_what_is_added_later_is_checked_at_once() -> None:
    isa = declared("0000 ----")
    isa.complete()
    again = declared("0000 ----").records[0]
    with pytest.raises(DefinitionError, match="overlaps"):
        isa.add(again)
    assert [r.name for r in isa.records] == ["go0"]


def test_the_key_follows_content_and_not_dates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "package"
    (root / "rules").mkdir(parents=True)
    module, other = root / "rules" / "a.py", root / "b.py"
    module.write_text("1")
    other.write_text("2")
    monkeypatch.setattr(object_cache, "__file__", str(root / "object_cache.py"))

    def key() -> str:
        return object_cache.content_key.__wrapped__("rules", "b.py")

    first = key()
    module.touch()
    assert key() == first
    module.write_text("3")
    second = key()
    assert second != first
    other.write_text("4")
    assert key() not in (first, second)
