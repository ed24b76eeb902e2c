"""cuBLAS, cuFFT and cuRAND. Their work is done on the host when it is asked for, in the order of the calls."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from isakit.hosts.cuda.codes import CudaError, LibraryError, invalid
from isakit.hosts.cuda.handler_table import ProtocolError, handler
from isakit.hosts.cuda.handlers.streams import known_stream
from isakit.hosts.cuda.libraries import blas, fft
from isakit.hosts.cuda.libraries.random_numbers import Generator, Mrg32k3a, NotOffered, Sobol32, Xorwow
from isakit.hosts.cuda.session import Session
from isakit.hosts.cuda.table import ApiFunction, by_number

_MOST = 1 << 28
"""Bytes of the numbers of one call of a generator of the host."""


def _signed(number: int) -> int:
    """Return an int that travelled as a number without sign."""
    number &= 0xFFFF_FFFF
    return number - (1 << 32) if number >> 31 else number


def _caller(number: int) -> ApiFunction:
    """Return the function a message was sent for."""
    f = by_number().get(number)
    if f is None:
        raise ProtocolError(f"no function has the number {number}")
    return f


# --- cuBLAS ---------------------------------------------------------------------------------------------------------
@dataclass
class BlasContext:
    """A context of cuBLAS: its stream, and whether scalars and results lie in device memory."""

    stream: int = 0
    on_device: int = 0
    atomics: int = 0


@dataclass
class FirstBlas(BlasContext):
    """The context of the interface without handles."""


_LETTERS = {
    "op": {"n": 0, "t": 1, "c": 2},
    "fill": {"l": 0, "u": 1},
    "side": {"l": 0, "r": 1},
    "diag": {"n": 0, "u": 1},
}
_CHOICES = {kind: set(of.values()) for kind, of in _LETTERS.items()}


@handler("cublasInit")
def blas_init(s: Session) -> None:
    if not s.handles.holds(FirstBlas):
        s.handles.add(FirstBlas())


@handler("cublasShutdown")
def blas_shutdown(s: Session) -> None:
    _first(s)
    s.handles.forget((FirstBlas,))


def _first(s: Session) -> FirstBlas:
    found = s.handles.first(FirstBlas)
    if found is None:
        raise LibraryError("CUBLAS_STATUS_NOT_INITIALIZED", "cublasInit was not called")
    return found


@handler("cublasAlloc")
def blas_alloc(s: Session, n: int, size: int) -> int:
    _first(s)
    if n <= 0 or size <= 0:
        raise invalid(f"{n} elements of {size} bytes")
    return s.heap.alloc(n * size)


@handler("cublasFree")
def blas_free(s: Session, address: int) -> None:
    _first(s)
    if address:
        s.heap.free(address)


@handler("cublasSetKernelStream")
def first_stream(s: Session, stream: int) -> None:
    known_stream(s, stream)
    _first(s).stream = stream


@handler("cublasCreate_v2")
def blas_create(s: Session) -> int:
    return s.handles.add(BlasContext())


@handler("blas_destroy")
def blas_destroy(s: Session, call: int, handle: int) -> None:
    s.handles.drop(handle, BlasContext)


@handler("cublasGetVersion_v2")
def blas_version(s: Session, handle: int) -> int:
    s.handles.get(handle, BlasContext)
    major, minor = s.version[0]
    return 1000 * major + 100 * minor


@handler("cublasSetStream_v2")
def blas_set_stream(s: Session, handle: int, stream: int) -> None:
    known_stream(s, stream)
    s.handles.get(handle, BlasContext).stream = stream


@handler("cublasGetStream_v2")
def blas_get_stream(s: Session, handle: int) -> int:
    return s.handles.get(handle, BlasContext).stream


@handler("blas_mode")
def blas_set_mode(s: Session, call: int, handle: int, mode: int) -> None:
    if mode not in (0, 1):
        raise invalid(f"the pointer mode {mode}")
    s.handles.get(handle, BlasContext).on_device = mode


@handler("cublasGetPointerMode_v2")
def blas_get_mode(s: Session, handle: int) -> int:
    return s.handles.get(handle, BlasContext).on_device


@handler("cublasSetAtomicsMode")
def blas_set_atomics(s: Session, handle: int, mode: int) -> None:
    if mode not in (0, 1):
        raise invalid(f"the mode {mode}")
    s.handles.get(handle, BlasContext).atomics = mode


@handler("cublasGetAtomicsMode")
def blas_get_atomics(s: Session, handle: int) -> int:
    return s.handles.get(handle, BlasContext).atomics


@handler("blas")
def blas_routine(s: Session, call: int, handle: int, device: int, packed: bytes) -> tuple[int, int]:
    """Run a routine; returns its result as the bits of two doubles, or stores it in the device's memory."""
    f = _caller(call)
    if not f.routine:
        raise ProtocolError(f"{f.name} is not a routine of cuBLAS")
    known_stream(s, (_first(s) if f.legacy else s.handles.get(handle, BlasContext)).stream)
    numbers = struct.unpack(f"<{len(packed) // 8}Q", packed[: len(packed) // 8 * 8])
    given, result_at = _given(s, f, numbers, bool(device))

    def work() -> Any:
        try:
            result = blas.run(f.routine, f.element, given, s)
        except blas.InvalidOperand as e:
            raise invalid(str(e)) from None
        if result is not None and device:
            kind = next(p for p in f.parameters if p.result).type
            dtype = _dtype(f, kind)
            s.array(result_at, dtype, (1,), (np.dtype(dtype).itemsize,))[0] = result
        return result

    result = complex(s.library(f.name, work) or 0)
    return _bits(result.real), _bits(result.imag)


def _bits(number: float) -> int:
    return int.from_bytes(struct.pack("<d", number), "little")


def _dtype(f: ApiFunction, kind: str) -> Any:
    return np.int32 if kind == "int" else (blas.ELEMENTS if kind == "scalar" else blas.REALS)[f.element]


def _given(s: Session, f: ApiFunction, numbers: tuple[int, ...], device: bool) -> tuple[dict[str, Any], int]:
    """Return what a routine is given, by name, and the address of its result. Raises ProtocolError."""
    wanted = [p for p in f.parameters if not p.result]
    if len(numbers) != sum(2 if p.type in ("scalar", "real") else 1 for p in wanted) + 1:
        raise ProtocolError(f"{f.name} with {len(numbers)} numbers")
    rest = iter(numbers)
    given: dict[str, Any] = {}
    for p in wanted:
        number = next(rest)
        if p.type in ("scalar", "real"):
            given[p.name] = _scalar(s, _dtype(f, p.type), number, next(rest), device)
        elif p.type == "ptr":
            given[p.name] = number
        elif p.type == "int":
            given[p.name] = _signed(number)
        else:
            given[p.name] = _chosen(f, p.type, number)
    return given, next(rest)


def _scalar(s: Session, dtype: Any, real: int, imaginary: int, device: bool) -> Any:
    if device:
        return s.array(real, dtype, (1,), (np.dtype(dtype).itemsize,))[0]
    values = struct.unpack("<2d", struct.pack("<2Q", real, imaginary))
    with np.errstate(over="ignore"):
        return dtype(complex(*values) if np.issubdtype(dtype, np.complexfloating) else values[0])


def _chosen(f: ApiFunction, kind: str, number: int) -> int:
    """Return the meaning of a letter or number that says how a matrix is taken."""
    chosen = _LETTERS[kind].get(chr(number & 0x7F).lower(), -1) if f.legacy else number
    if chosen not in _CHOICES[kind]:
        raise invalid(f"{kind} {number}")
    return chosen


# --- cuFFT ----------------------------------------------------------------------------------------------------------
@dataclass
class FftPlan:
    """The object behind a handle of a plan."""

    plan: fft.Plan = field(default_factory=fft.Plan)


def _plan(s: Session, number: int) -> fft.Plan:
    return s.handles.get(number, FftPlan).plan


def _made(sizes: tuple[int, ...], kind: int, batch: int, **layouts: Any) -> fft.Plan:
    """Return a plan. Raises LibraryError for sizes and types that cannot be."""
    if kind not in fft.KINDS:
        raise LibraryError("CUFFT_INVALID_TYPE", f"the type {kind:#x}")
    if batch < 1 or any(not 1 <= n <= fft.LONGEST for n in sizes):
        raise LibraryError("CUFFT_INVALID_SIZE", f"{batch} transforms of {' x '.join(map(str, sizes))}")
    plan = fft.Plan(sizes, kind, batch, **layouts)
    if plan.work_bytes > 1 << 32:
        raise LibraryError("CUFFT_ALLOC_FAILED", f"{plan.work_bytes} bytes")
    return plan


def _remade(s: Session, number: int, plan: fft.Plan) -> int:
    """Make the plan behind a handle; returns the bytes it works with."""
    held = s.handles.get(number, FftPlan)
    if held.plan.sizes:
        raise LibraryError("CUFFT_INVALID_PLAN", "it is made already")
    held.plan = replace(plan, stream=held.plan.stream, mode=held.plan.mode)
    return plan.work_bytes


@handler("cufftPlan1d")
def plan_1d(s: Session, nx: int, kind: int, batch: int) -> int:
    return s.handles.add(FftPlan(_made((nx,), kind, batch)))


@handler("cufftPlan2d")
def plan_2d(s: Session, nx: int, ny: int, kind: int) -> int:
    return s.handles.add(FftPlan(_made((nx, ny), kind, 1)))


@handler("cufftPlan3d")
def plan_3d(s: Session, nx: int, ny: int, nz: int, kind: int) -> int:
    return s.handles.add(FftPlan(_made((nx, ny, nz), kind, 1)))


@handler("cufftCreate")
def plan_create(s: Session) -> int:
    return s.handles.add(FftPlan())


@handler("cufftMakePlan1d")
def make_1d(s: Session, number: int, nx: int, kind: int, batch: int) -> int:
    return _remade(s, number, _made((nx,), kind, batch))


@handler("cufftMakePlan2d")
def make_2d(s: Session, number: int, nx: int, ny: int, kind: int) -> int:
    return _remade(s, number, _made((nx, ny), kind, 1))


@handler("cufftMakePlan3d")
def make_3d(s: Session, number: int, nx: int, ny: int, nz: int, kind: int) -> int:
    return _remade(s, number, _made((nx, ny, nz), kind, 1))


@handler("cufftEstimate1d")
def estimate_1d(s: Session, nx: int, kind: int, batch: int) -> int:
    return _made((nx,), kind, batch).work_bytes


@handler("cufftEstimate2d")
def estimate_2d(s: Session, nx: int, ny: int, kind: int) -> int:
    return _made((nx, ny), kind, 1).work_bytes


@handler("cufftEstimate3d")
def estimate_3d(s: Session, nx: int, ny: int, nz: int, kind: int) -> int:
    return _made((nx, ny, nz), kind, 1).work_bytes


@handler("fft_many")
def plan_many(s: Session, call: int, number: int, rank: int, kind: int, batch: int, *rest: Any) -> tuple[int, int]:
    """Make a plan with layouts: strides and distances, then the sizes and what they are embedded in."""
    *steps, packed = rest
    if len(packed) != 72 or not 1 <= rank <= 3:
        raise ProtocolError(f"{rank} sizes in {len(packed)} bytes")
    sizes = tuple(_signed(n) for n in struct.unpack("<9Q", packed))
    istride, idist, ostride, odist = (_signed(n) for n in steps)
    layouts = {
        "input": _layout(sizes[3 : 3 + rank], istride, idist),
        "output": _layout(sizes[6 : 6 + rank], ostride, odist),
    }
    plan = _made(sizes[:rank], _signed(kind), _signed(batch), **layouts)
    if number:
        return number, _remade(s, number, plan)
    return s.handles.add(FftPlan(plan)), plan.work_bytes


def _layout(embed: tuple[int, ...], stride: int, distance: int) -> fft.Layout | None:
    if not any(embed):
        return None
    if min(embed[1:], default=1) < 1 or stride < 1 or distance < 0:
        raise LibraryError("CUFFT_INVALID_VALUE", f"elements embedded in {embed}, {stride} and {distance} apart")
    return fft.Layout(embed, stride, distance)


@handler("cufftGetSize")
def plan_size(s: Session, number: int) -> int:
    return _plan(s, number).work_bytes


@handler("cufftSetAutoAllocation")
def auto_allocation(s: Session, number: int, on: int) -> None:
    _plan(s, number)


@handler("cufftSetWorkArea")
def work_area(s: Session, number: int, address: int) -> None:
    """Accept an area, which transforms on the host do without."""
    _plan(s, number)


@handler("cufftDestroy")
def plan_destroy(s: Session, number: int) -> None:
    s.handles.drop(number, FftPlan)


@handler("cufftSetStream")
def plan_stream(s: Session, number: int, stream: int) -> None:
    known_stream(s, stream)
    _plan(s, number).stream = stream


@handler("cufftSetCompatibilityMode")
def plan_mode(s: Session, number: int, mode: int) -> None:
    if mode not in (0, 1, 2, 3):
        raise invalid(f"the mode {mode}")
    _plan(s, number).mode = mode


@handler("cufftGetVersion")
def fft_version(s: Session) -> int:
    major, minor = s.version[0]
    return 1000 * major + 100 * minor


def _transform(name: str) -> Callable[..., None]:
    def run(s: Session, number: int, source: int, target: int, direction: int = 0) -> None:
        plan = _plan(s, number)
        known_stream(s, plan.stream)
        kind = name.removeprefix("cufftExec")
        if not plan.sizes or fft.KINDS[plan.kind] != kind:
            raise LibraryError("CUFFT_INVALID_PLAN", f"a plan for {fft.KINDS[plan.kind]}" if plan.sizes else "not made")
        if not source or not target or (kind in ("C2C", "Z2Z") and direction not in (-1, 1)):
            raise LibraryError("CUFFT_INVALID_VALUE", f"from {source:#x} to {target:#x}, direction {direction}")
        s.library(name, lambda: fft.execute(plan, s, source, target, direction == 1))

    return run


def _complex(name: str) -> None:
    run = _transform(name)

    def both(s: Session, number: int, source: int, target: int, direction: int) -> None:
        run(s, number, source, target, direction)

    handler(name)(both)


def _half(name: str) -> None:
    run = _transform(name)

    def one(s: Session, number: int, source: int, target: int) -> None:
        run(s, number, source, target)

    handler(name)(one)


for _name in ("cufftExecC2C", "cufftExecZ2Z"):
    _complex(_name)
for _name in ("cufftExecR2C", "cufftExecC2R", "cufftExecD2Z", "cufftExecZ2D"):
    _half(_name)


# --- cuRAND ---------------------------------------------------------------------------------------------------------
_DEFAULT_PSEUDO, _DEFAULT_QUASI = 100, 200
_GENERATORS: dict[int, Callable[[], Generator]] = {
    _DEFAULT_PSEUDO: Xorwow, 101: Xorwow, 121: Mrg32k3a, _DEFAULT_QUASI: Sobol32, 201: Sobol32
}  # fmt: skip
_OTHERS = {
    141: "MTGP32: its parameters are not there",
    142: "MT19937: its order is not published",
    161: "Philox4x32-10: its order is not published",
    202: "scrambled Sobol32: its constants are not there",
    203: "Sobol64: numbers of 64 bits are not modelled",
    204: "scrambled Sobol64: its constants are not there",
}


@dataclass
class RandomGenerator:
    """The object behind the handle of a generator; `host`: its numbers go to memory of the host."""

    source: Generator
    host: bool
    stream: int = 0


def _created(s: Session, kind: int, host: bool) -> int:
    if kind in _OTHERS:
        s.options.tell(f"the generator is not modelled: {_OTHERS[kind]}")
        raise LibraryError("CURAND_STATUS_INTERNAL_ERROR", _OTHERS[kind])
    if kind not in _GENERATORS:
        raise LibraryError("CURAND_STATUS_TYPE_ERROR", f"the type {kind}")
    return s.handles.add(RandomGenerator(_GENERATORS[kind](), host))


@handler("curandCreateGenerator")
def generator_create(s: Session, kind: int) -> int:
    return _created(s, kind, False)


@handler("curandCreateGeneratorHost")
def generator_create_host(s: Session, kind: int) -> int:
    return _created(s, kind, True)


@handler("curandDestroyGenerator")
def generator_destroy(s: Session, handle: int) -> None:
    s.handles.drop(handle, RandomGenerator)


@handler("curandGetVersion")
def random_version(s: Session) -> int:
    major, minor = s.version[0]
    return 1000 * major + 10 * minor


@handler("curandSetStream")
def generator_stream(s: Session, handle: int, stream: int) -> None:
    known_stream(s, stream)
    s.handles.get(handle, RandomGenerator).stream = stream


@handler("curandSetPseudoRandomGeneratorSeed")
def generator_seed(s: Session, handle: int, seed: int) -> None:
    source = s.handles.get(handle, RandomGenerator).source
    with _Refusals(s, source):
        source.seed(seed)


@handler("curandSetGeneratorOffset")
def generator_offset(s: Session, handle: int, offset: int) -> None:
    source = s.handles.get(handle, RandomGenerator).source
    if isinstance(source, Sobol32):
        source.position = offset
    elif offset:
        with _Refusals(s, source):
            raise NotOffered(
                f"offsets into {source.name} are not modelled: which number of which sequence is not published"
            )


@handler("curandSetGeneratorOrdering")
def generator_ordering(s: Session, handle: int, order: int) -> None:
    source = s.handles.get(handle, RandomGenerator).source
    allowed = (201,) if isinstance(source, Sobol32) else (100, 101, 102)
    if order not in allowed:
        raise LibraryError("CURAND_STATUS_OUT_OF_RANGE", f"the order {order}")
    if order == 102:
        with _Refusals(s, source):
            raise NotOffered("the order of seeds of their own is not modelled: how they are made is not published")


@handler("curandSetQuasiRandomGeneratorDimensions")
def generator_dimensions(s: Session, handle: int, dimensions: int) -> None:
    source = s.handles.get(handle, RandomGenerator).source
    if not isinstance(source, Sobol32):
        raise LibraryError("CURAND_STATUS_TYPE_ERROR", "not a quasirandom generator")
    if not 1 <= dimensions <= 20000:
        raise LibraryError("CURAND_STATUS_OUT_OF_RANGE", f"{dimensions} dimensions")
    source.dimensions, source.position = dimensions, 0


@handler("curandGenerateSeeds")
def generator_seeds(s: Session, handle: int) -> None:
    s.handles.get(handle, RandomGenerator)


class _Refusals:
    """Turns what a generator does not offer into its status; says it where there is no status for it."""

    def __init__(self, s: Session, source: Generator) -> None:
        self.session, self.source = s, source

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise LibraryError in place of NotOffered."""
        if isinstance(error, NotOffered):
            why = str(error)
            if why.startswith("CURAND_"):
                raise LibraryError(why, self.source.name) from None
            self.session.options.tell(why)
            raise LibraryError("CURAND_STATUS_INTERNAL_ERROR", why) from None


@handler("numbers")
def numbers(s: Session, call: int, handle: int, output: int, count: int, mean: float, deviation: float) -> int:
    """Write the numbers of a generator; returns where they lie for the host, 0 for those of the device."""
    generator, f = s.handles.get(handle, RandomGenerator), _caller(call)
    known_stream(s, generator.stream)
    if not count:
        return 0
    if count > _MOST // 4:
        raise LibraryError("CURAND_STATUS_ALLOCATION_FAILED", f"{count} numbers")
    source, what = generator.source, f.name.removeprefix("curandGenerate")

    def work() -> int:
        dtype: Any = np.float32 if what else np.uint32
        if generator.host:
            place = s.pinned.alloc(4 * count, 4096)
            to = s.memory_array(place, dtype, count)
        else:
            place, to = 0, s.array(output, dtype, (count,), (4,))
        try:
            with _Refusals(s, source), np.errstate(all="ignore"):
                to[...] = _drawn(source, what, count, mean, deviation)
        except CudaError:
            if place:
                s.pinned.free(place)
            raise
        return place

    return s.library(f.name, work)


def _drawn(source: Generator, what: str, count: int, mean: float, deviation: float) -> Any:
    if what == "":
        return source.bits(count)
    if what == "Uniform":
        return source.uniform(count)
    drawn = source.normal(count, mean, deviation)
    return drawn if what == "Normal" else np.exp(drawn)


@handler("numbers_taken")
def numbers_taken(s: Session, call: int, address: int) -> None:
    """Free the memory through which numbers went to the host."""
    s.pinned.free(address)
