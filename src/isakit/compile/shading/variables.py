"""Variables of a shader during lowering: variables of the IR, and inputs and uniforms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from isakit.compile.ir import Block, Const, Function, IrValue, Mark
from isakit.compile.shading.emitter import Emitter, Values, float_const, kinds
from isakit.compile.shading.typed import ShaderVariable
from isakit.compile.shading.types import ArrayType, Numeric, SamplerType, StructType, Type
from isakit.compile.vector_ops import CHANNELS, UNIFORM, count, element

SAMPLER = "sampler"
"""Kind of a uniform that is a sampler."""


class UniformSlot(NamedTuple):
    """A scalar or vector of the uniforms: the uniform's name, the element, the kind it is read as."""

    name: str
    element: int
    kind: str


class Meeting:
    """A block with several predecessors, and the constants known at the end of each."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.known: list[dict[int, Const]] = []


class NamedPart(NamedTuple):
    """A number of a variable of the source: its name and type, as the line table has them, and its element."""

    name: str
    type: str
    channel: int = 0


MOST_PARTS = 64
"""Parts of a variable up to which marks are emitted for each; larger variables get none."""
MOST_MARKS = 1 << 15
"""Marks of a program up to which they are emitted: one with more consists of many unrolled iterations."""


class Variables(Emitter):
    """Keeps the values of variables. `known` are those with a constant value here on every path."""

    dead = False
    """True while unreachable statements are lowered."""
    named = False
    """True if marks record the values of source variables."""
    statement = 0
    """Number of the statement, part of the location of its operations."""

    def variable_slots(self, type: Type) -> list[int]:
        """Return new variables of the IR for a value of a type."""
        first = len(self.function.kinds)
        self.function.kinds += kinds(type)
        return list(range(first, len(self.function.kinds)))

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.known: dict[int, Const] = {}
        self.places: dict[ShaderVariable, list[int]] = {}
        self.uniforms: dict[ShaderVariable, list[UniformSlot]] = {}
        self.told: dict[int, list[NamedPart]] = {}
        """The numbers of the source's variables by the variables of the form they are kept in."""
        self.inside: list[str] = []
        """Functions whose statements stand in the place of their call, outermost first."""
        self.scopes: list[list[ShaderVariable]] = [[]]
        self.marks = 0
        self.sampler_names = [""]
        """Samplers by the numbers that stand for them while the program is lowered; 0 is none."""

    # --- what the source calls them -----------------------------------------------------------------------------------
    def tell(self, v: ShaderVariable) -> None:
        """Emit marks from here on for the values of a source variable, until the innermost scope ends."""
        if not self.named or v.role == "sampler" or not v.pos or v.name == "main" or v in self.uniforms:
            return
        name = f"{self.inside[-1]}::{v.name}" if self.inside else v.name
        if components(v.type) > MOST_PARTS:
            return
        self.scopes[-1].append(v)
        self.told |= dict(zip(self.slots(v), named_parts(name, v.type), strict=True))

    def forget(self, variables: Iterable[ShaderVariable]) -> None:
        """Mark variables whose scope ends as having no value."""
        for v in variables:
            for n in self.places.get(v, ()):
                self.mark(self.told.pop(n, ()), None)

    def mark(self, parts: Iterable[NamedPart], value: IrValue | None) -> None:
        """Mark parts of variables as having a value from here on; None: none."""
        for p in () if self.dead or self.marks >= MOST_MARKS else parts:
            self.marks += 1
            values = [] if value is None or self.marks == MOST_MARKS else [value]
            self.b.block.marks.append(Mark(self.statement, p.name, p.type, values, p.channel))

    def slots(self, v: ShaderVariable) -> list[int]:
        """Return the variables of the IR that represent a variable."""
        got = self.places.get(v)
        if got is None:
            got = self.places[v] = self.variable_slots(v.type)
        return got

    def get(self, n: int) -> IrValue:
        """Return the value of a variable of the IR at this point."""
        known = self.known.get(n)
        if known is not None:
            return known
        block = self.b.block
        got = block.env.get(n)
        if got is None:
            got = block.live_in[n] = block.env[n] = IrValue(self.function.kinds[n])
        return got

    def uniform(self, s: UniformSlot) -> IrValue:
        """Return the value of a uniform; that of a sampler is its number, a constant."""
        if s.kind != SAMPLER:
            return self.op(UNIFORM(s.name, s.element, s.kind))
        if s.name not in self.sampler_names:
            self.sampler_names.append(s.name)
        return Const(self.sampler_names.index(s.name))

    def put(self, n: int, value: IrValue) -> None:
        """Set a variable of the IR."""
        if n in self.told:
            self.mark(self.told[n], value)
        self.b.block.env[n] = value
        if isinstance(value, Const):
            self.known[n] = value
        else:
            self.known.pop(n, None)

    def put_all(self, slots: list[int], values: Values) -> None:
        """Assign values to several variables."""
        for n, v in zip(slots, values, strict=True):
            self.put(n, v)

    def nothing(self, type: Type) -> Values:
        """Return the value of a variable that is never set: 0."""
        return [self.zero(k) for k in kinds(type)]

    def zero(self, kind: str) -> IrValue:
        """Return 0 of a kind."""
        if kind in ("r", "p"):
            return Const(0, kind)
        return self.spread(float_const(0, element(kind)), count(kind))

    # --- control -----------------------------------------------------------------------------------------------------
    def meeting(self) -> Meeting:
        """Return a new block that several paths lead to."""
        return Meeting(self.function.make())

    def go(self, to: Meeting) -> None:
        """Jump to a block; the code after the jump is unreachable."""
        if not self.dead:
            self.b.block.term = ("jump", to.block)
            to.known.append(dict(self.known))
            self.dead = True

    def enter(self, at: Meeting) -> int:
        """Continue in a block where paths merge; if none leads there, the code is dead.

        Returns the index of the block.
        """
        if not self.dead:
            self.go(at)
        self.dead = not at.known
        self.function.blocks.append(at.block)
        self.b.enter(at.block)
        first, *others = at.known or [{}]
        self.known = {n: c for n, c in first.items() if all(_same(k.get(n), c) for k in others)}
        return len(self.function.blocks) - 1

    def fork(self, p: IrValue, yes: Meeting, no: Meeting) -> None:
        """End the block: go to `yes` where `p` is true, else to `no`."""
        self.b.block.term = ("branch", p, False, yes.block, no.block)
        for m in (yes, no):
            m.known.append(dict(self.known))
        self.dead = True


