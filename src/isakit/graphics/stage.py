"""Vertex, geometry and fragment programs on the machine that runs kernels: their inputs, outputs and own actions.

All lanes of a run are warps of one block; lane n works on item n (vertex, input primitive, pixel of a quad). Source:
[graphics] 3.1 - 3.3, 3.6 - 3.8, where [graphics] is the graphics chapter of the implementer reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from isakit.arch.tesla import requests as request
from isakit.engine import Control, Lanes
from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.graphics.draw_state import DEFAULT_CHOICES, GraphicsChoices
from isakit.graphics.stage_spaces import RowSpace
from isakit.machine.tesla import control_requests as control
from isakit.machine.tesla.address_spaces import OwnSpace
from isakit.machine.tesla.block import ThreadBlock, Warp
from isakit.machine.tesla.choices import Choices, StageChoices
from isakit.machine.tesla.device_memory import DeviceMemory, FlatMemory
from isakit.machine.tesla.gang import Gang
from isakit.machine.tesla.gang_state import State, Trap, ValueHandler
from isakit.machine.tesla.kernel_code import Op
from isakit.machine.tesla.launch import Launch, Stats
from isakit.machine.tesla.machine import Machine
from isakit.machine.tesla.machine_state import Handler, MachineState
from isakit.machine.tesla.stack import Stack
from isakit.sem.requests import covered

LANES = 1 << 14
"""Lanes of a draw that run together: few enough for their registers to stay in the cache."""
OUTPUT_WORDS = 128
FACE_WORD = 0xFF
"""v[0x3fc]: all ones for a front face, 0 for a back face."""


class Varyings(Protocol):
    """Source of the values of `interp`."""

    def read(self, word: int, flat: bool, centroid: bool, lanes: Lanes) -> Array:
        """Load word `word` of v[] for every selected lane, as u32."""
        ...


@dataclass(frozen=True)
class ConstantVaryings:
    """Inputs that are the same everywhere in a fragment: `rows[word, lane]`, u32. Words past the end read 0."""

    rows: Array

    def read(self, word: int, flat: bool, centroid: bool, lanes: Lanes) -> Array:
        """See `Varyings`."""
        out = np.zeros(lanes.count, np.uint32)
        if word < len(self.rows):
            here = lanes.numbers < self.rows.shape[1]
            out[here] = self.rows[word][lanes.numbers[here]]
        return out


@dataclass
class Emitted:
    """Output of a geometry program, for `limit` vertices per lane.

    Attributes: `words` [limit, OUTPUT_WORDS, lanes] u32, `starts` [limit + 1, lanes] bool (this vertex begins a strip),
    `count` [lanes]. Vertices beyond the limit are dropped (inferred).
    """

    limit: int
    lanes: int
    words: Array = field(init=False)
    starts: Array = field(init=False)
    count: Array = field(init=False)

    def __post_init__(self) -> None:
        self.words = np.zeros((self.limit, OUTPUT_WORDS, self.lanes), np.uint32)
        self.starts = np.zeros((self.limit + 1, self.lanes), bool)
        self.starts[0] = True
        self.count = np.zeros(self.lanes, np.int64)


@dataclass(frozen=True)
class Stage:
    """Work of the lanes of one run.

    Attributes:
        lanes: items; the last warp may be partly empty.
        active: lanes that run, bool [lanes]; None for all.
        attributes: a[] as [words, lanes] u32 (vertex and geometry programs).
        primitive: p[] as [words, lanes] u32 (geometry programs).
        varyings: v[] (fragment programs).
        visible: lanes that are not helpers, bool [lanes]; None for all.
        max_vertices: vertices a lane of a geometry program may emit.
        choices: choices on open questions.
    """

    lanes: int
    active: Array | None = None
    attributes: Array | None = None
    primitive: Array | None = None
    varyings: Varyings | None = None
    visible: Array | None = None
    max_vertices: int = 0
    choices: GraphicsChoices = DEFAULT_CHOICES

    def of_same_kind(self, lanes: int) -> Stage:
        """Return a stage of `lanes` lanes with the same kinds of inputs, all zero."""
        attributes, primitive = (
            None if rows is None else np.zeros((len(rows), 0), np.uint32) for rows in (self.attributes, self.primitive)
        )
        return Stage(
            lanes, attributes=attributes, primitive=primitive, varyings=self.varyings, max_vertices=self.max_vertices,
            choices=self.choices,
        )  # fmt: skip

    @property
    def warps(self) -> int:
        """Warps that hold the lanes."""
        return -(-self.lanes // 32)

    def masks(self) -> Array:
        """Return the lanes of each warp that run, u32 [warps]."""
        active = np.zeros(32 * self.warps, bool)
        active[: self.lanes] = True if self.active is None else self.active
        return np.packbits(active.reshape(-1, 32), axis=1, bitorder="little").view(np.uint32).ravel()


class StageState(State):
    """Registers and spaces of a graphics stage.

    `visible`: bool per lane, False for helpers and discarded lanes; `emitted`: output of a geometry program.
    """

    def __init__(self, launch: Launch, stage: Stage) -> None:
        super().__init__(launch, stage.warps)
        n = self.lane_count
        local = launch.local_limit
        if local:
            bases = np.arange(n) * local
            self.spaces["l"] = OwnSpace("l", FlatMemory(local * n), local, bases, launch.choices)
        for k, data in launch.constants.items():
            self.spaces[f"c{k}"] = OwnSpace(
                f"c{k}", FlatMemory.holding(data), len(data), None, launch.choices, writable=False
            )
        words = OUTPUT_WORDS if stage.varyings is None else 0
        outputs = RowSpace("o", words, n, launch.choices, writable=True)
        self.files = {**self.files, "o": outputs.rows}
        self.spaces["o"] = outputs
        self._inputs: dict[str, Array] = {}
        for name, rows in (("a", stage.attributes), ("p", stage.primitive)):
            if rows is not None:
                space = self.spaces[name] = RowSpace(name, len(rows), n, launch.choices)
                self._inputs[name] = space.rows
        self.visible = np.zeros(n, bool)
        self._begin(stage)

    def begin(self, stage: Stage, outputs: int = OUTPUT_WORDS) -> None:
        """Take the inputs of another stage of the same kind, of as many lanes or fewer.

        o[] is cleared, whose first `outputs` words may have been written; registers and l[] keep their content.
        """
        self.files["o"][:outputs] = 0
        self._begin(stage)

    def _begin(self, stage: Stage) -> None:
        self.stage, n = stage, stage.lanes
        self.visible[:n] = True if stage.visible is None else stage.visible
        self.visible[n:] = False
        if stage.max_vertices or not hasattr(self, "emitted"):
            self.emitted = Emitted(stage.max_vertices, self.lane_count)
        for name, rows in (("a", stage.attributes), ("p", stage.primitive)):
            if rows is not None:
                self._inputs[name][:, : rows.shape[1]] = rows

    def _visible(self, lanes: Lanes) -> Array:
        if self.stage.choices.live_helpers == "fetch":
            return np.ones(lanes.count, bool)
        return self.visible[lanes.sel].copy()

    def _interp(self, lanes: Lanes, address: Array, flat: bool, centroid: bool) -> Array:
        varyings = self.stage.varyings
        if varyings is None:
            return np.zeros(lanes.count, np.uint32)
        addresses = np.broadcast_to(np.asarray(address), (lanes.count,)) >> 2
        first = int(addresses[0])
        if (addresses == first).all():
            return varyings.read(first, flat, centroid, lanes)
        out = np.zeros(lanes.count, np.uint32)
        for word in np.unique(addresses):
            here = addresses == word
            out[here] = varyings.read(int(word), flat, centroid, lanes)[here]
        return out

    def discard(self, lanes: Lanes) -> None:
        """Make the executing lanes invisible."""
        self.visible[lanes.numbers[lanes.mask]] = False

    def emit(self, lanes: Lanes) -> None:
        """Take the contents of o[] as the next vertex of the executing lanes; o[] is cleared."""
        out, e = self.files["o"], self.emitted
        chosen = lanes.numbers[lanes.mask]
        fits = e.count[chosen] < e.limit
        if self.stage.choices.excess == "fault" and not fits.all():
            raise Trap("EMIT_LIMIT", int(chosen[~fits][0]))
        room = chosen[fits]
        e.words[e.count[room], :, room] = out[:, room].T
        e.count[room] += 1
        out[:, chosen] = 0

    def restart(self, lanes: Lanes) -> None:
        """Begin a new strip with the next vertex of the executing lanes."""
        chosen = lanes.numbers[lanes.mask]
        self.emitted.starts[self.emitted.count[chosen], chosen] = True

    values: ClassVar[Mapping[str, ValueHandler]] = covered(
        "a graphics stage",
        request.REQUESTS.values,
        {**State.requests, request.VISIBLE: _visible, request.INTERP: _interp},
    )
    actions: ClassVar[Mapping[str, Callable[[Any, Lanes], None]]] = {
        request.EMIT.name: emit,
        request.RESTART.name: restart,
    }


@dataclass(frozen=True)
class StageRun:
    """Result of a stage: the lanes' `state`, the instructions, and how many words of o[] may not be zero."""

    state: StageState
    stats: Stats
    outputs: int = OUTPUT_WORDS


