"""Names in a PTX text: only declarations, labels and braces are looked at, and uses on request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isakit.asm.source import SourceSpan
from isakit.lean import dataclass
from isakit.lsp.blocks import BlockNames
from isakit.lsp.texts import Definition

_NAME = re.compile(r"[%$_A-Za-z][\w$]*")
"""A name that can be declared."""
_WORD = re.compile(r"(?<![\w$.%])(?:%[\w$]+|[$_A-Za-z][\w$]*(?![\w$]*\.[A-Za-z]))")
"""A name where it is used: an opcode has a dot after its first word."""
_COMMENT = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_LINKED = r"(?:\.(?:visible|weak|extern|common)\s+)*"
_PARTS = re.compile(
    rf"\s+|(?P<comment>{_COMMENT}|\"[^\"\n]*\")"
    rf"|(?P<function>{_LINKED}\.(?:entry|func)(?![\w$])(?:[^;{{/]+|{_COMMENT}|/)*)"
    rf"|(?P<storage>{_LINKED}\.(?:s?reg|param|const|global|local|shared|tex)(?![\w$])"
    rf"(?:[^;{{}}/]+|{_COMMENT}|/|\{{[^{{}}]*(?:\{{[^{{}}]*\}}[^{{}}]*)*\}})*;?)"
    r"|(?P<label>[%$_A-Za-z][\w$]*)\s*:(?!:)"
    r"|[^;{}:\"/\n]{1,400};|(?P<mark>[{}])|[\w$%]+|.",
    re.S,
)
_PIECES = re.compile(rf"{_COMMENT}|(?P<directive>\.\w+)|(?P<word>{_NAME.pattern})|(?P<number>\d\w*)|[^\s]", re.S)
_STORAGE = {".reg": "register", ".sreg": "register", ".param": "parameter"}
"""Directives that declare something other than a variable."""
_KINDS = {".entry": "kernel", ".func": "function"}


@dataclass(frozen=True)
class _Range:
    """Registers that are declared together: `%r<20>`."""

    definition: Definition
    count: int


class PtxNames(BlockNames):
    """The names of a text, which need not compile."""

    WORD = _WORD

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._by_name: dict[str, dict[int, Definition]] = {}
        self._ranges: dict[str, dict[int, _Range]] = {}
        self._read()

    def count(self, definition: Definition) -> int | None:
        """Return how many registers a name stands for; None if it is a name by itself."""
        found = self._ranges.get(definition.name, {}).get(definition.section)
        return None if found is None or found.definition != definition else found.count

    def references(self, definition: Definition) -> list[SourceSpan]:
        """Return all places of a name, its definition included, in the order of the text.

        Of the name of a range of registers, they are the places of the name in those of its registers.
        """
        d, is_range = definition, self.count(definition) is not None
        use = re.compile(rf"(?<![\w$.%]){re.escape(d.name)}{'[0-9]+' if is_range else ''}(?![\w$])")
        found = {d.place}
        for m in use.finditer(self._text):
            if not self._is_comment(m.start()):
                known = self._definition(m[0], self._scope(m.start()))
                if known == d or (is_range and known is not None and known.place == d.place):
                    found.add(self._span(m.start(), len(d.name)))
        return sorted(found, key=lambda p: (p.line, p.column))

    def refusal(self, name: str, definition: Definition) -> str:
        """Return the reason why a new name is refused: invalid in PTX, or already in use."""
        d = definition
        if not _NAME.fullmatch(name) or name in ("%", "$", "_"):
            return f"{name!r} is not a name: letters, digits, `_` and `$`, no digit first, `%` only there"
        if self.count(d) is None and d.name not in self._by_name:
            return f"`{d.name}` is one of many registers: rename them in line {d.place.line}, where they are declared"
        new = [name, f"{name}0"] if self.count(d) is not None else [name]
        scopes = {self._scope(self._offset(p)) for p in self.references(d)}
        taken = any(self._definition(n, s) is not None for n in new for s in scopes)
        inner = any(set(scopes) & set(self._outwards(s)) for s in self._by_name.get(name, ()))
        return f"`{name}` is already declared" if taken or inner or name in self._ranges else ""

    def _meaning(self, name: str, offset: int) -> Definition | None:
        return self._definition(name, self._scope(offset))

    def _definition(self, name: str, scope: int) -> Definition | None:
        """Explain a name in a block."""
        known = self._by_name.get(name, {})
        ranges = [
            (int(name[n:]), self._ranges[name[:n]])
            for n in range(max(1, len(name) - 9), len(name))
            if name[:n] in self._ranges and name[n:].isdecimal() and name[n:] == str(int(name[n:]))
        ]
        bare = self._ranges.get(name, {})
        for s in self._outwards(scope):
            if s in known:
                return known[s]
            if s in bare:
                return bare[s].definition
            for number, of in ranges:
                if s in of and number < of[s].count:
                    return Definition(name, of[s].definition.place, "register", s)
        return None

    def _read(self) -> None:
        """Scan the text once. The parameters of a function belong to the block of its body."""
        scope = body = 0
        for m in _PARTS.finditer(self._text):
            kind = m.lastgroup
            if kind is None:
                continue
            if kind == "comment":
                self._comments.append(m.span())
            elif kind == "mark" and m[0] == "{":
                scope, body = body or self._block(scope), 0
                self._changes.append((m.start(), scope))
            elif kind == "mark":
                scope = self._parents[scope]
                self._changes.append((m.start(), scope))
            elif kind == "label":
                self._define(m["label"], m.start(), "label", scope)
            elif kind == "storage":
                self._declare(m, scope)
            else:
                body = self._block(scope)
                self._function(m, scope, body)
                self._changes += [(m.start(), body), (m.end(), scope)]

    def _pieces(self, part: re.Match[str]) -> Iterator[re.Match[str]]:
        """Yield the pieces of a part that are no comments."""
        for m in _PIECES.finditer(self._text, *part.span()):
            if m[0].startswith(("//", "/*")):
                self._comments.append(m.span())
            else:
                yield m

    def _declare(self, part: re.Match[str], scope: int) -> None:
        """Declare the names of a statement: those that no brackets are around, and that are no initial values."""
        pieces = list(self._pieces(part))
        kind = next((_STORAGE[p[0]] for p in pieces if p[0] in _STORAGE), "variable")
        depth, is_value = 0, False
        for k, p in enumerate(pieces):
            depth += (p[0] in "([{") - (p[0] in ")]}")
            if p[0] in ("=", ",") and not depth:
                is_value = p[0] == "="
            elif p.lastgroup == "word" and not is_value and not depth:
                count = [q[0] for q in pieces[k + 1 : k + 3]]
                is_range = len(count) == 2 and count[0] == "<" and count[1].isdecimal()
                self._define(p[0], p.start(), kind, scope, int(count[1][:9]) if is_range else None)

    def _function(self, part: re.Match[str], scope: int, body: int) -> None:
        """Declare a function, and its parameters in the block of its body."""
        depth, kind = 0, ""
        for p in self._pieces(part):
            depth += (p[0] == "(") - (p[0] == ")")
            kind = _KINDS.get(p[0], kind)
            if p.lastgroup == "word" and depth:
                self._define(p[0], p.start(), "parameter", body)
            elif p.lastgroup == "word" and kind:
                self._define(p[0], p.start(), kind, scope)
                kind = ""

    def _define(self, name: str, offset: int, kind: str, scope: int, count: int | None = None) -> None:
        """Declare a name in a block, or `count` registers whose names begin with it."""
        d = Definition(name, self._span(offset, len(name)), kind, scope)
        if count is not None:
            self._ranges.setdefault(name, {})[scope] = _Range(d, count)
        elif scope in (known := self._by_name.setdefault(name, {})):  # a function may be declared before its body
            return
        else:
            known[scope] = d
        self.definitions.append(d)


__all__ = ["PtxNames"]
