#!/usr/bin/env python3
"""Measure the size and shape of the package and hold them against a table: `python tools/budget [--write] [--json]`.

The table `budget.toml` beside this file holds the figures agreed on. A figure above its limit is an error: the
change is made smaller, or the table is changed in the same commit with its reason in `[reasons]`. A figure that fell is
printed; `--write` puts the measured figures into the table. Exit status 1: something is above its limit.

What counts: statements (`ast.stmt`, without docstrings; blank lines and comments are free) and tokens per statement,
by room; circles of modules and exceptions from the rule against them; classes with more than ten public methods; lines
that name `Any`; Python functions that five walks through the package call.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from measure import Figures, measure  # noqa: E402  (found through the line above)

TABLE = FOLDER / "budget.toml"
SLACK = {"tokens_per_statement": 1.05, "walks": 1.05}
"""How far above the table a figure may lie: lines may be a little denser, processors differ in what code is made."""


def main() -> int:
    """Print the figures beside the table; return the exit status."""
    parser = argparse.ArgumentParser(prog="budget", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the measured figures into the table")
    parser.add_argument("--json", action="store_true", help="print the measured figures as JSON")
    options = parser.parse_args()
    found = measure()
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    table = tomllib.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    if options.write:
        TABLE.write_text(as_toml(found, table.get("reasons", {})), encoding="utf-8")
        return 0
    over = compare(found, table)
    for line in over:
        print(f"above the budget: {line}")
    return 1 if over else 0


def compare(found: Figures, table: Figures) -> list[str]:
    """Print a row for each figure; return those above their limits, as text."""
    over: list[str] = []
    for group, rows in found.items():
        limits = table.get(group, {})
        slack = SLACK.get(group, 1.0)
        print(f"{group.replace('_', ' ')}:")
        for name, value in rows.items():
            limit = limits.get(name, 0)
            mark = "" if value == limit else f"   {value - limit:+.6g}"
            print(f"  {name:14} {value:>8.6g} of {limit:<8.6g}{mark}")
            if value > limit * slack:
                over.append(f"{group}, {name}: {value:.6g}, the table says {limit:.6g}")
        if len(rows) > 1 and group == "statements":
            print(f"  {'all':14} {sum(rows.values()):>8} of {sum(limits.values()):<8}")
    return over


def as_toml(found: Figures, reasons: dict[str, str]) -> str:
    """Return the text of the table."""
    lines = ["# Limits for `python tools/budget`; a figure may fall, and grows only with a reason below."]
    for group, rows in found.items():
        lines += ["", f"[{group}]", *(f"{name} = {value}" for name, value in rows.items())]
    lines += ["", "[reasons]", *(f"{name} = {json.dumps(text)}" for name, text in reasons.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
