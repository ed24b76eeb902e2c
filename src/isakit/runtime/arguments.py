"""Kernel arguments to parameter bytes, and arrays to buffers and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, cast

import numpy as np

from isakit.description import Param
from isakit.engine.protocol import Array, DType
from isakit.errors import LaunchError
from isakit.lean import dataclass
from isakit.machine.tesla import DeviceMemory
from isakit.runtime.buffer import Buffer

_LETTERS = {"f": "f", "u": "iu", "s": "iu", "i": "iu", "b": "fiu"}
"""By the first letter of a parameter's type: the kinds of NumPy's scalars that it takes."""
_ELEMENTS = {"f": "float", "u": "uint", "s": "int"}
"""By the first letter of an element's type: what NumPy calls such numbers, without their bits."""


@dataclass
class Passed:
    """Arguments ready for a launch: the parameter bytes, and the arrays that live in buffers meanwhile."""

    data: bytes
    arrays: list[tuple[Array, Buffer]] = field(default_factory=list[tuple[Array, Buffer]])

    def update(self) -> None:
        """Copy what the kernel wrote back into the arrays.

        Raises LaunchError, after copying the others, if it wrote to a read-only array, or different values to elements
        that share memory.
        """
        refused = shared = False
        for array, buffer in self.arrays:
            written = buffer.read(array.dtype.newbyteorder("<"), array.shape)
            if array.flags.writeable:
                array[...] = written
                if not array.flags.c_contiguous:
                    shared = shared or _device_form(array).tobytes() != written.tobytes()
            elif written.tobytes() != _device_form(array).tobytes():
                refused = True
        if refused:
            raise LaunchError("the kernel wrote to an array that is read-only; pass a copy")
        if shared:
            raise LaunchError("the kernel wrote different values to elements that share their memory; pass a copy")

    def finish(self) -> None:
        """`update`, and free the buffers."""
        try:
            self.update()
        finally:
            self.release()

    def release(self) -> None:
        """Free the buffers of the arguments."""
        for _, buffer in self.arrays:
            buffer.free()
        self.arrays = []


def pass_arguments(
    memory: DeviceMemory, kernel: str, args: Sequence[object], params: Sequence[Param] | None, pointer_bytes: int
) -> Passed:
    """Lay out the arguments of a launch.

    Where the kernel describes its parameters, number, sizes and kinds must agree with them; else arguments follow each
    other with natural alignment, arrays and buffers as pointers of `pointer_bytes`. Raises LaunchError.
    """
    if params is not None and len(args) != len(params):
        said = ", ".join(f"{p.name or f'#{i}'}: {p.kind or f'{p.size} bytes'}" for i, p in enumerate(params))
        raise LaunchError(
            f"{kernel} takes {len(params)} argument{'s' * (len(params) != 1)} ({said or 'none'}), got {len(args)}"
        )
    _check_overlaps(kernel, args)
    passed = Passed(b"")
    data = bytearray()
    known: dict[int, Buffer] = {}
    told = any(p.is_pointer for p in params or ())
    try:
        for i, arg in enumerate(args):
            param = params[i] if params is not None else None
            what = f"argument {i}" + (f" ({param.name})" if param is not None and param.name else "") + f" of {kernel}"
            if told and param is not None and param.kind and not param.is_pointer:
                _check_number(arg, param, what)
            piece = _piece(memory, arg, param, what, pointer_bytes, passed, known)
            at = param.offset if param is not None else aligned(len(data), len(piece))
            if len(data) < at + len(piece):
                data.extend(bytes(at + len(piece) - len(data)))
            data[at : at + len(piece)] = piece
    except BaseException:
        passed.release()
        raise
    passed.data = bytes(data)
    return passed


