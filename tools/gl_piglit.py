"""Run piglit tests on the simulated card and on llvmpipe, and compare.

The sample: all programs of `spec/!opengl 1.0` to `3.0`, and the first N shader tests of GLSL 1.10 to 3.30 execution in
the order of the SHA-256 of their path, so that every run has the same ones. See docs/howto/test-your-driver.md.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import chip_named
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.server import DrmServer
from isakit.hosts.drm.session import environment
from isakit.hosts.drm.shim_library import LIBRARY

HOMES = ("/usr/lib/x86_64-linux-gnu/piglit", "/usr/lib/aarch64-linux-gnu/piglit", "/usr/lib/piglit")
SHADERS = re.compile(r"^(generated_)?tests/spec/glsl-(1\.[1-5]0|3\.30)/execution/")
PROGRAMS = re.compile(r"spec@!opengl (1\.\d|2\.\d|3\.0)@")
RESULT = re.compile(r'PIGLIT: \{"(?:result"|subtest": \{"[^"]*" ): "(\w+)"')
BATCH = 30
WAITING = 20
"""Seconds by the clock for each of processor time: on a busy machine a test may take so many times as long."""


def home() -> Path:
    """Where piglit is installed."""
    for p in (os.environ.get("PIGLIT_HOME", ""), *HOMES):
        if p and (Path(p) / "bin" / "shader_runner").exists():
            return Path(p)
    sys.exit("piglit is not installed (on Debian: apt install piglit), or set PIGLIT_HOME")


def shader_tests(root: Path, count: int, paths: re.Pattern[str]) -> list[str]:
    """Paths of shader tests, relative to piglit's home."""
    every = (str(p.relative_to(root)) for p in root.rglob("*.shader_test"))
    found = [p for p in every if paths.search(p)]
    found.sort(key=lambda p: hashlib.sha256(p.encode()).hexdigest())
    return found[:count]


def programs(root: Path, names: re.Pattern[str] = PROGRAMS) -> dict[str, list[str]]:
    """Name -> command of the programs whose names match."""
    with gzip.open(root / "tests" / "opengl.xml.gz") as f:
        tree = ElementTree.parse(f)
    out: dict[str, list[str]] = {}
    for test in tree.getroot():
        name = test.get("name", "")
        command = test.find("option[@name='command']")
        if names.match(name) and command is not None:
            out[name] = [*ast.literal_eval(command.get("value", "[]")), "-auto", "-fbo"]
    return out


def processor_time(pid: int) -> float:
    """Seconds of processor time that a process has taken."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Runner:
    """Runs commands with an environment; remembers how long they took."""

    def __init__(self, root: Path, env: dict[str, str], limit: float) -> None:
        self.root, self.env, self.limit = root, env, limit
        self.seconds = 0.0

    def run(self, command: list[str], limit: float | None = None) -> str:
        """The output of a piglit program; `seconds` of processor time, the card's included, until it ended."""
        most, begun, started = limit or self.limit, time.process_time(), time.monotonic()
        with tempfile.TemporaryFile() as output:
            try:
                program = subprocess.Popen(
                    [str(self.root / "bin" / command[0]), *command[1:]], env=self.env, cwd=self.root,
                    stdout=output, stderr=subprocess.DEVNULL,
                )  # fmt: skip
            except OSError as e:
                return str(e)
            while (ended := program.poll()) is None:
                self.seconds = time.process_time() - begun + processor_time(program.pid)
                if self.seconds > most or time.monotonic() - started > WAITING * most:
                    program.kill()
                    program.wait()
                    break
                time.sleep(0.02)
            output.seek(0)
            text = output.read().decode(errors="replace")
        if ended is None:
            return text + "\nTIMEOUT"
        return text + (f"\nCRASH {ended}" if ended < 0 else "")

    def program(self, command: list[str]) -> str:
        """The result of one program."""
        text = self.run(command)
        found = RESULT.findall(text)
        return "timeout" if text.endswith("TIMEOUT") else found[-1] if found else "crash"

    def shaders(self, files: list[str], batch: int) -> Iterator[tuple[str, str]]:
        """(path, result) of shader tests, several in one process."""
        left = list(files)
        while left:
            part = left[:batch]
            text = self.run(["shader_runner", *part, "-auto", "-fbo", "-report-subtests"], self.limit * len(part))
            pieces = re.split(r"PIGLIT TEST: \d+ - [^\n]*\n", text)[1:] if len(part) > 1 else [text]
            done = 0
            for path, piece in zip(part, pieces, strict=False):
                found = RESULT.findall(piece)
                yield path, found[0] if found else "crash"
                done += 1
                if not found:  # the process has ended: the next one takes the rest
                    break
                if len(found) > 1 and done < len(part):  # a test that is skipped ends the process before its headline
                    yield part[done], found[1]
                    done += 1
                    break
            if not done:  # it ended before the first headline
                found = RESULT.findall(text)
                yield part[0], found[0] if found else "crash"
                done = 1
            left = left[done:]


