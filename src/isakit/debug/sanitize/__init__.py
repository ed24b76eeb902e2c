"""What a program does wrong without faulting: unwritten values, races, barriers, bounds."""

from isakit.debug.sanitize.findings import Finding, Report
from isakit.debug.sanitize.sanitizer import sanitize

__all__ = ["Finding", "Report", "sanitize"]
