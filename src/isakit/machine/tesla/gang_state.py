"""The machine as generated code sees it: register files, memory spaces, other lanes, special registers.

The lane axis spans all resident warps: warp w is lanes 32w to 32w+31. One call serves every warp of a gang.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from isakit.arch.tesla import requests as request
from isakit.arch.tesla.atomics import ATOMIC_OPERATIONS
from isakit.engine import Lanes
from isakit.engine.codegen import compiled_operation
from isakit.engine.protocol import Array
from isakit.errors import IsakitError
from isakit.lean import cached_property
from isakit.machine.tesla.address_spaces import NO_SPACE, READ_ONLY, AccessFault, AddressSpace
from isakit.machine.tesla.device_memory import FlatMemory
from isakit.machine.tesla.launch import Launch
from isakit.sem.requests import MachineValue, covered
from isakit.sem.trace import Attributes

if TYPE_CHECKING:
    from isakit.texture import TextureUnit

if TYPE_CHECKING:
    from isakit.machine.tesla.rules.state import BlockState
    from isakit.machine.tesla.stack import Stack

Pair = tuple[Array, Array]

_ANSWERS = 8
"""Results of the texture unit that are kept; an instruction samples once and takes the components at once."""
_CROWDED = 24
"""Lanes at one address from which on processing them one by one is faster than in rounds."""


class Trap(IsakitError):
    """A fault that the meaning of an instruction raises in some lanes: `kind`, `lane` (position on the lane axis)."""

    def __init__(self, kind: str, lane: int) -> None:
        self.kind, self.lane = kind, lane
        super().__init__(kind)


class UnknownValue(IsakitError):
    """An instruction needs a machine value that this machine does not have, by `name`."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


ValueHandler = Callable[..., Any]
"""(state, lanes, *operands, **attributes) -> the value of a machine value."""


