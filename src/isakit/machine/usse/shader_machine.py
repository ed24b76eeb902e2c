"""The USSE core: many invocations of a program at once, with their registers, branches and results.

Invocations at the same instruction run together; the lowest instruction runs first, so that branches reconverge as
early as possible. Source: [usse] 2.7, 3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from isakit.arch.usse import requests as request
from isakit.arch.usse.arithmetic import DEFAULT, Rules
from isakit.arch.usse.registers import ROLES
from isakit.engine.protocol import Array, Control, Lanes
from isakit.engine.routine_functions import numpy_function, python_function
from isakit.errors import BudgetExceeded, LaunchError, MachineFault, NotModelled
from isakit.machine.interrupts import Deferred, deferred
from isakit.machine.snapshot import Snapshot, frozen
from isakit.machine.usse import numpy_ieee as native  # noqa: F401  # pyright: ignore[reportUnusedImport] - registers its functions
from isakit.machine.usse import rules
from isakit.machine.usse.sampler import Texture
from isakit.machine.usse.shader_code import Increments, ShaderCode, ShaderStep, check_modelled
from isakit.machine.usse.shader_memory import Memory, Overwritten
from isakit.machine.usse.texture_samples import WordsOf, sampled, unit_of, words_of
from isakit.sem.requests import covered
from isakit.sem.trace import Attributes
from isakit.spec import Status

REGISTERS = {"r": 256, "o": 256, "pa": 256, "sa": 256, "i": 16, "idx": 4, "g": 64}
MAX_INSTRUCTIONS = 1_000_000
ROUND = 16
"""Lanes that compiled code processes at a time."""


_STATE = ("killed", "depth", "notes", "increments", "executed", "waiting", "_link")
"""Attributes of a machine that are state, besides registers and memory."""


def _is_shared(a: Array) -> bool:
    """Return true if all lanes share one copy."""
    return a.strides[1] == 0


def _restored(lanes: int, rows: Mapping[str, int], memory: Memory, textures: Mapping[int, Texture],
              units: Mapping[int, Texture], code: ShaderCode | None, snapshot: Snapshot) -> Machine:  # fmt: skip
    machine = Machine(lanes, memory=memory, textures=textures, units=units, rows=rows)
    machine.code = code
    machine.restore(snapshot)
    return machine


Advance = Callable[[int, Array | None, int, int], int]
"""(pc, mask, join, budget): execute compiled instructions up to `join` at most; return how many, 0 for none."""


Moved = dict[int, Array | None] | None
"""Lanes by the number of the instruction they continue at; None if all continue with the next one."""


class Machine:
    """State of `lanes` invocations.

    `files` maps register files to arrays of shape [registers, lanes]. `textures` maps the number of the sa register
    that holds a texture's first state word to the texture, `units` maps the unit named by a state word. After a run:
    `killed` (bool per lane), `depth` (f32 or None), `notes` (instructions of inferred meaning that were executed).
    `waiting` maps numbers of instructions to the invocations that are about to execute them (bool per lane, None for
    all). `rows` are sizes of register files, for programs that use fewer registers. `instead_of` is a machine that is
    no longer used: its registers are cleared and reused, if they have the same size.
    """

    def __init__(self, lanes: int = 1, *, memory: Memory | None = None, textures: Mapping[int, Texture] | None = None,
                 uniform: Array | None = None, rows: Mapping[str, int] | None = None,
                 units: Mapping[int, Texture] | None = None, instead_of: Machine | None = None) -> None:  # fmt: skip
        self.lanes = lanes
        self.pitch = -(-lanes // ROUND) * ROUND + ROUND
        count = REGISTERS | dict(rows or {})
        old: Mapping[str, Array] = instead_of.files if instead_of is not None and instead_of.lanes == lanes else {}
        files: dict[str, Array] = {n: self._file(count[n], np.uint32, old.get(n)) for n in REGISTERS if n != "sa"}
        files["p"] = self._file(4, bool, old.get("p"))
        shared = np.zeros((REGISTERS["sa"], 1), np.uint32) if uniform is None else uniform
        # One copy for all lanes until a program writes it.
        files["sa"] = np.broadcast_to(shared, (REGISTERS["sa"], lanes))
        self._files = files
        self.files: Mapping[str, Array] = files
        self.memory = memory or Memory()
        self.textures, self.units = dict(textures or {}), dict(units or {})
        self.killed = np.zeros(lanes, bool)
        self.depth: Array | None = None
        self.notes: dict[str, str] = {}
        self.increments = Increments()
        self.executed = 0
        self.code: ShaderCode | None = None
        self.waiting: dict[int, Array | None] = {}
        self._link = np.zeros(lanes, np.int64)
        self._samples: dict[Hashable, list[Array]] = {}
        self.words_of: WordsOf = words_of
        if lanes == 1:
            self.own_shared()

    def _file(self, rows: int, dtype: DTypeLike, old: Array | None = None) -> Array:
        """Allocate registers of all lanes. Rows are a bit longer than needed and begin at multiples of 64 bytes."""
        if old is not None and len(old) == rows:
            old.fill(0)
            return old
        nbytes = rows * self.pitch * np.dtype(dtype).itemsize
        raw = np.zeros(nbytes + 64, np.uint8)
        start = -raw.ctypes.data % 64
        return raw[start : start + nbytes].view(dtype).reshape(rows, self.pitch)[:, : self.lanes]

    # --- snapshots --------------------------------------------------------------------------------------------------
    def snapshot(self) -> Snapshot:
        """Return the state of all invocations and the buffers; must not be taken inside of `run` or `step`."""
        return frozen("usse", self._content())

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot of this machine, or of one with as many invocations and registers.

        The program and the textures are not part of it. Raises LaunchError for a snapshot of another machine.
        """
        self._put_back(snapshot.content("usse"))

    def _content(self) -> dict[str, object]:
        files = {n: a[:, :1] if _is_shared(a) and n == "sa" else a for n, a in self.files.items()}
        attributes = {n: getattr(self, n) for n in _STATE}
        return {"lanes": self.lanes, "files": files, "attributes": attributes, "buffers": self.memory.buffers}

    def _put_back(self, content: dict[str, Any]) -> None:
        shapes = {n: len(a) for n, a in content["files"].items()}
        if content["lanes"] != self.lanes or shapes != {n: len(a) for n, a in self.files.items()}:
            raise LaunchError(
                f"a snapshot of {content['lanes']} invocations does not fit {self.lanes} or their registers"
            )
        for name, rows in content["files"].items():
            if name == "sa" and rows.shape[1] < self.lanes:
                self._files["sa"] = np.broadcast_to(rows, (len(rows), self.lanes))
                continue
            if name == "sa":
                self.own_shared()
            self.files[name][:] = rows
        for name, value in content["attributes"].items():
            setattr(self, name, value)
        self.memory.set_buffers(content["buffers"])

    def _repr_html_(self) -> str:
        from isakit.machine.pictures import html_of

        return html_of(self)

    def __reduce__(self) -> tuple[object, ...]:
        rows = {n: len(a) for n, a in self.files.items() if n in REGISTERS}
        return _restored, (self.lanes, rows, self.memory, self.textures, self.units, self.code, self.snapshot())

    # --- running ----------------------------------------------------------------------------------------------------
    def start(self, code: ShaderCode) -> None:
        """Start all invocations at the first instruction of a program. Registers keep their values."""
        self.code, self.waiting = code, {}
        self._spread({0: None})  # a program without instructions has ended

    def run(self, code: ShaderCode, max_instructions: int = MAX_INSTRUCTIONS, advance: Advance | None = None) -> None:
        """Run a program from its first instruction to its end; `advance` has compiled code for parts of it.

        After an exception, the state is that before the instruction, from which `resume` or `step` can continue. Raises
        NotModelled for instructions of unknown meaning, MachineFault for words that are not an instruction and for bad
        addresses, BudgetExceeded after `max_instructions` instructions of one group of invocations.
        """
        self.start(code)
        self.resume(max_instructions, advance)

    def steps(self, code: ShaderCode, max_instructions: int = MAX_INSTRUCTIONS) -> Iterator[tuple[int, Array | None]]:
        """Run one instruction at a time. Raises BudgetExceeded and everything `run` raises.

        Before each, yields the instruction's number and the invocations at it (bool per lane, None: all), regardless of
        the instruction's own predicate.
        """
        self.start(code)
        for _ in range(max_instructions):
            if not self.waiting:
                return
            pc = min(self.waiting)
            yield pc, self.waiting[pc]
            self.step()
        if self.waiting:
            raise BudgetExceeded("BUDGET", 8 * min(self.waiting))

    @property
    def finished(self) -> bool:
        """True if all invocations have ended."""
        return not self.waiting

    def at(self, lane: int) -> int | None:
        """Return the number of the instruction an invocation is about to execute; None if it has ended."""
        return next((pc for pc, mask in self.waiting.items() if mask is None or mask[lane]), None)

    def resume(self, max_instructions: int = MAX_INSTRUCTIONS, advance: Advance | None = None,
               until: Collection[int] = ()) -> bool:  # fmt: skip
        """Run to the end of all invocations; return whether they have ended.

        `until`: numbers of instructions to stop at when a group of invocations is about to execute one; a group that is
        already there executes it first. Raises BudgetExceeded and everything `run` raises.
        """
        with deferred() as signals:  # so that what raises an interrupt finds whole instructions
            return self._resume(max_instructions, advance, until, signals)

    def _resume(
        self, max_instructions: int, advance: Advance | None, until: Collection[int], signals: Deferred
    ) -> bool:
        code, waiting, budget = self._code(), self.waiting, max_instructions
        leaving = min(waiting, default=-1)  # the group that moves on first
        while waiting:
            pc = min(waiting)
            if pc in until and pc != leaving:
                return False
            leaving = -1
            mask = waiting.pop(pc)
            join = min(waiting, default=len(code))
            if until:
                join = min((n for n in until if pc < n < join), default=join)
            try:
                while pc != join:
                    signals.check()
                    if not budget:
                        raise BudgetExceeded("BUDGET", 8 * pc)
                    done = advance(pc, mask, join, budget) if advance is not None else 0
                    if done:
                        pc, budget = pc + done, budget - done
                        continue
                    moved = self._step(code, pc, mask)
                    budget -= 1
                    if moved is not None:
                        self._spread(moved)
                        break
                    pc += 1
                else:
                    self._spread({pc: mask})
            except BaseException:
                _merge(waiting, pc, mask)
                raise
        return True

    def step(self, lane: int | None = None) -> int | None:
        """Execute one instruction of one group of invocations and return its number; None when all have ended.

        The group is that of an invocation, or the one at the lowest instruction. Raises LaunchError for an invocation
        that has ended, and everything `run` raises.
        """
        code = self._code()
        if not self.waiting:
            return None
        pc = min(self.waiting) if lane is None else self.at(lane)
        if pc is None:
            raise LaunchError(f"invocation {lane} has ended")
        mask = self.waiting[pc]
        with deferred():
            moved = self._step(code, pc, mask)
            del self.waiting[pc]
            self._spread({pc + 1: mask} if moved is None else moved)
        return pc

    def _code(self) -> ShaderCode:
        if self.code is None:
            raise LaunchError("no program has been started")
        return self.code

    def _spread(self, moved: Mapping[int, Array | None]) -> None:
        """Move lanes to the instructions they continue at; after the last instruction they have ended."""
        for target, lanes in moved.items():
            if target < len(self._code()):
                _merge(self.waiting, target, lanes)

    def _step(self, code: ShaderCode, pc: int, mask: Array | None) -> dict[int, Array | None] | None:
        """Execute one instruction.

        Return the lanes by the number of the instruction they continue at, None for the next one.
        """
        step = code.steps[pc]
        if step is None:
            raise MachineFault("ILLEGAL_OPCODE", 8 * pc, detail=f"{code.program[pc].words[0]:#018x}")
        active = mask
        if step.pred is not None:
            check_modelled(step)
            number, inverted = step.pred  # type: ignore[misc]
            # A new array: the instruction may write the predicate before its last repetition.
            active = self._executing(mask, int(number), bool(inverted))
            if not active.any():
                return None
        if step.status is not Status.KNOWN:
            check_modelled(step)
        self._samples.clear()
        lanes = Lanes.span(0, self.lanes, active)
        if step.writes_shared:
            self.own_shared()
        undo = self._undo(step) if step.may_stop_midway else None
        out: dict[int, Array | None] | None = None
        try:
            for function, params in step.prepared(self.increments):
                with np.errstate(all="ignore"):
                    requests = function.run(self, lanes, params)
                for c in requests:
                    moved = self._control(c, pc, mask, active)
                    out = moved if moved is not None else out
            for target in out or ():
                if not 0 <= target <= len(code):
                    raise MachineFault("INVALID_BRANCH", 8 * pc, detail=f"instruction {target}")
        except BaseException as e:
            if undo is not None:
                undo()
            if isinstance(e, MachineFault):
                raise MachineFault(e.kind, 8 * pc, space=e.space, address=e.address, detail=e.detail) from None
            raise
        finally:
            self.memory.overwritten = None
        self.executed += 1
        if step.status is not Status.KNOWN:
            self.note(step)
        return out

    def _undo(self, step: ShaderStep) -> Callable[[], None]:
        """Save the state that an instruction of several parts may change before it faults.

        The returned function restores it.
        """
        files = {name: self.files[name].copy() for name in step.written_files}
        others = self.killed.copy(), self.depth, self.increments, self._link  # the rest is replaced, not changed
        overwritten = self.memory.overwritten = list[Overwritten]()

        def undo() -> None:
            for name, content in files.items():
                self.files[name][:] = content
            self.killed, self.depth, self.increments, self._link = others
            self.memory.put_back(overwritten)

        return undo

    def note(self, step: ShaderStep) -> None:
        """Record that an instruction of inferred meaning was executed."""
        record = step.form.record
        if record and record.name not in self.notes:
            why = f": {record.notes[0]}" if record.notes else ""
            self.notes[record.name] = f"{step.instruction.mnemonic} is modelled on inferred knowledge{why}"

    def own_shared(self) -> None:
        """Give every lane its own copy of the registers sa, so that they can be written."""
        if not self._files["sa"].flags.writeable:
            old = self._files["sa"]
            self._files["sa"] = self._file(len(old), np.uint32)
            self._files["sa"][:] = old

    # --- control ----------------------------------------------------------------------------------------------------
    def _control(self, c: Control, pc: int, mask: Array | None, active: Array | None) -> Moved:
        return _ACTIONS[c.name](self, c, pc, mask, active)

    def _branch(self, c: Control, pc: int, mask: Array | None, active: Array | None) -> Moved:
        return self._transfer(c, pc, target_of(pc, int(c.args[0]), relative=True), mask, active)

    def _jump(self, c: Control, pc: int, mask: Array | None, active: Array | None) -> Moved:
        return self._transfer(c, pc, target_of(pc, int(c.args[0]), relative=False), mask, active)

    def _transfer(self, c: Control, pc: int, target: int, mask: Array | None, active: Array | None) -> Moved:
        if c.attrs["link"]:
            self._link = np.where(_mask(active, self.lanes), pc + 1, self._link)
        return self._split(pc, target, mask, active)

    def _return(self, c: Control, pc: int, mask: Array | None, active: Array | None) -> Moved:
        taken = _mask(active, self.lanes)
        out = {int(t): taken & (self._link == t) for t in np.unique(self._link[taken])}
        return self._with_rest(out, pc, mask, active)

    def _executing(self, mask: Array | None, predicate: int, inverted: bool) -> Array:
        """Return the lanes of a mask that execute under a predicate."""
        return numpy_function(rules.executes, inverted=inverted)(_mask(mask, self.lanes), self.files["p"][predicate])

    def _set_depth(self, c: Control, pc: int, mask: Array | None, active: Array | None) -> Moved:
        old = np.zeros(self.lanes, np.float32) if self.depth is None else self.depth
        value = np.asarray(c.args[0], np.uint32)
        value = np.broadcast_to(value, (self.lanes,)).copy().view(np.float32)
        self.depth = np.where(_mask(active, self.lanes), value, old)

    def _set_increments(self, c: Control, pc: int, mask: Array | None, active: Array | None) -> Moved:
        self.increments = Increments(tuple(c.attrs[r] for r in ROLES))

    def _set_bases(self, c: Control, pc: int, mask: Array | None, active: Array | None) -> Moved:
        self.increments = Increments(bases=tuple(c.attrs[r] for r in ROLES))

    def _emit(self, c: Control, pc: int, mask: Array | None, active: Array | None) -> Moved:
        """End at once: no instruction reads results before the end."""

    def _state_at_end(self, c: Control, pc: int, mask: Array | None, active: Array | None) -> Moved:
        """Accept an instruction that sets unknown state, at the end of the program.

        Raises NotModelled before other instructions.
        """
        code = self._code()
        if pc + 1 < len(code):
            raise NotModelled(f"`{code.program[pc].text}` before other instructions", "what it sets is not known")

    def _split(self, pc: int, target: int, mask: Array | None, active: Array | None) -> dict[int, Array | None]:
        return self._with_rest({target: active}, pc, mask, active)

    def _with_rest(self, out: Mapping[int, Array | None], pc: int, mask: Array | None,
                   active: Array | None) -> dict[int, Array | None]:  # fmt: skip
        result = dict(out)
        if active is not None and active is not mask:
            rest = ~active if mask is None else mask & ~active
            if rest.any():
                _merge(result, pc + 1, rest)
        return result

    def _kill(self, c: Control, pc: int, mask: Array | None, active: Array | None) -> Moved:
        condition: tuple[int, bool] | None = c.attrs["condition"]
        dead = _mask(active, self.lanes) if condition is None else self._executing(active, *condition)
        if not dead.any():
            return None
        self.killed |= dead
        alive = _mask(mask, self.lanes) & ~dead
        return {pc + 1: alive} if alive.any() else {}

    # --- what engines ask for ---------------------------------------------------------------------------------------
    def load(self, space: str, address: Array, size: int, attrs: Attributes, lanes: Lanes) -> Array:
        """Load from the bound buffers."""
        return self.memory.load(address, size, lanes.active)

    def store(self, space: str, address: Array, value: Array, size: int, attrs: Attributes, lanes: Lanes) -> None:
        """Store to the bound buffers."""
        self.memory.store(address, value, size, lanes.active)

    def atomic(self, space: str, op: str, address: Array, operands: Sequence[Array], size: int,
               attrs: Attributes, lanes: Lanes) -> Array:  # fmt: skip
        """Raise NotModelled: there are no atomic operations."""
        raise NotModelled(f"atomic {op}")

    def trap(self, kind: str, lanes_mask: Array) -> None:
        """Raise the fault of an instruction as MachineFault."""
        raise MachineFault(kind, 0)

    def machine(self, name: str, args: Sequence[Array | int], attrs: Attributes, lanes: Lanes) -> Array:
        """Return values of neighbours in a quad, and texture samples."""
        return _VALUES[name](self, args, attrs, lanes)

    def _quad(self, args: Sequence[Array | int], attrs: Attributes, lanes: Lanes) -> Array:
        other = np.array([neighbour_of(lane, attrs) for lane in range(self.lanes)])
        value = np.broadcast_to(np.asarray(args[0], np.uint32), (self.lanes,))
        return value[np.minimum(other, self.lanes - 1)]

    def _sample_word(self, args: Sequence[Array | int], attrs: Attributes, lanes: Lanes) -> Array:
        words = self._sample(args, attrs, lanes)
        word: int = attrs["word"]
        return words[word] if word < len(words) else np.zeros(self.lanes, np.uint32)

    def _sample_has(self, args: Sequence[Array | int], attrs: Attributes, lanes: Lanes) -> Array:
        return np.full(self.lanes, attrs["word"] < len(self._sample(args, attrs, lanes)))

    def _sample(self, args: Sequence[Array | int], attrs: Attributes, lanes: Lanes) -> list[Array]:
        """Return the registers filled by a sample, computed once per instruction."""
        key = attrs["count"]
        if key in self._samples:
            return self._samples[key]
        arrays = (np.broadcast_to(np.asarray(a, np.uint32), (self.lanes,)) for a in args[2:])
        values = [np.ascontiguousarray(a).view(np.float32) for a in arrays]
        register = int(np.asarray(args[0]).flat[0])
        states = np.broadcast_to(np.asarray(args[1], np.uint32), (self.lanes,))
        states = states if lanes.active is None else states[lanes.active]
        found: list[tuple[int, list[Array]]] = []
        for state in states[:1] if (states == states[:1]).all() else np.unique(states):
            texture = self._texture(register, int(state))
            found.append((int(state), sampled(texture, values[:key], values[key:], attrs, self.words_of)))
        words = found[0][1]
        everywhere = np.broadcast_to(np.asarray(args[1], np.uint32), (self.lanes,))
        for state, other in found[1:]:
            if len(other) != len(words):
                raise NotModelled("one sample of textures of several sizes per texel")
            words = [np.where(everywhere == state, b, a) for a, b in zip(words, other, strict=True)]
        self._samples[key] = words
        return words

    def _texture(self, register: int, state: int) -> Texture:
        """Return the texture of a state word, or the one bound to the register."""
        unit = unit_of(state)
        texture = self.units.get(unit) if unit is not None else self.textures.get(register)
        if texture is None:
            where = f"texture unit {unit}" if unit is not None else f"sa{register}"
            raise NotModelled(f"a sample through {where}", "no texture is bound there")
        return texture


