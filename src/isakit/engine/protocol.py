"""Interface between engines and machines: selected lanes, the state an engine works on, control requests.

A machine owns registers and memories and decides who executes; an engine computes. NumPy style works on many lanes at
once (arrays with one element per selected lane), scalar style on one lane (plain ints).

| width of a value | NumPy style | scalar style |
|---|---|---|
| 1 bit | bool array | int |
| 2..32 bits | uint32 array | int |
| 33..64 bits | uint64 array | int |
| more | object array of ints; `(low, high)` pair of uint64 arrays for 16-byte memory accesses | int |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from isakit.sem.trace import Attributes

Array = NDArray[Any]
"""An array whose elements are known only when the program runs; elsewhere the type says them: `NDArray[np.uint32]`."""
DType = np.dtype[Any]
"""The type of the elements of an array."""
Selection = slice | Array


class Lanes:
    """The lanes an instruction runs on.

    `sel`: the selected lanes of the lane axis (a slice with explicit start and stop and step 1, or an index array);
    `active`: bool array of shape [count], or None if every selected lane executes; `count`: number of selected lanes.
    """

    __slots__ = ("_numbers", "active", "count", "sel")

    def __init__(self, sel: Selection, count: int, active: Array | None = None) -> None:
        self.sel, self.count, self.active = sel, count, active
        self._numbers: Array | None = None

    @classmethod
    def span(cls, start: int, count: int, active: Array | None = None) -> Lanes:
        """`count` neighbouring lanes from `start` on: the fast form."""
        return cls(slice(start, start + count), count, active)

    @property
    def numbers(self) -> Array:
        """Positions on the lane axis, shape [count] (computed once)."""
        if self._numbers is None:
            first = self.sel.start if isinstance(self.sel, slice) else 0
            self._numbers = np.arange(first, first + self.count) if isinstance(self.sel, slice) else self.sel
        return self._numbers

    @property
    def mask(self) -> Array:
        """Executing lanes as a bool array of shape [count], whatever `active` is."""
        return np.ones(self.count, bool) if self.active is None else self.active

    def where(self, condition: Array) -> Lanes:
        """Return the same selection, executing only where `condition` (bool, shape [count]) also holds."""
        lanes = Lanes(self.sel, self.count, condition if self.active is None else self.active & condition)
        lanes._numbers = self._numbers
        return lanes


class Control(NamedTuple):
    """A control request with its operands evaluated: arrays for lane values, ints for uniform ones."""

    name: str
    args: tuple[Any, ...]
    attrs: Attributes


class LaneState(Protocol):
    """State that a machine gives to an engine.

    NumPy style: addresses, stored values and atomic operands are arrays of shape [count] in the representation of the
    module docstring, also when they are the same in all lanes. Results have shape [count], any unsigned or bool dtype
    wide enough (or a plain int for "the same in every lane"), hold 0 in lanes that do not execute, and are fresh: never
    a view of memory or of a register. `lanes` is narrowed by the effect's condition. Arrays passed in may be views of
    registers: read them before changing anything, keep none.

    Scalar style: everything is a plain int and `lanes` is whatever the caller of `run` passed.
    """

    files: Mapping[str, Any]
    """Register file name -> array [registers, lanes_total] of bool, uint8, uint16, uint32, uint64 or object; scalar
    style: list of ints. One element holds one register; a write of fewer bits zero-extends."""

    def load(self, space: str, address: Any, size: int, attrs: Attributes, lanes: Any) -> Any:
        """Return `size` bytes, little-endian, as unsigned numbers.

        NumPy style and 16 bytes: a pair (low, high) of uint64.
        """
        ...

    def store(self, space: str, address: Any, value: Any, size: int, attrs: Attributes, lanes: Any) -> None:
        """Store the low `size` bytes. NumPy style and 16 bytes: `value` is a pair (low, high) of uint64 arrays."""
        ...

    def atomic(
        self,
        space: str,
        op: str,
        address: Any,
        operands: Sequence[Any],
        size: int,
        attrs: Attributes,
        lanes: Any,
    ) -> Any:
        """Read, modify and write lane by lane in ascending order; return the old values."""
        ...

    def machine(self, name: str, args: Sequence[Any], attrs: Attributes, lanes: Any) -> Any:
        """Return a lane number, counter, other lanes' values or votes.

        Arguments: arrays for lane values, ints for uniform.
        """
        ...

    def trap(self, kind: str, lanes_mask: Any) -> None:
        """Report a fault in the lanes of the bool array (scalar style: True); called only when there is one."""
        ...
