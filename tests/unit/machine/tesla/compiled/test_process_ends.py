"""The end of a process, a signal or a fork at any moment while kernels are compiled in the background."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from support.clients.leftovers import ended
from support.clients.processes import SOURCE, python
from support.patience import PATIENCE, until

# A kernel of some hundred instructions, so that LLVM takes its time, and a loop, so that compiling pays.
PREPARE = """
import os, sys, threading, time
import numpy as np
import isakit
from isakit.machine.tesla.compiled.launch import compiled_kernels
compiled_kernels.COMPILE_SECONDS = 0.0
lines = [".kernel k", ".param out ptr", "mov b32 $r1 0x4", "again:"]
lines += [f"{('add', 'xor', 'and', 'or')[k % 4]} b32 $r{2 + k % 9} $r{2 + k % 7} $r{3 + k % 8}" for k in range(SIZE)]
lines += ["add b32 $r1 $r1 0xffffffff", "set $c0 # g u32 $r1 $r20", "(lg $c0) bra #again",
          "mov b32 $r2 b32 s[out]", "exit st b32 g14[$r2] $r1"]
device = isakit.Device("gt200", engine="llvm", threads=1)
kernel = device.load(isakit.isa("tesla", "gt200").assemble("\\n".join(lines)), registers=32)["k"]
out = device.alloc(256)
kernel.launch(1, 32, out)
"""
SIZES = {"small": 40, "big": 600}
FORKED = 150
"""Instructions of a program that is compiled in several processes at once."""
WAITS = [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds the interpreter; kernels are removed before each run."""
    folder = tmp_path_factory.mktemp("cache")
    for size in SIZES.values():
        assert python(f"SIZE = {size}\n{PREPARE}", cache=folder).returncode == 0
    return folder


def program(size: str, then: str) -> str:
    return f"SIZE = {SIZES[size]}\n{PREPARE}\n{then}\n"


def without_kernels(cache: Path) -> None:
    for path in cache.rglob("kernels/*"):
        path.unlink()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("wait", WAITS[::3])
def test_a_process_ends_while_a_kernel_is_compiled(cache: Path, size: str, wait: float) -> None:
    without_kernels(cache)
    started = time.monotonic()
    done = python(program(size, f"time.sleep({wait})"), cache=cache)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - started < PATIENCE


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("end", ["pass", "sys.exit(0)", "raise KeyboardInterrupt", "threading.Thread(target=lambda: "
                                 "kernel.launch(1, 32, out)).start()"])  # fmt: skip
@pytest.mark.parametrize("wait", WAITS)
def test_however_it_ends(cache: Path, size: str, end: str, wait: float) -> None:
    without_kernels(cache)
    done = python(program(size, f"time.sleep({wait})\n{end}"), cache=cache)
    assert done.returncode == (-signal.SIGINT if "Interrupt" in end else 0)
    assert "Fatal" not in done.stderr


@pytest.mark.parametrize("wait", [0.0, 0.2])
def test_an_interrupt_while_a_kernel_is_compiled(cache: Path, wait: float) -> None:
    without_kernels(cache)
    text = program("big", "print('ready', flush=True)\ntime.sleep(600)")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "ISAKIT_CACHE": str(cache)}
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment) as p:  # fmt: skip
        assert p.stdout is not None
        assert p.stdout.readline() == b"ready\n"
        time.sleep(wait)
        p.send_signal(signal.SIGINT)
        _, errors = p.communicate(timeout=PATIENCE)
    assert p.returncode == -signal.SIGINT
    assert b"Fatal" not in errors


COMPILING = """
from isakit.engine.llvm.background import _server
deadline = time.monotonic() + 120
while _server.process is None and time.monotonic() < deadline:
    time.sleep(0.01)
"""
"""Waits until another process compiles."""


def test_nothing_is_left_behind(cache: Path) -> None:
    """The process that compiles has ended with its parent."""
    without_kernels(cache)
    done = python(program("big", COMPILING + "print(_server.process.pid)"), cache=cache)
    assert done.returncode == 0
    assert ended(int(done.stdout))


