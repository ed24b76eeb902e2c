"""The nine chips a card can have. Source: [nv50] "Objects"; PCI numbers from pci.ids."""

from __future__ import annotations

from dataclasses import dataclass

from isakit.arch.tesla.tesla import tesla
from isakit.errors import UnknownIsaError


@dataclass(frozen=True)
class CardChip:
    """A chip: its number in the kernel's interface, its variant name, a PCI device number, its class of 3D objects."""

    number: int
    name: str
    pci_device: int
    class_3d: int

    @property
    def variant(self) -> str:
        """The instruction set variant."""
        return tesla.variant(self.name).name

    @property
    def at_least_gt200(self) -> bool:
        """True from GT200 on."""
        return self.class_3d >= 0x8397

    @property
    def at_least_gt215(self) -> bool:
        """True from GT215 on."""
        return self.class_3d >= 0x8597


CHIPS = {
    c.number: c
    for c in (
        CardChip(0x50, "g80", 0x0191, 0x5097),
        CardChip(0x84, "g84", 0x0400, 0x8297),
        CardChip(0x86, "g86", 0x0422, 0x8297),
        CardChip(0x92, "g92", 0x0600, 0x8297),
        CardChip(0x98, "g98", 0x06E4, 0x8297),
        CardChip(0xA0, "gt200", 0x05E1, 0x8397),
        CardChip(0xA3, "gt215", 0x0CA3, 0x8597),
        CardChip(0xA5, "gt216", 0x0A20, 0x8597),
        CardChip(0xA8, "gt218", 0x0A65, 0x8597),
    )
}


def chip_named(name: str) -> CardChip:
    """Return a chip by number (a0) or name (gt200). Raises UnknownIsaError."""
    for c in CHIPS.values():
        if name.lower().removeprefix("nv").removeprefix("0x") in (f"{c.number:x}", c.name):
            return c
    raise UnknownIsaError(
        f"no chip {name!r}; there are: {', '.join(f'{c.number:x} ({c.name})' for c in CHIPS.values())}"
    )
