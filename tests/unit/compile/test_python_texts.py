"""Python texts: their kernels are found and compiled from the syntax tree, and nothing of them is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from isakit.cli.app import app
from isakit.compile.python import compile_text
from isakit.errors import CompileError

KERNEL = "@isakit.kernel\ndef k(out: 'u32p'):\n    out[0] = {}\n"


def stored(text: str) -> str:
    """What the kernel of a text writes, as its PTX says it."""
    ptx = compile_text(text, "k.py")[0]
    (line,) = [line for line in ptx.splitlines() if "st.global" in line]
    return line.split(",")[1].strip(" ;\t")


@pytest.mark.parametrize(
    "head",
    ["N = 4 * 16", "N: int = 1 << 6", "M = 8\nN = M * M", "N = 64 if 3 > 2 else 1", "import math\nN = 64.0 // 1",
     "def f():\n    N = 3\nN = 64", "class C:\n    N = 3\nN = 64", "N = 64\nT = 'u32'"],
)  # fmt: skip
def test_constants_are_folded_from_assignments_at_the_top(head: str) -> None:
    assert stored(f"{head}\n" + KERNEL.format("u32(N)")) == "64"


def test_a_constant_may_follow_the_kernel_that_uses_it() -> None:
    assert stored(KERNEL.format("N") + "N = 64\n") == "64"


@pytest.mark.parametrize(
    "head",
    ["N = 1\nN = 2", "N = 1\nif N:\n    N = 2", "N = 1\nN += 1", "for N in (1, 2): pass\nN = 1",
     "N = 1\nimport os as N", "N = 1\ndef N(): pass", "N = 1\ndef f():\n    global N\n    N = 2", "N = 1\ndel N",
     "N = 1\nwith f() as N: pass", "N = f()", "N, M = 1, 2", "from there import N", "(N := 1)\nN = 1",
     "N = 9**9**9"],
)  # fmt: skip
def test_a_name_that_only_running_the_text_would_settle_is_not_constant(head: str) -> None:
    with pytest.raises(CompileError, match="`N` is not known here"):
        compile_text(f"{head}\n" + KERNEL.format("N"), "k.py")


def test_python_warns_of_nothing_in_a_text(recwarn: pytest.WarningsRecorder) -> None:
    assert stored("'\\\x1b'\nM = 1if 1else 0\n" + KERNEL.format("u32(64if M else 0)")) == "64"
    assert not recwarn.list


@pytest.mark.parametrize(
    "head", ["import isakit\n@isakit.kernel", "import isakit as ik\n@ik.kernel", "from isakit import kernel\n@kernel",
             "from isakit import kernel as shader\n@shader", "@isakit.kernel(device=None)", "@other\n@isakit.kernel"]
)  # fmt: skip
def test_the_decorator_is_known_by_the_name_it_is_imported_under(head: str) -> None:
    assert ".entry k" in compile_text(f"{head}\ndef k(out: 'u32p'):\n    out[0] = 1\n", "k.py")[0]


@pytest.mark.parametrize("head", ["@other.kernel", "@kernels", "", "@x().kernel"])
def test_other_functions_are_no_kernels(head: str) -> None:
    with pytest.raises(CompileError, match="no function with @isakit"):
        compile_text(f"{head}\ndef k(out: 'u32p'):\n    out[0] = 1\n", "k.py")


@pytest.mark.parametrize("value", ["~0.5", "~N", "~f32(out[0])", "~(out[0] > 1)", "out[0] | 0.5", "0.5 << 1"])
def test_operations_of_integers_are_refused_for_what_has_no_bits(value: str) -> None:
    with pytest.raises(CompileError, match="for integers"):
        compile_text("N = 2 ** -1\n" + KERNEL.format(value), "k.py")


@pytest.mark.parametrize("sign", ["\f", "\x1c", "\x85", "\u2028", "\v"])
def test_lines_are_counted_as_python_counts_them(sign: str) -> None:
    head = f"M = '{sign}{sign}'\n" if sign != "\f" else "\f\n"
    with pytest.raises(CompileError) as e:
        compile_text(head + KERNEL.format("wrong"), "k.py")
    (d,) = e.value.diagnostics
    assert (d.line, d.source.strip()) == (4, "out[0] = wrong")


@pytest.mark.parametrize(
    "text", ["\0", "\ud800", "def f(:\n", "-" * 100_000 + "1", "(" * 300, "a" + ".a" * 50_000, "if 1:\n" * 3, "é = $"]
)
def test_what_is_not_python_is_an_error_at_a_line(text: str) -> None:
    with pytest.raises(CompileError) as e:
        compile_text(text, "k.py")
    assert all(d.line >= 1 and d.message for d in e.value.diagnostics)


def test_the_command_compiles_a_file_without_running_it(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    file = tmp_path / "kernels.py"
    file.write_text(f"open({str(ran)!r}, 'w')\nN = 7\n" + KERNEL.format("N") + f"open({str(ran)!r}, 'w')\n")
    got = CliRunner().invoke(app, ["cc", str(file), "--emit", "ptx"])
    assert got.exit_code == 0, got.output
    assert ".entry k" in got.output
    assert not ran.exists()


def test_the_command_reads_python_from_its_input() -> None:
    got = CliRunner().invoke(app, ["cc", "-x", "python", "-"], input=KERNEL.format(1))
    assert got.exit_code == 0, got.output
    assert ".kernel k" in got.output
