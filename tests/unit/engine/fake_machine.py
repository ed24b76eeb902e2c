"""Small machines for engine tests: registers, one byte memory per lane, a log of what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isakit.engine import Control, Lanes
from isakit.sem.trace import Trace
from isakit.sem.value import INTEGER_MEANING, Value, const

MEMORY = 256


class ScalarMachine:
    """One lane in plain ints."""

    def __init__(self, files: Mapping[str, list[int]], memory: bytearray, lane: int = 0) -> None:
        self.files, self.memory, self.lane = files, memory, lane
        self.log: list[Any] = []

    def load(self, space: str, address: int, size: int, attrs: Mapping[str, Any], lanes: Any) -> int:
        self.log.append(("load", space, address, size, attrs))
        at = address % (MEMORY - 16)
        return int.from_bytes(self.memory[at : at + size], "little")

    def store(self, space: str, address: int, value: int, size: int, attrs: Mapping[str, Any], lanes: Any) -> None:
        self.log.append(("store", space, address, value, size, attrs))
        at = address % (MEMORY - 16)
        self.memory[at : at + size] = value.to_bytes(size, "little")

    def atomic(
        self, space: str, op: str, address: int, operands: Any, size: int, attrs: Mapping[str, Any], lanes: Any
    ) -> int:
        assert op == "add"
        old = self.load(space, address, size, attrs, lanes)
        self.store(space, address, (old + operands[0]) % (1 << 8 * size), size, attrs, lanes)
        return old

    def machine(self, name: str, args: Any, attrs: Mapping[str, Any], lanes: Any) -> int:
        return {"lane": self.lane, "clock": 1234, "twice": args and args[0] * 2 & 0xFFFF_FFFF}[name]

    def trap(self, kind: str, lanes_mask: Any) -> None:
        self.log.append(("trap", kind, lanes_mask))

    def delayed_write(self, file: str, index: int, value: int, attrs: Mapping[str, Any]) -> None:
        self.log.append(("delayed", file, index, value, attrs))


class LaneMachine:
    """Many lanes, by looping over them: slow and obviously right."""

    def __init__(self, files: Mapping[str, np.ndarray], memory: list[bytearray]) -> None:
        self.files, self.memory = files, memory
        self.log: list[Any] = []
        self.traps: list[Any] = []

    def load(self, space: str, address: Any, size: int, attrs: Mapping[str, Any], lanes: Lanes) -> Any:
        assert address.shape == (lanes.count,)
        self.log.append(("load", space))
        out = [0] * lanes.count
        for i, (lane, on) in enumerate(zip(lanes.numbers, lanes.mask, strict=True)):
            if on:
                at = int(address[i]) % (MEMORY - 16)
                out[i] = int.from_bytes(self.memory[lane][at : at + size], "little")
        if size == 16:
            return tuple(np.array([v >> s & (1 << 64) - 1 for v in out], np.uint64) for s in (0, 64))
        return np.array(out, {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[size])

    def store(self, space: str, address: Any, value: Any, size: int, attrs: Mapping[str, Any], lanes: Lanes) -> None:
        assert address.shape == (lanes.count,)
        self.log.append(("store", space))
        for i, (lane, on) in enumerate(zip(lanes.numbers, lanes.mask, strict=True)):
            if on:
                at = int(address[i]) % (MEMORY - 16)
                v = int(value[0][i]) | int(value[1][i]) << 64 if size == 16 else int(value[i])
                self.memory[lane][at : at + size] = v.to_bytes(size, "little")

    def atomic(
        self, space: str, op: str, address: Any, operands: Any, size: int, attrs: Mapping[str, Any], lanes: Lanes
    ) -> Any:
        assert op == "add"
        old = self.load(space, address, size, attrs, lanes)
        self.store(space, address, old + operands[0], size, attrs, lanes)
        return old

    def machine(self, name: str, args: Any, attrs: Mapping[str, Any], lanes: Lanes) -> Any:
        if name == "clock":
            return 1234
        if name == "lane":
            return lanes.numbers
        return args[0] * 2 & 0xFFFF_FFFF if isinstance(args[0], int) else args[0] << 1

    def trap(self, kind: str, lanes_mask: Any) -> None:
        assert lanes_mask.any()
        self.traps.append((kind, lanes_mask.tolist()))


def step(trace: Trace, state: ScalarMachine, params: Mapping[Any, int]) -> list[Control]:
    """One instruction on one lane, straight from the documentation of the trace language."""
    memo: dict[int, int] = {}
    before = {name: list(file) for name, file in state.files.items()}

    def value(v: Value) -> int:
        if id(v) not in memo:
            args = [value(a) for a in v.args]
            match v.op:
                case "const":
                    memo[id(v)] = v.attr
                case "param":
                    memo[id(v)] = params[v.attr]
                case "read":
                    file = before[v.attr]
                    memo[id(v)] = file[args[0]] if args[0] < len(file) else 0
                case "machine":
                    memo[id(v)] = state.machine(v.attr[0], args, dict(v.attr[1]), None) & (1 << v.width) - 1
                case "call":
                    op, statics = v.attr
                    formals = [const(x, a.width) for x, a in zip(args, v.args, strict=True)]
                    memo[id(v)] = op.definition(*formals, **dict(statics)).number
                case _:
                    memo[id(v)] = INTEGER_MEANING[v.op](v.width, [a.width for a in v.args], v.attr, args)
        return memo[id(v)]

    controls: list[Control] = []
    for e in trace.effects:
        runs = e.when is None or value(e.when)
        args = [value(a) for a in e.args]
        if e.kind == "control":
            controls.append(Control(e.name, tuple(args), dict(e.attr)))
        elif e.kind == "trap" and runs:
            state.trap(e.name, True)
        elif e.kind == "store" and runs:
            state.store(e.name, args[0], args[1], e.get("size"), dict(e.attr), None)
        elif e.kind in {"load", "atomic"}:
            assert e.result is not None
            memo[id(e.result)] = 0
            if runs and e.kind == "load":
                memo[id(e.result)] = state.load(e.name, args[0], e.get("size"), dict(e.attr), None)
            elif runs:
                memo[id(e.result)] = state.atomic(
                    e.name, e.get("op"), args[0], args[1:], e.get("size"), dict(e.attr), None
                )
    for e in trace.of_kind("write"):
        file = state.files[e.name]
        if (e.when is None or value(e.when)) and value(e.args[0]) < len(file):
            file[value(e.args[0])] = value(e.args[1])
    return controls
