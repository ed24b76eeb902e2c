"""`@isakit.kernel`: Python functions as kernels."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from isakit.compile import compile_ptx
from isakit.compile.python import Pointer, Scalar, function_source, parameters, ptx_of, translate
from isakit.description import Module, Param
from isakit.errors import LaunchError

if TYPE_CHECKING:
    from isakit.runtime.device import Device

Dims = int | Sequence[int]


class PythonKernel:
    """A Python function that runs on a simulated chip: `stats = saxpy[grid, block](n, 2.0, x, y)`.

    Nothing is compiled before the first use. `ptx` and `module()` return the results of compiling it;
    `device.load(saxpy.module())` loads it like a file. The default device is a gt200 of its own.

    Attributes: `function`, `name`, `device` (where it runs).
    """

    def __init__(self, function: Callable[..., object], device: Device | None = None) -> None:
        self.function, self.name = function, function.__name__
        self.__doc__ = function.__doc__
        self.device = device
        self._given: list[tuple[str, Scalar | Pointer]] = []
        self._ptx: tuple[str, list[Param]] | None = None
        self._modules: dict[str, Module] = {}
        self._loaded: tuple[Any, Any] | None = None

    @property
    def ptx(self) -> str:
        """The PTX LLVM makes of the function. Raises CompileError that points at the Python line."""
        return self._translated()[0]

    def _translated(self) -> tuple[str, list[Param]]:
        if self._ptx is None:
            _, ir, self._given = translate(function_source(self.function))
            self._ptx = ptx_of(ir), parameters(self._given)
        return self._ptx

    def module(self, variant: str = "gt200") -> Module:
        """Return the compiled kernel for a chip."""
        got = self._modules.get(variant)
        if got is None:
            text, params = self._translated()
            path = self.function.__code__.co_filename
            origin = "".join(linecache.getlines(path))
            got = self._modules[variant] = compile_ptx(text, variant, path=path, origin=origin).module
            got.kernels[self.name].params = params
        return got

    def __getitem__(self, shape: tuple[Dims, Dims]) -> Any:
        """Return `kernel[grid, block]`: to be called with the arguments."""
        from isakit.runtime.device import Device

        if self.device is None:
            self.device = Device("gt200")
        if self._loaded is None or self._loaded[0] is not self.device:
            self._loaded = self.device, self.device.load(self.module(self.device.chip))[self.name]
        given = self._given
        launch = self._loaded[1][shape]
        if not any(isinstance(kind, Pointer) and kind.dimensions for _, kind in given):
            return launch
        return lambda *args: launch(*with_shapes(self.name, given, args))  # type: ignore[reportUnknownLambdaType]

    def __call__(self, *args: object) -> None:
        """Raise TypeError: a kernel needs a shape, `kernel[grid, block](...)`."""
        raise TypeError(f"say how many threads run it: {self.name}[grid, block](...)")

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"


def with_shapes(name: str, given: Sequence[tuple[str, Scalar | Pointer]], args: Sequence[object]) -> list[object]:
    """Return the arguments of a kernel with the shapes behind the arrays that have one. Raises LaunchError."""
    if len(args) != len(given):
        raise LaunchError(f"{name} takes {len(given)} arguments, got {len(args)}")
    out: list[object] = []
    for (parameter, kind), arg in zip(given, args, strict=True):
        out.append(arg)
        if isinstance(kind, Pointer) and kind.dimensions:
            shape = getattr(arg, "shape", None)
            if shape is None or len(shape) != kind.dimensions:
                got = "no shape" if shape is None else f"the shape {shape}"
                raise LaunchError(f"{parameter} of {name} is {kind}, got what has {got}")
            out += shape
    return out


def kernel(function: Callable[..., object] | None = None, *, device: Device | None = None) -> Any:
    """Make a kernel of a Python function with typed parameters; as a decorator with or without `device=`."""
    if function is None:
        return lambda f: PythonKernel(f, device)  # type: ignore[reportUnknownLambdaType]
    return PythonKernel(function, device)
