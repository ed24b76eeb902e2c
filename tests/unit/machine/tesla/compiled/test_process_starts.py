"""Processes of a pool launch kernels, whatever way they were started, and fork again; threads launch meanwhile."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from conftest import ROOT
from support.patience import PATIENCE

METHODS = [
    pytest.param(m, marks=pytest.mark.slow) if m == "spawn" else m for m in multiprocessing.get_all_start_methods()
]
"""Servers that fork are spawned themselves, so that `spawn` alone says little more."""

SCRIPT = """
import multiprocessing
import os
import sys
import threading

import numpy as np

import isakit

TEXT = '''
.kernel add
.param data ptr
.param n u32
mov b32 $r1 b32 s[data]
mov b32 $r2 b32 s[n]
cvt u32 $r0 u16 $r0l
shl b32 $r3 $r0 0x2
add b32 $r1 $r1 $r3
ld b32 $r4 g14[$r1]
add b32 $r4 $r4 $r2
st b32 g14[$r1] $r4
exit nop
'''


def made():
    device = isakit.Device("gt200", engine="llvm", tier="interp", threads=2)
    return device.load(isakit.isa("tesla", "gt200").assemble(TEXT))["add"]


kernel = made() if sys.argv[1] == "fork" else None  # one from before, which the processes inherit


def launch(n, kernel):
    data = np.full(32, n, np.uint32)
    kernel.launch(1, 32, data, np.uint32(3))
    assert (data == n + 3).all()


def work(n):
    for one in filter(None, (kernel, made())):
        launch(n, one)
    if hasattr(os, "fork") and n % 2:
        child = os.fork()
        if child == 0:
            launch(n, made())
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    return n


if __name__ == "__main__":
    own, stop = made(), threading.Event()
    launch(1, own)

    def go_on():
        while not stop.wait(0.001):
            launch(5, own)

    threads = [threading.Thread(target=go_on) for _ in range(2)]
    for t in threads:
        t.start()
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(work, range(4), chunksize=1))
    stop.set()
    for t in threads:
        t.join()
"""


@pytest.mark.parametrize("method", METHODS)
def test_a_pool_launches(tmp_path: Path, method: str) -> None:
    path = tmp_path / "pool.py"
    path.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, str(path), method], capture_output=True, text=True, timeout=240, check=False,
                          env=environment)  # fmt: skip
    assert (done.stdout, done.stderr) == ("[0, 1, 2, 3]\n", "")


FORKED = """
import os
import signal
import sys
import threading
import time

import llvmlite.binding as llvm

from isakit.engine.llvm import exclusive  # noqa: F401
from isakit.lean import cached_property

sys.path.insert(0, sys.argv[1])
begun = threading.Event()


class Slow:
    @cached_property
    def value(self):
        begun.set()
        time.sleep(0.3)
        return object()


def load():
    begun.set()
    import takes_long


one = Slow()
def inside():
    with llvm.ffi.lib._lock:
        begun.set()
        time.sleep(0.3)


def parse():
    llvm.parse_assembly("")


for begin, after in ((lambda: one.value, lambda: one.value), (load, load), (inside, parse)):
    begun.clear()
    thread = threading.Thread(target=begin)
    thread.start()
    begun.wait()
    time.sleep(0.02)
    child = os.fork()
    if child == 0:
        signal.alarm(100)
        after()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    thread.join()
    assert one.value is one.value
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_forks_while_another_thread_looks_up_or_imports(tmp_path: Path) -> None:
    """Properties that are made once, imports and llvmlite leave no lock behind that the child would wait for."""
    (tmp_path / "takes_long.py").write_text("import time\ntime.sleep(0.3)\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", FORKED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=5 * PATIENCE, check=False, env=environment)
    assert (done.stdout, done.stderr) == ("0\n0\n0\n", "")
