"""cuRAND. Its functions are executed on the host immediately, in the order of the calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isakit.engine.protocol import Array
from isakit.hosts.cuda.codes import LibraryError
from isakit.hosts.cuda.handler_table import calling, handler
from isakit.hosts.cuda.handlers.streams import known_stream
from isakit.hosts.cuda.libraries.random_numbers import Generator, Mrg32k3a, NotOffered, Sobol32, Xorwow
from isakit.hosts.cuda.session import Session

_MOST = 1 << 28
"""Limit in bytes of the numbers of one call of a host generator."""
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
    """The generator behind a handle; `host`: its numbers go to host memory."""

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
    try:
        source.seed(seed)
    except NotOffered as e:
        raise _refused(s, source, str(e)) from None


@handler("curandSetGeneratorOffset")
def generator_offset(s: Session, handle: int, offset: int) -> None:
    source = s.handles.get(handle, RandomGenerator).source
    if isinstance(source, Sobol32):
        source.position = offset
    elif offset:
        why = f"offsets into {source.name} are not modelled: which number of which sequence is not published"
        raise _refused(s, source, why)


@handler("curandSetGeneratorOrdering")
def generator_ordering(s: Session, handle: int, order: int) -> None:
    source = s.handles.get(handle, RandomGenerator).source
    allowed = (201,) if isinstance(source, Sobol32) else (100, 101, 102)
    if order not in allowed:
        raise LibraryError("CURAND_STATUS_OUT_OF_RANGE", f"the order {order}")
    if order == 102:
        why = "the order of seeds of their own is not modelled: how they are made is not published"
        raise _refused(s, source, why)


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


def _refused(s: Session, source: Generator, why: str) -> LibraryError:
    """Return the status for an operation that a generator does not offer; reports it if there is no status."""
    if why.startswith("CURAND_"):
        return LibraryError(why, source.name)
    s.options.tell(why)
    return LibraryError("CURAND_STATUS_INTERNAL_ERROR", why)


@handler("numbers")
def numbers(s: Session, call: int, handle: int, output: int, count: int, mean: float, deviation: float) -> int:
    """Generate numbers; return their address for the host, 0 if they stay on the device."""
    generator, f = s.handles.get(handle, RandomGenerator), calling(call)
    known_stream(s, generator.stream)
    if not count:
        return 0
    if count > _MOST // 4:
        raise LibraryError("CURAND_STATUS_ALLOCATION_FAILED", f"{count} numbers")
    source, what = generator.source, f.name.removeprefix("curandGenerate")

    def work() -> int:
        dtype: type[np.generic] = np.float32 if what else np.uint32
        place = s.pinned.alloc(4 * count, 4096) if generator.host else 0
        to = s.array(place or output, dtype, (count,), (4,))
        try:
            with np.errstate(all="ignore"):
                to[...] = _drawn(source, what, count, mean, deviation)
        except NotOffered as e:
            if place:
                s.pinned.free(place)
            raise _refused(s, source, str(e)) from None
        return place

    return s.library(f.name, work)


def _drawn(source: Generator, what: str, count: int, mean: float, deviation: float) -> Array:
    if what == "":
        return source.bits(count)
    if what == "Uniform":
        return source.uniform(count)
    drawn = source.normal(count, mean, deviation)
    return drawn if what == "Normal" else np.exp(drawn)


@handler("numbers_taken")
def numbers_taken(s: Session, call: int, address: int) -> None:
    """Free the memory through which numbers were passed to the host."""
    s.pinned.free(address)
