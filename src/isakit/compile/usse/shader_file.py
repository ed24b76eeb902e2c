"""Compiles a shader to its file: passes, two programs, and the tables around them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace

from isakit.asm import Program
from isakit.compile.ir import Function, IrValue, Loc
from isakit.compile.passes.halves import compute_in_half
from isakit.compile.passes.values import eliminate_common_subexpressions, eliminate_dead_code
from isakit.compile.passes.vectors import narrow_vectors
from isakit.compile.shader import ShaderInput, ShaderInterface, ShaderOutput, ShaderUniform, sampler_place
from isakit.compile.usse.driver import (
    EARLY,
    JOINED,
    LATE,
    ProgramCode,
    RegisterPressureError,
    compile_program,
    optimized,
)
from isakit.compile.usse.emit import CodeText
from isakit.compile.usse.program import STRETCH, LiteralPool, ProgramPlan
from isakit.compile.usse.registers import SHARED, Registers, words
from isakit.compile.usse.shader_passes import (
    Fetch,
    convert_result,
    count_literal_words,
    load_uniforms_from_memory,
    lower_facing,
    prefetch_texels,
    return_uniform_part,
    split_uniform_part,
)
from isakit.compile.vector_ops import INPUT, SAMPLE, TARGET_COLOR, UniformName, count, element
from isakit.errors import CompileError, Diagnostic
from isakit.formats.gxp import DATA, DEFAULT_BUFFER, GxpFile, vertex_outputs, write_gxp
from isakit.formats.gxp_build import GxpBuilder
from isakit.instruction_sets import isa as sgx543
from isakit.line_table import VariableRange

SDK, COMPILER = 0x350, 0
UNITS, TEXCOORDS = 16, 10
TARGETS = ("f16x4", "f32x4", "u8x4", "f16x2", "f32x2", "f16", "f32")
"""Possible formats of a fragment program's colour; u8x4 is that of the tile, in its own register (o0)."""
MOST_UNIFORMS, FEWER_UNIFORMS = 104, 72
"""Registers for uniforms at most; the second limit applies if the first one is exceeded and some stay in memory."""
ROOM = 24
"""Registers sa left for constants and for intermediate results of the secondary program."""
SOURCES = {"COLOR": "color0", "COLOR0": "color0", "COLOR1": "color1", "FOG": "fog", "WPOS": "position",
           "SPRITECOORD": "spritecoord"}  # fmt: skip
"""Semantics of inputs of fragment programs to the interpolated values; texture coordinates are separate."""
NUMBERS = {"INDEX": "index", "INSTANCE": "instance"}
"""Semantics of inputs of vertex programs that are not attributes: integers, one register each."""
OUTPUTS = {"POSITION": "position", "COLOR": "color0", "FOG": "fog", "PSIZE": "pointsize"}
HALVED = (eliminate_common_subexpressions, eliminate_dead_code, narrow_vectors, eliminate_dead_code)
"""The passes after operations have been converted to halves, in this order."""
LAST_PHASE, MORE_PHASES = "phas wait7 temps 0x0 addr 0x0", "phas wait1 temps 0x0 addr 0x0"


@dataclass
class CompiledShader:
    """A compiled shader.

    Attributes:
        data: the file.
        file: its records.
        primary, secondary: the programs.
        lines: index of an instruction of the primary program to its origin; likewise of the secondary one.
        variables: locations of the source's variables in the primary program, if they were marked.
    """

    data: bytes
    file: GxpFile
    primary: Program
    secondary: Program
    lines: dict[int, Loc] = field(default_factory=dict[int, Loc])
    secondary_lines: dict[int, Loc] = field(default_factory=dict[int, Loc])
    variables: list[VariableRange] = field(default_factory=list[VariableRange])


def compile_shader_ir(
    f: Function, interface: ShaderInterface, path: Callable[[int], str] = lambda number: Diagnostic.path
) -> CompiledShader:
    """Compile a shader that is not in SSA form yet; `path` names the file of a location.

    Raises CompileError if it exceeds the limits of the chip or its files.
    """
    try:
        return ShaderCompilation(f, interface).run()
    except RegisterPressureError as e:
        line, number, _ = e.loc
        raise CompileError([Diagnostic(max(line, 1), 1, str(e), path=path(number))]) from None


class SecondaryPressureError(Exception):
    """The secondary program needs about so many more registers sa than the uniforms leave."""

    def __init__(self, missing: int) -> None:
        self.missing = max(missing, 1)
        super().__init__(f"{missing} registers are missing")


