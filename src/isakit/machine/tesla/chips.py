"""Limits of chips for a launch, and the shape of the processor array. Source: [tesla] 1, 10."""

from __future__ import annotations

from isakit.lean import dataclass


@dataclass(frozen=True)
class Chip:
    """Limits of one variant.

    Attributes:
        variant: name in the instruction set.
        threads_per_block, block, grid: limits of a launch (threads; per dimension).
        registers: 32-bit registers of a multiprocessor's file.
        shared_bytes, local_bytes, constant_bytes: sizes of the address spaces.
        barrier_bits: width of a barrier counter.
        threads_per_mp, blocks_per_mp: what a multiprocessor holds at once (CUDA's tables of compute capabilities).
        tpcs, mps_per_tpc: multiprocessors, as $physid numbers them (inferred; the largest chip of the variant).
    """

    variant: str
    registers: int
    tpcs: int
    mps_per_tpc: int
    threads_per_block: int = 512
    block: tuple[int, int, int] = (512, 512, 64)
    grid: tuple[int, int] = (65535, 65535)
    shared_bytes: int = 0x4000
    local_bytes: int = 0x4000
    constant_bytes: int = 0x10000
    barrier_bits: int = 6
    barriers: int = 16
    threads_per_mp: int = 768
    blocks_per_mp: int = 8

    @property
    def multiprocessors(self) -> int:
        """Number of multiprocessors of the chip."""
        return self.tpcs * self.mps_per_tpc

    @property
    def strict_coalescing(self) -> bool:
        """True if coalescing follows compute capability 1.0 and 1.1: threads of a half-warp access words in order."""
        return self.registers == CHIPS["g80"].registers


CHIPS = {
    c.variant: c
    for c in (
        Chip("g80", 8192, 8, 2),
        Chip("g84", 8192, 8, 2),
        Chip("gt200", 16384, 10, 3, barrier_bits=7, threads_per_mp=1024),
        Chip("gt215", 16384, 4, 3, barrier_bits=7, threads_per_mp=1024),
        Chip("mcp77", 8192, 1, 2, barrier_bits=7),
    )
}
