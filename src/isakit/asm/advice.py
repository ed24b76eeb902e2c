"""Suggestions for a statement that does not encode.

Every statement that is proposed was tried and assembles. The words to try come from the forms of the operation, so
nothing here knows an instruction set; what cannot be found by trying is `InstructionSet.advice`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from isakit.asm.statements import Parsed, StatementEncoder, Symbol
from isakit.codec import Token, decoder
from isakit.codec.encoder import wanted

_PTX = re.compile(r"%[a-z]+\d|%(tid|ctaid|ntid|nctaid)\b|^\s*[a-z]+\.(global|shared|param|local|const|[busf]\d\d)\b")
_PTX_WORDS = re.compile(
    r"^\s*(@!?%?\w+\s+)?[a-z]+\d?\.(sync|arrive|red|gl|cta|all|any|uni|wide|lo|hi|to|approx|full|r[nzmp]i?|sat|ftz|and|or|xor"
    r"|add|eq|ne|lt|le|gt|ge|ls|hs|[123]d|v[24]|[busf]\d+|pred)\b"
)
_SASS = re.compile(r"^\s*(/\*\w*\*/\s*)?(@!?[CP]\d\S*\s+)?[A-Z][A-Z0-9]+(\.[A-Z0-9]+)*(\s|$)")
_FEW = 4  # registers that are tried in place of a number
_MOST_TOKENS = 24
_MOST_TRIES = 2000


def foreign(text: str, dotted: bool) -> str:
    """Return the name of another assembly language that a statement seems to be written in, "" if there is none.

    `dotted`: mnemonics have dots here, too, so that dots prove nothing.
    """
    if "%" in text if dotted else _PTX.search(text) or _PTX_WORDS.match(text):
        return "PTX"
    return "NVIDIA's disassembler" if _SASS.match(text) else ""


class Suggestions:
    """Finds advice for statements of one encoder."""

    def __init__(self, statements: StatementEncoder) -> None:
        self.statements = statements
        self.decoder = statements.decoder
        self._tries = 0

    def notes(self, p: Parsed, text: str, symbol: Symbol, address: int) -> tuple[str, ...]:
        """Return advice on a statement that does not encode at `address` (in units of code), empty if there is none."""
        question = f"advice on {text}"
        return self.statements.remembered(question, p, symbol, address, lambda: self._notes(p, text, symbol, address))

    def _notes(self, p: Parsed, text: str, symbol: Symbol, address: int) -> tuple[str, ...]:
        known = [advice for pattern, advice in self.decoder.isa.advice if re.match(pattern, text)]
        if known:
            return tuple(known)
        if len(p.tokens) > _MOST_TOKENS:
            return ()
        isa = self.decoder.isa
        language = "" if p.forms else foreign(text, dotted="." in isa.sample.partition(" ")[0])
        if language:
            return (f"this looks like {language} text, which has another syntax: here it is `{isa.sample}`",)
        other = self._other_program(p, symbol, address)
        if other:
            return (f"{other} programs have this instruction: say `.program {other}`",)
        self._tries = 0
        slip = self._slip(p, symbol, address)
        if slip:
            return (slip,)
        for tokens in self._edits(p):
            if self.statements.encode(self._with(p, tokens), symbol, address):
                return (f"did you mean `{_spelled(tokens)}`?",)
            if self._tries > _MOST_TRIES:
                break
        return ()

    def _slip(self, p: Parsed, symbol: Symbol, address: int) -> str:
        """Return advice on comments and labels of other assemblers, and on numbers where registers belong."""
        texts = [t.text for t in p.tokens]
        comment = texts.index("#") if "#" in texts else 0
        if comment and self._encodes(p, p.tokens[:comment], symbol, address):
            return "a comment begins with `//`"
        registers = [t.text for t in p.tokens if t.kind == "word" and _NUMBERED.fullmatch(t.text)][:_FEW]
        for k, token in enumerate(p.tokens):
            held = (replace(token, text=r, kind="word") for r in registers) if token.kind == "number" else ()
            if any(self._encodes(p, [*p.tokens[:k], r, *p.tokens[k + 1 :]], symbol, address) for r in held):
                return f"`{token.text}` cannot stand here: an instruction before this one has to put it into a register"
        label = len(texts) > 1 and texts[0].isidentifier()
        if label and self._encodes(p, p.tokens[1:], symbol, address):
            return f"a label ends with a colon: `{texts[0]}:`"
        return ""

    def _encodes(self, p: Parsed, tokens: list[Token], symbol: Symbol, address: int) -> bool:
        """Return whether other tokens are a statement, of whatever operation."""
        forms = self.decoder.encoder.forms(tokens)
        return bool(self.statements.encode(replace(p, tokens=tokens, forms=forms), symbol, address))

    def _other_program(self, p: Parsed, symbol: Symbol, address: int) -> str:
        view = self.decoder.view
        for program in view.isa.programs:
            if program != view.program:
                encoder = StatementEncoder(decoder(view.isa, view.variant.name, program))
                there = replace(p, forms=encoder.decoder.encoder.forms(p.tokens))
                if encoder.encode(there, symbol, address):
                    return program
        return ""

    def _with(self, p: Parsed, tokens: list[Token]) -> Parsed:
        self._tries += 1
        return replace(p, tokens=tokens, forms=[f for f in self.decoder.encoder.forms(tokens) if f in p.forms])

    def _edits(self, p: Parsed) -> Iterator[list[Token]]:
        """Yield statements a small change away, the smallest changes first."""
        words = {w for f in p.forms for choice in wanted(f) for w in choice if w[0].isalpha() or w == "#"}
        operations = {t.text for t in p.tokens if self.decoder.encoder.named(t.text)}
        words -= operations
        tokens = p.tokens
        if (dollars := _with_dollars(tokens)) is not None:
            yield dollars
            yield from _with_one_more(dollars, words)
        for respelled in _respelled(tokens):
            yield respelled
            yield from _with_one_more(respelled, words)
        yield from _without(tokens, words)
        yield from _with_one_more(tokens, words)
        for suffix in ("d", "l"):
            wide = _resized(tokens, suffix)
            if wide is not None:
                yield wide
                yield from _without(wide, words)
        for moved in _memory_moved(tokens):
            yield moved
            yield from _with_one_more(moved, words)


def _without(tokens: list[Token], words: set[str]) -> Iterator[list[Token]]:
    for k, t in enumerate(tokens):
        if t.text in words:
            yield [*tokens[:k], *tokens[k + 1 :]]


def _with_one_more(tokens: list[Token], words: set[str]) -> Iterator[list[Token]]:
    there = {t.text for t in tokens}
    for word in (*sorted(words & there), *sorted(words - there)):  # a second type is likely the first one again
        for k in range(1, len(tokens)):
            yield [*tokens[:k], Token(word, "word", 0, True), *tokens[k:]]


_REGISTER = re.compile(r"\$r\d+")
_NUMBERED = re.compile(r"\$?[a-z]+\d+")
_MARKED_NUMBER = re.compile(r"#-?(?:0x[0-9a-fA-F]+|\d+)")
_BARE_REGISTER = re.compile(r"[acoprR]\d+[dhl]?")


def _with_dollars(tokens: list[Token]) -> list[Token] | None:
    """Return the statement with registers written `r0` or `R0` as `$r0`; None if there are none."""
    bare = [t.kind == "word" and _BARE_REGISTER.fullmatch(t.text) is not None for t in tokens]
    if not any(bare):
        return None
    return [replace(t, text="$" + t.text.lower()) if b else t for t, b in zip(tokens, bare, strict=True)]


def _respelled(tokens: list[Token]) -> Iterator[list[Token]]:
    """Yield the statement with a minus sign as the word for it, and with numbers that had `#` before them."""
    if any(t.text == "-" for t in tokens):
        yield [replace(t, text="neg", kind="word") if t.text == "-" else replace(t, spaced=True) for t in tokens]
    if any(_MARKED_NUMBER.fullmatch(t.text) for t in tokens):
        yield [replace(t, text=t.text[1:], kind="number") if _MARKED_NUMBER.fullmatch(t.text) else t for t in tokens]


def _resized(tokens: list[Token], suffix: str) -> list[Token] | None:
    """Turn the registers into pairs or halves; None if there are no registers."""
    if not any(_REGISTER.fullmatch(t.text) for t in tokens):
        return None
    return [replace(t, text=t.text + suffix) if _REGISTER.fullmatch(t.text) else t for t in tokens]


def _memory_moved(tokens: list[Token]) -> Iterator[list[Token]]:
    """Yield the statement with its last operand, in brackets, put before each of the others."""
    texts = [t.text for t in tokens]
    if not texts or texts[-1] != "]" or texts.count("[") != 1:
        return
    start = texts.index("[") - 1
    for k in range(start - 1, 0, -1):
        if tokens[k].kind == "word":
            yield [*tokens[:k], replace(tokens[start], spaced=True), *tokens[start + 1 :], *tokens[k:start]]


def _spelled(tokens: list[Token]) -> str:
    return "".join((" " if t.spaced and k else "") + t.text for k, t in enumerate(tokens))
