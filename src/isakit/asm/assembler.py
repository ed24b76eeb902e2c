"""Source text to programs: reads all statements, finds sizes and addresses that agree, reports every error at once."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from isakit.asm.advice import Suggestions
from isakit.asm.declared import declared, disagreement
from isakit.asm.directives import DIRECTIVES
from isakit.asm.layout import Slot, UnitLayout, place
from isakit.asm.names import Names
from isakit.asm.program import Program
from isakit.asm.reader import Directive, Reader
from isakit.asm.sections import Bank, CodeStatement, Data, Fill, Section
from isakit.asm.source import Source, SourceSpan, Statement, stray
from isakit.asm.statements import Parsed, StatementEncoder, Symbol
from isakit.asm.units import address_scale
from isakit.codec import Decoder, Miss, Stream
from isakit.description import ConstantSegment, Module, named_segments
from isakit.errors import AsmError, CompileWarning, did_you_mean

_REFERENCE = re.compile(r"#([A-Za-z_.][\w.$]*)")
_MOST_COMPARED = 20_000
"""Errors times names up to which a misspelt name is compared with all others, which is slow."""
_MOST_ADVISED = 8
"""Errors of a text up to which suggestions are made."""
_ROUNDS = 64
_FREE_ROUNDS = 4
"""From this round on sizes only grow, so that sizes and addresses settle."""


class Assembler:
    """Assembles texts of one instruction set, variant and program type."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self.statements = StatementEncoder(decoder)

    def assemble(
        self,
        text: str,
        path: str = "<text>",
        directives: Mapping[str, Directive] | None = None,
        earlier: Source | None = None,
        names: Mapping[str, Mapping[str, int]] | None = None,
    ) -> Program:
        """Assemble a text; `directives` are those of a file format, besides the assembler's own.

        `earlier` is the text before a change, see `Source`. `names` are byte addresses of code that the text may use
        without defining them, by kernel, or by program type where there is none, and name. Raises AsmError with every
        error of the text, in order. Warns (CompileWarning) of integers that represent the bits of an f32 number.
        """
        source = Source(text, path, earlier)
        said = declared(text)
        why = disagreement(self.decoder.view, said.isa, said.variant) if said is not None else ""
        if said is not None and why:  # everything else would be an error, too
            source.error(said.variant_place if said.isa == self.decoder.isa.name else said.isa_place, why)
            raise AsmError(source.diagnostics)
        reader = Reader(source, self.decoder, {**DIRECTIVES, **(directives or {})})
        reader.read()
        has_kernels = any(section.kernel is not None for section in reader.sections)
        programs: list[Program] = []
        for section in reader.sections:
            _predefine(section, names or {})
            own = section.decoder
            encoder = self.statements if own is self.decoder else assembler(own).statements
            resolver = _Resolver(reader, section, encoder)
            program = resolver.program()
            if section is reader.sections[0]:
                for _, bank, _ in reader.variables:
                    resolver.fill(bank, Names(section.scope))
            if section.kernel is not None or not has_kernels:
                programs.append(program)
        _variables(reader)
        if source.diagnostics:
            raise AsmError(sorted(source.diagnostics, key=lambda d: (d.line, d.column)))
        for d in source.warnings:
            warnings.warn(f"{d.path}:{d.line}:{d.column}: {d.message}", CompileWarning, stacklevel=2)
        shared = _constants(reader.sections[0])
        if len(programs) == 1:
            programs[0].constants, programs[0].file = shared, reader.file
            return programs[0]
        units = [u for p in programs for u in p.units]
        whole = Program(programs[0].decoder, units, parts=programs, constants=shared)
        whole.file = reader.file
        return whole


