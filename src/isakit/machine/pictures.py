"""Pictures of machines: which lanes are where, as rows of text, and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from isakit.errors import LaunchError
from isakit.machine.target import Target
from isakit.machine.targets import target_of

ROW = 32
"""Threads of a row: the lanes of a warp."""
SHOWN = 16
"""Largest number of rows in the picture of a machine."""


class ThreadRow(NamedTuple):
    """A row of adjacent threads.

    `first`: number of the first; `name`; `picture`: `#` for active ones, `.` for those that wait, `-` for those that
    have ended; `address` and `state` of the first active one.
    """

    first: int
    name: str
    picture: str
    address: int | None
    state: str

    @property
    def where(self) -> str:
        """The position of the threads, in a few words."""
        return "ended" if self.address is None else f"{self.address:04x}{' waits' if self.state == 'waiting' else ''}"

    def lanes(self, mark: str) -> int:
        """Return the threads shown with a mark, as a mask."""
        return sum((m == mark) << k for k, m in enumerate(self.picture))


def rows(target: Target, first: int = 0, count: int | None = None, most: int = SHOWN) -> list[ThreadRow]:
    """Return rows of threads from `first` on, `most` at most."""
    end = target.thread_count if count is None else min(target.thread_count, first + count)
    out: list[ThreadRow] = []
    for start in range(first, min(end, first + most * ROW), ROW):
        threads = [target.thread(n) for n in range(start, min(start + ROW, end))]
        picture = "".join("#" if t.active else "-" if t.state == "finished" else "." for t in threads)
        here = next((t for t in threads if t.active), threads[0])
        name = here.name if len(threads) == 1 else here.name.rpartition(" lane")[0] or f"{start}-{start + ROW - 1}"
        out.append(ThreadRow(start, name, picture, here.address, here.state))
    return out


def registers(target: Target, thread: int) -> Mapping[str, int]:
    """Return the registers of a thread that are not 0, by name."""
    out: dict[str, int] = {}
    for file in target.register_files.values():
        for n in range(file.count):
            value = target.read_register((file.name, n), thread)
            if value:
                out[(file.text or f"{file.name}{{n}}").format(n=n)] = value
    return out


def html_of(machine: object) -> str:
    """Return a machine as HTML: the lanes, and the registers of the first active one."""
    try:
        target = target_of(machine)
    except LaunchError as e:
        return f"<p>{escape(str(e))}</p>"
    shown = rows(target)
    lines = "".join(
        f"<tr><td>{escape(r.name)}</td><td><code>{r.picture}</code></td><td>{r.where}</td></tr>" for r in shown
    )
    more = target.thread_count - SHOWN * ROW
    lines += f"<tr><td colspan=3>and {more} more threads</td></tr>" if more > 0 else ""
    thread = next((r.first + r.picture.index("#") for r in shown if "#" in r.picture), None)
    values: Mapping[str, int] = dict[str, int]() if thread is None else registers(target, thread)
    said = ", ".join(f"{name} = {value:#x}" for name, value in values.items()) or "all 0"
    about = "" if thread is None else f"<p>registers of {escape(target.thread(thread).name)}: <code>{said}</code></p>"
    return f"<p>{target.isa} {target.variant}</p><table>{lines}</table>{about}"


__all__ = ["ROW", "SHOWN", "ThreadRow", "html_of", "registers", "rows"]
