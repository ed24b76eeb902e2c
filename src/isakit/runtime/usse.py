"""Running USSE shaders: inputs bound by name, one array per result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

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
    GxpFile,
    GxpParameter,
)
from isakit.formats.shader import Shader
from isakit.machine.usse import DEFAULT, Code, Cube, Machine, Memory, Rules, Texture, Volume
from isakit.machine.usse.texture_samples import state_word
from isakit.runtime import usse_layout as layout
from isakit.runtime.usse_engine import Engine, check_engine, runner, sampling, stretches_for

if TYPE_CHECKING:
    from isakit.machine.usse.compiled_shader import Stretches

Array = NDArray[Any]
CHUNK = 16384
"""Invocations that run together: their registers fit the processor's cache."""


class Result(dict[str, Array]):
    """Results of a shader by name, each with one row per vertex or pixel (or an image, where the inputs were images).

    Vertex: `position`, `color0`, `color1`, `fog`, `texcoord0` ..., `pointsize`, `clip0` ... as f32. Fragment: `color`
    (f32, whatever its format) and, where the shader can, `discard` (bool) and `depth`. Names are attributes, too.
    `notes` says which instructions were run on inferred knowledge, `instructions` how many instructions of groups of
    invocations were executed.
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
    attributes: Mapping[str, Any] | None = None,
    varyings: Mapping[str, Any] | None = None,
    uniforms: Mapping[str, Any] | None = None,
    textures: Mapping[str, Any] | None = None,
    buffers: Mapping[str | int, Any] | None = None,
    target: Any = None,
    count: int | None = None,
    rules: Rules = DEFAULT,
    max_instructions: int = 1_000_000,
    engine: Engine = "auto",
) -> Result:
    """Run a shader over many vertices or pixels.

    Args:
        shader: what `isakit.load` gives for a GXP file.
        attributes: vertex inputs by name or semantic: arrays [vertices, components], or one row for all.
        varyings: fragment inputs: `texcoord0` .. `texcoord9`, `color0`, `color1`, `fog`, `position`; arrays
            [pixels, components] or images [height, width, components]. Neighbours for derivatives are those of the
            image; in a plain list four pixels in a row are a quad.
        uniforms: by name: scalars, vectors, or arrays [array size, components]; what is not given is 0.
        textures: by the sampler's name: a `Texture` or `Volume`, or an array of texels.
        buffers: uniform buffers in memory, by name or number: arrays, changed in place by stores.
        target: the colours there before, for fragment shaders that read them from o0: [pixels, components] or an image.
        count: the number of invocations, where no input tells it.
        rules: what the arithmetic does where the hardware's behaviour is not known.
        max_instructions: limit for a program that does not end.
        engine: `reference`, `llvm` (compiled code for the straight parts of the program), or `auto`: compiled code once
            enough invocations have run for it to pay.

    Missing components of inputs are 0, a missing fourth one is 1. Raises LaunchError for names and shapes that do not
    fit, NotModelled for instructions of unknown meaning, MachineFault for bad addresses, BudgetExceeded.
    """
    if not isinstance(shader, Shader):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LaunchError(f"this takes a shader, which `isakit.load` makes of a GXP file, not {shader!r}")
    check_engine(engine)
    bound = BoundShader(shader, uniforms or {}, textures or {}, buffers or {}, rules, max_instructions)
    bound.engine = engine
    grid, inputs = bound.grid(attributes or {}, varyings or {}, count, target)
    return bound.over(grid, inputs, target, stretches_for(engine, bound.code, grid.lanes))


class BoundShader:
    """One shader with uniforms and textures bound; its secondary program has run unless `once` is False.

    `engine` samples the texels that are fetched before the program starts.
    """

    engine: Engine = "reference"

    def __init__(
        self,
        shader: Shader,
        uniforms: Mapping[str, Any],
        textures: Mapping[str, Any],
        buffers: Mapping[str | int, Any],
        rules: Rules,
        limit: int,
        once: bool = True,
    ) -> None:
        self.shader, self.gxp, self.rules, self.limit = shader, shader.file, rules, limit
        gxp: GxpFile = self.gxp
        layout.check(gxp, shader.path)
        self.memory = Memory()
        self.units = _textures(gxp, textures)
        self.shared = np.zeros((layout.SHARED_REGISTERS, 1), np.uint32)
        self._fill_shared(uniforms, buffers)
        self.notes: dict[str, str] = {}
        self.instructions = 0
        if once and len(shader.secondary):
            before = self.secondary()
            before.run(Code(shader.secondary, rules), limit)
            self.shared = before.files["sa"]
            self.notes |= before.notes
            self.instructions += before.executed
        self.code = Code(shader.primary, rules)

    # --- secondary attributes ----------------------------------------------------------------------------------------
    def _fill_shared(self, uniforms: Mapping[str, Any], buffers: Mapping[str | int, Any]) -> None:
        gxp: GxpFile = self.gxp
        contents = self._uniform_buffers(uniforms, buffers)
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
        """The buffer in memory with the state words of textures, at the places the file gives them."""
        gxp: GxpFile = self.gxp
        table = gxp.texture_buffer_samplers
        words = np.zeros(max([1, gxp.buffer_sizes[4], *(d.sa_offset + 1 for d in table)]), np.uint32)
        for d in table:
            words[d.sa_offset] = state_word(d.resource // 4, d.resource % 4)
        return words.view(np.uint8)

    def _uniform_buffers(self, uniforms: Mapping[str, Any], buffers: Mapping[str | int, Any]) -> dict[int, Array]:
        """Bytes of every uniform buffer by its number."""
        gxp: GxpFile = self.gxp
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
                raise LaunchError(f"uniform {name!r} ends behind the {len(target)} words of the buffer it lies in")
            for k, row in enumerate(words):
                at = p.resource_index + k * stride
                target[at : at + len(row)] = row
        return out

    def secondary(self) -> Machine:
        """The machine that the secondary program runs on, once."""
        return Machine(1, memory=self.memory, units=self.units, uniform=self.shared)

    # --- invocations -------------------------------------------------------------------------------------------------
    def grid(
        self, attributes: Mapping[str, Any], varyings: Mapping[str, Any], count: int | None, target: Any
    ) -> tuple[_Grid, list[tuple[int, Array]]]:
        """The invocations, and what is in their registers before: (first register, words [invocations, registers])."""
        vertex = self.shader.stage == "vertex"
        if vertex and varyings:
            raise LaunchError("a vertex shader takes attributes, not varyings")
        if not vertex and attributes:
            raise LaunchError("a fragment shader takes varyings, not attributes")
        given = attributes if vertex else varyings
        grid = _Grid(given if target is None else {**given, "target": target}, count)
        return grid, self._attribute_inputs(grid, given) if vertex else self._varying_inputs(grid, given)

    def over(
        self, grid: _Grid, inputs: list[tuple[int, Array]], target: Any, compiled: tuple[Stretches, bool] | None
    ) -> Result:
        """Run over all invocations in chunks and put the results together."""
        before = None if target is None else self.target_words(grid, target)
        parts: list[dict[str, Array]] = []
        for start in range(0, grid.lanes, CHUNK):
            m = self.machine(inputs, before, start, min(CHUNK, grid.lanes - start))
            m.run(self.code, self.limit, None if compiled is None else runner(m, *compiled))
            self.notes |= m.notes
            self.instructions += m.executed
            parts.append(self.results(m))
        result = Result()
        for name in dict.fromkeys(k for p in parts for k in p):
            found = [p[name] if name in p else np.zeros_like(next(q[name] for q in parts if name in q)) for p in parts]
            result[name] = grid.restored(np.concatenate(found))
        result.notes, result.instructions = tuple(self.notes.values()), self.instructions
        return result

    def machine(self, inputs: list[tuple[int, Array]], before: Array | None, start: int, count: int) -> Machine:
        """The machine for some of the invocations, with their inputs in its registers."""
        rows = self.code.extent
        rows["pa"] = max(rows["pa"], 4, *(register + words.shape[1] for register, words in inputs), 0)
        least = 64 if self.shader.stage == "vertex" else 4
        rows["o"] = max(rows["o"], least, 0 if before is None else before.shape[1])
        m = Machine(count, memory=self.memory, units=self.units, uniform=self.shared, rows=rows)
        for register, words in inputs:
            m.files["pa"][register : register + words.shape[1]] = words[start : start + count].T
        if before is not None:
            m.files["o"][: before.shape[1]] = before[start : start + count].T
        return m

    def results(self, m: Machine) -> dict[str, Array]:
        """What a machine's invocations have computed."""
        return self._vertex_results(m) if self.shader.stage == "vertex" else self._fragment_results(m)

    def target_words(self, grid: _Grid, target: Any) -> Array:
        """The registers of the colours there before, in the shader's output format."""
        v: Any = self.gxp.varyings
        rows = grid.rows(target, max(1, int(v.output_components)))
        ty: str = TYPES[int(v.output_type)]
        scale = layout.SCALES.get(ty)
        return layout.to_words(np.rint(np.clip(rows, 0, 1) * scale) if scale else rows, ty)

    def _attribute_inputs(self, grid: _Grid, given: Mapping[str, Any]) -> list[tuple[int, Array]]:
        gxp: GxpFile = self.gxp
        known = [p for p in gxp.parameters if p.category == ATTRIBUTE]
        out: list[tuple[int, Array]] = []
        v: Any = gxp.varyings
        for name, value in given.items():
            if v is not None and name in ("index", "instance") and all(p.name != name for p in known):
                register = v.index_pa if name == "index" else v.instance_pa
                out.append((register, grid.rows(value, 1).astype(np.uint32)))
                continue
            p = layout.find(known, name, "attribute")
            rows = grid.rows(value, p.component_count * max(1, p.array_size))
            raw = v is not None and v.untyped_registers >> p.resource_index & 1
            out.append((p.resource_index, layout.to_words(rows, "u32" if raw else TYPES[p.type])))
        if v is not None and gxp.flags & HAS_INDEX and "index" not in given:
            out.append((v.index_pa, np.arange(grid.lanes, dtype=np.uint32)[:, None]))
        return out

    def _varying_inputs(self, grid: _Grid, given: Mapping[str, Any]) -> list[tuple[int, Array]]:
        v: Any = self.gxp.varyings
        values = {_canonical(n): value for n, value in given.items()}
        inputs = layout.fragment_inputs(v.inputs) if v is not None else []
        known = {i.name for i in inputs}
        for name in values:
            if name not in known and not _INTERPOLATED.fullmatch(name):
                raise LaunchError(f"the shader has no varying {name!r}; it has {', '.join(sorted(known)) or 'none'}")
        out: list[tuple[int, Array]] = []
        for i in inputs:
            if i.name not in values:
                raise LaunchError(f"the varying {i.name!r} is missing")
            rows = grid.rows(values[i.name], i.components)
            if i.texture is None:
                out.append((i.register, layout.to_words(rows, i.ty)[:, : i.words]))
            else:
                out.append((i.register, self._texel(i, rows)))
        return out

    def _texel(self, i: layout.Input, rows: Array) -> Array:
        """The registers of a texel that is fetched before the program starts."""
        texture = self.units.get(i.texture or 0)
        if texture is None:
            raise LaunchError(f"no texture for unit {i.texture}")
        at = rows.astype(np.float32)
        if isinstance(texture, Cube):
            coordinates = [at[:, 0], at[:, 1], at[:, 2]]
        else:
            coordinates = [at[:, k] / at[:, 2] if i.projective else at[:, k] for k in (0, 1)]
        words_of = sampling(self.engine, len(at))
        words = words_of(texture, coordinates, 0.0, texture.format if i.ty == "native" else i.ty)
        return np.stack(words[: i.words], 1)

    # --- results -----------------------------------------------------------------------------------------------------
    def _vertex_results(self, m: Machine) -> dict[str, Array]:
        v: Any = self.gxp.varyings
        out: dict[str, Array] = {}
        for o in layout.vertex_outputs(v.outputs1, v.outputs2, v.texcoord_pack):
            words = o.components if o.ty == "f32" else (o.components + 1) // 2
            registers = np.ascontiguousarray(m.files["o"][o.register : o.register + words].T)
            out[o.name] = layout.from_words(registers, o.ty, o.components)
        return out

    def _fragment_results(self, m: Machine) -> dict[str, Array]:
        gxp: GxpFile = self.gxp
        v = cast("Any", gxp.varyings)
        native = bool(gxp.flags & NATIVE_COLOR)
        ty: str = TYPES[int(v.output_type)]
        start = 0 if native else v.output_start
        registers = np.ascontiguousarray(m.files["o" if native else "pa"][start : start + 4].T)
        out = {"color": layout.from_words(registers, ty, max(1, v.output_components)).copy()}
        if gxp.flags & DISCARD or m.killed.any():
            out["discard"] = m.killed
            out["color"][m.killed] = 0
        if m.depth is not None:
            out["depth"] = m.depth
        return out


