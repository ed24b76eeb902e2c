"""Texts of strangers as the workbench gets them: Python under an audit hook, C against a compiler's list of files.

A text may be wrong in any way. It must end in an error of the library or in a program. On the way nothing may happen
that is not in a table: no file is opened, no program started, no module imported.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from isakit.compile.c import find_clang
from isakit.compile.c.clang import CUDA, OPENCL
from isakit.compile.c.standalone import MACROS, standalone
from isakit.compile.python.translate import NO_FILE
from isakit.errors import CompileError, IsakitError
from isakit.web.source import compiled
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.needs import no_clang

TEXTS = 20
"""Texts of one case."""
SUBCLASSES = "().__class__.__base__.__subclasses__()"
PYTHON = [
    f"{SUBCLASSES}[0]", f"[c for c in {SUBCLASSES} if c.__name__ == '_wrap_close'][0]", "__import__('os').system('id')",
    "open('/etc/passwd').read()", "eval('1')", "exec('import os')", "(lambda: 1)()", f"[*{SUBCLASSES}]",
    "(lambda f: f(f))(lambda f: f(f))", "9**9**9", "1 << 10**9", "2 ** -1", "'a' * 10**10", "b''.join", "f'{N!r:>{N}}'",
    "f'{().__class__.__base__}'", "'%s' % (1,)", "'{0.__class__}'.format(1)", "(1).__class__", "(y := 1)", "*N", "**N",
    "{**{}}", "[x for x in ()]", "{1: 2}[1]", "(yield)", "(await N)", "print('x')", "os.environ", "sys.modules",
    "N.real",
    "math.pi", "math.__dict__", "math.__loader__", "thread.x.__class__", "isakit.load('/etc/passwd')", "not N", "~N",
    "-N", "N if N else N", "N and 1 or N", "N < 1 < N", "N @ N", "N // 0", "1 / 0", "1 % 0", "1 << -1", "1e400", "1j",
    "0x" + "f" * 5000, "1e-400", "None", "True", "...", "''", "N[0]", "out", "out[0]", "out[out[0]]", "s", "s[N]",
    "shared(u32, N)", "min(1)", "max(N, 1, 2)", "abs(-N)", "sqrt(N)", "u8(N)", "f64(N)", "atomic_add(out, 0, 1)",
    "atomic_cas(out, 0, 1, 2)", "atomic_min(s, N, 1)", "mad(1, 2, 3)", "sync()", "floor(1.5)", "N.__class__.__mro__[1]",
    "getattr(N, 'real')", "globals()['N']", "vars()", "é", "x" * 300, "- " * 200 + "1", "(" * 60 + "1" + ")" * 60,
    " + ".join(["N"] * 120), "~" * 3000 + "1", "not " * 900 + "1", "a" + ".a" * 900, "1 if 1 else " * 100 + "1",
]  # fmt: skip
STATEMENTS = [
    "out[0] = {}", "out[{}] = {}", "s = shared(u32, {})", "s = local({}, 4)", "for i in range({}): out[i] = {}",
    "for i in range(0, 9, {}): pass", "while {}: break", "if {}: out[0] = {}", "w: u32 = {}", "out[0] += {}", "{}",
    "a, b = {}, {}", "return {}", "break", "continue", "import os", "from os import system", "del {}", "global N",
    "raise {}", "assert {}", "with {}: pass", "try: pass\n    except {}: pass", "def g(): {}", "class C: x = {}",
    "lambda: {}", "a = b = {}", "N = {}", "s[0] = {}", "x = f32({})", "match {}:\n        case _: pass",
              "pass  # type: {}",
    "'''{}'''", "i = {}; i **= 3", "i = {}; i <<= {}",
]  # fmt: skip
HEADS = [
    "N = 4\n", "N = {}\n", "import os; os.system('id')\n", "from os import *\n", "N: int = {}\n", "if {}: N = 1\n", "",
    "from __future__ import annotations\n", "print({})\n", "class A:\n    N = {}\n", "N = M = {}\n",
                                                    "# -*- coding: {} -*-\n",
    "from isakit import kernel as k\n", "N = 'f32p'\n", "\f\n", "\x1c = 1\n", "@{}\ndef f(): pass\n",
    "def f(x={}): pass\n",
]  # fmt: skip
DECORATORS = ["@isakit.kernel", "@isakit.kernel({})", "@kernel", "@k", "@{}", "@isakit.kernel\n@{}", ""]
ANNOTATIONS = ['"u32p"', '"u32"', "N", "{}", '"{}"', "u32p", "f32", "isakit.f32p", '"f32[:]"']
SIGNS = ["\\\n", "\f", "\x0c", "\u2028", "\x85", "\0", "\ud800", "é", "'", '"""', "(", ")", "#", ";", ":", "\t", "\r",
         "`",
         "$", "0x", "1_", "\N{GREEK SMALL LETTER DELTA}"]  # fmt: skip
