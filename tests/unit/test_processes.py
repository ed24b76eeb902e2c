"""Processes end with the one they belong to, and temporary folders go with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from isakit import processes, reap
from isakit.processes import FRESH_SECONDS, PREFIX, Reaper, TemporaryFolder, remove_stale
from support.clients.processes import SOURCE
from support.patience import PATIENCE, until

if not sys.platform.startswith("linux"):
    pytest.skip("processes are looked for in /proc", allow_module_level=True)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def sleeper(reaper: Reaper, line: str = "sleep 1000 & sleep 1000") -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sh", "-c", line], env={**os.environ, **reaper.environment}, start_new_session=True)


def gone(pid: int) -> bool:
    """Whether no process of a session is left."""
    found = subprocess.run(["ps", "-o", "stat=", "-s", str(pid)], capture_output=True, text=True, check=False).stdout
    return all(line.startswith("Z") for line in found.split())


def test_a_disorderly_end_ends_all_that_was_started_and_removes_the_folder(temporary: Path) -> None:
    folder = temporary / "mine"
    folder.mkdir()
    (folder / "file").touch()
    reaper = Reaper()
    reaper.removes(folder)
    with sleeper(reaper) as started:
        reaper.close(orderly=False)
        assert started.wait(PATIENCE) == -signal.SIGKILL
        assert until(lambda: gone(started.pid))
    assert not folder.exists()


def test_an_orderly_end_leaves_what_runs_on_its_own(temporary: Path) -> None:
    with Reaper() as reaper:
        reaper.removes(temporary)
        started = sleeper(reaper)
    assert started.poll() is None
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    assert temporary.exists()


def test_processes_that_start_others_meanwhile_are_caught() -> None:
    reaper = Reaper()
    with sleeper(reaper, "while :; do sleep 1000 & sleep 0.001; done") as started:
        time.sleep(0.05)
        reaper.close(orderly=False)
        assert until(lambda: gone(started.pid))


def fake_process(proc: Path, pid: int, start: int, environment: bytes, exe: bool = True) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "environ").write_bytes(environment)
    (folder / "stat").write_text(f"{pid} (a ) name) S {' '.join(str(k) for k in range(18))} {start} 0\n")
    if exe:
        (folder / "exe").symlink_to("/bin/sleep")


def test_processes_that_become_another_program_are_looked_at_again(tmp_path: Path) -> None:
    """They show no environment for a moment; what began before the command cannot be its own."""
    fake_process(tmp_path, 1, 50, b"")
    fake_process(tmp_path, 20, 100, b"A=1\0MARK=x\0B=2\0")
    fake_process(tmp_path, 21, 101, b"")
    fake_process(tmp_path, 22, 102, b"", exe=False)
    fake_process(tmp_path, 23, 103, b"A=MARK=x\0")
    found, bare = reap.marked(b"MARK=x", 100, str(tmp_path))
    assert (found, bare) == ([20], [21])


def test_a_process_that_never_shows_an_environment_is_not_waited_for_long() -> None:
    """Nor is it ended."""
    reaper = Reaper()
    with subprocess.Popen(["sleep", "1000"], env={}) as other:
        reaper.close(orderly=False)
        assert other.poll() is None
        other.kill()


def test_a_process_without_a_parent_ends_also_where_it_asks_too_late() -> None:
    text = f"from isakit.sandbox import end_with_parent; end_with_parent({os.getpid() + 1})"
    done = subprocess.run([sys.executable, "-c", text], env={**os.environ, "PYTHONPATH": str(SOURCE)}, check=False)
    assert done.returncode == -signal.SIGKILL


def test_a_folder_whose_process_is_gone_is_removed_by_the_next(temporary: Path) -> None:
    text = "import os; from isakit.processes import TemporaryFolder; x = TemporaryFolder(); os.kill(os.getpid(), 9)"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(temporary)}
    subprocess.run([sys.executable, "-c", text], env=environment, check=False)
    (stale,) = temporary.iterdir()
    (stale / "file").write_bytes(b"x")
    other = TemporaryFolder()
    assert stale.exists()  # too young to say that nobody has it
    long_ago = time.time() - 2 * FRESH_SECONDS
    os.utime(stale, (long_ago, long_ago))
    os.utime(other.path, (long_ago, long_ago))
    remove_stale()
    assert [p for p in temporary.iterdir()] == [other.path]
    other.close()
    assert not other.path.exists()


def test_the_folder_for_temporary_files_is_found_without_a_file(temporary: Path) -> None:
    text = """if True:
        import os, sys
        from isakit.processes import TemporaryFolder
        opened = []
        sys.addaudithook(lambda event, args: opened.append(os.fspath(args[0])) if event == "open" else None)
        with TemporaryFolder() as folder:
            print(folder.parent, [path for path in opened if path not in (str(folder), str(folder.parent))])
    """
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(temporary)}
    done = subprocess.run([sys.executable, "-c", text], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == f"{temporary} []\n"


def test_only_own_folders_are_removed_and_links_are_not_followed(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "FRESH_SECONDS", -1.0)
    outside = temporary / "outside"
    outside.mkdir()
    (outside / "file").touch()
    (temporary / f"{PREFIX}link").symlink_to(outside)
    (temporary / f"{PREFIX}file").touch()
    (temporary / "isakit-other").mkdir()
    before = sorted(temporary.rglob("*"))
    remove_stale()
    assert sorted(temporary.rglob("*")) == before
    stale = temporary / f"{PREFIX}stale"
    stale.mkdir()
    (stale / "to").symlink_to(outside)
    remove_stale()
    assert sorted(temporary.rglob("*")) == before
    if os.geteuid() == 0:
        stale.mkdir()
        os.chown(stale, 12345, 12345)
        remove_stale()
        assert stale.exists()
