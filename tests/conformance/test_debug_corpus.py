"""Sessions over the programs of the corpus: stepping to the end leaves what running leaves, and so does going back."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isakit
from conftest import ROOT
from isakit.arch.usse.arithmetic import DEFAULT
from isakit.debug.session import Session
from isakit.machine.vuc import Options
from isakit.runtime import Device
from isakit.runtime.usse import BoundShader
from isakit.vuc import Core
from support.generators import vuc_programs

from .test_tesla_programs import MEMORY_WORDS, PROGRAMS, image, loaded, words
from .test_usse_shaders import index, inputs_of

STEPS, BACK = 60, 1000
SHADER_LANES = 24
CYCLES = 400


def kernel(shared: Path, name: str) -> tuple[Session, Callable[[], np.ndarray], np.ndarray]:
    """A session, the memory as it is, and as the record says it should be at the end."""
    record = json.loads((shared / "corpus/tesla/programs" / f"{name}.json").read_text())
    device = Device("g80")
    code = loaded(device, record)
    memory = device.alloc(4 * MEMORY_WORDS)
    before = image(record["global_in"])
    device.write(memory, before)
    device.bind(14, memory)
    params = words(record["params"]).tobytes()
    made = code.machine(record["grid"], record["block"], param_bytes=params, limits=False)
    expected = before.copy()
    for p in record["global_expected"]:
        expected[p["address"] // 4 :][: len(p["words"])] = words(p["words"])
    return Session(made), lambda: device.read(memory, np.uint32, MEMORY_WORDS), expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_kernel_in_steps_and_runs_leaves_the_memory_of_its_record(shared: Path, name: str) -> None:
    session, memory, expected = kernel(shared, name)
    rnd = random.Random(name)
    while not session.finished:
        session.focus = session.execution.following or 0  # in the order of a run
        session.step(rnd.randrange(1, STEPS))
        if not session.finished:
            session.cont(rnd.randrange(1, 1 + max(200, session.position)))
    assert np.array_equal(memory(), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_kernel_stepped_all_the_way_leaves_the_memory_of_its_record(shared: Path, name: str) -> None:
    session, memory, expected = kernel(shared, name)
    while not session.finished:
        session.timeline.step()
    assert np.array_equal(memory(), expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_going_back_in_a_kernel_and_forth_again_gives_the_same_bytes(shared: Path, name: str) -> None:
    session, memory, expected = kernel(shared, name)
    session.cont()
    end = session.position
    assert np.array_equal(memory(), expected)
    session.goto(max(0, end - BACK))
    there = session.target.snapshot().content("tesla")["files"]["r"]
    session.goto(max(0, end - 2 * BACK))
    session.goto(max(0, end - BACK))
    assert np.array_equal(session.target.snapshot().content("tesla")["files"]["r"], there)
    session.goto(end)
    assert np.array_equal(memory(), expected)


def test_every_shader_stepped_to_its_end_leaves_what_running_leaves(shared: Path) -> None:
    folder = shared / "corpus/usse/gxp"
    for row in index(folder):
        shader: Any = isakit.load(folder / row["file"])
        given = inputs_of(shader)
        few = {n: {k: v[:SHADER_LANES] for k, v in given.get(n, {}).items()} for n in ("attributes", "varyings")}
        bound = BoundShader(shader, given["uniforms"], given.get("textures", {}), {}, DEFAULT, 1_000_000)
        grid, inputs = bound.grid(few["attributes"], few["varyings"], None, None)
        one, other = (bound.machine(inputs, None, 0, grid.lanes) for _ in range(2))
        one.start(bound.code)
        other.run(bound.code)
        session = Session(one)
        while not session.finished:
            session.timeline.step()
        for name, rows in other.files.items():
            assert np.array_equal(session.target.machine.files[name], rows), (row["file"], name)  # type: ignore[attr-defined]
        session.goto(session.position // 2)
        session.cont() if not session.finished else None
        assert all(np.array_equal(one.files[n], rows) for n, rows in other.files.items()), row["file"]


@pytest.mark.parametrize("path", sorted((ROOT / "examples/vuc").glob("p?_*.s")), ids=lambda p: p.stem)
def test_a_vuc_program_stepped_leaves_what_running_leaves(path: Path) -> None:
    text = path.read_text("utf-8")

    def fits(variant: str) -> bool:
        with suppress(isakit.AsmError):
            return bool(isakit.isa("vuc", variant).assemble(text))
        return False

    variant = next(v for v in ("vp3", "vp2", "vp4") if fits(v))

    def ready() -> Core:
        core = Core(variant, Options(unknown_ops="ignore"))
        core.load(text)
        return core

    one, other = ready(), ready()
    session = Session(one)
    other.run(CYCLES)
    while session.position < other.cycle:
        session.timeline.step()
    assert vuc_programs.everything(one) == vuc_programs.everything(other)
    session.goto(session.position // 3)
    session.goto(other.cycle)
    assert vuc_programs.everything(one) == vuc_programs.everything(other)
