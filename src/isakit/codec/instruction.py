"""A decoded instruction: its position, its record, and everything derived from it on demand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from isakit.codec.compiled import CompiledForm
from isakit.codec.facts import NOTHING, InstructionFacts, RegisterId, guards, places
from isakit.spec.operands import CodeAddress, Operand, Register, accesses
from isakit.spec.parts import operand_of, text_of
from isakit.spec.record import Form, InstructionKind, Record

if TYPE_CHECKING:
    from isakit.codec.decoder import Decoder
    from isakit.codec.explain import Explanation

__all__ = ["Instruction", "RegisterId", "registers_written"]


def registers_written(instructions: Iterable[Instruction], file: str) -> int:
    """Return one more than the highest register of a file that the instructions write, at least 1."""
    return 1 + max((n for i in instructions for f, n in i.defs if f == file), default=0)


class Instruction:
    """One instruction of a program, or data where no instruction can be decoded.

    `word` is the whole instruction as one int (unit 0 in the low bits), `address` is in bytes, `units` counts units.
    """

    __slots__ = (
        "_accessed", "_facts", "_operands", "_text", "address", "compiled", "decoder", "error", "units", "word",
    )  # fmt: skip

    def __init__(
        self, decoder: Decoder, compiled: CompiledForm | None, word: int, address: int, units: int, error: str | None
    ) -> None:
        self.decoder, self.compiled, self.word = decoder, compiled, word
        self.address, self.units, self.error = address, units, error
        self._text: str | None = None
        self._operands: tuple[Operand, ...] | None = None
        self._accessed: tuple[list[Register], list[Register]] | None = None
        self._facts: InstructionFacts | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.decoder, self.word, self.address, self.units, self.error)

    @property
    def valid(self) -> bool:
        """True if the words are an instruction of this variant and program type."""
        return self.error is None

    @property
    def form(self) -> Form | None:
        """The encoding, also for a recognised instruction with an illegal operand; None when nothing matches."""
        return self.compiled.form if self.compiled else None

    @property
    def record(self) -> Record | None:
        """The instruction's record."""
        return self.compiled.form.record if self.compiled else None

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.units * self.decoder.view.variant.unit_bytes

    @property
    def words(self) -> tuple[int, ...]:
        """The units as ints, in memory order."""
        n = self.decoder.view.variant.unit_bits
        return tuple(self.word >> n * i & (1 << n) - 1 for i in range(self.units))

    @property
    def bytes(self) -> bytes:
        """The raw little-endian bytes."""
        n = self.decoder.view.variant.unit_bytes
        return b"".join(w.to_bytes(n, "little") for w in self.words)

    @property
    def unknown_bits(self) -> int:
        """Mask of set bits that no field explains and that are not known to be ignored."""
        if self.compiled is None:
            return 0
        return self.compiled.unexplained(self.word) & self.word & ~self.compiled.form.ignored

    @property
    def text(self) -> str:
        """Canonical text; assembles to exactly `words`."""
        t = self._text
        if t is None:
            t = self._text = self._make_text()
        return t

    def text_with(self, texts: Mapping[str, str]) -> str:
        """Return the text with other texts for some parts, such as a label for a code address."""
        return self._make_text(texts)

    def _make_text(self, texts: Mapping[str, str] | None = None) -> str:
        c = self.compiled
        if c is None or self.error is not None:
            return ".word " + " ".join(f"{w:#010x}" for w in self.words)
        t = self._text_of(c) if texts is None else c.form.text(self.word, self.unit_address, texts)
        odd = c.unexplained(self.word)
        if self.units > 1 and self.decoder.shortens(self, t):
            t = "long " + t
        return f"{t} {{{odd:#x}}}" if odd else t

    @property
    def plain_text(self) -> str:
        """The text without the markers for forced long forms and unexplained bits.

        For words that cannot be decoded, the best reading with `???` in place of what is illegal.
        """
        return self._text_of(self.compiled) if self.compiled else "???"

    @property
    def unit_address(self) -> int:
        """Address in units of code."""
        return self.address // self.decoder.view.variant.unit_bytes

    def _text_of(self, c: CompiledForm) -> str:
        return c.form.text(self.word, self.unit_address) if c.addressed else c.text(self.word)

    @property
    def mnemonic(self) -> str:
        """The operation's name."""
        form = self.form
        if form is None or self.error is not None:
            return ".word"
        if "name" in form.parts:
            return text_of(form.parts["name"], self.word).split()[0]
        names = form.mnemonics
        return names[0] if names else ""

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands, without mnemonic, in the order of the syntax; each is a `str`, its text."""
        if self._operands is None:
            self._operands = self._make_operands()
        return self._operands

    def _make_operands(self) -> tuple[Operand, ...]:
        form = self.form
        if form is None or self.error is not None:
            return ()
        at, out = self.unit_address, list[Operand]()
        for item in form.syntax:
            if item[0] == "{" and item != "{name}":
                operand = operand_of(form.parts[item[1:-1]], self.word, at)
                if operand is not None:
                    operand.name = item[1:-1]
                    out.append(operand)
        return tuple(out)

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments of `build`, besides the mnemonic, that give exactly this instruction: the operands by name.

        `long` and `raw` are included only if the operands are not sufficient.
        """
        out: dict[str, object] = {o.name: o for o in self.operands}
        c = self.compiled
        if c is not None and self.error is None:
            odd = c.unexplained(self.word)
            if self.units > 1 and self.decoder.builder.form(self.mnemonic, out, self.address) is not c.form:
                out |= {"long": True}
            out |= {"raw": odd} if odd else {}
        return out

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the registers read."""
        return tuple(dict.fromkeys(map(str, self.accesses[0])))

    @property
    def writes(self) -> tuple[str, ...]:
        """Names of the registers written."""
        return tuple(dict.fromkeys(map(str, self.accesses[1])))

    @property
    def registers(self) -> tuple[Register, ...]:
        """The register operands, and the registers that form addresses, without modifiers of the text."""
        reads, writes = self.accesses
        return tuple(dict.fromkeys((*reads, *writes)))

    @property
    def accesses(self) -> tuple[list[Register], list[Register]]:
        """The register operands read and those written, in the order of the form, registers of addresses included."""
        if self._accessed is None:
            self._accessed = self._find_accesses()
        return self._accessed

    def _find_accesses(self) -> tuple[list[Register], list[Register]]:
        form = self.form
        if form is None or self.error is not None:
            return [], []
        outputs = self.decoder.isa.outputs
        both = [accesses(operand_of(p, self.word), n in outputs, outputs) for n, p in form.parts.items()]
        return [r for reads, _ in both for r in reads], [w for _, writes in both for w in writes]

    @property
    def facts(self) -> InstructionFacts:
        """The effects of the instruction on registers and on the flow of control."""
        found = self._facts
        if found is None:
            c = self.compiled
            found = NOTHING if c is None or self.error is not None else c.facts(self.decoder).of(self.word)
            self._facts = found
        return found

    @property
    def uses(self) -> tuple[RegisterId, ...]:
        """The registers read, as (file, index), wide ones spelled out.

        An operand with an index register may read any register of its file. Registers that are constants are left out.
        """
        return self.facts.uses

    @property
    def defs(self) -> tuple[RegisterId, ...]:
        """The registers written, as (file, index), wide ones spelled out; `kills` are those that lose their old value.

        An operand with an index register may write any register of its file.
        """
        return self.facts.defs

    @property
    def kills(self) -> tuple[RegisterId, ...]:
        """The registers of `defs` that are written as a whole and under no condition."""
        return self.facts.kills

    def places(self, registers: Iterable[Register]) -> tuple[RegisterId, ...]:
        """Return registers of the instruction as (file, index), without those that are constants."""
        return places(registers, self.decoder.isa)

    @property
    def guarded(self) -> bool:
        """True if a condition decides which lanes execute; a guarded write does not end the life of the old value."""
        return self.facts.guarded

    @property
    def guard(self) -> Operand | None:
        """The operand that decides which lanes execute, None if all do."""
        form = self.form
        if form is None:
            return None
        return next((o for o in self.operands if guards(form, o.name, o, self.word)), None)

    @property
    def group(self) -> InstructionKind | None:
        """The purpose of the instruction, None for data."""
        record = self.record
        if record is None or self.error is not None:
            return None
        return InstructionKind.CALL if self.facts.links else record.group

    @property
    def code_address(self) -> CodeAddress | None:
        """The operand with the target of a branch."""
        form = self.form
        name = form.code_address if form is not None and self.error is None else None
        if form is None or name is None:
            return None
        found = operand_of(form.parts[name], self.word, self.unit_address)
        if not isinstance(found, CodeAddress):
            return None
        found.name = name
        return found

    @property
    def takes_label(self) -> bool:
        """True if a label may replace the code address: the instruction's size does not depend on its value."""
        return self.form is not None and self.decoder.encoder.one_size(self.form)

    @property
    def target(self) -> int | None:
        """Byte address of the instruction that is branched to, comparable with `address`; None without a fixed one."""
        found = self.code_address
        if found is None:
            return None
        return found.address * (self.decoder.view.variant.unit_bytes if self.decoder.isa.word_addressed else 1)

    @property
    def targets(self) -> tuple[int, ...]:
        """Byte addresses of all branch targets: two if one branch is beside another."""
        if not self.facts.jumps:
            return ()
        scale = self.decoder.view.variant.unit_bytes if self.decoder.isa.word_addressed else 1
        return tuple(o.address * scale for o in self.operands if isinstance(o, CodeAddress))

    @property
    def falls_through(self) -> bool:
        """True if execution may continue with the next instruction."""
        record = self.record
        if record is None or self.error is not None:
            return False
        facts = self.facts
        return not facts.ends and (not record.ends or facts.links or facts.guarded)

    def explain(self) -> Explanation:
        """Explain every bit."""
        from isakit.codec.explain import explain

        return explain(self)

    def __repr__(self) -> str:
        return f"<{self.address:#x}: {self.text}>"


def _again(decoder: Decoder, word: int, address: int, units: int, error: str | None) -> Instruction:
    """Restore a pickled instruction; a word that was data for another reason than its bits stays data."""
    instruction = decoder.one(word, units, address)
    if instruction.error != error:
        instruction.compiled, instruction.error = None, error
    return instruction
