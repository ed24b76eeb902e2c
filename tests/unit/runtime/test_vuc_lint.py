"""The static look at vµc programs."""

from __future__ import annotations

import pytest

from isakit.vuc import Core, Hazard, lint

END = "\nend: bra #end\nnop"


def kinds(text: str, variant: str = "vp4") -> list[tuple[int, str, bool]]:
    return [(f.address, f.kind, f.certain) for f in lint(text + END, variant)]


@pytest.mark.parametrize(
    ("text", "fillers"),
    [
        ("ld $r1 D[0x0]\n{}add $r2 $r1 0x1", 2),
        ("ld $r1 D[0x0]\n{}st D[$r1] $r2", 2),
        ("mov $qpc $r1\n{}or $r2 $qpc 0x0", 1),
        ("mov $spidx $r1\n{}or $r2 $mvxl0 0x0", 1),
        ("mov $pred $r1\n{}$p2 add $r2 $r1 0x1", 1),
        ("mov $llo $r1\n{}lsrr 0x1", 1),
        ("lmulu $r1 $r1\n{}or $r2 $llo 0x0", 3),
        ("lmulu $r1 $r1\n{}lsrr 0x1", 2),
        ("lsrr 0x1\n{}or $r2 $lhi 0x0", 1),
        ("ldivu $r1\n{}or $r2 $llo 0x0", 34),
        ("mbiread\n{}or $r2 $mbxy 0x0", 5),
        ("mbiread\n{}lut $r2 $r0 0x8", 5),
    ],
)
def test_every_window(text: str, fillers: int) -> None:
    assert kinds(text.format("nop\n" * fillers)) == []
    for n in range(fillers):
        found = lint(text.format("nop\n" * n) + END, "vp4")
        early = [f for f in found if f.kind == "early-read"]
        assert early, n
        assert all(f.address == n + 1 for f in found)
        assert all(f.certain for f in found) or "$p2" in text


def test_it_says_how_many_cycles_are_missing() -> None:
    (found,) = lint("ld $r1 D[0x0]\nadd $r2 $r1 0x1" + END)
    assert str(found) == "0x001: early-read: reads $r1 2 cycles too early: `ld $r1 D[0x0]` at 0x0 has not landed"


def test_branches_are_followed_through_their_delay_slot() -> None:
    assert kinds("bra #there\nld $r1 D[0x0]\nnop\nthere: add $r2 $r1 0x1") == [(3, "early-read", True)]
    assert kinds("$p2 bra #there\nld $r1 D[0x0]\nnop\nnop\nthere: add $r2 $r1 0x1") == [(4, "early-read", False)]
    text = "call #sub\nld $r1 D[0x0]\nadd $r2 $r1 0x1\nbra #end\nnop\nsub: ret\nnop"
    assert kinds(text) == [], "two instructions of the subroutine lie between"
    text = "call #sub\nnop\nadd $r2 $r1 0x1\nbra #end\nnop\nsub: ret\nld $r1 D[0x0]"
    assert kinds(text) == [(2, "early-read", True)]


def test_relative_branches_are_followed() -> None:
    text = "ld $r1 D[0x0]\n0x1 rbra #there nop\nnop\nadd $r3 $r0 0x1\nthere: add $r2 $r1 0x1"
    assert kinds(text, "vp2") == []
    text = "0x1 rbra #there ld $r1 D[0x0]\nnop\nnop\nnop\nthere: add $r2 $r1 0x1"
    assert kinds(text, "vp2") == [(4, "early-read", True)]


def test_a_new_value_ends_the_window() -> None:
    assert kinds("ld $r1 D[0x0]\nmov $r1 0x5\nadd $r2 $r1 0x1\nnop") == [(1, "overwritten", True)]
    assert kinds("ld $r1 D[0x0]\nnop\nmov $r1 0x5\nadd $r2 $r1 0x1") == []


def test_other_findings() -> None:
    assert kinds("mov $mbxy $r1\nnop") == [(0, "read-only", True)]
    assert kinds("mov $llo $r1\nnop", "vp2") == [(0, "read-only", True)]
    assert kinds("unko21\nnop") == [(0, "unknown", True)]
    assert kinds("mov $sr43 $r1\nnop") == [(0, "unknown", True)]
    assert kinds("bra #x\nbra #y\nx: nop\ny: nop") == [(1, "branch-in-delay-slot", True)]
    assert kinds("$p9 rbra #x $p2 bra #x\nnop\nx: nop", "vp2") == [(0, "two-branches", True)]
    assert [f.kind for f in lint("nop\nnop")] == ["runs-off"]
    assert [f.kind for f in lint([0x1400001F, 0x14000100, 0x14000043], "vp3")] == ["undecodable"]


def test_code_that_is_never_reached_is_not_judged() -> None:
    assert kinds("bra #end\nnop\nld $r1 D[0x0]\nadd $r2 $r1 0x1") == []


def test_certain_findings_are_hazards_when_it_runs() -> None:
    text = (
        "ld $r1 D[0x0]\nadd $r2 $r1 0x1\nmov $qpc $r2\nor $r3 $qpc 0x0\nlmulu $r2 $r2\nlsrr 0x1\nnop\nor $r4 $llo 0x0"
    )
    core = Core("vp4")
    core.load(text + END)
    seen = {c.pc for c in core.watch(9) if c.hazards & (Hazard.OLD | Hazard.ABORTED)}
    assert seen == {f.address for f in lint(text + END, "vp4")}