class _Resolver:
    """Finds encodings and addresses of one section."""

    def __init__(self, reader: Reader, section: Section, encoder: StatementEncoder) -> None:
        self.source, self.section, self.encoder = reader.source, section, encoder
        self.decoder = section.decoder
        self.variant = reader.decoder.view.variant
        self.scale = 1 if self.decoder.isa.word_addressed else self.variant.unit_bytes
        self.start = section.address // self.variant.unit_bytes
        self.names = Names(section.scope)
        self.parsed: dict[int, Parsed] = {}
        self.symbolic: list[int] = []
        self._told: set[str] = set()

    def program(self) -> Program:
        """Return the section as a program; problems go to the source's diagnostics."""
        section = self.section
        for name in section.labels:
            section.scope.numbers[name] = 0
        self._parse()
        placement = self._settle()
        report = Names(section.scope, lambda s, t, m: self.source.error(s.place(t), m))
        for name in section.scope.expressions:
            report(name)
        units = self._emit(placement, report)
        for bank in section.banks.values():
            self.fill(bank, report)
        if self.source.diagnostics:
            units = []
        program = Program(self.decoder, units, section.address, section.tail, section.kernel)
        unit = self.variant.unit_bytes
        program.labels = {
            name: unit * (placement.positions[k] if k < len(placement.positions) else placement.end)
            for name, k in section.labels.items()
        }
        program.path = "" if self.source.path.startswith("<") else self.source.path
        program.source_lines = {
            unit * at: item.statement.line
            for item, at in zip(section.items, placement.positions, strict=True)
            if not isinstance(item, Fill)
        }
        if section.kernel is not None:
            told = section.kernel.param_bytes is not None
            section.kernel.constants = _constants(section)
            section.kernel.param_bytes = section.kernel.param_bytes if told else section.param_bytes or None
            section.kernel.param_base = self.decoder.isa.param_base
            section.kernel.own(program)
        return program

    def _parse(self) -> None:
        """Encode the statements that depend on no name, and list the others in `symbolic`."""
        known: set[str] = set(self.section.scope.all_names())
        for k, item in enumerate(self.section.items):
            if not isinstance(item, CodeStatement):
                continue
            try:
                text = item.statement.text
                if "#" in text:  # `#name` is the same as `name`, other uses belong to the instruction
                    text = _REFERENCE.sub(lambda m: " " + m[1] if m[1] in known else m[0], text)
                parsed = self.encoder.parse(text)
            except AsmError as e:
                stray(self.source, item.statement, e)
                continue
            self.parsed[k] = parsed
            if parsed.choices is None or not known.isdisjoint(parsed.words):
                item.symbolic = True
                self.symbolic.append(k)
            else:
                item.choices = parsed.choices
            item.sizes = tuple(e.units for e in item.choices)

    def _settle(self) -> UnitLayout:
        """Encode and place in turn until nothing moves."""
        items = self.section.items
        before: UnitLayout | None = None
        slots = [_slot(item) for item in items]
        for number in range(_ROUNDS):
            self.names.forget()
            moved = before is None
            for k in self.symbolic:
                self._encode(k, before, number >= _FREE_ROUNDS)
                slot = _slot(items[k])
                moved = moved or slot != slots[k]
                slots[k] = slot
            if before is not None and not moved:
                return before
            placement = place(slots, self.start)
            self._bind(placement)
            if before is not None and placement.positions == before.positions and placement.end == before.end:
                return placement
            before = placement
            if not self.symbolic:
                return placement
        assert before is not None
        self.source.error(SourceSpan(1, 0), "label addresses do not converge")
        return before

    def _encode(self, k: int, before: UnitLayout | None, grow: bool) -> None:
        item, parsed = self.section.items[k], self.parsed[k]
        assert isinstance(item, CodeStatement)
        at = before.positions[k] if before else self.start
        item.choices = self.encoder.encode_named(parsed, self.names.here(at * self.scale), at)
        sizes = tuple(e.units for e in item.choices)
        if grow and before is not None:
            sizes = tuple(n for n in sizes if n >= before.sizes[k]) or sizes
        item.sizes = sizes or item.sizes or tuple(sorted({f.units for f in parsed.forms}))

    def _bind(self, placement: UnitLayout) -> None:
        numbers = self.section.scope.numbers
        for name, k in self.section.labels.items():
            at = placement.positions[k] if k < len(placement.positions) else placement.end
            numbers[name] = at * self.scale

    def _emit(self, placement: UnitLayout, names: Names) -> list[int]:
        units: list[int] = []
        bits = self.variant.unit_bits
        mask = (1 << bits) - 1
        # Where something else is wrong, sizes are guesses and alignment says nothing.
        misfits = set[int]() if any(_failed(item) for item in self.section.items) else set(placement.misfits)
        for k, item in enumerate(self.section.items):
            size = placement.sizes[k]
            if isinstance(item, CodeStatement):
                self._warn(k, item)
                chosen = next((e for e in item.choices if e.units == size), None)
                if chosen is None:
                    self._complain(k, item, names, placement.positions[k])
                elif k in misfits:
                    self._misfit(item, size, placement.positions[k])
                elif size == 1:
                    units.append(chosen.word)
                else:
                    units.extend(chosen.word >> bits * n & mask for n in range(size))
            elif isinstance(item, Fill):
                units.extend([0] * size)
            else:
                if item.tokens is not None:
                    item.values = self._values(item, names.here(placement.positions[k] * self.scale))
                units.extend(item.values)
        return units

    def _warn(self, k: int, item: CodeStatement) -> None:
        token = self.parsed[k].bits if k in self.parsed else None
        if token is not None:
            n = token.text
            said = f"`{n}` is the bits of an f32 number here: write `{n}.0`, or `{int(n):#x}`"
            self.source.warnings.append(self.source.diagnostic(item.statement.place(token), said))

    def _misfit(self, item: CodeStatement, size: int, at: int) -> None:
        unit = self.variant.unit_bytes
        self.source.error(
            item.statement.place(),
            f"this instruction has {size * unit} bytes and must start at a multiple of that, not at {at * unit:#x}",
            f"the preceding instruction has no long form; one of {unit} bytes between them would do",
        )

    def _complain(self, k: int, item: CodeStatement, names: Names, at: int) -> None:
        parsed = self.parsed.get(k)
        if parsed is None:
            return  # reported when it was read
        symbol = names.here(at * self.scale)
        statement = item.statement
        notes: tuple[str, ...] = ()
        miss = self._no_label(parsed)
        if miss is None:
            miss = self._undefined(parsed, symbol, at) or self.encoder.explain_miss(parsed, symbol, at)
            if len(self.source.diagnostics) < _MOST_ADVISED:
                notes = Suggestions(self.encoder).notes(parsed, statement.text, symbol, at)
        if notes or miss.message in self._told:  # something better than a word that is spelled like another
            notes = (*notes, *(n for n in miss.notes if not n.startswith("did you mean")))
        else:
            notes = miss.notes
        self._told.add(miss.message)
        token = parsed.tokens[miss.token] if 0 <= miss.token < len(parsed.tokens) else None
        if token is None:
            end = SourceSpan(statement.line, statement.column + len(statement.text), 1)
            self.source.error(end, miss.message, *notes)
        else:
            self.source.error(statement.place(token), miss.message, *notes)

    def _no_label(self, parsed: Parsed) -> Miss | None:
        """Return the error for the first `#name`, as none of them is a label here; None if there is none."""
        for k, token in enumerate(parsed.tokens):
            m = _REFERENCE.fullmatch(token.text)
            if m is not None:
                return Miss(k, f"there is no label `{m[1]}`", self._similar(m[1]))
        return None

    def _similar(self, name: str) -> tuple[str, ...]:
        """Return the names similar to an unknown one, as notes; none if the search would take long."""
        names = self.section.scope.all_names()
        cheap = len(self.source.diagnostics) * len(names) < _MOST_COMPARED
        return did_you_mean(name, names) if cheap else ()

    def _undefined(self, parsed: Parsed, symbol: Symbol, at: int) -> Miss | None:
        """Return the error about a word that, if it were the name of a number, would make the statement right."""
        name = self.encoder.undefined(parsed, symbol, at)
        if not name:
            return None
        k = next(k for k, token in enumerate(parsed.tokens) if token.text == name)
        return Miss(k, f"`{name}` is not defined", self._similar(name))

    def _values(self, item: Data, symbol: Symbol) -> list[int]:
        """Return the numbers of a `.word` with names in it."""
        tokens = item.tokens or []
        stream = Stream(tokens, symbol)
        values: list[int] = []
        k = 0
        while k < len(tokens):
            got = self._value(item.statement, stream, k, self.variant.unit_bits)
            if got is None:
                return []
            k, value = got
            values.append(value)
        return values

    def fill(self, bank: Bank, names: Names) -> None:
        """Store the values of a bank that had to wait for names."""
        for late in bank.late:
            got = self._value(late.statement, Stream(late.tokens, names), late.token, late.size * 8)
            if got is not None:
                bank.data[late.offset : late.offset + late.size] = got[1].to_bytes(late.size, "little")

    def _value(self, statement: Statement, stream: Stream, k: int, bits: int) -> tuple[int, int] | None:
        """Return the number at token `k` as an unsigned one of `bits` bits; reports an error if there is none."""
        got = stream.number(k)
        place = statement.place(stream.tokens[k])
        if got is None:
            self.source.error(place, "this has no value")
            return None
        if not -(1 << bits - 1) <= got[1] < 1 << bits:
            self.source.error(place, f"{got[1]:#x} does not fit {bits} bits")
            return None
        return got[0], got[1] & (1 << bits) - 1


