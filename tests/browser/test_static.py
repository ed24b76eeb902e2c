"""The workbench as static files in a real browser: no server of ours, isakit in the page itself.

Needs Chromium, playwright, and a folder with what `npm pack` gives for the two packages of `isakit.web.site`, named by
the environment variable ISAKIT_PYODIDE.
"""

from __future__ import annotations

import functools
import http.server
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.test_workbench import chromium, dropped, noted, until  # noqa: F401  (a fixture)

import isakit
from isakit.course.given import lost
from isakit.programs import write
from isakit.web.addresses import fragments_of_example
from isakit.web.site import ARCHIVES, write_site
from support.clients.browser import watched_page
from support.clients.captured_launch import captured_launch
from support.runners.gl import CAPTURES

FOLDER = os.environ.get("ISAKIT_PYODIDE", "")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not FOLDER, reason=f"ISAKIT_PYODIDE names no folder with {', '.join(ARCHIVES)}"),
]


DOCS = Path(__file__).parents[2] / "docs"
IDLE = "() => document.body.dataset.busy !== 'yes'"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A plain file server."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    out = tmp_path_factory.mktemp("static") / "site"
    site = write_site(out, Path(FOLDER))
    assert site.uncompiled == ""
    assert site.bytes < 25e6
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(out))) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}/"
        served.shutdown()


@pytest.fixture
def page(chromium: Any, address: str) -> Iterator[Any]:  # noqa: F811
    made = watched_page(chromium)
    made.goto(address)
    made.wait_for_selector("body[data-ready]", timeout=300_000)
    yield made
    assert made.problems == []
    assert all(url.startswith((address, "blob:", "data:")) for url in made.asked)
    made.context.close()


def test_a_lesson_is_stepped_both_ways_without_a_request(page: Any) -> None:
    page.asked.clear()
    page.context.set_offline(True)
    page.click("#launch")
    until(page, IDLE, seconds=300)
    for key in ("s", "s", "b", "s"):
        page.keyboard.press(key)
        until(page, IDLE, seconds=300)
    assert page.inner_text("#verdict") == "assembles"
    assert page.asked == []


def test_what_needs_a_compiler_says_so(page: Any) -> None:
    page.click("#lessons [data-lesson='14-python']")
    until(page, "() => document.getElementById('status').textContent.includes('llvmlite')", seconds=300)


def test_an_endless_program_is_ended_and_the_page_goes_on(page: Any) -> None:
    page.click("#lessons [data-lesson='03-mandelbrot']")
    page.wait_for_selector("body[data-lesson='03-mandelbrot']", timeout=300_000)
    page.click("#launch")
    until(page, IDLE, seconds=300)
    page.keyboard.press("c")
    page.wait_for_timeout(500)
    page.keyboard.press("Escape")
    until(page, "() => document.getElementById('status').textContent.includes('interrupted')", seconds=60)
    page.click("#lessons [data-lesson='02-divergence']")
    page.wait_for_selector("body[data-lesson='02-divergence']", timeout=300_000)
    assert page.inner_text("#verdict") == "assembles"


def test_a_scene_is_drawn_and_a_pixel_of_it_stepped(page: Any) -> None:
    page.click("#lessons [data-lesson='15-pixel']")
    page.click("#tab-picture", timeout=300_000)
    page.wait_for_selector("#view-picture img", timeout=300_000)
    page.wait_for_timeout(500)  # it is drawn again when the view opens
    box = page.locator("#view-picture img").bounding_box()
    page.locator("#view-picture img").click(position={"x": box["width"] / 2, "y": box["height"] * 0.6})
    page.wait_for_selector("#view-picture li:has-text('the pixel became')", timeout=300_000)


@pytest.mark.parametrize("name", ["race", "pixel", "pipeline", "coalesce"])
def test_an_exercise_is_checked_in_the_page(page: Any, name: str) -> None:
    page.click(f"#exercises [data-lesson='exercise-{name}']")
    page.wait_for_selector("#check", timeout=300_000)
    until(page, IDLE, seconds=300)
    page.click("#check")
    until(page, "() => document.querySelector('#task .verdicts .bad') !== null", seconds=300)
    assert page.locator("#task .verdicts .good").count() >= 1


