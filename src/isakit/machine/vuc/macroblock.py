"""Macroblock registers: what mbiread loads, and the values derived from the macroblock type.

Source: [vuc] 6, 9, 14 "MBRING".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from isakit.arch.vuc.lut import (
    B_8X8,
    B_SKIP,
    DIRECT,
    I_NXN,
    I_PCM,
    MB_TYPES,
    P_SKIP,
    QUARTERS,
    SUB_TYPES_B,
    SUB_TYPES_P,
    UNLISTED,
    WITH_SUB_TYPES,
)
from isakit.machine.vuc.mvsurf import in_16_bits
from isakit.machine.vuc.rules.state import MacroblockState

BLOCKS, PARTITIONS, LISTS = 16, 4, 2
FIELD, INTRA, NXN, WHOLE_TRANSFORM, I16X16, USES_L0, USES_L1 = 0, 1, 2, 3, 5, 6, 7
NEXT_FIELD, NEXT_SKIP, IS_DIRECT, ANY_DIRECT, IS_PCM, IS_P_SKIP = 8, 9, 10, 11, 12, 13
WRITABLE_FLAGS = 1 << FIELD | 1 << WHOLE_TRANSFORM


def partition_modes(mb_type: int, sub_types: int) -> list[int]:
    """Return the prediction mode of each partition: 0 direct or none, 1 L0, 2 L1, 3 both."""
    count, _, first, second = MB_TYPES.get(mb_type, UNLISTED)
    if mb_type in WITH_SUB_TYPES:
        table = SUB_TYPES_B if mb_type in (B_8X8, B_SKIP) else SUB_TYPES_P
        return [table[sub_types >> 4 * p & 15][2] for p in range(PARTITIONS)]
    return [first, second, 0, 0][:count] + [0] * (PARTITIONS - count)


def direct_partitions(mb_type: int, sub_types: int) -> list[bool]:
    """Return, for each partition, whether it is predicted in direct mode."""
    if mb_type == 0x40:
        return [True] * PARTITIONS
    if mb_type in (B_8X8, B_SKIP):
        return [SUB_TYPES_B[sub_types >> 4 * p & 15][2] == DIRECT for p in range(PARTITIONS)]
    return [False] * PARTITIONS


def partitioning(mb_type: int, sub_types: int, whole_transform: bool) -> int:
    """Return the $mbpart code: division of the macroblock in bits 1:0, of partition p in the two bits from 2 + 2p."""
    out = MB_TYPES.get(mb_type, UNLISTED)[1]
    if mb_type in WITH_SUB_TYPES:
        table = SUB_TYPES_B if mb_type in (B_8X8, B_SKIP) else SUB_TYPES_P
        for p in range(PARTITIONS):
            out |= table[sub_types >> 4 * p & 15][1] << 2 + 2 * p
    elif mb_type in (I_NXN, I_PCM) and not whole_transform:
        out |= sum(QUARTERS << 2 + 2 * p for p in range(PARTITIONS))
    return out


class Macroblock(MacroblockState):
    """The macroblock registers."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Macroblock) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def dynamic_flags(mb: MacroblockState, spidx: int) -> int:
    """Return $mbflags, except for the bits about the next macroblock."""
    p = spidx >> 2 & 3
    mode = partition_modes(mb.type, mb.sub_types)[p]
    direct = direct_partitions(mb.type, mb.sub_types)
    out = mb.flags & WRITABLE_FLAGS
    out |= (mode & 1) << USES_L0 | (mode >> 1) << USES_L1 | direct[p] << IS_DIRECT | any(direct) << ANY_DIRECT
    intra = mb.type <= I_PCM
    out |= intra << INTRA | (mb.type == I_NXN) << NXN | (0 < mb.type < I_PCM) << I16X16
    return out | (mb.type == I_PCM) << IS_PCM | (mb.type == P_SKIP) << IS_P_SKIP


