"""`isakit run` as a process: long kernels on a terminal, interrupts, budgets, and a host without a compiler."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.patience import PATIENCE

pty = pytest.importorskip("pty")
ENDLESS = ".isa tesla\n.kernel endless\n.regs 4\nagain:\n add b32 $r1 $r1 0x1\n bra #again\n exit nop\n"
LOOP = """.isa tesla
.kernel loop
.regs 4
.param out ptr
    mov b32 $r1 0x4000
    mov b32 $r2 0x1
again:
    sub b32 $c0 $r1 $r1 $r2
    (lg $c0) bra #again
    exit nop
"""


def command(kernel: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "isakit", "run", str(kernel), *options]


def source(folder: Path, text: str) -> Path:
    path = folder / "kernel.s"
    path.write_text(text)
    return path


class Terminal:
    """A process whose errors go to a terminal; output is collected in `shown`."""

    def __init__(self, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            arguments,
            stdout=subprocess.PIPE,
            stderr=slave,
            env={**os.environ, "TERM": "xterm"},
        )
        os.close(slave)
        self.shown = ""

    def wait_for(self, pattern: str) -> bool:
        """Whether it shows something that matches before it ends."""
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, self.shown) and time.monotonic() < end:
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.shown += os.read(self.master, 4096).decode(errors="replace")
                except OSError:  # the other end is closed
                    break
        return re.search(pattern, self.shown) is not None

    def finish(self) -> tuple[int, str]:
        """Exit code and standard output."""
        self.wait_for("(?!)")
        out, _ = self.process.communicate(timeout=PATIENCE)
        os.close(self.master)
        return self.process.returncode, out.decode()


@pytest.mark.parametrize("tier", ["interp", "jit"])
def test_ctrl_c_ends_a_long_kernel(tmp_path: Path, tier: str) -> None:
    pytest.importorskip("llvmlite")
    terminal = Terminal(*command(source(tmp_path, ENDLESS), "--block", "64", "--grid", "4", "--tier", tier))
    assert terminal.wait_for("running endless")
    time.sleep(1)  # most often the kernel runs by now; if not, the interrupt comes even earlier
    assert terminal.process.poll() is None
    terminal.process.send_signal(signal.SIGINT)
    code, _ = terminal.finish()
    assert code not in (0, -signal.SIGINT, -signal.SIGKILL)
    assert "Traceback" not in terminal.shown


@pytest.mark.parametrize("tier", ["interp", "jit"])
def test_a_budget_ends_a_long_kernel(tmp_path: Path, tier: str) -> None:
    pytest.importorskip("llvmlite")
    given = command(source(tmp_path, ENDLESS), "--block", "64", "--tier", tier, "--max", "1000000")
    done = subprocess.run(given, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 3
    assert done.stderr.startswith("fault: ")


def test_a_long_launch_shows_its_progress_and_speed(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    size = ["--grid", "4000", "--block", "64", "--arg", "zeros:u32:1", "--tier", "interp", "--stats"]
    terminal = Terminal(*command(source(tmp_path, LOOP), *size))
    code, out = terminal.finish()
    assert code == 0
    assert re.search("running loop.*[1-9][0-9]?%", terminal.shown)
    rate, seconds = (
        re.search(rf"^{name}: (.*)$", out, re.MULTILINE) for name in ("instructions_per_second", "seconds")
    )
    assert rate is not None
    assert seconds is not None
    instructions = 4000 * 64 * (3 + 2 * 0x4000)
    assert f"\ninstructions: {instructions}\n" in f"\n{out}"
    assert int(rate[1]) == pytest.approx(instructions / float(seconds[1]), rel=1e-3)


WITHOUT = """
import sys
sys.modules["llvmlite"] = None
import runpy
"""


def test_without_llvmlite_the_command_warns_once(tmp_path: Path) -> None:
    kernel = source(tmp_path, LOOP.replace("0x4000", "0x4"))
    given = ["isakit", "run", str(kernel), "--block", "32", "--arg", "zeros:u32:1", "--stats"]
    code = f"{WITHOUT}\nsys.argv = {given!r}\nrunpy.run_module('isakit', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("warning: the llvm engine cannot be used (llvmlite is not installed)")
    assert "engine: reference" in done.stdout
    assert "warp_instructions: 11\n" in done.stdout


def test_without_llvmlite_the_library_works_and_warns_once() -> None:
    text = "cvt u32 $r1 u16 $r0l\nshl b32 $r2 $r1 0x2\nadd b32 $r2 b32 s[0x10] $r2\nst b32 g14[$r2] $r1\nexit nop\n"
    code = f"""{WITHOUT}
import numpy as np
import isakit
for chip in ("gt200", "g80"):
    device = isakit.Device(chip)
    kernel = device.load(isakit.isa("tesla", chip).assemble({text!r}), registers=4, params=["ptr"])["main"]
    out = np.zeros(64, np.uint32)
    kernel[1, 64](out)
    assert out.tolist() == list(range(64)) and device.engine == "reference"
try:
    isakit.Device("gt200", engine="llvm")
except isakit.NotModelled as e:
    assert "llvmlite is not installed" in str(e)
else:
    raise SystemExit("engine='llvm' was accepted")
assert isakit.vuc.Core("vp2") is not None
"""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("FallbackWarning") == 1, done.stderr
