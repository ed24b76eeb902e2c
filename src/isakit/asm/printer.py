"""Programs to text: listings that assemble back, byte for byte."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from isakit.asm.module_directives import data_lines, kernel_lines, module_lines, size_lines
from isakit.asm.program import Program
from isakit.asm.spelling import KernelSpelling, bank_names
from isakit.asm.units import address_scale
from isakit.codec import CodeAddress, Instruction
from isakit.description import Module, merge_segments

if TYPE_CHECKING:
    from isakit.annotations import Annotations

Notes = Callable[[Instruction], str]
"""Gives the comment of a listing on an instruction; a text without line ends."""
Before = Callable[[Instruction], Iterable[str]]
"""Lines before an instruction; comments, if the listing has to assemble."""
CodeLines = Callable[..., Iterator[str]]
"""Writes the instructions of a program as `instruction_lines` does."""
_COLUMN = 44
_INDENT = "    "


def listing(program: Program, *, words: bool = True, labels: bool = True) -> str:
    """Return the whole text: directives, labels, one instruction per line, address and words as comments."""
    return "\n".join((*lines(program, words=words, labels=labels), ""))


def lines(
    program: Program,
    *,
    words: bool = True,
    labels: bool = True,
    header: bool = True,
    notes: Notes | None = None,
    before: Before | None = None,
    collapse: bool = True,
    code: CodeLines | None = None,
) -> Iterator[str]:
    """Yield the lines of `listing` lazily.

    `notes` returns a comment after the words of an instruction; `before` lines before it. These follow the comments of
    a program's annotations, whose labels replace generated ones. Without `header` no line states instruction set
    or program type, for texts that do so themselves. With `collapse` long runs of equal words are one line. `code`
    replaces `instruction_lines`; it may yield several lines as one text.
    """
    isa = program.decoder.isa
    if header:
        yield f".isa {isa.name} {program.variant}"
    several = any(p.kernel is None for p in program.parts)
    if header and program.program_type != isa.default_program and not several:
        yield f".program {program.program_type}"
    for bank, data in program.constants.items():
        yield from _constants(bank, merge_segments(data), bank_names(data))
    if program.constants and not program.parts and program.kernel is None:
        yield ".code"
    for part in program.parts or (program,):
        if several:
            yield f".program {part.program_type}"
        yield from _body(part, words, labels, notes, before, collapse, code or instruction_lines)


def module_text(module: Module) -> Iterator[str]:
    """Yield the listing of a file of kernels: the lines of the module, then those of its kernels.

    Assembling it gives an equal module; content without a text is named with `.omitted`. Kernels of instruction sets
    other than Tesla are listed without their file's properties. Raises IsakitError if the file does not identify its
    code.
    """
    yield f".isa {module.isa} {module.instruction_set.variant}"
    yield from module_header(module)
    for kernel in module.kernels.values():
        yield ""
        yield from lines(kernel.program, header=False)


def module_header(module: Module) -> Iterator[str]:
    """Yield the lines between `.isa` and the first kernel in the listing of a file of kernels."""
    yield from module_lines(module)
    for bank, segments in module.constants.items():
        data = module.constant_bytes(bank)
        yield from _constants(bank, data, bank_names(segments))
        yield from size_lines(segments, len(data))


def _body(
    program: Program,
    words: bool,
    labels: bool,
    notes: Notes | None,
    before: Before | None,
    collapse: bool,
    code: CodeLines,
) -> Iterator[str]:
    kernel = program.kernel
    if kernel is not None:
        spelling = KernelSpelling(kernel)
        yield f".kernel {spelling.name}"
        for name, value in (
            ("regs", kernel.registers), ("shared", kernel.shared_bytes), ("local", kernel.local_bytes),
            ("bars", kernel.barriers),
        ):  # fmt: skip
            if value is not None:
                yield f".{name} {value:#x}" if name in ("shared", "local") else f".{name} {value}"
        yield from spelling.params()
        yield from kernel_lines(kernel)
        for bank, segments in kernel.constants.items():
            data = kernel.constant_bytes(bank)
            yield from _constants(bank, data, spelling.constants[bank])
            yield from size_lines([s for s in segments if s.name in spelling.constants[bank]], len(data))
        if kernel.constants:
            yield ".code"
    if program.address:
        yield f".org {program.address:#x}"
    if program.annotations is not None:
        code, before = instruction_lines, _annotated(program.annotations, before)
    yield from code(program, words=words, labels=labels, notes=notes, before=before, collapse=collapse)
    if program.tail:
        yield _INDENT + ".byte " + ", ".join(f"{b:#04x}" for b in program.tail)


def _annotated(annotations: Annotations, before: Before | None) -> Before:
    """Return a function that gives the comments on an instruction, and then the lines of `before`."""

    def lines_before(i: Instruction) -> Iterator[str]:
        yield from (f"{_INDENT}// {line}".rstrip() for line in annotations.lines(i.address))
        if before is not None:
            yield from before(i)

    return lines_before


def _constants(bank: int, data: bytes, names: Mapping[str, int]) -> Iterator[str]:
    yield f".const {bank}"
    places: dict[int, list[str]] = {}
    for name, offset in names.items():
        places.setdefault(offset, []).append(name)
    cuts = sorted({0, len(data), *(o for o in places if o <= len(data))})
    for start, end in zip(cuts, [*cuts[1:], cuts[-1]], strict=True):
        for name in places.get(start, ()):
            yield f"{name}:"
        yield from data_lines(data[start:end])


def instruction_lines(
    program: Program,
    *,
    words: bool = True,
    labels: bool = True,
    notes: Notes | None = None,
    before: Before | None = None,
    collapse: bool = True,
) -> Iterator[str]:
    """Yield the instructions of one piece of code, with labels for the targets of branches.

    Addresses are in the units of the instruction set's branches: bytes, or words. `before` returns lines before an
    instruction. With `collapse` long runs of equal words are one line, a `.fill`.
    """
    branches = _branches(program) if labels else {}
    names = _names(program, branches) if labels else {}
    labelled = {at: {b.name: names[b.address]} for at, b in branches.items() if b.address in names}
    row = _Rows(program, words, labelled, notes)
    scale = row.scale
    said = program.annotations.places() if program.annotations is not None else ()
    marks = sorted({*names, *(a // scale for a in said)})
    for whole, total in program.stretches if collapse else ((i, 1) for i in program.instructions):
        for i, count in _cut(whole, total, marks, scale) if total > 1 else ((whole, 1),):
            if before is not None:
                yield from before(i)
            name = names.get(i.address // scale)
            if name is not None:
                yield f"{name}:"
            yield row.line(i) if count == 1 else row.fill(i, count)


def _cut(i: Instruction, count: int, marks: Sequence[int], scale: int) -> Iterator[tuple[Instruction, int]]:
    """Yield the parts of a run between the labels in it, `marks`."""
    start, size, done = i.address // scale, i.size // scale, 0
    for mark in marks[bisect_right(marks, start) : bisect_left(marks, start + count * size)]:
        if (mark - start) % size == 0:
            part = (mark - start) // size
            yield i.decoder.one(i.word, i.units, i.address + done * i.size), part - done
            done = part
    yield i.decoder.one(i.word, i.units, i.address + done * i.size), count - done


class _Rows:
    """Writes instructions as lines. `labelled`: by address, the operand to replace by a label, and the label."""

    def __init__(
        self, program: Program, words: bool, labelled: Mapping[int, Mapping[str, str]], notes: Notes | None
    ) -> None:
        variant = program.decoder.view.variant
        self.words, self.labelled, self.notes = words, labelled, notes
        self.bits, self.digits = variant.unit_bits, (variant.unit_bits + 3) // 4
        self.mask = (1 << self.bits) - 1
        self.scale = address_scale(program.decoder)
        end = program.address + len(program.units) * variant.unit_bytes
        self.width = max(4, len(f"{end // self.scale:x}"))
        longest = 1 if notes is None else max(f.units for f in program.decoder.view.forms)
        self.room = (self.digits + 1) * longest - 1

    @property
    def column(self) -> int:
        """The column of notes that follow words."""
        return len(_INDENT) + _COLUMN + len(" // : ") + self.width + self.room + 2

    def line(self, i: Instruction) -> str:
        """Return the line of an instruction."""
        label, error = self.labelled.get(i.address), i.error
        text = i.text if label is None else i.text_with(label)
        note = error or (self.notes(i) if self.notes is not None else "")
        if not self.words:
            return f"{_INDENT}{text}  // {note}" if note else _INDENT + text
        if i.units == 1:
            hexed = f"{i.word:0{self.digits}x}"
        else:
            hexed = " ".join([f"{i.word >> self.bits * k & self.mask:0{self.digits}x}" for k in range(i.units)])
        line = f"{_INDENT}{text:<{_COLUMN}} // {i.address // self.scale:0{self.width}x}: {hexed}"
        return f"{line}{' ' * (0 if error else self.room - len(hexed))}  {note}" if note else line

    def fill(self, i: Instruction, count: int) -> str:
        """Return the line of an instruction that is repeated."""
        values = ", ".join(f"{w:#0{self.digits + 2}x}" for w in i.words)
        text = f".fill {count:#x}, {values}"
        what = f"{count} times {i.error or i.text}"
        if not self.words:
            return f"{_INDENT}{text}  // {what}"
        return f"{_INDENT}{text:<{_COLUMN}} // {i.address // self.scale:0{self.width}x}: {what}"


def note_column(program: Program) -> int:
    """Return the column in which a listing with words has its notes, counted from 0."""
    return _Rows(program, True, {}, lambda _: "").column


def label_names(program: Program) -> dict[int, str]:
    """Return names for the places of the program that branches go to, by code address."""
    return _names(program, _branches(program))


def _branches(program: Program) -> dict[int, CodeAddress]:
    """Return the targets of branches that a label may replace, by the address of the branch."""
    found: dict[int, CodeAddress] = {}
    for i, _ in program.stretches:
        compiled = i.compiled
        if compiled is None or compiled.form.code_address is None:
            continue
        target = i.code_address
        if target is not None and i.takes_label:
            found[i.address] = target
    return found


def _names(program: Program, branches: Mapping[int, CodeAddress]) -> dict[int, str]:
    """Return names by code address, for targets of branches and for annotations."""
    scale = address_scale(program.decoder)
    given = program.annotations.labels if program.annotations is not None else {}
    named = {a // scale: name for a, name in given.items() if a % scale == 0}
    targets = {target.address for target in branches.values()} | named.keys()
    if not targets:
        return {}
    starts: set[int] = set()
    for i, count in program.stretches:
        if count == 1:
            starts.add(i.address // scale)
        else:
            starts |= {t for t in targets if 0 <= t * scale - i.address < count * i.size
                       and (t * scale - i.address) % i.size == 0}  # fmt: skip
    taken = set(named.values())
    found: dict[int, str] = {}
    for t in sorted(targets & starts):
        name = named.get(t, f"L{t:04x}")
        while t not in named and name in taken:
            name += "_"
        found[t] = name
    return found


__all__ = ["instruction_lines", "label_names", "lines", "listing", "module_header", "module_text", "note_column"]