def named_parts(name: str, of: Type) -> Iterator[list[NamedPart]]:
    """Yield, for each value that represents a variable, the parts of the variable in it."""
    if isinstance(of, StructType):
        for f in of.fields:
            yield from named_parts(f"{name}.{f.name}", f.type)
    elif isinstance(of, ArrayType) or (isinstance(of, Numeric) and of.is_matrix):
        number, element_type = (of.count, of.of) if isinstance(of, ArrayType) else (of.vectors, of.row)
        for k in range(number):
            yield from named_parts(f"{name}[{k}]", element_type)
    elif isinstance(of, SamplerType):
        yield []
    elif isinstance(of, Numeric):
        base = of.base
        type = {"float": f"f{base.bits}", "int": "s32", "uint": "u32", "bool": "u8"}[base.kind]
        names = [name] if of.is_scalar else [f"{name}.{c}" for c in CHANNELS[: of.size]]
        if base.kind == "float":
            yield [NamedPart(n, type, k) for k, n in enumerate(names)]
        else:
            yield from ([NamedPart(n, type)] for n in names)


def components(of: Type) -> int:
    """Return how many components a value of a type has."""
    if isinstance(of, StructType):
        return sum(components(f.type) for f in of.fields)
    if isinstance(of, ArrayType):
        return of.count * components(of.of)
    return of.components if isinstance(of, Numeric) else 0


def _same(a: Const | None, b: Const) -> bool:
    return a is not None and a.value == b.value and a.kind == b.kind
