"""The interpreter: a loop over predecoded instructions, and the library of functions they call.

A kernel is an array of records, one per 32-bit unit of its code (`handlers` has the layout); a record holds the
addresses of the functions that execute the instruction, and its numbers. Functions are compiled when first needed, in
batches that are cached on disk, so that a kernel of instructions seen before starts at once.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import numpy as np

from isakit.engine.llvm import (
    METADATA,
    Host,
    LlvmModule,
    LoadedCode,
    known_object_code,
    object_code,
    provide,
    read_object,
    write_object,
)
from isakit.engine.llvm.exclusive import using_llvm
from isakit.engine.llvm.fingerprint import fingerprint
from isakit.engine.protocol import Array
from isakit.machine.tesla.analysis.control_flow import Flow, NotCompiled, Step
from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.compiled.emit import interpreter_handlers as handlers
from isakit.machine.tesla.compiled.emit.control_functions import (
    INTERPRETER,
    SHARED,
    add_functions,
    control_key,
    entry,
    symbol,
)
from isakit.machine.tesla.compiled.emit.control_functions import names as control_names
from isakit.machine.tesla.compiled.emit.interpreter_handlers import HandlerCode, RecordSlots
from isakit.machine.tesla.compiled.emit.memory_ir import add_support, kernel_module, names
from isakit.machine.tesla.kernel_code import Code, Op
from isakit.machine.tesla.rules import blocks
from isakit.object_cache import keys, remove_objects
from isakit.sem.routine import on_change
from isakit.spec.isa import View
from isakit.spec.parts import static_bits

T = TypeVar("T")


def _memory_module(target: Host) -> str:
    """Return the IR of the memory functions that every kernel shares."""
    module = LlvmModule(32)
    add_support(module, target)
    return str(module) + METADATA


def _control_module(target: Host, choices: Choices) -> str:
    """Return the IR of the loop, the driver, and the control functions that every kernel shares."""
    module = LlvmModule(32)
    HandlerCode(module, target, Step(Op(0, 0), 0, None), choices).joining("join")
    add_functions(module, target, choices, (*SHARED, *INTERPRETER))
    enter = entry(module, target, "@" + symbol(blocks.run_blocks.name, target, choices))
    return str(module) + enter + METADATA


INDEX = ".index"
"""The suffix of an index's name. Indexes are JSON: key -> (batch, function, layout of the record, sites)."""
IndexEntry = tuple[str, str, Sequence[Any], int]
MOST_INDEXES = 16
"""Number of indexes that are read one by one; more are merged into one."""


@dataclass(frozen=True)
class Handler:
    """Functions of one kind of instruction: addresses for all lanes and for some, and the layout of its record."""

    full: int
    some: int
    slots: RecordSlots


