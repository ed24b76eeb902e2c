"""Forms as text, in the manner of manuals and of decodetree: how a form is written, and below it its bits.

```text
short  {name:o} {sat:s} {ty=width:w} {dst:w} {src1:w} {src2:w}
       001o .... . o...... w...... s...... ..  | unless o=11
```

The first line has the names of shapes (one form each) and the syntax, which goes on in lines that begin with an
operand; then come the bits, word by word, the highest first: fixed ones, letters for what this form selects, `-` for
bits known to have no effect, `.` for what belongs to the operands. All bits of one letter are one field, also over
several words, of which the last is the highest. Words at the end that have only dots may be left out. Both may stand in
one line, two blanks apart, if the bits do not begin with a letter. An operand is `{part}`, `{part:arguments}` or
`{part=kind:arguments}`: its kind is looked up among the parts given with the table, then in the shape's own vocabulary.
Arguments are mostly letters of the pattern, several of them (highest first) for a concatenation.

After the bits, or on lines of their own below, stand clauses that begin with `|`: `needs FEATURES`, `unless
LETTERS=BITS`, `refuse LETTERS=BITS ERROR`, `lacking ERROR`, `default LETTERS=BITS` (or `0x...`) for what the assembler
writes where no operand says it, `fields LETTER=NAME` for names of bits that have another name than their operand,
`control PARTS` for operands that the semantics does not receive, and `NAME=VALUE` for constants of the semantics.
Further texts are tables whose rows are put in, row by row: a capital letter heads a column of bits for that letter of
the pattern, other columns replace `<column>`, and `{column}` in the syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import product
from string import ascii_lowercase
from typing import Any

from isakit.errors import DefinitionError, did_you_mean
from isakit.lean import cached_property, dataclass
from isakit.spec.fields import Bits, Field
from isakit.spec.parts import Alternative, Choice, Enum, Flag, Imm, Part, choice, when
from isakit.spec.record import Form, Layout, LazyOperand, Refusal, make_form

Maker = Callable[..., Part]
"""Makes an operand from the encoding of its form and the arguments in the syntax line."""

_ITEM = re.compile(r"\{(\w+)(?:=(\w+))?(?::([^}]*))?\}|([()]|[^\s{}()]+)")
_FAR = re.compile(r"(?<=[\w}])\s{2,}(?=[01.-])")
_CELLS = re.compile(r"\s{2,}")
_COLUMN = re.compile(r"<([^<>]+)>")
_STRANGE = re.compile(r"[^01a-z.-]")
_RUN = re.compile(r"([A-Za-z])\1*")
_FIXED, _ONES, _IGNORED = ({ord(c): "01"[c in wanted] for c in f"01.-{ascii_lowercase}"} for wanted in ("01", "1", "-"))
"""Translations of a pattern to a binary number: 1 where it has one of some characters."""


@dataclass(frozen=True)
class Shape:
    """A layout with what all its forms share.

    `fields` names its fields, `operands` are the kinds of operands to be had by name; `lead` stands before every
    syntax line and `tail` behind. `mnemonic` makes the part `name`, or a constant, from the word that begins a syntax
    line: `setgt,setsg {dst} ...`. `needs` are features and `lacking(fixed bits)` is the decode error where they are
    absent, unless a clause says it. `selectors` are bits that have no effect in forms whose operands do not look at all
    of them, `ignored` bits that never have one.
    """

    layout: Layout
    fields: Mapping[str, Any]
    operands: Mapping[str, Part | Maker]
    lead: str = ""
    selectors: int = 0
    ignored: int = 0
    unless: tuple[Bits, ...] = ()
    default: int | None = None
    control: tuple[str, ...] = ()
    sharing: Mapping[str, str] = field(default_factory=dict[str, str])
    mnemonic: Callable[..., Part | str] | None = None
    tail: str = ""
    needs: str = ""
    lacking: Callable[[Bits], str] | None = None

    @cached_property
    def by_slices(self) -> dict[tuple[tuple[int, int], ...], Field]:
        """The fields by their bits; of several the first."""
        return {f.slices: f for f in reversed(list(self.fields.values())) if isinstance(f, Field)}


class Encoding:
    """The bits of one form: fixed bits, ignored bits, and its fields by letter."""

    def __init__(
        self, shape: Shape, pattern: str, row: Mapping[str, str], unit_bits: int, kinds: Mapping[str, Part | Maker]
    ) -> None:
        """Read a pattern; `row` has the bits of capital letters. Raises DefinitionError."""
        self.shape, self._kinds = shape, kinds
        characters = pattern.replace(" ", "")
        size = shape.layout.units * unit_bits
        if len(characters) % unit_bits or not 0 < len(characters) <= size:
            raise DefinitionError(f"{len(characters)} bits in a pattern of {size}")
        units = [characters[i : i + unit_bits] for i in range(0, len(characters), unit_bits)]
        # From the highest bit of the last word down: the order in which the bits of a column are written.
        text = "".join(reversed(units))
        columns = {c: runs for c, runs in _runs_of_letters(text).items() if c.isupper()}
        for c in columns:
            if text.count(c) < len(row[c]):
                raise DefinitionError(f"more bits in a row than the pattern has for it: {row}")
            cells = iter(row[c])
            text = "".join([next(cells, "?") if k == c else k for k in text])
        strange = _STRANGE.search(text)
        if strange:
            raise DefinitionError(f"a pattern cannot have {strange[0]!r}")
        self.fixed = Bits(int(text.translate(_FIXED), 2), int(text.translate(_ONES), 2))
        self.ignored = int(text.translate(_IGNORED), 2)
        letters = {c: runs for c, runs in _runs_of_letters(text).items() if c.islower()}
        self._letters = {c: self._named(found) for c, found in (letters | columns).items()}
        self.used = set(columns)

    def _named(self, slices: Sequence[tuple[int, int]]) -> Field:
        """Return the field of some bits, lowest first, under the shape's name for it."""
        joined: list[tuple[int, int]] = []
        for low, n in slices:
            if joined and sum(joined[-1]) == low:
                joined[-1] = joined[-1][0], joined[-1][1] + n
            else:
                joined.append((low, n))
        key = tuple(joined)
        return self.shape.by_slices.get(key) or Field(key)

    def name(self, letter: str, name: str) -> None:
        """Give the field of a letter a name. Raises DefinitionError."""
        if letter not in self._letters:
            raise DefinitionError(f"the pattern has no letter {letter!r}")
        self._letters[letter] = Field(self._letters[letter].slices, name)

    def field(self, letters: str) -> Field:
        """Return the field of a letter of the pattern, or of several, highest first. Raises DefinitionError."""
        fields: list[Field] = []
        for c in letters:
            if c not in self._letters:
                raise DefinitionError(f"the pattern has no letter {c!r}")
            self.used.add(c)
            fields.append(self._letters[c])
        return fields[0] if len(fields) == 1 else self._named([s for f in reversed(fields) for s in f.slices])

    def where(self, conditions: str) -> list[Bits]:
        """Return `o=11 w=0` as bits; `o=01,10 w=0` as two."""
        out = [Bits()]
        for letters, _, values in (c.partition("=") for c in conditions.split()):
            f = self.field(letters)
            each = [Bits(f.mask, f.put(int(v, 2))) for v in values.split(",")]
            out = [both for b in out for other in each if (both := b.join(other)) is not None]
        return out

    def operand(self, kind: str, arguments: str = "") -> Part:
        """Return the operand of a kind; `arguments` as they stand in the syntax line. Raises DefinitionError."""
        found = self._kinds.get(kind)
        if found is None:
            raise DefinitionError("; ".join((f"no operand {kind!r}", *did_you_mean(kind, self._kinds))))
        self.used.add(kind)
        return found if isinstance(found, Part) else found(self, *filter(None, arguments.split(",")))

    def unused(self) -> list[str]:
        """Return the letters that nothing has asked for."""
        return sorted(set(self._letters) - self.used)


