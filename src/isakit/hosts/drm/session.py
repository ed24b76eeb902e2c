"""Runs a program on a simulated card. Source: [nv50] "The way of the data"."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from isakit.errors import HostError
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import CardChip
from isakit.hosts.drm.dump import Dump
from isakit.hosts.drm.kernel import OnChannel
from isakit.hosts.drm.mesa import variables
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.server import DrmServer
from isakit.hosts.drm.shim_library import LIBRARY
from isakit.hosts.program_signals import ProgramSignals
from isakit.processes import Reaper

NOT_OPENED = (
    "it was never opened, nothing ran on the simulated chip. The program must use EGL without a window system, a "
    "window of an X server, or a render node, through Mesa, and be built for this machine"
)
SOCKET_VARIABLE = "ISAKIT_DRM_SOCKET"


def environment(server: DrmServer, shim: Path, mesa: Path | None = None) -> dict[str, str]:
    """Return the environment in which a program finds the card, with the Mesa in a folder or the installed one.

    Raises HostError if the folder has none, and if the X server would draw.
    """
    env = dict(os.environ) if mesa is None else os.environ | variables(mesa)
    before = env.get("LD_PRELOAD")
    env["LD_PRELOAD"] = f"{shim}:{before}" if before else str(shim)
    env[SOCKET_VARIABLE] = str(server.path)
    env.pop("LIBGL_ALWAYS_SOFTWARE", None)
    if env.get("LIBGL_ALWAYS_INDIRECT", "0") not in ("", "0"):
        raise HostError(
            "LIBGL_ALWAYS_INDIRECT: the X server would draw, not the card; indirect GLX is not there, unset it"
        )
    if "DISPLAY" not in env:
        env.setdefault("EGL_PLATFORM", "surfaceless")
    env.setdefault("__GLX_VENDOR_LIBRARY_NAME", "mesa")
    # Programs compiled for one chip must not be found by another; the driver's own cache key has no chip number.
    env.setdefault("MESA_SHADER_CACHE_DISABLE", "true")
    return env


def run(
    command: Sequence[str],
    chip: CardChip,
    report: Report,
    settings: CardSettings,
    *,
    capture: Path | None = None,
    dump: Path | None = None,
    mesa: Path | None = None,
    on_channel: OnChannel | None = None,
) -> int:
    """Run a program to its end; return its exit code, 128 + n if signal n ended it.

    `mesa`: a folder with a Mesa that replaces the installed one. `on_channel`: called with every channel of the card
    before anything is executed in it.

    If the card was never opened, that is a fault in the report, and the exit code is 1 instead of 0.

    Raises HostError if the library cannot be built or the program cannot be started.
    """
    if not sys.platform.startswith("linux"):
        raise HostError("GL programs run on a simulated card on Linux only")
    with ProgramSignals() as signals, Reaper() as reaper:
        shim = LIBRARY.path()
        server = DrmServer(chip, report, settings, capture, None if dump is None else Dump(dump), reaper, on_channel)
        try:
            try:
                around = environment(server, shim, mesa) | reaper.environment
                child = signals.start(lambda: subprocess.Popen(list(command), env=around))
            except OSError as e:
                raise HostError(f"cannot start {command[0]}: {e.strerror}") from e
            code = signals.wait(child)
        finally:
            server.close()
        if signals.seen:  # what the program has started is to end, too
            reaper.close(orderly=False)
    if not server.opened:
        report.fault(NOT_OPENED)
        code = code or 1
    return code if code >= 0 else 128 - code
