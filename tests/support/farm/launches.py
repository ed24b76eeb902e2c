"""Launches that are interrupted or stopped at random moments, and launches from several threads on one device."""

from __future__ import annotations

import signal
import threading
from functools import cache
from random import Random
from typing import Any

import numpy as np

import isakit
from isakit.errors import BudgetExceeded
from support.compiled import device_on
from support.farm.campaign import Campaign, Wrong

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
def _program() -> Any:
    return isakit.isa("tesla", "gt200").assemble(SUM)


def _launch(device: isakit.Device, start: int, rounds: int, **options: Any) -> Any:
    data = np.full(LANES, start, np.uint32)
    device.load(_program())["sum"].launch(1, LANES, data, np.uint32(rounds), **options)
    return data


def _right(data: Any, start: int, rounds: int) -> None:
    want = start + rounds * (rounds + 1) // 2 & 0xFFFF_FFFF
    if not (data == want).all():
        raise Wrong(f"a launch leaves {int(data[data != want][0]):#x} instead of {want:#x}")


def _make_interrupt(seed: int) -> dict[str, Any]:
    r = Random(seed)
    engine = ENGINES[seed % len(ENGINES)]
    rounds = r.choice((20, 200, 2000)) if engine == "reference" else r.choice((200, 20_000, 400_000))
    return {"engine": engine, "rounds": rounds, "start": r.getrandbits(32),
            "after": [round(r.expovariate(1 / r.choice((0.0005, 0.005, 0.02))), 6) for _ in range(r.choice((1, 1, 2)))],
            "budget": r.randrange(1, 4 * rounds) if r.random() < 0.3 else 0}  # fmt: skip


def check_interrupt(case: dict[str, Any]) -> set[str]:
    """Whatever stops a launch, the next ones are right, and no memory of the device stays allocated."""
    device = device_on(case["engine"], "gt200")
    _right(_launch(device, 5, 3), 5, 3)
    held = dict(device.memory.allocations)

    def strike(*_: object) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, strike)
    ended = "ran to its end"
    options = {"max_instructions": case["budget"]} if case["budget"] else {}
    try:
        for after in case["after"]:
            try:
                signal.setitimer(signal.ITIMER_REAL, max(after, 1e-6))
                data = _launch(device, case["start"], case["rounds"], **options)
                signal.setitimer(signal.ITIMER_REAL, 0)
                _right(data, case["start"], case["rounds"])
            except KeyboardInterrupt:
                ended = "interrupted"
            except BudgetExceeded:
                ended = "stopped by its budget"
            finally:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    ended = "interrupted"
    finally:
        signal.signal(signal.SIGALRM, old)
    for k in range(2):
        _right(_launch(device, k, 7), k, 7)
    if dict(device.memory.allocations) != held:
        raise Wrong(f"{len(device.memory.allocations) - len(held)} more allocations after a launch that was {ended}")
    return {f"{case['engine']} {ended}"}


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
    errors: list[BaseException] = []

    def work(number: int) -> None:
        r = Random(f"{case['seed']} {number}")
        try:
            for _ in range(case["each"]):
                start, rounds = r.getrandbits(32), r.randrange(1, 60)
                own = device.alloc(r.randrange(1, 5000))
                mark = np.full(own.nbytes, number, np.uint8)
                device.write(own, mark)
                _right(_launch(device, start, rounds), start, rounds)
                if not np.array_equal(device.read(own, np.uint8, own.nbytes), mark):
                    raise Wrong("a buffer has another content")
                device.free(own)
        except BaseException as e:  # to be raised where it is seen
            errors.append(e)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(case["threads"])]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    if device.memory.allocations:
        raise Wrong(f"{len(device.memory.allocations)} allocations are left")
    return {f"{case['engine']} {case['threads']} threads"}


HERE = (
    Campaign("interrupts", "launches interrupted or out of budget at random moments", _make_interrupt, check_interrupt),
    Campaign("threads", "threads that allocate, launch, read and free on one device", _make_threads, check_threads),
)
