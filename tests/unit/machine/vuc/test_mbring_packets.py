"""Packets built from meanings: the core's own reader, and the bytes of the documents' layouts."""

from __future__ import annotations

import pytest

from isakit.errors import LaunchError
from isakit.machine.vuc.core_memory import HostMemory
from isakit.machine.vuc.macroblock import Input
from isakit.machine.vuc.mbring import Ring
from isakit.vuc import (
    Core,
    MotionVector,
    PredictionWeight,
    coded_packet,
    coefficients_packet,
    end_packet,
    header_packet,
    mpeg_error_packet,
    mpeg_header_packet,
    mpeg_vectors_packet,
    samples_packet,
    weights_packet,
)


def parsed(words: list[int], vp2: bool, mpeg: bool = False) -> list[Input]:
    memory = HostMemory()
    memory.write_words(0x1000, words)
    ring = Ring(memory, vp2)
    ring.offset, ring.size, ring.available = 0x1000, 0x10000, 4 * len(words)
    ring.parse(mpeg, limit=100)
    assert ring.available == 0
    return list(ring.ready)


@pytest.mark.parametrize("vp2", [False, True])
def test_weights_are_where_a_program_reads_them(vp2: bool) -> None:
    words = weights_packet(5, 4, [PredictionWeight((-3, 7), ((1, -2), (3, -4)))], [PredictionWeight()], vp2=vp2)
    words += header_packet(address=0, x=0, y=0, skip=True)
    core = Core("vp2" if vp2 else "vp3")
    core.load("sleep\nmbiread\nnop\nnop\nnop\nnop\nnop\nend: bra #end\nnop")
    core.feed(words)
    core.run(100, stop_spinning=True)
    assert bytes(core.pwt[:8]) == bytes([7, 0xFD, 3, 0, 0xFC, 3, 0xFE, 1])
    assert bytes(core.pwt[0x100:0x108]) == bytes([0, 32, 0, 0, 0, 16, 0, 16])
    assert core.weight_denominators == 5 << 3 | 4


def test_coefficients_are_compressed_with_masks() -> None:
    block = [0] * 64
    block[0], block[5], block[6] = 3, -200, -1
    head, *words = coefficients_packet([block], vp2=False)
    data = b"".join(w.to_bytes(4, "little") for w in words)
    assert head == 2 << 24 | len(words)
    assert data == bytes([0b11, 0, 0b01, 3, 0b011000, 0x38, 0xFF, 0xFF])


def test_coefficients_of_vp2_are_halves() -> None:
    assert coefficients_packet([[1, -1, 2]], vp2=True) == [2 << 24 | 3, 0xFFFF0001, 2]


@pytest.mark.parametrize("vp2", [False, True])
def test_pcm_samples_make_a_whole_macroblock(vp2: bool) -> None:
    samples = [k % 256 for k in range(384)]
    words = header_packet(address=0, x=0, y=0, mb_type=30) + samples_packet(samples, vp2) + coded_packet(0, vp2)
    (mb,) = parsed(words, vp2)
    ((kind, payload),) = mb.residual
    width = 16 if vp2 else 8
    assert kind == (2 if vp2 else 3)
    assert [w >> k & 0xFF for w in payload for k in range(0, 32, width)] == samples


def test_mpeg_macroblocks_are_read_back() -> None:
    vector = MotionVector(-3, 5, 1)
    words = mpeg_vectors_packet([[[vector, MotionVector()]] * 2] * 2)
    words += mpeg_header_packet(address=7, x=3, y=2, forward=True, quantiser=9, motion_type="field", vector_count=2)
    words += mpeg_header_packet(address=8, x=4, y=2, intra=True, pattern=True) + coded_packet(0x3F, False)
    words += mpeg_error_packet(address=9, x=5, y=2) + end_packet()
    first, second, third = parsed(words, False, mpeg=True)
    assert first.header == (7, 2 | 3 << 8, 1 << 4 | 0 << 27, 2 << 6 | 9 << 8)
    assert first.vectors == (0x3D | 5 << 6 | 1 << 14,) * 4
    assert (second.header[2], second.coded) == (1 << 6 | 1 << 7 | 1 << 27, (0x3F,))
    assert third.header[0] == 1 << 16 | 9


@pytest.mark.parametrize(
    "make",
    [
        lambda: weights_packet(8, 0, [], vp2=True),
        lambda: weights_packet(1, 0, [PredictionWeight((128, 0))], vp2=True),
        lambda: weights_packet(1, 0, [PredictionWeight()] * 33, vp2=True),
        lambda: coefficients_packet([[40000]], vp2=False),
        lambda: samples_packet([0] * 383, vp2=False),
        lambda: samples_packet([256] * 384, vp2=False),
        lambda: mpeg_header_packet(address=0, x=0, y=0, motion_type="odd"),
        lambda: mpeg_header_packet(address=0, x=0, y=0, quantiser=32),
        lambda: mpeg_vectors_packet([[[MotionVector()]]]),
        lambda: mpeg_vectors_packet([[[MotionVector(17)] * 2] * 2] * 2),
    ],
)
def test_what_does_not_fit_is_refused(make) -> None:
    with pytest.raises(LaunchError):
        make()
