"""cuBLAS, cuFFT and cuRAND: what they compute, and how they answer programs."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from isakit.cli.app import app
from isakit.compile.c.clang import CUDA_HEADERS
from isakit.hosts.cuda.codes import LibraryError, library_statuses
from isakit.hosts.cuda.libraries import blas
from isakit.hosts.cuda.libraries.random_numbers import Mrg32k3a, NotOffered, Sobol32, Xorwow
from isakit.hosts.cuda.library_headers import headers
from isakit.hosts.cuda.modules import FAT_CONTAINER
from isakit.hosts.cuda.replay import Capture, CaptureError
from isakit.hosts.cuda.table import LIBRARIES, functions
from support.clients import cuda_build
from support.clients.cuda_build import Entry, run
from support.clients.cuda_client import CudaProgram
from support.published_numbers import NORMAL, UNIFORM

SOBOL = "0.000000 0.500000 0.750000 0.250000 0.375000 0.875000 0.625000 0.125000 0.187500 0.687500 0.937500 0.437500"
SOBOL_NORMAL = "-11.675915 1.000000 2.348979 -0.348979 0.362721 3.300699 1.637279 -1.300699 -0.774293 1.977553"


def numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]


@pytest.mark.parametrize("kind", [Xorwow, Mrg32k3a])
def test_pseudorandom_numbers_are_those_that_were_published(kind: Any) -> None:
    generator = kind()
    generator.seed(1234)
    np.testing.assert_allclose(generator.uniform(10), numbers(UNIFORM[kind]), atol=6e-7)
    generator.seed(1234)
    np.testing.assert_allclose(generator.normal(10, 1, 2), numbers(NORMAL[kind]), atol=2e-6)


def test_a_row_of_jumps_of_kernels_is_twice_the_steps_of_the_one_before() -> None:
    """Each of the header's rows says which states are summed up: applied twice, it is the next row."""
    text = (CUDA_HEADERS / "curand_kernel.h").read_text()
    table = text[text.index("__isakit_xorwow_jumps[131][5] = {") :]
    rows = [sum(int(w, 16) << (32 * k) for k, w in enumerate(re.findall("0x[0-9a-f]{8}", line)))
            for line in table[: table.index("};")].splitlines()[1:]]  # fmt: skip
    assert len(rows) == 131

    def step(v: list[int]) -> list[int]:
        t = v[0] ^ v[0] >> 2
        return [*v[1:], (v[4] ^ v[4] << 4 ^ t ^ t << 1) & 0xFFFF_FFFF]

    def jumped(v: list[int], row: int) -> list[int]:
        out = [0] * 5
        for k in range(160):
            if row >> k & 1:
                out = [a ^ b for a, b in zip(out, v, strict=True)]
            v = step(v)
        return out

    state = [1, 20, 300, 4000, 50000]
    assert jumped(state, rows[0]) == step(state)
    for row, following in pairwise(rows):
        assert jumped(jumped(state, row), row) == jumped(state, following)


def test_quasirandom_numbers_are_those_that_were_published() -> None:
    np.testing.assert_allclose(Sobol32().uniform(12), numbers(SOBOL), atol=6e-7)
    np.testing.assert_allclose(Sobol32().normal(10, 1, 2), numbers(SOBOL_NORMAL), atol=2e-6)


def test_quasirandom_numbers_of_more_dimensions() -> None:
    qmc = pytest.importorskip("scipy.stats.qmc")
    points = Sobol32()
    points.dimensions = 5
    wanted = qmc.Sobol(5, scramble=False, bits=32).random(64).T.reshape(-1)
    np.testing.assert_allclose(points.uniform(320), wanted, atol=1e-7)


def test_each_sequence_goes_on_where_it_was() -> None:
    one, two = Xorwow(), Xorwow()
    whole = one.bits(3 * 4096)
    assert [*two.bits(4096), *two.bits(8192)] == list(whole)
    again = Xorwow()
    again.bits(100)
    assert list(again.bits(200)) == [*whole[4096:4196], *whole[100:200]]


def test_what_is_not_known_of_a_generator_is_not_offered() -> None:
    with pytest.raises(NotOffered, match="no published values"):
        Mrg32k3a().bits(4)
    with pytest.raises(NotOffered, match="LENGTH_NOT_MULTIPLE"):
        Xorwow().normal(3, 0, 1)


