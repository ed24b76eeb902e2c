"""What several property tests share."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest


@pytest.fixture(scope="module")
def worker() -> Iterator[ProcessPoolExecutor]:
    """A process in which rules are changed."""
    pytest.importorskip("llvmlite")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool
