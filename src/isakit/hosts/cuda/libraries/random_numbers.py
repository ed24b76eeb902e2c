"""Generators of cuRAND whose numbers are those of the original, checked with values that NVIDIA has published.

XORWOW and MRG32k3a use 4096 subsequences far apart in the generator's sequence; number n is from subsequence n mod
4096. Each call begins with the first subsequence again, and each subsequence continues where it stopped. Normal numbers
come in pairs from one subsequence. Quasirandom numbers are Sobol's with the directions of Joe and Kuo, one dimension
after another.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist
from typing import Any, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from isakit.engine.protocol import Array

Words = NDArray[np.uint32]
SEQUENCES = 4096
_MASK = 0xFFFF_FFFF
_SCALE, _HALF = np.float32(2.0**-32), np.float32(2.0**-33)


class NotOffered(Exception):
    """An operation that a generator does not offer here."""


class Generator(Protocol):
    """A source of numbers; those that are uniform follow from the bits, where they are not made otherwise."""

    name: str

    def seed(self, seed: int) -> None:
        """Restart with a seed."""
        ...

    def bits(self, count: int) -> Words:
        """Return 32-bit numbers."""
        ...

    def uniform(self, count: int) -> NDArray[np.float32]:
        """Return numbers above 0 up to 1."""
        return _scaled(self.bits(count))

    def normal(self, count: int, mean: float, deviation: float) -> NDArray[np.float32]:
        """Return normally distributed numbers."""
        ...


def _scaled(words: Words) -> NDArray[np.float32]:
    return words.astype(np.float32) * _SCALE + _HALF


def _box_muller(u: Array, angle: Array, mean: float, deviation: float) -> NDArray[np.float32]:
    """Return normal numbers in pairs."""
    with np.errstate(divide="ignore"):
        radius = np.sqrt(np.float32(-2) * np.log(u))
    pairs: Array = np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=-1)
    return np.float32(mean) + np.float32(deviation) * pairs.reshape(-1).astype(np.float32)


class _Sequences:
    """A generator with many subsequences: `_advance` returns the next number of the first ones."""

    def _advance(self, count: int) -> Array:
        raise NotImplementedError

    def _numbers(self, count: int, dtype: DTypeLike) -> Array:
        out = np.empty(count, dtype)
        for at in range(0, count, SEQUENCES):
            part = out[at : at + SEQUENCES]
            part[...] = self._advance(len(part))
        return out

    def _pairs(self, count: int, dtype: DTypeLike) -> tuple[Array, Array]:
        """Return two numbers for each pair of results, from the same subsequence."""
        if count % 2:
            raise NotOffered("CURAND_STATUS_LENGTH_NOT_MULTIPLE")
        first, second = np.empty(count // 2, dtype), np.empty(count // 2, dtype)
        for at in range(0, count // 2, SEQUENCES):
            a, b = first[at : at + SEQUENCES], second[at : at + SEQUENCES]
            a[...] = self._advance(len(a))
            b[...] = self._advance(len(b))
        return first, second


class Xorwow(_Sequences, Generator):
    """Marsaglia's xorwow; its subsequences are 2^67 numbers apart."""

    name = "XORWOW"

    def __init__(self) -> None:
        self.seed(0)

    def seed(self, seed: int) -> None:
        """Restart with a seed."""
        low = 1099087573 * (seed & _MASK ^ 0xAAD26B49) & _MASK
        high = 2591861531 * (seed >> 32 ^ 0xF7DCEFDD) & _MASK
        first = [123456789 + low, 362436069 ^ low, 521288629 + high, 88675123 ^ high, 5783321 + low]
        self._states = _far_apart(np.array([[v & _MASK] for v in first], np.uint32))
        self._count = np.full(SEQUENCES, (6615241 + high + low) & _MASK, np.uint32)

    def _advance(self, count: int) -> Words:
        states = self._states[:, :count]
        states[...] = _xorwow_step(states)
        self._count[:count] += np.uint32(362437)
        return states[4] + self._count[:count]

    def bits(self, count: int) -> Words:
        """Return 32-bit numbers."""
        return self._numbers(count, np.uint32)

    def normal(self, count: int, mean: float, deviation: float) -> NDArray[np.float32]:
        """Return normally distributed numbers."""
        first, second = self._pairs(count, np.uint32)
        turn = np.float32(2 * np.pi)
        angle = second.astype(np.float32) * np.float32(_SCALE * turn) + np.float32(_HALF * turn)
        return _box_muller(_scaled(first), angle, mean, deviation)


def _xorwow_step(states: Words) -> Words:
    old, last = states[0], states[4]
    mixed = old ^ (old >> np.uint32(2))
    new = (last ^ (last << np.uint32(4))) ^ (mixed ^ (mixed << np.uint32(1)))
    return np.stack([states[1], states[2], states[3], last, new])


def _far_apart(first: Words) -> Words:
    """Return the states of all subsequences: each is the previous one advanced by 2^67 steps."""
    states = first
    for jump in _jumps():
        states = np.concatenate([states, _applied(jump, states)], axis=1)
    return states


