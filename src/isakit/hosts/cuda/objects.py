"""The objects behind handles: streams, events, arrays, functions, variables, texture references, contexts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from isakit.hosts.cuda.codes import CudaError

if TYPE_CHECKING:
    from isakit.hosts.cuda.modules import ProgramModule
    from isakit.machine.tesla import Launch as MachineLaunch
    from isakit.runtime import LoadedKernel, Sampler, Texture

T = TypeVar("T")


class Handles:
    """Handles of a program, and the objects behind them. A handle is never reused."""

    _STEP = 16  # so that they look like addresses, and small numbers are none

    def __init__(self) -> None:
        self._objects: dict[int, object] = {}
        self._next = 4096

    def add(self, thing: object) -> int:
        """Return a new handle for an object."""
        self._next += self._STEP
        self._objects[self._next] = thing
        return self._next

    def get(self, handle: int, kind: type[T]) -> T:
        """Return the object of a handle. Raises CudaError if it is not of that kind."""
        found = self._objects.get(handle)
        if not isinstance(found, kind):
            raise CudaError(
                "cudaErrorInvalidResourceHandle", f"{handle:#x} is not the handle of any {kind.__name__.lower()}"
            )
        return found

    def drop(self, handle: int, kind: type[T]) -> T:
        """Remove a handle and return its object. Raises CudaError as `get`."""
        found = self.get(handle, kind)
        del self._objects[handle]
        return found

    def holds(self, kind: type[T]) -> bool:
        """Return true if any object is of this kind."""
        return any(isinstance(o, kind) for o in self._objects.values())

    def first(self, kind: type[T]) -> T | None:
        """Return the first object of a kind, None if there is none."""
        return next((o for o in self._objects.values() if isinstance(o, kind)), None)

    def find(self, kind: type[T], wanted: Callable[[T], bool]) -> int | None:
        """Return the handle of the first object of a kind for which `wanted` holds, None if there is none."""
        return next((n for n, o in self._objects.items() if isinstance(o, kind) and wanted(o)), None)

    def forget(self, kinds: tuple[type, ...]) -> None:
        """Remove all handles of some kinds."""
        self._objects = {n: o for n, o in self._objects.items() if not isinstance(o, kinds)}


@dataclass
class CudaStream:
    """A stream. It needs no state, because work is executed in the order of the calls."""

    flags: int = 0
    priority: int = 0


@dataclass
class CudaEvent:
    """An event: the time of its recording in seconds, None before that."""

    timed: bool = True
    at: float | None = None


@dataclass
class CudaContext:
    """A context of the driver interface. All contexts of a process share one device and one memory."""

    flags: int = 0
    attached: int = 1


SIGNED, UNSIGNED, FLOAT, NONE = range(4)
"""Number types in a channel description."""


@dataclass(frozen=True)
class ChannelFormat:
    """The format of a texel: bits of x, y, z and w, and their number type."""

    bits: tuple[int, ...]
    kind: int

    @property
    def count(self) -> int:
        """Number of components of a texel."""
        return sum(n > 0 for n in self.bits)

    @property
    def nbytes(self) -> int:
        """Size of a texel in bytes."""
        return sum(self.bits) // 8

    def check(self) -> ChannelFormat:
        """Return itself. Raises CudaError for an invalid format."""
        n = self.bits[0] if len(self.bits) == 4 else 0
        good = self.count in (1, 2, 4) and n in (8, 16, 32) and 0 <= self.kind <= FLOAT
        if not good or self.bits != (n,) * self.count + (0,) * (4 - self.count) or (self.kind == FLOAT and n == 8):
            raise CudaError("cudaErrorInvalidChannelDescriptor", f"{self.bits} of kind {self.kind}")
        return self


@dataclass
class Array:
    """An array: texels in rows, rows in slices, without gaps. `height` and `depth` are 0 for missing axes."""

    address: int
    channel: ChannelFormat
    width: int
    height: int
    depth: int
    flags: int = 0

    @property
    def pitch(self) -> int:
        """Size of a row in bytes."""
        return self.width * self.channel.nbytes

    @property
    def nbytes(self) -> int:
        """Size of all texels in bytes."""
        return self.pitch * max(1, self.height) * max(1, self.depth)


@dataclass
class GraphicsResource:
    """A buffer or texture of OpenGL: its name there, and its memory or array on the device."""

    kind: int
    name: int
    target: int
    flags: int
    address: int
    size: int
    array: int = 0
    width: int = 0
    height: int = 0
    depth: int = 0
    mapped: bool = False

    def described(self) -> tuple[int, ...]:
        """Return the description by which the library copies it."""
        place = self.address, self.size, self.width, self.height, self.depth
        return self.kind, self.name, self.target, self.flags, *place, 0


Shape = tuple[tuple[int, int, int], tuple[int, int, int], int, int]
"""Grid, block, dynamic shared memory in bytes, size of the parameters in bytes."""


@dataclass
class CudaFunction:
    """A kernel by the name a program uses, and the launch state set through the driver interface.

    `prepared`: its last launches by shape; launches of the same shape differ in their parameters only.
    """

    module: ProgramModule
    name: str
    block: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0
    params: bytearray = field(default_factory=bytearray)
    prepared: dict[Shape, tuple[LoadedKernel, MachineLaunch]] = field(
        default_factory=dict[Shape, "tuple[LoadedKernel, MachineLaunch]"]
    )

    def kernel(self) -> LoadedKernel:
        """Return the kernel on the device. Raises CudaError if the module has no code for it."""
        return self.module.kernel(self.name)


@dataclass
class LaunchRequest:
    """A launch requested by a program."""

    function: CudaFunction
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    params: bytes


@dataclass(frozen=True)
class DeviceVariable:
    """A variable the program has registered."""

    module: ProgramModule
    name: str
    size: int
    constant: bool


@dataclass
class TextureState:
    """The sampling state of a texture reference when it is bound.

    Attributes: `normalized` (coordinates), `filter` (0 point, 1 linear), `modes` (0 wrap, 1 clamp, 2 mirror, 3 border,
    per axis), `channel`, `as_float` (integers are read as numbers from 0 or -1 to 1).
    """

    normalized: bool = False
    filter: int = 0
    modes: tuple[int, ...] = (1, 1, 1)
    channel: ChannelFormat = ChannelFormat((32, 0, 0, 0), FLOAT)
    as_float: bool = False


@dataclass
class Binding:
    """The memory of a texture reference: an array, or `width` bytes or `width` x `height` texels."""

    address: int
    width: int
    height: int
    depth: int
    pitch: int
    target: str
    size: int
    array: Array | None = None


@dataclass(frozen=True)
class BoundTextureView:
    """The texture and sampler of a texture reference, for one binding and one state."""

    binding: Binding
    state: TextureState
    texture: Texture
    sampler: Sampler


@dataclass
class TextureReference:
    """A texture reference of a module (None: created by the driver interface and not assigned yet).

    `shown` is the view of the last launch; its texels are read again by every launch, but decoded only if they have
    changed.
    """

    module: ProgramModule | None
    name: str
    as_float: bool = False
    state: TextureState = field(default_factory=TextureState)
    binding: Binding | None = None
    offset: int = 0
    shown: BoundTextureView | None = None
