"""The example programs against independent formulas, on every variant they are for, with the negative cases."""

from __future__ import annotations

import random

import pytest

from conftest import ROOT
from isakit.arch.vuc import vuc
from isakit.asm import assemble
from isakit.codec import decoder
from isakit.vuc import Core, coded_packet, header_packet, lint, vectors_packet
from support.oracles.h264 import QPC, SUB_B, SUB_P, Block, p_skip, predict, quantisers, temporal, walk

EXAMPLES = ROOT / "examples" / "vuc"
ALL = ("vp2", "vp3", "vp4")
P_SLICE, B_SLICE, I_SLICE = 0, 1, 2


def source(name: str) -> str:
    return next(EXAMPLES.glob(f"{name}_*.s" if len(name) == 2 else f"{name}.s")).read_text(encoding="utf-8")


def ready(name: str, variant: str, text: str | None = None) -> Core:
    core = Core(variant)
    core.load(text if text is not None else source(name))
    return core


def s16(v: int) -> int:
    return v - 0x10000 if v & 0x8000 else v


def set_slice(core: Core, slice_type: int) -> None:
    core.host["PARM"] = core.host["PARM"] & ~0x600 | slice_type << 9


# --- P1 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ALL)
def test_copy_and_checksum(variant: str) -> None:
    core = ready("p1", variant)
    cells = [(i * 0x1234 + 0x55) & 0xFFFF for i in range(10)]
    core.data[0] = 10
    core.write_data(cells, 0x100)
    core.run(98)
    assert core.op(core.pc).instruction.mnemonic == "bra", "98 issue cycles up to and including `mov $v2h`"
    core.run(3)
    assert core.data[0x200:0x20A] == cells
    assert (core.data[1], core.data[2], core.host["V2H"]) == (0x3676, 0xCDC7, 0x3676)


@pytest.mark.parametrize("variant", ALL)
def test_copy_with_too_few_fillers_takes_the_old_value(variant: str) -> None:
    lines = source("p1").splitlines()
    k = next(i for i, line in enumerate(lines) if line.strip().startswith("sub"))
    lines[k], lines[k + 1] = lines[k + 1], lines[k]
    text = "\n".join(lines)
    core = ready("p1", variant, text)
    cells = [(i * 0x1234 + 0x55) & 0xFFFF for i in range(10)]
    core.data[0] = 10
    core.write_data(cells, 0x100)
    core.run(200)
    assert core.data[0x200:0x20A] == [0, *cells[:9]]
    assert (core.data[1], core.data[2]) == (0x3676, 0xCDC7)
    found = lint(assemble(text, decoder(vuc, variant)))
    assert any(f.kind == "early-read" and "$r4 1 cycle too early" in f.message for f in found)


@pytest.mark.parametrize("name", ["p1", "p2", "p5", "p7"])
@pytest.mark.parametrize("variant", ALL)
def test_programs_are_free_of_hazards(name: str, variant: str) -> None:
    assert lint(assemble(source(name), decoder(vuc, variant))) == []


def test_other_programs_are_free_of_certain_hazards() -> None:
    for name, variant in (("p3_temporal_direct", "vp4"), ("p3_temporal_direct_table", "vp3"), ("p4_median_mv", "vp3"),
                          ("p6_vpring", "vp2")):  # fmt: skip
        assert not [f for f in lint(assemble(source(name), decoder(vuc, variant))) if f.certain], name


# --- P2 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ALL)
def test_mailbox_and_watchdog(variant: str) -> None:
    core = ready("p2", variant)
    v2h = 0x103294 if variant == "vp2" else 0x085454
    bit = {"V2H": 1 << (5 if variant == "vp2" else 2), "WATCHDOG": 1 << (3 if variant == "vp2" else 0)}
    core.host["WDCNT"] = 100
    core.host["INTR_EN"] = 0xFFFFFFFF
    interrupts: list[str] = []
    core.host.on_interrupt = interrupts.append
    for x, answer in ((0, 1), (1, 4), (0x1234, 0x369D), (0x5555, 0)):
        assert core.run(10_000).reason == "asleep"
        core.host["H2V"] = x
        assert core.run(10_000).reason == "asleep"
        assert core.host["V2H"] == core.host[v2h] == answer
        assert core.host["INTR"] == bit["V2H"]
        core.host["INTR"] = bit["V2H"]
        assert core.host["INTR"] == 0
    assert interrupts == ["V2H"] * 4, "the watchdog does not bite a sleeper"
    core.host["H2V"] = 0xFFFF
    assert core.run(200).reason == "limit"
    assert core.sr["stat"] == 0x1000
    assert core.pc in (11, 12)
    assert core.host["INTR"] == bit["WATCHDOG"]
    core.host["ICNT"] = 0
    assert core.sr["stat"] == 0


