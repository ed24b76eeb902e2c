"""Known values of registers, as far as the code determines them: numbers, and addresses from a parameter or a constant.

Works on the traced meaning of the instructions, so it knows no instruction set. A value loaded from a known address is
`Loaded`; adding something to that is a `LoadedPlusOffset`, whose offset may be unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from isakit.analysis.chains import START, Chains
from isakit.analysis.control_flow import ControlFlow
from isakit.codec import Instruction
from isakit.codec.instruction import RegisterId
from isakit.errors import IsakitError
from isakit.lean import dataclass
from isakit.sem.semantics import trace_of
from isakit.sem.value import INTEGER_MEANING, Value
from isakit.spec.fields import Field

_DEEPEST = 120
"""Instructions one after the other that a value is followed through."""


@dataclass(frozen=True)
class Loaded:
    """The content of `size` bytes at a known address of a memory space (`s`, `c14`)."""

    space: str
    address: int
    size: int


@dataclass(frozen=True)
class LoadedPlusOffset:
    """A loaded value plus a number; None if the number is unknown."""

    base: Loaded
    offset: int | None


KnownValue = int | Loaded | LoadedPlusOffset | None

Steps = Generator["Steps", KnownValue, KnownValue]
"""A computation that yields those whose results it needs: values are followed far without recursion."""


def _run(computation: Steps) -> KnownValue:
    """Return the result of a computation."""
    waiting = [computation]
    result: KnownValue = None
    while waiting:
        try:
            waiting.append(waiting[-1].send(result))
            result = None
        except StopIteration as end:
            waiting.pop()
            result = end.value
    return result


@dataclass(frozen=True)
class Access:
    """A memory access of an instruction: `kind` is load, store or atomic, `at` the known part of its address."""

    kind: str
    space: str
    at: KnownValue
    size: int


class Values:
    """The known values of a program's registers.

    `content(space, address, size)` gives the number in a memory that never changes, None for others.
    """

    def __init__(
        self, flow: ControlFlow, content: Callable[[str, int, int], int | None] = lambda space, address, size: None
    ) -> None:
        self.flow, self.chains, self.content = flow, Chains(flow), content
        self._known: dict[tuple[int, RegisterId], KnownValue] = {}
        self._instructions = {i.address: i for b in flow.blocks for i in b.instructions}

    def before(self, address: int, place: RegisterId) -> KnownValue:
        """Return the value of a register before the instruction at an address if all paths to it agree, else None."""
        return _run(self._before(address, place, 0))

    def accesses(self, address: int) -> list[Access]:
        """Return the memory accesses of the instruction at an address, in the order of its meaning."""
        i = self._instructions[address]
        if i.form is None or i.error is not None:
            return []
        try:
            effects = trace_of(i.form, i.word).effects
        except IsakitError:
            return []
        memo: dict[int, KnownValue] = {}
        return [
            Access(e.kind, e.name, _run(self._value(e.args[0], i, memo, 0)), int(e.get("size", 0)))
            for e in effects
            if e.kind in ("load", "store", "atomic")
        ]

    def _before(self, address: int, place: RegisterId, depth: int) -> Steps:
        key = address, place
        if key in self._known:
            return self._known[key]
        if depth > _DEEPEST:
            return None
        self._known[key] = None  # what a loop says of itself is nothing
        found: set[KnownValue] = set()
        for d in self.chains.definitions(address, place):
            found.add((yield self._written(d, place, depth)))
        value = self._known[key] = found.pop() if len(found) == 1 else None
        return value

    def _written(self, address: int, place: RegisterId, depth: int) -> Steps:
        if address == START:
            return None
        i = self._instructions[address]
        if i.form is None or i.error is not None or i.guarded:
            return None
        try:
            effects = trace_of(i.form, i.word).effects
        except IsakitError:
            return None
        memo: dict[int, KnownValue] = {}
        found: list[KnownValue] = []
        for e in effects:
            if e.kind == "write" and e.name == place[0]:
                index = yield self._value(e.args[0], i, memo, depth)
                if index == place[1]:
                    file = i.decoder.isa.registers.get(place[0])
                    whole = e.when is None and file is not None and e.args[1].width == file.width
                    found.append((yield self._value(e.args[1], i, memo, depth)) if whole else None)
                elif not isinstance(index, int):
                    return None
        return found[-1] if found else None

    def _value(self, value: Value, i: Instruction, memo: dict[int, KnownValue], depth: int) -> Steps:
        if id(value) in memo:
            return memo[id(value)]
        found = memo[id(value)] = yield self._compute(value, i, memo, depth)
        return found

    def _compute(self, value: Value, i: Instruction, memo: dict[int, KnownValue], depth: int) -> Steps:
        op, attr = value.op, value.attr
        if op == "const":
            return int(attr)
        if op == "param":
            return attr.get(i.word) if isinstance(attr, Field) else None
        args: list[KnownValue] = []
        for a in value.args:
            args.append((yield self._value(a, i, memo, depth)))
        if op == "read":
            return (yield self._read(str(attr), args[0], value.width, i, depth))
        if op == "load":
            space, size = str(attr[0]), int(attr[1])
            if not isinstance(args[0], int):
                return None
            fixed = self.content(space, args[0], size)
            return Loaded(space, args[0], size) if fixed is None else fixed
        meaning = INTEGER_MEANING.get(op)
        if meaning is None:
            return None
        if all(isinstance(a, int) for a in args):
            numbers = [a for a in args if isinstance(a, int)]
            return meaning(value.width, [a.width for a in value.args], attr, numbers)
        return _sum(op, attr, args, value)

    def _read(self, file: str, index: KnownValue, width: int, i: Instruction, depth: int) -> Steps:
        known = i.decoder.isa.registers.get(file)
        if not isinstance(index, int) or known is None or width != known.width:
            return None
        if index in known.constant:
            return 0
        return (yield self._before(i.address, (file, index), depth + 1))


def _sum(op: str, attr: object, args: list[KnownValue], value: Value) -> KnownValue:
    """Return the value of adding a number to a pointer, or of changing only a value's width; None for all else."""
    if op == "zext" or (op == "extract" and attr == 0 and value.width >= 32):
        return args[0]
    if op not in ("add", "sub"):
        return None
    pointers = [a for a in args if isinstance(a, (Loaded, LoadedPlusOffset))]
    if len(pointers) != 1 or (op == "sub" and args[0] is not pointers[0]):
        return None
    (pointer,) = pointers
    base, offset = (pointer, 0) if isinstance(pointer, Loaded) else (pointer.base, pointer.offset)
    other = next(a for a in args if a is not pointer)
    if offset is None or not isinstance(other, int):
        return LoadedPlusOffset(base, None)
    total = offset + (other if op == "add" else -other) & 0xFFFFFFFF
    return LoadedPlusOffset(base, total - (1 << 32) if total >> 31 else total)
