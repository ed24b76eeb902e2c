"""Streams and events. A call returns when its work is done, which is one of the orders streams allow."""

from __future__ import annotations

import time

from isakit.hosts.cuda.codes import CudaError, check_flags
from isakit.hosts.cuda.handler_table import handler
from isakit.hosts.cuda.objects import CudaEvent, CudaStream
from isakit.hosts.cuda.session import Session

_SHORTEST = 0.0005
"""Resolution of a chip's events in milliseconds. Programs divide by differences."""
_DISABLE_TIMING = 2


def known_stream(s: Session, stream: int) -> None:
    """Raise CudaError for a handle that is not a stream; 0 is the default stream."""
    if stream:
        s.handles.get(stream, CudaStream)


@handler("cudaStreamCreate")
def create(s: Session) -> int:
    return s.handles.add(CudaStream())


@handler("cudaStreamCreateWithFlags", "cuStreamCreate")
def create_with_flags(s: Session, flags: int) -> int:
    check_flags(flags, 1)
    return s.handles.add(CudaStream(flags))


@handler("cudaStreamCreateWithPriority", "cuStreamCreateWithPriority")
def create_with_priority(s: Session, flags: int, priority: int) -> int:
    return create_with_flags(s, flags)


@handler("cudaStreamGetPriority", "cuStreamGetPriority")
def priority_of(s: Session, stream: int) -> int:
    return s.handles.get(stream, CudaStream).priority if stream else 0


@handler("cudaStreamGetFlags", "cuStreamGetFlags")
def flags_of(s: Session, stream: int) -> int:
    return s.handles.get(stream, CudaStream).flags if stream else 0


@handler("cuStreamGetCtx")
def context_of(s: Session, stream: int) -> int:
    known_stream(s, stream)
    s.context()
    return s.contexts[-1]


@handler("cuStreamGetId")
def id_of(s: Session, stream: int) -> int:
    known_stream(s, stream)
    return stream


@handler("cuStreamGetDevice", "cuStreamIsCapturing")
def nought(s: Session, stream: int) -> int:
    """Return 0: the number of the only device, and the status of a stream that is not being captured."""
    known_stream(s, stream)
    return 0


@handler("cudaStreamDestroy", "cuStreamDestroy", "cuStreamDestroy_v2")
def destroy(s: Session, stream: int) -> None:
    s.handles.drop(stream, CudaStream)


@handler("cudaStreamSynchronize", "cudaStreamQuery", "cuStreamSynchronize", "cuStreamQuery")
def synchronize(s: Session, stream: int) -> None:
    known_stream(s, stream)


@handler("cudaStreamWaitEvent", "cuStreamWaitEvent")
def wait_event(s: Session, stream: int, event: int, flags: int) -> None:
    known_stream(s, stream)
    s.handles.get(event, CudaEvent)
    check_flags(flags)


@handler("cudaEventCreate")
def event_create(s: Session) -> int:
    return s.handles.add(CudaEvent())


@handler("cudaEventCreateWithFlags", "cuEventCreate")
def event_create_with_flags(s: Session, flags: int) -> int:
    check_flags(flags, 7)
    return s.handles.add(CudaEvent(not flags & _DISABLE_TIMING))


@handler("cudaEventRecord", "cuEventRecord")
def record(s: Session, event: int, stream: int) -> None:
    known_stream(s, stream)
    s.handles.get(event, CudaEvent).at = time.perf_counter()


@handler("cuEventRecordWithFlags")
def record_with_flags(s: Session, event: int, stream: int, flags: int) -> None:
    check_flags(flags, 1)
    record(s, event, stream)


@handler("cudaEventQuery", "cudaEventSynchronize", "cuEventQuery", "cuEventSynchronize")
def event_wait(s: Session, event: int) -> None:
    s.handles.get(event, CudaEvent)


@handler("cudaEventDestroy", "cuEventDestroy", "cuEventDestroy_v2")
def event_destroy(s: Session, event: int) -> None:
    s.handles.drop(event, CudaEvent)


@handler("cudaEventElapsedTime", "cuEventElapsedTime")
def elapsed(s: Session, start: int, end: int) -> float:
    """Return the milliseconds between two events."""
    a, b = s.handles.get(start, CudaEvent), s.handles.get(end, CudaEvent)
    if a.at is None or b.at is None or not (a.timed and b.timed):
        raise CudaError("cudaErrorInvalidResourceHandle", "an event without a time")
    passed = 1e3 * (b.at - a.at)
    return passed if abs(passed) >= _SHORTEST else _SHORTEST
