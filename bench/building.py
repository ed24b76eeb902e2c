"""Instructions per second that are built from values, beside decoding and printing them, on one core.

    python bench/building.py [--count N] [--repeat N]

Every shape is built over and over with other registers and numbers, as a compiler does.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import isakit
from isakit import Immediate, Memory, Register

R = [Register("r", n) for n in range(64)]
SHARED = [Memory("s", offset=4 * n) for n in range(32)]
HALVES = [Register("r", n, half=h) for n in range(32) for h in "lh"]
SHAPES: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "add, three registers": ("add", lambda k: {"ty": "b32", "dst": R[k % 64], "src1": R[k % 61], "src2": R[k % 53]}),
    "add, a number": ("add", lambda k: {"ty": "b32", "dst": R[k % 64], "src1": R[k % 61], "src2": Immediate(k % 5000)}),
    "mov from s[]": ("mov", lambda k: {"ty": "b32", "dst": R[k % 64], "src1": SHARED[k % 32]}),
    "mul, halves": (
        "mul",
        lambda k: {"dst": R[k % 64], "sign1": "u16", "src1": HALVES[k % 61], "sign2": "u16", "src2": HALVES[k % 53]},
    ),
}


def seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def rate(times: list[float], count: int) -> str:
    low, middle, high = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
    return f"{count / middle:,.0f} ({count / high:,.0f} .. {count / low:,.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    isa = isakit.isa("tesla", "gt200")
    print("| shape | built per second: median (quartiles) | times as fast as its text is made |")
    print("|---|---|---|")
    for title, (mnemonic, operands) in SHAPES.items():
        given = [operands(k) for k in range(options.count)]
        data = b"".join(isa.build(mnemonic, **g).bytes for g in given)
        assert [i.text for i in isa.disassemble(data)]
        built = [seconds(lambda g=given, m=mnemonic: [isa.build(m, **o) for o in g]) for _ in range(options.repeat)]
        read = [seconds(lambda d=data: [i.text for i in isa.disassemble(d)]) for _ in range(options.repeat)]
        times = statistics.median(read) / statistics.median(built)
        print(f"| {title} | {rate(built, options.count)} | {times:.1f} |")


if __name__ == "__main__":
    main()
