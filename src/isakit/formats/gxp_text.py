"""GXP files as source texts: each directive is declared once, and read and written from that.

A directive is a call of a method of `GxpBuilder`, and its usage its grammar (`isakit.asm.usage`). `gxp_lines` prints
only what does not follow from the code and the other tables; a listing assembles to the same file.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from isakit.asm.reader import Directive
from isakit.asm.source import SourceSpan, Statement
from isakit.asm.usage import Arguments, Kind, Line, Misplaced, Run, UsualKinds, Values, number, pattern
from isakit.codec import Token
from isakit.errors import FormatError
from isakit.formats import gxp_rules as rules
from isakit.formats.gxp import (
    ATTRIBUTE,
    AUXILIARY_SURFACE,
    CONTAINER_NAMES,
    DEFAULT_BUFFER,
    HAS_POSITION,
    HEADER,
    INPUT,
    ORDER,
    OUTPUT_BITS,
    SAMPLER,
    SEMANTICS,
    SIZE_NAMES,
    TEXCOORD_CODES,
    TYPES,
    UNIFORM,
    UNIFORM_BUFFER,
    VERTEX,
    FragmentVaryings,
    GxpDependentSampler,
    GxpFile,
    GxpParameter,
    VertexVaryings,
    standard_layout,
    texcoord_code,
)
from isakit.formats.gxp_build import GxpBuilder, semantic_numbers, type_number
from isakit.formats.layout import Layout

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.asm.reader import Reader

U8, U16, U64 = ((1 << n) - 1 for n in (8, 16, 64))
S32 = -(1 << 31), (1 << 31) - 1


def _register(file: str) -> Kind:
    expected = f"a register {file}0, {file}1 ... was expected"
    return pattern(rf"{file}(\d{{1,10}})", expected, lambda m: int(m[1]), lambda v: f"{file}{v}")


def _read_name(a: Arguments) -> str:
    """Take the name of a parameter; other characters than letters, digits, `_`, `.` as `$5b$`, no name as `$$`."""
    return re.sub(r"\$([0-9a-f]*)\$", lambda m: chr(min(int(m[1], 16), 0xFFFF)) if m[1] else "", a.word("a name"))


def _write_name(name: str) -> str:
    out = re.sub(r"^[0-9.]|[^A-Za-z0-9_.]", lambda m: f"${ord(m[0]):x}$", name, flags=re.DOTALL)
    return out or "$$"


def _type(elements: bool = True) -> Kind:
    """Return the kind of type, components and elements of a parameter: `f32x4[11]`."""

    def read(a: Arguments) -> Values:
        m = re.fullmatch(r"([a-z]+?\d{0,9}?)(?:x(\d{1,9}))?", a.text)
        if m is None:
            raise a.error("a type such as f32x4 was expected")
        try:
            type_number(m[1])
        except FormatError as e:
            raise a.error(e.reason) from None
        a.take()
        out: Values = {"type": m[1], "components": int(m[2]) if m[2] else 0 if m[1] == "aggregate" else 1}
        if elements:
            out["array"] = 1
            if a.key("["):
                out["array"] = a.number("a number of elements")
                if not a.key("]"):
                    raise a.error("`]` was expected")
        return out

    def write(value: tuple[int, ...]) -> str:
        kind, components, *length = value
        name = TYPES[kind] if kind < len(TYPES) else f"type{kind}"
        count = "" if components == (0 if name == "aggregate" else 1) and elements else f"x{components}"
        return name + count + ("" if length in ([], [1]) else f"[{length[0]}]")

    return Kind(read, write, several=True)


def _read_semantic(a: Arguments) -> tuple[int, int]:
    """Take a semantic such as TEXCOORD1, or `semantic` with number and index."""
    if a.key("semantic"):
        return a.number("a semantic", 0, U8), a.number("an index", 0, U8)
    return semantic_numbers(a.word("a semantic"))


def _write_semantic(value: tuple[int, int]) -> str:
    kind, index = value
    return f"{SEMANTICS[kind]}{index or ''}" if 0 < kind < len(SEMANTICS) else f"semantic {kind} {index}"


def _read_container(a: Arguments) -> int:
    """Take a container by name or number."""
    word = a.key(*_CONTAINERS)
    return _CONTAINERS[word] if word else a.number("a container", 0, U16)


def _read_literals(a: Arguments) -> list[float | int]:
    """Take constants: numbers with a point are f32, others are bits."""
    out: list[float | int] = []
    while a.text or not out:
        real = a.stream.float_number(a.k) if a.text else None
        if real is not None:
            a.k = real[0]
        elif not a.text:
            raise a.error("a value was expected")
        out.append(a.number("a number", -(1 << 31)) if real is None else real[1])
    return out


def _source_begins(a: Arguments) -> bool:
    """Return whether a varying has a source; no other words than these and those of the groups begin one."""
    if a.text and a.text not in (*rules.SOURCES, "fetch", "centroid", "bits"):
        raise a.error(f"a varying was expected: {', '.join(rules.SOURCES)}")
    return a.text in rules.SOURCES


def _output(m: re.Match[str]) -> Values:
    coordinate = re.fullmatch(r"(texcoord\d)\.(?:(xyz?w?)|code([0-7]))(\.f16)?", m[0])
    if coordinate is None:
        return {"name": m[0]}
    name, letters, code, half = coordinate.groups()
    return {"name": name, "components": len(letters or "xyzw"), "half": bool(half), "code": int(code) if code else None}


def _read_parts(a: Arguments) -> list[str]:
    """Take parts of the file by name, each once."""
    out: list[str] = []
    while a.text:
        text = a.word("a part")
        known = text in (*ORDER, "names") or re.fullmatch(r"name\d{1,6}", text)
        if not known or text in out:
            a.k -= 1
            raise a.error(f"second `{text}`" if known else f"there is no part `{text}`")
        out.append(text)
    return out


LINES: dict[str, Line] = {}
GXP_DIRECTIVES: dict[str, Directive] = {}


def _directive(name: str, usage: str, doc: str, run: Run | None = None, any_order: str = "", /, **kinds: Kind) -> None:
    """Declare a directive; it calls the method of its name with the values, unless `run` does something else."""
    LINES[name] = line = Line(name, usage, kinds, run or (lambda b, v: getattr(b, name[1:])(**v)), any_order, _USUAL)

    def act(r: Reader, s: Statement, tokens: list[Token]) -> None:
        first, a = name == ".gxp", Arguments(tokens, r.known)
        if first and r.file is not None:
            r.source.error(s.place(), "second `.gxp`; a text makes one file")
        elif not first and not isinstance(r.file, GxpBuilder):
            r.source.error(s.place(), f"`{name}` belongs after a `.gxp`", "usage: " + LINES[".gxp"].usage)
        else:
            try:
                made = line.read(a, r.file)
                if a.text:
                    raise a.error("this does not belong here")
                r.file = made if first else r.file
            except Misplaced as e:
                end = SourceSpan(s.line, s.column + len(s.text), 1)
                r.source.error(end if e.token is None else s.place(e.token), e.message, f"usage: {line.usage}")
            except FormatError as e:
                r.source.error(s.place(), e.reason)

    GXP_DIRECTIVES[name] = Directive(name, line.usage, cleandoc(doc), act)


# --- the directives: a file ------------------------------------------------------------------------------------------
def _begin(_: None, v: Values) -> GxpBuilder:
    if "major" in v:
        v["version"] = v.pop("major"), v.pop("minor")
    return GxpBuilder(**v)


def _numbers(layout: Layout[Any], *names: str, form: str = "#x") -> dict[str, Kind]:
    """Return the kinds of some fields of a record: numbers with as many bits."""
    return {name: number(high=(1 << 8 * layout.fields[name].form.size) - 1, form=form) for name in names}


def _field(name: str) -> Run:
    """Return what sets a field of the file to numbers, none without them."""
    return lambda b, v: b.field(name, tuple(v.get(name, ())))


# fmt: off
_CONTAINERS = {name: number for number, name in CONTAINER_NAMES.items()}
_USUAL: UsualKinds = {
    "NAME": ("name", Kind(_read_name, _write_name)), "TYPE": ("type", _type()), "TYPE[BYTES]": ("type", _type()),
    "paN": ("register", _register("pa")), "saN": ("register", _register("sa")),
    "SEMANTIC": ("semantic", Kind(_read_semantic, _write_semantic,
        lambda a: a.text == "semantic" or a.text.rstrip("0123456789").upper() in SEMANTICS[1:])),
    "CONTAINER": ("container", Kind(_read_container)),
}
"""Field and kind of words that mean the same in most directives."""
_BUFFER = Kind(_read_container, lambda value: CONTAINER_NAMES.get(value, str(value)))
_PLACE = number("a place", *S32)
_TEXTURE: dict[str, Kind] = {"unit": number("a unit", high=0x3FFF), "word": number("a word", high=3)}
_COORDINATE = pattern(
    r"texcoord(\d{1,9})(?:\.(kind0|xy|xyw|xyz))?", "texcoord0 ... with .xy, .xyw or .xyz was expected",
    lambda m: {"coordinate": int(m[1]), "projection": m[2] or "xy"}, lambda v: f"texcoord{v}", several=True)
_BYTES = number("a byte", high=U8, form="#04x", many=", ", make=bytes)
_REGISTERS = {f.word: f.name for f in rules.DERIVED if f.word}

_directive(".gxp", "STAGE [version MAJOR MINOR] [sdk N] [compiler N] [guid BINARY SOURCE]", """
    Begins a shader file: its stage, and what only its maker knows.

    `asm --format gxp` writes the file. What the following directives do not say is derived.
    """, _begin, "one of {} was expected",
    stage=pattern("vertex|fragment", "a stage was expected: vertex or fragment"), major=number(high=U8),
    minor=number(high=U8),
    **_numbers(HEADER, "sdk_version", "compiler_version", "binary_guid", "source_guid"))

# --- parameters ------------------------------------------------------------------------------------------------------
_directive(".attribute", "NAME TYPE [paN] [SEMANTIC] [used MASK] [raw]", """
    A vertex input, in registers pa. TYPE is f32x4 for four components, f32x4[3] for an array.

    `used` has a bit per register that the program reads (left out: all). `raw` registers get the bytes unconverted.
    """, used=number("a mask", high=U64, form="#x"))
_directive(".uniform", "NAME TYPE [saN | at WORD] [in CONTAINER] [SEMANTIC]", """
    A uniform: of the default buffer in registers sa, or at a word of another buffer.
    """, lambda b, v: b.uniform(**{"at" if name == "register" else name: x for name, x in v.items()}), at=_PLACE)
_directive(".sampler", "NAME TYPE [unit N] [cube] [index N] [query N] [in CONTAINER]", """
    A sampler on a texture unit.

    `query` is the format of its samples (0 native, 1 f32, 2 f16); left out, it is as the code fetches or samples it.
    """, unit=number("a unit", *S32), semantic_index=number("an index", high=U8),
    sampled_as=number("a format", high=U8))
_directive(".surface", "NAME TYPE [at N] [in CONTAINER] [SEMANTIC]", "An auxiliary surface.", at=_PLACE)
_directive(".buffer", "NAME TYPE[BYTES] [at N] [in CONTAINER] [SEMANTIC]", """
    A uniform buffer number N; `$$` stands for no name.
    """, at=_PLACE)
_directive(".parameter", "NAME TYPE category N [at N] [in CONTAINER] [SEMANTIC]", """
    A parameter record as it is, for those the other directives cannot write.
    """, lambda b, v: b.record(**v), category=number("a category", high=15), at=_PLACE)

# --- shared registers ------------------------------------------------------------------------------------------------
_directive(".literal", "saN VALUE, ...", """
    Constants in registers sa: numbers with a point are f32, others are the bits.
    """, lambda b, v: [b.literal(x, k) for k, x in enumerate(v["values"], v["register"])],
    values=Kind(_read_literals, lambda value: f"{value[0]:#010x}"))
_directive(".texture", "unit N [word K] [saN]", """
    The four state words of a texture unit, or one of them, in registers sa: for units the program samples itself.
    """, **_TEXTURE)
_directive(".texture_in_memory", "unit N [word K] [saN]", """
    Like `.texture`, with the words from the texture buffer in memory.
    """, lambda b, v: b.texture(**v, in_memory=True), **_TEXTURE)
_directive(".address", "BUFFER saN [BIAS]", """
    The address of a buffer, plus BIAS bytes, in a register sa.
    """, buffer=_BUFFER, bias=number("a number of bytes", *S32))
_directive(".container", "BUFFER saN WORDS [unknown N] | none", """
    Place a buffer in registers sa: default, data, literal, texture, scratch, thread, or a number; or `none`.

    Left out, the default uniforms lie at sa0 and the data (literals, texture states, addresses) after them.
    """, lambda b, v: b.container(**v) if v else b.no_containers(),
    index=_BUFFER, words=number("a number of words", high=U16), unknown=number(high=U16))
_directive(".literal_data", "WORD, ...", """
    Words of the literal buffer, which lies in memory.
    """, lambda b, v: b.literal_buffer(b"".join(word.to_bytes(4, "little") for word in v["words"])),
    words=number("a word", form="#010x", many=", "))

# --- inputs and results ----------------------------------------------------------------------------------------------
_directive(".varying",
    "[none | SOURCE TYPE] [centroid] [fetch UNIT at COORDINATE [FORMAT]] [bits INFO RESOURCE SIZE TEXEL]", """
    An input of a fragment program, in the next registers pa.

    SOURCE is texcoord0 ... texcoord9, color0, color1, fog or position. `fetch 0 at texcoord0.xy f16` adds a texel of
    unit 0 that is there when the program starts; xyw and xyz divide the coordinate by its last component. `bits` flips
    bits of the stored words.
    """, lambda b, v: b.varying(change=tuple(v.pop(name, 0) for name in INPUT.fields), **v),
    source=Kind(Arguments.take, begins=_source_begins), type=_type(elements=False),
    fetch=number("a texture unit"), coordinate=_COORDINATE, texel=pattern("native|f16|f32", ""),
    **_numbers(INPUT, *INPUT.fields))
_directive(".result", "TYPE [paN] [fetches N] [bits A B]", """
    The colour of a fragment program: its type and first register (default pa0; o0 where the colour is native).
    """, type=_type(elements=False), fetches=number(high=U16), head=number(high=U64, form="#x"),
    byte9=number("a byte", high=U8, form="#x"))
_directive(".outputs", "NAME ...", """
    The outputs of a vertex program: position, color0, color1, fog, texcoord0.xy ..., pointsize, clip0 ... clip7.

    A texture coordinate has .xy, .xyz or .xyzw, and .f16 after it where it is declared half. They lie in o0 and
    following in this order, whatever the order here, one f32 in a register, those declared half too.
    """, lambda b, v: b.output(**v), name=pattern(".*", "", _output, several=True))
_directive(".vertex_bits", "INPUTS UNTYPED OUTPUTS1 OUTPUTS2 PACKED [INDEX [INSTANCE]]", """
    Flips bits of the words that `.attribute` and `.outputs` make.

    INDEX and INSTANCE are the registers pa that get the number of the vertex and of the instance.
    """, lambda b, v: b.change_vertex(VertexVaryings(**v)), **_numbers(VERTEX, *VERTEX.fields))
_directive(".no_varyings", "", """
    The file has no table of inputs and results; it cannot be run.
    """, lambda b, v: b.field("varyings", None))

# --- what is otherwise derived ---------------------------------------------------------------------------------------
_directive(".flags", "[no] NAME ...", """
    Flags of the header that do not follow from the rest; `no NAME` clears one that does.

    per_instance, discard, depth, spritecoord, native_color, reads_color, msaa2, msaa4, fetches, iterates, store,
    undefined_output, index, instance; the others, without a known meaning, are bit2, bit13 ...
    """, lambda b, v: b.flag(v["name"], "no" not in v), name=Kind(lambda a: a.word("a flag")))
_directive(".registers", " ".join(f"[{word} N]" for word in _REGISTERS), """
    Numbers of the header that are otherwise derived.

    Registers of each kind, phases, and the flags that say how buffers and texture units are used.
    """, lambda b, v: [b.field(*x) for x in v.items()],
    "one of {} was expected", **_numbers(HEADER, *_REGISTERS.values(), form=""))
_directive(".sizes", " ".join(f"[{name} N]" for name in SIZE_NAMES), """
    Sizes of buffers in words; default, literal and data are otherwise derived, the others 0.
    """, lambda b, v: [b.size(*x) for x in v.items()],
    "a buffer was expected: {}", **dict.fromkeys(SIZE_NAMES, number("a number of words")))
_directive(".phases", "INSTRUCTION ... | none", """
    Numbers of the instructions that phases begin with; left out, those of `phas`.
    """, _field("phases"), phases=number("an instruction number", many=" "))
_directive(".queries", "NUMBER ... | none", """
    Query information per texture unit; left out, it follows from the samplers.
    """, _field("sampler_query"),
    sampler_query=number(high=U16, form="#x", many=" "))

# --- order and padding -----------------------------------------------------------------------------------------------
_directive(".layout", "PART ...", """
    The order of the parts of the file; `nameK` is the name of parameter K, `names` are all names.

    Parts: header, varyings, inputs, secondary, phases, primary, literals, literal_buffer, dependent_samplers,
    texture_buffer_samplers, containers, uniform_buffers, parameters, sampler_query, names.
    """, pieces=Kind(_read_parts, " ".join))
_directive(".gap", "PART BYTE, ...", """
    Bytes before a part that belong to nothing known.
    """, piece=Kind(lambda a: a.word("a part")), data=_BYTES)
_directive(".unaligned", "PART", """
    The part stands right after what comes before it, without alignment.
    """, piece=Kind(lambda a: a.word("a part")))
_directive(".tail", "BYTE, ...", """
    Bytes after the last part that count as part of the file.
    """, lambda b, v: b.append("tail", v["data"]), data=_BYTES)
_directive(".padding", "BYTE, ... | none", """
    Bytes after the file; left out, zeros up to a multiple of four.
    """, lambda b, v: b.append("padding", v.get("data", b"")), data=_BYTES)
# fmt: on


# --- the lines of a file ---------------------------------------------------------------------------------------------
def _line(name: str, /, *many: Values, **values: object) -> str:
    return LINES[name].write(*many, **values)


def gxp_lines(gxp: GxpFile, primary: Program, secondary: Program) -> Iterator[str]:
    """Yield the directives of a file, without the programs; they assemble to the same file."""
    code = rules.code_facts(primary, secondary)
    major, minor = gxp.version if gxp.version != (1, 5) else (None, None)
    binary, source = (gxp.binary_guid, gxp.source_guid) if gxp.binary_guid or gxp.source_guid else (None, None)
    yield _line(
        ".gxp", stage=gxp.stage, major=major, minor=minor, sdk_version=gxp.sdk_version,
        compiler_version=gxp.compiler_version or None, binary_guid=binary, source_guid=source,
    )  # fmt: skip
    yield from _derived_lines(gxp, rules.derived(gxp, code))
    for p in gxp.parameters:
        yield _parameter_line(gxp, p, code)
    yield from _register_lines(gxp)
    words = [w for (w,) in struct.iter_unpack("<I", gxp.literal_buffer)]
    for at in range(0, len(words), 8):
        yield _line(".literal_data", words=words[at : at + 8])
    if isinstance(gxp.varyings, FragmentVaryings):
        yield from _fragment_lines(gxp.varyings)
    elif gxp.varyings is not None:
        yield from _vertex_lines(gxp, gxp.varyings)
    else:
        yield _line(".no_varyings")
    yield from _layout_lines(gxp)


def _derived_lines(gxp: GxpFile, found: rules.Derived) -> Iterator[str]:
    names = {f.bit: f.name for f in rules.FLAGS}
    flags = [{"no": no, "name": names.get(k, f"bit{k}")}
             for no, bits in ((False, gxp.flags & ~found["flags"]), (True, found["flags"] & ~gxp.flags))
             for k in range(1, 32) if bits >> k & 1]  # fmt: skip
    if flags:
        yield _line(".flags", *flags)
    changed = {name: getattr(gxp, name) for name, value in found.items() if getattr(gxp, name) != value}
    if registers := {name: value for name, value in changed.items() if name in _REGISTERS.values()}:
        yield _line(".registers", **registers)
    sizes = zip(SIZE_NAMES, gxp.buffer_sizes, found["buffer_sizes"], strict=True)
    if others := {name: size for name, size, expected in sizes if size != expected}:
        yield _line(".sizes", **others)
    for line, name in ((".phases", "phases"), (".queries", "sampler_query")):
        if name in changed:
            yield _line(line, **({name: changed[name]} if changed[name] else {}))


def _parameter_line(gxp: GxpFile, p: GxpParameter, code: rules.CodeFacts) -> str:
    at, inside = p.resource_index, p.container_index or None
    v: Values = {"name": p.name, "type": (p.type, p.component_count, p.array_size), "container": inside}
    if p.category == SAMPLER:
        query = None if p.semantic == rules.sampled_as(gxp, code, at) else p.semantic
        cube, index = bool(p.semantic_index & 16), p.semantic_index & ~16 or None
        return _line(".sampler", **v, unit=at, cube=cube, semantic_index=index, sampled_as=query)
    v["semantic"] = (p.semantic, p.semantic_index) if p.semantic or p.semantic_index else None
    if p.category == ATTRIBUTE and not inside and at >= 0:
        used, raw = _used(gxp.varyings, p)
        mask = None if used == rules.attribute_mask(p) else used >> at
        return _line(".attribute", **v, register=at, used=mask, raw=raw)
    if p.category == UNIFORM:
        near = inside == DEFAULT_BUFFER and at >= 0
        v |= {"container": None, "register": at} if near else {"container": p.container_index, "at": at}
        return _line(".uniform", **v)
    name = {AUXILIARY_SURFACE: ".surface", UNIFORM_BUFFER: ".buffer"}.get(p.category, ".parameter")
    return _line(name, **v, at=at, category=p.category)


def _used(v: VertexVaryings | FragmentVaryings | None, p: GxpParameter) -> tuple[int, bool]:
    """Return the registers of an attribute that the program reads, as bits, and whether they get bytes as they are."""
    every = rules.attribute_mask(p)
    if not isinstance(v, VertexVaryings):
        return every, False
    used = v.attribute_registers & every
    return used, bool(used) and v.untyped_registers & every == used


def _register_lines(gxp: GxpFile) -> Iterator[str]:
    """Yield what lies in registers sa: containers where they do not follow, literals, texture states, addresses."""
    if gxp.containers != rules.derived_containers(gxp, rules.data_end(gxp)):
        for c in gxp.containers:
            place = {"index": c.index, "register": c.base_sa_offset, "words": c.size_in_words}
            yield _line(".container", **place, unknown=c.unknown or None)
        if not gxp.containers:
            yield _line(".container")
    literals, textures, in_memory, addresses = rules.PLACED
    for x, register in zip(gxp.literals, literals.registers(gxp), strict=True):
        (value,) = struct.unpack("<f", struct.pack("<I", x.value))
        yield f"{_line('.literal', register=register, values=[x.value]):<44} // {value:g}"
    yield from _texture_lines(".texture", gxp.dependent_samplers, textures.registers(gxp))
    yield from _texture_lines(".texture_in_memory", gxp.texture_buffer_samplers, in_memory.registers(gxp))
    for b, register in zip(gxp.uniform_buffers, addresses.registers(gxp), strict=True):
        yield _line(".address", buffer=b.reside_buffer, register=register, bias=b.ldst_base_value or None)


def _texture_lines(name: str, table: list[GxpDependentSampler], registers: list[int]) -> Iterator[str]:
    k = 0
    while k < len(table):
        x = table[k]
        whole = x.resource % 4 == 0 and table[k : k + 4] == [
            GxpDependentSampler(x.resource + n, x.sa_offset + n) for n in range(4)
        ]
        yield _line(name, unit=x.resource // 4, word=None if whole else x.resource % 4, register=registers[k])
        k += 4 if whole else 1


def _vertex_lines(gxp: GxpFile, v: VertexVaryings) -> Iterator[str]:
    used = raw = 0
    for p in gxp.parameters:
        if p.category == ATTRIBUTE and not p.container_index:
            mask, as_is = _used(v, p)
            used, raw = used | mask, raw | mask * as_is
    names = [n for n, bit in OUTPUT_BITS.items() if v.outputs1 >> bit & 1]
    lengths = {code: "xyzw"[:n] for n, code in TEXCOORD_CODES.items()}
    coordinates = {k: code for k in range(10) if (code := texcoord_code(v.outputs2, k))}
    texcoords = [f"texcoord{k}.{lengths.get(code, f'code{code}')}{'.f16' * (v.texcoord_pack >> k & 1)}"
                 for k, code in coordinates.items()]  # fmt: skip
    first = [n for n in names if n in ("color0", "color1", "fog")]
    order = ["position", *first, *texcoords, *(n for n in names if n not in first)]
    yield _line(".outputs", *({"name": n} for n in order))
    said = VertexVaryings(
        used, raw, sum(1 << OUTPUT_BITS[n] for n in names) | HAS_POSITION, v.outputs2 & (1 << 30) - 1,
        v.texcoord_pack & sum(1 << k for k in coordinates),
    )  # fmt: skip
    if v != (said := rules.with_words(said)):
        yield _line(".vertex_bits", **vars(rules.flipped(v, said)))


def _fragment_lines(v: FragmentVaryings) -> Iterator[str]:
    last = rules.last_iterated(v.inputs)
    for k, d in enumerate(v.inputs):
        f = rules.input_facts(d)
        said = f.descriptor(k == last)
        words: Values = {"centroid": f.centroid, **(vars(rules.flipped(d, said)) if d != said else {})}
        if f.source is not None:
            words |= {"source": rules.SOURCES[f.source], "type": (TYPES.index(f.type), f.components)}
        if f.coordinate is not None:
            at = f"{f.coordinate}.{rules.COORDINATES[f.projection]}"
            words |= {"fetch": f.unit, "coordinate": at, "texel": f.texel}
        yield _line(".varying", **words)
    bits = {"head": v.unknown0, "byte9": v.unknown9} if v.unknown0 or v.unknown9 else {}
    yield _line(".result", type=(v.output_type, v.output_components), register=v.output_start or None,
        fetches=None if v.unknown_e == len(rules.fetches(v.inputs)) else v.unknown_e, **bits,
    )  # fmt: skip


def _layout_lines(gxp: GxpFile) -> Iterator[str]:
    if not gxp.layout:
        return
    keys, standard = ([p.key for p in pieces] for pieces in (gxp.layout, standard_layout(gxp)))
    if keys != standard:
        names = [k for k in standard if k.startswith("name")]
        at = keys.index(names[0]) if names and names[0] in keys else -1
        if at >= 0 and keys[at : at + len(names)] == names and not set(names) & {*keys[:at], *keys[at + len(names) :]}:
            keys[at : at + len(names)] = ["names"]
        yield _line(".layout", pieces=keys)
    for p in gxp.layout:
        yield from _byte_lines(".gap", p.gap, piece=p.key)
        if not p.aligned:
            yield _line(".unaligned", piece=p.key)
    yield from _byte_lines(".tail", gxp.tail)
    if gxp.padding != bytes(-gxp.stored_size % 4):
        yield from _byte_lines(".padding", gxp.padding)
        if not gxp.padding:
            yield _line(".padding")


def _byte_lines(name: str, data: bytes, **values: object) -> Iterator[str]:
    for at in range(0, len(data), 16):
        yield _line(name, **values, data=data[at : at + 16])
