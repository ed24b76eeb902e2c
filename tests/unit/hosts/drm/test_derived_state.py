"""State derived from registers names every register it reads: it is computed again when one of them changes."""

from __future__ import annotations

import inspect
import random
from contextlib import suppress
from typing import Any, SupportsIndex, cast

import pytest

from isakit.errors import IsakitError
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import chip_named
from isakit.hosts.drm.engine import Derived, Engine
from isakit.hosts.drm.engines.eng3d import Engine3D
from isakit.hosts.drm.memory import VideoMemory
from isakit.hosts.drm.report import Report

MEMBERS = {name: inspect.getattr_static(Engine3D, name) for name in dir(Engine3D)}
VIEWS = {name: cast("Derived[Any]", member) for name, member in MEMBERS.items() if isinstance(member, Derived)}
STATES = 60


class Recorded(list[int]):
    """Registers that know which of them were read."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(words)
        self.read = set[int]()

    def __getitem__(self, at: SupportsIndex | slice) -> Any:
        """Return a word or several, and note their places."""
        self.read.update(range(*at.indices(len(self))) if isinstance(at, slice) else [int(at)])
        return super().__getitem__(at)


def word(rng: random.Random) -> int:
    """Return a word: off, on, a small number or any bits."""
    return rng.choice((0, 1, 1, rng.randrange(16), rng.getrandbits(32)))


def unnamed(engine: Engine, view: Derived[Any], rng: random.Random) -> set[str]:
    """Return the names of registers that a view reads in some states and that would not make it stale."""
    found: set[str] = set()
    for _ in range(STATES):
        engine.state = state = Recorded([word(rng) for _ in engine.state])
        engine.kept.clear()
        with suppress(IsakitError):  # a state that is refused has been read, too
            view.function(engine)
        found |= {engine.table.method_at(w).name for w in state.read if not engine._depends[w] & view.bit}  # pyright: ignore[reportPrivateUsage]
    return found


@pytest.fixture(params=["50", "a3"])
def engine(request: pytest.FixtureRequest) -> Any:
    """Give the 3D engine of a chip."""
    memory = VideoMemory()
    yield Engine3D(memory, Report(), chip_named(request.param), CardSettings())
    memory.close()


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_the_state_is_stale_when_a_register_it_reads_changes(engine: Engine3D, name: str) -> None:
    assert unnamed(engine, VIEWS[name], random.Random(name)) == set()


def test_a_register_that_a_view_does_not_name_is_found(engine: Engine3D) -> None:
    def reads_another(e: Engine3D) -> bool:
        return e.on("ZETA_ENABLE")

    view = Derived(reads_another, ("RT_CONTROL",))
    assert unnamed(engine, view, random.Random(1)) == {"ZETA_ENABLE"}
