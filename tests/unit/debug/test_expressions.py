"""The expressions of conditions: what texts mean, what is refused, and that nothing is ever run by Python."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isakit.debug.expressions import Binary, ExpressionError, Load, NamedRegister, NumberTerm, evaluate, parse


class Nowhere:
    """A thread with two registers and a little memory."""

    def register(self, name: str) -> int:
        return {"$r1": 5, "$r2": 0xFFFFFFFF, "$r3": 0x3FC00000}[name]

    def variable(self, name: str) -> int:
        return {"lane": 3, "block.x": 7}[name]

    def memory(self, space: str, address: int, size: int) -> bytes:
        return bytes(range(address, address + size))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("$r1 == 5 && lane < 4", 1),
        ("$r2", 0xFFFFFFFF),
        ("s32($r2)", -1),
        ("f32($r3) * 2", 3.0),
        ("u8($r2)", 255),
        ("s[4]:u16", 0x0504),
        ("s[lane + 1]", 0x07060504),
        ("block.x << 4 | 1", 0x71),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("1 / 0", 0),
        ("1 << 64", 0),
        ("0x7fffffffffffffff + 1", -(1 << 63)),
        ("!0 + ~0", 0),
        ("1 || nothing_here", 1),
        ("-1 >> 60", 15),
        ("1.5 > 1", 1),
    ],
)
def test_values(text: str, value: float) -> None:
    assert evaluate(parse(text), Nowhere()) == value


@pytest.mark.parametrize(
    "text",
    ["", "1 +", "(1", "1)", "$r1 = 2", "f(1)", "s[1", "s[1]:u7", "a b", "1 ? 2 : 3", "__import__('os')", "'x'", "1;2"],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


def test_an_error_says_where() -> None:
    with pytest.raises(ExpressionError, match="character 6"):
        parse("1 == )")


def test_a_name_there_is_not_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="warp"):
        evaluate(parse("warp"), Nowhere())


def test_depth_is_bounded() -> None:
    with pytest.raises(ExpressionError):
        parse("(" * 500 + "1" + ")" * 500)


def test_length_is_bounded() -> None:
    with pytest.raises(ExpressionError):
        parse("1+" * 5000 + "1")


def test_nodes() -> None:
    assert parse("$r1 + s[2]:f32") == Binary("+", NamedRegister("$r1"), Load("s", NumberTerm(2), "f32"))


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        parse(text)
