"""Differences of two programs: operands that only moved, and operands that changed.

A register has *moved* if it holds the same value as the old one: the instructions that may have written it are the
partners of those that wrote the old register. A code address has moved if it is that of the old target's partner, a
memory location if it has the same name (a variable's address in c14[], a parameter) or the same fixed content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, TypeVar

from isakit.analysis.align import Row, align
from isakit.analysis.chains import START, Chains
from isakit.analysis.control_flow import control_flow
from isakit.analysis.names import KernelNames
from isakit.analysis.shapes import InstructionShape, shape_of
from isakit.asm import Program
from isakit.codec import Instruction, Register
from isakit.description import Kernel
from isakit.errors import IsakitError
from isakit.lean import cached_property, dataclass
from isakit.results import record

K = TypeVar("K")


class Change(StrEnum):
    """The fate of an instruction."""

    SAME = "same"
    """Nothing: the text is the same."""
    MOVED = "moved"
    """Other registers, addresses or encoding, the same values."""
    CHANGED = "changed"
    """The same operation with other operands."""
    REMOVED = "removed"
    """Only the first program has it."""
    ADDED = "added"
    """Only the second program has it."""


@dataclass(frozen=True)
class DiffRow:
    """An instruction of the first program, its partner in the second, and why they differ, one text per reason."""

    change: Change
    a: Instruction | None
    b: Instruction | None
    why: tuple[str, ...] = ()


@record
class PlacedText:
    """An instruction by its byte address."""

    address: int
    text: str


@record
class DiffRowRecord:
    """A `DiffRow` for JSON."""

    change: Change
    a: PlacedText | None
    b: PlacedText | None
    why: list[str]


@record
class DifferentFact:
    """Something that the files say of a kernel, and the value in each."""

    what: str
    a: object
    b: object


@record
class ProgramDiffRecord:
    """A `ProgramDiff` for JSON."""

    a: str
    b: str
    equal: bool
    identical: bool
    counts: dict[str, int]
    facts: list[DifferentFact]
    rows: list[DiffRowRecord]


@record
class FileDiffRecord:
    """The differences of the kernels of two files, and the names of those that only one of them has."""

    schema: str
    a: str
    b: str
    equal: bool
    identical: bool
    kernels: list[ProgramDiffRecord]
    removed: list[str]
    added: list[str]


@dataclass
class ProgramDiff:
    """Differences of two programs.

    Attributes:
        name_a, name_b: the names of the programs.
        rows: all instructions of both, aligned.
        facts: differences of the kernels' attributes in the files, as (attribute, value in a, value in b).
    """

    name_a: str
    name_b: str
    rows: list[DiffRow]
    facts: list[tuple[str, object, object]] = field(default_factory=list[tuple[str, object, object]])

    @cached_property
    def counts(self) -> dict[Change, int]:
        """The number of rows of each kind."""
        found = Counter(r.change for r in self.rows)
        return {c: found[c] for c in Change}

    @property
    def equal(self) -> bool:
        """True if nothing differs but registers, addresses and encodings."""
        return not self.facts and all(self.counts[c] == 0 for c in (Change.CHANGED, Change.REMOVED, Change.ADDED))

    @property
    def identical(self) -> bool:
        """True if nothing differs at all."""
        return self.equal and not self.counts[Change.MOVED]

    def record(self) -> ProgramDiffRecord:
        """Return the differences as a record, without the unchanged rows."""

        def side(i: Instruction | None) -> PlacedText | None:
            return None if i is None else PlacedText(i.address, i.text)

        rows = [DiffRowRecord(r.change, side(r.a), side(r.b), list(r.why)) for r in self.rows]
        return ProgramDiffRecord(
            self.name_a,
            self.name_b,
            self.equal,
            self.identical,
            {c.value: n for c, n in self.counts.items()},
            [DifferentFact(*fact) for fact in self.facts],
            [r for r in rows if r.change is not Change.SAME],
        )


def diff_programs(a: Program, b: Program, name_a: str = "a", name_b: str = "b") -> ProgramDiff:
    """Compare two programs of one instruction set; return their differences.

    For kernels of files, the attributes in the files are compared too. Raises IsakitError for two instruction sets.
    """
    if a.isa != b.isa:
        raise IsakitError(f"{name_a} is {a.isa} code, {name_b} {b.isa} code")
    shapes = [shape_of(i) for i in a], [shape_of(i) for i in b]
    rows = align(a.instructions, shapes[0], b.instructions, shapes[1])
    judged = list(_PairComparer(a, b, shapes, rows).rows())
    facts = list(_facts(a.kernel, b.kernel)) if a.kernel is not None and b.kernel is not None else []
    if a.tail != b.tail:
        facts.append(("bytes at the end", a.tail.hex(), b.tail.hex()))
    return ProgramDiff(name_a, name_b, judged, facts)


def _facts(a: Kernel, b: Kernel) -> Iterator[tuple[str, Any, Any]]:
    for what, name in (
        ("registers", "registers"), ("shared bytes", "shared_bytes"), ("local bytes", "local_bytes"),
        ("barriers", "barriers"), ("entry point", "entry"),
    ):  # fmt: skip
        one, two = getattr(a, name), getattr(b, name)
        if one != two:
            yield what, one, two
    one, two = ([f"{p.kind or f'b{8 * p.size}'} {p.name} at {p.offset:#x}" for p in k.params] for k in (a, b))
    if one != two:
        yield "parameters", one, two
    for bank in sorted({*a.constants, *b.constants}):
        first, second = a.constant_bytes(bank), b.constant_bytes(bank)
        if first != second:
            yield f"constants c{bank}", first.hex(), second.hex()
    one, two = ({s.name: s.unit for s in k.samplers} for k in (a, b))
    if one != two:
        yield "textures", one, two


class _Side:
    """One of the two programs, and facts about it that are computed on demand."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.place = {i.address: k for k, i in enumerate(program)}

    @cached_property
    def names(self) -> KernelNames | None:
        kernel = self.program.kernel
        return KernelNames(kernel) if kernel is not None else None

    @cached_property
    def chains(self) -> Chains:
        return self.names.values.chains if self.names is not None else Chains(control_flow(self.program))

    def origins(self, i: Instruction, register: Register) -> list[tuple[int, frozenset[int]]] | None:
        """Return for each register read (its index or START's place, numbers of the instructions that may write it).

        None if the instruction is in no block.
        """
        out: list[tuple[int, frozenset[int]]] = []
        try:
            for place in i.places([register]):
                found = self.chains.definitions(i.address, place)
                written = frozenset(self.place[d] for d in found if d != START)
                out.append((place[1] if START in found else -1, written))
        except KeyError:
            return None
        return out


