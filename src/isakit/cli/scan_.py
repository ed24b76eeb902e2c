"""`isakit scan`."""

from __future__ import annotations

import sys
import time

import click

from isakit.cli.common import echo, echo_json, json_option
from isakit.results import Output, record

_SECONDS = 0.5


@record
class IndexedFiles:
    """The index that was written, with its rows of each table and the bytes that were searched."""

    schema: str
    index: str
    files: int
    kernels: int
    instructions: int
    strings: int
    bytes: int


OUTPUT = Output("scan", 1, lambda: IndexedFiles)


@click.command(
    "scan",
    epilog="""\b
Examples:
  isakit scan ~/programs old.zip -o index.parquet
  isakit scan s3://bucket/builds -o s3://bucket/index.parquet --dask tcp://head:8786
  isakit find --index index.parquet 'mad * and sat'""",
)
@click.option("-o", "--output", required=True, metavar="INDEX", help="The folder to write: one Parquet file per table.")
@click.option("-j", "--jobs", type=click.IntRange(1), metavar="N", help="Processes.  [default: one per core]")
@click.option("--dask", metavar="ADDRESS", help="Work on a Dask cluster, whose workers see the same paths.")
@json_option
@click.argument("paths", metavar="PATH|URL...", nargs=-1, required=True)
def command(output: str, jobs: int | None, dask: str | None, as_json: bool, paths: tuple[str, ...]) -> None:
    """Write an index of all programs in files, folders and archives.

    Looks into zip (jar, apk), tar, gz, bz2, xz and disc images, and finds cubins, text cubins, GXP files and microcode,
    in host programs, too. The tables are files, kernels, instructions and strings; `isakit find --index`, pandas,
    polars and duckdb read them. What cannot be read is in the column `errors` of files.
    """
    from isakit.corpora import scan

    began = last = time.monotonic()

    def progress(files: int, size: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > _SECONDS and sys.stderr.isatty():
            last = now
            rate = size / 1e6 / (now - began)
            click.echo(f"\r{files} files, {size / 1e6:.0f} MB, {rate:.0f} MB/s\x1b[K", err=True, nl=False)

    try:
        report = scan(paths, output, jobs=jobs, dask=dask, progress=progress)
    finally:
        if last > began:
            click.echo("\r\x1b[K", err=True, nl=False)
    if as_json:
        echo_json(IndexedFiles("isakit-scan-1", output, **vars(report)))
        return
    found = f"{report.kernels} kernels, {report.instructions} instructions, {report.strings} names"
    echo(f"{output}: {report.files} files, {found}, {report.bytes / 1e6:.1f} MB searched")
