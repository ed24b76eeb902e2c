"""Sets of words as lists of patterns, each of which fixes some bits; the patterns of a list do not overlap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from isakit.export.text_nodes import field_of, runs
from isakit.spec.fields import Bits, Field

Cubes = list[Bits]
EVERYTHING: Cubes = [Bits(0, 0)]


def without(cubes: Iterable[Bits], removed: Bits) -> Cubes:
    """Return the words of `cubes` that are not among `removed`."""
    out: Cubes = []
    for c in cubes:
        if (c.value ^ removed.value) & c.mask & removed.mask:
            out.append(c)
            continue
        fixed = c
        for low, n in runs(removed.mask & ~c.mask):
            for b in range(low, low + n):
                bit = 1 << b
                out.append(Bits(fixed.mask | bit, fixed.value | ~removed.value & bit))
                fixed = Bits(fixed.mask | bit, fixed.value | removed.value & bit)
    return out


def both(a: Iterable[Bits], b: Iterable[Bits]) -> Cubes:
    """Return the words that are in both lists."""
    second = list(b)
    return [j for x in a for y in second if (j := x.join(y)) is not None]


def of_values(mask: int, wanted: Iterable[int]) -> Cubes:
    """Return the words whose bits of `mask`, lowest first, form one of the numbers.

    Neighbours are merged into patterns.
    """
    field = field_of(mask)
    cubes = {(mask, field.put(v)) for v in wanted}
    for low, n in runs(mask):
        for b in range(low, low + n):
            bit = 1 << b
            for m, v in list(cubes):
                if m & bit and not v & bit and (m, v) in cubes and (m, v | bit) in cubes:
                    cubes -= {(m, v), (m, v | bit)}
                    cubes.add((m & ~bit, v))
    return [Bits(m, v) for m, v in sorted(cubes)]


def within(field: Field, low: int, high: int) -> Cubes:
    """Return the words in which the unsigned number of a field is from `low` to `high`."""
    out: Cubes = []
    while low <= high:
        size = (low & -low).bit_length() - 1 if low else field.width
        while low + (1 << size) - 1 > high:
            size -= 1
        fixed = ((1 << field.width) - 1) & ~((1 << size) - 1)
        out.append(Bits(field.put(fixed), field.put(low)))
        low += 1 << size
    return out


def equal(a: Field, b: Field) -> Cubes:
    """Return the words in which two fields of the same width have the same number."""
    cubes = EVERYTHING
    for k in range(a.width):
        here, there = Field(((_bit(a, k), 1),)).mask, Field(((_bit(b, k), 1),)).mask
        cubes = both(cubes, [Bits(here | there, 0), Bits(here | there, here | there)])
    return cubes


def _bit(field: Field, k: int) -> int:
    return next(b for b in range(field.mask.bit_length()) if field.put(1 << k) >> b & 1)


def first_matching(cases: Iterable[tuple[Bits, Bits | None]]) -> Iterator[Cubes]:
    """Yield for each case the words of which it is the first that holds (`when`, not `unless`); then the rest."""
    rest = EVERYTHING
    for when, unless in cases:
        here = [when] if unless is None else without([when], unless)
        yield both(rest, here)
        for c in here:
            rest = without(rest, c)
    yield rest


def others(cubes: Iterable[Bits]) -> Cubes:
    """Return all words that are not in `cubes`."""
    out = EVERYTHING
    for c in cubes:
        out = without(out, c)
    return out
