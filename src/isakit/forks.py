"""Forked processes: what a child makes anew, because threads and locks of its parent are not there."""

from __future__ import annotations

import os
from collections.abc import Callable


def in_child(function: Callable[[], object]) -> Callable[[], object]:
    """Have a function called in every forked process, where processes can be forked (decorator); returns it."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)
    return function
