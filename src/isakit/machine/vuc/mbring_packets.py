"""Encoders for packets of the macroblock ring, as a bitstream parser in front of the core would write them.

Every function returns 32-bit words; a macroblock is its packets in the order of `macroblock`. Source: [vuc] 14
"MBRING"; inferred parts are marked where they are built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isakit.description import words_of
from isakit.errors import LaunchError
from isakit.machine.vuc.mbring import (
    CODED,
    END,
    HEADER,
    RESIDUAL,
    SAMPLES,
    VECTORS,
    VP2_CODED,
    VP2_WEIGHTS,
    WEIGHTS,
)

H264_SAMPLES = 384
"""Samples of a macroblock in 4:2:0: 256 of luma, 64 of each chroma component."""
CHUNK, COEFFICIENTS = 4, 64
"""Coefficients per bit of a chunk mask, and per mask."""
MOTION_TYPES = ("field", "frame", "16x8", "dual_prime")
DENOMINATORS = 0x80
"""Index of the write that sets both denominators."""


def packet(kind: int, payload: Sequence[int], count: int | None = None) -> list[int]:
    """Return the header word and payload; `count` if it is not the number of payload words."""
    return [kind << 24 | (len(payload) if count is None else count), *payload]


def vectors_packet(vectors: Sequence[tuple[int, int, int]], vp2: bool) -> list[int]:
    """Return a type 1 packet from 32 (x, y, reference index): list 0 blocks 0..15, then list 1."""
    words = [(y & 0x1FFF) | (x & 0x7FFF) << 13 | (ref & 15) << 28 for x, y, ref in vectors]
    high = sum((ref >> 4 & 1) << i for i, (_, _, ref) in enumerate(vectors))
    return packet(VECTORS, [high, *words], len(words) if vp2 else None)


def header_packet(
    *,
    address: int,
    x: int,
    y: int,
    mb_type: int = 0,
    skip: bool = False,
    first: bool = False,
    is_field: bool = False,
    sub_types: int = 0,
    transform8x8: bool = False,
    qp_delta: int = 0,
    chroma_mode: int = 0,
    intra_modes: tuple[int, int] = (0, 0),
) -> list[int]:
    """Return a type 0 packet of an H.264 macroblock; `mb_type` is the bitstream's number, `sub_types` four nibbles."""
    flags = int(first) | int(skip) << 1 | int(is_field) << 2
    words = [address & 0x1FFF, y | x << 8, flags]
    if not skip:
        words[2] |= (mb_type & 0x3F) << 3 | (sub_types & 0xFFFF) << 9 | int(transform8x8) << 25
        words += [qp_delta & 0x3F | chroma_mode << 6, *intra_modes]
    return packet(HEADER, words)


def coded_packet(mask: int, vp2: bool) -> list[int]:
    """Return the packet that ends a macroblock that is not skipped: the mask of blocks with coefficients."""
    return packet(VP2_CODED if vp2 else CODED, [mask])


@dataclass(frozen=True)
class PredictionWeight:
    """Explicit weighted prediction by one reference picture, as in a slice header's pred_weight_table.

    Weights and offsets are signed 8-bit numbers: `luma` is (weight, offset), `chroma` those of Cb and of Cr; None if
    the flag is 0 and the default applies. Source: [h264] 7.4.3.2.
    """

    luma: tuple[int, int] | None = None
    chroma: tuple[tuple[int, int], tuple[int, int]] | None = None


def weights_packet(
    luma_log2: int,
    chroma_log2: int,
    list0: Sequence[PredictionWeight],
    list1: Sequence[PredictionWeight] = (),
    *,
    vp2: bool,
) -> list[int]:
    """Return the packet of a slice's prediction weights, before its first macroblock.

    The logarithms of the denominators are 0 to 7, a list has up to 32 entries. The defaults for a flag of 0 are
    written, too: weight 2**log2 and offset 0. Raises LaunchError for numbers that do not fit.
    """
    _within("a denominator", 0, 7, luma_log2, chroma_log2)
    writes = [(DENOMINATORS, chroma_log2 | luma_log2 << 3)]
    for base, weights in ((0, list0), (0x40, list1)):
        if len(weights) > 32:
            raise LaunchError(f"{len(weights)} prediction weights in a list: there are at most 32")
        for i, w in enumerate(weights):
            _within("a weight or an offset", -128, 127, *(w.luma or ()), *(n for pair in w.chroma or () for n in pair))
            luma = w.luma or (1 << luma_log2, 0)
            cb, cr = w.chroma or ((1 << chroma_log2, 0),) * 2
            flags = int(w.chroma is not None) | int(w.luma is not None) << 1
            writes.append((base + 2 * i, _bytes(luma[1], luma[0], flags, 0)))
            writes.append((base + 2 * i + 1, _bytes(cr[1], cr[0], cb[1], cb[0])))
    words = [word for write in writes for word in write]
    return packet(VP2_WEIGHTS, words, len(writes)) if vp2 else packet(WEIGHTS, words)


def coefficients_packet(blocks: Sequence[Sequence[int]], vp2: bool) -> list[int]:
    """Return the packet of the coefficients of the blocks that have any, in raster order inside a block, 16-bit signed.

    VP3 and VP4 compress them: a mask of chunks of four for every 64 coefficients, the size of each coefficient of a
    chunk, and its bytes; the end is padded to a word. Blocks are not separated by padding; smaller blocks share a mask
    [inferred]. Raises LaunchError for numbers that do not fit.
    """
    values = [v for block in blocks for v in block]
    _within("a coefficient", -0x8000, 0x7FFF, *values)
    if vp2:
        data = b"".join((v & 0xFFFF).to_bytes(2, "little") for v in values)
        return packet(RESIDUAL, _words(data), len(values))
    data = b""
    for start in range(0, len(values), COEFFICIENTS):
        data += _compressed(values[start : start + COEFFICIENTS])
    return packet(RESIDUAL, _words(data))


