"""Words to instructions: finds the form of a word and keeps undecodable words as data with the error's own name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from isakit.codec.compiled import CompiledForm
from isakit.codec.instruction import Instruction
from isakit.lean import cached_property
from isakit.spec.isa import InstructionSet, View
from isakit.spec.parts import ILLEGAL
from isakit.spec.record import Form

if TYPE_CHECKING:
    from isakit.codec.build import Builder
    from isakit.codec.encoder import Encoder

_MEMO_LIMIT = 1 << 16
SHORTEST_RUN = 32
"""Equal units of code from which on they are printed as a run."""


class Decoder:
    """Decodes units of one instruction set in one variant and program type."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.isa = view.isa
        self._compiled: dict[Form, CompiledForm] = {}
        # size -> the bits of words that forms are found by, and what was found for them
        self._memo: dict[int, tuple[int, dict[int, CompiledForm | str]]] = {}
        self._encoder: Encoder | None = None
        self._builder: Builder | None = None
        self._shortens: dict[str, bool] = {}
        self._smaller: dict[Form, list[Form]] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return decoder, (self.isa, self.view.variant.name, self.view.program)

    @cached_property
    def _tables(self) -> dict[int, list[tuple[int, dict[int, list[Form]]]]]:
        """By size: (mask of fixed bits, their value to forms), most fixed bits first."""
        out: dict[int, list[tuple[int, dict[int, list[Form]]]]] = {}
        for units in {f.units for f in self.view.declared}:
            tables: dict[int, dict[int, list[Form]]] = {}
            for f in self.view.declared:
                if f.units == units:
                    tables.setdefault(f.fixed.mask, {}).setdefault(f.fixed.value, []).append(f)
            out[units] = sorted(tables.items(), key=lambda kv: -kv[0].bit_count())
        return out

    def _selector(self, units: int) -> int:
        """Return the bits that tell which form a word of `units` units is."""
        out = 0
        for f in self.view.declared:
            if f.units == units:
                out |= f.fixed.mask
                for u in f.unless:
                    out |= u.mask
        return out

    def compiled(self, form: Form) -> CompiledForm:
        """Return the fast paths of a form of this view."""
        c = self._compiled.get(form)
        if c is None:
            c = self._compiled[form] = CompiledForm(form)
        return c

    def find(self, word: int, units: int) -> CompiledForm | str:
        """Return the form of a word of `units` units, or the name of the decode error."""
        known = self._memo.get(units)
        if known is None:
            if units not in self._tables:
                return ILLEGAL
            known = self._memo[units] = self._selector(units), {}
        selector, memo = known
        key = word & selector
        found = memo.get(key)
        if found is None:
            if len(memo) >= _MEMO_LIMIT:
                memo.clear()
            found = memo[key] = self._search(word, units)
        return found

    def _search(self, word: int, units: int) -> CompiledForm | str:
        error = ILLEGAL
        for mask, forms in self._tables[units]:
            for f in forms.get(word & mask, ()):
                if f.matches(word):
                    if self.view.available(f):
                        return self.compiled(self.view.resolved(f))
                    error = f.lacking
        return error

    @property
    def encoder(self) -> Encoder:
        """The encoder of the same view."""
        if self._encoder is None:
            from isakit.codec.encoder import Encoder

            self._encoder = Encoder(self.view)
        return self._encoder

    @property
    def builder(self) -> Builder:
        """The builder of the same view."""
        if self._builder is None:
            from isakit.codec.build import Builder

            self._builder = Builder(self)
        return self._builder

    def build(self, mnemonic: str, /, *, at: int = 0, long: bool = False, raw: int = 0, **operands: Any) -> Instruction:
        """Build an instruction from values, see `Builder.build`."""
        return self.builder.build(mnemonic, operands, at=at, long=long, raw=raw)

    def shortens(self, i: Instruction, text: str) -> bool:
        """Return true if the assembler would choose a smaller form for this text, so that `long` must be written."""
        known = self._shortens.get(text)
        if known is None:
            known = self._shorter(i, text)
            if len(self._shortens) >= _MEMO_LIMIT:
                self._shortens.clear()
            self._shortens[text] = known
        return known

    def _shorter(self, i: Instruction, text: str) -> bool:
        form = i.form
        if form is None:
            return False
        from isakit.spec.tokens import tokenize

        forms = self._smaller.get(form)
        if forms is None:
            found = {f: None for m in form.mnemonics for f in self.encoder.named(m) if f.units < form.units}
            forms = self._smaller[form] = list(found)
        forms = [f for f in forms if f.pattern.fullmatch(text)]
        if not forms:
            return False
        tokens = tokenize(text)
        return any(True for _ in self.encoder.encodings(tokens, forms=forms))

    def decode(self, units: Sequence[int], address: int = 0) -> list[Instruction]:
        """Decode a sequence of units, in order. Never fails: units that cannot be decoded are kept as data.

        `address` is the byte address of the first unit. An instruction that would end past the sequence or that is not
        aligned to its size becomes one undecodable unit.
        """
        return list(self._iterate(units, address))

    def _iterate(
        self, units: Sequence[int], address: int, first: int = 0, before: int | None = None
    ) -> Iterator[Instruction]:
        """Yield the instructions that start in units from `first` up to `before`, exclusive."""
        isa, variant = self.isa, self.view.variant
        length, bits, size = isa.length, variant.unit_bits, variant.unit_bytes
        find = self.find
        i, end = first, len(units)
        stop = end if before is None else before
        start = address // size
        while i < stop:
            word = units[i]
            n = length(word)
            at = address + i * size
            if n > 1:
                if (start + i) % n:
                    yield Instruction(self, None, word, at, 1, isa.misaligned)
                    i += 1
                    continue
                if i + n > end:
                    yield Instruction(self, None, word, at, 1, "TRUNCATED_INSTRUCTION")
                    i += 1
                    continue
                for j in range(1, n):
                    word |= units[i + j] << bits * j
            found = find(word, n)
            if isinstance(found, str):
                yield Instruction(self, None, word, at, n, found)
            else:
                yield Instruction(self, found, word, at, n, found.error(word))
            i += n

    def stretches(self, units: Sequence[int], address: int = 0) -> Iterator[tuple[Instruction, int]]:
        """Yield (instruction, number of times in a row): as `decode`, without making each of a run.

        A run has at least `SHORTEST_RUN` equal units; branches are never taken together.
        """
        size = self.view.variant.unit_bytes
        at = 0
        for start, end in _runs(units):
            for i in self._iterate(units, address, at, start):
                yield i, 1
                at = i.address // size + i.units - address // size
            while at < end:
                i = next(self._iterate(units, address, at, end))
                count = 1 if _depends_on_place(i) else max(1, (end - at) // i.units)
                yield i, count
                at += i.units * count
        for i in self._iterate(units, address, at):
            yield i, 1

    def one(self, word: int, units: int, address: int = 0) -> Instruction:
        """Decode a single word of known size."""
        found = self.find(word, units)
        if isinstance(found, str):
            return Instruction(self, None, word, address, units, found)
        return Instruction(self, found, word, address, units, found.error(word))


def _depends_on_place(i: Instruction) -> bool:
    """Return true if the same words may decode differently at another address."""
    if i.error == i.decoder.isa.misaligned or i.targets:
        return True
    c = i.compiled
    return c is not None and c.addressed and c.form.text(i.word, 0) != c.form.text(i.word, 1)


def _runs(units: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (first, after the last) of the runs of equal units that are long enough."""
    k, end = 0, len(units)
    while k + SHORTEST_RUN <= end:
        last = k + SHORTEST_RUN - 1
        unit = units[last]
        if unit != units[k]:  # no run begins before the last unit that differs from `unit`
            while units[last - 1] == unit:
                last -= 1
            k = last
            continue
        if all(units[n] == unit for n in range(k, last)):
            stop = last + 1
            while stop < end and units[stop] == unit:
                stop += 1
            yield k, stop
            k = stop
            continue
        while units[last - 1] == unit:
            last -= 1
        k = last


@lru_cache(maxsize=64)
def _decoder(view: View) -> Decoder:
    return Decoder(view)


def decoder(isa: InstructionSet, variant: str, program: str = "") -> Decoder:
    """Return the decoder of an instruction set in a variant and program type, made once per set of records."""
    return _decoder(isa.view(isa.variant(variant).name, program or isa.default_program))
