"""Helpers of generated NumPy code: register access, conversions, operations that are more than one expression.

All arrays have one element per selected lane; `u32` and friends are the dtypes the generated code names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from isakit.engine.protocol import Array, DType, Lanes, Selection

u32, u64, i32, i64 = (np.dtype(t) for t in (np.uint32, np.uint64, np.int32, np.int64))
bool_, obj = np.dtype(bool), np.dtype(object)


# --- representation ---------------------------------------------------------------------------------------------------
def as_width(v: Array | int, width: int, target: DType, count: int) -> Array:
    """Return the content of a machine or a register file as an engine value of `width` bits (its low ones).

    A plain int means the same number in every lane.
    """
    if not isinstance(v, np.ndarray):
        return full(int(v) & ((1 << width) - 1), target, count)
    a = v
    if a.dtype is target and (width > 16 or width == 1):
        return a
    if a.dtype == bool_:
        return a.astype(u32).astype(obj) if target is obj else a.astype(target)
    if target is bool_:
        return (a & 1).astype(bool_)
    if a.dtype != obj and a.dtype.itemsize * 8 > max(8, 1 << (width - 1).bit_length()):
        a = a & a.dtype.type((1 << width) - 1)
    return a if a.dtype is target else a.astype(target)


def full(value: int, dtype: DType, count: int) -> Array:
    """Return the same number in every lane."""
    out = np.empty(count, dtype)
    out.fill(value)
    return out


def table_array(entries: Sequence[int], dtype: DType) -> Array:
    """Return a constant table with one more entry, 0, for indices past its end."""
    out = np.zeros(len(entries) + 1, dtype)
    out[:-1] = entries
    return out


def joined(pair: tuple[Array, Array] | Array, half: int) -> Array:
    """Return half 0 (low) or 1 (high) of a 16-byte result: (low, high) uint64 arrays, or one object array."""
    if isinstance(pair, tuple):
        return pair[half]
    return ((pair >> (64 * half)) & 0xFFFF_FFFF_FFFF_FFFF).astype(u64)


# --- registers --------------------------------------------------------------------------------------------------------
def read(file: Array, index: int, sel: Selection, count: int, width: int, target: DType) -> Array:
    """Register `index` of the selected lanes, often as a view; 0 past the end of the file."""
    if index >= len(file):
        return np.zeros(count, target)
    v = file[index][sel]
    return v if v.dtype is target and width > 16 else as_width(v, width, target, count)


def read_lanes(file: Array, index: Array, lanes: Lanes, width: int, target: DType) -> Array:
    """Register `index[lane]` of each selected lane; 0 past the end of the file."""
    inside = index < len(file)
    picked = file[np.where(inside, index, 0).astype(i64), lanes.numbers]
    return np.where(inside, as_width(picked, width, target, lanes.count), np.zeros((), target))


def put(file: Array, index: int, sel: Selection, active: Array | None, value: Array) -> None:
    """Write register `index` in the active lanes; nothing happens past the end of the file."""
    if index >= len(file):
        return
    if active is None:
        file[index][sel] = value
    elif isinstance(sel, slice):
        row = file[index][sel]
        # Several times faster than copyto(where=...) for masks that are not all alike.
        np.putmask(row, active, value if value.dtype is row.dtype else value.astype(row.dtype))
    else:
        file[index][sel[active]] = value[active] if value.ndim else value


def put_lanes(file: Array, index: Array, lanes: Lanes, active: Array | None, value: Array) -> None:
    """Write register `index[lane]` of each active lane; nothing happens past the end of the file."""
    inside = index < len(file)
    if active is not None:
        inside &= active
    file[index[inside].astype(i64), lanes.numbers[inside]] = value[inside]


def both(active: Array | None, condition: Array) -> Array:
    """Return lanes that execute and fulfil the condition."""
    return condition if active is None else active & condition


# --- operations -------------------------------------------------------------------------------------------------------
def divided(a: Array, b: Array, ones: Array) -> Array:
    """Return the unsigned quotient, `ones` for a zero divisor."""
    zero = b == 0
    if a.dtype == obj or b.dtype == obj:
        return np.where(zero, ones, a // np.where(zero, np.array(1, obj), b))
    return np.where(zero, ones, a // (b | zero))


def _bit_length(a: Array) -> Array:
    return np.frexp(a)[1]  # exact: a u32 has an exact float64


def clz_u32(a: Array, width: Array) -> Array:
    """Count the leading zero bits of numbers below 2**width, width <= 32."""
    return width - _bit_length(a).view(u32)


def clz_u64(a: Array, width: Array) -> Array:
    """Count the leading zero bits of numbers below 2**width, 32 < width <= 64."""
    high = (a >> 32).astype(u32)
    length = np.where(high != 0, _bit_length(high) + np.int32(32), _bit_length(a.astype(u32)))
    return width - length.astype(u64)


def clz_obj(a: Array, width: Array) -> Array:
    """Count the leading zero bits of Python ints below 2**width."""
    return width - _object_bit_length(a)


_object_bit_length: Any = np.frompyfunc(int.bit_length, 1, 1)


@lru_cache(maxsize=4096)
def constant(value: int, dtype: DType) -> Array:
    """Return a zero-dimensional array: a constant for generated code."""
    out = np.array(value, dtype)
    out.flags.writeable = False
    return out


def namespace() -> dict[str, Any]:
    """Return the names generated NumPy code may use."""
    names = (
        "u32",
        "u64",
        "i32",
        "i64",
        "bool_",
        "obj",
        "as_width",
        "full",
        "joined",
        "read",
        "read_lanes",
        "put",
        "put_lanes",
        "both",
        "divided",
        "clz_u32",
        "clz_u64",
        "clz_obj",
    )
    out = {name: globals()[name] for name in names}
    return out | {
        "intp": np.intp,  # of positions in tables: 32 bits in a browser
        "where": np.where,
        "minimum": np.minimum,
        "array": np.array,
        "some": np.count_nonzero,
        "errstate": np.errstate,
    }
