"""The C libraries of isakit: taken from the wheel, or compiled at first use and kept in the cache.

Needs nothing but the standard library, since it also runs while a wheel is made.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from isakit.errors import HostError
from isakit.object_cache import cache_folder, read_object, refusal, write_object
from isakit.processes import Reaper, TemporaryFolder

FLAGS = ("-std=c11", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror")
SECONDS = 600.0
"""Seconds that a compiler may take: five, but on a busy machine."""
ZIG_TARGETS = {64: "x86_64-linux-gnu.2.17", 32: "x86-linux-gnu.2.17"}
"""Targets of the wheel `ziglang` by bits of a pointer: libraries that run wherever there is a glibc as new as 2.17."""
_KIND = "libraries"


def _nothing() -> dict[str, str]:
    return {}


def _run(line: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a compiler; returns its exit status and output. When interrupted, it ends its own child processes."""
    around = {**os.environ, **environment}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=around) as compiler:
        try:
            said, _ = compiler.communicate(timeout=SECONDS)
        except BaseException:
            compiler.terminate()
            raise
    return compiler.returncode, said


@dataclass(frozen=True)
class CLibrary:
    """A shared library and its sources.

    Attributes:
        name: file name of the library.
        command: the command of isakit that needs it, for messages.
        folder: its sources, *.c and *.h; a wheel carries the finished library there.
        flags: options for the compiler besides `FLAGS`.
        generated: gives the C files that are made from tables, by name.
        made_from: the files those depend on; while they stay the same, nothing is generated to find the library.
        bits: those of a pointer in the programs that load it, 64 or 32.
    """

    name: str
    command: str
    folder: Path
    flags: tuple[str, ...] = ()
    generated: Callable[[], dict[str, str]] = _nothing
    made_from: tuple[Path, ...] = ()
    bits: int = 64

    @property
    def in_wheel(self) -> Path:
        """The path of the finished library in an installed wheel."""
        return self.folder / self.name

    def compile(self, extra: Sequence[str] = ()) -> bytes:
        """Build the library with the first compiler that can. Raises HostError where none can."""
        commands = compilers(self.bits)
        if not commands:
            raise HostError(
                f"`{self.command}` needs a C compiler once, to build its library: install gcc or clang, set CC, or "
                "`pip install 'isakit[c]'`"
            )
        refused: list[HostError] = []
        for command in commands:
            try:
                return self._compile([*command, *extra])
            except HostError as e:
                refused.append(e)
        raise refused[0]

    def _compile(self, command: Sequence[str]) -> bytes:
        with Reaper() as reaper, TemporaryFolder(reaper) as folder:  # also what the compiler keeps for itself goes
            for name, text in self.generated().items():
                Path(folder, name).write_text(text, "utf-8")
            made, sources = Path(folder, self.name), map(str, sorted(self.folder.glob("*.c")))
            # Where it is built must not show in it: two builds of one source are the same bytes.
            hidden = [f"-ffile-prefix-map={place}=." for place in (Path.cwd(), folder, self.folder)]
            include = ["-I", str(folder), "-I", str(self.folder)]
            line = [*command, *FLAGS, *self.flags, *hidden, *include, "-o", str(made), *sources]
            kept = dict.fromkeys(("TMPDIR", "ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(folder))
            try:
                status, said = _run(line, {**reaper.environment, **kept})
            except (OSError, subprocess.TimeoutExpired) as e:
                raise HostError(f"{command[0]} cannot build the library of `{self.command}`: {e}") from e
            if status:
                raise HostError(f"the library of `{self.command}` does not build:\n{said.strip()}")
            return made.read_bytes()

    @property
    def is_built(self) -> bool:
        """True if the library is in the wheel or in the cache, so that `path` compiles nothing."""
        return self.in_wheel.exists() or read_object(_KIND, f"{self.name}-{self._key(())}") is not None

    def _key(self, extra: Sequence[str]) -> str:
        made_with = (FLAGS, self.flags, tuple(extra), compilers(self.bits)[:1], platform.machine())
        digest = hashlib.sha256(repr(made_with).encode())
        for path in sorted((*self.folder.glob("*.c"), *self.folder.glob("*.h"), *self.made_from)):
            content = path.read_bytes()
            digest.update(f"{path.name} {len(content)}\n".encode() + content)
        return digest.hexdigest()[:20]

    def path(self, extra: Sequence[str] = ()) -> Path:
        """Return the library as a file in a folder that belongs to the user alone, built if need be. Raises HostError.

        `extra` are more options for the compiler, such as `-fsanitize=address`; they make another build.
        """
        if not extra and self.in_wheel.exists():
            data = self.in_wheel.read_bytes()
            key = f"wheel-{hashlib.sha256(data).hexdigest()[:20]}"
        else:
            key = self._key(extra)
            found = read_object(_KIND, f"{self.name}-{key}")
            data = self.compile(extra) if found is None else found
            if found is None:
                write_object(_KIND, f"{self.name}-{key}", data)
        kept = private_folder()
        try:
            return _placed(kept / key / self.name, data)
        except OSError:  # the disk is full
            if kept == _temporary_folder():
                raise
            return _placed(_temporary_folder() / key / self.name, data)


def _placed(file: Path, data: bytes) -> Path:
    """Write the file of a library, unless it is there already, and return its path. Raises OSError."""
    with suppress(OSError):
        if file.read_bytes() == data:
            return file
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Another process may do the same: a file gets its name when it is whole, and one that is in use stays.
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        partial.write_bytes(data)
        partial.chmod(0o700)
        os.replace(partial, file)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    return file


def compiler() -> list[str] | None:
    """Return the command of the system's C compiler: $CC, else cc, gcc or clang; None if there is none."""
    given = _named_compiler()
    for command in [given] if given else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]):
            return command
    return None


