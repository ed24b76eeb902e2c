"""The host's registers of the unit, by name, by BAR0 address, and by the address of the unit's inner window.

VP2 sits in PBSP (BAR0 0x103200, XLMI 0x08000), VP3 and VP4 in PPDEC (BAR0 0x085400, I[] 0x10000); an inner address is
the base plus 0x40 times the BAR0 offset. Source: [vuc] 12.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from isakit.machine.vuc.core_state import CoreState
from isakit.machine.vuc.special_registers import H2V_BIT, SpecialRegisters, UnknownRegisterError
from isakit.machine.vuc.vpring import RING_NAMES
from isakit.sem.value import mask

Getter = Callable[[], int]
Setter = Callable[[int], None]
VP2_BASE, VP3_BASE = 0x103200, 0x085400
VP2_WINDOW, VP3_WINDOW = 0x08000, 0x10000
VP2_INDEX = 0x103CFC
VP2_INTERRUPTS = {
    "VPRING_RESIDUAL_HALT": 0,
    "VPRING_CTRL_HALT": 1,
    "VPRING_DEBLOCK_HALT": 2,
    "WATCHDOG": 3,
    "MBRING_READ_DONE": 4,
    "V2H": 5,
}
VP3_INTERRUPTS = {"WATCHDOG": 0, "V2H": 2}
_DATA = re.compile(r"DATA\[(\w+)\]$")


class HostRegisters:
    """`host["H2V"] = 3`, `host["DATA[0x10]"]`, `host[0x103290]`: 32-bit reads and writes as the host makes them.

    `on_interrupt` is called with the name of an interrupt that is enabled when it is raised.
    """

    def __init__(self, core: CoreState, sr: SpecialRegisters, parse_ring: Callable[[], None]) -> None:
        self.core, self.sr, self._parse_ring = core, sr, parse_ring
        self.base, self.window = (VP2_BASE, VP2_WINDOW) if core.vp2 else (VP3_BASE, VP3_WINDOW)
        self.interrupts = VP2_INTERRUPTS if core.vp2 else VP3_INTERRUPTS
        self.index = self.intr = self.intr_en = 0
        self.code_address = 0
        self.high_half = False
        self.low_shadow = 0
        self.on_interrupt: Callable[[str], None] | None = None
        self._registers: dict[str, tuple[int, Getter, Setter | None]] = {}
        self._by_offset: dict[int, str] = {}
        self._common()
        if core.vp2:
            self._vp2()
        else:
            self._vp3()

    # --- access -------------------------------------------------------------------------------------------------------
    @property
    def names(self) -> list[str]:
        """Register names in address order; `DATA[i]` exists besides them."""
        return [self._by_offset[o] for o in sorted(self._by_offset)]

    def address(self, name: str) -> int:
        """Return the BAR0 address of a register."""
        return self.base + self._registers[name][0]

    def __getitem__(self, key: str | int) -> int:
        name = self._name(key)
        data = _DATA.match(name)
        if data:
            return self._read_data(int(data[1], 0))
        return self._registers[name][1]() & 0xFFFFFFFF

    def __setitem__(self, key: str | int, value: int) -> None:
        name = self._name(key)
        data = _DATA.match(name)
        value &= 0xFFFFFFFF
        if data:
            self._write_data(int(data[1], 0), value)
            return
        setter = self._registers[name][2]
        if setter is None:
            self.core.note("READ_ONLY_REGISTER", f"host write of {value:#x} to {name} ignored")
        else:
            setter(value)

    def _name(self, key: str | int) -> str:
        if isinstance(key, str):
            if key in self._registers or _DATA.match(key):
                return key
            raise UnknownRegisterError(
                f"{key}: no host register of {self.core.variant}; there are DATA[i], {', '.join(self.names)}"
            )
        if self.core.vp2 and key == VP2_INDEX:
            return "INDEX"
        cells = 0x800 if self.core.vp2 else 0x400
        inner = key - self.window
        if 0 <= inner < 4 * cells:
            return f"DATA[{inner // 4}]"
        offset = key - self.base if key >= self.base else inner // 0x40 if inner % 0x40 == 0 else -1
        if 0 <= offset < cells // 16 and offset % 4 == 0 and key >= self.base:
            return f"DATA[{offset // 4 * 64 + self.index}]"
        if offset in self._by_offset:
            return self._by_offset[offset]
        raise UnknownRegisterError(f"no host register at {key:#x}")

    def _read_data(self, i: int) -> int:
        cells = self.core.dmem
        if self.core.vp2:
            return cells[i % len(cells)]
        return cells[2 * i % len(cells)] | cells[(2 * i + 1) % len(cells)] << 16

    def _write_data(self, i: int, value: int) -> None:
        cells = self.core.dmem
        if self.core.vp2:
            cells[i % len(cells)] = value & 0xFFFF
        else:
            cells[2 * i % len(cells)] = value & 0xFFFF
            cells[(2 * i + 1) % len(cells)] = value >> 16

    def _add(self, name: str, offset: int, get: Getter, put: Setter | None = None) -> None:
        self._registers[name] = offset, get, put
        if offset >= 0:
            self._by_offset[offset] = name

    def _field(self, name: str, offset: int, owner: object, attribute: str, shift: int = 0) -> None:
        """Add a register that is an attribute of a unit, shifted left by `shift`."""
        self._add(
            name, offset, lambda: getattr(owner, attribute) >> shift, lambda v: setattr(owner, attribute, v << shift)
        )

    def _packed(self, name: str, offset: int, owner: object, *fields: tuple[str, int, int]) -> None:
        """Add a register that is several attributes of a unit: each with its lowest bit and its number of bits."""

        def put(value: int) -> None:
            for attribute, low, width in fields:
                setattr(owner, attribute, value >> low & mask(width))

        self._add(name, offset, lambda: sum(getattr(owner, attribute) << low for attribute, low, _ in fields), put)

    # --- interrupts ---------------------------------------------------------------------------------------------------
    def raise_interrupt(self, name: str) -> None:
        """Set the INTR bit of an interrupt, where the variant has one."""
        if name not in self.interrupts:
            return
        bit = 1 << self.interrupts[name]
        self.intr |= bit
        if self.intr_en & bit and self.on_interrupt is not None:
            self.on_interrupt(name)

    def _read_intr(self) -> int:
        value = self.intr
        if self.core.options.interrupt_acknowledge == "read":
            self.intr = 0
        return value

    def _write_intr(self, value: int) -> None:
        if self.core.options.interrupt_acknowledge == "write_ones":
            self.intr &= ~value
        elif self.core.options.interrupt_acknowledge == "write_value":
            self.intr = value

    # --- registers ----------------------------------------------------------------------------------------------------
    def _common(self) -> None:
        core = self.core
        at = dict(
            zip(
                ("ICNT", "WDCNT", "CODE_CONTROL", "CODE_WINDOW", "H2V", "V2H", "PARM", "PC", "INTR", "INTR_EN"),
                (0x80, 0x84, 0x88, 0x8C, 0x90, 0x94, 0x98, 0x9C, 0xD4, 0xD8)
                if core.vp2
                else (0x48, 0x4C, 0x40, 0x44, 0x50, 0x54, 0x58, 0x5C, 0x70, 0x74),
                strict=True,
            )
        )
        self._add("INDEX", -1, lambda: self.index, lambda v: setattr(self, "index", v & 0x3F))
        self._add("ICNT", at["ICNT"], lambda: core.icnt, core.set_icnt)
        self._add("WDCNT", at["WDCNT"], lambda: core.wdcnt, core.set_wdcnt)
        self._add("CODE_CONTROL", at["CODE_CONTROL"], lambda: self.code_address | core.halted << 16, self._control)
        self._add("CODE_WINDOW", at["CODE_WINDOW"], self._read_code, self._write_code)
        self._add("H2V", at["H2V"], lambda: core.plain[4], self._write_h2v)
        self._add("V2H", at["V2H"], lambda: core.plain[5])
        self._field("PARM", at["PARM"], core, "parm")
        self._add("PC", at["PC"], lambda: core.pc)
        self._add("INTR", at["INTR"], self._read_intr, self._write_intr)
        self._field("INTR_EN", at["INTR_EN"], self, "intr_en")

    def _write_h2v(self, value: int) -> None:
        self.core.plain[4] = value & 0xFFFF
        self.core.stat_bits |= 1 << H2V_BIT

    def _control(self, value: int) -> None:
        self.code_address = value & 0x7FF
        self.high_half = False
        halt = bool(value >> 16 & 1)
        if halt:
            self.core.halt()
        elif self.core.halted:
            self.core.start()

    def _read_code(self) -> int:
        word = self.core.code[self.code_address] or 0
        if not self.core.vp2:
            self._next_cell()
            return word
        if self.high_half:
            self.high_half = False
            self._next_cell()
            return word >> 32
        self.high_half = True
        return word & 0xFFFFFFFF

    def _write_code(self, value: int) -> None:
        if not self.core.vp2:
            self.core.set_code(self.code_address, value & 0x3FFFFFFF)
            self._next_cell()
        elif not self.high_half:
            self.low_shadow, self.high_half = value, True
        else:
            self.high_half = False
            self.core.set_code(self.code_address, self.low_shadow | (value & 0xFF) << 32)
            self._next_cell()

    def _next_cell(self) -> None:
        self.code_address = self.code_address + 1 & 0x7FF

    def _vp2(self) -> None:
        core = self.core
        for k, ring in enumerate(core.vpring.rings):
            for j, (name, attribute) in enumerate(
                (("OFFSET", "offset"), ("HALT_POS", "halt"), ("WRITE_POS", "position"), ("SIZE", "size"))
            ):
                self._field(f"VPRING_{RING_NAMES[k]}_{name}", 0xA0 + 0x10 * k + 4 * j, ring, attribute)
        self._add("VPRING_TRIGGER", 0xD0, lambda: 0, self._vpring_trigger)
        self._field("VPRING_ENABLE", 0xDC, core.vpring, "enable")
        self._surfaces(0xE0, 0xF0, "OFFSET", 0)
        self._mbring(0x100, "OFFSET", 0)

    def _vpring_trigger(self, value: int) -> None:
        # bits 0-2 flush RESIDUAL, CTRL, DEBLOCK; bits 4-6 reset them
        if value >> 1 & 1:
            self.core.vpring.trigger(0b1100)
        if value >> 2 & 1:
            self.core.vpring.trigger(0b0011)
        for ring in range(3):
            if value >> 4 + ring & 1:
                self.core.vpring.reset_ring(ring)

    def _vp3(self) -> None:
        core = self.core
        self._field("RPITAB", 0x60, core, "rpitab")
        self._field("REFTAB", 0x64, core, "reftab")
        self._add("BUSY", 0x68, self._busy)
        self._surfaces(0x80, 0x90, "ADDR", 8)
        self._mbring(0xA0, "ADDR", 8)
        self._add("STAT", 0xBC, self.sr.stat)

    def _busy(self) -> int:
        core = self.core
        return (not core.idle) | core.mvs_out.gathering << 2 | core.mvs_in_busy << 3

    def _surfaces(self, source: int, output: int, where: str, shift: int) -> None:
        s, o = self.core.mvs_in, self.core.mvs_out
        self._field(f"MVSURF_IN_{where}", source, s, "offset", shift)
        self._packed("MVSURF_IN_PARM", source + 4, s, ("width", 0, 8), ("progressive", 8, 1))
        self._packed("MVSURF_IN_LEFT", source + 8, s, ("left_x", 0, 8), ("left_y", 8, 8))
        self._packed("MVSURF_IN_POS", source + 12, s, ("pair", 0, 12), ("second_pass", 12, 1))
        self._field(f"MVSURF_OUT_{where}", output, o, "offset", shift)
        self._packed("MVSURF_OUT_PARM", output + 4, o, ("width", 0, 8), ("mbaff", 8, 1), ("field", 9, 1))
        self._packed("MVSURF_OUT_LEFT", output + 8, o, ("left_x", 0, 8), ("left_y", 8, 8))
        self._packed("MVSURF_OUT_POS", output + 12, o, ("address", 0, 13), ("pass_odd", 13, 1))

    def _mbring(self, at: int, where: str, shift: int) -> None:
        ring = self.core.ring

        def available(v: int) -> None:
            ring.available = v
            self._parse_ring()

        self._field(f"MBRING_{where}", at, ring, "offset", shift)
        self._field("MBRING_SIZE", at + 4, ring, "size")
        self._field("MBRING_READ_POS", at + 8, ring, "position")
        self._add("MBRING_READ_AVAIL", at + 12, lambda: ring.available, available)
