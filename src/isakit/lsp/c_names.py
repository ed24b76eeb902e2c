"""Names in texts of C's family: CUDA C, OpenCL C, Cg and GLSL.

A text is read statement by statement: one that begins with a type and a name declares, all others only use names.
Macros are not expanded.
"""

from __future__ import annotations

import re

from isakit.lsp.blocks import BlockNames
from isakit.lsp.texts import Definition

_STRING = r"\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?"
_COMMENT = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_PARTS = re.compile(
    rf"\s+|(?P<comment>{_COMMENT}|{_STRING})"
    r"|(?P<directive>\#(?:[^\n\\]|\\.)*)"
    r"|(?P<mark>[{}])"
    rf"|(?P<statement>(?:[^;{{}}\#\"'/]|{_STRING}|{_COMMENT}|/)+;?|;)|.",
    re.S,
)
_PIECES = re.compile(rf"(?P<comment>{_COMMENT}|{_STRING})|(?P<word>[A-Za-z_]\w*)|\d[\w.]*|::|->|\S", re.S)
_MACRO = re.compile(r"\#[ \t]*define[ \t]+([A-Za-z_]\w*)")
_TEMPLATE = re.compile(r"template\s*<([^{};]*?)>(?=\s*[A-Za-z_])")
_TEMPLATE_NAME = re.compile(r"\b\w+\s+(?:\.\.\.\s*)?([A-Za-z_]\w*)\s*(?=[,=]|\Z)")
_PREFIX = re.compile(r"\s*(?:extern\s*\"C\"|layout\s*\([^()]*\)|else\b|case\b[^:;]*:|default\s*:|\w+\s*:(?!:))")
"""Words that may precede a declaration."""
_LOOP = re.compile(r"\bfor\s*\(")
_BEGINS = re.compile(
    r"\s*(?!(?:return|goto|delete|new|throw|using|if|while|switch|do|break|continue|sizeof|asm)\b)"
    r"(?:::)?[A-Za-z_]\w*(?:\s*::\s*\w+)*(?:\s*<[^;<>()]*>)?(?:\s+[*&\s]*|\s*[*&][*&\s]*)[A-Za-z_(]"
)
"""The beginning of a declaration: a type, or words before one, and a name."""
_ASSIGNS = re.compile(r"\s*[A-Za-z_]\w*\s*(?:[-+*/%&|^.(]|<<|>>)?\s*=|\s*[A-Za-z_]\w*\s*(?:[\[.]|->)")
"""The beginning of most statements that declare nothing: an assignment, an access to a member or an element."""
_AGGREGATE = re.compile(r"\s*(?:typedef\s+)?(?:\w+\s+)*?(struct|union|class|enum|cbuffer|namespace)\b[^();=]*\Z", re.S)
_INTERFACE = re.compile(r"\s*(?:layout\s*\([^()]*\)\s*)?(?:uniform|in|out|buffer)\s+\w+\s*\Z")
_PLAIN = re.compile(r"\s*(?:[*&]\s*)*[A-Za-z_]\w*\s*(?:[,\[;=][^;]*)?;")
_TYPES = frozenset({
    "void", "bool", "char", "short", "int", "long", "float", "double", "half", "fixed", "signed", "unsigned",
    "const", "volatile", "restrict", "__restrict",
})  # fmt: skip
"""Words that cannot be names."""
_ATTRIBUTES = ("__attribute__", "__launch_bounds__", "__align__", "__declspec", "alignas")
_KERNEL = re.compile(r"\b(?:__global__|__kernel|kernel)\b")


