"""An instruction of vµc invented here, with an operand that no other has: a cell of a heap."""

from isakit.arch.vuc.forms import forms
from isakit.arch.vuc.operands import general
from isakit.arch.vuc.vuc import vuc
from isakit.spec import Imm, Ref, template
from isakit.spec.operands import Memory


def heap(e, base, offset):  # `heap[$r2:0x7]`: `$r0` is a number, which would go on behind `+`
    holes = {"base": general(e.field(base)), "offset": Imm(e.field(offset), 16)}
    return template("heap[{base}:{offset}]", Memory, lambda base, offset: base.read() + offset,
                    facts={"space": "heap"}, **holes)  # fmt: skip


FORMS = forms("base  frobsum {dst} {src=heap:b,o}  .... .. .... .... oooo bbbb ... 11111", heap=heap)


@vuc.insn(FORMS, ref=Ref("test", "made up"), status="known")
def frobsum(name, dst, src):
    """Adds up: DST = register + number."""
    dst.write(src)
