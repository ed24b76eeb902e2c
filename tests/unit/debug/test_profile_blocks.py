"""Counts by basic block, and the profiler's page as a browser shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import ROOT
from isakit.debug.profile import Profile, profile
from support.clients.browser import BROWSER, document, text_of
from support.clients.command_line import run
from support.runners.debugging import diverging


def diverge() -> Profile:
    session = diverging()
    return profile(session.execution.given, "diverge", labels=session.labels)  # type: ignore[attr-defined]


def test_blocks_hold_every_executed_instruction_once() -> None:
    p = diverge()
    assert sum(b.instructions for b in p.blocks) == p.counters["instructions"]
    assert sum(b.lanes for b in p.blocks) == p.counters["thread_instructions"]
    assert sum(b.divergent for b in p.blocks) == p.counters["divergent_branch"] == 2


def test_blocks_are_counted_as_by_hand() -> None:
    blocks = {b.name: b for b in diverge().blocks}
    twice = blocks["twice"]
    # Two warps call it once each, with the 16 lanes whose number has bit 4 clear, and execute `add` and `ret`.
    assert (twice.entered, twice.instructions, twice.lanes, twice.possible) == (2, 4, 64, 128)
    assert blocks["met"].moved == 256


def test_the_command_shows_blocks_in_its_table_and_as_json() -> None:
    launch = (str(ROOT / "examples/tesla/diverge.s"), "--block", "64", "--arg", "zeros:i32:64")
    lines = run("profile", *launch).stdout.splitlines()
    assert any(re.fullmatch(r" +2 +4 +50% .* 0070-0080 twice", line) for line in lines), lines
    assert '"blocks"' in run("profile", *launch, "--json").stdout


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_a_browser_shows_a_row_per_instruction_block_counter_and_chip(tmp_path: Path) -> None:
    page = tmp_path / "profile.html"
    run(
        "profile", str(ROOT / "examples/tesla/diverge.s"), "--block", "64", "--arg", "zeros:i32:64", "--html", str(page)
    )
    html = document(page)
    p = diverge()
    assert html.count("<tr>") == 3 + len(p.lines) + len(p.blocks) + len(p.counters) + len(p.occupancies)
    cells = text_of(html, "td", 'class="code"')
    assert all(any(x.text in c for c in cells) for x in p)
    hottest = max(x.executions for x in p)
    assert html.count("rgba(220, 60, 30, 0.6)") + html.count("rgba(220,60,30,0.60)") >= sum(
        x.executions == hottest for x in p
    )
