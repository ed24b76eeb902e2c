"""Differences of programs: planted changes are found as what they are, and alignments are the cheapest there are."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import isakit
from isakit.analysis import align as align_module
from isakit.analysis.align import align
from isakit.analysis.diff import Change, ProgramDiff, diff_kernels, diff_programs
from isakit.analysis.shapes import shape_of
from isakit.asm import Program
from support.clients.command_line import run

TESLA = isakit.isa("tesla", "gt200")
BASE = """
    mov b32 $r1 0x1
    mov b32 $r2 0x2
    set $c0 # e s32 $r0 $r124
    (e $c0) bra other
    mov b32 $r1 0x3
    bra after
other:
    add b32 $r1 $r1 $r2
after:
    add b32 $r3 $r1 $r2
    st b32 g14[$r3] $r1
    exit nop
"""


def compared(old: str, new: str) -> ProgramDiff:
    return diff_programs(TESLA.assemble(old), TESLA.assemble(new))


def told(found: ProgramDiff) -> list[tuple[str, str]]:
    """(kind of change, text in the new program, else in the old one) of what is not the same."""
    return [
        (r.change.value, (r.b or r.a or pytest.fail("no instruction")).text)
        for r in found.rows
        if r.change is not Change.SAME
    ]


def test_a_program_does_not_differ_from_itself() -> None:
    found = compared(BASE, BASE)
    assert found.identical
    assert found.counts[Change.SAME] == 10


def test_a_register_with_another_name_and_the_same_values_is_moved() -> None:
    found = compared(BASE, BASE.replace("$r2", "$r7"))
    assert found.equal
    assert not found.identical
    assert {kind for kind, _ in told(found)} == {"moved"}


def test_a_register_with_another_value_is_changed() -> None:
    found = compared(BASE, BASE.replace("st b32 g14[$r3] $r1", "st b32 g14[$r3] $r2"))
    assert told(found) == [("changed", "st b32 g14[$r3] $r2")]


def test_renaming_only_the_use_is_a_change() -> None:
    found = compared(BASE, BASE.replace("add b32 $r3 $r1 $r2", "add b32 $r3 $r1 $r7"))
    assert [kind for kind, _ in told(found)] == ["changed"]


def test_what_the_caller_left_in_another_register_is_another_value() -> None:
    found = compared("add b32 $r1 $r0 $r0\nexit nop", "add b32 $r1 $r4 $r4\nexit nop")
    assert [kind for kind, _ in told(found)] == ["changed"]


def test_a_branch_that_moved_with_its_target_is_no_change() -> None:
    found = compared(BASE, "    mov b32 $r5 0x9\n" + BASE)
    assert [(kind, text.split()[0]) for kind, text in told(found)] == [
        ("added", "mov"), ("moved", "(e"), ("moved", "bra")
    ]  # fmt: skip


def test_a_branch_to_another_instruction_is_a_change() -> None:
    found = compared(BASE, BASE.replace("bra after", "bra other"))
    assert [kind for kind, _ in told(found)] == ["changed"]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("mov b32 $r2 0x2", "mov b32 $r2 0x5", "changed"),
        ("mov b32 $r2 0x2", "mov b32 $r2 $r0", "changed"),
        ("add b32 $r3 $r1 $r2", "long add b32 $r3 $r1 $r2", "moved"),
        ("(e $c0) bra other", "(lg $c0) bra other", "changed"),
    ],
)
def test_planted_changes_are_what_they_are(old: str, new: str, kind: str) -> None:
    kinds = {k for k, text in told(compared(BASE, BASE.replace(old, new))) if "bra" not in text or "bra" in new}
    assert kinds == {kind}


def kernel(table: str, content: str) -> Program:
    """A kernel that reads a variable's address from c14[], a constant from c1[] and a parameter."""
    from isakit.programs import module_of

    text = (f".isa tesla gt200\n.header elfclass=0x40\n.variable one 0x40 .nv.global 0x0\n"
            f".variable two 0x40 .nv.global 0x40\n{table}\n.const 14\n.word 0x0, 0x0\n.kernel k\n"
            f".param out ptr\n.param n u32\n{content}\n    st b32 g14[$r1] $r2\n    exit nop\n")  # fmt: skip
    return module_of(TESLA.assemble(text))["k"].program


def test_the_address_of_one_variable_in_another_place_of_the_table_is_moved() -> None:
    read = ".const 1\n.word 0x8, 0x9\n.code\nld $r1 b32 c14[0x{:x}]\nld $r2 b32 c1[0x{:x}]"
    one = kernel(".reloc c14 0x0 one\n.reloc c14 0x4 two", read.format(0, 0))
    two = kernel(".reloc c14 0x0 two\n.reloc c14 0x4 one", read.format(4, 0))
    found = diff_programs(one, two)
    assert told(found) == [("moved", "ld $r1 b32 c14[0x4]")]
    other = diff_programs(one, kernel(".reloc c14 0x0 one\n.reloc c14 0x4 two", read.format(4, 0)))
    assert told(other) == [("changed", "ld $r1 b32 c14[0x4]")]


def test_an_equal_constant_in_another_place_is_moved() -> None:
    table = ".reloc c14 0x0 one\n.reloc c14 0x4 two"
    one = kernel(table, ".const 1\n.word 0x8, 0x9\n.code\nld $r1 b32 c14[0x0]\nld $r2 b32 c1[0x0]")
    two = kernel(table, ".const 1\n.word 0x9, 0x8\n.code\nld $r1 b32 c14[0x0]\nld $r2 b32 c1[0x4]")
    found = diff_programs(one, two)
    assert told(found) == [("moved", "ld $r2 b32 c1[0x4]")]
    assert [what for what, _, _ in found.facts] == ["constants c1"]


