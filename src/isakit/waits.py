"""Waits that notice signals."""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

Readable = TypeVar("Readable", bound="FileDescriptorLike")

NOTICE_SECONDS = 0.25
"""The longest wait of a main thread: a signal that arrives just before a thread falls asleep does not wake it."""


def until_readable(sources: Sequence[Readable]) -> list[Readable]:
    """Wait until some of the files and sockets can be read; returns these. Signals are noticed meanwhile."""
    while not (ready := select.select(sources, [], [], NOTICE_SECONDS)[0]):
        pass
    return ready
