"""The text of an instruction as a tree of few kinds of nodes, from which exports generate disassemblers.

`Model` walks the parts of every form of a view. What a part says is taken apart where it is made of others, and put
into a table where it depends on few bits; the nodes say the same as `Instruction.text`, which the tests of every export
hold against each other. A part of another kind raises `CannotExport`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from isakit.codec import Decoder, Stream, tokenize
from isakit.errors import AsmError, IsakitError
from isakit.export.text_nodes import (
    AFTER_NUMBER,
    NO,
    UNREADABLE,
    YES,
    Equal,
    FieldsEqual,
    FixedText,
    InRange,
    Join,
    Mask,
    Node,
    NumberText,
    Select,
    TableLookup,
    TextTable,
    all_set,
    any_set,
    node_key,
    runs,
)
from isakit.lean import dataclass
from isakit.spec.fields import Bits, Field, subsets
from isakit.spec.parts import (
    Bitless,
    Choice,
    Dependent,
    Imm,
    Numbered,
    Part,
    Reg,
    Relative,
    Silent,
    Template,
    claimed_bits,
    error_of,
    possible_bits,
    readings,
    text_of,
)
from isakit.spec.record import Form

TABLE_BITS = 14
"""A part that depends on at most this many bits becomes a table."""
JOINED_BITS = 7
"""The same for parts that are made of others and can be taken apart."""
_TRIALS = 1500
"""Words with which it is tried what the bits of a part decide."""


class CannotExport(IsakitError):
    """A part whose text cannot be exported as data."""


@dataclass(frozen=True, eq=False)
class FormModel:
    """One form.

    Attributes:
        form: of which this is the model.
        name: of its record.
        units: size in units of code.
        fixed: bits that every word of the form has; `unless`: combinations it must not have.
        items: pieces of the text: a node, or the text of a literal (`(` and `)` hug what is inside).
        error: flag: the word is not an instruction.
        base: the word the assembler starts from; bits that differ from it and are not `claimed` are shown in braces.
        claimed: mask of the bits the text tells.
        forced: flag: `long` stands in front, since the assembler would make a shorter instruction of the text.
    """

    form: Form
    name: str
    units: int
    fixed: Bits
    unless: tuple[Bits, ...]
    items: tuple[Node | str, ...]
    error: Node
    base: int
    claimed: Node
    forced: Node


class Model:
    """All forms of a view, in the order in which they are tried; see `FormModel`."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder, self.view = decoder, decoder.view
        self._texts: dict[int, Node] = {}
        self._errors: dict[int, Node] = {}
        self._claims: dict[int, Node] = {}
        self._keep: list[Part] = []
        self._readable: dict[tuple[int, int], Node] = {}
        self._tests: dict[Hashable, Node] = {}
        self._decisions: dict[int, tuple[int, tuple[int, ...], list[Part]]] = {}
        forms = [f for f in self.view.forms if self.view.available(f)]
        order = sorted(range(len(forms)), key=lambda k: (-forms[k].fixed.mask.bit_count(), k))
        self.forms = [self.form(forms[k]) for k in order]

    def form(self, f: Form) -> FormModel:
        """Return the model of a form."""
        refused = [Select(((r.when, None, YES),), NO) for r in f.refusals]
        errors = [*refused, *(self.error(p) for p in f.parts.values())]
        claims = [Mask(f.fixed.mask), *(self.claimed(p) for p in f.parts.values())]
        return FormModel(
            f, f.record.name if f.record is not None else "", f.units, f.fixed, f.unless,
            tuple(self.text(f.parts[i[1:-1]]) if i[0] == "{" else i for i in f.syntax),
            any_set(errors), f.base, any_set(claims), self.forced(f),
        )  # fmt: skip

    # --- text ------------------------------------------------------------------------------------------------------

    def text(self, part: Part) -> Node:
        """Return the text that a part prints."""
        return self._once(self._texts, part, self._text)

    def _once(self, known: dict[int, Node], part: Part, make: Callable[[Part], Node]) -> Node:
        found = known.get(id(part))
        if found is None:
            found = known[id(part)] = make(part)
            self._keep.append(part)
        return found

    def _text(self, part: Part) -> Node:
        if isinstance(part, Bitless):
            return FixedText(text_of(part, 0))
        if isinstance(part, Relative):
            form = "+d" if part.as_distance else "#x"
            return NumberText(part.field, part.signed, part.scale, form, "", not part.as_distance, part.modulus)
        if not part.addressed and is_small(part):
            return self.tabulated(part, lambda w: text_of(part, w))
        if isinstance(part, Imm):
            return NumberText(part.field, part.signed, part.scale, part.form, part.prefix)
        if isinstance(part, Template):
            nodes = tuple(FixedText(token) if p is None else self.text(p) for _, token, p in part.items)
            glues = (AFTER_NUMBER if p is None and token == "." else blank for blank, token, p in part.items[1:])
            return Join(nodes, tuple(glues))
        if isinstance(part, Choice):
            return self.select(part, self.text, FixedText(UNREADABLE))
        if isinstance(part, Dependent):
            return self.switch(part, self.text)
        raise CannotExport(f"{type(part).__name__} has no text that could be told without the library")

    def tabulated(self, part: Part, say: Callable[[int], str | int]) -> Node:
        """Return the node that gives what `say` returns for each value of a part's bits: a text, a flag or a mask."""
        mask = possible_bits(part)
        values = tuple(say(w) for w in subsets(mask))
        if len(set(values)) == 1:
            return FixedText(values[0]) if isinstance(values[0], str) else Mask(int(values[0]))
        return TextTable(mask, values)

    def select(self, part: Choice, make: Callable[[Part], Node], otherwise: Node) -> Select:
        """Return the nodes that `make` gives for the alternatives of a choice, `otherwise` where none is taken."""
        cases: list[tuple[Bits, Bits | None, Node]] = []
        for a in part.alternatives:
            cases.append((a.when, a.unless, make(a.part)))
            if not a.when.mask and a.unless is None:
                break
        return Select(tuple(cases), otherwise)

    def switch(self, part: Dependent, make: Callable[[Part], Node]) -> Node:
        """Return nodes by the bits that decide which part it is; these are found by trying."""
        deciding, indices, parts = self._decision(part)
        nodes = [make(p) for p in parts]
        return TableLookup(deciding, indices, tuple(nodes)) if len(nodes) > 1 else nodes[0]

    def _decision(self, part: Dependent) -> tuple[int, tuple[int, ...], list[Part]]:
        """Return the bits that decide, for each of their values the number of the part, and the parts."""
        found = self._decisions.get(id(part))
        if found is not None:
            return found
        words = [k * 0x9E3779B97F4A7C15F39CC0605CEDC835 >> 7 & part.bits for k in range(_TRIALS)]
        words += [1 << low for low, n in runs(part.bits) for low in range(low, low + n)]
        deciding = 0
        for low, n in runs(part.bits):
            for b in range(low, low + n):
                if any(part.choose(w) is not part.choose(w ^ 1 << b) for w in words):
                    deciding |= 1 << b
        if deciding.bit_count() > TABLE_BITS:
            raise CannotExport(f"{type(part).__name__} depends on {deciding.bit_count()} bits")
        numbers: dict[int, int] = {}
        parts: list[Part] = []
        indices: list[int] = []
        for w in subsets(deciding):
            chosen = part.choose(w)
            if id(chosen) not in numbers:
                numbers[id(chosen)] = len(parts)
                parts.append(part.given(w))
            indices.append(numbers[id(chosen)])
        self._keep.append(part)
        found = self._decisions[id(part)] = deciding, tuple(indices), parts
        return found

    # --- errors and claimed bits -----------------------------------------------------------------------------------

    def error(self, part: Part) -> Node:
        """Return the test whether the bits of a part are a decode error."""
        return self._once(self._errors, part, self._error)

    def _error(self, part: Part) -> Node:
        if isinstance(part, Bitless):
            return YES if error_of(part, 0) is not None else NO
        if isinstance(part, (Silent, Imm, Numbered)):
            return NO
        if is_small(part):
            return self.tabulated(part, lambda w: int(error_of(part, w) is not None))
        if isinstance(part, Reg):
            return self.tabulated(part, lambda w: int(error_of(part, w) is not None))
        if isinstance(part, Choice):
            return self.select(part, self.error, YES)
        if isinstance(part, Dependent):
            return self.switch(part, self.error)
        if isinstance(part, Template):
            return any_set([self.error(p) for p in part.children])
        raise CannotExport(f"{type(part).__name__} has errors that cannot be exported")

    def claimed(self, part: Part) -> Node:
        """Return the bits that a part's text shows."""
        return self._once(self._claims, part, self._claimed)

    def _claimed(self, part: Part) -> Node:
        if isinstance(part, Bitless):
            return Mask(claimed_bits(part, 0))
        if isinstance(part, Choice):
            cases: list[tuple[Bits, Bits | None, Node]] = []
            for a in part.alternatives:
                own: list[Node] = [Mask(a.when.mask) if a.tells is None else FieldsEqual(a.tells)]
                if a.tells is None or a.reading is not None:
                    own.append(self.claimed(a.part))
                cases.append((a.when, a.unless, any_set(own)))
            return Select(tuple(cases), NO)
        if isinstance(part, Template):
            return any_set([self.claimed(p) for p in part.children])
        if isinstance(part, (Imm, Reg)):
            return Mask(part.field.mask)
        if isinstance(part, Dependent) and not is_small(part):
            return self.switch(part, self.claimed)
        if possible_bits(part).bit_count() <= TABLE_BITS:
            return self.tabulated(part, lambda w: claimed_bits(part, w))
        raise CannotExport(f"{type(part).__name__} matches bits in a way that cannot be exported")

    # --- whether a shorter form has the same text -------------------------------------------------------------------

    def forced(self, f: Form) -> Node:
        """Return the test whether the text of a word of the form is also that of a smaller instruction."""
        encoder = self.decoder.encoder
        smaller = {s: None for m in f.mnemonics for s in encoder.named(m) if s.units < f.units}
        return any_set([self._reads_form(f, s) for s in smaller])

    def _reads_form(self, long: Form, short: Form) -> Node:
        """Return the test whether the smaller form can say what a word of the larger one says, part by part."""
        longs, shorts = _pieces(long), _pieces(short)
        needed = self._agreements(long, short)
        place = {name: k for k, name in enumerate(shorts)}
        common = [name for name in longs if name in shorts]
        for k, first in enumerate(common):  # pieces in another order are read where one of them is not there
            for second in common[k + 1 :]:
                if place[first] > place[second]:
                    needed.append(any_set([self._is_empty(longs[first]), self._is_empty(longs[second])]))
        needed += self._together(longs, shorts, common)
        for name, part in longs.items():
            other = shorts.pop(name, None)
            if other is None:
                needed.append(self._is_empty(part))
            elif isinstance(part, str) or isinstance(other, str):
                if part != other:
                    return NO
            else:
                needed.append(self.readable(part, other))
        for part in shorts.values():
            if isinstance(part, str) or not any(k == 0 for k, _ in readings(part, Stream([]), 0)):
                return NO
        return all_set(needed)

    def _together(self, longs: dict[str, Part | str], shorts: dict[str, Part | str], common: list[str]) -> list[Node]:
        """Return tests that two operands of the larger form are read by alternatives that can stand side by side."""
        out: list[Node] = []
        choices = [(n, part) for n in common if isinstance(part := shorts[n], Choice)]
        for k, (second, b) in enumerate(choices):
            for first, a in choices[:k]:
                one, two = longs[first], longs[second]
                if isinstance(one, str) or isinstance(two, str):
                    continue
                seconds = list(_ways(b))
                beside: dict[tuple[bool, ...], list[Part]] = {}
                for x in _ways(a):
                    beside.setdefault(tuple(map(x.beside, seconds)), []).append(x.part)
                if not all(map(all, beside)):
                    sides = [(parts, [[y.part for y, fit in zip(seconds, fits, strict=True) if fit is side]
                                      for side in (True, False)]) for fits, parts in beside.items()]  # fmt: skip
                    out.append(self._reader(one, [(parts, self._reader(two, [(inside, YES), (outside, NO)]))
                                                  for parts, (inside, outside) in sides]))  # fmt: skip
        return out

    def _chosen(self, part: Choice, make: Callable[[Part], Node]) -> Node:
        """Return the test that `make` gives for the alternative that is taken, without a choice where all are alike."""
        found = self.select(part, make, NO)
        first, *more = {node_key(n): n for _, _, n in found.cases}.values()
        return found if more else first

    def _reader(self, part: Part, readers: Sequence[tuple[Sequence[Part], Node]]) -> Node:
        """Return the test that goes with those parts that read the text of a part, which some of them do."""
        if isinstance(part, Choice):
            found = self._chosen(part, lambda p: self._reader(p, readers))
        else:
            read = [(any_set([self.readable(part, other) for other in others]), node) for others, node in readers]
            able = [(n, node) for n, node in read if not isinstance(n, Mask) or n.value]
            alike = len({node_key(n) for n, _ in able}) == 1
            found = any_set([node if alike else all_set([n, node]) for n, node in able])
        return self._tests.setdefault(node_key(found), found)

    def _agreements(self, long: Form, short: Form) -> list[Node]:
        """Return tests that operands of the larger form agree where two of the smaller one are the same register."""
        named = [(n, p) for n, p in short.parts.items() if isinstance(p, Reg) and n in long.parts]
        out: list[Node] = []
        for k, (first, a) in enumerate(named):
            for second, b in named[:k]:
                if a.field.mask & b.field.mask:
                    fields = self._register(long.parts[first], a), self._register(long.parts[second], b)
                    out.append(Equal(fields) if fields[0].mask != fields[1].mask else YES)
        return out

    def _register(self, part: Part, other: Reg) -> Field:
        """Return the one field of the registers that `part` may be and that `other` can be read as."""
        readable = (p for p in alternatives(part) if isinstance(p, Reg) and self.readable(p, other) is not NO)
        found = list(dict.fromkeys(p.field for p in readable))
        if len(found) != 1:
            raise CannotExport(f"{type(part).__name__} is a register in {len(found)} ways")
        return found[0]

    def _is_empty(self, part: Part | str) -> Node:
        if isinstance(part, str):
            return NO
        node = self.text(part)
        if isinstance(node, FixedText):
            return NO if node.text else YES
        if isinstance(node, TextTable):
            return TextTable(node.mask, tuple(int(not v) for v in node.values))
        if isinstance(part, Choice):
            return self.select(part, self._is_empty, NO)
        return NO

    def readable(self, part: Part, other: Part) -> Node:
        """Return a test: does another part read the text that this part prints?"""
        if part is other:
            return YES
        key = (id(part), id(other))
        found = self._readable.get(key)
        if found is None:
            test = self._reads(part, other)
            found = self._readable[key] = self._tests.setdefault(node_key(test), test)
            self._keep += [part, other]
        return found

    def _reads(self, part: Part, other: Part) -> Node:
        if isinstance(part, Bitless):
            return YES if _can_read(other, text_of(part, 0)) else NO
        if not part.addressed and is_small(part):
            known: dict[str, int] = {}

            def reads(word: int) -> int:
                text = text_of(part, word)
                if text not in known:
                    known[text] = int(_can_read(other, text))
                return known[text]

            return self.tabulated(part, reads)
        if isinstance(part, Choice):
            return self._chosen(part, lambda p: self.readable(p, other))
        if isinstance(other, Choice):
            return any_set([self.readable(part, a.part) for a in other.alternatives if a.reading is not None])
        if isinstance(part, Imm) and isinstance(other, Imm):
            return _fits(self.text(part), part, other)
        if isinstance(part, Template) and isinstance(other, Template):
            if [(b, t) for b, t, p in part.items if p is None] != [(b, t) for b, t, p in other.items if p is None]:
                return NO
            pairs = zip(part.items, other.items, strict=True) if len(part.items) == len(other.items) else None
            if pairs is None:
                return NO
            return all_set([self.readable(p, q) for (_, _, p), (_, _, q) in pairs if p is not None and q is not None])
        if isinstance(other, Bitless):
            return NO
        if isinstance(part, Imm) or isinstance(other, Imm) or isinstance(part, Template) != isinstance(other, Template):
            return self._probed(part, other)
        raise CannotExport(f"cannot tell when {type(other).__name__} reads what {type(part).__name__} prints")

    def _probed(self, part: Part, other: Part) -> Node:
        """Return NO if no text of a few hundred words is read; parts of different kinds that read each other raise."""
        mask = possible_bits(part)
        for k in range(300):
            word = (k * 0x9E3779B97F4A7C15F39CC0605CEDC835) & mask
            if _can_read(other, text_of(part, word)):
                raise CannotExport(f"{type(other).__name__} reads some of what {type(part).__name__} prints")
        return NO


