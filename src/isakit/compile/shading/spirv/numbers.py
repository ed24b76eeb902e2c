"""Instructions of SPIR-V on numbers and bools, texture sampling, and the extended instructions of GLSL."""

from __future__ import annotations

from collections.abc import Callable

from isakit.compile.ir import Const, IrValue
from isakit.compile.ops import ADD, NOT, SUB, XOR
from isakit.compile.shading.emitter import TRUE, Emitter, Values
from isakit.compile.shading.expansions import EXPANSIONS, Call, combined, dotted
from isakit.compile.shading.lower_expressions import Lowered
from isakit.compile.shading.source import ShadingError
from isakit.compile.shading.spirv import opcodes as spv
from isakit.compile.shading.spirv.memory import MemoryInstructions
from isakit.compile.shading.spirv.values import Loaded, said
from isakit.compile.shading.spirv.words import SpirvInstruction
from isakit.compile.shading.typed import (
    Typed,
    TypedConvert,
)
from isakit.compile.shading.types import (
    BOOL,
    INT,
    UINT,
    USHORT,
    Base,
    Numeric,
    SamplerType,
)
from isakit.compile.vector_ops import VNEG, KindError

_OPERATORS = {
    "Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Equal": "==", "NotEqual": "!=", "LessThan": "<",
    "LessThanEqual": "<=", "GreaterThan": ">", "GreaterThanEqual": ">=",
}  # fmt: skip
_OF_KINDS = {spv.OPS[prefix + name]: (op, "float" if prefix in ("F", "FOrd", "FUnord") else
                                    {"U": "uint", "S": "int"}.get(prefix, ""))
           for prefix in ("F", "FOrd", "FUnord", "I", "U", "S") for name, op in _OPERATORS.items()
           if prefix + name in spv.OPS}  # fmt: skip
_OTHERS = {spv.OPS[name]: found for name, found in {
    "UMod": ("%", "uint"), "SRem": ("%", "int"), "ShiftRightLogical": (">>", "uint"), "ShiftLeftLogical": ("<<", ""),
    "ShiftRightArithmetic": (">>", "int"), "BitwiseOr": ("|", ""), "BitwiseXor": ("^", ""), "BitwiseAnd": ("&", ""),
}.items()}  # fmt: skip
_BINARY = _OF_KINDS | _OTHERS
"""Operations to the operator and the kind of numbers they apply to; "" for integers of any kind."""
_FUNCTIONS = {"DPdx": "ddx", "DPdy": "ddy", "Fwidth": "fwidth", "IsNan": "isnan", "IsInf": "isinf"}
_REMAINDERS = {"FMod": "modulo", "FRem": "fmod"}
_WHOLE = ("int", "uint")
_CONVERSIONS = {
    "ConvertFToU": (("float",), _WHOLE), "ConvertFToS": (("float",), _WHOLE), "FConvert": (("float",), ("float",)),
    "SConvert": (_WHOLE, _WHOLE), "UConvert": (_WHOLE, _WHOLE),
}  # fmt: skip
_FROM_INTEGERS = {"ConvertSToF": INT, "ConvertUToF": UINT}
_LOGIC: dict[str, Callable[[Emitter, IrValue, IrValue], IrValue]] = {
    "LogicalAnd": Emitter.both, "LogicalOr": Emitter.either,
    "LogicalEqual": lambda e, x, y: e.compare("==", x, y), "LogicalNotEqual": lambda e, x, y: e.compare("!=", x, y),
}  # fmt: skip
_SAMPLES = {"ImageSampleImplicitLod": "", "ImageSampleExplicitLod": "", "ImageSampleProjImplicitLod": "3",
            "ImageSampleProjExplicitLod": "3"}  # fmt: skip


