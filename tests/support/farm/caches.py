"""Launches of processes whose cache of compiled code is damaged before and meanwhile, and that fork."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import isakit
from isakit import object_cache
from support.farm.campaign import Campaign, pieces_left_out
from support.farm.launches import LANES, check_sum, launch_sum
from support.farm.processes import SECONDS, all_end, forked

TIERS = ("interp", "jit", "auto")


def _launch(tier: str, unlike: int) -> None:
    """Launch a kernel that is another one for each number, on two threads."""
    device = isakit.Device("gt200", engine="llvm", tier=tier, threads=2)
    for rounds in (3, 11):
        data = np.full(LANES, unlike, np.uint32)
        launch_sum(device, data, rounds, unlike)
        check_sum(data, unlike, rounds)


# --- damages ----------------------------------------------------------------------------------------------------------
def _truncated(r: Random, path: Path, _: Path) -> None:
    os.truncate(path, r.randrange(path.stat().st_size + 1))


def _changed(r: Random, path: Path, _: Path) -> None:
    size = path.stat().st_size  # which may be more than the memory holds
    with path.open("r+b") as f:
        for _k in range(r.choice((1, 1, 8, 200)) if size else 0):
            f.seek(r.randrange(size))
            f.write(r.randbytes(1))


def _longer(r: Random, path: Path, _: Path) -> None:
    with path.open("ab") as f:
        f.write(r.randbytes(r.choice((1, 50, 4096))))


def _huge(r: Random, path: Path, _: Path) -> None:
    """A file with holes that says how large it is."""
    size = r.choice((1 << 20, 1 << 28, 1 << 40))
    path.write_bytes(object_cache.MAGIC + size.to_bytes(8, "little"))
    os.truncate(path, object_cache.HEADER_BYTES + size)


def _swapped(_: Random, path: Path, other: Path) -> None:
    if path != other:
        between = path.with_name(path.name + ".x")
        path.rename(between)
        other.rename(path)
        between.rename(other)


def _linked(r: Random, path: Path, other: Path) -> None:
    if path != other:
        path.unlink()
        r.choice((path.hardlink_to, path.symlink_to))(other)


def _to_itself(_: Random, path: Path, __: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def _folder(r: Random, path: Path, _: Path) -> None:
    path.unlink()
    path.mkdir()
    if r.random() < 0.5:
        (path / "x").write_bytes(b"x")


def _fifo(_: Random, path: Path, __: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _socket(_: Random, path: Path, __: Path) -> None:
    path.unlink()
    with socket.socket(socket.AF_UNIX) as s:
        here = os.getcwd()
        os.chdir(path.parent)  # names of sockets have 108 bytes at most
        try:
            s.bind(path.name)
        finally:
            os.chdir(here)


def _mode(r: Random, path: Path, _: Path) -> None:
    r.choice((path, path.parent)).chmod(r.choice((0o000, 0o777, 0o400, 0o622)))


def _removed(r: Random, path: Path, _: Path) -> None:
    place = r.choice((path, path.parent, path.parent.parent))
    shutil.rmtree(place, ignore_errors=True) if place.is_dir() else place.unlink()


def _no_folder(r: Random, path: Path, _: Path) -> None:
    """A file, or a link to nothing, in place of the folder."""
    shutil.rmtree(path.parent, ignore_errors=True)
    if r.random() < 0.5:
        path.parent.write_bytes(r.randbytes(100))
    else:
        path.parent.symlink_to("/nowhere/at/all")


def _more(r: Random, path: Path, _: Path) -> None:
    """Files that are none of the cache's, with odd names."""
    for k in range(r.choice((1, 30))):
        name = r.choice(
            (f"{k}.o", f".partial-{k}", "\N{SNOWMAN}" * 60, f"{k} \n", "x" * 250, os.fsdecode(b"\xff%d" % k))
        )
        with (path.parent / name).open("wb") as f:
            f.write(r.randbytes(r.choice((0, 10, 5000))))


