"""The shape of an instruction: all but its registers and numbers, so that two can be compared piece by piece."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from isakit.codec import (
    CodeAddress,
    Compound,
    Condition,
    Immediate,
    Instruction,
    Memory,
    Operand,
    Register,
    SpecialRegister,
)
from isakit.lean import dataclass


@dataclass(frozen=True)
class InstructionShape:
    """The parts of an instruction that comparisons of programs look at.

    Attributes:
        frame: everything but registers, numbers and code addresses, hashable; equal frames have the same number of
            each.
        registers: all registers in the text, in its order.
        numbers: immediates and offsets of memory operands, as (space or "", number).
        address: the code address, or None.
    """

    frame: tuple[Hashable, ...]
    registers: tuple[Register, ...]
    numbers: tuple[tuple[str, int], ...]
    address: int | None


def shape_of(i: Instruction) -> InstructionShape:
    """Split an instruction into its parts; a word that does not decode is all frame."""
    if i.error is not None:
        return InstructionShape((".word", i.words), (), (), None)
    frame: list[Hashable] = [i.mnemonic]
    registers: list[Register] = []
    numbers: list[tuple[str, int]] = []
    address: int | None = None
    for o in i.operands:
        frame.append(o.name)
        for piece in _pieces(o):
            if isinstance(piece, CodeAddress):
                frame.append("@")
                address = piece.address
            elif isinstance(piece, Register):
                frame.append((piece.file, piece.half, piece.width, piece.modifiers))
                registers.append(piece)
            elif isinstance(piece, tuple):
                frame.append(piece[0])
                numbers.append(piece)
            else:
                frame.append(piece)
    odd = i.unknown_bits
    return InstructionShape((*frame, odd) if odd else tuple(frame), tuple(registers), tuple(numbers), address)


def _pieces(o: Operand) -> Iterator[Register | CodeAddress | tuple[str, int] | str]:
    if isinstance(o, SpecialRegister):
        yield str(o)
    elif isinstance(o, Register):
        yield o
        if o.index_register is not None:
            yield from ("[", o.index_register)
    elif isinstance(o, Memory):
        facts = o.size, o.signed, o.post_increment, o.scale
        yield f"{o.space}[{facts}"
        for part, what in ((o.base, "base"), (o.index, "index")):
            if part is not None:
                yield what
                yield part
        yield o.space, o.offset
    elif isinstance(o, Immediate):
        yield f"#{o.modifiers}"
        yield "", o.value
    elif isinstance(o, CodeAddress):
        if o.condition is not None:
            yield from _pieces(o.condition)
        yield o
    elif isinstance(o, Condition):
        yield f"?{o.test}"
        if o.register is not None:
            yield o.register
    elif isinstance(o, Compound):
        for inner in o.operands:
            yield from _pieces(inner)
    else:
        yield str(o)
