"""The sanitizer: errors that do not fault: uninitialised reads, races, barriers, bounds."""

from isakit.debug.sanitize.findings import SanitizerFinding, SanitizerReport
from isakit.debug.sanitize.sanitizer import sanitize

__all__ = ["SanitizerFinding", "SanitizerReport", "sanitize"]
