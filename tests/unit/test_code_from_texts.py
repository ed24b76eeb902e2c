"""Every place of the package that makes code of a text, unpickles, imports by name or starts a program.

Each has its reason. A new one fails here until it has one: why nothing that a stranger writes reaches it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import isakit

ROOT = Path(isakit.__file__).parent

RECORDS = "text made from the records of an instruction set; of a program only numbers get into it"
OWN_NAME = "the name stands in the source, or was looked up in a table of the package"
OWN_PICKLE = "made by this process, or by the one at the other end of its own pipe"
OWN_SNAPSHOT = "a snapshot that this process has taken; its documentation says to restore no other"
CHOSEN = "the user's own command line names the program"
PLACES: dict[tuple[str, str], tuple[int, str]] = {
    ("analysis/picture.py", "run"): (1, "Graphviz, for a graph whose texts are quoted"),
    ("analysis/uniformity.py", "import_module"): (1, OWN_NAME),
    ("cli/interrupts.py", "exec"): (1, "of nothing: running any code makes Python forget that it was interrupted"),
    ("cli/__init__.py", "import_module"): (1, OWN_NAME),
    ("cli/app.py", "import_module"): (1, OWN_NAME),
    ("cli/man_.py", "run"): (1, "man, for a page of the package"),
    ("cli/schema_.py", "import_module"): (1, OWN_NAME),
    ("c_library.py", "Popen"): (1, "the C compiler, for sources of the package"),
    ("codec/compiled.py", "compile"): (1, RECORDS),
    ("codec/compiled.py", "eval"): (3, RECORDS),
    ("compile/c/bounded.py", "Popen"): (1, "the compiler that was found, with options of the package; shut in"),
    ("compile/c/clang.py", "run"): (2, "the compiler that was found, asked what it can do and where its headers are"),
    ("compile/c/nvrtc_program.py", "CDLL"): (1, "the library of an installed wheel"),
    ("compile/python/llvm.py", "import_module"): (1, OWN_NAME),
    ("corpora/sources.py", "import_module"): (2, OWN_NAME),
    ("corpora/sweeping.py", "pickle.loads"): (1, "made by the process that sends the jobs"),
    ("corpora/workers.py", "import_module"): (1, OWN_NAME),
    ("engine/codegen.py", "compile"): (1, RECORDS),
    ("engine/codegen.py", "exec"): (1, RECORDS),
    ("engine/llvm/background.py", "Popen"): (1, "this Python, with the package's own compile server"),
    ("engine/llvm/background.py", "pickle.loads"): (1, OWN_PICKLE),
    ("engine/llvm/compile_server.py", "pickle.loads"): (1, OWN_PICKLE),
    ("engine/llvm/target.py", "add_object_file"): (1, "compiled here, or from the cache, which nobody else writes"),
    ("engine/record_bytes.py", "exec"): (1, RECORDS),
    ("engine/routine_functions.py", "compile"): (1, RECORDS),
    ("engine/routine_functions.py", "exec"): (1, RECORDS),
    ("export/lexing.py", "compile"): (1, RECORDS),
    ("export/lexing.py", "exec"): (1, RECORDS),
    ("export/listing_library.py", "CDLL"): (3, "compiled from the records, in a wheel or in the cache; twice the type"),
    ("graphics/kept_launches.py", "CDLL"): (1, "the C library of the process"),
    ("hosts/cuda/nvcc/build.py", "run"): (1, "the compiler and the linker, for the files of the command"),
    ("hosts/cuda/program.py", "Popen"): (1, CHOSEN),
    ("hosts/cuda/program.py", "run"): (1, "ldconfig, asked for the libraries of the system"),
    ("hosts/drm/session.py", "Popen"): (1, CHOSEN),
    ("instruction_sets.py", "import_module"): (1, OWN_NAME),
    ("lazy.py", "import_module"): (1, OWN_NAME),
    ("lean.py", "exec"): (1, "names of the fields of a class of the package"),
    ("machine/interrupts.py", "import_module"): (1, OWN_NAME),
    ("machine/snapshot.py", "Unpickler.load"): (1, OWN_SNAPSHOT),
    ("machine/snapshot.py", "pickle.loads"): (1, OWN_SNAPSHOT),
    ("processes.py", "Popen"): (1, "this Python, with the package's own program that cleans up"),
    ("results.py", "import_module"): (1, OWN_NAME),
    ("spec/isa.py", "import_module"): (1, OWN_NAME),
    ("sandbox.py", "CDLL"): (2, "the C library of the process, and its type"),
    ("sandbox.py", "execvp"): (1, "the command that `launcher` was given by this package"),
    ("spec/folder.py", "import_module"): (1, "modules of a package of records, by the files that lie in its folder"),
    ("web/packages.py", "Popen"): (1, "npm and node, at installation: packages of the lock file, no scripts"),
    ("web/precompiled.py", "compile"): (1, "modules of this package, NumPy and Python, in a site's archives; not run"),
    ("web/site.py", "run"): (2, "npm, for two packages in fixed versions whose bytes are checked; node, with these"),
    ("web/tabs.py", "create_subprocess_exec"): (1, "this Python, with the package's own worker"),
}  # fmt: skip

NAMED = {"eval", "exec", "__import__", "add_object_file", "import_module", "run_path",
         "run_module", "exec_module", "spec_from_file_location", "CDLL", "PyDLL", "WinDLL", "LoadLibrary"}  # fmt: skip
"""What makes code or brings it in, by whatever is done with the name."""
CALLED = {"FunctionType", "CodeType", "Popen", "system", "popen", "check_output", "check_call", "getoutput",
          "startfile",
          "create_subprocess_exec", "create_subprocess_shell", "posix_spawn", "execv", "execve", "execvp", "execvpe",
          "execl", "spawnv", "spawnl"}  # fmt: skip
"""What makes code of bytes or starts programs, where it is called."""
UNPICKLERS = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml"}


WORDS = re.compile(
    rf"\b(?:{'|'.join(sorted(NAMED | CALLED | UNPICKLERS))}|Unpickler|subprocess)\b"
    r"|\b(?<!re\.)compile\(|\b(?:np|numpy)\.load\b"
)
"""What stands in a module that has such a place; looking at the trees of all others would take long."""


def places(text: str) -> Iterator[str]:
    """What a module does of that kind."""
    if not WORDS.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.ImportFrom(names=names):
                yield from (f"{a.name} as {a.asname}" for a in names if a.asname and a.name in NAMED | CALLED)
            case ast.Name(id=name, ctx=ast.Load()) if name in NAMED:
                yield name
            case ast.Attribute(value=base, attr=name) if name in NAMED:
                if name not in ("eval", "exec") or dotted(base) == "builtins":
                    yield name
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in UNPICKLERS and "dump" not in name:
                if name.startswith(("load", "open")):
                    yield f"{module}.{name}"
            case ast.Call():
                yield from _called(node)
            case _:
                pass


def dotted(node: ast.expr) -> str:
    """A name with the modules before it; what is called in between has brackets."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=base, attr=name):
            return f"{dotted(base)}.{name}"
        case ast.Call(func=function):
            return f"{dotted(function)}()"
        case _:
            return ""