def _named_compiler() -> list[str]:
    """Return the command in $CC; none where it is nvcc's, as `make CC=nvcc` hands it on to all that make starts."""
    given = shlex.split(os.environ.get("CC", ""))
    names = [os.path.basename(word) for word in given]
    return [] if names[:1] == ["nvcc"] or ("isakit" in names and "nvcc" in names) else given


def compilers(bits: int = 64) -> list[list[str]]:
    """Return commands of C compilers for programs of so many bits, best first.

    That of the system is the first, even where it turns out to have no libraries of 32 bits; then that of the wheel
    `ziglang`, which has all it needs. Where $CC names one, no other is taken.
    """
    system = compiler()
    found = [[*system, *(["-m32"] if bits == 32 else [])]] if system is not None else []
    if not _named_compiler() and has_zig() and platform.machine() in ("x86_64", "AMD64"):
        found.append([*zig("cc"), "-target", ZIG_TARGETS[bits]])
    return found


def has_zig() -> bool:
    """Return whether the wheel `ziglang` is installed."""
    return importlib.util.find_spec("ziglang") is not None


def zig(tool: str) -> tuple[str, ...]:
    """Return the command of a tool of the wheel `ziglang`: cc, clang, c++, ar."""
    return (sys.executable, "-P", "-m", "ziglang", tool)  # -P: nothing from the folder it runs in


def private_folder() -> Path:
    """Return the folder of libraries for programs: in the cache, or a temporary one if that cannot be trusted."""
    kept = cache_folder()
    if kept is not None:
        with suppress(OSError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            folder = kept.parent.resolve() / "libraries"
            folder.mkdir(mode=0o700, exist_ok=True)
            if refusal(folder) is None and os.access(folder, os.W_OK) and not _replaceable(folder):
                return folder
    return _temporary_folder()


def _replaceable(folder: Path) -> bool:
    """Return whether another user may put something else in the place of a folder, or of one that it lies in."""
    if not hasattr(os, "geteuid"):
        return False  # Windows: folders of a user are private
    return any(
        found.st_uid not in (0, os.geteuid()) or (found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX)
        for found in map(os.stat, folder.parents)
    )


@cache
def _temporary_folder() -> Path:
    folder = TemporaryFolder()
    atexit.register(folder.close)
    return folder.path
