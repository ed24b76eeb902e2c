"""Traces in Perfetto's protocol buffers: a track per warp with a slice per basic block, and counters.

A step of an execution takes a microsecond, because it is counted and not timed. Field numbers are those of
`protos/perfetto/trace/trace_packet.proto`, `track_event/track_event.proto` and `track_event/track_descriptor.proto`
of Perfetto 49.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from isakit.analysis.control_flow import control_flow
from isakit.debug.panes import source_label
from isakit.debug.session import Session
from isakit.debug.trace.recorder import Steps, TracedStep
from isakit.errors import IsakitError

NANOSECONDS = 1000
"""Nanoseconds of a step in the trace."""
_PACKET = 1
_TIMESTAMP, _SEQUENCE, _EVENT, _FLAGS, _DESCRIPTOR = 8, 10, 11, 13, 60
_TYPE, _TRACK, _CATEGORY, _NAME, _VALUE = 9, 11, 22, 23, 30
_UUID, _TRACK_NAME, _PARENT, _COUNTER = 1, 2, 5, 8
_BEGIN: Final = 1
_END: Final = 2
_INSTANT: Final = 3
_SAMPLE: Final = 4
_ONLY_SEQUENCE = 1
_CLEARED = 1


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, value: int | str | bytes) -> bytes:
    """Encode a field of a message: a number, a string, or a nested message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


class _Tracks:
    """Tracks by name, described on first use."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}
        self.fresh: list[bytes] = []

    def number(self, name: str, parent: int = 0, *, counter: bool = False) -> int:
        """Return a track's number."""
        found = self._numbers.get((parent, name))
        if found is None:
            found = self._numbers[parent, name] = len(self._numbers) + 1
            about = field(_UUID, found) + field(_TRACK_NAME, name) + (field(_PARENT, parent) if parent else b"")
            self.fresh.append(field(_DESCRIPTOR, about + (field(_COUNTER, b"") if counter else b"")))
        return found


def perfetto(session: Session, limit: int, name: str = "program") -> Iterator[bytes]:
    """Yield the bytes of a trace of the session from its position on, `limit` steps at most, piece by piece.

    The steps are those of `Session`: one block after the other, each warp until it waits.
    """
    first = True
    for content in _events(session, limit, name):
        flags = field(_FLAGS, _CLEARED) if first else b""
        first = False
        yield field(_PACKET, content + field(_SEQUENCE, _ONLY_SEQUENCE) + flags)


def _events(session: Session, limit: int, name: str) -> Iterator[bytes]:
    tracks = _Tracks()
    steps = Steps(session.execution, limit)
    blocks = _Blocks(session)
    root = tracks.number(f"{name} ({session.target.isa} {session.target.variant})")
    moved: dict[tuple[str, str], int] = {}
    lanes: dict[int, int] = {}
    current: tuple[int, str] | None = None  # the track that a slice is open on, and the block it is of
    time = position = session.position

    def event(kind: int, track: int, *more: bytes) -> bytes:
        content = field(_TIMESTAMP, time * NANOSECONDS)
        return content + field(_EVENT, field(_TYPE, kind) + field(_TRACK, track) + b"".join(more))

    def described() -> Iterable[bytes]:
        out, tracks.fresh = tracks.fresh, []
        return out

    for step in steps:
        # Steps that are not counted stand at the same position; they take no time in the trace.
        position = step.position
        time = max(time, position)
        track = tracks.number(_track(step), root)
        block, begins = blocks.at(step.address)
        if current is not None and (current != (track, block) or begins):
            yield event(_END, current[0])
            current = None
        counter = tracks.number("active lanes", track, counter=True)
        yield from described()
        if lanes.get(counter) != step.active:
            lanes[counter] = step.active
            yield event(_SAMPLE, counter, field(_VALUE, step.active))
        if current is None:
            yield event(_BEGIN, track, field(_NAME, block), field(_CATEGORY, "block"))
            current = track, block
        changed = set[tuple[str, str]]()
        for t in step.touches:
            key = t.space, "read" if t.access == "read" else "written"
            moved[key] = moved.get(key, 0) + t.size
            changed.add(key)
        for space, way in sorted(changed):
            memory = tracks.number(f"{space}[] bytes {way}", root, counter=True)
            yield from described()
            yield event(_SAMPLE, memory, field(_VALUE, moved[space, way]))
        time = position + 1
        if step.waits:
            yield event(_END, track)
            yield event(_INSTANT, track, field(_NAME, "waits"), field(_CATEGORY, "wait"))
            current = None
    if current is not None:
        yield event(_END, current[0])
    yield event(_INSTANT, root, field(_NAME, steps.end), field(_CATEGORY, "end"))


def _track(step: TracedStep) -> str:
    return "invocations" if step.group.startswith("invocation") else step.group


class _Blocks:
    """Names of basic blocks."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._flow = control_flow(session.program, sorted(set(session.labels.values())))
        self._known: dict[int, tuple[str, bool]] = {}

    def at(self, address: int) -> tuple[str, bool]:
        """Return the name of the block of an instruction, and whether it is the block's first one."""
        found = self._known.get(address)
        if found is None:
            try:
                start = self._flow.block_at(address).address
            except (KeyError, IsakitError):
                start = address
            name = source_label(self._session, start) or hex(start)
            found = self._known[address] = name, start == address
        return found


__all__ = ["NANOSECONDS", "field", "perfetto"]
