"""Straight-line code over register files in memory, one element per lane: instructions in a row, no branches.

A function works through the lanes in vectors. Registers live in values: each one is loaded before its first use and
stored at the end if it was written. Two versions can be made, for all lanes and for those of a mask. The address of the
context is the only argument; it holds, as 64-bit numbers, the count of lanes (a multiple of `LANES`), the addresses of
the mask and of the flags of guarded pieces (bytes), and for every bank its address and the bytes from one register to
the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isakit.engine.llvm.builder import Builder, Ref
from isakit.engine.llvm.ir_text import LlvmModule
from isakit.engine.llvm.values import Native, ValueLowering
from isakit.sem.value import Value, const, on, postorder

LANES = 16
"""Lanes per vector; register rows must have room for a multiple of it."""
COUNT, MASK, FLAGS, BANKS = 0, 1, 2, 3
"""Indices into the context."""

MachineLeaf = Callable[[ValueLowering, Value], Ref]
Executing = Callable[[ValueLowering, Ref, Ref, bool], Ref]


@dataclass(frozen=True)
class VectorBank:
    """A register file: `rows` registers of 32 bits, with `bits` of a bool in a byte; `shared`: one for all lanes."""

    rows: int
    bits: bool = False
    shared: bool = False


@dataclass(frozen=True, eq=False)
class Write:
    """A write of register `index` of a file where `when` is 1. A write past the end of the file is ignored."""

    file: str
    index: int
    value: Value
    when: Value | None = None


@dataclass(frozen=True, eq=False)
class StraightLineInstruction:
    """An instruction: `rounds` of writes; the values of a round see the writes of those before it.

    `guard` is (file, index, inverted): the lanes in which the instruction executes, settled before its first round.
    """

    rounds: tuple[tuple[Write, ...], ...]
    guard: tuple[str, int, bool] | None = None


def bound(value: Value, number_of: Callable[[Any], int], done: dict[int, Value]) -> Value:
    """Return a graph with numbers substituted for its parameters, folded.

    `done` is shared by the graphs of one instruction.
    """
    for n in postorder(value, done):
        args = tuple(done[id(a)] for a in n.args)
        done[id(n)] = const(number_of(n.attr), n.width) if n.op == "param" else on(n, args)
    return done[id(value)]


class StraightLineCode:
    """Generates the function `run` for a sequence of pieces.

    `machine` lowers what only the machine knows; `executing(low, stands, predicate, inverted)` which lanes execute.
    """

    def __init__(
        self,
        pieces: Sequence[StraightLineInstruction],
        banks: Mapping[str, VectorBank],
        masked: bool,
        natives: dict[str, Native],
        machine: MachineLeaf,
        executing: Executing,
    ) -> None:
        self.pieces, self.banks, self.masked, self.natives, self._machine = pieces, banks, masked, natives, machine
        self._executing = executing
        self.module = LlvmModule(LANES)
        self._entry: list[str] = []
        self._loads: list[str] = []
        self._body = Builder(self.module)
        self._body.current = "loop"
        self._now: dict[tuple[str, int], Ref] = {}
        self._written: dict[tuple[str, int], None] = {}
        self._rows: set[tuple[str, int]] = set()
        self._flags = 0

    def text(self) -> str:
        """Return the module's IR."""
        if self.masked:
            self._loads.append(f"  %mask8 = load <{LANES} x i8>, ptr %mask_p, align 1")
            self._loads.append(f"  %mask = icmp ne <{LANES} x i8> %mask8, zeroinitializer")
        base = Ref("%mask", self.module.vector(1)) if self.masked else None
        for piece in self.pieces:
            self._piece(piece, base)
        stores = Builder(self.module, first=1_000_000)
        for key in self._written:
            self._store(stores, key)
        return self._assembled(stores)

    # --- pieces -------------------------------------------------------------------------------------------------
    def _piece(self, piece: StraightLineInstruction, base: Ref | None) -> None:
        active = base
        if piece.guard is not None:
            low = self._lowering()
            file, index, inverted = piece.guard
            holds = self._read(low, file, index, 1)
            everywhere = self.module.vector(1)(1) if base is None else base
            active = low.splat(self._executing(low, everywhere, holds, inverted))
            self._flag(active)
        for writes in piece.rounds:
            self._round(writes, active)

    def _flag(self, active: Ref) -> None:
        """Record whether any lane has executed the piece."""
        b, name = self._body, f"%flag{self._flags}"
        self._entry.append(f"  {name} = alloca i{LANES}\n  store i{LANES} 0, ptr {name}")
        before = b(f"load i{LANES}, ptr {name}")
        here = b(f"bitcast <{LANES} x i1> {active.text} to i{LANES}")
        b.do(f"store i{LANES} {b(f'or i{LANES} {before}, {here}')}, ptr {name}")
        self._flags += 1

    def _round(self, writes: Sequence[Write], active: Ref | None) -> None:
        low = self._lowering()
        settled = [(w, low.value(w.value), None if w.when is None else low.value(w.when)) for w in writes]
        for w, value, when in settled:
            bank = self.banks[w.file]
            if w.index >= bank.rows:
                continue
            if bank.shared:
                raise ValueError(f"a write of {w.file}, which all lanes share")
            value = low.splat(low.resize(value, 1 if bank.bits else 32))
            mask = active
            if when is not None:
                mask = low.splat(when) if active is None else low.op("and", active, when)
            key = w.file, w.index
            if mask is not None:
                value = low.select(mask, value, self._current(key))
            self._now[key] = value
            self._written[key] = None

    def _lowering(self) -> ValueLowering:
        def leaf(v: Value) -> Ref:
            if v.op == "read":
                return self._read(low, v.attr, v.args[0].number, v.width)
            return self._machine(low, v)

        low = ValueLowering(self._body, leaf, self.natives)
        return low

    def _read(self, low: ValueLowering, file: str, index: int, width: int) -> Ref:
        if index >= self.banks[file].rows:
            return low.constant(0, width)
        return low.resize(self._current((file, index)), width)

    # --- registers ----------------------------------------------------------------------------------------------
    def _current(self, key: tuple[str, int]) -> Ref:
        """Return the value that a register holds now."""
        if key not in self._now:
            self._now[key] = self._load(key)
        return self._now[key]

    def _row(self, key: tuple[str, int]) -> str:
        """Return the address of a register's first lane, computed before the loop."""
        name = f"%row_{key[0]}_{key[1]}"
        if key not in self._rows:
            self._rows.add(key)
            bank = list(self.banks).index(key[0])
            self._entry += [
                f"  {name}_n = mul i64 %pitch{bank}, {key[1]}",
                f"  {name} = getelementptr i8, ptr %bank{bank}, i64 {name}_n",
            ]
        return name

    def _load(self, key: tuple[str, int]) -> Ref:
        bank, row, name = self.banks[key[0]], self._row(key), f"%in_{key[0]}_{key[1]}"
        if bank.shared:
            self._entry += [
                f"  {name}_s = load i32, ptr {row}, align 4",
                f"  {name}_v = insertelement <{LANES} x i32> poison, i32 {name}_s, i64 0",
                f"  {name} = shufflevector <{LANES} x i32> {name}_v, <{LANES} x i32> poison, "
                f"<{LANES} x i32> zeroinitializer",
            ]
        elif bank.bits:
            self._loads += [
                f"  {name}_p = getelementptr i8, ptr {row}, i64 %at",
                f"  {name}_8 = load <{LANES} x i8>, ptr {name}_p, align 1",
                f"  {name} = icmp ne <{LANES} x i8> {name}_8, zeroinitializer",
            ]
        else:
            self._loads += [
                f"  {name}_p = getelementptr i32, ptr {row}, i64 %at",
                f"  {name} = load <{LANES} x i32>, ptr {name}_p, align 4",
            ]
        return Ref(name, self.module.vector(1 if bank.bits else 32))

    def _store(self, b: Builder, key: tuple[str, int]) -> None:
        value, row = self._now[key], self._row(key)
        if self.banks[key[0]].bits:
            wide = b(f"zext <{LANES} x i1> {value.text} to <{LANES} x i8>")
            place = b(f"getelementptr i8, ptr {row}, i64 %at")
            b.do(f"store <{LANES} x i8> {wide}, ptr {place}, align 1")
        else:
            place = b(f"getelementptr i32, ptr {row}, i64 %at")
            b.do(f"store <{LANES} x i32> {value.text}, ptr {place}, align 4")

    # --- the function -------------------------------------------------------------------------------------------
    def _assembled(self, stores: Builder) -> str:
        def slot(name: str, ty: str, index: int) -> list[str]:
            return [
                f"  %{name}_c = getelementptr i64, ptr %context, i64 {index}",
                f"  %{name} = load {ty}, ptr %{name}_c",
            ]

        head = [*slot("count", "i64", COUNT), *slot("mask0", "ptr", MASK), *slot("flags", "ptr", FLAGS)]
        for k in range(len(self.banks)):
            head += [*slot(f"bank{k}", "ptr", BANKS + 2 * k), *slot(f"pitch{k}", "i64", BANKS + 2 * k + 1)]
        head += ["  %at_v = alloca i64", "  store i64 0, ptr %at_v"]
        end: list[str] = []
        for k in range(self._flags):
            end += [
                f"  %seen{k} = load i{LANES}, ptr %flag{k}",
                f"  %some{k} = icmp ne i{LANES} %seen{k}, 0",
                f"  %byte{k} = zext i1 %some{k} to i8",
                f"  %place{k} = getelementptr i8, ptr %flags, i64 {k}",
                f"  store i8 %byte{k}, ptr %place{k}",
            ]
        lines = [
            f"define void @run(ptr %context) {self.module.attributes} {{",
            *head,
            *self._entry,
            "  br label %loop",
            "loop:",
            "  %at = load i64, ptr %at_v",
            "  %mask_p = getelementptr i8, ptr %mask0, i64 %at",
            *self._loads,
            *self._body.lines,
            *stores.lines,
            f"  %next = add i64 %at, {LANES}",
            "  store i64 %next, ptr %at_v",
            "  %more = icmp ult i64 %next, %count",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *end,
            "  ret void",
            "}",
        ]
        self.module.add("\n".join(lines))
        return str(self.module)
