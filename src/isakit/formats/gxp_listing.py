"""A GXP file as directives: what a listing of a shader begins with, so that it assembles back to the same file.

Only what does not follow from the code and the other tables is printed; see `gxp_derive`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from isakit.formats import gxp_derive as rules
from isakit.formats.gxp import (
    ATTRIBUTE,
    AUXILIARY_SURFACE,
    DEFAULT_BUFFER,
    SAMPLER,
    SEMANTICS,
    TYPES,
    UNIFORM,
    UNIFORM_BUFFER,
    AttributeDescriptor,
    FragmentVaryings,
    GxpFile,
    GxpParameter,
    VertexVaryings,
    standard_layout,
)
from isakit.formats.gxp_build import CONTAINER_NAMES, FLAG_NAMES, SIZE_NAMES, attribute_mask
from isakit.formats.gxp_outputs import HAS_POSITION, OUTPUT_BITS, TEXCOORD_CODES, texcoord_code

if TYPE_CHECKING:
    from isakit.asm import Program

_PLAIN = re.compile(r"[A-Za-z0-9_.]")
_BIT_NAMES = {bit: name for name, bit in FLAG_NAMES.items()}


def written_name(name: str) -> str:
    """A parameter's name as a source text can hold it: other characters than letters, digits, `_`, `.` as `$5b$`."""
    if not name:
        return "$$"
    out = "".join(c if _PLAIN.fullmatch(c) else f"${ord(c):x}$" for c in name)
    return f"${ord(name[0]):x}${out[1:]}" if name[0].isdigit() or name[0] == "." else out


def read_name(text: str) -> str:
    """The name that `written_name` wrote."""
    return re.sub(r"\$([0-9a-f]*)\$", lambda m: chr(int(m[1], 16)) if m[1] else "", text)


def gxp_lines(gxp: GxpFile, primary: Program, secondary: Program) -> Iterator[str]:
    """The directives of a file, without the programs."""
    code = rules.code_facts(primary, secondary)
    version = "" if gxp.version == (1, 5) else f" version {gxp.version[0]} {gxp.version[1]}"
    guids = f" guid {gxp.binary_guid:#x} {gxp.source_guid:#x}" if gxp.binary_guid or gxp.source_guid else ""
    compiler = f" compiler {gxp.compiler_version:#x}" if gxp.compiler_version else ""
    yield f".gxp {gxp.stage}{version} sdk {gxp.sdk_version:#x}{compiler}{guids}"
    found = rules.derived(gxp, code)
    yield from _flags(gxp.flags, found["flags"])
    yield from _numbers(gxp, found)
    for p in gxp.parameters:
        yield _parameter(gxp, p, code)
    yield from _containers(gxp)
    yield from _shared(gxp)
    for at in range(0, len(gxp.literal_buffer), 32):
        piece = gxp.literal_buffer[at : at + 32]
        yield ".literal_data " + ", ".join(f"{v:#010x}" for (v,) in struct.iter_unpack("<I", piece))
    if isinstance(gxp.varyings, FragmentVaryings):
        yield from _fragment(gxp, gxp.varyings)
    elif gxp.varyings is not None:
        yield from _vertex(gxp, gxp.varyings)
    else:
        yield ".no_varyings"
    yield from _layout(gxp)


def _flags(flags: int, derived: int) -> Iterator[str]:
    words = [_BIT_NAMES.get(k, f"bit{k}") for k in range(1, 32) if (flags & ~derived) >> k & 1]
    words += [f"no {_BIT_NAMES.get(k, f'bit{k}')}" for k in range(1, 32) if (derived & ~flags) >> k & 1]
    if words:
        yield ".flags " + " ".join(words)


def _numbers(gxp: GxpFile, found: rules.Derived) -> Iterator[str]:
    named = (
        ("pa", "primary_registers"), ("sa", "secondary_registers"), ("temps", "temp_registers"),
        ("selective", "temp_registers_selective"), ("phases", "phase_count"), ("buffers", "buffer_flags"),
        ("units", "texunit_flags"),
    )  # fmt: skip
    words = [f"{word} {_number(getattr(gxp, f))}" for word, f in named if getattr(gxp, f) != found[f]]
    if words:
        yield ".registers " + " ".join(words)
    sizes = zip(SIZE_NAMES, gxp.buffer_sizes, found["buffer_sizes"], strict=True)
    words = [f"{name} {size}" for name, size, expected in sizes if size != expected]
    if words:
        yield ".sizes " + " ".join(words)
    if gxp.phases != found["phases"]:
        yield ".phases " + (" ".join(map(str, gxp.phases)) or "none")
    if gxp.sampler_query != found["sampler_query"]:
        yield ".queries " + (" ".join(f"{q:#x}" for q in gxp.sampler_query) or "none")


