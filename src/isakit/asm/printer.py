"""Programs to text: listings that assemble back, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from isakit.asm.module_directives import data_lines, kernel_lines, module_lines, size_lines
from isakit.asm.program import Program
from isakit.asm.spelling import KernelSpelling, bank_names
from isakit.codec import Decoder, Instruction
from isakit.description import Module, merge_segments

Notes = Callable[[Instruction], str]
"""What a listing says of an instruction besides its words; a text without line ends."""
_COLUMN = 44
_INDENT = "    "


def listing(program: Program, *, words: bool = True, labels: bool = True) -> str:
    """The whole text: directives, labels, one instruction per line, address and words as comments."""
    return "".join(f"{line}\n" for line in lines(program, words=words, labels=labels))


def lines(
    program: Program, *, words: bool = True, labels: bool = True, header: bool = True, notes: Notes | None = None
) -> Iterator[str]:
    """The lines of `listing`, made as they are asked for.

    `notes` gives what else is said of an instruction, behind its words. Without `header` they say neither instruction
    set nor program type, for texts that do so themselves.
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
        yield from _body(part, words, labels, notes)


def module_text(module: Module, *, words: bool = True, labels: bool = True) -> Iterator[str]:
    """The lines of a listing of a file of kernels: what the file says besides its kernels, then these.

    Assembling it gives a module that says the same; what a text cannot carry is named with `.omitted`. Kernels of
    another instruction set than Tesla are listed without what their files say. Raises IsakitError where the file does
    not say what its code is.
    """
    yield f".isa {module.isa} {module.instruction_set.variant}"
    yield from module_header(module)
    for kernel in module.kernels.values():
        yield ""
        yield from lines(kernel.program, words=words, labels=labels, header=False)


def module_header(module: Module) -> Iterator[str]:
    """What stands in the listing of a file of kernels between `.isa` and the first kernel."""
    yield from module_lines(module)
    for bank, segments in module.constants.items():
        data = module.constant_bytes(bank)
        yield from _constants(bank, data, bank_names(segments))
        yield from size_lines(segments, len(data))


def _body(program: Program, words: bool, labels: bool, notes: Notes | None) -> Iterator[str]:
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
    yield from instruction_lines(program, words=words, labels=labels, notes=notes)
    if program.tail:
        yield _INDENT + ".byte " + ", ".join(f"{b:#04x}" for b in program.tail)


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
    program: Program, *, words: bool = True, labels: bool = True, notes: Notes | None = None
) -> Iterator[str]:
    """The instructions of one piece of code, with labels where branches go.

    Addresses count what branches of the instruction set count: bytes, or words.
    """
    names = label_names(program) if labels else {}
    variant = program.decoder.view.variant
    bits, digits = variant.unit_bits, (variant.unit_bits + 3) // 4
    mask = (1 << bits) - 1
    scale = address_scale(program.decoder)
    width = max(4, len(f"{(program.address + len(program.units) * variant.unit_bytes) // scale:x}"))
    for i in program.instructions:
        address = i.address // scale
        text = i.text
        if names:
            if address in names:
                yield f"{names[address]}:"
            found = i.code_address
            if found is not None and found.address in names and i.takes_label:
                text = i.text_with({found.name: names[found.address]})
        if not words:
            note = (notes(i) if notes is not None else "") if i.error is None else i.error
            yield f"{_INDENT}{text}  // {note}" if note else _INDENT + text
            continue
        word = i.word
        if i.units == 1:
            hexed = f"{word:0{digits}x}"
        else:
            hexed = " ".join([f"{word >> bits * k & mask:0{digits}x}" for k in range(i.units)])
        line = f"{_INDENT}{text:<{_COLUMN}} // {address:0{width}x}: {hexed}"
        note = notes(i) if notes is not None and i.error is None else ""
        line = f"{line}  {note}" if note else line
        yield line if i.error is None else f"{line}  {i.error}"


def address_scale(decoder: Decoder) -> int:
    """Bytes that one step of a code address stands for."""
    return decoder.view.variant.unit_bytes if decoder.isa.word_addressed else 1


def label_names(program: Program) -> dict[int, str]:
    """Names for the places of the program that branches go to, by code address."""
    targets: set[int] = set()
    for i in program.instructions:
        found = i.code_address
        if found is not None and i.takes_label:
            targets.add(found.address)
    if not targets:
        return {}
    scale = address_scale(program.decoder)
    starts = {i.address // scale for i in program.instructions}
    return {t: f"L{t:04x}" for t in sorted(targets & starts)}


__all__ = ["instruction_lines", "label_names", "lines", "listing", "module_header", "module_text"]
