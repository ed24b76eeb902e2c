"""Launches of processes whose cache of compiled code is damaged before and meanwhile, and that fork."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import isakit
from isakit import object_cache
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.farm.launches import check_sum

TIERS = ("interp", "jit", "auto")
SECONDS = 50.0
"""What a process may take."""
_TEXT = """
.kernel sum
.regs 8
.shared 0x20
.param data ptr
.param rounds u32
cvt u32 $r0 u16 $r0l
shl b32 $r2 $r0 0x2
add b32 $r2 b32 s[data] $r2
ld b32 $r3 g14[$r2]
mov b32 $r4 b32 s[rounds]
mov b32 $r5 0x1
mov b32 $r6 {unlike:#x}
again:
add b32 $r3 $r3 $r4
sub b32 $c0 $r4 $r4 $r5
(lg $c0) bra #again
st b32 g14[$r2] $r3
exit nop
"""


def _launch(tier: str, unlike: int) -> None:
    """Launch a kernel that is another one for each number, on two threads."""
    device = isakit.Device("gt200", engine="llvm", tier=tier, threads=2)
    program = isakit.isa("tesla", "gt200").assemble(_TEXT.format(unlike=unlike))
    for rounds in (3, 11):
        data = np.full(64, unlike, np.uint32)
        device.load(program)["sum"].launch(1, 64, data, np.uint32(rounds))
        check_sum(data, unlike, rounds)


# --- processes --------------------------------------------------------------------------------------------------------
def forked(run: Callable[[], object], **environment: str) -> int:
    """A child that runs something, with other variables of the environment; what goes wrong there is its status."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.environ.update(environment)
        run()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def ended(child: int, seconds: float = SECONDS) -> str:
    """Wait for a child; says what is wrong with its end, if anything is."""
    end = time.monotonic() + seconds
    pause = 0.001
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            return "" if code == 0 else f"a process ended with {code}"
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "a process does not end"


def _check(children: list[int]) -> None:
    wrong = [w for w in map(ended, children) if w]
    if wrong:
        raise Wrong(wrong[0])


# --- damages ----------------------------------------------------------------------------------------------------------
def _truncated(r: Random, path: Path, _: Path) -> None:
    os.truncate(path, r.randrange(path.stat().st_size + 1))


def _changed(r: Random, path: Path, _: Path) -> None:
    data = bytearray(path.read_bytes())
    for _k in range(r.choice((1, 1, 8, 200))):
        if data:
            data[r.randrange(len(data))] = r.getrandbits(8)
    path.write_bytes(data)


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
    _check([forked(lambda: [_launch(t, 1) for t in TIERS], ISAKIT_CACHE=str(folder))])
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
        _check(children)
        _check([forked(lambda: [_launch("jit", 1), object_cache.clear(), _launch("jit", 1)], **options)])
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
