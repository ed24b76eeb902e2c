"""Texts of strangers in the workbench: whatever they say, nothing of this machine is opened, started or imported."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from isakit.compile.python.constants import ConstantFolding
from support.farm import Wrong, campaign
from support.farm.strangers import check_python, files_named
from support.needs import needs_clang

SEEDS = range(100)


@pytest.mark.parametrize("first", range(0, len(SEEDS), 10))
def test_python_texts_are_translated_and_nothing_else_happens(first: int) -> None:
    """2,000 of them; the campaign of this name runs a million."""
    texts = campaign("python-texts")
    for seed in SEEDS[first : first + 10]:
        texts.check(texts.make(seed))


def test_the_hole_that_was_there_is_found_when_it_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def evaluated(_: ConstantFolding, node: ast.expr) -> Any:
        try:
            return eval(compile(ast.Expression(node), "<constant>", "eval"), {"__builtins__": {}})
        except Exception:
            return None

    monkeypatch.setattr(ConstantFolding, "fold", evaluated)
    with pytest.raises(Wrong, match=r"exec|compile"):
        check_python(
            ["@isakit.kernel\ndef k(out: 'u32p'):\n    out[0] = 1 + ().__class__.__base__.__subclasses__()[0]\n"]
        )


@needs_clang
class TestC:
    def test_no_c_text_that_is_taken_names_a_file(self) -> None:
        texts = campaign("c-texts")
        for seed in range(6):
            texts.check(texts.make(seed))

    @pytest.mark.parametrize("text", ['#include "x.h"\n', "#define F <x.h>\n#include F\n", '%:\\\ninclude "x.h"\n'])
    def test_the_compiler_would_tell_of_one(self, text: str) -> None:
        assert files_named(text, "cuda") == ["x.h"]