C_DIRECTIVES = ["include", "include_next", "import", "embed", "line", "pragma", "ident", "error", "define A", "undef A",
                "if 1", "ifdef A", "elif 1", "else", "endif", "__include_macros", "pragma GCC dependency", "1",
                "if __has_include", "pragma unroll", "define I include", "define H #include"]  # fmt: skip
C_PIECES = ['"/etc/passwd"', "</etc/passwd>", '"/dev/stdin"', "\\\n", "\\ \n", "\\\f\n", "??/\n", "??=", "%:", "#",
            "/*",
            "*/", "//", '"', "'", 'R"(', ')"', 'R"x(', ")x\"", "u8R", "1'0", "1'a", "0x1p+", "1e+'", "\n", "\r", "\r\n",
            "\f", "\v", " ", "\t", "/**/", "/* \n */", "__has_include", "_Pragma", "asm", "__FILE__", "A##B", "\ufeff",
            "\xa0", "\u2028", "\x85", "\0", "\x1a", "é", "×", "\\u00e9", "$", "\\", "(", ")", "{", "}", ";", "int a;",
            "#define J(a, b) a##b\n", 'J(__has_, include)("/etc/passwd")', "#if ", "\n#endif\n", "@import x;",
            'import "x";', 'J(as, m)(".incbin \\"/etc/passwd\\"");', "%\\\n:", "#\\\n", "/\\\n*", "*\\\n/",
            "/\\\n/"]  # fmt: skip


# --- Python -----------------------------------------------------------------------------------------------------------
def _filled(rng: random.Random, text: str) -> str:
    while "{}" in text:
        piece = rng.choice(PYTHON) if rng.random() < 0.8 else f"{rng.choice(PYTHON)} + {rng.choice(PYTHON)}"
        text = text.replace("{}", piece, 1)
    return text


def python_text(rng: random.Random) -> str:
    """A kernel of somebody who wants more than a kernel; some of them are damaged besides."""
    lines = [_filled(rng, rng.choice(STATEMENTS)) for _ in range(rng.randrange(1, 4))]
    head = _filled(rng, "".join(rng.choice(HEADS) for _ in range(rng.randrange(0, 3))))
    given = f"out: {_filled(rng, rng.choice(ANNOTATIONS[:1] * 6 + ANNOTATIONS))}, N: {rng.choice(ANNOTATIONS[1:2])}"
    decorator = _filled(rng, rng.choice(DECORATORS[:1] * 6 + DECORATORS))
    body = "\n    ".join(["pass", "s = shared(u32, 8)" if rng.random() < 0.5 else "pass", *lines])
    text = f"{head}{decorator}\ndef k({given if rng.random() < 0.7 else given.split(', ')[0]}):\n    {body}\n"
    return _damaged(rng, text, SIGNS) if rng.random() < 0.3 else text


def _damaged(rng: random.Random, text: str, signs: list[str]) -> str:
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(signs) + text[at + rng.choice((0, 0, 1, 5)) :]
    return text


def _texts(make: Any) -> Any:
    def texts(seed: int) -> list[str]:
        rng = random.Random(seed)
        return [make(rng) for _ in range(TEXTS)]

    return texts


QUIET = {"sys._getframe", "object.__getattr__", "object.__setattr__", "builtins.id", "gc.get_objects",
         "ctypes.PyObj_FromPtr",
         "ctypes.cdata", "ctypes.cdata/buffer", "ctypes.string_at", "ctypes.addressof", "ctypes.get_errno",
         "ctypes.set_errno", "array.__new__"}  # fmt: skip
"""Events that say something about this process alone: they reach no file, program, module or socket."""
RECORDS = ("<form ", "<routine ", "<isakit ")
"""What code is called that is made from records the first time an instruction is written."""
_watched: list[tuple[str, str]] | None = None
_given = ""


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _watched is None or event in QUIET:
        return
    if event == "compile" and _is_part(args[0]):
        return  # the syntax tree of the text itself
    if event in ("compile", "exec") and str(args[-1] if event == "compile" else args[0].co_filename).startswith(
        RECORDS
    ):
        return
    if event == "open" and args[0] == NO_FILE:
        return  # Python wants to show a wrong line, and there is no such file
    _watched.append((event, repr(args)[:200]))
    raise PermissionError(f"{event} is not for texts")  # it must not happen on this machine either


def _is_part(source: object) -> bool:
    if isinstance(source, str | bytes):
        text = source.decode("utf-8", "replace") if isinstance(source, bytes) else source
        return text.replace("\r\n", "\n").replace("\r", "\n") in _given
    return False


