"""The Tesla instruction set object: variants, registers, spaces, documents.

Source: [001] "Introduction", "Registers", "Memory"; variants by [tesla] 1.
"""

from __future__ import annotations

from dataclasses import replace

from isakit.registry import ARCH_TO_VARIANT
from isakit.spec import InstructionSet, NamedSpecial, Ref, RegisterFile, Space, Status, Variant

COMPUTE, VERTEX, GEOMETRY, FRAGMENT = "compute", "vertex", "geometry", "fragment"

_SM11, _SM12, _FP64, _D3D10_1 = "sm11", "sm12", "fp64", "d3d10_1"

VARIANTS = {
    v.name: replace(v, aliases=(*v.aliases, *(arch for arch, name in ARCH_TO_VARIANT.items() if name == v.name)))
    for v in (
        Variant("g80", frozenset(), "G80 (compute capability 1.0)"),
        Variant("g84", frozenset({_SM11}), "G84, G86, G92 ... G98 (1.1)", aliases=("g86", "g92", "g94", "g96", "g98")),
        Variant("gt200", frozenset({_SM11, _SM12, _FP64, "gt200+"}), "GT200 (1.3)", aliases=("g200",)),
        Variant(
            "gt215",
            frozenset({_SM11, _SM12, _D3D10_1, "gt200+"}),
            "GT215, GT216, GT218, MCP89 (1.2)",
            aliases=("gt216", "gt218", "mcp89"),
        ),
        Variant("mcp77", frozenset({_SM11, _SM12, "gt200+"}), "MCP77, MCP79 (no fp64)", aliases=("mcp79",)),
    )
}


def _length(unit: int) -> int:
    """Odd kinds (1 normal or immediate, 3 control) are long."""
    return 2 if unit & 1 else 1


PRODUCTS = (
    (r"\bnva[ac]\b|8[23]00 ?m?gpu|9[134]00 ?m?gpu|9400m|\bion\b", "its chip is an mcp77 or mcp79, take `mcp77`"),
    (r"\bnv50\b|8800 ?(gtx|ultra|gts(?! ?512))|\bc870\b|fx ?[45]600\b", "its chip is `g80`"),
    (r"\bnva[358f]\b|\bgt ?2[24]0|\bg?210\b|\bgt ?3[1-4]0", "its chip is a gt215, gt216 or gt218, take `gt215`"),
    (r"\bnv(8[46]|9[2468])\b|[89][3-8]\d0|\bgts? ?(1[2-5]0|2[45]0)", "its chip is one of g84 to g98, take `g84`"),
    (r"\bnva0\b|gtx ?2[6-9][05]|\b[cs]10[67]0\b|fx ?[45]800\b", "its chip is `gt200`"),
    (r"fermi|\bgf1|gtx ?[4-9]\d\d\b|sm_[2-9]|kepler|\bgk\d", "Fermi and what came after have other instruction sets"),
)
"""Names of products, and Nouveau's of chips, and which variant each is; the first pattern counts.

Source: NVIDIA's CUDA C guide, appendix A."""

