"""The cache of compiled code: what is damaged, foreign or half written is never used."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llvmlite")

from isakit import object_cache as cache
from isakit.object_cache import CacheWarning, read_object, write_object
from support.clients.command_line import run as command
from support.clients.processes import python

DATA = bytes(range(256)) * 9


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ISAKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_told", set())
    return tmp_path / "cache" / "objects"


def test_what_was_written_is_read(folder: Path) -> None:
    assert read_object("code", "a") is None
    write_object("code", "a", DATA)
    assert read_object("code", "a") == DATA
    assert cache.keys("code") == ["a"]
    assert [p.name for p in folder.rglob("*") if p.is_file()] == ["a"]


def test_what_is_made_fast_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(_: int) -> None:
        raise OSError

    monkeypatch.setattr(os, "fsync", unwanted)
    write_object("code", "a", DATA)
    assert read_object("code", "a") is None
    write_object("code", "a", DATA, lasting=False)
    assert read_object("code", "a") == DATA


DAMAGES = {
    "empty": lambda raw: b"",
    "one byte short": lambda raw: raw[:-1],
    "one byte more": lambda raw: raw + b"\0",
    "half": lambda raw: raw[: len(raw) // 2],
    "only the header": lambda raw: raw[: cache.HEADER_BYTES],
    "half a header": lambda raw: raw[:20],
    "another magic": lambda raw: b"x" + raw[1:],
    "random": lambda raw: random.Random(3).randbytes(len(raw)),
    "zeros": lambda raw: bytes(len(raw)),
    "no header": lambda raw: raw[cache.HEADER_BYTES :],
    **{f"bit {k}": lambda raw, k=k: _flipped(raw, k) for k in (0, 130, 200, 500, 2000, 8 * 2350)},
}


def _flipped(raw: bytes, bit: int) -> bytes:
    out = bytearray(raw)
    out[bit // 8] ^= 1 << bit % 8
    return bytes(out)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_object_is_a_miss_and_is_replaced(folder: Path, damage: str) -> None:
    write_object("code", "a", DATA)
    path = folder / "code" / "a"
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert read_object("code", "a") is None
    assert not path.exists()
    write_object("code", "a", DATA)
    assert read_object("code", "a") == DATA


def test_an_object_under_another_name_is_a_miss(folder: Path) -> None:
    """Code of one kernel in place of another's is whole, and ends the process all the same."""
    write_object("code", "a", DATA)
    write_object("code", "b", DATA[::-1])
    (folder / "code" / "b").write_bytes((folder / "code" / "a").read_bytes())
    assert read_object("code", "b") is None
    assert read_object("code", "a") == DATA
    (folder / "kernels").mkdir(mode=0o700)
    (folder / "kernels" / "a").write_bytes((folder / "code" / "a").read_bytes())
    assert read_object("kernels", "a") is None


@pytest.mark.parametrize("size", [1 << 36, (1 << 20) + cache.HEADER_BYTES])
def test_an_object_that_is_larger_than_it_says_is_not_read(folder: Path, size: int) -> None:
    write_object("code", "a", DATA)
    os.truncate(folder / "code" / "a", size)
    assert read_object("code", "a") is None
    assert not (folder / "code" / "a").exists()


def test_a_file_that_says_it_takes_all_memory_is_not_read(folder: Path) -> None:
    write_object("code", "a", DATA)
    with (folder / "code" / "a").open("r+b") as f:
        f.write(cache.MAGIC + (1 << 36).to_bytes(8, "little"))
        f.truncate(cache.HEADER_BYTES + (1 << 36))
    assert read_object("code", "a") is None


@pytest.mark.parametrize("kind", ["folder", "fifo", "link"])
def test_what_is_no_file_in_place_of_an_object_is_a_miss(folder: Path, kind: str) -> None:
    write_object("code", "a", DATA)
    path = folder / "code" / "a"
    path.unlink()
    {"folder": path.mkdir, "fifo": lambda: os.mkfifo(path), "link": lambda: path.symlink_to("/dev/zero")}[kind]()
    assert read_object("code", "a") is None
    write_object("code", "a", DATA)
    assert [p.name for p in (folder / "code").iterdir()] == ["a"]


KERNEL = """
import numpy as np, isakit
source = ".kernel k\\n.param out ptr\\nmov b32 $r1 0x5\\nagain:\\nadd b32 $r1 $r1 0xffffffff\\n" \\
         "set $c0 # g u32 $r1 $r9\\n(lg $c0) bra #again\\nmov b32 $r2 b32 s[out]\\nexit st b32 g14[$r2] $r1"
out = np.full(1, 7, np.uint32)
for tier in ("interp", "jit"):
    device = isakit.Device("gt200", engine="llvm", tier=tier)
    device.load(isakit.isa("tesla", "gt200").assemble(source), registers=10)["k"][1, 32](out)
print(out[0])
"""


