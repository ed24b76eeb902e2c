"""The rules of selection for Tesla chips: importing the modules that hold them puts them into `RULES`."""

from isakit.compile.tesla import float, integer, memory, moves
from isakit.compile.tesla.selection import RULES

__all__ = ["RULES", "float", "integer", "memory", "moves"]
