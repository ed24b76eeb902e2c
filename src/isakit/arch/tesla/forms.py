"""The shapes of Tesla forms and the kinds of operands they have, for the tables of the record files.

`isakit.spec.table` tells how the tables are read. All of them have the bits in the same groups:

```text
short  op   sel  c src2/m3 src1/m2 dst/m1  kind
       .... .... . ....... ....... ....... ..
long   op   sel cc src2    src1    dst     kind  sub mods c[]  s src3    $c cond  $c, o[], tail
       .... .... . ....... ....... ....... ..    ... ...  .... . ....... .. ..... .......
```

After a source or destination stands its width: a letter of the pattern (0 is 16 bits, 1 is 32), or a type like `b64`;
a second letter says where half sources are signed. Without a width the operand has 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable

from isakit.arch.tesla import operands as op
from isakit.arch.tesla.fields import CONTROL, IMMEDIATE, LONG, SHORT, SHORT_CONTROL, ControlWord, ImmWord, Long, Short
from isakit.arch.tesla.global_memory import global_memory
from isakit.spec import (
    Bits,
    Encoding,
    Field,
    Flag,
    FormTable,
    Illegal,
    Maker,
    Nothing,
    Part,
    Shape,
    bits,
    choice,
    flag,
    when,
    where,
    words,
)

_HALVES = {"b16": "", "u16": "u", "s16": "s", "b8": "8"}
_ACCESSES = op.MODES | {"s8": (1, True), "s32": (4, False), "u32": (4, False), "u64": (8, False), "b64": (8, False),
                        "b128": (16, False)}  # fmt: skip
_OFFSETS = {1: Long.offset16, 2: bits(9, 23), 4: bits(9, 22)}
"""access size in bytes -> offset field; the offset counts accesses"""


def sized(make: Callable[..., Part], *front: object, signed: bool = False) -> Maker:
    """Return `make(*front, width[, signs])` of the width, and with the sign, that the form says or selects."""

    def half(signs: str) -> Part:
        return make(*front, 16, signs) if signs and signed else make(*front, 16)

    def maker(e: Encoding, width: str = "b32", sign: str = "") -> Part:
        halves = [when(Bits(), half(_HALVES.get(width, "")))]
        if sign:
            halves = [when({e.field(sign): n}, half("us"[n])) for n in (0, 1)]
        if width in _HALVES:
            return choice(*halves) if sign else halves[0].part
        if len(width) > 1:
            return make(*front, int(width[1:]))
        f = e.field(width)
        small = [when(h.when.join(where({f: 0})) or h.when, h.part) for h in halves]
        full = when({f: 1}, make(*front, 32))
        return choice(full, *small) if sign else choice(*small, full)

    return maker


def _accessed(space: str, bank: Field | None = None) -> Maker:
    """`c0[...]` or `s[...]` by access type and register width: `c:u8,b16`; `l[]` offsets count bytes."""

    def maker(e: Encoding, access: str, width: str) -> Part:
        size, signed = _ACCESSES[access]
        offset, scale = (Long.offset16, 1) if space == "l" else (_OFFSETS[size], size)
        return op.memory(space, offset, scale, size, int(width[1:]), signed=signed, bank=bank, address=Long.areg,
                         increment=Long.postinc)  # fmt: skip

    return maker


def _global(e: Encoding, access: str, width: str, bank: str) -> Part:
    """`gK[$rN]` by access type, register width and the letter of the bank."""
    size, signed = _ACCESSES[access]
    return global_memory(e.field(bank), Long.src1, size, int(width[1:]), signed)


def _word_space(e: Encoding, space: str, offset: str) -> Part:
    """Return a space of words, by its letter and the letter of the offset, which counts words."""
    return op.memory(space, e.field(offset), 4, 4, 32, address=e.shape.fields["areg"])


def _short(layout: type[Short] | type[ImmWord], src1: Maker, src2: Maker) -> dict[str, Part | Maker]:
    """Return the operands of the one-word shapes."""
    return {"dst": sized(op.gpr, layout.dst), "src1": src1, "src2": src2, "src3": sized(op.gpr, layout.dst),
            "r1": sized(op.gpr, layout.src1)}  # fmt: skip


_LONG: dict[str, Part | Maker] = {
    "tail": op.TAIL,
    "guard": op.GUARD,
    "lanes": op.LANES,
    "cdst": op.MCDST,
    "fcdst": op.FCDST,
    "csrc": op.COND,
    "dst": sized(op.ldst),
    "half": op.LHDST_UNTYPED,
    "src1": sized(op.lsrc1, signed=True),
    "only1": sized(op.lonly1, signed=True),
    "src2": sized(op.lsrc2),
    "src3": sized(op.lsrc3),
    "rd": sized(op.gpr, Long.dst),
    "r1": sized(op.gpr, Long.src1),
    "r2": sized(op.gpr, Long.src2),
    "r3": sized(op.gpr, Long.src3),
    "pd": op.gpr(Long.dst, 64),
    "p1": op.gpr(Long.src1, 64),
    "p2": op.gpr(Long.src2, 64),
    "p3": op.gpr(Long.src3, 64),
    "c": _accessed("c", Long.cspace),
    "s": _accessed("s"),
    "l": _accessed("l"),
    "g": _global,
}


def _fields(layout: type) -> dict[str, Field]:
    """Return the fields of a layout by name, but for those whose bits are something else in other forms."""
    found = {n: getattr(layout, n) for n in dir(layout)}
    return {n: f for n, f in found.items() if isinstance(f, Field) and n not in ("dst_o", "lanes")}


_SELECTORS = Long.src2_c.mask | Long.src3_c.mask
_NO_TAIL = (where({Long.tail: 3}),)
_CONTROL: dict[str, Part | Maker] = {
    "guard": op.CONTROL_GUARD,
    "target": op.TARGET,
    "lim": Flag(ControlWord.lim, "lim"),
}
_HANDLED = ("guard", "tail")
SHAPES = {
    "short": Shape(SHORT, _fields(Short), _short(Short, sized(op.ssrc1, signed=True), sized(op.ssrc2))),
    "imm": Shape(IMMEDIATE, _fields(ImmWord), _short(ImmWord, sized(op.isrc1, signed=True), sized(op.immediate))
                 | {"dst7": sized(op.gpr, ImmWord.dst7), "imm": sized(op.immediate)}),
    "long": Shape(LONG, _fields(Long), _LONG, "{tail} {guard}", _SELECTORS, unless=_NO_TAIL, control=_HANDLED),
    "unguarded": Shape(LONG, _fields(Long), _LONG, "{tail}", _SELECTORS, unless=_NO_TAIL, control=_HANDLED),
    "guarded": Shape(CONTROL, _fields(ControlWord), _CONTROL, "{guard}", control=_HANDLED),
    # The hardware ignores the predicate of other control instructions.
    "control": Shape(CONTROL, _fields(ControlWord), _CONTROL, ignored=ControlWord.pred.mask | ControlWord.csrc.mask,
                     default=0, control=_HANDLED),
    "short-control": Shape(SHORT_CONTROL, _fields(Short), {}),
}  # fmt: skip


def _address_register(e: Encoding, letters: str) -> Part:
    return op.areg(e.field(letters))


def _illegal(e: Encoding, error: str) -> Part:
    return Illegal(error)


forms = FormTable(
    SHAPES,
    {
        "sat": flag("sat"),
        "neg": flag("neg"),
        "abs": flag("abs"),
        "not": flag("not"),
        "width": words("b16", "b32"),
        "type": words("u16", "u32", "s16", "s32"),
        "fragment": choice(when({}, Nothing(True), needs="fragment"), when({}, Nothing(False))),
        "areg": _address_register,
        "memory": _word_space,
        "illegal": _illegal,
    },
)