# What a vertex program can hand on; a fragment program need not look at all of it.
_INTERPOLATED = re.compile(r"position|texcoord\d|color[01]|fog|pointsize|clip\d|spritecoord")


def _canonical(name: str) -> str:
    """`TEXCOORD` and `TEXCOORD0` are texcoord0."""
    name = name.lower()
    return f"{name}0" if name in ("texcoord", "color") else name


def _uniform_rows(p: GxpParameter, value: Any) -> Array:
    """A uniform's value as [elements, components]."""
    a: Array = np.asarray(value)
    if a.dtype == np.float64:
        a = a.astype(np.float32)
    size, n = max(1, p.array_size), max(1, p.component_count)
    if a.size > size * n or a.size % n:
        raise LaunchError(f"uniform {p.name!r} takes {size} x {n} numbers, not {a.shape}")
    return a.reshape(-1, n)


def _textures(gxp: GxpFile, given: Mapping[str, Any]) -> dict[int, Texture]:
    """Textures by unit."""
    known = [p for p in gxp.parameters if p.category == SAMPLER]
    out: dict[int, Texture] = {}
    for name, value in given.items():
        p = layout.find(known, name, "sampler")
        if not isinstance(value, Texture):
            value = Cube(value) if p.semantic_index & 16 else Volume(value) if np.ndim(value) == 4 else Texture(value)
        if p.semantic_index & 16 and not isinstance(value, Cube):
            raise LaunchError(f"the sampler {name!r} takes a cube map: six faces, or a Cube")
        out[p.resource_index] = value
    return out


