"""Instructions as text and back, without the assembler."""

from __future__ import annotations

from isakit.codec import Decoder, tokenize


def encode(d: Decoder, text: str) -> int | None:
    """The first encoding of an instruction as the decoder prints it: with `long` and flipped bits; None without one."""
    flip = 0
    if text.endswith("}"):
        text, _, last = text.rpartition(" {")
        flip = int(last[:-1], 16)
    forced = text.startswith("long ")
    tokens = tokenize(text[5:] if forced else text)
    forms = [f for f in d.encoder.forms(tokens) if not forced or f.units == 2]
    first = next(iter(d.encoder.encodings(tokens, flip=flip, forms=forms)), None)
    return None if first is None else first.word
