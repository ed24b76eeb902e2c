"""Ids of a SPIR-V module within a function: values, and the places that pointers point to."""

from __future__ import annotations

from collections.abc import Mapping

from isakit.compile.ir import Const
from isakit.compile.shader import ShaderInterface
from isakit.compile.shading.emitter import TRUE, Values, kinds
from isakit.compile.shading.entry import Program
from isakit.compile.shading.jumps import Level
from isakit.compile.shading.language import GLSL
from isakit.compile.shading.lower_expressions import Lowered
from isakit.compile.shading.source import ShaderSources, ShadingError
from isakit.compile.shading.spirv import opcodes as spv
from isakit.compile.shading.spirv.module import Nested, SpirvBlock, SpirvModule
from isakit.compile.shading.spirv.places import Places
from isakit.compile.shading.spirv.words import SpirvInstruction
from isakit.compile.shading.typed import (
    CheckedShader,
    ShaderVariable,
    Typed,
    TypedElement,
    TypedField,
    TypedName,
)
from isakit.compile.shading.types import (
    T_INT,
    Numeric,
    SamplerType,
    StructType,
    Type,
    elements_of,
    part_types,
)
from isakit.compile.vector_ops import DISCARD


class Members(Typed):
    """The variables that make up a structure: fields of a block of uniforms, or built-in variables of the pipeline."""

    def __init__(self, kind: StructType, members: list[TypedName]) -> None:
        super().__init__(0, kind)
        self.members = members


class Loaded(Lowered):
    """The value of a place that is never stored to, which may be a matrix stored by rows."""

    def __init__(self, pos: int, values: Values, place: Typed) -> None:
        super().__init__(pos, place.type, values)
        self.place = place


