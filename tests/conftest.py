"""What all tests share: how hard hypothesis tries, where the conformance data lies, and the order."""

from __future__ import annotations

import gc
import inspect
import itertools
import os
import random
import signal
import sys
import tempfile
import threading
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# fast: a glance, for `./check --fast`. dev: while writing code. ci: other examples every day, because `./check` makes
# the seed of today's date and prints it; what earlier runs have found is left out, so that a seed always means the
# same examples. long: hours.
# No profile looks at the time that examples take: a machine may be busy for a minute.
ALL: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fast", max_examples=10, **ALL)
settings.register_profile("dev", max_examples=50, **ALL)
settings.register_profile("ci", max_examples=100, database=None, print_blob=True, **ALL)
settings.register_profile("long", max_examples=20_000, print_blob=True, **ALL)
REPEATING = (
    "browser",
    "conformance",
    "property",
    "unit/docsgen/test_effects.py",
    "unit/engine/test_numpy_operations.py",
    "unit/machine/tesla/test_lanes.py",
)
"""Tests that send many inputs through the same lines: tracing them doubles their time and finds hardly a line that the
other unit tests and the commands do not reach, so they run without it."""

settings.load_profile(os.environ.get("ISAKIT_PROFILE", "dev"))


def shared_dir() -> Path | None:
    """Return the folder with conformance data: $ISAKIT_SHARED, else `shared` beside the repository, else None."""
    given = os.environ.get("ISAKIT_SHARED")
    path = Path(given) if given else ROOT.parent / "shared"
    return path if path.is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder with conformance data; the test is skipped where there is none."""
    path = shared_dir()
    if path is None:
        pytest.skip("no conformance data: set ISAKIT_SHARED or put a folder `shared` beside the repository")
    return path


@pytest.fixture
def short_path() -> Generator[Path]:
    """Return a folder for sockets, whose paths are bounded: those with the name of a test may be too long."""
    with tempfile.TemporaryDirectory(prefix="test-") as folder:
        yield Path(folder)


def shared_file(name: str) -> Path:
    """Return a file of the conformance data; the test is skipped where just this one is not there.

    Programs of others are named by the data and not part of it: they are there where somebody has fetched them.
    """
    folder = shared_dir()
    if folder is None:
        pytest.skip("no conformance data: set ISAKIT_SHARED or put a folder `shared` beside the repository")
    if not (folder / name).is_file():
        pytest.skip(f"the conformance data has no {name}")
    return folder / name


def pytest_collection_finish() -> None:
    """Take what was collected out of garbage collection: 14,000 tests take seconds to look through.

    Devices are collected as soon as they close, so each test of a card would pay for that several times.
    """
    _forget_what_is_there()
    gc.set_threshold(50_000, 20, 100)  # as the commands have it


def _forget_what_is_there() -> None:
    """Let collections look at objects only that are made from now on."""
    gc.collect()
    gc.freeze()


_finished = itertools.count(1)


def pytest_runtest_logfinish() -> None:
    """Do the same with what tables and caches of the tests so far hold."""
    if next(_finished) % 200 == 0:
        _forget_what_is_there()


def pytest_configure() -> None:
    """Let Ctrl-C reach the programs under test: a run in the background of a shell inherits that it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what the instruction coverage tests have executed (tests/conformance/test_instruction_coverage.py)."""
    counts: dict[str, list[int]] = {}
    exceptions: list[tuple[str, int, str]] = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") != "call":
                continue
            for name, value in getattr(report, "user_properties", ()):
                if name == "instruction coverage":
                    kind, total, executed = value
                    row = counts.setdefault(kind, [0, 0])
                    row[0], row[1] = row[0] + total, row[1] + executed
                elif name == "instruction coverage exception":
                    exceptions.append(tuple(value))
    if not counts:
        return
    excused = sum(n for _, n, _ in exceptions)
    every, done = (sum(row[i] for row in counts.values()) for i in (0, 1))
    verdict = "100 % of the items that are no exceptions" if done + excused == every else "INCOMPLETE"
    terminalreporter.section("instruction coverage: Tesla compute, reference engine")
    for kind, (total, executed) in counts.items():
        share = f"{100 * executed / total:6.2f} %" if total else "      -"
        terminalreporter.line(f"{kind:12} {executed:6} of {total:6} {share}")
    terminalreporter.line(f"{verdict}; {excused} exceptions:")
    for record, n, reason in sorted(exceptions):
        terminalreporter.line(f"  {record}: {n} items: {reason}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Tests must not depend on their order."""
    parser.addoption(
        "--sample",
        metavar="SEED",
        help="run one case of each test function, without those in tests/costly.txt",
    )
    parser.addoption(
        "--near",
        metavar="FILE",
        action="append",
        default=[],
        help="with --sample: begin with the tests beside this file",
    )
    parser.addoption("--processor-times", metavar="FILE", help="write the processor time of every test to a file")
    parser.addoption("--shuffle", metavar="SEED", help="run the tests in a random order, the same one for a seed")
    parser.addoption(
        "--shuffle-files", metavar="SEED", help="likewise, but one file after the other: what it sets up is used once"
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say how to have the same order again."""
    given = [f"{o} {config.getoption(o)}" for o in ("--shuffle", "--shuffle-files") if config.getoption(o) is not None]
    return f"shuffled: {' '.join(given)}" if given else None


def reads_conformance_data(item: pytest.Item) -> bool:
    """Return whether a test reads the conformance data, or does something else where there is none.

    Where a helper reads them for it, a test has the mark `corpus` itself.
    """
    if not isinstance(item, pytest.Function):
        return False
    code = getattr(inspect.unwrap(item.function), "__code__", None)
    asks = code is not None and "shared_file" in code.co_names
    return asks or "shared" in item.fixturenames or hasattr(item.module, "shared_dir")


def sample(items: list[pytest.Item], seed: str, near: list[str]) -> list[pytest.Item]:
    """Return one case of each test function that does not take long, those beside the files `near` first.

    Another seed chooses other cases. Of the files `near` themselves all functions are there.
    """
    own = {ROOT / file for file in near}
    costly, close = set((ROOT / "tests/costly.txt").read_text("utf-8").split()), files_beside(near)
    cases: dict[str, list[pytest.Item]] = {}
    for item in sorted(items, key=lambda item: item.path not in close):
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [
        random.Random(f"{seed} {name}").choice(found)
        for name, found in cases.items()
        if name not in costly or found[0].path in own
    ]


def files_beside(files: Iterable[str]) -> set[Path]:
    """Return the files of tests that are among `files`, or in the folders of unit tests that mirror theirs."""
    found: set[Path] = set()
    for file in map(Path, files):
        if file.is_relative_to("tests"):
            found.add(ROOT / file)
        elif file.is_relative_to("src/isakit"):
            folder = ROOT / "tests/unit" / file.parent.relative_to("src/isakit")
            found.update(next(f for f in (folder, *folder.parents) if f.is_dir()).glob("test_*.py"))
    return found


def processor_time() -> float:
    """Return the seconds of this process and of those it has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Begin to measure a test for `--processor-times`."""
    item.stash[BEGUN] = processor_time()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Write what a test took, with what it has set up for others."""
    yield
    if (path := item.config.getoption("--processor-times")) is not None:
        with open(path, "a", encoding="utf-8") as file:  # short lines of several workers do not mix
            file.write(f"{processor_time() - item.stash[BEGUN]:.3f}\t{item.nodeid}\n")


BEGUN = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure coverage where it pays.

    pytest-cov's own marker `no_cover` stops one of the two measurements that a worker of pytest-xdist has begun: the
    other goes on, and tests take as long as if they were measured.
    """
    if not item.path.relative_to(ROOT / "tests").as_posix().startswith(REPEATING):
        return (yield)
    here, threads = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(here)
        threading.settrace(threads)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Mark the tests that read conformance data, let marks choose tests, then sample and order them if asked to."""
    for item in items:
        if reads_conformance_data(item):
            item.add_marker("corpus")
    yield
    if (seed := config.getoption("--sample")) is not None:
        kept = sample(items, seed, config.getoption("--near"))
        config.hook.pytest_deselected(items=list(set(items) - set(kept)))
        items[:] = kept
    seed, by_file = config.getoption("--shuffle"), config.getoption("--shuffle-files")
    if seed is not None or by_file is not None:
        items.sort(key=lambda item: item.nodeid)
        random.Random(seed or by_file).shuffle(items)
    if by_file is not None:
        place = {item.path: n for n, item in enumerate(items)}
        items.sort(key=lambda item: place[item.path])
