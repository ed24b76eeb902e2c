"""OpenGL programs on the simulated card, beside Mesa's two renderers for processors.

Run it: `python bench/gl.py [frames]`. Compiles the programs of examples/gl, runs each with few frames and many, and
prints the processor time of a frame as a Markdown table: of the simulator (program and card together), and of softpipe
and llvmpipe with the ratios to them; a dash stands for what so few frames cannot tell. Needs Mesa, headers of EGL and
GLES, and a C compiler.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import chip_named
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.server import DrmServer
from isakit.hosts.drm.session import environment
from isakit.hosts.drm.shim_library import LIBRARY

EXAMPLES = Path(__file__).parent.parent / "examples" / "gl"
PROGRAMS = ("triangle", "textured", "gears")
PEERS = ("softpipe", "llvmpipe")
SIZE = "256"
TICK = 0.02
"""Seconds: the clock of processes ticks in hundredths."""


def seconds(command: list[str], env: dict[str, str]) -> float:
    """Processor seconds of a command and of this process meanwhile."""
    before = os.times()
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return sum(b - a for a, b in zip(before[:4], after[:4], strict=True))


def frame(program: Path, env: dict[str, str], frames: int) -> float | None:
    """Milliseconds of a frame, without what the beginning costs; None where that is less than runs differ."""
    few, many = 10, 10 + frames
    runs = [(seconds([str(program), SIZE, "/dev/null", str(n)], env)) for n in (few, few, few, many)]
    short = runs[1:3]  # the first one fills caches
    added = runs[3] - min(short)
    return 1000 * added / frames if added > max(TICK, max(short) - min(short)) else None


def shown(milliseconds: float | None, digits: int) -> str:
    """Write a time; a dash for one that so few frames cannot tell."""
    return "-" if milliseconds is None else f"{milliseconds:.{digits}f}"


def main() -> None:
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    server = DrmServer(chip_named("a0"), Report(), CardSettings())
    card = environment(server, LIBRARY.path())
    software = {**os.environ, "LIBGL_ALWAYS_SOFTWARE": "1", "LP_NUM_THREADS": "0", "EGL_PLATFORM": "surfaceless"}
    print("| program | card, ms a frame |" + "".join(f" {peer} | ratio |" for peer in PEERS))
    print("|---|---|" + "---|---|" * len(PEERS))
    with tempfile.TemporaryDirectory() as folder:
        for name in PROGRAMS:
            program = Path(folder, name)
            source = str(EXAMPLES / f"{name}.c")
            subprocess.run(["cc", "-std=c11", "-O2", "-o", program, source, "-lEGL", "-lGLESv2", "-lm"], check=True)
            mine = frame(program, card, frames)
            cells: list[str] = []
            for peer in PEERS:
                other = frame(program, {**software, "GALLIUM_DRIVER": peer}, frames)
                ratio = f"{mine / other:.1f}" if mine is not None and other is not None else "-"
                cells += [shown(other, 2), ratio]
            print(f"| {name} | {shown(mine, 1)} |" + "".join(f" {cell} |" for cell in cells))
    server.close()


if __name__ == "__main__":
    main()
