"""Queries on an index: instructions that match a pattern, programs that are similar."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from isakit.analysis import Pattern
from isakit.asm import Program
from isakit.codec import Decoder, Instruction
from isakit.corpora.programs import SKETCH, sketch_of_program
from isakit.corpora.tables import read_batches
from isakit.instruction_sets import isa
from isakit.lean import dataclass

_MOST_KNOWN = 1 << 20


@dataclass(frozen=True)
class FoundInstruction:
    """An instruction that matches, and a program that contains it.

    `path` and `member` name the file, `offset` is where the program starts in it, `kernel` its kernel.
    """

    path: str
    member: str
    offset: int
    kernel: str
    instruction: Instruction


@dataclass(frozen=True)
class SimilarKernel:
    """A kernel like another one.

    `likeness` estimates the fraction of runs of three operations that both have, 0 to 1.
    """

    likeness: float
    path: str
    member: str
    offset: int
    kernel: str


def find(index: str, pattern: Pattern) -> Iterator[FoundInstruction]:
    """Yield the instructions of an index that match a pattern, once for each program that has the code.

    Every distinct word is tested once. Raises IsakitError for a folder that is not an index.
    """
    places = _kernels(index)
    known: dict[tuple[Decoder, int, int, str], bool] = {}
    for batch in read_batches(index, "instructions", ("code", "address", "size", "word", "error")):
        column = batch.column("code")
        codes: list[str] = column.dictionary.to_pylist()
        coders: list[Decoder | None] = [_decoder(*places[c][0]) if c in places else None for c in codes]
        facts: list[list[Any]] = [batch.column(c).to_pylist() for c in ("address", "size", "word", "error")]
        rows: Iterator[tuple[int, int, int, int, str]] = zip(column.indices.to_pylist(), *facts, strict=True)
        for code, address, size, word, error in rows:
            coder = coders[int(code)]
            if coder is None:
                continue
            key = coder, word, size, error
            verdict = known.get(key)
            if verdict is False:
                continue
            i = _instruction(coder, word, size, address, error)
            if verdict is None:
                verdict = pattern.matches(i)
                if not pattern.placed and not i.targets:
                    if len(known) >= _MOST_KNOWN:
                        known.clear()
                    known[key] = verdict
            if verdict:
                for path, member, offset, kernel in places[codes[int(code)]][1]:
                    yield FoundInstruction(path, member, offset, kernel, i)


def _instruction(coder: Decoder, word: int, size: int, address: int, error: str) -> Instruction:
    i = coder.one(word, size // coder.view.variant.unit_bytes, address)
    if error and i.error != error:
        i.compiled, i.error = None, error
    return i


@cache
def _decoder(name: str, variant: str, kind: str) -> Decoder:
    return isa(name, variant).decoder(kind or None)


_Place = tuple[str, str, int, str]


def _kernels(index: str) -> dict[str, tuple[tuple[str, str, str], list[_Place]]]:
    """Return code -> (instruction set, variant, program type), and the kernels that have it."""
    out: dict[str, tuple[tuple[str, str, str], list[_Place]]] = {}
    columns = ("code", "isa", "variant", "program_type", "path", "member", "offset", "name")
    for batch in read_batches(index, "kernels", columns):
        values: list[list[Any]] = [batch.column(c).to_pylist() for c in columns]
        for code, name, variant, kind, path, member, offset, kernel in zip(*values, strict=True):
            if code:
                out.setdefault(code, ((name, variant, kind), []))[1].append((path, member, offset, kernel))
    return out


def similar(index: str, program: Program, *, least: float = 0.5) -> list[SimilarKernel]:
    """Return the kernels of an index that resemble a program, the most alike first.

    The likeness is estimated from sketches of 64 numbers, to about 0.06. Raises IsakitError for a folder that is not an
    index.
    """
    wanted = sketch_of_program(program)
    out: list[SimilarKernel] = []
    columns = ("sketch", "path", "member", "offset", "name", "isa")
    for batch in read_batches(index, "kernels", columns):
        rows: list[list[Any]] = [batch.column(c).to_pylist() for c in columns]
        for sketch, path, member, offset, name, of in zip(*rows, strict=True):
            if sketch is None or of != program.isa:
                continue
            likeness = int(np.count_nonzero(np.array(sketch, np.uint32) == wanted)) / SKETCH
            if likeness >= least:
                out.append(SimilarKernel(likeness, path, member, offset, name))
    return sorted(out, key=lambda r: (-r.likeness, r.path, r.member, r.offset, r.kernel))
