"""Open pages and their workers: one process each, started when the page opens, bounded, ended when it closes."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from isakit.cli.common import echo
from isakit.errors import IsakitError
from isakit.json_text import JsonObject
from isakit.processes import Reaper, TemporaryFolder
from isakit.sandbox import variables
from isakit.web.limits import Limits

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_VARIABLES = (
    "HOME", "LANG", "LC_ALL", "XDG_CACHE_HOME", "ISAKIT_CACHE", "PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE",
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
)  # fmt: skip
"""Variables that a worker has of the server's environment, besides those that every program needs."""
_WATCHED = 0.25
"""Seconds between two looks at a worker's memory."""


_MOST_COMPLAINTS = 1 << 16
"""Bytes of what a worker writes to its standard error that are shown."""


class WorkerEnded(IsakitError):
    """The worker of a page is gone; the message says why."""


class TabWorker:
    """A process that answers requests one after the other.

    Args:
        limits: of what it may use.
        place: a folder in which it gets one of its own, for the files of the page and all temporary ones.
        environment: variables it and what it starts must have.
    """

    def __init__(self, limits: Limits, place: Path, environment: Mapping[str, str]) -> None:
        self.limits, self._place, self._environment = limits, place, environment
        self._ended: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self._asked = 0
        self._why = ""

    async def start(self) -> None:
        """Start the process."""
        fields = json.dumps(dataclasses.asdict(self.limits))
        folder = tempfile.mkdtemp(dir=self._place)
        own = {"PYTHONUNBUFFERED": "1", "TMPDIR": folder, **self._environment}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "isakit.web.worker", fields, str(os.getpid()),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            limit=self.limits.answer + 1024, start_new_session=True, env={**variables(*_VARIABLES), **own},
        )  # fmt: skip
        self._ended = asyncio.create_task(self._removed(self._process, folder))

    async def _removed(self, process: asyncio.subprocess.Process, folder: str) -> None:
        """Wait for the end of the process, however it comes; nothing of it stays."""
        relaying = asyncio.create_task(relay(process.stderr))
        await process.wait()
        _kill_group(process.pid)
        await asyncio.wait([relaying], timeout=0.1)
        relaying.cancel()
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    @property
    def running(self) -> bool:
        """True if the process is there."""
        return self._process is not None and self._process.returncode is None

    @property
    def left(self) -> bool:
        """True if something of it is left: its process, or its folder."""
        return self._ended is not None and not self._ended.done()

    @property
    def pid(self) -> int:
        """Id of the worker's process."""
        return 0 if self._process is None else self._process.pid

    async def ask(self, verb: str, fields: JsonObject) -> JsonObject:
        """Send one request and return its answer.

        It is interrupted after the time limit; a worker that does not react is ended: raises Ended.
        """
        async with self._lock:
            p = self._process
            if p is None or p.returncode is not None or p.stdin is None or p.stdout is None:
                raise WorkerEnded(self._why or "the worker of this page has ended")
            self._asked += 1
            watch = asyncio.create_task(self._watch())
            try:
                p.stdin.write(json.dumps({"id": self._asked, "verb": verb, "fields": fields}).encode() + b"\n")
                await p.stdin.drain()
                line = await self._line(p.stdout)
            except (BrokenPipeError, ConnectionResetError, ValueError):
                line = b""
            finally:
                watch.cancel()
            if not line:
                self.end(self._why or "the worker of this page ended unexpectedly")
                raise WorkerEnded(self._why)
            return json.loads(line)

    async def _line(self, out: asyncio.StreamReader) -> bytes:
        reading = asyncio.ensure_future(out.readline())
        for seconds in (self.limits.seconds, self.limits.grace):
            done, _ = await asyncio.wait([reading], timeout=seconds)
            if done:
                return reading.result()
            self.interrupt()
        reading.cancel()
        self._why = f"the request took more than {self.limits.seconds:.0f} s and could not be interrupted"
        return b""

    async def _watch(self) -> None:
        """End the worker when it takes more memory than it may."""
        while True:
            await asyncio.sleep(_WATCHED)
            used = resident(self.pid)
            if used > self.limits.memory:
                self.end(f"the program took more than {self.limits.memory >> 20} MB of memory")
                return

    def interrupt(self) -> None:
        """Interrupt the call that the worker executes."""
        if self._process is not None and self.running:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)

    def end(self, why: str = "the page is closed") -> None:
        """End the process, and what it may have started."""
        self._why = self._why or why
        if self._process is not None and self.running:
            _kill_group(self._process.pid)

    async def gone(self) -> None:
        """Wait until the process has ended and its folder is removed."""
        if self._ended is not None:
            await self._ended