def test_nothing_is_left_behind_by_a_process_that_is_killed(cache: Path) -> None:
    without_kernels(cache)
    then = "print(_server.process.pid, flush=True)\nos.kill(os.getpid(), 9)"
    done = python(program("big", COMPILING + then), cache=cache)
    assert done.returncode == -signal.SIGKILL
    assert until(lambda: ended(int(done.stdout)))


@pytest.mark.parametrize(("size", "another"), [("small", False), ("big", True)])
def test_another_process_compiles_what_takes_long(cache: Path, size: str, another: bool) -> None:
    without_kernels(cache)
    then = """
from isakit.engine.llvm import background
deadline = time.monotonic() + 120
(found,) = [k for k in compiled_kernels._begun] or [None]
while found is not None and found.compiled is None and time.monotonic() < deadline:
    time.sleep(0.01)
kernel.launch(1, 32, out)
print(background._server.process is not None, device.read(out, np.uint32, 1)[0])
"""
    done = python(program(size, then), cache=cache)
    assert (done.stdout, done.stderr) == (f"{another} 0\n", "")
    assert list(cache.rglob("kernels/*"))


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@needs_fork
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("tier", ["interp", "jit", "auto"])
def test_a_forked_child_launches(cache: Path, tier: str, threads: int) -> None:
    """The child has neither the threads of the pool nor those that compile."""
    then = f"""
device = isakit.Device("gt200", engine="llvm", threads={threads}, tier={tier!r})
kernel = device.load(isakit.isa("tesla", "gt200").assemble("\\n".join(lines)), registers=32)["k"]
out = device.alloc(256)
kernel.launch(8, 32, out)
child = os.fork()
device.write(out, b"\\xff" * 4)
kernel.launch(8, 32, out)
good = device.read(out, np.uint32, 1)[0] == 0
if child == 0:
    os._exit(0 if good else 7)
assert good
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    done = python(program("small", then), cache=cache)
    assert (done.returncode, done.stderr) == (0, "")


@needs_fork
def test_forks_while_a_kernel_is_compiled(cache: Path) -> None:
    without_kernels(cache)
    then = """
import multiprocessing
def work(n):
    text = "\\n".join([*lines[:-1], "add b32 $r1 $r1 0x%x" % n, lines[-1]])
    other = device.load(isakit.isa("tesla", "gt200").assemble(text), registers=32)["k"]
    other.launch(4, 32, out)
    return int(device.read(out, np.uint32, 1)[0])
with multiprocessing.get_context("fork").Pool(3) as pool:
    print(pool.map(work, range(6)))
"""
    done = python(f"SIZE = {FORKED}\n{PREPARE}\n{then}\n", cache=cache)
    assert (done.stdout, done.stderr) == ("[0, 1, 2, 3, 4, 5]\n", "")


@needs_fork
def test_a_child_forked_by_a_thread_during_a_launch_reacts_to_signals(cache: Path) -> None:
    """The main thread's launch defers them, and goes on in the parent only."""
    then = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
text = ["mov b32 $r1 b32 s[turns]", "again:", "add b32 $r1 $r1 0xffffffff", "set $c0 # g u32 $r1 $r20"]
text = ["mov b32 $r20 0x0", *text, "(lg $c0) bra #again", "exit nop"]
kernel = device.load(isakit.isa("tesla", "gt200").assemble("\\n".join([".kernel k", ".param turns u32", *text])))["k"]
codes = []
def fork():
    from isakit.machine import interrupts
    while interrupts._active is None:
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except KeyboardInterrupt:
            os._exit(0)
        os._exit(7)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread = threading.Thread(target=fork)
thread.start()
while thread.is_alive():
    kernel.launch(1, 32, np.uint32(3_000_000))
print(codes)
"""
    done = python(program("small", then), cache=cache)
    assert (done.stdout, done.stderr) == ("[0]\n", "")