@dataclass
class Handlers:
    """The functions of instructions for a target, compiled on demand and kept on disk."""

    target: Host
    known: dict[str, Handler | None] = field(default_factory=dict[str, "Handler | None"])
    _on_disk: dict[str, IndexEntry] = field(default_factory=dict[str, "IndexEntry"])
    _loaded: dict[str, LoadedCode | None] = field(default_factory=dict[str, "LoadedCode | None"])
    _keep: list[LoadedCode] = field(default_factory=list[LoadedCode])
    _indexed: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        made = known_object_code(f"{fingerprint('tesla')} memory", lambda: _memory_module(self.target), self.target)
        self._memory = LoadedCode(made, self.target)
        for name in names(self.target):
            provide(name, self._memory.address(name))
        tag = hashlib.sha256(f"{fingerprint('tesla')} {self.target.key}".encode()).hexdigest()[:24]
        self.kind = f"handlers/{tag}"

    def make(self, wanted: dict[str, Step], choices: Choices) -> None:
        """Compile the missing handlers of the given keys into `known`; None for those that cannot be compiled."""
        with using_llvm:
            missing = {k: s for k, s in wanted.items() if k not in self.known}
            if missing:
                missing = self._fetch(missing)
            # A batch is loaded as a whole, and needs all functions it calls: those of control are there for the choices
            # of a kernel, so handlers that call them are not among those that another kernel may want.
            for calls in (False, True):
                batch = {k: s for k, s in missing.items() if _controls(s) is calls}
                if batch:
                    self._compile(batch, choices)

    def fetch(self, wanted: Sequence[str]) -> bool:
        """Load the handlers of all keys into this process; return whether all exist."""
        with using_llvm:
            return self.has(wanted) and not self._fetch({k: None for k in wanted if k not in self.known})

    # --- the disk -------------------------------------------------------------------------------------------
    def has(self, wanted: Iterable[str]) -> bool:
        """Return whether handlers of all keys exist, here or on disk."""
        with using_llvm:
            self._index()
            return all(k in self.known or k in self._on_disk for k in wanted)

    def _index(self) -> None:
        there = keys(self.kind)
        names = [name for name in there if name.endswith(INDEX)]
        new = [name for name in names if name not in self._indexed]
        for name in new:
            self._indexed.add(name)
            self._on_disk.update(json.loads(read_object(self.kind, name) or b"{}"))
        if new and len(names) > MOST_INDEXES:
            # What another process adds meanwhile may be lost, and is compiled again.
            batches = set(there)
            found = {key: entry for key, entry in self._on_disk.items() if entry[0] in batches}
            whole = self._write_index(found)
            self._indexed.add(whole)
            if read_object(self.kind, whole) is not None:  # a cache may be full, or only for reading
                remove_objects(self.kind, set(names) - {whole})

    def _fetch(self, missing: dict[str, T]) -> dict[str, T]:
        self._index()
        rest: dict[str, T] = {}
        for key, step in missing.items():
            batch, function, values, sites = self._on_disk.get(key, ("", "", (), 0))
            if not function:
                if batch:
                    self.known[key] = None
                else:
                    rest[key] = step
                continue
            if batch not in self._loaded:
                data = read_object(self.kind, batch)
                self._loaded[batch] = None if data is None else LoadedCode(data, self.target)
            loaded = self._loaded[batch]
            if loaded is None:
                rest[key] = step
            else:
                slots = RecordSlots(tuple((what, e) for what, e in values), sites)
                self.known[key] = self._handler(loaded, function, slots)
        return rest

    def _compile(self, missing: dict[str, Step], choices: Choices) -> None:
        module = kernel_module(self.target)
        index: dict[str, tuple[str, RecordSlots]] = {}
        for key, step in missing.items():
            index[key] = "", RecordSlots((), 0)
            try:
                code = HandlerCode(module, self.target, step, choices)
                name = f"h{len(index)}"
                code.functions(name)
                index[key] = name, code.slots
            except NotCompiled:
                pass
        made = object_code(str(module) + METADATA, self.target, keep=False)
        loaded = LoadedCode(made, self.target)
        self._keep.append(loaded)
        for key, (name, slots) in index.items():
            self.known[key] = self._handler(loaded, name, slots) if name else None
        self._store(index, made)

    def _store(self, index: dict[str, tuple[str, RecordSlots]], code: bytes) -> None:
        tag = hashlib.sha256("\n".join(index).encode()).hexdigest()[:24]
        write_object(self.kind, tag, code)
        self._write_index({key: (tag, name, s.values, s.sites) for key, (name, s) in index.items()})

    def _write_index(self, entries: dict[str, IndexEntry]) -> str:
        """Write an index; return its name."""
        content = json.dumps(entries).encode()
        name = hashlib.sha256(content).hexdigest()[:24] + INDEX
        write_object(self.kind, name, content)
        return name

    @staticmethod
    def _handler(loaded: LoadedCode, name: str, slots: RecordSlots) -> Handler:
        return Handler(loaded.address(f"{name}_full"), loaded.address(f"{name}_some"), slots)


