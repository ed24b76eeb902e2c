"""The commands of cuda-gdb: the focus among kernels, blocks, warps, lanes and threads, and moving it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from isakit.debug.panes import cut
from isakit.debug.session_view import SessionView
from isakit.errors import LaunchError

if TYPE_CHECKING:
    from isakit.machine.tesla.tesla_target import TeslaTarget

WORDS = ("device", "sm", "kernel", "grid", "block", "thread", "warp", "lane")
ABOUT = ("kernels", "blocks", "threads", "warps", "lanes", "devices")
SHOWN = 64
"""Largest number of rows shown."""
_PAIR = re.compile(r"([a-z]+)\s*(\(?-?\w+(?:\s*,\s*\w+){0,2}\)?)?\s*")


def focus_text(session: SessionView, words: tuple[str, ...] = ("kernel", "block", "thread", "warp", "lane")) -> str:
    """Return the focus in cuda-gdb's notation. Raises LaunchError on other machines."""
    facts = _facts(session)
    known = {
        "device": "0", "sm": "0", "kernel": "0", "grid": "1",
        "block": _block(facts),
        "thread": _thread(facts),
        "warp": str(facts["warp"]), "lane": str(facts["lane"]),
    }  # fmt: skip
    return ", ".join(f"{w} {known[w]}" for w in words)


def _facts(session: SessionView) -> Mapping[str, int]:
    if session.target.isa != "tesla":
        raise LaunchError("only CUDA kernels have blocks and warps; `focus` moves the focus here")
    return session.execution.facts(session.focus)


def move(session: SessionView, text: str) -> bool:
    """Move the focus as in `block (1,0) thread (3,0,0)`; return False if the words only query it.

    Raises LaunchError.
    """
    facts = _facts(session)
    asked = _asked(text)
    if all(value is None for value in asked.values()):
        return False
    for word in ("device", "sm", "kernel", "grid"):
        if (given := asked.pop(word, None)) is not None and given != ((1,) if word == "grid" else (0,)):
            raise LaunchError(f"there is one {word}, {1 if word == 'grid' else 0}")
    x, y, z = _threads_of_block(session)
    block: object = facts["block"]
    if (given := asked.get("block")) is not None:
        block = given[0] if len(given) == 1 else (given[0], given[1])
    warp, lane = facts["warp"], facts["lane"]
    if "block" in asked and asked.get("warp") is None and asked.get("thread") is None:
        warp, lane = 0, 0
    if (given := asked.get("thread")) is not None:
        t = (*given, 0, 0)[:3]
        if not (0 <= t[0] < x and 0 <= t[1] < y and 0 <= t[2] < z):
            raise LaunchError(f"no thread {given}; a block has {x} x {y} x {z}")
        number = t[0] + x * (t[1] + y * t[2])
        warp, lane = number // 32, number % 32
    if (given := asked.get("warp")) is not None:
        warp, lane = given[0], 0
    if (given := asked.get("lane")) is not None:
        lane = given[0]
    session.focus_on(block=block, warp=warp, lane=lane)
    return True


def _asked(text: str) -> dict[str, tuple[int, ...] | None]:
    out: dict[str, tuple[int, ...] | None] = {}
    at = 0
    while at < len(text):
        m = _PAIR.match(text, at)
        word = next((w for w in WORDS if m is not None and w.startswith(m[1])), None)
        if m is None or word is None:
            raise LaunchError(f"`cuda {text}`: the words are {', '.join(WORDS)}, each with a number or (x,y,z)")
        try:
            out[word] = None if m[2] is None else tuple(int(n, 0) for n in m[2].strip("()").split(","))
        except ValueError:
            # `cuda block warp`: the next word, no number
            out[word] = None
            at = m.start(2)
            continue
        at = m.end()
    return out