class SpirvValues(Program):
    """Keeps the values of ids in the function being lowered."""

    def __init__(
        self, module: SpirvModule, interface: ShaderInterface, sources: ShaderSources, places: Places,
        varyings: Mapping[str, str],
    ) -> None:  # fmt: skip
        super().__init__(CheckedShader([], {}), GLSL, interface, sources, varyings)
        self.module, self.origin = module, places
        self.globals: dict[int, Typed] = {}
        self.frame: dict[int, Typed] = {}
        self.kept: dict[int, tuple[Level, list[int]]] = {}
        """Levels in which values are known by their ids, and variables that hold them for what stands elsewhere."""
        self.shared: set[int] = set()
        """Ids that stand in several blocks of the function that is lowered."""
        self.blocks: dict[int, SpirvBlock] = {}
        self.entered: set[int] = set()
        """Labels of blocks that stand before what is lowered, or around it."""
        self.targets: dict[int, Level] = {}
        """Levels by the labels of the blocks that follow them."""
        self.nested = 0
        self.phis: dict[int, list[int]] = {}
        self.current = 0
        self.pos = 0
        self.used_names: set[str] = set()
        self.ends: list[tuple[Level, Type, list[int]]] = []

    def typed(self, n: int) -> Typed:
        """Return the value of an id, or the place that a pointer points to. Raises ShadingError."""
        got = self.frame.get(n) or self.globals.get(n)
        level, slots = self.kept.get(n, (None, ()))
        if got is not None and level is not None and level not in self.levels:
            values = [self.get(k) for k in slots]
            return (
                Loaded(self.pos, values, got.place) if isinstance(got, Loaded) else Lowered(self.pos, got.type, values)
            )
        if got is not None:
            return got
        constant = self.module.constants.get(n)
        if constant is None:
            raise ShadingError(self.pos, f"id {n} is used here, and nothing that is supported has it")
        return Lowered(self.pos, constant[0], self._constant_values(*constant))

    def _constant_values(self, kind: Type, nested: Nested) -> Values:
        if isinstance(nested, Const):
            return [nested]
        if isinstance(kind, Numeric) and not kind.is_matrix:
            parts: Values = [c for c in nested if isinstance(c, Const)]
            return [self.join(parts)] if kind.is_float else parts
        inner = part_types(kind) or []
        return [v for k, c in zip(inner, nested, strict=True) for v in self._constant_values(k, c)]

    def of_Loaded(self, t: Loaded) -> Values:
        return t.values

    def of_Members(self, t: Members) -> Values:
        return [v for m in t.members for v in self.value(m)]

    def numbers(self, n: int, like: Numeric | None = None) -> Typed:
        """Return a scalar, vector or matrix, of a type if one is given. Raises ShadingError."""
        got = self.typed(n)
        if not isinstance(got.type, Numeric) or (like is not None and got.type != like):
            raise ShadingError(self.pos, f"id {n} is {got.type} here, not {like or 'numbers'}")
        return got

    def given(self, i: SpirvInstruction, k: int, like: Numeric | None = None) -> Values:
        """Return the values of the operand in word `k`."""
        return self.value(self.numbers(i.word(k), like))

    def kind_of(self, i: SpirvInstruction) -> Numeric:
        """Return the numeric type of a result. Raises ShadingError."""
        got = self.module.type(i.word(0))
        if not isinstance(got, Numeric):
            raise ShadingError(self.pos, f"{said(i)} has a result of type {got}")
        return got

    def keep(self, i: SpirvInstruction, kind: Type, values: Values) -> None:
        """Set the result of an instruction."""
        if tuple(v.kind for v in values) != kinds(kind):
            raise ShadingError(self.pos, f"{said(i)} does not have a result of type {kind}")
        self.frame[i.word(1)] = Lowered(self.pos, kind, values)
        if i.word(1) in self.shared:
            slots = self.variable_slots(kind)
            self.put_all(slots, values)
            self.kept[i.word(1)] = self.levels[-1], slots

    def place(self, n: int) -> Typed:
        """Return the place that a pointer points to. Raises ShadingError."""
        got = self.typed(n)
        if isinstance(got, Lowered):
            raise ShadingError(self.pos, f"id {n} is not a pointer that is supported")
        return got

    def _inside(self, place: Typed, index: Typed) -> Typed:
        values = self.value(index)
        if len(values) != 1 or values[0].kind != "r":
            raise ShadingError(self.pos, "an index is an integer")
        kind, (value,) = place.type, values
        if isinstance(kind, StructType):
            if not isinstance(value, Const) or value.value >= len(kind.fields):
                raise ShadingError(self.pos, f"`{kind.name}` has no such field")
            if isinstance(place, Members):
                return place.members[value.value]
            return TypedField(self.pos, kind.fields[value.value].type, place, value.value)
        number: Typed = Lowered(self.pos, T_INT, values)
        if not isinstance(value, Const):
            v = ShaderVariable("", T_INT, "local", self.pos)
            self.put_all(self.slots(v), values)
            number = TypedName(self.pos, T_INT, v)
        elements = elements_of(kind)
        if elements is None:
            raise ShadingError(self.pos, f"{kind} has no parts")
        if isinstance(kind, Numeric) and isinstance(value, Const) and value.value >= elements[0]:
            raise ShadingError(self.pos, f"{kind} has no such part")
        return TypedElement(self.pos, elements[1], place, number)

    def root(self, place: Typed) -> ShaderVariable | None:
        """Return the variable that a place is a part of."""
        while isinstance(place, TypedElement | TypedField):
            place = place.base
        return place.variable if isinstance(place, TypedName) else None

    def _stored_to(self, place: Typed, value: Typed) -> None:
        root = self.root(place)
        if root is None or root.role not in ("local", "output"):
            raise ShadingError(self.pos, "nothing is stored here: it is only read")
        if place.type != value.type or isinstance(place.type, SamplerType):
            raise ShadingError(self.pos, f"a value of {value.type} is stored to a place of {place.type}")
        self.store(place, self.value(value))

    def _moved(self, i: SpirvInstruction) -> None:
        self.pos = self.origin.of(i)
        self.at(self.pos)

    def _discard(self) -> None:
        if self.stage != "fragment":
            raise ShadingError(self.pos, "only a fragment program has a pixel to discard")
        self.b.emit(DISCARD, [TRUE], ())


def said(i: SpirvInstruction) -> str:
    """Return the name of an instruction's opcode."""
    return f"Op{spv.NAMES.get(i.op, i.op)}"
