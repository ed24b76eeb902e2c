"""A strict loader's view of a shader file: what in its tables contradicts its programs, or the rest of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from isakit.formats import gxp_derive as rules
from isakit.formats.gxp import (
    ATTRIBUTE,
    DATA,
    DEFAULT_BUFFER,
    SAMPLER,
    UNIFORM,
    FragmentVaryings,
    GxpFile,
    VertexVaryings,
)
from isakit.formats.gxp_outputs import output_words
from isakit.formats.shader import Shader

UNITS = 16
_COMMON = {
    rules.FETCHES: "texels fetched before the program", rules.ITERATES: "interpolated inputs",
    rules.SPRITECOORD: "a place inside a point", rules.DISCARD: "discards", rules.DEPTH_REPLACE: "a depth",
    rules.STORES: "stores",
}  # fmt: skip


def complaints(shader: Shader) -> list[str]:
    """Return what is wrong with a file that could be read, in one line each; nothing if all fits together."""
    gxp = shader.file
    code = rules.code_facts(shader.primary, shader.secondary)
    return [*_programs(shader, code), *_registers(gxp, code), *_parameters(gxp), *_tables(gxp), *_interface(gxp, code)]


def _programs(shader: Shader, code: rules.CodeFacts) -> Iterator[str]:
    for name, program in (("primary", shader.primary), ("secondary", shader.secondary)):
        bad = [i for i in program if not i.valid]
        if bad:
            yield f"the {name} program has {len(bad)} words that are not instructions, first at {bad[0].address:#x}"
    if not len(shader.primary) or not shader.primary[0].mnemonic.startswith("phas"):
        yield "the primary program does not begin with a phase"
    if len(code.phases) != shader.file.phase_count:
        yield f"the primary program has {len(code.phases)} phases, and the header says {shader.file.phase_count}"


def _registers(gxp: GxpFile, code: rules.CodeFacts) -> Iterator[str]:
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
        if (p.category, p.name) in seen:
            yield f"there are two parameters {p.name!r} of one kind"
        seen.add((p.category, p.name))
        if p.category == ATTRIBUTE and p.resource_index + p.words > gxp.primary_registers:
            yield f"the attribute {p.name!r} ends behind pa{gxp.primary_registers - 1}"
        if p.category == SAMPLER and not 0 <= p.resource_index < UNITS:
            yield f"the sampler {p.name!r} has unit {p.resource_index}"
        if p.category == UNIFORM and p.container_index == DEFAULT_BUFFER:
            end = p.resource_index + p.words
            if end > gxp.default_uniform_words:
                yield f"the uniform {p.name!r} ends at word {end} of a buffer of {gxp.default_uniform_words}"
    attributes = sorted((p.resource_index, p.words, p.name) for p in gxp.parameters if p.category == ATTRIBUTE)
    for (a, size, name), (b, _, other) in pairwise(attributes):
        if a + size > b:
            yield f"the attributes {name!r} and {other!r} lie in the same registers"


def _tables(gxp: GxpFile) -> Iterator[str]:
    places = sorted((c.base_sa_offset, c.size_in_words, c.index) for c in gxp.containers)
    for at, size, index in places:
        if at + size > gxp.secondary_registers:
            yield f"container {index} ends behind sa{gxp.secondary_registers - 1}"
    for (a, size, index), (b, _, other) in pairwise(places):
        if a + size > b:
            yield f"containers {index} and {other} lie in the same registers"
    data = sum(c.size_in_words for c in gxp.containers if c.index == DATA)
    base = rules.literal_base(gxp)
    for k, literal in enumerate(gxp.literals):
        if base + literal.sa_offset >= gxp.secondary_registers:
            yield f"literal {k} lies in sa{base + literal.sa_offset}, behind the last register"
    units = {p.resource_index + k for p in gxp.parameters if p.category == SAMPLER for k in range(max(1, p.array_size))}
    for s in (*gxp.dependent_samplers, *gxp.texture_buffer_samplers):
        if s.resource // 4 not in units:
            yield f"the state of unit {s.resource // 4} has a register, and no sampler has this unit"
        if s.sa_offset >= data:
            yield f"the state of unit {s.resource // 4} lies at {s.sa_offset} of {data} words of data"
    for b in gxp.uniform_buffers:
        if b.ldst_base_offset >= data:
            yield f"the address of buffer {b.reside_buffer} lies at {b.ldst_base_offset} of {data} words of data"


def _interface(gxp: GxpFile, code: rules.CodeFacts) -> Iterator[str]:
    derived = rules.derived(gxp, code)
    for bit, what in _COMMON.items():
        if derived["flags"] & bit and not gxp.flags & bit:
            yield f"there are {what}, and no flag says so"
    units = derived["texunit_flags"] & ~gxp.texunit_flags
    if units:
        yield f"the flags of texture units lack {units:#x}"
    buffers = derived["buffer_flags"] & ~gxp.buffer_flags
    if buffers:
        yield f"the flags of buffers lack {buffers:#x}"
    v = gxp.varyings
    if v is None:
        yield "there is no table of inputs and results"
    elif isinstance(v, VertexVaryings):
        words = output_words(v.outputs1, v.outputs2)
        if v.outputs1 >> 24 != words & 255:
            yield f"the results take {words} registers, and the table says {v.outputs1 >> 24}"
    else:
        yield from _fragment(gxp, v)


def _fragment(gxp: GxpFile, v: FragmentVaryings) -> Iterator[str]:
    end = sum(f.iterated_words + f.texel_words for f in map(rules.input_facts, v.inputs))
    if end > gxp.primary_registers:
        yield f"the inputs take {end} registers pa, and the header says {gxp.primary_registers}"
    for d in v.inputs:
        if d.bits.fetched and d.bits.coordinate != rules.NO_SOURCE and d.resource_index >= UNITS:
            yield f"a texel is fetched from unit {d.resource_index}"


__all__ = ["complaints"]