class _Grid:
    """The invocations: how many, and in which order the pixels of an image run (quads of neighbours together)."""

    def __init__(self, given: Mapping[str, Any], count: int | None) -> None:
        arrays: list[Array] = [np.asarray(v) for v in given.values()]
        images: set[tuple[int, int]] = {(a.shape[0], a.shape[1]) for a in arrays if a.ndim == 3}
        lists: set[int] = {len(a) for a in arrays if a.ndim == 2 and len(a) > 1}
        if len(images) > 1 or (images and lists) or len(lists) > 1:
            raise LaunchError(f"inputs of different sizes: {_listed([*images, *lists])}")
        self.image = next(iter(images), None)
        self._order: Array | None = None
        if self.image:
            height, width = self.image
            rows = np.minimum(np.arange(height + height % 2), height - 1)
            columns = np.minimum(np.arange(width + width % 2), width - 1)
            index = rows[:, None] * width + columns[None, :]
            quads = index.reshape(len(rows) // 2, 2, len(columns) // 2, 2).swapaxes(1, 2)
            self._order = np.ascontiguousarray(quads).reshape(-1)
            self.lanes = len(self._order)
        else:
            single = [len(a) for a in arrays if a.ndim == 1]
            self.lanes = next(iter(lists), count or (max(single) if single and not count and _columns(arrays) else 1))
            if count and lists and count not in lists:
                raise LaunchError(f"count is {count}, the inputs have {_listed(lists)} rows")

    def rows(self, value: Any, components: int) -> Array:
        """An input as [lanes, components]; missing components are 0, the fourth 1."""
        a = np.asarray(value)
        if a.dtype == np.float64:
            a = a.astype(np.float32)
        if a.ndim == 0:
            a = a[None, None]
        elif a.ndim == 1:
            a = a[:, None] if components == 1 or (len(a) == self.lanes and len(a) > 4) else a[None, :]
        elif a.ndim == 3 and self._order is not None:
            a = a.reshape(-1, a.shape[2])[self._order]
        if a.ndim != 2 or len(a) not in (1, self.lanes) or a.shape[1] > max(4, components):
            raise LaunchError(
                f"an input of shape {np.shape(value)} for {self.lanes} invocations and {components} components"
            )
        if a.shape[1] < components:
            full = np.zeros((len(a), components), a.dtype)
            full[:, : a.shape[1]] = a
            if components >= 4 > a.shape[1]:
                full[:, 3] = 1
            a = full
        return np.broadcast_to(a[:, :components], (self.lanes, components))

    def restored(self, values: Array) -> Array:
        """Results in the order and shape of the inputs."""
        if self._order is None or self.image is None:
            return values
        height, width = self.image
        out = np.empty((height * width, *values.shape[1:]), values.dtype)
        out[self._order] = values
        return out.reshape(height, width, *values.shape[1:])


def _columns(arrays: Sequence[Array]) -> bool:
    return all(a.ndim <= 1 for a in arrays)


def _listed(items: Iterable[Any]) -> str:
    return ", ".join(sorted(map(str, items)))
