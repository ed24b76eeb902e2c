"""Compiled code for straight-line runs of shaders.

A run is a sequence of instructions that only compute, lane by lane: it ends before branches, samples, memory accesses,
registers selected by an index register, and anything that is not modelled; those stay with the machine. A run is one
function of machine code, compiled when enough invocations have reached it, and cached on disk.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from isakit.arch.usse.arithmetic import Rules, using
from isakit.engine.llvm import (
    Host,
    LoadedCode,
    Ref,
    StraightLineCode,
    StraightLineInstruction,
    ValueLowering,
    VectorBank,
    Write,
    bound,
    ieee_natives,
    object_code,
    read_object,
    rsqrt_f32,
    write_object,
)
from isakit.engine.llvm.fingerprint import fingerprint
from isakit.engine.llvm.routine_ir import expression
from isakit.engine.llvm.straight import LANES
from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.forks import in_child
from isakit.lean import cached_property
from isakit.machine.usse import rules
from isakit.machine.usse.shader_code import Increments, ShaderCode, ShaderStep
from isakit.machine.usse.shader_machine import Machine, neighbour_of, target_of
from isakit.sem.semantics import traced
from isakit.sem.trace import Trace
from isakit.sem.value import Value, postorder
from isakit.spec import Form, Status

LONGEST = 64
"""Largest number of instructions of a run, repetitions included, unless a single one has more: LLVM's time grows
faster than their number."""
FILES = ("r", "o", "pa", "sa", "i", "idx", "g", "p")
Function = Callable[[int], None]
_traces: dict[tuple[Form, int, Rules], Trace] = {}


@dataclass(frozen=True)
class ShaderFacts:
    """Properties that are compiled into the code besides the instructions.

    `rows`: registers of every file; `shared`: all lanes share one copy of sa; `quads`: no instruction reads
    lanes of its quad that do not exist.
    """

    rows: tuple[tuple[str, int], ...]
    shared: bool
    quads: bool

    def banks(self) -> dict[str, VectorBank]:
        """Return the register files as the engine takes them."""
        return {n: VectorBank(rows, bits=n == "p", shared=self.shared and n == "sa") for n, rows in self.rows}


@dataclass(eq=False)
class CompiledRun:
    """Instructions `first` to `end` (exclusive) that compile.

    `guarded`: those that may be executed by some lanes only.
    """

    steps: list[ShaderStep]
    first: int
    increments: Increments
    facts: ShaderFacts
    pieces: list[StraightLineInstruction]
    target: Host
    _functions: dict[bool, Function | None] = field(default_factory=dict[bool, "Function | None"])

    @property
    def end(self) -> int:
        """The instruction after the run."""
        return self.first + len(self.steps)

    @cached_property
    def guarded(self) -> list[int]:
        """Positions of instructions with a predicate."""
        return [k for k, p in enumerate(self.pieces) if p.guard is not None]

    @cached_property
    def noted(self) -> list[tuple[int, ShaderStep]]:
        """(position, instruction) of the instructions with an inferred meaning."""
        return [(k, s) for k, s in enumerate(self.steps) if s.status is not Status.KNOWN]

    def function(self, masked: bool, compile: bool) -> Function | None:
        """Return the function for all lanes or for some: from memory, from disk or, if `compile`, made now."""
        found = self._functions.get(masked)
        if found is None:
            found = self._functions[masked] = _function(self, masked, compile)
        return found

    def key(self, masked: bool) -> str:
        """Return a key that identifies the code on disk."""
        view = self.steps[0].instruction.decoder.view
        words = " ".join(f"{s.word:x}" for s in self.steps)
        made_from = fingerprint("usse"), self.target.key, view.variant.name, view.program, words
        return "\0".join(map(str, (*made_from, self.steps[0].rules, self.increments, self.facts, masked)))


def _function(stretch: CompiledRun, masked: bool, compile: bool) -> Function | None:
    key = hashlib.sha256(stretch.key(masked).encode()).hexdigest()
    data = read_object("shaders", key)
    if data is None:
        if not compile:
            return None
        natives = ieee_natives(stretch.target) | {"rsqrt_f32": rsqrt_f32}
        straight = StraightLineCode(stretch.pieces, stretch.facts.banks(), masked, natives, _neighbour, _executing)
        data = object_code(straight.text(), stretch.target, keep=False)
        write_object("shaders", key, data)
    loaded = LoadedCode(data, stretch.target)
    entry = loaded.function("run", None, ctypes.c_void_p)

    def run(context: int) -> None:
        entry(context)

    run.__dict__["keep"] = loaded
    return run


def _executing(low: ValueLowering, stands: Ref, predicate: Ref, inverted: bool) -> Ref:
    """Return the lanes that execute an instruction."""
    return expression(low, rules.executes, {"stands": stands, "predicate": predicate}, inverted=inverted)


def _neighbour(low: ValueLowering, v: Value) -> Ref:
    """Return the value of a neighbour in the quad."""
    attrs: dict[str, int] = dict(v.attr[1])
    value = low.splat(low.value(v.args[0]))
    return low.body.shuffle(value, [neighbour_of(j, attrs) for j in range(low.module.lanes)])


class CompiledRuns:
    """The runs of a program on a target, found when they are first reached."""

    def __init__(self, code: ShaderCode, target: Host) -> None:
        self.code, self.target = code, target
        self.lanes = 0
        self._found: dict[tuple[int, Increments, ShaderFacts], CompiledRun | None] = {}
        self._pieces: dict[tuple[int, Increments, ShaderFacts], StraightLineInstruction | None] = {}

    def at(self, pc: int, increments: Increments, facts: ShaderFacts) -> CompiledRun | None:
        """Return the run that begins with instruction `pc`, None if there is none."""
        key = pc, increments, facts
        if key not in self._found:
            self._found[key] = self._find(pc, increments, facts)
        return self._found[key]

    def _find(self, pc: int, increments: Increments, facts: ShaderFacts) -> CompiledRun | None:
        steps: list[ShaderStep] = []
        pieces: list[StraightLineInstruction] = []
        rounds = 0
        for k in range(pc, len(self.code)):
            step = self.code.steps[k]
            if step is None or (k > pc and k in self._targets):
                break
            key = k, increments, facts
            if key not in self._pieces:
                self._pieces[key] = _piece(step, increments, facts)
            piece = self._pieces[key]
            rounds += 0 if piece is None else max(1, len(piece.rounds))
            if piece is None or (pieces and rounds > LONGEST):
                break
            steps.append(step)
            pieces.append(piece)
        if not any(p.rounds for p in pieces):
            return None
        return CompiledRun(steps, pc, increments, facts, pieces, self.target)

    @cached_property
    def quads(self) -> bool:
        """True if any instruction reads values of its neighbours in a quad."""
        return any(step is not None and _looks_around(step) for step in self.code.steps)

    @cached_property
    def _targets(self) -> set[int]:
        """The numbers of the instructions that branches may lead to, as far as the words say."""
        out: set[int] = set()
        for k, step in enumerate(self.code.steps):
            if step is None or step.name not in ("br", "bra"):
                continue
            for e in _trace(step, step.word).of_kind("control"):
                offset = _number(e.args[0], step.word)
                if offset is not None:
                    out.add(target_of(k, offset, relative=e.name == "branch"))
        return out


def _number(value: Value, word: int) -> int | None:
    got = bound(value, lambda field: field.get(word), {})
    return got.attr if got.op == "const" else None


def _looks_around(step: ShaderStep) -> bool:
    try:
        effects = _trace(step, step.word).effects
    except (NotModelled, KeyError):
        return False
    nodes = (n for e in effects for v in e.args for n in postorder(v, set()))
    return any(n.op == "machine" and n.attr[0] == "quad" for n in nodes)


def _trace(step: ShaderStep, word: int) -> Trace:
    key = step.form, step.form.static_word(word), step.rules
    if key not in _traces:
        with using(step.rules):
            _traces[key] = traced(step.form, word)
    return _traces[key]


def _piece(step: ShaderStep, increments: Increments, facts: ShaderFacts) -> StraightLineInstruction | None:
    """Return the writes of an instruction in all repetitions; None if it has other effects."""
    if step.status is Status.UNKNOWN or step.pred == "Pn":
        return None
    rounds: list[tuple[Write, ...]] = []
    try:
        for i in range(step.repeats):
            writes = list(_writes(step, i, increments, facts))
            if None in writes:
                return None
            if writes:
                rounds.append(tuple(w for w in writes if w is not None))
    except (NotModelled, KeyError):  # the machine says so when it gets there
        return None
    guard = None
    if isinstance(step.pred, tuple):
        guard = "p", int(step.pred[0]), bool(step.pred[1])
    return StraightLineInstruction(tuple(rounds), guard)


def _writes(step: ShaderStep, i: int, increments: Increments, facts: ShaderFacts) -> Iterator[Write | None]:
    """Yield the writes of a repetition; None for any other effect."""
    binding = step.binding(i, increments)
    done: dict[int, Value] = {}
    for e in _trace(step, binding.word).effects:
        if e.kind != "write" or (e.name == "sa" and facts.shared):
            yield None
            return
        graphs = [bound(v, binding.of, done) for v in e.inputs]
        plain = all(_lane_by_lane(n, facts) for v in graphs for n in postorder(v, set()))
        if graphs[0].op != "const" or not plain:
            yield None
            return
        yield Write(e.name, graphs[0].number, graphs[1], graphs[2] if e.when is not None else None)


def _lane_by_lane(n: Value, facts: ShaderFacts) -> bool:
    """Return whether a node only needs its own lane, or its quad if quads are complete."""
    if n.op == "read":
        return n.args[0].op == "const"
    if n.op == "machine":
        return n.attr[0] == "quad" and facts.quads
    return n.op not in ("load", "atomic", "half", "param")


_known: dict[object, CompiledRuns] = {}
_lock = threading.Lock()
KEPT = 64
"""Number of programs whose runs are kept."""


@in_child
def _in_child() -> None:
    """Recreate the lock in a forked process, where the thread that held it does not exist."""
    global _lock
    _lock = threading.Lock()


def stretches_of(code: ShaderCode, target: Host) -> CompiledRuns:
    """Return the runs of a program; equal programs share them."""
    key = tuple(None if s is None else (s.form, s.word) for s in code.steps), code.rules, target
    with _lock:
        found = _known.pop(key, None) or CompiledRuns(code, target)
        _known[key] = found  # the latest is the last to go
        while len(_known) > KEPT:
            del _known[next(iter(_known))]
    return found


class Runner:
    """Runs compiled code on a machine's registers. `compile`: compile runs that are missing."""

    def __init__(self, machine: Machine, stretches: CompiledRuns, compile: bool) -> None:
        self.machine, self.stretches, self.compile = machine, stretches, compile
        self._mask = np.zeros(machine.pitch, bool)
        self._flags = np.zeros(LONGEST, np.uint8)
        self._facts: dict[bool, ShaderFacts] = {}
        self._contexts: dict[bool, Array] = {}
        self._partial = machine.lanes % LANES != 0

    def advance(self, pc: int, mask: Array | None, join: int, budget: int) -> int:
        """Execute the run that begins at `pc` in the lanes of `mask`; return its number of instructions, 0 for none.

        Nothing is executed if the run extends beyond `join` or is longer than `budget`.
        """
        machine = self.machine
        shared = machine.files["sa"].strides[1] == 0
        if shared not in self._facts:
            self._prepare(shared)
        stretch = self.stretches.at(pc, machine.increments, self._facts[shared])
        if stretch is None or stretch.end > join or len(stretch.steps) > budget:
            return 0
        # What is computed past the last lane does no harm, but it must not count as executed.
        masked = mask is not None or (self._partial and bool(stretch.guarded))
        function = stretch.function(masked, self.compile)
        if function is None:
            return 0
        if masked:
            self._mask[: machine.lanes] = True if mask is None else mask
        function(self._contexts[shared].ctypes.data)
        left_out = {k for n, k in enumerate(stretch.guarded) if not self._flags[n]}
        for k, step in stretch.noted:
            if k not in left_out:
                machine.note(step)
        machine.executed += len(stretch.steps) - len(left_out)
        return len(stretch.steps)

    def _prepare(self, shared: bool) -> None:
        """Prepare properties and context for shared or separate copies of sa."""
        m = self.machine
        files = {name: m.files[name] for name in FILES}
        rows = tuple((name, len(a)) for name, a in files.items())
        self._facts[shared] = ShaderFacts(rows, shared, m.lanes % 4 == 0 or not self.stretches.quads)
        numbers = [-(-m.lanes // LANES) * LANES, self._mask.ctypes.data, self._flags.ctypes.data]
        for a in files.values():
            numbers += [a.ctypes.data, a.strides[0]]
        self._contexts[shared] = np.array(numbers, np.int64)