tesla = InstructionSet(
    name="tesla",
    variants=VARIANTS,
    doc="NVIDIA Tesla CUDA ISA: the shader and compute instruction set of G80 to GT21x.",
    length=_length,
    programs=(COMPUTE, VERTEX, GEOMETRY, FRAGMENT),
    default_program=COMPUTE,
    default_variant="gt200",
    misaligned="UNALIGNED_LONG_INSTRUCTION",
    outputs=frozenset({"dst", "cdst", "adst"}),
    prefixes=frozenset({"exit", "join", "long"}),
    param_base=0x10,
    common_spaces=frozenset({"s", *(f"{space}{n}" for space in "cg" for n in range(16))}),
    implied={"add": "rn", "mul": "rn"},
    advice=(
        (r"mov\b[^$]*\$a\d", "an address register is loaded by a shift: `shl $a1 $r1 0x0`"),
        (
            r"mad\b",
            "a product and a sum are `add f32 $r0 (mul $r1 $r2) $r3`, of integers `add $r0 (mul u16 $r1l $r2l) $r3`",
        ),
        (r"(exit|join)\W*$", "it stands before an instruction: `exit nop`, `join nop`"),
        (r"bar\.sync\b|_*syncthreads\b", "all warps of the block meet at `bar inc wait 0x0 all`"),
        (r"ld\b.*\s(g|global)?\[", "a load names its memory: `ld b32 $r0 g14[$r1]` from global memory"),
        (r"st\b.*\s(g|global)?\[", "a store names its memory: `st b32 g14[$r1] $r0` to global memory"),
        (r"set\b.*\b(lt|gt|eq|ne)\b", "conditions are l, e, le, g, lg and ge: `set $c0 # l u32 $r1 $r2`"),
        (r"mov\b.*\ss\[", "an operand in shared memory has its type: `mov b32 $r0 b32 s[0x10]`"),
    ),
    sample="mov b32 $r0 $r1",
    products=PRODUCTS,
    ends_with=frozenset({"exit"}),
    documents={
        "000": "early notes on the Tesla CUDA ISA from reverse engineering, text 000",
        "001": "Tesla CUDA ISA manual page of a later generation of the notes, text 001",
        "003": "Tesla CUDA ISA page on data movement, text 003",
        "tesla": "corrections and additions to the texts above, from compiled code, hardware tests and public tools",
    },
    package="isakit.arch.tesla",
)

tesla.registers = {
    f.name: f
    for f in (
        RegisterFile(
            "r",
            128,
            32,
            "general purpose registers; halves $rNl/$rNh, pairs $rNd, quads $rNq",
            "$r{n}",
            Ref("001", "Registers"),
        ),
        RegisterFile(
            "a",
            8,
            16,
            "address registers; $a0 reads 0, $a5 and $a6 are not writable, $a7 is per warp",
            "$a{n}",
            Ref("tesla", "2.5"),
            frozenset({0}),
        ),
        RegisterFile(
            "c",
            4,
            4,
            "condition codes: bit 0 Z, 1 S, 2 C, 3 O",
            "$c{n}",
            Ref("001", "Registers"),
            flags=("Z", "S", "C", "O"),
        ),
        RegisterFile("o", 128, 32, "output attributes of vertex and geometry programs", "o[{n}]", Ref("001", "Memory")),
    )
}

tesla.results = {
    "vertex": frozenset({"o"}),
    "geometry": frozenset({"o"}),
    "fragment": frozenset({"r", "o"}),  # colours and depth are handed on in $r0 up
}

_SR = Ref("001", "Registers")
tesla.special_registers = [
    NamedSpecial(0, "physid", "lane in bits 7:0, warp 15:8, MP 19:16, TPC 23:20", _SR, Status.KNOWN),
    NamedSpecial(1, "clock", "MP clock counter; any monotonic counter is acceptable", _SR, Status.INFERRED),
    NamedSpecial(2, "sr2", "seems to be always 0", _SR, Status.INFERRED),
    NamedSpecial(
        3, "vstride", "attribute stride, for geometry programs; seems to be always 0x20", _SR, Status.INFERRED
    ),
    *[NamedSpecial(4 + i, f"pm{i}", f"performance counter {i}", _SR, Status.KNOWN) for i in range(4)],
    NamedSpecial(8, "sampleid", "sample number under sample shading", _SR, Status.KNOWN, needs=frozenset({_D3D10_1})),
]

_MEM = Ref("001", "Memory")
tesla.spaces = [
    Space("C[]", "code, 24-bit byte addresses; can only be executed", _MEM),
    Space("c0[]..c15[]", "constants, 16-bit byte addresses, read-only", _MEM),
    Space("l[]", "local memory of a thread, 16-bit byte addresses", _MEM),
    Space("s[]", "shared memory of a block, compute only; starts with the launch header and the parameters", _MEM),
    Space("g0[]..g15[]", "global memory, 32-bit byte addresses, compute only", _MEM),
    Space("a[]", "input attributes, vertex and geometry programs", _MEM),
    Space("p[]", "vertices of the input primitive, geometry programs", _MEM),
    Space("o[]", "output attributes, vertex and geometry programs", _MEM),
    Space("v[]", "interpolated varyings, fragment programs", _MEM),
]
