"""Spellings of a kernel's names in source text: names in files may hold characters that a text cannot."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from isakit.asm.directives import TYPES
from isakit.description import ConstantSegment, Kernel, Param

_NAME = re.compile(r"[A-Za-z_][\w.$]*", re.ASCII)
_GENERATED = re.compile(r"L[0-9a-f]{4,}")
_UNWRITABLE = re.compile(r"^[0-9]|[^A-Za-z0-9_.$@?]")


class KernelSpelling:
    """Names of one kernel that can occur in a text, each used once.

    Attributes: `name`, `constants` (bank to name to offset; names that clash or would read as generated labels are left
    out).
    """

    def __init__(self, kernel: Kernel) -> None:
        self.name = _UNWRITABLE.sub(lambda m: f"${ord(m[0]):x}$", kernel.name) or "$"
        self._kernel = kernel
        self._params: list[str] = []
        used: set[str] = set()
        for k, p in enumerate(kernel.params):
            name = p.name if _NAME.fullmatch(p.name) and p.name not in used else f"p{k}"
            used.add(name)
            self._params.append(name)
        self.constants = {bank: bank_names(segments, used) for bank, segments in kernel.constants.items()}

    def params(self) -> Iterator[str]:
        """Yield the `.param` lines; an offset is written if natural alignment would not give it."""
        end = 0
        for name, p in zip(self._params, self._kernel.params, strict=True):
            kind = p.kind if p.kind.partition("[")[0] in TYPES else _type_without_name(p)
            align = TYPES[kind.partition("[")[0]]
            placed = "" if p.offset == end + -end % align else f" {p.offset:#x}"
            yield f".param {name} {kind}{placed}"
            end = max(end, p.offset + p.size)


def bank_names(segments: Iterable[ConstantSegment], used: set[str] | None = None) -> dict[str, int]:
    """Return the names of a bank that can occur in a text, with their offsets, without those that are `used`."""
    used = set() if used is None else used
    names: dict[str, int] = {}
    for s in segments:
        if _NAME.fullmatch(s.name) and s.name not in used and not _GENERATED.fullmatch(s.name):
            names[s.name] = s.offset
            used.add(s.name)
    return names


def _type_without_name(p: Param) -> str:
    """Return a type for a parameter whose own a text cannot spell: an address of its size, or words."""
    size = p.size
    if p.is_pointer and size in (4, 8):
        return "ptr" if size == 4 else "ptr64"
    if size in (1, 2, 4, 8):
        return f"b{8 * size}"
    return f"b32[{size // 4}]" if size % 4 == 0 else f"b8[{size}]"
