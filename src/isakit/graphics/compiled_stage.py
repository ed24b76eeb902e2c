"""Graphics stages on compiled code: a launch of their own kind, of one block whose lanes are items.

a[], p[] and o[] stay in the memory of the stage's state, where compiled code reads and writes them. The inputs of
fragments are evaluated before the program begins, a row for each one that it names. A thread keeps its launches for the
next draw with the same program.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Mapping

import numpy as np

from isakit.engine import Lanes
from isakit.engine.protocol import Array
from isakit.errors import BudgetExceeded
from isakit.graphics.compiled_batches import BatchJob, batches_function
from isakit.graphics.compiled_quads import CompiledFunction, JobSlots
from isakit.graphics.stage import Stage, StageRun, StageState
from isakit.graphics.stage_spaces import RowSpace
from isakit.graphics.watchdog import Budget, Watchdog
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.machine_values import VARYING_WORDS
from isakit.machine.tesla.compiled.launch.compiled_kernels import CompiledKernel, Executable
from isakit.machine.tesla.compiled.launch.host_assist import ServedWarps, interruptible
from isakit.machine.tesla.compiled.launch.texture_table import TextureTable
from isakit.machine.tesla.compiled.launch.warp_handover import WarpStates, lanes_of, masks_of
from isakit.machine.tesla.compiled.launch.worker_context import UNLIMITED, Bound, address_of, aligned
from isakit.machine.tesla.device_memory import DeviceMemory, FlatMemory
from isakit.machine.tesla.launch import Launch, Stats

MOST_RECORDS = 1 << 26
"""Bytes of records that a thread keeps; most of them are room for divergence stacks, and never touched."""
MOST_TABLES = 64
"""Sets of textures for which a launch caches its table."""
BRIEF = 1 << 17
"""Instructions of warps that end before a user who interrupts them would notice."""


class _OfThread(threading.local):
    """State that a thread keeps from one draw to the next."""

    def __init__(self) -> None:
        self.records: Array = np.zeros(0, np.uint8)


_own = _OfThread()


class StageLaunch(ServedWarps):
    """A program of a stage on compiled code, with the memory of its runs: constants, a[], p[], o[] and records.

    It has room for `room` warps. `begin` sets the items of the next run; until then the state is that of the previous
    run.
    """

    state: StageState

    def __init__(
        self, launch: Launch, kernel: CompiledKernel, stage: Stage, device: DeviceMemory, room: int,
        varyings: Array | None = None,
    ) -> None:  # fmt: skip
        """Make a launch for stages like `stage`; `varyings`: see `_table`, created for each run by default."""
        bound = Bound(launch, device)
        state = StageState(launch, stage.of_same_kind(32 * room))
        for k, (data, size) in bound.constants.items():
            if size:  # the reference machine's instructions see the same bytes
                state.spaces[f"c{k}"].memory = FlatMemory.over(data)  # type: ignore[attr-defined]
        super().__init__(bound, kernel, state, spare_states(room, kernel.state_bytes), room)
        set_slot = self.context.set_slot
        set_slot("row_bytes", 4 * state.lane_count)
        set_slot("live_all", 0xFFFF_FFFF if stage.choices.live_helpers == "fetch" else 0)
        for name in ("a", "p", "o"):
            space = state.spaces.get(name)
            if isinstance(space, RowSpace):
                set_slot(name, space.memory.bytes)
                set_slot(f"{name}_size", space.limit)
        self._nothing = np.zeros(state.lane_count, np.uint32)
        self._shown: dict[int, bytes] = dict(launch.constants)
        self._headers = first_headers(room, launch.entry)
        self._results = 1 + max((n for _, n in kernel.facts.results), default=-1)
        self._rows: list[Array] = []
        self._has_table = varyings is not None
        if varyings is not None:
            set_slot("varyings", varyings)
        self._tables: OrderedDict[Hashable, TextureTable] = OrderedDict()
        if kernel.known.samples:
            self._textures = bound.textures(kernel)

    def begin(self, launch: Launch, stage: Stage) -> None:
        """Set the items of the next run; the launch may differ from the previous one in constants and textures."""
        bound, state, n = self.bound, self.state, stage.warps
        for k, data in launch.constants.items():
            if data is not self._shown[k]:
                bound.constants[k][0][: len(data)] = np.frombuffer(data, np.uint8)
                self._shown[k] = data
        if self.kernel.known.samples and (launch is not self.launch or self._textures.changes):
            self._show_textures(launch)
        self.launch = bound.launch = state.launch = launch
        state.begin(stage, self.kernel.flow.outputs)
        self.per_block = n
        self.turns[:] = self.barriers[:] = 0
        self.context.set_budget(UNLIMITED)
        self.context.set_slot("reserve", 0)
        self.states = states = spare_states(n, self.kernel.state_bytes, self.states)
        if states.local is not None:
            states.local[:] = 0
        self._of_block["state"] = address_of(states.raw), states.raw.nbytes
        self.context.set_slot("block_warps", n)
        if self.kernel.choose_executable().clears:
            states.begin(self._headers, self.kernel.facts.registers)
        else:  # what it leaves in memory is looked at, and nothing else
            states.begin(self._headers[:, : state_layout.CONDITIONS // 4], self._results)
        start_warps(states, stage, masks_of(state.visible[: 32 * n]))
        if not self._has_table:
            self.context.set_slot("varyings", self._table())

    def _show_textures(self, launch: Launch) -> None:
        """Update the texture table to the present textures of a launch."""
        self.state.__dict__.pop("textures", None)
        units = (tuple((n, id(x)) for n, x in some.items()) for some in (launch.textures, launch.samplers))
        key = launch.texturing, launch.flags, *units
        table = self._tables.pop(key, None)
        if table is None or table.changes:
            table = TextureTable(launch, self.kernel.known.samples, self.kernel.target)
        self._tables[key] = self._textures = table
        if len(self._tables) > MOST_TABLES:
            self._tables.popitem(last=False)
        self.context.set_slot("textures", table.addresses)

    def _table(self) -> Array:
        """Return addresses of the rows of v[]; words that are not named share a row of zeros."""
        table = np.full(4 * VARYING_WORDS, address_of(self._nothing), np.int64)
        varyings = self.state.stage.varyings
        everyone = Lanes.span(0, self.state.lane_count)
        self._rows.clear()
        for word, flat, centroid in self.kernel.flow.varyings if varyings is not None else ():
            if word < VARYING_WORDS:
                assert varyings is not None
                row = np.ascontiguousarray(varyings.read(word, flat, centroid, everyone), np.uint32)
                self._rows.append(row)
                table[word + VARYING_WORDS * (flat + 2 * centroid)] = address_of(row)
        return table

    def stopped_by(self, stop: Array) -> None:
        """Replace the flag that stops the runs."""
        self.bound.stop = stop
        self.context.set_slot("stop", stop)

    def bound_by(self, watchdog: Watchdog | Budget) -> None:
        """Limit execution by a watchdog. Programs without loops end by themselves."""
        if self.kernel.known.has_loops:
            self.context.set_budget(watchdog.allowed(self.per_block, reference=False))
            self.context.set_slot("reserve", self.kernel.reserve)

    def check_ended(self) -> None:
        """Raise BudgetExceeded if a watchdog has stopped compiled code."""
        stopped = np.flatnonzero(self.states.column(state_layout.STATUS) == state_layout.INTERRUPTED)
        if len(stopped):
            warp = int(stopped[0])
            pc = int(self.states.column(state_layout.PC)[warp])
            raise BudgetExceeded("TIMEOUT", pc, warp=warp, detail="the allowed number of instructions is used up")

    def stage_run(self) -> StageRun:
        """Read the results of a finished run from the state."""
        state, states = self.state, self.states
        state.visible[: 32 * self.per_block] = lanes_of(states.column(state_layout.VISIBLE)).ravel()
        states.to_files(state.files, self.kernel.flow.results, slice(0, self.per_block))
        return StageRun(state, Stats(*self.instructions()), self.kernel.flow.outputs)

    def instructions(self) -> tuple[int, int]:
        """Return the numbers of instructions executed by the run: of threads, and of warps."""
        states = self.states
        return int(states.count(state_layout.THREADS).sum()), int(states.count(state_layout.ISSUED).sum())

    def _before(self, warps: Array | slice) -> None:
        lanes = lanes_of(self.states.column(state_layout.VISIBLE)[warps])
        self.state.visible.reshape(-1, 32)[warps] = lanes


_HEADER = state_layout.CONDITIONS
"""Bytes at the beginning of a record that are set for every run; the bytes after them only if a program reads them."""


class RepeatedStage(StageLaunch):
    """A program that ends by itself and needs no help of the host, which runs again and again on other inputs.

    Inputs are written to `attributes`, a[], or to the rows that `varyings` names; `outputs` is o[] after a run. Other
    changes since the previous run are set by `read_constants` and `use`.
    """

    def __init__(
        self, launch: Launch, kernel: CompiledKernel, stage: Stage, room: int, varyings: Array | None = None
    ) -> None:
        super().__init__(launch, kernel, stage, DeviceMemory(), room, varyings)
        self._how: Executable | None = None
        for slot, (start, _) in self._of_block.items():
            self.context.set_slot(slot, start)
        self._banks = {k: self.context.places(f"c{k}", f"c{k}_size") for k in launch.constants}
        self._records = _own.records
        spaces = self.state.spaces
        self.attributes: Array | None = spaces["a"].rows if isinstance(spaces.get("a"), RowSpace) else None  # type: ignore[attr-defined]
        self.outputs: Array = self.state.files["o"]
        self._batches = batches_function(kernel.target)
        self.job = BatchJob(self._batches.slots)
        written = kernel.flow.outputs if len(self.outputs) else 0
        self.job.set_slots(
            {
                "batch": 32 * room, "context": self.context.numbers, "states": self.states.raw,
                "state_bytes": kernel.state_bytes, "headers": self._headers, "header_row": self._headers.strides[0],
                "outputs": self.outputs, "output_row": self.outputs.strides[0] if written else 0,
                "output_rows": written,
            }
        )  # fmt: skip

    def surround(self, inputs: CompiledFunction, inputs_job: JobSlots, merger: CompiledFunction, merger_job: JobSlots
    ) -> None:  # fmt: skip
        """Set the functions that run before and after each batch, and their jobs."""
        self.job.set_slots(
            {
                "inputs": inputs.address, "inputs_job": inputs_job.address,
                "merger": merger.address, "merger_job": merger_job.address,
            }
        )  # fmt: skip

    def read_constants(self, banks: Mapping[int, Array]) -> None:
        """Set c[] banks to these bytes, by reference."""
        numbers = self.context.numbers
        for k, content in banks.items():
            numbers[self._banks[k]] = address_of(content), len(content)

    @property
    def textures_change(self) -> bool:
        """True if the content of textures may differ although they are the same objects."""
        return bool(self.kernel.known.samples) and self._textures.changes

    def records(self) -> Array:
        """Return the records of the warps, which this thread may have moved since the previous run."""
        if _own.records is not self._records:
            self.states = spare_states(len(self._headers), self.kernel.state_bytes)
            self._records = _own.records
            self.context.set_slot("state", self.states.raw)
            self.job.set_slot("states", self.states.raw)
        return self.states.raw

    def use(self, launch: Launch) -> bool:
        """Use the textures of a launch; return whether compiled code can sample all of them."""
        if not self.kernel.known.samples:
            return True
        if launch is not self.launch or self._textures.changes:
            self._show_textures(launch)
        self.launch = launch
        return self._textures.complete

    def run_lanes(self, lanes: int, covered: Array | None = None) -> int:
        """Run for `lanes` lanes, batch by batch; `covered`: u8, 0 for helpers. Returns how many have finished.

        If that is not all of them, the next batch has to be run by other means, and all batches after it.
        """
        how = self.kernel.choose_executable()
        self.records()
        job = self.job
        if how is not self._how:
            self._how = how
            self.context.set_executable(how, self.kernel.turn if how.resumes else self.kernel.patience)
            job.set_slot("enter", ctypes.cast(how.run, ctypes.c_void_p).value or 0)  # type: ignore[arg-type]
            # Of what is left in memory, results are looked at, and nothing else.
            job.set_slot("register_bytes", 128 * (self.kernel.facts.registers if how.clears else self._results))
            job.set_slot("header_bytes", self._headers.strides[0] if how.clears else _HEADER)
        job.set_slot("lanes", lanes)
        if covered is not None:
            job.set_slot("covered", covered)
        started = time.thread_time() if how.resumes else 0.0
        finished = self._batches.run(job.address, 0, 0, 0)
        if how.resumes:
            self.kernel.count_run_time(how, time.thread_time() - started)
        return finished


def stage_key(launch: Launch, kernel: CompiledKernel, stage: Stage, room: int) -> Hashable:
    """Return a key that is equal for launches which can share one `StageLaunch`."""
    words = tuple(None if rows is None else len(rows) for rows in (stage.attributes, stage.primitive))
    sizes = tuple((k, len(data)) for k, data in launch.constants.items())
    return kernel, launch.local_limit, launch.choices, stage.choices, room, words, stage.varyings is None, sizes


def run_stage(s: StageLaunch, watchdog: Watchdog | Budget | None = None) -> StageRun | None:
    """Run a program to the end of all lanes; None if the reference machine must run it, from the beginning.

    Raises BudgetExceeded if the watchdog's limit is reached.
    """
    if watchdog is not None:
        s.bound_by(watchdog)
    finished = interruptible(s.run, s.bound.stop, brief(s.kernel, s.per_block))
    if s.bound.stop[0]:
        raise KeyboardInterrupt
    if not finished:
        if watchdog is not None:
            s.check_ended()
        return None
    return s.stage_run()


def brief(kernel: CompiledKernel, warps: int) -> bool:
    """Return true if a run of `warps` warps ends soon, whatever they compute."""
    return not kernel.known.has_loops and not kernel.known.needs_host and warps * kernel.known.count <= BRIEF


def first_headers(warps: int, entry: int) -> Array:
    """Return the headers of records whose warps are at the entry of a program with all lanes, u32 [warps, words]."""
    out = np.zeros((warps, state_layout.STACK // 4), np.uint32)
    for offset, value in (
        (state_layout.PC, entry),
        (state_layout.ACTIVE, 0xFFFF_FFFF),
        (state_layout.STATUS, state_layout.READY),
        (state_layout.NUMBER, np.arange(warps)),
    ):
        out[:, offset // 4] = value
    return out


def start_warps(states: WarpStates, stage: Stage, visible: Array) -> None:
    """Set the lanes that run, and those that are not helpers (`visible`, u32 [warps]).

    Everything else stays as in the headers.
    """
    states.column(state_layout.VISIBLE)[:] = visible
    if stage.active is not None or stage.lanes % 32:
        masks = stage.masks()
        for offset, value in (
            (state_layout.ACTIVE, masks),
            (state_layout.EXITED, ~masks),
            (state_layout.STATUS, np.where(masks == 0, state_layout.FINISHED, state_layout.READY)),
        ):
            states.column(offset)[:] = value


def spare_states(warps: int, state_bytes: int, before: WarpStates | None = None) -> WarpStates:
    """Return records for a batch. A thread reuses their memory, because the first access to pages takes time.

    `before`: records for the same program, which may already fit; their l[] is reused.
    """
    records, nbytes = _own.records, warps * state_bytes
    if len(records) < nbytes:
        records = aligned(nbytes)
        if nbytes <= MOST_RECORDS:
            _own.records = records
    elif before is not None and before.raw.base is records.base and len(before.words) == warps:
        return before
    return WarpStates(warps, state_bytes, records[:nbytes], None if before is None else before.local)
