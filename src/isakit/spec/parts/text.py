"""The texts of operands, and Python source that gives them: the codec compiles its fast paths from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from isakit.spec.parts.base import Bitless, OfField, Part, once
from isakit.spec.parts.bits import claimed_bits, error_of, never_fails, possible_bits
from isakit.spec.parts.tree import (
    Alternative,
    Choice,
    Constant,
    Dependent,
    Enum,
    Illegal,
    Imm,
    Literal,
    Numbered,
    Reg,
    Relative,
    Silent,
    Template,
)

Keep = Callable[[Any], str]
"""Stores an object in the namespace of the compiled function and returns its name there."""


Printer = Callable[[int, int], str]


def text_of(part: Part, word: int, address: int = 0) -> str:
    """Return the canonical text in an instruction at `address` (units of code), empty where nothing is printed."""
    return (part.__dict__.get("_printer") or printer(part))(word, address)


@once
def printer(part: Part) -> Printer:
    """Return the function of word and address that gives the text, made once: listings ask it again and again."""
    match part:
        case Reg():
            texts, number = part.texts, part.field.get
            return lambda word, address: texts[number(word)] or "???"
        case Enum():
            names, value = part.names, part.field.get
            return lambda word, address: names.get(value(word), "???")
        case Template():
            return _joined([(b, t, None if p is None else printer(p)) for b, t, p in part.items])
        case Choice():
            pick = part.pick
            return lambda word, address: "???" if (p := pick(word)) is None else text_of(p, word, address)
        case Relative() if part.as_distance:
            return lambda word, address: f"{part.value(word):+d}"
        case Relative():
            return lambda word, address: f"{part.target(word, address):#x}"
        case Imm():
            return lambda word, address: f"{part.prefix}{part.value(word):{part.form}}"
        case Dependent():
            return lambda word, address: text_of(part.given(word), word, address)
        case Numbered():
            return lambda word, address: part.names[part.field.get(word)]
        case Literal():
            text = part.words
        case Constant():
            text = f"{part.prefix}{part.value:#x}"
        case Illegal():
            text = "???"
        case _:
            text = ""
    return lambda word, address: text


def _joined(items: Sequence[tuple[str, str, Printer | None]]) -> Printer:
    """Return the printer of texts one after the other; a blank stands before those that are not empty."""

    def joined(word: int, address: int) -> str:
        out = last = ""
        for blank, token, hole in items:
            text = token if hole is None else hole(word, address)
            if text == "." and last[:1] == "#":
                blank = " "  # the dot would be one of the number
            if text:
                out += blank + text if out else text
                last = text
        return out

    return joined


# --- source ----------------------------------------------------------------------------------------------------------
# Expressions in the variable `w`. Where nothing better is known they remember what the functions above say about each
# value of the possible bits.
_MEMO_BITS = 20
_MEMO_LIMIT = 1 << 14


def text_source(part: Part, keep: Keep) -> str:
    """Return an expression giving the text with a leading blank, or an empty string."""
    match part:
        case Bitless() | Silent():
            return repr(padded(text_of(part, 0)))
        case Enum():
            texts = _padded_texts([part.names.get(v) for v in range(1 << part.field.width)])
            return f"{keep(texts)}[{part.field.expression()}]"
        case Reg():
            return f"{keep(_padded_texts(part.texts))}[{part.field.expression()}]"
        case Choice():
            sources = [text_source(a.part, keep) for a in part.alternatives]
            return _conditional(part, sources, "' ???'")
        case Imm() if not isinstance(part, Relative) and part.field.width <= 8:
            texts = _padded_texts([text_of(part, part.field.put(v)) for v in range(1 << part.field.width)])
            return f"{keep(texts)}[{part.field.expression()}]"
        case Imm() if not isinstance(part, Relative) and not part.signed:
            scale = f"*{part.scale}" if part.scale > 1 else ""
            return f"f' {part.prefix}{{{part.field.expression()}{scale}:{part.form}}}'"
        case _:
            return _remembered(part, lambda word: padded(text_of(part, word)), keep)


def error_source(part: Part, keep: Keep) -> str:
    """Return an expression giving a decode error name or None; `None` where the part cannot fail."""
    match part:
        case _ if never_fails(part):
            return "None"
        case Enum():
            table = tuple(None if v in part.names else part.illegal for v in range(1 << part.field.width))
            return f"{keep(table)}[{part.field.expression()}]"
        case Reg():
            table = tuple(None if n is not None else part.illegal for n in part.names)
            return f"{keep(table)}[{part.field.expression()}]"
        case Choice():
            return _conditional(part, [error_source(a.part, keep) for a in part.alternatives], repr(part.illegal))
        case Template():
            return "(" + " or ".join(s for p in part.children if (s := error_source(p, keep)) != "None") + ")"
        case Illegal():
            return repr(part.name)
        case _:
            return _remembered(part, lambda word: error_of(part, word), keep)


def claimed_source(part: Part, keep: Keep) -> str:
    """Return an expression giving the claimed bits; a plain number where they do not depend on the word."""
    match part:
        case Bitless():
            return "0"
        case OfField():
            return str(part.field.mask)
        case Choice():
            return _conditional(part, [_claimed_source(a, keep) for a in part.alternatives], "0")
        case Template():
            return _or_sources([claimed_source(p, keep) for p in part.children])
        case _:
            return _remembered(part, lambda word: claimed_bits(part, word), keep)


def _claimed_source(a: Alternative, keep: Keep) -> str:
    part = "0" if a.reading is None else claimed_source(a.part, keep)
    if a.tells is None:
        return _or_sources([str(a.when.mask), part])
    both = a.tells.mask & a.when.mask
    known, rest = both & ~(a.tells.value ^ a.when.value), a.tells.mask & ~both
    return _or_sources([str(known), part, *([f"({rest}&~({a.tells.value & rest}^w))"] if rest else [])])


def _or_sources(sources: Sequence[str]) -> str:
    """Return the OR of integer expressions, constants folded."""
    number = 0
    rest: list[str] = []
    for source in sources:
        if source.isdigit():
            number |= int(source)
        else:
            rest.append(source)
    if not rest:
        return str(number)
    return "(" + "|".join(([str(number)] if number else []) + list(dict.fromkeys(rest))) + ")"


def _conditional(part: Choice, branches: Sequence[str], otherwise: str) -> str:
    """Return nested conditional expressions over the alternatives; equal branches collapse."""
    out = branches[-1] if part.complete and branches else otherwise
    for a, source in reversed(list(zip(part.alternatives, branches, strict=True))):
        if a.unconditional:
            out = source
        elif source != out:
            test = f"w&{a.when.mask}=={a.when.value}" if a.when.mask else "True"
            if a.unless is not None:
                test += f" and w&{a.unless.mask}!={a.unless.value}"
            out = f"({source} if {test} else {out})"
    return out


def _remembered(part: Part, function: Callable[[int], object], keep: Keep) -> str:
    """Return an expression that calls the function; memoised if it depends on at most 20 bits of the word."""
    bits = possible_bits(part)
    if bits.bit_count() > _MEMO_BITS:
        return f"{keep(function)}(w)"
    return f"{keep(_Memo(function))}[w&{bits}]"


class _Memo(dict[int, Any]):
    """Results of a function of the word, computed when they are first asked for."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[int], object]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, word: int) -> Any:
        if len(self) >= _MEMO_LIMIT:
            self.clear()
        value = self[word] = self._function(word)
        return value


def padded(text: str) -> str:
    """Return the text with a leading blank, unless it is empty."""
    return " " + text if text else ""


def _padded_texts(texts: Sequence[str | None]) -> tuple[str, ...]:
    """Return texts with leading blanks; `???` for None."""
    return tuple("" if t == "" else " " + (t or "???") for t in texts)
