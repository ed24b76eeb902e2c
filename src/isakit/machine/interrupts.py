"""Deferred signals, for work that must not be left half done.

An exception of a signal handler (Ctrl-C, a time limit) can otherwise strike between any two instructions of Python: a
launch would leave allocations behind, or workers that still run. Inside of `deferred`, handlers run at once, as always,
but the exceptions they raise are deferred until the block is left; registered runs on compiled code are told to stop.
"""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from isakit.engine.protocol import Array
from isakit.forks import in_child
from isakit.waits import NOTICE_SECONDS

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

try:  # without the enumerations of `signal`, which make up most of the time that a short block takes
    _system: Any = importlib.import_module("_signal")
except ImportError:
    _system = signal

WATCHED = tuple(
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
T = TypeVar("T")
Handler = Callable[[int, FrameType | None], object]


class Deferred:
    """Defers exceptions of signal handlers; `stops` are set to 1 when one is raised.

    Nested blocks share the outermost.
    """

    def __init__(self) -> None:
        self.pending: BaseException | None = None
        self.stops: list[Array] = []
        self.thread = threading.get_ident()
        self._handlers: list[tuple[int, Handler]] = []

    def _received(self, number: int, frame: FrameType | None) -> None:
        for n, handler in self._handlers:
            if n == number:
                try:
                    handler(number, frame)
                except BaseException as e:
                    self.keep(e)

    def keep(self, e: BaseException) -> None:
        """Keep an exception for later, and request the running code to stop."""
        self.pending = e
        for stop in self.stops:
            stop[0] = 1

    def install(self) -> None:
        """Replace the handlers that are functions; the others end the process or do nothing."""
        try:
            for n in WATCHED:
                handler = _system.getsignal(n)
                if callable(handler) and not isinstance(handler, signal.Handlers):
                    self._handlers.append((n, handler))
                    _system.signal(n, self._received)
        except BaseException:
            self.restore()
            raise

    def restore(self) -> None:
        """Restore the previous handlers."""
        for n, handler in self._handlers:
            _system.signal(n, handler)
        self._handlers = []

    def check(self) -> None:
        """Raise the exception that was deferred, if there is one."""
        pending, self.pending = self.pending, None
        if pending is not None:
            raise pending


_active: Deferred | None = None
"""The block the main thread is in; signals are the main thread's."""


@in_child
def _in_child() -> None:
    """Reset the state in a forked process, which is outside of the block: nothing there would raise what waits."""
    global _active
    for n in WATCHED:
        found = getattr(signal.getsignal(n), "__self__", None)
        if isinstance(found, Deferred) and found.thread != threading.get_ident():
            found.restore()
            _active = None


class deferred:  # noqa: N801 - used like a function
    """`with deferred() as d`: see the module. In other threads than the main one it does nothing."""

    __slots__ = ("_own",)

    def __enter__(self) -> Deferred:
        global _active
        on_main = threading.current_thread() is threading.main_thread()
        self._own: Deferred | None = None
        if not on_main or _active is not None:
            return _active if on_main and _active is not None else Deferred()
        found = Deferred()
        found.install()
        self._own = _active = found
        return found

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, where: TracebackType | None) -> None:
        global _active
        found = self._own
        if found is not None:
            _active = None
            found.restore()
            found.check()


def submitted(pool: Executor, work: Callable[[], T]) -> Future[T]:
    """Submit work to a pool of threads; return its future.

    Exceptions of signal handlers are deferred meanwhile: interrupted while it starts a thread, the pool would not know
    the thread, and the process would wait for it forever when it exits.
    """
    with deferred():
        return pool.submit(work)


class allowed:  # noqa: N801 - used like a function
    """Inside of `deferred`: let exceptions through again, for work in Python that can be interrupted anywhere."""

    __slots__ = ("_found",)

    def __enter__(self) -> None:
        global _active
        on_main = threading.current_thread() is threading.main_thread()
        self._found = _active if on_main else None
        if self._found is not None:
            _active = None
            try:
                self._found.restore()
                self._found.check()
            except BaseException:
                self._defer_again(self._found)
                raise

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, where: TracebackType | None) -> None:
        if self._found is not None:
            self._defer_again(self._found)

    def _defer_again(self, found: Deferred) -> None:
        """Replace the handlers again. Exceptions before that are deferred, too, as the outer block relies on it."""
        global _active
        while _active is not found:
            try:
                found.install()
                _active = found
            except BaseException as e:
                found.keep(e)


def _await(future: Future[Any]) -> None:
    """Wait for a future, in less time than `concurrent.futures.wait` needs to start."""
    while not future.done():
        with suppress(TimeoutError):
            future.exception(NOTICE_SECONDS)


def wait_stoppable(
    futures: Sequence[Future[Any]], stop: Array, told: Callable[[], object] | None = None, every: float = 0.2
) -> None:
    """Wait for all; an interrupt sets `stop` and is raised when they have ended. `told` is called periodically.

    Raises the exception of the first one that raised.
    """
    from concurrent.futures import wait  # here: it takes longer to import than a short run takes

    with deferred() as d:
        d.stops.append(stop)
        if d.pending is not None:
            stop[0] = 1  # what struck while the work was prepared found nothing to stop yet
        try:
            while told is not None and wait(futures, every).not_done:
                told()
            for f in futures:
                _await(f)
        except BaseException:
            stop[0] = 1
            wait(futures)
            raise
        finally:
            d.stops[:] = [s for s in d.stops if s is not stop]
        d.check()
        for f in futures:
            f.result()
