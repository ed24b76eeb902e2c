"""The vµc core: pipeline without interlocks, special registers, macroblock input, vector surfaces, host registers."""

from isakit.machine.vuc.core import CoreMachine
from isakit.machine.vuc.options import Options

__all__ = ["CoreMachine", "Options"]
