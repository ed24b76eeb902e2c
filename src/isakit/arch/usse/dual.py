"""Dual issue: two operations in one instruction, side by side.

One of them writes a register of the unified banks (or what aliases one), the other an internal register. Which field
each source comes from is chosen by a configuration number, printed as `cfgN`; three operands are internal registers,
one is unified. Source: [usse] 2.6.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial, reduce
from operator import or_
from typing import Any

from isakit.arch.usse import arithmetic as fp
from isakit.arch.usse.fields import fields_of, layout
from isakit.arch.usse.forms import forms
from isakit.arch.usse.operands import dest_part, internal_source, source_part
from isakit.arch.usse.places import DEST_NO_EXT, SRC_NO_EXT, place
from isakit.arch.usse.registers import Destination, SourceOperand
from isakit.arch.usse.seed import seed_view
from isakit.arch.usse.swizzles import (
    DUAL3EXT,
    DUAL3STD,
    DUAL4EXT,
    DUAL4STD,
    extended,
    implied_mask,
    mask,
    swizzle,
)
from isakit.arch.usse.usse import usse
from isakit.sem import Value
from isakit.spec import Dependent, Enum, Field, Form, Part, Ref, Silent, Template, template
from isakit.spec.operands import Compound
from isakit.spec.parts import accepted_text
from isakit.spec.table import combined

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
class DualOperation:
    """One of the two operations: name, destination, sources."""

    name: str
    dst: Destination
    sources: tuple[SourceOperand, ...]


VDUAL = layout(
    "0010@63:60 vec4@59 g1neg@58 pred2@57:56 skipinv@55 w54@54 f16@53 uswz@51:48 uneg@47 op1@46:44 op2@20:18 op2@43 "
    "prim_u@42 g0swz@41:38 g1swz@37:34 g1swz@52 udbank@33:32 usbank@31:30 gdn@29:28 udn@27:21 srccfg@17:16 g2n@15:14 "
    "uswzx@15 uabs@14 g1n@13:12 g0n@11:10 gmask@9:7 usn@6:0"
)


def _kinds(word: int, op1: Field) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Return the origins of the sources of both operations, None for combinations that do not exist."""
    n1, n2 = (_sources(f.get(word)) for f in (op1, VDUAL.op2))
    cfg, second = VDUAL.srccfg.get(word), SECOND.get((n1, n2), ())
    first = FIRST.get(n1, ())
    return first[cfg] if cfg < len(first) else None, second[cfg] if cfg < len(second) else None


def _sources(operation: int) -> int:
    """Return the number of sources of an operation, 0 if the operation does not exist."""
    return SOURCES.get(OPERATIONS[operation], 1) if operation < len(OPERATIONS) else 0


@cache
def _half(name: str, kinds: tuple[str, ...], unified: bool, several: bool, vec4: bool, ty: str) -> Template:
    """Return the operands of one operation; `several`: the first operation has more than one source."""
    sources: dict[str, Any] = {f"src{k}": _source(kind, name, several, vec4, ty) for k, kind in enumerate(kinds)}

    def make(dst: Destination, **sources: SourceOperand) -> DualOperation:
        return DualOperation(name, dst, tuple(sources.values()))

    spelling = " ".join(f"{{{n}}}" for n in ("dst", *sources))
    dst = _destination(name, unified, vec4, ty)
    return template(spelling, Compound, make, hint=accepted_text(dst), dst=dst, **sources)


def _destination(name: str, unified: bool, vec4: bool, ty: str) -> Part:
    if not unified:
        written = mask(VDUAL.gmask + VDUAL.w54 if vec4 else VDUAL.gmask)
        return dest_part(place(VDUAL.gdn, None, ("r",), alias=2), written, written)
    vector = name in VECTOR_RESULT
    narrow = {(True, "f32"): "xy", (True, "f16"): "xyzw", (False, "f32"): "x", (False, "f16"): "xy"}[vector, ty]
    at = place(VDUAL.udn, VDUAL.udbank, DEST_NO_EXT, double=vector, alias=8 if vector else 7, tag=True)
    return dest_part(at, implied_mask(narrow), implied_mask("xyzw" if vec4 else "xyz"), ty)


def _source(kind: str, name: str, several: bool, vec4: bool, ty: str) -> Part:
    std, ext = (DUAL4STD, DUAL4EXT) if vec4 else (DUAL3STD, DUAL3EXT)
    both = extended(std, ext)
    if kind == I0:
        return internal_source(VDUAL.g0n, swizzle(VDUAL.g0swz, std))
    if kind == I1:
        return internal_source(VDUAL.g1n, swizzle(VDUAL.g1swz, both), VDUAL.g1neg, None, "src1")
    if kind == I2:
        return internal_source(VDUAL.g2n if several else 2, None, None, None, "src2")
    vector = name in VECTOR
    at = place(VDUAL.usn, VDUAL.usbank, SRC_NO_EXT, double=vector, alias=8 if vector else 7, role="src1")
    if several:
        return source_part(at, swizzle(VDUAL.uswz, std), VDUAL.uneg, None, ty)
    return source_part(at, swizzle(VDUAL.uswz + VDUAL.uswzx, both), VDUAL.uneg, VDUAL.uabs, ty)


