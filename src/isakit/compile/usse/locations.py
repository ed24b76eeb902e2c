"""Locations of variables in the code of a shader: see `compile.lower.locations`.

A word is a register of 32 bits; `how` distinguishes two f16 that share one. Registers sa are the same for the whole
program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isakit.compile.ir import Const, IrValue, Mark
from isakit.compile.lower.form import MBlock, MFunction, MIns, OperandReg, VReg
from isakit.compile.lower.locations import Cell, Knowledge, KnownWords, Location, Unit, VariableLocations
from isakit.compile.usse import instructions as hw
from isakit.compile.usse.program import ProgramPlan
from isakit.compile.usse.registers import Registers
from isakit.compile.vector_ops import (
    CHANNELS,
    CONSTANTS,
    DIGITS,
    INPUT,
    JOIN,
    SWIZZLE,
    UNIFORM,
    VNEG,
    UniformName,
    count,
    element,
)

_LOW, _HIGH, _NEGATED = "low", "high", "-"


class Home(NamedTuple):
    """The location of a value: a register and its first element there."""

    v: VReg
    first: int


class UsseLocations(VariableLocations):
    """The locations of a shader's variables.

    Args:
        m: the program after allocation.
        homes: locations of computed values.
        inputs: the registers of inputs by name.
        plan: locations of uniforms; `once` is the first register of those that are computed once.
    """

    def __init__(
        self, m: MFunction, addresses: Mapping[MIns, int], endings: Mapping[MBlock, Sequence[MIns]],
        homes: Mapping[IrValue, Home], inputs: Mapping[str, VReg], plan: ProgramPlan, registers: Registers, once: int,
    ) -> None:  # fmt: skip
        super().__init__(m, addresses, endings)
        self.homes, self.inputs, self.plan, self.registers, self.once = homes, inputs, plan, registers, once

    def entering(self) -> Knowledge:
        k = Knowledge()
        for v in self.inputs.values():
            for n in range(v.size):
                cell = self.cell((v, n))
                k.held[cell] = k.held.get(cell, frozenset()) | {(v, n)}
        return k

    def cell(self, unit: Unit) -> Cell | None:
        v, n = unit
        return None if v.color is None else (v.cls.file, v.color + n)

    def marked(self, k: Knowledge, mark: Mark) -> KnownWords:
        if not mark.values:
            return KnownWords(())
        return self._element(k, mark.values[0], mark.channel)

    def _element(self, k: Knowledge, v: IrValue, channel: int) -> KnownWords:
        """Return the location of an element of a value."""
        i = v.ins
        if isinstance(v, Const):
            return KnownWords((frozenset((v.value,)),), "bits" if element(v.kind) == "f16" else "")
        home = self.homes.get(v)
        if home is not None:
            return self._register(k, home.v, home.first + channel, v.kind)
        if i is None:
            return KnownWords(())
        if i.op is SWIZZLE:
            letter = SWIZZLE.of(i).pattern[channel]
            if letter in CONSTANTS:
                of = element(v.kind)
                return KnownWords((frozenset((DIGITS[of][letter],)),), "bits" if of == "f16" else "")
            return self._element(k, i.args[0], CHANNELS.index(letter))
        if i.op is VNEG:
            words, how = self._element(k, i.args[0], channel)
            return KnownWords(words, how.removeprefix(_NEGATED) if how.startswith(_NEGATED) else _NEGATED + how)
        if i.op is JOIN:
            for a in i.args:
                if channel < count(a.kind):
                    return self._element(k, a, channel)
                channel -= count(a.kind)
        if i.op is INPUT and INPUT.of(i).name in self.inputs:
            return self._register(k, self.inputs[INPUT.of(i).name], channel, v.kind)
        if i.op is UNIFORM:
            return self._uniform(UNIFORM.of(i), channel, element(v.kind) == "f16")
        return KnownWords(())

    def _uniform(self, of: UniformName, channel: int, half: bool) -> KnownWords:
        name = of.name
        if name in self.plan.once:
            first = self.once + self.plan.once[name]
        elif name in self.plan.uniforms and name not in self.plan.memory:
            start, stride = self.plan.uniforms[name]
            first = start + of.element * stride
        else:
            return KnownWords(())
        word, how = (channel // 2, (_LOW, _HIGH)[channel % 2]) if half else (channel, "")
        return KnownWords((frozenset((f"sa{first + word}",)),), how)

    def _register(self, k: Knowledge, v: VReg, at: int, kind: str) -> KnownWords:
        half = element(kind) == "f16" and v.cls.file != "i"
        unit = v, at // 2 if half else at
        how = (_LOW, _HIGH)[at % 2] if half else "wide" if element(kind) == "f16" else ""
        return KnownWords((frozenset((unit,)) if self.held(k, unit) else frozenset(),), how)

    def copies(self, i: MIns) -> dict[Unit, Location]:
        if i.op not in (hw.MOV["f32"], hw.PACK_F32["f32"]):
            return {}
        to, source = i.ops["dst"], i.ops["src1"]
        if type(source) is not OperandReg or source.view.ty != "f32" or source.view.neg or source.view.abs:
            return {}
        return {(to.v, a): (source.v, b) for a, b in zip(to.view.channels, source.view.channels, strict=False)
                if isinstance(a, int) and isinstance(b, int)}  # fmt: skip

    def shown(self, type: str, known: KnownWords) -> str:
        how = known.how.removeprefix(_NEGATED)
        (places,) = known.words
        text = min(self._text(p) for p in places)
        if how == _HIGH:
            text = f"{text} >> 16"
        text = f"f32({text})" if how == "wide" else f"{type}({text})"
        return f"-{text}" if known.how.startswith(_NEGATED) else text

    def _text(self, p: Location) -> str:
        if isinstance(p, tuple):
            v, n = p
            assert v.color is not None
            return f"i{v.color + n}" if v.cls.file == "i" else self.registers.name(v.cls, v.color + n)
        return hex(p) if isinstance(p, int) else p


__all__ = ["Home", "UsseLocations"]
