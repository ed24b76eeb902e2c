"""An instruction set: its records, variants, registers and rules, with the checks that run when it is loaded."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pickle import PicklingError
from types import CodeType
from typing import Any

from isakit.errors import UnknownIsaError
from isakit.lean import dataclass
from isakit.registry import VARIANTS, instruction_set
from isakit.spec.lint import KnownForms, check_record
from isakit.spec.names import check_features, check_globals, declare_features
from isakit.spec.parts import Context
from isakit.spec.record import Form, Kind, Record, Ref, Status


@dataclass(frozen=True)
class RegisterFile:
    """A register file as the semantics sees it: how many registers of how many bits.

    `constant` are registers that always read the same and that writes do not change.
    """

    name: str
    count: int
    width: int
    doc: str = ""
    text: str = ""
    ref: Ref | None = None
    constant: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Pseudo:
    """An instruction of the assembler only: `NAME DST VALUE` stands for the instructions that `expand` gives.

    The value lies between `low` and `high` and must be known where the statement stands.
    """

    usage: str
    doc: str
    expand: Callable[[str, int], Sequence[str]]
    low: int
    high: int


@dataclass(frozen=True)
class SpecialRegister:
    """A named special register: number, meaning, the features it exists with."""

    number: int
    name: str
    doc: str
    ref: Ref
    status: Status = Status.KNOWN
    needs: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Space:
    """A memory space as the documents name it; one address stands for `cell` bytes."""

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


@dataclass(eq=False)
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
    layouts: tuple[Any, ...] = ()
    registers: dict[str, RegisterFile] = field(default_factory=dict[str, RegisterFile])
    special_registers: list[SpecialRegister] = field(default_factory=list[SpecialRegister])
    spaces: list[Space] = field(default_factory=list[Space])
    records: list[Record] = field(default_factory=list[Record])
    documents: dict[str, str] = field(default_factory=dict[str, str])
    prefixes: frozenset[str] = frozenset()
    outputs: frozenset[str] = frozenset({"dst", "cdst"})
    default_variant: str = ""
    #: operands after which the lanes that execute are finished
    ends_with: frozenset[str] = frozenset()
    #: instructions behind a branch, call or return that are executed before it takes effect
    delay_slots: int = 0
    #: program type -> register files whose content is read after the program has ended
    results: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
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
    _views: dict[Any, View] = field(default_factory=dict[Any, "View"], repr=False)
    _forms: dict[Any, Form] = field(default_factory=dict[Any, Form], repr=False)
    #: what the forms of another record must not contradict
    known_forms: KnownForms = field(default_factory=KnownForms, init=False, repr=False)
    _alike: dict[Form, list[Form]] = field(default_factory=dict[Form, "list[Form]"], init=False, repr=False)
    _unchecked: list[Record] = field(default_factory=list[Record], init=False, repr=False)
    _checked_parts: dict[int, object] = field(default_factory=dict[int, object], init=False, repr=False)
    _checked_code: set[CodeType] = field(default_factory=set[CodeType], init=False, repr=False)

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
        status: Status = Status.KNOWN,
        notes: Sequence[str] = (),
        see: Sequence[Ref] = (),
        name: str = "",
        group: Kind | str = Kind.ARITHMETIC,
        ends: bool = False,
        links: str = "",
        **facts: Any,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator that records an instruction: its encodings here, its meaning and manual text in the function."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            doc = function.__doc__ or ""
            self.add(
                Record(
                    name or function.__name__,
                    tuple(forms),
                    function,
                    inspect.cleandoc(doc) if "\n" in doc else doc.strip(),
                    ref,
                    status,
                    tuple(notes),
                    tuple(see),
                    self.name,
                    Kind(group),
                    ends,
                    links,
                    facts,
                )
            )
            return function

        return register

    def add(self, record: Record) -> Record:
        """Check a record on its own and against the others, and keep it."""
        bound = replace(record)
        object.__setattr__(bound, "forms", tuple(replace(f, record=bound) for f in record.forms))
        check_record(bound, self)
        for form in bound.forms:
            self.known_forms.add(form)
        check_features(bound, self.features, self._checked_parts)
        self._unchecked.append(bound)
        self.records.append(bound)
        return bound

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its name: the instruction sets of this package are the same in every process."""
        if self.name not in VARIANTS or instruction_set(self.name) is not self:
            raise PicklingError(f"the instruction set {self.name!r} is not one of this package's")
        return instruction_set, (self.name,)

    def check_names(self) -> None:
        """Raise DefinitionError for new records that use a name nothing defines.

        For the end of an instruction set's package, when every module of it has been imported; making a view does it,
        too.
        """
        while self._unchecked:
            check_globals(self._unchecked[-1], self._checked_code)
            self._unchecked.pop()

    def remove(self, record: Record) -> None:
        """Forget a record again."""
        self.records.remove(record)
        self._unchecked = [r for r in self._unchecked if r is not record]
        self.known_forms = KnownForms(f for r in self.records for f in r.forms)

    def variant(self, name: str) -> Variant:
        """A variant by name or alias, in any case. Raises UnknownIsaError."""
        wanted = name.lower()
        for v in self.variants.values():
            if wanted == v.name or wanted in v.aliases:
                return v
        raise UnknownIsaError(f"{self.name} has no variant {name!r}; it has {', '.join(self.variants)}")

    def view(self, variant: str, program: str) -> View:
        """The forms as they are in one variant and program type.

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
        forms = tuple(self._resolved(f, ctx) for r in records for f in r.forms)
        view = self._views[variant, program, records] = View(self, v, program, ctx, forms, records)
        return view

    def _resolved(self, form: Form, ctx: Context) -> Form:
        found = self._forms.get((form, ctx))
        if found is None:
            found = form.resolve(ctx)
            # In contexts that do not differ for it, a form is one object: what is derived from it is made once.
            alike = self._alike.setdefault(form, [])
            found = next((f for f in alike if f.is_like(found)), found)
            if found not in alike:
                alike.append(found)
            self._forms[form, ctx] = found
        return found


@dataclass(frozen=True, eq=False)
class View:
    """An instruction set in one context: resolved forms, still including those the context lacks."""

    isa: InstructionSet
    variant: Variant
    program: str
    context: Context
    forms: tuple[Form, ...]
    records: tuple[Record, ...]

    def available(self, form: Form) -> bool:
        """Whether the context has the form at all."""
        return self.context.has(form.needs)
