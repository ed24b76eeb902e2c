"""One device used by several threads, and interrupts at any moment of a launch."""

from __future__ import annotations

import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import isakit
from support.clients.interrupts import interrupted
from support.patience import PATIENCE

KERNEL = """
.kernel k
.param out ptr
.param turns u32
    mov b16 $r2l u16 s[0xc]
    cvt u32 $r2 u16 $r2l
    shl b32 $r3 $r2 0x7
    shl b32 $r1 $r0 0x2
    add b32 $r3 $r3 $r1
    add b32 $r3 b32 s[out] $r3
    mov b32 $r4 b32 s[turns]
again:
    ld b32 $r5 g14[$r3]
    add b32 $r5 $r5 0x1
    st b32 g14[$r3] $r5
    add b32 $r4 $r4 0xffffffff
    set $c0 # g u32 $r4 $r9
    (lg $c0) bra #again
    exit nop
"""
ENGINES = ["reference", "llvm"]


def load(engine: str, **options: Any) -> tuple[isakit.Device, Any]:
    if engine == "llvm":
        pytest.importorskip("llvmlite")
    device = isakit.Device("gt200", engine=engine, **options)  # type: ignore[reportArgumentType]
    return device, device.load(isakit.isa("tesla", "gt200").assemble(KERNEL), registers=10)["k"]


@pytest.mark.parametrize("engine", ENGINES)
def test_allocations_during_a_launch_of_another_thread(engine: str) -> None:
    """They make the memory grow, which may move it."""
    device, kernel = load(engine, threads=1)
    out = device.alloc(128 * 4)
    turns = 20_000 if engine == "llvm" else 60
    begun = threading.Event()

    def launch() -> None:
        begun.set()
        kernel.launch(4, 32, out, np.uint32(turns))

    for k in range(3):
        begun.clear()
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(launch)
            begun.wait()
            for n in range(8):
                time.sleep(0.0005)
                device.alloc(1 << 13 + n)
            future.result()
        assert (device.read(out, np.uint32, 128) == turns * (k + 1)).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_many_threads_launch_on_one_device(engine: str) -> None:
    device, kernel = load(engine)
    launches = 60 if engine == "llvm" else 6

    def work(seed: int) -> None:
        r = random.Random(seed)
        for _ in range(launches):
            kind = r.randrange(3)
            if kind == 0:
                a = np.full(64, seed, np.uint32)
                kernel[2, 32](a, np.uint32(3))
                assert (a == seed + 3).all()
            elif kind == 1:
                with device.alloc(r.randrange(1, 5000) * 4) as buffer:
                    data = np.arange(buffer.nbytes // 4, dtype=np.uint32) + seed
                    device.write(buffer, data)
                    assert (device.read(buffer, np.uint32, len(data)) == data).all()
            else:
                with device.alloc(256) as buffer:
                    kernel.launch(2, 32, buffer, np.uint32(seed + 1))
                    assert (device.read(buffer, np.uint32, 64) == seed + 1).all()

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(work, seed) for seed in range(8)]:
            future.result()
    assert device.memory.allocations == {}


def _signals(count: int, spacing: float, first: float) -> threading.Thread:
    main = threading.main_thread().ident
    assert main is not None

    def send() -> None:
        time.sleep(first)
        for _ in range(count):
            signal.pthread_kill(main, signal.SIGINT)
            time.sleep(spacing)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.mark.parametrize("engine", ENGINES)
def test_interrupts_leave_nothing_behind(engine: str) -> None:
    """One or two signals, at random moments of a launch: no allocation stays, and the next launch is right."""
    device, kernel = load(engine, threads=2)
    before = signal.signal(signal.SIGINT, _in_launches)
    r = random.Random(4)
    turns = np.uint32(3000 if engine == "llvm" else 12)
    caught = 0
    try:
        for k in range(40):
            a = np.zeros(256, np.uint32)
            thread = _signals(1 + k % 2, r.random() * 0.003, r.random() * 0.01)
            try:
                for _ in range(50):
                    kernel[8, 32](a, turns)
            except KeyboardInterrupt:
                caught += 1
            thread.join()
            assert device.memory.allocations == {}
            b = np.zeros(256, np.uint32)
            kernel[8, 32](b, turns)
            assert (b == turns).all()
    finally:
        signal.signal(signal.SIGINT, before)
    assert caught


def _in_launches(number: int, frame: FrameType | None) -> None:
    """Interrupt what is inside of a launch, and not the test around it.

    Nor what the tools for tests do in it, when the garbage collector calls them: nobody would get the exception.
    """
    while frame is not None and not {"hypothesis", "_pytest"}.intersection(Path(frame.f_code.co_filename).parts):
        if frame.f_code.co_qualname == "LoadedKernel.launch":
            raise KeyboardInterrupt
        frame = frame.f_back


def test_handlers_that_raise_nothing_do_not_end_a_launch() -> None:
    _, kernel = load("llvm")
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        a = np.zeros(256, np.uint32)
        thread = _signals(2, 0.002, 0.002)
        while not seen:
            a[:] = 0
            kernel[8, 32](a, np.uint32(40_000))
            assert (a == 40_000).all()
        thread.join()
        assert signal.getsignal(signal.SIGINT) is not before
    finally:
        signal.signal(signal.SIGINT, before)


def test_time_limits_by_a_signal_end_a_launch() -> None:
    _, kernel = load("llvm", threads=1)

    def late(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    try:
        data, started = np.zeros(256, np.uint32), time.monotonic()
        with pytest.raises(TimeoutError):  # noqa: PT012 (the signal may come at once)
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            kernel[8, 32](data, np.uint32(1 << 31))
        assert time.monotonic() - started < PATIENCE
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_compiled_core_of_firmware_can_be_interrupted() -> None:
    pytest.importorskip("llvmlite")
    core = isakit.vuc.Core("vp2", engine="llvm")
    core.load("start:\n    add $r1 $r1 0x1\n    bra #start\n    add $r2 $r2 0x1\n")
    core.run(30)  # what has to be compiled, before the clock starts
    with interrupted(0.3):
        core.run(10**12)
    passed = core.cycle
    assert passed > 1000
    assert core.r[1] in (core.r[2], (core.r[2] + 1) & 0xFFFF)
    core.run(30)
    assert core.cycle == passed + 30
