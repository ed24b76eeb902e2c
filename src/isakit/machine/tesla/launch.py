"""The fixed properties of a launch, and the initial state of its threads and blocks.

Source: [tesla] 10.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.lean import dataclass
from isakit.machine.tesla.address_spaces import LinearWindow, Window
from isakit.machine.tesla.chips import Chip
from isakit.machine.tesla.choices import DEFAULT, Choices
from isakit.machine.tesla.kernel_code import Code
from isakit.machine.tesla.occupancy import occupancy
from isakit.texture.texture_choices import DEFAULT_TEXTURING, TextureChoices

if TYPE_CHECKING:
    from isakit.texture import Sampler, Texture

HEADER_BYTES = 0x10
PARAM_LIMIT = 64 * 4
MP_FLAGS = ("mul_zero_wins", "sat_nan", "nonfp_deriv_inf")

MAX_BLOCK_STATE = 1 << 30
"""Largest size in bytes of the registers and local memory of a block, where the chip's limits are not enforced."""


@dataclass(frozen=True)
class Launch:
    """A grid of blocks running one program.

    Attributes:
        code: the program; `entry` is the byte address of its first instruction.
        grid: blocks in x and y; block: threads in x, y and z.
        shared_bytes, local_bytes: s[] of a block including header and parameters, l[] of a thread.
        barriers: barriers allocated.
        params: raw parameter bytes, placed at s[0x10].
        constants: c[] bank number -> content.
        windows: g[] space number -> window of the device memory.
        textures, samplers: the textures and samplers of $t and $s numbers; a missing sampler is the default one.
        texturing: choices for the texture unit where the documents are silent.
        flags: multiprocessor flags that are set, of `MP_FLAGS`.
        limits: whether the chip's limits are enforced.
    """

    code: Code
    chip: Chip
    grid: tuple[int, int]
    block: tuple[int, int, int]
    entry: int = 0
    shared_bytes: int = 0
    local_bytes: int = 0
    barriers: int = 16
    params: bytes = b""
    constants: Mapping[int, bytes] = field(default_factory=dict[int, bytes])
    windows: Mapping[int, Window] = field(default_factory=lambda: {14: LinearWindow()})
    textures: Mapping[int, Texture] = field(default_factory=dict[int, "Texture"])
    samplers: Mapping[int, Sampler] = field(default_factory=dict[int, "Sampler"])
    texturing: TextureChoices = DEFAULT_TEXTURING
    flags: frozenset[str] = frozenset()
    choices: Choices = DEFAULT
    limits: bool = True

    @property
    def threads(self) -> int:
        """Threads per block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps(self) -> int:
        """Number of warps per block; the last one may be partly empty."""
        return -(-self.threads // 32)

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1]

    @property
    def shared_limit(self) -> int:
        """Bytes of s[] a block can use: the requested size, rounded up as the hardware does."""
        return -(-max(self.shared_bytes, HEADER_BYTES + len(self.params)) // 0x40) * 0x40

    @property
    def local_limit(self) -> int:
        """Bytes of l[] a thread can use: a power of two, at least 16; 0 if none was requested."""
        return max(16, 1 << (self.local_bytes - 1).bit_length()) if self.local_bytes > 0 else 0

    @property
    def resident_blocks(self) -> int:
        """Number of blocks the chip holds at once, by threads, registers and shared memory; at least one."""
        held = occupancy(self.chip, self.threads, self.code.registers, self.shared_limit).blocks
        return min(self.blocks, max(1, held) * self.chip.multiprocessors)

    def check(self) -> None:
        """Raise LaunchError for a launch that the chip does not allow."""
        if any(n < 1 for n in (*self.grid, *self.block)):
            raise LaunchError(f"grid {self.grid} and block {self.block} must be at least 1 in every dimension")
        if any(n > 0xFFFF for n in (*self.grid, *self.block[:2])) or self.block[2] > 64:
            raise LaunchError(
                f"grid {self.grid} or block {self.block} does not fit the 16-bit fields of the launch header"
            )
        for name, size in (("shared", self.shared_bytes), ("local", self.local_bytes)):
            if size < 0:
                raise LaunchError(f"{size} bytes of {name} memory")
        c = self.chip
        if len(self.params) > PARAM_LIMIT:
            raise LaunchError(f"{len(self.params)} bytes of parameters; at most {PARAM_LIMIT}")
        if self.shared_limit > c.shared_bytes:
            raise LaunchError(f"{self.shared_limit} bytes of shared memory; {c.variant} has {c.shared_bytes}")
        if not self.limits:
            state = 32 * self.warps * (4 * self.code.registers + self.local_limit)
            if state > MAX_BLOCK_STATE:
                raise LaunchError(
                    f"the registers and local memory of a block of {self.threads} threads take {state >> 20} MiB; "
                    f"without the chip's limits {MAX_BLOCK_STATE >> 20} MiB are allowed"
                )
            if self.block[1] > 1 << 10:
                raise LaunchError(f"block {self.block}: y takes 10 bits of $r0, so 1024 is the most")
            return
        if self.threads > c.threads_per_block:
            raise LaunchError(f"{self.threads} threads per block; {c.variant} allows {c.threads_per_block}")
        for name, got, allowed in (("block", self.block, c.block), ("grid", self.grid, c.grid)):
            if any(n > m for n, m in zip(got, allowed, strict=True)):
                raise LaunchError(f"{name} {got} exceeds {allowed} of {c.variant}")
        if self.code.registers * self.threads > c.registers:
            raise LaunchError(
                f"{self.code.registers} registers x {self.threads} threads exceed the {c.registers} registers of "
                f"{c.variant}"
            )
        if self.local_limit > c.local_bytes:
            raise LaunchError(f"{self.local_limit} bytes of local memory per thread; {c.variant} has {c.local_bytes}")

    def repeated(self, params: bytes, constants: Mapping[int, bytes]) -> Launch:
        """Return the same launch with other parameters, of the same length, and constants; takes a microsecond."""
        again = object.__new__(Launch)
        again.__dict__.update(self.__dict__, params=params, constants=constants)
        return again

    def first_registers(self) -> Array:
        """Return $r0 of the threads of a block, shape [32 * warps]: tid.x | tid.y << 16 | tid.z << 26."""
        n = np.arange(self.warps * 32, dtype=np.uint32)
        x, y, _ = self.block
        return (n % x) | (n // x % y) << 16 | (n // (x * y)) << 26

    def warp_masks(self) -> list[int]:
        """Return the lanes of each warp that have threads, as masks."""
        whole, rest = divmod(self.threads, 32)
        return [0xFFFF_FFFF] * whole + ([(1 << rest) - 1] if rest else [])

    def header(self, block: int) -> bytes:
        """Return the launch header at s[0] and the parameters after it, for a block number (x varies fastest)."""
        y, x = divmod(block, self.grid[0])
        return struct.pack("<8H", 0, *self.block, *self.grid, x, y) + self.params


def physical_ids(launch: Launch, first: int, count: int) -> Array:
    """Return $physid of the threads of `count` blocks: lane in bits 7:0, warp 15:8, MP 19:16, TPC 23:20.

    Blocks are distributed over the multiprocessors round-robin (inferred).
    """
    chip, n = launch.chip, launch.warps
    lane = np.arange(32 * n * count, dtype=np.uint32)
    warp = (lane >> 5) % n
    mp = (first + lane // (32 * n)) % (chip.tpcs * chip.mps_per_tpc)
    return ((lane & 31) | warp << 8 | mp % chip.mps_per_tpc << 16 | mp // chip.mps_per_tpc << 20).astype(np.uint32)


def pack_block(dims: int | Sequence[int], count: int, what: str) -> tuple[int, ...]:
    """Return grid or block dimensions as a tuple of `count` ints; missing ones are 1. Raises LaunchError."""
    try:
        given = [operator.index(n) for n in (dims if isinstance(dims, Sequence) else (dims,))]
    except TypeError:
        given = []
    if not 1 <= len(given) <= count:
        raise LaunchError(f"{what} takes 1 to {count} whole numbers, not {dims!r}")
    return (*given, *(1,) * (count - len(given)))


@dataclass
class Stats:
    """The statistics of a run.

    Attributes:
        instructions: thread instructions: every instruction counts once per active lane, whatever its predicate says.
        warp_instructions: instructions counted once per warp.
        seconds: wall-clock time spent executing.
    """

    instructions: int = 0
    warp_instructions: int = 0
    seconds: float = 0.0

    def count(self, instructions: int, warp_instructions: int) -> None:
        """Add executed instructions, by threads and by warps."""
        self.instructions += instructions
        self.warp_instructions += warp_instructions

    def _repr_html_(self) -> str:
        rate = f"{self.instructions / self.seconds / 1e9:.3g} G/s" if self.seconds else ""
        rows = (("thread instructions", f"{self.instructions:,}"), ("warp instructions", f"{self.warp_instructions:,}"),
                ("seconds", f"{self.seconds:.6f}"), ("thread instructions per second", rate))  # fmt: skip
        return "<table>" + "".join(f"<tr><th>{n}</th><td>{v}</td></tr>" for n, v in rows) + "</table>"
