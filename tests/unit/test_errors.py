"""Messages: what they suggest."""

from __future__ import annotations

import pytest

from isakit.errors import did_you_mean


@pytest.mark.parametrize(
    ("name", "notes"),
    [
        ("ad", ("did you mean `add`?",)),
        ("mvo", ("did you mean `mov`?",)),
        ("xyzzy", ()),
        ("", ()),
    ],
)
def test_a_close_name_is_suggested(name: str, notes: tuple[str, ...]) -> None:
    assert did_you_mean(name, ["add", "mov", "exit"]) == notes


def test_at_most_three_names_are_suggested_the_closest_first() -> None:
    assert did_you_mean("add1", ["add2", "add1x", "add3", "add4"]) == ("did you mean `add1x` or `add4` or `add3`?",)


def test_very_long_names_are_not_compared() -> None:
    assert did_you_mean("a" * 40, ["a" * 40])
    assert not did_you_mean("a" * 41, ["a" * 41])
