"""The programs in a piece of a file, and their rows in the tables."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from isakit.asm import Program
from isakit.asm.units import split_units
from isakit.codec import Decoder
from isakit.corpora.sources import Piece
from isakit.description import Kernel, Module
from isakit.errors import FormatError, IsakitError
from isakit.formats.embedded import Found, find_embedded, find_in_source
from isakit.formats.raw import is_textual
from isakit.formats.vuc_image import read_vuc, recognise_vuc
from isakit.lean import dataclass

SKETCH = 64
"""Numbers of a similarity sketch."""
_LARGEST_SOURCE = 1 << 22
"""Bytes of a C source whose arrays are searched for programs."""
_LARGEST_MICROCODE = 1 << 20
_MOST_WORDS = 1 << 19
"""Distinct words that are cached per instruction set."""


def found_in(piece: Piece, path: str) -> list[Found]:
    """Return the programs that begin in a piece; offsets count from the start of its member."""
    data = piece.data
    found = [f for f in find_embedded(data, path) if f.offset < piece.fresh]
    if piece.offset == 0 and piece.last and not found and len(data) > 15:
        found = _bare(data, path)
    for f in found:
        if f.module is not None:
            f.module.offset += piece.offset
    return found


def _bare(data: bytes, path: str) -> list[Found]:
    """Return programs in arrays of a C source, or microcode."""
    if len(data) <= _LARGEST_SOURCE and b"{" in data and is_textual(data):
        return find_in_source(data.decode("latin-1"), path)
    if len(data) <= _LARGEST_MICROCODE:
        guess = recognise_vuc(data)
        if guess is not None:
            try:
                return [Found("vuc", 0, len(data), read_vuc(data, guess[0], path, data_size=guess[1]))]
            except FormatError as e:
                return [Found("vuc", 0, len(data), error=e)]
    return []


@dataclass(eq=False)
class CodeRows:
    """The instructions of one program, as columns.

    `words` index the distinct words of `table`, `codes` of its rows are the properties of a word.
    """

    address: NDArray[np.uint32]
    word: NDArray[np.int32]
    table: WordTable


class WordTable:
    """Properties of the distinct words of one instruction set, variant and program type, by number."""

    def __init__(self, coder: Decoder) -> None:
        self.decoder = coder
        self.numbers: dict[tuple[int, int], int] = {}
        self.words: list[int] = []
        self.size: list[int] = []
        self.opcode: list[str] = []
        self.record: list[str] = []
        self.group: list[str] = []
        self.error: list[str] = []
        self.crc: list[int] = []

    def add(self, word: int, units: int, error: str | None) -> int:
        """Return the number of a word; one with an error at its position is data for that reason."""
        key = word, -units if error is not None else units
        known = self.numbers.get(key)
        if known is not None:
            return known
        i = self.decoder.one(word, units)
        valid = error is None and i.error is None
        self.words.append(word & 0xFFFFFFFFFFFFFFFF)
        self.size.append(units * self.decoder.view.variant.unit_bytes)
        self.opcode.append(i.mnemonic if valid else "")
        self.record.append(i.record.name if valid and i.record is not None else "")
        self.group.append(i.group.value if valid and i.group is not None else "")
        self.error.append(error or i.error or "")
        self.crc.append(zlib.crc32(self.opcode[-1].encode()))
        number = self.numbers[key] = len(self.words) - 1
        return number

    def rows(self, code: bytes, address: int) -> CodeRows:
        """Return the instructions in some code."""
        isa_, variant = self.decoder.isa, self.decoder.view.variant
        units, _ = split_units(code, variant)
        length, bits, unit = isa_.length, variant.unit_bits, variant.unit_bytes
        numbers, add = self.numbers, self.add
        places: list[int] = []
        words: list[int] = []
        k, end, start = 0, len(units), address // unit
        while k < end:
            word = units[k]
            n = length(word)
            places.append(k)
            if n == 1:
                number = numbers.get((word, 1))
                words.append(add(word, 1, None) if number is None else number)
                k += 1
            elif (start + k) % n or k + n > end:
                words.append(add(word, 1, isa_.misaligned if (start + k) % n else "TRUNCATED_INSTRUCTION"))
                k += 1
            else:
                for j in range(1, n):
                    word |= units[k + j] << bits * j
                number = numbers.get((word, n))
                words.append(add(word, n, None) if number is None else number)
                k += n
        at = np.array(places, np.uint32) * unit + address
        return CodeRows(at.astype(np.uint32), np.array(words, np.int32), self)


@lru_cache(maxsize=32)
def _words(coder: Decoder) -> WordTable:
    return WordTable(coder)


def words_of(coder: Decoder) -> WordTable:
    """Return the table of words so far; a table that has become too large is replaced by an empty one."""
    found = _words(coder)
    if len(found.words) > _MOST_WORDS:
        _words.cache_clear()
        found = _words(coder)
    return found


def decoder_of(module: Module, kernel: Kernel) -> Decoder:
    """Return the decoder of a kernel's code; the name of a kernel may be that of its program type."""
    chosen = module.instruction_set
    return chosen.decoder(kernel.name if kernel.name in chosen.program_types else None)


