"""Launches that the card does not start: programs often do not look, so the user is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import isakit
from isakit.errors import described_bug
from isakit.formats import write_elf_cubin
from isakit.hosts.cuda import dispatch
from isakit.hosts.cuda.codes import CudaError
from isakit.hosts.cuda.device_facts import card
from isakit.hosts.cuda.modules import WHOLE_FILE, ProgramModule
from isakit.hosts.cuda.objects import CudaFunction, LaunchRequest
from isakit.hosts.cuda.process_device import DeviceOptions
from isakit.hosts.cuda.session import Session
from isakit.hosts.cuda.table import functions
from isakit.programs.needs import module_of
from support.clients import cuda_build
from support.clients.cuda_build import run

BLOCK, GRID = (32, 1, 1), (1, 1, 1)
needs_compiler = pytest.mark.skipif(not cuda_build.has_compiler(), reason="needs `cc` on 64-bit x86 Linux")


@pytest.fixture
def said() -> list[str]:
    return []


def made(said: list[str], **options: Any) -> Session:
    return Session(DeviceOptions(card("sm_10"), engine="reference", tell=said.append, **options))


@pytest.fixture
def session(said: list[str]) -> Iterator[Session]:
    session = made(said)
    yield session
    session.close()


def function(session: Session, name: str = "count") -> CudaFunction:
    return CudaFunction(ProgramModule(session, WHOLE_FILE, cuda_build.elf_cubin()), name)


@pytest.mark.parametrize(
    ("grid", "block", "shared", "codes", "why"),
    [
        (GRID, (1024, 1, 1), 0, (9, 1), "block (1024, 1, 1) is larger than (512, 512, 64)"),
        (GRID, (32, 32, 1), 0, (9, 1), "1024 threads per block; GeForce 8800 GTX allows 512 (--no-limits"),
        (GRID, (1, 1, 65), 0, (9, 1), "is larger than (512, 512, 64)"),
        ((65536, 1, 1), BLOCK, 0, (9, 1), "grid (65536, 1, 1) is larger than (65535, 65535)"),
        ((1, 1, 2), BLOCK, 0, (9, 1), "the grid has 2 layers"),
        ((0, 1, 1), BLOCK, 0, (9, 1), "must be at least 1"),
        (GRID, (0, 1, 1), 0, (9, 1), "must be at least 1"),
        (GRID, BLOCK, 1 << 20, (9, 701), "bytes of shared memory; a block has 16384"),
    ],
)
def test_what_the_card_refuses_is_said_and_counted(
    session: Session,
    said: list[str],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int,
    codes: tuple[int, int],
    why: str,
) -> None:
    f = function(session)
    for _ in range(3):
        with pytest.raises(CudaError) as e:
            session.launch(LaunchRequest(f, grid, block, shared, bytes(4)))
        assert (e.value.code("runtime"), e.value.code("driver")) == codes
    assert len(said) == 1
    assert said[0].startswith("count was not launched: ")
    assert why in said[0]
    assert session.statistics.record().refused == {"count": 3}
    assert session.statistics.lines()[-1] == "0 calls, 0 faults, 3 launches refused"


def test_registers_that_a_block_does_not_get_are_said(session: Session, said: list[str]) -> None:
    f = function(session)
    f.kernel().code.registers = 100
    with pytest.raises(CudaError) as e:
        session.launch(LaunchRequest(f, GRID, (256, 1, 1), 0, bytes(4)))
    assert e.value.code("runtime") == 7
    assert said == [
        "count was not launched: 256 threads of 100 registers; GeForce 8800 GTX has 8192 "
        "(--no-limits starts it all the same)"
    ]


def test_there_is_one_line_for_each_kernel(session: Session, said: list[str]) -> None:
    for name in ("count", "affine", "count"):
        with pytest.raises(CudaError):
            session.launch(LaunchRequest(function(session, name), GRID, (1024, 1, 1), 0, bytes(20)))
    assert [line.split()[0] for line in said] == ["count", "affine"]


def test_a_kernel_has_the_name_of_its_source(session: Session, said: list[str]) -> None:
    for symbol in ("_Z6reduceIiLj512EEvPT_S1_j", "_ZN4mine3addEPf"):
        session.refuse(symbol, CudaError("cudaErrorInvalidConfiguration", "it is too large"))
    assert said == [f"{name} was not launched: it is too large" for name in ("reduce", "mine::add")]


def test_a_kernel_that_faults_has_the_name_of_its_source(said: list[str]) -> None:
    symbol = "_ZN4mine5strayEPf"
    named = cuda_build.KERNELS.replace(".kernel stray", f".kernel {symbol}")
    cubin = write_elf_cubin(module_of(isakit.isa("tesla", "g80").assemble(named)))
    session = made(said, strict=True)
    session.launch(
        LaunchRequest(CudaFunction(ProgramModule(session, WHOLE_FILE, cubin), symbol), GRID, BLOCK, 0, bytes(4))
    )
    session.close()
    assert session.lost is not None
    assert said == [f"fault: {session.lost.why}"]
    assert said[0].startswith("fault: mine::stray: ")


def test_the_shape_of_the_first_driver_interface_is_refused_where_it_is_set(session: Session, said: list[str]) -> None:
    from isakit.hosts.cuda.handlers.kernels import block_shape, shared_size
    from isakit.hosts.cuda.objects import CudaContext

    session.contexts.append(session.handles.add(CudaContext()))
    f = function(session)
    number = session.handles.add(f)
    with pytest.raises(CudaError) as e:
        block_shape(session, number, 1024, 1, 1)
    assert e.value.code("driver") == 1
    with pytest.raises(CudaError):
        shared_size(session, number, 1 << 15)
    assert f.block == (1, 1, 1)
    assert len(said) == 1
    assert session.statistics.refused == {"count": 2}


@pytest.mark.parametrize("block", [(1024, 1, 1), (32, 32, 1), (1, 1024, 1)])
def test_limits_can_be_lifted(said: list[str], block: tuple[int, int, int]) -> None:
    session = made(said, limits=False)
    try:
        f = function(session)
        session.launch(LaunchRequest(f, (2, 1, 1), block, 0, (5).to_bytes(4, "little")))
        assert session.statistics.kernels["count"].instructions == 2 * 1024 * 5
        assert session.statistics.refused == {}
        with pytest.raises(CudaError):  # what no launch can say stays refused
            session.launch(LaunchRequest(f, GRID, (1, 1025, 1), 0, bytes(4)))
        assert len(said) == 1
        assert "1024 is the most" in said[0]
    finally:
        session.close()


@needs_compiler
def test_a_program_that_does_not_look_leaves_a_line_and_a_count(tmp_path: Path) -> None:
    program = cuda_build.build("vector_add", tmp_path)
    refused = run("--stats", "--", program, "1024", code=1)
    lines = [line for line in refused.stderr.splitlines() if line.startswith("isakit: ")]
    assert len(lines) == 1
    assert "affine was not launched: " in lines[0]
    assert "1 launches refused" in refused.stderr
    lifted = run("--no-limits", "--stats", "--json", "--", program, "1024")
    assert lifted.stdout == "PASSED\n"
    assert json.loads(lifted.stderr)["refused"] == {}


def test_a_capture_without_limits_is_replayed_without(said: list[str], tmp_path: Path) -> None:
    from isakit.hosts.cuda.capture import LaunchRecorder
    from isakit.hosts.cuda.replay import Capture

    session = Session(DeviceOptions(card("sm_10"), limits=False), recorder=LaunchRecorder(tmp_path))
    try:
        session.launch(LaunchRequest(function(session), GRID, (1024, 1, 1), 0, (5).to_bytes(4, "little")))
    finally:
        session.close()
    assert Capture(tmp_path).replay(1, check=True).same


# --- mistakes of our own ---
def test_an_internal_error_names_its_place(session: Session, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    f = functions()["cudaMalloc"]
    monkeypatch.setattr(session.heap, "_find", None)
    answer = dispatch.answer(session, f.number, (64).to_bytes(8, "little"))
    assert dispatch.ANSWER.unpack_from(answer)[0] == 30
    (line,) = said
    assert line.startswith("internal error in cudaMalloc(64): TypeError: ")
    assert ", at hosts/cuda/heap.py:" in line
    assert line.endswith(" in alloc")


def test_the_place_of_a_mistake_is_ours_and_where_it_was_raised() -> None:
    with pytest.raises(ValueError, match="Expecting") as e:
        json.loads("{")
    assert ", at " in described_bug(e.value)
    assert "decoder.py:" in described_bug(e.value)
    assert described_bug(KeyError("x")) == "KeyError: 'x'"
