"""The instructions of PTX, one row per spelling, in the notation of the manual.

`{...}` may be left out; `.name` stands for one of the words of the set `name`, any other `.word` for itself. The words
of an opcode may come in any order, as NVIDIA's assembler takes them; where two of them fit the same place, as the types
of `cvt` do, the order of the row counts. The name before a row is that of its translation. Rows of `REFUSED` exist in
PTX and have no counterpart on these chips. Source: the PTX ISA manual 1.0 to 8.8, chapter "Instruction Set".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, product

from isakit.compile.ptx.syntax import SIZES
from isakit.errors import DefinitionError

SETS: dict[str, str] = {
    "int": "u16 s16 u32 s32 u64 s64",
    "bits": "b16 b32 b64",
    "flt": "f32 f64",
    "any": "u8 s8 b8 u16 s16 b16 u32 s32 b32 u64 s64 b64 f32 f64",
    "move": "b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64 pred b128",
    "sel": "b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64",
    "rnd": "rn rz rm rp",
    "rni": "rn rz rm rp rni rzi rmi rpi",
    "cmp": "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan",
    "bool": "and or xor",
    "cmpt": "b16 b32 b64 u16 s16 u32 s32 u64 s64 f32 f64",
    "sett": "u32 s32 f32",
    "cvt": "u8 s8 u16 s16 u32 s32 u64 s64 f16 f32 f64",
    "cache": "ca cg cs lu cv wb wt nc",
    "evict": "L1::evict_last L1::evict_normal L1::evict_first L1::no_allocate",
    "size": "L2::64B L2::128B L2::256B",
    "order": "volatile relaxed acquire release weak",
    "scope": "cta gpu sys",
    "space": "const global local param shared shared::cta",
    "vec": "v2 v4",
    "aop": "and or xor exch add inc dec min max cas",
    "atype": "b32 b64 u32 u64 s32 s64 f32 f64",
    "aspace": "global shared shared::cta",
    "geom": "1d 2d 3d a1d a2d cube acube",
    "texd": "u32 s32 f32",
    "texc": "s32 f32",
    "level": "cta gl sys",
    "vote": "all any uni",
    "half": "lo hi",
    "wide": "hi lo wide",
    "approx": "approx full rn rz rm rp",
    "fence": "sc acq_rel",
    "ptr": "global shared local const",
    "addr": "u32 u64",
    "bfe": "u32 s32 u64 s64",
    "b3264": "b32 b64",
    "query": "width height depth channel_data_type channel_order normalized_coords force_unnormalized_coords "
    "filter_mode addr_mode_0 addr_mode_1 addr_mode_2",
    "class": "finite infinite number notanumber normal subnormal",
}

ROWS = """
add_int      add{.sat}.int d, a, b
add_cc       add.cc.addt d, a, b              addt = u32 s32 u64 s64
addc         addc{.cc}.addt d, a, b           addt = u32 s32 u64 s64
sub_int      sub{.sat}.int d, a, b
sub_cc       sub.cc.addt d, a, b              addt = u32 s32 u64 s64
subc         subc{.cc}.addt d, a, b           addt = u32 s32 u64 s64
add_flt      add{.rnd}{.ftz}{.sat}.flt d, a, b
sub_flt      sub{.rnd}{.ftz}{.sat}.flt d, a, b
mul_flt      mul{.rnd}{.ftz}{.sat}.flt d, a, b
mad_flt      mad{.rnd}{.ftz}{.sat}.flt d, a, b, c
fma          fma.rnd{.ftz}{.sat}.flt d, a, b, c
mul_int      mul.wide.int d, a, b
mul_int      mul{.half}.int d, a, b
mad_int      mad.wide{.sat}.int d, a, b, c
mad_int      mad{.half}{.sat}.int d, a, b, c
mad_cc       mad.half.cc.t d, a, b, c         t = u32 s32 u64 s64
madc         madc.half{.cc}.t d, a, b, c      t = u32 s32 u64 s64
mul24        mul24.half.t d, a, b             t = u32 s32
mad24        mad24.half{.sat}.t d, a, b, c    t = u32 s32
sad          sad.int d, a, b, c
div_int      div{.wide}.int d, a, b
rem_int      rem{.wide}.int d, a, b
div_flt      div{.approx}{.ftz}{.sat}.flt d, a, b
abs_int      abs.t d, a                       t = s16 s32 s64
abs_flt      abs{.ftz}.flt d, a
neg_int      neg.t d, a                       t = s16 s32 s64
neg_flt      neg{.ftz}.flt d, a
min_int      min.int d, a, b
max_int      max.int d, a, b
min_flt      min{.ftz}.flt d, a, b
max_flt      max{.ftz}.flt d, a, b
rcp          rcp{.approx}{.ftz}{.sat}.flt d, a
sqrt         sqrt{.approx}{.ftz}{.sat}.flt d, a
rsqrt        rsqrt{.approx}{.ftz}{.sat}.flt d, a
sfu_sin      sin{.approx}{.ftz}{.sat}.f32 d, a
sfu_cos      cos{.approx}{.ftz}{.sat}.f32 d, a
sfu_lg2      lg2{.approx}{.ftz}{.sat}.f32 d, a
sfu_ex2      ex2{.approx}{.ftz}{.sat}.f32 d, a
frc          frc{.approx}{.ftz}{.sat}.f32 d, a
copysign     copysign.flt d, a, b
testp        testp.class.flt p, a
logic        and.t d, a, b                    t = b16 b32 b64 pred
logic        or.t d, a, b                     t = b16 b32 b64 pred
logic        xor.t d, a, b                    t = b16 b32 b64 pred
not          not.t d, a                       t = b16 b32 b64 pred
cnot         cnot.bits d, a
shl          shl.bits d, a, b
shr          shr.t d, a, b                    t = b16 b32 b64 u16 u32 u64 s16 s32 s64
shf          shf.dir.mode.b32 d, a, b, c      dir = l r; mode = clamp wrap
popc         popc.b3264 d, a
clz          clz.b3264 d, a
brev         brev.b3264 d, a
bfe          bfe.bfe d, a, b, c
bfi          bfi.b3264 d, a, b, c, e
bfind        bfind{.shiftamt}.bfe d, a
prmt         prmt.b32{.mode} d, a, b, c       mode = f4e b4e rc8 ecl ecr rc16
lop3         lop3.b32 d, a, b, c, e
set          set.cmp{.ftz}.sett.cmpt d, a, b
set          set.cmp.bool{.ftz}.sett.cmpt d, a, b, c
setp         setp.cmp{.ftz}.cmpt p, a, b
setp         setp.cmp.bool{.ftz}.cmpt p, a, b, c
selp         selp.sel d, a, b, c
slct         slct{.ftz}.sel.t d, a, b, c      t = s32 f32
mov          mov.move d, a
cvt          cvt{.rni}{.ftz}{.sat}.cvt.from d, a   from = u8 s8 u16 s16 u32 s32 u64 s64 f16 f32 f64
cvta         cvta{.to}.ptr.addr d, a
isspacep     isspacep.ptr p, a
ld           ld{.order}{.space}{.cache}{.evict}{.size}{.vec}.any d, [a]
ld           ld{.order}.scope{.space}{.evict}{.size}{.vec}.any d, [a]
ldu          ldu{.space}{.vec}.any d, [a]
st           st{.order}{.space}{.cache}{.evict}{.vec}.any [a], b
st           st{.order}.scope{.space}{.evict}{.vec}.any [a], b
prefetch     prefetch{.space}.L1 [a]
prefetch     prefetch{.space}.L2 [a]
prefetch     prefetchu.L1 [a]
tex          tex.geom{.v4}.texd.texc d, [a]{, b}
txq          txq.query.b32 d, [a]
atom         atom{.sem}{.scope}{.aspace}.aop.atype d, [a], b{, c}   sem = relaxed acquire release acq_rel
red          red{.sem}{.scope}{.aspace}.aop.atype [a], b            sem = relaxed acquire release acq_rel
vote         vote.vote.pred p, a
ballot       vote.ballot.b32 d, a
bar          bar.sync a{, b}
bar          barrier{.cta}.sync{.aligned} a{, b}
bar          bar.cta.sync a{, b}
bar_popc     bar{.cta}.red.popc.u32 d, a, b{, c}
bar_popc     barrier{.cta}.red.popc{.aligned}.u32 d, a, b{, c}
bar_pred     bar{.cta}.red.barop.pred p, a, b{, c}               barop = and or
bar_pred     barrier{.cta}.red.barop{.aligned}.pred p, a, b{, c}   barop = and or
arrive       bar.arrive a, b
membar       membar.level
fence        fence{.fence}.scope
bra          bra{.uni} a
brx          brx.idx{.uni} a, b
exit         exit
ret          ret{.uni}
trap         trap
brkpt        brkpt
pmevent      pmevent a
nanosleep    nanosleep.u32 a
call         call{.uni} a{, b}{, c}{, e}
"""

REFUSED: dict[str, str] = {
    "shfl": "these chips cannot move values between lanes; go through shared memory",
    "match": "these chips cannot compare values of lanes",
    "activemask": "these chips cannot tell a lane which lanes are active",
    "elect": "these chips cannot elect a lane",
    "redux": "these chips cannot reduce over lanes",
    "suld": "surfaces came after these chips",
    "sust": "surfaces came after these chips",
    "sured": "surfaces came after these chips",
    "suq": "surfaces came after these chips",
    "istypep": "references through pointers came after these chips",
    "tld4": "texture gathers came with sm_20",
    "tanh": "these chips have no hyperbolic tangent",
    "dp4a": "there are no dot products of bytes on these chips",
    "dp2a": "there are no dot products of bytes on these chips",
    "cp": "asynchronous copies came after these chips",
    "mbarrier": "barriers in memory came after these chips",
    "wmma": "matrix instructions came after these chips",
    "mma": "matrix instructions came after these chips",
    "ldmatrix": "matrix instructions came after these chips",
    "alloca": "these chips have no stack pointer",
    "stacksave": "these chips have no stack pointer",
    "stackrestore": "these chips have no stack pointer",
    "mapa": "clusters came after these chips",
    "createpolicy": "cache policies came after these chips",
    "discard": "cache control came after these chips",
    "applypriority": "cache control came after these chips",
    "griddepcontrol": "dependent launches came after these chips",
    "setmaxnreg": "register counts are fixed on these chips",
    "getctarank": "clusters came after these chips",
    "fns": "finding the n-th set bit came after these chips",
    "szext": "extensions of bit fields came after these chips; `bfe` is expanded",
    "bmsk": "masks of bit fields came after these chips; `bfi` is expanded",
}
for _name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset", "vadd2", "vadd4", "vavrg2",
              "vavrg4", "vset2", "vset4", "vsub2", "vsub4", "vmin2", "vmin4", "vmax2", "vmax4", "vabsdiff2",
              "vabsdiff4"):  # fmt: skip
    REFUSED[_name] = "video instructions came after these chips"


@dataclass(frozen=True)
class GrammarRow:
    """One spelling.

    Attributes:
        key: names its translation.
        base: the opcode up to its first dot.
        slots: (name, words, optional) of the modifiers after it.
        least, most: how many operands it takes.
        text: the spelling as the manual of PTX writes it: types are called `.type`, or `.dtype` and `.stype`.
        words: the words that each name in `text` stands for.
    """

    key: str
    base: str
    slots: tuple[tuple[str, frozenset[str], bool], ...]
    least: int
    most: int
    text: str
    words: dict[str, frozenset[str]]


@dataclass(frozen=True)
class Spelling:
    """A matched opcode: the row, and the word each slot got ("" for one left out)."""

    row: GrammarRow
    mods: dict[str, str]


_SLOT = re.compile(r"\{\.([\w:]+)\}|\.([\w:]+)")


def _row(line: str) -> GrammarRow:
    key, rest = line.split(None, 1)
    sets = dict(SETS)
    if " = " in rest:
        m = re.search(r"\s{2,}(\w+ = .*)$", rest)
        if m is None:
            raise DefinitionError(f"PTX grammar, `{line}`: two blanks stand before `NAME = WORDS`")
        rest = rest[: m.start()]
        for part in m[1].split(";"):
            name, words = part.split(" = ")
            sets[name.strip()] = words
    opcode, _, operands = rest.strip().partition(" ")
    base = re.match(r"\w+", opcode)
    if base is None or rest.count("{") != rest.count("}"):
        raise DefinitionError(f"PTX grammar, `{line}`: this is not an opcode with its operands")
    slots = [
        (m[1] or m[2], frozenset(sets.get(m[1] or m[2], m[1] or m[2]).split()), bool(m[1]))
        for m in _SLOT.finditer(opcode)
    ]
    names = re.findall(r"\{,|,", operands)
    most = len(names) + 1 if operands.strip() else 0
    types = [name for name, words, _ in slots if len(words) > 1 and words <= SIZES.keys()]
    called = dict(zip(types, ("dtype", "stype") if len(types) > 1 else ("type",), strict=False))
    words = {called.get(name, name): some for name, some, _ in slots if some - {name}}
    text = re.sub(r"(?<=\.)\w+", lambda m: called.get(m[0], m[0]), opcode)
    return GrammarRow(key, base[0], tuple(slots), most - names.count("{,"), most, f"{text} {operands}".strip(), words)


@cache
def rows() -> dict[str, tuple[GrammarRow, ...]]:
    """Return all rows by their base opcode."""
    out: dict[str, tuple[GrammarRow, ...]] = {}
    for line in ROWS.strip().splitlines():
        row = _row(line)
        out[row.base] = (*out.get(row.base, ()), row)
    return out


@lru_cache(4096)
def match(opcode: str) -> Spelling | None:
    """Return the spelling of an opcode in the grammar, None if there is none."""
    base, *words = opcode.split(".")
    for fill in (_fill, _fill_in_any_order):
        for row in rows().get(base, ()):
            mods = fill(row.slots, words)
            if mods is not None:
                return Spelling(row, mods)
    return None


Slots = tuple[tuple[str, frozenset[str], bool], ...]


def _fill(slots: Slots, words: list[str]) -> dict[str, str] | None:
    mods: dict[str, str] = {}
    k = 0
    for i, (name, allowed, optional) in enumerate(slots):
        if k < len(words) and words[k] in allowed:
            if optional:
                rest = _fill(slots[i + 1 :], words[k + 1 :])
                if rest is not None:
                    return mods | {name: words[k]} | rest
                mods[name] = ""
                continue
            mods[name] = words[k]
            k += 1
        elif optional:
            mods[name] = ""
        else:
            return None
    return mods if k == len(words) else None


def _fill_in_any_order(slots: Slots, words: list[str]) -> dict[str, str] | None:
    """Fill each word into the first slot that takes it and is free."""
    mods = {name: "" for name, _, _ in slots}
    for word in words:
        slot = next((name for name, allowed, _ in slots if word in allowed and not mods[name]), None)
        if slot is None:
            return None
        mods[slot] = word
    return mods if all(mods[name] or optional for name, _, optional in slots) else None


def near(opcode: str) -> tuple[str, ...]:
    """Return the spellings that an unknown opcode may have been meant as: those with its base."""
    return tuple(row.text for row in rows().get(opcode.split(".")[0], ()))


def tables() -> str:
    """Return tables of supported and unsupported instructions, as Markdown."""

    def table(head: str, lines: list[tuple[str, str]]) -> str:
        return "\n".join([f"| {head} |", "|---|---|", *(f"| `{a}` | {b} |" for a, b in lines)])

    def types(row: GrammarRow) -> str:
        some = [" ".join(sorted(row.words[name])) for name in ("type", "dtype", "stype") if name in row.words]
        return f"`{row.text}`" + (f" ({'; '.join(some)})" if some else "")

    known = [(base, "<br>".join(types(row) for row in rows()[base])) for base in sorted(rows())]
    others = sorted({
        (name, " ".join(sorted(words)))
        for row in chain.from_iterable(rows().values())
        for name, words in row.words.items() if not name.endswith("type")
    })  # fmt: skip
    refused = [(base, REFUSED[base]) for base in sorted(REFUSED)]
    return "\n\n".join((
        table("instruction | spellings, with their types", known),
        table("word | is one of", [(f".{name}", words) for name, words in others]),
        "## Not supported",
        table("instruction | why", refused),
    )) + "\n"  # fmt: skip


def spellings(limit: int = 4096) -> list[tuple[GrammarRow, dict[str, str]]]:
    """Return up to `limit` spellings of every row, without modifiers that only steer caches."""
    out: list[tuple[GrammarRow, dict[str, str]]] = []
    for group in rows().values():
        for row in group:
            choices = [
                [""] if name in ("cache", "evict", "size", "order", "scope", "sem") and optional
                else [*([""] if optional else []), *sorted(words)]
                for name, words, optional in row.slots
            ]  # fmt: skip
            for n, words in enumerate(product(*choices)):
                if n >= limit:
                    break
                out.append((row, dict(zip((s[0] for s in row.slots), words, strict=True))))
    return out
