"""C texts of strangers: they name no file however it is spelt, and their compilers stay within bounds."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest

from isakit import sandbox
from isakit.compile.c import compile_c
from isakit.compile.c.bounded import Bounds, run
from isakit.compile.c.standalone import standalone
from isakit.errors import CompileError
from support.clients.leftovers import ended
from support.needs import CLANG
from support.patience import PATIENCE, until

KERNEL = "__global__ void k(int *o) { o[0] = 1; }\n"


def refusal(text: str, language: str = "cuda") -> tuple[int, int]:
    """Where a text is refused."""
    with pytest.raises(CompileError) as e:
        standalone(text, language, "k.cu")
    (d,) = e.value.diagnostics
    return d.line, d.column


DIRECTIVES = [
    "include",
    "include_next",
    "import",
    "embed",
    "line",
    "ident",
    "error",
    "warning",
    "__include_macros",
    "assert",
    "pragma once",
    "pragma GCC dependency",
    "pragma clang",
    "pragma unroll 4 include",
    "1",
    "",
    "'include'",
    "\xa0include",
    "define$x include",
]


@pytest.mark.parametrize("line", ["#pragma unroll", "#pragma nounroll", "#pragma STDC FP_CONTRACT ON", "#", "1'1"])
def test_long_lines_take_no_long_time(line: str) -> None:
    begun = time.process_time()
    for filler in (" ", "\f", "(", "1", "'1", "\\\n"):
        with pytest.raises(CompileError):
            standalone(f"{line}{filler * 40_000}@#", "cuda", "k.cu")
    assert time.process_time() - begun < 30


@pytest.mark.parametrize(
    "spelt",
    [
        "#{}",
        " \t#{}",
        "%:{}",
        "%\\\n:{}",
        "%\\ \f\n:{}",
        "#\\\n{}",
        "/**/#{}",
        "/*\n*/#/* */{}",
        "\f#{}",
        "\v#\f{}",
        "#\\\t\r\n{}",
        "??={}",
        "\ufeff#{}",
        "\xa0#{}",
        "x #{}",
        "x; %:{}",
        "#if 0\n#{}\n#endif",
        "#ifdef A\n%:{}",
        '"\n#{}\n"',
        "'\n#{}",
        "//\n#{}",
        "// \\\n\n#{}",
        "#define A(x) x\nA(\n#{}\n)",
        "??/\n#{}",
        "\r#{}",
    ],
)
def test_a_directive_that_could_read_a_file_is_refused_however_it_is_spelt(spelt: str) -> None:
    for name, language in product(DIRECTIVES, ("cuda", "opencl")):
        refusal(spelt.format(name) + ' "/etc/passwd"\n' + KERNEL, language)


@pytest.mark.parametrize(
    "name",
    [
        "__has_include",
        "__has_include_next",
        "__has_embed",
        "__FILE__",
        "__BASE_FILE__",
        "_Pragma",
        "__pragma",
        "asm",
        "__asm__",
        "__asm",
        "__TIMESTAMP__",
    ],
)
@pytest.mark.parametrize("where", ["{}", "#if {}(<x>)\n#endif", "#define A {}", "int a = 1; {}", "(/**/{}", "x\xe9 {}"])
def test_names_that_reach_files_are_refused_also_across_lines(where: str, name: str) -> None:
    text = where.format(name)
    refusal(text)
    for at in range(text.index(name) + 1, text.index(name) + len(name)):
        refusal(text[:at] + "\\ \t\n" + text[at:])


@pytest.mark.parametrize(
    ("text", "language"),
    [('R"(\n#include "x"\n)"', "opencl"), ('u8R"a(" /* )a"', "cuda"), ('x = \\\nR\\\n"(', "cuda"),
     ("1'a\"/*'", "opencl"), ("1p+'\"' /*", "cuda"), ("1'\"'", "cuda"), ("1\xd7'a'", "cuda"),
     ("%\\\\\n\n:include <x>", "cuda"), ("int a \\ \\\n\t\n= 1;", "opencl"), ("/* never", "cuda"), ("a\0b", "cuda"),
     ("a\ud800", "cuda"), ("\x1a", "cuda"), ("1'000", "opencl")],
)  # fmt: skip
def test_what_compilers_do_not_read_in_one_way_is_refused(text: str, language: str) -> None:
    refusal(text, language)


def test_a_comment_ends_where_the_standard_says() -> None:
    """Some compilers go on with the first comment, and would take the third line for a directive."""
    assert "include" not in standalone('/* *\\\n\\\n/"*/"/*\n#include "x"\n*/', "cuda", "k.cu")


@pytest.mark.parametrize(
    "text",
    ["#define S(x) #x\n#define P(a, b) a##b\nint a;\n", "#if defined(A) && A > 1\n#elif B\n#else\n#endif\n",
     "  #  pragma unroll 4\n#pragma nounroll\n#pragma unroll(2)\n", "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
     "char *s = \"#include <x> // /* asm\"; char c = '#';\n",
     "// #include <x> __FILE__ asm\n/* # 1 \"x\" */ int a;\n",
     "float plasma = 0x1.8p+3f; int asm_ = 1'000'000 + 0xff'ff;\n", "%:define X %:%: 1\n", "#undef X\n",
     "a ? b : c;\n"],
)  # fmt: skip
def test_what_stays_within_the_text_is_taken(text: str) -> None:
    standalone(text, "cuda", "k.cu")


def test_lines_and_columns_stay_where_they_are() -> None:
    text = "int a; /* b\nc */ int d;\nint \\\n e \\  \n f; // g \\\n h\nint i;\n"
    want = "int a;     \n     int d;\nint  e  f;        \n\n\n\nint i;\n"
    assert standalone(text, "cuda", "k.cu") == want
    assert refusal("int a; \\\n  \\\n b; asm") == (3, 5)
    assert refusal("\\\n\\\nasm\n") == (3, 1)


# --- with a compiler --------------------------------------------------------------------------------------------------
def compiled(text: str, language: str = "cuda") -> str:
    return compile_c("kernel.cl" if language == "opencl" else "kernel.cu", text, language, alone=True)


def errors_of(text: str, language: str = "cuda") -> str:
    with pytest.raises(CompileError) as e:
        compiled(text, language)
    return str(e.value)


@pytest.mark.parametrize("place", ["/etc/passwd", "/dev/stdin", "/proc/self/environ"])
@pytest.mark.parametrize(
    "text",
    ["#define J(a, b) a##b\n#if J(__has_, include)(\"{}\")\nint found;\n#endif\n",
     "#define J(a, b) a##b\nJ(_Pra, gma)(\"GCC dependency \\\"{}\\\"\")\n",
     "#define J(a, b) a##b\nconst char *s = J(__FI, LE__) \"{}\";\n"],
)  # fmt: skip
class TestNamesPutTogetherByMacros:
    """Macros can make of pieces what no text has; the compiler does not know those names."""

    pytestmark = CLANG

    def test_reach_no_file(self, text: str, place: str) -> None:
        for language in ("cuda", "opencl"):
            said = errors_of(text.format(place), language)
            assert "root" not in said
            assert "error" in said


class TestBounds:
    pytestmark = CLANG

    def test_a_text_compiles_and_names_no_folder_of_this_machine(self) -> None:
        ptx = compiled(KERNEL)
        assert ".entry" in ptx
        assert '"./kernel.cu"' in ptx
        assert "/tmp" not in ptx

    def test_a_line_that_asks_for_all_memory_is_refused_soon(self) -> None:
        assert "MB of memory" in errors_of("__device__ int a[1 << 29] = {1};\n" + KERNEL)

    def test_macros_that_double_each_other_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("isakit.compile.c.clang.ANYBODYS", Bounds(1 << 30, 2))
        doubling = "".join(f"#define B{k} B{k + 1} B{k + 1}\n" for k in range(40))
        start = time.monotonic()
        said = errors_of(doubling + "int a = B0;\n")
        assert "MB of memory" in said or "2 s" in said
        assert time.monotonic() - start < PATIENCE


linux = pytest.mark.skipif(not sandbox.LINUX, reason="the system keeps these bounds on Linux only")


def python(code: str, folder: Path, readable: list[str] | None = None, **bounds: float) -> tuple[str, str, str]:
    given = Bounds(**{"memory": 1 << 30, "seconds": PATIENCE, **bounds})  # type: ignore[arg-type]
    got = run([sys.executable, "-I", "-c", code], folder, given, readable)
    return got.output.strip(), got.errors.strip(), got.bound


@linux
def test_a_bounded_command_has_no_input_no_variables_and_a_folder_of_its_own(tmp_path: Path) -> None:
    code = "import os, sys; print(repr(sys.stdin.read()), os.getcwd(), 'SECRET' in os.environ)"
    os.environ["SECRET"] = "1"
    try:
        assert python(code, tmp_path)[0] == f"'' {tmp_path} False"
    finally:
        del os.environ["SECRET"]


@linux
@pytest.mark.parametrize(
    ("code", "bounds", "said"),
    [("while 1: pass", {"seconds": 1}, "more than 1 s"),
     ("import time; time.sleep(600)", {"seconds": 1}, "more than 1 s"),
     ("open('x', 'wb').write(bytes(1 << 22))", {"output": 1 << 20}, ""),
     ("b = bytearray(1 << 29)", {"memory": 1 << 28}, "")],
)  # fmt: skip
def test_time_memory_and_files_are_bounded(code: str, bounds: dict[str, float], said: str, tmp_path: Path) -> None:
    start = time.monotonic()
    _, errors, bound = python(code, tmp_path, **bounds)
    assert said in bound
    assert said or "Error" in errors
    assert time.monotonic() - start < PATIENCE


@linux
def test_the_memory_of_all_processes_together_is_bounded(tmp_path: Path) -> None:
    code = "import os, time\nfor _ in range(4): os.fork()\nb = bytearray(b'1') * (40 << 20)\ntime.sleep(600)"
    assert "256 MB" in python(code, tmp_path, memory=1 << 28)[2]


@linux
def test_the_whole_group_ends(tmp_path: Path) -> None:
    code = "import os, time\nif os.fork() == 0:\n    open('pid', 'w').write(str(os.getpid())); time.sleep(600)\n"
    code += "while not os.path.exists('pid') or not open('pid').read(): time.sleep(0.01)"
    python(code, tmp_path)
    child = int((tmp_path / "pid").read_text())
    assert until(lambda: ended(child)), "a process is left"


@linux
def test_a_bounded_command_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from isakit.compile.c.bounded import Bounds, run
run([sys.executable, "-c", "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"],
    Path({str(tmp_path)!r}), Bounds(1 << 30, 600))
"""
    parent = subprocess.Popen([sys.executable, "-c", code])
    pid = tmp_path / "pid"
    assert until(lambda: pid.exists() and bool(pid.read_text()))
    parent.kill()
    parent.wait()
    child = int(pid.read_text())
    assert until(lambda: ended(child)), "the command goes on"
