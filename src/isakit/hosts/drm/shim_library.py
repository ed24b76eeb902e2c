"""The C library that takes the kernel's place for programs with Mesa's driver.

Needs only the standard library, since it also runs while a wheel is built.
"""

from __future__ import annotations

from pathlib import Path

from isakit.c_library import CLibrary

LIBRARY = CLibrary(
    "libisakit-drm.so", "isakit gl", Path(__file__).parent / "shim", ("-Wl,--no-as-needed", "-ldl", "-lpthread")
)
"""Preloaded into the program."""
