"""Effects: random instructions agree with the plain reading of the trace language, and the rules one by one."""

from __future__ import annotations

import copy
import random
import warnings

import numpy as np
import pytest

from isakit.engine import Lanes, compile_trace
from isakit.engine.codegen import EngineError
from isakit.sem import trace as t
from isakit.sem.value import Value, concat, const, mask, param, select
from unit.engine.fake_machine import MEMORY, LaneMachine, ScalarMachine, step
from unit.engine.random_graphs import GraphMaker, awkward

FILES = {
    "r": (np.uint32, 32, 8),
    "a": (np.uint16, 16, 4),
    "p": (bool, 1, 4),
    "c": (np.uint8, 4, 4),
    "d": (np.uint64, 64, 4),
}
WIDTHS = (1, 4, 8, 16, 32, 33, 64, 128)
TOTAL = 12


def index(rng: random.Random, maker: GraphMaker) -> Value:
    kind = rng.random()
    if kind < 0.45:
        return param(f"i{rng.randrange(4)}", 3)
    return const(rng.randrange(9), 32) if kind < 0.8 else maker.pick(32).bits(0, 3)


def random_trace(rng: random.Random) -> tuple[t.Trace, dict[str, int]]:
    maker = GraphMaker(rng, [param(f"u{w}", w) for w in WIDTHS], WIDTHS)
    params = {f"u{w}": awkward(rng, w) for w in WIDTHS} | {f"i{k}": rng.randrange(8) for k in range(4)}
    with t.tracing() as trace:
        for _ in range(5):
            name = rng.choice(list(FILES))
            width = FILES[name][1]
            maker.pool[width].append(t.read(name, index(rng, maker), width))
        maker.pool[32].append(t.machine("lane", 32))
        maker.pool[16].append(t.machine("clock", 16))
        maker.pool[32].append(t.machine("twice", 32, maker.pick(32)))
        for _ in range(rng.randrange(3, 14)):
            for _ in range(rng.randrange(4)):
                maker.grow()
            when = rng.choice([None, None, maker.pick(1)])
            match rng.choice(["write", "write", "load", "store", "atomic", "control", "trap"]):
                case "write":
                    name = rng.choice(list(FILES))
                    t.write(name, index(rng, maker), maker.pick(FILES[name][1]), when)
                case "load":
                    size = rng.choice([1, 2, 4, 8, 16])
                    maker.pool[8 * size].append(t.load("g", maker.pick(32), size, when, flag=size))
                case "store":
                    t.store("g", maker.pick(32), maker.pick(rng.choice([8, 16, 32, 64, 128])), when)
                case "atomic":
                    maker.pool[32].append(t.atomic("g", "add", maker.pick(32), maker.pick(32), size=4))
                case "control":
                    t.control("go", maker.pick(32), maker.pick(1), note="x")
                case _:
                    t.trap("bad", when)
    return trace, params


def lanes_of(rng: random.Random) -> Lanes:
    count = rng.choice([TOTAL, 5])
    active = None if rng.random() < 0.4 else np.array([rng.random() < 0.6 for _ in range(count)])
    if rng.random() < 0.6:
        return Lanes.span(rng.randrange(TOTAL - count + 1), count, active)
    return Lanes(np.array(rng.sample(range(TOTAL), count)), count, active)