# --- P3 ---------------------------------------------------------------------------------------------------------------


def temporal_inputs() -> list[tuple[int, int]]:
    """400 pairs (tb, td) whose scale factor fits 16 bits before it is clipped."""
    rnd = random.Random(3)
    edges = [-128, -127, -64, -3, -2, -1, 1, 2, 3, 5, 16, 63, 64, 126, 127]
    pairs = [(tb, td) for tb in [*edges, 0] for td in edges]
    while len(pairs) < 405:
        pairs.append((rnd.randint(-128, 127), rnd.choice([v for v in range(-128, 128) if v])))
    fitting = [p for p in pairs if -0x8000 <= (p[0] * temporal(*p, (0, 0))[0] + 32) >> 6 <= 0x7FFF]
    assert len(fitting) >= 400
    return fitting[:400]


Pair = tuple[int, int]


def run_temporal(core: Core, tb: int, td: int, col: Pair) -> tuple[int, int, Pair, Pair]:
    core.write_data([tb, td, *col])
    core.start()
    core.run(400, stop_spinning=True)
    v = [s16(x) for x in core.data[4:10]]
    return v[0], v[1], (v[2], v[3]), (v[4], v[5])


def table_core(variant: str) -> Core:
    core = ready("p3_temporal_direct_table", variant)
    core.write_data([temporal(0, td, (0, 0))[0] if td else 0 for td in range(-128, 128)], 0x100)
    return core


@pytest.mark.parametrize("variant", ["vp3", "vp4", "vp4 with ldivu"])
def test_temporal_direct(variant: str) -> None:
    core = ready("p3_temporal_direct", "vp4") if "ldivu" in variant else table_core(variant)
    assert run_temporal(core, 1, 2, (37, -20)) == (8192, 128, (19, -10), (-18, 10))
    rnd = random.Random(4)
    for tb, td in temporal_inputs():
        col = rnd.randint(-2048, 2047), rnd.randint(-512, 511)
        assert run_temporal(core, tb, td, col) == temporal(tb, td, col), (tb, td, col)


def test_temporal_direct_known_limit() -> None:
    """The one pair whose scaled value leaves 16 bits: the program clips what is left of it."""
    core = ready("p3_temporal_direct", "vp4")
    assert temporal(-128, -1, (0, 0))[1] == 1023
    assert run_temporal(core, -128, -1, (0, 0))[1] == -1024


def test_temporal_direct_without_the_wait_reads_the_dividend() -> None:
    text = source("p3_temporal_direct")
    a, b = text.index("wait:"), text.index("    or   $r9 $llo 0x0")
    core = ready("p3", "vp4", text[:a] + "    nop\n" * 10 + text[b:])
    assert run_temporal(core, 1, 2, (37, -20))[0] == 16385
    assert any(kind == "LONG_ABORTED" for _, _, kind, _ in core.diagnostics), "lmuls ends the division"
    core.run(100)
    assert core.acc[0] != 16385 // 2


# --- P4 ---------------------------------------------------------------------------------------------------------------

Mb = tuple[str, int, tuple[int, int]]
"""kind (P, skip, intra), reference, motion vector difference"""


def run_prediction(picture: dict[tuple[int, int], Mb], width: int, height: int) -> dict[tuple[int, int], Block]:
    core = Core("vp3")
    core.load(source("p4"), start=False)
    pitch = 4 * (width + 2)
    core.data[1] = pitch
    for y in range(-1, height + 1):
        for x in range(-1, width + 1):
            if (x, y) not in picture:
                core.data[0x200 + pitch * (y + 1) + 4 * (x + 1)] = 0xFFFE
    set_slice(core, P_SLICE)
    core.start()
    for y in range(height):
        for x in range(width):
            kind, ref, mvd = picture[x, y]
            at = {"address": y * width + x, "x": x, "y": y}
            if kind == "skip":
                core.feed(header_packet(**at, skip=True))
            elif kind == "intra":
                core.feed(header_packet(**at, mb_type=5) + coded_packet(0, False))
            else:
                vectors = [(*mvd, ref)] * 16 + [(0, 0, 0)] * 16
                core.feed(vectors_packet(vectors, False) + header_packet(**at) + coded_packet(0, False))
    assert core.run(1_000_000).reason == "asleep"
    out: dict[tuple[int, int], Block] = {}
    for x, y in picture:
        at = 0x200 + pitch * (y + 1) + 4 * (x + 1)
        ref, mx, my = (s16(v) for v in core.data[at : at + 3])
        out[x, y] = Block(ref, (mx, my))
    return out


