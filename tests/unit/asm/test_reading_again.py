"""A text that is read again after a change: only what has changed is read anew, and it is as a new text would be."""

from __future__ import annotations

import random
from typing import Any

import pytest

import isakit
from isakit.asm import Program, assemble
from isakit.asm.assembler import Assembler
from isakit.asm.source import Source
from isakit.asm.statements import StatementEncoder
from isakit.codec.encoder import Encoder
from isakit.errors import AsmError
from isakit.instruction_sets import file_directives
from isakit.lsp.documents import Assembly

LINES = [
    "    mov b32 $r1 $r2", "L0: bra L0", "/* begins", "ends */ exit nop", "// said", "x = 1; y = 2", "# said", "",
    "nop /* both */ nop", "    bra L1", "L1:", "*/", "/*", "add b32 $r1 $r1 0x5", "unknown $r1",
]  # fmt: skip


def told(source: Source) -> tuple[Any, ...]:
    return source.statements(), source.diagnostics


def test_a_changed_text_is_read_like_a_new_one() -> None:
    rng = random.Random(1)
    lines = rng.choices(LINES, k=12)
    source = Source("\n".join(lines))
    source.statements()
    for _ in range(400):
        at = rng.randrange(len(lines))
        lines[at : at + rng.randrange(3)] = rng.choices(LINES, k=rng.randrange(3))
        lines = lines or [""]
        text = "\n".join(lines)
        again = Source(text, earlier=source)
        assert told(again) == told(Source(text)), text
        source = Source(text, earlier=source)
        source.statements()


def test_one_edit_of_a_long_text_is_one_line_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [".isa tesla gt200", *(f"    add b32 $r1 $r2 {k % 8:#x}" for k in range(4990)), "end: bra end"]
    before = Assembly("\n".join(lines), "<text>")
    assert before.diagnostics == []
    work = {"read": 0, "encoded": 0}
    count(monkeypatch, Source, "_statement", work, "read")
    count(monkeypatch, StatementEncoder, "encode", work, "encoded")
    lines[2500] = "    mov b32 $r7 $r1000"
    wrong = Assembly("\n".join(lines), "<text>", earlier=before)
    assert [d.line for d in wrong.diagnostics] == [2501]
    assert work["read"] == 1
    work.update(read=0, encoded=0)
    lines.insert(2500, "    mov b32 $r7 $r100")
    del lines[2501]
    right = Assembly("\n".join(lines), "<text>", earlier=wrong)
    assert right.diagnostics == []
    assert work["read"] == 1
    assert work["encoded"] == 1  # the new line: the branch at the end stands where it stood
    directives = file_directives("tesla")
    new = assemble("\n".join(lines), isakit.isa("tesla", "gt200").decoder(), "<text>", directives)
    assert not isinstance(right.assembled, AsmError)
    assert right.assembled.to_bytes() == new.to_bytes()


EDITED = {
    "tesla": [
        *LINES, "a.b: nop", ".word L0", "    add b32 $r1 $r1 L2", "L2:", "bra #L1", "long nop", "$p1.eq bra L0",
        "y: mov b32 $r1 x", "    joinat L2", ".align 8", "mov b32 r1 $r2", "mov.u32 %r1, %r2;", "ldgb u32 $r1 $r2",
    ],
    "vuc": ["nop", "L0: bra L0", "bra L1", "L1:", "mov $r1 $r2", "mov $r1 L0", "x = 3", "add $r1 $r2 x", "mv $r1 $r2"],
    "usse": [
        *["nop", "br L0", "vpck.f32.f32 i0.xyzw pa0.xyzw pa2", "vmul.f32 i0.xyzw i0.zyxw sa0.xyzw"] * 3,
        "L0: br L0", "br L1", "L1:", "x = 3", "nopx", "vmov.f32 i0.xyzw #x",
    ],
}  # fmt: skip


@pytest.mark.parametrize("isa_name", EDITED)
def test_a_text_checked_after_edits_is_what_it_is_checked_alone(isa_name: str) -> None:
    """Whatever is remembered of statements, errors with all their advice and code are those of a first look."""
    rng = random.Random(isa_name)
    lines = rng.choices(EDITED[isa_name], k=10)
    known: Assembly | None = None
    good = 0
    for _ in range(300):
        at = rng.randrange(len(lines))
        lines[at : at + rng.randrange(3)] = rng.choices(EDITED[isa_name], k=rng.randrange(3))
        lines = lines[:20] or ["nop"]
        text = "\n".join(lines)
        known = Assembly(text, "<text>", isa_name, known)
        alone = Assembler(isakit.isa(isa_name).decoder())
        told, found = known.assembled, result(alone, text, isa_name)
        if isinstance(told, AsmError) or isinstance(found, AsmError):
            assert isinstance(found, AsmError), text
            assert known.diagnostics == list(found.diagnostics), text
            continue
        assert told.to_bytes() == found.to_bytes(), text
        good += 1
    assert good >= 2


def result(assembler: Assembler, text: str, isa_name: str) -> Program | AsmError:
    """Return what an assembler makes of a text."""
    try:
        return assembler.assemble(text, "<text>", file_directives(isa_name))
    except AsmError as e:
        return e


def test_errors_of_a_long_text_are_explained_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [".isa tesla gt200", *(f"    add b32 $r1 $r2 $r{200 + k}" for k in range(300))]
    before = Assembly("\n".join(lines), "<text>")
    assert len(before.diagnostics) == 300
    work = {"explained": 0}
    count(monkeypatch, Encoder, "diagnose", work, "explained")
    lines[100] = "    mov b32 $r7 $r1001"
    assert len(Assembly("\n".join(lines), "<text>", earlier=before).diagnostics) == 300
    assert work["explained"] == 1


def count(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, work: dict[str, int], key: str) -> None:
    """Count the calls of a method."""
    method = getattr(owner, name)

    def counting(*args: Any, **more: Any) -> Any:
        work[key] += 1
        return method(*args, **more)

    monkeypatch.setattr(owner, name, counting)
