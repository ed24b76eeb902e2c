"""What a GXP header says again that follows from the code and from its other tables.

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
    LITERAL_BUFFER,
    SAMPLER,
    SEMANTICS,
    TYPES,
    UNIFORM,
    AttributeDescriptor,
    FragmentVaryings,
    GxpContainer,
    GxpFile,
    GxpParameter,
    GxpPiece,
    VertexVaryings,
)
from isakit.formats.gxp_outputs import output_words
from isakit.formats.gxp_write import ORDER

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.codec import Instruction

FETCHES, ITERATES, STORES, OUTPUT_UNDEFINED = 1 << 11, 1 << 12, 1 << 14, 1 << 16
COMPILER_BITS = 3 << 19
"""Set in every file of version 1.5; nothing is known about them."""
QUERIES = 16
NATIVE, F32, F16 = 0, 1, 2
"""What a sample arrives as, in the query information and in the record of a sampler."""

Derived = dict[str, Any]


@dataclass(frozen=True)
class CodeFacts:
    """What two programs say: phases (instruction numbers), effects, registers reached, and the format of samples.

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
    return i.form.parts[part].text(i.word) if i.form is not None and part in i.form.parts else ""


_REGISTER = re.compile(r"(r|pa|sa)(\d+)\b")


def _reached(i: Instruction) -> list[tuple[str, int]]:
    """(register file, one more than the highest register) of every operand that names its register."""
    out: list[tuple[str, int]] = []
    assert i.form is not None
    repeats = re.search(r"\brepeat (\d+)", i.text)
    more = int(repeats[1]) if repeats else 1
    for name, part in i.form.parts.items():
        m = _REGISTER.match(part.text(i.word))
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


def _doubled(part: Any, word: int) -> bool:
    for _ in range(4):
        if hasattr(part, "register"):
            return bool(part.register and part.register.double)
        part = part.pick(word) if hasattr(part, "pick") else getattr(part, "part", None)
    return False


# --- inputs of fragment programs -------------------------------------------------------------------------------------
SOURCES = (*(f"texcoord{k}" for k in range(10)), "color0", "color1", "fog", "position")
"""What can be interpolated, by number."""
NO_SOURCE = 15
COORDINATES = ("kind0", "xy", "xyw", "xyz")
"""How a texel that is fetched before the program finds its coordinate; xyw and xyz divide by the last component, or are
the direction of a cube map."""
_ITERATED, _LAST, _FETCHED, _CENTROID, _F32_COLOR = 3 << 26, 1 << 25, 1 << 11, 1 << 4, 1 << 20
_TYPE_BITS = {"f32": 0, "f16": 2 << 28, "c10": 1 << 28, "u8": 0}
_TEXEL_BITS = {"native": 0, "f16": 2, "f32": 3}
_TEXEL_WORDS = {"native": 1, "f16": 2, "f32": 4}


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
        """The stored form; `last`: no interpolated value follows."""
        info = (NO_SOURCE if self.source is None else self.source) << 12
        info |= NO_SOURCE if self.coordinate is None else self.coordinate
        size = 0
        if self.source is not None:
            info |= (self.components - 1) << 22 | _ITERATED | (_LAST if last else 0) | _TYPE_BITS[self.type]
            info |= _F32_COLOR if self.source in (10, 11) and self.type == "f32" else 0
            size |= (self.iterated_words - 1) << 4
        info |= _CENTROID if self.centroid else 0
        if self.coordinate is not None:
            info |= _FETCHED | self.projection << 8
            size |= (self.texel_words - 1) << 6
        texel = 0 if self.coordinate is None else _TEXEL_BITS[self.texel] << 4
        return AttributeDescriptor(info, 0 if self.coordinate is None else self.unit, size, texel)


def input_facts(d: AttributeDescriptor) -> InputFacts:
    """The words for a stored input; `descriptor` of the result differs from `d` only where `d` is unusual."""
    source, coordinate = d.info >> 12 & 15, d.info & 15
    ty = "f32"
    if d.info & 2 << 28:
        ty = "f16"
    elif d.info & 1 << 28:
        ty = "c10"
    elif source in (10, 11) and not d.info & _F32_COLOR:
        ty = "u8"
    return InputFacts(
        source if source < len(SOURCES) else None,
        (d.info >> 22 & 3) + 1 if source < len(SOURCES) else 4,
        ty if source < len(SOURCES) else "f32",
        bool(d.info & _CENTROID),
        d.resource_index,
        None if coordinate == NO_SOURCE else coordinate,
        d.info >> 8 & 3 if coordinate != NO_SOURCE else 1,
        {0: "native", 2: "f16", 3: "f32"}.get(d.component_info >> 4 & 3, "native")
        if coordinate != NO_SOURCE
        else "f16",
    )


def last_iterated(inputs: tuple[AttributeDescriptor, ...]) -> int:
    """Position of the last input that is interpolated, -1 where none is."""
    return max((k for k, d in enumerate(inputs) if d.info >> 12 & 15 < len(SOURCES)), default=-1)


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
    formats = {2: F16, 3: F32}
    return [(d.resource_index, formats.get(d.component_info >> 4 & 3, NATIVE)) for d in inputs if d.info & 15 != 15]


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


def standard_layout(gxp: GxpFile) -> list[GxpPiece]:
    """The order of the parts in a new file."""
    pieces: list[GxpPiece] = []
    for kind in ORDER:
        if kind == "inputs" and not isinstance(gxp.varyings, FragmentVaryings):
            continue
        if kind in ("sampler_query", "phases") and not getattr(gxp, kind):
            continue
        if kind == "varyings" and gxp.varyings is None:
            continue
        pieces.append(GxpPiece(kind))
    stored = {""}
    for index, p in enumerate(gxp.parameters):
        if p.name not in stored:
            stored.add(p.name)
            pieces.append(GxpPiece("name", index))
    return pieces


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