@pytest.mark.parametrize("damage", ["empty", "one byte short", "random"])
def test_launches_survive_a_cache_that_is_damaged_everywhere(folder: Path, damage: str) -> None:
    where = folder.parent
    assert python(KERNEL, cache=where).stdout == "0\n"
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert {p.parent.name for p in files} >= {"code", "kernels"}
    for p in files:
        p.write_bytes(DAMAGES[damage](p.read_bytes()))
    done = python(KERNEL, cache=where)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
    assert cache.verify().damaged == 0


def test_the_folder_is_private_whatever_the_umask_is(folder: Path) -> None:
    before = os.umask(0)
    try:
        write_object("handlers/tag", "a", DATA)
    finally:
        os.umask(before)
    for path in (folder, folder / "handlers", folder / "handlers" / "tag"):
        assert path.stat().st_mode & 0o777 == 0o700
    assert (folder / "handlers" / "tag" / "a").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes of files are not those of Unix")
@pytest.mark.parametrize("place", ["", "code", "code/a"])
def test_what_others_may_write_is_not_used(folder: Path, place: str) -> None:
    write_object("code", "a", DATA)
    (folder / place).chmod(0o777)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        assert read_object("code", "a") is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes of files are not those of Unix")
def test_a_warning_says_why(folder: Path) -> None:
    write_object("code", "a", DATA)
    folder.chmod(0o777)
    with pytest.warns(CacheWarning, match=r"others may write to it \(mode 777\)"):
        read_object("code", "a")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("place", ["", "code", "code/a"])
def test_what_belongs_to_another_user_is_not_used(folder: Path, place: str) -> None:
    write_object("code", "a", DATA)
    os.chown(folder / place, 12345, 12345)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        assert read_object("code", "a") is None


def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    write_object("code", "a", DATA)
    (folder / "code" / "a").rename(tmp_path / "elsewhere")
    (folder / "code" / "a").symlink_to(tmp_path / "elsewhere")
    assert read_object("code", "a") is None
    os.mkfifo(folder / "code" / "pipe")
    assert read_object("code", "pipe") is None
    write_object("code", "a", DATA)
    assert read_object("code", "a") == DATA
    assert not (folder / "code" / "a").is_symlink()


ACTIONS = {
    "read": lambda: read_object("code", "a"), "write": lambda: write_object("code", "a", DATA),
    "trim": lambda: cache.trim(0), "verify": cache.verify, "clear": cache.clear, "contents": cache.contents,
    "keys": lambda: cache.keys("code"),
}  # fmt: skip


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("link", ["objects", "objects/code", "objects/code/tag"])
def test_files_behind_a_link_in_place_of_a_folder_stay_as_they_are(
    folder: Path, tmp_path: Path, link: str, action: str
) -> None:
    """Those that begin as objects do, too: another cache, say."""
    elsewhere = tmp_path / "elsewhere"
    for name in ("a", "code/a", "code/tag/a", ".partial-1-abc"):
        (elsewhere / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (elsewhere / name).write_bytes(cache.MAGIC + b"damaged")
        os.utime(elsewhere / name, (0, 0))
    (elsewhere / "letter").write_text("dear")
    before = tree(elsewhere)
    at = folder.parent / link
    at.parent.mkdir(mode=0o700, parents=True)
    at.symlink_to(elsewhere)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        ACTIONS[action]()
    assert tree(elsewhere) == before
    assert at.is_symlink()


@pytest.mark.parametrize("action", ["trim", "verify", "clear"])
def test_files_of_others_in_the_folder_stay_as_they_are(folder: Path, action: str) -> None:
    """$ISAKIT_CACHE may name a folder in which `objects` is something else."""
    (folder / "mine" / "empty").mkdir(mode=0o700, parents=True)
    for name in ("letter", "mine/letter", "mine/.partial-notes", "zeros"):
        (folder / name).write_bytes(b"dear" * 1000 if "letter" in name else b"")
        os.utime(folder / name, (0, 0))
    os.mkfifo(folder / "pipe")
    before = tree(folder)
    write_object("code", "a", DATA)
    ACTIONS[action]()
    write_object("code", "a", DATA)
    cache.clear()
    assert tree(folder) == before


def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(folder: Path, tmp_path: Path) -> None:
    """What is done in a folder is done in the one that was looked at, whatever its name means by then."""
    write_object("code", "a", DATA)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / "a").write_bytes((folder / "code" / "a").read_bytes())
    with cache._Cache() as found:  # pyright: ignore[reportPrivateUsage]
        (folder / "code").rename(folder / "moved")
        (folder / "code").symlink_to(elsewhere)
        for place, name, _ in found.files:
            place.remove(name)
    assert (elsewhere / "a").exists()
    assert not (folder / "moved" / "a").exists()