class CNames(BlockNames):
    """The names of a text. Of several variables of one name in a block, each holds up to the next."""

    WORD = re.compile(r"(?<![\w$])[A-Za-z_]\w*")

    def __init__(self, text: str) -> None:
        self._by_name: dict[str, dict[int, list[tuple[int, Definition]]]] = {}
        self._members: set[int] = set()
        super().__init__(text)
        self._read()

    def members(self) -> list[Definition]:
        """Return the members of all structures."""
        return [d for d in self.definitions if d.section in self._members]

    def is_access(self, offset: int) -> bool:
        """Return whether a dot or an arrow precedes the word at an offset."""
        return self._text[max(0, offset - 40) : offset].rstrip().endswith((".", "->"))

    def refusal(self, name: str, definition: Definition) -> str:
        """Return the reason why a new name is refused: invalid in C, already in use, or not all uses are known."""
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in _TYPES:
            return f"{name!r} is not a name: letters, digits and `_`, no digit first, no word of the language"
        if definition.section in self._members:
            return f"`{definition.name}` is a member: which of the accesses with a point are its own is not known"
        used = [self._offset(p) for p in self.references(definition)]
        taken = any(self._meaning(name, at) is not None for at in used)
        scopes = {self._scope(at) for at in used}
        inner = any(scopes & set(self._outwards(s)) for s in self._by_name.get(name, ()))
        return f"`{name}` is already defined" if taken or inner else ""

    def offset(self, definition: Definition) -> int:
        """Return the offset of a definition in characters of the text."""
        return self._offset(definition.place)

    def declaration(self, definition: Definition) -> str:
        """Return the statement that declares a name, up to a body or a value, in one line."""
        at = self._offset(definition.place)
        back = max(self._text.rfind(c, 0, at) for c in ";{}")
        while back >= 0 and self._is_comment(back):
            back = max(self._text.rfind(c, 0, back) for c in ";{}")
        line = self._text.rfind("\n", 0, at) + 1
        end = re.compile(r"[;{}]|\Z").search(self._text, at)
        assert end is not None
        if self._text[line:at].lstrip().startswith("#"):
            return self._text[line:].split("\n", 1)[0].strip()
        if definition.kind == "value":
            return " ".join(self._text[at : end.start()].split(",", 1)[0].split())
        text = self._text[back + 1 : end.start()]
        text = re.sub(rf"(?s){_COMMENT}|(?m:^[ \t]*#[^\n]*$)", " ", text)
        return " ".join(text.split())

    def _meaning(self, name: str, offset: int) -> Definition | None:
        known = self._by_name.get(name)
        if known is None:
            return None
        if self.is_access(offset):
            found = [d for s in known if s in self._members for _, d in known[s]]
            return found[0] if len(found) == 1 else None
        for s in self._outwards(self._scope(offset)):
            here = known.get(s, [])
            if here and here[0][1].kind in ("function", "kernel", "type"):
                return here[0][1]
            found = [d for at, d in here if at <= offset]
            if found or (here and (not s or s in self._members)):
                return found[-1] if found else here[0][1]
        return None

    def _read(self) -> None:
        """Read the definitions and blocks of the text. The parameters of a function belong to the block of its body."""
        scope, body = 0, -1
        kinds = {0: ""}
        closed, is_value = "", False
        for m in _PARTS.finditer(self._text):
            kind = m.lastgroup
            if kind is None:
                continue
            if kind == "comment":
                self._comments.append(m.span())
            elif kind == "directive":
                self._comments.append(m.span()) if "include" in m[0][:12] else self._macro(m)
            elif m[0] == "{":
                inner = body if body >= 0 else self._block(scope)
                if is_value or inner not in kinds:
                    kinds[inner] = "value" if is_value else ""
                is_value = False
                scope, body = inner, -1
                self._changes.append((m.start(), scope))
            elif m[0] == "}":
                closed = kinds[scope]
                scope, body = self._parents[scope], -1
                self._changes.append((m.end(), scope))
            else:
                is_value = m[0].rstrip().endswith(("=", ","))
                if closed == "value" and m[0].startswith(","):
                    self._declare(m[0], m.start(), scope, "variable", -1, "")
                else:
                    body = self._statement(m, scope, kinds, closed)
                closed = ""

    def _macro(self, m: re.Match[str]) -> None:
        if found := _MACRO.match(m[0]):
            self._define(found[1], m.start() + found.start(1), "value", 0)

    def _statement(self, m: re.Match[str], scope: int, kinds: dict[int, str], closed: str) -> int:
        """Define the names that a statement declares; return the block of a body after it, -1 for a new one."""
        text, at = m["statement"], m.start()
        opens = self._text[m.end() : m.end() + 1] == "{"
        if "/" in text or '"' in text or "'" in text:
            self._comments += [(at + c.start(), at + c.end()) for c in _PIECES.finditer(text) if c["comment"]]
        if kinds[scope] == "enum":
            self._declare(text, at, self._parents[scope], "value", -1, "")
            return -1
        if _ASSIGNS.match(text):
            return -1
        inner = -1
        if opens and ((a := _AGGREGATE.match(text)) or _INTERFACE.match(text)):
            kind = a[1] if a is not None else "namespace"
            inner = scope if kind in ("namespace", "cbuffer") else self._block(scope)
            kinds[inner] = kinds.get(inner, "") if inner == scope else kind
            name = re.search(r"([A-Za-z_]\w*)\s*(?::[^:].*)?\Z", text, re.S)
            if name is not None and name[1] != kind and kind != "namespace":
                self._define(name[1], at + name.start(1), "type", scope)
            if kind in ("struct", "union", "class"):
                self._members.add(inner)
            return inner
        if closed in ("struct", "union", "class", "enum"):
            if _PLAIN.match(text):
                before = self._text[self._text.rfind(";", 0, self._text.rfind("{", 0, at)) + 1 : at]
                self._declare(text, at, scope, "type" if "typedef" in before else "variable", -1, "")
            return -1
        if opens and re.match(r"\s*extern\s*\"C\"\s*\Z", text):
            return scope
        start = max((f.end() for f in _LOOP.finditer(text)), default=0) if "for" in text else 0
        templates: list[tuple[str, int]] = []
        while (p := _TEMPLATE.match(text, _skip(text, start))) or (p := _PREFIX.match(text, start)):
            if p.re is _TEMPLATE:
                templates += [(t[1], p.start(1) + t.start(1)) for t in _TEMPLATE_NAME.finditer(p[1])]
            start = p.end()
        if not _BEGINS.match(text, _skip(text, start)):
            return -1
        if opens or templates:
            inner = self._block(scope)
            kinds[inner] = ""
            for name, offset in templates:
                self._define(name, at + offset, "type", inner)
        head = text[start:]
        word = head.split(None, 1)[0]
        kind = "type" if word == "typedef" else "kernel" if _KERNEL.search(head) else ""
        is_function = self._declare(head, at + start, scope, kind, inner, "body" if opens else "")
        if inner >= 0 and (is_function or templates):
            self._changes += [(at + start, inner), (m.end(), scope)]
        return inner if opens else -1

    def _declare(self, text: str, at: int, scope: int, kind: str, body: int, form: str) -> bool:
        """Define the names of a declaration; return whether it declares a function.

        With a `form`, a body follows. Parameters of a function are defined in the block `body`, left out if that is -1.
        """
        name: re.Match[str] | None = None
        words = depth = angles = 0
        is_value = is_attribute = False
        for p in _PIECES.finditer(text):
            c = p[0]
            if p.lastgroup == "comment":
                continue
            if c in _ATTRIBUTES and not depth:
                is_attribute = True
                continue
            if c in ("(", "[") and not depth and name is not None and not is_value:
                if is_attribute:
                    is_attribute = False
                elif c == "(" and (form or (kind != "type" and (scope == 0 or scope in self._members))) and words > 1:
                    self._define(name[0], at + name.start(), kind or "function", scope)
                    self._parameters(text, p.end(), at, body)
                    return True
            depth += (c in "([") - (c in ")]")
            if depth:
                continue
            angles += (c == "<") - (c == ">") if not is_value else 0
            if c in ("=", ",", ";", ":") and angles <= 0:
                if name is not None and not is_value and (words > 1 or kind):
                    self._define(name[0], at + name.start(), kind or "variable", scope)
                    words, name = max(words, 2), None
                is_value = c in ("=", ":") or (c == ";" and is_value)
            elif p.lastgroup == "word" and not is_value and angles <= 0:
                name, words = p, words + 1
        if name is not None and not is_value and (words > 1 or kind) and not form:
            self._define(name[0], at + name.start(), kind or "variable", scope)
        return False

    def _parameters(self, text: str, start: int, at: int, body: int) -> None:
        """Define the parameters of a function in the block of its body."""
        depth, words, name, is_value = 0, 0, None, False
        for p in _PIECES.finditer(text, start):
            c = p[0]
            ends = depth == 0 and c in (",", ")")
            if ends and name is not None and words > 1 and name[0] not in _TYPES and body >= 0:
                self._define(name[0], at + name.start(), "parameter", body)
            if depth == 0 and c == ")":
                return
            depth += (c in "([") - (c in ")]")
            if ends:
                words, name, is_value = 0, None, False
            elif c in ("=", ":") and not depth:
                is_value = True
            elif p.lastgroup == "word" and not is_value and not depth:
                name, words = p, words + 1

    def _define(self, name: str, offset: int, kind: str, scope: int) -> None:
        d = Definition(name, self._span(offset, len(name)), kind, scope)
        known = self._by_name.setdefault(name, {}).setdefault(scope, [])
        known.append((offset, d))
        self.definitions.append(d)


def _skip(text: str, at: int) -> int:
    """Return the offset after the blanks and comments at an offset."""
    m = re.compile(rf"(?s)(?:\s+|{_COMMENT})*").match(text, at)
    return m.end() if m is not None else at


__all__ = ["CNames"]
