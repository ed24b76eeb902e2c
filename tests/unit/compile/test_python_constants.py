"""Constant expressions of Python kernels: folded from the syntax tree, bounded, never evaluated."""

from __future__ import annotations

import ast
import os
import time

import numpy as np
import pytest

import isakit
from isakit.compile.python import FunctionSource, translate
from isakit.compile.python.constants import ConstantFolding, NotFoldable
from isakit.errors import CompileError

N = 8
"""What a kernel below sees beside a variable and a parameter of its name."""


def fold(text: str, **names: object) -> int | float | None:
    return ConstantFolding(names).fold(ast.parse(text, mode="eval").body)


def translated(*lines: str, names: dict[str, object] | None = None) -> str:
    text = "\n    ".join(["@isakit.kernel\ndef k(out: 'u32p', v: 'u32'):", *lines]) + "\n"
    return translate(FunctionSource(text, "kernel.py", 1, names or {}))[1]


def errors_of(*lines: str) -> list[tuple[int, int, str]]:
    with pytest.raises(CompileError) as e:
        translated(*lines)
    return [(d.line, d.column, d.message) for d in e.value.diagnostics]


@pytest.mark.parametrize(
    ("text", "value"),
    [("2 + 3 * 4", 14), ("-7 // 2", -4), ("-7 % 4", 1), ("1 << 63", 1 << 63), ("~5 & 0xff", 0xFA), ("6 | 9 ^ 3", 14),
     ("2 ** 10", 1024), ("1 / 4", 0.25), ("1.5 * 2", 3.0), ("2.0 ** -1", 0.5), ("M * 4 - 1", 255), ("not M", 0),
     ("M if M > 63 else 1", 64), ("(1 << 200) >> 190", 1024), ("True + True", 2)],
)  # fmt: skip
def test_numbers_names_and_operators_are_folded_as_python_computes_them(text: str, value: float) -> None:
    got = fold(text, M=64)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    "text",
    ["x", "f(1)", "().__class__", "[1][0]", "'a' * 3", "b'a'[0]", "1j * 1j", "None", "(1,) * 3", "lambda: 1",
     "(y := 3)", "[k for k in (1, 2)]", "f'{1}'", "{}", "... + 1", "1 @ 2", "1.5 << 2", "1 / 0", "(-8) ** 0.5",
     "10.0 ** 400", "1 < 2 < 3", "1 in (1, 2)", "m.x", "N.real", "(1).__class__"],
)  # fmt: skip
def test_anything_else_is_not_constant(text: str) -> None:
    assert fold(text, N=8, m=ast, y="text") is None


@pytest.mark.parametrize(
    "text",
    ["9**9**9", "1 << 10**9", "(1 << 200) * (1 << 200)", "0x1" + "0" * 100_000, "2 ** 257", "(-2) ** (1 << 60)",
     "3 ** 3 ** 3 ** 3 ** 3", "1 << (1 << 63)"],
)  # fmt: skip
def test_a_number_beyond_all_bounds_is_refused_at_once(text: str) -> None:
    start = time.process_time()
    with pytest.raises(NotFoldable, match="more than 256 bits"):
        fold(text)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("text", ["1 // 0", "1 % 0", "1 << -1", "1 >> -1"])
def test_an_operation_of_integers_without_a_value_is_refused(text: str) -> None:
    with pytest.raises(NotFoldable):
        fold(text)


def test_powers_of_small_numbers_may_have_any_exponent() -> None:
    assert [fold(f"{base} ** (1 << 63)") for base in ("0", "1", "(-1)")] == [0, 1, 1]


@pytest.mark.parametrize(
    "line",
    ["s = shared(u32, {})", "s = local(u32, {})", "for i in range(0, 9, {}): pass", "out[0] = {}", "out[{}] = 1",
     "out[0] += {}", "w: u32 = {}", "while v < {}: pass"],
)  # fmt: skip
def test_no_place_of_a_kernel_computes_for_long_or_without_bound(line: str) -> None:
    for hostile in ("9**9**9", "(1 << 10**9)", "0x" + "f" * 50_000):
        start = time.process_time()
        ((row, _, message),) = errors_of("pass", line.format(hostile))
        assert row == 4
        assert "bits" in message
        assert len(message) < 200
        assert time.process_time() - start < 5


ESCAPE = "().__class__.__base__.__subclasses__()"
RUNS = (
    f"[c for c in {ESCAPE} if c.__name__ == '_wrap_close'][0].__init__.__globals__['system']('touch {{path}}')",
    f"(lambda: [c for c in {ESCAPE} if 'warn' in c.__name__][0]()._module.__builtins__['open']('{{path}}', 'w'))()",
    "[*(1).__class__.__base__.__subclasses__()][-1].__init__.__globals__['open']('{path}', 'w')",
)


@pytest.mark.parametrize("hostile", RUNS)
@pytest.mark.parametrize(
    "line", ["out[0] = 1 + {}", "s = shared(u32, {})", "s = local(u32, {})", "for i in range(0, 9, {}): pass"]
)
def test_no_expression_of_a_kernel_is_run(line: str, hostile: str, tmp_path: object) -> None:
    path = f"{tmp_path}/ran"
    assert errors_of(line.format(hostile.format(path=path)))[0][0] == 3
    assert not os.path.exists(path)


def test_deep_nesting_is_an_error_at_its_line() -> None:
    for deep in (" + ".join(["v"] * 700), " + ".join(["v"] * 50_000), "-" * 2000 + "v", "not " * 5000 + "v"):
        ((row, _, message),) = errors_of("pass", f"out[0] = {deep}", "pass")
        assert (row, message) == (4, "this is nested too deeply")


def test_long_sums_still_fold_and_take_time_in_proportion() -> None:
    start = time.process_time()
    text = translated(*["out[0] = " + " + ".join(["1"] * 300)] * 40)
    assert text.count("store i32 300") == 40
    assert time.process_time() - start < 30


@isakit.kernel
def own_names(out: u32p, N: u32):
    out[0] = N + 1


@isakit.kernel
def own_variable(out: u32p):
    for N in range(3):
        out[N] = N * 2


def test_a_variable_is_not_the_constant_of_its_name() -> None:
    out = np.zeros(3, np.uint32)
    own_names[1, 1](out, 100)
    assert out[0] == 101
    own_variable[1, 1](out)
    assert list(out) == [0, 2, 4]


@pytest.mark.parametrize(
    ("line", "message"),
    [("break", "`break` stands outside of a loop"), ("continue", "`continue` stands outside of a loop"),
     ("for i in range(0, 9, 1 << 40): pass", "the step of `range` must be an i32 that is not 0"),
     ("x = local(f32, 4); atomic_cas(x, 0, 1.0, 2.0)", "there is no `atomic_cas` of f32")],
)  # fmt: skip
def test_what_has_no_code_is_an_error_at_its_line(line: str, message: str) -> None:
    ((row, _, said),) = errors_of(line)
    assert (row, said) == (3, message)


def test_names_may_have_letters_of_any_alphabet() -> None:
    def kernel(größe: u32, out: u32p):
        δ = local(u32, 4)
        δ[0] = größe
        é = δ[0] + 1
        out[0] = é

    out = np.zeros(1, np.uint32)
    isakit.kernel(kernel)[1, 1](41, out)
    assert out[0] == 42


def test_the_name_of_a_kernel_is_written_in_ascii() -> None:
    with pytest.raises(CompileError, match="written in ASCII"):
        translate(FunctionSource("def größe(): pass", "kernel.py", 1, {}))
