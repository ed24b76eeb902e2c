"""What a campaign is, and ways to make cases smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

Case = Any
"""Plain data: numbers, strings, bytes, lists, tuples, dicts."""


class Wrong(AssertionError):
    """A result that is not what another way to get it says."""


def nothing_smaller(case: Case) -> Iterator[Case]:
    """For cases that are a seed."""
    return iter(())


@dataclass(frozen=True)
class Campaign:
    """A kind of random test.

    Attributes:
        name: what it is called on the command line.
        what: what is tried, in a few words.
        make: the case of a seed.
        check: runs a case; gives what it covered, raises whatever is wrong. Errors a user would get are no findings.
        smaller: cases with less in them than a given one, those with much less first.
        seconds: time after which a case counts as one that hangs.
        needs: says what is missing on this machine, or nothing.
        memory: bytes of addresses a worker may have, so that a case that wants all memory is a finding and not the end
            of the machine; the address space of a simulated device takes 4 GiB of them. None: no limit.
        fixed: how many seeds that are always the same continuous integration runs; with 0 it leaves the campaign out.
    """

    name: str
    what: str
    make: Callable[[int], Case]
    check: Callable[[Case], Iterable[str]]
    smaller: Callable[[Case], Iterator[Case]] = nothing_smaller
    seconds: float = 60.0
    needs: Callable[[], str] = str
    memory: int | None = 16 << 30
    fixed: int = 12


CAMPAIGNS: dict[str, str] = {
    "words": "codec", "combinations": "combinations", "texts": "codec",
    "containers": "containers", "written": "containers", "ptx-texts": "containers",
    "kernels": "engines", "choices": "engines", "shaders": "engines", "microcode": "engines",
    "ptx": "compiler", "c": "compiler", "shader-glsl": "shader_glsl", "glsl-texts": "shader_glsl",
    "hostile": "hostile", "pushes": "pushes", "soak": "soak", "libraries": "libraries",
    "shading-texts": "shading", "shading-values": "shading_values", "shading-loops": "shading_loops",
    "python-texts": "strangers", "c-texts": "strangers",
    "glsl-spirv": "glsl_sources", "glsl-llvmpipe": "glsl_sources",
    "interrupts": "interrupts", "threads": "launches", "caches": "caches", "forks": "forks",
    "servers": "servers", "races": "races", "exits": "exits", "exits-c": "exits",
    "votes": "exits", "votes-c": "exits",
    "mathematics": "mathematics", "gl-states": "gl_states",
}  # fmt: skip
"""Name of each campaign and the module here that has it; modules are imported when they are needed."""


def campaign(name: str) -> Campaign:
    """A campaign by its name. Raises KeyError."""
    module = import_module(f"support.farm.{CAMPAIGNS[name]}")
    return next(c for c in module.HERE if c.name == name)


# --- smaller cases ---------------------------------------------------------------------------------------------------
def pieces_left_out(items: Sequence[Any]) -> Iterator[Any]:
    """A sequence without some of its items: halves first, then ever smaller pieces. Works for text and bytes too."""
    size = len(items)
    while size > 1:
        size = -(-size // 2)
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        if size == 1:
            return


def minimised(case: Case, smaller: Callable[[Case], Iterator[Case]], fails: Callable[[Case], bool]) -> Case:
    """A case that still fails, and that no single step makes smaller."""
    again = True
    while again:
        again = False
        for candidate in smaller(case):
            if candidate != case and fails(candidate):
                case, again = candidate, True
                break
    return case
