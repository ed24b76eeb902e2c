"""Text to programs and programs to text, for any instruction set.

`Assembler` turns a source text into a `Program` and reports every error of the text at once; `str(program)` is a
listing that assembles back to the same bytes.
"""

from isakit.asm.assembler import Assembler, assemble, assembler
from isakit.asm.declared import Declared, declared
from isakit.asm.program import Program
from isakit.asm.units import pack_units, split_units

__all__ = [
    "Assembler",
    "Declared",
    "Program",
    "assemble",
    "assembler",
    "declared",
    "pack_units",
    "split_units",
]
