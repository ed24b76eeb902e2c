"""The build hook of the wheel: puts the finished C libraries of the hosts into it where there is a C compiler.

A wheel made without one is for every platform, and its libraries are built at first use.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LibraryHook(BuildHookInterface):
    """Builds the libraries before the files of a wheel are collected, and removes them from the source tree again."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build. An editable install takes the libraries from the cache, so that they follow their sources."""
        if version != "standard" or sys.platform != "linux" or platform.machine() != "x86_64":
            return
        sys.path.insert(0, str(Path(self.root, "src")))
        from isakit.hosts.c_library import compiler
        from isakit.hosts.cuda.build import LIBRARY as CUDA
        from isakit.hosts.drm.shim_library import LIBRARY as DRM

        if compiler() is None:
            return
        for library in (CUDA, DRM):
            library.in_wheel.write_bytes(library.compile())
            build_data["artifacts"].append(str(library.in_wheel.relative_to(self.root)))
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-linux_x86_64"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave the tree as it was."""
        for name in build_data["artifacts"]:
            Path(self.root, name).unlink(missing_ok=True)
