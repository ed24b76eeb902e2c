"""The vµc instruction set object: variants, registers, spaces, documents.

Source: [002] "Introduction" and 2, [vuc] 1, 9, 13.
"""

from __future__ import annotations

from isakit.arch.vuc.registers import SPECIAL_REGISTERS
from isakit.spec import InstructionSet, Pseudo, Ref, RegisterFile, Space, Variant

VARIANTS = {
    v.name: v
    for v in (
        Variant(
            "vp2",
            frozenset(),
            "VP2: G84 to G98, G200, inside PBSP; 40-bit words",
            unit_bits=40,
            unit_bytes=8,
            aliases=("g84", "g86", "g92", "g94", "g96", "g200"),
        ),
        Variant(
            "vp3",
            frozenset({"vp3+"}),
            "VP3: G98, MCP77, MCP79, inside PPDEC; 30-bit words",
            unit_bits=30,
            aliases=("g98", "mcp77", "mcp79"),
        ),
        Variant(
            "vp4",
            frozenset({"vp3+"}),
            "VP4: GT215 to GF119, inside PPDEC; 30-bit words",
            unit_bits=30,
            aliases=("gt215", "gt216", "gt218", "mcp89", "gf100"),
        ),
    )
}

_LARGEST_MOV = 0x3FFF
"""The largest immediate of `mov`; [vuc] 2."""


def _load_immediate(register: str, value: int) -> list[str]:
    """One or two instructions that put any 16-bit number into a register."""
    value &= 0xFFFF
    if value <= _LARGEST_MOV:
        return [f"mov {register} {value:#x}"]
    if 0xFFFF - value <= _LARGEST_MOV:
        return [f"mov {register} {0xFFFF - value:#x}", f"not {register} {register}"]
    return [f"mov {register} {value & _LARGEST_MOV:#x}", f"bset {register} {register} {value.bit_length() - 1:#x}"]


vuc = InstructionSet(
    name="vuc",
    sample="mov $r1 $r2",
    variants=VARIANTS,
    doc="vµc: the microcontroller of NVIDIA's VP2, VP3 and VP4 video decoders.",
    length=lambda unit: 1,
    default_variant="vp3",
    word_addressed=True,
    pseudo={
        "li": Pseudo(
            "li $rN VALUE",
            "Load any 16-bit number, in one instruction (up to 0x3fff) or two.",
            _load_immediate,
            -0x8000,
            0xFFFF,
        )
    },
    outputs=frozenset({"dst", "pdst"}),
    uniform_inputs=None,
    documents={
        "002": "early notes on the vµc ISA from reverse engineering, text 002",
        "vuc": "corrections and additions to the text above, from later notes and public tools",
        "h264": "Rec. ITU-T H.264",
    },
    in_front=frozenset({"rbra"}),
    package="isakit.arch.vuc",
)

vuc.registers = {
    f.name: f
    for f in (
        RegisterFile(
            "r",
            16,
            16,
            "general purpose registers; $r0 reads 0 and ignores writes",
            "$r{n}",
            Ref("002", "Introduction"),
            frozenset({0}),
        ),
        RegisterFile(
            "p",
            16,
            1,
            "predicates; $p1 is NOT $p0 and $p15 is 1, both read-only",
            "$p{n}",
            Ref("002", "Introduction"),
            frozenset({15}),
            ("$p{n}",),
        ),
        RegisterFile(
            "acc", 1, 32, "the long accumulator $lhi:$llo as the long unit sees it", "$lhi:$llo", Ref("vuc", "5")
        ),
        RegisterFile("sr", 64, 16, "special registers; many have side effects", "$sr{n}", Ref("vuc", "9")),
    )
}
vuc.delay_slots = 1
vuc.results = {"": frozenset(vuc.registers)}  # the core keeps its state for the next program
vuc.special_registers = list(SPECIAL_REGISTERS)

_SPACES = Ref("vuc", "13")
vuc.spaces = [
    Space("D[]", "0x800 cells of 16 bits, cell addressed; shared with the host", _SPACES, cell=2),
    Space("PWT[]", "0x200 bytes of prediction weights, byte addressed, loads only; filled from the MBRING", _SPACES),
    Space("VP[]", "0x400 bytes of VPRING output, byte addressed, stores only", _SPACES),
    Space("MVSI[]", "0x100 cells: the macroblock pair read by mvsread, loads only", _SPACES, cell=2),
    Space("MVSO[]", "0x80 cells: the macroblock that mvswrite writes, stores only", _SPACES, cell=2),
    Space("B6[]", "I/O space, ld6 and st6; content unknown, B6[0] reads 2 in H.264 mode", _SPACES, cell=2),
    Space("B7[]", "I/O space towards the video pipeline, ld7 and st7; content unknown", _SPACES, cell=2),
    Space("C[]", "0x800 instruction words; written by the host only", Ref("002", "Introduction")),
]
