"""A simulated chip: memory, loaded kernels, launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from isakit.arch.tesla.tesla import tesla
from isakit.asm.directives import TYPES
from isakit.codec.decoder import decoder
from isakit.errors import LaunchError
from isakit.formats import ModuleImage
from isakit.machine.tesla import (
    CHIPS,
    Choices,
    Code,
    DeviceMemory,
    Launch,
    LinearWindow,
    Machine,
    Stats,
    Window,
    needed_registers,
)
from isakit.runtime.arguments import aligned
from isakit.runtime.buffer import Buffer
from isakit.runtime.kernel import Kernel
from isakit.runtime.module import KernelSpec, Module, Param, module_spec
from isakit.runtime.tesla_engine import Tier, executor
from isakit.texture.sampler_state import Sampler
from isakit.texture.texture import Texture
from isakit.texture.texture_choices import TextureChoices

Engine = Literal["auto", "reference", "llvm"]


class Device:
    """A Tesla chip with its memory.

    Args:
        chip: variant name or alias: g80, g84, gt200, gt215, mcp77.
        engine: `reference` runs everywhere; `llvm` compiles; `auto` takes the fastest there is.
        tier: how the llvm engine runs a kernel: `interp`, `jit` or `auto`.
        threads: threads of the llvm engine; None uses all cores.
        mul_zero_wins, sat_nan, nonfp_deriv_inf: multiprocessor flags that change arithmetic.
        choices: answers to what the documents leave open.
        texturing: the same for the texture units.
        limits: enforce the chip's launch limits (threads per block, registers, ...).

    Attributes: `memory`, `windows` (g[] space number -> window of the memory; g14 covers all of it at first),
    `textures` and `samplers` (what $t and $s numbers stand for).
    """

    def __init__(
        self,
        chip: str = "gt200",
        *,
        engine: Engine = "auto",
        tier: Tier = "auto",
        threads: int | None = None,
        mul_zero_wins: bool = False,
        sat_nan: bool = False,
        nonfp_deriv_inf: bool = False,
        choices: Choices | None = None,
        texturing: TextureChoices | None = None,
        limits: bool = True,
    ) -> None:
        self.chip = tesla.variant(chip).name
        self.limits_of = CHIPS[self.chip]
        given = {"mul_zero_wins": mul_zero_wins, "sat_nan": sat_nan, "nonfp_deriv_inf": nonfp_deriv_inf}
        self.flags = frozenset(name for name, on in given.items() if on)
        self.choices = choices or Choices()
        self.texturing = texturing or TextureChoices()
        self.limits = limits
        self.tier, self.threads = tier, threads
        self.memory = DeviceMemory()
        self.windows: dict[int, Window] = {14: LinearWindow()}
        self.textures: dict[int, Texture] = {}
        self.samplers: dict[int, Sampler] = {}
        self.engine, self._execute = executor(engine, tier, threads)

    # --- memory -----------------------------------------------------------------------------------------------------
    def alloc(self, nbytes: int, address: int | None = None) -> Buffer:
        """Allocate zeroed memory, at `address` if one is given. Raises LaunchError when there is no room."""
        return Buffer(self, self.memory.alloc(int(nbytes), address), int(nbytes))

    def write(self, buffer: Buffer, data: NDArray[Any] | bytes, offset: int = 0) -> None:
        """Copy an array (in C order) or bytes into a buffer, from byte `offset` on.

        Raises LaunchError where they do not fit, for a freed buffer and for one of another device.
        """
        raw = np.frombuffer(data, np.uint8) if isinstance(data, bytes | bytearray) else _bytes_of(np.asarray(data))
        self._span(buffer, offset, len(raw))[:] = raw

    def read(self, buffer: Buffer, dtype: DTypeLike, shape: int | Sequence[int], offset: int = 0) -> NDArray[Any]:
        """A copy of a buffer's content from byte `offset` on as an array. Raises LaunchError as `write` does."""
        shape = (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(n) for n in shape)
        kind = np.dtype(dtype)
        count = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        return np.frombuffer(self._span(buffer, offset, count).tobytes(), kind).reshape(shape).copy()

    def _span(self, buffer: Buffer, offset: int, nbytes: int) -> NDArray[np.uint8]:
        if buffer.device is not self or buffer.freed:
            raise LaunchError(f"{buffer} is not a live buffer of this device")
        if offset < 0 or offset + nbytes > buffer.nbytes:
            raise LaunchError(f"{nbytes} bytes at offset {offset} do not fit into {buffer}")
        start = buffer.address + offset
        return self.memory.memory.bytes[start : start + nbytes]

    def bind(self, space: int, window: Buffer | Window | None) -> None:
        """Let g[] space `space` (0-15) show a buffer or a window of the memory; None unbinds it."""
        if not 0 <= space < 16:
            raise LaunchError(f"g[] spaces are g0 to g15, not g{space}")
        if window is None:
            self.windows.pop(space, None)
        else:
            self.windows[space] = LinearWindow(window.address, window.nbytes) if isinstance(window, Buffer) else window

    def bind_texture(self, number: int, texture: Texture | NDArray[Any], sampler: Sampler | None = None) -> None:
        """Let $t and $s number `number` stand for a texture (or a 2D array of texels) and how it is sampled.

        `Module.samplers` tells the numbers of the names a file declares.
        """
        self.textures[number] = texture if isinstance(texture, Texture) else Texture(texture)
        self.samplers[number] = sampler or Sampler()

    # --- kernels ----------------------------------------------------------------------------------------------------
    def load(
        self,
        source: Any,
        *,
        registers: int | None = None,
        shared: int | None = None,
        local: int | None = None,
        barriers: int | None = None,
        params: Sequence[Param | tuple[str, str] | str | int] | None = None,
        pointer_bytes: int | None = None,
    ) -> Module:
        """Load a module (from `isakit.load`), a program (from `isa.assemble` or `isa.disassemble`) or 32-bit words.

        Args:
            source: where the kernels come from.
            registers: registers per thread, where the source does not say, or to overrule it.
            shared: bytes of shared memory per block, likewise; includes launch header and parameters.
            local: bytes of local memory per thread, likewise.
            barriers: barriers per block, likewise.
            params: the parameters, where the source does not say: names or sizes of types ("f32", "ptr", 8), pairs of
                (name, type), or `Param` objects. Types are laid out with natural alignment.
            pointer_bytes: bytes an array argument takes where nothing says so: 4, or 8 for kernels compiled for 64-bit
                hosts; left out, what fits the shared memory the kernel declares.

        Returns:
            The kernels by name; a raw program has one, `main`.
        """
        spec = module_spec(source)
        variables = self._place_globals(spec.image)
        kernels: dict[str, Kernel] = {}
        for name, k in spec.kernels.items():
            k = replace(
                k,
                registers=registers if registers is not None else k.registers,
                shared_bytes=shared if shared is not None else k.shared_bytes,
                local_bytes=local if local is not None else k.local_bytes,
                barriers=barriers if barriers is not None else k.barriers,
                params=_parse_params(params) if params is not None else k.params,
                constants={**spec.constants, **self._tables(spec.image, variables), **k.constants},
            )
            kernels[name] = self._kernel(k, pointer_bytes)
        samplers = spec.image.samplers if spec.image is not None else ()
        return Module(kernels, variables, {t.name: t.unit for t in samplers if t.unit is not None})

    def _kernel(self, k: KernelSpec, pointer_bytes: int | None) -> Kernel:
        units = decoder(tesla, self.chip, "compute")
        if k.registers is None:
            k.registers = needed_registers(units.decode(list(k.words), k.address))
        if not 1 <= k.registers <= 128:
            raise LaunchError(f"{k.name} wants {k.registers} registers; a thread has 1 to 128")
        code = Code(units, k.words, k.address, k.registers, self.choices.drop_unallocated)
        return Kernel(
            self,
            k.name,
            code,
            shared_bytes=k.shared_bytes or 0,
            local_bytes=k.local_bytes or 0,
            barriers=16 if k.barriers is None else k.barriers,
            params=k.params,
            constants=k.constants,
            pointer_bytes=pointer_bytes,
            samplers=k.samplers,
        )

    def _place_globals(self, image: ModuleImage | None) -> dict[str, Buffer]:
        """Module variables get memory and their first content."""
        out: dict[str, Buffer] = {}
        for variable in image.globals if image is not None else ():
            buffer = out[variable.name] = self.alloc(variable.size)
            if variable.data is not None:
                self.write(buffer, variable.data)
        return out

    @staticmethod
    def _tables(image: ModuleImage | None, variables: dict[str, Buffer]) -> dict[int, bytes]:
        """Constant banks that hold addresses of module variables."""
        if image is None:
            return {}
        addresses = {name: b.address for name, b in variables.items()}
        banks = {r.target for r in image.relocations if r.target[:1] == "c" and r.target[1:].isdigit()}
        return {int(bank[1:]): image.address_table(addresses, bank) for bank in banks}

    def execute(self, launch: Launch, max_instructions: int | None = None) -> Stats:
        """Run a prepared launch on this device's engine."""
        return self._execute(launch, self.memory, max_instructions)

    def machine(
        self,
        kernel: Kernel,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any] = (),
        **options: Any,
    ) -> Machine:
        """A machine at the first instruction of a launch, to be stepped: see `Kernel.machine` and `Machine`."""
        return kernel.machine(grid, block, args, **options)

    def __repr__(self) -> str:
        used = sum(self.memory.allocations.values())
        return f"<Device {self.chip}, {self.engine} engine, {used} bytes allocated>"


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    if array.dtype.hasobject:
        raise LaunchError("arrays of Python objects cannot be copied to a device")
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)


def _parse_params(params: Sequence[Param | tuple[str, str] | str | int]) -> list[Param]:
    """Parameters laid out with natural alignment."""
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