class _PairComparer:
    """Decides for each pair of instructions whether it is unchanged, moved or changed."""

    def __init__(
        self, a: Program, b: Program, shapes: tuple[list[InstructionShape], list[InstructionShape]], rows: Sequence[Row]
    ) -> None:
        self.a, self.b, self.shapes, self.pairs = _Side(a), _Side(b), shapes, rows
        self.partner: dict[int, int] = {x: y for x, y in rows if x is not None and y is not None}
        handed = a.decoder.isa.results
        self.handed = handed.get(a.program_type, frozenset[str]()) | handed.get(b.program_type, frozenset[str]())

    def rows(self) -> Iterator[DiffRow]:
        for x, y in self.pairs:
            a = None if x is None else self.a.program[x]
            b = None if y is None else self.b.program[y]
            if a is None or b is None or x is None or y is None:
                yield DiffRow(Change.ADDED if a is None else Change.REMOVED, a, b)
                continue
            yield DiffRow(*self._pair(a, b, self.shapes[0][x], self.shapes[1][y]))

    def _pair(
        self, a: Instruction, b: Instruction, one: InstructionShape, two: InstructionShape
    ) -> tuple[Change, Instruction, Instruction, tuple[str, ...]]:
        if a.words == b.words and one.address is None:
            return Change.SAME, a, b, ()
        if one.frame != two.frame:
            return Change.CHANGED, a, b, ("other operands",)
        moved: dict[str, None] = {}
        real: dict[str, None] = {}
        for what, same in (*self._registers(a, b), *self._numbers(a, b, one, two), *self._address(one, two)):
            (moved if same else real)[what] = None
        if real:
            return Change.CHANGED, a, b, tuple(real)
        if not moved and a.words != b.words and (a.text != b.text or one.address is None):
            moved["encoding"] = None
        return Change.MOVED if moved else Change.SAME, a, b, tuple(moved)

    def _registers(self, a: Instruction, b: Instruction) -> Iterator[tuple[str, bool]]:
        (reads_a, writes_a), (reads_b, writes_b) = a.accesses, b.accesses
        for one, two in zip(reads_a, reads_b, strict=False):
            if one.key != two.key:
                yield f"{one.plain} is {two.plain}", self._same_value(a, one, b, two)
        for one, two in zip(writes_a, writes_b, strict=False):
            if one.key != two.key:
                yield f"{one.plain} is {two.plain}", one.file not in self.handed
        if (len(reads_a), len(writes_a)) != (len(reads_b), len(writes_b)):
            yield "other registers", False

    def _same_value(self, a: Instruction, one: Register, b: Instruction, two: Register) -> bool:
        if one.half != two.half:
            return False
        first, second = self.a.origins(a, one), self.b.origins(b, two)
        if first is None or second is None:
            return True
        mapped = [(start, frozenset(self.partner.get(k, -1) for k in written)) for start, written in first]
        return mapped == second

    def _numbers(
        self, a: Instruction, b: Instruction, one: InstructionShape, two: InstructionShape
    ) -> Iterator[tuple[str, bool]]:
        for (space, x), (_, y) in zip(one.numbers, two.numbers, strict=True):
            if x != y:
                where = (f"{space}[{n:#x}]" if space else f"{n:#x}" for n in (x, y))
                yield " is ".join(where), bool(space) and self._same_place(a, b)

    def _same_place(self, a: Instruction, b: Instruction) -> bool:
        """Return true if all accesses of two instructions are to memory of the same name or fixed content."""
        left, right = self.a.names, self.b.names
        if left is None or right is None:
            return False
        try:
            ours, theirs = left.values.accesses(a.address), right.values.accesses(b.address)
        except KeyError:
            return False
        if not ours or len(ours) != len(theirs):
            return False
        for x, y in zip(ours, theirs, strict=True):
            if x.at == y.at and x.space == y.space:
                continue
            names = left.access(x), right.access(y)
            if names[0] and names[0] == names[1]:
                continue
            if not (isinstance(x.at, int) and isinstance(y.at, int)):
                return False
            content = left.values.content(x.space, x.at, x.size), right.values.content(y.space, y.at, y.size)
            if content[0] is None or content[0] != content[1]:
                return False
        return True

    def _address(self, one: InstructionShape, two: InstructionShape) -> Iterator[tuple[str, bool]]:
        if one.address is None or two.address is None:
            return
        from isakit.asm.printer import address_scale

        scale = address_scale(self.a.program.decoder)
        x, y = self.a.place.get(one.address * scale), self.b.place.get(two.address * scale)
        if x is None or y is None:
            if one.address != two.address:
                yield f"{one.address:#x} is {two.address:#x}", False
        elif self.partner.get(x) != y:
            yield f"goes to {two.address:#x}, not to what was at {one.address:#x}", False
        elif one.address != two.address:
            yield f"{one.address:#x} is {two.address:#x}", True