DAMAGES: dict[str, Callable[[Random, Path, Path], None]] = {
    "truncated": _truncated, "changed": _changed, "longer": _longer, "huge": _huge, "swapped": _swapped,
    "linked": _linked, "a link to itself": _to_itself, "a folder": _folder, "a fifo": _fifo, "a socket": _socket,
    "another mode": _mode, "removed": _removed, "no folder": _no_folder, "more": _more,
}  # fmt: skip


def damage(kind: str, seed: int, base: Path) -> None:
    """Do some damage to a cache, if there is anything left to be damaged."""
    r = Random(seed)
    try:
        files = sorted(p for p in base.rglob("*") if p.is_file() and not p.is_symlink())
        if files:
            DAMAGES[kind](r, r.choice(files), r.choice(files))
    except OSError:  # processes use it meanwhile, and it may have been damaged before
        pass


@cache
def _pristine() -> Path:
    """A cache in which the usual code is: a process has filled it."""
    folder = Path(tempfile.mkdtemp(prefix="isakit-caches-"))
    atexit.register(shutil.rmtree, folder, True)
    all_end([forked(lambda: [_launch(t, 1) for t in TIERS], ISAKIT_CACHE=str(folder))])
    return folder


def _make_caches(seed: int) -> dict[str, Any]:
    r = Random(seed)
    kinds = list(DAMAGES)
    return {
        "damages": [(r.choice(kinds), r.getrandbits(32)) for _ in range(r.choice((1, 2, 5, 20)))],
        "meanwhile": [(r.choice(kinds), r.getrandbits(32)) for _ in range(r.choice((0, 0, 3, 40)))],
        "processes": [r.choice(TIERS) for _ in range(r.choice((1, 1, 2, 3)))],
        "mib": r.choice((None, None, 0, 1, -1)),
        "most": r.choice((None, None, None, 1, 100, 5000)),
    }


def check_caches(case: dict[str, Any]) -> set[str]:
    """Whatever happens to the cache, launches are right; nothing but a warning is said."""
    with tempfile.TemporaryDirectory(prefix="isakit-caches-") as folder:
        base = Path(folder) / "cache"
        shutil.copytree(_pristine(), base)
        for kind, seed in case["damages"]:
            damage(kind, seed, base)
        options = {"ISAKIT_CACHE": str(base)}
        if case["mib"] is not None:
            options["ISAKIT_CACHE_SIZE"] = str(case["mib"])

        def run(tier: str) -> None:
            import resource

            if case["most"] is not None:  # as on a full disk
                resource.setrlimit(resource.RLIMIT_FSIZE, (case["most"], resource.RLIM_INFINITY))
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", object_cache.CacheWarning)
            for unlike in (1, 2):
                _launch(tier, unlike)
            object_cache.trim()
            object_cache.contents()
            object_cache.verify()

        children = [forked(lambda tier=tier: run(tier), **options) for tier in case["processes"]]
        for kind, seed in case["meanwhile"]:
            time.sleep(0.01)
            damage(kind, seed, base)
        all_end(children)
        all_end([forked(lambda: [_launch("jit", 1), object_cache.clear(), _launch("jit", 1)], **options)])
        for path in base.rglob("*"):
            if not path.is_symlink():
                path.chmod(0o700)
    return {kind for kind, _ in (*case["damages"], *case["meanwhile"])}


def _less(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in ("meanwhile", "damages"):
        for some in (case[name][:0], *pieces_left_out(case[name])):
            yield {**case, name: some}
    for one in case["processes"]:
        yield {**case, "processes": [one]}
    for name in ("mib", "most"):
        yield {**case, name: None}


def _needs() -> str:
    return "" if hasattr(os, "fork") and hasattr(os, "mkfifo") else "processes cannot fork here"


HERE = (
    Campaign(
        "caches",
        "processes that launch while their cache of compiled code is damaged",
        _make_caches,
        check_caches,
        _less,
        needs=_needs,
        memory=None,
        seconds=2 * SECONDS + 20,
        fixed=0,  # the first case compiles everything anew
    ),
)
