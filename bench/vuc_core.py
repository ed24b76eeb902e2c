"""Instructions per second of the vµc core: a copy loop with loads and branches, and an empty loop.

Run it: `python bench/vuc_core.py`. Processor time; median and quartiles of nine runs each. The first run, which decodes
and compiles, is a number of its own.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from isakit.vuc import Core

COPY = (Path(__file__).parent.parent / "examples" / "vuc" / "p1_copy_checksum.s").read_text(encoding="utf-8")
LOOPS = {"copy and checksum (P1)": COPY, "empty loop": "loop: bra #loop\nnop\nend: bra #end\nnop"}
RUNS, PASSES = 9, 40


def measure(core: Core) -> float:
    """Instructions per second of some passes."""
    begin, instructions = time.process_time(), core.issued
    for _ in range(PASSES):
        core.data[0] = 250
        core.start()
        core.run(250 * 9 + 8)
    return (core.issued - instructions) / (time.process_time() - begin)


def main() -> None:
    print("| program | first run, s | median, M instructions/s | quartiles |\n|---|---|---|---|")
    for name, text in LOOPS.items():
        core = Core("vp3")
        begin = time.process_time()
        core.load(text)
        core.data[0] = 250
        core.run(250 * 9 + 8)
        first = time.process_time() - begin
        if text is COPY:
            assert core.data[0x200:0x2FA] == core.data[0x100:0x1FA]
        rates = sorted(measure(core) / 1e6 for _ in range(RUNS))
        low, middle, high = statistics.quantiles(rates, n=4)
        print(f"| {name} | {first:.2f} | {middle:.2f} | {low:.2f} to {high:.2f} |")


if __name__ == "__main__":
    main()
