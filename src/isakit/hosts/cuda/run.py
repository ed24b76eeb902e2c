"""Runs a program from start to end."""

from __future__ import annotations

import gc
import os
import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from isakit.errors import HostError
from isakit.hosts.cuda import program as programs
from isakit.hosts.cuda.device_facts import Card, Version, card
from isakit.hosts.cuda.statistics import Statistics
from isakit.hosts.program_signals import ProgramSignals
from isakit.processes import Reaper

if TYPE_CHECKING:
    from isakit.hosts.cuda.session import LaunchDebugger
    from isakit.hosts.drm.report import Report


@contextmanager
def _drawing(chosen: Card, report: Report, engine: str, tier: str, reaper: Reaper) -> Generator[dict[str, str]]:
    """Provide a card for the program's drawing; yield the variables by which its driver finds it. Raises HostError."""
    from isakit.hosts.drm.card_settings import CardSettings
    from isakit.hosts.drm.chips import CHIPS
    from isakit.hosts.drm.server import DrmServer
    from isakit.hosts.drm.session import NOT_OPENED, environment
    from isakit.hosts.drm.shim_library import LIBRARY

    chip = next((c for c in CHIPS.values() if c.name == chosen.chip), None)
    if chip is None:
        raise HostError(f"what {chosen.name} draws with is not modelled: there is no graphics of {chosen.chip}")
    server = DrmServer(chip, report, CardSettings(engine, tier), reaper=reaper)
    try:
        yield environment(server, LIBRARY.path())
    finally:
        server.close()
    if not server.opened:
        report.fault(NOT_OPENED)


def run(
    program: str,
    arguments: Sequence[str] = (),
    *,
    device: str = "sm_13",
    strict: bool = False,
    fill: int = 0,
    version: Version | None = None,
    engine: str = "auto",
    tier: str = "auto",
    threads: int | None = None,
    trace: bool = False,
    capture: str | None = None,
    limits: bool = True,
    gl: Report | None = None,
    debugger: LaunchDebugger | None = None,
) -> tuple[int, Statistics]:
    """Run a CUDA program; return its exit status (minus a signal's number) and the statistics of its kernels.

    A `debugger` runs the launches.

    With `gl`, a card with the same chip executes the drawing of Mesa's nv50 driver, and reports it there.

    Raises ProgramError, HostError, and IsakitError for a device that does not exist.
    """
    chosen = card(device)
    with ProgramSignals() as signals, Reaper() as reaper, ExitStack() as stack:
        environment = os.environ | reaper.environment
        if gl is not None:
            environment |= stack.enter_context(_drawing(chosen, gl, engine, tier, reaper))
        found = programs.examined(program)
        programs.check_libraries(found, environment)
        # The program starts while the engine is being loaded: it waits at its first call.
        broker, program_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sys.stdout.flush()
        child = signals.start(lambda: programs.start(found, arguments, program_end.fileno(), environment))
        try:
            gc.disable()  # nothing of what is imported here ever goes; looking for it takes time
            from isakit.hosts.cuda.process_device import DeviceOptions
            from isakit.hosts.cuda.server import CudaServer

            gc.freeze()
            gc.enable()
            options = DeviceOptions(
                chosen, engine, tier, threads, strict, fill, version, trace, programs.blocking(environment), limits
            )
            recorder = None
            if capture is not None:
                from isakit.hosts.cuda.capture import LaunchRecorder

                recorder = LaunchRecorder(Path(capture))
            server = CudaServer(options, (broker, program_end), recorder, debugger)
            status = server.serve(child)
        except BaseException:
            child.kill()
            child.wait()
            raise
        if signals.seen:  # what the program has started is to end, too
            reaper.close(orderly=False)
        return status, server.statistics
