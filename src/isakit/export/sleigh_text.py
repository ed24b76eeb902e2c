"""The text of instructions as SLEIGH tables: display sections that print what `isakit dis` prints.

SLEIGH prints pieces one after the other and knows no "a blank if something stands before", so blanks are pushed down to
the pieces that may be empty. What depends on bits becomes a table of constructors with disjoint patterns, or names
attached to a field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from isakit.errors import IsakitError
from isakit.export.cubes import EVERYTHING, Cubes, both, equal, first_matching, of_values, others, within
from isakit.export.sleigh_tables import Atom, Atoms, Constructors, SleighOperand, stretches
from isakit.export.text_nodes import (
    AFTER_NUMBER,
    UNREADABLE,
    AllSet,
    AnySet,
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
    field_of,
)
from isakit.spec.fields import Bits, Field

ODD_LOW, ODD_HIGH = "odd_low", "odd_high"
"""Context variables: the bits shown in braces, as far as they are known."""
VALUE = "decimal"
"""Context variable: a number that is printed in decimal digits."""
DIGITS = 7
BAD_NAME = "_"
_MOST_PATTERNS = 512
"""Up to which nested choices are made one: every table takes a node of Ghidra's tree of an instruction."""


class Tables(Constructors):
    """The tables that print texts, match flags and take bits out of the context, for the instructions of one size."""

    def __init__(self, prefix: str, bits: int) -> None:
        super().__init__(prefix, bits)
        self._made: dict[tuple[object, ...], Atoms] = {}
        self._keep: list[object] = []
        self._cases: dict[int, list[tuple[Cubes, Node]]] = {}
        self.uses: set[str] = set()

    # --- emptiness --------------------------------------------------------------------------------------------------

    def empty(self, node: Node) -> Cubes:
        """Return the words for which a node prints nothing."""
        return self._where(node, lambda t: not t)

    def hash_first(self, node: Node) -> Cubes:
        """Return the words for which the text of a node begins with `#`."""
        return self._where(node, lambda t: t[:1] == "#")

    def _where(self, node: Node, test: Callable[[str], bool]) -> Cubes:
        """Return the words for which the text of a node passes a test."""
        if isinstance(node, FixedText):
            return EVERYTHING if test(node.text) else []
        if isinstance(node, NumberText):
            return EVERYTHING if test(node.prefix or "0") else []
        if isinstance(node, TextTable):
            return of_values(node.mask, [k for k, v in enumerate(node.values) if test(str(v))])
        if isinstance(node, Select | TableLookup):
            return [c for cubes, n in self.cases(node) for c in both(cubes, self._where(n, test))]
        if isinstance(node, Join):
            found: Cubes = []
            still_empty = EVERYTHING
            for n in node.nodes:  # the first text that is not empty decides
                found += both(still_empty, self._where(n, test) if not test("") else [])
                still_empty = both(still_empty, self.empty(n))
            return still_empty if test("") else found
        raise TypeError(type(node).__name__)

    def cases(self, node: Select | TableLookup) -> list[tuple[Cubes, Node]]:
        """Return the branches of a node with the words that select them, nested choices included."""
        found = self._cases.get(id(node))
        if found is None:
            self._keep.append(node)
            found = self._cases[id(node)] = self._flat(self._branches(node))
        return found

    def _branches(self, node: Select | TableLookup) -> list[tuple[Cubes, Node]]:
        if isinstance(node, TableLookup):
            return [
                (of_values(node.mask, [k for k, i in enumerate(node.indices) if i == number]), n)
                for number, n in enumerate(node.nodes)
            ]
        regions = list(first_matching((when, unless) for when, unless, _ in node.cases))
        return [(r, n) for r, n in zip(regions, node.nodes, strict=True) if r]

    def _flat(self, branches: list[tuple[Cubes, Node]]) -> list[tuple[Cubes, Node]]:
        out: dict[int, tuple[Cubes, Node]] = {}
        for cubes, n in branches:
            inner = self.cases(n) if isinstance(n, Select | TableLookup) else []
            rows = [(c, m) for given, m in inner if (c := both(cubes, given))]
            if not rows or sum(len(c) for c, _ in rows) > max(_MOST_PATTERNS, len(cubes)):
                rows = [(cubes, n)]
            for c, m in rows:
                out[id(m)] = [*out[id(m)][0], *c] if id(m) in out else c, m
        return list(out.values())

    def always_there(self, node: Node) -> bool:
        """Return true if a node always prints something."""
        return not self.empty(node)

    # --- text -------------------------------------------------------------------------------------------------------

    def text(self, node: Node, before: str = "", after: str = "") -> Atoms:
        """Return the text of a node, with something before and after it if it is not empty."""
        key = ("text", id(node), before, after)
        if key not in self._made:
            self._keep.append(node)
            self._made[key] = self._text(node, before, after)
        return self._made[key]

    def _text(self, node: Node, before: str, after: str) -> Atoms:
        if isinstance(node, FixedText):
            return (before + node.text + after,) if node.text else ()
        if isinstance(node, TextTable):
            return self._values(node, before, after)
        if isinstance(node, NumberText):
            return (before, *self._number(node), after)
        if isinstance(node, Select | TableLookup):
            rows = [self.constructor(self.text(n, before, after), cubes) for cubes, n in self.cases(node)]
            return (SleighOperand(self.table(rows)),)
        if isinstance(node, Join):
            return self._joined(node.nodes, node.glues, before, after)
        raise TypeError(type(node).__name__)

    def _values(self, node: TextTable, before: str, after: str) -> Atoms:
        texts = [str(v) if isinstance(v, str) else UNREADABLE for v in node.values]
        texts = [before + t + after if t else "" for t in texts]
        pieces = stretches(node.mask)
        widest = max(pieces, key=lambda p: p[1])
        named = [k for k, t in enumerate(texts) if t == BAD_NAME]
        if named:  # this name would mean that the value is none
            plain = TextTable(node.mask, tuple("" if t == BAD_NAME else t for t in texts))
            cubes = of_values(node.mask, named)
            rows = [self.constructor((BAD_NAME,), cubes), self.constructor(self.text(plain), others(cubes))]
            return (SleighOperand(self.table(rows)),)
        whole = field_of(node.mask)
        rest = node.mask & ~(((1 << widest[1]) - 1) << widest[0])
        choices: dict[tuple[str, ...], list[int]] = {}
        other = field_of(rest)
        for k in range(1 << other.width):
            word = other.put(k)
            row = tuple(texts[whole.get(word | v << widest[0])] for v in range(1 << widest[1]))
            choices.setdefault(row, []).append(k)
        if not rest:
            return (self.names(*widest, tuple(texts)),)
        lines: list[str] = []
        for row, ks in choices.items():
            shown: Atoms = (row[0],) if len(set(row)) == 1 else (self.names(*widest, row),)
            lines.append(self.constructor(shown, of_values(rest, ks)))
        return (SleighOperand(self.table(lines)),)

    def _joined(self, nodes: Sequence[Node], glues: Sequence[str], before: str, after: str) -> Atoms:
        if not nodes:
            return ()
        if len(nodes) == 1:
            return self.text(nodes[0], before, after)
        sure = next((k for k, n in enumerate(nodes) if self.always_there(n)), None)
        if sure is not None and AFTER_NUMBER not in glues[:sure]:
            out: list[Atom] = [before]
            for k, n in enumerate(nodes):
                if k < sure:
                    out += self.text(n, "", glues[k])
                elif k == sure:
                    out += self.text(n)
                elif glues[k - 1] == AFTER_NUMBER:
                    out += [*self._blank_after_number(nodes[:k]), *self.text(n)]
                else:
                    out += self.text(n, glues[k - 1])
            return (*out, after)
        if not before and not after and not any(glues):
            return tuple(a for n in nodes for a in self.text(n))
        empty = self.empty(nodes[0])
        rows: list[str] = []
        if empty:
            rows.append(self.constructor(self._joined(nodes[1:], glues[1:], before, after), empty))
        there = others(empty)
        if there:
            tail: list[Atom] = []
            for k in range(1, len(nodes)):
                if glues[k - 1] == AFTER_NUMBER:
                    tail += [*self._blank_after_number(nodes[:k]), *self.text(nodes[k])]
                else:
                    tail += self.text(nodes[k], glues[k - 1])
            rows.append(self.constructor((*self.text(nodes[0], before), *tail, after), there))
        return (SleighOperand(self.table(rows)),)

    def _blank_after_number(self, nodes: Sequence[Node]) -> Atoms:
        cubes: Cubes = []
        for n in nodes:
            cubes = self.hash_first(n) + both(self.empty(n), cubes)
        if not cubes:
            return ()
        rest = others(cubes)
        if not rest:
            return (" ",)
        return (SleighOperand(self.table([self.constructor((" ",), cubes), self.constructor((), rest)])),)

    # --- numbers ----------------------------------------------------------------------------------------------------

    def _number(self, node: NumberText) -> Atoms:
        pieces = [p for low, n in node.field.slices for p in stretches(((1 << n) - 1) << low)]
        plain = len(pieces) == 1 and node.scale == 1 and not node.relative
        if plain and node.form == "#x":
            return node.prefix, SleighOperand(self.field(*pieces[0], signed=node.signed, kind="v"))
        expression, used = self._expression(node.field, node.signed)
        if node.scale != 1:
            expression = f"({expression}) * {node.scale}"
        if node.relative:
            expression = f"inst_start + ({expression})"
            if node.modulus:
                if node.modulus & (node.modulus - 1):
                    raise IsakitError(f"addresses modulo {node.modulus} cannot be exported")
                expression = f"({expression}) & {node.modulus - 1:#x}"
        if node.form == "#x":
            name = f"{self.prefix}_value{len(self._made)}"
            row = self.constructor((node.prefix, SleighOperand(name)), EVERYTHING, used=used,
                                   actions=[f"{name} = {expression};"])  # fmt: skip
            return (SleighOperand(self.table([row])),)
        return self._decimal(node, expression, used)

    def _expression(self, field: Field, signed: bool) -> tuple[str, list[str]]:
        """Return the number of a field in an action, and the fields it is made of."""
        terms: list[str] = []
        used: list[str] = []
        shift = 0
        for low, n in field.slices:
            top = shift + n == field.width
            for at, size in stretches(((1 << n) - 1) << low):
                name = self.field(at, size, signed=signed and top and at + size == low + n, kind="v")
                used.append(name)
                terms.append(f"({name} << {shift + at - low})" if shift + at - low else name)
            shift += n
        return " | ".join(terms), used

    def _decimal(self, node: NumberText, expression: str, used: list[str]) -> Atoms:
        if node.form not in ("d", "+d", "") or node.field.width * max(node.scale, 1) > 23:
            raise IsakitError(f"numbers of {node.field.width} bits printed as {node.form!r} cannot be exported")
        self.uses.add(VALUE)
        plus = "+" if node.form == "+d" else ""
        if not node.signed:
            row = self.constructor((node.prefix + plus, SleighOperand("digits")), EVERYTHING, used=used,
                                   actions=[f"{VALUE} = {expression};"])  # fmt: skip
            return (SleighOperand(self.table([row])),)
        low, n = node.field.slices[-1]
        sign = 1 << low + n - 1
        rows = [
            self.constructor((node.prefix + shown, SleighOperand("digits")), [Bits(sign, value)], used=used,
                             actions=[f"{VALUE} = {term};"])
            for shown, value, term in ((plus, 0, expression), ("-", sign, f"-({expression})"))
        ]  # fmt: skip
        return (SleighOperand(self.table(rows)),)

    # --- flags ------------------------------------------------------------------------------------------------------

    def flag(self, node: Node, yes: Atoms, no: Atoms | None) -> Atoms:
        """Return the texts of a set flag and of a clear one; `no` None: such words are not instructions."""
        if isinstance(node, Mask):
            chosen = yes if node.value else no
            if chosen is None:
                raise IsakitError("a form without any instruction")
            return chosen
        key = ("flag", id(node), yes, no)
        if key not in self._made:
            self._keep.append(node)
            self._made[key] = self._flag(node, yes, no)
        return self._made[key]

    def _set(self, node: Node) -> Cubes | None:
        """Return the words for which a flag is set, None if they are too many patterns or not known as patterns."""
        found: Cubes | None = _plain_set(node)
        if isinstance(node, Select | TableLookup):
            found = []
            for cubes, n in self.cases(node):
                inner = self._set(n)
                if inner is None:
                    return None
                found += both(cubes, inner)
        elif isinstance(node, AnySet | AllSet):
            found = EVERYTHING if isinstance(node, AllSet) else []
            for n in node.nodes:
                inner = self._set(n)
                if inner is None:
                    return None
                found = both(found, inner) if isinstance(node, AllSet) else [*found, *both(others(found), inner)]
        return found if found is not None and len(found) <= _MOST_PATTERNS else None

    def _flag(self, node: Node, yes: Atoms, no: Atoms | None) -> Atoms:
        if isinstance(node, AllSet):
            together = EVERYTHING
            rest: list[Node] = []
            for n in node.nodes:
                found = self._set(n)
                found = None if found is None else both(together, found)
                if found is None or max(len(found), len(others(found))) > _MOST_PATTERNS:
                    rest.append(n)
                else:
                    together = found
            if len(rest) == len(node.nodes):
                first = rest.pop(0)
                return self.flag(first, self.flag(AllSet(tuple(rest)), yes, no) if rest else yes, no)
            further = self.flag(AllSet(tuple(rest)), yes, no) if rest else yes
            return self._either(together, further, no)
        if isinstance(node, AnySet):
            first, *rest = node.nodes
            return self.flag(first, yes, self.flag(AnySet(tuple(rest)), yes, no) if rest else no)
        if isinstance(node, Select | TableLookup):
            rows: list[str] = []
            for cubes, n in self.cases(node):
                if no is not None or not (isinstance(n, Mask) and not n.value):
                    rows.append(self.constructor(self.flag(n, yes, no), cubes))
            return (SleighOperand(self.table(rows)),)
        found = _plain_set(node)
        if found is None:
            raise TypeError(type(node).__name__)
        return self._either(found, yes, no)

    def _either(self, cubes: Cubes, yes: Atoms, no: Atoms | None) -> Atoms:
        rest = others(cubes)
        rows = [self.constructor(yes, cubes)] if cubes else []
        if no is not None and rest:
            rows.append(self.constructor(no, rest))
        return (SleighOperand(self.table(rows)),)

    def valid(self, error: Node) -> list[str] | None:
        """Return the hidden operands that match the words without an error, None where there are no such words."""
        found: dict[str, None] = {}
        together = EVERYTHING
        for n in error.nodes if isinstance(error, AnySet) else (error,):
            wrong = self._set(n)
            right = None if wrong is None else both(together, others(wrong))
            if right is not None and len(right) <= _MOST_PATTERNS:
                together = right
                if not together:
                    return None
                continue
            name = self._valid(n)
            if not name:
                return None
            found[name] = None
        if together != EVERYTHING:
            name = self.table([self.constructor((), together)])
            self._checks.add(name)
            found[name] = None
        return list(found)

    def _valid(self, node: Node) -> str:
        """Return the name of a table that matches where a flag is not set, empty where it is set in all words."""
        key = ("valid", id(node))
        if key not in self._made:
            self._keep.append(node)
            rows: list[str] = []
            if isinstance(node, Select | TableLookup):
                for cubes, n in self.cases(node):
                    hidden = self.valid(n)
                    if hidden is not None:
                        rows.append(self.constructor((), cubes, hidden=hidden))
            elif isinstance(node, TextTable):
                allowed = of_values(node.mask, [k for k, v in enumerate(node.values) if not v])
                rows += [self.constructor((), allowed)] if allowed else []
            else:
                raise TypeError(type(node).__name__)
            name = self.table(rows) if rows else ""
            self._checks.add(name)
            self._made[key] = (name,)
        return str(self._made[key][0])

    # --- bits in braces ---------------------------------------------------------------------------------------------

    def odd(self, claims: Sequence[Node], open_bits: int) -> str:
        """Return the table that takes claimed bits out of the context and then prints what is left."""
        rest = [c for c in claims if not isinstance(c, Mask)]
        self.uses.add(ODD_LOW)
        if not rest:
            return "odd_shown"
        key = ("odd", *map(id, rest), open_bits)
        if key not in self._made:
            self._keep += rest
            if isinstance(rest[0], FieldsEqual):
                rows = [self._agreeing(rest[0], open_bits, self.odd(rest[1:], open_bits))]
            else:
                rows = [
                    self._claiming(cubes, claimed & open_bits, self.odd(further, open_bits & ~claimed))
                    for cubes, claimed, further in self._claimed(rest)
                ]
            self._made[key] = (self.table(rows),)
        return str(self._made[key][0])

    def _claimed(self, claims: Sequence[Node]) -> list[tuple[Cubes, int, list[Node]]]:
        """Return words, what the first ones of several claims take of them, and the claims that are left to see to."""
        rows: list[tuple[Cubes, int, list[Node]]] = [(EVERYTHING, 0, [])]
        for k, claim in enumerate(claims):
            if isinstance(claim, FieldsEqual):
                break
            options = self._options(claim)
            found: dict[tuple[int, ...], tuple[Cubes, int, list[Node]]] = {}
            for cubes, claimed, further in rows:
                for given, more, inner in options:
                    if here := both(cubes, given):
                        left = [*further, *inner]
                        known = found.setdefault((claimed | more, *map(id, left)), ([], claimed | more, left))
                        known[0].extend(here)
            if k and sum(len(c) for c, _, _ in found.values()) > _MOST_PATTERNS:
                break
            rows = list(found.values())
        else:
            k = len(claims)
        return [(cubes, claimed, [*further, *claims[k:]]) for cubes, claimed, further in rows]

    def _options(self, claim: Node) -> list[tuple[Cubes, int, list[Node]]]:
        if isinstance(claim, TextTable):
            return [
                (of_values(claim.mask, [k for k, v in enumerate(claim.values) if v == value]), value, [])
                for value in sorted({int(v) for v in claim.values})
            ]
        if not isinstance(claim, Select | TableLookup):
            raise TypeError(type(claim).__name__)
        out: list[tuple[Cubes, int, list[Node]]] = []
        for cubes, n in self.cases(claim):
            inner = n.nodes if isinstance(n, AnySet) else (n,)
            out.append((cubes, sum_of_masks(inner), [i for i in inner if not isinstance(i, Mask)]))
        return out

    def _claiming(self, cubes: Cubes, claimed: int, further: str) -> str:
        actions = [
            f"{name} = {name} & {~part & 0xFFFFFFFF:#x};"
            for name, part in ((ODD_LOW, claimed & 0xFFFFFFFF), (ODD_HIGH, claimed >> 32))
            if part
        ]
        return self.constructor((SleighOperand(further),), cubes, actions=actions)

    def _agreeing(self, node: FieldsEqual, open_bits: int, further: str) -> str:
        actions: list[str] = []
        used: list[str] = []
        for name, low in ((ODD_LOW, 0), (ODD_HIGH, 32)):
            mask, value = (x >> low & 0xFFFFFFFF for x in (node.bits.mask & open_bits, node.bits.value))
            if mask:
                word = self.field(low, 32, kind="v")
                used.append(word)
                actions.append(f"{name} = {name} & ~({mask:#x} & ~({value:#x} ^ {word}));")
        return self.constructor((SleighOperand(further),), EVERYTHING, actions=actions, used=used)


