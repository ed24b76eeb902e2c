"""`scan`: an index of all programs in files, folders, archives and object stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from isakit.corpora.sources import FileSource, sources
from isakit.corpora.tables import IndexWriter, Rows, arrow
from isakit.corpora.workers import work
from isakit.lean import dataclass

_BATCH_FILES, _BATCH_BYTES = 128, 1 << 25
"""Largest number of files in one task, and of their bytes together."""

Batch = tuple[FileSource, ...]


@dataclass(frozen=True)
class ScanReport:
    """The totals of a scan: rows of each table, bytes that were searched, archives unpacked."""

    files: int
    kernels: int
    instructions: int
    strings: int
    bytes: int


def scan(
    paths: Sequence[str],
    index: str,
    *,
    jobs: int | None = None,
    dask: object = None,
    progress: Callable[[int, int], None] | None = None,
) -> ScanReport:
    """Find every program of our instruction sets in files, and write index tables of them.

    The tables are the same whatever number of processes made them.

    Args:
        paths: files, folders, or URLs that fsspec knows.
        index: the folder to write, `files.parquet` and so on in it; an existing index is replaced.
        jobs: processes; None: one per core.
        dask: address of a Dask scheduler, or a `distributed.Client`, whose workers see the same paths.
        progress: called with the number of files and bytes processed.

    Raises IsakitError for paths that do not exist, a place that cannot be written, packages that are missing.
    """
    arrow()
    done = size = 0
    with IndexWriter(index) as writer:
        batches = _batches(sources(paths, writer.places))
        for tables, files, some in work(index_batch, batches, jobs=jobs, dask=dask, failed=_lost):
            writer.add(tables)
            done, size = done + files, size + some
            if progress is not None:
                progress(done, size)
    rows = writer.rows
    return ScanReport(rows["files"], rows["kernels"], rows["instructions"], rows["strings"], size)


def _batches(found: Iterable[FileSource]) -> Iterator[Batch]:
    batch: list[FileSource] = []
    size = 0
    for s in found:
        if batch and (len(batch) == _BATCH_FILES or size + s.size > _BATCH_BYTES):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(s)
        size += s.size
    if batch:
        yield tuple(batch)


def index_batch(batch: Batch) -> tuple[dict[str, object], int, int]:
    """Return (tables, files, bytes) of some files."""
    rows = Rows()
    for source in batch:
        rows.add_source(source)
    return rows.tables(), len(batch), rows.bytes


def _lost(batch: Batch, why: BaseException) -> tuple[dict[str, object], int, int]:
    """Return the tables for files that crashed every process that read them."""
    rows = Rows()
    for source in batch:
        rows.add_failure(source, f"looking at {len(batch)} files together ended the process: {why}")
    return rows.tables(), len(batch), 0
