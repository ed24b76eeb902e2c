"""Measure the largest errors of the CUDA headers' functions, for the tables of `docs/reference/cuda-mathematics.md`.

The headers are compiled for this machine's processor, where they compute what they do on a simulated chip (a test
compares them). Functions of one float are measured on every STEP-th bit pattern, with 1 on all; the others on random
arguments, with all special ones. The page's tables are replaced.

Usage: tools/math_errors.py [--step STEP] [--random COUNT]
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.math_accuracy import FUNCTIONS, PAIRS, SINGLES  # noqa: E402
from support.math_on_host import PATTERNS, build  # noqa: E402

PAGE = ROOT / "docs/reference/cuda-mathematics.md"
_HEAD = ["| function | largest error, ulp | at | bound of the guide |", "|---|---|---|---|"]


def main() -> None:
    """Measure, and write the tables."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--step", type=int, default=1, metavar="STEP")
    ask.add_argument("--random", type=int, default=10**8, metavar="COUNT")
    given = ask.parse_args()
    text = PAGE.read_text()
    with tempfile.TemporaryDirectory() as folder:
        programs = build(Path(folder))
        lines = [f"Measured on {-(-PATTERNS // given.step):,} of the 4,294,967,296 arguments.", "", *_HEAD]
        for f in (*FUNCTIONS, *SINGLES):
            got = programs.largest_of_floats(f.name, step=given.step)
            lines.append(f"| `{f.name}f` | {got.error:.2f} | {got.at[0]:.9g} | {f.single:g} |")
        text = _replaced(text, "measured", lines)
        lines = [f"Measured on {given.random:,} random arguments, and special ones.", "", *_HEAD]
        for f in (*FUNCTIONS, *SINGLES):
            got = programs.largest_of_random("double", f.name, f.ranges_of_doubles, given.random, 1)
            lines.append(f"| `{f.name}` | {got.error:.2f} | {got.at[0]:.17g} | {f.double:g} |")
        for kind, suffix in (("float", "f"), ("double", "")):
            for f in PAIRS:
                got = programs.largest_of_random(kind, f.name, f.ranges_of_doubles, given.random, 1)
                at, bound = ", ".join(f"{v:.{9 if suffix else 17}g}" for v in got.at), f.single if suffix else f.double
                lines.append(f"| `{f.name}{suffix}` | {got.error:.2f} | {at} | {bound:g} |")
    PAGE.write_text(_replaced(text, "random", lines))


def _replaced(text: str, name: str, lines: list[str]) -> str:
    marked = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
    return re.sub(marked, lambda m: m[1] + "\n" + "\n".join(lines) + "\n\n" + m[2], text, flags=re.DOTALL)


if __name__ == "__main__":
    main()