@dataclass(frozen=True)
class FormTable:
    """Reads tables of forms; `shapes` by name, `operands` are kinds that all shapes have."""

    shapes: Mapping[str, Shape]
    operands: Mapping[str, Part | Maker] = field(default_factory=dict[str, "Part | Maker"])
    unit_bits: int = 32
    more: Mapping[str, Part | Maker] = field(default_factory=dict[str, "Part | Maker"])

    def knowing(self, **operands: Part | Maker) -> FormTable:
        """Return the same language with further kinds of operands, which win against those of the same name."""
        return replace(self, more={**self.more, **operands})

    def __call__(self, text: str, *rows: str, **parts: object) -> list[Form]:
        """Return the forms of a table, for each row of `rows`; of several tables of rows the last varies fastest.

        `parts` are operands (parts, or functions that make them from the encoding) and constants of the semantics.
        Raises DefinitionError.
        """
        lines = [half for line in re.sub(r"\n\s*([|{])", r" \1", text).strip().splitlines() for half in _halves(line)]
        if len(lines) % 2:
            raise DefinitionError(f"{text.strip()}: a form without bits, which stand below it; only those that begin "
                                  "with 0, 1, `.` or `-` may also stand two blanks behind it")  # fmt: skip
        out: list[Form] = []
        table = _Declarations(lines[0], {n for n, p in parts.items() if isinstance(p, Part) or callable(p)})
        for row in combined(*rows):
            for line, pattern in zip(lines[::2], lines[1::2], strict=True):
                shapes, _, syntax = line.partition(" ")
                for shape in shapes.split(","):
                    where = Declared(table, line, pattern, row)
                    with where:
                        out.append(self._form(shape, filled(syntax, row), filled(pattern, row), parts, where))
        return out

    def _form(self, name: str, syntax: str, below: str, parts: Mapping[str, Any], where: Declared) -> Form:
        row = where.row
        if name not in self.shapes:
            raise DefinitionError(f"no shape {name!r}; there are {', '.join(self.shapes)}")
        shape = self.shapes[name]
        pattern, *clauses = (c.strip() for c in below.split(" | "))
        kinds = {**self.operands, **shape.operands, **self.more, **parts}
        encoding = where.encoding = Encoding(shape, pattern, row, self.unit_bits, kinds)
        constants = {n: p for n, p in parts.items() if not isinstance(p, Part) and not callable(p)}
        options: dict[str, Any] = {"needs": [shape.needs], "refusals": [], "default": shape.default}
        if shape.lacking is not None:
            options["lacking"] = shape.lacking(encoding.fixed)
        unless, control = list(shape.unless), list(shape.control)
        for clause in clauses:
            word, _, rest = clause.partition(" ")
            if word == "needs":
                options["needs"] += rest.split()
            elif word == "lacking":
                options["lacking"] = rest
            elif word == "unless":
                unless += encoding.where(rest)
            elif word == "default":
                options["default"] = int(rest, 16) if rest[:2] == "0x" else encoding.where(rest)[0].value
            elif word == "fields":
                for letter, _, called in (c.partition("=") for c in rest.split()):
                    encoding.name(letter, called)
            elif word == "control":
                control += rest.split()
            elif word == "refuse":
                conditions, _, error = rest.rpartition(" ")
                options["refusals"] += [Refusal(b, error) for b in encoding.where(conditions)]
            elif "=" in word:
                constant, _, value = clause.partition("=")
                constants[constant] = value
            elif word:
                raise DefinitionError(f"no clause {word!r}")
        real: dict[str, Any] = {}
        syntax = syntax.lstrip()
        if shape.mnemonic is not None and syntax[0] != "{":
            word, _, rest = syntax.partition(" ")
            called = shape.mnemonic(*word.split(","))
            (constants if isinstance(called, str) else real)["name"] = called
            syntax = f"{{name}} {rest}"
        syntax = f"{shape.lead} {syntax} {shape.tail}"
        items: list[str] = []
        for part, kind, arguments, word in _ITEM.findall(syntax):
            items.append(word or f"{{{part}}}")
            if word:
                continue
            if part == "name" and part in real:
                continue
            if not kind and part in row and part not in parts:
                constants[part] = row[part]
            if not kind and isinstance(constants.get(part), str):
                continue  # a word that the form says by itself
            real[part] = LazyOperand(partial(where.operand, kind or part, arguments))
        return make_form(
            shape.layout,
            items,
            real | constants,
            encoding.fixed,
            unless=unless,
            ignored=(shape.ignored | encoding.ignored) & ~encoding.fixed.mask,
            control=control,
            selectors=shape.selectors,
            sharing=shape.sharing,
            declaration=where,
            **options,
        )