def _called(call: ast.Call) -> Iterator[str]:
    name = dotted(call.func)
    last = name.rpartition(".")[2]
    if last in CALLED or name in ("compile", "builtins.compile", "subprocess.run"):
        yield last
    elif name.endswith("Unpickler().load"):
        yield "Unpickler.load"
    elif name in ("np.load", "numpy.load") and "allow_pickle=False" not in ast.unparse(call):
        yield "np.load with pickles"


def found() -> dict[tuple[str, str], int]:
    out: Counter[tuple[str, str]] = Counter()
    for path in sorted(ROOT.rglob("*.py")):
        for what in places(path.read_text(encoding="utf-8")):
            out[path.relative_to(ROOT).as_posix(), what] += 1
    return dict(out)


def test_every_place_that_runs_code_of_a_text_has_its_reason() -> None:
    assert found() == {place: count for place, (count, _) in PLACES.items()}


def test_such_places_are_found_however_they_are_written() -> None:
    texts = ["eval(x)", "f = eval", "builtins.exec(x)", "map(eval, x)", "__import__(x)", "importlib.import_module(x)",
             "from importlib import import_module as i\ni(x)", "runpy.run_path(x)", "pickle.loads(x)",
             "marshal.loads(x)", "os.system(x)", "subprocess.run(x)", "subprocess.Popen(x)", "np.load(x)",
             "np.load(x, allow_pickle=True)", "yaml.load(x)", "types.CodeType(x)", "ctypes.CDLL(x)"]  # fmt: skip
    assert [text for text in texts if not list(places(text))] == []
    assert list(places("re.compile(x); ast.parse(x); np.load(x, allow_pickle=False); machine.load(x)")) == []
