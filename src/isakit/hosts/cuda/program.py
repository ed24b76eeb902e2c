"""Starting a program: the kind of file, its dependencies, and the environment that makes it load our library."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from isakit.c_library import private_folder
from isakit.errors import FormatError, IsakitError
from isakit.formats.elf import ELF_MAGIC, SYMBOLS, ElfImage, read_elf
from isakit.hosts.cuda.build import NAMES, library_folder

_DT_NULL, _DT_NEEDED, _DT_RPATH, _DT_RUNPATH = 0, 1, 15, 29
_RUNTIME = "libcudart.so"
_MACHINES = {3: 32, 62: 64}
"""The machines whose programs can be run, x86, and their pointer size in bits."""
_TOOLKIT = re.compile(
    r"lib(cublas|cufft|curand|cusparse|cudpp|cutil|npp\w*|nvcuvid|cusolver|cudnn|cupti|cuinj64|nvToolsExt|mpi|OpenCL)"
    r"[\w.+-]*\.so[\d.]*"
)
"""Libraries of the time that such programs need, and that current systems no longer have."""
_FUNCTION = re.compile(r"cuda[A-Z]|__cuda[A-Z]")
"""Prefixes of the runtime's function names."""
_STATIC_RUNTIME = "libcudart.so.6.5"


class ProgramError(IsakitError):
    """A program cannot be started; the message names what is missing."""


@dataclass(frozen=True)
class ProgramFile:
    """A program file.

    Attributes: `needed` (libraries it is linked with), `folders` (where the loader searches them before the folders of
    the environment), `asks` (whether it is linked with the runtime; if not, it contains it, or starts other programs),
    `bits` (32 or 64).
    """

    path: str
    needed: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    asks: bool = False
    bits: int = 64


def examined(command: str) -> ProgramFile:
    """Inspect the executable of a command. Raises ProgramError if it cannot run here."""
    path = shutil.which(command)
    if path is None:
        found = Path(command).exists()
        raise ProgramError(f"{command}: " + ("it is not executable" if found else "there is no such program"))
    with open(path, "rb") as f:
        head = f.read(20)
        if head[:4] != ELF_MAGIC:
            return ProgramFile(path)  # a script; what it starts is found by the environment
        data = head + f.read()
    bits = 64 if head[4] == 2 else 32
    if _MACHINES.get(int.from_bytes(head[18:20], "little")) != bits:
        raise ProgramError(f"{command} is a {bits}-bit program of another kind; only x86 programs can be run")
    try:
        elf = read_elf(data, path)
    except FormatError:
        return ProgramFile(path)
    needed = _strings(elf, _DT_NEEDED)
    folders = () if _strings(elf, _DT_RUNPATH) else _strings(elf, _DT_RPATH)
    folders = tuple(f for paths in folders for f in re.sub(r"\$\{?ORIGIN\}?", str(Path(path).parent), paths).split(":"))
    # A linker keeps one name of a file with many: the runtime may come under that of libcuda or libcublas.
    other = any(name in NAMES for name in needed) and any(map(_FUNCTION.match, _undefined(elf)))
    return ProgramFile(path, needed, folders, other or any(name.startswith(_RUNTIME) for name in needed), bits)


def _undefined(elf: ElfImage) -> Iterator[str]:
    """Yield the names that the dynamic loader has to resolve for a program."""
    table, strings = elf.section(".dynsym"), elf.section(".dynstr")
    if table is None or strings is None:
        return
    layout = SYMBOLS[elf.elfclass]
    for at in range(0, len(table.data) - layout.size + 1, layout.size):
        entry = layout.unpack_from(table.data, at)
        if entry[3 if elf.elfclass == 64 else 5] == 0:
            yield _string(strings.data, entry[0])


