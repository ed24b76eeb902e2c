"""Forms as readable syntax lines: fixed words, choices, and optional parts."""

from __future__ import annotations

from isakit.spec import Choice, Enum, Form, Literal, Nothing, Part
from isakit.spec.parts import accepted_text, readings
from isakit.spec.tokens import Stream

_SPELT_OUT = 4


def optional(part: Part) -> bool:
    """Return true if the operand may be left out of the text: it can be read from nothing."""
    return any(n == 0 for n, _ in readings(part, Stream([]), 0))


def spellings(part: Part) -> list[str]:
    """Return the words of an operand that is only a choice of words, else an empty list."""
    if isinstance(part, Enum):
        return list(dict.fromkeys(n for n in part.names.values() if n))
    if isinstance(part, Literal):
        return [part.words]
    if isinstance(part, Choice):
        parts = [spellings(a.part) for a in part.alternatives if not isinstance(a.part, Nothing)]
        return list(dict.fromkeys(w for words in parts for w in words)) if all(parts) else []
    return []


def syntax_line(form: Form, mnemonic: str = "") -> str:
    """Return the syntax of a statement of this form; `[...]` may be left out, `a|b` is a choice.

    `mnemonic` stands for the operation's name where the form has several.
    """
    out: list[str] = []
    for item in form.syntax:
        if item[0] != "{":
            out.append(item)
            continue
        name = item[1:-1]
        part = form.parts[name]
        if accepted_text(part) in ("", "nothing"):
            continue
        words = spellings(part)
        if name == "name" and mnemonic in words:
            shown = mnemonic
        elif words and (len(words) <= _SPELT_OUT or name == "name"):
            shown = "|".join(words)
        else:
            shown = name
        out.append(f"[{shown}]" if optional(part) else shown)
    return " ".join(out).replace("( ", "(").replace(" )", ")")
