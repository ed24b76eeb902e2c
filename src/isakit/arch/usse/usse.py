"""The PowerVR USSE instruction set object: variants, program types, registers, documents.

Source: [usse] 1 for the variant `seed`, [usse] 2.1 and 2.11 for registers.
"""

from __future__ import annotations

from isakit.spec import InstructionSet, NamedSpecial, Ref, RegisterFile, Status, Variant

PRIMARY, SECONDARY = "primary", "secondary"
SGX543, SEED = "!seed", "seed"
"""Needs of the forms of the two variants."""

VARIANTS = {
    v.name: v
    for v in (
        Variant("sgx543", frozenset[str](), "SGX543 (PlayStation Vita, Apple A5)", unit_bits=64, unit_bytes=8),
        Variant(
            "seed",
            frozenset({SEED}),
            "what an early page about the instruction set says, and nothing else",
            unit_bits=64,
            unit_bytes=8,
        ),
    )
}


def _length(unit: int) -> int:
    """Every instruction is one 64-bit word."""
    return 1


_REGISTER = r"\b(?:r|o|pa|sa|i)\d+"

usse = InstructionSet(
    name="usse",
    variants=VARIANTS,
    doc="PowerVR USSE: the shader instruction set of the SGX543.",
    length=_length,
    programs=(PRIMARY, SECONDARY),
    default_program=PRIMARY,
    default_variant="sgx543",
    outputs=frozenset({"dst", "pdst"}),
    ends_with=frozenset({"end"}),
    repeats_with="rpt",
    uniform_inputs=frozenset({"sa"}),
    word_addressed=True,
    sample="vmul.f32 i0.xyzw i1.xyzw sa0.xyzw",
    advice=(
        (rf"(?=.*{_REGISTER}\.[rgba]+\b)", "channels are called x, y, z and w: `i0.xyzw`"),
        (rf"v\w+\.\S+\s(?=.*{_REGISTER}(\s|,|$))", "a vector names its channels: `i0.xyzw`"),
        (
            rf"v\w+\.\S+\s+\S+\s(?=.*{_REGISTER}\.[xyzw]{{1,3}}(\s|,|$))",
            "a source names four channels, whatever is written of them: `pa0.xyzz`",
        ),
    ),
    products=((r"\bvita\b|\bpsp ?2\b|\bpch-", "its shader core is an `sgx543`"),),
    documents={
        "004": "early page on the USSE instruction set from reverse engineering, text 004",
        "usse": "the whole SGX543 instruction set and the GXP container, from compiled shaders and public tools",
    },
    package="isakit.arch.usse",
)

_REGISTERS = Ref("usse", "2.1 Registers")
usse.registers = {
    f.name: f
    for f in (
        RegisterFile(
            "r", 256, 32, "temporaries; the highest numbers an operand can name are i0..i3", "r{n}", _REGISTERS
        ),
        RegisterFile(
            "o",
            256,
            32,
            "outputs of a vertex program; o0 is the colour of the tile in a fragment program",
            "o{n}",
            _REGISTERS,
        ),
        RegisterFile(
            "pa", 256, 32, "primary attributes: vertex attributes, varyings, pre-fetched texels", "pa{n}", _REGISTERS
        ),
        RegisterFile(
            "sa",
            256,
            32,
            "secondary attributes: uniforms, literals, addresses; the same for all invocations",
            "sa{n}",
            _REGISTERS,
        ),
        RegisterFile("i", 16, 32, "internal registers, four f32 each: i0.x is 0, i0.y 1, i1.x 4", "i{n}", _REGISTERS),
        RegisterFile("idx", 4, 32, "index registers idx1 and idx2", "idx{n}", _REGISTERS),
        RegisterFile("p", 4, 1, "predicates", "p{n}", _REGISTERS, flags=("p{n}",)),
        RegisterFile("g", 64, 32, "global special registers; bit 0 of g16 tells the facing", "g{n}", _REGISTERS),
    )
}
usse.results = {
    "primary": frozenset({"o", "pa", "r"}),  # where a fragment's colour is taken from depends on the shader's header
    "secondary": frozenset({"sa"}),
}
usse.special_registers = [
    NamedSpecial(16, "g16", "bit 0: the primitive is back-facing", Ref("usse", "2.1 Registers"), Status.INFERRED),
]