@dataclass
class Input:
    """One macroblock parsed from the ring, in the encoding of the packets.

    `header`: payload words of the header packet; `vectors`: payload words of the motion vector packet or None; `coded`:
    the coded block pattern words; `residual`: payload words of coefficient and sample packets; `weights`: (index, word)
    writes of prediction weight packets before it.
    """

    header: tuple[int, ...] = ()
    vectors: tuple[int, ...] | None = None
    coded: tuple[int, ...] = ()
    residual: list[tuple[int, tuple[int, ...]]] = field(default_factory=list[tuple[int, tuple[int, ...]]])
    weights: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    @property
    def field_flag(self) -> int:
        """mb_field_decoding_flag of an H.264 macroblock."""
        return self.header[2] >> 2 & 1 if len(self.header) > 2 else 0

    @property
    def skip_flag(self) -> int:
        """mb_skip_flag of an H.264 macroblock."""
        return self.header[2] >> 1 & 1 if len(self.header) > 2 else 0


P_SLICE, B_SLICE, I_SLICE = 0, 1, 2


def machine_type(mb_type: int, slice_type: int, skipped: bool) -> int:
    """Return the $mbtype of a bitstream's mb_type number in a slice of a type."""
    if skipped:
        return P_SKIP if slice_type == P_SLICE else B_SKIP
    if slice_type == P_SLICE:
        return 0x20 + mb_type if mb_type < 5 else mb_type - 5
    if slice_type == B_SLICE:
        return 0x40 + mb_type if mb_type < 23 else mb_type - 23
    return mb_type


def load_vectors(mb: Macroblock, words: tuple[int, ...]) -> None:
    """Fill vectors and reference indices from a motion vector packet (high reference bits, then 32 words)."""
    high, vectors = words[0], words[1:33]
    for i, w in enumerate(vectors):
        which, block = divmod(i, BLOCKS)
        mb.vectors[2 * which * BLOCKS + block] = in_16_bits(w >> 13 & 0x7FFF, 15)
        mb.vectors[(2 * which + 1) * BLOCKS + block] = in_16_bits(w & 0x1FFF, 13)
        if block % 4 == 0:
            mb.refs[which * PARTITIONS + block // 4] = w >> 28 & 15 | (high >> i & 1) << 4


def from_h264(source: Input, slice_type: int, intra_ref: int) -> Macroblock:
    """Return the registers mbiread sets for an H.264 macroblock; reference picture indices are looked up later."""
    mb = Macroblock()
    w = (*source.header, 0, 0, 0, 0)[:4]
    skipped = bool(source.skip_flag)
    mb.addr = w[0] & 0x1FFF | (w[2] & 1) << 15
    mb.xy = w[1] & 0xFFFF
    mb.type = machine_type(w[2] >> 3 & 0x3F, slice_type, skipped)
    mb.sub_types = 0 if skipped else w[2] >> 9 & 0xFFFF
    mb.flags = source.field_flag << FIELD | (w[2] >> 25 & 1) << WHOLE_TRANSFORM
    if not skipped:
        mb.qpy = w[3] & 0x3F | (w[3] >> 6 & 3) << 8
    mb.part = partitioning(mb.type, mb.sub_types, bool(w[2] >> 25 & 1))
    if source.vectors is not None:
        load_vectors(mb, source.vectors)
    elif mb.type <= I_PCM:
        mb.refs = [intra_ref & 0xFFFF] * (LISTS * PARTITIONS)
    return mb


def from_mpeg2(source: Input) -> Macroblock:
    """Return the registers mbiread sets for an MPEG-1 or MPEG-2 macroblock.

    Only $mbxy, $mbaddr and the quantiser in $qpy follow from documents. The rest is a convention: $mbtype holds the low
    half of the flag word, partitions 0-1 and 2-3 show the raw PMV[0] and PMV[1] of the motion vector packet.
    """
    mb = Macroblock()
    w = (*source.header, 0, 0, 0, 0)[:4]
    mb.addr, mb.xy, mb.type = w[0] & 0xFFFF, w[1] & 0xFFFF, w[2] & 0xFFFF
    mb.qpy = w[3] >> 8 & 0x1F
    if source.vectors is not None:
        halves = [h for word in source.vectors[:4] for h in (word & 0xFFFF, word >> 16)]
        for r in range(2):
            for k in range(4):  # k = 2 * list + component
                for block in range(8 * r, 8 * r + 8):
                    mb.vectors[BLOCKS * k + block] = halves[4 * r + k] if 4 * r + k < len(halves) else 0
    return mb
