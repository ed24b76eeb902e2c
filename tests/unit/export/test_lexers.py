"""Assembly in colour: the Pygments lexer and the TextMate grammar agree with the assembler about what is what."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import isakit
from isakit.export.lexing import pygments_lexer, rules, textmate
from support.clients.command_line import run

TEXTS = {
    "tesla": "// a note\n.kernel k\nloop: (lg $c0) bra loop\nadd b32 $r1 $r2 c1[0x4]\nexit nop",
    "vuc": "// a note\nloop: add $r1 $r2 0x10\n$p1 bra loop\nnop",
    "usse": "// a note\n.program primary\nvmul.f32 pa0.xy r4.xyzw r4.xyzw\nnop",
}


@pytest.mark.parametrize("name", TEXTS)
def test_words_have_the_colour_of_what_they_are(name: str) -> None:
    pygments = pytest.importorskip("pygments")
    from pygments.token import Comment, Error, Keyword, Name, Number

    tokens: list[tuple[Any, str]] = list(pygments.lex(TEXTS[name], pygments_lexer(name)()))
    kinds = {text: kind for kind, text in tokens}
    assert all(kind is not Error for kind, _ in tokens)
    assert "".join(text for _, text in tokens).rstrip("\n") == TEXTS[name]
    assert kinds["// a note"] is Comment.Single
    assert kinds["nop"] is Keyword
    if name != "usse":
        assert kinds["loop"] in (Name.Label, Name)
        assert kinds["$r1"] is Name.Variable
    if name == "tesla":
        assert (kinds[".kernel"], kinds["b32"], kinds["0x4"]) == (Keyword.Pseudo, Keyword.Type, Number)


@pytest.mark.parametrize("name", TEXTS)
def test_every_mnemonic_and_directive_of_the_grammar_is_one_of_the_assembler(name: str) -> None:
    grammar = textmate(name)
    assert json.loads(run("export", "-m", name, "--format", "textmate").stdout) == grammar
    matches = {p["name"].removesuffix(".isakit"): re.compile(p["match"]) for p in grammar["patterns"] if "match" in p}
    mnemonics = {m for r in isakit.isa(name).instructions for m in r.mnemonics}
    assert all((m := matches["keyword.mnemonic"].match(word)) is not None and m[0] == word for word in mnemonics)
    assert not matches["keyword.mnemonic"].match("nonsense")
    assert matches["keyword.other.directive"].match(".word")
    assert not matches["keyword.other.directive"].match(".nothing")


def test_the_exported_lexer_is_a_module_of_its_own(tmp_path: Any) -> None:
    pygments = pytest.importorskip("pygments")
    path = tmp_path / "lexer.py"
    run("export", "-m", "vuc", "--format", "pygments", "-o", str(path))
    lexers: Any = pytest.importorskip("pygments.lexers")
    lexer = lexers.load_lexer_from_file(str(path), "VucLexer")
    assert "add" in pygments.highlight("add $r1 $r2 $r3", lexer, pygments.formatters.get_formatter_by_name("html"))


def test_longer_words_are_tried_before_shorter_ones() -> None:
    patterns = dict(rules(isakit.isa("tesla")))
    assert re.match(patterns["mnemonic"], "addc")[0] == "addc"  # type: ignore[index]
