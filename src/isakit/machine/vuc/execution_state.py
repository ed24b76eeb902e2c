"""The core as generated code sees it: register files, loads and stores, writes that land later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from isakit.arch.vuc import requests as request
from isakit.errors import MachineFault
from isakit.machine.vuc.core_memory import D_CELLS, MVSI_CELLS, MVSO_CELLS, PWT_BYTES, VP_BYTES
from isakit.machine.vuc.core_state import CoreState
from isakit.machine.vuc.special_registers import SpecialRegisters
from isakit.sem.requests import covered
from isakit.sem.trace import Attributes


class StateView:
    """The state as the functions of instructions access it."""

    def __init__(self, core: CoreState, sr: SpecialRegisters) -> None:
        self.core, self.sr = core, sr
        self.data = core.dmem
        self.files: Mapping[str, list[int]] = {"r": core.gpr, "p": core.pred, "acc": core.accumulator}

    def load(self, space: str, address: int, size: int, attrs: Attributes, lanes: object) -> int:
        """Execute a load of an instruction."""
        if space == "D":
            return self.data[address if address < D_CELLS else self._wrapped(space, address, D_CELLS)]
        if space == "sr":
            return self.sr.read(address)
        if space == "PWT":
            byte = self.core.pwt[self._wrapped(space, address, PWT_BYTES)]
            return byte | 0xFF00 if self.core.options.signed_weights and byte >> 7 else byte
        if space == "MVSI":
            return self.core.mvs_in.cells[self._wrapped(space, address, MVSI_CELLS)]
        given = self.core.on_io_load(space, address) if self.core.on_io_load is not None else None
        if given is not None:
            return given & 0xFFFF
        if space == "B6" and address in self.core.options.b6:
            return self.core.options.b6[address]
        self.core.note("UNKNOWN_IO", f"{space}[{address:#x}] read as 0")
        return 0

    def store(self, space: str, address: int, value: int, size: int, attrs: Attributes, lanes: object) -> None:
        """Execute a store of an instruction."""
        if space == "D":
            self.data[address if address < D_CELLS else self._wrapped(space, address, D_CELLS)] = value
        elif space == "VP":
            at = self._wrapped(space, address, VP_BYTES)
            words = {"all": True, "none": False, "even": at % 2 == 0}[self.core.options.vp_words]
            self.core.vpring.store(at, value, 2 if words else 1)
        elif space == "MVSO":
            self.core.mvs_out.store(self._wrapped(space, address, MVSO_CELLS), value)
        else:
            self.core.io_writes.append((self.core.cycle, space, address, value))
            if self.core.on_io_store is not None:
                self.core.on_io_store(space, address, value)

    def _wrapped(self, space: str, address: int, size: int) -> int:
        if address < size:
            return address
        if self.core.options.out_of_range == "fault":
            raise MachineFault("OUT_OF_RANGE", self.core.pc, space=space, address=address)
        self.core.note("OUT_OF_RANGE", f"{space}[{address:#x}] taken modulo {size:#x}")
        return address % size

    def machine(self, name: str, args: Sequence[int], attrs: Attributes, lanes: object) -> int:
        """Return machine values without side effects: `peek` a special register, `submbtype`."""
        return _VALUES[name](self, args)

    def trap(self, kind: str, lanes_mask: object) -> None:
        """Raise the fault of an instruction."""
        raise MachineFault(kind, self.core.pc)

    def delayed_write(self, file: str, index: int, value: int, attrs: Attributes) -> None:
        """Start a write that lands later: loads, special registers, the long accumulator."""
        if file == "r":
            self.core.rules.write_register(self.core, index, value, attrs["latency"])
        elif file == "sr":
            self.core.rules.write_special(self.core, index, value, attrs["latency"])
        else:
            self.core.rules.write_long(self.core, value, attrs["latency"])


_VALUES: Mapping[str, Callable[[StateView, Sequence[int]], int]] = covered(
    "a vµc core",
    request.REQUESTS.values,
    {
        request.PEEK: lambda view, args: view.sr.peek(args[0]),
        request.SUBMBTYPE: lambda view, args: view.core.mb.sub_types,
    },
)
