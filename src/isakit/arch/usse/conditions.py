"""Tests: an operation whose result is compared with zero, giving a predicate (vtst) or a mask (vtstmsk).

Source: [usse] 2.6.9. In [004] the groups 48 and 78 only hold illegal instructions.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.usse import arithmetic as fp
from isakit.arch.usse.float import quad_derivative
from isakit.arch.usse.forms import forms, registers
from isakit.arch.usse.operands import predicate_operand, source
from isakit.arch.usse.registers import SourceOperand
from isakit.arch.usse.usse import usse
from isakit.errors import NotModelled
from isakit.sem import Value, const, select, write
from isakit.spec import Choice, Encoding, Enum, Form, Nothing, Part, Ref, choice, when, words

FLOAT_OPS = {
    2: "add",
    3: "frc",
    4: "rcp",
    5: "rsq",
    6: "log",
    7: "exp",
    8: "dp",
    9: "min",
    10: "max",
    11: "dsx",
    12: "dsy",
    13: "mul",
    14: "sub",
}
INT_OPS = {
    6: "add.s16",
    7: "sub.s16",
    8: "mul.s16",
    9: "add.u16",
    10: "sub.u16",
    11: "mul.u16",
    12: "add.s32",
    13: "add.u32",
    14: "sub.s32",
    15: "sub.u32",
}
BIT_OPS = {0: "and.u32", 1: "or.u32", 2: "xor.u32", 3: "shl.u32", 4: "shr.u32", 5: "rol.u32", 7: "asr.u32"}
IDIOMS = {(0, 1, 1): "eq", (0, 2, 1): "ne", (1, 2, 1): "lt", (1, 1, 0): "le", (2, 2, 1): "gt", (2, 1, 0): "ge"}
"""(sign, zero, and) of the comparisons that compilers use."""

_TESTS = [(v >> 2 & 3, v & 3, v >> 4) for v in range(32)]
CONDITION = words(
    *(IDIOMS.get((s, z, both), f"s{s}z{z}{'and' if both else 'or'}") for s, z, both in _TESTS), values=_TESTS, on="asz"
)


def _holds(sign: Value, zero: Value, condition: tuple[int, int, int]) -> Value:
    """Return the test on a result, given its sign and whether it is zero."""
    s, z, both = condition
    if 3 in (s, z):
        raise NotModelled("a test of kind 3", "its meaning is not known")
    first = [const(1, 1), sign, ~sign][s]
    second = [const(1, 1), zero, ~zero][z]
    return first & second if both else first | second


def _test_value(v: Value, condition: tuple[int, int, int], ty: str) -> Value:
    """Test a result; a float NaN is neither negative nor zero."""
    if ty in ("f16", "f32"):
        magnitude = v & 0x7FFFFFFF
        zero, nan = magnitude.is_zero, magnitude.ugt(0x7F800000)
        negative = v.sign & ~zero & ~nan
        return _holds(negative, zero, condition)
    return _holds(v.sign, v.is_zero, condition)


# --- results of the operation ----------------------------------------------------------------------------------------
def float_result(op: str, a: SourceOperand, b: SourceOperand, k: int) -> Value:
    """Channel `k` of a floating point operation of the test unit, as f32."""
    if op == "dp":
        return fp.dot([a.channel(j) for j in range(4)], [b.channel(j) for j in range(4)])
    x = a.channel(k)
    unary = {"rcp": fp.reciprocal, "rsq": fp.reciprocal_root, "log": fp.log2, "exp": fp.exp2}
    if op in unary:
        return unary[op](x)
    if op in ("dsx", "dsy"):
        return quad_derivative(x, op)
    y = b.channel(k)
    binary = {
        "add": fp.add,
        "frc": fp.subtract_floor,
        "min": fp.minimum,
        "max": fp.maximum,
        "mul": fp.mul,
        "sub": fp.sub,
    }
    return binary[op](x, y)


def integer_result(op: str, a: Value, b: Value, channel: int) -> Value:
    """Return an integer operation on channel `channel` of two registers: a byte, a half or the whole register."""
    name, ty = op.split(".")
    if ty == "fp8":
        if name != "sub":
            raise NotModelled(f"test operation `{op}`", "the arithmetic of FP8 operations is not known")
        ty = "u8"
    width = int(ty[1:])
    at = width * (channel % (32 // width))
    x, y = a.bits(at, width), b.bits(at, width)
    n = b & 31
    # A difference gets one bit more, so that its sign is that of the comparison.
    if name in ("add", "sub", "mul"):
        wide = width + 1 if name == "sub" else width
        x, y = (v.sext(wide) if ty[0] == "s" else v.zext(wide) for v in (x, y))
        return {"add": x + y, "sub": x - y, "mul": x * y}[name]
    if name == "rol":
        return (a << n) | (a >> (const(32, 32) - n))
    return {"and": a & b, "or": a | b, "xor": a ^ b, "shl": a << n, "shr": a >> n, "asr": a.sar(n)}[name]


_FLOATS = "U   P  ty\n00  0  f16\n00  1  f32"
_INTEGERS, _BITS = "U\n01", "U\n11"
"""Precision says nothing about integer tests."""
_BYTES = """
    U   O     op
    10  0000  add.s8
    10  0001  sub.s8
    10  0010  add.u8
    10  0011  sub.u8
    10  0100  mul.s8
    10  0110  mul.u8