_ANY = Bits()


class _Way(NamedTuple):
    """A part that a choice may come to: the bits of a word that does, and those of words that come to others first."""

    part: Part
    told: Bits
    before: tuple[Bits, ...]

    def beside(self, other: _Way) -> bool:
        """Return whether a word can come to this part and to one of another choice, as far as its bits tell."""
        both = self.told.join(other.told)
        return both is not None and not any(
            not e.mask & ~both.mask and both.value & e.mask == e.value for e in (*self.before, *other.before)
        )


def _ways(part: Part, told: Bits = _ANY, before: tuple[Bits, ...] = ()) -> Iterator[_Way]:
    """Yield the parts that a text may be read as."""
    if not isinstance(part, Choice):
        yield _Way(part, told, before)
        return
    for a in part.alternatives:
        if a.reading is not None and (here := told.join(a.when)) is not None:
            both = here.join(a.reading)
            if both is not None:
                yield from _ways(a.part, both, before)
        if a.unless is None:
            before = (*before, a.when)


def alternatives(part: Part) -> Iterator[Part]:
    """Yield the parts that a choice chooses from."""
    if isinstance(part, Choice):
        for a in part.alternatives:
            yield from alternatives(a.part)
    else:
        yield part


def is_small(part: Part) -> bool:
    """Return true if a part becomes a table."""
    made = isinstance(part, (Template, Choice))
    return possible_bits(part).bit_count() <= (JOINED_BITS if made else TABLE_BITS)


def _pieces(form: Form) -> dict[str, Part | str]:
    """Return the pieces of a form's syntax by name; literals by their text."""
    return {i: form.parts[i[1:-1]] if i[0] == "{" else i for i in form.syntax}


def _can_read(part: Part, text: str) -> bool:
    try:
        tokens = tokenize(text)
    except AsmError:
        return False
    return any(k == len(tokens) for k, _ in readings(part, Stream(tokens), 0))


def _fits(node: Node, part: Imm, other: Imm) -> Node:
    assert isinstance(node, NumberText)
    if part.prefix != other.prefix:
        return NO
    n = other.field.width
    low, high = (-(1 << n - 1), (1 << n - 1) - 1) if other.signed else (0, (1 << n) - 1)
    if other.wrap:
        low, high = -(1 << n - 1), (1 << n) - 1
    return InRange(node, low * other.scale, high * other.scale, other.scale)
