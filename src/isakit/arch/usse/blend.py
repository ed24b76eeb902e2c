"""Sums of products on four unsigned bytes: the blending instructions.

A byte stands for a fraction of 255. Products and sums are formed exactly and rounded once to the nearest byte; sums are
clamped to 0..255. Source: [usse] 2.6.11.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isakit.arch.usse.fields import layout
from isakit.arch.usse.forms import destination, form, word_source
from isakit.arch.usse.usse import usse
from isakit.errors import NotModelled
from isakit.sem import Value, const, select
from isakit.spec import Enum, Field, Flag, Part, Ref, Template

OPS4 = {0: "add", 1: "sub", 2: "min", 3: "max"}
OPS2 = {0: "add", 1: "sub"}

RGB1 = {0: "zero", 1: "s1", 2: "s2", 3: "s1a", 4: "s2a", 5: "sat", 6: "scale", 7: "c7"}
RGB2 = {0: "zero", 1: "s1", 2: "s2", 3: "s1a", 4: "s2a", 5: "sat", 6: "half", 7: "c7"}
ALPHA1 = {0: "zero", 1: "s1a", 2: "s2a", 3: "scale"}
ALPHA2 = {0: "zero", 1: "s1a", 2: "s2a", 3: "half"}
MASKED = {0: "zero", 1: "sat", 2: "s1", 3: "s1a", 4: "c4", 5: "c5", 6: "s2", 7: "s2a"}
RGB3 = {0: "zero", 1: "sat", 2: "s1", 3: "s1a", 4: "s0", 5: "s0a", 6: "s2", 7: "s2a"}
ALPHA3 = {0: "zero", 1: "s0a", 2: "s1a", 3: "s2a"}


def factor(selector: Field, complement: Field, names: dict[int, str], prefix: str) -> Enum:
    """A factor: what is selected, or (`inv_`) 1 minus it."""
    texts: dict[int, str] = {}
    values: dict[int, tuple[str, bool]] = {}
    for v in range(2 << selector.width):
        name, inverted = names[v & (1 << selector.width) - 1], bool(v >> selector.width)
        texts[v] = f"{prefix}.{'inv_' if inverted else ''}{name}"
        values[v] = name, inverted
    return Enum(selector + complement, texts, values)


def _byte(v: Value, k: int) -> Value:
    """Byte `k` in 32 bits."""
    return v.bits(8 * k, 8).zext(32)


def _factor(choice: tuple[str, bool], k: int, sources: dict[str, Value]) -> Value:
    name, inverted = choice
    if name in ("sat", "scale", "half") or name[0] == "c":
        raise NotModelled(f"blend factor `{name}`", "its definition is not known")
    if name == "zero":
        v = const(0, 32)
    else:
        v = _byte(sources[name[:2]], 3 if name.endswith("a") else k)
    return 255 - v if inverted else v


def _combine(op: str, a: Value, b: Value) -> Value:
    """Two products (0..65025) to a byte."""
    if op in ("min", "max"):
        less = a.ult(b)
        v = select(less, a, b) if op == "min" else select(less, b, a)
    elif op == "add":
        v = a + b
        v = select(v.ugt(65025), const(65025, 32), v)
    else:
        v = select(a.ult(b), const(0, 32), a - b)
    return (v + 127).udiv(const(255, 32))


def _pack(channels: dict[int, Value], old: Value | None) -> Value:
    out = const(0, 32)
    for k in range(4):
        v = channels[k] if k in channels else _byte(old, k) if old is not None else const(0, 32)
        out = out | (v << 8 * k)
    return out


SOP2 = layout(
    "10000@63:59 short@58:57 cmod1@56 skipinv@55 nosched@54 asel1@53:52 dext@51 end@50 s1ext@49 s2ext@48 cmod2@47 "
    "rpt@46:44 amod1@43 asel2@42:41 csel1@40:38 csel2@37:35 amod2@34 dbank@33:32 s1bank@31:30 s2bank@29:28 dn@27:21 "
    "s1mod@20 cop@19:18 aop@17:16 asrc1mod@15 dmod@14 s1n@13:7 s2n@6:0"
)


_SOP2_PARTS: dict[str, Any] = {
    "c1": factor(SOP2.csel1, SOP2.cmod1, RGB1, "rgb1"),
    "c2": factor(SOP2.csel2, SOP2.cmod2, RGB2, "rgb2"),
    "a1": factor(SOP2.asel1, SOP2.amod1, ALPHA1, "a1"),
    "a2": factor(SOP2.asel2, SOP2.amod2, ALPHA2, "a2"),
}


@usse.insn(
    [
        form(
            SOP2,
            "{name} {dst} {src1} {src2} {cop} {c1} {c2} {aop} {a1} {a2} {inv1} {asrc1mod} {dmod}",
            name="sop2",
            dst=destination(SOP2, double=False),
            src1=word_source(SOP2, 1),
            src2=word_source(SOP2, 2),
            cop=Enum(SOP2.cop, {v: f"rgb_{n}" for v, n in OPS4.items()}, OPS4),
            aop=Enum(SOP2.aop, {v: f"a_{n}" for v, n in OPS4.items()}, OPS4),
            inv1=Flag(SOP2.s1mod, "inv1"),
            asrc1mod=Flag(SOP2.asrc1mod, "asrc1mod"),
            dmod=Flag(SOP2.dmod, "dmod"),
            **_SOP2_PARTS,
        )
    ],
    ref=Ref("usse", "2.6.11 SOP2"),
    status="known",
    notes=[
        "factors sat, scale and half, and the bits asrc1mod and dmod are not modelled",
        "the rounding of the hardware is not known: one rounding to nearest here",
    ],
)
def sop2(name, dst, src1, src2, cop, c1, c2, aop, a1, a2, inv1, asrc1mod, dmod):
    """Blend four bytes: rgb = c1 * SRC1 cop c2 * SRC2, alpha = a1 * SRC1.a aop a2 * SRC2.a. `inv1` takes 1 - SRC1."""
    if asrc1mod or dmod:
        raise NotModelled("`sop2` with asrc1mod or dmod", "their meaning is not known")
    s1, s2 = src1.word(), src2.word()
    s1 = ~s1 if inv1 else s1
    sources = {"s1": s1, "s2": s2}
    out = {
        k: _combine(cop, _factor(c1, k, sources) * _byte(s1, k), _factor(c2, k, sources) * _byte(s2, k))
        for k in range(3)
    }
    out[3] = _combine(aop, _factor(a1, 3, sources) * _byte(s1, 3), _factor(a2, 3, sources) * _byte(s2, 3))
    dst.write_word(_pack(out, None))


def _masked(k: int, mask: int) -> bool:
    """Whether channel `k` (r g b a) is written; bit 0 of the mask is alpha."""
    return bool(mask >> (0 if k == 3 else k + 1) & 1)


_MASK_NAMES = {v: "mask_" + ("".join("rgba"[k] for k in range(4) if _masked(k, v)) or "none") for v in range(16)}

SOP2M = layout(
    "10010@63:59 short@58:57 cmod1@56 skipinv@55 nosched@54 cop@53:52 dext@51 end@50 s1ext@49 s2ext@48 cmod2@47 "
    "wmask@46:43 aop@42:41 csel1@40:38 csel2@37:35 dbank@33:32 s1bank@31:30 s2bank@29:28 dn@27:21 s1n@13:7 s2n@6:0"
)


def _partly(part: Part) -> Part:
    """A destination that keeps the bytes which the write mask leaves out."""
    assert isinstance(part, Template)
    told = part.hints
    assert callable(told)
    return replace(part, hints=lambda word: {**told(word), "partial": SOP2M.wmask.get(word) != 15})


@usse.insn(
    [
        form(
            SOP2M,
            "{name} {dst} {src1} {src2} {wmask} {cop} {aop} {c1} {c2}",
            name="sop2m",
            dst=_partly(destination(SOP2M, double=False)),
            src1=word_source(SOP2M, 1),
            src2=word_source(SOP2M, 2),
            wmask=Enum(SOP2M.wmask, _MASK_NAMES, {v: v for v in range(16)}),
            cop=Enum(SOP2M.cop, {v: f"rgb_{n}" for v, n in OPS4.items()}, OPS4),
            aop=Enum(SOP2M.aop, {v: f"a_{n}" for v, n in OPS4.items()}, OPS4),
            c1=factor(SOP2M.csel1, SOP2M.cmod1, MASKED, "c1"),
            c2=factor(SOP2M.csel2, SOP2M.cmod2, MASKED, "c2"),
        )
    ],
    ref=Ref("usse", "2.6.11 SOP2M"),
    status="inferred",
)
def sop2m(name, dst, src1, src2, wmask, cop, aop, c1, c2):
    """Blend four bytes with a write mask: c1 * SRC1 cop c2 * SRC2; alpha uses aop."""
    s1, s2 = src1.word(), src2.word()
    sources = {"s1": s1, "s2": s2}
    out = {
        k: _combine(
            aop if k == 3 else cop, _factor(c1, k, sources) * _byte(s1, k), _factor(c2, k, sources) * _byte(s2, k)
        )
        for k in range(4)
        if _masked(k, wmask)
    }
    dst.write_word(_pack(out, dst.at.word()))


SOP3 = layout(
    "10001@63:59 short@58:57 cmod1@56 skipinv@55 nosched@54 cop@53:52 dext@51 end@50 s1ext@49 s2ext@48 cmod2@47 "
    "amod1@46 asel1@45:44 dmod@43 aop@42:41 csel1@40:38 csel2@37:35 s0bank@34 dbank@33:32 s1bank@31:30 s2bank@29:28 "
    "dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0"
)


@usse.insn(
    [
        form(
            SOP3,
            "{name} {dst} {src0} {src1} {src2} {cop} {c1} {c2} {aop} {a1} {dmod}",
            name="sop3",
            dst=destination(SOP3, double=False),
            src0=word_source(SOP3, 0),
            src1=word_source(SOP3, 1),
            src2=word_source(SOP3, 2),
            cop=Enum(SOP3.cop, {v: f"rgb_{n}" for v, n in OPS4.items()}, OPS4),
            aop=Enum(SOP3.aop, {v: f"a_{n}" for v, n in OPS4.items()}, OPS4),
            c1=factor(SOP3.csel1, SOP3.cmod1, RGB3, "rgb1"),
            c2=factor(SOP3.csel2, SOP3.cmod2, RGB3, "rgb2"),
            a1=factor(SOP3.asel1, SOP3.amod1, ALPHA3, "a1"),
            dmod=Flag(SOP3.dmod, "dmod"),
        )
    ],
    ref=Ref("usse", "2.6.11 SOP3"),
    status="inferred",
    notes=["the second factor of alpha is that of rgb: a guess of one simulator", "dmod is not modelled"],
)
def sop3(name, dst, src0, src1, src2, cop, c1, c2, aop, a1, dmod):
    """Blend four bytes with a third source as factor: rgb = c1 * SRC1 cop c2 * SRC2, alpha likewise with a1."""
    if dmod or "min" in (cop, aop) or "max" in (cop, aop):
        raise NotModelled("`sop3` with dmod, min or max", "only add and sub are known")
    s0, s1, s2 = src0.word(), src1.word(), src2.word()
    sources = {"s0": s0, "s1": s1, "s2": s2}
    out = {
        k: _combine(cop, _factor(c1, k, sources) * _byte(s1, k), _factor(c2, k, sources) * _byte(s2, k))
        for k in range(3)
    }
    out[3] = _combine(aop, _factor(a1, 3, sources) * _byte(s1, 3), _factor(c2, 3, sources) * _byte(s2, 3))
    dst.write_word(_pack(out, None))
