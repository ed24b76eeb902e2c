"""`print` and `assert` in Python kernels: what a launch writes, and how it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isakit import cuda
from isakit.errors import CompileError, MachineFault
from isakit.runtime import Device

pytest.importorskip("llvmlite")
HUGE = 1e20


def test_values_are_shown_as_python_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    @cuda.jit
    def show(a: Any, d: Any, n: Any) -> None:
        i = cuda.grid(1)
        if i == 1:
            print("thread", i, a[i], d[i], i < 2, n[i], -n[i])
            print(f"[{a[0]}|{d[2]}]", "100%", "\\", sep="", end=";\n")
            print()

    a, d = np.float32([0.1, 1.5, 3]), np.float64([0, 0.1, HUGE])
    show[1, 3](a, d, np.uint64([0, 1 << 63, 0]))
    both = f"{1 << 63}"
    assert capsys.readouterr().out == f"thread 1 1.5 0.1 True {both} {both}\n[0.1|1e+20]100%\\;\n\n"
    show[1, 3](a, d, np.int32([0, 7, 0]))
    assert capsys.readouterr().out.startswith("thread 1 1.5 0.1 True 7 -7\n")


def test_a_text_sends_no_control_characters_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    @cuda.jit
    def show(a: Any) -> None:
        print("a\x1b[31m\tb\x9bc", a[0])

    show[1, 1](np.arange(1))
    assert capsys.readouterr().out == "a\ufffd[31m\tb\ufffdc 0\n"


def helped(x: Any) -> Any:
    assert x > 0, "positive"
    print("x is", x)
    return x + 1


def test_functions_that_kernels_call_print_too_and_say_where_they_fail(capsys: pytest.CaptureFixture[str]) -> None:
    @cuda.jit
    def fails(a: Any) -> None:
        i = cuda.threadIdx.x
        a[i] = helped(a[i])

    a = np.arange(1, 5)
    fails[1, 4](a)
    assert a.tolist() == [2, 3, 4, 5]
    assert sorted(capsys.readouterr().out.splitlines()) == [f"x is {k}" for k in range(1, 5)]
    a[2] = 0
    with pytest.raises(MachineFault, match=r"lane 2: .*thread \[2,0,0\]: `x > 0, positive` failed"):
        fails[1, 4](a)
    a[2] = 1
    fails[1, 4](a)


def test_what_finds_no_room_is_said_to_be_lost(capsys: pytest.CaptureFixture[str]) -> None:
    @cuda.jit
    def many(n: int) -> None:
        for i in range(n):
            print(i)

    many[1, 512](100)
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == (1 << 18) // 7
    assert err == "many has printed more than 1024 KB; what came last is lost\n"
    many[1, 1](2)
    assert capsys.readouterr() == ("0\n1\n", "")


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("print(a)", "shows numbers and texts, not arrays"),
        ("print(a[0], file=1)", "takes values, `sep` and `end`"),
        ("print(f'{a[0]:.3f}')", "values without a format"),
        ("print(" + ", ".join(["a[0]"] * 17) + ")", "16 numbers at most"),
        ("assert a[0], a[1]", "the message of an `assert` in a kernel is a text"),
    ],
)
def test_what_cannot_be_printed_is_an_error_at_its_line(statement: str, says: str) -> None:
    from isakit.compile.python import compile_text

    with pytest.raises(CompileError, match=says) as e:
        compile_text(f"@kernel\ndef k(a: 'f32[:]'):\n    {statement}\n", "k.py")
    assert e.value.diagnostics[0].line == 3


def test_chips_without_atomic_functions_print_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    @cuda.jit
    def show(a: Any) -> None:
        print(a[0])

    monkeypatch.setattr(cuda, "_current", [Device("g80")])
    with pytest.raises(CompileError, match="g80 has no atomics"):
        show[1, 1](np.arange(2))
