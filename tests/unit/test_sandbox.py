"""The fence around processes that work for strangers: what code that runs inside cannot reach."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from isakit import sandbox
from isakit.web.limits import Limits
from support.patience import PATIENCE

pytestmark = pytest.mark.skipif(bool(sandbox.absent()), reason=f"absent here: {sandbox.absent()}")


def inside(code: str, folder: Path, shut: bool = True) -> subprocess.CompletedProcess[str]:
    """Run code in a process that may read Python and the system, and write into a folder."""
    head = (
        "import os, sys\nfrom isakit.sandbox import *\nfrom isakit.sandbox import confine, python_files, system_files\n"
    )
    if shut:
        head += f"confine([*system_files(), *python_files()], [{str(folder)!r}])\n"
    return subprocess.run([sys.executable, "-c", head + textwrap.dedent(code)], capture_output=True, text=True,
                          check=False, timeout=PATIENCE)  # fmt: skip


CALL = "import ctypes; sys.exit(ctypes.CDLL(None)."
CLONE = {"x86_64": 56}.get(os.uname().machine, 220) if hasattr(os, "uname") else 0
REACHES = {
    "read a file": "open({secret!r}).read()",
    "list a folder": "os.listdir(os.path.dirname({secret!r}))",
    "write a file": "open({secret!r} + '2', 'w')",
    "change a file": "os.truncate({secret!r}, 0)",
    "remove a file": "os.remove({secret!r})",
    "make a link to a file": "os.link({secret!r}, 'x'); open('x').read()",
    "read a file by a symbolic link": "os.symlink({secret!r}, 'x'); open('x').read()",
    "read a file through another process": "import subprocess; subprocess.run(['cat', {secret!r}], check=True)",
    "see another process's memory": "open(f'/proc/{{os.getppid()}}/mem', 'rb')",
    "see another process's variables": "open(f'/proc/{{os.getppid()}}/environ', 'rb').read()",
    "end another process": "os.kill(os.getppid(), 0)",
    "open a socket": "import socket; socket.socket()",
    "open a local socket": "import socket; socket.socket(socket.AF_UNIX)",
    "type into a terminal": "import fcntl; fcntl.ioctl(0, 0x5412, b'x')",
    "execute what it has written": "os.write(os.open('x', os.O_CREAT | os.O_WRONLY, 0o700), b'#!/bin/sh\\n'); "
    "os.execv('./x', ['x'])",
    "trace another process": "import ctypes; l = ctypes.CDLL(None); sys.exit(l.ptrace(16, os.getppid(), 0, 0) != 0)",
    "change a file's mode": "os.chmod({secret!r}, 0o666)",
    "give a file away": "os.chown({secret!r}, 1, 1)",
    "change a file's time": "os.utime({secret!r}, (1, 1))",
    "put attributes on a file": "os.setxattr({secret!r}, 'user.x', b'1')",
    "make a device file": "os.mknod('x', 0o20600, os.makedev(1, 1))",
    "leave memory to others": CALL + "shmget(0, 4096, 0o1600) < 0)",
    "leave messages to others": CALL + "msgget(0, 0o1600) < 0)",
    "see another process's limits": CALL + "prlimit(os.getppid(), 7, None, bytes(16)) < 0)",
    "slow another process": "os.setpriority(0, os.getppid(), os.getpriority(0, os.getppid()))",
    "watch who opens a file": "import ctypes; l = ctypes.CDLL(None); "
    "sys.exit(l.inotify_add_watch(l.inotify_init(), {secret!r}.encode(), 0xfff) < 0)",
    "begin a process in a namespace": CALL + f"syscall({CLONE}, 0x10000011, 0, 0, 0, 0) < 0)",
    "leave for a namespace": "import ctypes; sys.exit(ctypes.CDLL(None).unshare(0x10000000) != 0)",
}


@pytest.mark.parametrize("what", REACHES)
def test_code_inside_cannot(what: str, tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "own"
    outside.mkdir()
    folder.mkdir()
    secret = outside / "secret"
    secret.write_text("secret")
    code = f"os.chdir({str(folder)!r})\n" + REACHES[what].format(secret=str(secret))
    got = inside(code, folder)
    assert got.returncode == 1, got
    assert not got.stderr or any(
        why in got.stderr for why in ("Permission", "not permitted", "cross-device", "status 1")
    )
    assert "secret" not in got.stdout
    assert secret.read_text() == "secret"
    assert [p.name for p in outside.iterdir()] == ["secret"]


def test_code_inside_works_in_its_own_folder_and_computes(tmp_path: Path) -> None:
    got = inside(
        f"""
        os.chdir({str(tmp_path)!r})
        open("x", "w").write("1"); os.rename("x", "y"); os.mkdir("z")
        import subprocess, threading, numpy
        threading.Thread(target=print).start()
        print(open("y").read(), subprocess.run(["true"]).returncode, numpy.ones(3).sum())
        """,
        tmp_path,
    )  # fmt: skip
    assert got.stdout.split() == ["1", "0", "3.0"], got


def test_a_process_with_threads_is_not_half_confined(tmp_path: Path) -> None:
    got = inside("import threading, time\nthreading.Thread(target=time.sleep, args=(1,)).start()\nconfine([], [])",
                 tmp_path, shut=False)  # fmt: skip
    assert "before it starts threads" in got.stderr


def test_what_is_absent_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sandbox.absent() == []
    monkeypatch.setattr(sandbox, "_landlock_abi", lambda: 0)
    monkeypatch.setattr(sandbox, "_seccomp_offered", lambda: False)
    assert [line.split(":")[0] for line in sandbox.absent()] == ["Landlock", "seccomp"]


# --- the workbench ----------------------------------------------------------------------------------------------------
PLANTED = """
import ast
import isakit.web.worker
shut_in = isakit.web.worker._shut_in
def plant():
    if SHUT: shut_in()
    from isakit.compile.python.constants import ConstantFolding
    ConstantFolding.fold = lambda self, node: eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}})
