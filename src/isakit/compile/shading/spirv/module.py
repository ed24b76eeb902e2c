"""A SPIR-V module: types, constants, variables, functions as blocks, and decorations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from isakit.compile.ir import Const
from isakit.compile.shading.source import ShadingError
from isakit.compile.shading.spirv.opcodes import BUILT_IN, DIMENSIONS, NAMES, OPS
from isakit.compile.shading.spirv.words import SpirvInstruction
from isakit.compile.shading.types import (
    BOOL,
    FLOAT,
    HALF,
    INT,
    SHORT,
    UINT,
    USHORT,
    VOID,
    ArrayType,
    Numeric,
    SamplerType,
    StructField,
    StructType,
    Type,
    part_types,
)

MOST_LEAVES = 1 << 14
"""Scalars and vectors that a type may have."""
_DEEPEST = 64
_NUMBERS = {("Int", 32, 0): UINT, ("Int", 32, 1): INT, ("Int", 16, 0): USHORT, ("Int", 16, 1): SHORT,
            ("Float", 32, 0): FLOAT, ("Float", 16, 0): HALF}  # fmt: skip

Nested = Const | Sequence["Nested"]
"""A constant: its components, vectors of matrices, elements and fields, nested."""


@dataclass(frozen=True)
class PointerType(Type):
    """A pointer."""

    storage: int
    to: Type


class EntryPoint(NamedTuple):
    """A function that a pipeline can start: execution model, id and name."""

    model: int
    function: int
    name: str


class GlobalVariable(NamedTuple):
    """A variable outside of functions; `initial` is the id of a constant, 0 for none."""

    id: int
    type: PointerType
    initial: int
    type_id: int


@dataclass
class SpirvBlock:
    """A block: its phis, its instructions without the last one, and that one.

    Attributes:
        merge: the block after the selection or loop that it begins; 0 for none.
        turn: the continue target of the loop that it begins; 0 for none.
    """

    label: int
    phis: list[SpirvInstruction] = field(default_factory=list[SpirvInstruction])
    body: list[SpirvInstruction] = field(default_factory=list[SpirvInstruction])
    end: SpirvInstruction | None = None
    merge: int = 0
    turn: int = 0


@dataclass
class SpirvFunction:
    """A function: type of its result, its parameters, and its blocks."""

    result: Type
    parameters: list[tuple[int, Type]] = field(default_factory=list[tuple[int, Type]])
    blocks: list[SpirvBlock] = field(default_factory=list[SpirvBlock])

    def shared(self) -> set[int]:
        """Return the ids that are used in more than one block."""
        seen: set[int] = set()
        found: set[int] = set()
        for b in self.blocks:
            words = {w for i in (*b.phis, *b.body, *((b.end,) if b.end is not None else ())) for w in i.words}
            found |= words & seen
            seen |= words
        return found


_ENDS = frozenset(OPS[n] for n in ("Branch", "BranchConditional", "Switch", "Kill", "Return", "ReturnValue",
                                   "Unreachable", "TerminateInvocation"))  # fmt: skip
_IGNORED = frozenset((2, 4, 10, 14, 16, 17, OPS["Line"], OPS["NoLine"], 330, 256, 257, 331, 332))
"""Operations without effect on values: capabilities, the memory model, modes, strings, lifetimes."""


class SpirvModule:
    """Declarations of a module, by id. Raises ShadingError for incomplete and unsupported ones."""

    def __init__(self, instructions: Sequence[SpirvInstruction]) -> None:
        self.types: dict[int, Type] = {}
        self.constants: dict[int, tuple[Type, Nested]] = {}
        self.names: dict[int, str] = {}
        self.member_names: dict[tuple[int, int], str] = {}
        self.strings: dict[int, str] = {}
        self.sources: dict[int, str] = {}
        self.marks: dict[tuple[int, int], dict[int, tuple[int, ...] | str]] = {}
        """(id, member or -1) to decorations."""
        self.entries: list[EntryPoint] = []
        self.variables: list[GlobalVariable] = []
        self.functions: dict[int, SpirvFunction] = {}
        self.sets: dict[int, str] = {}
        self.depths: dict[int, int] = {}
        self.pointees: dict[int, int] = {}
        """Ids of pointer types to those of what they point to: decorations are of ids."""
        self.function: SpirvFunction | None = None
        self.block: SpirvBlock | None = None
        for i in instructions:
            if i.op not in _IGNORED:
                self._read(i)
        if self.function is not None:
            raise ShadingError(0, "the last function has no end")

    # --- what is asked -----------------------------------------------------------------------------------------------
    def type(self, n: int) -> Type:
        """Return a type. Raises ShadingError."""
        got = self.types.get(n)
        if got is None:
            raise ShadingError(0, f"id {n} is not a type that is supported")
        return got

    def mark(self, n: int, decoration: int, member: int = -1) -> tuple[int, ...] | None:
        """Return the words of a decoration, None if there is none."""
        got = self.marks.get((n, member), {}).get(decoration)
        return () if isinstance(got, str) else got

    def number(self, n: int, decoration: int, member: int = -1) -> int | None:
        """Return the number that is the operand of a decoration, None if there is none."""
        got = self.mark(n, decoration, member)
        return got[0] if got else None

    def said(self, n: int, decoration: int, member: int = -1) -> str:
        """Return the string that is the operand of a decoration, "" if there is none."""
        got = self.marks.get((n, member), {}).get(decoration)
        return got if isinstance(got, str) else ""

    def has_built_ins(self, n: int, fields: int) -> bool:
        """Return whether a structure has built-in variables of the pipeline."""
        return any(self.mark(n, BUILT_IN, k) is not None for k in range(fields))

    # --- reading -----------------------------------------------------------------------------------------------------
    def _read(self, i: SpirvInstruction) -> None:
        name = NAMES.get(i.op, "")
        if self.function is not None and name not in ("Variable", "Undef"):
            self._in_function(i, name)
        elif self.function is not None:
            self._of_block(i).body.append(i)
        elif name.startswith("Type"):
            self._type(i, name)
        elif "Constant" in name or name == "Undef":
            self._constant(i, name)
        elif name:
            reader = getattr(self, f"_{name}", None)
            if reader is None:
                raise ShadingError(0, f"Op{name} at word {i.at} stands outside of functions")
            reader(i)
        else:
            self._unknown(i)

    def _unknown(self, i: SpirvInstruction) -> None:
        """Skip an unknown declaration; an instruction that needs its id fails later."""

    def _Source(self, i: SpirvInstruction) -> None:
        if len(i.words) > 3:
            self.sources[i.word(2)] = i.text(3)[0]

    def _Name(self, i: SpirvInstruction) -> None:
        self.names[i.word(0)] = i.text(1)[0]

    def _MemberName(self, i: SpirvInstruction) -> None:
        self.member_names[i.word(0), i.word(1)] = i.text(2)[0]

    def _String(self, i: SpirvInstruction) -> None:
        self.strings[i.word(0)] = i.text(1)[0]

    def _ExtInstImport(self, i: SpirvInstruction) -> None:
        self.sets[i.word(0)] = i.text(1)[0]

    def _EntryPoint(self, i: SpirvInstruction) -> None:
        self.entries.append(EntryPoint(i.word(0), i.word(1), i.text(2)[0]))

    def _ExecutionMode(self, i: SpirvInstruction) -> None:
        pass

    def _Decorate(self, i: SpirvInstruction) -> None:
        self.marks.setdefault((i.word(0), -1), {})[i.word(1)] = i.rest(2)

    def _MemberDecorate(self, i: SpirvInstruction) -> None:
        self.marks.setdefault((i.word(0), i.word(1)), {})[i.word(2)] = i.rest(3)

    def _DecorateString(self, i: SpirvInstruction) -> None:
        self.marks.setdefault((i.word(0), -1), {})[i.word(1)] = i.text(2)[0]

    def _MemberDecorateString(self, i: SpirvInstruction) -> None:
        self.marks.setdefault((i.word(0), i.word(1)), {})[i.word(2)] = i.text(3)[0]

    def _Variable(self, i: SpirvInstruction) -> None:
        kind = self.types.get(i.word(0))
        if isinstance(kind, PointerType):
            initial = i.word(3) if len(i.words) > 3 else 0
            self.variables.append(GlobalVariable(i.word(1), kind, initial, self.pointees[i.word(0)]))

    def _Function(self, i: SpirvInstruction) -> None:
        self.function = self.functions[i.word(1)] = SpirvFunction(self.type(i.word(0)))
        self.block = None

    # --- types -------------------------------------------------------------------------------------------------------
    def _type(self, i: SpirvInstruction, name: str) -> None:
        n = i.word(0)
        if n in self.types:
            raise ShadingError(0, f"id {n} is declared twice")
        made = self._made(i, name.removeprefix("Type"))
        if made is None:
            return
        self.depths[n] = 1 + max((self.depths.get(k, 0) for k in i.words[1:]), default=0)
        if self.depths[n] > _DEEPEST:
            raise ShadingError(0, "a type is nested too deeply")
        if not isinstance(made, PointerType) and made.leaves > MOST_LEAVES:
            raise ShadingError(0, f"a type has {made.leaves} scalars and vectors; {MOST_LEAVES} at most")
        self.types[n] = made

    def _made(self, i: SpirvInstruction, name: str) -> Type | None:
        """Return a type, None for an unsupported one, so that an instruction that needs it fails later."""
        if name == "Void":
            return VOID
        if name == "Bool":
            return Numeric(BOOL)
        if name in ("Int", "Float"):
            base = _NUMBERS.get((name, i.word(1), i.word(2) & 1 if name == "Int" else 0))
            return None if base is None else Numeric(base)
        if name in ("Vector", "Matrix"):
            of, size = self.types.get(i.word(1)), i.word(2)
            if not isinstance(of, Numeric) or of.is_matrix or not 2 <= size <= 4 or of.is_scalar != (name == "Vector"):
                return None
            if name == "Vector":
                return Numeric(of.base, size)
            return Numeric(of.base, of.size, size) if of.is_float else None
        if name == "Image":
            kind = DIMENSIONS.get(i.word(2), "other")
            plain = not i.word(4) and not i.word(5) and i.word(6) != 2
            return SamplerType(("2d" if kind == "rect" else kind) if plain else "other")
        if name == "Sampler":
            return SamplerType("none")
        if name == "SampledImage":
            return self.types.get(i.word(1))
        if name == "Array":
            of, length = self.types.get(i.word(1)), self.constants.get(i.word(2))
            if of is None or length is None or not isinstance(length[1], Const) or not length[1].value:
                return None
            return ArrayType(of, length[1].value)
        if name == "Struct":
            return self._structure(i)
        if name == "Pointer":
            to = self.types.get(i.word(2))
            self.pointees[i.word(0)] = i.word(2)
            return None if to is None else PointerType(i.word(1), to)
        return None

    def _structure(self, i: SpirvInstruction) -> Type | None:
        n = i.word(0)
        fields: list[StructField] = []
        for k, member in enumerate(i.rest(1)):
            kind = self.types.get(member)
            if kind is None:
                return None
            fields.append(StructField(self.member_names.get((n, k)) or f"field{k}", kind))
        return StructType(self.names.get(n) or f"struct{n}", tuple(fields))

    # --- constants ---------------------------------------------------------------------------------------------------
    def _constant(self, i: SpirvInstruction, name: str) -> None:
        kind = self.types.get(i.word(0))
        if kind is None or name == "SpecConstantOp":
            return
        made: Nested | None = None
        if name in ("ConstantTrue", "ConstantFalse", "SpecConstantTrue", "SpecConstantFalse"):
            made = Const(name.endswith("True"), "p") if kind == Numeric(BOOL) else None
        elif name in ("Constant", "SpecConstant"):
            made = _scalar(kind, i.word(2))
        elif name in ("ConstantNull", "Undef"):
            made = zero(kind)
        else:
            made = self._composite(kind, i.rest(2))
        if made is not None:
            self.constants[i.word(1)] = kind, made

    def _composite(self, kind: Type, ids: tuple[int, ...]) -> Nested | None:
        wanted = part_types(kind)
        found = [self.constants.get(n) for n in ids]
        if wanted is None or len(wanted) != len(found):
            return None
        out: list[Nested] = []
        for want, have in zip(wanted, found, strict=True):
            if have is None or have[0] != want:
                return None
            out.append(have[1])
        return out

    # --- functions ---------------------------------------------------------------------------------------------------
    def _of_block(self, i: SpirvInstruction) -> SpirvBlock:
        if self.block is None or self.block.end is not None:
            raise ShadingError(0, f"the instruction at word {i.at} is in no block")
        return self.block

    def _in_function(self, i: SpirvInstruction, name: str) -> None:
        assert self.function is not None
        if name == "FunctionParameter":
            self.function.parameters.append((i.word(1), self.type(i.word(0))))
        elif name == "Label":
            if self.block is not None and self.block.end is None:
                raise ShadingError(0, f"the block before word {i.at} has no end")
            self.block = SpirvBlock(i.word(0))
            self.function.blocks.append(self.block)
        elif name == "FunctionEnd":
            if self.block is not None and self.block.end is None:
                raise ShadingError(0, f"the block before word {i.at} has no end")
            self.function = self.block = None
        elif name == "Phi":
            self._of_block(i).phis.append(i)
        elif name == "SelectionMerge":
            self._of_block(i).merge = i.word(0)
        elif name == "LoopMerge":
            self._of_block(i).merge, self._of_block(i).turn = i.word(0), i.word(1)
        elif i.op in _ENDS:
            self._of_block(i).end = i
        else:
            self._of_block(i).body.append(i)


def _scalar(kind: Type, word: int) -> Const | None:
    if not isinstance(kind, Numeric) or not kind.is_scalar:
        return None
    if kind.is_float:
        return Const(word & 0xFFFF, "f16") if kind.base.bits == 16 else Const(word, "f32")
    if kind.base.bits == 16:
        low = word & 0xFFFF
        return Const(low | 0xFFFF_0000 if kind.base.kind == "int" and low >> 15 else low)
    return None if kind.is_bool else Const(word)


def zero(kind: Type) -> Nested | None:
    """Return the zero constant of a type, None for types that have none."""
    if isinstance(kind, Numeric) and kind.is_scalar:
        return Const(0, "p") if kind.is_bool else _scalar(kind, 0)
    wanted = part_types(kind)
    found = [zero(k) for k in wanted or ()]
    return None if wanted is None or None in found else [k for k in found if k is not None]
