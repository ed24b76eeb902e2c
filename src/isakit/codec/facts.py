"""Effects of an instruction on registers and on the flow of control, cached by its bits.

Analyses need these for every instruction of a program, repeatedly. A part of a form depends on a few bits of the word
only, so its effects are computed once for each value of these bits, and those of a word are combined from its parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from isakit.spec.operands import CodeAddress, Condition, Memory, Operand, Register, SpecialRegister, accesses
from isakit.spec.parts import Part, describing_bits, guards_lanes, operand_of
from isakit.spec.record import Form

if TYPE_CHECKING:
    from isakit.spec.isa import InstructionSet

RegisterId = tuple[str, int]
"""A register: file and index."""

_LIMIT = 1 << 16
"""Words that are remembered of a form, and values of the bits of a part."""


class InstructionFacts:
    """The effects of a word, which do not depend on its address.

    Attributes:
        uses: registers read.
        defs: registers written.
        kills: those of `defs` that lose their old value.
        guarded: a condition decides which lanes execute.
        jumps: some operand is a code address.
        ends: an operand ends the program.
        links: an operand makes it a call.
        stores: a result goes to memory or to a special register.
        repeated: executed several times, with operands that advance by increments that earlier instructions have set.
            Any register of their files may be accessed, as with an index register.
    """

    __slots__ = ("defs", "ends", "guarded", "jumps", "kills", "links", "repeated", "stores", "uses")

    def __init__(
        self, uses: tuple[RegisterId, ...] = (), defs: tuple[RegisterId, ...] = (), kills: tuple[RegisterId, ...] = (),
        guarded: bool = False, jumps: bool = False, ends: bool = False, links: bool = False,
        stores: bool = False, repeated: bool = False,
    ) -> None:  # fmt: skip
        self.uses, self.defs, self.kills = uses, defs, kills
        self.guarded, self.jumps, self.ends, self.links, self.stores = guarded, jumps, ends, links, stores
        self.repeated = repeated


NOTHING = InstructionFacts()
"""Of words that are not an instruction."""


def places(registers: Iterable[Register], isa: InstructionSet) -> tuple[RegisterId, ...]:
    """Return registers as (file, index), wide ones expanded to single ones, without constant registers."""
    files = isa.registers
    out: dict[RegisterId, None] = {}
    for r in registers:
        file = files.get(r.file)
        if file is None:
            continue
        if r.index_register is not None:
            indices = range(file.count)
        elif r.words is not None:
            indices = (r.index + k for k in r.words)
        else:
            indices = range(r.index, r.index + max(1, r.width // file.width))
        out |= {(r.file, n): None for n in indices if n < file.count and n not in file.constant}
    return tuple(out)


def guards(form: Form, name: str, operand: Operand, word: int) -> bool:
    """Return true if an operand of a word decides which lanes execute."""
    return guards_lanes(form.parts[name], word) or (isinstance(operand, Condition) and name in form.control)


class FormFacts:
    """The effects of the words of one form."""

    def __init__(self, isa: InstructionSet, form: Form) -> None:
        shown = {item[1:-1] for item in form.syntax if item[0] == "{"} - {"name"}
        facts = (_OfPart(isa, form, name, p, name in shown) for name, p in form.parts.items())
        self._parts = [(describing_bits(f.part), f) for f in facts]
        self._known: dict[int, InstructionFacts] = {}
        self._isa = isa

    def of(self, word: int) -> InstructionFacts:
        """Return the facts of a word that this form describes."""
        found = self._known.get(word)
        if found is None:
            if len(self._known) >= _LIMIT:
                self._known.clear()
            found = self._known[word] = self._put_together(word)
        return found

    def _put_together(self, word: int) -> InstructionFacts:
        told = [f for bits, part in self._parts if (f := part[word & bits]) is not NOTHING]
        if len(told) == 1 and not told[0].guarded and not told[0].repeated:
            return told[0]
        guarded, repeated = any(f.guarded for f in told), any(f.repeated for f in told)
        uses, defs = _joined([f.uses for f in told]), _joined([f.defs for f in told])
        return InstructionFacts(
            self._files(uses) if repeated else uses,
            self._files(defs) if repeated else defs,
            () if guarded or repeated else _joined([f.kills for f in told]),
            guarded,
            any(f.jumps for f in told),
            any(f.ends for f in told),
            any(f.links for f in told),
            any(f.stores for f in told),
            repeated,
        )

    def _files(self, found: tuple[RegisterId, ...]) -> tuple[RegisterId, ...]:
        """Return all registers of the files."""
        files = self._isa.registers
        return tuple(
            (name, n)
            for name in dict.fromkeys(file for file, _ in found)
            for n in range(files[name].count)
            if n not in files[name].constant
        )


def _joined(found: list[tuple[RegisterId, ...]]) -> tuple[RegisterId, ...]:
    some = [f for f in found if f]
    if len(some) < 2:
        return some[0] if some else ()
    return tuple(dict.fromkeys(p for f in some for p in f))


class _OfPart(dict[int, InstructionFacts]):
    """The effects of one part by the value of its bits."""

    def __init__(self, isa: InstructionSet, form: Form, name: str, part: Part, shown: bool) -> None:
        super().__init__()
        self.isa, self.form, self.name, self.part, self.shown = isa, form, name, part, shown

    def __missing__(self, word: int) -> InstructionFacts:
        isa, record = self.isa, self.form.record
        reads, writes = accesses(operand_of(self.part, word), self.name in isa.outputs, isa.outputs)
        whole = [r for r in writes if not r.partial and r.index_register is None]
        operand = operand_of(self.part, word) if self.shown else None
        guarded = operand is not None and guards(self.form, self.name, operand, word)
        found = InstructionFacts(
            places(reads, isa), places(writes, isa), places(whole, isa), guarded,
            isinstance(operand, CodeAddress),
            operand is not None and operand in isa.ends_with,
            record is not None and bool(record.links) and operand == record.links,
            isinstance(operand, Memory | SpecialRegister) and self.name in isa.outputs,
            self.name == isa.repeats_with and int(getattr(operand, "value", None) or 1) > 1,
        )  # fmt: skip
        if not any(getattr(found, name) for name in InstructionFacts.__slots__):
            found = NOTHING
        if len(self) >= _LIMIT:
            self.clear()
        self[word] = found
        return found
