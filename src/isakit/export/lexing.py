"""Assembly in colour: one grammar per instruction set, as a Pygments lexer and as a TextMate grammar.

The words come from the records: mnemonics, words of operands, registers; numbers, labels, comments and directives are
those of the assembler.
"""

from __future__ import annotations

import re

from isakit.asm.directives import DIRECTIVES
from isakit.instruction_sets import Isa, file_directives
from isakit.instruction_sets import isa as instruction_set
from isakit.json_text import JsonObject
from isakit.registry import VARIANTS
from isakit.spec.fields import subsets
from isakit.spec.isa import View
from isakit.spec.parts import Choice, Part, Reg, Template, possible_bits, text_of

_SIMPLE = re.compile(r"[A-Za-z_][\w.]*")
_NUMBER = r"-?(?:0x[0-9a-fA-F]+|0b[01]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?f?)\b"
_LABEL = r"[A-Za-z_.][\w.$]*(?=\s*:(?!:))"
_TEXT_BITS = 10
_SCOPES = {
    "comment": "comment.line.double-slash", "block": "comment.block", "label": "entity.name.label",
    "directive": "keyword.other.directive", "mnemonic": "keyword.mnemonic", "register": "variable.language.register",
    "number": "constant.numeric", "word": "support.type.operand", "unknown": "invalid.illegal",
}  # fmt: skip


def words_of(isa: Isa, variant: str = "") -> tuple[list[str], list[str], list[str]]:
    """Return (mnemonics, other words, registers without the number) of a variant of an instruction set, or of all."""
    mnemonics: set[str] = set()
    words: set[str] = set()
    registers: set[str] = set()
    seen: set[int] = set()

    def visit(part: Part) -> None:
        if id(part) in seen:
            return
        seen.add(id(part))
        if isinstance(part, Choice):
            for a in part.alternatives:
                visit(a.part)
        elif isinstance(part, Template):
            words.update(w for _, w, p in part.items if p is None and _SIMPLE.fullmatch(w))
            for p in part.children:
                visit(p)
        elif isinstance(part, Reg):
            registers.update(re.sub(r"\d+.*", "", n) for n in part.texts if n and "[" not in n)
        elif possible_bits(part).bit_count() <= _TEXT_BITS and not part.addressed:
            for w in subsets(possible_bits(part)):
                words.update(t for t in text_of(part, w).replace(":", " ").split() if _SIMPLE.fullmatch(t))

    for view in _views(isa, variant):
        for form in view.forms:
            mnemonics.update(form.mnemonics)
            for part in form.parts.values():
                visit(part)
            words.update(i for i in form.syntax if _SIMPLE.fullmatch(i))
    mnemonics.update(isa.records.pseudo)
    words.update(isa.records.prefixes)
    return sorted(mnemonics), sorted(words - mnemonics), sorted(r for r in registers if r)


def _views(isa: Isa, variant: str) -> list[View]:
    variants = [variant] if variant else isa.records.variants
    return [isa.records.view(v, p) for v in variants for p in isa.records.programs]


def rules(isa: Isa) -> list[tuple[str, str]]:
    """Return (kind, regular expression) in the order in which they are tried; kinds are the keys of the scopes."""
    mnemonics, words, registers = words_of(isa)
    directives = sorted({*DIRECTIVES, *file_directives(isa.name)}, key=lambda d: (-len(d), d))
    sigils = "|".join(re.escape(r) for r in sorted(registers, key=lambda r: (-len(r), r)))
    return [
        ("comment", r"//.*|^\s*#.*"),
        ("label", _LABEL),
        ("directive", rf"(?:{'|'.join(map(re.escape, directives))})\b"),
        ("register", rf"(?:{sigils})(?:\d+[a-z]*|(?!\w))" + (r"|\$\w+" if "$r" in registers else "")),
        ("number", _NUMBER),
        ("mnemonic", rf"(?<![\w.$])(?:{_alternatives(mnemonics)})(?![\w$])"),
        ("word", rf"(?<![\w.$])(?:{_alternatives(words)})(?![\w$])"),
    ]


def _alternatives(words: list[str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=lambda w: (-len(w), w))))


def textmate(isa: Isa | str) -> JsonObject:
    """Return a TextMate grammar, as the JSON that editors take. Scope `source.isakit.NAME`, files `.NAME.s`."""
    chosen = instruction_set(isa) if isinstance(isa, str) else isa
    patterns: list[JsonObject] = [
        {"name": f"{_SCOPES['block']}.isakit", "begin": r"/\*", "end": r"\*/"},
    ]
    patterns += [{"name": f"{_SCOPES[kind]}.isakit", "match": match} for kind, match in rules(chosen)]
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": f"isakit {chosen.name}",
        "scopeName": f"source.isakit.{chosen.name}",
        "fileTypes": [f"{chosen.name}.s"],
        "patterns": patterns,
    }


_TOKENS = {
    "comment": "Comment.Single", "label": "Name.Label", "directive": "Keyword.Pseudo", "mnemonic": "Keyword",
    "register": "Name.Variable", "number": "Number", "word": "Keyword.Type",
}  # fmt: skip


def pygments_source(isa: Isa) -> str:
    """Return a Python module with a Pygments lexer that needs only Pygments."""
    name = f"{isa.name.capitalize()}Lexer"
    lines = [f"            ({match!r}, {_TOKENS[kind]})," for kind, match in rules(isa)]
    return "\n".join([
        f'"""Pygments lexer of {isa.name} assembly, generated by isakit from its records; not to be edited."""', "",
        "import re", "",
        "from pygments.lexer import RegexLexer",
        "from pygments.token import Comment, Keyword, Name, Number, Punctuation, Text", "", "",
        f"class {name}(RegexLexer):",
        f'    """Assembly of {isa.name} as isakit writes and reads it."""', "",
        f"    name = {f'isakit {isa.name}'!r}",
        f"    aliases = [{f'isakit-{isa.name}'!r}]",
        f"    filenames = [{f'*.{isa.name}.s'!r}]",
        "    flags = re.MULTILINE",
        "    tokens = {", '        "root": [',
        r'            (r"/\*[\s\S]*?\*/", Comment.Multiline),',
        *lines,
        r'            (r"\s+", Text),', r'            (r"[\w.$@?]+", Name),', r'            (r".", Punctuation),',
        "        ],", "    }", "",
    ])  # fmt: skip


def pygments_lexer(isa: Isa | str) -> type[object]:
    """Return the lexer class itself. Needs Pygments."""
    chosen = instruction_set(isa) if isinstance(isa, str) else isa
    space: JsonObject = {"__name__": f"isakit.export.{chosen.name}_lexer"}
    exec(compile(pygments_source(chosen), f"<lexer of {chosen.name}>", "exec"), space)
    return space[f"{chosen.name.capitalize()}Lexer"]


def names() -> list[str]:
    """Return the names of the instruction sets there are lexers for."""
    return list(VARIANTS)
