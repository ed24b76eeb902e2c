"""Run large test suites over days, with a file to resume from: WebGL's conformance tests, and dEQP.

    isakit gl --chip a0 -- python tools/gl_suites.py webgl sdk/tests --version 2 -o card.jsonl
    isakit gl --chip a3 -- python tools/gl_suites.py deqp ./deqp-gles2 --cases cases.txt -o card.jsonl -- --deqp-...
    python tools/gl_suites.py table card.jsonl llvmpipe.jsonl

Tests use the driver that the environment chooses: without `isakit gl` and with LIBGL_ALWAYS_SOFTWARE=1 it is llvmpipe.
Tests are taken in the order of the SHA-256 of their name, so that a run that is not whole is a sample. A line of JSON
is written for each as soon as it has ended; tests that the file has are not run again. The table counts, by group, how
many pass of those that pass in the second file, and names the others. See docs/howto/test-your-driver.md.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import http.server
import json
import os
import re
import selectors
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GOOD = frozenset({"pass", "Pass", "CompatibilityWarning", "QualityWarning"})
ABSENT = frozenset({"NotSupported", "skip"})
CHROMIUM = (
    "--headless=new", "--no-sandbox", "--ignore-gpu-blocklist", "--use-gl=angle", "--use-angle=gl-egl",
    "--disable-gpu-watchdog", "--disable-gpu-process-crash-limit",
)  # fmt: skip
HARNESS = """window.webglTestHarness = {
  results: [], done: false,
  reportResults(url, success, message, skipped) { this.results.push([success, skipped, String(message)]) },
  notifyFinished() { this.done = true }, reportUrl() {} };"""
"""The object that the pages of WebGL's tests look for in their window, and report to."""
PAGES_OF_A_BROWSER = 20
CASE = re.compile(r"^Test case '(?P<name>[^']+)'\.\.")
STATUS = re.compile(r"^  (?P<status>[A-Z]\w+) \((?P<details>.*)\)$")
"""Lines of dEQP's output: a case begins, and has ended."""
LONGEST = 1 << 20
"""Bytes of a line that are looked at together."""


# --- results ----------------------------------------------------------------------------------------------------------
def in_order(names: list[str]) -> list[str]:
    """Return names in the order of the SHA-256 of each."""
    return sorted(dict.fromkeys(names), key=lambda n: hashlib.sha256(n.encode()).hexdigest())


