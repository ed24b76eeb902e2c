"""Records: what is known about one instruction, as plain data.

A `Form` is one encoding: fixed bits plus parts. A `Record` is an instruction family: its forms, its semantics function
(whose docstring is the manual text), where the facts come from and how certain they are.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, cast

from isakit.lean import cached_property, dataclass
from isakit.spec.fields import Bits, Field, where
from isakit.spec.parts import (
    Context,
    Part,
    accepted_text,
    claimed_bits,
    error_of,
    needs_set,
    never_fails,
    possible_bits,
    resolved,
    static_bits,
    static_word,
    text_of,
)

if TYPE_CHECKING:
    from isakit.spec.parts.reading import Reader


class Status(StrEnum):
    """The certainty of a fact."""

    KNOWN = "known"
    INFERRED = "inferred"
    UNKNOWN = "unknown"


class InstructionKind(StrEnum):
    """The purpose of an instruction, in the terms of control flow and data flow."""

    ARITHMETIC = "arithmetic"
    MOVE = "move"
    MEMORY = "memory"
    TEXTURE = "texture"
    BRANCH = "branch"
    CALL = "call"
    RETURN = "return"
    EXIT = "exit"
    BARRIER = "barrier"
    CONTROL = "control"


@dataclass(frozen=True)
class Ref:
    """The source of a fact: a document's short name and the place in it."""

    document: str
    place: str

    def __str__(self) -> str:
        return f"[{self.document}] {self.place}"


@dataclass(frozen=True)
class Layout:
    """A word shape forms are written in.

    Its size in units, the bits every form of the layout fixes, and the bits that no part claims and that the assembler
    sets (`default`).
    """

    name: str
    units: int
    fixed: Bits
    default: int = 0
    doc: str = ""


@dataclass(frozen=True)
class Refusal:
    """Bits that make an otherwise matching word a named decode error."""

    when: Bits
    error: str
    unless_feature: frozenset[str] = frozenset()


class LazyOperand:
    """An operand that is made when something first looks at it: a process uses few of the forms there are."""

    def __init__(self, make: Callable[[], Part]) -> None:
        self._make = make

    @cached_property
    def part(self) -> Part:
        """The operand. Raises DefinitionError."""
        return self._make()


class Declaration(Protocol):
    """The text that a form was read from."""

    def check(self) -> None:
        """Raise DefinitionError for declared but unused names; called when the operands have been made."""
        ...


_SYNTAX = re.compile(r"\{(\w+)\}|([()])|([^\s{}()]+)")


