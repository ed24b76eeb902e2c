"""Texture instructions. What a texture and a sampler hold is outside the ISA: the machine's texture unit knows.

Sources and results share one block of consecutive registers. A disabled result component takes no register, so the
enabled ones are packed. Source: [000] "5. TBD", [tesla] 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.forms import Long, Short, long, short
from isakit.arch.tesla.operands import word
from isakit.arch.tesla.requests import TEX, TEXEL, VISIBLE
from isakit.arch.tesla.tesla import tesla
from isakit.lean import dataclass
from isakit.sem import Value, const, read, write
from isakit.spec import (
    Choice,
    Enum,
    Field,
    Flag,
    Nothing,
    Part,
    Ref,
    Reg,
    Row,
    Template,
    Written,
    bits,
    choice,
    template,
    when,
    written,
)
from isakit.spec import (
    Imm as Number,
)
from isakit.spec.operands import Compound

_LAST = 127
COUNT = bits(22, 23)
MASK = bits(25, 26) + w1(14, 15)
CUBE = bits(27)
FETCH = bits(24)
TEXTURE = Reg(bits(9, 16), tuple(f"$t{n}" for n in range(256)), lambda n: n, "a texture")
SAMPLER = Reg(bits(17, 21), tuple(f"$s{n}" for n in range(32)), lambda n: n, "a sampler")


@dataclass(frozen=True)
class Texels:
    """The result block as a semantics function sees it."""

    base: Value
    mask: int

    def write(self, make: Any, lanes: Value | None) -> None:
        """Write `make(component)` for every enabled component, packed."""
        enabled = [n for n in range(4) if self.mask >> n & 1]
        for i, component in enumerate(enabled):
            write("r", self.base + i, make(component), lanes)


@cache
def _block(base: Field, first: int = 0) -> Reg:
    """A register of the block that starts at the one of the field."""
    names = tuple(f"$r{n + first}" if n + first <= _LAST else None for n in range(1 << base.width))
    return replace(word(base), names=names, first=first)


@cache
def texels(base: Field, mask: Field | None = None) -> Written:
    """`$r4:#:$r5:#`: consecutive registers for the enabled components, `#` for the others.

    `mask` is None where all four are written.
    """

    def spelled(enabled: int) -> Template:
        holes: dict[str, Any] = {}
        texts = ["#"] * 4
        for n in range(4):
            if enabled >> n & 1:
                texts[n] = f"{{r{n}}}"
                holes[f"r{n}"] = _block(base, len(holes))
        return template(":".join(texts), Compound, **holes)

    def enabled(word: int) -> int:
        return 15 if mask is None else mask.get(word)

    def rows(word: int) -> list[Row]:
        out = [Row(base, base.get(word), f"the block starts at $r{base.get(word)}")]
        names = "".join("xyzw"[n] for n in range(4) if enabled(word) >> n & 1)
        return out if mask is None else [*out, Row(mask, enabled(word), f"components {names or 'none'}")]

    return written(
        *([when({}, spelled(15))] if mask is None else [when({mask: m}, spelled(m)) for m in range(16)]),
        meaning=lambda word, b: Texels(b.param(base).resize(32), enabled(word)),
        static=[mask] if mask is not None else [],
        hint="four components like `$r0:$r1:#:#`",
        describe=rows,
    )


@cache
def coordinates(base: Field, count: Field | None = None) -> Written:
    """`$r4:$r5`: one to four consecutive source registers; bound to their values, in order. No `count` means one."""

    def spelled(n: int) -> Part:
        holes: dict[str, Any] = {f"r{k}": _block(base, k) for k in range(n)}
        return template(":".join(f"{{{name}}}" for name in holes), Compound, **holes) if n > 1 else _block(base)

    def many(word: int) -> int:
        return 1 if count is None else count.get(word) + 1

    def rows(word: int) -> list[Row]:
        out = [Row(base, base.get(word), f"sources from $r{base.get(word)} on")]
        return out if count is None else [*out, Row(count, count.get(word), f"{many(word)} sources")]

    return written(
        # the longest first: a text with more registers is no shorter one
        *([when({}, spelled(1))] if count is None else [when({count: n - 1}, spelled(n)) for n in (4, 3, 2, 1)]),
        meaning=lambda word, b: [read("r", b.param(base).resize(32) + n, 32) for n in range(many(word))],
        static=[count] if count is not None else [],
        hint="a register" if count is None else "consecutive registers like `$r0:$r1`",
        describe=rows,
    )


# --- forms ------------------------------------------------------------------------------------------------------------

_OFFSETS: dict[str, Any] = {
    name: Number(f, 32, signed=True, label="a texel offset")
    for name, f in (("dx", w1(24, 27)), ("dy", w1(20, 23)), ("dz", w1(16, 19)))
}
_CUBE: dict[str, Any] = {"cube": Flag(CUBE, "cube")}
_CUBE_OR_OFFSETS: dict[str, Any] = _CUBE | {
    n: choice(when({CUBE: 0}, p), when({CUBE: 1}, Nothing())) for n, p in _OFFSETS.items()
}
_LIVE = w1(2)
_LIVE_PARTS: dict[str, Any] = {
    "live": Enum(_LIVE, {0: "all", 1: "live"}, idle=frozenset({1})),
    "deriv": Flag(w1(3), "deriv"),
}
_FRAGMENT: Choice = choice(when({}, Nothing(True), needs="fragment"), when({}, Nothing(False)))


def _tex(
    name: str, sub: int, fixed: dict[Any, int], *, needs: str = "", count: Field | None = COUNT, **parts: Any
) -> Any:
    """A long texture form; `parts` are cube and offsets, where it has them."""
    return long(
        f"{name} {{cube}} {{live}} {{deriv}} {{dst}} {{texture}} {{sampler}} {{src}} {{dx}} {{dy}} {{dz}} {{fragment}}",
        {Long.op: 0xF, Long.sub: sub, w1(28): 0} | fixed,
        needs=needs,
        **_LIVE_PARTS,
        **parts,
        dst=texels(Long.dst, MASK),
        texture=TEXTURE,
        sampler=SAMPLER,
        src=coordinates(Long.dst, count),
        fragment=_FRAGMENT,
    )


def _short_tex(name: str, fetch: int) -> Any:
    return short(
        f"{name} {{live}} {{dst}} {{texture}} {{sampler}} {{src}} {{fragment}}",
        {Short.op: 0xF, FETCH: fetch},
        live=Enum(Short.mod1, {0: "all", 1: "live"}, idle=frozenset({1})),
        dst=texels(Short.dst),
        texture=TEXTURE,
        sampler=SAMPLER,
        src=coordinates(Short.dst, COUNT),
        fragment=_FRAGMENT,
    )


def _query(
    name: str,
    live: str,
    dst: Texels,
    texture: Value,
    sampler: Value,
    src: list[Value],
    fragment: bool,
    deriv: bool = False,
    cube: bool = False,
    offsets: Sequence[Value | None] = (None, None, None),
) -> None:
    """Ask the texture unit, and write the enabled components.

    The machine value `tex` has the arguments texture, sampler, offsets x, y, z and the sources; it stands for the
    unit's answer, of which `texel` picks a component.
    """
    shift = [const(0, 32) if o is None else o for o in offsets]
    arguments = [texture.resize(32), sampler.resize(32), *shift, *src]
    facts = {"op": name, "cube": cube, "quads": fragment or deriv, "mask": dst.mask}
    lanes = VISIBLE() if fragment and live == "live" else None
    answer = TEX(*arguments, **facts)
    dst.write(lambda component: TEXEL(answer, component=component), lanes)


_REF = Ref("000", "5. TBD: texture instructions")
_SEE = [Ref("tesla", "8")]
_OUTSIDE = "sampler state and filtering are outside the ISA; a machine without texture unit stops here"


@tesla.insn(
    [_short_tex("texauto", 0), _tex("texauto", 0, {FETCH: 0}, **_CUBE_OR_OFFSETS)],
    ref=_REF,
    see=_SEE,
    notes=[_OUTSIDE],
    group="texture",
)
def texauto(live, dst, texture, sampler, src, fragment, deriv=False, cube=False, dx=None, dy=None, dz=None):
    """Sample a texture; the level of detail follows from the derivatives of the coordinates.

    Sources in order, as far as the texture wants them: x, y, z, array layer (an integer), reference depth. Outside
    fragment programs the derivatives are 0 unless `deriv`. With `live` only visible fragments ask.
    """
    _query("texauto", live, dst, texture, sampler, src, fragment, deriv, cube, (dx, dy, dz))


@tesla.insn(
    [_short_tex("texfetch", 1), _tex("texfetch", 0, {FETCH: 1}, **_OFFSETS)],
    ref=_REF,
    see=_SEE,
    notes=[_OUTSIDE],
    group="texture",
)
def texfetch(live, dst, texture, sampler, src, fragment, deriv=False, dx=None, dy=None, dz=None):
    """Read one texel: integer coordinates, array layer, level of detail. Nothing is filtered or wrapped."""
    _query("texfetch", live, dst, texture, sampler, src, fragment, deriv, offsets=(dx, dy, dz))


@tesla.insn(
    [_tex("texbias", 1, {}, **_CUBE_OR_OFFSETS)],
    ref=_REF,
    see=_SEE,
    notes=[_OUTSIDE, "the bias should be the same in all lanes of a quad; else each lane uses its own"],
    group="texture",
)
def texbias(live, dst, texture, sampler, src, fragment, deriv, cube, dx, dy, dz):
    """Sample a texture as `texauto` does, with a bias of the level of detail as last source."""
    _query("texbias", live, dst, texture, sampler, src, fragment, deriv, cube, (dx, dy, dz))


@tesla.insn(
    [_tex("texlod", 2, {}, **_CUBE_OR_OFFSETS)],
    ref=_REF,
    see=_SEE,
    notes=[_OUTSIDE, "the level should be the same in all lanes of a quad; else each lane uses its own"],
    group="texture",
)
def texlod(live, dst, texture, sampler, src, fragment, deriv, cube, dx, dy, dz):
    """Sample a texture at a given level of detail, the last source."""
    _query("texlod", live, dst, texture, sampler, src, fragment, deriv, cube, (dx, dy, dz))


_KIND = w1(16, 19)


@tesla.insn(
    [_tex("texsize", 3, {_KIND: 0}, count=None)],
    ref=_REF,
    see=_SEE,
    notes=[_OUTSIDE, "four results, the last being the number of levels. [tesla] 13 no. 15"],
    group="texture",
)
def texsize(live, dst, texture, sampler, src, fragment, deriv):
    """Size of a texture level: width, height, depth or layers, number of levels. The source is the level."""
    _query("texsize", live, dst, texture, sampler, src, fragment, deriv)


@tesla.insn(
    [_tex("texprep", 3, {_KIND: 1, CUBE: 1}, needs="d3d10_1", cube="cube")],
    ref=Ref("tesla", "8"),
    notes=[_OUTSIDE],
    group="texture",
)
def texprep(live, dst, texture, sampler, src, fragment, deriv, cube):
    """Turn a cube direction and layer into coordinates on a face (x, y) and a layer of a two-dimensional array."""
    _query("texprep", live, dst, texture, sampler, src, fragment, deriv, cube == "cube")


@tesla.insn(
    [_tex("texquerylod", 3, {_KIND: 2}, needs="d3d10_1", **_CUBE)],
    ref=Ref("tesla", "8"),
    notes=[_OUTSIDE],
    group="texture",
)
def texquerylod(live, dst, texture, sampler, src, fragment, deriv, cube):
    """The level of detail that sampling would use, in fixed point: x clamped to the existing levels, y not."""
    _query("texquerylod", live, dst, texture, sampler, src, fragment, deriv, cube)


@tesla.insn(
    [_tex("texcsaa", 4, {FETCH: 0}, **_OFFSETS)],
    ref=Ref("tesla", "8"),
    notes=[_OUTSIDE],
    group="texture",
)
def texcsaa(live, dst, texture, sampler, src, fragment, deriv, dx, dy, dz):
    """Fetch coverage sample data of a multisampled surface."""
    _query("texcsaa", live, dst, texture, sampler, src, fragment, deriv, offsets=(dx, dy, dz))


@tesla.insn(
    [_tex("texgather", 4, {FETCH: 1}, needs="d3d10_1", **_CUBE_OR_OFFSETS)],
    ref=Ref("tesla", "8"),
    notes=[_OUTSIDE],
    group="texture",
)
def texgather(live, dst, texture, sampler, src, fragment, deriv, cube, dx, dy, dz):
    """One component of the four texels a bilinear sample would use: (i0,j1), (i1,j1), (i1,j0), (i0,j0)."""
    _query("texgather", live, dst, texture, sampler, src, fragment, deriv, cube, (dx, dy, dz))
