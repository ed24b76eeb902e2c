"""First pass: statements to sections. Directives act here, instructions are only collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from isakit.asm.names import Names
from isakit.asm.sections import Bank, CodeStatement, Data, Item, Scope, Section
from isakit.asm.source import Source, SourceSpan, Statement, stray
from isakit.codec import Decoder, Stream, Token, decoder
from isakit.description import GlobalVariable, Kernel
from isakit.errors import AsmError, did_you_mean
from isakit.lean import dataclass
from isakit.spec import Variant

_PTX_DIRECTIVES = (".version", ".target", ".address_size", ".entry", ".visible", ".reg", ".global", ".func", ".extern")


@dataclass(frozen=True)
class Directive:
    """A directive: its name with the dot, its usage, its documentation, its action."""

    name: str
    usage: str
    doc: str
    run: Callable[[Reader, Statement, list[Token]], None]


class Reader:
    """Collects the sections of a source text; `sections[0]` has the content before the first kernel.

    In a text without kernels every program has a section, the first one `sections[0]`. `directives` are all there are,
    by name; those of a file format leave what they make in `file`. `variables` are those of the text, with the bank
    that their content goes to.
    """

    def __init__(self, source: Source, first: Decoder, directives: Mapping[str, Directive]) -> None:
        self.source, self.decoder = source, first
        self.directives = directives
        self.file: object = None
        self.globals = Scope()
        self.section = Section(self.globals, first)
        self.sections = [self.section]
        self.bank: Bank | None = None
        self.variables: list[tuple[GlobalVariable, Bank, Statement]] = []
        self.started = False
        self._kernels: dict[str, SourceSpan] = {}
        self._programs: dict[str, SourceSpan] = {}
        self._statement_names: set[str] = set()

    @property
    def variant(self) -> Variant:
        """The variant that is assembled for."""
        return self.decoder.view.variant

    def read(self) -> None:
        """Read all statements."""
        statements = self.source.statements()
        for s in statements:
            for name, _ in s.labels:
                self._statement_names.add(name)
            if s.assigned:
                self._statement_names.add(s.assigned)
            elif s.text.startswith((".equ", ".param")):
                self._statement_names.update(s.text.split()[1:2])
        for s in statements:
            for name, place in s.labels:
                self._label(name, place)
            if s.assigned:
                self._assignment(s)
            elif s.text.startswith("."):
                self._directive(s)
            elif s.text:
                if self.bank is not None:
                    self.source.error(s.place(), "an instruction cannot stand in constant data", "end it with `.code`")
                    self.bank = None
                self.started = True
                for real in self._real(s):
                    self.add(CodeStatement(real))
        self._flush()

    def _real(self, s: Statement) -> list[Statement]:
        """Return the statement itself, or the statements that a pseudo instruction expands to."""
        pseudo = self.decoder.isa.pseudo.get(s.text.split(None, 1)[0])
        tokens = self._tokens(s) if pseudo is not None else None
        if pseudo is None or tokens is None:
            return [s]
        got = Stream(tokens, self.known).number(2)
        if len(tokens) < 3 or got is None or got[0] != len(tokens):
            self.source.error(s.place(), "a register and a number that is known here were expected",
                              f"usage: {pseudo.usage}")  # fmt: skip
            return []
        if not pseudo.low <= got[1] <= pseudo.high:
            message = f"the number is {pseudo.low:#x} to {pseudo.high:#x}, not {got[1]:#x}"
            self.source.error(s.place(tokens[2]), message, f"usage: {pseudo.usage}")
            return []
        return [replace(s, text=text) for text in pseudo.expand(tokens[1].text, got[1])]

    # --- names --------------------------------------------------------------------------------------------------

    def _new(self, name: str, place: SourceSpan) -> bool:
        """Return true if the name may be defined here; reports an error otherwise."""
        earlier = self.section.scope.defined(name)
        if earlier is not None:
            self.source.error(place, f"`{name}` is already defined", f"first defined in line {earlier.line}")
            return False
        if name == ".":
            self.source.error(place, "`.` is the address of the statement")
            return False
        self.section.scope.places[name] = place
        return True

    def _label(self, name: str, place: SourceSpan) -> None:
        if not self._new(name, place):
            return
        if self.bank is not None:
            self.bank.names[name] = len(self.bank.data)
            self.section.scope.numbers[name] = len(self.bank.data)
        else:
            self._flush()
            self.section.labels[name] = len(self.section.items)

    def _assignment(self, s: Statement) -> None:
        tokens = self._tokens(s)
        if tokens is None:
            return
        place = SourceSpan(s.line, max(0, s.column), 1)
        if not tokens:
            self.source.error(place, f"`{s.assigned}` needs a value")
            return
        self.define(s.assigned, s, place, tokens)

    def define(self, name: str, s: Statement, place: SourceSpan, tokens: list[Token]) -> None:
        """Give an expression a name."""
        if self._new(name, place):
            self.section.scope.expressions[name] = s, tokens

    def define_number(self, name: str, place: SourceSpan, value: int) -> None:
        """Give a number a name."""
        if self._new(name, place):
            self.section.scope.numbers[name] = value

    def known(self, name: str) -> int | None:
        """Return the value of a name that does not depend on later lines."""
        return Names(self.section.scope)(name)

    def any_name(self, name: str) -> int | None:
        """Return 0 for every word that could be a name: to find where an expression ends."""
        return 0 if name == "." or self.section.scope.knows(name) or name in self._statement_names else self.known(name)

    # --- statements ---------------------------------------------------------------------------------------------

    def _tokens(self, s: Statement) -> list[Token] | None:
        try:
            return s.tokens()
        except AsmError as e:
            stray(self.source, s, e)
            return None

    def _directive(self, s: Statement) -> None:
        tokens = self._tokens(s)
        if tokens is None:
            return
        directive = self.directives.get(tokens[0].text)
        if directive is None:
            name = tokens[0].text
            (hint,) = did_you_mean(name, self.directives) or (f"there are {' '.join(self.directives)}",)
            if name in _PTX_DIRECTIVES:
                hint = "this looks like PTX, which is compiled, not assembled"
            self.source.error(s.place(tokens[0]), f"unknown directive `{name[:40]}`", hint)
            return
        directive.run(self, s, tokens[1:])

    def add(self, item: Item) -> None:
        """Append to the code."""
        self._flush()
        self._whole(item.statement)
        self.section.items.append(item)

    def add_byte(self, s: Statement, value: int) -> None:
        """Append a byte to the code."""
        if not self.section.loose:
            self._whole(s)
            self.section.loose_at = s
        self.section.loose.append(value)

    def _whole(self, following: Statement) -> None:
        """Complain if the bytes before `following` fill no word."""
        section = self.section
        if section.tail and section.loose_at is not None:
            unit = self.variant.unit_bytes
            self.source.error(
                section.loose_at.place(), f"bytes in code must fill whole words of {unit} bytes unless nothing follows",
                f"line {following.line} follows",
            )  # fmt: skip
            section.tail = b""

    def _flush(self) -> None:
        """Turn loose bytes into units; a rest becomes the section's tail."""
        section = self.section
        if not section.loose or section.loose_at is None:
            return
        unit = self.variant.unit_bytes
        data, at = bytes(section.loose), section.loose_at
        section.loose.clear()
        whole = len(data) // unit
        if whole:
            values = [int.from_bytes(data[i * unit : (i + 1) * unit], "little") for i in range(whole)]
            if any(v >> self.variant.unit_bits for v in values):
                self.source.error(at.place(), f"these bytes are not words of {self.variant.unit_bits} bits")
                return
            section.items.append(Data(at, whole, False, values))
        section.tail = data[whole * unit :]

    def data_bank(self, s: Statement) -> Bank | None:
        """Return the constant bank being filled; reports an error if there is none."""
        if self.bank is None:
            self.source.error(
                s.place(), f"`{s.tokens()[0].text}` belongs into constant data", "start it with `.const BANK`"
            )
        return self.bank

    def set_program(self, program: str, s: Statement) -> None:
        """Set the program type, or start the next program: `.program TYPE`."""
        view = self.decoder.view
        if self.started or self._programs:
            self._start_program(program, s)
        self._programs[program] = s.place()
        self.decoder = self.section.decoder = decoder(view.isa, view.variant.name, program)

    def _start_program(self, program: str, s: Statement) -> None:
        """End the current section and start a program's."""
        self._flush()
        self.bank = None
        earlier = self._programs.get(program)
        if earlier is not None:
            self.source.error(s.place(), f"second {program} program", f"the first stands in line {earlier.line}")
        elif program == self.section.decoder.view.program:
            self.source.error(s.place(), f"second {program} program", "the first is what stands before")
        if self.section is self.sections[0]:  # its labels are its own, other names are for all programs
            own = Scope(self.globals)
            for name in self.section.labels:
                own.places[name] = self.globals.places.pop(name)
            self.section.scope = own
        self.section = Section(Scope(self.globals), self.decoder, place=s.place())
        self.sections.append(self.section)
        self.started = False

    def start_kernel(self, name: str, s: Statement) -> None:
        """End the current section and start a kernel's."""
        self._flush()
        self.bank = None
        earlier = self._kernels.get(name)
        if earlier is not None:
            self.source.error(s.place(), f"second kernel `{name}`", f"the first stands in line {earlier.line}")
        elif self.section.kernel is None and self.section.items:
            self.source.error(
                self.section.items[0].statement.place(), "this code belongs to no kernel",
                f"the first `.kernel` stands in line {s.line}",
            )  # fmt: skip
        self._kernels[name] = s.place()
        self.section = Section(Scope(self.globals), self.decoder, Kernel(name), s.place())
        self.sections.append(self.section)