@cache
def _hooked() -> None:
    """Compile what needs modules and files the first time, then watch."""
    for warm in (
        '@isakit.kernel\ndef k(out: "u32p"):\n    out[0] = sqrt(1.5) + 9 // 2\n',
        "x",
        '@isakit.kernel\ndef k(out: "u32p"):\n    out[0] = ut\n',  # names that are close are looked for by a module
        "\xe9",  # a name in Unicode: Python imports unicodedata to read it
        "\udc80",
        "-" * 9000 + "1",
    ):
        try:
            compiled(warm, "python", "gt200")
        except IsakitError as e:
            str(e)
    sys.addaudithook(_hook)


def check_python(texts: list[str]) -> list[str]:
    """Compile texts as the workbench does. What it raises must be meant for the user, and nothing else may happen."""
    global _watched, _given
    _hooked()
    covered: set[str] = set()
    for text in texts:
        _given, _watched = text.replace("\r\n", "\n").replace("\r", "\n"), []
        try:
            compiled(text, "python", "gt200")
            covered.add("compiled")
        except CompileError as e:
            covered |= {d.message.split("`")[0][:30] for d in e.diagnostics}
            lines = text.count("\n") + text.count("\r") + 1
            if any(not d.message or not 1 <= d.line <= lines for d in e.diagnostics if d.path.endswith(".py")):
                raise Wrong(f"an error outside of the text: {e}") from None
        except IsakitError as e:
            covered.add(type(e).__name__)
        finally:
            seen, _watched = _watched, None
        if seen:
            raise Wrong(f"{seen} for {text!r}")
    return sorted(covered)


# --- C ----------------------------------------------------------------------------------------------------------------
def c_text(rng: random.Random) -> str:
    """A C text whose author wants to read files; pieces that compilers join stand beside each other."""
    pieces: list[str] = []
    for _ in range(rng.randrange(1, 9)):
        directive = rng.choice(("#", "%:", "??=", "#", "%\\\n:")) + rng.choice(("", " ", "/**/", "\\\n", "\f"))
        name = rng.choice(C_DIRECTIVES)
        cut = rng.randrange(len(name) + 1)
        name = name if rng.random() < 0.7 else name[:cut] + rng.choice(("\\\n", "\\ \n", "/**/", "\\\f\n")) + name[cut:]
        pieces += [rng.choice(C_PIECES) for _ in range(rng.randrange(4))]
        if rng.random() < 0.5:
            pieces += [rng.choice(("\n", "", " ")), directive, name, " ", rng.choice(C_PIECES[:3])]
    text = "".join(pieces) + "\n"
    return _damaged(rng, text, C_PIECES) if rng.random() < 0.3 else text


def check_c(texts: list[str]) -> list[str]:
    """Whatever is taken stays within itself: the compiler's preprocessor names no file but the text."""
    covered: set[str] = set()
    taken: list[tuple[str, str]] = []
    for text in texts:
        for language in ("cuda", "opencl"):
            try:
                whole = standalone(text, language, "k.cu")
            except CompileError as e:
                covered.add(e.diagnostics[0].message.split("`")[-1][:30])
                continue
            if whole.count("\n") != text.replace("\r\n", "\n").replace("\r", "\n").count("\n"):
                raise Wrong(f"lines are lost in {text!r}")
            covered.add("taken")
            taken.append((language, whole))
    for language, text in taken[:2]:
        others = files_named(text, language)
        if others:
            raise Wrong(f"{others} for {text!r}")
    return sorted(covered)


def files_named(text: str, language: str) -> list[str]:
    """The files a compiler would read for a text, besides the text: those that are not there, too."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "k.cu" if language == "cuda" else "k.cl")
        source.write_text(text, "utf-8")
        options = [*(CUDA if language == "cuda" else OPENCL), *(f"-U{name}" for name in MACROS), "-M", "-MG", "-w"]
        if language == "opencl":
            options += ["-Xclang", "-fdeclare-opencl-builtins"]
        got = subprocess.run([*find_clang(), *options, source.name], cwd=folder, stdin=subprocess.DEVNULL, timeout=60,
                             capture_output=True, text=True, check=False, errors="replace")  # fmt: skip
    names = got.stdout.replace("\\\n", " ").partition(":")[2].split()
    found = [n for n in names if n != source.name and not n.endswith("opencl-c-base.h")]
    leaks = [line for line in got.stderr.splitlines() if "root:" in line or "/etc/passwd:" in line]
    return found + leaks


def _smaller(texts: list[str]) -> Iterator[list[str]]:
    if len(texts) > 1:
        yield from ([text] for text in texts)
        return
    yield from ([text] for text in pieces_left_out(texts[0]))


HERE = [
    Campaign("python-texts", "Python of strangers under an audit hook", _texts(python_text), check_python, _smaller,
             seconds=120),
    Campaign("c-texts", "C of strangers: no file is named", _texts(c_text), check_c, _smaller, needs=no_clang),
]  # fmt: skip
