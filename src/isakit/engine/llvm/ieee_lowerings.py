"""Native lowerings of plain IEEE arithmetic (`isakit.sem.fp.ieee`), proven equal to the integer definitions by tests.

They require the default floating-point environment: round to nearest, denormals kept. LLVM may replace `x * 1.0` by `x`
and does not keep NaN payloads, so every result that can be a NaN is replaced by the canonical NaN. Operations for which
a target has no instruction are left to the integer definition: LLVM would call a library there.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence

from isakit.engine.llvm.builder import Ref
from isakit.engine.llvm.target import Host
from isakit.engine.llvm.values import Native, ValueLowering
from isakit.engine.llvm.vector_pieces import bits_of, compared, numbers_of
from isakit.sem.operation import Statics

NAN32, NAN16 = 0x7FC00000, 0x7E00
_LESS, _EQUAL, _GREATER, _UNORDERED = 1, 2, 4, 8


def ieee_natives(host: Host) -> dict[str, Native]:
    """Return the lowerings a target has instructions for, by the name of the operation."""
    out: dict[str, Native] = {
        "ieee_add": _arithmetic("fadd"),
        "ieee_mul": _arithmetic("fmul"),
        "ieee_div": _arithmetic("fdiv"),
        "ieee_min": _extreme("olt", "or"),
        "ieee_max": _extreme("ogt", "and"),
        "ieee_compare": _compare,
        "int_to_float": _int_to_float,
        "float_to_int": _float_to_int,
        "ratio_to_float": _ratio_to_float,
        "f32_flushed": _flushed,
    }
    if _has(host, "fma"):
        out["ieee_fma"] = _fma
    if _has(host, "sse4.1"):
        out |= {"ieee_round": _round, "float_to_ratio": _float_to_ratio}
    if _has(host, "f16c"):
        out["ieee_convert"] = _convert
    return out


def _has(host: Host, feature: str) -> bool:
    """Return whether the target has the instructions of an x86 feature; other processors have them all."""
    return platform.machine().lower() not in ("x86_64", "amd64") or f"+{feature}" in host.features.split(",")


# --- pieces -------------------------------------------------------------------------------------------------------
def _vector(low: ValueLowering, ty: str) -> str:
    return f"<{low.module.lanes} x {ty}>"


def _intrinsic(low: ValueLowering, name: str, ty: str, *args: str) -> str:
    vector, letter = _vector(low, ty), {"float": "f32", "double": "f64"}[ty]
    f = low.module.declare(f"llvm.{name}.v{low.module.lanes}{letter}", f"{vector} @({', '.join([vector] * len(args))})")
    return low.body(f"call {vector} {f}({', '.join(f'{vector} {a}' for a in args)})")


def _canonical(low: ValueLowering, v: str) -> Ref:
    """Return the bits of f32 numbers, with one NaN."""
    nan = compared(low, "uno", "float", v, v)
    return low.select(nan, low.constant(NAN32, 32), bits_of(low, v, "float"))


def _plain(statics: Statics) -> bool:
    return statics.get("format", "f32") == "f32" and statics.get("rounding", "rn") == "rn"


def _narrowed(low: ValueLowering, v: str) -> str:
    """Return f64 numbers rounded to f32."""
    return low.body(f"fptrunc {_vector(low, 'double')} {v} to {_vector(low, 'float')}")


def _widened(low: ValueLowering, v: str) -> str:
    return low.body(f"fpext {_vector(low, 'float')} {v} to {_vector(low, 'double')}")


def _number(low: ValueLowering, value: float, ty: str) -> str:
    """Return a whole number in every lane."""
    return f"splat ({ty} {value:.1f})"


# --- arithmetic ---------------------------------------------------------------------------------------------------
def _arithmetic(instruction: str) -> Native:
    def lower(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
        if not _plain(statics):
            return None
        a, b = (numbers_of(low, x, "float") for x in args)
        return _canonical(low, low.body(f"{instruction} {_vector(low, 'float')} {a}, {b}"))

    return lower


def _fma(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    if not _plain(statics):
        return None
    return _canonical(low, _intrinsic(low, "fma", "float", *(numbers_of(low, x, "float") for x in args)))


def _extreme(wins: str, zeros: str) -> Native:
    """Return the smaller or larger; of zeros of both signs the bits decide, and a number wins against a NaN."""

    def lower(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
        if statics.get("format", "f32") != "f32":
            return None
        a, b = (low.splat(x) for x in args)
        x, y = numbers_of(low, a, "float"), numbers_of(low, b, "float")
        first = low.op("or", compared(low, wins, "float", x, y), compared(low, "uno", "float", y, y))
        result = low.select(first, a, b)
        result = low.select(compared(low, "oeq", "float", x, y), low.op(zeros, a, b), result)
        return _canonical(low, numbers_of(low, result, "float"))

    return lower


def _compare(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    if statics.get("format", "f32") != "f32":
        return None
    x, y = (numbers_of(low, a, "float") for a in args)
    out = low.constant(_UNORDERED, 4)
    for relation, number in (("olt", _LESS), ("oeq", _EQUAL), ("ogt", _GREATER)):
        out = low.select(compared(low, relation, "float", x, y), low.constant(number, 4), out)
    return out


def _round(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    if statics.get("format", "f32") != "f32":
        return None
    name = {"rn": "roundeven", "rm": "floor", "rp": "ceil", "rz": "trunc"}[statics.get("rounding", "rn")]
    return _canonical(low, _intrinsic(low, name, "float", numbers_of(low, args[0], "float")))


def _flushed(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    a = low.splat(args[0])
    tiny = low.compare("eq", low.op("and", a, low.constant(0x7F800000, 32)), low.constant(0, 32))
    return low.select(tiny, low.op("and", a, low.constant(1 << 31, 32)), a)


def rsqrt_f32(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    """Compute 1 / sqrt(a) rounded to nearest; NaN for negative inputs, signed infinity for zeros.

    No f32 has a reciprocal root so close to the middle of two f32 that rounding twice goes wrong.
    """
    root = _intrinsic(low, "sqrt", "double", _widened(low, numbers_of(low, args[0], "float")))
    one = _number(low, 1, "double")
    return _canonical(low, _narrowed(low, low.body(f"fdiv {_vector(low, 'double')} {one}, {root}")))


# --- conversions --------------------------------------------------------------------------------------------------
def _convert(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    pair = statics["source"], statics["to"]
    if statics.get("rounding", "rn") != "rn" or pair not in (("f16", "f32"), ("f32", "f16")):
        return None
    half, single = _vector(low, "half"), _vector(low, "float")
    if pair == ("f16", "f32"):
        return _canonical(low, low.body(f"fpext {half} {numbers_of(low, args[0], 'half')} to {single}"))
    value = numbers_of(low, args[0], "float")
    bits = bits_of(low, low.body(f"fptrunc {single} {value} to {half}"), "half")
    return low.select(compared(low, "uno", "float", value, value), low.constant(NAN16, 16), bits)


def _int_to_float(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    source = statics["source"]
    if statics.get("to", "f32") != "f32" or statics.get("rounding", "rn") != "rn" or int(source[1:]) != args[0].width:
        return None
    a = low.splat(args[0])
    instruction = "sitofp" if source[0] == "s" else "uitofp"
    return bits_of(low, low.body(f"{instruction} {a.type} {a.text} to {_vector(low, 'float')}"), "float")


def _float_to_int(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    to = statics["to"]
    if statics["source"] != "f32" or statics.get("rounding", "rz") != "rz" or to not in ("s32", "u32"):
        return None
    n, vector = low.module.lanes, _vector(low, "i32")
    name = f"llvm.fpto{to[0]}i.sat.v{n}i32.v{n}f32"
    f = low.module.declare(name, f"{vector} @({_vector(low, 'float')})")
    return low.per_lane(low.body(f"call {vector} {f}({_vector(low, 'float')} {numbers_of(low, args[0], 'float')})"), 32)


def _ratio_to_float(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    bits, signed = int(statics["source"][1:]), statics["source"][0] == "s"
    if statics.get("to", "f32") != "f32" or args[0].width != bits or bits > 16:
        return None
    a = low.splat(low.resize(args[0], 32, signed=signed))
    if signed:
        least = low.constant(statics["low"], 32)
        a = low.splat(low.select(low.compare("slt", a, least), least, a))
    single = _vector(low, "float")
    number = low.body(f"sitofp {a.type} {a.text} to {single}")
    quotient = low.body(f"fdiv {single} {number}, {_number(low, statics['maximum'], 'float')}")
    return bits_of(low, quotient, "float")


def _float_to_ratio(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    if statics["source"] != "f32" or statics.get("rounding", "rn") != "rn" or statics.get("width", 32) != 32:
        return None
    value, double = numbers_of(low, args[0], "float"), _vector(low, "double")
    # 24 by 16 bits: the product is exact in f64.
    v = low.body(f"fmul {double} {_widened(low, value)}, {_number(low, statics['maximum'], 'double')}")
    v = _intrinsic(low, "roundeven", "double", v)
    for relation, limit in (("olt", statics["low"]), ("ogt", statics["high"])):
        text = _number(low, limit, "double")
        beyond = compared(low, relation, "double", v, text)
        v = low.body(f"select {beyond.type} {beyond.text}, {double} {text}, {double} {v}")
    nan = compared(low, "uno", "double", v, v)
    v = low.body(f"select {nan.type} {nan.text}, {double} zeroinitializer, {double} {v}")
    return low.per_lane(low.body(f"fptosi {double} {v} to {_vector(low, 'i32')}"), 32)
