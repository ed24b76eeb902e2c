"""An instruction set: its records, variants, registers and rules, with the checks that run when it is loaded."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from pickle import PicklingError
from types import CodeType
from typing import Any, TypeVar

from isakit.errors import DefinitionError, UnknownIsaError
from isakit.lean import cached_property, dataclass
from isakit.object_cache import content_key, read_object, write_object
from isakit.registry import VARIANTS
from isakit.spec.lint import KnownForms, check_record, place_of
from isakit.spec.names import check_features, check_globals, declare_features
from isakit.spec.parts import Context, Part
from isakit.spec.record import Form, InstructionKind, Record, Ref, Status

F = TypeVar("F", bound=Callable[..., object])
W = TypeVar("W", bound=StrEnum)


@dataclass(frozen=True)
class RegisterFile:
    """A register file of the semantics: number of registers and their width in bits.

    `constant` are registers that always read the same and ignore writes. `flags` names the bits of a register that
    conditions test, bit 0 first.
    """

    name: str
    count: int
    width: int
    doc: str = ""
    text: str = ""
    ref: Ref | None = None
    constant: frozenset[int] = frozenset()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pseudo:
    """An instruction of the assembler only: `NAME DST VALUE` expands to the instructions that `expand` returns.

    The value is between `low` and `high` and must be known at the statement.
    """

    usage: str
    doc: str
    expand: Callable[[str, int], Sequence[str]]
    low: int
    high: int


@dataclass(frozen=True)
class NamedSpecial:
    """A named special register: number, meaning, the features it exists with."""

    number: int
    name: str
    doc: str
    ref: Ref
    status: Status
    needs: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Space:
    """A memory space, by the documents' name; an address counts units of `cell` bytes."""

    name: str
    doc: str
    ref: Ref
    cell: int = 1


@dataclass(frozen=True)
class Variant:
    """A variant of an instruction set: the features it has and its unit of code."""

    name: str
    features: frozenset[str]
    doc: str = ""
    unit_bits: int = 32
    unit_bytes: int = 4
    aliases: tuple[str, ...] = ()


def _one_of(kind: type[W], what: str, word: str, place: str) -> W:
    """Return the member that a record names for `what`. Raises DefinitionError with the place of the record."""
    if word in {member.value for member in kind}:
        return kind(word)
    *others, last = (f'"{member}"' for member in kind)
    problem = f"{word!r} is not a {what}" if word else f"no {what}"
    raise DefinitionError(f"{place}: {problem}; give it {what}={', '.join(others)} or {last}")


