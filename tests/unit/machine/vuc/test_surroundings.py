"""Motion vector surfaces, VP[] and its rings, memory spaces, and the host's registers."""

from __future__ import annotations

import random

import pytest

from isakit.errors import MachineFault
from isakit.vuc import Core, Options

MASK = {"x": 0x3FFF, "y": 0xFFF}


def s(v: int, width: int) -> int:
    v &= (1 << width) - 1
    return v - (1 << width) if v >> (width - 1) else v


# --- reading ----------------------------------------------------------------------------------------------------------


def record(rnd: random.Random) -> tuple[list[int], dict[int, list[int]]]:
    """16 words of a macroblock and what MVSI[] shows of it: subpartition -> [x, y, rpi, zero, flags]."""
    vectors = [(rnd.randint(-8192, 8191), rnd.randint(-2048, 2047)) for _ in range(16)]
    rpis = [rnd.randrange(32) for _ in range(4)]
    zero = [rnd.getrandbits(1) for _ in range(16)]
    is_field, intra = rnd.getrandbits(1), rnd.getrandbits(1)
    words = [x & 0x3FFF | (y & 0xFFF) << 14 for x, y in vectors]
    for p in range(4):
        words[4 * p] |= rpis[p] << 26
        for k in range(4):
            words[4 * p + 1] |= zero[4 * p + k] << 26 + k
    words[15] |= is_field << 26 | intra << 27
    shown = {i: [x & 0xFFFF, y & 0xFFFF, rpis[i // 4], zero[i], is_field | intra << 1]
             for i, (x, y) in enumerate(vectors)}  # fmt: skip
    return words, shown


@pytest.mark.parametrize("variant", ["vp2", "vp3"])
def test_mvsread(variant: str) -> None:
    rnd = random.Random(1)
    core = Core(variant)
    pairs = [(record(rnd), record(rnd)) for _ in range(6)]
    for k, (top, bottom) in enumerate(pairs):
        core.memory.write_words(0x10000 + 0x80 * k, top[0] + bottom[0])
    if variant == "vp2":
        core.host["MVSURF_IN_OFFSET"] = 0x10000
    else:
        core.host["MVSURF_IN_ADDR"] = 0x100
    core.host["MVSURF_IN_PARM"] = 3
    core.host["MVSURF_IN_POS"] = 0
    core.host["MVSURF_IN_LEFT"] = 3 | 2 << 8
    core.load("loop: mvsread\nnop\nwsts 0x5\nbra #loop\nnop")
    for top, bottom in pairs:
        assert core.run(200, until=3).reason == "until"
        for which, (_, shown) in enumerate((top, bottom)):
            for i, cells in shown.items():
                assert core.mvs_in.cells[which * 0x80 + 8 * i :][:5] == cells
        core.run(1)
    assert core.run(500).reason == "asleep", "nothing is left: bit 5 never comes"


def test_mvsread_takes_its_time() -> None:
    core = Core("vp3")
    core.host["MVSURF_IN_PARM"], core.host["MVSURF_IN_LEFT"] = 1, 0x101
    core.load("mvsread\nnop\nwsts 0x5\nend: bra #end\nnop")
    core.run(200, until=3)
    assert core.cycle == 37


@pytest.mark.parametrize(
    ("parm", "want"),
    [(2, [0, 1, 2, 3]), (2 | 1 << 8, [0, 1, 0, 1, 2, 3, 2, 3])],
)
def test_mvsread_positions(parm: int, want: list[int]) -> None:
    core = Core("vp3")
    core.host["MVSURF_IN_PARM"], core.host["MVSURF_IN_LEFT"] = parm, 2 | 2 << 8
    seen = []
    while core.mvs_in.has_next:
        seen.append(core.mvs_in.pair)
        core.mvs_in.next_pair()
    assert seen == want


# --- writing ----------------------------------------------------------------------------------------------------------

WRITE = """
    mov $r1 0x80
next:
    sub $r1 $r1 0x1
    ld $r2 D[$r1]
    nop
    nop
    st MVSO[$r1] $r2
    setgt $p2 $r1 0x0
    $p2 bra #next
    nop
    wstc 0x6
    mvswrite
    nop
    wstc 0x7
end: bra #end
    nop
"""


def gathered(cells: list[int], part: int) -> list[int]:
    """The record for MVSO[] cells (16 x 8) and a partitioning, from the geometry of the partitions."""
    rpis = [cells[8 * 4 * p + 2] for p in range(4)]
    words = [0] * 16
    for y in range(4):
        for x in range(4):
            i = ((y >> 1) * 2 + (x >> 1)) * 4 + (y & 1) * 2 + (x & 1)
            w, h = {0: (4, 4), 1: (4, 2), 2: (2, 4), 3: (2, 2)}[part & 3]
            sw, sh = {0: (2, 2), 1: (2, 1), 2: (1, 2), 3: (1, 1)}[part >> 2 + 2 * (i >> 2) & 3]
            px, py = x // w * w, y // h * h  # corner of the partition
            sx, sy = (x % 2) // sw * sw, (y % 2) // sh * sh  # corner of the sub-partition in its quarter
            quarter = (py >> 1) * 2 + (px >> 1)
            if (w, h) == (2, 2):
                quarter = i >> 2
            source = quarter * 4 + sy * 2 + sx
            words[i] = cells[8 * source] & 0x3FFF | (cells[8 * source + 1] & 0xFFF) << 14
            words[(i >> 2) * 4 + 1] |= (cells[8 * source + 3] & 1) << 26 + (i & 3)
            if i & 3 == 0:
                words[i] |= (rpis[quarter] & 31) << 26
    return words


@pytest.mark.parametrize("part", [0, 1, 2, 3, 3 | 1 << 2, 3 | 2 << 4, 3 | 3 << 6 | 1 << 8, 1 | 0x3FC, 0x3FF])
def test_mvswrite(part: int) -> None:
    rnd = random.Random(part)
    core = Core("vp2")
    core.host["MVSURF_OUT_OFFSET"] = 0x20000
    core.host["MVSURF_OUT_PARM"] = 4
    core.host["MVSURF_OUT_POS"] = 0
    core.host["MVSURF_OUT_LEFT"] = 4 | 1 << 8
    cells = [rnd.getrandbits(16) for _ in range(0x80)]
    for p in range(4):
        for i in range(4):
            cells[8 * (4 * p + i) + 2] = cells[8 * 4 * p + 2]
    for i in range(16):
        cells[8 * i + 4], cells[8 * i + 5] = 2, part
    core.write_data(cells)
    core.load(WRITE)
    core.run(3000, stop_spinning=True)
    want = gathered(cells, part)
    want[15] |= 2 << 26
    assert [core.memory.word(0x20000 + 4 * i) for i in range(16)] == want
    assert core.host["MVSURF_OUT_LEFT"] == 3 | 1 << 8
    assert core.host["MVSURF_OUT_POS"] == 2


@pytest.mark.parametrize(
    ("parm", "want"),
    [
        (3, [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]),
        (3 | 1 << 8, list(range(12))),
        (3 | 1 << 9, [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22]),
    ],
)
def test_mvswrite_positions(parm: int, want: list[int]) -> None:
    core = Core("vp3")
    core.host["MVSURF_OUT_PARM"], core.host["MVSURF_OUT_LEFT"] = parm, 3 | 4 << 8
    seen = []
    while core.mvs_out.accepts:
        seen.append(core.mvs_out.address)
        core.mvs_out.write()
    assert seen == want


def test_mvswrite_busy_bit_and_cycles() -> None:
    core = Core("vp3")
    core.host["MVSURF_OUT_PARM"], core.host["MVSURF_OUT_LEFT"] = 1, 0x101
    core.load("mvswrite\nor $r1 $stat 0x0\nor $r2 $stat 0x0\nwstc 0x7\nend: bra #end\nnop")
    core.run(200, until=4)
    assert [v >> 7 & 1 for v in core.r[1:3]] == [0, 1]
    assert core.cycle == 18
    core.load("mvswrite\nnop\nor $r3 $stat 0x0\nnop")
    core.step(4)
    assert core.r[3] >> 7 & 1 == 0, "nothing left: ignored"
    assert core.diagnostics[-1][2] == "MVSURF_OUT_IGNORED"


def test_starting_a_surface_unit_again_aborts_it() -> None:
    core = Core("vp3")
    core.host["MVSURF_OUT_PARM"], core.host["MVSURF_OUT_LEFT"] = 4, 0x104
    core.load("mvswrite\nnop\nnop\nmvswrite\n" + "nop\n" * 40)
    core.step(40)
    assert core.host["MVSURF_OUT_LEFT"] == 0x103, "one record only"


# --- VP[] -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "want"), [("even", "34120056"), ("all", "34125678"), ("none", "34000056")])
def test_vp_stores(mode: str, want: str) -> None:
    core = Core("vp2", Options(vp_words=mode))
    core.load("mov $r1 0x1234\nmov $r2 0x1856\nst VP[0x0] $r1\nst VP[0x3] $r2\nnop")
    core.step(5)
    got = core.vpring.data[:5].hex()
    assert got == {"even": "3412005600", "none": "3400005600", "all": "3412005618"}[mode]
    assert got[:4] == want[:4]


def test_vp_flush_waits_for_room() -> None:
    core = Core("vp2")
    core.load(
        "mov $r1 0x77\nst VP[0x0] $r1\nst VP[0x2] $r1\nmov $stat 0x1\nnop\nwstc 0x0\nmov $v2h $r1\nend: bra #end\nnop"
    )
    core.host["VPRING_DEBLOCK_OFFSET"], core.host["VPRING_DEBLOCK_SIZE"] = 0x100, 0x40
    core.host["VPRING_DEBLOCK_HALT_POS"] = 2
    core.run(200)
    assert core.host["V2H"] == 0
    assert core.host["INTR"] & 4
    core.host["VPRING_DEBLOCK_HALT_POS"] = 0x20
    core.run(200)
    assert core.host["V2H"] == 0x77
    assert core.memory.read(0x100, 4).hex() == "77007700"
    core.host["VPRING_TRIGGER"] = 1 << 6
    assert core.host["VPRING_DEBLOCK_WRITE_POS"] == 0


# --- memory spaces ----------------------------------------------------------------------------------------------------


def test_store_scales_its_second_register_in_every_space() -> None:
    core = Core("vp2")
    core.load("mov $r1 0x10\nmov $r2 0x5\nst D[$r1+$r2*0x2] $r2\nst MVSO[$r1+$r2*0x2] $r2\nst VP[$r1+$r2*0x2] $r2\n"
              "ld $r3 D[$r1+$r2]\nnop\nnop")  # fmt: skip
    core.data[0x15] = 0x99
    core.step(8)
    assert (core.data[0x1A], core.mvs_out.cells[0x1A & ~0x18], core.vpring.data[0x1A]) == (5, 5, 5)
    assert core.r[3] == 0x99, "loads do not scale"


def test_addresses_wrap_or_fault() -> None:
    text = "mov $r1 0x3fff\nld $r2 D[$r1+0x2]\nnop\nnop"
    core = Core("vp3")
    core.data[1], core.data[0] = 0x77, 0x66
    core.load(text)
    core.step(4)
    assert core.r[2] == 0x77
    assert core.diagnostics[0][2] == "OUT_OF_RANGE"
    core = Core("vp3", Options(out_of_range="fault"))
    core.load(text)
    with pytest.raises(MachineFault, match="OUT_OF_RANGE") as caught:
        core.step(4)
    assert (caught.value.space, caught.value.address, caught.value.pc) == ("D", 0x4001, 1)


def test_io_spaces() -> None:
    core = Core("vp3", Options(b6={0: 2, 5: 0x123}))
    core.load("ld6 $r1 B6[0x0]\nld6 $r2 B6[0x5]\nld7 $r3 B7[0x2]\nmov $r4 0x9\nst7 B7[0x2] $r4\nst6 B6[0x1] $r4\nnop")
    core.step(7)
    assert core.r[1:4] == [2, 0x123, 0]
    assert [w[1:] for w in core.io_writes] == [("B7", 2, 9), ("B6", 1, 9)]


# --- host -------------------------------------------------------------------------------------------------------------

VP2_ADDRESSES = {
    "ICNT": (0x103280, 0xA000), "WDCNT": (0x103284, 0xA100), "CODE_CONTROL": (0x103288, 0xA200),
    "CODE_WINDOW": (0x10328C, 0xA300), "H2V": (0x103290, 0xA400), "V2H": (0x103294, 0xA500), "PARM": (0x103298, 0xA600),
    "PC": (0x10329C, 0xA700), "VPRING_RESIDUAL_OFFSET": (0x1032A0, 0xA800), "VPRING_CTRL_SIZE": (0x1032BC, 0xAF00),
    "VPRING_DEBLOCK_HALT_POS": (0x1032C4, 0xB100), "VPRING_TRIGGER": (0x1032D0, 0xB400), "INTR": (0x1032D4, 0xB500),
    "INTR_EN": (0x1032D8, 0xB600), "VPRING_ENABLE": (0x1032DC, 0xB700), "MVSURF_IN_OFFSET": (0x1032E0, 0xB800),
    "MVSURF_OUT_POS": (0x1032FC, 0xBF00), "MBRING_OFFSET": (0x103300, 0xC000), "MBRING_READ_AVAIL": (0x10330C, 0xC300),
}  # fmt: skip
VP3_ADDRESSES = {
    "CODE_CONTROL": (0x085440, 0x11000), "CODE_WINDOW": (0x085444, 0x11100), "ICNT": (0x085448, 0x11200),
    "WDCNT": (0x08544C, 0x11300), "H2V": (0x085450, 0x11400), "V2H": (0x085454, 0x11500), "PARM": (0x085458, 0x11600),
    "PC": (0x08545C, 0x11700), "RPITAB": (0x085460, 0x11800), "REFTAB": (0x085464, 0x11900),
    "BUSY": (0x085468, 0x11A00), "INTR": (0x085470, 0x11C00), "INTR_EN": (0x085474, 0x11D00),
    "MVSURF_IN_ADDR": (0x085480, 0x12000),
    "MVSURF_OUT_LEFT": (0x085498, 0x12600), "MBRING_ADDR": (0x0854A0, 0x12800), "STAT": (0x0854BC, 0x12F00),
}  # fmt: skip


@pytest.mark.parametrize(("variant", "table"), [("vp2", VP2_ADDRESSES), ("vp3", VP3_ADDRESSES), ("vp4", VP3_ADDRESSES)])
def test_host_addresses(variant: str, table: dict[str, tuple[int, int]]) -> None:
    core = Core(variant)
    for name, (bar0, inner) in table.items():
        assert core.host.address(name) == bar0
        assert core.host._name(bar0) == core.host._name(inner) == name
    for name in core.host.names:
        core.host[core.host.address(name)]


def test_host_data_window() -> None:
    core = Core("vp2")
    core.host["DATA[0x41]"] = 0x12345
    assert core.data[0x41] == core.host[0x8000 + 4 * 0x41] == 0x2345
    core.host[0x103CFC] = 0x3F
    core.host[0x103204] = 0x77
    assert core.data[0x7F] == 0x77
    core = Core("vp3")
    core.host["DATA[3]"] = 0x11112222
    assert core.data[6:8] == [0x2222, 0x1111]
    assert core.host[0x10000 + 12] == 0x11112222


def test_code_upload_on_vp3_and_restart() -> None:
    core = Core("vp3")
    words = [0x08011164, 0x14000100, 0x14000043]
    assert core.host["CODE_CONTROL"] == 1 << 16
    for w in words:
        core.host["CODE_WINDOW"] = w
    assert core.host["CODE_CONTROL"] & 0x7FF == 3
    core.host["CODE_CONTROL"] = 1 << 16
    assert [core.host["CODE_WINDOW"] for _ in words] == words
    core.step(5)
    assert core.r[1] == 0, "halted"
    core.host["CODE_CONTROL"] = 0
    core.step(3)
    assert core.r[1] == 1
    core.host["CODE_CONTROL"] = 1 << 16
    assert core.halted
    core.host["CODE_CONTROL"] = 0
    core.step(1)
    assert core.r[1] == 2, "a restart begins at 0 and keeps the registers"
    core.reset()
    assert core.r[1] == 0


def test_vp2_code_window_flip_flop() -> None:
    core = Core("vp2")
    core.host["CODE_WINDOW"] = 0x11111111
    core.host["CODE_CONTROL"] = 1 << 16 | 5
    core.host["CODE_WINDOW"] = 0xD4000043
    core.host["CODE_WINDOW"] = 0xFF
    assert core.code[5] == 0xFFD4000043, "a write of CODE_CONTROL starts over with the low half"
    core.host["CODE_CONTROL"] = 1 << 16 | 5
    assert [core.host["CODE_WINDOW"], core.host["CODE_WINDOW"]] == [0xD4000043, 0xFF]


@pytest.mark.parametrize(("how", "after"), [("write_ones", 0), ("write_value", 4), ("read", 0)])
def test_interrupt_acknowledge(how: str, after: int) -> None:
    core = Core("vp3", Options(interrupt_acknowledge=how))
    core.host.raise_interrupt("V2H")
    assert core.host["INTR"] == 4
    if how != "read":
        core.host["INTR"] = 4
    assert core.host["INTR"] == after


def test_busy() -> None:
    core = Core("vp3")
    assert core.host["BUSY"] == 0
    core.load("nop\nsleep\nnop")
    assert core.host["BUSY"] == 1
    core.step(3)
    assert core.host["BUSY"] == 0, "asleep"


def test_read_only_host_registers() -> None:
    core = Core("vp3")
    core.host["V2H"] = 5
    assert core.host["V2H"] == 0
    assert core.diagnostics[0][2] == "READ_ONLY_REGISTER"


def test_undecodable_and_unwritten_code_are_faults() -> None:
    core = Core("vp3")
    core.load([0x14000043, 0x1400001F])
    with pytest.raises(MachineFault, match="ILLEGAL_OPCODE") as caught:
        core.step(5)
    assert caught.value.pc == 1
    core.load([0x14000043], start=True)
    core.code[1] = None
    core._ops[1] = None
    with pytest.raises(MachineFault, match="UNWRITTEN_CODE"):
        core.step(5)
