"""Names for what the code of a kernel uses: parameters, constants, variables, textures. Source: [tesla] 10, 11, 12."""

from __future__ import annotations

from isakit.analysis.control_flow import ControlFlow, control_flow
from isakit.analysis.values import Access, KnownValue, Loaded, LoadedPlusOffset, Values
from isakit.description import Kernel, Module

_LAUNCH = {
    0x0: "threads per block (flags)", 0x2: "blockDim.x", 0x4: "blockDim.y", 0x6: "blockDim.z", 0x8: "gridDim.x",
    0xA: "gridDim.y", 0xC: "blockIdx.x", 0xE: "blockIdx.y",
}  # fmt: skip


class KernelNames:
    """Names the variables and parameters that a kernel's memory accesses reach.

    Attributes: `flow` and `values` of its code. Constant bank 1 holds the compiler's constants and never changes.
    """

    def __init__(self, kernel: Kernel, flow: ControlFlow | None = None) -> None:
        self.kernel, self.module = kernel, kernel.module
        self.flow = control_flow(kernel.program) if flow is None else flow
        self._own = {bank: kernel.constant_bytes(bank) for bank in kernel.constants}
        self.values = Values(self.flow, self._content)

    def _content(self, space: str, address: int, size: int) -> int | None:
        bank = self._own.get(int(space[1:])) if space[:1] == "c" and space[1:].isdigit() else None
        piece = bank[address : address + size] if bank is not None else b""
        return int.from_bytes(piece, "little") if len(piece) == size else None

    def of(self, address: int) -> list[str]:
        """Return the names of the memory that an instruction accesses, each once; memory without a name is left out."""
        found = (self.access(a) for a in self.values.accesses(address))
        return [name for name in dict.fromkeys(found) if name]

    def access(self, a: Access) -> str:
        """Return the name of the accessed memory, "" if it has none."""
        if isinstance(a.at, int):
            return self.place(a.space, a.at)
        name = self.known(a.at)
        if name.startswith("&"):
            return name[1:]
        return f"*{name}" if name else ""

    def known(self, value: KnownValue) -> str:
        """Return the name of a value, "" if it has none."""
        if isinstance(value, Loaded):
            return self._pointed(value)
        if isinstance(value, LoadedPlusOffset):
            name = self._pointed(value.base)
            if not name:
                return ""
            offset = value.offset
            more = (
                "[...]" if offset is None else f" + {offset:#x}" if offset > 0 else f" - {-offset:#x}" if offset else ""
            )
            return f"{name}{more}" if not more.startswith(" ") else f"({name}{more})"
        return ""

    def _pointed(self, at: Loaded) -> str:
        return self.place(at.space, at.address)

    def place(self, space: str, address: int) -> str:
        """Return the name of an address in a memory, empty if it has none."""
        if space == "s":
            return self._shared(address)
        if space[:1] == "c" and self.module is not None:
            return self._constant(self.module, space, address)
        return ""

    def _shared(self, address: int) -> str:
        at = address - self.kernel.param_base
        if at < 0:
            return _LAUNCH.get(address, "")
        for k, p in enumerate(self.kernel.params):
            if p.offset <= at < p.offset + p.size:
                name = p.name or f"p{k}"
                return name if at == p.offset else f"{name} + {at - p.offset:#x}"
        return ""

    def _constant(self, module: Module, space: str, address: int) -> str:
        for r in module.relocations:
            if r.target == space and r.offset == address:
                return f"&{r.symbol}" + (f" + {r.addend:#x}" if r.addend else "")
        for name, (bank, offset, size) in module.constant_symbols().items():
            if space == f"c{bank}" and offset <= address < offset + max(size, 1):
                return name if address == offset else f"{name} + {address - offset:#x}"
        return ""
