"""Devices on the compiled engine whose tier and kind of host are chosen."""

from __future__ import annotations

from typing import Any

import pytest

from isakit.runtime import Device
from isakit.runtime.tesla_engine import executor

WAYS: dict[str, dict[str, Any]] = {
    "interp": {"tier": "interp"},
    "jit": {"tier": "jit"},
    "portable-interp": {"tier": "interp", "portable": True},
    "portable-jit": {"tier": "jit", "portable": True},
}
"""The tiers with the instructions of this host and without the special ones."""


def compiled_device(way: dict[str, Any], *args: Any, **options: Any) -> Device:
    """A device on the compiled engine, whatever engine the caller asks for. `way`: tier, threads, portable."""
    device = Device(*args, **{**options, "engine": "reference"})
    device._execute = executor("llvm", **{"threads": 1, **way})  # type: ignore[reportPrivateUsage]
    return device


def device_on(engine: str, *args: Any, **options: Any) -> Device:
    """A device on the reference engine ("reference"), or on the compiled one in one of `WAYS`."""
    if engine == "reference":
        return Device(*args, **options, engine="reference")
    return compiled_device(WAYS[engine], *args, **options)


def without_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch that leaves compiled code for the reference machine fails."""
    from isakit.machine.tesla.compiled.launch.compiled_launch import CompiledLaunch

    def asked(*given: Any) -> None:
        raise AssertionError("handed over")

    monkeypatch.setattr(CompiledLaunch, "_hand_over", asked)
