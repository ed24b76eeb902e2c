"""Measure the largest errors of the CUDA headers' functions, for the table of `docs/reference/cuda-mathematics.md`.

Functions of one float are computed on a simulated chip for the bit patterns of some seeds, 65,536 each; all seeds from
0 to 65,535 are all floats. The page's table is replaced.

Usage: tools/math_errors.py [--seeds N] [--first K]
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.math_accuracy import FUNCTIONS, SINGLES, measure_everywhere  # noqa: E402

PAGE = ROOT / "docs/reference/cuda-mathematics.md"


def main() -> None:
    """Measure, and write the table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--seeds", type=int, default=16)
    ask.add_argument("--first", type=int, default=0)
    given = ask.parse_args()
    got = measure_everywhere(range(given.first, given.first + given.seeds))
    lines = [f"Measured on {given.seeds * 65536:,} of the 4,294,967,296 arguments.", "",
             "| function | largest error, ulp | at | bound of the guide |", "|---|---|---|---|"]  # fmt: skip
    for f in (*FUNCTIONS, *SINGLES):
        error, where = got[f.name]
        lines.append(f"| `{f.name}f` | {error:.2f} | {where:.9g} | {f.single:g} |")
    text = PAGE.read_text()
    marked = r"(<!-- measured -->\n).*?(<!-- end -->)"
    PAGE.write_text(re.sub(marked, lambda m: m[1] + "\n" + "\n".join(lines) + "\n\n" + m[2], text, flags=re.DOTALL))


if __name__ == "__main__":
    main()
