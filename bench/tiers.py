"""What `tier="auto"` costs beside the interpreter and the JIT, over the life of kernels of real programs.

Programs of the conformance data run once, and their launches are kept (`isakit cuda --capture`). A life is one launch
of a kernel, or the same launch repeated until the interpreter would have run for so many seconds. Every life of every
tier has a process of its own, in turns; kernels compiled before are not found on disk, the functions that all kernels
share are. Time is processor time of the process and of the one that compiles, from the first launch to the end of the
last one. With `--found` kernels are found on disk, as they are when a program runs for the second time.

Run it: `python bench/tiers.py FOLDER [--lives 0,0.3,3] [--only NAME] [--found]`; captures are kept in FOLDER. Needs a C
compiler and the conformance data.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SDK = "sdk42/bin/linux/release"
PROGRAMS = {
    "ispass/simpleVoteIntrinsics": "-noprompt", "ispass/LPS": "", "ispass/RAY": "64 64", "ispass/CP": "",
    "ispass/transpose": "-noprompt", "ispass/alignedTypes": "-noprompt", "rodinia/lud_cuda": "-s 256",
    "rodinia/hotspot": "64 2 2 temp_64 power_64 /dev/null", "rodinia/lavaMD": "-boxes1d 2",
    f"{SDK}/dwtHaar1D": "-noprompt", f"{SDK}/SobolQRNG": "-noprompt", f"{SDK}/simpleTemplates": "-noprompt",
    f"{SDK}/convolutionSeparable": "-noprompt", f"{SDK}/histogram": "-noprompt", f"{SDK}/mergeSort": "-noprompt",
    f"{SDK}/recursiveGaussian": "-qatest", f"{SDK}/reduction": "-noprompt", f"{SDK}/simpleStreams": "-noprompt",
    f"{SDK}/imageDenoising": "-qatest", f"{SDK}/simpleTexture3D": "-qatest",
}  # fmt: skip
PATIENCE = 60
"""Seconds after which a program has launched enough."""
TIERS = ("interp", "jit", "auto")


def used() -> float:
    """Processor time of this process and of those it has waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(r.ru_utime + r.ru_stime for r in both)


def one(capture: Path, number: int, tier: str, launches: int, found: bool) -> dict[str, float]:
    """A life in this process."""
    from isakit.engine.llvm import background
    from isakit.hosts.cuda.replay import Capture
    from isakit.machine.tesla.compiled.launch import compiled_kernels

    if not found:
        known: Any = compiled_kernels
        read, write = known.read_object, known.write_object
        known.read_object = lambda kind, key: None if kind == "kernels" else read(kind, key)
        known.write_object = lambda kind, key, data: None if kind == "kernels" else write(kind, key, data)
    captured = Capture(capture)
    with captured.reading(number):
        _, kernel, launch = captured.prepare(number, engine="llvm", tier=tier, threads=1)
    before, started = used(), time.perf_counter()
    instructions = sum(kernel.launch(**launch).instructions for _ in range(launches))
    wall = time.perf_counter() - started
    background._server.end()
    return {"seconds": used() - before, "wall": wall, "instructions": instructions}


def life(capture: Path, number: int, tier: str, launches: int, found: bool) -> dict[str, float]:
    """A life in a process of its own."""
    line = [sys.executable, __file__, str(capture), "--one", f"{number},{tier},{launches},{int(found)}"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)


def captured(folder: Path, only: str) -> list[tuple[str, Path, int]]:
    """Kernels: name, capture and the number of the first launch of each; programs are run where there is none yet."""
    given = os.environ.get("ISAKIT_SHARED")
    corpus = (Path(given) if given else ROOT.parent / "shared") / "corpus" / "cuda"
    if not corpus.is_dir():
        sys.exit("no conformance data: set ISAKIT_SHARED")
    out: list[tuple[str, Path, int]] = []
    for name, arguments in PROGRAMS.items():
        if only not in name:
            continue
        kept = folder / Path(name).name
        if not (kept / "capture.json").is_file():
            shutil.rmtree(kept, ignore_errors=True)
            path = corpus / name
            line = [sys.executable, "-m", "isakit", "cuda", "--capture", str(kept), "--", str(path), *arguments.split()]
            with suppress(subprocess.TimeoutExpired):  # what it has launched until then is enough
                subprocess.run(line, capture_output=True, check=False, cwd=path.parent, timeout=PATIENCE)
        seen: set[str] = set()
        for file in sorted((kept / "launches").glob("*.json")):
            kernel = json.loads(file.read_text())["kernel"]
            if kernel not in seen:
                seen.add(kernel)
                out.append(
                    (f"{kept.name}: {kernel.removeprefix('_Z').lstrip('0123456789')[:28]}", kept, int(file.stem))
                )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lives", default="0,0.3,3", help="seconds of the interpreter, 0 for one launch")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--kernels", type=int, default=2, help="of a program, at most")
    parser.add_argument("--found", action="store_true", help="kernels are found on disk")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        number, tier, launches, found = options.one.split(",")
        print(json.dumps(one(options.folder, int(number), tier, int(launches), bool(int(found)))))
        return
    print("| kernel | launches | M instructions | interpreter s | JIT s | auto s | auto / better | auto, wall s |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    counts: dict[Path, int] = {}
    ratios: list[float] = []
    for name, capture, number in captured(options.folder, options.only):
        counts[capture] = counts.get(capture, 0) + 1
        if counts[capture] > options.kernels:
            continue
        try:
            life(capture, number, "interp", 1, options.found)  # makes what all kernels share
            single = life(capture, number, "interp", 1, options.found)["seconds"]
            again = (life(capture, number, "interp", 4, options.found)["seconds"] - single) / 3
            if options.found:
                life(capture, number, "jit", 1, True)
            for seconds in map(float, options.lives.split(",")):
                launches = max(1, min(20000, int(seconds / max(again, 1e-5))))
                if seconds and launches == 1:
                    continue
                took = {tier: life(capture, number, tier, launches, options.found) for tier in TIERS}
                s = {tier: took[tier]["seconds"] for tier in TIERS}
                ratios.append(s["auto"] / min(s["interp"], s["jit"]))
                print(
                    f"| {name} | {launches} | {took['jit']['instructions'] / 1e6:.1f} | {s['interp']:.3f} | "
                    f"{s['jit']:.3f} | {s['auto']:.3f} | {ratios[-1]:.2f} | {took['auto']['wall']:.3f} |",
                    flush=True,
                )
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            print(f"| {name} | {e} |", flush=True)
    ratios.sort()
    middle, most, last = (ratios[int(share * (len(ratios) - 1))] for share in (0.5, 0.9, 1))
    print(f"\n{len(ratios)} lives: auto / better tier: median {middle:.2f}, 90 % below {most:.2f}, at most {last:.2f}")


if __name__ == "__main__":
    main()
