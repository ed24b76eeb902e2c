"""Measure the largest errors of the CUDA headers' functions, for the tables of `docs/reference/cuda-mathematics.md`.

The headers are compiled for this machine's processor, where they compute what they do on a simulated chip (a test
compares them). Functions of one float are measured on every STEP-th bit pattern, with 1 on all; the others on random
arguments, with all special ones. The page's tables are replaced. The whole takes some 70 minutes of one core; with
--resume, what a file holds is not measured again.

Usage: tools/math_errors.py [--step STEP] [--random COUNT] [--resume FILE]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.math_accuracy import FUNCTIONS, PAIRS, SINGLES  # noqa: E402
from support.math_on_host import PATTERNS, Largest, build  # noqa: E402

PAGE = ROOT / "docs/reference/cuda-mathematics.md"
_HEAD = ["| function | largest error, ulp | at | bound of the guide |", "|---|---|---|---|"]


@dataclass
class Measured:
    """What was measured, by function and number of arguments; a file keeps it, one JSON array a line."""

    file: Path | None
    known: dict[str, Largest] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for line in self.file.read_text().splitlines() if self.file and self.file.exists() else ():
            key, error, at, absolute, absolute_at = json.loads(line)
            self.known[key] = Largest(error, tuple(at), absolute, absolute_at)

    def get(self, key: str, measure: Callable[[], Largest]) -> Largest:
        """Return what is known under a key, or measure it and keep it."""
        if key not in self.known:
            self.known[key] = measure()
            print(key, self.known[key].error, file=sys.stderr, flush=True)
            if self.file:
                with self.file.open("a") as out:
                    out.write(json.dumps([key, *astuple(self.known[key])]) + "\n")
        return self.known[key]


def main() -> None:
    """Measure, and write the tables."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--step", type=int, default=1, metavar="STEP")
    ask.add_argument("--random", type=int, default=10**8, metavar="COUNT")
    ask.add_argument("--resume", type=Path, metavar="FILE", help="where the errors measured so far are kept")
    given = ask.parse_args()
    step, count = given.step, given.random
    measured, text = Measured(given.resume), PAGE.read_text()
    with tempfile.TemporaryDirectory() as folder:
        programs = build(Path(folder))
        lines = [f"Measured on {-(-PATTERNS // step):,} of the 4,294,967,296 arguments.", "", *_HEAD]
        for f in (*FUNCTIONS, *SINGLES):
            got = measured.get(f"{f.name}f step {step}", lambda f=f: programs.largest_of_floats(f.name, step=step))
            lines.append(f"| `{f.name}f` | {got.error:.2f} | {got.at[0]:.9g} | {f.single:g} |")
        text = _replaced(text, "measured", lines)
        lines = [f"Measured on {count:,} random arguments, and special ones.", "", *_HEAD]
        for kind, f in (
            *(("double", f) for f in (*FUNCTIONS, *SINGLES)),
            *((kind, f) for kind in ("float", "double") for f in PAIRS),
        ):
            name = f.name + "f" * (kind == "float")
            got = measured.get(
                f"{name} random {count}",
                lambda kind=kind, f=f: programs.largest_of_random(kind, f.name, f.ranges_of_doubles, count, 1),
            )
            digits, bound = (9, f.single) if kind == "float" else (17, f.double)
            at = ", ".join(f"{v:.{digits}g}" for v in (got.at if f in PAIRS else got.at[:1]))
            lines.append(f"| `{name}` | {got.error:.2f} | {at} | {bound:g} |")
    PAGE.write_text(_replaced(text, "random", lines))


def _replaced(text: str, name: str, lines: list[str]) -> str:
    marked = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
    return re.sub(marked, lambda m: m[1] + "\n" + "\n".join(lines) + "\n\n" + m[2], text, flags=re.DOTALL)


if __name__ == "__main__":
    main()
