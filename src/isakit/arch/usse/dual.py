"""Dual issue: two operations in one instruction, side by side.

One of them writes a register of the unified banks (or what aliases one), the other an internal register. Which field
each source comes from is chosen by a configuration number, printed as `cfgN`; three operands are internal registers,
one is unified. Source: [usse] 2.6.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

from isakit.arch.usse import arithmetic as fp
from isakit.arch.usse.fields import VDUAL
from isakit.arch.usse.forms import form, seed_view
from isakit.arch.usse.operands import NO_BITS, DestPart, SourcePart, internal_source
from isakit.arch.usse.places import DEST_NO_EXT, SRC_NO_EXT, Place
from isakit.arch.usse.registers import Destination, Source
from isakit.arch.usse.swizzles import DUAL3EXT, DUAL3STD, DUAL4EXT, DUAL4STD, Mask, Swizzle, extended
from isakit.arch.usse.usse import SECONDARY, usse
from isakit.spec import Bits, Context, Field, Form, Match, Part, Ref, Row, Status, TokenStream
from isakit.spec.operands import Compound, Immediate, Operand, Register
from isakit.spec.operands import Flag as Word
from isakit.spec.parts import ILLEGAL, Binder

OPERATIONS = (
    "vmad",
    "vdp",
    "vssq",
    "vmul",
    "vadd",
    "vmov",
    "frsq",
    "frcp",
    "fmad",
    "fadd",
    "fmul",
    "fsubflr",
    "fexp",
    "flog",
)
SOURCES = {"vmad": 3, "fmad": 3, "vdp": 2, "vmul": 2, "vadd": 2, "fadd": 2, "fmul": 2, "fsubflr": 2}
"""Number of sources; 1 for the others."""
VECTOR = {"vmad", "vdp", "vssq", "vmul", "vadd", "vmov"}
VECTOR_RESULT = VECTOR - {"vdp", "vssq"}

U, I0, I1, I2 = "U", "I0", "I1", "I2"
FIRST = {
    1: ((U,), (I0,), (I1,), (I2,)),
    2: ((U, I1), (I0, U), (I0, I1)),
    3: ((U, I1, I2), (I0, U, I2), (I0, I1, U), (I0, I1, I2)),
}
"""Sources of the first operation by their number and the configuration."""
SECOND = {
    (1, 1): ((I0,), (U,), (U,), (U,)),
    (1, 2): ((I0, I1), (U, I1), (I0, U), (I1, U)),
    (1, 3): ((I0, I1, I2), (U, I1, I2), (I0, U, I2), (I0, U, I1)),
    (2, 1): ((I0,), (I1,), (U,)),
    (2, 2): ((I0, I2), (I1, I2), (I2, U)),
    (3, 1): ((I0,), (I1,), (I2,), (U,)),
}
"""Sources of the second operation by the numbers of sources of both and the configuration."""


@dataclass(frozen=True)
class ImpliedMask(Mask):
    """A mask without bits: it follows from the operation and the kind of destination."""

    wide: str = "xyzw"
    narrow: str = "x"

    def used(self, internal: bool) -> int:
        return 0

    def channels(self, word: int, internal: bool) -> tuple[int, ...]:
        return tuple("xyzw".index(c) for c in (self.wide if internal else self.narrow))

    def encode(self, letters: str, internal: bool) -> Bits | None:
        return Bits() if letters == (self.wide if internal else self.narrow) else None


@dataclass(frozen=True)
class Half:
    """One of the two operations: name, destination, sources; as parts, or bound for the semantics."""

    name: str
    dst: Any
    sources: tuple[Any, ...]


@cache
def _halves(
    op1: int, op2: int, cfg: int, prim_u: int, vec4: bool, ty: str, secondary: bool
) -> tuple[Half, Half] | None:
    """The parts of both operations, None where the combination is not legal."""
    if not (op1 < len(OPERATIONS) and 0 < op2 < len(OPERATIONS)):
        return None
    names = OPERATIONS[op1], OPERATIONS[op2]
    n1, n2 = (SOURCES.get(n, 1) for n in names)
    second = SECOND.get((n1, n2))
    if second is None or cfg >= len(FIRST[n1]) or cfg >= len(second):
        return None
    kinds = FIRST[n1][cfg], second[cfg]
    halves = [
        Half(
            name,
            _destination(name, unified == prim_u, vec4, ty, secondary),
            tuple(_source(kind, name, n1, vec4, ty, secondary) for kind in mine),
        )
        for name, unified, mine in zip(names, (1, 0), kinds, strict=True)
    ]
    return halves[0], halves[1]


def _destination(name: str, unified: bool, vec4: bool, ty: str, secondary: bool) -> DestPart:
    if not unified:
        mask = VDUAL.gmask + VDUAL.w54 if vec4 else VDUAL.gmask
        return DestPart(Place(VDUAL.gdn, None, ("r",), False, 2, "dst"), Mask(mask), "f32")
    vector = name in VECTOR_RESULT
    narrow = {(True, "f32"): "xy", (True, "f16"): "xyzw", (False, "f32"): "x", (False, "f16"): "xy"}[vector, ty]
    place = Place(VDUAL.udn, VDUAL.udbank, DEST_NO_EXT, vector, 8 if vector else 7, "dst", secondary, tag=True)
    return DestPart(place, ImpliedMask(NO_BITS, "raw", "xyzw" if vec4 else "xyz", narrow), ty)


def _source(kind: str, name: str, n1: int, vec4: bool, ty: str, secondary: bool) -> SourcePart:
    std, ext = (DUAL4STD, DUAL4EXT) if vec4 else (DUAL3STD, DUAL3EXT)
    if kind == I0:
        return internal_source(VDUAL.g0n, Swizzle(VDUAL.g0swz, std))
    if kind == I1:
        return internal_source(VDUAL.g1n, Swizzle(VDUAL.g1swz, extended(std, ext)), VDUAL.g1neg, None, "src1")
    if kind == I2:
        return internal_source(VDUAL.g2n if n1 >= 2 else 2, None, None, None, "src2")
    vector = name in VECTOR
    place = Place(VDUAL.usn, VDUAL.usbank, SRC_NO_EXT, vector, 8 if vector else 7, "src1", secondary)
    if n1 >= 2:
        return SourcePart(place, Swizzle(VDUAL.uswz, std), VDUAL.uneg, None, ty)
    return SourcePart(place, Swizzle(VDUAL.uswz + VDUAL.uswzx, extended(std, ext)), VDUAL.uneg, VDUAL.uabs, ty)


@dataclass(frozen=True)
class DualPart(Part):
    """Everything of a dual-issue instruction behind its name."""

    vec4: bool
    ty: str
    secondary: bool = False

    @property
    def op1(self) -> Field:
        """The first operation; its top bit is a mask bit in the 4-channel form."""
        return VDUAL.op1 if self.vec4 else VDUAL.op1 + VDUAL.w54

    @property
    def selectors(self) -> tuple[Field, ...]:
        """The fields that decide what the others are."""
        return self.op1, VDUAL.op2, VDUAL.srccfg, VDUAL.prim_u

    def resolve(self, ctx: Context) -> Part:
        return replace(self, secondary=True) if SECONDARY in ctx.features else self

    def halves(self, word: int) -> tuple[Half, Half] | None:
        """The parts of both operations."""
        op1, op2, cfg, prim_u = (f.get(word) for f in self.selectors)
        return _halves(op1, op2, cfg, prim_u, self.vec4, self.ty, self.secondary)

    def parts(self, word: int) -> list[Part]:
        """All operands in the order of the text."""
        halves = self.halves(word)
        return [p for h in halves or () for p in (h.dst, *h.sources)]

    def text(self, word: int) -> str:
        halves = self.halves(word)
        if halves is None:
            return "???"
        texts = [" ".join([h.name, h.dst.text(word), *(s.text(word) for s in h.sources)]) for h in halves]
        cfg = VDUAL.srccfg.get(word)
        return " + ".join(texts) + (f" cfg{cfg}" if cfg else "")

    def error(self, word: int) -> str | None:
        if self.halves(word) is None:
            return ILLEGAL
        return next((e for p in self.parts(word) if (e := p.error(word)) is not None), None)

    def claimed(self, word: int) -> int:
        out = 0
        for f in self.selectors:
            out |= f.mask
        for p in self.parts(word):
            out |= p.claimed(word)
        return out

    def possible(self) -> int:
        fields = (
            *self.selectors,
            VDUAL.w54,
            VDUAL.g1neg,
            VDUAL.uswz,
            VDUAL.uneg,
            VDUAL.g0swz,
            VDUAL.g1swz,
            VDUAL.udbank,
            VDUAL.usbank,
            VDUAL.gdn,
            VDUAL.udn,
            VDUAL.g2n,
            VDUAL.g1n,
            VDUAL.g0n,
            VDUAL.gmask,
            VDUAL.usn,
        )
        return sum(1 << b for b in range(64) if any(f.mask >> b & 1 for f in fields))

    def static_mask(self) -> int:
        return self.possible()

    def static_word(self, word: int) -> int:
        out = 0
        for f in self.selectors:
            out |= word & f.mask
        for p in self.parts(word):
            out |= p.static_word(word)
        return out

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        names = {n: i for i, n in enumerate(OPERATIONS)}
        plus, depth = k, 0
        while s.text(plus) and (s.text(plus) != "+" or depth):
            depth += (s.text(plus) == "[") - (s.text(plus) == "]")
            plus += 1
        first, second = names.get(s.text(k)), names.get(s.text(plus + 1))
        if first is None or second is None or first >> self.op1.width:
            s.fail(k if first is None else plus + 1, " | ".join(f"`{n}`" for n in OPERATIONS))
            return
        for cfg, prim_u in product(range(4), range(2)):
            values = (first, second, cfg, prim_u)
            selected = Bits()
            for f, v in zip(self.selectors, values, strict=True):
                selected = Bits(selected.mask | f.mask, selected.value | f.put(v))
            halves = self.halves(selected.value)
            if halves is not None:
                yield from self._operands(s, k + 1, selected, halves, cfg)

    def _operands(self, s: TokenStream, k: int, so_far: Bits, halves: tuple[Half, Half], cfg: int) -> Iterator[Match]:
        items: list[Part | str] = [
            halves[0].dst,
            *halves[0].sources,
            "+",
            halves[1].name,
            halves[1].dst,
            *halves[1].sources,
            *([f"cfg{cfg}"] if cfg else []),
        ]
        bits = so_far
        for item in items:
            if isinstance(item, str):
                if s.text(k) != item:
                    s.fail(k, f"`{item}`")
                    return
                k += 1
                continue
            found = next(iter(item.parse(s, k)), None)
            both = bits.join(found[1]) if found else None
            if found is None or both is None:
                return
            k, bits = found[0], both
        yield k, bits

    def bind(self, word: int, b: Binder) -> tuple[Half, ...]:
        halves = self.halves(word) or ()
        return tuple(Half(h.name, h.dst.bind(word, b), tuple(x.bind(word, b) for x in h.sources)) for h in halves)

    def rows(self, word: int) -> list[Row]:
        halves = self.halves(word)
        if halves is None:
            return []
        rows = [
            Row(self.op1, self.op1.get(word), f"first operation {halves[0].name}"),
            Row(VDUAL.op2, VDUAL.op2.get(word), f"second operation {halves[1].name}"),
            Row(VDUAL.srccfg, VDUAL.srccfg.get(word), "which fields the sources come from"),
            Row(
                VDUAL.prim_u,
                VDUAL.prim_u.get(word),
                f"the {'first' if VDUAL.prim_u.get(word) else 'second'} operation writes the unified destination",
            ),
        ]
        return rows + [r for p in self.parts(word) for r in p.rows(word)]

    def accepts(self) -> str:
        return "`operation dst sources + operation dst sources`"

    def operand(self, word: int) -> Operand | None:
        out: list[Operand] = []
        for h in self.halves(word) or ():
            out.append(Word(h.name))
            for name, p in (("dst", h.dst), *(("src", x) for x in h.sources)):
                out.append(p.operand(word))
                out[-1].name = name
        if out and VDUAL.srccfg.get(word):
            out.append(Word(f"cfg{VDUAL.srccfg.get(word)}"))
        return Compound(tuple(out), text=self.text(word)) if out else None

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        given = value.operands if isinstance(value, Compound) else ()
        names = [str(o) for o in given if str(o) in OPERATIONS]
        cfg = next((int(o[3:]) for o in map(str, given) if o in ("cfg1", "cfg2", "cfg3")), 0)
        if len(names) != 2 or OPERATIONS.index(names[0]) >> self.op1.width:
            return ()
        wanted = [o for o in given if isinstance(o, (Register, Immediate))]
        out: list[Bits] = []
        for prim_u in range(2):
            values = (OPERATIONS.index(names[0]), OPERATIONS.index(names[1]), cfg, prim_u)
            b: Bits | None = Bits()
            for f, v in zip(self.selectors, values, strict=True):
                b = b and b.join(Bits(f.mask, f.put(v)))
            parts = self.parts(b.value) if b else []
            if len(parts) == len(wanted):
                for p, o in zip(parts, wanted, strict=True):
                    found = p.put(o)
                    b = b.join(found[0]) if b is not None and found else None
                if b is not None:
                    out.append(b)
        return out


SECONDARY_LEGAL = Field(((43, 1),), "op2")
"""The top bit of the second operation, which makes the words with an otherwise empty low half legal."""
SEED_BASES = {
    "dot.f32": 0x18 << 56,
    "mov.f32": 0x38000500 << 32,
    "mov.f16": 0x38000400 << 32,
    "rcp.f32": 0x30 << 56,
    "rsq.f32": 0x30000200 << 32,
    "log.f32": 0x30000400 << 32,
    "exp.f32": 0x30000600 << 32,
}
"""Words of the mnemonics that another group has, too."""
SEED_PRIMARIES = {2: "dot", 5: "mov", 6: "rsq", 7: "rcp", 12: "exp", 13: "log"}


def _dual() -> list[Form]:
    out: list[Form] = []
    for vec4, opcode in ((False, 0x04), (True, 0x05)):
        for code, ty in ((0, "f32"), (1, "f16")):
            f = form(
                VDUAL,
                opcode,
                "{name} {ops}",
                {VDUAL.f16: code},
                table="pred2",
                name=f"dual{4 if vec4 else 3}.{ty}",
                ops=DualPart(vec4, ty),
                vec4=vec4,
                lacking=ILLEGAL,
            )
            out.append(f)
            ops = VDUAL.op1 if vec4 else VDUAL.op1 + VDUAL.w54
            for v, op in SEED_PRIMARIES.items():
                if v < 1 << ops.width:
                    fixed = {ops: v, SECONDARY_LEGAL: 1}
                    name = f"{op}.{ty}"
                    base = SEED_BASES.get(name, ops.put(v) | SECONDARY_LEGAL.mask | f.fixed.value if vec4 else None)
                    if vec4 and name not in SEED_BASES:
                        base = (base or 0) & ~(1 << 59)  # the same name in the 3-channel group
                    out.append(seed_view(f, name, [VDUAL.f16, ops, SECONDARY_LEGAL], fixed=fixed, base=base))
    return out


@usse.insn(
    _dual(),
    ref=Ref("usse", "2.6.6 VDUAL"),
    see=[Ref("004", "0x20000000 - 0x30000000")],
    status=Status.INFERRED,
    notes=[
        "[004] saw only the words whose low half is 0: the second operation is then fmad, beside which only "
        "operations of one source are legal",
        "products of vmad and fmad are rounded before the addition",
    ],
)
def dual(name, ops, vec4):
    """Two operations at once; both read their sources before either writes.

    vmad, vdp (dot product), vssq (dot product with itself), vmul, vadd and vmov work on channels, the operations with f
    on channel x alone. Exactly one writes the unified destination, the other an internal register.
    """
    for half in ops:
        _execute(half.name, half.dst, half.sources, 4 if vec4 else 3)


def _execute(name: str, dst: Destination, sources: tuple[Source, ...], channels: int) -> None:
    def all_of(s: Source) -> list[Any]:
        return [s.channel(k) for k in range(channels)]

    scalars = {
        "frsq": fp.reciprocal_root,
        "frcp": fp.reciprocal,
        "fexp": fp.exp2,
        "flog": fp.log2,
        "fadd": fp.add,
        "fmul": fp.mul,
        "fsubflr": fp.subtract_floor,
        "fmad": lambda a, b, c: fp.add(fp.mul(a, b), c),
    }
    vectors = {"vmad": lambda a, b, c: fp.add(fp.mul(a, b), c), "vmul": fp.mul, "vadd": fp.add, "vmov": lambda a: a}
    written = dst.written
    if name in vectors:
        dst.write({k: vectors[name](*(s.channel(k) for s in sources)) for k in written})
        return
    if name in ("vdp", "vssq"):
        result = fp.dot(all_of(sources[0]), all_of(sources[-1]))
    else:
        result = scalars[name](*(s.channel(0) for s in sources))
    dst.write(dict.fromkeys(written, result))
