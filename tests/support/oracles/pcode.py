"""P-code executed: what the package `pypcode` translates, on registers and memories that are dictionaries of bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def signed(value: int, size: int) -> int:
    return value - (1 << 8 * size) if value >> 8 * size - 1 else value


class PcodeMachine:
    """Registers and memories as bytes."""

    def __init__(self) -> None:
        self.spaces: dict[str, dict[int, int]] = {}

    def user(self, name: str, args: list[int], size: int) -> int:
        """The result of a user-defined operation."""
        raise NotImplementedError(name)

    def byte(self, space: str, offset: int) -> int:
        """What a byte holds that was never written."""
        return 0

    def unit(self, space: str) -> int:
        """Bytes for which one address of a memory stands."""
        return 1

    def get(self, space: str, offset: int, size: int) -> int:
        cells = self.spaces.setdefault(space, {})
        return sum((cells[k] if k in cells else self.byte(space, k)) << 8 * (k - offset)
                   for k in range(offset, offset + size))  # fmt: skip

    def put(self, space: str, offset: int, size: int, value: int) -> None:
        cells = self.spaces.setdefault(space, {})
        for k in range(size):
            cells[offset + k] = value >> 8 * k & 255

    def value(self, v: Any) -> int:
        if v.space.name == "const":
            return v.offset & (1 << 8 * v.size) - 1
        return self.get(v.space.name, v.offset, v.size)

    def run(self, ops: list[Any]) -> int | None:
        """Execute the operations of one instruction; where it goes, None for the instruction after it."""
        at = 0
        while at < len(ops):
            op = ops[at]
            kind = op.opcode.name
            at += 1
            if kind == "IMARK":
                continue
            if kind in ("BRANCH", "CBRANCH", "CALL"):
                if kind == "CBRANCH" and not self.value(op.inputs[1]):
                    continue
                target = op.inputs[0]
                if target.space.name == "const":
                    at += signed(target.offset & (1 << 8 * target.size) - 1, target.size) - 1
                    continue
                return target.offset // self.unit(target.space.name)
            if kind in ("RETURN", "BRANCHIND", "CALLIND"):
                return self.value(op.inputs[0])
            if kind == "CALLOTHER":
                args = [self.value(i) for i in op.inputs[1:]]
                size = op.output.size if op.output is not None else 0
                result = self.user(op.inputs[0].getUserDefinedOpName(), args, size)
            elif kind == "LOAD":
                space = op.inputs[0].getSpaceFromConst()
                result = self.get(space.name, self.value(op.inputs[1]) * self.unit(space.name), op.output.size)
            elif kind == "STORE":
                space = op.inputs[0].getSpaceFromConst()
                place = self.value(op.inputs[1]) * self.unit(space.name)
                self.put(space.name, place, op.inputs[2].size, self.value(op.inputs[2]))
                continue
            else:
                result = self.compute(kind, op)
            if op.output is not None:
                self.put(op.output.space.name, op.output.offset, op.output.size, result)
        return None

    def compute(self, kind: str, op: Any) -> int:
        x = [self.value(i) for i in op.inputs]
        s = [i.size for i in op.inputs]
        size = op.output.size
        mask = (1 << 8 * size) - 1
        operations: dict[str, Callable[[], int]] = {
            "COPY": lambda: x[0], "INT_ADD": lambda: x[0] + x[1], "INT_SUB": lambda: x[0] - x[1],
            "INT_MULT": lambda: x[0] * x[1], "INT_AND": lambda: x[0] & x[1], "INT_OR": lambda: x[0] | x[1],
            "INT_XOR": lambda: x[0] ^ x[1], "INT_NEGATE": lambda: ~x[0], "INT_2COMP": lambda: -x[0],
            "INT_DIV": lambda: x[0] // x[1], "INT_LEFT": lambda: x[0] << x[1] if x[1] < 8 * size else 0,
            "INT_RIGHT": lambda: x[0] >> x[1], "INT_SRIGHT": lambda: signed(x[0], s[0]) >> min(x[1], 8 * s[0]),
            "INT_EQUAL": lambda: int(x[0] == x[1]), "INT_NOTEQUAL": lambda: int(x[0] != x[1]),
            "INT_LESS": lambda: int(x[0] < x[1]), "INT_LESSEQUAL": lambda: int(x[0] <= x[1]),
            "INT_SLESS": lambda: int(signed(x[0], s[0]) < signed(x[1], s[1])), "INT_ZEXT": lambda: x[0],
            "INT_SEXT": lambda: signed(x[0], s[0]), "SUBPIECE": lambda: x[0] >> 8 * x[1],
            "BOOL_NEGATE": lambda: int(not x[0]), "BOOL_AND": lambda: x[0] & x[1], "BOOL_OR": lambda: x[0] | x[1],
            "BOOL_XOR": lambda: x[0] ^ x[1], "LZCOUNT": lambda: 8 * s[0] - x[0].bit_length(),
            "POPCOUNT": lambda: x[0].bit_count(),
        }  # fmt: skip
        return operations[kind]() & mask
