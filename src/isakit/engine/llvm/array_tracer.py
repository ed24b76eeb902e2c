"""Array code as LLVM code: functions written for NumPy arrays are called once with arrays that record the operations.

A `TracedArray` stands for one number per lane. NumPy's operators and functions know it (`__array_ufunc__`,
`__array_function__`), so that the same text computes with arrays, or generates code that computes the same lane by
lane. It has what NumPy's arrays have: a dtype with NumPy's promotion, and IEEE arithmetic in the default environment.

What one lane does not determine has functions of its own: `rarely` (some lanes need the array code itself: the function
then reports failure, and its results are discarded), lanes of a quad, tables in memory. A Python condition on lanes
raises TypeError: only values known at code generation may be branched on.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import reduce

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike

from isakit.engine.llvm.builder import F16, I1, I8, I16, RARELY, Builder, IrType, Ref, pointer, vector
from isakit.engine.llvm.builder import F32 as FLOAT
from isakit.engine.llvm.builder import F64 as DOUBLE
from isakit.engine.llvm.builder import I32 as WORD
from isakit.engine.llvm.builder import I64 as LONG
from isakit.engine.llvm.ir_text import LlvmModule
from isakit.engine.protocol import Array, DType

LANES = 16
"""Lanes of a vector."""
_TYPES: dict[DType, IrType] = {
    np.dtype(bool): I1, np.dtype(np.uint8): I8, np.dtype(np.uint16): I16, np.dtype(np.uint32): WORD,
    np.dtype(np.int8): I8, np.dtype(np.int16): I16, np.dtype(np.int32): WORD,
    np.dtype(np.int64): LONG, np.dtype(np.uint64): LONG,
    np.dtype(np.float16): F16, np.dtype(np.float32): FLOAT, np.dtype(np.float64): DOUBLE,
}  # fmt: skip
F32, F64, I32, I64, U32 = (np.dtype(t) for t in (np.float32, np.float64, np.int32, np.int64, np.uint32))
LARGEST = float(np.finfo(np.float32).max)

_COMPARED = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}
_FLOAT_OPS = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
_INTEGER_OPS = {"add": "add", "subtract": "sub", "multiply": "mul", "bitwise_and": "and", "bitwise_or": "or",
                "bitwise_xor": "xor", "left_shift": "shl", "logical_and": "and", "logical_or": "or"}  # fmt: skip
_LOWER_FROM_LOWER = {"add", "sub", "mul", "and", "or", "xor"}
"""Instructions whose lower bits depend on lower bits only."""


Scalar = float | int | bool


class TracedArray(NDArrayOperatorsMixin):
    """One number per lane of a function under construction: its name in the IR, and its dtype.

    `narrow`: the f32 lanes it was widened from; `powers_of_two`: whether all lanes are known to be powers of two;
    `same`: the scalar that all lanes equal, if known; `small`: whether all lanes are known to be finite and below
    2**31; `low`: computes the lower 32 bits from those of what the lanes were computed from.
    """

    powers_of_two = False
    small = False
    narrow: TracedArray | None = None
    low: Callable[[], TracedArray] | None = None
    same: Ref | None = None

    def __init__(self, code: Tracer, text: str, dtype: DTypeLike) -> None:
        self.code, self.text = code, text
        self.dtype: DType = np.dtype(dtype)

    @property
    def ref(self) -> Ref:
        """The value with its type."""
        return Ref(self.text, self.code.type(self.dtype))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of an array with an element for each lane."""
        return (LANES,)

    def __len__(self) -> int:
        return LANES

    def __bool__(self) -> bool:
        raise TypeError("a Python condition on lanes of traced code")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Lanes, **kwargs: object) -> TracedArray:
        if method != "__call__" or set(kwargs) - {"out"}:
            return NotImplemented
        return self.code.ufunc(ufunc.__name__, inputs)

    def __array_function__(
        self, function: Callable[..., object], types: object, args: Sequence[Lanes], kwargs: Mapping[str, Lanes]
    ) -> TracedArray:
        made = self.code.functions.get(function.__name__)
        return NotImplemented if made is None else made(*args, **kwargs)

    def astype(self, dtype: DTypeLike) -> TracedArray:
        """Convert the numbers to another type."""
        return self.code.cast(self, np.dtype(dtype))

    def view(self, dtype: DTypeLike) -> TracedArray:
        """Return the bits as another type of the same size."""
        to = np.dtype(dtype)
        if _TYPES[to] == _TYPES[self.dtype]:
            return TracedArray(self.code, self.text, to)
        return self.code.value(f"bitcast {self.code.type(self.dtype)} {self.text} to {self.code.type(to)}", to)

    def clip(self, low: Lanes, high: Lanes) -> TracedArray:
        """See `numpy.clip`."""
        return self.code.clip(self, low, high)

    def __iand__(self, other: Lanes) -> TracedArray:  # type: ignore[misc]
        return self & other


