"""The files of the page: all that a browser loads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isakit.web import packages

STATIC = Path(__file__).parent / "static"


def files() -> dict[str, Path]:
    """Return the files of the page by the end of their address. Nothing else of this machine can be read.

    Bundles that were made for another lock file are left out.
    """
    left_out = () if packages.installed() else (packages.BUILT,)
    found = (f for f in sorted(STATIC.rglob("*")) if f.is_file() and not any(f.is_relative_to(x) for x in left_out))
    return {f.relative_to(STATIC).as_posix(): f for f in found}


def page(there: Sequence[str]) -> str:
    """Return the page itself; its element `html` names the bundles that are there, as `data-packages`."""
    html = (STATIC / "index.html").read_text("utf-8")
    html = html.replace('<html lang="en">', f'<html lang="en" data-packages="{" ".join(there)}">')
    if "dockview" in there:
        own = '<link rel="stylesheet" href="style.css">'
        html = html.replace(own, f'<link rel="stylesheet" href="vendor/dockview.css">\n{own}')
    return html
