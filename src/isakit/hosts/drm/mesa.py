"""A Mesa beside the installed one: what a program must be told so that it finds that one."""

from __future__ import annotations

import os
from pathlib import Path

from isakit.errors import HostError

LIBRARY = "libEGL_mesa.so.0"
VENDOR = "share/glvnd/egl_vendor.d/50_mesa.json"


def variables(folder: Path) -> dict[str, str]:
    """Return variables for a program that shall use the Mesa in a folder that `dpkg -x` or `meson install` filled.

    Raises HostError where there is none.
    """
    found = sorted(folder.glob(f"**/{LIBRARY}"))
    if not found:
        raise HostError(
            f"{folder}: no {LIBRARY}; unpack libegl-mesa0 and its driver there (`dpkg -x PACKAGE {folder}`)"
        )
    libraries = found[0].parent.absolute()
    vendor = next((p / VENDOR for p in libraries.parents if (p / VENDOR).is_file()), None)
    if vendor is None:
        raise HostError(f"{folder}: no {VENDOR} beside {found[0]}")
    before = os.environ.get("LD_LIBRARY_PATH")
    return {
        "LD_LIBRARY_PATH": f"{libraries}:{before}" if before else str(libraries),
        "LIBGL_DRIVERS_PATH": str(libraries / "dri"),
        "__EGL_VENDOR_LIBRARY_FILENAMES": str(vendor),
    }
