"""The description of a target: registers, register class of each kind of value, rules of selection, spills.

A target is an object of this kind beside its rules; passes, selection and allocation query it and are independent of
the machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from isakit.compile.ir import Loc
from isakit.compile.lower.form import MIns, RegisterClass, VReg
from isakit.compile.lower.rules import Rules


class Target(ABC):
    """A machine to generate code for.

    Attributes:
        kinds: kind of a value to the class and the number of registers that hold it.
        general: the class whose registers a limit counts.
        rules: the rules of selection.
    """

    kinds: dict[str, tuple[RegisterClass, int]]
    general: RegisterClass
    rules: Rules[Any]

    @abstractmethod
    def reload(self, v: VReg, holder: VReg | None, at: int, loc: Loc) -> list[MIns]:
        """Return the instructions that load a register from `holder`, or from byte `at` of the spilled registers."""

    @abstractmethod
    def save(self, v: VReg, units: list[int], holder: VReg | None, at: int, loc: Loc) -> list[MIns]:
        """Return the instructions that keep registers of a value in `holder`, or from byte `at` of spill memory on."""