_OPERANDS = reduce(or_, (f.mask for f in fields_of(VDUAL) if f.name not in ("vec4", "pred", "skipinv", "f16")))
_WRITES = {v: f"the {which} operation writes the unified destination" for v, which in enumerate(("second", "first"))}


def _operations(vec4: bool, ty: str) -> Template:
    """Everything of a dual-issue instruction after its name; bound to both halves.

    Which field each operand comes from is decided by both operations, the configuration and the unified destination.
    """
    # The top bit of the first operation is a mask bit in the 4-channel form.
    op1 = VDUAL.op1 if vec4 else VDUAL.op1 + VDUAL.w54

    def half(which: int, word: int) -> Part | None:
        kinds = _kinds(word, op1)[which]
        if kinds is None:
            return None
        name = OPERATIONS[(VDUAL.op2 if which else op1).get(word)]
        unified = VDUAL.prim_u.get(word) != which
        return _half(name, kinds, unified, _sources(op1.get(word)) >= 2, vec4, ty)

    def operation(f: Field, which: str, first: int) -> Enum:
        names = {v: n for v, n in enumerate(OPERATIONS) if first <= v < 1 << f.width}
        return Enum(f, names, meanings={v: f"{which} operation {n}" for v, n in names.items()})

    configurations = {v: f"cfg{v}" if v else "" for v in range(4)}
    return template(
        "{unified}{sources}{op1} {first} + {op2} {second} {cfg}",
        Compound,
        lambda first, second, **_: (first, second) if first and second else (),
        hint="`operation dst sources + operation dst sources`",
        unified=Silent(VDUAL.prim_u, _WRITES),
        sources=Silent(VDUAL.srccfg),
        op1=operation(op1, "first", 0),
        second=Dependent(partial(half, 1), _OPERANDS),
        first=Dependent(partial(half, 0), _OPERANDS),
        op2=operation(VDUAL.op2, "second", 1),
        cfg=Enum(
            VDUAL.srccfg,
            configurations,
            meanings=dict.fromkeys(range(4), "which fields the sources come from"),
        ),
    )


SECONDARY_LEGAL = Field(((43, 1),), "op2")
"""The top bit of the second operation, which makes the words with an otherwise empty low half legal."""


def _dual(vec4: bool, row: str, early: str) -> list[Form]:
    """Return a form, its row, and what the early page calls some of its words.

    For those `operation` is the first operation. The page has their mnemonics in another group, too: `word` is their
    word there; without one their own.
    """
    made = forms(
        f"dual  dual{4 if vec4 else 3}.<ty> {{ops:<ty>}}  0010 V . .. . . H {53 * '.'} | lacking ILLEGAL_OPCODE",
        f"V  H  ty\n{row}",
        ops=lambda _, ty: _operations(vec4, ty),
        vec4=vec4,
    )
    first = VDUAL.op1 if vec4 else VDUAL.op1 + VDUAL.w54
    for view in combined(early):
        selected = {first: int(view["operation"]), SECONDARY_LEGAL: 1}
        base = int(view["word"], 16) << 32 if view["word"] else None
        described = [VDUAL.f16, first, SECONDARY_LEGAL]
        made.append(seed_view(made[0], view["early"], described, fixed=selected, base=base))
    return made


@usse.insn(
    _dual(
        False,
        "0  0  f32",
        """
        operation  early    word
        2          dot.f32  18000000
        5          mov.f32  38000500
        6          rsq.f32  30000200
        7          rcp.f32  30000000
        12         exp.f32  30000600
        13         log.f32  30000400
        """,
    )
    + _dual(
        False,
        "0  1  f16",
        """
        operation  early    word
        2          dot.f16  -
        5          mov.f16  38000400
        6          rsq.f16  -
        7          rcp.f16  -
        12         exp.f16  -
        13         log.f16  -
        """,
    )
    + _dual(
        True,
        "1  0  f32",
        """
        operation  early    word
        2          dot.f32  18000000
        5          mov.f32  38000500
        6          rsq.f32  30000200
        7          rcp.f32  30000000
        """,
    )
    + _dual(
        True,
        "1  1  f16",
        """
        operation  early    word
        2          dot.f16  20202800
        5          mov.f16  38000400
        6          rsq.f16  20206800
        7          rcp.f16  20207800
        """,
    ),
    ref=Ref("usse", "2.6.6 VDUAL"),
    see=[Ref("004", "0x20000000 - 0x30000000")],
    status="inferred",
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


def _execute(name: str, dst: Destination, sources: tuple[SourceOperand, ...], channels: int) -> None:
    def all_of(s: SourceOperand) -> list[Value]:
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
