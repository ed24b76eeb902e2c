"""A processor for Ghidra: SLEIGH specification and the files that let Ghidra load it, generated from the records.

`sleigh` gives the files of `data/languages` of a Ghidra module; the compiler of Ghidra, or the one in the package
`pypcode`, compiles the `.slaspec` to a `.sla`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from isakit.codec import Decoder
from isakit.errors import IsakitError
from isakit.export.cubes import EVERYTHING, Cubes, both, others, without
from isakit.export.pcode import PcodeReferences, PcodeStatements, register_name
from isakit.export.sleigh_limits import check_room
from isakit.export.sleigh_meaning import Meanings, cubes_of
from isakit.export.sleigh_tables import MISPLACED, PLACED, Atom, Atoms, SleighOperand, quoted
from isakit.export.sleigh_text import DIGITS, ODD_HIGH, ODD_LOW, VALUE, Tables, sum_of_masks
from isakit.export.text_nodes import AnySet, FixedText, Join, Node
from isakit.export.texts import FormModel, Model, alternatives
from isakit.lean import dataclass
from isakit.sem.semantics import BINDER
from isakit.sem.value import Value
from isakit.spec.fields import subsets
from isakit.spec.isa import Space
from isakit.spec.parts import Part, Relative, Template, bound_value, error_of, possible_bits
from isakit.spec.record import Form

VERSION = "1.0"
"""Version of the language in Ghidra: programs analysed with another major version are disassembled again."""
_CONTEXT = {ODD_LOW: (0, 32), ODD_HIGH: (32, 32), VALUE: (64, 24), MISPLACED: (88, 4)}
_CONTEXT_DIGIT = 96
_FLOWING = ("branch", "call", "return")
_GO, _TAKEN = "going", "taken"
"""Registers that record, after a delay slot, whether the branch and the one beside an instruction are taken."""


@dataclass(frozen=True)
class _SleighConstructor:
    """A constructor for the words of `cubes`: the tables that its pattern names, and its statements."""

    cubes: Cubes
    tables: list[str]
    body: str


@dataclass(frozen=True)
class Language:
    """A processor module.

    Attributes:
        files: contents by file name: specification, language definition, processor and compiler specification.
        operations: user-defined operations by name, with the node of the graph that they stand for where there is one.
    """

    files: dict[str, str]
    operations: dict[str, Value | None]


def sleigh(decoder: Decoder) -> Language:
    """Return the module for one view.

    Raises CannotExport if an operand cannot be decoded without the library, IsakitError if instructions exceed Ghidra's
    limits.
    """
    writer = _Writer(decoder)
    return Language(writer.files(), writer.machine.operations)


class _Writer:
    def __init__(self, decoder: Decoder) -> None:
        self.decoder, self.model = decoder, Model(decoder)
        view = decoder.view
        self.view = view
        self.name = "_".join(n for n in (view.isa.name, view.variant.name, view.program) if n)
        self.unit_bits, self.unit_bytes = view.variant.unit_bits, view.variant.unit_bytes
        self.sizes = {
            u: Tables("sl"[u - 1], 8 * self.unit_bytes * u) for u in sorted({f.units for f in self.model.forms})
        }
        isa = view.isa
        files = {f.name: f for f in isa.registers.values()}
        self.machine = PcodeReferences(files, {s: f"mem_{s}" for s in memory_cells(isa.spaces)}, {}, {}, {})
        self.meanings = {u: Meanings(t, self.machine, isa.delay_slots) for u, t in self.sizes.items()}
        self._conditions: dict[int, tuple[Cubes, str]] = {}
        self._keep: list[object] = []
        if max(t.bits for t in self.sizes.values()) > 64:
            raise IsakitError(f"instructions of {view.isa.name} do not fit 64 bits")

    # --- instructions ---------------------------------------------------------------------------------------------

    def root(self, number: int, f: FormModel) -> list[str]:
        """Return the constructors of a form; none if every word of it is an error."""
        tables = self.sizes[f.units]
        pieces = _pieces(f.items)
        forced = tables.flag(f.forced, ("long ",), ())
        claims = f.claimed.nodes if isinstance(f.claimed, AnySet) else (f.claimed,)
        every = (1 << self.unit_bits * f.units) - 1
        open_bits = every & ~sum_of_masks(claims)
        actions: list[str] = []
        used: list[str] = []
        tail: Atoms = ()
        if open_bits:
            tail = (SleighOperand(tables.odd(claims, open_bits)),)
            for name, low in ((ODD_LOW, 0), (ODD_HIGH, 32)):
                part, base = open_bits >> low & 0xFFFFFFFF, f.base >> low & 0xFFFFFFFF
                if part:
                    word = tables.field(low, 32, kind="v")
                    used.append(word)
                    actions.append(f"{name} = ({word} ^ {base & part:#x}) & {part:#x};")
                else:
                    actions.append(f"{name} = 0;")
        hidden = tables.valid(f.error)
        if hidden is None:
            return []
        if f.units > 1:
            actions.append(f"{MISPLACED} = inst_start & {f.units * self.unit_bytes - 1};")
            hidden = [PLACED, *hidden]
        mnemonic, body = self._divided(tables, pieces, tail)
        rows: list[str] = []
        for case in self._acts(tables, f.form):
            row = tables.constructor(
                (*forced, *mnemonic), both(self._region(number), case.cubes), operands=body,
                hidden=[*hidden, *case.tables, *used], actions=actions, body=case.body,
            )  # fmt: skip
            rows.append(f":^{row}")
        return rows

    # --- what they do ---------------------------------------------------------------------------------------------

    def _acts(self, tables: Tables, form: Form) -> list[_SleighConstructor]:
        """Return the constructors of a form's meaning: effects, guard, the branch beside it, the code that follows."""
        doing = self.meanings[form.units].of(form)
        flows = form.record is not None and form.record.group.value in _FLOWING
        tails = self._tails(form)
        held = [doing, *([tails] if tails else [])]
        after = f" build {tails};" if tails else ""
        if not self.view.isa.delay_slots:
            act = self._guarded(tables, form, held, f"build {doing};", after)
            return [_SleighConstructor(EVERYTHING, [act], f"build {act};")]
        if not flows:
            act = self._guarded(tables, form, held, f"build {doing};", after)
            first, second = [act], list[str]()
        else:
            first = [self._guarded(tables, form, [], f"{_GO} = 1;", "", f"{_GO} = 0; ")]
            label = f"if ({_GO} == 0) goto <end>; build {doing}; <end>"
            second = [tables.table([tables.constructor((), EVERYTHING, hidden=[doing], body=label)])]
        out: list[_SleighConstructor] = []
        for cubes, condition, going in self._beside(tables, form):
            before, behind = [*condition, *first], [*second, *going]
            slot = "delayslot(1); " if behind else ""
            body = f"{_builds(before)} {slot}{_builds(behind)}"
            out.append(_SleighConstructor(cubes, [*before, *behind], body))
        return out

    def _guarded(self, tables: Tables, form: Form, held: list[str], doing: str, after: str, first: str = "") -> str:
        """Return the table that executes `doing` where the guard holds."""
        part = form.parts.get("guard") if "guard" in form.control else None
        always, condition = self._guard(tables, part)
        rows = [tables.constructor((), always, hidden=held, body=f"{doing}{after}")] if always else []
        if condition:
            body = f"{first}local holds:1 = {condition}; if (!holds) goto <end>; {doing} <end>{after}"
            cubes = others(always)
            rows.append(tables.constructor((), cubes, hidden=[*held, condition], body=body))
        return tables.table(rows)

    def _guard(self, tables: Tables, part: Part | None) -> tuple[Cubes, str]:
        """Return the words that execute always, and the table with the condition of the others, empty if none."""
        if part is None:
            return EVERYTHING, ""
        if id(part) not in self._conditions:
            mask = possible_bits(part)
            always: list[int] = []
            cases: dict[object, tuple[list[int], PcodeStatements, str]] = {}
            for word in subsets(mask):
                if error_of(part, word) is not None:
                    continue
                guard = bound_value(part, word, BINDER)
                if guard is None:
                    always.append(word)
                    continue
                statements = PcodeStatements(tables, self.machine)
                if isinstance(guard, int):
                    value = register_name(self.machine.files["p"], guard)
                else:
                    value = statements.value(guard.holds())
                body = f"{statements.text(value)} export {value};"
                cases.setdefault((body, *statements.operands), ([], statements, body))[0].append(word)
            rows = [
                tables.constructor((), cubes_of(mask, words), hidden=list(statements.operands), body=body)
                for words, statements, body in cases.values()
            ]
            found = cubes_of(mask, always) if always else [], tables.table(rows) if rows else ""
            self._conditions[id(part)] = found
            self._keep.append(part)
        return self._conditions[id(part)]

    def _tails(self, form: Form) -> str:
        """Return the table of an instruction's tail, which ends its lanes or makes them reconverge.

        Empty if there is none.
        """
        part = form.parts.get("tail") if "tail" in form.control else None
        if part is None:
            return ""
        tables = self.sizes[form.units]
        rows: list[str] = []
        for word in subsets(possible_bits(part)):
            if error_of(part, word) is None:
                name = str(bound_value(part, word, BINDER) or "")
                body = f"{self.machine.operation(name)}();" if name else ""
                if name == "exit":
                    body += " return [0:4];"
                rows.append(tables.constructor((), cubes_of(possible_bits(part), [word]), body=body))
        return tables.table(rows)

    def _beside(self, tables: Tables, form: Form) -> list[tuple[Cubes, list[str], list[str]]]:
        """Return words, condition tables and branch without and with a relative branch beside an instruction."""
        part = form.parts["rbra"] if "rbra" in form.control else None
        relative = None if part is None else next(_relatives(part), None)
        if part is None or relative is None:
            return [(EVERYTHING, [], [])]
        rest = possible_bits(part) & ~relative.field.mask
        target = self._relative(tables, relative)
        going = tables.table([tables.constructor((), EVERYTHING, hidden=[target],
                              body=f"if ({_TAKEN} == 0) goto <past>; goto {target}; <past>")])  # fmt: skip
        absent: list[int] = []
        taken: list[str] = []
        present: list[int] = []
        for word in subsets(rest):
            bound = bound_value(part, word, BINDER)
            if bound is None:
                absent.append(word)
                continue
            number, negated, _ = bound
            place = register_name(self.machine.files["p"], number)
            body = f"{_TAKEN} = {place}{' == 0' if negated else ''};"
            taken.append(tables.constructor((), cubes_of(rest, [word]), body=body))
            present.append(word)
        return [(cubes_of(rest, absent), [], []), (cubes_of(rest, present), [tables.table(taken)], [going])]

    def _relative(self, tables: Tables, part: Relative) -> str:
        name = f"{tables.prefix}ahead"
        fields = [tables.field(low, n, kind="v") for low, n in part.field.slices]
        (field,) = fields
        reach = f" & {part.modulus - 1:#x}" if part.modulus else ""
        action = f"{name} = (inst_start + {field}){reach};"
        body = f"export *[ram]:4 {name};"
        row = tables.constructor((SleighOperand(name),), EVERYTHING, used=fields, actions=[action], body=body)
        return tables.table([row])

    # --- text -----------------------------------------------------------------------------------------------------

    def _divided(self, tables: Tables, pieces: list[Node], tail: Atoms) -> tuple[Atoms, Atoms | None]:
        """Return the mnemonic and operands, None where these may be missing: SLEIGH puts one blank between them."""
        sure = next(k for k, n in enumerate(pieces) if tables.always_there(n))
        first: list[Atom] = []
        for n in pieces[:sure]:
            first += tables.text(n, "", " ")
        first += tables.text(pieces[sure])
        rest = pieces[sure + 1 :]
        second = next((k for k, n in enumerate(rest) if tables.always_there(n)), None)
        if second is None:
            for n in rest:
                first += tables.text(n, " ")
            return (*first, *tail), None
        body: list[Atom] = []
        for k, n in enumerate(rest):
            body += tables.text(n, " " if k > second else "", " " if k < second else "")
        return tuple(first), (*body, *tail)

    def _region(self, number: int) -> Cubes:
        """Return the words of a form.

        These are the words that no form before it takes, unless such a form fixes more bits, which SLEIGH sees.
        """
        f = self.model.forms[number]
        cubes: Cubes = [f.fixed]
        for u in f.unless:
            cubes = [c for kept in cubes for c in without([kept], u)]
        for earlier in self.model.forms[:number]:
            if earlier.units != f.units or f.fixed.join(earlier.fixed) is None:
                continue
            if f.fixed.mask & ~earlier.fixed.mask or earlier.unless:
                for c in _region_of(earlier):
                    cubes = without(cubes, c)
        return cubes

    # --- files ----------------------------------------------------------------------------------------------------

    def specification(self) -> str:
        """Return the .slaspec."""
        roots = [r for k, f in enumerate(self.model.forms) for r in self.root(k, f)]
        view = self.view
        lines = [
            f"# {view.isa.name} {view.variant.name} {view.program}: generated by isakit; not to be edited.",
            "define endian=little;",
            f"define alignment={self.unit_bytes};",
        ]
        words = f" wordsize={self.unit_bytes}" if view.isa.word_addressed else ""
        lines += [
            f"define space ram type=ram_space size=4{words} default;",
            "define space register type=register_space size=4;",
            "",
            "define register offset=0x0 size=4 [pc];",
            f"define register offset=0x10 size=1 [{_GO} {_TAKEN}];",
            *self._registers(),
            *self._context(),
        ]
        for t in self.sizes.values():
            lines.append(f"define token {t.prefix}word({t.bits})")
            for name, (low, n, signed) in t.fields.items():
                lines.append(f"  {name}=({low},{low + n - 1}){' signed' if signed else ''}")
            lines.append(";")
            for (_, _, values), name in t.attached.items():
                lines.append(f"attach names [{name}] [{' '.join(quoted(v) for v in values)}];")
            for (_, _, values), name in self.machine.registers.get(t.prefix, {}).items():
                lines.append(f"attach variables [{name}] [{' '.join(values)}];")
            lines += t.lines
        return "\n".join([*lines, *roots, ""])

    def _registers(self) -> list[str]:
        """Return memory spaces, registers, user-defined operations."""
        out = [
            f"define space {self.machine.spaces[name]} type=ram_space size=4 wordsize={cell};"
            for name, cell in memory_cells(self.view.isa.spaces).items()
        ]
        offset = 0x1000
        for f in self.machine.files.values():
            size = -(-f.width // 8)
            names = " ".join(register_name(f, k) for k in range(f.count))
            out.append(f"define register offset={offset:#x} size={size} [{names}];")
            offset += 0x1000
        for size in self.machine.scratch:
            out.append(f"define register offset={offset:#x} size={size} [{self.machine.scratch_of(size)}];")
            offset += 0x20
        out += [f"define pcodeop {name};" for name in self.machine.operations]
        return out

    def _context(self) -> list[str]:
        digits = [f"{{}}{k}=({_CONTEXT_DIGIT + 4 * k},{_CONTEXT_DIGIT + 4 * k + 3})" for k in range(DIGITS)]
        decimal = " ".join([*(quoted(str(d)) for d in range(10)), *['""'] * 6])
        hexadecimal = " ".join(quoted(f"{d:02x}") for d in range(256))
        out = [
            "define register offset=0x100 size=16 [contextreg];",
            "define context contextreg",
            *(f"  {n}=({low},{low + size - 1}) noflow" for n, (low, size) in _CONTEXT.items()),
            *(f"  {d.format(name)} noflow" for d in digits for name in ("set_digit", "digit")),
            "  odd_top=(32,32) noflow",
            *(f"  odd_byte{k}=({8 * k},{8 * k + 7}) noflow" for k in range(4)),
            ";",
            f"attach names [{' '.join(f'digit{k}' for k in range(DIGITS))}] [{decimal}];",
            f"attach names [{' '.join(f'odd_byte{k}' for k in range(4))}] [{hexadecimal}];",
        ]
        for n in range(DIGITS):  # the fewest digits are the most special case
            shown = "^".join(f"digit{k}" for k in range(n, -1, -1))
            zeros = " & ".join(f"digit{k}=0" for k in range(DIGITS - 1, n, -1))
            pattern = " & ".join([*([zeros] if zeros else []), *(f"digit{k}" for k in range(n + 1))])
            out.append(f"digits_shown: {shown} is {pattern} {{ }}")
        computed = " ".join(
            f"set_digit{k} = ({VALUE} / {10**k}) - ({VALUE} / {10 ** (k + 1)}) * 10;" for k in range(DIGITS)
        )
        out.append(f"digits: digits_shown is digits_shown [ {computed} ] {{ }}")
        out.append(f'{PLACED}: "" is {MISPLACED}=0 {{ }}')
        out.append(f'odd_shown: "" is {ODD_LOW}=0 & {ODD_HIGH}=0 {{ }}')
        value = f"v = ({ODD_HIGH} << 32) | {ODD_LOW};"
        out.append(f'odd_shown: " {{"^v^"}}" is odd_top=0 & {ODD_LOW} & {ODD_HIGH} [ {value} ] {{ }}')
        shown = "^".join(f"odd_byte{k}" for k in range(4))
        out.append(
            f'odd_shown: " {{"^{ODD_HIGH}^{shown}^"}}" is odd_top=1 & {ODD_HIGH} & '
            + " & ".join(f"odd_byte{k}" for k in range(4))
            + " { }"
        )
        return out

    def files(self) -> dict[str, str]:
        """Return all files by name."""
        view = self.view
        text = self.specification()
        check_room(text)
        language = ":".join(
            (f"isakit-{view.isa.name}", "LE", "32", "-".join(p for p in (view.variant.name, view.program) if p))
        )
        definition = f"""<?xml version="1.0" encoding="UTF-8"?>
<language_definitions>
  <language processor="isakit-{view.isa.name}" endian="little" size="32" variant="{language.rsplit(":", 1)[1]}"
            version="{VERSION}" slafile="{self.name}.sla" processorspec="{self.name}.pspec" id="{language}">
    <description>{view.isa.name} {view.variant.name} {view.program}</description>
    <compiler name="default" spec="{self.name}.cspec" id="default"/>
  </language>
</language_definitions>
"""
        processor = """<?xml version="1.0" encoding="UTF-8"?>
<processor_spec>
  <programcounter register="pc"/>
</processor_spec>
"""
        compiler = """<?xml version="1.0" encoding="UTF-8"?>
<compiler_spec>
  <data_organization>
    <pointer_size value="4"/>
    <default_alignment value="1"/>
  </data_organization>
  <global>
    <range space="ram"/>
  </global>
  <default_proto>
    <prototype name="default" extrapop="0" stackshift="0">
      <input/>
      <output/>
    </prototype>
  </default_proto>
</compiler_spec>
"""
        return {
            f"{self.name}.slaspec": text, f"{self.name}.ldefs": definition,
            f"{self.name}.pspec": processor, f"{self.name}.cspec": compiler,
        }  # fmt: skip


def _region_of(f: FormModel) -> Cubes:
    cubes: Cubes = [f.fixed]
    for u in f.unless:
        cubes = without(cubes, u)
    return cubes


def _builds(tables: list[str]) -> str:
    return " ".join(f"build {t};" for t in tables)


def memory_cells(spaces: Iterable[Space]) -> dict[str, int]:
    """Return the bytes of a cell of each memory space, by its name: `c0[]..c15[]` are sixteen spaces."""
    out: dict[str, int] = {}
    for s in spaces:
        found = re.fullmatch(r"(\w+?)(\d+)\[\]\.\.\w+?(\d+)\[\]", s.name)
        names = [s.name.removesuffix("[]")]
        if found is not None:
            names = [f"{found[1]}{k}" for k in range(int(found[2]), int(found[3]) + 1)]
        out |= dict.fromkeys(names, s.cell)
    return out


def _relatives(part: Part) -> Iterator[Relative]:
    """Yield the relative addresses among the operands a part is made of."""
    for p in alternatives(part):
        if isinstance(p, Relative):
            yield p
        if isinstance(p, Template):
            for inner in p.children:
                yield from _relatives(inner)


def _pieces(items: tuple[Node | str, ...]) -> list[Node]:
    """Split the items of a form at blanks; what is in parentheses is one piece."""
    stack: list[list[Node]] = [[]]
    for i in items:
        if i == "(":
            stack.append([])
        elif i == ")":
            inner = stack.pop()
            held = Join(tuple(inner), (" ",) * (len(inner) - 1))
            stack[-1].append(Join((FixedText("("), held, FixedText(")")), ("", "")))
        else:
            stack[-1].append(FixedText(i) if isinstance(i, str) else i)
    (pieces,) = stack
    return [p for p in pieces if not (isinstance(p, FixedText) and not p.text)]
