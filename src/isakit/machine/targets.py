"""Targets of the machines of all instruction sets."""

from __future__ import annotations

from isakit.errors import LaunchError
from isakit.machine.target import Target


def target_of(machine: object) -> Target:
    """Return a machine as a target: a Tesla `Machine`, a vµc `Core`, or a USSE `Machine` with a started program.

    The target shares the machine's state: stepping one steps the other. Raises LaunchError for anything else.
    """
    where = {c.__module__ for c in type(machine).__mro__}
    if "isakit.machine.tesla.machine" in where:
        from isakit.machine.tesla.tesla_target import TeslaTarget

        return TeslaTarget(machine)  # type: ignore[arg-type]
    if "isakit.machine.vuc.core" in where:
        from isakit.machine.vuc.vuc_target import VucTarget

        return VucTarget(machine)  # type: ignore[arg-type]
    if "isakit.machine.usse.shader_machine" in where:
        from isakit.machine.usse.usse_target import UsseTarget

        return UsseTarget(machine)  # type: ignore[arg-type]
    raise LaunchError(f"{type(machine).__name__} is not a machine with a program")


__all__ = ["target_of"]
