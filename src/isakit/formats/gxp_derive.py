"""Fields of a GXP header that follow from the code and from its other tables.

A new file needs only what cannot be derived, and a listing prints only what is not as derived. The rules were measured:
each of them holds in every known file, or the exception is written out. Source: [usse] 3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from isakit.errors import FormatError
from isakit.formats.gxp import (
    ATTRIBUTE,
    DATA,
    DEFAULT_BUFFER,
    DEPTH_REPLACE,
    DISCARD,
    FRAGMENT,
    INPUT,
    INPUT_BITS,
    LITERAL_BUFFER,
    NO_SOURCE,
    SAMPLER,
    SEMANTICS,
    TYPES,
    UNIFORM,
    AttributeDescriptor,
    FragmentVaryings,
    GxpContainer,
    GxpFile,
    GxpParameter,
    InputBits,
    VertexVaryings,
)
from isakit.formats.gxp_outputs import output_words
from isakit.spec.parts import Choice, Hidden, Part, Template, text_of

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.codec import Instruction

SPRITECOORD = 1 << 5
FETCHES, ITERATES, STORES, OUTPUT_UNDEFINED = 1 << 11, 1 << 12, 1 << 14, 1 << 16
COMPILER_BITS = 3 << 19
"""Set in every file of version 1.5; nothing is known about them."""
QUERIES = 16
NATIVE, F32, F16 = 0, 1, 2
"""What a sample arrives as, in the query information and in the record of a sampler."""

Derived = dict[str, Any]


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
    """Facts of a shader's programs."""
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
            for file, end in _reached(i):
                if file in high:
                    high[file] = max(high[file], end)
    return CodeFacts(
        tuple(phases) or (0,), "kill" in names, "depthf" in names, "str" in names, high["r"], high["pa"], high["sa"],
        samples,
    )  # fmt: skip


def _text(i: Instruction, part: str) -> str:
    return text_of(i.form.parts[part], i.word) if i.form is not None and part in i.form.parts else ""


_REGISTER = re.compile(r"(r|pa|sa)(\d+)\b")


def _reached(i: Instruction) -> list[tuple[str, int]]:
    """(register file, one more than the highest register) of every operand that names its register."""
    out: list[tuple[str, int]] = []
    assert i.form is not None
    repeats = re.search(r"\brepeat (\d+)", i.text)
    more = int(repeats[1]) if repeats else 1
    for name, part in i.form.parts.items():
        m = _REGISTER.match(text_of(part, i.word))
        if m is None:
            continue
        width = 2 if _doubled(part, i.word) else 1
        if i.mnemonic.startswith("smp"):
            gathered = 4 if "gather" in _text(i, "mode") else 1
            width = {"dst": (2 if _text(i, "conv") == "f16" else 4) * gathered, "src1": 4}.get(name, width)
        elif i.mnemonic.startswith(("ldr", "str")) and name == ("dst" if i.mnemonic.startswith("ldr") else "src2"):
            width = int(_text(i, "count")[1:] or 1)
        out.append((m[1], int(m[2]) + width * more))
    return out


def _doubled(part: Part | None, word: int) -> bool:
    while isinstance(part, Hidden | Choice):
        part = part.part if isinstance(part, Hidden) else part.pick(word)
    place = part.register.place if isinstance(part, Template) and part.register is not None else None
    return bool(getattr(place, "double", False))


