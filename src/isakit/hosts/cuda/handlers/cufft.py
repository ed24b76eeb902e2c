"""cuFFT. Its functions are executed on the host immediately, in the order of the calls."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import Any

from isakit.hosts.cuda.codes import LibraryError, invalid
from isakit.hosts.cuda.handler_table import ProtocolError, handler, signed_int
from isakit.hosts.cuda.handlers.streams import known_stream
from isakit.hosts.cuda.libraries import fft
from isakit.hosts.cuda.session import Session


@dataclass
class FftPlan:
    """The object behind a handle of a plan."""

    plan: fft.Plan = field(default_factory=fft.Plan)


def _plan(s: Session, number: int) -> fft.Plan:
    return s.handles.get(number, FftPlan).plan


def _made(sizes: tuple[int, ...], kind: int, batch: int = 1, **layouts: Any) -> fft.Plan:
    """Return a plan. Raises LibraryError for invalid sizes and types."""
    if kind not in fft.KINDS:
        raise LibraryError("CUFFT_INVALID_TYPE", f"the type {kind:#x}")
    if batch < 1 or any(not 1 <= n <= fft.LONGEST for n in sizes):
        raise LibraryError("CUFFT_INVALID_SIZE", f"{batch} transforms of {' x '.join(map(str, sizes))}")
    plan = fft.Plan(sizes, kind, batch, **layouts)
    if plan.work_bytes > 1 << 32:
        raise LibraryError("CUFFT_ALLOC_FAILED", f"{plan.work_bytes} bytes")
    return plan


def _remade(s: Session, number: int, plan: fft.Plan) -> int:
    """Replace the plan behind a handle; return the size of its work area in bytes."""
    held = s.handles.get(number, FftPlan)
    if held.plan.sizes:
        raise LibraryError("CUFFT_INVALID_PLAN", "it is made already")
    held.plan = replace(plan, stream=held.plan.stream, mode=held.plan.mode)
    return plan.work_bytes


def _plans(axes: int) -> None:
    """Register the handlers that make plans with `axes` axes, from sizes, a type and, for one axis, a batch size."""

    def made(given: tuple[int, ...]) -> fft.Plan:
        return _made(given[:axes], *given[axes:])

    @handler(f"cufftPlan{axes}d")
    def plan(s: Session, *given: int) -> int:
        return s.handles.add(FftPlan(made(given)))

    @handler(f"cufftMakePlan{axes}d")
    def make(s: Session, number: int, *given: int) -> int:
        return _remade(s, number, made(given))

    @handler(f"cufftEstimate{axes}d")
    def estimate(s: Session, *given: int) -> int:
        return made(given).work_bytes


for _axes in (1, 2, 3):
    _plans(_axes)


@handler("cufftCreate")
def plan_create(s: Session) -> int:
    return s.handles.add(FftPlan())


@handler("fft_many")
def plan_many(s: Session, call: int, number: int, rank: int, kind: int, batch: int, *rest: Any) -> tuple[int, int]:
    """Make a plan with layouts from strides and distances, then the sizes and those they are embedded in."""
    *steps, packed = rest
    if len(packed) != 72 or not 1 <= rank <= 3:
        raise ProtocolError(f"{rank} sizes in {len(packed)} bytes")
    sizes = tuple(signed_int(n) for n in struct.unpack("<9Q", packed))
    istride, idist, ostride, odist = (signed_int(n) for n in steps)
    layouts = {
        "input": _layout(sizes[3 : 3 + rank], istride, idist),
        "output": _layout(sizes[6 : 6 + rank], ostride, odist),
    }
    plan = _made(sizes[:rank], signed_int(kind), signed_int(batch), **layouts)
    if number:
        return number, _remade(s, number, plan)
    return s.handles.add(FftPlan(plan)), plan.work_bytes


def _layout(embed: tuple[int, ...], stride: int, distance: int) -> fft.Layout | None:
    if not any(embed):
        return None
    if min(embed[1:], default=1) < 1 or stride < 1 or distance < 0:
        raise LibraryError("CUFFT_INVALID_VALUE", f"embed {embed}, stride {stride}, distance {distance}")
    return fft.Layout(embed, stride, distance)


@handler("cufftGetSize")
def plan_size(s: Session, number: int) -> int:
    return _plan(s, number).work_bytes


@handler("cufftSetAutoAllocation")
def auto_allocation(s: Session, number: int, on: int) -> None:
    _plan(s, number)


@handler("cufftSetWorkArea")
def work_area(s: Session, number: int, address: int) -> None:
    """Accept a work area, which transforms on the host do not need."""
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


def _transform(name: str) -> None:
    """Register the handler of a transform; those between real and complex numbers have one direction."""
    kind = name.removeprefix("cufftExec")

    @handler(name)
    def run(s: Session, number: int, source: int, target: int, *directions: int) -> None:
        plan = _plan(s, number)
        known_stream(s, plan.stream)
        if not plan.sizes or fft.KINDS[plan.kind] != kind:
            raise LibraryError("CUFFT_INVALID_PLAN", f"a plan for {fft.KINDS[plan.kind]}" if plan.sizes else "not made")
        if not source or not target or any(d not in (-1, 1) for d in directions):
            where = f"from {source:#x} to {target:#x}, direction {sum(directions)}"
            raise LibraryError("CUFFT_INVALID_VALUE", where)
        s.library(name, lambda: fft.execute(plan, s.array, source, target, 1 in directions))


for _kind in fft.KINDS.values():
    _transform(f"cufftExec{_kind}")
