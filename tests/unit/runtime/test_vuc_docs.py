"""What the vµc pages say is what happens."""

from __future__ import annotations

import dataclasses
import re

from conftest import ROOT
from isakit.vuc import Core, Options, lint

HAZARDS = (ROOT / "docs" / "explanation" / "vuc-hazards.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "vuc.md").read_text(encoding="utf-8")


def blocks(text: str) -> list[str]:
    """The contents of code blocks that are no Python."""
    others = re.sub(r"^```python\n.*?^```$", "", text, flags=re.M | re.S)
    return re.findall(r"^```(?:vuc|text)?\n(.*?)^```$", others, re.M | re.S)


def test_worked_example() -> None:
    program, trace, findings = blocks(HAZARDS)
    core = Core("vp3")
    core.data[0x100] = 0x1234
    core.load(program)
    assert [str(c) for c in core.watch(6)] == trace.splitlines()
    assert core.data[0x200] == 0
    assert [str(f) for f in lint(program)] == findings.splitlines()


def test_every_option_is_in_the_table_with_its_default() -> None:
    rows = dict(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]+) \|", REFERENCE, re.MULTILINE))
    defaults = {}
    for names, values in rows.items():
        pieces = values.split(", ") if "," in names else [values]
        for name, value in zip(re.findall(r"\w+", names), pieces, strict=False):
            defaults[name] = value.strip()
    for field in dataclasses.fields(Options):
        value = getattr(Options(), field.name)
        shown = defaults[field.name]
        if isinstance(value, frozenset):
            assert value == set(shown.split(", "))
        else:
            assert shown == str(value), field.name