@cache
def handlers_of(target: Host) -> Handlers:
    """Return the handlers of a target in this process, which kernels call as long as it runs."""
    return Handlers(target)


class Library:
    """Functions of a target that kernels need besides their handlers: the loop, the scheduler, control."""

    def __init__(self, target: Host, choices: Choices) -> None:
        self.handlers = handlers_of(target)
        key = f"{fingerprint('tesla')} {control_key(choices)} {choices.join}"
        self.main = LoadedCode(known_object_code(key, lambda: _control_module(target, choices), target), target)
        for name in control_names(target, choices):
            provide(name, self.main.address(name))
        found = {r: self.main.address(symbol(r.name, target, choices)) for r in INTERPRETER}
        self.run_warp, self.stop, self.serve = (found[r] for r in INTERPRETER)
        self.join = self.main.address("join") if choices.join == "before" else self.serve


_libraries: dict[tuple[Host, str], Library] = {}


def library(target: Host, choices: Choices) -> Library:
    """Return the library for a target and choices in this process."""
    key = target, control_key(choices)
    if key not in _libraries:
        _libraries[key] = Library(target, choices)
    return _libraries[key]


def forget() -> None:
    """Discard all functions, so that they are compiled again: routines have changed."""
    handlers_of.cache_clear()
    _libraries.clear()


on_change(forget)

_ACCESS = ("load", "store", "atomic")


def _controls(step: Step) -> bool:
    """Return whether the code of an instruction calls functions of control."""
    return bool(step.control or step.op.join or step.op.exit or step.asks("lock"))


def _choices_of(step: Step, choices: Choices) -> str:
    """Return a key of the choices that the code of an instruction depends on."""
    assert step.trace is not None
    out: list[object] = [choices.join] if step.op.join or step.op.exit else []
    if _controls(step):
        out += [control_key(choices), choices.first, choices.stack_entries, choices.stack_overflow,
                choices.wrong_entry, choices.call_limit_log, choices.brkpt, choices.pm_counters]  # fmt: skip
    if step.trace.of_kind(*_ACCESS):
        out += [choices.out_of_range, choices.misaligned]
    if step.asks("sr"):
        out += [choices.clock_step, choices.pm_counters, choices.vstride, choices.sample]
    if step.control == "discard":
        out.append(choices.discarded)
    if any(step.op.fixed_a):
        out.append(choices.nonzero_a56)
    return hashlib.sha256(repr(out).encode()).hexdigest()[:12] if out else ""


def key_of(step: Step, view: View, choices: Choices) -> str:
    """Return the name of a handler: everything its code depends on besides the sources."""
    op, form = step.op, step.op.instruction.form if step.op.instruction is not None else None
    assert form is not None
    guard = form.parts.get("guard")
    fixed = step.word & static_bits(guard) if guard is not None and step.guard is not None else 0
    marks = f"{step.guard is not None:d}{op.never:d}{op.dropped:d}{op.exit:d}{any(op.fixed_a):d}"
    asked = f"{step.control} {_choices_of(step, choices)}"
    chip = f"{view.variant.name} {view.program}"
    return f"{chip} {view.name_of(form)} {form.static_word(step.word):x} {fixed:x} {marks} {asked}"


def keys_of(code: Code, flow: Flow, choices: Choices) -> dict[int, str]:
    """Return the handlers a kernel needs, by address."""
    view = code.decoder.view
    return {
        s.pc: key_of(s, view, choices)
        for s in flow.steps.values()
        if s.trace is not None and (s.sampled or not s.served)
    }


_STOP, _JOIN, _SERVE, _FIRST = range(4)
"""Numbers of the functions that a record calls; from `_FIRST` on two for each handler."""


