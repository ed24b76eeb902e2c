"""The engine of a launch: compiled code if possible, the reference machine otherwise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Literal
from weakref import WeakKeyDictionary

from isakit.errors import LaunchError
from isakit.lean import dataclass
from isakit.machine.interrupts import allowed
from isakit.machine.tesla.device_memory import DeviceMemory
from isakit.machine.tesla.kernel_code import Code
from isakit.machine.tesla.launch import Launch, Stats
from isakit.machine.tesla.machine import Machine
from isakit.runtime.engine_choice import FallbackWarning, chosen
from isakit.runtime.engine_choice import missing as _missing
from isakit.runtime.engine_choice import unusable as _unusable

Execute = Callable[[Launch, DeviceMemory, int | None], Stats]
Tier = Literal["auto", "interp", "jit"]
TIERS = ("auto", "interp", "jit")


def reference(
    launch: Launch, memory: DeviceMemory, max_instructions: int | None = None, most_work: int | None = None
) -> Stats:
    """Run a launch on the reference engine. Bounds are those of `Machine`."""
    machine = Machine(launch, memory)
    machine.most_work = most_work
    with allowed():
        machine.run(max_instructions=max_instructions)
    return machine.stats


def executor(
    engine: str,
    tier: str = "auto",
    threads: int | None = None,
    portable: bool = False,
    most_work: int | None = None,
) -> Execute:
    """Return the function that runs launches on the engine a user asked for.

    `portable` makes code that needs no special instructions of the host; it is slower. `most_work` limits launches that
    the reference engine runs, as `Machine.most_work`.

    `llvm` and `auto` leave launches that compiled code cannot run to the reference engine; `auto` also works without
    LLVM, with one warning per process, and loads it only for a kernel worth compiling. Raises LaunchError for an
    unknown name, NotModelled for `llvm` if it is unavailable.
    """
    if tier not in TIERS:
        raise LaunchError(f"no tier {tier!r}; there are: {', '.join(TIERS)}")
    if threads is not None and threads < 1:
        raise LaunchError(f"{threads} threads; the engine needs at least one")
    why_not = _missing if engine == "auto" else _unusable
    if not chosen(engine, why_not, depth=4):
        return partial(reference, most_work=most_work)
    return Compiling(tier, threads, portable, engine == "llvm", most_work)


def engine_of(execute: Execute) -> str:
    """Return the engine, `reference` or `llvm`, that a function of `executor` runs launches on if it can."""
    return "llvm" if isinstance(execute, Compiling) and (execute.eager or _usable()) else "reference"


@cache
def _usable() -> bool:
    """Return true if LLVM, which is installed, can be used. Warns if it cannot."""
    return chosen("auto", _unusable, depth=4)


WORTH = 1 << 17
"""Threads, over all launches of a kernel without loops, from which on compiling it pays."""
LAUNCH = WORTH // 16
"""Threads that the smallest launch counts for: the overhead of the reference machine exceeds the time for these."""
_launched: WeakKeyDictionary[Code, int] = WeakKeyDictionary()


def _worth_compiling(launch: Launch) -> bool:
    """Return true if compiling pays: it costs milliseconds per instruction, so code without loops needs threads."""
    from isakit.machine.tesla.analysis.known_flow import has_loops

    threads = _launched.get(launch.code, 0) + max(LAUNCH, launch.blocks * launch.threads)
    _launched[launch.code] = threads
    return threads >= WORTH or has_loops(launch)


@dataclass(frozen=True)
class Compiling:
    """Runs launches on compiled code where it can and, unless `eager`, where it pays; else on the reference engine."""

    tier: str
    threads: int | None
    portable: bool
    eager: bool
    most_work: int | None = None

    def __call__(self, launch: Launch, memory: DeviceMemory, max_instructions: int | None) -> Stats:
        from isakit.machine.tesla.analysis.kernel_steps import NotCompiled

        try:
            if self.eager or (_worth_compiling(launch) and _usable()):
                from isakit.machine.tesla.compiled.launch.block_runner import execute

                return execute(launch, memory, max_instructions, self.threads, self.tier, self.portable)
        except NotCompiled:
            pass
        return reference(launch, memory, max_instructions, self.most_work)


__all__ = ["FallbackWarning", "Tier", "engine_of", "executor", "reference"]
