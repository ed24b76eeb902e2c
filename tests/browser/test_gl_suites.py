"""The runner of WebGL's conformance tests on pages of our own, which report as those do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conftest import ROOT
from support.clients.browser import BROWSER

pytestmark = pytest.mark.browser
pytest.importorskip("playwright.sync_api", reason="needs playwright")

PAGE = """<script>
const h = window.webglTestHarness;
for (const [success, skipped] of %s) h.reportResults(location.pathname, success, "told " + success, skipped);
if (%s) setTimeout(() => h.notifyFinished(location.pathname), 10);
</script>"""
PAGES = {
    "fine": ("[[true, false], [false, true]]", "true", "pass"),
    "wrong": ("[[true, false], [false, false]]", "true", "fail"),
    "not_there": ("[[true, true]]", "true", "skip"),
    "endless": ("[[true, false]]", "false", "timeout"),
    "silent": ("[]", "true", "fail"),
}
"""Results, whether the page ends, and its status."""


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_pages_tell_what_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "conformance"
    folder.mkdir()
    (folder / "00_test_list.txt").write_text("".join(f"{name}.html\n" for name in PAGES))
    for name, (results, finished, _) in PAGES.items():
        (folder / f"{name}.html").write_text(PAGE % (results, finished))
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import gl_suites

    out = tmp_path / "out.jsonl"
    words = ["webgl", str(tmp_path), "-o", str(out), "--limit", "10", "--browser", str(BROWSER)]
    monkeypatch.setattr(sys, "argv", ["gl_suites.py", *words])
    gl_suites.main()
    found = {Path(n).stem: r["status"] for n, r in gl_suites.results_in(out).items()}
    assert found == {name: status for name, (_, _, status) in PAGES.items()}
    assert gl_suites.results_in(out)["conformance/wrong.html"]["details"] == "told false"
    sys.modules.pop("gl_suites")