@dataclass(eq=False, repr=False)
class InstructionSet:
    """Everything that is known about an instruction set.

    `length(unit)` gives the number of units of the instruction that starts with `unit`; instructions of n units start
    at multiples of n units, else they are the decode error `misaligned`.
    """

    name: str
    variants: Mapping[str, Variant]
    doc: str
    length: Callable[[int], int]
    programs: tuple[str, ...] = ("",)
    default_program: str = ""
    misaligned: str = "UNALIGNED_INSTRUCTION"
    registers: dict[str, RegisterFile] = field(default_factory=dict[str, RegisterFile])
    special_registers: list[NamedSpecial] = field(default_factory=list[NamedSpecial])
    spaces: list[Space] = field(default_factory=list[Space])
    records: list[Record] = field(default_factory=list[Record])
    documents: dict[str, str] = field(default_factory=dict[str, str])
    prefixes: frozenset[str] = frozenset()
    #: words that never stand after the name of an instruction
    in_front: frozenset[str] = frozenset()
    outputs: frozenset[str] = frozenset({"dst", "cdst"})
    default_variant: str = ""
    #: operands after which the lanes that execute are finished
    ends_with: frozenset[str] = frozenset()
    #: the operand that says how often an instruction is executed, its other operands moving on each time
    repeats_with: str = ""
    #: instructions after a branch, call or return that are executed before it takes effect
    delay_slots: int = 0
    #: program type -> register files whose content is read after the program has ended
    results: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    #: register files that hold the same in all lanes when a program begins; None where there is one lane only
    uniform_inputs: frozenset[str] | None = frozenset()
    #: memory spaces that all lanes share: a load from one address gives all of them the same
    common_spaces: frozenset[str] = frozenset()
    #: branch targets and labels count units of code instead of bytes
    word_addressed: bool = False
    #: address of the first kernel parameter in shared memory
    param_base: int = 0
    #: operation -> word of its long forms that a text may leave out; short and immediate forms mean it without a word
    implied: Mapping[str, str] = field(default_factory=dict[str, str])
    #: instructions of the assembler only, by name
    pseudo: Mapping[str, Pseudo] = field(default_factory=dict[str, "Pseudo"])
    #: (regular expression on a statement, advice): what people write that is said in another way
    advice: tuple[tuple[str, str], ...] = ()
    #: a statement as it is written, for those who know another language
    sample: str = ""
    #: (regular expression on a name in lower case, what it is): names of products, which are no variants
    products: tuple[tuple[str, str], ...] = ()
    #: faults of the machine, `isakit.sem.faults.Fault`
    faults: Sequence[Any] = ()
    #: the package whose import adds the records; `complete` checks them together, any other instruction set at once
    package: str = ""
    _views: dict[Hashable, View] = field(default_factory=dict[Hashable, "View"], repr=False)
    _forms: dict[Hashable, Form] = field(default_factory=dict[Hashable, Form], repr=False)
    _alike: dict[Form, list[Form]] = field(default_factory=dict[Form, "list[Form]"], init=False, repr=False)
    _unchecked: list[Record] = field(default_factory=list[Record], init=False, repr=False)
    _unnamed: list[Record] = field(default_factory=list[Record], init=False, repr=False)
    _known_forms: KnownForms | None = field(default=None, init=False, repr=False)
    _checked_parts: dict[int, object] = field(default_factory=dict[int, object], init=False, repr=False)
    _read_parts: dict[int, Part] = field(default_factory=dict[int, Part], init=False, repr=False)
    _checked_code: set[CodeType] = field(default_factory=set[CodeType], init=False, repr=False)

    def __repr__(self) -> str:
        return f"<records of {self.name}: {len(self.records)} instruction families>"

    @cached_property
    def features(self) -> frozenset[str]:
        """Everything a `needs=` may name: features and names of the variants, and program types."""
        of_variants = (v.features | {v.name} for v in self.variants.values())
        known = frozenset(self.programs).union(*of_variants) - {""}
        declare_features(known)
        return known

    def insn(
        self,
        forms: Sequence[Form],
        *,
        ref: Ref,
        status: Status | str = "",
        notes: Sequence[str] = (),
        see: Sequence[Ref] = (),
        name: str = "",
        group: InstructionKind | str = InstructionKind.ARITHMETIC,
        ends: bool = False,
        links: str = "",
        **facts: object,
    ) -> Callable[[F], F]:
        """Return a decorator that records an instruction: encodings here, meaning and manual text in the function.

        There is no default for `status`: `known` is the strongest claim. The decorator raises DefinitionError.
        """

        def register(function: F) -> F:
            doc = function.__doc__ or ""
            own = name or function.__name__
            place = f"{self.name}: record {own!r} ({place_of(function)})"
            self.add(
                Record(
                    own,
                    tuple(forms),
                    function,
                    inspect.cleandoc(doc) if "\n" in doc else doc.strip(),
                    ref,
                    _one_of(Status, "status", status, place),
                    tuple(notes),
                    tuple(see),
                    self.name,
                    _one_of(InstructionKind, "group", group, place),
                    ends,
                    links,
                    facts,
                )
            )
            return function

        return register

    def add(self, record: Record) -> Record:
        """Keep a record, checked on its own and against the others. Raises DefinitionError."""
        bound = replace(record)
        object.__setattr__(bound, "forms", tuple(f.of(bound) for f in record.forms))
        self._unchecked.append(bound)
        self._unnamed.append(bound)
        self.records.append(bound)
        if not self.package:
            try:
                self._check()
            except DefinitionError:
                self.remove(bound)
                raise
        return bound

    @property
    def known_forms(self) -> KnownForms:
        """The forms that those of another record must not contradict."""
        if self._known_forms is None:
            new = {id(r) for r in self._unchecked}
            self._known_forms = KnownForms(f for r in self.records if id(r) not in new for f in r.forms)
        return self._known_forms

    def _check(self) -> None:
        """Check the new records."""
        while self._unchecked:
            record = self._unchecked[0]
            known = self.known_forms
            check_record(record, self.name, known, self._read_parts)
            check_features(record, self.features, self._checked_parts)
            for form in record.forms:
                known.add(form)
            del self._unchecked[0]

    def complete(self) -> None:
        """Check the records of the package, for the end of its import. Raises DefinitionError.

        What has passed is noted in the cache with the content of the files, and not checked in later processes.
        """
        key = content_key("errors.py", "lean.py", "sem", "spec", "/".join(self.package.split(".")[1:]))
        if read_object("checked", f"{self.name}-{key}") is None:
            self._check()
            self.check_names()
            write_object("checked", f"{self.name}-{key}", b"")
        self._unchecked.clear()
        self._unnamed.clear()
        self.package = ""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it as its name: the instruction sets of this package are the same in every process."""
        if self.name not in VARIANTS or instruction_set(self.name) is not self:
            raise PicklingError(f"the instruction set {self.name!r} is not one of this package's")
        return instruction_set, (self.name,)

    def check_names(self) -> None:
        """Raise DefinitionError for new records that use a name nothing defines; making a view does it, too."""
        while self._unnamed:
            check_globals(self._unnamed[-1], self._checked_code)
            self._unnamed.pop()

    def remove(self, record: Record) -> None:
        """Remove a record."""
        self.records.remove(record)
        self._unchecked = [r for r in self._unchecked if r is not record]
        self._unnamed = [r for r in self._unnamed if r is not record]
        self._known_forms = None

    def variant(self, name: str) -> Variant:
        """Return a variant by name or alias, in any case. Raises UnknownIsaError."""
        wanted = name.lower()
        for v in self.variants.values():
            if wanted == v.name or wanted in v.aliases:
                return v
        raise UnknownIsaError(
            f"{self.name} has no variant {name[:40]!r}{self.product(name)}; it has {', '.join(self.variants)}"
        )

    def product(self, name: str) -> str:
        """Return a colon and what is known of the product of this name; "" where nothing is."""
        return next((f": {what}" for pattern, what in self.products if re.search(pattern, name.lower())), "")

    def view(self, variant: str, program: str) -> View:
        """Return the forms as they are in one variant and program type.

        A view stays valid when records are added or removed: it is what the instruction set was. The same records give
        the same view, and a form is the same object in all views it is in.
        """
        records = tuple(self.records)
        found = self._views.get((variant, program, records))
        if found is not None:
            return found
        if program not in self.programs:
            raise UnknownIsaError(f"{self.name} has no program type {program!r}; it has {', '.join(self.programs)}")
        self.check_names()
        v = self.variant(variant)
        ctx = Context(v.features | frozenset({v.name, program} - {""}))
        view = self._views[variant, program, records] = View(self, v, program, ctx, records)
        return view

    def resolved(self, form: Form, ctx: Context) -> Form:
        """Return a form of a record as it is in a context: one object for all contexts that do not differ for it."""
        found = self._forms.get((form, ctx))
        if found is None:
            found = form.resolve(ctx)
            alike = self._alike.setdefault(form, [])
            found = next((f for f in alike if f.is_like(found)), found)
            if found not in alike:
                alike.append(found)
            self._forms[form, ctx] = found
        return found


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """An instruction set in one context, still including the forms that the context lacks."""

    isa: InstructionSet
    variant: Variant
    program: str
    context: Context
    records: tuple[Record, ...]

    def __repr__(self) -> str:
        return f"<view of {self.isa.name} {self.variant.name} {self.program}".rstrip() + ">"

    @cached_property
    def declared(self) -> tuple[Form, ...]:
        """The forms as they are in the records, for all contexts."""
        return tuple(f for r in self.records for f in r.forms)

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """The forms as they are in the context, in the order of `declared`."""
        return tuple(self.resolved(f) for f in self.declared)

    def resolved(self, form: Form) -> Form:
        """Return a form of `declared` as it is in the context."""
        return self.isa.resolved(form, self.context)

    def name_of(self, form: Form) -> str:
        """Return a name for a form of `forms`: that of its record, and its number among the forms of that."""
        assert form.record is not None
        return f"{form.record.name}.{next(k for k, f in enumerate(form.record.forms) if self.resolved(f) is form)}"

    def available(self, form: Form) -> bool:
        """Return true if the context has the form at all."""
        return self.context.has(form.needs)


def instruction_set(name: str) -> InstructionSet:
    """Return the records of an instruction set by its name. Raises UnknownIsaError."""
    if name not in VARIANTS:
        raise UnknownIsaError(f"there is no instruction set {name[:40]!r}; there are {', '.join(VARIANTS)}")
    try:
        module = importlib.import_module(f"isakit.arch.{name}")
    except ModuleNotFoundError as e:
        raise UnknownIsaError(f"this installation has no instruction set {name!r}") from e
    return getattr(module, name)