def _goes_on(gang: Gang, op: Op) -> list[Gang]:
    gang.pc = op.following
    return [gang]


def _state(machine: MachineState) -> StageState:
    state = machine.state
    assert isinstance(state, StageState)
    return state


def answered(launch: Launch, answers: GraphicsChoices) -> Launch:
    """Return the launch with the choices that its program can observe."""
    wanted = _choices(launch.choices, answers.discarded, answers.vstride)
    return launch if wanted == launch.choices else replace(launch, choices=wanted)


def at_sample(launch: Launch, answers: GraphicsChoices, sample: int) -> Launch:
    """Return the launch for one sample of the pixels: $sampleid reads its number."""
    launch = answered(launch, answers)
    return replace(launch, choices=_sampled(launch.choices, sample))


@lru_cache(maxsize=256)
def _sampled(choices: Choices, sample: int) -> Choices:
    known: dict[str, Any] = {f.name: getattr(choices, f.name) for f in fields(StageChoices)}
    known["sample"] = sample
    return StageChoices(**known)


@lru_cache(maxsize=256)
def _choices(choices: Choices, discarded: Literal["run", "end"], vstride: int) -> Choices:
    if (choices.discarded, choices.vstride) == (discarded, vstride):
        return choices
    known = {f.name: getattr(choices, f.name) for f in fields(Choices)}
    return StageChoices(**known, discarded=discarded, vstride=vstride)