@pytest.mark.parametrize("name", ["shader", "lost", "patch", "driver"])
def test_an_exercise_that_is_no_assembly_text_is_solved_in_the_page(page: Any, name: str) -> None:
    (answer,) = (DOCS / "teaching" / "answers" / name).iterdir()
    page.click(f"#exercises [data-lesson='exercise-{name}']")
    page.wait_for_selector("#check", timeout=300_000)
    until(page, IDLE, seconds=300)
    shown = {"shader": "#view-invocations", "lost": "#listing :text('0x9e3779b9')", "patch": "#listing :text('0x64')",
             "driver": "#view-picture img"}[name]  # fmt: skip
    page.wait_for_selector(shown, timeout=300_000)
    page.fill("#editor .cm-content", answer.read_text(encoding="utf-8"))
    page.click("#check")
    page.wait_for_selector("#task .verdicts .good", timeout=300_000)
    assert page.locator("#task .verdicts .bad").count() == 0


def test_notes_are_kept_of_a_file_and_a_shader_is_told_in_them(page: Any, tmp_path: Path) -> None:
    source = (Path(__file__).parents[2] / "examples" / "usse" / "tint.s").read_text(encoding="utf-8")
    (tmp_path / "tint.gxp").write_bytes(write(isakit.isa("usse").assemble(source), "gxp"))
    page.set_input_files("#file", str(tmp_path / "tint.gxp"))
    page.wait_for_selector("#programs button:has-text('tint.gxp')", timeout=300_000)
    page.click("#line-1")
    noted(page, ";", "unpacks")
    page.wait_for_selector("#line-1 .comment:has-text('unpacks')", timeout=300_000)
    page.click("#tab-notes")
    page.fill("#view-notes [aria-label='Name for tint']", "colour")
    page.press("#view-notes [aria-label='Name for tint']", "Tab")
    page.click("#tab-glsl")
    page.wait_for_selector("#view-glsl pre:has-text('uniform vec4 colour')", timeout=300_000)


def test_what_is_shared_is_an_address_that_anybody_can_open(page: Any, chromium: Any) -> None:  # noqa: F811
    page.click("#share")
    shared = page.input_value("#dialog textarea")
    page.click("#dialog form button")
    other = watched_page(chromium)
    other.goto(shared)
    other.wait_for_selector("body[data-ready]", timeout=300_000)
    assert other.inner_text("#verdict") == "assembles"
    other.context.close()


EXAMPLES = [
    pytest.param(opens, id=f"{path.stem}-{k}")
    for path in sorted(DOCS.rglob("*.md"))
    if "generated" not in path.parts
    for k, block in enumerate(re.findall(r"^```(\w+)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S))
    for opens in fragments_of_example(*block)
]


@pytest.mark.parametrize("opens", EXAMPLES)
def test_an_example_of_the_documentation_is_run(chromium: Any, address: str, opens: str) -> None:  # noqa: F811
    page = watched_page(chromium)
    page.goto(f"{address}#{opens}")
    page.wait_for_selector("body[data-ready]", timeout=300_000)
    assert page.inner_text("#verdict") == "assembles"
    assert page.locator("#listing .row").count() > 0
    page.click("#launch")
    until(page, "() => !['', 'launching …'].includes(document.getElementById('status').textContent)", seconds=300)
    assert "internal" not in page.inner_text("#status")
    assert page.problems == []
    page.context.close()


def test_a_dropped_file_with_large_numbers_is_launched(page: Any, tmp_path: Path) -> None:
    """Bounds of its numbers need 64 bits; NumPy's usual integers have 32 here."""
    (tmp_path / "lost.cubin").write_bytes(write(lost(), "elf"))
    page.set_input_files("#file", str(tmp_path / "lost.cubin"))
    page.wait_for_selector("#programs button:has-text('lost.cubin')", timeout=300_000)
    until(page, IDLE, seconds=300)
    page.click("#launch")
    page.wait_for_selector("#listing .row.here", timeout=300_000)


def test_a_captured_frame_is_drawn_and_a_pixel_of_it_stepped(page: Any) -> None:
    """There are no files without a name here, which stand for a card's memory elsewhere."""
    page.set_input_files("#file", str(CAPTURES / "gears-a0.glc"))
    page.wait_for_selector("#view-picture img", timeout=300_000)
    page.locator("#view-picture img").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#view-picture ol button", timeout=300_000)
    page.click("[data-move=step]")
    until(page, "() => document.getElementById('status').textContent.includes('after 1 step')", seconds=300)


def test_a_dropped_folder_of_captured_launches_is_stepped(page: Any, tmp_path: Path) -> None:
    for path, data in captured_launch().items():
        file = tmp_path / "launches-of-saxpy" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    dropped(page, tmp_path / "launches-of-saxpy")
    page.wait_for_selector("#programs button:has-text('1: saxpy')", timeout=300_000)
    page.click("#launch")
    page.wait_for_selector("#listing .row.here", timeout=300_000)
    page.click("[data-move=cont]")
    until(page, "() => document.getElementById('status').textContent.includes('has ended')", seconds=300)
