"""The workbench as a folder of static files: any file server, or none at all, makes it a page that needs no server.

Python runs in the page as WebAssembly: Pyodide, and a NumPy that was built for it, both packages of npm in fixed
versions. Kernels run on the reference engine there; what needs compiled code says so.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from base64 import b64encode
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path

from isakit.errors import FormatError, HostError
from isakit.object_cache import cache_folder
from isakit.results import plain, record
from isakit.web import packages
from isakit.web.files import STATIC, files, page
from isakit.web.lessons import lesson, lessons
from isakit.web.precompiled import put_file

PYODIDE = "pyodide@0.27.7"
NUMPY = "@emscripten-forge/numpy@2.0.1-py312h4e66579-0"
ARCHIVES = {
    PYODIDE: (
        "pyodide-0.27.7.tgz",
        "RUSVJlhQdfWfgO9hVHCiXoG+nVZQRS5D9FzgpLJ/VcgGBLSAKoPL8kTiOikxbHQm1kRISeWUBdulEgO26qpSRA==",
    ),
    NUMPY: (
        "emscripten-forge-numpy-2.0.1-py312h4e66579-0.tgz",
        "64iP3tolNhBnKJBHs2b5Mg9s17BL8Bp9Ev2+U0fSCO3/zQlWQRCrExw2MgmfwjhNz+mwbKPG2eBsBcpBWV2xbA==",
    ),
}
"""Packages to the names of their archives, as `npm pack` writes them, and the SHA-512 of each in base64."""
_PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
_NUMPY_SITE = "lib/python3.12/site-packages/"
_NUMPY_WITHOUT = ("/tests/", "/f2py/", "/testing/", "/distutils/", "/include/", "/doc/", "/_pyinstaller/")
_MARK = "isakit-site.json"
"""The file by which a folder is known to be one of these, so that it may be replaced."""
_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
    "style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'"
)
_COMPILING = 300.0
"""Seconds that compiling may take; it takes 10."""


@record
class StaticSite:
    """Report of writing a site: the folder, how many files it has, and their bytes.

    `uncompiled`: why it has no compiled code of Python, so that a page needs seconds more to begin; else empty.
    """

    folder: str
    files: int
    bytes: int
    uncompiled: str


def write_site(out: Path, archives: Path | None = None, bundles: Path = packages.BUILT) -> StaticSite:
    """Write the workbench to a folder, which is new, empty, or an earlier one of these, then replaced as a whole.

    `archives`: a folder with what `npm pack` gives for `ARCHIVES`; without it npm fetches them into the cache, once.
    `bundles`: the folder with what `packages.build` has made.
    Raises HostError where they cannot be had, FormatError for other bytes than those, OSError.
    """
    if out.exists() and any(out.iterdir()) and not (out / _MARK).is_file():
        raise HostError(f"{out} holds other files; give a new folder")
    found = {package: _checked(package, path) for package, path in _archives(archives).items()}
    out.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        made.chmod(0o755)
        _write(made, found, bundles)
        uncompiled = _compile(made / "python")
        written = [f for f in made.rglob("*") if f.is_file()]
        site = StaticSite(str(out), len(written), sum(f.stat().st_size for f in written), uncompiled)
        if out.exists():
            shutil.rmtree(out)
        made.rename(out)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return site


def _write(to: Path, archives: dict[str, bytes], bundles: Path) -> None:
    for name, path in files().items():
        if name != "index.html":
            (to / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(path, to / name)
    there = packages.installed(bundles)
    if there and bundles != packages.BUILT:
        shutil.copytree(bundles, to / "vendor")
    (to / "index.html").write_text(_page(page(there)), "utf-8")
    details = {x["name"]: lesson(x["name"]) for x in lessons()}
    (to / "lessons.json").write_text(json.dumps({"list": lessons(), "lessons": details}), "utf-8")
    for isa, grammar in _grammars():
        (to / f"grammar-{isa}.json").write_text(json.dumps(grammar), "utf-8")
    python = to / "python"
    python.mkdir()
    for name, data in _members(archives[PYODIDE], "package/", _PYODIDE_FILES):
        (python / name).write_bytes(data)
    (python / "numpy.zip").write_bytes(_zipped(_numpy(archives[NUMPY])))
    (python / "isakit.zip").write_bytes(_zipped(_packages()))
    about = {"version": distribution("isakit").version, "packages": list(ARCHIVES)}
    (to / _MARK).write_text(json.dumps(about), "utf-8")


def _page(html: str) -> str:
    """Return the page with isakit in itself, under a policy that lets nothing in from elsewhere."""
    head = f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    return html.replace('<html lang="en"', '<html lang="en" data-backend="page"', 1).replace(
        '<meta charset="utf-8">', head
    )


def _grammars() -> Iterator[tuple[str, object]]:
    """Yield the highlighters of texts, by instruction set: it takes a page seconds to make."""
    from isakit.registry import VARIANTS
    from isakit.web.verbs import grammar_of

    for isa in VARIANTS:
        yield isa, plain(grammar_of(isa))


# --- packages of npm --------------------------------------------------------------------------------------------------
def _archives(folder: Path | None) -> dict[str, Path]:
    if folder is not None:
        return {package: folder / name for package, (name, _) in ARCHIVES.items()}
    cache = cache_folder()
    npm = shutil.which("npm")
    held = {package: (cache or Path()) / "npm" / name for package, (name, _) in ARCHIVES.items()}
    missing = [package for package, path in held.items() if cache is None or not path.is_file()]
    if not missing:
        return held
    pack = f"npm pack {' '.join(ARCHIVES)}"
    if npm is None or cache is None:
        raise HostError(f"Python for the page comes from npm: run `{pack}`, and give its folder as --pyodide")
    (cache / "npm").mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache / "npm") as made:
        command = [npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", made, *missing]
        done = subprocess.run(command, cwd=made, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise HostError(f"npm cannot fetch what the page needs: {done.stderr.strip()[-200:]}")
        for package in missing:
            name, _ = ARCHIVES[package]
            _checked(package, Path(made) / name)
            (Path(made) / name).replace(held[package])
    return held


def _checked(package: str, path: Path) -> bytes:
    """Return an archive. Raises FormatError where it is another one than was named."""
    try:
        data = path.read_bytes()
    except OSError as e:
        raise FormatError(str(path), 0, f"cannot be read: {e.strerror or e}") from None
    if b64encode(hashlib.sha512(data).digest()).decode() != ARCHIVES[package][1]:
        raise FormatError(str(path), 0, f"is not the archive of {package}: its SHA-512 is another")
    return data


def _members(archive: bytes, under: str, names: Iterable[str] = ()) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a folder of an archive: name below it, content. Its bytes are known, see `_checked`."""
    wanted = {under + n for n in names}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        for member in tar:
            if member.isfile() and (member.name in wanted if wanted else member.name.startswith(under)):
                content = tar.extractfile(member)
                assert content is not None
                yield member.name.removeprefix(under), content.read()


