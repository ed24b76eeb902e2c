"""Variables of a shader while it is lowered: those of the form, and what is read from outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from isakit.compile.ir import Block, Const, Function, IrValue, Mark
from isakit.compile.shading.emitter import LETTERS, Emitter, Values, float_const, kinds
from isakit.compile.shading.typed import ShaderVariable
from isakit.compile.shading.types import ArrayType, Numeric, SamplerType, StructType, Type
from isakit.compile.vector_ops import UNIFORM, count, element

SAMPLER = "sampler"
"""Kind of a uniform that is a sampler."""


class UniformSlot(NamedTuple):
    """A scalar or vector of the uniforms: the uniform's name, the element, the kind it is read as."""

    name: str
    element: int
    kind: str


class Meeting:
    """A block with several predecessors, and the constants known at the end of each of them."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.known: list[dict[int, Const]] = []


class NamedPart(NamedTuple):
    """A number of a variable of the source: its name and type, as the line table has them, and its element."""

    name: str
    type: str
    channel: int = 0


MOST_PARTS = 64
"""Numbers of a variable that are told one by one; of larger ones nothing is."""
MOST_MARKS = 1 << 15
"""Changes of variables that are told: a program of more has been taken apart into many turns of loops."""


class Variables(Emitter):
    """Keeps the values of variables. `known` are those with a constant value here on every path."""

    dead = False
    """True while statements are lowered that are never reached."""
    named = False
    """True where marks tell which values the variables of the source have."""
    statement = 0
    """Number of the statement, which the operations of it have in their places."""

    def variable_slots(self, type: Type) -> list[int]:
        """Make variables of the form for a value of a type."""
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
        """Let marks say from here on which values a variable of the source has; it ends with the innermost scope."""
        if not self.named or v.role == "sampler" or not v.pos or v.name == "main" or v in self.uniforms:
            return
        name = f"{self.inside[-1]}::{v.name}" if self.inside else v.name
        if components(v.type) > MOST_PARTS:
            return
        self.scopes[-1].append(v)
        self.told |= dict(zip(self.slots(v), named_parts(name, v.type), strict=True))

    def forget(self, variables: Iterable[ShaderVariable]) -> None:
        """Say that variables whose scope ends have no value any more."""
        for v in variables:
            for n in self.places.get(v, ()):
                self.mark(self.told.pop(n, ()), None)

    def mark(self, parts: Iterable[NamedPart], value: IrValue | None) -> None:
        """Say that parts of variables have a value from here on; None: they have none."""
        for p in () if self.dead or self.marks >= MOST_MARKS else parts:
            self.marks += 1
            values = [] if value is None or self.marks == MOST_MARKS else [value]
            self.b.block.marks.append(Mark(self.statement, p.name, p.type, values, p.channel))

    def slots(self, v: ShaderVariable) -> list[int]:
        """Return the variables of the form that a variable is kept in."""
        got = self.places.get(v)
        if got is None:
            got = self.places[v] = self.variable_slots(v.type)
        return got

    def get(self, n: int) -> IrValue:
        """Return the value a variable of the form has here."""
        known = self.known.get(n)
        if known is not None:
            return known
        block = self.b.block
        got = block.env.get(n)
        if got is None:
            got = block.live_in[n] = block.env[n] = IrValue(self.function.kinds[n])
        return got

    def uniform(self, s: UniformSlot) -> IrValue:
        """Return the value of a uniform; that of a sampler is its number, which is known wherever it gets to."""
        if s.kind != SAMPLER:
            return self.op(UNIFORM(s.name, s.element, s.kind))
        if s.name not in self.sampler_names:
            self.sampler_names.append(s.name)
        return Const(self.sampler_names.index(s.name))

    def put(self, n: int, value: IrValue) -> None:
        """Give a variable of the form a value."""
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
        """Return the value of a variable that was never set: 0."""
        return [self.zero(k) for k in kinds(type)]

    def zero(self, kind: str) -> IrValue:
        """Return 0 of a kind."""
        if kind in ("r", "p"):
            return Const(0, kind)
        return self.spread(float_const(0, element(kind)), count(kind))

    # --- control -----------------------------------------------------------------------------------------------------
    def meeting(self) -> Meeting:
        """Make a block that several ways lead to."""
        return Meeting(self.function.make())

    def go(self, to: Meeting) -> None:
        """Jump to a block; the code after the jump is unreachable."""
        if not self.dead:
            self.b.block.term = ("jump", to.block)
            to.known.append(dict(self.known))
            self.dead = True

    def enter(self, at: Meeting) -> int:
        """Go on where several ways meet; if none leads there, what follows is dead. Returns the place of the block."""
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
    """Yield the numbers of a variable for each of the values that it is kept in."""
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
        names = [name] if of.is_scalar else [f"{name}.{c}" for c in LETTERS[: of.size]]
        if base.kind == "float":
            yield [NamedPart(n, type, k) for k, n in enumerate(names)]
        else:
            yield from ([NamedPart(n, type)] for n in names)


def components(of: Type) -> int:
    """Return how many numbers a value of a type is."""
    if isinstance(of, StructType):
        return sum(components(f.type) for f in of.fields)
    if isinstance(of, ArrayType):
        return of.count * components(of.of)
    return of.components if isinstance(of, Numeric) else 0


def _same(a: Const | None, b: Const) -> bool:
    return a is not None and a.value == b.value and a.kind == b.kind