def _strings(elf: ElfImage, wanted: int) -> tuple[str, ...]:
    """Return the strings of all entries of one kind in the dynamic section."""
    dynamic, strings = elf.section(".dynamic"), elf.section(".dynstr")
    if dynamic is None or strings is None:
        return ()
    out: list[str] = []
    word = elf.elfclass // 8
    for at in range(0, len(dynamic.data) - 2 * word + 1, 2 * word):
        tag, value = (int.from_bytes(dynamic.data[at + k : at + k + word], "little") for k in (0, word))
        if tag == _DT_NULL:
            break
        if tag == wanted:
            out.append(_string(strings.data, value))
    return tuple(out)


def _string(names: bytes, at: int) -> str:
    end = names.find(b"\0", at)
    return names[at : end if end >= 0 else len(names)].decode("latin-1")


def check_libraries(program: ProgramFile, environment: Mapping[str, str]) -> None:
    """Raise ProgramError for old shared libraries that the program needs and the system lacks."""
    wanted = [name for name in program.needed if _TOOLKIT.fullmatch(name) and name not in NAMES]
    missing = [name for name in wanted if not _found(name, environment)]
    if missing:
        raise ProgramError(
            f"{program.path} needs {', '.join(missing)}, which isakit does not have: it stands in for libcudart, "
            "libcuda, libcublas, libcufft and libcurand of CUDA 2.0 to 6.5. Put the library into a folder of "
            "LD_LIBRARY_PATH if you have it"
        )


def _found(name: str, environment: Mapping[str, str]) -> bool:
    folders = [f for f in environment.get("LD_LIBRARY_PATH", "").split(":") if f]
    if any(Path(f, name).exists() for f in folders):
        return True
    known = _known_libraries()
    # Without a list of them, the dynamic loader will say what is missing.
    return not known or re.search(rf"^\s*{re.escape(name)} ", known, re.MULTILINE) is not None


@cache
def _known_libraries() -> str:
    """Return the system's list of libraries as text, "" if there is none."""
    try:
        return subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def environment_for(program: ProgramFile, broker: int, given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment to start the program with. Raises HostError if the library cannot be built."""
    folder = str(library_folder(program.bits))
    out = dict(given)
    aliases = _aliases(program, given)
    out["LD_LIBRARY_PATH"] = ":".join(filter(None, (folder, given.get("LD_LIBRARY_PATH", ""), aliases)))
    out["ISAKIT_CUDA"] = str(broker)
    if not program.asks:  # the runtime is part of it, or of what it starts
        out["ISAKIT_CUDA_STATIC"] = "1"
    if not program.asks or any(Path(f, n).exists() for f in program.folders for n in program.needed if _RUNTIME in n):
        out["LD_PRELOAD"] = ":".join(filter(None, (f"{folder}/{_STATIC_RUNTIME}", given.get("LD_PRELOAD", ""))))
    return out


_RENAMED = {"libglut.so.3": "libglut.so.3.12"}
"""Libraries that distributions now have under another name, with the same functions."""


def _aliases(program: ProgramFile, given: Mapping[str, str]) -> str:
    """Return a folder with old names of libraries that the program needs and the system has; "" if there are none."""
    folder = private_folder() / "aliases"
    found = ""
    for old in program.needed:
        name = _RENAMED.get(old)
        path = _system_library(name) if name and program.bits == 64 and not _found(old, given) else None
        if path is not None:
            folder.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                (folder / old).symlink_to(path)
            found = str(folder)
    return found


def _system_library(name: str) -> str | None:
    """Return the path of a library of the system, None if it is missing."""
    m = re.search(rf"^\s*{re.escape(name)} \(.*x86-64.*\) => (\S+)$", _known_libraries(), re.MULTILINE)
    return m[1] if m else None


def start(
    program: ProgramFile, arguments: Sequence[str], broker: int, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start the program with our end of the broker's socket. Raises ProgramError."""
    try:
        return subprocess.Popen(
            [program.path, *arguments], pass_fds=(broker,), env=environment_for(program, broker, environment)
        )
    except OSError as e:
        raise ProgramError(f"{program.path}: {e.strerror or e}") from None


def blocking(environment: Mapping[str, str]) -> bool:
    """Return true if the user wants launches to report their own faults."""
    return environment.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")