class InterpreterProgram:
    """A kernel for the interpreter: `records` has one row of `handlers.RECORD` bytes per unit of code and two more.

    `sites` counts the global accesses that cache a buffer.
    """

    def __init__(self, lib: Library, keys: list[str], which: Array, records: Array, sites: int) -> None:
        self.library, self.records, self.sites = lib, records, sites
        self._keys, self._which = keys, which
        functions = [lib.stop, lib.join, lib.serve]
        for key in keys:
            handler = lib.handlers.known[key]
            functions += (lib.stop, lib.stop) if handler is None else (handler.full, handler.some)
        records.view(np.int64)[:, :4] = np.array(functions, np.int64)[which]

    def mark(self, code: Code, races: Iterable[tuple[int, int]]) -> None:
        """Mark the accesses among the races of the program, by their addresses."""
        for pc, bits in races:
            self.records.view(np.uint32)[(pc - code.address) // 4, handlers.RACES // 4] = bits

    def content(self) -> bytes:
        """Return everything but addresses of this process, for `kept`."""
        records = self.records.copy()
        records.view(np.int64)[:, :4] = 0
        head = json.dumps({"keys": self._keys, "sites": self.sites, "units": len(records)}).encode()
        return zlib.compress(len(head).to_bytes(4, "little") + head + self._which.tobytes() + records.tobytes(), 1)

    @classmethod
    def kept(cls, content: bytes, target: Host, choices: Choices) -> InterpreterProgram | None:
        """Return the program with a `content`; None if handlers it needs no longer exist."""
        data = zlib.decompress(content)
        start = 4 + int.from_bytes(data[:4], "little")
        head = json.loads(data[4:start])
        units, lib = head["units"], library(target, choices)
        if not lib.handlers.fetch(head["keys"]):
            return None
        which = np.frombuffer(data, np.int32, 4 * units, start).reshape(units, 4)
        records = np.frombuffer(data, np.uint8, handlers.RECORD * units, start + which.nbytes)
        return cls(lib, head["keys"], which, records.reshape(units, handlers.RECORD).copy(), head["sites"])

    @classmethod
    def made(cls, code: Code, flow: Flow, target: Host, choices: Choices) -> InterpreterProgram:
        """Return the program of a kernel; missing handlers are compiled."""
        lib = library(target, choices)
        first_joins = choices.join == "before"
        steps = [s for s in flow.steps.values() if s.trace is not None and (s.sampled or not s.served)]
        keys = keys_of(code, flow, choices)
        lib.handlers.make({keys[s.pc]: s for s in steps}, choices)
        units = len(code.units) + 2
        records: Array = np.zeros((units, handlers.RECORD), np.uint8)
        wide, narrow = records.view(np.int64), records.view(np.int32)
        which: Array = np.full((units, 4), _STOP, np.int32)
        numbers = {key: _FIRST + 2 * n for n, key in enumerate(dict.fromkeys(keys.values()))}
        narrow[:, handlers.PC // 4] = code.address + 4 * np.arange(units)
        for s in flow.steps.values():
            narrow[(s.pc - code.address) // 4, handlers.FOLLOWING // 4] = s.op.following
        sites = 0
        for s in flow.steps.values():
            if s.served and not s.sampled:
                k = (s.pc - code.address) // 4
                narrow[k, handlers.PC // 4] = s.pc
                which[k] = (_JOIN if s.op.join and first_joins else _SERVE,) * 2 + (_SERVE,) * 2
        for s in steps:
            handler = lib.handlers.known[keys[s.pc]]
            if handler is None:
                continue
            k = (s.pc - code.address) // 4
            full = numbers[keys[s.pc]]
            first = (_JOIN, _JOIN) if s.op.join and first_joins else (full, full + 1)
            which[k] = *first, full, full + 1
            size = s.op.following - s.pc
            narrow[k, handlers.PC // 4 : handlers.PC // 4 + 5] = (
                s.pc,
                s.op.following,
                s.target if s.target is not None else 0,
                size // 4,
                8 * sites,
            )
            sites += handler.slots.sites
            values = handler.slots.fill(s.word, code.registers)
            wide[k, handlers.VALUES // 8 : handlers.VALUES // 8 + len(values)] = values
        return cls(lib, list(numbers), which, records, sites)