def _predefine(section: Section, names: Mapping[str, Mapping[str, int]]) -> None:
    """Define the given names of a section's code, except those it defines itself."""
    key = section.kernel.name if section.kernel is not None else section.decoder.view.program or "main"
    scale = address_scale(section.decoder)
    for name, address in names.get(key, {}).items():
        if not section.scope.knows(name):
            section.scope.numbers[name] = address // scale
            section.scope.places[name] = SourceSpan(1, 0)


def _failed(item: CodeStatement | Data | Fill) -> bool:
    return isinstance(item, CodeStatement) and not item.choices


def _slot(item: CodeStatement | Data | Fill) -> Slot:
    if isinstance(item, CodeStatement):
        return Slot(item.sizes) if item.sizes else Slot((1,), aligned=False)
    if isinstance(item, Fill):
        return Slot((), align=item.align)
    return Slot((item.count,), aligned=item.aligned)


def _constants(section: Section) -> dict[int, list[ConstantSegment]]:
    found = {n: named_segments(bytes(b.data), b.names) for n, b in sorted(section.banks.items())}
    for segments in found.values():
        segments[:] = [replace(s, size=section.sizes.get(s.name, s.size)) if s.name else s for s in segments]
    return found


def _variables(reader: Reader) -> None:
    """Give the variables of a text their content."""
    module = reader.file
    if not isinstance(module, Module):
        return
    contents = {v.name: (bank, s) for v, bank, s in reader.variables if bank.data}
    for name, (bank, s) in contents.items():
        size = next(v.size for v in module.globals if v.name == name)
        if len(bank.data) > size:
            reader.source.error(s.place(), f"`{name}` has {size:#x} bytes, its content {len(bank.data):#x}")
    module.globals = [
        replace(v, data=bytes(contents[v.name][0].data).ljust(v.size, b"\0") if v.name in contents else None)
        for v in module.globals
    ]


@lru_cache(maxsize=64)
def assembler(decoder: Decoder) -> Assembler:
    """Return the assembler that belongs to a decoder, made once."""
    return Assembler(decoder)


def assemble(
    text: str,
    decoder: Decoder,
    path: str = "<text>",
    directives: Mapping[str, Directive] | None = None,
    earlier: Source | None = None,
    names: Mapping[str, Mapping[str, int]] | None = None,
) -> Program:
    """Assemble a text; see `Assembler.assemble`."""
    return assembler(decoder).assemble(text, path, directives, earlier, names)
