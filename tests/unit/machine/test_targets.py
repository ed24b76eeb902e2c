"""What a debugger sees of the machines: threads, registers, memories, position, faults."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit.arch.usse.arithmetic import DEFAULT
from isakit.errors import LaunchError, MachineFault
from isakit.machine.target import RegisterRef
from isakit.machine.targets import target_of
from isakit.machine.usse import Machine, ShaderCode
from isakit.machine.usse.shader_memory import Memory
from isakit.vuc import Core

TESLA = """
mov b32 $r1 $r0
add b32 $r1 $r1 $r0
add b32 $r2 $r1 $r0
bra again
again:
long exit nop
"""


def tesla(source: str = TESLA, blocks: int = 2, threads: int = 64, registers: int = 4):
    device = isakit.Device("gt200", engine="reference")
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(source), registers=registers)["main"]
    return target_of(device.machine(kernel, blocks, threads, []))


def vuc(source: str = "mov $r1 5\nmov $r2 $r1\nend: bra end\nnop"):
    core = Core("vp3", engine="reference")
    core.load(source)
    return target_of(core)


def usse(source: str = "or.u32 r0 r1 #0x1\nor.u32 r1 r0 #0x2", lanes: int = 4):
    memory = Memory()
    memory.add(np.arange(64, dtype=np.uint8))
    m = Machine(lanes, memory=memory)
    m.start(ShaderCode(isakit.isa("usse").assemble(source), DEFAULT))
    return target_of(m)


ALL = pytest.mark.parametrize("make", [tesla, vuc, usse])


# --- threads and registers ---
@ALL
def test_a_register_that_is_written_reads_back(make):
    t = make()
    t.write_register(("r", 1), 0x1234, t.thread_count - 1)
    assert t.read_register(("r", 1), t.thread_count - 1) == 0x1234


@ALL
def test_a_register_keeps_the_bits_it_has(make):
    t = make()
    t.write_register(RegisterRef("r", 1), -1)
    assert t.read_register(("r", 1)) == (1 << t.register_files["r"].width) - 1


@ALL
def test_what_does_not_exist_is_an_error(make):
    t = make()
    for wrong in (("r", 4096), ("zz", 0)):
        with pytest.raises(LaunchError):
            t.read_register(wrong)
    with pytest.raises(LaunchError, match="no thread"):
        t.read_register(("r", 0), t.thread_count)
    with pytest.raises(LaunchError, match="no memory"):
        t.read_memory("nothing", 0, 1)
    with pytest.raises(LaunchError, match="no register"):
        t.register("nothing")


@pytest.mark.parametrize(
    ("make", "name", "register"),
    [(tesla, "$r3", ("r", 3)), (tesla, "$c1", ("c", 1)), (vuc, "$r3", ("r", 3)), (vuc, "$pc", ("sr", 8)),
     (usse, "pa7", ("pa", 7)), (usse, "idx1", ("idx", 1))],
)  # fmt: skip
def test_registers_have_the_names_of_listings(make, name, register):
    assert make().register(name) == register


def test_threads_of_tesla_are_lanes():
    t = tesla()
    assert t.thread_count == 128
    assert t.thread(70).name == "block (1, 0) warp 0 lane 6"
    assert (t.thread(70).address, t.thread(70).state, t.thread(70).active, t.thread(70).group) == (0, "ready", True, 2)


def test_lanes_that_do_not_exist_have_ended():
    t = tesla(threads=33)
    assert [t.thread(n).state for n in (32, 33)] == ["ready", "finished"]


def test_invocations_of_a_branch_stand_apart():
    t = usse("p0 br +2\nor.u32 r0 r1 #0x1\nor.u32 r1 r0 #0x2")
    t.write_register(("p", 0), 1, 2)
    t.step()
    assert [t.thread(n).address for n in range(4)] == [8, 8, 16, 8]


# --- memories ---
@pytest.mark.parametrize(("make", "space"), [(tesla, "s"), (vuc, "D"), (vuc, "host"), (vuc, "VP")])
def test_memory_that_is_written_reads_back(make, space):
    t = make()
    t.write_memory(space, 0x21, b"\x01\x02\x03")
    assert t.read_memory(space, 0x20, 5)[1:4] == b"\x01\x02\x03"


def test_each_block_has_its_own_shared_memory():
    t = tesla()
    t.write_memory("s", 0, b"\xaa", thread=0)
    t.write_memory("s", 0, b"\xbb", thread=127)
    assert (t.read_memory("s", 0, 1, thread=40), t.read_memory("s", 0, 1, thread=64)) == (b"\xaa", b"\xbb")


def test_buffers_of_shaders_lie_in_memory():
    t = usse()
    t.write_memory("memory", 0x10000002, b"\xff")
    assert t.read_memory("memory", 0x10000000, 4) == b"\x00\x01\xff\x03"


def test_unmapped_memory_is_a_fault():
    with pytest.raises(MachineFault, match="UNMAPPED_ADDRESS"):
        tesla().read_memory("g14", 0, 4)
    with pytest.raises(MachineFault, match="INVALID_ADDRESS"):
        usse().read_memory("memory", 0, 4)


@ALL
def test_code_can_be_read_and_not_written(make):
    t = make()
    assert any(t.read_memory("code", 0, 8))
    with pytest.raises(LaunchError, match="cannot be written"):
        t.write_memory("code", 0, b"\x00")


# --- execution ---
def test_a_run_stops_at_an_address():
    for t, address in ((tesla(), 8), (usse(), 8), (vuc(), 8)):
        stop = t.run(until=[address])
        assert (stop.reason, t.thread(stop.thread).address) == ("until", address)


def test_a_run_ends():
    assert [t.run().reason for t in (tesla(), usse())] == ["finished", "finished"]


def test_a_run_may_be_bounded():
    assert [t.run(max_instructions=1).reason for t in (tesla(), usse(), vuc())] == ["budget"] * 3


def test_a_step_executes_the_group_of_a_thread():
    t = tesla()
    assert t.step(thread=100) == 96
    assert [t.thread(n).address for n in (0, 32, 64, 96)] == [0, 0, 0, 4]


@ALL
def test_position_is_what_the_next_step_executes(make):
    t = make()
    for _ in range(3):
        thread = t.position
        if thread is None:
            break
        before = t.thread(thread).address
        group = t.thread(thread).group
        t.step()
        assert (t.thread(thread).address, t.thread(thread).group) != (before, group)


def test_a_fault_leaves_the_state_before_the_instruction():
    t = tesla("mov b32 $r1 0x100\nld b32 $r2 g14[$r1]\nexit nop")
    t.step()
    before = t.snapshot().content("tesla")
    with pytest.raises(MachineFault, match="UNMAPPED_ADDRESS"):
        t.step(thread=0)
    after = t.snapshot().content("tesla")
    assert all((before["files"][n] == after["files"][n]).all() for n in "rac")
    assert (before["warps"], before["stats"]["instructions"]) == (after["warps"], after["stats"]["instructions"])


def test_a_snapshot_of_another_machine_is_refused():
    with pytest.raises(LaunchError, match="cannot be restored"):
        usse().restore(vuc().snapshot())
    with pytest.raises(LaunchError, match="cannot be restored"):
        tesla().restore(tesla(blocks=3).snapshot())
    with pytest.raises(LaunchError, match="does not fit"):
        usse().restore(usse(lanes=5).snapshot())


def test_a_machine_without_a_program_is_no_target():
    with pytest.raises(LaunchError, match="no program"):
        target_of(Machine(1))
    with pytest.raises(LaunchError, match="not a machine"):
        target_of(object())
