"""The preprocessor: executes directives and expands macros; the parser reads the resulting tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import NamedTuple

from isakit.compile.shading.conditions import Condition
from isakit.compile.shading.lexer import LONGEST_TEXT, Token, tokens
from isakit.compile.shading.source import ShaderSources, ShadingError, SourceFile
from isakit.lean import dataclass

MOST_TOKENS = 1 << 18
"""Largest number of tokens that macros and included files may produce."""
DEEPEST_INCLUDE = 16
DEEPEST_CONDITION = 64

Resolver = Callable[[str, str], tuple[str, str]]
"""Finds an included file: (name, path of the including file) to (path, text). Raises OSError."""


REST = "__VA_ARGS__"
"""The parameter that takes all further arguments, as in C and HLSL."""


class Macro(NamedTuple):
    """A macro: its parameters (None: an object-like one) and its replacement."""

    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]


@dataclass
class Preprocessed:
    """The preprocessed text and the content of its directives.

    Attributes:
        version: number and profile of `#version`, if there is one.
        extensions: name to behaviour.
        pragmas: the words of each `#pragma`.
    """

    tokens: list[Token]
    version: tuple[int, str] | None = None
    extensions: dict[str, str] = field(default_factory=dict[str, str])
    pragmas: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])


_ES_VERSIONS = (100, 300, 310, 320)


class Preprocessor:
    """Preprocesses one shader.

    `defines` are predefined macros, and `GL_ES` is one of GLSL (`glsl`) unless its `#version` is one of desktop GLSL.
    """

    def __init__(
        self, sources: ShaderSources, defines: Mapping[str, str], resolver: Resolver | None = None, glsl: bool = False
    ) -> None:
        self.sources, self.resolver = sources, resolver
        self.glsl, self.es = glsl, glsl and "GL_ES" not in defines
        self.macros: dict[str, Macro] = {}
        self.out = Preprocessed([])
        self.conditions: list[tuple[Token, bool, bool]] = []
        """The directive, whether a branch was taken, and whether `#else` was there, of every open condition."""
        self.skipped = 0
        """From which open condition on text is left out; 0: it is not."""
        self.including = 0
        self.made = 0
        for name, value in (*([("GL_ES", "1")] if self.es else []), *defines.items()):
            self._predefine(name, value)

    def _predefine(self, name: str, value: str) -> None:
        head, bracket, rest = name.partition("(")
        if not head.isidentifier() or not head.isascii():
            raise ShadingError(0, f"a macro cannot be named {head[:40]!r}")
        file = self.sources.add(f"<-D {head}>", f"{bracket}{rest} {value}" if bracket else value)
        found = tokens(file)[:-1]
        self._define(Token("word", head, file.first), found)

    def run(self, file: SourceFile) -> Preprocessed:
        """Preprocess a text. Raises ShadingError."""
        self._text(file)
        self.out.tokens.append(Token("end", "", file.first + len(file.text), True))
        return self.out

    def _text(self, file: SourceFile) -> None:
        found = tokens(file)
        open_before = len(self.conditions)
        at, pending = 0, 0
        while found[at].kind != "end":
            t = found[at]
            if t.kind == "#" and t.first:
                self._emit(found[pending:at])
                end = at + 1
                while not found[end].first:
                    end += 1
                self._directive(found[at + 1 : end], t, file)
                at = pending = end
            elif self.skipped:
                at = pending = at + 1
            else:
                at += 1
        self._emit(found[pending:at])
        if len(self.conditions) > open_before:
            t = self.conditions[-1][0]
            raise ShadingError(t.pos, f"`#{t.text}` without `#endif`", len(t.text))

    def _emit(self, found: list[Token]) -> None:
        if found and not self.skipped:
            self.out.tokens += self.expand(found)
            if len(self.out.tokens) > MOST_TOKENS:
                raise ShadingError(found[-1].pos, f"the text has more than {MOST_TOKENS} tokens")

    # --- directives --------------------------------------------------------------------------------------------------
    def _directive(self, line: list[Token], mark: Token, file: SourceFile) -> None:
        if not line:
            return
        name, rest = line[0], line[1:]
        if name.text in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
            self._conditional(name, rest)
        elif not self.skipped:
            do = getattr(self, f"_do_{name.text}", None) if name.kind == "word" else None
            if do is None:
                raise ShadingError(name.pos, f"there is no directive `#{name.text[:40]}`", len(name.text))
            do(name, rest, file)

    def _conditional(self, name: Token, rest: list[Token]) -> None:
        opens = name.text.startswith("if")
        if opens and len(self.conditions) >= DEEPEST_CONDITION:
            raise ShadingError(name.pos, "conditions are nested too deeply", len(name.text))
        if not opens and not self.conditions:
            raise ShadingError(name.pos, f"`#{name.text}` without `#if`", len(name.text))
        depth = len(self.conditions)
        if opens:
            taken = not self.skipped and self._holds(name, rest)
            self.conditions.append((name, taken, False))
            if not taken and not self.skipped:
                self.skipped = depth + 1
            return
        first, taken, ended = self.conditions[-1]
        if name.text == "endif":
            self.conditions.pop()
            if self.skipped == depth:
                self.skipped = 0
            return
        if ended:
            raise ShadingError(name.pos, f"`#{name.text}` after `#else`", len(name.text))
        if self.skipped in (0, depth):
            now = not taken and (name.text == "else" or self._holds(name, rest))
            self.skipped = 0 if now else depth
            taken = taken or now
        self.conditions[-1] = (first, taken, name.text == "else")

    def _holds(self, name: Token, rest: list[Token]) -> bool:
        if name.text in ("ifdef", "ifndef"):
            if not rest or rest[0].kind != "word":
                raise ShadingError(name.pos, f"`#{name.text}` needs a name", len(name.text))
            return self._is_defined(rest[0].text) == (name.text == "ifdef")
        plain: list[Token] = []
        at = 0
        while at < len(rest):
            t = rest[at]
            at += 1
            if t.text != "defined":
                plain.append(t)
                continue
            bracket = at < len(rest) and rest[at].kind == "("
            at += bracket
            if at >= len(rest) or rest[at].kind != "word":
                raise ShadingError(t.pos, "`defined` needs a name", len(t.text))
            plain.append(Token("number", str(int(self._is_defined(rest[at].text))), t.pos))
            at += 1
            if bracket:
                if at >= len(rest) or rest[at].kind != ")":
                    raise ShadingError(t.pos, "a `)` is missing after `defined`", len(t.text))
                at += 1
        return bool(Condition(self.expand(plain), name).value())

    def _is_defined(self, name: str) -> bool:
        return name in self.macros or name in ("__LINE__", "__FILE__", "__VERSION__")

    def _do_define(self, name: Token, rest: list[Token], file: SourceFile) -> None:
        if not rest or rest[0].kind != "word":
            raise ShadingError(name.pos, "`#define` needs a name", len(name.text))
        if rest[0].text in ("defined", "__LINE__", "__FILE__", "__VERSION__"):
            raise ShadingError(rest[0].pos, f"`{rest[0].text}` cannot be defined", len(rest[0].text))
        self._define(rest[0], rest[1:])

    def _define(self, name: Token, rest: list[Token]) -> None:
        parameters: tuple[str, ...] | None = None
        if (rest and rest[0].kind == "(" and rest[0].pos == name.pos + len(name.text)) or (
            rest and rest[0].kind == "(" and rest[0].pos == name.pos
        ):  # fmt: skip
            names: list[str] = []
            at = 1
            while at < len(rest) and rest[at].kind != ")":
                if not self.glsl and [t.kind for t in rest[at : at + 4]] == [".", ".", ".", ")"]:
                    names.append(REST)
                    at += 3
                    continue
                if rest[at].kind != "word" or rest[at].text in names:
                    raise ShadingError(rest[at].pos, "a parameter's name was expected", len(rest[at].text))
                names.append(rest[at].text)
                at += 1
                if at < len(rest) and rest[at].kind == ",":
                    at += 1
                elif at < len(rest) and rest[at].kind != ")":
                    raise ShadingError(rest[at].pos, "`,` or `)` was expected", len(rest[at].text))
            if at >= len(rest):
                raise ShadingError(name.pos, f"the parameters of `{name.text}` do not end", len(name.text))
            parameters, rest = tuple(names), rest[at + 1 :]
        if rest and "##" in (rest[0].kind, rest[-1].kind):
            raise ShadingError(rest[0].pos, "`##` stands between two tokens")
        self.macros[name.text] = Macro(parameters, tuple(t._replace(first=False) for t in rest))

    def _do_undef(self, name: Token, rest: list[Token], file: SourceFile) -> None:
        if not rest or rest[0].kind != "word":
            raise ShadingError(name.pos, "`#undef` needs a name", len(name.text))
        self.macros.pop(rest[0].text, None)

    def _do_error(self, name: Token, rest: list[Token], file: SourceFile) -> None:
        said = file.text[name.pos + 5 - file.first :].partition("\n")[0].strip()
        raise ShadingError(name.pos, f"#error {said}"[:200], len(name.text))

    def _do_warning(self, name: Token, rest: list[Token], file: SourceFile) -> None:
        said = file.text[name.pos + 7 - file.first :].partition("\n")[0].strip()
        self.sources.warn(name.pos, f"#warning {said}"[:200], len(name.text))

    def _do_version(self, name: Token, rest: list[Token], file: SourceFile) -> None:
        if not rest or rest[0].kind != "number" or not rest[0].text.isdecimal() or len(rest[0].text) > 4:
            raise ShadingError(name.pos, "`#version` needs a number", len(name.text))
        number, profile = int(rest[0].text), rest[1].text if len(rest) > 1 else ""
        self.out.version = number, profile
        if self.es and profile != "es" and number not in _ES_VERSIONS:
            self.macros.pop("GL_ES", None)

    def _do_extension(self, name: Token, rest: list[Token], file: SourceFile) -> None:
        if len(rest) < 3 or rest[0].kind != "word" or rest[1].kind != ":" or rest[2].kind != "word":
            raise ShadingError(name.pos, "`#extension` needs a name, `:` and a behaviour", len(name.text))
        self.out.extensions[rest[0].text] = rest[2].text

    def _do_pragma(self, name: Token, rest: list[Token], file: SourceFile) -> None:
        self.out.pragmas.append(tuple(t.text for t in rest))

    def _do_line(self, name: Token, rest: list[Token], file: SourceFile) -> None:
        rest = self.expand(rest)
        if not rest or rest[0].kind != "number" or not rest[0].text.isdecimal() or len(rest[0].text) > 9:
            raise ShadingError(name.pos, "`#line` needs a number", len(name.text))
        path = rest[1].text.strip('"') if len(rest) > 1 and rest[1].kind == "string" else None
        self.sources.renumber(name.pos, int(rest[0].text), path)

    def _do_include(self, name: Token, rest: list[Token], file: SourceFile) -> None:
        said = "".join(t.text for t in rest)
        wanted = said[1:-1] if len(said) > 2 and said[0] + said[-1] in ('""', "<>") else ""
        if not wanted:
            raise ShadingError(name.pos, "`#include` needs the name of a file in quotes", len(name.text))
        place = rest[0].pos
        if self.resolver is None:
            raise ShadingError(place, "files cannot be included here", len(said))
        if self.including >= DEEPEST_INCLUDE:
            raise ShadingError(place, "files include each other too deeply", len(said))
        try:
            path, text = self.resolver(wanted, file.path)
        except OSError as e:
            raise ShadingError(place, f"{wanted[:80]!r} cannot be included: {e.strerror or e}", len(said)) from None
        if sum(len(f.text) for f in self.sources.files) + len(text) > LONGEST_TEXT:
            raise ShadingError(place, f"the text has more than {LONGEST_TEXT} characters", len(said))
        self.including += 1
        self._text(self.sources.add(path, text))
        self.including -= 1

    # --- macros ------------------------------------------------------------------------------------------------------
    def expand(self, found: list[Token]) -> list[Token]:
        """Replace every macro in tokens."""
        out: list[Token] = []
        todo = found[::-1]
        while todo:
            t = todo.pop()
            if t.kind == "wrong":
                raise ShadingError(t.pos, f"{t.text!r} begins nothing that a shader may contain")
            macro = self.macros.get(t.text) if t.kind == "word" else None
            if macro is None or t.text in t.hidden:
                out.append(self._builtin(t) if t.text.startswith("__") else t)
                continue
            if macro.parameters is None:
                hidden = t.hidden | {t.text}
                body = self._substituted(macro, {}, t.pos, hidden)
            else:
                given = self._arguments(t, macro, todo)
                if given is None:
                    out.append(t)
                    continue
                body = self._substituted(macro, given, t.pos, t.hidden | {t.text})
            self.made += len(body) + 1
            if self.made > MOST_TOKENS:
                raise ShadingError(t.pos, f"macros make more than {MOST_TOKENS} tokens", len(t.text))
            todo += reversed(body)
        return out

    def _builtin(self, t: Token) -> Token:
        if t.text == "__LINE__":
            return t._replace(kind="number", text=str(max(0, self.sources.line(t.pos))))
        if t.text == "__FILE__":
            return t._replace(kind="number", text="0")
        if t.text == "__VERSION__":
            return t._replace(kind="number", text=str(self.out.version[0] if self.out.version else 100))
        return t

    def _arguments(self, name: Token, macro: Macro, todo: list[Token]) -> dict[str, list[Token]] | None:
        """Return the arguments of a macro by parameter; None where no parenthesis follows its name."""
        assert macro.parameters is not None
        if not todo or todo[-1].kind != "(":
            return None
        todo.pop()
        given: list[list[Token]] = [[]]
        has_rest = REST in macro.parameters
        depth = 0
        while True:
            if not todo:
                raise ShadingError(name.pos, f"the arguments of `{name.text}` do not end", len(name.text))
            t = todo.pop()
            if t.kind == ")" and not depth:
                break
            depth += (t.kind == "(") - (t.kind == ")")
            if t.kind == "," and not depth and not (has_rest and len(given) == len(macro.parameters)):
                given.append([])
            else:
                given[-1].append(t)
        if not macro.parameters and given == [[]]:
            given = []
        if has_rest and len(given) == len(macro.parameters) - 1:
            given.append([])
        if len(given) != len(macro.parameters):
            raise ShadingError(
                name.pos, f"`{name.text}` takes {len(macro.parameters)} arguments, not {len(given)}", len(name.text)
            )
        return dict(zip(macro.parameters, given, strict=True))

    def _substituted(
        self, macro: Macro, given: dict[str, list[Token]], pos: int, hidden: frozenset[str]
    ) -> list[Token]:
        """Return a macro's replacement with its arguments; the macro's own tokens get the position of its use."""
        out: list[Token] = []
        expanded: dict[str, list[Token]] = {}
        body = macro.body
        at = 0
        while at < len(body):
            t = body[at]
            joined = at + 1 < len(body) and body[at + 1].kind == "##"
            if t.kind == "##":
                at += 1
                right = given.get(body[at].text, [body[at]]) if body[at].kind == "word" else [body[at]]
                if out and right:
                    out[-1:] = [self._pasted(out[-1], right[0], pos, hidden), *right[1:]]
                else:
                    out += right
            elif t.kind == "word" and t.text in given:
                if joined:
                    out += given[t.text] or [Token("", "", pos)]
                else:
                    if t.text not in expanded:
                        expanded[t.text] = self.expand(given[t.text])
                    out += expanded[t.text]
                if len(out) > MOST_TOKENS:
                    raise ShadingError(pos, f"macros make more than {MOST_TOKENS} tokens")
            else:
                out.append(t._replace(pos=pos))
            at += 1
        return [t._replace(hidden=t.hidden | hidden, first=False) for t in out if t.kind]

    def _pasted(self, a: Token, b: Token, pos: int, hidden: frozenset[str]) -> Token:
        made = tokens(SourceFile("", a.text + b.text, 0, [0]))
        if len(made) != 2:
            raise ShadingError(pos, f"`{a.text[:20]}` and `{b.text[:20]}` do not make one token")
        return made[0]._replace(pos=pos, first=False, hidden=hidden)
