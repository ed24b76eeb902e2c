"""Tools that watch programs and instruction sets: what of an instruction set has been executed."""

from isakit.debug.coverage import Coverage, Item, items_of, recording, word_for

__all__ = ["Coverage", "Item", "items_of", "recording", "word_for"]
