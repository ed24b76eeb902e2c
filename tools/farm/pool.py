"""Worker processes that run cases, and the parent that watches over them."""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import pickle
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from isakit.corpora.workers import work
from isakit.errors import FormatWarning
from support.farm import campaign
from support.farm.campaign import Case, minimised

BATCH_SECONDS = 0.5
"""A worker reports so often."""
START_SECONDS = 120.0
SHRINK_SECONDS = 60.0
MAX_FINDINGS = 20
"""Findings of one kind count once; a campaign with so many kinds ends."""


@dataclass
class Finding:
    """A case that went wrong: `kind` tells findings apart, `case` is as small as it got, None if no case was made."""

    campaign: str
    seed: int
    kind: str
    message: str
    case: Case = None


@dataclass
class Done:
    """What a campaign did."""

    name: str
    cases: int = 0
    seconds: float = 0.0
    busy: float = 0.0
    """Seconds of processor time that cases took; on a machine that others use, seconds of wall time say little."""
    covered: set[str] = field(default_factory=set)
    findings: dict[str, Finding] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Cases per second of wall time, all workers together."""
        return self.cases / self.seconds if self.seconds else 0.0

    @property
    def speed(self) -> float:
        """Cases per second of processor time."""
        return self.cases / self.busy if self.busy else 0.0

    def add(self, other: Done) -> None:
        """Count another run of the campaign in."""
        self.cases += other.cases
        self.seconds += other.seconds
        self.busy += other.busy
        self.covered |= other.covered
        self.findings = other.findings | self.findings  # the first of a kind is kept

    def line(self) -> str:
        """The figures in a line."""
        return (f"{self.name}: {self.cases:,} cases in {self.seconds:.0f} s ({self.rate:.1f} per second, "
                f"{self.speed:.1f} per second of a core), "
                f"{len(self.covered)} items covered, {len(self.findings)} findings")  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        found = [{"seed": f.seed, "kind": f.kind, "message": f.message} for f in self.findings.values()]
        return {"campaign": self.name, "cases": self.cases, "seconds": self.seconds, "busy": self.busy,
                "covered": sorted(self.covered), "findings": found}  # fmt: skip


# --- in the worker ----------------------------------------------------------------------------------------------------
def outcome(name: str, case: Case) -> tuple[str, str, Iterable[str]]:
    """(kind of failure or "", message, what was covered) of a case."""
    try:
        return "", "", campaign(name).check(case)
    except Exception as e:
        frames = [f for f in traceback.extract_tb(e.__traceback__) if "/isakit/" in f.filename] or traceback.extract_tb(
            e.__traceback__
        )
        where = f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].name}" if frames else "?"
        text = str(e).strip().splitlines()
        return f"{type(e).__name__} in {where}", f"{type(e).__name__}: {text[0] if text else ''}", ()


def remade(name: str, seed: int) -> Case:
    """The case of a seed; None where making it fails, which is a finding as well."""
    try:
        return campaign(name).make(seed)
    except Exception:
        traceback.print_exc()
        return None


def batch(name: str, seeds: Iterable[int], seconds: float, began: Callable[[int], None] = lambda seed: None) -> tuple[
    int, float, set[str], list[tuple[int, str, str, Case]]
]:  # fmt: skip
    """Run cases for a while.

    Gives how many, in how much processor time, what they covered, and (seed, kind, message, case) of those that failed.
    """
    covered, failed, count = set[str](), list[tuple[int, str, str, Case]](), 0
    end, busy = time.monotonic() + seconds, _processor_time()
    for seed in seeds:
        began(seed)
        case = remade(name, seed)
        kind, message, items = outcome(name, case) if case is not None else ("no case", "the seed makes no case", ())
        covered |= set(items)
        count += 1
        if kind:
            failed.append((seed, kind, message, case))
        if time.monotonic() > end:
            break
    return count, _processor_time() - busy, covered, failed


def _processor_time() -> float:
    """Seconds of processor time of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def limit_memory(most: int | None) -> None:
    """See `Campaign.memory`."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if most is not None and (hard == resource.RLIM_INFINITY or hard > most):
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def worker(name: str, pipe: Connection, current: Any) -> None:
    """Serve a parent: it sends (first seed, step, how many), the worker what `batch` gives."""

    def began(seed: int) -> None:
        current.value = seed

    limit_memory(campaign(name).memory)
    warnings.simplefilter("ignore", FormatWarning)  # random files contradict themselves
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):  # the parent was told to end, or is gone
        while (job := _received(pipe)) is not None:
            first, step, count = job
            pipe.send(batch(name, range(first, first + step * count, step), BATCH_SECONDS, began))


def _received(pipe: Connection) -> Any:
    """What the parent sends next, None where it is gone."""
    try:
        return pipe.recv()
    except EOFError:
        return None


# --- in the parent ----------------------------------------------------------------------------------------------------
stopping = threading.Event()
"""Set where the campaigns shall end with what they have: a long run that is stopped keeps its figures."""


class Worker:
    """A process and the seeds it goes through: `next_seed`, that plus `step`, and so on."""

    def __init__(self, name: str, first: int, step: int) -> None:
        self.name, self.next_seed, self.step, self.busy = name, first, step, False
        self._start()

    def _start(self) -> None:
        context = mp.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.current = context.Value("q", -1)
        self.process = context.Process(target=worker, args=(self.name, theirs, self.current))  # may have children
        self.process.start()
        theirs.close()
        self.since = time.monotonic()
        self.seen = -1

    def ask(self, most: int) -> None:
        """Let it run its next seeds."""
        self.count = most
        self.pipe.send((self.next_seed, self.step, most))
        self.since, self.busy = time.monotonic(), True

    def trouble(self, seconds: float) -> str:
        """Why nothing will come from it any more."""
        if not self.process.is_alive():
            return f"the process died with {self.process.exitcode}"
        if self.current.value != self.seen:
            self.seen, self.since = self.current.value, time.monotonic()
        if self.seen < 0:  # it is still starting
            seconds += START_SECONDS
        return f"no end after {seconds:.0f} s" if time.monotonic() - self.since > seconds else ""

    def again(self) -> int:
        """A fresh process behind the seed that was in the way, which is returned."""
        seed = self.current.value if self.current.value >= 0 else self.next_seed
        self.stop()
        self.next_seed, self.busy = seed + self.step, False
        self._start()
        return seed

    def stop(self) -> None:
        """End it."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.pipe.close()


