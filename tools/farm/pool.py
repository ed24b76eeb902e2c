"""Worker processes that run cases, and the parent that watches over them."""

from __future__ import annotations

import faulthandler
import multiprocessing as mp
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from isakit.corpora.workers import work
from support.farm import campaign
from support.farm.campaign import Case, minimised

BATCH_SECONDS = 0.5
"""A worker reports so often."""
START_SECONDS = 120.0
SHRINK_SECONDS = 60.0
MEMORY = 16 << 30
"""Bytes of addresses a worker may have; the address space of a simulated device takes 4 GiB of them."""
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
    covered: set[str] = field(default_factory=set)
    findings: dict[str, Finding] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Cases per second of wall time, all workers together."""
        return self.cases / self.seconds if self.seconds else 0.0

    def add(self, other: Done) -> None:
        """Count another run of the campaign in."""
        self.cases += other.cases
        self.seconds += other.seconds
        self.covered |= other.covered
        self.findings = other.findings | self.findings  # the first of a kind is kept

    def line(self) -> str:
        """The figures in a line."""
        return (f"{self.name}: {self.cases:,} cases in {self.seconds:.0f} s ({self.rate:.1f} per second), "
                f"{len(self.covered)} items covered, {len(self.findings)} findings")  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        found = [{"seed": f.seed, "kind": f.kind, "message": f.message} for f in self.findings.values()]
        return {"campaign": self.name, "cases": self.cases, "seconds": self.seconds, "covered": sorted(self.covered),
                "findings": found}  # fmt: skip


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


def batch(name: str, seeds: Iterable[int], seconds: float, began: Callable[[int], None] = lambda seed: None) -> tuple[
    int, set[str], list[tuple[int, str, str, Case]]
]:  # fmt: skip
    """Run cases for a while: how many, what they covered, (seed, kind, message, case) of those that failed."""
    one, covered, failed, count = campaign(name), set[str](), list[tuple[int, str, str, Case]](), 0
    end = time.monotonic() + seconds
    for seed in seeds:
        began(seed)
        case = one.make(seed)
        kind, message, items = outcome(name, case)
        covered |= set(items)
        count += 1
        if kind:
            failed.append((seed, kind, message, case))
        if time.monotonic() > end:
            break
    return count, covered, failed


def limit_memory() -> None:
    """Let a case that wants all memory be a finding, and not the end of the machine."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or most > MEMORY:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, most))


def worker(name: str, pipe: Connection, current: Any) -> None:
    """Serve a parent: it sends (first seed, step, how many), the worker what `batch` gives."""

    def began(seed: int) -> None:
        current.value = seed

    limit_memory()
    while (job := pipe.recv()) is not None:
        first, step, count = job
        pipe.send(batch(name, range(first, first + step * count, step), BATCH_SECONDS, began))


# --- in the parent ----------------------------------------------------------------------------------------------------
class Worker:
    """A process and the seeds it goes through: `next_seed`, that plus `step`, and so on."""

    def __init__(self, name: str, first: int, step: int) -> None:
        self.name, self.next_seed, self.step, self.busy = name, first, step, False
        self._start()

    def _start(self) -> None:
        context = mp.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.current = context.Value("q", -1)
        self.process = context.Process(target=worker, args=(self.name, theirs, self.current), daemon=True)
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
        while len(done.findings) < MAX_FINDINGS:
            over = time.monotonic() > end
            for k, w in enumerate(workers):
                if not w.busy and not over and left[k] != 0:
                    w.ask(left[k] or 1 << 30)
            if not any(w.busy for w in workers):
                return
            wait([w.pipe for w in workers if w.busy], timeout=1.0)
            for k, w in enumerate(workers):
                if not w.busy:
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
            count, covered, failed = w.pipe.recv()
            w.next_seed, w.busy = w.next_seed + w.step * count, False
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
            [(seed, trouble.partition(" after")[0], trouble, campaign(done.name).make(seed))],
            report,
        )
    return count


def _count(done: Done, count: int, covered: set[str], failed: Iterable[tuple[int, str, str, Case]],
           report: Callable[[Finding], None]) -> None:  # fmt: skip
    done.cases += count
    done.covered |= covered
    for seed, kind, message, case in failed:
        if kind not in done.findings:
            found = Finding(done.name, seed, kind, message, smallest(done.name, kind, case))
            done.findings[kind] = found
            report(found)


CLUSTER_BATCH = 32
"""Cases of a piece of work on a cluster."""
Batch = tuple[int, set[str], list[tuple[int, str, str, Case]]]


def cluster_batch(task: tuple[str, int, int]) -> Batch:
    """A piece of work on a cluster: (campaign, first seed, how many). A case that hangs ends the process."""
    name, first, count = task

    def began(seed: int) -> None:
        faulthandler.dump_traceback_later(campaign(name).seconds + START_SECONDS, exit=True, file=sys.__stderr__)

    limit_memory()
    try:
        return batch(name, range(first, first + count), float("inf"), began)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _on_cluster(address: str, name: str, first: int, cases: int | None, seconds: float, done: Done,
                report: Callable[[Finding], None]) -> None:  # fmt: skip
    """Batches on a Dask cluster whose workers have the project and this folder at hand.

    A worker that dies by itself costs time: its batch is done again. A batch that ends every process which tries it is
    taken apart into its cases, and those that still do are findings.
    """
    end = time.monotonic() + seconds

    def tasks() -> Iterator[tuple[str, int, int]]:
        for start in range(first, first + cases if cases else 1 << 62, CLUSTER_BATCH):
            if time.monotonic() > end or len(done.findings) >= MAX_FINDINGS:
                return
            yield name, start, min(CLUSTER_BATCH, first + cases - start) if cases else CLUSTER_BATCH

    def died(task: tuple[str, int, int], e: BaseException) -> Batch:
        _, start, count = task
        if count > 1:
            apart.extend((name, seed, 1) for seed in range(start, start + count))
            return 0, set(), []
        why = "the process died or hung on the cluster"
        return (
            1,
            set(),
            [(start, why, f"{why}: {str(e).splitlines()[0] if str(e) else e!r}", campaign(name).make(start))],
        )

    apart: list[tuple[str, int, int]] = []
    for result in work(cluster_batch, tasks(), dask=address, failed=died):
        _count(done, *result, report)
    for result in work(cluster_batch, list(apart), dask=address, failed=died):
        _count(done, *result, report)


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
        helper = context.Process(target=_judge, args=(name, theirs), daemon=True)
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
    while True:
        pipe.send(outcome(name, pipe.recv())[0])
