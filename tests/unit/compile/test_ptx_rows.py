"""Rows of PTX's grammar that say something wrong are refused when it is read."""

from __future__ import annotations

import importlib
import sys

import pytest

from isakit.compile import compile_ptx
from isakit.compile.ptx import grammar
from isakit.compile.translate import function
from isakit.errors import DefinitionError


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch):
    def with_row(row: str) -> None:
        monkeypatch.setattr(grammar, "ROWS", f"{grammar.ROWS}{row}\n")
        grammar.rows.cache_clear()

    yield with_row
    monkeypatch.undo()
    grammar.rows.cache_clear()


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("frob   frob.u32 d, a{, b", "`frob   frob.u32 d, a{, b`: this is not an opcode with its operands"),
        ("frob   .u32 d, a", "this is not an opcode"),
        ("frob   frob.x d, a x = u32", "two blanks stand before"),
    ],
)
def test_a_row_that_is_not_one_is_named(rows, row: str, says: str) -> None:
    rows(row)
    with pytest.raises(DefinitionError) as caught:
        grammar.rows()
    assert says in str(caught.value)


def test_a_row_that_nothing_translates_is_refused_with_the_translator(rows, monkeypatch: pytest.MonkeyPatch) -> None:
    rows("frob   frob.u32 d, a")
    name = function.__name__
    monkeypatch.setitem(sys.modules, name, function)  # which comes back at the end
    del sys.modules[name]
    with pytest.raises(DefinitionError, match=r"`frob\.u32 d, a`: nothing translates it; Translator has no `do_frob`"):
        importlib.import_module(name)


def test_a_translation_that_writes_no_result_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The register would keep what was in it."""
    text = ".version 1.4\n.target sm_13\n.entry k () {\n  .reg .b32 %r<2>;\n  brev.b32 OUT, %r1;\n}"
    monkeypatch.setattr(function.Translator, "do_brev", lambda self, m, a: None)
    with pytest.raises(DefinitionError, match=r"`brev\.type d, a`: `do_brev` writes no result"):
        compile_ptx(text.replace("OUT", "%r0"))
    assert not compile_ptx(text.replace("OUT", "_")).failures
