"""A simulated chip: memory, loaded kernels, launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from isakit.arch.tesla.tesla import tesla
from isakit.asm.directives import TYPES
from isakit.codec.decoder import decoder
from isakit.codec.instruction import registers_written
from isakit.description import Kernel, Module, Param
from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.machine.tesla import (
    Code,
    LinearWindow,
    Machine,
    Window,
)
from isakit.runtime.arguments import aligned
from isakit.runtime.buffer import Buffer
from isakit.runtime.kernel import LoadedKernel
from isakit.runtime.launch_device import LaunchDevice
from isakit.runtime.module import LoadedModule, described

if TYPE_CHECKING:
    from isakit.texture import Sampler, Texture

BufferOrAddress = Buffer | int
"""A buffer, or a 32-bit device address."""


class Device(LaunchDevice):
    """A Tesla chip with its memory.

    Several threads may use a device; launches, allocations and copies are serialized.

    Args:
        chip: variant name or alias: g80, g84, gt200, gt215, mcp77.
        engine: `reference` runs everywhere; `llvm` compiles; `auto` selects the fastest available.
        tier: how the llvm engine runs a kernel: `interp`, `jit` or `auto`.
        threads: threads of the llvm engine; None uses all cores.
        mul_zero_wins, sat_nan, nonfp_deriv_inf: multiprocessor flags that change arithmetic.
        choices: choices where the documents leave behaviour open.
        texturing: the same for the texture units.
        limits: enforce the chip's launch limits (threads per block, registers, ...).
        memory: a writable buffer (a memory map, shared memory, a `bytearray`) to be the device's memory: byte n of it
            is device address n, and nothing is copied. Its size, less a few bytes at the end, limits the memory;
            allocations start at 64 KB. By default the device allocates its own, which grows up to the address limit.

    Attributes: `memory`, `windows` (g[] space number -> window of the memory; g14 covers all of it at first, and g15,
    from which fences of sm_13 read, gets a window of zeros with the first launch that needs one), `textures` and
    `samplers` (by $t and $s number).
    """

    # --- memory -----------------------------------------------------------------------------------------------------
    def _room(self, nbytes: int) -> int:
        return self.alloc(nbytes).address

    def alloc(self, nbytes: int, address: int | None = None) -> Buffer:
        """Allocate zeroed memory, at `address` if one is given. Raises LaunchError when there is no room."""
        return Buffer(self.memory, self.memory.alloc(int(nbytes), address), int(nbytes))

    def free(self, where: BufferOrAddress) -> None:
        """Free an allocation, by its buffer or address. Raises LaunchError for an address where none starts."""
        if isinstance(where, Buffer):
            where.free()
        else:
            self.memory.free(where)

    def buffer(self, address: int, nbytes: int | None = None) -> Buffer:
        """Return the bytes at a device address as a buffer that owns nothing.

        `nbytes` defaults to the rest of the allocation. Raises LaunchError for bytes outside of any allocation.
        """
        found = self.memory.range_of(address)
        if found is None:
            raise LaunchError(f"nothing is allocated at {address:#x}")
        size = found[1] - address if nbytes is None else nbytes
        if size < 0 or address + size > found[1]:
            raise LaunchError(
                f"{size} bytes at {address:#x} reach beyond their allocation, which ends at {found[1]:#x}"
            )
        return Buffer(self.memory, address, size, owned=False)

    def write(self, where: BufferOrAddress, data: Array | bytes | bytearray | memoryview, offset: int = 0) -> None:
        """Copy an array (in C order) or bytes to a buffer or device address, from byte `offset` on.

        Raises LaunchError if they do not fit, for a freed buffer and for one of another device.
        """
        self._at(where, offset).write(data, 0 if isinstance(where, int) else offset)

    def read(self, where: BufferOrAddress, dtype: DTypeLike, shape: int | Sequence[int], offset: int = 0) -> Array:
        """Return an array that is a copy of a buffer, or of memory at a device address, from byte `offset` on.

        Raises LaunchError as `write`.
        """
        return self._at(where, offset).read(dtype, shape, 0 if isinstance(where, int) else offset)

    def view(self, where: BufferOrAddress, nbytes: int | None = None, offset: int = 0) -> NDArray[np.uint8]:
        """Return the bytes of a buffer or at a device address, not copied: see `Buffer.view`."""
        return self._at(where, offset).view(0 if isinstance(where, int) else offset, nbytes)

    def copy(self, to: BufferOrAddress, source: BufferOrAddress, nbytes: int | None = None) -> None:
        """Copy within the device, between buffers or device addresses; the ranges may overlap.

        `nbytes` defaults to the size of the source buffer, or the rest of the allocation at its address. Raises
        LaunchError as `write`.
        """
        with self.memory.lock:
            content = self.view(source, nbytes)
            self.view(to, len(content))[:] = content

    def _at(self, where: BufferOrAddress, offset: int = 0) -> Buffer:
        if isinstance(where, Buffer):
            if where.memory is not self.memory:
                raise LaunchError(f"{where} is not a live buffer of this device")
            return where
        return self.buffer(int(where) + offset)

    def bind(self, space: int, window: Buffer | Window | None) -> None:
        """Bind g[] space `space` to a buffer or a window of the memory; None unbinds it.

        Raises LaunchError for another space than 0 to 15.
        """
        if not 0 <= space < 16:
            raise LaunchError(f"g[] spaces are g0 to g15, not g{space}")
        if window is None:
            self.windows.pop(space, None)
        else:
            self.windows[space] = LinearWindow(window.address, window.nbytes) if isinstance(window, Buffer) else window

    def bind_texture(self, number: int, texture: Texture | Array, sampler: Sampler | None = None) -> None:
        """Bind $t and $s number `number` to a texture (or a 2D array of texels) and its sampler.

        `Module.samplers` tells the numbers of the names a file declares.
        """
        from isakit.texture import Sampler, Texture

        self.textures[number] = texture if isinstance(texture, Texture) else Texture(texture)
        self.samplers[number] = sampler or Sampler()

    # --- kernels ----------------------------------------------------------------------------------------------------
    def load(
        self,
        source: object,
        *,
        registers: int | None = None,
        shared: int | None = None,
        local: int | None = None,
        barriers: int | None = None,
        params: Sequence[Param | tuple[str, str] | str | int] | None = None,
        pointer_bytes: int | None = None,
    ) -> LoadedModule:
        """Load a module (from `isakit.load`), a program (from `isa.assemble` or `isa.disassemble`) or 32-bit words.

        Args:
            source: the source of the kernels.
            registers: registers per thread, if the source does not state them, or to override it.
            shared: bytes of shared memory per block, likewise; includes launch header and parameters.
            local: bytes of local memory per thread, likewise.
            barriers: barriers per block, likewise.
            params: the parameters, if the source does not state them: names or sizes of types ("f32", "ptr", 8), pairs
                of (name, type), or `Param` objects. Types are laid out with natural alignment.
            pointer_bytes: size of an array argument in bytes, if not stated: 4, or 8 for kernels compiled for 64-bit
                hosts (default: the one that fits the shared memory the kernel declares).

        Returns:
            The kernels by name; a raw program has one, `main`.
        """
        info = described(source, self.chip)
        given = {
            "registers": registers, "shared_bytes": shared, "local_bytes": local, "barriers": barriers,
            "params": None if params is None else _parse_params(params),
            "param_bytes": 0 if params is not None and not params else None,
        }  # fmt: skip
        changes: dict[str, object] = {name: value for name, value in given.items() if value is not None}
        variables = self._place_globals(info)
        banks = {bank: bytearray(info.constant_bytes(bank)) for bank in info.constants}
        banks.update(self._tables(info, variables))
        shared_units = {s.name: s.unit for s in info.samplers if s.unit is not None}
        printing: Buffer | None = None
        if variables:
            from isakit.runtime.printing import BUFFER

            printing = next((b for n, b in variables.items() if BUFFER in n), None)
        kernels: dict[str, LoadedKernel] = {}
        for name, k in info.kernels.items():
            kernel = replace(k, **changes) if changes else k
            kernels[name] = LoadedKernel(
                self,
                kernel,
                self._code(kernel),
                constants={**banks, **{bank: bytearray(k.constant_bytes(bank)) for bank in k.constants}},
                pointer_bytes=pointer_bytes,
                samplers={**shared_units, **{s.name: s.unit for s in k.samplers if s.unit is not None}},
            )
            kernels[name].printing = printing
        return LoadedModule(info, kernels, variables, banks)

    def _code(self, kernel: Kernel) -> Code:
        units, words = decoder(tesla, self.chip, "compute"), kernel.words
        # A file that says 0 does not know: every thread has $r0.
        registers = kernel.registers or registers_written(units.decode(words, kernel.address), "r")
        if not 1 <= registers <= 128:
            raise LaunchError(f"{kernel.name} wants {registers} registers; a thread has 1 to 128")
        return Code(units, words, kernel.address, registers, self.choices.drop_unallocated)

    def _place_globals(self, info: Module) -> dict[str, Buffer]:
        """Allocate module variables and write their initial content."""
        out: dict[str, Buffer] = {}
        for variable in info.globals:
            buffer = out[variable.name] = self.alloc(variable.size)
            if variable.data is not None:
                buffer.write(variable.data)
        return out

    @staticmethod
    def _tables(info: Module, variables: dict[str, Buffer]) -> dict[int, bytearray]:
        """Return constant banks that hold addresses of module variables."""
        addresses = {name: b.address for name, b in variables.items()}
        banks = {r.target for r in info.relocations if r.target[:1] == "c" and r.target[1:].isdigit()}
        return {int(bank[1:]): bytearray(info.address_table(addresses, bank)) for bank in banks}

    def machine(
        self,
        kernel: LoadedKernel,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[object] = (),
        **options: Any,
    ) -> Machine:
        """Return a machine at the first instruction of a launch, to be stepped: see `LoadedKernel.machine`."""
        return kernel.machine(grid, block, args, **options)

    def __repr__(self) -> str:
        used = sum(self.memory.allocations.values())
        return f"<Device {self.chip}, {self.engine} engine, {used} bytes allocated>"


def _parse_params(params: Sequence[Param | tuple[str, str] | str | int]) -> list[Param]:
    """Return parameters laid out with natural alignment."""
    out: list[Param] = []
    at = 0
    for p in params:
        if isinstance(p, Param):
            out.append(p)
            at = max(at, p.offset + p.size)
            continue
        name, kind = p if isinstance(p, tuple) else ("", p)
        size = kind if isinstance(kind, int) else TYPES.get(kind)
        if size is None or size < 1:
            raise LaunchError(f"no parameter type {kind!r}; there are: {', '.join(TYPES)}, or a number of bytes")
        at = aligned(at, size)
        out.append(Param(name, at, size, kind if isinstance(kind, str) else ""))
        at += size
    return out
