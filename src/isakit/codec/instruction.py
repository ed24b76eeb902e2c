"""A decoded instruction: where it stands, what it is, and everything derived from its record on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isakit.codec.compiled import CompiledForm
from isakit.spec.record import Form, Record

if TYPE_CHECKING:
    from isakit.codec.decoder import Decoder
    from isakit.codec.explain import Explanation


class Instruction:
    """One instruction of a program, or data where no instruction can be decoded.

    `word` is the whole instruction as one int (unit 0 in the low bits), `address` is in bytes, `units` counts units.
    """

    __slots__ = ("_text", "address", "compiled", "decoder", "error", "units", "word")

    def __init__(
        self, decoder: Decoder, compiled: CompiledForm | None, word: int, address: int, units: int, error: str | None
    ) -> None:
        self.decoder, self.compiled, self.word = decoder, compiled, word
        self.address, self.units, self.error = address, units, error
        self._text: str | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.decoder, self.word, self.address, self.units, self.error)

    @property
    def valid(self) -> bool:
        """Whether the words are an instruction of this variant and program type."""
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

    def _make_text(self) -> str:
        c = self.compiled
        if c is None or self.error is not None:
            return ".word " + " ".join(f"{w:#010x}" for w in self.words)
        t = self._text_of(c)
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
            return form.parts["name"].text(self.word).split()[0]
        names = form.mnemonics
        return names[0] if names else ""

    @property
    def operands(self) -> tuple[str, ...]:
        """The texts of the parts, without mnemonic, in the order of the syntax."""
        form = self.form
        if form is None or self.error is not None:
            return ()
        at = self.unit_address
        texts = [form.parts[i[1:-1]].text_at(self.word, at) for i in form.syntax if i[0] == "{" and i != "{name}"]
        return tuple(t for t in texts if t)

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the registers read."""
        return self._registers(output=False)

    @property
    def writes(self) -> tuple[str, ...]:
        """Names of the registers written."""
        return self._registers(output=True)

    def _registers(self, output: bool) -> tuple[str, ...]:
        form = self.form
        if form is None or self.error is not None:
            return ()
        outputs = self.decoder.isa.outputs
        names = [r for n, p in form.parts.items() for r in p.accesses(self.word, n in outputs)[int(output)]]
        return tuple(dict.fromkeys(names))

    def explain(self) -> Explanation:
        """What every bit means."""
        from isakit.codec.explain import explain

        return explain(self)

    def __repr__(self) -> str:
        return f"<{self.address:#x}: {self.text}>"


def _again(decoder: Decoder, word: int, address: int, units: int, error: str | None) -> Instruction:
    """An instruction that was pickled; a word that was data for another reason than its bits stays data."""
    instruction = decoder.one(word, units, address)
    if instruction.error != error:
        instruction.compiled, instruction.error = None, error
    return instruction
