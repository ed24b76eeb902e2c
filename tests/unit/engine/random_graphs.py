"""Random graphs over every operation and awkward widths, and the slow obvious way to evaluate one."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from isakit.sem.operation import operation
from isakit.sem.value import INTEGER_MEANING, Table, Value, const, mask, param

WIDTHS = (1, 2, 5, 8, 16, 17, 31, 32, 33, 40, 63, 64, 65, 100, 128)
TABLES = [
    Table("bytes", tuple((i * 37 + 11) & 0xFF for i in range(10)), 8),
    Table("bits", (1, 0, 1), 1),
    Table("words", tuple(i * 0x9E3779B97F4A7C15 & mask(64) for i in range(16)), 64),
    Table("huge", (mask(100), 5, 1 << 99), 100),
]


@operation
def mixed(a: Value, b: Value, *, turn: int) -> Value:
    """Some definition with statics, a nested choice and an intermediate of more bits."""
    wide = a.zext(a.width + 7) * b.resize(a.width + 7)
    return (wide >> turn).trunc(a.width) ^ a


@operation
def first_only(a: Value, b: Value) -> Value:
    """A definition that ignores an argument."""
    return a + 3


def interpret(value: Value, bindings: Mapping[Any, int], memo: dict[int, int] | None = None) -> int:
    """The value of a graph by its definition; `bindings` by the name of the param."""
    memo = {} if memo is None else memo
    if id(value) not in memo:
        args = [interpret(a, bindings, memo) for a in value.args]
        if value.op == "const":
            result = value.attr
        elif value.op == "param":
            result = bindings[value.attr]
        elif value.op == "call":
            op, statics = value.attr
            body = op.definition(*[const(x, a.width) for x, a in zip(args, value.args, strict=True)], **dict(statics))
            result = body.number
        else:
            result = INTEGER_MEANING[value.op](value.width, [a.width for a in value.args], value.attr, args)
        memo[id(value)] = result
    return memo[id(value)]


def awkward(rng: random.Random, width: int) -> int:
    """A number of `width` bits, often at an edge."""
    choice = rng.randrange(8)
    edges = [0, 1, mask(width), 1 << (width - 1), mask(width - 1), rng.randrange(70)]
    return edges[choice] & mask(width) if choice < len(edges) else rng.getrandbits(width)


class GraphMaker:
    """Builds random values; raw nodes, so that nothing folds while building."""

    def __init__(self, rng: random.Random, leaves: Sequence[Value], widths: Sequence[int] = WIDTHS) -> None:
        self.rng, self.widths = rng, widths
        self.pool: dict[int, list[Value]] = {w: [] for w in widths}
        for leaf in leaves:
            self.pool[leaf.width].append(leaf)

    def pick(self, width: int) -> Value:
        """A value of this width that exists, or a constant."""
        options = self.pool.setdefault(width, [])
        if not options or self.rng.random() < 0.1:
            return const(awkward(self.rng, width), width)
        return self.rng.choice(options[-6:])

    def grow(self) -> Value:
        """One more node."""
        rng, width = self.rng, self.rng.choice(self.widths)
        op = rng.choice([*INTEGER_MEANING, "call", "call", "add", "sub"])
        node = self._node(op, width)
        self.pool.setdefault(node.width, []).append(node)
        return node

    def _node(self, op: str, width: int) -> Value:
        rng, pick = self.rng, self.pick
        wider = [w for w in self.widths if w > width]
        narrower = [w for w in self.widths if w < width]
        match op:
            case "shl" | "lshr" | "ashr":
                return Value(op, width, (pick(width), pick(rng.choice(self.widths))))
            case "eq" | "ult" | "slt":
                return Value(op, 1, (pick(width), pick(width)))
            case "select":
                return Value(op, width, (pick(1), pick(width), pick(width)))
            case "zext" | "sext":
                return Value(op, width, (pick(rng.choice(narrower)),)) if narrower else pick(width)
            case "extract":
                source = rng.choice(wider) if wider else width
                return Value(
                    op, width, (pick(source),), rng.choice([0, source - width, rng.randint(0, source - width)])
                )
            case "concat":
                low = rng.choice([w for w in self.widths if w < 128])
                high = rng.choice([w for w in self.widths if w + low <= 130])
                return Value(op, high + low, (pick(high), pick(low)))
            case "not" | "clz":
                return Value(op, width, (pick(width),))
            case "table":
                table = rng.choice(TABLES)
                return Value(op, table.width, (pick(width),), table)
            case "call":
                return (
                    mixed(pick(width), pick(width), turn=rng.randrange(9))
                    if rng.random() < 0.6
                    else first_only(pick(width), pick(width))
                )
            case _:
                return Value(op, width, (pick(width), pick(width)))


def leaves(rng: random.Random, widths: Sequence[int]) -> tuple[list[Value], list[Value]]:
    """Two params of every width: lane values (`l...`) and uniform ones (`u...`)."""
    lane = [param(f"l{w}_{i}", w) for w in widths for i in (0, 1)]
    uniform = [param(f"u{w}", w) for w in widths]
    return lane, uniform
