"""Tools that observe programs while they run: sessions, and instruction coverage.

`Session` is a program that can be stepped, run, stopped and reversed, on any of the three machines.
"""

from isakit.debug.coverage import Coverage, Item, items_of, recording, word_for
from isakit.debug.session import Session

__all__ = ["Coverage", "Item", "Session", "items_of", "recording", "word_for"]