isakit.web.worker._shut_in = plant
"""
"""The hole that once was there: constant expressions are evaluated."""
CLASSES = "().__class__.__base__.__subclasses__()"
PAYLOAD = f"[c for c in {CLASSES} if c.__name__ == '_wrap_close'][0].__init__.__globals__['system']"


def worker_runs(command: str, folder: Path, shut: bool) -> str:
    """What the worker of a page answers to a text that carries out a command, with the hole planted again."""
    code = f"{PLANTED.replace('SHUT', str(shut))}isakit.web.worker.main()"
    kernel = f"@isakit.kernel\ndef k(out: 'u32p'):\n    out[0] = 1 + {PAYLOAD}({command!r})\n"
    request = {"id": 1, "verb": "assemble", "fields": {"source": kernel, "language": "python"}}
    got = subprocess.run(
        [sys.executable, "-c", code, json.dumps(vars(Limits())), str(os.getpid())],
        input=json.dumps(request) + "\n", capture_output=True, text=True, timeout=PATIENCE, check=False,
        env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip
    return got.stdout + got.stderr


@pytest.mark.parametrize("shut", [True, False])
@pytest.mark.parametrize(
    "command", ["cat {secret} > {reached}", "cat {secret}; touch {reached}", "kill -0 {pid} && touch {reached}"]
)  # fmt: skip
def test_the_payload_planted_again_reaches_nothing(command: str, shut: bool, tmp_path: Path) -> None:
    secret, reached, folder = tmp_path / "file", tmp_path / "reached", tmp_path / "own"
    secret.write_text("a secret of this user")
    folder.mkdir()
    said = worker_runs(command.format(secret=secret, reached=reached, pid=os.getpid()), folder, shut)
    assert '"id": 1' in said, said
    assert reached.exists() == (not shut)
    assert ("a secret" in said) == ("cat {secret};" in command and not shut)
