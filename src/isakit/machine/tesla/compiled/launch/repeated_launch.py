"""Small launches of a shape that has been launched before: everything but the parameters is prepared.

They run in the calling thread: handing work to another one takes as long as they do, or longer. Nothing interrupts that
thread meanwhile, so they have a bound of instructions; when it is reached, the launch continues like any other.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from isakit.machine.tesla.compiled.launch.compiled_launch import CompiledLaunch, Worker
from isakit.machine.tesla.compiled.launch.worker_context import UNLIMITED
from isakit.machine.tesla.device_memory import DeviceMemory
from isakit.machine.tesla.launch import Launch, Stats
from isakit.machine.tesla.rules.blocks import Begin
from isakit.machine.tesla.rules.turns import Ended

SMALL = 1 << 14
"""Warp instructions of a launch that counts as small if there are several threads."""
BOUND = 1 << 20
"""The same where there is only one, and after how many a launch that was small before goes on in another thread.

It takes some milliseconds, in which an interrupt waits.
"""
KEPT = 256
"""Launches, by program and shape, that are kept for a device's memory."""

Key = tuple[object, ...]


class RepeatedLaunch:
    """A launch that has run before, with the worker that ran it.

    `largest`: warp instructions up to which a launch counts as small.
    """

    def __init__(self, run: CompiledLaunch, worker: Worker, largest: int) -> None:
        self.run, self.worker, self.largest = run, worker, largest
        self.device, self.version = run.device, run.device.version
        self.constants, self.choices = dict(run.launch.constants), run.launch.choices
        worker.bind_launch(run)

    def fits(self, launch: Launch) -> bool:
        """Return whether only parameters and allocations differ; device, program and key are the same."""
        return bool(self.constants == launch.constants)

    def _look_at_allocations(self) -> None:
        """Update the addresses of buffers."""
        bound = self.run.bound
        bound.memory, bound.ranges, self.version = self.device.memory.bytes, self.device.ranges, self.device.version
        for slots in (self.worker.context, self.run.context):
            slots.set_slot("memory", bound.memory)
            slots.set_slot("ranges", bound.ranges)
            slots.set_slot("range_count", len(bound.ranges))
        self.worker.sites[:] = 0

    def again(self, launch: Launch) -> Stats:
        """Run with other parameters. Raises MachineFault."""
        run, context = self.run, self.worker.context
        started = time.perf_counter()
        run.begin(launch)
        if self.version != self.device.version:
            self._look_at_allocations()
        how = run.kernel.choose_executable()
        self.worker.bind_executable(how, run.kernel.patience)
        context.set_budget(BOUND)
        context.set_slot("thread_count", 0)
        context.set_slot("warp_count", 0)
        began = time.thread_time()
        code = how.run(context.address, 0, launch.blocks, Begin.NEW)
        run.kernel.count_run_time(how, time.thread_time() - began)
        if code & 0xFF == Ended.DONE:
            run.stats.instructions, run.stats.warp_instructions = (
                context.get_slot("thread_count"),
                context.get_slot("warp_count"),
            )
        else:
            context.set_budget(UNLIMITED)
            run.finish_from(code, self.worker)
        run.stats.seconds = time.perf_counter() - started
        return run.stats


def key_of(launch: Launch, tier: str, portable: bool) -> Key:
    """Return everything of a launch that must be equal, except for the properties that `RepeatedLaunch.fits` checks."""
    return (
        launch.grid, launch.block, launch.shared_bytes, launch.local_bytes, launch.barriers, len(launch.params),
        launch.entry, launch.flags, launch.limits, id(launch.choices), launch.chip.variant, tier, portable,
        tuple(launch.windows.items()),
    )  # fmt: skip


def acquire_launch(launch: Launch, device: DeviceMemory, key: Key) -> RepeatedLaunch | None:
    """Take a prepared launch out of the cache, for this caller alone; None if there is none."""
    found: RepeatedLaunch | None = device.prepared.pop((launch.code, key), None)
    return found if found is not None and found.fits(launch) else None


def keep_launch(
    launch: Launch, device: DeviceMemory, key: Key, prepared: Callable[[], RepeatedLaunch] | RepeatedLaunch
) -> None:
    """Keep a prepared launch for the next launch of the shape.

    The memory holds it, because it ends with that: held by the program, it would keep memory and program alive forever.
    """
    known = device.prepared
    while len(known) >= KEPT:
        del known[next(iter(known))]  # used least recently
    known[launch.code, key] = prepared if isinstance(prepared, RepeatedLaunch) else prepared()
