"""Threads that execute together, numbered from 1 for clients whose threads they are: warps, the core, invocations."""

from __future__ import annotations

from isakit.debug.session_view import SessionView
from isakit.machine.target import Target, Thread

SHOWN = 512
"""Largest number of groups reported to clients."""


def width(target: Target) -> int:
    """Return the number of threads of a group: the lanes of a warp, else one."""
    return 32 if target.isa == "tesla" else 1


def group_of(target: Target, thread: int) -> int:
    """Return the number of a thread's group."""
    return 1 + thread // width(target)


def groups(target: Target) -> list[tuple[int, Thread]]:
    """Return the groups by number, each with its first active thread, or its first."""
    step = width(target)
    out: list[tuple[int, Thread]] = []
    for first in range(0, min(target.thread_count, SHOWN * step), step):
        threads = [target.thread(n) for n in range(first, first + step)]
        out.append((group_of(target, first), next((t for t in threads if t.active), threads[0])))
    return out


def name_of(thread: Thread) -> str:
    """Return the name of a thread's group."""
    return thread.name.rpartition(" lane")[0] or thread.name


def activity(target: Target, number: int) -> str:
    """Describe a group in words: how many of its lanes are active, and where."""
    step = width(target)
    first = (number - 1) * step
    threads = [target.thread(n) for n in range(first, first + step)]
    active = [t for t in threads if t.active]
    here = (active or threads)[0]
    if here.address is None:
        return "ended"
    lanes = f"{len(active)} of {step} lanes active, " if step > 1 else ""
    return f"{lanes}{here.state} at {here.address:#x}"


def look_at(session: SessionView, number: int) -> None:
    """Focus on a group, unless a thread of it has the focus already. Raises LaunchError.

    The focus goes to an active lane, or to the first one if the group has ended.
    """
    target = session.target
    if group_of(target, session.focus) == number:
        return
    first = (number - 1) * width(target)
    target.thread(first)
    session.focus = next(iter(session.execution.lanes(first)), first)
