"""Pools of processes and threads that fork, launch, allocate and free at the same time."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from random import Random
from typing import Any

import numpy as np

import isakit
from support.farm.campaign import Campaign, Wrong
from support.farm.launches import LANES, check_sum, launch_sum, running
from support.farm.processes import all_end, ended, forked
from support.runners.compiled import device_on

ENGINES = ("reference", "interp", "jit", "auto")
POOLS = ("fork", "forkserver", "spawn", "executor", "os.fork", "threads")
_FAST = ("fork", "executor", "os.fork", "threads")
"""The others start an interpreter for every process, which takes most of a case."""


def _device(engine: str) -> isakit.Device:
    if engine == "auto":
        return isakit.Device("gt200", engine="llvm", threads=2)
    return device_on(engine, "gt200")


_before: dict[str, isakit.Device] = {}
"""Devices of this process, which forked ones inherit."""


def use(task: tuple[str, int, int]) -> int:
    """Launch, allocate and free at random on a new device and on one from before; go on in a child of this process.

    `task`: engine, seed, how many generations of children.
    """
    engine, seed, depth = task
    r = Random(seed)
    for device in (_device(engine), _before.get(engine)):
        if device is None:
            continue
        held: list[tuple[Any, int]] = []
        for _ in range(r.randrange(1, 4)):
            if held and r.random() < 0.4:
                buffer, mark = held.pop(r.randrange(len(held)))
                if not (device.read(buffer, np.uint8, buffer.nbytes) == mark).all():
                    raise Wrong("a buffer has another content")
                device.free(buffer)
            else:
                buffer, mark = device.alloc(r.randrange(1, 9000)), r.randrange(256)
                device.write(buffer, np.full(buffer.nbytes, mark, np.uint8))
                held.append((buffer, mark))
            start, rounds = r.getrandbits(32), r.randrange(1, 200)
            data = np.full(LANES, start, np.uint32)
            launch_sum(device, data, rounds)
            check_sum(data, start, rounds)
        for buffer, _mark in held:
            device.free(buffer)
    if depth:
        why = ended(forked(lambda: use((engine, seed + 1, depth - 1))))
        if why:
            raise Wrong(f"below another one {why}")
    return seed


def _make(seed: int) -> dict[str, Any]:
    r = Random(seed)
    how = r.choice(POOLS) if seed % 8 == 7 else r.choice(_FAST)
    return {
        "how": how,
        "engine": ENGINES[seed % len(ENGINES)],
        "workers": r.randrange(1, 4),
        "tasks": r.randrange(1, 7),
        "depth": r.choice((0, 0, 1, 2)),
        "threads": r.randrange(3),
        "seed": r.getrandbits(32),
    }


def check_forks(case: dict[str, Any]) -> set[str]:
    """Every launch is right, in whatever process and thread; all processes end."""
    device = _before.setdefault(case["engine"], _device(case["engine"]))
    stop = threading.Event()

    def go_on(number: int) -> None:
        """Launch and allocate on the device that the processes inherit."""
        r = Random(f"{case['seed']} {number}")
        while not stop.is_set():
            buffer = device.alloc(r.randrange(1, 5000))
            data = np.full(LANES, number, np.uint32)
            rounds = r.choice((1, 50, 2000 if case["engine"] != "reference" else 50))
            launch_sum(device, data, rounds)
            check_sum(data, number, rounds)
            device.free(buffer)

    with running(go_on, case["threads"]):
        try:
            tasks = [(case["engine"], case["seed"] + 10 * k, case["depth"]) for k in range(case["tasks"])]
            time.sleep(0.002 * (case["seed"] % 8))
            if _results(case, tasks) != [seed for _, seed, _ in tasks]:
                raise Wrong("a pool returns something else")
        finally:
            stop.set()
    return {f"{case['how']} {case['engine']}"}


def _results(case: dict[str, Any], tasks: list[tuple[str, int, int]]) -> list[int]:
    how, workers = case["how"], case["workers"]
    if how == "os.fork":
        all_end([forked(lambda task=task: use(task)) for task in tasks])
        return [seed for _, seed, _ in tasks]
    if how == "threads":
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(use, tasks))
    if how == "executor":
        with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
            return list(pool.map(use, tasks))
    with multiprocessing.get_context(how).Pool(workers) as pool:
        return pool.map(use, tasks, chunksize=1)


def _less(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, values in (("threads", (0, 1)), ("depth", (0, 1)), ("tasks", (1, 2)), ("workers", (1,))):
        for value in values:
            if value < case[name]:
                yield {**case, name: value}


def _needs() -> str:
    return "" if hasattr(os, "fork") else "processes cannot fork here"


HERE = (
    Campaign(
        "forks",
        "pools of processes and threads that launch, allocate, free and fork meanwhile",
        _make,
        check_forks,
        _less,
        needs=_needs,
        memory=None,
        seconds=300.0,
        fixed=4,
    ),
)
