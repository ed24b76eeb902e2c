"""Regular expressions that every text of an operand matches, to tell quickly that a text cannot be read.

They describe canonical texts (what instructions print) and may match too much, never too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

ANYTHING = ".*"
NUMBER = r"[-+]?[0-9][0-9a-zA-Z.+-]*"
_NUMBERED = re.compile(r"(.*?)(0|[1-9][0-9]*)([^0-9]*)")


def up_to(n: int) -> str:
    """Return the decimal numbers 0..n."""
    digits = str(n)
    out = [f"[1-9][0-9]{{{k - 1}}}" for k in range(2, len(digits))]
    if len(digits) > 1:
        out.append("[0-9]")
    for k, d in enumerate(digits):
        low = 1 if k == 0 and len(digits) > 1 else 0
        high = int(d) - (k < len(digits) - 1)
        if high >= low:
            rest = len(digits) - 1 - k
            out.append(digits[:k] + f"[{low}-{high}]" + (f"[0-9]{{{rest}}}" if rest else ""))
    return "(?:" + "|".join(out) + ")"


def one_of(words: Iterable[str]) -> str:
    """Return one of the words; numbered ones (`$r0` .. `$r63`) are described together."""
    plain: list[str] = []
    families: dict[tuple[str, str], set[int]] = {}
    for word in dict.fromkeys(words):
        m = _NUMBERED.fullmatch(word)
        if m:
            families.setdefault((m[1], m[3]), set()).add(int(m[2]))
        else:
            plain.append(re.escape(word))
    for (prefix, suffix), numbers in families.items():
        top = max(numbers)
        inner = up_to(top) if len(numbers) == top + 1 else "(?:" + "|".join(map(str, sorted(numbers))) + ")"
        plain.append(re.escape(prefix) + inner + re.escape(suffix))
    return "(?:" + "|".join(plain) + ")"


def joined(patterns: Iterable[str]) -> str:
    """Return the texts one after the other with blanks between them, where empty ones leave none."""
    out: list[str] = []
    for p in patterns:
        may_be_empty = re.compile(p).fullmatch("") is not None
        out.append(f"(?: ?(?:{p}))?" if may_be_empty else f" ?(?:{p})")
    return "".join(out)
