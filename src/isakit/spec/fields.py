"""Bit fields of an instruction word.

A field is a list of bit ranges, least significant range first; its value is their concatenation. An instruction word is
one Python int over all its units (a Tesla long instruction: word 0 in bits 0-31, word 1 in bits 32-63).
"""

from __future__ import annotations

from collections.abc import Iterator

from isakit.lean import cached_property, dataclass


@dataclass(frozen=True)
class Field:
    """A named, possibly split range of bits."""

    slices: tuple[tuple[int, int], ...]
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        if not self.name:
            object.__setattr__(self, "name", name)

    def __add__(self, high: Field) -> Field:
        """Return this field as the low part, `high` above it."""
        return Field(self.slices + high.slices)

    @cached_property
    def width(self) -> int:
        """Number of bits."""
        return sum(n for _, n in self.slices)

    @cached_property
    def mask(self) -> int:
        """The bits of the word the field occupies."""
        return sum(((1 << n) - 1) << low for low, n in self.slices)

    def get(self, word: int) -> int:
        """Return the field's value in `word`."""
        value = shift = 0
        for low, n in self.slices:
            value |= (word >> low & (1 << n) - 1) << shift
            shift += n
        return value

    def number(self, word: int, signed: bool) -> int:
        """Return the field's value in `word`, in two's complement if it is signed."""
        value = self.get(word)
        return value - (1 << self.width) if signed and value >> self.width - 1 else value

    def put(self, value: int) -> int:
        """Return `value` placed into the field's bits of an otherwise zero word; it must fit."""
        word = 0
        for low, n in self.slices:
            word |= (value & (1 << n) - 1) << low
            value >>= n
        return word

    def fits(self, value: int) -> bool:
        """Return true if `value` can be held."""
        return 0 <= value < 1 << self.width

    def expression(self, word: str = "w") -> str:
        """Return Python source that reads the field from the variable `word`."""
        terms: list[str] = []
        shift = 0
        for low, n in self.slices:
            term = f"{word}>>{low}&{(1 << n) - 1}" if low else f"{word}&{(1 << n) - 1}"
            terms.append(f"({term})<<{shift}" if shift else f"({term})")
            shift += n
        return terms[0] if len(terms) == 1 else f"({'|'.join(terms)})"

    def __str__(self) -> str:
        ranges = [f"{low + n - 1}:{low}" if n > 1 else f"{low}" for low, n in reversed(self.slices)]
        return f"{self.name or 'bits'}[{','.join(ranges)}]"


def bits(low: int, high: int | None = None, name: str = "") -> Field:
    """Return the bits `low`..`high` (one bit if `high` is omitted)."""
    return Field(((low, (low if high is None else high) - low + 1),), name)


@dataclass(frozen=True)
class Bits:
    """A partial word: the bits in `mask` are determined and have the values in `value`."""

    mask: int = 0
    value: int = 0

    def join(self, other: Bits) -> Bits | None:
        """Return the union of both, or None if they want different values for the same bit."""
        if (self.value ^ other.value) & self.mask & other.mask:
            return None
        if not other.mask & ~self.mask:
            return self
        if not self.mask:
            return other
        return Bits(self.mask | other.mask, self.value | other.value)

    def holds(self, word: int) -> bool:
        """Return true if `word` has these bits."""
        return word & self.mask == self.value


def subsets(mask: int) -> Iterator[int]:
    """Yield all words with no bits outside of the mask, in the order of the value of its bits."""
    word = 0
    while True:
        yield word
        word = (word - mask) & mask
        if not word:
            return


def where(conditions: dict[Field, int] | None = None, **_: object) -> Bits:
    """Return the conjunction `field == value` for all pairs."""
    mask = value = 0
    for f, v in (conditions or {}).items():
        if not f.fits(v):
            raise ValueError(f"{f} cannot hold {v:#x}")
        mask |= f.mask
        value |= f.put(v)
    return Bits(mask, value)
