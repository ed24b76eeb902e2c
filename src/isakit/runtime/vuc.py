"""The vµc core for users: load a program, step it, run it, inspect everything.

`isakit.vuc.Core("vp2")`; see `isakit.machine.vuc` for the implementation.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from isakit.asm import Program, assemble
from isakit.codec import decoder
from isakit.errors import LaunchError
from isakit.machine.vuc.core import CoreMachine as Machine
from isakit.machine.vuc.core_code import decode
from isakit.machine.vuc.options import Options
from isakit.machine.vuc.special_registers import UnknownRegisterError
from isakit.machine.vuc.watch import Cycle, Watch
from isakit.runtime.vuc_engine import accelerator

DEFAULT_CYCLES = 1_000_000


@dataclass(frozen=True)
class Stop:
    """The reason why a run ended, and its cost.

    `reason`: `limit` (the cycles are used up), `until` (the requested address or condition), `halted` (by the host or
    the watchdog), `asleep` (only the host could wake the core), `spinning` (an unconditional branch to itself, which
    the core can only leave by the host). `cycles` and `instructions` of this run.
    """

    reason: str
    cycles: int
    instructions: int


class Core(Machine):
    """A vµc core with its surroundings.

    Args:
        variant: `vp2`, `vp3` or `vp4`, or a chip's name.
        options: settings for undocumented behaviour.
        engine: `reference` (Python, one function per instruction word), `llvm` (compiled code; the reference core
            executes instructions that access the units around the core), or `auto`: compiled code once a program has
            run for a while, if llvmlite is installed. The results are the same. Cycles that are watched run on the
            reference core.

    State: `r`, `p`, `acc`, `data` (D[], 0x800 cells) are written like lists that keep their length: $r0, $p1 and $p15
    keep their invariants, negative numbers become the two's complement. `sr` (by number or name, without side effects),
    `pc`, `cycle`, `icnt`, `host` (host registers by name and address), `memory` (host memory for rings and surfaces).
    `on_cycle`, if set, is called with a `Cycle` for every cycle; runs are slower then.
    """

    def __init__(
        self,
        variant: str = "vp3",
        options: Options | None = None,
        *,
        engine: Literal["auto", "reference", "llvm"] = "auto",
    ) -> None:
        super().__init__(variant, options)
        self.engine = engine
        self.accelerator = accelerator(self, engine)
        self.on_cycle: Callable[[Cycle], None] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.variant, self.options, self.engine, self.snapshot())

    # --- programs and data --------------------------------------------------------------------------------------------
    def load(self, program: Any, *, address: int = 0, start: bool = True) -> None:
        """Put a program into code memory and, unless `start` is false, let it begin at address 0.

        `program` is a `Program`, a sequence of instruction words, assembly text, or a module from `isakit.load`, whose
        data part goes to D[0]. `address` (in instructions) is added to a program's own.
        Raises LaunchError for a program of another variant that does not fit this one, and for words or places outside
        of code memory.
        """
        if isinstance(program, str):
            program = assemble(program, decoder_of(self.variant))
        kernels = getattr(program, "kernels", None)
        payload = getattr(program, "payload", None)
        if not isinstance(program, Program) and kernels:
            tail = getattr(payload, "data", b"")
            if tail:
                self.write_data(tail)
            program = next(iter(kernels.values())).program
        if isinstance(program, Program):
            if program.isa != "vuc":
                raise LaunchError(f"a vµc core runs vuc programs, not {program.isa}")
            if (program.variant == "vp2") != self.vp2:
                raise LaunchError(f"a {self.variant} core cannot run a program for {program.variant}: other word size")
            words = list(program.words)
            address += program.address // decoder_of(self.variant).view.variant.unit_bytes
        else:
            try:
                words = [operator.index(w) for w in program]
            except TypeError:
                raise LaunchError(f"instruction words are integers, got {program!r:.100}") from None
        limit = 1 << (40 if self.vp2 else 30)
        for w in words:
            if not 0 <= w < limit:
                raise LaunchError(f"word {w:#x} does not fit the {limit.bit_length() - 1} bits of {self.variant}")
        if address < 0 or address + len(words) > len(self.code):
            raise LaunchError(f"{len(words)} instructions from {address:#x} on do not fit code memory of 0x800")
        self.load_words(words, address)
        if start:
            self.start()

    def write_data(self, data: bytes | Iterable[int], address: int = 0) -> None:
        """Fill D[] from a cell on: bytes are little-endian 16-bit cells, other iterables give cell values.

        Raises LaunchError for what does not fit: numbers are -0x8000 to 0xffff.
        """
        if isinstance(data, bytes | bytearray):
            padded = bytes(data) + bytes(len(data) % 2)
            cells = [int.from_bytes(padded[i : i + 2], "little") for i in range(0, len(padded), 2)]
        else:
            cells = list(data)
        if address < 0 or address + len(cells) > len(self.dmem):
            raise LaunchError(f"{len(cells)} cells from {address:#x} on do not fit D[] of 0x800 cells")
        self.data[address : address + len(cells)] = cells

    def read_data(self, address: int = 0, count: int | None = None) -> bytes:
        """Return cells of D[] as little-endian bytes."""
        cells = self.data[address : None if count is None else address + count]
        return b"".join(v.to_bytes(2, "little") for v in cells)

    # --- running ------------------------------------------------------------------------------------------------------
    def step(self, n: int = 1) -> None:
        """Run `n` cycles."""
        if self.on_cycle is None:
            self.pass_cycles(n)
            return
        watch = Watch(self)
        for _ in range(n):
            if self.halted:
                return
            self.on_cycle(watch.step())

    def watch(self, max_cycles: int = DEFAULT_CYCLES) -> Iterable[Cycle]:
        """Yield the cycles of a run in order, each with the issued instruction, landed writes and hazards."""
        watch = Watch(self)
        end = self.cycle + max_cycles
        while self.cycle < end and not self.halted:
            yield watch.step()

    def run(
        self,
        max_cycles: int = DEFAULT_CYCLES,
        *,
        until: int | Callable[[Core], bool] | None = None,
        stop_spinning: bool = False,
    ) -> Stop:
        """Run until the program ends or stops, at most `max_cycles` cycles.

        `until` is an instruction address about to issue, or a condition checked before every cycle. `stop_spinning`
        also ends the run where the program branches to itself forever (`end: bra end; nop`) with no pending write or
        event and no watchdog set.
        """
        first_cycle, first_issued = self.cycle, self.issued
        spins = self._spins() if stop_spinning else frozenset[int]()
        stops = frozenset(() if until is None or callable(until) else (until,))
        condition = until if callable(until) else None
        reason = self._run(self.cycle + max_cycles, stops, spins, condition)
        return Stop(reason, self.cycle - first_cycle, self.issued - first_issued)

    def _run(
        self, end: int, stops: frozenset[int], spins: frozenset[int], condition: Callable[[Core], bool] | None
    ) -> str:
        watch = Watch(self) if self.on_cycle is not None else None
        slow = watch is not None or condition is not None
        while self.cycle < end:
            if condition is not None and condition(self):
                return "until"
            reason = self.advance(self.cycle + 1 if slow else end, stops | spins) if watch is None else ""
            if watch is not None:
                reason = self._watched(watch, stops | spins)
            if reason == "stop":
                if self.pc in stops:
                    return "until"
                if not self.pending and self.wdcnt == 0xFFFF:
                    return "spinning"
                reason = self._watched(watch, ()) if watch is not None else self.advance(self.cycle + 1)
            if reason != "limit":
                return reason
        return "limit"

    def _watched(self, watch: Watch, stops: Container[int]) -> str:
        """Run one cycle with a report, with the answers of `advance`."""
        if self.halted:
            return "halted"
        if self.waiting and not self.pending and not self.would_wake():
            return "asleep"
        if self.pc in stops and self.would_wake():
            return "stop"
        cycle = watch.step()
        if self.on_cycle is not None:
            self.on_cycle(cycle)
        return "limit"

    def _spins(self) -> frozenset[int]:
        """Return addresses of unguarded branches to themselves with a nop after."""
        found: set[int] = set()
        units = decoder_of(self.variant)
        for at, (word, behind) in enumerate(pairwise(self.code)):
            if word is None or behind is None or units.one(word, 1).mnemonic != "bra":
                continue
            if units.one(behind, 1).mnemonic != "nop":
                continue
            branch, nop = decode(self.variant, word, at), decode(self.variant, behind, at + 1)
            if branch.guard < 0 and branch.jump == at and nop.relative is None:
                found.add(at)
        return frozenset(found)

    # --- state --------------------------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """Return all state visible to a program, as plain data that can be written as JSON."""
        return {
            "variant": self.variant,
            "cycle": self.cycle,
            "instructions": self.issued,
            "pc": self.pc,
            "halted": self.halted,
            "waiting": self.waiting,
            "r": list(self.r),
            "p": list(self.p),
            "sr": {name: self.sr[name] for name in self.sr.names},
            "stack": list(self.sr.stack),
            "accumulator": self.acc[0],
            "host": {n: self.host[n] for n in self.host.names if n not in ("CODE_WINDOW", "INTR")}
            | {"INTR": self.host.intr},
            "data": list(self.data),
            "pwt": self.pwt.hex(),
            "vp": self.vpring.data.hex(),
            "mvsi": list(self.mvs_in.cells),
            "mvso": list(self.mvs_out.cells),
            "io_writes": [list(w) for w in self.io_writes],
            "diagnostics": [list(d) for d in self.diagnostics],
        }

    def to_json(self) -> str:
        """Return `state` as JSON text."""
        return json.dumps(self.state(), indent=1)

    def __repr__(self) -> str:
        what = "halted" if self.halted else "asleep" if self.idle else f"at {self.pc:#x}"
        return f"<vµc core {self.variant}: {what}, cycle {self.cycle}>"


def _restored(variant: str, options: Options, engine: Literal["auto", "reference", "llvm"], snapshot: Any) -> Core:
    core = Core(variant, options, engine=engine)
    core.restore(snapshot)
    return core


def decoder_of(variant: str):
    """Return the decoder of a variant's words."""
    from isakit.arch.vuc import vuc

    return decoder(vuc, variant)


__all__ = ["Core", "Options", "Stop", "UnknownRegisterError"]
