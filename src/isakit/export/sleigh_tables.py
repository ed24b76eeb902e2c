"""Constructors and tables of SLEIGH: fields, patterns, display sections, and the requirements of their compiler."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isakit.errors import IsakitError
from isakit.export.cubes import EVERYTHING, Cubes
from isakit.export.text_nodes import runs
from isakit.lean import dataclass

MISPLACED, PLACED = "misplaced", "placed"
"""Context variable: how far the address is from a multiple of the size. The table that matches where it is none."""
_MOST_OPERANDS = 8


@dataclass(frozen=True)
class SleighOperand:
    """A field or a table that prints a piece of the text."""

    name: str


Atom = str | SleighOperand
Atoms = tuple[Atom, ...]


def quoted(text: str) -> str:
    """Quote a literal of a display section. Raises IsakitError for characters it cannot hold."""
    if '"' in text or any(not 0x20 <= ord(c) < 0x7F for c in text):
        raise IsakitError(f"{text!r} cannot stand in a SLEIGH text")
    return f'"{text}"'


def display(atoms: Iterable[Atom]) -> str:
    """Return pieces without blanks between them."""
    return "^".join(a.name if isinstance(a, SleighOperand) else quoted(a) for a in atoms) or '""'


def _merged(atoms: Iterable[Atom]) -> list[Atom]:
    """Join adjacent literals."""
    out: list[Atom] = []
    for a in atoms:
        if isinstance(a, str) and out and isinstance(out[-1], str):
            out[-1] += a
        elif a:
            out.append(a)
    return out


class Constructors:
    """Fields and tables for the instructions of one size; `prefix` makes their names unique.

    `_checks` are the tables that print and do nothing but match some words.
    """

    def __init__(self, prefix: str, bits: int) -> None:
        self.prefix, self.bits = prefix, bits
        self.fields: dict[str, tuple[int, int, bool]] = {}
        self.attached: dict[tuple[int, int, tuple[str, ...]], str] = {}
        self.lines: list[str] = []
        self._bodies: dict[tuple[str, ...], str] = {}
        self._copies = 0
        self._checks: set[str] = set()

    def field(self, low: int, n: int, *, signed: bool = False, kind: str = "b") -> str:
        """Return the name of the field of `n` bits from `low`; fields of other kinds over them have other names."""
        name = f"{self.prefix}{kind}{'s' if signed else ''}{low}_{n}"
        self.fields[name] = low, n, signed
        return name

    def names(self, low: int, n: int, values: tuple[str, ...]) -> SleighOperand:
        """Return a field that prints a text for each of its values."""
        key = low, n, values
        if key not in self.attached:
            self.attached[key] = self.field(low, n, kind=f"n{len(self.attached)}_")
        return SleighOperand(self.attached[key])

    def pattern(self, cubes: Cubes) -> str:
        """Return the text of a pattern; "" for all words."""
        if any(not c.mask for c in cubes):
            return ""
        alternatives: list[str] = []
        for c in cubes:
            terms = [f"{self.field(low, n)}={c.value >> low & (1 << n) - 1:#x}" for low, n in stretches(c.mask)]
            alternatives.append(" & ".join(terms))
        if len(alternatives) == 1:
            return alternatives[0]
        return "(" + " | ".join(f"({a})" for a in alternatives) + ")"

    def constructor(
        self, atoms: Atoms, cubes: Cubes, *, operands: Atoms | None = None, hidden: Sequence[str] = (),
        actions: Sequence[str] = (), body: str = "", used: Sequence[str] = (),
    ) -> str:  # fmt: skip
        """Return a constructor without the name of its table.

        `operands`: what follows the mnemonic of an instruction, None elsewhere. `hidden` operands print nothing, `used`
        stand in actions only.
        """
        hidden = self._together(hidden)
        if operands is not None:
            operands = self._folded(operands)
        else:
            atoms = self._folded(atoms)
        seen: set[str] = set()
        shown = [self._unique(part, seen) for part in ((atoms,) if operands is None else (atoms, operands))]
        if operands is not None and isinstance(shown[0][-1], str) and isinstance(shown[1][0], str):
            shown[1].insert(0, self.names(0, 1, ("", "")))  # two literals with a blank between them are not syntax
        computed = {a.split(" = ", 1)[0] for a in actions}
        names = [a.name for part in shown for a in part if isinstance(a, SleighOperand) and a.name not in computed]
        terms = dict.fromkeys(t for t in (self.pattern(cubes), *names, *hidden, *used) if t)
        pattern = " & ".join(terms) or "epsilon"
        acts = f" [ {' '.join(actions)} ]" if actions else ""
        return f"{' '.join(map(display, shown))} is {pattern}{acts} {{ {body}}}"

    def _folded(self, atoms: Atoms) -> Atoms:
        """Fold the last of many pieces into a table: Ghidra's library has room for 20 operands of a constructor."""
        if sum(isinstance(a, SleighOperand) for a in atoms) <= _MOST_OPERANDS or not atoms:
            return atoms
        at = [k for k, a in enumerate(atoms) if isinstance(a, SleighOperand)][_MOST_OPERANDS - 1]
        return (*atoms[:at], SleighOperand(self.table([self.constructor(atoms[at:], EVERYTHING)])))

    def _together(self, hidden: Sequence[str]) -> Sequence[str]:
        """Join several hidden operands that only check bits into one table."""
        checks = [h for h in hidden if h in self._checks]
        if len(checks) < 2:
            return hidden
        placed = [f"{MISPLACED}=0"] if PLACED in hidden else []
        name = self.table([f'"" is {" & ".join([*placed, *checks])} {{ }}'])
        return [name, *(h for h in hidden if h not in self._checks and h != PLACED)]

    def _unique(self, atoms: Atoms, seen: set[str]) -> list[Atom]:
        """Rename pieces so that no operand occurs twice in a constructor."""
        out: list[Atom] = []
        for a in _merged(atoms):
            if a == " ":  # the compiler drops a literal blank at the end
                a = self.names(0, 1, (" ", " "))
            if isinstance(a, SleighOperand):
                if a.name in seen:
                    a = self._copy(a)
                seen.add(a.name)
            out.append(a)
        return out

    def _copy(self, operand: SleighOperand) -> SleighOperand:
        self._copies += 1
        name = f"{self.prefix}_copy{self._copies}"
        self.lines.append(f"{name}: {operand.name} is {operand.name} {{ }}")
        return SleighOperand(name)

    def table(self, constructors: Sequence[str]) -> str:
        """Return the name of a table with these constructors: the same one for the same constructors."""
        key = tuple(constructors)
        name = self._bodies.get(key)
        if name is None:
            name = self._bodies[key] = f"{self.prefix}_{len(self._bodies)}"
            self.lines += [f"{name}: {c}" for c in constructors]
        return name


def stretches(mask: int) -> list[tuple[int, int]]:
    """Return the runs of bits of a mask, none across the middle of a 64-bit word."""
    low, high = runs(mask & 0xFFFFFFFF), runs(mask >> 32 << 32)
    return [*low, *high]