# pyright: reportPrivateUsage=false
_ACTIONS = covered(
    "the USSE machine",
    request.REQUESTS.controls,
    {
        request.BRANCH: Machine._branch,
        request.JUMP: Machine._jump,
        request.RETURN: Machine._return,
        request.KILL_LANES: Machine._kill,
        request.DEPTH: Machine._set_depth,
        request.INCREMENTS: Machine._set_increments,
        request.BASES: Machine._set_bases,
        request.EMIT_RESULTS: Machine._emit,
        request.STATE_AT_END: Machine._state_at_end,
    },
)
_VALUES = covered(
    "the USSE machine",
    request.REQUESTS.values,
    {request.QUAD: Machine._quad, request.SAMPLE: Machine._sample_word, request.SAMPLE_HAS: Machine._sample_has},
)


def target_of(here: int, operand: int, relative: bool) -> int:
    """Return the number of a branch's target instruction, negative before the start of the program."""
    number = python_function(rules.target, relative=relative)(here, operand)
    return number - ((number >> 31) << 32)


def neighbour_of(lane: int, attrs: Attributes) -> int:
    """Return the lane of the quad that an instruction reads from; `attrs` are the attributes of its request."""
    known = {"without": attrs.get("without", 0), "added": attrs.get("with_", 0)}
    return python_function(rules.neighbour, **known)(lane)


def _mask(active: Array | None, lanes: int) -> Array:
    return np.ones(lanes, bool) if active is None else active


def _merge(waiting: dict[int, Array | None], pc: int, mask: Array | None) -> None:
    """Add lanes to those waiting at an instruction."""
    if pc in waiting and mask is not None:
        there = waiting[pc]
        mask = None if there is None else there | mask
    waiting[pc] = None if mask is not None and mask.all() else mask


__all__ = ["DEFAULT", "Machine", "Rules", "ShaderCode", "neighbour_of", "target_of"]
