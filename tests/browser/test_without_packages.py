"""The workbench where it was built without the packages of npm: a text field, our own layout of graphs, split panes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.test_workbench import chromium, lesson, running, until  # noqa: F401  (fixtures)

from support.clients.browser import watched_page

pytestmark = pytest.mark.browser


@pytest.fixture
def page(chromium: Any, running: Any) -> Iterator[Any]:  # noqa: F811
    made = watched_page(chromium)

    def without(route: Any) -> None:
        answer = route.fetch()
        html = answer.text().replace('<link rel="stylesheet" href="vendor/dockview.css">\n', "")
        html = html.replace('data-packages="codemirror dagre dockview"', 'data-packages=""')
        assert 'data-packages=""' in html
        route.fulfill(response=answer, body=html)

    made.route(running.url, without)
    made.goto(running.url)
    made.wait_for_selector("body[data-ready]", timeout=60_000)
    yield made
    assert made.problems == []
    assert not any("vendor" in url for url in made.asked)
    made.context.close()


def test_a_text_is_written_assembled_and_stepped(page: Any) -> None:
    lesson(page, "01-first-kernel")
    field = page.locator("#editor textarea")
    assert ".kernel" in field.input_value()
    field.fill("mov b32 $r1 $r2\nadd b32 $r1 $r999 $r2\n")
    until(page, "document.getElementById('verdict').textContent === '1 error'")
    assert page.locator("#editor .bars .wrong").count() == 1
    page.click("#errors button")
    assert page.evaluate("document.activeElement.selectionStart") == len("mov b32 $r1 $r2\n")
    field.fill(".kernel k\n    mov b32 $r1 0x5\n    exit nop\n")
    until(page, "document.getElementById('verdict').textContent === 'assembles'")
    page.click("#launch")
    page.click("[data-move=step]")
    until(page, "document.querySelector('#listing .row.here .text')?.textContent.includes('exit')")
    assert page.locator("#editor .bars .linked").count() == 1


def test_the_graph_is_drawn_by_the_layout_of_ours(page: Any) -> None:
    lesson(page, "02-divergence")
    page.click("#tab-graph")
    page.wait_for_selector("#view-graph .node")
    blocks = "[...document.querySelectorAll('#view-graph .node rect')]"
    tops = page.evaluate(f"{blocks}.map(r => Number(r.getAttribute('y')))")
    assert len(tops) >= 5
    assert tops[0] == min(tops)
    page.click("#view-graph .node >> nth=2")
    page.wait_for_selector("#listing .row.selected")


def test_panes_are_split_and_widened_and_the_parts_have_names(page: Any) -> None:
    lesson(page, "01-first-kernel")
    tree = page.locator("body").aria_snapshot()
    for part in ('region "Source text"', 'region "Machine code"', 'region "Views"', 'tablist "Views"'):
        assert part in tree, part
    page.click("#panes")
    for title in ("Lanes", "Memory"):
        page.check(f"#dialog label:has-text('{title}') input")
    page.click("#dialog form button")
    assert page.locator("#view-lanes, #view-memory, #view-registers").filter(visible=True).count() == 3
    width = page.evaluate("document.getElementById('write').offsetWidth")
    page.focus("[role=separator][aria-label='Width of Source text']")
    page.keyboard.press("ArrowRight")
    until(page, f"document.getElementById('write').offsetWidth > {width}")
    page.click("[aria-label='Close Memory']")
    assert not page.locator("#view-memory").is_visible()
