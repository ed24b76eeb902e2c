"""Sums of products on four unsigned bytes: the blending instructions.

A byte stands for a fraction of 255. Products and sums are formed exactly and rounded once to the nearest byte; sums are
clamped to 0..255. Source: [usse] 2.6.11.
"""

from __future__ import annotations

from dataclasses import replace

from isakit.arch.usse.forms import forms
from isakit.arch.usse.usse import usse
from isakit.errors import NotModelled
from isakit.sem import Value, const, select
from isakit.spec import Encoding, Maker, Part, Ref, Template, words

_RGB = words("rgb_add", "rgb_sub", "rgb_min", "rgb_max", values=("add", "sub", "min", "max"))
_ALPHA = words("a_add", "a_sub", "a_min", "a_max", values=("add", "sub", "min", "max"))
_MASKED = ("zero", "sat", "s1", "s1a", "c4", "c5", "s2", "s2a")
_SOURCES = ("zero", "sat", "s1", "s1a", "s0", "s0a", "s2", "s2a")


def _factor_of(prefix: str, *names: str) -> Maker:
    """Return a factor: what the letters after the first select, or (`inv_`, where the first is set) 1 minus it."""
    choices = [(n, inverted) for inverted in (False, True) for n in names]
    return words(*(f"{prefix}.{'inv_' if inverted else ''}{n}" for n, inverted in choices), values=choices)


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


@usse.insn(
    forms(
        """
        int2  sop2 {dst} {src1} {src2} {cop:o} {c1:ac} {c2:bd} {aop:p} {a1:ef} {a2:gh} {inv1=flag:i,inv1}
              {asrc1mod=flag:k,asrc1mod} {dmod=flag:l,dmod}
              10000 .. a . . ff . . . . b ... e hh ccc ddd g .. .. .. ....... i oo pp k l ....... .......
              | fields o=cop p=aop i=s1mod k=asrc1mod l=dmod
        """,
        cop=_RGB,
        aop=_ALPHA,
        c1=_factor_of("rgb1", "zero", "s1", "s2", "s1a", "s2a", "sat", "scale", "c7"),
        c2=_factor_of("rgb2", "zero", "s1", "s2", "s1a", "s2a", "sat", "half", "c7"),
        a1=_factor_of("a1", "zero", "s1a", "s2a", "scale"),
        a2=_factor_of("a2", "zero", "s1a", "s2a", "half"),
    ),
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
    """Return true if channel `k` (r g b a) is written; bit 0 of the mask is alpha."""
    return bool(mask >> (0 if k == 3 else k + 1) & 1)


_MASKS = words(
    *("mask_" + ("".join("rgba"[k] for k in range(4) if _masked(k, v)) or "none") for v in range(16)), values=range(16)
)


def _partly(e: Encoding) -> Part:
    """Return a destination that keeps the bytes which the write mask leaves out."""
    part, mask = e.operand("dst"), e.field("m")
    assert isinstance(part, Template)
    told = part.hints
    assert callable(told)
    return replace(part, hints=lambda word: {**told(word), "partial": mask.get(word) != 15})


@usse.insn(
    forms(
        """
        once2  sop2m {dst=partly} {src1} {src2} {wmask:m} {cop:o} {aop:p} {c1:ac} {c2:bd}
               10010 .. a . . oo . . . . b mmmm pp ccc ddd . .. .. .. ....... ....... ....... .......
               | fields m=wmask o=cop p=aop
        """,
        partly=_partly,
        wmask=_MASKS,
        cop=_RGB,
        aop=_ALPHA,
        c1=_factor_of("c1", *_MASKED),
        c2=_factor_of("c2", *_MASKED),
    ),
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


@usse.insn(
    forms(
        """
        once  sop3 {dst} {src0} {src1} {src2} {cop:o} {c1:ac} {c2:bd} {aop:p} {a1:ef} {dmod=flag:l,dmod}
              10001 .. a . . oo . . . . b e ff l pp ccc ddd . .. .. .. ....... ....... ....... .......
              | fields o=cop p=aop l=dmod
        """,
        cop=_RGB,
        aop=_ALPHA,
        c1=_factor_of("rgb1", *_SOURCES),
        c2=_factor_of("rgb2", *_SOURCES),
        a1=_factor_of("a1", "zero", "s0a", "s1a", "s2a"),
    ),
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
