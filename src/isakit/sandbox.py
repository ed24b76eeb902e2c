"""Confinement of processes that the system keeps, whatever code runs in them.

Nothing that strangers write is meant to run here. Should a way be found after all, it ends at this fence. `confine`
shuts in the process that calls it and everything it starts, for ever. On Linux, Landlock keeps the process from files,
TCP and signals to others, and seccomp from sockets and from the calls of debuggers, drivers and administrators;
elsewhere nothing does. `absent` says what this system does not offer.

The file is a program, too: the one that a `launcher` starts, before it becomes the compiler. It imports nothing of
isakit, and little else, since it starts with every compilation.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import signal
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LINUX = sys.platform.startswith("linux")
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38


# --- what the system offers ---------------------------------------------------------------------------------------
def absent() -> list[str]:
    """Return the parts of the confinement that this system lacks, each with what stays open because of it."""
    out: list[str] = []
    abi = _landlock_abi()
    if abi == 0:
        out.append("Landlock: files that this user can read or write are not closed")
    elif abi < _ABI_SCOPES:
        out.append(f"Landlock of version {_ABI_SCOPES} (it is {abi}): signals to others are not closed")
    if not _seccomp_offered():
        out.append("seccomp: sockets and calls for debuggers are not closed")
    return out


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    """Return the result of a system call. Raises OSError if it failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


# --- Landlock -------------------------------------------------------------------------------------------------------
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on all machines
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL_DEV = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READABLE = _EXECUTE | _READ_FILE | _READ_DIR
_NEVER = _EXECUTE | 1 << 6 | 1 << 11 | _IOCTL_DEV  # device files, too, which an administrator could make and open
"""Rights that not even folders have into which may be written."""
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""Rights to files that a version of Landlock is the first to know."""
_ABI_NET, _ABI_SCOPES = 4, 6


@functools.cache
def _landlock_abi() -> int:
    """Return the version of Landlock, 0 if there is none."""
    return max(0, _libc().syscall(_CREATE_RULESET, None, 0, 1)) if LINUX else 0


def _landlock(readable: Iterable[str | Path], writable: Iterable[str | Path]) -> None:
    abi = _landlock_abi()
    handled = next(rights for version, rights in reversed(_RIGHTS.items()) if version <= abi)
    fields = [handled, 3 if abi >= _ABI_NET else 0, 3 if abi >= _ABI_SCOPES else 0]  # TCP; abstract sockets, signals
    data = struct.pack("3Q", *fields)[: 8 * (1 + (abi >= _ABI_NET) + (abi >= _ABI_SCOPES))]
    ruleset = _checked(_libc().syscall(_CREATE_RULESET, data, len(data), 0), "Landlock")
    try:
        for paths, rights in ((readable, _READABLE & handled), (writable, handled & ~_NEVER)):
            for path in paths:
                _allow(ruleset, path, rights)
        _checked(_libc().syscall(_RESTRICT_SELF, ruleset, 0), "Landlock")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str | Path, rights: int) -> None:
    """Allow access to a file or to a folder and all below it; skips those that do not exist."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        _checked(_libc().syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, handle), 0), f"Landlock: {path}")
    finally:
        os.close(handle)


# --- seccomp --------------------------------------------------------------------------------------------------------
# fmt: off
_CALLS = {  # name: (x86-64, AArch64)
    "socket": (41, 198), "connect": (42, 203), "accept": (43, 202), "bind": (49, 200), "listen": (50, 201),
    "accept4": (288, 242), "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "pidfd_getfd": (438, 438), "kcmp": (312, 272), "bpf": (321, 280),
    "perf_event_open": (298, 241), "io_uring_setup": (425, 425), "userfaultfd": (323, 282), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "chroot": (161, 51), "setns": (308, 268),
    "unshare": (272, 97), "open_by_handle_at": (304, 265), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "sethostname": (170, 161), "setdomainname": (171, 162), "quotactl": (179, 60),
    "syslog": (103, 116),
    # What Landlock leaves open of files: modes, owners, times, attributes, and who opens them.
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "setxattrat": (463, 463), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16), "removexattrat": (466, 466), "file_setattr": (469, 469),
    "inotify_add_watch": (254, 27), "fanotify_init": (300, 262),
    # What lasts after the process, and is shared with others of this user.
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semctl": (66, 191),
    "semop": (65, 193), "semtimedop": (220, 192), "msgget": (68, 186), "msgctl": (71, 187), "msgsnd": (69, 189),
    "msgrcv": (70, 188), "mq_open": (240, 180), "mq_unlink": (241, 181),
    # What slows other processes of this user.
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "migrate_pages": (256, 238), "move_pages": (279, 239),
}
# fmt: on
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Machine: its column above and below, and what the kernel calls it."""
_IOCTL, _CLONE, _PRLIMIT, _CLONE3 = (16, 29), (56, 220), (302, 261), 435
"""Calls that are refused by their arguments. Those of `clone3` are in memory, where no filter sees them."""
_NAMESPACES = 0x7E020000
"""Flags of `clone` that make namespaces, in which a process has an administrator's rights."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
"""Requests that put letters into a terminal as if its user had typed them."""
_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOWED, _REFUSED, _UNKNOWN, _KILLED = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000  # EPERM, ENOSYS
_FIRST, _SECOND = 16, 24
"""Byte offsets of the lower halves of a call's arguments."""
_OLD_NUMBERS = 0x40000000
"""Calls of x86-64 have other numbers from here on."""


def _refused_where(number: int, *test: tuple[int, int, int, int]) -> list[tuple[int, int, int, int]]:
    """Return instructions that refuse a call where a test of its arguments does not jump over the next instruction."""
    return [(_EQUAL, 0, len(test) + 2, number), *test, (_RETURN, 0, 0, _REFUSED), (_RETURN, 0, 0, _ALLOWED)]


