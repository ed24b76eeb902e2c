"""When a write becomes visible: every line of the latency table, with too few instructions between and just enough."""

from __future__ import annotations

import pytest

from isakit.errors import MachineFault
from isakit.vuc import Core, Hazard, Options


def run(text: str, variant: str = "vp4", cycles: int = 200, options: Options | None = None, **data: int) -> Core:
    core = Core(variant, options)
    core.data[0] = 0x1234
    core.load(text + "\nend: bra #end\nnop\n")
    core.run(cycles, stop_spinning=True)
    core.run(50)
    return core


def filled(first: str, fillers: int, reader: str, before: str = "") -> str:
    return "\n".join([before, first, *["nop"] * fillers, reader])


# (what is written late, fillers needed, reader of $r5, old value, new value, set-up)
WINDOWS = [
    ("mov $r1 0x22", 0, "or $r5 $r1 0x0", 0x1111, 0x22, "mov $r1 0x1111"),
    ("ld $r1 D[0x0]", 2, "or $r5 $r1 0x0", 0x1111, 0x1234, "mov $r1 0x1111"),
    ("ld6 $r1 B6[0x0]", 2, "or $r5 $r1 0x0", 0x1111, 2, "mov $r1 0x1111"),
    ("ld $r1 PWT[0x0]", 2, "or $r5 $r1 0x0", 0x1111, 0, "mov $r1 0x1111"),
    ("ld $r1 MVSI[0x0]", 2, "or $r5 $r1 0x0", 0x1111, 0, "mov $r1 0x1111"),
    ("lut $r1 $r0 0xf", 0, "or $r5 $r1 0x0", 0x1111, 0, "mov $r1 0x1111"),
    ("mov $qpc $r2", 1, "or $r5 $qpc 0x0", 0, 0x1111, "mov $r2 0x1111"),
    ("mov $llo $r2", 1, "or $r5 $llo 0x0", 0, 0x1111, "mov $r2 0x1111"),
    ("lmulu $r2 $r3", 3, "or $r5 $llo 0x0", 0, 0x3333, "mov $r2 0x1111\nmov $r3 0x3"),
    ("ladd $r2", 1, "or $r5 $llo 0x0", 0, 0x1111, "mov $r2 0x1111"),
    ("ldivu $r2", 34, "or $r5 $llo 0x0", 0x1111, 0x5B0, "mov $r2 0x1111\nmov $llo $r2\nmov $r2 0x3\nnop"),
]


@pytest.mark.parametrize("row", WINDOWS, ids=lambda r: r[0])
def test_window(row: tuple[str, int, str, int, int, str]) -> None:
    first, needed, reader, old, new, before = row
    assert run(filled(first, needed, reader, before)).r[5] == new & 0xFFFF
    for fillers in range(needed):
        assert run(filled(first, fillers, reader, before)).r[5] == old, f"{fillers} fillers"


@pytest.mark.parametrize(
    ("first", "needed", "old"),
    [("lmulu $r2 $r3", 2, 0), ("lmuls $r2 $r3", 2, 0), ("ladd $r2", 0, None), ("ldivu $r3", 33, 0x30)],
)
def test_long_results_are_forwarded_to_long_operations(first: str, needed: int, old: int | None) -> None:
    before = "mov $r2 0x30\nmov $r3 0x3" + ("\nmov $llo $r2\nnop" if "ldivu" in first else "")
    after = "ladd $r0\nnop\nor $r5 $llo 0x0"
    good = {"lmulu $r2 $r3": 0x90, "lmuls $r2 $r3": 0x90, "ladd $r2": 0x30, "ldivu $r3": 0x10}[first]
    assert run(filled(first, needed, after, before)).r[5] == good
    for fillers in range(needed):
        core = run(filled(first, fillers, after, before))
        assert core.r[5] == old, "the younger operation reads the old accumulator"
        assert core.acc[0] == old, "and the older one never lands"
        assert any(d[2] == "LONG_ABORTED" for d in core.diagnostics)


def test_explicit_accumulator_write_needs_a_filler_before_a_long_operation() -> None:
    before = "mov $r2 0x40"
    assert run(filled("mov $llo $r2", 1, "ladd $r0\nnop\nor $r5 $llo 0x0", before)).r[5] == 0x40
    core = run(filled("mov $llo $r2", 0, "ladd $r0\nnop\nnop\nor $r5 $llo 0x0", before))
    assert core.r[5] == 0, "ladd read 0 and its result lands after the mov"


def test_accumulator_is_read_only_by_name_on_vp2() -> None:
    core = run("mov $r2 0x40\nmov $llo $r2\nnop\nor $r5 $llo 0x0", "vp2")
    assert core.r[5] == 0
    assert any(d[2] == "READ_ONLY_REGISTER" for d in core.diagnostics)


