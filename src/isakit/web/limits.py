"""The limits of one page. A page that wants more gets an error that names the limit."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from isakit.lean import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of the server; sizes in bytes, times in seconds.

    Attributes:
        body: of one request.
        together: memory of all requests that wait for their answers.
        answer: of one answer.
        connections: at once; a page has one for as long as it is open, and some for its requests.
        arrival: that a request may take to arrive, and that nothing of an answer may be read.
        tabs: pages that are open at once.
        seconds: that a request may take before it is interrupted.
        grace: that an interrupted worker has to answer before it is ended.
        memory: resident memory of a worker.
        folder: dropped files of a page together.
        arrive: that a page may take to ask for the stream that shows that it is open.
        leave: between the end of that stream and the end of its worker; a page that is reloaded is a new one.
    """

    body: int = 32 << 20
    together: int = 256 << 20
    answer: int = 64 << 20
    connections: int = 256
    arrival: float = 30.0
    tabs: int = 16
    seconds: float = 30.0
    grace: float = 5.0
    memory: int = 3 << 30
    folder: int = 256 << 20
    arrive: float = 60.0
    leave: float = 0.25

    @property
    def file(self) -> int:
        """Return the bytes of the largest file that one request carries: it comes in base64, with its name."""
        return (self.body - (1 << 12)) * 3 // 4


LARGEST_FILE = 1 << 40
"""Bytes of the files without content that stand for a card's memory: see `large_files`."""
SOURCE = 1 << 20
"""Characters of a source text."""
BUFFERS = 64
"""Buffers of a device that are listed."""
LINES = 2000
"""Lines of a listing in one answer."""
THREADS = 2048
"""Threads whose activity is shown."""
BYTES = 1 << 16
"""Bytes of a memory in one answer."""
ELEMENTS = 1 << 20
"""Elements of an array in one answer."""
STEPS = 100_000
"""Instructions that one request may step."""
ROWS = 20_000
"""Rows of a comparison in one answer."""
VERTICES = 1024
"""Vertices of a captured draw in one answer."""
MESH = 1 << 14
"""Primitives of a captured draw that are drawn as a mesh."""
BUFFER = 1 << 12
"""Bytes of a buffer of constants in one answer."""
TEXTURES = 32
"""Textures of a captured draw in one answer."""
SCENE = 8 << 20
"""Bytes of a scene file."""
DRAWS = 10_000
"""Draws of a captured frame in one answer."""
PIXELS = 1 << 20
"""Pixels of a scene's picture."""


@contextlib.contextmanager
def large_files() -> Generator[None]:
    """Lift the worker's bound of the size of files for a while, to make the file in memory that is a card's memory.

    It takes what is written to it, and that is watched as the worker's memory is.
    """
    try:
        import resource
    except ImportError:  # no such bounds here
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
