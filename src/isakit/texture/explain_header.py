"""The bits of texture and sampler headers, explained one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from isakit.codec.explain import ExplainRow, Explanation
from isakit.errors import IsakitError
from isakit.texture.headers import HEADERS, WORDS, joined

_HEADERS = {"tic": "texture image control", "tsc": "texture sampler control"}


def explain_header(kind: str, words: str | Sequence[int]) -> Explanation:
    """Explain every bit of a texture or sampler header.

    Args:
        kind: `tic` or `tsc`.
        words: the eight words, as ints or as hexadecimal text.

    Raises IsakitError for another kind, LaunchError for another number of words.
    """
    if kind not in HEADERS:
        raise IsakitError(f"no header {kind!r}; there are: {', '.join(HEADERS)}")
    if isinstance(words, str):
        try:
            words = [int(w, 16) for w in re.split(r"[\s,]+", words.strip()) if w]
        except ValueError:
            raise IsakitError(f"{words!r}: a header is given as {WORDS} hexadecimal words") from None
    whole = joined(words)
    rows: list[ExplainRow] = []
    for h in HEADERS[kind]:
        value = h.field.get(whole)
        ranges = [
            f"w{low // 32}[{low % 32 + n - 1}:{low % 32}]" if n > 1 else f"w{low // 32}[{low % 32}]"
            for low, n in reversed(h.field.slices)
        ]
        rows.append(ExplainRow(" ".join(ranges), h.name, value, h.meaning(value), "tesla-graphics 1", h.field.mask))
        whole &= ~h.field.mask
    if whole:
        rows.append(ExplainRow("", "unknown", whole, "bits no field explains", "", whole))
    title = _HEADERS[kind]
    return Explanation(
        f"{kind.upper()}: {title}", tuple(words), kind, "header", "known", "tesla-graphics 1", None, tuple(rows), title
    )
