"""Work on many processes: dead workers change nothing, and sweeps give what single launches give."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isakit
from isakit.corpora.workers import work
from support.clients import cluster_tasks

EXAMPLES = Path(__file__).parents[3] / "examples"


def unused(task: Any, why: BaseException) -> Any:
    raise AssertionError((task, why))


def test_results_come_in_the_order_of_the_tasks() -> None:
    assert list(work(cluster_tasks.square, range(40), jobs=2, failed=unused)) == [n * n for n in range(40)]


def test_a_process_that_dies_once_changes_nothing(tmp_path: Path) -> None:
    tasks = [(n, str(tmp_path / "died") if n == 7 else "") for n in range(30)]
    assert list(work(cluster_tasks.dies_once, tasks, jobs=2, failed=unused)) == list(range(30))


def test_work_that_ends_every_process_is_given_up_alone() -> None:
    found = list(work(cluster_tasks.dies_on_five, range(12), jobs=2, failed=lambda task, _: -task))
    assert found == [0, 1, 2, 3, 4, -5, 6, 7, 8, 9, 10, 11]


def saxpy() -> Any:
    program = isakit.isa("tesla", "gt200").assemble((EXAMPLES / "tesla/saxpy.s").read_text())
    return isakit.Device("gt200", engine="reference").load(program)["saxpy"]


def jobs() -> list[tuple[Any, ...]]:
    x = np.arange(64, dtype=np.float32)
    return [(2, 32, np.uint32(64), np.float32(a % 7), x, np.ones(64, np.float32)) for a in range(20)]


def test_a_sweep_gives_what_single_launches_give() -> None:
    found = isakit.sweep(saxpy(), jobs(), processes=1)
    for result, (grid, block, n, a, x, y) in zip(found, jobs(), strict=True):
        saxpy()[grid, block](n, a, x, y)
        assert (result.arrays[1] == y).all()
        assert result.error is None


def test_a_sweep_leaves_the_arrays_of_the_caller_alone() -> None:
    wanted = jobs()
    isakit.sweep(saxpy(), wanted, processes=1)
    assert all((y == 1).all() for *_, y in wanted)


def test_equal_launches_are_run_once() -> None:
    counts: list[int] = []
    found = isakit.sweep(saxpy(), jobs(), processes=1, progress=counts.append)
    assert counts == [7]
    assert [r.key for r in found[:7]] == [r.key for r in found[7:14]]


def test_a_fault_is_the_result_of_its_launch() -> None:
    n = np.uint32(64)
    x = np.zeros(64, np.float32)
    bad = [(2, 32, n, np.float32(1), x, x.copy()), (2, 32, n, np.float32(1), np.uint32(0x7FFFFFF0), x.copy())]
    fine, faulted = isakit.sweep(saxpy(), bad, processes=1)
    assert fine.error is None
    assert isinstance(faulted.error, isakit.MachineFault)


def test_a_buffer_means_nothing_to_other_processes() -> None:
    kernel = saxpy()
    with pytest.raises(isakit.LaunchError, match="arrays, numbers and bytes"):
        isakit.sweep(kernel, [(1, 1, kernel.device.alloc(4))], processes=1)  # type: ignore[attr-defined]


# --- a real cluster ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="needs distributed: pip install 'isakit[distributed]'")
    with distributed.LocalCluster(  # pyright: ignore[reportUnknownMemberType]
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as made:
        yield made


def kill_one(cluster: Any) -> None:
    """End the process of one worker, as a machine that breaks down does."""
    from distributed import Client

    with Client(cluster) as client:
        pid = next(iter(client.run(os.getpid).values()))
    os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.cluster
def test_an_index_made_on_a_cluster_is_that_of_one_process_though_a_worker_dies(cluster: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from isakit.corpora import scan

    folder = tmp_path / "corpus"
    folder.mkdir()
    cubin = tmp_path / "k.cubin"
    from isakit.programs import write

    text = (EXAMPLES / "tesla/matmul.s").read_text()
    cubin.write_bytes(write(isakit.isa("tesla", "gt200").assemble(text), "elf"))
    for n in range(2000):
        (folder / f"{n:04}").write_bytes(bytes(n % 97) + cubin.read_bytes() + n.to_bytes(4, "little"))
    scan([str(folder)], str(tmp_path / "one"), jobs=1)
    killed: list[int] = []

    def progress(files: int, _: int) -> None:
        if not killed:
            killed.append(files)
            kill_one(cluster)

    scan([str(folder)], str(tmp_path / "many"), dask=cluster.scheduler_address, progress=progress)
    assert 0 < killed[0] < 2000
    for name in ("files", "kernels", "instructions", "strings"):
        assert (tmp_path / "one" / f"{name}.parquet").read_bytes() == (
            tmp_path / "many" / f"{name}.parquet"
        ).read_bytes()


@pytest.mark.slow
@pytest.mark.cluster
def test_a_sweep_on_a_cluster_is_that_of_one_process_though_a_worker_dies(cluster: Any) -> None:
    x = np.arange(64, dtype=np.float32)
    wanted = [(2, 32, np.uint32(64), np.float32(a), x, np.ones(64, np.float32)) for a in range(400)]
    here = isakit.sweep(saxpy(), wanted, processes=1)
    killed: list[int] = []

    def progress(done: int) -> None:
        if not killed:
            killed.append(done)
            kill_one(cluster)

    there = isakit.sweep(saxpy(), wanted, dask=cluster.scheduler_address, progress=progress)
    assert 0 < killed[0] < 400
    assert [r.key for r in here] == [r.key for r in there]
    assert all((a.arrays[1] == b.arrays[1]).all() for a, b in zip(here, there, strict=True))


@pytest.mark.slow
@pytest.mark.cluster
def test_a_scheduler_that_does_not_answer_is_one_error() -> None:
    pytest.importorskip("distributed")
    began = time.monotonic()
    with pytest.raises(isakit.IsakitError, match="no Dask scheduler answers"):
        isakit.sweep(saxpy(), jobs(), dask="tcp://127.0.0.1:9")
    assert time.monotonic() - began < 60
