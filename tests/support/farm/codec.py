"""Words and texts of all instruction sets: what is read is written back."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import isakit
from isakit import Isa, IsakitError
from isakit.asm.assembler import assembler
from isakit.asm.statements import StatementEncoder
from isakit.codec import Decoder, Instruction
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.generators.hostile_texts import PIECES, SOURCE

VARIANTS = [("tesla", v) for v in ("g80", "g84", "gt215", "gt200", "mcp77")]
VARIANTS += [("vuc", v) for v in ("vp2", "vp3", "vp4")]
VARIANTS += [("usse", v) for v in ("sgx543",)]
WORDS = 4096
"""Words of a case."""
WHOLE = 64
"""So many of them are a program whose listing is assembled."""
SAMPLED = 24
"""One word in so many is assembled though every operand of it has been before."""
Text = str
_seen: dict[Any, set[tuple[int, Text]]] = {}
"""Form, in whatever variant, to the words of texts, with their places, that the assembler has read in it."""


def _words(seed: int) -> dict[str, Any]:
    return random_words(seed, WORDS)


def random_words(seed: int, count: int) -> dict[str, Any]:
    """Words of the instruction set and variant that a seed has in turn; some are a few bits away from the last one."""
    r = Random(seed)
    isa, variant = VARIANTS[seed % len(VARIANTS)]
    made = isakit.isa(isa, variant)
    bits = made.decoder().view.variant.unit_bits
    types = made.program_types
    words: list[int] = []
    word = 0
    while len(words) < count:
        # an instruction may have two words, so that the words in front of it change in pairs
        for _ in range(2):
            word = r.getrandbits(bits)
            words.append(word)
        for _ in range(r.choice((0, 0, 1, 3, 6))):
            pair = words[-2:]
            for _ in range(r.choice((1, 1, 2, 3))):
                pair[r.randrange(2)] ^= 1 << r.randrange(bits)
            words += pair
    return {"isa": isa, "variant": variant, "type": r.choice(sorted(types)) if types else "", "words": words[:count]}


def _isa(case: dict[str, Any]) -> Isa:
    return isakit.isa(case["isa"], case["variant"])


def check_words(case: dict[str, Any]) -> set[str]:
    """Words become text, and the text these words.

    Every word is decoded and printed, and no other word has its text. The assembler reads the text where some word of
    it is new in its place in the form, and one in `SAMPLED` besides; it reads the listing of some words as a program.
    """
    isa = _isa(case)
    decoder = isa.decoder(case["type"]) if case["type"] else isa.decoder()
    covered = check_listing(isa, {**case, "words": case["words"][:WHOLE]})
    statements = assembler(decoder).statements
    words: dict[Text, tuple[int, int]] = {}
    """What was printed, and the word and size that were printed so."""
    program = decoder.decode(case["words"])
    if [w for i in program for w in i.words] != case["words"]:
        raise Wrong("the instructions have other words than they were made of")
    left = SAMPLED
    for i in program:
        if i.error is not None:
            if i.valid or not i.text.startswith(".word "):
                raise Wrong(f"{i.text!r}: valid is {i.valid}, the error {i.error!r}")
            continue
        text, compiled, what = i.text, i.compiled, (i.word, i.units)
        assert compiled is not None
        if not text or "???" in text:
            raise Wrong(f"{i.word:#x} is printed as {text!r}")
        key = f"{text}@{i.address}" if compiled.addressed else text
        if words.setdefault(key, what) != what:
            raise Wrong(f"{i.word:#x} and {words[key][0]:#x} are both printed as {text!r}")
        form = compiled.form
        seen = _seen.setdefault((form.layout.name, form.record and form.record.name, form.syntax), set())
        # long numbers are told by their length: all of them are new
        operands = {(k, w if len(w) < 5 or w[0] not in "0-" else str(len(w))) for k, w in enumerate(text.split())}
        left -= 1
        if left and operands <= seen:
            continue
        if not left:
            left = SAMPLED
            check_facts(i, decoder)
            covered.add(f"{case['isa']} {i.mnemonic}")
        seen |= operands
        check_assembled(i, statements)
    return covered


def check_assembled(i: Instruction, statements: StatementEncoder) -> None:
    """The assembler makes the word of its text."""
    parsed = statements.parse(i.text)
    choices = statements.encode(parsed, None, i.unit_address) if parsed.choices is None else parsed.choices
    # the assembler takes the smallest, if it is not told `long`
    if not choices or (choices[0].word, choices[0].units) != (i.word, i.units):
        again = f"{choices[0].word:#x}" if choices else "nothing"
        raise Wrong(f"{i.word:#x} comes back from its text {i.text!r} as {again}")


def check_facts(i: Instruction, decoder: Decoder) -> None:
    """What compiled functions say of a word is what its record says; every instruction explains itself."""
    c = i.compiled
    assert c is not None
    form, word = c.form, i.word
    if not c.addressed and c.text(word) != form.text(word):
        raise Wrong(f"{word:#x} is printed as {c.text(word)!r} by compiled code, {form.text(word)!r} without")
    if c.unexplained(word) != form.unexplained(word) or c.error(word) != form.error(word):
        raise Wrong(f"compiled code finds other unexplained bits or errors in {word:#x}")
    again = decoder.one(word, i.units, i.address)
    if (again.compiled, again.error) != (c, None):
        raise Wrong(f"{word:#x} is something else when it is decoded alone")
    if not len(i.explain()):
        raise Wrong(f"{i.text}: nothing is explained")
    built = decoder.build(i.mnemonic, at=i.address, **i.arguments)
    if (built.word, built.units) != (word, i.units):
        raise Wrong(f"{word:#x}, {i.text!r}, is built from its operands as {built.word:#x}")


def check_listing(isa: Isa, case: dict[str, Any]) -> set[str]:
    """The listing of a program assembles to its words."""
    program = isa.disassemble(case["words"], program_type=case["type"] or None)
    if program.words != case["words"]:
        raise Wrong("the program has other words than it was made of")
    text = str(program)
    again = isa.assemble(text, program_type=case["type"] or None) if case["type"] else isa.assemble(text)
    if again.words != program.words:
        at = next(k for k, (a, b) in enumerate(zip(program.words, again.words, strict=False)) if a != b)
        raise Wrong(f"{program.words[at]:#x} comes back from its text as {again.words[at]:#x}")
    return {f"{case['isa']} {i.mnemonic}" for i in program if i.valid}


def fewer_words(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for words in pieces_left_out(case["words"]):
        if words:
            yield {**case, "words": words}


def _texts(seed: int) -> dict[str, Any]:
    """A source text with mistakes in it, or a listing of random words with mistakes in it."""
    r = Random(seed)
    isa, variant = VARIANTS[seed % len(VARIANTS)]
    text = SOURCE
    if r.random() < 0.5:
        case = random_words(seed, 12)
        text = str(_isa(case).disassemble(case["words"]))
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
        "words",
        f"{WORDS:,} random words of each instruction set: text and back",
        _words,
        check_words,
        fewer_words,
        fixed=len(VARIANTS),
    ),
    Campaign("texts", "assembler texts with mistakes", _texts, check_text, _shorter_text),
)