# --- inputs of fragment programs -------------------------------------------------------------------------------------
SOURCES = (*(f"texcoord{k}" for k in range(10)), "color0", "color1", "fog", "position", "spritecoord")
SPRITE = SOURCES.index("spritecoord")
"""The place inside a point: a bit of its own says so, beside any number of a source; here that of texcoord0."""
"""What can be interpolated, by number."""
COORDINATES = ("kind0", "xy", "xyw", "xyz")
"""How a texel that is fetched before the program finds its coordinate; xyw and xyz divide by the last component, or are
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
        """Registers of the interpolated value."""
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
    """First sa register of the container for data; 0 where there is none."""
    return next((c.base_sa_offset for c in gxp.containers if c.index == DATA), 0)


def literal_base(gxp: GxpFile) -> int:
    """First sa register that literals count from."""
    return next((c.base_sa_offset for c in gxp.containers if c.index == LITERAL_BUFFER), data_base(gxp))


def uniform_end(parameters: list[GxpParameter], container: int = DEFAULT_BUFFER) -> int:
    """Words of a uniform buffer that its uniforms take."""
    inside = [p for p in parameters if p.category == UNIFORM and p.container_index == container]
    return max((p.resource_index + p.words for p in inside), default=0)


def derived_containers(gxp: GxpFile, data_end: int) -> list[GxpContainer]:
    """The default uniforms from sa0 on and, after them, the data up to sa register `data_end`."""
    words = uniform_end(gxp.parameters)
    out = [GxpContainer(DEFAULT_BUFFER, 0, 0, words)] if words else []
    if data_end > words:
        out.append(GxpContainer(DATA, 0, words, data_end - words))
    return out


def derived(gxp: GxpFile, code: CodeFacts) -> Derived:
    """Fields of `gxp` as they follow from its tables (parameters, varyings, containers, textures) and its code."""
    sizes = [0] * 6
    sizes[2] = len(gxp.literal_buffer) // 4
    sizes[3] = sum(c.size_in_words for c in gxp.containers if c.index == DATA)
    sizes[5] = uniform_end(gxp.parameters)
    out: Derived = {
        "flags": _flags(gxp, code),
        "buffer_flags": _buffer_flags(gxp),
        "texunit_flags": _texunit_flags(gxp),
        "primary_registers": _primary_registers(gxp, code),
        "secondary_registers": max([code.secondary, *(c.base_sa_offset + c.size_in_words for c in gxp.containers)]),
        "temp_registers": code.temporaries,
        "temp_registers_selective": 0,
        "phase_count": len(code.phases),
        "phases": code.phases,
        "buffer_sizes": tuple(sizes),
        "sampler_query": _queries(gxp),
    }
    return out


def derived_varyings(gxp: GxpFile) -> VertexVaryings | FragmentVaryings:
    """The counts in the varyings as they follow from parameters and inputs."""
    v = gxp.varyings
    if isinstance(v, FragmentVaryings):
        return replace(v, unknown_e=len(_fetches(gxp)))
    v = v or VertexVaryings()
    words = output_words(v.outputs1, v.outputs2)
    return replace(v, outputs1=v.outputs1 & 0xFFFFFF | (words & 255) << 24)


def _fetches(gxp: GxpFile) -> list[tuple[int, int]]:
    """(unit, sample format) of texels that are fetched before the program."""
    inputs = gxp.varyings.inputs if isinstance(gxp.varyings, FragmentVaryings) else ()
    formats = {_TEXELS["f16"]: F16, _TEXELS["f32"]: F32}
    return [(b.unit, formats.get(b.texel, NATIVE)) for b in (d.bits for d in inputs) if b.coordinate != NO_SOURCE]


def _flags(gxp: GxpFile, code: CodeFacts) -> int:
    flags = gxp.flags & FRAGMENT
    flags |= COMPILER_BITS if gxp.version >= (1, 5) else 0
    if not flags & FRAGMENT:
        flags |= OUTPUT_UNDEFINED  # in every vertex program
    for there, bit in ((code.discards, DISCARD), (code.replaces_depth, DEPTH_REPLACE), (code.stores, STORES)):
        flags |= bit if there else 0
    if isinstance(gxp.varyings, FragmentVaryings):
        flags |= FETCHES if _fetches(gxp) else 0
        flags |= ITERATES if last_iterated(gxp.varyings.inputs) >= 0 else 0
        flags |= SPRITECOORD if any(source_of(d.bits) == SPRITE for d in gxp.varyings.inputs) else 0
    return flags


def _buffer_flags(gxp: GxpFile) -> int:
    """Two bits per buffer: 1 loaded into registers, 2 read from memory."""
    flags = 0
    for c in gxp.containers:
        flags |= 1 << 2 * c.index if c.index <= DEFAULT_BUFFER else 0
    for b in gxp.uniform_buffers:
        flags |= 2 << 2 * b.reside_buffer if b.reside_buffer <= DEFAULT_BUFFER else 0
    return flags


def _texunit_flags(gxp: GxpFile) -> int:
    """Four bits per unit: 1 fetched before the program, 2 sampled by it."""
    flags = 0
    for unit, _ in _fetches(gxp):
        flags |= 1 << 4 * unit if unit < QUERIES else 0
    for s in (*gxp.dependent_samplers, *gxp.texture_buffer_samplers):
        flags |= 2 << s.resource if s.resource // 4 < QUERIES and s.resource % 4 == 0 else 0
    return flags


def _primary_registers(gxp: GxpFile, code: CodeFacts) -> int:
    end = code.primary
    v = gxp.varyings
    if isinstance(v, FragmentVaryings):
        facts = [input_facts(d) for d in v.inputs]
        end = max(end, sum(f.iterated_words + f.texel_words for f in facts))
    for p in gxp.parameters:
        if p.category == ATTRIBUTE:
            end = max(end, min(p.resource_index + p.words, 0xFFFE))
    return end + end % 2


def _queries(gxp: GxpFile) -> tuple[int, ...]:
    """Per unit what its samples are: the format, and above it the components less one."""
    samplers = [p for p in gxp.parameters if p.category == SAMPLER and 0 <= p.resource_index < QUERIES]
    if not samplers or gxp.version < (1, 5):
        return ()
    out = [0] * QUERIES
    for p in samplers:
        out[p.resource_index] = max(p.component_count - 1, 0) << 8 | p.semantic
    return tuple(out)


def sampled_as(gxp: GxpFile, code: CodeFacts, unit: int) -> int:
    """The format in which the samples of a unit arrive: NATIVE, F32 or F16."""
    for fetched, format in _fetches(gxp):
        if fetched == unit:
            return format
    base = data_base(gxp)
    for s in gxp.dependent_samplers:
        if s.resource == 4 * unit and base + s.sa_offset in code.samples:
            return code.samples[base + s.sa_offset]
    return NATIVE


def type_number(name: str) -> int:
    """Number of a parameter type. Raises KeyError."""
    if name in TYPES:
        return TYPES.index(name)
    if m := re.fullmatch(r"type(\d+)", name):
        return int(m[1])
    raise KeyError(name)


SEMANTIC_NAMES = SEMANTICS[1:]


def semantic_numbers(text: str) -> tuple[int, int]:
    """(number, index) of a semantic such as TEXCOORD1; (0, 0) of nothing. Raises FormatError."""
    if not text:
        return 0, 0
    m = re.fullmatch(r"([A-Za-z]+)(\d*)", text)
    if m is None or m[1].upper() not in SEMANTIC_NAMES:
        raise FormatError(None, 0, f"there is no semantic {text!r}; there are {', '.join(SEMANTIC_NAMES)}")
    return SEMANTICS.index(m[1].upper()), int(m[2] or 0)
