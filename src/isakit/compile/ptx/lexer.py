"""Tokens of PTX."""

from __future__ import annotations

import re
from typing import NamedTuple

from isakit.compile.ptx.syntax import PtxSyntaxError


class PtxToken(NamedTuple):
    """`kind`: word, directive, number, real, string, or the punctuation itself; end at the end of the text."""

    kind: str
    text: str
    pos: int


_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n\f\v]+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<real>0[fF][0-9a-fA-F]{8}(?![0-9a-zA-Z])|0[dD][0-9a-fA-F]{16}(?![0-9a-zA-Z])"
    r"|\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)"
    r"|(?P<number>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+U?)"
    r"|(?P<directive>\.[A-Za-z_][\w$]*)"
    r"|(?P<word>[%$_A-Za-z][\w$]*(?:(?:\.|::)[\w$]+)*)"
    r'|(?P<string>"[^"\n]*")'
    r"|(?P<mark><<|>>|&&|\|\||[<>=!]=|[-+*/&|^~!?:;,(){}\[\]@<>=%])",
    re.S,
)


def tokens(text: str) -> list[PtxToken]:
    """Return all tokens, followed by one of kind `end`.

    Raises PtxSyntaxError at the first character that begins no token.
    """
    out: list[PtxToken] = []
    at, end = 0, len(text)
    match = _TOKEN.match
    while at < end:
        m = match(text, at)
        if m is None:
            what = (
                "a comment that does not end" if text.startswith("/*", at) else f"{text[at]!r} begins no token of PTX"
            )
            raise PtxSyntaxError(at, what)
        kind = m.lastgroup or ""
        if kind != "space":
            word = m.group()
            out.append(PtxToken(word if kind == "mark" else kind, word, at))
        at = m.end()
    out.append(PtxToken("end", "", end))
    return out


def outside_calls(found: list[PtxToken]) -> list[PtxToken]:
    """Return the tokens without labels inside of `call` instructions.

    LLVM writes the parts of a call as instructions of their own, with labels for line tables between them. Elsewhere a
    label follows neither a comma nor a parenthesis nor the name of an instruction, and precedes neither.
    """
    out: list[PtxToken] = []
    k, last = 0, len(found) - 1
    while k <= last:
        t = found[k]
        if t.kind == "word" and k + 1 < last and found[k + 1].kind == ":" and out:
            before = out[-1]
            called = before.kind == "word" and before.text.split(".")[0] == "call"
            if called or before.kind in (",", "(") or found[k + 2].kind in (",", ")"):
                k += 2
                continue
        out.append(t)
        k += 1
    return out
