"""The kinds of parts that operands are made of. There are no others: functions over the tree match on these.

Words: `Nothing`, `Literal`, `Illegal`, `HasFeature`, `Hidden`, `Silent`, `Enum`, `Numbered`. Numbers: `Imm`,
`Relative`, `Constant`. Registers: `Reg`. Made of parts: `Choice` and `Spellings` (one of several), `Template` (one
after the other), `Dependent` (decided by bits before it). `spec.parts` names the functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field as member
from functools import cache
from itertools import takewhile
from typing import Any

from isakit.errors import DefinitionError
from isakit.lean import cached_property, dataclass
from isakit.spec.fields import Bits, Field, where
from isakit.spec.operands import Compound, Operand, Register, SpecialRegister
from isakit.spec.operands import Flag as Word
from isakit.spec.parts.base import (
    ILLEGAL,
    Binder,
    Bitless,
    Context,
    Meaning,
    OfField,
    Part,
    Row,
    StaticFacts,
    needs_set,
    union,
)


# --- words -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Nothing(Bitless):
    """An absent operand: no bits, no text; bound to `value`."""

    value: object = None


@dataclass(frozen=True)
class Hidden(Nothing):
    """A part that a view of the instruction set does not print: its bits show up as unexplained."""

    part: Part = member(default_factory=Nothing)


@dataclass(frozen=True)
class HasFeature(Bitless):
    """No bits and no text: tells the semantics whether the context has a feature, where chips differ in meaning."""

    name: str

    def __post_init__(self) -> None:
        needs_set(self.name)


@dataclass(frozen=True)
class Literal(Bitless):
    """Fixed words, with other spellings that are accepted; bound to `value` (default: the text).

    `setting` are further spellings, which also fix bits of other parts. `barred` are words after which this one has no
    place, and why. `hint` says what can be written here.
    """

    words: str
    value: object = None
    aliases: tuple[str, ...] = ()
    setting: Mapping[str, Bits] = member(default_factory=dict[str, Bits])
    barred: tuple[frozenset[str], str] = (frozenset(), "")
    hint: str | None = None

    @cached_property
    def spellings(self) -> list[tuple[list[str], Bits]]:
        """The words of each spelling, and the bits it fixes."""
        return [(w.split(), self.setting.get(w, Bits())) for w in (self.words, *self.aliases, *self.setting)]

    @property
    def single(self) -> bool:
        """True if all spellings are one word."""
        return all(len(words) == 1 for words, _ in self.spellings)

    @property
    def is_word(self) -> bool:
        """True if it is one word, in any place and without bits."""
        return self.single and not self.setting and not self.barred[0]

    @property
    def mnemonics(self) -> list[str]:
        """The first words of all spellings."""
        return [words[0] for words, _ in self.spellings if words]


@dataclass(frozen=True)
class Illegal(Bitless):
    """An encoding that is a decode error."""

    name: str = ILLEGAL


@dataclass(frozen=True)
class Silent(OfField):
    """A field that the text does not show: the parts after it determine its value. `meanings` explain its values."""

    field: Field
    meanings: Mapping[int, str] = member(default_factory=dict[int, str])


@dataclass(frozen=True, eq=False)
class Enum(OfField):
    """Named values of a field. A value without a name is a decode error; the text may be empty or several words.

    `idle` are the values under which some lanes, or all, write nothing. `uniform`: the value does not select what the
    instruction does; it is bound to the number, the same in all lanes.

    `values` maps field values to what the semantics gets (default: the text). `aliases` are other spellings.
    `meanings` explain values better than their text does. `hint` says what can be written here (default: the names).
    `shown` is the field that explanations show, where only some bits of it matter. `typed` makes the operand of a text
    that is not just a word.
    """

    field: Field
    names: Mapping[int, str]
    values: Mapping[int, Any] | None = None
    aliases: Mapping[str, int] = member(default_factory=dict[str, int])
    illegal: str = ILLEGAL
    label: str = ""
    idle: frozenset[int] = frozenset()
    meanings: Mapping[int, str] = member(default_factory=dict[int, str])
    hint: str | None = None
    shown: Field | None = None
    uniform: bool = False
    typed: Callable[[str], Operand | None] | None = None

    @cached_property
    def spellings(self) -> list[tuple[list[str], Bits]]:
        """The words of each spelling and its bits, those of most words first."""
        seen: dict[str, int] = {}
        for value, name in self.names.items():
            seen.setdefault(name, value)
        for name, value in self.aliases.items():
            seen.setdefault(name, value)
        ordered = sorted(seen.items(), key=lambda kv: -len(kv[0].split()))
        return [(name.split(), Bits(self.field.mask, self.field.put(value))) for name, value in ordered]


def Flag(f: Field, name: str, *, otherwise: str = "") -> Enum:
    """Return a one-bit field printed as `name` when set; bound to a bool."""
    return Enum(f, {0: otherwise, 1: name}, {0: False, 1: True}, label=f"not {name}")


@dataclass(frozen=True)
class Numbered(OfField):
    """A word with a number in it (`g14`, `$t3`), by the value of the field."""

    field: Field
    names: tuple[str, ...]


# --- registers and numbers -------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Reg(OfField):
    """A register selected by a field.

    `names[value]` is the register's name, None for values that are illegal. `access(index)` builds what the semantics
    gets from the register index (a uniform Value): an object with read/write. `aliases` are other spellings.
    `file` is the register file (default: the letters of the names), `width` the bits that the operand has, where the
    file does not say it; `first` is the number of the register that value 0 names. `half`: the field counts halves,
    the low one first. `numbers` are registers that always read the same, by field value, and are written as that
    number. `special`: the registers have functions of their own. `told(value)` is what else is known of the operand.
    `hint` says what can be written here. `mark`: names that begin with it are numbers, which may be written otherwise.
    `cell`: it is written as a place of a memory, `o[0x8]`. `own` are modifiers of the operand that belong to the
    register itself.

    `selecting`: the number decides what the instruction does, so `access` gets it as an int. Where that is so for some
    values, and for register files whose numbers mean different things, `place` says what each value means.
    """

    field: Field
    names: tuple[str | None, ...]
    access: Callable[[Any], Any]
    label: str = "a register"
    illegal: str = ILLEGAL
    aliases: Mapping[str, int] = member(default_factory=dict[str, int])
    file: str = ""
    width: int = 0
    half: bool = False
    first: int = 0
    numbers: Mapping[int, int] = member(default_factory=dict[int, int])
    special: bool = False
    told: Callable[[int], StaticFacts] | None = None
    hint: str | None = None
    mark: str = ""
    cell: bool = False
    own: frozenset[str] = frozenset()
    selecting: bool = False
    place: Place | None = None

    @cached_property
    def texts(self) -> tuple[str | None, ...]:
        """The text of each value."""
        if not self.numbers:
            return self.names
        return tuple(f"{self.numbers[v]:#x}" if v in self.numbers else n for v, n in enumerate(self.names))

    @cached_property
    def spellings(self) -> dict[str, Bits]:
        """The bits of each name."""
        return _register_table(self.field, self.names, tuple(self.aliases.items()))

    @cached_property
    def by_number(self) -> dict[int, Bits]:
        """The bits of the registers that are written as a number."""
        return {n: Bits(self.field.mask, self.field.put(v)) for v, n in self.numbers.items()}

    @cached_property
    def family(self) -> str:
        """The register file."""
        first = next((n for n in self.names if n), "").lstrip("$")
        return self.file or "".join(takewhile(str.isalpha, first))

    @property
    def in_words(self) -> bool:
        """True if every spelling is a word by itself, so that the first word tells whether it can be read."""
        return not self.cell and self.place is None

    def described(self, word: int, text: str, **more: Any) -> Operand:
        """Return the register as an operand with this text, which may say more than the register."""
        v = self.field.get(word)
        if self.place is not None:
            return self.place.described(v, text, **more)
        plain = self.names[v] or "???"
        if self.half:
            return Register(self.family, v >> 1, self.width or 16, "lh"[v & 1], text=text, plain=plain, **more)
        if self.special:
            return SpecialRegister(plain.lstrip("$"), v, file=self.family, text=text, plain=plain, **more)
        more |= self.told(v) if self.told else {}
        return Register(self.family, v + self.first, self.width, text=text, plain=plain, **more)


class Place:
    """The meaning of the values of a register's field where they mean different things: banks, constants, numbers.

    An instruction set derives its own.
    """

    def described(self, value: int, text: str, **more: Any) -> Operand:
        """Return the operand with this text, which may say more than the register."""
        raise NotImplementedError

    def identity(self, operand: Operand) -> Any:
        """Return the register or number that an operand stands for, without its text and modifiers; None for others."""
        raise NotImplementedError

    def selects(self, value: int) -> int:
        """Return the bits of the word that select what the semantics does, where the field has a value."""
        raise NotImplementedError

    def bound(self, word: int, b: Binder) -> Any:
        """Return the value for the semantics; only the bits `selects` may influence its Python control flow."""
        raise NotImplementedError

    def resolved(self, ctx: Context) -> Reg | None:
        """Return the register as it is in a context, None where nothing changes."""
        raise NotImplementedError


@cache
def _register_table(f: Field, names: tuple[str | None, ...], aliases: tuple[tuple[str, int], ...]) -> dict[str, Bits]:
    """Return spellings of the registers of a field; shared, because many operands name the same registers."""
    mask = f.mask
    table = {n: Bits(mask, f.put(v)) for n, v in aliases}
    for v in range(len(names) - 1, -1, -1):
        n = names[v]
        if n is not None:
            table[n] = Bits(mask, f.put(v))
    return table


def cell(f: Field, name: str, step: int, access: Callable[[Any], Any], *, file: str, half: bool = False) -> Reg:
    """Return a register of `file` written `name[number * step]`."""
    names = tuple(f"{name}[{v * step:#x}]" for v in range(1 << f.width))
    return Reg(f, names, access, file=file, width=8 * step, half=half, cell=True)


@dataclass(frozen=True)
class Imm(OfField):
    """An immediate number of the field's width times `scale`, printed in hexadecimal.

    `signed` fields accept and print negative numbers. `wrap` also accepts the two's complement spelling of a negative
    number (-1 for 0xffffffff). `single` accepts a floating point literal as an f32 bit pattern. `fixed` immediates are
    bound to a Python int, others to a uniform Value of `width` bits (default: the field's width). `code_address`:
    where a branch goes. `prefix` stands in front, `mark` may. `form` is how the number is printed and `meaning` how it
    is explained (with `{}` for it). `hint` says what can be written here, `advice` what to do about other numbers.
    """

    field: Field
    width: int = 0
    scale: int = 1
    signed: bool = False
    wrap: bool = False
    single: bool = False
    fixed: bool = False
    label: str = "a number"
    prefix: str = ""
    code_address: bool = False
    mark: str = ""
    form: str = "#x"
    meaning: str = ""
    hint: str | None = None
    advice: str = ""

    def value(self, word: int) -> int:
        """Return the number that is printed."""
        return self.field.number(word, self.signed) * self.scale

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest number, before scaling."""
        n = self.field.width
        return (-(1 << n - 1), (1 << n - 1) - 1) if self.signed else (0, (1 << n) - 1)

    def encode(self, v: int) -> Bits | None:
        """Return the bits for a number, None when it does not fit."""
        if v % self.scale:
            return None
        v //= self.scale
        n = self.field.width
        low, high = (-(1 << n - 1), (1 << n) - 1) if self.wrap else self.limits
        if not low <= v <= high:
            return None
        return Bits(self.field.mask, self.field.put(v & (1 << n) - 1))


@dataclass(frozen=True)
class Relative(Imm):
    """A code address that is kept as its distance from the instruction.

    `modulus` is the size of the code space where addresses wrap. Printed as the address, or (`as_distance`) as the
    distance with its sign; in such a text a number is a distance, too, and a name an address.
    """

    modulus: int = 0
    as_distance: bool = False
    addressed = True

    def target(self, word: int, address: int) -> int:
        """Return the address that an instruction at `address` means."""
        found = address + self.value(word)
        return found % self.modulus if self.modulus else found

    def reaching(self, target: int, address: int) -> Bits | None:
        """Return the bits for a target, None when it is out of reach."""
        if self.modulus and not 0 <= target < self.modulus:
            return None
        return self.encode((target - address) % self.modulus if self.modulus else target - address)


@dataclass(frozen=True)
class Constant(Bitless):
    """A number that is always the same, after a `prefix`; `hint` says what can be written here."""

    value: int
    prefix: str = ""
    hint: str = ""


# --- one of several --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Alternative:
    """One branch of a choice: taken when the word has the bits `when` (and not `unless`).

    `tells` are the bits that the text says besides those of the part (default: `when`); a text is read as both. Where
    they contradict each other, the branch is only shown: its text says `tells` alone and is read by another branch.
    `says` explains fields; what it says of some bits takes the place of what the part says of them. `quiet`: so many
    tokens of an operand that may be left out are not listed among what was expected; after them it is not left out,
    nor where the last of them is the word `telling`.
    """

    when: Bits
    part: Part
    needs: frozenset[str] = frozenset()
    unless: Bits | None = None
    tells: Bits | None = None
    says: Mapping[Field, str] = member(default_factory=dict[Field, str])
    quiet: int = 0
    telling: str = ""

    def applies(self, word: int) -> bool:
        """Return true if the word selects this alternative."""
        return word & self.when.mask == self.when.value and not (self.unless and self.unless.holds(word))

    @property
    def always(self) -> bool:
        """True if the alternative is nothing but its part, for all words."""
        return not (self.when.mask or self.unless or self.tells or self.says)

    @property
    def unconditional(self) -> bool:
        """True if every word selects it."""
        return self.when.mask == 0 and self.unless is None

    @cached_property
    def reading(self) -> Bits | None:
        """The bits of texts that are read as this alternative, without the part's; None where none are."""
        if type(self.part) is Illegal:
            return None
        return self.when if self.tells is None else self.tells.join(self.when)


def when(
    conditions: dict[Field, int] | Bits,
    part: Part,
    *,
    needs: str | Sequence[str] = "",
    unless: dict[Field, int] | None = None,
    tells: dict[Field, int] | None = None,
    says: Mapping[Field, str] | None = None,
    quiet: int = 0,
    telling: str = "",
) -> Alternative:
    """Return an alternative taken when every field has its value.

    `needs` names features it exists with; for the others see `Alternative`.
    """
    return Alternative(
        conditions if isinstance(conditions, Bits) else where(conditions),
        part,
        needs_set(needs),
        where(unless) if unless else None,
        None if tells is None else where(tells),
        says or {},
        quiet,
        telling,
    )


@dataclass(frozen=True)
class Choice(Part):
    """Alternatives selected by other bits; the first that applies is taken, none is a decode error."""

    alternatives: tuple[Alternative, ...]
    illegal: str = ILLEGAL

    @cached_property
    def children(self) -> Sequence[Part]:  # type: ignore[override]
        return [a.part for a in self.alternatives]

    @cached_property
    def addressed(self) -> bool:  # type: ignore[override]
        return any(p.addressed for p in self.children)

    def branch(self, word: int) -> Alternative | None:
        """Return the alternative the word selects."""
        for a in self.alternatives:
            if a.applies(word):
                return a
        return None

    def pick(self, word: int) -> Part | None:
        """Return the part the word selects."""
        a = self.branch(word)
        return None if a is None else a.part

    @cached_property
    def complete(self) -> bool:
        """True if every word picks an alternative, as far as one selector field shows it."""
        if any(a.unconditional for a in self.alternatives):
            return True
        masks = {a.when.mask for a in self.alternatives if a.unless is None}
        return any(
            len({a.when.value for a in self.alternatives if a.when.mask == m and a.unless is None})
            == 1 << m.bit_count()
            for m in masks
        )

    def leads_to(self, i: int, b: Bits) -> bool:
        """Return true if these bits may be alternative `i`: no condition excludes it, no earlier one claims them."""
        a = self.alternatives[i]
        if a.unless and a.unless.mask & ~b.mask == 0 and a.unless.holds(b.value):
            return False
        return not any(
            e.when.mask & ~b.mask == 0 and e.when.holds(b.value) and not (e.unless and e.unless.holds(b.value))
            for e in self.alternatives[:i]
        )


def choice(*alternatives: Alternative, illegal: str = ILLEGAL) -> Choice:
    """Return a choice between alternatives made with `when`."""
    return Choice(alternatives, illegal)


@dataclass(frozen=True)
class Spellings(Choice):
    """Several spellings of one meaning, the canonical one first where several read a text.

    `describe(word)` explains the bits, where the spellings do not do that well.

    `meaning(word, binder)` is what the semantics gets; only the bits `fixed` may influence its Python control flow.
    """

    meaning: Meaning = lambda word, b: None
    fixed: int = 0
    hint: str = ""
    describe: Callable[[int], list[Row]] | None = None

    def leads_to(self, i: int, b: Bits) -> bool:
        """Return true: another spelling of what an earlier alternative says is welcome."""
        return True


def spellings(
    *alternatives: Alternative,
    meaning: Meaning,
    static: Sequence[Field] = (),
    hint: str = "",
    describe: Callable[[int], list[Row]] | None = None,
) -> Spellings:
    """Return several spellings of one meaning, made with `when`; `static` are the fields the meaning may look at."""
    fixed = union(f.mask for f in static)
    return Spellings(alternatives, meaning=meaning, fixed=fixed, hint=hint, describe=describe)


# --- one after the other ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Dependent(Part):
    """A part that other bits decide, which stand in front of it in a template: `choose(word)`, None where illegal.

    `bits` are all that it looks at or may claim. `same`: contexts make no difference to the parts.
    """

    choose: Callable[[int], Part | None]
    bits: int
    same: bool = False
    illegal: str = ILLEGAL

    def given(self, word: int) -> Part:
        """Return the part that the bits decide."""
        return self.choose(word) or Illegal(self.illegal)


_TOKEN = re.compile(r"(\s*)(\+\+|[\[\]():+|*]|\{\w*\}|[^\s\[\]():+|*{}]+)")
_HOLE = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True)
class Template(Part):
    """An operand by its spelling, see `template`."""

    spelling: str
    kind: type[Operand]
    holes: Mapping[str, Part]
    facts: StaticFacts = member(default_factory=dict[str, object])
    hints: StaticFacts | Callable[[int], StaticFacts] = member(default_factory=dict[str, object])
    make: Callable[..., Any] | None = None
    hint: str = ""
    meanings: Mapping[str, str] = member(default_factory=dict[str, str])
    fits: Callable[[Any], bool] | None = None

    @cached_property
    def items(self) -> list[tuple[str, str, Part | None]]:
        """(blank in front, token or hole's name, the hole's part) in the order of the text."""
        out: list[tuple[str, str, Part | None]] = []
        for blank, token in _TOKEN.findall(self.spelling):
            hole = _HOLE.fullmatch(token)
            out.append((blank, hole[1], self.holes[hole[1]]) if hole else (blank, token, None))
        return out

    @cached_property
    def children(self) -> Sequence[Part]:  # type: ignore[override]
        return list(self.holes.values())

    @cached_property
    def addressed(self) -> bool:  # type: ignore[override]
        return any(p.addressed for p in self.children)

    @cached_property
    def register(self) -> Reg | None:
        """The register that the other holes modify, in the spelling of one with modifiers."""
        found = self.holes.get("register") if self.kind is Register else None
        return found if isinstance(found, Reg) else None

    @property
    def is_group(self) -> bool:
        """True if it is several operands."""
        return self.kind is Compound


