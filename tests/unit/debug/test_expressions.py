"""The expressions of conditions: what texts mean, what is refused, and that nothing is ever run by Python."""

from __future__ import annotations

import contextlib
import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isakit.debug.expression_values import condition, evaluate, value_of
from isakit.debug.expressions import Binary, ExpressionError, Load, NamedRegister, NumberTerm, parse
from isakit.engine.reference import evaluate as values_of
from isakit.errors import LaunchError, NotModelled
from isakit.sem.value import Value, param


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
        ("$r1 == 5 and lane < 4", 1),
        ("$r1 > 5 and lane == 3 or block.x == 7", 1),
        ("not $r1 == 6", 1),
        ("!$r1 == 0", 1),
        ("not $r1 == 5 or not lane == 3", 0),
        ("not (1 and 0) and not not 2", 1),
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
    assert condition(parse(text))(Nowhere()) == bool(value)


@pytest.mark.parametrize(
    "text", ["0 && nothing_here", "1 || s[nothing_here]", "!(0 && nothing_here)", "(1 || $r9) + 0"]
)
def test_a_condition_asks_for_no_more_than_it_needs(text: str) -> None:
    assert condition(parse(text))(Nowhere()) == bool(evaluate(parse(text), Nowhere()))


def test_a_condition_raises_for_a_name_there_is_not() -> None:
    with pytest.raises(ExpressionError, match="warp"):
        condition(parse("warp == 3 || 1"))(Nowhere())


LEAVES = (
    "$r1",
    "$r2",
    "lane",
    "block.x",
    "3",
    "0x80000000",
    "-1",
    "s[lane + 1]:s16",
    "s8($r2)",
    "0",
    "1.5",
    "f32($r3)",
)
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "&&", "||")


@given(st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda t: f"({' '.join(t)})"),
                            st.tuples(st.sampled_from("-~!"), inner).map("".join))))  # fmt: skip
def test_conditions_are_true_where_values_are_not_zero(text: str) -> None:
    assert condition(parse(text))(Nowhere()) == (evaluate(parse(text), Nowhere()) != 0)


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


class Unknown:
    """Memory whose content is not known when the value of an expression is made."""

    def register(self, name: str) -> Value:
        raise AssertionError(name)

    variable = register

    def memory(self, space: str, address: Value, size: int) -> Value:
        return param(space, 8 * size)


class Known(Nowhere):
    """The same memory, with content."""

    def __init__(self, content: dict[str, int]) -> None:
        self.content = content

    def memory(self, space: str, address: int, size: int) -> bytes:
        return self.content[space].to_bytes(size, "little")


EDGES = (
    0,
    1,
    1 << 63,
    (1 << 63) - 1,
    (1 << 64) - 1,
    0x7FF0 << 48,
    0x3FF0 << 48,
    0x43E0 << 48,
    0x4330 << 48 | 1,
    0xFFF8 << 48,
)
NUMBERS = st.one_of(st.integers(0, (1 << 64) - 1), st.sampled_from(EDGES))


@given(
    NUMBERS,
    NUMBERS,
    st.sampled_from(["f64", "s64", "f32", "f16"]),
    st.sampled_from(["f64", "u64", "s32", "f32"]),
    st.sampled_from(["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^", "<<", ">>", "&&", "||"]),
    st.sampled_from(["{}", "s32({})", "-({})", "!({})", "~({})"]),
)
def test_values_that_fold_are_those_that_an_engine_computes(
    a: int, b: int, first: str, second: str, operator: str, around: str
) -> None:
    content = {"s": a & (1 << int(first[1:])) - 1, "c0": b & (1 << int(second[1:])) - 1}
    node = parse(around.format(f"s[0]:{first} {operator} c0[0]:{second}"))
    try:
        made = value_of(node, Unknown())
    except NotModelled:
        assert operator in "/%"
        return
    (bits,) = values_of([made.bits], content, "scalar")
    known = evaluate(node, Known(content))
    got = struct.unpack("<d" if made.real else "<q", bits.to_bytes(8, "little"))[0]
    assert type(got) is type(known)
    assert got == known or (math.isnan(got) and math.isnan(known))


class Ending(Nowhere):
    """Memory that has an end, as that of every machine."""

    def memory(self, space: str, address: int, size: int) -> bytes:
        if address + size > 0x100:
            raise LaunchError(f"{space}: outside")
        return super().memory(space, address, size)


@pytest.mark.parametrize("address", ["1 << 40", "(1 << 40) + 4", "0 - 4", "1 << 63", "0x100"])
def test_an_address_past_the_last_one_is_outside_and_not_counted_from_zero(address: str) -> None:
    node = parse(f"s[{address}] == 0x3020100")
    with pytest.raises(LaunchError, match="outside"):
        evaluate(node, Ending())
    with pytest.raises(LaunchError, match="outside"):
        condition(node)(Ending())