def main() -> None:
    """Run both, write the results, print what differs."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--chip", default="a0")
    ap.add_argument("--shaders", type=int, default=600)
    ap.add_argument(
        "--paths", type=re.compile, default=SHADERS, help="shader tests in whose path this regular expression is found"
    )
    ap.add_argument("--programs", action="store_true")
    ap.add_argument(
        "--names", type=re.compile, default=PROGRAMS, help="programs whose name begins as this regular expression says"
    )
    ap.add_argument("--take", type=int, help="only so many programs, the first ones by SHA-256 of their name")
    ap.add_argument("--skip", type=int, default=0, help="leave out so many programs at the front of that order")
    ap.add_argument("--match", default="", help="only tests whose name matches this regular expression")
    ap.add_argument("--batch", type=int, default=BATCH)
    ap.add_argument(
        "--limit", type=float, default=60.0, help="seconds of processor time for a test, the card's included"
    )
    ap.add_argument("--mesa", type=Path, help="a folder with another Mesa for the card; llvmpipe stays as it is")
    ap.add_argument("--reference", type=Path, help="results of llvmpipe, made where the file is missing")
    ap.add_argument("-o", "--output", type=Path)
    o = ap.parse_args()
    root = home()
    files = [f for f in shader_tests(root, o.shaders, o.paths) if re.search(o.match, f)]
    commands = {n: c for n, c in (programs(root, o.names) if o.programs else {}).items() if re.search(o.match, n)}
    if o.take is not None or o.skip:
        order = sorted(commands, key=lambda n: hashlib.sha256(n.encode()).hexdigest())[o.skip :]
        commands = {n: commands[n] for n in order[: o.take]}
    known: dict[str, str] = {}
    if o.reference is not None and o.reference.exists():
        known = json.loads(o.reference.read_text())
    software = Runner(root, {**os.environ, "LIBGL_ALWAYS_SOFTWARE": "1", "PIGLIT_PLATFORM": "surfaceless_egl"}, 30.0)
    missing = [f for f in files if f not in known]
    known.update(software.shaders(missing, BATCH))
    for name, command in commands.items():
        if name not in known:
            known[name] = software.program(command)
    if o.reference is not None:
        o.reference.write_text(json.dumps(known, indent=1, sort_keys=True))
    report = Report()
    server = DrmServer(chip_named(o.chip), report, CardSettings())
    card = Runner(root, {**environment(server, LIBRARY.path(), o.mesa), "PIGLIT_PLATFORM": "surfaceless_egl"}, o.limit)
    got: dict[str, str] = {}
    times: dict[str, float] = {}
    started = time.process_time()
    passing = [f for f in files if known[f] == "pass"]
    for path, result in card.shaders(passing, o.batch):
        got[path] = result
        if result != "pass":
            print(f"{result:8} {path}", flush=True)
    seconds = time.process_time() - started
    for name, command in commands.items():
        if known[name] != "pass":
            continue
        got[name] = card.program(command)
        times[name] = card.seconds
        if o.output is not None:  # a run of hours that is interrupted is not lost
            o.output.write_text(json.dumps({"results": got, "seconds": times}, indent=1, sort_keys=True))
        if got[name] != "pass":
            print(f"{got[name]:8} {name} ({times[name]:.1f} s)  {' '.join(command)}", flush=True)
    server.close()
    shaders, others = Counter(got[f] for f in passing), Counter(v for k, v in got.items() if k in commands)
    each = seconds / max(1, len(passing))
    print(f"shader tests: {dict(shaders)} of {len(passing)} that pass on llvmpipe, {each:.2f} s of the card each")
    print(f"programs: {dict(others)} of {sum(others.values())} that pass on llvmpipe")
    print(f"unsupported: {dict(report.unsupported.most_common(20))}")
    print(f"counts: {dict(report.counts)}")
    print(f"faults: {dict(report.faults.most_common(20))}")
    if o.output is not None:
        o.output.write_text(json.dumps({"results": got, "seconds": times}, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