def results_in(path: Path) -> dict[str, dict[str, Any]]:
    """Return the results of a file by name; a line that was cut off, or is something else, is none."""
    out: dict[str, dict[str, Any]] = {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and all(isinstance(found.get(k), str) for k in ("name", "status", "details")):
            out[found["name"]] = found
    return out


class Results:
    """Appends results to a file; `left`: the tests of a run that it does not have yet."""

    def __init__(self, path: Path, names: list[str], skip: int, take: int | None) -> None:
        chosen = in_order(names)[skip:][:take]
        known = results_in(path)
        self.left = [n for n in chosen if n not in known]
        self.total, self.done = len(chosen), len(chosen) - len(self.left)
        self._file = path.open("a", encoding="utf-8")
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            self._file.write("\n")

    def add(self, name: str, status: str, seconds: float, details: str = "") -> None:
        """Append the result of a test, and show it where it has not passed."""
        self.done += 1
        self._file.write(json.dumps({"name": name, "status": status, "seconds": round(seconds, 2), "details": details}))
        self._file.write("\n")
        self._file.flush()
        if status not in GOOD:
            print(f"{self.done}/{self.total} {status}: {name} {details[:160]}", flush=True)


def table(card: Path, reference: Path | None, depth: int) -> str:
    """Return the results of a file by group as Markdown, and its failed tests; only those that pass in `reference`."""
    known = {} if reference is None else results_in(reference)
    groups: dict[str, Counter[str]] = {}
    failed: list[str] = []
    for name, found in sorted(results_in(card).items()):
        if reference is not None and known.get(name, {}).get("status") not in GOOD:
            continue
        status = found["status"]
        kind = "pass" if status in GOOD else "not offered" if status in ABSENT else "fail"
        group = re.split(r"[./]", name)
        groups.setdefault(".".join(group[: min(depth, len(group) - 1)]), Counter())[kind] += 1
        if kind == "fail":
            failed.append(f"{status}: {name} {found['details'][:120]}".rstrip())
    total = sum(groups.values(), Counter[str]())
    lines = ["| tests | of | pass | not offered | fail |", "|---|---|---|---|---|"]
    for group, counts in [*groups.items(), ("all", total)]:
        cells = (sum(counts.values()), counts["pass"], counts["not offered"], counts["fail"])
        lines.append(f"| {group} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join([*lines, *([""] if failed else []), *failed])


# --- WebGL ------------------------------------------------------------------------------------------------------------
def listed(tests: Path, name: str, version: int) -> Iterator[str]:
    """Yield the pages that a list names, and those of the lists in it, but not dEQP's and those of older versions."""
    path = tests / name
    if "deqp" in path.parts or not path.exists():
        return
    for line in path.read_text("utf-8").splitlines():
        words = line.split()
        if not words or line.lstrip().startswith(("//", "#")):
            continue
        if "--max-version" in words and float(words[words.index("--max-version") + 1][:1]) < version:
            continue
        at = os.path.normpath(os.path.join(os.path.dirname(name), words[-1]))
        if at.endswith(".txt"):
            yield from listed(tests, at, version)
        elif at.endswith(".html"):
            yield at


class Pages(http.server.SimpleHTTPRequestHandler):
    """Serves the pages of the tests, without a log."""

    def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Say nothing."""


def run_page(browser: Any, url: str, limit: float) -> tuple[str, str]:
    """Return the result of a page (pass, skip, fail, timeout or crash) and the message of its first failure."""
    context = browser.new_context(viewport={"width": 160, "height": 120})
    try:
        page = context.new_page()
        page.add_init_script(HARNESS)
        page.goto(url, timeout=1000 * limit)
        page.wait_for_function("window.webglTestHarness.done", timeout=1000 * limit, polling=250)
        found = page.evaluate("window.webglTestHarness.results")
    except Exception as e:
        return "timeout" if "Timeout" in type(e).__name__ else "crash", str(e).partition("\n")[0]
    finally:
        if browser.is_connected():
            context.close()
    failures = [message for success, skipped, message in found if not success and not skipped]
    if failures:
        return "fail", failures[0]
    return ("skip" if all(skipped for _, skipped, _ in found) else "pass") if found else "fail", ""


def webgl(o: argparse.Namespace) -> None:
    """Run the pages of the conformance tests one after the other."""
    from playwright.sync_api import sync_playwright

    start = "conformance2" if o.version == 2 else "conformance"
    results = Results(o.output, list(listed(o.tests, f"{start}/00_test_list.txt", o.version)), o.skip, o.take)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, directory=str(o.tests)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    query = f"?webglVersion={o.version}" if o.version == 2 else ""
    with sync_playwright() as playwright:
        for first in range(0, len(results.left), PAGES_OF_A_BROWSER):
            browser = playwright.chromium.launch(executable_path=o.browser, headless=False, args=[*CHROMIUM])
            for name in results.left[first : first + PAGES_OF_A_BROWSER]:
                if not browser.is_connected():
                    browser = playwright.chromium.launch(executable_path=o.browser, headless=False, args=[*CHROMIUM])
                began = time.monotonic()
                url = f"http://127.0.0.1:{server.server_address[1]}/{name}{query}"
                status, details = run_page(browser, url, o.limit)
                results.add(name, status, time.monotonic() - began, details)
            browser.close()
    server.shutdown()


# --- dEQP -------------------------------------------------------------------------------------------------------------
def run_cases(command: list[str], cases: list[str], limit: float) -> Iterator[tuple[str, str, float, str]]:
    """Yield (case, status, seconds, details) of the cases of one process, until it has ended.

    A case with which it ends, or which has not ended after `limit` seconds, has crashed or hung; those behind it are
    left. What the process says of others, or says again, does not count.
    """
    wanted = set(cases)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listing:
        listing.write("\n".join(cases) + "\n")
        listing.flush()
        program = subprocess.Popen(
            [*command, f"--deqp-caselist-file={listing.name}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert program.stdout is not None
        running, began = "", time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(program.stdout, selectors.EVENT_READ)
            for line in _lines(program, selector, limit):
                if case := CASE.match(line):
                    running, began = case["name"] if case["name"] in wanted else "", time.monotonic()
                elif (status := STATUS.match(line)) and running:
                    yield running, status["status"], time.monotonic() - began, status["details"]
                    wanted.discard(running)
                    running, began = "", time.monotonic()
                elif time.monotonic() - began > limit:
                    break
        hung = program.poll() is None
        program.kill()
        program.wait()
        program.stdout.close()
        if running:
            yield running, "timeout" if hung else "crash", time.monotonic() - began, f"status {program.returncode}"


def _lines(program: subprocess.Popen[bytes], selector: selectors.BaseSelector, limit: float) -> Iterator[str]:
    """Yield the lines of a program, parts of very long ones, until it ends or says nothing for `limit` seconds."""
    assert program.stdout is not None
    rest = b""
    while selector.select(limit):
        got = os.read(program.stdout.fileno(), 1 << 16)
        if not got:
            with contextlib.suppress(subprocess.TimeoutExpired):  # it says no more, but is there
                program.wait(limit)
            return
        *whole, rest = (rest + got).split(b"\n")
        if len(rest) > LONGEST:
            whole, rest = [*whole, rest], b""
        yield from (line.decode(errors="replace") for line in whole)


def deqp(o: argparse.Namespace) -> None:
    """Run cases of a module of dEQP, several in a process."""
    names = [line.strip() for line in o.cases.read_text("utf-8").splitlines() if line.strip()]
    results = Results(o.output, names, o.skip, o.take)
    command = [str(o.program), *(a for a in o.arguments if a != "--")]
    left = results.left
    while left:
        batch, found = left[: o.batch], set[str]()
        for name, status, seconds, details in run_cases(command, batch, o.limit):
            results.add(name, status, seconds, details)
            found.add(name)
        if not found:  # the process does not know the first one, or does not start
            results.add(batch[0], "crash", 0.0, "the program has run none of its cases")
            found.add(batch[0])
        left = [n for n in left if n not in found]


def main() -> None:
    """Run what the command line says."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = ap.add_subparsers(dest="verb", required=True)
    w = verbs.add_parser("webgl", help="pages of KhronosGroup/WebGL, in Chromium")
    w.add_argument("tests", type=Path, help="the folder sdk/tests")
    w.add_argument("--version", type=int, choices=(1, 2), default=1)
    w.add_argument("--browser", default="/usr/bin/chromium")
    d = verbs.add_parser("deqp", help="cases of KhronosGroup/VK-GL-CTS; what follows -- goes to the program")
    d.add_argument("program", type=Path)
    d.add_argument("--cases", type=Path, required=True, help="a file with the name of a case on each line")
    d.add_argument("--batch", type=int, default=200, help="cases of a process")
    for verb, limit in ((w, 120.0), (d, 300.0)):
        verb.add_argument(
            "-o", "--output", type=Path, required=True, help="file of results; its tests are not run again"
        )
        verb.add_argument("--skip", type=int, default=0, help="leave out the first tests of the order")
        verb.add_argument("--take", type=int, help="run at most so many tests")
        verb.add_argument("--limit", type=float, default=limit, help="seconds by the clock for a test")
    t = verbs.add_parser("table", help="results by group")
    t.add_argument("card", type=Path)
    t.add_argument("reference", type=Path, nargs="?")
    t.add_argument("--depth", type=int, default=2, help="parts of a name that make a group")
    before, mark, after = _parted(sys.argv[1:])
    o = ap.parse_args(before)
    o.arguments = after if mark else []
    if o.verb == "table":
        print(table(o.card, o.reference, o.depth))
    else:
        {"webgl": webgl, "deqp": deqp}[o.verb](o)


def _parted(words: list[str]) -> tuple[list[str], bool, list[str]]:
    """Split a command line at its `--`; return the words before, whether it is there, and the words behind."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], at < len(words), words[at + 1 :]


if __name__ == "__main__":
    main()