def expected_prediction(picture: dict[tuple[int, int], Mb], width: int, height: int) -> dict[tuple[int, int], Block]:
    done: dict[tuple[int, int], Block] = {}
    for y in range(height):
        for x in range(width):
            kind, ref, mvd = picture[x, y]
            if kind == "intra":
                done[x, y] = Block(-1, (0, 0))
            elif kind == "skip":
                done[x, y] = Block(0, p_skip(done, x, y))
            else:
                p = predict(done, x, y, ref)
                done[x, y] = Block(ref, (p[0] + mvd[0], p[1] + mvd[1]))
    return done


def test_median_prediction_of_a_known_picture() -> None:
    rows: list[list[Mb]] = [
        [("P", 0, (8, -4)), ("P", 0, (3, 1)), ("P", 1, (-6, 2)), ("skip", 0, (0, 0))],
        [("P", 1, (5, 5)), ("skip", 0, (0, 0)), ("P", 0, (1, -1)), ("intra", 0, (0, 0))],
        [("skip", 0, (0, 0)), ("P", 0, (2, 2)), ("P", 0, (0, 0)), ("P", 1, (-3, 7))],
    ]
    picture = {(x, y): mb for y, row in enumerate(rows) for x, mb in enumerate(row)}
    want = [
        [(0, 8, -4), (0, 11, -3), (1, 5, -1), (0, 0, 0)],
        [(1, 13, 2), (0, 11, -3), (0, 6, -2), (-1, 0, 0)],
        [(0, 0, 0), (0, 8, 0), (0, 6, 0), (1, 3, 7)],
    ]
    got = run_prediction(picture, 4, 3)
    assert got == {(x, y): Block(r, (a, b)) for y, row in enumerate(want) for x, (r, a, b) in enumerate(row)}
    assert got == expected_prediction(picture, 4, 3)


def test_median_prediction_of_random_pictures() -> None:
    rnd = random.Random(42)
    count = 0
    while count < 520:
        width, height = rnd.randint(1, 6), rnd.randint(1, 6)
        picture: dict[tuple[int, int], Mb] = {}
        for y in range(height):
            for x in range(width):
                kind = rnd.choices(("P", "skip", "intra"), (5, 3, 1))[0]
                small = rnd.random() < 0.5
                mvd = (rnd.randint(-1, 1), 0) if small else (rnd.randint(-300, 300), rnd.randint(-100, 100))
                picture[x, y] = kind, rnd.choice((0, 0, 1, 2, 17)), mvd
        assert run_prediction(picture, width, height) == expected_prediction(picture, width, height)
        count += width * height


# --- P5 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ALL)
def test_quantisers(variant: str) -> None:
    rnd = random.Random(variant)
    cases = [((26, (-2, 5)), [0, 10, -26, 25, -26])]
    cases += [((rnd.randint(0, 51), (rnd.randint(-12, 12), rnd.randint(-12, 12))),
               [rnd.randint(-26, 25) for _ in range(54)]) for _ in range(5)]  # fmt: skip
    for (start, offsets), deltas in cases:
        core = Core(variant)
        core.load(source("p5"), start=False)
        set_slice(core, I_SLICE)
        core.write_data([*offsets, start], 2)
        core.write_data(QPC, 0x40)
        core.start()
        qp, words = start, []
        for address, delta in enumerate(deltas):
            header = header_packet(address=address, x=address, y=0, qp_delta=delta)
            core.feed(header + coded_packet(0, variant == "vp2"))
            qp, cb, cr = quantisers(qp, delta, offsets)
            words.append((qp, cb | cr << 8))
        assert core.run(100_000).reason == "asleep"
        got = core.data[0x100 : 0x100 + 2 * len(deltas)]
        assert list(zip(got[::2], got[1::2], strict=True)) == words
        assert (core.sr["qpy"], core.sr["qpc"]) == words[-1]
        if start == 26:
            assert words[:2] == [(26, 0x1E18), (36, 0x2420)]


