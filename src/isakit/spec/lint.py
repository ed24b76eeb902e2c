"""Checks that run when a record is added: a contradiction fails the import and names the record."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations, product

from isakit.errors import DefinitionError
from isakit.spec.fields import Bits
from isakit.spec.parts import possible_bits, static_bits
from isakit.spec.parts.base import Part, union
from isakit.spec.parts.bits import fields_of, required_fields
from isakit.spec.record import Form, Record


class KnownForms:
    """Forms by the bits that all of one size fix, because nearly all pairs differ there."""

    def __init__(self, forms: Iterable[Form] = ()) -> None:
        self._common: dict[int, int] = {}  # units -> bits that all forms of the size fix
        self._forms: dict[tuple[int, int], list[Form]] = {}  # (units, those bits) -> forms
        for f in forms:
            self.add(f)

    def add(self, form: Form) -> None:
        """Remember a form."""
        units = form.units
        known = self._common.get(units, -1)
        common = self._common[units] = known & form.fixed.mask
        if common != known:
            again = [f for key in list(self._forms) if key[0] == units for f in self._forms.pop(key)]
            for f in again:
                self._forms.setdefault((units, f.fixed.value & common), []).append(f)
        self._forms.setdefault((units, form.fixed.value & common), []).append(form)

    def like(self, form: Form) -> list[Form]:
        """Return the forms whose fixed bits are compatible with this one's."""
        units, mask, value = form.units, form.fixed.mask, form.fixed.value
        common = self._common.get(units, 0)
        if common & ~mask:
            candidates = [f for key, forms in self._forms.items() if key[0] == units for f in forms]
        else:
            candidates = self._forms.get((units, value & common), [])
        return [f for f in candidates if not ((b := f.fixed).value ^ value) & b.mask & mask]


def place_of(function: Callable[..., object] | None) -> str:
    """Return where a function stands: file and line of its first decorator, empty for none."""
    if function is None:
        return ""
    code = inspect.unwrap(function).__code__
    return f"{code.co_filename}, line {code.co_firstlineno}"


def check_record(record: Record, isa: str, known: KnownForms, read: dict[int, Part]) -> None:
    """Raise DefinitionError, with the place of the record, for one that contradicts itself or a known form.

    `read` are operands that are known to read what they print, by `id`.
    """
    try:
        _check_record(record, isa, known, read)
    except DefinitionError as e:
        place = place_of(record.semantics)
        raise DefinitionError(f"{e} ({place})" if place else str(e)) from None


def _check_record(record: Record, isa: str, known: KnownForms, read: dict[int, Part]) -> None:
    from isakit.spec.read_back import check_reading  # a record that passed earlier is loaded without reading texts

    label = f"{isa}: record {record.name!r}"
    if not record.forms:
        raise DefinitionError(f"{label} has no form")
    if not record.doc.strip():
        raise DefinitionError(f"{label} has no documentation: give its function a docstring")
    parameters = None if record.semantics is None else inspect.signature(record.semantics).parameters
    before = KnownForms()
    for i, form in enumerate(record.forms):
        where = f"{label}, form {i} ({form.layout.name})"
        _check_syntax(form, where)
        _check_bits(form, where)
        _check_parameters(parameters, form, where)
        if not form.mnemonics:
            raise DefinitionError(f"{where}: no mnemonic; give it a `name` part or a literal word")
        if form.declaration is not None:
            form.declaration.check()
        for name, part in form.parts.items():
            if id(part) not in read:
                check_reading(name, part, form, where)
                read[id(part)] = part
        for other in known.like(form) + before.like(form):
            if overlap(form, other):
                owner = other.record.name if other.record else record.name
                raise DefinitionError(
                    f"{where} overlaps a {other.layout.name} form of record {owner!r}: some words match both"
                )
        before.add(form)


def _check_syntax(form: Form, where: str) -> None:
    named = [i[1:-1] for i in form.syntax if i[0] == "{"]
    for name in form.parts:
        if named.count(name) != 1:
            raise DefinitionError(f"{where}: part {name!r} stands {named.count(name)} times in the syntax, not once")


def _check_bits(form: Form, where: str) -> None:
    for name, part in form.parts.items():
        both = possible_bits(part) & form.fixed.mask
        # A selector may repeat a fixed bit; a part that is nothing but fixed bits is a mistake.
        if possible_bits(part) and possible_bits(part) == both:
            raise DefinitionError(f"{where}: part {name!r} only uses bits that are fixed ({both:#x})")
    for (one, a), (other, b) in combinations(form.parts.items(), 2):
        # Operands may share what selects, and a whole field: texels go where texture coordinates were.
        shared, selecting = fields_of(a) & fields_of(b), static_bits(a) & static_bits(b)
        pairs = product(required_fields(a) - shared, required_fields(b) - shared)
        both, advice = union(x & y & ~selecting for x, y in pairs), ""
        if not both and not {one, other} & form.sharing.keys():
            both = union(x & y for x, y in product(fields_of(a) - shared, fields_of(b) - shared))
            advice = " in some words; where the machine has it so, `sharing` of the shape says why"
        if both:
            raise DefinitionError(f"{where}: parts {one!r} and {other!r} both use the bits {both:#x}{advice}")
    accounted = form.fixed.mask & form.ignored
    if accounted:
        raise DefinitionError(f"{where}: bits {accounted:#x} are both fixed and ignored")


def _check_parameters(parameters: Mapping[str, inspect.Parameter] | None, form: Form, where: str) -> None:
    if parameters is None:
        return
    given = {n for n in form.parts if n not in form.control} | set(form.constants)
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        raise DefinitionError(f"{where}: the semantics function must name its parameters, not take **")
    needed = {n for n, p in parameters.items() if p.default is p.empty}
    if needed - given:
        raise DefinitionError(
            f"{where}: the semantics function wants {sorted(needed - given)}, the form has no such part"
        )
    if given - set(parameters):
        raise DefinitionError(f"{where}: the semantics function has no parameter {sorted(given - set(parameters))}")


def _excluded(form: Form, by: Bits) -> bool:
    """Return true if every word with the bits `by` is excluded from `form` by an `unless`."""
    return any(u.mask & ~by.mask == 0 and u.holds(by.value) for u in form.unless)


def _complementary(a: Form, b: Form) -> bool:
    """Return true if one form excludes a bit being 0 and the other the same bit being 1."""
    one = {u.mask: u.value for u in a.unless if u.mask.bit_count() == 1}
    return any(u.mask in one and one[u.mask] != u.value for u in b.unless)


def overlap(a: Form, b: Form) -> bool:
    """Return true if some word matches both forms in some context."""
    if a.layout.units != b.layout.units:
        return False
    joined = a.fixed.join(b.fixed)
    if joined is None or _excluded(a, joined) or _excluded(b, joined) or _complementary(a, b):
        return False
    return not _exclusive_needs(a, b)


def _exclusive_needs(a: Form, b: Form) -> bool:
    """Return true if one form needs a feature that the other needs to be absent."""
    return any(f"!{n}" in b.needs for n in a.needs) or any(f"!{n}" in a.needs for n in b.needs)
