"""CUDA programs: how long they take to start, what a launch costs, and their rates beside GPGPU-Sim's.

Run it: `python bench/cuda.py [--turns N] [--rates]`. Needs a C compiler on 64-bit x86 Linux. The programs are those of
the tests: one does what NVIDIA's vectorAdd does, the other launches a kernel of one thread again and again. Processor
time is that of both processes. `--rates` runs programs of the conformance data, where it is at hand, and sets their
thread instructions per second of processor time beside the published rates of GPGPU-Sim 4.0 in its functional mode,
which it cannot run itself. The time is that of the whole command, the program's own work and all threads included, so
the rates are those of one core, and other work on the machine does not change them much.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.clients import cuda_build  # noqa: E402

GPGPU_SIM = {"streams memory": 1.9e6, "shared memory": 2.7e6, "computes": 6.1e6}
"""Thread instructions per second by the kind of kernel. Source: the study of engines, section 2 (best of)."""
PROGRAMS = {
    "ispass/transpose": ("-noprompt", "shared memory"),
    "ispass/alignedTypes": ("-noprompt", "streams memory"),
    "sdk42/bin/linux/release/histogram": ("-noprompt", "shared memory"),
    "sdk42/bin/linux/release/simpleStreams": ("-noprompt", "computes"),
    "rodinia/hotspot": ("512 2 2 temp_512 power_512 /dev/null", "shared memory"),
}
FEW, MANY = 2_000, 22_000


def processor_seconds() -> float:
    """Processor time of all commands so far, with their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(*command: str | Path) -> float:
    """Processor time of a command and its children."""
    before = processor_seconds()
    subprocess.run([sys.executable, *map(str, command)], check=True, stdout=subprocess.DEVNULL)
    return processor_seconds() - before


def shown(values: list[float], unit: float) -> str:
    """Median and quartiles."""
    low, _, high = (v * unit for v in quantiles(values, n=4))
    return f"{median(values) * unit:.0f} ({low:.0f} to {high:.0f})"


def starts(turns: int, folder: Path) -> None:
    """Start-up and launches, in turns with Python and NumPy alone."""
    cuda = ["-m", "isakit", "cuda", "--"]
    add, repeat = (cuda_build.build(name, folder / name) for name in ("vector_add", "repeat"))
    seconds(*cuda, add)
    seconds(*cuda, repeat, "sum", str(MANY))
    base, whole, launch = [], [], []
    for _ in range(turns):
        base.append(seconds("-c", "import numpy"))
        whole.append(seconds(*cuda, add))
        few, many = (seconds(*cuda, repeat, "sum", str(n)) for n in (FEW, MANY))
        launch.append((many - few) / (MANY - FEW))
    print("| what | processor time (quartiles) | ratio to `import numpy` |")
    print("|---|---|---|")
    print(f"| import numpy | {shown(base, 1e3)} ms | 1 |")
    print(f"| vectorAdd, the whole command | {shown(whole, 1e3)} ms | {median(whole) / median(base):.1f} |")
    print(f"| a launch of one thread, repeated | {shown(launch, 1e6)} us | |")


def rates(corpus: Path) -> None:
    """Programs of others beside GPGPU-Sim."""
    print("\n| program | G thread instructions | processor s | G/s of one core | GPGPU-Sim, M/s | ratio |")
    print("|---|---|---|---|---|---|")
    for name, (arguments, kind) in PROGRAMS.items():
        path = corpus / name
        line = [sys.executable, "-m", "isakit", "cuda", "--json", "--", str(path), *arguments.split()]
        before = processor_seconds()
        done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=path.parent)
        took = processor_seconds() - before
        kernels = json.loads(done.stderr[done.stderr.index("{") :])["kernels"].values()
        instructions = sum(k["instructions"] for k in kernels)
        rate = instructions / took
        print(
            f"| {path.name} | {instructions / 1e9:.1f} | {took:.1f} | {rate / 1e9:.2f} "
            f"| {GPGPU_SIM[kind] / 1e6} ({kind}) | {rate / GPGPU_SIM[kind]:,.0f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=9, help="processes of each kind [default: 9]")
    parser.add_argument("--rates", action="store_true", help="also run programs of the conformance data")
    options = parser.parse_args()
    if not cuda_build.has_compiler():
        sys.exit("needs a C compiler on 64-bit x86 Linux")
    with tempfile.TemporaryDirectory() as folder:
        starts(max(2, options.turns), Path(folder))
    if options.rates:
        given = os.environ.get("ISAKIT_SHARED")
        corpus = (Path(given) if given else ROOT.parent / "shared") / "corpus" / "cuda"
        if not corpus.is_dir():
            sys.exit("no conformance data: set ISAKIT_SHARED")
        rates(corpus)


if __name__ == "__main__":
    main()