def code_key(module: Module, kernel: Kernel) -> str:
    """Return a key that names code by its content: instruction set, variant, program type, address, bytes."""
    view = decoder_of(module, kernel).view
    what = f"{module.isa}/{view.variant.name}/{view.program}/{kernel.address:#x}/"
    return blake2b(what.encode() + kernel.code, digest_size=16).hexdigest()


_A = np.random.default_rng(20070215).integers(1, 1 << 63, SKETCH, np.uint64) | np.uint64(1)
_P = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)


def sketch(operations: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return a fingerprint of a sequence of operations, given by hashes of their names: `SKETCH` numbers.

    The fraction of equal numbers in two sketches estimates the fraction of runs of three operations that both programs
    have (MinHash; Broder, "On the resemblance and containment of documents", 1997).
    """
    padded = np.concatenate([np.zeros(2, np.uint64), operations, np.zeros(2, np.uint64)])
    runs = (padded[:-2] + np.uint64(1)) * _P[0] ^ (padded[1:-1] + np.uint64(1)) * _P[1] ^ (padded[2:] + 1) * _P[2]
    runs = np.unique(runs ^ runs >> np.uint64(29))
    out = np.empty(SKETCH, np.uint32)
    for k in range(SKETCH):
        mixed = runs * _A[k]
        out[k] = (mixed ^ mixed >> np.uint64(31)).min() >> np.uint64(32)
    return out


def sketch_of(rows: CodeRows) -> NDArray[np.uint32]:
    """Return the sketch of a program from its rows."""
    words, places = np.unique(rows.word, return_inverse=True)
    return sketch(np.array([rows.table.crc[w] for w in words], np.uint64)[places])


def sketch_of_program(program: Program) -> NDArray[np.uint32]:
    """Return the sketch of a loaded program."""
    return sketch_of(words_of(program.decoder).rows(program.to_bytes(), program.address))


def texts_of(module: Module) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of the names a program carries."""
    for k in module.kernels.values():
        yield "kernel", k.name
        yield from (("parameter", p.name) for p in k.params if p.name)
        yield from (("constant", s.name) for segments in k.constants.values() for s in segments if s.name)
    yield from (("variable", g.name) for g in module.globals)
    yield from (("texture", s.name) for s in module.samplers)
    yield from (("constant", name) for name in module.constant_symbols())
    parameters: Sequence[object] = getattr(module, "parameters", ())
    yield from (("parameter", str(getattr(p, "name", ""))) for p in parameters)


def readable(module: Module) -> bool:
    """Return true if the code of a module can be decoded."""
    try:
        return bool(module.isa and module.instruction_set)
    except IsakitError:
        return False
