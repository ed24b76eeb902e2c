"""The build hook of the wheel: puts the finished library of `isakit cuda` into it where there is a C compiler.

A wheel made without one is for every platform, and builds the library at first use.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LibraryHook(BuildHookInterface):
    """Builds the library before the files of a wheel are collected, and removes it from the source tree again."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build. An editable install takes the library from the cache, so that it follows its sources."""
        if version != "standard" or sys.platform != "linux" or platform.machine() != "x86_64":
            return
        sys.path.insert(0, str(Path(self.root, "src")))
        from isakit.hosts.cuda.build import BUILT, compile_library, compiler

        if compiler() is None:
            return
        compile_library(BUILT)
        build_data["artifacts"].append(str(BUILT.relative_to(self.root)))
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-linux_x86_64"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave the tree as it was."""
        for name in build_data["artifacts"]:
            Path(self.root, name).unlink(missing_ok=True)