@pytest.mark.parametrize("seed", range(150))
def test_random_traces(seed: int) -> None:
    rng = random.Random(seed)
    trace, params = random_trace(rng)
    values = {n: [[awkward(rng, w) for _ in range(TOTAL)] for _ in range(k)] for n, (_, w, k) in FILES.items()}
    memory = [bytearray(rng.randbytes(MEMORY)) for _ in range(TOTAL)]
    lanes = lanes_of(rng)
    vector = LaneMachine({n: np.array(values[n], FILES[n][0]) for n in FILES}, copy.deepcopy(memory))
    program = compile_trace(trace, "numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        controls = program.run(vector, lanes, [params[f] for f in program.fields])
    single = compile_trace(trace, "scalar")
    traps: dict[str, list[int]] = {}
    for lane in range(TOTAL):
        plain, generated = (
            ScalarMachine({n: [row[lane] for row in values[n]] for n in FILES}, memory[lane].copy(), lane)
            for _ in range(2)
        )
        position = lanes.numbers.tolist().index(lane) if lane in lanes.numbers else None
        if position is not None and lanes.mask[position]:
            wanted = step(trace, plain, params)
            got = single.run(generated, None, [params[f] for f in single.fields])
            assert got == wanted
            assert generated.log == plain.log
            assert generated.files == plain.files
            assert generated.memory == plain.memory
            picked = [[int(a[position]) if isinstance(a, np.ndarray) else a for a in c.args] for c in controls]
            assert picked == [list(c.args) for c in wanted]
            assert [(c.name, c.attrs) for c in controls] == [(c.name, c.attrs) for c in wanted]
            for entry in plain.log:
                if entry[0] == "trap":
                    traps.setdefault(entry[1], []).append(lane)
        assert {n: f[:, lane].tolist() for n, f in vector.files.items()} == plain.files
        assert vector.memory[lane] == plain.memory
    trapped = sorted(int(lanes.numbers[i]) for _, m in vector.traps for i, on in enumerate(m) if on)
    assert trapped == sorted(lane for found in traps.values() for lane in found)


def vector(**files: np.ndarray) -> LaneMachine:
    lanes = next(iter(files.values())).shape[1]
    return LaneMachine(files, [bytearray(MEMORY) for _ in range(lanes)])


def test_swap_reads_before_it_writes() -> None:
    with t.tracing() as trace:
        a, b = t.read("r", 0, 32), t.read("r", 1, 32)
        t.write("r", 0, b)
        t.write("r", 1, a)
        t.control("seen", a)
    m = vector(r=np.array([[1, 2], [3, 4]], np.uint32))
    (seen,) = compile_trace(trace).run(m, Lanes.span(0, 2))
    assert m.files["r"].tolist() == [[3, 4], [1, 2]]
    assert seen.args[0].tolist() == [1, 2]


def test_predicate_read_as_condition_survives_its_own_write() -> None:
    with t.tracing() as trace:
        p = t.read("p", 0, 1)
        t.write("p", 0, ~p)
        t.write("r", 0, const(7, 32), when=p)
    m = vector(r=np.zeros((1, 2), np.uint32), p=np.array([[True, False]]))
    compile_trace(trace).run(m, Lanes.span(0, 2))
    assert m.files["r"].tolist() == [[7, 0]]
    assert m.files["p"].tolist() == [[False, True]]


def test_memory_effects_keep_their_order() -> None:
    with t.tracing() as trace:
        before = t.load("g", const(8, 32), 4)
        t.store("g", const(8, 32), before + 5)
        after = t.load("g", const(8, 32), 4)
        t.write("r", 0, after)
        t.write("r", 1, before)
    m = vector(r=np.ones((2, 2), np.uint32))
    compile_trace(trace).run(m, Lanes.span(0, 2))
    assert m.files["r"].tolist() == [[5, 5], [0, 0]]
    assert [e[0] for e in m.log] == ["load", "store", "load"]


def test_wide_memory_never_needs_python_ints() -> None:
    with t.tracing() as trace:
        v = t.load("g", t.read("r", 0, 32), 16)
        parts = [v.bits(32 * i, 32) for i in range(4)]
        t.store("g", t.read("r", 1, 32), concat(*parts))
        t.write("r", 2, v.bits(48, 32))
    program = compile_trace(trace)
    assert "obj" not in program.source


def test_a_trap_that_raises_leaves_the_registers() -> None:
    class Fault(Exception):
        pass

    with t.tracing() as trace:
        a = t.read("r", 0, 32)
        t.write("r", 0, a + 1)
        t.trap("odd", a.bit(0))
    m = vector(r=np.array([[2, 4]], np.uint32))
    program = compile_trace(trace)
    program.run(m, Lanes.span(0, 2))
    assert m.files["r"].tolist() == [[3, 5]]
    assert m.traps == []

    def fault(kind: str, lanes_mask: np.ndarray) -> None:
        assert lanes_mask.tolist() == [True, False]
        raise Fault

    m.trap = fault  # type: ignore[method-assign]
    with pytest.raises(Fault):
        program.run(m, Lanes.span(0, 2, np.array([True, False])))
    assert m.files["r"].tolist() == [[3, 5]]


def test_delayed_writes_go_to_the_machine() -> None:
    with t.tracing() as trace:
        t.write("r", param("d", 5), t.read("r", 0, 32) + 1, latency=3)
        t.write("r", 1, t.read("r", 0, 32), latency=1)
        t.write("p", 0, t.read("r", 0, 32) == 5, delayed=True)
    m = ScalarMachine({"r": [5, 0, 0], "p": [0]}, bytearray(MEMORY))
    compile_trace(trace, "scalar").run(m, None, [2])
    assert m.log == [("delayed", "r", 2, 6, {"latency": 3}), ("delayed", "p", 0, 1, {"delayed": True})]
    assert type(m.log[1][3]) is int
    assert m.files["r"] == [5, 5, 0]
    with pytest.raises(EngineError):
        compile_trace(trace, "numpy")


def test_file_edges_and_narrow_reads() -> None:
    with t.tracing() as trace:
        t.write("r", 9, const(1, 32))
        t.write("r", 0, t.read("r", 77, 32) + t.read("r", 1, 16).zext(32))
        t.write("r", 2, t.read("r", 1, 1).zext(32))
    m = vector(r=np.full((3, 2), 0x12345679, np.uint32))
    compile_trace(trace).run(m, Lanes.span(0, 2))
    assert m.files["r"].tolist() == [[0x5679] * 2, [0x12345679] * 2, [1] * 2]


def test_equal_parts_are_computed_once() -> None:
    with t.tracing() as trace:
        for d in range(3):
            t.write("r", d, t.read("r", 0, 32) * t.read("r", 1, 32))
    assert compile_trace(trace).source.count("*") == 1


def test_uniform_parts_are_ints() -> None:
    offset = select(param("neg", 1), -param("imm", 32), param("imm", 32)) << 2
    with t.tracing() as trace:
        t.write("r", 0, t.read("r", 0, 32) + offset)
    program = compile_trace(trace)
    m = vector(r=np.array([[100, 200]], np.uint32))
    program.run(m, Lanes.span(0, 2), [{"neg": 1, "imm": 3}[f] for f in program.fields])
    assert m.files["r"].tolist() == [[88, 188]]
    assert "where" not in program.source
    assert mask(32) == 0xFFFFFFFF
