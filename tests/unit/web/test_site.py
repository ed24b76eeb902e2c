"""The workbench as a folder of static files: what is written, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import importlib
import io
import json
import tarfile
import zipfile
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from isakit.errors import FormatError, HostError
from isakit.web import site
from isakit.web.files import STATIC, files
from isakit.web.lessons import lessons
from isakit.web.precompiled import imported, with_code
from support.clients.command_line import run


def archive(content: dict[str, bytes]) -> bytes:
    """Return what npm would pack."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in content.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


@pytest.fixture
def archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with small archives of the same shape; their hashes are those that are expected."""
    under = "lib/python3.12/site-packages/numpy/"
    inner = archive({
        f"{under}__init__.py": b"numpy", f"{under}tests/test_it.py": b"", f"{under}lib/x.pyi": b"",
        f"{under}_core/core.so": b"code", "etc/other": b"",
    })  # fmt: skip
    made = {
        site.PYODIDE: archive(
            {f"package/{n}": n.encode() for n in site._PYODIDE_FILES} | {"package/console.html": b""}
        ),
        site.NUMPY: archive({"package/package.json": b"{}", "package/pkg/numpy.tar.gz": inner}),
    }
    folder = tmp_path / "archives"
    folder.mkdir()
    expected = {}
    for package, data in made.items():
        name = site.ARCHIVES[package][0]
        (folder / name).write_bytes(data)
        expected[package] = name, base64.b64encode(hashlib.sha512(data).digest()).decode()
    monkeypatch.setattr(site, "ARCHIVES", expected)
    return folder


def test_the_folder_holds_the_page_and_python(archives: Path, tmp_path: Path) -> None:
    out = tmp_path / "made" / "site"
    about = site.write_site(out, archives)
    written = {f.relative_to(out).as_posix(): f.read_bytes() for f in out.rglob("*") if f.is_file()}
    assert (about.files, about.bytes) == (len(written), sum(map(len, written.values())))
    assert written.keys() >= files().keys()
    assert {n: written[n] for n in files() if n != "index.html"} == {
        n: p.read_bytes() for n, p in files().items() if n != "index.html"
    }
    page = written["index.html"].decode()
    assert 'data-backend="page"' in page
    assert "Content-Security-Policy" in page
    assert 'data-backend="page"' not in (STATIC / "index.html").read_text()
    assert written["python/pyodide.asm.wasm"] == b"pyodide.asm.wasm"
    assert "python/console.html" not in written
    found = json.loads(written["lessons.json"])
    assert [x["name"] for x in found["list"]] == [x["name"] for x in lessons()] == list(found["lessons"])
    assert "add" in json.loads(written["grammar-tesla.json"])["mnemonics"]
    assert [p.name for p in out.parent.iterdir()] == ["site"]


def test_without_compiled_code_the_folder_is_whole_and_says_why(archives: Path, tmp_path: Path) -> None:
    """The archives of these tests hold no Pyodide, so that nothing can be compiled."""
    about = site.write_site(tmp_path / "site", archives)
    assert "node cannot compile" in about.uncompiled
    with zipfile.ZipFile(tmp_path / "site/python/isakit.zip") as z:
        assert z.testzip() is None


def test_modules_that_are_imported_run_from_their_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as z:
        z.writestr("m_used/__init__.py", "WHERE = __file__")
        z.writestr("m_used/other.py", "WHERE = __file__")
        z.writestr("m_used/data.txt", "data")
    place = f"{tmp_path}/"
    made = with_code(packed.getvalue(), place, {f"{place}m_used/__init__.py"}, keep=True)
    with zipfile.ZipFile(io.BytesIO(made)) as z:
        names = z.namelist()
        z.extractall(tmp_path)
    code = cache_from_source("m_used/__init__.py")
    assert sorted(names) == sorted(["m_used/__init__.py", code, "m_used/other.py", "m_used/data.txt"])
    (tmp_path / "m_used/__init__.py").write_text("raise ValueError('compiled again')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert f"{place}m_used/__init__.py" == importlib.import_module("m_used").WHERE


def test_an_archive_that_is_imported_from_has_code_in_place_of_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as z:
        z.writestr("m_zipped.py", "WHERE = __file__")
    path = tmp_path / "std.zip"
    path.write_bytes(with_code(packed.getvalue(), f"{path}/", {f"{path}/m_zipped.py"}, keep=False))
    monkeypatch.syspath_prepend(str(path))
    found = importlib.import_module("m_zipped")
    assert found.__file__ == f"{path}/m_zipped.pyc"


def test_what_a_page_imports_is_found_for_all_machines() -> None:
    used = imported()
    for part in ("isakit/web/in_page.py", "isakit/machine/tesla/", "isakit/arch/vuc/", "isakit/arch/usse/"):
        assert any(part in file for file in used), part


def test_python_gets_isakit_click_and_what_runs_of_numpy(archives: Path, tmp_path: Path) -> None:
    site.write_site(tmp_path / "site", archives)
    with zipfile.ZipFile(tmp_path / "site/python/numpy.zip") as z:
        assert z.namelist() == ["numpy/__init__.py", "numpy/_core/core.so"]
    with zipfile.ZipFile(tmp_path / "site/python/isakit.zip") as z:
        names = set(z.namelist())
    assert {"isakit/web/in_page.py", "isakit/web/lessons/01-first-kernel.toml", "click/__init__.py"} <= names
    assert not any("__pycache__" in n or "web/static" in n or n.startswith("/") or ".." in n for n in names)


def test_the_same_folder_is_written_twice_alike_and_replaced(archives: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    site.write_site(out, archives)
    before = {f.relative_to(out): f.read_bytes() for f in out.rglob("*") if f.is_file()}
    (out / "stale.js").write_text("old")
    site.write_site(out, archives)
    assert {f.relative_to(out): f.read_bytes() for f in out.rglob("*") if f.is_file()} == before


def test_a_folder_with_other_files_stays_as_it_is(archives: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("years of work")
    with pytest.raises(HostError, match="holds other files"):
        site.write_site(tmp_path / "mine", archives)
    assert [f.name for f in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["archives", "mine"]


def test_archives_with_other_bytes_are_refused(archives: Path, tmp_path: Path) -> None:
    name = site.ARCHIVES[site.NUMPY][0]
    data = (archives / name).read_bytes()
    (archives / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(FormatError, match="SHA-512"):
        site.write_site(tmp_path / "site", archives)
    (archives / name).unlink()
    with pytest.raises(FormatError, match="cannot be read"):
        site.write_site(tmp_path / "site", archives)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["archives"]


def test_the_command_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("ISAKIT_CACHE", str(tmp_path / "cache"))
    done = run("web", "--static", str(tmp_path / "site"), code=1)
    assert "npm pack pyodide@" in done.stderr
    assert "--pyodide" in done.stderr
    assert "--static" in run("web", "--pyodide", str(tmp_path), code=2).stderr
    assert "FILE" in run("web", "--static", str(tmp_path / "site"), "x.cubin", code=2).stderr
