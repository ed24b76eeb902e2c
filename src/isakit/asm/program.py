"""A program: code of one instruction set, its instructions decoded on demand, and the properties of a kernel."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, overload

from isakit.asm.units import check_units, pack_units, split_units
from isakit.codec import Decoder, Instruction
from isakit.description import ConstantSegment, Kernel
from isakit.lean import cached_property
from isakit.line_table import LineTable, SourceLine

if TYPE_CHECKING:
    from isakit.annotations import Annotations


class Program(Sequence[Instruction]):
    """Code of one instruction set in one variant and program type: a sequence of instructions in address order.

    `address` is the byte address of the first unit, `tail` holds bytes at the end that fill no unit. `kernel` is the
    description of the kernel, from its file or from the source text. `parts` are the programs of the kernels where a
    text has several, or programs of several types; then this program is their code one after the other. `constants` are
    the constant banks of the whole text, `file` is what directives of a file format made of it, `labels` are the byte
    addresses of the labels of a source text, `source_lines` the lines of that text by the address of the instruction,
    `path` is its file, "" where it has none.
    """

    def __init__(
        self,
        decoder: Decoder,
        units: Sequence[int],
        address: int = 0,
        tail: bytes = b"",
        kernel: Kernel | None = None,
        parts: Sequence[Program] = (),
        constants: Mapping[int, Sequence[ConstantSegment]] | None = None,
    ) -> None:
        self.decoder = decoder
        check_units(units, decoder.view.variant)
        self._given: bytes | None = None
        if isinstance(units, memoryview):
            self._given = bytes(units)
        else:
            self.units = list(units)
        self.address, self.tail = address, tail
        self.kernel, self.parts = kernel, tuple(parts)
        self.constants = {bank: list(segments) for bank, segments in (constants or {}).items()}
        self.file: object = None
        self.labels: dict[str, int] = {}
        self.source_lines: dict[int, int] = {}
        self.path = ""
        self.line_table: LineTable | None = None
        """The lines of a program that has no kernel."""
        self.annotations: Annotations | None = None
        """The annotations of a project file."""

    @classmethod
    def from_bytes(cls, decoder: Decoder, data: bytes, address: int = 0) -> Program:
        """Return the program in `data`; bytes at the end that fill no word are kept."""
        units, tail = split_units(data, decoder.view.variant)
        return cls(decoder, units, address, tail)

    def __getstate__(self) -> dict[str, object]:
        """Return the program without the instructions, which are decoded again on demand."""
        return {k: v for k, v in vars(self).items() if k not in ("instructions", "_addresses", "source_table")}

    @cached_property
    def units(self) -> list[int]:
        """The units of code, in memory order; they may be changed in place."""
        return list(split_units(self._given or b"", self.decoder.view.variant)[0])

    @property
    def unit_count(self) -> int:
        """The number of units of code."""
        return len(self._unchanged) // self.decoder.view.variant.unit_bytes if self._unchanged else len(self.units)

    @property
    def _unchanged(self) -> bytes:
        """The bytes of code as they were given, where nobody has asked for the units since; else nothing."""
        return b"" if self._given is None or "units" in vars(self) else self._given

    @property
    def code_bytes(self) -> bytes:
        """The bytes of the units, in memory order."""
        return self._unchanged or pack_units(self.units, self.decoder.view.variant)

    @property
    def isa(self) -> str:
        """Name of the instruction set."""
        return self.decoder.isa.name

    @property
    def variant(self) -> str:
        """Name of the variant."""
        return self.decoder.view.variant.name

    @property
    def program_type(self) -> str:
        """The program type the code was decoded as, e.g. `compute`."""
        return self.decoder.view.program

    @property
    def lines(self) -> LineTable | None:
        """The lines of PTX and source that the instructions come from; None if nothing says so."""
        return self.kernel.lines if self.kernel is not None else self.line_table

    @cached_property
    def source_table(self) -> LineTable | None:
        """As `lines`, and for assembly texts from files the lines of the text."""
        if self.lines is not None or not self.path:
            return self.lines
        return LineTable((a, SourceLine(0, self.path, n)) for a, n in self.source_lines.items())

    @property
    def kernels(self) -> dict[str, Program]:
        """Programs of the kernels the text names, by name, in the order of the text."""
        return {p.kernel.name: p for p in (self.parts or (self,)) if p.kernel is not None}

    @property
    def by_type(self) -> dict[str, Program]:
        """Programs of a text without kernels, by program type, in the order of the text."""
        return {p.program_type: p for p in (self.parts or (self,)) if p.kernel is None}

    @cached_property
    def instructions(self) -> list[Instruction]:
        """All instructions; words that do not decode are instructions that are not valid."""
        if self.parts:
            return [i for p in self.parts for i in p.instructions]
        return self.decoder.decode(self.units, self.address)

    @cached_property
    def stretches(self) -> list[tuple[Instruction, int]]:
        """(instruction, number of times it is repeated): runs of equal words are one entry."""
        return list(self.decoder.stretches(self.units, self.address))

    @property
    def words(self) -> list[int]:
        """The units of code as ints, in memory order."""
        return list(self.units)

    def to_bytes(self) -> bytes:
        """Return the code in memory order, with the tail."""
        if self.parts:
            return b"".join(p.to_bytes() for p in self.parts)
        return self.code_bytes + self.tail

    def at(self, address: int) -> Instruction | None:
        """Return the instruction whose bytes include `address`, or None.

        Raises LookupError for a program of several kernels, each of which has addresses of its own.
        """
        if self.parts:
            raise LookupError("every kernel of this program starts at its own address; ask one of `parts`")
        k = bisect_right(self._addresses, address) - 1
        if k < 0:
            return None
        i = self.instructions[k]
        return i if address < i.address + i.size else None

    @cached_property
    def _addresses(self) -> list[int]:
        return [i.address for i in self.instructions]

    def __len__(self) -> int:
        return len(self.instructions)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    @overload
    def __getitem__(self, index: int) -> Instruction: ...
    @overload
    def __getitem__(self, index: slice) -> list[Instruction]: ...
    def __getitem__(self, index: int | slice) -> Instruction | list[Instruction]:
        return self.instructions[index]

    def __str__(self) -> str:
        """Return a listing that assembles back, byte for byte."""
        from isakit.asm.printer import listing

        return listing(self)

    def __repr__(self) -> str:
        kind = f" {self.program_type}" if self.program_type else ""
        return f"<{self.isa} {self.variant}{kind} program, {self.unit_count} words>"

    def _repr_html_(self) -> str:
        from html import escape

        shown = 2000
        rows = "".join(
            f"<tr><td><code>{i.address:04x}</code></td><td><code>{hex_words(i)}</code></td>"
            f"<td><code>{escape(i.text)}</code></td><td>{escape(i.error or '')}</td></tr>"
            for i in self.instructions[:shown]
        )
        more = f"<p>... {len(self) - shown} more</p>" if len(self) > shown else ""
        return f"<table><tr><th>address</th><th>words</th><th>instruction</th><th></th></tr>{rows}</table>{more}"


def hex_words(i: Instruction) -> str:
    """Return the units of an instruction as hexadecimal words of full width."""
    digits = (i.decoder.view.variant.unit_bits + 3) // 4
    return " ".join(f"{w:0{digits}x}" for w in i.words)
