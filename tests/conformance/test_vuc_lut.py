"""The lut tables against the H.264 macroblock and sub-macroblock tables, written out by name."""

from __future__ import annotations

import random

import pytest

from isakit.vuc import Core

MODES = {"Direct": 0, "L0": 1, "L1": 2, "Bi": 3}
B_TWO = ["L0_L0", "L1_L1", "L0_L1", "L1_L0", "L0_Bi", "L1_Bi", "Bi_L0", "Bi_L1", "Bi_Bi"]
SUB_P = ["L0_8x8", "L0_8x4", "L0_4x8", "L0_4x4"]
SUB_B = ["Direct_4x4", "L0_8x8", "L1_8x8", "Bi_8x8", "L0_8x4", "L0_4x8", "L1_8x4", "L1_4x8", "Bi_8x4", "Bi_4x8",
         "L0_4x4", "L1_4x4", "Bi_4x4"]  # fmt: skip


def mb_types() -> dict[int, tuple[str, list[str]]]:
    """$mbtype -> (shape, prediction modes of the partitions; `sub` where the sub types say it)."""
    out = {0x00: ("NxN", []), 0x19: ("NxN", []), 0x7F: ("16x16", ["L0"]), 0x7E: ("8x8", ["sub"] * 4)}
    out |= {t: ("16x16", []) for t in range(1, 0x19)}
    out |= {0x20: ("16x16", ["L0"]), 0x21: ("16x8", ["L0", "L0"]), 0x22: ("8x16", ["L0", "L0"])}
    out |= {0x23: ("8x8", ["sub"] * 4), 0x24: ("8x8", ["sub"] * 4), 0x56: ("8x8", ["sub"] * 4)}
    out |= {0x40: ("16x16", ["Direct"]), 0x41: ("16x16", ["L0"]), 0x42: ("16x16", ["L1"]), 0x43: ("16x16", ["Bi"])}
    for i, name in enumerate(B_TWO):
        out[0x44 + 2 * i] = "16x8", name.split("_")
        out[0x45 + 2 * i] = "8x16", name.split("_")
    return out


TYPES = mb_types()
COUNT = {"16x16": 1, "16x8": 2, "8x16": 2, "8x8": 4, "NxN": 4, "8x4": 2, "4x8": 2, "4x4": 4}


class Reference:
    def __init__(self, mb_type: int, sub_types: int, transform8x8: bool) -> None:
        self.type, self.sub_types, self.transform8x8 = mb_type, sub_types, transform8x8
        self.shape, self.modes = TYPES[mb_type]

    def sub(self, part: int) -> tuple[str, str]:
        """(mode, shape) of a partition's sub-macroblock type."""
        nibble = self.sub_types >> 4 * part & 15
        mode, shape = (SUB_B if self.type in (0x56, 0x7E) else SUB_P)[nibble].split("_")
        return mode, shape

    @property
    def has_sub(self) -> bool:
        return "sub" in self.modes

    def sub_count(self, part: int) -> int:
        if self.shape == "NxN":
            return 1 if self.transform8x8 else 4
        if not self.has_sub:
            return 1
        shape = self.sub(part)[1]
        return 1 if shape == "8x8" else COUNT[shape]

    def lookup(self, table: int, index: int) -> tuple[int, int]:
        """(value, predicate output) of tables 8 to 15."""
        count = COUNT[self.shape]
        part, sub = index & 3, index >> 8 & 3
        value, predicate = 0, None
        if table == 8:
            value = count if index & 4 else self.sub_count(part)
        elif table == 9:
            q = (part & 1) * 2 if self.shape == "16x8" else part
            rows = self.has_sub and self.sub(q)[1] == "8x4"
            value = q * 4 + ((sub & 1) * 2 if rows else sub)
        elif table == 10:
            limit = count if index & 4 else self.sub_count(part)
            predicate = int(sub + 1 < limit)
            value = (sub + 1) * 256 + part if predicate else part + 1
        elif table == 11 and part < len(self.modes):
            mode = self.modes[part]
            value = MODES[self.sub(part)[0] if mode == "sub" else mode]
        return value, value & 1 if predicate is None else predicate


class Bench:
    def __init__(self, variant: str) -> None:
        self.core = Core(variant)
        self.core.load("lut $p2 $r3 $r1 $r2\nnop\nnop")

    def run(self, table: int, index: int) -> tuple[int, int]:
        core = self.core
        core.r[1], core.r[2] = index, table
        core.start()
        core.step()
        return core.r[3], core.p[2]


@pytest.mark.parametrize("variant", ["vp2", "vp3", "vp4"])
def test_type_tables(variant: str) -> None:
    bench, rnd = Bench(variant), random.Random(variant)
    for mb_type in TYPES:
        for _ in range(8):
            limit = 13 if mb_type in (0x56, 0x7E) else 4
            sub_types = sum(rnd.randrange(limit) << 4 * k for k in range(4))
            transform = rnd.random() < 0.5
            ref = Reference(mb_type, sub_types, transform)
            mb = bench.core.mb
            mb.type, mb.sub_types, mb.flags = mb_type, sub_types, transform << 3
            for table in (8, 9, 10, 11, 12, 13, 14, 15):
                for index in (0, 1, 2, 3, 4, 5, 6, 7, 0x100, 0x201, 0x302, 0x103, 0x304, 0xFFFF):
                    got = bench.run(table + 16 * rnd.randrange(4), index)
                    assert got == ref.lookup(table, index), (hex(mb_type), hex(sub_types), transform, table, hex(index))


def test_vector_tables() -> None:
    bench = Bench("vp2")
    core = bench.core
    for k, name in enumerate(("mvxl0", "mvyl0", "refl0", "rpil0", "mvxl1", "mvyl1", "refl1", "rpil1")):
        core.sr[name] = 0x101 * (k + 1)
    for mb_type in (0x20, 0x7F):
        core.sr["mbtype"] = mb_type
        for table in range(4):
            for which in (0, 1, 2, 0xFFFF):
                value = 0x101 * (table + 1 + 4 * (which & 1))
                assert bench.run(table, which) == (value, value & 1)
                skipped = 0 if mb_type == 0x7F else value
                assert bench.run(table + 4, which) == (skipped, skipped & 1)


def test_vector_tables_follow_spidx() -> None:
    bench = Bench("vp3")
    core = bench.core
    for block in range(16):
        core.sr["spidx"] = block
        core.sr["mvxl0"] = 0x100 + block
        core.sr["refl1"] = 0x200 + block // 4
    for block in range(16):
        core.sr["spidx"] = block
        assert bench.run(0, 0)[0] == 0x100 + block
        assert bench.run(2, 1)[0] == 0x200 + block // 4


def test_unlisted_types_count_as_one_plain_partition() -> None:
    bench = Bench("vp3")
    bench.core.sr["mbtype"] = 0x30
    assert [bench.run(8, 4)[0], bench.run(9, 3)[0], bench.run(11, 0)[0]] == [1, 12, 0]
