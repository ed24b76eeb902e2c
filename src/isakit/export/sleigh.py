"""A processor for Ghidra: SLEIGH specification and the files that let Ghidra load it, generated from the records.

`sleigh_files` gives the files of `data/languages` of a Ghidra module; the compiler of Ghidra, or the one in the package
`pypcode`, makes a `.sla` of the `.slaspec`.
"""

from __future__ import annotations

from isakit.codec import Decoder
from isakit.errors import IsakitError
from isakit.export.cubes import Cubes, without
from isakit.export.sleigh_text import (
    DIGITS,
    ODD_HIGH,
    ODD_LOW,
    VALUE,
    Atom,
    Atoms,
    Operand,
    Tables,
    quoted,
    sum_of_masks,
)
from isakit.export.texts import Either, FormModel, Join, Model, Node, Words

VERSION = "1.0"
"""Of the language in Ghidra: programs analysed with another main number are translated anew."""
_CONTEXT = {ODD_LOW: (0, 32), ODD_HIGH: (32, 32), VALUE: (64, 24), "misplaced": (88, 4)}
_CONTEXT_DIGIT = 96


def sleigh_files(decoder: Decoder) -> dict[str, str]:
    """Contents by file name: specification, language definition, processor and compiler specification.

    Raises CannotExport where an operand cannot be told without the library.
    """
    return _Writer(decoder).files()


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
        if max(t.bits for t in self.sizes.values()) > 64:
            raise IsakitError(f"instructions of {view.isa.name} do not fit 64 bits")

    # --- instructions ---------------------------------------------------------------------------------------------

    def root(self, number: int, f: FormModel) -> str | None:
        """The constructor of a form, None where every word of it is an error."""
        tables = self.sizes[f.units]
        pieces = _pieces(f.items)
        forced = tables.flag(f.forced, ("long ",), ())
        claims = f.claimed.nodes if isinstance(f.claimed, Either) else (f.claimed,)
        every = (1 << self.unit_bits * f.units) - 1
        open_bits = every & ~sum_of_masks(claims)
        actions: list[str] = []
        used: list[str] = []
        tail: Atoms = ()
        if open_bits:
            tail = (Operand(tables.odd(claims, open_bits)),)
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
            return None
        if f.units > 1:
            actions.append(f"misplaced = inst_start & {f.units * self.unit_bytes - 1};")
            hidden = ["placed", *hidden]
        mnemonic, body = self._divided(tables, pieces, tail)
        row = tables.constructor(
            (*forced, *mnemonic), self._region(number), operands=body, hidden=[*hidden, *used], actions=actions
        )
        return f":^{row}"

    def _divided(self, tables: Tables, pieces: list[Node], tail: Atoms) -> tuple[Atoms, Atoms | None]:
        """Mnemonic and operands, None where these may be missing: SLEIGH puts one blank between them."""
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
        """The words of a form: those that no form before it takes, unless these fix more bits, which SLEIGH sees."""
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
        """The .slaspec."""
        roots = [r for k, f in enumerate(self.model.forms) if (r := self.root(k, f)) is not None]
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
            *self._context(),
        ]
        for units, t in self.sizes.items():
            lines.append(f"define token {t.prefix}word({t.bits})")
            for name, (low, n, signed) in t.fields.items():
                lines.append(f"  {name}=({low},{low + n - 1}){' signed' if signed else ''}")
            lines.append(";")
            for (_, _, values), name in t.attached.items():
                lines.append(f"attach names [{name}] [{' '.join(quoted(v) for v in values)}];")
            lines += t.lines
            del units
        return "\n".join([*lines, *roots, ""])

    def _context(self) -> list[str]:
        digits = [f"{{}}{k}=({_CONTEXT_DIGIT + 4 * k},{_CONTEXT_DIGIT + 4 * k + 3})" for k in range(DIGITS)]
        decimal = " ".join([*(quoted(str(d)) for d in range(10)), *['""'] * 6])
        hexadecimal = " ".join(quoted(f"{d:x}") for d in range(16))
        out = [
            "define register offset=0x100 size=16 [contextreg];",
            "define context contextreg",
            *(f"  {n}=({low},{low + size - 1}) noflow" for n, (low, size) in _CONTEXT.items()),
            *(f"  {d.format(name)} noflow" for d in digits for name in ("set_digit", "digit")),
            "  odd_top=(32,32) noflow",
            *(f"  odd_digit{k}=({4 * k},{4 * k + 3}) noflow" for k in range(8)),
            ";",
            f"attach names [{' '.join(f'digit{k}' for k in range(DIGITS))}] [{decimal}];",
            f"attach names [{' '.join(f'odd_digit{k}' for k in range(8))}] [{hexadecimal}];",
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
        out.append('placed: "" is misplaced=0 { }')
        out.append(f'odd_shown: "" is {ODD_LOW}=0 & {ODD_HIGH}=0 {{ }}')
        out.append(
            f'odd_shown: " {{"^v^"}}" is odd_top=0 & {ODD_LOW} & {ODD_HIGH} [ v = ({ODD_HIGH} << 32) | {ODD_LOW}; ] {{ }}'
        )
        shown = "^".join(f"odd_digit{k}" for k in range(8))
        out.append(
            f'odd_shown: " {{"^{ODD_HIGH}^{shown}^"}}" is odd_top=1 & {ODD_HIGH} & '
            + " & ".join(f"odd_digit{k}" for k in range(8)) + " { }"
        )
        return out

    def files(self) -> dict[str, str]:
        """All files by name."""
        view = self.view
        text = self.specification()
        language = ":".join((f"isakit-{view.isa.name}", "LE", "32", "-".join(p for p in (view.variant.name, view.program) if p)))
        definition = f"""<?xml version="1.0" encoding="UTF-8"?>
<language_definitions>
  <language processor="isakit-{view.isa.name}" endian="little" size="32" variant="{language.rsplit(':', 1)[1]}"
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


def _pieces(items: tuple[Node | str, ...]) -> list[Node]:
    """The items of a form as texts between which blanks stand: what is in parentheses is one of them."""
    stack: list[list[Node]] = [[]]
    for i in items:
        if i == "(":
            stack.append([])
        elif i == ")":
            inner = stack.pop()
            held = Join(tuple(inner), (" ",) * (len(inner) - 1))
            stack[-1].append(Join((Words("("), held, Words(")")), ("", "")))
        else:
            stack[-1].append(Words(i) if isinstance(i, str) else i)
    (pieces,) = stack
    return [p for p in pieces if not (isinstance(p, Words) and not p.text)]
