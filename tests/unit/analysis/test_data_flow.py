"""Chains of definitions and uses, values that follow from the code, names of what is accessed, and searching."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit import analysis
from isakit.analysis import START, Chains, KernelNames, Loaded, LoadedPlusOffset, Pattern, Values, control_flow
from isakit.asm import Program
from support.clients.command_line import run

TESLA = isakit.isa("tesla", "gt200")


def chains(text: str) -> tuple[Program, Chains]:
    program = TESLA.assemble(text)
    return program, Chains(control_flow(program))


DIAMOND = """
    mov b32 $r1 0x1
    mov b32 $r2 0x2
    set $c0 # e s32 $r0 $r124
    (e $c0) bra other
    mov b32 $r1 0x3
    bra after
other:
    (lg $c0) mov b32 $r2 $r4
after:
    add b32 $r3 $r1 $r2
    exit nop
"""


def test_what_reaches_a_use_is_every_write_on_a_way_to_it() -> None:
    program, found = chains(DIAMOND)
    at = {i.text.removeprefix("long "): i.address for i in program}
    add = at["add b32 $r3 $r1 $r2"]
    first, second, third = (next(a for t, a in at.items() if t.endswith(f" 0x{n}")) for n in (1, 2, 3))
    guarded = next(a for t, a in at.items() if t.endswith("$r2 $r4"))
    assert found.definitions(add, ("r", 1)) == {first, third}
    # A write under a condition does not hide the one before it.
    assert found.definitions(add, ("r", 2)) == {second, guarded}
    assert found.definitions(at["set $c0 # e s32 $r0 $r124"], ("r", 0)) == {START}
    assert found.uses(third, ("r", 1)) == (add,)
    assert set(found.uses(START, ("r", 0))) == {at["set $c0 # e s32 $r0 $r124"]}


def test_a_loop_reads_what_it_wrote() -> None:
    program, found = chains("mov b32 $r1 0x0\nloop:\nadd b32 $r1 $r1 0x1\nset $c0 # l s32 $r1 $r0\n"
                            "(lg $c0) bra loop\nexit nop")  # fmt: skip
    add = program[1].address
    assert found.definitions(add, ("r", 1)) == {program[0].address, add}
    assert set(found.uses(add, ("r", 1))) == {add, program[2].address}


def reaching_by_walking(program: Program, flow: analysis.ControlFlow, start: int, place: tuple[str, int]) -> set[int]:
    """The same by following every step back, one instruction at a time."""
    before: dict[int, set[int]] = {}
    for b in flow.blocks:
        for one, two in itertools.pairwise(b.instructions):
            before.setdefault(two.address, set()).add(one.address)
    for e in flow.edges:
        before.setdefault(flow.blocks[e.target].address, set()).add(flow.blocks[e.source].instructions[-1].address)
    by_address = {i.address: i for i in program}
    found: set[int] = set()
    seen: set[int] = set()
    waiting = [start]
    while waiting:
        at = waiting.pop()
        if at == program[0].address or at not in before:
            found.add(START)
        for p in before.get(at, ()):
            i = by_address[p]
            if place in i.defs:
                found.add(p)
            if place not in i.kills and p not in seen:
                seen.add(p)
                waiting.append(p)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_agree_with_a_walk_over_single_instructions(seed: int) -> None:
    rng = random.Random(seed)
    size = 30
    lines: list[str] = []
    for k in range(size):
        a, b, c = (rng.randrange(4) for _ in range(3))
        guard = rng.choice(["", "", "(lg $c0) "])
        pick = rng.random()
        if pick < 0.25:
            lines.append(f"l{k}: {guard}bra l{rng.randrange(size)}")
        elif pick < 0.4:
            lines.append(f"l{k}: mov b32 $r{a} {rng.randrange(99)}")
        else:
            lines.append(f"l{k}: {guard}add b32 $r{a} $r{b} $r{c}")
    program = TESLA.assemble("\n".join([*lines, "exit nop"]))
    flow = control_flow(program)
    found = Chains(flow)
    reached = [i for b in flow.blocks for i in b.instructions if b.function is not None]
    for i in reached:
        for place in i.uses:
            if place[0] != "r":
                continue
            walked = reaching_by_walking(program, flow, i.address, place)
            assert found.definitions(i.address, place) == walked, (i, place)


def test_numbers_are_followed_through_the_code() -> None:
    program = TESLA.assemble("mov b32 $r1 0x10\nshl b32 $r2 $r1 0x2\nadd b32 $r3 $r2 $r1\nmov b32 $r4 $r3\nexit nop")
    values = Values(control_flow(program))
    end = program[-1].address
    assert [values.before(end, ("r", n)) for n in (1, 2, 3, 4, 5)] == [0x10, 0x40, 0x50, 0x50, None]


def test_a_value_that_differs_between_ways_is_not_known() -> None:
    program = TESLA.assemble(DIAMOND)
    values = Values(control_flow(program))
    add = program[-2].address
    assert values.before(add, ("r", 1)) is None
    assert values.before(program[2].address, ("r", 1)) == 1


KERNEL = """
.isa tesla gt200
.header elfclass=0x40
.variable table 0x40 .nv.global 0x0
.reloc c14 0x4 table
.const 0
scale:
    .word 0x3f800000
