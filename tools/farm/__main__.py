#!/usr/bin/env python3
"""Run campaigns of random tests in worker processes: `python tools/farm [CAMPAIGN ...]`.

Examples:
  python tools/farm --seconds 60                      # every campaign for a minute, from a fresh seed
  python tools/farm words hostile --hours 8 --jobs 2  # two of them, a night long
  python tools/farm kernels --first 0 --cases 1000    # these seeds
  python tools/farm soak --cases 72                   # a million launches, and others
  python tools/farm --heap-check --hours 1            # under the heap checker of the GNU C library
  python tools/farm --ci                              # what continuous integration runs

A crash and a hang of a worker are findings like any other, and so is a case that takes 16 GiB of memory. A finding is
made smaller and written as a test into --out; the table of what was done goes to standard output, and as Markdown and
JSON into --table. Ctrl-C or SIGTERM end a run with the table of what was done. Exit status 1: something was found.
"""

from __future__ import annotations

import argparse
import ctypes.util
import json
import os
import secrets
import signal
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "src", ROOT / "tests", Path(__file__).resolve().parent):
    sys.path.insert(0, str(folder))
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests"), str(Path(__file__).parent)])

from pool import Done, Finding, run, stopping  # noqa: E402  (found through the lines above)
from reproducer import write_test  # noqa: E402

from support.farm import CAMPAIGNS, campaign  # noqa: E402

FIXED, FRESH_SECONDS = 1_000_000, 1.5
"""What continuous integration runs of each campaign: seeds that are always the same, then fresh ones for a while."""
SLOW_SECONDS = 3.0
"""Processor time of a case above which a campaign has no fresh ones there."""


def main() -> int:
    """Run what the command line says; gives the exit status."""
    options = arguments()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    if options.heap_check:
        os.environ.update(heap_checker())
    names = options.campaigns or list(CAMPAIGNS)
    fresh = secrets.randbelow(1 << 40) if options.first is None else options.first
    plans: list[tuple[int, int | None, float]] = [(fresh, options.cases, options.seconds + 3600 * options.hours)]
    print(f"seeds from {fresh}; again: python tools/farm {' '.join(options.campaigns)} --first {fresh}", flush=True)
    rows: list[Done] = []
    for name in names:
        if stopping.is_set():
            break
        if options.ci and not campaign(name).fixed:
            continue
        missing = campaign(name).needs()
        if missing:
            print(f"{name}: left out, {missing}", flush=True)
            continue
        whole = Done(name)
        if options.ci:
            plans = [(FIXED, campaign(name).fixed, 60.0), (fresh, None, FRESH_SECONDS)]
        for first, cases, seconds in plans:
            if options.ci and whole.cases and whole.speed < 1 / SLOW_SECONDS:
                break  # one more fresh case would take longer than all fresh ones of the others
            whole.add(run(name, first, cases, seconds, options.jobs, options.dask, report(options.out)))
        rows.append(whole)
        print(whole.line(), flush=True)
    print("\n" + table(rows), flush=True)
    if options.table:
        options.table.with_suffix(".md").write_text(table(rows) + "\n")
        options.table.with_suffix(".json").write_text(json.dumps([r.as_json() for r in rows], indent=1) + "\n")
    return status(rows, options.ci)


def _stop(number: int, frame: object) -> None:
    """End the campaigns with the table of what was done; a second signal ends the farm at once."""
    stopping.set()
    signal.signal(number, signal.SIG_DFL)


def heap_checker() -> dict[str, str]:
    """The environment in which the GNU C library looks at its heap and fills what is allocated and freed.

    A worker whose heap is damaged aborts, which is a finding. Raises SystemExit without that library.
    """
    found = ctypes.util.find_library("c_malloc_debug")
    if found is None:
        raise SystemExit("--heap-check needs libc_malloc_debug, which comes with the GNU C library 2.34 and later")
    return {"LD_PRELOAD": found, "GLIBC_TUNABLES": "glibc.malloc.check=3:glibc.malloc.perturb=165"}


def status(rows: list[Done], ci: bool) -> int:
    """The exit status: 1 for findings. A check must not pass one time and fail the next: fresh seeds of `--ci` warn."""
    found = [f for r in rows for f in r.findings.values()]
    failing = [f for f in found if not ci or f.seed in range(FIXED, FIXED + campaign(f.campaign).fixed)]
    if len(failing) < len(found):
        print("WARNING: fresh seeds have found something; the reproducers above are tests now, please report them")
    return 1 if failing else 0


def report(out: Path) -> Callable[[Finding], None]:
    """What is done with a finding: said, and written as a test."""

    def said(found: Finding) -> None:
        path = write_test(found, out)
        print(f"FOUND by {found.campaign}, seed {found.seed}: {found.message}\n  {path}", flush=True)
        print(path.read_text(), flush=True)

    return said


def table(rows: list[Done]) -> str:
    """The figures as Markdown."""
    lines = ["| campaign | what | cases | covered | per second | per second of a core | findings |", "|---" * 7 + "|"]
    for r in rows:
        figures = f"{r.cases:,} | {len(r.covered)} | {r.rate:.1f} | {r.speed:.1f} | {len(r.findings)}"
        lines.append(f"| {r.name} | {campaign(r.name).what} | {figures} |")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(
        prog="tools/farm", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", choices=[[], *CAMPAIGNS],
                        help=f"one of {', '.join(CAMPAIGNS)}; all without")  # fmt: skip
    parser.add_argument("--first", type=int, metavar="SEED", help="the first seed (default: a fresh one)")
    parser.add_argument("--cases", type=int, metavar="N", help="at most so many cases of each campaign")
    parser.add_argument("--seconds", type=float, default=0.0, help="how long each campaign runs")
    parser.add_argument("--hours", type=float, default=0.0, help="added to --seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="worker processes")
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="scheduler of a Dask cluster that does the work; start its workers\n"
        "with src, tests and tools/farm of the same checkout in PYTHONPATH",
    )
    parser.add_argument("--out", type=Path, default=ROOT / "tests/property/found", help="where tests are written")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the table as FILE.md and FILE.json")
    parser.add_argument(
        "--heap-check", action="store_true", help="workers run under libc_malloc_debug; somewhat slower"
    )
    parser.add_argument("--ci", action="store_true", help="fixed seeds and fresh ones, some seconds of each campaign")
    options = parser.parse_args()
    if not (options.ci or options.cases or options.seconds or options.hours):
        options.seconds = 10.0
    if options.cases and not (options.seconds or options.hours):
        options.hours = 24.0 * 365
    return options


if __name__ == "__main__":
    raise SystemExit(main())
