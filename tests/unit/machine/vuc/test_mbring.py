"""The macroblock ring: packets to registers on VP2 and VP3, weights, MPEG-2 headers, halves of packets."""

from __future__ import annotations

import pytest

from isakit.errors import MachineFault, NotModelled
from isakit.vuc import Core, Options, coded_packet, header_packet, packet, vectors_packet

READ = "sleep\nmbiread\nnop\nnop\nnop\nnop\nnop\nend: bra #end\nnop"


def loaded(variant: str, words: list[int], slice_type: int = 0, options: Options | None = None) -> Core:
    """A core that has just read its first macroblock."""
    core = Core(variant, options)
    core.host["PARM"] = core.host["PARM"] | slice_type << 9
    core.load(READ)
    core.feed(words)
    core.run(100, stop_spinning=True)
    return core


def mb(vp2: bool, **fields: int) -> list[int]:
    header = header_packet(address=0x123, x=7, y=5, first=True, **fields)
    return header if fields.get("skip") else header + coded_packet(0, vp2)


@pytest.mark.parametrize("variant", ["vp2", "vp3"])
def test_header_fields(variant: str) -> None:
    words = mb(
        variant == "vp2", mb_type=3, sub_types=0x3210, is_field=True, transform8x8=True, qp_delta=-5, chroma_mode=2
    )
    core = loaded(variant, words)
    sr = core.sr
    assert sr["mbxy"] == 0x0705
    assert sr["mbaddr"] == 0x8123
    assert sr["mbtype"] == 0x23
    assert core.mb.sub_types == 0x3210
    assert sr[31] == (0x3210 if variant == "vp2" else 0)
    assert sr["qpy"] == 0x3B | 2 << 8
    assert sr["mbflags"] & 0x3FFF == 1 << 0 | 1 << 3 | 1 << 6 | 1 << 8, "field, 8x8 transform, L0; next is itself"
    assert sr["mbpart"] == 3 | 0 << 2 | 1 << 4 | 2 << 6 | 3 << 8


@pytest.mark.parametrize(
    ("slice_type", "mb_type", "skip", "machine_type", "flags"),
    [
        (0, 0, 0, 0x20, 0x40),
        (0, 5, 0, 0x00, 0x06),
        (0, 6, 0, 0x01, 0x22),
        (0, 30, 0, 0x19, 0x1002),
        (0, 0, 1, 0x7F, 0x2240),
        (1, 0, 0, 0x40, 0xC00),
        (1, 3, 0, 0x43, 0xC0),
        (1, 23, 0, 0x00, 0x06),
        (1, 0, 1, 0x7E, 0xE00),
        (2, 0, 0, 0x00, 0x06),
        (2, 25, 0, 0x19, 0x1002),
    ],
)
def test_types_and_flags(slice_type: int, mb_type: int, skip: int, machine_type: int, flags: int) -> None:
    core = loaded("vp2", mb(True, mb_type=mb_type, skip=skip), slice_type)
    assert (core.sr["mbtype"], core.sr["mbflags"]) == (machine_type, flags)


