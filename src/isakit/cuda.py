"""Kernels and arrays under the names that numba has for them: `from isakit import cuda`.

A kernel is compiled for the types of its arguments when it is first launched with them; it runs on a simulated chip.
What later cards have and these have not (streams that overlap, cooperative groups) is not there or does nothing.
"""

from __future__ import annotations

import linecache
import re
import time
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from isakit.compile import compile_ptx
from isakit.compile.python import Pointer, Scalar, function_source, parameters, ptx_of, translate
from isakit.compile.python.types import f32, f64, i8, i16, i32, i64, type_named, u8, u16, u32, u64
from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.runtime import Buffer, Device, LoadedKernel
from isakit.runtime.python_kernel import PythonKernel, with_shapes

int8, int16, int32, int64, uint8, uint16, uint32, uint64 = i8, i16, i32, i64, u8, u16, u32, u64
float32, float64 = f32, f64

Dims = int | Sequence[int]
_current: list[Device] = []


def current_device() -> Device:
    """Return the device that kernels run on: a gt200, unless `use` has said another."""
    if not _current:
        _current.append(Device("gt200"))
    return _current[0]


def use(device: Device) -> None:
    """Run kernels on this device from here on; arrays of another one cannot be used on it."""
    _current[:] = [device]


def is_available() -> bool:
    """Return True: a simulated chip is always there."""
    return True


# --- arrays ---------------------------------------------------------------------------------------------------------
class DeviceArray:
    """An array in the memory of the device. `copy_to_host()` gives it as an array of NumPy's."""

    def __init__(self, device: Device, shape: int | Sequence[int], dtype: Any) -> None:
        self.device = device
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype = np.dtype(dtype)
        self.ndim, self.size = len(self.shape), int(np.prod(self.shape))
        self.nbytes = self.size * self.dtype.itemsize
        self.buffer: Buffer = device.alloc(max(self.nbytes, 1))

    def copy_to_host(self, ary: Array | None = None, stream: object = None) -> Array:
        """Return the content, in the array that is given or a new one."""
        got = self.device.read(self.buffer, self.dtype, self.shape)
        if ary is None:
            return got
        ary[...] = got
        return ary

    def copy_to_device(self, ary: object, stream: object = None) -> None:
        """Fill it from an array of NumPy's or another one of the device."""
        host = ary.copy_to_host() if isinstance(ary, DeviceArray) else np.asarray(ary)
        if host.shape != self.shape or host.dtype != self.dtype:
            raise ValueError(f"{host.dtype} {host.shape} does not fit {self.dtype} {self.shape}")
        self.device.write(self.buffer, np.ascontiguousarray(host))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<device array {self.dtype} {self.shape}>"


def device_array(shape: int | Sequence[int], dtype: object = np.float64) -> DeviceArray:
    """Return an array of zeros in the memory of the device."""
    return DeviceArray(current_device(), shape, dtype)


def device_array_like(ary: Any) -> DeviceArray:
    """Return one of the shape and type of another."""
    return device_array(ary.shape, ary.dtype)


def to_device(ary: object, stream: object = None, copy: bool = True, to: DeviceArray | None = None) -> DeviceArray:
    """Return a copy of an array in the memory of the device."""
    host = np.asarray(ary)
    out = to if to is not None else device_array_like(host)
    if copy:
        out.copy_to_device(host)
    return out


class Stream:
    """A stream. A launch or copy returns when it has ended, so that a stream has nothing to do."""

    def synchronize(self) -> None:
        """Do nothing: all work has ended."""

    @contextmanager
    def auto_synchronize(self) -> Generator[Stream]:
        """Give the stream itself, whose work has ended behind the block."""
        yield self


class Event:
    """A point in time between launches and copies. `timing`: whether `elapsed_time` may be asked."""

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing
        self._at: float | None = None

    def record(self, stream: object = None) -> None:
        """Take the time of now: all work before it has ended."""
        self._at = time.perf_counter()

    def query(self) -> bool:
        """Return True: what was recorded has ended."""
        return True

    def synchronize(self) -> None:
        """Do nothing: what was recorded has ended."""

    def wait(self, stream: object = None) -> None:
        """Do nothing: what was recorded has ended."""

    def elapsed_time(self, evtend: Event) -> float:
        """Return the milliseconds up to another event, of this machine. Raises ValueError where one has no time."""
        if self._at is None or evtend._at is None or not (self.timing and evtend.timing):
            raise ValueError("both events need a time: made with timing=True, and recorded")
        return 1e3 * (evtend._at - self._at)


def stream() -> Stream:
    """Return a new stream."""
    return Stream()


def default_stream() -> Stream:
    """Return an object for the default stream."""
    return Stream()


def event(timing: bool = True) -> Event:
    """Return a new event."""
    return Event(timing)


def synchronize() -> None:
    """Do nothing: a launch returns when its kernel has ended."""


# --- kernels --------------------------------------------------------------------------------------------------------
Type = Scalar | Pointer