def guess_pointer_bytes(args: Sequence[object], area: int) -> int:
    """Return 4, or 8 if only that makes the arguments fill a parameter area of `area` bytes exactly.

    Files of the first CUDA releases do not describe parameters, but state the size in shared memory of parameters and
    launch header.
    """
    sizes: dict[int, int] = {}
    for pointer in (4, 8):
        at = 0
        for arg in args:
            size = pointer if isinstance(arg, np.ndarray | Buffer) else _size(arg)
            at = aligned(at, size) + size
        sizes[pointer] = at
    return 8 if sizes[8] == area != sizes[4] else 4


def _size(arg: object) -> int:
    return len(arg) if isinstance(arg, bytes | bytearray) else int(getattr(arg, "nbytes", 4))


def aligned(at: int, size: int) -> int:
    """Round an offset up to the natural alignment of `size` bytes, at most 8."""
    align = min(8, 1 << (size.bit_length() - 1)) if size else 1
    return -(-at // align) * align


def _check_overlaps(kernel: str, args: Sequence[object]) -> None:
    """Refuse different arrays over the same memory: of two buffers one would overwrite the other."""
    arrays = [(i, cast(Array, a)) for i, a in enumerate(args) if isinstance(a, np.ndarray)]
    for k, (i, a) in enumerate(arrays):
        for j, b in arrays[k + 1 :]:
            if a is not b and (a.flags.writeable or b.flags.writeable) and np.may_share_memory(a, b):
                try:
                    shared = np.shares_memory(a, b, max_work=cast(Any, 100_000))
                except np.exceptions.TooHardError:
                    shared = True
                if shared:
                    raise LaunchError(
                        f"arguments {i} and {j} of {kernel} are different views of the same memory; pass one array, or "
                        "use dev.alloc and dev.write"
                    )


def _piece(
    memory: DeviceMemory,
    arg: object,
    param: Param | None,
    what: str,
    pointer_bytes: int,
    passed: Passed,
    known: dict[int, Buffer],
) -> bytes:
    if isinstance(arg, np.ndarray):
        array = cast(Array, arg)
        _check_element(array, param, what)
        return _address(_array_buffer(memory, array, what, passed, known), param, what, pointer_bytes)
    if isinstance(arg, Buffer):
        if arg.freed:
            raise LaunchError(f"{what} is a buffer that has been freed")
        if arg.memory is not memory:
            raise LaunchError(f"{what} is a buffer of another device")
        return _address(arg, param, what, pointer_bytes)
    if isinstance(arg, bytes | bytearray):
        if param is not None and len(arg) != param.size:
            raise LaunchError(f"{what} has {param.size} bytes, got {len(arg)}")
        return bytes(arg)
    return _scalar(arg, param, what)


def _array_buffer(memory: DeviceMemory, array: Array, what: str, passed: Passed, known: dict[int, Buffer]) -> Buffer:
    if array.dtype.hasobject:
        raise LaunchError(f"{what} is an array of Python objects")
    buffer = known.get(id(array))
    if buffer is None:
        buffer = known[id(array)] = Buffer(memory, memory.alloc(array.nbytes), array.nbytes)
        passed.arrays.append((array, buffer))
        buffer.write(_device_form(array))
    return buffer


def _check_element(array: Array, param: Param | None, what: str) -> None:
    """Check an array's dtype against the kernel's parameter, if that states one.

    Signed and unsigned integers of one size are equivalent to a kernel, and bytes are raw memory. Raises LaunchError.
    """
    if param is None or not param.element:
        return
    wanted = np.dtype(f"{_ELEMENTS[param.element[0]]}{param.element[1:]}")
    given = array.dtype
    if given == np.uint8 or (given.kind == "V" and given.names is None and given.subdtype is None):
        return
    kinds = "f" if wanted.kind == "f" else "iub" if wanted.itemsize == 1 else "iu"
    if given.kind in kinds and given.itemsize == wanted.itemsize:
        return
    raise LaunchError(f"{param.name or what} is {param.kind}, got {given}: {_how_to_pass(array, wanted, param)}")


def _check_number(arg: object, param: Param, what: str) -> None:
    """Raise LaunchError for memory passed for a parameter that is known not to be an address."""
    if isinstance(arg, np.ndarray) and arg.ndim == 0:
        raise LaunchError(f"{what} is {param.kind}, got an array of no dimensions: pass its number, {param.name}[()]")
    if isinstance(arg, np.ndarray | Buffer):
        got = "a buffer" if isinstance(arg, Buffer) else "an array"
        raise LaunchError(f"{what} is {param.kind}, got {got}: only parameters that are addresses take one")


def _how_to_pass(array: Array, wanted: DType, param: Param) -> str:
    """Return the advice for an array of another type than the one wanted."""
    name = param.name or "x"
    if array.dtype.names is not None:
        return f"pass one field of it as np.{wanted}, or {name}.view(np.uint8) for its bytes as they are"
    if array.dtype.kind in "fiub":
        return f"pass {name}.astype(np.{wanted}), and keep it if the kernel writes there"
    return f"pass {name}.view(np.uint8) for its bytes as they are, or an array of np.{wanted}"


def _device_form(array: Array) -> Array:
    """Return the array as the device keeps it: little-endian."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _address(buffer: Buffer, param: Param | None, what: str, pointer_bytes: int) -> bytes:
    size = param.size if param is not None else pointer_bytes
    if size not in (4, 8):
        raise LaunchError(f"{what} has {size} bytes and cannot hold an address; pass a scalar or bytes")
    if param is not None and param.kind[:1] in ("f", "s") and not param.is_pointer:
        raise LaunchError(f"{what} is a {param.kind}, got an array or buffer")
    return buffer.address.to_bytes(size, "little")


def _scalar(arg: object, param: Param | None, what: str) -> bytes:
    """Return a number as bytes: NumPy scalars unchanged, Python ints as 32-bit integers, Python floats as f32."""
    size = param.size if param is not None else None
    kind = param.kind if param is not None else ""
    letter = "u" if param is not None and param.is_pointer else kind[:1]  # an address is a number
    if isinstance(arg, bool | np.bool_):
        arg = 1 if arg else 0
    if isinstance(arg, int) and letter != "f":
        bits = 8 * (size or 4)
        if not -(1 << (bits - 1)) <= arg < 1 << bits:
            raise LaunchError(f"{what}: {arg} does not fit {bits} bits")
        return (arg & ((1 << bits) - 1)).to_bytes(bits // 8, "little")
    if isinstance(arg, int | float) and not isinstance(arg, np.generic):  # np.float64 is a float
        width = size or 4
        if width not in (4, 8) or letter not in ("", "f", "b"):
            raise LaunchError(f"{what} is {kind or f'{width} bytes'}, got the floating point number {arg!r}")
        arg = _rounded(arg, width, what)
    dtype: DType | None = getattr(arg, "dtype", None)
    if dtype is None or not isinstance(arg, np.generic) or dtype.kind not in "iuf":
        raise LaunchError(
            f"{what}: cannot pass a {type(cast(object, arg)).__name__}; pass an array, a buffer, a number or bytes"
        )
    if size is not None and dtype.itemsize != size:
        raise LaunchError(f"{what} has {size} bytes, got {dtype} with {dtype.itemsize}")
    if dtype.kind not in _LETTERS.get(letter, "iuf"):
        raise LaunchError(f"{what} is {kind}, got {dtype}")
    return arg.tobytes()


def _rounded(number: float, width: int, what: str) -> np.generic:
    """Round a number to the nearest float of `width` bytes. Raises LaunchError for one beyond all of them."""
    try:
        with np.errstate(over="ignore"):
            value = np.float32(number) if width == 4 else np.float64(number)
    except OverflowError:  # of an integer
        value = np.float64(np.inf)
    if np.isinf(value) and number not in (np.inf, -np.inf):
        raise LaunchError(f"{what}: {number:g} does not fit f{8 * width}" if isinstance(number, float) else
                          f"{what}: an integer of {number.bit_length()} bits does not fit f{8 * width}")  # fmt: skip
    return value