def run(name: str, first: int, cases: int | None, seconds: float, jobs: int, dask: str | None,
        report: Callable[[Finding], None]) -> Done:  # fmt: skip
    """Run a campaign from a seed on, for so many cases or so long."""
    done, began = Done(name), time.monotonic()
    if dask:
        _on_cluster(dask, name, first, cases, seconds, done, report)
    else:
        _here(name, first, cases, seconds, jobs, done, report)
    done.seconds = time.monotonic() - began
    return done


def _here(name: str, first: int, cases: int | None, seconds: float, jobs: int, done: Done,
          report: Callable[[Finding], None]) -> None:  # fmt: skip
    patience = campaign(name).seconds
    step = max(1, min(jobs, cases or jobs))
    left = [len(range(k, cases, step)) if cases else None for k in range(step)]
    workers = [Worker(name, first + k, step) for k in range(step)]
    end = float("inf")  # until the first process has started
    try:
        while len(done.findings) < MAX_FINDINGS and not stopping.is_set():
            over = time.monotonic() > end
            for k, w in enumerate(workers):
                if not w.busy and not over and left[k] != 0:
                    w.ask(left[k] or 1 << 30)
            if not any(w.busy for w in workers):
                return
            wait([w.pipe for w in workers if w.busy], timeout=1.0)
            for k, w in enumerate(workers):
                if not w.busy or stopping.is_set():  # a worker that the same Ctrl-C has ended is no finding
                    continue
                count = _harvest(w, done, report, patience)
                end = min(end, time.monotonic() + seconds) if count else end
                if left[k] is not None:
                    left[k] -= count
    finally:
        for w in workers:
            w.stop()


