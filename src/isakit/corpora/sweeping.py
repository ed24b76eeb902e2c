"""`sweep`: one kernel launched many times with different arguments, on all cores or on a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isakit.corpora.workers import work
from isakit.engine.protocol import Array
from isakit.errors import IsakitError, LaunchError
from isakit.lean import dataclass
from isakit.runtime.kernel import LoadedKernel

if TYPE_CHECKING:
    from isakit.machine.tesla import Stats

_BATCH = 16
"""Launches in one task."""


@dataclass(frozen=True)
class Job:
    """A launch: grid and block as for `kernel.launch`, its arguments, and its options by name."""

    grid: int | Sequence[int]
    block: int | Sequence[int]
    args: Sequence[object] = ()
    options: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class SweepResult:
    """The outcome of a launch.

    Attributes:
        key: names the kernel and the launch by their content; equal launches of a sweep have one key and are run once.
        arrays: the arrays among the arguments, in order, after the launch.
        stats: as `kernel.launch` returns them, None after an error.
        error: the exception of the launch.
    """

    key: str
    arrays: tuple[Array, ...] = ()
    stats: Stats | None = None
    error: IsakitError | None = None


def sweep(
    kernel: LoadedKernel,
    jobs: Iterable[Job | tuple[Any, ...]],
    *,
    processes: int | None = None,
    dask: object = None,
    progress: Callable[[int], None] | None = None,
) -> list[SweepResult]:
    """Launch a kernel many times; every launch begins with a copy of the device's present state.

    Args:
        kernel: a kernel loaded into a device.
        jobs: each a `Job` or a tuple (grid, block, argument, ...). Arrays of the caller are not changed.
        processes: processes on this machine; None: one per core, 1: this one.
        dask: address of a Dask scheduler, or a `distributed.Client`, in place of processes here.
        progress: called with the number of distinct launches executed.

    Returns one result per job, in the order of the jobs, whatever process computed it. A launch that faults is a
    result, too. Raises LaunchError for arguments that are meaningless in other processes (buffers).
    """
    blob = pickle.dumps(kernel)
    of_kernel = sha256(blob).digest()
    wanted: list[str] = []
    distinct: dict[str, Job] = {}
    for j in jobs:
        job = j if isinstance(j, Job) else Job(j[0], j[1], j[2:])
        key = _key(of_kernel, job)
        wanted.append(key)
        distinct.setdefault(key, job)
    done: dict[str, SweepResult] = {}
    function = partial(run_jobs, blob)
    for results in work(function, _batches(distinct.items()), jobs=processes, dask=dask, failed=_lost):
        done.update((r.key, r) for r in results)
        if progress is not None:
            progress(len(done))
    return [done[key] for key in wanted]


_Batch = list[tuple[str, Job]]


def _batches(jobs: Iterable[tuple[str, Job]]) -> Iterator[_Batch]:
    left = iter(jobs)
    while batch := list(islice(left, _BATCH)):
        yield batch


def run_jobs(blob: bytes, batch: _Batch) -> list[SweepResult]:
    """Launch a pickled kernel once for each job."""
    return [_run(blob, key, job) for key, job in batch]


def _run(blob: bytes, key: str, job: Job) -> SweepResult:
    kernel: LoadedKernel = pickle.loads(blob)  # our own: made by `sweep`
    given = [_array(a) for a in job.args]
    copies = {id(a): a.copy() for a in given if a is not None}  # one array given twice stays one
    args: list[Any] = [copies.get(id(a), a) for a in job.args]
    arrays = tuple(copies[id(a)] for a in given if a is not None)
    try:
        return SweepResult(key, arrays, kernel.launch(job.grid, job.block, *args, **job.options))
    except IsakitError as e:
        return SweepResult(key, arrays, error=e)


def _array(value: object) -> Array | None:
    return cast("Array", value) if isinstance(value, np.ndarray) else None


def _lost(batch: _Batch, why: BaseException) -> list[SweepResult]:
    error = LaunchError(f"every process that ran this launch, or one of the {len(batch)} with it, ended: {why}")
    return [SweepResult(key, error=error) for key, _ in batch]


def _key(of_kernel: bytes, job: Job) -> str:
    found = sha256(of_kernel)
    for what in (job.grid, job.block):
        found.update(repr(tuple(np.atleast_1d(what).tolist())).encode())
    for a in job.args:
        array = np.asarray(a) if issubclass(type(a), np.generic) else _array(a)
        if array is not None:
            found.update(f"{type(a).__name__} {array.dtype.str}{array.shape}".encode())
            found.update(np.ascontiguousarray(array).tobytes())
        elif isinstance(a, bool | int | float | bytes):
            found.update(f"{type(a).__name__} {a!r}".encode())
        else:
            raise LaunchError(f"a launch of a sweep takes arrays, numbers and bytes, not {type(a).__name__}")
        found.update(b";")
    found.update(repr(sorted(job.options.items())).encode())
    return found.hexdigest()