def test_predicates_are_forwarded_but_not_through_pred() -> None:
    assert run("seteq $p2 $r0 $r0\n$p2 add $r5 $r0 0x1").r[5] == 1
    assert run("seteq $p2 $r0 $r0\nor $r5 $pred 0x0").r[5] == 0x8002
    assert run("seteq $p2 $r0 $r0\nnop\nor $r5 $pred 0x0").r[5] == 0x8006
    assert run("mov $r1 0x4\nmov $pred $r1\n$p2 add $r5 $r0 0x1").r[5] == 0
    assert run("mov $r1 0x4\nmov $pred $r1\nnop\n$p2 add $r5 $r0 0x1").r[5] == 1


def test_pred_write_loses_against_a_later_predicate_write() -> None:
    core = run("mov $r1 0x4\nmov $pred $r1\nsetlt $p2 $r0 $r0\nnop\nnop")
    assert core.p[2] == 0


def test_two_writes_of_one_register() -> None:
    assert run("ld $r1 D[0x0]\nnop\nmov $r1 0x5\nnop\nnop").r[1] == 5, "landing together, the later one wins"
    assert run("ld $r1 D[0x0]\nmov $r1 0x5\nnop\nnop").r[1] == 0x1234, "landing last, the load wins"
    core = run("ld $r1 D[0x0]\nmov $r1 0x5\nor $r5 $r1 0x0\nor $r6 $r1 0x0")
    assert (core.r[5], core.r[6]) == (5, 0x1234)
    assert run("ld $r1 D[0x0]\nnop\nmov $r1 0x5\nor $r5 $r1 0x0").r[5] == 5


def test_loads_read_memory_at_issue() -> None:
    assert run("mov $r2 0x9\nld $r1 D[0x0]\nst D[0x0] $r2\nnop").r[1] == 0x1234
    assert run("mov $r2 0x9\nst D[0x0] $r2\nld $r1 D[0x0]\nnop\nnop").r[1] == 9, "no filler after a store"


def test_guarded_off_instructions_do_nothing_but_take_a_cycle() -> None:
    text = "mov $r2 0x7\n" + "\n".join(
        f"$p2 {x}" for x in ("add $r1 $r2 $r2", "ld $r3 D[0x0]", "st D[0x0] $r2", "lmulu $r2 $r2", "bra #end",
                             "or $r4 $h2v 0x0", "add $cstop $r2 $r2", "or $r4 $cstop 0x0", "mvswrite", "clicnt")
    )  # fmt: skip
    core = Core("vp4")
    core.load(text + "\nadd $r6 $r0 0x1\nend: bra #end\nnop")
    core.data[0] = 0x1234
    core.run(12)
    assert (core.r[1], core.r[3], core.r[4], core.r[6]) == (0, 0, 0, 1)
    assert core.data[0] == 0x1234
    assert core.acc[0] == 0
    assert core.icnt == 12


# --- flow -------------------------------------------------------------------------------------------------------------


def test_delay_slots() -> None:
    core = run("bra #there\nadd $r1 $r0 0x1\nadd $r2 $r0 0x1\nthere: add $r3 $r0 0x1")
    assert core.r[1:4] == [1, 0, 1]
    core = run("call #sub\nadd $r1 $r1 0x1\nadd $r2 $r2 0x1\nbra #end\nnop\n"
               "sub: or $r6 $cspos 0x0\nret\nadd $r3 $r3 0x1\nadd $r4 $r4 0x1")  # fmt: skip
    assert core.r[1:5] == [1, 1, 1, 0]
    assert core.r[6] == 1
    assert core.sr["cspos"] == 0


def test_return_address_is_an_option() -> None:
    text = "call #sub\nnop\nadd $r1 $r1 0x1\nbra #end\nnop\nsub: or $r2 $cstop 0x0\nnop"
    assert run(text).r[2] == 2
    assert run(text, options=Options(return_offset=1)).r[2] == 1


def test_call_stack_register() -> None:
    core = run("mov $r1 0x11\nmov $cstop $r1\nmov $r1 0x22\nmov $cstop $r1\nslct $r2 $p15 $r1 $r1\nor $r3 $cstop 0x0\n"
               "slct $r4 $p2 $cstop $r0")  # fmt: skip
    assert core.r[3] == 0x22
    assert core.r[4] == 0, "the other source was selected"
    assert core.sr["cspos"] == 0, "but naming $cstop popped"


def test_call_stack_limits() -> None:
    with pytest.raises(MachineFault, match="CALL_STACK_UNDERFLOW"):
        run("ret\nnop")
    with pytest.raises(MachineFault, match="CALL_STACK_OVERFLOW") as caught:
        run("mov $cstop $r0\n" * 9)
    assert caught.value.pc == 8
    core = run("".join(f"mov $r1 {n}\nmov $cstop $r1\n" for n in range(9)), options=Options(full_stack="drop_oldest"))
    assert core.sr.stack == list(range(1, 9))
    assert run("or $r1 $cstop 0x0", options=Options(empty_stack="zero")).r[1] == 0


