"""A kernel on a device, and its launches."""

from __future__ import annotations

import re
import sys
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from isakit.description import Kernel, Param
from isakit.engine.protocol import Array
from isakit.errors import LaunchError, MachineFault
from isakit.machine.interrupts import deferred
from isakit.machine.tesla import (
    HEADER_BYTES,
    Code,
    Launch,
    Machine,
    Stats,
    Window,
    pack_block,
)
from isakit.runtime.arguments import Passed, guess_pointer_bytes, pass_arguments
from isakit.runtime.launch_device import LaunchDevice

if TYPE_CHECKING:
    from isakit.runtime.buffer import Buffer
    from isakit.texture import Sampler, Texture

Dims = int | Sequence[int]
_CONTROLS = re.compile("[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f]")
"""Characters that a kernel's text must not send to a terminal: control characters but tabs and ends of lines."""


class LoadedKernel:
    """A kernel loaded into a device: `stats = kernel[grid, block](*args)`.

    Attributes:
        info: the description of the kernel: name, params, shared_bytes, ... The names below that it has are read there.
        code: the decoded program, for the device's chip.
        pointer_bytes: size of an array argument if `params` does not state it: 4, 8, or None for the one that fits the
            shared memory the kernel declares (else 4).
        constants: constant bank number -> content; can be replaced between launches. Banks of the module are shared
            with its other kernels.
        samplers: texture references of the kernel: name -> number.
        printing: the module's variable with the output of kernels; a launch writes it to standard output.
    """

    def __init__(
        self,
        device: LaunchDevice,
        info: Kernel,
        code: Code,
        *,
        constants: Mapping[int, bytes | bytearray] | None = None,
        pointer_bytes: int | None = None,
        samplers: Mapping[str, int] | None = None,
    ) -> None:
        self.device, self.info, self.code = device, info, code
        self.constants = dict(constants or {})
        self.pointer_bytes = pointer_bytes
        self.samplers = dict(samplers or {})
        self._textures: dict[int, Texture] = {}
        self._samplers: dict[int, Sampler] = {}
        self._provided = False
        self.printing: Buffer | None = None

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.info.name

    @property
    def params(self) -> list[Param] | None:
        """The parameters, None if they are not known."""
        return self.info.params if self.info.params_known else None

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block, with launch header and parameters; a launch takes at least those two."""
        return self.info.shared_bytes or 0

    @property
    def local_bytes(self) -> int:
        """Local memory of a thread."""
        return self.info.local_bytes or 0

    @property
    def barriers(self) -> int:
        """Number of barriers of a block; all 16 if it is not stated."""
        return 16 if self.info.barriers is None else self.info.barriers

    def bind(self, name: str | int, texture: Texture | Array | None, sampler: Sampler | None = None) -> None:
        """Bind a texture reference of the kernel, by name or number, to a texture; None unbinds it.

        An array alone is what CUDA binds by default: its elements as they are, found by unnormalised coordinates, the
        nearest one, clamped at the edges; one axis of the array is one axis of the texture. Raises LaunchError for a
        name the kernel does not have.
        """
        if isinstance(name, str) and name not in self.samplers:
            raise LaunchError(f"{self.name} has no texture {name!r}; there are: {', '.join(self.samplers) or 'none'}")
        number = self.samplers[name] if isinstance(name, str) else name
        if texture is None:
            self._textures.pop(number, None)
            self._samplers.pop(number, None)
            return
        from isakit.texture import Sampler, Texture

        if not isinstance(texture, Texture):
            if not 1 <= texture.ndim <= 3:
                raise LaunchError(f"an array with {texture.ndim} axes is not a texture of one to three")
            target = ("1d", "2d", "3d")[texture.ndim - 1]
            texture = Texture(texture[..., None], target=target, read="element", normalized=False)
        self._textures[number] = texture
        self._samplers[number] = sampler or Sampler()

    @property
    def registers(self) -> int:
        """32-bit registers per thread."""
        return self.code.registers

    def __getitem__(self, shape: tuple[Dims, Dims]) -> Configured:
        """Return `kernel[grid, block]`: the kernel with a launch shape, to be called with the arguments."""
        if not isinstance(shape, tuple) or len(shape) != 2:  # pyright: ignore[reportUnnecessaryComparison, reportUnnecessaryIsInstance]
            raise LaunchError(f"{self.name}[grid, block] takes two shapes, each an int or a tuple")
        return Configured(self, *shape)

    def __call__(self, *args: object) -> None:
        """Refuse a launch without a shape: `kernel[grid, block](...)`. Raises TypeError, always."""
        raise TypeError(f"say how many threads run it: {self.name}[grid, block](...)")

    def launch(
        self,
        grid: Dims,
        block: Dims,
        *args: object,
        param_bytes: bytes | None = None,
        max_instructions: int | None = None,
        limits: bool | None = None,
        windows: Mapping[int, Window] | None = None,
        dynamic_shared: int = 0,
    ) -> Stats:
        """Run the kernel to its end.

        Args:
            grid: blocks in x and y.
            block: threads in x, y and z.
            *args: arrays (passed by reference and updated in place), buffers, numbers, or raw bytes.
            param_bytes: the raw parameter area from s[0x10] on, instead of `args`.
            max_instructions: limit of the instructions executed, counted once per warp.
            limits: whether the chip's limits are enforced (default: as for the device).
            windows: g[] spaces that differ from the device's, by number.
            dynamic_shared: bytes of shared memory past those the kernel declares.

        Raises LaunchError, MachineFault (its note: the line of the source), BudgetExceeded. After a fault, arrays hold
        the values written so far.
        """
        # Interrupts wait until the arrays are up to date and their buffers free; other threads wait for the memory.
        with self.device.memory.lock, deferred():
            passed = self._pass(args, param_bytes)
            try:
                launch = self._launch(grid, block, passed.data, limits, windows, dynamic_shared)
                return self.device.execute(launch, max_instructions)
            except MachineFault as e:
                if failed := self._show_printed():
                    e = MachineFault("ASSERTION_FAILED", e.pc, e.block, e.warp, e.lane, detail=failed)
                if place := self.info.source_of(e.pc):
                    e.add_note(place)
                raise e from None
            finally:
                passed.finish()
                self._show_printed()

    def _show_printed(self) -> str:
        """Write the output of a launch; return the first failed assertion, "" if there is none."""
        buffer = self.printing
        if buffer is None:
            return ""
        from isakit.runtime.printing import take_printed

        got = take_printed(buffer.view().data, self._text_at)
        sys.stdout.write(_CONTROLS.sub("\N{REPLACEMENT CHARACTER}", got.text.decode("utf-8", "replace")))
        if got.lost:
            size = buffer.nbytes >> 10
            sys.stderr.write(f"{self.name} has printed more than {size} KB; what came last is lost\n")
        return got.failed

    def _text_at(self, address: int) -> bytes:
        """Return the text at an address of the device's memory, up to its zero."""
        from isakit.runtime.printing import LONGEST_TEXT

        found = self.device.memory.range_of(address)
        if found is None:
            return b"(not in global memory)"
        text = self.device.memory.memory.bytes[address : min(found[1], address + LONGEST_TEXT)].tobytes()
        return text[: text.find(b"\0")] if b"\0" in text else text

    def prepare(
        self,
        grid: Dims,
        block: Dims,
        *args: object,
        param_bytes: bytes | None = None,
        limits: bool | None = None,
        windows: Mapping[int, Window] | None = None,
        dynamic_shared: int = 0,
    ) -> Launch:
        """Prepare a launch for `Device.execute`, which can be pickled.

        Arguments are those of `launch`, but buffers instead of arrays. Raises LaunchError.
        """
        passed = self._pass(args, param_bytes)
        if passed.arrays:
            passed.release()
            raise LaunchError(
                f"{self.name}: a prepared launch takes buffers; an array lives in the device only meanwhile"
            )
        return self._launch(grid, block, passed.data, limits, windows, dynamic_shared)

    def machine(
        self,
        grid: Dims,
        block: Dims,
        args: Sequence[object] = (),
        *,
        param_bytes: bytes | None = None,
        limits: bool | None = None,
        windows: Mapping[int, Window] | None = None,
        dynamic_shared: int = 0,
    ) -> Machine:
        """Return a machine at the first instruction, to be stepped.

        Arrays are brought up to date after every step or run.
        """
        with self.device.memory.lock, deferred():
            passed = self._pass(args, param_bytes)
            try:
                launch = self._launch(grid, block, passed.data, limits, windows, dynamic_shared)
                machine = Machine(launch, self.device.memory)
            except BaseException:
                passed.release()
                raise
            machine.after = passed.update
            weakref.finalize(machine, passed.release)
            return machine

    def _pass(self, args: Sequence[object], param_bytes: bytes | None) -> Passed:
        if param_bytes is not None:
            if args:
                raise LaunchError(f"{self.name}: give either arguments or param_bytes")
            return Passed(bytes(param_bytes))
        params, pointer = self.params, self.pointer_bytes or 4
        if params is None and not self.pointer_bytes:
            pointer = guess_pointer_bytes(args, self.shared_bytes - HEADER_BYTES)
        return pass_arguments(self.device.memory, self.name, args, params, pointer)

    def _launch(
        self,
        grid: Dims,
        block: Dims,
        params: bytes,
        limits: bool | None,
        windows: Mapping[int, Window] | None,
        dynamic_shared: int,
    ) -> Launch:
        d = self.device
        if dynamic_shared < 0:
            raise LaunchError(f"{self.name}: {dynamic_shared} bytes of dynamic shared memory")
        if not self._provided:
            d.provide(self.code)
            self._provided = True
        return Launch(
            self.code,
            d.limits_of,
            self._shape(grid, 2, "grid"),
            self._shape(block, 3, "block"),
            entry=self.code.address,
            shared_bytes=max(self.shared_bytes, HEADER_BYTES + len(params)) + dynamic_shared,
            local_bytes=self.local_bytes,
            barriers=self.barriers,
            params=params,
            constants={bank: bytes(content) for bank, content in self.constants.items()},
            windows={**d.windows, **(windows or {})},
            textures={**d.textures, **self._textures},
            samplers={**d.samplers, **self._samplers},
            texturing=d.texturing,
            flags=d.flags,
            choices=d.choices,
            limits=d.limits if limits is None else limits,
        )

    def _shape(self, dims: Dims, count: int, what: str) -> Any:
        return pack_block(dims, count, f"the {what} of {self.name}")

    def __repr__(self) -> str:
        return f"<loaded kernel {self.name}: {self.registers} registers, {self.shared_bytes} bytes shared>"


class Configured:
    """A kernel with a launch shape."""

    def __init__(self, kernel: LoadedKernel, grid: Dims, block: Dims) -> None:
        self.kernel, self.grid, self.block = kernel, grid, block

    def __call__(self, *args: object, **options: Any) -> Stats:
        """Launch the kernel and return statistics; arguments and options as of `LoadedKernel.launch`."""
        return self.kernel.launch(self.grid, self.block, *args, **options)
