"""What an operation is equal to that costs less: identities that hold for every argument."""

from __future__ import annotations

from typing import Any

from isakit.compile.ir import Const, Ins, IrValue
from isakit.compile.ops import OPS, fold

Better = IrValue | tuple[str, list[IrValue], dict[str, Any]]

FLUSHING = frozenset({"fadd", "fmul", "fmad", "fmin", "fmax", "rcp", "rsqrt", "lg2", "sin", "cos", "ex2"})
"""Operations whose results are no denormals and whose NaN is the chip's own one."""

_SWAPPED = {"l": "g", "g": "l", "le": "ge", "ge": "le", "lu": "gu", "gu": "lu", "leu": "geu", "geu": "leu"}
INVERTED = {"e": "lg", "lg": "e", "l": "ge", "ge": "l", "g": "le", "le": "g"}
FLOAT_INVERTED = {"l": "geu", "le": "gu", "g": "leu", "ge": "lu", "e": "lgu", "lg": "eu", "lge": "u", "geu": "l",
                  "gu": "le", "leu": "g", "lu": "ge", "lgu": "e", "eu": "lg", "u": "lge"}  # fmt: skip


def _constant(v: IrValue) -> int | None:
    return v.value if isinstance(v, Const) else None


def simplify(op: str, args: list[IrValue], attrs: dict[str, Any]) -> Better | None:
    """A value that is equal, or an operation that is; None where there is nothing better."""
    values = [_constant(a) for a in args]
    if args and all(v is not None for v in values):
        got = fold(op, [v for v in values if v is not None], attrs)
        if got is not None:
            return Const(got & 1, "p") if OPS[op].outs == "p" else Const(got)
    rule = _RULES.get(op)
    if rule is not None:
        return rule(op, args, values, attrs)
    return None


