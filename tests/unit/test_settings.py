"""Settings are checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pytest

import isakit
from isakit.errors import LaunchError
from isakit.graphics.draw_state import DrawState, GraphicsChoices, Stencil
from isakit.machine.tesla import Choices
from isakit.settings import Settings
from isakit.texture.texture_choices import TextureChoices


@dataclass(frozen=True)
class Sample(Settings):
    name: Literal["one", "two"] | None = None
    side: Literal["header", 2, 4] = "header"
    on: bool = False
    count: Annotated[int, range(1, 9)] = 1
    pair: tuple[int, int] | None = None
    names: tuple[Literal["x", "y"], ...] = ()
    anything: object = None
    number: float = 0.0


GOOD: list[dict[str, Any]] = [
    {"name": "one"}, {"name": None}, {"side": 2}, {"on": np.True_}, {"count": 8}, {"count": np.uint8(3)},
    {"pair": (1, -2)}, {"names": ("x", "y", "x")}, {"anything": [1]}, {"number": 1},
]  # fmt: skip
BAD: list[tuple[dict[str, Any], str]] = [
    ({"name": "three"}, "name is one of one, two, not 'three'"),
    ({"side": 3}, "side is one of header, 2, 4, not 3"),
    ({"side": None}, "side is one of"),
    ({"on": 1}, "on is True or False, not 1"),
    ({"on": "no"}, "on is True or False"),
    ({"count": 0}, "count is a whole number from 1 to 8, not 0"),
    ({"count": 1.0}, "count is a whole number from 1 to 8"),
    ({"count": True}, "count is a whole number"),
    ({"pair": (1, 2, 3)}, "pair is a tuple of 2, each a whole number"),
    ({"pair": [1, 2]}, "pair is a tuple of 2"),
    ({"names": ("x", "z")}, "names is a tuple, each one of x, y"),
]


@pytest.mark.parametrize("given", GOOD, ids=str)
def test_what_passes(given: dict[str, Any]) -> None:
    made = Sample(**given)
    assert all(getattr(made, k) is v for k, v in given.items())


@pytest.mark.parametrize(("given", "message"), BAD, ids=lambda x: str(x)[:30])
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        Sample(**given)


@pytest.mark.parametrize(
    ("cls", "given"),
    [
        (Choices, {"first": "fall"}),
        (Choices, {"call_limit_log": 16}),
        (Choices, {"pm_counters": ("none", "all")}),
        (TextureChoices, {"lod_vectors": 3}),
        (TextureChoices, {"srgb_bits": 0}),
        (GraphicsChoices, {"store": "down"}),
        (DrawState, {"scissor": (0, 0, 1)}),
        (Stencil, {"ref": 256}),
        (isakit.vuc.Options, {"mvsread_cycles": -1}),
        (isakit.vuc.Options, {"empty_stack": "zeros"}),
    ],
)
def test_the_settings_of_the_machines(cls: Any, given: dict[str, Any]) -> None:
    with pytest.raises(LaunchError, match=next(iter(given))):
        cls(**given)