class ShaderCompilation:
    """The compilation of one shader."""

    def __init__(self, f: Function, interface: ShaderInterface) -> None:
        self.f, self.interface = f, interface
        self.builder = GxpBuilder(interface.stage, sdk_version=SDK, compiler_version=COMPILER)
        self.plan = ProgramPlan(interface)
        self.near: int | None = None
        """Registers of uniforms where others lie in memory."""
        self.buffered: dict[str, int] = {}
        """Words of the uniforms of numbered buffers."""
        self.buffers: dict[int, tuple[int, range]] = {}
        """By number: the bytes of a buffer, and the registers sa with the addresses of its stretches."""
        self.used: dict[str, int] = {}
        """Channels of inputs that the code reads, as a mask; other names with 1."""

    @property
    def vertex(self) -> bool:
        """True if it is a vertex program."""
        return self.interface.stage == "vertex"

    def run(self) -> CompiledShader:
        """Compile the shader to a file."""
        f, interface = self.f, self.interface
        fetches: list[Fetch] = []
        if not self.vertex and interface.target not in TARGETS:
            raise self.error(f"colours as {interface.target} are not supported; {', '.join(TARGETS)} are")
        optimized(f, EARLY)
        if not self.vertex:
            lower_facing(f, interface)
            self._read_halves()
            convert_result(f, interface)
            optimized(f, (eliminate_common_subexpressions, eliminate_dead_code))
            compute_in_half(f)
            optimized(f, HALVED)
        optimized(f, JOINED)
        if not self.vertex:
            fetches = prefetch_texels(f, interface)
        self._find_used(fetches)
        data = self._place_shared()
        load_uniforms_from_memory(f, self.plan.memory)
        secondary, kinds = split_uniform_part(f, SHARED - data - max(ROOM, count_literal_words(f)))
        optimized(f, LATE)
        if secondary is not None:
            optimized(secondary, LATE)
        self._find_used(fetches)
        attributes = self._attributes() if self.vertex else self._varyings(fetches)
        self._add_shared()
        if self.vertex:
            self._vertex_outputs()
        else:
            self._fragment_outputs()
        return self._programs(secondary, kinds, attributes, data)

    def _read_halves(self) -> None:
        """Read interpolated values as halves where the source rounds them; the format of the result does not count.

        Sony's compiler, too, interpolates a colour that is only output as f32.
        """
        floats = {i.name for i in self.interface.inputs if i.type == "f32" and i.semantic not in ("WPOS", "FACE")}
        halves = compute_in_half(self.f, floats.__contains__)
        inputs = self.interface.inputs
        self.interface.inputs = [replace(i, type="f16") if i.name in halves else i for i in inputs]
        optimized(self.f, HALVED)

    def error(self, message: str) -> CompileError:
        """Return an error about the whole shader."""
        return CompileError([Diagnostic(1, 1, message)])

    # --- tables -----------------------------------------------------------------------------------------------------
    def _find_used(self, fetches: list[Fetch]) -> None:
        """Find what the code uses: inputs, and the uniforms and samplers that it uses now or did in an earlier call."""
        inputs: dict[str, int] = {}
        for i in self.f.instructions():
            if i.op is INPUT:
                name = INPUT.of(i).name
                inputs[name] = inputs.get(name, 0) | (1 << count(i.out.kind)) - 1
            elif isinstance(i.attrs, UniformName):
                self.used[i.attrs.name] = 1
            elif i.op is SAMPLE:
                self.used[sampler_place(SAMPLE.of(i).sampler)[0]] = 1
        for t in fetches:
            self.used[sampler_place(t.sampler)[0]] = 1
        for i in self.interface.inputs:
            self.used.pop(i.name, None)
        self.used |= inputs

    def _kept(self, name: str) -> bool:
        return name in self.used or name in self.interface.kept

    def _attributes(self) -> int:
        """Add the attributes; return the number of primary attributes.

        Sony's compiler gives every attribute four components, however many are declared, and records which registers
        the code reads.
        """
        end = 0
        for i in self.interface.inputs:
            if not self._kept(i.name):
                continue
            mask = self.used.get(i.name, 0)
            if i.semantic in NUMBERS:
                self.builder.number(NUMBERS[i.semantic], end)
                self.plan.inputs[i.name] = end, 1
                end += 1
                continue
            used = sum(1 << k for k in range(4) if mask >> 2 * k & 3) if i.type == "f16" else mask
            name = self.interface.named(i.name)
            register = self.builder.attribute(name, i.type, 4, array=i.array, used=used, semantic=i.semantic, raw=i.raw)
            size = words(f"{i.type}x4") * i.array
            self.plan.inputs[i.name] = register, size
            end = max(end, register + size)
        return end + end % 2

    def _varyings(self, fetches: list[Fetch]) -> int:
        """Add interpolated values and texels; return the number of primary attributes."""
        read = [i for i in self.interface.inputs if i.name in self.used and i.semantic != "FACE"]
        end = 0
        for k in range(max(len(read), len(fetches))):
            i = read[k] if k < len(read) else None
            fetch = fetches[k] if k < len(fetches) else None
            more: dict[str, object] = {}
            if fetch is not None:
                more = {"fetch": self._unit(fetch.sampler), "coordinate": fetch.coordinate}
                more |= {"projection": fetch.projection, "texel": fetch.texel}
            if i is None:
                at = self.builder.varying(None, **more)  # type: ignore[arg-type]
                size = 0
            else:
                n = self.used[i.name].bit_length() if i.semantic != "WPOS" else 4
                n += n % 2 if i.type == "f32" else 0
                source = _source(i)
                if source is None:
                    raise self.error(f"`{i.name}`: inputs of semantic {i.semantic} are not supported")
                at = self.builder.varying(source, n, i.type, centroid=i.centroid, **more)  # type: ignore[arg-type]
                size = words(f"{i.type}x{n}" if n > 1 else i.type)
                self.plan.inputs[i.name] = at, size
            if fetch is not None:
                texel = 4 if fetch.texel == "f32" else 2
                self.plan.inputs[fetch.name] = at + size, texel
                size += texel
            end = at + size
        return max(end + end % 2, 0 if self.interface.native else words(self.interface.target))

    def _units(self) -> dict[str, int]:
        """Return the first unit of every sampler; elements of an array have consecutive ones. Raises CompileError."""
        out: dict[str, int] = {}
        taken: set[int] = set()
        for s in sorted(self.interface.samplers, key=lambda s: s.unit is None):
            free = (k for k in range(UNITS - s.array + 1) if taken.isdisjoint(range(k, k + s.array)))
            unit = next(free, None) if s.unit is None else s.unit
            if unit is None or unit + s.array > UNITS:
                raise self.error(f"`{s.name}`: there are {UNITS} texture units")
            out[s.name] = unit
            taken.update(range(unit, unit + s.array))
        return out

    def _unit(self, name: str) -> int:
        """Return the unit of a sampler, or of an element `name[k]` of an array of them."""
        stem, index = sampler_place(name)
        return self._units()[stem] + index

    def _place_shared(self) -> int:
        """Assign registers sa to uniforms and textures; return the first one after them.

        If not all uniforms fit, the largest ones stay in memory, after the others.
        """
        kept = [u for u in self.interface.uniforms if self._kept(u.name) and u.buffer is None]
        sizes = {u.name: (u.components if u.type == "s32" else _stride(u)) * u.array for u in kept}
        order = sorted(kept, key=lambda u: sizes[u.name])
        far: list[ShaderUniform] = []
        while order and sum(sizes[u.name] for u in order) > (MOST_UNIFORMS if not far else FEWER_UNIFORMS):
            far.insert(0, order.pop())
        end = 0
        for u in [u for u in kept if u not in far]:
            end += end % 2 if sizes[u.name] > 1 else 0
            self.plan.uniforms[u.name] = end, 1 if u.type == "s32" else _stride(u)
            end += sizes[u.name]
        if far:
            end += end % 2
            self.near, at = end, 0
            for u in far:
                self.plan.memory[u.name] = at, 1 if u.type == "s32" else _stride(u)
                self.plan.uniforms[u.name] = self.near + at, 0
                at += sizes[u.name] + sizes[u.name] % 2
            self.plan.addresses = list(range(end, end + -(-at // STRETCH)))
            end += len(self.plan.addresses)
        end = self._place_buffers(end)
        if end > SHARED:
            total = sum(sizes.values()) + sum(size // 4 for size, _ in self.buffers.values())
            raise self.error(f"the uniforms take {total} words, more than the shader can address")
        for name in dict.fromkeys(SAMPLE.of(i).sampler for i in self.f.instructions() if i.op is SAMPLE):
            end += end % 2
            self.plan.textures[name] = end
            end += 4
        return end + end % 2

    def _place_buffers(self, end: int) -> int:
        """Assign words to uniforms of numbered buffers, and registers sa from `end` on to the addresses of the buffers.

        Unused uniforms of a buffer keep their words, because several shaders may share it. Returns the first register
        after the addresses.
        """
        for number in sorted({u.buffer for u in self.interface.uniforms if u.buffer is not None}):
            inside = [u for u in self.interface.uniforms if u.buffer == number]
            if not any(self._kept(u.name) for u in inside):
                continue
            first, at = len(self.plan.addresses) * STRETCH, 0
            for u in inside:
                stride = 1 if u.type == "s32" else _stride(u)
                size = stride * u.array * (u.components if u.type == "s32" else 1)
                at += at % 2 if size > 1 else 0
                self.plan.memory[u.name] = first + at, stride
                self.buffered[u.name] = at
                at += size
            self.buffers[number] = 4 * at, range(end, end + -(-at // STRETCH))
            self.plan.addresses += self.buffers[number][1]
            end += len(self.buffers[number][1])
        return end

    def _add_shared(self) -> None:
        """Add uniforms, samplers, and the other content of registers sa."""
        for u in self.interface.uniforms:
            if u.name in self.plan.uniforms:
                name, at = self.interface.named(u.name), self.plan.uniforms[u.name][0]
                self.builder.uniform(name, u.type, u.components, array=u.array, semantic=u.semantic, at=at)
            elif u.buffer is not None and self._kept(u.name):
                name, at = self.interface.named(u.name), self.buffered[u.name]
                self.builder.uniform(name, u.type, u.components, array=u.array, at=at, container=u.buffer)
        units = self._units()
        for s in sorted(self.interface.samplers, key=lambda s: units[s.name]):
            if self._kept(s.name):
                name = self.interface.named(s.name)
                self.builder.sampler(name, unit=units[s.name], array=s.array, cube=s.kind == "cube")
        near = len(self.plan.addresses) - sum(len(registers) for _, registers in self.buffers.values())
        for k, register in enumerate(self.plan.addresses[:near]):
            self.builder.address(DEFAULT_BUFFER, register, 4 * ((self.near or 0) + k * STRETCH) - 4)
        for number, (size, registers) in self.buffers.items():
            self.builder.buffer("", array=size, at=number)
            for k, register in enumerate(registers):
                self.builder.address(number, register, 4 * k * STRETCH - 4)
        for name, register in self.plan.textures.items():
            self.builder.texture(self._unit(name), register)

    def _vertex_outputs(self) -> None:
        names: dict[str, ShaderOutput] = {}
        for o in self.interface.outputs:
            name = _output(o.semantic)
            if name is None:
                raise self.error(f"`{o.name}`: a vertex program has no output {o.semantic}")
            names[name] = o
            if name != "position":
                n = max(o.components, 2) if name.startswith("texcoord") else 4
                self.builder.output(name, n, half=o.type == "f16")
        v = self.builder.file().varyings
        for place in vertex_outputs(v.outputs1, v.outputs2):  # type: ignore[union-attr]
            if place.name in names:
                o = names[place.name]
                self.plan.outputs[o.name] = place.register, min(o.components, place.components)

    def _fragment_outputs(self) -> None:
        to = self.interface.target
        for o in self.interface.outputs:
            if o.semantic.startswith("COLOR"):
                self.plan.outputs[o.name] = 0, 1 if self.interface.native else words(to)
                self.builder.result(element(to), count(to))
                if self.interface.native:
                    self.builder.flag("native_color")
                    if any(i.op is TARGET_COLOR for i in self.f.instructions()):
                        self.builder.flag("reads_color")
                    self.builder.flag("bit13")  # beside it in the one public file that has it
                    self.plan.native = o.name

    # --- programs ---------------------------------------------------------------------------------------------------
    def _programs(
        self, secondary: Function | None, kinds: dict[str, str], attributes: int, data: int
    ) -> CompiledShader:
        """Compile both programs; values that could be computed once are computed where needed if registers run out."""
        while True:
            try:
                return self._with_shared(secondary, kinds, attributes, data)
            except SecondaryPressureError as e:
                assert secondary is not None
                secondary = return_uniform_part(self.f, secondary, kinds, e.missing)
                optimized(self.f, (eliminate_common_subexpressions, eliminate_dead_code))
                if secondary is not None:
                    optimized(secondary, (eliminate_dead_code,))

    def _with_shared(
        self, secondary: Function | None, kinds: dict[str, str], attributes: int, data: int
    ) -> CompiledShader:
        """Compile both programs: literals follow the uniforms, and values computed once follow the literals.

        The secondary program is compiled again until it leaves enough room for its own literals. Raises
        SecondaryPressureError.
        """
        at = 0
        self.plan.once = {}
        for name, kind in kinds.items():
            at += at % 2 if words(kind) > 1 else 0
            self.plan.once[name] = at
            at += words(kind)
        literals = LiteralPool(room=SHARED - data - at - at % 2)
        one = compile_program(self.f, self.plan, Registers(attributes), literals)
        of_one, evicted = list(literals.words), set[IrValue]()
        two: ProgramCode | None = None
        base = data + len(of_one) + len(of_one) % 2
        while secondary is not None:
            other = copy(self.plan)
            other.stage = "secondary"
            other.outputs = {n: (base + k, words(kinds[n])) for n, k in self.plan.once.items()}
            literals.words = list(of_one)
            first = base + at + at % 2
            try:
                two = compile_program(secondary, other, Registers(secondary=True, first=first), literals, evicted)
            except RegisterPressureError as e:
                raise SecondaryPressureError(e.needed - e.there) from None
            end = data + len(literals.words) + len(literals.words) % 2
            if end <= base:
                break
            base = end
        if base > SHARED and secondary is not None:
            raise SecondaryPressureError(base - SHARED)
        if base > SHARED:
            raise self.error(f"uniforms and constants take {base} registers; there are {SHARED}")
        for k, word in enumerate(literals.words):
            self.builder.literal(word, data + k)
        if self.near is not None:
            self.builder.container(DEFAULT_BUFFER, 0, self.near)
            self.builder.container(DATA, self.near, data + len(literals.words) - self.near)
        return self._written(one, base, one.text(data, base), two.text(data) if two is not None else None)

    def _written(self, code: ProgramCode, once: int, one: CodeText, two: CodeText | None) -> CompiledShader:
        isa = sgx543("usse")
        lines, places = list(one.lines), dict(enumerate(one.places))
        if not self.vertex and len(lines) in {to for _, to in _jumps(one)}:
            lines.append("nop end")  # a branch leads to an instruction
        if one.kills:
            cut = self._phase_cut(one)
            lines = [MORE_PHASES, *lines[:cut], "nop end", LAST_PHASE, *lines[cut:]]
            number = {k: k + (1 if k < cut else 3) for k in range(len(one.lines))}
        else:
            lines = [LAST_PHASE, *lines]
            number = {k: k + 1 for k in range(len(one.lines))}
        places = {number[k]: p for k, p in places.items()}
        if self.vertex:
            lines.append("emit end")
        primary = isa.assemble("\n".join(lines), "primary")
        secondary = isa.assemble("\n".join([*two.lines, "nop end"] if two is not None else []), "secondary")
        file = self.builder.file(primary, secondary)
        more = dict(enumerate(two.places)) if two is not None else {}
        made = CompiledShader(write_gxp(file), file, primary, secondary, places, more)
        if code.m.marks:
            at = {k: primary[n].address for k, n in number.items()}
            end = primary[-1].address + primary[-1].size
            made.variables = code.locations(one, at, once).ranges([i.address for i in primary], end)
        return made

    def _phase_cut(self, code: CodeText) -> int:
        """Return the index of the instruction that begins the phase after the one that discards.

        It is the one after the last discard, or the start of the next block if the discard is under a branch.
        """
        last = code.kills[-1] + 1
        jumps = _jumps(code)
        if not jumps:
            return last
        for at in sorted({last, *(s for s in code.starts if s >= last)}):
            if not any((start < at) != (target < at) and target != at for start, target in jumps):
                return at
        return len(code.lines)


def _jumps(code: CodeText) -> list[tuple[int, int]]:
    """Return (index of a branch, index of its target) for each branch."""
    return [(k, k + int(line.split()[-1])) for k, line in enumerate(code.lines) if " br " in f" {line}"]


def _stride(u: ShaderUniform) -> int:
    """Return the distance from one element of a uniform to the next, in registers."""
    size = words(f"{u.type}x{u.components}") if u.components > 1 and u.type != "s32" else u.components
    return size + size % 2 if u.array > 1 and size > 1 and u.type != "s32" else size


def _source(i: ShaderInput) -> str | None:
    number = i.semantic[8:] or "0"
    if i.semantic.startswith("TEXCOORD") and number.isdigit() and int(number) < TEXCOORDS:
        return f"texcoord{int(number)}"
    return SOURCES.get(i.semantic)


def _output(semantic: str) -> str | None:
    if semantic in OUTPUTS:
        return OUTPUTS[semantic]
    for stem, name, limit in (("COLOR", "color", 2), ("TEXCOORD", "texcoord", 10), ("CLP", "clip", 8)):
        rest = semantic[len(stem) :]
        if semantic.startswith(stem) and (not rest or rest.isdigit()) and int(rest or 0) < limit:
            return f"{name}{int(rest or 0)}"
    return None
