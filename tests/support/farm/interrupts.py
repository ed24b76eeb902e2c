"""Runs of all engines that are interrupted or stopped at random moments."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from functools import cache, partial
from random import Random
from typing import Any

import numpy as np

import isakit
from isakit.engine.llvm import host
from isakit.errors import BudgetExceeded
from isakit.machine.usse import DEFAULT, Machine, ShaderCode
from isakit.machine.usse.compiled_shader import CompiledRuns, Runner
from isakit.machine.usse.shader_machine import Advance
from support.farm.campaign import Campaign, Wrong
from support.farm.launches import LANES as LAUNCHED
from support.farm.launches import check_sum, launch_sum
from support.generators.vuc_programs import everything
from support.runners.compiled import device_on
from support.runners.usse_engines import differences, machine

ENGINES: tuple[str, ...] = ("reference", "interp", "jit", "vuc reference", "vuc llvm", "usse reference", "usse llvm")


def _make(seed: int) -> dict[str, Any]:
    r = Random(seed)
    engine = ENGINES[seed % len(ENGINES)]
    most = (
        2000 if engine.endswith("reference") or engine == "usse llvm" else 40_000 if engine == "vuc llvm" else 400_000
    )
    rounds = r.choice((most // 100, most // 10, most))
    return {"engine": engine, "rounds": rounds, "start": r.getrandbits(32),
            "after": [round(r.expovariate(1 / r.choice((0.0005, 0.005, 0.02))), 6) for _ in range(r.choice((1, 1, 2)))],
            "budget": r.randrange(1, 4 * rounds) if r.random() < 0.3 else 0}  # fmt: skip


def _interrupted(after: float, run: Callable[[], object]) -> str:
    """Interrupt a run after some seconds, if it takes so long; says how it has ended."""

    def strike(*_: object) -> None:
        raise KeyboardInterrupt

    ended, old = "ran to its end", signal.signal(signal.SIGALRM, strike)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(after, 1e-6))
        run()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        ended = "interrupted"
    except BudgetExceeded:
        ended = "stopped by its budget"
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            ended = "interrupted"
        signal.signal(signal.SIGALRM, old)
    return ended


def check_interrupt(case: dict[str, Any]) -> set[str]:
    """Whatever stops a run, the next ones are right."""
    family, _, engine = case["engine"].rpartition(" ")
    check = {"": _check_launch, "vuc": _check_core, "usse": _check_shader}[family]
    return {f"{case['engine']} {how}" for how in check(case, engine)}


def _check_launch(case: dict[str, Any], engine: str) -> set[str]:
    """The next launches are right, and no memory of the device stays allocated."""
    device = device_on(engine, "gt200")
    _check_next(device, 5)
    held, ends = dict(device.memory.allocations), set[str]()
    options = {"max_instructions": case["budget"]} if case["budget"] else {}
    for after in case["after"]:
        data = np.full(LAUNCHED, case["start"], np.uint32)
        ended = _interrupted(after, partial(launch_sum, device, data, case["rounds"], **options))
        if ended == "ran to its end":
            check_sum(data, case["start"], case["rounds"])
        ends.add(ended)
    for k in range(2):
        _check_next(device, k)
    if dict(device.memory.allocations) != held:
        more = len(device.memory.allocations) - len(held)
        raise Wrong(f"{more} more allocations after a launch that was {', '.join(sorted(ends))}")
    return ends


def _check_next(device: isakit.Device, start: int) -> None:
    data = np.full(LAUNCHED, start, np.uint32)
    launch_sum(device, data, 7)
    check_sum(data, start, 7)


# --- cores ------------------------------------------------------------------------------------------------------------
MICROCODE = """
again: add $r1 $r1 0x1
xor $r2 $r2 $r1
add $r4 $r4 $r2
st D[$r1] $r4
bra #again
lmulu $r4 $r2
"""


def _core(engine: str, start: int) -> Any:
    core = isakit.vuc.Core("vp3", engine=engine)  # type: ignore[arg-type]
    core.load(_microcode())
    core.r[2], core.r[4] = start & 0xFFFF, start >> 16
    return core


@cache
def _microcode() -> Any:
    return isakit.isa("vuc", "vp3").assemble(MICROCODE)


def _check_core(case: dict[str, Any], engine: str) -> set[str]:
    """An interrupted core goes on where it was, as if it had not been interrupted."""
    core, wanted = _core(engine, case["start"]), _core(engine, case["start"])
    cycles = 8 * case["rounds"] + case["budget"]
    wanted.run(max_cycles=cycles)
    ends = set[str]()
    for after in case["after"]:
        ends.add(_interrupted(after, lambda: core.run(max_cycles=cycles - core.cycle)))
    core.run(max_cycles=cycles - core.cycle)
    one, other = everything(wanted), everything(core)
    if one != other:
        raise Wrong(f"a core that {_ended(ends)} has other {[k for k in one if one[k] != other[k]]}")
    return ends


# --- shaders ----------------------------------------------------------------------------------------------------------
SHADER = """
vmul.f32 pa0.xy pa4.xyzw sa0.xyzw
rol.u32 r1 r1 #0x1
xor.u32 r1 r1 pa0
or.u32 o8 r1 #0x1
xor.u32 r2 r1 o8
br -5
nop
"""
LANES = 48


@cache
def _shader() -> ShaderCode:
    return ShaderCode(isakit.isa("usse").assemble(SHADER), DEFAULT)


@cache
def _stretches() -> CompiledRuns:
    return CompiledRuns(_shader(), host())


def _left(m: Machine) -> dict[str, Any]:
    return {n: np.array(a) for n, a in m.files.items()} | {"executed": m.executed, "at": sorted(m.waiting)}


def _resumed(m: Machine, count: int, runner: Advance | None) -> None:
    """Run so many instructions more of an endless program."""
    try:
        m.resume(count - m.executed, runner)
    except BudgetExceeded:
        return
    raise Wrong("an endless shader has ended")


def _check_shader(case: dict[str, Any], engine: str) -> set[str]:
    """Interrupted invocations go on where they were, as if they had not been interrupted."""
    machines = [machine(LANES, case["start"] & 0xFFFF) for _ in range(2)]
    runners = [Runner(m, _stretches(), True).advance if engine == "llvm" else None for m in machines]
    count, ends = case["rounds"] + case["budget"], set[str]()
    for m in machines:
        m.start(_shader())
    _resumed(machines[0], count, runners[0])
    for after in case["after"]:
        ends.add(_interrupted(after, partial(_resumed, machines[1], count, runners[1])))
    _resumed(machines[1], count, runners[1])
    wrong = differences(_left(machines[0]), _left(machines[1]))
    if wrong:
        raise Wrong(f"a shader that {_ended(ends)} leaves {wrong[0]}")
    return ends


def _ended(ends: set[str]) -> str:
    return " and ".join(f"was {e}" if e != "ran to its end" else e for e in sorted(ends))


def _simpler(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if len(case["after"]) > 1:
        for after in case["after"]:
            yield {**case, "after": [after]}
    if case["budget"]:
        yield {**case, "budget": 0}


HERE = (Campaign("interrupts", "runs of all engines interrupted or out of budget at random moments", _make,
                 check_interrupt, _simpler, fixed=2 * len(ENGINES)),)  # fmt: skip
