"""An instruction of the USSE invented here, with an operand that no other has: a cell of a heap."""

from isakit.arch.usse.fields import layout
from isakit.arch.usse.forms import destination, form, word_source
from isakit.arch.usse.usse import usse
from isakit.spec import Imm, Ref, template
from isakit.spec.operands import Memory

BITS = layout("11011@63:59 dext@51 s1ext@49 dbank@33:32 s1bank@31:30 dn@27:21 s1n@13:7 off@6:0")
HOLES = {"base": word_source(BITS, 1), "offset": Imm(BITS.off, 32)}
SRC = template("heap[{base}+{offset}]", Memory, lambda base, offset: base.word() + offset,
               facts={"space": "heap"}, **HOLES)  # fmt: skip
DST = destination(BITS, double=False)
FORM = form(BITS, "{name} {dst} {src}", name="frobsum", dst=DST, src=SRC)


@usse.insn([FORM], ref=Ref("test", "made up"), status="known")
def frobsum(name, dst, src):
    """Adds up: DST = register + number."""
    dst.write_word(src)
