"""The comparison of two programs on the same inputs: whether results agree, and where they first differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from isakit.asm import Program
from isakit.codec import Instruction
from isakit.engine.protocol import Array

CONTEXT = 3
"""Instructions shown around the one at which values first differ."""


@dataclass(frozen=True)
class Difference:
    """A result that differs: its name, the number of differing values, and the first of them."""

    name: str
    count: int
    total: int
    index: tuple[int, ...]
    values: tuple[object, object]

    def __str__(self) -> str:
        at = ", ".join(map(str, self.index))
        a, b = self.values
        return f"{self.name}: {self.count} of {self.total} values differ, first at [{at}]: {a} and {b}"


ShownValue = int | float | str
"""A register's value: a number, or a text with the bits and the f32 value."""


@dataclass(frozen=True)
class FirstDifference:
    """The first difference between two executions.

    `program` is the program's name, `pcs` the numbers of the instructions (None: that program has ended), `registers`
    the values that differ after them: (register, value in the first, value in the second).
    """

    program: str
    programs: tuple[Program, Program]
    pcs: tuple[int | None, int | None]
    registers: tuple[tuple[str, ShownValue, ShownValue], ...] = ()
    why: str = ""

    @property
    def instructions(self) -> tuple[Instruction | None, Instruction | None]:
        """The two instructions."""
        a, b = (None if pc is None else p[pc] for p, pc in zip(self.programs, self.pcs, strict=True))
        return a, b

    def lines(self) -> Iterator[str]:
        """Yield both listings around the instruction."""
        for n, (program, pc) in enumerate(zip(self.programs, self.pcs, strict=True)):
            yield f"{'first' if n == 0 else 'second'}, {self.program} program:"
            if pc is None:
                yield "    (it has ended)"
                continue
            for k in range(max(0, pc - CONTEXT), min(len(program), pc + CONTEXT + 1)):
                i = program[k]
                yield f"{'=>' if k == pc else '  '} {i.address:#06x}  {i.text}"
        if self.why:
            yield self.why
        for name, a, b in self.registers[:8]:
            yield f"    {name}: {a} and {b}"


@dataclass
class Comparison:
    """The result of a comparison. It is true if everything agrees.

    `results` are the names of the compared results, `differences` those that differ, `parting` the first difference of
    the executions. `largest` is the largest distance of two f32 values in units in the last place, or in steps of the
    format of a result.
    """

    results: tuple[str, ...] = ()
    differences: list[Difference] = field(default_factory=list[Difference])
    parting: FirstDifference | None = None
    largest: int = 0

    def __bool__(self) -> bool:
        return not self.differences


def distance(a: Array, b: Array) -> Array:
    """Return the distance of values as int64: of f32 in units in the last place (NaNs are equal), of others 0 or 1."""
    if a.dtype == np.float32 and b.dtype == np.float32:
        x, y = _ordered(a), _ordered(b)
        out = np.abs(x - y)
        nan = np.isnan(a) | np.isnan(b)
        return np.where(nan, np.where(np.isnan(a) & np.isnan(b), 0, np.int64(1) << 32), out)
    same = a == b
    if a.dtype.kind == "f":
        same = same | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0, 1).astype(np.int64)


def _ordered(a: Array) -> Array:
    """Return the bits of f32 as integers ordered like the numbers; both zeros are 0."""
    bits = np.ascontiguousarray(a).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def distance_in_steps(a: Array, b: Array, of: str) -> Array:
    """Return the distance of f32 values in steps of the format they are rounded to: f16, or u8 (0 to 1)."""
    if of == "u8":
        x, y = (np.rint(np.clip(np.nan_to_num(v), 0, 1) * 255).astype(np.int64) for v in (a, b))
        return np.abs(x - y)
    with np.errstate(over="ignore"):
        halves = [v.astype(np.float16) for v in (a, b)]
    bits = [np.ascontiguousarray(v).view(np.int16).astype(np.int64) for v in halves]
    x, y = (np.where(v < 0, -(v & 0x7FFF), v) for v in bits)
    nan = [np.isnan(v) for v in halves]
    return np.where(nan[0] | nan[1], np.where(nan[0] & nan[1], 0, np.int64(1) << 16), np.abs(x - y))


def differences(
    a: dict[str, Array], b: dict[str, Array], ulps: int, steps: Mapping[str, str] | None = None
) -> tuple[list[Difference], int]:
    """Return the results that differ by more than `ulps`, and the largest distance of f32 values.

    `steps` maps results in a coarser format than f32 to that format, whose steps are then counted. With `ulps` 0
    nothing is rounded: values that differ by less than a step are a difference, of 0 steps.
    """
    out: list[Difference] = []
    largest = 0
    for name in dict.fromkeys([*a, *b]):
        one = next(d[name] for d in (a, b) if name in d)
        # A program that never discards or writes no depth has no such result.
        x, y = (d.get(name, np.zeros_like(one)) for d in (a, b))
        if x.shape != y.shape:
            out.append(Difference(name, x.size, x.size, (), (f"shape {x.shape}", f"shape {y.shape}")))
            continue
        far = distance(x, y)
        bad = far > (ulps if x.dtype == np.float32 else 0)
        if steps and name in steps and x.dtype == np.float32:
            far = distance_in_steps(x, y, steps[name])
            bad = bad & (far > ulps) if ulps else bad
        if x.dtype == np.float32 and far.size:
            largest = max(largest, int(far.max()))
        if bad.any():
            at = tuple(int(n) for n in np.argwhere(bad)[0])
            out.append(Difference(name, int(bad.sum()), bad.size, at, (x[at].item(), y[at].item())))
    return out, largest