def _compressed(values: Sequence[int]) -> bytes:
    chunks = [values[k : k + CHUNK] for k in range(0, len(values), CHUNK)]
    mask, body = 0, b""
    for k, chunk in enumerate(chunks):
        sizes = [0 if v == 0 else 1 if -128 <= v < 128 else 2 for v in chunk]
        if any(sizes):
            mask |= 1 << k
            body += bytes([sum(size << 2 * j for j, size in enumerate(sizes))])
            body += b"".join(
                (v & (1 << 8 * size) - 1).to_bytes(size, "little") for v, size in zip(chunk, sizes, strict=True)
            )
    return mask.to_bytes(2, "little") + body


def samples_packet(samples: Sequence[int], vp2: bool) -> list[int]:
    """Return the packet of the 384 samples of an I_PCM macroblock: luma, Cb, Cr, each in raster order, 8 bits.

    VP2 takes them in a coefficient packet, 16 bits each [inferred from its count]. Raises LaunchError for another
    number of them.
    """
    if len(samples) != H264_SAMPLES:
        raise LaunchError(f"{len(samples)} samples: a macroblock has {H264_SAMPLES}")
    _within("a sample", 0, 255, *samples)
    if vp2:
        return coefficients_packet([samples], vp2)
    return packet(SAMPLES, _words(bytes(samples)))


def end_packet() -> list[int]:
    """Return the packet that ends the stream; VP3 and VP4."""
    return packet(END, [])


# --- MPEG-1 and MPEG-2: VP3 and VP4 ----------------------------------------------------------------------------------
@dataclass(frozen=True)
class MotionVector:
    """One motion vector as an MPEG bitstream codes it ([mpeg2] 6.2.5.2.1).

    `code` is motion_code (-16 to 16), `residual` motion_residual, `field_select` motion_vertical_field_select,
    `dual_prime` dmvector (-1 to 1).
    """

    code: int = 0
    residual: int = 0
    field_select: int = 0
    dual_prime: int = 0

    @property
    def bits(self) -> int:
        """The 16 bits of the packet. The field selection and the low bit of dmvector share bit 14."""
        out = self.code & 0x3F | (self.residual & 0xFF) << 6
        return out | (self.field_select & 1) << 14 | (self.dual_prime & 3) << 14


def mpeg_vectors_packet(vectors: Sequence[Sequence[Sequence[MotionVector]]]) -> list[int]:
    """Return a type 1 packet of MPEG-2 from vectors[r][s][t]: first or second, forward or backward, x or y.

    Raises LaunchError for another shape than 2 x 2 x 2 and for numbers that do not fit.
    """
    halves = [t.bits for r in vectors for s in r for t in s]
    if len(halves) != 8:
        raise LaunchError(f"{len(halves)} components of motion vectors: an MPEG-2 macroblock has 2 x 2 x 2")
    _within("a motion_code", -16, 16, *(t.code for r in vectors for s in r for t in s))
    return packet(VECTORS, [halves[k] | halves[k + 1] << 16 for k in range(0, 8, 2)])


def mpeg_header_packet(
    *,
    address: int,
    x: int,
    y: int,
    coded: bool = True,
    skipped: bool = False,
    quant: bool = False,
    forward: bool = False,
    backward: bool = False,
    pattern: bool = False,
    intra: bool = False,
    dct_type: int = 0,
    motion_type: str = "frame",
    vector_count: int = 1,
    quantiser: int = 1,
) -> list[int]:
    """Return a type 0 packet of an MPEG-1 or MPEG-2 macroblock; flags are named as in its macroblock_type.

    `motion_type`: field, frame, 16x8 or dual_prime; `quantiser`: quantiser_scale_code, 0 to 31. Raises LaunchError for
    numbers that do not fit.
    """
    if motion_type not in MOTION_TYPES:
        raise LaunchError(f"motion type {motion_type!r}: there are {', '.join(MOTION_TYPES)}")
    _within("a quantiser_scale_code", 0, 31, quantiser)
    _within("a count of motion vectors", 0, 3, vector_count)
    flags = (not coded, skipped, False, quant, forward, backward, pattern, intra)
    word = sum(int(flag) << k for k, flag in enumerate(flags))
    word |= (dct_type & 1) << 26 | MOTION_TYPES.index(motion_type) << 27
    return packet(HEADER, [address & 0xFFFF, y | x << 8, word, vector_count << 6 | quantiser << 8])


def mpeg_error_packet(*, address: int, x: int, y: int) -> list[int]:
    """Return a type 0 packet that reports an error in the bitstream at a macroblock."""
    return packet(HEADER, [address & 0xFFFF | 1 << 16, y | x << 8, 0])


# --- helpers ---------------------------------------------------------------------------------------------------------
def _bytes(*values: int) -> int:
    return int.from_bytes(bytes(v & 0xFF for v in values), "little")


def _words(data: bytes) -> list[int]:
    return words_of(data + bytes(-len(data) % 4))


def _within(what: str, low: int, high: int, *values: int) -> None:
    for v in values:
        if not low <= v <= high:
            raise LaunchError(f"{what} of {v}: from {low} to {high}")
