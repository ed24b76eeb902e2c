"""Running USSE shaders: inputs bound by name, one array per result."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.formats.gxp import (
    ATTRIBUTE,
    DATA,
    DEFAULT_BUFFER,
    DISCARD,
    HAS_INDEX,
    LITERAL_BUFFER,
    NATIVE_COLOR,
    SAMPLER,
    TEXTURE_BUFFER,
    TYPES,
    UNIFORM,
    UNIFORM_BUFFER,
    FragmentVaryings,
    GxpFile,
    GxpParameter,
    VertexVaryings,
    vertex_outputs,
)
from isakit.formats.shader import Shader
from isakit.machine.usse import DEFAULT, Cube, Machine, Memory, Rules, ShaderCode, Texture, Volume
from isakit.machine.usse.texture_samples import sampled, state_word
from isakit.runtime import usse_layout as layout
from isakit.runtime.usse_engine import Engine, advance_of, check_engine, sampling, stretches_for
from isakit.runtime.usse_grid import Grid, numbers
from isakit.runtime.usse_output import OutputRegister

if TYPE_CHECKING:
    from isakit.machine.usse.compiled_shader import CompiledRuns

Inputs = list[tuple[str, int, Array]]
"""Registers before a program: file, first register, words [invocations, registers]."""
CHUNK = 16384
"""Invocations that run together: their registers fit the processor's cache."""


class Result(dict[str, Array]):
    """Results of a shader by name, each with one row per vertex or pixel (or an image, where the inputs were images).

    Vertex: `position`, `color0`, `color1`, `fog`, `texcoord0` ..., `pointsize`, `clip0` ... as f32. Fragment: `color`
    (f32, whatever its format) and, where the shader can, `discard` (bool) and `depth`. Names are attributes, too.
    `notes`: the executed instructions of inferred meaning; `instructions`: the number of instructions executed, counted
    once per group of invocations.
    """

    notes: tuple[str, ...] = ()
    instructions: int = 0

    def __getattr__(self, name: str) -> Array:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no result {name!r}; there are {', '.join(self)}") from None


def run(
    shader: Shader,
    *,
    attributes: Mapping[str, ArrayLike] | None = None,
    varyings: Mapping[str, ArrayLike] | None = None,
    uniforms: Mapping[str, ArrayLike] | None = None,
    textures: Mapping[str, Texture | ArrayLike] | None = None,
    buffers: Mapping[str | int, ArrayLike | bytes] | None = None,
    target: ArrayLike | None = None,
    count: int | None = None,
    rules: Rules = DEFAULT,
    max_instructions: int = 1_000_000,
    engine: Engine = "auto",
    output: str | None = None,
) -> Result:
    """Run a shader over many vertices or pixels.

    Args:
        shader: the result of `isakit.load` for a GXP file.
        attributes: vertex inputs by name or semantic: arrays [vertices, components], or one row for all; or
            `VertexStream`, in their memory layout.
        varyings: fragment inputs: `texcoord0` .. `texcoord9`, `color0`, `color1`, `fog`, `position`; arrays
            [pixels, components] or images [height, width, components]. Neighbours for derivatives are those of the
            image; in a plain list four pixels in a row are a quad. `back_facing` (bool, for all or for each) is the
            value of g16.
        uniforms: by name: scalars, vectors, or arrays [array size, components]; missing ones are 0.
        textures: by the sampler's name: a `Texture` or `Volume`, or an array of texels; for an array of samplers a list
            of them.
        buffers: uniform buffers in memory, by name or number: arrays, changed in place by stores.
        target: the previous colours, for fragment shaders that read them from o0: [pixels, components] or an image.
        count: the number of invocations, if no input determines it.
        rules: choices on arithmetic where the hardware's behaviour is not known.
        max_instructions: limit for a program that does not end.
        engine: `reference`, `llvm` (compiled code for straight-line parts of the program), or `auto`: compiled code
            once enough invocations have run for it to pay.
        output: format of the output register of a fragment shader (`declared`, `uchar4`, `half4` ...): the result
            `packed` holds its words, u32 [pixels, words].

    Missing components of inputs are 0, a missing fourth one is 1. Numbers are converted to a parameter's type, but for
    arrays of `np.uint32`: for an f32 parameter they are the bits of its registers. Raises LaunchError for names, shapes
    and types that do not fit, NotModelled for instructions of unknown meaning, MachineFault for bad addresses,
    BudgetExceeded.
    """
    if not isinstance(shader, Shader):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LaunchError(f"this takes a shader, which `isakit.load` makes of a GXP file, not {shader!r}")
    check_engine(engine)
    bound = BoundShader(shader, uniforms or {}, textures or {}, buffers or {}, rules, max_instructions)
    bound.engine = engine
    if output is not None:
        if shader.stage != "fragment":
            raise LaunchError("only fragment shaders have an output register")
        bound.output = OutputRegister.asked(output, shader.file)
    grid, inputs = bound.grid(attributes or {}, varyings or {}, count, target)
    return bound.over(grid, inputs, target, stretches_for(engine, bound.code, grid.lanes))