@dataclass(frozen=True, eq=False, repr=False)
class Form:
    """One encoding of an instruction.

    `parts` may be `LazyOperand`s. `syntax` items are part names (`{name}`) or literal words. `constants` are static
    arguments of the semantics that have no bits. `idle` are bits known to have no effect, `selectors` bits that have
    none where no part looks at them, see `ignored`. `needs` are features without which the form is the decode error
    `lacking`. `control` names the parts that the machine handles and the semantics function does not receive. `sharing`
    says in words, by part name, why a part's bits may be taken by another part.
    """

    layout: Layout
    fixed: Bits
    parts: Mapping[str, Part]
    syntax: tuple[str, ...]
    constants: Mapping[str, object] = field(default_factory=dict[str, object])
    unless: tuple[Bits, ...] = ()
    idle: int = 0
    default: int = 0
    needs: frozenset[str] = frozenset()
    lacking: str = "ILLEGAL_OPCODE"
    refusals: tuple[Refusal, ...] = ()
    control: frozenset[str] = frozenset()
    record: Record | None = None
    sharing: Mapping[str, str] = field(default_factory=dict[str, str])
    selectors: int = 0
    declaration: Declaration | None = None

    def __post_init__(self) -> None:
        if any(isinstance(p, LazyOperand) for p in self.parts.values()):
            vars(self)["_later"] = vars(self).pop("parts")

    def __getattr__(self, name: str) -> Any:
        """Make the parts when they are first asked for."""
        if name != "parts" or "_later" not in vars(self):
            raise AttributeError(f"a form has no {name!r}")
        parts = vars(self)["parts"] = {n: _made(p) for n, p in self._declared_parts.items()}
        return parts

    @property
    def _declared_parts(self) -> Mapping[str, Part | LazyOperand]:
        given = vars(self)
        return given["_later"] if "_later" in given else given["parts"]

    def of(self, record: Record) -> Form:
        """Return the same form as part of a record."""
        out = copy.copy(self)
        vars(out)["record"] = record
        return out

    def __repr__(self) -> str:
        """Return a short text, as the full one would contain the record and with it all forms."""
        name = self.record.name if self.record is not None else "?"
        return f"<form of {name}: {' '.join(self.syntax)}>"

    @property
    def units(self) -> int:
        """Size in units of the instruction set."""
        return self.layout.units

    @cached_property
    def possible(self) -> int:
        """All bits some part may claim."""
        out = 0
        for p in self.parts.values():
            out |= possible_bits(p)
        return out

    @cached_property
    def ignored(self) -> int:
        """Bits known to have no effect."""
        return (self.idle | self.possible & self.selectors) & ~self.fixed.mask if self.selectors else self.idle

    @cached_property
    def static_mask(self) -> int:
        """Bits that select the trace (control parts excluded)."""
        out = 0
        for name, p in self.parts.items():
            if name not in self.control:
                out |= static_bits(p)
        return out

    def static_word(self, word: int) -> int:
        """Return the bits of `word` that select the trace, the others 0."""
        out = 0
        for name, p in self.parts.items():
            if name not in self.control:
                out |= static_word(p, word)
        return out

    @cached_property
    def readers(self) -> list[tuple[Reader | None, frozenset[str] | None]]:
        """The functions that read the items of the syntax, without those that are never written.

        Each (None: a word and no more) is with the tokens that its item begins with, None where it may be left out.
        """
        from isakit.spec.parts import Literal, Nothing, reader, start_words

        out: list[tuple[Reader | None, frozenset[str] | None]] = []
        for item in self.syntax:
            part = self.parts[item[1:-1]] if item[0] == "{" else None
            if part is None:
                out.append((None, frozenset({item})))
            elif type(part) is Literal and part.is_word:
                out.append((None, frozenset({part.words, *part.aliases})))
            elif type(part) is not Nothing:
                words = start_words(part)
                out.append((reader(part), None if words is None or "" in words else words))
        return out

    @cached_property
    def addressed(self) -> bool:
        """True if the text of an operand depends on the address of the instruction."""
        return any(p.addressed for p in self.parts.values())

    @cached_property
    def code_address(self) -> str | None:
        """The part that says where the instruction branches."""
        return next((n for n, p in self.parts.items() if p.code_address), None)

    @cached_property
    def base(self) -> int:
        """The word before any part is put in: fixed and default bits."""
        return self.fixed.value | self.default & ~self.fixed.mask

    def matches(self, word: int) -> bool:
        """Return true if the fixed bits are those of `word`."""
        return self.fixed.holds(word) and not any(u.holds(word) for u in self.unless)

    def error(self, word: int) -> str | None:
        """Return the decode error of a matching word, or None."""
        for r in self.refusals:
            if r.when.holds(word):
                return r.error
        for p in self._refusing:
            e = error_of(p, word)
            if e is not None:
                return e
        return None

    @cached_property
    def _refusing(self) -> list[Part]:
        """The parts for which some words are errors."""
        return [p for p in self.parts.values() if not never_fails(p)]

    def claimed(self, word: int) -> int:
        """Return the bits that the fixed bits and the parts account for."""
        out = self.fixed.mask
        for p in self.parts.values():
            out |= claimed_bits(p, word)
        return out

    def unexplained(self, word: int) -> int:
        """Return the bits that no part tells and that the assembler would write otherwise (ignored ones included)."""
        return (word ^ self.base) & ~self.claimed(word)

    def unknown(self, word: int) -> int:
        """Set bits that are neither fixed, nor claimed, nor known to be ignored."""
        return self.unexplained(word) & ~self.ignored

    def text(self, word: int, address: int = 0, texts: Mapping[str, str] | None = None) -> str:
        """Return the canonical text without the marker for unexplained bits; `address` counts units of code.

        `texts` are put in place of the texts of some parts.
        """
        out: list[str] = []
        for item in self.syntax:
            name = item[1:-1]
            t = item
            if item[0] == "{":
                t = texts[name] if texts and name in texts else text_of(self.parts[name], word, address)
            if t:
                out.append(t)
        return join_words(out)

    def resolve(self, ctx: Context) -> Form:
        """Return the form in a context, with alternatives that do not exist there removed."""
        parts = {n: resolved(p, ctx) for n, p in self.parts.items()}
        refusals = tuple(r for r in self.refusals if not (r.unless_feature and ctx.has(r.unless_feature)))
        if refusals == self.refusals and all(parts[n] is p for n, p in self.parts.items()):
            return self
        return replace(self, parts=parts, refusals=refusals, idle=self.ignored, selectors=0)

    def is_like(self, other: Form) -> bool:
        """Return whether two contexts specialized a form to the same parts and refusals."""
        return self.refusals == other.refusals and all(other.parts[n] is p for n, p in self.parts.items())

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """A regular expression that matches every text which this form may read, and some others."""
        from isakit.spec.parts import pattern_of
        from isakit.spec.patterns import joined

        items = (pattern_of(self.parts[i[1:-1]]) if i[0] == "{" else re.escape(i) for i in self.syntax)
        return re.compile(joined(items))

    @cached_property
    def mnemonics(self) -> list[str]:
        """Words that this form's operation can begin with, to find it by name."""
        from isakit.spec.parts import Choice, Enum, Literal

        def of(part: Part) -> list[str]:
            if isinstance(part, Enum):
                return [n.split()[0] for n in [*part.names.values(), *part.aliases] if n]
            if isinstance(part, Literal):
                return part.mnemonics
            if isinstance(part, Choice):
                return [m for a in part.alternatives for m in of(a.part)]
            return []

        name = self._declared_parts.get("name")
        if name is not None:
            return of(_made(name))
        for item in self.syntax:
            if item[0] != "{" and item not in "()":
                return [item]
        return []


