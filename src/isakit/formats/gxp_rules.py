"""The fields of a GXP file that follow from its code and from its other tables: derived for new files, and checked.

A new file needs only what cannot be derived, a listing prints only what is not as derived, and `complaints` says what
contradicts it. The rules were measured: each holds in every known file, or the exception is written out. Source:
[usse] 3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from isakit.errors import FormatError
from isakit.formats.gxp import (
    ATTRIBUTE,
    DATA,
    DEFAULT_BUFFER,
    FRAGMENT,
    INPUT,
    INPUT_BITS,
    LITERAL_BUFFER,
    NO_SOURCE,
    SAMPLER,
    UNIFORM,
    AttributeDescriptor,
    FragmentVaryings,
    GxpContainer,
    GxpFile,
    GxpParameter,
    InputBits,
    VertexVaryings,
    output_words,
    stored_output_words,
)
from isakit.spec.parts import Choice, Hidden, Literal, Part, Template, possible_bits, static_bits, text_of
from isakit.spec.parts.base import once

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.codec import Instruction

T = TypeVar("T", int, str)
R = TypeVar("R", VertexVaryings, AttributeDescriptor)

UNITS = 16
"""Texture units, each with an entry in the query information."""
NATIVE, F32, F16 = 0, 1, 2
"""Formats of a sample, in the query information and in the record of a sampler."""

Derived = dict[str, Any]


# --- facts of the code -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class CodeFacts:
    """Facts of two programs: phases (instruction numbers), effects, registers reached, and the format of samples.

    `samples` maps the sa register of a texture's state to NATIVE, F32 or F16.
    """

    phases: tuple[int, ...] = (0,)
    discards: bool = False
    replaces_depth: bool = False
    stores: bool = False
    temporaries: int = 0
    primary: int = 0
    secondary: int = 0
    samples: Mapping[int, int] = field(default_factory=dict[int, int])


def code_facts(primary: Program | None, secondary: Program | None) -> CodeFacts:
    """Return the facts of a shader's programs."""
    phases: list[int] = []
    names: set[str] = set()
    high = {"r": 0, "pa": 0, "sa": 0}
    samples: dict[int, int] = {}
    for program in (primary, secondary):
        for k, i in enumerate(program or ()):
            if i.form is None or not i.valid:
                continue
            name = i.mnemonic
            names.add(name.partition(".")[0])
            if name == "phas" and program is primary:
                phases.append(k)
            if name.startswith("smp") and (m := re.match(r"sa(\d+)", _text(i, "src1"))):
                samples[int(m[1])] = {"f32": F32, "f16": F16}.get(_text(i, "conv"), NATIVE)
            for file, end in _reached(i, name):
                if file in high:
                    high[file] = max(high[file], end)
    return CodeFacts(
        tuple(phases) or (0,), "kill" in names, "depthf" in names, "str" in names, high["r"], high["pa"], high["sa"],
        samples,
    )  # fmt: skip


def _text(i: Instruction, part: str) -> str:
    return text_of(i.form.parts[part], i.word) if i.form is not None and part in i.form.parts else ""


_REGISTER = re.compile(r"(r|pa|sa)(\d+)\b")


def _reached(i: Instruction, mnemonic: str) -> list[tuple[str, int]]:
    """Return (register file, one more than the highest register) of every operand that names its register."""
    out: list[tuple[str, int]] = []
    assert i.form is not None
    repeats = re.search(r"\brepeat (\d+)", _text(i, "rpt"))
    more = int(repeats[1]) if repeats else 1
    for name, part in i.form.parts.items():
        if isinstance(part, Literal):
            continue
        known, bits = _names(part), i.word & (possible_bits(part) | static_bits(part))
        if bits not in known:
            m = _REGISTER.match(text_of(part, i.word))
            known[bits] = None if m is None else (m[1], int(m[2]), 2 if _doubled(part, i.word) else 1)
        found = known[bits]
        if found is None:
            continue
        file, number, width = found
        if mnemonic.startswith("smp"):
            gathered = 4 if "gather" in _text(i, "mode") else 1
            width = {"dst": (2 if _text(i, "conv") == "f16" else 4) * gathered, "src1": 4}.get(name, width)
        elif mnemonic.startswith(("ldr", "str")) and name == ("dst" if mnemonic.startswith("ldr") else "src2"):
            width = int(_text(i, "count")[1:] or 1)
        out.append((file, number + width * more))
    return out


