"""Finding instructions: by a text with wildcards, or by conditions on their fields and effects.

`ld * g14[$r*]` is compared with the text, word by word: `*` alone stands for any number of words, inside a word for any
characters, `?` for one. A guard, `long` and the like may precede it. `opcode=mad and writes=$r5 and not sat` is a
condition: `KEY=VALUE` with wildcards in the value, a word of the text, `and`, `or`, `not`, parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate

from isakit.codec import Immediate, Instruction
from isakit.errors import IsakitError, did_you_mean

Test = Callable[[Instruction], bool]

_IN_FRONT = r"(?: \([^)]*\))?(?: (?:long|exit|join|lock|\$\w+))*?"
_BEHIND = r"(?: \{0x[0-9a-f]+\})?"
_CONDITION = re.compile(r"\w+=|\b(?:and|or|not)\b")
_TOKEN = re.compile(r"\s*(\(|\)|(?:[^\s()]|\([^\s()]*\))+)")
_MOST = 1000
"""Characters of a pattern."""
_DEEPEST = 50
"""Parentheses and `not` inside each other."""


def _texts(i: Instruction) -> list[str]:
    return [str(o) for o in i.operands]


def _numbers(i: Instruction) -> list[str]:
    return [hex(o.value) for o in i.operands if isinstance(o, Immediate)]


KEYS: dict[str, tuple[str, Callable[[Instruction], list[str]]]] = {
    "opcode": ("the operation, or the name of its page in the manual",
               lambda i: [i.mnemonic, i.record.name] if i.record is not None else []),
    "group": ("what it is for: arithmetic, move, memory, texture, branch, call, return, exit, barrier, control",
              lambda i: [i.group.value] if i.group is not None else []),
    "reads": ("a register it reads", lambda i: list(i.reads)),
    "writes": ("a register it writes", lambda i: list(i.writes)),
    "operand": ("an operand", _texts),
    "immediate": ("a number in it, in hexadecimal", _numbers),
    "target": ("where it branches, in hexadecimal", lambda i: [hex(i.target)] if i.target is not None else []),
    "address": ("where it stands, in hexadecimal", lambda i: [hex(i.address)]),
    "word": ("a word of it, in hexadecimal with all digits", lambda i: [f"{w:#010x}" for w in i.words]),
    "size": ("its size in bytes", lambda i: [str(i.size)]),
    "status": ("how certain its meaning is: known, inferred, unknown",
               lambda i: [i.record.status.value] if i.record is not None else []),
    "valid": ("yes or no", lambda i: ["yes" if i.error is None else "no"]),
    "error": ("the name of the decode error", lambda i: [i.error] if i.error is not None else []),
}  # fmt: skip
"""Keys of conditions: their meaning, and the texts of an instruction that the value is compared with."""


class Pattern:
    """A search pattern. `matches(instruction)` tests it. Raises IsakitError for an invalid pattern.

    `placed`: it depends on the address, so that the same word may match at one address and not at another.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        if not text.strip() or len(text) > _MOST:
            raise IsakitError("an empty pattern finds nothing" if not text.strip() else "the pattern is too long")
        self.placed = "address=" in text
        self.matches: Test = _Conditions(text).test() if _CONDITION.search(text) else _spelling(text)

    def __repr__(self) -> str:
        return f"<pattern {self.text!r}>"


def _spelling(text: str) -> Test:
    pieces: list[str] = []
    for word in text.split():
        if word == "*":
            pieces.append(r"(?: \S+)*?")
        else:
            letters = (r"[^\s]*?" if c == "*" else r"[^\s]" if c == "?" else re.escape(c) for c in word)
            pieces.append(" " + "".join(letters))
    compiled = re.compile(f"{_IN_FRONT}{''.join(pieces)}{_BEHIND}")
    return lambda i: compiled.fullmatch(" " + i.text) is not None


class _Conditions:
    """A parser of conditions: `or` binds less than `and`, `not` most."""

    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def test(self) -> Test:
        found = self.either(0)
        if self.at < len(self.tokens):
            raise IsakitError(f"`{self.tokens[self.at]}` is not expected in a condition; join conditions with and, or")
        return found

    def _word(self, *words: str) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at] in words:
            self.at += 1
            return True
        return False

    def either(self, depth: int) -> Test:
        tests = [self.both(depth)]
        while self._word("or"):
            tests.append(self.both(depth))
        return tests[0] if len(tests) == 1 else lambda i: any(t(i) for t in tests)

    def both(self, depth: int) -> Test:
        tests = [self.one(depth)]
        while self._word("and"):
            tests.append(self.one(depth))
        return tests[0] if len(tests) == 1 else lambda i: all(t(i) for t in tests)

    def one(self, depth: int) -> Test:
        if depth > _DEEPEST:
            raise IsakitError("the condition is nested too deeply")
        if self._word("not"):
            inner = self.one(depth + 1)
            return lambda i: not inner(i)
        if self._word("("):
            inner = self.either(depth + 1)
            if not self._word(")"):
                raise IsakitError("a parenthesis of the condition is not closed")
            return inner
        if self.at == len(self.tokens) or self.tokens[self.at] in ("and", "or", ")"):
            raise IsakitError("the condition ends where something was expected" if self.at == len(self.tokens) else
                              f"something was expected before `{self.tokens[self.at]}`")  # fmt: skip
        self.at += 1
        return _term(self.tokens[self.at - 1])


def _term(token: str) -> Test:
    key, equals, value = token.partition("=")
    if not equals:
        return lambda i: token in i.text.replace("(", " ").replace(")", " ").split()
    if key not in KEYS:
        (hint,) = did_you_mean(key, KEYS) or (f"there are {', '.join(KEYS)}",)
        raise IsakitError(f"a condition cannot ask for {key!r}; {hint}")
    values = KEYS[key][1]
    if re.fullmatch(r"0[xX]?[0-9a-fA-F]+|\d+", value) and key in ("immediate", "target", "address"):
        value = hex(int(value, 0))
    compiled = re.compile(translate(value.replace("[", "[[]")))
    return lambda i: any(compiled.match(text) for text in values(i))
