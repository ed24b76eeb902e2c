from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import isakit
from isakit import docsgen
from isakit.codec.syntax import optional, spellings, syntax_line
from isakit.docsgen.overview import summary
from isakit.registry import VARIANTS
from isakit.spec.parts import accepted_text, possible_bits


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    docsgen.write(folder)
    return folder


def test_every_instruction_has_a_page_that_can_be_reached(pages: Path) -> None:
    for name in VARIANTS:
        overview = (pages / name / "index.md").read_text()
        for record in isakit.isa(name).instructions:
            assert f"[{record.name}]({record.name}.md)" in overview
            assert f"\n{record.name}\n" in overview  # in the table of contents
            assert (pages / name / f"{record.name}.md").is_file()
        assert f"{name}/index" in (pages / "index.md").read_text()


def test_links_lead_to_pages(pages: Path) -> None:
    for page in pages.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#]+\.md)\)", page.read_text()):
            assert (page.parent / target).is_file(), f"{page.name}: {target}"


def test_pages_hold_what_the_records_say(pages: Path) -> None:
    for name in VARIANTS:
        for record in isakit.isa(name).instructions:
            text = (pages / name / f"{record.name}.md").read_text()
            assert record.doc.splitlines()[0] in text
            assert str(record.ref) in text
            assert f"status: {record.status.value}" in text
            for note in record.notes:
                assert note in text
            for form in record.forms:
                assert syntax_line(form) in text
            assert '"""' not in text.split("## Meaning")[1].splitlines()[3], "the docstring is not shown twice"


def test_drawings_show_all_bits_and_all_operands(pages: Path) -> None:
    for name in VARIANTS:
        isa = isakit.isa(name)
        for record in isa.instructions:
            text = (pages / name / f"{record.name}.md").read_text()
            for number, form in enumerate(record.forms, 1):
                assert f"({record.name}-{number}.svg)" in text
                drawing = ElementTree.parse(pages / name / f"{record.name}-{number}.svg").getroot()
                rects = [e for e in drawing.iter() if e.tag.endswith("rect")]
                assert len(rects) == form.units * next(iter(isa.records.variants.values())).unit_bits
                shown = {n for e in drawing.iter() if e.tag.endswith("text") for n in (e.text or "").split("/")}
                assert {n for n, p in form.parts.items() if possible_bits(p) & ~form.fixed.mask} <= shown
                digits = [e for e in drawing.iter() if e.tag.endswith("text") and e.get("font-size") == "12"]
                assert len(digits) == form.fixed.mask.bit_count()


def test_every_mnemonic_is_in_the_index(pages: Path) -> None:
    text = (pages / "mnemonics.md").read_text()
    for name in VARIANTS:
        for record in isakit.isa(name).instructions:
            for m in record.mnemonics:
                assert f"| `{m}` | {name} | [{record.name}]({name}/{record.name}.md) |" in text


def test_tables_are_tables(pages: Path) -> None:
    cells = re.compile(r"(?<!\\)\|")
    for page in pages.rglob("*.md"):
        width = 0
        for line in page.read_text().splitlines():
            if line.startswith("|"):
                width = width or len(cells.findall(line))
                assert len(cells.findall(line)) == width, f"{page}: {line}"
            else:
                width = 0


def test_bit_tables_cover_the_instruction(pages: Path) -> None:
    text = (pages / "tesla" / "add.md").read_text()
    assert "| w0[8] | sat | 0x0 (nothing), 0x1 `sat` |" in text
    assert "| w1[26] | ty | 0x0 `b16`, 0x1 `b32` |" in text


def test_what_only_some_chips_have_is_said(pages: Path) -> None:
    text = (pages / "tesla" / "vote.md").read_text()
    assert "only gt200, gt215, mcp77" in text


def test_directives_and_registers_are_described(pages: Path) -> None:
    assert ".param NAME TYPE" in (pages / "assembler.md").read_text()
    registers = (pages / "tesla" / "registers.md").read_text()
    assert "| `$rN` | 128 | 32 |" in registers
    assert "`physid`" in registers


def test_names_are_found() -> None:
    isas = [isakit.isa("tesla").records]
    assert docsgen.find_pages(isas, "subr")[0].startswith("# add\n")
    assert docsgen.find_pages(isas, "no such thing") == []
    assert {"add", "subr", "physid", ".kernel"} <= set(docsgen.known_names(isas))


def test_syntax_lines_tell_what_may_be_left_out() -> None:
    for name in VARIANTS:
        for record in isakit.isa(name).instructions:
            for form in record.forms:
                line = syntax_line(form)
                for item, part in form.parts.items():
                    if spellings(part) == [] and optional(part) and accepted_text(part) not in ("", "nothing"):
                        assert f"[{item}]" in line


def test_summaries_are_the_first_sentence() -> None:
    assert summary("One thing.\n  And another.") == "One thing."
    assert summary("No end") == "No end"
