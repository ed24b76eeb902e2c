"""The program of a shader: inputs are read, `main` is lowered, outputs written, the interface described."""

from __future__ import annotations

from collections.abc import Mapping

from isakit.compile.ir import NOWHERE, Ins, IrValue
from isakit.compile.shader import (
    USER_BUFFERS,
    ShaderInput,
    ShaderInterface,
    ShaderOutput,
    ShaderSampler,
    ShaderUniform,
)
from isakit.compile.shading.emitter import Values, ir_base, kinds
from isakit.compile.shading.expansions import transposed
from isakit.compile.shading.language import Language
from isakit.compile.shading.lower import Lowering
from isakit.compile.shading.semantics import Semantic, own_name, semantic
from isakit.compile.shading.source import ShaderSources, ShadingError
from isakit.compile.shading.typed import CheckedShader, ShaderVariable, TypedFunction
from isakit.compile.shading.types import (
    FLOAT,
    HALF,
    VOID,
    ArrayType,
    Numeric,
    SamplerType,
    StructType,
    Type,
    is_sampler,
)
from isakit.compile.shading.variables import MOST_PARTS, SAMPLER, UniformSlot, components, named_parts
from isakit.compile.vector_ops import (
    BITS,
    CHANNELS,
    ELEMENTS,
    INPUT,
    OUTPUT,
    SWIZZLE,
    TARGET_COLOR,
    UNIFORM,
    element,
    vector,
)

_GENERIC = [f"TEXCOORD{k}" for k in range(10)]


class Leaf:
    """A scalar or vector of an input or output: its name, type, semantic, and the place of its values in the variable.

    `uniform`: it may have any type, and is a uniform although it is declared among the inputs.
    """

    def __init__(self, name: str, type: Type, semantic: Semantic | None, start: int, uniform: bool = False) -> None:
        self.name, self.of, self.semantic, self.start, self.uniform = name, type, semantic, start, uniform

    @property
    def type(self) -> Numeric:
        """The type of one that is not a uniform."""
        assert isinstance(self.of, Numeric)
        return self.of


class Shared:
    """A texture coordinate shared by several GLSL variables, and how many of its components are in use."""

    def __init__(self, semantic: str, centroid: bool) -> None:
        self.semantic, self.centroid = semantic, centroid
        self.name = f"{semantic}."  # no variable can be called so
        self.size = 0
        self.parts: list[Leaf] = []


