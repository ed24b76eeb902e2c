"""Texture instructions. What a texture and a sampler hold is outside the ISA: the machine's texture unit knows.

Sources and results share one block of consecutive registers. A disabled result component takes no register, so the
enabled ones are packed. Source: [000] "5. TBD", [tesla] 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.forms import Long, Short, long, short
from isakit.arch.tesla.requests import TEX, TEXEL, VISIBLE
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Value, const, read, write
from isakit.spec import (
    Binder,
    Bits,
    Choice,
    Enum,
    Field,
    Flag,
    Match,
    Nothing,
    Part,
    Ref,
    Reg,
    Row,
    TokenStream,
    bits,
    choice,
    when,
)
from isakit.spec import (
    Imm as Number,
)
from isakit.spec.operands import Compound, Operand, Register
from isakit.spec.operands import Flag as Word
from isakit.spec.parts import ILLEGAL

_LAST = 127
COUNT = bits(22, 23)
MASK = bits(25, 26) + w1(14, 15)
CUBE = bits(27)
FETCH = bits(24)
TEXTURE = Reg(bits(9, 16), tuple(f"$t{n}" for n in range(256)), lambda n: n, "a texture")
SAMPLER = Reg(bits(17, 21), tuple(f"$s{n}" for n in range(32)), lambda n: n, "a sampler")


def _register(s: TokenStream, k: int) -> int | None:
    """The number of the register at token `k`."""
    name = s.text(k)
    return int(name[2:]) if name[:2] == "$r" and name[2:].isdigit() else None


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


@dataclass(frozen=True)
class TexelPart(Part):
    """`$r4:#:$r5:#`: consecutive registers for the enabled components, `#` for the others.

    `mask` is None where all four are written. `live` is the flag under which only visible fragments are written.
    """

    base: Field
    mask: Field | None = None
    live: Field | None = None

    def _enabled(self, word: int) -> int:
        return 15 if self.mask is None else self.mask.get(word)

    def _names(self, word: int) -> list[str]:
        n, out = self.base.get(word), list[str]()
        for component in range(4):
            on = self._enabled(word) >> component & 1
            out.append(f"$r{n}" if on else "#")
            n += on
        return out

    def text(self, word: int) -> str:
        return ":".join(self._names(word))

    def error(self, word: int) -> str | None:
        return ILLEGAL if self.base.get(word) + self._enabled(word).bit_count() - 1 > _LAST else None

    def claimed(self, word: int) -> int:
        return (self.mask.mask if self.mask is not None else 0) | (self.base.mask if self._enabled(word) else 0)

    def possible(self) -> int:
        return (self.mask.mask if self.mask is not None else 0) | self.base.mask

    def static_mask(self) -> int:
        return self.mask.mask if self.mask is not None else 0

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        mask, base, n = 0, None, 0
        for component in range(4):
            if component:
                if s.text(k) != ":":
                    s.fail(k, "`:` and four components")
                    return
                k += 1
            if s.text(k) != "#":
                number = _register(s, k)
                if number is None or (base is not None and number != n):
                    s.fail(k, f"`#` or {'a register' if base is None else f'$r{n}'}")
                    return
                base, n, mask = number if base is None else base, number + 1, mask | 1 << component
            k += 1
        if (self.mask is None and mask != 15) or (base is not None and not self.base.fits(base)):
            s.fail(k, self.accepts())
            return
        b = Bits() if self.mask is None else Bits(self.mask.mask, self.mask.put(mask))
        yield k, b if base is None else Bits(b.mask | self.base.mask, b.value | self.base.put(base))

    def bind(self, word: int, b: Binder) -> Any:
        return Texels(b.param(self.base).resize(32), self._enabled(word))

    def rows(self, word: int) -> list[Row]:
        out = [Row(self.base, self.base.get(word), f"the block starts at $r{self.base.get(word)}")]
        if self.mask is not None:
            names = "".join("xyzw"[n] for n in range(4) if self._enabled(word) >> n & 1)
            out.append(Row(self.mask, self._enabled(word), f"components {names or 'none'}"))
        return out

    def accepts(self) -> str:
        return "four components like `$r0:$r1:#:#`"

    def operand(self, word: int) -> Operand:
        n, out = self.base.get(word), list[Operand]()
        partial = self.live is not None and bool(self.live.get(word))
        for component in range(4):
            on = self._enabled(word) >> component & 1
            out.append(Register("r", n, 32, partial=partial) if on else Word("#"))
            n += on
        return Compound(tuple(out), text=self.text(word))


@dataclass(frozen=True)
class CoordinatePart(Part):
    """`$r4:$r5`: one to four consecutive source registers; bound to their values, in order. No `count` means one."""

    base: Field
    count: Field | None = None

    def _count(self, word: int) -> int:
        return 1 if self.count is None else self.count.get(word) + 1

    def _names(self, word: int) -> list[str]:
        first = self.base.get(word)
        return [f"$r{first + n}" for n in range(self._count(word))]

    def text(self, word: int) -> str:
        return ":".join(self._names(word))

    def error(self, word: int) -> str | None:
        return ILLEGAL if self.base.get(word) + self._count(word) - 1 > _LAST else None

    def claimed(self, word: int) -> int:
        return self.possible()

    def possible(self) -> int:
        return self.base.mask | (self.count.mask if self.count is not None else 0)

    def static_mask(self) -> int:
        return self.count.mask if self.count is not None else 0

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        first = _register(s, k)
        if first is None or not self.base.fits(first):
            s.fail(k, self.accepts())
            return
        n, k = 1, k + 1
        while s.text(k) == ":":
            if _register(s, k + 1) != first + n or n == 4 or self.count is None:
                s.fail(k + 1, f"$r{first + n}" if n < 4 and self.count is not None else "no more registers")
                return
            n, k = n + 1, k + 2
        b = Bits() if self.count is None else Bits(self.count.mask, self.count.put(n - 1))
        yield k, Bits(b.mask | self.base.mask, b.value | self.base.put(first))

    def bind(self, word: int, b: Binder) -> Any:
        base = b.param(self.base).resize(32)
        return [read("r", base + n, 32) for n in range(self._count(word))]

    def rows(self, word: int) -> list[Row]:
        out = [Row(self.base, self.base.get(word), f"sources from $r{self.base.get(word)} on")]
        if self.count is not None:
            out.append(Row(self.count, self.count.get(word), f"{self._count(word)} sources"))
        return out

    def accepts(self) -> str:
        return "a register" if self.count is None else "consecutive registers like `$r0:$r1`"

    def operand(self, word: int) -> Operand:
        first = self.base.get(word)
        registers = tuple(Register("r", first + n, 32) for n in range(self._count(word)))
        return registers[0] if len(registers) == 1 else Compound(registers, text=self.text(word))


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
_LIVE_PARTS: dict[str, Any] = {"live": Enum(_LIVE, {0: "all", 1: "live"}), "deriv": Flag(w1(3), "deriv")}
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
        dst=TexelPart(Long.dst, MASK, _LIVE),
        texture=TEXTURE,
        sampler=SAMPLER,
        src=CoordinatePart(Long.dst, count),
        fragment=_FRAGMENT,
    )


def _short_tex(name: str, fetch: int) -> Any:
    return short(
        f"{name} {{live}} {{dst}} {{texture}} {{sampler}} {{src}} {{fragment}}",
        {Short.op: 0xF, FETCH: fetch},
        live=Enum(Short.mod1, {0: "all", 1: "live"}),
        dst=TexelPart(Short.dst, None, Short.mod1),
        texture=TEXTURE,
        sampler=SAMPLER,
        src=CoordinatePart(Short.dst, COUNT),
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
