"""Mistakes in texts, on their way to the caller who has the text and reports them."""

from __future__ import annotations


class PlacedError(Exception):
    """A mistake at character `pos` of a text, `width` characters long; `notes` suggest what would be right."""

    def __init__(self, pos: int, message: str, width: int = 1, notes: tuple[str, ...] = ()) -> None:
        self.pos, self.message, self.width, self.notes = pos, message, width, notes
        super().__init__(message)