class Program(Lowering):
    """Lowers a whole shader. `varyings` names the semantics of inputs and outputs that have none, by their names."""

    def __init__(
        self, shader: CheckedShader, language: Language, interface: ShaderInterface, sources: ShaderSources,
        varyings: Mapping[str, str],
    ) -> None:  # fmt: skip
        super().__init__("main", interface.stage, sources)
        self.shader, self.language, self.interface, self.varyings = shader, language, interface, varyings
        self.taken: set[str] = set()
        self.outputs: list[tuple[Leaf, ShaderVariable]] = []
        self.together: dict[str, tuple[Shared, int]] = {}
        """Places of variables that share a coordinate, by name: it, and their first component."""
        self.gives_way = False
        """State after the declarations: what the vertex program never writes has no place."""
        self.names: dict[str, int] = {}
        self.keeps = False

    def lower(self, entry: TypedFunction) -> None:
        """Lower everything into the function and fill in the interface. Raises ShadingError."""
        own = entry.parameters
        self.keeps = "__nostrip" in entry.qualifiers
        if "__regformat" in entry.qualifiers:
            notes = ("a colour leaves as bytes with `__nativecolor`, and is a float4 or half4 in the text",)
            raise ShadingError(entry.pos, "only attributes can be `__regformat`", len(entry.name), notes)
        if "__nativecolor" in entry.qualifiers:
            self._write_bytes(entry.pos, entry.name)
        for p in own:
            if is_sampler(p.type):
                p.role = "sampler"
            elif p.role == "local":
                q = p.qualifiers
                p.role = "uniform" if "uniform" in q else "output" if "out" in q else "input"
        result = self._result(entry)
        everything = [*self.shader.variables, *own, *([result] if result else [])]
        self._reserve(everything)
        for v in everything:
            if v.role == "local":
                self.at(v.pos)
                self.tell(v)
                self.put_all(self.slots(v), self.nothing(v.type) if v.initial is None else self.value(v.initial))
            else:
                if "__regformat" in v.qualifiers and (v.role != "input" or self.stage != "vertex"):
                    raise ShadingError(v.pos, "only attributes can be `__regformat`", len(v.name))
                getattr(self, f"_{v.role}")(v)
        for p in own:
            if "inout" in p.qualifiers:
                raise ShadingError(p.pos, f"`{p.name}` of the program cannot be read and written", len(p.name))
        values = self.body(entry)
        if result is not None and not self.dead:
            self.put_all(self.slots(result), values)
        self._write()

    def _result(self, entry: TypedFunction) -> ShaderVariable | None:
        """Return the result of `main`, as an output."""
        if entry.result is VOID:
            return None
        v = ShaderVariable("main", entry.result, "output", entry.pos)
        v.assigned = True
        if entry.semantic is not None:
            v.semantic, v.pos = entry.semantic[0].upper(), entry.pos
        elif not isinstance(entry.result, StructType):
            v.semantic = "COLOR" if self.stage == "fragment" else "POSITION"
        return v

    # --- inputs and outputs ------------------------------------------------------------------------------------------
    def _interpolated(self, v: ShaderVariable) -> bool:
        """Return whether a variable is interpolated from the vertex program to the fragment program."""
        return v.role == ("output" if self.stage == "vertex" else "input")

    def _reserve(self, variables: list[ShaderVariable]) -> None:
        """Record the semantics that are named, so that variables without one get others."""
        for v in variables:
            if v.role not in ("input", "output"):
                continue
            if not v.semantic and self._interpolated(v):
                said = self.varyings.get(v.name, "")
                if not said and "location" in v.layout and self.language.product:
                    said = f"TEXCOORD{v.layout['location']}"
                v.semantic = said.upper() or own_name(self.interface.named(v.name))
            if v.role == "output" and self.stage == "fragment" and not v.semantic and self.language.product:
                v.semantic = "COLOR0" if v.type == Numeric(FLOAT, 4) or isinstance(v.type, Numeric) else ""
            for leaf in self._leaves(v, checked=False):
                if leaf.semantic:
                    self.taken.add(leaf.semantic.name)
        if self.language.product:
            self._share([v for v in variables if v.role in ("input", "output") and self._interpolated(v)])

    def _share(self, variables: list[ShaderVariable]) -> None:
        """Assign variables to shared texture coordinates where there is not one for each.

        The assignment follows from the declarations alone, which both programs have; a variable that is never written
        is left out only if not all of them fit.
        """
        found = [(leaf, v) for v in variables for leaf in self._leaves(v, checked=False) if leaf.semantic is None]
        free = [s for s in _GENERIC if s not in self.taken]
        if len(found) > len(free) and not self._fit(found, free) and self.stage == "vertex":
            self.gives_way, self.together = True, {}
            found = [f for f in found if f[1].assigned]
            if len(found) > len(free):
                self._fit(found, free)
        self.taken.update(room.semantic for room, _ in self.together.values())

    def _fit(self, found: list[tuple[Leaf, ShaderVariable]], free: list[str]) -> bool:
        """Assign variables to texture coordinates, large ones first; return whether all fit."""
        self.together = {}
        rooms: list[Shared] = []
        for leaf, v in sorted(found, key=lambda f: -f[0].type.size):
            size = leaf.type.size
            room = next((r for r in rooms if r.size + size <= 4 and r.centroid == v.centroid), None)
            if room is None and len(rooms) < len(free):
                room = Shared(free[len(rooms)], v.centroid)
                rooms.append(room)
            if room is None or leaf.type.base.kind != "float":
                return False
            self.together[leaf.name] = room, room.size
            room.size += size
            room.parts.append(leaf)
        return True

    def _leaves(self, v: ShaderVariable, checked: bool = True) -> list[Leaf]:
        """Flatten an input or output into scalars and vectors with the semantics that are written."""
        out: list[Leaf] = []

        def walk(name: str, kind: Type, text: str, at: int) -> int:
            if isinstance(kind, StructType):
                for f in kind.fields:
                    path = f"{name}.{f.name}" if name != "main" else f.name
                    if f.uniform and v.role == "input":
                        out.append(Leaf(path, f.type, None, at, uniform=True))
                        at += len(kinds(f.type))
                    else:
                        at = walk(path, f.type, f.semantic, at)
                return at
            if isinstance(kind, ArrayType) or (isinstance(kind, Numeric) and kind.is_matrix):
                count = kind.count if isinstance(kind, ArrayType) else kind.vectors
                of = kind.of if isinstance(kind, ArrayType) else kind.row
                for k in range(count):
                    at = walk(f"{name}[{k}]", of, _later(text, k), at)
                return at
            if not isinstance(kind, Numeric):
                raise ShadingError(v.pos, f"`{name}` cannot be handed from one program to the other", len(v.name))
            found = semantic(text, self.stage, v.role, v.pos) if text else None
            out.append(Leaf(name, kind, found, at))
            return at + len(kinds(kind))

        walk(v.name, v.type, v.semantic, 0)
        return out

    def _named(self, leaf: Leaf, v: ShaderVariable) -> Semantic:
        """Return the semantic of an input or output; a varying without one gets the next free one."""
        if leaf.semantic is not None:
            return leaf.semantic
        if not self._interpolated(v):
            return Semantic("")
        if leaf.name in self.together:
            return Semantic(self.together[leaf.name][0].semantic)
        free = next((s for s in _GENERIC if s not in self.taken), None)
        if free is None:
            notes = (f"there are {len(_GENERIC)} texture coordinates, of four components each",)
            said = f"`{leaf.name}` is one more than there are between the programs"
            raise ShadingError(v.pos, said, len(v.name), notes)
        self.taken.add(free)
        if not self.language.product:
            self.sources.warn(v.pos, f"`{leaf.name}` has no semantic: it becomes {free}", len(v.name))
        return Semantic(free)

    def _input(self, v: ShaderVariable) -> None:
        if not v.read and v.pos == 0:
            return
        values: Values = []
        for leaf in self._leaves(v):
            if leaf.uniform:
                slots: list[UniformSlot] = []
                self._uniform_of(v, leaf.name, leaf.of, slots)
                values += self.from_outside(leaf.of, [self.uniform(s) for s in slots])
                continue
            named = self._named(leaf, v)
            kind = leaf.type
            centroid = named.centroid or v.centroid
            if named.name == "FRAGCOLOR":
                values += self._color_before(v, kind)
                continue
            if leaf.name in self.together:
                values += self._part(leaf, kind)
                continue
            self._keep(v, leaf.name)
            if "__regformat" in v.qualifiers:
                found, record = self._raw(v, leaf, named)
                values += found
            elif kind.base.kind == "float":
                half = named.half or kind.base.bits == 16
                got = self.op(INPUT(leaf.name, vector("f16" if half else "f32", kind.size)))
                values += self.convert([got], HALF if half else FLOAT, kind.base)
                record = ShaderInput(leaf.name, named.name, kind.size, "f16" if half else "f32", centroid=centroid)
            elif named.name in ("INDEX", "INSTANCE") and kind.size == 1:
                values.append(self.op(INPUT(leaf.name, "r")))
                record = ShaderInput(leaf.name, named.name, 1, "u32")
            elif named.name == "FACE" and kind.size == 1:
                face = self.op(INPUT(leaf.name, "f32"))
                front = self.compare(">", face, self.zero("f32"))
                values += [front] if kind.is_bool else self.convert([face], FLOAT, kind.base)
                record = ShaderInput(leaf.name, named.name, 1)
            else:
                got = self.op(INPUT(leaf.name, vector("f32", kind.size)))
                values += self.convert([got], FLOAT, kind.base)
                record = ShaderInput(leaf.name, named.name, kind.size, centroid=centroid)
            self.interface.inputs.append(record)
        self.tell(v)
        self.put_all(self.slots(v), values)

    def _part(self, leaf: Leaf, kind: Numeric) -> Values:
        """Return an input that shares its texture coordinate with others."""
        room, first = self.together[leaf.name]
        if all(i.name != room.name for i in self.interface.inputs):
            record = ShaderInput(room.name, room.semantic, room.size, centroid=room.centroid)
            self.interface.inputs.append(record)
        got = self.op(INPUT(room.name, vector("f32", room.size)))
        return self.convert([self.swizzle(got, CHANNELS[first : first + kind.size])], FLOAT, kind.base)

    def _raw(self, v: ShaderVariable, leaf: Leaf, named: Semantic) -> tuple[Values, ShaderInput]:
        """Return an attribute that is read unconverted."""
        base = leaf.type.base
        if base.bits != 32:
            of = self.language.say(leaf.type)
            raise ShadingError(v.pos, f"`{leaf.name}`: a `__regformat` attribute is of float, int or unsigned int, "
                               f"not {of}", len(v.name))  # fmt: skip
        got = self.op(INPUT(leaf.name, vector("f32", leaf.type.size)))
        values = [got] if base.kind == "float" else [self.op(BITS("r"), part) for part in self.parts(got)]
        of = {"float": "f32", "int": "s32", "uint": "u32"}[base.kind]
        return values, ShaderInput(leaf.name, named.name, leaf.type.size, of, raw=True)

    def _write_bytes(self, pos: int, name: str) -> None:
        """Output the colour as the bytes of the tile. Raises ShadingError for other targets."""
        if self.interface.target not in ("f16x4", "u8x4") or self.stage != "fragment":
            there = f"which has no {self.interface.target}: compile for target u8x4"
            said = there if self.stage == "fragment" else "which fragment programs write"
            raise ShadingError(pos, f"`{name}` is the colour of the tile, {said}", len(name))
        self.interface.target = "u8x4"

    def _color_before(self, v: ShaderVariable, kind: Numeric) -> Values:
        """Return the colour of the tile before this pixel: bytes, in which the result is then written, too."""
        self._write_bytes(v.pos, v.name)
        got = self.op(TARGET_COLOR)
        got = got if kind.size == 4 else self.op(SWIZZLE(CHANNELS[: kind.size]), got)
        return self.convert([got], FLOAT, kind.base)

    def _output(self, v: ShaderVariable) -> None:
        if not v.assigned:
            # The other program may read it.
            if v.pos and self._interpolated(v) and self.language.product and not self.gives_way:
                for leaf in self._leaves(v):
                    self._named(leaf, v)
            return
        for leaf in self._leaves(v):
            named = self._named(leaf, v)
            if not named.name:
                raise ShadingError(v.pos, f"`{leaf.name}` needs a semantic, as `: COLOR0`", len(v.name))
            if leaf.type.base.kind != "float":
                raise ShadingError(
                    v.pos, f"`{leaf.name}` is an output, which is of floating point numbers", len(v.name)
                )
            if leaf.name in self.together:
                self.outputs.append((leaf, v))
                continue
            if any(o.semantic == named.name for o in self.interface.outputs):
                notes = (
                    ("a program writes one colour: draw again for another one",)
                    if named.name == "COLOR0" and self.stage == "fragment"
                    else ()
                )
                raise ShadingError(v.pos, f"two outputs are {named.name}", len(v.name), notes)
            half = named.half or leaf.type.base.bits == 16
            self.interface.outputs.append(ShaderOutput(leaf.name, named.name, leaf.type.size, "f16" if half else "f32"))
            self.outputs.append((leaf, v))
        self.tell(v)
        self.put_all(self.slots(v), self.nothing(v.type))

    def _write(self) -> None:
        """Write every output once."""
        if self.dead:
            return
        # The colour is the last: what reads the one of the tile before comes before it.
        shared: dict[Shared, dict[str, IrValue]] = {}
        for leaf, v in sorted(self.outputs, key=lambda o: self.stage == "fragment" and self._is_color(o[0], o[1])):
            value = self.get(self.slots(v)[leaf.start])
            if self.stage == "vertex":
                value = self.as_f32(value)
            if leaf.name in self.together:
                shared.setdefault(self.together[leaf.name][0], {})[leaf.name] = value
            else:
                self.b.emit(OUTPUT(leaf.name), [value], ())
        for room, values in shared.items():
            parts = [values.get(a.name) or self.zero(vector("f32", a.type.size)) for a in room.parts]
            self.interface.outputs.append(ShaderOutput(room.name, room.semantic, room.size))
            self.b.emit(OUTPUT(room.name), [self.join(parts)], ())
        self.b.block.term = ("exit",)

    def _is_color(self, leaf: Leaf, v: ShaderVariable) -> bool:
        return self._named(leaf, v).name.startswith("COLOR")

    # --- uniforms and samplers ---------------------------------------------------------------------------------------
    def _uniform(self, v: ShaderVariable) -> None:
        if v.pos == 0 and not v.read:
            return
        slots: list[UniformSlot] = []
        self._uniform_of(v, v.name, v.type, slots)
        if not v.assigned:
            self.tell_uniform(v, slots)
            self.uniforms[v] = slots
            return
        values = [self.uniform(s) for s in slots]
        if v.columns and isinstance(v.type, Numeric) and v.type.is_matrix:
            values = transposed(self, values)
        self.tell(v)
        self.put_all(self.slots(v), self.from_outside(v.type, values))

    def tell_uniform(self, v: ShaderVariable, slots: list[UniformSlot]) -> None:
        """Let marks give the location of a uniform that is never written."""
        plain = all(s.kind == SAMPLER or element(s.kind) in ELEMENTS for s in slots) and not v.columns
        if not self.named or not slots or not plain or not v.pos or components(v.type) > MOST_PARTS:
            return
        for s, parts in zip(slots, named_parts(v.name, v.type), strict=True):
            if s.kind == SAMPLER:
                continue
            ins = Ins(UNIFORM(s.name, s.element, s.kind), [], (s.kind,), NOWHERE)
            self.mark(parts, ins.out)

    def _keep(self, v: ShaderVariable, name: str) -> None:
        """Keep an unused parameter in the file if the text says so."""
        if self.keeps or "__nostrip" in v.qualifiers:
            self.interface.kept.add(name)

    def _uniform_of(self, v: ShaderVariable, name: str, kind: Type, slots: list[UniformSlot]) -> None:
        """Add a uniform, or those of a structure's fields, to the interface."""
        if isinstance(kind, StructType):
            for f in kind.fields:
                self._uniform_of(v, f"{name}.{f.name}", f.type, slots)
            return
        of: Type = kind
        count = 1
        while isinstance(of, ArrayType):
            count, of = count * of.count, of.of
        if isinstance(of, StructType):
            assert isinstance(kind, ArrayType)
            for k in range(kind.count):
                self._uniform_of(v, f"{name}[{k}]", kind.of, slots)
            return
        if not isinstance(of, Numeric):
            self._add_sampler(name, of, count, v)
            each = [f"{name}[{k}]" for k in range(count)] if isinstance(kind, ArrayType) else [name]
            slots += [UniformSlot(n, 0, SAMPLER) for n in each]
            return
        size, vectors = (of.vectors, of.size) if v.columns and of.is_matrix else (of.size, of.vectors)
        array = count * max(1, vectors)
        base = ir_base(of.base)
        if base in ("r", "p"):  # every component is a word of its own
            record = ShaderUniform(name, size, "s32", array, buffer=_buffer(v))
            array, read = array * size, "r"
        else:
            record = ShaderUniform(name, size, base, array, buffer=_buffer(v))
            read = vector(base, size)
        self.interface.uniforms.append(record)
        self._keep(v, name)
        slots += [UniformSlot(name, k, read) for k in range(array)]

    _sampler = _uniform

    def _add_sampler(self, name: str, kind: Type, count: int, v: ShaderVariable) -> None:
        if not isinstance(kind, SamplerType):
            raise ShadingError(v.pos, f"`{name}` is of a type that nobody can set", len(v.name))
        unit = v.layout.get("binding") if is_sampler(v.type) else None
        if is_sampler(v.type) and v.semantic.startswith("TEXUNIT") and v.semantic[7:].isdecimal():
            unit = int(v.semantic[7:])
        self._keep(v, name)
        if kind.kind in ("2d", "cube"):  # others are refused where they are read
            self.interface.samplers.append(ShaderSampler(name, kind.kind, unit, count))


def _buffer(v: ShaderVariable) -> int | None:
    """Return the number of the buffer that `: BUFFER[n]` puts a uniform into, None for the default one."""
    if not v.semantic.startswith("BUFFER"):
        return None
    number = v.semantic.removeprefix("BUFFER").strip("[]")
    if not number.isdecimal() or int(number) >= USER_BUFFERS:
        notes = ("without a number it is one of the default buffer",)
        said = f"`{v.name}`: the buffers of uniforms are BUFFER[0] to BUFFER[{USER_BUFFERS - 1}]"
        raise ShadingError(v.pos, said, len(v.name), notes)
    return int(number)


def _later(text: str, k: int) -> str:
    """Return the semantic of element `k` after the first one, with a larger number."""
    if not text or not k:
        return text
    head = text.rstrip("0123456789")
    for suffix in ("_HALF", "_CENTROID"):
        if text.endswith(suffix):
            return _later(text.removesuffix(suffix), k) + suffix
    return f"{head}{int(text[len(head) :] or 0) + k}"
