"""What the analyses say of real programs, held against executing them and against NVIDIA's texts."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isakit
from conftest import ROOT
from isakit.analysis import EdgeKind, KernelNames, Uniformity, control_flow, liveness
from isakit.asm import Program
from isakit.codec import decoder
from isakit.machine.tesla import Machine
from isakit.runtime import Device
from isakit.vuc import Core

FOLDERS = ("corpus/tesla/cubins/*.cubin", "corpus/tesla/textcubins/*.cubin", "corpus/usse/gxp/*.gxp")


def programs(shared: Path) -> Iterator[tuple[str, Program]]:
    for pattern in FOLDERS:
        for path in sorted(shared.glob(pattern)):
            for name, kernel in isakit.load(path).kernels.items():
                yield f"{path.name} {name}", kernel.program


def check_blocks(name: str, program: Program) -> None:
    """Blocks hold every valid instruction once, in order; targets start blocks; edges leave from their ends."""
    flow = control_flow(program)
    held = [i.address for b in flow.blocks for i in b.instructions]
    assert held == [i.address for i in program if i.valid], name
    starts = {b.address for b in flow.blocks}
    for i in program:
        assert not i.valid or {t for t in i.targets if t in set(held)} <= starts, (name, i)
    assert not flow.unresolved or any(not i.targets for i in program), name
    for f in flow.functions:
        assert f.entry in starts, name


@pytest.mark.parametrize("part", range(6))
def test_blocks_partition_the_code_and_targets_start_blocks(shared: Path, part: int) -> None:
    count = 0
    for n, (name, program) in enumerate(programs(shared)):
        if n % 6 == part:
            check_blocks(name, program)
            count += 1
    assert count > 20


@pytest.mark.parametrize("variant", ["vp2", "vp3", "vp4"])
def test_blocks_of_microcode_partition_it(variant: str) -> None:
    checked = 0
    for path in sorted((ROOT / "examples/vuc").glob("p*.s")):
        try:
            program = isakit.isa("vuc", variant).assemble(path.read_text(encoding="utf-8"))
        except isakit.AsmError:
            continue  # not every program is for every core
        check_blocks(path.name, program)
        checked += 1
    assert checked >= 3


# --- executing --------------------------------------------------------------------------------------------------------


class Watched:
    """A launch, one instruction of one warp at a time."""

    def __init__(self, program: Program, machine: Machine) -> None:
        self.program, self.machine = program, machine

    def steps(self) -> Iterator[tuple[Any, int, int]]:
        """(warp, address, active lanes) of each step; the instruction is executed after the consumer has looked.

        Only the warp that is executed next has its state looked at.
        """
        while True:
            before = [(w, w.pc, w.active) for b in self.machine.blocks for w in b.warps]
            warp = self.machine.step()
            if warp is None:
                return
            yield next(x for x in before if x[0] is warp)


def of_corpus(shared: Path, name: str) -> tuple[Program, Machine, Any]:
    """A launch of the corpus: its program, a machine at its start, and a function that gives the memory."""
    record = json.loads((shared / "corpus/tesla/programs" / f"{name}.json").read_text())
    device = Device("g80", engine="reference")
    code = [int(w, 16) for w in record["words"]]
    kernel = device.load(code, registers=record["registers"], shared=record["shared_bytes"])["main"]
    kernel.constants = {1: bytes.fromhex(record["c1"])}
    memory = device.alloc(0x20000)
    image = np.zeros(0x8000, np.uint32)
    for p in record["global_in"]:
        image[p["address"] // 4 :][: len(p["words"])] = [int(w, 16) for w in p["words"]]
    device.write(memory, image)
    device.bind(14, memory)
    params = np.array([int(w, 16) for w in record["params"]], np.uint32).tobytes()
    grid = [1, 1] if name == "matmul_tiled" else record["grid"]
    machine = kernel.machine(grid, record["block"], param_bytes=params, limits=False)
    return isakit.isa("tesla", "g80").disassemble(code), machine, lambda: device.read(memory, np.uint32, 0x8000)


def of_examples(_: Path, name: str) -> tuple[Program, Machine, Any]:
    program = isakit.isa("tesla", "gt200").assemble((ROOT / "examples/tesla" / f"{name}.s").read_text())
    f32, u32 = np.float32, np.uint32
    out = np.zeros(64, u32)
    arguments: list[Any] = {
        "mandelbrot": [out, u32(8), u32(6), f32(-2), f32(-1.5), f32(0.4)],
        "hash_reduce": [out, u32(5), u32(3)],
    }[name]
    machine = Device("gt200", engine="reference").load(program)[name].machine(1, (8, 4) if name == "mandelbrot" else 64,
                                                                              arguments)  # fmt: skip
    return program.kernels[name], machine, out.copy


LAUNCHES = [
    *((of_corpus, n) for n in ("vecadd_int", "vecadd_float", "nn_distance", "exp2", "log2")),
    (of_examples, "mandelbrot"), (of_examples, "hash_reduce"),
]  # fmt: skip
_STEPS = 1200


def check_edges(name: str, program: Program, taken: set[tuple[int, int]]) -> None:
    """Every way from one instruction to the next is an edge of the graph, or within a block."""
    flow = control_flow(program)
    allowed = {(e.source, e.target) for e in flow.edges if e.kind is not EdgeKind.CALL}
    for a, b in taken:
        one, two = flow.block_at(a), flow.block_at(b)
        inside = one is two and b == a + one.at(a).size
        assert inside or (one.number, two.number) in allowed, (name, hex(a), hex(b))


@pytest.mark.parametrize(("source", "name"), LAUNCHES)
def test_executing_takes_no_edge_the_graph_lacks(shared: Path, source: Any, name: str) -> None:
    program, machine, _ = source(shared, name)
    last: dict[tuple[int, int], int] = {}
    taken: set[tuple[int, int]] = set()
    for n, (warp, pc, active) in enumerate(Watched(program, machine).steps()):
        for lane in range(32):
            if active >> lane & 1:
                key = id(warp), lane
                if key in last:
                    taken.add((last[key], pc))
                last[key] = pc
        if n == _STEPS:
            break
    check_edges(name, program, taken)
    assert len(taken) > 5


@pytest.mark.parametrize(("source", "name"), LAUNCHES)
def test_dead_registers_may_hold_noise_in_every_step(shared: Path, source: Any, name: str) -> None:
    """Before every step the active lanes' dead registers are overwritten; the memory afterwards is the same."""
    results: list[np.ndarray] = []
    for noisy in (False, True):
        program, machine, memory = source(shared, name)
        live = liveness(control_flow(program))
        rng = np.random.default_rng(1)
        changed = 0
        for _ in range(_STEPS):
            if noisy:
                changed += sum(_spoil(w, live.before(w.pc), rng) for b in machine.blocks for w in b.warps if w.active)
            if machine.step() is None:
                break
        results.append(memory())
        assert changed > 50 or not noisy
    assert np.array_equal(*results)