class _Declarations:
    """The forms of one table, and the operands that each of them has."""

    def __init__(self, text: str, operands: set[str]) -> None:
        self.text, self.idle, self.left = text, operands, 0


class Declared:
    """A form's place in a table. As a context: errors say where they are."""

    def __init__(self, table: _Declarations, line: str, pattern: str, row: Mapping[str, str]) -> None:
        self._table, self._line, self._pattern, self.row = table, line, pattern, row
        self.encoding: Encoding | None = None
        table.left += 1

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, DefinitionError | TypeError | ValueError):
            row = f" with {self.row}" if self.row else ""
            raise DefinitionError(f"{self._line} / {self._pattern}{row}: {error}") from error

    def operand(self, kind: str, arguments: str) -> Part:
        """Make an operand. Raises DefinitionError."""
        assert self.encoding is not None
        with self:
            return self.encoding.operand(kind, arguments)

    def check(self) -> None:
        """Raise DefinitionError for letters without a meaning, and after the last form for operands of no form."""
        assert self.encoding is not None
        with self:
            if self.encoding.unused():
                raise DefinitionError(f"the pattern has letters without a meaning: {', '.join(self.encoding.unused())}")
        table = self._table
        table.idle -= self.encoding.used
        table.left -= 1
        if not table.left and table.idle:
            raise DefinitionError(f"no form of the table has {', '.join(sorted(table.idle))}: {table.text}")