def _number(value: int) -> str:
    return str(value) if value < 0x10000 else f"{value:#x}"


def _type(p: GxpParameter) -> str:
    name = TYPES[p.type] if p.type < len(TYPES) else f"type{p.type}"
    usual = 0 if name == "aggregate" else 1
    count = "" if p.component_count == usual else f"x{p.component_count}"
    return name + count + ("" if p.array_size == 1 else f"[{p.array_size}]")


def _semantic(p: GxpParameter) -> str:
    if not p.semantic and not p.semantic_index:
        return ""
    if 0 < p.semantic < len(SEMANTICS):
        return f" {SEMANTICS[p.semantic]}{p.semantic_index or ''}"
    return f" semantic {p.semantic} {p.semantic_index}"


def _parameter(gxp: GxpFile, p: GxpParameter, code: rules.CodeFacts) -> str:
    name, ty = written_name(p.name), _type(p)
    inside = f" in {p.container_index}" if p.container_index else ""
    if p.category == ATTRIBUTE and not inside and p.resource_index >= 0:
        return f".attribute {name} {ty} pa{p.resource_index}{_semantic(p)}{_used(gxp, p)}"
    if p.category == UNIFORM:
        if p.container_index == DEFAULT_BUFFER and p.resource_index >= 0:
            return f".uniform {name} {ty} sa{p.resource_index}{_semantic(p)}"
        return f".uniform {name} {ty} at {p.resource_index} in {p.container_index}{_semantic(p)}"
    if p.category == SAMPLER:
        cube = " cube" if p.semantic_index & 16 else ""
        index = f" index {p.semantic_index & ~16}" if p.semantic_index & ~16 else ""
        as_ = rules.sampled_as(gxp, code, p.resource_index)
        query = "" if p.semantic == as_ else f" query {p.semantic}"
        return f".sampler {name} {ty} unit {p.resource_index}{cube}{index}{query}{inside}"
    names = {AUXILIARY_SURFACE: ".surface", UNIFORM_BUFFER: ".buffer"}
    if p.category in names:
        return f"{names[p.category]} {name} {ty} at {p.resource_index}{inside}{_semantic(p)}"
    return f".parameter {name} {ty} category {p.category} at {p.resource_index}{inside}{_semantic(p)}"


def _used(gxp: GxpFile, p: GxpParameter) -> str:
    """Write the registers of an attribute that the program reads, where it is not all of them."""
    v = gxp.varyings
    every = attribute_mask(p)
    if not isinstance(v, VertexVaryings) or not every:
        return ""
    used = v.attribute_registers & every
    raw = " raw" if used and v.untyped_registers & every == used else ""
    return ("" if used == every else f" used {used >> p.resource_index:#x}") + raw


def _vertex(gxp: GxpFile, v: VertexVaryings) -> Iterator[str]:
    used = raw = 0
    for p in gxp.parameters:
        if p.category != ATTRIBUTE or p.container_index or p.resource_index < 0:
            continue
        every = attribute_mask(p)
        mask = v.attribute_registers & every
        used |= mask
        raw |= mask if mask and v.untyped_registers & every == mask else 0
    names = [n for n, bit in OUTPUT_BITS.items() if v.outputs1 >> bit & 1]
    bits = sum(1 << OUTPUT_BITS[n] for n in names) | HAS_POSITION
    codes = {code: "xyzw"[:n] for n, code in TEXCOORD_CODES.items()}
    texcoords: list[str] = []
    for k in range(10):
        code = texcoord_code(v.outputs2, k)
        if code:
            half = ".f16" if v.texcoord_pack >> k & 1 else ""
            texcoords.append(f"texcoord{k}.{codes.get(code, f'code{code}')}{half}")
    present = sum(1 << k for k in range(10) if texcoord_code(v.outputs2, k))
    plain = VertexVaryings(used, raw, bits, v.outputs2 & (1 << 30) - 1, v.texcoord_pack & present)
    order = [n for n in names if n in ("color0", "color1", "fog")], [n for n in names if n[:4] in ("poin", "clip")]
    yield ".outputs " + " ".join(["position", *order[0], *texcoords, *order[1]])
    expected = rules.derived_varyings(replace(gxp, varyings=plain))
    change = [getattr(v, f.name) ^ getattr(expected, f.name) for f in fields(VertexVaryings)]
    if any(change):
        yield ".vertex_bits " + " ".join(f"{c:#x}" for c in change)