def _spoil(warp: Any, live: frozenset[tuple[str, int]], rng: np.random.Generator) -> int:
    """Noise into what is dead in the active lanes; how many registers that were."""
    lanes = np.flatnonzero([warp.active >> n & 1 for n in range(32)])
    count = 0
    for file, values, most in (("r", warp.registers, 1 << 32), ("c", warp.conditions, 16)):
        for n in range(len(values)):
            if (file, n) not in live:
                values[n, lanes] = rng.integers(0, most, len(lanes))
                count += 1
    return count


@pytest.mark.parametrize(("source", "name"), LAUNCHES)
def test_uniform_values_are_the_same_in_all_active_lanes(shared: Path, source: Any, name: str) -> None:
    program, machine, _ = source(shared, name)
    uniform = Uniformity(control_flow(program))
    by_address = {i.address: i for i in program}
    checked = 0
    for _ in range(_STEPS):
        for warp in (w for b in machine.blocks for w in b.warps if w.active):
            lanes = np.flatnonzero([warp.active >> n & 1 for n in range(32)])
            for file, n in by_address[warp.pc].uses:
                values = {"r": warp.registers, "c": warp.conditions, "a": warp.addresses}.get(file)
                if values is not None and n < len(values) and uniform.uniform(warp.pc, (file, n)):
                    assert len(set(values[n, lanes].tolist())) == 1, (hex(warp.pc), file, n)
                    checked += 1
        if machine.step() is None:
            break
    assert checked > 0 or name not in ("mandelbrot", "nn_distance", "hash_reduce")


