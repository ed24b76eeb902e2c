"""The compiler's intermediate form: typed values, each defined once, in blocks.

Kinds of values: `r` 32 bits, `d` 64 bits and `q` 128 bits in adjacent registers, `p` a predicate, `f` the carry of an
addition, `a` an address. Vectors are named by type and number of elements, `f32x4`, `f16x2`. The target determines
which of them exist, and in which registers they are kept. Values of 8 and 16 bits are `r` whose upper bits are
undefined; an operation that needs them extends them first. 64-bit integers are two `r`: an unused half is removed like
any other dead value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from enum import Enum
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
A = TypeVar("A", bound=tuple[object, ...], covariant=True)
Attrs = tuple[Any, ...]
"""The attributes of an operation: the record that its row names."""

Loc = tuple[int, int, int]
"""Origin of an instruction: line of the PTX text, file number and line of its `.loc` (0, 0 without one)."""

NOWHERE: Loc = (0, 0, 0)


class IrValue:
    """A value: the result `index` of `ins`."""

    __slots__ = ("index", "ins", "kind")

    def __init__(self, kind: str, ins: Ins | None = None, index: int = 0) -> None:
        self.kind, self.ins, self.index = kind, ins, index

    def __repr__(self) -> str:
        return f"%{id(self) >> 4 & 0xFFFFF:x}:{self.kind}"


class Const(IrValue):
    """A constant: 32 bits, or 0 and 1 of kind `p`."""

    __slots__ = ("value",)

    def __init__(self, value: int, kind: str = "r") -> None:
        super().__init__(kind)
        self.value = value & 0xFFFF_FFFF

    def __repr__(self) -> str:
        return f"{self.value:#x}"


def identity(v: IrValue) -> Hashable:
    """Return what is equal for equal constants; other values are equal to themselves."""
    return (v.value, v.kind) if type(v) is Const else v


class OpUniformity(Enum):
    """Condition under which an operation has the same results in all lanes of a warp that execute it."""

    OPERANDS = "where its operands are the same"
    MEMORY = "where its operands are the same and the lanes execute it at the same time"
    ALWAYS = "whatever its operands are"
    NEVER = "not even where its operands are the same"


class Effect(Enum):
    """Side effect of an operation."""

    NONE = "nothing: it may be shared, moved, and removed where its results are unused"
    READS = "reads memory: it may go if unused, and may not pass a write"
    WRITES = "changes memory or orders accesses to it: it stays where it is, and no access passes it"
    STAYS = "something that memory has no part in: it stays where it is"


class PointsTo(Enum):
    """Address space that a result points to if it is an address."""

    NUMBER = "it is not an address"
    SUM = "where the argument points to that is an address; the others are numbers"
    CHOICE = "where any of the arguments may point to"
    NAMED = "the attributes say it"
    OUTSIDE = "what the kernel is given or finds in memory that it does not write"
    STORED = "what was stored where it is loaded from"


class NoAttributes(NamedTuple):
    """The attributes of operations that have arguments only."""


class IrOp(Generic[P, A]):
    """An operation of the IR: one row of the table in `ops`. Calling it with attributes gives the operation with these.

    Attributes:
        args, outs: kinds of arguments and results; `*` stands for any number of any kind.
        uniformity: None where there is no result.
        fold: computes the result from constant arguments, followed by the attributes.
        commutes: the two arguments may be exchanged.
        flushes: results are never denormal, and a NaN is the chip's canonical one.
        tests_zero: whether the instruction can test its result for 0 as well: `always`, with a `constant` second
            argument only, or never.
        simplify: returns a cheaper equivalent, given (operation, arguments, constants, attributes).
        stays: the operation is never dead, even if its results are not read.
    """

    def __init__(
        self,
        name: str,
        args: tuple[str, ...],
        outs: tuple[str, ...],
        uniformity: OpUniformity | None,
        effect: Effect,
        points_to: PointsTo,
        attributes: Callable[P, A],
        fold: Callable[..., int] | None,
    ) -> None:
        self.name, self.args, self.outs, self.uniformity, self.effect = name, args, outs, uniformity, effect
        self.points_to, self.attributes, self.fold = points_to, attributes, fold
        self.commutes = self.flushes = False
        self.tests_zero = ""
        self.simplify: Callable[..., Any] | None = None
        self.stays = effect in (Effect.WRITES, Effect.STAYS)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Operation:
        return Operation(self, self.attributes(*args, **kwargs))

    def of(self, i: Ins) -> A:
        """Return the attributes of an instruction that has this operation."""
        return i.attrs  # type: ignore[return-value]

    def __repr__(self) -> str:
        return self.name


AnyOp = IrOp[..., Any]
PlainOp = IrOp[[], NoAttributes]


class Operation(NamedTuple):
    """An operation with its attributes."""

    op: AnyOp
    attrs: Attrs


def operation(what: PlainOp | Operation) -> Operation:
    """Return an operation with its attributes; a row without attributes becomes one."""
    return what if type(what) is Operation else Operation(what, ())  # type: ignore[arg-type]


class Ins:
    """An operation, its attributes, arguments, results."""

    __slots__ = ("args", "attrs", "block", "loc", "op", "outs")

    def __init__(
        self, what: PlainOp | Operation, args: list[IrValue], kinds: Sequence[str], loc: Loc, block: Block | None = None
    ) -> None:
        self.op, self.attrs = operation(what)
        self.args, self.loc, self.block = args, loc, block
        self.outs = [IrValue(k, self, i) for i, k in enumerate(kinds)]

    def copied(self, args: list[IrValue], block: Block | None) -> Ins:
        """Return the same operation on other arguments, for a block."""
        return Ins(Operation(self.op, self.attrs), args, [o.kind for o in self.outs], self.loc, block)

    def become(self, what: PlainOp | Operation, args: list[IrValue]) -> None:
        """Replace operation and arguments; the results stay the same values."""
        self.op, self.attrs = operation(what)
        self.args = args

    def shown(self) -> str:
        """Return the attributes as text, for `dump`."""
        fields: tuple[str, ...] = getattr(self.attrs, "_fields", ())
        return "".join(f" {k}={v}" for k, v in zip(fields, self.attrs, strict=True) if v not in ("", False))

    @property
    def out(self) -> IrValue:
        """The first result."""
        return self.outs[0]

    def __repr__(self) -> str:
        return f"{self.outs or ''} = {self.op}{self.shown()} {self.args}"


class Mark:
    """From here on a variable of the source has a value: of one word, or of several, the lowest first; none: unknown.

    Passes replace the values of marks as they replace arguments, but a mark keeps no value alive. `line`: of the text
    the mark is for; `type`: as `line_table.VariableRange` has it; `channel`: the element of the vector that holds the
    value.
    """

    __slots__ = ("channel", "line", "name", "type", "values")

    def __init__(self, line: int, name: str, type: str, values: list[IrValue], channel: int = 0) -> None:
        self.line, self.name, self.type, self.values, self.channel = line, name, type, values, channel

    def __repr__(self) -> str:
        return f"{self.name}:{self.type} = {self.values}"


class Block:
    """A basic block: a sequence of instructions and the terminator.

    Attributes:
        term: ("jump", target), ("branch", condition, inverted, target if true, target if false), or ("exit",).
        phis: `phi` instructions with one argument per entry of `preds`.
        loc: origin of its last instruction: of the branch that ends it if there is one.
        live_in: values read before they are written here, by variable; only before SSA form.
        env: the value each variable has at the end, likewise.
        marks: variables of the source that get a value here, in the order of their lines.
    """

    __slots__ = ("env", "index", "ins", "live_in", "loc", "marks", "phis", "preds", "term", "uniform")

    def __init__(self, index: int) -> None:
        self.index = index
        self.ins: list[Ins] = []
        self.phis: list[Ins] = []
        self.preds: list[Block] = []
        self.term: tuple[Any, ...] = ("exit",)
        self.loc: Loc = NOWHERE
        self.uniform = False
        self.live_in: dict[int, IrValue] = {}
        self.env: dict[int, IrValue] = {}
        self.marks: list[Mark] = []

    @property
    def succs(self) -> list[Block]:
        """The successors of the block: none, one or two."""
        if self.term[0] == "jump":
            return [self.term[1]]
        return [self.term[3], self.term[4]] if self.term[0] == "branch" else []

    def insert(self, at: int, *new: Ins) -> None:
        """Put operations at a place in the block."""
        for i in new:
            i.block = self
        self.ins[at:at] = new

    def retarget(self, old: Block, new: Block) -> None:
        """Make the block lead to `new` instead of `old`."""
        self.term = tuple(new if t is old else t for t in self.term)

    def __repr__(self) -> str:
        return f"B{self.index}"


class Function:
    """A kernel being compiled. `blocks[0]` is where it starts; the order of blocks is that of the code.

    Attributes:
        params: (name, type, offset, bytes) of the kernel's parameters.
        shared: bytes of shared memory, launch header and parameters included.
        local: bytes of local memory of declared variables.
        barriers: barriers used.
        kinds: kind of each variable, before SSA form.
        debugged: variables of the source keep their values as long as there are enough registers.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.blocks: list[Block] = []
        self.kinds: list[str] = []
        self.params: list[tuple[str, str, int, int]] = []
        self.param_bytes = 0
        self.shared = 0
        self.local = 0
        self.barriers = 0
        self.max_threads: tuple[int, ...] = ()
        self.textures: list[str] = []
        self.globals: list[str] = []
        self.debugged = False
        self.count = 0

    def users(self) -> dict[IrValue, list[Ins]]:
        """Return the operations that read each value, phis included."""
        found: dict[IrValue, list[Ins]] = {}
        for i in self.instructions():
            for a in i.args:
                found.setdefault(a, []).append(i)
        return found

    def make(self) -> Block:
        """Return a new block that has no position in the order yet."""
        self.count += 1
        return Block(self.count - 1)

    def block(self) -> Block:
        """Append a new block after all others and return it."""
        b = self.make()
        self.blocks.append(b)
        return b

    def instructions(self) -> Iterator[Ins]:
        """Yield all instructions, phis first in every block."""
        for b in self.blocks:
            yield from b.phis
            yield from b.ins

    def connect(self) -> None:
        """Recompute the predecessors of all blocks; only before there are phis."""
        for b in self.blocks:
            b.preds = []
        for b in self.blocks:
            for s in b.succs:
                s.preds.append(b)

    def dump(self) -> str:
        """Return the function as text, for people."""
        names: dict[IrValue, str] = {}

        def name(v: IrValue) -> str:
            return repr(v) if isinstance(v, Const) else names.setdefault(v, f"%{len(names)}")

        lines = [f"{self.name}:"]
        for b in self.blocks:
            lines.append(f"{b}:  <- {b.preds}")
            for i in (*b.phis, *b.ins):
                outs = ", ".join(f"{name(o)}:{o.kind}" for o in i.outs)
                lines.append(f"    {outs + ' = ' if outs else ''}{i.op}{i.shown()} {', '.join(map(name, i.args))}")
            lines.append("    " + " ".join(name(t) if isinstance(t, IrValue) else str(t) for t in b.term))
        return "\n".join(lines)
