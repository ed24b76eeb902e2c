"""What notebooks and prompts show of sessions, machines, warps, profiles and records."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import isakit
from isakit.arch.tesla import tesla
from isakit.debug.profile import profile
from support.runners import debugging
from support.runners.debugging import diverging

_VOID = {"br", "hr", "meta"}


class Balanced(HTMLParser):
    """Counts rows, and raises for tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows = 0
        self.text = ""
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.rows += tag == "tr"
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("make", [debugging.tesla, debugging.usse, debugging.vuc])
def test_sessions_and_machines_show_themselves_as_tables(make: object) -> None:
    session = make(2)  # type: ignore[operator]
    session.step(3)
    assert Balanced(session._repr_html_()).rows >= 4
    m = session.target.machine if session.target.isa != "vuc" else session.target.core
    shown = Balanced(m._repr_html_())
    assert shown.rows >= 1
    assert session.target.isa in shown.text


def test_a_warp_shows_the_registers_of_its_lanes() -> None:
    session = diverging()
    session.step(2)
    shown = Balanced(session.execution.machine.warps[0]._repr_html_())  # type: ignore[attr-defined]
    assert "#" * 32 in shown.text.replace("\n", "")
    assert "$r1" in shown.text
    assert "1f" in shown.text


def test_a_machine_that_stands_shows_who_is_active() -> None:
    session = diverging()
    session.until("low")
    shown = Balanced(session.execution.machine._repr_html_()).text  # type: ignore[attr-defined]
    assert "#" * 16 + "." * 16 in shown


def test_a_profile_is_a_table_with_a_row_per_instruction() -> None:
    session = diverging()
    p = profile(session.execution.given, "diverge")  # type: ignore[attr-defined]
    assert Balanced(p._repr_html_()).rows == 1 + len(p.lines)


def test_a_usse_machine_without_a_program_says_so() -> None:
    from isakit.machine.usse import Machine

    assert "no program" in Machine(4)._repr_html_()


@pytest.mark.parametrize("isa", ["tesla", "vuc", "usse"])
def test_records_forms_views_and_instruction_sets_are_one_short_line(isa: str) -> None:
    found = isakit.isa(isa)
    for what in (*found.instructions, *found.instructions[0].forms, found.records, found.instruction_view
                 if hasattr(found, "instruction_view") else tesla):  # fmt: skip
        assert "\n" not in repr(what)
        assert len(repr(what)) < 500
        assert " at 0x" not in repr(what)