Lanes = TracedArray | Array | np.generic | Scalar
"""Whatever array code computes with: one number per lane, or the same for all."""


class Tracer:
    """Writes the body of a function. Its variable `%cannot` (i16) is the mask of the marked lanes.

    `fraction`: filtered values are multiples of 2**-fraction from 0 to 1; None if that is unknown.
    """

    def __init__(self, module: LlvmModule, fraction: int | None = None) -> None:
        self.module, self.body, self.fraction = module, Builder(module), fraction
        self._constants: dict[Hashable, TracedArray] = {}
        self._done: dict[str, str] = {}
        self.functions: dict[str, Callable[..., TracedArray]] = {
            "where": self.where, "clip": self.clip, "zeros_like": self.zeros_like, "ones_like": self.ones_like,
            "choose": self.choose, "nan_to_num": self.nan_to_num,
        }  # fmt: skip

    # --- pieces -----------------------------------------------------------------------------------------------------
    @staticmethod
    def element(dtype: DTypeLike) -> IrType:
        """Return the LLVM type of a lane."""
        return _TYPES[np.dtype(dtype)]

    @staticmethod
    def type(dtype: DTypeLike) -> IrType:
        """Return the LLVM type of lanes."""
        return vector(LANES, _TYPES[np.dtype(dtype)])

    def array(self, value: Ref, dtype: DTypeLike) -> TracedArray:
        """Take lanes that were made by the builder."""
        if value.type is not self.type(dtype):
            raise TypeError(f"{value!r} as lanes of {np.dtype(dtype)}")
        return TracedArray(self, value.text, dtype)

    def load(self, dtype: DTypeLike, p: Ref) -> TracedArray:
        """Load lanes that are consecutive at an address."""
        return self.array(self.body.load(self.type(dtype), p, np.dtype(dtype).itemsize), dtype)

    def store(self, value: TracedArray, p: Ref) -> None:
        """Put lanes to an address, one after the other."""
        self.body.store(value.ref, p, value.dtype.itemsize)

    def value(self, instruction: str, dtype: DTypeLike) -> TracedArray:
        """Write an instruction and return its value. Equal instructions are written once: array code repeats itself."""
        name = self._done.get(instruction)
        if name is None or " load " in instruction:
            name = self._done[instruction] = self.body(instruction)
        return TracedArray(self, name, dtype)

    def forget(self) -> None:
        """Drop the values computed so far, which do not dominate the code written next (a block after a branch)."""
        self._done = {}

    def constant(self, number: Scalar, dtype: DTypeLike) -> TracedArray:
        """Return the same number in all lanes."""
        dtype = np.dtype(dtype)
        out = TracedArray(self, f"splat ({_TYPES[dtype]} {_literal(number, dtype)})", dtype)
        if dtype == F64 and abs(number) <= LARGEST and float(np.float32(number)) == number:
            out.narrow = self.constant(number, F32)
        return out

    def _narrowed(self, dtype: DTypeLike, *args: TracedArray) -> list[TracedArray] | None:
        """Return the f32 lanes that all of them were widened from, None if any was not: half the work, no bit lost."""
        narrow = [a.narrow for a in args if a.narrow is not None]
        return narrow if dtype == F64 and len(narrow) == len(args) else None

    def of(self, x: Lanes, dtype: DTypeLike | None = None) -> TracedArray:
        """Return an operand of array code as lanes of a type."""
        if isinstance(x, TracedArray):
            return x if dtype is None or x.dtype == dtype else self.cast(x, np.dtype(dtype))
        a = np.asarray(x)
        wanted: DType = a.dtype if dtype is None else np.dtype(dtype)
        flat = np.unique(a)
        if flat.size > 1:
            listed = ", ".join(f"{_TYPES[wanted]} {_literal(n, wanted)}" for n in a.ravel().tolist())
            return TracedArray(self, f"<{listed}>", wanted)
        return self.constant(a.ravel()[0].item(), wanted)

    def scalar(self, value: Ref, dtype: DTypeLike) -> TracedArray:
        """Repeat a scalar of the function in all lanes."""
        lanes = self.type(dtype)
        if value.type is not lanes.element:
            raise TypeError(f"{value!r} as a number of {np.dtype(dtype)}")
        one = self.value(f"insertelement {lanes} poison, {value!r}, i64 0", dtype).text
        out = self.value(f"shufflevector {lanes} {one}, {lanes} poison, <{LANES} x i32> zeroinitializer", dtype)
        out.same = value
        return out

    def intrinsic(self, name: str, dtype: DTypeLike, *args: TracedArray) -> TracedArray:
        """Call an LLVM intrinsic on lanes of one type; return its result."""
        vector = self.type(dtype)
        f = self.module.declare(f"llvm.{name}.{vector.suffix}", f"{vector} @({', '.join([vector.text] * len(args))})")
        return self.value(f"call {vector} {f}({', '.join(f'{vector} {a.text}' for a in args)})", dtype)

    def op(self, name: str, a: TracedArray, b: TracedArray, dtype: DTypeLike | None = None) -> TracedArray:
        """Write an instruction with two operands of one type; return its result."""
        out = self.value(f"{name} {self.type(a.dtype)} {a.text}, {b.text}", dtype or a.dtype)
        if name in _LOWER_FROM_LOWER and a.dtype == I64 and (a.low or b.low):
            out.low = lambda: self.op(name, self.cast(a, I32), self.cast(b, I32))
        return out

    def cast(self, a: TracedArray, to: DType) -> TracedArray:
        """Convert numbers to another type, as NumPy converts values within that type's range."""
        source, target = _TYPES[a.dtype], _TYPES[to]
        if a.dtype == to:
            return a
        if a.low is not None and to == I32:
            return a.low()
        if source == target:
            return TracedArray(self, a.text, to)
        if a.small and a.narrow is not None and to == I64:
            whole = self.value(f"fptosi {self.type(F32)} {a.narrow.text} to {self.type(I32)}", I32)
            out = self.cast(whole, to)
            out.low = lambda: whole
            return out
        if a.dtype.kind == "f" and to.kind == "f":
            name = "fpext" if to.itemsize > a.dtype.itemsize else "fptrunc"
        elif a.dtype.kind == "f":
            name = "fptosi" if to.kind == "i" or to.itemsize == 4 else "fptoui"
            if to == U32:  # as NumPy: by way of i64
                return self.cast(self.cast(a, I64), to)
        elif to.kind == "f":
            name = "sitofp" if a.dtype.kind == "i" else "uitofp"
        elif to.kind == "b":
            return self.ufunc("not_equal", (a, 0))
        elif to.itemsize < a.dtype.itemsize:
            name = "trunc"
        else:
            name = "sext" if a.dtype.kind == "i" else "zext"
        out = self.value(f"{name} {self.type(a.dtype)} {a.text} to {self.type(to)}", to)
        if name == "fpext" and a.dtype == F32:
            out.narrow = a
        return out

    # --- NumPy's functions --------------------------------------------------------------------------------------------
    def _promoted(self, inputs: Sequence[Lanes]) -> tuple[list[TracedArray], DType]:
        dtype: DType = np.result_type(*[x if isinstance(x, Scalar) else x.dtype for x in inputs])
        return [self.of(x, dtype) for x in inputs], dtype

    def ufunc(self, name: str, inputs: Sequence[Lanes]) -> TracedArray:
        """Apply a universal function of NumPy."""
        args, dtype = self._promoted(inputs)
        if name in ("remainder", "fmod", "right_shift", "divide") or name not in (*_FLOAT_OPS, *_INTEGER_OPS):
            special = getattr(self, f"_{name}", None)
            if special is not None:
                return special(args, dtype)
        if name in _COMPARED or name in ("equal", "not_equal"):
            return self._compare(name, args, dtype)
        if dtype.kind == "f" and name in _FLOAT_OPS:
            return self.op(_FLOAT_OPS[name], *args)
        if dtype.kind != "f" and name in _INTEGER_OPS:
            return self.op(_INTEGER_OPS[name], *args)
        raise NotImplementedError(f"traced {name} of {dtype}")

    def _compare(self, name: str, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        if dtype.kind == "f":
            args = self._narrowed(dtype, *args) or args
            relation = {"equal": "oeq", "not_equal": "une"}.get(name) or "o" + _COMPARED[name]
            return self.op(f"fcmp {relation}", *args, dtype=bool)
        relation = {"equal": "eq", "not_equal": "ne"}.get(name)
        if relation is None:
            relation = ("s" if dtype.kind == "i" else "u") + _COMPARED[name]
        return self.op(f"icmp {relation}", *args, dtype=bool)

    def _divide(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        wide = F64 if dtype.kind != "f" else dtype
        return self.op("fdiv", *(self.of(a, wide) for a in args))

    def _remainder(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        """Return the remainder of integers below 2**52, for which the rounded f64 quotient has the exact floor."""
        i, n = args
        return i - self._floor_divide(args, dtype) * n

    def _floor_divide(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        quotient = self._floor([self.op("fdiv", *(self.of(a, F64) for a in args))], F64)
        return self.cast(quotient, I64)

    def _right_shift(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        return self.op("ashr" if dtype.kind == "i" else "lshr", *args)

    def _floor(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        if narrow := self._narrowed(dtype, *args):
            out = self.cast(self.intrinsic("floor", F32, *narrow), dtype)
            out.small = args[0].small
            return out
        return self.intrinsic("floor", dtype, args[0])

    def _rint(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        return self.intrinsic("roundeven", dtype, args[0])

    def _sqrt(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        return self.intrinsic("sqrt", dtype, args[0])

    def _absolute(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        if narrow := self._narrowed(dtype, *args):
            return self.cast(self.intrinsic("fabs", F32, *narrow), dtype)
        if dtype.kind == "f":
            return self.intrinsic("fabs", dtype, args[0])
        return self.where(args[0] < 0, -args[0], args[0])

    def _negative(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        if dtype.kind == "f":
            return self.value(f"fneg {self.type(dtype)} {args[0].text}", dtype)
        return self.op("sub", self.constant(0, dtype), args[0])

    def _invert(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        ones = self.constant(True if dtype.kind == "b" else -1, dtype)
        return self.op("xor", args[0], ones)

    def _isnan(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        return self.op("fcmp uno", args[0], args[0], dtype=bool)

    def _isfinite(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        if narrow := self._narrowed(dtype, *args):
            return self._isfinite(narrow, F32)
        size = self.intrinsic("fabs", dtype, args[0])
        return self.op("fcmp olt", size, self.constant(np.inf, dtype), dtype=bool)

    def _extreme(self, wins: str, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        """Return the smaller or larger, or a NaN if there is one."""
        a, b = args
        if dtype.kind != "f":
            sign = "s" if dtype.kind == "i" else "u"
            return self.where(self.op(f"icmp {sign}{wins}", a, b, dtype=bool), a, b)
        out = self.where(self.op(f"fcmp o{wins}", a, b, dtype=bool), a, b)
        return self.where(self._isnan([a], dtype), a, out)

    def _minimum(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        return self._extreme("lt", args, dtype)

    def _maximum(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        return self._extreme("gt", args, dtype)

    def where(self, condition: Lanes, a: Lanes, b: Lanes) -> TracedArray:
        """Return lanes of one value or the other by a condition, as `numpy.where` does."""
        (x, y), dtype = self._promoted((a, b))
        c = self.of(condition, bool)
        if x.text == y.text:
            return x
        if narrow := self._narrowed(dtype, x, y):
            return self.cast(self.where(c, *narrow), dtype)
        vector = self.type(dtype)
        return self.value(f"select {self.type(bool)} {c.text}, {vector} {x.text}, {vector} {y.text}", dtype)

    def clip(self, a: Lanes, low: Lanes, high: Lanes) -> TracedArray:
        """See `numpy.clip`."""
        return np.minimum(np.maximum(self.of(a), low), high)  # type: ignore[return-value]

    def zeros_like(self, a: TracedArray) -> TracedArray:
        """See `numpy.zeros_like`."""
        return self.constant(0, a.dtype)

    def ones_like(self, a: TracedArray) -> TracedArray:
        """See `numpy.ones_like`."""
        return self.constant(1, a.dtype)

    def nan_to_num(self, a: Lanes) -> TracedArray:
        """See `numpy.nan_to_num`."""
        x = self.of(a)
        largest = float(np.finfo(x.dtype).max)
        return self.clip(self.where(np.isnan(x), 0.0, x), -largest, largest)

    def choose(self, index: Lanes, choices: Sequence[Lanes]) -> TracedArray:
        """See `numpy.choose`; the index is one of the choices."""
        out: Lanes = choices[-1]
        for k in reversed(range(len(choices) - 1)):
            out = self.where(index == k, choices[k], out)
        return self.of(out)

    def _log2(self, args: Sequence[TracedArray], dtype: DType) -> TracedArray:
        """Return the logarithm with an error below 2**-50; exact at powers of two, and of the right sign near 1."""
        x = args[0]
        bits = x.view(I64)
        exponent = (bits >> 52) - 1023
        m = (bits & ((1 << 52) - 1) | 1023 << 52).view(F64)
        high = m > math.sqrt(2)
        m = self.where(high, m * 0.5, m)
        s = (m - 1.0) / (m + 1.0)
        square = s * s
        total = self.constant(0.0, F64)
        for k in range(9, -1, -1):
            total = total * square + 2 / math.log(2) / (2 * k + 1)
        out = (exponent + high).astype(F64) + s * total
        out = self.where(x == 0.0, -math.inf, out)
        return self.where(x == math.inf, math.inf, out)

    def weighted(self, values: Sequence[TracedArray], weights: Sequence[TracedArray], bits: int) -> TracedArray:
        """Return the sum of values times integer weights over 2**bits, rounded once to f32, as its bits.

        A tap of weight 0 does not count, and a NaN is 0x7fffffff. Where f64 could have rounded the sum, and that could
        matter, the lane is marked.
        """
        pairs = list(zip(values, weights, strict=True))
        if self.fraction is not None and bits + self.fraction <= 53:
            total = reduce(operator.add, [v * w for v, w in pairs])
            return (total * 0.5**bits).astype(F32).view(U32)
        if (
            self.fraction is not None
            and self.fraction <= 31
            and bits < 32
            and all(v.narrow is not None for v in values)
        ):
            return self._in_integers(pairs, bits)
        terms = [self.where(w == 0.0, -0.0, v * w) for v, w in pairs]
        total, scale = reduce(operator.add, terms), 0.5**bits
        result = (total * scale).astype(F32)
        slack = reduce(operator.add, [np.abs(t) for t in terms]) * 2.0**-49
        near = ((total - slack) * scale).astype(F32) != ((total + slack) * scale).astype(F32)
        near = near & np.isfinite(total)
        self.seldom(near, lambda: self._unless_exact(near, terms, bits))
        return self.where(np.isnan(result), 0x7FFFFFFF, result.view(U32))

    def _in_integers(self, pairs: Sequence[tuple[TracedArray, TracedArray]], bits: int) -> TracedArray:
        """Return the sum of multiples of 2**-fraction that stays below 2**64 of them."""
        assert self.fraction is not None
        total: TracedArray | None = None
        for v, w in pairs:
            assert v.narrow is not None
            steps = self.value(
                f"fptoui {self.type(F32)} {(v.narrow * 2.0**self.fraction).text} to {self.type(U32)}", U32
            )
            term = steps.astype(np.uint64) * w.astype(I64).astype(U32).astype(np.uint64)
            total = term if total is None else total + term
        assert total is not None
        return (total.astype(F32) * 0.5 ** (bits + self.fraction)).view(U32)

    def _unless_exact(self, near: TracedArray, terms: Sequence[TracedArray], bits: int) -> None:
        """Mark lanes in which a product or a sum of the terms was rounded."""
        total, odd = terms[0], None
        for t in terms[1:]:
            s = total + t
            v = s - total
            wrong = ((total - (s - v)) + (t - v)) != 0.0
            total, odd = s, wrong if odd is None else odd | wrong
        if bits > 29:  # products of 24 bits and more than 29
            odd = near
        assert odd is not None
        self.mark(near & odd)

    # --- memory and lanes ---------------------------------------------------------------------------------------------
    def _gather(self, dtype: DTypeLike) -> str:
        vector = self.type(dtype)
        return self.module.declare(
            f"llvm.masked.gather.{vector.suffix}.v{LANES}p0",
            f"{vector} @(<{LANES} x ptr>, i32, <{LANES} x i1>, {vector})",
        )

    def gathered(self, base: Ref, index: TracedArray, dtype: DTypeLike, lanes: str = "splat (i1 true)") -> TracedArray:
        """Load entries of an array at an address, by indices that are in its range and below 2**31."""
        narrow = self.cast(index, I32).text
        ty, vector = _TYPES[np.dtype(dtype)], self.type(dtype)
        places = self.value(f"getelementptr {ty}, ptr {base}, <{LANES} x i32> {narrow}", U32).text
        size, f = np.dtype(dtype).itemsize, self._gather(dtype)
        text = f"call {vector} {f}(<{LANES} x ptr> {places}, i32 {size}, <{LANES} x i1> {lanes}, {vector} poison)"
        return self.value(text, dtype)

    def loaded(self, places: Ref, dtype: DTypeLike, lanes: TracedArray) -> TracedArray:
        """Load from addresses <n x ptr>, for some lanes; always read again."""
        vector, f = self.type(dtype), self._gather(dtype)
        listed = f"<{LANES} x ptr> {places}, i32 1, {self.type(bool)} {lanes.text}, {vector} zeroinitializer"
        return TracedArray(self, self.body(f"call {vector} {f}({listed})"), dtype)

    def stored(self, places: Ref, value: TracedArray, lanes: TracedArray) -> None:
        """Put numbers to addresses <n x ptr>, for some lanes."""
        self.body.scatter(value.ref, places, lanes.ref, 1)

    def of_quad(self, a: TracedArray, lane: int) -> TracedArray:
        """Give every lane the value that a lane of its quad has."""
        vector = self.type(a.dtype)
        index = ", ".join(f"i32 {(j & ~3) | lane}" for j in range(LANES))
        return self.value(f"shufflevector {vector} {a.text}, {vector} poison, <{LANES} x i32> <{index}>", a.dtype)

    def mark(self, lanes: TracedArray) -> None:
        """Mark lanes whose result the function cannot compute."""
        b, cannot = self.body, pointer("%cannot")
        now = b.load(I16, cannot)
        b.store(b.or_(now, b.bitcast(lanes.ref, I16)), cannot)

    def seldom(self, lanes: TracedArray, write: Callable[[], None]) -> None:
        """Emit code that runs if at least one lane needs it; its results cannot be used after it."""
        b = self.body
        with b.if_(b.ne(b.bitcast(lanes.ref, I16), 0), "seldom", weights=RARELY):
            before, self._done = self._done, dict(self._done)
            write()
            self._done = before


class TracedTable:
    """An array in memory that is indexed by lanes, or by a number known when code is made."""

    def __init__(self, code: Tracer, pointer: Ref, dtype: DTypeLike, powers_of_two: bool = False) -> None:
        self.code, self.pointer, self.dtype, self.powers_of_two = code, pointer, np.dtype(dtype), powers_of_two

    def __getitem__(self, index: Lanes) -> TracedArray:
        code = self.code
        same = index.same if isinstance(index, TracedArray) and index.dtype == I64 else None
        if isinstance(index, int) or same is not None:  # one load for all lanes: a gather takes as long as sixteen
            ty = code.element(self.dtype)
            number = index if same is None else same
            place = code.value(f"getelementptr {ty}, ptr {self.pointer}, i64 {number}", np.int64).text
            out = code.scalar(Ref(code.value(f"load {ty}, ptr {place}", self.dtype).text, ty), self.dtype)
        else:
            out = code.gathered(self.pointer, code.of(index, np.int64), self.dtype)
        out.powers_of_two = self.powers_of_two
        return out


def _literal(number: Scalar, dtype: DType) -> str:
    """Return a number as LLVM text."""
    if dtype.kind == "b":
        return "true" if number else "false"
    if dtype.kind == "f":
        bits = int(np.array(number, dtype).astype(np.float64).view(np.uint64))
        return f"0x{bits:016X}"
    return str(int(np.array(number).astype(dtype)) if not isinstance(number, int) else number)


__all__ = ["LANES", "TracedArray", "TracedTable", "Tracer"]