class CudaKernel:
    """A Python function that is compiled for the types it is launched with.

    Attributes: `function`, `py_func` (the same under numba's name), `device` (it is called from kernels only).
    """

    def __init__(self, function: Callable[..., object], types: tuple[Type, ...] | None, device: bool) -> None:
        self.function = self.py_func = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.types, self.device = types, device
        self._loaded: dict[tuple[Hashable, ...], tuple[Device, LoadedKernel, list[tuple[str, Type]]]] = {}

    def __getitem__(self, shape: tuple[Dims, ...]) -> Callable[..., None]:
        """Return `kernel[grid, block]`: to be called with the arguments. A stream that follows them has no effect."""
        if self.device:
            raise TypeError(f"{self.__name__} is called from kernels; it cannot be launched")
        grid, block = (tuple(int(n) for n in s) if not isinstance(s, int) else s for s in shape[:2])
        if len(shape) > 3 and shape[3]:
            raise LaunchError("dynamic shared memory is not supported: declare its size in the kernel")
        return lambda *args: self._launch((grid, block), args)  # type: ignore[reportUnknownLambdaType]

    def forall(self, ntasks: int, tpb: int = 0, stream: object = None, sharedmem: int = 0) -> Callable[..., None]:
        """Return a function that launches it with at least so many threads, in one dimension."""
        block = tpb or 128
        return self[-(-ntasks // block), block]

    def __call__(self, *args: object) -> Any:
        """Call a device function on the host; raise TypeError for a kernel, which needs a shape."""
        if self.device:
            return self.function(*args)
        raise TypeError(f"say how many threads run it: {self.__name__}[grid, block](...)")

    def _launch(self, shape: tuple[Dims, Dims], args: tuple[object, ...]) -> None:
        device = current_device()
        if len(args) != (takes := self.function.__code__.co_argcount):
            raise LaunchError(f"{self.__name__} takes {takes} arguments, got {len(args)}")
        types = self.types or tuple(_type_of(a) for a in args)
        key = id(device), types
        if key not in self._loaded:
            name, ir, given = translate(function_source(self.function), types=types)
            path = self.function.__code__.co_filename
            module = compile_ptx(ptx_of(ir), device.chip, path=path, origin="".join(linecache.getlines(path))).module
            module.kernels[name].params = parameters(given)
            self._loaded[key] = device, device.load(module)[name], given
        _, kernel, given = self._loaded[key]
        plain = with_shapes(self.__name__, given, args)
        kernel[shape](*(_plain(a) for a in plain))

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"


def _plain(arg: object) -> object:
    return arg.buffer if isinstance(arg, DeviceArray) else arg


def _type_of(arg: Any) -> Type:
    dtype = getattr(arg, "dtype", None)
    if dtype is not None:
        kind = u8 if dtype == np.bool_ else type_named(dtype.name)
        if not isinstance(kind, Scalar):
            hint = ": pass its parts, `x.real` and `x.imag`" if dtype.kind == "c" else ""
            raise LaunchError(f"kernels know no {dtype}{hint}")
        return Pointer(kind, dimensions=len(arg.shape)) if len(arg.shape) else kind
    if isinstance(arg, int):
        return i32 if -(1 << 31) <= arg < 1 << 31 else i64
    if isinstance(arg, float):
        return f64
    raise LaunchError(f"kernels take numbers and arrays, got {type(arg).__name__}")


def _signature(text: str) -> tuple[Type, ...]:
    """Return the types in `void(float32[:], int32)`. Raises ValueError."""
    m = re.fullmatch(r"\s*(?:\w+\s*)?\((.*)\)\s*", text)
    names = re.findall(r"\w+(?:\[[^\]]*\])?", m[1]) if m is not None else []
    types = [type_named(n.replace("::1", ":")) for n in names]
    if m is None or any(t is None for t in types):
        raise ValueError(f"{text!r} is not a signature, as `void(float32[:], int32)` is")
    return tuple(t for t in types if t is not None)


def jit(function: object = None, device: bool = False, **options: object) -> Any:
    """Make a kernel of a Python function: `@cuda.jit`, with a signature, or with `device=True` a function for kernels.

    Other options (`fastmath`, `inline`, `cache` ...) have no effect.
    """
    if callable(function) and not isinstance(function, PythonKernel):
        return CudaKernel(function, None, device)
    types = _signature(function) if isinstance(function, str) else None
    if isinstance(function, tuple | list):
        types = tuple(cast("Sequence[Type]", function))
    return lambda f: CudaKernel(f, types, device)  # type: ignore[reportUnknownLambdaType]


class Reduce:
    """Reduction of arrays by a function of two elements."""

    def __init__(self, function: Callable[..., object]) -> None:
        combined = getattr(function, "function", function)

        def halves(values: Any, half: Any, count: Any) -> None:
            i = grid(1)  # type: ignore[name-defined, reportUndefinedVariable]  # noqa: F821  # of the kernel's language
            if i + half < count:
                values[i] = combined(values[i], values[i + half])

        self._halves = CudaKernel(halves, None, False)

    def __call__(self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: object = None) -> Any:
        """Return `init` and the elements (the first `size`), combined in any order.

        An array of the device is left as it is. `res`: one whose first element gets the result, which is not returned.
        """
        host = (arr.copy_to_host() if isinstance(arr, DeviceArray) else np.asarray(arr)).reshape(-1)[:size]
        values, count = to_device(np.concatenate([[init], host]).astype(host.dtype)), 1 + host.size
        while count > 1:
            half = (count + 1) // 2
            self._halves[-(-half // 128), 128](values, half, count)
            count = half
        got = values.copy_to_host()[0]
        if res is None:
            return got
        res.copy_to_device(np.concatenate([[got], res.copy_to_host()[1:]]).astype(res.dtype))
        return None


def reduce(function: Callable[..., object]) -> Reduce:
    """Make a reduction of a function: `total = cuda.reduce(lambda a, b: a + b)`, then `total(array)`."""
    return Reduce(function)


__all__ = [
    "CudaKernel", "DeviceArray", "Event", "Reduce", "Stream", "current_device", "default_stream", "device_array",
    "device_array_like", "event", "float32", "float64", "int8",
    "int16", "int32", "int64", "is_available", "jit", "reduce", "stream", "synchronize", "to_device", "uint8", "uint16",
    "uint32", "uint64", "use",
]  # fmt: skip