def cost(rows: list[tuple[int | None, int | None]], a: Program, b: Program) -> int:
    """What an alignment costs, by definition."""
    total = 0
    for x, y in rows:
        if x is None or y is None:
            total += 2
            continue
        one, two = shape_of(a[x]), shape_of(b[y])
        equal = a[x].words == b[y].words and one.address is None
        branch = one.address is not None and (one.frame, one.registers) == (two.frame, two.registers)
        if equal or branch:
            total += 0
        elif (one.frame, one.numbers) == (two.frame, two.numbers):
            total += 1
        elif one.frame == two.frame:
            total += 2
        else:
            assert a[x].mnemonic == b[y].mnemonic
            total += 3
    return total


def cheapest(a: Program, b: Program) -> int:
    """The least cost, by trying everything."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for x in range(len(a) + 1):
        for y in range(len(b) + 1):
            ways = [0] if x == y == 0 else []
            if x:
                ways.append(table[x - 1][y] + 2)
            if y:
                ways.append(table[x][y - 1] + 2)
            if x and y and a[x - 1].mnemonic == b[y - 1].mnemonic:
                ways.append(table[x - 1][y - 1] + cost([(x - 1, y - 1)], a, b))
            table[x][y] = min(ways)
    return table[-1][-1]


def random_program(rng: random.Random, size: int) -> Program:
    lines = [
        rng.choice([
            f"mov b32 $r{rng.randrange(3)} 0x{rng.randrange(3):x}",
            f"add b32 $r{rng.randrange(3)} $r0 $r{rng.randrange(3)}",
            f"(lg $c0) xor b32 $r1 $r1 $r{rng.randrange(3)}",
            "bra 0x0",
        ])
        for _ in range(size)
    ]  # fmt: skip
    return TESLA.assemble("\n".join(lines))


def aligned(a: Program, b: Program) -> list[tuple[int | None, int | None]]:
    return align(a.instructions, [shape_of(i) for i in a], b.instructions, [shape_of(i) for i in b])


@pytest.mark.parametrize("seed", range(20))
def test_an_alignment_is_the_cheapest_one(seed: int) -> None:
    rng = random.Random(seed)
    a, b = random_program(rng, rng.randrange(12)), random_program(rng, rng.randrange(12))
    assert cost(aligned(a, b), a, b) == cheapest(a, b)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("limit", [1 << 24, 60])
def test_an_alignment_has_every_instruction_once_and_in_order(
    seed: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(align_module, "_LARGEST", limit)
    rng = random.Random(seed)
    a, b = random_program(rng, 60), random_program(rng, 50)
    rows = aligned(a, b)
    assert [x for x, _ in rows if x is not None] == list(range(len(a)))
    assert [y for _, y in rows if y is not None] == list(range(len(b)))


@pytest.mark.parametrize("seed", range(10))
def test_costs_obey_the_triangle_inequality(seed: int) -> None:
    rng = random.Random(seed)
    a, b, c = (random_program(rng, 8) for _ in range(3))
    assert cheapest(a, c) <= cheapest(a, b) + cheapest(b, c)


def test_kernels_without_a_common_name_are_matched_by_what_they_do() -> None:
    other = TESLA.assemble("\n".join(["ld b32 $r1 g14[$r1]"] * 9 + ["exit nop"]))
    base, changed = TESLA.assemble(BASE), TESLA.assemble(BASE.replace("0x2", "0x7"))
    found = diff_kernels([("old", base), ("gone", other)], [("extra", TESLA.assemble("exit nop")), ("new", changed)])
    assert [(p.name_a, p.name_b) for p in found.pairs] == [("old", "new")]
    assert [name for name, _ in found.removed] == ["gone"]
    assert [name for name, _ in found.added] == ["extra"]


def test_programs_of_two_instruction_sets_are_not_compared() -> None:
    with pytest.raises(isakit.IsakitError, match="vuc code"):
        diff_programs(TESLA.assemble("exit nop"), isakit.isa("vuc").assemble("nop"))


@pytest.fixture(scope="module")
def two_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("diff")
    source = (Path(__file__).parents[3] / "examples/tesla/saxpy.s").read_text()
    paths = []
    for name, text in (("a", source), ("b", source.replace("$r3", "$x").replace("$r4", "$r3").replace("$x", "$r4"))):
        (folder / f"{name}.s").write_text(text)
        path = folder / f"{name}.cubin"
        run("asm", "-m", "tesla", "-V", "gt200", str(folder / f"{name}.s"), "-o", str(path), "--format", "elf")
        paths.append(str(path))
    return paths[0], paths[1]


def test_moved_registers_are_no_difference_to_the_exit_code(two_files: tuple[str, str]) -> None:
    run("diff", *two_files)
    assert "the code differs" in run("diff", "--exact", *two_files, code=3).stderr


def test_exact_shows_what_moved(two_files: tuple[str, str]) -> None:
    assert "$r3 is $r4" in run("diff", "--exact", *two_files, code=3).stdout


def test_json_says_what_the_text_says(two_files: tuple[str, str]) -> None:
    found = json.loads(run("diff", "--json", *two_files).stdout)
    assert found["schema"] == "isakit-diff-1"
    assert (found["equal"], found["identical"]) == (True, False)
    (only,) = found["kernels"]
    assert only["counts"]["moved"] == len(only["rows"]) > 0


def test_colours_only_where_they_are_wanted(two_files: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in run("diff", "--exact", *two_files, code=3).stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[36m" in run("diff", "--exact", *two_files, code=3).stdout
