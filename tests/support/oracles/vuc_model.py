"""What single vµc instructions compute, in plain integers, straight from the word's bits.

Written from the documents without the package: fields are cut out of the word here, results are Python arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, field


def s16(v: int) -> int:
    return v - 0x10000 if v & 0x8000 else v


def bits(word: int, low: int, count: int) -> int:
    return (word >> low) & ((1 << count) - 1)


@dataclass
class State:
    """Registers an instruction may touch. `sr` holds only the special registers a test uses."""

    r: list[int] = field(default_factory=lambda: [0] * 16)
    p: list[int] = field(default_factory=lambda: [0, 1] + [0] * 13 + [1])
    sr: dict[int, int] = field(default_factory=dict)
    acc: int = 0

    def copy(self) -> State:
        return State(self.r[:], self.p[:], dict(self.sr), self.acc)


def set_r(s: State, n: int, v: int) -> None:
    if n:
        s.r[n] = v & 0xFFFF


def set_p(s: State, n: int, v: int) -> None:
    if n not in (1, 15):
        s.p[n] = v & 1
        if n == 0:
            s.p[1] = 1 - s.p[0]


BINARY, UNARY, SET, SELECT, MOVE = "binary", "unary", "set", "select", "move"
SHAPES = {
    0x00: SELECT, 0x01: MOVE, 0x04: BINARY, 0x05: BINARY, 0x06: BINARY, 0x07: BINARY, 0x08: SET, 0x09: SET, 0x0A: SET,
    0x0B: SET, 0x0C: BINARY, 0x0D: BINARY, 0x0E: BINARY, 0x0F: "0f", 0x10: BINARY, 0x11: BINARY, 0x12: SET, 0x14: UNARY,
    0x15: BINARY, 0x16: BINARY, 0x17: BINARY, 0x18: BINARY, 0x19: BINARY, 0x1A: BINARY, 0x1B: UNARY, 0x1D: BINARY,
    0x1E: BINARY,
}  # fmt: skip


def shape(op: int, variant: str) -> str | None:
    """The operand shape of a base opcode; None where the variant has none."""
    if op == 0x0F:
        return SET if variant == "vp2" else UNARY
    if variant == "vp2" and op in (0x07, 0x1D, 0x1E):
        return None
    return SHAPES.get(op)


def base_result(op: int, variant: str, a: int, b: int) -> tuple[int, int]:
    """(16-bit result, predicate output) of a base operation; the result of set operations is meaningless."""
    n = b & 15
    if op == 0x04:
        v = (a + b) % 65536
        return v, v & 1
    if op == 0x05:
        v = (a - b) % 65536
        return v, v & 1
    if op == 0x06:
        v = (b - a) % 65536 if variant == "vp2" else ((s16(a) + s16(b) + 1) // 2) % 65536
        return v, v & 1
    if op == 0x07:
        v = (a + b + 1) // 2
        return v, v & 1
    if op == 0x08:
        return 0, int(s16(a) > s16(b))
    if op == 0x09:
        return 0, int(s16(a) < s16(b))
    if op == 0x0A:
        return 0, int(a == b)
    if op == 0x0B:
        return 0, int(0 <= s16(a) <= s16(b))
    if op == 0x0C:
        v, clamped = a, 0
        if s16(a) < 0:
            v, clamped = 0, 1
        if s16(a) > s16(b):
            v, clamped = b, 1
        return v, clamped
    if op == 0x0D:
        low, high = -(2**n), 2**n - 1
        v = min(max(s16(a), low), high)
        return v % 65536, int(v != s16(a))
    if op == 0x0E:
        sign = a // 2**n % 2
        v = a % 2**n - sign * 2**n
        return v % 65536, sign
    if op == 0x0F:
        if variant == "vp2":
            return 0, int(a == 0 and b == 0)
        v = int(s16(a) / 2)  # towards zero; exact in a float
        return v % 65536, int(v < 0)
    if op == 0x10:
        v = a | 2**n
        return v, v & 1
    if op == 0x11:
        v = a - (a // 2**n % 2) * 2**n
        return v, v & 1
    if op == 0x12:
        return 0, a // 2**n % 2
    if op == 0x14:
        v = a % 256 * 256 + a // 256
        return v, v & 1
    if op == 0x15:
        v = a * 2**n
        return v % 65536, v // 65536 % 2
    if op == 0x16:
        return a // 2**n, 0 if n == 0 else a // 2 ** (n - 1) % 2
    if op == 0x17:
        return (s16(a) // 2**n) % 65536, 0 if n == 0 else s16(a) // 2 ** (n - 1) % 2
    if op == 0x18:
        return a & b, a & b & 1
    if op == 0x19:
        return a | b, (a | b) & 1
    if op == 0x1A:
        return a ^ b, (a ^ b) & 1
    if op == 0x1B:
        return 65535 - a, 1 - (a & 1)
    if op == 0x1D:
        return (b, 1) if s16(b) < s16(a) else (a, 0)
    if op == 0x1E:
        return (b, 1) if s16(b) >= s16(a) else (a, 0)
    raise ValueError(op)


def run_base(word: int, variant: str, before: State) -> State:
    """The state after a base instruction (OT != 11), everything landed."""
    s = before.copy()
    op, pom, pon = bits(word, 0, 5), bits(word, 5, 2), bits(word, 7, 1)
    src1, src2, dst = bits(word, 8, 4), bits(word, 12, 4), bits(word, 16, 4)
    pred, ext = bits(word, 20, 4), bits(word, 24, 2)
    ot0, immf, ot1, pe = bits(word, 26, 1), bits(word, 27, 1), bits(word, 28, 1), bits(word, 29, 1)
    kind = shape(op, variant)
    assert kind is not None
    assert (ot0, ot1) != (1, 1)
    if pe and not before.p[pred]:
        return s
    b = (ext * 16 + src2 if ot0 == ot1 else src2) if immf else before.r[src2]
    a = before.sr[ext * 16 + src1] if ot0 and kind is not MOVE else before.r[src1]
    if kind == SELECT:
        value = a if before.p[pred] else b
        output = value & 1
    elif kind == MOVE:
        value = before.r[src2]
        if immf:
            value = src1 + 16 * src2 + 256 * pred + (0 if ot1 else 4096 * ext)
        output = value & 1
    else:
        value, output = base_result(op, variant, a, b)
    if kind != SET:
        if ot1:
            s.sr[ext * 16 + dst] = value
        else:
            set_r(s, dst, value)
    if pom != 3:
        target = dst if pe else pred
        o = output ^ pon
        old = before.p[target]
        set_p(s, target, {0: old & o, 1: old | o, 2: o}[pom])
    return s


def run_predicate(word: int, before: State) -> State:
    """The state after a predicate instruction (OC 2)."""
    s = before.copy()
    op = bits(word, 0, 5)
    pred, pe = bits(word, 20, 4), bits(word, 29, 1)
    if (pe and not before.p[pred]) or op & 3 == 3:
        return s
    a = before.p[bits(word, 8, 4)] ^ bits(word, 3, 1)
    b = before.p[bits(word, 12, 4)] ^ bits(word, 2, 1)
    set_p(s, bits(word, 16, 4) if pe else pred, {0: a & b, 1: a | b, 2: a ^ b}[op & 3])
    return s


def run_long(word: int, before: State) -> State:
    """The state after a long instruction (OC 5), landed."""
    s = before.copy()
    op = bits(word, 0, 5)
    pred, pe = bits(word, 20, 4), bits(word, 29, 1)
    if pe and not before.p[pred]:
        return s
    a = before.r[bits(word, 8, 4)]
    b = bits(word, 24, 2) * 16 + bits(word, 12, 4) if bits(word, 27, 1) else before.r[bits(word, 12, 4)]
    v = before.acc - 2**32 if before.acc >= 2**31 else before.acc
    if op == 0x00:
        v = a * (b % 2048)
    elif op == 0x01:
        c = b % 2048
        v = s16(a) * (c - 2048 if c >= 1024 else c)
    elif op == 0x02:
        n = b % 32
        v = (v + 2**n) // 2 ** (n + 1)
    elif op == 0x04:
        v = v + s16(b)
    elif op == 0x08:
        v = v // 2 ** (b % 32)
    elif op == 0x0C:
        v = 0xFFFFFFFF if b == 0 else before.acc // b
    s.acc = v % 2**32
    return s
