"""Conditions of Tesla breakpoints as machine code, so that a breakpoint that is passed a million times costs little.

Made from the same expressions as `expressions.evaluate` reads, and never stricter: where the code cannot tell (memory
that is not there, numbers the compiled kernel's floating-point environment would flush) it says that the condition may
hold, and the session looks again. `None` comes back for what has no such code at all.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from isakit.debug.expressions import TYPES, Binary, Cast, Load, NamedRegister, Node, NumberTerm, Unary, Variable, walk
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.state_layout import SLOT
from isakit.machine.tesla.launch import Launch

_COMPARED = {"==": ("eq", "oeq"), "!=": ("ne", "une"), "<": ("slt", "olt"), "<=": ("sle", "ole"), ">": ("sgt", "ogt"),
             ">=": ("sge", "oge")}  # fmt: skip
_ARITHMETIC = {"+": ("add", "fadd"), "-": ("sub", "fsub"), "*": ("mul", "fmul")}
_FLAGS = "zsco"
_LARGEST = "9.2e18"  # a little below 2**63

DECLARATIONS = "declare i32 @llvm.cttz.i32(i32, i1)\n"


class _NoCode(Exception):
    """There is no machine code for the expression."""


class CompiledCondition(NamedTuple):
    """IR of a function, and whether it says exactly when the condition holds."""

    ir: str
    exact: bool


def condition(name: str, node: Node, launch: Launch, lanes: int | None = None) -> CompiledCondition | None:
    """`i1 @NAME(ptr %ctx, ptr %ws)`: whether the condition may hold for some active lane; None without code.

    `lanes`: a mask of the lanes that are asked.
    """
    code = _Code(launch)
    try:
        result = code.truth(code.value(node))
    except _NoCode:
        return None
    asked = "" if lanes is None else f"  %m1 = and i32 %m0, {lanes}\n"
    if lanes is None and _uniform(node):  # one lane speaks for all
        asked, lanes = "  %back = sub i32 0, %m0\n  %m1 = and i32 %m0, %back\n", 0
    ir = (
        f"define internal i1 @{name}(ptr %ctx, ptr %ws) nounwind {{\nentry:\n"
        f"  %mp = getelementptr i8, ptr %ws, i64 {state_layout.ACTIVE}\n  %m0 = load i32, ptr %mp\n{asked}"
        f"  br label %next\nnext:\n  %m = phi i32 [ %{'m0' if lanes is None else 'm1'}, %entry ], [ %rest, %no ]\n"
        "  %none = icmp eq i32 %m, 0\n  br i1 %none, label %false, label %lane\nlane:\n"
        "  %l32 = call i32 @llvm.cttz.i32(i32 %m, i1 true)\n  %lane64 = zext i32 %l32 to i64\n"
        "  %less = sub i32 %m, 1\n  %rest = and i32 %m, %less\n  %lane4 = mul i64 %lane64, 4\n"
        + "".join(code.lines)
        + f"  br i1 {result}, label %maybe, label %no\nno:\n  br label %next\nmaybe:\n  ret i1 true\n"
        "false:\n  ret i1 false\n}\n"
    )
    return CompiledCondition(ir, code.exact)


def _uniform(node: Node) -> bool:
    """Whether all lanes of a warp see the same value."""
    per_lane = ("lane", "tid", "tid.x", "tid.y", "tid.z")
    return not any(isinstance(n, NamedRegister) or (isinstance(n, Variable) and n.name in per_lane) for n in walk(node))


_Value = tuple[str, bool]
"""Name of a value, and whether it is a double (else i64)."""


class _Code:
    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.lines: list[str] = []
        self.count = 0
        self.exact = True

    def put(self, text: str) -> str:
        """Add an instruction; returns the name of its result."""
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}\n")
        return f"%v{self.count}"

    def truth(self, v: _Value) -> str:
        name, double = v
        return self.put(f"fcmp une double {name}, 0.0" if double else f"icmp ne i64 {name}, 0")

    def give_up_unless(self, fine: str) -> None:
        """Where the code cannot tell, the condition may hold."""
        self.count += 1
        self.exact = False
        self.lines.append(f"  br i1 {fine}, label %go{self.count}, label %maybe\ngo{self.count}:\n")

    # --- values ---
    def value(self, node: Node) -> _Value:
        match node:
            case NumberTerm(number):
                if isinstance(number, float):
                    bits = struct.pack(">d", number).hex()
                    return self.put(f"fadd double 0x{bits}, 0.0"), True
                return str(((number + (1 << 63)) & (1 << 64) - 1) - (1 << 63)), False
            case NamedRegister(name):
                return self._register(name), False
            case Variable(name):
                return self._variable(name), False
            case Load(space, address, kind):
                return self._load(space, self.whole(self.value(address)), kind)
            case Cast(kind, operand):
                return self._cast(kind, self.value(operand))
            case Unary(operator, operand):
                return self._unary(operator, self.value(operand))
            case Binary(operator, left, right):
                return self._binary(operator, self.value(left), self.value(right))

    def whole(self, v: _Value) -> str:
        name, double = v
        if not double:
            return name
        low = self.put(f"fcmp ogt double {name}, -{_LARGEST}")
        high = self.put(f"fcmp olt double {name}, {_LARGEST}")
        self.give_up_unless(self.put(f"and i1 {low}, {high}"))
        return self.put(f"fptosi double {name} to i64")

    def _at(self, offset: int, ty: str = "i32", lane: bool = False) -> str:
        p = self.put(f"getelementptr i8, ptr %ws, i64 {offset}")
        if lane:
            p = self.put(f"getelementptr i8, ptr {p}, i64 %lane4")
        v = self.put(f"load {ty}, ptr {p}")
        return v if ty == "i64" else self.put(f"zext {ty} {v} to i64")

    def _slot(self, name: str, ty: str = "i64") -> str:
        p = self.put(f"getelementptr i8, ptr %ctx, i64 {SLOT[name]}")
        return self.put(f"load {ty}, ptr {p}")

    def _register(self, name: str) -> str:
        m = re.fullmatch(r"\$(r|a|c)(\d+)(?:\.([zsco]))?", name)
        if m is None:
            raise _NoCode
        file, n = m[1], int(m[2])
        if file == "c" and n < 4:
            bits = [_FLAGS.index(m[3])] if m[3] else range(4)
            total = "0"
            for bit in bits:
                mask = self._at(state_layout.flag(n, bit))
                one = self.put(f"and i64 {self.put(f'lshr i64 {mask}, %lane64')}, 1")
                total = self.put(f"or i64 {total}, {self.put(f'shl i64 {one}, {0 if m[3] else bit}')}")
            return total
        if m[3] or (file == "r" and n >= self.launch.code.registers) or (file == "a" and n >= 8) or file == "c":
            raise _NoCode
        return self._at(state_layout.register(n) if file == "r" else state_layout.address(n), lane=True)

    def _variable(self, name: str) -> str:
        x, y, _ = self.launch.block
        number = lambda: self._at(state_layout.NUMBER)  # noqa: E731
        match name:
            case "lane":
                return "%lane64"
            case "warp":
                return number()
            case "tid" | "tid.x" | "tid.y" | "tid.z":
                tid = self.put(f"add i64 {self.put(f'mul i64 {number()}, 32')}, %lane64")
                if name == "tid":
                    return tid
                by = {"tid.x": 1, "tid.y": x, "tid.z": x * y}[name]
                part = self.put(f"udiv i64 {tid}, {by}")
                return part if name == "tid.z" else self.put(f"urem i64 {part}, {x if name == 'tid.x' else y}")
            case "block" | "block.x" | "block.y":
                base = self._slot("shared", "ptr")
                parts = [self._short(base, 12), self._short(base, 14)]
                if name != "block":
                    return parts[name == "block.y"]
                return self.put(f"add i64 {parts[0]}, {self.put(f'mul i64 {parts[1]}, {self.launch.grid[0]}')}")
            case "pc":
                raise _NoCode
            case "active":
                return self._at(state_layout.ACTIVE)
            case "instructions":
                return self._instructions()
            case _:
                raise _NoCode

    def _short(self, base: str, offset: int) -> str:
        p = self.put(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self.put(f"zext i16 {self.put(f'load i16, ptr {p}')} to i64")

    def _instructions(self) -> str:
        """What threads have executed so far, of blocks that have ended and of the resident one."""
        total = self.put("load i64, ptr @instructions_before")
        total = self.put(f"add i64 {total}, {self._slot('thread_count')}")
        state, size = self._slot("state", "ptr"), self._slot("state_bytes")
        for w in range(self.launch.warps):
            p = self.put(f"getelementptr i8, ptr {state}, i64 {self.put(f'mul i64 {size}, {w}')}")
            p = self.put(f"getelementptr i8, ptr {p}, i64 {state_layout.THREADS}")
            total = self.put(f"add i64 {total}, {self.put(f'load i64, ptr {p}')}")
        return total

    def _load(self, space: str, address: str, kind: str) -> _Value:
        size = TYPES[kind][0]
        address = self.put(f"and i64 {address}, {0xFF_FFFF_FFFF}")
        end = self.put(f"add i64 {address}, {size}")
        if space == "s":
            self.give_up_unless(self.put(f"icmp ule i64 {end}, {self._slot('shared_limit')}"))
            base = self._slot("shared", "ptr")
        elif re.fullmatch(r"g(\d|1[0-5])", space):
            self.give_up_unless(self.put(f"icmp ule i64 {end}, {self._slot(f'{space}_size')}"))
            address = self.put(f"add i64 {address}, {self._slot(f'{space}_base')}")
            end = self.put(f"add i64 {address}, {size}")
            self.give_up_unless(self.put(f"icmp ule i64 {end}, {self.put('load i64, ptr @memory_bytes')}"))
            base = self._slot("memory", "ptr")
        else:
            raise _NoCode
        p = self.put(f"getelementptr i8, ptr {base}, i64 {address}")
        bits = self.put(f"load i{8 * size}, ptr {p}, align 1")
        return self._as(kind, bits)

    def _as(self, kind: str, bits: str) -> _Value:
        """`bits` is an integer of the type's size."""
        size, letter = TYPES[kind]
        if letter in "ef":
            if letter == "e":
                raise _NoCode
            self._no_denormal(bits, "i32", 0x7F80_0000, 0x7FFF_FFFF)
            return self.put(f"fpext float {self.put(f'bitcast i32 {bits} to float')} to double"), True
        if letter == "d":
            self._no_denormal(bits, "i64", 0x7FF << 52, (1 << 63) - 1)
            return self.put(f"bitcast i64 {bits} to double"), True
        if size == 8:
            return bits, False
        return self.put(f"{'sext' if kind[0] == 's' else 'zext'} i{8 * size} {bits} to i64"), False

    def _no_denormal(self, bits: str, ty: str, exponent: int, rest: int) -> None:
        some = self.put(f"icmp ne {ty} {self.put(f'and {ty} {bits}, {exponent}')}, 0")
        zero = self.put(f"icmp eq {ty} {self.put(f'and {ty} {bits}, {rest}')}, 0")
        self.give_up_unless(self.put(f"or i1 {some}, {zero}"))

    def _cast(self, kind: str, v: _Value) -> _Value:
        size, letter = TYPES[kind]
        if v[1] and letter in "efd":
            return v
        name = self.whole(v)
        return self._as(kind, name if size == 8 else self.put(f"trunc i64 {name} to i{8 * size}"))

    def _unary(self, operator: str, v: _Value) -> _Value:
        if operator == "!":
            return self.put(f"zext i1 {self.put(f'xor i1 {self.truth(v)}, true')} to i64"), False
        if operator == "~":
            return self.put(f"xor i64 {self.whole(v)}, -1"), False
        return (self.put(f"fneg double {v[0]}"), True) if v[1] else (self.put(f"sub i64 0, {v[0]}"), False)

    def _double(self, v: _Value) -> str:
        return v[0] if v[1] else self.put(f"sitofp i64 {v[0]} to double")

    def _binary(self, operator: str, a: _Value, b: _Value) -> _Value:
        if operator in ("&&", "||"):
            what = "and" if operator == "&&" else "or"
            return self.put(f"zext i1 {self.put(f'{what} i1 {self.truth(a)}, {self.truth(b)}')} to i64"), False
        if operator in ("&", "|", "^", "<<", ">>"):
            return self._bits(operator, self.whole(a), self.whole(b)), False
        double = a[1] or b[1]
        if operator in _COMPARED:
            whole, real = _COMPARED[operator]
            if double:
                test = self.put(f"fcmp {real} double {self._double(a)}, {self._double(b)}")
            else:
                test = self.put(f"icmp {whole} i64 {a[0]}, {b[0]}")
            return self.put(f"zext i1 {test} to i64"), False
        if operator in _ARITHMETIC:
            whole, real = _ARITHMETIC[operator]
            if double:
                return self.put(f"{real} double {self._double(a)}, {self._double(b)}"), True
            return self.put(f"{whole} i64 {a[0]}, {b[0]}"), False
        return self._divided(operator, a, b, double)

    def _bits(self, operator: str, a: str, b: str) -> str:
        if operator in "&|^":
            return self.put(f"{ {'&': 'and', '|': 'or', '^': 'xor'}[operator] } i64 {a}, {b}")
        fits = self.put(f"icmp ult i64 {b}, 64")
        by = self.put(f"select i1 {fits}, i64 {b}, i64 0")
        moved = self.put(f"{'shl' if operator == '<<' else 'lshr'} i64 {a}, {by}")
        return self.put(f"select i1 {fits}, i64 {moved}, i64 0")

    def _divided(self, operator: str, a: _Value, b: _Value, double: bool) -> _Value:
        if double:
            if operator == "%":
                raise _NoCode
            by = self._double(b)
            zero = self.put(f"fcmp oeq double {by}, 0.0")
            q = self.put(f"fdiv double {self._double(a)}, {by}")
            return self.put(f"select i1 {zero}, double 0.0, double {q}"), True
        # -2**63 / -1 has no answer of 64 bits on the host
        odd = self.put(f"or i1 {self.put(f'icmp eq i64 {b[0]}, 0')}, {self.put(f'icmp eq i64 {b[0]}, -1')}")
        by = self.put(f"select i1 {odd}, i64 1, i64 {b[0]}")
        q = self.put(f"{'sdiv' if operator == '/' else 'srem'} i64 {a[0]}, {by}")
        one = self.put(f"sub i64 0, {a[0]}") if operator == "/" else "0"
        zero = self.put(f"icmp eq i64 {b[0]}, 0")
        special = self.put(f"select i1 {zero}, i64 0, i64 {one}")
        return self.put(f"select i1 {odd}, i64 {special}, i64 {q}"), False


__all__ = ["DECLARATIONS", "CompiledCondition", "condition"]