@pytest.mark.parametrize(
    ("name", "variant"), [("p1_copy_checksum", "vp2"), ("p1_copy_checksum", "vp3"), ("p4_median_mv", "vp3"),
                          ("p5_qp", "vp3")],
)  # fmt: skip
def test_microcode_takes_no_edge_the_graph_lacks(name: str, variant: str) -> None:
    text = (ROOT / f"examples/vuc/{name}.s").read_text(encoding="utf-8")
    program = isakit.isa("vuc", variant).assemble(text)
    core = Core(variant)
    core.load(text)
    rng = random.Random(3)
    for n in range(64):
        core.data[n] = rng.getrandbits(16)
    flow = control_flow(program)
    allowed = {(e.source, e.target) for e in flow.edges if e.kind is not EdgeKind.CALL}
    unit = program.decoder.view.variant.unit_bytes
    before = None
    taken = 0
    for _ in range(400):
        here = flow.block_at(core.pc * unit)
        waits = before is not None and core.pc == before[1]  # asleep
        if before is not None and not waits and (here.number != before[0].number or core.pc != before[1] + 1):
            assert (before[0].number, here.number) in allowed, (before[1], core.pc)
            taken += 1
        before = here, core.pc
        core.step(1)
    assert taken > 0


def spoiled(name: str, variant: str, which: str) -> list[int]:
    """What microcode leaves in D[] while noise is written into its dead registers, its live ones, or none."""
    text = (ROOT / f"examples/vuc/{name}.s").read_text(encoding="utf-8")
    program = isakit.isa("vuc", variant).assemble(text)
    live, unit = liveness(control_flow(program)), program.decoder.view.variant.unit_bytes
    core, rng, noise = Core(variant), random.Random(3), random.Random(9)
    core.load(text)
    for n in range(64):
        core.data[n] = rng.getrandbits(16)
    for _ in range(400):
        alive = live.before(core.pc * unit)
        for n in range(1, 16):
            if which and (("r", n) in alive) is (which == "live"):
                core.r[n] = noise.getrandbits(16)
        core.step(1)
    return [*(core.data[n] for n in range(0x100)), core.pc]


@pytest.mark.parametrize(
    ("name", "variant"), [("p1_copy_checksum", "vp2"), ("p1_copy_checksum", "vp3"), ("p4_median_mv", "vp3"),
                          ("p5_qp", "vp3"), ("p7_partition_walk", "vp3")],
)  # fmt: skip
def test_dead_registers_of_microcode_may_hold_noise_in_every_cycle(name: str, variant: str) -> None:
    assert spoiled(name, variant, "dead") == spoiled(name, variant, "")


def test_live_registers_of_microcode_may_not() -> None:
    assert spoiled("p1_copy_checksum", "vp3", "live") != spoiled("p1_copy_checksum", "vp3", "")


# --- shaders ----------------------------------------------------------------------------------------------------------

PARTS = 4
_LANES = 4


def shaders(shared: Path, part: int) -> Iterator[tuple[str, Program]]:
    for path in sorted((shared / "corpus/usse/gxp").glob("*.gxp"))[part::PARTS]:
        for name, kernel in isakit.load(path).kernels.items():
            yield f"{path.name} {name}", kernel.program


def at_start(program: Program) -> isakit.usse.Core:
    """A core with numbers in all registers and a texture after every shared register."""
    picture = np.random.default_rng(5).random((4, 4, 4)).astype(np.float32)
    core = isakit.usse.Core(_LANES, textures={n: isakit.usse.Texture(picture) for n in range(0, 256, 2)})
    rng = np.random.default_rng(1)
    for file in ("pa", "sa", "r"):
        rows = getattr(core, file)
        rows[:] = rng.uniform(-2, 2, rows.shape).astype(np.float32).view(np.uint32)
    return core


def check_shader(name: str, program: Program) -> int:
    """How many ways from one instruction to the next lanes took."""
    last: dict[int, int] = {}
    taken: set[tuple[int, int]] = set()
    try:
        for i, lanes in at_start(program).steps(program, _STEPS):
            for lane in np.flatnonzero(lanes).tolist():
                if lane in last:
                    taken.add((last[lane], i.address))
                last[lane] = i.address
    except isakit.MachineFault:  # a shader that reads a buffer the test does not have
        pass
    check_edges(name, program, taken)
    return len(taken)