# --- files ------------------------------------------------------------------------------------------------------------

_ALIKE = 0.3
"""Share of common instruction sequences from which two kernels of different names are taken for versions of one."""


@dataclass
class FileDiff:
    """Differences of two files: pairs of kernels, and those that only one has, as (name, program)."""

    pairs: list[ProgramDiff]
    removed: list[tuple[str, Program]]
    added: list[tuple[str, Program]]

    @property
    def equal(self) -> bool:
        """True if nothing differs but registers, addresses and encodings."""
        return not self.removed and not self.added and all(p.equal for p in self.pairs)

    @property
    def identical(self) -> bool:
        """True if nothing differs at all."""
        return self.equal and all(p.identical for p in self.pairs)


def diff_kernels(a: Sequence[tuple[str, Program]], b: Sequence[tuple[str, Program]]) -> FileDiff:
    """Compare named programs: pairs of equal names first, then those with the most similar code.

    If a name occurs several times, programs of the same variant are paired, the others in order.
    """
    left, right = dict(enumerate(a)), dict(enumerate(b))
    found: dict[int, int] = {}

    def take(x: int, y: int) -> None:
        found[x] = y
        del left[x], right[y]

    for exact in (True, False):
        waiting: dict[tuple[str, ...], list[int]] = {}
        for y, (name, p) in right.items():
            waiting.setdefault(_names(name, p, exact), []).append(y)
        for x, (name, p) in list(left.items()):
            same = waiting.get(_names(name, p, exact))
            if same:
                take(x, same.pop(0))
    sketches = {("a", x): _sequences(p) for x, (_, p) in left.items()}
    sketches |= {("b", y): _sequences(p) for y, (_, p) in right.items()}
    scored = [
        (-alike(sketches["a", x], sketches["b", y]), x, y)
        for x, (_, p) in left.items() for y, (_, q) in right.items() if p.isa == q.isa
    ]  # fmt: skip
    for score, x, y in sorted(scored):
        if -score >= _ALIKE and x in left and y in right:
            take(x, y)
    pairs = [diff_programs(a[x][1], b[y][1], a[x][0], b[y][0]) for x, y in sorted(found.items())]
    return FileDiff(pairs, [*left.values()], [*right.values()])


def _names(name: str, program: Program, exact: bool) -> tuple[str, ...]:
    """Return the key by which programs are matched: name, variant and program type if `exact`, else the name."""
    return (name, program.variant, program.program_type) if exact else (name,)


def _sequences(program: Program) -> Counter[tuple[str, ...]]:
    """Count the occurrences of each run of three operations."""
    names = ["", "", *(i.mnemonic for i in program), "", ""]
    return Counter(tuple(names[k : k + 3]) for k in range(len(names) - 2))


def alike(a: Mapping[K, int], b: Mapping[K, int]) -> float:
    """Return the weighted Jaccard similarity of two collections: 1 for equal ones, 0 for nothing in common."""
    keys = {*a, *b}
    if not keys:
        return 1.0
    common = sum(min(a.get(k, 0), b.get(k, 0)) for k in keys)
    return common / sum(max(a.get(k, 0), b.get(k, 0)) for k in keys)
