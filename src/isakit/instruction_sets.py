"""The instruction sets by name, and what can be done with one: disassemble, assemble, explain."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import index
from typing import TYPE_CHECKING

from isakit.errors import IsakitError, UnknownIsaError
from isakit.registry import VARIANTS

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.asm.reader import Directive
    from isakit.asm.source import Source
    from isakit.codec import Builder, Decoder, Explanation, Instruction
    from isakit.spec import InstructionSet, Record, Variant

_FILE_DIRECTIVES = {
    "tesla": ("isakit.asm.module_directives", "MODULE_DIRECTIVES"),
    "usse": ("isakit.formats.gxp_text", "GXP_DIRECTIVES"),
}
"""Modules and names of the directives of file formats, by instruction set; formats stand above this module."""

_HEX_WORD = re.compile(r"(?:0[xX])?([0-9a-fA-F]{6,16})")


class Isa:
    """An instruction set in one variant.

    Attributes:
        name: `tesla`, `vuc` or `usse`.
        variant: the chip or core, e.g. `gt200`.
        records: the instruction set object behind it.
    """

    def __init__(self, records: InstructionSet, variant: Variant, *, chosen: bool = True) -> None:
        self.records = records
        self.name, self.variant = records.name, variant.name
        self._variant, self._chosen = variant, chosen
        self._builders: dict[str | None, Builder] = {}

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_builders": {}}

    @property
    def program_types(self) -> tuple[str, ...]:
        """Values of `program_type`; the default stands first."""
        default = self.records.default_program
        return (default, *(p for p in self.records.programs if p != default))

    @property
    def instructions(self) -> tuple[Record, ...]:
        """The records of all instructions: name, forms, syntax, doc, ref, status."""
        return tuple(self.records.records)

    def decoder(self, program_type: str | None = None) -> Decoder:
        """Return the decoder for a program type (default: the instruction set's own)."""
        from isakit.codec import decoder

        if program_type == "compute" and program_type not in self.records.programs:
            program_type = None  # the interface's default, meant for instruction sets that have it
        return decoder(self.records, self.variant, program_type or "")

    def disassemble(
        self, data: bytes | bytearray | memoryview | Sequence[int], address: int = 0, program_type: str | None = None
    ) -> Program:
        """Disassemble `data`: bytes, or ints (tesla: 32-bit words, vuc: instruction words, usse: 64-bit words).

        Nothing is lost: words that are not an instruction and bytes that fill no word are kept. `address` is the byte
        address of the first word. Raises UnknownIsaError for a program type the instruction set does not have,
        FormatError for words that are wider than the instruction set's, and IsakitError for a text or an address that
        is no multiple of a unit.
        """
        from isakit.asm import Program

        if isinstance(data, str):
            raise IsakitError("disassemble takes bytes or ints, not text: assemble it, or convert it from hex first")
        if data is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise IsakitError("disassemble takes bytes or ints, not NoneType")
        decoder = self.decoder(program_type)
        if address < 0 or address % self._variant.unit_bytes:
            raise IsakitError(f"address {address:#x} is not a multiple of {self._variant.unit_bytes}")
        if isinstance(data, (bytes, bytearray, memoryview)):
            return Program.from_bytes(decoder, bytes(data), address)
        try:
            words = [index(w) for w in data]
        except TypeError as e:
            raise IsakitError(f"disassemble takes bytes or ints: {e}") from None
        return Program(decoder, words, address)

    def assemble(
        self,
        text: str,
        program_type: str | None = None,
        path: str = "<text>",
        earlier: Source | None = None,
        names: Mapping[str, Mapping[str, int]] | None = None,
    ) -> Program:
        """Assemble a text; `path` names the text in messages, `earlier` is it as it was read before (see `Source`).

        `names` are addresses of code that the text may use without defining them, by kernel and name.

        A text says with `.isa NAME VARIANT` what it is written for: that variant, where this instruction set was asked
        for without one. Raises AsmError, whose `diagnostics` are all errors of the text, and IsakitError for what is no
        text.
        """
        from isakit.asm import assemble, declared

        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise IsakitError(f"assemble takes a text, not {type(text).__name__}")
        said = declared(text)
        if said is not None and not self._chosen and said.isa == self.name and said.variant:
            return isa(self.name, said.variant).assemble(text, program_type, path, earlier, names)
        return assemble(text, self.decoder(program_type), path, file_directives(self.name), earlier, names)

    def build(
        self,
        mnemonic: str,
        /,
        *,
        program_type: str | None = None,
        at: int = 0,
        long: bool = False,
        raw: int = 0,
        **operands: object,
    ) -> Instruction:
        """Build an instruction from values: `isa.build("add", ty="b32", dst=Register("r", 0), src1=..., src2=...)`.

        Operands are named as in the syntax line of the manual. They are `isakit.Register`, `Immediate`, `Memory` and
        the like, words (`ty="b32"`), flags (`sat=True`), and ints or floats where a number stands; those left out or
        None are absent. The form is the one the assembler would choose for the text.

        Args:
            mnemonic: the operation, e.g. `add`.
            **operands: by name, as above.
            program_type: the program type the instruction is for (default: the instruction set's own).
            at: byte address of the instruction, for operands that count from it.
            long: leave out short forms.
            raw: bits to invert in the result, for encodings that no text tells.

        Raises EncodeError, an AsmError, whose diagnostic points at the operand that does not fit.
        """
        builder = self._builders.get(program_type)
        if builder is None:
            builder = self._builders[program_type] = self.decoder(program_type).builder
        return builder.build(mnemonic, operands, at=at, long=long, raw=raw)

    def explain(self, words_or_text: int | str | bytes | Sequence[int], program_type: str | None = None) -> Explanation:
        """Explain every bit of one instruction, given by its words, as ints or hexadecimal text, or by its text.

        Raises IsakitError for more than one instruction; `explain_all` takes those.
        """
        found = self.explain_all(words_or_text, program_type)
        if len(found) != 1:
            raise IsakitError(f"explain takes one instruction, these are {len(found)}")
        return found[0]

    def explain_all(
        self, words_or_text: int | str | bytes | Sequence[int], program_type: str | None = None
    ) -> list[Explanation]:
        """Explain every instruction. Raises IsakitError where there is none."""
        if isinstance(words_or_text, int):
            words_or_text = [words_or_text]
        if isinstance(words_or_text, str):
            words = _written_words(words_or_text, self._variant.unit_bytes)
            if words:
                program = self.disassemble(words, program_type=program_type)
            else:
                program = self.assemble(words_or_text, program_type)
        else:
            program = self.disassemble(words_or_text, program_type=program_type)
        if not len(program):
            raise IsakitError("explain takes one instruction, there is none")
        return [i.explain() for i in program]

    def __repr__(self) -> str:
        return f"<instruction set {self.name} {self.variant}, {len(self.instructions)} instruction families>"


def _written_words(text: str, unit_bytes: int) -> list[int]:
    """Return the words that a text is made of, in hexadecimal; none if it is assembly.

    They may be in comments, as `cuobjdump` prints them, and two words of 32 bits may be one number of 16 digits.
    """
    from isakit.description import words_of_number

    words: list[int] = []
    for token in re.sub(r"/\*|\*/|,", " ", text).split():
        match = _HEX_WORD.fullmatch(token)
        if match is None:
            return []
        words += words_of_number(match[1], unit_bytes)
    return words


def file_directives(name: str) -> Mapping[str, Directive]:
    """Return directives of the file formats of an instruction set, besides those of the assembler."""
    found = _FILE_DIRECTIVES.get(name)
    return getattr(importlib.import_module(found[0]), found[1]) if found else {}


def isa(name: str, variant: str | None = None) -> Isa:
    """Return an instruction set by name, in a variant (default: the one with the most instructions).

    Names are taken in any case. The name of a chip stands for its instruction set in that variant: `isa("sm_13")`.
    Raises UnknownIsaError, which lists the valid names.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnknownIsaError(f"an instruction set has a name, not {type(name).__name__}: {', '.join(VARIANTS)}")
    from isakit.spec.isa import instruction_set

    known = name.lower()
    if known not in VARIANTS:
        known, chip = _of_chip(name)
        if variant is not None and instruction_set(known).variant(variant).name != chip:
            raise UnknownIsaError(f"{name!r} is {known} {chip}, not {variant}; name the instruction set, {known}")
        variant = chip
    records = instruction_set(known)
    default = records.default_variant or next(iter(records.variants))
    return Isa(records, records.variant(variant or default), chosen=variant is not None)


def _of_chip(name: str) -> tuple[str, str]:
    """Return (instruction set, variant) of a chip. Raises UnknownIsaError."""
    from isakit.spec.isa import instruction_set

    for known in VARIANTS:
        with suppress(UnknownIsaError):
            return known, instruction_set(known).variant(name).name
    product = next((p for known in VARIANTS if (p := instruction_set(known).product(name))), "")
    raise UnknownIsaError(f"there is no instruction set {name[:40]!r}{product}; there are {', '.join(VARIANTS)}")


def isa_of_text(text: str, name: str | None = None, variant: str | None = None) -> Isa | None:
    """Return the instruction set for a source text: the one named, else the one the text declares, else None."""
    from isakit.asm import declared

    said = declared(text)
    if said is None:
        return None if name is None else isa(name, variant)
    if name is None:
        name = said.isa
    chosen = isa(name, variant)
    return isa(name, said.variant) if variant is None and chosen.name == said.isa and said.variant else chosen
