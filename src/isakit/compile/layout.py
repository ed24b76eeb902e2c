"""Storage of variables: shared memory past the parameters, constant bank 0, local memory, and a table of globals."""

from __future__ import annotations

from isakit.compile.ptx.syntax import PtxFunction, PtxModule, PtxSyntaxError, PtxVariable, source_name
from isakit.description import PARAM_BASE

CONSTANT_BYTES = 0x10000
LOCAL_BYTES = 0x10000
SHARED_BYTES = 0x4000
PARAM_BYTES = 256
"""Bytes of a block and of a kernel's parameters. Source: the CUDA guide, compute capability 1.x."""
OPEN_ALIGN = 16
"""NVIDIA's compiler puts arrays whose size the launch decides at multiples of 16. Source: [corpus]."""


class ConstantBank:
    """Bank 0: the `.const` variables of a module."""

    def __init__(self, module: PtxModule) -> None:
        self.offsets: dict[str, int] = {}
        self.size = 0
        for v in module.variables.values():
            if v.space == "const":
                at = -(-self.size // v.align) * v.align
                self.offsets[v.unique] = at
                self.size = at + v.size
                if self.size > CONSTANT_BYTES:
                    name = source_name(v.name)
                    why = f"constant memory has {CONSTANT_BYTES:,} bytes; with `{name}` it is {self.size:,}"
                    raise PtxSyntaxError(v.pos, why, len(v.name), ("read it from global memory or through a texture",))


class VariableLayout:
    """The variables of one kernel.

    Attributes: `params` (name to offset in the parameter area), `param_bytes`, `shared` (bytes, launch header and
    parameters included), `local` (bytes per thread), `globals` (variables whose addresses are needed, in order).
    """

    def __init__(self, module: PtxModule, entry: PtxFunction, bank: ConstantBank) -> None:
        self.module, self.bank = module, bank
        self.params: dict[str, int] = {}
        at = 0
        for p in entry.params:
            at = -(-at // p.align) * p.align
            self.params[p.name] = at
            at += p.size
        self.param_bytes = at
        if at > PARAM_BYTES:
            why = f"the parameters of `{source_name(entry.name)}` have {at:,} bytes; a kernel's may have {PARAM_BYTES}"
            raise PtxSyntaxError(entry.pos, why, len(entry.name), ("pass a pointer, or use __constant__ memory",))
        self.shared = PARAM_BASE + at
        self.local = 0
        self.globals: list[str] = []
        self._placed: dict[str, int] = {}

    def place(self, used: list[PtxVariable]) -> None:
        """Assign addresses to the variables a kernel uses: declared sizes first, arrays of open size after them."""
        for v in sorted(used, key=lambda v: v.open):
            if v.unique in self._placed:
                continue
            if v.space == "shared":
                align = max(v.align, OPEN_ALIGN) if v.open else v.align
                at = -(-self.shared // align) * align
                self._placed[v.unique] = at
                self.shared = at + v.size
                if self.shared > SHARED_BYTES:
                    why = (
                        f"a block has {SHARED_BYTES:,} bytes of shared memory, parameters included; with "
                        f"`{source_name(v.name)}` it is {self.shared:,}"
                    )
                    raise PtxSyntaxError(v.pos, why, len(v.name))
            elif v.space == "local":
                at = -(-self.local // v.align) * v.align
                self._placed[v.unique] = at
                self.local = at + v.size
                if self.local > LOCAL_BYTES:
                    raise PtxSyntaxError(v.pos, f"`{v.name}` does not fit into local memory", len(v.name))

    def address(self, v: PtxVariable) -> int | str:
        """Return the address of a variable in bytes, or the name of one in global memory, placed on loading."""
        if v.space == "const":
            return self.bank.offsets[v.unique]
        if v.space == "global":
            if v.unique not in self.globals:
                self.globals.append(v.unique)
            return v.unique
        return self._placed[v.unique]