def _discard(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
    assert isinstance(machine, StageMachine)
    _state(machine).discard(lanes)
    if machine.launch.choices.discarded == "end":
        killed = gang.masks_of(lanes.mask).tolist()
        return control.each(machine, gang, lambda w, mask: w.control.kill(mask, op.following), killed)
    return _goes_on(gang, op)


def _emit(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
    assert isinstance(machine, StageMachine)
    _state(machine).emit(lanes)
    return _goes_on(gang, op)


def _restart(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
    assert isinstance(machine, StageMachine)
    _state(machine).restart(lanes)
    return _goes_on(gang, op)


class StageMachine(Machine):
    """Runs one program over the items of a stage; `state` holds the results."""

    state: StageState
    handlers: Mapping[str, Handler] = covered(
        "a graphics stage",
        request.REQUESTS.controls,
        {**control.HANDLERS, request.DISCARD: _discard, request.EMIT: _emit, request.RESTART: _restart},
    )

    def __init__(self, launch: Launch, stage: Stage) -> None:
        self.stage = stage
        super().__init__(answered(launch, stage.choices), DeviceMemory())

    def again(self, blocks: int = 1) -> StageMachine:
        """See `Machine`."""
        return StageMachine(self.launch, self.stage)

    def _content(self) -> dict[str, object]:
        e = self.state.emitted
        return super()._content() | {"visible": self.state.visible, "emitted": (e.words, e.starts, e.count)}

    def _put_back(self, content: dict[str, Any]) -> None:
        if "visible" not in content:
            raise LaunchError("a snapshot of a kernel cannot be restored into a graphics stage")
        super()._put_back(content)
        self.state.visible[:] = content["visible"]
        e = self.state.emitted
        e.words[:], e.starts[:], e.count[:] = content["emitted"]

    def _start_wave(self) -> None:
        launch, stage, choices = self.launch, self.stage, self.launch.choices
        self._next_block = self._end_block
        self.state = state = StageState(launch, stage)
        masks = stage.masks()
        block = ThreadBlock(launch, 0, np.zeros(0, np.uint8))
        for i, m in enumerate(masks.tolist()):
            block.add(Warp(state, block, i, i, Stack(m, launch.entry, choices, launch.code.size_at)))
        running = np.flatnonzero(masks)
        block.ended = len(masks) - len(running)
        self.blocks, self.warps = [block], block.warps
        state.blocks = self.blocks
        if len(running):
            self.ready.add(Gang(running, masks[running], launch.entry))
