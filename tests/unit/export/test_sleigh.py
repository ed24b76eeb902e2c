"""The exported SLEIGH in Ghidra's own code: its text is ours, its p-code does what the engines do."""

from __future__ import annotations

import csv
import importlib.util
import random
from pathlib import Path

import pytest
from tests.unit.export.test_texts import words_of

import isakit
from isakit.codec import Decoder
from isakit.errors import IsakitError
from isakit.export.cubes import equal, first_matching, of_values, others, within, without
from isakit.export.sleigh import sleigh
from isakit.export.sleigh_limits import DEPTH, NODES, OPERANDS, check_room, room
from isakit.spec.fields import Bits, Field
from support.oracles.sleigh import apart, check_executions, check_texts

ghidra = [
    pytest.mark.ghidra,
    pytest.mark.skipif(importlib.util.find_spec("pypcode") is None, reason="no pypcode with Ghidra's compiler"),
]
VUC = pytest.param("vuc", "vp2", None, marks=ghidra)
SMALL = [VUC, pytest.param("vuc", "vp4", None, marks=ghidra)]
LARGE = [
    pytest.param(*view, marks=[*ghidra, pytest.mark.slow])
    for view in [
        ("vuc", "vp3", None), ("tesla", "gt200", None), ("tesla", "g80", "fragment"), ("usse", "sgx543", "primary"),
        ("tesla", "g80", "vertex"), ("tesla", "gt200", "geometry"),
        ("usse", "sgx543", "secondary"),
    ]
]  # fmt: skip

COUNTED = [("vuc", "vp2", None), ("vuc", "vp4", None), ("tesla", "gt200", None), ("usse", "sgx543", "primary")]
"""Views whose instructions are counted in every run, in some ten seconds."""


def view(name: str, variant: str, program: str | None) -> Decoder:
    return isakit.isa(name, variant).decoder(program)


@pytest.mark.parametrize(("name", "variant", "program"), [*SMALL, *LARGE])
def test_ghidra_prints_what_the_library_prints(tmp_path: Path, name: str, variant: str, program: str | None) -> None:
    decoder = view(name, variant, program)
    drawn = [(word, units, word % 256 * 2) for word, units in words_of(decoder, 3, 40)]
    assert apart(check_texts, decoder, tmp_path, drawn) > 300


@pytest.mark.parametrize(("name", "variant", "program"), [VUC, LARGE[1]])
def test_pcode_does_what_the_reference_engine_does(
    tmp_path: Path, name: str, variant: str, program: str | None
) -> None:
    decoder = view(name, variant, program)
    done, named = apart(check_executions, decoder, tmp_path, words_of(decoder, 5, 6))
    assert done > 300
    assert named < done // 20


@pytest.mark.ghidra
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("pypcode") is None, reason="no pypcode with Ghidra's compiler")
def test_ghidra_prints_every_word_of_the_corpora_as_the_library(tmp_path: Path, shared: Path) -> None:
    found: dict[tuple[str, str, str | None], dict[tuple[int, int, int], None]] = {}

    def wanted(name: str, variant: str, program: str | None, word: int, units: int = 1) -> None:
        found.setdefault((name, variant, program), {})[word, units, 0] = None

    def rows(path: Path) -> list[list[str]]:
        with path.open(encoding="utf-8") as f:
            return list(csv.reader(f, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]

    for variant in ("vp2", "vp3", "vp4"):
        for row in rows(shared / f"corpus/vuc/pairs-{variant}.tsv"):
            wanted("vuc", variant, None, int(row[0], 16))
    for row in rows(shared / "corpus/usse/words.tsv"):
        wanted("usse", "sgx543", {"P": "primary", "S": "secondary"}[row[1]], int(row[0], 16))
    for path in sorted((shared / "corpus/tesla").glob("*cubins/*.cubin")):
        module = isakit.load(path)
        for kernel in module.kernels.values():
            for i in isakit.isa("tesla", module.variant).disassemble(kernel.words):
                wanted("tesla", module.variant, None, i.word, len(i.words))
    for key, words in found.items():
        folder = tmp_path / "-".join(map(str, key))
        folder.mkdir()
        assert apart(check_texts, view(*key), folder, list(words)) > 30, key


# --- limits of Ghidra's library ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "variant", "program"),
    [*COUNTED, *(pytest.param(*p.values, marks=pytest.mark.slow) for p in LARGE if p.values not in COUNTED)],
)
def test_every_instruction_has_room_in_the_arrays_of_ghidra(name: str, variant: str, program: str | None) -> None:
    """`sleigh` refuses what has not; here it is counted once more."""
    files = sleigh(view(name, variant, program)).files
    (text,) = (t for n, t in files.items() if n.endswith(".slaspec"))
    nodes, operands, depth, _ = room(text)
    assert (nodes <= NODES, operands <= OPERANDS, depth <= DEPTH) == (True, True, True), (nodes, operands, depth)
    assert nodes > 20


def test_the_nodes_of_an_instruction_are_counted_through_its_tables() -> None:
    text = """t1: "a" is a=1 { }
t1: f1 is a=0 & f1 { }
t2: t1^" "^v is t1 & b1 [ v = b1 + 1; ] { }
:^t2^"x" f3 is c=3 & t2 & f3 { local t9:4 = f3; }
"""
    assert room(text) == (7, 3, 4, "x")  # itself, t2 with t1, f1, v and b1, f3; t2 has three


def test_what_does_not_fit_is_refused() -> None:
    fields = [f"f{k}" for k in range(21)]
    text = f':^"add"^{"^".join(fields)} is {" & ".join(fields)} {{ }}\n'
    with pytest.raises(IsakitError, match=r"21 operands; Ghidra has room for 20; the largest tree .* `add`"):
        check_room(text)


# --- sets of words ----------------------------------------------------------------------------------------------------


def words(cubes: list[Bits], bits: int = 6) -> list[int]:
    """All words of patterns, each as often as patterns have it."""
    return sorted(w for c in cubes for w in range(1 << bits) if c.holds(w))


def test_what_is_left_and_what_is_taken_are_all_words_once() -> None:
    removed = Bits(0b101, 0b001)
    left = without([Bits(0, 0)], removed)
    assert words([*left, removed]) == list(range(64))


def test_values_become_patterns_that_do_not_overlap() -> None:
    rng = random.Random(1)
    for _ in range(20):
        wanted = sorted(rng.sample(range(16), rng.randrange(17)))
        mask = 0b110101
        field = Field(((0, 1), (2, 1), (4, 2)))
        assert words(of_values(mask, wanted)) == [w for w in range(64) if field.get(w) in wanted]


def test_ranges_and_equal_fields_become_patterns() -> None:
    field = Field(((1, 5),))
    assert words(within(field, 3, 21)) == [w for w in range(64) if 3 <= field.get(w) <= 21]
    a, b = Field(((0, 3),)), Field(((3, 3),))
    assert words(equal(a, b)) == [w for w in range(64) if a.get(w) == b.get(w)]


def test_the_first_case_that_holds_takes_a_word() -> None:
    cases = [(Bits(0b1, 1), None), (Bits(0b10, 0b10), Bits(0b100, 0b100)), (Bits(0, 0), None)]
    regions = list(first_matching(cases))
    assert sorted(w for r in regions for w in words(r)) == list(range(64))
    assert words(regions[1]) == [w for w in range(64) if not w & 1 and w & 2 and not w & 4]
    assert words(others(regions[0])) == [w for w in range(64) if not w & 1]