@pytest.mark.parametrize("part", range(PARTS))
def test_executing_shaders_takes_no_edge_the_graph_lacks(shared: Path, part: int) -> None:
    assert sum(check_shader(name, program) for name, program in shaders(shared, part)) > 100


def shader_results(program: Program, which: str) -> tuple[list[Any], int]:
    """What a shader leaves, and how many registers got noise: those that are dead, those that are live, or none."""
    core, noise = at_start(program), np.random.default_rng(9)
    live = liveness(control_flow(program))
    files = program.decoder.isa.registers
    spoiled = 0
    try:
        for i, lanes in core.steps(program, _STEPS):
            alive = live.before(i.address)
            for file in ("r", "pa", "i", "p") if which else ():
                rows = getattr(core, file)
                for n in range(min(len(rows), files[file].count)):
                    if ((file, n) in alive) is (which == "live"):
                        rows[n, lanes] = noise.integers(0, 2 if file == "p" else 1 << 32, int(lanes.sum()))
                        spoiled += 1
    except isakit.MachineFault:
        pass
    lasting = np.flatnonzero(~core.killed)  # nothing of killed pixels is kept
    handed = sorted(live.at_end)
    found = [getattr(core, file)[n, lasting].tolist() for file, n in handed if n < len(getattr(core, file))]
    return [found, core.killed.tolist(), None if core.depth is None else core.depth[lasting].tobytes()], spoiled


@pytest.mark.parametrize("part", range(PARTS))
def test_dead_registers_of_shaders_may_hold_noise_in_every_step(shared: Path, part: int) -> None:
    noisy = 0
    for name, program in shaders(shared, part):
        plain, spoiled = shader_results(program, "")[0], shader_results(program, "dead")
        assert spoiled[0] == plain, name
        noisy += spoiled[1]
    assert noisy > 1000


def test_live_registers_of_shaders_may_not(shared: Path) -> None:
    changed = 0
    for _, program in shaders(shared, 0):
        changed += shader_results(program, "live")[0] != shader_results(program, "")[0]
    assert changed > 5


# --- NVIDIA's texts ---------------------------------------------------------------------------------------------------

_TARGET = re.compile(r"\b(?:BRA|SSY|PBK|CAL)\S*(?: \S+,)? (0x[0-9a-f]+)$")


def test_targets_are_where_nvidia_says(shared: Path) -> None:
    coder = decoder(isakit.isa("tesla", "gt200").records, "gt200")
    count = 0
    for line in (shared / "corpus/tesla/sass-pairs.tsv").read_text().splitlines()[1:]:
        low, high, text = line.split("\t")[:3]
        found = _TARGET.search(text)
        if found and high:
            i = coder.one(int(low, 16) | int(high, 16) << 32, 2)
            assert i.target == int(found[1], 16), (text, i)
            count += 1
    assert count > 1000


_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\((.*?)\)(.*?)(?=\.entry|\Z)", re.DOTALL)
_PARAM = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.\w+\s+([\w$]+)")
_LOAD = re.compile(r"ld\.param\.\S+\s+[^;]*\[([\w$]+)")


def test_parameters_are_those_the_ptx_loads(shared: Path) -> None:
    """A parameter the code names is one that the PTX it was made from loads, and most that it loads are named."""
    named = loaded = 0
    for ptx in sorted((shared / "corpus/tesla/ptx").glob("*.ptx")):
        (cubin, *_) = (shared / "corpus/tesla/cubins").glob(f"{ptx.stem}.*.cubin")
        kernels = isakit.load(cubin).kernels
        for entry, head, body in _ENTRY.findall(ptx.read_text()):
            if entry not in kernels or len(kernels[entry].code) > 6000:
                continue
            names = KernelNames(kernels[entry])
            said = " ".join(n for i in kernels[entry].program if i.valid for n in names.of(i.address))
            ours = {int(n) for n in re.findall(r"\bp(\d+)\b", said)}
            order = {name: k for k, name in enumerate(_PARAM.findall(head))}
            theirs = {order[n] for n in _LOAD.findall(body) if n in order}
            assert ours <= theirs, (ptx.name, entry)
            named, loaded = named + len(ours), loaded + len(theirs)
    assert named > 100
    assert named > 0.9 * loaded