async def relay(errors: asyncio.StreamReader | None) -> None:
    """Show what a worker complains of. It has no terminal itself: it could read there what its user types."""
    left = _MOST_COMPLAINTS
    while errors is not None and (data := await errors.read(1 << 12)):
        echo(data[:left].decode("utf-8", "replace"), nl=False, err=True)
        left -= len(data[:left])


def _kill_group(number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(number, signal.SIGKILL)


def resident(pid: int) -> int:
    """Return bytes of memory a process has in use; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


class Tab:
    """A page: its worker, which is started anew after it was ended, and who is connected."""

    def __init__(self, worker: TabWorker) -> None:
        self.id = secrets.token_urlsafe(12)
        self.worker = worker
        self.replacing = asyncio.Lock()
        self.connections = 0
        self.leaving: asyncio.TimerHandle | None = None


class Tabs:
    """All open pages. One worker is started in advance, so that a page need not wait for it."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._tabs: dict[str, Tab] = {}
        self._opening = 0
        self._workers: set[TabWorker] = set()
        self._home: tuple[TemporaryFolder, Reaper] | None = None
        self._ending = asyncio.Event()
        self._spare: asyncio.Task[TabWorker] | None = None

    def __len__(self) -> int:
        return len(self._tabs)

    def prepare(self) -> None:
        """Start the worker of the next page."""
        if self._spare is None:
            self._spare = asyncio.ensure_future(self._started())

    async def _started(self) -> TabWorker:
        if self._home is None:
            reaper = Reaper()
            self._home = TemporaryFolder(reaper), reaper
        folder, reaper = self._home
        worker = TabWorker(self.limits, folder.path, reaper.environment)
        await worker.start()
        self._workers = {w for w in self._workers if w.left} | {worker}
        return worker

    def running(self) -> list[TabWorker]:
        """Return the workers that run: of every page one, and that of the next page."""
        return [w for w in self._workers if w.running]

    async def open(self) -> Tab:
        """Open a new page. Raises IsakitError when there are too many."""
        if len(self._tabs) + self._opening >= self.limits.tabs:
            raise IsakitError(f"{len(self._tabs)} pages are open; close one")
        self.prepare()
        spare, self._spare = self._spare, None
        assert spare is not None
        self._opening += 1
        try:
            worker = await spare
            tab = Tab(worker if worker.running else await self._started())
        finally:
            self._opening -= 1
        self._tabs[tab.id] = tab
        self.prepare()
        self._leave(tab, self.limits.arrive)
        return tab

    def __getitem__(self, tab: str) -> Tab:
        if tab not in self._tabs:
            raise WorkerEnded("this page was closed; reload it")
        return self._tabs[tab]

    async def ask(self, tab: Tab, verb: str, fields: JsonObject) -> JsonObject:
        """Send one request of a page. A worker that had to be ended is replaced: the page is told what it lost."""
        worker = tab.worker
        try:
            return await worker.ask(verb, fields)
        except WorkerEnded as e:
            await self._replace(tab, worker)
            return {"error": f"{e}; programs and launches of this page are gone", "kind": "ended"}

    async def _replace(self, tab: Tab, ended: TabWorker) -> None:
        """Give a page a new worker for one that has ended, once: several requests may have waited for it."""
        async with tab.replacing:
            if tab.id not in self._tabs or tab.worker is not ended:
                return
            worker = await self._started()
            tab.worker = worker
            if tab.id not in self._tabs:  # closed meanwhile, together with the old one
                worker.end()

    async def alive(self, tab: Tab) -> AsyncIterator[bytes]:
        """Stream as long as the page is open; when the stream ends, so does the page, a little later."""
        tab.connections += 1
        if tab.leaving is not None:
            tab.leaving.cancel()
        try:
            while tab.id in self._tabs and not self._ending.is_set():
                yield b"\n"
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ending.wait(), 2)
        finally:
            tab.connections -= 1
            self._leave(tab, self.limits.leave)

    def _leave(self, tab: Tab, seconds: float) -> None:
        if not tab.connections:
            tab.leaving = asyncio.get_running_loop().call_later(seconds, self.close, tab)

    def close(self, tab: Tab) -> None:
        """Close a page: its worker ends."""
        if not tab.connections:
            self._tabs.pop(tab.id, None)
            tab.worker.end()

    def end_streams(self) -> None:
        """End all streams of `alive`: the server ends."""
        self._ending.set()

    async def close_all(self) -> None:
        """End every worker, and remove the files of all pages."""
        spare, self._spare = self._spare, None
        if spare is not None:
            await spare
        self._tabs.clear()
        for w in self._workers:
            w.end("the server ends")
        for w in self._workers:
            await w.gone()
        home, self._home = self._home, None
        if home is not None:
            folder, reaper = home
            reaper.close()
            folder.close()
