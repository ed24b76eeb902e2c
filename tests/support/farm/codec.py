"""Words and texts of all instruction sets: what is read is written back."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import isakit
from isakit import Isa, IsakitError
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.hostile_texts import PIECES, SOURCE

VARIANTS = [("tesla", v) for v in ("g80", "g84", "gt215", "gt200", "mcp77")]
VARIANTS += [("vuc", v) for v in ("vp2", "vp3", "vp4")]
VARIANTS += [("usse", v) for v in ("sgx543",)]
WORDS = 64


def _words(seed: int) -> dict[str, Any]:
    r = Random(seed)
    isa, variant = VARIANTS[seed % len(VARIANTS)]
    made = isakit.isa(isa, variant)
    bits = made.decoder().view.variant.unit_bits
    types = made.program_types
    words: list[int] = []
    for _ in range(WORDS):
        word = r.getrandbits(bits)
        if words and r.random() < 0.3:  # a few bits away from the last one
            word = words[-1]
            for _ in range(r.randrange(1, 4)):
                word ^= 1 << r.randrange(bits)
        words.append(word)
    return {"isa": isa, "variant": variant, "type": r.choice(sorted(types)) if types else "", "words": words}


def _isa(case: dict[str, Any]) -> Isa:
    return isakit.isa(case["isa"], case["variant"])


def check_words(case: dict[str, Any]) -> set[str]:
    """Words become text, and the text these words; every instruction explains itself."""
    isa = _isa(case)
    program = isa.disassemble(case["words"], program_type=case["type"] or None)
    if program.words != case["words"]:
        raise Wrong("the program has other words than it was made of")
    text = str(program)
    again = isa.assemble(text, program_type=case["type"] or None) if case["type"] else isa.assemble(text)
    if again.words != program.words:
        at = next(k for k, (a, b) in enumerate(zip(program.words, again.words, strict=False)) if a != b)
        raise Wrong(f"{program.words[at]:#x} comes back from its text as {again.words[at]:#x}")
    covered: set[str] = set()
    for i in program:
        if (i.error is None) != i.valid or not i.text:
            raise Wrong(f"{i.text!r}: valid is {i.valid}, the error {i.error!r}")
        if i.valid:
            covered.add(f"{case['isa']} {i.mnemonic}")
    last = program[-1] if len(program) else None
    if last is not None and last.valid and not len(last.explain()):
        raise Wrong(f"{last.text}: nothing is explained")
    return covered


def _fewer_words(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for words in pieces_left_out(case["words"]):
        if words:
            yield {**case, "words": words}


def _texts(seed: int) -> dict[str, Any]:
    """A source text with mistakes in it, or a listing of random words with mistakes in it."""
    r = Random(seed)
    isa, variant = VARIANTS[seed % len(VARIANTS)]
    text = SOURCE
    if r.random() < 0.5:
        case = _words(seed)
        text = str(_isa(case).disassemble(case["words"][:12]))
    for _ in range(r.randrange(0, 7)):
        at = r.randrange(len(text) + 1)
        new = r.choice(("", r.choice(PIECES), chr(r.randrange(32, 127)), chr(r.randrange(0x2100))))
        text = text[:at] + new + text[at + r.randrange(9) :]
    return {"isa": isa, "variant": variant, "text": text}


def check_text(case: dict[str, Any]) -> set[str]:
    """A text assembles to words whose listing assembles to them, or every mistake has a place in it."""
    isa = _isa(case)
    lines = case["text"].split("\n")
    try:
        program = isa.assemble(case["text"])
    except isakit.AsmError as e:
        for d in e.diagnostics:
            if not (1 <= d.line <= len(lines) and 1 <= d.column <= len(lines[d.line - 1]) + 2 and d.message):
                raise Wrong(f"a diagnostic without place: {d}") from None
        return {f"{case['isa']}: refused"}
    except IsakitError as e:
        if not str(e).splitlines()[0].strip():
            raise Wrong(f"an error that says nothing: {e!r}") from None
        return {f"{case['isa']}: refused"}
    if program.kernel is None and not program.parts and isa.assemble(str(program)).to_bytes() != program.to_bytes():
        raise Wrong("the listing assembles to other bytes")
    return {f"{case['isa']} {i.mnemonic}" for i in program if i.valid}


def _shorter_text(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for lines in pieces_left_out(case["text"].split("\n")):
        yield {**case, "text": "\n".join(lines)}
    if len(case["text"]) < 200:
        for text in pieces_left_out(case["text"]):
            yield {**case, "text": text}


HERE = (
    Campaign(
        "words", f"{WORDS} random words of each instruction set: text and back", _words, check_words, _fewer_words
    ),
    Campaign("texts", "assembler texts with mistakes", _texts, check_text, _shorter_text),
)
