from __future__ import annotations

import pytest

from isakit.asm.source import Source


def texts(source: str) -> list[str]:
    return [s.text for s in Source(source).statements()]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("nop // comment", ["nop"]),
        ("# comment\n  # comment\nnop", ["nop"]),
        ("nop; nop ;; nop;", ["nop", "nop", "nop"]),
        ("a /* x */ b", ["a         b"]),
        ("a /* x\n y\n z */ b", ["a", "b"]),
        ("/* // */ a // /* b\nc", ["a", "c"]),
        ("a /* ; */ ; b", ["a", "b"]),
        ("add $r0 # $r1", ["add $r0 # $r1"]),
        ("", []),
        ("\r\n nop\r\n", ["nop"]),
        ("/**/ a /***/", ["a"]),
    ],
)
def test_comments_and_separators(source: str, expected: list[str]) -> None:
    assert texts(source) == expected


def test_labels_and_assignments_keep_their_places() -> None:
    first, second = Source("  a: b: nop\n size = 4 + 4").statements()
    assert [(name, p.line, p.column) for name, p in first.labels] == [("a", 1, 2), ("b", 1, 5)]
    assert (first.text, first.column) == ("nop", 8)
    assert (second.assigned, second.text, second.line, second.column) == ("size", "4 + 4", 2, 8)


def test_a_comment_that_does_not_end_is_an_error_at_its_start() -> None:
    source = Source("nop\n nop /* oh\nnop")
    source.statements()
    (d,) = source.diagnostics
    assert (d.line, d.column) == (2, 6)


def test_columns_stay_true_behind_comments() -> None:
    (statement,) = Source("/* x */ nop").statements()
    assert statement.column == 8


def test_very_long_lines_are_shown_in_part() -> None:
    source = Source("nop " * 50_000)
    d = source.diagnostic(source.statements()[0].place(), "message")
    assert len(str(d)) < 400
