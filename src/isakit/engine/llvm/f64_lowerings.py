"""Hardware lowerings of f64 addition, multiplication and fused multiply-add, proven equal to `isakit.sem.fp.f64`.

`embedded` code runs with denormals flushed, for the sake of f32, while f64 keeps them. The instructions with embedded
rounding are right all the same unless a denormal is involved, and a flushed result is a zero. So lanes are odd where an
operand's exponent field is 0 or the result is a zero or a NaN (the hardware's choice between several NaNs depends on
the encoding LLVM picks); where there is an odd lane, a function repeats the operation for all lanes in the default
floating-point environment and chooses the NaN by the documented rule ([tesla] 5.7).

`portable` code runs in the default environment: plain LLVM operations, rounded to nearest, and the same choice of NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

from isakit.engine.llvm.builder import IrFunction, Ref
from isakit.engine.llvm.f32_lowerings import packed_comparison
from isakit.engine.llvm.values import Native, ValueLowering
from isakit.engine.llvm.vector_pieces import bits_of, compared, joined, numbers_of, pieces
from isakit.sem.fp.core import F64
from isakit.sem.fp.f64 import NAN, f64_compare
from isakit.sem.operation import Operation, Statics

EMBEDDED_ROUNDING = {"rn": 8, "rm": 9, "rp": 10, "rz": 11}
"""Rounding operand of the AVX-512 intrinsics: the mode, exceptions suppressed."""
PIECE = 8
"""Doubles of a 512-bit register."""
NAN_OR_ZERO = 0x01 | 0x80 | 0x02 | 0x04
"""Classes of `vfpclasspd`: quiet and signalling NaN, +0 and -0."""
DEFAULT_ENVIRONMENT = 0x1F80
"""MXCSR of a fresh process: exceptions masked, round to nearest, denormals kept."""
NAN_PRIORITY = {"add": (1, 0), "mul": (1, 0), "fma": (1, 2, 0)}
"""Indices of the operands whose NaN the result takes, first one first ([tesla] 5.7)."""
INTRINSICS = {"add": "add.pd.512", "mul": "mul.pd.512", "fma": "vfmadd.pd.512"}


def _hardware(low: ValueLowering, name: str, args: Sequence[Ref], rounding: str) -> list[str]:
    """Return the results of the instructions with embedded rounding, eight lanes each."""
    vector = f"<{PIECE} x double>"
    signature = ", ".join([vector] * len(args))
    f = low.module.declare(f"llvm.x86.avx512.{INTRINSICS[name]}", f"{vector} @({signature}, i32)")
    cut = [pieces(low, numbers_of(low, a, "double"), "double", PIECE) for a in args]
    return [
        low.body(f"call {vector} {f}({', '.join(f'{vector} {x}' for x in row)}, i32 {EMBEDDED_ROUNDING[rounding]})")
        for row in zip(*cut, strict=True)
    ]


def _with_nans(low: ValueLowering, name: str, args: Sequence[Ref], result: Ref) -> Ref:
    """Replace NaNs in the result by the ones the rule chooses."""
    number = low.bitcast(result, f"<{low.module.lanes} x double>")
    unordered = compared(low, "uno", "double", number, number)
    nan = low.constant(NAN, 64)
    for k in reversed(NAN_PRIORITY[name]):
        a = low.splat(args[k])
        size = low.op("and", a, low.constant((1 << 63) - 1, 64))
        quiet = low.op("or", a, low.constant(F64.quiet, 64))
        nan = low.select(low.compare("ugt", size, low.constant(F64.infinity, 64)), quiet, nan)
    return low.select(unordered, nan, result)


def _careful(low: ValueLowering, name: str, rounding: str) -> IrFunction:
    """Return the function that repeats an operation in the default environment; operands and result in memory.

    The environment is switched in a separate function, whose callee has an effect unknown to LLVM: otherwise LLVM would
    move the arithmetic across the switch.
    """
    vector, count = low.module.vector(64), len(NAN_PRIORITY[name])

    def inner(function: str) -> str:
        there = low.elsewhere()
        body = there.body
        body.do('call void asm sideeffect "", "~{memory}"()')
        args: list[Ref] = []
        for k in range(count):
            p = body(f"getelementptr {vector}, ptr %operands, i64 {k}")
            args.append(low.per_lane(body(f"load {vector}, ptr {p}, align 64"), 64))
        result = bits_of(there, joined(there, _hardware(there, name, args, rounding), "double", PIECE), "double")
        got = _with_nans(there, name, args, result)
        body.do(f"store {vector} {got.text}, ptr %operands, align 64")
        return (
            f"define internal void {function}(ptr %operands) {low.module.attributes} noinline alignstack(64) {{\n"
            f"{body.text()}\n  ret void\n}}"
        )

    def switched(function: str) -> str:
        low.module.declare("llvm.x86.sse.ldmxcsr", "void @(ptr)")
        low.module.declare("llvm.x86.sse.stmxcsr", "void @(ptr)")
        work = low.module.function(("f64 in memory", name, rounding), inner)
        return (
            f"define internal void {function}(ptr %operands) {low.module.attributes} noinline cold {{\n"
            "  %old = alloca i32\n  %new = alloca i32\n"
            f"  store i32 {DEFAULT_ENVIRONMENT}, ptr %new\n"
            "  call void @llvm.x86.sse.stmxcsr(ptr %old)\n  call void @llvm.x86.sse.ldmxcsr(ptr %new)\n"
            f"  call void {work}(ptr %operands)\n"
            "  call void @llvm.x86.sse.ldmxcsr(ptr %old)\n  ret void\n}"
        )

    def passing(function: str) -> str:
        work = low.module.function(("f64 switched", name, rounding), switched)
        listed = ", ".join(f"{vector} %a{k}" for k in range(count))
        lines = [f"  %operands = alloca [{count} x {vector}], align 64"]
        for k in range(count):
            lines += [
                f"  %p{k} = getelementptr {vector}, ptr %operands, i64 {k}",
                f"  store {vector} %a{k}, ptr %p{k}, align 64",
            ]
        lines += [
            f"  call void {work}(ptr %operands)",
            f"  %r = load {vector}, ptr %operands, align 64",
            f"  ret {vector} %r",
        ]
        head = (
            f"define internal {vector} {function}({listed}) {low.module.attributes} noinline cold alignstack(64) {{\n"
        )
        return head + "\n".join(lines) + "\n}"

    return IrFunction(low.module.function(("f64 carefully", name, rounding), passing), vector, (vector,) * count)


def _odd(low: ValueLowering, args: Sequence[Ref], results: Sequence[str]) -> Ref:
    """Return whether there is an odd lane, as an `i1`."""
    vector, classes = f"<{PIECE} x double>", f"<{PIECE} x i1>"
    f = low.module.declare("llvm.x86.avx512.fpclass.pd.512", f"{classes} @({vector}, i32)")
    body = low.body
    flags = [body(f"call {classes} {f}({vector} {r}, i32 {NAN_OR_ZERO})") for r in results]
    odd = low.per_lane(joined(low, flags, "i1", PIECE), 1)
    for a in args:
        field = low.op("and", low.splat(a), low.constant(F64.infinity, 64))
        odd = low.op("or", odd, low.compare("eq", field, low.constant(0, 64)))
    return low.any(odd)


def denormal(low: ValueLowering, x: Ref) -> Ref:
    """Return true for numbers below the least normal one that are not zero."""
    fraction = 23 if x.width == 32 else 52
    less = low.op("sub", low.op("and", x, low.constant((1 << (x.width - 1)) - 1, x.width)), low.constant(1, x.width))
    return low.compare("ult", less, low.constant((1 << fraction) - 1, x.width))


def carefully(
    low: ValueLowering, operation: Operation, args: Sequence[Ref], statics: Statics, odd: Ref, usual: Ref
) -> Ref:
    """Return the result of `usual`, or of the definition for all lanes if a lane is odd."""
    vectors = [low.splat(a) for a in args]
    f = low.definition(operation, tuple(statics.items()), tuple(a.width for a in args))
    return low.unlikely(low.any(odd), usual, lambda: low.body.call(f, *vectors))


def _first_lane(low: ValueLowering, r: Ref) -> Ref:
    return low.body.extract(r, 0)


def _embedded(name: str) -> Native:
    def lower(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
        rounding = statics.get("rounding", "rn")
        uniform = all(a.uniform for a in args)
        vectors = [low.splat(a) for a in args]
        results = _hardware(low, name, vectors, rounding)
        total = bits_of(low, joined(low, results, "double", PIECE), "double")
        got = low.unlikely(
            _odd(low, vectors, results),
            total,
            lambda: low.body.call(_careful(low, name, rounding), *vectors),
        )
        return _first_lane(low, got) if uniform else got

    return lower


def _portable(name: str) -> Native:
    def lower(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
        if statics.get("rounding", "rn") != "rn":
            return None
        n = low.module.lanes
        vector = f"<{n} x double>"
        doubles = [numbers_of(low, a, "double") for a in args]
        if name == "fma":
            f = low.module.declare(f"llvm.fma.v{n}f64", f"{vector} @({vector}, {vector}, {vector})")
            result = low.body(f"call {vector} {f}({', '.join(f'{vector} {d}' for d in doubles)})")
        else:
            result = low.body(f"f{name} {vector} {doubles[0]}, {doubles[1]}")
        got = _with_nans(low, name, args, bits_of(low, result, "double"))
        return _first_lane(low, got) if all(a.uniform for a in args) else got

    return lower


def _comparison(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    """Test the relation of two numbers for constant bits; the instruction takes denormals for zeros."""
    usual = packed_comparison(low, args)
    if usual is None:
        return None
    a, b, bits = args
    odd = low.op("or", denormal(low, low.splat(a)), denormal(low, low.splat(b)))

    def by_definition() -> Ref:
        relation = low.definition(f64_compare, tuple(statics.items()), (64, 64))
        found = low.op("and", low.body.call(relation, *[low.splat(r) for r in (a, b)]), bits)
        return low.compare("ne", found, low.constant(0, bits.width))

    return low.unlikely(low.any(odd), usual, by_definition)


EMBEDDED_F64: dict[str, Native] = {
    **{f"f64_{name}": _embedded(name) for name in INTRINSICS},
    "holds f64_compare": _comparison,
}
PORTABLE_F64: dict[str, Native] = {f"f64_{name}": _portable(name) for name in INTRINSICS}
"""Multiply-add wants a host with FMA instructions: without them LLVM would call a function of the C library."""