def _made(part: Part | LazyOperand) -> Part:
    return part.part if isinstance(part, LazyOperand) else part


def _shown(form: Form) -> list[str]:
    """Return the syntax items of a form as words: the names of its parts, but for silent ones."""
    words = (i if i[0] != "{" else i[1:-1] for i in form.syntax)
    return [w for w in words if w not in form.parts or accepted_text(form.parts[w]) not in ("", "nothing")]


def join_words(words: Sequence[str]) -> str:
    """Join words by blanks, without blanks inside parentheses."""
    return " ".join(words).replace("( ", "(").replace(" )", ")")


def parse_syntax(text: str) -> tuple[str, ...]:
    """Split a syntax line into `{part}` items, parentheses and literal words."""
    return tuple(m.group(0) for m in _SYNTAX.finditer(text))


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """An instruction family.

    `group` says what it is for. `ends`: where it executes without a condition, the next instruction does not follow.
    `links` is the flag that makes a branch a call.
    """

    name: str
    forms: tuple[Form, ...]
    semantics: Callable[..., object] | None
    doc: str
    ref: Ref
    status: Status
    notes: tuple[str, ...] = ()
    see: tuple[Ref, ...] = ()
    isa: str = ""
    group: InstructionKind = InstructionKind.ARITHMETIC
    ends: bool = False
    links: str = ""
    facts: Mapping[str, object] = field(default_factory=dict[str, object])

    def __repr__(self) -> str:
        return f"<record of {self.name} ({self.isa}): {len(self.forms)} form{'s' * (len(self.forms) != 1)}>"

    @property
    def mnemonics(self) -> list[str]:
        """All operation names of the family."""
        return list(dict.fromkeys(m for f in self.forms for m in f.mnemonics))

    @property
    def syntax(self) -> list[str]:
        """The distinct syntax lines of the forms, without parts that never print anything."""
        return list(dict.fromkeys(join_words(_shown(f)) for f in self.forms))


def make_form(
    layout: Layout,
    syntax: str | Sequence[str],
    parts: Mapping[str, Part | LazyOperand | object],
    fixed: Mapping[Field, int] | Bits,
    *,
    unless: Sequence[Mapping[Field, int] | Bits] = (),
    ignored: int = 0,
    default: int | None = None,
    needs: str | Sequence[str] = "",
    lacking: str = "ILLEGAL_OPCODE",
    refusals: Sequence[Refusal] = (),
    control: Sequence[str] = (),
    sharing: Mapping[str, str] | None = None,
    selectors: int = 0,
    declaration: Declaration | None = None,
) -> Form:
    """Build a form; `syntax` is a line or its items, see `parse_syntax`.

    Values in `parts` that are not parts become constants of the semantics. Raises ValueError for bits that contradict
    the layout.
    """
    from isakit.spec.parts import Literal

    bits = layout.fixed.join(fixed if isinstance(fixed, Bits) else where(dict(fixed)))
    if bits is None:
        raise ValueError(f"fixed bits contradict layout {layout.name}")
    real = {n: p for n, p in parts.items() if isinstance(p, Part | LazyOperand)}
    items = parse_syntax(syntax) if isinstance(syntax, str) else syntax
    texts = {n: p for n, p in parts.items() if isinstance(p, str)}
    words = [i[1:-1] for i in items if i[0] == "{" and i[1:-1] in texts]
    if "name" in parts or any(i[0] not in "{()" for i in items):
        words = [n for n in words if n != "name"]
    else:
        words = words[1:]  # the first one is the instruction's name
    # Constant words of the text are operands like others.
    real |= {n: Literal(texts[n]) for n in words if texts[n]}
    constants = {n: p for n, p in parts.items() if n not in real}
    shown: list[str] = []
    for item in items:
        name = item[1:-1]
        if item[0] == "{" and name not in real:
            shown += texts.get(name, "").split()
            continue  # a part this form does not have
        shown.append(item)
    return Form(
        layout,
        bits,
        cast("Mapping[str, Part]", real),
        tuple(shown),
        constants,
        tuple(u if isinstance(u, Bits) else where(dict(u)) for u in unless),
        ignored,
        layout.default if default is None else default,
        needs_set(needs),
        lacking,
        tuple(refusals),
        frozenset(control),
        sharing=dict(sharing or {}),
        selectors=selectors,
        declaration=declaration,
    )