# --- kinds of operands that every instruction set can use -------------------------------------------------------------


def words(*spellings: str | None, values: Sequence[Any] | None = None, on: str = "", **options: Any) -> Maker:
    """Return words for the values of letters, from 0 up; None where there is no such encoding.

    `values` is what the semantics gets (default: the words); `on` are the letters, where the syntax does not say them.
    """
    texts = {n: w for n, w in enumerate(spellings) if w is not None}

    def make(e: Encoding, letters: str = on) -> Enum:
        f, count = e.field(letters), len(values or spellings)
        if len(set(texts.values())) < len(texts) or count != len(spellings) or count > 1 << f.width:
            raise DefinitionError(
                f"{', '.join(map(repr, spellings))} for {f.width} bits{f' with {count} values' if values else ''}: "
                "each value of the bits has a word of its own or None, and there are as many `values` as words"
            )
        return Enum(f, texts, {n: values[n] for n in texts} if values else None, **options)

    return make


def flag(word: str, on: str = "") -> Maker:
    """Return a word that is there or not; bound to a bool."""

    def make(e: Encoding, letters: str = on) -> Enum:
        return Flag(e.field(letters), word)

    return make


def number(label: str, width: int = 32, on: str = "", **options: Any) -> Maker:
    """Return a number, bound to a value of `width` bits; `options` as `Imm` has them."""

    def make(e: Encoding, letters: str = on) -> Imm:
        return Imm(e.field(letters), width, label=label, **options)

    return make


def cases(alternatives: Mapping[str, Part | Maker | str]) -> Maker:
    """Choose one of several operands, by conditions like `w=0 s=1 | needs FEATURE`, the first that holds.

    A text is an operand as in a syntax line, `dst:b32`.
    """

    def made(e: Encoding, what: Part | Maker | str) -> Part:
        if isinstance(what, str):
            kind, _, arguments = what.partition(":")
            return e.operand(kind, arguments)
        return what if isinstance(what, Part) else what(e)

    def make(e: Encoding) -> Choice:
        out: list[Alternative] = []
        for conditions, what in alternatives.items():
            bits, _, needs = conditions.partition("|")
            out += [when(b, made(e, what), needs=needs.split()[1:]) for b in e.where(bits)]
        return choice(*out)

    return make


def _runs_of_letters(text: str) -> dict[str, list[tuple[int, int]]]:
    """Return (lowest bit, number of bits) of the runs of each letter of a pattern, lowest first."""
    found: dict[str, list[tuple[int, int]]] = {}
    for run in reversed([*_RUN.finditer(text)]):
        found.setdefault(run[1], []).append((len(text) - run.end(), len(run[0])))
    return found


def _halves(line: str) -> list[str]:
    """Return a line, or the two that stand in one, its bits far after the syntax."""
    return [part.strip() for part in _FAR.split(line.strip(), maxsplit=1)]


def _rows(text: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table with a header; cells are two blanks apart, `-` is an empty one."""
    header, *lines = (_CELLS.split(line.strip()) for line in text.strip().splitlines())
    for cells in lines:
        yield {k: "" if v == "-" else v for k, v in zip(header, cells, strict=True)}


def combined(*tables: str) -> Iterator[dict[str, str]]:
    """Yield the rows of tables, each with the rows of the others; those of the last table vary fastest."""
    for combination in product(*(list(_rows(t)) for t in tables)):
        row = {k: v for cells in combination for k, v in cells.items()}
        yield {k: filled(v, row) for k, v in row.items()}


def filled(text: str, row: Mapping[str, str]) -> str:
    """Return the text with the cells of a row in place of `<column>`; a cell may name others."""
    for _ in row:
        if "<" not in text:
            break
        text = _COLUMN.sub(lambda m: row.get(m[1], m[0]), text)
    return text


__all__ = ["Encoding", "FormTable", "Maker", "Shape", "cases", "combined", "filled", "flag", "number", "words"]