@once
def _names(part: Part) -> dict[int, tuple[str, int, int] | None]:
    """Return the cache of the registers that a part names, by its bits: file, register, registers that count as one."""
    return {}


def _doubled(part: Part | None, word: int) -> bool:
    while isinstance(part, Hidden | Choice):
        part = part.part if isinstance(part, Hidden) else part.pick(word)
    place = part.register.place if isinstance(part, Template) and part.register is not None else None
    return bool(getattr(place, "double", False))


# --- inputs of fragment programs -------------------------------------------------------------------------------------
SOURCES = (*(f"texcoord{k}" for k in range(10)), "color0", "color1", "fog", "position", "spritecoord")
"""Sources of interpolation, by number."""
SPRITE = SOURCES.index("spritecoord")
"""The place inside a point: a bit of its own says so, beside any number of a source; here that of texcoord0."""
COORDINATES = ("kind0", "xy", "xyw", "xyz")
"""Coordinates of a texel that is fetched before the program; xyw and xyz divide by the last component, or are
the direction of a cube map."""
_TYPES = ("f32", "c10", "f16")
_TEXELS = {"native": 0, "f16": 2, "f32": 3}
_TEXEL_WORDS = {"native": 1, "f16": 2, "f32": 4}
_COLORS = (SOURCES.index("color0"), SOURCES.index("color1"))


