"""Assembly text that grows line by line."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Lines:
    """Assembly lines, with fresh labels."""

    lines: list[str] = field(default_factory=list)
    labels: int = 0

    def add(self, *lines: str) -> None:
        """Append instructions."""
        self.lines += ["    " + line for line in lines]

    def label(self) -> str:
        """A label that is not in use."""
        self.labels += 1
        return f"L{self.labels}"

    def place(self, label: str) -> None:
        """Let a label stand for what follows."""
        self.lines.append(f"{label}:")
