"""Variables of a shader while it is lowered: those of the form, and what is read from outside."""

from __future__ import annotations

from typing import NamedTuple

from isakit.compile.ir import Block, Const, Function, IrValue
from isakit.compile.shading.emitter import Emitter, Values, float_const, kinds
from isakit.compile.shading.typed import ShaderVariable
from isakit.compile.shading.types import Type
from isakit.compile.vector_ops import count, element


class UniformSlot(NamedTuple):
    """A scalar or vector of the uniforms: the uniform's name, the element, the kind it is read as."""

    name: str
    element: int
    kind: str


class Meeting:
    """A block that several ways lead to, with what is known to be constant on each of them."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.known: list[dict[int, Const]] = []


class Variables(Emitter):
    """Keeps the values of variables. `known` are those that have a constant here, whatever way led here."""

    dead = False
    """True while statements are lowered that are never reached."""

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

    def put(self, n: int, value: IrValue) -> None:
        """Give a variable of the form a value."""
        self.b.block.env[n] = value
        if isinstance(value, Const):
            self.known[n] = value
        else:
            self.known.pop(n, None)

    def put_all(self, slots: list[int], values: Values) -> None:
        """Give several of them values."""
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
        """Jump there; what follows is not reached this way."""
        if not self.dead:
            self.b.block.term = ("jump", to.block)
            to.known.append(dict(self.known))
            self.dead = True

    def enter(self, at: Meeting) -> None:
        """Go on where several ways meet; if none leads there, what follows is dead."""
        if not self.dead:
            self.go(at)
        self.dead = not at.known
        self.function.blocks.append(at.block)
        self.b.enter(at.block)
        first, *others = at.known or [{}]
        self.known = {n: c for n, c in first.items() if all(_same(k.get(n), c) for k in others)}

    def fork(self, p: IrValue, yes: Meeting, no: Meeting) -> None:
        """Branch."""
        self.b.block.term = ("branch", p, False, yes.block, no.block)
        for m in (yes, no):
            m.known.append(dict(self.known))
        self.dead = True


def _same(a: Const | None, b: Const) -> bool:
    return a is not None and a.value == b.value and a.kind == b.kind
