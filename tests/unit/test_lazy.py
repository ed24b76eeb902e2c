"""Packages that import their parts late: they say the same names twice, and a run imports no more than it uses."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import isakit
from isakit.lazy import lazy
from support.patience import PATIENCE

SOURCE = Path(isakit.__file__).parent
LAZY = sorted(
    ".".join(("isakit", *p.parent.relative_to(SOURCE).parts))
    for p in SOURCE.rglob("__init__.py")
    if "lazy(\n" in p.read_text()
)


def typed_names(package: str) -> set[str]:
    """The names that a package imports for the type checker."""
    tree = ast.parse(Path(importlib.import_module(package).__file__ or "").read_text())
    checked = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    return {a.asname or a.name for n in checked for i in n.body if isinstance(i, ast.ImportFrom) for a in i.names}


def late_names(package: str) -> dict[str, str]:
    """name -> module of the table that a package gives to `lazy`, modules without names apart."""
    tree = ast.parse(Path(importlib.import_module(package).__file__ or "").read_text())
    call = next(n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "lazy")
    pairs = ast.Dict([], [])
    assert isinstance(call.args[1], ast.Dict)
    for k, v in zip(call.args[1].keys, call.args[1].values, strict=True):
        if k is not None:
            pairs.keys.append(k)
            pairs.values.append(v)
    return {name: module for module, names in ast.literal_eval(pairs).items() for name in names.split()}


def test_packages_that_import_late_are_found() -> None:
    assert {"isakit", "isakit.formats", "isakit.runtime"} <= set(LAZY)


@pytest.mark.parametrize("package", LAZY)
def test_late_names_are_those_of_the_type_checker(package: str) -> None:
    assert set(late_names(package)) == typed_names(package)


@pytest.mark.parametrize("package", LAZY)
def test_public_names_are_there(package: str) -> None:
    module = importlib.import_module(package)
    assert [n for n in module.__all__ if not hasattr(module, n)] == []


@pytest.mark.parametrize("package", LAZY)
def test_a_late_name_is_what_its_module_has(package: str) -> None:
    module = importlib.import_module(package)
    for name, home in late_names(package).items():
        assert getattr(module, name) is getattr(importlib.import_module(home), name)


@pytest.mark.parametrize("package", LAZY)
def test_no_late_name_is_hidden_by_a_module_of_the_package(package: str) -> None:
    folder = Path(importlib.import_module(package).__file__ or "").parent
    modules = {p.stem for p in folder.glob("*.py")} | {p.name for p in folder.iterdir() if p.is_dir()}
    assert set(late_names(package)) & modules == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    get, _ = lazy("isakit", {"json": "loads"})
    with pytest.raises(AttributeError, match="module 'isakit' has no attribute 'dumps'"):
        get("dumps")


def test_a_module_that_cannot_be_imported_is_not_a_name_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`from` would try again, and complain of what half a module has left behind."""
    (tmp_path / "half_made.py").write_text("import json\njson.lods\n")
    monkeypatch.syspath_prepend(tmp_path)
    get, _ = lazy("isakit", {"half_made": "name"})
    with pytest.raises(ImportError, match="half_made cannot be imported: module 'json' has no attribute 'lods'") as e:
        get("name")
    assert isinstance(e.value.__cause__, AttributeError)


def test_late_names_are_listed() -> None:
    _, names = lazy("isakit", {"json": "loads", "json.decoder": ""})
    assert {"loads", "decoder", "errors"} <= set(names())


KERNEL = """
.isa tesla
.kernel ten
.param out ptr
.param n u32
    cvt u32 $r1 u16 $r0l
    shl b32 $r2 $r1 0x2
    add b32 $r2 b32 s[out] $r2
    add b32 $r3 b32 s[n] $r1
    exit st b32 g14[$r2] $r3
"""
RUN = "run {} --block 32 --engine reference --arg out:u32:32 --arg u32:5"
NOT_NEEDED = (
    "isakit.analysis", "isakit.compile", "isakit.debug", "isakit.docsgen", "isakit.formats", "isakit.graphics",
    "isakit.hosts", "isakit.arch.usse", "isakit.arch.vuc", "isakit.codec.explain", "isakit.codec.build",
    "isakit.texture.texture", "isakit.texture.texture_unit", "isakit.machine.tesla.compiled", "isakit.engine.llvm",
    "llvmlite", "elftools", "rich", "numpy.random", "asyncio", "multiprocessing", "socket",
)  # fmt: skip


def modules_after(*arguments: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    code = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        f"sys.argv = ['isakit', *{list(arguments)!r}]\n"
        "from isakit.cli import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr))


@pytest.fixture(scope="module")
def after_a_run(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    path = tmp_path_factory.mktemp("run") / "ten.s"
    path.write_text(KERNEL)
    return modules_after(*RUN.format(path).split())


@pytest.mark.parametrize("name", NOT_NEEDED)
def test_a_run_on_the_reference_engine_imports_nothing_else(name: str, after_a_run: set[str]) -> None:
    assert [m for m in after_a_run if m == name or m.startswith(f"{name}.")] == []


def test_help_imports_no_instruction_set() -> None:
    assert [m for m in modules_after("dis", "--help") if m.startswith(("isakit.arch", "isakit.spec", "numpy"))] == []
