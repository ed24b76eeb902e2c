"""Tools of a build: a clang, and compilers and linkers for the host, from the system or from the wheel."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from isakit.c_library import ZIG_TARGETS, has_zig, zig
from isakit.compile.c.clang import (
    STANDARD,
    Clang,
    cuda_options,
    header_options,
    host_compiler,
    newest_clang,
)
from isakit.errors import HostError

_C_PLUS_PLUS = {"gcc": "g++", "cc": "c++", "clang": "clang++"}


@dataclass(frozen=True)
class Tools:
    """Programs that a build starts.

    Attributes:
        clang: compiles .cu files, for the chip and for the host.
        host: the command of the host's C++ compiler, which compiles other files and links.
        compiler: that compiler if its headers are to be used, None if clang finds its own.
        wheel: the host's tools are those of the wheel `ziglang`.
    """

    clang: Clang
    host: tuple[str, ...]
    compiler: str | None
    wheel: bool

    def device(self, arch: int) -> list[str]:
        """Return the command of the device pass."""
        return [*self.clang.command, *cuda_options(self.clang, arch, True, self.compiler)]

    def hosted(self) -> list[str]:
        """Return the command of the host pass."""
        return [*self.clang.command, "-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-fdeclspec",
                "-Wno-unknown-cuda-version", "-Xclang", "-target-sdk-version=5.0",
                *header_options(self.clang, True, self.compiler)]  # fmt: skip

    def archiver(self) -> list[str]:
        """Return the command that makes libraries. Raises HostError if there is none."""
        found = next((path for name in ("ar", "llvm-ar") if (path := shutil.which(name))), None)
        if found is not None:
            return [found]
        if self.clang.wheel:
            return [*zig("ar")]
        raise HostError("-lib needs `ar`: install binutils, or `pip install 'isakit[c]'`")

    def lines(self) -> list[str]:
        """Return lines that name the tools."""
        host = "the wheel ziglang" if self.wheel else self.host[0]
        return [f"device code and .cu files: {self.clang}", f"headers and linker of the host: {host}"]


def find_tools(ccbin: str = "") -> Tools:
    """Find what a build needs; `ccbin` names the host's compiler or its folder.

    Raises NoCompilerError and HostError, which name what is missing and how to get it.
    """
    clang = newest_clang()
    if ccbin:
        host = _given(ccbin)
        return Tools(clang, (host,), host if "clang" not in Path(host).name else None, False)
    found = host_compiler()
    if found is not None:
        return Tools(clang, (found,), found, False)
    if not clang.wheel:
        other = next((p for name in (f"{clang.command[0]}++", "clang++", "c++") if (p := shutil.which(name))), None)
        if other is not None:
            return Tools(clang, (other,), None, False)
    if not has_zig():
        raise HostError("no C++ compiler of the host was found: install g++, or `pip install 'isakit[c]'`")
    clang = clang if clang.wheel else Clang(zig("clang"), wheel=True)
    return Tools(clang, (*zig("c++"), "-target", ZIG_TARGETS[64], "-Wl,--allow-shlib-undefined"), None, True)


def _given(ccbin: str) -> str:
    """Return the C++ compiler that `-ccbin` names. Raises HostError."""
    path = Path(ccbin)
    names = ("g++", "c++", "clang++", "gcc") if path.is_dir() else ()
    for name in names:
        if os.access(path / name, os.X_OK):
            return str(path / name)
    found = None if path.is_dir() else shutil.which(ccbin)
    if found is None:
        raise HostError(f"`-ccbin {ccbin}`: there is no compiler")
    # Programs are linked with what C++ needs: a C compiler stands for the C++ compiler beside it.
    folder, name = os.path.split(found)
    for c, plus in _C_PLUS_PLUS.items():
        if name == c or name.startswith(f"{c}-"):
            beside = os.path.join(folder, plus + name[len(c) :])
            return beside if os.access(beside, os.X_OK) else found
    return found


__all__ = ["STANDARD", "Tools", "find_tools"]
