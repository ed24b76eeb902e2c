"""Build wheels with C libraries and without, and the source distribution; install each in an empty place, and use it.

A wheel built again, in another folder and from the source distribution, must be the same bytes.

Called by `./check --package`; needs pip and an index for the dependencies.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNEL = ".kernel k\n.param out ptr\n    mov b32 $r1 b32 s[out]\n    mov b32 $r2 0x7\n    exit st b32 g14[$r1] $r2\n"


def main() -> int:
    """Do all of it in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="isakit-package-") as name:
        folder = Path(name)
        builder = environment(folder / "builder", "hatchling>=1.26", "click>=8.1")
        run([builder, "-m", "hatchling", "build", "-d", folder / "dist"], ROOT)
        without = {**clean(), "CC": "no-compiler"}  # the wheel for every platform
        run([builder, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "pure"], ROOT, env=without)
        packages = [sorted(folder.glob(p)) for p in ("dist/*.whl", "pure/*-none-any.whl", "dist/*.tar.gz")]
        if any(len(files) != 1 for files in packages):
            print(f"expected two wheels and a source distribution, found {[f.name for p in packages for f in p]}")
            return 1
        again = unpacked(packages[2][0], folder / "again")
        run([builder, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "rebuilt"], again)
        wheel = packages[0][0]
        if wheel.read_bytes() != (folder / "rebuilt" / wheel.name).read_bytes():
            print(f"{wheel.name} is not the same when it is built in another folder")
            return 1
        for kind, (file,) in zip(("wheel", "pure", "sdist"), packages, strict=True):
            print(f"{file.name}: {file.stat().st_size >> 10} KiB", flush=True)
            use(environment(folder / f"with-{kind}", f"{file}[web]"), folder)
    return 0


def environment(folder: Path, *what: str) -> Path:
    """A new virtual environment with something installed; its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what], folder)
    return python


def unpacked(sdist: Path, folder: Path) -> Path:
    """The folder of a source distribution's files."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return folder / sdist.name.removesuffix(".tar.gz")


def run(command: list[Path | str], folder: Path, *, env: dict[str, str] | None = None) -> str:
    """What a command prints. Ends the check where it fails."""
    arguments = [str(c) for c in command]
    got = subprocess.run(arguments, cwd=folder, env=env or clean(), stdout=subprocess.PIPE, text=True, check=False)
    if got.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {got.returncode}\n{got.stdout}")
    return got.stdout


def clean() -> dict[str, str]:
    """The environment without what would lead Python to the source tree."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}


def use(python: Path, folder: Path) -> None:
    """Assemble, run, and open the workbench, as somebody who has just installed it."""
    (folder / "k.s").write_text(KERNEL)
    where = run([python, "-c", "import isakit; print(isakit.__file__)"], folder).strip()
    if str(ROOT) in where:
        raise SystemExit(f"the source tree was imported: {where}")
    run([python, "-m", "isakit", "asm", "-m", "tesla", "k.s", "-o", "k.cubin", "--format", "elf"], folder)
    got = json.loads(run([python, "-m", "isakit", "run", "k.cubin", "--arg", "out:u32:1", "--json"], folder))
    if got["arguments"][0]["values"] != [7]:
        raise SystemExit(f"the kernel computed {got}")
    run([python, "-c", "import isakit.hosts.cuda, isakit.compile, isakit.debug, isakit.export"], folder)
    prefix = Path(run([python, "-c", "import sys; print(sys.prefix)"], folder).strip())
    for place in ("man/man1/isakit-dis.1", "bash-completion/completions/isakit", "zsh/site-functions/_isakit",
                  "fish/vendor_completions.d/isakit.fish"):  # fmt: skip
        if "isakit" not in (prefix / "share" / place).read_text(encoding="utf-8"):
            raise SystemExit(f"{place} is no file for isakit")
    server = subprocess.Popen(
        [str(python), "-m", "isakit", "web", "--json"], cwd=folder, env=clean(), stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        with urllib.request.urlopen(urllib.request.Request(url + "open", method="POST"), timeout=60) as answer:
            lessons = json.load(answer)["lessons"]
        with urllib.request.urlopen(url, timeout=60) as answer:
            bundled = b'data-packages="codemirror' in answer.read()
        if not bundled:
            print("built without the packages of npm, which could not be reached", flush=True)
        for name in ("main.js", *(("vendor/codemirror.js", "vendor/LICENSES.txt") if bundled else ())):
            with urllib.request.urlopen(url + name, timeout=60) as answer:
                if not answer.read():
                    raise SystemExit(f"{name} is empty")
        print(f"installed, assembled, ran, {len(lessons)} lessons", flush=True)
    finally:
        server.terminate()
        server.wait(30)


if __name__ == "__main__":
    sys.exit(main())
