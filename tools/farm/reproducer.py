"""A finding as a test."""

from __future__ import annotations

import importlib.util
import pprint
import subprocess
import sys
from pathlib import Path

from pool import Finding

TEXT = '''"""Found by the farm: {campaign}, seed {seed}."""

from __future__ import annotations

from support.farm import campaign

CASE = {case}


def test_{name}_{seed}() -> None:
    """{message}"""
    campaign("{campaign}").check(CASE)
'''


def write_test(found: Finding, folder: Path) -> Path:
    """Write the test into a folder that pytest looks through."""
    folder.mkdir(parents=True, exist_ok=True)
    name = found.campaign.replace("-", "_")
    path = folder / f"test_found_{name}_{found.seed}.py"
    message = found.message.replace("\\", "/").replace('"""', "'''")[:100].rstrip('"')
    case = pprint.pformat(found.case, width=116, sort_dicts=False)
    path.write_text(TEXT.format(campaign=found.campaign, name=name, seed=found.seed, case=case, message=message))
    if importlib.util.find_spec("ruff") is not None:  # the suite checks how its files are formatted
        subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", str(path)], check=False)
    return path
