"""Instructions of SPIR-V on memory, and on vectors, matrices, arrays and structures as wholes."""

from __future__ import annotations

from isakit.compile.shading.emitter import Values, kinds
from isakit.compile.shading.expansions import EXPANSIONS, Call
from isakit.compile.shading.lower_expressions import Lowered
from isakit.compile.shading.source import ShadingError
from isakit.compile.shading.spirv import opcodes as spv
from isakit.compile.shading.spirv.module import PointerType
from isakit.compile.shading.spirv.values import Loaded, SpirvValues
from isakit.compile.shading.spirv.words import SpirvInstruction
from isakit.compile.shading.typed import (
    ShaderVariable,
    Typed,
    TypedElement,
    TypedName,
)
from isakit.compile.shading.types import (
    ArrayType,
    Numeric,
    SamplerType,
    StructType,
    Type,
)


class MemoryInstructions(SpirvValues):
    """Lowers loads, stores and pointers, and the extraction and construction of composite values."""

    def op_Variable(self, i: SpirvInstruction) -> None:
        kind = self.module.type(i.word(0))
        if not isinstance(kind, PointerType) or i.word(2) != spv.FUNCTION:
            raise ShadingError(self.pos, "a variable declared in a function must have the storage class Function")
        v = ShaderVariable(self.module.names.get(i.word(1), ""), kind.to, "local", self.pos)
        initial = self.typed(i.word(3)) if len(i.words) > 3 else None
        if initial is not None and initial.type != kind.to:
            raise ShadingError(self.pos, "a variable begins with a value of another type")
        self.put_all(self.slots(v), self.nothing(kind.to) if initial is None else self.value(initial))
        self.frame[i.word(1)] = TypedName(self.pos, kind.to, v)

    def op_Load(self, i: SpirvInstruction) -> None:
        place = self.place(i.word(2))
        kind = self.module.type(i.word(0))
        if place.type != kind:
            raise ShadingError(self.pos, f"a load of {kind} from a place of {place.type}")
        if isinstance(kind, SamplerType):
            self.frame[i.word(1)] = place
        else:
            values = self.value(place)
            self.keep(i, kind, values)
            if self.root(place) in self.uniforms:
                self.frame[i.word(1)] = Loaded(self.pos, values, place)

    def op_Store(self, i: SpirvInstruction) -> None:
        self._stored_to(self.place(i.word(0)), self.typed(i.word(1)))

    def op_CopyMemory(self, i: SpirvInstruction) -> None:
        source = self.place(i.word(1))
        self._stored_to(self.place(i.word(0)), Lowered(self.pos, source.type, self.value(source)))

    def op_AccessChain(self, i: SpirvInstruction) -> None:
        place = self.place(i.word(2))
        for n in i.rest(3):
            place = self._inside(place, self.numbers(n))
        self.frame[i.word(1)] = place

    def op_CopyObject(self, i: SpirvInstruction) -> None:
        self.frame[i.word(1)] = self.typed(i.word(2))

    def op_Undef(self, i: SpirvInstruction) -> None:
        kind = self.module.type(i.word(0))
        self.keep(i, kind, self.nothing(kind))

    def op_DemoteToHelperInvocation(self, i: SpirvInstruction) -> None:
        self._discard()

    def _parts(self, kind: Type, values: Values) -> list[tuple[Type, Values]]:
        """Return types and values of the parts of a value. Raises ShadingError."""
        if isinstance(kind, StructType):
            out: list[tuple[Type, Values]] = []
            at = 0
            for field in kind.fields:
                n = len(kinds(field.type))
                out.append((field.type, values[at : at + n]))
                at += n
            return out
        if isinstance(kind, ArrayType):
            return [(kind.of, part) for part in self._elements(kind, values)]
        if isinstance(kind, Numeric) and not kind.is_scalar:
            return [(kind.row, part) for part in self._elements(kind, values)]
        raise ShadingError(self.pos, f"{kind} has no parts")

    def _together(self, kind: Type, parts: list[Values]) -> Values:
        flat = [v for part in parts for v in part]
        if isinstance(kind, Numeric) and kind.is_float and not kind.is_matrix:
            return [self.join(flat)]
        return flat

    def op_CompositeExtract(self, i: SpirvInstruction) -> None:
        whole = self.typed(i.word(2))
        kind, values = whole.type, self.value(whole)
        for k in i.rest(3):
            parts = self._parts(kind, values)
            if k >= len(parts):
                raise ShadingError(self.pos, f"{kind} has {len(parts)} parts")
            kind, values = parts[k]
        if kind != self.module.type(i.word(0)):
            raise ShadingError(self.pos, f"the part is of type {kind}")
        self.keep(i, kind, values)

    def op_CompositeInsert(self, i: SpirvInstruction) -> None:
        part, whole = self.typed(i.word(2)), self.typed(i.word(3))
        self.keep(i, whole.type, self._inserted(whole.type, self.value(whole), i.rest(4), part))

    def _inserted(self, kind: Type, values: Values, where: tuple[int, ...], part: Typed) -> Values:
        if not where:
            if part.type != kind:
                raise ShadingError(self.pos, f"{part.type} takes the place of {kind}")
            return self.value(part)
        parts = self._parts(kind, values)
        if where[0] >= len(parts):
            raise ShadingError(self.pos, f"{kind} has {len(parts)} parts")
        inner = self._inserted(*parts[where[0]], where[1:], part)
        return self._together(kind, [inner if k == where[0] else v for k, (_, v) in enumerate(parts)])

    def op_CompositeConstruct(self, i: SpirvInstruction) -> None:
        kind = self.module.type(i.word(0))
        found = [self.typed(n) for n in i.rest(2)]
        values = [self.value(t) for t in found]
        if isinstance(kind, Numeric) and not kind.is_matrix:
            sizes = [t.type.size for t in found if isinstance(t.type, Numeric) and t.type.base == kind.base]
            if len(sizes) != len(found) or sum(sizes) != kind.size:
                raise ShadingError(self.pos, f"{kind} is made of other parts")
        self.keep(i, kind, self._together(kind, values))

    def op_VectorShuffle(self, i: SpirvInstruction) -> None:
        kind = self.kind_of(i)
        both: Values = []
        for k in (2, 3):
            t = self.numbers(i.word(k))
            if t.numeric.base != kind.base or t.numeric.is_matrix:
                raise ShadingError(self.pos, "the vectors of a shuffle are of other numbers")
            values = self.value(t)
            both += self.parts(values[0]) if kind.is_float else values
        chosen = [both[k] if k < len(both) else both[0] for k in i.rest(4)]
        if len(chosen) != kind.size:
            raise ShadingError(self.pos, f"{len(chosen)} components do not make a {kind}")
        self.keep(i, kind, [self.join(chosen)] if kind.is_float else chosen)

    def op_VectorExtractDynamic(self, i: SpirvInstruction) -> None:
        vector = self.numbers(i.word(2))
        self.keep(i, self.kind_of(i), self.value(self._inside(vector, self.numbers(i.word(3)))))

    def op_VectorInsertDynamic(self, i: SpirvInstruction) -> None:
        vector, part = self.numbers(i.word(2)), self.given(i, 3)
        element = self._inside(vector, self.numbers(i.word(4)))
        if not isinstance(element, TypedElement) or element.type != self.numbers(i.word(3)).type:
            raise ShadingError(self.pos, "a component takes the place of one of another type")
        self.keep(i, vector.type, self._with_element(self.value(vector), element, part))

    def op_Transpose(self, i: SpirvInstruction) -> None:
        matrix = self.numbers(i.word(2))
        if not matrix.numeric.is_matrix:
            raise ShadingError(self.pos, "only a matrix has a transpose")
        self.keep(i, self.kind_of(i), EXPANSIONS["transpose"](self, [self.value(matrix)], Call((), self.kind_of(i))))
