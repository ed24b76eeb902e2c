"""What the manual says about real programs: the examples are true, and figures belong to records that exist."""

import json
from pathlib import Path

import pytest

import isakit
from isakit import docsgen
from isakit.docsgen.figures import rates, usage
from isakit.docsgen.find import search
from isakit.registry import VARIANTS
from isakit.spec.isa import instruction_set

FIGURES = json.loads((Path(docsgen.__file__).parent / "figures.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(FIGURES["usage"]))
def test_examples_are_instructions_of_their_record(name):
    sets = [isakit.isa(name, v) for v in VARIANTS[name]]
    for record, found in FIGURES["usage"][name]["records"].items():
        for words, text in found["examples"]:
            units = [int(w, 16) for w in words.split()]
            decoded = [
                p[0] for s in sets for t in s.records.programs for p in [s.disassemble(units, program_type=t)] if len(p)
            ]
            assert any(i.valid and i.text == text and i.form.record.name == record for i in decoded), (record, text)


@pytest.mark.parametrize("kind", ["usage", "rates"])
def test_figures_are_of_records_that_exist(kind):
    for name, known in FIGURES[kind].items():
        found = known["records"] if kind == "usage" else known
        assert set(found) <= {r.name for r in instruction_set(name).records}


def test_a_page_shows_how_often_programs_use_an_instruction():
    isa = instruction_set("tesla")
    joinat = next(r for r in isa.records if r.name == "joinat")
    text = "\n".join(usage(isa, joinat))
    assert f"{FIGURES['usage']['tesla']['records']['joinat']['count']:,} times" in text
    assert "joinat 0x" in text


def test_where_there_are_no_programs_the_page_says_so():
    isa = instruction_set("vuc")
    assert "no corpus" in "\n".join(usage(isa, isa.records[0]))
    assert not list(rates(isa, isa.records[0]))


def test_relatives_are_linked():
    isa = instruction_set("tesla")
    add = next(r for r in isa.records if r.name == "add_f32")
    assert "[add_f64](add_f64.md)" in docsgen.instruction_page(isa, add, pictures=True)
    assert "(add_f64.md)" not in docsgen.instruction_page(isa, add)


@pytest.mark.parametrize(
    ("word", "isa", "name"),
    [
        ("g14", "tesla", "g0[]..g15[]"),
        ("$r12", "tesla", "$r"),
        ("sa4", "usse", "sa"),
        ("physid", "tesla", "physid"),
        ("h2v", "vuc", "h2v"),
        ("swizzle", "usse", "vmad"),
        (".varying", "", ".varying"),
    ],
)
def test_search_finds_operands_registers_and_directives(word, isa, name):
    found = search([instruction_set(n) for n in VARIANTS], word)
    assert (isa, name) in {(owner, hit) for owner, hit, _ in found}
