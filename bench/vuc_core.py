"""Instructions per second of the vµc core on both engines: a copy loop with loads and stores, and an empty loop.

Run it: `python bench/vuc_core.py`. Processor time; median and quartiles of nine runs each, the engines in turn. The
first run, which decodes and compiles (or fetches compiled code from the cache), is a number of its own;
`ISAKIT_CACHE=off` shows it without the cache.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from isakit.vuc import Core

COPY = (Path(__file__).parent.parent / "examples" / "vuc" / "p1_copy_checksum.s").read_text(encoding="utf-8")
LOOPS = {
    "copy and checksum (P1), 250 cells a run": COPY,
    "the same, endless": "",
    "empty loop": "loop: bra #loop\nnop\nend: bra #end\nnop",
}
ENGINES, RUNS = ("reference", "llvm"), 9


def endless(text: str) -> str:
    """The copy program begun anew by its own last branch."""
    lines = [line.split("//")[0].rstrip() for line in text.splitlines()]
    return "\n".join(["again:", *(line.replace("#end", "#again") for line in lines)])


def measure(core: Core, cycles: int, passes: int) -> float:
    """Instructions per second of some passes."""
    begin, instructions = time.process_time(), core.issued
    for _ in range(passes):
        core.data[0] = 250
        core.start()
        core.run(cycles)
    return (core.issued - instructions) / (time.process_time() - begin)


def main() -> None:
    print("| program | engine | first run, s | median, M instructions/s | quartiles |\n|---|---|---|---|---|")
    once = 250 * 9 + 8
    for name, text in LOOPS.items():
        rates: dict[str, list[float]] = {e: [] for e in ENGINES}
        cores, first = {}, {}
        for engine in ENGINES:
            core = cores[engine] = Core("vp3", engine=engine)
            core.load(text or endless(COPY))
            core.data[0] = 250
            begin = time.process_time()
            core.run(once)
            first[engine] = time.process_time() - begin
            if text is COPY:
                assert core.data[0x200:0x2FA] == core.data[0x100:0x1FA]
        assert cores["reference"].state() == cores["llvm"].state()
        for _ in range(RUNS):
            for engine in ENGINES:
                if text is COPY:
                    cycles, passes = once, 40
                else:
                    cycles, passes = (90_000, 1) if engine == "reference" else (10_000_000, 1)
                rates[engine].append(measure(cores[engine], cycles, passes) / 1e6)
        middle = {e: statistics.median(rates[e]) for e in ENGINES}
        for engine in ENGINES:
            low, _, high = statistics.quantiles(rates[engine], n=4)
            print(f"| {name} | {engine} | {first[engine]:.2f} | {middle[engine]:.2f} | {low:.2f} to {high:.2f} |")
        print(f"| {name} | ratio | | {middle['llvm'] / middle['reference']:.0f} | |")


if __name__ == "__main__":
    main()
