"""The sanitizer's report: findings by instruction, each with its first example."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from isakit.line_table import LineTable
from isakit.results import OMITTED, Omitted, record

KINDS = {
    "uninitialised-register": "an uninitialised register is read",
    "unallocated-register": "an instruction does nothing, because its destination is not allocated",
    "uninitialised-memory": "uninitialised memory is read",
    "race": "lanes of different warps access the same place, one of them writes, and no barrier is between",
    "divergent-barrier": "some lanes of a warp that have not ended do not take part in a barrier",
    "missing-warp": "warps wait at a barrier that others never reach",
    "out-of-bounds": "an access outside of its memory",
    "misaligned": "an address that is not a multiple of the access size",
    "constant-write": "a write to a constant bank",
    "overlapping-buffers": "a write to memory that another g[] space shows, too",
    "unbound-space": "an access to a g[] space that shows no memory",
    "fault": "the program faulted",
    "hazard": "a vµc instruction meets a write that has not landed",
}
"""Kinds of findings, with descriptions."""


@dataclass
class SanitizerFinding:
    """One kind of error of an instruction: it occurred `count` times, first as in `example`.

    `address`: of the instruction, in bytes; `other`: of the instruction it collides with, for races.
    """

    kind: str
    address: int
    text: str
    example: str
    count: int = 0
    other: int | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.address:#06x} `{self.text}`: {self.example} ({self.count} in all)"


@record
class FindingRecord:
    """A `SanitizerFinding` for JSON; `source` and `other_source` are lines as `file:line: text`, where known."""

    kind: str
    address: int
    instruction: str
    count: int
    example: str
    other: int | Omitted
    source: str | Omitted
    other_source: str | Omitted


@record
class SanitizerRecord:
    """A `SanitizerReport` for JSON."""

    clean: bool
    finished: bool
    findings: list[FindingRecord]


@dataclass
class SanitizerReport:
    """The findings of a sanitized run, whether it reached its end, and the source lines of instructions."""

    findings: dict[tuple[str, int, int | None], SanitizerFinding] = field(
        default_factory=dict[tuple[str, int, int | None], SanitizerFinding]
    )
    finished: bool = True
    source: LineTable | None = None

    def add(self, kind: str, address: int, text: str, count: int, example: Callable[[], str],
            other: int | None = None) -> None:  # fmt: skip
        """Count a finding; its first occurrence at an instruction becomes the example."""
        key = kind, address, other
        found = self.findings.get(key)
        if found is None:
            found = self.findings[key] = SanitizerFinding(kind, address, text, example(), other=other)
        found.count += count

    @property
    def clean(self) -> bool:
        """True if nothing was found."""
        return not self.findings

    def __iter__(self) -> Iterator[SanitizerFinding]:
        return iter(sorted(self.findings.values(), key=lambda f: (f.address, f.kind)))

    def __len__(self) -> int:
        return len(self.findings)

    def record(self) -> SanitizerRecord:
        """Return the report as a record."""
        findings = [
            FindingRecord(f.kind, f.address, f.text, f.count, f.example, OMITTED if f.other is None else f.other,
                          self._line(f.address) or OMITTED, self._line(f.other) or OMITTED)
            for f in self
        ]  # fmt: skip
        return SanitizerRecord(self.clean, self.finished, findings)

    def _line(self, address: int | None) -> str:
        return "" if self.source is None or address is None else self.source.shown(address)

    def __str__(self) -> str:
        lines: list[str] = []
        for f in self:
            places = dict.fromkeys(filter(None, (self._line(f.address), self._line(f.other))))
            lines += [str(f), *(f"    {place}" for place in places)]
        count = len(self)
        return "\n".join([*lines, f"{count} finding{'s' * (count != 1)}" if count else "nothing found"])

    def __repr__(self) -> str:
        return f"<report: {len(self)} findings>"
