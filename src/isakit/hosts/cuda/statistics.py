"""Statistics of a program: launches, instructions and time per kernel."""

from __future__ import annotations

from dataclasses import dataclass, field

from isakit.machine.tesla.launch import Stats
from isakit.results import record


@dataclass
class KernelStatistics:
    """The launches of one kernel: count, instructions, seconds (`first`: those of the first launch)."""

    launches: int = 0
    instructions: int = 0
    warp_instructions: int = 0
    engine_seconds: float = 0.0
    seconds: float = 0.0
    first: float = 0.0


@dataclass
class LibraryStatistics:
    """The calls of a library function executed on the host, and their seconds."""

    calls: int = 0
    seconds: float = 0.0


@record
class StatisticsRecord:
    """The statistics for JSON."""

    calls: int
    faults: int
    launches: int
    refused: dict[str, int]
    kernels: dict[str, KernelStatistics]
    libraries: dict[str, LibraryStatistics]


@dataclass
class Statistics:
    """Totals of a run over all its processes; `refused`: launches that the card refused, by kernel."""

    kernels: dict[str, KernelStatistics] = field(default_factory=dict[str, KernelStatistics])
    calls: int = 0
    faults: int = 0
    refused: dict[str, int] = field(default_factory=dict[str, int])
    libraries: dict[str, LibraryStatistics] = field(default_factory=dict[str, LibraryStatistics])

    def refuse(self, name: str) -> int:
        """Count a refused launch; return how many of this kernel there were."""
        self.refused[name] = self.refused.get(name, 0) + 1
        return self.refused[name]

    def add(self, name: str, stats: Stats, seconds: float) -> None:
        """Count a launch."""
        k = self.kernels.setdefault(name, KernelStatistics())
        k.launches += 1
        k.instructions += stats.instructions
        k.warp_instructions += stats.warp_instructions
        k.engine_seconds += stats.seconds
        k.seconds += seconds
        if k.launches == 1:
            k.first = seconds

    def add_library(self, name: str, seconds: float) -> None:
        """Count a call of a library function."""
        found = self.libraries.setdefault(name, LibraryStatistics())
        found.calls += 1
        found.seconds += seconds

    @property
    def launches(self) -> int:
        """Number of launches of all kernels."""
        return sum(k.launches for k in self.kernels.values())

    def lines(self) -> list[str]:
        """Return a table as lines of text. `preparing` is the time of launches apart from executing instructions."""
        out = ["  launches  instructions   seconds  preparing  G instr/s  kernel"]
        rows = sorted(self.kernels.items(), key=lambda item: -item[1].seconds)
        out += [_row(name, k) for name, k in rows]
        if len(rows) > 1:
            fields = zip(*(vars(k).values() for _, k in rows), strict=True)
            out.append(_row("all", KernelStatistics(*map(sum, fields))))
        for name, work in self.libraries.items():
            out.append(f"{work.calls:10}       library {work.seconds:9.3f}   done on the host       {name}")
        for name, times in self.refused.items():
            out.append(f"{times:10}   not launched: the card refused it                      {name}")
        return [*out, f"{self.calls} calls, {self.faults} faults, {sum(self.refused.values())} launches refused"]

    def record(self) -> StatisticsRecord:
        """Return the statistics as a record."""
        return StatisticsRecord(self.calls, self.faults, self.launches, self.refused, self.kernels, self.libraries)


def _row(name: str, k: KernelStatistics) -> str:
    rate = k.instructions / k.engine_seconds / 1e9 if k.engine_seconds else 0.0
    preparing = max(0.0, k.seconds - k.engine_seconds)
    return f"{k.launches:10} {k.instructions:13} {k.seconds:9.3f} {preparing:10.3f} {rate:10.2f}  {name}"