class BoundShader:
    """One shader with uniforms and textures bound; its secondary program has run unless `once` is False.

    `engine` samples the texels that are fetched before the program starts. `output` is the format in which results
    hold colours as `packed` words, too.
    """

    engine: Engine = "reference"
    output: OutputRegister | None = None
    counted: Callable[[int], object] | None = None
    """Told how many instructions have been executed, from time to time."""

    def __init__(
        self,
        shader: Shader,
        uniforms: Mapping[str, ArrayLike],
        textures: Mapping[str, Texture | ArrayLike],
        buffers: Mapping[str | int, ArrayLike | bytes],
        rules: Rules,
        limit: int,
        once: bool = True,
    ) -> None:
        self.shader, self.rules, self.limit = shader, rules, limit
        self.gxp = gxp = shader.file
        layout.check(gxp, shader.path)
        self.memory = Memory()
        self.units = _textures(gxp, textures)
        self.shared = np.zeros((layout.SHARED_REGISTERS, 1), np.uint32)
        self._fill_shared(uniforms, buffers)
        self.notes: dict[str, str] = {}
        self.instructions = 0
        if once and len(shader.secondary):
            before = self.secondary()
            before.run(ShaderCode(shader.secondary, rules), limit)
            self.shared = before.files["sa"]
            self.notes |= before.notes
            self.instructions += before.executed
        self.code = ShaderCode(shader.primary, rules)

    # --- secondary attributes ----------------------------------------------------------------------------------------
    def _fill_shared(self, uniforms: Mapping[str, ArrayLike], buffers: Mapping[str | int, ArrayLike | bytes]) -> None:
        gxp, contents = self.gxp, self._uniform_buffers(uniforms, buffers)
        for c in gxp.containers:
            if c.index in contents:
                words = contents[c.index].view(np.uint32)[: c.size_in_words]
                self.shared[c.base_sa_offset : c.base_sa_offset + len(words), 0] = words
        base = layout.container_base(gxp, LITERAL_BUFFER)
        data = layout.container_base(gxp, DATA) or 0
        base = data if base is None else base
        for literal in gxp.literals:
            self.shared[base + literal.sa_offset, 0] = literal.value
        for info in gxp.uniform_buffers:
            content = contents.get(info.reside_buffer)
            if content is None and info.reside_buffer == TEXTURE_BUFFER:
                content = self._texture_buffer()
            if content is None and info.reside_buffer == LITERAL_BUFFER:
                content = np.frombuffer(gxp.literal_buffer, np.uint8).copy()
            if content is None:
                content = np.zeros(max(4, 4 * max(gxp.buffer_sizes)), np.uint8)
            address = self.memory.add(content)
            self.shared[data + info.ldst_base_offset, 0] = (address + info.ldst_base_value) & 0xFFFFFFFF
        in_memory = any(info.reside_buffer == TEXTURE_BUFFER for info in gxp.uniform_buffers)
        for d in (*gxp.dependent_samplers, *(() if in_memory else gxp.texture_buffer_samplers)):
            self.shared[data + d.sa_offset, 0] = state_word(d.resource // 4, d.resource % 4)

    def _texture_buffer(self) -> Array:
        """Return the buffer in memory with the state words of textures, at the offsets the file gives them."""
        table = self.gxp.texture_buffer_samplers
        words = np.zeros(max([1, self.gxp.buffer_sizes[4], *(d.sa_offset + 1 for d in table)]), np.uint32)
        for d in table:
            words[d.sa_offset] = state_word(d.resource // 4, d.resource % 4)
        return words.view(np.uint8)

    def _uniform_buffers(
        self, uniforms: Mapping[str, ArrayLike], buffers: Mapping[str | int, ArrayLike | bytes]
    ) -> dict[int, Array]:
        """Return bytes of every uniform buffer by its number."""
        gxp = self.gxp
        known = [p for p in gxp.parameters if p.category == UNIFORM]
        sizes: dict[int, int] = {DEFAULT_BUFFER: gxp.buffer_sizes[5]}
        for p in known:
            end = p.resource_index + p.words
            sizes[p.container_index] = max(sizes.get(p.container_index, 0), end)
        out = {k: np.zeros(4 * n, np.uint8) for k, n in sizes.items()}
        for key, value in buffers.items():
            number = (
                key
                if isinstance(key, int)
                else layout.find(
                    [p for p in gxp.parameters if p.category == UNIFORM_BUFFER], key, "uniform buffer"
                ).resource_index
            )
            content = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            if len(content) % 4:
                raise LaunchError(f"buffer {key!r}: {len(content)} bytes are not whole 32-bit words")
            out[number] = content
        for name, value in uniforms.items():
            p = layout.find(known, name, "uniform")
            stride = p.element_words
            words = layout.to_words(_uniform_rows(p, value), TYPES[p.type])[:, :stride]
            target = out[p.container_index].view(np.uint32)
            if p.resource_index + stride * (len(words) - 1) + words.shape[1] > len(target):
                raise LaunchError(f"uniform {name!r} ends past the {len(target)} words of the buffer it lies in")
            for k, row in enumerate(words):
                at = p.resource_index + k * stride
                target[at : at + len(row)] = row
        return out

    def secondary(self) -> Machine:
        """Return the machine that the secondary program runs on, once."""
        return Machine(1, memory=self.memory, units=self.units, uniform=self.shared)

    # --- invocations -------------------------------------------------------------------------------------------------
    def grid(
        self,
        attributes: Mapping[str, ArrayLike],
        varyings: Mapping[str, ArrayLike],
        count: int | None,
        target: ArrayLike | None,
    ) -> tuple[Grid, Inputs]:
        """Return the invocations, and the initial content of their registers."""
        vertex = self.shader.stage == "vertex"
        if vertex and varyings:
            raise LaunchError("a vertex shader takes attributes, not varyings")
        if not vertex and attributes:
            raise LaunchError("a fragment shader takes varyings, not attributes")
        given = {name: numbers(v, f"the input {name!r}") for name, v in (attributes if vertex else varyings).items()}
        grid = Grid(given if target is None else {**given, "target": target}, count)
        return grid, self._attribute_inputs(grid, given) if vertex else self._varying_inputs(grid, given)

    def over(
        self, grid: Grid, inputs: Inputs, target: ArrayLike | None, compiled: tuple[CompiledRuns, bool] | None
    ) -> Result:
        """Run over all invocations in chunks and put the results together."""
        before = None if target is None else self.target_words(grid, target)
        parts: list[dict[str, Array]] = []
        m: Machine | None = None
        for start in range(0, grid.lanes, CHUNK):
            m = self.machine(inputs, before, start, min(CHUNK, grid.lanes - start), m)
            m.run(self.code, self.limit, None if compiled is None else advance_of(m, *compiled))
            self.notes |= m.notes
            self.instructions += m.executed
            if self.counted is not None:
                self.counted(m.executed)
            parts.append(self.results(m))
        result = Result()
        for name in dict.fromkeys(k for p in parts for k in p):
            found = [p[name] if name in p else np.zeros_like(next(q[name] for q in parts if name in q)) for p in parts]
            result[name] = grid.restored(np.concatenate(found))
        result.notes, result.instructions = tuple(self.notes.values()), self.instructions
        return result

    def machine(
        self, inputs: Inputs, before: Array | None, start: int, count: int, instead_of: Machine | None = None
    ) -> Machine:
        """Return the machine for some of the invocations, with its inputs in registers; reuses another one."""
        rows = self.code.extent
        rows["pa"] = max(rows["pa"], 4)
        for file, register, words in inputs:
            rows[file] = max(rows[file], register + words.shape[1])
        least = 64 if self.shader.stage == "vertex" else 4
        rows["o"] = max(rows["o"], least, 0 if before is None else before.shape[1])
        m = Machine(count, memory=self.memory, units=self.units, uniform=self.shared, rows=rows, instead_of=instead_of)
        for file, register, words in inputs:
            m.files[file][register : register + words.shape[1]] = words[start : start + count].T
        if before is not None:
            m.files["o"][: before.shape[1]] = before[start : start + count].T
        return m

    def results(self, m: Machine) -> dict[str, Array]:
        """Return the results of a machine's invocations."""
        return self._vertex_results(m) if self.shader.stage == "vertex" else self._fragment_results(m)

    def target_words(self, grid: Grid, target: ArrayLike) -> Array:
        """Return the registers of the colours there before, in the shader's output format."""
        register = OutputRegister.declared(self.gxp)
        return register.packed(grid.rows(target, register.components))

    def _attribute_inputs(self, grid: Grid, given: Mapping[str, ArrayLike]) -> Inputs:
        known = [p for p in self.gxp.parameters if p.category == ATTRIBUTE]
        out: Inputs = []
        v = cast("VertexVaryings | None", self.gxp.varyings)
        for name, value in given.items():
            if v is not None and name in ("index", "instance") and all(p.name != name for p in known):
                register = v.index_pa if name == "index" else v.instance_pa
                out.append(("pa", register, grid.rows(value, 1).astype(np.uint32)))
                continue
            p = layout.find(known, name, "attribute")
            rows = grid.rows(value, p.component_count * max(1, p.array_size))
            raw = v is not None and v.untyped_registers >> p.resource_index & 1
            if raw and rows.dtype.kind == "f":
                rows = np.ascontiguousarray(rows, np.float32).view(np.uint32)  # bytes as they are
            out.append(("pa", p.resource_index, layout.to_words(rows, "u32" if raw else TYPES[p.type])))
        if v is not None and self.gxp.flags & HAS_INDEX and "index" not in given:
            out.append(("pa", v.index_pa, np.arange(grid.lanes, dtype=np.uint32)[:, None]))
        return out

    def _varying_inputs(self, grid: Grid, given: Mapping[str, ArrayLike]) -> Inputs:
        v = cast("FragmentVaryings | None", self.gxp.varyings)
        values = {_canonical(n): value for n, value in given.items()}
        inputs = layout.fragment_inputs(v.inputs) if v is not None else []
        known = {i.name for i in inputs}
        facing = values.pop("back_facing", None)
        for name in values:
            if name not in known and not _INTERPOLATED.fullmatch(name):
                raise LaunchError(f"the shader has no varying {name!r}; it has {', '.join(sorted(known)) or 'none'}")
        missing = {i.name: i.components for i in inputs if i.name not in values}
        if missing:
            raise LaunchError(_ask_for(missing))
        out: Inputs = []
        if facing is not None and self.code.extent["g"]:
            out.append(("g", layout.BACK_FACING, (grid.rows(facing, 1) != 0).astype(np.uint32)))
        for i in inputs:
            rows = grid.rows(values[i.name], i.components)
            if i.texture is None:
                out.append(("pa", i.register, layout.to_words(rows, i.ty)[:, : i.words]))
            else:
                out.append(("pa", i.register, self._texel(i, rows)))
        return out

    def _texel(self, i: layout.ShaderInput, rows: Array) -> Array:
        """Return the registers of a texel that is fetched before the program, its level by the neighbours' places."""
        texture = self.units.get(i.texture or 0)
        if texture is None:
            named = next(
                (p.name for p in self.gxp.parameters if p.category == SAMPLER and p.resource_index == i.texture), ""
            )
            raise LaunchError(
                f"no texture for unit {i.texture}"
                + (f", the sampler {named!r} (on the command line --texture {named}=FILE)" if named else "")
            )
        at = rows.astype(np.float32)
        if isinstance(texture, (Cube, Volume)):
            if at.shape[1] < 3:
                raise LaunchError(f"unit {i.texture} is sampled with two coordinates; it has a cube map or a volume")
            coordinates = [at[:, 0], at[:, 1], at[:, 2]]
        else:
            coordinates = [at[:, k] if i.divisor is None else at[:, k] / at[:, i.divisor] for k in (0, 1)]
        plain = {"conv": i.ty, "mode": "sample", "lod": "none"}
        words = sampled(texture, coordinates, (), plain, sampling(self.engine, len(at)))
        return np.stack(words[: i.words], 1)

    # --- results -----------------------------------------------------------------------------------------------------
    def _vertex_results(self, m: Machine) -> dict[str, Array]:
        v = cast("VertexVaryings", self.gxp.varyings)
        out: dict[str, Array] = {}
        for o in vertex_outputs(v.outputs1, v.outputs2):
            registers = m.files["o"][o.register : o.register + o.components].T
            out[o.name] = np.ascontiguousarray(registers).view(np.float32)
        return out

    def _fragment_results(self, m: Machine) -> dict[str, Array]:
        gxp = self.gxp
        v = cast("FragmentVaryings", gxp.varyings)
        native = bool(gxp.flags & NATIVE_COLOR)
        start = 0 if native else v.output_start
        declared = OutputRegister.declared(gxp)
        registers = np.ascontiguousarray(m.files["o" if native else "pa"][start : start + 4].T)
        out = {"color": declared.unpacked(registers)}
        if self.output is not None:
            # What the program wrote itself reaches the target as it is.
            out["packed"] = registers[:, : declared.words].copy() if native else self.output.packed(out["color"])
        if gxp.flags & DISCARD or m.killed.any():
            out["discard"] = m.killed
            out["color"][m.killed] = 0
        if m.depth is not None:
            out["depth"] = m.depth
        return out


# What a vertex program can hand on; a fragment program need not look at all of it.
_INTERPOLATED = re.compile(r"position|texcoord\d|color[01]|fog|pointsize|clip\d|spritecoord")


def _ask_for(missing: Mapping[str, int]) -> str:
    """Return a message that asks for varyings, by name and number of components, and says how to give one."""
    names = ", ".join(f"{name!r} of {count} number{'s' * (count != 1)}" for name, count in missing.items())
    name, count = next(iter(missing.items()))
    return (
        f"missing varyings: {names}; give each by name, a row for every pixel "
        f"(on the command line --arg {name}=ramp:f32:64x{count}, or in:FILE.npy)"
    )


def _canonical(name: str) -> str:
    """Return the canonical name of a semantic: `TEXCOORD` and `TEXCOORD0` are texcoord0."""
    name = name.lower()
    return f"{name}0" if name in ("texcoord", "color") else name


def _uniform_rows(p: GxpParameter, value: ArrayLike) -> Array:
    """Return a uniform's value as [elements, components]."""
    a = numbers(value, f"the uniform {p.name!r}")
    size, n = max(1, p.array_size), max(1, p.component_count)
    if a.size > size * n or a.size % n:
        raise LaunchError(f"uniform {p.name!r} takes {size} x {n} numbers, not {a.shape}")
    return a.reshape(-1, n)


def _textures(gxp: GxpFile, given: Mapping[str, Texture | ArrayLike]) -> dict[int, Texture]:
    """Return textures by unit."""
    known = [p for p in gxp.parameters if p.category == SAMPLER]
    out: dict[int, Texture] = {}
    for name, value in given.items():
        p = layout.find(known, name, "sampler")
        texels: list[Texture | ArrayLike] = [value]
        if isinstance(value, list | tuple) and p.array_size > 1:
            texels = list(cast("Sequence[Texture | ArrayLike]", value))
        if len(texels) > max(p.array_size, 1):
            raise LaunchError(f"the sampler {name!r} has {p.array_size} elements, not {len(texels)}")
        for k, one in enumerate(texels):
            out[p.resource_index + k] = _texture(p, name, one)
    return out


def _texture(p: GxpParameter, name: str, value: Texture | ArrayLike) -> Texture:
    """Return the texture for a sampler, or for an element of an array of them."""
    if not isinstance(value, Texture):
        value = Cube(value) if p.semantic_index & 16 else Volume(value) if np.ndim(value) == 4 else Texture(value)
    if p.semantic_index & 16 and not isinstance(value, Cube):
        raise LaunchError(f"the sampler {name!r} takes a cube map: six faces, or a Cube")
    return value
