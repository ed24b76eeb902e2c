"""Snapshots: the whole state of a machine as bytes, to be restored later, in it or in a machine built alike."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import Any

from isakit.errors import LaunchError
from isakit.lean import dataclass


@dataclass(frozen=True)
class Snapshot:
    """The state of a machine between two instructions.

    `machine` is the kind of machine, `data` the state. A snapshot can be kept, pickled and sent, but it is a pickle
    itself: restore only snapshots that come from a source you trust.
    """

    machine: str
    data: bytes

    def content(self, machine: str) -> Any:
        """Return the frozen content. Raises LaunchError for a snapshot of another kind of machine."""
        if machine != self.machine:
            raise LaunchError(f"a snapshot of {self.machine} cannot be restored into {machine}")
        return pickle.loads(self.data)


def frozen(machine: str, content: object) -> Snapshot:
    """Return a snapshot of plain data and arrays."""
    return Snapshot(machine, pickle.dumps(content, pickle.HIGHEST_PROTOCOL))


# --- machines made of parts that know each other ----------------------------------------------------------------------
def freeze_parts(machine: str, parts: Mapping[str, object], leave_out: Mapping[str, frozenset[str]]) -> Snapshot:
    """Return a snapshot of the attributes of some objects.

    Where the attributes refer to one of the objects, the snapshot holds its name. `leave_out`: per object the
    attributes that are not state.
    """
    buffer = io.BytesIO()
    pickler = _Pickler(buffer, parts)
    none: frozenset[str] = frozenset()
    pickler.dump({n: {k: v for k, v in vars(p).items() if k not in leave_out.get(n, none)} for n, p in parts.items()})
    return Snapshot(machine, buffer.getvalue())


def thaw_parts(machine: str, snapshot: Snapshot, parts: Mapping[str, object]) -> None:
    """Restore the attributes in a snapshot. Lists and byte arrays keep their identity; only their content changes."""
    if machine != snapshot.machine:
        raise LaunchError(f"a snapshot of {snapshot.machine} cannot be restored into {machine}")
    for name, attributes in _Unpickler(io.BytesIO(snapshot.data), parts).load().items():
        own = vars(parts[name])
        for key, value in attributes.items():
            old: Any = own.get(key)
            if type(old) is type(value) and isinstance(value, list | bytearray):
                old[:] = value
            else:
                own[key] = value


class _Pickler(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, parts: Mapping[str, object]) -> None:
        super().__init__(buffer, pickle.HIGHEST_PROTOCOL)
        self._names = {id(p): n for n, p in parts.items()}

    def persistent_id(self, obj: object) -> str | None:
        return self._names.get(id(obj))


class _Unpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, parts: Mapping[str, object]) -> None:
        super().__init__(buffer)
        self._parts = parts

    def persistent_load(self, pid: str) -> object:
        return self._parts[pid]