def _fragment(gxp: GxpFile, v: FragmentVaryings) -> Iterator[str]:
    last = rules.last_iterated(v.inputs)
    for k, d in enumerate(v.inputs):
        f = rules.input_facts(d)
        words = [f"{rules.SOURCES[f.source]} {f.type}x{f.components}"] if f.source is not None else []
        if f.centroid:
            words.append("centroid")
        if f.coordinate is not None:
            at = f"{f.coordinate}.{rules.COORDINATES[f.projection]}"
            words.append(f"fetch {f.unit} at texcoord{at} {f.texel}")
        e = f.descriptor(k == last)
        change = [getattr(d, x.name) ^ getattr(e, x.name) for x in fields(AttributeDescriptor)]
        if any(change):
            words.append("bits " + " ".join(f"{c:#x}" for c in change))
        yield ".varying " + " ".join(words or ["none"])
    ty = TYPES[v.output_type] if v.output_type < len(TYPES) else f"type{v.output_type}"
    words = [f".result {ty}x{v.output_components}"]
    if v.output_start:
        words.append(f"pa{v.output_start}")
    expected = rules.derived_varyings(gxp)
    assert isinstance(expected, FragmentVaryings)
    if v.unknown_e != expected.unknown_e:
        words.append(f"fetches {v.unknown_e}")
    if v.unknown0 or v.unknown9:
        words.append(f"bits {v.unknown0:#x} {v.unknown9:#x}")
    yield " ".join(words)


def _containers(gxp: GxpFile) -> Iterator[str]:
    data, literals = rules.data_base(gxp), rules.literal_base(gxp)
    ends = [literals + x.sa_offset + 1 for x in gxp.literals]
    ends += [data + x.sa_offset + 1 for x in (*gxp.dependent_samplers, *gxp.texture_buffer_samplers)]
    ends += [data + x.ldst_base_offset + 1 for x in gxp.uniform_buffers]
    if gxp.containers == rules.derived_containers(gxp, max(ends, default=0)):
        return
    if not gxp.containers:
        yield ".container none"
    for c in gxp.containers:
        name = CONTAINER_NAMES.get(c.index, str(c.index))
        unknown = f" unknown {c.unknown}" if c.unknown else ""
        yield f".container {name} sa{c.base_sa_offset} {c.size_in_words}{unknown}"


def _shared(gxp: GxpFile) -> Iterator[str]:
    data, literals = rules.data_base(gxp), rules.literal_base(gxp)
    for x in gxp.literals:
        (value,) = struct.unpack("<f", struct.pack("<I", x.value))
        yield f"{f'.literal sa{literals + x.sa_offset} {x.value:#010x}':<44} // {value:g}"
    for what, table in ((".texture", gxp.dependent_samplers), (".texture_in_memory", gxp.texture_buffer_samplers)):
        k = 0
        while k < len(table):
            x = table[k]
            at = data + x.sa_offset
            four = [(x.resource + n, x.sa_offset + n) for n in range(4)]
            if x.resource % 4 == 0 and [(y.resource, y.sa_offset) for y in table[k : k + 4]] == four:
                yield f"{what} unit {x.resource // 4} sa{at}"
                k += 4
            else:
                yield f"{what} unit {x.resource // 4} word {x.resource % 4} sa{at}"
                k += 1
    for b in gxp.uniform_buffers:
        name = CONTAINER_NAMES.get(b.reside_buffer, str(b.reside_buffer))
        bias = f" {b.ldst_base_value}" if b.ldst_base_value else ""
        yield f".address {name} sa{data + b.ldst_base_offset}{bias}"


def _layout(gxp: GxpFile) -> Iterator[str]:
    if not gxp.layout:
        return
    keys = [f"name{p.index}" if p.kind == "name" else p.kind for p in gxp.layout]
    standard = [f"name{p.index}" if p.kind == "name" else p.kind for p in standard_layout(gxp)]
    if keys != standard:
        names = [k for k in standard if re.fullmatch(r"name\d+", k)]
        at = keys.index(names[0]) if names and names[0] in keys else -1
        if at >= 0 and keys[at : at + len(names)] == names and not set(names) & {*keys[:at], *keys[at + len(names) :]}:
            keys[at : at + len(names)] = ["names"]
        yield ".layout " + " ".join(keys)
    for p in gxp.layout:
        key = f"name{p.index}" if p.kind == "name" else p.kind
        for at in range(0, len(p.gap), 16):
            yield f".gap {key} " + ", ".join(f"{b:#04x}" for b in p.gap[at : at + 16])
        if not p.aligned:
            yield f".unaligned {key}"
    for what, data in ((".tail", gxp.tail), (".padding", gxp.padding)):
        if what == ".padding" and data == bytes(-gxp.stored_size % 4):
            continue
        for at in range(0, len(data), 16):
            yield f"{what} " + ", ".join(f"{b:#04x}" for b in data[at : at + 16])
        if what == ".padding" and not data:
            yield ".padding none"
