"""Device addresses of copies. The library moves the bytes itself."""

from __future__ import annotations

from isakit.hosts.cuda.codes import CudaError, invalid
from isakit.hosts.cuda.handler_table import handler
from isakit.hosts.cuda.handlers.streams import known_stream
from isakit.hosts.cuda.objects import Array
from isakit.hosts.cuda.session import Session
from isakit.hosts.cuda.table import by_number

BY_KIND, ON_HOST, ON_DEVICE, IN_ARRAY, IN_SYMBOL, VALUE = range(6)
"""Kinds of sides; the same numbers as `enum place` of the library."""
_TIGHT = (1 << 64) - 1

Extent = tuple[int, int, int]


@handler("copy")
def copy(s: Session, call: int, stream: int, kind: int, *numbers: int) -> tuple[int, ...]:
    """Check a copy; return start, pitch and slice size of both sides.

    `numbers`: width in bytes, height, depth, and the seven numbers of each side.
    """
    width, height, depth = extent = numbers[0], numbers[1], numbers[2]
    known_stream(s, stream)
    to, source = _place(s, numbers[3:10], extent), _place(s, numbers[10:], extent)
    element = max(numbers[15], 1)  # of a fill
    if numbers[10] == VALUE and (to[0] % element or (height > 1 and to[1] % element)):
        raise invalid(f"elements of {element} bytes at {to[0]:#x}, rows {to[1]} bytes apart")
    if s.options.trace:
        f = by_number().get(call)
        s.options.tell(f"{f.name if f else 'copy'}: {width} x {height} x {depth} to {to[0]:#x} from {source[0]:#x}")
    return (*to, *source)


def _place(s: Session, side: tuple[int, ...], extent: Extent) -> tuple[int, int, int]:
    what = side[0]
    if what == ON_DEVICE:
        return _memory(s, side, extent)
    if what == IN_ARRAY:
        return _array(s, side, extent)
    if what == IN_SYMBOL:
        return _symbol(s, side, extent)
    if what in (ON_HOST, VALUE):
        return 0, 0, 0
    raise invalid(f"a side of kind {what}")


def _memory(s: Session, side: tuple[int, ...], extent: Extent) -> tuple[int, int, int]:
    """Locate a box in linear memory; it must lie in one allocation."""
    _, address, x, y, z, pitch, rows = side
    width, height, depth = extent
    if pitch == _TIGHT:
        pitch = width
    if pitch < width and height > 1:
        raise CudaError("cudaErrorInvalidPitchValue", f"pitch {pitch}, width {width}")
    slice_ = pitch * (rows or height)
    start = address + z * slice_ + y * pitch + x
    if not width or not height or not depth:
        return 0, 0, 0
    end = start + (depth - 1) * slice_ + (height - 1) * pitch + width
    found = s.heap.range_of(start) or s.pinned.range_of(start)
    if found is None or end > found[1]:
        raise invalid(f"{end - start} bytes at {start:#x} are not all allocated")
    return start, pitch, slice_


def _array(s: Session, side: tuple[int, ...], extent: Extent) -> tuple[int, int, int]:
    """Locate a box in an array; a single row may extend into the next ones."""
    _, handle, x, y, z, *_ = side
    array = s.handles.get(handle, Array)
    width, height, depth = extent
    rows, slices = max(1, array.height), max(1, array.depth)
    start = (z * rows + y) * array.pitch + x
    if height == 1 and depth == 1:
        fits = start + width <= array.nbytes
    else:
        fits = x + width <= array.pitch and y + height <= rows and z + depth <= slices
    if not fits:
        raise invalid(f"{width} x {height} x {depth} bytes at {x}, {y}, {z} of an array")
    return array.address + start, array.pitch, array.pitch * rows


def _symbol(s: Session, side: tuple[int, ...], extent: Extent) -> tuple[int, int, int]:
    variable = s.variable(side[1])
    address, size = variable.module.variable(variable.name)
    if side[2] + extent[0] > size:
        raise invalid(f"{extent[0]} bytes at {side[2]} of {variable.name}, which has {size}")
    return address + side[2], extent[0], extent[0]


@handler("where")
def where(s: Session, number: int) -> tuple[int, int]:
    """Return the address and size in bytes of a variable."""
    variable = s.variable(number)
    return variable.module.variable(variable.name)


@handler("element")
def element(s: Session, handle: int) -> int:
    """Return the size of an array's element in bytes."""
    return s.handles.get(handle, Array).channel.nbytes
