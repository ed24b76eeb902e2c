"""Code of what a page imports, compiled when a static site is written: compiling takes a browser seconds.

This runs in Pyodide itself, under node, as code belongs to one version of Python. See `compile.mjs`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import zipfile
from collections.abc import Set
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from marshal import dumps

_UNCHECKED = (1).to_bytes(4, "little")
"""Flags of code that is named by a hash of its source, which nobody compares when it is loaded (PEP 552)."""
_STAMP = (1980, 1, 1, 0, 0, 0)


def imported() -> set[str]:
    """Open a lesson of each machine, load what a launch needs, and return the files of all modules that are there."""
    from isakit.web.in_page import Page
    from isakit.web.lessons import lesson, lessons

    with contextlib.chdir(os.getcwd()):  # a page goes to a folder of its own
        page = Page()
        opened = set[str]()
        for name in (x["name"] for x in lessons() if x["kind"] == "lesson"):
            found = lesson(name)
            if found["language"] == "asm" and found["isa"] not in opened:
                opened.add(found["isa"])
                page.answer("assemble", json.dumps({k: found[k] for k in ("source", "language", "isa", "variant")}))
        while page.prepare():
            pass
    return {file for m in list(sys.modules.values()) if (file := getattr(m, "__file__", None))}


def with_code(archive: bytes | memoryview, place: str, used: Set[str], keep: bool) -> bytes:
    """Return a zip archive in which the sources that are used have their code beside them, or instead of them.

    `place`: where its files lie when they are imported, ends with a slash. `keep`: whether sources stay; then the
    archive is one to be unpacked, as code lies in `__pycache__`.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as read, zipfile.ZipFile(out, "w") as to:
        for name in read.namelist():
            content = read.read(name)
            compiled = name.endswith(".py") and place + name in used
            if compiled:
                code = compile(content, place + name, "exec", dont_inherit=True)
                data = MAGIC_NUMBER + _UNCHECKED + source_hash(content) + dumps(code)
                put_file(to, cache_from_source(name) if keep else f"{name}c", data)
            if keep or not compiled:
                put_file(to, name, content)
    return out.getvalue()


def put_file(to: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Write a file into an archive that is the same for the same files."""
    to.writestr(zipfile.ZipInfo(name, _STAMP), content, zipfile.ZIP_DEFLATED, 9)


__all__ = ["imported", "put_file", "with_code"]
