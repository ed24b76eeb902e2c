"""A browser without a window, for pages that are to be looked at."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

from support.patience import PATIENCE

BROWSER = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)


def document(page: Path, fragment: str = "") -> str:
    """The document as it is after the page's scripts have run."""
    assert BROWSER is not None
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom",
         f"--user-data-dir={page.parent / 'profile'}", f"{page.as_uri()}#{fragment}"],
        capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    return done.stdout


def watched_page(chromium: Any) -> Any:
    """A new page of Playwright's: `problems` are what its scripts complain of, `asked` the addresses that it loads."""
    made = chromium.new_context(viewport={"width": 1400, "height": 900}).new_page()
    made.problems, made.asked = [], []
    made.on("pageerror", lambda e: made.problems.append(str(e)))
    made.on("console", lambda m: made.problems.append(m.text) if m.type == "error" else None)
    made.context.on("request", lambda r: made.asked.append(r.url))
    return made


def text_of(html: str, tag: str, about: str) -> list[str]:
    """The texts of the elements of a tag whose start tag holds `about`; elements inside are left out of them."""
    found = re.findall(rf"<{tag}\b[^>]*{about}[^>]*>(.*?)</{tag}>", html, re.DOTALL)
    return [unescape(re.sub(r"<[^>]*>", "", x)) for x in found]
