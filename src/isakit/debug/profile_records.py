"""The counts of a profile as records: by instruction, by basic block, and the whole."""

from __future__ import annotations

from dataclasses import dataclass, field

from isakit.machine.tesla.occupancy import OccupancyRecord
from isakit.results import OMITTED, Omitted


@dataclass
class Line:
    """The counts of one instruction.

    `executions` of warps; `lanes` that took part, of `possible` ones; `divergent`: branches whose lanes diverged;
    `requests`: accesses of half-warps; `coalesced` ones among them; `transactions` and the bytes they `moved`, of which
    lanes `used` some; `serialized`: steps beyond the first, for conflicts in shared memory or different constants.
    """

    address: int
    text: str
    kind: str
    executions: int = 0
    lanes: int = 0
    possible: int = 0
    divergent: int = 0
    requests: int = 0
    coalesced: int = 0
    transactions: int = 0
    moved: int = 0
    used: int = 0
    serialized: int = 0
    sizes: dict[int, int] = field(default_factory=dict[int, int])
    spaces: set[str] = field(default_factory=set[str])

    @property
    def efficiency(self) -> float:
        """Lanes that took part, as a fraction of the possible ones."""
        return self.lanes / self.possible if self.possible else 0.0


@dataclass
class LineRecord(Line):
    """A `Line` for JSON, with its lines of source and PTX where they are known."""

    path: str | Omitted | None = OMITTED
    line: int | Omitted | None = OMITTED
    ptx_line: int | Omitted | None = OMITTED


@dataclass
class BlockCounts:
    """The counts of a block.

    `name`: its label, or its address; `address` and `end` in bytes; `entered`: executions of warps of its first
    instruction; `instructions` executed by warps in it; `lanes` that took part, of `possible` ones; the others as in
    `Line`.
    """

    name: str
    address: int
    end: int
    entered: int
    instructions: int
    lanes: int
    possible: int
    divergent: int
    moved: int
    used: int
    serialized: int


@dataclass
class ProfileRecord:
    """A `Profile` for JSON."""

    kernel: str
    chip: str
    capability: str
    counters: dict[str, int]
    occupancy: list[OccupancyRecord]
    instructions: list[LineRecord]
    blocks: list[BlockCounts]