# --- routines of cuBLAS ---------------------------------------------------------------------------------------------
class HostMemory:
    """Arrays by address, in place of the device's memory."""

    def __init__(self) -> None:
        self.bytes = np.zeros(1 << 16, np.uint8)
        self.used = 256

    def put(self, data: Any) -> int:
        at, raw = self.used, np.asfortranarray(data).tobytes(order="F")
        self.bytes[at : at + len(raw)] = np.frombuffer(raw, np.uint8)
        self.used += -(-len(raw) // 256) * 256
        return at

    def array(self, address: int, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        return np.ndarray(shape, dtype, self.bytes.data, address, strides)


N = 5
TOLERANCE = {"S": 2e-5, "D": 1e-12, "C": 2e-5, "Z": 1e-12}


def sample(element: str, *shape: int) -> Any:
    random = np.random.default_rng(7 + len(shape))
    real = random.normal(size=shape)
    dtype = blas.ELEMENTS[element]
    return (real + 1j * random.normal(size=shape)).astype(dtype) if element in "CZ" else real.astype(dtype)


@pytest.mark.parametrize("element", ["S", "D", "C", "Z"])
@pytest.mark.parametrize("transb", [0, 1, 2])
@pytest.mark.parametrize("transa", [0, 1, 2])
def test_products_are_sums_of_products(element: str, transa: int, transb: int) -> None:
    m, n, k = 3, 4, 5
    memory = HostMemory()
    a, b, c = sample(element, m, k), sample(element, k, n), sample(element, m, n)

    def stored(x: Any, trans: int) -> Any:
        return x if trans == 0 else x.T if trans == 1 else x.T.conj()

    sa, sb = stored(a, transa), stored(b, transb)
    given = {"m": m, "n": n, "k": k, "transa": transa, "transb": transb, "alpha": 2, "beta": 3}
    at = memory.put(c)
    given |= {"A": memory.put(sa), "lda": len(sa), "B": memory.put(sb), "ldb": len(sb), "C": at, "ldc": m}
    blas.run("gemm", element, given, memory.array)
    wanted = np.array(
        [[2 * sum(a[i, x] * b[x, j] for x in range(k)) + 3 * c[i, j] for j in range(n)] for i in range(m)]
    )
    np.testing.assert_allclose(memory.array(at, c.dtype, (m, n), (c.itemsize, m * c.itemsize)), wanted, rtol=1e-4)


@pytest.mark.parametrize("element", ["S", "Z"])
@pytest.mark.parametrize("unit", [0, 1])
@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("uplo", [0, 1])
@pytest.mark.parametrize("routine", ["tr", "tb", "tp"])
def test_what_a_triangle_multiplies_it_also_solves(
    routine: str, uplo: int, trans: int, unit: int, element: str
) -> None:
    memory = HostMemory()
    full = sample(element, N, N) + 4 * np.eye(N).astype(blas.ELEMENTS[element])
    kept = np.triu(full) if uplo else np.tril(full)
    if routine == "tp":
        matrix = np.concatenate([kept[: j + 1, j] if uplo else kept[j:, j] for j in range(N)])
    elif routine == "tb":
        matrix = np.zeros_like(full)
        for i, j in zip(*np.nonzero(kept), strict=True):
            matrix[(N - 1 if uplo else 0) + i - j, j] = kept[i, j]
    else:
        matrix = full
    if unit:
        np.fill_diagonal(kept, 1)
    x = sample(element, N)
    given = {"uplo": uplo, "trans": trans, "unit": unit, "n": N, "k": N - 1, "A": memory.put(matrix), "lda": N}
    given |= {"x": memory.put(x), "incx": 1}
    vector = memory.array(given["x"], x.dtype, (N,), (x.itemsize,))
    blas.run(f"{routine}mv", element, given, memory.array)
    operated = kept if trans == 0 else kept.T if trans == 1 else kept.T.conj()
    np.testing.assert_allclose(vector, operated @ x, rtol=1e-4)
    blas.run(f"{routine}sv", element, given, memory.array)
    np.testing.assert_allclose(vector, x, rtol=1e-3)


@pytest.mark.parametrize("element", ["D", "C"])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("uplo", [0, 1])
@pytest.mark.parametrize("trans", [0, 1, 2])
def test_matrices_of_right_hand_sides_are_solved(element: str, side: int, uplo: int, trans: int) -> None:
    memory = HostMemory()
    m, n = 3, N
    order = n if side else m
    b = sample(element, m, n)
    a = sample(element, order, order) + 4 * np.eye(order)
    a = a.astype(b.dtype)
    given = {"side": side, "uplo": uplo, "trans": trans, "unit": 0, "m": m, "n": n, "alpha": 2}
    given |= {"A": memory.put(a), "lda": order, "B": memory.put(b), "ldb": m}
    blas.run("trsm", element, given, memory.array)
    found = memory.array(given["B"], b.dtype, (m, n), (b.itemsize, m * b.itemsize)).copy()
    kept = np.triu(a) if uplo else np.tril(a)
    operated = kept if trans == 0 else kept.T if trans == 1 else kept.T.conj()
    np.testing.assert_allclose(found @ operated if side else operated @ found, 2 * b, rtol=1e-4)
    blas.run("trmm", element, {**given, "alpha": 1}, memory.array)
    back = memory.array(given["B"], b.dtype, (m, n), (b.itemsize, m * b.itemsize))
    np.testing.assert_allclose(back, 2 * b, rtol=1e-4)


@pytest.mark.parametrize("uplo", [0, 1])
@pytest.mark.parametrize("element", ["S", "Z"])
def test_updates_write_one_triangle(element: str, uplo: int) -> None:
    memory = HostMemory()
    c, x, y = sample(element, N, N), sample(element, N), sample(element, N)
    real = blas.REALS[element](2)
    given = {"uplo": uplo, "n": N, "alpha": real, "A": memory.put(c), "lda": N}
    given |= {"x": memory.put(x), "incx": 1, "y": memory.put(y), "incy": -1}
    blas.run("her2" if element == "Z" else "syr2", element, given, memory.array)
    found = memory.array(given["A"], c.dtype, (N, N), (c.itemsize, N * c.itemsize))
    y = y[::-1]
    wanted = c + 2 * np.outer(x, y.conj()) + 2 * np.outer(y, x.conj())
    np.fill_diagonal(wanted, np.diagonal(wanted).real if element == "Z" else np.diagonal(wanted))
    kept = np.triu_indices(N) if uplo else np.tril_indices(N)
    other = np.tril_indices(N, -1) if uplo else np.triu_indices(N, 1)
    np.testing.assert_allclose(found[kept], wanted[kept], rtol=1e-4)
    np.testing.assert_array_equal(found[other], c[other])


def test_every_routine_of_the_table_is_there() -> None:
    assert {f.routine for f in functions().values() if f.routine} == set(blas.ROUTINES)


# --- programs -------------------------------------------------------------------------------------------------------
@pytest.fixture
def program() -> Iterator[CudaProgram]:
    with CudaProgram("sm_13", FAT_CONTAINER, cuda_build.container([Entry(2, 10, cuda_build.elf_cubin())])) as made:
        yield made


def send(program: CudaProgram, name: str, handle: int, *given: int, device: int = 0) -> int:
    f = functions()[name]
    return program.code(
        "blas", f.number, handle, device, tail=struct.pack(f"<{len(given)}Q", *(n % 2**64 for n in given))
    )


@pytest.mark.parametrize("n", [1 << 30, -1, 2**31 - 1])
@pytest.mark.parametrize("step", [1, -1, 2**31 - 1, 0])
def test_hostile_sizes_are_errors(program: CudaProgram, n: int, step: int) -> None:
    (handle,) = program.call("cublasCreate_v2")
    x = program.alloc(bytes(64))
    status = send(program, "cublasScopy_v2", handle, n, x, step, x, step, 0)
    assert status == (7 if n < 0 or step == 0 else 13)
    assert (program.session.lost is not None) == (status == 13)


@pytest.mark.parametrize("address", [0, 64, 1 << 40, 2**64 - 4, (1 << 32) - 8])
def test_addresses_of_nothing_are_faults(program: CudaProgram, address: int) -> None:
    (handle,) = program.call("cublasCreate_v2")
    assert send(program, "cublasSscal_v2", handle, 4, 0, 0, address, 1, 0) == 13
    assert program.code("cudaThreadSynchronize") == 4
    assert sum("fault: cublasSscal_v2" in line for line in program.said) == 1
    program.call("cudaDeviceReset")
    program.call("cublasCreate_v2")


def test_strict_memory_ends_with_the_allocation() -> None:
    image = cuda_build.container([Entry(2, 10, cuda_build.elf_cubin())])
    with CudaProgram("sm_13", FAT_CONTAINER, image, strict=True) as strict:
        (handle,) = strict.call("cublasCreate_v2")
        x = strict.alloc(bytes(64))
        assert send(strict, "cublasSscal_v2", handle, 16, 0, 0, x, 1, 0) == 0
        assert send(strict, "cublasSscal_v2", handle, 17, 0, 0, x, 1, 0) == 13


def test_a_handle_of_something_else_is_no_context(program: CudaProgram) -> None:
    (plan,) = program.call("cufftPlan1d", 16, 0x29, 1)
    (blas_handle,) = program.call("cublasCreate_v2")
    assert send(program, "cublasSscal_v2", plan, 0, 0, 0, 0, 1, 0) == 1
    assert program.code("cufftExecC2C", blas_handle, 1, 1, 1) == 1
    assert program.code("curandDestroyGenerator", plan) == 101
    assert program.code("cufftDestroy", 2**64 - 1) == 1


def test_transforms_are_checked_before_they_read(program: CudaProgram) -> None:
    (plan,) = program.call("cufftPlan1d", 1 << 20, 0x29, 16)
    x = program.alloc(bytes(64))
    assert program.code("cufftPlan3d", 1 << 27, 1 << 27, 1 << 27, 0x29) == 2
    assert program.code("cufftExecC2C", plan, x, x, 1) == 6


def test_statuses_are_those_of_each_library() -> None:
    assert set(library_statuses()) == set(LIBRARIES)
    assert LibraryError("CUFFT_INVALID_SIZE").code("cufft") == 8
    assert LibraryError("CUFFT_INVALID_SIZE").code("runtime") == 30


CHECKS = ("first_blas", "blas", "fft", "random_numbers", "outside")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that is linked with all of them."""
    if not cuda_build.has_compiler():
        pytest.skip("needs `cc` on 64-bit x86 Linux")
    return cuda_build.build("libraries", tmp_path_factory.mktemp("libraries"), beside=cuda_build.LIBRARIES)


def test_programs_find_the_libraries(libraries: Path) -> None:
    done = run("--stats", "--json", "--", libraries, *CHECKS)
    assert done.stdout == "".join(f"{name} ok\n" for name in CHECKS)
    assert sum("fault: cublasSgemm_v2" in line for line in done.stderr.splitlines()) == 1
    counted = json.loads(done.stderr[done.stderr.index("{") :])["libraries"]
    assert counted["cublasSgemm"]["calls"] == 1
    assert counted["cufftExecC2C"]["calls"] == 3


def test_a_capture_names_the_work_of_libraries(libraries: Path, tmp_path: Path) -> None:
    run("--capture", tmp_path / "capture", "--", libraries, "fft")
    lines = (tmp_path / "capture" / "libraries.txt").read_text().splitlines()
    assert lines == ["0 cufftExecC2C"] * 2 + ["0 cufftExecR2C", "0 cufftExecC2R", "0 cufftExecC2C"]
    said = CliRunner().invoke(app, ["replay", "--list", str(tmp_path / "capture")])
    assert [line.split()[-1] for line in said.output.splitlines()] == [line.split()[1] for line in lines]
    (tmp_path / "capture" / "libraries.txt").write_text("one\n")
    with pytest.raises(CaptureError, match=r"libraries\.txt"):
        Capture(tmp_path / "capture").libraries()


def test_headers_are_those_of_the_table() -> None:
    for name, text in headers().items():
        assert (CUDA_HEADERS / name).read_text() == text, "write them: python -m isakit.hosts.cuda.library_headers"
    declared = " ".join(headers().values())
    missing = [f.name for f in functions().values() if f.interface in LIBRARIES and f" {f.name}(" not in declared]
    assert not missing