def _commuted(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    """Constants stand second."""
    return (op, [args[1], args[0]], attrs) if values[0] is not None and values[1] is None else None


def _add(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    a = args[0]
    if values[1] == 0:
        return a
    inner = a.ins
    if values[1] is not None and inner is not None and inner.op == "add" and isinstance(inner.args[1], Const):
        return "add", [inner.args[0], Const(inner.args[1].value + values[1])], attrs
    return _commuted(op, args, values, attrs)


def _sub(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    if values[1] is not None:
        return "add", [args[0], Const(-values[1])], attrs
    return Const(0) if args[0] is args[1] else None


def _mul(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    v = values[1]
    if v is None:
        return _commuted(op, args, values, attrs) or _narrow_product(args)
    if v == 0:
        return args[1]
    if v == 1:
        return args[0]
    if v & v - 1 == 0:
        return "shl", [args[0], Const(v.bit_length() - 1)], {}
    return _narrow_product(args)


def _narrow_product(args: list[IrValue]) -> Better | None:
    """Factors that are known to be narrow: one instruction does it, and takes a sum with it."""
    known = upper_bits(args[0]) & upper_bits(args[1])
    if known >> 16 == 0xFFFF:
        return "mul16", args, {"s1": False, "s2": False}
    return ("mul24", args, {"sign": False, "high": False}) if known >> 24 == 0xFF else None


def _mul16(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    """Only the low halves count, so an extension of them does nothing."""
    new = [_low_half(a) for a in args]
    if new != args:
        return op, new, attrs
    if values[0] is not None and values[1] is None:
        return op, [args[1], args[0]], {"s1": attrs.get("s2", False), "s2": attrs.get("s1", False)}
    v = values[1]
    if v is not None and not v & 0xFFFF:
        return Const(0)
    return None


def _low_half(v: IrValue) -> IrValue:
    while v.ins is not None and v.ins.op in ("zext16", "sext16"):
        v = v.ins.args[0]
    return v


def _and(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    v = values[1]
    if v == 0:
        return args[1]
    if v == 0xFFFF_FFFF or args[0] is args[1]:
        return args[0]
    inner = args[0].ins
    if v is not None and inner is not None:
        if inner.op == "and" and isinstance(inner.args[1], Const):
            return "and", [inner.args[0], Const(inner.args[1].value & v)], attrs
        if upper_bits(args[0]) | v == 0xFFFF_FFFF:
            return args[0]
    if v == 0xFFFF:
        return "zext16", [args[0]], {}
    return _commuted(op, args, values, attrs)


def _or(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    if values[1] == 0 or args[0] is args[1]:
        return args[0]
    return _commuted(op, args, values, attrs)


def _xor(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    if values[1] == 0:
        return args[0]
    if values[1] == 0xFFFF_FFFF:
        return "not", [args[0]], {}
    return Const(0) if args[0] is args[1] else _commuted(op, args, values, attrs)


def _not(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    inner = args[0].ins
    return inner.args[0] if inner is not None and inner.op == op else None


def _shift(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    n = values[1]
    if n == 0 or values[0] == 0:
        return args[0]
    if n is not None and n >= 32:
        return Const(0) if op != "sar" else ("sar", [args[0], Const(31)], {}) if n > 32 else None
    inner = args[0].ins
    if op == "shr" and n == 31 and inner is not None and inner.op == "sar":
        return "shr", [inner.args[0], args[1]], {}  # the sign is the sign
    if n is not None and inner is not None and inner.op == op and isinstance(inner.args[1], Const):
        return op, [inner.args[0], Const(min(n + inner.args[1].value, 32 if op != "sar" else 31))], {}
    return None


def upper_bits(v: IrValue) -> int:
    """Bits that are known to be zero."""
    if isinstance(v, Const):
        return ~v.value & 0xFFFF_FFFF
    i = v.ins
    if i is None:
        return 0
    if i.op == "zext16" or (i.op == "param" and i.attrs["mode"] == "u16") or (i.op == "ld" and i.attrs["ty"] == "u16"):
        return 0xFFFF_0000
    if i.op == "zext8" or (i.op in ("param", "ld") and i.attrs.get("mode", i.attrs.get("ty")) == "u8"):
        return 0xFFFF_FF00
    if i.op == "and" and isinstance(i.args[1], Const):
        return ~i.args[1].value & 0xFFFF_FFFF
    if i.op == "shr" and isinstance(i.args[1], Const):
        return ~(0xFFFF_FFFF >> min(i.args[1].value, 32)) & 0xFFFF_FFFF
    return 0


def _zext(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    keep = 0xFF if op == "zext8" else 0xFFFF
    if upper_bits(args[0]) | keep == 0xFFFF_FFFF:
        return args[0]
    i = args[0].ins
    if i is not None and (i.op in ("zext16", "sext16") or (i.op == op) or (op == "zext8" and i.op == "sext8")):
        return op, [i.args[0]], {}
    if i is not None and i.op == "and" and isinstance(i.args[1], Const) and i.args[1].value & keep == keep:
        return op, [i.args[0]], {}
    return None


def _sext(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    limit = 0xFFFF_FF80 if op == "sext8" else 0xFFFF_8000
    if upper_bits(args[0]) & limit == limit:
        return args[0]
    i = args[0].ins
    if i is None:
        return None
    if i.op == op or (op == "sext16" and i.op == "sext8"):
        return args[0]
    if i.op in ("ld", "param") and i.attrs.get("mode", i.attrs.get("ty")) == ("s8" if op == "sext8" else "s16"):
        return args[0]
    if i.op == "ld" and op == "sext16" and i.attrs["ty"] == "s8":
        return args[0]
    if i.op in ("zext16", "sext16") or (op == "sext8" and i.op == "zext8"):
        return op, [i.args[0]], {}
    return None


def _cmp(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    if values[0] is not None and values[1] is None:
        cond = attrs["cond"]
        return op, [args[1], args[0]], attrs | {"cond": _SWAPPED.get(cond, cond)}
    i = args[0].ins
    cond, v = attrs["cond"], values[1]
    if i is None or v is None or op != "cmp":
        return None
    unsigned = attrs["ty"][0] == "u"
    if cond in ("e", "lg") or unsigned:
        # a mask, or a mask negated, compared with 0 is the condition again
        truth: bool | None = None
        inner = i.args[0] if i.args else args[0]
        if i.op == "mask":
            truth = {0: False, 0xFFFF_FFFF: True}.get(v)
        elif i.op == "sub" and isinstance(i.args[0], Const) and i.args[0].value == 0:
            m = i.args[1].ins
            if m is not None and m.op == "mask":
                truth, inner = {0: False, 1: True}.get(v), m.args[0]
        elif i.op == "sel" and isinstance(i.args[1], Const) and isinstance(i.args[2], Const):
            yes, no = i.args[1].value, i.args[2].value
            if cond in ("e", "lg") and yes != no and v in (yes, no):
                truth, inner = v == yes, i.args[0]
        if truth is not None and cond in ("e", "lg"):
            return inner if truth == (cond == "e") else ("pnot", [inner], {})
    if cond == "g" and unsigned and v == 0:
        return op, args, attrs | {"cond": "lg"}
    return None


def _pnot(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    i = args[0].ins
    if i is None:
        return None
    if i.op == "pnot":
        return i.args[0]
    if i.op == "cmp":
        return "cmp", list(i.args), i.attrs | {"cond": INVERTED[i.attrs["cond"]]}
    if i.op in ("cmpf", "cmpd") and i.attrs["cond"] in FLOAT_INVERTED:
        return i.op, list(i.args), i.attrs | {"cond": FLOAT_INVERTED[i.attrs["cond"]]}
    return None


def _logic(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    if args[0] is args[1]:
        return Const(0, "p") if op == "pxor" else args[0]
    v = values[1]
    if v is None:
        return _commuted(op, args, values, attrs)
    if op == "pand":
        return args[0] if v & 1 else args[1]
    if op == "por":
        return args[1] if v & 1 else args[0]
    return ("pnot", [args[0]], {}) if v & 1 else args[0]


def _sel(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    p, a, b = args
    if isinstance(p, Const):
        return a if p.value & 1 else b
    if a is b or (values[1] is not None and values[1] == values[2]):
        return a
    if p.ins is not None and p.ins.op == "pnot":
        return "sel", [p.ins.args[0], b, a], {}
    if values[1] == 0xFFFF_FFFF and values[2] == 0:
        return "mask", [p], {}
    return None


def _absorbed(v: IrValue, neg: bool) -> tuple[IrValue, bool]:
    """A source of an operation that flushes and has a sign modifier, with what such a modifier can do taken out."""
    while v.ins is not None and v.ins.op == "cvt":
        a = v.ins.attrs
        if a["to"] != "f32" or a["from"] != "f32" or a.get("rnd") or a.get("sat") or a.get("abs"):
            break
        neg ^= bool(a.get("neg"))
        v = v.ins.args[0]
    return v, neg


def _float_sum(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    a, n1 = _absorbed(args[0], bool(attrs.get("neg1")))
    b, n2 = _absorbed(args[1], bool(attrs.get("neg2")))
    if values[0] is not None and values[1] is None:
        return op, [b, a], attrs | {"neg1": n2, "neg2": n1}
    if isinstance(b, Const) and n2:
        return op, [a, Const(b.value ^ 0x8000_0000)], attrs | {"neg1": n1, "neg2": False}
    if a is not args[0] or b is not args[1]:
        return op, [a, b], attrs | {"neg1": n1, "neg2": n2}
    return None


def _float_product(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    a, neg = _absorbed(args[0], bool(attrs.get("neg")))
    b, neg = _absorbed(args[1], neg)
    rest = list(args[2:])
    new = attrs | {"neg": neg}
    if op == "fmad":
        c, negc = _absorbed(args[2], bool(attrs.get("negc")))
        rest, new = [c], new | {"negc": negc}
    if isinstance(a, Const) and not isinstance(b, Const):
        a, b = b, a
    if isinstance(b, Const) and neg:
        b, new = Const(b.value ^ 0x8000_0000), new | {"neg": False}
    return (op, [a, b, *rest], new) if [a, b, *rest] != args else None


def _float_function(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    """Minima, maxima and functions flush their sources: a conversion that only does that says nothing new."""
    new = [_absorbed(a, False) for a in args]
    if any(v is not a and not n for (v, n), a in zip(new, args, strict=True)):
        return op, [v if not n else a for (v, n), a in zip(new, args, strict=True)], attrs
    return None


def _cvt(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    """A conversion of f32 to itself does nothing after an operation that already cleans its result."""
    plain = attrs.get("to") == attrs.get("from") == "f32" and not any(
        attrs.get(k) for k in ("rnd", "sat", "neg", "abs")
    )
    i = args[0].ins
    if attrs.get("to") == attrs.get("from") == "f32" and not plain:
        v, neg = _absorbed(args[0], False)
        if v is not args[0] and (not neg or (attrs.get("neg") or attrs.get("abs"))):
            both = bool(attrs.get("neg")) if attrs.get("abs") else bool(attrs.get("neg")) != neg
            return op, [v], attrs | {"neg": both}
    if attrs.get("again"):
        return None
    if plain and i is not None:
        if i.op in FLUSHING or (i.op == "cvt" and i.attrs["to"] == "f32"):
            return args[0]
        if i.op == "sel" and all(isinstance(a, Const) and clean_float(a.value) for a in i.args[1:]):
            return args[0]
    if plain and isinstance(args[0], Const) and clean_float(args[0].value):
        return args[0]
    return None


def tells_zero(i: Ins) -> bool:
    """Whether the instruction that does an operation can say on the way whether its result is 0."""
    if i.op in ("shl", "shr", "sar"):
        return isinstance(i.args[1], Const)
    return i.op in ("and", "or", "xor", "not", "add", "sub")


def clean_float(bits: int) -> bool:
    """Neither a denormal nor a NaN."""
    exponent = bits >> 23 & 0xFF
    return exponent not in (0, 255) or not bits & 0x7F_FFFF


def _word(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    i = args[0].ins
    index: int = attrs["i"]
    return i.args[index] if i is not None and i.op in ("pack", "pack4") else None


def _pack(op: str, args: list[IrValue], values: list[int | None], attrs: dict[str, Any]) -> Better | None:
    a, b = args[0].ins, args[1].ins
    words = a and b and a.op == b.op == "word" and a.args[0] is b.args[0] and a.args[0].kind == "d"
    if a and b and words and a.attrs["i"] == 0 and b.attrs["i"] == 1:
        return a.args[0]
    return None


_RULES: dict[str, Any] = {
    "add": _add, "sub": _sub, "mul": _mul, "mul16": _mul16, "and": _and, "or": _or, "xor": _xor, "not": _not,
    "shl": _shift, "shr": _shift, "sar": _shift, "zext8": _zext, "zext16": _zext, "sext8": _sext, "sext16": _sext,
    "cmp": _cmp, "cmpf": _cmp, "pnot": _pnot, "pand": _logic, "por": _logic, "pxor": _logic, "sel": _sel, "cvt": _cvt,
    "word": _word, "fadd": _float_sum, "fmul": _float_product, "fmad": _float_product, "fmin": _float_function,
    "fmax": _float_function, "rcp": _float_function, "rsqrt": _float_function, "lg2": _float_function,
    "sin": _float_function, "cos": _float_function, "ex2": _float_function, "pack": _pack, "minu": _commuted,
    "maxu": _commuted, "mins": _commuted, "maxs": _commuted,
    "mulhu": _commuted, "mulhs": _commuted, "mul24": _commuted, "addsat": _commuted,
}  # fmt: skip
