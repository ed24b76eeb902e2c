"""Launches on compiled code: earlier ones repeated, with the host's help if needed, or all blocks from the start."""

from __future__ import annotations

import os

from isakit.machine.tesla.compiled.launch.compiled_kernels import kernel_of
from isakit.machine.tesla.compiled.launch.compiled_launch import CompiledLaunch, acquire_worker
from isakit.machine.tesla.compiled.launch.host_assist import finish
from isakit.machine.tesla.compiled.launch.repeated_launch import (
    BOUND,
    SMALL,
    RepeatedLaunch,
    acquire_launch,
    keep_launch,
    key_of,
)
from isakit.machine.tesla.compiled.launch.worker_context import Bound
from isakit.machine.tesla.device_memory import DeviceMemory
from isakit.machine.tesla.launch import Launch, Stats
from isakit.machine.tesla.machine import Machine


def execute(
    launch: Launch,
    device: DeviceMemory,
    max_instructions: int | None,
    threads: int | None = None,
    tier: str = "auto",
    portable: bool = False,
) -> Stats:
    """Run a launch on compiled code. Raises NotCompiled if the reference engine is needed."""
    key = None if max_instructions is not None else key_of(launch, tier, portable)
    prepared = None if key is None else acquire_launch(launch, device, key)
    if key is not None and prepared is not None:
        stats = prepared.again(launch)
        if stats.warp_instructions <= prepared.largest:
            keep_launch(launch, device, key, prepared)
        return stats
    kernel = kernel_of(launch, tier, portable)
    bound = Bound(launch, device)
    helped = kernel.known.needs_host or (kernel.known.has_served and not bound.textures(kernel).complete)
    if helped and max_instructions is None and not (kernel.blocks_wait and launch.blocks > 1):
        # Blocks side by side, so that the host serves many at once; one by one where the order of atomics shows.
        machine = Machine(launch, device, 1) if kernel.known.has_atomics else Machine(launch, device)
        finish(machine, tier, portable)
        return machine.stats
    run = CompiledLaunch(launch, device, kernel, max_instructions, bound)
    threads = run.useful(threads or os.cpu_count() or 1)
    stats = run.execute(threads)
    largest = SMALL if threads > 1 else BOUND
    if key is not None and stats.warp_instructions <= largest and not kernel.blocks_wait and not kernel.known.samples:
        keep_launch(launch, device, key, lambda: RepeatedLaunch(run, acquire_worker(run), largest))
    return stats