def _seccomp_offered() -> bool:
    return LINUX and os.uname().machine in _MACHINES and _libc().prctl(21, 0, 0, 0, 0) >= 0


def _seccomp() -> None:
    """Refuse the calls of `_CALLS`, what types into terminals, new namespaces, and limits of other processes.

    `clone3` is not known here, so that libraries take `clone`.
    """
    column, machine = _MACHINES[os.uname().machine]
    refused = sorted({number for numbers in _CALLS.values() if (number := numbers[column]) is not None})
    code = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, machine), (_RETURN, 0, 0, _KILLED), (_LOAD, 0, 0, 0)]
    # Jumps go over what follows, and count from the next instruction.
    code += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _UNKNOWN)]
    code += _refused_where(_IOCTL[column], (_LOAD, 0, 0, _SECOND), (_EQUAL, 1, 0, _TIOCSTI), (_EQUAL, 0, 1, _TIOCLINUX))
    code += _refused_where(_CLONE[column], (_LOAD, 0, 0, _FIRST), (_ANY_OF, 0, 1, _NAMESPACES))
    code += _refused_where(_PRLIMIT[column], (_LOAD, 0, 0, _FIRST), (_EQUAL, 1, 0, 0))
    last = len(refused) + 1
    code.append((_AT_LEAST, last, 0, _OLD_NUMBERS))
    code += [(_EQUAL, last - k, 0, number) for k, number in enumerate(refused, 1)]
    code += [(_RETURN, 0, 0, _ALLOWED), (_RETURN, 0, 0, _REFUSED)]
    data = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in code))
    program = ctypes.create_string_buffer(struct.pack("HP", len(code), ctypes.addressof(data)))
    _checked(_libc().prctl(_PR_SET_SECCOMP, 2, program, 0, 0), "seccomp")


# --- this process ---------------------------------------------------------------------------------------------------
def confine(readable: Iterable[str | Path], writable: Iterable[str | Path] = ()) -> None:
    """Confine this process and its children: they can open these files and folders and no others.

    Files of `readable` may be executed as well; what is written cannot be. Does what the system offers. Raises OSError
    where it offers something and refuses it, and RuntimeError in a process with threads, which would stay outside.
    """
    if not LINUX:
        return
    if _threads() > 1:
        raise RuntimeError("a process is confined before it starts threads")
    _checked(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if _landlock_abi():
        _landlock(readable, [*writable, os.devnull])
    if _seccomp_offered():
        _seccomp()


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:  # a parent has confined this process already
        return 1


def system_files() -> list[str]:
    """Return the files of the system that programs read: themselves, libraries, devices without content."""
    return ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/opt", "/etc/ld.so.cache",
            "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/proc/cpuinfo",
            "/proc/meminfo", f"/proc/{os.getpid()}", "/sys/devices/system", "/dev/zero",
            "/dev/random", "/dev/urandom"]  # fmt: skip


def python_files() -> list[str]:
    """Return the folders of this Python, its libraries and isakit."""
    own = os.path.dirname(os.path.abspath(__file__))
    return [*{sys.prefix, sys.base_prefix, sys.exec_prefix, own}, *filter(os.path.isabs, sys.path)]


def program_files(name: str) -> list[str]:
    """Return the programs of the search path whose names begin so, and their libraries."""
    out: set[str] = set()
    for folder in filter(os.path.isabs, os.get_exec_path()):
        try:
            found = [os.path.join(folder, program) for program in os.listdir(folder) if program.startswith(name)]
        except OSError:
            continue
        real = {os.path.dirname(os.path.realpath(path)) for path in found}
        out |= {*found, *real, *(os.path.join(os.path.dirname(place), "lib") for place in real)}
    return sorted(out)


def variables(*more: str) -> dict[str, str]:
    """Return the variables of the environment that programs need, and these: others may hold what is secret."""
    needed = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
    return {name: value for name in (*needed, *more) if (value := os.environ.get(name))}


def end_with_parent(parent: int) -> None:
    """Have the system kill this process when its parent, which must be `parent`, ends. Does nothing outside of Linux.

    Strictly, when the thread of the parent that has started it ends: only for children of threads that last.
    """
    if not LINUX:
        return
    _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it has ended before
        os.kill(os.getpid(), signal.SIGKILL)


# --- a program that becomes another ---------------------------------------------------------------------------------
def launcher(
    command: Sequence[str], bounds: Mapping[str, float], opened: Sequence[Sequence[str | Path]] = ()
) -> list[str]:
    """Return the command that runs a command bounded, and ended with the process that starts it.

    `bounds`: `memory`, of each process, and `output`, of each file, in bytes; `seconds` of processor time. `opened`:
    what `confine` is given; without, the command may open what this user may.
    """
    if not LINUX:
        return list(command)
    about = {"parent": os.getpid(), "bounds": bounds, "opened": [[str(p) for p in paths] for paths in opened]}
    return [sys.executable, "-I", "-S", __file__, json.dumps(about), *command]


def _limit(memory: float, output: float, seconds: float) -> None:
    import resource

    for what, most in (
        (resource.RLIMIT_DATA, memory), (resource.RLIMIT_FSIZE, output), (resource.RLIMIT_CPU, seconds + 1),
        (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        hard = resource.getrlimit(what)[1]
        most = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
        resource.setrlimit(what, (most, most))


def main() -> None:
    """Become the command of the arguments, as `launcher` says."""
    about = json.loads(sys.argv[1])
    end_with_parent(about["parent"])
    _limit(**about["bounds"])
    if about["opened"]:
        readable, writable = about["opened"]
        confine([*system_files(), *readable], writable)
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
