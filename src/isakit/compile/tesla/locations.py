"""Locations of variables in the code of a kernel: see `compile.lower.locations`."""

from __future__ import annotations

from isakit.compile.ir import Const, IrValue, Mark
from isakit.compile.lower.form import MemoryReference, MFunction, MIns, PooledLiteral, VReg, Zero
from isakit.compile.lower.locations import Cell, Knowledge, KnownWords, Location, Unit, VariableLocations
from isakit.compile.ops import PARAM
from isakit.compile.tesla import instructions as hw
from isakit.compile.tesla.registers import GENERAL


class TeslaLocations(VariableLocations):
    """The locations of a kernel's variables: general registers, memory cells, constants."""

    def cell(self, unit: Unit) -> Cell | None:
        v, n = unit
        return v.color + n if v.cls is GENERAL and v.color is not None else None

    def marked(self, k: Knowledge, mark: Mark) -> KnownWords:
        return KnownWords(tuple(p for v in _words(mark) for p in self._places(k, v)))

    def _places(self, k: Knowledge, v: IrValue) -> list[frozenset[Location]]:
        """Return the locations of the words of a value."""
        if isinstance(v, Const):
            return [frozenset((v.value,))]
        memory: frozenset[Location] = frozenset()
        if v.ins is not None and v.ins.op is PARAM:
            memory = frozenset((_cell(MemoryReference("s", None, PARAM.of(v.ins).offset, PARAM.of(v.ins).mode)),))
        home = self.m.homes.get(v)
        if home is None or home.cls is not GENERAL or home.color is None:
            return [memory]
        units = [(home, n) for n in range(home.size)]
        return [memory | ({u} if self.held(k, u) else frozenset()) for u in units]

    def copies(self, i: MIns) -> dict[Unit, Location]:
        sources: list[Location] = []
        if i.moves:
            source = i.copied()[1]
            sources = [(source.v, source.unit + n) for n in range(source.count)]
        elif i.op is hw.MOV_IMMEDIATE and type(i.ops.get("src1")) is PooledLiteral:
            sources = [i.ops["src1"].value]
        elif i.op is hw.MOV and type(i.ops.get("src1")) is Zero:
            sources = [0]
        elif i.op is hw.MOV and type(i.ops.get("src1")) is MemoryReference and i.ops["src1"].base is None:
            sources = [_cell(i.ops["src1"])]
        out: dict[Unit, Location] = {}
        for r in i.defs():
            if not r.half and r.count == len(sources):
                out |= {(r.v, r.unit + n): sources[n] for n in range(r.count)}
        return out

    def shown(self, type: str, known: KnownWords) -> str:
        texts = [min((_text(p) for p in places), key=lambda t: (not t.startswith("$"), t)) for places in known.words]
        if type.startswith(("ptr", "array")):
            return texts[0]
        if type.startswith("shared:"):
            return f"s[{texts[0]}]:{type.removeprefix('shared:')}"
        text = texts[0] if len(texts) == 1 else f"{texts[0]} | {texts[1]} << 32"
        return text if type == "u32" else f"{type}({text})"


def registers(m: MFunction, mark: Mark) -> list[VReg]:
    """Return the registers that the values of a mark are in."""
    homes = [m.homes.get(v) for v in _words(mark) if v.ins is None or v.ins.op is not PARAM]
    return [home for home in homes if home is not None and home.cls is GENERAL]


def _words(mark: Mark) -> list[IrValue]:
    """Return the values of a mark that determine its location: an address has 32 bits."""
    return mark.values[:1] if mark.type.startswith(("ptr", "array", "shared")) else mark.values


def _cell(p: MemoryReference) -> str:
    """Return a cell of memory without an address register as an expression of the debugger."""
    return f"{p.space}[{p.offset:#x}]" + ("" if p.mode in ("", "b32") else f":{p.mode}")


def _text(p: Location) -> str:
    if isinstance(p, tuple):
        assert p[0].color is not None
        return f"$r{p[0].color + p[1]}"
    return hex(p) if isinstance(p, int) else p


__all__ = ["TeslaLocations", "registers"]