"""
_FRACTIONS = """
    U   O     op
    10  0101  mul.fp8
    10  0111  add.fp8
    10  1000  sub.fp8
"""


CHANNELS = {0: "x", 1: "y", 2: "z", 3: "w", 4: "all", 5: "any", 6: "c6", 7: "c7"}


NO_DESTINATION = 1 << 51 | 1 << 32
"""The destination as compilers write it where there is none: bank special."""


def _operation(e: Encoding, stem: str, kind: str, ty: str = "") -> Enum:
    """Return the operand that names the operation of a test of this kind: float, int or bit."""
    operations = {"float": FLOAT_OPS, "int": INT_OPS, "bit": BIT_OPS}[kind]
    names = {v: ".".join(filter(None, (stem, n, ty))) for v, n in operations.items()}
    return Enum(e.field("o"), names, operations)


_KINDS = {_FLOATS: "float,<ty>", _INTEGERS: "int", _BITS: "bit"}


def _negated(e: Encoding, letter: str) -> Part:
    return source(registers(e), 1, neg=e.field(letter))


def _tests(stem: str, types: str, operands: str, bits: str, clauses: str, last: str = "", **parts: Any) -> list[Form]:
    """Return the forms of a kind of tests; a floating point source 2 may repeat its channel x.

    `bits` are those of the opcode and, after a blank, from 38 to 34.
    """
    opcode, others = bits.split(maxsplit=1)
    kind = _KINDS.get(types)
    own = dict(parts)
    name, choice, said = f"{stem}.<op>", "OOOO", "op=<op> | ty=int | fields n=s1neg w=wben"
    sources, format = "{src1=negated:n} {src2}", ". ."
    if kind:
        own["operation"] = _operation
        name, choice, said = f"{{name=operation:{stem},{kind}}}", "oooo", "op= | ty=int | fields n=s1neg w=wben o=aluop"
    if types == _FLOATS:
        sources, format = "{src1=f1:<ty>,-,-,n} {src2=f2:<ty>,scalar,x}", "P x"
        said = "op= | ty=<ty> | fields n=s1neg w=wben o=aluop x=s2scalar"
    else:
        own["negated"] = _negated
    return forms(
        f"""
        test  {name} {{condition}} {operands} {sources} {last}
              {opcode} ... . . . . . n . . {format} .. ss zz a {others} .. .. .. ....... w UU {choice} ....... .......
              | lacking ILLEGAL_OPCODE | {said} {clauses}
        """,
        types,
        condition=CONDITION,
        **own,
    )


def _optional(e: Encoding, ty: str = "") -> Choice:
    """Return a destination, or none."""
    dst = e.operand("floats", ty) if ty else e.operand("dst")
    return choice(when({e.field("w"): 0}, Nothing()), when({e.field("w"): 1}, dst))


_RESULT = words(
    *(f"p{v & 3}.{CHANNELS[v >> 2]}" for v in range(32)),
    values=[(v & 3, v >> 2) for v in range(32)],
    on="cp",
    typed=predicate_operand,
)


def _vtst(types: str) -> list[Form]:
    operands = f"{{pdst}} {{dst=optional{':<ty>' if types == _FLOATS else ''}}}"
    default = f"| default {NO_DESTINATION:#x}"
    return _tests("vtst", types, operands, "01001 ccc pp", default, optional=_optional, pdst=_RESULT)


@usse.insn(
    _vtst(_FLOATS) + _vtst(_INTEGERS) + _vtst(_BYTES) + _vtst(_BITS),
    ref=Ref("usse", "2.6.9 VTST, VTSTMSK"),
    status="known",
    see=[Ref("004", "0x48000000 - 0x50000000")],
    notes=[
        "eq ne lt le gt ge are the six tests that compilers use; another one is printed as sNzMand or sNzMor",
        "channels from `all` on and test kind 3 are not modelled",
    ],
)
def vtst(name, op, condition, ty, pdst, dst, src1, src2):
    """Compute, compare with zero, set a predicate: PDST = the result of the operation is negative, zero ... as asked.

    The predicate looks at one channel of the result. The result itself is written only where a destination is given.
    """
    _run_test(op or name, condition, ty, pdst, dst, src1, src2)


def _run_test(name, condition, ty, pdst, dst, src1, src2):
    number, channel = pdst
    if channel > 3:
        raise NotModelled(f"`vtst` with channel {CHANNELS[channel]}", "how channels are combined is not known")
    if ty == "int":
        result = integer_result(name, src1.modified_word(), src2.word(), channel)
        passed = _test_value(result, condition, name.split(".")[1])
        if dst:
            dst.write_word(result.resize(32))
    else:
        result = float_result(name, src1, src2, channel)
        passed = _test_value(result, condition, ty)
        if dst:
            dst.at.write_components({channel: result}, ty)
    write("p", number, passed)


@usse.insn(
    _vtst(_FRACTIONS),
    ref=Ref("usse", "2.6.9 VTST, VTSTMSK"),
    status="inferred",
    name="vtst_fp8",
    see=[Ref("004", "0x48000000 - 0x50000000")],
    notes=[
        "a difference of byte fractions is taken to be the exact difference of the bytes; the other operations "
        "are not modelled"
    ],
)
def vtst_fp8(name, op, condition, ty, pdst, dst, src1, src2):
    """Compute with bytes that are fractions of 255, compare with zero, set a predicate."""
    _run_test(op, condition, ty, pdst, dst, src1, src2)


def _integer_mask(name, condition, dst, src1, src2, kind):
    out = name.split(".")[1].replace("fp8", "u8")
    width = int(out[1:])
    mask = const(0, 32)
    for channel in range(32 // width if kind == "m2" else 1):
        result = integer_result(name, src1.modified_word(), src2.word(), channel)
        one = select(_test_value(result, condition, out), const(ONES[out], 32), const(0, 32))
        mask = mask | (one << width * channel)
    dst.write_word(mask)


_KIND = words("", "m1", "m2", "m3", on="k")
_NOWRITE = words("nowrite", "", values=(True, False), on="w", idle=frozenset({0}))
ONES = {"u8": 0xFF, "s8": 0x7F, "u16": 0xFFFF, "s16": 0x7FFF, "u32": 0xFFFFFFFF, "s32": 0x7FFFFFFF}


def _vtstmsk(types: str) -> list[Form]:
    dst = "{dst=floats:<ty>}" if types == _FLOATS else "{dst}"
    return _tests(
        "vtstmsk", types, dst, "01111 . kk ..", "k=masktype", "{kind} {nowrite}", kind=_KIND, nowrite=_NOWRITE
    )


@usse.insn(
    _vtstmsk(_FLOATS) + _vtstmsk(_INTEGERS) + _vtstmsk(_BYTES) + _vtstmsk(_BITS) + _vtstmsk(_FRACTIONS),
    ref=Ref("usse", "2.6.9 VTST, VTSTMSK"),
    see=[Ref("004", "0x78000000 - 0x80000000")],
    status="inferred",
    notes=[
        "mask kind 2 works on all channels; the others are taken to write channel x only",
        "a floating point mask of a unified register has two channels in f32",
    ],
)
def vtstmsk(name, op, condition, ty, dst, src1, src2, kind, nowrite):
    """Compute, compare with zero, write a mask: every channel of DST becomes 1.0 (or the largest integer) or 0."""
    if nowrite:
        return
    name = op or name
    if ty == "int":
        _integer_mask(name, condition, dst, src1, src2, kind)
        return
    channels = range(4) if kind == "m2" else range(1)
    if ty == "f32" and dst.at.kind != "internal":
        channels = range(min(2, len(channels)))
    values = {
        k: select(_test_value(float_result(name, src1, src2, k), condition, ty), const(fp.ONE, 32), const(0, 32))
        for k in channels
    }
    dst.at.write_components(values, ty)
