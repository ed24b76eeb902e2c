"""The interfaces by which the parts of a core know the core they belong to, and each other.

`machine.vuc.core.Core` fulfils it; the parts do not know that class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from isakit.machine.vuc.macroblock import Macroblock
from isakit.machine.vuc.mbring import Ring
from isakit.machine.vuc.mvsurf import SurfaceOutput, SurfaceSource
from isakit.machine.vuc.options import Options
from isakit.machine.vuc.rules import CoreRules
from isakit.machine.vuc.rules.state import QueueEntry
from isakit.machine.vuc.vpring import VpRing


class HostLines(Protocol):
    """The host, as the core reaches it."""

    def raise_interrupt(self, name: str) -> None:
        """Set the INTR bit of an interrupt."""
        ...


class Specials(Protocol):
    """The special registers, as instructions and the host reach them."""

    @property
    def plain(self) -> list[int]:
        """Those that are storage."""
        ...

    def stat(self) -> int:
        """Return $stat as it is now."""
        ...

    def peek(self, n: int) -> int:
        """Return the value an instruction would read now, without side effects."""
        ...

    def read(self, n: int) -> int:
        """Read by an instruction."""
        ...


class CoreState(Protocol):
    """State of a core, and what its parts ask it to do."""

    rules: CoreRules
    variant: str
    features: frozenset[str]
    vp2: bool
    options: Options
    gpr: list[int]
    pred: list[int]
    accumulator: list[int]
    plain: list[int]
    calls: list[int]
    depth: int
    dmem: list[int]
    pwt: bytearray
    code: list[int | None]
    pc: int
    cycle: int
    stalled: int
    wdcnt: int
    halted: bool
    target: int
    wait: tuple[int, int, bool] | None
    parm: int
    rpitab: int
    stat_bits: int
    pulses: int
    weight_denominators: int
    mb: Macroblock
    ring: Ring
    vpring: VpRing
    mvs_in: SurfaceSource
    mvs_out: SurfaceOutput
    mvs_in_busy: bool
    io_writes: list[tuple[int, str, int, int]]
    on_io_load: Callable[[str, int], int | None] | None
    on_io_store: Callable[[str, int, int], None] | None

    @property
    def sr(self) -> Specials: ...
    @property
    def host(self) -> HostLines: ...
    @property
    def icnt(self) -> int: ...
    @property
    def idle(self) -> bool: ...
    @property
    def mb_available(self) -> bool: ...
    def note(self, kind: str, text: str) -> None: ...
    def later(self, cycles: int, action: Callable[[], None], name: str = "") -> QueueEntry: ...
    def set_icnt(self, value: int) -> None: ...
    def set_wdcnt(self, value: int) -> None: ...
    def set_code(self, address: int, word: int) -> None: ...
    def set_predicates(self, value: int, mask: int) -> None: ...
    def predicates_seen(self) -> int: ...
    def parse_ring(self) -> None: ...
    def start(self) -> None: ...
    def halt(self) -> None: ...