.const 14
    .word 0x0, 0x0
.kernel k
.param out ptr
.param n u32
.const 1
    .word 0x8
    mov b32 $r1 b32 s[out]
    add b32 $r2 $r1 0x8
    add b32 $r3 $r1 $r0
    ld $r4 b32 c0[scale]
    ld $r5 b32 c14[0x4]
    add b32 $r5 $r5 c1[0x0]
    st b32 g14[$r2] $r4
    st b32 g14[$r3] $r4
    st b32 g14[$r5] $r4
    exit nop
"""


def test_accesses_have_the_names_of_parameters_constants_and_variables() -> None:
    from isakit.programs import module_of

    module = module_of(TESLA.assemble(KERNEL.replace(".const 1\n    .word 0x8", ".const 1\n    .word 0x8\n.code")))
    names = KernelNames(module["k"])
    said = {i.text.removeprefix("long "): names.of(i.address) for i in module["k"].program}
    assert said["mov b32 $r1 b32 s[0x10]"] == ["out"]
    assert said["ld $r4 b32 c0[0x0]"] == ["scale"]
    assert said["ld $r5 b32 c14[0x4]"] == ["&table"]
    assert said["st b32 g14[$r2] $r4"] == ["*(out + 0x8)"]
    assert said["st b32 g14[$r3] $r4"] == ["*out[...]"]
    assert said["st b32 g14[$r5] $r4"] == ["*(&table + 0x8)"]
    assert names.values.before(module["k"].program[2].address, ("r", 2)) == LoadedPlusOffset(Loaded("s", 0x10, 4), 8)


def test_real_files_name_their_variables(shared: Path) -> None:
    path = shared / "corpus/tesla/cubins/8b45390bd10e.sm_10.cubin"
    text = run("dis", "--symbols", str(path)).stdout
    assert "c14[0x0]" in text
    for line in text.splitlines():
        if " c14[0x0] " in line:
            assert line.endswith("  &ans")
    assert sum(line.endswith("  ans") for line in text.splitlines()) == 4
    assert isakit.isa("tesla", "g80").assemble(text).to_bytes() == isakit.load(path)["_Z6kernelv"].code


def test_dead_registers_may_be_overwritten_with_noise() -> None:
    """A kernel with a write of noise to a register that is dead there computes the same."""
    text = (
        ".kernel k\n.param out ptr\nmov b32 $r1 b32 s[out]\nand b32 $r2 $r0 0x1f\nshl b32 $r3 $r2 0x2\n"
        "add b32 $r1 $r1 $r3\nmul $r4 u16 $r2l u16 $r3l\nxor b32 $r4 $r4 $r2\nset $c0 # l s32 $r4 $r3\n"
        "(lg $c0) add b32 $r4 $r4 $r3\nst b32 g14[$r1] $r4\nexit nop\n"
    )
    lines = text.splitlines()
    program = TESLA.assemble(text)
    live = analysis.liveness(control_flow(program))

    def result(source: str) -> np.ndarray:
        out = np.zeros(32, np.uint32)
        isakit.Device("gt200", engine="reference").load(TESLA.assemble(source), registers=16)["k"][1, 32](out)
        return out

    expected = result(text)
    tried = 0
    for k, i in enumerate(program):
        for n in range(6):
            if ("r", n) not in live.before(i.address):
                noisy = [*lines[: 2 + k], f"mov b32 $r{n} 0x9e3779b9", *lines[2 + k :]]
                assert (result("\n".join(noisy)) == expected).all(), (i, n)
                tried += 1
    assert tried > 20
    assert not (result("\n".join([*lines[:6], "mov b32 $r1 $r1", "mov b32 $r3 0x4", *lines[6:]])) == expected).all()


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("mov *", 2), ("add b32 * $r?", 1), ("ld *", 0), ("st b32 g14[$r*] *", 1), ("bra *", 1), ("*", 8),
        ("opcode=add", 2), ("opcode=a*", 2), ("writes=$r1 and opcode=mov", 1), ("group=branch", 1),
        ("not group=branch", 7), ("immediate=16 or group=branch", 2),
        ("(opcode=mov or opcode=st) and not reads=$r2", 2),
        ("valid=yes and b32", 5), ("size=4 and opcode=add", 1), ("reads=$r[12]", 0),
    ],
)  # fmt: skip
def test_patterns_and_conditions_find_instructions(pattern: str, count: int) -> None:
    program = TESLA.assemble(
        "mov b32 $r1 0x10\nmov b32 $r2 $r0\nloop: add b32 $r3 $r1 $r2\nadd b32 $r1 $r3 -1\n"
        "set $c0 # l s32 $r3 $r0\n(lg $c0) bra loop\nst b32 g14[$r1] $r2\nexit nop"
    )
    wanted = Pattern(pattern)
    assert sum(wanted.matches(i) for i in program) == count, [i.text for i in program if wanted.matches(i)]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (" ", "empty"), ("opcod=add", "did you mean `opcode`"), ("opcode=add and", "ends where"),
        ("(opcode=add", "not closed"), ("opcode=add mul", "is not expected"), ("not " * 99 + "sat", "too deeply"),
        ("x" * 2000, "too long"),
    ],
)  # fmt: skip
def test_conditions_that_make_no_sense_are_named(pattern: str, message: str) -> None:
    with pytest.raises(isakit.IsakitError, match=message):
        Pattern(pattern)


def test_find_names_file_kernel_and_address(tmp_path: Path) -> None:
    from isakit.programs import write

    path, bad = tmp_path / "k.cubin", tmp_path / "bad.cubin"
    path.write_bytes(write(TESLA.assemble(".kernel k\nnop\nst b32 g14[$r1] $r2\nexit nop"), "elf"))
    bad.write_bytes(b"\x00\x01")
    assert run("find", "st *", str(path)).stdout == f"{path}: k+0x8: st b32 g14[$r1] $r2\n"
    assert run("find", "--count", "nop", str(path)).stdout == f"{path}: k: 2\n"
    result = run("find", "st *", str(bad), str(path), code=1)
    assert f"{path}: k+0x8" in result.stdout
    assert "no known format" in result.stderr


def test_a_pointer_is_followed_through_as_many_additions_as_recursion_would_not_reach() -> None:
    count = 118
    text = "mov b32 $r1 b32 s[0x10]\n" + "add b32 $r1 $r1 0x4\n" * count + "exit ld b32 $r2 g14[$r1]"
    flow = control_flow(isakit.isa("tesla").assemble(text))
    last = list(flow.program)[-1]
    (access,) = analysis.Values(flow).accesses(last.address)
    assert access.at == analysis.LoadedPlusOffset(analysis.Loaded("s", 0x10, 4), 4 * count)
