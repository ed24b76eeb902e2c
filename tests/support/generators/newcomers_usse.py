"""An instruction of the USSE invented here, with an operand that no other has: a cell of a heap."""

from isakit.arch.usse.forms import forms
from isakit.arch.usse.usse import usse
from isakit.spec import Imm, Ref, template
from isakit.spec.operands import Memory


def cell(e, offset):  # `heap[pa2+0x30]`
    holes = {"base": e.operand("src1"), "offset": Imm(e.field(offset), 32)}
    facts = {"space": "heap"}
    return template("heap[{base}+{offset}]", Memory, lambda base, offset: base.word() + offset, facts=facts, **holes)


BITS = "11011 .. . . . .. . . . . . ... .......... .. .. .. ....... ....... ....... ooooooo"
FORMS = forms(f"int2  frobsum {{dst}} {{src=cell:o}}\n{BITS}", cell=cell)


@usse.insn(FORMS, ref=Ref("test", "made up"), status="known")
def frobsum(name, dst, src):
    """Adds up: DST = register + number."""
    dst.write_word(src)