def _harvest(w: Worker, done: Done, report: Callable[[Finding], None], patience: float) -> int:
    """Take what a worker has: how many cases it did."""
    count = 0
    try:
        if w.pipe.poll():
            count, busy, covered, failed = w.pipe.recv()
            w.next_seed, w.busy = w.next_seed + w.step * count, False
            done.busy += busy
            _count(done, count, covered, failed, report)
            return count
    except (EOFError, OSError):
        pass
    trouble = w.trouble(patience)
    if trouble:
        before = w.next_seed
        seed = w.again()
        count = (w.next_seed - before) // w.step
        _count(
            done,
            count,
            set(),
            [(seed, trouble.partition(" after")[0], trouble, remade(done.name, seed))],
            report,
        )
    return count


def _count(done: Done, count: int, covered: set[str], failed: Iterable[tuple[int, str, str, Case]],
           report: Callable[[Finding], None]) -> None:  # fmt: skip
    done.cases += count
    done.covered |= covered
    for seed, kind, message, case in failed:
        if kind not in done.findings:
            small = None if case is None else smallest(done.name, kind, case)
            found = Finding(done.name, seed, kind, message, small)
            done.findings[kind] = found
            report(found)


PIECE_SECONDS = 20.0
"""About how long a piece of work on a cluster takes."""
Piece = tuple[str, int, int]
"""Campaign, first seed, how many."""
_PIECE = "import pickle, sys, pool; pickle.dump(pool.piece(*pickle.load(sys.stdin.buffer)), sys.stdout.buffer)"


def piece(name: str, first: int, count: int) -> Done:
    """A piece of work, in a worker process of its own, so that a crash or a hang is a finding there."""
    return run(name, first, count, float("inf"), 1, None, lambda found: None)


def cluster_piece(task: Piece) -> Done:
    """The same in a process that is no Dask worker: those may not have worker processes, and are not to die."""
    done = subprocess.run([sys.executable, "-c", _PIECE], input=pickle.dumps(task), stdout=subprocess.PIPE, check=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    return cast(Done, pickle.loads(done.stdout))


def _on_cluster(address: str, name: str, first: int, cases: int | None, seconds: float, done: Done,
                report: Callable[[Finding], None]) -> None:  # fmt: skip
    """Pieces of work on a Dask cluster whose workers have the project and this folder in PYTHONPATH.

    A worker that dies costs time and nothing else: its piece is done again.
    """
    end = time.monotonic() + seconds
    last = None if cases is None else first + cases

    def pieces() -> Iterator[Piece]:
        start = first
        while (last is None or start < last) and time.monotonic() < end and len(done.findings) < MAX_FINDINGS:
            if stopping.is_set():
                return
            size = min(4096, max(8, int(done.rate * PIECE_SECONDS)))
            size = size if last is None else min(size, last - start)
            yield name, start, size
            start += size

    def died(task: Piece, e: BaseException) -> Done:
        why = "the workers of the cluster die"
        return Done(name, findings={why: Finding(name, task[1], why, f"{why}: {e}")})

    for part in work(cluster_piece, pieces(), dask=address, failed=died):
        for kind, found in part.findings.items():
            if kind not in done.findings:
                report(found)
        done.add(part)


# --- making findings smaller ------------------------------------------------------------------------------------------
def smallest(name: str, kind: str, case: Case) -> Case:
    """The smallest case found that fails in the same way; every one is tried in a process of its own."""
    one = campaign(name)
    end = time.monotonic() + SHRINK_SECONDS
    context = mp.get_context("spawn")
    ours: Any = None
    helper: Any = None

    def start() -> None:
        nonlocal helper, ours
        ours, theirs = context.Pipe()
        helper = context.Process(target=_judge, args=(name, theirs))
        helper.start()
        theirs.close()

    def fails(candidate: Case) -> bool:
        if time.monotonic() > end:
            return False
        if helper is None or not helper.is_alive():
            start()
        try:
            ours.send(candidate)
            if ours.poll(one.seconds):
                return bool(ours.recv() == kind)
            helper.kill()
            helper.join()
            return kind.startswith("no end")
        except (EOFError, OSError):
            helper.join()
            return kind.startswith("the process died")

    try:
        return minimised(case, one.smaller, fails)
    finally:
        if helper is not None:
            helper.kill()
            helper.join()


def _judge(name: str, pipe: Connection) -> None:
    while (case := _received(pipe)) is not None:
        pipe.send(outcome(name, case)[0])
