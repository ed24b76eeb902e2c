"""Branches, loops, calls, repeats, memory; what is refused or noted; which registers an instruction touches."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit import usse
from support.generators.usse_lanes import LANES, f32, random_core, same


@pytest.fixture(scope="module")
def isa():
    return isakit.isa("usse")


@pytest.fixture
def core():
    return random_core()


def test_predicates_and_branches(isa, core):
    core.run(
        isa.assemble("""
        vtst.sub.f32 lt p0.x pa0 c0.xyzw
        vmov.i32 r9 pa1
        p0 vmov.i32 r9 pa2
        !p0 br +3
        vmov.i32 r10 pa3
        br +2
        vmov.i32 r10 pa4
        vmov.i32 r11 pa5
    """)
    )
    negative = f32(core.pa[0]) < 0
    assert 0 < negative.sum() < LANES
    same(core.r[9], np.where(negative, core.pa[2], core.pa[1]))
    same(core.r[10], np.where(negative, core.pa[3], core.pa[4]))
    same(core.r[11], core.pa[5])


def test_loop_with_different_counts(isa):
    c = usse.Core(16)
    c.pa[0] = np.arange(16)
    c.run(
        isa.assemble("""
        limm.u32 r1 1
        limm.u32 r2 0xffffffff
        vtst.sub.u32 eq p0.x pa0 #0x0
        p0 br +4
        i32mad2.u32 pa1 r1 pa0 pa1
        i32mad2.u32 pa0 r1 pa0 r2
        br -4
        vmov.i32 o0 pa1
    """)
    )
    same(c.o[0], np.array([n * (n + 1) // 2 for n in range(16)], np.uint32))


def test_call_and_return(isa):
    c = usse.Core(4)
    c.run(
        isa.assemble("""
        limm.u32 r1 5
        br +4 savelink
        br +3 savelink
        br +4
        nop
        i32mad2.u32 r0 r1 r1 r0
        ret
    """)
    )
    same(c.r[0], np.full(4, 50, np.uint32))


def test_kill_and_depth(isa, core):
    core.run(
        isa.assemble("""
        vtst.sub.f32 ge p1.x pa0 c0.xyzw
        kill !p1
        depthf pa2 #0x0 #0x0
    """)
    )
    dead = f32(core.pa[0]) < 0
    same(core.killed, dead)
    same(core.depth[~dead], f32(core.pa[2])[~dead])


def test_indexed_registers(isa):
    c = usse.Core(8)
    c.sa[:] = np.arange(256, dtype=np.uint32)[:, None]
    c.idx[1] = np.arange(8)
    c.run(isa.assemble("or.u32 r0 sa[idx1+10] #0x0\nvmov.f32 r2.xy sa[idx1*2+8].xyzw"))
    same(c.r[0], 10 + np.arange(8, dtype=np.uint32))
    same(c.r[2], 8 + 2 * np.arange(8, dtype=np.uint32))
    same(c.r[3], 9 + 2 * np.arange(8, dtype=np.uint32))


def test_repeat_increments(isa, core):
    core.run(
        isa.assemble(
            "smlsi limits 0 0 0 d 2 s0 1 s1 -1 s2 1\nor.u32 o0 r5 #0x0 repeat 3\n"
            "smlsi limits 0 0 0 d 1 s0 1 s1 o2301 s2 1\nvmov.f32 o20.xy pa8.xyzw repeat 4"
        )
    )
    same(core.o[[0, 2, 4]], core.r[[5, 4, 3]])
    for k, at in enumerate((2, 3, 0, 1)):
        same(core.o[20 + 2 * k : 22 + 2 * k], core.pa[8 + 2 * at : 10 + 2 * at])


def test_dual_issue_reads_before_it_writes(isa, core):
    before = f32(core.i).copy()
    core.run(isa.assemble("dual3.f32 vmov i1.xyz pa2.xyz + frsq r9.x i0.xxx"))
    same(f32(core.i[4:7]), f32(core.pa[2:5]))
    with np.errstate(invalid="ignore"):
        expected = 1 / np.sqrt(before[0].astype(np.float64))
    same(f32(core.r[9]), expected.astype(np.float32))


def test_loads_and_stores(isa):
    c = usse.Core(4)
    data = np.arange(64, dtype=np.uint32)
    address = c.memory.add(data.view(np.uint8))
    c.sa[2] = address - 4
    c.pa[4] = 1000 + np.arange(4)
    c.run(isa.assemble("ldr.32 pa0 sa2 #0x3 #0x0 x2 drc0\nwdf drc0\nstr.32 pa4 sa2 #0x8 x1 drc0"))
    assert (c.pa[0] == 3).all()
    assert (c.pa[1] == 4).all()
    assert data[8] == 1003
    with pytest.raises(isakit.MachineFault, match="INVALID_ADDRESS"):
        c.run(isa.assemble("nop\nldr.32 pa0 sa2 #0x40 #0x0 x16 drc0"))


# --- honesty ---------------------------------------------------------------------------------------------------------
def test_unknown_instructions_are_refused(isa):
    for text in (
        "rlp.u32 r0 r1 r2",
        "i8mad2",
        "vpck.o8.f32 r0.x pa0.xyzw pa2",
        "Pn vmov.i32 r0 r1",
        "spec 0x1 0x4",
        "spec 0x1 0x5 {0x1}",
    ):
        with pytest.raises(isakit.NotModelled):
            usse.Core().run(isa.assemble(text))


def test_a_special_instruction_of_unknown_meaning_may_end_a_program(isa):
    core = usse.Core().run(isa.assemble("vmov.i32 r0 #0x7\nspec 0x1 0x5"))
    assert core.r[0, 0] == 7
    assert "last instruction" in core.notes["spec_1_5"]
    with pytest.raises(isakit.NotModelled, match="before other instructions"):
        usse.Core().run(isa.assemble("spec 0x1 0x5\nvmov.i32 r0 #0x7"))


def test_inferred_knowledge_is_noted_once(isa):
    c = usse.Core().run(isa.assemble("vdsx.f32 r0.x pa0.xyzw pa0.xyzw\nvdsy.f32 r2.x pa0.xyzw pa0.xyzw"))
    assert len(c.notes) == 1
    assert "inferred" in next(iter(c.notes.values()))
    assert not usse.Core().run(isa.assemble("vmul.f32 r0.x pa0.xyzw pa0.xyzw")).notes


def test_endless_loops_end(isa):
    with pytest.raises(isakit.BudgetExceeded):
        usse.Core().run(isa.assemble("br +0"), max_instructions=1000)


def test_flushing_rule(isa):
    tiny = np.array([1e-40], np.float32).view(np.uint32)
    for flush, expected in ((False, tiny[0]), (True, 0)):
        c = usse.Core(rules=usse.Rules(flush=flush))
        c.pa[0] = tiny
        c.run(isa.assemble("vmul.f32 r0.x pa0.xyzw c2.xxxx"))
        assert c.r[0, 0] == expected


# --- what an instruction touches -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("!p0 vmad2.f32 r4.xy pa2.xyzw sa4.xyzw i1.xyzw", {"p0", "pa2", "sa4", "i1"}, {"r4"}),
        ("dual3.f32 vdp i1.x sa46.xyz i1.xyz + frsq pa0.x i0.xxx", {"sa46", "i1", "i0"}, {"i1", "pa0"}),
        ("vtst.sub.f32 lt p2.x pa0 sa2.xyzw", {"pa0", "sa2"}, {"p2"}),
        ("or.u32 r2 sa[idx1+4] #0x0", {"sa[idx1+4]", "idx1"}, {"r2"}),
    ],
)
def test_registers_read_and_written(isa, text, reads, writes):
    i = isa.assemble(text)[0]
    assert set(i.reads) == reads
    assert set(i.writes) == writes


def test_branches_take_distances_and_labels(isa):
    text = "nop\nback:\nnop\nbr {}\nbr {}\nahead:\nnop"
    assert isa.assemble(text.format("back", "ahead")).words == isa.assemble(text.format("-1", "+1")).words
    program = isa.assemble(text.format("-1", "+1"))
    assert "br L0001" in str(program)
    assert isa.assemble(str(program)).words == program.words
