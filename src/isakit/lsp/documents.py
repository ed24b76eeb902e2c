"""An assembly text as the language server sees it: its errors, and the element at a position."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from isakit.asm import Program
from isakit.asm.directives import DIRECTIVES
from isakit.asm.source import Statement
from isakit.errors import AsmError, Diagnostic, IsakitError
from isakit.instruction_sets import Isa, file_directives, isa, isa_of_text
from isakit.lean import cached_property
from isakit.lsp.names import NameTable
from isakit.lsp.texts import LARGEST, Completion, Hover, Text

if TYPE_CHECKING:
    from isakit.codec import Explanation, Instruction

ASSEMBLY = {"isakit-tesla": "tesla", "isakit-vuc": "vuc", "isakit-usse": "usse"}
"""Languages of editors that are assembly, to instruction sets."""
_SEPARATOR = re.compile(r";|:(?!:)")
_FIRST = re.compile(r"(\([^()]*\)|\S+)\s+")


class Assembly(Text):
    """An assembly text, in the instruction set that it names, else in `isa_name`.

    `earlier` is the text before a change: results for its unchanged lines are reused.
    """

    def __init__(self, text: str, path: str, isa_name: str = "tesla", earlier: Assembly | None = None) -> None:
        self._text, self._path = text[:LARGEST], path
        self._is_whole = len(text) <= LARGEST
        self._lines = self._text.split("\n")
        self._names = NameTable(self._text, earlier.names.source if earlier is not None else None)
        self._isa_name = isa_name

    @cached_property
    def names(self) -> NameTable:
        """The names in the text, which are read at once: the next text goes on from them."""
        return self._names

    @cached_property
    def isa(self) -> Isa:
        """The instruction set that it is assembled for, which takes 0.2 s to load the first time."""
        with suppress(IsakitError):  # one that does not exist is reported when the text is assembled
            return isa_of_text(self._text) or isa(self._isa_name)
        return isa(self._isa_name)

    @cached_property
    def assembled(self) -> Program | AsmError:
        """The assembled program of the text, or its errors.

        Takes some 100 ms per 1,000 lines the first time, a tenth of that after a change.
        """
        try:
            return self.isa.assemble(self._text, path=self._path, earlier=self.names.source)
        except AsmError as e:
            return e
        except IsakitError as e:
            return AsmError([Diagnostic(1, 1, str(e))])

    def check(self) -> Iterator[list[Diagnostic]]:
        """Assemble the text, which is one step."""
        if not self._is_whole:
            yield [Diagnostic(1, 1, f"a text of more than {LARGEST} characters is not looked at")]
        else:
            yield list(self.assembled.diagnostics) if isinstance(self.assembled, AsmError) else []

    def prepare(self) -> None:
        """Collect the words that completions offer, and read and explain a statement: some 0.2 s the first time."""
        _prepare(self.isa.name, self.isa.variant)

    def hover(self, line: int, column: int) -> Hover | None:
        """Return the bits of an instruction, or the use of a directive; None if there is neither."""
        for s in self.names.statements.get(line, ()):
            if s.text and s.column <= column <= s.column + len(s.text):
                shown = self._directive(s) if s.text.startswith(".") else self._instruction(s)
                return Hover(shown, s.column, len(s.text)) if shown else None
        return None

    def completions(self, line: int, column: int) -> list[Completion]:
        """Return the words that may begin a statement, or those that may follow in one."""
        before = self._lines[line - 1][:column] if 0 < line <= len(self._lines) else ""
        vocabulary = _vocabulary(self.isa.name, self.isa.variant)
        if _begins_statement(before, self.isa):
            return [c for c in vocabulary if c.kind in ("instruction", "prefix", "directive")]
        names = [Completion(d.name, d.kind, f"{d.kind} in line {d.place.line}") for d in self.names.visible(line)]
        return names + [c for c in vocabulary if c.kind in ("register", "word")]

    def _directive(self, s: Statement) -> str:
        name = s.text.split(None, 1)[0]
        directive = DIRECTIVES.get(name) or file_directives(self.isa.name).get(name)
        return f"`{directive.usage}`\n\n{' '.join(directive.doc.split())}" if directive is not None else ""

    def _instruction(self, s: Statement) -> str:
        from isakit.docsgen.find import records_named
        from isakit.docsgen.overview import summary

        i = self._assembled_from(s)
        if i is not None:
            return _bits(i.explain())
        for word in s.text.split():  # it does not assemble: at least its operation may be known
            if found := records_named([self.isa.records], word):
                return "\n\n".join(f"**{word}** ({r.name}): {summary(r.doc)}" for _, r in found)
        return ""

    def _assembled_from(self, s: Statement) -> Instruction | None:
        """Return the instruction that a statement has become.

        Before the text is assembled, and where it cannot be, the statement is assembled by itself: None for one that
        needs the address of a label.
        """
        whole = self.__dict__.get("assembled")
        program = whole if isinstance(whole, Program) else self._alone(s)
        for part in (program.parts or [program]) if program is not None else ():
            here = sorted(a for a, line in part.source_lines.items() if line == s.line)
            if here:
                own = [x for x in self.names.statements[s.line] if x.text and not x.assigned and x.text[0] != "."]
                own = own if program is whole else [s]
                return part.at(here[min(own.index(s), len(here) - 1)])
        return None

    def _alone(self, s: Statement) -> Program | None:
        """Assemble a statement at its line with nothing but directives and values around it, which takes moments."""
        lines = [""] * len(self._lines)
        for n, statements in self.names.statements.items():
            wanted = [x for x in statements if x == s or x.assigned or x.text.startswith(".")]
            lines[n - 1] = "; ".join(f"{x.assigned} = {x.text}" if x.assigned else x.text for x in wanted)
        try:
            return self.isa.assemble("\n".join(lines), path=self._path)
        except IsakitError:
            return None


def _begins_statement(before: str, of: Isa) -> bool:
    """Return whether the word after a part of a line is the first one of a statement, after prefixes and guards."""
    text = _SEPARATOR.split(before)[-1].lstrip()
    while (m := _FIRST.match(text)) and (m[1] in of.records.prefixes or m[1].startswith("(")):
        text = text[m.end() :]
    return not any(c.isspace() for c in text)


@cache
def _prepare(isa_name: str, variant: str) -> None:
    word = next(c.word for c in _vocabulary(isa_name, variant) if c.kind == "instruction")
    Assembly(f".isa {isa_name} {variant}\n{word}", "", isa_name).hover(2, 0)


@cache
def _vocabulary(isa_name: str, variant: str) -> tuple[Completion, ...]:
    """Return the words of a variant of an instruction set that are not names."""
    from isakit.docsgen.find import records_named
    from isakit.docsgen.overview import summary
    from isakit.export.lexing import words_of

    of = isa(isa_name, variant)
    mnemonics, words, registers = words_of(of, variant)
    directives = {**DIRECTIVES, **file_directives(isa_name)}
    found: list[Completion] = []
    for m in mnemonics:
        records = records_named([of.records], m)
        found.append(Completion(m, "instruction", summary(records[0][1].doc) if records else ""))
    found += [Completion(p, "prefix") for p in of.records.prefixes]
    found += [Completion(d.name, "directive", d.usage) for d in directives.values()]
    found += [Completion(r, "register") for r in registers]
    found += [Completion(w, "word") for w in words]
    return tuple(found)


def _bits(e: Explanation) -> str:
    """Return the rows of an explanation as Markdown."""
    from isakit.docsgen.overview import summary

    head = " ".join(f"{w:0{e.word_digits}x}" for w in e.words)
    rows = [f"| {r.bits} | {_cell(r.field)} | `{r.value:#x}` | {_cell(r.meaning)} |" for r in e.rows]
    return "\n".join([
        "```", f"{head}  {e.text}", "```", summary(e.doc), "",
        f"*{e.name} ({e.form} form), {e.status}; {e.reference}*", "",
        "| bits | field | value | meaning |", "|---|---|---|---|", *rows,
    ])  # fmt: skip


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")


__all__ = ["ASSEMBLY", "Assembly"]
