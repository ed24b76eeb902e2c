"""Occupancy: the blocks and warps of a kernel that a multiprocessor holds, and what limits them.

Source: CUDA's occupancy calculator for compute capability 1.x: registers are allocated to blocks in units of 256 (1.0,
1.1) or 512 (1.2, 1.3), for an even number of warps, shared memory in units of 512 bytes; status: known.
"""

from __future__ import annotations

from isakit.errors import LaunchError
from isakit.lean import dataclass
from isakit.machine.tesla.chips import CHIPS, Chip
from isakit.results import OMITTED, Omitted, record

SHARED_UNIT = 512


@record
class OccupancyRecord:
    """An `Occupancy` for JSON; `threads` of a block."""

    threads: int | Omitted
    chip: str
    blocks: int
    warps: int
    most: int
    limit: str
    occupancy: float


@dataclass(frozen=True)
class Occupancy:
    """`blocks` and `warps` resident on a multiprocessor of a chip, of `most` warps.

    `limit`: the resource that limits them.
    """

    chip: str
    blocks: int
    warps: int
    most: int
    limit: str

    @property
    def fraction(self) -> float:
        """Resident warps as a fraction of the possible ones."""
        return self.warps / self.most

    def record(self, threads: int | Omitted = OMITTED) -> OccupancyRecord:
        """Return the occupancy as a record, with the threads of a block if they are given."""
        share = round(self.fraction, 3)
        return OccupancyRecord(threads, self.chip, self.blocks, self.warps, self.most, self.limit, share)


def occupancy(chip: str | Chip, threads: int, registers: int, shared: int) -> Occupancy:
    """Return the occupancy of blocks of `threads` threads, registers per thread and bytes of shared memory.

    Raises LaunchError for an unknown chip.
    """
    c = chip if isinstance(chip, Chip) else CHIPS.get(chip)
    if c is None:
        raise LaunchError(f"no chip {chip!r}; there are {', '.join(CHIPS)}")
    warps = -(-threads // 32)
    unit = 256 if c.registers == 8192 else 512
    per_block = -(-(-(-warps // 2) * 2 * 32 * registers) // unit) * unit
    limits = {
        "blocks": c.blocks_per_mp,
        "warps": c.threads_per_mp // 32 // warps,
        "registers": c.registers // per_block if per_block else c.blocks_per_mp,
        "shared memory": c.shared_bytes // (-(-max(shared, 1) // SHARED_UNIT) * SHARED_UNIT),
    }
    limit = min(limits, key=lambda n: limits[n])
    blocks = limits[limit]
    return Occupancy(c.variant, blocks, blocks * warps, c.threads_per_mp // 32, limit)