# --- executions side by side -----------------------------------------------------------------------------------------
State = dict[str, Array]
Steps = Iterator[tuple[int, Array | None]]


def changed(a: State, b: State) -> dict[tuple[str, int], tuple[int | float, int | float]]:
    """Return the registers (file, number) that differ, with the values of the first lane in which they do."""
    out: dict[tuple[str, int], tuple[int | float, int | float]] = {}
    for name in a.keys() & b.keys():
        n = min(len(a[name]), len(b[name]))
        if not n:
            continue
        x, y = a[name][:n], b[name][:n]
        for row in np.flatnonzero((x != y).reshape(n, -1).any(1)):
            lane = int(np.flatnonzero(x[row] != y[row])[0])
            out[name, int(row)] = x[row][lane].item(), y[row][lane].item()
    return out


def side_by_side(
    name: str, programs: tuple[Program, Program], steps: tuple[Steps, Steps], states: Sequence[Callable[[], State]]
) -> FirstDifference | None:
    """Run two executions side by side and return their first difference, None if there is none.

    `steps` yield the number of the next instruction and an array that identifies who executes it, or None, before it is
    executed; `states` are functions that return the current registers. Programs of the same length are compared
    instruction by instruction and register by register; others by the sequence of values they compute, whatever the
    registers are called.
    """
    if len(programs[0]) != len(programs[1]):
        return _by_values(name, programs, steps, states)
    known = set(changed(states[0](), states[1]()))
    before: tuple[int | None, int | None] = (None, None)
    while True:
        a, b = next(steps[0], None), next(steps[1], None)
        found = changed(states[0](), states[1]())
        new = {k: v for k, v in found.items() if k not in known}
        if new and before != (None, None):
            return FirstDifference(name, programs, before, _named(new))
        known = set(found)
        if a is None and b is None:
            return None
        if a is None or b is None or a[0] != b[0] or not np.array_equal(_lanes(a[1]), _lanes(b[1])):
            why = "from here on they execute different instructions"
            return FirstDifference(name, programs, before if before != (None, None) else (0, 0), (), why)
        before = a[0], b[0]


def _lanes(mask: Array | None) -> Array:
    return np.zeros(0, bool) if mask is None else mask


def _named(
    found: dict[tuple[str, int], tuple[int | float, int | float]],
) -> tuple[tuple[str, ShownValue, ShownValue], ...]:
    """Return registers with their values, those of f32 also as numbers."""
    out: list[tuple[str, ShownValue, ShownValue]] = []
    for (file, number), (a, b) in sorted(found.items()):
        if file in ("killed", "later", "p") or "byte" in file:
            file = "" if file == "later" else file
            out.append((f"{file}{number}" if file else "waits at instruction", a, b))
            continue
        name = f"{file}{number}"
        if file == "i":
            name = f"i{number // 4}.{'xyzw'[number % 4]}"
        out.append((name, _shown(a), _shown(b)))
    return tuple(out)


def _shown(value: int | float) -> ShownValue:
    if isinstance(value, int) and not isinstance(value, bool):
        real = np.array(value & 0xFFFFFFFF, np.uint32).view(np.float32)
        return f"{value & 0xFFFFFFFF:#010x} ({real:g})"
    return value


def _by_values(
    name: str, programs: tuple[Program, Program], steps: tuple[Steps, Steps], states: Sequence[Callable[[], State]]
) -> FirstDifference | None:
    """Return the first difference in the sequences of computed values."""
    a, b = (_trace(s, state) for s, state in zip(steps, states, strict=True))
    at = 0
    while at < len(a) and at < len(b) and a[at][1] == b[at][1]:
        at += 1
    if at == len(a) == len(b):
        return None
    pcs = (a[at][0] if at < len(a) else None, b[at][0] if at < len(b) else None)
    return FirstDifference(name, programs, pcs, (), "here they compute different values")


def _trace(steps: Steps, state: Callable[[], State]) -> list[tuple[int, bytes]]:
    """Return (instruction, changed values in the order of registers) for every instruction that changed any."""
    out: list[tuple[int, bytes]] = []
    before, last = state(), -1
    for pc, _ in steps:
        now = state()
        _add(out, last, before, now)
        before, last = now, pc
    _add(out, last, before, state())
    return out


def _add(out: list[tuple[int, bytes]], pc: int, before: State, now: State) -> None:
    values = b"".join(v[(v != before[n]).reshape(len(v), -1).any(1)].tobytes() for n, v in now.items() if len(v))
    if values and pc >= 0:
        out.append((pc, values))
