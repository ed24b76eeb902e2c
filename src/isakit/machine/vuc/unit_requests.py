"""The requests of instructions to the machine: flow control, stalls, and the units around the core.

Source: [vuc] 7, 8, 14.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from isakit.arch.vuc import requests as request
from isakit.errors import NotModelled
from isakit.machine.vuc.core_memory import D_CELLS, PWT_BYTES
from isakit.machine.vuc.core_state import H264_MODE, CoreState
from isakit.machine.vuc.macroblock import from_h264, from_mpeg2
from isakit.machine.vuc.rules.state import QueueEntry, QueueKind
from isakit.sem.requests import covered
from isakit.sem.trace import Attributes

SLEEP_MASK = 0x0C00

Action = Callable[[Any, tuple[int, ...], Mapping[str, Any]], None]
"""(units, operands, static attributes)."""


class Units:
    """The actions of a core for the control requests of its instructions; `ACTIONS` has them by name."""

    def __init__(self, core: CoreState) -> None:
        self.core = core
        self._running: dict[str, list[QueueEntry]] = {}
        self._read_before = False

    def do_branch(self, args: tuple[int, ...], attrs: Attributes) -> None:
        self.core.rules.branch(self.core, args[0])

    def do_call(self, args: tuple[int, ...], attrs: Attributes) -> None:
        self.core.rules.call(self.core, args[0])

    def do_return(self, args: tuple[int, ...], attrs: Attributes) -> None:
        self.core.rules.ret(self.core)

    def do_sleep(self, args: tuple[int, ...], attrs: Attributes) -> None:
        self.core.wait = SLEEP_MASK, 1, True

    def do_wait(self, args: tuple[int, ...], attrs: Attributes) -> None:
        self.core.wait = 1 << args[0], attrs["level"], False

    def do_clicnt(self, args: tuple[int, ...], attrs: Attributes) -> None:
        self.core.stalled -= 1  # the counter is 0 after this instruction, not at it
        self.core.set_icnt(0)
        self.core.stalled += 1

    def do_unknown(self, args: tuple[int, ...], attrs: Attributes) -> None:
        name = f"unko2{attrs['op']:x}"
        if self.core.options.unknown_ops == "raise":
            why = 'its effect is not known; Options(unknown_ops="ignore") makes it do nothing'
            raise NotModelled(f"`{name}` at {self.core.pc:#x}", why)
        self.core.note("UNKNOWN_OPERATION", f"{name} ignored")

    @property
    def mpeg(self) -> bool:
        """True if macroblocks are those of MPEG-1 or MPEG-2 (VP3 and VP4, by PARM)."""
        return not self.core.vp2 and self.core.parm & 7 in (0, 1)

    def parse_ring(self) -> None:
        """Process the packets in the macroblock ring."""
        core = self.core
        if not core.vp2 and core.parm & 7 not in (0, 1, H264_MODE):
            raise NotModelled(
                f"MBRING packets of mode {self.core.parm & 7}", "only MPEG-1/2 and H.264 headers are documented"
            )
        before = self.core.ring.available
        self.core.ring.parse(self.mpeg)
        if before and not self.core.ring.available:
            self.core.raise_interrupt("MBRING_READ_DONE")

    def do_mbiread(self, args: tuple[int, ...], attrs: Attributes) -> None:
        if not self.core.ring.ready:
            self.core.note("NO_MACROBLOCK", "mbiread without a macroblock changes nothing")
            return
        self.core.later(self.core.options.mbiread_latency + 1, self._load_macroblock, "mbiread")

    def _load_macroblock(self) -> None:
        if not self.core.ring.ready:
            return
        head = self.core.ring.ready[0]
        for index, word in head.weights:
            if index < PWT_BYTES // 4:
                self.core.pwt[4 * index : 4 * index + 4] = word.to_bytes(4, "little")
            else:
                self.core.weight_denominators = word
        if self.mpeg:
            self.core.mb = from_mpeg2(head)
        else:
            before, core = self.core.mb, self.core
            core.mb = from_h264(head, core.parm >> 9 & 3, core.options.intra_ref)
            core.mb.qpc = before.qpc  # the chroma quantisers are outputs only
            if core.options.first_read_looks_up or self._read_before:
                self._look_up_pictures()
            else:
                core.mb.rpis = before.rpis
        self._read_before = True

    def _look_up_pictures(self) -> None:
        table = self.core.plain[11] if self.core.vp2 else self.core.rpitab
        for which in range(2):
            for part in range(4):
                at = table + which * self.core.options.rpi_list_stride + self.core.mb.refs[4 * which + part]
                self.core.mb.rpis[4 * which + part] = self.core.dmem[at % D_CELLS] & 0x3F

    def do_mbinext(self, args: tuple[int, ...], attrs: Attributes) -> None:
        self.core.later(self.core.options.mbinext_latency + 1, self._next_macroblock, "mbinext")

    def _next_macroblock(self) -> None:
        if self.core.ring.ready:
            self.core.ring.ready.popleft()
        self.parse_ring()

    def _restart_unit(self, name: str, events: list[QueueEntry]) -> None:
        for e in self._running.get(name, ()):
            e.kind = QueueKind.DEAD
        self._running[name] = events

    def do_mvsread(self, args: tuple[int, ...], attrs: Attributes) -> None:
        events = [self.core.later(1, self._begin_mvsread, "mvsread starts")]
        if self.core.mvs_in.has_next:
            events.append(self.core.later(self.core.options.mvsread_cycles, self._finish_mvsread, "mvsread done"))
        else:
            self.core.note("MVSURF_IN_EMPTY", "mvsread without pairs left never finishes")
        self._restart_unit("mvsread", events)

    def _begin_mvsread(self) -> None:
        self.core.mvs_in.done = False
        self.core.mvs_in_busy = True

    def _finish_mvsread(self) -> None:
        self.core.mvs_in_busy = False
        self.core.mvs_in.cells = self.core.mvs_in.next_pair()
        self.core.mvs_in.done = True

    def do_mvswrite(self, args: tuple[int, ...], attrs: Attributes) -> None:
        unit = self.core.mvs_out
        if not unit.accepts:
            self.core.note("MVSURF_OUT_IGNORED", "mvswrite without macroblocks left, or while the output is full")
            return

        gather, whole = self.core.options.mvswrite_gather, self.core.options.mvswrite_cycles
        self._restart_unit(
            "mvswrite",
            [
                self.core.later(2, self._begin_gathering, "mvswrite gathers"),
                self.core.later(gather + 1, self._end_gathering, "mvswrite gathered"),
                self.core.later(whole, self._finish_mvswrite, "mvswrite done"),
            ],
        )

    def _begin_gathering(self) -> None:
        self.core.mvs_out.gathering = True

    def _end_gathering(self) -> None:
        self.core.mvs_out.gathering = False

    def _finish_mvswrite(self) -> None:
        self.core.mvs_out.write()


ACTIONS: Mapping[str, Action] = covered(
    "a vµc core",
    request.REQUESTS.controls,
    {
        request.BRANCH: Units.do_branch,
        request.CALL: Units.do_call,
        request.RETURN: Units.do_return,
        request.SLEEP: Units.do_sleep,
        request.WAIT: Units.do_wait,
        request.CLICNT: Units.do_clicnt,
        request.UNKNOWN: Units.do_unknown,
        request.MBIREAD: Units.do_mbiread,
        request.MBINEXT: Units.do_mbinext,
        request.MVSREAD: Units.do_mvsread,
        request.MVSWRITE: Units.do_mvswrite,
    },
)
