"""Instruction coverage: which forms, operand alternatives and modifier values of an instruction set were executed.

The items are derived from the records, so that a new instruction is required as soon as it exists. `recording` collects
the items that Tesla programs execute on the reference engine; `word_for` makes an instruction word with a given item.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import cache
from random import Random
from typing import Literal

from isakit.codec.decoder import decoder
from isakit.lean import dataclass
from isakit.machine.tesla.kernel_code import Op
from isakit.machine.tesla.machine import Machine
from isakit.spec import Bits, Choice, Enum, Form, HasFeature, Illegal, Imm, Nothing, Part, Spellings
from isakit.spec.fields import subsets
from isakit.spec.isa import View
from isakit.spec.parts import accepted_text, error_of, possible_bits, static_bits, text_of

Kind = Literal["form", "alternative", "value", "feature"]
KINDS: tuple[Kind, ...] = ("form", "alternative", "value", "feature")
_WIDEST = 8
"""Static bits of an operand kind up to which every combination is an item."""
_ATTEMPTS = 400


@dataclass(frozen=True, order=True)
class Item:
    """An item to execute: a form, an alternative of an operand, a value of a modifier, or a variation by a feature.

    `form` is the form's position in its record, `part` the operand (with a path into nested operands), `what` the
    alternative or the value. The same item in two variants is equal.
    """

    record: str
    form: int
    kind: Kind
    part: str = ""
    what: str = ""

    def __str__(self) -> str:
        detail = f", {self.part}: {self.what}" if self.part else ""
        return f"{self.record} form {self.form}{detail}"


@dataclass(frozen=True)
class WordCondition:
    """The condition on a word to contain an item: `need` holds, and none of `avoid` does."""

    need: Bits
    avoid: tuple[Bits, ...] = ()

    def holds(self, word: int) -> bool:
        """Return true if a word has the item."""
        return self.need.holds(word) and not any(a.holds(word) for a in self.avoid)


def _covers(condition: Bits, have: Bits) -> bool:
    """Return true if every word with the bits `have` has the bits `condition`."""
    return not condition.mask & ~have.mask and condition.holds(have.value)


def _part_items(
    part: Part, path: str, need: Bits, avoid: tuple[Bits, ...]
) -> Iterator[tuple[Kind, str, str, WordCondition]]:
    """Yield (kind, path, what, condition) of a part. Alternatives that no word can select are not among them.

    Spellings of one meaning are not alternatives: only bits that its meaning depends on count.
    """
    if isinstance(part, Choice) and not isinstance(part, Spellings):
        earlier: list[Bits] = []
        for a in part.alternatives:
            both = need.join(a.when)
            if both is not None and not isinstance(a.part, Illegal) and not any(_covers(e, both) for e in earlier):
                rest = (*avoid, *earlier, *([a.unless] if a.unless else []))
                what = f"{accepted_text(a.part) or 'nothing'} where {a.when.mask:#x} is {a.when.value:#x}"
                yield "alternative", path, what, WordCondition(both, rest)
                yield from _part_items(a.part, f"{path}/{what}", both, rest)
            if a.unless is None:
                earlier.append(a.when)
        return
    mask = static_bits(part)
    if not mask or isinstance(part, Imm) or mask.bit_count() > _WIDEST:
        return
    for value in subsets(mask):
        both = need.join(Bits(mask, value))
        if both is None or (isinstance(part, Enum) and error_of(part, value)) or any(_covers(a, both) for a in avoid):
            continue
        yield "value", path, text_of(part, value) or "(not printed)", WordCondition(both, avoid)


def _has_illegal(part: Part) -> bool:
    """Return true if some alternative of an operand is a decode error."""
    if isinstance(part, Choice):
        return any(_has_illegal(a.part) for a in part.alternatives)
    return isinstance(part, Illegal)


def _surely_illegal(part: Part, have: Bits) -> bool:
    """Return true if an operand is a decode error in every word with the given bits."""
    if not isinstance(part, Choice):
        return isinstance(part, Illegal)
    for k, a in enumerate(part.alternatives):
        both = have.join(a.when)
        if both is None or any(e.unless is None and _covers(e.when, both) for e in part.alternatives[:k]):
            continue
        if not _surely_illegal(a.part, both):
            return False
    return True


def only_errors(form: Form) -> bool:
    """Return true if a form only exists to name a decode error: no word of it can be executed."""
    fixed = form.fixed
    refused = any(_covers(r.when, fixed) for r in form.refusals)
    return refused or any(_surely_illegal(p, fixed) for p in form.parts.values())


@cache
def items_of(view: View) -> dict[Form, dict[Item, WordCondition]]:
    """Return the items of every form in a variant and program type, each with its condition on words."""
    out: dict[Form, dict[Item, WordCondition]] = {}
    positions = ((r.name, i, f) for r in view.records for i, f in enumerate(r.forms))
    for (name, i, original), form in zip(positions, view.forms, strict=True):
        if view.available(form) and not only_errors(form):
            out[form] = _form_items(form, original, name, i)
    return out


@cache
def _form_items(form: Form, original: Form, record: str, i: int) -> dict[Item, WordCondition]:
    """Return the items of form `i` of a record as it is in some contexts; `original` is the form before that."""
    risky = [(possible_bits(p) & ~form.fixed.mask, p) for p in form.parts.values() if _has_illegal(p)]
    items = {Item(record, i, "form"): WordCondition(form.fixed, form.unless)}
    for n, p in form.parts.items():
        asked = original.parts[n]
        if isinstance(asked, HasFeature) and isinstance(p, Nothing):
            what = f"{asked.name} is {p.value}"
            items[Item(record, i, "feature", n, what)] = WordCondition(form.fixed)
        for kind, path, what, condition in _part_items(p, n, form.fixed, form.unless):
            need = condition.need
            if not any(bits & need.mask and _surely_illegal(other, need) for bits, other in risky):
                items[Item(record, i, kind, path, what)] = condition
    return items


def word_for(view: View, form: Form, item: Item, random: Random, wanted: Collection[Item] = ()) -> int | None:
    """Find a legal word of the form that has the item, and those of the `wanted` ones that happen to fit.

    Operand fields get random values. Returns None if no word was found.
    """
    items = items_of(view)[form]
    units = decoder(view.isa, view.variant.name, view.program)
    others = [i for i in items if i in wanted]
    for attempt in range(_ATTEMPTS):
        have = items[item].need
        avoid = list(items[item].avoid)
        random.shuffle(others)
        for other in others if attempt < _ATTEMPTS // 2 else ():
            c = items[other]
            both = have.join(c.need)
            if both is not None and not any(_covers(a, both) for a in (*avoid, *c.avoid)):
                have = both
                avoid += c.avoid
        word = have.value | random.getrandbits(form.possible.bit_length()) & form.possible & ~have.mask
        word |= form.base & ~(have.mask | form.possible)
        word = word & form.claimed(word) | form.base & ~form.claimed(word)
        if items[item].holds(word) and form.matches(word) and form.error(word) is None:
            found = units.one(word, form.units)
            if found.valid and found.form is form:
                return word
    return None


@dataclass
class Coverage:
    """The items that were executed, and those that were not.

    `executed`: items seen so far. `note` adds those of a word.
    """

    view: View
    executed: set[Item] = field(default_factory=set[Item])

    def note(self, form: Form, word: int) -> None:
        """Count a word as executed."""
        for item, condition in items_of(self.view).get(form, {}).items():
            if condition.holds(word):
                self.executed.add(item)

    @property
    def missing(self) -> list[Item]:
        """The items that exist in the view and were not executed."""
        return sorted(i for items in items_of(self.view).values() for i in items if i not in self.executed)

    def __str__(self) -> str:
        return table(self.executed, [i for items in items_of(self.view).values() for i in items])


def table(executed: Collection[Item], existing: Iterable[Item]) -> str:
    """Format counts by kind of item, one line each."""
    every = set(existing)
    lines: list[str] = []
    for kind in KINDS:
        total = [i for i in every if i.kind == kind]
        if total:
            done = sum(i in executed for i in total)
            lines.append(f"{kind:12} {done:6} of {len(total):6}  {100 * done / len(total):5.1f} %")
    return "\n".join(lines)


@contextmanager
def recording(view: View) -> Generator[Coverage]:
    """Collect the items that any Tesla machine of this process executes on the reference engine inside the block.

    An instruction also counts if its guard holds in no lane, and if it ends the program with a trap. Only the innermost
    recording counts it.
    """
    coverage = Coverage(view)
    seen: set[tuple[Form, int]] = set()

    def observe(op: Op) -> None:
        i = op.instruction
        if i is not None and i.form is not None and (i.form, i.word) not in seen:
            seen.add((i.form, i.word))
            coverage.note(i.form, i.word)

    before = vars(Machine)["observer"]  # as it is stored: reading the attribute unwraps a static method
    Machine.observer = staticmethod(observe)
    try:
        yield coverage
    finally:
        Machine.observer = before
