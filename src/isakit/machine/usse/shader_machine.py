"""The USSE core: many invocations of a program at once, with their registers, branches and results.

Invocations that stand at the same instruction run together; the lowest instruction goes first, so that branches join
again as early as possible. Source: [usse] 2.7, 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isakit.arch.usse.arithmetic import DEFAULT, Rules
from isakit.engine.protocol import Control, Lanes
from isakit.errors import BudgetExceeded, MachineFault, NotModelled
from isakit.machine.usse import numpy_ieee as native  # noqa: F401  # pyright: ignore[reportUnusedImport] - registers its functions
from isakit.machine.usse.sampler import Texture
from isakit.machine.usse.shader_code import Code, Increments, Step, check_modelled
from isakit.machine.usse.shader_memory import Memory
from isakit.machine.usse.texture_samples import sampled, unit_of
from isakit.spec import Status

if TYPE_CHECKING:
    from isakit.machine.usse.compiled_shader import Runner

Array = NDArray[Any]
REGISTERS = {"r": 256, "o": 256, "pa": 256, "sa": 256, "i": 16, "idx": 4, "g": 64}
MAX_INSTRUCTIONS = 1_000_000
ROUND = 16
"""Lanes that compiled code works on at a time."""


class Machine:
    """State of `lanes` invocations.

    `files` maps register files to arrays of shape [registers, lanes]. `textures` maps the number of the sa register
    that holds a texture's first state word to the texture, `units` the unit that a state word names. After a run:
    `killed` (bool per lane), `depth` (f32 or None), `notes` (what was executed on inferred knowledge). `rows` gives the
    sizes of register files where fewer do. `waiting` has, during a run, the invocations that wait at an instruction.
    """

    def __init__(self, lanes: int = 1, *, memory: Memory | None = None, textures: Mapping[int, Texture] | None = None,
                 uniform: Array | None = None, rows: Mapping[str, int] | None = None,
                 units: Mapping[int, Texture] | None = None) -> None:  # fmt: skip
        self.lanes = lanes
        self.pitch = -(-lanes // ROUND) * ROUND + ROUND
        count = REGISTERS | dict(rows or {})
        files: dict[str, Any] = {n: self._file(count[n], np.uint32) for n in REGISTERS if n != "sa"}
        files["p"] = self._file(4, bool)
        shared = np.zeros((REGISTERS["sa"], 1), np.uint32) if uniform is None else uniform
        # One copy for all lanes until a program writes it.
        files["sa"] = np.broadcast_to(shared, (REGISTERS["sa"], lanes))
        self._files = files
        self.files: Mapping[str, Any] = files
        self.memory = memory or Memory()
        self.textures, self.units = dict(textures or {}), dict(units or {})
        self.killed = np.zeros(lanes, bool)
        self.depth: Array | None = None
        self.notes: dict[str, str] = {}
        self.increments = Increments()
        self.executed = 0
        self.waiting: dict[int, Array | None] = {}
        self._link = np.zeros(lanes, np.int64)
        self._samples: dict[Any, list[Array]] = {}
        if lanes == 1:
            self.own_shared()

    def _file(self, rows: int, dtype: Any) -> Array:
        """Registers of all lanes. Rows are a bit longer than needed and begin at multiples of 64 bytes."""
        nbytes = rows * self.pitch * np.dtype(dtype).itemsize
        raw = np.zeros(nbytes + 64, np.uint8)
        start = -raw.ctypes.data % 64
        return raw[start : start + nbytes].view(dtype).reshape(rows, self.pitch)[:, : self.lanes]

    # --- running ----------------------------------------------------------------------------------------------------
    def run(self, code: Code, max_instructions: int = MAX_INSTRUCTIONS, runner: Runner | None = None) -> None:
        """Run a program from its first instruction to its end; `runner` has compiled code for parts of it.

        Raises NotModelled for instructions of unknown meaning, MachineFault for words that are no instruction and for
        bad addresses, BudgetExceeded after `max_instructions` instructions of one group of invocations.
        """
        for _ in self.steps(code, max_instructions, runner):
            pass

    def steps(
        self, code: Code, max_instructions: int = MAX_INSTRUCTIONS, runner: Runner | None = None
    ) -> Iterator[tuple[int, Array | None]]:
        """Run like `run`, an instruction at a time (a stretch of compiled code at a time).

        Before each it gives the instruction's number and the invocations that stand there (bool per lane, None: all),
        whatever the instruction's own predicate.
        """
        waiting = self.waiting = {0: None}
        budget = max_instructions
        while waiting:
            pc = min(waiting)
            mask = waiting.pop(pc)
            join = min(waiting, default=len(code))
            while True:
                if pc >= len(code):
                    break
                if pc == join:
                    _merge(waiting, pc, mask)
                    break
                if not budget:
                    raise BudgetExceeded("BUDGET", 8 * pc)
                yield pc, mask
                done = runner.advance(pc, mask, join, budget) if runner is not None else 0
                if done:
                    pc, budget = pc + done, budget - done
                    continue
                budget -= 1
                moved = self._step(code, pc, mask)
                if moved is None:
                    pc += 1
                    continue
                for target, lanes in moved.items():
                    if not 0 <= target <= len(code):
                        raise MachineFault("INVALID_BRANCH", 8 * pc, detail=f"instruction {target}")
                    _merge(waiting, target, lanes)
                break

    def _step(self, code: Code, pc: int, mask: Array | None) -> dict[int, Array | None] | None:
        """Execute one instruction; None to go on behind it, else the lanes per next instruction."""
        step = code.steps[pc]
        if step is None:
            raise MachineFault("ILLEGAL_OPCODE", 8 * pc, detail=f"{code.program[pc].words[0]:#018x}")
        active = mask
        if step.pred is not None:
            check_modelled(step)
            number, inverted = step.pred  # type: ignore[misc]
            p = self.files["p"][int(number)]
            p = ~p if inverted else p
            # A copy: the instruction may write the predicate before its last repetition.
            active = p.copy() if mask is None else p & mask
            if not active.any():
                return None
        if step.status is not Status.KNOWN:
            check_modelled(step)
            self.note(step)
        self.executed += 1
        self._samples.clear()
        lanes = Lanes.span(0, self.lanes, active)
        if step.writes_shared:
            self.own_shared()
        out: dict[int, Array | None] | None = None
        try:
            for function, params in step.prepared(self.increments):
                with np.errstate(all="ignore"):
                    requests = function.run(self, lanes, params)
                for c in requests:
                    moved = self._control(c, pc, mask, active)
                    out = moved if moved is not None else out
        except MachineFault as e:
            raise MachineFault(e.kind, 8 * pc, space=e.space, address=e.address, detail=e.detail) from None
        return out

    def note(self, step: Step) -> None:
        """Remember that an instruction of inferred meaning was executed."""
        record = step.form.record
        if record and record.name not in self.notes:
            why = f": {record.notes[0]}" if record.notes else ""
            self.notes[record.name] = f"{step.instruction.mnemonic} is modelled on inferred knowledge{why}"

    def own_shared(self) -> None:
        """Give every lane its own copy of sa, so that it can be written."""
        if not self._files["sa"].flags.writeable:
            old = self._files["sa"]
            self._files["sa"] = self._file(len(old), np.uint32)
            self._files["sa"][:] = old

    # --- control ----------------------------------------------------------------------------------------------------
    def _control(self, c: Control, pc: int, mask: Array | None, active: Array | None) -> dict[int, Array | None] | None:
        match c.name:
            case "branch" | "jump":
                offset = int(c.args[0])
                offset -= (offset >> 31) << 32
                if c.attrs["link"]:
                    self._link = np.where(_mask(active, self.lanes), pc + 1, self._link)
                return self._split(pc, pc + offset if c.name == "branch" else offset, mask, active)
            case "return":
                taken = _mask(active, self.lanes)
                out = {int(t): taken & (self._link == t) for t in np.unique(self._link[taken])}
                return self._with_rest(out, pc, mask, active)
            case "kill":
                return self._kill(c.attrs["condition"], pc, mask, active)
            case "depth":
                old = np.zeros(self.lanes, np.float32) if self.depth is None else self.depth
                value = np.asarray(c.args[0], np.uint32)
                value = np.broadcast_to(value, (self.lanes,)).copy().view(np.float32)
                self.depth = np.where(_mask(active, self.lanes), value, old)
            case "increments":
                self.increments = Increments(tuple(c.attrs[r] for r in ("dst", "src0", "src1", "src2")))
            case "bases":
                self.increments = Increments(bases=tuple(c.attrs[r] for r in ("dst", "src0", "src1", "src2")))
            case "emit":
                pass
            case _:
                raise NotModelled(f"the request {c.name}")
        return None

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

    def _kill(self, condition: tuple[int, bool] | None, pc: int, mask: Array | None,
              active: Array | None) -> dict[int, Array | None] | None:  # fmt: skip
        dead = _mask(active, self.lanes).copy()
        if condition is not None:
            p = self.files["p"][condition[0]]
            dead &= ~p if condition[1] else p
        if not dead.any():
            return None
        self.killed |= dead
        alive = _mask(mask, self.lanes) & ~dead
        return {pc + 1: alive} if alive.any() else {}

    # --- what engines ask for ---------------------------------------------------------------------------------------
    def load(self, space: str, address: Array, size: int, attrs: Mapping[str, Any], lanes: Lanes) -> Array:
        """Memory of buffers."""
        return self.memory.load(address, size, lanes.active)

    def store(
        self, space: str, address: Array, value: Array, size: int, attrs: Mapping[str, Any], lanes: Lanes
    ) -> None:
        """Memory of buffers."""
        self.memory.store(address, value, size, lanes.active)

    def atomic(self, space: str, op: str, address: Array, operands: Sequence[Array], size: int,
               attrs: Mapping[str, Any], lanes: Lanes) -> Array:  # fmt: skip
        """There are no atomic operations."""
        raise NotModelled(f"atomic {op}")

    def trap(self, kind: str, lanes_mask: Array) -> None:
        """A fault of an instruction."""
        raise MachineFault(kind, 0)

    def machine(self, name: str, args: Sequence[Any], attrs: Mapping[str, Any], lanes: Lanes) -> Array:
        """Neighbours in a quad, texture samples."""
        if name == "quad":
            number = np.arange(self.lanes)
            other = number & ~attrs["without"] if "without" in attrs else number | attrs["with_"]
            value = np.broadcast_to(np.asarray(args[0], np.uint32), (self.lanes,))
            return value[np.minimum(other, self.lanes - 1)]
        if name == "sample":
            words = self._sample(args, attrs, lanes)
            word: int = attrs["word"]
            return words[word] if word < len(words) else np.zeros(self.lanes, np.uint32)
        if name == "sample_has":
            words = self._sample(args, attrs, lanes)
            return np.full(self.lanes, attrs["word"] < len(words))
        raise NotModelled(f"the machine value {name}")

    def _sample(self, args: Sequence[Any], attrs: Mapping[str, Any], lanes: Lanes) -> list[Array]:
        """The registers a sample fills, computed once per instruction."""
        key = attrs["count"]
        if key in self._samples:
            return self._samples[key]
        values = [np.broadcast_to(np.asarray(a, np.uint32), (self.lanes,)).copy().view(np.float32) for a in args[2:]]
        register = int(np.asarray(args[0]).flat[0])
        states = np.broadcast_to(np.asarray(args[1], np.uint32), (self.lanes,))
        states = states if lanes.active is None else states[lanes.active]
        found: list[tuple[int, list[Array]]] = []
        for state in np.unique(states):
            texture = self._texture(register, int(state))
            found.append((int(state), sampled(texture, values[:key], values[key:], attrs)))
        words = found[0][1]
        everywhere = np.broadcast_to(np.asarray(args[1], np.uint32), (self.lanes,))
        for state, other in found[1:]:
            if len(other) != len(words):
                raise NotModelled("one sample of textures of several sizes per texel")
            words = [np.where(everywhere == state, b, a) for a, b in zip(words, other, strict=True)]
        self._samples[key] = words
        return words

    def _texture(self, register: int, state: int) -> Texture:
        """The texture that a state word stands for, or that was bound to the register."""
        unit = unit_of(state)
        texture = self.units.get(unit) if unit is not None else self.textures.get(register)
        if texture is None:
            where = f"texture unit {unit}" if unit is not None else f"sa{register}"
            raise NotModelled(f"a sample through {where}", "no texture is bound there")
        return texture


def _mask(active: Array | None, lanes: int) -> Array:
    return np.ones(lanes, bool) if active is None else active


def _merge(waiting: dict[int, Array | None], pc: int, mask: Array | None) -> None:
    """Add lanes to those that wait at an instruction."""
    if pc in waiting and mask is not None:
        there = waiting[pc]
        mask = None if there is None else there | mask
    waiting[pc] = None if mask is not None and mask.all() else mask


__all__ = ["DEFAULT", "Code", "Machine", "Rules"]
