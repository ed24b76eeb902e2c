"""Texture instructions. What a texture and a sampler hold is outside the ISA: the machine's texture unit knows.

Sources and results share one block of consecutive registers. A disabled result component takes no register, so the
enabled ones are packed. Source: [000] "5. TBD", [tesla] 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.operands import word
from isakit.arch.tesla.requests import TEX, TEXEL, VISIBLE
from isakit.arch.tesla.tesla import tesla
from isakit.lean import dataclass
from isakit.sem import Value, const, read, write
from isakit.spec import (
    Encoding,
    Field,
    Nothing,
    Part,
    Ref,
    Reg,
    Row,
    Spellings,
    Template,
    choice,
    flag,
    number,
    spellings,
    template,
    when,
    words,
)
from isakit.spec.operands import Compound

_LAST = 127


def _texture(e: Encoding, letters: str) -> Reg:
    return Reg(e.field(letters), tuple(f"$t{n}" for n in range(256)), lambda n: n, "a texture")


def _sampler(e: Encoding, letters: str) -> Reg:
    return Reg(e.field(letters), tuple(f"$s{n}" for n in range(32)), lambda n: n, "a sampler")


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
    """Return a register of the block that starts at the one of the field."""
    names = tuple(f"$r{n + first}" if n + first <= _LAST else None for n in range(1 << base.width))
    return replace(word(base), names=names, first=first)


def texels(e: Encoding, block: str, components: str = "") -> Spellings:
    """`$r4:#:$r5:#`: consecutive registers for the enabled components, `#` for the others.

    Without letters for the components all four are written.
    """
    return _texels(e.field(block), e.field(components) if components else None)


@cache
def _texels(base: Field, mask: Field | None) -> Spellings:
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

    return spellings(
        *([when({}, spelled(15))] if mask is None else [when({mask: m}, spelled(m)) for m in range(16)]),
        meaning=lambda word, b: Texels(b.param(base).resize(32), enabled(word)),
        static=[mask] if mask is not None else [],
        hint="four components like `$r0:$r1:#:#`",
        describe=rows,
    )


def coordinates(e: Encoding, block: str, letters: str = "") -> Spellings:
    """`$r4:$r5`: one to four consecutive source registers; bound to their values, in order.

    Without letters for the number, less one, there is one.
    """
    return _coordinates(e.field(block), e.field(letters) if letters else None)


@cache
def _coordinates(base: Field, count: Field | None) -> Spellings:
    def spelled(n: int) -> Part:
        holes: dict[str, Any] = {f"r{k}": _block(base, k) for k in range(n)}
        return template(":".join(f"{{{name}}}" for name in holes), Compound, **holes) if n > 1 else _block(base)

    def many(word: int) -> int:
        return 1 if count is None else count.get(word) + 1

    def rows(word: int) -> list[Row]:
        out = [Row(base, base.get(word), f"sources from $r{base.get(word)} on")]
        return out if count is None else [*out, Row(count, count.get(word), f"{many(word)} sources")]

    return spellings(
        # the longest first: a text with more registers is no shorter one
        *([when({}, spelled(1))] if count is None else [when({count: n - 1}, spelled(n)) for n in (4, 3, 2, 1)]),
        meaning=lambda word, b: [read("r", b.param(base).resize(32) + n, 32) for n in range(many(word))],
        static=[count] if count is not None else [],
        hint="a register" if count is None else "consecutive registers like `$r0:$r1`",
        describe=rows,
    )


# --- forms ------------------------------------------------------------------------------------------------------------

_offset = number("a texel offset", signed=True)


def _flat_offset(e: Encoding, letter: str, cube: str) -> Part:
    """Return a texel offset, which cube maps do not have."""
    return choice(when({e.field(cube): 0}, _offset(e, letter)), when({e.field(cube): 1}, Nothing()))


_tex = forms.knowing(
    live=words("all", "live", idle=frozenset({1})),
    deriv=flag("deriv"),
    cube=flag("cube"),
    dst=texels,
    texture=_texture,
    sampler=_sampler,
    src=coordinates,
    offset=_offset,
    flat_offset=_flat_offset,
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
    _tex(
        """
        short  texauto {live:v} {dst:d} {texture:t} {sampler:s} {src:d,n} {fragment}
               1111 ...0 n nssssst ttttttt vdddddd ..
        long   texauto {cube:c} {live:v} {deriv:e} {dst:d,m} {texture:t} {sampler:s} {src:d,n}
               {dx=flat_offset:x,c} {dy=flat_offset:y,c} {dz=flat_offset:z,c} {fragment}
               1111 cmm0 n nssssst ttttttt ddddddd ..  000 0xx xxyy y yzzzzmm .. ..... ...ev..
        """
    ),
    ref=_REF,
    status="known",
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
    _tex(
        """
        short  texfetch {live:v} {dst:d} {texture:t} {sampler:s} {src:d,n} {fragment}
               1111 ...1 n nssssst ttttttt vdddddd ..
        long   texfetch {live:v} {deriv:e} {dst:d,m} {texture:t} {sampler:s} {src:d,n}
               {dx=offset:x} {dy=offset:y} {dz=offset:z} {fragment}
               1111 .mm1 n nssssst ttttttt ddddddd ..  000 0xx xxyy y yzzzzmm .. ..... ...ev..
        """
    ),
    ref=_REF,
    status="known",
    see=_SEE,
    notes=[_OUTSIDE],
    group="texture",
)
def texfetch(live, dst, texture, sampler, src, fragment, deriv=False, dx=None, dy=None, dz=None):
    """Read one texel: integer coordinates, array layer, level of detail. Nothing is filtered or wrapped."""
    _query("texfetch", live, dst, texture, sampler, src, fragment, deriv, offsets=(dx, dy, dz))


@tesla.insn(
    _tex(
        """
        long  texbias {cube:c} {live:v} {deriv:e} {dst:d,m} {texture:t} {sampler:s} {src:d,n}
              {dx=flat_offset:x,c} {dy=flat_offset:y,c} {dz=flat_offset:z,c} {fragment}
              1111 cmm. n nssssst ttttttt ddddddd ..  001 0xx xxyy y yzzzzmm .. ..... ...ev..
        """
    ),
    ref=_REF,
    status="known",
    see=_SEE,
    notes=[_OUTSIDE, "the bias should be the same in all lanes of a quad; else each lane uses its own"],
    group="texture",
)
def texbias(live, dst, texture, sampler, src, fragment, deriv, cube, dx, dy, dz):
    """Sample a texture as `texauto` does, with a bias of the level of detail as last source."""
    _query("texbias", live, dst, texture, sampler, src, fragment, deriv, cube, (dx, dy, dz))


@tesla.insn(
    _tex(
        """
        long  texlod {cube:c} {live:v} {deriv:e} {dst:d,m} {texture:t} {sampler:s} {src:d,n}
              {dx=flat_offset:x,c} {dy=flat_offset:y,c} {dz=flat_offset:z,c} {fragment}
              1111 cmm. n nssssst ttttttt ddddddd ..  010 0xx xxyy y yzzzzmm .. ..... ...ev..
        """
    ),
    ref=_REF,
    status="known",
    see=_SEE,
    notes=[_OUTSIDE, "the level should be the same in all lanes of a quad; else each lane uses its own"],
    group="texture",
)
def texlod(live, dst, texture, sampler, src, fragment, deriv, cube, dx, dy, dz):
    """Sample a texture at a given level of detail, the last source."""
    _query("texlod", live, dst, texture, sampler, src, fragment, deriv, cube, (dx, dy, dz))


@tesla.insn(
    _tex(
        """
        long  texsize {live:v} {deriv:e} {dst:d,m} {texture:t} {sampler:s} {src:d} {fragment}
              1111 .mm. . .ssssst ttttttt ddddddd ..  011 0.. .... . .0000mm .. ..... ...ev..
        """
    ),
    ref=_REF,
    status="known",
    see=_SEE,
    notes=[_OUTSIDE, "four results, the last being the number of levels. [tesla] 13 no. 15"],
    group="texture",
)
def texsize(live, dst, texture, sampler, src, fragment, deriv):
    """Size of a texture level: width, height, depth or layers, number of levels. The source is the level."""
    _query("texsize", live, dst, texture, sampler, src, fragment, deriv)


@tesla.insn(
    _tex(
        """
        long  texprep {cube} {live:v} {deriv:e} {dst:d,m} {texture:t} {sampler:s} {src:d,n} {fragment}
              1111 1mm. n nssssst ttttttt ddddddd ..  011 0.. .... . .0001mm .. ..... ...ev..
              | needs d3d10_1 | cube=cube
        """
    ),
    ref=Ref("tesla", "8"),
    status="known",
    notes=[_OUTSIDE],
    group="texture",
)
def texprep(live, dst, texture, sampler, src, fragment, deriv, cube):
    """Turn a cube direction and layer into coordinates on a face (x, y) and a layer of a two-dimensional array."""
    _query("texprep", live, dst, texture, sampler, src, fragment, deriv, cube == "cube")


@tesla.insn(
    _tex(
        """
        long  texquerylod {cube:c} {live:v} {deriv:e} {dst:d,m} {texture:t} {sampler:s} {src:d,n} {fragment}
              1111 cmm. n nssssst ttttttt ddddddd ..  011 0.. .... . .0010mm .. ..... ...ev..
              | needs d3d10_1
        """
    ),
    ref=Ref("tesla", "8"),
    status="known",
    notes=[_OUTSIDE],
    group="texture",
)
def texquerylod(live, dst, texture, sampler, src, fragment, deriv, cube):
    """Return the level of detail that sampling would use, in fixed point: x clamped to the existing levels, y not."""
    _query("texquerylod", live, dst, texture, sampler, src, fragment, deriv, cube)


@tesla.insn(
    _tex(
        """
        long  texcsaa {live:v} {deriv:e} {dst:d,m} {texture:t} {sampler:s} {src:d,n}
              {dx=offset:x} {dy=offset:y} {dz=offset:z} {fragment}
              1111 .mm0 n nssssst ttttttt ddddddd ..  100 0xx xxyy y yzzzzmm .. ..... ...ev..
        """
    ),
    ref=Ref("tesla", "8"),
    status="known",
    notes=[_OUTSIDE],
    group="texture",
)
def texcsaa(live, dst, texture, sampler, src, fragment, deriv, dx, dy, dz):
    """Fetch coverage sample data of a multisampled surface."""
    _query("texcsaa", live, dst, texture, sampler, src, fragment, deriv, offsets=(dx, dy, dz))


@tesla.insn(
    _tex(
        """
        long  texgather {cube:c} {live:v} {deriv:e} {dst:d,m} {texture:t} {sampler:s} {src:d,n}
              {dx=flat_offset:x,c} {dy=flat_offset:y,c} {dz=flat_offset:z,c} {fragment}
              1111 cmm1 n nssssst ttttttt ddddddd ..  100 0xx xxyy y yzzzzmm .. ..... ...ev..
              | needs d3d10_1
        """
    ),
    ref=Ref("tesla", "8"),
    status="known",
    notes=[_OUTSIDE],
    group="texture",
)
def texgather(live, dst, texture, sampler, src, fragment, deriv, cube, dx, dy, dz):
    """One component of the four texels a bilinear sample would use: (i0,j1), (i1,j1), (i1,j0), (i0,j0)."""
    _query("texgather", live, dst, texture, sampler, src, fragment, deriv, cube, (dx, dy, dz))
