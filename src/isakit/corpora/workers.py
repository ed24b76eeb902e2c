"""Execution of many independent tasks: here, on all cores, or on a Dask cluster, with results in order.

A worker that dies costs only time: its task is given to another one.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from multiprocessing import get_context
from typing import Any, TypeVar

from isakit.errors import IsakitError

Task = TypeVar("Task")
Result = TypeVar("Result")
_AHEAD = 4
"""Tasks per worker that are submitted before the first is finished."""
_ATTEMPTS = 3


def work(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    *,
    jobs: int | None = None,
    dask: object = None,
    failed: Callable[[Task, BaseException], Result],
) -> Iterator[Result]:
    """Yield `function(task)` for each task, in order.

    Args:
        function: a function of a module, so that other processes can import it.
        tasks: picklable; they are taken as workers become free.
        jobs: processes on this machine; None: as many as there are cores, 1: this one.
        dask: address of a scheduler, or a `distributed.Client`; then `jobs` is not used.
        failed: returns the result of a task that crashed every process that tried it.

    Raises IsakitError if a cluster cannot be reached.
    """
    if dask is not None:
        yield from _on_cluster(function, tasks, dask, failed)
        return
    count = jobs or os.cpu_count() or 1
    if count == 1:
        yield from map(function, tasks)
        return
    yield from _on_processes(function, tasks, count, failed)


def _on_processes(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    count: int,
    failed: Callable[[Task, BaseException], Result],
) -> Iterator[Result]:
    """Yield results from processes here. If one dies, the pool is restarted and unfinished tasks are repeated.

    Which task crashed the process is not known, so afterwards each one is tried alone until the pool is whole.
    """
    source = iter(tasks)
    waiting: deque[Task] = deque()
    context = get_context("spawn")
    suspects = tried = 0
    while True:
        running: deque[tuple[Task, Future[Result]]] = deque()
        try:
            with _pool(count, context) as pool:
                while True:
                    while len(running) < (1 if suspects else count * _AHEAD):
                        if not waiting:
                            waiting.extend(islice(source, 1))
                        if not waiting:
                            break
                        future = pool.submit(function, waiting[0])
                        running.append((waiting.popleft(), future))
                    if not running:
                        return
                    result = running[0][1].result()
                    running.popleft()
                    suspects, tried = max(0, suspects - 1), 0
                    yield result
        except BrokenProcessPool as e:
            died = e
        tried += 1 if suspects else 0
        if tried == _ATTEMPTS and running:
            yield failed(running.popleft()[0], died)
            suspects, tried = suspects - 1, 0
        waiting.extendleft(task for task, _ in reversed(running))
        suspects = max(suspects, len(running))


@contextmanager
def _pool(count: int, context: Any) -> Generator[ProcessPoolExecutor]:
    """Start processes that abandon tasks whose results are no longer needed."""
    pool = ProcessPoolExecutor(count, mp_context=context)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _on_cluster(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    dask: object,
    failed: Callable[[Task, BaseException], Result],
) -> Iterator[Result]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise IsakitError("a cluster needs the package distributed: pip install 'isakit[distributed]'") from None
    own: Any = None
    if isinstance(dask, str):
        try:
            own = distributed.Client(dask, timeout="10s")
        except (OSError, ValueError) as e:
            raise IsakitError(f"no Dask scheduler answers at {dask}: {e}") from None
    client: Any = own if own is not None else dask
    try:
        running: deque[tuple[Task, Any]] = deque()
        source = iter(tasks)
        done = False
        while True:
            cores = sum(client.nthreads().values()) or 1
            while not done and len(running) < cores * _AHEAD:
                try:
                    task = next(source)
                except StopIteration:
                    done = True
                    break
                running.append((task, client.submit(function, task, pure=False, retries=_ATTEMPTS - 1)))
            if not running:
                return
            task, future = running.popleft()
            try:
                yield future.result()
            except distributed.KilledWorker as e:
                yield failed(task, e)
    finally:
        if own is not None:
            own.close()
