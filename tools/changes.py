"""Files that changed since the branch began, and a check of the types of what they touch.

`./check --fast` looks at them first. Run as a program it checks, with pyright, the changed files of the package and
those that import from them: two seconds for a leaf, a minute for what everything uses.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import bootstrap


def changed_files() -> list[str]:
    """Return the files that differ from where the branch left its upstream or `main`, with those git does not know."""
    bases = (_git("merge-base", "HEAD", ref) for ref in ("@{upstream}", "main", "origin/main"))
    base = next(filter(None, bases), ["HEAD"])
    found = {*_git("diff", "--name-only", *base), *_git("ls-files", "--others", "--exclude-standard")}
    return sorted(name for name in found if (bootstrap.ROOT / name).is_file())


def _git(*args: str) -> list[str]:
    done = subprocess.run(["git", *args], cwd=bootstrap.ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def with_importers(files: Iterable[str]) -> list[str]:
    """Return the modules of the package among `files`, and those that import from them, also through a face."""
    import grimp  # in the environment of the project, which import-linter brings it to

    graph = grimp.build_graph("isakit")
    paths = {_path(module): module for module in graph.modules}
    waiting = [paths[name] for name in files if name in paths]
    found = set(waiting)
    while waiting:
        for user in graph.find_modules_that_directly_import(waiting.pop()) - found:
            found.add(user)
            if _path(user).endswith("/__init__.py"):
                waiting.append(user)
    return sorted(map(_path, found))


def _path(module: str) -> str:
    path = Path("src", *module.split("."))
    file = path.with_suffix(".py")  # also where a folder of data has the name of a module
    return str(file if (bootstrap.ROOT / file).is_file() else path / "__init__.py")


def main() -> int:
    """Check the types; return 0 where they are right."""
    files = with_importers(changed_files())
    print(f"{len(files)} files have changed, or import from those that have")
    return subprocess.run([bootstrap.script("pyright"), *files], check=False).returncode if files else 0


if __name__ == "__main__":
    raise SystemExit(main())
