"""Textures as a draw binds them to its programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isakit.errors import LaunchError
from isakit.texture.sampler_state import Sampler
from isakit.texture.texture import Texture

Bound = Texture | tuple[Texture, Sampler]
"""A texture, with its sampler or with the default one."""


def by_stage(textures: Any) -> dict[str, Mapping[int, Bound]]:
    """Return textures for every kind of program."""
    stages = ("vertex", "geometry", "fragment")
    given: Mapping[Any, Any] = textures or {}
    if any(isinstance(k, str) for k in given):
        for k in given:
            if k not in stages:
                raise LaunchError(f"textures are for {', '.join(stages)}, not {k!r}")
        return {s: given.get(s, {}) for s in stages}
    return dict.fromkeys(stages, given)
