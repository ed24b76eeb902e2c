"""The state of a core, and the actions its parts request: registers, code, counters, writes that land later.

`machine.vuc.core.CoreMachine` adds the parts that are made with a core (special and host registers, units) and runs it.
Source: [vuc] 7, 8, 11.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from isakit.arch.vuc import vuc
from isakit.arch.vuc.fields import SR_SRC1
from isakit.arch.vuc.memory_operands import CODE_SIZE
from isakit.arch.vuc.registers import NOT_P0, SR, TRUE
from isakit.machine.vuc.core_code import CoreOp
from isakit.machine.vuc.core_memory import D_CELLS, PWT_BYTES, HostMemory
from isakit.machine.vuc.macroblock import Macroblock
from isakit.machine.vuc.mbring import Ring
from isakit.machine.vuc.mvsurf import SurfaceOutput, SurfaceSource
from isakit.machine.vuc.options import Options
from isakit.machine.vuc.rules import CoreRules
from isakit.machine.vuc.rules.state import NEVER, CoreRecord, QueueEntry, QueueKind
from isakit.machine.vuc.vpring import VpRing

NO_WATCHDOG = 0xFFFF
H264_MODE = 3
"""The value of $parm that selects H.264."""
WATCHDOG_BIT = 12
"""The bit of $stat that records that the watchdog has fired."""


def _ignore(name: str) -> None:
    pass


class CoreState(CoreRecord):
    """The state of a core of one variant; attributes as of `CoreMachine`."""

    def __init__(self, variant: str = "vp3", options: Options | None = None) -> None:
        v = vuc.variant(variant)
        self.variant, self.features = v.name, v.features | {v.name}
        self.options = options or Options()
        self.vp2 = v.name == "vp2"
        self.rules = CoreRules(self.options, self.vp2)
        self.code: list[int | None] = [None] * CODE_SIZE
        self._ops: list[CoreOp | None] = [None] * CODE_SIZE
        self.memory = HostMemory()
        self.shows_predicates = False
        self.io_writes: list[tuple[int, str, int, int]] = []
        self.on_io_load: Callable[[str, int], int | None] | None = None
        self.on_io_store: Callable[[str, int, int], None] | None = None
        self.listener: Callable[[QueueEntry], None] | None = None
        self.accelerator: Callable[[int, Container[int]], str] | None = None
        self.code_version: int = 0
        self.raise_interrupt: Callable[[str], None] = _ignore
        """Sets the INTR bit of an interrupt by name; that of the host's registers."""

    def reset(self) -> None:
        """Clear everything but code and host memory; the core is halted."""
        super().__init__()
        self.pred[NOT_P0] = self.pred[TRUE] = 1
        self.dmem = [0] * D_CELLS
        self.pwt = bytearray(PWT_BYTES)
        self.weight_denominators = 0
        self.mb = Macroblock()
        self.parm = 0 if self.vp2 else H264_MODE
        self.rpitab = self.reftab = 0
        self.stat_bits = 0
        self.pulses = 0
        self.npc = 1
        self.halted = True
        self.wdcnt = NO_WATCHDOG
        self.watch_at = self.due = self.lagging = NEVER
        self.queue: list[QueueEntry] = []
        self.wait: tuple[int, int, bool] | None = None
        self.mvs_in, self.mvs_out = SurfaceSource(self.memory), SurfaceOutput(self.memory)
        self.mvs_in_busy = False
        self.ring = Ring(self.memory, self.vp2)
        self.vpring = VpRing(self.memory, self.later, self._ring_full, self.options.vpring_cycles)
        self.diagnostics: list[tuple[int, int, str, str]] = []

    def _ring_full(self, name: str) -> None:
        self.raise_interrupt(f"VPRING_{name}_HALT")

    def note(self, kind: str, text: str) -> None:
        """Record a diagnostic; at most 1000 are kept."""
        if len(self.diagnostics) < 1000:
            self.diagnostics.append((self.cycle, self.pc, kind, text))

    def set_code(self, address: int, word: int) -> None:
        """Write one instruction word."""
        self.code[address] = word
        self.code_version += 1
        if word >> 26 & 5 == 1 and SR_SRC1.get(word) == SR["pred"]:
            self.shows_predicates = True  # the program reads $pred, which lags behind
        self._ops[address] = None

    def start(self) -> None:
        """Begin execution at address 0. Registers, call stack and pending writes keep their values."""
        self.halted = False
        self.pc, self.npc = 0, 1
        self.wait = None

    def halt(self) -> None:
        """Stop; `start` starts again."""
        self.halted = True

    @property
    def idle(self) -> bool:
        """True if halted or asleep."""
        return self.halted or (self.wait is not None and self.wait[2])

    @property
    def waiting(self) -> bool:
        """True if stalled in sleep, wstc or wsts."""
        return self.wait is not None

    @property
    def pending(self) -> list[QueueEntry]:
        """Writes and events that have not landed yet, in the order in which they will."""
        return [e for e in reversed(self.queue[: self.count]) if e.kind != QueueKind.DEAD]

    @property
    def mb_available(self) -> bool:
        """Bit 10 of $stat: a macroblock is available."""
        return bool(self.ring.ready)

    # --- counters -----------------------------------------------------------------------------------------------------
    @property
    def issued(self) -> int:
        """Number of issued instructions, and of stalled cycles that count as instructions."""
        return self.cycle - self.stalled

    @property
    def icnt(self) -> int:
        """The value of $icnt."""
        return (self.issued - self.icnt_base) & 0xFFFF

    def set_icnt(self, value: int) -> None:
        """Write $icnt; clears the watchdog bit."""
        self.icnt_base = (self.issued - (value & 0xFFFF)) & (1 << 64) - 1
        self._rearm()

    def set_wdcnt(self, value: int) -> None:
        """Write the watchdog limit; clears the watchdog bit."""
        self.wdcnt = value & 0xFFFF
        self._rearm()

    def _rearm(self) -> None:
        self.stat_bits &= ~(1 << WATCHDOG_BIT)
        if self.wdcnt == NO_WATCHDOG:
            self.watch_at = NEVER
        else:
            ahead = (self.wdcnt - self.icnt) & 0xFFFF
            self.watch_at = self.issued + (ahead or 0x10000)

    def watchdog(self, cycles: int = 1) -> None:
        """Schedule the watchdog, whose count of issued instructions is reached, to fire in `cycles` cycles."""
        self.watch_at += 0x10000
        self.later(cycles, self._bark, "watchdog")

    def _bark(self) -> None:
        self.stat_bits |= 1 << WATCHDOG_BIT
        self.raise_interrupt("WATCHDOG")
        if self.options.watchdog_halts:
            self.halt()

    # --- predicates ---------------------------------------------------------------------------------------------------
    def set_predicates(self, value: int, mask: int) -> None:
        """Set the predicates in `mask` from the bits of `value`; $p1 and $p15 keep their invariants."""
        self.rules.set_predicates(self, value, 0xFFFF & ~mask)

    def predicates(self) -> int:
        """Return all predicates, one bit each, as readers with forwarding see them."""
        return sum(bit << n for n, bit in enumerate(self.pred))

    def predicates_seen(self) -> int:
        """Return $pred: without the predicates that the previous instruction wrote."""
        return self.rules.predicates(self)

    # --- writes that land later ---------------------------------------------------------------------------------------
    def later(self, cycles: int, action: Callable[[], None], name: str = "") -> QueueEntry:
        """Schedule an action whose effect is visible `cycles` after the current cycle; `name` is for display."""
        visible = self.cycle + cycles
        self.rules.enter(self, visible, visible, QueueKind.EVENT, name, action, self.pc)
        return next(e for e in self.queue if e.serial == self.serial)
