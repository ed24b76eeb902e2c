"""Records: their JSON, its schema and tables follow from the fields."""

from __future__ import annotations

import re
from dataclasses import field
from enum import StrEnum
from typing import Any, Literal

import pytest

from isakit.results import OMITTED, Omitted, Output, column, hidden, mismatches, plain, read, record, schema_of, table
from support.oracles.json_schemas import problems


class Colour(StrEnum):
    RED = "red"


@record
class Inner:
    number: int
    note: str | Omitted = OMITTED


@record
class Outer:
    name: str | None
    inner: list[Inner | None]
    sizes: dict[int, float]
    colour: Colour
    data: bytes
    spaces: set[str]
    word: Literal["a", "b"]
    free: Any
    secret: int = hidden(default=3)


VALUE = Outer(
    None, [Inner(1), None, Inner(2, "x")], {4: 0.5}, Colour.RED, b"\x01\xff", {"s", "g"}, "a", [1, {"k": (2,)}]
)


def test_a_record_becomes_plain_data_without_what_is_hidden_or_omitted() -> None:
    assert plain(VALUE) == {
        "name": None, "inner": [{"number": 1}, None, {"number": 2, "note": "x"}], "sizes": {"4": 0.5}, "colour": "red",
        "data": "01ff", "spaces": ["g", "s"], "word": "a", "free": [1, {"k": [2]}],
    }  # fmt: skip


def test_the_plain_data_is_as_the_schema_says_and_nothing_else_is() -> None:
    schema = Output("verb", 2, lambda: Outer).schema()
    assert schema["$id"] == "isakit-verb-2"
    assert list(problems(plain(VALUE), schema, open_=False)) == []
    wrong = {**plain(VALUE), "inner": [{"note": "x"}], "sizes": {"4": "much"}, "colour": "blue"}
    assert len(list(problems(wrong, schema))) == 3
    assert "$ lacks word" in problems({k: v for k, v in plain(VALUE).items() if k != "word"}, schema)


def test_a_key_that_may_be_missing_is_not_required() -> None:
    assert schema_of(Inner)["required"] == ["number"]
    assert schema_of(Inner)["properties"]["note"] == {"type": "string"}


def test_a_type_without_json_is_refused_when_the_schema_is_made() -> None:
    with pytest.raises(TypeError, match="has no JSON schema"):
        schema_of(list[complex])


def test_a_table_has_a_head_and_fits_its_cells() -> None:
    @record
    class Row:
        name: str = column("kernel")
        count: int = column("executed", ">", str)
        other: int = 0

    rows = [Row("saxpy", 12), Row("k", 3456)]
    assert table(Row, rows, fit=True) == ["kernel  executed", "saxpy         12", "k           3456"]
    assert table(Row, []) == ["kernel  executed"]


@record
class Box:
    labels: dict[int, str]
    parts: list[Inner] = field(default_factory=list[Inner])
    limit: float | None = None


def test_what_plain_data_describe_is_read_back() -> None:
    box = Box({8: "a"}, [Inner(1), Inner(2)], 0.5)
    assert read(Box, plain(box)) == box
    assert read(Box, {"labels": {"0x8": "a"}}) == Box({8: "a"})


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([], ["the whole: an object is expected"]),
        ({}, ["labels: missing"]),
        ({"labels": {"x": "a"}}, ["labels.x: a number is expected as key"]),
        ({"labels": {}, "parts": [{"number": True}]}, ["parts[0].number: a whole number is expected"]),
        ({"labels": {}, "parts": [{}, 3]}, ["parts[0].number: missing", "parts[1]: an object is expected"]),
        ({"labels": {}, "limit": "x"}, ["limit: a number or null is expected"]),
        ({"labels": {}, "part": []}, ["part: not known here; did you mean `parts`?"]),
    ],
)
def test_every_place_that_does_not_fit_is_named(value: object, says: list[str]) -> None:
    assert [str(m) for m in mismatches(Box, value)] == says
    with pytest.raises(ValueError, match=re.escape(says[0])):
        read(Box, value)


def test_tables_of_keys_are_types_too() -> None:
    table = {"sizes": [int | None], "programs": {"*": {"words": [str | int]}}, "free": object}
    assert list(mismatches(table, {"sizes": [1, None], "programs": {"a": {"words": ["x", 1]}}, "free": {}})) == []
    assert [str(m) for m in mismatches(table, {"sizes": [0.5], "programs": {"a": {"words": 1}}})] == [
        "sizes[0]: a whole number or null is expected",
        "programs.a.words: a list is expected",
    ]