@dataclass(frozen=True)
class InputFacts:
    """An input of a fragment program in words.

    `source` is what is interpolated (None: nothing), `coordinate` where a texel is fetched (None: no texel).
    """

    source: int | None = None
    components: int = 4
    type: str = "f32"
    centroid: bool = False
    unit: int = 0
    coordinate: int | None = None
    projection: int = 1
    texel: str = "f16"

    @property
    def iterated_words(self) -> int:
        """Number of registers that the interpolated value takes."""
        if self.source is None:
            return 0
        bits = {"f32": 32, "f16": 16, "c10": 10, "u8": 8}[self.type]
        return -(-self.components * bits // 32)

    @property
    def texel_words(self) -> int:
        """Registers of the texel."""
        return 0 if self.coordinate is None else _TEXEL_WORDS[self.texel]

    def descriptor(self, last: bool) -> AttributeDescriptor:
        """Return the stored form; `last`: no interpolated value follows."""
        bits = InputBits(centroid=self.centroid)
        if self.source is not None:
            bits = replace(
                bits, source=self.source % SPRITE, sprite=self.source == SPRITE,
                last_component=self.components - 1, iterated=3, last=last,
                type=_TYPES.index(self.type) if self.type != "u8" else 0, last_word=self.iterated_words - 1,
                f32_color=self.source in _COLORS and self.type == "f32",
            )  # fmt: skip
        if self.coordinate is not None:
            bits = replace(
                bits, coordinate=self.coordinate, fetched=1, projection=self.projection, unit=self.unit,
                texel=_TEXELS[self.texel], last_texel_word=self.texel_words - 1,
            )  # fmt: skip
        return INPUT.read(INPUT_BITS.pack(vars(bits)))


def input_facts(d: AttributeDescriptor) -> InputFacts:
    """Return the words for a stored input; `descriptor` of these differs from `d` only where `d` is unusual."""
    bits, facts = d.bits, InputFacts(centroid=bool(d.bits.centroid), unit=d.resource_index)
    source = source_of(bits)
    if source is not None:
        ty = "f16" if bits.type & 2 else _TYPES[bits.type]
        if ty == "f32" and source in _COLORS and not bits.f32_color:
            ty = "u8"
        facts = replace(facts, source=source, components=bits.last_component + 1, type=ty)
    if bits.coordinate != NO_SOURCE:
        texel = next((name for name, code in _TEXELS.items() if code == bits.texel), "native")
        facts = replace(facts, coordinate=bits.coordinate, projection=bits.projection, texel=texel)
    return facts


def source_of(bits: InputBits) -> int | None:
    """Return what an input interpolates, as a position in SOURCES; None for nothing, and for numbers nobody knows."""
    if bits.sprite and bits.source != NO_SOURCE:
        return SPRITE
    return bits.source if bits.source < SPRITE else None


def last_iterated(inputs: tuple[AttributeDescriptor, ...]) -> int:
    """Return the position of the last input that is interpolated, -1 where none is."""
    return max((k for k, d in enumerate(inputs) if source_of(d.bits) is not None), default=-1)


# --- the file as it follows ------------------------------------------------------------------------------------------
def data_base(gxp: GxpFile) -> int:
    """Return the first sa register of the container for data; 0 where there is none."""
    return next((c.base_sa_offset for c in gxp.containers if c.index == DATA), 0)


def literal_base(gxp: GxpFile) -> int:
    """Return the first sa register that literals count from."""
    return next((c.base_sa_offset for c in gxp.containers if c.index == LITERAL_BUFFER), data_base(gxp))


def uniform_end(parameters: Iterable[GxpParameter], container: int = DEFAULT_BUFFER) -> int:
    """Return the words of a uniform buffer that its uniforms take."""
    inside = [p for p in parameters if p.category == UNIFORM and p.container_index == container]
    return max((p.resource_index + p.words for p in inside), default=0)


@dataclass(frozen=True)
class PlacedTable:
    """A table whose records count registers sa from the start of a container, in the field `offset`."""

    name: str
    offset: str
    base: Callable[[GxpFile], int]
    what: str

    def registers(self, gxp: GxpFile) -> list[int]:
        """Return the registers of the records."""
        return [getattr(row, self.offset) + self.base(gxp) for row in getattr(gxp, self.name)]

    def counted(self, gxp: GxpFile) -> list[object]:
        """Return the records of a table that still has registers, as the file counts them. Raises FormatError."""
        base = self.base(gxp)
        rows = getattr(gxp, self.name)
        for row in rows:
            if getattr(row, self.offset) < base:
                where = f"{self.what} in sa{getattr(row, self.offset)}"
                raise FormatError(None, 0, f"{where} lies before its container, which starts at sa{base}")
        return [replace(row, **{self.offset: getattr(row, self.offset) - base}) for row in rows]


PLACED = (
    PlacedTable("literals", "sa_offset", literal_base, "the literal"),
    PlacedTable("dependent_samplers", "sa_offset", data_base, "the texture state"),
    PlacedTable("texture_buffer_samplers", "sa_offset", data_base, "the texture state"),
    PlacedTable("uniform_buffers", "ldst_base_offset", data_base, "the address"),
)


def data_end(gxp: GxpFile) -> int:
    """Return the sa register after the last that a literal, a texture's state or an address is put into."""
    return max((at + 1 for t in PLACED for at in t.registers(gxp)), default=0)


def derived_containers(gxp: GxpFile, data_end: int) -> list[GxpContainer]:
    """Return the containers: default uniforms from sa0 on, then data up to sa register `data_end`."""
    words = uniform_end(gxp.parameters)
    out = [GxpContainer(DEFAULT_BUFFER, 0, 0, words)] if words else []
    if data_end > words:
        out.append(GxpContainer(DATA, 0, words, data_end - words))
    return out


def with_words(v: VertexVaryings) -> VertexVaryings:
    """Return the varyings of a vertex program with the number of registers that its results take."""
    return replace(v, outputs1=v.outputs1 & 0xFFFFFF | (output_words(v.outputs1, v.outputs2) & 255) << 24)


def sampled_as(gxp: GxpFile, code: CodeFacts, unit: int) -> int:
    """Return the format in which the samples of a unit arrive: NATIVE, F32 or F16."""
    for fetched, format in fetches(_inputs(gxp)):
        if fetched == unit:
            return format
    base = data_base(gxp)
    for s in gxp.dependent_samplers:
        if s.resource == 4 * unit and base + s.sa_offset in code.samples:
            return code.samples[base + s.sa_offset]
    return NATIVE


def attribute_mask(p: GxpParameter, used: int | None = None) -> int:
    """Return the pa registers of an attribute as bits; `used` says which of them, from its first one on."""
    if not 0 <= p.resource_index < 64:
        return 0
    every = (1 << min(p.words, 64)) - 1
    return (every if used is None else used & every) << p.resource_index & (1 << 64) - 1


def flipped(record: R, change: R) -> R:
    """Return a record with the bits flipped that are set in another: the bits in which the two differ."""
    return replace(record, **{name: value ^ getattr(change, name) for name, value in vars(record).items()})


def _inputs(gxp: GxpFile) -> tuple[AttributeDescriptor, ...]:
    return gxp.varyings.inputs if isinstance(gxp.varyings, FragmentVaryings) else ()


def _input_words(gxp: GxpFile) -> int:
    return sum(f.iterated_words + f.texel_words for f in map(input_facts, _inputs(gxp)))


def fetches(inputs: Iterable[AttributeDescriptor]) -> list[tuple[int, int]]:
    """Return (unit, sample format) of texels that are fetched before the program."""
    formats = {_TEXELS["f16"]: F16, _TEXELS["f32"]: F32}
    return [(d.bits.unit, formats.get(d.bits.texel, NATIVE)) for d in inputs if d.bits.coordinate != NO_SOURCE]


@dataclass(frozen=True)
class HeaderFlag:
    """A bit of the header's flags: its name in texts, when it is set, and the words for that in a complaint.

    Flags without `follows` cannot be derived.
    """

    bit: int
    name: str
    follows: Callable[[GxpFile, CodeFacts], object] | None = None
    what: str = ""


FLAGS = (
    HeaderFlag(0, "fragment", lambda gxp, code: gxp.flags & FRAGMENT),
    HeaderFlag(1, "per_instance"),
    HeaderFlag(3, "discard", lambda gxp, code: code.discards, "discards"),
    HeaderFlag(4, "depth", lambda gxp, code: code.replaces_depth, "a depth"),
    HeaderFlag(5, "spritecoord", lambda gxp, code: any(source_of(d.bits) == SPRITE for d in _inputs(gxp)),
               "a place inside a point"),
    HeaderFlag(6, "native_color"),
    HeaderFlag(7, "reads_color"),
    HeaderFlag(8, "msaa2"),
    HeaderFlag(9, "msaa4"),
    HeaderFlag(11, "fetches", lambda gxp, code: fetches(_inputs(gxp)), "texels fetched before the program"),
    HeaderFlag(12, "iterates", lambda gxp, code: last_iterated(_inputs(gxp)) >= 0, "interpolated inputs"),
    HeaderFlag(14, "store", lambda gxp, code: code.stores, "stores"),
    HeaderFlag(16, "undefined_output", lambda gxp, code: gxp.stage == "vertex"),  # in every vertex program
    HeaderFlag(17, "index"),
    HeaderFlag(18, "instance"),
)  # fmt: skip
"""The known flags; others are `bitN` in texts."""
FLAG_BITS = {f.name: f.bit for f in FLAGS}
_COMPILER_BITS = 3 << 19
"""Set in every file of version 1.5; nothing is known about them."""


def _flags(gxp: GxpFile, code: CodeFacts) -> int:
    flags = _COMPILER_BITS if gxp.version >= (1, 5) else 0
    return flags | sum(1 << f.bit for f in FLAGS if f.follows is not None and f.follows(gxp, code))


def _buffer_flags(gxp: GxpFile, code: CodeFacts) -> int:
    """Return two bits per buffer: 1 loaded into registers, 2 read from memory."""
    flags = 0
    for c in gxp.containers:
        flags |= 1 << 2 * c.index if c.index <= DEFAULT_BUFFER else 0
    for b in gxp.uniform_buffers:
        flags |= 2 << 2 * b.reside_buffer if b.reside_buffer <= DEFAULT_BUFFER else 0
    return flags


def _texunit_flags(gxp: GxpFile, code: CodeFacts) -> int:
    """Return four bits per unit: 1 fetched before the program, 2 sampled by it."""
    flags = 0
    for unit, _ in fetches(_inputs(gxp)):
        flags |= 1 << 4 * unit if unit < UNITS else 0
    for s in (*gxp.dependent_samplers, *gxp.texture_buffer_samplers):
        flags |= 2 << s.resource if s.resource // 4 < UNITS and s.resource % 4 == 0 else 0
    return flags


def _primary_registers(gxp: GxpFile, code: CodeFacts) -> int:
    ends = [min(p.resource_index + p.words, 0xFFFE) for p in gxp.parameters if p.category == ATTRIBUTE]
    end = max([code.primary, _input_words(gxp), *ends])
    return end + end % 2


def _secondary_registers(gxp: GxpFile, code: CodeFacts) -> int:
    return max([code.secondary, *(c.base_sa_offset + c.size_in_words for c in gxp.containers)])


def _buffer_sizes(gxp: GxpFile, code: CodeFacts) -> tuple[int, ...]:
    data = sum(c.size_in_words for c in gxp.containers if c.index == DATA)
    return 0, 0, len(gxp.literal_buffer) // 4, data, 0, uniform_end(gxp.parameters)


def _queries(gxp: GxpFile, code: CodeFacts) -> tuple[int, ...]:
    """Return the query word of each texture unit: sample format, and number of components - 1 in bits 15:8."""
    samplers = [p for p in gxp.parameters if p.category == SAMPLER and 0 <= p.resource_index < UNITS]
    if not samplers or gxp.version < (1, 5):
        return ()
    out = [0] * UNITS
    for p in samplers:
        out[p.resource_index] = max(p.component_count - 1, 0) << 8 | p.semantic
    return tuple(out)


@dataclass(frozen=True)
class DerivedField:
    """A field of `GxpFile` that follows from the rest, and its word in `.registers` if it has one.

    A file whose field lacks bits of the derived value is complained about with the words `lacks`.
    """

    name: str
    follows: Callable[[GxpFile, CodeFacts], object]
    word: str = ""
    lacks: str = ""


DERIVED = (
    DerivedField("flags", _flags),
    DerivedField("primary_registers", _primary_registers, "pa"),
    DerivedField("secondary_registers", _secondary_registers, "sa"),
    DerivedField("temp_registers", lambda gxp, code: code.temporaries, "temps"),
    DerivedField("temp_registers_selective", lambda gxp, code: 0, "selective"),
    DerivedField("phase_count", lambda gxp, code: len(code.phases), "phases"),
    DerivedField("buffer_flags", _buffer_flags, "buffers", "the flags of buffers lack"),
    DerivedField("texunit_flags", _texunit_flags, "units", "the flags of texture units lack"),
    DerivedField("phases", lambda gxp, code: code.phases),
    DerivedField("buffer_sizes", _buffer_sizes),
    DerivedField("sampler_query", _queries),
)


def derived(gxp: GxpFile, code: CodeFacts) -> Derived:
    """Return the fields that follow from the tables (parameters, varyings, containers, textures) and code of a GXP."""
    return {f.name: f.follows(gxp, code) for f in DERIVED}


# --- what contradicts it ---------------------------------------------------------------------------------------------
def complaints(gxp: GxpFile, primary: Program, secondary: Program) -> list[str]:
    """Return what is wrong with a file that could be read, in one line each; nothing if all fits together."""
    code = code_facts(primary, secondary)
    programs = ("primary", primary), ("secondary", secondary)
    return [*_programs(gxp, code, programs), *_registers(gxp, code), *_parameters(gxp), *_tables(gxp),
            *_interface(gxp, code)]  # fmt: skip


def _programs(gxp: GxpFile, code: CodeFacts, programs: Iterable[tuple[str, Program]]) -> Iterator[str]:
    for name, program in programs:
        bad = [i for i in program if not i.valid]
        if bad:
            yield f"the {name} program has {len(bad)} words that are not instructions, first at {bad[0].address:#x}"
        if name == "primary" and (not len(program) or not program[0].mnemonic.startswith("phas")):
            yield "the primary program does not begin with a phase"
    if len(code.phases) != gxp.phase_count:
        yield f"the primary program has {len(code.phases)} phases, and the header says {gxp.phase_count}"


def _registers(gxp: GxpFile, code: CodeFacts) -> Iterator[str]:
    for what, used, said in (
        ("pa", code.primary, gxp.primary_registers),
        ("r", code.temporaries, gxp.temp_registers),
        ("sa", code.secondary, gxp.secondary_registers),
    ):
        if used > said + said % 2:  # operands name pairs, also where the second half is not used
            yield f"the programs use {used} registers {what}, and the header says {said}"


def _parameters(gxp: GxpFile) -> Iterator[str]:
    seen: set[tuple[int, str]] = set()
    for p in gxp.parameters:
        if p.name and (p.category, p.name) in seen:  # buffers of uniforms have none
            yield f"there are two parameters {p.name!r} of one kind"
        seen.add((p.category, p.name))
        end = p.resource_index + p.words
        if p.category == ATTRIBUTE and end > gxp.primary_registers:
            yield f"the attribute {p.name!r} ends behind pa{gxp.primary_registers - 1}"
        if p.category == SAMPLER and not 0 <= p.resource_index < UNITS:
            yield f"the sampler {p.name!r} has unit {p.resource_index}"
        if p.category == UNIFORM and p.container_index == DEFAULT_BUFFER and end > gxp.default_uniform_words:
            yield f"the uniform {p.name!r} ends at word {end} of a buffer of {gxp.default_uniform_words}"
    attributes = [(p.resource_index, p.words, p.name) for p in gxp.parameters if p.category == ATTRIBUTE]
    for name, other in _overlaps(attributes):
        yield f"the attributes {name!r} and {other!r} lie in the same registers"


def _overlaps(ranges: Iterable[tuple[int, int, T]]) -> Iterator[tuple[T, T]]:
    """Yield the names of ranges (start, length, name) that reach into the next one."""
    for (start, length, name), (following, _, other) in pairwise(sorted(ranges)):
        if start + length > following:
            yield name, other


def _tables(gxp: GxpFile) -> Iterator[str]:
    places = sorted((c.base_sa_offset, c.size_in_words, c.index) for c in gxp.containers)
    for at, size, index in places:
        if at + size > gxp.secondary_registers:
            yield f"container {index} ends behind sa{gxp.secondary_registers - 1}"
    for index, other in _overlaps(places):
        yield f"containers {index} and {other} lie in the same registers"
    data = sum(c.size_in_words for c in gxp.containers if c.index == DATA)
    base = literal_base(gxp)
    for k, literal in enumerate(gxp.literals):
        if base + literal.sa_offset >= gxp.secondary_registers:
            yield f"literal {k} lies in sa{base + literal.sa_offset}, behind the last register"
    units = [range(p.resource_index, p.resource_index + max(1, p.array_size))
             for p in gxp.parameters if p.category == SAMPLER]  # fmt: skip
    for s in (*gxp.dependent_samplers, *gxp.texture_buffer_samplers):
        unit = s.resource // 4
        if not any(unit in r for r in units):
            yield f"the state of unit {unit} has a register, and no sampler has this unit"
        if s.sa_offset >= data:
            yield f"the state of unit {unit} lies at {s.sa_offset} of {data} words of data"
    for b in gxp.uniform_buffers:
        if b.ldst_base_offset >= data:
            yield f"the address of buffer {b.reside_buffer} lies at {b.ldst_base_offset} of {data} words of data"


def _interface(gxp: GxpFile, code: CodeFacts) -> Iterator[str]:
    for flag in FLAGS:
        if flag.what and flag.follows is not None and flag.follows(gxp, code) and not gxp.flags >> flag.bit & 1:
            yield f"there are {flag.what}, and no flag says so"
    for f in DERIVED:
        missing = f.follows(gxp, code) & ~getattr(gxp, f.name) if f.lacks else 0
        if missing:
            yield f"{f.lacks} {missing:#x}"
    v = gxp.varyings
    if v is None:
        yield "there is no table of inputs and results"
    elif isinstance(v, VertexVaryings):
        words, said = output_words(v.outputs1, v.outputs2), stored_output_words(v.outputs1)
        if said != words:
            yield f"the results take {words} registers, and the table says {said}"
    elif _input_words(gxp) > gxp.primary_registers:
        yield f"the inputs take {_input_words(gxp)} registers pa, and the header says {gxp.primary_registers}"
    for d in _inputs(gxp):
        if d.bits.fetched and d.bits.coordinate != NO_SOURCE and d.resource_index >= UNITS:
            yield f"a texel is fetched from unit {d.resource_index}"