def test_branch_in_a_delay_slot_follows_one_instruction_of_the_first_target() -> None:
    core = run("bra #a\nbra #b\nadd $r1 $r0 0x1\na: add $r2 $r0 0x1\nadd $r3 $r0 0x1\nbra #end\nnop\n"
               "b: add $r4 $r0 0x1")  # fmt: skip
    assert core.r[1:5] == [0, 1, 0, 1]


def test_relative_branches() -> None:
    core = run("0x1 rbra #there add $r1 $r0 0x1\nadd $r2 $r0 0x1\nadd $r3 $r0 0x1\nthere: add $r4 $r0 0x1", "vp2")
    assert core.r[1:5] == [1, 1, 0, 1], "main slot, delay slot and target"
    core = run("not $p8 rbra #there seteq $p8 $r0 $r0\nnop\nadd $r3 $r0 0x1\nthere: nop", "vp2")
    assert core.r[3] == 0, "the branch does not see the main slot's output"
    core = run("0x1 rbra #a bra #b\nnop\na: add $r1 $r0 0x1\nbra #end\nnop\nb: add $r2 $r0 0x1", "vp2")
    assert core.r[1:3] == [0, 1], "both branch: the main slot wins"
    core = run(
        "0x1 rbra #a $p2 bra #b\nnop\nbra #end\nnop\na: add $r1 $r0 0x1\nbra #end\nnop\nb: add $r2 $r0 0x1", "vp2"
    )
    assert core.r[1:3] == [1, 0], "only the relative one is taken"


def test_relative_distance_can_be_signed() -> None:
    text = "bra #x\nnop\nadd $r1 $r0 0x1\nbra #end\nnop\nx: $p15 rbra 0x42 nop\nnop"
    core = Core("vp2", Options(signed_relative=True))
    core.load(text + "\nend: bra #end\nnop")
    core.run(30)
    assert core.r[1] == 1, "0x42 - 5 = 61, which is -3"


def test_pc_wraps() -> None:
    core = Core("vp3")
    core.load("nop\nend: bra #end\nnop")
    core.load("bra 0x7fe\nnop", start=True)
    core.load_words([0x08011064, 0x08021064], 0x7FE)
    core.run(10)
    assert core.r[1:3] == [1, 1]
    assert core.sr["pc"] == core.pc


# --- watching ---------------------------------------------------------------------------------------------------------


def cycles(text: str, variant: str = "vp4") -> list:
    core = Core(variant)
    core.data[0] = 0x1234
    core.load(text + "\nend: bra #end\nnop")
    return list(core.watch(12))


def test_watching_names_what_landed_and_the_hazards() -> None:
    out = cycles("ld $r1 D[0x0]\nadd $r2 $r1 0x1\nmov $r1 0x5\nnop")
    assert [c.text for c in out[:3]] == ["ld $r1 D[0x0]", "add $r2 $r1 0x1", "mov $r1 0x5"]
    assert out[0].hazards == 0
    assert out[1].hazards == Hazard.OLD
    assert "reads the old $r1" in str(out[1])
    assert out[2].hazards == Hazard.LOST
    out = cycles("ld $r1 D[0x0]\nmov $r1 0x5\nnop\nnop")
    assert out[1].hazards == Hazard.LATE
    assert [(x.register, x.value, x.origin) for x in out[2].landed] == [("$r1", 0x1234, 0)]
    out = cycles("mov $r2 0x3\nlmulu $r2 $r2\nlsrr 0x0\nnop\nnop")
    assert out[2].hazards == Hazard.OLD | Hazard.ABORTED
    out = cycles("mov $qpc $r2\nor $r1 $qpc 0x0\nor $r1 $qpc 0x0")
    assert [bool(c.hazards) for c in out[:3]] == [False, True, False]
    out = cycles("seteq $p0 $r0 $r0\nor $r1 $pred 0x0\nor $r1 $pred 0x0")
    assert [bool(c.hazards) for c in out[:3]] == [False, True, False]
    assert {x.register for x in out[0].landed} == {"$p0", "$np0"}


def test_watching_changes_nothing() -> None:
    text = "mov $r3 0x9\nloop: ld $r1 D[0x0]\nadd $r2 $r2 $r1\nst D[0x0] $r2\nsub $r3 $r3 0x1\nsetgt $p2 $r3 0x0\n"
    text += "$p2 bra #loop\nlmulu $r2 $r3\nlsrr 0x2\nmov $v2h $r2"
    one, two = Core("vp4"), Core("vp4")
    for core in (one, two):
        core.data[0] = 0x77
        core.load(text + "\nend: bra #end\nnop")
    seen: list = []
    two.on_cycle = seen.append
    one.run(90)
    two.run(90)
    assert len(seen) == 90
    assert one.state() == two.state()
