"""The pages as axe-core judges them, with a server and without: no violation, whatever is open.

axe-core is a package of npm, which is looked for in NODE_PATH; the tests are skipped where it is not there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.browser.test_static import FOLDER, address  # noqa: F401  (a fixture)
from tests.browser.test_workbench import chromium, lesson, noted, opened, running, until  # noqa: F401  (fixtures)

import isakit
from isakit.programs import write
from isakit.web import lessons
from support.patience import PATIENCE
from support.runners.gl import CAPTURES

FOLDERS = [Path(p, "axe-core", "axe.min.js") for p in os.environ.get("NODE_PATH", "").split(os.pathsep) if p]
AXE = next((p for p in FOLDERS if p.is_file()), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.node,
    pytest.mark.skipif(AXE is None, reason="NODE_PATH names no folder with axe-core"),
]
IDLE = "document.body.dataset.busy !== 'yes'"
STATIC = pytest.param("static", marks=pytest.mark.skipif(not FOLDER, reason="ISAKIT_PYODIDE names no folder"))


@dataclass(frozen=True)
class Site:
    """Where a workbench is, and whether a server stands behind it."""

    url: str
    served: bool


@pytest.fixture(scope="module", params=["server", STATIC])
def site(request: pytest.FixtureRequest) -> Site:
    """Both kinds of workbench."""
    if request.param == "server":
        return Site(request.getfixturevalue("running").url, served=True)
    return Site(request.getfixturevalue("address"), served=False)


def violations(page: Any) -> list[Any]:
    """What axe-core finds: rules with the first element each."""
    assert AXE is not None
    # The page's policy lets no script in: the browser's own tools put it there.
    page.context.new_cdp_session(page).send("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
    until(page, IDLE)
    return page.evaluate("""async () => {
        const {violations} = await axe.run(document, {resultTypes: ["violations"]});
        return violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)]);
    }""")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 900, 1500])
def test_a_page_that_is_opened(chromium: Any, site: Site, width: int, scheme: str) -> None:  # noqa: F811
    page = opened(chromium, site, size=(width, 900), color_scheme=scheme)
    assert violations(page) == []
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_views_of_a_kernel_that_is_stepped(chromium: Any, site: Site, scheme: str) -> None:  # noqa: F811
    page = opened(chromium, site, size=(1500, 900), color_scheme=scheme)
    page.click("#tab-lanes")
    page.click("#launch")
    page.wait_for_selector("#view-lanes .matrix")
    page.click("[data-move=step]")
    page.click("#line-3 .text")
    found = {}
    for name in ("bits", "graph", "grid", "registers", "stack", "memory", "arrays", "access", "stops", "profile",
                 "compare", "manual"):  # fmt: skip
        page.click(f"#tab-{name}")
        until(page, IDLE)
        if name == "manual":
            page.fill("#view-manual input", "add")
            page.press("#view-manual input", "Enter")
            page.wait_for_selector("#view-manual h2")
        found[name] = violations(page)
    page.click("#panes")
    found["panes"] = violations(page)
    assert {name: f for name, f in found.items() if f} == {}
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["12-vuc-delay-slot", "13-usse-swizzle", "15-pixel", "14-python"])
def test_lessons_with_views_of_their_own(chromium: Any, site: Site, name: str, scheme: str) -> None:  # noqa: F811
    page = opened(chromium, site, size=(1500, 900), color_scheme=scheme)
    if name == "14-python" and not site.served:
        page.click(f"#lessons [data-lesson='{name}']")
        until(page, "document.getElementById('status').textContent.includes('llvmlite')")
    else:
        lesson(page, name)
    if name != "15-pixel":
        page.click("#launch")
        until(page, IDLE)
    if name == "14-python" and site.served:
        page.click("#tab-ptx")
    assert violations(page) == []
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_notes_of_a_file_and_a_shader_as_glsl(chromium: Any, site: Site, scheme: str, tmp_path: Path) -> None:  # noqa: F811
    page = opened(chromium, site, size=(1500, 900), color_scheme=scheme)
    files = {"lost.cubin": "elf", "tint.gxp": "gxp"}
    for name, kind in files.items():
        source = {"elf": lessons.lesson("02-divergence")["source"], "gxp": SHADER}[kind]
        text = isakit.isa("usse" if kind == "gxp" else "tesla").assemble(source)
        (tmp_path / name).write_bytes(write(text, kind))
        page.set_input_files("#file", str(tmp_path / name))
        page.wait_for_selector(f"#programs button:has-text('{name}')", timeout=1000 * PATIENCE)
        page.click("#tab-notes")
        page.click("#line-1")
        noted(page, "F2", "start")
        noted(page, ";", "what comes now")
        noted(page, "m", "here")
        page.wait_for_selector("#view-notes td:has-text('here')", timeout=1000 * PATIENCE)
        assert violations(page) == []
        page.press("#listing", ";")
        assert violations(page) == []
        page.keyboard.press("Escape")
    page.click("#tab-glsl")
    page.wait_for_selector("#view-glsl pre", timeout=1000 * PATIENCE)
    assert violations(page) == []
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_exercise_that_is_checked_and_what_is_told(chromium: Any, site: Site, scheme: str) -> None:  # noqa: F811
    page = opened(chromium, site, size=(1500, 900), color_scheme=scheme)
    page.click("#exercises [data-lesson='exercise-race']")
    page.wait_for_selector("#check", timeout=1000 * PATIENCE)
    until(page, IDLE)
    page.click("#hint")
    page.click("#check")
    page.wait_for_selector("#task .verdicts li", timeout=1000 * PATIENCE)
    assert violations(page) == []
    for name in ("share", "help"):
        page.click(f"#{name}")
        assert violations(page) == []
        page.keyboard.press("Escape")
    page.fill("#editor .cm-content", "add b32 $r1 $r999 $r2\n")
    page.wait_for_selector("#errors summary", timeout=1000 * PATIENCE)
    assert page.is_visible("#stale")
    assert violations(page) == []
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1500])
def test_a_captured_frame_taken_apart(chromium: Any, site: Site, width: int, scheme: str) -> None:  # noqa: F811
    page = opened(chromium, site, size=(width, 900), color_scheme=scheme)
    page.set_input_files("#file", str(CAPTURES / "gears-a0.glc"))
    page.wait_for_selector("#view-picture img", timeout=1000 * PATIENCE)
    page.click("#view-picture summary:has-text('All 3 draws')")
    page.click("#view-picture button:has-text('Vertices, mesh, buffers')")
    page.wait_for_selector("#view-picture summary:has-text('Mesh: ')", timeout=1000 * PATIENCE)
    for part in ("vertex program: a[]", "Mesh: ", "vertex program: c0[]", "target 0", "depth, "):
        page.click(f"#view-picture summary:has-text('{part}')")
    assert violations(page) == []
    page.context.close()


SHADER = (Path(__file__).parents[2] / "examples" / "usse" / "tint.s").read_text(encoding="utf-8")