def test_a_warning_names_the_link(folder: Path, tmp_path: Path) -> None:
    folder.parent.mkdir()
    folder.symlink_to(tmp_path)
    with pytest.warns(CacheWarning, match="it is a link"):
        read_object("code", "a")


@pytest.mark.parametrize("blocked", ["a file", "a file above", "nothing"])
def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                        blocked: str) -> None:  # fmt: skip
    place = tmp_path / "blocked"
    if blocked != "nothing":
        place.write_text("x")
    monkeypatch.setenv("ISAKIT_CACHE", {"a file": str(place), "a file above": f"{place}/x", "nothing": "off"}[blocked])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        write_object("code", "a", DATA)
        assert read_object("code", "a") is None


def test_a_full_disk_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_object("code", "a", DATA)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    write_object("code", "b", DATA)
    assert cache.keys("code") == ["a"]
    assert len(list((folder / "code").iterdir())) == 1


def test_a_power_cut_while_writing_is_cleaned_up(folder: Path) -> None:
    write_object("code", "a", DATA)
    partial = folder / "code" / ".partial-1-abc"
    partial.write_bytes(DATA[:100])
    cache.trim()
    assert partial.exists()  # somebody may be at it
    os.utime(partial, (0, 0))
    cache.trim()
    assert not partial.exists()
    assert cache.keys("code") == ["a"]


def test_what_other_processes_write_and_remove_meanwhile_is_not_damaged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        write_object("code", name, DATA)
    partial = folder / "code" / ".partial-1-abc"
    partial.write_bytes(DATA[:100])
    read = cache._read  # pyright: ignore[reportPrivateUsage]

    def removed_before(place: Any, name: str) -> bytes | None:
        if name == "b":
            (folder / "code" / "b").unlink()
        return read(place, name)

    monkeypatch.setattr(cache, "_read", removed_before)
    found = cache.verify()
    assert (found.objects, found.damaged) == (1, 0)
    assert partial.exists()
    os.utime(partial, (0, 0))
    assert cache.verify().damaged == 1
    assert not partial.exists()


def test_the_least_recently_used_objects_go(folder: Path) -> None:
    for k in range(10):
        write_object("code", f"o{k}", bytes(1000))
        os.utime(folder / "code" / f"o{k}", (k, k))
    read_object("code", "o0")  # used again
    cache.trim(8000)
    kept = cache.keys("code")
    assert "o0" in kept
    assert "o9" in kept
    assert "o1" not in kept
    assert cache.contents().bytes <= 6400


def test_writers_and_readers_at_once() -> None:
    """Everybody sees a whole object or none."""
    seen: set[bytes | None] = set()

    def write(n: int) -> None:
        for k in range(40):
            write_object("code", "a", bytes([n]) * (1000 + k))

    def read() -> None:
        for _ in range(200):
            data = read_object("code", "a")
            seen.add(None if data is None else bytes(set(data)))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)] + [threading.Thread(target=read)] * 1
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen <= {None, b"\0", b"\1", b"\2", b"\3"}
    assert cache.verify().damaged == 0


def test_the_command(folder: Path) -> None:
    write_object("code", "a", DATA)
    write_object("code", "b", DATA)
    with (folder / "code" / "b").open("ab") as f:
        f.write(b"junk")
    assert json.loads(command("cache", "--json").output)["objects"] == 2
    checked = json.loads(command("cache", "verify", "--json", code=3).stdout)
    assert (checked["objects"], checked["damaged"]) == (1, 1)
    assert command("cache", "clear").output.startswith("removed 1 objects")
    assert cache.contents() == cache.Contents()


def test_dates_of_sources_do_not_matter() -> None:
    program = "from isakit.engine.llvm.fingerprint import fingerprint; print(fingerprint('tesla'))"
    first = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    import isakit.sem

    path = Path(isakit.sem.__file__)
    before = path.stat()
    os.utime(path)
    try:
        second = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    finally:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert first.stdout == second.stdout != ""


def test_folders_of_others_do_not_take_all_descriptors(folder: Path) -> None:
    pytest.importorskip("resource")
    write_object("first", "one", b"1")
    for k in range(300):
        (folder / f"other-{k}").mkdir(mode=0o700, parents=True)
    for k in range(8):
        write_object(f"kind-{k}", "two", b"2")
    # In a process of its own: what other tests have open counts, too.
    program = """if True:
        import resource
        from isakit import object_cache
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        print(object_cache.clear().objects)
    """
    assert python(program, cache=folder.parent).stdout == "9\n"
    assert len(list(folder.iterdir())) == 300