class NumberInstructions(MemoryInstructions):
    """Lowers arithmetic, comparisons, conversions, products of matrices, and functions of the languages."""

    def of_table(self, i: SpirvInstruction, name: str) -> bool:
        """Lower an instruction that a table describes; return whether there is a row for it."""
        function = _FUNCTIONS.get(name.removesuffix("Fine").removesuffix("Coarse"))
        if i.op in _BINARY:
            self._binary(i, *_BINARY[i.op])
        elif name in _SAMPLES:
            self._sample_op(i, name)
        elif name in _REMAINDERS:
            self._remainder(i, _REMAINDERS[name])
        elif name in _CONVERSIONS:
            self._converted(i, *_CONVERSIONS[name])
        elif name in _FROM_INTEGERS:
            self._number_to_float(i, _FROM_INTEGERS[name])
        elif name in _LOGIC:
            self._logical(i, _LOGIC[name])
        elif function is not None:
            self._expanded(i, function)
        else:
            return False
        return True

    def _binary(self, i: SpirvInstruction, op: str, kind: str) -> None:
        a = self.numbers(i.word(2))
        b = self.numbers(i.word(3))
        have = a.numeric
        shaped = have.size == b.numeric.size and not have.is_matrix and not b.numeric.is_matrix
        right = have.base.kind == b.numeric.base.kind == "float" if kind == "float" else not (
            have.is_float or have.is_bool or b.numeric.is_float or b.numeric.is_bool)  # fmt: skip
        if not shaped or not right or (kind == "float" and have != b.type):
            raise ShadingError(self.pos, f"{said(i)} does not take {a.type} and {b.type}")
        of = have if kind == "float" else have.of({"uint": UINT}.get(kind, INT if kind else have.base))
        values = self.operated(op, self.value(a), self.value(b), of)
        result = self.kind_of(i)
        if (
            op in ("+", "-", "*", "<<", ">>", "/", "%", "&", "|", "^")
            and result.base.bits == 16
            and not result.is_float
        ):
            values = [self.narrow(v, result.base) for v in values]
        self.keep(i, result, values)

    def _expanded(self, i: SpirvInstruction, name: str) -> None:
        """Emit a built-in function of the languages on all operands."""
        found = [self.numbers(n) for n in i.rest(2)]
        if not found or any(not t.numeric.is_float for t in found):
            raise ShadingError(self.pos, f"{said(i)} does not take operands of these types")
        self.keep(i, self.kind_of(i), self._call(name, found, self.kind_of(i)))

    def _call(self, name: str, found: list[Typed], result: Numeric) -> Values:
        try:
            return EXPANSIONS[name](self, [self.value(t) for t in found], Call([t.numeric for t in found], result))
        except (KindError, ValueError, IndexError, AssertionError):
            given = ", ".join(str(t.type) for t in found)
            raise ShadingError(self.pos, f"there is no `{name}({given})`") from None

    def _remainder(self, i: SpirvInstruction, name: str) -> None:
        """Emit a function whose operands all have the type of the result."""
        kind = self.kind_of(i)
        if not kind.is_float or kind.is_matrix or len(i.words) != 4:
            raise ShadingError(self.pos, f"{said(i)} does not take operands of these types")
        self.keep(i, kind, self._call(name, [self.numbers(n, kind) for n in i.rest(2)], kind))

    def op_SMod(self, i: SpirvInstruction) -> None:
        """Emit the remainder with the sign of the divisor."""
        kind = self.kind_of(i)
        out: Values = []
        for x, y in zip(self.given(i, 2, kind), self.given(i, 3, kind), strict=True):
            rest = self.divided(x, y, True)[1] if x.kind == "r" else x
            other = self.compare("<", self.op(XOR, rest, y), Const(0)) if x.kind == "r" else TRUE
            here = self.both(other, self.compare("!=", rest, Const(0)))
            out.append(self.choose(here, self.op(ADD, rest, y), rest))
        self.keep(i, kind, out)

    def op_FNegate(self, i: SpirvInstruction) -> None:
        kind = self.kind_of(i)
        if not kind.is_float:
            raise ShadingError(self.pos, f"{said(i)} does not take operands of these types")
        self.keep(i, kind, [self.op(VNEG, v) for v in self.given(i, 2, kind)])

    def op_SNegate(self, i: SpirvInstruction) -> None:
        self._each(i, lambda v: self.op(SUB, Const(0), v))

    def op_Not(self, i: SpirvInstruction) -> None:
        self._each(i, lambda v: self.op(NOT, v))

    def _each(self, i: SpirvInstruction, do: Callable[[IrValue], IrValue]) -> None:
        """Apply a function to each component of an integer or vector."""
        kind, found = self.kind_of(i), self.numbers(i.word(2))
        if kind.base.kind not in ("int", "uint") or found.numeric.base.kind not in ("int", "uint"):
            raise ShadingError(self.pos, f"{said(i)} does not take operands of these types")
        self.keep(i, kind, [self.narrow(do(v), kind.base) for v in self.value(found)])

    def _converted(self, i: SpirvInstruction, have: tuple[str, ...], want: tuple[str, ...]) -> None:
        kind, found = self.kind_of(i), self.numbers(i.word(2))
        if found.numeric.base.kind not in have or kind.base.kind not in want or kind.is_matrix:
            raise ShadingError(self.pos, f"{said(i)} makes no {kind} of {found.type}")
        self.keep(i, kind, self.convert(self.value(found), found.numeric.base, kind.base))

    def _number_to_float(self, i: SpirvInstruction, base: Base) -> None:
        kind, found = self.kind_of(i), self.numbers(i.word(2))
        if found.numeric.base.kind not in ("int", "uint") or not kind.is_float or kind.size != found.numeric.size:
            raise ShadingError(self.pos, f"{said(i)} makes no {kind} of {found.type}")
        values = self.value(found)
        if found.numeric.base.bits == 16 and base is UINT:
            values = [self.narrow(v, USHORT) for v in values]
        self.keep(i, kind, self.convert(values, base, kind.base))

    def op_Bitcast(self, i: SpirvInstruction) -> None:
        kind, found = self.kind_of(i), self.numbers(i.word(2))
        if found.numeric.is_matrix or kind.is_matrix or kind.is_bool or found.numeric.is_bool:
            raise ShadingError(self.pos, "only the bits of scalars and vectors are others' bits")
        if kind.size * kind.base.bits != found.numeric.size * found.numeric.base.bits:
            raise ShadingError(self.pos, f"{kind} has not as many bits as {found.type}")
        self.keep(i, kind, self.value(TypedConvert(self.pos, kind, found, True)))

    def op_VectorTimesScalar(self, i: SpirvInstruction) -> None:
        kind = self.kind_of(i)
        (s,) = self.given(i, 3, kind.row if not kind.is_scalar and not kind.is_matrix else Numeric(BOOL))
        self.keep(i, kind, [self.mul(v, self.spread(s, kind.size)) for v in self.given(i, 2, kind)])

    def op_MatrixTimesScalar(self, i: SpirvInstruction) -> None:
        kind = self.kind_of(i)
        (s,) = self.given(i, 3, Numeric(kind.base))
        if not kind.is_float:
            raise ShadingError(self.pos, f"{said(i)} does not take operands of these types")
        self.keep(i, kind, [self.mul(v, self.spread(s, kind.size)) for v in self.given(i, 2, kind)])

    def _matrix(self, i: SpirvInstruction, k: int) -> Typed:
        got = self.numbers(i.word(k))
        if not got.numeric.is_matrix:
            raise ShadingError(self.pos, f"{said(i)} takes a matrix, this operand is not one")
        return got

    def _rows(self, m: Typed) -> Values | None:
        """Return the rows of a matrix if they are available: those of a uniform stored in memory by rows."""
        return self._columns(m.place) if isinstance(m, Loaded) else None

    def op_MatrixTimesVector(self, i: SpirvInstruction) -> None:
        m, v = self._matrix(i, 2), self.numbers(i.word(3))
        if v.type != Numeric(m.numeric.base, m.numeric.vectors):
            raise ShadingError(self.pos, f"{said(i)} does not take {m.type} and {v.type}")
        rows = self._rows(m)
        x = self.value(v)[0]
        self.keep(i, self.kind_of(i), [dotted(self, rows, x) if rows is not None else combined(self, x, self.value(m))])

    def op_VectorTimesMatrix(self, i: SpirvInstruction) -> None:
        v, m = self.numbers(i.word(2)), self._matrix(i, 3)
        if v.type != m.numeric.row:
            raise ShadingError(self.pos, f"{said(i)} does not take {v.type} and {m.type}")
        rows, x = self._rows(m), self.value(v)[0]
        self.keep(i, self.kind_of(i), [combined(self, x, rows) if rows is not None else dotted(self, self.value(m), x)])

    def op_MatrixTimesMatrix(self, i: SpirvInstruction) -> None:
        a, b = self._matrix(i, 2), self._matrix(i, 3)
        if a.numeric.vectors != b.numeric.size or a.numeric.base != b.numeric.base:
            raise ShadingError(self.pos, f"{said(i)} does not take {a.type} and {b.type}")
        columns = self.value(a)
        self.keep(i, self.kind_of(i), [combined(self, column, columns) for column in self.value(b)])

    def op_OuterProduct(self, i: SpirvInstruction) -> None:
        a, b = self.numbers(i.word(2)), self.numbers(i.word(3))
        if not a.numeric.is_float or a.numeric.base != b.numeric.base or a.numeric.is_matrix or b.numeric.is_matrix:
            raise ShadingError(self.pos, f"{said(i)} does not take {a.type} and {b.type}")
        self.keep(i, self.kind_of(i), self._call("outerProduct", [a, b], self.kind_of(i)))

    def op_Dot(self, i: SpirvInstruction) -> None:
        a = self.numbers(i.word(2))
        if not a.numeric.is_float or a.numeric.is_matrix:
            raise ShadingError(self.pos, f"{said(i)} does not take {a.type}")
        b = self.numbers(i.word(3), a.numeric)
        self.keep(i, self.kind_of(i), self._call("dot", [a, b], self.kind_of(i)))

    # bools
    def _bools(self, i: SpirvInstruction, k: int) -> Values:
        got = self.numbers(i.word(k))
        if not got.numeric.is_bool:
            raise ShadingError(self.pos, f"{said(i)} does not take {got.type}")
        return self.value(got)

    def op_Any(self, i: SpirvInstruction) -> None:
        self.keep(i, Numeric(BOOL), EXPANSIONS["any"](self, [self._bools(i, 2)], Call((), Numeric(BOOL))))

    def op_All(self, i: SpirvInstruction) -> None:
        self.keep(i, Numeric(BOOL), [self.every(self._bools(i, 2))])

    def op_LogicalNot(self, i: SpirvInstruction) -> None:
        self.keep(i, self.kind_of(i), [self.opposite(v) for v in self._bools(i, 2)])

    def _logical(self, i: SpirvInstruction, do: Callable[[Emitter, IrValue, IrValue], IrValue]) -> None:
        a, b = self._bools(i, 2), self._bools(i, 3)
        self.keep(i, self.kind_of(i), [do(self, x, y) for x, y in zip(a, b, strict=False)])

    def op_Select(self, i: SpirvInstruction) -> None:
        kind = self.module.type(i.word(0))
        conditions = self._bools(i, 2)
        a, b = self.typed(i.word(3)), self.typed(i.word(4))
        if a.type != kind or b.type != kind or isinstance(kind, SamplerType):
            raise ShadingError(self.pos, f"a choice of {a.type} and {b.type}")
        x, y = self.value(a), self.value(b)
        if len(conditions) == 1:
            self.keep(i, kind, [self.choose(conditions[0], p, q) for p, q in zip(x, y, strict=True)])
            return
        if not isinstance(kind, Numeric) or kind.is_matrix or kind.size != len(conditions):
            raise ShadingError(self.pos, f"a choice by {len(conditions)} conditions of {kind}")
        if kind.is_float:
            x, y = self.parts(x[0]), self.parts(y[0])
        chosen = [self.choose(c, p, q) for c, p, q in zip(conditions, x, y, strict=True)]
        self.keep(i, kind, [self.join(chosen)] if kind.is_float else chosen)

    # textures
    def op_SampledImage(self, i: SpirvInstruction) -> None:
        image = self.place(i.word(2))
        if not isinstance(image.type, SamplerType):
            raise ShadingError(self.pos, f"{image.type} is not an image")
        self.frame[i.word(1)] = image

    def _sample_op(self, i: SpirvInstruction, name: str) -> None:
        image, kind = self.place(i.word(2)), self.kind_of(i)
        if not isinstance(image.type, SamplerType) or image.type.kind not in ("2d", "cube"):
            said = image.type.kind if isinstance(image.type, SamplerType) else str(image.type)
            raise ShadingError(self.pos, f"textures of this kind ({said}) are not supported")
        at = self.numbers(i.word(3))
        size = 3 if image.type.kind == "cube" or _SAMPLES[name] else 2
        if not at.numeric.is_float or at.numeric.is_matrix or at.numeric.size < size or kind != kind.of(kind.base):
            raise ShadingError(self.pos, f"the coordinate of a texel cannot be {at.type}")
        mask = i.word(4) if len(i.words) > 4 else 0
        more = [self.numbers(n) for n in i.rest(5)]
        levels = {0: ("sample", 0), 1: ("bias", 1), 2: ("lod", 1), 4: ("sample", 2)}.get(mask)
        if levels is None or len(more) != levels[1] or (_SAMPLES[name] and (mask == 4 or image.type.kind == "cube")):
            raise ShadingError(self.pos, "offsets, samples and smallest levels of texels are not supported")
        if any(not t.numeric.is_float or t.numeric.size != (size if mask == 4 else 1) for t in more):
            raise ShadingError(self.pos, "a level of a texel is a number, and a gradient as long as the coordinate")
        if kind.size != 4 or not kind.is_float or kind.is_matrix:
            raise ShadingError(self.pos, f"a texel as {kind}")
        which = f"project3{'' if levels[0] == 'sample' else levels[0]}" if _SAMPLES[name] else levels[0]
        place = self.swizzle_to(self.value(at)[0], size)
        given = [[place], *([self.as_f32(self.value(t)[0])] for t in more)]
        call = Call((), kind, self.sampler(image), image.type.kind)
        self.keep(i, kind, EXPANSIONS[which](self, given, call))

    # extended instructions
    def op_ExtInst(self, i: SpirvInstruction) -> None:
        if self.module.sets.get(i.word(2)) != "GLSL.std.450":
            if self.module.sets.get(i.word(2), "").startswith("NonSemantic."):
                return
            raise ShadingError(self.pos, f"instructions of {self.module.sets.get(i.word(2), 'no set')!r}")
        number, kind = i.word(3), self.module.type(i.word(0))
        name = spv.EXTENDED.get(number)
        if number == 35:
            self._modf(i)
            return
        if name is None or not isinstance(kind, Numeric):
            raise ShadingError(self.pos, f"instruction {number} of GLSL.std.450 is not supported")
        found = [self.numbers(n) for n in i.rest(4)]
        base = spv.INTEGERS.get(number, "uint" if name.startswith("unpack") else "float")
        wanted = ("int", "uint") if base != "float" else ("float",)
        if not found or any(t.numeric.base.kind not in wanted for t in found) or len(found) != spv.COUNTS.get(name, 1):
            raise ShadingError(self.pos, f"instruction {number} of GLSL.std.450 does not take operands of these types")
        matrices = name in ("determinant", "inverse")
        if any(t.numeric.is_matrix != matrices for t in found):
            raise ShadingError(self.pos, f"instruction {number} of GLSL.std.450 does not take operands of these types")
        result = kind if base == "float" else kind.of({"int": INT}.get(base, UINT))
        self.keep(i, kind, self._call(name, found, result))

    def _modf(self, i: SpirvInstruction) -> None:
        kind = self.kind_of(i)
        (x,) = self.given(i, 4, kind)
        if not kind.is_float or kind.is_matrix:
            raise ShadingError(self.pos, f"{said(i)} does not take operands of these types")
        whole = self.trunc(x)
        self._stored_to(self.place(i.word(5)), Lowered(self.pos, kind, [whole]))
        self.keep(i, kind, [self.sub(x, whole)])