def template(
    spelling: str,
    kind: type[Operand] = Word,
    make: Callable[..., object] | None = None,
    *,
    hint: str = "",
    facts: StaticFacts | None = None,
    hints: StaticFacts | Callable[[int], StaticFacts] | None = None,
    meanings: Mapping[str, str] | None = None,
    fits: Callable[[Any], bool] | None = None,
    **holes: Part | Field,
) -> Template:
    """Return an operand by how it is written: one line from which text, reading, bits and the typed operand follow.

    `template("g{space}[{base}]", Memory, space=bank, base=word(address))` is all there is to say of a g[] operand. The
    language is small: characters that stand for themselves, and holes. A hole that is a token of its own is a part; one
    inside a token (`g{space}`, `$t{}`) is a field whose number completes the word; one after a dot
    (`{register}.{swizzle}`) is letters of the same word. What a hole is may be decided by the bits before it
    (`Dependent`). Several spellings of one meaning are a `Spellings`: alternatives as in a `Choice`, but the meaning
    looks at none of them.

    Args:
        spelling: the text, with holes: `g{space}[{base}]`.
        kind: the class of operand; holes have the names of its attributes. Where it is `Register` and a hole is named
            `register`, the other holes are that register's modifiers.
        make: what the semantics gets, from the bound holes (default: a dict of them).
        hint: what can be written here, for diagnostics (default: the spelling with what the holes accept).
        facts: attributes of the operand that the spelling says without a hole.
        hints: attributes that it has besides, but that do not decide whether an operand made by hand can be written so;
            may be a function of the word.
        meanings: explanations of the holes, with `{}` for what the hole itself says.
        fits: a further condition for operands made by hand.
        holes: the parts of the holes; a field where the hole is part of a word with a number.
    """
    if sorted(_HOLE.findall(spelling)) != sorted(holes):
        raise DefinitionError(f"{spelling!r} has other holes than the parts it is given: {', '.join(holes)}")
    for word in spelling.replace("[", " ").replace("]", " ").split():
        for name in _HOLE.findall(word):
            f = holes[name]
            if isinstance(f, Field):
                names = tuple(word.replace(f"{{{name}}}", str(v)) for v in range(1 << f.width))
                holes[name] = Numbered(f, names)
                spelling = spelling.replace(word, f"{{{name}}}")
    parts = {n: p for n, p in holes.items() if isinstance(p, Part)}
    modified = kind is Register and isinstance(parts.get("register"), Reg)
    unknown = [] if kind is Compound or modified else [n for n in (*parts, *(facts or ())) if n not in kind.__slots__]
    if unknown:
        raise DefinitionError(
            f"{spelling!r}: {kind.__name__} has no {', '.join(unknown)}; it has {', '.join(kind.__slots__)}."
            " Name a class of operands with these attributes: Compound where each hole is an operand"
        )
    return Template(spelling, kind, parts, facts or {}, hints or {}, make, hint, meanings or {}, fits)
