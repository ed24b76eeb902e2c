"""Tools that look into programs while they run: sessions, and what of an instruction set has been executed.

`Session` is a program that can be stepped, run, stopped and taken back, on any of the three machines.
"""

from isakit.debug.coverage import Coverage, Item, items_of, recording, word_for
from isakit.debug.session import Session

__all__ = ["Coverage", "Item", "Session", "items_of", "recording", "word_for"]
