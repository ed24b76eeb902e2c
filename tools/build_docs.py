#!/usr/bin/env python3
"""Build the documentation of every tagged version and of the present one, with links between them.

    tools/build_docs.py OUT [--tags v0.2.0 v0.3.0]

Each version is built from its own sources into OUT/VERSION; OUT/index.html leads to the newest release. A tag whose
pages do not build is left out and said. Run it with a Python that has the extra `docs`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAG = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


def tags() -> list[str]:
    """Tags of releases, the newest first."""
    found = subprocess.run(["git", "tag"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    known = [t for t in found if TAG.fullmatch(t)]
    return sorted(known, key=lambda t: [int(n) for n in TAG.fullmatch(t).groups()], reverse=True)  # type: ignore[union-attr]


def workbench(to: Path, environment: dict[str, str]) -> bool:
    """Write the workbench that runs the examples of a version; whether it could be, which needs npm."""
    command = [sys.executable, "-m", "isakit", "web", "--static", str(to)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"no workbench beside the pages: {done.stderr.strip()}", flush=True)
    return not done.returncode


def build(sources: Path, out: Path, name: str, links: dict[str, str]) -> bool:
    """Build the pages of one checkout; whether that went well. Warnings are errors."""
    environment = os.environ | {
        "PYTHONPATH": str(sources / "src"), "ISAKIT_DOCS_VERSION": name, "ISAKIT_DOCS_VERSIONS": json.dumps(links),
    }  # fmt: skip
    if workbench(out / "workbench", environment):
        environment["ISAKIT_DOCS_WORKBENCH"] = "workbench/index.html"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(sources / "docs"), str(out)]
    return subprocess.run(command, env=environment, cwd=sources, check=False).returncode == 0


def unlink(out: Path, name: str) -> None:
    """Take the links to a version that did not build out of the others."""
    link = re.compile(rf'(?: · )?<a href="[./]*{re.escape(name)}/index\.html">[^<]*</a>')
    for page in out.rglob("*.html"):
        text = page.read_text("utf-8")
        page.write_text(link.sub("", text).replace("Other versions:  · ", "Other versions: "), "utf-8")


def main() -> int:
    """Build all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--tags", nargs="*", help="only these; none: only the present version")
    options = parser.parse_args()
    chosen: list[str] = tags() if options.tags is None else options.tags
    present = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    names = [*(t.removeprefix("v") for t in chosen), "latest"]
    failed: list[str] = []
    options.out.mkdir(parents=True, exist_ok=True)
    for name, tag in zip(names, [*chosen, ""], strict=True):
        links = {n: n for n in names if n != name}
        shown = name if tag else f"{present} (latest)"
        if not tag:
            good = build(ROOT, options.out / name, shown, links)
        else:
            with tempfile.TemporaryDirectory(prefix="isakit-docs-") as folder:
                subprocess.run(["git", "worktree", "add", "-q", "--detach", folder, tag], cwd=ROOT, check=True)
                try:
                    good = build(Path(folder), options.out / name, shown, links)
                finally:
                    subprocess.run(["git", "worktree", "remove", "--force", folder], cwd=ROOT, check=True)
        print(f"{name}: {'built' if good else 'FAILED'}", flush=True)
        if not good:
            failed.append(name)
            shutil.rmtree(options.out / name, ignore_errors=True)
    for name in failed:
        unlink(options.out, name)
    first = next((n for n in names if n not in failed), "latest")
    head = f'<meta charset="utf-8"><title>isakit</title><meta http-equiv="refresh" content="0; url={first}/">'
    page = f'<!doctype html>{head}<a href="{first}/">isakit {first}</a>\n'
    (options.out / "index.html").write_text(page, "utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