# --- P6 ---------------------------------------------------------------------------------------------------------------


def test_vpring() -> None:
    program = assemble(source("p6"), decoder(vuc, "vp2"))
    first = [0xFFC8011061, 0xFFC8220061, 0xFFCB030061, 0xFFC8011165, 0xFFC0800148, 0x121C003284, 0xFFC9031364]
    assert list(program.words)[:7] == first
    core = Core("vp2")
    # the host uploads the code itself, through the window with its two halves
    core.host["CODE_CONTROL"] = 1 << 16
    for word in program.words:
        core.host["CODE_WINDOW"] = word & 0xFFFFFFFF
        core.host["CODE_WINDOW"] = word >> 32
    core.host["VPRING_CTRL_OFFSET"] = 0x4000
    core.host["CODE_CONTROL"] = 0
    core.run(300)
    assert core.host["V2H"] == 0x3110
    want = b"".join((0x3000 + 17 * i).to_bytes(2, "little") for i in range(16))
    assert core.memory.read(0x4000, 34) == want + b"\0\0"
    assert core.host["VPRING_CTRL_WRITE_POS"] == 32


# --- P7 ---------------------------------------------------------------------------------------------------------------

WHOLE, ROWS, COLUMNS, QUARTERS = (4, 4), (4, 2), (2, 4), (2, 2)
# (slice, mb_type in the stream, sub types, skip, 8x8 transform) -> blocks
WALKS = [
    ((P_SLICE, 0, 0, False, False), walk(WHOLE, None)),
    ((P_SLICE, 1, 0, False, False), walk(ROWS, None)),
    ((P_SLICE, 2, 0, False, False), walk(COLUMNS, None)),
    ((P_SLICE, 3, 0x3210, False, False), walk(QUARTERS, [SUB_P[s] for s in (0, 1, 2, 3)])),
    ((P_SLICE, 3, 0x0000, False, False), walk(QUARTERS, None)),
    ((P_SLICE, 4, 0x1111, False, False), walk(QUARTERS, [SUB_P[1]] * 4)),
    ((P_SLICE, 0, 0, True, False), walk(WHOLE, None)),
    ((B_SLICE, 0, 0, False, False), walk(WHOLE, None)),
    ((B_SLICE, 4, 0, False, False), walk(ROWS, None)),
    ((B_SLICE, 5, 0, False, False), walk(COLUMNS, None)),
    ((B_SLICE, 21, 0, False, False), walk(COLUMNS, None)),
    ((B_SLICE, 22, 0xCA50, False, False), walk(QUARTERS, [SUB_B[s] for s in (0, 5, 10, 12)])),
    ((B_SLICE, 22, 0x9876, False, False), walk(QUARTERS, [SUB_B[s] for s in (6, 7, 8, 9)])),
    ((B_SLICE, 0, 0, True, False), walk(QUARTERS, [SUB_B[0]] * 4)),
    ((I_SLICE, 0, 0, False, False), walk(QUARTERS, [(1, 1)] * 4)),
    ((I_SLICE, 0, 0, False, True), walk(QUARTERS, None)),
    ((I_SLICE, 7, 0, False, False), walk(WHOLE, None)),
]


@pytest.mark.parametrize("variant", ALL)
def test_partition_walk(variant: str) -> None:
    for (slice_type, mb_type, sub_types, skip, transform), want in WALKS:
        core = Core(variant)
        core.load(source("p7"), start=False)
        set_slice(core, slice_type)
        core.start()
        kind = {"mb_type": mb_type, "sub_types": sub_types, "skip": skip, "transform8x8": transform}
        words = header_packet(address=0, x=0, y=0, **kind)
        core.feed(words + ([] if skip else coded_packet(0, variant == "vp2")))
        assert core.run(10_000).reason == "asleep"
        assert core.data[0x300] == len(want)
        assert core.data[0x301 : 0x301 + len(want)] == want, (slice_type, mb_type)


def test_partition_walk_known_lists() -> None:
    assert walk(QUARTERS, [SUB_P[s] for s in (0, 1, 2, 3)]) == [0, 4, 6, 8, 9, 12, 13, 14, 15]
    assert walk(QUARTERS, [SUB_B[s] for s in (0, 5, 10, 12)]) == [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15]
