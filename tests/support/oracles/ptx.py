"""A small interpreter of PTX 1.0, one thread at a time: what a kernel's source says, independent of its machine code.

Registers hold raw bits. Memories are bytearrays; variables of .shared and .const are placed in order of declaration.
Floats are computed in double precision and rounded to single, which is exact for one addition or multiplication.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_SIZE = {"8": 1, "16": 2, "32": 4, "64": 8}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


class Unsupported(Exception):
    """Something this interpreter does not know."""


@dataclass
class Instruction:
    guard: str
    name: str
    mods: list[str]
    operands: list[str]


@dataclass
class Kernel:
    """A parsed entry: parameters (name, type, offset), instructions, labels, variables (name -> (space, address))."""

    name: str
    params: dict[str, tuple[str, int]] = field(default_factory=dict)
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    variables: dict[str, tuple[str, int]] = field(default_factory=dict)
    const: bytearray = field(default_factory=bytearray)
    sizes: dict[str, int] = field(default_factory=lambda: {"shared": 0, "local": 0})
    types: dict[str, str] = field(default_factory=dict)

    @property
    def param_bytes(self) -> int:
        return max((o + size_of(t) for t, o in self.params.values()), default=0)


def size_of(kind: str) -> int:
    """Bytes of a type like u32."""
    return _SIZE[kind[1:]]


def parse(text: str) -> Kernel:
    """The first entry of a PTX text."""
    text = re.sub(r"/\*.*?\*/", " ", re.sub(r"//[^\n]*", "", text), flags=re.S)
    text = re.sub(r"(?m)^\s*\.(version|target|file|loc)[^\n]*", "", text)
    head = re.search(r"\.entry\s+(\S+)\s*\{", text)
    if head is None:
        raise Unsupported("no entry")
    kernel = Kernel(head.group(1))
    body = text[: head.start()] + text[head.end() : text.rindex("}")]
    body = re.sub(r"(?m)^\s*([$\w]+):", r";LABEL \1;", body)
    offset = 0
    for statement in (s.strip() for s in body.split(";")):
        if statement.startswith("LABEL "):
            kernel.labels[statement.split()[1]] = len(kernel.body)
        elif statement.startswith(".param"):
            kind, name = statement.split()[-2:]
            size = size_of(kind[1:])
            offset = -(-offset // size) * size
            kernel.params[name] = kind[1:], offset
            offset += size
        elif statement.startswith(".reg"):
            kind, names = statement[4:].split(None, 1)
            kernel.types |= dict.fromkeys((n.strip() for n in names.split(",")), kind[1:])
        elif statement.startswith("."):
            _variable(kernel, statement)
        elif statement:
            kernel.body.append(_instruction(statement))
    return kernel


def _variable(kernel: Kernel, statement: str) -> None:
    m = re.match(
        r"(?:\.extern\s+|\.global\s+)*\.(shared|local|const|global|tex|sreg)\s+(?:\.align\s+(\d+)\s+)?"
        r"\.([a-z]\d+)\s+([$\w]+)(\[\d*\])?\s*(?:=\s*(.*))?$",
        statement,
        re.S,
    )
    if m is None or m.group(1) in ("global", "tex", "sreg"):
        raise Unsupported(statement)
    space, align, kind, name, count, init = m.groups()
    size = size_of(kind)
    total = size * (int(count[1:-1] or 0) if count else 1)
    if space == "const":
        values = [int(v, 0) for v in re.findall(r"-?\w+", init or "")]
        at = -(-len(kernel.const) // size) * size
        data = b"".join((v & ((1 << 8 * size) - 1)).to_bytes(size, "little") for v in values).ljust(total, b"\0")
        kernel.const = kernel.const.ljust(at, b"\0") + data
    else:
        step = max(size, int(align or 1))
        at = -(-kernel.sizes[space] // step) * step
        kernel.sizes[space] = at + total
    kernel.variables[name] = space, at


def _instruction(statement: str) -> Instruction:
    m = re.match(r"(?:@(!?\S+)\s+)?(\S+)\s*(.*)$", statement, re.S)
    assert m is not None
    name, *mods = m.group(2).split(".")
    operands = re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", m.group(3))
    return Instruction(m.group(1) or "", name, mods, operands)


def f32(bits: int) -> float:
    return struct.unpack("<f", (bits & 0xFFFF_FFFF).to_bytes(4, "little"))[0]


def f32_bits(value: float) -> int:
    """Nearest single; denormals become zero."""
    if math.isnan(value):
        return 0x7FFF_FFFF
    try:
        bits = int.from_bytes(struct.pack("<f", value), "little")
    except OverflowError:
        bits = 0x7F80_0000 | (value < 0) << 31
    return bits if bits & 0x7F80_0000 else bits & 0x8000_0000


class Thread:
    """Runs one thread of a kernel on the given memories."""

    def __init__(
        self, kernel: Kernel, params: bytes, memories: Mapping[str, bytearray], special: Mapping[str, int]
    ) -> None:
        self.kernel, self.params, self.special = kernel, params, special
        self.memories = {**memories, "const": kernel.const, "param": bytearray(params)}
        self.registers: dict[str, int] = {}

    def run(self, bound: int = 100_000) -> None:
        pc = 0
        for _ in range(bound):
            if pc >= len(self.kernel.body):
                return
            i = self.kernel.body[pc]
            pc += 1
            if i.guard and bool(self.registers.get(i.guard.lstrip("!"), 0)) == i.guard.startswith("!"):
                continue
            if i.name in ("exit", "ret"):
                return
            if i.name == "bra":
                pc = self.kernel.labels[i.operands[0]]
            elif i.name != "bar":
                self.execute(i)
        raise Unsupported("runs too long")

    # --- operands ---
    def read(self, operand: str, kind: str) -> float:
        """The value of an operand, read as a type."""
        if re.fullmatch(r"-?\d+|0x[0-9a-fA-F]+", operand):
            bits = int(operand, 0)
        elif re.fullmatch(r"0f[0-9a-fA-F]{8}", operand):
            bits = int(operand[2:], 16)
        elif kind.startswith("f") and re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", operand):
            bits = f32_bits(float(operand))
        elif operand in self.kernel.variables:
            bits = self.kernel.variables[operand][1]
        elif operand.startswith("%"):
            bits = self.special.get(operand[1:], 0)
        else:
            bits = self.registers.get(operand, 0)
        if kind == "pred":
            return bits & 1
        width = int(kind[1:])
        bits &= (1 << width) - 1
        if kind.startswith("f"):
            return f32(bits if bits & 0x7F80_0000 else bits & 0x8000_0000)
        return bits - (1 << width) if kind.startswith("s") and bits >> (width - 1) else bits

    def write(self, operand: str, value: float, kind: str) -> None:
        if kind.startswith("f"):
            self.registers[operand] = f32_bits(value)
            return
        # A register may be wider than the instruction's type: s8 and s16 values are extended into it.
        declared = self.kernel.types.get(operand, kind)
        width = 1 if declared == "pred" else max(int(declared[1:]), int(kind[1:]) if kind != "pred" else 1)
        self.registers[operand] = int(value) & ((1 << width) - 1)

    def place(self, operand: str, space: str) -> tuple[bytearray, int]:
        m = re.fullmatch(r"\[\s*([$\w%]+)\s*(?:\+\s*(-?\d+))?\s*\]", operand)
        if m is None:
            raise Unsupported(operand)
        base, offset = m.group(1), int(m.group(2) or 0)
        if space == "param":
            return self.memories[space], self.kernel.params[base][1] + offset
        return self.memories[space], int(self.read(base, "u64")) + offset

    # --- instructions ---
    def execute(self, i: Instruction) -> None:
        kind = i.mods[-1] if i.mods else "b32"
        if i.name in ("ld", "st"):
            self._memory(i, kind)
            return
        d = i.operands[0]
        if i.name == "cvt":
            self._convert(i)
            return
        if i.name in ("setp", "set"):
            a, b = (self.read(o, kind) for o in i.operands[1:3])
            holds = _COMPARE[i.mods[0]](a, b)
            self.write(d, holds if i.name == "setp" else -int(holds), "pred" if i.name == "setp" else i.mods[-2])
            return
        if i.name == "selp":
            self.write(d, self.read(i.operands[1 if self.read(i.operands[3], "pred") else 2], kind), kind)
            return
        if i.name == "shr" or i.name == "shl":
            a, n = int(self.read(i.operands[1], kind)), int(self.read(i.operands[2], "u32"))
            self.write(d, a << min(n, 64) if i.name == "shl" else a >> n, kind)
            return
        operands = [self.read(o, kind) for o in i.operands[1:]]
        result = (
            self._float(i, operands) if kind.startswith("f") else self._integer(i, kind, [int(o) for o in operands])
        )
        self.write(d, result, kind)

    def _memory(self, i: Instruction, kind: str) -> None:
        space, size = i.mods[0], size_of(kind)
        outer, inner = (i.operands[1], i.operands[0]) if i.name == "ld" else (i.operands[0], i.operands[1])
        memory, at = self.place(outer, space)
        names = [n.strip() for n in inner.strip("{}").split(",")]
        if at < 0 or at + size * len(names) > len(memory):
            raise Unsupported(f"{space} access at {at:#x}")
        for k, name in enumerate(names):
            here = slice(at + k * size, at + (k + 1) * size)
            if i.name == "ld":
                value = int.from_bytes(memory[here], "little", signed=kind.startswith("s"))
                if kind.startswith("f"):
                    self.registers[name] = value
                else:
                    self.write(name, value, kind)
            else:
                bits = self.registers.get(name) if name in self.registers else None
                value = bits if bits is not None else int(self.read(name, kind.replace("f", "b")))
                memory[here] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def _convert(self, i: Instruction) -> None:
        target, source = i.mods[-2], i.mods[-1]
        value = self.read(i.operands[1], source)
        if source.startswith("f") and not target.startswith("f"):
            rounding = {"rzi": math.trunc, "rni": round, "rmi": math.floor, "rpi": math.ceil}[i.mods[0]]
            low, high = (-(1 << 31), (1 << 31) - 1) if target.startswith("s") else (0, (1 << 32) - 1)
            value = min(max(rounding(value), low), high)
        elif source.startswith("f"):
            rounding = next((r for r in i.mods if r in ("rzi", "rni", "rmi", "rpi")), "")
            if rounding:
                value = {"rzi": math.trunc, "rni": round, "rmi": math.floor, "rpi": math.ceil}[rounding](value)
            if "sat" in i.mods:
                value = min(max(value, 0.0), 1.0)
        elif not target.startswith("f"):
            value = int(value) & ((1 << int(target[1:])) - 1)
            if target.startswith("s") and value >> (int(target[1:]) - 1):
                value -= 1 << int(target[1:])
        self.write(i.operands[0], value, target)

    def _integer(self, i: Instruction, kind: str, x: list[int]) -> int:
        width = 1 if kind == "pred" else int(kind[1:])
        mods = i.mods[:-1]
        match i.name:
            case "mov":
                return x[0]
            case "add":
                return x[0] + x[1]
            case "sub":
                return x[0] - x[1]
            case "mul" | "mad":
                product = x[0] * x[1]
                product = product >> width if "hi" in mods else product
                return product + (x[2] if i.name == "mad" else 0)
            case "mul24" | "mad24":
                a, b = (self._low24(v, kind) for v in x[:2])
                product = a * b >> 16 if "hi" in mods else a * b
                return product + (x[2] if i.name == "mad24" else 0)
            case "div":
                return (abs(x[0]) // abs(x[1])) * (-1 if (x[0] < 0) != (x[1] < 0) else 1) if x[1] else -1
            case "rem":
                return int(math.fmod(x[0], x[1])) if x[1] else -1
            case "min" | "max":
                return (min if i.name == "min" else max)(x[0], x[1])
            case "and":
                return x[0] & x[1]
            case "or":
                return x[0] | x[1]
            case "xor":
                return x[0] ^ x[1]
            case "not":
                return ~x[0]
            case "cnot":
                return int(x[0] == 0)
            case "neg":
                return -x[0]
            case "abs":
                return abs(x[0])
            case "sad":
                return abs(x[0] - x[1]) + x[2]
            case _:
                raise Unsupported(i.name)

    @staticmethod
    def _low24(v: int, kind: str) -> int:
        v &= 0xFFFFFF
        return v - (1 << 24) if kind.startswith("s") and v >> 23 else v

    def _float(self, i: Instruction, x: list[float]) -> float:
        def quotient(a: float, b: float) -> float:
            return a / b if b else math.copysign(math.inf, a) if a else math.nan

        match i.name:
            case "mov":
                value = x[0]
            case "add":
                value = x[0] + x[1]
            case "sub":
                value = x[0] - x[1]
            case "mul":
                value = x[0] * x[1]
            case "mad":
                value = x[0] * x[1] + x[2]
            case "div":
                value = quotient(x[0], x[1])
            case "min" | "max":
                value = (min if i.name == "min" else max)(x[0], x[1])
            case "neg" | "abs":
                value = -x[0] if i.name == "neg" else abs(x[0])
            case "rcp":
                value = quotient(1.0, x[0])
            case "sqrt" | "rsqrt":
                root = math.sqrt(x[0]) if x[0] >= 0 else math.nan
                value = root if i.name == "sqrt" else quotient(1.0, root)
            case "sin" | "cos":
                value = math.sin(x[0]) if i.name == "sin" else math.cos(x[0])
            case "ex2":
                value = 2.0 ** x[0]
            case "lg2":
                value = math.log2(x[0]) if x[0] > 0 else math.nan
            case "frc":
                value = x[0] - math.floor(x[0])
            case _:
                raise Unsupported(i.name)
        return min(max(value, 0.0), 1.0) if "sat" in i.mods else value
