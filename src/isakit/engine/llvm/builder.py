"""A typed builder of LLVM IR: values carry their types, and a mismatch is an error where the instruction is written.

It writes text. llvmlite's own `ir.IRBuilder` makes an object for every value, use and name, from which the same text is
made in a second pass: an instruction takes it eight times as long, and writing is a sixth of compiling as it is.

    here = b.eq(args[1], target)
    size = b.select(here, I32(8), size)
    with b.if_(here):
        b.store(size, b.offset(state, 16))

Names of values are numbers in the order in which they are written, so that equal code has equal text, which is what the
object cache is looked up by.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Literal

from isakit.engine.llvm.ir_text import LlvmModule
from isakit.engine.llvm.ir_types import (
    F16,
    F32,
    F64,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    PTR,
    VOID,
    IrFunction,
    IrType,
    IrTypeError,
    Operand,
    Ref,
    array,
    integer,
    numbers,
    pointer,
    structure,
    vector,
)  # fmt: skip

RARELY, MOSTLY, OFTEN = ", !prof !0", ", !prof !2", ", !prof !3"
"""Weights of the first target of a branch, see `ir_text.METADATA`."""
_ENDS = ("  br ", "  ret ", "  switch ", "  unreachable")
"""The beginnings of the lines that end a block."""


@cache
def _indices(index: tuple[int, ...]) -> str:
    """Return a mask of `shufflevector`."""
    if not any(index):
        return f"<{len(index)} x i32> zeroinitializer"
    return f"<{len(index)} x i32> <" + ", ".join(f"i32 {k}" for k in index) + ">"


class Builder:
    """The body of a function: instructions in order, with fresh names numbered from `first` on.

    `current` is the label of the block being written, which another body may have begun: then it is set. `b(text)` and
    `b.do(text)` are for the lowerings beside this file, which write instructions themselves.
    """

    def __init__(self, module: LlvmModule, first: int = 0) -> None:
        self.module = module
        self.lines: list[str] = []
        self.current = ""
        self._count = first

    def __call__(self, instruction: str) -> str:
        """Emit an instruction that has a result; return the result's name."""
        self._count += 1
        name = f"%t{self._count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Emit an instruction without a value."""
        self.lines.append("  " + instruction)

    def text(self) -> str:
        """Return all lines."""
        return "\n".join(self.lines)

    def _value(self, instruction: str, type: IrType) -> Ref:
        self._count += 1
        name = f"%t{self._count}"
        self.lines.append(f"  {name} = {instruction}")
        return Ref(name, type)

    def named(self, name: str, value: Ref) -> Ref:
        """Give the last written value a name of its own; return it."""
        start = f"  {value.text} = "
        if not self.lines or not self.lines[-1].startswith(start):
            raise IrTypeError(f"{value!r} is not the value that was written last")
        self._count -= 1
        self.lines[-1] = f"  {name} = {self.lines[-1][len(start) :]}"
        return Ref(name, value.type)

    # --- arithmetic -------------------------------------------------------------------------------------------------
    def _two(self, name: str, x: Operand, y: Operand) -> Ref:
        if isinstance(x, Ref):
            type, first = x.type, x.text
            second = _text(y, type)
        else:
            assert isinstance(y, Ref)
            type, first, second = y.type, y.type.literal(x), y.text
        if not type.width:
            raise IrTypeError(f"{name} of {type}")
        return self._value(f"{name} {type.text} {first}, {second}", type)

    def add(self, x: Operand, y: Operand) -> Ref:
        """Add."""
        return self._two("add", x, y)

    def sub(self, x: Operand, y: Operand) -> Ref:
        """Subtract."""
        return self._two("sub", x, y)

    def mul(self, x: Operand, y: Operand) -> Ref:
        """Multiply."""
        return self._two("mul", x, y)

    def udiv(self, x: Operand, y: Operand) -> Ref:
        """Divide numbers without sign."""
        return self._two("udiv", x, y)

    def urem(self, x: Operand, y: Operand) -> Ref:
        """Return the remainder of numbers without sign."""
        return self._two("urem", x, y)

    def and_(self, x: Operand, y: Operand) -> Ref:
        """Return the bitwise and."""
        return self._two("and", x, y)

    def or_(self, x: Operand, y: Operand) -> Ref:
        """Return the bitwise or."""
        return self._two("or", x, y)

    def xor(self, x: Operand, y: Operand) -> Ref:
        """Return the bitwise exclusive or."""
        return self._two("xor", x, y)

    def not_(self, x: Ref) -> Ref:
        """Return the bitwise complement."""
        return self._two("xor", x, -1)

    def shl(self, x: Operand, y: Operand) -> Ref:
        """Shift left, by less than the width; return the result."""
        return self._two("shl", x, y)

    def lshr(self, x: Operand, y: Operand) -> Ref:
        """Shift right, with zeros in front."""
        return self._two("lshr", x, y)

    def ashr(self, x: Operand, y: Operand) -> Ref:
        """Shift right, with copies of the sign in front."""
        return self._two("ashr", x, y)

    # --- comparisons ------------------------------------------------------------------------------------------------
    def compare(self, relation: str, x: Ref, y: Operand) -> Ref:
        """Compare whole numbers or addresses, by LLVM's name of the relation."""
        type = x.type
        return self._value(f"icmp {relation} {type.text} {x.text}, {_text(y, type)}", type.flags)

    def eq(self, x: Ref, y: Operand) -> Ref:
        """Compare: x == y."""
        return self.compare("eq", x, y)

    def ne(self, x: Ref, y: Operand) -> Ref:
        """Compare: x != y."""
        return self.compare("ne", x, y)

    def ult(self, x: Ref, y: Operand) -> Ref:
        """Compare without sign: x < y."""
        return self.compare("ult", x, y)

    def ule(self, x: Ref, y: Operand) -> Ref:
        """Compare without sign: x <= y."""
        return self.compare("ule", x, y)

    def ugt(self, x: Ref, y: Operand) -> Ref:
        """Compare without sign: x > y."""
        return self.compare("ugt", x, y)

    def uge(self, x: Ref, y: Operand) -> Ref:
        """Compare without sign: x >= y."""
        return self.compare("uge", x, y)

    def slt(self, x: Ref, y: Operand) -> Ref:
        """Compare with sign: x < y."""
        return self.compare("slt", x, y)

    def sle(self, x: Ref, y: Operand) -> Ref:
        """Compare with sign: x <= y."""
        return self.compare("sle", x, y)

    def sgt(self, x: Ref, y: Operand) -> Ref:
        """Compare with sign: x > y."""
        return self.compare("sgt", x, y)

    def sge(self, x: Ref, y: Operand) -> Ref:
        """Compare with sign: x >= y."""
        return self.compare("sge", x, y)

    def is_nan(self, x: Ref) -> Ref:
        """Return whether a floating point number is a NaN."""
        return self._value(f"fcmp uno {x.type.text} {x.text}, {x.text}", _flags_of(x.type))

    def select(self, condition: Ref, x: Ref, y: Operand) -> Ref:
        """Return x where the condition holds, else y; one condition for all lanes, or one for each."""
        c, type = condition.type, x.type
        if c is not I1 and (c.element is not I1 or c.lanes != type.lanes):
            raise IrTypeError(f"{condition!r} does not choose between lanes of {type}")
        text = f"select {c.text} {condition.text}, {type.text} {x.text}, {type.text} {_text(y, type)}"
        return self._value(text, type)

    # --- other types ------------------------------------------------------------------------------------------------
    def _cast(self, name: str, x: Ref, type: IrType) -> Ref:
        return self._value(f"{name} {x.type.text} {x.text} to {type.text}", type)

    def zext(self, x: Ref, type: IrType) -> Ref:
        """Put zeros in front."""
        return self._extended("zext", x, type)

    def sext(self, x: Ref, type: IrType) -> Ref:
        """Extend with copies of the sign."""
        return self._extended("sext", x, type)

    def _extended(self, name: str, x: Ref, type: IrType) -> Ref:
        if x.type.lanes != type.lanes or not 0 < x.type.width < type.width:
            raise IrTypeError(f"{x!r} cannot be extended to {type}")
        return self._cast(name, x, type)

    def trunc(self, x: Ref, type: IrType) -> Ref:
        """Truncate to the lower bits."""
        if x.type.lanes != type.lanes or not 0 < type.width < x.type.width:
            raise IrTypeError(f"{x!r} cannot be cut to {type}")
        return self._cast("trunc", x, type)

    def bitcast(self, x: Ref, type: IrType) -> Ref:
        """Return the same bits as another type."""
        if _bits(x.type) != _bits(type):
            raise IrTypeError(f"{x!r} has not the size of {type}")
        return self._cast("bitcast", x, type)

    def to_pointer(self, x: Ref) -> Ref:
        """Convert a whole number to an address."""
        return self._cast("inttoptr", x, PTR)

    def to_number(self, p: Ref) -> Ref:
        """Convert an address to a whole number of 64 bits."""
        return self._cast("ptrtoint", _pointer(p), I64)

    # --- memory -----------------------------------------------------------------------------------------------------
    def load(self, type: IrType, p: Ref, align: int = 0, *, volatile: bool = False, invariant: bool = False) -> Ref:
        """Load from an address; `invariant`: it never changes while the function runs."""
        text = f"load {'volatile ' if volatile else ''}{type.text}, ptr {_pointer(p).text}"
        if align:
            text += f", align {align}"
        if invariant:
            text += ", !invariant.load !1"
        return self._value(text, type)

    def store(self, value: Ref, p: Ref, align: int = 0, *, volatile: bool = False) -> None:
        """Store a value at an address."""
        text = f"  store {'volatile ' if volatile else ''}{value.type.text} {value.text}, ptr {_pointer(p).text}"
        self.lines.append(f"{text}, align {align}" if align else text)

    def offset(self, p: Ref, nbytes: Operand) -> Ref:
        """Return an address plus an offset in bytes; a vector of them from vectors of offsets or addresses."""
        return self.element(I8, p, nbytes)

    def element(self, type: IrType, p: Ref, index: Operand) -> Ref:
        """Return the address of an element of a row that begins at an address."""
        text, result = f"getelementptr {type.text}, {p.type.text} {p.text}, ", p.type
        if isinstance(index, Ref):
            if not index.type.width:
                raise IrTypeError(f"{index!r} is not an index")
            if index.type.lanes:
                result = vector(index.type.lanes, PTR)
            return self._value(f"{text}{index.type.text} {index.text}", result)
        return self._value(f"{text}i64 {index}", result)

    def alloca(self, type: IrType, name: str = "", align: int = 0) -> Ref:
        """Allocate a variable of the function; to be written at its beginning."""
        made = self._value(f"alloca {type.text}" + (f", align {align}" if align else ""), PTR)
        return self.named(name, made) if name else made

    def clear_bytes(self, p: Ref, nbytes: Ref, align: int = 0) -> None:
        """Set bytes from an address on to 0."""
        f = self.module.declare("llvm.memset.p0.i64", "void @(ptr, i8, i64, i1)")
        where = f"align {align} {p.text}" if align else p.text
        self.do(f"call void {f}(ptr {where}, i8 0, i64 {_text(nbytes, I64)}, i1 false)")

    def copy_bytes(self, to: Ref, p: Ref, nbytes: Ref) -> None:
        """Copy bytes between areas that do not overlap (memcpy)."""
        self._copied("memcpy", to, p, nbytes)

    def move_bytes(self, to: Ref, p: Ref, nbytes: Ref) -> None:
        """Copy bytes between areas that may overlap (memmove)."""
        self._copied("memmove", to, p, nbytes)

    def _copied(self, name: str, to: Ref, p: Ref, nbytes: Ref) -> None:
        f = self.module.declare(f"llvm.{name}.p0.p0.i64", "void @(ptr, ptr, i64, i1)")
        self.do(f"call void {f}(ptr {to.text}, ptr {p.text}, i64 {_text(nbytes, I64)}, i1 false)")

    # --- vectors and structures -------------------------------------------------------------------------------------
    def extract(self, v: Ref, lane: Operand) -> Ref:
        """Extract a lane of a vector."""
        return self._value(f"extractelement {_vector(v).text} {v.text}, {_lane(lane)}", v.type.element)

    def insert(self, v: Ref, x: Ref, lane: Operand) -> Ref:
        """Return a vector with one lane replaced."""
        element = _vector(v).element
        text = f"insertelement {v.type.text} {v.text}, {element.text} {_text(x, element)}, {_lane(lane)}"
        return self._value(text, v.type)

    def splat(self, x: Ref, type: IrType) -> Ref:
        """Return the same number in all lanes of a vector."""
        return self.shuffle(self.insert(type.poison, x, 0), (0,) * type.lanes)

    def shuffle(self, x: Ref, index: Sequence[int], y: Ref | None = None) -> Ref:
        """Return the lanes of a vector, or of two after each other, by number."""
        type = _vector(x)
        other = "poison" if y is None else _text(y, type)
        result = vector(len(index), type.element)
        return self._value(f"shufflevector {type.text} {x.text}, {type.text} {other}, {_indices(tuple(index))}", result)

    def part(self, s: Ref, k: int) -> Ref:
        """Return a part of a structure."""
        return self._value(f"extractvalue {s.type.text} {s.text}, {k}", s.type.parts[k])

    def with_part(self, s: Ref, x: Operand, k: int) -> Ref:
        """Return a structure with one member replaced."""
        type = s.type.parts[k]
        return self._value(f"insertvalue {s.type.text} {s.text}, {type.text} {_text(x, type)}, {k}", s.type)

    # --- calls ------------------------------------------------------------------------------------------------------
    def call(self, f: IrFunction, *arguments: Operand, tail: bool = False) -> Ref:
        """Call a function and return its result; with `tail` the callee may reuse this frame."""
        text = self._call(f, arguments)
        return self._value(f"tail {text}" if tail else text, f.result)

    def perform(self, f: IrFunction, *arguments: Operand) -> None:
        """Call a function that gives none."""
        self.do(self._call(f, arguments))

    @staticmethod
    def _call(f: IrFunction, arguments: Sequence[Operand]) -> str:
        if len(arguments) != len(f.parameters):
            raise IrTypeError(f"{f.name} takes {len(f.parameters)} arguments, not {len(arguments)}")
        listed = ", ".join([f"{t.text} {_text(a, t)}" for a, t in zip(arguments, f.parameters, strict=True)])
        return f"call {f.convention}{f.result.text} {f.name}({listed})"

    def intrinsic(self, name: str, x: Ref, *others: Operand) -> Ref:
        """Call an LLVM intrinsic on values of one type and return its result: `ctpop`, `umin`, `umax`."""
        return self.call(self._intrinsic(name, x.type, x.type, *[x.type] * (1 + len(others))), x, *others)

    def reduce(self, name: str, v: Ref) -> Ref:
        """Combine all lanes: `umax`, `or`."""
        return self.call(self._intrinsic(f"vector.reduce.{name}", v.type, _vector(v).element, v.type), v)

    def trailing_zeros(self, x: Ref, *, never_zero: bool = False) -> Ref:
        """Return the number of zeros below the lowest set bit; for 0 the width, or any number if `never_zero`."""
        return self.call(self._intrinsic("cttz", x.type, x.type, x.type, I1), x, int(never_zero))

    def leading_zeros(self, x: Ref) -> Ref:
        """Count zeros in front of the highest bit that is set; of 0 all bits."""
        return self.call(self._intrinsic("ctlz", x.type, x.type, x.type, I1), x, 0)

    def gather(self, type: IrType, places: Ref, mask: Ref, otherwise: Ref, align: int) -> Ref:
        """Load from each lane's address in the lanes of the mask; return the vector."""
        f = self._intrinsic("masked.gather", type, type, places.type, I32, mask.type, type, more=places.type)
        return self.call(f, places, align, mask, otherwise)

    def scatter(self, value: Ref, places: Ref, mask: Ref, align: int) -> None:
        """Store a value to each lane's address in the lanes of the mask; at equal addresses the highest lane wins."""
        f = self._intrinsic(
            "masked.scatter", value.type, VOID, value.type, places.type, I32, mask.type, more=places.type
        )
        self.perform(f, value, places, align, mask)

    def load_masked(self, type: IrType, p: Ref, mask: Ref, otherwise: Ref, align: int) -> Ref:
        """Load the lanes of the mask of the vector at an address; return it."""
        return self.call(
            self._intrinsic("masked.load", type, type, PTR, I32, mask.type, type, more=PTR), p, align, mask, otherwise
        )

    def store_masked(self, value: Ref, p: Ref, mask: Ref, align: int) -> None:
        """Put the lanes of a vector that the mask names to an address."""
        f = self._intrinsic("masked.store", value.type, VOID, value.type, PTR, I32, mask.type, more=PTR)
        self.perform(f, value, p, align, mask)

    def _intrinsic(self, name: str, of: IrType, result: IrType, *parameters: IrType, more: IrType | None = None
    ) -> IrFunction:  # fmt: skip
        suffix = of.suffix if more is None else f"{of.suffix}.{more.suffix}"
        return self.external(f"llvm.{name}.{suffix}", result, *parameters)

    def external(self, name: str, result: IrType, *parameters: IrType, convention: str = "") -> IrFunction:
        """Declare a function of another module, and return it."""
        return self.module.external(IrFunction("@" + name, result, parameters, convention))

    # --- where to go ------------------------------------------------------------------------------------------------
    @property
    def is_open(self) -> bool:
        """True if the block being written has no end yet."""
        return not self.lines or not self.lines[-1].startswith(_ENDS)

    def label(self, name: str) -> None:
        """Start a block; the one before it falls through to it unless it has a terminator."""
        if (self.lines or self.current) and self.is_open:
            self.jump(name)
        self.current = name
        self.lines.append(name + ":")

    def fresh(self, prefix: str) -> str:
        """Return a new name, of a block or of a value with % in front."""
        self._count += 1
        return f"{prefix}{self._count}"

    def jump(self, label: str) -> None:
        """Jump to a block."""
        self.lines.append(f"  br label %{label}")

    def branch(self, condition: Operand, yes: str, no: str, weights: str = "") -> None:
        """Branch to one of two blocks. `weights`: RARELY, OFTEN or MOSTLY to the first."""
        self.lines.append(f"  br i1 {_text(condition, I1)}, label %{yes}, label %{no}{weights}")

    def switch(self, x: Ref, otherwise: str, ways: Iterable[tuple[int, str]]) -> None:
        """Jump to the block of a number, or to `otherwise`."""
        listed = " ".join(f"{x.type.text} {n}, label %{label}" for n, label in ways)
        self.lines.append(f"  switch {x.type.text} {x.text}, label %{otherwise} [ {listed} ]")

    def ret(self, value: Ref | None = None) -> None:
        """Return."""
        self.lines.append("  ret void" if value is None else f"  ret {value.type.text} {value.text}")

    def unreachable(self) -> None:
        """End a block whose end is never reached."""
        self.lines.append("  unreachable")

    def phi(self, ways: Iterable[tuple[Ref, str]], name: str = "") -> Ref:
        """Choose the value that belongs to the predecessor from which this block was entered."""
        listed = [*ways]
        type = listed[0][0].type
        text = ", ".join([f"[ {_text(value, type)}, %{label} ]" for value, label in listed])
        made = self._value(f"phi {type.text} {text}", type)
        return self.named(name, made) if name else made

    @contextmanager
    def if_(self, condition: Ref, inside: str = "then", behind: str = "on", weights: str = "") -> Generator[None]:
        """Emit the code of the `with` body so that it runs only if the condition holds."""
        then, on = self.fresh(inside), self.fresh(behind)
        self.branch(condition, then, on, weights)
        yield from self._inside(then, on)

    @contextmanager
    def unless(self, condition: Ref, inside: str = "then", behind: str = "on", weights: str = "") -> Generator[None]:
        """Emit the code of the `with` body so that it runs only if the condition does not hold."""
        then, on = self.fresh(inside), self.fresh(behind)
        self.branch(condition, on, then, weights)
        yield from self._inside(then, on)

    def _inside(self, then: str, on: str) -> Generator[None]:
        self.label(then)
        yield
        self.label(on)


