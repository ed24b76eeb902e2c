"""Instructions from values: selects the form as the assembler does, and explains why if none fits the operands.

Decisions that depend on the kinds of operands only are made once per shape (mnemonic, operand names and kinds): the
candidate forms and, per operand, a table from values to bits that fills itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isakit.codec.encoder import MOST, still_possible
from isakit.codec.instruction import Instruction
from isakit.codec.syntax import syntax_line
from isakit.errors import Diagnostic, EncodeError, did_you_mean
from isakit.spec.fields import Bits
from isakit.spec.operands import Operand
from isakit.spec.parts import Part, accepted_text, bits_for, may_be
from isakit.spec.record import Form

if TYPE_CHECKING:
    from isakit.codec.decoder import Decoder

_MOST_PLANS = 1 << 12
_MOST_VALUES = 1 << 14


OperandValues = Mapping[str, Any]
"""Operands by name, as given to `build`; each part determines which types fit."""


class _Values(dict[Hashable, "tuple[int, int] | list[Bits]"]):
    """Bits by the value of one operand of one form: (mask, value), or all encodings if there are several."""

    __slots__ = ("part",)

    def __init__(self, part: Part) -> None:
        super().__init__()
        self.part = part

    def fill(self, key: Hashable, value: object, address: int) -> tuple[int, int] | list[Bits]:
        """Return the bits of a value seen for the first time, and keep them."""
        found = bits_for(self.part, value, address)
        bits = (found[0].mask, found[0].value) if len(found) == 1 else list(found)
        if not self.part.addressed:
            if len(self) >= _MOST_VALUES:
                self.clear()
            self[key] = bits
        return bits


class _Plan:
    """One form a shape may become: the bits that are settled, and a table per operand given."""

    __slots__ = ("base", "compiled", "error", "form", "mask", "settled", "several", "tables", "value")

    def __init__(self, decoder: Decoder, form: Form, settled: list[Bits], given: Sequence[str]) -> None:
        self.form, self.settled = form, settled
        self.base = form.base
        self.compiled = decoder.compiled(form)
        self.error = self.compiled.error
        self.several = len(settled) > 1
        self.mask, self.value = (0, 0) if self.several else (settled[0].mask, settled[0].value)
        self.tables = [_Values(form.parts[n]) for n in given]

    def word(self, keys: list[Hashable], values: tuple[object, ...], address: int, raw: int) -> int | None:
        """Return the word, with the bits `raw` inverted; None if the form does not hold the values."""
        mask, value = self.mask, self.value
        ways: list[Sequence[Bits]] = []
        for n, table in enumerate(self.tables):
            b = table.get(keys[n])
            if b is None:
                b = table.fill(keys[n], values[n], address)
            if isinstance(b, tuple):  # one way to write it
                if (value ^ b[1]) & mask & b[0]:
                    return None
                mask |= b[0]
                value |= b[1]
            elif b:
                ways.append(b)
            else:
                return None
        if ways or self.several:
            # What is certain decides before what may be written in several ways; mostly the first ways go together.
            first = Bits(mask, value)
            choices = (self.settled, *ways) if self.several else ways
            ways = [[b for b in way if not (b.value ^ value) & mask & b.mask] for way in choices]
            for way in ways:
                if not way:
                    return None
                both = first.join(way[0])
                if both is None:
                    break
                first = both
            else:
                word = (first.value | self.base & ~first.mask) ^ raw
                if self._legal(word):
                    return word
            found = joined([(Bits(mask, value),), *ways])
            words = ((b.value | self.base & ~b.mask) ^ raw for b in found)
            return next((w for w in words if self._legal(w)), None)
        word = (value | self.base & ~mask) ^ raw
        return word if self._legal(word) else None

    def _legal(self, word: int) -> bool:
        for u in self.form.unless:
            if u.holds(word):
                return False
        return self.error(word) is None


def joined(ways: Sequence[Sequence[Bits]]) -> Iterator[Bits]:
    """Yield all combinations without contradiction, the first choices first."""
    if not ways:
        yield Bits()
        return
    *front, last = ways
    for b in joined(front):
        for other in last:
            both = b.join(other)
            if both is not None:
                yield both


class Builder:
    """Builds instructions of one instruction set in one variant and program type."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self._plans: dict[Hashable, list[_Plan]] = {}
        self._unit_bytes = decoder.view.variant.unit_bytes

    def build(
        self, mnemonic: str, operands: OperandValues, *, at: int = 0, long: bool = False, raw: int = 0
    ) -> Instruction:
        """Build the instruction `mnemonic` with the operands given by name, at byte address `at`.

        Operands are `Operand` objects, words, and ints or floats where a number stands; those left out or None are
        absent. `long` leaves out the short forms, `raw` inverts bits of the word. Raises EncodeError.
        """
        values = tuple(operands.values())
        types = tuple(map(type, values))
        if bool in types or type(None) in types:
            operands = {n: v for n, v in operands.items() if v is not None and v is not False}
            values = tuple(operands.values())
            types = tuple(map(type, values))
        shape = (mnemonic, long, tuple(operands), types)
        plans = self._plans.get(shape)
        if plans is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            plans = self._plans[shape] = self._make(mnemonic, operands, long)
        keys = [v.key if isinstance(v, Operand) else v for v in values]
        address = at // self._unit_bytes
        for plan in plans:
            word = plan.word(keys, values, address, raw)
            if word is not None:
                if raw:
                    return self.decoder.one(word, plan.form.units, at)
                return Instruction(self.decoder, plan.compiled, word, at, plan.form.units, None)
        raise EncodeError([self._diagnosis(mnemonic, operands, at, long)])

    def form(self, mnemonic: str, operands: OperandValues, at: int = 0) -> Form | None:
        """Return the form that `build` chooses, None if it finds none."""
        try:
            return self.build(mnemonic, operands, at=at).form
        except EncodeError:
            return None

    def _forms(self, mnemonic: str, long: bool) -> list[Form]:
        forms = self.decoder.encoder.named(mnemonic)
        return [f for f in forms if f.units > 1] if long else forms

    def _make(self, mnemonic: str, operands: OperandValues, long: bool) -> list[_Plan]:
        plans: list[_Plan] = []
        given = tuple(operands)
        for form in self._forms(mnemonic, long):
            if all(n in form.parts and n != "name" and may_be(form.parts[n], _type(v)) for n, v in operands.items()):
                settled = list(joined(_settled(form, mnemonic, given)))
                if settled:
                    plans.append(_Plan(self.decoder, form, settled, given))
        return plans

    # -- why not
    def _diagnosis(self, mnemonic: str, operands: OperandValues, at: int, long: bool) -> Diagnostic:
        call = _Call(mnemonic, operands)
        forms = self._forms(mnemonic, long)
        if not forms:
            if long and self.decoder.encoder.named(mnemonic):
                return call.error("long", f"`{mnemonic}` has no long form")
            miss = self.decoder.encoder.unknown_name(mnemonic)
            return call.error("", miss.message, miss.notes)
        known = list(dict.fromkeys(n for f in forms for n in f.parts if n != "name"))
        for name in operands:
            if name not in known:
                notes = (*did_you_mean(name, known), *_syntax(forms, mnemonic))
                return call.error(name, f"`{mnemonic}` has no operand `{name}`", notes)
        found = [self._obstacle(f, mnemonic, operands, at) for f in forms]
        best = max(found, key=lambda o: o.taken)  # the form that got furthest is the one that was meant
        near = [o for o in found if (o.taken, o.name) == (best.taken, best.name)]
        accepted = list(dict.fromkeys(t for o in near for t in o.accepted.split(" | ") if t and t != "nothing"))
        notes = best.notes
        if accepted:
            notes = (
                f"accepted here: {' | '.join(accepted[:MOST])}" + (" | ..." if len(accepted) > MOST else ""),
                *notes,
            )
        return call.error(best.name, best.message, (*notes, *_syntax([o.form for o in near], mnemonic)))

    def _obstacle(self, form: Form, mnemonic: str, operands: OperandValues, at: int) -> _Obstacle:
        """Return the reason why a form does not take the operands."""
        for name in operands:
            if name not in form.parts:
                return _Obstacle(form, -1, name, f"`{name}` does not go with the other operands of `{mnemonic}`")
        bits = [form.fixed]
        address = at // self.decoder.view.variant.unit_bytes
        order = [i[1:-1] for i in form.syntax if i[0] == "{"]
        for taken, name in enumerate(order):
            part = form.parts[name]
            value = mnemonic if name == "name" else operands.get(name)
            found = bits_for(part, value, address)
            if not found:
                accepted = still_possible(part, bits[0]) or accepted_text(part)
                what = f"`{mnemonic}` needs `{name}`" if value is None else f"`{_shown(value)}` does not fit `{name}`"
                return _Obstacle(form, taken, name, what, accepted)
            both = [b for a in bits for f in found if (b := a.join(f)) is not None]
            if not both:
                if name in form.sharing:
                    return _Obstacle(form, taken, name, form.sharing[name])
                given = [n for n in order[:taken] if operands.get(n) is not None]
                ways = [(n, bits_for(form.parts[n], operands[n], address)) for n in given]
                rival = next((n for n, w in reversed(ways) if all(a.join(f) is None for a in w for f in found)), None)
                what = f"go with `{_shown(operands[rival])}`" if rival else "go with the other operands"
                shared = (bits[0].value ^ found[0].value) & bits[0].mask & found[0].mask
                notes = (f"both are in the bits {shared:#x} of the {form.layout.name} form",)
                accepted = still_possible(part, bits[0])
                return _Obstacle(form, taken, name, f"`{_shown(value)}` does not {what}", accepted, notes)
            bits = both
        error = next((e for b in bits if (e := form.error(b.value | form.base & ~b.mask))), None)
        what = f"these operands are the decode error {error}" if error else "this cannot be encoded"
        return _Obstacle(form, len(order), "", what)