@pytest.mark.parametrize("variant", ["vp2", "vp3"])
def test_vectors(variant: str) -> None:
    vp2 = variant == "vp2"
    vectors = [(100 * k - 1500, 40 * k - 600, k // 4 * 5 % 32) for k in range(32)]
    core = loaded(variant, vectors_packet(vectors, vp2) + mb(vp2, mb_type=0))
    for block in range(16):
        core.sr["spidx"] = block
        for which, names in ((0, ("mvxl0", "mvyl0", "refl0")), (1, ("mvxl1", "mvyl1", "refl1"))):
            x, y, _ = vectors[16 * which + block]
            ref = vectors[16 * which + block // 4 * 4][2]
            got = tuple(core.sr[n] for n in names)
            assert got == (x & 0xFFFF, y & 0xFFFF, ref), (block, which)


def test_picture_indices_come_from_the_table() -> None:
    vectors = [(0, 0, 3)] * 16 + [(0, 0, 17)] * 16
    for variant, stride in (("vp2", 32), ("vp3", 8)):
        core = Core(variant, Options(rpi_list_stride=stride))
        core.data[0x40 + 3], core.data[0x40 + stride + 17] = 9, 0x2A
        if variant == "vp2":
            core.sr["rpitab"] = 0x40
        else:
            core.host["RPITAB"] = 0x40
        core.load(READ)
        core.feed(vectors_packet(vectors, variant == "vp2") + mb(variant == "vp2", mb_type=0))
        core.run(100, stop_spinning=True)
        assert (core.sr["rpil0"], core.sr["rpil1"]) == (9, 0x2A)


def test_first_read_may_leave_the_picture_indices_alone() -> None:
    core = Core("vp2", Options(first_read_looks_up=False))
    core.data[0] = 9
    core.load("mbiread\nnop\nnop\nnop\nnop\nnop\n" * 2 + "nop")
    core.feed(mb(True, mb_type=0))
    core.sr["qpc"] = 0x1234
    core.step(6)
    assert (core.sr["rpil0"], core.sr["mbxy"], core.sr["qpc"]) == (0, 0x0705, 0x1234)
    core.step(6)
    assert core.sr["rpil0"] == 9


def test_registers_change_five_cycles_behind_mbiread() -> None:
    for fillers, want in ((4, 0), (5, 0x0705)):
        core = Core("vp3")
        core.load("mbiread\n" + "nop\n" * fillers + "or $r1 $mbxy 0x0\nnop")
        core.feed(mb(False, mb_type=0))
        core.step(fillers + 2)
        assert core.r[1] == want


def test_mbiread_does_not_consume_and_mbinext_does() -> None:
    core = Core("vp3")
    core.load("mbiread\nmbinext\nnop\nor $r1 $stat 0x0\nmbinext\nor $r2 $stat 0x0\nor $r3 $stat 0x0\nnop")
    core.feed(mb(False, mb_type=0) + mb(False, mb_type=1))
    core.step(8)
    assert [v >> 10 & 1 for v in core.r[1:4]] == [1, 1, 0]


def test_flags_tell_about_the_next_macroblock() -> None:
    core = Core("vp2")
    core.load("nop\nnop")
    core.feed(header_packet(address=0, x=0, y=0, skip=True, is_field=True))
    assert core.sr["mbflags"] >> 8 & 3 == 3
    assert core.sr["stat"] == 0x400


@pytest.mark.parametrize("variant", ["vp2", "vp3"])
def test_a_macroblock_counts_when_it_is_complete(variant: str) -> None:
    vp2 = variant == "vp2"
    core = Core(variant)
    words = vectors_packet([(0, 0, 0)] * 32, vp2) + header_packet(address=1, x=1, y=0, mb_type=0)
    words += packet(2, [0x11112222, 0x3333], 3 if vp2 else 2) + coded_packet(1, vp2)
    for k, word in enumerate(words):
        assert not core.mb_available
        core.feed([word])
        assert core.mb_available == (k == len(words) - 1)
    assert core.ring.ready[0].residual == [(2, (0x11112222, 0x3333))]
    assert core.host["MBRING_READ_AVAIL"] == 0


def test_ring_in_memory_wraps_and_raises_an_interrupt() -> None:
    core = Core("vp2")
    words = mb(True, mb_type=0)
    size = 4 * len(words)
    core.host["MBRING_OFFSET"], core.host["MBRING_SIZE"], core.host["MBRING_READ_POS"] = 0x5000, size, 8
    core.memory.write_words(0x5000, words[-2:] + words[:-2])
    core.host["MBRING_READ_AVAIL"] = size
    assert core.mb_available
    assert core.host["MBRING_READ_POS"] == 8
    assert core.host["INTR"] == 1 << 4


@pytest.mark.parametrize(("variant", "kind"), [("vp2", 4), ("vp3", 5)])
def test_prediction_weights(variant: str, kind: int) -> None:
    vp2 = variant == "vp2"
    writes = [(0x80, 0x2D), (0, 0x0001_FE03), (1, 0x04FD_0305), (0x42, 0x0002_7F80)]
    flat = [v for pair in writes for v in pair]
    words = packet(kind, flat, len(writes) if vp2 else None) + mb(vp2, mb_type=0)
    core = loaded(variant, words)
    assert core.pwt[0:8].hex() == "03fe01000503fd04"
    assert core.pwt[0x108:0x10C].hex() == "807f0200"
    assert core.weight_denominators == 0x2D
    core.load("ld $r1 PWT[0x1]\nld $r2 PWT[0x108]\nnop\nnop\nsext $r3 $r1 0x7")
    core.step(6)
    assert core.r[1:4] == [0xFE, 0x80, 0xFFFE]
    core = loaded(variant, words, options=Options(signed_weights=True))
    core.load("ld $r1 PWT[0x1]\nnop\nnop")
    core.step(4)
    assert core.r[1] == 0xFFFE


def test_intra_reference_is_an_option() -> None:
    assert loaded("vp2", mb(True, mb_type=5)).sr["refl0"] == 0
    assert loaded("vp2", mb(True, mb_type=5), options=Options(intra_ref=-1)).sr["refl0"] == 0xFFFF


def test_mpeg2_macroblocks() -> None:
    core = Core("vp3")
    core.host["PARM"] = 1
    core.load(READ)
    pmv = [0x1234, 0x0055, 0x4321, 0x0066, 0x0007, 0x0008, 0x0009, 0x000A]
    vectors = packet(1, [pmv[2 * i] | pmv[2 * i + 1] << 16 for i in range(4)])
    header = packet(0, [0x2A, 0x0304, 0x10 | 0x08 | 1 << 27, 1 << 6 | 17 << 8])
    intra = packet(0, [0x2B, 0x0404, 1 << 7, 9 << 8])
    core.feed(vectors + header + intra)
    assert core.mb_available, "no coefficients follow a macroblock that is neither intra nor coded"
    core.run(100, stop_spinning=True)
    sr = core.sr
    assert (sr["mbaddr"], sr["mbxy"], sr["qpy"]) == (0x2A, 0x0304, 17)
    assert [sr[n] for n in ("mvxl0", "mvyl0", "mvxl1", "mvyl1")] == pmv[:4]
    sr["spidx"] = 8
    assert [sr[n] for n in ("mvxl0", "mvyl0", "mvxl1", "mvyl1")] == pmv[4:]
    assert len(core.ring.ready) == 1, "the intra macroblock waits for its end"
    core.feed(packet(2, [0, 0]) + packet(4, [0x3F]))
    assert len(core.ring.ready) == 2
    assert core.ring.ready[1].coded == (0x3F,)


def test_mpeg2_error_header_and_end_of_stream() -> None:
    core = Core("vp4")
    core.host["PARM"] = 0
    core.feed(packet(0, [1 << 16, 0, 0]) + packet(6, []))
    assert len(core.ring.ready) == 1
    assert core.ring.ended


def test_other_modes_are_not_modelled() -> None:
    core = Core("vp3")
    core.host["PARM"] = 2
    with pytest.raises(NotModelled, match="mode 2"):
        core.feed(packet(0, [0, 0, 0]))


def test_unknown_packets_are_faults() -> None:
    with pytest.raises(MachineFault, match="MBRING_PACKET"):
        Core("vp2").feed(packet(9, []))
