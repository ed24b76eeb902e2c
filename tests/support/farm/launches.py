"""Launches from several threads on one device."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import Any

import numpy as np

import isakit
from support.farm.campaign import Campaign, Wrong
from support.runners.compiled import device_on

SUM = """
.kernel sum
.regs 8
.shared 0x20
.param data ptr
.param rounds u32
mov b32 $r1 $r0
cvt u32 $r0 u16 $r0l
shl b32 $r2 $r0 0x2
add b32 $r2 b32 s[data] $r2
ld b32 $r3 g14[$r2]
mov b32 $r4 b32 s[rounds]
mov b32 $r5 0x1
again:
add b32 $r3 $r3 $r4
sub b32 $c0 $r4 $r4 $r5
(lg $c0) bra #again
st b32 g14[$r2] $r3
exit nop
"""
"""Adds rounds + ... + 2 + 1 to every element."""
ENGINES: tuple[str, ...] = ("reference", "interp", "jit")
LANES = 64


@cache
def sum_program(unlike: int = 0) -> Any:
    """The program, which is assembled once; for each number `unlike` it is another one that does the same."""
    return isakit.isa("tesla", "gt200").assemble(
        SUM.replace("again:", f"mov b32 $r6 {unlike:#x}\nagain:", bool(unlike))
    )


def launch_sum(device: isakit.Device, data: Any, rounds: int, unlike: int = 0, **options: Any) -> None:
    """Launch the program on an array of one number."""
    device.load(sum_program(unlike))["sum"].launch(1, LANES, data, np.uint32(rounds), **options)


def check_sum(data: Any, start: int, rounds: int) -> None:
    """Raise Wrong where a launch has left something else than it should."""
    want = start + rounds * (rounds + 1) // 2 & 0xFFFF_FFFF
    if not (data == want).all():
        raise Wrong(f"a launch leaves {int(data[data != want][0]):#x} instead of {want:#x}")


@contextmanager
def running(work: Callable[[int], None], count: int) -> Generator[None]:
    """Threads that each do some work with their number; waited for at the end, where the first error is raised."""
    errors: list[BaseException] = []

    def one(number: int) -> None:
        try:
            work(number)
        except BaseException as e:  # to be raised where it is seen
            errors.append(e)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(count)]
    for t in threads:
        t.start()
    try:
        yield
    finally:
        for t in threads:
            t.join()
    if errors:
        raise errors[0]


def _make_threads(seed: int) -> dict[str, Any]:
    r = Random(seed)
    return {
        "engine": ENGINES[seed % len(ENGINES)],
        "threads": r.randrange(2, 7),
        "each": r.randrange(2, 8),
        "seed": seed,
    }


def check_threads(case: dict[str, Any]) -> set[str]:
    """Threads that allocate, launch, read and free on one device do not disturb each other."""
    device = device_on(case["engine"], "gt200")

    def work(number: int) -> None:
        r = Random(f"{case['seed']} {number}")
        for _ in range(case["each"]):
            start, rounds = r.getrandbits(32), r.randrange(1, 60)
            own = device.alloc(r.randrange(1, 5000))
            mark = np.full(own.nbytes, number, np.uint8)
            device.write(own, mark)
            data = np.full(LANES, start, np.uint32)
            launch_sum(device, data, rounds)
            check_sum(data, start, rounds)
            if not np.array_equal(device.read(own, np.uint8, own.nbytes), mark):
                raise Wrong("a buffer has another content")
            device.free(own)

    with running(work, case["threads"]):
        pass
    if device.memory.allocations:
        raise Wrong(f"{len(device.memory.allocations)} allocations are left")
    return {f"{case['engine']} {case['threads']} threads"}


HERE = (Campaign("threads", "threads that allocate, launch, read and free on one device", _make_threads,
                 check_threads),)  # fmt: skip
