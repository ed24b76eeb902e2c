"""How fast code becomes text and text becomes code.

Measures, on one core and in processor time, alternately in one process:

- text: `[i.text for i in isa.disassemble(data)]`, the first time in a process and later,
- listing: `str(isa.disassemble(data))`, with labels, addresses and words,
- assembling that listing, the first time and later,
- for comparison: the least any disassembler written in Python has to do, unpacking words and formatting a line for
  each, and capstone (for another instruction set, as it knows none of these) where it is installed.

Tesla code comes from the corpus if there is one ($ISAKIT_SHARED), else from the instruction records; the other two
instruction sets always from the records. Usage: bench/disassembly.py [--words N] [--repeat N]
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import random
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import isakit

ROOT = Path(__file__).resolve().parent.parent


def corpus() -> list[int]:
    """The Tesla code of all cubins of the corpus, one after the other."""
    folder = Path(os.environ.get("ISAKIT_SHARED", ROOT.parent / "shared")) / "corpus" / "tesla" / "cubins"
    words: list[int] = []
    for path in sorted(folder.glob("*.cubin")):
        for kernel in isakit.load(path).kernels.values():
            words += kernel.words
            words += [0x20008204] * (len(words) % 2)
    return words


def invented(name: str, count: int) -> list[int]:
    """Valid instructions with random operands."""
    rng = random.Random(1)
    decoder = isakit.isa(name).decoder()
    bits = decoder.view.variant.unit_bits
    forms = [f for f in decoder.view.forms if decoder.view.available(f)]
    units: list[int] = []
    while len(units) < count:
        form = rng.choice(forms)
        word = form.base ^ rng.getrandbits(bits * form.units) & form.possible & ~form.fixed.mask
        if form.error(word) is None and len(units) % form.units == 0:
            units += [word >> bits * k & (1 << bits) - 1 for k in range(form.units)]
    return units


def seconds(action: Callable[[], object]) -> float:
    """Return the processor time of an action, as `timeit` does without the collector of cycles.

    Its runs depend on all that other rows have left in memory, and take up to three quarters of the time.
    """
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        action()
        return time.process_time() - start
    finally:
        gc.enable()


def rate(times: list[float], count: int) -> str:
    low, middle, high = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
    return f"{count / middle:,.0f} ({count / high:,.0f} .. {count / low:,.0f})"


def measure(title: str, name: str, units: list[int], repeat: int) -> None:
    """One table row per activity: instructions per second, median and quartiles."""
    isa = isakit.isa(name)
    size = isa.decoder().view.variant.unit_bytes
    data = b"".join(u.to_bytes(size, "little") for u in units)
    first: list[str] = []
    cold = seconds(lambda: first.extend(i.text for i in isa.disassemble(data)))
    count = len(first)
    listing = str(isa.disassemble(data))
    assert listing
    programs: list[isakit.Program] = []
    cold_assembly = seconds(lambda: programs.append(isa.assemble(listing)))
    if programs[0].to_bytes() != data:
        raise SystemExit(f"{title}: the listing does not assemble back")
    texts, listings, assemblies, floors = [], [], [], []
    for _ in range(repeat):
        floors.append(seconds(lambda: floor(data)))
        texts.append(seconds(lambda: [i.text for i in isa.disassemble(data)]))
        listings.append(seconds(lambda: str(isa.disassemble(data))))
        assemblies.append(seconds(lambda: isa.assemble(listing)))
    different = len(set(first))
    print(f"\n{title}: {len(units):,} words, {count:,} instructions, {different:,} different texts\n")
    print("| | per second: median (quartiles) | times the floor |")
    print("|---|---|---|")
    base = statistics.median(floors) / len(units) * count
    for what, times in (
        ("text, first time", [cold]),
        ("text", texts),
        ("listing", listings),
        ("assemble, first time", [cold_assembly]),
        ("assemble", assemblies),
    ):
        print(f"| {what} | {rate(times, count)} | {statistics.median(times) / base:.1f} |")
    print(f"| floor: unpack and format, lines | {rate(floors, len(data) // 4)} | |")


def floor(data: bytes) -> str:
    """What no listing written in Python can do without."""
    words = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    return "\n".join([f"{4 * k:06x}: {w:08x}" for k, w in enumerate(words)])


def peer(data: bytes) -> None:
    """Capstone on the same bytes as ARM code, an instruction set of similar density."""
    try:
        import capstone
    except ImportError:
        print("\ncapstone is not installed: no comparison with it")
        return
    md = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    md.skipdata = True
    times = [seconds(lambda: [f"{m} {o}" for _, _, m, o in md.disasm_lite(data, 0)]) for _ in range(5)]
    print(f"\ncapstone {capstone.__version__}, AArch64, `disasm_lite`: {rate(times, len(data) // 4)} per second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {platform.system()} ", end="")
    print(f"{platform.release()}, Python {sys.version.split()[0]}, commit {commit.stdout.strip()}")
    found = corpus()
    if found:
        measure("tesla, corpus", "tesla", (found * (options.words // len(found) + 1))[: options.words], options.repeat)
    for name in ("tesla", "vuc", "usse"):
        measure(f"{name}, random operands", name, invented(name, options.words), options.repeat)
    rng = random.Random(2)
    peer(struct.pack(f"<{options.words}I", *(rng.getrandbits(32) for _ in range(options.words))))


if __name__ == "__main__":
    main()
