"""The details of an instruction besides its text: operands, registers read and written, errors.

They are nodes like those of `texts`, so that an export writes both in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isakit.codec import Decoder
from isakit.export.text_nodes import NO, FixedText, Join, Mask, Node, NumberText, Select, first_set
from isakit.export.texts import CannotExport, FormModel, Model, is_small
from isakit.lean import dataclass
from isakit.spec.operands import (
    CodeAddress,
    Compound,
    Condition,
    Flag,
    Immediate,
    Memory,
    Operand,
    Register,
    SpecialRegister,
    accesses,
)
from isakit.spec.parts import (
    Bitless,
    Choice,
    Dependent,
    Enum,
    Imm,
    Numbered,
    Part,
    Reg,
    Relative,
    Silent,
    Template,
    error_of,
    operand_of,
)
from isakit.spec.record import Form

KINDS: tuple[type[Operand], ...] = (
    Operand, Register, Immediate, Memory, CodeAddress, Condition, Flag, Compound, SpecialRegister,
)  # fmt: skip
"""Kinds of operands by their number; number 0 is an empty slot."""
READ, WRITTEN = 0, 1
BETWEEN = " "
"""Separator between the names of registers in one text."""
_EMPTY = FixedText("")


@dataclass(frozen=True, eq=False)
class OperandModel:
    """One operand of a form.

    Attributes:
        name: its name in the record.
        text: its printed text, empty if it is left out.
        kind: its number in `KINDS`.
        value: the number of an immediate, the target of a branch, the number of a register, the offset of an access.
    """

    name: str
    text: Node
    kind: Node
    value: Node


@dataclass(frozen=True, eq=False)
class FormDetails:
    """The details of one form: everything except its text.

    Attributes:
        operands: in the order of the text.
        mnemonic: a text whose first word is the operation's name.
        reads, writes: names of registers, with `BETWEEN` between them; a name may be there twice.
        error: number of the decode error in `Details.errors`, 0 for none.
        group: purpose of the instruction, None without a record.
        links: text of an operand that makes the instruction a call.
        target: of the operands, the one that a label may stand for, None where none may.
    """

    operands: tuple[OperandModel, ...]
    mnemonic: Node
    reads: Node
    writes: Node
    error: Node
    group: str | None
    links: str
    target: OperandModel | None


class Details:
    """The details of all forms of a model.

    Attributes:
        errors: names of decode errors by number; number 0 is no error.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.decoder: Decoder = model.decoder
        self.errors: list[str] = [""]
        self.misaligned = self.error_number(self.decoder.isa.misaligned)
        self.truncated = self.error_number("TRUNCATED_INSTRUCTION")
        self._known: dict[tuple[object, ...], Node] = {}
        self._keep: list[Part] = []

    def error_number(self, name: str) -> int:
        """Return the number of a decode error."""
        if name not in self.errors:
            self.errors.append(name)
        return self.errors.index(name)

    def lacking(self) -> list[tuple[Form, int]]:
        """Return the forms that the view does not have, in the order in which they are tried, and their errors."""
        view = self.decoder.view
        order = list(dict.fromkeys(f.fixed.mask for f in view.declared))
        ranks = {mask: k for k, mask in enumerate(sorted(order, key=lambda m: -m.bit_count()))}
        forms = sorted((f for f in view.declared if not view.available(f)), key=lambda f: ranks[f.fixed.mask])
        return [(f, self.error_number(f.lacking)) for f in forms]

    def form(self, f: FormModel) -> FormDetails:
        """Return the details of one form."""
        form = f.form
        outputs = self.decoder.isa.outputs
        shown = [i[1:-1] for i in form.syntax if i[0] == "{" and i != "{name}"]
        operands = {n: self._operand(n, form.parts[n]) for n in shown}
        reads = [self._accessed(p, n in outputs, READ) for n, p in form.parts.items()]
        writes = [self._accessed(p, n in outputs, WRITTEN) for n, p in form.parts.items()]
        refused = [Select(((r.when, None, Mask(self.error_number(r.error))),), NO) for r in form.refusals]
        errors = [*refused, *(self._error(p) for p in form.parts.values())]
        names = form.mnemonics
        name = self.model.text(form.parts["name"]) if "name" in form.parts else FixedText(names[0] if names else "")
        target = operands.get(form.code_address) if form.code_address is not None else None
        if target is not None and not self.decoder.encoder.one_size(form):
            target = None
        record = form.record
        return FormDetails(
            tuple(operands.values()), name, _together(reads), _together(writes), first_set(errors),
            None if record is None else str(record.group), "" if record is None else record.links or "", target,
        )  # fmt: skip

    def _operand(self, name: str, part: Part) -> OperandModel:
        return OperandModel(name, self.model.text(part), self._kind(part), self._value(part))

    def _once(self, question: object, part: Part, make: Callable[[Any], Node]) -> Node:
        key = (question, id(part))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = make(part)
            self._keep.append(part)
        return found

    def _structure(self, part: Part, make: Callable[[Part], Node], otherwise: Node) -> Node | None:
        """Return the node of a part that other bits select, None for one that is not selected."""
        if isinstance(part, Choice):
            return self.model.select(part, make, otherwise)
        if isinstance(part, Dependent):
            return self.model.switch(part, make)
        return None

    # --- errors ----------------------------------------------------------------------------------------------------

    def _error(self, part: Part) -> Node:
        return self._once("error", part, self._new_error)

    def _new_error(self, part: Part) -> Node:
        def number(word: int) -> int:
            name = error_of(part, word)
            return 0 if name is None else self.error_number(name)

        if isinstance(part, Bitless):
            return Mask(number(0))
        if isinstance(part, (Silent, Imm, Numbered)):
            return NO
        if isinstance(part, Reg) or is_small(part):
            return self.model.tabulated(part, number)
        if isinstance(part, Choice):
            return self.model.select(part, self._error, Mask(self.error_number(part.illegal)))
        if isinstance(part, Dependent):
            return self.model.switch(part, self._error)
        if isinstance(part, Template):
            return first_set([self._error(p) for p in part.children])
        raise CannotExport(f"{type(part).__name__} has errors that cannot be exported")

    # --- registers -------------------------------------------------------------------------------------------------

    def _accessed(self, part: Part, output: bool, which: int) -> Node:
        """Return the text of the registers that a part reads or writes."""
        return self._once((which, output), part, lambda p: self._new_accessed(p, output, which))

    def _new_accessed(self, part: Part, output: bool, which: int) -> Node:
        outputs = self.decoder.isa.outputs
        if self._tabulates(part):
            return self._table(part, lambda o: _names(accesses(o, output, outputs)[which]), "")
        found = self._structure(part, lambda p: self._accessed(p, output, which), _EMPTY)
        if found is not None:
            return found
        if isinstance(part, Template):
            return self._accessed_by_template(part, output, which)
        return _EMPTY  # numbers and words

    def _accessed_by_template(self, part: Template, output: bool, which: int) -> Node:
        if part.is_group:
            return _together(self._accessed_by_group(part, output, which))
        if part.register is not None:
            self._plain_hints(part, "index_register")
            return self._accessed(part.register, output, which)
        if issubclass(part.kind, Memory):
            self._plain_hints(part, "base", "index", "post_increment")
            base, index = (self._register_in(part, name) for name in ("base", "index"))
            if which == READ:
                return _together([base, index])
            moves = part.facts.get("post_increment", False)
            if "post_increment" in part.holes:
                raise CannotExport("a mark of a memory access decides whether its base is written")
            return base if moves else _EMPTY
        if issubclass(part.kind, CodeAddress):
            self._plain_hints(part, "condition")
            hole = part.holes.get("condition")
            return _EMPTY if hole is None else self._accessed(hole, False, which)
        if issubclass(part.kind, Condition):
            self._plain_hints(part, "register")
            return self._register_in(part, "register") if which == READ else _EMPTY
        return _EMPTY

    def _accessed_by_group(self, part: Template, output: bool, which: int) -> list[Node]:
        return [self._accessed_in_group(h, output, which) for _, _, h in part.items if h is not None]

    def _accessed_in_group(self, part: Part, output: bool, which: int) -> Node:
        """Return what one operand of a group reads or writes; those of a group in it are results by their names."""
        if isinstance(part, Dependent):
            key = ("in a group", output, which)
            return self._once(
                key, part, lambda p: self.model.switch(p, lambda q: self._accessed_in_group(q, output, which))
            )
        if isinstance(part, Template) and part.is_group:
            holes = [h for _, _, h in part.items if h is not None]
            outputs = self.decoder.isa.outputs
            named = zip(part.holes, holes, strict=True)
            return _together([self._accessed(h, name in outputs, which) for name, h in named])
        return self._accessed(part, output, which)

    def _plain_hints(self, part: Template, *names: str) -> None:
        """Raise CannotExport if attributes of the operand depend on more than its holes and facts."""
        hints = part.hints(0) if callable(part.hints) else part.hints
        if told := [n for n in names if n in hints]:
            raise CannotExport(f"hints of {part.spelling!r} tell {', '.join(told)}")

    def _register_in(self, part: Template, name: str) -> Node:
        """Return the text of the register that is an attribute of an operand, without the text around it."""
        hole = part.holes.get(name)
        if hole is None:
            known = part.facts.get(name)
            return FixedText(str(known.alone)) if isinstance(known, Register) else _EMPTY
        return self._alone(hole)

    def _alone(self, part: Part) -> Node:
        return self._once("alone", part, self._new_alone)

    def _new_alone(self, part: Part) -> Node:
        if self._tabulates(part):
            return self._table(part, lambda o: str(o.alone) if isinstance(o, Register) else "", "")
        found = self._structure(part, self._alone, _EMPTY)
        if found is not None:
            return found
        if isinstance(part, Template) and part.register is not None:
            return self._alone(part.register)
        return _EMPTY

    # --- kinds and values ------------------------------------------------------------------------------------------

    def _kind(self, part: Part) -> Node:
        return self._once("kind", part, self._new_kind)

    def _new_kind(self, part: Part) -> Node:
        if self._tabulates(part):
            return self._table(part, lambda o: 0 if o is None else KINDS.index(type(o)), 0)
        found = self._structure(part, self._kind, NO)
        if found is not None:
            return found
        if isinstance(part, Template):
            return self._kind(part.register) if part.register is not None else Mask(KINDS.index(part.kind))
        if isinstance(part, Relative) or (isinstance(part, Imm) and part.code_address):
            return Mask(KINDS.index(CodeAddress))
        return Mask(KINDS.index(Immediate if isinstance(part, Imm) else Flag))

    def _value(self, part: Part) -> Node:
        return self._once("value", part, self._new_value)

    def _new_value(self, part: Part) -> Node:
        if isinstance(part, Relative):
            return NumberText(part.field, part.signed, part.scale, "d", "", True, part.modulus)
        if isinstance(part, Imm):
            return NumberText(part.field, part.signed, part.scale, "d")
        if self._tabulates(part):
            return self._table(part, number_in, 0)
        found = self._structure(part, self._value, NO)
        if found is not None:
            return found
        if isinstance(part, Template):
            if part.register is not None:
                return self._value(part.register)
            name = _NUMBER_IN.get(part.kind)
            if name is None:
                return NO
            hole = part.holes.get(name)
            known = part.facts.get(name, 0)
            return self._value(hole) if hole is not None else Mask(known if isinstance(known, int) else 0)
        return NO

    def _tabulates(self, part: Part) -> bool:
        """Return true for a part whose operand is looked up in a table indexed by its bits."""
        if part.addressed or isinstance(part, (Imm, Dependent)):
            return False
        if isinstance(part, (Choice, Template)) and (self._looks_further(part) or not is_small(part)):
            return False
        return isinstance(part, (Bitless, Reg, Enum)) or is_small(part)

    def _looks_further(self, part: Part) -> bool:
        """Return true if the operand may depend on other bits than those that its text may depend on."""
        if isinstance(part, Dependent) or (isinstance(part, Template) and callable(part.hints)):
            return True
        if isinstance(part, Choice) and any(a.unless is not None for a in part.alternatives):
            return True
        return any(self._looks_further(p) for p in part.children)

    def _table(self, part: Part, say: Callable[[Operand | None], str | int], illegal: str | int) -> Node:
        def told(word: int) -> str | int:
            return illegal if error_of(part, word) is not None else say(operand_of(part, word))

        return self.model.tabulated(part, told)


_NUMBER_IN: dict[type[Operand], str] = {Immediate: "value", CodeAddress: "address", Memory: "offset"}
"""The attribute that is the number of an operand."""


def number_in(operand: Operand | None) -> int:
    """Return the number of an operand in exports; 0 for operands without one."""
    if isinstance(operand, Register):
        return operand.index
    name = _NUMBER_IN.get(type(operand)) if operand is not None else None
    found = getattr(operand, name) if name is not None else 0
    return found if isinstance(found, int) else 0


def _names(registers: list[Register]) -> str:
    return BETWEEN.join(map(str, registers))


def _together(nodes: list[Node]) -> Node:
    """Return the texts of several nodes with `BETWEEN` between them."""
    some = [n for n in nodes if not (isinstance(n, FixedText) and not n.text)]
    if len(some) < 2:
        return some[0] if some else _EMPTY
    return Join(tuple(some), (BETWEEN,) * (len(some) - 1))
