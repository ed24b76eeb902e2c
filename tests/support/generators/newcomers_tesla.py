"""An instruction of Tesla invented here, with an operand that no other has: a register rotated by a constant."""

from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.operands import word
from isakit.arch.tesla.tesla import tesla
from isakit.spec import Imm, Ref, template
from isakit.spec.operands import Compound


def rotated(e, register, count):  # `[$r3+0x8]`
    holes = {"of": word(e.field(register)), "by": Imm(e.field(count), 32)}
    return template("[{of}+{by}]", Compound, lambda of, by: of.read() << by | of.read() >> (32 - by), **holes)


BITS = "0010 .... . ....... rrrrrrr ....... ..  001 ... .... . ..nnnnn .. ..... ......."
FORMS = forms(f"long frobnicate {{dst}} {{src1:r,n}} {{src2}}\n{BITS}", src1=rotated)


@tesla.insn(FORMS, ref=Ref("test", "made up"), status="known")
def frobnicate(dst, src1, src2):
    """Rotate and add: DST = SRC1 rotated left + SRC2."""
    dst.write(src1 + src2.read())
