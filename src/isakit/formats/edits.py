"""Changes to an existing cubin; `cubin_elf_edit` and `cubin_text_edit` apply them, byte for byte nothing else.

Everything that is None or missing stays as it is in the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from isakit.description import InfoRecord, Param
from isakit.lean import dataclass


@dataclass
class KernelEdit:
    """Changes of one kernel.

    Attributes:
        code: the new instruction bytes.
        moved: where the instruction at an offset of the old code is in the new code; None where it is gone.
        registers, shared_bytes, local_bytes, barriers: as in `Kernel`.
        params: all parameters, and the size of their area in bytes.
        constants: bank number to its new content.
        units: name of a texture reference to its new unit.
        info: number of a `.nv.info` record among `Kernel.info` to its new content.
        max_threads: as in `Kernel`.
    """

    code: bytes | None = None
    moved: Callable[[int], int | None] = lambda at: at
    registers: int | None = None
    shared_bytes: int | None = None
    local_bytes: int | None = None
    barriers: int | None = None
    params: tuple[list[Param], int] | None = None
    constants: dict[int, bytes] = field(default_factory=dict[int, bytes])
    units: dict[str, int] = field(default_factory=dict[str, int])
    info: dict[int, InfoRecord] = field(default_factory=dict[int, InfoRecord])
    max_threads: tuple[int, ...] | None = None


@dataclass
class Edits:
    """Changes of a cubin: `kernels` by name, `constants` of the module by bank, content of `variables` by name."""

    kernels: dict[str, KernelEdit] = field(default_factory=dict[str, KernelEdit])
    constants: dict[int, bytes] = field(default_factory=dict[int, bytes])
    variables: dict[str, bytes] = field(default_factory=dict[str, bytes])
