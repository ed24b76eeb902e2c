"""A Tesla machine that reports every instruction and every access: the base of sanitizer and profiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from isakit.engine import Lanes
from isakit.engine.protocol import Array
from isakit.machine.tesla.address_spaces import AddressSpace, ResolvedAccess
from isakit.machine.tesla.gang import Gang
from isakit.machine.tesla.gang_state import State
from isakit.machine.tesla.kernel_code import Op
from isakit.machine.tesla.machine import Machine, executing_lanes

AccessKind = Literal["read", "write", "atomic"]


class ObservedMachine(Machine):
    """Runs like `Machine`.

    While an instruction executes, `op` is that instruction, and `kind` and `value` its access.
    """

    op: Op | None = None
    kind: AccessKind = "read"
    value: object = None

    def before(self, gang: Gang, op: Op, lanes: Lanes, executing: Lanes) -> None:
        """Observe that a gang is about to execute an instruction in some lanes."""

    def behind(self, gang: Gang, op: Op, executing: Lanes) -> None:
        """Observe that a gang has executed an instruction."""

    def accessed(self, name: str, address: Array, size: int, lanes: Lanes, chosen: Array | None,
                 placed: ResolvedAccess) -> None:  # fmt: skip
        """Observe an access of lanes (`chosen` of them, None for all) to a space; `placed`: its addresses."""

    def refused(self, space: str, address: Array, lanes: Lanes) -> bool:
        """Handle a store to a read-only space; return true to skip it and continue."""
        return False

    def _start_wave(self) -> None:
        super()._start_wave()
        state = self.state
        for name, space in list(state.spaces.items()):
            state.spaces[name] = _Watched(self, name, space)
        for name, kind in (("load", "read"), ("store", "write"), ("atomic", "atomic")):
            setattr(state, name, self._telling(state, name, kind))  # type: ignore[arg-type]

    def _telling(self, state: State, name: str, kind: AccessKind) -> Callable[..., Any]:
        inner = getattr(state, name)

        def call(space: str, *args: Any) -> Any:
            self.kind, self.value = kind, args[1] if name == "store" else None
            watched = state.spaces.get(space)
            if watched is not None and not watched.writable and kind != "read":
                lanes = args[-1]
                if self.refused(space, args[0] if name == "store" else args[1], lanes):
                    return None if name == "store" else 0
            return inner(space, *args)

        return call

    def _execute(self, gang: Gang, op: Op) -> list[Gang]:
        self.op = op
        self.state.lanes = lanes = gang.lanes
        executing = executing_lanes(self.state, op, lanes)
        self.before(gang, op, lanes, executing)
        out = super()._execute(gang, op)
        self.behind(gang, op, executing)
        return out


class _Watched:
    """A memory space that reports every access."""

    def __init__(self, machine: ObservedMachine, name: str, space: AddressSpace) -> None:
        self._machine, self._name, self._space = machine, name, space
        self.writable = space.writable

    def __getattr__(self, name: str) -> Any:
        return getattr(self._space, name)

    def place(self, address: Array, size: int, lanes: Lanes, chosen: Array | None) -> ResolvedAccess:
        """See `AddressSpace`."""
        placed = self._space.place(address, size, lanes, chosen)
        self._machine.accessed(self._name, address, size, lanes, chosen, placed)
        return placed


def numbers_of(lanes: Lanes) -> Array:
    """Return the positions of the executing lanes on the machine's lane axis."""
    return lanes.numbers if lanes.active is None else lanes.numbers[lanes.active]