@dataclass(frozen=True)
class _Obstacle:
    """The reason why a form does not take some operands: how many it took, the refused one, the expected one."""

    form: Form
    taken: int
    name: str
    message: str
    accepted: str = ""
    notes: tuple[str, ...] = ()


def _shown(value: object) -> str:
    return value if isinstance(value, str) else f"{value:#x}" if type(value) is int else repr(value)


def _syntax(forms: Sequence[Form], mnemonic: str) -> tuple[str, ...]:
    """Return the syntax lines of some forms."""
    lines = dict.fromkeys(syntax_line(f, mnemonic) for f in forms)
    return tuple(f"syntax: {line}" for line in lines)[:3]


def _type(value: object) -> type:
    return type(value)


def _settled(form: Form, mnemonic: str, given: Sequence[str]) -> list[Sequence[Bits]]:
    """Return the bits that no operand decides: fixed ones, those of the name and of omitted parts."""
    out: list[Sequence[Bits]] = [(form.fixed,)]
    for name, part in form.parts.items():
        if name not in given:
            out.append(bits_for(part, mnemonic if name == "name" else None))
    return out


class _Call:
    """The call as a source line, to point at its operands."""

    def __init__(self, mnemonic: str, operands: OperandValues) -> None:
        self.places: dict[str, tuple[int, int]] = {"": (1, len(mnemonic))}
        self.line = mnemonic
        for name, value in operands.items():
            text = f"{name}={_shown(value)}"
            self.places[name] = len(self.line) + 2, len(text)
            self.line += " " + text

    def error(self, name: str, message: str, notes: tuple[str, ...] = ()) -> Diagnostic:
        """Make the diagnostic about an operand."""
        column, width = self.places.get(name, self.places[""])
        return Diagnostic(1, column, message, self.line, width, notes, "<build>")