@cache
def _jumps() -> list[Words]:
    """Return the linear maps of 2^67 steps, of twice as many and so on, each as the images of single bits."""
    bit = np.arange(160)
    basis = np.zeros((5, 160), np.uint32)
    basis[bit // 32, bit] = np.uint32(1) << (bit % 32).astype(np.uint32)
    out = [_xorwow_step(basis)]
    while len(out) < 67 + SEQUENCES.bit_length() - 1:
        out.append(_applied(out[-1], out[-1]))
    out.append(_applied(out[-1], out[-1]))
    return out[67:-1]


def _applied(linear: Words, states: Words) -> Words:
    """Apply a linear map over bits to states: the exclusive or of the images of the set bits."""
    out = np.zeros_like(states)
    for k in range(160):
        one = states[k // 32] >> np.uint32(k % 32) & np.uint32(1)
        out ^= linear[:, k, None] * one
    return out


class Mrg32k3a(_Sequences, Generator):
    """L'Ecuyer's MRG32k3a; its subsequences are 2^76 numbers apart."""

    name = "MRG32k3a"
    _MODULI = (4294967087, 4294944443)
    _STEPS: ClassVar = (((0, 1, 0), (0, 0, 1), (-810728, 1403580, 0)), ((0, 1, 0), (0, 0, 1), (-1370589, 0, 527612)))

    def __init__(self) -> None:
        self.seed(0)

    def seed(self, seed: int) -> None:
        """Restart with a seed."""
        a, b = (seed & _MASK ^ 0x5555_5555, seed >> 32 ^ 0xAAAA_AAAA) if seed else (1, 1)
        self._states = tuple(
            _powers_apart(step, [12345 * s % m for s in seeds], m)
            for step, seeds, m in zip(self._STEPS, ((a, b, a), (b, a, b)), self._MODULI, strict=True)
        )

    def _advance(self, count: int) -> NDArray[np.int64]:
        one, two = (s[:, :count] for s in self._states)
        m, n = self._MODULI
        # The factors are below 2^21 and the states below 2^32: no product leaves 64 bits.
        first = (1403580 * one[1] - 810728 * one[0]) % m
        second = (527612 * two[2] - 1370589 * two[0]) % n
        one[...], two[...] = np.stack([one[1], one[2], first]), np.stack([two[1], two[2], second])
        return first - second + np.where(first <= second, m, 0)

    def bits(self, count: int) -> Words:
        """Raise NotOffered: no published values are known."""
        raise NotOffered("no published values of the bits of MRG32k3a are known to check them with")

    def _uniform(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        return (numbers * 2.328306549295728e-10).astype(np.float32)

    def uniform(self, count: int) -> NDArray[np.float32]:
        """Return numbers above 0 up to 1."""
        return self._uniform(self._numbers(count, np.int64))

    def normal(self, count: int, mean: float, deviation: float) -> NDArray[np.float32]:
        """Return normally distributed numbers."""
        first, second = self._pairs(count, np.int64)
        return _box_muller(self._uniform(first), self._uniform(second) * np.float32(2 * np.pi), mean, deviation)


def _powers_apart(step: object, first: list[int], modulus: int) -> NDArray[np.int64]:
    """Return the states of all subsequences: each is the previous one advanced by 2^76 steps."""
    jump = np.array(step, object)
    for _ in range(76):
        jump = jump @ jump % modulus
    states = np.array(first, object)[:, None]
    while states.shape[1] < SEQUENCES:
        states = np.concatenate([states, jump @ states % modulus], axis=1)
        jump = jump @ jump % modulus
    return states.astype(np.int64)


class Sobol32(Generator):
    """Sobol's 32-bit sequence in Gray code order, `dimensions` one after the other."""

    name = "Sobol32"

    def __init__(self) -> None:
        self.dimensions, self.position = 1, 0

    def seed(self, seed: int) -> None:
        """Raise NotOffered: there is nothing to seed."""
        raise NotOffered("CURAND_STATUS_TYPE_ERROR")

    def bits(self, count: int) -> Words:
        """Return 32-bit numbers. Raises NotOffered for a count that is not a multiple of the dimensions."""
        if count % self.dimensions:
            raise NotOffered("CURAND_STATUS_LENGTH_NOT_MULTIPLE")
        each = count // self.dimensions
        if self.position + each > 1 << 32:
            raise NotOffered("CURAND_STATUS_OUT_OF_RANGE")
        place = np.arange(self.position, self.position + each, dtype=np.uint64)
        gray = (place ^ (place >> np.uint64(1))).astype(np.uint32)
        out = np.zeros((self.dimensions, each), np.uint32)
        for row, directions in zip(out, _directions(self.dimensions), strict=True):
            for bit in range(32):
                row ^= np.where(gray >> np.uint32(bit) & np.uint32(1), directions[bit], np.uint32(0))
        self.position += each
        return out.reshape(-1)

    def normal(self, count: int, mean: float, deviation: float) -> NDArray[np.float32]:
        """Return normally distributed numbers, by the inverse of their distribution."""
        words = self.bits(count)
        u = words.astype(np.float64) * 2.0**-32 + 2.0**-33
        return (mean + deviation * _inverse_normal(u)).astype(np.float32)


def _inverse_normal(u: NDArray[np.float64]) -> NDArray[np.float64]:
    try:
        from scipy.special import ndtri  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError:
        return np.array([NormalDist().inv_cdf(x) for x in u])
    return cast(Any, ndtri)(u)


def _directions(dimensions: int) -> Words:
    """Return the directions of each dimension, most significant bit first."""
    first = (np.uint32(1) << np.arange(31, -1, -1, dtype=np.uint32))[None, :]
    if dimensions == 1:
        return first
    try:
        from scipy.stats.qmc import Sobol  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError:
        raise NotOffered("more than one dimension needs SciPy: pip install 'isakit[random]'") from None
    made: Any = cast(Any, Sobol)(dimensions, scramble=False, bits=32)
    return np.asarray(made._sv, np.uint32).reshape(dimensions, 32)