class State:
    """Registers and memory of the resident warps; implements the engine's `LaneState`.

    `files`: "r" [registers, lanes] u32, "a" [8, lanes], "c" [4, lanes], "o" [128, lanes]. `issued` counts the
    instructions of each warp, for $clock. `values` has the available machine values, by name.
    """

    actions: ClassVar[Mapping[str, Callable[[Any, Lanes], None]]] = {}
    """Control actions that only change this state, by name: compiled code leaves them to it."""

    def __init__(self, launch: Launch, warps: int) -> None:
        lanes = 32 * warps
        self.launch, self.lane_count = launch, lanes
        self.files: Mapping[str, Array] = {
            "r": np.zeros((launch.code.registers, lanes), np.uint32),
            "a": np.zeros((8, lanes), np.uint32),
            "c": np.zeros((4, lanes), np.uint32),
            "o": np.zeros((0, lanes), np.uint32),
        }
        self.spaces: dict[str, AddressSpace] = {}
        self.issued = np.zeros(warps, np.int64)
        self.events = np.zeros((3, warps), np.int64)  # branches, divergent branches, pm events
        self.pending = 0
        self.physid = np.zeros(lanes, np.uint32)
        self.block_of_warp = np.zeros(warps, np.int64)
        self.blocks: Sequence[BlockState] = ()
        self.lanes = Lanes.span(0, 0)
        self._asked = 0
        self._answers: deque[tuple[int, list[Array]]] = deque(maxlen=_ANSWERS)  # (number, components)

    @cached_property
    def textures(self) -> TextureUnit:
        """The texture unit, created on the first texture instruction, because few kernels have one."""
        from isakit.texture import TextureUnit

        inf = "nonfp_deriv_inf" in self.launch.flags
        return TextureUnit(self.launch.textures, self.launch.samplers, self.launch.texturing, derivative_inf=inf)

    # --- memory -----------------------------------------------------------------------------------------------------
    def _space(self, name: str, address: Array, lanes: Lanes) -> AddressSpace | None:
        space = self.spaces.get(name)
        if space is None:
            chosen = np.flatnonzero(lanes.mask)
            if len(chosen):
                lane = int(lanes.numbers[chosen[0]])
                raise AccessFault(NO_SPACE, name, lane, int(address[chosen[0]]), f"{name}[] is not bound")
        return space

    def load(self, space: str, address: Array, size: int, attrs: Attributes, lanes: Lanes) -> Any:
        """Return `size` bytes per lane; see `LaneState.load`."""
        where = self._space(space, address, lanes)
        if where is None:
            return (0, 0) if size == 16 else 0
        if lanes.active is None:
            memory, at, good = where.place(address, size, lanes, None)
            got = memory.load(at, size)
            return got if good is None else _only(good, got)
        chosen = np.flatnonzero(lanes.active)
        memory, at, good = where.place(address[chosen], size, lanes, chosen)
        got = memory.load(at, size)
        if good is not None:
            got = _only(good, got)
        return _spread(got, chosen, lanes.count)

    def store(
        self, space: str, address: Array, value: Array | Pair, size: int, attrs: Attributes, lanes: Lanes
    ) -> None:
        """Store the low `size` bytes per lane; if lanes hit the same bytes, the highest lane wins."""
        where = self._space(space, address, lanes)
        if where is None:
            return
        chosen = None if lanes.active is None else np.flatnonzero(lanes.active)
        if chosen is not None:
            address, value = address[chosen], _take(value, chosen)
        self._writable(where, space, address, lanes, chosen)
        memory, at, good = where.place(address, size, lanes, chosen)
        if good is not None:
            at, value = at[good], _take(value, good)
        memory.store(at, value, size)

    @staticmethod
    def _writable(where: AddressSpace, space: str, address: Array, lanes: Lanes, chosen: Array | None) -> None:
        if not where.writable and len(address):
            lane = lanes.numbers[0 if chosen is None else chosen[0]]
            raise AccessFault(READ_ONLY, space, int(lane), int(address[0]), f"{space}[] cannot be written")

    def atomic(
        self,
        space: str,
        op: str,
        address: Array,
        operands: Sequence[Array],
        size: int,
        attrs: Attributes,
        lanes: Lanes,
    ) -> Any:
        """Read, modify and write in ascending lane order; return the old values."""
        where = self._space(space, address, lanes)
        if where is None:
            return 0
        chosen = np.flatnonzero(lanes.mask)
        self._writable(where, space, address[chosen], lanes, chosen)
        memory, at, good = where.place(address[chosen], size, lanes, chosen)
        operands = [o[chosen] for o in operands]
        if good is not None:
            chosen, at, operands = chosen[good], at[good], [o[good] for o in operands]
        old = np.zeros(len(at), np.uint64 if size == 8 else np.uint32)
        if len(at):
            _modify(memory, at, size, op, operands, old)
        return _spread(old, chosen, lanes.count)

    # --- what only the machine knows ---
    def machine(self, name: str, args: Sequence[Array | int], attrs: Attributes, lanes: Lanes) -> Any:
        """Return lane numbers, votes, quads, special registers, flags, locks."""
        function = self.values.get(name)
        if function is None:
            raise UnknownValue(name)
        return function(self, lanes, *args, **attrs)

    def _lane(self, lanes: Lanes) -> Array:
        return (lanes.numbers & 31).astype(np.uint32)

    def _quad(self, lanes: Lanes, value: Array | int, selector: Array | int) -> Array:
        """Return the value of another lane of the quad; for an inactive lane, that of its register."""
        n = np.arange(lanes.count)
        values: Array = np.broadcast_to(value, (lanes.count,))
        return values[(n & ~3) | (selector & 3 if isinstance(selector, int) else selector.astype(np.int64) & 3)]

    def _vote(self, lanes: Lanes, value: Array | int, kind: str) -> Array:
        """Return any or all over the active lanes of each warp."""
        active = lanes.mask.reshape(-1, 32)
        values = np.broadcast_to(np.asarray(value, bool), (lanes.count,)).reshape(-1, 32)
        result = (values & active).any(axis=1) if kind == "any" else (values | ~active).all(axis=1)
        return np.repeat(result, 32)

    def _mp_flag(self, lanes: Lanes, name: str) -> int:
        return int(name in self.launch.flags)

    def _tex(self, lanes: Lanes, texture: int, sampler: int, dx: int, dy: int, dz: int, *sources: Array,
             op: str, cube: bool, quads: bool, mask: int) -> int:  # fmt: skip
        """Sample through the texture unit. Returns the number of the result, by which `_texel` finds it."""
        from isakit.texture.texture_unit import UnboundTexture

        try:
            answer = self.textures.ask(
                op, texture, sampler, sources, offsets=[_signed(d) for d in (dx, dy, dz)], cube=cube, quads=quads,
                wanted=mask,
            )  # fmt: skip
        except UnboundTexture:
            raise Trap("UNBOUND_TEXTURE", int(lanes.numbers[np.flatnonzero(lanes.mask)[0]])) from None
        self._asked += 1
        self._answers.append((self._asked & 0xFFFF_FFFF, answer))
        return self._asked & 0xFFFF_FFFF

    def _texel(self, lanes: Lanes, answer: Array | int, component: int) -> Array:
        wanted = int(np.asarray(answer).flat[0])
        return next(components for number, components in reversed(self._answers) if number == wanted)[component]

    def _sr(self, lanes: Lanes, n: int) -> Array | int:
        """Return a special register. Undefined numbers read 0."""
        if n == 0:
            return self.physid[lanes.sel].copy()
        if n == 1:
            return self._per_warp(lanes, self.issued, self.pending, self.launch.choices.clock_step)
        if n == 3:
            return self.launch.choices.vstride
        if n == 8:
            return self.launch.choices.sample
        if 4 <= n <= 7:
            what = (*self.launch.choices.pm_counters, *("none",) * 4)[n - 4]
            if what == "instructions":
                return self._per_warp(lanes, self.issued, self.pending)
            if what != "none":
                row = ("branches", "divergent_branches", "pm_events").index(what)
                return self._per_warp(lanes, self.events[row])
        return 0

    @staticmethod
    def _per_warp(lanes: Lanes, counts: Array, more: int = 0, step: int = 1) -> Array:
        warps = lanes.numbers[::32] >> 5
        return np.repeat(((counts[warps] + more) * step & 0xFFFF_FFFF).astype(np.uint32), 32)

    def _lock(self, lanes: Lanes, address: Array) -> Array:
        """Try to lock a word of s[]; see `rules.locks`."""
        got = np.zeros(lanes.count // 32, np.uint32)
        for k, (block, control, words, mask) in enumerate(self._lockers(lanes, address)):
            got[k] = control.rules.try_lock(block, control, words, mask)
        return np.unpackbits(got.view(np.uint8), bitorder="little").view(bool)

    def unlock(self, lanes: Lanes, address: Array) -> None:
        """Release the words the warps hold."""
        for _, control, words, mask in self._lockers(lanes, address):
            control.rules.unlock(control, words, mask)

    def _lockers(self, lanes: Lanes, address: Array) -> Iterator[tuple[BlockState, Stack, list[int], int]]:
        """Yield (block, warp, words of its lanes, counted from 1, lanes that execute) for every warp."""
        words = (np.broadcast_to(address, (lanes.count,)).reshape(-1, 32).astype(np.int64) >> 2) + 1
        masks = np.packbits(lanes.mask.reshape(-1, 32), axis=1, bitorder="little").view(np.uint32).ravel()
        for k, number in enumerate((lanes.numbers[::32] >> 5).tolist()):
            block = self.blocks[int(self.block_of_warp[number])]
            index = number - int(np.searchsorted(self.block_of_warp, self.block_of_warp[number]))
            yield block, cast("Stack", block.state[index]), words[k].tolist(), int(masks[k])

    requests: ClassVar[Mapping[MachineValue, ValueHandler]] = {
        request.LANE: _lane,
        request.QUAD: _quad,
        request.VOTE: _vote,
        request.MP_FLAG: _mp_flag,
        request.SPECIAL_REGISTER: _sr,
        request.TRY_LOCK: _lock,
        request.TEX: _tex,
        request.TEXEL: _texel,
    }
    """The machine values available to programs of all types."""
    values: ClassVar[Mapping[str, ValueHandler]] = covered(
        "a compute program", request.REQUESTS.values, requests, refused=[request.VISIBLE, request.INTERP]
    )

    def trap(self, kind: str, lanes_mask: Array) -> None:
        """Raise the fault of the lowest lane marked."""
        raise Trap(kind, int(self.lanes.numbers[np.flatnonzero(lanes_mask)[0]]))


def _signed(v: int) -> int:
    return v - ((v >> 31) << 32)


# --- arrays of values, or pairs of them for 16-byte accesses ---
def _take(value: Array | Pair, chosen: Array) -> Array | Pair:
    return (value[0][chosen], value[1][chosen]) if isinstance(value, tuple) else value[chosen]


def _only(good: Array, value: Array | Pair) -> Array | Pair:
    if isinstance(value, tuple):
        return np.where(good, value[0], 0), np.where(good, value[1], 0)
    return np.where(good, value, 0)


def _spread(value: Array | Pair, chosen: Array, count: int) -> Array | Pair:
    if isinstance(value, tuple):
        low, high = (_spread_array(v, chosen, count) for v in value)
        return low, high
    return _spread_array(value, chosen, count)


def _spread_array(value: Array, chosen: Array, count: int) -> Array:
    out = np.zeros(count, value.dtype)
    out[chosen] = value
    return out


def _modify(memory: FlatMemory, at: Array, size: int, op: str, operands: list[Array], old: Array) -> None:
    """Apply an atomic operation at each address in order; `old` receives the previous content.

    Lanes that hit different addresses are processed together; the n-th hit of an address belongs to the n-th round.
    """
    operation = ATOMIC_OPERATIONS[op]
    widths = (8 * size,) * (1 + len(operands))
    order = np.argsort(at, kind="stable")
    ordered = at[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    hits = np.diff(np.r_[starts, len(at)])
    rounds = int(hits.max())
    if rounds > _CROWDED:
        scalar = compiled_operation(operation, (), widths, "scalar")
        places, rows = at.tolist(), list(zip(*(o.tolist() for o in operands), strict=True))
        current = {int(p): int(v) for p, v in zip(ordered[starts], memory.load(ordered[starts], size), strict=True)}
        seen: list[int] = []
        for place, row in zip(places, rows, strict=True):
            seen.append(current[place])
            current[place] = int(scalar(current[place], *row))
        old[:] = seen
        memory.store(ordered[starts], np.array([current[int(p)] for p in ordered[starts]], old.dtype), size)
        return
    function = compiled_operation(operation, (), widths, "numpy")
    for n in range(rounds):
        lanes = order[starts[hits > n] + n]
        places = at[lanes]
        value = memory.load(places, size)
        old[lanes] = value
        memory.store(places, function(value, *(o[lanes] for o in operands)), size)
