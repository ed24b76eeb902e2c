"""The directives that make a GXP file out of a source text; each calls the method of `GxpBuilder` with its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from isakit.asm.reader import Directive
from isakit.asm.source import SourceSpan, Statement
from isakit.codec import Stream, Token
from isakit.errors import FormatError
from isakit.formats import gxp_derive as rules
from isakit.formats.gxp import ORDER, GxpParameter, VertexVaryings
from isakit.formats.gxp_build import CONTAINER_NAMES, SIZE_NAMES, GxpBuilder
from isakit.formats.gxp_listing import read_name

if TYPE_CHECKING:
    from isakit.asm.reader import Reader

GXP_DIRECTIVES: dict[str, Directive] = {}
U32 = (1 << 32) - 1


class _Bad(Exception):
    """Something in a directive does not fit: the token, None for the end of the statement."""

    def __init__(self, token: Token | None, message: str) -> None:
        self.token, self.message = token, message


class Arguments:
    """The words after a directive, taken one after the other."""

    def __init__(self, tokens: list[Token], symbol: Callable[[str], int | None]) -> None:
        self.tokens, self.k = tokens, 0
        self.stream = Stream(tokens, symbol)

    @property
    def left(self) -> bool:
        """Return whether there is another word."""
        return self.k < len(self.tokens)

    def bad(self, message: str) -> _Bad:
        """The error for the next word."""
        return _Bad(self.tokens[self.k] if self.left else None, message)

    def word(self, what: str) -> str:
        """The next word."""
        if not self.left or self.tokens[self.k].kind not in ("word", "number"):
            raise self.bad(f"{what} was expected")
        self.k += 1
        return self.tokens[self.k - 1].text

    def key(self, *names: str) -> str:
        """The next word if it is one of these, else nothing."""
        if self.left and self.tokens[self.k].text in names:
            self.k += 1
            return self.tokens[self.k - 1].text
        return ""

    def number(self, what: str, low: int = 0, high: int = U32) -> int:
        """A number in a range."""
        got = self.stream.number(self.k)
        if got is None:
            raise self.bad(f"{what} was expected")
        if not low <= got[1] <= high:
            raise self.bad(f"{what} is {low:#x} to {high:#x}, not {got[1]:#x}")
        self.k = got[0]
        return got[1]

    def register(self, file: str) -> int:
        """A register such as sa4."""
        m = re.fullmatch(rf"{file}(\d{{1,10}})", self.tokens[self.k].text) if self.left else None
        if m is None:
            raise self.bad(f"a register {file}0, {file}1 ... was expected")
        self.k += 1
        return int(m[1])

    def try_register(self, file: str) -> int | None:
        """A register if one stands there."""
        if self.left and re.fullmatch(rf"{file}\d{{1,10}}", self.tokens[self.k].text):
            return self.register(file)
        return None

    def type(self) -> tuple[str, int, int]:
        """(type, components, elements) of `f32x4[11]`."""
        m = re.fullmatch(r"([a-z]+?\d*?)(?:x(\d+))?", self.tokens[self.k].text) if self.left else None
        if m is None:
            raise self.bad("a type such as f32x4 was expected")
        try:
            rules.type_number(m[1])
        except KeyError:
            raise self.bad(f"there is no type `{m[1]}`; types are {' '.join(rules.TYPES)}") from None
        self.k += 1
        array = 1
        if self.key("["):
            array = self.number("a number of elements")
            if not self.key("]"):
                raise self.bad("`]` was expected")
        return m[1], int(m[2]) if m[2] else 0 if m[1] == "aggregate" else 1, array

    def container(self) -> int:
        """A container by name or number."""
        word = self.key(*CONTAINER_NAMES.values())
        if word:
            return next(n for n, name in CONTAINER_NAMES.items() if name == word)
        return self.number("a container", 0, 0xFFFF)

    def semantic(self) -> tuple[int, int] | str:
        """`semantic N K`, or a name such as TEXCOORD1; nothing where there is neither."""
        if self.key("semantic"):
            return self.number("a semantic", 0, 255), self.number("an index", 0, 255)
        if self.left and self.tokens[self.k].text.rstrip("0123456789").upper() in rules.SEMANTIC_NAMES:
            return self.word("a semantic")
        return ""

    def numbers(self, what: str, low: int = 0, high: int = U32) -> list[int]:
        """All numbers that are left."""
        out = [self.number(what, low, high)]
        while self.left:
            out.append(self.number(what, low, high))
        return out


Run = Callable[[GxpBuilder, Arguments], None]


def _directive(name: str, usage: str) -> Callable[[Run], None]:
    def register(run: Run) -> None:
        def act(r: Reader, s: Statement, tokens: list[Token]) -> None:
            builder: Any = r.file
            if not isinstance(builder, GxpBuilder):
                r.source.error(s.place(), f"`{name}` belongs after a `.gxp`", "usage: " + GXP_DIRECTIVES[".gxp"].usage)
                return
            _run(r, s, tokens, lambda a: run(builder, a), f"{name} {usage}")

        GXP_DIRECTIVES[name] = Directive(name, f"{name} {usage}".strip(), (run.__doc__ or "").strip(), act)

    return register


def _run(r: Reader, s: Statement, tokens: list[Token], run: Callable[[Arguments], None], usage: str) -> None:
    a = Arguments(tokens, r.known)
    try:
        run(a)
        if a.left:
            raise a.bad("this does not belong here")
    except _Bad as e:
        end = SourceSpan(s.line, s.column + len(s.text), 1)
        r.source.error(end if e.token is None else s.place(e.token), e.message, f"usage: {usage}")
    except FormatError as e:
        r.source.error(s.place(), e.reason)


def _gxp(r: Reader, s: Statement, tokens: list[Token]) -> None:
    """Begins a shader file: its stage, and what only its maker knows.

    `asm --format gxp` writes the file. What the following directives do not say is derived.
    """
    usage = GXP_DIRECTIVES[".gxp"].usage
    if r.file is not None:
        r.source.error(s.place(), "second `.gxp`; a text makes one file")
        return

    def run(a: Arguments) -> None:
        stage = a.key("vertex", "fragment")
        if not stage:
            raise a.bad("a stage was expected: vertex or fragment")
        more: dict[str, Any] = {}
        while a.left:
            match a.word("version, sdk, compiler or guid"):
                case "version":
                    more["version"] = (a.number("a number", 0, 255), a.number("a number", 0, 255))
                case "sdk":
                    more["sdk_version"] = a.number("a version", 0, 0xFFFF)
                case "compiler":
                    more["compiler_version"] = a.number("a version")
                case "guid":
                    more["binary_guid"], more["source_guid"] = a.number("a number"), a.number("a number")
                case word:
                    a.k -= 1
                    raise a.bad(f"`{word}` is none of version, sdk, compiler, guid")
        r.file = GxpBuilder(stage, **more)

    _run(r, s, tokens, run, usage)


GXP_DIRECTIVES[".gxp"] = Directive(
    ".gxp", ".gxp STAGE [version MAJOR MINOR] [sdk N] [compiler N] [guid BINARY SOURCE]", (_gxp.__doc__ or "").strip(),
    _gxp,
)  # fmt: skip


# --- parameters ------------------------------------------------------------------------------------------------------


def _name(a: Arguments) -> str:
    return read_name(a.word("a name"))


@_directive(".attribute", "NAME TYPE [paN] [SEMANTIC] [used MASK] [raw]")
def _attribute(b: GxpBuilder, a: Arguments) -> None:
    """A vertex input, in registers pa. TYPE is f32x4 for four components, f32x4[3] for an array.

    `used` has a bit per register that the program reads (left out: all). `raw` registers get the bytes unconverted.
    """
    name, (ty, components, array) = _name(a), a.type()
    register = a.try_register("pa")
    semantic = a.semantic()
    used = a.number("a mask", 0, (1 << 64) - 1) if a.key("used") else None
    raw = bool(a.key("raw"))
    b.attribute(name, ty, components, array=array, register=register, semantic=semantic, used=used, raw=raw)


@_directive(".uniform", "NAME TYPE [saN | at WORD in CONTAINER] [SEMANTIC]")
def _uniform(b: GxpBuilder, a: Arguments) -> None:
    """A uniform: of the default buffer in registers sa, or at a word of another buffer."""
    name, (ty, components, array) = _name(a), a.type()
    at, container = a.try_register("sa"), 14
    if at is None and a.key("at"):
        at = a.number("a place", -(1 << 31), (1 << 31) - 1)
    if a.key("in"):
        container = a.container()
    b.uniform(name, ty, components, array=array, at=at, container=container, semantic=a.semantic())


@_directive(".sampler", "NAME TYPE unit N [cube] [index N] [query N] [in CONTAINER]")
def _sampler(b: GxpBuilder, a: Arguments) -> None:
    """A sampler on a texture unit.

    `query` is the format of its samples (0 native, 1 f32, 2 f16); left out, it is as the code fetches or samples it.
    """
    name, (ty, components, array) = _name(a), a.type()
    unit = a.number("a unit", -(1 << 31), (1 << 31) - 1) if a.key("unit") else 0
    cube = bool(a.key("cube"))
    index = a.number("an index", 0, 255) if a.key("index") else 0
    query = a.number("a format", 0, 255) if a.key("query") else None
    container = a.container() if a.key("in") else 0
    b.sampler(name, ty, components, unit=unit, array=array, cube=cube, sampled_as=query, container=container,
              semantic_index=index)  # fmt: skip


def _placed(a: Arguments) -> tuple[str, str, int, dict[str, Any]]:
    name, (ty, components, array) = _name(a), a.type()
    at = a.number("a place", -(1 << 31), (1 << 31) - 1) if a.key("at") else 0
    container = a.container() if a.key("in") else 0
    return name, ty, components, {"array": array, "at": at, "container": container, "semantic": a.semantic()}


@_directive(".surface", "NAME TYPE [at N] [in CONTAINER] [SEMANTIC]")
def _surface(b: GxpBuilder, a: Arguments) -> None:
    """An auxiliary surface."""
    name, ty, components, more = _placed(a)
    b.surface(name, ty, components, **more)


@_directive(".buffer", "NAME TYPE[BYTES] [at N] [in CONTAINER] [SEMANTIC]")
def _buffer(b: GxpBuilder, a: Arguments) -> None:
    """A uniform buffer number N; `$$` stands for no name."""
    name, ty, components, more = _placed(a)
    b.buffer(name, ty, components, **more)


@_directive(".parameter", "NAME TYPE category N [at N] [in CONTAINER] [SEMANTIC]")
def _parameter(b: GxpBuilder, a: Arguments) -> None:
    """A parameter record as it is, for those the other directives cannot write."""
    name, (ty, components, array) = _name(a), a.type()
    if not a.key("category"):
        raise a.bad("`category` and a number were expected")
    category = a.number("a category", 0, 15)
    at = a.number("a place", -(1 << 31), (1 << 31) - 1) if a.key("at") else 0
    container = a.container() if a.key("in") else 0
    semantic = a.semantic()
    number, index = rules.semantic_numbers(semantic) if isinstance(semantic, str) else semantic
    b.parameter(GxpParameter(name, category, rules.type_number(ty), components, container, number, index, array, at))


# --- shared registers ------------------------------------------------------------------------------------------------


@_directive(".literal", "saN VALUE, ...")
def _literal(b: GxpBuilder, a: Arguments) -> None:
    """Constants in registers sa: numbers with a point are f32, others are the bits."""
    register = a.register("sa")
    if not a.left:
        raise a.bad("a value was expected")
    while a.left:
        real = a.stream.float_number(a.k)
        if real is not None:
            a.k = real[0]
            b.literal(real[1], register)
        else:
            b.literal(a.number("a number", -(1 << 31)), register)
        register += 1


def _texture(b: GxpBuilder, a: Arguments, in_memory: bool) -> None:
    if not a.key("unit"):
        raise a.bad("`unit` and a number were expected")
    unit = a.number("a unit", 0, 0x3FFF)
    word = a.number("a word", 0, 3) if a.key("word") else None
    b.texture(unit, a.try_register("sa"), word=word, in_memory=in_memory)


@_directive(".texture", "unit N [word K] [saN]")
def _texture_state(b: GxpBuilder, a: Arguments) -> None:
    """The four state words of a texture unit, or one of them, in registers sa: for units the program samples itself."""
    _texture(b, a, False)


@_directive(".texture_in_memory", "unit N [word K] [saN]")
def _texture_in_memory(b: GxpBuilder, a: Arguments) -> None:
    """Like `.texture`, with the words from the texture buffer in memory."""
    _texture(b, a, True)


@_directive(".address", "BUFFER saN [BIAS]")
def _address(b: GxpBuilder, a: Arguments) -> None:
    """The address of a buffer, plus BIAS bytes, in a register sa."""
    buffer, register = a.container(), a.register("sa")
    b.address(buffer, register, a.number("a number of bytes", -(1 << 31), (1 << 31) - 1) if a.left else 0)


@_directive(".container", "NAME saN WORDS [unknown N]")
def _container(b: GxpBuilder, a: Arguments) -> None:
    """Place a buffer in registers sa: default, data, literal, texture, scratch, thread, or a number; or `none`.

    Left out, the default uniforms lie at sa0 and the data (literals, texture states, addresses) after them.
    """
    if a.key("none"):
        b.no_containers()
        return
    index, register = a.container(), a.register("sa")
    words = a.number("a number of words", 0, 0xFFFF)
    b.container(index, register, words, a.number("a number", 0, 0xFFFF) if a.key("unknown") else 0)


@_directive(".literal_data", "WORD, ...")
def _literal_data(b: GxpBuilder, a: Arguments) -> None:
    """Words of the literal buffer, which lies in memory."""
    b.literal_buffer(b"".join(v.to_bytes(4, "little") for v in a.numbers("a word")))


# --- inputs and results ----------------------------------------------------------------------------------------------


@_directive(".varying", "[SOURCE TYPE] [centroid] [fetch UNIT at COORDINATE FORMAT] [bits INFO RESOURCE SIZE TEXEL]")
def _varying(b: GxpBuilder, a: Arguments) -> None:
    """An input of a fragment program, in the next registers pa.

    SOURCE is texcoord0 ... texcoord9, color0, color1, fog or position. `fetch 0 at texcoord0.xy f16` adds a texel of
    unit 0 that is there when the program starts; xyw and xyz divide the coordinate by its last component. `bits` flips
    bits of the stored words.
    """
    more: dict[str, Any] = {}
    source = a.key(*rules.SOURCES)
    if not source and a.left and a.tokens[a.k].text not in ("fetch", "centroid", "bits", "none"):
        raise a.bad(f"a varying was expected: {', '.join(rules.SOURCES)}")
    if source:
        more["type"], more["components"], _ = a.type()
    a.key("none")
    more["centroid"] = bool(a.key("centroid"))
    if a.key("fetch"):
        more["fetch"] = a.number("a texture unit")
        if not a.key("at"):
            raise a.bad("`at` and a texture coordinate were expected")
        m = re.fullmatch(r"texcoord(\d+)(?:\.(\w+))?", a.tokens[a.k].text) if a.left else None
        if m is None or (m[2] or "xy") not in rules.COORDINATES:
            raise a.bad("texcoord0 ... with .xy, .xyw or .xyz was expected")
        a.k += 1
        more["coordinate"], more["projection"] = int(m[1]), m[2] or "xy"
        more["texel"] = a.key("native", "f16", "f32") or "f16"
    if a.key("bits"):
        more["change"] = tuple(a.number("a number") for _ in range(4))
    b.varying(source or None, **more)


@_directive(".result", "TYPE [paN] [fetches N] [bits A B]")
def _result(b: GxpBuilder, a: Arguments) -> None:
    """The colour of a fragment program: its type and first register (default pa0; o0 where the colour is native)."""
    ty, components, _ = a.type()
    register = a.try_register("pa") or 0
    fetches = a.number("a number", 0, 0xFFFF) if a.key("fetches") else None
    head = byte9 = 0
    if a.key("bits"):
        head, byte9 = a.number("a number", 0, (1 << 64) - 1), a.number("a byte", 0, 255)
    if register > 255 or components > 255:
        raise a.bad("register and components are bytes")
    b.result(ty, components, register=register, head=head, byte9=byte9, fetches=fetches)


@_directive(".outputs", "NAME ...")
def _outputs(b: GxpBuilder, a: Arguments) -> None:
    """The outputs of a vertex program: position, color0, color1, fog, texcoord0.xy ..., pointsize, clip0 ... clip7.

    A texture coordinate has .xy, .xyz or .xyzw, and .f16 after it where it is declared half. They lie in o0 and
    following in this order, whatever the order here, one f32 in a register, those declared half too.
    """
    lengths = {"xy": 2, "xyz": 3, "xyzw": 4}
    while a.left:
        text = a.tokens[a.k].text
        m = re.fullmatch(r"(texcoord\d)\.(xy|xyz|xyzw|code([0-7]))(\.f16)?", text)
        try:
            if m:
                b.output(m[1], lengths.get(m[2], 4), half=bool(m[4]), code=int(m[3]) if m[3] else None)
            else:
                b.output(text)
        except FormatError as e:
            raise a.bad(e.reason) from None
        a.k += 1


@_directive(".vertex_bits", "INPUTS UNTYPED OUTPUTS1 OUTPUTS2 PACKED [INDEX [INSTANCE]]")
def _vertex_bits(b: GxpBuilder, a: Arguments) -> None:
    """Flips bits of the words that `.attribute` and `.outputs` make.

    INDEX and INSTANCE are the registers pa that get the number of the vertex and of the instance.
    """
    limits = (64, 64, 32, 32, 32, 16, 16)
    found = [a.number("a number", 0, (1 << bits) - 1) for bits in limits if a.left]
    b.change_vertex(VertexVaryings(*found))


@_directive(".no_varyings", "")
def _no_varyings(b: GxpBuilder, a: Arguments) -> None:
    """The file has no table of inputs and results; it cannot be run."""
    b.field("varyings", None)


# --- what is otherwise derived ---------------------------------------------------------------------------------------


@_directive(".flags", "[no] NAME ...")
def _flags(b: GxpBuilder, a: Arguments) -> None:
    """Flags of the header that do not follow from the rest; `no NAME` clears one that does.

    per_instance, discard, depth, spritecoord, native_color, reads_color, msaa2, msaa4, fetches, iterates, store,
    undefined_output, index, instance; the others, without a known meaning, are bit2, bit13 ...
    """
    while a.left:
        there = not a.key("no")
        try:
            b.flag(a.word("a flag"), there)
        except FormatError as e:
            a.k -= 1
            raise a.bad(e.reason) from None


@_directive(".registers", "[pa N] [sa N] [temps N] [selective N] [phases N] [buffers N] [units N]")
def _registers(b: GxpBuilder, a: Arguments) -> None:
    """Numbers of the header that are otherwise derived.

    Registers of each kind, phases, and the flags that say how buffers and texture units are used.
    """
    names = {
        "pa": ("primary_registers", 16), "sa": ("secondary_registers", 16), "temps": ("temp_registers", 32),
        "selective": ("temp_registers_selective", 16), "phases": ("phase_count", 16), "buffers": ("buffer_flags", 32),
        "units": ("texunit_flags", 64),
    }  # fmt: skip
    while a.left:
        name = a.key(*names)
        if not name:
            raise a.bad(f"one of {', '.join(names)} was expected")
        field, bits = names[name]
        b.field(field, a.number("a number", 0, (1 << bits) - 1))


@_directive(".sizes", "[scratch N] [thread N] [literal N] [data N] [texture N] [default N]")
def _sizes(b: GxpBuilder, a: Arguments) -> None:
    """Sizes of buffers in words; default, literal and data are otherwise derived, the others 0."""
    while a.left:
        name = a.key(*SIZE_NAMES)
        if not name:
            raise a.bad(f"a buffer was expected: {', '.join(SIZE_NAMES)}")
        b.size(name, a.number("a number of words"))


@_directive(".phases", "INSTRUCTION ... | none")
def _phases(b: GxpBuilder, a: Arguments) -> None:
    """Numbers of the instructions that phases begin with; left out, those of `phas`."""
    b.field("phases", () if a.key("none") else tuple(a.numbers("an instruction number")))


@_directive(".queries", "NUMBER ... | none")
def _queries(b: GxpBuilder, a: Arguments) -> None:
    """Query information per texture unit; left out, it follows from the samplers."""
    b.field("sampler_query", () if a.key("none") else tuple(a.numbers("a number", 0, 0xFFFF)))


# --- order and padding -----------------------------------------------------------------------------------------------


@_directive(".layout", "PART ...")
def _layout(b: GxpBuilder, a: Arguments) -> None:
    """The order of the parts of the file; `nameK` is the name of parameter K, `names` are all names.

    Parts: header, varyings, inputs, secondary, phases, primary, literals, literal_buffer, dependent_samplers,
    texture_buffer_samplers, containers, uniform_buffers, parameters, sampler_query, names.
    """
    parts: list[str] = []
    while a.left:
        text = a.word("a part")
        if text not in (*ORDER, "names") and not re.fullmatch(r"name\d{1,6}", text):
            a.k -= 1
            raise a.bad(f"there is no part `{text}`")
        if text in parts:
            a.k -= 1
            raise a.bad(f"second `{text}`")
        parts.append(text)
    b.layout(parts)


@_directive(".gap", "PART BYTE, ...")
def _gap(b: GxpBuilder, a: Arguments) -> None:
    """Bytes before a part that belong to nothing known."""
    part = a.word("a part")
    b.gap(part, bytes(a.numbers("a byte", 0, 255)))


@_directive(".unaligned", "PART")
def _unaligned(b: GxpBuilder, a: Arguments) -> None:
    """The part stands right after what comes before it, without alignment."""
    b.unaligned(a.word("a part"))


@_directive(".tail", "BYTE, ...")
def _tail(b: GxpBuilder, a: Arguments) -> None:
    """Bytes after the last part that count as part of the file."""
    b.append("tail", bytes(a.numbers("a byte", 0, 255)))


@_directive(".padding", "BYTE, ... | none")
def _padding(b: GxpBuilder, a: Arguments) -> None:
    """Bytes after the file; left out, zeros up to a multiple of four."""
    b.append("padding", b"" if a.key("none") else bytes(a.numbers("a byte", 0, 255)))