def define(
    name: str, result: IrType, parameters: Sequence[Ref], *bodies: Iterable[str], attributes: str = "nounwind",
    convention: str = "", noalias: Literal[True] | Collection[Ref] = (),
) -> str:  # fmt: skip
    """Return the text of a function from the lines of its body.

    `noalias`: parameters whose memory no other pointer reaches.
    """
    listed = ", ".join(
        f"{p.type} {'noalias ' if p.type is PTR and (noalias is True or p in noalias) else ''}{p.text}"
        for p in parameters
    )
    lines = "\n".join(line for body in bodies for line in body)
    return f"define {convention}{result} {name}({listed}) {attributes} {{\n{lines}\n}}"


def _text(x: Operand, type: IrType) -> str:
    """Return an operand that must have a type."""
    if isinstance(x, Ref):
        if x.type is not type:
            raise IrTypeError(f"{x!r} where {type} must be")
        return x.text
    return type.literal(x)


def _pointer(p: Ref) -> Ref:
    if p.type is not PTR:
        raise IrTypeError(f"{p!r} is not an address")
    return p


def _vector(v: Ref) -> IrType:
    if not v.type.lanes:
        raise IrTypeError(f"{v!r} is not a vector")
    return v.type


def _lane(lane: Operand) -> str:
    return f"{lane.type.text} {lane.text}" if isinstance(lane, Ref) else f"i64 {lane}"


def _bits(type: IrType) -> int:
    element = {F32: 32, F64: 64}.get(type.element, type.width)
    if not element:
        raise IrTypeError(f"{type} has no bits to look at")
    return element * (type.lanes or 1)


def _flags_of(type: IrType) -> IrType:
    return vector(type.lanes, I1) if type.lanes else I1


__all__ = [
    "F16", "F32", "F64", "I1", "I4", "I8", "I16", "I32", "I64", "MOSTLY", "OFTEN", "PTR", "RARELY", "VOID", "Builder",
    "IrFunction", "IrType", "IrTypeError", "Operand", "Ref", "array", "define", "integer", "numbers", "pointer",
    "structure", "vector",
]  # fmt: skip