def sum_of_masks(nodes: Iterable[Node]) -> int:
    """Return all bits of the constant masks among nodes."""
    out = 0
    for n in nodes:
        if isinstance(n, Mask):
            out |= n.value
    return out


def _plain_set(node: Node) -> Cubes | None:
    """Return the words for which a flag that makes no choice is set, None for other nodes."""
    if isinstance(node, Mask):
        return EVERYTHING if node.value else []
    if isinstance(node, TextTable):
        return of_values(node.mask, [k for k, v in enumerate(node.values) if v])
    if isinstance(node, InRange):
        return _multiples(node)
    if isinstance(node, Equal):
        return equal(*node.fields)
    return None


def _multiples(node: InRange) -> Cubes:
    """Return the words of an `InRange`."""
    number = node.number
    field = number.field
    shift = (node.step // number.scale).bit_length() - 1 if node.step % number.scale == 0 else 0
    if number.relative or node.step not in (1, number.scale << shift):
        raise IsakitError(f"multiples of {node.step} of a number that counts {number.scale} cannot be exported")
    low, high = -(-node.low // number.scale), node.high // number.scale
    least = -(1 << field.width - 1) if number.signed else 0
    most = (1 << field.width) - 1 + least
    low, high = max(low, least), min(high, most)
    every = 1 << field.width
    spans = [(low, high)] if low >= 0 else [(low + every, min(high, -1) + every), (0, high)]
    cubes = [c for a, b in spans for c in within(field, a, b)]
    return both(cubes, [Bits(field.put((1 << shift) - 1), 0)])