def _numpy(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the files of NumPy without its tests and its build tools."""
    ((_, inner),) = ((n, d) for n, d in _members(archive, "package/pkg/") if n.endswith(".tar.gz"))
    for name, data in _members(inner, _NUMPY_SITE):
        if not any(part in name for part in _NUMPY_WITHOUT) and not name.endswith((".pyi", ".a", ".pyc")):
            yield name, data


# --- packages of Python -----------------------------------------------------------------------------------------------
def _packages() -> Iterator[tuple[str, bytes]]:
    """Yield isakit, without what only a server needs, and the package that its verbs use."""
    root = STATIC.parents[1]
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root.parent).as_posix()
        if (
            path.is_file()
            and not any(part in name for part in ("/__pycache__/", "/web/static/", "/web/npm/"))
            and path.suffix != ".so"
        ):
            yield name, path.read_bytes()
    click = distribution("click")
    for file in click.files or ():
        if file.suffix == ".py" or "LICENSE" in file.name or file.name == "METADATA":
            yield file.as_posix(), Path(str(click.locate_file(file))).read_bytes()


def _compile(python: Path) -> str:
    """Put the code of what a page imports beside its sources, for which Pyodide runs in node; return why not, or ""."""
    script = Path(__file__).with_name("compile.mjs")
    before = {path: path.read_bytes() for path in python.glob("*.zip")}
    try:
        node, _ = packages.node_and_npm()
        subprocess.run([node, str(script), str(python)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       check=True, timeout=_COMPILING)  # fmt: skip
    except (HostError, OSError, subprocess.SubprocessError) as e:
        for path, data in before.items():
            path.write_bytes(data)
        said = e.stderr.strip()[-200:] if isinstance(e, subprocess.CalledProcessError) else str(e)
        return f"node cannot compile the modules of Python: {said}"
    return ""


def _zipped(content: Iterable[tuple[str, bytes]]) -> bytes:
    """Return an archive that is the same for the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in content:
            put_file(z, name, data)
    return out.getvalue()


__all__ = ["ARCHIVES", "StaticSite", "write_site"]