def table(session: SessionView, what: str, kernel: str) -> list[str]:
    """Return the rows of `info cuda WHAT`: kernels, blocks, threads, warps, lanes, devices. Raises LaunchError."""
    facts = _facts(session)
    name = next((w for w in ABOUT if what and w.startswith(what)), None)
    target, execution = session.target, session.execution
    if name is None:
        raise LaunchError(f"`info cuda` knows {', '.join(ABOUT)}")
    if name == "devices":
        return ["  dev  chip", f"* 0    {target.variant}"]
    x, y, z = _threads_of_block(session)
    if name == "kernels":
        return ["  kernel  grid  block dim", f"* 0       1     ({x},{y},{z})  {kernel}"]
    if name == "lanes":
        first = session.focus - facts["lane"]
        rows = [(t, execution.facts(t)) for t in range(first, first + 32)]
        out = ["  lane  state     pc      thread"]
        for t, f in rows:
            thread = target.thread(t)
            state = "active" if thread.active else thread.state if thread.state == "finished" else "waits"
            out.append(f"{_mark(t == session.focus)} {f['lane']:<5} {state:<9} {_pc(thread.address):<7} "
                       f"{_thread(f)}")  # fmt: skip
        return out
    warps = [target.thread(t) for t in range(0, target.thread_count, 32)]
    if name == "blocks":
        out = ["  block      state"]
        seen: dict[int, list[str]] = {}
        where: dict[int, str] = {}
        for k, t in enumerate(warps):
            f = execution.facts(32 * k)
            seen.setdefault(f["block"], []).append(t.state)
            where[f["block"]] = _block(f)
        for number, states in list(seen.items())[:SHOWN]:
            state = "finished" if set(states) == {"finished"} else "running"
            out.append(f"{_mark(number == facts['block'])} {where[number]:<10} {state}")
        return out
    out = (
        ["  block      warp  state     active    pc"]
        if name == "warps"
        else ["  block      thread    to thread  count  pc"]
    )
    for k in range(len(warps)):
        lanes = [target.thread(32 * k + n) for n in range(32)]
        f = execution.facts(32 * k)
        here = _mark(32 * k <= session.focus < 32 * k + 32)
        block = _block(f)
        if name == "warps":
            active = sum(1 << n for n, t in enumerate(lanes) if t.active)
            first = next((t for t in lanes if t.active), lanes[0])
            out.append(f"{here} {block:<10} {f['warp']:<5} {first.state:<9} {active:08x}  {_pc(first.address)}")
        else:
            out += _runs(session, 32 * k, block)
        if len(out) > SHOWN:
            return [*out[: SHOWN + 1], "  ..."]
    return [cut(line) for line in out]


def _runs(session: SessionView, first: int, block: str) -> list[str]:
    """Return a row for each run of threads of a warp at the same address."""
    target = session.target
    x, y, z = _threads_of_block(session)
    count = min(32, x * y * z - (session.execution.facts(first)["tid"]))
    out: list[str] = []
    start = 0
    places = [target.thread(first + n).address for n in range(count)]
    for n in range(1, count + 1):
        if n < count and places[n] == places[start]:
            continue
        one, two = (session.execution.facts(first + k) for k in (start, n - 1))
        here = _mark(first + start <= session.focus < first + n)
        out.append(f"{here} {block:<10} {_thread(one):<9} {_thread(two):<10} {n - start:<6} {_pc(places[start])}")
        start = n
    return out


def _threads_of_block(session: SessionView) -> tuple[int, int, int]:
    """Return the threads of a block in x, y and z."""
    return cast("TeslaTarget", session.target).machine.launch.block


def _pc(address: int | None) -> str:
    return "-" if address is None else f"{address:#06x}"


def _block(f: Mapping[str, int]) -> str:
    return f"({f['block.x']},{f['block.y']},0)"


def _thread(f: Mapping[str, int]) -> str:
    return f"({f['tid.x']},{f['tid.y']},{f['tid.z']})"


def _mark(here: bool) -> str:
    return "*" if here else " "


__all__ = ["ABOUT", "WORDS", "focus_text", "move", "table"]
